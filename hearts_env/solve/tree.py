"""A two-player game in sequence form: every information set, every choice, every outcome.

Only deals in which seat 0 leads first are counted, all equally likely: the others are the same
game with the seats exchanged, so that the whole game is worth nothing and this half of it is worth
something to the first leader. What one player's plan of play is worth against another's is linear
in both (von Stengel 1996: *Efficient computation of behavior strategies*):

- An *information set* is one view of the player to act, where more than one action is legal. Where
  one alone is, the game goes on by itself: nothing is chosen, so nothing is lost.
- A *sequence* is an information set of a player with one of its actions: all that this player has
  chosen so far. The sequences of an information set follow one another, in order of action. Before
  the first choice stands the empty sequence, one for each hand that can be dealt: sequences 0 to
  the number of hands - 1.
- A *plan* gives each sequence the product of the player's own chances on the way to it.
- A *line* is a deal played to its end, with the last sequence of each player and the points by
  which seat 0 is ahead.

Everything lies in arrays in the order in which a walk through the public histories meets it, so
that what comes before in the game comes before in the array: going forward makes plans out of
chances, going backward sums values. The walk keeps all deals that agree with a history side by
side, and asks the kernel for the rules once for each hand and history.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env._bits import lowest, popcount
from hearts_env._jit import jit
from hearts_env.batch import BatchView
from hearts_env.errors import HeartsError
from hearts_env.game import Game
from hearts_env.rules import Rules
from hearts_env.view import PlayerView
from hearts_env.worlds import Worlds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

DEFAULT_MEMORY = 4.0
"""Gigabytes (10^9 bytes) that a tree and its solver may take where nothing else is said."""

GROUPS = 2
"""Groups of hands whose information sets follow one another: so many threads can share the work.

More cost one thread more than they gain: what is near in the game lies less near in memory.
"""

_SAMPLES = 300
"""Lines that an estimate draws."""
_MOST_DEALS = 50_000_000
"""More deals than that are not counted one by one."""


def check_rules(rules: Rules | str) -> Rules:
    """Rules whose game tree can be built.

    Raises:
        HeartsError: other than two players, or an exchange.
    """
    rules = Rules.make(rules)
    if rules.players != 2:
        raise HeartsError(
            f"players: {rules.players} players cannot be solved; give rules for 2, like mini"
        )
    if rules.pass_count and set(rules.pass_rotation) != {"hold"}:
        raise HeartsError(
            f"pass_count: {rules.pass_count} cards are exchanged, and games with an exchange "
            "cannot be solved; take rules.replace(pass_count=0)"
        )
    return rules


# ---- how large -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class TreeSize:
    """How large the game tree of a deck is, seat 0 leading.

    Attributes:
        rules: The rules.
        deals: Deals in which seat 0 leads first.
        positions: Positions in all of them, first and last ones included.
        lines: Deals played to their end, in every way.
        infosets: Information sets with a choice, of either player.
        sequences: Sequences of either player, the empty ones not counted.
        exact: Whether they are counted; else estimated from a sample.
    """

    rules: Rules
    deals: float
    positions: float
    lines: float
    infosets: tuple[float, float]
    sequences: tuple[float, float]
    exact: bool

    @property
    def tree_bytes(self) -> float:
        """Bytes of the tree's arrays while it is built."""
        depth = 2 * self.rules.hand_size
        capacity = 2 * max(self.infosets)  # both players' arrays have the larger length
        return 28 * self.lines + (33 + depth) * capacity + 8 * sum(self.sequences) + 44 * self.deals

    @property
    def solver_bytes(self) -> float:
        """Bytes that solving it takes besides."""
        return 8 * 8 * sum(self.sequences)

    @property
    def gigabytes(self) -> float:
        """Both together, in 10^9 bytes."""
        return (self.tree_bytes + self.solver_bytes) / 1e9

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        infosets, sequences = (format_count(sum(n)) for n in (self.infosets, self.sequences))
        return (
            f"{about}{format_count(self.deals)} deals, {format_count(self.positions)} positions, "
            f"{format_count(self.lines)} lines, {infosets} information sets, {sequences} "
            f"sequences, {format_gigabytes(self.gigabytes)}"
        )


def format_count(number: float) -> str:
    """``16,632``, or ``3.1e+15`` where digits would tell nothing."""
    return f"{number:,.0f}" if number < 1e9 else f"{number:.1e}"


def format_gigabytes(gigabytes: float) -> str:
    """Like ``0.15 GB`` or ``2.1e+08 GB``."""
    return f"{gigabytes:.2g} GB" if gigabytes < 1e3 else f"{gigabytes:.1e} GB"


