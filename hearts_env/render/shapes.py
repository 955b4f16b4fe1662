"""The parts of a drawing: a few shapes, the four suits as outlines, and playing cards.

Units are those of `layout`. A backend draws a `Rect`, a `Path` and a `Text`, and descends into a
`Group`. Colours are ``"#rrggbb"``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Literal, TypeAlias

Step: TypeAlias = tuple[float, ...]
"""A straight line to a point (2 numbers), or a cubic curve (6: two controls and the end)."""

Contour: TypeAlias = tuple[Step, ...]
"""A closed outline: the starting point, then steps, clockwise, so a union is just a list."""

Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle with round corners. Its stroke is centred on the edge."""

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
    """One line of text on its baseline. If upside down, it is turned by 180 degrees."""

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
    """Items that belong together, such as the face of one card, with a kind and a name.

    The origin of the items lies at ``(x, y)``.
    """

    kind: str
    name: str
    items: tuple[Item, ...]
    x: float = 0.0
    y: float = 0.0

    def at(self, x: float, y: float) -> Group:
        """Return the same group with its origin at `(x, y)`."""
        return Group(self.kind, self.name, self.items, x, y)


Item: TypeAlias = Rect | Path | Text | Group


def moved(contours: tuple[Contour, ...], x: float, y: float, size: float) -> tuple[Contour, ...]:
    """Return the contours scaled by `size` about the origin and moved to `(x, y)`.

    A negative size rotates them by 180 degrees.
    """
    return tuple(
        tuple(
            tuple(value * size + (x, y)[index % 2] for index, value in enumerate(step))
            for step in contour
        )
        for contour in contours
    )


def suit_path(suit: str, x: float, y: float, size: float, fill: str) -> Path:
    """Return a suit's symbol, `size` high, centred at `(x, y)`. A negative size turns it around."""
    return Path(moved(_SUITS[suit], x, y, size), fill)


def lozenges(points: tuple[tuple[float, float], ...], w: float, h: float) -> tuple[Contour, ...]:
    """Return small diamonds, `w` wide and `h` high, centred at the points."""
    return tuple(
        ((x, y - h / 2), (x + w / 2, y), (x, y + h / 2), (x - w / 2, y)) for x, y in points
    )


def rect_contour(x: float, y: float, w: float, h: float, radius: float) -> Contour:
    """Return the outline of a rectangle with round corners."""
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
    """Estimate the width of a sans-serif text, usually a little too large."""
    em = sum(_NARROW if c in _THIN else _WIDE if c in _FAT else _USUAL for c in text)
    return em * size * (1.06 if bold else 1.0)


