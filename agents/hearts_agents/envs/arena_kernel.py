"""The compiled loops of the arena: drawing episodes, playing actions, reading results."""

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
"""The state of a game: an outside agent is to act, the learner is to act, or the game is over."""

SEAT, OPPONENT, NUMBERS = 0, 1, 16
"""The purposes of draws from an episode's seed (``draw``): SEAT, OPPONENT + seat, NUMBERS.

NUMBERS seeds the baselines' random numbers. These never leave compiled code, because the episode's
seed can be computed from them.
"""


class Cast(NamedTuple):
    """The players of each game, for the compiled loop."""

    learner: Ints
    """``(games,)``: the learner's seat."""
    places: Ints
    """``(games, players)``: the place in the pool of each seat's opponent."""
    opponent: Ints
    """``(games,)``: the opponents' place in the pool if all share one, else -1."""
    rngs: Numbers
    """``(games,)``: the state of the baselines' random numbers."""
    kinds: Ints
    """``(pool,)``: the number of the baseline at each place, or -1 for another agent."""
    limits: Ints
    """``(pool,)``: the most worlds that each baseline examines."""
    cumulative: Floats
    """``(pool,)``: the cumulative probabilities of the places."""


@jit
def draw(
    seed: int | np.int64,
    what: int,
) -> np.uint64:
    """Return 64 random bits from a seed, for one purpose."""
    return k.mix(k.mix(np.uint64(seed)) + k.mix(np.uint64(what)))


@jit
def unit(bits: np.uint64) -> float:
    """Turn 64 random bits into a number in [0, 1)."""
    return np.float64(bits >> np.uint64(11)) * 2.0**-53


@jit
def draw_place(
    seed: int | np.int64,
    what: int,
    cumulative: Floats,
) -> int:
    """Draw a place with the cumulative probabilities `cumulative`."""
    u = unit(draw(seed, what))
    place = 0
    while u >= cumulative[place]:
        place += 1
    return place


@jit
def draw_episodes(
    r: k.Vector,
    games: Ints,
    seeds: Ints,
    episode_counts: Ints,
    episode_seeds: Ints,
    seat: int,
    cast: Cast,
) -> None:
    """Draw the next episode of each of `games`, in place: its seed, learner's seat and opponents.

    Args:
        r: the rules' vector.
        games: numbers of games.
        seeds: the seed of each game's sequence, ``(num_games,)``.
        episode_counts: the number of episodes drawn so far, ``(num_games,)``, which is incremented.
        episode_seeds: written, ``(num_games,)``.
        seat: the learner's seat. If -1, it is drawn.
        cast: written.
    """
    players = r[k.R_PLAYERS]
    for g in games:
        seed = episode_seed(seeds[g], episode_counts[g])
        episode_counts[g] += 1
        episode_seeds[g] = seed
        cast.learner[g] = np.int64(draw(seed, SEAT) % np.uint64(players)) if seat < 0 else seat
        cast.rngs[g] = k.mix(draw(seed, NUMBERS) >> np.uint64(1))
        cast.opponent[g] = -2
        for p in range(players):
            place = draw_place(seed, OPPONENT + p, cast.cumulative)
            cast.places[g, p] = place
            if p != cast.learner[g]:
                is_same = cast.opponent[g] == -2 or cast.opponent[g] == place
                cast.opponent[g] = place if is_same else -1


@jit
def advance(
    r: k.Vector,
    states: Ints,
    games: Ints,
    cast: Cast,
    skip: int,
    memory: PlayoutMemory,
    stand: Ints,
    legal: Ints,
) -> None:
    """Play the baselines in each of `games` until another agent acts or the deal ends.

    If `skip` is true, also play the learner's forced actions. Write WAITS, TO_MOVE or ENDED into
    `stand` and the legal actions into `legal`, by game.
    """
    for g in games:
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
def play_learner(r: k.Vector, states: Ints, games: Ints, actions: Ints) -> None:
    """Play ``actions[g]`` in each game g of `games`, in place."""
    for g in games:
        k.play(r, states[g], actions[g])


@jit
def read_results(
    r: k.Vector,
    states: Ints,
    games: Ints,
    scores: Ints,
    points: Ints,
    shooters: Ints,
) -> None:
    """Write the scores, points and shooter of each of `games`, in place."""
    for i in range(len(games)):
        s = states[games[i]]
        shooters[i] = s[k.SHOOTER]
        for p in range(r[k.R_PLAYERS]):
            scores[i, p] = k.score(r, s, p)
            points[i, p] = s[k.POINTS + k.SEAT * p]


@jit
def read_chips(
    r: k.Vector,
    states: Ints,
    games: Ints,
    chips: Floats,
) -> None:
    """Write each seat's winnings in chips from the deal of each of `games` alone, in place."""
    for i in range(len(games)):
        for p in range(r[k.R_PLAYERS]):
            chips[i, p] = net_chips(r, states[games[i]], p) / SHARES
