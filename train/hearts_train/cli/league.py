"""What ``hearts tournament --folder`` plays and prints.

The work is in ``hearts_train.measure.folder`` and ``tournament``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from hearts_env import Rules
from hearts_env.render.scene import count_text
from hearts_train import console
from hearts_train.cli.reports import command_line, stoppable
from hearts_train.console import Mistake
from hearts_train.measure.contest import num_deals
from hearts_train.measure.folder import enter, read_folder
from hearts_train.measure.standings import Ranking, tables
from hearts_train.measure.tournament import Goal, play_folder, verify_folder


def add(path: Path, agents: Sequence[str], rules: Rules | None, **how: Any) -> None:
    """Enter agents in games, and print who has entered; `how` are arguments of ``enter``."""
    enter(path, agents, None if rules is None else [rules], **how)
    for game in read_folder(path).chosen(rules):
        console.note(f"{game.name}: {', '.join(game.agents)}")


def play(path: Path, rules: Rules | None, goal: Goal, **settings: Any) -> None:
    """Play the missing deals of some games; `settings` are those of ``Contest``."""
    try:
        play_folder(path, goal, rules, show=console.progress, **settings)
    except KeyboardInterrupt:
        console.note("stopped")
        console.note(f"saved; continue with: {command_line()}")
        raise console.stopped() from None


def check(
    path: Path,
    rules: Rules | None,
    deals: int | None,
    seed: int,
    *,
    as_json: str | None,
    **settings: Any,
) -> None:
    """Play blocks again; exit status 1 if a line is not reproduced."""
    with stoppable():
        blocks, wrong = verify_folder(path, rules, deals, seed, show=console.progress, **settings)
    if not blocks:
        raise Mistake(
            f"{path}: nothing was played yet; play with: hearts tournament --folder {path}"
        )
    for one in wrong:
        console.note(
            f"{one['file']}, line {one['line']}: {' and '.join(one['agents'])}, deals from "
            f"{one['first']:,} on: does not hold; played again it differs in "
            f"{', '.join(one['fields'])}"
        )
    if not wrong:
        played = f"{count_text(len(blocks), 'block')} of {count_text(num_deals(blocks), 'deal')}"
        console.note(f"{path}: {played} played again: the same to the last digit")
    if as_json:
        console.print_json({"holds": not wrong, "blocks": len(blocks), "differing": wrong}, as_json)
    if wrong:
        raise typer.Exit(1)


def show(path: Path, rules: Rules | None, *, as_json: str | None) -> None:
    """Print the rankings of some games."""
    folder = read_folder(path)
    games = folder.chosen(rules)
    for game in games:
        show_ranking(game.name, Ranking.of(game))
    if as_json:
        console.print_json(tables(folder, games), as_json)


def show_ranking(game: str, ranking: Ranking) -> None:
    """Print standings, cross table and cycles."""
    for table in ranking.tables(game):
        console.print_table(*table)
    for line in ranking.remarks():
        console.say(line)
