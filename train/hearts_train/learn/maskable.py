"""Train with sb3-contrib's MaskablePPO over ``HeartsSB3VecEnv``: one seat per game learns.

The library does the learning. This file makes its network, with the layer sizes of the config, and
saves weights and moments. A resumed run starts new games.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from hearts_agents.envs.sb3 import HeartsSB3VecEnv
from hearts_env.seeds import derived_seed
from hearts_env.support.tensors import Tensors
from hearts_train.learn.actor_critic import ACTIVATIONS, perceptron, policy_tensors
from hearts_train.learn.config import NetworkConfig, between
from hearts_train.learn.export import policy_layers
from hearts_train.learn.learner import Learner


class MaskableLearner(Learner):
    """sb3-contrib's MaskablePPO. One seat per game learns, and opponents play the others."""

    algorithm = "MaskablePPO"
    packages = ("hearts-env", "sb3-contrib", "stable-baselines3", "torch", "numpy")
    rates = ("learning_rate", "ent_coef")
    is_plain = True

    def make_module(self) -> MaskableActorCriticPolicy:
        """Return the library's network, and make its games and its algorithm."""
        self._set_rates()
        self.env = self._make_env(self.opponents.pool)
        self.model = self._make_model()
        return self.model.policy

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return the library's optimiser."""
        return self.model.policy.optimizer

    def _make_env(self, opponent: Any) -> HeartsSB3VecEnv:
        env = self.config.env
        return HeartsSB3VecEnv(
            env.num_envs,
            self.rules,
            reward=env.reward,
            observation=self.encoder,
            opponent=opponent,
            seat=env.seat,
            skip_forced=env.skip_forced,
            seed=derived_seed(self.config.seed, 3),
        )

    def _make_model(self) -> MaskablePPO:
        config, ppo = self.config, self.config.ppo
        model = MaskablePPO(
            MaskableActorCriticPolicy,
            self.env,
            learning_rate=lambda _: self.learning_rate,
            n_steps=ppo.num_steps,
            batch_size=config.batch_size,
            n_epochs=ppo.num_epochs,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=math.inf if ppo.clip_range is None else ppo.clip_range,
            clip_range_vf=ppo.clip_range_vf,
            normalize_advantage=ppo.normalize_advantage,
            vf_coef=ppo.vf_coef,
            max_grad_norm=ppo.max_grad_norm,
            target_kl=ppo.target_kl,
            policy_kwargs=policy_kwargs(config.network),
            seed=self._seed_of_start(),
            device="cpu",
        )
        model.set_logger(Logger(None, []))
        return model

    def _seed_of_start(self) -> int:
        """Return the seed of model and games. A resumed run draws new actions and deals."""
        return derived_seed(self.config.seed, 1000 + self.counters.starts) % 2**31

    def begin(self) -> None:
        """Start new games, also in a resumed run."""
        self.model.num_timesteps = self.counters.decisions
        self.env.seed(self._seed_of_start())
        self.model._last_obs = self.env.reset()
        self.model._last_episode_starts = np.ones(self.env.num_envs, np.bool_)

    def warm_up(self) -> str:
        """Compile the code of a rollout, in separate games."""
        env = self._make_env("random")
        env.reset()
        while not env.step(env.action_masks().argmax(axis=1))[2].any():
            pass
        return ""

    # -- learning ----------------------------------------------------------------------------------
    def _set_rates(self) -> None:
        ppo, share = self.config.ppo, self.progress
        self.learning_rate = between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.ent_coef = between(ppo.ent_coef, ppo.ent_coef_end, share)

    def learn(self) -> dict[str, Any]:
        """Let the library make one update. Return the figures that it logs."""
        model = self.model
        self._set_rates()
        model.ent_coef = self.ent_coef
        size = self.config.env.num_envs * self.config.ppo.num_steps
        model.learn(size, reset_num_timesteps=False, log_interval=sys.maxsize)
        self.counters.decisions = model.num_timesteps
        row: dict[str, Any] = {}
        deals = float(model.rollout_buffer.episode_starts.sum())
        if deals:
            row["reward"] = float(model.rollout_buffer.rewards.sum()) / deals
        for name, value in model.logger.name_to_value.items():
            if name.startswith("train/") and isinstance(value, int | float | np.number):
                number = float(value)
                row[name.removeprefix("train/")] = number if math.isfinite(number) else None
        return row

    # -- state -------------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """Return the weights of the policy by their names in a player's file."""
        return policy_tensors(policy_layers(self.model.policy))


# ---- the network ---------------------------------------------------------------------------------


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share, for observations of any dtype and shape."""

    def __init__(
        self, observation_space: spaces.Space[Any], sizes: list[int], activation: str
    ) -> None:
        inputs = math.prod(observation_space.shape or (1,))
        super().__init__(observation_space, sizes[-1] if sizes else inputs)
        self.layers = perceptron([inputs, *sizes], activation, ends_linear=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the features of observations."""
        features: torch.Tensor = self.layers(observations.flatten(1).float())
        return features


def policy_kwargs(config: NetworkConfig) -> dict[str, Any]:
    """Return the arguments of sb3-contrib's policy for a network of these sizes."""
    return {
        "features_extractor_class": Trunk,
        "features_extractor_kwargs": {"sizes": config.trunk, "activation": config.activation},
        "net_arch": {"pi": list(config.policy), "vf": list(config.value)},
        "activation_fn": ACTIVATIONS[config.activation],
        "optimizer_kwargs": {"eps": 1e-5, "fused": True},
        "normalize_images": False,
    }
