"""Results as tables: the same rows on a terminal, on a page and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hearts_train.measure.intervals import Interval
from hearts_train.measure.pictures import short_names

OF_BOTH = "{}: own, other's"
"""The heading of a column with two figures: the agent's and its opponent's."""


@dataclass(frozen=True)
class ResultTable:
    """A table.

    Attributes:
        title: what it shows; may be empty.
        columns: the headings.
        rows: the cells, as text.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_html(self) -> str:
        """The table for a notebook: no styles of its own, every text escaped."""
        parts = ["<table>"]
        if self.title:
            parts.append(f"<caption>{html.escape(self.title)}</caption>")
        heads = "".join(f'<th scope="col">{html.escape(c)}</th>' for c in self.columns)
        parts.append(f"<thead><tr>{heads}</tr></thead><tbody>")
        for row in self.rows:
            parts.append(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            )
        return "\n".join([*parts, "</tbody></table>", ""])


Margins = Mapping[tuple[str, str], tuple[float, Interval]]
"""The margin of one agent over another, by their names, and its interval."""


def both_ways(margins: Margins) -> dict[tuple[str, str], tuple[float, Interval]]:
    """Margins with those of the other over the one."""
    back = {
        (other, one): (0.0 - margin, (-high, -low))
        for (one, other), (margin, (low, high)) in margins.items()
    }
    return back | dict(margins)


def cross_table(names: Sequence[str], margins: Margins) -> ResultTable:
    """The margin of each row's agent over each column's; a dash where they have not played."""
    short = short_names(names)
    rows = [
        [short[one]]
        + [
            "" if one == other else format_margin(*margins.get((one, other), (None, None)))
            for other in names
        ]
        for one in names
    ]
    return ResultTable("", ["margin of", *(f"over {short[name]}" for name in names)], rows)


def format_margin(margin: float | None, ci95: Interval | None) -> str:
    """Like ``+2.13 ± 0.10``."""
    if margin is None or ci95 is None:
        return "-"
    return format_interval(margin, ci95, "+z.2f")


def format_interval(mean: float, ci95: Interval, form: str = ".2f") -> str:
    """Like ``2.13 ± 0.02``: a mean, and half its interval with as many digits, but no sign."""
    return f"{mean:{form}} ± {(ci95[1] - ci95[0]) / 2:{form.lstrip('+z')}}"


def format_ms(milliseconds: float) -> str:
    """Milliseconds to three decimal places."""
    return f"{milliseconds:.3f}" if milliseconds >= 0.001 else "<0.001"
