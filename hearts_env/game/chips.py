"""Chips: three ways to settle a deal, in exact fractions.

``settle`` settles a deal of a match, with the pool from earlier deals. ``chips_of`` settles a deal
on its own, and ``net_chips`` is its compiled form.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational

from hearts_env import kernel as k
from hearts_env.cards import SETTLEMENTS
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_choice, listed
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.support.jit import jit

Number = int | Fraction


SHARES = 420
"""Shares are counted in 420ths, because 1 / n is a whole number of them for n from 1 to 7."""


def settle(
    method: str, points: Sequence[Number], pool: Number = 0
) -> tuple[list[Fraction], Fraction]:
    """Settle a deal in chips, exactly.

    Args:
        method: ``simple``, ``sweepstakes`` or ``howell``.
        points: the points that each player took, not negative.
        pool: chips carried over from earlier deals.

    Returns:
        The net win of each player, and the new pool. ``sum(net) + new_pool == pool``.

    Raises:
        HeartsError: if the method is unknown, or a number is negative or not exact.
    """
    check_choice("method", method, SETTLEMENTS[1:])
    try:
        paid = [_exact(p) for p in listed(points) or ()]
    except TypeError:
        paid = []
    if len(paid) < 2 or any(p < 0 for p in paid):
        raise HeartsError(
            f"points: {quoted(points)} cannot be settled in chips; give the points of each of two "
            "players or more, whole and not negative"
        )
    given = pool
    try:
        pool = _exact(pool)
    except TypeError:
        pool = Fraction(-1)
    if pool < 0:
        raise HeartsError(
            f"pool: got {quoted(given)}; give chips, an int or a Fraction, not negative"
        )
    total, n = sum(paid, Fraction()), len(paid)
    if method == "howell":  # each player pays h (n - 1) and takes out T - h
        return [total - n * h for h in paid], pool
    pot = pool + total
    if method == "simple":
        winners = [h == min(paid) for h in paid]
    else:
        winners = [h == 0 for h in paid]
        if not any(winners) or sum(winners) == n - 1:
            return [-h for h in paid], pot
    share = pot / sum(winners)
    return [won * share - h for won, h in zip(winners, paid, strict=True)], Fraction()


def _exact(number: object) -> Fraction:
    """Return a number of chips as a Fraction of Python ints. Raise TypeError for other types."""
    if isinstance(number, bool) or not isinstance(number, Rational):
        raise TypeError
    return Fraction(int(number.numerator), int(number.denominator))


def chips_of(rules: Rules | str, points: Sequence[Number]) -> list[Fraction]:
    """Return each player's net win in chips for a deal on its own, exactly.

    No pool is carried over: chips that a deal leaves in the pool (``sweepstakes``) go to no one.

    Args:
        rules: rules that settle in chips, or a preset's name.
        points: the points that each player took.

    Raises:
        HeartsError: if the rules settle in points, or `points` is invalid.
    """
    rules = Rules.make(rules)
    check_in_chips(rules)
    net = settle(rules.settlement, points)[0]
    if len(net) != rules.players:
        raise HeartsError(
            f"points: {quoted(points)} are for {len(net)} players; give one number for each of "
            f"{rules.players}"
        )
    return net


def check_in_chips(rules: Rules, field: str = "chips") -> None:
    """Raise if the rules settle in points."""
    if rules.settlement == "points":
        raise HeartsError(
            f"{field}: {rules.name!r} settles in points; give rules that settle in chips, such as "
            "'hoyle'"
        )


# ---- of a state, compiled -----------------------------------------------------------------------
@jit
def settled(r: k.Vector, s: k.Vector, p: int) -> int:
    """Return the points of seat `p` to settle in chips.

    These are the points of its cards or, after a revoke, its score. Moons and ``no_trick_points``
    do not count.
    """
    return k.score(r, s, p) if s[k.REVOKER] >= 0 else s[k.POINTS + k.SEAT * p]


def points_settled(rules: Rules, vector: k.Vector) -> list[int]:
    """Return the points of each seat to settle in chips, from the state of a deal."""
    return [int(settled(rules.vector, vector, p)) for p in range(rules.players)]


@jit
def net_chips(r: k.Vector, s: k.Vector, p: int) -> int:
    """Return the net win of seat `p` for a deal on its own, in 420ths of a chip."""
    players = r[k.R_PLAYERS]
    own = settled(r, s, p)
    total, least, without = 0, own, 0
    for q in range(players):
        taken = settled(r, s, q)
        total += taken
        least = min(least, taken)
        without += taken == 0
    if r[k.R_SETTLEMENT] == k.SETTLE_HOWELL:
        return SHARES * (total - players * own)
    if r[k.R_SETTLEMENT] == k.SETTLE_SWEEPSTAKES:
        winners = 0 if without == players - 1 else without
        won = own == 0
    else:
        winners = 0
        for q in range(players):
            winners += settled(r, s, q) == least
        won = own == least
    return (SHARES // winners * total if won and winners else 0) - SHARES * own
