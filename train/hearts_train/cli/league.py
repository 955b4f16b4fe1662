"""Helpers of ``hearts tournament --folder``; the work is in ``hearts_train.measure.league``."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import typer

from hearts_env import HeartsError, Rules
from hearts_env.support.files import write_whole
from hearts_train import console
from hearts_train.cli.league_page import league_page
from hearts_train.cli.league_tables import show_tables
from hearts_train.cli.options import check_output
from hearts_train.cli.reports import command_line
from hearts_train.console import Mistake
from hearts_train.measure.executor import check_executor
from hearts_train.measure.league import (
    BUILT_IN,
    Goal,
    Play,
    Table,
    add,
    differing,
    every_game,
    find_exact,
    sample_of,
)
from hearts_train.measure.league_file import Folder, Sums, game_name, is_league, locked, read_folder
from hearts_train.measure.league_table import tables


def enter(
    path: Path,
    agents: Sequence[str],
    rules: Rules | None,
    *,
    every: bool,
    built_in: bool,
    seed: int | None,
    isolate: bool,
) -> None:
    """Enter agents in games, and print who has entered."""
    games = every_game() if every else None if rules is None else [rules]
    found = add(path, agents, games, seed, isolate=isolate, is_lenient=every) if agents else []
    if built_in:
        found += add(path, BUILT_IN, games, seed, isolate=isolate, is_lenient=True)
    for entered in found:
        if entered.refused:
            console.note(f"{entered.game}: without {entered.agent}: {entered.refused}")
    there = read_folder(path).games if is_league(path) else {}
    for name in dict.fromkeys(entered.game for entered in found):
        if name in there:
            console.note(f"{name}: {', '.join(there[name].agents)}")


def chosen(folder: Folder, rules: Rules | None) -> list[str]:
    """The selected games, by name.

    Raises:
        HeartsError: if the league does not have the selected game.
    """
    if rules is None:
        return list(folder.games)
    name = game_name(rules)
    if name not in folder.games:
        raise HeartsError(
            f"rules: {rules.name!r} is not a game of the league in {str(folder.path)!r}; it has "
            f"{', '.join(folder.games)}"
        )
    return [name]


def play(path: Path, rules: Rules | None, goal: Goal, **settings: Any) -> None:
    """Play the missing deals of some games; `settings` are those of ``Contest``."""
    check_executor(settings["workers"], settings["backend"])
    read_folder(path)
    with locked(path):
        folder = read_folder(path, exact_version=True)
        names = chosen(folder, rules)
        try:
            for place, name in enumerate(names, 1):
                label = name if len(names) == 1 else f"{name} ({place} of {len(names)})"
                _play_game(folder, name, goal, label, settings)
        except KeyboardInterrupt:
            console.note("stopped")
            console.note(f"saved; continue with: {command_line()}")
            raise console.stopped() from None


def _play_game(folder: Folder, name: str, goal: Goal, label: str, settings: dict[str, Any]) -> None:
    playing = Play(folder, folder.games[name], goal, **settings)
    if not playing.is_done():
        with console.progress(label) as report:
            playing.run(report)
    find_exact(playing, console.progress)
    if not playing.is_done():
        console.note(f"{name}: time is up; continue with the same command")


def check_page(page: Path | None) -> None:
    """Refuse a page that cannot be written, before anything is played."""
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise Mistake(f"--html: {page} is not the name of a page; give one that ends in .html")
    check_output(page, "--html")


def show(path: Path, rules: Rules | None, page: Path | None, *, as_json: str | None) -> None:
    """Print the tables of some games, and write them as a page."""
    folder = read_folder(path)
    found = tables(folder, chosen(folder, rules))
    show_tables(found, to_stderr=console.is_stdout(as_json))
    if page is not None:
        write_whole(page, league_page(path.name or "League", found))
        console.note(f"written: {page}")
    if as_json:
        console.print_json(found, as_json)


def check(
    path: Path,
    rules: Rules | None,
    sample: int | None,
    seed: int,
    *,
    as_json: str | None,
    **settings: Any,
) -> None:
    """Play blocks again; exit status 1 if a line is not reproduced."""
    check_executor(settings["workers"], settings["backend"])
    folder = read_folder(path, exact_version=True)
    names = chosen(folder, rules)
    by_game = sample_of(folder, names, sample, seed)
    blocks = [block for found in by_game.values() for block in found]
    if not blocks:
        raise Mistake(
            f"{path}: nothing was played yet; play with: hearts tournament --folder {path}"
        )
    wrong: list[dict[str, Any]] = []
    try:
        with console.progress("verify") as report:
            done, total = 0, sum(block.deals for block in blocks)
            for name, wanted in by_game.items():
                for block, again in _again(folder, name, wanted, settings):
                    if fields := differing(block, again):
                        wrong.append(_difference(folder, name, block, fields))
                    done += block.deals
                    report(done, total)
    except KeyboardInterrupt:
        console.note("stopped")
        raise console.stopped() from None
    for one in wrong:
        console.note(
            f"{one['file']}, line {one['line']}: {' and '.join(one['agents'])}, deals from "
            f"{one['first']:,} on: does not hold; played again it differs in "
            f"{', '.join(one['fields'])}"
        )
    if not wrong:
        console.note(
            f"{path}: {len(blocks):,} blocks of {total:,} deals hold; played again they are the "
            "same to the last digit"
        )
    if as_json:
        console.print_json({"holds": not wrong, "blocks": len(blocks), "differing": wrong}, as_json)
    if wrong:
        raise typer.Exit(1)


def _again(
    folder: Folder, name: str, blocks: Sequence[Sums], settings: dict[str, Any]
) -> Generator[tuple[Sums, Sums]]:
    """Blocks of a game, each with its result when played again."""
    if blocks:
        table = Table(folder, folder.games[name], **settings)
        playing = table.play([(block.pairing, block.first) for block in blocks])
        with contextlib.closing(playing) as stream:
            yield from zip(blocks, stream, strict=True)


def _difference(folder: Folder, name: str, block: Sums, fields: list[str]) -> dict[str, Any]:
    game = folder.games[name]
    return {
        "file": game.store.path.name,
        "line": game.lines[*block.pairing, block.first],
        "agents": list(block.pairing),
        "first": block.first,
        "fields": fields,
    }
