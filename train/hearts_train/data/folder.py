"""A dataset's folder: blocks of games while they are played, and the tables made from them.

Unfinished work is in ``.unfinished``: a file of arrays for each block, and an index of the finished
ones with their counts. Damaged or missing blocks are played again. Every block depends only on the
options and the version of the package, and the tables on the blocks in order, so the content is the
same for any number of processes and interruptions.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
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
from hearts_env.support.progress import Progress, Show, silent
from hearts_env.support.tensors import DIGEST, digest_of, read_tensors, write_tensors
from hearts_train.data import tables
from hearts_train.data.datasheet import croissant, datasheet
from hearts_train.data.episodes import Episodes, minari_writer
from hearts_train.data.options import DatasetOptions, check_libraries, versions
from hearts_train.data.playing import BLOCK, ExactValues, Seating
from hearts_train.executor import Executor, check_executor, spread
from hearts_train.measure.participants import AgentLike, compile_players
from hearts_train.store import Kind, Store, saving

FORMAT = "hearts-env dataset"
VERSION = 1
FACTS = "dataset.json"
SHEET = "README.md"
CROISSANT = "croissant.json"
UNFINISHED = ".unfinished"
EPISODES = "minari"
"""The environment variable that may name the folder of all Minari datasets."""
PART = 2048
"""Games in a file of a table."""
_MOST_FAULTS = 10
"""The most faults of external players that are described in words."""
_INDEX = "blocks.jsonl"
_KIND = Kind(
    "hearts-env unfinished dataset",
    1,
    "resume",
    "the index of an unfinished dataset",
    "delete the folder, and begin another dataset",
)
_SUMS = ("games", "decisions", "moons", "revoked", "faults", "rows", "episodes", "steps")
"""The counts of each block."""

Counts = Mapping[str, Any]
Block = tuple[dict[str, Array], Counts]
"""The arrays and the counts of a block."""


class BlockWork:
    """Plays blocks and makes their tables: callable with a block's number, in any process."""

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
        """Compile what the built-in players and the exact values need."""
        compile_players(self.seating.participants, self.options.rules)
        if self.options.exact:
            views = BatchGame(self.options.rules, 1, freeze=False).views()
            none = np.empty(0, np.int64)
            with held_interrupt():
                self._exact_values.of(views.subset(none), none)

    def __call__(self, number: int) -> Block:
        """Play a block."""
        options = self.options
        played = self.seating.play(number)
        counts = dict.fromkeys(_SUMS, 0) | {
            "games": len(played.seeds),
            "decisions": len(played.actions),
            "moons": int((played.states[:, k.SHOOTER] >= 0).sum()),
            "revoked": int((played.states[:, k.REVOKER] >= 0).sum()),
            "faults": len(played.faults),
        }
        facts = {"scores": played.scores.sum(0).tolist(), "examples": played.faults[:_MOST_FAULTS]}
        made = {"table.games": tables.to_array(tables.games_table(played, options))}
        if "parquet" in options.formats:
            rows = played.rows_of(options.seats)
            values = None
            if options.exact:
                values = self._exact_values.of(played.views.subset(rows), played.others[rows])
            decisions = tables.decisions_table(played, options, values)
            made["table.decisions"] = tables.to_array(decisions)
            counts["rows"] = len(rows)
        if "minari" in options.formats:
            episodes = Episodes.of(played, options)
            made |= episodes.arrays()
            counts |= {"episodes": len(episodes.lengths), "steps": int(episodes.lengths.sum())}
        return made, counts | facts


def _made_again(
    options: DatasetOptions, agents: Sequence[AgentLike], digests: Sequence[str | None]
) -> BlockWork:
    """The same in another process; HeartsError if a player differs there."""
    seating = Seating(options, agents)
    seating.check_same(digests)
    return BlockWork(options, seating)


