"""Make a dataset in a folder, part by part.

A part is a range of consecutive games. It depends only on its number, the options and the version
of the package. The content of a dataset is therefore the same for any number of processes and
interruptions. The tables of a part are files of the dataset. Its episodes wait in the folder
``.unfinished`` until all can be written as one. There is also a file with a record per finished
part: its counts, and the digest of each of its files. A part without a record, or with a missing or
damaged file, is played again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError
from hearts_env import kernel as k
from hearts_env.support.files import kind_of, remove_leftovers, write_json, write_whole
from hearts_env.support.progress import Progress, Show, silent
from hearts_train.data import tables
from hearts_train.data.datasheet import datasheet
from hearts_train.data.episodes import Episodes, write_minari
from hearts_train.data.options import DatasetOptions, check_libraries, versions
from hearts_train.data.playing import BLOCK, Played, Seating
from hearts_train.executor import check_executor, spread
from hearts_train.store import FileKind, Store, saving

FORMAT = "hearts-env dataset"
VERSION = 1
FACTS = "dataset.json"
SHEET = "README.md"
UNFINISHED = ".unfinished"
EPISODES = "minari"
"""The folder of the Minari dataset, a value for ``MINARI_DATASETS_PATH``."""
MOST_GAMES = 2048
"""Most games per part."""
_FEWEST_PARTS = 16
"""Fewest parts, so that processes can share small datasets, too."""
_MOST_FAULTS = 10
"""Most faults of external players that are described."""
PARTS = "parts.jsonl"
"""The file with the records of finished parts, in the folder ``UNFINISHED``."""
_KIND = FileKind(
    "hearts-env unfinished dataset",
    3,
    "resume",
    "an unfinished dataset",
    "delete the folder, and begin another dataset",
)


Part = tuple[dict[str, bytes], dict[str, Any]]
"""The files of a part, as content by path in the folder, and its counts."""


def part_size(games: int) -> int:
    """Return the games per part, a multiple of the games per block."""
    return min(MOST_GAMES, BLOCK * -(-games // (BLOCK * _FEWEST_PARTS)))


def play_part(seating: Seating, number: int) -> Part:
    """Play a part, in any process."""
    options = seating.options
    size = part_size(options.games)
    first = number * size // BLOCK
    last = -(-min(options.games, (number + 1) * size) // BLOCK)
    blocks = [seating.play(block) for block in range(first, last)]
    counts: dict[str, Any] = {
        "games": sum(len(block.seeds) for block in blocks),
        "decisions": sum(len(block.actions) for block in blocks),
        "moons": sum(int((block.states[:, k.SHOOTER] >= 0).sum()) for block in blocks),
        "revoked": sum(int((block.states[:, k.REVOKER] >= 0).sum()) for block in blocks),
        "faults": sum(len(block.faults) for block in blocks),
        "rows": 0,
        "episodes": 0,
        "steps": 0,
        "scores": np.sum([block.scores.sum(0) for block in blocks], 0).tolist(),
        "examples": [text for block in blocks for text in block.faults][:_MOST_FAULTS],
    }
    files = {}
    if "parquet" in options.formats:
        games = [tables.games_table(block, options) for block in blocks]
        decisions = [_decisions(seating, block) for block in blocks]
        for name, found in (("games", games), ("decisions", decisions)):
            files[f"{name}/part-{number:05}.parquet"] = tables.parquet_bytes(found)
        counts["rows"] = sum(table.num_rows for table in decisions)
    if "minari" in options.formats:
        episodes = Episodes.joined([Episodes.of(block, options) for block in blocks])
        texts = [text for block in blocks for text in tables.hand_histories(block, options)]
        files[_episodes_of(number)] = episodes.to_bytes(texts)
        counts |= {"episodes": len(episodes.lengths), "steps": int(episodes.lengths.sum())}
    return files, counts


def _decisions(seating: Seating, block: Played) -> tables.Arrow:
    values = None
    if seating.options.exact:
        rows = block.rows_of(seating.options.seats)
        values = seating.exact_values.of(block.views.subset(rows), block.others[rows])
    return tables.decisions_table(block, seating.options, values)


@dataclass(frozen=True)
class Dataset:
    """A finished dataset.

    Attributes:
        folder: Path of its folder.
        facts: Content of ``dataset.json``.
    """

    folder: Path
    facts: dict[str, Any]

    @property
    def episodes(self) -> Path:
        """The folder of its episodes, for ``minari.MinariDataset``."""
        return self.folder / EPISODES / self.facts["dataset_id"] / "data"


def make_dataset(
    folder: str | os.PathLike[str],
    options: DatasetOptions,
    *,
    workers: int | None = None,
    backend: str = "local",
    show: Show = silent,
    resume: bool = False,
) -> Dataset:
    """Play the games of a dataset and write its files.

    After Ctrl-C, or a kill, the finished parts remain, and `resume` continues with them.

    Args:
        folder: A new or empty folder.
        options: The options of the dataset.
        workers: Number of processes that play. The content does not depend on it.
        backend: ``local`` or ``ray`` (``hearts_train.executor``).
        show: Shows how many parts are played, and then written.
        resume: If True, continue the unfinished dataset in `folder`, which has the same options.

    Raises:
        HeartsError: the folder is in use or holds something else, a library is missing, or an agent
            is unknown or cannot play the rules.
        OSError: a file cannot be written. The finished parts remain.
    """
    folder = Path(folder)
    check_libraries(options.formats)
    workers, backend = check_executor(workers, backend)
    seating = Seating(options)
    unfinished_options(folder) if resume else _check_free(folder)
    path = folder / UNFINISHED / PARTS
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = options.to_json() | {"players": seating.digests}
    save, old = (None, path) if resume else (path, None)
    with saving(save, old, _KIND, settings) as store:
        assert store is not None
        finished = _finished(folder, store)
        number = -(-options.games // part_size(options.games))
        missing = [place for place in range(number) if place not in finished]
        if missing:
            seating.compile()
        work = functools.partial(play_part, seating)
        with (
            show("playing") as report,
            contextlib.closing(spread(work, missing, workers=workers, backend=backend)) as parts,
        ):
            report(len(finished), number)
            for place, part in zip(missing, parts, strict=True):
                finished[place] = _write_part(folder, place, part)
                store.append(finished[place])
                report(len(finished), number)
        with show("writing") as report:
            if "minari" in options.formats:
                # A killed attempt may have left some of it.
                shutil.rmtree(folder / EPISODES, ignore_errors=True)
                write_minari(folder / EPISODES, options, _episodes(folder, number, report))
            counts = [finished[place]["counts"] for place in range(number)]
            facts = _facts(options, seating.digests, counts)
            write_whole(folder / SHEET, datasheet(facts, options).encode())
            facts["files"] = _files(folder)
            write_json(folder / FACTS, facts)
        # The records go last: after a kill before that, work can be resumed.
        for place in range(number):
            (folder / _episodes_of(place)).unlink(missing_ok=True)
        shutil.rmtree(folder / UNFINISHED)
    return Dataset(folder, facts)


def is_unfinished(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds an unfinished dataset."""
    return kind_of(Path(folder) / UNFINISHED / PARTS) == "file"