def estimate(rules: Rules | str, samples: int = _SAMPLES, seed: int = 0) -> TreeSize:
    """The size of the tree from random lines, each weighted by the choices along it (Knuth 1975).

    A position met stands for as many as there were choices on the way to it; an information set
    has one position for each of the worlds that its player holds possible.
    """
    rules = check_rules(rules)
    deals = num_deals(rules)
    rng = np.random.default_rng(seed)
    positions = lines = 0.0
    infosets, sequences = np.zeros(2), np.zeros(2)
    for _ in range(samples):
        game = _random_deal(rules, rng)
        weight = deals / samples
        while (player := game.player) is not None:
            positions += weight
            legal = game.legal_actions()
            if len(legal) > 1:
                share = weight / max(Worlds(game.view(player)).count, 1)
                infosets[player] += share
                sequences[player] += share * len(legal)
            weight *= len(legal)
            game.play(legal[rng.integers(len(legal))])
        positions += weight
        lines += weight
    pairs = [(float(pair[0]), float(pair[1])) for pair in (infosets, sequences)]
    return TreeSize(rules, float(deals), positions, lines, pairs[0], pairs[1], exact=False)


def num_deals(rules: Rules) -> int:
    """In how many deals seat 0 leads first."""
    deck, hand = len(rules.deck), rules.hand_size
    both = math.comb(deck, hand) * math.comb(deck - hand, hand)
    return both if rules.first_lead == "eldest_hand" else both // 2


def _random_deal(rules: Rules, rng: np.random.Generator) -> Game:
    """A uniformly drawn deal in which seat 0 leads first."""
    cards = [rules.deck[i] for i in rng.permutation(len(rules.deck))]
    n = rules.hand_size
    hands = [cards[:n], cards[n : 2 * n]]
    for _ in range(2):
        game = Game(rules, hands=hands, kitty=cards[2 * n :], deal_number=0, dealer=1)
        if game.leader == 0:
            break
        hands.reverse()
    return game


def measure(rules: Rules | str, max_memory: float = DEFAULT_MEMORY) -> TreeSize:
    """The size of the tree: counted where it fits into `max_memory` gigabytes, else estimated.

    Raises:
        HeartsError: rules of other than two players, or with an exchange.
    """
    rules = check_rules(rules)
    size = estimate(rules)
    if size.gigabytes > 2 * check_memory(max_memory) or size.deals > _MOST_DEALS:
        return size
    return count_tree(Walk(rules))


def refuse_size(size: TreeSize, max_memory: float) -> None:
    """Refuse a tree that is too large.

    Raises:
        HeartsError: it takes more than `max_memory` gigabytes; the message has the figure.
    """
    if not size.exact or size.gigabytes > max_memory:
        raise HeartsError(
            f"max_memory: the game tree of {size.rules.name} does not fit into {max_memory:g} GB: "
            f"{size}; allow more, or take fewer cards (hand_size, removed)"
        )


def check_memory(max_memory: float) -> float:
    """A number of gigabytes.

    Raises:
        HeartsError: it is none.
    """
    try:
        is_size = not isinstance(max_memory, bool) and 0 < max_memory < math.inf
    except TypeError:
        is_size = False
    if not is_size:
        raise HeartsError(f"max_memory: {max_memory!r} is no size; give gigabytes, like 4")
    return float(max_memory)


def count_tree(walk: Walk) -> TreeSize:
    """The size of the tree that a walk meets, counted."""
    _, totals = walk.run()
    deals, positions, lines = (float(totals[i]) for i in (_DEALS, _POSITIONS, _LINES))
    pairs = [(float(totals[first]), float(totals[first + 1])) for first in (_INFOSETS, _SEQUENCES)]
    return TreeSize(walk.rules, deals, positions, lines, pairs[0], pairs[1], exact=True)


