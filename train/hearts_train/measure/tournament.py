"""Round robin: every agent plays every other on the same duplicate deals, and all are ranked.

The ranking is by the mean margin over the other agents. With more than two players, a pairing is
played both ways: one i among copies of j, and one j among copies of i. The margin of i over j on a
deal is then half the difference of the two margins.

All pairings play the same deals. An agent's mean margin over the others is therefore one series
with a value per duplicate deal, and its interval is that of a mean.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.arrays import Floats
from hearts_env.support.keywords import takes
from hearts_env.support.progress import Show, silent
from hearts_env.support.tables import ResultTable
from hearts_train.measure.contest import MIN_DEALS, Contest, Pairing, Task, check_deals, num_deals
from hearts_train.measure.display import (
    format_interval,
    format_margin,
    format_ms,
    short_names,
)
from hearts_train.measure.duel import Block
from hearts_train.measure.evaluation import Evaluation, plain, platform_versions, result_of
from hearts_train.measure.participants import AgentLike, distinct_names
from hearts_train.measure.settings import PlaySettings
from hearts_train.measure.statistics import Interval, mean_and_interval, rounded

ELO = 400 / np.log(10)
"""Elo points per natural unit of strength: 400 points are odds of ten to one."""
_OPEN_DUELS = 4
"""The most pairings that keep the processes of their players between blocks."""
_MOST_STEPS = 200
_PRIOR = 1e-4
"""The share of each pairing's deals that counts as won equally by all players, so even a player
that won every deal has a finite rating."""


@dataclass(frozen=True)
class Standing:
    """One line of a ranking.

    Attributes:
        place: the place, from 1. Equal margins share a place.
        agent: the name of the agent.
        margin: the mean margin over all other agents, in points per deal.
        ci95: 95 % interval of `margin` over duplicate deals.
        rating: the strength on Elo's scale, from deals won. The mean of all agents is 0.
        rating_ci95: 95 % interval of `rating`.
        won: the share of the deals won. With more than two players, only deals among copies of
            another agent count.
        moons: the number of moons shot per 100 deals and seat.
        ms_per_decision: the milliseconds per decision with many games at once, the mean over
            pairings.
        faults: the number of deals charged to the agent for a fault.
    """

    place: int
    agent: str
    margin: float
    ci95: Interval
    rating: float
    rating_ci95: Interval
    won: float
    moons: float
    ms_per_decision: float
    faults: int


@dataclass(frozen=True)
class Tournament:
    """The results of all pairings, and the ranking.

    Attributes:
        agents: the names in the order entered.
        rules: the rules in the form of ``Rules.from_text``.
        deals: the number of duplicate deals per pairing.
        seed: the seed of deals and agents.
        evaluations: the result of each pairing, by the places of its agents in `agents`. With more
            than two players, both ways.
        standings: the ranking, best first. Ties are in the order entered.
        interrupted: True if play was stopped early.
        command: the command that repeats the work, as in a ``Result``.
    """

    agents: tuple[str, ...]
    rules: str
    deals: int
    seed: int
    evaluations: dict[Pairing, Evaluation]
    standings: tuple[Standing, ...]
    interrupted: bool = False
    command: str = field(default="", repr=False)

    def margin(self, row: int, column: int) -> tuple[float, Interval]:
        """Return the margin of one agent over another in points per deal, with its 95 % interval.

        `row` and `column` are places in `agents`.
        """
        return mean_and_interval(_margins(self.evaluations, row, column))

    def tables(self) -> list[ResultTable]:
        """Return the table of standings and the table of margins between agents."""
        has_faults = any(standing.faults for standing in self.standings)
        short = short_names(self.agents)
        ranked = [short[standing.agent] for standing in self.standings]
        places = [self.agents.index(standing.agent) for standing in self.standings]
        columns = ["agent", "margin", "rating", "deals won", "moons", "ms"]
        rows = [
            [
                f"{one.place}. {name}",
                format_margin(one.margin, one.ci95),
                format_interval(one.rating, one.rating_ci95, "+.1f"),
                f"{one.won:.1%}",
                f"{one.moons:.1f}",
                format_ms(one.ms_per_decision),
                *([f"{one.faults:,}"] if has_faults else []),
            ]
            for name, one in zip(ranked, self.standings, strict=True)
        ]
        title = (
            f"{self.rules}{' (stopped early)' * self.interrupted}: mean margin over all others in "
            f"points per deal, 95 % interval over {self.deals:,} duplicate deals of each pairing; "
            "rating on Elo's scale; moons per 100 deals; ms per decision"
        )
        standings = ResultTable(title, columns + ["faults"] * has_faults, rows)
        crossed = [
            [name, *("" if i == j else format_margin(*self.margin(i, j)) for j in places)]
            for name, i in zip(ranked, places, strict=True)
        ]
        return [
            standings,
            ResultTable("", ["margin of", *(f"over {name}" for name in ranked)], crossed),
        ]

    def __str__(self) -> str:
        return "\n".join(map(str, self.tables()))

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON types."""
        pairings = []
        for i, j in itertools.combinations(range(len(self.agents)), 2):
            margin, ci95 = self.margin(i, j)
            agents = [self.agents[i], self.agents[j]]
            pairings.append({"agents": agents, "margin": margin, "ci95": list(ci95)})
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
            "ranking": plain(self.standings),
            "pairings": pairings,
            "evaluations": [e.to_json() for e in self.evaluations.values()],
        }