def unfinished_options(folder: str | os.PathLike[str]) -> DatasetOptions:
    """Return the options of the unfinished dataset in a folder, or raise if there is none."""
    if not is_unfinished(folder):
        if kind_of(Path(folder) / UNFINISHED) == "folder":  # the first file could not be written
            raise HeartsError(
                f"resume: {str(folder)!r} holds no saved part, because the dataset was stopped "
                "before its first file; begin again without resume (--resume)"
            )
        is_done = kind_of(Path(folder) / FACTS) == "file"
        held = "a finished dataset" if is_done else "no unfinished dataset"
        raise HeartsError(f"resume: {str(folder)!r} holds {held}; name another folder")
    settings = Store.open(Path(folder) / UNFINISHED / PARTS, _KIND).settings
    options = DatasetOptions.from_json({k: v for k, v in settings.items() if k != "players"})
    for agent in options.agents:
        AgentSpec.from_json(agent).check_allowed(f"resume: {str(folder)!r}")
    return options


def _check_free(folder: Path) -> None:
    kind = kind_of(folder)
    if kind not in ("", "folder"):
        raise HeartsError(f"folder: {str(folder)!r} is not a folder; name a new one")
    if is_unfinished(folder):
        raise HeartsError(
            f"folder: {str(folder)!r} holds an unfinished dataset; continue it with --resume, or "
            "name another folder"
        )
    # A process killed at its start leaves a folder UNFINISHED without settings.
    if kind == "folder" and any(path.name != UNFINISHED for path in folder.iterdir()):
        is_done = kind_of(folder / FACTS) == "file"
        held = "holds a finished dataset" if is_done else "is not empty"
        raise HeartsError(f"folder: {str(folder)!r} {held}; name a new folder")


