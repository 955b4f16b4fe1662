"""``bits``: ``flat`` with eight places in a byte, for buffers and for memory that has far to go."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from hearts_env.arrays import Array
from hearts_env.encoders.flat import FlatEncoder
from hearts_env.rules import Rules


class BitsEncoder(FlatEncoder):
    """The bits of ``flat`` as ``(ceil(size / 8),) uint8``, in the order of ``np.packbits``."""

    name = "bits"
    _dtype = np.dtype(np.uint8)

    def space(self, rules: Rules) -> spaces.Box:
        """``(ceil(size / 8),) uint8``; the bits that the last byte has too many are 0."""
        return spaces.Box(0, 255, (-(-self.size(rules) // 8),), np.uint8)

    def unpack(self, rules: Rules, observations: Array) -> Array:
        """The observations as ``flat`` has them: ``(..., bytes) uint8 -> (..., size) int8``."""
        bits = np.unpackbits(np.asarray(observations), axis=-1, count=self.size(rules))
        return bits.view(np.int8)

    def decode(self, rules: Rules, observation: Array) -> dict[str, int]:
        """Every block of an observation as a bit mask, by name."""
        return super().decode(rules, self.unpack(rules, observation))
