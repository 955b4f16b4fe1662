"""A two-player game in sequence form: every information set, every choice, every outcome.

Only deals in which seat 0 leads first are counted, all equally likely. All other deals are the same
game with the seats exchanged. So the whole game has the value 0, and this half has a value for the
first leader. The value of one player's plan against the other's is linear in both (von Stengel
1996: *Efficient computation of behavior strategies*):

- An *information set* is a view of the player to act with more than one legal action. Forced
  actions have none.
- A *sequence* is an information set with one of its actions: all choices of its player so far. The
  sequences of an information set follow one another in order of action. Each hand that can be dealt
  has an empty sequence, before the first choice: 0 to number of hands - 1.
- A *plan* gives each sequence the product of the player's own probabilities on the way to it.
- A *line* is a deal played to its end, with each player's last sequence and seat 0's margin.

All arrays are in the order of a walk through the public histories (``hearts_env.solve.walk``): the
order of the game. A line takes nine bytes, an information set eight. The views of information sets
are not kept. Another walk yields them.

With two cards each from a deck of four, hearts as trumps and the lowest club led first, there are
three deals:

>>> from hearts_env.cards import ALL_CARDS
>>> others = tuple(card for card in ALL_CARDS if card not in ("QC", "AC", "QS", "AH"))
>>> tree = Tree(Rules.preset("micro").replace(removed=others, hand_size=2))
>>> leader, other = tree.sides
>>> [tree.hand(mask) for mask in leader.hands]
[('QC', 'AC'), ('QC', 'QS'), ('QC', 'AH')]
>>> [tree.hand(mask) for mask in other.hands]
[('AC', 'QS'), ('AC', 'AH'), ('QS', 'AH')]

The other player has one choice, with its last hand, which has the empty sequence 2: throw the queen
on the club, or take the club with the trump. These are its sequences 3 and 4:

>>> view = tree.view(1, 0)
>>> other.parent.tolist(), other.first.tolist(), [tree.rules.deck[a] for a in view.legal_actions()]
([2], [3, 5], ['QS', 'AH'])

So there are four lines, two of which end with the leader's first sequence. The queen makes 13
points to 1. The trump shoots the moon, as it does in the other two deals:

>>> tree.ends.tolist(), tree.margins.tolist()
([[2, 1, 0, 0], [0, 1, 3, 4]], [15, -15, -12, -15])
>>> tree.value(leader.uniform(), other.uniform())
-4.5
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.solve.policies import check_two_players
from hearts_env.solve.side import Side
from hearts_env.solve.walk import (
    DEALS,
    DEEP,
    INFOSETS,
    LINES,
    POSITIONS,
    SEQUENCES,
    Walk,
    num_deals,
    walk_bytes,
)
from hearts_env.support.arguments import check_positive
from hearts_env.support.arrays import Array, Floats, Ints, Ints32, Numbers
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.support.progress import Progress, no_progress
from hearts_env.views.view import PlayerView

DEFAULT_MEMORY = 5.0
"""The default limit of the memory of a tree and its solver, in gigabytes (10^9 bytes)."""
_MOST_DEALS = 50_000_000
"""The most deals of a tree, because deals are listed one by one."""


# ---- how large a tree is -------------------------------------------------------------------------
def check_memory(max_memory: float) -> float:
    """Return a number of gigabytes.

    Raises:
        HeartsError: if `max_memory` is not a positive finite number.
    """
    return check_positive("max_memory", max_memory, ", in gigabytes, like 5")


@dataclass(frozen=True)
class TreeSize:
    """The size of a game tree, counted, with seat 0 leading.

    Attributes:
        rules: the rules.
        deals: the number of deals in which seat 0 leads first.
        positions: the number of positions in all these deals, the first and last ones included.
        lines: the number of ways to play these deals to their end.
        infosets: the number of information sets with a choice, for each player.
        sequences: the number of actions in these information sets, for each player.
    """

    rules: Rules
    deals: int
    positions: int
    lines: int
    infosets: tuple[int, int]
    sequences: tuple[int, int]

    @property
    def tree_bytes(self) -> int:
        """The bytes of the tree's arrays during the build."""
        # Both players' arrays have the larger length.
        return 9 * self.lines + 16 * max(self.infosets) + walk_bytes(self.rules)

    @property
    def solver_bytes(self) -> int:
        """The bytes of a solver's arrays, without the tree."""
        return 32 * sum(self.sequences) + 16 * max(self.sequences)

    @functools.cached_property
    def gigabytes(self) -> float:
        """The memory of tree and solver, in 10^9 bytes."""
        return (self.tree_bytes + self.solver_bytes) / 1e9

    def __str__(self) -> str:
        return (
            f"{self.deals:,} deals, {self.positions:,} positions, {self.lines:,} lines, "
            f"{sum(self.infosets):,} information sets, {sum(self.sequences):,} sequences, "
            f"{_format_gigabytes(self.gigabytes)}"
        )


def _format_gigabytes(gigabytes: float) -> str:
    """Return text such as ``0.15 GB``, ``11.4 GB`` or ``2.1e+08 GB``."""
    form = ".2g" if gigabytes < 10 else ".1f" if gigabytes < 1e3 else ".1e"
    return f"{gigabytes:{form}} GB"


