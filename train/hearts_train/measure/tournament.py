"""A round robin: every agent against every other on the same duplicate deals, and a ranking.

Agents are ranked by their mean margin over the others (``hearts_train.measure.standings``). With
more than two players "i against j" is one i among copies of j, and the reverse is played too; the
margin between them is then half the difference of the two.

The results may live in a folder that grows (``hearts_train.measure.folder``), block by block. A
block follows from the folder's seed, the rules, the pairing and its first deal alone: it is the
same whenever, wherever and beside whatever else it is played, so that a tournament that was killed
continues where it was, and every line can be played again.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules, __version__
from hearts_env.seeds import secret_seed
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.solve.tree import Tree
from hearts_env.support.arguments import check_number, check_positive, check_seed
from hearts_env.support.progress import Progress, Show, silent
from hearts_train.executor import check_executor
from hearts_train.measure import folder
from hearts_train.measure.contest import MIN_DEALS, Contest, Pairing, Task, check_deals, num_deals
from hearts_train.measure.duel import Block, deals_digest
from hearts_train.measure.evaluation import Evaluation, platform_versions, summary
from hearts_train.measure.folder import Folder, GameFile, Sums, block_at, boundary, starts
from hearts_train.measure.participants import AgentLike, exploited, names_once
from hearts_train.measure.standings import Ranking, Standing, half_width
from hearts_train.measure.statistics import Interval

_MOST_OPEN = 4
"""With more pairings than this the players' processes are ended after each block."""
PlayedBlock = tuple[folder.Pairing, int, int]
"""A pairing, by name, the number of the first deal, and how many deals."""


