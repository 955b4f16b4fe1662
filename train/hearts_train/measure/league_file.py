"""The folder of a league: what was settled when it began, and a file for each game it plays.

``league.json`` says once what all follows from. ``GAME.jsonl`` has a line of JSON for the rules,
then one for each agent that entered, one for each block of deals of a pairing, and one for each
exploitability computed. Lines are appended, never changed, and each carries a digest of itself. A
last line that was cut short is dropped, and its deals are played again; any other line that is not
whole was edited or damaged, and is named.

The digest shows accidents, not forgers, who can write a new one. Only playing the deals again shows
that a line holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.errors import quoted
from hearts_env.support.files import (
    append_all,
    held,
    lock_beside,
    read_limited,
    removed_if_unused,
    write_whole,
)
from hearts_train.measure.records import entry_of, sealed_line

FORMAT = "hearts-env league"
PROTOCOL = 1
"""Of the lines, of the sizes of blocks and of the players' seeds; with another one, other lines."""
BINS = 16
"""Each block's deals are summed in this many bins of equal size."""
FIRST_BLOCK, LARGEST_BLOCK = 16, 16384
SETTINGS = "league.json"
_MOST_BYTES = 2**31


def block_at(first: int) -> int:
    """How many deals the block that begins with this deal has: 16, then twice as many, to 16384."""
    size = FIRST_BLOCK
    begin = 0
    while begin < first and size < LARGEST_BLOCK:
        begin += size
        size *= 2
    return size


def boundary(deals: int) -> int:
    """The first end of a block at which at least this many deals are played."""
    end = 0
    while end < deals:
        end += block_at(end)
    return end


@dataclass(frozen=True)
class Block:
    """What is kept of the duplicate deals that a pairing has played at once.

    Of two players the sums are those of the pairing's first agent. With more, one agent sat among
    copies of the other and then the reverse; a deal's margin is half the difference of the two.

    Attributes:
        pairing: The names of the two agents.
        first: The number of the first deal.
        deals: How many deals.
        margins: The first agent's margins, in whole units (``unit``), summed in bins of deals.
        squares: The sum of their squares, deal by deal.
        won: Deals won by the first agent alone, in units of ``won_unit``, summed in the same bins;
            with more than two players then those of the second agent alone.
        moons: Moons that each shot.
        faults: Deals charged to each for misbehaving.
        seconds: Time that each took to decide; this and what follows is the clock's, and need not
            be found again by a replay.
        decisions: How many decisions that were.
        took: Seconds of processor time that the block took.
    """

    pairing: tuple[str, str]
    first: int
    deals: int
    margins: tuple[int, ...]
    squares: int
    won: tuple[tuple[int, ...], ...]
    moons: tuple[int, int]
    faults: tuple[int, int]
    seconds: tuple[float, float] = (0.0, 0.0)
    decisions: tuple[int, int] = (0, 0)
    took: float = 0.0

    def result(self) -> dict[str, Any]:
        """What a replay must find again, of types that JSON knows."""
        record = {name: value for name, value in vars(self).items() if name not in _CLOCK}
        plain: dict[str, Any] = json.loads(json.dumps(record))
        return plain

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "line": "block",
            **self.result(),
            "seconds": [round(seconds, 4) for seconds in self.seconds],
            "decisions": list(self.decisions),
            "took": round(self.took, 3),
        }

    @classmethod
    def of(cls, entry: dict[str, Any], players: int) -> Block:
        """The block that ``to_json`` wrote.

        Raises:
            ValueError, TypeError, KeyError: if `entry` is something else.
        """
        one, other = (_text(name) for name in entry["pairing"])
        block = cls(
            (one, other),
            _whole(entry["first"]),
            _whole(entry["deals"]),
            _wholes(entry["margins"], BINS),
            _whole(entry["squares"]),
            tuple(_wholes(bins, BINS) for bins in entry["won"]),
            _two(_wholes(entry["moons"], 2)),
            _two(_wholes(entry["faults"], 2)),
            (float(entry["seconds"][0]), float(entry["seconds"][1])),
            _two(_wholes(entry["decisions"], 2)),
            float(entry["took"]),
        )
        if not all(map(math.isfinite, (*block.seconds, block.took))):
            raise ValueError("seconds")
        is_block = block.first == boundary(block.first) and block.deals == block_at(block.first)
        if not is_block or len(block.won) != (1 if players == 2 else 2) or one == other:
            raise ValueError("block")
        return block


_CLOCK = ("seconds", "decisions", "took")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value


def _wholes(values: Any, length: int) -> tuple[int, ...]:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(values)
    return tuple(_whole(value) for value in values)


