"""The computer players of the table, compiled: easy, standard, standard_trump, pro, pro_trump.

The rule book's section "The computer players of the table" is their definition. The compiled
functions read views (states in which everything hidden is empty) or states; of a state they use
nothing that the player to act may not know. They own no memory: whoever calls hands in the
scratch arrays of ``Scratch``. Legality, play and scores are the kernel's.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
import secrets
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hearts_agents.base import Actions, Agent, Chances, RandomState, WorldMargins
from hearts_env import HeartsError, PlayerView, Rules
from hearts_env import kernel as k
from hearts_env._bits import highest, lowest, popcount
from hearts_env._jit import jit
from hearts_env.arguments import check_any_seed
from hearts_env.hidden import unseen_mask, worlds_of_two
from hearts_env.worlds import Worlds

if TYPE_CHECKING:
    from hearts_env.batch import BatchView

Ints = NDArray[np.int64]
Numbers = NDArray[np.uint64]

EASY, STANDARD, STANDARD_TRUMP, PRO, PRO_TRUMP = range(5)
NAMES = ("easy", "standard", "standard_trump", "pro", "pro_trump")

DEFAULT_WORLDS = 200
"""``pro`` takes all worlds up to so many, and samples so many where there are more."""

CHUNK = 8
"""So many worlds are played out between two looks at the clock, where time is limited."""

MAX_COMBINATIONS = 20_000
"""So many hands of the other player are looked through one by one; more are counted first."""


# ---- standard ------------------------------------------------------------------------------------
@jit
def lowest_value(
    r: k.Vector,
    mask: int,
) -> int:
    """The lowest card of a non-empty set by value: rank, then clubs, diamonds, hearts, spades."""
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
def highest_value(
    r: k.Vector,
    mask: int,
) -> int:
    """The highest card of a non-empty set by value: rank, then spades, hearts, diamonds, clubs."""
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
def taking_mask(
    r: k.Vector,
    s: k.Vector,
) -> int:
    """The cards that would take the unfinished trick as it stands."""
    best = s[k.WINNING_CARD]
    suit = r[k.R_SUIT_OF + best]
    mask = r[k.R_SUIT_MASK + suit] & (np.int64(-2) << best)
    trump = r[k.R_TRUMP]
    if trump >= 0 and suit != trump:
        mask |= r[k.R_SUIT_MASK + trump]
    return mask


@jit
def standard_card(
    r: k.Vector,
    s: k.Vector,
    legal: int,
    aware: int,
) -> int:
    """The card of `legal` that ``standard`` plays; `aware`: of ``standard_trump``."""
    if legal & (legal - 1) == 0:
        return lowest(legal)
    # Leading: the lowest card.
    if s[k.TRICK_LEN] == 0:
        return lowest_value(r, legal)
    follow = legal & r[k.R_SUIT_MASK + k.led_suit(r, s)]
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
        # It would take the trick with QS: rather with the highest of her suit's others.
        others = legal & ~queen & r[k.R_SUIT_MASK + r[k.R_SUIT_OF + card]]
        if others:
            card = highest(others)
    return card


@jit
def rule_action(
    r: k.Vector,
    s: k.Vector,
    aware: int,
) -> int:
    """The action of ``standard`` (`aware`: ``standard_trump``) in every phase."""
    phase = s[k.PHASE]
    if phase == k.PLAY:
        return standard_card(r, s, k.legal_mask(r, s), aware)
    if phase == k.PASS:  # the highest cards by value
        return highest_value(r, k.legal_mask(r, s))
    return r[k.R_NUM_CARDS] + 1  # the others pay


@jit
def standard_action(
    r: k.Vector,
    v: k.Vector,
) -> int:
    """The action of ``standard``."""
    return rule_action(r, v, False)


@jit
def standard_trump_action(
    r: k.Vector,
    v: k.Vector,
) -> int:
    """The action of ``standard_trump``."""
    return rule_action(r, v, True)


@jit
def easy_action(
    r: k.Vector,
    v: k.Vector,
    rng: Numbers,
) -> int:
    """The action of ``easy``: a uniformly random legal one."""
    return k.random_card(rng, k.legal_mask(r, v))


@jit
def playout(
    r: k.Vector,
    s: k.Vector,
    aware: int,
) -> None:
    """Play on to the end, everyone as ``standard`` or ``standard_trump``, in place."""
    while s[k.PHASE] == k.PLAY:
        k.play_card(r, s, standard_card(r, s, k.legal_mask(r, s), aware))
    while s[k.PHASE] != k.OVER:
        k.play(r, s, rule_action(r, s, aware))


# ---- pro -----------------------------------------------------------------------------------------
@jit
def combinations(
    n: int,
    size: int,
) -> int:
    """How many sets of `size` of `n` cards there are, or more than MAX_COMBINATIONS."""
    count = 1
    for i in range(size):
        count = count * (n - i) // (i + 1)
        if count > MAX_COMBINATIONS:
            return count
    return count


@jit
def enumerate_worlds(
    r: k.Vector,
    v: k.Vector,
    player: int,
    limit: int,
    worlds: Ints,
    scratch: Ints,
) -> int:
    """Write all worlds of a two-player view into `worlds`; returns their number.

    -1: more than `limit`, or more than MAX_COMBINATIONS to look through.
    """
    unseen = unseen_mask(r, v, player)
    other = 1 - player
    dead = r[k.R_KITTY_SIZE] if v[k.KITTY_TAKER] < 0 else 0
    size = min(dead, k.cards_left(r, v, other))
    if combinations(popcount(unseen), size) > MAX_COMBINATIONS:
        return -1
    hands = scratch[3 * (k.MAX_PLAYERS + 1) + 2 * 64 :]
    n = worlds_of_two(r, v, player, hands[:limit], scratch)
    if n > limit:
        return -1
    for w in range(n):
        worlds[w, player] = v[k.HANDS + player]
        worlds[w, other] = hands[w]
        worlds[w, 2] = unseen & ~hands[w]
    return n


@jit
def sum_margins(
    r: k.Vector,
    v: k.Vector,
    player: int,
    legal: int,
    worlds: Ints,
    n: int,
    aware: int,
    base: Ints,
    s: k.Vector,
    sums: Ints,
) -> None:
    """Write into `sums` per card of `legal` the sum of ``margin_sum`` over playouts in the worlds.

    Row w of `worlds` has the hands of all seats and then the dead cards; `n` rows count.
    """
    players = r[k.R_PLAYERS]
    k.copy_state(v, base)
    sums[:] = 0
    end = k.HISTORY + v[k.NUM_PLAYED]
    for i in range(k.HISTORY, end):
        s[i] = v[i]
    for w in range(n):
        for p in range(players):
            base[k.HANDS + p] = worlds[w, p]
        if v[k.KITTY_TAKER] < 0:
            base[k.KITTY] = worlds[w, players]
        rest = legal
        while rest:
            card = lowest(rest)
            rest &= rest - 1
            # What has been played is the same in all; what follows is written before it is read.
            for i in range(k.HISTORY):
                s[i] = base[i]
            k.play_card(r, s, card)
            playout(r, s, aware)
            sums[card] += k.margin_sum(r, s, player)


@jit
def best_of(
    legal: int,
    sums: Ints,
) -> int:
    """The lowest of the actions in `legal` with the greatest sum."""
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
    r: k.Vector,
    v: k.Vector,
    player: int,
    aware: int,
    limit: int,
    worlds: Ints,
    scratch: Ints,
    base: Ints,
    s: k.Vector,
    sums: Ints,
) -> int:
    """The action of ``pro`` (`aware`: ``pro_trump``), or -1: too many worlds, or players."""
    if v[k.PHASE] != k.PLAY:
        return rule_action(r, v, aware)
    legal = k.legal_mask(r, v)
    if legal & (legal - 1) == 0:
        return lowest(legal)
    if r[k.R_PLAYERS] != 2:
        return -1
    n = enumerate_worlds(r, v, player, limit, worlds, scratch)
    if n < 0:
        return -1
    sum_margins(r, v, player, legal, worlds, n, aware, base, s, sums)
    return best_of(legal, sums)


@jit
def act_row(
    r: k.Vector,
    v: k.Vector,
    player: int,
    policy: int,
    limit: int,
    rng: Numbers,
    worlds: Ints,
    scratch: Ints,
    base: Ints,
    s: k.Vector,
    sums: Ints,
) -> int:
    """The action of the table's player number `policy`, or -1: too many worlds to take all."""
    if policy == EASY:
        return easy_action(r, v, rng)
    if policy <= STANDARD_TRUMP:
        return rule_action(r, v, policy == STANDARD_TRUMP)
    aware = policy == PRO_TRUMP
    return pro_action(r, v, player, aware, limit, worlds, scratch, base, s, sums)


