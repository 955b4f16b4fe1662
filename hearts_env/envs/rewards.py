"""Rewards. This is the only place where the sign of a score flips.

``earned`` counts a seat's earnings so far in a deal, in whole numbers. A reward is the increase of
this number, divided by ``Rewarder.scale``. So the sum of a deal's rewards does not depend on how
often they are paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.game.chips import SHARES, check_in_chips, net_chips
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_choice
from hearts_env.support.jit import DirectCall, called, jit

REWARDS = ("margin", "points", "trick", "win", "chips")
"""The values of ``reward``. Compiled code uses their places as `kind`."""
MARGIN, POINTS, TRICK, WIN, CHIPS = range(5)
ILLEGAL_REWARD = -1.0
"""The reward of an illegal action under ``illegal_action="terminate"``."""

LATER = -1
"""The kind of rewards that a match pays: ``chips`` after each deal, ``win`` at its end."""


def _is_due(kind: int, is_over: bool) -> bool:  # noqa: FBT001
    """Return True if this kind of reward may be paid now: ``trick`` always, others after a deal."""
    return kind != LATER and (is_over or kind == TRICK)


is_due = jit(_is_due)


@jit
def earned(r: k.Vector, s: k.Vector, kind: int, p: int) -> int:
    """Return the earnings of seat `p` so far in this deal, in units of ``1 / Rewarder.scale``.

    They are 0 at the start of a deal. Only ``trick`` earns before the end of the deal. ``chips``
    settles the deal on its own, without a pool.
    """
    if kind == TRICK:
        return k.margin_sum(r, s, p)
    if s[k.PHASE] != k.OVER:
        return 0
    if kind == MARGIN:
        return k.margin_sum(r, s, p)
    own = k.score(r, s, p)
    if kind == POINTS:
        return -own
    if kind == CHIPS:
        return net_chips(r, s, p)
    players = r[k.R_PLAYERS]
    best = own
    for q in range(players):
        best = min(best, k.score(r, s, q))
    winners = 0
    for q in range(players):
        winners += k.score(r, s, q) == best
    if winners == players:
        return 0
    return SHARES // winners if own == best else -(SHARES // (players - winners))


@called
def pay_seats(
    r: k.Vector, s: k.Vector, kind: int, paid: k.Vector, scale: float, out: NDArray[np.float64]
) -> bool:
    """Write each seat's unpaid reward over `out`, and update `paid`, both in place.

    Return True if a reward is not 0 or the deal is over. The end of a deal sets `paid` to 0. The
    arguments are as in ``pay_rows``, with one element per seat.
    """
    is_over = is_due = s[k.PHASE] == k.OVER
    for p in range(len(paid)):
        now = earned(r, s, kind, p)
        is_due |= now != paid[p]
        out[p] = (now - paid[p]) / scale
        paid[p] = 0 if is_over else now
    return is_due


_pay_seats = DirectCall(pay_seats)


@jit
def pay_rows(
    r: k.Vector,
    states: k.Vector,
    rows: k.Vector,
    seats: k.Vector,
    kind: int,
    paid: k.Vector,
    scale: float,
    rewards: NDArray[np.float64],
) -> None:
    """Add one seat's unpaid reward in each game to `rewards`, and update `paid`, in place.

    Args:
        r: the rules.
        states: ``(num_games, rules.state_size) int64``.
        rows: the games to pay.
        seats: the seat to pay in each game, ``(num_games,) int64``.
        kind: ``Rewarder.number``.
        paid: the earnings that each of these seats was paid in this deal, ``(num_games,) int64``.
        scale: ``Rewarder.scale``.
        rewards: ``(num_games,) float64``.
    """
    for g in rows:
        is_over = states[g, k.PHASE] == k.OVER
        if is_due(kind, is_over):
            now = earned(r, states[g], kind, seats[g])
            rewards[g] += (now - paid[g]) / scale
            paid[g] = 0 if is_over else now


def win_rewards(totals: Sequence[int | Fraction], *, high_wins: bool = False) -> list[float]:
    """Return the rewards of ``win``: winners split +1, losers split -1, 0 if all tie."""
    best = max(totals) if high_wins else min(totals)
    winners = sum(total == best for total in totals)
    losers = len(totals) - winners
    if not losers:
        return [0.0] * len(totals)
    return [1 / winners if total == best else -1 / losers for total in totals]


class Rewarder:
    """Pays the rewards of one episode, deal by deal.

    ::

        rewarder = Rewarder(rules, "trick", episode="deal")
        game.play(action)
        rewards = rewarder.step(game)     # a list, or None for no rewards

    In a match, also add ``deal_end(match.last_net)`` after each deal and
    ``episode_end(match.totals)`` at the end. Copies and pickles keep the earnings paid so far.

    Attributes:
        rules: the rules.
        kind: one of `REWARDS`.
        number: the kind for compiled code: its place in `REWARDS`, or `LATER` for ``win`` and
            ``chips`` in a match, which ``step`` does not pay.
        scale: the divisor that turns ``earned`` into a reward.
        pays_tricks: True if ``step`` may pay before the end of a deal.
    """

    def __init__(self, rules: Rules, kind: str, *, episode: str = "deal") -> None:
        """Choose the rewards of an episode.

        Args:
            rules: the rules.
            kind: one of `REWARDS`.
            episode: ``deal`` or ``match``.

        Raises:
            HeartsError: if `kind` is unknown, or is ``chips`` under rules that settle in points.
        """
        check_choice("reward", kind, REWARDS)
        if kind == "chips":
            check_in_chips(rules, "reward: 'chips'")
        self.rules = rules
        self.kind = kind
        waits = kind in ("win", "chips") and episode == "match"
        self.number = LATER if waits else REWARDS.index(kind)
        self._due = _is_due(self.number, is_over=False), _is_due(self.number, is_over=True)
        self.pays_tricks = self._due[False]
        self._paid, self._out = np.zeros(rules.players, np.int64), np.zeros(rules.players)
        self.scale = float(SHARES)
        if kind == "points":
            self.scale = 1.0
        elif kind in ("margin", "trick"):  # margin_sum is the margin times the number of others
            self.scale = float(rules.max_margin * (rules.players - 1))

    def reset(self, game: Game) -> None:
        """Begin an episode with `game`. Its earnings so far count as paid.

        So an episode that begins in mid-deal pays only later earnings.
        """
        self._paid.fill(0)
        if self.pays_tricks:
            r, s = self.rules.vector, game.vector
            _pay_seats.call(r, s, self.number, self._paid, self.scale, self._out)

    def step(self, game: Game) -> list[float] | None:
        """Return each seat's reward since the last call, or None if there is none.

        Call it after each action, or at least after each trick and at the end of the deal. After
        the end, the next call may be for the next deal.
        """
        over = game.is_over
        if not self._due[over]:
            return None
        if not over and game.vector[k.TRICK_LEN]:  # nothing is earned within a trick
            return None
        r, s = self.rules.vector, game.vector
        if not _pay_seats.call(r, s, self.number, self._paid, self.scale, self._out):
            return None
        return self._out.tolist()

    def deal_end(self, net: Sequence[int | Fraction]) -> list[float] | None:
        """Return each seat's reward for a deal that a match has settled, or None.

        Args:
            net: the change of each total, ``match.last_net``.
        """
        if self.kind != "chips" or self.number != LATER:
            return None
        return [float(chips) for chips in net]

    def episode_end(self, totals: Sequence[int | Fraction]) -> list[float] | None:
        """Return each seat's reward for the end of a match with these totals, or None."""
        if self.kind != "win" or self.number != LATER:
            return None
        return win_rewards(totals, high_wins=self.rules.settlement != "points")
