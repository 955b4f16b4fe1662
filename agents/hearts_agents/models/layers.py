"""Save policies of linear layers, trained with any library, as players' files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.models.checkpoint import ACTIVATIONS, Checkpoint, check_fit, save_checkpoint
from hearts_agents.models.network import Network
from hearts_env.encoders import make_encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_choice, check_flag, check_path
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.support.files import check_output

_NAMES = {"ReLU": "relu", "Tanh": "tanh"}
"""The activations, by the names of their torch modules."""
_IGNORED = ("Dropout", "Flatten", "Identity")
"""Torch modules that change nothing when a trained network plays."""
_GIVE = "give linear layers with ReLU or Tanh between them, and export other networks as ONNX"


def save_policy(
    layers: Iterable[Any],
    path: str | Path,
    rules: Rules | str = "two_player",
    observation: str = "flat",
    *,
    greedy: bool,
    activation: str | None = None,
    training: Mapping[str, Any] | None = None,
    half: bool = False,
) -> None:
    """Write a policy of linear layers as a player's file, whole or not at all.

    ``make_agent(path)`` makes the player without the library that trained it. All commands take the
    path as an agent.

    Args:
        layers: the network from the observation to one output per action, as a
            ``torch.nn.Sequential`` or a sequence. Its elements are ``torch.nn.Linear``, activations
            (``torch.nn.ReLU``, ``torch.nn.Tanh``), or pairs ``(weight, bias)`` of arrays of any
            library, ``(outputs, inputs)`` and ``(outputs,)``. A bias may be None.
        path: the file to write, named ``*.safetensors``.
        rules: the rules that the policy was trained on.
        observation: the name of the encoder that it was trained on.
        greedy: if True, the player takes the legal action with the highest output. If False, it
            samples from the softmax of the outputs of legal actions. ``PATH?greedy=true`` or
            ``false`` overrides this.
        activation: the activation between the layers, ``relu`` or ``tanh``. If None, the one in
            `layers`. It is required if `layers` has several linear layers and no activation.
        training: facts about the training to record, as a mapping of JSON types. ``name`` is the
            player's name, ``decisions`` the number of decisions that it learned from. If None, no
            facts.
        half: if True, round the weights to float16, for half the size.

    Raises:
        HeartsError: if the network is of another kind, does not fit the rules and the observation,
            or has weights that are not finite, or if another argument is invalid.
    """
    file = check_path("path", path)
    check_output(file, "path")
    rules = Rules.make(rules)
    if not isinstance(observation, str):
        raise HeartsError(
            f"observation: {quoted(observation)} is not the name of an encoder; register yours "
            "with register_encoder"
        )
    try:
        facts = json.loads(json.dumps(dict(training or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise HeartsError(f"training: {error}; give a mapping of JSON types") from None
    tensors, found = _parse_layers(layers)
    if activation is not None:
        check_choice("activation", activation, ACTIVATIONS)
    if activation is not None and found not in (None, activation):
        raise HeartsError(f"activation: {activation!r}, but the layers have {found!r}; omit it")
    sizes = Network(tensors).sizes
    if len(sizes) > 2 and found is None and activation is None:
        raise HeartsError("activation: is not among the layers; give relu or tanh")
    check_fit("layers", sizes, rules, make_encoder(observation))
    meta = Checkpoint(
        rules=rules,
        encoder=observation,
        layers=sizes,
        activation=activation or found or ACTIVATIONS[0],
        training=facts,
        greedy=check_flag("greedy", greedy),
    )
    save_checkpoint(file, tensors, meta, half=check_flag("half", half))


def _parse_layers(layers: Iterable[Any]) -> tuple[dict[str, Array], str | None]:
    """Return the weights by their names in a file, and the activation if it is in `layers`."""
    tensors: dict[str, Array] = {}
    kinds: list[str] = []  # "linear", or the name of an activation
    for part in _flattened(layers):
        name = type(part).__name__
        if isinstance(part, tuple | list):
            weight, bias = part
        elif hasattr(part, "weight") and name == "Linear":
            weight, bias = part.weight, part.bias
        elif name in _NAMES:
            kinds.append(_NAMES[name])
            continue
        else:
            raise HeartsError(f"layers: {name} cannot be saved; {_GIVE}")
        number = kinds.count("linear")
        array = _array(weight, 2)
        own = np.zeros(len(array), np.float32) if bias is None else _array(bias, 1)
        if len(own) != len(array):
            raise HeartsError(
                f"layers: a weight of shape {array.shape} with a bias of {len(own)}; give weights "
                "as (outputs, inputs)"
            )
        tensors |= {f"policy.{number}.weight": array, f"policy.{number}.bias": own}
        kinds.append("linear")
    between = set(kinds) - {"linear"}
    in_turn = all((a == "linear") != (b == "linear") for a, b in itertools.pairwise(kinds))
    ends = {kinds[0], kinds[-1]} if kinds else set()
    if ends != {"linear"} or len(between) > 1 or (between and not in_turn):
        raise HeartsError(
            f"layers: {' - '.join(kinds) or 'none'} cannot be saved: it must begin and end with a "
            f"linear layer and have the same activation between all; {_GIVE}"
        )
    weights = [array for array in tensors.values() if array.ndim == 2]
    for number, (before, after) in enumerate(itertools.pairwise(weights), 1):
        if after.shape[1] != len(before):
            raise HeartsError(
                f"layers: linear layer {number} takes {after.shape[1]} inputs and the one before "
                f"gives {len(before)}; give weights as (outputs, inputs), in order"
            )
    return tensors, between.pop() if between else None


def _flattened(layers: Any) -> Iterator[Any]:
    """Yield linear layers, pairs of arrays and activations, without the containers around them."""
    try:
        parts = iter(layers)
    except TypeError:
        parts = iter([layers])  # a single torch.nn.Linear
    for part in parts:
        is_pair = isinstance(part, tuple | list) and len(part) == 2 and hasattr(part[0], "shape")
        if is_pair:
            yield part
        elif isinstance(part, tuple | list) or type(part).__name__ in ("Sequential", "ModuleList"):
            yield from _flattened(part)
        elif type(part).__name__ not in _IGNORED:
            yield part


def _array(values: Any, ndim: int) -> Array:
    """Return weights of any library as a float32 array."""
    if hasattr(values, "detach"):  # a torch tensor, perhaps bfloat16 or on a GPU
        values = values.detach().float().cpu().numpy()
    try:
        array: Array = np.array(values, np.float32)
    except (TypeError, ValueError) as error:
        raise HeartsError(f"layers: weights that are not numbers ({error}); {_GIVE}") from None
    if array.ndim != ndim:
        raise HeartsError(
            f"layers: an array of shape {array.shape} where {ndim} dimensions are needed; give "
            "weights (outputs, inputs) and bias (outputs,)"
        )
    return array
