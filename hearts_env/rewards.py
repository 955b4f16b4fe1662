"""Rewards: what an episode pays to whom and when, the one place where the sign of a score flips.

Everything is a difference of one number, what a seat has *earned* so far: whole numbers
(``earned``), made into rewards by one division (``Rewarder.scale``), so that the rewards of a
deal add up to the same total however they are handed out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hearts_env import kernel as k
from hearts_env._jit import jit
from hearts_env.arguments import check_choice
from hearts_env.chips import check_in_chips
from hearts_env.game import Game
from hearts_env.rules import Rules

REWARDS = ("margin", "points", "trick", "win", "chips")
"""The values of ``reward``; their places are the kinds that compiled code knows."""
MARGIN, POINTS, TRICK, WIN, CHIPS = range(5)

SHARES = 420
"""What winners share is handed out in 420ths: 1 / n is a whole number of them for 1 to 7."""


@jit
def net_chips(r: k.Vector, s: k.Vector, p: int) -> int:
    """What seat `p` wins in chips by a deal on its own, in 420ths; ``chips_of``, compiled."""
    players = r[k.R_PLAYERS]
    charged = s[k.REVOKER] >= 0
    own = k.score(r, s, p) if charged else s[k.POINTS + p]
    total, least, without = 0, own, 0
    for q in range(players):
        taken = k.score(r, s, q) if charged else s[k.POINTS + q]
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
            winners += (k.score(r, s, q) if charged else s[k.POINTS + q]) == least
        won = own == least
    return (SHARES // winners * total if won and winners else 0) - SHARES * own


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

    ``waits_for_match`` says whether ``step`` leaves all to those two: ``win`` and ``chips`` in an
    episode of a whole match.
    """

    def __init__(self, rules: Rules, kind: str, *, episode: str = "deal") -> None:
        """Rewards of a kind; in an episode of a whole ``match``, ``win`` waits for its end.

        Raises:
            HeartsError: if the kind is unknown, or ``chips`` where the rules settle in points.
        """
        check_choice("reward", kind, REWARDS)
        if kind == "chips":
            check_in_chips(rules, "reward: 'chips'")
        self.rules = rules
        self.kind = kind
        self.number = REWARDS.index(kind)
        self.episode = episode
        self.waits_for_match = kind in ("win", "chips") and episode == "match"
        self._at_tricks = kind == "trick"
        self._paid = [0] * rules.players

    @property
    def scale(self) -> float:
        """What ``earned`` is divided by."""
        if self.kind in ("margin", "trick"):
            # margin_sum is the margin times the number of others.
            return self.rules.max_margin * (self.rules.players - 1)
        return 1.0 if self.kind == "points" else float(SHARES)

    def reset(self) -> None:
        """Forget what was paid: a new deal begins before the last was over, in place."""
        self._paid = [0] * self.rules.players

    def step(self, game: Game) -> list[float] | None:
        """The reward of every seat for what has happened since the last call; None: nobody's.

        To be called after each action, or at least after each trick, and at the end, with the deal
        that the action belonged to. After the end of a deal the next may follow at once.
        """
        over = game.is_over
        if not (over or self._at_tricks) or self.waits_for_match:
            return None
        if not over and game.vector[k.TRICK_LEN]:
            return None
        r, s, kind = self.rules.vector, game.vector, self.number
        now = [int(earned(r, s, kind, p)) for p in range(self.rules.players)]
        if now == self._paid and not over:
            return None
        scale = self.scale
        rewards = [(new - old) / scale for new, old in zip(now, self._paid, strict=True)]
        self._paid = [0] * len(now) if over else now
        return rewards

    def deal_end(self, net: Sequence[int | Fraction]) -> list[float] | None:
        """The reward of every seat for a deal that a match has settled; None: nobody's.

        Args:
            net: what the deal added to the totals, ``match.last_net``.
        """
        if self.kind != "chips" or not self.waits_for_match:
            return None
        return [float(chips) for chips in net]

    def episode_end(self, totals: Sequence[int | Fraction]) -> list[float] | None:
        """The reward of every seat for the end of a match; None: nobody's."""
        if self.kind != "win" or not self.waits_for_match:
            return None
        return win_rewards(totals, high_wins=self.rules.settlement != "points")
