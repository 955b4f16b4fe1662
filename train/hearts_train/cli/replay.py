"""Hand histories replayed: deals and plays as text, pictures as SVG."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hearts_env import NotationError
from hearts_env.game.notation import Record, parse_records
from hearts_env.support.arguments import check_number, check_range
from hearts_env.support.errors import library
from hearts_env.support.files import read_limited, write_whole
from hearts_train.cli.cardtext import CHOICES, CardText, does, points_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hearts_env.render import TablePicture

PROMPT = "Enter next, b back, number of a trick, q quit> "
_MOST = 64 * 2**20  # bytes: some fifty thousand deals


def read_records(path: Path, number: int | None = None) -> list[Record]:
    """The games of a file with their tags, each play checked; or the one of a number, from 1.

    Of a result of ``hearts benchmark`` those are the deals that went worst.

    Raises:
        NotationError: if it is not text, or not hand histories; the message names the line.
        HeartsError: if there are fewer.
    """
    data = read_limited(path, _MOST, "hand histories")
    try:
        if data.startswith(b"{"):
            from hearts_train.measure.benchmark import read_benchmark, worst_deals

            records = worst_deals(read_benchmark(path))
        else:
            records = parse_records(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise NotationError(f"{path}: it is not text; give a file of hand histories") from None
    except NotationError as error:
        raise NotationError(f"{path}: {error}") from None
    if number is None:
        return records
    return [records[check_number("--game", number, 1, len(records)) - 1]]


def show(records: Sequence[Record], cards: CardText, ask: Callable[[str], str | None]) -> None:
    """Show games step by step, forwards and backwards.

    Args:
        records: the games.
        cards: how cards are written.
        ask: reads a line after a prompt; None ends the replay.
    """
    pages = [
        (number, trick, text)
        for number, record in enumerate(records, 1)
        for trick, text in pages_of(record, number, len(records), cards)
    ]
    place, shown_place = 0, -1
    while place < len(pages):
        number, _, text = pages[place]
        if place != shown_place:
            print(cards.wrap(text))
            shown_place = place
        line = ask(PROMPT)
        if line is None or line.lower() in ("q", "quit"):
            return
        if not line:
            place += 1
        elif line.lower() in ("b", "back"):
            place = max(place - 1, 0)
            if place == shown_place:
                print("This is the beginning.")
        elif line.isdecimal():
            wanted = [i for i, page in enumerate(pages) if page[0] == number]
            wanted = [i for i in wanted if str(pages[i][1]) == line.lstrip("0")]
            if wanted:
                place, shown_place = wanted[-1], -1
            else:
                last = max(page[1] for page in pages if page[0] == number)
                print(f"There is no trick {line}; this deal has 1 to {last}.")
        else:
            print("Press Enter to continue, or type b, the number of a trick, or q.")


def pages_of(record: Record, number: int, count: int, cards: CardText) -> Iterator[tuple[int, str]]:
    """A game as pages: the number of the trick (0 before the first) and the text.

    The first page has the deal, the last one the scores.
    """
    pages = [(0, header(record, number, count, cards)), *steps(record, cards)]
    yield from pages[:-1]
    trick, text = pages[-1]
    yield trick, f"{text}\n{footer(record)}\n"


def header(record: Record, number: int, count: int, cards: CardText) -> str:
    """The deal: the game's rules and all hands."""
    game, names = record.game, record.names()
    start = game.start()
    lines = [cards.bold(f"Game {number} of {count}: {game.rules.name}")]
    about = [record.tags[name] for name in ("Event", "Date") if name in record.tags]
    if about:
        lines.append(", ".join(about))
    if any(game.totals):
        lines.append("totals before: " + ", ".join(map(str, game.totals)))
    lines += [f"{name}: {cards.hand(start.hand(p))}" for p, name in enumerate(names)]
    if game.kitty:
        lines.append(f"kitty:    {cards.hand(game.kitty)}")
    return "\n".join(lines)


def steps(record: Record, cards: CardText) -> Iterator[tuple[int, str]]:
    """The events, as (trick, text): each hand of the exchange, each trick, and so on."""
    game, names = record.game, record.names()
    rules, replay = game.rules, game.start()

    for action in game.actions:
        seat, phase = replay.player, replay.phase
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
                yield 0, f"{does(name, 'passes')} {cards.cards(passed)} {replay.direction}"
        elif phase == "moon":
            choice = rules.action_name(action)
            yield len(replay.tricks), f"{does(name, 'chooses')} to {CHOICES[choice]}"
        elif not replay.trick:
            trick, taker = replay.tricks[-1], names[replay.trick_takers[-1]]
            text = f"{_plays(number, trick, names, cards)}   taken by "
            text += "you" if taker == "You" else taker
            if points := points_text(rules, (card for _, card in trick)):
                text += f", {points}"
            if replay.kitty_taker != kitty_taker:
                points = points_text(rules, game.kitty)
                text += f", and the kitty {cards.cards(game.kitty)} {points}".rstrip()
            if replay.shooter is not None:
                text += f"\n{does(names[replay.shooter], 'has')} shot the moon"
            yield number, text
    if replay.trick:
        number = replay.trick_number + 1
        yield number, f"{_plays(number, replay.trick, names, cards)} ..."


