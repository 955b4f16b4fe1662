"""Helpers of ``hearts train``: the config, the final evaluation, the files."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from hearts_agents.spec import path_name, quoted_path
from hearts_env.support.arguments import check_number
from hearts_env.support.errors import quoted
from hearts_train import console
from hearts_train.cli.reports import show_evaluations, write_json
from hearts_train.console import Mistake
from hearts_train.learn import runs, training
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.config_files import load_config
from hearts_train.learn.loop import RunResult
from hearts_train.learn.report import listed_files
from hearts_train.measure.evaluation import Evaluation

DEFAULT_CONFIG = "demo"


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
    result = training.train_run(config, run_dir, resume, progress=True)
    if not result.is_finished:
        with contextlib.suppress(OSError):  # after SIGHUP there is no terminal
            console.note(
                f"stopped after {result.decisions:,} decisions; continue with: "
                f"hearts train --resume {quoted_path(result.run_dir)}"
                + " --allow-code"
                * config.runs_code
            )
        if as_json:
            write_json(_record(result, [], interrupted=True), as_json)
        raise typer.Exit(128 + result.signal_number)
    with runs.hold_run(result.run_dir):
        try:
            evaluations = training.evaluate_run(
                result.run_dir, show=console.progress, report=show_evaluations
            )
        except KeyboardInterrupt:  # before the evaluation; the player is saved
            if as_json:
                write_json(_record(result, [], interrupted=True), as_json)
            raise
    interrupted = not runs.final_evaluation(result.run_dir)
    if as_json:
        write_json(_record(result, evaluations, interrupted=interrupted), as_json)
    console.say("\n".join([result.summary, *listed_files(result.files)]))
    allow = " --allow-code" * bool(config.own_code)
    player = quoted_path(result.run_dir)
    console.say(f"\nPlay against it: hearts play --opponent {player}{allow}")
    if interrupted:
        raise console.stopped()


def train_seeds(
    config_name: str | None,
    settings: Sequence[str],
    text: str,
    folder: Path | None,
    *,
    workers: int | None,
    backend: str,
    as_json: str | None,
) -> None:
    """Train and evaluate one run per seed, and print their table and where the files are."""
    seeds = seeds_in(text)
    config = _config(config_name, settings, None)
    result = training.train_seeds(config, folder, seeds, workers=workers, backend=backend)
    if result.runs:
        console.print_table(*result.table())
        console.say("\n".join(listed_files(result.files)))
    if as_json:
        write_json(result.to_json(), as_json)
    if not result.is_finished:
        with contextlib.suppress(OSError):  # after SIGHUP there is no terminal
            console.note("stopped; the same command continues")
        raise typer.Exit(128 + result.signal_number)


def with_seed(settings: Sequence[str], seed: int | None, seeds: str | None) -> list[str]:
    """Return the settings of ``--set`` and ``--seed``. Raise if two options set the seed."""
    if seed is not None and seeds is not None:
        raise Mistake(f"--seed: {seed} contradicts --seeds {seeds}; omit one of them")
    if seed is None and seeds is None:
        return [*settings]
    for setting in settings:
        if setting.partition("=")[0].strip() == "seed":
            option = f"--seed {seed}" if seeds is None else f"--seeds {seeds}"
            raise Mistake(f"--set: {setting} contradicts {option}; omit one of them")
    if seed is None:
        return [*settings]
    return [*settings, f"seed={check_number('--seed', seed, 0, 2**31 - 1)}"]


def seeds_in(text: str) -> list[int]:
    """Return the seeds of ``--seeds``: numbers and ranges, like ``0-4`` or ``0,2,7-9``."""
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,10})(?:-(\d{1,10}))?\s*", part, re.ASCII)
        if ends is None or int(ends[2] or ends[1]) < int(ends[1]):
            raise Mistake(
                f"--seeds: {quoted(part)} is not a seed or an ascending range; write them like "
                "0-4 or 0,2,7-9"
            )
        most = training.MOST_SEEDS + 1  # one too many, which check_seeds reports
        found += itertools.islice(range(int(ends[1]), int(ends[2] or ends[1]) + 1), most)
    return training.check_seeds(found)


def _config(config_name: str | None, settings: Sequence[str], resume: Path | None) -> TrainConfig:
    """Return the config to train with: the named one or, without a name, that of the run."""
    if resume is not None and config_name is None:
        return load_config(resume / runs.CONFIG_NAME, settings)
    return load_config(config_name or DEFAULT_CONFIG, settings)


def _record(
    result: RunResult, evaluations: Sequence[Evaluation], *, interrupted: bool
) -> dict[str, Any]:
    """Return a run as ``--json`` prints it."""
    return {
        "run": path_name(result.run_dir),
        "checkpoint": path_name(result.checkpoint),
        "decisions": result.decisions,
        "seconds": result.seconds,
        "learning_seconds": result.learning_seconds,
        "decisions_per_second": result.decisions_per_second,
        "evaluations": [evaluation.to_json() for evaluation in evaluations],
        "interrupted": interrupted,
    }