def start_walk(rules: Rules | str, max_memory: float) -> Walk:
    """Return the walk through the tree of `rules`.

    Raises:
        HeartsError: if the rules are not for two players, have an exchange, or their deals alone
            take more than `max_memory` gigabytes.
    """
    rules = Rules.make(rules)
    check_two_players(rules)
    deals, gigabytes = num_deals(rules), walk_bytes(rules) / 1e9
    if gigabytes > check_memory(max_memory) or deals > _MOST_DEALS:
        reason = f"its {deals:,} deals alone take {_format_gigabytes(gigabytes)}"
        raise _too_large(rules, max_memory, reason)
    return Walk(rules)


def count_tree(walk: Walk, max_memory: float = math.inf) -> TreeSize:
    """Count the tree of a walk. Stop as soon as the limit is passed.

    Args:
        walk: the walk.
        max_memory: the most memory of the tree and its solver, in gigabytes.

    Raises:
        HeartsError: if the limit is passed.
    """

    def watch(totals: Ints) -> None:
        size = _size_of(walk.rules, totals)
        if size.gigabytes > max_memory:
            reason = f"it has more than {size.lines:,} lines"
            raise _too_large(walk.rules, max_memory, reason)

    return _size_of(walk.rules, walk.count(watch))


def _size_of(rules: Rules, totals: Ints) -> TreeSize:
    """Return the size from the totals of a walk."""
    deals, positions, lines = (int(totals[i]) for i in (DEALS, POSITIONS, LINES))
    both = (totals[:-DEEP] + totals[DEEP:]).tolist()
    infosets, sequences = ((both[i], both[i + 1]) for i in (INFOSETS, SEQUENCES))
    return TreeSize(rules, deals, positions, lines, infosets, sequences)


def _too_large(rules: Rules, max_memory: float, reason: str) -> HeartsError:
    """Return the error for a tree that does not fit."""
    return HeartsError(
        f"max_memory: the game tree of {rules.name} does not fit into {max_memory:g} GB: "
        f"{reason}; allow more, or take fewer cards, as in mini"
    )


