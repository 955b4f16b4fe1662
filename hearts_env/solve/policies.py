"""Policies of players of two-player games, as functions of many views.

They come from outside (an agent's ``action_probs``), so their probabilities are checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import numpy as np

from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array, Bools, Floats, Ints
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.views.deals import most_cards

_BLOCK = 1 << 14
"""The most views in one call of a policy."""

Policy = Callable[[BatchView], Array]
"""Returns the probability of each action in each of many views, ``(len(views), num_actions)``."""


def certain(actions: Array, legal: Bools, name: str) -> Floats:
    """Return the probabilities of fixed actions: 1 for the action in each row of the legal table.

    Raises:
        HeartsError: if the shape or dtype of `actions` is wrong, or an action is illegal.
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
    """Return action probabilities as float64, each row with the sum 1.

    Raises:
        HeartsError: if the shape is wrong, or a row has negative or infinite values, gives an
            illegal action a probability, or does not sum to 1.
    """
    try:
        weights = np.asarray(chances)
        if weights.dtype.kind not in "biuf":
            raise TypeError
        tolerance = 1e-6
        if weights.dtype.kind == "f":  # float16 rounds by more
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
    """Raise the error for invalid probabilities of a policy."""
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
    """Write probability 1 for `actions`. Return the first row with an illegal action, or -1."""
    for row in range(len(actions)):
        action = actions[row]
        if not 0 <= action < legal.shape[1] or not legal[row, action]:
            return row
        table[row, action] = 1.0
    return -1


@jit
def _normalise(weights: Floats, legal: Bools, tolerance: float) -> bool:
    """Scale each row of probabilities to the sum 1, in place. Return False at the first bad row."""
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


def asked_in_blocks(
    policy: Policy, rules: Rules, vectors: Ints, players: Ints
) -> Iterator[tuple[slice, Bools, Floats]]:
    """Yield a policy's checked probabilities in many views, in blocks of one call each.

    Args:
        policy: the policy.
        rules: the rules of all views.
        vectors: the views, ``(n, rules.state_size)``.
        players: the player of each view, ``(n,)``.

    Yields:
        The rows of a block, their legal actions, and the probabilities of all actions.

    Raises:
        HeartsError: if the policy gives no probabilities (see ``check_policy``).
    """
    for begin in range(0, len(players), _BLOCK):
        some = slice(begin, begin + _BLOCK)
        views = BatchView(rules, vectors[some], players[some])
        legal = views.legal_table
        yield some, legal, check_policy(policy(views), legal)


def has_exact_worlds(rules: Rules) -> bool:
    """Return whether rules are for two players without an exchange (``check_two_players``)."""
    return rules.players == 2 and most_cards(rules) == rules.hand_size


def check_two_players(rules: Rules, player: str = "") -> None:
    """Raise unless the rules are for two players without an exchange.

    Args:
        rules: the rules of the game.
        player: the name of the player that cannot play other rules, for the message.

    Raises:
        HeartsError: if the rules have more players or an exchange.
    """
    if not has_exact_worlds(rules):
        wrong = f"is for {rules.players} players" if rules.players != 2 else "has an exchange"
        which = f"{player} cannot play {rules.name!r}, which" if player else repr(rules.name)
        raise HeartsError(
            f"rules: {which} {wrong}; give rules for 2 players with pass_count 0, like mini"
        )
