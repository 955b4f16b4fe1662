"""The parts that all report pages share: styles for narrow screens and dark mode, cards, tables.

Colours are Okabe and Ito's, and each comes with a sign, so that no reader needs the colour. A page
is one file and needs no network.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

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


STYLE = (
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
td.n { text-align: right; }
.cards td:nth-child(3) { white-space: nowrap; }
.scroll { overflow-x: auto; }
@media (min-width: 701px) { .cards { width: 100%; } .cards td { white-space: nowrap; }
  .cards td.wide { width: 100%; } }
.red { color: var(--red); }
.chip { display: inline-block; padding: 0 .4rem; margin: .15rem .2rem .15rem 0;
  border-radius: .3rem; background: var(--chip); white-space: nowrap; }
.slip { background: var(--slip); } .blunder { background: var(--blunder); }
.bar { display: block; width: 100%; min-width: 10rem; height: 1.2rem; color: var(--ink); }
@media (max-width: 700px) {
  .cards, .cards tbody, .cards tr, .cards td, .cards caption { display: block; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .cards tr { border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0; }
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


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def page(title: str, parts: Sequence[str]) -> bytes:
    """A whole page made of these HTML parts."""
    escaped = html.escape(title)
    head = [
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{escaped}</title>",
        f"<style>{STYLE}</style></head><body><main><h1>{escaped}</h1>",
    ]
    text = "\n".join([*head, *parts, "</main></body></html>\n"])
    return text.encode(errors="xmlcharrefreplace")  # a path may have bytes that are no text


def cards_html(cards: Sequence[str]) -> str:
    """Cards with the signs of their suits."""
    spans = []
    for card in cards:
        kind = " class='red'" if card[1] in "DH" else ""
        spans.append(f"<span{kind}>{card[0]}{_SUITS[card[1]]}</span>")
    return " ".join(spans)


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    wide: int | None = None,
    kinds: Sequence[Sequence[str]] | None = None,
) -> list[str]:
    """A table that scrolls on its own; on a narrow screen each row becomes a card.

    Args:
        caption: what it shows.
        columns: the heads.
        rows: the cells: text, or ``Html``.
        wide: the column that takes the remaining width.
        kinds: the classes of single cells.
    """
    heads = [html.escape(column[:1].upper() + column[1:]) for column in columns]
    head = "".join(f"<th scope='col'>{one.replace('_', '_<wbr/>')}</th>" for one in heads)
    label = html.escape(caption)
    parts = [
        f"<div class='scroll' tabindex='0' role='region' aria-label='{label}'>"
        f"<table class='cards'><caption>{label}</caption><thead><tr>{head}</tr></thead><tbody>"
    ]
    for number, row in enumerate(rows):
        cells = []
        for place, cell in enumerate(row):
            text = cell if isinstance(cell, Html) else html.escape(cell)
            kind = "wide" if place == wide else "n" if place else "name"
            more = kinds[number][place] if kinds is not None else ""
            label = f" data-label='{heads[place]}'" if text else ""
            cells.append(f"<td class='{kind} {more}'{label}>{text}</td>")
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return [*parts, "</tbody></table></div>"]


def bars(rows: Sequence[Mapping[str, Any]]) -> tuple[str, list[Html]]:
    """The scale on which all these margins are, in words, and a bar for each."""
    ends = [bound for row in rows for bound in row["ci95"]]
    low, high = min(0.0, *ends), max(0.0, *ends)
    scale = f"the bars are 95 % intervals on a scale from {low:+.1f} to {high:+.1f}"
    return scale, [bar(row["margin"], row["ci95"], low, high) for row in rows]


def bar(mean: float, ci95: list[float], low: float, high: float) -> Html:
    """An interval on a scale from `low` to `high`, as a picture as wide as its cell."""
    scale = 980 / (high - low) if high > low else 0.0
    left, right, middle, zero = (10 + (x - low) * scale for x in (*ci95, mean, 0.0))
    return Html(
        "<svg class='bar' viewBox='0 0 1000 20' preserveAspectRatio='none' role='img' "
        f"aria-label='{mean:+.2f}, from {ci95[0]:+.2f} to {ci95[1]:+.2f}'>"
        f"<path d='M{zero:.1f} 0V20' stroke='currentColor' stroke-width='1' "
        "vector-effect='non-scaling-stroke'/>"
        f"<path d='M{left:.1f} 10H{right:.1f}' stroke='#0072B2' stroke-width='6' "
        "vector-effect='non-scaling-stroke'/>"
        f"<path d='M{middle:.1f} 3V17' stroke='currentColor' stroke-width='3' "
        "vector-effect='non-scaling-stroke'/></svg>"
    )
