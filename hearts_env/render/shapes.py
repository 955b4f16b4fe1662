"""The few things a drawing is made of, and the four suits as outlines.

A drawing is a flat description in its own units (see `layout`); a backend knows how to draw a
`Rect`, a `Path` and a `Text`, and walks through a `Group`. Colours are ``"#rrggbb"``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Step: TypeAlias = tuple[float, ...]
"""A point (2 numbers: go straight there) or a cubic curve (6: two controls and its end)."""

Contour: TypeAlias = tuple[Step, ...]
"""A closed outline: the starting point, then steps. All turn clockwise, so unions just work."""

Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle with round corners; its stroke is centred on the edge."""

    x: float
    y: float
    w: float
    h: float
    radius: float = 0.0
    fill: str | None = None
    opacity: float = 1.0
    stroke: str | None = None
    stroke_width: float = 0.0


@dataclass(frozen=True, slots=True)
class Path:
    """A filled union of closed contours."""

    contours: tuple[Contour, ...]
    fill: str
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text on its baseline; upside down, it is turned half around ``(x, y)``."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Anchor = "start"
    bold: bool = False
    upside_down: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Items that belong together, such as the face of one card, with a kind and a name."""

    kind: str
    name: str
    items: tuple[Item, ...]


Item: TypeAlias = Rect | Path | Text | Group


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole drawing: the background is the same for every picture, so backends may keep it."""

    width: float
    height: float
    background: tuple[Item, ...]
    items: tuple[Item, ...]


def moved(contours: tuple[Contour, ...], x: float, y: float, size: float) -> tuple[Contour, ...]:
    """The contours scaled by `size` about the origin and moved to `(x, y)`.

    A negative size turns them half around.
    """
    return tuple(
        tuple(
            tuple(value * size + (x, y)[index % 2] for index, value in enumerate(step))
            for step in contour
        )
        for contour in contours
    )


def suit_path(suit: str, x: float, y: float, size: float, fill: str) -> Path:
    """The symbol of a suit, `size` high, centred at `(x, y)`; a negative size turns it around."""
    return Path(moved(_SUITS[suit], x, y, size), fill)


def lozenges(points: tuple[tuple[float, float], ...], w: float, h: float) -> tuple[Contour, ...]:
    """Small diamonds, `w` wide and `h` high, centred at the points."""
    return tuple(
        ((x, y - h / 2), (x + w / 2, y), (x, y + h / 2), (x - w / 2, y)) for x, y in points
    )


def rect_contour(x: float, y: float, w: float, h: float, radius: float) -> Contour:
    """The outline of a rectangle with round corners."""
    r = min(radius, w / 2, h / 2)
    k = r * (1 - _ROUND)
    right, bottom = x + w, y + h
    if r <= 0:
        return ((x, y), (right, y), (right, bottom), (x, bottom))
    return (
        (x + r, y),
        (right - r, y),
        (right - k, y, right, y + k, right, y + r),
        (right, bottom - r),
        (right, bottom - k, right - k, bottom, right - r, bottom),
        (x + r, bottom),
        (x + k, bottom, x, bottom - k, x, bottom - r),
        (x, y + r),
        (x, y + k, x + k, y, x + r, y),
    )


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a sans-serif text is; rather too much than too little."""
    em = sum(_NARROW if c in _THIN else _WIDE if c in _FAT else _USUAL for c in text)
    return em * size * (1.06 if bold else 1.0)


def fitted(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """The text, cut to about `width` with an ellipsis where it is longer."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(text + "…", size, bold=bold) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrapped(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """The text broken at spaces into lines of about `width`; a longer word is cut."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(fitted(word, size, width, bold=bold))
    return lines


# Widths in em, rounded up from Helvetica's and Aileron's tables.
_NARROW, _USUAL, _WIDE = 0.31, 0.58, 0.82
_THIN = frozenset("iljtfrI.,:;'|!() ·-")
_FAT = frozenset("mwMWOQGCDHNU@%…")

_ROUND = 4 / 3 * math.tan(math.pi / 8)
"""Control length of the cubic that best follows a quarter circle of radius 1."""


def _circle(x: float, y: float, r: float) -> Contour:
    return rect_contour(x - r, y - r, 2 * r, 2 * r, r)


# In a box from -0.5 to 0.5, y down.
_HEART: Contour = (
    (0.0, -0.27),
    (0.05, -0.39, 0.14, -0.46, 0.26, -0.46),
    (0.40, -0.46, 0.50, -0.35, 0.50, -0.20),
    (0.50, 0.08, 0.14, 0.24, 0.0, 0.49),
    (-0.14, 0.24, -0.50, 0.08, -0.50, -0.20),
    (-0.50, -0.35, -0.40, -0.46, -0.26, -0.46),
    (-0.14, -0.46, -0.05, -0.39, 0.0, -0.27),
)
_DIAMOND: Contour = (
    (0.0, -0.5),
    (0.10, -0.30, 0.23, -0.13, 0.38, 0.0),
    (0.23, 0.13, 0.10, 0.30, 0.0, 0.5),
    (-0.10, 0.30, -0.23, 0.13, -0.38, 0.0),
    (-0.23, -0.13, -0.10, -0.30, 0.0, -0.5),
)
_SPADE: Contour = (
    (0.0, -0.5),
    (0.14, -0.26, 0.47, -0.13, 0.47, 0.12),
    (0.47, 0.26, 0.37, 0.34, 0.25, 0.34),
    (0.16, 0.34, 0.08, 0.30, 0.04, 0.22),
    (-0.04, 0.22),
    (-0.08, 0.30, -0.16, 0.34, -0.25, 0.34),
    (-0.37, 0.34, -0.47, 0.26, -0.47, 0.12),
    (-0.47, -0.13, -0.14, -0.26, 0.0, -0.5),
)
_STEM: Contour = (
    (-0.03, 0.08),
    (0.03, 0.08),
    (0.04, 0.30, 0.08, 0.43, 0.20, 0.48),
    (-0.20, 0.48),
    (-0.08, 0.43, -0.04, 0.30, -0.03, 0.08),
)
_CLUB: tuple[Contour, ...] = (
    _circle(0.0, -0.25, 0.22),
    _circle(-0.26, 0.10, 0.22),
    _circle(0.26, 0.10, 0.22),
    ((0.0, -0.16), (0.20, 0.12), (-0.20, 0.12)),
    _STEM,
)
_SUITS: dict[str, tuple[Contour, ...]] = {
    "C": _CLUB,
    "D": (_DIAMOND,),
    "S": (_SPADE, _STEM),
    "H": (_HEART,),
}
