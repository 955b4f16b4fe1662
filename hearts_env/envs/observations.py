"""How environments hand out observations: their dtype, and where the mask is.

One home for all of them: PettingZoo's, Gymnasium's and stable-baselines3's, single and many.
"""

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
"""One of ``DTYPES`` by its name or as NumPy has it; None: the encoder's own."""


class ObservationFormat:
    """What an environment makes of an encoder's array and of a mask.

    The dtype is the encoder's own (int8; of ``text`` uint8)
    unless another is given. ``float32`` and ``float16`` are the same numbers, which float16 rounds;
    ``int8`` is refused where the encoder's numbers are of another kind.

    Attributes:
        encoder: what writes the arrays.
        dtype: of the arrays, and ``own_dtype`` as the encoder writes them.
        box: the space of one array.
        mask_in_observation: whether observations have masks.
        mask_in_info: whether infos have masks.
        num_actions: of the rules.
    """

    def __init__(
        self, rules: Rules, observation: str | Encoder, dtype: DType, action_mask: str
    ) -> None:
        """The observations of one environment.

        Args:
            rules: what is played.
            observation: an encoder or its name.
            dtype: of the array, where it is not to be the encoder's own.
            action_mask: where the mask is, one of ``MASKS``. ``info``: the observation is the array
                alone; otherwise it is a dictionary of array and mask.

        Raises:
            HeartsError: if one of them is unknown, or the encoder cannot write this dtype.
        """
        self.encoder = make_encoder(observation)
        own = self.encoder.space(rules)
        if not isinstance(own, spaces.Box):
            raise HeartsError(
                f"observation: {type(self.encoder).__name__}.space(rules) gives {quoted(own)}; it "
                "must give a gymnasium.spaces.Box",
                value=own,
            )
        self.own_dtype = own.dtype
        self.dtype = own.dtype if dtype is None else _check_dtype(dtype, own.dtype)
        self.box = own
        self._casts = self.dtype != own.dtype
        if self._casts:
            with np.errstate(over="ignore"):  # then the bound is infinite
                low, high = own.low.astype(self.dtype), own.high.astype(self.dtype)
            self.box = spaces.Box(low, high, own.shape, self.dtype.type)
        place = check_choice("action_mask", action_mask, MASKS)
        self.mask_in_observation, self.mask_in_info = place != "info", place != "observation"
        self.num_actions = rules.num_actions

    def space(self, num_actions: int | None = None) -> spaces.Dict | spaces.Box:
        """The space of one observation; `num_actions`: more than the rules have."""
        if not self.mask_in_observation:
            return self.box
        n = self.num_actions if num_actions is None else num_actions
        return spaces.Dict(observation=self.box, action_mask=spaces.Box(0, 1, (n,), np.int8))

    def empty(self, number: int) -> NDArray[Any]:
        """A new array for `number` observations, their masks apart."""
        return np.empty((number, *self.box.shape), self.dtype)

    def join(self, array: NDArray[Any], mask: NDArray[np.int8]) -> Observation:
        """The observation of an encoder's array, or of many, and their masks."""
        if self._casts and array.dtype != self.dtype:
            array = array.astype(self.dtype)
        return {"observation": array, "action_mask": mask} if self.mask_in_observation else array

    def split(self, observations: Observation) -> list[Observation]:
        """Many observations, one by one."""
        if not isinstance(observations, dict):
            return list(observations)
        rows = zip(*observations.values(), strict=True)
        return [dict(zip(observations, row, strict=True)) for row in rows]


def _check_dtype(dtype: DType, own: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, which an encoder whose own is `own` can be shown in."""
    kind = dtype.type if isinstance(dtype, np.dtype) else dtype
    if isinstance(kind, type):  # np.float32 or np.dtype("float32")
        dtype = next((n for n in (own.name, *DTYPES) if np.dtype(n).type is kind), dtype)
    if isinstance(dtype, str) and dtype == own.name:
        return own
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise HeartsError(
            f"dtype: {quoted(dtype)} is unknown; give one of {', '.join(DTYPES)}, or None for the "
            "encoder's own",
            value=dtype,
        )
    if dtype == "int8":
        raise HeartsError(
            f"dtype: 'int8', but this observation is {own}, which int8 cannot hold; give float32, "
            "float16, or None for its own"
        )
    return np.dtype(dtype)
