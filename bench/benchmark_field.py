"""Play the fields of the benchmark against themselves, for the cross tables of its reports.

    python bench/benchmark_field.py [TRACK ...]

Every two players of a field meet on the track's own deals; on `classic` and `party-5`, where a deal
of `pro` takes seconds, on the first of them. What is in the package's file
(``hearts_train.measure.benchmark.FIELD``) is not played again: of a player who has joined a field,
its own pairings only. Stop it at any time; it continues where it was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from hearts_env.support.files import write_json
from hearts_train import console
from hearts_train.measure.benchmark import FIELD, SPLITS, TRACKS, Track, read_field
from hearts_train.measure.tournament import Tournament, tournament
from hearts_train.store import rounded

_MOST = {"classic": 100, "party-5": 100}


def play(track: Track, split: str) -> bool:
    """Play what is missing on the deals of a split; returns whether it was stopped."""
    tables, key, seed = read_field(), f"{track.name} {split}", track.seed(split)
    if tables.get(key, {}).get("seed") != seed:
        deals = _MOST.get(track.name, track.deals)
        tables[key] = {"seed": seed, "deals": deals, "pairings": []}
    table = tables[key]
    for pair in list(missing(table, track.field)):
        console.note(f"{key}, {' against '.join(pair)}")
        played = tournament(pair, track.rules, table["deals"], seed, show=console.progress)
        if played.interrupted:
            return True
        table["pairings"] += pairings_of(played)
        write_json(FIELD, tables)
    return False


def missing(table: dict[str, Any], players: Sequence[str]) -> Iterator[tuple[str, str]]:
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


def main(names: list[str]) -> int:
    """Play what is missing."""
    for track in TRACKS.values():
        for split in SPLITS:
            if (not names or track.name in names) and play(track, split):
                return console.INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
