"""The folder of a league: a file for each game that it plays (``hearts_train.store``).

The header of ``GAME.jsonl`` has the league's seed, the rules and a digest of the first deals. Each
record is an agent that entered, a block of deals of a pairing, or an exploitability computed. A
damaged line is named, and nothing is played until it is removed.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.errors import quoted
from hearts_env.support.files import held, removed_if_unused
from hearts_train.store import Kind, Record, Store

PROTOCOL = 1
"""Of the sizes of blocks and of the players' seeds; with another one, other lines."""
GAME = Kind("hearts-env league", 2, "league", "a game of a league", "get it again")
BINS = 16
"""Each block's deals are summed in this many bins of equal size."""
FIRST_BLOCK, LARGEST_BLOCK = 16, 16384


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
class Sums:
    """What a league has of a block: sums over the duplicate deals that a pairing played at once.

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
    def of(cls, entry: dict[str, Any], players: int) -> Sums:
        """The sums that ``to_json`` wrote.

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
        store: The file.
        rules: The rules.
        agents: By name, in the order of entry: what distinguishes each (``Participant.to_json``).
        blocks: By pairing and first deal.
        exact: By agent: exploitability, or why there is none.
        lines: The number of each block's line in the file, from 1.
    """

    store: Store
    rules: Rules
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    blocks: dict[tuple[str, str, int], Sums] = field(default_factory=dict)
    exact: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: dict[tuple[str, str, int], int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the game is called: its file without the suffix."""
        return self.store.path.stem

    @property
    def deals(self) -> str:
        """The SHA-256 of the first deals."""
        return str(self.store.settings["deals"])

    def append(self, entry: dict[str, Any]) -> None:
        """Write an entry, and count it.

        Raises:
            OSError: if it cannot be written; the earlier lines remain.
        """
        self.store.append(entry)
        self._take(self.store.records[-1])

    @classmethod
    def read(cls, path: Path, *, exact_version: bool = False) -> GameFile:
        """What the file of a game says; a last line that was cut short does not count.

        Raises:
            HeartsError: if it is not such a file, or a line is not whole.
            OSError: if it cannot be read.
        """
        store = Store.open(path, GAME, is_exact=exact_version)
        if store.damaged:
            raise HeartsError(
                f"league: line {store.damaged[0]} of {str(path)!r} was edited or damaged: its "
                "digest is not its own; get the file again, or remove the line, and 'hearts "
                "tournament --folder DIR' plays its deals again"
            )
        if store.settings.get("protocol") != PROTOCOL:
            raise HeartsError(
                f"league: {str(path)!r} is of version {quoted(store.settings.get('protocol'))} of "
                f"the protocol, this package has {PROTOCOL}; use the version of hearts-env that "
                f"wrote it ({quoted(store.package)})"
            )
        seed, deals = store.settings.get("seed"), store.settings.get("deals")
        if type(seed) is not int or not isinstance(deals, str):
            raise HeartsError(f"league: the settings in {str(path)!r} are damaged; get it again")
        game = cls(store, Rules.from_dict(store.settings["rules_in_full"]))
        for record in store.records:
            game._take(record)
        return game

    def _take(self, record: Record) -> None:
        """Count the entry of a line.

        Raises:
            HeartsError: if it is of another version, is not whole, or contradicts another one.
        """
        entry = record.entry
        where = f"line {record.line} of {str(self.store.path)!r}"
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
                self._take_block(Sums.of(entry, self.rules.players), record.line, where)
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

    def _take_block(self, block: Sums, number: int, where: str) -> None:
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
    """A league's folder as it was read: its seed and its games by name."""

    path: Path
    seed: int
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


def is_league(path: Path) -> bool:
    """Whether there is a game in a folder, or what seems to be one."""
    return any(path.glob("*.jsonl"))


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
    if not is_empty and not is_league(path):
        raise HeartsError(
            f"league: {str(path)!r} is a folder without a game, but not empty; name a new or an "
            "empty one"
        )
    was_there = path.exists()
    path.mkdir(parents=True, exist_ok=True)
    with nullcontext() if was_there else removed_if_unused(path):
        yield


def read_folder(path: Path, *, exact_version: bool = False) -> Folder:
    """All that a league's folder holds.

    Args:
        path: the folder.
        exact_version: refuse a league of another version of the package, which may play otherwise.

    Raises:
        HeartsError: if there is none, a file is none of it or of another version, a line in one is
            not whole, or the games are of different leagues.
        OSError: if it cannot be read.
    """
    games = [
        GameFile.read(file, exact_version=exact_version) for file in sorted(path.glob("*.jsonl"))
    ]
    if not games:
        raise HeartsError(
            f"league: there is no league in {str(path)!r}; begin one with 'hearts tournament "
            f"AGENT... --folder {path}'"
        )
    seeds = {game.store.settings["seed"] for game in games}
    if len(seeds) > 1:
        raise HeartsError(
            f"league: the games in {str(path)!r} have the seeds {sorted(seeds)}; keep those of one "
            "league in a folder"
        )
    return Folder(path, seeds.pop(), {game.name: game for game in games})


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a league, so that no other process adds to it.

    Raises:
        CheckpointError: if another process holds it.
    """
    with held(path / ".league.lock", f"league: {str(path)!r}"):
        yield


def begin_game(path: Path, rules: Rules, seed: int, deals: str) -> GameFile:
    """Begin the file of a game in a league's folder, which is held.

    Args:
        path: the folder.
        rules: the game's rules.
        seed: of the league.
        deals: the SHA-256 of the first deals.
    """
    settings = {
        "protocol": PROTOCOL,
        "seed": seed,
        "rules": rules.name,
        "rules_in_full": rules.to_dict(),
        "deals": deals,
    }
    return GameFile(Store.create(path / f"{game_name(rules)}.jsonl", GAME, settings), rules)
