"""Compiled functions that find out what a player can know about the hidden cards.

Owners are the seats and, last, the kitty. A world gives every unseen card an owner. `hidden_cards`
bounds worlds card by card, and `fits` checks two facts about several cards at once. Everything here
reads a view and the seat of its player. The caller owns all memory, and nothing raises.
"""

from __future__ import annotations

from hearts_env import kernel as k
from hearts_env.kernel import Vector
from hearts_env.support.bits import popcount
from hearts_env.support.jit import inlined, jit


@inlined
def unseen_mask(r: Vector, v: Vector, player: int) -> int:
    """Return the cards that `player` has not seen in its hand, in play or in an awarded kitty."""
    mask = r[k.R_DECK] & ~v[k.HANDS + k.SEAT * player]
    for p in range(r[k.R_PLAYERS]):
        mask &= ~v[k.PLAYED + k.SEAT * p]
    if v[k.KITTY_TAKER] >= 0:
        mask &= ~v[k.KITTY]
    return mask


@jit
def hidden_cards(
    r: Vector, v: Vector, player: int, possible: Vector, certain: Vector, sizes: Vector
) -> None:
    """Write the unseen cards that each owner can have and must have, and their number.

    `possible` and `certain` get bit masks, `sizes` the number of unseen cards of the owner. The
    arrays have ``MAX_PLAYERS + 1`` elements, the kitty at ``[players]``. The elements of `player`
    are 0. Only facts that `player` may know are read.
    """
    players = r[k.R_PLAYERS]
    unseen = unseen_mask(r, v, player)
    known = 0
    receiver = -1
    if v[k.EXCHANGE] > 0 and v[k.PHASE] != k.PASS:
        receiver = (player + v[k.EXCHANGE]) % players
        known = v[k.PASSED + k.SEAT * player] & unseen  # passed, and not played since
    below = 0
    if v[k.FIRST_LEADER] == player and r[k.R_FIRST_LEAD] != k.ELDEST_HAND:
        # The first leader holds the lowest card in any hand.
        own = k.hand_at_start(v, player)
        below = (own & -own) - 1
    for p in range(players):
        if p == player:
            possible[p] = certain[p] = sizes[p] = 0
            continue
        certain[p] = known if p == receiver else 0
        possible[p] = (unseen & ~v[k.EXCLUDED + k.SEAT * p] & ~below & ~known) | certain[p]
        sizes[p] = k.cards_left(r, v, p)
    possible[players] = unseen & ~known
    certain[players] = 0
    sizes[players] = r[k.R_KITTY_SIZE] if v[k.KITTY_TAKER] < 0 else 0


@jit
def fits(r: Vector, v: Vector, hands: Vector) -> bool:
    """Return True if all hands, the observer's hand too, agree with two facts about several cards.

    The first leader held the lowest card of all hands, which `hidden_cards` does not cover before
    the first lead and under ``any_club``. A player who played the queen on a suit without breaking
    hearts held a card of the suit.
    """
    if v[k.FIRST_LEADER] >= 0 and r[k.R_FIRST_LEAD] != k.ELDEST_HAND:
        everything = 0
        for p in range(r[k.R_PLAYERS]):
            everything |= hands[p] | v[k.PLAYED + k.SEAT * p]
        first = everything & -everything
        leader = v[k.FIRST_LEADER]
        if first & (hands[leader] | v[k.PLAYED + k.SEAT * leader]) == 0:
            return False
    if v[k.DODGED] >= 0:
        held = 0
        dodger = -1
        for i in range(v[k.NUM_PLAYED]):
            bit = 1 << k.card_at(r, v, i)
            seat = k.seat_at(r, v, i)
            if dodger < 0 and bit == r[k.R_QUEEN]:
                dodger = seat
                held = hands[seat]
            elif seat == dodger:
                held |= bit
        if held & r[k.R_SUIT_MASK + v[k.DODGED]] == 0:
            return False
    return True


@jit
def next_combination(chosen: Vector, size: int, n: int) -> bool:
    """Make `chosen` the next `size` of n places in lexicographic order. Return False at the end."""
    i = size - 1
    while i >= 0 and chosen[i] == n - size + i:
        i -= 1
    if i < 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, size):
        chosen[j] = chosen[j - 1] + 1
    return True


@jit
def worlds_of_two(r: Vector, v: Vector, player: int, out: Vector, scratch: Vector) -> int:
    """Write the opponent's possible hands into `out` and return their number (two players).

    The hands come in lexicographic order of the cards. At most ``len(out)`` hands are written. If
    there are more, the result is ``len(out) + 1``. `scratch` has 3 * (MAX_PLAYERS + 1) + 2 * 64
    elements.
    """
    m = k.MAX_PLAYERS + 1
    possible, certain, sizes = scratch[:m], scratch[m : 2 * m], scratch[2 * m : 3 * m]
    free, chosen = scratch[3 * m : 3 * m + 64], scratch[3 * m + 64 :]
    hidden_cards(r, v, player, possible, certain, sizes)
    other = 1 - player
    need = sizes[other] - popcount(certain[other])
    n = 0
    rest = possible[other] & ~certain[other]
    while rest:
        free[n] = rest & -rest
        rest &= rest - 1
        n += 1
    for i in range(need):
        chosen[i] = i
    possible[player] = v[k.HANDS + k.SEAT * player]  # now the hands that `fits` reads
    count = 0
    more = need <= n
    while more and count <= len(out):
        hand = certain[other]
        for i in range(need):
            hand |= free[chosen[i]]
        possible[other] = hand
        if fits(r, v, possible):
            if count < len(out):
                out[count] = hand
            count += 1
        more = next_combination(chosen, need, n)
    return count