# ---- the tree ------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Side:
    """What one player may come to decide; n information sets, m sequences.

    Attributes:
        hands: The hands that can be dealt, as masks; empty sequence i is that of ``hands[i]``.
        reach: How likely each of them is by this player's own doing, ``(hands,) float64``: 1,
            except where play before the tree's beginning tells something (``endgame``).
        parent: The sequence that leads to each information set, ``(n,) int32``.
        first: The first sequence of each information set, and behind them m, ``(n + 1,) int32``.
        legal: What may be done there, as masks over actions, ``(n,) int64``.
        own: The hand that was dealt, as a mask, ``(n,) int64``.
        other: A hand of the other player that agrees with all that was seen, ``(n,) int64``.
        history: The cards played, card + 64 * seat, ``(n, 2 * hand_size) int8``.
        length: How many they are, ``(n,) int8``.
        start: Where the lines that end with each sequence begin, ``(m + 1,) int64``.
        column: The other player's last sequence of each such line, ``(lines,) int32``.
        payoff: The points by which this player is ahead at its end, ``(lines,) int32``.
        cuts: Where the information sets of each group of hands begin, and behind them n.
    """

    hands: Ints
    reach: Floats
    parent: NDArray[np.int32]
    first: NDArray[np.int32]
    legal: Ints
    own: Ints
    other: Ints
    history: NDArray[np.int8]
    length: NDArray[np.int8]
    start: Ints
    column: NDArray[np.int32]
    payoff: NDArray[np.int32]
    cuts: list[int]

    @property
    def num_infosets(self) -> int:
        """How many information sets there are."""
        return len(self.parent)

    @property
    def num_sequences(self) -> int:
        """How many sequences there are, the empty ones with them."""
        return int(self.first[-1])

    def actions(self, infoset: int) -> list[int]:
        """The actions of an information set, in the order of its sequences."""
        mask = int(self.legal[infoset])
        return [a for a in range(mask.bit_length()) if mask >> a & 1]

    def uniform(self) -> Floats:
        """The chances of a player who takes every legal action equally often, one a sequence."""
        chances = np.ones(self.num_sequences)
        counts = np.diff(self.first)
        chances[len(self.hands) :] = np.repeat(1.0 / counts, counts)
        return chances

    def check(self, chances: Any, name: str = "policy") -> Floats:
        """Chances that make a policy: one a sequence, none negative, 1 in each information set.

        Raises:
            HeartsError: they do not; it is said where.
        """
        array = np.ascontiguousarray(chances, np.float64)
        if array.shape != (self.num_sequences,):
            raise HeartsError(
                f"{name}: has shape {array.shape}; give one chance for each of "
                f"{self.num_sequences} sequences"
            )
        if not np.isfinite(array).all() or (array < 0).any():
            place = int(np.flatnonzero(~np.isfinite(array) | (array < 0))[0])
            raise HeartsError(f"{name}: the chance of sequence {place} is {array[place]}")
        sums = np.add.reduceat(array, self.first[:-1]) if self.num_infosets else np.ones(1)
        worst = int(np.abs(sums - 1).argmax())
        if abs(sums[worst] - 1) > 1e-6:
            raise HeartsError(
                f"{name}: the chances of information set {worst} add up to {sums[worst]:.6g}, not 1"
            )
        return array

    def plan(self, chances: Floats) -> Floats:
        """The plan of a policy: the product of its chances on the way to each sequence."""
        plan = np.ones(self.num_sequences)
        plan[: len(self.hands)] = self.reach
        _forward(self.parent, self.first, chances, plan)
        return plan

    def chances(self, plan: Floats) -> Floats:
        """The policy of a plan; uniform wherever the plan never gets to."""
        chances = self.uniform()
        _chances_of(self.parent, self.first, plan, chances)
        return chances


