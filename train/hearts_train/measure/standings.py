"""What a round robin says: margins with intervals, ratings, a Nash average, cycles.

All pairings of a game play the same deals, so a deal that is good for one margin may be good for
another. The covariance of two pairings is estimated from the sums over bins of deals, the variance
of each from its single deals; the interval of a mean over opponents follows from both, and its unit
is the duplicate deal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError
from hearts_train.measure.display import (
    ResultTable,
    both_ways,
    cross_table,
    format_interval,
    format_margin,
    format_ms,
    short_names,
)
from hearts_train.measure.folder import (
    PROTOCOL,
    Folder,
    GameFile,
    Pairing,
    Played,
    Sums,
    unit,
    won_unit,
)
from hearts_train.measure.statistics import Z95, Interval
from hearts_train.store import rounded, seal

Array = NDArray[np.float64]

ELO = 400 / np.log(10)
"""Elo points in one natural unit of strength: 400 points are odds of ten to one."""
_MOST_STEPS = 200
_MOST_ROUNDS = 100
_PRIOR = 1e-4
"""Share of each pairing's deals that count as won by either player alike, so that a player who won
them all has a rating too."""
_LEAST_WEIGHT = 1e-4
_LEAST_LOG = -600.0


def half_width(game: Played, pairing: Pairing) -> float:
    """Half of the 95 % interval of a pairing's margin, from two deals or more."""
    deals, _, variance = _single(game.blocks_of(pairing))
    return Z95 * math.sqrt(variance / deals) / unit(game.rules)


def _single(blocks: Sequence[Sums]) -> tuple[int, int, float]:
    """Deals, total and variance of single deals: from whole numbers, so that nothing cancels."""
    deals = sum(block.deals for block in blocks)
    total = sum(sum(block.margins) for block in blocks)
    squares = sum(block.squares for block in blocks)
    return deals, total, (squares * deals - total * total) / (deals * (deals - 1))


# ---- what was measured ---------------------------------------------------------------------------
class Measured:
    """The figures of some pairings of a game, with their covariance.

    Attributes:
        pairings: Who played whom, in the order of entry.
        deals: ``(pairings,) int64``: duplicate deals.
        margins: ``(pairings,)``: points a deal by which the first was better.
        covariance: ``(pairings, pairings)``: of these means.
        won: ``(pairings or 2 pairings,)``: share of the deals that the one alone won; with more
            than two players those of the first of each pairing, then those of the second.
        won_covariance: The same for them.
        shares: ``(pairings, 2)``: share of the deals that each of the two won.
    """

    def __init__(self, game: Played, pairings: Iterable[Pairing]) -> None:
        """Sum up the blocks of these pairings, of which each has played."""
        self.pairings = list(pairings)
        found = [game.blocks_of(pairing) for pairing in self.pairings]
        single = [_single(blocks) for blocks in found]
        points, share = unit(game.rules), won_unit(game.rules)
        self.deals = np.array([deals for deals, _, _ in single])
        self.margins = np.array([total for _, total, _ in single]) / self.deals / points
        variances = np.array([variance for _, _, variance in single]) / points**2
        widths = np.concatenate(
            [
                np.full(len(block.margins), block.deals / len(block.margins))
                for block in max(found, key=len)
            ]
        )
        bins = [np.concatenate([block.margins for block in blocks]) / points for blocks in found]
        self.covariance = _covariance(bins, widths, self.deals, variances)
        roles = range(len(found[0][0].won))
        won = [
            np.concatenate([block.won[role] for block in blocks]) / share
            for role in roles
            for blocks in found
        ]
        deals = np.tile(self.deals, len(roles))
        self.won = np.array([bins.sum() for bins in won]) / deals
        self.won_covariance = _covariance(won, widths, deals, None)
        others = 1 - self.won if len(roles) == 1 else self.won[len(found) :]
        self.shares = np.column_stack([self.won[: len(found)], others])

    def matrix(self, agents: Sequence[str]) -> Array:
        """The margin of each row's agent over each column's, 0 where they did not play."""
        place = {name: i for i, name in enumerate(agents)}
        matrix = np.zeros((len(agents), len(agents)))
        for (one, other), margin in zip(self.pairings, self.margins, strict=True):
            matrix[place[one], place[other]] = margin
            matrix[place[other], place[one]] = -margin
        return matrix

    def half(self, weights: Array) -> float:
        """Half of the 95 % interval of a weighted sum of the margins."""
        return Z95 * math.sqrt(max(0.0, float(weights @ self.covariance @ weights)))

    @property
    def halves(self) -> Array:
        """Half of the 95 % interval of each margin."""
        variances: Array = np.maximum(np.diag(self.covariance), 0.0)
        return Z95 * np.sqrt(variances)


