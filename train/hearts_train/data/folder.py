"""Make a dataset in a folder, part by part.

A part is a range of consecutive games. It depends only on its number, the options and the version
of the package. The content of a dataset is therefore the same for any number of processes and
interruptions. The tables of a part are files of the dataset. Its episodes wait in the folder
``.unfinished`` until all episodes can be written as one file. There is also a file with a record
per finished part: the part's counts, and the digest of each of its files. A part without a record,
or with a missing or damaged file, is played again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pyarrow as pa

from hearts_agents.spec import AgentSpec
from hearts_env import CheckpointError, HeartsError, __version__
from hearts_env.support.files import kind_of, own_files, remove_leftovers, write_json, write_whole
from hearts_env.support.progress import Progress, Show, silent
from hearts_train.data import tables
from hearts_train.data.datasheet import datasheet
from hearts_train.data.episodes import Episodes, write_minari
from hearts_train.data.options import DatasetOptions
from hearts_train.data.playing import Seating, part_size
from hearts_train.executor import check_executor, spread
from hearts_train.screen import printable
from hearts_train.store import FileKind, Store, saving

FACTS = "dataset.json"
SHEET = "README.md"
UNFINISHED = ".unfinished"
EPISODES = "minari"
"""The folder of the Minari dataset, for ``MINARI_DATASETS_PATH``."""
PARTS = "parts.jsonl"
"""The file with the records of finished parts, in the folder ``UNFINISHED``."""
_NEEDED = (UNFINISHED, f"{UNFINISHED}/{PARTS}", EPISODES, "games", "decisions")
_WRITTEN = (SHEET, FACTS, f"{UNFINISHED}/*", "games/*", "decisions/*")
_KIND = FileKind(
    "hearts-env unfinished dataset",
    "resume",
    "an unfinished dataset",
    "delete the folder, and begin another dataset",
)


def play_part(seating: Seating, number: int) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Play a part, in any process.

    Returns:
        The content of its files, by path in the folder, and its record.
    """
    options, played = seating.options, seating.play(number)
    texts = tables.hand_histories(played, options)
    games, decisions, episodes = _names(number)
    files = {}
    if "parquet" in options.formats:
        files[games] = tables.games_bytes(played, options, texts)
        files[decisions] = tables.decisions_bytes(played, options)
    if "minari" in options.formats:
        files[episodes] = Episodes.of(played, options, texts).to_bytes()
    return files, _record(number, files, options)


