"""Drawing the card table: as text, as SVG, as pixels, in a window.

Everything is drawn from a `TablePicture`, which holds what one viewer may know. Nothing is
imported before it is used: Pillow with `render_rgb`, pygame with `Window`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hearts_env.render.ansi import render_ansi
    from hearts_env.render.pixels import Window, render_rgb
    from hearts_env.render.scene import SeatPicture, TablePicture
    from hearts_env.render.svg import render_svg

__all__ = [
    "SeatPicture",
    "TablePicture",
    "Window",
    "render_ansi",
    "render_rgb",
    "render_svg",
]

_HOMES = {
    "SeatPicture": "scene",
    "TablePicture": "scene",
    "Window": "pixels",
    "render_ansi": "ansi",
    "render_rgb": "pixels",
    "render_svg": "svg",
}


def __getattr__(name: str) -> object:
    """Imports a public name from its module on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
