"""A policy trained with one's own script, as a player that needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sb3_contrib import MaskablePPO
from torch import nn

from hearts_agents.network import Checkpoint, Network, save_checkpoint
from hearts_env import HeartsError, Rules
from hearts_env.encoders import make_encoder
from hearts_train.networks import policy_tensors

_ACTIVATIONS: dict[type[nn.Module], str] = {nn.ReLU: "relu", nn.Tanh: "tanh"}


def export_policy(
    model: MaskablePPO,
    path: str | Path,
    rules: Rules | str = "two_player",
    *,
    observation: str = "flat",
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write the policy of a MaskablePPO as a player's file, whole or not at all.

    ``make_agent(path)`` then plays it, ``hearts evaluate path`` evaluates it.

    Args:
        model: with a policy of linear layers and one activation (``MlpPolicy``).
        path: of the file, best ``*.safetensors``.
        rules: that it was trained for.
        observation: the encoder that it was trained on.
        training: whatever should be told of the training, of types that JSON knows.

    Raises:
        HeartsError: a network of another kind, or one for other observations or actions.
    """
    rules = Rules.make(rules)
    policy = model.policy
    modules = [*policy.features_extractor.modules(), *policy.mlp_extractor.policy_net.modules()]
    parametric = [m for m in modules if next(m.parameters(recurse=False), None) is not None]
    if not all(isinstance(module, nn.Linear) for module in parametric):
        raise HeartsError("model: only policies of linear layers can be exported, like MlpPolicy")
    used = {_ACTIVATIONS[type(m)] for m in modules if type(m) in _ACTIVATIONS}
    if len(used) > 1:
        raise HeartsError(f"model: the activations {', '.join(sorted(used))} are mixed; use one")
    tensors = policy_tensors(policy)
    sizes = Network(tensors).sizes
    shape = make_encoder(observation).space(rules).shape
    inputs = 1
    for size in shape:
        inputs *= size
    if (sizes[0], sizes[-1]) != (inputs, rules.num_actions):
        raise HeartsError(
            f"model: {sizes[0]} inputs, {sizes[-1]} actions; {observation!r} of {rules.name} has "
            f"{inputs} and {rules.num_actions}; name the rules and the observation of the training"
        )
    told = {"algorithm": "MaskablePPO", "decisions": int(model.num_timesteps), **(training or {})}
    meta = Checkpoint(
        rules=rules,
        encoder=observation,
        layers=sizes,
        activation=used.pop() if used else "relu",
        training=told,
    )
    save_checkpoint(path, tensors, meta)
