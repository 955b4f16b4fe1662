"""What follows from a matrix of results: ratings, a Nash average, and cycles.

All of these take players by number, in the order of the matrix. Nothing is played or drawn here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hearts_env import HeartsError

Matrix = NDArray[np.float64]

ELO = 400 / np.log(10)
"""Elo points in one natural unit of strength: 400 points are odds of ten to one."""
_MOST_STEPS = 200
_MOST_ROUNDS = 100
_PRIOR = 1e-4
"""Share of each pairing's deals that count as won by either player alike, so that a player who won
them all has a rating too."""
_LEAST_WEIGHT = 1e-4
_LEAST_LOG = -600.0


# ---- Bradley and Terry ---------------------------------------------------------------------------
def bradley_terry(
    won: Matrix, covariance: Matrix, pairings: Sequence[tuple[int, int]], copies: int, players: int
) -> tuple[Matrix, Matrix]:
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
        raise HeartsError("pairings: they do not connect all players; play more of them")
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
def nash_average(margins: Matrix) -> Matrix:
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


def _cooled(game: Matrix, multipliers: Matrix, logs: Matrix, temperature: float) -> Matrix:
    """The minimum of ``nash_average`` for t and m, as logarithms, from a start near it."""

    def loss(x: Matrix) -> float:
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