def _plays(
    number: int, trick: Sequence[tuple[int, str]], names: Sequence[str], cards: CardText
) -> str:
    led = cards.cards(card for _, card in trick)
    return f"{number:2}. {does(names[trick[0][0]], 'leads')}: {led}"


def footer(record: Record) -> str:
    """The scores."""
    game = record.game
    scores = ", ".join(
        f"{name} {score}" for name, score in zip(record.names(), game.scores(), strict=True)
    )
    return ("scores: " if game.is_over else "not finished; points so far: ") + scores


def write_pictures(records: Sequence[Record], folder: Path) -> int:
    """Draw every position, all cards open, as SVG files in a folder; returns how many."""
    from hearts_env.render import render_svg

    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for number, record in enumerate(records, 1):
        for step, picture in enumerate(pictures_of(record)):
            write_whole(folder / f"game{number:03}-{step:03}.svg", render_svg(picture).encode())
            count += 1
    return count


def pictures_of(record: Record) -> Iterator[TablePicture]:
    """The table at the start of a game and after every action, all cards open."""
    from hearts_env.views.picture import picture_of

    names = record.names() if record.tags else None
    replay = record.game.start()
    for action in [None, *record.game.actions]:
        if action == -1:
            replay.revoke()
        elif action is not None:
            replay.play(action)
        yield picture_of(replay, "all", names=names)


# ---- animations ----------------------------------------------------------------------------------
Frame: TypeAlias = "tuple[NDArray[np.uint8], float]"
"""A picture, and the seconds it is shown."""

END = 3
"""How many times as long the end of a deal is shown."""

_FPS = 25


def write_moving(records: Sequence[Record], path: Path, width: int, seconds: float) -> int:
    """Draw every position of the games, all cards open, as an animation; returns how many.

    Args:
        records: the games, one behind the other.
        path: the file; its suffix, one of `MOVING`, selects the format.
        width: of the picture, in pixels.
        seconds: for which each position is shown; the end of a deal three times as long.

    Raises:
        HeartsError: if a library is not installed, or a number is out of range.
        OSError: if the file cannot be written.
    """
    check_range("--seconds", seconds, 0.02, 60)
    check_number("--width", width, 160, 4096)
    data, number = MOVING[path.suffix.lower()](_frames(records, width, seconds))
    write_whole(path, data)
    return number


def _frames(records: Sequence[Record], width: int, seconds: float) -> Iterator[Frame]:
    from hearts_env.render import render_rgb

    for record in records:
        shown = len(record.game.actions)
        for number, picture in enumerate(pictures_of(record)):
            yield render_rgb(picture, width), seconds * (END if number == shown else 1)


def _gif(frames: Iterable[Frame]) -> tuple[bytes, int]:
    from PIL import Image

    images: list[Any] = []
    times = []
    for pixels, time in frames:  # a byte a pixel is kept, a third of what is drawn
        images.append(Image.fromarray(pixels).quantize(64, dither=Image.Dither.NONE))
        times.append(round(1000 * time))
    out = io.BytesIO()
    images[0].save(
        out, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0, optimize=True
    )
    return out.getvalue(), len(images)


def _mp4(frames: Iterable[Frame]) -> tuple[bytes, int]:
    """H.264 with 25 frames a second, which every browser plays; width and height are made even."""
    imageio_ffmpeg = library("imageio_ffmpeg", "moving picture: .mp4 (not .gif)", "video")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deal.mp4"
        writer: Any = None
        shown = number = 0
        due = 0.0
        try:
            for pixels, time in frames:
                height, width = (size // 2 * 2 for size in pixels.shape[:2])
                if writer is None:
                    writer = imageio_ffmpeg.write_frames(
                        str(path), (width, height), fps=_FPS, macro_block_size=2
                    )
                    writer.send(None)
                number += 1
                due += _FPS * time  # of the whole animation, so that rounding does not add up
                while shown < round(due) or shown < 1:
                    writer.send(pixels[:height, :width].tobytes())
                    shown += 1
        finally:
            if writer is not None:
                writer.close()
        return path.read_bytes(), number


MOVING: dict[str, Callable[[Iterable[Frame]], tuple[bytes, int]]] = {".gif": _gif, ".mp4": _mp4}
"""What writes an animation, by the suffix of its file."""
