"""Helpers of ``hearts train``: the config, the final evaluation, the files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from hearts_agents.spec import AgentSpec
from hearts_env import Rules
from hearts_env.support.files import write_json
from hearts_train import console
from hearts_train.cli.reports import command_line, show_evaluations
from hearts_train.learn import runs, training
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.config_files import load_config
from hearts_train.learn.report import write_card
from hearts_train.measure.evaluation import Evaluation, evaluate, plot

DEFAULT_CONFIG = "demo"
EVALUATION_NAME = "evaluation.json"
PICTURE_NAME = "evaluation.png"

_BASELINES = ("easy", "standard", "standard_trump", "pro")
# With more players `pro` samples worlds and takes a hundred times as long.
_LARGE_BASELINES = ("easy", "standard")


def train_and_evaluate(
    config_name: str | None,
    settings: Sequence[str],
    resume: Path | None,
    run_dir: Path | None,
    *,
    as_json: str | None,
) -> None:
    """Train, evaluate the checkpoint on duplicate deals, and print where the files are."""
    if resume is not None:
        runs.check_run_folder(resume)
    config = _config(config_name, settings, resume)
    result = training.train(config, run_dir, resume, progress=True)
    if not result.is_finished:
        with contextlib.suppress(OSError):  # after SIGHUP there is no terminal
            console.note(
                f"stopped after {result.decisions:,} decisions; continue with: "
                f"hearts train --resume {result.run_dir}"
                + " --allow-code"
                * (config.runs_code or any_runs_code(config.agents))
            )
        if as_json:
            console.print_json(_record(result, [], interrupted=True), as_json)
        raise typer.Exit(128 + result.signal_number)
    with runs.hold_run(result.run_dir):
        config = load_config(result.run_dir / runs.CONFIG_NAME)
        try:
            evaluations = evaluate_run(result.run_dir, config)
        except KeyboardInterrupt:  # before the evaluation; the player is saved
            if as_json:
                console.print_json(_record(result, [], interrupted=True), as_json)
            raise
    interrupted = len(evaluations) < len(opponents_of(config)) or evaluations[-1].interrupted
    show_evaluations(evaluations)
    paths = {
        "player": result.checkpoint,
        "evaluation": result.run_dir / EVALUATION_NAME,
        "picture": result.run_dir / PICTURE_NAME,
        "learning curve": result.curve,
        "model card": result.card,
        "settings": result.run_dir / runs.CONFIG_NAME,
    }
    if as_json:
        console.print_json(_record(result, evaluations, interrupted=interrupted), as_json)
    console.say(
        f"{result.decisions:,} decisions: "
        f"{console.format_seconds(result.learning_seconds)} learning "
        f"({result.decisions_per_second:,.0f} decisions a second), "
        f"{console.format_seconds(result.seconds)} in total, with evaluations"
    )
    for name, path in paths.items():
        console.say(f"{name + ':':16}{path}")
    console.say(f"\nPlay against it: hearts play --opponent {result.run_dir}")
    if interrupted:
        raise console.stopped()


def any_runs_code(agents: Sequence[str]) -> bool:
    """Whether any of these agents is code, a program or a file that must be trusted."""
    return any(AgentSpec.parse(name).runs_code for name in agents)


def _config(config_name: str | None, settings: Sequence[str], resume: Path | None) -> TrainConfig:
    """The config to train with; of a run's folder only if it is trusted."""
    if resume is not None and config_name is None:
        return runs.resumed_config(resume, settings)
    if config_name is not None and runs.is_config_of_run(Path(config_name)):
        return runs.resumed_config(Path(config_name).parent, settings)
    return load_config(config_name or DEFAULT_CONFIG, settings)


def _record(
    result: training.RunResult, evaluations: Sequence[Evaluation], *, interrupted: bool
) -> dict[str, Any]:
    """A run as ``--json`` prints it."""
    return {
        "run": str(result.run_dir),
        "checkpoint": str(result.checkpoint),
        "decisions": result.decisions,
        "seconds": result.seconds,
        "learning_seconds": result.learning_seconds,
        "decisions_per_second": result.decisions_per_second,
        "evaluations": [evaluation.to_json() for evaluation in evaluations],
        "interrupted": interrupted,
    }


def opponents_of(config: TrainConfig) -> list[str]:
    """The opponents of the final evaluation: the baselines, and those of the config."""
    rules = Rules.make(config.env.rules, config.env.players)
    names = _BASELINES if rules.players == 2 else _LARGE_BASELINES
    return list(dict.fromkeys([*names, *config.evaluation.opponents]))


def evaluate_run(run_dir: Path, config: TrainConfig) -> list[Evaluation]:
    """Evaluate a run's player, and write figures, plot and model card.

    The caller holds the run (``runs.hold_run``), so that all of them are of the same player.
    """
    rules = Rules.make(config.env.rules, config.env.players)
    settings = config.evaluation
    # The deals differ from those of the learning curve.
    evaluations = evaluate(
        str(run_dir),
        list(opponents_of(config)),
        rules,
        settings.final_deals,
        settings.seed + 1,
        command=command_line(),
        show=console.progress,
    )
    evaluations = [replace(evaluation, agent=str(run_dir)) for evaluation in evaluations]
    figures = [evaluation.to_json() for evaluation in evaluations]
    write_json(run_dir / EVALUATION_NAME, figures)
    plot(
        [replace(evaluation, agent=config.name) for evaluation in evaluations],
        run_dir / PICTURE_NAME,
    )
    write_card(run_dir, figures)
    return evaluations
