"""Policy networks that are a user's own torch module.

They are named as code, ``my_net.py:MyNet``, and imported only where files may run code.
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
    """A user's module, from observations to logits and values, as the trainer calls it."""

    def __init__(self, name: str, shape: tuple[int, ...], num_actions: int) -> None:
        """Make the module as ``NAME(shape, num_actions)``, and try it.

        Args:
            name: ``FILE.py:NAME`` or ``MODULE:NAME``.
            shape: of an observation.
            num_actions: how many logits it gives.

        Raises:
            HeartsError: if code may not run, or this is no such module.
        """
        super().__init__()
        factory = find_class(SETTING, name)
        fix = "it is made as NAME(observation_shape, num_actions), and called with float32 tensors"
        with blamed(f"{SETTING}: {name!r} fails", fix, value=name):
            self.module = factory(shape, num_actions)
            found: Any = nn.Module.__call__(self.module, torch.zeros(2, *shape))
        parts = found if isinstance(found, tuple | list) else ()
        shapes = [getattr(part, "shape", None) for part in parts]
        if shapes not in ([(2, num_actions), (2,)], [(2, num_actions), (2, 1)]):
            raise HeartsError(
                f"{SETTING}: {name!r} does not return logits (n, {num_actions}) and values (n,) "
                "of n observations; correct its forward",
                value=name,
            )

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits ``(n, actions)`` and values ``(n,)``, float32, of ``(n, *shape)`` observations."""
        logits, values = self.module(observations)
        return logits.float(), values.float().reshape(len(logits))

    def tensors(self) -> dict[str, Array]:
        """Return copies of the weights under their names in the module, float32."""
        return {
            name: tensor.detach().cpu().float().numpy().copy()
            for name, tensor in self.module.state_dict().items()
        }


class ModulePolicy(Network):
    """The policy of an `OwnNetwork` with weights from a player's file."""

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        num_actions: int,
        tensors: Mapping[str, Array] | None = None,
    ) -> None:
        """As of ``OwnNetwork``; `tensors` are its weights. If None, they are as it makes them."""
        self._own = OwnNetwork(name, shape, num_actions)
        self._shape = shape
        self.activation, self.layers = "", []
        self.sizes = (int(np.prod(shape)), num_actions)
        if tensors is not None:
            given = {key: torch.from_numpy(array.copy()) for key, array in tensors.items()}
            with blamed(f"{SETTING}: the weights do not fit {name!r}", "name the code of the run"):
                self._own.module.load_state_dict(given)
        self._own.eval()

    def tensors(self) -> dict[str, Array]:
        """Return the weights under their names in a file."""
        return self._own.tensors()

    def logits(self, observations: Array) -> Array:
        """Return the logits of the actions, ``(n, *shape) -> (n, actions) float32``."""
        with torch.inference_mode():
            given = torch.from_numpy(observations).reshape(-1, *self._shape).float()
            logits: Array = self._own(given)[0].numpy()
        return logits