@dataclass(frozen=True)
class Dataset:
    """A finished dataset.

    Attributes:
        folder: Where it is.
        facts: The content of ``dataset.json``.
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

    After Ctrl-C, or a kill, the finished blocks remain, and `resume` continues with them.

    Args:
        folder: a new folder, or an empty one.
        options: of the dataset.
        workers: processes that play; the content is the same with any number.
        backend: where they run, ``local`` or ``ray`` (``hearts_train.executor``).
        show: shows the blocks done of all, of `playing` and then of `writing`.
        resume: continue the unfinished dataset in `folder`, which has the same options.

    Raises:
        HeartsError: if the folder is in use or holds something else, a library is missing, or an
            agent is unknown or cannot play the rules.
        OSError: if a file cannot be written; the finished blocks remain.
    """
    folder = Path(folder)
    check_libraries(options.formats)
    executor = check_executor(workers, backend)
    work = BlockWork(options)
    unfinished_options(folder) if resume else _check_free(folder)
    index = folder / UNFINISHED / _INDEX
    index.parent.mkdir(parents=True, exist_ok=True)
    settings = options.to_json() | {"players": work.seating.digests}
    save, old = (None, index) if resume else (index, None)
    with saving(save, old, _KIND, settings) as store:
        assert store is not None
        blocks = _Blocks(store, options)
        shown = show or silent
        with shown("playing") as report:
            _play(work, blocks, executor, report)
        with shown("writing") as report:
            facts = _write(folder, blocks, report)
        # The index is removed last: after a kill before that, the work can be resumed.
        for path in index.parent.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
        shutil.rmtree(index.parent)
    return Dataset(folder, facts)