def _covariance(
    sums: Sequence[Array], widths: Array, deals: NDArray[Any], variances: Array | None
) -> Array:
    """The covariance of the means of several series, each over its own first deals.

    With x and y the sums over a bin of w deals, and a and b the means over the B bins that both
    have, sum (x - w a)(y - w b) / w / (B - 1) has the covariance c of single deals as its mean.
    That of the means over the first m and the first n deals is c / max(m, n). Where the variances
    of single deals are known, only the correlations are taken from the bins.
    """
    count = len(sums)
    lengths = np.array([len(one) for one in sums])
    padded = np.zeros((count, len(widths)))
    for row, one in zip(padded, sums, strict=True):
        row[: len(one)] = one
    single = np.zeros((count, count))
    correlation = np.eye(count)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths >= length)
        width = widths[:length]
        part = padded[rows, :length]
        residual = (part - part.sum(1, keepdims=True) / width.sum() * width) / np.sqrt(width)
        found = residual @ residual.T / (length - 1)
        here = np.minimum.outer(lengths[rows], lengths[rows]) == length
        place = np.ix_(rows, rows)
        single[place] = np.where(here, found, single[place])
        spread = np.sqrt(np.diag(found))
        scale = np.outer(spread, spread)
        alike = np.divide(found, scale, out=np.zeros_like(found), where=scale > 0)
        correlation[place] = np.where(here, alike, correlation[place])
    own = np.diag(single) if variances is None else variances
    spread = np.sqrt(np.maximum(own, 0.0))
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation * np.outer(spread, spread) / np.maximum.outer(deals, deals))


# ---- the ranking ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class Standing:
    """One line of a ranking; margins are points a deal.

    Attributes:
        place: From 1; equal margins share it.
        agent: Its name.
        margin: The mean of its margins over all others.
        ci95: Its 95 % interval, over deals.
        rating: Its strength on Elo's scale, from deals won; the mean of all is 0.
        rating_ci95: Its 95 % interval.
        won: Share of the deals that it won.
        nash: Its weight in the Nash average.
        over_nash: Its margin over that mixture.
        exact: Its exploitability on a small deck, or why that is not known; None: not asked.
        moons: Moons that it shot in 100 deals that it sat in, a seat.
        faults: Deals charged to it for misbehaving.
    """

    place: int
    agent: str
    margin: float
    ci95: tuple[float, float]
    rating: float
    rating_ci95: tuple[float, float]
    won: float
    nash: float
    over_nash: float
    exact: dict[str, Any] | None
    moons: float
    faults: int