# ---- the tree ------------------------------------------------------------------------------------
class Tree:
    """The game tree of a rule set for two players, with seat 0 leading first.

    Attributes:
        rules: the rules.
        size: the size of the tree.
        sides: each player's information sets and sequences.
        num_deals: the number of deals, which are equally likely.
        ends: the last sequence of both players in each line, ``(2, lines) int32``.
        margins: seat 0's margin at the end of each line, ``(lines,)``.
        marks: regular marks of the walk: its lines and both players' information sets so far, and
            whether a branch begins, ``(marks, 4) int64``.
    """

    def __init__(
        self,
        rules: Rules | str,
        max_memory: float = DEFAULT_MEMORY,
        progress: Progress = no_progress,
    ) -> None:
        """Count the tree, then build it.

        Args:
            rules: rules for two players, without an exchange.
            max_memory: the most memory in gigabytes, with a solver. Counting stops as soon as the
                tree would take more.
            progress: called from time to time with the lines written and their total.

        Raises:
            HeartsError: if the limit is passed.
        """
        self._walk = walk = start_walk(rules, max_memory)
        self.rules, self.size = walk.rules, count_tree(walk, max_memory)
        self.num_deals = len(walk.deals)
        records = walk.write(progress)
        self.ends, self.margins, self.marks = records.ends, records.margins, records.marks
        sides = [
            Side(
                hands=walk.hands[p],
                parent=records.parent[p, : int(n)],
                first=records.first[p, : int(n) + 1],
                top=int(walk.totals[INFOSETS + p]),
            )
            for p, n in enumerate(self.size.infosets)
        ]
        self.sides = (sides[0], sides[1])

    # -- views ------------------------------------------------------------------------------------
    def view(self, player: int, infoset: int) -> PlayerView:
        """Return the view of `player` in an information set. For many, use `blocks`."""
        return next(
            views[infoset - begin]
            for begin, views in self.blocks(player)
            if infoset < begin + len(views)
        )

    def blocks(self, player: int, size: int = 4096) -> Iterator[tuple[int, BatchView]]:
        """Yield `player`'s information sets, `size` at a time: the first one's number and views."""
        begin = 0
        for vectors in self._walk.views(player, size):
            yield begin, BatchView(self.rules, vectors, np.full(len(vectors), player, np.int64))
            begin += len(vectors)

    def find(self, views: BatchView) -> tuple[Ints, Ints]:
        """Return each view's role, 0 for the first leader, and the number of its information set.

        The seats of a view may be exchanged. The number is -1 if the player has no choice.

        Raises:
            HeartsError: if the views are of other rules, or play cannot lead to them.
        """
        if not self.rules.is_same_deal(views.rules):
            raise HeartsError(
                f"rules: the views are of {views.rules.name!r}; give views of {self.rules.name!r}"
            )
        r = self.rules.vector
        keys = np.empty(len(views), np.uint64)
        _write_keys(r, views.vectors, views.players, keys)
        roles: Ints = views.players ^ views.vectors[:, k.FIRST_LEADER]
        legal = views.legal_masks
        found = np.full(len(views), -1, np.int64)
        for role in range(2):
            rows = np.flatnonzero((roles == role) & (legal & (legal - 1) != 0))
            index, order = self._index[role]
            places = np.minimum(np.searchsorted(index, keys[rows]), len(index) - 1)
            if len(rows) and not (len(index) and (index[places] == keys[rows]).all()):
                raise HeartsError(
                    "views: one of them cannot have arisen under these rules; "
                    "give views of played games"
                )
            found[rows] = order[places]
        return roles, found

    def chances_in(self, views: BatchView, chances: tuple[Floats, Floats]) -> Floats:
        """Return a profile's action probabilities in many views, ``(len(views), num_actions)``.

        Raises:
            HeartsError: if the views are of other rules, or play cannot lead to them.
        """
        roles, infosets = self.find(views)
        legal = views.legal_table
        table: Floats = legal.astype(np.float64)
        for role, side in enumerate(self.sides):
            rows = np.flatnonzero((roles == role) & (infosets >= 0))
            if not len(rows):
                continue
            first = side.first[infosets[rows]]
            # The n-th legal action has the n-th sequence.
            place = first[:, None] + np.cumsum(legal[rows], axis=1) - 1
            table[rows] = np.where(legal[rows], chances[role][place], 0.0)
        return table

    @functools.cached_property
    def _index(self) -> list[tuple[Numbers, Ints32]]:
        """Each player's information sets, sorted by key: the keys and the numbers."""
        made = []
        for player, side in enumerate(self.sides):
            keys = np.empty(side.num_infosets, np.uint64)
            for begin, views in self.blocks(player):
                out = keys[begin : begin + len(views)]
                _write_keys(self.rules.vector, views.vectors, views.players, out)
            order = np.argsort(keys, kind="stable").astype(np.int32)
            keys = keys[order]
            # With 64 well mixed bits, keys of a tree that fits into memory hardly ever collide.
            if len(keys) > 1 and (keys[1:] == keys[:-1]).any():
                raise HeartsError("internal error: information sets collide; please report")
            made.append((keys, order))
        return made

    def hand(self, mask: int) -> tuple[str, ...]:
        """Return the cards of a mask."""
        return tuple(card for i, card in enumerate(self.rules.deck) if int(mask) >> i & 1)

    # -- values -----------------------------------------------------------------------------------
    def value(self, chances0: Floats, chances1: Floats) -> float:
        """Return the mean margin of the first leader between these policies, in points per deal."""
        plan0, plan1 = self.sides[0].plan(chances0), self.sides[1].plan(chances1)
        return float(sum_lines(self.ends, self.margins, plan0, plan1)) / self.num_deals

    def gradient(self, player: int, plan: Floats) -> Floats:
        """Return the immediate earnings of each sequence of `player` against the opponent's plan.

        Earnings are points per deal from the lines that end with the sequence, weighted by chance
        and by the opponent's plan.
        """
        out = np.zeros(self.sides[player].num_sequences)
        scale = (1 - 2 * player) / self.num_deals
        add_lines(self.ends[player], self.ends[1 - player], self.margins, plan, scale, out)
        return out

    def __repr__(self) -> str:
        return f"<Tree {self.rules.name}: {self.size}>"


# ---- compiled ------------------------------------------------------------------------------------
@jit
def _write_keys(r: k.Vector, vectors: Ints, players: Ints, keys: Numbers) -> None:
    """Write a key for each view from everything that its player sees, with roles for seats."""
    for i in range(len(vectors)):
        v = vectors[i]
        player = players[i]
        first = v[k.FIRST_LEADER]
        h = k.mix(v[k.HANDS + k.SEAT * player] << 1 | (player ^ first))
        h = k.mix(h ^ np.uint64(v[k.KITTY]))
        other = 1 - first
        seen = v[k.BROKEN] | (v[k.DODGED] + 1) << 1
        seen |= v[k.VOIDS + k.SEAT * first] << 8 | v[k.VOIDS + k.SEAT * other] << 16
        h = k.mix(h ^ np.uint64(seen))
        for j in range(v[k.NUM_PLAYED]):
            seat = k.seat_at(r, v, j) ^ first
            h = k.mix(h ^ np.uint64(k.card_at(r, v, j) | seat << k.SEAT_AT))
        keys[i] = h


@jit
def add_lines(
    own: Ints32, other: Ints32, weights: Array, plan: Floats, scale: float, out: Floats
) -> None:
    """Add weight times `plan` at `other`, times `scale`, to the sequence `own` of each line."""
    for i in range(len(own)):
        out[own[i]] += weights[i] * plan[other[i]] * scale


@jit
def sum_lines(ends: Ints32, margins: Array, plan0: Floats, plan1: Floats) -> float:
    """Return the sum of margins over lines, each times both players' plans."""
    total = 0.0
    for i in range(len(margins)):
        total += margins[i] * plan0[ends[0, i]] * plan1[ends[1, i]]
    return total
