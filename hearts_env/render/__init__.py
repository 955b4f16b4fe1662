"""Drawings of the card table: as text, as SVG, as pixels and in a window.

Every renderer draws a `TablePicture`, which holds only what one viewer may know. Libraries are
imported on first use: Pillow by `render_rgb`, pygame by `Window`.
"""

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
