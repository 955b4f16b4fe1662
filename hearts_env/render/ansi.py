"""The table as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from hearts_env.render.scene import (
    SeatPicture,
    TablePicture,
    count_text,
    phase_title,
    printable,
)

_SYMBOLS = {"C": "♣", "D": "♦", "S": "♠", "H": "♥"}
_RED, _BOLD, _DIM, _GOLD = "31", "1", "2", "33;1"
_GAP = "  "


def render_ansi(picture: TablePicture, *, color: bool = False) -> str:
    """Returns the table as lines of text.

    Args:
        picture: What to show.
        color: False: plain ASCII, cards as ``QS``. True: ANSI colours, cards as ``Q♠``, and the
            legal cards of an open hand underlined.
    """
    style = _Style(color=color)
    lines = [_heading(picture, style), *_players(picture, style)]
    if picture.trick:
        lines.append("trick: " + _plays(picture, picture.trick, style))
    elif picture.phase == "play":
        lines.append("trick: none yet")
    if picture.last_trick:
        line = "last trick: " + _plays(picture, picture.last_trick, style)
        if picture.last_taker is not None:
            line += f" - taken by {style.plain(picture.seats[picture.last_taker].name)}"
        lines.append(line)
    if picture.num_kitty:
        kitty = picture.kitty
        shown = f"{kitty} closed" if isinstance(kitty, int) else style.cards(kitty)
        lines.append(f"kitty: {shown}")
    for seat in picture.seats:
        lines += _hand(picture, seat, style)
    if picture.legal:
        lines.append("legal: " + style.cards(picture.legal))
    lines += [style.code(style.plain(line), _GOLD) for line in picture.message.splitlines()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


class _Style:
    """How cards and words are written: plain ASCII, or with colours and suit symbols."""

    def __init__(self, *, color: bool) -> None:
        self._color = color

    def plain(self, text: str) -> str:
        """Text from outside, safe for a terminal."""
        shown = printable(text)
        return shown if self._color else shown.encode("ascii", "replace").decode()

    def code(self, text: str, code: str) -> str:
        """The text in an ANSI style, or as it is where colours are off."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._color and text else text

    def suit(self, suit: str) -> str:
        """A suit's letter or symbol."""
        if not self._color:
            return suit
        return self.code(_SYMBOLS[suit], _RED) if suit in "DH" else _SYMBOLS[suit]

    def card(self, card: str, *, legal: bool = False) -> str:
        """A card's name."""
        if not self._color:
            return card
        codes = [_RED] if card[1] in "DH" else []
        codes += [_BOLD, "4"] if legal else []
        text = card[0] + _SYMBOLS[card[1]]
        return self.code(text, ";".join(codes)) if codes else text

    def cards(self, cards: Iterable[str], legal: tuple[str, ...] = ()) -> str:
        """Card names with spaces between."""
        return " ".join(self.card(card, legal=card in legal) for card in cards)


def _heading(picture: TablePicture, style: _Style) -> str:
    parts = [style.code(style.plain(picture.title), _BOLD), phase_title(picture.phase)]
    if picture.phase == "play":
        parts[-1] += f", trick {picture.trick_number}"
    parts.append("hearts broken" if picture.hearts_broken else "hearts not broken")
    if picture.trump is not None:
        parts.append(f"trump {style.suit(picture.trump)}")
    if picture.turn:
        parts.append(style.code(style.plain(picture.turn), _GOLD))
    return " | ".join(parts)


def _players(picture: TablePicture, style: _Style) -> list[str]:
    """One row a seat: ``>`` marks who is to move, ``*`` the viewer."""
    totals = any(seat.total is not None for seat in picture.seats)
    header = ["", "player", "cards", "points", "tricks"] + ["total"] * totals
    rows = []
    for index, seat in enumerate(picture.seats):
        mark = (">" if index == picture.current_player else " ") + (
            "*" if index == picture.viewer else ""
        )
        numbers = [seat.num_cards, seat.points, seat.tricks]
        cells = [mark, style.plain(seat.name), *map(str, numbers)]
        rows.append(cells + ["-" if seat.total is None else str(seat.total)] * totals)
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def aligned(cells: list[str]) -> str:
        """Words to the left, numbers to the right."""
        return _GAP.join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )

    void_w = max(4, *(2 * len(seat.voids) - 1 for seat in picture.seats))
    lines = [style.code(aligned(header) + _GAP + "void".ljust(void_w) + _GAP + "taken", _DIM)]
    for seat, row in zip(picture.seats, rows, strict=True):
        voids = " ".join(map(style.suit, seat.voids)) or "-"
        padding = " " * (void_w - max(1, 2 * len(seat.voids) - 1))
        taken = style.cards(seat.taken) or "-"
        lines.append(aligned(row) + _GAP + voids + padding + _GAP + taken)
    return lines


def _plays(picture: TablePicture, plays: tuple[tuple[int, str], ...], style: _Style) -> str:
    return ", ".join(
        f"{style.plain(picture.seats[seat].name)} {style.card(card)}" for seat, card in plays
    )


def _hand(picture: TablePicture, seat: SeatPicture, style: _Style) -> list[str]:
    """The hand of a player, and what was passed and received where it is known."""
    name = style.plain(seat.name)
    if isinstance(seat.hand, int):
        shown = count_text(seat.hand, "closed card")
    else:
        shown = style.cards(seat.hand, picture.legal) or "no cards"
    lines = [f"hand of {name}: {shown}"]
    if seat.played:
        lines = [f"played by {name}: {style.cards(seat.played)}"]
    if seat.passed:
        lines.append(f"  passed: {style.cards(seat.passed)}")
    if seat.received:
        lines.append(f"  received: {style.cards(seat.received)}")
    return lines
