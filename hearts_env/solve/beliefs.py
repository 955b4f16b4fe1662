"""Beliefs: how likely each hidden world is, given how the other player plays.

A view of two-player Hearts allows at most a few hundred hidden worlds. Deals are uniform, so by
Bayes' rule the probability of a world is proportional to the product of the probabilities with
which the other player, with that hand, would have played its cards. ``belief`` weighs one view from
the first card on; a ``Tracker`` remembers its conclusions, for many games at once.

Policies come from outside (an agent's ``action_probs``); their probabilities are checked here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_chance, check_is
from hearts_env.support.arrays import Array, Bools, Floats, Ints
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.views.deals import most_cards
from hearts_env.views.hidden import worlds_of_two
from hearts_env.views.view import MAX_WORLDS, PlayerView

Policy = Callable[[BatchView], Array]
"""The chance of each action in each of many views, ``(len(views), num_actions)``."""


def certain(actions: Array, legal: Bools, name: str) -> Floats:
    """The chances of choices, 1 for the action in each row of the table of legal actions.

    Raises:
        HeartsError: of another shape, no whole numbers, or illegal.
    """
    if actions.shape != legal.shape[:1] or actions.dtype.kind not in "iu":
        raise HeartsError(
            f"{name}: gave actions of shape {actions.shape} and dtype {actions.dtype}; "
            f"needed is a whole number for each of {len(legal)} views"
        )
    table = np.zeros(legal.shape)
    row = _write_certain(actions.astype(np.int64), legal, table)
    if row >= 0:
        choices = ", ".join(map(str, np.flatnonzero(legal[row])))
        raise HeartsError(
            f"{name}: action {actions[row]} in view {row} is illegal; give one of {choices}"
        )
    return table


def check_policy(chances: Array, legal: Bools) -> Floats:
    """Chances of actions as float64, each row summing to 1.

    Raises:
        HeartsError: of another shape, not finite, negative, on illegal actions or on none.
    """
    try:
        weights = np.asarray(chances)
        if weights.dtype.kind not in "biuf":
            raise TypeError
        tolerance = 1e-6
        if weights.dtype.kind == "f":  # each of float16 is rounded by more
            tolerance = max(tolerance, float(np.finfo(weights.dtype).eps))
        weights = weights.astype(np.float64)
    except (TypeError, ValueError):
        raise HeartsError(
            f"policy: gave {type(chances).__name__}, no array of numbers; needed is {legal.shape}"
        ) from None
    if weights.shape != legal.shape:
        raise HeartsError(f"policy: shape {weights.shape}; needed is {legal.shape}")
    if not _normalise(weights, legal, tolerance):
        _refuse(weights, legal)
    return weights


def _refuse(weights: Floats, legal: Bools) -> NoReturn:
    """Say what is wrong with the chances of a policy."""
    wrong = ~(weights >= 0) | np.isinf(weights)
    if wrong.any():
        row, action = np.argwhere(wrong)[0]
        raise HeartsError(
            f"policy: the probability of action {action} in view {row} is "
            f"{weights[row, action]:g}; give 0 to 1"
        )
    if weights[~legal].any():
        row, action = np.argwhere((weights > 0) & ~legal)[0]
        raise HeartsError(
            f"policy: action {action} in view {row} is illegal and has probability "
            f"{weights[row, action]:g}; give it 0"
        )
    total = weights.sum(1)
    if (total == 0).any():
        row = int(np.flatnonzero(total == 0)[0])
        raise HeartsError(f"policy: no legal action of view {row} has a probability; give some")
    row = int(np.abs(total - 1.0).argmax())
    raise HeartsError(
        f"policy: the probabilities of view {row} sum to {total[row]:g}; "
        "give probabilities that sum to 1"
    )


@jit
def _write_certain(actions: Ints, legal: Bools, table: Floats) -> int:
    """Write chances of 1 for `actions`; returns the first row whose action is illegal, or -1."""
    for row in range(len(actions)):
        action = actions[row]
        if not 0 <= action < legal.shape[1] or not legal[row, action]:
            return row
        table[row, action] = 1.0
    return -1


@jit
def _normalise(weights: Floats, legal: Bools, tolerance: float) -> bool:
    """Make the sum of each row of chances 1, in place; False, and at once, where one is wrong."""
    for row in range(len(weights)):
        total = 0.0
        for action in range(weights.shape[1]):
            weight = weights[row, action]
            if not (weight == 0.0 or (legal[row, action] and 0.0 < weight < np.inf)):
                return False
            total += weight
        if not abs(total - 1.0) <= tolerance:
            return False
        if total != 1.0:
            for action in range(weights.shape[1]):
                weights[row, action] /= total
    return True


def past_plays(
    rules: Rules, seen: k.Vector, seat: int, deals: k.Vector, skip: int = 0
) -> tuple[k.Vector, k.Vector]:
    """What `seat` saw at each of its plays, and what it played, with each of its hands.

    Args:
        rules: of two players, without an exchange.
        seen: a state or view whose history counts.
        seat: whose plays.
        deals: ``(n, 2) int64``, the dealt hands of both seats.
        skip: this many of its first plays are left out.

    Returns:
        Views ``(n * plays, rules.state_size)`` and actions ``(n * plays,)``, hand by hand.
    """
    codes = k.plays(rules.vector, seen, 0, int(seen[k.NUM_PLAYED]))
    plays = max(sum(code >> 6 == seat for code in codes) - skip, 0)
    vectors = np.empty((len(deals), plays, len(seen)), np.int64)
    actions = np.empty((len(deals), plays), np.int64)
    if plays:
        state = np.empty(len(seen), np.int64)
        _write_past_views(rules.vector, seen, seat, deals, skip, state, vectors, actions)
    return vectors.reshape(-1, len(seen)), actions.reshape(-1)


def log_chances(views: BatchView, actions: k.Vector, policy: Policy, epsilon: float) -> Floats:
    """Natural logarithms of a policy's chances of one action in each view, ``(len(views),)``.

    Raises:
        HeartsError: if the policy gives no probabilities (see ``check_policy``).
    """
    if not len(views):
        return np.zeros(0)
    legal = views.legal_table
    uniform = legal / legal.sum(1, keepdims=True)
    chances = (1.0 - epsilon) * check_policy(policy(views), legal) + epsilon * uniform
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(chances[np.arange(len(views)), actions])
    return logs


@jit
def begin_past(r: k.Vector, seen: k.Vector, hand0: int, hand1: int, s: k.Vector) -> None:
    """Make `s` the first position of the deal of `seen`, with these hands dealt, in place."""
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
    """Write what `seat` saw at each of its plays, and what it played, in each of the dealt hands.

    The first `skip` plays are left out; `s` is memory for the replay.
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
    """What a player can conclude about the other one's hand.

    Attributes:
        hands: ``(n,) int64``, the other player's possible present hands as bit masks, in the order
            of ``view.worlds()``.
        weights: ``(n,) float64``, their probabilities.
        log_likelihoods: ``(n,) float64``, natural logarithms of the chances of the other player's
            play with each hand, forced cards included; -inf where it would not have played so.
    """

    hands: Ints
    weights: Floats
    log_likelihoods: Floats


