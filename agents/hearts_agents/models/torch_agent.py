"""Players of torch: a module, or a file that ``torch.jit.save`` wrote."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.blame import blamed
from hearts_agents.models.model_agent import (
    FileAgent,
    ModelAgent,
    import_library,
    names_in_zip,
    read_model,
)
from hearts_agents.registry import WEIGHTS_ALONE
from hearts_agents.trust import check_code_allowed
from hearts_env import HeartsError, Rules
from hearts_env.support.arguments import check_choice
from hearts_env.support.arrays import Array
from hearts_env.support.errors import CheckpointError, quoted

_SCRIPT = "TorchScript is a program, which can read and write files"
_DTYPES = ("float32", "float16", "float64", "int8", "uint8", "int32", "int64")


class ModuleAgent(ModelAgent):
    """A ``torch.nn.Module`` as a player."""

    def __init__(self, module: Any, name: str, dtype: str, **how: Any) -> None:
        """The player of a module, which must not change any more; `how` is as in ``ModelAgent``."""
        super().__init__(name, **how)
        self.dtype = np.dtype(check_choice("dtype", dtype, _DTYPES))
        self._module = module
        if self.rules is not None:
            self.check_rules(self.rules)

    def run(self, observations: Array) -> Any:
        """What its ``forward`` gives."""
        return _forward(self._module, observations)

    def content(self) -> Iterator[bytes]:
        """The weights."""
        for _, tensor in sorted(self._module.state_dict().items()):
            yield tensor.numpy().tobytes()


class TorchScriptAgent(FileAgent):
    """A TorchScript program as a player."""

    def __init__(self, data: bytes, name: str, dtype: str, **how: Any) -> None:
        """The player of a file's content; `how` is as in ``ModelAgent``."""
        super().__init__(data, name, **how)
        self._made_of = data, name, dtype, how
        self.dtype = np.dtype(check_choice("dtype", dtype, _DTYPES))
        torch = import_library("torch", "train", name)
        with (
            blamed(f"agent: {quoted(name)} cannot be loaded", "save it with torch.jit.save"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # newer torch prefers torch.export
            self._module = torch.jit.load(io.BytesIO(data), map_location="cpu").eval()
        if self.rules is not None:
            self.check_rules(self.rules)

    def run(self, observations: Array) -> Any:
        """What its ``forward`` gives."""
        return _forward(self._module, observations)


def _forward(module: Any, observations: Array) -> Any:
    """The first output of a module, as an array."""
    import torch

    try:
        with torch.no_grad():
            given = module(torch.from_numpy(observations))
    except RuntimeError as error:  # that of TorchScript begins with pages of the program
        lines = str(error).strip().splitlines() or [""]
        raise RuntimeError(lines[-1]) from None
    if isinstance(given, tuple | list) and given:
        given = given[0]
    return given.numpy() if isinstance(given, torch.Tensor) else given


def agent_of_module(
    module: Any,
    seed: int | None = None,
    *,
    encoder: str | None = None,
    rules: str | Rules | None = None,
    greedy: bool = True,
    dtype: str = "float32",
) -> ModuleAgent:
    """The player that a module is now; further training does not change it.

    Args:
        module: a ``torch.nn.Module``, of TorchScript or not.
        seed: of its draws, where it is not greedy.
        encoder: what it sees.
        rules: the only rules that it plays; None: all that it fits.
        greedy: take the preferred action; False: draw from the softmax of its outputs.
        dtype: of the observations that it is given.

    Raises:
        HeartsError: if `encoder` is missing, or the module does not fit.
    """
    name = type(module).__name__
    if encoder is None:
        raise HeartsError(
            f"encoder: {name} does not say what it sees; state it, as in "
            'make_agent(module, encoder="flat")'
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gradients, which a player has no use for
        own = copy.deepcopy(module).cpu().eval()
    return ModuleAgent(own, name, dtype, encoder=encoder, rules=rules, greedy=greedy, seed=seed)


def load_torchscript(
    path: str | Path,
    seed: int | None = None,
    *,
    encoder: str | None = None,
    rules: str | None = None,
    greedy: bool = True,
    dtype: str = "float32",
    allow_code: bool = False,
) -> TorchScriptAgent:
    """The player of a file that ``torch.jit.save`` wrote.

    Args:
        path: the file.
        seed: of its draws, where it is not greedy.
        encoder: what its model sees.
        rules: the only rules that it plays; None: all that it fits.
        greedy: take the preferred action; False: draw from the softmax of its outputs.
        dtype: of the observations that it is given.
        allow_code: load it; it is not looked into without.

    Raises:
        HeartsError: if `allow_code` or `encoder` is missing, or the model does not fit.
        CheckpointError: if it is not such a file.
    """
    data = read_model(path)
    names = names_in_zip(data)
    if not any("/code/" in name for name in names):
        fix = "write it with torch.jit.trace(model, observations).save(path)"
        if any("data.pkl" in name for name in names):  # of torch.save
            fix = WEIGHTS_ALONE
        raise CheckpointError(f"agent: {quoted(str(path))} is not TorchScript; {fix}")
    check_code_allowed(path, _SCRIPT, allow_code=allow_code)
    return TorchScriptAgent(
        data, str(path), dtype, encoder=encoder, rules=rules, greedy=greedy, seed=seed
    )
