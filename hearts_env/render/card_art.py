"""Playing cards as groups of shapes: faces, backs, and the small chips used in lists."""

from __future__ import annotations

from enum import Enum

from hearts_env.render.shapes import Group, Item, Path, Rect, Text, lozenges, suit_path

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
    """The rank as it is printed on a card: ``T`` reads 10."""
    return "10" if card[0] == "T" else card[0]


def card_face(
    card: str, x: float, y: float, w: float, look: Look = Look.PLAIN, ink: str | None = None
) -> Group:
    """An open card, `w` wide, with its upper left corner at `(x, y)`; `ink` if not the suit's."""
    ink, h = ink or INK[card[1]], w * HEIGHT
    items: list[Item] = [*_blank(x, y, w, PAPER, EDGE), *_centre(card, x, y, w, ink)]
    for sign, corner_x, corner_y in ((1, x, y), (-1, x + w, y + h)):
        items.append(
            Text(
                corner_x + sign * 0.18 * w,
                corner_y + sign * 0.30 * w,
                rank_text(card),
                (0.26 if card[0] == "T" else 0.29) * w,
                ink,
                anchor="middle",
                bold=True,
                upside_down=sign < 0,
            )
        )
        items.append(
            suit_path(
                card[1],
                corner_x + sign * 0.18 * w,
                corner_y + sign * 0.47 * w,
                sign * 0.22 * w,
                ink,
            )
        )
    radius = 0.09 * w
    if look is Look.DIMMED:
        items.append(Rect(x, y, w, h, radius, fill="#0b2a1c", opacity=0.34))
    elif look in _OUTLINE:
        items.append(Rect(x, y, w, h, radius, stroke=_OUTLINE[look], stroke_width=0.045 * w))
    return Group("card", card, tuple(items))


def large_face(card: str, x: float, y: float, w: float, ink: str) -> Group:
    """An open card in large print: a rank and suit that fill what a fan shows of it."""
    h, wide = w * HEIGHT, card[0] == "T"
    rank = Text(
        x + (0.31 if wide else 0.27) * w,
        y + 0.47 * w,
        rank_text(card),
        (0.42 if wide else 0.58) * w,
        ink,
        anchor="middle",
        bold=True,
    )
    near = suit_path(card[1], x + 0.27 * w, y + 0.74 * w, 0.38 * w, ink)
    far = suit_path(card[1], x + 0.71 * w, y + h - 0.30 * w, -0.44 * w, ink)
    return Group("card", card, (*_blank(x, y, w, PAPER, EDGE), rank, near, far))


def card_back(x: float, y: float, w: float) -> Group:
    """A closed card."""
    h, rim = w * HEIGHT, 0.07 * w
    columns, rows = 4, 6
    cell_w, cell_h = (w - 2.6 * rim) / columns, (h - 2.6 * rim) / rows
    points = tuple(
        (x + 1.3 * rim + (column + 0.5) * cell_w, y + 1.3 * rim + (row + 0.5) * cell_h)
        for row in range(rows)
        for column in range(columns)
    )
    pattern = Path(lozenges(points, 0.72 * cell_w, 0.78 * cell_h), BACK_LIGHT)
    inner = Rect(x + rim, y + rim, w - 2 * rim, h - 2 * rim, 0.06 * w, fill=BACK)
    return Group("back", "", (*_blank(x, y, w, BACK_EDGE, "#8d98ad"), inner, pattern))


def card_chip(card: str, x: float, y: float) -> Group:
    """A card in a list: a small label `CHIP_W` by `CHIP_H`, such as Q♠."""
    ink, middle = INK[card[1]], y + CHIP_H / 2
    return Group(
        "chip",
        card,
        (
            Rect(x, y, CHIP_W, CHIP_H, 3.5, fill=PAPER),
            Text(
                x + (9.0 if card[0] == "T" else 9.5),
                middle + 4.2,
                rank_text(card),
                11.0 if card[0] == "T" else 12.0,
                ink,
                anchor="middle",
                bold=True,
            ),
            suit_path(card[1], x + 22.0, middle, 9.5, ink),
        ),
    )


def _blank(x: float, y: float, w: float, fill: str, edge: str) -> tuple[Item, ...]:
    """A card's paper and its soft shadow."""
    h, radius = w * HEIGHT, 0.09 * w
    return (
        Rect(x - 0.01 * w, y + 0.01 * w, w * 1.03, h * 1.02, radius, fill="#000000", opacity=0.2),
        Rect(x, y, w, h, radius, fill=fill, stroke=edge, stroke_width=max(0.6, 0.012 * w)),
    )


def _centre(card: str, x: float, y: float, w: float, ink: str) -> tuple[Item, ...]:
    """What fills the middle of a face: a panel with the letter for courts, else the suit."""
    h = w * HEIGHT
    middle_x, middle_y = x + w / 2, y + h / 2
    if card[0] not in "JQK":
        return (
            suit_path(card[1], middle_x, middle_y, (0.62 if card[0] == "A" else 0.46) * w, ink),
        )
    panel_w, panel_h = 0.40 * w, 0.98 * w
    panel = Rect(
        middle_x - panel_w / 2,
        middle_y - panel_h / 2,
        panel_w,
        panel_h,
        0.05 * w,
        fill=COURT_PAPER,
        stroke=COURT_EDGE,
        stroke_width=0.018 * w,
    )
    letter = Text(middle_x, middle_y + 0.02 * w, card[0], 0.44 * w, ink, "middle", bold=True)
    return (panel, letter, suit_path(card[1], middle_x, middle_y + 0.24 * w, 0.28 * w, ink))
