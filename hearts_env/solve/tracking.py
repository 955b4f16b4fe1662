"""Beliefs in many games at once, from card to card: the worlds that each view allows, weighed.

The weights are those of ``hearts_env.solve.beliefs``, by Bayes' rule. There each is worked out from
the first card on; here what a player has concluded at its last decision is kept, so that only what
the other one has played since is asked about, for all games in one call. What is kept follows from
the views alone: it saves time and changes nothing. Of a policy that draws random numbers it is what
was drawn, so that weights follow from all the views before: players begin each block of deals with
an empty tracker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.solve.beliefs import check_two_players, dealt_hands, hidden_hands
from hearts_env.solve.policies import Policy, log_chances, past_plays
from hearts_env.solve.response import Fan
from hearts_env.support.arguments import check_chance
from hearts_env.support.arrays import Floats, Ints
from hearts_env.views.view import PlayerView

_MOST_KEPT = 1 << 16
"""Decisions that are remembered; then all are forgotten. No block of deals has as many."""
_MOST_ASKED = 1 << 14
"""Views that the policy is asked about at once."""

_Key = tuple[int, int, tuple[int, ...]]
"""Seat, dealt hand and cards played, seat by seat: all that a player has seen."""


@dataclass
class _Open:
    """A view whose worlds are being weighed."""

    view: PlayerView
    key: _Key
    hands: Ints
    """The other's possible hands, as they are now."""
    dealt: Ints
    """The same as they were dealt."""
    logs: Floats
    """What was concluded before."""
    vectors: Ints
    actions: Ints


class Tracker:
    """Weighs the worlds of many views, and remembers what it found."""

    def __init__(self, policy: Policy, noise: float = 0.0) -> None:
        """Beliefs about a player.

        Args:
            policy: its chances of each action (an agent's ``action_probs``).
            noise: with this chance it is taken to have played at random instead.

        Raises:
            HeartsError: `noise` is not a chance.
        """
        self.policy = policy
        self.noise = check_chance("noise", noise)
        self._kept: dict[_Key, tuple[Ints, Floats, int]] = {}

    def fan(self, views: BatchView) -> Fan:
        """The worlds of each view, as likely as they are; weights add up to 1 in each.

        Worlds in which the other would not have played so are left out; where that leaves none,
        all weigh the same.

        Raises:
            HeartsError: not of two players, or the policy gives no probabilities.
        """
        return self.judged(views)[0]

    def judged(self, views: BatchView) -> tuple[Fan, Floats]:
        """The worlds, and how well the policy explains what the other player has played.

        Returns:
            What ``fan`` gives; and ``(len(views),)`` natural logarithms of the chance of its plays,
            the mean over the worlds that are possible now, -inf where it is 0. In one view they
            compare policies; between views they say nothing.

        Raises:
            HeartsError: as ``fan``.
        """
        check_two_players(views.rules)
        seats = views.players.astype(np.int64)
        opened = [self._open(views[row]) for row in range(len(views))]
        self._ask(views.rules, opened)
        states, weights, sizes = [], [], []
        chances = np.empty(len(opened))
        for row, one in enumerate(opened):
            likely, chances[row] = self._close(one)
            live = np.flatnonzero(likely)
            states.append(_worlds(views.rules, one.view, one.hands[live]))
            weights.append(likely[live])
            sizes.append(len(live))
        starts = np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))])
        if not opened:
            none = np.empty((0, views.rules.state_size), np.int64)
            return Fan(none, np.empty(0), starts, seats), chances
        return Fan(np.concatenate(states), np.concatenate(weights), starts, seats), chances

    def _open(self, view: PlayerView) -> _Open:
        """Begin with what was concluded at the player's last decision."""
        v, player = view.vector, view.player
        hands = hidden_hands(view)
        deals = dealt_hands(view)
        dealt, mine = deals[:, 1 - player], int(k.hand_at_start(v, player))
        codes = tuple(k.plays(view.rules.vector, v, 0, int(v[k.NUM_PLAYED])))
        last = max((t for t, code in enumerate(codes) if code >> 6 == player), default=-1)
        logs, skip = np.zeros(len(hands)), 0
        if last >= 0 and (found := self._kept.pop((player, mine, codes[:last]), None)):
            before, was, plays = found
            places = np.minimum(np.searchsorted(before, dealt), len(before) - 1)
            if (before[places] == dealt).all():
                logs, skip = was[places], plays
        vectors, actions = past_plays(view.rules, v, 1 - player, deals, skip)
        return _Open(view, (player, mine, codes), hands, dealt, logs, vectors, actions)

    def _ask(self, rules: Rules, opened: list[_Open]) -> None:
        """Add what the other player's new plays tell."""
        asked = [one for one in opened if len(one.actions)]
        if not asked:
            return
        vectors = np.concatenate([one.vectors for one in asked])
        actions = np.concatenate([one.actions for one in asked])
        players = np.repeat(
            [1 - one.view.player for one in asked], [len(one.actions) for one in asked]
        )
        logs = np.empty(len(actions))
        for begin in range(0, len(actions), _MOST_ASKED):
            some = slice(begin, begin + _MOST_ASKED)
            views = BatchView(rules, vectors[some], players[some])
            logs[some] = log_chances(views, actions[some], self.policy, self.noise)
        begin = 0
        for one in asked:
            end = begin + len(one.actions)
            one.logs = one.logs + logs[begin:end].reshape(len(one.hands), -1).sum(1)
            begin = end

    def _close(self, one: _Open) -> tuple[Floats, float]:
        """Remember what was found; returns the weights, and the logarithm of their mean before."""
        order = np.argsort(one.dealt)
        plays = sum(code >> 6 != one.view.player for code in one.key[2])
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[one.key] = one.dealt[order], one.logs[order], plays
        best = one.logs.max(initial=-np.inf)
        likely = np.exp(one.logs - best) if np.isfinite(best) else np.ones(len(one.hands))
        weights: Floats = likely / likely.sum()
        return weights, float(best + np.log(likely.mean()))


def _worlds(rules: Rules, view: PlayerView, hands: Ints) -> Ints:
    """The whole state in each world, ``(len(hands), rules.state_size)``."""
    other = 1 - view.player
    states = np.repeat(view.vector[None], len(hands), axis=0)
    states[:, k.HANDS + k.SEAT * other] = hands
    if view.vector[k.KITTY_TAKER] < 0:
        everything = states[:, k.HANDS] | states[:, k.HANDS + k.SEAT]
        everything |= states[:, k.PLAYED] | states[:, k.PLAYED + k.SEAT]
        states[:, k.KITTY] = rules.vector[k.R_DECK] & ~everything
    return states
