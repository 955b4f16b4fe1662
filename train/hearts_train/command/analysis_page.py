"""What ``hearts analyse`` shows: a table, sentences, a picture. Its page is the analysis board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hearts_env.game.notation import Record
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.support.progress import Progress
from hearts_train.measure.analysis import (
    Analysis,
    analyse,
    columns,
    possessive,
    rows,
    summary,
)
from hearts_train.measure.pictures import (
    BLACK,
    BLUE,
    GREY,
    VERMILLION,
    literal,
    save_figure,
    wrapped,
)
from hearts_train.measure.sampled import (
    COLUMNS,
    SampledAnalysis,
    analyse_sampled,
    sampled_rows,
    sampled_summary,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Told(NamedTuple):
    """An analysis as a table and sentences."""

    columns: Sequence[str]
    rows: list[list[str]]
    summary: list[str]


def analysed(
    record: Record, progress: Progress, *, worlds: bool = True
) -> Analysis | SampledAnalysis:
    """Measure a deal: exactly with two players and no exchange, else by samples."""
    game, names = record.game, record.names()
    if has_exact_worlds(game.rules):
        return analyse(game, worlds=worlds, progress=progress, names=names)
    return analyse_sampled(game, progress=progress, names=names)


def told(analysis: Analysis | SampledAnalysis) -> Told:
    """What the terminal shows of it."""
    if isinstance(analysis, Analysis):
        return Told(columns(analysis), rows(analysis), summary(analysis))
    return Told(COLUMNS, sampled_rows(analysis), sampled_summary(analysis))


_SIDES = ((VERMILLION, "o", -14), (BLUE, "s", 8))
"""Colour, sign and height of the names of the cards of seat 0 and of seat 1."""


def draw(analysis: Analysis | SampledAnalysis, path: Path) -> None:
    """Draw the margin over a deal that was measured exactly into a picture."""
    assert isinstance(analysis, Analysis), "the command refuses others"
    save_figure(_figure(analysis), path)


def _figure(analysis: Analysis) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots()
    values = np.array([analysis.before, *(m.after for m in analysis.moments)])
    places = np.arange(len(values))
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.step(places, values, where="mid", color=BLACK, linewidth=1.4)
    for side, (color, sign, height) in enumerate(_SIDES):
        lost = [m for m in analysis.moments if m.player == side and m.lost]
        axes.plot(
            [m.number + 1 for m in lost],
            [m.after for m in lost],
            sign,
            color=color,
            markersize=6,
            label=literal(f"{analysis.names[side]} lost points"),
        )
        for m in lost:
            axes.annotate(
                f"{m.card} {m.mark}".rstrip(),
                (m.number + 1, m.after),
                (0, height),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=BLACK,
            )
    axes.set_xticks(places[1::2], [str(m.trick) for m in analysis.moments[::2]])
    axes.margins(y=0.2)
    axes.set_xlabel("trick")
    axes.set_ylabel(
        f"{wrapped(possessive(analysis.names[0]), 24)} margin\nunder best play from here"
    )
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
