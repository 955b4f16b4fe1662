"""The form of observations in all environments: their dtype and the place of the mask."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env.encoders import Encoder, make_encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_choice
from hearts_env.support.errors import HeartsError, quoted

DTYPES = ("int8", "float32", "float16")
MASKS = ("both", "observation", "info")

Observation: TypeAlias = dict[str, NDArray[Any]] | NDArray[Any]
"""``{"observation": ..., "action_mask": ...}``, or the array alone."""
DType: TypeAlias = str | type[np.generic] | np.dtype[Any] | None
"""One of ``DTYPES``, by name or as a NumPy type. If None, the encoder's own dtype."""


class ObservationFormat:
    """Joins an encoder's array and a mask to an observation.

    ``float32`` and ``float16`` hold the encoder's numbers, which float16 may round. ``int8`` is
    rejected if the encoder writes another dtype.

    Attributes:
        encoder: the encoder.
        dtype: the dtype of observations.
        own_dtype: the dtype that the encoder writes.
        box: the space of one array, without its mask.
        mask_in_observation: True if observations have masks.
        mask_in_info: True if infos have masks.
        num_actions: the size of the action space.
    """

    def __init__(
        self, rules: Rules, observation: str | Encoder, dtype: DType, action_mask: str
    ) -> None:
        """Check the form of an environment's observations.

        Args:
            rules: the rules.
            observation: an encoder or its name.
            dtype: the dtype of the array. If None, the encoder's own.
            action_mask: the place of the mask, one of ``MASKS``. Under ``info`` an observation is
                the array alone, else a dictionary of the array and the mask.

        Raises:
            HeartsError: if an argument is unknown, or the encoder does not support the dtype.
        """
        self.encoder = make_encoder(observation)
        own = self.encoder.space(rules)
        if not isinstance(own, spaces.Box):
            raise HeartsError(
                f"observation: {type(self.encoder).__name__}.space(rules) gives {quoted(own)}; it "
                "must give a gymnasium.spaces.Box"
            )
        self.own_dtype = own.dtype
        self.dtype = own.dtype if dtype is None else _check_dtype(dtype, own.dtype)
        self.box = own
        self._casts = self.dtype != own.dtype
        if self._casts:
            with np.errstate(over="ignore"):  # a bound may become infinite
                low, high = own.low.astype(self.dtype), own.high.astype(self.dtype)
            self.box = spaces.Box(low, high, own.shape, self.dtype.type)
        place = check_choice("action_mask", action_mask, MASKS)
        self.mask_in_observation, self.mask_in_info = place != "info", place != "observation"
        self.num_actions = rules.num_actions

    def space(self, num_actions: int | None = None) -> spaces.Dict | spaces.Box:
        """Return the space of one observation, with a mask of `num_actions` if that is given."""
        if not self.mask_in_observation:
            return self.box
        n = self.num_actions if num_actions is None else num_actions
        return spaces.Dict(observation=self.box, action_mask=spaces.Box(0, 1, (n,), np.int8))

    def empty(self, number: int) -> NDArray[Any]:
        """Return an uninitialised array for `number` observations, without masks."""
        return np.empty((number, *self.box.shape), self.dtype)

    def join(self, array: NDArray[Any], mask: NDArray[np.int8]) -> Observation:
        """Return one observation, or a batch, of an encoder's array and masks."""
        if self._casts and array.dtype != self.dtype:
            array = array.astype(self.dtype)
        return {"observation": array, "action_mask": mask} if self.mask_in_observation else array

    def split(self, observations: Observation) -> list[Observation]:
        """Split a batch into a list of observations."""
        if not isinstance(observations, dict):
            return list(observations)
        rows = zip(*observations.values(), strict=True)
        return [dict(zip(observations, row, strict=True)) for row in rows]


def _check_dtype(dtype: DType, own: np.dtype[Any]) -> np.dtype[Any]:
    """Return `dtype` as a NumPy dtype. Raise unless it can hold numbers of `own`."""
    kind = dtype.type if isinstance(dtype, np.dtype) else dtype
    if isinstance(kind, type):  # np.float32 or np.dtype("float32")
        dtype = next((n for n in (own.name, *DTYPES) if np.dtype(n).type is kind), dtype)
    if isinstance(dtype, str) and dtype == own.name:
        return own
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise HeartsError(
            f"dtype: {quoted(dtype)} is unknown; give one of {', '.join(DTYPES)}, or None for the "
            "encoder's own"
        )
    if dtype == "int8":
        raise HeartsError(
            f"dtype: 'int8', but this observation is {own}, which int8 cannot hold; give float32, "
            "float16, or None for the encoder's own dtype"
        )
    return np.dtype(dtype)
