"""A two-player game in sequence form: every information set, every choice, every outcome.

Only deals in which seat 0 leads first are counted, all equally likely: the others are the same
game with the seats exchanged, so that the whole game is worth nothing and this half of it is worth
something to the first leader. What one player's plan of play is worth against another's is linear
in both (von Stengel 1996: *Efficient computation of behavior strategies*):

- An *information set* is one view of the player to act, where more than one action is legal. A
  forced action is no choice and has none.
- A *sequence* is an information set of a player with one of its actions: all that this player has
  chosen so far. The sequences of an information set follow one another, in order of action. Each
  hand that can be dealt has an empty sequence, before the first choice: 0 to number of hands - 1.
- A *plan* gives each sequence the product of the player's own chances on the way to it.
- A *line* is a deal played to its end, with the last sequence of each player and the points by
  which seat 0 is ahead.

All arrays are in the order of a walk through the public histories (``hearts_env.solve.walk``), so
that what is earlier in the game is earlier in the array.

With two cards each from a deck of four, hearts being trumps and the lowest club led first, there
are three deals:

>>> from hearts_env.cards import ALL_CARDS
>>> others = tuple(card for card in ALL_CARDS if card not in ("QC", "AC", "QS", "AH"))
>>> tree = Tree(Rules.preset("micro").replace(removed=others, hand_size=2))
>>> leader, other = tree.sides
>>> [tree.hand(mask) for mask in leader.hands]
[('QC', 'AC'), ('QC', 'QS'), ('QC', 'AH')]
>>> [tree.hand(mask) for mask in other.hands]
[('AC', 'QS'), ('AC', 'AH'), ('QS', 'AH')]

The other player has one choice, in its last hand, whose empty sequence is 2: to throw the queen on
the club or to take it with the trump. These are its sequences 3 and 4:

>>> other.parent.tolist(), other.first.tolist(), [tree.rules.deck[a] for a in other.actions(0)]
([2], [3, 5], ['QS', 'AH'])

So there are four lines, of which two end with the leader's first sequence. The queen makes 13
points to 1; the trump shoots the moon, as it does in the other two deals:

>>> leader.start.tolist(), leader.column.tolist(), leader.payoff.tolist()
([0, 2, 3, 4], [3, 4, 1, 0], [-12, -15, -15, 15])
>>> tree.value(leader.uniform(), other.uniform())
-4.5
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.solve.beliefs import check_two_players
from hearts_env.solve.side import Side
from hearts_env.solve.walk import (
    DEALS,
    INFOSETS,
    LINES,
    POSITIONS,
    SEQUENCES,
    Records,
    Walk,
    num_deals,
    start_deal,
)
from hearts_env.support.arguments import check_positive
from hearts_env.support.arrays import Bytes, Floats, Ints, Ints32, Numbers
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.views.view import PlayerView
from hearts_env.views.worlds import Worlds

DEFAULT_MEMORY = 5.0
"""Gigabytes (10^9 bytes) that a tree and its solver may take where nothing else is said."""
GROUPS = 2
"""Groups of hands whose information sets follow one another, for as many threads to share the work.

