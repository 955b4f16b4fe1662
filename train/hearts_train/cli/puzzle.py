"""A puzzle at the terminal: the position, the answer, and what each card is worth."""

from __future__ import annotations

from typing import Any

from hearts_env import HeartsError
from hearts_env.cards import parse_card
from hearts_env.render.scene import count_text
from hearts_train.cli.cardtext import CardText
from hearts_train.cli.terminal import ask_at_terminal
from hearts_train.console import print_table

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
    missed = f"Missed by {', '.join(puzzle['missed'])}: {puzzle['level_text']}."
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
