"""The folder of a tournament that grows (a league): a file for each game (``hearts_train.store``).

Whoever enters later plays the deals that the others have played already, so that all margins are
over the same deals. The header of ``GAME.jsonl`` has the seed, the rules and a digest of the first
deals. Each record is an agent that entered, the sums of a block of deals of a pairing, or an
exploitability computed. A damaged line is named, and nothing is played until it is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hearts_env import BatchGame, HeartsError, Rules, __version__
from hearts_env.support.arguments import check_seed
from hearts_env.support.errors import quoted
from hearts_env.support.files import held, removed_if_unused
from hearts_train.measure.duel import Block, block_size, deals_digest
from hearts_train.measure.participants import Participant
from hearts_train.store import Kind, Record, Store

PROTOCOL = 1
"""Of the sizes of blocks and of the players' seeds; with another one, other lines."""
GAME = Kind("hearts-env league", 2, "league", "a game of a league", "get it again")
BINS = 16
"""Each block's deals are summed in this many bins of equal size, or in as many as divide them."""
LARGEST_BLOCK = 16384
DIGESTED = 1000
"""So many of a game's first deals are in the digest that its file has."""
AGENT_FIELDS = ("name", "spec", "kind", "options", "digest")

Pairing = tuple[str, str]
"""Two agents, by name."""


def block_at(first: int) -> int:
    """How many deals the block of a folder that begins with this deal has."""
    return block_size(first, LARGEST_BLOCK)


def starts(deals: int) -> Iterator[int]:
    """The first deals of the blocks that `deals` deals need."""
    first = 0
    while first < deals:
        yield first
        first += block_at(first)


def boundary(deals: int) -> int:
    """The first end of a block at which at least this many deals are played."""
    return max((first + block_at(first) for first in starts(deals)), default=0)


def unit(rules: Rules) -> int:
    """How many units of a block's margins are a point a deal."""
    n = rules.players
    return n * (n - 1) * (1 if n == 2 else 2)