# ---- parts ---------------------------------------------------------------------------------------
def _finished(folder: Path, store: Store) -> dict[int, dict[str, Any]]:
    """Return the records of parts with undamaged files, by number."""
    for place in (folder, *folder.glob("*/")):
        remove_leftovers(place)
    return {
        entry["part"]: entry
        for entry in store.records
        if all(_described(folder / name) == about for name, about in entry["files"].items())
    }


def _write_part(folder: Path, number: int, part: Part) -> dict[str, Any]:
    """Write the files of a part, and return its record."""
    files, counts = part
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_whole(folder / name, data)
    about = {name: _described(folder / name) for name in files}
    return {"part": number, "files": about, "counts": counts}


def _episodes(folder: Path, parts: int, report: Progress) -> Iterator[tuple[Episodes, list[str]]]:
    """Yield the episodes of each part, and the hand histories of its games."""
    for number in range(parts):
        yield Episodes.from_bytes((folder / _episodes_of(number)).read_bytes())
        report(number + 1, parts)


def _episodes_of(number: int) -> str:
    return f"{UNFINISHED}/part-{number:05}.npz"


def _files(folder: Path) -> dict[str, Any]:
    """Return the size and the digest of every file of a dataset."""
    places = (path for path in folder.rglob("*") if path.is_file())
    names = sorted(path.relative_to(folder).as_posix() for path in places)
    own = (name for name in names if name != FACTS and not name.startswith(f"{UNFINISHED}/"))
    return {name: _described(folder / name) for name in own}


def _described(path: Path) -> dict[str, Any] | None:
    """Return the size and the digest of a file, or None if it is not there."""
    if kind_of(path) != "file":
        return None
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _facts(
    options: DatasetOptions, players: Sequence[str | None], counts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the content of ``dataset.json`` without the files, from the counts of each part."""
    total: Any = {name: [found[name] for found in counts] for name in counts[0]}
    scores = np.sum(total.pop("scores"), 0).tolist()
    examples = list(itertools.chain(*total.pop("examples")))
    total = {name: sum(column) for name, column in total.items()}
    rules = json.dumps(options.rules.to_dict(), sort_keys=True)
    is_table = "parquet" in options.formats
    return {
        "format": FORMAT,
        "version": VERSION,
        "options": options.to_json(),
        "dataset_id": options.dataset_id,
        "players": list(players),
        "rules_digest": hashlib.sha256(rules.encode()).hexdigest(),
        "versions": versions(options.formats),
        "games": total["games"],
        "decisions_of_all_seats": total["decisions"],
        "mean_scores": [round(score / total["games"], 4) for score in scores],
        "moons": total["moons"],
        "revoked": total["revoked"],
        "faults": total["faults"],
        "fault_examples": examples[:_MOST_FAULTS],
        "rows": {"games": total["games"], "decisions": total["rows"]} if is_table else {},
        "episodes": total["episodes"],
        "steps": total["steps"],
    }