@dataclass(frozen=True)
class Ranking:
    """Who is how strong: all but the times follows from the deals, not from the order of blocks.

    Attributes:
        agents: All of them, those with a place first.
        standings: Those who have all played each other, best first; of equal ones those who entered
            first.
        pairings: For each that played its `agents`, `deals`, `margin`, `ci95` and the share of the
            deals that each `won`.
        cycles: Rings of agents each of whom beats the next by an interval clear of zero.
        incomplete: Each other `agent`, and whom it has not played yet, `missing`.
        ms_per_card: Milliseconds a card of each agent; None of one that has not played.
    """

    agents: tuple[str, ...]
    standings: tuple[Standing, ...]
    pairings: list[dict[str, Any]]
    cycles: list[list[str]]
    incomplete: list[dict[str, Any]]
    ms_per_card: dict[str, float | None]

    @classmethod
    def of(cls, game: Played) -> Ranking:
        """The ranking of what was played."""
        ranked, missing = complete(game)
        played = [pair for pair in itertools.combinations(game.agents, 2) if game.blocks_of(pair)]
        measured = Measured(game, played) if played else None
        standings = _standings(game, ranked) if len(ranked) > 1 else []
        placed = [standing.agent for standing in standings]
        return cls(
            agents=(*placed, *(name for name in game.agents if name not in placed)),
            standings=tuple(standings),
            pairings=[] if measured is None else _pairing_rows(measured),
            cycles=[] if measured is None else _cycle_rows(list(game.agents), measured),
            incomplete=[{"agent": name, "missing": names} for name, names in missing.items()],
            ms_per_card={name: _ms_per_card(game, name) for name in game.agents},
        )

    def to_json(self) -> dict[str, Any]:
        """All of it but agents and times, of types that JSON knows."""
        standings = [
            {name: list(v) if isinstance(v, tuple) else v for name, v in vars(one).items()}
            for one in self.standings
        ]
        rest = {name: getattr(self, name) for name in ("pairings", "cycles", "incomplete")}
        return {"standings": standings, **rest}

    @property
    def margins(self) -> dict[tuple[str, str], tuple[float, Interval]]:
        """The margin of each agent over each other that it has played, and its 95 % interval."""
        one_way = {tuple(row["agents"]): (row["margin"], row["ci95"]) for row in self.pairings}
        return both_ways(one_way)

    def tables(self, game: str) -> list[ResultTable]:
        """The standings, and the margin of each agent over each other; `game` was played."""
        found = [ResultTable(self._title(game), *self._rows())]
        return [*found, cross_table(self.agents, self.margins)] if self.pairings else found

    def _title(self, game: str) -> str:
        counts = [row["deals"] for row in self.pairings]
        few, many = min(counts, default=0), max(counts, default=0)
        span = f"{few:,}" if few == many else f"{few:,} to {many:,}"
        return (
            f"{game}: mean margin over all others in points a deal, 95 % interval over duplicate "
            f"deals ({f'{span} of each pairing' if counts else 'nothing played yet'})"
        )

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of the standings."""
        short = short_names([row.agent for row in self.standings])
        has_faults = any(row.faults for row in self.standings)
        has_exact = any(row.exact for row in self.standings)
        columns = ["agent", "margin", "rating", "deals won", "Nash", "over Nash"]
        columns += [*(["exploitability"] if has_exact else []), "moons", "ms"]
        columns += ["faults"] if has_faults else []
        return columns, [
            [
                f"{row.place}. {short[row.agent]}",
                format_margin(row.margin, row.ci95),
                format_interval(row.rating, row.rating_ci95, "+.1f"),
                f"{row.won:.1%}",
                f"{row.nash:.0%}" if row.nash else "",
                f"{row.over_nash:+z.2f}",
                *([_exploitability(row.exact)] if has_exact else []),
                f"{row.moons:.1f}",
                "-" if (ms := self.ms_per_card[row.agent]) is None else format_ms(ms),
                *([f"{row.faults:,}"] if has_faults else []),
            ]
            for row in self.standings
        ]

    def remarks(self) -> list[str]:
        """Cycles and missing pairings, in sentences."""
        notes = []
        if len(self.agents) < 2:
            notes.append("there is nobody to play against: add another agent")
        for ring in self.cycles:
            notes.append(f"a cycle: {' beats '.join([*ring, ring[0]])}")
        for one in self.incomplete:
            notes.append(
                f"not in the standings: {one['agent']} has not played {', '.join(one['missing'])}"
            )
        if any(row.exact and row.exact.get("one_draw") for row in self.standings):
            notes.append("*: of one sample of its policy")
        return notes


def _exploitability(exact: dict[str, Any] | None) -> str:
    """An exploitability in a cell; a star if one sample of the agent's policy was measured."""
    if exact is None or exact["exploitability"] is None:
        return "-"
    return f"{max(0.0, exact['exploitability']):.4f}" + ("*" if exact["one_draw"] else "")


