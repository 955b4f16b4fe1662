"""Play agents against each other, in any number of processes, with saving and resuming.

Everything that measures agents by play uses a ``Contest``. The caller asks for tasks in any order,
and gets a block of results for each. A ``Task`` is some deals of a pairing. A block depends only on
the settings of the contest and its task, wherever it is played. So the results are the same with
any number of processes, after any number of resumptions, and in a verification.

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
from hearts_train.measure.commands import command_of
from hearts_train.measure.duel import Block, Duel, MatchBlock, deals_digest, unseen
from hearts_train.measure.participants import (
    AgentLike,
    check_same,
    compile_players,
    enter,
)
from hearts_train.store import FileKind, Store, misfit, saving

Pairing = tuple[int, int]
"""The places of an agent and its opponent in the list of agents."""
AnyBlock = Any
"""A ``Block`` or a ``MatchBlock``, by the contest's unit."""
TaskProgress = Callable[["Task", float], None]
"""Called with a task of this process and the number of its deals that are done."""

UNITS = ("deal", "match")
MIN_DEALS = 2
MAX_DEALS = 10_000_000
"""The most duplicate deals. All scores are in memory, 80 bytes per deal with two players."""
LONGEST_ANSWER = 86_400
"""The longest time limit per answer in seconds, a day. The system's timers have a limit."""
RESULTS = FileKind(
    "hearts-env results", "resume", "a file of results", "give one that --save wrote"
)
_NOT_WRITTEN = (KeyError, TypeError, ValueError, OverflowError, AttributeError)
"""The exceptions that parsing a record from someone else may raise."""
_BLOCKS = {"deal": (2048, 16), "match": (32, 32)}
"""The size of the largest block and of the first block, for each unit."""


_ABOUT: dict[str, dict[str, Any]] = {
    "evaluate": {"deals": int},
    "compare": {
        "question": dict.fromkeys(("low", "high", "alpha", "beta"), float),
        "deals": int,
        "test": int,
    },
    "tournament": {"deals": int},
    "benchmark": {
        **dict.fromkeys(("track", "split"), str),
        "deals": int,
        "decisions": (int, None),
    },
    "exploit": {
        "deals": int,
        "tricks": (int, None),
        "awake": ([int], None),
        "made_from": [(str, None)],
    },
}
"""The shapes of the arguments of each command in its files (``store.misfit``)."""
_SETTINGS = {
    "work": str,
    "agents": [{"spec": (str, None)}],
    "unit": str,
    "seed": int,
    "isolate": bool,
    "time_limit": (float, None),
    "rules_in_full": dict,
}


class Task(NamedTuple):
    """Consecutive deals of a pairing that are played at once."""

    pairing: Pairing
    first: int
    """Number of the first deal."""
    deals: int


