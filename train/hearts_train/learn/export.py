"""Export policies of stable-baselines3 as players' files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import nn

from hearts_agents.models.layers import save_policy
from hearts_agents.models.network import Network
from hearts_env import HeartsError, Rules
from hearts_env.support.arguments import check_is
from hearts_env.support.tensors import Tensors
from hearts_train.learn.actor_critic import ACTIVATIONS, policy_tensors


def export_policy(
    model: Any,
    path: str | Path,
    rules: Rules | str = "two_player",
    *,
    observation: str = "flat",
    greedy: bool = True,
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write the policy of a PPO, A2C or MaskablePPO as a player's file, whole or not at all.

    ``make_agent(path)`` loads it, and ``hearts evaluate path`` evaluates it.

    Args:
        model: a model with a policy of linear layers and one activation (``MlpPolicy``).
        path: the file to write, preferably ``*.safetensors``.
        rules: the rules that the model was trained on.
        observation: the name of the encoder that the model was trained on.
        greedy: if True, the player takes the greedy action. If False, it samples.
        training: facts about the training to record, as a mapping of JSON types. If None, no facts.

    Raises:
        HeartsError: if the network is of another kind, does not fit the rules and the observation,
            or has weights that are not finite.
    """
    policy = getattr(model, "policy", None)
    if not isinstance(policy, ActorCriticPolicy | MaskableActorCriticPolicy):
        raise HeartsError(
            f"model: a {type(model).__name__} has no policy that can be exported; give a PPO, A2C "
            "or MaskablePPO with MlpPolicy"
        )
    if isinstance(policy.observation_space, spaces.Dict):
        raise HeartsError(
            "model: its policy takes dictionaries, and a player's file takes one array; evaluate "
            "the file that model.save wrote (hearts evaluate model.zip --allow-code), or train "
            "with MlpPolicy and action_mask='info'"
        )
    training = training or {}
    check_is("training", training, Mapping, "give a mapping of JSON types")
    layers = policy_layers(policy)
    facts = {"algorithm": type(model).__name__, "decisions": int(model.num_timesteps)}
    save_policy(
        [(layer.weight, layer.bias) for layer in layers],
        path,
        rules,
        observation,
        greedy=greedy,
        activation=_activation(model, policy_tensors(layers)),
        training={**facts, **training},
    )


def _activation(model: Any, tensors: Tensors) -> str:
    """Return the activation with which the linear layers reproduce the policy's output."""
    if model.get_vec_normalize_env() is not None:
        raise HeartsError("model: it was trained with VecNormalize; train without it")
    if not all(bool(torch.isfinite(weights).all()) for weights in model.policy.parameters()):
        raise HeartsError("model: its weights are not finite, so training diverged; train it again")
    space = model.observation_space
    rng = np.random.default_rng(0)
    observations = rng.integers(0, 2, (32, *space.shape)).astype(space.dtype)
    with torch.no_grad():
        inputs = torch.as_tensor(observations, device=model.device)
        try:
            theirs = model.policy.get_distribution(inputs).distribution.logits.cpu().numpy()
        except TypeError:  # a recurrent policy needs more arguments
            theirs = np.nan
    is_plain = Network(tensors).sizes[0] == math.prod(space.shape)
    for activation in ACTIVATIONS if is_plain else ():
        ours = Network(tensors, activation).logits(observations)
        ours = ours - ours.max(1)[:, None]
        if np.allclose(ours - np.log(np.exp(ours).sum(1))[:, None], theirs, atol=1e-3):
            return activation
    raise HeartsError(
        "model: its policy is more than linear layers with ReLU or Tanh between them; use "
        "MlpPolicy with one of these activations"
    )


def policy_layers(policy: ActorCriticPolicy | MaskableActorCriticPolicy) -> list[nn.Linear]:
    """Return the layers that choose actions, in order."""
    parts = (policy.features_extractor, policy.mlp_extractor.policy_net, policy.action_net)
    return [m for part in parts for m in part.modules() if isinstance(m, nn.Linear)]
