"""A dataset's folder: parts while they are played, and the files made from them.

The folder ``.unfinished`` holds one file per part of the games: its tables, its episodes and its
counts, with a digest. A part follows from its number, the options and the version of the package.
The content of a dataset is therefore the same for any number of processes and interruptions. Parts
that are missing or damaged are played again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.spec import AgentSpec
from hearts_env import BatchGame, CheckpointError, HeartsError
from hearts_env import kernel as k
from hearts_env.support.arrays import Array
from hearts_env.support.files import kind_of, remove_leftovers, write_json, write_whole
from hearts_env.support.interrupts import held_interrupt
from hearts_env.support.progress import Show, silent
from hearts_env.support.tensors import DIGEST, digest_of, read_tensors, write_tensors
from hearts_train.data import tables
from hearts_train.data.datasheet import datasheet
from hearts_train.data.episodes import Episodes, write_minari
from hearts_train.data.options import DatasetOptions, check_libraries, versions
from hearts_train.data.playing import BLOCK, ExactValues, Played, Seating
from hearts_train.executor import check_executor, spread
from hearts_train.measure.participants import AgentLike, compile_players
from hearts_train.store import FileKind, Store, saving

FORMAT = "hearts-env dataset"
VERSION = 1
FACTS = "dataset.json"
SHEET = "README.md"
UNFINISHED = ".unfinished"
EPISODES = "minari"
"""The folder of the Minari dataset, as ``MINARI_DATASETS_PATH`` names it."""
MOST_GAMES = 2048
"""Games in a part, at most."""
_FEWEST_PARTS = 16
"""So that processes can share small datasets, too."""
_MOST_FAULTS = 10
"""Faults of external players that are described, at most."""
_SETTINGS = "settings.jsonl"
_MADE = "made"
"""The folder of files that are moved to their place when all are there."""
_KIND = FileKind(
    "hearts-env unfinished dataset",
    2,
    "resume",
    "an unfinished dataset",
    "delete the folder, and begin another dataset",
)
_COUNTS = ("games", "decisions", "moons", "revoked", "faults", "rows", "episodes", "steps")

Part = tuple[dict[str, Array], Mapping[str, Any]]
"""The tables (bytes of Parquet files) and episodes of a part, and its counts."""


def part_size(games: int) -> int:
    """Return the games per part, a multiple of the games that are played side by side."""
    return min(MOST_GAMES, BLOCK * -(-games // (BLOCK * _FEWEST_PARTS)))


class PartWork:
    """Play parts: called with the number of one, in any process."""

    def __init__(self, options: DatasetOptions, seating: Seating | None = None) -> None:
        """Make the players unless they are given."""
        self.options = options
        self.seating = seating or Seating(options)

    def __reduce__(self) -> tuple[Any, ...]:
        agents = [participant.to_send() for participant in self.seating.participants]
        return _made_again, (self.options, agents, self.seating.digests)

    @cached_property
    def _exact_values(self) -> ExactValues:
        return ExactValues(self.options.rules)

    def prepare(self) -> None:
        """Compile everything that the package's players and the exact values need."""
        compile_players(self.seating.participants, self.options.rules)
        if self.options.exact:
            views = BatchGame(self.options.rules, 1, freeze=False).views()
            none = np.empty(0, np.int64)
            with held_interrupt():
                self._exact_values.of(views.subset(none), none)

    def __call__(self, number: int) -> Part:
        """Play a part."""
        options = self.options
        size = part_size(options.games)
        first = number * size // BLOCK
        last = -(-min(options.games, (number + 1) * size) // BLOCK)
        blocks = [self.seating.play(block) for block in range(first, last)]
        games = [tables.games_table(block, options) for block in blocks]
        made = {"table.games": _as_array(tables.parquet_bytes(games))}
        counts: dict[str, Any] = dict.fromkeys(_COUNTS, 0) | {
            "games": sum(len(block.seeds) for block in blocks),
            "decisions": sum(len(block.actions) for block in blocks),
            "moons": sum(int((block.states[:, k.SHOOTER] >= 0).sum()) for block in blocks),
            "revoked": sum(int((block.states[:, k.REVOKER] >= 0).sum()) for block in blocks),
            "faults": sum(len(block.faults) for block in blocks),
            "scores": np.sum([block.scores.sum(0) for block in blocks], 0).tolist(),
            "examples": [text for block in blocks for text in block.faults][:_MOST_FAULTS],
        }
        if "parquet" in options.formats:
            decisions = [self._decisions(block) for block in blocks]
            made["table.decisions"] = _as_array(tables.parquet_bytes(decisions))
            counts["rows"] = sum(table.num_rows for table in decisions)
        if "minari" in options.formats:
            episodes = Episodes.joined([Episodes.of(block, options) for block in blocks])
            made |= episodes.arrays()
            counts |= {"episodes": len(episodes.lengths), "steps": int(episodes.lengths.sum())}
        return made, counts

    def _decisions(self, block: Played) -> tables.Arrow:
        values = None
        if self.options.exact:
            rows = block.rows_of(self.options.seats)
            values = self._exact_values.of(block.views.subset(rows), block.others[rows])
        return tables.decisions_table(block, self.options, values)


def _as_array(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8)


def _made_again(
    options: DatasetOptions, agents: Sequence[AgentLike], digests: Sequence[str | None]
) -> PartWork:
    """Make the work in another process; HeartsError if a player differs there."""
    seating = Seating(options, agents)
    seating.check_same(digests)
    return PartWork(options, seating)


@dataclass(frozen=True)
class Dataset:
    """A finished dataset.

    Attributes:
        folder: its folder.
        facts: the content of ``dataset.json``.
    """

    folder: Path
    facts: dict[str, Any]

    @property
    def episodes(self) -> Path:
        """The folder of its episodes, for ``minari.MinariDataset``."""
        return self.folder / EPISODES / self.facts["options"]["dataset_id"] / "data"


def make_dataset(
    folder: str | os.PathLike[str],
    options: DatasetOptions,
    *,
    workers: int | None = None,
    backend: str = "local",
    show: Show | None = None,
    resume: bool = False,
) -> Dataset:
    """Play the games of a dataset and write its files.

    After Ctrl-C, or a kill, the finished parts remain, and `resume` continues with them.

    Args:
        folder: a new folder, or an empty one.
        options: of the dataset.
        workers: processes that play. The content is the same with any number.
        backend: ``local`` or ``ray`` (``hearts_train.executor``).
        show: shows the parts done of all, of `playing` and then of `writing`.
        resume: If True, continue the unfinished dataset in `folder`, which has the same options.

    Raises:
        HeartsError: if the folder is in use or holds something else, a library is missing, or an
            agent is unknown or cannot play the rules.
        OSError: if a file cannot be written. The finished parts remain.
    """
    folder = Path(folder)
    check_libraries(options.formats)
    workers, backend = check_executor(workers, backend)
    work = PartWork(options)
    unfinished_options(folder) if resume else _check_free(folder)
    path = folder / UNFINISHED / _SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = options.to_json() | {"players": work.seating.digests}
    save, old = (None, path) if resume else (path, None)
    with saving(save, old, _KIND, settings):
        parts = _Parts(path.parent, options)
        remove_leftovers(parts.folder)
        missing = [number for number in range(parts.number) if parts.read(number) is None]
        if missing and backend == "local" and workers in (None, 1):
            work.prepare()
        shown = show or silent
        with (
            shown("playing") as report,
            contextlib.closing(spread(work, missing, workers=workers, backend=backend)) as stream,
        ):
            report(parts.number - len(missing), parts.number)
            for done, part in enumerate(stream):
                parts.write(missing[done], part)
                report(parts.number - len(missing) + done + 1, parts.number)
        with shown("writing") as report:
            facts = _write(folder, parts, work.seating.digests, report)
        # The settings are removed last: after a kill before that, the work can be resumed.
        shutil.rmtree(parts.folder / _MADE)
        for file in parts.folder.glob("part-*"):
            file.unlink()
        shutil.rmtree(parts.folder)
    return Dataset(folder, facts)


def is_unfinished(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder has an unfinished dataset."""
    return kind_of(Path(folder) / UNFINISHED / _SETTINGS) == "file"


def unfinished_options(folder: str | os.PathLike[str]) -> DatasetOptions:
    """Return the options of the unfinished dataset in a folder; HeartsError if there is none."""
    if not is_unfinished(folder):
        if kind_of(Path(folder) / UNFINISHED) == "folder":  # the first file could not be written
            raise HeartsError(
                f"resume: {str(folder)!r} holds nothing that was saved, for the dataset stopped "
                "before its first file; begin it again without resume (--resume)"
            )
        is_done = kind_of(Path(folder) / FACTS) == "file"
        held = "a finished dataset" if is_done else "no unfinished dataset"
        raise HeartsError(f"resume: {str(folder)!r} holds {held}; name another folder")
    settings = Store.open(Path(folder) / UNFINISHED / _SETTINGS, _KIND).settings
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
    # A folder UNFINISHED without settings is left by a process killed as it started.
    if kind == "folder" and any(path.name != UNFINISHED for path in folder.iterdir()):
        is_done = kind_of(folder / FACTS) == "file"
        held = "holds a finished dataset" if is_done else "is not empty"
        raise HeartsError(f"folder: {str(folder)!r} {held}; name a new folder")


# ---- parts ---------------------------------------------------------------------------------------
class _Parts:
    """The parts of a dataset under construction, a file each."""

    def __init__(self, folder: Path, options: DatasetOptions) -> None:
        self.folder = folder
        self.options = options
        self.number = -(-options.games // part_size(options.games))

    def write(self, number: int, part: Part) -> None:
        """Save a part, whole or not at all."""
        made, counts = part
        write_tensors(self._path(number), made, {"counts": json.dumps(counts)})

    def read(self, number: int) -> Part | None:
        """Return a part, or None if it is missing or damaged."""
        try:
            made, header = read_tensors(self._path(number))
        except CheckpointError:
            return None
        if header.get(DIGEST) != digest_of(made, header):
            return None
        return made, json.loads(header["counts"])

    def _path(self, number: int) -> Path:
        return self.folder / f"part-{number:05}.safetensors"


# ---- files ---------------------------------------------------------------------------------------
def _write(
    folder: Path, parts: _Parts, players: Sequence[str | None], report: Any
) -> dict[str, Any]:
    """Make the files of a dataset from its parts; return the content of ``dataset.json``."""
    options = parts.options
    made = parts.folder / _MADE
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()

    counts = []

    def written() -> Iterator[tuple[Episodes, Mapping[int, str]]]:
        """Write the tables of each part, then yield its episodes."""
        for number in range(parts.number):
            part = parts.read(number)
            if part is None:
                raise HeartsError(
                    f"dataset: part {number} in {str(folder)!r} was damaged meanwhile; continue "
                    "with --resume"
                )
            arrays, counted = part
            counts.append(counted)
            games = arrays["table.games"].tobytes()
            for name in ("games", "decisions") if "parquet" in options.formats else ():
                (made / name).mkdir(exist_ok=True)
                write_whole(
                    made / name / f"part-{number:05}.parquet", arrays[f"table.{name}"].tobytes()
                )
            if "minari" in options.formats:
                yield Episodes.from_arrays(arrays), tables.hand_histories(games)
            report(number + 1, parts.number)

    if "minari" in options.formats:
        write_minari(made / EPISODES, options, written())
    else:
        list(written())
    facts = _facts(options, players, counts, _files(made))
    write_whole(made / SHEET, datasheet(facts, options).encode())
    write_json(made / FACTS, facts)
    for path in sorted(made.iterdir(), key=lambda path: path.name == FACTS):  # that one last
        if kind_of(folder / path.name) == "folder":  # of an earlier attempt, interrupted here
            shutil.rmtree(folder / path.name)
        os.replace(path, folder / path.name)
    return facts


def _files(made: Path) -> dict[str, Any]:
    """Return the size and the digest of every file."""
    found = {}
    for path in sorted(path for path in made.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[path.relative_to(made).as_posix()] = {"bytes": path.stat().st_size, "sha256": digest}
    return found


def _facts(
    options: DatasetOptions,
    players: Sequence[str | None],
    counts: Sequence[Mapping[str, Any]],
    files: dict[str, Any],
) -> dict[str, Any]:
    """Return the content of ``dataset.json``; `counts` are those of each part."""
    total = {name: sum(found[name] for found in counts) for name in _COUNTS}
    scores = np.sum([found["scores"] for found in counts], 0).tolist()
    examples = [text for found in counts for text in found["examples"]]
    rules = json.dumps(options.rules.to_dict(), sort_keys=True)
    is_table = "parquet" in options.formats
    return {
        "format": FORMAT,
        "version": VERSION,
        "options": options.to_json(),
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
        "files": files,
    }
