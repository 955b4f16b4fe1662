"""Two-player Hearts in JAX, with the interface of Pgx's ``Env``: jit and vmap it with the learner.

::

    env = Hearts("two_player")
    init, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    state = init(jax.random.split(jax.random.key(0), 1024))
    state = step(state, actions, jax.random.split(jax.random.key(1), 1024))

This module plays ``two_player`` and its smaller decks. It reads the deck, points, trump and moon
from ``Rules``. ``hearts_env.kernel`` decides every rule. Only legality, taking a trick and the
information that a card reveals are implemented again, and ``tests/test_jax.py`` compares them with
``BatchGame`` over 2,000 deals. It needs the extra ``jax``, but not Pgx.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hearts_env import __version__
from hearts_env import kernel as k
from hearts_env.cards import HEARTS, SPADES
from hearts_env.encoders.flat import FlatEncoder
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import DealError, HeartsError, RulesError, needs

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise HeartsError(f"jax: hearts_env.jax {needs('jax')}") from None

__all__ = ["Hearts", "State", "auto_reset"]

_Word = jnp.uint32
"""A set of cards: bit i is the card ``rules.deck[i]``."""

_Pair = tuple[jax.Array, jax.Array]
"""A set of cards per seat."""

_VARIED = ("removed", "hand_size", "trump", "card_points", "moon_points")
"""The fields of a deal that may differ from ``two_player``."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """The state of a deal, with the attributes of Pgx's ``State``.

    A policy reads `observation`. Fields with an underscore hold hidden cards.

    Attributes:
        current_player: the seat to act, int32, or 0 when the deal is over.
        observation: that seat's ``flat`` observation, ``(size,) int8``.
        rewards: each seat's margin divided by ``rules.max_margin`` when the deal has just ended,
            else zeros, ``(2,) float32``.
        terminated: True if the deal is over, also after an illegal action. With ``auto_reset``,
            if the last deal has just ended.
        truncated: always False.
        legal_action_mask: ``(num_actions,) bool``, all True when the deal is over.
    """

    env_id = "hearts"

    current_player: jax.Array
    observation: jax.Array
    rewards: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    legal_action_mask: jax.Array
    _step_count: jax.Array  # cards played
    _hands: _Pair
    _played: _Pair
    _taken: _Pair
    _excluded: _Pair  # cards that the play has excluded from the hand
    _voids: _Pair  # all cards of the suits shown void
    _trick: jax.Array  # the lead of the unfinished trick, uint32
    _first_leader: jax.Array
    _mover: jax.Array  # current_player, which an illegal action does not change

    def replace(self, **changes: Any) -> State:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)


class Hearts:
    """Two-player Hearts with Pgx's interface. All methods can be jitted and vmapped.

    Attributes:
        rules: the rules.
        num_players: 2; a player's number is its seat.
        num_actions: the number of cards; action i is the card ``rules.deck[i]``.
        observation_shape: the shape of a ``flat`` observation.
    """

    id = State.env_id
    version = __version__
    num_players = 2

    def __init__(self, rules: Rules | str = "two_player") -> None:
        """Make an environment.

        Args:
            rules: the rules, or a preset's name. Only the deck, the hand size, the trump, the
                points of cards and moon, and the end of a match may differ from ``two_player``.

        Raises:
            RulesError: if another rule differs, or the deck has more than 32 cards.
        """
        self.rules = Rules.make(rules)
        varied = {field: getattr(self.rules, field) for field in _VARIED}
        if not self.rules.is_same_deal(Rules.preset("two_player").replace(**varied)):
            raise RulesError(
                f"rules: {self.rules.name!r} is not supported in JAX; take two_player, a smaller "
                "deck of it such as mini, or BatchGame for other rules"
            )
        r, self.num_actions = self.rules.vector, self.rules.num_actions
        if self.num_actions > 32:
            raise RulesError(
                f"rules: a deck of {self.num_actions} cards is not supported in JAX; take at most "
                "32 cards, or BatchGame for larger decks"
            )
        self._blocks = FlatEncoder().blocks(self.rules)
        self.observation_shape = FlatEncoder().space(self.rules).shape
        suits, points = (r[start:][: self.num_actions] for start in (k.R_SUIT_OF, k.R_POINTS_OF))
        self._deck = _mask(suits >= 0)
        self._suits = [_mask(suits == suit) for suit in range(4)]
        self._hearts, self._trumps = self._suits[HEARTS], _mask(suits == r[k.R_TRUMP])
        # A player who leads an unbroken heart holds none of these.
        self._others = _mask((suits != HEARTS) & (suits != SPADES))
        self._penalties = _mask(points > 0)
        self._worth = [(int(worth), _mask(points == worth)) for worth in np.unique(points)]
        # The bits that each block of an observation shows of its mask.
        self._bits = {block.name: np.arange(block.size, dtype=np.uint32) for block in self._blocks}
        worth_points = np.flatnonzero(points).astype(np.uint32)
        self._bits |= dict.fromkeys(("taken_0", "taken_1"), worth_points)

    def init(self, key: jax.Array) -> State:
        """Shuffle and deal with a key of ``jax.random``. Return the state before the first card."""
        size, cards = self.rules.hand_size, self.num_actions
        counts = [math.comb(cards, size), math.comb(cards - size, size)]
        drawn = jax.random.randint(key, (2,), 0, np.array(counts, np.uint32), _Word)
        return self._begin(self._hands_of(drawn))

    def deal(self, hands: Any) -> State:
        """Begin a known deal.

        All cards in neither hand form the kitty. Dealer and deal number have no effect: under these
        rules the lowest club leads, and no cards are passed.

        Args:
            hands: ``(2, num_actions) bool``, True if the seat holds the card of ``rules.deck``.
                From names: ``[[card in hand for card in rules.deck] for hand in hands]``.
        """
        try:
            shape = np.shape(hands)
        except ValueError:  # lists of unequal length
            shape = ()
        if shape != (2, self.num_actions):
            raise DealError(
                f"hands: shape {shape} is not that of two hands; give (2, {self.num_actions}) bool"
            )
        bits = jnp.asarray(hands, bool).astype(_Word) << jnp.arange(self.num_actions, dtype=_Word)
        one, two = bits.sum(1, dtype=_Word)
        return self._begin((one, two))

    def step(self, state: State, action: jax.Array, key: jax.Array | None = None) -> State:
        """Play a card and return the new state.

        An illegal action ends the deal with Pgx's rewards: -1 for the offender, 1 for the opponent.
        A finished deal does not change, with rewards 0.

        Args:
            state: the state.
            action: the action, int32.
            key: ignored, because play is deterministic. It may be None.
        """
        action = jnp.asarray(action)
        is_card = (action >= 0) & (action < self.num_actions)
        card = self._legal(state) & _if(is_card, _Word(1) << action.astype(_Word))
        is_loser = jnp.arange(2) == state.current_player
        revoked = state.replace(
            current_player=jnp.int32(0),
            rewards=jnp.where(is_loser, -1, 1).astype(jnp.float32),
            terminated=jnp.bool_(True),
        )
        over = state.replace(rewards=jnp.zeros_like(state.rewards))
        after = _where(card != 0, self._play(state, card), revoked)
        return self._show(_where(state.terminated, over, after))

    def observe(self, state: State, player_id: jax.Array | None = None) -> jax.Array:
        """Return a player's ``flat`` observation, ``(size,) int8``. If None, the current player."""
        player = state.current_player if player_id is None else player_id
        hand, is_over, has_lead = _of(state._hands, player), self._is_over(state), state._trick != 0
        # The leader takes the trick while it has one card.
        leader = jnp.where(has_lead, 1 - state._mover, state._mover)

        def seat(number: jax.Array) -> jax.Array:
            return _Word(1) << (number ^ player).astype(_Word)

        facts = {
            "hand": hand,
            "trick": state._trick,
            "may_hold_1": self._deck
            & ~(hand | _all(state._played) | _of(state._excluded, 1 - player)),
            "led_suit": self._suits_in(state._trick),
            "winner": _if(has_lead, seat(leader)),
            "leader": _if(~is_over, seat(leader)),
            "first_leader": seat(state._first_leader),
            "to_move": _if(~is_over & (player == state._mover), _Word(1)),
            "broken": _if(self._is_broken(state), _Word(1)),
            "phase": _Word(1) << jnp.where(is_over, _Word(k.OVER), _Word(k.PLAY)),
        }
        for away in range(2):
            facts[f"played_{away}"] = _of(state._played, player ^ away)
            facts[f"taken_{away}"] = _of(state._taken, player ^ away)
            facts[f"voids_{away}"] = self._suits_in(_of(state._voids, player ^ away))
            facts[f"total_{away}"] = _Word(0)  # a deal on its own
        parts = [facts[block.name] >> self._bits[block.name] & 1 for block in self._blocks]
        return jnp.concatenate([part.astype(jnp.int8) for part in parts])

    def _hands_of(self, numbers: jax.Array) -> _Pair:
        """Return the first hand with one number, and the second with the other from the rest.

        All combinations of cards that a hand can be are numbered from 0, the ones with the lowest
        card first.
        """
        size, cards = self.rules.hand_size, self.num_actions
        # How many combinations have the lowest card, by the cards above it and the hand's size.
        having = np.array(
            [
                [math.comb(above, m - 1) if m else 0 for m in range(size + 1)]
                for above in range(cards)
            ],
            np.uint32,
        )

        def give(card: jax.Array, dealt: Any) -> Any:
            """Give a card to the first hand, the second or the kitty."""
            one, two, need_one, need_two, first, second = dealt
            above, bit = cards - 1 - card, _Word(1) << card.astype(_Word)
            with_one = jnp.asarray(having)[above, need_one]
            to_one = first < with_one
            with_two = jnp.asarray(having)[above - need_one, need_two]  # of those not in the first
            to_two = ~to_one & (second < with_two)
            return (
                one | _if(to_one, bit),
                two | _if(to_two, bit),
                need_one - to_one,
                need_two - to_two,
                first - _if(~to_one, with_one),
                second - _if(~to_one & ~to_two, with_two),
            )

        none, need = _Word(0), jnp.int32(size)
        # On a CPU this is faster than to sort the cards, for which a number per card must be drawn.
        return jax.lax.fori_loop(0, cards, give, (none, none, need, need, *numbers))[:2]

    def _begin(self, hands: _Pair) -> State:
        """Return the state before the first card."""
        # Each field has a buffer of its own, so that `jax.jit` can take a state as a donation.
        none = functools.partial(jnp.zeros_like, hands[0])
        lowest = _all(hands) & -_all(hands)
        leader = jnp.where(hands[0] & lowest, 0, 1).astype(jnp.int32)
        state = State(
            current_player=leader,
            observation=none(),
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            legal_action_mask=none(),
            _step_count=jnp.int32(0),
            _hands=hands,
            _played=(none(), none()),
            _taken=(none(), none()),
            _excluded=(none(), none()),
            _voids=(none(), none()),
            _trick=none(),
            _first_leader=jnp.array(leader),
            _mover=jnp.array(leader),
        )
        return self._show(state)

    def _show(self, state: State) -> State:
        """Return the state with its mask and observation."""
        legal = jnp.where(state.terminated, self._deck, self._legal(state))
        mask = (legal >> jnp.arange(self.num_actions, dtype=_Word) & 1).astype(bool)
        return state.replace(legal_action_mask=mask, observation=self.observe(state))

    def _legal(self, state: State) -> jax.Array:
        """Return the acting player's legal actions, see ``kernel.legal_mask``."""
        hand = _of(state._hands, state.current_player)
        follow = hand & self._suit_of(state._trick)
        ladder = [
            (follow != 0, follow),
            (state._trick != 0, hand),
            (_all(state._played) == 0, hand & -hand),
            (self._is_broken(state) | (hand & self._others == 0), hand),
        ]
        conditions, cards = zip(*ladder, strict=True)
        return jnp.select(conditions, cards, hand & ~self._hearts)

    def _is_over(self, state: State) -> jax.Array:
        """Return whether all cards have been played."""
        return _all(state._hands) == 0

    def _is_broken(self, state: State) -> jax.Array:
        """Return whether a heart has been played, or a player has not followed suit."""
        return _all(state._played) & self._hearts | _all(state._voids) != 0

    def _suit_of(self, card: jax.Array) -> jax.Array:
        """Return all cards of a card's suit, or no cards for no card."""
        return functools.reduce(
            jnp.bitwise_or, (_if(card & suit != 0, suit) for suit in self._suits)
        )

    def _suits_in(self, cards: jax.Array) -> jax.Array:
        """Return the suits of some cards, one bit per suit."""
        held = (_if(cards & suit != 0, _Word(1 << i)) for i, suit in enumerate(self._suits))
        return functools.reduce(jnp.bitwise_or, held)

    def _play(self, state: State, card: jax.Array) -> State:
        """Play a legal card, like ``kernel.play_card``."""
        me, trick = state.current_player, state._trick
        suit, led = self._suit_of(card), self._suit_of(trick)
        is_lead, is_first = trick == 0, _all(state._played) == 0
        is_void = ~is_lead & (suit != led)
        # Cards that this play excludes. The first lead is the lowest card in both hands.
        is_alone = is_lead & ~is_first & (card & self._hearts != 0) & ~self._is_broken(state)
        void = _if(is_void, led)
        excluded = _with(state._excluded, me, void | _if(is_alone, self._others))
        below = _if(is_first, card - 1)
        # The highest trump takes the trick, else the highest card of the led suit.
        beats = jnp.where(is_void, card & self._trumps != 0, card > trick)
        taker = jnp.where(beats, me, 1 - me)
        taken = _with(state._taken, taker, _if(~is_lead, trick | card))
        hands = state._hands[0] & ~card, state._hands[1] & ~card
        is_over = _all(hands) == 0
        scores = self._score(taken)
        margin = _if(is_over, scores[1] - scores[0]) / jnp.float32(self.rules.max_margin)
        mover = jnp.where(is_lead, 1 - me, taker)
        return state.replace(
            current_player=_if(~is_over, mover),
            rewards=jnp.stack([margin, -margin]),
            terminated=is_over,
            _step_count=state._step_count + 1,
            _hands=hands,
            _played=_with(state._played, me, card),
            _taken=taken,
            _excluded=(excluded[0] | below, excluded[1] | below),
            _voids=_with(state._voids, me, void),
            _trick=_if(is_lead, card),
            _mover=mover,
        )

    def _score(self, taken: _Pair) -> tuple[jax.Array, ...]:
        """Return the scores at the end, like ``kernel.score``."""
        has_penalty = [cards & self._penalties != 0 for cards in taken]
        is_shot = has_penalty[0] != has_penalty[1]

        def points(cards: jax.Array) -> jax.Array:
            counts = [
                (worth, jax.lax.population_count(cards & mask)) for worth, mask in self._worth
            ]
            return sum(worth * count.astype(jnp.int32) for worth, count in counts)

        moons = (
            points(cards & ~self._penalties) + jnp.where(has, 0, self.rules.moon_points)
            for cards, has in zip(taken, has_penalty, strict=True)
        )
        return tuple(
            jnp.where(is_shot, moon, points(cards))
            for cards, moon in zip(taken, moons, strict=True)
        )