class Tree:
    """The game tree of a rule set for two players, seat 0 leading first.

    Attributes:
        rules: The rules.
        size: Its size, counted.
        sides: What each player may come to decide.
        num_deals: Deals, all equally likely; where hands are not, the sum of their weights.
        deals_of_hands: In how many of them each player has each of its hands, weighed by how
            likely the other's are.
    """

    dealer = 1

    def __init__(self, rules: Rules | str, max_memory: float = DEFAULT_MEMORY) -> None:
        """Build the tree.

        Args:
            rules: for two players, without an exchange.
            max_memory: gigabytes that it may take, a solver for it included.

        Raises:
            HeartsError: it would take more; the message has the figure.
        """
        self.rules = check_rules(rules)
        size = measure(self.rules, max_memory)
        refuse_size(size, max_memory)
        walk = Walk(self.rules)
        self._build(walk, size, [np.ones(len(hands)) for hands in walk.hands])

    def _build(self, walk: Walk, size: TreeSize, reach: list[Floats]) -> None:
        """Make the sides from a walk of known size, hands as likely as `reach` says."""
        self.size = size
        out, _ = walk.run(size)
        cuts = []
        ids = walk.ids
        self.deals_of_hands = [
            np.bincount(ids[p], reach[1 - p][ids[1 - p]], len(walk.hands[p])) for p in range(2)
        ]
        self.num_deals = float(reach[0] @ self.deals_of_hands[0])
        sides = []
        lines = int(self.size.lines)
        for p in range(2):
            n = int(self.size.infosets[p])
            m = len(walk.hands[p]) + int(self.size.sequences[p])
            out.first[p, n] = m
            cuts.append(_group(out, p, n, walk.hands[p]))
        for p in range(2):
            n = int(self.size.infosets[p])
            m = len(walk.hands[p]) + int(self.size.sequences[p])
            start = np.zeros(m + 1, np.int64)
            column, payoff = np.empty(lines, np.int32), np.empty(lines, np.int32)
            _sort_lines(out.ends[p], out.ends[1 - p], out.margins, 1 - 2 * p, start, column, payoff)
            sides.append(
                Side(
                    walk.hands[p],
                    reach[p],
                    out.parent[p, :n],
                    out.first[p, : n + 1],
                    out.legal[p, :n],
                    out.own[p, :n],
                    out.other[p, :n],
                    out.history[p, :n],
                    out.length[p, :n],
                    start,
                    column,
                    payoff,
                    cuts[p],
                )
            )
        self.sides = (sides[0], sides[1])

    # -- what is seen -----------------------------------------------------------------------------
    def view(self, player: int, infoset: int) -> PlayerView:
        """What `player` sees in one of its information sets."""
        return self.views(player, infoset, infoset + 1)[0]

    def views(self, player: int, begin: int, end: int) -> BatchView:
        """What `player` sees in its information sets from `begin` to before `end`."""
        side = self.sides[player]
        rows = slice(begin, end)
        number = len(side.parent[rows])
        vectors = np.empty((number, k.STATE_SIZE), np.int64)
        _write_views(
            self.rules.vector,
            player,
            side.own[rows],
            side.other[rows],
            side.history[rows],
            side.length[rows],
            self.dealer,
            np.empty(k.STATE_SIZE, np.int64),
            vectors,
        )
        return BatchView(self.rules, vectors, np.full(number, player, np.int64))

    def blocks(self, player: int, size: int = 4096) -> Iterator[tuple[int, BatchView]]:
        """All information sets of `player` as views, so many at a time, each with its first."""
        for begin in range(0, self.sides[player].num_infosets, size):
            yield begin, self.views(player, begin, begin + size)

    def find(self, views: BatchView) -> tuple[Ints, Ints]:
        """Whose role each view is, 0 the first leader's, and the number of its information set.

        The seats of a view may be exchanged. The number is -1 where nothing is to be chosen.

        Raises:
            HeartsError: the views are of other rules, or cannot have arisen.
        """
        if not self.rules.is_same_deal(views.rules):
            raise HeartsError(
                f"rules: the views are of {views.rules.name!r}, the tree is of {self.rules.name!r}"
            )
        r = self.rules.vector
        keys = np.empty(len(views), np.uint64)
        _write_keys(r, views.vectors, views.players, keys)
        roles = self._roles(views)
        legal = views.legal_masks
        found = np.full(len(views), -1, np.int64)
        for role in range(2):
            rows = np.flatnonzero((roles == role) & (legal & (legal - 1) != 0))
            index, order = self._index[role]
            places = np.minimum(np.searchsorted(index, keys[rows]), len(index) - 1)
            if len(rows) and not (len(index) and (index[places] == keys[rows]).all()):
                raise HeartsError("views: one of them cannot have arisen under these rules")
            found[rows] = order[places]
        return roles, found

    def _roles(self, views: BatchView) -> Ints:
        """Which side each view is of."""
        roles: Ints = views.players ^ views.vectors[:, k.FIRST_LEADER]
        return roles

    @functools.cached_property
    def _index(self) -> list[tuple[Keys, Ints]]:
        """The keys of each player's information sets, ascending, and which they are."""
        made = []
        for player, side in enumerate(self.sides):
            keys = np.empty(side.num_infosets, np.uint64)
            for begin, views in self.blocks(player):
                out = keys[begin : begin + len(views)]
                _write_keys(self.rules.vector, views.vectors, views.players, out)
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            # 64 well mixed bits: in a tree that fits into memory no two are likely to be equal.
            if len(keys) > 1 and (keys[1:] == keys[:-1]).any():
                raise HeartsError("tree: two information sets look alike; please report it")
            made.append((keys, order))
        return made

    def hand(self, mask: int) -> tuple[str, ...]:
        """The cards of a mask."""
        return tuple(card for i, card in enumerate(self.rules.deck) if int(mask) >> i & 1)

    # -- what it is worth -------------------------------------------------------------------------
    def value(self, chances0: Floats, chances1: Floats) -> float:
        """The mean margin of the first leader, in points a deal, where these policies play."""
        plan0, plan1 = self.sides[0].plan(chances0), self.sides[1].plan(chances1)
        gradient = self.gradient(0, plan1)
        return float(gradient @ plan0)

    def gradient(self, player: int, plan: Floats) -> Floats:
        """What each sequence of `player` earns at once, given the other player's plan.

        In points a deal, for lines that end with it, weighted by chance and by the other's plan.
        """
        out = np.empty(self.sides[player].num_sequences)
        self.write_gradient(player, plan, out, slice(0, len(out)))
        return out

    def write_gradient(self, player: int, plan: Floats, out: Floats, rows: slice) -> None:
        """The same for some sequences, in place of `out`."""
        side = self.sides[player]
        begin, end, _ = rows.indices(side.num_sequences)
        _gradient(side.start, side.column, side.payoff, plan, 1.0 / self.num_deals, out, begin, end)

    def __repr__(self) -> str:
        return f"<Tree {self.rules.name}: {self.size}>"


