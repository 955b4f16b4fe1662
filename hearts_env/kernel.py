"""The compiled core, which decides all rules: a game's state, dealing, legality, play and scores.

The caller owns all memory. A game is an int64 vector `s`. A rule set is an int64 vector `r` of
`RULES_SIZE` numbers, made by ``Rules.vector``. Queries return values. The commands ``deal``,
``start``, ``play`` and ``revoke`` change `s` in place. Randomness comes only from seeds and from
the one-element uint64 vector `rng` that callers pass in. Nothing here allocates or raises. ``step``
checks legality. It returns -1 and changes nothing if an action is illegal.

Cards are their places in the deck (0 to deck size - 1: clubs, diamonds, spades, hearts, each low
to high). Sets of cards are bit masks. Actions are cards and, after a moon under
``moon = "choose"``, the two numbers after the deck.

`STATE` lists the fields of a state, one per line below: name, meaning, value in an empty state, and
who may know it. A state has `R_STATE_SIZE` numbers: first the shared fields, then `SEAT` numbers
per seat (``s[HANDS + SEAT * p]`` is the hand of seat p), then the history, seven plays per word
(``card_at``, ``seat_at``). The constant with a field's name is the field's place. If every seat has
the field, it is the place for seat 0. `RULES` lists the fields of a rule set. To change a layout,
change these lines: everything else reads the constants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_env.cards import HEARTS, MAX_ROTATION, SPADES
from hearts_env.support.bits import lowest, popcount, stack_words
from hearts_env.support.jit import called, inlined, jit

Vector = NDArray[np.int64]
"""A state, a view's state, or a rule set."""

MAX_PLAYERS = 7
MAX_CARDS = 52
MAX_ACTIONS = MAX_CARDS + 2
MAX_PAST = 2 * MAX_CARDS + 1  # actions of a deal: each card passed and played, and one more

# Phases
PASS, PLAY, MOON, OVER = range(4)


class Field(NamedTuple):
    """One field of a layout.

    Attributes:
        name: the name of its constant.
        start: its place, which is the index of its first element (for seat 0 if every seat has the
            field).
        size: its number of elements.
        meaning: its meaning.
        empty: each element's value in an empty state, or None if dealing sets it.
        who: the players who may know it: `ALL`, `OWN` or `NOBODY`.
        is_seats: True if every seat has the field, `SEAT` places apart.
    """

    name: str
    start: int
    size: int
    meaning: str
    empty: int | None = 0
    who: str = ""
    is_seats: bool = False


ALL, OWN, NOBODY = "all", "own player", "nobody; all once awarded"
STATE: list[Field] = []
RULES: list[Field] = []


def _state(name: str, meaning: str, empty: int | None, who: str, *, is_seats: bool = False) -> int:
    """Add a field to the layout of a state, and return its place."""
    STATE.append(Field(name, len(STATE), 1, meaning, empty, who, is_seats))
    return STATE[-1].start


def _seats(name: str, meaning: str, who: str) -> int:
    """Add a field that every seat has, 0 at first, and return its place for seat 0."""
    return _state(name, meaning, 0, who, is_seats=True)


def _rule(name: str, size: int, meaning: str) -> int:
    """Add a field to the layout of a rule set, and return its place."""
    RULES.append(Field(name, sum(field.size for field in RULES), size, meaning))
    return RULES[-1].start


