"""The compiled half of PPO: its loss, and the gradient of it by logits and values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hearts_env.support.arrays import Bytes, Floats, Floats32, Ints
from hearts_env.support.bits import lowest
from hearts_env.support.jit import inlined, jit
from hearts_train.learn.games import Rows

FIGURES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "magnet_kl")
"""What is logged of the objective."""


class Clip(NamedTuple):
    """The settings of the objective."""

    policy: float
    """``clip_range``; infinite: not clipped."""
    value: float
    """``clip_range_vf``; infinite: not clipped."""
    vf_coef: float
    kl_coef: float
    ent_coef: float
    magnet_coef: float


@inlined
def bits_of(masks: Bytes) -> int:
    """The legal actions of a row as a bit mask: few are, and loops go through these alone."""
    legal = 0
    for j in range(len(masks)):
        legal |= int(masks[j]) << j
    return legal


@inlined
def log_sum(legal: int, logits: Floats32) -> np.float32:
    """The logarithm of the sum of the exponentials of a row's legal logits."""
    highest, total, left = np.float32(-np.inf), np.float32(0.0), legal
    while left:
        highest = max(highest, logits[lowest(left)])
        left &= left - 1
    left = legal
    while left:
        total += np.exp(logits[lowest(left)] - highest)
        left &= left - 1
    return highest + np.log(total)


@inlined
def policy_of(legal: int, logits: Floats32, policy: Floats32) -> tuple[np.float32, np.float32]:
    """Write the softmax of a row's legal logits; returns their ``log_sum``, and the entropy.

    Args:
        legal: a bit mask over actions.
        logits: ``(actions,)``.
        policy: ``(actions,)``, written; 0 where illegal.
    """
    normaliser, entropy, left = log_sum(legal, logits), np.float32(0.0), legal
    for j in range(len(policy)):
        policy[j] = 0.0
    while left:
        j = lowest(left)
        policy[j] = np.exp(logits[j] - normaliser)
        entropy -= policy[j] * (logits[j] - normaliser)
        left &= left - 1
    return normaliser, entropy


@inlined
def divergence(
    legal: int, policy: Floats32, logits: Floats32, normaliser: np.float32, others: Floats32
) -> tuple[np.float32, np.float32]:
    """How far `policy` is from another one: how much its ``log_sum`` is less, and KL.

    Args:
        legal: a bit mask over actions.
        policy: ``(actions,)``.
        logits: ``(actions,)``, of the policy.
        normaliser: their ``log_sum``.
        others: ``(actions,)``, logits of the other one.
    """
    away = log_sum(legal, others) - normaliser
    total, left = np.float32(0.0), legal
    while left:
        j = lowest(left)
        total += policy[j] * (logits[j] - others[j])
        left &= left - 1
    return away, away + total


@jit
def objective(
    rows: Rows,
    some: Ints,
    size: int,
    clip: Clip,
    logits: Floats32,
    values: Floats32,
    magnet: Floats32,
    gradients: tuple[Floats32, Floats32],
    sums: Floats,
) -> None:
    """Write the gradients of the loss by logits and values; ``ppo.py`` derives them.

    Args:
        rows: the list of decisions.
        some: ``(n,)``, which of them.
        size: by how many their sum is divided.
        clip: settings.
        logits: ``(n, actions)``.
        values: ``(n,)``.
        magnet: ``(n, actions)``, logits of the policy rho; with no rows there is none.
        gradients: by logits and by values, of the same shapes, written.
        sums: the sums of `FIGURES`, added to; the divergence is Schulman's estimator k3.
    """
    by_logits, by_values = gradients
    for i in range(len(some)):
        row, policy = some[i], by_logits[i]  # of which the gradient takes the place
        legal = bits_of(rows.masks[row])
        normaliser, entropy = policy_of(legal, logits[i], policy)
        action, advantage = rows.actions[row], rows.advantages[row]
        change = logits[i, action] - normaliser - rows.log_probs[row]
        ratio = np.exp(change)
        low, high = 1.0 - clip.policy, 1.0 + clip.policy
        is_clipped = ratio > high if advantage > 0.0 else ratio < low
        push = np.float32(0.0 if is_clipped else ratio * advantage)
        push -= np.float32(clip.kl_coef) * ratio * change
        away, distance = np.float32(0.0), np.float32(0.0)
        if len(magnet):
            away, distance = divergence(legal, policy, logits[i], normaliser, magnet[i])
        while legal:
            j = lowest(legal)
            log_chance = logits[i, j] - normaliser
            pull = clip.ent_coef * (log_chance + entropy)
            if len(magnet):
                pull += clip.magnet_coef * (logits[i, j] - magnet[i, j] + away - distance)
            policy[j] = (policy[j] * pull - push * ((j == action) - policy[j])) / size
            legal &= legal - 1
        step = values[i] - rows.values[row]
        error = rows.values[row] + min(max(step, -clip.value), clip.value) - rows.returns[row]
        inside = abs(step) <= clip.value
        by_values[i] = 2.0 * clip.vf_coef * error / size if inside else 0.0
        sums[0] -= min(max(ratio, low), high) * advantage if is_clipped else ratio * advantage
        sums[1] += error * error
        sums[2] += entropy
        sums[3] += ratio - 1.0 - change
        sums[4] += abs(ratio - 1.0) > clip.policy
        sums[5] += distance