# ---- the walk ------------------------------------------------------------------------------------
_DEALS, _POSITIONS, _LINES = 0, 1, 2
_INFOSETS = 3  # of each player
_SEQUENCES = 5  # of each player
_NUM_TOTALS = 7


class _Output:
    """What a walk writes: both players' arrays as long as the longer needs; empty for counting."""

    def __init__(self, depth: int, size: TreeSize | None) -> None:
        lines = int(size.lines) if size else 0
        n = int(max(size.infosets)) if size else 0
        self.ends = np.empty((2, lines), np.int32)
        self.margins = np.empty(lines, np.int32)
        self.parent = np.empty((2, n), np.int32)
        self.first = np.empty((2, n + 1), np.int32)
        self.legal, self.own, self.other = (np.empty((2, n), np.int64) for _ in range(3))
        self.history = np.zeros((2, n, depth), np.int8)
        self.length = np.empty((2, n), np.int8)


def _group(out: _Output, p: int, n: int, hands: Ints) -> list[int]:
    """Number the information sets anew, those of the first hands first, in place.

    So that threads which take some hands each have their own stretch of every array. Returns where
    the groups begin.
    """
    first = out.first[p]
    counts = np.diff(first[: n + 1])
    # What the hands have to do with, in about equal parts.
    numbers = np.searchsorted(hands, out.own[p, :n])
    work = np.cumsum(np.bincount(numbers, counts, minlength=len(hands)))
    groups = np.minimum((work / max(work[-1], 1.0) * GROUPS - 1e-9).astype(np.int8), GROUPS - 1)
    order = np.argsort(groups[numbers], kind="stable")
    new_first = np.empty(n + 1, np.int32)
    new_first[0] = len(hands)
    np.cumsum(counts[order], out=new_first[1:])
    new_first[1:] += len(hands)
    # Where each sequence goes.
    place = np.empty(first[n], np.int32)
    place[: len(hands)] = np.arange(len(hands))
    shift = np.empty(n, np.int32)
    shift[order] = new_first[:-1]
    place[len(hands) :] = np.arange(len(hands), first[n]) + np.repeat(shift - first[:n], counts)
    out.parent[p, :n] = place[out.parent[p, :n][order]]
    out.first[p, : n + 1] = new_first
    for array in (out.legal, out.own, out.other, out.history, out.length):
        array[p, :n] = array[p, :n][order]
    out.ends[p] = place[out.ends[p]]
    sizes = np.bincount(groups[numbers], minlength=GROUPS)
    return [0, *np.cumsum(sizes).tolist()]