# ---- state --------------------------------------------------------------------------------------
PHASE = _state("PHASE", "PASS, PLAY, MOON or OVER", 0, ALL)
PLAYER = _state("PLAYER", "seat to act", -1, ALL)
LEADER = _state("LEADER", "seat that led, or leads, this trick", -1, ALL)
FIRST_LEADER = _state("FIRST_LEADER", "seat of the first lead", -1, ALL)
TRICK_NUM = _state("TRICK_NUM", "tricks finished", 0, ALL)
TRICK_LEN = _state("TRICK_LEN", "cards in the unfinished trick", 0, ALL)
LED = _state("LED", "suit led to the unfinished trick", -1, ALL)
TRICK_MASK = _state("TRICK_MASK", "the cards of the unfinished trick", 0, ALL)
TRICK_POINTS = _state("TRICK_POINTS", "the points of those cards", 0, ALL)
WINNER = _state("WINNER", "seat that takes the trick as it stands", -1, ALL)
WINNING_CARD = _state("WINNING_CARD", "the card that takes it", -1, ALL)
BROKEN = _state("BROKEN", "hearts may be led freely", 0, ALL)
DODGED = _state("DODGED", "suit that the queen was seen to dodge: `note_void`", -1, ALL)
DEALER = _state("DEALER", "seat that dealt", None, ALL)
DEAL_NUMBER = _state("DEAL_NUMBER", "which deal of a match it is, from 0", None, ALL)
EXCHANGE = _state("EXCHANGE", "cards pass to the seat this much further; 0: no exchange", 0, ALL)
SHOOTER = _state("SHOOTER", "who shot the moon, after the last trick", -1, ALL)
MOON_CHOICE = _state("MOON_CHOICE", "0 points off oneself, 1 others pay", -1, ALL)
REVOKER = _state("REVOKER", "who ended the deal with an illegal action", -1, ALL)
KITTY = _state("KITTY", "cards not dealt", 0, NOBODY)
KITTY_TAKER = _state("KITTY_TAKER", "who was awarded the kitty", -1, ALL)
NUM_PLAYED = _state("NUM_PLAYED", "length of the history", 0, ALL)
SEATS = len(STATE)  # every seat has the fields below
HANDS = _seats("HANDS", "cards held", OWN)
TAKEN = _seats("TAKEN", "cards taken, an awarded kitty with them", ALL)
POINTS = _seats("POINTS", "points of those cards", ALL)
TRICKS = _seats("TRICKS", "tricks taken", ALL)
VOIDS = _seats("VOIDS", "suits shown void, 4 bits", ALL)
EXCLUDED = _seats("EXCLUDED", "cards that play proves not to be in the hand", ALL)
PLAYED = _seats("PLAYED", "cards played", ALL)
PASSED = _seats("PASSED", "cards chosen to pass", OWN)
RECEIVED = _seats("RECEIVED", "cards received in the exchange", OWN)
TOTALS = _seats("TOTALS", "score before this deal in a match", ALL)
SEAT = len(STATE) - SEATS
"""The number of fields per seat, and so the distance between two seats."""

PLAYS_A_WORD, PLAY_BITS, PLAY_MASK = 7, 9, 511
"""A word of the history has seven plays of nine bits, the first lowest; empty: 0."""
CARD_BITS, SEAT_AT = 63, 6
"""The bits of a play that hold the card, and the place of the seat above them."""

EMPTY = np.array([field.empty or 0 for field in STATE], np.int64)
# The fields of a deal that remain when its play begins again.
_DEALT = np.array([field.start in (DEALER, DEAL_NUMBER, KITTY, HANDS, TOTALS) for field in STATE])

