"""The compiled half of PPO: its loss, and the gradient of it by logits and values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hearts_env.support.arrays import Bytes, Floats, Floats32, Ints
from hearts_env.support.jit import inlined, jit
from hearts_train.learn.games import Rows

FIGURES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "magnet_kl")
"""What is logged of the objective."""


class Clip(NamedTuple):
    """The settings of the objective."""

    policy: float
    """``clip_range``."""
    value: float
    """``clip_range_vf``; infinite: not clipped."""
    vf_coef: float
    ent_coef: float
    magnet_coef: float


@inlined
def policy_of(masks: Bytes, logits: Floats32, policy: Floats32) -> tuple[np.float32, np.float32]:
    """Write the softmax of a row's legal logits; returns the logarithm of its sum, and the entropy.

    Args:
        masks: ``(actions,)``.
        logits: ``(actions,)``.
        policy: ``(actions,)``, written; 0 where illegal.
    """
    highest, total, entropy = np.float32(-np.inf), np.float32(0.0), np.float32(0.0)
    for j in range(len(logits)):
        if masks[j]:
            highest = max(highest, logits[j])
    for j in range(len(logits)):
        policy[j] = np.exp(logits[j] - highest) if masks[j] else np.float32(0.0)
        total += policy[j]
    normaliser = highest + np.log(total)
    for j in range(len(logits)):
        policy[j] /= total
        if masks[j]:
            entropy -= policy[j] * (logits[j] - normaliser)
    return normaliser, entropy


@inlined
def log_sum(masks: Bytes, logits: Floats32) -> np.float32:
    """The logarithm of the sum of the exponentials of a row's legal logits."""
    highest, total = np.float32(-np.inf), np.float32(0.0)
    for j in range(len(logits)):
        if masks[j]:
            highest = max(highest, logits[j])
    for j in range(len(logits)):
        if masks[j]:
            total += np.exp(logits[j] - highest)
    return highest + np.log(total)


@inlined
def divergence(masks: Bytes, policy: Floats32, logits: Floats32, others: Floats32) -> np.float32:
    """The mean difference of logits under `policy`; with that of their ``log_sum``, KL."""
    total = np.float32(0.0)
    for j in range(len(policy)):
        if masks[j]:
            total += policy[j] * (logits[j] - others[j])
    return total


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
        normaliser, entropy = policy_of(rows.masks[row], logits[i], policy)
        action, advantage = rows.actions[row], rows.advantages[row]
        change = logits[i, action] - normaliser - rows.log_probs[row]
        ratio = np.exp(change)
        low, high = 1.0 - clip.policy, 1.0 + clip.policy
        is_clipped = ratio > high if advantage > 0.0 else ratio < low
        push = np.float32(0.0 if is_clipped else ratio * advantage)
        away, distance = np.float32(0.0), np.float32(0.0)
        if len(magnet):
            away = log_sum(rows.masks[row], magnet[i]) - normaliser
            distance = away + divergence(rows.masks[row], policy, logits[i], magnet[i])
        for j in range(logits.shape[1]):
            if rows.masks[row, j]:
                log_chance = logits[i, j] - normaliser
                pull = clip.ent_coef * (log_chance + entropy)
                if len(magnet):
                    pull += clip.magnet_coef * (logits[i, j] - magnet[i, j] + away - distance)
                policy[j] = (policy[j] * pull - push * ((j == action) - policy[j])) / size
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