@dataclass(frozen=True)
class Tournament:
    """All pairings of some agents, and the ranking that follows.

    Attributes:
        agents: Names, as they were entered.
        rules: The rules, as ``Rules.from_text`` reads them.
        deals: Duplicate deals of each pairing.
        seed: Seed of deals and agents.
        evaluations: Every pairing that was played, by the places of its agents; with more than two
            players both ways.
        ranking: Who is how strong.
        interrupted: Whether it was stopped before all deals were played.
        command: The command line, if there was one.
    """

    agents: tuple[str, ...]
    rules: str
    deals: int
    seed: int
    evaluations: dict[Pairing, Evaluation]
    ranking: Ranking
    interrupted: bool = False
    command: str | None = None

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The lines of the ranking, best first."""
        return self.ranking.standings

    def margin(self, row: int, column: int) -> tuple[float, Interval]:
        """By how many points a deal `row` is better than `column`, and the 95 % interval."""
        return self.ranking.margins[self.agents[row], self.agents[column]]

    def _repr_html_(self) -> str:
        """Two tables, for notebooks."""
        return "".join(table.to_html() for table in self.ranking.tables(self.rules))

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        found = self.ranking.to_json()
        ranking = [
            {**row, "ms_per_decision": self.ranking.ms_per_card[row["agent"]]}
            for row in found.pop("standings")
        ]
        return {
            "agents": list(self.agents),
            "rules": self.rules,
            "deals": self.deals,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "version": __version__,
            "platform": platform_versions(),
            "command": self.command,
            "rules_in_full": Rules.make(self.rules).to_dict(),
            "ranking": ranking,
            **found,
            "evaluations": [e.to_json() for e in self.evaluations.values()],
        }


def tournament(
    agents: Sequence[AgentLike],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    *,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Any,
) -> Tournament:
    """Let every agent play every other on `deals` duplicate deals.

    Ctrl-C ends it with the deals that all pairings have finished.

    Args:
        agents: two or more, by name, checkpoint or as objects.
        rules: the rules, or a preset's name; None: as for ``evaluate``.
        deals: duplicate deals of each pairing, 2 to 10,000,000.
        seed: seed of deals and agents.
        save: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        show: shows the progress over all pairings; silent by default.
        **settings: `isolate`, `time_limit`, `workers`, `backend` and `command`, as for
            ``evaluate``.

    Raises:
        HeartsError: if there are too few agents or deals, or an agent is entered twice, unknown, or
            cannot play the rules.
    """
    deals = check_deals(deals)
    names = names_once("agents", agents)
    if len(names) < 2:
        raise HeartsError(f"agents: {len(names)} entered; a tournament needs 2 or more")
    contest = Contest(
        agents, rules, seed, pairings=functools.partial(all_pairings, len(names)), **settings
    )
    if len(contest.pairings) <= _MOST_OPEN:
        contest.most_open = _MOST_OPEN
    with contest.saved(save, resume, "tournament", deals=deals), show("tournament") as progress:
        return _play_once(contest, names, deals, progress)


def all_pairings(agents: int, rules: Rules) -> list[Pairing]:
    """Everybody against everybody; with more than two players both ways."""
    pairings = list(itertools.combinations(range(agents), 2))
    return pairings + [(j, i) for i, j in pairings] * (rules.players > 2)


def _play_once(
    contest: Contest, names: tuple[str, ...], deals: int, progress: Progress
) -> Tournament:
    pairs = list(itertools.combinations(names, 2))
    blocks = [(pair, first, size) for first, size in contest.blocks(deals) for pair in pairs]
    found: dict[Pairing, list[Block]] = {pairing: [] for pairing in contest.pairings}
    game = folder.Played(contest.rules, {name: {} for name in names})
    interrupted, done = False, 0

    def report(more: float = 0.0) -> None:
        progress(done + more, deals * len(pairs))

    try:
        with contextlib.closing(_play(contest, names, blocks, report)) as playing:
            for sums, played in playing:
                game.blocks[*sums.pairing, sums.first] = sums
                for way, block in played.items():
                    found[way].append(block)
                done += sums.deals
                report()
    except KeyboardInterrupt:
        interrupted = True
        if min(map(num_deals, found.values())) < MIN_DEALS:
            raise
    done = min(map(num_deals, found.values()))  # all have reached this deal
    for key in [key for key in game.blocks if key[2] >= done]:
        del game.blocks[key]
    evaluations: dict[Pairing, Evaluation] = {
        pairing: summary(contest, pairing, of_one, done, interrupted=interrupted)
        for pairing, of_one in found.items()
    }
    return Tournament(
        agents=names,
        rules=contest.rules.name,
        deals=done,
        seed=contest.seed,
        evaluations=evaluations,
        ranking=Ranking.of(game),
        interrupted=interrupted,
        command=contest.command,
    )


def _play(
    contest: Contest,
    names: Sequence[str],
    blocks: Sequence[PlayedBlock],
    report: Callable[[float], None] | None = None,
) -> Generator[tuple[Sums, dict[Pairing, Block]]]:
    """Play blocks of pairings: the sums of each in turn, and what they are of, by places.

    `report` is called with the deals done of the block that plays here.
    """
    rules = contest.rules
    ways: list[list[Pairing]] = []
    for pairing, _, _ in blocks:
        i, j = map(names.index, pairing)  # one among copies of the other, and the reverse
        ways.append([(i, j)] if rules.players == 2 else [(i, j), (j, i)])
    tasks = [
        Task(way, first, deals)
        for (_, first, deals), both in zip(blocks, ways, strict=True)
        for way in both
    ]

    def advance(task: Task, done: float) -> None:
        i, j = task.pairing
        if report is not None:
            report((task.deals * (i > j) + done) / (1 if rules.players == 2 else 2))

    with contextlib.closing(contest.run(tasks, advance)) as stream:
        for (pairing, _, _), both in zip(blocks, ways, strict=True):
            played = {way: next(stream) for way in both}
            yield Sums.over(pairing, rules, list(played.values())), played


# ---- in a folder ---------------------------------------------------------------------------------
ENOUGH = 1000
"""An interval is believed from this many deals on, where it decides whether to continue."""
MOST_DEALS = 1_000_000
"""With a goal for the intervals, this many deals at most, if nothing else is said."""
_SURE = 0.8
"""Of the deals that an interval seems to need this share is asked for at once: the rest is decided
block by block, so that no block is played in vain."""
_MOST_EXACT = 12
"""With at most this many cards the exploitability is computed."""
FolderBlock = tuple[folder.Pairing, int]
"""A pairing, by name, and the number of the first deal."""


@dataclass(frozen=True)
class Goal:
    """Until when the games of a folder play.

    Attributes:
        deals: Duplicate deals of each pairing, to the end of the block; with `until` at most. None:
            1,000, or with `until` a million.
        until: Half the width that each pairing's interval may have; None: it does not matter.
        agents: Only pairings among these play; None: all.
    """

    deals: int | None = None
    until: float | None = None
    agents: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.until is not None:
            check_positive("until", self.until)
        if self.deals is not None:
            check_deals(self.deals)

    def wanted(self, game: GameFile, pairing: folder.Pairing) -> tuple[int, int]:
        """The deals that a pairing is to have played for now, and those it seems to need in all.

        Nothing but the deals it has played decides this, so that a tournament that was stopped
        continues as if it had not been.
        """
        played = num_deals(game.blocks_of(pairing))
        most = boundary(self.deals or (ENOUGH if self.until is None else MOST_DEALS))
        if self.until is None:
            return most, most
        if played < ENOUGH:
            return (first := min(boundary(ENOUGH), most)), first
        half = half_width(game, pairing)
        if half <= self.until:
            return played, played
        needed = min(most, math.ceil(played * (half / self.until) ** 2))
        return min(most, boundary(max(played + 1, int(_SURE * needed)))), max(needed, played + 1)


class FolderGame:
    """A game of a folder with its agents made again, who play it block by block."""

    def __init__(
        self, there: Folder, game: GameFile, goal: Goal | None = None, **settings: Any
    ) -> None:
        """Make the agents; nothing is played yet.

        Args:
            there: the folder.
            game: its game.
            goal: until when it plays; None: 1,000 deals of each pairing.
            **settings: `isolate`, `workers` and `backend`, as for ``Contest``.

        Raises:
            HeartsError: if an agent is missing or has changed, the goal names one that has not
                entered, or this package deals other cards.
        """
        check_executor(settings.get("workers"), settings.get("backend", "local"))
        if deals_digest(game.rules, there.seed, folder.DIGESTED) != game.deals:
            raise HeartsError(
                f"league: this version deals different cards in {game.name} than the league in "
                f"{str(there.path)!r} has played; use the version that began it"
            )
        self.game = game
        self.goal = goal or Goal()
        self.names = list(game.agents)
        for name in self.goal.agents or ():
            if name not in self.names:
                raise HeartsError(
                    f"agents: {name!r} has not entered {game.name}; its agents are "
                    f"{', '.join(self.names)}",
                    value=name,
                )
        chosen = [n for n in self.names if self.goal.agents is None or n in self.goal.agents]
        self.pairings = list(itertools.combinations(chosen, 2))
        specs = []
        for name, agent in game.agents.items():
            if agent["spec"] is None:
                raise HeartsError(
                    f"agent: {name!r} was made by a program; the league needs names", value=name
                )
            specs.append(AgentSpec.from_json(agent["spec"]))
            specs[-1].check_allowed(f"league: {str(there.path)!r}")
        try:
            self.contest = Contest(specs, game.rules, there.seed, **settings)
        except HeartsError as error:
            raise HeartsError(
                f"{error} (an agent of {game.name} in {str(there.path)!r}: run the league in the "
                "folder in which it was added)"
            ) from None
        for participant, agent in zip(self.contest.participants, game.agents.values(), strict=True):
            folder.check_unchanged(agent, participant)

    def play(
        self, blocks: Sequence[FolderBlock], report: Callable[[float], None] | None = None
    ) -> Generator[Sums]:
        """Play blocks, and give the sums of each in turn; `report` as for ``_play``."""
        whole = [(pairing, first, block_at(first)) for pairing, first in blocks]
        with contextlib.closing(_play(self.contest, self.names, whole, report)) as stream:
            for sums, _ in stream:
                yield sums

    def run(self, report: Progress) -> None:
        """Play until the goal is reached.

        Raises:
            OSError: if a block cannot be written; the earlier ones are there.
        """
        while blocks := self.next_blocks():
            playing = self.play(blocks, lambda deals: report(*self.progress(deals)))
            with contextlib.closing(playing) as stream:
                for sums in stream:
                    self.game.append(sums.to_json())
                    report(*self.progress())

    def next_blocks(self) -> list[FolderBlock]:
        """What is played next: the blocks that pairings lack for now, in the order of the deals."""
        missing = [
            (pairing, first)
            for pairing in self.pairings
            for first in starts(self.goal.wanted(self.game, pairing)[0])
            if (*pairing, first) not in self.game.blocks
        ]
        return sorted(missing, key=lambda block: block[1])

    def progress(self, deals: float = 0.0) -> tuple[float, float]:
        """Deals that are done, `deals` of the block being played too, and those needed in all."""
        played = [num_deals(self.game.blocks_of(pairing)) for pairing in self.pairings]
        wanted = [self.goal.wanted(self.game, pairing)[1] for pairing in self.pairings]
        return sum(played) + deals, sum(map(max, played, wanted))

    def find_exact(self, show: Show) -> None:
        """Compute the exploitability of each agent of a small game, where it is not known yet."""
        game, rules = self.game, self.game.rules
        missing = [one for one in self.contest.participants if one.name not in game.exact]
        is_small = has_exact_worlds(rules) and len(rules.deck) <= _MOST_EXACT
        if not is_small or not missing:
            return
        tree = Tree(rules)
        for participant in missing:
            with show(f"{game.name}: exploitability of {participant.name}") as report:
                seed = secret_seed(self.contest.seed, "exploitability", participant.name)
                found = exploited(participant, participant.name, tree, seed, report)
            game.append({"line": "exact", "agent": participant.name, "found": found})


def play_folder(
    path: Path,
    goal: Goal | None = None,
    rules: Rules | None = None,
    *,
    show: Show = silent,
    **settings: Any,
) -> None:
    """Play what the games of a folder lack until a goal is reached.

    Args:
        path: the folder.
        goal: until when each game plays; None: 1,000 deals of each pairing.
        rules: those of the game; None: all games.
        show: shows the progress of each game.
        **settings: `isolate`, `workers` and `backend`, as for ``evaluate``.

    Raises:
        HeartsError: if it is not such a folder, another process plays in it, or an agent is missing
            or has changed.
        OSError: if a file cannot be read or written; what was played is there.
    """
    folder.read_folder(path)  # before a lock is made in what may be another's
    with folder.locked(path):
        there = folder.read_folder(path, exact_version=True)
        games = there.chosen(rules)
        for place, game in enumerate(games, 1):
            playing = FolderGame(there, game, goal, **settings)
            if playing.next_blocks():
                of_all = "" if len(games) == 1 else f" ({place} of {len(games)})"
                with show(game.name + of_all) as report:
                    playing.run(report)
            playing.find_exact(show)


def verify_folder(
    path: Path,
    rules: Rules | None = None,
    deals: int | None = None,
    seed: int = 0,
    *,
    show: Show = silent,
    **settings: Any,
) -> tuple[list[Sums], list[dict[str, Any]]]:
    """Play blocks of a folder again, and compare them with its lines.

    Args:
        path: the folder.
        rules: those of the game; None: all games.
        deals: so many at least, in blocks drawn at random; None: all.
        seed: of this draw.
        show: shows the progress.
        **settings: as for ``play_folder``.

    Returns:
        The blocks played again; and for each that differs its `file` and `line`, the `agents`, the
        `first` deal, and the `fields` that differ.

    Raises:
        HeartsError: as ``play_folder``.
    """
    there = folder.read_folder(path, exact_version=True)
    games = there.chosen(rules)
    blocks = [(game, block) for game in games for block in game.blocks.values()]
    if deals is not None:
        least = check_number("deals", deals, 1, None)
        order = np.random.default_rng(check_seed(seed)).permutation(len(blocks)).tolist()
        sums = itertools.accumulate(blocks[place][1].deals for place in order)
        count = 1 + sum(1 for total in sums if total < least)
        blocks = [blocks[place] for place in sorted(order[:count])]
    total, done, wrong = num_deals([block for _, block in blocks]), 0, []
    with show("verify") as report:
        for game in games:
            known = [block for own, block in blocks if own is game]
            if not known:
                continue
            wanted = [(block.pairing, block.first) for block in known]
            again = FolderGame(there, game, **settings).play(wanted)
            with contextlib.closing(again):
                for block, found in zip(known, again, strict=True):
                    if fields := block.differing(found):
                        line = game.lines[*block.pairing, block.first]
                        about = {"agents": list(block.pairing), "first": block.first}
                        where = {"file": game.store.path.name, "line": line}
                        wrong.append(where | about | {"fields": fields})
                    done += block.deals
                    report(done, total)
    return [block for _, block in blocks], wrong
