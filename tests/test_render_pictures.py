"""The drawings of the card table, from pictures made by hand (no engine involved)."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from hearts_env import HeartsError
from hearts_env.render import (
    SeatPicture,
    TablePicture,
    Window,
    pixels,
    render_ansi,
    render_rgb,
    render_svg,
)
from hearts_env.render.layout import HEIGHT_OF_TABLE, WIDTH, table_items
from hearts_env.render.shapes import Group, Item, Path, Rect, Text, text_width

CARDS = tuple(rank + suit for suit in "CDSH" for rank in "23456789TJQKA")
HEARTS = tuple(card for card in CARDS if card[1] == "H")
HAND_SIZE = {2: 13, 3: 17, 4: 13, 5: 10, 6: 8, 7: 7}
SVG = "{http://www.w3.org/2000/svg}"

Box = tuple[float, float, float, float]


def open_cards(seat: SeatPicture) -> tuple[str, ...]:
    """The cards of a hand that may be shown."""
    return () if isinstance(seat.hand, int) else seat.hand


def busy_table(players: int, *, viewer: int | None = 0, everything: bool = False) -> TablePicture:
    """Return a table that shows as much as possible. If `everything`, all hands are open."""
    size = HAND_SIZE[players]
    # Dealt one by one to give every hand all suits.
    hands = [tuple(CARDS[seat : players * size : players]) for seat in range(players)]
    rest = CARDS[players * size :]
    bottom = viewer or 0
    seats = tuple(
        SeatPicture(
            name=f"player_{seat}",
            hand=hands[seat] if everything or seat == viewer else size,
            points=seat - 1,
            tricks=seat,
            taken=("QS", *HEARTS) if seat == (bottom + 1) % players else HEARTS[:seat],
            voids=("C", "D", "S")[:seat],
            total=Fraction(100 * seat, 3),
            passed=("AC", "KC", "QC") if seat == bottom else (),
            received=("AD", "KD", "QD") if seat == bottom else (),
        )
        for seat in range(players)
    )
    return TablePicture(
        title="classic",
        seats=seats,
        viewer=viewer,
        current_player=bottom,
        legal=hands[bottom][1:4] if open_cards(seats[bottom]) else (),
        trick=tuple((seat, CARDS[20 + seat]) for seat in range(players)),
        last_trick=tuple((seat, CARDS[30 + seat]) for seat in range(players)),
        last_taker=1,
        kitty=rest if everything and len(rest) <= 4 else len(rest),
    )


def one_card(card: str) -> TablePicture:
    """A table with a single open card, in the viewer's hand."""
    return TablePicture("one", (SeatPicture("a", (card,)), SeatPicture("b", 1)), viewer=0)


def groups(items: Iterable[Item], kind: str) -> Iterator[Group]:
    """All groups of a kind, at any depth."""
    for item in items:
        if isinstance(item, Group):
            if item.kind == kind:
                yield item
            yield from groups(item.items, kind)


def box_of(item: Item) -> Box:
    """Return the left, top, right and bottom of an item."""
    if isinstance(item, Group):
        boxes = [
            (left + item.x, top + item.y, right + item.x, bottom + item.y)
            for left, top, right, bottom in map(box_of, item.items)
        ]
    elif isinstance(item, Rect):
        return item.x, item.y, item.x + item.w, item.y + item.h
    elif isinstance(item, Path):
        ends = [step[-2:] for contour in item.contours for step in contour]
        boxes = [(x, y, x, y) for x, y in ends]
    else:
        return box_of_text(item)
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def box_of_text(text: Text) -> Box:
    """Return the approximate box of a line of text."""
    width = text_width(text.text, text.size, bold=text.bold)
    left = text.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * width
    top, bottom = text.y - 0.75 * text.size, text.y + 0.22 * text.size
    if text.upside_down:
        top, bottom = 2 * text.y - bottom, 2 * text.y - top
    return left, top, left + width, bottom


def overlap(one: Box, other: Box) -> bool:
    """Return True if two boxes overlap by more than a pixel."""
    return (
        min(one[2], other[2]) - max(one[0], other[0]) > 1
        and min(one[3], other[3]) - max(one[1], other[1]) > 1
    )


def drawn_cards(svg: str, kind: str) -> Counter[str]:
    """Count each card drawn as a group of this class."""
    root = ElementTree.fromstring(svg)
    found = root.iter(f"{SVG}g")
    return Counter(g.attrib["data-card"] for g in found if g.get("class") == kind)


