"""Hand histories as moving pictures: GIF, and MP4."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearts_env import HeartsError
from hearts_env.errors import install
from hearts_env.files import write_whole
from hearts_env.notation import Record
from hearts_train.command.replay import pictures_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        raise HeartsError(f"moving picture: {path.name!r} has an unknown suffix; choose {known}")
    if not 0.02 <= seconds <= 60:
        raise HeartsError(f"--seconds: {seconds:g} is not within 0.02 to 60")
    frames, times = [], []
    for record in records:
        for pixels in _frames(record, width):
            frames.append(pixels)
            times.append(seconds)
        times[-1] *= END
    write_whole(path, write(frames, times))
    return len(frames)


def _frames(record: Record, width: int) -> Iterator[NDArray[np.uint8]]:
    from hearts_env.render import render_rgb

    for picture in pictures_of(record):
        try:
            yield render_rgb(picture, width)
        except ValueError as error:
            raise HeartsError(f"--{error}") from None
        except ImportError as error:
            raise HeartsError(str(error)) from None


def _gif(frames: Sequence[NDArray[np.uint8]], times: Sequence[float]) -> bytes:
    from PIL import Image

    images: list[Any] = [
        Image.fromarray(pixels).quantize(64, dither=Image.Dither.NONE) for pixels in frames
    ]
    out = io.BytesIO()
    images[0].save(
        out,
        "GIF",
        save_all=True,
        append_images=images[1:],
        duration=[round(1000 * time) for time in times],
        loop=0,
        optimize=True,
    )
    return out.getvalue()


def _mp4(frames: Sequence[NDArray[np.uint8]], times: Sequence[float]) -> bytes:
    """H.264 with 25 frames a second, which every browser plays; width and height are made even."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise HeartsError(
            f"moving picture: .mp4 needs imageio-ffmpeg; install it: {install('video')}, or "
            "write a .gif"
        ) from None
    height, width = (size // 2 * 2 for size in frames[0].shape[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deal.mp4"
        writer = imageio_ffmpeg.write_frames(
            str(path), (width, height), fps=_FPS, macro_block_size=2, ffmpeg_log_level="error"
        )
        writer.send(None)
        for pixels, time in zip(frames, times, strict=True):
            for _ in range(max(1, round(_FPS * time))):
                writer.send(pixels[:height, :width].tobytes())
        writer.close()
        return path.read_bytes()


_WRITERS: dict[str, Callable[[Sequence[NDArray[np.uint8]], Sequence[float]], bytes]] = {
    ".gif": _gif,
    ".mp4": _mp4,
}
