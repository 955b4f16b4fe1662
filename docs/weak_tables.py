"""Tables and positions of ``docs/results/weak_spots.json``; see ``tables.weak``.

`PARTS` has what a page can name after ``weak``; ``deal`` takes the kind of position that is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hearts_env import Game
from hearts_train.measure.shown import format_interval

Record = dict[str, Any]
Rows = tuple[list[str], list[list[str]]]
"""The head of a table, and its rows."""

FILE = "../examples/champion_deals.txt"


def points(record: Record) -> str:
    """A mean and half its 95 % interval, like ``0.31 ± 0.15``."""
    return format_interval(record["margin"], record["ci95"])


def signed(value: float) -> str:
    """A difference in points; a minus that rounding would leave before a zero is dropped."""
    return f"{value:+z.2f}"


# ---- docs/champion.md ----------------------------------------------------------------------------
def totals(record: Record) -> list[Rows]:
    """What is lost in all, by each measure."""
    head = ["against", "deals", "choices a deal", "worlds alike", "worlds weighed", "search"]
    rows = [
        [
            f"`{opponent}`",
            f"{found['deals']:,}",
            f"{found['all']['decisions']:.1f}",
            *(points(found["all"][name]) for name in ("alike", "weighed", "search", "held")),
        ]
        for opponent, found in record["against"].items()
    ]
    return [([*head, "the same, in the deal as it lay"], rows)]


def situations(record: Record) -> list[Rows]:
    """What is lost by kinds of situation, against itself."""
    head = ["situation", "", "share of choices", "share of the loss", "lost by the search"]
    head += ["in the deal as it lay", "worlds alike", "search, a choice", "a point or more"]
    found = record["against"]["champion"]
    rows, before = [], ""
    for group in found["situations"]:
        name, lost = group["situation"], group["search"]["margin"]
        rows.append(
            [
                name if name != before else "",
                group["label"],
                f"{group['share']:.0%}",
                f"{lost / found['all']['search']['margin']:.0%}",
                *(points(group[name]) for name in ("search", "held", "alike")),
                f"{lost / group['decisions']:.2f}",
                f"{group['slips']:.1%}",
            ]
        )
        before = name
    return [(head, rows)]


def reading(record: Record) -> list[Rows]:
    """What one who knows the champion can tell from its cards."""
    head = ["trick", "hands it may have", "left for who knows it", "one is left"]
    rows = [
        [
            str(row["trick"]),
            f"{row['hands']:.1f}",
            f"{row['left']:.1f}",
            f"{row['certain']:.0%}",
            points(row["won"]),
        ]
        for row in record["reading"]
    ]
    return [([*head, "its best card wins, a deal"], rows)]


def endings(record: Record) -> list[Rows]:
    """What a best response wins in the last tricks."""
    ended = record["endings"]
    rows = [[f"`{name}`", points(mean)] for name, mean in ended["agents"].items()]
    return [(["player", f"exploitability in the last {ended['tricks']} tricks"], rows)]


def card(record: Record) -> list[str]:
    """What the model card says; it comes with the package, without the pages."""
    own = record["against"]["champion"]
    lost = own["all"]
    groups = [group for group in own["situations"] if group["share"] >= _RARE]
    groups = sorted(groups, key=lambda group: -group["search"]["margin"] / group["decisions"])
    worst = [
        f"  - {group['situation']}: {group['label']} ({group['share']:.0%} of the choices): "
        f"{group['search']['margin'] / group['decisions']:.2f}"
        for group in groups[:_WORST]
    ]
    middle = record["reading"][len(record["reading"]) // 2]
    wins = sum(row["won"]["margin"] for row in record["reading"])
    ended = record["endings"]
    return [
        f"Card by card on {own['deals']:,} deals against itself (`{record['command']}`); points, "
        "95 % intervals.\nTables and three annotated deals: docs/champion.md and "
        "docs/champion_deals.md of the repository.\n\n"
        "- **Few cards, but costly ones.** A search that takes the other player for a champion "
        f"would play\n  another card at {own['search_differs']:.0%} of its choices. By its "
        "reckoning\n  the champion loses "
        f"{points(lost['search'])} a deal; played out in the deals as they lay, one card changed "
        f"at a time,\n  {points(lost['held'])}. {lost['slips']:.1%} of its choices lose a point or "
        "more. That is lost to one who plays as it does:\n  in deals against `pimc` the same "
        "search's cards win little or nothing: "
        f"{points(record['against']['pimc']['all']['held'])}.\n"
        "- **Where**, points a choice by the search, "
        f"{lost['search']['margin'] / lost['decisions']:.2f} over all:\n"
        + "\n".join(worst)
        + "\n- **It never mixes**, so that its cards tell its hand. At trick "
        f"{middle['trick']}, {middle['hands']:.0f} hands are possible; whoever knows how\n  it "
        f"plays has {middle['left']:.1f} left, and one alone in {middle['certain']:.0%} of the "
        f"choices. The best single cards against it win {wins:.2f}\n  in a deal, added up.\n"
        f"- Little in the last {ended['tricks']} tricks: a best response wins "
        f"{points(ended['agents']['champion'])} there "
        f"(from `pimc` {points(ended['agents']['pimc'])}).\n"
    ]


_RARE, _WORST = 0.05, 4
"""The model card names so many of the costliest situations; rarer ones than this are left out."""


# ---- docs/champion_deals.md ----------------------------------------------------------------------
def deal(record: Record, kind: str) -> list[Rows | str]:
    """A position that is shown: what is known there, what each card is worth, and in which worlds.

    Raises:
        SystemExit: there is none of this kind.
    """
    kinds = [one["kind"] for one in record["shown"]]
    if kind not in kinds:
        raise SystemExit(f"weak deal: {kind!r} is not shown; shown: {', '.join(kinds)}")
    number = kinds.index(kind)
    one = record["shown"][number]
    game = Game.from_text(one["position"])
    told = game.view(one["seat"]).to_text()
    margin = one["margins"][one["seat"]]
    is_read = kind == "read"
    parts: list[Rows | str] = [
        f"`hearts analyse examples/champion_deals.txt --game {number + 1}`: seed {one['seed']}, "
        f"trick {one['trick']}, player {one['seat']}. Both players are `champion`.\n\n"
        f"![The table as player {one['seat']} sees it](images/weak_{kind}.svg)\n\n"
        f"```text\n{told}```\n\n"
        f"It plays **{one['card']}**. The deal ends with a margin of {margin:+.0f} for it.\n",
        _cards(one, is_read=is_read),
        _worlds(one),
    ]
    return [*parts, _narrowing(one)] if is_read else parts


def _cards(one: Record, *, is_read: bool) -> Rows:
    head = ["card", "its chance", "worlds alike, all cards seen", "worlds weighed, played on"]
    rows = []
    for card in one["cards"]:
        name = card["card"]
        if name == one["card"]:
            name = f"{name}, played"
        elif name == one["better"]:
            name = f"**{name}**, better"
        row = [name, f"{card['chance']:.1%}", signed(card["alike"]), signed(card["search"])]
        rows.append([*row, signed(card["known"])] if is_read else row)
    return ([*head, "for who knows it"] if is_read else head), rows


def _worlds(one: Record) -> Rows:
    """The difference of the two cards, by the hidden card on which it depends most."""
    key = key_card(one["worlds"])
    groups: list[tuple[str, list[Record]]] = [("", one["worlds"])]
    if key:
        is_dead = [key in world["dead"] for world in one["worlds"]]
        for dead, label in ((False, f"the other holds {key}"), (True, f"{key} is dead")):
            some = [w for w, d in zip(one["worlds"], is_dead, strict=True) if d == dead]
            groups.append((label, some))
    rows = [
        [
            label or "all",
            str(len(some)),
            f"{sum(world['chance'] for world in some):.1%}",
            signed(_weighed(some, "seen")),
            signed(_weighed(some, "played")),
        ]
        for label, some in groups
    ]
    if len(one["worlds"]) <= 3:
        rows = [
            [
                f"dead: {' '.join(world['dead'])}",
                "1",
                f"{world['chance']:.1%}",
                signed(world["seen"]),
                signed(world["played"]),
            ]
            for world in one["worlds"]
        ]
    head = ["worlds", "number", "as likely as", f"{one['better']} wins, all cards seen"]
    return [*head, "and played on"], rows


def key_card(worlds: Sequence[Record]) -> str:
    """The hidden card whose place says most about the difference, played on; empty: none does."""
    cards = sorted({card for world in worlds for card in world["dead"]})
    best, most = "", 0.0
    for card in cards:
        groups = [[w for w in worlds if (card in w["dead"]) == dead] for dead in (True, False)]
        if not all(groups):
            continue
        chances = [sum(world["chance"] for world in group) for group in groups]
        gap = _weighed(groups[0], "played") - _weighed(groups[1], "played")
        between = chances[0] * chances[1] * gap * gap  # the variance between the two groups
        if between > most:
            best, most = card, between
    return best


def _weighed(worlds: Sequence[Record], name: str) -> float:
    return float(
        sum(world["chance"] * world[name] for world in worlds)
        / sum(world["chance"] for world in worlds)
    )


def _narrowing(one: Record) -> Rows:
    head = ["at its card in trick", "hands the other may have", "left for who knows it"]
    return head, [[str(n["trick"]), str(n["hands"]), str(n["left"])] for n in one["narrowing"]]


PARTS: dict[str, Callable[..., Sequence[Rows | str]]] = {
    "totals": totals,
    "situations": situations,
    "reading": reading,
    "endings": endings,
    "card": card,
    "deal": deal,
}
"""What a page can name; the words after the name are arguments."""
