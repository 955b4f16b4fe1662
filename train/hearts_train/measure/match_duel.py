"""Whole matches between two agents, duplicate: the same deals twice, with the seats swapped.

Match i is the one of the i-th seed, with the agent in seat 0 and then in seat 1: as long as it
lasts, the same cards are dealt to the same seats. Both plays together are a *pair of matches*, the
unit of the interval. Players know the totals (``view.totals``), the number of the deal and who
dealt. Each seat of each seating has a player of its own, newly made for every block of matches, and
no batch shows views of both plays of a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from hearts_agents.guard import NO_ACTION
from hearts_env import HeartsError, Match, Rules, __version__
from hearts_env.batch.views import BatchView
from hearts_env.game.match import Scoreboard
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.support.arguments import check_seed
from hearts_env.support.arrays import Floats
from hearts_env.support.progress import Progress
from hearts_train.measure.contenders import Contender, Entrant, Seat, check_same, rules_for
from hearts_train.measure.crew import spread
from hearts_train.measure.duel import ROLES
from hearts_train.measure.evaluation import check_deals, mean_and_interval, platform_versions

_BLOCK = 32
"""Pairs of matches that are played side by side."""


class Stretch(NamedTuple):
    """Some pairs of matches that are played at once."""

    first: int
    pairs: int


class Block(NamedTuple):
    """What became of a stretch: the agent's part, seat 0 first in each row, ``(pairs, 2)``."""

    won: Floats
    """1, or 0.5 where the match ended with a shared first place."""
    deals: Floats
    """How many deals the match had."""
    ahead: Floats
    """The points (or chips) by which the agent was ahead at the end."""
    faults: tuple[int, int]
    """Of agent and opponent."""


@dataclass(frozen=True)
class MatchResults:
    """The results of an agent against an opponent on duplicate matches.

    Attributes:
        agent: Name of the agent.
        opponent: Name of the opponent.
        rules: The rules, as ``Rules.from_text`` reads them.
        pairs: Pairs of matches, the unit of the interval.
        won: Share of the matches that the agent won; a shared first place counts a half.
        ci95: Its 95 % interval, low and high.
        split: Share of the pairs that ended one match each: the cards decided.
        swept: Share of the pairs of which the agent won both.
        deals: Mean number of deals of a match.
        ahead: Mean points or chips by which the agent was ahead at the end.
        totals: The totals of seats 0 and 1 at the start of each match.
        seed: What the deals and the players' own chance follow from.
        interrupted: Whether it was stopped before all pairs were played.
        faults: Deals charged to the agent for misbehaving.
        opponent_faults: Deals charged to the opponent.
        agents: Both agents: name, options, digest.
        rules_in_full: Every field of the rules.
        version: Of this package.
        platform: Versions of Python, NumPy and Numba, and the kind of machine.
        command: The command line, if there was one.
    """

    agent: str
    opponent: str
    rules: str
    pairs: int
    won: float
    ci95: tuple[float, float]
    split: float
    swept: float
    deals: float
    ahead: float
    totals: tuple[int, int]
    seed: int
    interrupted: bool = False
    faults: int = 0
    opponent_faults: int = 0
    agents: tuple[dict[str, Any], ...] = ()
    rules_in_full: dict[str, Any] = field(default_factory=dict, repr=False)
    version: str = __version__
    platform: dict[str, str] = field(default_factory=platform_versions, repr=False)
    command: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return {n: list(v) if isinstance(v, tuple) else v for n, v in vars(self).items()}


class Matches:
    """Plays stretches of matches between two agents: the same in every process."""

    def __init__(
        self,
        entrants: Sequence[Entrant],
        rules: Rules | str | None,
        seed: int,
        totals: Sequence[int] | None = None,
    ) -> None:
        """Make the agents, and ask each whether it can play the rules.

        Raises:
            HeartsError: if an agent is unknown or cannot play the rules, they are not for two
                players, or the match is over with these totals.
        """
        self.seed, self._given = check_seed(seed), totals
        self.contenders: list[Contender] = []
        try:
            for place, entrant in enumerate(entrants):
                self.contenders.append(Contender(entrant, secret_seed(self.seed, "entered", place)))
            self.rules = rules_for(self.contenders, rules)
            if self.rules.players != 2:
                raise HeartsError(
                    f"players: {self.rules.name!r} has {self.rules.players}; duplicate matches are "
                    "for two players"
                )
            for contender in self.contenders:
                contender.check_rules(self.rules)
        finally:
            for contender in self.contenders:
                contender.close()
        board = Scoreboard(self.rules, totals)
        self.totals = (int(board.totals[0]), int(board.totals[1]))

    def __reduce__(self) -> tuple[Any, ...]:
        entrants = [contender.to_send() for contender in self.contenders]
        digests = [contender.digest for contender in self.contenders]
        return _made_again, (entrants, digests, self.rules, self.seed, self._given)

    def __call__(self, stretch: Stretch) -> Block:
        """Play a stretch."""
        shape = (stretch.pairs, 2)
        won, deals, ahead = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        faults = [0, 0]
        for seating in range(2):  # the seat of the agent
            matches = [self._match(stretch.first + i) for i in range(stretch.pairs)]
            players = [self._player(stretch.first, seating, seat) for seat in range(2)]
            try:
                charged = _play_out(matches, players)
            finally:
                for player in players:
                    player.close()
            for role in range(2):
                faults[role] += charged[seating if role == 0 else 1 - seating]
            for row, match in enumerate(matches):
                leaders, totals = match.board.leaders, match.totals
                won[row, seating] = Fraction(seating in leaders, len(leaders))
                deals[row, seating] = match.num_deals
                lead = float(totals[1 - seating] - totals[seating])
                ahead[row, seating] = -lead if match.in_chips else lead
        return Block(won, deals, ahead, (faults[0], faults[1]))

    def _match(self, number: int) -> Match:
        return Match(self.rules, derived_seed(self.seed, number), totals=self.totals)

    def _player(self, first: int, seating: int, seat: int) -> Seat:
        role = int(seat != seating)
        seed = secret_seed(self.seed, "matches", ROLES[role], first, seating, seat)
        return self.contenders[role].seat(self.rules, seed)