@takes(PlaySettings, Contest)
def tournament(
    agents: Sequence[AgentLike],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    *,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Unpack[PlaySettings],
) -> Tournament:
    """Let every agent play every other on `deals` duplicate deals.

    Ctrl-C returns the deals that all pairings have finished.

    Args:
        agents: two or more agents, or their names or checkpoints.
        rules: the rules, or the name of a preset. If None, the rules that a checkpoint was trained
            for, else ``two_player``.
        deals: the number of duplicate deals per pairing, 2 to 10,000,000.
        seed: the seed of deals and agents.
        save: a file to which finished blocks of deals are written. If None, nothing is saved.
        resume: such a file, to continue with the same arguments. If None, start anew.
        show: shows the progress over all pairings. By default nothing is shown.
        **settings: `isolate`, `time_limit`, `workers` and `backend`, as for ``evaluate``.

    Raises:
        HeartsError: if there are too few agents or deals, or an agent is entered twice, is unknown,
            or cannot play the rules.
    """
    deals = check_deals(deals)
    names = distinct_names("agents", agents)
    if len(names) < 2:
        raise HeartsError(f"agents: {len(names)} entered; a tournament needs 2 or more")
    pairings = functools.partial(_all_pairings, len(names))
    contest = Contest(agents, rules, seed, pairings=pairings, open_duels=_OPEN_DUELS, **settings)
    tasks = sorted(contest.tasks(deals), key=lambda task: task.first)  # block by block
    found: dict[Pairing, list[Block]] = {pairing: [] for pairing in contest.pairings}
    finished, interrupted = 0, False
    with contest.saved(save, resume, "tournament", deals=deals), show("tournament") as progress:

        def report(_task: Task | None = None, done: float = 0.0) -> None:
            progress(finished + done, deals * len(found))

        try:
            with contextlib.closing(contest.run(tasks, report)) as blocks:
                for task, block in zip(tasks, blocks, strict=True):
                    found[task.pairing].append(block)
                    finished += task.deals
                    report()
        except KeyboardInterrupt:
            interrupted = True
            if min(map(num_deals, found.values())) < MIN_DEALS:
                raise
    done = min(map(num_deals, found.values()))  # all pairings have played these
    evaluations: dict[Pairing, Evaluation] = {
        pairing: result_of(contest, pairing, of_one, done, interrupted=interrupted)
        for pairing, of_one in found.items()
    }
    return Tournament(
        agents=names,
        rules=contest.rules.name,
        deals=done,
        seed=contest.seed,
        evaluations=evaluations,
        standings=_standings(names, evaluations, contest.rules.players),
        interrupted=interrupted,
        command=contest.command,
    )


def _all_pairings(agents: int, rules: Rules) -> list[Pairing]:
    """Return every pair of agents. With more than two players, return each pair both ways."""
    pairings = list(itertools.combinations(range(agents), 2))
    return pairings + [(j, i) for i, j in pairings] * (rules.players > 2)


