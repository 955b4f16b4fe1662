"""Copies of what is in the middle of something."""

import copy
from typing import TypeVar

T = TypeVar("T")


def deep_copy(self: T) -> T:
    """A copy that shares nothing: as ``__copy__`` of whatever a shallow copy would play on in."""
    return copy.deepcopy(self)