def _made_again(
    entrants: Sequence[Entrant],
    digests: Sequence[str | None],
    rules: Rules,
    seed: int,
    totals: Sequence[int] | None,
) -> Matches:
    """The same in another process.

    Raises:
        HeartsError: if an agent is another one there.
    """
    matches = Matches(entrants, rules, seed, totals)
    check_same(matches.contenders, digests)
    return matches


def _play_out(matches: Sequence[Match], players: Sequence[Seat]) -> list[int]:
    """Play matches to their ends, side by side; returns the faults of each seat."""
    faults = [0] * len(players)
    for player in players:
        player.ready()
    live = list(matches)
    while live:
        for seat, player in enumerate(players):
            turn = [match for match in live if match.player == seat]
            if not turn:
                continue
            actions, charged = player.ask(BatchView.of([match.game.view(seat) for match in turn]))
            faults[seat] += len(charged)
            for match, action in zip(turn, actions.tolist(), strict=True):
                if action == NO_ACTION:
                    match.revoke()
                else:
                    match.play(action)
        live = [match for match in live if not match.is_over]
    for player in players:
        player.rest()
    return faults


def play_matches(
    agent: Entrant,
    opponent: Entrant,
    rules: Rules | str | None = None,
    pairs: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    totals: Sequence[int] | None = None,
    workers: int | None = None,
    backend: str = "local",
    command: str | None = None,
) -> MatchResults:
    """Play `pairs` pairs of matches of `agent` against `opponent` (see the module's text).

    Ctrl-C ends it with the matches finished, marked as interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        opponent: the same.
        rules: of two players; None: those that a checkpoint was trained for, else ``two_player``.
        pairs: 2 to 10,000,000.
        seed: the same seed gives the same deals to whoever plays.
        progress: called with the pairs done and all of them.
        totals: those of seats 0 and 1 at the start; the agent has either in turn. None: of a new
            match.
        workers: processes that play; the results are the same with any number.
        backend: where they run, ``local`` or ``ray``.
        command: the command line, for the results.

    Raises:
        HeartsError: if an agent is unknown or cannot play the rules, they are not for two players,
            or a number is out of range.
        KeyboardInterrupt: it was stopped before two pairs were finished.
    """
    pairs = check_deals(pairs, "pairs of matches", 200)
    work = Matches((agent, opponent), rules, seed, totals)
    tasks = [Stretch(at, min(_BLOCK, pairs - at)) for at in range(0, pairs, _BLOCK)]
    found: list[Block] = []
    interrupted, done = False, 0
    results = spread(work, tasks, workers=workers, backend=backend)
    try:
        for block in results:
            found.append(block)
            done += len(block.won)
            if progress is not None:
                progress(done, pairs)
    except KeyboardInterrupt:
        if done < 2:
            raise
        interrupted = True
    finally:
        results.close()
    return _summary(work, found, command, interrupted=interrupted)


def _summary(
    work: Matches, found: Sequence[Block], command: str | None, *, interrupted: bool
) -> MatchResults:
    won, deals, ahead = (np.concatenate([block[i] for block in found]) for i in range(3))
    share, ci95 = mean_and_interval(won.mean(axis=1))
    names = [contender.name for contender in work.contenders]
    return MatchResults(
        agent=names[0],
        opponent=names[1],
        rules=work.rules.name,
        pairs=len(won),
        won=share,
        ci95=ci95,
        split=float((won.sum(axis=1) == 1).mean()),
        swept=float((won.sum(axis=1) == 2).mean()),
        deals=float(deals.mean()),
        ahead=float(ahead.mean()),
        totals=work.totals,
        seed=work.seed,
        interrupted=interrupted,
        faults=sum(block.faults[0] for block in found),
        opponent_faults=sum(block.faults[1] for block in found),
        agents=tuple(contender.to_json() for contender in work.contenders),
        rules_in_full=work.rules.to_dict(),
        command=command,
    )
