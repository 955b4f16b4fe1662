"""The layout of the table: from a `TablePicture` to shapes.

Only this module decides how a drawing looks. `svg` and `pixels` draw the same list of shapes. The
viewer sits at the bottom, the next seat to the left, and so on clockwise. Units are pixels of a
picture 960 wide and 720 high.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hearts_env.render.scene import (
    SeatPicture,
    TablePicture,
    count_text,
    phase_title,
    printable,
)
from hearts_env.render.shapes import (
    CHIP_H,
    CHIP_W,
    GOLD,
    HEIGHT,
    SKY,
    Group,
    Item,
    Look,
    Path,
    Rect,
    Text,
    card_back,
    card_chip,
    card_face,
    fitted,
    suit_path,
    text_width,
    wrapped,
)

WIDTH, HEIGHT_OF_TABLE = 960.0, 720.0

WHITE = "#ffffff"
SOFT = "#cfe6d6"
FAINT = "#9cc7ac"
PLATE = "#0b2f20"
RED = "#ff7d78"

_MARGIN = 26.0
_TRICK_X, _TRICK_Y = WIDTH / 2, 324.0
_TRICKS = {2: (78.0, 0.0, 76.0), 3: (72.0, 112.0, 88.0), 4: (72.0, 128.0, 90.0)}
_TRICK_OF_MANY = (55.0, 166.0, 112.0)
"""The width of a card in the trick and its distance from the middle, by number of players."""

_PLATE_H = 52.0
_HAND_Y = 546.0
_HAND_W = 612.0
_BOTTOM_CARD = 74.0
_BOTTOM_PLATE_W = 240.0
_PANEL_W = 138.0
_CHIP_STEP = CHIP_W + 2


@dataclass(frozen=True, slots=True)
class _Block:
    """The place of an opponent: the middle of its top edge, its width and its cards' width."""

    x: float
    y: float
    w: float
    card_w: float


_LEFT, _RIGHT = _MARGIN + 104.0, WIDTH - _MARGIN - 104.0
_BLOCKS: dict[int, tuple[_Block, ...]] = {
    2: (_Block(480, 26, 400, 58),),
    3: (_Block(176, 152, 300, 48), _Block(784, 152, 300, 48)),
    4: (_Block(136, 208, 220, 46), _Block(480, 26, 260, 46), _Block(824, 208, 220, 46)),
    5: (
        _Block(_LEFT, 246, 208, 46),
        _Block(370, 26, 208, 46),
        _Block(590, 26, 208, 46),
        _Block(_RIGHT, 246, 208, 46),
    ),
    6: (
        _Block(_LEFT, 332, 208, 46),
        _Block(_LEFT, 146, 208, 46),
        _Block(480, 26, 220, 46),
        _Block(_RIGHT, 146, 208, 46),
        _Block(_RIGHT, 332, 208, 46),
    ),
    7: (
        _Block(_LEFT, 332, 208, 46),
        _Block(_LEFT, 146, 208, 46),
        _Block(370, 26, 208, 46),
        _Block(590, 26, 208, 46),
        _Block(_RIGHT, 146, 208, 46),
        _Block(_RIGHT, 332, 208, 46),
    ),
}
"""Opponents by number of players, clockwise from the viewer's left."""


def table_items(picture: TablePicture) -> list[Item]:
    """Return all shapes of a picture except the `background`, from back to front."""
    players = len(picture.seats)
    items: list[Item] = [*_header(picture), *_trick(picture)]
    for place, block in enumerate(_BLOCKS[players], start=1):
        items.append(_opponent(picture, (picture.bottom + place) % players, block))
    return [
        *items,
        _bottom(picture),
        *_last_trick(picture),
        *_side_notes(picture),
        *_message(picture),
    ]


def background() -> list[Item]:
    """Return the empty table: a wooden rim around green felt that is lighter in the middle.

    The table is the same in every picture, so backends may cache it.
    """
    items: list[Item] = [
        Rect(0, 0, WIDTH, HEIGHT_OF_TABLE, fill="#2a1a10"),
        Rect(4, 4, WIDTH - 8, HEIGHT_OF_TABLE - 8, 30, fill="#5d3b22"),
        Rect(7, 7, WIDTH - 14, HEIGHT_OF_TABLE - 14, 27, fill="#6f4829"),
        Rect(12, 12, WIDTH - 24, HEIGHT_OF_TABLE - 24, 22, fill="#07251a"),
    ]
    rings = 30
    for ring in range(rings):
        share = ring / (rings - 1)
        inset = 14 + 230 * share
        colour = "#" + "".join(
            f"{round(edge + (middle - edge) * math.sin(share * math.pi / 2)):02x}"
            for edge, middle in ((0x12, 0x23), (0x52, 0x7D), (0x38, 0x54))
        )
        w, h = WIDTH - 2 * inset, HEIGHT_OF_TABLE - 2 * inset
        items.append(Rect(inset, inset, w, h, 20 + 180 * share, fill=colour))
    return items


