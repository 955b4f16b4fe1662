"""tests/data/verification.md: what the long checks found when they were last run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parent / "data" / "verification.md"
ORDER = ("lockstep", "options", "random rules", "micro", "mini", "perft", "worlds", "hidden")
ORDER += ("environments", "double dummy", "fuzz", "faults", "kills", "mutants", "matrix", "soak")
"""The sections; those from `fuzz` on are written by other commands."""

_OPENING = """\
# Verification

What `make verify` compared when it was last run. Everything agreed: the first difference would have
stopped it. Seconds are those of one process; two run at a time. `make test` runs a seeded sample of
each check. The sections at the end name the commands that write them.
"""


def section(
    name: str,
    says: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    texts: int = 1,
) -> str:
    """A section with a table.

    Args:
        name: its heading.
        says: what was done.
        columns: their heads; the first `texts` are to the left, the others to the right.
        rows: their cells; whole numbers get separators, fractions are rounded.
        texts: how many columns are texts.
    """
    lines = [f"## {name}", "", says, "", _line(columns)]
    lines.append("|" + "---|" * texts + "---:|" * (len(columns) - texts))
    return "\n".join([*lines, *map(_line, rows)]) + "\n"


def _line(cells: Sequence[object]) -> str:
    forms = {int: ",", float: ",.0f"}
    return "| " + " | ".join(format(cell, forms.get(type(cell), "")) for cell in cells) + " |"


def sections() -> dict[str, str]:
    """What the page has, by name."""
    parts = PAGE.read_text().split("\n## ")[1:] if PAGE.exists() else []
    return {part.partition("\n")[0]: "## " + part.rstrip() + "\n" for part in parts}


def table_rows(name: str) -> list[list[str]]:
    """The cells of the table in a section of the page, its heads first; empty without one."""
    lines = [line for line in sections().get(name, "").splitlines() if line[:1] == "|"]
    return [line.strip("| ").split(" | ") for line in [*lines[:1], *lines[2:]]]


def write_page(new: dict[str, str]) -> None:
    """Renew these sections of the page and keep the others."""
    parts = sections() | new
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join([_OPENING, *(parts[name] for name in ORDER if name in parts)]))
