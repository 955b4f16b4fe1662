"""The baselines, compiled: what easy, standard, standard_trump, pro and pro_trump play.

docs/agents.md, "The baselines", defines them. The functions read views (states without hidden
cards) or states. Of a state they use nothing that the acting player may not know. They own no
memory: the caller passes a ``PlayoutMemory``. Legality, play and scoring are the kernel's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.support.arrays import Ints, Numbers
from hearts_env.support.bits import highest, lowest, popcount
from hearts_env.support.jit import inlined, jit
from hearts_env.views.hidden import unseen_mask, worlds_of_two

EASY, STANDARD, STANDARD_TRUMP, PRO, PRO_TRUMP = range(5)

MAX_COMBINATIONS = 20_000
"""The most possible hands of the opponent that are tried one by one."""

SCRATCH_SIZE = 3 * (k.MAX_PLAYERS + 1) + 2 * 64
"""The length of the scratch memory of ``worlds_of_two``."""


class PlayoutMemory(NamedTuple):
    """The working memory of the search players. Each decision writes it before reading it.

    ``make_memory`` makes it. Compiled functions take it as one argument.
    """

    worlds: Ints
    """``(worlds, MAX_PLAYERS + 1)``: the hands of all seats, then the dead cards."""
    hands: Ints
    """``(worlds,)``: the opponent's possible hands, with two players."""
    scratch: Ints
    """``(SCRATCH_SIZE,)``: for ``worlds_of_two``."""
    base: k.Vector
    """``(MAX_STATE,)``: the state at the decision, with a world's hands."""
    state: k.Vector
    """``(MAX_STATE,)``: the state that a playout changes."""
    sums: Ints
    """``(MAX_ACTIONS,)``: the result: each action's sum of margins over the worlds."""


def make_memory(worlds: int) -> PlayoutMemory:
    """Return memory for decisions over up to `worlds` worlds."""
    return PlayoutMemory(
        worlds=np.zeros((worlds, k.MAX_PLAYERS + 1), np.int64),
        hands=np.zeros(worlds, np.int64),
        scratch=np.zeros(SCRATCH_SIZE, np.int64),
        base=np.zeros(k.MAX_STATE, np.int64),
        state=np.zeros(k.MAX_STATE, np.int64),
        sums=np.zeros(k.MAX_ACTIONS, np.int64),
    )


# ---- standard ------------------------------------------------------------------------------------
@jit
def lowest_value(r: k.Vector, mask: int) -> int:
    """Return a set's lowest card by value: rank, then clubs, diamonds, hearts, spades."""
    best = 1 << 60
    card = -1
    for suit in range(4):
        cards = mask & r[k.R_SUIT_MASK + suit]
        if cards:
            low = lowest(cards)
            value = 4 * r[k.R_RANK_OF + low] + (suit ^ (suit >> 1))
            if value < best:
                best = value
                card = low
    return card


@jit
def highest_value(r: k.Vector, mask: int) -> int:
    """Return a set's highest card by value: rank, then spades, hearts, diamonds, clubs."""
    best = -1
    card = -1
    for suit in range(4):
        cards = mask & r[k.R_SUIT_MASK + suit]
        if cards:
            high = highest(cards)
            value = 4 * r[k.R_RANK_OF + high] + (suit ^ (suit >> 1))
            if value > best:
                best = value
                card = high
    return card


@jit
def taking_mask(r: k.Vector, s: k.Vector) -> int:
    """Return the cards that would take the unfinished trick."""
    best = s[k.WINNING_CARD]
    suit = r[k.R_SUIT_OF + best]
    mask = r[k.R_SUIT_MASK + suit] & (np.int64(-2) << best)
    trump = r[k.R_TRUMP]
    if trump >= 0 and suit != trump:
        mask |= r[k.R_SUIT_MASK + trump]
    return mask


@jit
def standard_card(r: k.Vector, s: k.Vector, legal: int, aware: int) -> int:
    """Return the card of `legal` that ``standard`` plays or, if `aware`, ``standard_trump``."""
    if legal & (legal - 1) == 0:
        return lowest(legal)
    # Leading: the lowest card.
    if s[k.TRICK_LEN] == 0:
        return lowest_value(r, legal)
    follow = legal & r[k.R_SUIT_MASK + s[k.LED]]
    safe = legal & ~taking_mask(r, s)
    queen = legal & r[k.R_QUEEN]
    if follow:
        last = s[k.TRICK_LEN] == r[k.R_PLAYERS] - 1
        if last and s[k.TRICK_POINTS] <= 0:
            card = highest(follow)
        elif safe:
            card = highest_value(r, safe) if safe & ~follow else highest(safe)
        elif last:
            others = follow & ~queen
            card = highest(others if others else follow)
        else:
            card = lowest(follow)
    elif not aware:
        # Void: QS if legal, else the highest card.
        return lowest(queen) if queen else highest_value(r, legal)
    elif queen & safe:
        return lowest(queen)
    elif safe:
        return highest_value(r, safe)
    else:
        card = lowest_value(r, legal)
    if aware and queen >> card & 1 and not safe >> card & 1:
        # It would take the trick with QS: take it with the highest other card of that suit.
        others = legal & ~queen & r[k.R_SUIT_MASK + r[k.R_SUIT_OF + card]]
        if others:
            card = highest(others)
    return card


