"""A dataset's folder: blocks of games as they are played, and the tables made of them at the end.

Finished blocks lie in a folder of their own until all are there, each with a digest of itself;
what is damaged or missing is played again. Every block follows from the options and the version of
the package alone, and the tables from the blocks in their order, so that the content is the same
however many processes played and however often the work was broken off.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.spec import AgentSpec
from hearts_env import BatchGame, HeartsError, __version__
from hearts_env.support.arrays import Array
from hearts_env.support.errors import quoted
from hearts_env.support.files import (
    held,
    kind_of,
    read_limited,
    remove_leftovers,
    write_json,
    write_whole,
)
from hearts_env.support.interrupts import held_interrupt
from hearts_env.support.progress import Progress, Show, silent
from hearts_train.measure.contenders import Entrant
from hearts_train.measure.crew import check_crew, spread
from hearts_train.offline import tables
from hearts_train.offline.datasheet import command_of, datasheet
from hearts_train.offline.episodes import Episodes
from hearts_train.offline.exact import Worth
from hearts_train.offline.options import DatasetOptions, check_libraries, versions
from hearts_train.offline.playing import BLOCK, Seating

FORMAT = "hearts-env dataset"
VERSION = 1
FACTS = "dataset.json"
SHEET = "README.md"
UNFINISHED = ".unfinished"
EPISODES = "minari"
"""The folder that ``MINARI_DATASETS_PATH`` may name."""
PART = 2048
"""Games in a file of a table."""
_SETTINGS = "settings.json"
_MOST_BYTES = 2**31
_MOST_FAULTS = 10
"""So many faults of players from outside are told in full."""


class BlockWork:
    """Plays blocks and makes their tables: callable with a block's number, in any process."""

    def __init__(self, options: DatasetOptions, seating: Seating | None = None) -> None:
        """Make the players, unless they are given."""
        self.options = options
        self.seating = seating or Seating(options)

    def __reduce__(self) -> tuple[Any, ...]:
        entrants = [contender.to_send() for contender in self.seating.contenders]
        return _made_again, (self.options, entrants, self.seating.digests)

    @cached_property
    def _worth(self) -> Worth:
        return Worth(self.options.rules)

    def prepare(self) -> None:
        """Compile what the package's own players and the exact values need."""
        with held_interrupt():  # compilation cannot be interrupted safely
            batch = BatchGame(self.options.rules, 1, freeze=False)
            views = batch.views()
            for contender in self.seating.contenders:
                if contender.is_ours:
                    contender.fresh(0).act_batch(views)
            batch.play(batch.random_actions())
            if self.options.exact:
                self._worth.of(views.subset(np.empty(0, np.int64)), np.empty(0, np.int64))

    def __call__(self, number: int) -> bytes:
        """The content of a block's file."""
        options = self.options
        played = self.seating.play(number)
        parts: dict[str, Array] = {"faults": np.array(played.faults, dtype=np.str_)}
        parts["table.games"] = _as_array(tables.to_bytes(tables.games_table(played, options)))
        if "parquet" in options.formats:
            values = None
            if options.exact:
                kept = played.rows_of(options.seats)
                values = self._worth.of(played.views.subset(kept), played.others[kept])
            table = tables.decisions_table(played, options, values)
            parts["table.decisions"] = _as_array(tables.to_bytes(table))
        if "minari" in options.formats:
            parts |= Episodes.of(played, options).arrays()
        return packed(parts)


def _made_again(
    options: DatasetOptions, entrants: Sequence[Entrant], digests: Sequence[str | None]
) -> BlockWork:
    """The same in another process.

    Raises:
        HeartsError: if a player is another one there.
    """
    seating = Seating(options, entrants)
    seating.check_same(digests)
    return BlockWork(options, seating)