def fitted(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """Return the text, cut to about `width` with an ellipsis if it is longer."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(text + "…", size, bold=bold) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrapped(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """Return the text broken at spaces into lines of about `width`. Longer words are cut."""
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


# ---- cards: faces, backs, and the small chips used in lists --------------------------------------
INK = {"C": "#1b2126", "D": "#c8202f", "S": "#1b2126", "H": "#c8202f"}
PAPER = "#fdfcf7"
EDGE = "#b9b5a8"
COURT_PAPER = "#fbf0d3"
COURT_EDGE = "#d9b45f"
BACK = "#27457f"
BACK_LIGHT = "#5f7fbd"
BACK_EDGE = "#e9edf5"
GOLD = "#ffd24a"
SKY = "#58b4f5"

HEIGHT = 1.42
"""Height of a card of width 1."""

CHIP_W, CHIP_H = 29.0, 17.0


class Look(Enum):
    """How a card in a hand stands out."""

    PLAIN = "plain"
    LEGAL = "legal"
    DIMMED = "dimmed"
    CHOSEN = "chosen"
    """Given away in the exchange, and still in the hand."""


_OUTLINE = {Look.LEGAL: GOLD, Look.CHOSEN: SKY}


def rank_text(card: str) -> str:
    """Return the rank as printed on a card: ``T`` reads 10."""
    return "10" if card[0] == "T" else card[0]


@lru_cache(maxsize=1024)
def card_face(
    card: str,
    w: float,
    look: Look = Look.PLAIN,
    ink: str | None = None,
    *,
    centre: bool = True,
) -> Group:
    """Return an open card, `w` wide. Its upper left corner is the origin.

    Args:
        card: its name.
        w: its width.
        look: how it stands out.
        ink: the colour of its symbols. If None, the colour of the suit.
        centre: if False, the middle is left empty for another picture.
    """
    ink, h, wide = ink or INK[card[1]], w * HEIGHT, card[0] == "T"
    items: list[Item] = [*_blank(w, PAPER, EDGE)]
    if centre:
        items += _centre(card, w, ink)
    for sign, x, y in ((1, 0.0, 0.0), (-1, w, h)):
        rank = Text(
            x + sign * 0.15 * w,
            y + sign * 0.30 * w,
            rank_text(card),
            (0.25 if wide else 0.29) * w,
            ink,
            anchor="middle",
            bold=True,
            upside_down=sign < 0,
        )
        suit = suit_path(card[1], x + sign * 0.15 * w, y + sign * 0.46 * w, sign * 0.2 * w, ink)
        items += [rank, suit]
    radius = 0.09 * w
    if look is Look.DIMMED:
        items.append(Rect(0, 0, w, h, radius, fill="#0b2a1c", opacity=0.34))
    elif look in _OUTLINE:
        items.append(Rect(0, 0, w, h, radius, stroke=_OUTLINE[look], stroke_width=0.045 * w))
    return Group("card", card, tuple(items))


@lru_cache(maxsize=64)
def card_back(w: float) -> Group:
    """Return a closed card, `w` wide. Its upper left corner is the origin."""
    h, rim = w * HEIGHT, 0.07 * w
    columns, rows = 4, 6
    cell_w, cell_h = (w - 2.6 * rim) / columns, (h - 2.6 * rim) / rows
    points = tuple(
        (1.3 * rim + (column + 0.5) * cell_w, 1.3 * rim + (row + 0.5) * cell_h)
        for row in range(rows)
        for column in range(columns)
    )
    pattern = Path(lozenges(points, 0.72 * cell_w, 0.78 * cell_h), BACK_LIGHT)
    inner = Rect(rim, rim, w - 2 * rim, h - 2 * rim, 0.06 * w, fill=BACK)
    return Group("back", "", (*_blank(w, BACK_EDGE, "#8d98ad"), inner, pattern))


@lru_cache(maxsize=64)
def card_chip(card: str) -> Group:
    """Return a card for a list: a small label such as Q♠, `CHIP_W` by `CHIP_H`."""
    ink, middle, wide = INK[card[1]], CHIP_H / 2, card[0] == "T"
    rank = Text(
        9.0 if wide else 9.5,
        middle + 4.2,
        rank_text(card),
        11.0 if wide else 12.0,
        ink,
        anchor="middle",
        bold=True,
    )
    paper = Rect(0, 0, CHIP_W, CHIP_H, 3.5, fill=PAPER)
    return Group("chip", card, (paper, rank, suit_path(card[1], 22.0, middle, 9.5, ink)))


def _blank(w: float, fill: str, edge: str) -> tuple[Item, ...]:
    """Return a card's paper and its soft shadow."""
    h, radius = w * HEIGHT, 0.09 * w
    return (
        Rect(-0.01 * w, 0.01 * w, w * 1.03, h * 1.02, radius, fill="#000000", opacity=0.2),
        Rect(0, 0, w, h, radius, fill=fill, stroke=edge, stroke_width=max(0.6, 0.012 * w)),
    )


def _centre(card: str, w: float, ink: str) -> tuple[Item, ...]:
    """Return the middle of a face: a panel with the letter for courts, else the suit."""
    x, y = w / 2, w * HEIGHT / 2
    if card[0] not in "JQK":
        return (suit_path(card[1], x, y, (0.62 if card[0] == "A" else 0.46) * w, ink),)
    panel_w, panel_h = 0.40 * w, 0.98 * w
    panel = Rect(
        x - panel_w / 2,
        y - panel_h / 2,
        panel_w,
        panel_h,
        0.05 * w,
        fill=COURT_PAPER,
        stroke=COURT_EDGE,
        stroke_width=0.018 * w,
    )
    letter = Text(x, y + 0.02 * w, card[0], 0.44 * w, ink, "middle", bold=True)
    return (panel, letter, suit_path(card[1], x, y + 0.24 * w, 0.28 * w, ink))
