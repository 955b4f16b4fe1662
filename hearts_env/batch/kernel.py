"""Compiled loops over many games, for all rules or frozen to one rule set."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders.flat import write_row
from hearts_env.rules.rules import Rules
from hearts_env.seeds import stream_seed
from hearts_env.support.bits import constants_at, int8_at, int64_at, put_word, uint8_at
from hearts_env.support.jit import inlined, jit

MAX_GAMES = 10_000_000
"""The most games of a batch."""


@jit
def write_legal(r: k.Vector, states: k.Vector, out: k.Vector) -> None:
    """Write the legal actions of each state over `out` as bit masks, in place."""
    for i in range(len(states)):
        out[i] = k.legal_mask(r, states[i])


@inlined
def _write_mask(mask: int, masks: NDArray[np.int8], start: int, width: int) -> None:
    """Write the lowest `width` bits of `mask` over ``masks[start:]``. Rows are written in order."""
    if start + 64 <= len(masks):  # the next rows overwrite the surplus
        put_word(masks, start, np.uint64(mask))
    else:
        for j in range(width):
            masks[start + j] = mask >> j & 1


@jit
def write_masks(legal: k.Vector, games: k.Vector, masks: NDArray[np.int8]) -> None:
    """Write the masks of `games` over `masks`, one after another, in place."""
    width = len(masks) // len(games) if len(games) else 0
    for i in range(len(games)):
        _write_mask(legal[games[i]], masks, i * width, width)


@jit
def seed_random(random: NDArray[np.uint64], seed: int) -> None:
    """Seed each game's stream of random actions, in place."""
    for g in range(len(random)):
        random[g] = k.mix(k.mix(np.uint64(seed)) + np.uint64(g))


@jit
def choose(legal: k.Vector, games: k.Vector, random: NDArray[np.uint64], actions: k.Vector) -> None:
    """Write a random legal action for each of `games` that is not over, in place."""
    for i in range(len(games)):
        g = games[i]
        if legal[g]:
            actions[i] = k.random_card(random[g : g + 1], legal[g])


@inlined
def shown_seat(s: k.Vector) -> int:
    """Return the observing seat: the player to act, or seat 0 if the game is over."""
    return max(s[k.PLAYER], 0)


@jit
def write_views(
    r: k.Vector, states: k.Vector, games: k.Vector, vectors: k.Vector, players: k.Vector
) -> None:
    """Write the player to act in each of `games`, and that player's view, in place."""
    for i in range(len(games)):
        s = states[games[i]]
        players[i] = shown_seat(s)
        k.write_view(r, s, players[i], vectors[i])


@jit
def find_illegal(
    legal: k.Vector, games: k.Vector, actions: k.Vector, bad: NDArray[np.bool_]
) -> int:
    """Mark illegal actions, which may be any int64, in `bad`, and return their number."""
    count = 0
    for i in range(len(games)):
        action = actions[i]
        inside = 0 <= action < k.MAX_ACTIONS
        bad[i] = not inside or not legal[games[i]] >> action & 1
        count += bad[i]
    return count


@inlined
def _next_seed(g: int, deals: k.Vector, seed: int) -> np.int64:
    """Return the seed of the next deal of game `g`, for any number of games."""
    deals[g] += 1
    return stream_seed(seed, g, deals[g])


@jit
def next_seeds(games: k.Vector, seeds: k.Vector, deals: k.Vector, seed: int) -> None:
    """Write the seed of the next deal of each of `games`, in place."""
    for i in range(len(games)):
        seeds[games[i]] = _next_seed(games[i], deals, seed)


@jit
def deal(r: k.Vector, states: k.Vector, games: k.Vector, seeds: k.Vector, legal: k.Vector) -> None:
    """Deal each of `games` by its seed, in place."""
    for i in range(len(games)):
        g = games[i]
        k.deal(r, states[g], seeds[g], -1, -1)
        legal[g] = k.legal_mask(r, states[g])


class Tables(NamedTuple):
    """The arrays that play changes, one row per game."""

    states: k.Vector
    """``(games, rules.state_size)``."""
    legal: k.Vector
    """``(games,)``: the legal actions as bit masks."""
    done: NDArray[np.bool_]
    """``(games,)``: True if the last action ended the deal."""
    scores: k.Vector
    """``(games, players)``: the scores of the last finished deal."""
    seeds: k.Vector
    """``(games,)``: the seeds of the deals."""
    deals: k.Vector
    """``(games,)``: the number of the deal in the game's stream of seeds."""


@inlined
def _play_one(r: k.Vector, tables: Tables, g: int, action: int, seed: int, autodeal: int) -> None:
    s = tables.states[g]
    k.play_inline(r, s, action)
    if s[k.PHASE] == k.OVER:
        tables.done[g] = True
        for p in range(r[k.R_PLAYERS]):
            tables.scores[g, p] = k.score(r, s, p)
        if autodeal:
            tables.seeds[g] = _next_seed(g, tables.deals, seed)
            k.deal(r, s, tables.seeds[g], -1, -1)
    tables.legal[g] = k.legal_mask(r, s)


