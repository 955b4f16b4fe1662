"""Some agents who play each other: what is played, by whom, and what has been played already.

Everything that measures agents by play goes through a ``Contest``: its caller says which pairings
play which duplicate deals (``Task``), in any order, and gets a block of results for each. A block
follows from the contest's settings and its task alone, wherever it is played. So the results are
the same on any number of processes, after any number of resumptions, and when they are verified.

The unit is a duplicate deal or a pair of whole matches (``hearts_train.measure.duel``).
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules
from hearts_env.seeds import secret_seed
from hearts_env.support.arguments import (
    check_choice,
    check_flag,
    check_number,
    check_positive,
    check_seed,
)
from hearts_train.executor import check_executor, spread
from hearts_train.measure.duel import Block, Duel, MatchBlock, deals_digest
from hearts_train.measure.participants import (
    AgentLike,
    check_same,
    compile_players,
    enter,
)
from hearts_train.store import FileKind, Store, saving

Pairing = tuple[int, int]
"""Who plays whom, by place."""
AnyBlock = Any
"""A ``Block`` or a ``MatchBlock``, by the contest's unit."""
TaskProgress = Callable[["Task", float], None]
"""Called with a task that this process plays, and how many of its deals are done."""

UNITS = ("deal", "match")
MIN_DEALS = 2
MAX_DEALS = 10_000_000
"""Duplicate deals; the scores of all of them are in memory, 80 bytes a deal with two players."""
LONGEST_ANSWER = 86_400
"""Seconds that an answer may be waited for: a day."""
RESULTS = FileKind(
    "hearts-env results", 2, "resume", "a file of results", "give one that --save has written"
)
_NOT_WRITTEN = (KeyError, TypeError, ValueError, OverflowError, AttributeError)
"""What reading a record raises that is not one of ours."""
_BLOCKS = {"deal": (2048, 16), "match": (32, 32)}
"""Of each unit how many are played at once: in the largest block, and in the first."""


class Task(NamedTuple):
    """Some deals of a pairing that are played at once."""

    pairing: Pairing
    first: int
    """The number of the first deal."""
    deals: int


