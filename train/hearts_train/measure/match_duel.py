"""Whole matches between two agents, duplicate: the same deals twice, with the seats swapped.

Match i is the one of the i-th seed, with the agent in seat 0 and then in seat 1: as long as it
lasts, the same cards are dealt to the same seats. Both plays together are a *pair of matches*, the
unit of the interval. Players know the totals (``view.totals``), the number of the deal and who
dealt. Each seat of each seating has a player of its own, newly made for every block of matches, and
no batch shows views of both plays of a match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from hearts_agents.guard import NO_ACTION
from hearts_env import HeartsError, Match, Rules, __version__
from hearts_env.batch.views import BatchView
from hearts_env.game.match import Scoreboard
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.support.arrays import Floats
from hearts_train.measure.duel import ROLES
from hearts_train.measure.intervals import mean_and_interval
from hearts_train.measure.participants import Participant, Seat
from hearts_train.measure.summary import platform_versions


@dataclass
class MatchBlock:
    """The results of some pairs of matches: the agent in seat 0 first in each row, ``(deals, 2)``.

    Attributes:
        first: The number of the first pair.
        deals: How many pairs, as of a ``Block``.
        won: 1 where the agent won, 0.5 where the match ended with a shared first place.
        lengths: How many deals the match had.
        ahead: The points (or chips) by which the agent was ahead at the end.
        faults: How many faults agent and opponent committed.
        took: Seconds of processor time that it took.
    """

    first: int
    deals: int
    won: Floats
    lengths: Floats
    ahead: Floats
    faults: list[int] = field(default_factory=lambda: [0, 0])
    took: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it, of types that JSON knows."""
        arrays = {name: getattr(self, name).ravel().tolist() for name in _ARRAYS}
        return vars(self) | arrays

    @classmethod
    def of(cls, record: dict[str, Any], _players: int = 2) -> MatchBlock:
        """The block that ``to_json`` wrote.

        Raises:
            ValueError, TypeError, KeyError: if `record` is something else.
        """
        deals, took = int(record["deals"]), float(record["took"])
        won, lengths, ahead = (
            np.array(record[name], np.float64).reshape(deals, 2) for name in _ARRAYS
        )
        if deals < 1 or not np.isfinite([took, won.sum(), lengths.sum(), ahead.sum()]).all():
            raise ValueError("deals")
        faults = [int(count) for count in record["faults"]]
        return cls(int(record["first"]), deals, won, lengths, ahead, faults, took)


_ARRAYS = ("won", "lengths", "ahead")


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
        seed: Seed of deals and agents.
        totals: The totals of seats 0 and 1 at the start of each match.
        interrupted: Whether it was stopped before all pairs were played.
        faults: Deals charged to the agent for misbehaving.
        opponent_faults: Deals charged to the opponent.
        agents: Both agents: name, options, digest.
        rules_in_full: Every field of the rules.
        isolated: Whether each player had a process of its own.
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
    seed: int
    totals: tuple[int, int] = (0, 0)
    interrupted: bool = False
    faults: int = 0
    opponent_faults: int = 0
    agents: tuple[dict[str, Any], ...] = ()
    rules_in_full: dict[str, Any] = field(default_factory=dict, repr=False)
    isolated: bool = False
    version: str = __version__
    platform: dict[str, str] = field(default_factory=platform_versions, repr=False)
    command: str | None = None

    @classmethod
    def of(
        cls,
        participants: tuple[Participant, Participant],
        rules: Rules,
        seed: int,
        blocks: Sequence[MatchBlock],
        pairs: int | None = None,
        *,
        interrupted: bool = False,
    ) -> MatchResults:
        """The figures over the pairs of some blocks, or over the first `pairs` of them."""
        won, lengths, ahead = (
            np.concatenate([getattr(block, name) for block in blocks])[:pairs] for name in _ARRAYS
        )
        share, ci95 = mean_and_interval(won.mean(axis=1))
        return cls(
            agent=participants[0].name,
            opponent=participants[1].name,
            rules=rules.name,
            pairs=len(won),
            won=share,
            ci95=ci95,
            split=float((won.sum(axis=1) == 1).mean()),
            swept=float((won.sum(axis=1) == 2).mean()),
            deals=float(lengths.mean()),
            ahead=float(ahead.mean()),
            seed=seed,
            interrupted=interrupted,
            faults=sum(block.faults[0] for block in blocks),
            opponent_faults=sum(block.faults[1] for block in blocks),
            agents=tuple(participant.to_json() for participant in participants),
            rules_in_full=rules.to_dict(),
            isolated=participants[0].isolate,
        )

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return {n: list(v) if isinstance(v, tuple) else v for n, v in vars(self).items()}


