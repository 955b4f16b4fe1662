"""``bits``: ``flat`` with eight places in a byte, for buffers and for memory that has far to go."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from hearts_env.encoders.flat import FlatEncoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError


class BitsEncoder(FlatEncoder):
    """The bits of ``flat`` as ``(ceil(size / 8),) uint8``, in the order of ``np.packbits``."""

    name = "bits"
    _is_packed = True

    def space(self, rules: Rules) -> spaces.Box:
        """``(ceil(size / 8),) uint8``; the bits that the last byte has too many are 0."""
        return spaces.Box(0, 255, (-(-self.size(rules) // 8),), np.uint8)

    def unpack(self, rules: Rules, observations: Array) -> Array:
        """The observations as ``flat`` has them: ``(..., bytes) uint8 -> (..., size) int8``.

        Raises:
            HeartsError: if they are not of uint8, or not as many bytes as these rules need.
        """
        size = self.size(rules)
        given, needed = np.asarray(observations), -(-size // 8)
        if given.dtype != np.uint8 or given.shape[-1:] != (needed,):
            raise HeartsError(
                f"observations: shape {given.shape} and dtype {given.dtype}; needed are {needed} "
                "bytes each, dtype uint8"
            )
        return np.unpackbits(given, axis=-1, count=size).view(np.int8)

    def decode(self, rules: Rules, observation: Array) -> dict[str, int]:
        """Every block of an observation as a bit mask, by name."""
        return super().decode(rules, self.unpack(rules, observation))
