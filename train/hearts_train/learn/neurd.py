"""Neural replicator dynamics: every logit adds up what its action earned more than the others.

The logits go where those of the replicator dynamics, and of Hedge, would (Hennes et al. 2020, eq.
8): by the advantage A_j = Q_j - sum_i pi_i Q_i of the action,

    l_j <- l_j + step A_j

while the gradient of a policy's return has another factor, pi_j A_j, by which an action that has
become rare is hardly found again. Here everything but the step is as in ``ppo.py``: games, returns,
values and minibatches. Of the action a that was drawn with chance mu(a), and of its advantage A as
``games.estimate`` writes it, the estimate of all Q_j is v + 1[j = a] A / mu(a), so that

    A_j = A (1[j = a] - pi(a)) / max(mu(a), min_prob)
        - ent_coef (log pi_j + H(pi)) - magnet_coef (log pi_j - log rho_j - KL(pi, rho))

The second line is what PPO's entropy bonus and magnet have, without their factor pi_j; play needs
it to converge itself, and not only on average (Perolat et al. 2021). ``min_prob`` bounds the
variance. The first line is left out for a logit that it would push further than ``logit_limit``
from the mean of the legal ones (eq. 10 there: logits without bounds could not come back in time),
and for a decision whose action has already become more, or less, likely by ``clip_range``. From the
sum of both lines their mean over the legal actions is taken. It changes no policy; left in, it
would move all logits together, in one network without bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hearts_env.support.arrays import Floats, Floats32, Ints
from hearts_env.support.bits import lowest
from hearts_env.support.jit import jit
from hearts_train.learn.games import Rows
from hearts_train.learn.ppo import PPOLearner
from hearts_train.learn.ppo_kernel import Clip, bits_of, divergence, policy_of


class NeuRDLearner(PPOLearner):
    """One network that plays all seats but those of its opponents, by replicator dynamics."""

    algorithm = "neural replicator dynamics (NeuRD)"

    def _objective(self, *given: Any) -> None:
        replicate(*given)


@jit
def replicate(
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
    """Write the steps of the logits, as gradients, and the gradients by values.

    Arguments are those of ``ppo_kernel.objective``.
    """
    by_logits, by_values = gradients
    for i in range(len(some)):
        row, policy = some[i], by_logits[i]  # of which the step takes the place
        legal = bits_of(rows.masks[row])
        normaliser, entropy = policy_of(legal, logits[i], policy)
        action, advantage = rows.actions[row], rows.advantages[row]
        change = logits[i, action] - normaliser - rows.log_probs[row]
        chance = policy[action]
        ratio = np.exp(change)
        is_clipped = ratio > 1.0 + clip.policy if advantage > 0.0 else ratio < 1.0 - clip.policy
        push = np.float32(0.0)
        if not is_clipped:
            push = advantage / max(np.exp(rows.log_probs[row]), np.float32(clip.min_prob))
        away, distance = np.float32(0.0), np.float32(0.0)
        if len(magnet):
            away, distance = divergence(legal, policy, logits[i], normaliser, magnet[i])
        centre, number, left = np.float32(0.0), 0, legal
        while left:
            centre += logits[i, lowest(left)]
            number += 1
            left &= left - 1
        centre /= np.float32(number)
        mean, left = np.float32(0.0), legal
        while left:
            j = lowest(left)
            log_prob, height = logits[i, j] - normaliser, logits[i, j] - centre
            force = push * ((j == action) - chance)
            if height * force > 0.0 and abs(height) > clip.logit_limit:
                force = np.float32(0.0)
            pull = clip.ent_coef * (log_prob + entropy)
            if len(magnet):
                pull += clip.magnet_coef * (logits[i, j] - magnet[i, j] + away - distance)
            policy[j] = (pull - force) / size
            mean += policy[j] / np.float32(number)
            left &= left - 1
        while legal:
            policy[lowest(legal)] -= mean
            legal &= legal - 1
        error = values[i] - rows.returns[row]
        by_values[i] = 2.0 * clip.vf_coef * error / size
        sums[0] -= push * (logits[i, action] - centre)
        sums[1] += error * error
        sums[2] += entropy
        sums[3] += ratio - 1.0 - change
        sums[4] += abs(ratio - 1.0) > clip.policy
        sums[5] += distance