# ---- rules --------------------------------------------------------------------------------------
# A constant R_NAME with the name of a field of `Rules` is filled from it by `Rules.vector`.
R_PLAYERS = _rule("R_PLAYERS", 1, "players")
R_NUM_CARDS = _rule("R_NUM_CARDS", 1, "cards of the deck")
R_HAND_SIZE = _rule("R_HAND_SIZE", 1, "cards dealt to each player")
R_TRUMP = _rule("R_TRUMP", 1, "suit that beats the others; -1: none")
R_FIRST_LEAD = _rule("R_FIRST_LEAD", 1, "place in `cards.FIRST_LEADS`")
R_BREAK_ON = _rule("R_BREAK_ON", 1, "place in `cards.BREAKS`")
R_UNBROKEN_LEAD = _rule("R_UNBROKEN_LEAD", 1, "place in `cards.UNBROKEN_LEADS`")
R_POINTS_ON_FIRST_TRICK = _rule(
    "R_POINTS_ON_FIRST_TRICK", 1, "whether points may fall on the first trick"
)
R_QUEEN_ANY_TIME = _rule("R_QUEEN_ANY_TIME", 1, "whether the queen may be played at any time")
R_QUEEN_BREAKS_HEARTS = _rule("R_QUEEN_BREAKS_HEARTS", 1, "whether the queen breaks hearts")
R_MOON = _rule("R_MOON", 1, "place in `cards.MOONS`")
R_MOON_POINTS = _rule("R_MOON_POINTS", 1, "what a moon is worth")
R_NO_TRICK_POINTS = _rule("R_NO_TRICK_POINTS", 1, "points for taking no trick")
R_KITTY_TO = _rule("R_KITTY_TO", 1, "place in `cards.KITTIES`")
R_PASS_COUNT = _rule("R_PASS_COUNT", 1, "cards each player passes")
R_ROTATION_LEN = _rule("R_ROTATION_LEN", 1, "directions of the exchange")
R_DECK = _rule("R_DECK", 1, "all cards, as a mask")
R_PENALTY = _rule("R_PENALTY", 1, "cards with points above 0, as a mask")
R_QUEEN = _rule("R_QUEEN", 1, "the queen of spades as a mask; 0: not in the deck")
R_KITTY_SIZE = _rule("R_KITTY_SIZE", 1, "cards not dealt")
R_NUM_ACTIONS = _rule("R_NUM_ACTIONS", 1, "size of the action space")
R_TOTAL_SCALE = _rule("R_TOTAL_SCALE", 1, "end score, or the sum of all stakes")
R_POINT_CARDS = _rule("R_POINT_CARDS", 1, "cards with points other than 0, as a mask")
R_SETTLEMENT = _rule("R_SETTLEMENT", 1, "place in `cards.SETTLEMENTS`")
R_HISTORY = _rule("R_HISTORY", 1, "place of the history in a state")
R_STATE_SIZE = _rule("R_STATE_SIZE", 1, "numbers of a state")
R_SUIT_MASK = _rule("R_SUIT_MASK", 4, "cards of each suit, as masks")
R_ROTATION = _rule("R_ROTATION", MAX_ROTATION, "seats further that cards go, by deal; 0: hold")
R_POINTS_OF = _rule("R_POINTS_OF", MAX_CARDS, "points of each card")
R_SUIT_OF = _rule("R_SUIT_OF", MAX_CARDS, "suit of each card")
R_VALUE_OF = _rule("R_VALUE_OF", MAX_CARDS, "place of each card by rank, then suit: C, D, H, S")
RULES_SIZE = sum(field.size for field in RULES)

# Values of the options: places in the tuples of `cards`
LOWEST_CLUB, ANY_CLUB, ELDEST_HAND = range(3)
BREAK_HEART, BREAK_VOID, BREAK_NONE = range(3)
ONLY_HEARTS, SPADES_OR_HEARTS, QUEEN_FREES_HEARTS = range(3)
MOON_OTHERS, MOON_SELF, MOON_CHOOSE, MOON_NONE = range(4)
KITTY_NOBODY, KITTY_FIRST, KITTY_LAST, KITTY_HEART, KITTY_PENALTY = range(5)
SETTLE_POINTS, SETTLE_SIMPLE, SETTLE_SWEEPSTAKES, SETTLE_HOWELL = range(4)


