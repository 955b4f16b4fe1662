"""Hand histories as moving pictures: GIF, and MP4."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hearts_env import HeartsError
from hearts_env.game.notation import Record
from hearts_env.support.arguments import check_range
from hearts_env.support.errors import needs
from hearts_env.support.files import write_whole
from hearts_train.command.replay import pictures_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Frame: TypeAlias = "tuple[NDArray[np.uint8], float]"
"""A picture, and for how many seconds it is shown."""

END = 3
"""How many times as long the end of a deal is shown."""

_FPS = 25


def write_moving(records: Sequence[Record], path: Path, width: int, seconds: float) -> int:
    """Draw every position of the games, all cards open; returns how many there are.

    Args:
        records: the games, one behind the other.
        path: the file; its suffix, ``.gif`` or ``.mp4``, says which kind.
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
                due += _FPS * time  # of all so far, so that short times add up
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