def hidden_hands(view: PlayerView) -> Ints:
    """The other player's possible present hands, bit masks in the order of ``view.worlds()``.

    Raises:
        HeartsError: the game has another number of players than two, or an exchange under way.
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
    """``(worlds, 2) int64``: what both players were dealt, in the order of ``hidden_hands``.

    Raises:
        HeartsError: as ``hidden_hands`` does.
    """
    hidden = hidden_hands(view)
    other = 1 - view.player
    deals = np.empty((len(hidden), 2), np.int64)
    deals[:, view.player] = k.hand_at_start(view.vector, view.player)
    deals[:, other] = hidden | view.vector[k.PLAYED + k.SEAT * other]
    return deals


def check_view(view: PlayerView) -> None:
    """Refuse what exact worlds do not cover.

    Raises:
        HeartsError: not two players, or not in the play of the cards.
    """
    check_is("view", view, PlayerView, "give game.view(player)")
    check_two_players(view.rules)
    if view.phase == "pass":
        raise HeartsError("view: cards are still being passed; worlds are weighed in the play")


def has_exact_worlds(rules: Rules) -> bool:
    """Whether there is exactly one other player, and no exchange: see ``check_two_players``."""
    return rules.players == 2 and most_cards(rules) == rules.hand_size


def num_first_worlds(rules: Rules) -> int:
    """How many hands the other player of two may have before the first card."""
    return math.comb(len(rules.deck) - rules.hand_size, rules.hand_size)


def check_two_players(rules: Rules, player: str = "") -> None:
    """Refuse rules without exactly one other player, or with an exchange.

    Args:
        rules: of the game.
        player: whom the message names as unable to play it.

    Raises:
        HeartsError: the rules are such.
    """
    if not has_exact_worlds(rules):
        wrong = f"is for {rules.players} players" if rules.players != 2 else "has an exchange"
        which = f"{player} cannot play {rules.name!r}, which" if player else repr(rules.name)
        raise HeartsError(
            f"rules: {which} {wrong}; give rules for 2 players with pass_count 0, like mini"
        )


def belief(view: PlayerView, policy: Policy | None = None, *, epsilon: float = 0.0) -> Belief:
    """Weigh every world of `view` by how the other player would have played in it.

    Args:
        view: of a two-player game, at any time of the play.
        policy: the other player's chances of each action; an agent's ``action_probs``. None: all
            worlds are equally likely.
        epsilon: with this chance the other player is taken to play a random legal card instead, so
            that a play which the policy would never have made does not rule out every world.

    Returns:
        The weights. Where no world explains the play, all worlds weigh the same.

    Raises:
        HeartsError: not a two-player view, or the policy gives no
            probabilities (see ``check_policy``).
    """
    epsilon = check_chance("epsilon", epsilon)
    if policy is not None and not callable(policy):
        raise HeartsError(
            f"policy: {policy!r} is not a function of views; give agent.action_probs", value=policy
        )
    tracker = Tracker(policy, epsilon)
    one = tracker._open(view)
    tracker._ask(view.rules, [one])
    weights, _ = tracker._close(one)
    return Belief(one.hands, weights, one.logs)


class Fan(NamedTuple):
    """Information sets of a player, each with the worlds that are possible there.

    The worlds of an information set lie side by side.
    """

    states: Ints
    """``(worlds, rules.state_size)``: whole states, all hands known."""
    weights: Floats
    """``(worlds,)``: how likely each is; above 0. They need not add up to 1."""
    starts: Ints
    """``(sets + 1,)``: where the worlds of each information set begin, and behind them all."""
    seats: Ints
    """``(sets,)``: whose information sets they are."""

    @property
    def numbers(self) -> Ints:
        """``(worlds,)``: the information set of each world."""
        return np.repeat(np.arange(len(self.seats)), np.diff(self.starts))

    @property
    def totals(self) -> Floats:
        """``(sets,)``: the weight of all worlds of each information set."""
        found: Floats = np.add.reduceat(self.weights, self.starts[:-1])
        return found

    def subset(self, sets: Ints) -> Fan:
        """Some of the information sets, ascending."""
        sizes = np.diff(self.starts)[sets]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(starts[-1]) + np.repeat(self.starts[sets] - starts[:-1], sizes)
        return Fan(self.states[rows], self.weights[rows], starts, self.seats[sets])

    def slice(self, first: int, last: int) -> Fan:
        """The information sets from `first` up to `last`, in the same memory."""
        starts = self.starts[first : last + 1]
        rows = slice(starts[0], starts[-1])
        return Fan(
            self.states[rows], self.weights[rows], starts - starts[0], self.seats[first:last]
        )


_MOST_CACHED = 1 << 16
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

    def __init__(self, policy: Policy | None, epsilon: float = 0.0) -> None:
        """Beliefs about a player.

        Args:
            policy: its chances of each action (an agent's ``action_probs``); None: all alike.
            epsilon: with this chance it is taken to have played at random instead.

        Raises:
            HeartsError: `epsilon` is not a chance.
        """
        self.policy = policy
        self.epsilon = check_chance("epsilon", epsilon)
        self._cache: dict[_Key, tuple[Ints, Floats, int]] = {}

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
        hands = hidden_hands(view)
        v, player = view.vector, view.player
        deals = dealt_hands(view)
        dealt, mine = deals[:, 1 - player], int(k.hand_at_start(v, player))
        codes = tuple(k.plays(view.rules.vector, v, 0, int(v[k.NUM_PLAYED])))
        last = max((t for t, code in enumerate(codes) if code >> 6 == player), default=-1)
        logs, skip = np.zeros(len(hands)), 0
        if last >= 0 and (found := self._cache.pop((player, mine, codes[:last]), None)):
            before, was, plays = found
            places = np.minimum(np.searchsorted(before, dealt), len(before) - 1)
            if (before[places] == dealt).all():
                logs, skip = was[places], plays
        vectors, actions = past_plays(view.rules, v, 1 - player, deals, skip)
        return _Open(view, (player, mine, codes), hands, dealt, logs, vectors, actions)

    def _ask(self, rules: Rules, opened: list[_Open]) -> None:
        """Add the likelihoods of the other player's new plays."""
        asked = [one for one in opened if len(one.actions)]
        if self.policy is None or not asked:
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
            logs[some] = log_chances(views, actions[some], self.policy, self.epsilon)
        begin = 0
        for one in asked:
            end = begin + len(one.actions)
            one.logs = one.logs + logs[begin:end].reshape(len(one.hands), -1).sum(1)
            begin = end

    def _close(self, one: _Open) -> tuple[Floats, float]:
        """Remember what was found; returns the weights, and the logarithm of their mean before."""
        order = np.argsort(one.dealt)
        plays = sum(code >> 6 != one.view.player for code in one.key[2])
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        self._cache[one.key] = one.dealt[order], one.logs[order], plays
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