def words(svg: str) -> list[str]:
    """All text of a document."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


# --- contents ---------------------------------------------------------------------------------


@pytest.mark.parametrize("players", range(2, 8))
@pytest.mark.parametrize("everything", [False, True])
def test_svg_shows_exactly_the_open_cards(players: int, everything: bool) -> None:
    picture = busy_table(players, everything=everything)
    svg = render_svg(picture)
    hands = [card for seat in picture.seats for card in open_cards(seat)]
    assert drawn_cards(svg, "card") == Counter(hands + [card for _, card in picture.trick])

    listed = [
        card for seat in picture.seats for card in (*seat.taken, *seat.passed, *seat.received)
    ]
    listed += [card for _, card in picture.last_trick]
    listed += picture.kitty if isinstance(picture.kitty, tuple) else ()
    chips = drawn_cards(svg, "chip")
    assert chips <= Counter(listed)
    # Only a player with more penalty cards than the plate has room for has some merely counted.
    counted = sum(int(word) for word in words(svg) if re.fullmatch(r"\+\d+", word))
    assert chips.total() + counted == len(listed)

    closed = sum(seat.num_cards for seat in picture.seats if not open_cards(seat))
    pile = min(picture.kitty, 7) if isinstance(picture.kitty, int) else 0
    assert svg.count('class="back"') == closed + pile


def test_svg_is_self_contained() -> None:
    svg = render_svg(busy_table(4))
    assert not re.search(r"href|url\(|<image|<style|<script|@import", svg)
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]


def test_svg_escapes_hostile_text() -> None:
    hostile = '<b> & "x" \x00\x1b[31m'
    seats = (SeatPicture(hostile, ("QS",)), SeatPicture("]]>", 3))
    svg = render_svg(TablePicture(hostile, seats, viewer=0, message="a < b && c > d"))
    assert "a < b && c > d" in words(svg)
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", svg)


CHANGES: dict[str, dict[str, object]] = {
    "title": {"title": "party"},
    "phase": {"phase": "over"},
    "viewer": {"viewer": 1},
    "current_player": {"current_player": 1},
    "legal": {"legal": ()},
    "trick": {"trick": ((0, "8D"), (2, "TD"))},
    "last trick": {"last_trick": ((0, "8D"), (2, "TD"))},
    "last taker": {"last_taker": 2},
    "kitty count": {"kitty": 2},
    "open kitty": {"kitty": ("2C",)},
    "hearts": {"hearts_broken": True},
    "trump": {"trump": "S"},
    "message": {"message": "player_0 shot the moon"},
}
SEAT_CHANGES: dict[str, dict[str, object]] = {
    "name": {"name": "Ada"},
    "count": {"hand": 3},
    "hand": {"hand": ("2C", "3C")},
    "points": {"points": 13},
    "tricks": {"tricks": 9},
    "taken": {"taken": ("JD",)},
    "voids": {"voids": ("H",)},
    "total": {"total": 99},
    "no match": {"total": None},
}


def changed(before: TablePicture, change: str) -> TablePicture:
    if change in CHANGES:
        return replace(before, **CHANGES[change])  # type: ignore[arg-type]
    seat = replace(before.seats[2], **SEAT_CHANGES[change])  # type: ignore[arg-type]
    return replace(before, seats=(*before.seats[:2], seat, before.seats[3]))


@pytest.mark.parametrize("change", [*CHANGES, *SEAT_CHANGES])
def test_every_field_shows_in_every_text(change: str) -> None:
    before = busy_table(4)
    after = changed(before, change)
    assert render_svg(before) != render_svg(after)
    assert render_ansi(before) != render_ansi(after)


def test_every_card_looks_different() -> None:
    pytest.importorskip("PIL")
    assert len({render_rgb(one_card(card), width=480).tobytes() for card in CARDS}) == 52
    faces = {re.sub('data-card="..?"', "", render_svg(one_card(card))) for card in CARDS}
    assert len(faces) == 52


# --- layout -----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", range(2, 8))
@pytest.mark.parametrize("everything", [False, True])
def test_nothing_overlaps_or_leaves_the_table(players: int, everything: bool) -> None:
    items = table_items(busy_table(players, everything=everything))
    parts: list[Item] = [*groups(items, "seat"), *groups(items, "last-trick")]
    parts += groups(items, "notes")
    # The trick is a ring around an empty middle, so its cards are compared one by one.
    parts += [card for group in groups(items, "trick") for card in groups([group], "card")]
    loose = [item for item in items if isinstance(item, Text)]
    assert len(loose) == 4, "title, stage, hearts and turn"
    for one, other in combinations([*parts, *loose], 2):
        assert not overlap(box_of(one), box_of(other)), (one, other)
    for left, top, right, bottom in map(box_of, [*parts, *loose]):
        assert left >= 14
        assert top >= 14
        assert right <= WIDTH - 14
        assert bottom <= HEIGHT_OF_TABLE - 14


@pytest.mark.parametrize("players", range(2, 8))
def test_viewer_sits_at_bottom_next_seat_left(players: int) -> None:
    for viewer in range(players):
        items = table_items(busy_table(players, viewer=viewer))
        boxes = {group.name: box_of(group) for group in groups(items, "seat")}
        middles = {name: ((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for name, b in boxes.items()}
        lowest = max(middles, key=lambda name: middles[name][1])
        assert lowest == f"player_{viewer}"
        if players > 2:
            following = middles[f"player_{(viewer + 1) % players}"]
            before = middles[f"player_{(viewer - 1) % players}"]
            assert following[0] < WIDTH / 2 < before[0]


def test_legal_cards_are_raised_and_others_are_not() -> None:
    picture = busy_table(4)
    (bottom,) = [
        group for group in groups(table_items(picture), "seat") if group.name == "player_0"
    ]
    tops = {group.name: box_of(group)[1] for group in groups([bottom], "card")}
    raised = {card for card, top in tops.items() if top < max(tops.values()) - 5}
    assert raised == set(picture.legal)


# --- pixels -----------------------------------------------------------------------------------


def test_rgb_draws_names_the_font_does_not_know() -> None:
    pytest.importorskip("PIL")
    seats = (SeatPicture("Zoë Жук \x07", ("QS",)), SeatPicture("", 0))
    assert render_rgb(TablePicture("日本", seats, viewer=0)).shape == (720, 960, 3)


# --- text -------------------------------------------------------------------------------------


def test_ansi_shows_the_whole_table() -> None:
    seats = (
        SeatPicture("player_0", ("2C", "QS"), points=3, tricks=2, voids=("D",), total=40),
        SeatPicture("player_1", 2, points=14, tricks=9, taken=("AH", "KS"), total=7),
    )
    picture = TablePicture(
        "two_player",
        seats,
        viewer=0,
        current_player=0,
        legal=("QS",),
        trick=((1, "4S"),),
        last_trick=((0, "6H"), (1, "8H")),
        last_taker=1,
        kitty=2,
        hearts_broken=True,
        trump="H",
        message="a line\nanother",
    )
    # Counted by hand: columns as wide as their widest entry, two spaces between.
    assert render_ansi(picture).splitlines() == [
        "two_player | play, trick 12 | hearts broken | trump H | player_0 to move",
        "    player    cards  points  tricks  total  void  taken",
        ">*  player_0      2       3       2     40  D     -",
        "    player_1      2      14       9      7  -     AH KS",
        "trick: player_1 4S",
        "last trick: player_0 6H, player_1 8H - taken by player_1",
        "kitty: 2 closed",
        "hand of player_0: 2C QS",
        "hand of player_1: 2 closed cards",
        "legal: QS",
        "a line",
        "another",
    ]


def test_ansi_keeps_control_characters_from_the_terminal() -> None:
    picture = TablePicture("\x1b[2J", (SeatPicture("a\rb", 1), SeatPicture("é", 1)), message="\x07")
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", render_ansi(picture))
    assert render_ansi(picture).isascii()


# --- the window and the extras ----------------------------------------------------------------


@pytest.fixture
def dummy_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An invisible screen."""
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.usefixtures("dummy_screen")
def test_window_shows_frames_of_any_size() -> None:
    import pygame

    window = Window("a caption", fps=1000)
    for height, width in ((72, 96), (30, 41)):
        frame = np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)
        window.show(frame)
        surface = pygame.display.get_surface()
        assert surface is not None
        shown = pygame.surfarray.array3d(surface).swapaxes(0, 1)
        assert np.array_equal(shown, frame)
    assert pygame.display.get_caption()[0] == "a caption"
    window.close()
    window.close()
    assert not pygame.display.get_init()
    # It was closed by us and not by the user, so it may open again.
    window.show(frame)
    assert pygame.display.get_init()
    window.close()


@pytest.mark.usefixtures("dummy_screen")
def test_window_closed_by_the_user_stays_closed() -> None:
    import pygame

    window, frame = Window(), np.zeros((30, 40, 3), dtype=np.uint8)
    window.show(frame)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(frame)
    assert window.was_quit
    window.show(frame)
    assert not pygame.display.get_init()
    window.close()


def test_missing_libraries_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels._image_of.cache_clear()  # cached images need no library
    for module in ("PIL", "PIL.Image", "PIL.ImageDraw", "PIL.ImageFont", "pygame"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(HeartsError, match=r"`render`"):
        render_rgb(busy_table(2))
    with pytest.raises(HeartsError, match=r"`render`"):
        Window().show(np.zeros((4, 4, 3), np.uint8))
    assert render_svg(busy_table(2)), "SVG needs neither"
