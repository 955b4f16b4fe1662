"""Beliefs: the probability of each hidden world, from the opponent's play.

A view of two-player Hearts allows at most a few hundred hidden worlds. Deals are uniform. By Bayes'
rule the probability of a world is therefore proportional to the probability of the opponent's plays
with its hand in that world. ``belief`` weighs the worlds of one view. A ``Tracker`` does so for
many games at once, and remembers the results of earlier views.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.solve.policies import Policy, asked_in_blocks, check_two_players
from hearts_env.support.arguments import check_chance, check_is
from hearts_env.support.arrays import Bools, Floats, Ints
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.support.jit import jit
from hearts_env.views.hidden import worlds_of_two
from hearts_env.views.view import MAX_WORLDS, PlayerView


def past_plays(
    rules: Rules, seen: k.Vector, seat: int, deals: k.Vector, skip: int = 0
) -> tuple[k.Vector, k.Vector]:
    """Return the views and actions of all plays of `seat` so far, for each of its possible hands.

    Args:
        rules: rules of two players, without an exchange.
        seen: a state or view with the history.
        seat: the player.
        deals: ``(n, 2) int64``, the dealt hands of both seats.
        skip: the number of first plays to leave out.

    Returns:
        Views ``(n * plays, rules.state_size)`` and actions ``(n * plays,)``, hand by hand.
    """
    codes = k.plays(rules.vector, seen, 0, int(seen[k.NUM_PLAYED]))
    plays = max(sum(code >> k.SEAT_AT == seat for code in codes) - skip, 0)
    vectors = np.empty((len(deals), plays, len(seen)), np.int64)
    actions = np.empty((len(deals), plays), np.int64)
    if plays:
        state = np.empty(len(seen), np.int64)
        _write_past_views(rules.vector, seen, seat, deals, skip, state, vectors, actions)
    return vectors.reshape(-1, len(seen)), actions.reshape(-1)


def log_probs(probs: Floats, legal: Bools, actions: k.Vector, epsilon: float) -> Floats:
    """Return the log probability of one action in each view under a policy, ``(len(probs),)``.

    Args:
        probs: the policy's probabilities, one row per view.
        legal: the legal actions, in the same shape.
        actions: an action for each view.
        epsilon: the probability that a random legal action is played instead.
    """
    uniform = legal / legal.sum(1, keepdims=True)
    mixed = (1.0 - epsilon) * probs + epsilon * uniform
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(mixed[np.arange(len(actions)), actions])
    return logs


@jit
def begin_past(r: k.Vector, seen: k.Vector, hand0: int, hand1: int, s: k.Vector) -> None:
    """Make `s` the first position of the deal of `seen` with these dealt hands, in place."""
    k.copy_state(seen, s)
    s[k.HANDS] = hand0
    s[k.HANDS + k.SEAT] = hand1
    s[k.KITTY] = r[k.R_DECK] & ~(hand0 | hand1)
    k.start(r, s)


@jit
def _write_past_views(
    r: k.Vector,
    seen: k.Vector,
    seat: int,
    deals: k.Vector,
    skip: int,
    s: k.Vector,
    vectors: k.Vector,
    actions: k.Vector,
) -> None:
    """Write the views and actions of all plays of `seat` so far, for each pair of dealt hands.

    The first `skip` plays are left out. `s` is memory for the replay.
    """
    for i in range(len(deals)):
        begin_past(r, seen, deals[i, 0], deals[i, 1], s)
        place = -skip
        for t in range(seen[k.NUM_PLAYED]):
            card = k.card_at(r, seen, t)
            if s[k.PLAYER] == seat:
                if place >= 0:
                    k.write_view(r, s, seat, vectors[i, place])
                    actions[i, place] = card
                place += 1
            k.play(r, s, card)


@dataclass(frozen=True)
class Belief:
    """A player's belief about the opponent's hand.

    Attributes:
        hands: ``(n,) int64``, the opponent's possible present hands as bit masks, in the order of
            ``view.worlds()``.
        weights: ``(n,) float64``, their probabilities.
        log_likelihoods: ``(n,) float64``, the log probability of the opponent's play with each
            hand, forced cards included, or -inf if the policy rules the play out.
    """

    hands: Ints
    weights: Floats
    log_likelihoods: Floats


def hidden_hands(view: PlayerView) -> Ints:
    """Return the opponent's possible present hands, bit masks in the order of ``view.worlds()``.

    Raises:
        HeartsError: if the game is not for two players, or an exchange is under way.
    """
    check_view(view)
    scratch = np.empty(3 * (k.MAX_PLAYERS + 1) + 2 * 64, np.int64)
    hands = np.empty(1024, np.int64)
    while True:
        n = worlds_of_two(view.rules.vector, view.vector, view.player, hands, scratch)
        if n <= len(hands):
            return hands[:n].copy()
        if len(hands) >= MAX_WORLDS:
            raise HeartsError(
                f"view: it allows too many worlds; give one that allows at most {MAX_WORLDS:,}"
            )
        hands = np.empty(min(64 * len(hands), MAX_WORLDS), np.int64)


def dealt_hands(view: PlayerView) -> Ints:
    """Return both players' dealt hands in the order of ``hidden_hands``, ``(worlds, 2) int64``.

    Raises:
        HeartsError: if ``hidden_hands`` refuses `view`.
    """
    hidden = hidden_hands(view)
    other = 1 - view.player
    deals = np.empty((len(hidden), 2), np.int64)
    deals[:, view.player] = k.hand_at_start(view.vector, view.player)
    deals[:, other] = hidden | view.vector[k.PLAYED + k.SEAT * other]
    return deals


def check_view(view: PlayerView) -> None:
    """Raise unless the view has exact worlds.

    Raises:
        HeartsError: if the game is not for two players, or cards are still being passed.
    """
    check_is("view", view, PlayerView, "give game.view(player)")
    check_two_players(view.rules)
    if view.phase == "pass":
        raise HeartsError("view: cards are still being passed; give a view from after the exchange")


def num_first_worlds(rules: Rules) -> int:
    """Return the number of the opponent's possible hands before the first card."""
    return math.comb(len(rules.deck) - rules.hand_size, rules.hand_size)


