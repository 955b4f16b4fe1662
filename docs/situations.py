"""Kinds of situation in the play of two-player Hearts, in words that a player understands.

A report that groups decisions by them says where points are lost (``docs/weak_spots.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from hearts_env import PlayerView
from hearts_env.support.arrays import Ints

MOON = 0.1
"""A moon is within reach where best play by both makes it in this share of the worlds."""
QUEEN_HELD, MOON_NEAR = "it holds QS", "its own"


def situations(view: PlayerView, chance: float, margins: Ints) -> dict[str, str]:
    """In what kinds of situation a player is: the label of each kind, by its name.

    Args:
        view: of the player to act, in a game of two.
        chance: the policy's of the card that is played.
        margins: ``(worlds, legal cards)``, double dummy.
    """
    own, other = view.points[view.player], view.points[1 - view.player]
    best, most = margins.max(1), view.rules.max_margin
    reach = [name for name, end in ((MOON_NEAR, most), ("the other's", -most)) if _often(best, end)]
    return {
        "trick": _between(view.trick_number + 1, (3, 6, 9, 13)),
        "turn": _turn(view),
        "queen of spades": _queen(view),
        "the other's voids": "some are shown" if view.voids[1 - view.player] else "none is shown",
        "points taken": _taken(own, other, view.rules.card_points["QS"]),
        "moon within reach": " and ".join(reach) or "nobody's",
        "hands the other may have": _between(len(margins), (1, 10, 40, 105)),
        "its chance for the card": "0 to 49 %"
        if chance < 0.5
        else "50 to 89 %"
        if chance < 0.9
        else "90 to 100 %",
    }


def _turn(view: PlayerView) -> str:
    if not view.trick:
        return "it leads"
    (_, led), *_ = view.trick
    can_follow = any(card[1] == led[1] for card in view.hand)
    return "it follows suit" if can_follow else "it has none of the suit led"


def _queen(view: PlayerView) -> str:
    if "QS" in view.hand:
        return QUEEN_HELD
    is_played = any(card == "QS" for _, card in view.history)
    return "QS is played" if is_played else "QS is not seen yet"


def _taken(own: int, other: int, queen: int) -> str:
    """Who has points, and whether the queen of spades is among them, who counts `queen`."""
    if not own and not other:
        return "none"
    if own and other:
        return "by both"
    who = "by it alone" if own else "by the other alone"
    return f"{who}, {'with' if max(own, other) >= queen else 'without'} QS"


def _often(best: Ints, end: float) -> bool:
    return bool((best == end).mean() >= MOON)


def _between(number: int, ends: Sequence[int]) -> str:
    """The label of the range, between two of `ends`, that a number lies in."""
    low = 1
    for end in ends:
        if number <= end:
            return str(end) if low == end else f"{low} to {end}"
        low = end + 1
    raise AssertionError(f"{number} is above {ends[-1]}")
