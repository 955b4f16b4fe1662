"""Helpers of ``hearts dataset``; the work is in ``hearts_train.data``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hearts_agents.spec import AgentSpec
from hearts_train import console
from hearts_train.cli.options import names_in, numbers_in
from hearts_train.console import Mistake
from hearts_train.data.folder import (
    SHEET,
    is_unfinished,
    make_dataset,
    unfinished_facts,
)
from hearts_train.data.options import DatasetOptions
from hearts_train.executor import Executor


def make(
    folder: Path, options: DatasetOptions, executor: Executor, *, resume: bool, as_json: str | None
) -> None:
    """Make a dataset, or continue one, and print what it holds."""
    workers, backend = executor
    try:
        made = make_dataset(
            folder,
            options,
            workers=workers,
            backend=backend,
            show=lambda doing: console.progress(f"{doing} {options.games:,} games"),
            resume=resume,
        )
    except KeyboardInterrupt:
        if is_unfinished(folder):
            words = ["hearts", "dataset", str(folder), "--resume"]
            words += ["--allow-code"] * any(
                AgentSpec.parse(name).runs_code for name in options.agents
            )
            console.note(f"saved; continue with: {shlex.join(words)}")
            if as_json:
                _print_facts(folder, unfinished_facts(folder), as_json, interrupted=True)
        raise
    facts = made.facts
    rows = [[f"games of {options.rules.name}", f"{facts['games']:,}"]]
    rows += [[f"rows of {name}", f"{rows_of:,}"] for name, rows_of in facts["rows"].items()]
    if facts["episodes"]:
        rows += [["episodes", f"{facts['episodes']:,}"], ["steps", f"{facts['steps']:,}"]]
    rows += [["files", f"{len(facts['files']):,}"]]
    rows += [["MB", f"{sum(file['bytes'] for file in facts['files'].values()) / 1e6:.1f}"]]
    console.print_table(
        str(folder), ["content", "number"], rows, to_stderr=console.is_stdout(as_json)
    )
    if facts["faults"]:
        console.note(f"{facts['faults']:,} faults ended games; see {folder / SHEET}")
    console.note(f"what is in it, and how to load it: {folder / SHEET}")
    if as_json:
        _print_facts(folder, facts, as_json, interrupted=False)


def _print_facts(folder: Path, facts: dict[str, Any], as_json: str, *, interrupted: bool) -> None:
    console.print_json({"folder": str(folder), **facts, "interrupted": interrupted}, as_json)


_NAMES = {"view": "views", "id": "dataset_id", "seat": "seats"}
_KEYS = ("action_mask", "dtype", "exact", "id", "observation", "random", "reward", "seat", "view")


def recorded(settings: Sequence[str]) -> dict[str, Any]:
    """The arguments of ``DatasetOptions`` that ``--set KEY=VALUE`` gives."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or key not in _KEYS:
            known = ", ".join(_KEYS)
            raise Mistake(f"--set: {setting!r} sets nothing known; write KEY=VALUE with {known}")
        value: Any = text
        if key == "view":
            value = names_in(text, "--set")
        elif key == "seat":
            value = numbers_in(text, "--set")
        elif key == "exact":
            if text not in ("true", "false"):
                raise Mistake(f"--set: exact={text!r} is unknown; choose true or false")
            value = text == "true"
        elif key == "random":
            try:
                value = float(text)
            except ValueError:
                raise Mistake(f"--set: random={text!r} is not a number; give 0 to 1") from None
        found[_NAMES.get(key, key)] = value
    return found