def belief(view: PlayerView, policy: Policy | None = None, *, epsilon: float = 0.0) -> Belief:
    """Weigh every world of `view` by the opponent's play in it.

    Args:
        view: a view of a two-player game, at any time of the play.
        policy: the opponent's action probabilities, like ``Agent.action_probs``. If None, all
            worlds are equally likely.
        epsilon: the probability that the opponent plays a random legal card instead. If above 0, a
            play that the policy never makes does not rule out every world.

    Returns:
        The weights. If no world explains the play, all worlds weigh the same.

    Raises:
        HeartsError: if the view is not of a two-player game, or the policy gives no probabilities
            (see ``check_policy``).
    """
    epsilon = check_chance("epsilon", epsilon)
    if policy is not None and not callable(policy):
        raise HeartsError(
            f"policy: {quoted(policy)} is not a function of views; give agent.action_probs"
        )
    tracker = Tracker(policy, epsilon)
    one = tracker._replay(view)
    tracker._add_likelihoods(view.rules, [one])
    weights, _ = tracker._posterior(one)
    return Belief(one.hands, weights, one.logs)


class InfoSets(NamedTuple):
    """Information sets, each with its possible worlds side by side."""

    states: Ints
    """``(worlds, rules.state_size)``: complete states, with all hands known."""
    weights: Floats
    """``(worlds,)``: positive weights of the worlds, not necessarily with the sum 1."""
    starts: Ints
    """``(sets + 1,)``: the first world of each information set, and the number of worlds."""
    seats: Ints
    """``(sets,)``: the player of each information set."""

    @property
    def numbers(self) -> Ints:
        """The information set of each world, ``(worlds,)``."""
        return np.repeat(np.arange(len(self.seats)), np.diff(self.starts))

    @property
    def totals(self) -> Floats:
        """The total weight of each information set, ``(sets,)``."""
        found: Floats = np.add.reduceat(self.weights, self.starts[:-1])
        return found

    def subset(self, sets: Ints) -> InfoSets:
        """Return some of the information sets, ascending."""
        sizes = np.diff(self.starts)[sets]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(starts[-1]) + np.repeat(self.starts[sets] - starts[:-1], sizes)
        return InfoSets(self.states[rows], self.weights[rows], starts, self.seats[sets])

    def slice(self, first: int, last: int) -> InfoSets:
        """Return the information sets from `first` to before `last`, sharing the memory."""
        starts = self.starts[first : last + 1]
        rows = slice(starts[0], starts[-1])
        return InfoSets(
            self.states[rows], self.weights[rows], starts - starts[0], self.seats[first:last]
        )


_MOST_CACHED = 1 << 16
"""The number of decisions after which all are forgotten: more than any block of deals has."""

_Key = tuple[int, int, tuple[int, ...]]
"""A player's knowledge: its seat, its dealt hand, and the cards played, seat by seat."""


@dataclass
class _Pending:
    """A view with worlds still to be weighed."""

    view: PlayerView
    key: _Key
    hands: Ints
    """The opponent's possible present hands."""
    dealt: Ints
    """The same hands as dealt."""
    logs: Floats
    """Log likelihoods of the plays considered so far."""
    vectors: Ints
    actions: Ints