def history_words(plays: int) -> int:
    """Return the number of words of a history with this many plays."""
    return -(-plays // PLAYS_A_WORD)


MAX_STATE = SEATS + SEAT * MAX_PLAYERS + history_words(MAX_CARDS)
"""The size of the longest state."""


def every_seat(field: int, players: int) -> slice:
    """Return the places of one field of all seats in a state."""
    return slice(field, field + SEAT * players, SEAT)


def plays(r: Vector, s: Vector, begin: int, end: int) -> list[int]:
    """Return the plays of the history from `begin` to before `end`."""
    words = s[r[R_HISTORY] :].tolist()
    return [
        words[i // PLAYS_A_WORD] >> PLAY_BITS * (i % PLAYS_A_WORD) & PLAY_MASK
        for i in range(begin, end)
    ]


# ---- randomness ---------------------------------------------------------------------------------
@jit
def mix(x: int | np.uint64) -> np.uint64:
    """Return a well-mixed 64-bit number (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def random_card(rng: NDArray[np.uint64], mask: int) -> int:
    """Draw a card of a set of n cards (not 0), uniformly to within n / 2**64."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    skip = np.int64(mix(rng[0]) % np.uint64(popcount(mask)))
    for _ in range(skip):
        mask &= mask - 1
    return lowest(mask)


# ---- queries ------------------------------------------------------------------------------------
@jit
def mask_points(r: Vector, mask: int) -> int:
    """Return the points of a set of cards, bonuses negative."""
    total = 0
    while mask:
        total += r[R_POINTS_OF + lowest(mask)]
        mask &= mask - 1
    return total


@jit
def cards_left(r: Vector, s: Vector, p: int) -> int:
    """Return the number of cards that player `p` holds, which is public."""
    return r[R_HAND_SIZE] - popcount(s[PLAYED + SEAT * p])


@jit
def hand_at_start(s: Vector, p: int) -> int:
    """Return the hand of player `p` at the start of play, after any exchange."""
    return s[HANDS + SEAT * p] | s[PLAYED + SEAT * p]


@inlined
def play_at(r: Vector, s: Vector, i: int) -> int:
    """Return play number `i` of the history, from 0."""
    return s[r[R_HISTORY] + i // PLAYS_A_WORD] >> PLAY_BITS * (i % PLAYS_A_WORD) & PLAY_MASK


@inlined
def card_at(r: Vector, s: Vector, i: int) -> int:
    """Return the card of play number `i` of the history, from 0."""
    return play_at(r, s, i) & CARD_BITS


@inlined
def seat_at(r: Vector, s: Vector, i: int) -> int:
    """Return the seat of play number `i` of the history, from 0."""
    return play_at(r, s, i) >> SEAT_AT


@inlined
def legal_leads(r: Vector, s: Vector, hand: int) -> int:
    """Return the cards of `hand` that may be led, as a mask."""
    # The rules fix the card or the suit of the first lead. Clubs come first in the deck, and the
    # next suit stands in if no hand has a club, so the leader holds the lowest card dealt.
    if s[TRICK_NUM] == 0:
        if r[R_FIRST_LEAD] == LOWEST_CLUB:
            return hand & -hand
        if r[R_FIRST_LEAD] == ANY_CLUB:
            return hand & r[R_SUIT_MASK + r[R_SUIT_OF + lowest(hand)]]
    if s[BROKEN]:
        return hand
    # Hearts are unbroken. They may be led only by a hand with nothing else to lead.
    others = hand & ~r[R_SUIT_MASK + HEARTS]
    if others & ~unbroken_company(r) == 0:
        return hand
    return others


@inlined
def unbroken_company(r: Vector) -> int:
    """Return as a mask the other cards that a hand may hold and yet lead an unbroken heart."""
    if r[R_UNBROKEN_LEAD] == SPADES_OR_HEARTS:
        return r[R_SUIT_MASK + SPADES]
    if r[R_UNBROKEN_LEAD] == QUEEN_FREES_HEARTS:
        return r[R_QUEEN]
    return 0


@inlined
def legal_mask(r: Vector, s: Vector) -> int:
    """Return the legal actions of the player to act as a mask, 0 when the game is over."""
    phase = s[PHASE]
    if phase == OVER:
        return 0
    player = s[PLAYER]
    hand = s[HANDS + SEAT * player]
    if phase == PASS:  # a chosen card is not legal again
        return hand & ~s[PASSED + SEAT * player]
    if phase == MOON:
        return 3 << r[R_NUM_CARDS]
    if s[TRICK_LEN] == 0:
        return legal_leads(r, s, hand)
    # The queen may be played at any time, if the rules say so.
    queen = hand & r[R_QUEEN] if r[R_QUEEN_ANY_TIME] else 0
    # Follow suit if able.
    follow = hand & r[R_SUIT_MASK + s[LED]]
    if follow:
        return follow | queen
    # No points on the first trick, unless the hand holds nothing else.
    if s[TRICK_NUM] == 0 and not r[R_POINTS_ON_FIRST_TRICK]:
        harmless = hand & ~r[R_PENALTY]
        if harmless:
            return harmless | queen
    return hand


LEGAL = (1 << MAX_ACTIONS) - 1
"""The lowest bits of a ``status``, which hold the legal actions."""
ACTING_AT, ACTING = MAX_ACTIONS, 15
"""The place of the seat to act plus 1 in a ``status``, and its bits."""
PHASE_AT = ACTING_AT + 4
"""The place of the phase in a ``status``, above all other bits."""


@jit
def status(r: Vector, s: Vector) -> int:
    """Pack the legal actions, the acting seat plus 1 (0 at the end) and the phase into one int."""
    return int(legal_mask(r, s) | (s[PLAYER] + 1) << ACTING_AT | s[PHASE] << PHASE_AT)


@jit
def penalty_at_stake(r: Vector, s: Vector) -> int:
    """Return all penalty points in play or taken. A kitty that no player gets is not in play."""
    mask = r[R_DECK]
    if r[R_KITTY_TO] == KITTY_NOBODY:
        mask &= ~s[KITTY]
    return mask_points(r, mask & r[R_PENALTY])


@jit
def score(r: Vector, s: Vector, p: int) -> int:
    """Return the score of player `p`. Before the end, return it as if the deal stopped now."""
    if s[REVOKER] >= 0:
        return penalty_at_stake(r, s) if p == s[REVOKER] else 0
    shooter = s[SHOOTER]
    if shooter < 0 or s[PHASE] != OVER:
        return s[POINTS + SEAT * p] + (r[R_NO_TRICK_POINTS] if s[TRICKS + SEAT * p] == 0 else 0)
    # Bonus points stay with the player who took them.
    bonus = s[POINTS + SEAT * p] - mask_points(r, s[TAKEN + SEAT * p] & r[R_PENALTY])
    others_pay = r[R_MOON] == MOON_OTHERS or (r[R_MOON] == MOON_CHOOSE and s[MOON_CHOICE] == 1)
    if others_pay:
        return bonus + (0 if p == shooter else r[R_MOON_POINTS])
    return bonus - (r[R_MOON_POINTS] if p == shooter else 0)


@jit
def margin_sum(r: Vector, s: Vector, p: int) -> int:
    """Return the margin of `p` times n - 1, a whole number: the others' sum - (n - 1) * own."""
    total = 0
    for q in range(r[R_PLAYERS]):
        total += score(r, s, q)
    return total - r[R_PLAYERS] * score(r, s, p)


# ---- commands -----------------------------------------------------------------------------------
@jit
def clear(s: Vector) -> None:
    """Make `s` an empty state, in place."""
    for i in range(SEATS):
        s[i] = EMPTY[i]
    for i in range(SEATS, len(s)):  # seats and history
        s[i] = 0


@jit
def deal(r: Vector, s: Vector, seed: int, deal_number: int, dealer: int) -> None:
    """Start the deal of `seed`, in place.

    The cards depend on the seed alone. A `deal_number` or `dealer` below 0 is drawn from it, too.
    Totals of a match are kept.
    """
    n = r[R_NUM_CARDS]
    players = r[R_PLAYERS]
    rng_state = mix(np.uint64(seed))
    cards = stack_words()
    for i in range(n):
        cards[i] = i
    for i in range(n - 1, 0, -1):
        rng_state += np.uint64(0x9E3779B97F4A7C15)
        j = np.int64(mix(rng_state) % np.uint64(i + 1))
        card = cards[i]
        cards[i] = cards[j]
        cards[j] = card
    kitty = r[R_DECK]
    for p in range(players):
        hand = 0
        for i in range(p * r[R_HAND_SIZE], (p + 1) * r[R_HAND_SIZE]):
            hand |= 1 << int(cards[i])
        s[HANDS + SEAT * p] = hand
        kitty &= ~hand
    s[KITTY] = kitty
    rng_state += np.uint64(0x9E3779B97F4A7C15)
    drawn_number = np.int64(mix(rng_state) % np.uint64(r[R_ROTATION_LEN]))
    rng_state += np.uint64(0x9E3779B97F4A7C15)
    drawn_dealer = np.int64(mix(rng_state) % np.uint64(players))
    s[DEAL_NUMBER] = drawn_number if deal_number < 0 else deal_number
    s[DEALER] = drawn_dealer if dealer < 0 else dealer
    start(r, s)


@jit
def start(r: Vector, s: Vector) -> None:
    """Start a deal with the given HANDS, KITTY, DEAL_NUMBER and DEALER, in place."""
    for i in range(SEATS):
        if not _DEALT[i]:
            s[i] = EMPTY[i]
    for p in range(r[R_PLAYERS]):
        for i in range(SEATS, SEATS + SEAT):
            if not _DEALT[i]:
                s[i + SEAT * p] = 0
    for i in range(r[R_HISTORY], r[R_STATE_SIZE]):
        s[i] = 0
    s[BROKEN] = r[R_BREAK_ON] == BREAK_NONE  # in the exchange, too
    if r[R_PASS_COUNT] > 0:
        s[EXCHANGE] = r[R_ROTATION + s[DEAL_NUMBER] % r[R_ROTATION_LEN]]
    if s[EXCHANGE] > 0:
        s[PHASE] = PASS
        s[PLAYER] = 0
    else:
        start_play(r, s)


@jit
def start_play(r: Vector, s: Vector) -> None:
    """Find the first leader and begin the first trick, in place."""
    if r[R_FIRST_LEAD] == ELDEST_HAND:
        leader = (s[DEALER] + 1) % r[R_PLAYERS]
    else:
        dealt = 0
        for p in range(r[R_PLAYERS]):
            dealt |= s[HANDS + SEAT * p]
        first = dealt & -dealt
        leader = 0
        while s[HANDS + SEAT * leader] & first == 0:
            leader += 1
    s[PHASE] = PLAY
    s[PLAYER] = s[LEADER] = s[FIRST_LEADER] = leader


@jit
def pass_card(r: Vector, s: Vector, card: int) -> None:
    """Choose a card to pass, in place. The last choice delivers all cards."""
    player = s[PLAYER]
    s[PASSED + SEAT * player] |= 1 << card
    if popcount(s[PASSED + SEAT * player]) < r[R_PASS_COUNT]:
        return
    s[PLAYER] = player + 1
    players = r[R_PLAYERS]
    if player + 1 < players:
        return
    for p in range(players):
        receiver = (p + s[EXCHANGE]) % players
        s[RECEIVED + SEAT * receiver] = s[PASSED + SEAT * p]
    for p in range(players):
        s[HANDS + SEAT * p] = s[HANDS + SEAT * p] & ~s[PASSED + SEAT * p] | s[RECEIVED + SEAT * p]
    start_play(r, s)


@inlined
def note_lead(r: Vector, s: Vector, player: int, suit: int, card: int) -> None:
    """Record the facts about the hands that a lead proves, in place."""
    if s[TRICK_NUM] == 0 and r[R_FIRST_LEAD] != ELDEST_HAND:
        # No hand has a lower card: of any suit, or (any_club) of an earlier suit.
        if r[R_FIRST_LEAD] == LOWEST_CLUB:
            below = (1 << card) - 1
        else:
            below = (1 << lowest(r[R_SUIT_MASK + suit])) - 1
        for p in range(r[R_PLAYERS]):
            s[EXCLUDED + SEAT * p] |= below
    elif suit == HEARTS and not s[BROKEN]:
        # The leader of an unbroken heart has nothing else to lead.
        s[EXCLUDED + SEAT * player] |= r[R_DECK] & ~r[R_SUIT_MASK + HEARTS] & ~unbroken_company(r)


@inlined
def note_void(r: Vector, s: Vector, player: int, card: int, led: int) -> None:
    """Record the facts that a discard proves, and break hearts if it does, in place."""
    follow = s[HANDS + SEAT * player] & r[R_SUIT_MASK + led]
    dodging = r[R_QUEEN_ANY_TIME] and r[R_QUEEN] >> card & 1
    could_break = r[R_BREAK_ON] == BREAK_VOID and not s[BROKEN]
    if follow == 0 and could_break:
        s[BROKEN] = 1
    elif dodging:
        # Others cannot tell whether the player was void in the suit. But if a void would have
        # broken hearts and they are not broken, the player had a card of it.
        if could_break and not r[R_QUEEN_BREAKS_HEARTS]:
            s[DODGED] = led
        return
    if dodging and r[R_QUEEN_BREAKS_HEARTS]:
        return  # the queen breaks hearts herself, so this proves nothing
    s[VOIDS + SEAT * player] |= 1 << led
    s[EXCLUDED + SEAT * player] |= r[R_SUIT_MASK + led]
    # A penalty card on a first trick that forbids them: the hand holds nothing else.
    forbidden = s[TRICK_NUM] == 0 and not r[R_POINTS_ON_FIRST_TRICK]
    if forbidden and r[R_PENALTY] >> card & 1 and not dodging:
        s[EXCLUDED + SEAT * player] |= r[R_DECK] & ~r[R_PENALTY]


@inlined
def append_play(r: Vector, s: Vector, code: int) -> None:
    """Append a play to the history, in place."""
    i = s[NUM_PLAYED]
    s[r[R_HISTORY] + i // PLAYS_A_WORD] |= code << PLAY_BITS * (i % PLAYS_A_WORD)
    s[NUM_PLAYED] = i + 1


@inlined
def play_card(r: Vector, s: Vector, card: int) -> None:
    """Play `card` to the trick, in place."""
    player = s[PLAYER]
    bit = 1 << card
    suit = r[R_SUIT_OF + card]
    if s[TRICK_LEN] == 0:
        note_lead(r, s, player, suit, card)
        s[LED] = suit
        s[WINNER] = player
        s[WINNING_CARD] = card
    else:
        led = s[LED]
        if suit != led:
            note_void(r, s, player, card, led)
        # The highest trump takes the trick, or else the highest card of the led suit.
        best = s[WINNING_CARD]
        best_suit = r[R_SUIT_OF + best]
        if card > best if suit == best_suit else suit == r[R_TRUMP]:
            s[WINNER] = player
            s[WINNING_CARD] = card
    if suit == HEARTS or (r[R_QUEEN_BREAKS_HEARTS] and r[R_QUEEN] & bit):
        s[BROKEN] = 1
    s[HANDS + SEAT * player] &= ~bit
    s[PLAYED + SEAT * player] |= bit
    s[TRICK_MASK] |= bit
    s[TRICK_POINTS] += r[R_POINTS_OF + card]
    append_play(r, s, card | player << SEAT_AT)
    s[TRICK_LEN] += 1
    if s[TRICK_LEN] == r[R_PLAYERS]:
        take_trick(r, s)
    else:
        s[PLAYER] = player + 1 if player + 1 < r[R_PLAYERS] else 0


@inlined
def take_trick(r: Vector, s: Vector) -> None:
    """Give the full trick to its taker, who leads the next, in place."""
    taker = s[WINNER]
    last = s[TRICK_NUM] + 1 == r[R_HAND_SIZE]
    s[TAKEN + SEAT * taker] |= s[TRICK_MASK]
    s[POINTS + SEAT * taker] += s[TRICK_POINTS]
    s[TRICKS + SEAT * taker] += 1
    if s[KITTY_TAKER] < 0 and r[R_KITTY_TO] != KITTY_NOBODY:
        to = r[R_KITTY_TO]
        if (
            to == KITTY_FIRST
            or (to == KITTY_LAST and last)
            or (to == KITTY_HEART and s[TRICK_MASK] & r[R_SUIT_MASK + HEARTS] != 0)
            or (to == KITTY_PENALTY and s[TRICK_MASK] & r[R_PENALTY] != 0)
        ):
            s[KITTY_TAKER] = taker
            s[TAKEN + SEAT * taker] |= s[KITTY]
            s[POINTS + SEAT * taker] += mask_points(r, s[KITTY])
    s[TRICK_NUM] += 1
    s[TRICK_LEN] = 0
    s[TRICK_MASK] = 0
    s[TRICK_POINTS] = 0
    s[LEADER] = s[PLAYER] = taker
    s[LED] = s[WINNER] = s[WINNING_CARD] = -1
    if last:
        end_play(r, s)


@jit
def end_play(r: Vector, s: Vector) -> None:
    """Find a shooter and end the game, or let the shooter choose, in place."""
    shooter = -1
    for p in range(r[R_PLAYERS]):
        if s[TAKEN + SEAT * p] & r[R_PENALTY]:
            # A second player has penalty cards, so no one has them all.
            shooter = p if shooter == -1 else -2
    if shooter >= 0 and r[R_MOON] != MOON_NONE:
        s[SHOOTER] = shooter
        if r[R_MOON] == MOON_CHOOSE:
            s[PHASE] = MOON
            s[PLAYER] = shooter
            s[LEADER] = -1
            return
    s[PHASE] = OVER
    s[PLAYER] = s[LEADER] = -1


@inlined
def play_inline(r: Vector, s: Vector, action: int) -> None:
    """Do ``play``, compiled into its caller."""
    phase = s[PHASE]
    if phase == PLAY:
        play_card(r, s, action)
    elif phase == PASS:
        pass_card(r, s, action)
    else:
        s[MOON_CHOICE] = action - r[R_NUM_CARDS]
        s[PHASE] = OVER
        s[PLAYER] = s[LEADER] = -1


@jit
def play(r: Vector, s: Vector, action: int) -> None:
    """Play a legal action, in place."""
    play_inline(r, s, action)


@called
def step(r: Vector, s: Vector, action: int) -> int:
    """Play an action, in place, and return the new ``status``, or -1 if it is illegal."""
    if action < 0 or action >= MAX_ACTIONS or not legal_mask(r, s) >> action & 1:
        return -1
    play(r, s, action)
    return status(r, s)


@jit
def replay(r: Vector, s: Vector, actions: Vector) -> int:
    """Play actions, in place, and return the ``status``, or -1 at the first illegal one."""
    for action in actions:
        if action < 0 or action >= MAX_ACTIONS or not legal_mask(r, s) >> action & 1:
            return -1
        play(r, s, action)
    return status(r, s)


@jit
def read_past(r: Vector, s: Vector, start_state: Vector, actions: Vector) -> int:
    """Write the deal of `s` before its first action, and its actions. Return their number.

    `actions` has at least `MAX_PAST` elements. A revoke is -1. A state does not record the order in
    which a player chose cards to pass. They count as chosen in deck order.
    """
    clear(start_state)
    count = 0
    for p in range(r[R_PLAYERS]):
        held = hand_at_start(s, p)
        start_state[HANDS + SEAT * p] = held & ~s[RECEIVED + SEAT * p] | s[PASSED + SEAT * p]
        start_state[TOTALS + SEAT * p] = s[TOTALS + SEAT * p]
        chosen = s[PASSED + SEAT * p]
        while chosen:
            actions[count] = lowest(chosen)
            chosen &= chosen - 1
            count += 1
    start_state[KITTY] = s[KITTY]
    start_state[DEAL_NUMBER] = s[DEAL_NUMBER]
    start_state[DEALER] = s[DEALER]
    start(r, start_state)
    for i in range(s[NUM_PLAYED]):
        actions[count] = card_at(r, s, i)
        count += 1
    if s[MOON_CHOICE] >= 0:
        actions[count] = r[R_NUM_CARDS] + s[MOON_CHOICE]
        count += 1
    if s[REVOKER] >= 0:
        actions[count] = -1
        count += 1
    return count


@jit
def revoke(s: Vector) -> None:
    """End the deal at the expense of the player to act, without a moon, in place."""
    s[REVOKER] = s[PLAYER]
    s[SHOOTER] = -1
    s[PHASE] = OVER
    s[PLAYER] = s[LEADER] = -1


@jit
def copy_state(s: Vector, out: Vector) -> None:
    """Copy `s` over `out`, in place. An array assignment would allocate."""
    for i in range(len(s)):
        out[i] = s[i]


@called
def write_view(r: Vector, s: Vector, player: int, out: Vector) -> None:
    """Write the view that `player` has of a state over `out`, in place."""
    copy_state(s, out)
    hide(r, out, player)


@jit
def hide(r: Vector, s: Vector, player: int) -> None:
    """Empty everything that `player` may not know, in place. A view remains."""
    for p in range(r[R_PLAYERS]):
        if p != player:
            s[HANDS + SEAT * p] = 0
            s[PASSED + SEAT * p] = 0
            s[RECEIVED + SEAT * p] = 0
    if s[KITTY_TAKER] < 0:
        s[KITTY] = 0


# ---- one call per turn --------------------------------------------------------------------------
# In a game that Python plays step by step, calls cost more than play. With ``step`` and
# ``write_view``, each of these does all the work of a turn in one call. They keep the interpreter's
# lock: releasing and taking it would cost a fifth of such a call.
@called
def step_masked(r: Vector, s: Vector, action: int, mask: NDArray[np.int8]) -> int:
    """Play an action as ``step``. Also write the next player's mask over `mask`, in place."""
    status = step(r, s, action)
    if status >= 0:
        spread_mask(status & LEGAL, mask)
    return status


@called
def write_mask(legal: int, mask: NDArray[np.int8]) -> None:
    """Write the bits of `legal` over `mask`, as zeros and ones, in place."""
    spread_mask(legal, mask)


@inlined
def spread_mask(legal: int, mask: NDArray[np.int8]) -> None:
    """Do ``write_mask``, compiled into its caller."""
    for action in range(len(mask)):
        mask[action] = legal >> action & 1


@called
def write_result(r: Vector, s: Vector, out: Vector) -> None:
    """Write each seat's score over `out`, then each seat's points, the shooter and the revoker."""
    n = r[R_PLAYERS]
    for p in range(n):
        out[p] = score(r, s, p)
        out[n + p] = s[POINTS + SEAT * p]
    out[2 * n] = s[SHOOTER]
    out[2 * n + 1] = s[REVOKER]
