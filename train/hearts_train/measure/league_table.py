"""The tables of a league: margins with intervals, ratings, a Nash average, cycles.

All pairings of a game play the same deals, so a deal that is good for one margin may be good for
another. The covariance of two pairings is estimated from the sums over bins of deals, the variance
of each from its single deals; the interval of a mean over opponents follows from both, and its unit
is the duplicate deal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import Rules
from hearts_train.measure.benchmark import rounded
from hearts_train.measure.benchmark_file import seal
from hearts_train.measure.intervals import Z95
from hearts_train.measure.league_file import BINS, PROTOCOL, Folder, GameFile, block_at
from hearts_train.measure.league_ratings import bradley_terry, cycles, nash_average

Array = NDArray[np.float64]
Pairing = tuple[str, str]


def unit(rules: Rules) -> int:
    """How many units of a block's margins are a point a deal."""
    n = rules.players
    return n * (n - 1) * (1 if n == 2 else 2)


def won_unit(rules: Rules) -> int:
    """How many units of a block's deals won are a deal won from every seat."""
    return rules.players * math.lcm(*range(1, rules.players + 1))


def half_width(game: GameFile, pairing: Pairing) -> float:
    """Half of the 95 % interval of a pairing's margin; infinite for fewer than two deals."""
    deals, total, squares = 0, 0, 0
    for block in blocks_of(game, pairing):
        deals += block.deals
        total += sum(block.margins)
        squares += block.squares
    if deals < 2:
        return math.inf
    return Z95 * math.sqrt(_variance(deals, total, squares) / deals) / unit(game.rules)


def blocks_of(game: GameFile, pairing: Pairing) -> list[Any]:
    """The blocks of a pairing from the first deal on, up to the first that is missing."""
    found = []
    end = 0
    while (*pairing, end) in game.blocks:
        found.append(game.blocks[*pairing, end])
        end += block_at(end)
    return found


def _variance(deals: int, total: int, squares: int) -> float:
    """The variance of single deals, from whole numbers, so that nothing cancels."""
    return (squares * deals - total * total) / (deals * (deals - 1))


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
    """

    def __init__(self, game: GameFile, pairings: Sequence[Pairing]) -> None:
        """Sum up the blocks of these pairings, of which each has played."""
        self.pairings = list(pairings)
        found = [blocks_of(game, pairing) for pairing in self.pairings]
        sums = [[sum(block.margins) for block in blocks] for blocks in found]
        self.deals = np.array([sum(block.deals for block in blocks) for blocks in found])
        variances = np.array(
            [
                _variance(int(deals), sum(totals), sum(block.squares for block in blocks))
                for blocks, totals, deals in zip(found, sums, self.deals, strict=True)
            ]
        )
        points = unit(game.rules)
        self.margins = np.array([sum(totals) for totals in sums]) / self.deals / points
        widths = _widths(max(len(blocks) for blocks in found))
        bins = [np.ravel([block.margins for block in blocks]) / points for blocks in found]
        self.covariance = _covariance(bins, widths, self.deals, variances / points**2)
        roles = range(len(found[0][0].won))
        share = won_unit(game.rules)
        won = [
            np.ravel([block.won[role] for block in blocks]) / share
            for role in roles
            for blocks in found
        ]
        deals = np.tile(self.deals, len(roles))
        self.won = np.array([bins.sum() for bins in won]) / deals
        self.won_covariance = _covariance(won, widths, deals, None)

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


def _widths(num_blocks: int) -> Array:
    """How many deals each bin has."""
    sizes, end = [], 0
    for _ in range(num_blocks):
        sizes.append(block_at(end))
        end += sizes[-1]
    return np.repeat(np.array(sizes, np.float64) / BINS, BINS)


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


# ---- tables --------------------------------------------------------------------------------------
def tables(folder: Folder, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The tables of a league's games, as ``table`` gives them; None: of all games."""
    return [table(folder, folder.games[name]) for name in names or folder.games]


def table(folder: Folder, game: GameFile) -> dict[str, Any]:
    """All figures of a game, of types that JSON knows.

    Returns:
        ``result``, which follows from the lines alone, but not from the order in which they were
        written or from the clock; ``sha256``, its seal; and ``run``, what the clock said.
    """
    ranked, missing = complete(game)
    pairings = [
        pairing
        for pairing in _all_pairings(list(game.agents))
        if blocks_of(game, pairing) and not set(pairing) - set(game.agents)
    ]
    measured = Measured(game, pairings) if pairings else None
    result = {
        "game": game.name,
        "rules": game.rules.name,
        "rules_in_full": game.rules.to_dict(),
        "protocol": PROTOCOL,
        "package": game.store.package,
        "seed": folder.seed,
        "deals_sha256": game.deals,
        "agents": list(game.agents.values()),
        "standings": _standings(game, ranked) if len(ranked) > 1 else [],
        "pairings": [] if measured is None else _pairing_rows(game, measured),
        "cycles": [] if measured is None else _cycle_rows(game, measured),
        "incomplete": [{"agent": name, "missing": names} for name, names in missing.items()],
    }
    return {"result": result, "sha256": seal(result), "run": _clock(game)}


def _all_pairings(agents: Sequence[str]) -> list[Pairing]:
    return [(one, other) for i, one in enumerate(agents) for other in agents[i + 1 :]]