class Walk:
    """All public histories, depth first; with each the deals that agree with it."""

    def __init__(
        self, rules: Rules, deals: Ints | None = None, root: k.Vector | None = None
    ) -> None:
        """A walk from the first lead of all deals, or from the position `root` of some `deals`."""
        self.rules = rules
        self.deals = self._all_deals() if deals is None else deals
        self.root = np.empty(k.STATE_SIZE, np.int64) if root is None else root.copy()
        if root is None:
            _start(rules.vector, self.root, int(self.deals[0, 0]), int(self.deals[0, 1]), 1)
        self.ids = []
        self.hands = []
        for p in range(2):
            hands, inverse = np.unique(self.deals[:, p], return_inverse=True)
            self.hands.append(hands)
            self.ids.append(inverse.astype(np.int32))

    def _all_deals(self) -> Ints:
        rules = self.rules
        deck, size = len(rules.deck), rules.hand_size
        masks = np.array(
            [sum(1 << c for c in cards) for cards in itertools.combinations(range(deck), size)],
            np.int64,
        )
        state = np.empty(k.STATE_SIZE, np.int64)
        number = num_deals(rules)
        deals = np.empty((number, 2), np.int64)
        found = _write_deals(rules.vector, masks, state, deals)
        assert found == number, (found, number)
        return deals

    def run(self, size: TreeSize | None = None) -> tuple[_Output, Ints]:
        """Walk; without the size only the totals are made."""
        number, depth = len(self.deals), 2 * self.rules.hand_size + 2
        totals = np.zeros(_NUM_TOTALS, np.int64)
        totals[_DEALS] = number
        out = _Output(2 * self.rules.hand_size, size)
        widest = max(map(len, self.hands))
        hands = np.zeros((2, widest), np.int64)
        ids = np.empty((depth, number, 2), np.int32)
        last = np.empty((depth, number, 2), np.int32)
        for p in range(2):
            hands[p, : len(self.hands[p])] = self.hands[p]
            ids[0, :, p] = last[0, :, p] = self.ids[p]
        states = np.empty((depth, k.STATE_SIZE), np.int64)
        scratch = np.empty(k.STATE_SIZE, np.int64)
        for s in states:
            k.clear(s)
        states[0] = self.root
        _walk(
            self.rules.vector,
            hands,
            np.array([len(h) for h in self.hands]),
            states,
            scratch,
            np.zeros(depth, np.int64),
            np.zeros(depth, np.int64),
            ids,
            last,
            np.empty((depth, number), np.int64),
            np.empty((depth, number), np.int64),
            np.empty((depth, number), np.int32),
            np.zeros((2, widest), np.int64),
            np.zeros((2, widest), np.int64),
            np.zeros((2, widest), np.int32),
            size is not None,
            out.ends,
            out.margins,
            out.parent,
            out.first,
            out.legal,
            out.own,
            out.other,
            out.history,
            out.length,
            totals,
        )
        return out, totals


@jit
def _start(r: k.Vector, s: k.Vector, hand0: int, hand1: int, dealer: int) -> None:
    """Make `s` the first position of a deal, in place."""
    k.clear(s)
    s[k.HANDS] = hand0
    s[k.HANDS + 1] = hand1
    s[k.KITTY] = r[k.R_DECK] & ~(hand0 | hand1)
    s[k.DEALER] = dealer
    s[k.DEAL_NUMBER] = 0
    k.start(r, s)


@jit
def _write_deals(r: k.Vector, masks: Ints, s: k.Vector, deals: Ints) -> int:
    """Write the hands of all deals in which seat 0 leads first into `deals`; how many there are."""
    count = 0
    for i in range(len(masks)):
        for j in range(len(masks)):
            if masks[i] & masks[j]:
                continue
            # The rule is the kernel's; only what it reads is made.
            s[k.HANDS] = masks[i]
            s[k.HANDS + 1] = masks[j]
            s[k.DEALER] = 1
            k.start_play(r, s)
            if s[k.LEADER] == 0:
                if count < len(deals):
                    deals[count, 0] = masks[i]
                    deals[count, 1] = masks[j]
                count += 1
    return count


@jit
def _after(r: k.Vector, s: k.Vector, hand0: int, hand1: int, action: int, out: k.Vector) -> None:
    """Write into `out` the position after `action` in `s` with these hands dealt."""
    # What has been played is copied, what follows is written before it is read.
    for i in range(k.HISTORY + s[k.NUM_PLAYED]):
        out[i] = s[i]
    out[k.HANDS] = hand0 & ~s[k.PLAYED]
    out[k.HANDS + 1] = hand1 & ~s[k.PLAYED + 1]
    out[k.KITTY] = r[k.R_DECK] & ~(hand0 | hand1)
    k.play(r, out, action)


@jit
def _shown(s: k.Vector) -> int:
    """What may be seen of a position that its history does not tell.

    An awarded kitty, and whether a queen that may be played any time broke hearts.
    """
    kitty = s[k.KITTY] if s[k.KITTY_TAKER] >= 0 else 0
    return kitty << 1 | s[k.BROKEN]


