"""Checkpoints: the files of trained players, read and written without running code from them.

A checkpoint is one safetensors file with the policy's weights. Its header describes them as text.
Nothing in it can run code, and playing does not need torch.

| header key | value |
|---|---|
| `format` | `hearts-env player` |
| `version` | `1` |
| `encoder` | JSON: `name`, `size` of an observation, `layout` (digest of its blocks, or null) |
| `rules` | JSON: all fields of ``Rules`` |
| `network` | JSON: `kind` (`mlp`), `layers` (sizes, input to output), `activation` |
| `training` | JSON: opponents, decisions, seed, figures; for people |
| `greedy` | JSON: whether it takes the greedy action, or samples; optional, true if missing |
| `digest` | the digest of everything else (``digest_of``); optional |

Tensors are float32 or float16: `policy.{i}.weight` (outputs, inputs) and `policy.{i}.bias`
(outputs), i from 0. A user's own torch module has `kind` `module`, the key `module`
(`FILE.py:NAME`), only its input and output sizes as `layers`, and its own tensor names. Its buffers
may have infinite numbers, as an attention mask has, whole numbers, or truth values. A file with
such a network or encoder is read only if code is permitted.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.user_code import blamed, find_class, is_code
from hearts_env.encoders import ENCODERS, Encoder, make_encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.errors import CheckpointError, HeartsError, bare, did_you_mean, quoted
from hearts_env.support.files import kind_of
from hearts_env.support.tensors import DIGEST, digest_of, read_tensors, write_tensors

FORMAT = "hearts-env player"
VERSION = 1
CHECKPOINT_NAME = "checkpoint.safetensors"
"""The name of the player's file in a run folder."""

ACTIVATIONS = ("relu", "tanh")

_LOAD_THEM = (
    "run `hearts agents --new NAME`, and in the agent's file build the network, load the weights "
    "and list their file in `files`"
)
"""The advice in messages: how to make an agent of a state dict or a pickled network."""


@dataclass(frozen=True)
class Checkpoint:
    """The metadata of a player's weights: rules, encoder and network."""

    rules: Rules
    encoder: str
    layers: tuple[int, ...]
    """The sizes of the layers, from the observation to the actions."""
    activation: str
    """The activation of an ``mlp``, empty for a module."""
    training: dict[str, Any] = field(default_factory=dict)
    """Information about the training, for people. Nothing depends on it."""
    module: str | None = None
    """The user's own torch module, as ``FILE.py:NAME``."""
    greedy: bool = True
    """If True, the player takes the greedy action, else it samples. An option overrides this."""

    @property
    def num_weights(self) -> int:
        """The number of weights of an ``mlp``."""
        return sum((a + 1) * b for a, b in zip(self.layers[:-1], self.layers[1:], strict=True))

    def header(self) -> dict[str, str]:
        """Return the header of the file."""
        measures = _measures(find_encoder(self.encoder), self.rules)
        network = {"kind": "mlp", "layers": list(self.layers), "activation": self.activation}
        if self.module is not None:
            network = {"kind": "module", "module": self.module, "layers": list(self.layers)}
        values: dict[str, Any] = {
            "encoder": {"name": self.encoder, **measures},
            "rules": self.rules.to_dict(),
            "network": network,
            "training": self.training,
        }
        if not self.greedy:
            values["greedy"] = False
        header = {name: json.dumps(value, allow_nan=False) for name, value in values.items()}
        return {"format": FORMAT, "version": str(VERSION)} | header


def find_encoder(name: str) -> Encoder:
    """Return the encoder with this name. An encoder named ``FILE.py:NAME`` is made only once.

    Raises:
        HeartsError: if the name is unknown, names no encoder, or its code is not permitted or
            fails.
    """
    if not is_code(name):
        return make_encoder(name)
    factory = find_class("env.observation", name)
    with blamed(f"env.observation: {name!r} cannot be made", "it is made as NAME()"):
        made = _made(factory)
    return make_encoder(made)


@functools.cache
def _made(factory: Callable[[], Any]) -> Any:
    return factory()


def _measures(encoder: Encoder, rules: Rules) -> dict[str, Any]:
    """Return the size of an observation and, if the encoder has ``blocks``, the layout's digest."""
    blocks, layout = getattr(encoder, "blocks", None), None
    if blocks is not None:
        places = [[block.name, block.seat, block.size] for block in blocks(rules)]
        layout = hashlib.sha256(json.dumps(places).encode()).hexdigest()[:16]
    return {"size": math.prod(encoder.space(rules).shape), "layout": layout}


def check_fit(
    argument: str, layers: Sequence[int], rules: Rules, encoder: Encoder, where: str = ""
) -> None:
    """Raise CheckpointError unless layers of these sizes map the observations to the actions.

    The message names `argument` and adds `where`, the place of the layers, such as " in FILE".
    """
    need = (math.prod(encoder.space(rules).shape), rules.num_actions)
    if (layers[0], layers[-1]) != need:
        raise CheckpointError(
            f"{argument}: {quoted(list(layers))}{where} do not fit {rules.name}, which needs "
            f"{need[0]} inputs with this observation and {need[1]} outputs; give the rules and the "
            "observation of the training"
        )


