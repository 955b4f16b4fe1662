"""Tables of results as text, which ``print(result)`` and the commands show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ResultTable(NamedTuple):
    """A table.

    Attributes:
        title: the title, which may be empty.
        columns: the headings.
        rows: the cells as text.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        columns, *rows = [[visible(cell) for cell in row] for row in (self.columns, *self.rows)]
        return format_table(visible(self.title), columns, rows)


def format_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines, the first column left-aligned and all others right-aligned."""
    table = [columns, *rows]
    first, *others = (max(map(len, column)) for column in zip(*table, strict=True))
    lines = [
        "  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip() for row in table
    ]
    return "\n".join([title, lines[0], "─" * (first + sum(others) + 2 * len(others)), *lines[1:]])


def visible(text: str) -> str:
    """Return text with invisible characters written out, because names may come from any file."""
    return text if text.isprintable() else repr(text)[1:-1]