@jit
def act_rows(
    r: k.Vector,
    vectors: Ints,
    players: Ints,
    policy: int,
    limit: int,
    rng: Numbers,
    worlds: Ints,
    scratch: Ints,
    base: Ints,
    s: k.Vector,
    sums: Ints,
    out: Ints,
) -> int:
    """Write the action for each row of `vectors` into `out`; returns how many are -1."""
    undone = 0
    for i in range(len(vectors)):
        v = vectors[i]
        out[i] = act_row(r, v, players[i], policy, limit, rng, worlds, scratch, base, s, sums)
        undone += out[i] < 0
    return undone


class Scratch:
    """The memory that the compiled players work in, for up to `worlds` worlds."""

    def __init__(self, worlds: int) -> None:
        self.worlds = np.zeros((worlds, k.MAX_PLAYERS + 1), np.int64)
        self.numbers = np.zeros(3 * (k.MAX_PLAYERS + 1) + 2 * 64 + worlds, np.int64)
        self.base = np.zeros(k.STATE_SIZE, np.int64)
        self.state = np.zeros(k.STATE_SIZE, np.int64)
        self.sums = np.zeros(k.MAX_ACTIONS, np.int64)

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """In the order in which the compiled functions take them."""
        return self.worlds, self.numbers, self.base, self.state, self.sums