def save_checkpoint(
    path: str | Path, tensors: Mapping[str, Array], meta: Checkpoint, *, half: bool = False
) -> None:
    """Write a player's file, whole or not at all.

    Args:
        path: the file.
        tensors: the arrays ``policy.{i}.weight`` and ``policy.{i}.bias`` (see the module's
            docstring).
        meta: the metadata of the tensors.
        half: if True, round the weights to float16, for half the size. In a user's module,
            tensors with larger numbers stay float32.

    Raises:
        CheckpointError: if the tensors do not match `meta`, are not finite, or exceed float16.
    """
    dtype = np.float16 if half else np.float32
    is_module = meta.module is not None
    with np.errstate(over="ignore"):
        arrays = {
            name: _of_module(array, dtype) if is_module else np.ascontiguousarray(array, dtype)
            for name, array in tensors.items()
        }
    _check_tensors(str(path), {name: a.shape for name, a in arrays.items()}, meta)
    for name, array in () if is_module else arrays.items():
        if not np.isfinite(tensors[name]).all():
            raise CheckpointError(f"{name}: not all weights are finite; the training diverged")
        if not np.isfinite(array).all():
            raise CheckpointError(
                f"{name}: weights above 65,504 do not fit into 16 bits; save 32 bits "
                "(checkpoint.half=false)"
            )
    write_tensors(Path(path), arrays, meta.header())


def _of_module(array: Array, dtype: type[np.floating[Any]]) -> Array:
    """Return a tensor of a user's module in the form for a file."""
    if array.dtype.kind != "f":
        return array
    rounded = np.ascontiguousarray(array, dtype)
    is_exceeded = bool((np.isinf(rounded) & np.isfinite(array)).any())
    return array.astype(np.float32) if is_exceeded else rounded


def read_checkpoint(path: str | Path) -> tuple[dict[str, Array], Checkpoint]:
    """Read a player's file without running code from it.

    Args:
        path: the file, or a run folder with a ``checkpoint.safetensors``.

    Returns:
        The tensors as float32, and their metadata. Tensors of a user's module may have other
        dtypes.

    Raises:
        CheckpointError: if there is no such file, or the file is cut short, is not a checkpoint,
            contradicts itself, or does not fit the encoders and rules of this version.
    """
    if not isinstance(path, str | os.PathLike):
        raise CheckpointError(
            f"checkpoint: {quoted(path)} is not a path; give a file or a run folder"
        )
    file = Path(path)
    if kind_of(file) == "folder":
        file /= CHECKPOINT_NAME
    where = str(file)
    if kind_of(file) != "file":
        raise CheckpointError(
            f"checkpoint: there is no file {where!r}; give a run folder or a player's file"
        )
    try:
        tensors, header = read_tensors(file)
    except CheckpointError as error:
        raise CheckpointError(
            f"checkpoint: {where!r} is not a whole safetensors file ({error}); it was cut short or "
            "is something else: give a file that `hearts train` or export_policy wrote"
        ) from None
    meta = _parse_header(where, header, tensors)
    _check_tensors(where, {name: tensor.shape for name, tensor in tensors.items()}, meta)
    is_module = meta.module is not None
    for name, tensor in tensors.items():
        if is_module and tensor.dtype.kind != "f":
            continue
        if tensor.dtype not in (np.float32, np.float16):
            raise CheckpointError(
                f"{bare(name)}: is {tensor.dtype} in {where!r}; a player's weights are "
                "float32 or float16"
            )
        if not (is_module or np.isfinite(tensor).all()):
            raise CheckpointError(
                f"{bare(name)}: has infinite or NaN values in {where!r}; the training "
                "diverged: take an earlier checkpoint"
            )
    return {
        name: tensor.astype(np.float32) if tensor.dtype.kind == "f" else tensor
        for name, tensor in tensors.items()
    }, meta


def refuse_weights(path: str | Path) -> None:
    """Raise if a file was written by torch.save, pickle or Keras. The file is not loaded.

    Raises:
        CheckpointError: if one of them wrote the file. The message says how to make an agent of the
            weights.
    """
    if kind_of(path) != "file":
        return
    try:
        with open(path, "rb") as file:
            start = file.read(9)
            if start.endswith(b"{"):  # safetensors: eight bytes with the header's length, then JSON
                return
            names = zipfile.ZipFile(file).namelist() if start[:2] == b"PK" else []
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return  # the loader will report it
    is_torch = any(name.endswith("data.pkl") for name in names)  # TorchScript has it too
    is_program = any("/code/" in name for name in names)
    if (is_torch and not is_program) or start.startswith((b"\x80", b"\x89HDF")):
        raise CheckpointError(
            f"agent: {quoted(os.fspath(path))} holds only weights, which do not say how to play; "
            f"{_LOAD_THEM}"
        )