# --- the corners ---------------------------------------------------------------------------------


def _header(picture: TablePicture) -> list[Item]:
    """Draw the upper corners: left the game and its progress, right the turn and the hearts."""
    left, right, width = _MARGIN + 4, WIDTH - _MARGIN - 4, 210.0
    stage = phase_title(picture.phase)
    if picture.phase == "play":
        stage += f" · trick {picture.trick_number}"
    # Shrink a long title rather than cut it.
    sizes = [
        size for size in range(22, 12, -1) if text_width(picture.title, size, bold=True) <= width
    ]
    title = float(sizes[0] if sizes else 13)
    items: list[Item] = [
        Text(left, 50, _cut(picture.title, title, width, bold=True), title, WHITE, bold=True),
        Text(left, 72, stage, 14, SOFT),
        suit_path("H", right - 8, 68, 13, RED if picture.hearts_broken else "#5c9477"),
        Text(
            right - 20,
            72,
            "hearts broken" if picture.hearts_broken else "hearts not broken",
            14,
            SOFT,
            anchor="end",
        ),
    ]
    if picture.turn:
        turn = _cut(picture.turn, 17, width, bold=True)
        items.append(Text(right, 48, turn, 17, GOLD, anchor="end", bold=True))
    if picture.trump is not None:
        items.append(Text(left, 92, "trump", 14, SOFT))
        items.append(_table_suit(picture.trump, left + 50, 87, 13))
    return items


def _last_trick(picture: TablePicture) -> list[Item]:
    """Draw the lower left corner: the last trick with its players, the taker in gold."""
    if not picture.last_trick:
        return []
    row_h = CHIP_H + 2
    height = 27 + row_h * len(picture.last_trick) + 3
    x, y = _MARGIN, HEIGHT_OF_TABLE - _MARGIN - height
    items: list[Item] = [
        _panel(x, y, _PANEL_W, height),
        Text(x + 10, y + 18, "last trick", 12, FAINT),
    ]
    for row, (seat, card) in enumerate(picture.last_trick):
        top = y + 26 + row * row_h
        taker = seat == picture.last_taker
        name = _cut(picture.seats[seat].name, 12, _PANEL_W - CHIP_W - 24, bold=taker)
        items.append(Text(x + 10, top + 13, name, 12, GOLD if taker else SOFT, bold=taker))
        items.append(card_chip(card).at(x + _PANEL_W - CHIP_W - 8, top))
    return [Group("last-trick", "", tuple(items))]


def _side_notes(picture: TablePicture) -> list[Item]:
    """Draw the lower right corner: the kitty, and the bottom player's passed and received cards."""
    seat = picture.seats[picture.bottom]
    notes: list[tuple[str, tuple[str, ...] | int]] = []
    if picture.num_kitty:
        notes.append(("kitty", picture.kitty))
    if seat.passed:
        notes.append(("passed", seat.passed))
    if seat.received:
        notes.append(("received", seat.received))
    if not notes:
        return []
    per_row, step_y = 4, CHIP_H + 2
    heights = [
        22 + (24 if isinstance(cards, int) else step_y * math.ceil(len(cards) / per_row))
        for _, cards in notes
    ]
    height = sum(heights) + 8
    x, y = WIDTH - _MARGIN - _PANEL_W, HEIGHT_OF_TABLE - _MARGIN - height
    items: list[Item] = [_panel(x, y, _PANEL_W, height)]
    for (label, cards), note_h in zip(notes, heights, strict=True):
        items.append(Text(x + 10, y + 17, label, 12, FAINT))
        if isinstance(cards, int):
            items += [card_back(15).at(x + 10 + 6 * i, y + 21) for i in range(min(cards, 7))]
            closed = f"{cards} closed"
            items.append(Text(x + _PANEL_W - 10, y + 37, closed, 12, SOFT, anchor="end"))
        else:
            for i, card in enumerate(cards):
                row, column = divmod(i, per_row)
                items.append(card_chip(card).at(x + 8 + column * _CHIP_STEP, y + 22 + row * step_y))
        y += note_h
    return [Group("notes", "", tuple(items))]


