"""The command dataset, which records play."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AllowCode,
    Backend,
    Json,
    RulesName,
    Seed,
    Workers,
    app,
    named,
    names_in,
    refuse_given,
    rules_of,
)
from hearts_train.console import Mistake

_SETTLED = ("agent", "deals", "rules", "seed", "settings")


@app.command(epilog="Example: hearts dataset --agent pro --deals 10000 pro-games")
def dataset(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", callback=named, help="A new folder for the dataset."),
    ],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="AGENT",
            help="Who plays. Give it once for all seats, or once per seat, in their order.",
        ),
    ] = None,
    deals: Annotated[int, typer.Option("--deals", metavar="N", help="Deals to record.")] = 10_000,
    rules: RulesName = None,
    seed: Seed = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change what is recorded. Repeat the option for more. format=parquet,minari: "
            "tables, episodes or both. observation=NAME, reward=NAME: an encoder and a reward of "
            "the environment, by default flat and margin. "
            "exact=true|false: in tables of two players, the exact value of each card.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the unfinished dataset in FOLDER.")
    ] = False,
    workers: Workers = None,
    backend: Backend = "local",
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Record games as Parquet tables and Minari episodes."""
    from hearts_agents.spec import AgentSpec, quoted_path
    from hearts_env import Rules
    from hearts_train.data.folder import SHEET, is_unfinished, make_dataset, unfinished_options
    from hearts_train.data.options import DatasetOptions
    from hearts_train.measure.participants import trained_rules

    if resume:
        refuse_given(context, _SETTLED, "--resume", folder)
        options = unfinished_options(folder)
    elif not agent:
        raise Mistake("--agent: none given; name one; see 'hearts dataset --help'")
    else:
        options = DatasetOptions(
            agent,
            Rules.make(rules_of(rules) or trained_rules(agent) or "two_player"),
            deals,
            seed=seed,
            **_recorded(settings or []),
        )
    try:
        facts = make_dataset(
            folder,
            options,
            workers=workers,
            backend=backend,
            show=lambda doing: console.progress(f"{doing} {options.games:,} games"),
            resume=resume,
        ).facts
    except (KeyboardInterrupt, OSError):
        if is_unfinished(folder):
            is_code = any(AgentSpec.parse(agent).runs_code for agent in options.agents)
            allow = " --allow-code" * is_code
            console.note(
                f"saved; continue with: hearts dataset {quoted_path(folder)} --resume{allow}"
            )
        raise
    _show(folder, facts)
    console.note(f"for its content and how to load it, see {folder / SHEET}")
    if as_json:
        console.print_json({"folder": str(folder), **facts}, as_json)


def _show(folder: Path, facts: dict[str, Any]) -> None:
    """Print the size of a dataset."""
    size = sum(file["bytes"] for file in facts["files"].values())
    rows = [
        [f"games of {facts['options']['rules']}", f"{facts['games']:,}"],
        ["decisions", f"{facts['decisions']:,}"],
        ["files", f"{len(facts['files']):,}"],
        ["MB", f"{size / 1e6:.1f}"],
    ]
    console.print_table(str(folder), ["content", "number"], rows)


_KEYS = {"format": "formats", "observation": "observation", "reward": "reward", "exact": "exact"}
"""The argument of ``DatasetOptions`` for each key of ``--set``."""


def _recorded(settings: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of ``DatasetOptions`` from ``--set KEY=VALUE``."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or key not in _KEYS:
            known = ", ".join(_KEYS)
            raise Mistake(f"--set: {setting!r} is unknown; write KEY=VALUE with a KEY of {known}")
        value: Any = names_in(text, "--set") if key == "format" else text
        if key == "exact":
            if text not in ("true", "false"):
                raise Mistake(f"--set: exact={text!r} is unknown; give true or false")
            value = text == "true"
        found[_KEYS[key]] = value
    return found
