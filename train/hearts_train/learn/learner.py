"""What learns: sb3-contrib's MaskablePPO, its environment, opponents and snapshots of itself.

Everything that shapes the learning follows from the seed and from the share of the budget spent, so
that with a budget of decisions the same seed gives the same player, however often the run was
stopped or killed and resumed on the way; a budget of minutes depends on the clock.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from hearts_agents.base import generator_state, restore_generator
from hearts_agents.network import NetworkAgent
from hearts_agents.pool import OpponentPool
from hearts_agents.sb3 import HeartsSB3VecEnv
from hearts_env.arguments import check_array
from hearts_env.encoders import make_encoder
from hearts_env.errors import CheckpointError, HeartsError
from hearts_env.rules import Rules
from hearts_env.seeds import derived_seed, secret_seed
from hearts_train.learn import runs
from hearts_train.learn.config import SELF, TrainConfig
from hearts_train.learn.networks import (
    CompactRolloutBuffer,
    HeartsPolicy,
    TorchNetwork,
    policy_kwargs,
    policy_tensors,
    set_threads,
)
from hearts_train.learn.snapshots import Snapshots, pool_weights


class DivergenceError(HeartsError):
    """Training whose weights are no longer finite numbers."""


class Learner:
    """The model, the games it learns from, its opponents, and how far it has come."""

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make everything.

        Args:
            config: the recipe.
            state: what to go on from.

        Raises:
            HeartsError: if a rule set, encoder or opponent is unknown.
            CheckpointError: if `state` has other networks.
        """
        self.config = config
        self.counters = replace(state.counters) if state else runs.Counters()
        self.counters.starts += 1
        set_threads(config.threads)
        self.rules = Rules.make(config.env.rules, config.env.players)
        self.encoder = make_encoder(config.env.observation)
        self.snapshots = Snapshots(config, self.rules, self.encoder)
        self.env = self._make_env(self._make_pool())
        self.model = self._make_model()
        self.snapshots.take(self.tensors(), 0)
        if state is None or state.games != self._games_key:
            self._begin_games()
        if state is not None:
            self._restore(state)
        self._phase = -1
        self._set_rates()

    @property
    def progress(self) -> float:
        """The share of the budget that is spent, 0 to 1."""
        return self.config.budget.share(self.counters.decisions, self.counters.seconds)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The policy's weights under their names in a checkpoint."""
        return policy_tensors(self.model.policy)

    def agent(self) -> NetworkAgent:
        """The learner as a player that takes its preferred actions."""
        network = TorchNetwork(self.tensors(), self.config.network.activation)
        return NetworkAgent(network, self.rules, self.encoder)

    # -- making ----------------------------------------------------------------------------------
    def _make_pool(self) -> OpponentPool:
        # Opponents may be outside code: no seed from which those of the deals can be computed. It
        # shapes no game, since the environment reseeds all opponents before the first deal.
        pool = OpponentPool(seed=secret_seed(self.config.seed, "opponents"))
        for name in self.config.opponents:
            if name != SELF:
                pool.add(name, weight=0.0)
        if SELF in self.config.opponents:
            for number, agent in enumerate(self.snapshots.agents):
                pool.add(agent, name=f"{SELF} {number}", weight=0.0)
        for name, weight in pool_weights(self.config, 0, self.snapshots).items():
            pool.set_weight(name, weight)
        return pool

    def _make_env(self, pool: OpponentPool) -> HeartsSB3VecEnv:
        env = self.config.env
        return HeartsSB3VecEnv(
            env.num_envs,
            self.rules,
            reward=env.reward,
            observation=self.encoder,
            opponent=pool,
            seat=env.seat,
            skip_forced=env.skip_forced,
            seed=derived_seed(self.config.seed, 3),
        )

    def _make_model(self) -> MaskablePPO:
        config, ppo = self.config, self.config.ppo
        self._learning_rate = ppo.learning_rate
        model = MaskablePPO(
            HeartsPolicy,
            self.env,
            learning_rate=lambda _: self._learning_rate,
            n_steps=ppo.num_steps,
            batch_size=ppo.batch_size,
            n_epochs=ppo.num_epochs,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_range,
            clip_range_vf=ppo.clip_range_vf,
            normalize_advantage=ppo.normalize_advantage,
            ent_coef=ppo.ent_coef,
            vf_coef=ppo.vf_coef,
            max_grad_norm=ppo.max_grad_norm,
            target_kl=ppo.target_kl,
            rollout_buffer_class=CompactRolloutBuffer,
            rollout_buffer_kwargs={"seed": derived_seed(config.seed, 1)},
            policy_kwargs=policy_kwargs(config.network),
            seed=config.seed,
            device="cpu",
        )
        model.set_logger(Logger(None, []))
        return model

    def _begin_games(self) -> None:
        """Begin new games, of other deals after each start, and look at them."""
        self.env.seed(derived_seed(self.config.seed, 1000 + self.counters.starts) % 2**62)
        self.model._last_obs = self.env.reset()
        self.model._last_episode_starts = np.ones(self.env.num_envs, np.bool_)

    @property
    def _games_key(self) -> str:
        """What the games under way depend on besides what no resumed run may change."""
        env = self.config.env.model_dump(mode="json")
        return json.dumps([env, self.env.opponents.names], sort_keys=True)

    # -- state -----------------------------------------------------------------------------------
    def state(self) -> runs.State:
        """All that training goes on from; to be taken between two updates."""
        policy, optimizer = self.model.policy, self.model.policy.optimizer
        tensors: dict[str, NDArray[Any]] = {}
        for name, tensor in policy.state_dict().items():
            tensors[f"policy/{name}"] = tensor.numpy().copy()
        for number, moments in optimizer.state_dict()["state"].items():
            for name, tensor in moments.items():
                tensors[f"optimizer/{number}/{name}"] = torch.as_tensor(tensor).numpy().copy()
        tensors |= self.snapshots.tensors()
        tensors |= {f"games/{name}": array for name, array in self.env.state().items()}
        starts = self.model._last_episode_starts
        assert starts is not None
        tensors["games/episode_starts"] = starts.copy()
        tensors["rng/torch"] = torch.get_rng_state().numpy().copy()
        tensors["rng/buffer"] = generator_state(self._buffer.rng)
        return runs.State(replace(self.counters), tensors, self._games_key)

    def _restore(self, state: runs.State) -> None:
        parts: dict[str, dict[str, NDArray[Any]]] = {}
        for name, array in state.tensors.items():
            part, _, rest = name.partition("/")
            parts.setdefault(part, {})[rest] = array
        try:
            self._restore_weights(parts.get("policy", {}), parts.get("optimizer", {}))
            self.snapshots.restore(state.tensors)
            if state.games == self._games_key:
                self._restore_games(parts.get("games", {}))
            rng = parts.get("rng", {})
            now = torch.get_rng_state()
            torch.set_rng_state(
                torch.from_numpy(check_array("rng/torch", rng.get("torch"), now.numpy()))
            )
            restore_generator(self._buffer.rng, rng.get("buffer", np.zeros(0, np.uint64)))
        except (HeartsError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(
                f"resume: the state does not fit the run's {runs.CONFIG_NAME} ({reason}); "
                "resume another run, or start a new one"
            ) from None
        self.model.num_timesteps = self.counters.decisions
        self.model._n_updates = self.counters.gradient_epochs

    def _restore_weights(
        self, policy: dict[str, NDArray[Any]], optimizer: dict[str, NDArray[Any]]
    ) -> None:
        own = {name: tensor.numpy() for name, tensor in self.model.policy.state_dict().items()}
        for name, tensor in own.items():
            check_array(f"policy/{name}", policy.get(name), tensor)
        self.model.policy.load_state_dict(
            {name: torch.from_numpy(policy[name].copy()) for name in own}
        )
        moments: dict[int, dict[str, torch.Tensor]] = {}
        if optimizer:  # empty before the first update
            for number, weights in enumerate(self.model.policy.parameters()):
                like = weights.detach().numpy()
                moments[number] = {
                    name: torch.from_numpy(
                        check_array(
                            f"optimizer/{number}/{name}", optimizer.get(f"{number}/{name}"), shape
                        ).copy()
                    )
                    for name, shape in (
                        ("step", np.zeros((), np.float32)),
                        ("exp_avg", like),
                        ("exp_avg_sq", like),
                    )
                }
        groups = self.model.policy.optimizer.state_dict()["param_groups"]
        self.model.policy.optimizer.load_state_dict({"state": moments, "param_groups": groups})

    def _restore_games(self, games: dict[str, NDArray[Any]]) -> None:
        starts = check_array(
            "games/episode_starts",
            games.get("episode_starts"),
            np.zeros(self.env.num_envs, np.bool_),
        )
        self.env.reset()  # whose state is replaced
        self.model._last_obs = self.env.restore(games)
        self.model._last_episode_starts = starts.copy()

    @property
    def _buffer(self) -> CompactRolloutBuffer:
        buffer = self.model.rollout_buffer
        assert isinstance(buffer, CompactRolloutBuffer)
        return buffer

    # -- learning --------------------------------------------------------------------------------
    def warm_up(self) -> None:
        """Compile what a rollout needs, before the clock runs; leaves no trace in what follows."""
        before = self.env.state()
        for _ in range(self.rules.hand_size + self.rules.pass_count + 2):  # to the end of a deal
            _, _, done, _ = self.env.step(self.env.action_masks().argmax(axis=1))
            if done.any():
                break
        self.env.restore(before)

    def _set_rates(self) -> None:
        """Rates and opponents as they are to be at this share of the budget."""
        ppo, share = self.config.ppo, self.progress
        self._learning_rate = _between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.model.ent_coef = _between(ppo.ent_coef, ppo.ent_coef_end, share)
        phase = self.config.phase_at(share)
        for name, weight in pool_weights(self.config, phase, self.snapshots).items():
            if self.env.opponents.entries[self.env.opponents.place(name)].weight != weight:
                self.env.opponents.set_weight(name, weight)
        self._phase = phase

    def update(self) -> dict[str, Any]:
        """Collect one rollout and learn from it; returns what is to be logged."""
        counters, model = self.counters, self.model
        self._set_rates()
        begin = time.monotonic()
        size = self.config.env.num_envs * self.config.ppo.num_steps
        model.learn(size, reset_num_timesteps=False, log_interval=sys.maxsize)
        if not all(bool(torch.isfinite(weights).all()) for weights in model.policy.parameters()):
            raise DivergenceError(
                f"update {counters.updates + 1}: training diverged, the weights are no longer "
                "finite; what was saved before stands: resume with a smaller ppo.learning_rate "
                f"(it was {self._learning_rate:g}) or ppo.max_grad_norm"
            )
        counters.updates += 1
        counters.decisions = model.num_timesteps
        counters.gradient_epochs = model._n_updates
        if counters.updates % self.config.self_play.every == 0:
            counters.snapshots += 1
            self.snapshots.take(self.tensors(), counters.snapshots)
        seconds = time.monotonic() - begin
        counters.learning_seconds += seconds
        row: dict[str, Any] = {
            "updates": counters.updates,
            "decisions_per_second": size / seconds,
            "phase": self._phase,
            "learning_rate": self._learning_rate,
            "ent_coef": model.ent_coef,
        }
        buffer = self._buffer
        deals = float(buffer.episode_starts.sum())
        if deals:
            row["reward"] = float(buffer.rewards.sum()) / deals
        for name, value in model.logger.name_to_value.items():
            if name.startswith("train/") and isinstance(value, int | float | np.number):
                number = float(value)
                row[name.removeprefix("train/")] = number if math.isfinite(number) else None
        return row


def _between(start: float, end: float | None, share: float) -> float:
    return start if end is None else start + (end - start) * share