def tables(folder: Folder, games: Iterable[GameFile] | None = None) -> list[dict[str, Any]]:
    """The tables of a league's games, as ``table`` gives them; None: of all games."""
    return [table(folder, game) for game in (folder.games.values() if games is None else games)]


def table(folder: Folder, game: GameFile) -> dict[str, Any]:
    """All figures of a game, of types that JSON knows.

    Returns:
        ``result``, the ranking and what it is of; ``sha256``, its seal; and ``run``, what the clock
        said.
    """
    ranking = Ranking.of(game)
    result = {
        "game": game.name,
        "rules": game.rules.name,
        "rules_in_full": game.rules.to_dict(),
        "protocol": PROTOCOL,
        "package": game.store.package,
        "seed": folder.seed,
        "deals_sha256": game.deals,
        "agents": list(game.agents.values()),
        **ranking.to_json(),
    }
    hours = sum(block.took for block in game.blocks.values()) / 3600
    run = {"ms_per_card": ranking.ms_per_card, "hours": round(hours, 4)}
    return {"result": result, "sha256": seal(result), "run": run}


def complete(game: Played) -> tuple[list[str], dict[str, list[str]]]:
    """The agents that have all played each other, and of each other whom it has not played yet.

    Where not all have, those who entered first come first.
    """
    ranked: list[str] = []
    missing: dict[str, list[str]] = {}
    for name in game.agents:
        lacking = [one for one in ranked if not game.blocks_of((one, name))]
        if lacking:
            missing[name] = lacking
        else:
            ranked.append(name)
    return ranked, missing


def _standings(game: Played, agents: list[str]) -> list[Standing]:
    """A line for each agent, best first; of equal ones those who entered first."""
    measured = Measured(game, itertools.combinations(agents, 2))
    matrix = measured.matrix(agents)
    weights = nash_average(matrix)
    rating, error = _ratings(game, agents, measured)
    rows = []
    for i, name in enumerate(agents):
        own = [(k, pair.index(name)) for k, pair in enumerate(measured.pairings) if name in pair]
        signs = np.zeros(len(measured.pairings))
        for k, side in own:
            signs[k] = (1 - 2 * side) / (len(agents) - 1)
        margin, half = float(signs @ measured.margins), measured.half(signs)
        low, high = (rounded(round(rating[i] + side * Z95 * error[i], 2)) for side in (-1, 1))
        rows.append(
            Standing(
                place=0,
                agent=name,
                margin=rounded(margin),
                ci95=(rounded(margin - half), rounded(margin + half)),
                rating=rounded(round(rating[i], 2)),
                rating_ci95=(low, high),
                won=rounded(float(np.mean([measured.shares[one] for one in own]))),
                nash=rounded(round(weights[i], 3)),
                over_nash=rounded(round(matrix[i] @ weights, 3)),
                exact=game.exact.get(name),
                **_counts(game, name),
            )
        )
    rows.sort(key=lambda row: -row.margin)
    margins = [row.margin for row in rows]
    return [replace(row, place=margins.index(row.margin) + 1) for row in rows]


def _ratings(game: Played, agents: list[str], measured: Measured) -> tuple[Array, Array]:
    place = {name: i for i, name in enumerate(agents)}
    pairings = [(place[one], place[other]) for one, other in measured.pairings]
    if game.rules.players > 2:
        pairings += [(other, one) for one, other in pairings]
    copies = game.rules.players - 1
    return bradley_terry(measured.won, measured.won_covariance, pairings, copies, len(agents))


def _of_agent(game: Played, name: str) -> list[tuple[Sums, int]]:
    """The blocks that an agent has played, each with its place in the pairing."""
    blocks = game.blocks.values()
    return [(block, block.pairing.index(name)) for block in blocks if name in block.pairing]


def _counts(game: Played, name: str) -> dict[str, Any]:
    """Moons in 100 deals that the agent sat in, a seat each, and faults, over all its pairings."""
    n = game.rules.players
    blocks = _of_agent(game, name)
    moons = sum(block.moons[side] for block, side in blocks)
    seats = sum(block.deals for block, _ in blocks) * n * (1 if n == 2 else n)
    faults = sum(block.faults[side] for block, side in blocks)
    return {"moons": rounded(100 * moons / seats) if seats else 0.0, "faults": faults}