class Contest:
    """Some agents, made once, who play each other under one set of rules.

    It can be sent to another process, where its agents are made again, to play there.
    """

    def __init__(
        self,
        agents: Sequence[AgentLike],
        rules: Rules | str | None = None,
        seed: int = 0,
        *,
        pairings: Callable[[Rules], Sequence[Pairing]] | None = None,
        unit: str = "deal",
        largest_block: int | None = None,
        open_duels: int = 1,
        isolate: bool = False,
        time_limit: float | None = None,
        workers: int | None = None,
        backend: str = "local",
        command: str | None = None,
    ) -> None:
        """Make the agents, and ask each whether it can play the rules.

        Args:
            agents: agents, or their names or checkpoints.
            rules: the rules, or a preset's name; None: those that one of the agents was trained
                for, else ``two_player``.
            seed: seed of deals and agents.
            pairings: who plays whom under the rules; None: the first against each of the others.
            unit: ``deal`` or ``match``.
            largest_block: the most deals of a block, which decides the draws of players that
                use random numbers; None: 2,048 deals or 32 pairs of matches.
            open_duels: so many pairings keep their players' processes while others play, if there
                are no more pairings than that; otherwise only the pairing that plays.
            isolate: every player in a process of its own.
            time_limit: with `isolate`, seconds that a process may take for one answer. It is then
                asked for at most 32 decisions at a time. None: no limit.
            workers: processes that play.
            backend: where they run (``executor.spread``).
            command: the command line, for the results.

        Raises:
            HeartsError: if an agent is unknown or cannot play the rules, or an argument is none of
                these.
        """
        self.seed = check_seed(seed)
        self.unit = check_choice("unit", unit, UNITS)
        self.isolate = check_flag("isolate", isolate)
        self.time_limit = _check_time_limit(time_limit, isolate=self.isolate)
        largest, first_block = _BLOCKS[unit]
        self._largest_block = largest if largest_block is None else largest_block
        self._first_block = min(first_block, self._largest_block)
        self._executor = check_executor(workers, backend)
        self.command = command
        self._enter(agents, rules)
        if unit == "match" and pairings is not None:
            raise HeartsError("unit: only evaluate plays matches; omit it")
        if unit == "match" and self.rules.players != 2:
            raise HeartsError(
                f"players: {self.rules.name!r} has {self.rules.players}; duplicate matches are for "
                "two players"
            )
        first = [(0, j) for j in range(1, len(agents))]
        self.pairings = list(pairings(self.rules)) if pairings is not None else first
        self._open_duels = open_duels if len(self.pairings) <= open_duels else 1
        self._store: Store | None = None
        self._known: dict[tuple[int, ...], Any] = {}
        self._report: TaskProgress | None = None
        self._open: dict[Pairing, Duel] = {}

    def _enter(self, agents: Sequence[AgentLike], rules: Rules | str | None) -> None:
        """Make the agents, and ask each whether it can play the rules."""
        # Not the contest's own seed, from which every deal could be computed.
        seeds = [secret_seed(self.seed, "entered", place) for place in range(len(agents))]
        self.participants, self.rules = enter(agents, seeds, rules, isolate=self.isolate)

    def __getstate__(self) -> dict[str, Any]:
        sent = [(participant.to_send(), participant.digest) for participant in self.participants]
        only_here: dict[str, Any] = {"_store": None, "_known": {}, "_report": None, "_open": {}}
        return {**vars(self), **only_here, "participants": sent}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        agents, digests = zip(*state["participants"], strict=True)
        self._enter(agents, self.rules)
        check_same(self.participants, digests)

    @property
    def names(self) -> list[str]:
        """Return the names of the agents in results."""
        return [participant.name for participant in self.participants]

    # -- what is played ---------------------------------------------------------------------------
    def tasks(self, deals: int) -> list[Task]:
        """`deals` deals of every pairing in blocks, pairing by pairing.

        Each block has twice the last one's deals, up to the largest. The first are small: there are
        results early if play is stopped, and a slow agent shows progress.
        """
        blocks, first, size = [], 0, self._first_block
        while first < deals:
            blocks.append((first, min(size, deals - first)))
            first, size = first + size, min(2 * size, self._largest_block)
        return [Task(pairing, *block) for pairing in self.pairings for block in blocks]

    def run(self, tasks: Sequence[Task], report: TaskProgress | None = None) -> Generator[AnyBlock]:
        """Yield the blocks of some tasks, in their order: played, or saved already.

        Args:
            tasks: what is played.
            report: called while this process plays.
        """
        known = [self._known.get((*task.pairing, task.first, task.deals)) for task in tasks]
        wanted = [task for task, block in zip(tasks, known, strict=True) if block is None]
        if wanted:
            compile_players(self.participants, self.rules)
        self._report = report
        workers, backend = self._executor
        fresh = spread(self.play, wanted, workers=workers, backend=backend)
        try:
            for task, saved in zip(tasks, known, strict=True):
                block = saved
                if block is None:
                    block = next(fresh)
                    if self._store is not None:
                        pairing = list(task.pairing)
                        self._store.append({"pairing": pairing, "block": block.to_json()})
                yield block
        finally:
            fresh.close()
            self._report = None
            self._close_players(0)

    def play(self, task: Task) -> AnyBlock:
        """Play some deals: the same block in any process."""
        duel = self._open.pop(task.pairing, None)
        if duel is None:
            self._close_players(self._open_duels - 1)
            agent, opponent = (self.participants[place] for place in task.pairing)
            duel = Duel(agent, opponent, self.rules, self.seed, self.unit, self.time_limit)
        self._open[task.pairing] = duel
        report = self._report
        if report is None:
            return duel.play(task.first, task.deals)
        return duel.play(task.first, task.deals, functools.partial(report, task))

    def how(self, places: Sequence[int] | None = None, deals: int = 0) -> dict[str, Any]:
        """Return how a result was found, as the fields of a ``Result``.

        Args:
            places: of those who played; None: all.
            deals: how many deals they played, if all played the same.
        """
        chosen = range(len(self.participants)) if places is None else places
        is_of_deals = deals > 0 and self.unit == "deal"
        return {
            "seed": self.seed,
            "agents": tuple(self.participants[place].to_json() for place in chosen),
            "rules_in_full": self.rules.to_dict(),
            "deals_digest": deals_digest(self.rules, self.seed, deals) if is_of_deals else "",
            "isolated": self.isolate,
            "command": self.command,
        }

    def _close_players(self, most: int) -> None:
        """End the players' processes of all pairings but the last `most` that played."""
        while len(self._open) > most:
            self._open.pop(next(iter(self._open))).close()

    def _block(self, record: dict[str, Any]) -> AnyBlock:
        """Return the block of a record; raise one of `_NOT_WRITTEN` if it is none."""
        of_unit = Block.of if self.unit == "deal" else MatchBlock.of
        return of_unit(record, self.rules.players)

    # -- what is saved ----------------------------------------------------------------------------
    def settings(self) -> dict[str, Any]:
        """Return all that a block follows from, besides its task."""
        return {
            "agents": [participant.to_json() for participant in self.participants],
            "pairings": [list(pairing) for pairing in self.pairings],
            "rules": self.rules.name,
            "rules_in_full": self.rules.to_dict(),
            "unit": self.unit,
            "seed": self.seed,
            "isolate": self.isolate,
            "time_limit": self.time_limit,
        }

    @contextmanager
    def saved(
        self,
        save: str | os.PathLike[str] | None,
        resume: str | os.PathLike[str] | None,
        work: str,
        **about: Any,
    ) -> Iterator[None]:
        """Save the blocks that are played in this context to a file, or take them from it.

        Args:
            save: a file to begin.
            resume: a file to continue.
            work: what is done, by the name of its command: ``evaluate``.
            **about: what else the results follow from; a file to continue must say the same.
        """
        settings = {"work": work, **self.settings(), "about": about}
        with saving(save, resume, RESULTS, settings) as self._store:
            for record in [] if self._store is None else self._store.records:
                with contextlib.suppress(*_NOT_WRITTEN):
                    (i, j), found = record["pairing"], self._block(record["block"])
                    self._known[i, j, found.first, found.deals] = found
            try:
                yield
            finally:
                self._store, self._known = None, {}