@dataclass(frozen=True)
class Dataset:
    """A finished dataset.

    Attributes:
        folder: Where it is.
        facts: What ``dataset.json`` says.
    """

    folder: Path
    facts: dict[str, Any]

    @property
    def episodes(self) -> Path:
        """Where its episodes are, for ``minari.MinariDataset``."""
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

    After Ctrl-C, or a kill, the finished blocks remain, to be gone on with.

    Args:
        folder: a new folder, or an empty one.
        options: what it holds.
        workers: processes that play; the content is the same with any number.
        backend: where they run, ``local`` or ``ray`` (``hearts_train.measure.crew``).
        show: shows the blocks done of all, of `playing` and then of `writing`.
        resume: go on with what is in `folder`, begun with the same options.

    Raises:
        HeartsError: if the folder is in use or holds something else, a library is missing, or an
            agent is unknown or cannot play the rules.
        OSError: if a file cannot be written; the finished blocks remain.
    """
    folder = Path(folder)
    check_libraries(options.formats)
    crew = check_crew(workers, backend)
    work = BlockWork(options)
    blocks = _Blocks(folder, options, work.seating.digests)
    with blocks.begun(resume=resume):
        shown = show or silent
        with shown("playing") as tell:
            _play(work, blocks, crew, tell)
        with shown("writing") as tell:
            facts = _write(blocks, tell)
        shutil.rmtree(folder / UNFINISHED)
    return Dataset(folder, facts)


def is_unfinished(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has a dataset to go on with."""
    return kind_of(Path(folder) / UNFINISHED / _SETTINGS) == "file"


