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

Everything lies in arrays in the order in which a walk through the public histories meets it
(``hearts_env.solve.walk``), so that what comes before in the game comes before in the array.

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

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.solve.side import Side, backward_best, backward_mean
from hearts_env.solve.tree_size import (
    DEFAULT_MEMORY,
    TreeSize,
    check_memory,
    check_rules,
    count_tree,
    estimate,
    format_count,
    format_gigabytes,
    measure,
    refuse_size,
)
from hearts_env.solve.walk import Records, Walk, num_deals, start_deal
from hearts_env.support.arrays import Bytes, Floats, Ints, Ints32, Numbers
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.views.view import PlayerView

__all__ = [
    "DEFAULT_MEMORY",
    "GROUPS",
    "Side",
    "Tree",
    "TreeSize",
    "Walk",
    "backward_best",
    "backward_mean",
    "check_memory",
    "check_rules",
    "count_tree",
    "estimate",
    "format_count",
    "format_gigabytes",
    "measure",
    "num_deals",
    "refuse_size",
]

GROUPS = 2
"""Groups of hands whose information sets follow one another, for as many threads to share the work.

More cost one thread more than they gain: what is near in the game lies less near in memory.
"""


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
    """Write what `player` sees, a row for each history.

    Args:
        r: The rules.
        player: Whose views.
        past: n hands dealt to seat 0, n dealt to seat 1, as masks; the cards played,
            ``(n, 2 * hand_size)``, as in `Side`; and how many they are, ``(n,)``.
        dealer: The dealer.
        s: ``(rules.state_size,)``, for notes.
        out: ``(n, rules.state_size)``.
    """
    hands0, hands1, history, length = past
    for i in range(len(length)):
        start_deal(r, s, hands0[i], hands1[i], dealer)
        for j in range(length[i]):
            k.play(r, s, history[i, j] & 63)
        k.write_view(r, s, player, out[i])


@jit
def _write_keys(r: k.Vector, vectors: Ints, players: Ints, keys: Numbers) -> None:
    """Write a number for each view that tells apart what differs to its player, seats by role."""
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