# ---- the agents ----------------------------------------------------------------------------------
class TableAgent(Agent):
    """One of the table's players. Not to be shared by threads: it works in memory of its own."""

    policy: int
    worlds: int
    """All worlds are taken where there are no more than so many."""
    samples: int | None
    """Where there are more, so many are drawn; None: until the time is up."""
    milliseconds: float | None = None
    """At most about so long a decision that samples worlds; None: as long as they take."""

    def __init__(self, seed: int | None = None) -> None:
        """A player whose random numbers follow from `seed`; None: from the operating system."""
        self.rng = np.array([seed_number(seed)], np.uint64)
        self._set_worlds(1)

    def _set_worlds(self, worlds: int) -> None:
        self.worlds = worlds
        self.samples = worlds
        self.scratch = Scratch(worlds)

    @property
    def name(self) -> str:  # type: ignore[override]
        """As ``make_agent`` knows it."""
        return NAMES[self.policy]

    def reseed(self, seed: int) -> None:
        """Begin the random numbers anew, as if made with `seed`, in place."""
        self.rng[0] = seed_number(seed)

    def random_state(self) -> RandomState:
        """Where the random numbers stand, ``(1,) uint64``."""
        return self.rng.copy()

    def restore_random(self, state: RandomState) -> None:
        """Go on with the random numbers where ``random_state`` stood."""
        if np.shape(state) != (1,):
            raise HeartsError(f"{self.name}: found {np.size(state)} random numbers, needed 1")
        self.rng[:] = state

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        r, v = view.rules.vector, view.vector
        if v[k.PLAYER] != view.player or v[k.PHASE] == k.OVER:
            raise HeartsError(f"view: it is not the turn of player {view.player}")
        action = act_row(
            r, v, view.player, self.policy, self.worlds, self.rng, *self.scratch.arrays
        )
        return int(action) if action >= 0 else self._act_in_sample(view)

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many games, (len(views),) int64; one compiled call."""
        if (wrong := views.vectors[:, k.PLAYER] != views.players).any():
            row = int(np.flatnonzero(wrong)[0])
            raise HeartsError(f"views: nothing is to be done in row {row}; its game is over")
        return self.act_states(views.rules, views.vectors, views.players)

    def act_states(self, rules: Rules, vectors: Ints, players: Ints) -> Actions:
        """The same for views, or states, as the compiled core has them, a row each.

        Of states nothing is used that the player to act may not know.
        """
        out = np.empty(len(vectors), np.int64)
        undone = act_rows(
            rules.vector,
            vectors,
            players,
            self.policy,
            self.worlds,
            self.rng,
            *self.scratch.arrays,
            out,
        )
        if undone:
            view = np.empty(k.STATE_SIZE, np.int64)
            for i in np.flatnonzero(out < 0):
                player = int(players[i])
                k.write_view(rules.vector, vectors[i], player, view)
                out[i] = self._act_in_sample(PlayerView(rules, view, player))
        return out

    def _act_in_sample(self, view: PlayerView) -> int:
        """The action where worlds are too many, or of too many players, to be enumerated above."""
        self._sum_in_sample(view)
        return int(best_of(view.legal_mask, self.scratch.sums))

    def _sum_in_sample(self, view: PlayerView) -> int:
        """Sum the margins of the legal cards over all worlds, or a sample; returns how many."""
        r, v = view.rules.vector, view.vector
        rows, _, base, s, sums = self.scratch.arrays
        aware, legal = self.policy == PRO_TRUMP, view.legal_mask
        number, total = 0, np.zeros_like(sums)
        for count in self._sampled_rows(view, Worlds(view)):
            sum_margins(r, v, view.player, legal, rows, count, aware, base, s, sums)
            total += sums
            number += count
        sums[:] = total
        return number

    def _sampled_rows(self, view: PlayerView, worlds: Worlds) -> Iterator[int]:
        """Write all worlds, or a sample, into ``scratch.worlds``, part by part; yields the rows."""
        end = time.perf_counter() + (self.milliseconds or math.inf) / 1000
        chunk = min(CHUNK, self.worlds) if self.milliseconds else self.worlds
        if worlds.count <= chunk:
            source = iter(worlds)
        else:  # the first of all worlds would be no fair sample if time cut them off
            draw = worlds.sampler(random.Random(self._draw_number()))
            source = itertools.islice(iter(draw, None), self.samples)
        rows = self.scratch.worlds
        while chosen := list(itertools.islice(source, chunk)):
            rows[: len(chosen), : view.rules.players + 1] = chosen
            yield len(chosen)
            if time.perf_counter() >= end:
                break

    def _sum_over_all(self, view: PlayerView) -> int:
        """The same over all worlds of two players, as ``pro_action`` does; -1: too many."""
        r, v, player = view.rules.vector, view.vector, view.player
        if view.rules.players != 2:
            return -1
        rows, numbers, base, s, sums = self.scratch.arrays
        n = int(enumerate_worlds(r, v, player, self.worlds, rows, numbers))
        if n >= 0:
            aware = self.policy == PRO_TRUMP
            sum_margins(r, v, player, view.legal_mask, rows, n, aware, base, s, sums)
        return n

    def _draw_number(self) -> int:
        """The next 64 random bits."""
        self.rng += np.uint64(0x9E3779B97F4A7C15)
        return int(k.mix(self.rng[0]))


class Easy(TableAgent):
    """Random legal cards."""

    policy = EASY

    def policy_batch(self, views: BatchView) -> Chances:
        """Every legal action has the same chance."""
        legal = views.legal_table
        chances: Chances = legal / legal.sum(1, keepdims=True)
        return chances


class Standard(TableAgent):
    """The published baseline: ducks, and throws its highest card."""

    policy = STANDARD


class StandardTrump(TableAgent):
    """``standard``, aware of trump."""

    policy = STANDARD_TRUMP


class Pro(TableAgent):
    """Deals out the unseen cards, plays every card to the end with ``standard``, takes the best."""

    policy = PRO

    def __init__(
        self,
        seed: int | None = None,
        worlds: int | None = None,
        milliseconds: float | None = None,
    ) -> None:
        """A player who looks at all worlds, or where there are too many, at a sample of them.

        Args:
            seed: of the random numbers, which only sampled worlds need.
            worlds: at most so many worlds a decision, 1 to 1,000,000. None: 200; with
                `milliseconds` as many as there is time for.
            milliseconds: at most about so long a decision. The play then depends on the machine,
                except where all worlds are taken: of two players up to 200 of them, which take
                less than a millisecond, of more players up to 8.
        """
        super().__init__(seed)
        self.milliseconds = check_milliseconds(milliseconds)
        number = check_worlds(worlds)
        if self.milliseconds is None:
            self._set_worlds(number or DEFAULT_WORLDS)
        else:
            self._set_worlds(min(number or DEFAULT_WORLDS, DEFAULT_WORLDS))
            self.samples = number

    def margins(self, view: PlayerView) -> list[float]:
        """The mean margin of each legal card of `view`, ascending by action, which it chooses by.

        Raises:
            HeartsError: it is not the turn of the player, or no card is to be played.
        """
        if view.phase != "play" or not view.legal_mask:
            raise HeartsError(f"view: player {view.player} has no card to play in it")
        number = self._sum_over_all(view)
        if number < 0:
            number = self._sum_in_sample(view)
        whole = number * (view.rules.players - 1)
        return [int(self.scratch.sums[action]) / whole for action in view.legal_actions()]

    def world_margins(self, view: PlayerView) -> WorldMargins:
        """The margin of each legal card in each world that it would look at, and their weights.

        Returns:
            margins ``(worlds, legal cards)``, cards ascending by action; weights ``(worlds,)``; and
            whether there are more worlds than these.

        Raises:
            HeartsError: it is not the turn of the player, or no card is to be played.
        """
        if view.phase != "play" or not view.legal_mask:
            raise HeartsError(f"view: player {view.player} has no card to play in it")
        legal, found = view.legal_actions(), []
        worlds = Worlds(view)
        number = self._sum_over_all(view)
        parts = iter([number]) if number >= 0 else self._sampled_rows(view, worlds)
        rows, _, base, s, sums = self.scratch.arrays
        for count in parts:
            for row in range(count):
                sum_margins(
                    view.rules.vector,
                    view.vector,
                    view.player,
                    view.legal_mask,
                    rows[row : row + 1],
                    1,
                    self.policy == PRO_TRUMP,
                    base,
                    s,
                    sums,
                )
                found.append(sums[legal])
        margins = np.array(found, np.float64) / (view.rules.players - 1)
        return margins, np.ones(len(margins)), len(margins) < worlds.count


class ProTrump(Pro):
    """``pro`` with ``standard_trump`` in its playouts."""

    policy = PRO_TRUMP


AGENTS: dict[str, type[TableAgent]] = {
    NAMES[agent.policy]: agent for agent in (Easy, Standard, StandardTrump, Pro, ProTrump)
}
"""The players of the table by name."""


def check_worlds(worlds: int | None) -> int | None:
    """A number of worlds, or None.

    Raises:
        HeartsError: it is neither.
    """
    if worlds is None:
        return None
    try:
        number = 0 if isinstance(worlds, bool) else operator.index(worlds)
    except TypeError:
        number = 0
    if not 1 <= number <= 1_000_000:
        raise HeartsError(
            f"worlds: {worlds!r} is not a whole number from 1 to 1000000; "
            f"give one, or None for {DEFAULT_WORLDS}"
        )
    return number


def check_milliseconds(milliseconds: float | None) -> float | None:
    """A time to think, or None.

    Raises:
        HeartsError: it is neither.
    """
    if milliseconds is None:
        return None
    try:
        is_time = not isinstance(milliseconds, bool | np.bool_) and 0 < milliseconds < math.inf
    except TypeError:
        is_time = False
    if not is_time:
        raise HeartsError(
            f"milliseconds: {milliseconds!r} is no time to think; give a number above 0"
        )
    return float(milliseconds)


def seed_number(seed: int | None) -> int:
    """The start of a stream of random numbers, 0 .. 2**64 - 1.

    Raises:
        HeartsError: `seed` is neither None nor a whole number from 0.
    """
    if seed is None:
        return secrets.randbits(64)
    return int(k.mix(np.uint64(check_any_seed(seed) % 2**64)))