@jit
def play(
    r: k.Vector, tables: Tables, games: k.Vector, actions: k.Vector, seed: int, autodeal: int
) -> None:
    """Play an action in each of `games`. Deal the finished games again, all in place."""
    for i in range(len(games)):
        _play_one(r, tables, games[i], actions[i], seed, autodeal)


@inlined
def step(
    r: k.Vector,
    tables: Tables,
    games: k.Vector,
    actions: k.Vector,
    seed: int,
    autodeal: int,
    observations: NDArray[np.int8],
    masks: NDArray[np.int8],
) -> None:
    """Do ``play`` in each of `games`. Write its observation and mask, in place."""
    width = len(masks) // len(games) if len(games) else 0
    for i in range(len(games)):
        g = games[i]
        tables.done[g] = False
        _play_one(r, tables, g, actions[i], seed, autodeal)
        s = tables.states[g]
        write_row(r, s, shown_seat(s), observations[i])
        _write_mask(tables.legal[g], masks, i * width, width)


# ---- a step of few arguments, for a quick call ---------------------------------------------------
class StepWords(NamedTuple):
    """The arguments of ``step`` as words: addresses and sizes."""

    rules: int
    states: int
    legal: int
    done: int
    scores: int
    seeds: int
    deals: int
    games: int
    num_rules: int
    num_games: int
    state_size: int
    players: int
    length: int
    width: int
    seed: int
    autodeal: int
    actions: int = 0
    observations: int = 0
    masks: int = 0


W = StepWords(*range(19))
"""The place of each word, for compiled code."""


@jit
def give_step(
    words: k.Vector,
    legal: k.Vector,
    actions: k.Vector,
    observations: NDArray[Any],
    masks: NDArray[np.int8],
) -> int:
    """Complete the words of a step with its arrays, and return a fault, or 0.

    1: an action is illegal. 2: masks and observations share memory. 3: actions and observations
    share memory. 4: actions and masks share memory.
    """
    action_at, shown_at, mask_at = actions.ctypes.data, observations.ctypes.data, masks.ctypes.data
    if mask_at < shown_at + observations.nbytes and shown_at < mask_at + masks.nbytes:
        return 2
    if action_at < shown_at + observations.nbytes and shown_at < action_at + actions.nbytes:
        return 3
    if action_at < mask_at + masks.nbytes and mask_at < action_at + actions.nbytes:
        return 4
    words[W.actions], words[W.observations], words[W.masks] = action_at, shown_at, mask_at
    count = 0
    for g in range(len(legal)):
        action = actions[g]
        count += action < 0 or action >= k.MAX_ACTIONS or not legal[g] >> action & 1
    return count > 0


@inlined
def _step_some(r: k.Vector, words: k.Vector, first: int, last: int) -> int:
    """Do ``step`` in the games from `first` to before `last`, with these words."""
    n, width = words[W.num_games], words[W.width]
    tables = Tables(
        int64_at(words[W.states], (n, words[W.state_size])),
        int64_at(words[W.legal], (n,)),
        uint8_at(words[W.done], (n,)),
        int64_at(words[W.scores], (n, words[W.players])),
        int64_at(words[W.seeds], (n,)),
        int64_at(words[W.deals], (n,)),
    )
    games = int64_at(words[W.games], (n,))[first:last]
    actions = int64_at(words[W.actions], (n,))[first:last]
    masks = int8_at(words[W.masks], (n * width,))[first * width : last * width]
    shown = int8_at(words[W.observations], (n, words[W.length]))[first:last]
    step(r, tables, games, actions, words[W.seed], words[W.autodeal], shown, masks)
    return 0


@jit
def flat_step(address: int, first: int, last: int) -> int:
    """Do ``step`` for any rules, with the address of its words."""
    words = int64_at(address, (len(W),))
    return _step_some(constants_at(words[W.rules], (words[W.num_rules],)), words, first, last)


@functools.lru_cache(maxsize=64)
def frozen_step(rules: Rules) -> Any:
    """Return ``flat_step`` compiled for these rules alone, which halves its time.

    The compiler's cache tells rule sets apart by the function's closure, so the closure holds only
    the rules' vector.
    """
    r = rules.vector

    @jit
    def frozen(address: int, first: int, last: int) -> int:
        return _step_some(r, int64_at(address, (len(W),)), first, last)

    return frozen


@jit
def revoke(
    r: k.Vector,
    states: k.Vector,
    games: k.Vector,
    legal: k.Vector,
    done: NDArray[np.bool_],
    scores: k.Vector,
) -> None:
    """End each of `games` that is not over, as ``kernel.revoke`` does, in place."""
    for i in range(len(games)):
        g = games[i]
        s = states[g]
        if s[k.PHASE] == k.OVER:
            continue
        k.revoke(s)
        legal[g] = 0
        done[g] = True
        for p in range(r[k.R_PLAYERS]):
            scores[g, p] = k.score(r, s, p)
