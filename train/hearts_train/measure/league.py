"""A league: agents who keep playing each other on the same deals, game by game, as lines of files.

Whoever enters later plays the deals that the others have played already, so that all margins are
over the same deals. Each block of deals follows from the league's seed, the rules, the pairing and
the number of its first deal alone: it is the same whenever, wherever and beside whatever else it is
played, so that a league that was killed continues where it was, and every line can be played again.

With more than two players a pairing plays both ways, one agent among copies of the other and the
reverse, and its margin is half the difference of the two, as in a tournament.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterator, Sequence
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
from hearts_train.measure import duel
from hearts_train.measure.benchmark import exploited
from hearts_train.measure.contest import Contest, Task, check_deals
from hearts_train.measure.duel import deals_digest
from hearts_train.measure.league_file import (
    BINS,
    DIGESTED,
    Folder,
    GameFile,
    Sums,
    begin_game,
    block_at,
    boundary,
    game_name,
    is_league,
    locked,
    made_folder,
    read_folder,
)
from hearts_train.measure.league_table import Pairing, blocks_of, half_width, won_unit
from hearts_train.measure.participants import Participant

BUILT_IN = tuple(name for name in OWN if name not in ("random", "match"))
"""Each strategy once: `random` is `easy`. `match` plays for a match, not for the deal."""
ENOUGH = 1000
"""An interval is believed from this many deals on, where it decides whether to continue."""
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
        seed: seed of deals and agents; of a new league only. None: 0.
        isolate: agents from outside are made in processes of their own.
        is_lenient: an agent that cannot play a game is left out of it.

    Raises:
        HeartsError: if an agent is unknown, or cannot play a game; if the league is of another
            version, or was begun with another seed.
        OSError: if a file cannot be read or written.
    """
    wanted = 0 if seed is None else check_seed(seed)
    if not is_league(path):  # an agent that there is not begins no league
        for name in agents:
            Participant(name, 0, isolate=isolate).close()
    with made_folder(path), locked(path):
        folder = Folder(path, wanted, {})
        if is_league(path):
            folder = read_folder(path, exact_version=True)
        if seed is not None and folder.seed != wanted:
            raise HeartsError(
                f"seed: the league in {str(path)!r} has the seed {folder.seed}, got {wanted}; omit "
                "it, or begin another league"
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
    entering: list[Participant] = []
    for name in dict.fromkeys(agents):
        participant = Participant(name, 0, isolate=isolate)
        if known is not None and name in known.agents:
            with contextlib.closing(participant):
                participant.check_rules(rules)
                _check_unchanged(known.agents[name], participant)
            found.append(Entered(known.name, name, ""))
            continue
        try:
            try_out(participant, rules)
        except HeartsError as error:
            if not is_lenient:
                raise
            found.append(Entered(game_name(rules), name, str(error)))
            continue
        finally:
            participant.close()
        _check_other(participant, [] if known is None else list(known.agents.values()))
        entering.append(participant)
        found.append(Entered(game_name(rules), name, ""))
    if entering:
        if known is None:
            digest = deals_digest(rules, folder.seed, DIGESTED)
            known = begin_game(folder.path, rules, folder.seed, digest)
        for participant in entering:
            known.append({"line": "agent", **participant.to_json()})
    return found


def try_out(participant: Participant, rules: Rules) -> None:
    """Ask an agent whether it can play these rules, and one of our own for its first action too.

    Raises:
        HeartsError: if it cannot.
    """
    participant.check_rules(rules)
    if participant.is_ours:
        batch = BatchGame(rules, 1, autodeal=False)
        batch.reset(seeds=np.zeros(1, np.int64))
        participant.fresh(0).act_batch(batch.views())


def _check_other(participant: Participant, known: Sequence[dict[str, Any]]) -> None:
    """Refuse one of our own players that has entered under another name."""
    here = participant.to_json()
    for there in known:
        same = all(here[name] == there[name] for name in ("kind", "options", "digest"))
        if same and participant.is_ours and here["name"] != there["name"]:
            raise HeartsError(
                f"agent: {here['name']!r} is the same player as {there['name']!r}, which has "
                "entered; enter each player once"
            )


def _check_unchanged(there: dict[str, Any], participant: Participant) -> None:
    """Refuse an agent that is another one than the one that entered."""
    here = participant.to_json()
    participant.close()
    for name in ("kind", "options", "digest"):
        if here[name] != there[name]:
            raise HeartsError(
                f"agent: {here['name']!r} has changed: its {name} is {here[name]!r}, when it "
                f"entered it was {there[name]!r}; put the old one back, or give the new one "
                "another path and add that"
            )


# ---- playing -------------------------------------------------------------------------------------
Block = tuple[Pairing, int]
"""A pairing, by name, and the number of the first deal."""


class Table:
    """The agents of a game, who play its blocks of deals."""

    def __init__(self, folder: Folder, game: GameFile, **settings: Any) -> None:
        """Make all agents of a game again.

        Args:
            folder: the league.
            game: its game.
            **settings: `isolate`, `workers` and `backend`, as for ``Contest``.

        Raises:
            HeartsError: if one is not there any more, or has changed, or the deals are others.
        """
        if deals_digest(game.rules, folder.seed, DIGESTED) != game.deals:
            raise HeartsError(
                f"league: this version deals different cards in {game.name} than the league in "
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
            self.contest = Contest(specs, game.rules, folder.seed, **settings)
        except HeartsError as error:
            raise HeartsError(
                f"{error} (an agent of {game.name} in {str(folder.path)!r}: run the league in the "
                "folder in which it was added)"
            ) from None
        self.names = list(game.agents)
        for participant, agent in zip(self.contest.participants, game.agents.values(), strict=True):
            _check_unchanged(agent, participant)

    def play(
        self, blocks: Sequence[Block], report: Callable[[Block, float], None] | None = None
    ) -> Generator[Sums]:
        """Play blocks, and give the sums of each in turn.

        Args:
            blocks: what is played.
            report: called with the block that plays here, and how many of its deals are done.
        """
        rules = self.contest.rules
        tasks: list[Task] = []
        for pairing, first in blocks:
            i, j = map(self.names.index, pairing)
            # With more than two players one among copies of the other, then the reverse.
            ways = [(i, j)] if rules.players == 2 else [(i, j), (j, i)]
            tasks += [Task(way, first, block_at(first)) for way in ways]
        ways_each = len(tasks) // max(1, len(blocks))

        def advance(task: Task, done: float) -> None:
            one, other = (self.names[place] for place in sorted(task.pairing))
            is_back = ways_each == 2 and task.pairing[0] > task.pairing[1]
            if report is not None:
                report(((one, other), task.first), (task.deals * is_back + done) / ways_each)

        with contextlib.closing(self.contest.run(tasks, advance)) as stream:
            for pairing, first in blocks:
                yield _summed(pairing, first, rules, [next(stream) for _ in range(ways_each)])


def _summed(pairing: Pairing, first: int, rules: Rules, played: Sequence[duel.Block]) -> Sums:
    """The sums of a block that was played, one way or both."""
    n, deals = rules.players, block_at(first)
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

    return Sums(
        pairing,
        first,
        deals,
        tuple(margins.reshape(BINS, -1).sum(1).tolist()),
        int(np.square(margins).sum()),
        tuple(won),
        both(shot),
        both([block.faults for block in played]),
        both([block.seconds for block in played]),
        both([block.decisions for block in played]),
        sum(block.took for block in played),
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
        return cls(check_deals(deals), until, minutes, chosen)

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

    def __init__(self, folder: Folder, game: GameFile, goal: Goal, **settings: Any) -> None:
        """Make the agents; nothing is played yet.

        Args:
            folder: the league.
            game: its game.
            goal: until when it plays.
            **settings: `isolate`, `workers` and `backend`, as for ``Contest``.

        Raises:
            HeartsError: if an agent is missing or has changed, or the goal names one that has not
                entered.
        """
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
        self.table = Table(folder, game, **settings)

    def run(self, report: Progress) -> int:
        """Play until the goal is reached or time is up; returns the blocks played.

        Raises:
            OSError: if a block cannot be written; the earlier ones are there.
        """
        minutes = math.inf if self.goal.minutes is None else self.goal.minutes
        deadline = clock.now() + 60 * minutes
        count = 0
        while blocks := self._next_blocks():
            playing = self.table.play(
                blocks, lambda block, done: report(*self.progress(block, done))
            )
            with contextlib.closing(playing) as stream:
                for sums in stream:
                    self.game.append(sums.to_json())
                    count += 1
                    report(*self.progress())
                    if clock.now() > deadline:
                        return count
        return count

    def _next_blocks(self) -> list[Block]:
        """What is played next: first a block of each pairing, then those of the fast pairings."""
        open_ = {}
        for pairing in self.pairings:
            if missing := list(self._missing(pairing, self.goal.wanted(self.game, pairing)[0])):
                open_[pairing] = missing
        known = {pairing: self.cost(pairing) for pairing in open_}
        if fresh := [pairing for pairing, cost in known.items() if cost is None]:
            return [open_[pairing][0] for pairing in fresh]
        costs = {pairing: cost for pairing, cost in known.items() if cost is not None}
        fast = _ALIKE * min(costs.values(), default=0.0)
        ready = [pairing for pairing, cost in costs.items() if cost <= fast]
        blocks = [block for pairing in ready for block in open_[pairing]]
        return sorted(blocks, key=lambda block: block[1])

    def _missing(self, pairing: Pairing, end: int) -> Iterator[Block]:
        first = 0
        while first < end:
            if (*pairing, first) not in self.game.blocks:
                yield pairing, first
            first += block_at(first)

    def cost(self, pairing: Pairing) -> float | None:
        """Seconds that a deal of a pairing takes, None if it has not played."""
        blocks = blocks_of(self.game, pairing)
        deals = sum(block.deals for block in blocks)
        return max(sum(block.took for block in blocks), 1e-9) / deals if deals else None

    def progress(self, block: Block | None = None, deals: float = 0.0) -> tuple[float, float]:
        """Seconds of work that are done, and those of all that seems to be needed.

        Of a block that is being played, this many deals are done.
        """
        done = all_ = 0.0
        known = [cost for pairing in self.pairings if (cost := self.cost(pairing)) is not None]
        usual = max(known, default=1.0)
        for pairing in self.pairings:
            cost = self.cost(pairing) or usual
            played = self.game.played(*pairing)
            done += (played + (deals if block is not None and block[0] == pairing else 0)) * cost
            all_ += max(played, self.goal.wanted(self.game, pairing)[1]) * cost
        return done, all_

    def is_done(self) -> bool:
        """Whether every pairing has reached the goal."""
        return not self._next_blocks()


def find_exact(play: Play, show: Show) -> None:
    """Compute the exploitability of each agent of a small game, where it is not known yet."""
    game, contest = play.game, play.table.contest
    rules = game.rules
    missing = [c for c in contest.participants if c.name not in game.exact]
    is_small = has_exact_worlds(rules) and len(rules.deck) <= _MOST_EXACT
    if not is_small or not missing:
        return
    tree = Tree(rules)
    for participant in missing:
        with show(f"{game.name}: exploitability of {participant.name}") as report:
            seed = secret_seed(contest.seed, "exploitability", participant.name)
            found = exploited(participant, participant.name, tree, seed, report)
        game.append({"line": "exact", "agent": participant.name, "found": found})


# ---- verifying -----------------------------------------------------------------------------------
def sample_of(
    folder: Folder, games: Sequence[str], count: int | None, seed: int
) -> dict[str, list[Sums]]:
    """Blocks to be played again, by game: all, or `count` random ones, in the files' order."""
    blocks = [(name, block) for name in games for block in folder.games[name].blocks.values()]
    places: Sequence[int] = range(len(blocks))
    if count is not None and count < len(blocks):
        rng = np.random.default_rng(check_seed(seed))
        places = sorted(rng.choice(len(blocks), count, replace=False).tolist())
    chosen: dict[str, list[Sums]] = {}
    for name, block in (blocks[place] for place in places):
        chosen.setdefault(name, []).append(block)
    return chosen


def differing(known: Sums, again: Sums) -> list[str]:
    """The fields in which a block differs from what was found when it was played again."""
    old, new = known.result(), again.result()
    return [name for name in old if old[name] != new[name]]