@jit
def _walk(
    r: k.Vector,
    hands: Ints,
    num_hands: Ints,
    states: Ints,
    scratch: k.Vector,
    counts: Ints,
    unions: Ints,
    ids: NDArray[np.int32],
    last: NDArray[np.int32],
    legals: Ints,
    rests: Ints,
    firsts: NDArray[np.int32],
    slot_stamp: Ints,
    slot_legal: Ints,
    slot_first: NDArray[np.int32],
    write: bool,  # noqa: FBT001
    ends: NDArray[np.int32],
    margins: NDArray[np.int32],
    parent: NDArray[np.int32],
    first: NDArray[np.int32],
    legal: Ints,
    own: Ints,
    other: Ints,
    history: NDArray[np.int8],
    length: NDArray[np.int8],
    totals: Ints,
) -> None:
    """Walk depth first through the public histories; count into `totals` and, with `write`, write.

    Row d of each array is the history of d actions: ``states`` its position (in one of its
    deals), ``counts`` how many deals agree with it, ``unions`` the actions not yet followed; and
    for each deal ``ids`` the numbers of the hands, ``last`` the players' last sequences,
    ``legals`` what may be done, ``rests`` what of it has not been followed, ``firsts`` the first
    sequence of the information set, or -1 where nothing is chosen. The slots hold, per hand of
    the player to act, what has been found for it at the present history.
    """
    num_infosets = totals[_INFOSETS : _INFOSETS + 2]
    num_sequences = totals[_SEQUENCES : _SEQUENCES + 2]
    counts[0] = totals[_DEALS]
    stamp = 0
    depth = 0
    is_new = True
    while depth >= 0:
        s = states[depth]
        n = counts[depth]
        p = s[k.PLAYER]
        if is_new:
            is_new = False
            totals[_POSITIONS] += n
            if s[k.PHASE] == k.OVER:
                margin = k.margin_sum(r, s, 0)
                for i in range(n):
                    if write:
                        at = totals[_LINES]
                        ends[0, at] = last[depth, i, 0]
                        ends[1, at] = last[depth, i, 1]
                        margins[at] = margin
                    totals[_LINES] += 1
                depth -= 1
                continue
            stamp += 1
            union = 0
            for i in range(n):
                h = ids[depth, i, p]
                if slot_stamp[p, h] != stamp:
                    slot_stamp[p, h] = stamp
                    s[k.HANDS + p] = hands[p, h] & ~s[k.PLAYED + p]
                    mask = k.legal_mask(r, s)
                    slot_legal[p, h] = mask
                    union |= mask
                    if mask & (mask - 1) == 0:
                        slot_first[p, h] = -1
                    else:
                        at = num_infosets[p]
                        begin = num_hands[p] + num_sequences[p]
                        slot_first[p, h] = begin
                        if write:
                            parent[p, at] = last[depth, i, p]
                            first[p, at] = begin
                            legal[p, at] = mask
                            own[p, at] = hands[p, h]
                            other[p, at] = hands[1 - p, ids[depth, i, 1 - p]]
                            length[p, at] = s[k.NUM_PLAYED]
                            for j in range(s[k.NUM_PLAYED]):
                                history[p, at, j] = s[k.HISTORY + j]
                        num_infosets[p] += 1
                        num_sequences[p] += popcount(mask)
                legals[depth, i] = rests[depth, i] = slot_legal[p, h]
                firsts[depth, i] = slot_first[p, h]
            unions[depth] = union
        union = unions[depth]
        if union == 0:
            depth -= 1
            continue
        action = lowest(union)
        bit = 1 << action
        i = 0
        while i < n and not rests[depth, i] & bit:
            i += 1
        if i == n:
            unions[depth] = union & ~bit
            continue
        after = states[depth + 1]
        _after(r, s, hands[0, ids[depth, i, 0]], hands[1, ids[depth, i, 1]], action, after)
        # Deals part where more is seen than the action.
        parts = (r[k.R_QUEEN_ANY_TIME] and r[k.R_QUEEN] & bit) or (
            s[k.KITTY_TAKER] < 0 and after[k.KITTY_TAKER] >= 0
        )
        if not parts:
            unions[depth] = union & ~bit
        shown = _shown(after)
        m = 0
        for j in range(i, n):
            if not rests[depth, j] & bit:
                continue
            h0 = ids[depth, j, 0]
            h1 = ids[depth, j, 1]
            if parts:
                _after(r, s, hands[0, h0], hands[1, h1], action, scratch)
                if _shown(scratch) != shown:
                    continue
                rests[depth, j] &= ~bit
            ids[depth + 1, m, 0] = h0
            ids[depth + 1, m, 1] = h1
            last[depth + 1, m, 1 - p] = last[depth, j, 1 - p]
            if firsts[depth, j] < 0:
                last[depth + 1, m, p] = last[depth, j, p]
            else:
                place = popcount(legals[depth, j] & (bit - 1))
                last[depth + 1, m, p] = firsts[depth, j] + place
            m += 1
        depth += 1
        counts[depth] = m
        is_new = True