def is_unfinished(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has an unfinished dataset."""
    return kind_of(Path(folder) / UNFINISHED / _INDEX) == "file"


def unfinished_options(folder: str | os.PathLike[str]) -> DatasetOptions:
    """The options of the unfinished dataset in a folder; HeartsError if there is none."""
    return _opened(folder).options


def unfinished_facts(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What ``dataset.json`` would say of the finished blocks; there are no files yet."""
    return _facts(_opened(folder), {})


def _opened(folder: str | os.PathLike[str]) -> _Blocks:
    if not is_unfinished(folder):
        is_done = kind_of(Path(folder) / FACTS) == "file"
        held = "a finished dataset" if is_done else "no unfinished dataset"
        raise HeartsError(f"resume: {str(folder)!r} holds {held}; name another folder")
    store = Store.open(Path(folder) / UNFINISHED / _INDEX, _KIND, is_exact=True)
    record = {name: value for name, value in store.settings.items() if name != "players"}
    options = DatasetOptions.from_json(record)
    for agent in options.agents:
        AgentSpec.from_json(agent).check_allowed(f"resume: {str(folder)!r}")
    return _Blocks(store, options)


def _check_free(folder: Path) -> None:
    kind = kind_of(folder)
    if kind not in ("", "folder"):
        raise HeartsError(f"folder: {str(folder)!r} is not a folder; name a new one")
    if is_unfinished(folder):
        raise HeartsError(
            f"folder: {str(folder)!r} holds an unfinished dataset; continue it with --resume, or "
            "name another folder"
        )
    # A folder UNFINISHED without an index is left by a process killed as it started.
    if kind == "folder" and any(path.name != UNFINISHED for path in folder.iterdir()):
        is_done = kind_of(folder / FACTS) == "file"
        held = "holds a finished dataset" if is_done else "is not empty"
        raise HeartsError(f"folder: {str(folder)!r} {held}; name a new folder")


# ---- blocks --------------------------------------------------------------------------------------
class _Blocks:
    """The blocks of a dataset under construction."""

    def __init__(self, store: Store, options: DatasetOptions) -> None:
        self.store = store
        self.options = options
        self.number = -(-options.games // BLOCK)
        self.folder = store.path.parent / "blocks"
        self._counts: dict[int, Counts] = {r.entry["block"]: r.entry for r in store.records}

    @property
    def counts(self) -> list[Counts]:
        """The counts of each finished block, in order."""
        return [self._counts[number] for number in sorted(self._counts)]

    def put(self, number: int, block: Block) -> None:
        """Save a finished block."""
        made, counts = block
        write_tensors(self._path(number), made, {})
        self._counts[number] = counts
        self.store.append({"block": number, **counts})

    def get(self, number: int) -> dict[str, Array] | None:
        """The arrays of a finished block; None if they are missing or damaged."""
        if number not in self._counts:
            return None
        try:
            made, header = read_tensors(self._path(number))
        except CheckpointError:
            return None
        return made if header.get(DIGEST) == digest_of(made, header) else None

    def missing(self) -> list[int]:
        """The blocks still to be played."""
        return [number for number in range(self.number) if self.get(number) is None]

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:07}.safetensors"


def _play(work: BlockWork, blocks: _Blocks, executor: Executor, report: Progress) -> None:
    blocks.folder.mkdir(exist_ok=True)
    remove_leftovers(blocks.folder)
    missing = blocks.missing()
    done = blocks.number - len(missing)
    report(done, blocks.number)
    if missing and executor in ((None, "local"), (1, "local")):
        work.prepare()
    with contextlib.closing(
        spread(work, missing, workers=executor[0], backend=executor[1])
    ) as stream:
        for number, block in zip(missing, stream, strict=True):
            blocks.put(number, block)
            done += 1
            report(done, blocks.number)


# ---- files ---------------------------------------------------------------------------------------
def _write(folder: Path, blocks: _Blocks, report: Progress) -> dict[str, Any]:
    """Make the files of a dataset from its blocks; what ``dataset.json`` says."""
    options = blocks.options
    made = folder / UNFINISHED / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    per_part = PART // BLOCK
    with _episode_writer(made, options) as episodes:
        for part, first in enumerate(range(0, blocks.number, per_part)):
            found: dict[str, list[Any]] = {"games": [], "decisions": []}
            for number in range(first, min(first + per_part, blocks.number)):
                block = blocks.get(number)
                if block is None:
                    raise HeartsError(
                        f"dataset: block {number} in {str(folder)!r} was damaged meanwhile; "
                        "continue with --resume"
                    )
                games = tables.from_array(block["table.games"])
                found["games"].append(games)
                if "parquet" in options.formats:
                    found["decisions"].append(tables.from_array(block["table.decisions"]))
                if episodes is not None:
                    episodes.add(Episodes.from_arrays(block), games.column("text").to_pylist())
                report(number + 1, blocks.number)
            for name, parts in found.items() if "parquet" in options.formats else ():
                path = made / name / f"part-{part:05}.parquet"
                path.parent.mkdir(exist_ok=True)
                write_whole(path, tables.parquet_bytes(parts))
    facts = _facts(blocks, _files(made))
    write_whole(made / SHEET, datasheet(facts, options).encode())
    write_json(made / CROISSANT, croissant(facts, options))
    write_json(made / FACTS, facts)
    for path in sorted(made.iterdir(), key=lambda path: path.name == FACTS):  # that one last
        if kind_of(folder / path.name) == "folder":  # of an earlier attempt, interrupted here
            shutil.rmtree(folder / path.name)
        os.replace(path, folder / path.name)
    return facts


@contextlib.contextmanager
def _episode_writer(made: Path, options: DatasetOptions) -> Iterator[Any]:
    """The writer of episodes, if they are wanted."""
    if "minari" not in options.formats:
        yield None
        return
    with minari_writer(made / EPISODES / options.dataset_id / "data", options) as writer:
        yield writer


def _files(made: Path) -> dict[str, Any]:
    """Size and digest of every file."""
    found = {}
    for path in sorted(path for path in made.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[path.relative_to(made).as_posix()] = {"bytes": path.stat().st_size, "sha256": digest}
    return found


def _facts(blocks: _Blocks, files: dict[str, Any]) -> dict[str, Any]:
    """The content of ``dataset.json`` on the finished blocks; no mean scores without games."""
    options, counts = blocks.options, blocks.counts
    total = {name: sum(found[name] for found in counts) for name in _SUMS}
    scores = np.sum([found["scores"] for found in counts], 0).tolist() if counts else []
    examples = [text for found in counts for text in found["examples"]]
    rules = json.dumps(options.rules.to_dict(), sort_keys=True)
    is_table = "parquet" in options.formats
    return {
        "format": FORMAT,
        "version": VERSION,
        "command": shlex.join(options.command()),
        "options": options.to_json(),
        "players": blocks.store.settings["players"],
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
