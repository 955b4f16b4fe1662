"""The page and the picture of an analysed deal: fit for narrow screens and dark mode.

Colours are Okabe and Ito's, and each comes with a sign, so that no reader needs the colour.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hearts_env.files import write_whole
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


LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "red": "#a3150e",
    "line": "#c9cfd6",
    "chip": "#eef1f4",
    "best": "#cdeee3",
    "slip": "#fdf0d0",
    "blunder": "#f8dcc8",
}
DARK = {
    "paper": "#16191d",
    "ink": "#eceff2",
    "red": "#ffb4a8",
    "line": "#4a525c",
    "chip": "#2b323a",
    "best": "#0b4a39",
    "slip": "#57420a",
    "blunder": "#6b2f05",
}


def _variables(colors: dict[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in colors.items())


_STYLE = (
    f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
"""
    + """
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: var(--ink);
  background: var(--paper); }
main { margin: 0 auto; max-width: 64rem; padding: 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; padding: .5rem 0; }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid var(--line); }
td.n { text-align: right; } tr.first td { border-top: 2px solid var(--ink); }
.cards td:nth-child(3) { white-space: nowrap; }
.red { color: var(--red); }
.chip { display: inline-block; padding: 0 .4rem; margin: .15rem .2rem .15rem 0;
  border-radius: .3rem; background: var(--chip); white-space: nowrap; }
.played { outline: 2px solid var(--ink); }
.best { background: var(--best); } .slip { background: var(--slip); }
.blunder { background: var(--blunder); }
figure { margin: 1rem 0; overflow-x: auto; background: #fff; border-radius: .3rem; }
figure svg { display: block; min-width: 36rem; max-width: 100%; height: auto; }
@media (max-width: 700px) {
  .cards, .cards tbody, .cards tr, .cards td, .cards caption { display: block; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .cards tr { border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0; }
  .cards tr.first td { border-top: 0; }
  .cards td, .cards td.n { display: flex; justify-content: space-between; gap: 1rem;
    text-align: right; border-bottom: 0; }
  .cards td:empty { display: none; }
  .cards td.wide { display: block; text-align: left; }
  .cards td::before { content: attr(data-label); text-align: left; font-weight: 600; }
  .cards td.wide::before { display: block; }
}
"""
)
_SUITS = {"C": "♣", "D": "♦", "S": "♠", "H": "♥"}
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
    parts = [
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<title>Hearts, card by card</title>",
        f"<style>{_STYLE}</style></head><body><main><h1>Hearts, card by card</h1>",
        _LEGEND,
    ]
    for number, analysis in enumerate(analyses, 1):
        parts += _deal_html(analysis, number)
    parts.append("</main></body></html>\n")
    write_whole(path, "\n".join(parts).encode())


def _deal_html(analysis: Analysis, number: int) -> list[str]:
    game, start = analysis.game, analysis.game.start()
    names = [html.escape(name) for name in analysis.names]
    parts = [f"<section><h2>Deal {number}: {html.escape(game.rules.name)}</h2>", "<table>"]
    parts.append("<caption>The hands as dealt</caption>")
    parts += [
        f"<tr><th scope='row'>{names[p]}</th><td>{_cards(start.hand(p))}</td></tr>"
        for p in range(2)
    ]
    if game.kitty:
        parts.append(f"<tr><th scope='row'>Dead</th><td>{_cards(game.kitty)}</td></tr>")
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
            ("", f"<span>{_cards([m.card])} {m.mark}</span>"),
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
            f"<span class='{' '.join(kinds)}'>{sign}{_cards([card])} {value:+d}{mean}</span>"
        )
    return " ".join(chips)


def _cards(cards: Sequence[str]) -> str:
    spans = []
    for card in cards:
        kind = " class='red'" if card[1] in "DH" else ""
        spans.append(f"<span{kind}>{card[0]}{_SUITS[card[1]]}</span>")
    return " ".join(spans)
