"""Regularised Nash dynamics: how DeepNash learnt Stratego (Perolat et al. 2022).

The game is changed by a reference policy ref: whoever does action a by a policy pi pays

    eta log(pi(a) / ref(a))

to the other player (eq. 1 there). In such a game of two players with a sum of zero, replicator
dynamics converge to one policy, which play then becomes the reference of the next game; the
policies so found approach an equilibrium of the game without the tax (Perolat et al. 2021). So:

1. the tax is levied when an action is drawn, on the rewards of all seats (``games.levy``), so that
   returns, values and advantages are those of the changed game;
2. the step is that of ``neurd.py``;
3. every ``reference_every`` updates the weights become the reference's.

DeepNash estimates returns by v-trace, which for decisions that are learnt from once is the estimate
that is here; it also blends each reference into the next, and removes rare actions from its play.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import torch

from hearts_env.support.arrays import Bytes, Floats32, Ints
from hearts_env.support.jit import jit
from hearts_train.learn.actor_critic import Replicas
from hearts_train.learn.learner import Saved
from hearts_train.learn.neurd import NeuRDLearner
from hearts_train.learn.ppo_kernel import bits_of, log_sum


class RNaDLearner(NeuRDLearner):
    """One network that plays all seats but those of its opponents, and its reference."""

    algorithm = "regularised Nash dynamics (R-NaD)"

    def _make_parts(self) -> None:
        super()._make_parts()
        self.reference = Replicas(copy.deepcopy(self.network), 1)
        for thread, games in enumerate(self.games):
            games.tax = functools.partial(self._tax, thread)

    def _tax(self, thread: int, own: slice) -> Floats32:
        """What the actions just drawn cost: ``(rows,)``, in rewards."""
        games = self.games[thread]
        observations = torch.from_numpy(games.observations[own])
        logits, _ = self._forward(self.reference.networks[0], observations)
        taxes, rows = np.empty(own.stop - own.start, np.float32), games.rows
        drawn = rows.masks[own], rows.actions[own], rows.log_probs[own]
        log_ratios(*drawn, logits.cpu().numpy(), taxes)
        taxes *= np.float32(self.config.r_nad.eta)
        return taxes

    def _play_and_learn(self) -> dict[str, Any]:
        figures = super()._play_and_learn()
        if (self.counters.updates + 1) % self.config.r_nad.reference_every == 0:
            self.reference.weights.copy_(self.replicas.weights)
        return figures

    def _saved(self) -> dict[str, Saved]:
        return super()._saved() | {"reference": self.reference}


@jit
def log_ratios(
    masks: Bytes, actions: Ints, log_probs: Floats32, logits: Floats32, out: Floats32
) -> None:
    """Write log pi(a) - log ref(a) of each row's action, ``(rows,)``, by the logits of ref."""
    for i in range(len(out)):
        normaliser = log_sum(bits_of(masks[i]), logits[i])
        out[i] = log_probs[i] - (logits[i, actions[i]] - normaliser)