# --- the middle ----------------------------------------------------------------------------------


def _trick(picture: TablePicture) -> list[Item]:
    """Draw the current trick, each card towards its player, over faint places for cards to come."""
    players = len(picture.seats)
    card_w, radius_x, radius_y = _TRICKS.get(players, _TRICK_OF_MANY)
    card_h = card_w * HEIGHT
    played = dict(picture.trick)
    if not played and (picture.message or picture.phase != "play"):
        return []
    slots: list[Item] = []
    cards: list[Item] = []
    for seat in range(players):
        place = (seat - picture.bottom) % players
        angle = math.pi / 2 + 2 * math.pi * place / players
        x = _TRICK_X + radius_x * math.cos(angle) - card_w / 2
        y = _TRICK_Y + radius_y * math.sin(angle) - card_h / 2
        lead = bool(picture.trick) and seat == picture.trick[0][0]
        name = _cut(picture.seats[seat].name, 11, 92, bold=lead)
        slots.append(Rect(x, y, card_w, card_h, 6, WHITE, 0.05, stroke="#4f9a72", stroke_width=1.0))
        label = f"{name} led" if lead else name
        slots.append(Text(x + card_w / 2, y + card_h + 12, label, 11, WHITE, "middle", bold=lead))
        if seat in played:
            cards.append(card_face(played[seat], card_w).at(x, y))
    return [Group("trick", "", (*slots, *cards))]


def _message(picture: TablePicture) -> list[Item]:
    """Draw the message on a banner: in the middle, or under a trick."""
    limit = 640.0 if picture.trick else 420.0
    head, *rest = [line for line in picture.message.splitlines() if line.strip()] or [""]
    lines = wrapped(printable(head), 17, limit, bold=True)
    sizes = [17.0] * len(lines)
    for line in rest:
        more = wrapped(printable(line), 14, limit)
        lines += more
        sizes += [14.0] * len(more)
    if not lines:
        return []
    width = 40 + max(
        text_width(line, size, bold=True) for line, size in zip(lines, sizes, strict=True)
    )
    height = 20.0 + 22.0 * len(lines)
    y = 530 - height if picture.trick else _TRICK_Y - height / 2
    items: list[Item] = [
        Rect(
            WIDTH / 2 - width / 2,
            y,
            width,
            height,
            12,
            fill=PLATE,
            opacity=0.92,
            stroke=GOLD,
            stroke_width=1.5,
        )
    ]
    for i, (line, size) in enumerate(zip(lines, sizes, strict=True)):
        baseline = y + 27 + 22 * i
        head_line = size == sizes[0]
        colour = GOLD if head_line else WHITE
        items.append(Text(WIDTH / 2, baseline, line, size, colour, "middle", bold=head_line))
    return [Group("message", "", tuple(items))]


# --- the players ---------------------------------------------------------------------------------


def _opponent(picture: TablePicture, seat: int, block: _Block) -> Group:
    """Draw an opponent: the hand, the name plate over its foot, and taken cards below."""
    player = picture.seats[seat]
    items = _hand(picture, player, block.x, block.y, block.card_w, block.w - 8)
    plate_y = block.y + 0.98 * block.card_w
    plate_w = min(block.w, 220)
    plate_x = block.x - plate_w / 2
    per_row, rows = (7, 2) if plate_w >= 7 * _CHIP_STEP else (6, 3)
    items += _plate(picture, seat, plate_x, plate_y, plate_w)
    items += _chips(player.taken, plate_x, plate_y + _PLATE_H + 4, per_row=per_row, rows=rows)
    return Group("seat", player.name, tuple(items))


def _bottom(picture: TablePicture) -> Group:
    """Draw the viewer: a large hand, and a plate long enough for the taken cards."""
    player = picture.seats[picture.bottom]
    items = _hand(picture, player, WIDTH / 2, _HAND_Y, _BOTTOM_CARD, _HAND_W)
    per_row = 8
    columns = min(per_row, len(player.taken))
    w = _BOTTOM_PLATE_W + (columns * _CHIP_STEP + 9 if columns else 0)
    x, y = WIDTH / 2 - w / 2, HEIGHT_OF_TABLE - _MARGIN - _PLATE_H
    items += _plate(picture, picture.bottom, x, y, w, info_w=_BOTTOM_PLATE_W)
    items += _chips(player.taken, x + _BOTTOM_PLATE_W + 2, y + 8, per_row=per_row, rows=2)
    return Group("seat", player.name, tuple(items))


