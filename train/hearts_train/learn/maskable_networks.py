"""The networks that stable-baselines3 trains: a shared trunk, a policy head and a value head."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import (
    MaskableRolloutBuffer,
    MaskableRolloutBufferSamples,
)
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from hearts_train.learn.actor_critic import ACTIVATIONS
from hearts_train.learn.config import NetworkConfig

_NEVER = -1e8
"""The logit of an illegal action, as sb3-contrib has it."""


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share, from observations of any dtype and shape."""

    def __init__(
        self, observation_space: spaces.Space[Any], sizes: list[int], activation: str
    ) -> None:
        inputs = int(np.prod(observation_space.shape or (1,)))
        super().__init__(observation_space, sizes[-1] if sizes else inputs)
        layers: list[nn.Module] = [nn.Flatten()]
        for before, size in zip([inputs, *sizes], sizes, strict=False):
            layers += [nn.Linear(before, size), ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of observations."""
        features: torch.Tensor = self.layers(observations.float())
        return features


class HeartsPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy for maskable PPO, without its distribution objects.

    Those normalise twice and check their arguments at each call; the same numbers come from one
    log-softmax over the masked logits. Everything else, ``predict`` too, is inherited.
    """

    def forward(
        self,
        obs: torch.Tensor,
        deterministic: bool = False,  # noqa: FBT001, FBT002 as stable-baselines3 calls it
        action_masks: NDArray[Any] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions, values and log-probabilities of the actions, for a rollout."""
        values, log_probs = self._evaluate(obs, action_masks)
        if deterministic:
            actions = log_probs.argmax(dim=1)
        else:  # the largest of log-probability + Gumbel noise is a draw
            noise = torch.empty_like(log_probs).exponential_().log_()
            actions = (log_probs - noise).argmax(dim=1)
        return actions, values, log_probs.gather(1, actions[:, None])[:, 0]

    def evaluate_actions(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        action_masks: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values, log-probabilities of the actions, and entropies, for an update."""
        values, log_probs = self._evaluate(obs, action_masks)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)  # illegal: 0 * -1e8 = 0
        return values, log_probs.gather(1, actions[:, None])[:, 0], entropy

    def _evaluate(
        self, obs: torch.Tensor, action_masks: NDArray[Any] | torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.features_extractor(obs)
        latent_policy, latent_value = self.mlp_extractor(features)
        logits = self.action_net(latent_policy)
        if action_masks is not None:
            mask = torch.as_tensor(action_masks).reshape(logits.shape)
            logits = logits.masked_fill(mask == 0, _NEVER)
        return self.value_net(latent_value), torch.log_softmax(logits, dim=1)


def policy_kwargs(config: NetworkConfig) -> dict[str, Any]:
    """The arguments of ``HeartsPolicy`` for a network of these sizes."""
    return {
        "features_extractor_class": Trunk,
        "features_extractor_kwargs": {"sizes": config.trunk, "activation": config.activation},
        "net_arch": {"pi": list(config.policy), "vf": list(config.value)},
        "activation_fn": ACTIVATIONS[config.activation],
        "optimizer_kwargs": {"eps": 1e-5, "fused": True},
        "normalize_images": False,
    }


def policy_tensors(
    policy: ActorCriticPolicy | MaskableActorCriticPolicy,
) -> dict[str, NDArray[np.float32]]:
    """Copies of the weights that choose actions, named as in a player's file."""
    parts = (policy.features_extractor, policy.mlp_extractor.policy_net, policy.action_net)
    linear = [m for part in parts for m in part.modules() if isinstance(m, nn.Linear)]
    tensors: dict[str, NDArray[np.float32]] = {}
    for i, layer in enumerate(linear):
        tensors[f"policy.{i}.weight"] = layer.weight.detach().cpu().numpy().copy()
        tensors[f"policy.{i}.bias"] = layer.bias.detach().cpu().numpy().copy()
    return tensors


class CompactRolloutBuffer(MaskableRolloutBuffer):
    """sb3-contrib's rollout buffer with masks of one byte and a generator of its own.

    sb3-contrib's keeps masks as float32, allocates new arrays for each rollout, and shuffles by
    NumPy's global state, which other code shares and changes.
    """

    def __init__(self, *args: Any, seed: int = 0, **kwargs: Any) -> None:
        self.rng = np.random.default_rng(seed)
        super().__init__(*args, **kwargs)

    def reset(self) -> None:
        """Make room for the next rollout."""
        assert isinstance(self.action_space, spaces.Discrete)
        self.mask_dims = int(self.action_space.n)
        size = (self.buffer_size, self.n_envs)
        super(MaskableRolloutBuffer, self).reset()
        self.action_masks = np.ones((*size, self.mask_dims), np.int8)

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Minibatches in a new random order."""
        assert self.full
        size = self.buffer_size * self.n_envs
        flat = [
            torch.from_numpy(array.reshape(size, *array.shape[2:]))
            for array in (
                self.observations,
                self.actions,
                self.values,
                self.log_probs,
                self.advantages,
                self.returns,
                self.action_masks,
            )
        ]
        order = torch.from_numpy(self.rng.permutation(size))
        step = batch_size or size
        for start in range(0, size, step):
            rows = order[start : start + step]
            yield MaskableRolloutBufferSamples(*[array.index_select(0, rows) for array in flat])
