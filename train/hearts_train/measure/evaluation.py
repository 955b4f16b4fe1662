"""Duplicate evaluation: how many points a deal one agent is better than another.

Every deal is played once with the agent in each seat, the other seats taken by copies of the
opponent, so that good and bad cards cancel out. Such a *duplicate deal*, all plays of one deal
together, is the unit of every interval. Arguments and results call their number ``deals``, since
with two players it is two plays, with the seats swapped.

- The margin of a deal is the others' mean score minus the agent's own: positive is good.
- Intervals are the mean over duplicate deals +- 1.96 standard errors (normal approximation,
  adequate from a few dozen of them on).
- Deals won: 1 where the agent alone has the lowest score, a share of 1 where it is shared.
- Rank: 1 for the lowest score of the deal, 2 for the next, and so on; ties share the mean rank.
- Chips, where the rules settle in chips: what the agent wins in a deal that is settled on its own.
- Matches: for each seat, the deals that the agent played there, in order, are strung together into
  matches that end as the rules say (end score, ties, chips); unfinished ones do not count. The
  players do not know the totals, and deal number and dealer are those of each deal.
- No player sees a deal twice: each seating has players of its own (``hearts_train.measure.duel``).
- An agent that raises, answers with something illegal or changes its views commits a fault: it is
  charged all points of the deal, as after a revoke at the card table, and the rest goes on.
- Milliseconds per decision are those of ``act_batch``, many games at once. Everything else follows
  from the seed: the deals from it alone, so that they are the same whoever plays; with players that
  draw random numbers the play also from the number of deals, which decides how many run at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, overload

from hearts_env import HeartsError, Rules
from hearts_env.seeds import secret_seed
from hearts_env.support.arguments import check_number, check_positive, check_seed
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.contenders import Contender, Entrant, check_same, named, rules_for
from hearts_train.measure.crew import check_crew, spread
from hearts_train.measure.duel import Block, Duel
from hearts_train.measure.intervals import mean_and_interval
from hearts_train.measure.matches import string_matches
from hearts_train.measure.records import Results, results_file
from hearts_train.measure.summary import (
    Evaluation,
    platform_versions,
    plot,
    summarize,
)

__all__ = [
    "MAX_DEALS",
    "MIN_DEALS",
    "Contest",
    "Entrant",
    "Evaluation",
    "check_deals",
    "evaluate",
    "mean_and_interval",
    "named",
    "platform_versions",
    "plot",
    "rules_for",
    "string_matches",
]

ShowPairing = Callable[[int, int], AbstractContextManager[Progress]]
"""Shows the progress of a pairing, given by the places of the two."""
Pairing = tuple[int, int]

MIN_DEALS = 2
MAX_DEALS = 10_000_000
"""Duplicate deals; the scores of all of them are kept, 80 bytes a deal with two players."""
LONGEST_ANSWER = 86_400
"""Seconds that an answer may be waited for: a day."""
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 2048


@overload
def evaluate(
    agent: Entrant,
    opponents: list[Entrant] | tuple[Entrant, ...],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    isolate: bool = False,
    time_limit: float | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    backend: str = "local",
) -> list[Evaluation]: ...


@overload
def evaluate(
    agent: Entrant,
    opponents: Entrant,
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    isolate: bool = False,
    time_limit: float | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    backend: str = "local",
) -> Evaluation: ...


def evaluate(
    agent: Entrant,
    opponents: Entrant | list[Entrant] | tuple[Entrant, ...],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    isolate: bool = False,
    time_limit: float | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    backend: str = "local",
) -> Evaluation | list[Evaluation]:
    """Play `deals` duplicate deals of `agent` against an opponent, or each of several.

    The module's text has the protocol.

    Ctrl-C ends it with the duplicate deals finished, marked as interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``. An agent object is
            copied; it does not play itself.
        opponents: the same for all other seats; of a list or tuple each in turn, and the result is
            a list of evaluations.
        rules: the rules, or a preset's name; None: those that a checkpoint was trained for, else
            ``two_player``.
        deals: duplicate deals, each played with the agent in every seat; 2 to 10,000,000.
        seed: the same seed gives the same deals to whoever plays, and to agents that have
            ``reseed(seed)`` the same random numbers.
        progress: called after every round of play with the duplicate deals done and all of them.
        isolate: every player in a process of its own, which gets views only.
        time_limit: with `isolate`, seconds that a process may take for one answer.
        out: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        workers: processes that play; the figures, times aside, are the same with any number.
        backend: where they run, ``local`` or ``ray`` (``hearts_train.measure.crew``).

    Raises:
        HeartsError: if an agent or rule set is unknown, an agent cannot play the rules or cannot be
            copied, or there are too few or too many deals.
    """
    deals = check_deals(deals)
    others = list(opponents) if isinstance(opponents, list | tuple) else [opponents]
    contest = Contest(
        [agent, *others],
        rules,
        seed,
        isolate=isolate,
        time_limit=time_limit,
        workers=workers,
        backend=backend,
    )

    def show(_i: int, _j: int) -> AbstractContextManager[Progress]:
        return contextlib.nullcontext(progress or no_progress)

    with contest.recorded(deals, out, resume):
        found = list(contest.evaluations(deals, show))
    return found if isinstance(opponents, list | tuple) else found[0]


class Stretch(NamedTuple):
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
        entrants: Sequence[Entrant],
        rules: Rules | str | None,
        seed: int,
        *,
        isolate: bool = False,
        time_limit: float | None = None,
        pairings: Sequence[Pairing] | None = None,
        most_open: int = 1,
        workers: int | None = None,
        backend: str = "local",
        command: str | None = None,
    ) -> None:
        """Make the agents, and ask each whether it can play the rules.

        Args:
            entrants: agents, or their names or checkpoints.
            rules: the rules, or a preset's name; None: as for ``evaluate``.
            seed: what deals and the agents' chance follow from.
            isolate: every player in a process of its own.
            time_limit: with `isolate`, seconds that a process may take for one answer.
            pairings: who plays whom, by place; None: the first against each of the others.
            most_open: how many pairings keep their players' processes while others play.
            workers: processes that play.
            backend: where they run (``crew.spread``).
            command: the command line, for the results.

        Raises:
            HeartsError: if an agent is unknown or cannot play the rules, or there is no such
                backend or number of workers.
        """
        self.seed = check_seed(seed)
        self.isolate = bool(isolate)
        self.time_limit = _check_time_limit(time_limit, isolate=self.isolate)
        self.most_open = most_open
        self._crew = check_crew(workers, backend)
        self.command = command
        self.contenders: list[Contender] = []
        try:
            for place, entrant in enumerate(entrants):
                # Not the evaluation's own seed, from which every deal could be computed.
                seed = secret_seed(self.seed, "entered", place)
                self.contenders.append(Contender(entrant, seed, isolate=self.isolate))
            self.rules = rules_for(self.contenders, rules)
            for contender in self.contenders:
                contender.check_rules(self.rules)
        finally:
            for contender in self.contenders:
                contender.close()
        self.pairings = list(pairings or [(0, j) for j in range(1, len(entrants))])
        self._results: Results | None = None
        self._report: Callable[[float], None] | None = None
        self._open: dict[Pairing, Duel] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        entrants = [contender.to_send() for contender in self.contenders]
        digests = [contender.digest for contender in self.contenders]
        names = ("rules", "seed", "isolate", "time_limit", "most_open")
        return _made_again, (entrants, digests, {name: getattr(self, name) for name in names})

    def settings(self, deals: int) -> dict[str, Any]:
        """All that the blocks of a file of results follow from."""
        return {
            "agents": [contender.to_json() for contender in self.contenders],
            "pairings": [list(pairing) for pairing in self.pairings],
            "rules": self.rules.name,
            "rules_in_full": self.rules.to_dict(),
            "deals": deals,
            "blocks": blocks(deals),
            "seed": self.seed,
            "isolate": self.isolate,
            "time_limit": self.time_limit,
        }

    @contextmanager
    def recorded(
        self,
        deals: int,
        out: str | os.PathLike[str] | None,
        resume: str | os.PathLike[str] | None,
        about: dict[str, Any] | None = None,
    ) -> Iterator[None]:
        """Save the blocks that are played in this context to a file, or take them from it.

        `about` is what the file says besides the settings; a file to continue must say the same.
        """
        settings = self.settings(deals) | ({} if about is None else {"about": about})
        with results_file(out, resume, settings) as results:
            self._results = results
            try:
                yield
            finally:
                self._results = None

    def evaluations(self, deals: int, show: ShowPairing) -> Iterator[Evaluation]:
        """Play the pairings, one after another, and give the figures of each.

        After Ctrl-C the last one has the deals that were finished, marked as interrupted.

        Raises:
            KeyboardInterrupt: the pairing that was stopped has fewer than two deals.
        """
        sizes = blocks(deals)
        stretches = stretches_of(self.pairings, sizes)
        with contextlib.closing(self.played(stretches)) as stream:
            for pairing in self.pairings:
                found: list[Block] = []
                try:
                    with show(*pairing) as progress, self.reporting(_counted(progress, deals)):
                        for _ in sizes:
                            found.append(next(stream))
                            progress(sum(block.deals for block in found), deals)
                except KeyboardInterrupt:
                    if sum(block.deals for block in found) < MIN_DEALS:
                        raise
                    yield self.summary(pairing, found, interrupted=True)
                    return
                yield self.summary(pairing, found)

    def played(self, stretches: Sequence[Stretch]) -> Generator[Block]:
        """The blocks of these deals, in their order: played by the workers, or already recorded."""
        results = self._results
        known = [None if results is None else self._known(results, s) for s in stretches]
        wanted = [s for s, block in zip(stretches, known, strict=True) if block is None]
        workers, backend = self._crew
        fresh = spread(self.play, wanted, workers=workers, backend=backend)
        try:
            for stretch, kept in zip(stretches, known, strict=True):
                block = kept
                if block is None:
                    block = next(fresh)
                    if results is not None:
                        results.append(stretch.pairing, block)
                yield block
        finally:
            fresh.close()
            self._close_players(0)

    def play(self, stretch: Stretch) -> Block:
        """Play some deals: the same block in any process."""
        pairing = stretch.pairing
        duel = self._open.pop(pairing, None)
        if duel is None:
            self._close_players(self.most_open - 1)
            i, j = pairing
            duel = Duel(
                self.contenders[i],
                self.contenders[j],
                self.rules,
                self.seed,
                time_limit=self.time_limit,
            )
        self._open[pairing] = duel
        return duel.play(stretch.first, stretch.deals, self._report)

    @contextmanager
    def reporting(self, report: Callable[[float], None]) -> Iterator[None]:
        """Tell the deals done of the pairing that this process plays, block by block."""
        self._report = report
        try:
            yield
        finally:
            self._report = None

    def summary(
        self,
        pairing: Pairing,
        found: Sequence[Block],
        deals: int | None = None,
        *,
        interrupted: bool = False,
    ) -> Evaluation:
        """The figures over the duplicate deals of a pairing, or over the first `deals` of them."""
        i, j = pairing
        contenders = (self.contenders[i], self.contenders[j])
        figures = summarize(
            contenders, self.rules, self.seed, found, deals, interrupted=interrupted
        )
        return dataclasses.replace(figures, command=self.command)

    def _known(self, results: Results, stretch: Stretch) -> Block | None:
        block = results.get(stretch.pairing, stretch.first, self.rules.players)
        return block if block is not None and block.deals == stretch.deals else None

    def _close_players(self, most: int) -> None:
        """End the players' processes of all pairings but the last `most` that played."""
        while len(self._open) > most:
            self._open.pop(next(iter(self._open))).close()


