"""The table as plain ASCII text."""

from __future__ import annotations

from hearts_env.render.scene import (
    SeatPicture,
    TablePicture,
    count_text,
    phase_title,
    printable,
)

_GAP = "  "


def render_ansi(picture: TablePicture) -> str:
    """Return the table as text that is safe for a terminal, with cards written as ``QS``."""
    lines = [_heading(picture), *_players(picture)]
    if picture.trick:
        lines.append("trick: " + _plays(picture, picture.trick))
    elif picture.phase == "play":
        lines.append("trick: none yet")
    if picture.last_trick:
        line = "last trick: " + _plays(picture, picture.last_trick)
        if picture.last_taker is not None:
            line += f" - taken by {picture.seats[picture.last_taker].name}"
        lines.append(line)
    if picture.num_kitty:
        kitty = picture.kitty
        lines.append("kitty: " + (f"{kitty} closed" if isinstance(kitty, int) else " ".join(kitty)))
    for seat in picture.seats:
        lines += _hand(seat)
    if picture.legal:
        lines.append("legal: " + " ".join(picture.legal))
    lines += picture.message.splitlines()
    # Names and messages come from outside.
    plain = (printable(line).encode("ascii", "replace").decode().rstrip() for line in lines)
    return "\n".join(plain) + "\n"


def _heading(picture: TablePicture) -> str:
    parts = [picture.title, phase_title(picture.phase)]
    if picture.phase == "play":
        parts[-1] += f", trick {picture.trick_number}"
    parts.append("hearts broken" if picture.hearts_broken else "hearts not broken")
    if picture.trump is not None:
        parts.append(f"trump {picture.trump}")
    if picture.turn:
        parts.append(picture.turn)
    return " | ".join(parts)


def _players(picture: TablePicture) -> list[str]:
    """Return one row per seat: ``>`` marks the player to move, ``*`` the viewer."""
    has_totals = any(seat.total is not None for seat in picture.seats)
    rows = [["", "player", "cards", "points", "tricks", *["total"] * has_totals, "void", "taken"]]
    for index, seat in enumerate(picture.seats):
        mark = (">" if index == picture.current_player else " ") + (
            "*" if index == picture.viewer else ""
        )
        numbers = [seat.num_cards, seat.points, seat.tricks]
        numbers_and_total = [*numbers, *["-" if seat.total is None else seat.total] * has_totals]
        cards = [" ".join(cards) or "-" for cards in (seat.voids, seat.taken)]
        rows.append([mark, printable(seat.name), *map(str, numbers_and_total), *cards])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers_at = range(2, 5 + has_totals)
    return [
        _GAP.join(
            cell.rjust(width) if column in numbers_at else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _plays(picture: TablePicture, plays: tuple[tuple[int, str], ...]) -> str:
    return ", ".join(f"{picture.seats[seat].name} {card}" for seat, card in plays)


def _hand(seat: SeatPicture) -> list[str]:
    """Return a player's hand, and the cards passed and received if they are known."""
    if isinstance(seat.hand, int):
        shown = count_text(seat.hand, "closed card")
    else:
        shown = " ".join(seat.hand) or "no cards"
    lines = [f"hand of {seat.name}: {shown}"]
    if seat.played:
        lines = [f"played by {seat.name}: {' '.join(seat.played)}"]
    if seat.passed:
        lines.append(f"  passed: {' '.join(seat.passed)}")
    if seat.received:
        lines.append(f"  received: {' '.join(seat.received)}")
    return lines