@jit
def _sort_lines(
    own: NDArray[np.int32],
    other: NDArray[np.int32],
    margins: NDArray[np.int32],
    sign: int,
    start: Ints,
    column: NDArray[np.int32],
    payoff: NDArray[np.int32],
) -> None:
    """Write the lines in the order of `own`, and where those of each sequence begin (`start`)."""
    for i in range(len(own)):
        start[own[i] + 1] += 1
    for i in range(1, len(start)):
        start[i] += start[i - 1]
    # Each start moves to the end of its lines, which is where the next ones start.
    for i in range(len(own)):
        at = start[own[i]]
        start[own[i]] += 1
        column[at] = other[i]
        payoff[at] = sign * margins[i]
    for i in range(len(start) - 1, 0, -1):
        start[i] = start[i - 1]
    start[0] = 0


@jit
def _write_views(
    r: k.Vector,
    player: int,
    own: Ints,
    other: Ints,
    history: NDArray[np.int8],
    length: NDArray[np.int8],
    dealer: int,
    s: k.Vector,
    out: Ints,
) -> None:
    """Write what `player` sees, a row for each history."""
    for i in range(len(own)):
        if player == 0:
            _start(r, s, own[i], other[i], dealer)
        else:
            _start(r, s, other[i], own[i], dealer)
        for j in range(length[i]):
            k.play(r, s, history[i, j] & 63)
        k.write_view(r, s, player, out[i])


@jit
def _write_keys(r: k.Vector, vectors: Ints, players: Ints, keys: Keys) -> None:
    """Write a number for each view that tells apart what differs to its player, seats by role."""
    for i in range(len(vectors)):
        v = vectors[i]
        player = players[i]
        first = v[k.FIRST_LEADER]
        h = k.mix(v[k.HANDS + player] << 1 | (player ^ first))
        h = k.mix(h ^ np.uint64(v[k.KITTY]))
        other = 1 - first
        seen = v[k.BROKEN] | (v[k.DODGED] + 1) << 1
        seen |= v[k.VOIDS + first] << 8 | v[k.VOIDS + other] << 16
        h = k.mix(h ^ np.uint64(seen))
        for j in range(v[k.NUM_PLAYED]):
            code = v[k.HISTORY + j]
            h = k.mix(h ^ np.uint64(code & 63 | (code >> 6 ^ first) << 6))
        keys[i] = h


# ---- passes --------------------------------------------------------------------------------------
@jit
def _gradient(
    start: Ints,
    column: NDArray[np.int32],
    payoff: NDArray[np.int32],
    plan: Floats,
    scale: float,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """Write into ``out[begin:end]`` the sum of payoff times plan over each sequence's lines."""
    for i in range(begin, end):
        total = 0.0
        for j in range(start[i], start[i + 1]):
            total += payoff[j] * plan[column[j]]
        out[i] = total * scale


@jit
def _forward(
    parent: NDArray[np.int32], first: NDArray[np.int32], chances: Floats, plan: Floats
) -> None:
    """Make the plan of a policy, in place; the empty sequences have been set."""
    for i in range(len(parent)):
        reach = plan[parent[i]]
        for j in range(first[i], first[i + 1]):
            plan[j] = reach * chances[j]


@jit
def _chances_of(
    parent: NDArray[np.int32], first: NDArray[np.int32], plan: Floats, chances: Floats
) -> None:
    """Write the policy of a plan wherever the plan gets to."""
    for i in range(len(parent)):
        total = 0.0
        for j in range(first[i], first[i + 1]):
            total += plan[j]
        if total > 0.0:
            for j in range(first[i], first[i + 1]):
                chances[j] = plan[j] / total


@jit
def backward_best(
    parent: NDArray[np.int32], first: NDArray[np.int32], values: Floats, chosen: Ints
) -> None:
    """Add to each sequence's value what best play earns after it, in place.

    ``chosen`` gets the best sequence of each information set, the first of several.
    """
    for i in range(len(parent) - 1, -1, -1):
        best = first[i]
        for j in range(first[i] + 1, first[i + 1]):
            if values[j] > values[best]:
                best = j
        chosen[i] = best
        values[parent[i]] += values[best]


@jit
def backward_mean(
    parent: NDArray[np.int32], first: NDArray[np.int32], chances: Floats, values: Floats
) -> None:
    """Add to each sequence's value what a policy earns after it, in place."""
    for i in range(len(parent) - 1, -1, -1):
        total = 0.0
        for j in range(first[i], first[i + 1]):
            total += chances[j] * values[j]
        values[parent[i]] += total
