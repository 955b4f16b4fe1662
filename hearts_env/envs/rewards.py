"""Rewards: what an episode pays to whom and when, the one place where the sign of a score flips.

Everything is a difference of one number, what a seat has *earned* so far: whole numbers
(``earned``), made into rewards by one division (``Rewarder.scale``), so that the rewards of a
deal add up to the same total however they are handed out.
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
"""The values of ``reward``; their places are the kinds that compiled code knows."""
MARGIN, POINTS, TRICK, WIN, CHIPS = range(5)
ILLEGAL_REWARD = -1.0
"""What an illegal action costs under ``illegal_action="terminate"``."""

LATER = -1
"""Of an episode of a whole match: ``chips`` once a deal is settled, ``win`` at the very end."""


def _is_due(kind: int, is_over: bool) -> bool:  # noqa: FBT001
    """Whether a kind of reward may be paid now: ``trick`` at any time, others after the deal."""
    return kind != LATER and (is_over or kind == TRICK)


is_due = jit(_is_due)


@jit
def earned(r: k.Vector, s: k.Vector, kind: int, p: int) -> int:
    """What seat `p` has earned so far in this deal, a whole number; see ``Rewarder.scale``.

    0 at the start of a deal. Only ``trick`` earns anything before the end. ``chips`` are those of
    the deal on its own.
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
    """Write what every seat has earned since it was last paid over `out`, in place.

    Returns whether that is anything, or the deal is over. Then `paid` is for the next deal.
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
    """Add to `rewards` what one seat of each game has earned since it was last paid, in place.

    Args:
        r: the rules.
        states: ``(num_games, rules.state_size)``.
        rows: the numbers of the games.
        seats: whose rewards they are, ``(num_games,)``.
        kind: ``Rewarder.number``.
        paid: what each has been paid in this deal, ``(num_games,)``, in units of ``earned``.
        scale: ``Rewarder.scale``.
        rewards: ``(num_games,)``.
    """
    for g in rows:
        is_over = states[g, k.PHASE] == k.OVER
        if is_due(kind, is_over):
            now = earned(r, states[g], kind, seats[g])
            rewards[g] += (now - paid[g]) / scale
            paid[g] = 0 if is_over else now


def win_rewards(totals: Sequence[int | Fraction], *, high_wins: bool = False) -> list[float]:
    """The rewards of ``win`` for final totals: the best share +1, the others -1; all equal: 0."""
    best = max(totals) if high_wins else min(totals)
    winners = sum(total == best for total in totals)
    losers = len(totals) - winners
    if not losers:
        return [0.0] * len(totals)
    return [1 / winners if total == best else -1 / losers for total in totals]


class Rewarder:
    """Hands out the rewards of one episode, deal by deal.

    ::

        rewarder = Rewarder(rules, "trick", episode="deal")
        game.play(action)
        rewards = rewarder.step(game)     # None: nobody gets anything

    In a match add ``deal_end(match.last_net)`` after each deal and, at its end,
    ``episode_end(match.totals)``. Copies and pickles with what has been paid.

    ``number`` is the kind as compiled code knows it: `LATER` where ``step`` leaves all to those
    two, for ``win`` and ``chips`` in an episode of a whole match. ``scale`` is what ``earned`` is
    divided by. ``pays_tricks`` is True where ``step`` may pay before the deal is over.
    """

    def __init__(self, rules: Rules, kind: str, *, episode: str = "deal") -> None:
        """Rewards of a kind; in an episode of a whole ``match``, ``win`` is paid at its end.

        Raises:
            HeartsError: if `kind` is unknown, or ``chips`` where the rules settle in points.
        """
        check_choice("reward", kind, REWARDS)
        if kind == "chips":
            check_in_chips(rules, "reward: 'chips'")
        self.rules = rules
        self.kind = kind
        waits = kind in ("win", "chips") and episode == "match"
        self.number = LATER if waits else REWARDS.index(kind)
        self.episode = episode
        self._due = _is_due(self.number, is_over=False), _is_due(self.number, is_over=True)
        self.pays_tricks = self._due[False]
        self._paid, self._out = np.zeros(rules.players, np.int64), np.zeros(rules.players)
        self.scale = float(SHARES)
        if kind == "points":
            self.scale = 1.0
        elif kind in ("margin", "trick"):  # margin_sum is the margin times the number of others
            self.scale = float(rules.max_margin * (rules.players - 1))

    def reset(self, game: Game) -> None:
        """Begin with `game`, in place: what was earned in it so far counts as paid.

        So an episode that begins in mid-deal pays what an episode from the start of the deal would
        still pay.
        """
        self._paid.fill(0)
        if self.pays_tricks:
            r, s = self.rules.vector, game.vector
            _pay_seats.call(r, s, self.number, self._paid, self.scale, self._out)

    def step(self, game: Game) -> list[float] | None:
        """The reward of every seat for what was done since the last call; None: nobody gets any.

        To be called after each action, or at least after each trick, and at the end, with the deal
        that the action belonged to. After the end of a deal the next may follow at once.
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
        """The reward of every seat for a deal that a match has settled; None: nobody gets any.

        Args:
            net: what the deal added to the totals, ``match.last_net``.
        """
        if self.kind != "chips" or self.number != LATER:
            return None
        return [float(chips) for chips in net]

    def episode_end(self, totals: Sequence[int | Fraction]) -> list[float] | None:
        """The reward of every seat for the end of a match; None: nobody gets any."""
        if self.kind != "win" or self.number != LATER:
            return None
        return win_rewards(totals, high_wins=self.rules.settlement != "points")
