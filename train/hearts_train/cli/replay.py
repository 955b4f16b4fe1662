"""Hand histories replayed: deals and plays as text, pictures as SVG."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hearts_env import Game, HeartsError, NotationError
from hearts_env.game.notation import Record, parse_records
from hearts_env.support.arguments import check_range
from hearts_env.support.errors import needs
from hearts_env.support.files import read_limited, write_whole
from hearts_train.cli.cardtext import CardText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hearts_env.render import TablePicture

PROMPT = "Enter next, b back, number of a trick, q quit> "
_MOST = 64 * 2**20  # bytes: some fifty thousand deals
_PLURAL = {"passes": "pass", "has": "have"}


def read_records(path: Path) -> list[Record]:
    """The games of a file with their tags, each play checked.

    Raises:
        NotationError: if it is not text, or not hand histories; the message names the line.
    """
    try:
        return parse_records(read_limited(path, _MOST, "hand histories").decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise NotationError(f"{path}: it is not text; give a file of hand histories") from None
    except NotationError as error:
        raise NotationError(f"{path}: {error}") from None


def read_games(path: Path) -> list[Game]:
    """The games of a file, each play checked.

    Raises:
        NotationError: if it is not text, or not hand histories; the message names the line.
    """
    return [record.game for record in read_records(path)]


def verb(name: str, does: str) -> str:
    """A verb as it follows a name: ``leads``, but ``lead`` after ``You``."""
    plain = _PLURAL.get(does, does.removesuffix("s"))
    return plain if name.partition(" ")[0] == "You" else does


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

    def does(seat: int, word: str) -> str:
        return f"{names[seat]} {verb(names[seat], word)}"

    for action in game.actions:
        seat, phase = replay.player, replay.phase
        assert seat is not None
        trick = replay.trick_number + 1
        if action == -1:
            replay.revoke()
            yield (
                trick,
                f"{does(seat, 'plays')} an illegal card and {verb(names[seat], 'pays')} for all",
            )
            continue
        kitty_taker = replay.kitty_taker
        replay.play(action)
        if phase == "pass":
            passed = replay.passed(seat)
            if len(passed) == rules.pass_count:
                yield 0, f"{does(seat, 'passes')} {cards.cards(passed)} {replay.direction}"
        elif phase == "moon":
            choice = rules.action_name(action).partition(":")[2]
            yield (
                len(replay.tricks),
                f"{does(seat, 'takes')} the points off"
                if choice == "off"
                else f"{does(seat, 'lets')} the others pay",
            )
        elif not replay.trick:
            awards = replay.kitty_taker != kitty_taker
            text = _trick(replay, names, cards, awards_kitty=awards)
            if replay.shooter is not None:
                text += f"\n{does(replay.shooter, 'has')} shot the moon"
            yield trick, text
    if replay.trick:
        yield (
            replay.trick_number + 1,
            (f"{replay.trick_number + 1:2}. {_plays(replay.trick, names, cards)} ..."),
        )


def _plays(trick: Sequence[tuple[int, str]], names: Sequence[str], cards: CardText) -> str:
    leader = names[trick[0][0]]
    return f"{leader} {verb(leader, 'leads')}: " + " ".join(cards.card(card) for _, card in trick)


def _trick(game: Game, names: Sequence[str], cards: CardText, *, awards_kitty: bool) -> str:
    trick, taker = game.tricks[-1], names[game.trick_takers[-1]]
    text = f"{len(game.tricks):2}. {_plays(trick, names, cards)}   taken by {_object(taker)}"
    if worth := _worth(game, [card for _, card in trick]):
        text += f", {worth}"
    if awards_kitty:
        text += f", and the kitty {cards.cards(game.kitty)} {_worth(game, game.kitty)}".rstrip()
    return text


def _object(name: str) -> str:
    return "you" if name == "You" else name


def _worth(game: Game, cards: Sequence[str]) -> str:
    """The points of cards, like ``+5``; empty if there are none."""
    points = sum(game.rules.card_points.get(card, 0) for card in cards)
    return f"{points:+d}" if points else ""


def footer(record: Record) -> str:
    """The scores."""
    game = record.game
    scores = ", ".join(
        f"{name} {score}" for name, score in zip(record.names(), game.scores(), strict=True)
    )
    return ("scores: " if game.is_over else "not finished; points so far: ") + scores


def write_pictures(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw the start and every action of the games, all cards open, as SVG files in a folder."""
    from hearts_env.render import render_svg

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, record in enumerate(records, 1):
        for step, picture in enumerate(pictures_of(record)):
            path = folder / f"game{number:03}-{step:03}.svg"
            write_whole(path, render_svg(picture).encode())
            paths.append(path)
    return paths


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
    """Draw every position of the games, all cards open; returns how many there are.

    Args:
        records: the games, one behind the other.
        path: the file; its suffix, ``.gif`` or ``.mp4``, selects the format.
        width: of the picture, in pixels.
        seconds: for which each position is shown; the end of a deal three times as long.

    Raises:
        HeartsError: if the suffix is another, a library is not installed, or a number is out of
            range.
        OSError: if the file cannot be written.
    """
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        known = " or ".join(_WRITERS)
        raise HeartsError(
            f"moving picture: {path.name!r} has an unknown suffix; choose {known}", value=path.name
        )
    check_range("--seconds", seconds, 0.02, 60)
    data, number = write(_frames(records, width, seconds))
    write_whole(path, data)
    return number


def _frames(records: Sequence[Record], width: int, seconds: float) -> Iterator[Frame]:
    from hearts_env.render import render_rgb

    for record in records:
        shown = len(record.game.actions)
        for number, picture in enumerate(pictures_of(record)):
            try:
                pixels = render_rgb(picture, width)
            except ValueError as error:
                raise HeartsError(f"--{error}") from None
            except ImportError as error:
                raise HeartsError(str(error)) from None
            yield pixels, seconds * (END if number == shown else 1)


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
    try:
        import imageio_ffmpeg
    except ImportError:
        raise HeartsError(f"moving picture: .mp4 {needs('video')}; or write a .gif") from None
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


_WRITERS: dict[str, Callable[[Iterable[Frame]], tuple[bytes, int]]] = {
    ".gif": _gif,
    ".mp4": _mp4,
}