def unfinished_facts(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What ``dataset.json`` would say of the blocks that are finished; there are no files yet.

    Raises:
        HeartsError: if there is no dataset to go on with.
        OSError: if it cannot be read.
    """
    options = begun_options(folder)
    settings = _read_settings(Path(folder) / UNFINISHED / _SETTINGS)
    blocks = _Blocks(Path(folder), options, settings["players"])
    tally = _Tally()
    for number in range(blocks.number):
        block = blocks.get(number)
        if block is None:
            continue
        tally.count(block, _table(block, "games"))
        if "table.decisions" in block:
            tally.rows["decisions"] += _table(block, "decisions").num_rows
        if "minari" in options.formats:
            tally.episodes += len(block["lengths"])
            tally.steps += int(block["lengths"].sum())
    tally.rows["games"] = tally.games
    return _facts(blocks, tally, {})


def begun_options(folder: str | os.PathLike[str]) -> DatasetOptions:
    """The options of a dataset that was begun in a folder.

    Raises:
        HeartsError: if there is none to go on with, or it is of another version of the package.
        OSError: if it cannot be read.
    """
    path = Path(folder) / UNFINISHED / _SETTINGS
    if not is_unfinished(folder):
        is_done = kind_of(Path(folder) / FACTS) == "file"
        raise HeartsError(
            f"resume: {str(folder)!r} holds "
            + (
                "a finished dataset; name another folder"
                if is_done
                else "no dataset that was begun"
            )
        )
    settings = _read_settings(path)
    options = DatasetOptions.from_json(settings["options"])
    for agent in options.agents:
        AgentSpec.from_json(agent).check_allowed(f"resume: {str(folder)!r}")
    return options


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(read_limited(path, 2**20, "the settings of a dataset"))
        found = settings["format"], settings["version"], settings["package"]
        assert isinstance(settings["options"], dict)
    except (ValueError, TypeError, KeyError, AssertionError):
        raise HeartsError(
            f"resume: {str(path)!r} is damaged; delete the folder, and begin again"
        ) from None
    if found != (FORMAT, VERSION, __version__):
        raise HeartsError(
            f"resume: {str(path.parent.parent)!r} was begun by version {quoted(found[2])} of "
            f"hearts-env, this is {quoted(__version__)}, which may play differently; go on with "
            "that version, or begin another dataset"
        )
    return dict(settings)


# ---- blocks --------------------------------------------------------------------------------------
class _Blocks:
    """The blocks of a dataset that is being made."""

    def __init__(
        self, folder: Path, options: DatasetOptions, digests: Sequence[str | None]
    ) -> None:
        self.folder = folder
        self.options = options
        self.settings = {
            "format": FORMAT,
            "version": VERSION,
            "package": __version__,
            "options": options.to_json(),
            "players": list(digests),
        }
        self.number = -(-options.games // BLOCK)
        self._at = folder / UNFINISHED / "blocks"

    @contextlib.contextmanager
    def begun(self, *, resume: bool) -> Iterator[None]:
        """Hold the folder, made ready for the blocks, against other processes."""
        work = self.folder / UNFINISHED
        if resume:
            begun_options(self.folder)
        else:
            self._check_free()
        work.mkdir(parents=True, exist_ok=True)
        with held(work / "lock", f"dataset: {str(self.folder)!r}"):
            path = work / _SETTINGS
            if resume and _read_settings(path) != json.loads(json.dumps(self.settings)):
                raise HeartsError(
                    f"resume: {str(self.folder)!r} was begun with other options or players; give "
                    "the same, or begin another dataset"
                )
            self._at.mkdir(exist_ok=True)
            remove_leftovers(self._at)
            write_json(path, self.settings)
            yield

    def _check_free(self) -> None:
        kind = kind_of(self.folder)
        if kind not in ("", "folder"):
            raise HeartsError(f"folder: {str(self.folder)!r} is not a folder; name a new one")
        if kind == "folder" and any(self.folder.iterdir()):
            if is_unfinished(self.folder):
                fix = "holds an unfinished dataset; go on with it by --resume, or name another"
            else:
                fix = "is not empty; name a new folder"
            raise HeartsError(f"folder: {str(self.folder)!r} {fix}")

    def put(self, number: int, data: bytes) -> None:
        """Keep a block."""
        write_whole(self._path(number), data)

    def get(self, number: int) -> dict[str, Array] | None:
        """A block that was kept; None if it is not there, or damaged."""
        path = self._path(number)
        if kind_of(path) != "file":
            return None
        return unpacked(read_limited(path, _MOST_BYTES, "a block of a dataset"))

    def missing(self) -> list[int]:
        """The blocks that are still to be played."""
        return [number for number in range(self.number) if self.get(number) is None]

    def _path(self, number: int) -> Path:
        return self._at / f"{number:07}"


def _play(work: BlockWork, blocks: _Blocks, crew: tuple[int | None, str], tell: Progress) -> None:
    missing = blocks.missing()
    done = blocks.number - len(missing)
    tell(done, blocks.number)
    if missing and crew in ((None, "local"), (1, "local")):
        work.prepare()
    stream: Generator[bytes] = spread(work, missing, workers=crew[0], backend=crew[1])
    with contextlib.closing(stream):
        for number, data in zip(missing, stream, strict=True):
            blocks.put(number, data)
            done += 1
            tell(done, blocks.number)


def packed(parts: dict[str, Array]) -> bytes:
    """Arrays by name as bytes, compressed, with a digest of themselves."""
    sink = io.BytesIO()
    np.savez(sink, **parts)  # type: ignore[arg-type]
    data = sink.getvalue()
    small = tables.pa.compress(data, codec="zstd", asbytes=True)
    content = len(data).to_bytes(8, "little") + small
    return bytes(hashlib.blake2b(content, digest_size=16).digest() + content)


def unpacked(data: bytes) -> dict[str, Array] | None:
    """What ``packed`` was given; None if the bytes are damaged."""
    digest, content = data[:16], data[16:]
    if hashlib.blake2b(content, digest_size=16).digest() != digest:
        return None
    size, small = int.from_bytes(content[:8], "little"), content[8:]
    whole = tables.pa.decompress(small, decompressed_size=size, codec="zstd", asbytes=True)
    with np.load(io.BytesIO(whole), allow_pickle=False) as found:
        return dict(found)


def _as_array(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8)


# ---- files ---------------------------------------------------------------------------------------
class _Tally:
    """What is counted while the files are written, for the datasheet."""

    def __init__(self) -> None:
        self.games = self.decisions = self.faults = 0
        self.revoked = self.moons = 0
        self.scores: Any = 0
        self.examples: list[str] = []
        self.episodes = self.steps = 0
        self.rows = {"games": 0, "decisions": 0}

    def count(self, block: dict[str, Array], games: Any) -> None:
        """Count a block."""
        self.games += games.num_rows
        self.decisions += int(np.sum(games.column("decisions").to_numpy()))
        self.revoked += int((games.column("revoker").to_numpy() >= 0).sum())
        self.moons += int((games.column("shooter").to_numpy() >= 0).sum())
        self.scores += np.array(games.column("scores").to_pylist(), np.int64).sum(0)
        self.faults += len(block["faults"])
        self.examples += block["faults"].tolist()[: _MOST_FAULTS - len(self.examples)]

    def to_json(self) -> dict[str, Any]:
        """The figures; of no games there are no mean scores."""
        totals = self.scores.tolist() if self.games else []
        return {
            "games": self.games,
            "decisions_of_all_seats": self.decisions,
            "mean_scores": [round(total / self.games, 4) for total in totals],
            "moons": self.moons,
            "revoked": self.revoked,
            "faults": self.faults,
            "fault_examples": self.examples,
        }


def _write(blocks: _Blocks, tell: Progress) -> dict[str, Any]:
    """Make the files of a dataset from its blocks; what ``dataset.json`` says."""
    folder, options = blocks.folder, blocks.options
    tally = _Tally()
    made = folder / UNFINISHED / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    per_part = PART // BLOCK
    with _episode_writer(made, options) as episodes:
        for part, first in enumerate(range(0, blocks.number, per_part)):
            found: dict[str, list[Any]] = {"games": [], "decisions": []}
            for number in range(first, min(first + per_part, blocks.number)):
                block = _whole_block(blocks, number)
                for name, parts in found.items():
                    if f"table.{name}" in block:
                        parts.append(_table(block, name))
                games = found["games"][-1]
                tally.count(block, games)
                if episodes is not None:
                    episodes.add(Episodes.from_arrays(block), games.column("text").to_pylist())
                tell(number + 1, blocks.number)
            for name, parts in found.items() if "parquet" in options.formats else ():
                tally.rows[name] += sum(table.num_rows for table in parts)
                path = made / name / f"part-{part:05}.parquet"
                path.parent.mkdir(exist_ok=True)
                write_whole(path, tables.parquet_bytes(parts))
    if episodes is not None:
        tally.episodes, tally.steps = episodes.episodes, episodes.steps
    facts = _facts(blocks, tally, _files(made))
    write_whole(made / SHEET, datasheet(facts, options).encode())
    write_json(made / FACTS, facts)
    for path in sorted(made.iterdir(), key=lambda path: path.name == FACTS):  # that one last
        if kind_of(folder / path.name) == "folder":  # of a time before that was broken off here
            shutil.rmtree(folder / path.name)
        os.replace(path, folder / path.name)
    return facts


@contextlib.contextmanager
def _episode_writer(made: Path, options: DatasetOptions) -> Iterator[Any]:
    """What appends episodes, if they are asked for."""
    if "minari" not in options.formats:
        yield None
        return
    from hearts_train.offline.minari_file import minari_writer  # needs more libraries

    with minari_writer(made / EPISODES / options.dataset_id / "data", options) as writer:
        yield writer


def _whole_block(blocks: _Blocks, number: int) -> dict[str, Array]:
    block = blocks.get(number)
    if block is None:
        raise HeartsError(
            f"dataset: block {number} in {str(blocks.folder)!r} was damaged meanwhile; go on with "
            "--resume"
        )
    return block


def _table(block: dict[str, Array], name: str) -> Any:
    """A table of a block."""
    return tables.from_bytes(block[f"table.{name}"].tobytes())


def _files(made: Path) -> dict[str, Any]:
    """Size and digest of every file."""
    paths = sorted(path for path in made.rglob("*") if path.is_file())
    return {
        path.relative_to(made).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": _sha256(path),
        }
        for path in paths
    }


def _facts(blocks: _Blocks, tally: _Tally, files: dict[str, Any]) -> dict[str, Any]:
    """What ``dataset.json`` says."""
    options = blocks.options
    rules = json.dumps(options.rules.to_dict(), sort_keys=True)
    return {
        "format": FORMAT,
        "version": VERSION,
        "command": command_of(options),
        "options": options.to_json(),
        "players": blocks.settings["players"],
        "rules_digest": hashlib.sha256(rules.encode()).hexdigest(),
        "versions": versions(options.formats),
        **tally.to_json(),
        "rows": tally.rows if "parquet" in options.formats else {},
        "episodes": tally.episodes,
        "steps": tally.steps,
        "files": files,
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
