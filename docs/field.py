"""Play the fields of the benchmark against themselves, for the cross tables of its reports.

    python docs/field.py [TRACK ...]

Every player of a field meets every other on the track's own deals; on `classic` and `party-5`,
where a deal of `pro` takes seconds, on the first of them. Each track and split that is done is in
the package's file (``hearts_train.measure.field``) and is not played again.
"""

from __future__ import annotations

import sys

from hearts_env.files import write_whole
from hearts_train import console
from hearts_train.measure.benchmark import SPLITS, TRACKS
from hearts_train.measure.field import FILE, encoded, pairings_of, read_field
from hearts_train.measure.tournament import tournament

_MOST = {"classic": 100, "party-5": 100}


def main(names: list[str]) -> int:
    """Play what is missing."""
    tables = read_field()
    for track in TRACKS.values():
        for split in SPLITS:
            key = f"{track.name} {split}"
            if key in tables or (names and track.name not in names):
                continue
            with console.progress(key) as tell:
                pairs = _MOST.get(track.name, track.pairs)
                played = tournament(track.field, track.rules, pairs, track.seed(split), tell)
            if played.interrupted:
                return console.INTERRUPTED
            tables[key] = {"pairs": pairs, "pairings": pairings_of(played)}
            write_whole(FILE, encoded(tables))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