class Tracker:
    """Weighs the worlds of many views, and remembers its conclusions."""

    def __init__(self, policy: Policy | None, epsilon: float = 0.0) -> None:
        """Begin to track beliefs about a player.

        Args:
            policy: the player's action probabilities, like ``Agent.action_probs``. If None, uniform
                play.
            epsilon: the probability that the player plays a random legal card instead.

        Raises:
            HeartsError: if `epsilon` is not a probability.
        """
        self.policy = policy
        self.epsilon = check_chance("epsilon", epsilon)
        self._cache: dict[_Key, tuple[Ints, Floats, int]] = {}

    def infosets(self, views: BatchView) -> InfoSets:
        """Return the worlds of each view, weighted by probability.

        Worlds that the policy rules out are dropped. If none remain, all get equal weight.

        Raises:
            HeartsError: if the views are not of two players, or the policy gives no probabilities.
        """
        return self.with_likelihoods(views)[0]

    def with_likelihoods(self, views: BatchView) -> tuple[InfoSets, Floats]:
        """Return the weighted worlds, and how well the policy explains the opponent's play.

        Returns:
            The worlds as in ``infosets``, and ``(len(views),)`` log probabilities of the opponent's
            plays: the log of the mean over the worlds possible now, -inf for 0. Use them to compare
            policies in one view. They cannot be compared between views.

        Raises:
            HeartsError: if ``infosets`` refuses the views or the policy.
        """
        check_two_players(views.rules)
        seats = views.players.astype(np.int64)
        pending = [self._replay(views[row]) for row in range(len(views))]
        self._add_likelihoods(views.rules, pending)
        states, weights, sizes = [], [], []
        chances = np.empty(len(pending))
        for row, one in enumerate(pending):
            likely, chances[row] = self._posterior(one)
            live = np.flatnonzero(likely)
            states.append(_worlds(views.rules, one.view, one.hands[live]))
            weights.append(likely[live])
            sizes.append(len(live))
        starts = np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))])
        if not pending:
            none = np.empty((0, views.rules.state_size), np.int64)
            return InfoSets(none, np.empty(0), starts, seats), chances
        return InfoSets(np.concatenate(states), np.concatenate(weights), starts, seats), chances

    def _replay(self, view: PlayerView) -> _Pending:
        """Begin with the likelihoods from the player's last decision."""
        hands = hidden_hands(view)
        v, player = view.vector, view.player
        deals = dealt_hands(view)
        dealt, mine = deals[:, 1 - player], int(k.hand_at_start(v, player))
        codes = tuple(k.plays(view.rules.vector, v, 0, int(v[k.NUM_PLAYED])))
        last = max((t for t, code in enumerate(codes) if code >> k.SEAT_AT == player), default=-1)
        logs, skip = np.zeros(len(hands)), 0
        if last >= 0 and (found := self._cache.pop((player, mine, codes[:last]), None)):
            before, was, plays = found
            places = np.minimum(np.searchsorted(before, dealt), len(before) - 1)
            if (before[places] == dealt).all():
                logs, skip = was[places], plays
        vectors, actions = past_plays(view.rules, v, 1 - player, deals, skip)
        return _Pending(view, (player, mine, codes), hands, dealt, logs, vectors, actions)

    def _add_likelihoods(self, rules: Rules, pending: list[_Pending]) -> None:
        """Add the likelihoods of the opponent's new plays."""
        asked = [one for one in pending if len(one.actions)]
        if self.policy is None or not asked:
            return
        vectors = np.concatenate([one.vectors for one in asked])
        actions = np.concatenate([one.actions for one in asked])
        players = np.repeat(
            [1 - one.view.player for one in asked], [len(one.actions) for one in asked]
        )
        logs = np.empty(len(actions))
        for some, legal, probs in asked_in_blocks(self.policy, rules, vectors, players):
            logs[some] = log_probs(probs, legal, actions[some], self.epsilon)
        begin = 0
        for one in asked:
            end = begin + len(one.actions)
            one.logs = one.logs + logs[begin:end].reshape(len(one.hands), -1).sum(1)
            begin = end

    def _posterior(self, one: _Pending) -> tuple[Floats, float]:
        """Remember the likelihoods. Return the weights, and the log of the mean likelihood."""
        order = np.argsort(one.dealt)
        plays = sum(code >> k.SEAT_AT != one.view.player for code in one.key[2])
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        self._cache[one.key] = one.dealt[order], one.logs[order], plays
        best = one.logs.max(initial=-np.inf)
        likely = np.exp(one.logs - best) if np.isfinite(best) else np.ones(len(one.hands))
        weights: Floats = likely / likely.sum()
        return weights, float(best + np.log(likely.mean()))


def _worlds(rules: Rules, view: PlayerView, hands: Ints) -> Ints:
    """Return the complete state in each world, ``(len(hands), rules.state_size)``."""
    other = 1 - view.player
    states = np.repeat(view.vector[None], len(hands), axis=0)
    states[:, k.HANDS + k.SEAT * other] = hands
    if view.vector[k.KITTY_TAKER] < 0:
        everything = states[:, k.HANDS] | states[:, k.HANDS + k.SEAT]
        everything |= states[:, k.PLAYED] | states[:, k.PLAYED + k.SEAT]
        states[:, k.KITTY] = rules.vector[k.R_DECK] & ~everything
    return states