@jit
def rule_action(r: k.Vector, s: k.Vector, aware: int) -> int:
    """Return the action of ``standard`` or, if `aware`, ``standard_trump``, in any phase."""
    phase = s[k.PHASE]
    if phase == k.PLAY:
        return standard_card(r, s, k.legal_mask(r, s), aware)
    if phase == k.PASS:  # the highest cards by value
        return highest_value(r, k.legal_mask(r, s))
    return r[k.R_NUM_CARDS] + 1  # the others pay


@inlined
def plain_action(r: k.Vector, v: k.Vector, policy: int, rng: Numbers) -> int:
    """Return the action of a baseline without search: EASY, STANDARD or STANDARD_TRUMP."""
    if policy == EASY:
        return k.random_card(rng, k.legal_mask(r, v))
    return rule_action(r, v, policy == STANDARD_TRUMP)


@jit
def playout(r: k.Vector, s: k.Vector, aware: int) -> None:
    """Play to the end in place, all players as ``standard`` or, if `aware`, ``standard_trump``."""
    while s[k.PHASE] == k.PLAY:
        k.play_card(r, s, standard_card(r, s, k.legal_mask(r, s), aware))
    while s[k.PHASE] != k.OVER:
        k.play(r, s, rule_action(r, s, aware))


# ---- pro -----------------------------------------------------------------------------------------
@jit
def combinations(n: int, size: int) -> int:
    """Return the number of sets of `size` of `n` cards, or some number above MAX_COMBINATIONS."""
    count = 1
    for i in range(size):
        count = count * (n - i) // (i + 1)
        if count > MAX_COMBINATIONS:
            return count
    return count


@jit
def enumerate_worlds(
    r: k.Vector, v: k.Vector, player: int, limit: int, memory: PlayoutMemory
) -> int:
    """Write all worlds of a two-player view into ``memory.worlds``. Return their number.

    Returns -1 for more than `limit` worlds, or more than MAX_COMBINATIONS hands to try.
    """
    unseen = unseen_mask(r, v, player)
    other = 1 - player
    dead = r[k.R_KITTY_SIZE] if v[k.KITTY_TAKER] < 0 else 0
    size = min(dead, k.cards_left(r, v, other))
    if combinations(popcount(unseen), size) > MAX_COMBINATIONS:
        return -1
    hands, worlds = memory.hands, memory.worlds
    n = worlds_of_two(r, v, player, hands[:limit], memory.scratch)
    if n > limit:
        return -1
    for w in range(n):
        worlds[w, player] = v[k.HANDS + k.SEAT * player]
        worlds[w, other] = hands[w]
        worlds[w, 2] = unseen & ~hands[w]
    return n


@jit
def sum_margins(
    r: k.Vector, v: k.Vector, player: int, legal: int, n: int, policy: int, memory: PlayoutMemory
) -> None:
    """Write each legal card's sum of margins over `n` worlds into ``memory.sums``.

    Each card is played in each of the first `n` rows of ``memory.worlds``, and the deal is played
    to its end. The margin is ``kernel.margin_sum`` of `player`.
    """
    aware = policy == PRO_TRUMP
    worlds, sums = memory.worlds, memory.sums
    base, s = memory.base[: len(v)], memory.state[: len(v)]
    players = r[k.R_PLAYERS]
    k.copy_state(v, base)
    sums[:] = 0
    for w in range(n):
        for p in range(players):
            base[k.HANDS + k.SEAT * p] = worlds[w, p]
        if v[k.KITTY_TAKER] < 0:
            base[k.KITTY] = worlds[w, players]
        rest = legal
        while rest:
            card = lowest(rest)
            rest &= rest - 1
            k.copy_state(base, s)
            k.play_card(r, s, card)
            playout(r, s, aware)
            sums[card] += k.margin_sum(r, s, player)


@jit
def best_of(legal: int, sums: Ints) -> int:
    """Return the legal action with the greatest sum, the lowest if several have it."""
    best = lowest(legal)
    rest = legal & (legal - 1)
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        if sums[card] > sums[best]:
            best = card
    return best


@jit
def pro_action(
    r: k.Vector, v: k.Vector, player: int, policy: int, limit: int, memory: PlayoutMemory
) -> int:
    """Return the action of PRO or PRO_TRUMP, or -1 if there are too many worlds or players."""
    if v[k.PHASE] != k.PLAY:
        return rule_action(r, v, policy == PRO_TRUMP)
    legal = k.legal_mask(r, v)
    if legal & (legal - 1) == 0:
        return lowest(legal)
    if r[k.R_PLAYERS] != 2:
        return -1
    n = enumerate_worlds(r, v, player, limit, memory)
    if n < 0:
        return -1
    sum_margins(r, v, player, legal, n, policy, memory)
    return best_of(legal, memory.sums)


@jit
def act_row(
    r: k.Vector,
    v: k.Vector,
    player: int,
    policy: int,
    limit: int,
    rng: Numbers,
    memory: PlayoutMemory,
) -> int:
    """Return the action of baseline `policy`, or -1 if there are too many worlds or players."""
    if policy < PRO:
        return plain_action(r, v, policy, rng)
    return pro_action(r, v, player, policy, limit, memory)


@jit
def act_rows(
    r: k.Vector,
    vectors: Ints,
    players: Ints,
    policy: int,
    limit: int,
    rng: Numbers,
    memory: PlayoutMemory,
    out: Ints,
) -> int:
    """Write the action for each row of `vectors` into `out`. Return the number of -1."""
    undone = 0
    for i in range(len(vectors)):
        v = vectors[i]
        out[i] = act_row(r, v, players[i], policy, limit, rng, memory)
        undone += out[i] < 0
    return undone
