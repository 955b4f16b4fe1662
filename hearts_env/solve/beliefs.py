"""Beliefs: how likely each hidden world is, given how the other player plays.

A view of two-player Hearts allows at most a few hundred hidden worlds. Bayes' rule weighs them
exactly: a world is as likely as the product of the chances with which the other player would, with
that hand, have played each card it did play. Cards are dealt uniformly, so nothing else counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env._jit import jit
from hearts_env.arguments import check_chance, check_is
from hearts_env.batch import BatchView
from hearts_env.errors import HeartsError
from hearts_env.hidden import worlds_of_two
from hearts_env.rules import Rules
from hearts_env.view import MAX_WORLDS, PlayerView

Floats = NDArray[np.float64]

Policy = Callable[[BatchView], NDArray[Any]]
"""The chance of each action in each of many views, ``(len(views), num_actions)``."""


@dataclass(frozen=True)
class Belief:
    """What a player can conclude about the other one's hand.

    Attributes:
        hands: ``(n,) int64``, the other player's possible present hands as bit masks, in the order
            of ``view.worlds()``.
        weights: ``(n,) float64``, their probabilities.
        log_likelihoods: ``(n,) float64``, natural logarithms of the chances of the other player's
            play with each hand, forced cards included; -inf where it would have played otherwise.
    """

    hands: NDArray[np.int64]
    weights: Floats
    log_likelihoods: Floats

    def weight_of(self, hand: int) -> float:
        """The probability of a hand, given as a bit mask."""
        return float(self.weights[self.hands == hand].sum())


def hidden_hands(view: PlayerView) -> NDArray[np.int64]:
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
            raise HeartsError(f"view: it allows more than {MAX_WORLDS:,} worlds")
        hands = np.empty(min(64 * len(hands), MAX_WORLDS), np.int64)


def check_view(view: PlayerView) -> None:
    """Refuse what exact worlds do not cover.

    Raises:
        HeartsError: not two players, or not in the play of the cards.
    """
    check_is("view", view, PlayerView, "give game.view(player)")
    check_two_players(view.rules)
    if view.phase == "pass":
        raise HeartsError("view: cards are still being passed; worlds are weighed in the play")


def check_two_players(rules: Rules) -> None:
    """Refuse rules without exactly one other player.

    Raises:
        HeartsError: the game has another number of players, or an exchange.
    """
    if rules.players != 2:
        raise HeartsError(
            f"rules: {rules.name!r} is for {rules.players} players; exact worlds are for two"
        )
    if rules.pass_count:
        raise HeartsError("rules: exact worlds are for games without an exchange (pass_count 0)")


def belief(view: PlayerView, policy: Policy | None = None, *, noise: float = 0.0) -> Belief:
    """Weigh every world of `view` by how the other player would have played in it.

    Args:
        view: of a two-player game, at any time of the play.
        policy: the other player's chances of each action; an agent's ``policy_batch``. None: play
            that tells nothing, all worlds alike.
        noise: with this chance the other player is taken to play a random legal card instead, so
            that a play which the policy would never have made does not rule out every world.

    Returns:
        The weights. Where no world explains the play, all worlds weigh the same.

    Raises:
        HeartsError: not a two-player view, or the policy's chances are none (see ``check_policy``).
    """
    noise = check_chance("noise", noise)
    if policy is not None and not callable(policy):
        raise HeartsError(f"policy: {policy!r} is no function of views; give agent.policy_batch")
    hands = hidden_hands(view)
    logs = np.zeros(len(hands))
    if policy is not None and len(hands):
        rules, v, other = view.rules, view.vector, 1 - view.player
        deals = np.empty((len(hands), 2), np.int64)
        deals[:, view.player] = v[k.HANDS + view.player] | v[k.PLAYED + view.player]
        deals[:, other] = hands | v[k.PLAYED + other]
        logs = log_likelihoods(rules, v, other, deals, policy, noise)
    best = logs.max(initial=-np.inf)
    weights = np.exp(logs - best) if np.isfinite(best) else np.ones(len(hands))
    return Belief(hands, weights / weights.sum(), logs)


def check_policy(chances: NDArray[Any], legal: NDArray[np.bool_]) -> Floats:
    """Chances of actions as float64, each row summing to 1.

    Raises:
        HeartsError: of another shape, not finite, negative, on illegal actions or on none.
    """
    try:
        weights = np.asarray(chances)
        if weights.dtype.kind not in "biuf":
            raise TypeError
        weights = weights.astype(np.float64)
    except (TypeError, ValueError):
        raise HeartsError(
            f"policy: gave {type(chances).__name__}, no array of numbers; needed is {legal.shape}"
        ) from None
    if weights.shape != legal.shape:
        raise HeartsError(f"policy: shape {weights.shape}; needed is {legal.shape}")
    if not np.isfinite(weights).all():
        raise HeartsError("policy: some chances are not finite")
    if (weights < 0).any():
        raise HeartsError("policy: some chances are negative")
    if weights[~legal].any():
        row, action = np.argwhere((weights > 0) & ~legal)[0]
        raise HeartsError(f"policy: action {action} in view {row} is illegal, yet has a chance")
    total = weights.sum(1, keepdims=True)
    if (total == 0).any():
        row = int(np.flatnonzero(total[:, 0] == 0)[0])
        raise HeartsError(f"policy: no legal action of view {row} has a chance")
    if np.abs(total - 1.0).max(initial=0.0) > 1e-6:
        row = int(np.abs(total[:, 0] - 1.0).argmax())
        raise HeartsError(f"policy: the chances of view {row} sum to {total[row, 0]:g}, not 1")
    result: Floats = weights / total
    return result


def log_likelihoods(
    rules: Rules, seen: k.Vector, seat: int, deals: k.Vector, policy: Policy, noise: float
) -> Floats:
    """How likely `seat` is to have played as it did, with each of its hands.

    Args:
        rules: of two players, without an exchange.
        seen: a state or view whose history counts.
        seat: whose plays.
        deals: ``(n, 2) int64``, the dealt hands of both seats. What a player sees of its own past
            depends on its own alone.
        policy: its chances of each action.
        noise: with this chance it is taken to have played at random.

    Returns:
        ``(n,)`` natural logarithms, -inf where it would have played otherwise.

    Raises:
        HeartsError: the policy's chances are none (see ``check_policy``).
    """
    plays = int((seen[k.HISTORY : k.HISTORY + seen[k.NUM_PLAYED]] >> 6 == seat).sum())
    if not plays:
        return np.zeros(len(deals))
    vectors = np.empty((len(deals), plays, k.STATE_SIZE), np.int64)
    actions = np.empty((len(deals), plays), np.int64)
    state = np.empty(k.STATE_SIZE, np.int64)
    write_past_views(rules.vector, seen, seat, deals, state, vectors, actions)
    players = np.full(actions.size, seat, np.int64)
    views = BatchView(rules, vectors.reshape(-1, k.STATE_SIZE), players)
    legal = views.legal_table
    uniform = legal / legal.sum(1, keepdims=True)
    chances = (1.0 - noise) * check_policy(policy(views), legal) + noise * uniform
    taken = chances[np.arange(actions.size), actions.reshape(-1)].reshape(actions.shape)
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(taken).sum(1)
    return logs


@jit
def begin(r: k.Vector, seen: k.Vector, hand0: int, hand1: int, s: k.Vector) -> None:
    """Make `s` the first position of the deal of `seen`, with these hands dealt, in place."""
    k.copy_state(seen, s)
    s[k.HANDS] = hand0
    s[k.HANDS + 1] = hand1
    s[k.KITTY] = r[k.R_DECK] & ~(hand0 | hand1)
    k.start(r, s)


@jit
def write_past_views(
    r: k.Vector,
    seen: k.Vector,
    seat: int,
    deals: k.Vector,
    s: k.Vector,
    vectors: k.Vector,
    actions: k.Vector,
) -> None:
    """Write what `seat` saw at each of its plays, and what it played, in each deal.

    Args:
        r: rules of two players without an exchange.
        seen: a state or view whose history counts.
        seat: whose plays.
        deals: (n, 2) the dealt hands.
        s: (STATE_SIZE,) memory for the replay.
        vectors: (n, plays, STATE_SIZE) out.
        actions: (n, plays) out.
    """
    for i in range(len(deals)):
        begin(r, seen, deals[i, 0], deals[i, 1], s)
        place = 0
        for t in range(seen[k.NUM_PLAYED]):
            card = seen[k.HISTORY + t] & 63
            if s[k.PLAYER] == seat:
                k.write_view(r, s, seat, vectors[i, place])
                actions[i, place] = card
                place += 1
            k.play(r, s, card)
