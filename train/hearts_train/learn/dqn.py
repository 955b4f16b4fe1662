"""Deep Q-learning: the network estimates the return of every action under greedy play.

All seats play epsilon-greedily, and their decisions go into a replay buffer. For each minibatch
drawn from it (Mnih et al. 2015) the target of an action's value is its seat's reward up to its own
next decision, plus the value of the best legal action there by an earlier copy of the network (the
target network). The network itself chooses that action (van Hasselt et al. 2016, *double*
Q-learning), which avoids the overestimation of a maximum.

Such a player does not mix its actions; Q-learning by several seats need not converge. It is half of
``nfsp``, and a baseline for the other algorithms.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import numpy as np
import torch

from hearts_env.seeds import derived_seed
from hearts_env.support.arrays import Array, Floats, Ints
from hearts_train.learn.actor_critic import Replicas
from hearts_train.learn.config import between
from hearts_train.learn.games import END, SelfPlayGames
from hearts_train.learn.learner import Saved
from hearts_train.learn.monte_carlo import ActionValueLearner
from hearts_train.learn.ppo_kernel import FIGURES
from hearts_train.learn.replay import Column, Memory, action_number, check_size, legal, seen


class DQNLearner(ActionValueLearner):
    """One network of action values, learnt off-policy from a buffer of decisions of all seats."""

    algorithm = "double DQN of every seat"

    def _make_parts(self) -> None:
        self.target = Replicas(copy.deepcopy(self.network), 1)
        see = seen(self.encoder, self.rules)
        columns = {
            "seen": see,
            "actions": action_number(self.rules),
            "rewards": Column((), np.dtype(np.float32)),
            "goes_on": Column((), np.dtype(np.bool_)),
            "seen_next": see,
            "legal_next": legal(self.rules),
        }
        capacity = self.config.dqn.buffer_size
        check_size("dqn.buffer_size", capacity, columns, self.config.env.observation)
        self.memory = Memory(capacity, columns)
        self._rng = self._drawing()

    def _drawing(self) -> np.random.Generator:
        """The random generator of the next update: a resumed run makes the same one."""
        number = derived_seed(self.config.seed, 2)
        return np.random.default_rng(derived_seed(number, self.counters.updates))

    @property
    def epsilon(self) -> float:
        """The probability of an action drawn without regard to its value."""
        settings = self.config.dqn
        return between(settings.epsilon, settings.epsilon_end, self.progress)

    # -- learning ----------------------------------------------------------------------------------
    def _take_in(self, ready: list[Ints]) -> dict[str, float]:
        """Store an update's decisions in the buffer; learning uses only the buffer."""
        self._rng = self._drawing()
        for games, rows in zip(self.games, ready, strict=True):
            self.memory.add(transitions(games, rows), self._rng)
        return {"epsilon": self.epsilon, "remembered": len(self.memory)}

    def _minibatches(self, ready: list[Ints]) -> Iterable[tuple[Ints, ...]]:
        """As many minibatches as the new decisions would fill, drawn from the whole buffer."""
        new, size = sum(map(len, ready)), self.config.ppo.batch_size
        for _ in range(max(1, round(new / size)) if len(self.memory) else 0):
            yield self._draw(self.memory)

    def _draw(self, memory: Memory) -> tuple[Ints, ...]:
        """The rows of a minibatch in the buffer, a part for each thread."""
        places = self._rng.integers(len(memory), size=self.config.ppo.batch_size)
        return tuple(np.array_split(places, len(self.games)))

    def _try_gradient(self, thread: int, rows: Ints) -> None:
        places = np.zeros_like(rows)  # the first; all zeros while the buffer is empty
        super()._try_gradient(thread, places)

    def _gradient(self, thread: int, places: Ints, size: int) -> Floats:
        """A thread's part of a minibatch: the squared errors of its action values."""
        if not len(places):
            return np.zeros(len(FIGURES))
        rows = self.memory.read(places)
        values, _ = self._forward(self.replicas.networks[thread], tensor(rows["seen"]))
        actions = tensor(rows["actions"]).to(self.device).long()
        return self._fit(values, actions, self._targets(thread, rows), size)

    def _targets(self, thread: int, rows: dict[str, Array]) -> torch.Tensor:
        """The targets of the action values of some rows of the buffer."""
        after = tensor(rows["seen_next"])
        rewards, goes_on, is_legal = (
            tensor(rows[name]).to(self.device) for name in ("rewards", "goes_on", "legal_next")
        )
        with torch.no_grad():
            liked, _ = self._forward(self.replicas.networks[thread], after)
            worth, _ = self._forward(self.target.networks[0], after)
            best = liked.masked_fill(is_legal == 0, -torch.inf).argmax(1)
            rest = worth.gather(1, best[:, None])[:, 0]
        return rewards + self.config.ppo.gamma * goes_on * rest

    def _step(self, learning_rate: float) -> None:
        super()._step(learning_rate)
        if self.optimizer.count % self.config.dqn.target_every == 0:
            self.target.weights.copy_(self.replicas.weights)

    # -- state -------------------------------------------------------------------------------------
    def _saved(self) -> dict[str, Saved]:
        # Where new games start, the decisions in the buffer have no reward.
        return super()._saved() | {"target": self.target, "games/memory": self.memory}


def transitions(games: SelfPlayGames, rows: Ints) -> dict[str, Array]:
    """Decisions of the list, each with its reward and its seat's observation at the next decision.

    Where the deal ended instead, the next observation has no meaning.
    """
    nexts = games.rows.nexts[rows]
    goes_on = nexts != END
    after = np.where(goes_on, nexts, rows)
    return {
        "seen": games.observations[rows],
        "actions": games.rows.actions[rows],
        "rewards": games.rows.rewards[rows],
        "goes_on": goes_on,
        "seen_next": games.observations[after],
        "legal_next": games.rows.masks[after],
    }


def tensor(array: Array) -> torch.Tensor:
    """The array as a tensor that shares its memory."""
    return torch.from_numpy(np.ascontiguousarray(array))