def auto_reset(
    step_fn: Callable[..., State], init_fn: Callable[[jax.Array], State]
) -> Callable[[State, jax.Array, jax.Array], State]:
    """Return a step that begins the next deal as soon as one has ended, like Pgx's ``auto_reset``.

    ``terminated``, ``truncated`` and ``rewards`` describe the finished deal, all other fields the
    next.

    Args:
        step_fn: ``env.step``.
        init_fn: ``env.init``. It gets the key, the third argument of the returned step.
    """

    def step(state: State, action: jax.Array, key: jax.Array) -> State:
        no = jnp.zeros_like(state.terminated)
        after = step_fn(state.replace(terminated=no), action, key)
        new = init_fn(key).replace(terminated=after.terminated, rewards=after.rewards)
        return _where(after.terminated, new, after)

    return step


def _mask(cards: Any) -> np.uint32:
    """Return the set of cards for which an array of the deck is True."""
    return np.uint32(sum(1 << int(card) for card in np.flatnonzero(cards)))


def _if(condition: jax.Array, value: Any) -> jax.Array:
    """Return a value where the condition holds, else 0."""
    return jnp.where(condition, value, jnp.zeros_like(value))


def _of(pair: _Pair, seat: jax.Array) -> jax.Array:
    """Return the cards of a seat."""
    return jnp.where(seat == 0, pair[0], pair[1])


def _all(pair: _Pair) -> jax.Array:
    """Return the cards of both seats."""
    return pair[0] | pair[1]


def _with(pair: _Pair, seat: jax.Array, cards: jax.Array) -> _Pair:
    """Return a pair with cards added to a seat."""
    return pair[0] | _if(seat == 0, cards), pair[1] | _if(seat == 1, cards)


def _where(condition: jax.Array, one: State, other: State) -> State:
    """Return `one` where the condition holds, else `other`."""
    chosen: State = jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)
    return chosen
