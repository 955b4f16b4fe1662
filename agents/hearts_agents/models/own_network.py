"""Users' own torch modules as policy networks.

They are named as code, ``my_net.py:MyNet``, and imported only if code is permitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hearts_agents.models.network import Network
from hearts_agents.user_code import blamed, find_class
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError

SETTING = "network.module"


class OwnNetwork(nn.Module):
    """A user's module, as the trainer calls it: from observations to logits and values."""

    def __init__(self, name: str, shape: tuple[int, ...], num_actions: int) -> None:
        """Make the module as ``NAME(shape, num_actions)``, and try it on two observations.

        Args:
            name: ``FILE.py:NAME`` or ``MODULE:NAME``.
            shape: the shape of an observation.
            num_actions: the number of logits.

        Raises:
            HeartsError: if code is not permitted, or the module has other outputs.
        """
        super().__init__()
        factory = find_class(SETTING, name)
        fix = "it is made as NAME(observation_shape, num_actions), and called with float32 tensors"
        with blamed(f"{SETTING}: {name!r} fails", fix):
            self.module = factory(shape, num_actions).float()
            found: Any = nn.Module.__call__(self.module, torch.zeros(2, *shape))
        parts = found if isinstance(found, tuple | list) else ()
        shapes = [getattr(part, "shape", None) for part in parts]
        if shapes not in ([(2, num_actions), (2,)], [(2, num_actions), (2, 1)]):
            raise HeartsError(
                f"{SETTING}: {name!r} does not return logits (n, {num_actions}) and values (n,) "
                "for n observations; correct its forward"
            )
        if any(bool(part.isnan().any()) for part in parts):
            raise HeartsError(f"{SETTING}: {name!r} returns NaN for zeros; correct its forward")

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, actions)`` and values ``(n,)``, float32, for ``(n, *shape)``."""
        logits, values = self.module(observations)
        return logits.float(), values.float().reshape(len(logits))

    def tensors(self) -> dict[str, Array]:
        """Return float32 copies of the weights, by name in the module."""
        return {
            name: tensor.detach().cpu().float().numpy().copy()
            for name, tensor in self.module.state_dict().items()
        }


class ModulePolicy(Network):
    """The policy of an `OwnNetwork`, with weights from a player's file."""

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        num_actions: int,
        tensors: Mapping[str, Array] | None = None,
    ) -> None:
        """Make the ``OwnNetwork``. If `tensors` is None, it keeps its initial weights."""
        self._own = OwnNetwork(name, shape, num_actions)
        self._name, self._shape = name, shape
        self.activation, self.layers = "", []
        self.sizes = (int(np.prod(shape)), num_actions)
        if tensors is not None:
            given = {key: torch.from_numpy(array.copy()) for key, array in tensors.items()}
            with blamed(f"{SETTING}: the weights do not fit {name!r}", "name the code of the run"):
                self._own.module.load_state_dict(given)
        self._own.eval()

    def tensors(self) -> dict[str, Array]:
        """Return the weights by name in a file."""
        return self._own.tensors()

    def logits(self, observations: Array) -> Array:
        """Return the logits of the actions, ``(n, *shape) -> (n, actions) float32``."""
        with torch.inference_mode():
            given = torch.from_numpy(observations).reshape(-1, *self._shape).float()
            logits: Array = self._own(given)[0].numpy()
        if np.isnan(logits).any():
            raise HeartsError(f"{SETTING}: {self._name!r} gives NaN; correct it, or train it again")
        return logits
