"""Self-play PPO: every seat is the learner, and learns from its own decisions.

In each update (Schulman et al. 2017):

1. **Play**: all games stand at a decision of the learner. One forward pass gives logits and values
   for whoever is to move, an action is drawn, the games play on; ``num_steps`` times.
2. **Estimate** the advantage of each decision from what its own seat earned afterwards.
3. **Learn**: for ``num_epochs`` go through the decisions in a random order, a minibatch at a time,
   and make a step of Adam along the gradient of the clipped objective.

Threads share the work: each has games of its own, and a part of each minibatch. They read the same
weights, and their gradients are added in a fixed order, so that the result does not depend on which
is quicker. It does depend on how many there are.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Generator, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hearts_agents.models.checkpoint import Tensors
from hearts_env.seeds import derived_seed
from hearts_env.support.workers import Workers
from hearts_train.learn import runs
from hearts_train.learn import selfplay_kernel as sk
from hearts_train.learn.actor_critic import set_threads
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.course import Course
from hearts_train.learn.magnet import find_magnet
from hearts_train.learn.network_learner import NetworkLearner
from hearts_train.learn.selfplay_games import SelfPlayGames, part_of

Rows = NDArray[np.int64]


class SelfPlayLearner(NetworkLearner):
    """PPO of one network that plays all seats but those of its opponents."""

    algorithm = "PPO of every seat"
    figures: tuple[str, ...] = sk.FIGURES
    """What minibatches add up for the log: of the kernel's figures those that there are."""

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make everything, as ``Learner`` has it.

        Raises:
            ConfigError: if the device is not there.
        """
        super().__init__(config, config.threads, state)
        set_threads(1)  # of torch's own: they share small products, and gain nothing
        self.workers = Workers(config.threads)
        self.games = [self._make_games(thread) for thread in range(config.threads)]
        average = self.averaged.networks[0] if self.averaged else None
        self.magnet = find_magnet(config, self.rules, self.encoder, average)
        if self.magnet is not None:
            self.magnet.to(self.device)
        self.course = Course(config, self.rules, self.encoder)
        self._make_parts()
        self._start(state)

    # -- making ------------------------------------------------------------------------------------
    def _make_games(self, thread: int) -> SelfPlayGames:
        number = len(range(thread, self.config.env.num_envs, self.config.threads))
        seed = derived_seed(self.config.seed, 10 + thread)
        return SelfPlayGames(
            self.config, self.rules, self.encoder, self._add_pool(), number, seed, self._empty
        )

    def _make_parts(self) -> None:
        """Make what an algorithm has besides; by default nothing."""

    def _empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array that can be copied to the device quickly."""
        like = torch.from_numpy(np.empty(0, dtype))
        try:
            array = torch.zeros(shape, dtype=like.dtype, pin_memory=self.device.type == "cuda")
        except RuntimeError:
            raise ConfigError(
                f"ppo.num_steps: no memory for {shape[0]} decisions of {self.config.env.num_envs} "
                "games; make it or env.num_envs smaller"
            ) from None
        filled: NDArray[Any] = array.numpy()
        return filled

    def _begin_games(self) -> None:
        for thread, games in enumerate(self.games):
            number = 1000 + 100 * self.counters.starts + thread
            games.begin(derived_seed(self.config.seed, number) % 2**62)

    def warm_up(self) -> None:
        """Compile and load all that an update needs; leaves no trace in what follows."""
        most = self.rules.players * (self.rules.hand_size + 3)
        for thread, games in enumerate(self.games):
            before = games.state()
            for _ in range(most):  # to the end of a deal
                self._collect(thread, 1)
                rows = games.estimate(1.0, 1.0)
                has_ended = bool((games.rows.nexts[rows] == sk.END).any())
                self._try_gradient(thread, rows[:2])
                games.drop_learnt()
                if has_ended:
                    break
            games.restore(before)

    def _try_gradient(self, thread: int, rows: Rows) -> None:
        """Compute a thread's gradient of a few decisions that can be learnt from, for nothing."""
        self._gradient(thread, rows, len(rows), self._clip())

    # -- learning ----------------------------------------------------------------------------------
    def preparing(self) -> Generator[tuple[str, float]]:
        """Gather the lessons, where any are left to be learnt."""
        if self.counters.lessons < self.course.size:
            with contextlib.closing(self.course.gather()) as shares:
                for share in shares:
                    yield "gathering lessons", share

    def _learn(self) -> dict[str, Any]:
        if self.counters.lessons < self.course.size:
            return self._take_lessons()
        figures = self._play_and_learn()
        if self.averaged is not None:
            self.averaged.weights.lerp_(self.replicas.weights, 1 - self.config.average)
        return figures

    def _take_lessons(self) -> dict[str, Any]:
        """Learn a few minibatches of the lessons."""
        course, sums, count = self.course, np.zeros(2), 0
        for step in course.minibatches(self.counters.lessons):
            rows = course.rows(step)
            sums += self._lesson(rows)
            count += len(rows)
            self._step(course.learning_rate(step))
            self.counters.lessons += 1
        if self.counters.lessons == course.size:  # play begins: nothing of the lessons is kept
            course.forget()
            self.optimizer.reset()
        if self.averaged is not None:
            self.averaged.weights.copy_(self.replicas.weights)
        share = self.counters.lessons / course.size
        names = ("lesson_error", "lesson_value_error")
        return {"lessons": share} | dict(zip(names, (sums / count).tolist(), strict=True))

    def _lesson(self, rows: Rows) -> NDArray[np.float64]:
        """The gradient of a minibatch of lessons into the first replica's; sums of its errors."""
        parts = np.array_split(rows, len(self.games))
        found = [np.zeros(2)] * len(parts)

        def work(thread: int) -> None:
            part = parts[thread]
            self.replicas.gradients[thread].zero_()
            outputs = self._forward(self.replicas.networks[thread], self.course.observations(part))
            losses = self.course.losses(part, *outputs, scale=self.rules.max_margin)
            torch.autograd.backward([loss / len(rows) for loss in losses])
            found[thread] = np.array([float(loss.detach()) for loss in losses])

        self.workers.each(work)
        self.replicas.add_gradients()
        total: NDArray[np.float64] = np.sum(found, axis=0)
        return total

    def _play_and_learn(self) -> dict[str, Any]:
        ppo = self.config.ppo
        self.workers.each(lambda thread: self._collect(thread, ppo.num_steps))
        self.counters.decisions += self.config.env.num_envs * ppo.num_steps
        ready = [self._estimate(games) for games in self.games]
        figures = self._take_in(ready)
        sums, count = np.zeros(len(sk.FIGURES)), 0
        for _ in range(ppo.num_epochs):
            is_near = True
            for parts in self._minibatches(ready):
                size = sum(map(len, parts))
                found = self._minibatch(parts, size)
                sums, count = sums + found, count + size
                is_near = ppo.target_kl is None or found[3] <= 1.5 * ppo.target_kl * size
                if not is_near:
                    break
                self._step(self.learning_rate)
            self.counters.gradient_epochs += 1
            if not is_near:
                break
        for games in self.games:
            games.drop_learnt()
        if not count:
            return figures
        means = zip(sk.FIGURES, (sums / count).tolist(), strict=True)
        return figures | {
            name: mean if math.isfinite(mean) else None
            for name, mean in means
            if name in self.figures
        }

    def _collect(self, thread: int, steps: int) -> None:
        """Play: `steps` decisions in each game of a thread."""
        with torch.inference_mode():
            self.games[thread].collect(functools.partial(self._decide, thread), steps)

    def _decide(self, thread: int, rows: slice) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits by which actions are drawn, and values, of rows of a thread's observations."""
        observations = torch.from_numpy(self.games[thread].observations[rows])
        logits, values = self._forward(self.replicas.networks[thread], observations)
        return logits.cpu().numpy(), values.cpu().numpy()

    def _estimate(self, games: SelfPlayGames) -> Rows:
        """Write advantages and returns; returns the rows that can be learnt from."""
        return games.estimate(self.config.ppo.gamma, self.config.ppo.gae_lambda)

    def _minibatches(self, ready: list[Rows]) -> Iterable[tuple[Rows, ...]]:
        """All rows once in a random order, in parts of about ``batch_size``, by thread."""
        number = max(1, round(sum(map(len, ready)) / self.config.ppo.batch_size))
        orders = [
            np.array_split(games.order.permutation(rows), number)
            for games, rows in zip(self.games, ready, strict=True)
        ]
        return zip(*orders, strict=True)

    def _minibatch(self, parts: tuple[Rows, ...], size: int) -> NDArray[np.float64]:
        """The gradient of a minibatch into the first replica's; returns the sums of its figures."""
        clip = self._clip()
        found: list[NDArray[np.float64]] = [np.zeros(len(sk.FIGURES))] * len(parts)

        def work(thread: int) -> None:
            found[thread] = self._gradient(thread, parts[thread], size, clip)

        self.workers.each(work)
        self.replicas.add_gradients()
        return np.sum(found, axis=0)

    def _gradient(self, thread: int, rows: Rows, size: int, clip: sk.Clip) -> NDArray[np.float64]:
        """A thread's part of a minibatch of `size`: its gradient, and the sums of its figures."""
        games, sums = self.games[thread], np.zeros(len(sk.FIGURES))
        self.replicas.gradients[thread].zero_()
        if len(rows):
            chosen = torch.from_numpy(rows)
            observations = torch.from_numpy(games.observations).index_select(0, chosen)
            outputs = self._forward(self.replicas.networks[thread], observations)
            self._backward(games, rows, size, clip, observations, outputs, sums)
        return sums

    def _backward(
        self,
        games: SelfPlayGames,
        rows: Rows,
        size: int,
        clip: sk.Clip,
        observations: torch.Tensor,
        outputs: tuple[torch.Tensor, torch.Tensor],
        sums: NDArray[np.float64],
    ) -> None:
        """Send the gradient of the objective back through the network; add up its figures."""
        logits, values = (output.detach().cpu().numpy() for output in outputs)
        magnet = self._magnet(observations) if clip.magnet_coef else logits[:0]
        gradients = np.empty_like(logits), np.empty_like(values)
        sk.objective(games.rows, rows, size, clip, logits, values, magnet, gradients, sums)
        torch.autograd.backward(
            outputs, [torch.from_numpy(gradient).to(self.device) for gradient in gradients]
        )

    def _magnet(self, observations: torch.Tensor) -> NDArray[np.float32]:
        """The logits of the magnet's policy."""
        assert self.magnet is not None
        with torch.inference_mode():
            found: NDArray[np.float32] = (
                self._apply(self.magnet, observations).float().cpu().numpy()
            )
        return found

    def _clip(self) -> sk.Clip:
        ppo = self.config.ppo
        by_value = math.inf if ppo.clip_range_vf is None else ppo.clip_range_vf
        return sk.Clip(ppo.clip_range, by_value, ppo.vf_coef, self.ent_coef, self.magnet_coef)

    def _take_in(self, ready: list[Rows]) -> dict[str, Any]:
        """Look at an update's decisions as a whole, and normalise their advantages if wanted.

        Returns how much of the variance of the returns the values explain, 1 at best.
        """
        lists = [games.rows for games in self.games]
        advantages, returns = (
            np.concatenate([every[rows] for every, rows in zip(arrays, ready, strict=True)])
            for arrays in ([r.advantages for r in lists], [r.returns for r in lists])
        )
        if not len(returns):  # nobody has decided twice yet
            return {}
        if self.config.ppo.normalize_advantage:
            mean, deviation = advantages.mean(), advantages.std() + np.float32(1e-8)
            for games in self.games:
                own = games.rows.advantages[: games.size]
                own -= mean
                own /= deviation
        variance = float(returns.var())
        left = float(advantages.var()) / variance if variance else math.inf
        return {"explained_variance": 1.0 - left if math.isfinite(left) else None}

    # -- state -------------------------------------------------------------------------------------
    def _games_state(self) -> Tensors:
        return {
            f"games/{thread}/{name}": array
            for thread, games in enumerate(self.games)
            for name, array in games.state().items()
        }

    def _restore_parts(self, parts: dict[str, Tensors]) -> None:
        super()._restore_parts(parts)
        if "games" in parts:
            for thread, games in enumerate(self.games):
                games.restore(part_of(parts["games"], f"{thread}/"))
