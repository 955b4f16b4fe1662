"""Replay hand histories as text or as an animation."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearts_env import NotationError
from hearts_env.cards import MOON_CHOICES
from hearts_env.game.notation import Record, parse_records
from hearts_env.support.arguments import check_number
from hearts_env.support.files import read_limited, write_whole
from hearts_train.cli.cardtext import cards_text, does, hand_text, points_text

if TYPE_CHECKING:
    from hearts_env.render import TablePicture

_MOST = 64 * 2**20  # bytes, about 50,000 deals


def read_records(path: Path, number: int | None = None) -> list[Record]:
    """Return the games of a file with their tags. If `number` is given, only that game, from 1.

    Every play is checked. A result of ``hearts benchmark`` gives the agent's worst deals.

    Raises:
        NotationError: if the file is not text or holds no hand histories. The message names the
            line.
        HeartsError: if there is no game `number`.
    """
    data = read_limited(path, _MOST, "hand histories")
    try:
        if data.startswith(b"{"):
            from hearts_train.measure.benchmark import read_benchmark, worst_deals

            records = worst_deals(read_benchmark(path))
        else:
            records = parse_records(data.decode())
    except UnicodeDecodeError:
        raise NotationError(f"{path}: not text; give a file of hand histories") from None
    except NotationError as error:
        raise NotationError(f"{path}: {error}") from None
    if number is None:
        return records
    return [records[check_number("--game", number, 1, len(records)) - 1]]


def lines_of(record: Record, number: int, count: int) -> Iterator[str]:
    """Yield a deal as text: its hands, events and scores."""
    game = record.game
    yield f"Game {number} of {count}: {game.rules.name}"
    about = [record.tags[name] for name in ("Event", "Date") if name in record.tags]
    if about:
        yield ", ".join(about)
    if any(game.totals):
        yield "totals before: " + ", ".join(map(str, game.totals))
    yield from dealt(record)
    yield from (text for _, text in steps(record))
    yield f"{footer(record)}\n"


def dealt(record: Record) -> Iterator[str]:
    """Yield the cards as dealt, one line per hand and one for the kitty."""
    start = record.game.start()
    for p, name in enumerate(record.names()):
        yield f"{name}: {hand_text(start.hand(p))}"
    if start.kitty:
        yield f"kitty: {hand_text(start.kitty)}"


def steps(record: Record) -> Iterator[tuple[int, str]]:
    """Yield the events as (trick, text): passed cards, tricks and choices."""
    game, names = record.game, record.names()
    rules, replay = game.rules, game.start()

    for action in game.actions:
        seat, phase = replay.current_player, replay.phase
        assert seat is not None
        name, number, kitty_taker = names[seat], replay.trick_number + 1, replay.kitty_taker
        if action == -1:
            replay.revoke()
            yield number, f"{does(name, 'revokes')} and must pay for all"
            continue
        replay.play(action)
        if phase == "pass":
            passed = replay.passed(seat)
            if len(passed) == rules.pass_count:
                yield 0, f"{does(name, 'passes')} {cards_text(passed)} {replay.direction}"
        elif phase == "moon":
            choice = rules.action_name(action)
            yield len(replay.tricks), f"{does(name, 'chooses')} to {MOON_CHOICES[choice]}"
        elif not replay.trick:
            trick, taker = replay.tricks[-1], names[replay.trick_takers[-1]]
            text = f"{_plays(number, trick, names)}   taken by "
            text += "you" if taker == "You" else taker
            if points := points_text(rules, (card for _, card in trick)):
                text += f", {points}"
            if replay.kitty_taker != kitty_taker:
                points = points_text(rules, game.kitty)
                text += f", and the kitty {cards_text(game.kitty)} {points}".rstrip()
            if replay.shooter is not None:
                text += f"\n{does(names[replay.shooter], 'has')} shot the moon"
            yield number, text
    if replay.trick:
        number = replay.trick_number + 1
        yield number, f"{_plays(number, replay.trick, names)} ..."


def _plays(number: int, trick: Sequence[tuple[int, str]], names: Sequence[str]) -> str:
    led = cards_text(card for _, card in trick)
    return f"{number:2}. {does(names[trick[0][0]], 'leads')}: {led}"


def footer(record: Record) -> str:
    """Return the line of scores."""
    game = record.game
    scores = ", ".join(
        f"{name} {score}" for name, score in zip(record.names(), game.scores(), strict=True)
    )
    return ("scores: " if game.is_over else "not finished; points so far: ") + scores


def pictures_of(record: Record) -> Iterator[TablePicture]:
    """Yield the table at the start of a game and after every action, all cards open."""
    from hearts_env.views.picture import picture_of

    names = record.names() if record.tags else None
    replay = record.game.start()
    for action in [None, *record.game.actions]:
        if action == -1:
            replay.revoke()
        elif action is not None:
            replay.play(action)
        yield picture_of(replay, "all", names=names)


WIDTH = 640
"""The width of an animation in pixels."""
SHOWN = 800
"""The milliseconds per position of an animation. The end of a deal takes `END` times as long."""
END = 3


def write_animation(records: Sequence[Record], path: Path) -> int:
    """Draw every position with all cards open as an animated GIF, and return their number.

    Raises:
        ImportError: if a library is not installed.
        OSError: if the file cannot be written.
    """
    from PIL import Image

    from hearts_env.render import render_rgb

    images: list[Any] = []
    times = []
    for record in records:
        for picture in pictures_of(record):  # quantized: one byte per pixel instead of three
            pixels = render_rgb(picture, WIDTH)
            images.append(Image.fromarray(pixels).quantize(64, dither=Image.Dither.NONE))
            times.append(SHOWN)
        times[-1] *= END
    out = io.BytesIO()
    images[0].save(
        out, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0, optimize=True
    )
    write_whole(path, out.getvalue())
    return len(images)
