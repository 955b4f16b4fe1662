"""Libraries that only drawing needs, imported when they are used."""

from __future__ import annotations

import importlib
from types import ModuleType

from hearts_env.support.errors import needs


def require(module: str, library: str, what: str) -> ModuleType:
    """Imports a module of the ``render`` extra.

    Args:
        module: The module's import name, e.g. ``"PIL.Image"``.
        library: The library's name for people, e.g. ``"Pillow"``.
        what: What needs it, at the start of the message, e.g. ``"Drawing pixels"``.

    Raises:
        ImportError: The library is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} {needs('render')} ({library} is missing)", name=module
        ) from error