def _made_again(
    entrants: Sequence[Entrant], digests: Sequence[str | None], settings: dict[str, Any]
) -> Contest:
    """A contest in another process.

    Raises:
        HeartsError: if an agent is another one there.
    """
    contest = Contest(entrants, **settings)
    check_same(contest.contenders, digests)
    return contest


def _counted(progress: Progress, deals: int) -> Callable[[float], None]:
    return lambda done: progress(done, deals)


def stretches_of(pairings: Sequence[Pairing], sizes: Sequence[int]) -> list[Stretch]:
    """The deals of all pairings in blocks of these sizes, pairing by pairing."""
    firsts = [0, *itertools.accumulate(sizes)]
    return [
        Stretch(pairing, first, size)
        for pairing in pairings
        for first, size in zip(firsts, sizes, strict=False)
    ]


def check_deals(deals: object, of: str = "duplicate deals", advised: int = 1000) -> int:
    """`deals` as a number of duplicate deals that gives an interval and fits in memory.

    Raises:
        HeartsError: if it is not a whole number from 2 to 10,000,000.
    """
    other = f" {of}, preferably {advised} or more"
    return check_number("deals", deals, MIN_DEALS, MAX_DEALS, other=other)


def _check_time_limit(time_limit: Any, *, isolate: bool) -> float | None:
    if time_limit is None:
        return None
    if not isolate:
        raise HeartsError(
            "time_limit: only a process of its own can be stopped; set isolate (--isolate) too"
        )
    limit = check_positive("time_limit", time_limit, ", in seconds, or None")
    if limit > LONGEST_ANSWER:
        raise HeartsError(
            f"time_limit: {limit:g} seconds are more than a day, {LONGEST_ANSWER:,}; give fewer, "
            "or None"
        )
    return limit


def blocks(deals: int) -> list[int]:
    """How many deals are played at once in each block: few at first, then more.

    There are then results early if play is stopped, and a slow agent shows progress.
    """
    sizes, size = [], _FIRST_BLOCK
    while deals:
        sizes.append(min(size, deals))
        deals -= sizes[-1]
        size = min(2 * size, _LARGEST_BLOCK)
    return sizes
