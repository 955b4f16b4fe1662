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
from collections.abc import Callable
from typing import Any

import numpy as np

from hearts_env import __version__
from hearts_env import kernel as k
from hearts_env.cards import HEARTS, SPADES
from hearts_env.encoders.features import TOTAL_STEPS
from hearts_env.encoders.flat import FlatEncoder
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import DealError, HeartsError, RulesError, needs

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise HeartsError(f"jax: hearts_env.jax {needs('jax')}") from None

__all__ = ["Hearts", "State", "auto_reset"]

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
    _hands: jax.Array  # cards held, (2, cards), like the next three
    _played: jax.Array
    _taken: jax.Array
    _excluded: jax.Array  # cards that the play has excluded from the hand
    _voids: jax.Array  # suits shown void, (2, 4)
    _trick: jax.Array  # the lead of the unfinished trick, (cards,)
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
            RulesError: if another rule differs.
        """
        self.rules = Rules.make(rules)
        varied = {field: getattr(self.rules, field) for field in _VARIED}
        if not self.rules.is_same_deal(Rules.preset("two_player").replace(**varied)):
            raise RulesError(
                f"rules: {self.rules.name!r} is not supported in JAX; take two_player, a smaller "
                "deck of it such as mini, or BatchGame for other rules"
            )
        r, self.num_actions = self.rules.vector, self.rules.num_actions
        self._blocks = FlatEncoder().blocks(self.rules)
        self.observation_shape = FlatEncoder().space(self.rules).shape
        self._suits = r[k.R_SUIT_OF :][: self.num_actions] == np.arange(4)[:, None]
        self._points = r[k.R_POINTS_OF :][: self.num_actions].astype(np.int32)
        self._trumps = self._suits[r[k.R_TRUMP]] & (r[k.R_TRUMP] >= 0)
        # A player who leads an unbroken heart holds none of these.
        self._others = ~(self._suits[HEARTS] | self._suits[SPADES])

    def init(self, key: jax.Array) -> State:
        """Shuffle and deal with a key of ``jax.random``. Return the state before the first card."""
        drawn, card = jax.random.bits(key, (self.num_actions,)), jnp.arange(self.num_actions)
        # A card's place is the number of cards before it: on a CPU 6 times faster than sorting.
        before = (drawn < drawn[:, None]) | (drawn == drawn[:, None]) & (card < card[:, None])
        return self.deal(before.sum(1) // self.rules.hand_size == jnp.arange(2)[:, None])

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
        hands = jnp.array(hands, bool)
        # Each field has a buffer of its own, so that `jax.jit` can take a state as a donation.
        cards = functools.partial(jnp.zeros_like, hands)
        # The lowest card dealt leads.
        leader = jnp.where(hands[0, hands.any(0).argmax()], 0, 1).astype(jnp.int32)
        state = State(
            current_player=leader,
            observation=cards(),
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            legal_action_mask=cards()[0],
            _step_count=jnp.int32(0),
            _hands=hands,
            _played=cards(),
            _taken=cards(),
            _excluded=cards(),
            _voids=jnp.zeros((2, 4), bool),
            _trick=cards()[0],
            _first_leader=jnp.array(leader),
            _mover=jnp.array(leader),
        )
        return self._show(state)

    def step(self, state: State, action: jax.Array, key: jax.Array | None = None) -> State:
        """Play a card and return the new state.

        An illegal action ends the deal with Pgx's rewards: -1 for the offender, 1 for the opponent.
        A finished deal does not change, with rewards 0.

        Args:
            state: the state.
            action: the action, int32.
            key: ignored, because play is deterministic. It may be None.
        """
        card = jnp.arange(self.num_actions) == action
        is_legal = (card & state.legal_action_mask).any()
        is_loser = jnp.arange(2) == state.current_player
        revoked = state.replace(
            rewards=jnp.where(is_loser, -1, 1).astype(jnp.float32),
            terminated=jnp.bool_(True),
        )
        over = state.replace(rewards=jnp.zeros_like(state.rewards))
        after = _where(is_legal, self._play(state, card), revoked)
        seat = jnp.where(is_legal, after.current_player, 0)
        after = after.replace(
            current_player=seat,
            observation=self.observe(after, seat),
            legal_action_mask=self._legal(after) | ~is_legal,
        )
        return _where(state.terminated, over, after)

    def observe(self, state: State, player_id: jax.Array | None = None) -> jax.Array:
        """Return a player's ``flat`` observation, ``(size,) int8``. If None, the current player."""
        player = state.current_player if player_id is None else player_id
        seats, led = jnp.array([player, 1 - player]), self._suit_of(state._trick)
        unseen = ~(state._hands[player] | state._played.any(0))
        winner = (state._played & state._trick).any(1)  # the leader, while the trick has one card
        leader = jnp.where(state._trick.any(), winner, jnp.arange(2) == state._mover)
        is_over = self._is_over(state)
        facts = {
            "hand": state._hands[player],
            "trick": state._trick,
            "may_hold_1": unseen & ~state._excluded[1 - player],
            "led_suit": led,
            "winner": winner[seats],
            "leader": leader[seats] & ~is_over,
            "first_leader": seats == state._first_leader,
            "to_move": (player == state._mover) & ~is_over,
            "broken": self._is_broken(state),
            "phase": jnp.arange(4) == jnp.where(is_over, k.OVER, k.PLAY),
        }
        for away in range(2):
            facts[f"played_{away}"] = state._played[seats[away]]
            facts[f"taken_{away}"] = state._taken[seats[away]][self._points != 0]
            facts[f"voids_{away}"] = state._voids[seats[away]]
            facts[f"total_{away}"] = jnp.zeros(TOTAL_STEPS, bool)  # a deal on its own
        parts = [jnp.atleast_1d(facts[block.name]) for block in self._blocks]
        return jnp.concatenate(parts).astype(jnp.int8)

    def _show(self, state: State) -> State:
        """Return the state with its mask and observation."""
        shown = state.replace(legal_action_mask=self._legal(state))
        return shown.replace(observation=self.observe(shown))

    def _legal(self, state: State) -> jax.Array:
        """Return the acting player's legal actions, see ``kernel.legal_mask``."""
        hand = state._hands[state.current_player]
        follow = hand & self._cards_of(self._suit_of(state._trick))
        lowest = jnp.arange(self.num_actions) == hand.argmax()
        ladder = [
            (self._is_over(state), jnp.ones_like(hand)),
            (follow.any(), follow),
            (state._trick.any(), hand),
            (~state._played.any(), lowest),
            (self._is_broken(state) | ~(hand & self._others).any(), hand),
        ]
        conditions, cards = zip(*ladder, strict=True)
        return jnp.select(conditions, cards, hand & ~self._suits[HEARTS])

    def _is_over(self, state: State) -> jax.Array:
        """Return whether all cards have been played."""
        return ~state._hands.any()

    def _is_broken(self, state: State) -> jax.Array:
        """Return whether a heart has been played, or a player has not followed suit."""
        return (state._played & self._suits[HEARTS]).any() | state._voids.any()

    def _suit_of(self, card: jax.Array) -> jax.Array:
        """Return the one-hot suit of a one-hot card, or zeros for no card."""
        return (self._suits & card).any(1)

    def _cards_of(self, suit: jax.Array) -> jax.Array:
        """Return all cards of a one-hot suit."""
        return (self._suits & suit[:, None]).any(0)

    def _play(self, state: State, card: jax.Array) -> State:
        """Play a legal, one-hot card, like ``kernel.play_card``."""
        me, trick, seats = state.current_player, state._trick, jnp.arange(2)[:, None]
        suit, led = self._suit_of(card), self._suit_of(trick)
        is_lead, is_first = ~trick.any(), ~state._played.any()
        is_void = ~is_lead & (suit != led).any()
        # Cards that this play excludes. The first lead is the lowest card in both hands.
        is_alone = is_lead & ~is_first & suit[HEARTS] & ~self._is_broken(state)
        absent = is_alone & self._others | is_void & self._cards_of(led)
        below = is_first & (jnp.arange(self.num_actions) < card.argmax())
        # The highest trump takes the trick, else the highest card of the led suit.
        beats = jnp.where(is_void, (card & self._trumps).any(), card.argmax() > trick.argmax())
        taker = jnp.where(beats, me, 1 - me)
        taken = state._taken | (seats == taker) & ~is_lead & (trick | card)
        hands = state._hands & ~card
        is_over = ~hands.any()
        scores = self._score(taken)
        mover = jnp.where(is_lead, 1 - me, taker)
        return state.replace(
            current_player=jnp.where(is_over, 0, mover),
            rewards=is_over * (scores[::-1] - scores) / jnp.float32(self.rules.max_margin),
            terminated=is_over,
            _step_count=state._step_count + 1,
            _hands=hands,
            _played=state._played | (seats == me) & card,
            _taken=taken,
            _excluded=state._excluded | below | (seats == me) & absent,
            _voids=state._voids | (seats == me) & is_void & led,
            _trick=is_lead & card,
            _mover=mover,
        )

    def _score(self, taken: jax.Array) -> jax.Array:
        """Return the scores at the end, like ``kernel.score``."""
        has_penalty = (taken & (self._points > 0)).any(1)
        bonus = (taken * np.minimum(self._points, 0)).sum(1)
        moon = bonus + jnp.where(has_penalty, 0, self.rules.moon_points)
        is_shot = has_penalty[0] != has_penalty[1]
        return jnp.where(is_shot, moon, (taken * self._points).sum(1))


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


def _where(condition: jax.Array, one: State, other: State) -> State:
    """Return `one` where the condition holds, else `other`."""
    chosen: State = jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)
    return chosen