def read_saved(
    path: str | os.PathLike[str], work: str | None = None
) -> tuple[list[AgentSpec], dict[str, Any]]:
    """Return the agents of the work in a file of results, and its function's other arguments.

    Args:
        path: the file.
        work: the command whose file it must be. If None, of any, and its agents need not be
            allowed.

    Raises:
        HeartsError: if it is not such a file, is of other work, or an agent was made by a program,
            or runs code and the user does not allow that.
        OSError: if it cannot be read.
    """
    settings = Store.open(path, RESULTS).settings
    name = repr(os.fspath(path))
    try:
        if work not in (None, settings["work"]):
            raise HeartsError(
                f"resume: {name} is not of this command; use hearts {settings['work']} --resume"
            )
        # Some are made of the others' names: an attacker knows the agent.
        about = dict(settings["about"])
        specs = about.pop("made_from", [agent["spec"] for agent in settings["agents"]])
        if not all(isinstance(spec, str) for spec in specs):
            raise HeartsError(
                f"resume: {name} has agents that a program made; resume it in that program"
            )
        agents = [AgentSpec.from_json(spec) for spec in specs]
        names = ["seed", "isolate", "time_limit"]
        names += ["unit"] if settings["unit"] == "match" else []
        arguments = {name: settings[name] for name in names} | about
        arguments["rules"] = Rules.from_dict(settings["rules_in_full"])
    except (KeyError, TypeError, AttributeError):
        raise HeartsError(
            f"resume: the settings in {name} are damaged; start another file"
        ) from None
    for agent in agents if work is not None else []:
        agent.check_allowed(f"resume: {name}")
    return agents, arguments


def num_deals(blocks: Sequence[AnyBlock]) -> int:
    """Return the number of deals of some blocks."""
    return sum(block.deals for block in blocks)


def check_deals(deals: object) -> int:
    """Return `deals` if so many duplicate deals give an interval and fit in memory.

    Raises:
        HeartsError: if it is not a whole number from 2 to 10,000,000.
    """
    other = " duplicate deals, preferably 1000 or more"
    return check_number("deals", deals, MIN_DEALS, MAX_DEALS, other=other)


def _check_time_limit(time_limit: Any, *, isolate: bool) -> float | None:
    if time_limit is None:
        return None
    if not isolate:
        raise HeartsError("time_limit: needs isolate; set isolate (--isolate) too")
    limit = check_positive("time_limit", time_limit, ", in seconds, or None")
    if limit > LONGEST_ANSWER:
        raise HeartsError(
            f"time_limit: {limit:g} seconds are more than a day, {LONGEST_ANSWER:,}; give fewer, "
            "or None"
        )
    return limit
