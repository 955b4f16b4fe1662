"""Users' own torch modules as policy networks.

They are named as code, ``my_net.py:MyNet``, and imported only if code is permitted.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from hearts_agents.models.network import Network, check_rows, some_positions
from hearts_agents.user_code import blamed, describe, find_class
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError

SETTING = "network.module"


class OwnNetwork(nn.Module):
    """A user's module in the form that the trainer calls: from observations to logits and values.

    Attributes:
        module: the user's module.
        keeps_state: True if a call in training changes the module or draws random numbers, so
            threads cannot share it. ``check_learning`` finds out.
    """

    def __init__(self, name: str, rules: Rules, encoder: Encoder) -> None:
        """Make the module as ``NAME(observation_shape, num_actions)``.

        Args:
            name: ``FILE.py:NAME`` or ``MODULE:NAME``.
            rules: the rules that it plays.
            encoder: the encoder of its observations.

        Raises:
            HeartsError: if code is not permitted, or the module cannot be made or saved.
        """
        super().__init__()
        self.name, self._num_actions = name, rules.num_actions
        factory = find_class(SETTING, name)
        self._positions, self._legal = some_positions(rules, encoder)
        self.keeps_state = False
        with self._blamed():
            self.module = factory(self._positions.shape[1:], self._num_actions).float()
            self._complete()
        for key, value in self.module.state_dict().items():
            if not isinstance(value, Tensor) or value.is_complex() or value.is_quantized:
                kind = getattr(value, "dtype", type(value).__name__)
                raise HeartsError(
                    f"{SETTING}: {name!r} has the state {key!r} of type {kind}, which a "
                    "checkpoint cannot hold; use tensors of real numbers"
                )

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, actions)`` and values ``(n,)``, float32, for ``(n, *shape)``."""
        logits, values = self.module(observations)
        return logits.float(), values.float().reshape(len(logits))

    def tensors(self) -> dict[str, Array]:
        """Return copies of the weights and buffers, by name in the module. Floats are float32."""
        return {
            name: (tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy().copy()
            for name, tensor in self.module.state_dict().items()
        }

    def _complete(self) -> None:
        """Make the weights and buffers that the module makes in its first call, such as a mask.

        A module that makes none is not called. Earlier buffers keep their values.
        """
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            rows = 2  # a batch norm takes no single row in training
            parts = itertools.chain(self.module.parameters(), self.module.buffers())
            if any(map(is_lazy, parts)):  # and cannot be copied
                self._try(self.module, rows)
            trial = copied(self.module)
            self._try(trial, rows)
            if _shapes_of(trial) != _shapes_of(self.module):
                buffers = buffers_of(self.module)
                self._try(self.module, rows)
                restore_buffers(self.module, buffers)
        for buffer in self.module.buffers():  # nothing can be copied to an expanded one
            buffer.data = buffer.contiguous()

    # -- checks ------------------------------------------------------------------------------------
    def check(self) -> None:
        """Try a copy of the module as a player, on one position and on several.

        Raises:
            HeartsError: if it fails, its outputs are not as required, or positions influence each
                other.
        """
        with torch.random.fork_rng(devices=[]), torch.no_grad(), self._blamed():
            trial = copied(self.module).eval()
            self._try(trial, 1)
            self._try(trial)
            self._check_rows(trial)
            zeros = [one for one in trial.parameters() if one.is_floating_point() and not one.any()]
            for weights in zeros:  # they hide what is before them
                weights.data = 0.1 * torch.rand_like(weights)
            if zeros and self._works(trial):
                self._check_rows(trial)

    def _works(self, module: nn.Module) -> bool:
        try:
            self._try(module)
        except Exception:  # of many types
            return False
        return True

    def _check_rows(self, module: nn.Module) -> None:
        """Raise if the outputs of a module for a position depend on the other positions."""

        def weigh(observations: Array, _: Array) -> Array:
            given = torch.from_numpy(observations).float()
            logits, values = module(given)
            found: Array = torch.cat([logits, values.reshape(len(given), 1)], 1).numpy()
            return found

        legal = np.pad(self._legal, [(0, 0), (0, 1)], constant_values=True)  # and the value
        check_rows(SETTING, self.name, weigh, self._positions, legal)

    def check_learning(self) -> None:
        """Try a copy of the module as the trainer uses it, with gradients.

        Raises:
            HeartsError: if it fails, or cannot be saved because a buffer changes its shape.
        """
        with torch.random.fork_rng(devices=[]), self._blamed():
            trial = copied(self.module)
            learning = [weights for weights in trial.parameters() if weights.requires_grad]
            before, random = _state_of(trial), torch.get_rng_state()
            logits, values = self._try(trial)
            after = _state_of(trial)
            if learning:
                torch.autograd.grad(logits.sum() + values.sum(), learning, allow_unused=True)
            is_same = len(before) == len(after) and all(
                one is two and version == number
                for (one, version), (two, number) in zip(before, after, strict=True)
            )
            self.keeps_state = not (is_same and torch.equal(random, torch.get_rng_state()))
        saved = self.module.state_dict()
        for key, value in trial.state_dict().items():
            if key not in saved or saved[key].shape != value.shape:
                raise HeartsError(
                    f"{SETTING}: {self.name!r} changes the shape of its buffer {key!r}, so a "
                    "checkpoint cannot hold it; register it with persistent=False"
                )

    def _blamed(self) -> contextlib.AbstractContextManager[None]:
        shape = ", ".join(map(str, ("n", *self._positions.shape[1:])))
        return blamed(
            f"{SETTING}: {self.name!r} fails",
            "it is made as NAME(observation_shape, num_actions), and called with float32 tensors "
            f"({shape}) for any n",
        )

    def _try(self, module: nn.Module, rows: int | None = None) -> tuple[Tensor, Tensor]:
        """Return the outputs of a module for some positions. Raise if they are not as required."""
        observations = torch.from_numpy(self._positions[:rows].copy()).float()
        n, actions = len(observations), self._num_actions
        found: Any = nn.Module.__call__(module, observations)
        parts = found if isinstance(found, tuple | list) else ()
        shapes = [getattr(part, "shape", None) for part in parts]
        if shapes not in ([(n, actions), (n,)], [(n, actions), (n, 1)]):
            raise HeartsError(
                f"{SETTING}: {self.name!r} does not return logits (n, {actions}) and values (n,) "
                f"for n={n} observations; correct its forward"
            )
        if any(bool(part.isnan().any()) for part in parts):
            raise HeartsError(f"{SETTING}: {self.name!r} returns NaN; correct its forward")
        logits, values = parts
        return logits, values

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnNetwork:
        """Copy the module, with the tensors that it keeps from its last call."""
        twin = OwnNetwork.__new__(OwnNetwork)
        memo[id(self)] = twin
        vars(twin).update(copied(vars(self), memo))
        return twin


class ModulePolicy(Network):
    """The policy of an `OwnNetwork`, with weights from a player's file."""

    def __init__(
        self,
        name: str,
        rules: Rules,
        encoder: Encoder,
        tensors: Mapping[str, Array] | None = None,
    ) -> None:
        """Make the ``OwnNetwork``. If `tensors` is None, it keeps its initial weights."""
        self._own = OwnNetwork(name, rules, encoder)
        self._shape = encoder.space(rules).shape
        self.activation, self.layers = "", []
        self.sizes = (int(np.prod(self._shape)), rules.num_actions)
        if tensors is not None:
            given = {key: torch.from_numpy(array.copy()) for key, array in tensors.items()}
            with blamed(f"{SETTING}: the weights do not fit {name!r}", "name the code of the run"):
                self._own.module.load_state_dict(given)
        self._own.check()
        self._own.eval()

    def tensors(self) -> dict[str, Array]:
        """Return the weights by name in a file."""
        return self._own.tensors()

    def logits(self, observations: Array) -> Array:
        """Return the logits of the actions, ``(n, *shape) -> (n, actions) float32``."""
        given = torch.from_numpy(observations).reshape(-1, *self._shape)
        with torch.inference_mode(), blaming_module():
            # A copy, because the module may write to its input.
            logits: Array = self._own(given.to(torch.float32, copy=True))[0].numpy()
        if np.isnan(logits).any():
            raise HeartsError(
                f"{SETTING}: {self._own.name!r} gives NaN; correct it, or train it again"
            )
        return logits


@contextlib.contextmanager
def blaming_module() -> Iterator[None]:
    """Turn exceptions of a user's module, and of nothing else, into a ``HeartsError``."""
    try:
        yield
    except HeartsError:
        raise
    except Exception as error:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code is OwnNetwork.forward.__code__:
                name, rows = frame.f_locals["self"].name, len(frame.f_locals["observations"])
                raise HeartsError(
                    f"{SETTING}: {name!r} fails on {rows} observations ({describe(error)}); "
                    "correct its forward, which must take any number of them"
                ) from None
        raise


def copied(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """Return a deep copy of a module.

    Tensors that it keeps from its last call may belong to a gradient. torch refuses to copy those,
    so their copies are detached.
    """
    with _Detaching():
        return copy.deepcopy(value, memo)


class _Detaching(TorchFunctionMode):
    """Detaches copies of tensors that belong to a gradient."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__deepcopy__ and not args[0].is_leaf:
            tensor, memo = args
            return memo.setdefault(id(tensor), tensor.detach().clone())
        return func(*args, **(kwargs or {}))


def buffers_of(module: nn.Module) -> dict[str, Tensor]:
    """Return copies of the buffers, such as the statistics of a batch norm, by name."""
    return {name: buffer.clone() for name, buffer in module.named_buffers()}


def restore_buffers(module: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Copy values to the buffers of the same name and shape.

    Other buffers do not change. A call has made them, such as a mask for a number of rows.
    """
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            if name in values and values[name].shape == buffer.shape:
                buffer.copy_(values[name])


def _shapes_of(module: nn.Module) -> dict[str, torch.Size]:
    """Return the shapes of weights and buffers, by name."""
    parts = itertools.chain(module.named_parameters(), module.named_buffers())
    return {name: part.shape for name, part in parts}


def _state_of(module: nn.Module) -> list[tuple[Any, int]]:
    """Return everything that a call may change in a module: its attributes and their items.

    Each comes with the version of its tensor, which changes if the tensor does.
    """
    found: list[Any] = []
    for part in module.modules():
        for value in vars(part).values():
            items = value.values() if isinstance(value, dict) else value
            found += [value, *(items if isinstance(value, dict | list | tuple | set) else ())]
    return [(one, one._version if isinstance(one, Tensor) else 0) for one in found]