# ---- the ranking ---------------------------------------------------------------------------------
def _margins(evaluations: Mapping[Pairing, Evaluation], row: int, column: int) -> Floats:
    """Return the margin of one agent over another in each deal, ``(deals,)``."""
    ways = (((row, column), 1.0), ((column, row), -1.0))
    found = [sign * evaluations[way].margins for way, sign in ways if way in evaluations]
    margins: Floats = np.mean(found, axis=0)
    return margins


def _standings(
    names: Sequence[str], evaluations: Mapping[Pairing, Evaluation], players: int
) -> tuple[Standing, ...]:
    shares = np.stack([evaluation.shares for evaluation in evaluations.values()])
    ratings = bradley_terry(shares, list(evaluations), players - 1, len(names))
    rows = []
    for i, name in enumerate(names):
        over = [_margins(evaluations, i, j) for j in range(len(names)) if j != i]
        margin, ci95 = mean_and_interval(np.mean(over, axis=0))
        rating, (low, high) = mean_and_interval(ratings[i])
        rows.append(
            Standing(
                place=0,
                agent=name,
                margin=rounded(margin),  # so equal margins compare equal
                ci95=(rounded(ci95[0]), rounded(ci95[1])),
                rating=rounded(round(rating, 2)),
                rating_ci95=(rounded(round(low, 2)), rounded(round(high, 2))),
                **_counts(evaluations, i, players),
            )
        )
    rows.sort(key=lambda row: -row.margin)
    margins = [row.margin for row in rows]
    return tuple([replace(row, place=margins.index(row.margin) + 1) for row in rows])


def _counts(evaluations: Mapping[Pairing, Evaluation], place: int, players: int) -> dict[str, Any]:
    """Return an agent's share of deals won, moons, faults and time over all its pairings."""
    alone = [e for (one, _), e in evaluations.items() if one == place]
    copies = [e for (_, other), e in evaluations.items() if other == place]
    won = [e.won for e in alone]
    if players == 2:  # with more players, several copies share the deals that the opponent lost
        won += [1 - e.won for e in copies]
    seats = sum(e.plays for e in alone) + sum(e.plays for e in copies) * (players - 1)
    moons = sum(e.moons for e in alone) + sum(e.opponent_moons for e in copies)
    ms = [e.ms_per_decision for e in alone] + [e.opponent_ms_per_decision for e in copies]
    return {
        "won": rounded(float(np.mean(won))),
        "moons": rounded(100 * moons / seats),
        "ms_per_decision": round(float(np.mean(ms)), 6),
        "faults": sum(e.faults for e in alone) + sum(e.opponent_faults for e in copies),
    }


def bradley_terry(shares: Floats, pairings: Sequence[Pairing], copies: int, players: int) -> Floats:
    """Return ratings on Elo's scale as a series per player, ``(players, deals)``.

    The mean of a series is the rating, and the interval of that mean is the interval of the rating.
    The mean rating is 0.

    A player of strength a, alone against c copies of a player of strength b, wins with probability
    exp(a) / (exp(a) + c exp(b)). For c = 1 this is the model of Bradley and Terry (1952), otherwise
    the model of Plackett and Luce for the first place. The strengths maximise the likelihood. To
    first order, a deal moves them in proportion to its distance from the mean shares. So the
    intervals follow the sandwich formula, which does not assume independent coin tosses.

    Args:
        shares: ``(pairings, deals)``, the share of each deal that the first player of a pairing
            won.
        pairings: for each pairing the single player and the player with copies. They must connect
            all players.
        copies: the number of copies.
        players: the number of players.
    """
    design = np.zeros((len(pairings), players))
    for row, (one, other) in enumerate(pairings):
        design[row, one], design[row, other] = 1.0, -1.0
    won = shares.mean(axis=1, keepdims=True)
    wanted = ((1 - _PRIOR) * won + _PRIOR / (1 + copies))[:, 0]
    centre = np.full((players, players), 1 / players)  # holds the mean at 0
    strength = np.zeros(players)
    for _ in range(_MOST_STEPS):
        chance = 1 / (1 + copies * np.exp(-design @ strength))
        information = design.T @ ((chance * (1 - chance))[:, None] * design)
        step = np.linalg.solve(information + centre, design.T @ (wanted - chance))
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))
        strength += step
        if np.abs(step).max() < 1e-12:
            break
    moved = np.linalg.solve(information + centre, design.T @ (shares - won))
    series: Floats = ELO * ((strength - strength.mean())[:, None] + moved)
    return series