def complete(game: GameFile) -> tuple[list[str], dict[str, list[str]]]:
    """The agents that have all played each other, and of each other whom it has not played yet.

    Where not all have, those who entered first come first.
    """
    ranked: list[str] = []
    missing: dict[str, list[str]] = {}
    for name in game.agents:
        lacking = [one for one in ranked if not blocks_of(game, (one, name))]
        if lacking:
            missing[name] = lacking
        else:
            ranked.append(name)
    return ranked, missing


def _standings(game: GameFile, agents: list[str]) -> list[dict[str, Any]]:
    """A row for each agent, best first; of equal ones those who entered first."""
    measured = Measured(game, _all_pairings(agents))
    matrix = measured.matrix(agents)
    weights = nash_average(matrix)
    rating, error = _ratings(game, agents, measured)
    rows = []
    for i, name in enumerate(agents):
        signs = np.array(
            [(one == name) * 1.0 - (other == name) for one, other in measured.pairings]
        )
        signs /= len(agents) - 1
        margin, half = float(signs @ measured.margins), measured.half(signs)
        rows.append(
            {
                "place": 0,
                "agent": name,
                "margin": rounded(margin),
                "ci95": [rounded(margin - half), rounded(margin + half)],
                "rating": rounded(round(rating[i], 2)),
                "rating_ci95": [
                    rounded(round(rating[i] + side * Z95 * error[i], 2)) for side in (-1, 1)
                ],
                "won": rounded(_won(game, measured, name)),
                "nash": rounded(round(weights[i], 3)),
                "over_nash": rounded(round(matrix[i] @ weights, 3)),
                "exact": game.exact.get(name),
                **_counts(game, name),
            }
        )
    rows.sort(key=lambda row: -row["margin"])
    margins = [row["margin"] for row in rows]
    return [{**row, "place": margins.index(row["margin"]) + 1} for row in rows]


def _ratings(game: GameFile, agents: list[str], measured: Measured) -> tuple[Array, Array]:
    place = {name: i for i, name in enumerate(agents)}
    pairings = [(place[one], place[other]) for one, other in measured.pairings]
    if game.rules.players > 2:
        pairings += [(other, one) for one, other in pairings]
    copies = game.rules.players - 1
    return bradley_terry(measured.won, measured.won_covariance, pairings, copies, len(agents))


def _won(game: GameFile, measured: Measured, name: str) -> float:
    """The share of the deals that an agent won alone against others, mean over these."""
    shares = []
    count = len(measured.pairings)
    for i, (one, other) in enumerate(measured.pairings):
        if one == name:
            shares.append(measured.won[i])
        elif other == name:
            is_two = game.rules.players == 2
            shares.append(1 - measured.won[i] if is_two else measured.won[count + i])
    return float(np.mean(shares))


def _counts(game: GameFile, name: str) -> dict[str, Any]:
    """Moons in 100 deals that the agent sat in, a seat each, and faults, over all its pairings."""
    n = game.rules.players
    moons = faults = seats = 0
    for (one, other, _), block in game.blocks.items():
        if name in (one, other):
            side = (one, other).index(name)
            moons += block.moons[side]
            faults += block.faults[side]
            seats += block.deals * n * (1 if n == 2 else n)
    return {"moons": rounded(100 * moons / seats) if seats else 0.0, "faults": faults}


def _pairing_rows(game: GameFile, measured: Measured) -> list[dict[str, Any]]:
    count = len(measured.pairings)
    rows = []
    for i, (one, other) in enumerate(measured.pairings):
        half = measured.half(np.eye(count)[i])
        margin = float(measured.margins[i])
        won = [measured.won[i]]
        won.append(1 - won[0] if game.rules.players == 2 else measured.won[count + i])
        rows.append(
            {
                "agents": [one, other],
                "deals": int(measured.deals[i]),
                "margin": rounded(margin),
                "ci95": [rounded(margin - half), rounded(margin + half)],
                "won": [rounded(share) for share in won],
            }
        )
    return rows


def _cycle_rows(game: GameFile, measured: Measured) -> list[list[str]]:
    """Rings of agents each of whom beats the next by an interval clear of zero."""
    agents = list(game.agents)
    beats = np.zeros((len(agents), len(agents)), bool)
    for i, (one, other) in enumerate(measured.pairings):
        half = measured.half(np.eye(len(measured.pairings))[i])
        a, b = agents.index(one), agents.index(other)
        beats[a, b] = measured.margins[i] > half
        beats[b, a] = -measured.margins[i] > half
    return [[agents[i] for i in ring] for ring in cycles(beats)]


def _clock(game: GameFile) -> dict[str, Any]:
    """Milliseconds a card of each agent, and the hours of one processor that the game took."""
    ms = {}
    for name in game.agents:
        seconds, decisions = 0.0, 0
        for (one, other, _), block in game.blocks.items():
            if name in (one, other):
                side = (one, other).index(name)
                seconds += block.seconds[side]
                decisions += block.decisions[side]
        ms[name] = round(1000 * seconds / decisions, 6) if decisions else None
    hours = sum(block.took for block in game.blocks.values()) / 3600
    return {"ms_per_card": ms, "hours": round(hours, 4)}