def _pairing_rows(measured: Measured) -> list[dict[str, Any]]:
    rows = []
    for i, pairing in enumerate(measured.pairings):
        margin, half = float(measured.margins[i]), measured.halves[i]
        rows.append(
            {
                "agents": list(pairing),
                "deals": int(measured.deals[i]),
                "margin": rounded(margin),
                "ci95": [rounded(margin - half), rounded(margin + half)],
                "won": [rounded(share) for share in measured.shares[i]],
            }
        )
    return rows


def _cycle_rows(agents: list[str], measured: Measured) -> list[list[str]]:
    """Rings of agents each of whom beats the next by an interval clear of zero."""
    beats = np.zeros((len(agents), len(agents)), bool)
    for pairing, margin, half in zip(
        measured.pairings, measured.margins, measured.halves, strict=True
    ):
        a, b = map(agents.index, pairing)
        beats[a, b] = margin > half
        beats[b, a] = -margin > half
    return [[agents[i] for i in ring] for ring in cycles(beats)]


def _ms_per_card(game: Played, name: str) -> float | None:
    blocks = _of_agent(game, name)
    seconds = sum(block.seconds[side] for block, side in blocks)
    decisions = sum(block.decisions[side] for block, side in blocks)
    return round(1000 * seconds / decisions, 6) if decisions else None


# ---- Bradley and Terry ---------------------------------------------------------------------------
def bradley_terry(
    won: Array, covariance: Array, pairings: Sequence[tuple[int, int]], copies: int, players: int
) -> tuple[Array, Array]:
    """Strengths on Elo's scale, mean 0, from shares of deals won, and their standard errors.

    A player of strength a, alone against c copies of one of strength b, wins with the chance
    exp(a) / (exp(a) + c exp(b)): for c = 1 the model of Bradley and Terry (1952), else that of
    Plackett and Luce for the first place. The strengths are those of the greatest likelihood, each
    pairing counting as much as each other, whatever its number of deals. The errors are those of
    the sandwich formula, from the measured covariance: deals are no tosses of a coin.

    Args:
        won: ``(pairings,)``: the share of the deals that the first of a pairing won, 0 to 1.
        covariance: ``(pairings, pairings)``: of those shares.
        pairings: the player alone, and the one of which there are copies.
        copies: how many copies.
        players: how many players are rated.

    Raises:
        HeartsError: if the pairings do not connect all the players.
    """
    design = np.zeros((len(pairings), players))
    for row, (one, other) in enumerate(pairings):
        design[row, one], design[row, other] = 1.0, -1.0
    if np.linalg.matrix_rank(design) < players - 1:
        raise HeartsError("pairings: not all players are connected by them; play more")
    even = 1 / (1 + copies)
    share = (1 - _PRIOR) * won + _PRIOR * even
    centre = np.full((players, players), 1 / players)  # holds the mean at 0
    strength = np.zeros(players)
    for _ in range(_MOST_STEPS):
        chance = 1 / (1 + copies * np.exp(-design @ strength))
        information = design.T @ ((chance * (1 - chance))[:, None] * design)
        step = np.linalg.solve(information + centre, design.T @ (share - chance))
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))
        strength += step
        if np.abs(step).max() < 1e-12:
            break
    inverse = np.linalg.inv(information + centre) - centre
    spread = inverse @ design.T @ covariance @ design @ inverse
    return ELO * (strength - strength.mean()), ELO * np.sqrt(np.maximum(np.diag(spread), 0.0))


