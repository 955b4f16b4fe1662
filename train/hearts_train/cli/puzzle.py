"""Puzzles at the terminal: one to solve, and all of them as a test of players."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError
from hearts_env.cards import parse_card
from hearts_env.render.scene import count_text
from hearts_train.cli.cardtext import CardText
from hearts_train.cli.reports import with_origin
from hearts_train.cli.terminal import ask_at_terminal
from hearts_train.console import Mistake, print_json, print_table, progress
from hearts_train.measure.display import format_interval
from hearts_train.measure.puzzles import LEVELS, puzzles, score_agent, score_answers


def show_scores(names: Sequence[str], *, as_json: str | None) -> None:
    """Print what agents, or files of answers (``.json``), lose in all puzzles."""
    files = {name: _answers(Path(name)) for name in names if name.endswith(".json")}
    agents = {name: AgentSpec.parse(name) for name in names if name not in files}
    scores = []
    for name in names:
        if name in files:
            scores.append(score_answers(files[name], name))
            continue
        with progress(f"puzzles of {name}") as report:
            scores.append(score_agent(agents[name], progress=report))
    columns = ["player", "lost a decision", *(f"level {n}" for n in range(1, LEVELS + 1))]
    columns += ["best card", "no legal card"]
    short = [one.agent if isinstance(one.agent, str) else one.agent["name"] for one in scores]
    rows = [
        [
            name,
            format_interval(one.lost, one.ci95),
            *(f"{lost:.2f}" for lost in one.levels),
            f"{one.solved:.1%}",
            str(one.failed),
        ]
        for name, one in zip(short, scores, strict=True)
    ]
    title = f"points lost a decision in {len(puzzles())} puzzles, 95 % interval; by level"
    print_table(title, columns, rows)
    if as_json:
        print_json(with_origin([one.to_json() for one in scores]), as_json)


def _answers(path: Path) -> Any:
    """What a file of answers holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        why = f"cannot be read ({error.strerror}); check the path"
    except (ValueError, RecursionError):
        why = 'is no JSON; write the answers by number, as {"1": "QS"}'
    raise Mistake(f"--score: {path} {why}")


COLUMNS = ["card", "worth", "from", "to", "best in"]


def ask_puzzle(puzzle: dict[str, Any], cards: CardText) -> None:
    """Show a puzzle (``puzzle_json``) until a legal card is given, or q."""
    print(cards.wrap(position(puzzle, cards)))
    legal: list[str] = puzzle["legal"]
    while True:
        line = ask_at_terminal("Which card is best? ")
        if line is None or line.lower() in ("q", "quit"):
            return
        try:
            card = parse_card(line)
        except HeartsError:
            card = ""
        if card in legal:
            break
        print(cards.wrap(f"Give one of the legal cards, or q: {cards.cards(legal)}"))
    print(cards.wrap(verdict(puzzle, card, cards)))
    count = len(puzzle["worlds"][card])
    title = f"margins over the {count} hands that your opponent could hold"
    print_table(title, COLUMNS, rows(puzzle, cards))


def position(puzzle: dict[str, Any], cards: CardText) -> str:
    """What the player sees."""
    seat, steps = puzzle["seat"], puzzle["steps"]
    names = {seat: "You", 1 - seat: "Opponent"}
    stars = "*" * puzzle["level"]
    lines = [cards.bold(f"Puzzle {puzzle['number']} of {puzzle['of']}, level {stars}")]
    trick: list[Any] = []
    for step in steps:
        trick.append(step)
        if len(step) == 4:
            shown = cards.cards(card for _, card, *_ in trick)
            taker = "you" if step[2] == seat else "your opponent"
            lines.append(f"{len(lines):2}. {names[trick[0][0]]}: {shown}, taken by {taker}")
            trick = []
    own, other = puzzle["points"][seat], puzzle["points"][1 - seat]
    lines.append(f"You have {count_text(own, 'point')}, your opponent has {other}.")
    if trick:
        lines.append(f"Your opponent leads {cards.card(trick[0][1])}.")
    else:
        lines.append("You lead.")
    lines.append("Your hand: " + cards.hand(puzzle["hand"], puzzle["legal"]))
    return "\n".join(lines)


def verdict(puzzle: dict[str, Any], card: str, cards: CardText) -> str:
    """The verdict on the answer."""
    best, means = puzzle["best"], puzzle["means"]
    missed = f"Missed by {', '.join(puzzle['missed'])}."
    if card == best:
        return (
            f"Right: {cards.card(best)} is {puzzle['gap']:.1f} points better than any other card. "
            + missed
        )
    lost = means[best] - means[card]
    return f"{cards.card(card)} gives away {lost:.1f} points; {cards.card(best)} is best. {missed}"


def rows(puzzle: dict[str, Any], cards: CardText) -> list[list[str]]:
    """A row for each card, the best first: mean, worst and best margin, how often it is best."""
    means, worlds = puzzle["means"], puzzle["worlds"]
    most = [max(values) for values in zip(*worlds.values(), strict=True)]
    return [
        [
            cards.card(card),
            f"{means[card]:+.2f}",
            f"{min(worlds[card]):+d}",
            f"{max(worlds[card]):+d}",
            f"{sum(v == m for v, m in zip(worlds[card], most, strict=True)) / len(most):.0%}",
        ]
        for card in sorted(means, key=lambda name: -means[name])
    ]