class MatchDuel:
    """One agent against another in whole matches, block by block."""

    def __init__(
        self,
        agent: Participant,
        opponent: Participant,
        rules: Rules,
        seed: int,
        totals: tuple[int, int],
        time_limit: float | None = None,
    ) -> None:
        """Nothing is played yet; the agents can play these rules."""
        self.participants = agent, opponent
        self.rules = rules
        self.seed = seed
        self.totals = totals
        self.time_limit = time_limit
        self._seats: dict[tuple[int, int], Seat] = {}

    @staticmethod
    def starting(rules: Rules, totals: Sequence[int] | None) -> tuple[int, int]:
        """The totals at the start of each match.

        Raises:
            HeartsError: if the rules are not for two players, or the match is over with them.
        """
        if rules.players != 2:
            raise HeartsError(
                f"players: {rules.name!r} has {rules.players}; duplicate matches are for two "
                "players"
            )
        board = Scoreboard(rules, totals)
        return int(board.totals[0]), int(board.totals[1])

    def play(
        self, first: int, pairs: int, progress: Callable[[float], None] | None = None
    ) -> MatchBlock:
        """Play `pairs` pairs of matches from number `first` on.

        `progress` is called with the pairs done of these, as if they ended one after another.
        """
        shape = (pairs, 2)
        block = MatchBlock(first, pairs, np.zeros(shape), np.zeros(shape), np.zeros(shape))
        for seating in range(2):  # the seat of the agent
            seeds = [derived_seed(self.seed, first + i) for i in range(pairs)]
            matches = [Match(self.rules, seed, totals=self.totals) for seed in seeds]
            players = [self._seat(first, seating, seat) for seat in range(2)]

            def report(over: int, before: int = seating * pairs) -> None:
                if progress is not None:
                    progress((before + over) / 2)

            charged = _play_out(matches, players, report)
            for role in range(2):
                block.faults[role] += charged[seating if role == 0 else 1 - seating]
            for row, match in enumerate(matches):
                leaders, totals = match.board.leaders, match.totals
                block.won[row, seating] = Fraction(seating in leaders, len(leaders))
                block.lengths[row, seating] = match.num_deals
                lead = float(totals[1 - seating] - totals[seating])
                block.ahead[row, seating] = -lead if match.in_chips else lead
        return block

    def close(self) -> None:
        """End the players' processes; more can be played afterwards."""
        for seat in self._seats.values():
            seat.close()
        self._seats.clear()

    def _seat(self, first: int, seating: int, seat: int) -> Seat:
        """A fresh player; one in a process of its own keeps the process of earlier blocks."""
        role = int(seat != seating)
        seed = secret_seed(self.seed, "matches", ROLES[role], first, seating, seat)
        if (seating, seat) in self._seats:
            self._seats[seating, seat].renew(seed)
        else:
            made = self.participants[role].seat(self.rules, seed, self.time_limit)
            self._seats[seating, seat] = made
        return self._seats[seating, seat]


def _play_out(
    matches: Sequence[Match], players: Sequence[Seat], report: Callable[[int], None]
) -> list[int]:
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
        report(len(matches) - len(live))
    for player in players:
        player.rest()
    return faults