class Contest:
    """Agents that play each other under one rule set.

    A contest can be pickled to play in another process, where its agents are made again.
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
    ) -> None:
        """Make the agents, and check that each can play the rules.

        Args:
            agents: agents, or their names or checkpoints.
            rules: the rules, or the name of a preset. If None, the rules that one of the agents was
                trained for, else ``two_player``.
            seed: the seed of deals and agents.
            pairings: a function from the rules to the pairings. If None, the first agent plays each
                of the others.
            unit: ``deal`` or ``match``.
            largest_block: the most deals per block. Agents that use random numbers draw others if
                it changes. If None, 2,048 deals or 32 pairs of matches.
            open_duels: the most pairings that keep the processes of their players while others
                play. With more pairings, only the pairing that plays keeps them.
            isolate: if True, each player has its own process.
            time_limit: the seconds that an isolated player may take for one answer, of at most 32
                decisions, up to a day. If None, no limit.
            workers: the number of processes that play. If None, this process alone, or with ``ray``
                all cores of the cluster.
            backend: where the processes run (see ``executor.spread``).

        Raises:
            HeartsError: if an agent is unknown or cannot play the rules, or an argument is invalid.
        """
        self.seed = check_seed(seed)
        self.unit = check_choice("unit", unit, UNITS)
        self.isolate = check_flag("isolate", isolate)
        if time_limit is not None:
            time_limit = check_positive("time_limit", time_limit, ", in seconds, or None")
            if not self.isolate:
                raise HeartsError("time_limit: needs isolate; set isolate (--isolate) too")
            time_limit = min(time_limit, LONGEST_ANSWER)
        self.time_limit = time_limit
        largest, first_block = _BLOCKS[unit]
        self._largest_block = largest if largest_block is None else largest_block
        self._first_block = min(first_block, self._largest_block)
        self._executor = check_executor(workers, backend)
        self._enter(agents, rules)
        if unit == "match" and pairings is not None:
            raise HeartsError("unit: only evaluate plays matches; omit it")
        if unit == "match" and self.rules.players != 2:
            raise HeartsError(
                f"players: {self.rules.name!r} has {self.rules.players}, but matches need two; "
                "give rules for two players, or unit deal"
            )
        first = [(0, j) for j in range(1, len(agents))]
        self.pairings = list(pairings(self.rules)) if pairings is not None else first
        self._open_duels = open_duels if len(self.pairings) <= open_duels else 1
        self.command = ""
        self._store: Store | None = None
        self._known: dict[tuple[int, ...], Any] = {}
        self._report: TaskProgress = unseen
        self._open: dict[Pairing, Duel] = {}

    def _enter(self, agents: Sequence[AgentLike], rules: Rules | str | None) -> None:
        """Make the agents, and check that each can play the rules."""
        # Not the seed of the contest, from which every deal could be computed.
        seeds = [secret_seed(self.seed, "entered", place) for place in range(len(agents))]
        self.participants, self.rules = enter(agents, seeds, rules, isolate=self.isolate)

    def __getstate__(self) -> dict[str, Any]:
        sent = [(participant.to_send(), participant.digest) for participant in self.participants]
        only_here: dict[str, Any] = {"_store": None, "_known": {}, "_report": unseen, "_open": {}}
        return {**vars(self), **only_here, "participants": sent}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        agents, digests = zip(*state["participants"], strict=True)
        self._enter(agents, self.rules)
        check_same(self.participants, digests)

    @property
    def names(self) -> list[str]:
        """The names of the agents in results."""
        return [participant.name for participant in self.participants]

    # -- play -------------------------------------------------------------------------------------
    def tasks(self, deals: int) -> list[Task]:
        """Divide `deals` deals of every pairing into tasks, pairing by pairing.

        Each task has twice as many deals as the last one, up to the largest block. The first tasks
        are small, so there are early results if play is stopped, and progress is shown for a slow
        agent.
        """
        blocks, first, size = [], 0, self._first_block
        while first < deals:
            blocks.append((first, min(size, deals - first)))
            first, size = first + size, min(2 * size, self._largest_block)
        return [Task(pairing, *block) for pairing in self.pairings for block in blocks]

    def run(self, tasks: Sequence[Task], report: TaskProgress = unseen) -> Generator[AnyBlock]:
        """Yield the blocks of tasks in order, from the file of saved work or by playing them.

        Args:
            tasks: the tasks.
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
            self._report = unseen
            self._close_players(0)

    def play(self, task: Task) -> AnyBlock:
        """Play the deals of a task. The block is the same in any process."""
        duel = self._open.pop(task.pairing, None)
        if duel is None:
            self._close_players(self._open_duels - 1)
            agent, opponent = (self.participants[place] for place in task.pairing)
            duel = Duel(agent, opponent, self.rules, self.seed, self.unit, self.time_limit)
        self._open[task.pairing] = duel
        return duel.play(task.first, task.deals, functools.partial(self._report, task))

    def how(self, places: Sequence[int] | None = None, deals: int = 0) -> dict[str, Any]:
        """Return the fields of a ``Result``, which say how a result was obtained.

        Args:
            places: the places of the agents that played. If None, all agents.
            deals: the number of deals, if all agents played the same deals.
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
        """End the players' processes of all pairings except the last `most` that played."""
        while len(self._open) > most:
            self._open.pop(next(iter(self._open))).close()

    def _block(self, record: dict[str, Any]) -> AnyBlock:
        """Parse the record of a block. Raise one of `_NOT_WRITTEN` if it is something else."""
        of_unit = Block.of if self.unit == "deal" else MatchBlock.of
        return of_unit(record, self.rules.players)

    # -- files ------------------------------------------------------------------------------------
    def settings(self) -> dict[str, Any]:
        """Return everything that determines a block, except its task."""
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
        """Save the blocks that are played in this context to a file, or read them from it.

        Args:
            save: a file to begin. If None, none is begun.
            resume: a file to continue. If None, none is continued.
            work: the name of the command, like ``evaluate``.
            **about: other settings that determine the results. A file to continue must have the
                same settings.
        """
        specs = [participant.spec for participant in self.participants]
        self.command = command_of(work, specs, {**self.settings(), **about})
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
    """Return the agents in a file of saved work, and the other arguments of its function.

    Args:
        path: the file.
        work: the command that must have written the file. If None, any command may have written it,
            and agents that run code need no permission.

    Raises:
        HeartsError: if the file is of another kind or of another command, or an agent in it was an
            object, or runs code without permission.
        OSError: if the file cannot be read.
    """
    settings = Store.open(path, RESULTS).settings
    name = repr(os.fspath(path))
    shape = _ABOUT.get(str(settings.get("work")), {})
    if wrong := misfit(settings, _SETTINGS | {"about": shape}):
        raise HeartsError(f"resume: {name} is damaged: {wrong}; start another file")
    if work not in (None, settings["work"]):
        raise HeartsError(
            f"resume: {name} is of another command; use hearts {settings['work']} --resume"
        )
    # Attackers are made again, from names that come after the attacked agent's.
    about = {field: settings["about"][field] for field in shape}
    specs = about.pop("made_from", [agent["spec"] for agent in settings["agents"]])
    if None in specs:
        raise HeartsError(
            f"resume: {name} has agents given as objects; resume it in the program that made them"
        )
    agents = [AgentSpec.from_json(spec) for spec in specs]
    names = ["seed", "isolate", "time_limit"]
    names += ["unit"] if settings["unit"] == "match" else []
    arguments = {name: settings[name] for name in names} | about
    try:
        arguments["rules"] = Rules.from_dict(settings["rules_in_full"])
    except HeartsError as error:
        raise HeartsError(f"resume: {name} has impossible rules: {error}") from None
    for agent in agents if work is not None else []:
        agent.check_allowed(f"resume: {name}")
    return agents, arguments


def num_deals(blocks: Sequence[AnyBlock]) -> int:
    """Return the number of deals in some blocks."""
    return sum(block.deals for block in blocks)


def check_deals(deals: object) -> int:
    """Return `deals` if the number is large enough for an interval and fits in memory.

    Raises:
        HeartsError: if `deals` is not a whole number from 2 to 10,000,000.
    """
    other = " duplicate deals, preferably 1000 or more"
    return check_number("deals", deals, MIN_DEALS, MAX_DEALS, other=other)
