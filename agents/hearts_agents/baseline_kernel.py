"""The baselines, compiled: what easy, standard, standard_trump, pro and pro_trump play.

docs/agents.md, "The baselines", defines them. The functions read views (states without hidden
cards) or states. Of a state they use only what the acting player may know. They own no memory: the
caller passes a ``PlayoutMemory``. The kernel decides legality, play and scores, except in playouts,
which implement them again for speed.
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
    points: Ints
    """``(64,)``: the points of each value."""
    dealt: Ints
    """``(MAX_PLAYERS,)``: the hands of a world, as values."""
    held: Ints
    """``(MAX_PLAYERS,)``: the hands that a playout changes, as values."""
    sums: Ints
    """``(MAX_ACTIONS,)``: the result: each action's sum of margins over the worlds."""


def make_memory(worlds: int) -> PlayoutMemory:
    """Return memory for decisions over up to `worlds` worlds."""
    return PlayoutMemory(
        worlds=np.zeros((worlds, k.MAX_PLAYERS + 1), np.int64),
        hands=np.zeros(worlds, np.int64),
        scratch=np.zeros(SCRATCH_SIZE, np.int64),
        points=np.zeros(64, np.int64),
        dealt=np.zeros(k.MAX_PLAYERS, np.int64),
        held=np.zeros(k.MAX_PLAYERS, np.int64),
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
        if cards and r[k.R_VALUE_OF + lowest(cards)] < best:
            card = lowest(cards)
            best = r[k.R_VALUE_OF + card]
    return card


@jit
def highest_value(r: k.Vector, mask: int) -> int:
    """Return a set's highest card by value: rank, then spades, hearts, diamonds, clubs."""
    best = -1
    card = -1
    for suit in range(4):
        cards = mask & r[k.R_SUIT_MASK + suit]
        if cards and r[k.R_VALUE_OF + highest(cards)] > best:
            card = highest(cards)
            best = r[k.R_VALUE_OF + card]
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


@inlined
def standard_replies(
    legal: int, follow: int, taking: int, queen: int, waiting: int, points: int, aware: int
) -> int:
    """Return the candidates, of which ``standard`` or ``standard_trump`` plays the highest value.

    The cards of the sets may be in any order that keeps each suit ascending.

    Args:
        legal: the legal cards, not at the start of a trick.
        follow: the legal cards of the led suit.
        taking: the cards that would take the trick.
        queen: the queen of spades.
        waiting: the number of players who play to the trick after this one.
        points: the points of the trick.
        aware: 1 for ``standard_trump``.
    """
    safe = legal & ~taking
    others = legal & ~queen
    if follow:
        others &= follow
        if waiting == 0 and points <= 0:
            chosen = 1 << highest(follow)
        elif safe:
            return safe
        elif waiting == 0:
            return others if others else follow
        else:
            chosen = follow & -follow
    elif not aware:
        # Void: QS if legal, else the highest card.
        return legal & queen if legal & queen else legal
    elif safe:
        return safe & queen if safe & queen else safe
    else:
        chosen = legal & -legal  # all are trumps
    if aware and chosen & queen & ~safe and others:
        # It would take the trick with QS: take it with the highest other card of that suit.
        return others
    return chosen


@jit
def standard_card(r: k.Vector, s: k.Vector, legal: int, aware: int) -> int:
    """Return the card of `legal` that ``standard`` plays or, if `aware`, ``standard_trump``."""
    if legal & (legal - 1) == 0:
        return lowest(legal)
    # Leading: the lowest card.
    if s[k.TRICK_LEN] == 0:
        return lowest_value(r, legal)
    follow = legal & r[k.R_SUIT_MASK + s[k.LED]]
    waiting = r[k.R_PLAYERS] - 1 - s[k.TRICK_LEN]
    points = s[k.TRICK_POINTS]
    cards = standard_replies(legal, follow, taking_mask(r, s), r[k.R_QUEEN], waiting, points, aware)
    return highest_value(r, cards) if cards & ~follow else highest(cards)


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


# ---- pro -----------------------------------------------------------------------------------------
@jit
def combinations(n: int, size: int) -> int:
    """Return the number of ways to choose `size` of `n` cards.

    If there are more than MAX_COMBINATIONS, return some number above it.
    """
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

    The result is -1 if there are more than `limit` worlds, or more than MAX_COMBINATIONS hands to
    try.
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


# ---- playouts ------------------------------------------------------------------------------------
# Playouts number the cards by value (`kernel.R_VALUE_OF`), so that the lowest and highest bits of a
# set of values are its lowest and highest cards. Every fourth value is of the same suit.
CLUBS_VALUES = 0x1111111111111
HEARTS_VALUES: int = CLUBS_VALUES << 2


@inlined
def values_of(r: k.Vector, mask: int) -> int:
    """Return the values of a set of cards."""
    values = 0
    while mask:
        values |= 1 << r[k.R_VALUE_OF + lowest(mask)]
        mask &= mask - 1
    return values


@inlined
def same_suit(value: int) -> int:
    """Return all values of the suit of `value`."""
    return CLUBS_VALUES << (value & 3)


@inlined
def taking_values(best: int, trumps: int) -> int:
    """Return the values that would take the trick from its winning value `best`."""
    higher = same_suit(best) & (-2 << best)
    return higher if trumps >> best & 1 else higher | trumps


class Start(NamedTuple):
    """A decision in the form that its playouts read. All sets of cards are sets of values."""

    player: int
    """The player of the decision, for the margin."""
    aware: int
    """1 if all players play as ``standard_trump``, 0 as ``standard``."""
    queen: int
    penalty: int
    trumps: int
    company: int
    """``kernel.unbroken_company``."""
    forbidden: int
    """The cards that may not be thrown on this trick."""
    trick: int
    """The cards of the unfinished trick."""
    led: int
    """All cards of the suit led."""
    best: int
    """The value that takes the trick as it stands."""
    margin: int
    """The sum of all points less n times the points of the player."""
    shooter: int
    """The only seat with penalty cards, -1 if no seat has any and -2 if several have."""
    takers: int
    """The seats that have taken a trick, as a mask."""


@inlined
def start_of(r: k.Vector, v: k.Vector, player: int, aware: int) -> Start:
    """Return the decision of `player` in a view or state, for playouts."""
    n = r[k.R_PLAYERS]
    margin, shooter, takers = 0, -1, 0
    for p in range(n):
        margin += v[k.POINTS + k.SEAT * p] * (1 - n if p == player else 1)
        if v[k.TRICKS + k.SEAT * p]:
            takers |= 1 << p
        if v[k.TAKEN + k.SEAT * p] & r[k.R_PENALTY]:
            shooter = p if shooter == -1 else -2
    queen, penalty = values_of(r, r[k.R_QUEEN]), values_of(r, r[k.R_PENALTY])
    trumps = values_of(r, r[k.R_SUIT_MASK + r[k.R_TRUMP]]) if r[k.R_TRUMP] >= 0 else 0
    company = values_of(r, k.unbroken_company(r))
    forbidden = 0 if v[k.TRICK_NUM] or r[k.R_POINTS_ON_FIRST_TRICK] else penalty
    trick, led, best = 0, 0, 0
    if v[k.TRICK_LEN]:
        trick = values_of(r, v[k.TRICK_MASK])
        led = values_of(r, r[k.R_SUIT_MASK + v[k.LED]])
        best = r[k.R_VALUE_OF + v[k.WINNING_CARD]]
    return Start(
        player,
        aware,
        queen,
        penalty,
        trumps,
        company,
        forbidden,
        trick,
        led,
        best,
        margin,
        shooter,
        takers,
    )


@inlined
def playout_margin(
    r: k.Vector, v: k.Vector, start: Start, card: int, kitty: int, memory: PlayoutMemory
) -> int:
    """Play the value `card` and the rest of the deal. Return the player's ``kernel.margin_sum``.

    The rules of play are implemented here again, without the history and without the voids that
    plays prove, because playing whole states takes twice as long. `kitty` is the mask of cards that
    no player holds or was awarded. ``memory.held`` is changed, and ``memory.points`` is read.
    """
    n, held, points = r[k.R_PLAYERS], memory.held, memory.points
    player, queen, trumps, aware = start.player, start.queen, start.trumps, start.aware
    margin, shooter, takers = start.margin, start.shooter, start.takers
    seat, length, winner, trick_points = player, v[k.TRICK_LEN], v[k.WINNER], v[k.TRICK_POINTS]
    trick, led, best, forbidden = start.trick, start.led, start.best, start.forbidden
    broken = v[k.BROKEN]
    void_breaks = r[k.R_BREAK_ON] == k.BREAK_VOID
    breaking = HEARTS_VALUES | (queen if r[k.R_QUEEN_BREAKS_HEARTS] else 0)
    at_any_time = queen if r[k.R_QUEEN_ANY_TIME] else 0
    kitty_to = r[k.R_KITTY_TO] if v[k.KITTY_TAKER] < 0 else k.KITTY_NOBODY
    while True:
        # Play the card.
        bit = 1 << card
        hand = held[seat] & ~bit
        held[seat] = hand
        if length == 0:
            led, best, winner = same_suit(card), card, seat
        else:
            if void_breaks and (bit | hand) & led == 0:
                broken = 1
            if bit & taking_values(best, trumps):
                best, winner = card, seat
        broken |= bit & breaking
        trick |= bit
        trick_points += points[card]
        length += 1
        seat = seat + 1 if seat + 1 < n else 0
        if length == n:
            # Give the trick to its taker.
            seat = winner
            is_last = held[seat] == 0
            hurts = trick & start.penalty != 0
            if kitty_to != k.KITTY_NOBODY and (
                kitty_to == k.KITTY_FIRST
                or (kitty_to == k.KITTY_LAST and is_last)
                or (kitty_to == k.KITTY_HEART and trick & HEARTS_VALUES != 0)
                or (kitty_to == k.KITTY_PENALTY and hurts)
            ):
                hurts = hurts or kitty & r[k.R_PENALTY] != 0
                trick_points += k.mask_points(r, kitty)
                kitty_to = k.KITTY_NOBODY
                kitty = 0
            margin += trick_points * (1 - n if seat == player else 1)
            takers |= 1 << seat
            if hurts:
                shooter = seat if shooter == -1 or shooter == seat else -2
            if is_last:
                break
            length, trick, trick_points, forbidden = 0, 0, 0, 0
        # Choose the next card.
        hand = held[seat]
        if length == 0:
            others = 0 if broken else hand & ~HEARTS_VALUES
            card = lowest(others if others & ~start.company else hand)
            continue
        follow = hand & led
        legal = follow if follow else hand & ~forbidden
        legal = legal | hand & at_any_time if legal else hand
        taking = taking_values(best, trumps)
        waiting = n - 1 - length
        card = highest(standard_replies(legal, follow, taking, queen, waiting, trick_points, aware))
    if shooter >= 0 and r[k.R_MOON] != k.MOON_NONE:
        # The penalty cards count nothing. The margins do not depend on who pays for the moon.
        moon = r[k.R_MOON_POINTS] + k.mask_points(r, r[k.R_PENALTY] & ~kitty)
        return margin + moon * (n - 1 if shooter == player else -1)
    idle = n - popcount(takers) - (0 if takers >> player & 1 else n)
    return margin + r[k.R_NO_TRICK_POINTS] * idle


@jit
def sum_margins(
    r: k.Vector, v: k.Vector, player: int, legal: int, n: int, policy: int, memory: PlayoutMemory
) -> None:
    """Write each legal card's sum of margins over `n` worlds into ``memory.sums``.

    Each card is played in each of the first `n` rows of ``memory.worlds``, and the deal is played
    to its end. The margin is ``kernel.margin_sum`` of `player`.
    """
    worlds, dealt, held, sums = memory.worlds, memory.dealt, memory.held, memory.sums
    players = r[k.R_PLAYERS]
    start = start_of(r, v, player, policy == PRO_TRUMP)
    for card in range(r[k.R_NUM_CARDS]):
        memory.points[r[k.R_VALUE_OF + card]] = r[k.R_POINTS_OF + card]
    sums[:] = 0
    for w in range(n):
        for p in range(players):
            dealt[p] = values_of(r, worlds[w, p])
        rest = legal
        while rest:
            card = lowest(rest)
            rest &= rest - 1
            for p in range(players):
                held[p] = dealt[p]
            value = r[k.R_VALUE_OF + card]
            sums[card] += playout_margin(r, v, start, value, worlds[w, players], memory)


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
    """Write the action for each row of `vectors` into `out`, or -1. Return how many are -1."""
    undone = 0
    for i in range(len(vectors)):
        v = vectors[i]
        out[i] = act_row(r, v, players[i], policy, limit, rng, memory)
        undone += out[i] < 0
    return undone
