"""How the players of the benchmark's fields do against each other, on the tracks' own deals.

They do not change, so the figures are shipped: ``bench/benchmark_field.py`` played them. A table is
of deals, not of a version of the protocol: it serves every version that has its deals.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

from hearts_train.measure.benchmark_file import rounded
from hearts_train.measure.tournament import Tournament

FILE = Path(str(files("hearts_train.measure") / "field.json"))
Table = dict[str, Any]
"""``seed``, that of the deals; ``deals``, the duplicate deals; and ``pairings``: ``agent``,
``opponent``, ``margin`` and ``ci95``, both ways round."""


def read_field() -> dict[str, Table]:
    """The table of each track and split, ``"two_player dev"`` for example, that was played."""
    tables: dict[str, Table] = json.loads(FILE.read_bytes()) if FILE.exists() else {}
    return tables


def missing(table: Table, players: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Which two of these players a table does not have."""
    played = {(pairing["agent"], pairing["opponent"]) for pairing in table["pairings"]}
    return (pair for pair in combinations(players, 2) if pair not in played)


def pairings_of(played: Tournament) -> list[dict[str, Any]]:
    """Every player against every other; they were entered by name and version."""
    found = []
    for i, agent in enumerate(played.agents):
        for j, opponent in enumerate(played.agents):
            if i != j:
                margin, ci95 = played.margin(i, j)
                found.append(
                    {
                        "agent": agent,
                        "opponent": opponent,
                        "margin": rounded(margin),
                        "ci95": [rounded(bound) for bound in ci95],
                    }
                )
    return found
