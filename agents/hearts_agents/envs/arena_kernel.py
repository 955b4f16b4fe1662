"""The compiled loops of the arena: drawing episodes, moving baselines, paying rewards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hearts_agents.baseline_kernel import PlayoutMemory, act_row
from hearts_env import kernel as k
from hearts_env.game.chips import SHARES, net_chips
from hearts_env.seeds import episode_seed
from hearts_env.support.arrays import Floats, Ints, Numbers
from hearts_env.support.bits import lowest
from hearts_env.support.jit import jit

WAITS, TO_MOVE, ENDED = range(3)
"""Where a game stands: for an agent outside the compiled loop, for the learner, at its end."""

SEAT, OPPONENT, NUMBERS = 0, 1, 16
"""The purposes of draws from an episode's seed (``draw``): OPPONENT + seat of the opponent.

NUMBERS, the random numbers of the baselines, stay inside compiled code: the seed of the
episode can be computed from them.
"""


class Cast(NamedTuple):
    """The players of each game, for the compiled loop."""

    learner: Ints
    """``(games,)``: the learner's seat."""
    places: Ints
    """``(games, players)``: the place in the pool of the opponent in each seat."""
    opponent: Ints
    """``(games,)``: that place where all opponents have the same; -1 where they differ."""
    rngs: Numbers
    """``(games,)``: the baselines' random numbers, changed by each draw."""
    kinds: Ints
    """``(pool,)``: the number of the baseline at each place of the pool; -1: another agent."""
    limits: Ints
    """``(pool,)``: the most worlds that it examines."""
    cumulative: Floats
    """``(pool,)``: the probability to draw it or one before it."""


@jit
def draw(
    seed: int | np.int64,
    what: int,
) -> np.uint64:
    """The random 64 bits for one purpose, from a seed."""
    return k.mix(k.mix(np.uint64(seed)) + k.mix(np.uint64(what)))


@jit
def unit(bits: np.uint64) -> float:
    """A number from 0 to below 1 of 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * 2.0**-53


@jit
def draw_place(
    seed: int | np.int64,
    what: int,
    cumulative: Floats,
) -> int:
    """A place drawn with the probabilities whose cumulative sums are `cumulative`."""
    u = unit(draw(seed, what))
    place = 0
    while u >= cumulative[place]:
        place += 1
    return place


@jit
def draw_episodes(
    r: k.Vector,
    rows: Ints,
    seeds: Ints,
    numbers: Ints,
    deals: Ints,
    seat: int,
    cast: Cast,
) -> None:
    """Draw the next episode of each of `rows`: seed, learner's seat (`seat` -1), opponents."""
    players = r[k.R_PLAYERS]
    for g in rows:
        deal = episode_seed(seeds[g], numbers[g])
        numbers[g] += 1
        deals[g] = deal
        cast.learner[g] = np.int64(draw(deal, SEAT) % np.uint64(players)) if seat < 0 else seat
        cast.rngs[g] = k.mix(draw(deal, NUMBERS) >> np.uint64(1))
        cast.opponent[g] = -2
        for p in range(players):
            place = draw_place(deal, OPPONENT + p, cast.cumulative)
            cast.places[g, p] = place
            if p != cast.learner[g]:
                is_same = cast.opponent[g] == -2 or cast.opponent[g] == place
                cast.opponent[g] = place if is_same else -1


@jit
def advance(
    r: k.Vector,
    states: Ints,
    rows: Ints,
    cast: Cast,
    skip: int,
    memory: PlayoutMemory,
    stand: Ints,
    legal: Ints,
) -> None:
    """Move the baselines in each of `rows` until another agent is to move or the deal ends.

    `stand` says which of these it is, for each game; `legal` gets the legal actions there.
    """
    for g in rows:
        st = states[g]
        stand[g] = WAITS
        while True:
            if st[k.PHASE] == k.OVER:
                stand[g] = ENDED
                break
            p = st[k.PLAYER]
            place = cast.places[g, p]
            kind = cast.kinds[place]
            if p == cast.learner[g] or kind < 0:
                mask = k.legal_mask(r, st)
                if mask & (mask - 1) == 0 and (skip or p != cast.learner[g]):
                    k.play(r, st, lowest(mask))
                    continue
                if p == cast.learner[g]:
                    stand[g] = TO_MOVE
                break
            rng = cast.rngs[g : g + 1]
            action = act_row(r, st, p, kind, cast.limits[place], rng, memory)
            if action < 0:  # too many worlds: not for compiled code
                break
            k.play(r, st, action)
        legal[g] = k.legal_mask(r, st)


@jit
def play_learner(r: k.Vector, states: Ints, rows: Ints, actions: Ints) -> None:
    """Play the learner's action, one of those of all games, in each of `rows`, in place."""
    for g in rows:
        k.play(r, states[g], actions[g])


@jit
def read_results(
    r: k.Vector,
    states: Ints,
    rows: Ints,
    scores: Ints,
    points: Ints,
    shooters: Ints,
) -> None:
    """Write scores, points and shooter of each of `rows`, in place."""
    for i in range(len(rows)):
        s = states[rows[i]]
        shooters[i] = s[k.SHOOTER]
        for p in range(r[k.R_PLAYERS]):
            scores[i, p] = k.score(r, s, p)
            points[i, p] = s[k.POINTS + k.SEAT * p]


@jit
def read_chips(
    r: k.Vector,
    states: Ints,
    rows: Ints,
    chips: Floats,
) -> None:
    """Write what each seat wins in chips by the deal of each of `rows`, on its own, in place."""
    for i in range(len(rows)):
        for p in range(r[k.R_PLAYERS]):
            chips[i, p] = net_chips(r, states[rows[i]], p) / SHARES
