"""The command dataset, which records play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    names_in,
    refuse_given,
    rules_of,
)
from hearts_train.console import Mistake

_SETTLED = ("agent", "deals", "rules", "seed", "settings")


@app.command(epilog="Example: hearts dataset --agent pro --deals 10000 pro-games")
def dataset(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the dataset.")],
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
            help="Change what is recorded; repeat the option for more. format=parquet,minari: "
            "tables, episodes or both. observation, dtype, action_mask, reward: those of the "
            "episodes, as in an environment. view=text,json: the form of views in the tables. "
            "exact=true|false: the exact value of each card. random=0.1: the share of random "
            "actions. seat=0,1: record only these seats.",
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
    import shlex

    from hearts_agents.spec import AgentSpec
    from hearts_env import Rules
    from hearts_train.data import folder as datasets
    from hearts_train.data.options import DatasetOptions, check_libraries
    from hearts_train.measure.participants import trained_rules

    if resume:
        refuse_given(context, _SETTLED, "--resume", folder)
        options = datasets.unfinished_options(folder)
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
        check_libraries(options.formats)
    try:
        facts = datasets.make_dataset(
            folder,
            options,
            workers=workers,
            backend=backend,
            show=lambda doing: console.progress(f"{doing} {options.games:,} games"),
            resume=resume,
        ).facts
    except (KeyboardInterrupt, OSError):
        if datasets.is_unfinished(folder):
            words = ["hearts", "dataset", str(folder), "--resume"]
            words += ["--allow-code"] * any(AgentSpec.parse(a).runs_code for a in options.agents)
            console.note(f"saved; continue with: {shlex.join(words)}")
        raise
    _show(folder, facts)
    console.note(f"for its content and how to load it, see {folder / datasets.SHEET}")
    if as_json:
        console.print_json({"folder": str(folder), **facts}, as_json)


def _show(folder: Path, facts: dict[str, Any]) -> None:
    """Print the size of a dataset."""
    rows = [[f"games of {facts['options']['rules']}", f"{facts['games']:,}"]]
    rows += [[f"rows of {name}", f"{rows_of:,}"] for name, rows_of in facts["rows"].items()]
    if facts["episodes"]:
        rows += [["episodes", f"{facts['episodes']:,}"], ["steps", f"{facts['steps']:,}"]]
    rows += [["files", f"{len(facts['files']):,}"]]
    rows += [["MB", f"{sum(file['bytes'] for file in facts['files'].values()) / 1e6:.1f}"]]
    console.print_table(str(folder), ["content", "number"], rows)
    if facts["faults"]:
        console.note(f"{facts['faults']:,} games ended by a fault; see the datasheet")


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise Mistake(f"--set: exact={text!r} is unknown; give true or false")
    return text == "true"


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Mistake(f"--set: random={text!r} is not a number; give 0 to 1") from None


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise Mistake(f"--set: seat={text!r} is no list of seats; write one like 0,1") from None


_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "action_mask": ("action_mask", str),
    "dtype": ("dtype", str),
    "exact": ("exact", _truth),
    "format": ("formats", lambda text: names_in(text, "--set")),
    "observation": ("observation", str),
    "random": ("random", _share),
    "reward": ("reward", str),
    "seat": ("seats", _numbers),
    "view": ("views", lambda text: names_in(text, "--set")),
}
"""The keys of ``--set``: the argument of ``DatasetOptions``, and the function that parses it."""


def _recorded(settings: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of ``DatasetOptions`` from ``--set KEY=VALUE``."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or key not in _SETTINGS:
            known = ", ".join(_SETTINGS)
            raise Mistake(f"--set: {setting!r} is unknown; write KEY=VALUE with a KEY of {known}")
        name, read = _SETTINGS[key]
        found[name] = read(text)
    return found