@dataclass(frozen=True)
class Dataset:
    """A finished dataset.

    Attributes:
        folder: the path of its folder.
        facts: the content of ``dataset.json``.
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
        folder: a new or empty folder.
        options: the options of the dataset.
        workers: the number of processes that play. The content does not depend on it. If None, this
            process alone, or with ``ray`` all cores of the cluster.
        backend: ``local`` or ``ray`` (``hearts_train.executor``).
        show: shows how many parts are played, and then written.
        resume: if True, continue the unfinished dataset in `folder`, which must have the same
            options.

    Raises:
        HeartsError: if the folder is in use or holds other files, or an agent is unknown, cannot
            play the rules, raises an exception or plays an illegal action.
        OSError: if a file cannot be written. The finished parts remain.
    """
    folder = Path(folder)
    workers, backend = check_executor(workers, backend)
    seating = Seating(options)
    unfinished_options(folder) if resume else _check_free(folder)
    own_files(folder, "folder", written=_WRITTEN, needed=_NEEDED)
    path = folder / UNFINISHED / PARTS
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = options.to_json() | {"players": seating.digests}
    save, old = (None, path) if resume else (path, None)
    with saving(save, old, _KIND, settings) as store:
        assert store is not None
        number = -(-options.games // part_size(options.games))
        finished = _finished(folder, store, options, number)
        missing = [place for place in range(number) if place not in finished]
        if missing:
            seating.compile()
        work = functools.partial(play_part, seating)
        with (
            show("playing") as report,
            contextlib.closing(spread(work, missing, workers=workers, backend=backend)) as parts,
        ):
            report(len(finished), number)
            for place, (files, record) in zip(missing, parts, strict=True):
                _write_part(folder, files)
                store.append(record)
                finished[place] = record
                report(len(finished), number)
        with show("writing") as report:
            if "minari" in options.formats:
                # A killed attempt may have left some of it.
                shutil.rmtree(folder / EPISODES, ignore_errors=True)
                episodes = _episodes(folder, number, options, report)
                write_minari(folder / EPISODES, options, episodes)
            counts = [finished[place]["counts"] for place in range(number)]
            facts = _facts(options, seating.digests, counts)
            write_whole(folder / SHEET, printable(datasheet(facts, options)).encode())
            facts["files"] = _files(folder)
            write_json(folder / FACTS, facts)
        # The records go last: after a kill before that, work can be resumed.
        for place in range(number):
            (folder / _names(place)[-1]).unlink(missing_ok=True)
        shutil.rmtree(folder / UNFINISHED)
    return Dataset(folder, facts)


def is_unfinished(folder: str | os.PathLike[str]) -> bool:
    """Return True if a folder holds an unfinished dataset."""
    return kind_of(Path(folder) / UNFINISHED / PARTS) == "file"


def unfinished_options(folder: str | os.PathLike[str]) -> DatasetOptions:
    """Return the options of the unfinished dataset in a folder, or raise if there is none."""
    if not is_unfinished(folder):
        raise HeartsError(
            f"resume: {str(folder)!r} holds no unfinished dataset; begin one without resume "
            "(--resume)"
        )
    settings = Store.open(Path(folder) / UNFINISHED / PARTS, _KIND).settings
    names = [field.name for field in dataclasses.fields(DatasetOptions)]
    if set(settings) != {*names, "rules_in_full", "players"}:
        raise CheckpointError(
            f"resume: the settings in {str(folder)!r} are not those of a dataset; {_KIND.advice}"
        )
    options = DatasetOptions(**{name: settings[name] for name in names})
    for agent in options.agents:
        AgentSpec.from_json(agent).check_allowed(f"resume: {str(folder)!r}")
    return options


def _check_free(folder: Path) -> None:
    if is_unfinished(folder):
        raise HeartsError(
            f"folder: {str(folder)!r} holds an unfinished dataset; continue it with --resume, or "
            "name another folder"
        )
    kind = kind_of(folder)
    # A process killed at its start leaves a folder UNFINISHED without settings.
    if kind and (kind != "folder" or any(path.name != UNFINISHED for path in folder.iterdir())):
        raise HeartsError(
            f"folder: {str(folder)!r} already exists and is not an empty folder; name a new one"
        )


# ---- parts ---------------------------------------------------------------------------------------
def _names(number: int) -> tuple[str, str, str]:
    """Return the paths of a part's tables, games and decisions, and of its episodes."""
    part = f"part-{number:05}"
    return f"games/{part}.parquet", f"decisions/{part}.parquet", f"{UNFINISHED}/{part}.npz"


def _finished(
    folder: Path, store: Store, options: DatasetOptions, parts: int
) -> dict[int, dict[str, Any]]:
    """Return the records of parts with undamaged files, by number.

    The folder may come from someone else, so each record must match the files that are there.
    """
    for place in ("", UNFINISHED, "games", "decisions"):
        remove_leftovers(folder / place)
    found = {}
    for entry in store.records:
        number = entry.get("part")
        if type(number) is int and 0 <= number < parts:
            with contextlib.suppress(Exception):  # damaged tables and arrays raise many types
                record = _record(number, _read_part(folder, number, options), options)
                if record == entry and _has_form(record["counts"], options, number):
                    found[number] = record
    return found


def _has_form(counts: dict[str, Any], options: DatasetOptions, number: int) -> bool:
    """Return True if the counts have the number of games and seats of the part."""
    size = part_size(options.games)
    games = min(size, options.games - number * size)
    return counts["games"] == games and len(counts["scores"]) == options.rules.players


def _write_part(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_whole(folder / name, data)


def _read_part(folder: Path, number: int, options: DatasetOptions) -> dict[str, bytes]:
    """Return the content of the files of a part, by path in the folder."""
    *parquet, episodes = _names(number)
    names = parquet * ("parquet" in options.formats) + [episodes] * ("minari" in options.formats)
    return {name: (folder / name).read_bytes() for name in names}


def _record(number: int, files: dict[str, bytes], options: DatasetOptions) -> dict[str, Any]:
    """Return the record of a part, from its files.

    Raises:
        Exception: if a file is damaged or belongs to another part. It may be of any type.
    """
    games, _, episodes = _names(number)
    counts: list[dict[str, Any]] = []
    if games in files:
        counts.append(tables.counts_of(files[games]))
    if episodes in files:
        counts.append(Episodes.from_bytes(files[episodes], options).counts)
    if counts[0] != counts[-1]:
        raise ValueError("the table of games and the episodes differ")
    digests = {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    }
    return {"part": number, "files": digests, "counts": counts[0]}


def _episodes(
    folder: Path, parts: int, options: DatasetOptions, report: Progress
) -> Iterator[Episodes]:
    """Yield the episodes of each part."""
    for number in range(parts):
        yield Episodes.from_bytes((folder / _names(number)[-1]).read_bytes(), options)
        report(number + 1, parts)


def _files(folder: Path) -> dict[str, Any]:
    """Return the size and the digest of every file of a dataset."""
    places = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    names = sorted(path.relative_to(folder).as_posix() for path in places)
    own = (name for name in names if name != FACTS and not name.startswith(f"{UNFINISHED}/"))
    return {name: _described(folder / name) for name in own}


def _described(path: Path) -> dict[str, Any]:
    """Return the size and the digest of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _facts(
    options: DatasetOptions, players: Sequence[str | None], counts: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the content of ``dataset.json`` without the files, from the counts of each part."""
    total = {name: sum(found[name] for found in counts) for name in ("games", "decisions", "moons")}
    scores = np.sum([found["scores"] for found in counts], 0) / total["games"]
    libraries = {module.__name__: module.__version__ for module in (np, pa, minari)}
    return total | {
        "mean_scores": scores.round(4).tolist(),
        "options": options.to_json(),
        "dataset_id": options.dataset_id,
        "players": list(players),
        "versions": {"hearts-env": __version__} | libraries,
    }