def _two(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[1]


@dataclass
class GameFile:
    """What the file of a game says.

    Attributes:
        path: The file.
        rules: The rules.
        deals: The SHA-256 of the first deals.
        agents: By name, in the order of entry: what distinguishes each (``Contender.to_json``).
        blocks: By pairing and first deal.
        exact: By agent: exploitability, or why there is none.
        lines: The number of each block's line in the file, from 1.
    """

    path: Path
    rules: Rules
    deals: str
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    blocks: dict[tuple[str, str, int], Block] = field(default_factory=dict)
    exact: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: dict[tuple[str, str, int], int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the game is called: its file without the suffix."""
        return self.path.stem

    def take(self, entry: dict[str, Any], number: int) -> None:
        """Count the entry of a line.

        Raises:
            HeartsError: if it is of another version, is not whole, or contradicts another one.
        """
        where = f"line {number} of {str(self.path)!r}"
        kind = entry.get("line")
        try:
            if kind == "agent":
                name = _text(entry["name"])
                if name in self.agents:
                    raise ValueError(name)
                self.agents[name] = {key: entry[key] for key in AGENT_FIELDS}
            elif kind == "exact":
                self.exact[_text(entry["agent"])] = dict(entry["found"])
            elif kind == "block":
                self._take_block(Block.of(entry, self.rules.players), number, where)
            else:
                raise HeartsError(
                    f"league: {where} is of kind {quoted(kind)}, which this version of hearts-env "
                    f"({__version__}) does not know; use the version that wrote it"
                )
        except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
            if isinstance(error, HeartsError):
                raise
            raise HeartsError(
                f"league: {where} is not a whole {kind} ({error}); remove the line, and 'hearts "
                "tournament --folder DIR' plays its deals again"
            ) from None

    def _take_block(self, block: Block, number: int, where: str) -> None:
        for name in block.pairing:
            if name not in self.agents:
                raise HeartsError(
                    f"league: {where} names {name!r}, who did not enter before it; remove the "
                    "line, or put back the line of its entry"
                )
        key = (*block.pairing, block.first)
        known = self.blocks.get(key)
        if known is not None and known.result() != block.result():
            raise HeartsError(
                f"league: {where} and line {self.lines[key]} say different things about the same "
                "deals; remove one of them, then 'hearts tournament --folder DIR --verify'"
            )
        self.blocks.setdefault(key, block)
        self.lines.setdefault(key, number)

    def played(self, one: str, other: str) -> int:
        """How many deals a pairing has played without a gap, from the first one on."""
        end = 0
        while (one, other, end) in self.blocks:
            end += block_at(end)
        return end


AGENT_FIELDS = ("name", "spec", "kind", "options", "digest")
DIGESTED = 1000
"""So many of a game's first deals are in the digest that its file has."""


@dataclass(frozen=True)
class Folder:
    """A league's folder as it was read: its settings and its games by name."""

    path: Path
    seed: int
    package: str
    games: dict[str, GameFile]


def game_name(rules: Rules) -> str:
    """What a game is called in a league, and its file: ``party-5``; letters, digits, - and _."""
    words = rules.name.split()
    plain = re.sub(r"^players=", "", words[1]) if len(words) == 2 else ""
    if len(words) == 1:
        return words[0]
    if plain.isdecimal():
        return f"{words[0]}-{plain}"
    digest = hashlib.sha256(rules.name.encode()).hexdigest()[:6]
    return re.sub(r"[^\w-]+", "-", rules.name)[:60].strip("-") + "-" + digest


def is_begun(path: Path) -> bool:
    """Whether there is a league in a folder."""
    return (path / SETTINGS).exists()


@contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Make the folder of a league for this block, or refuse one that is another's.

    Raises:
        HeartsError: if it is not a folder, or holds something else.
        OSError: if it cannot be made.
    """
    if path.exists() and not path.is_dir():
        raise HeartsError(f"league: {str(path)!r} is not a folder; name another")
    is_empty = not path.is_dir() or all(one.name.startswith(".") for one in path.iterdir())
    if not is_empty and not is_begun(path):
        raise HeartsError(
            f"league: {str(path)!r} is a folder without a {SETTINGS}, but not empty; name a new or "
            "an empty one"
        )
    was_there = path.exists()
    path.mkdir(parents=True, exist_ok=True)
    with nullcontext() if was_there else removed_if_unused(path):
        yield


def begin(path: Path, seed: int) -> None:
    """Begin a league in a folder that is held, if there is none yet.

    Raises:
        OSError: if it cannot be written.
    """
    if not is_begun(path):
        settings = {"format": FORMAT, "protocol": PROTOCOL, "package": __version__, "seed": seed}
        write_whole(path / SETTINGS, sealed_line(settings))


def read_folder(path: Path, *, exact_version: bool = False) -> Folder:
    """All that a league's folder holds.

    Args:
        path: the folder.
        exact_version: refuse a league of another version of the package, which may play otherwise.

    Raises:
        HeartsError: if it is not such a file, is of another version, or a line in it is not whole.
        OSError: if it cannot be read.
    """
    if not (path / SETTINGS).is_file():
        raise HeartsError(
            f"league: there is no league in {str(path)!r}; begin one with 'hearts tournament "
            f"AGENT... --folder {path}'"
        )
    data = read_limited(path / SETTINGS, 2**16, "the settings of a league")
    settings = entry_of(data.removesuffix(b"\n"))
    if settings is None or settings.get("format") != FORMAT:
        raise HeartsError(
            f"league: {str(path / SETTINGS)!r} was edited or damaged, or is of something else; get "
            "it again"
        )
    if settings.get("protocol") != PROTOCOL:
        raise HeartsError(
            f"league: {str(path)!r} is of version {quoted(settings.get('protocol'))} of the "
            f"protocol, this package has {PROTOCOL}; use the version of hearts-env that wrote it "
            f"({quoted(settings.get('package'))})"
        )
    if exact_version and settings.get("package") != __version__:
        raise HeartsError(
            f"league: {str(path)!r} is of version {quoted(settings.get('package'))} of hearts-env, "
            f"this is {quoted(__version__)}, which may play differently; go on with the version "
            "that began it, or begin another league"
        )
    seed, package = settings.get("seed"), settings.get("package")
    if type(seed) is not int or not isinstance(package, str):
        raise HeartsError(f"league: the settings in {str(path)!r} are damaged; get them again")
    games = {file.stem: read_game(file) for file in sorted(path.glob("*.jsonl"))}
    return Folder(path, seed, package, games)


def read_game(path: Path) -> GameFile:
    """What the file of a game says; a last line that was cut short does not count.

    Raises:
        HeartsError: if it is not such a file, or a line is not whole.
        OSError: if it cannot be read.
    """
    data = read_limited(path, _MOST_BYTES, "a game of a league")
    lines = data.split(b"\n")[:-1]
    game: GameFile | None = None
    for number, line in enumerate(lines, 1):
        entry = entry_of(line)
        if entry is None:
            raise HeartsError(
                f"league: line {number} of {str(path)!r} was edited or damaged: its digest is not "
                "its own; get the file again, or remove the line, and 'hearts tournament "
                "--folder DIR' plays its deals again"
            )
        if game is None:
            game = _game_of(path, entry)
        else:
            game.take(entry, number)
    if game is None:
        raise HeartsError(
            f"league: {str(path)!r} is not a game of a league: it has no whole line; get it again"
        )
    return game


def _game_of(path: Path, entry: dict[str, Any]) -> GameFile:
    """The game that the first line of a file begins."""
    if entry.get("line") != "game" or entry.get("protocol") != PROTOCOL:
        raise HeartsError(
            f"league: {str(path)!r} does not begin with a game of version {PROTOCOL} of the "
            "protocol; use the version of hearts-env that wrote it, or get it again"
        )
    return GameFile(path, Rules.from_dict(entry["rules_in_full"]), str(entry.get("deals")))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a league, so that no other process adds to it.

    Raises:
        CheckpointError: if another process holds it.
    """
    with held(lock_beside(path / SETTINGS), f"league: {str(path)!r}"):
        yield


def begin_game(path: Path, rules: Rules, deals: str) -> GameFile:
    """The file of a game, made if it is not there yet."""
    file = path / f"{game_name(rules)}.jsonl"
    if not file.exists():
        entry = {
            "line": "game",
            "protocol": PROTOCOL,
            "rules": rules.name,
            "rules_in_full": rules.to_dict(),
            "deals": deals,
        }
        write_whole(file, sealed_line(entry))
    return read_game(file)


class Appending:
    """The open file of a game: entries are counted, and written so that they outlive a kill."""

    def __init__(self, game: GameFile) -> None:
        """Open the file at its end, behind its last whole line: what was cut short is dropped.

        Raises:
            OSError: if it cannot be written.
        """
        self.game = game
        data = game.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(game.path, whole)
        self._number = data[:whole].count(b"\n")
        self._file = game.path.open("ab", buffering=0)  # what cannot be written is not kept back

    def append(self, entry: dict[str, Any]) -> None:
        """Write an entry.

        Raises:
            OSError: if it cannot be written; the earlier lines remain.
        """
        append_all(self._file, sealed_line(entry), self.game.path)
        self._number += 1
        plain = json.loads(json.dumps(entry))
        self.game.take(plain, self._number)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
