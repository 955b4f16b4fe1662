"""Neural fictitious self-play: the player is the average of best responses (Heinrich, Silver 2016).

Two networks. One learns a best response to the others by deep Q-learning (``dqn.py``); the other
learns the average of the first one's play over the whole run, from a uniform sample of its actions
(a reservoir). Each seat of each deal follows the best response with probability ``eta`` (the
anticipatory parameter) and else the average policy: so the best response answers the others'
average policies, as in fictitious play, where averages tend to an equilibrium of two-player
zero-sum games. The player is the average policy.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch.nn.functional import one_hot

from hearts_agents.envs.arena_kernel import draw, unit
from hearts_env.support.arrays import Array, Bools, Floats, Floats32, Ints
from hearts_env.support.jit import jit
from hearts_env.support.tensors import Tensors
from hearts_train.learn.actor_critic import Adam, Replicas, policy_tensors
from hearts_train.learn.config import between
from hearts_train.learn.dqn import DQNLearner, tensor
from hearts_train.learn.learner import Saved
from hearts_train.learn.ppo_kernel import FIGURES
from hearts_train.learn.replay import Column, Reservoir, action_number, check_size, legal, seen

RESPONSE = 32
"""Draws from a deal's seed (``draw``); RESPONSE + seat: whether it plays a best response."""


class NFSPLearner(DQNLearner):
    """A best response and its average policy, which play all seats but those of the opponents."""

    algorithm = "neural fictitious self-play (NFSP)"
    rates = ("learning_rate", "policy_learning_rate")
    steps_by = "ppo.learning_rate, nfsp.learning_rate or ppo.max_grad_norm"
    figures = ("policy_loss", "value_loss")

    def _make_parts(self) -> None:
        super()._make_parts()
        threads = self.config.threads
        self.policies = Replicas(self._make_network(), threads)
        """The average policy's network, one replica for each thread."""
        self.policy_optimizer = Adam(self.policies.weights)
        columns = {
            "seen": seen(self.encoder, self.rules),
            "legal": legal(self.rules),
        } | self._goal()
        settings = self.config.nfsp
        check_size("nfsp.reservoir", settings.reservoir, columns, self.config.env.observation)
        self.reservoir = Reservoir(settings.reservoir, columns, settings.min_reservoir_prob)
        self._responds = [np.zeros(len(games.rows.actions), np.bool_) for games in self.games]
        """Whether the best response made the decision, for each row of the games' lists."""

    def _goal(self) -> dict[str, Column]:
        """What the reservoir has besides: that which the average policy is to learn."""
        return {"actions": action_number(self.rules)}

    def _goals(self, rows: dict[str, Array]) -> torch.Tensor:
        """The policies that it is to learn of some rows of the reservoir, ``(n, actions)``."""
        return one_hot(tensor(rows["actions"]).long(), self.rules.num_actions)

    @property
    def policy_learning_rate(self) -> float:
        """Of the average policy."""
        settings = self.config.nfsp
        return between(settings.learning_rate, settings.learning_rate_end, self.progress)

    # -- playing -----------------------------------------------------------------------------------
    def _decide(self, thread: int, rows: slice) -> tuple[Floats32, Floats32]:
        logits, best = super()._decide(thread, rows)
        games = self.games[thread]
        responds = self._responds[thread][rows]
        draw_responses(games.batch.seeds, games.batch.player, self.config.nfsp.eta, responds)
        observations = torch.from_numpy(games.observations[rows])
        average, _ = self._forward(self.policies.networks[thread], observations)
        return np.where(responds[:, None], logits, average.cpu().numpy()), best

    # -- learning ----------------------------------------------------------------------------------
    def _take_in(self, ready: list[Ints]) -> dict[str, float]:
        """Store an update's decisions; those of the best response also in the reservoir."""
        figures = super()._take_in(ready)
        for games, responds in zip(self.games, self._responds, strict=True):
            new = np.arange(games.size - games.num_games * self.config.ppo.num_steps, games.size)
            rows = new[responds[new]]
            own = {
                "seen": games.observations[rows],
                "legal": games.rows.masks[rows],
                "actions": games.rows.actions[rows],
            }
            self.reservoir.add(own, self._rng)
        return figures | {"responses": len(self.reservoir)}

    def _minibatch(self, parts: tuple[Ints, ...], size: int) -> Floats:
        """The gradient of a minibatch of the best response; first the average policy takes a step.

        Returns the sums of the figures of both.
        """
        sums = super()._minibatch(parts, size)
        if len(self.reservoir):
            loss = self._imitate(self._draw(self.reservoir))
            sums[FIGURES.index("policy_loss")] = loss * size
        return sums

    def _imitate(self, parts: tuple[Ints, ...]) -> float:
        """Step towards the goals of some rows; returns the mean cross-entropy."""
        size = sum(map(len, parts))

        def work(thread: int) -> Floats:
            rows = self.reservoir.read(parts[thread])
            is_legal = tensor(rows["legal"]).to(self.device)
            logits, _ = self._forward(self.policies.networks[thread], tensor(rows["seen"]))
            logs = torch.log_softmax(logits.masked_fill(is_legal == 0, -torch.inf), 1)
            goals = self._goals(rows).to(self.device)
            loss = -(goals * logs.masked_fill(is_legal == 0, 0.0)).sum() / size
            torch.autograd.backward([loss])
            return np.array(float(loss.detach()))

        loss = float(self._share(self.policies, work))
        self._descend(self.policies, self.policy_optimizer, self.policy_learning_rate)
        return loss

    # -- state -------------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """The weights of the average policy under their names in a checkpoint."""
        return dict(policy_tensors(self.policies.networks[0]))

    def _parameters(self) -> Iterable[torch.Tensor]:
        return [*super()._parameters(), self.policies.weights]

    def _saved(self) -> dict[str, Saved]:
        return super()._saved() | {
            "average_policy": self.policies,
            "policy_optimizer": self.policy_optimizer,
            "reservoir": self.reservoir,
        }


@jit
def draw_responses(deals: Ints, players: Ints, eta: float, responds: Bools) -> None:
    """Draw from each deal's seed whether the player to move follows the best response in it.

    Args:
        deals: ``(n,)``, the seeds of the deals.
        players: ``(n,)``, who is to move.
        eta: the probability of a best response.
        responds: ``(n,)``, written: the same for all decisions of a seat in a deal.
    """
    for i in range(len(deals)):
        responds[i] = unit(draw(deals[i], RESPONSE + players[i])) < eta