More cost one thread more than they gain: what is near in the game lies less near in memory.
"""

_SAMPLES = 300
"""Lines that an estimate draws."""
_MOST_DEALS = 50_000_000
"""More deals than that are not counted one by one."""


# ---- how large a tree is -------------------------------------------------------------------------
def check_memory(max_memory: float) -> float:
    """A number of gigabytes.

    Raises:
        HeartsError: if it is not a positive finite number.
    """
    return check_positive("max_memory", max_memory, ", in gigabytes, like 5")


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
        """Bytes that solving it takes, beside the tree."""
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
    """``16,632``, or ``3.1e+15`` where there are too many digits."""
    return f"{number:,.0f}" if number < 1e9 else f"{number:.1e}"


def format_gigabytes(gigabytes: float) -> str:
    """Like ``0.15 GB`` or ``2.1e+08 GB``."""
    return f"{gigabytes:.2g} GB" if gigabytes < 1e3 else f"{gigabytes:.1e} GB"


def estimate(rules: Rules | str, samples: int = _SAMPLES, seed: int = 0) -> TreeSize:
    """The size of the tree from random lines, each weighted by the choices along it (Knuth 1975).

    A position met stands for as many as there were choices on the way to it; an information set
    has one position for each of the worlds that its player holds possible.

    Raises:
        HeartsError: rules of other than two players, or with an exchange.
    """
    rules = Rules.make(rules)
    check_two_players(rules)
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
    size = estimate(rules)
    if size.gigabytes > 2 * check_memory(max_memory) or size.deals > _MOST_DEALS:
        return size
    return count_tree(Walk(size.rules))


def refuse_size(size: TreeSize, max_memory: float) -> None:
    """Refuse a tree that is too large.

    Raises:
        HeartsError: it takes more than `max_memory` gigabytes; the message has the figure.
    """
    if not size.exact or size.gigabytes > max_memory:
        raise HeartsError(
            f"max_memory: the game tree of {size.rules.name} does not fit into {max_memory:g} GB: "
            f"{size}; allow more, or take fewer cards, like micro, mini and mini_6"
        )


def count_tree(walk: Walk) -> TreeSize:
    """The size of the tree of a walk, counted."""
    totals = walk.count()
    deals, positions, lines = (float(totals[i]) for i in (DEALS, POSITIONS, LINES))
    pairs = [(float(totals[first]), float(totals[first + 1])) for first in (INFOSETS, SEQUENCES)]
    return TreeSize(walk.rules, deals, positions, lines, pairs[0], pairs[1], exact=True)


# ---- the tree ------------------------------------------------------------------------------------
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
        size = measure(rules, max_memory)
        refuse_size(size, max_memory)
        self.rules = size.rules
        walk = Walk(self.rules)
        self._build(walk, size, [np.ones(len(hands)) for hands in walk.hands])

    def _build(self, walk: Walk, size: TreeSize, reach: list[Floats]) -> None:
        """Make the sides from a walk of known size, hands as likely as `reach` says."""
        self.size = size
        ids = walk.ids
        self.deals_of_hands = [
            np.bincount(ids[p], reach[1 - p][ids[1 - p]], len(walk.hands[p])) for p in range(2)
        ]
        self.num_deals = float(reach[0] @ self.deals_of_hands[0])
        lines, infosets = int(size.lines), [int(n) for n in size.infosets]
        records = walk.write(lines, max(infosets))
        cuts = []
        for p in range(2):
            records.first[p, infosets[p]] = len(walk.hands[p]) + int(size.sequences[p])
            cuts.append(_group(records, p, infosets[p], walk.hands[p]))
        sides = []
        for p, n in enumerate(infosets):
            start = np.zeros(records.first[p, n] + 1, np.int64)
            column, payoff = np.empty(lines, np.int32), np.empty(lines, np.int32)
            own, other = records.ends[p], records.ends[1 - p]
            _sort_lines(own, other, records.margins, 1 - 2 * p, start, column, payoff)
            sides.append(
                Side(
                    hands=walk.hands[p],
                    reach=reach[p],
                    parent=records.parent[p, :n],
                    first=records.first[p, : n + 1],
                    legal=records.legal[p, :n],
                    own=records.own[p, :n],
                    other=records.other[p, :n],
                    history=records.history[p, :n],
                    length=records.length[p, :n],
                    start=start,
                    column=column,
                    payoff=payoff,
                    cuts=cuts[p],
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
        vectors = np.empty((number, self.rules.state_size), np.int64)
        dealt = (side.own, side.other)[:: 1 - 2 * player]
        past = dealt[0][rows], dealt[1][rows], side.history[rows], side.length[rows]
        state = np.empty(self.rules.state_size, np.int64)
        _write_views(self.rules.vector, player, past, self.dealer, state, vectors)
        return BatchView(self.rules, vectors, np.full(number, player, np.int64))

    def blocks(self, player: int, size: int = 4096) -> Iterator[tuple[int, BatchView]]:
        """All information sets of `player` as views, in parts, each with its first."""
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
                f"rules: the views are of {views.rules.name!r}; give views of {self.rules.name!r}"
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
                raise HeartsError(
                    "views: one of them cannot have arisen under these rules; "
                    "give views of played games"
                )
            found[rows] = order[places]
        return roles, found

    def chances_in(self, views: BatchView, chances: tuple[Floats, Floats]) -> Floats:
        """What a profile of chances does in many views, ``(len(views), num_actions)``.

        Raises:
            HeartsError: the views are of other rules, or cannot have arisen.
        """
        roles, infosets = self.find(views)
        legal = views.legal_table
        table: Floats = legal.astype(np.float64)
        for role, side in enumerate(self.sides):
            rows = np.flatnonzero((roles == role) & (infosets >= 0))
            first = side.first[infosets[rows]]
            # The n-th legal action has the n-th sequence.
            place = first[:, None] + np.cumsum(legal[rows], axis=1) - 1
            table[rows] = np.where(legal[rows], chances[role][place], 0.0)
        return table

    def _roles(self, views: BatchView) -> Ints:
        """Which side each view is of."""
        roles: Ints = views.players ^ views.vectors[:, k.FIRST_LEADER]
        return roles

    @functools.cached_property
    def _index(self) -> list[tuple[Numbers, Ints]]:
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
                raise HeartsError("internal error: information sets collide; please report")
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

    def gradient(self, player: int, plan: Floats, number: int | None = None) -> Floats:
        """What each sequence of `player` earns at once, given the other player's plan.

        In points a deal, for lines that end with it, weighted by chance and by the other's plan.
        With `number`, of this many sequences alone, the first ones: of the hands, for example.
        """
        side = self.sides[player]
        out = np.empty(side.num_sequences if number is None else number)
        _write_gradient(side.lines, plan, 1.0 / self.num_deals, out)
        return out

    def reach(self, player: int, plan: Floats) -> Floats:
        """How likely the lines that end with each sequence of `player` are, given the other's plan.

        By chance and by the other's plan alone: as if the player itself had gone that way.
        """
        side = self.sides[player]
        ones = np.ones(len(side.payoff), np.int32)
        out = np.empty(side.num_sequences)
        _write_gradient((side.start, side.column, ones), plan, 1.0 / self.num_deals, out)
        return out

    def __repr__(self) -> str:
        return f"<Tree {self.rules.name}: {self.size}>"


def _group(out: Records, p: int, n: int, hands: Ints) -> list[int]:
    """Renumber the information sets, those of the first hands first, in place.

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


