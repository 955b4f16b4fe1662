"""Display results: short names, pictures and tables.

The suffix of a picture decides its format.
"""

from __future__ import annotations

import importlib.util
import io
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hearts_agents.registry import OWN, split_version
from hearts_env import HeartsError
from hearts_env.support.errors import library, needs
from hearts_env.support.files import check_output, write_whole
from hearts_train.measure.statistics import Interval
from hearts_train.screen import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")

# From the palette of Okabe and Ito, safe for colour-blind readers (jfly.uni-koeln.de/color).
BLUE = "#0072B2"
GREY = "#8A8A8A"


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names of agents for a picture or table. A run is named by its folder.

    Paths keep as many parts as are needed to distinguish the agents. A path that would look like a
    built-in agent does not change.
    """
    length = 1
    while True:
        short = {name: _short(name, length) for name in names}
        if len(set(short.values())) == len(short) or length > max(n.count("/") for n in names) + 1:
            return short
        length += 1


def _short(name: str, length: int) -> str:
    path, mark, options = name.partition("?")
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]
    if len(parts) < 2 or ":" in path:
        return name
    if parts[-1] == "checkpoint.safetensors":
        parts.pop()  # the folder is the run, and has the name
    elif len(parts) > 2 and parts[-2] == "checkpoints":
        parts[-3:] = [f"{parts[-3]} {parts[-1]}"]
    parts[-1] = parts[-1].removesuffix(".safetensors")
    short = "/".join(parts[-length:])
    return name if split_version(short)[0] in OWN else short + mark + options


def check_picture(path: Path | None, option: str = "--plot") -> None:
    """Raise unless a picture can be drawn to the file, before anything is measured.

    Raises:
        HeartsError: if the suffix is not .png, .svg or .pdf, the folder does not exist, or
            matplotlib is not installed.
    """
    if path is None:
        return
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        known = ", ".join(f".{kind}" for kind in FORMATS)
        raise HeartsError(f"{option}: {path.name!r} has an unknown suffix; use {known}")
    if importlib.util.find_spec("matplotlib") is None:
        raise HeartsError(f"{option}: drawing {needs('train')}")
    check_output(path, option)


def literal(text: str) -> str:
    """Escape text that contains a name, so matplotlib shows it unchanged.

    Matplotlib sets text between dollar signs as a formula, and omits from the legend a label that
    begins with an underscore.
    """
    escaped = printable(text).replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped  # a space of no width


def wrapped(title: str, width: int = 78) -> str:
    """Break a title into lines that fit over a figure, and escape it (``literal``)."""
    return literal(textwrap.fill(title, width))


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of this size in inches, laid out without overlaps.

    Raises:
        HeartsError: if matplotlib is not installed.
    """
    figures = library("matplotlib.figure", "plot: drawing", "train")
    figure: Figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure


def save_figure(figure: Figure, path: Path, *, dpi: int = 150) -> None:
    """Write a figure as PNG, SVG or PDF by the suffix, whole or not at all.

    Raises:
        HeartsError: if the suffix is none of these, or the folder does not exist.
    """
    check_picture(path, "plot")
    kind = path.suffix.lower().removeprefix(".")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    write_whole(path, _drawn(figure, kind, dpi, dates.get(kind, {})))


def _drawn(figure: Figure, kind: str, dpi: int, metadata: dict[str, None]) -> bytes:
    import matplotlib

    image = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "hearts"}):
        figure.savefig(
            image, format=kind, dpi=dpi, metadata=metadata, bbox_inches="tight", pad_inches=0.1
        )
    return image.getvalue()


# ---- tables --------------------------------------------------------------------------------------


def format_margin(margin: float | None, ci95: Interval | None) -> str:
    """Format a margin and half its interval, as in ``+2.13 ± 0.10``, or "-" if there is none."""
    if margin is None or ci95 is None:
        return "-"
    return format_interval(margin, ci95, "+z.2f")


def format_interval(mean: float, ci95: Interval, form: str = ".2f") -> str:
    """Format a mean and half its interval with equal digits, as in ``2.13 ± 0.02``."""
    return f"{mean:{form}} ± {(ci95[1] - ci95[0]) / 2:{form.lstrip('+z')}}"


def format_ms(milliseconds: float) -> str:
    """Format milliseconds with three decimal places."""
    return f"{milliseconds:.3f}" if milliseconds >= 0.001 else "<0.001"
