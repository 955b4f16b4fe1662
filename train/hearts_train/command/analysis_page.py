"""The page and the picture of an analysed deal."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hearts_env.files import write_whole
from hearts_train.command.page import cards_html, page
from hearts_train.measure.analysis import BLUNDER, SLIP, Analysis, Moment, possessive, summary
from hearts_train.measure.pictures import (
    BLACK,
    BLUE,
    GREY,
    VERMILLION,
    literal,
    save_figure,
    svg_text,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIDES = ((VERMILLION, "o", -14), (BLUE, "s", 8))
"""Colour, sign and height of the names of the cards of seat 0 and of seat 1."""


def draw(analysis: Analysis, path: Path) -> None:
    """Draw the margin over the deal into a picture."""
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


_HEADS = ("Trick", "Player", "Card", "Margin", "Lost", "Expected", "Worlds", "Worth")
_LEGEND = """<p>Margins are points by which a player leads in the whole deal.</p><ul>
<li><b>Margin</b>: that of the first player if both play on as well as possible, all cards
seen.</li>
<li><b>Lost</b>: points that the card cost, all cards seen. <b>Expected</b>: points that it cost on
average over the <b>worlds</b>, all hands that the other player could have had.</li>
<li><b>Worth</b>: the margin, for whoever plays, after each card that was legal: all cards seen, and
in brackets on average over the worlds.
<span class='chip best'>✓ best</span> <span class='chip'>less than a point worse</span>
<span class='chip slip'>? a slip: a point or more</span>
<span class='chip blunder'>?? a blunder: five or more</span>
<span class='chip played'>what was played</span></li></ul>"""


def write_html(analyses: Sequence[Analysis], path: Path) -> None:
    """A self-contained page: the hands, the margin over the deal, every card's worth."""
    parts = [_LEGEND]
    for number, analysis in enumerate(analyses, 1):
        parts += _deal_html(analysis, number)
    write_whole(path, page("Hearts, card by card", parts))


def _deal_html(analysis: Analysis, number: int) -> list[str]:
    game, start = analysis.game, analysis.game.start()
    names = [html.escape(name) for name in analysis.names]
    parts = [f"<section><h2>Deal {number}: {html.escape(game.rules.name)}</h2>", "<table>"]
    parts.append("<caption>The hands as dealt</caption>")
    parts += [
        f"<tr><th scope='row'>{names[p]}</th><td>{cards_html(start.hand(p))}</td></tr>"
        for p in range(2)
    ]
    if game.kitty:
        parts.append(f"<tr><th scope='row'>Dead</th><td>{cards_html(game.kitty)}</td></tr>")
    parts.append("</table>")
    parts += [f"<p>{html.escape(line)}</p>" for line in summary(analysis)]
    label = f"The margin of {names[0]} over deal {number}, card by card; the table below has it too"
    parts.append(f"<figure tabindex='0' role='group' aria-label=\"{label}\">")
    parts += [svg_text(_figure(analysis), f"deal{number}"), "</figure>"]
    heads = "".join(f"<th scope='col'>{head}</th>" for head in _HEADS)
    parts.append(f"<table class='cards'><caption>Card by card</caption><thead><tr>{heads}</tr>")
    parts.append("</thead><tbody>")
    before = 0
    for m in analysis.moments:
        first = " class='first'" if m.trick != before else ""
        before = m.trick
        forced = len(m.values) == 1
        cells = [
            ("", str(m.trick)),
            ("", names[m.player]),
            ("", f"<span>{cards_html([m.card])} {m.mark}</span>"),
            ("n", f"{m.after:+d}"),
            ("n", "" if forced or not m.lost else str(m.lost)),
            ("n", "" if forced or not m.means else f"{m.expected_loss:.2f}"),
            ("n", str(m.worlds or "")),
            ("wide", _chips(m)),
        ]
        row = "".join(
            f"<td{f' class={kind!r}' if kind else ''} data-label='{head}'>{text}</td>"
            for head, (kind, text) in zip(_HEADS, cells, strict=True)
        )
        parts.append(f"<tr{first}>{row}</tr>")
    parts.append("</tbody></table></section>")
    return parts


def _chips(moment: Moment) -> str:
    if len(moment.values) == 1:
        return "forced"
    worth: dict[str, float] = moment.means or dict(moment.values)
    best = max(worth.values())
    chips = []
    for card, value in moment.values.items():
        # What reads the same is marked the same.
        is_best = f"{worth[card]:.1f}" == f"{best:.1f}"
        loss = best - worth[card]
        kind, sign = ("best", "✓ ") if is_best else ("", "")
        if loss >= BLUNDER:
            kind, sign = "blunder", "?? "
        elif loss >= SLIP:
            kind, sign = "slip", "? "
        kinds = ["chip", *filter(None, [kind]), *["played"] * (card == moment.card)]
        mean = f" ({moment.means[card]:+.1f})" if moment.means else ""
        chips.append(
            f"<span class='{' '.join(kinds)}'>{sign}{cards_html([card])} {value:+d}{mean}</span>"
        )
    return " ".join(chips)