# ---- compiled ------------------------------------------------------------------------------------
@jit
def _sort_lines(
    own: Ints32,
    other: Ints32,
    margins: Ints32,
    sign: int,
    start: Ints,
    column: Ints32,
    payoff: Ints32,
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
    past: tuple[Ints, Ints, Bytes, Bytes],
    dealer: int,
    s: k.Vector,
    out: Ints,
) -> None:
    """Write what `player` sees, a row for each history; `s` is memory for the replay.

    `past` are the hands dealt to seat 0, those dealt to seat 1, the cards played, and how many.
    """
    hands0, hands1, history, length = past
    for i in range(len(length)):
        start_deal(r, s, hands0[i], hands1[i], dealer)
        for j in range(length[i]):
            k.play(r, s, history[i, j] & 63)
        k.write_view(r, s, player, out[i])


@jit
def _write_keys(r: k.Vector, vectors: Ints, players: Ints, keys: Numbers) -> None:
    """Write a number for each view by all that its player sees, seats by role."""
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
            code = k.play_at(r, v, j)
            h = k.mix(h ^ np.uint64(code & 63 | (code >> 6 ^ first) << 6))
        keys[i] = h


@jit
def _write_gradient(
    lines: tuple[Ints, Ints32, Ints32], plan: Floats, scale: float, out: Floats
) -> None:
    """Write the sum of payoff times plan, times `scale`, over the lines of each sequence."""
    start, column, payoff = lines
    for i in range(len(out)):
        total = 0.0
        for j in range(start[i], start[i + 1]):
            total += payoff[j] * plan[column[j]]
        out[i] = total * scale