def _hand(
    picture: TablePicture, player: SeatPicture, x: float, y: float, card_w: float, width: float
) -> list[Item]:
    """Return a row of overlapping cards centred at `x`, with legal cards raised."""
    count = player.num_cards
    shown = player.hand or player.played  # at the end of a deal, what the hand was
    if isinstance(shown, tuple):
        count = len(shown)
    if not count:
        return []
    step = min(card_w * 0.72, (width - card_w) / max(1, count - 1))
    left = x - (step * (count - 1) + card_w) / 2
    if isinstance(shown, int):
        return [card_back(card_w).at(left + i * step, y) for i in range(count)]
    choosing = not player.hand or any(card in picture.legal for card in shown)
    items: list[Item] = []
    for i, card in enumerate(shown):
        look, rise = Look.PLAIN, 0.0
        if card in picture.legal:
            look, rise = Look.LEGAL, 0.17 * card_w
        elif picture.phase == "pass" and card in player.passed:
            look = Look.CHOSEN
        elif choosing:
            look = Look.DIMMED
        items.append(card_face(card, card_w, look).at(left + i * step, y - rise))
    return items


def _plate(
    picture: TablePicture,
    seat: int,
    x: float,
    y: float,
    w: float,
    info_w: float | None = None,
) -> list[Item]:
    """Return the name plate. Its text takes the first `info_w` of the width. If None, all of it."""
    player = picture.seats[seat]
    moves, wins = seat == picture.current_player, seat in picture.winners
    right = x + (w if info_w is None else info_w) - 10
    points = count_text(player.points, "point")
    points_w = text_width(points, 13, bold=True)
    items: list[Item] = [_panel(x, y, w, _PLATE_H, GOLD if moves or wins else None)]
    name_x = x + 12
    if moves:
        items.append(Path((((x + 11, y + 12), (x + 21, y + 18), (x + 11, y + 24)),), GOLD))
        name_x += 14
    name = _cut(player.name, 15, right - points_w - 8 - name_x, bold=True)
    colour = GOLD if moves else SKY if seat == picture.viewer else WHITE
    items.append(Text(name_x, y + 23, name, 15, colour, bold=True))
    items.append(
        Text(right, y + 22, points, 13, RED if player.points > 0 else SOFT, "end", bold=True)
    )
    facts = count_text(player.tricks, "trick")
    if wins:
        facts = f"wins · {facts}"
    if player.total is not None:
        facts += f" · total {player.total}"
    voids = player.voids if player.num_cards else ()
    room = right - x - 12 - 13 * len(voids)
    items.append(Text(x + 12, y + 42, _cut(facts, 12, room), 12, SOFT))
    for i, suit in enumerate(reversed(voids)):
        items.append(_table_suit(suit, right - 5 - 13 * i, y + 38, 11))
    if voids and text_width(facts, 12) + 34 <= room:
        items.append(Text(right - 13 * len(voids) - 2, y + 42, "void", 12, FAINT, "end"))
    return items


def _chips(cards: tuple[str, ...], x: float, y: float, *, per_row: int, rows: int) -> list[Item]:
    """Return cards as chips in rows, read left to right, and a count of any that do not fit."""
    room = per_row * rows
    shown = cards if len(cards) <= room else cards[: room - 1]
    step_x, step_y = _CHIP_STEP, CHIP_H + 2
    items: list[Item] = []
    for i, card in enumerate(shown):
        row, column = divmod(i, per_row)
        items.append(card_chip(card).at(x + column * step_x, y + row * step_y))
    if len(cards) > len(shown):
        text_x = x + (per_row - 1) * step_x + 4
        text_y = y + (rows - 1) * step_y + 13
        items.append(Text(text_x, text_y, f"+{len(cards) - len(shown)}", 12, SOFT))
    return items


def _panel(x: float, y: float, w: float, h: float, edge: str | None = None) -> Rect:
    """Return a dark plate. With an edge it looks lit."""
    if edge is None:
        return Rect(x, y, w, h, 9, fill=PLATE, opacity=0.94)
    return Rect(x, y, w, h, 9, fill=PLATE, opacity=0.96, stroke=edge, stroke_width=2.0)


def _table_suit(suit: str, x: float, y: float, size: float) -> Path:
    """Return a suit symbol light enough for the dark table."""
    return suit_path(suit, x, y, size, RED if suit in "DH" else WHITE)


def _cut(text: str, size: float, width: float, *, bold: bool = False) -> str:
    return fitted(printable(text), size, width, bold=bold)