def _parse_header(
    where: str, header: Mapping[str, str], tensors: Mapping[str, Array]
) -> Checkpoint:
    """Parse the header, and check it against this version's encoders and rules."""
    stated = header.get("format")
    if stated != FORMAT:
        if str(stated).startswith("hearts-env "):
            raise CheckpointError(
                f"format: {where!r} has the format {quoted(stated)}, not {FORMAT!r}; give a player "
                "that `hearts train` wrote"
            )
        raise CheckpointError(
            f"format: {where!r} has the format {quoted(stated)}, not {FORMAT!r}: it holds only "
            f"weights, which do not say how to play; {_LOAD_THEM}"
        )
    if header.get("version") != str(VERSION):
        raise CheckpointError(
            f"version: {where!r} has version {quoted(header.get('version'))}, and this package "
            f"reads {VERSION}; install the package version that wrote it"
        )
    if DIGEST in header and header[DIGEST] != digest_of(tensors, header):
        raise CheckpointError(
            f"digest: {where!r} is damaged; take another copy, or one of the run's checkpoints/"
        )
    parsed: dict[str, dict[str, Any]] = {}
    if header.get("greedy", "true") not in ("true", "false"):
        raise CheckpointError(
            f"greedy: {header['greedy']!r} in {where!r} is neither true nor false; write the file "
            "again with save_policy"
        )
    for name in ("encoder", "rules", "network", "training"):
        try:
            parsed[name] = json.loads(header[name])
            json.dumps(parsed[name], allow_nan=False)  # finite, and not nested too deeply
        except (KeyError, ValueError, RecursionError):
            parsed[name] = []  # type: ignore[assignment]
        if not isinstance(parsed[name], dict):
            raise CheckpointError(
                f"{name}: missing or damaged in the header of {where!r}; write the file again with "
                "save_checkpoint"
            )
    try:
        rules = Rules.from_dict(parsed["rules"])
    except (HeartsError, TypeError) as error:
        raise CheckpointError(f"rules: the rules in {where!r} cannot be played: {error}") from None
    encoder = _check_encoder(where, parsed["encoder"], rules)
    layers, activation, module = _check_network(where, parsed["network"])
    check_fit("network.layers", layers, rules, find_encoder(encoder), f" in {where!r}")
    is_greedy = header.get("greedy") != "false"
    return Checkpoint(rules, encoder, layers, activation, parsed["training"], module, is_greedy)


def _check_encoder(where: str, stated: Mapping[str, Any], rules: Rules) -> str:
    name = stated.get("name")
    if not isinstance(name, str) or not (name in ENCODERS or is_code(name)):
        raise CheckpointError(
            f"encoder: {where!r} needs {quoted(name)}, which is not registered; "
            f"{did_you_mean(str(name), ENCODERS)}; register_encoder adds your own"
        )
    for what, own in _measures(find_encoder(name), rules).items():
        if stated.get(what) != own:
            raise CheckpointError(
                f"encoder: {quoted(name)} has the {what} {own!r} here, and "
                f"{quoted(stated.get(what))} in {where!r}; install the version that wrote it, or "
                "train again"
            )
    return name


def _check_network(
    where: str, stated: Mapping[str, Any]
) -> tuple[tuple[int, ...], str, str | None]:
    names = ("kind", "layers", "activation", "module")
    kind, layers, activation, module = (stated.get(name) for name in names)
    sizes = tuple(layers) if isinstance(layers, list) else ()
    if len(sizes) >= 2 and all(type(size) is int and size > 0 for size in sizes):
        if kind == "mlp" and activation in ACTIVATIONS:
            return sizes, str(activation), None
        if kind == "module" and isinstance(module, str) and is_code(module):
            return sizes, "", module
    raise CheckpointError(
        f"network: {quoted(stated)} in {where!r} is unknown to this version; install the version "
        "that wrote the file, or write it again with save_checkpoint"
    )


def _check_tensors(where: str, shapes: Mapping[str, tuple[int, ...]], meta: Checkpoint) -> None:
    if meta.module is not None:  # it checks them when it loads them
        return
    expected: dict[str, tuple[int, ...]] = {}
    for i, (inputs, outputs) in enumerate(zip(meta.layers[:-1], meta.layers[1:], strict=True)):
        expected[f"policy.{i}.weight"] = (outputs, inputs)
        expected[f"policy.{i}.bias"] = (outputs,)
    for name in {**expected, **shapes}:
        if shapes.get(name) != expected.get(name):
            raise CheckpointError(
                f"{bare(name)}: has shape {quoted(shapes.get(name))} in {where!r}; its "
                f"layers {quoted(list(meta.layers))} need {expected.get(name)}"
            )
