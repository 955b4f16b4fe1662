"""Endgames: the last tricks of a deal as a game of their own, with exact ranges.

What both players have seen of a deal so far is public. What each of them holds is not, but every
pair of hands that agrees with the play can be listed: with four tricks left 3,150 at most. A
*range* is how likely each hand of a player is, by its own play up to here: the product of the
chances with which it would have played each of its cards. Prior, ranges and the rest of the rules
make a game in which nothing is left out, small enough to be solved like a whole one
(``equilibrium.solve``) and to compute what a best response wins in it (``best_response.exploit``).

Solved so, an endgame is right for the ranges it was given. To play a whole deal by solving its end
again is *unsafe* in theory: whoever knows that it will be done may steer into endgames whose ranges
are wrong (Burch, Johanson, Bowling 2014: *Solving imperfect information games using decomposition*;
Brown, Sandholm 2017: *Safe and nested subgame solving*).

``solve_safely`` solves one player's part so that hands of the other gain little by it. The player's
own range is known: it has played by its own policy. That of the other one is a guess. So the other
player is given a choice at the root (Burch et al. 2014): with each hand it may leave, and take what
a best response to the player's policy, unsolved, would have won with that hand. A solution that
leaves every hand no more than this cannot be exploited more than the policy alone, wherever the
other one comes from. Of these, the one that is best against the guessed range is wanted: each hand
counts as often as the range says, without a choice, and more by `PRICE` as often as it stays. With
a high price no hand can win more than before; with a lower one unlikely hands may, a little, and
the likely ones win less. Measured exactly on small decks, 1 is better than 16; at 0.3 the last
three tricks of a strong player are worse solved than not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.cards import cards_of
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.solve.beliefs import (
    Policy,
    begin_past,
    check_two_players,
    log_chances,
    past_plays,
)
from hearts_env.solve.best_response import best_response, take_chances
from hearts_env.solve.regret import (
    DEFAULT_ALGORITHM,
    Lines,
    go_back,
    improve,
    update_of,
    weigh,
)
from hearts_env.solve.side import follow
from hearts_env.solve.tree import (
    DEFAULT_MEMORY,
    Tree,
    _write_keys,
    check_memory,
    count_tree,
    refuse_size,
)
from hearts_env.solve.walk import Walk
from hearts_env.support.arguments import check_chance, check_number, check_player, check_range
from hearts_env.support.arrays import Bools, Floats, Ints, Ints32
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.support.progress import Progress, no_progress
from hearts_env.views.view import PlayerView

MAX_PAIRS = 500_000
"""Pairs of hands of an endgame at most."""
_MOST_TRIED = 20 * MAX_PAIRS
"""Pairs of hands that are looked through for those."""
SHARE = 1e-3
"""Hands less likely than this share of the likeliest are left out."""
PRICE = 1.0
"""How much more a hand counts that wins more by staying than by leaving; the likeliest counts 1."""
ITERATIONS = 200
"""Of a safe solution."""


class Endgame(Tree):
    """The rest of a deal from a public position on, as the tree of a game.

    Seat 0 is side 0 here, whoever leads. Margins are those of the whole deal, points taken so far
    included.

    Attributes:
        tricks_left: Tricks that are not finished.
        deals: The pairs of dealt hands that agree with the play, as masks, ``(n, 2) int64``; with
            `player` those that were kept. ``sides[p].reach`` is the range of seat p over
            ``sides[p].hands``, the likeliest 1.
    """

    def __init__(
        self,
        position: Game | PlayerView,
        policies: Sequence[Policy | None] = (None, None),
        *,
        epsilon: float = 0.0,
        player: int | None = None,
        most_lines: int | None = None,
        max_memory: float = DEFAULT_MEMORY,
    ) -> None:
        """Build the tree.

        Args:
            position: in the play of a game of two; only what both players know of it counts.
            policies: how seat 0 and seat 1 are taken to have played so far: their chances of each
                action (an agent's ``action_probs``); None: all hands alike.
            epsilon: with this chance they are taken to have played at random instead.
            player: whose unlikely hands are left out, those less likely than `SHARE` of its
                likeliest; with those kept go all hands of the other. None: all hands are kept.
            most_lines: a tree of more lines is refused.
            max_memory: gigabytes that tree and solver may take.

        Raises:
            HeartsError: other than two players, not in the play, too early for an endgame, too
                many lines, or a range that is empty: with no hand would the policy have played so.
        """
        if not isinstance(position, Game | PlayerView):
            raise HeartsError(
                f"position: {type(position).__name__} is not a position; "
                "give a Game or game.view(player)"
            )
        rules = position.rules
        check_two_players(rules)
        if position.phase != "play":
            raise HeartsError(
                f"position: its phase is {position.phase!r}; an endgame begins in the play"
            )
        if len(policies) != 2:
            raise HeartsError(f"policies: {len(policies)} given; give one for each of two seats")
        epsilon = check_chance("epsilon", epsilon)
        root = _public(position)
        self.tricks_left = rules.hand_size - int(root[k.TRICK_NUM])
        self.deals = _consistent_deals(position, root)
        known: dict[int, Floats] = {}
        if player is not None:
            likely = _range(rules, root, player, self.deals, policies[player], epsilon)
            kept = likely >= SHARE
            self.deals, known[player] = self.deals[kept], likely[kept]
        walk = Walk(rules, self.deals, root)
        size = count_tree(walk, no_progress if most_lines is None else _limit(most_lines))
        refuse_size(size, check_memory(max_memory))
        ranges = [
            known[p] if p in known else _range(rules, root, p, self.deals, policies[p], epsilon)
            for p in range(2)
        ]
        if not (ranges[0] * ranges[1]).any():
            raise HeartsError(
                "policies: no pair of hands explains the play of both seats; give epsilon, or None"
            )
        reach = []
        for p in range(2):
            reach.append(np.zeros(len(walk.hands[p])))
            reach[p][walk.ids[p]] = ranges[p]
        self._build(walk, size, reach)

    def _roles(self, views: BatchView) -> Ints:
        return views.players

    def has(self, views: BatchView) -> Bools:
        """Which views have a choice that is one of the tree's, ``(len(views),)``."""
        keys = np.empty(len(views), np.uint64)
        _write_keys(self.rules.vector, views.vectors, views.players, keys)
        found = np.zeros(len(views), np.bool_)
        for player, (index, _) in enumerate(self._index):
            if len(index):
                places = np.minimum(np.searchsorted(index, keys), len(index) - 1)
                found |= (views.players == player) & (index[places] == keys)
        return found

    def chances_of(self, player: int, policy: Policy) -> Floats:
        """The chances of a policy's actions, one a sequence, asked only where it may get to.

        Elsewhere they are uniform. What the policy says is not checked.
        """
        side = self.sides[player]
        chances, plan = side.uniform(), np.ones(side.num_sequences)
        counts = np.diff(side.first)
        owner = np.repeat(np.arange(side.num_infosets), counts)
        depth = np.zeros(side.num_infosets, np.int64)
        later = np.flatnonzero(side.parent >= len(side.hands))
        before = owner[side.parent[later] - len(side.hands)]
        for _ in range(self.tricks_left):
            depth[later] = depth[before] + 1
        for begin, views in self.blocks(player):  # in the order of the game
            of_block = slice(begin, begin + len(views))
            for step in np.unique(depth[of_block]):
                here = begin + np.flatnonzero(depth[of_block] == step)
                rows = here[plan[side.parent[here]] > 0]
                if len(rows):
                    some = views.subset(rows - begin)
                    take_chances(some.legal_masks, side.first[rows], policy(some), chances)
                sizes = counts[here]
                own = np.repeat(side.first[here] - np.cumsum(sizes) + sizes, sizes)
                own += np.arange(len(own))
                plan[own] = chances[own] * np.repeat(plan[side.parent[here]], sizes)
        return chances

    def __repr__(self) -> str:
        return f"<Endgame of {self.rules.name}, {self.tricks_left} tricks: {self.size}>"


def _public(position: Game | PlayerView) -> k.Vector:
    """The state with everything that is not known to both players empty."""
    vector = position.vector.copy()
    for p in range(2):
        vector[k.HANDS + k.SEAT * p] = 0
    if vector[k.KITTY_TAKER] < 0:
        vector[k.KITTY] = 0
    return vector


def _consistent_deals(position: Game | PlayerView, root: k.Vector) -> Ints:
    """All pairs of dealt hands with which everything seen can have happened, as masks.

    Raises:
        HeartsError: there are too many.
    """
    rules, r = position.rules, position.rules.vector
    played = [int(root[k.PLAYED + k.SEAT * p]) for p in range(2)]
    left = [int(k.cards_left(r, root, p)) for p in range(2)]
    unseen = int(r[k.R_DECK]) & ~played[0] & ~played[1]
    if root[k.KITTY_TAKER] >= 0:
        unseen &= ~int(root[k.KITTY])
    free = [list(cards_of(unseen & ~int(root[k.EXCLUDED + k.SEAT * p]))) for p in range(2)]
    choices = [
        np.array(
            [sum(1 << card for card in cards) for cards in itertools.combinations(free[p], left[p])]
            if math.comb(len(free[p]), left[p]) <= MAX_PAIRS
            else [],
            np.int64,
        )
        for p in range(2)
    ]
    number = len(choices[0]) * len(choices[1])
    if not 0 < number <= _MOST_TRIED:
        raise HeartsError(
            f"position: {rules.hand_size - int(root[k.TRICK_NUM])} tricks are left, too many pairs "
            "of hands for an endgame; play on for some tricks"
        )
    deals = np.empty((MAX_PAIRS, 2), np.int64)
    state = np.empty(rules.state_size, np.int64)
    found = _write_pairs(r, root, choices[0], choices[1], state, deals)
    if found > len(deals):
        raise HeartsError(
            f"position: {found:,} pairs of hands agree with the play, more than {MAX_PAIRS:,}; "
            "play on for some tricks"
        )
    if found == 0:
        raise HeartsError("position: no hands can have led to it; give one of a played game")
    return deals[:found].copy()


def check_tricks_left(rules: Rules, tricks: int) -> None:
    """Refuse rules whose last tricks may have too many pairs of hands for an endgame.

    Raises:
        HeartsError: they may; the message says how many.
    """
    tricks = min(tricks, rules.hand_size)
    unseen = len(rules.deck) - 2 * (rules.hand_size - tricks)
    hands = math.comb(unseen, tricks)
    pairs = hands * math.comb(unseen - tricks, tricks)
    if pairs > MAX_PAIRS or hands**2 > _MOST_TRIED:
        raise HeartsError(
            f"tricks: the last {tricks} of {rules.name!r} may have {pairs:,} pairs of hands, too "
            "many for an endgame; give fewer"
        )


@jit
def _write_pairs(
    r: k.Vector, root: k.Vector, hands0: Ints, hands1: Ints, s: k.Vector, deals: Ints
) -> int:
    """Write the pairs of dealt hands that lead to what is seen of `root`; how many there are."""
    count = 0
    for i in range(len(hands0)):
        for j in range(len(hands1)):
            if hands0[i] & hands1[j]:
                continue
            hand0 = hands0[i] | root[k.PLAYED]
            hand1 = hands1[j] | root[k.PLAYED + k.SEAT]
            if agrees(r, root, hand0, hand1, s):
                if count < len(deals):
                    deals[count, 0] = hand0
                    deals[count, 1] = hand1
                count += 1
    return count


@jit
def agrees(r: k.Vector, root: k.Vector, hand0: int, hand1: int, s: k.Vector) -> bool:
    """Whether these hands, played as in `root`, show what it shows; `s` becomes that position."""
    begin_past(r, root, hand0, hand1, s)
    for t in range(root[k.NUM_PLAYED]):
        card = k.card_at(r, root, t)
        if s[k.PLAYER] != k.seat_at(r, root, t) or not k.legal_mask(r, s) >> card & 1:
            return False
        k.play(r, s, card)
    if s[k.PLAYER] != root[k.PLAYER]:  # before the first lead: who has it is seen
        return False
    if s[k.BROKEN] != root[k.BROKEN] or s[k.DODGED] != root[k.DODGED]:
        return False
    # Voids follow from the cards played and from these two.
    return s[k.KITTY_TAKER] < 0 or s[k.KITTY] == root[k.KITTY]


def _range(
    rules: Rules, root: k.Vector, p: int, deals: Ints, policy: Policy | None, epsilon: float
) -> Floats:
    """How likely seat `p` is to have played as it did, in each of the deals, the likeliest 1.

    Raises:
        HeartsError: with none at all.
    """
    if policy is None:
        return np.ones(len(deals))
    # One pair for each hand: what a player sees of its own past does not depend on the other's.
    _, pairs, of = np.unique(deals[:, p], return_index=True, return_inverse=True)
    vectors, actions = past_plays(rules, root, p, deals[pairs])
    logs, alive = np.zeros(len(pairs)), np.arange(len(pairs))
    for play in range(len(actions) // len(pairs)):  # hands that are ruled out are not asked again
        rows = alive * (len(actions) // len(pairs)) + play
        views = BatchView(rules, vectors[rows], np.full(len(rows), p, np.int64))
        logs[alive] += log_chances(views, actions[rows], policy, epsilon)
        alive = np.flatnonzero(np.isfinite(logs))
    if not len(alive):
        raise HeartsError(
            f"policies: with no hand would that of seat {p} have played so; give epsilon, or None"
        )
    likely: Floats = np.exp(logs - logs.max())
    return likely[of]


def _limit(most_lines: int) -> Progress:
    """What a walk tells how far it is, so that one of too many lines ends early."""

    def refuse(done: float, _: float) -> None:
        if done > most_lines:
            raise HeartsError(
                f"most_lines: the endgame has {done:,.0f} lines or more, and {most_lines:,} are "
                "allowed; allow more, or play on for some tricks"
            )

    return refuse


# ---- safe solving --------------------------------------------------------------------------------
def solve_safely(
    tree: Tree,
    player: int,
    policy: Floats,
    *,
    price: float = PRICE,
    iterations: int = ITERATIONS,
) -> Floats:
    """One player's part of an endgame, with which the other's hands win hardly more than before.

    Args:
        tree: the endgame; ``tree.sides[p].reach`` are the ranges.
        player: whose part is solved.
        policy: what it would play unsolved: its chances, one a sequence.
        price: what each point costs that a hand wins more than before; 0: nothing, which is unsafe.
        iterations: of regret minimisation.

    Returns:
        Its chances, one a sequence.

    Raises:
        HeartsError: `policy` is not a policy, or another argument is out of range.
    """
    player = check_player(player, 2)
    price = check_price(price)
    check_number("iterations", iterations, 1, None)
    other = 1 - player
    by_leaving = best_response(tree, other, policy).hand_values * tree.num_deals
    sizes = [side.num_sequences for side in tree.sides]
    arrays = _Arrays(
        values=np.zeros(max(sizes)),
        chances=(tree.sides[0].uniform(), tree.sides[1].uniform()),
        regrets=(np.zeros(sizes[0]), np.zeros(sizes[1])),
        plans=(np.zeros(sizes[0]), np.zeros(sizes[1])),
        average=np.zeros(sizes[player]),
        hand_regrets=np.zeros((2, len(by_leaving))),
    )
    _iterate(
        tuple((side.parent, side.first, side.top, side.reach) for side in tree.sides),
        tuple((tree.ends[p], tree.ends[1 - p], tree.margins) for p in range(2)),
        tuple(np.ascontiguousarray(tree.marks[:, [0, 1 + p]]) for p in range(2)),
        player,
        by_leaving,
        price,
        np.array([update_of(DEFAULT_ALGORITHM, t + 1) for t in range(iterations)]),
        arrays,
    )
    return tree.sides[player].chances(arrays.average)


def check_price(price: float) -> float:
    """What each point may cost that a hand wins more than before.

    Raises:
        HeartsError: it is something else.
    """
    return check_range("price", price, 0.0, 1e6)


class _Arrays(NamedTuple):
    """What regret minimisation of an endgame works on, for either player one number a sequence."""

    values: Floats
    """Zero before and after, as in ``regret.Memory``."""
    chances: tuple[Floats, Floats]
    regrets: tuple[Floats, Floats]
    plans: tuple[Floats, Floats]
    average: Floats
    """The sum of the plans of the player whose part is solved, weighed."""
    hand_regrets: Floats
    """``(2, hands)``: of the other player's hands, of staying and of leaving."""


@jit
def _iterate(
    sides: tuple[tuple[Ints32, Ints32, int, Floats], ...],
    lines: tuple[Lines, ...],
    marks: tuple[Ints, ...],
    player: int,
    by_leaving: Floats,
    price: float,
    updates: Floats,
    arrays: _Arrays,
) -> None:
    """Regret minimisation of both parts and of the choice of the other's hands, in place.

    Args:
        sides: of either player ``parent``, ``first``, ``top`` and ``reach`` (``Side``).
        lines: of either player, as ``go_back`` takes them.
        marks: likewise.
        player: whose part is wanted.
        by_leaving: what each hand of the other wins by leaving, times the number of deals.
        price: how much more a hand counts that stays.
        updates: ``(iterations, 4)``: how each counts.
        arrays: what is changed.
    """
    values, hand_regrets = arrays.values, arrays.hand_regrets
    for t in range(-1, len(updates)):
        # At first both players' plans are made, from even chances.
        update = (int(updates[t, 0]), updates[t, 1], updates[t, 2], updates[t, 3])
        for p in (player, 1 - player):
            parent, first, top, reach = sides[p]
            plan, hands = arrays.plans[p], len(reach)
            if t >= 0:
                sets = (parent, first, 0)
                memory = (values, arrays.chances[p], arrays.regrets[p])
                other_plan = arrays.plans[1 - p]
                go_back(marks[p], lines[p], other_plan, 1 - 2 * p, sets, memory, values, update)
                improve(0, top, sets, memory, values, update)
            if t >= 0 and p != player:
                _stay_or_leave(values, by_leaving, hand_regrets)
            for hand in range(hands):
                values[hand] = 0.0
                plan[hand] = reach[hand]
                if p != player:
                    plan[hand] += price * _staying(hand_regrets, hand)
            follow(parent, first, arrays.chances[p], plan)
            if p == player and t >= 0:
                weigh(0, len(arrays.average), plan, update[3], arrays.average)


@jit
def _staying(hand_regrets: Floats, hand: int) -> float:
    """How often a hand stays."""
    total = hand_regrets[0, hand] + hand_regrets[1, hand]
    return hand_regrets[0, hand] / total if total > 0.0 else 0.5


@jit
def _stay_or_leave(by_staying: Floats, by_leaving: Floats, hand_regrets: Floats) -> None:
    """Change the regrets: of either choice what it wins more than both on average."""
    for hand in range(len(by_leaving)):
        gain = by_staying[hand] - by_leaving[hand]
        stay = _staying(hand_regrets, hand)
        hand_regrets[0, hand] = max(hand_regrets[0, hand] + (1.0 - stay) * gain, 0.0)
        hand_regrets[1, hand] = max(hand_regrets[1, hand] - stay * gain, 0.0)
