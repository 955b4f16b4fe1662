"""Policies: the chances of a player's actions in many views at once, and how likely a past is.

A policy is given from outside (an agent's ``action_probs``), so that what it says is checked here
before anything is counted with it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array, Bools, Floats
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit

Policy = Callable[[BatchView], Array]
"""The chance of each action in each of many views, ``(len(views), num_actions)``."""


def check_policy(chances: Array, legal: Bools) -> Floats:
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
        raise HeartsError("policy: some chances are not finite; correct it")
    if (weights < 0).any():
        raise HeartsError("policy: some chances are negative; give chances from 0 to 1")
    if weights[~legal].any():
        row, action = np.argwhere((weights > 0) & ~legal)[0]
        raise HeartsError(
            f"policy: action {action} in view {row} is illegal, yet has a chance; give it 0"
        )
    total = weights.sum(1, keepdims=True)
    if (total == 0).any():
        row = int(np.flatnonzero(total[:, 0] == 0)[0])
        raise HeartsError(f"policy: no legal action of view {row} has a chance; give one to some")
    if np.abs(total - 1.0).max(initial=0.0) > 1e-6:
        row = int(np.abs(total[:, 0] - 1.0).argmax())
        raise HeartsError(
            f"policy: the chances of view {row} sum to {total[row, 0]:g}; "
            "give chances that sum to 1"
        )
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
        HeartsError: if the policy gives no probabilities (see ``check_policy``).
    """
    vectors, actions = past_plays(rules, seen, seat, deals)
    players = np.full(len(vectors), seat, np.int64)
    logs = log_chances(BatchView(rules, vectors, players), actions, policy, noise)
    total: Floats = logs.reshape(len(deals), -1).sum(1)
    return total


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


def log_chances(views: BatchView, actions: k.Vector, policy: Policy, noise: float) -> Floats:
    """Natural logarithms of a policy's chances of one action in each view, ``(len(views),)``.

    Raises:
        HeartsError: if the policy gives no probabilities (see ``check_policy``).
    """
    if not len(views):
        return np.zeros(0)
    legal = views.legal_table
    uniform = legal / legal.sum(1, keepdims=True)
    chances = (1.0 - noise) * check_policy(policy(views), legal) + noise * uniform
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
    """Write what `seat` saw at each of its plays, and what it played, in each deal.

    Args:
        r: rules of two players without an exchange.
        seen: a state or view whose history counts.
        seat: whose plays.
        deals: (n, 2) the dealt hands.
        skip: how many of its first plays are left out.
        s: (rules.state_size,) memory for the replay.
        vectors: (n, plays, rules.state_size) out.
        actions: (n, plays) out.
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
