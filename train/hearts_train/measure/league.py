"""A league: agents who keep playing each other on the same deals, game by game, as lines of files.

Whoever enters later plays the deals that the others have played already, so that all margins are
over the same deals. Each block of deals follows from the league's seed, the rules, the pairing and
the number of its first deal alone: it is the same whenever, wherever and beside whatever else it is
played, so that a league that was killed goes on where it stood, and every line can be played again.

With more than two players a pairing plays both ways, one agent among copies of the other and the
reverse, and its margin is half the difference of the two, as in a tournament.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hearts_agents.registry import OWN
from hearts_agents.spec import AgentSpec
from hearts_env import BatchGame, HeartsError, Rules
from hearts_env.rules.presets import PRESETS
from hearts_env.seeds import secret_seed
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.solve.tree import Tree
from hearts_env.support import clock
from hearts_env.support.arguments import check_positive, check_seed
from hearts_env.support.progress import Progress, Show
from hearts_train.measure import duel, evaluation
from hearts_train.measure.benchmark import exploited
from hearts_train.measure.contenders import Contender
from hearts_train.measure.crew import Crew, spread
from hearts_train.measure.league_file import (
    AGENT_FIELDS,
    BINS,
    DIGESTED,
    Appending,
    Block,
    Folder,
    GameFile,
    begin,
    begin_game,
    block_at,
    boundary,
    game_name,
    is_begun,
    locked,
    made_folder,
    read_folder,
)
from hearts_train.measure.league_table import Pairing, half_width, won_unit

BUILT_IN = tuple(name for name in OWN if name not in ("random", "match"))
"""Each strategy once: `random` is `easy`. `match` plays for a match, not for the deal."""
ENOUGH = 1000
"""An interval is believed from this many deals on, where it decides whether to go on."""
MOST_DEALS = 1_000_000
"""With a goal for the intervals, this many deals at most, if nothing else is said."""
_SURE = 0.8
"""Of the deals that an interval seems to need this share is asked for at once: the rest is decided
block by block, so that no block is played in vain."""
_ALIKE = 4.0
"""Pairings whose deals take up to this many times as long as the fastest one's play beside it; the
slower ones play when those are done."""
_MOST_EXACT = 12
"""With at most this many cards the exploitability is computed."""


# ---- entering ------------------------------------------------------------------------------------
class Entered(NamedTuple):
    """What became of an agent that was to enter a game."""

    game: str
    agent: str
    refused: str
    """Why it did not enter; "" if it did, or is there already."""


def every_game() -> list[Rules]:
    """The games of all presets, with every number of players."""
    return [Rules.make(name, n) for name, (numbers, _) in PRESETS.items() for n in numbers]


def add(
    path: Path,
    agents: Sequence[str],
    games: Sequence[Rules] | None = None,
    seed: int | None = None,
    *,
    isolate: bool = False,
    is_lenient: bool = False,
) -> list[Entered]:
    """Enter agents in games of a league; both are begun where they are not there yet.

    Args:
        path: the league's folder.
        agents: names, checkpoints, code or programs, as ``make_agent`` takes them.
        games: the games; None: those that the league has, or ``two_player`` for a new one.
        seed: what deals and chance follow from; of a new league only. None: 0.
        isolate: agents from outside are made in processes of their own.
        is_lenient: an agent that cannot play a game is left out of it.

    Raises:
        HeartsError: if an agent is unknown, or cannot play a game; if the league is of another
            version, or was begun with another seed.
        OSError: if a file cannot be read or written.
    """
    wanted = 0 if seed is None else check_seed(seed)
    if not is_begun(path):  # an agent that there is not begins no league
        for name in agents:
            Contender(name, 0, isolate=isolate).close()
    with made_folder(path), locked(path):
        begin(path, wanted)
        folder = read_folder(path, exact_version=True)
        if seed is not None and folder.seed != wanted:
            raise HeartsError(
                f"seed: the league in {str(path)!r} was begun with the seed {folder.seed}, got "
                f"{wanted}; omit it, or begin another league"
            )
        if games is None:
            games = [game.rules for game in folder.games.values()] or [Rules.make("two_player")]
        found = []
        for rules in games:
            found += _enter(folder, rules, agents, isolate=isolate, is_lenient=is_lenient)
    return found


def _enter(
    folder: Folder, rules: Rules, agents: Sequence[str], *, isolate: bool, is_lenient: bool
) -> list[Entered]:
    """Enter agents in one game."""
    found: list[Entered] = []
    known = folder.games.get(game_name(rules))
    entering: list[Contender] = []
    for name in dict.fromkeys(agents):
        contender = Contender(name, 0, isolate=isolate)
        if known is not None and name in known.agents:
            with contextlib.closing(contender):
                contender.check_rules(rules)
                _check_unchanged(known.agents[name], contender)
            found.append(Entered(known.name, name, ""))
            continue
        try:
            try_out(contender, rules)
        except HeartsError as error:
            if not is_lenient:
                raise
            found.append(Entered(game_name(rules), name, str(error)))
            continue
        finally:
            contender.close()
        _check_other(contender, [] if known is None else list(known.agents.values()))
        entering.append(contender)
        found.append(Entered(game_name(rules), name, ""))
    if entering:
        digest = duel.deals_digest(rules, folder.seed, DIGESTED)
        game = begin_game(folder.path, rules, digest)
        with contextlib.closing(Appending(game)) as file:
            for contender in entering:
                file.append({"line": "agent", **contender.to_json()})
    return found


def try_out(contender: Contender, rules: Rules) -> None:
    """Ask an agent whether it can play these rules, and one of our own for its first action too.

    Raises:
        HeartsError: if it cannot.
    """
    contender.check_rules(rules)
    if contender.is_ours:
        batch = BatchGame(rules, 1, autodeal=False)
        batch.reset(seeds=np.zeros(1, np.int64))
        contender.fresh(0).act_batch(batch.views())


def _check_other(contender: Contender, known: Sequence[dict[str, Any]]) -> None:
    """Refuse one of our own players that has entered under another name."""
    here = contender.to_json()
    for there in known:
        same = all(here[name] == there[name] for name in ("kind", "options", "digest"))
        if same and contender.is_ours and here["name"] != there["name"]:
            raise HeartsError(
                f"agent: {here['name']!r} is the same player as {there['name']!r}, which has "
                "entered; enter each player once"
            )


def _check_unchanged(there: dict[str, Any], contender: Contender) -> None:
    """Refuse an agent that is another one than the one that entered."""
    here = contender.to_json()
    contender.close()
    for name in ("kind", "options", "digest"):
        if here[name] != there[name]:
            raise HeartsError(
                f"agent: {here['name']!r} has changed: its {name} is {here[name]!r}, when it "
                f"entered it was {there[name]!r}; put the old one back, or give the new one "
                "another path and add that"
            )


# ---- playing -------------------------------------------------------------------------------------
class Task(NamedTuple):
    """A block of deals to be played."""

    pairing: Pairing
    first: int
    deals: int


class Table:
    """Where a game's agents play: callable with a task, in this process or in another.

    Attributes:
        contest: The agents, in the order of entry.
        names: Their names.
        report: Called with the deals of the task at hand that are done, if it plays here.
    """

    def __init__(self, contest: evaluation.Contest, names: tuple[str, ...]) -> None:
        """A table for these agents."""
        self.contest = contest
        self.names = names
        self.report: Callable[[Task, float], None] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.contest, self.names)

    @classmethod
    def of(cls, folder: Folder, game: GameFile, *, isolate: bool = False) -> Table:
        """All agents of a game, made again.

        Raises:
            HeartsError: if one is not there any more, or has changed, or the deals are others.
        """
        found = duel.deals_digest(game.rules, folder.seed, DIGESTED)
        if found != game.deals:
            raise HeartsError(
                f"league: this package deals other cards in {game.name} than the league in "
                f"{str(folder.path)!r} has played; use the version that began it"
            )
        specs = []
        for name, agent in game.agents.items():
            if agent["spec"] is None:
                raise HeartsError(
                    f"agent: {name!r} was made by a program; the league needs names", value=name
                )
            specs.append(AgentSpec.from_json(agent["spec"]))
            specs[-1].check_allowed(f"league: {str(folder.path)!r}")
        try:
            contest = evaluation.Contest(specs, game.rules, folder.seed, isolate=isolate)
        except HeartsError as error:
            raise HeartsError(
                f"{error} (an agent of {game.name} in {str(folder.path)!r}: run the league in the "
                "folder in which it was added)"
            ) from None
        for contender, agent in zip(contest.contenders, game.agents.values(), strict=True):
            _check_unchanged(agent, contender)
        return cls(contest, tuple(game.agents))

    def __call__(self, task: Task) -> Block:
        """Play a block."""
        begun = time.process_time()
        i, j = (self.names.index(name) for name in task.pairing)
        ways = [(i, j)] if self.contest.rules.players == 2 else [(i, j), (j, i)]
        played = []
        for number, (one, other) in enumerate(ways):

            def report(done: float, number: int = number) -> None:
                if self.report is not None:
                    share = (done - task.first) / task.deals
                    self.report(task, task.deals * (number + share) / len(ways))

            match = duel.Duel(
                self.contest.contenders[one],
                self.contest.contenders[other],
                self.contest.rules,
                self.contest.seed,
            )
            try:
                played.append(match.play(task.first, task.deals, report))
            finally:
                match.close()
        return _summed(task, self.contest.rules, played, time.process_time() - begun)


def _summed(task: Task, rules: Rules, played: Sequence[duel.Block], took: float) -> Block:
    """The sums of a block that was played, one way or both."""
    n, deals = rules.players, task.deals
    whole = won_unit(rules) // n
    ahead, won = [], []
    for block in played:
        own = block.scores[:, :1]
        ahead.append(block.ahead)
        lower, level = (block.scores < own).sum(1), (block.scores == own).sum(1)
        share = np.where(lower == 0, whole // level, 0).reshape(deals, n).sum(1)
        won.append(tuple(share.reshape(BINS, -1).sum(1).tolist()))
    margins = ahead[0] if n == 2 else ahead[0] - ahead[1]
    shot = [[int((b.shooters == 0).sum()), int((b.shooters > 0).sum())] for b in played]

    def both(figures: Sequence[Sequence[Any]]) -> tuple[Any, Any]:
        """The sums of each of the two agents, who change roles in the second way round."""
        return (
            sum(roles[way] for way, roles in enumerate(figures)),
            sum(roles[1 - way] for way, roles in enumerate(figures)),
        )

    return Block(
        task.pairing,
        task.first,
        deals,
        tuple(margins.reshape(BINS, -1).sum(1).tolist()),
        int(np.square(margins).sum()),
        tuple(won),
        both(shot),
        both([block.faults for block in played]),
        both([block.seconds for block in played]),
        both([block.decisions for block in played]),
        took,
    )


@dataclass(frozen=True)
class Goal:
    """Until when a league plays.

    Attributes:
        deals: Duplicate deals of each pairing, to the end of the block; with `until` at most.
        until: Half the width that each pairing's interval may have; None: it does not matter.
        minutes: Each game stops after this many, wherever it stands.
        agents: Only pairings among these play; None: all.
    """

    deals: int
    until: float | None = None
    minutes: float | None = None
    agents: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        deals: int | None = None,
        until: float | None = None,
        minutes: float | None = None,
        agents: Sequence[str] | None = None,
    ) -> Goal:
        """A goal as it is asked for.

        Raises:
            HeartsError: if a number cannot be reached.
        """
        for name, value in (("until", until), ("minutes", minutes)):
            if value is not None:
                check_positive(name, value)
        if deals is None:
            deals = ENOUGH if until is None else MOST_DEALS
        chosen = None if agents is None else tuple(agents)
        return cls(evaluation.check_deals(deals), until, minutes, chosen)

    def wanted(self, game: GameFile, pairing: Pairing) -> tuple[int, int]:
        """The deals that a pairing is to have played for now, and those it seems to need in all.

        Nothing but the deals it has played decides this, so that a league that was stopped goes
        on as if it had not been.
        """
        played = game.played(*pairing)
        most = boundary(self.deals)
        if self.until is None:
            return most, most
        if played < ENOUGH:
            return (first := min(boundary(ENOUGH), most)), first
        half = half_width(game, pairing)
        if half <= self.until:
            return played, played
        needed = min(most, math.ceil(played * (half / self.until) ** 2))
        return min(most, boundary(max(played + 1, int(_SURE * needed)))), max(needed, played + 1)


def pairings_of(game: GameFile, agents: Sequence[str] | None = None) -> list[Pairing]:
    """All pairings of a game, or those among some of its agents, in the order of entry."""
    names = [name for name in game.agents if agents is None or name in agents]
    return [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]


class Play:
    """A game of a league that is being played, block by block."""

    def __init__(self, folder: Folder, game: GameFile, goal: Goal, *, isolate: bool = False):
        """Make the agents; nothing is played yet.

        Raises:
            HeartsError: if an agent is missing or has changed, or the goal names one that has not
                entered.
        """
        self.folder = folder
        self.game = game
        for name in goal.agents or ():
            if name not in game.agents:
                raise HeartsError(
                    f"agents: {name!r} has not entered {game.name}; its agents are "
                    f"{', '.join(game.agents)}",
                    value=name,
                )
        self.pairings = pairings_of(game, goal.agents)
        self.goal = goal
        self.table = Table.of(folder, game, isolate=isolate)
        self._deadline = math.inf

    def run(self, crew: Crew, report: Progress) -> int:
        """Play until the goal is reached or time is up; returns the blocks played.

        Raises:
            OSError: if a block cannot be written; the earlier ones are there.
        """
        if self.goal.minutes is not None:
            self._deadline = clock.now() + 60 * self.goal.minutes
        self.table.report = lambda task, deals: report(*self.progress(task, deals))
        count = 0
        with contextlib.closing(Appending(self.game)) as file:
            while tasks := self._next_tasks():
                workers, backend = crew
                playing = spread(self.table, tasks, workers=workers, backend=backend)
                with contextlib.closing(playing) as stream:
                    for block in stream:
                        file.append(block.to_json())
                        count += 1
                        report(*self.progress())
                        if clock.now() > self._deadline:
                            return count
        return count

    def _next_tasks(self) -> list[Task]:
        """Blocks to be played next: first one of each pairing, then those of the fast pairings."""
        open_ = {}
        for pairing in self.pairings:
            tasks = list(self._missing(pairing, self.goal.wanted(self.game, pairing)[0]))
            if tasks:
                open_[pairing] = tasks
        begun = {pairing: self.cost(pairing) for pairing in open_}
        if fresh := [pairing for pairing, cost in begun.items() if cost is None]:
            return [open_[pairing][0] for pairing in fresh]
        costs = {pairing: cost for pairing, cost in begun.items() if cost is not None}
        fast = _ALIKE * min(costs.values(), default=0.0)
        ready = [pairing for pairing, cost in costs.items() if cost <= fast]
        tasks = [task for pairing in ready for task in open_[pairing]]
        return sorted(tasks, key=lambda task: task.first)

    def _missing(self, pairing: Pairing, end: int) -> Iterator[Task]:
        first = 0
        while first < end:
            deals = block_at(first)
            if (*pairing, first) not in self.game.blocks:
                yield Task(pairing, first, deals)
            first += deals

    def cost(self, pairing: Pairing) -> float | None:
        """Seconds that a deal of a pairing takes, None if it has not played."""
        took, deals = 0.0, 0
        end = 0
        while (block := self.game.blocks.get((*pairing, end))) is not None:
            took += block.took
            deals += block.deals
            end += block.deals
        return max(took, 1e-9) / deals if deals else None

    def progress(self, task: Task | None = None, deals: float = 0.0) -> tuple[float, float]:
        """Seconds of work that are done, and those of all that seems to be needed.

        Of a task that is being played, this many deals are done.
        """
        done = all_ = 0.0
        known = [cost for pairing in self.pairings if (cost := self.cost(pairing)) is not None]
        usual = max(known, default=1.0)
        for pairing in self.pairings:
            cost = self.cost(pairing) or usual
            played = self.game.played(*pairing)
            done += (played + (deals if task is not None and task.pairing == pairing else 0)) * cost
            all_ += max(played, self.goal.wanted(self.game, pairing)[1]) * cost
        return done, all_

    def is_done(self) -> bool:
        """Whether every pairing has reached the goal."""
        return not self._next_tasks()


def find_exact(play: Play, show: Show) -> None:
    """Compute the exploitability of each agent of a small game, where it is not known yet."""
    game, contest = play.game, play.table.contest
    rules = game.rules
    missing = [c for c in contest.contenders if c.name not in game.exact]
    is_small = has_exact_worlds(rules) and len(rules.deck) <= _MOST_EXACT
    if not is_small or not missing:
        return
    tree = Tree(rules)
    with contextlib.closing(Appending(game)) as file:
        for contender in missing:
            with show(f"{game.name}: exploitability of {contender.name}") as report:
                seed = secret_seed(contest.seed, "exploitability", contender.name)
                found = exploited(contender, contender.name, tree, seed, report)
            file.append({"line": "exact", "agent": contender.name, "found": found})


# ---- verifying -----------------------------------------------------------------------------------
def sample_of(
    folder: Folder, games: Sequence[str], count: int | None, seed: int
) -> dict[str, list[Block]]:
    """Blocks to be played again, by game: all, or `count` of them by lot, in the files' order."""
    blocks = [(name, block) for name in games for block in folder.games[name].blocks.values()]
    places: Sequence[int] = range(len(blocks))
    if count is not None and count < len(blocks):
        lot = np.random.default_rng(check_seed(seed))
        places = sorted(lot.choice(len(blocks), count, replace=False).tolist())
    chosen: dict[str, list[Block]] = {}
    for name, block in (blocks[place] for place in places):
        chosen.setdefault(name, []).append(block)
    return chosen


def differing(known: Block, again: Block) -> list[str]:
    """The fields in which a block differs from what was found when it was played again."""
    old, new = known.result(), again.result()
    return [name for name in old if old[name] != new[name]]


__all__ = [
    "AGENT_FIELDS",
    "BUILT_IN",
    "Entered",
    "Goal",
    "Play",
    "Table",
    "Task",
    "add",
    "differing",
    "every_game",
    "find_exact",
    "pairings_of",
    "sample_of",
    "try_out",
]