def won_unit(rules: Rules) -> int:
    """How many units of a block's deals won are a deal won from every seat."""
    return rules.players * math.lcm(*range(1, rules.players + 1))


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

    pairing: Pairing
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

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        seconds = [round(seconds, 4) for seconds in self.seconds]
        return {"line": "block", **vars(self), "seconds": seconds, "took": round(self.took, 3)}

    @classmethod
    def of(cls, entry: dict[str, Any], players: int) -> Sums:
        """The sums that ``to_json`` wrote.

        Raises:
            ValueError, TypeError, KeyError: if `entry` is something else.
        """
        block = cls(**{one.name: _tuples(entry[one.name]) for one in fields(cls)})
        two = (block.pairing, block.moons, block.faults, block.seconds, block.decisions)
        bins = (block.margins, *block.won)
        figures = itertools.chain(*bins, block.moons, block.faults, block.decisions)
        if any(type(n) is not int for n in (block.first, block.deals, block.squares, *figures)):
            raise TypeError("a figure is not a whole number")
        if any(len(one) != 2 for one in two) or any(len(one) != BINS for one in bins):
            raise ValueError("another number of figures")
        if not all(map(math.isfinite, (*block.seconds, block.took))):
            raise ValueError("seconds")
        is_block = block.first == boundary(block.first) and block.deals == block_at(block.first)
        if not is_block or len(block.won) != (1 if players == 2 else 2) or len({*two[0]}) != 2:
            raise ValueError("block")
        return block

    @classmethod
    def over(cls, pairing: Pairing, rules: Rules, played: Sequence[Block]) -> Sums:
        """Those of a block that was played: one way, or with more than two players both ways."""
        n, deals = rules.players, played[0].deals
        bins = max(bins for bins in range(1, BINS + 1) if not deals % bins)
        whole = won_unit(rules) // n
        won = []
        for block in played:
            own = block.scores[:, :1]
            lower, level = (block.scores < own).sum(1), (block.scores == own).sum(1)
            share = np.where(lower == 0, whole // level, 0).reshape(deals, n).sum(1)
            won.append(tuple(share.reshape(bins, -1).sum(1).tolist()))
        ahead = [block.ahead for block in played]
        margins = ahead[0] if n == 2 else ahead[0] - ahead[1]

        def both(figures: Sequence[Sequence[Any]]) -> Any:
            """The sums of each of the two agents, who change roles in the second way round."""
            return tuple(
                sum(roles[(place + way) % 2] for way, roles in enumerate(figures))
                for place in range(2)
            )

        moons = [[int((b.shooters == 0).sum()), int((b.shooters > 0).sum())] for b in played]
        return cls(
            pairing=pairing,
            first=played[0].first,
            deals=deals,
            margins=tuple(margins.reshape(bins, -1).sum(1).tolist()),
            squares=int(np.square(margins).sum()),
            won=tuple(won),
            moons=both(moons),
            faults=both([block.faults for block in played]),
            seconds=both([block.seconds for block in played]),
            decisions=both([block.decisions for block in played]),
            took=sum(block.took for block in played),
        )

    def differing(self, again: Sums) -> list[str]:
        """The fields in which it differs from what was found when it was played again."""
        names = [one.name for one in fields(self) if one.name not in _CLOCK]
        return [name for name in names if getattr(self, name) != getattr(again, name)]


_CLOCK = ("seconds", "decisions", "took")


def _tuples(value: Any) -> Any:
    """As JSON had it, with tuples for lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@dataclass
class Played:
    """What some agents have played under one set of rules.

    Attributes:
        rules: The rules.
        agents: By name, in the order of entry: what distinguishes each (``Participant.to_json``).
        blocks: By pairing and first deal.
        exact: By agent: exploitability, or why there is none.
    """

    rules: Rules
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    blocks: dict[tuple[str, str, int], Sums] = field(default_factory=dict)
    exact: dict[str, dict[str, Any]] = field(default_factory=dict)

    def blocks_of(self, pairing: Pairing) -> list[Sums]:
        """The blocks of a pairing from the first deal on, up to the first that is missing."""
        found: list[Sums] = []
        end = 0
        while (*pairing, end) in self.blocks:
            found.append(self.blocks[*pairing, end])
            end += found[-1].deals
        return found


@dataclass(kw_only=True)
class GameFile(Played):
    """What the file of a game says.

    Attributes:
        store: The file.
        lines: The number of each block's line in the file, from 1.
    """

    store: Store
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
        game = cls(Rules.from_dict(store.settings["rules_in_full"]), store=store)
        for record in store.records:
            game._take(record)
        return game

    def _take(self, record: Record) -> None:
        """Count the entry of a line."""
        entry = record.entry
        where = f"line {record.line} of {str(self.store.path)!r}"
        kind = entry.get("line")
        try:
            if kind == "agent":
                if not isinstance(entry["name"], str) or entry["name"] in self.agents:
                    raise ValueError(entry["name"])
                self.agents[entry["name"]] = {key: entry[key] for key in AGENT_FIELDS}
            elif kind == "exact":
                self.exact[entry["agent"]] = dict(entry["found"])
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
        if key in self.blocks and self.blocks[key].differing(block):
            raise HeartsError(
                f"league: {where} and line {self.lines[key]} say different things about the same "
                "deals; remove one of them, then 'hearts tournament --folder DIR --verify'"
            )
        self.blocks.setdefault(key, block)
        self.lines.setdefault(key, number)


class Folder(NamedTuple):
    """The folder of a league as it was read: its seed and its games by name."""

    path: Path
    seed: int
    games: dict[str, GameFile]

    def chosen(self, rules: Rules | None) -> list[GameFile]:
        """The game of some rules; None: all of them.

        Raises:
            HeartsError: if there is no such game.
        """
        if rules is None:
            return list(self.games.values())
        if game_name(rules) not in self.games:
            raise HeartsError(
                f"rules: {rules.name!r} is not a game of the league in {str(self.path)!r}; it has "
                f"{', '.join(self.games)}"
            )
        return [self.games[game_name(rules)]]


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


# ---- entering ------------------------------------------------------------------------------------
def enter(
    path: Path,
    agents: Sequence[str],
    games: Sequence[Rules] | None = None,
    seed: int | None = None,
    *,
    isolate: bool = False,
) -> None:
    """Enter agents in games of a league; both are created where they are missing.

    Args:
        path: the league's folder.
        agents: names, checkpoints, code or programs, as ``make_agent`` takes them.
        games: the games; None: those that the league has, or ``two_player`` for a new one.
        seed: seed of deals and agents; of a new league only. None: 0.
        isolate: agents from outside are made in processes of their own.

    Raises:
        HeartsError: if an agent is unknown, or cannot play a game; if the league is of another
            version, or has another seed.
        OSError: if a file cannot be read or written.
    """
    wanted = 0 if seed is None else check_seed(seed)
    with _made_folder(path), locked(path):
        folder = Folder(path, wanted, {})
        if is_league(path):
            folder = read_folder(path, exact_version=True)
        if seed is not None and folder.seed != wanted:
            raise HeartsError(
                f"seed: the league in {str(path)!r} has the seed {folder.seed}, got {wanted}; omit "
                "it, or start another league"
            )
        if games is None:
            games = [game.rules for game in folder.games.values()] or [Rules.make("two_player")]
        for rules in games:
            _enter(folder, rules, agents, isolate=isolate)


@contextmanager
def _made_folder(path: Path) -> Iterator[None]:
    """Make the folder of a league for this block, or refuse one that is another's."""
    if path.exists() and not path.is_dir():
        raise HeartsError(f"league: {str(path)!r} is not a folder; name another")
    was_there = path.exists()
    is_empty = not was_there or all(one.name.startswith(".") for one in path.iterdir())
    if not is_empty and not is_league(path):
        raise HeartsError(
            f"league: {str(path)!r} is a folder without a game, but not empty; name a new or an "
            "empty one"
        )
    path.mkdir(parents=True, exist_ok=True)
    with nullcontext() if was_there else removed_if_unused(path):
        yield


def _enter(folder: Folder, rules: Rules, agents: Sequence[str], *, isolate: bool) -> None:
    """Enter agents in one game, whose file is created with the first who can play it."""
    name = game_name(rules)
    known = folder.games.get(name)
    there = {} if known is None else known.agents
    entering: list[Participant] = []
    for agent in dict.fromkeys(agents):
        with contextlib.closing(Participant(agent, 0, isolate=isolate)) as participant:
            _try_out(participant, rules)
            if agent in there:
                check_unchanged(there[agent], participant)
            else:
                _check_other(participant, there)
                entering.append(participant)
    if entering and known is None:
        settings = {
            "protocol": PROTOCOL,
            "seed": folder.seed,
            "rules": rules.name,
            "rules_in_full": rules.to_dict(),
            "deals": deals_digest(rules, folder.seed, DIGESTED),
        }
        store = Store.create(folder.path / f"{name}.jsonl", GAME, settings)
        known = GameFile(rules, store=store)
        folder.games[name] = known
    for participant in entering:
        assert known is not None
        known.append({"line": "agent", **participant.to_json()})


def _try_out(participant: Participant, rules: Rules) -> None:
    """Ask an agent whether it can play these rules, and one of our own for its first action too."""
    participant.check_rules(rules)
    if participant.is_ours:
        participant.fresh(0).act_batch(BatchGame(rules, 1, autodeal=False).views())


def _check_other(participant: Participant, known: dict[str, dict[str, Any]]) -> None:
    """Refuse one of our own players that has entered under another name."""
    for name, there in known.items():
        if participant.is_ours and not participant.differing(there):
            raise HeartsError(
                f"agent: {participant.name!r} is the same player as {name!r}, which has entered; "
                "enter each player once"
            )


def check_unchanged(there: dict[str, Any], participant: Participant) -> None:
    """Refuse an agent that is another one than the one that entered."""
    if changed := participant.differing(there):
        raise HeartsError(
            f"agent: {participant.name!r} has changed: its {changed}, when it entered; put the "
            "old one back, or give the new one another path and add that"
        )
