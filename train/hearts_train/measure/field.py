"""How the players of the benchmark's fields do against each other, on the tracks' own deals.

They do not change, so the figures are shipped: ``docs/field.py`` played them.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from hearts_agents.registry import versioned
from hearts_train.measure.benchmark import FIELD_VERSION, PROTOCOL, rounded
from hearts_train.measure.tournament import Tournament

FILE = Path(str(files("hearts_train.measure") / "field.json"))
Table = dict[str, Any]
"""``pairs``, the duplicate deals, and ``pairings``, of every ordered pair: ``agent``, ``opponent``,
``margin`` and ``ci95``."""


def read_field() -> dict[str, Table]:
    """The table of each track and split, ``"two_player dev"`` for example, that was played."""
    record = json.loads(FILE.read_bytes()) if FILE.exists() else {}
    is_this = (record.get("protocol"), record.get("field_version")) == (PROTOCOL, FIELD_VERSION)
    tables: dict[str, Table] = record["tables"] if is_this else {}
    return tables


def encoded(tables: dict[str, Table]) -> bytes:
    """The file of these tables."""
    record = {"protocol": PROTOCOL, "field_version": FIELD_VERSION, "tables": tables}
    return (json.dumps(record, indent=1) + "\n").encode()


def pairings_of(played: Tournament) -> list[dict[str, Any]]:
    """Every player against every other."""
    found = []
    for i, agent in enumerate(played.agents):
        for j, opponent in enumerate(played.agents):
            if i != j:
                margin, ci95 = played.margin(i, j)
                found.append(
                    {
                        "agent": versioned(agent),
                        "opponent": versioned(opponent),
                        "margin": rounded(margin),
                        "ci95": [rounded(bound) for bound in ci95],
                    }
                )
    return found