# ---- Nash ----------------------------------------------------------------------------------------
def nash_average(margins: Array) -> Array:
    """The Nash equilibrium of greatest entropy of the game of choosing a player, as weights.

    Both sides choose a player, and the one of row i wins ``margins[i, j]`` from that of column j.
    Against these weights no player is ahead; those who lose to them have weight 0. A copy of a
    player changes nothing for the others, and weak ones count for nothing (Balduzzi and others
    2018, "Re-evaluating Evaluation", section 3).

    Found by the method of multipliers: t sum p log p + |max(0, margins p + m)|^2 / 2 is
    minimised over the chances p by Newton's method, first with m = 0 and t falling, then with t
    as it is and m the last value of max(0, margins p + m), so that nobody is ahead in the end.

    Args:
        margins: ``(players, players)``, antisymmetric.

    Returns:
        ``(players,)``: the weights, which sum to 1, good to three places; what is below 0.0001
        is 0.
    """
    players = len(margins)
    scale = np.abs(margins).max(initial=0.0)
    logs = np.full(players, -np.log(players))
    if not scale:
        return np.exp(logs)
    game = margins / scale
    multipliers = np.zeros(players)
    for temperature in [*10.0 ** -np.arange(0.0, 8.0), *[1e-8] * _MOST_ROUNDS]:
        logs = _cooled(game, multipliers, logs, float(temperature))
        if temperature == 1e-8:
            multipliers = np.maximum(game @ np.exp(logs) + multipliers, 0.0)
    weights = np.exp(logs)
    weights[weights < _LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


def _cooled(game: Array, multipliers: Array, logs: Array, temperature: float) -> Array:
    """The minimum of ``nash_average`` for t and m, as logarithms, from a start near it."""

    def loss(x: Array) -> float:
        p = np.exp(x)
        ahead = np.maximum(game @ p + multipliers, 0.0)
        return float(temperature * (p @ x) + ahead @ ahead / 2)

    before = loss(logs)
    for _ in range(_MOST_STEPS):
        p = np.exp(logs)
        ahead = np.maximum(game @ p + multipliers, 0.0)
        gradient = temperature * (logs + 1) + game.T @ ahead
        active = game[ahead > 0]
        # Steps are taken in log p, the system in their products with the root of p, in which it
        # is well conditioned however small some chances are.
        root = np.exp(np.maximum(logs, _LEAST_LOG) / 2)
        hessian = temperature * np.eye(len(p)) + root[:, None] * (active.T @ active) * root
        system = np.block([[hessian, root[:, None]], [root[None], np.zeros((1, 1))]])
        solved = np.linalg.solve(system, np.append(-root * gradient, 0.0))
        step = solved[:-1] / root
        step *= min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
        size = 1.0
        while size > 1e-10:
            tried = logs + size * step
            tried -= np.log(np.exp(tried - tried.max()).sum()) + tried.max()
            after = loss(tried)
            if after <= before:
                break
            size /= 2
        else:
            return logs
        is_done = np.abs(size * step * p).max() < 1e-14
        logs, before = tried, after
        if is_done:
            break
    return logs


# ---- cycles --------------------------------------------------------------------------------------
def cycles(beats: NDArray[np.bool_], most: int = 20) -> list[tuple[int, ...]]:
    """Rings of players each of whom beats the next, at most `most`; each begins with its least.

    All rings of three; where there are none, a shortest ring through each player that is on one.

    Args:
        beats: ``(players, players)``: whether the one of the row beats that of the column.
        most: how many at most.
    """
    players = range(len(beats))
    found: set[tuple[int, ...]] = {
        (a, b, c)
        for a in players
        for b in players[a + 1 :]
        for c in players[a + 1 :]
        if b != c and beats[a, b] and beats[b, c] and beats[c, a]
    }
    if not found:
        rings = (_shortest_ring(beats, start) for start in players)
        found = {_from_least(ring) for ring in rings if ring}
    return sorted(found)[:most]


def _from_least(ring: tuple[int, ...]) -> tuple[int, ...]:
    place = ring.index(min(ring))
    return ring[place:] + ring[:place]


def _shortest_ring(beats: NDArray[np.bool_], start: int) -> tuple[int, ...]:
    """A shortest way from a player back to itself, breadth first; empty if there is none."""
    paths: dict[int, tuple[int, ...]] = {start: (start,)}
    rim = [start]
    while rim:
        reached: list[int] = []
        for one in rim:
            if beats[one, start]:
                return paths[one]
            for other in np.flatnonzero(beats[one]).tolist():
                if other not in paths:
                    paths[other] = (*paths[one], other)
                    reached.append(other)
        rim = reached
    return ()
