"""Exact responses to a known policy, computed over all possible worlds.

Against a known policy, a game of two is a game against chance. Bayes' rule gives the probability of
each possible world (``hearts_env.solve.beliefs``), and the policy gives the opponent's actions in
each world. So all continuations can be listed, and the best response is exact.

The search goes forward through batches of information sets (``InfoSets``), each with its possible
worlds and their weights. One step asks the policy about every world in a single call, branches by
the opponent's and the player's actions, and sorts the resulting worlds into the next batch. At its
own decisions the player either *searches*, trying all of its cards, or plays the card named by a
*chooser*. Searching every decision gives the exact best response. Searching only the first gives
one step of policy improvement over the chooser: the local best response of Lisy and Bowling 2017
(*Equilibrium approximation quality of current no-limit poker bots*) with exact beliefs and deals
played to their end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.kernel import write_legal, write_views
from hearts_env.rules.rules import Rules
from hearts_env.solve.beliefs import InfoSets
from hearts_env.solve.dd.search import card_values
from hearts_env.solve.double_dummy import borrowed
from hearts_env.solve.policies import Policy, asked_in_blocks
from hearts_env.solve.walk import Walk, start_deal
from hearts_env.support.arrays import Array, Bools, Floats, Ints
from hearts_env.support.bits import highest, lowest
from hearts_env.support.jit import jit

ALL = 1_000
"""More decisions than any deal has, so all are searched."""
TIE = 1e-9
"""The largest difference between equal values. Of equal cards the lowest is played."""
_ROUND = 0.5 - 1e-6
"""Added before rounding down. Halves go down, even if a rounding error has moved them a little."""
_MOST_ROWS = 1 << 16
"""The most worlds in one step, which takes 50 MB."""
_ACTIONS = 64
"""An upper bound of the number of actions, to number the pairs of information set and action."""


def whole_game(rules: Rules, seat: int) -> InfoSets:
    """Return all deals in which seat 0 leads first, equally likely, by information sets of `seat`.

    Use it for small decks, whose deals can be listed. All weights add up to 1.
    """
    deals = Walk(rules).deals
    deals = deals[np.argsort(deals[:, seat], kind="stable")]
    states = np.empty((len(deals), rules.state_size), np.int64)
    _write_deals(rules.vector, deals, states)
    own = deals[:, seat]
    starts = np.concatenate([[0], np.flatnonzero(own[1:] != own[:-1]) + 1, [len(own)]])
    weights = np.full(len(own), 1.0 / len(own))
    return InfoSets(states, weights, starts, np.full(len(starts) - 1, seat))


Chooser = Callable[[InfoSets], Ints]
"""Returns the action of the player to act in each information set, ``(sets,) int64``."""


def is_awake(awake: Sequence[int] | None) -> Bools:
    """Return, for each trick from 0, whether it is in `awake`, which counts from 1.

    The shape is ``(MAX_CARDS + 1,)``. If `awake` is None, all elements are True.
    """
    found = np.full(k.MAX_CARDS + 1, awake is None)
    if awake is not None:
        found[np.array(awake, np.int64) - 1] = True
    return found


class _Step(NamedTuple):
    """The link from a batch of information sets to the next, to pass values back."""

    ended: Floats
    """``(sets,)``: the earnings in worlds that are over."""
    parents: Ints
    """``(next sets,)``: the information set before each of the next ones."""
    actions: Ints
    """``(next sets,)``: the action that leads to each."""
    is_searched: Array
    """``(sets,) bool``: if True, the best action counts, else the sum over all."""


class _Plan(NamedTuple):
    """How each information set continues: the decisions to search, and the group for thinning."""

    depth: Ints
    """``(sets,)``: the number of the player's own decisions still to search."""
    branch: Ints
    """``(sets,)``: sets with the same number share the selection if there are too many worlds."""


class Responses:
    """The values of cards against a policy."""

    def __init__(
        self,
        rules: Rules,
        policy: Policy,
        chooser: Chooser | None = None,
        *,
        most_worlds: int | None = None,
        awake: Sequence[int] | None = None,
    ) -> None:
        """Make the responses to `policy`.

        Args:
            rules: rules of two players without an exchange.
            policy: the opponent's action probabilities, like ``Agent.action_probs``.
            chooser: the player's action where it does not search. If None, ``by_worlds``.
            most_worlds: the most worlds after one card. If a mixed policy leads to more, an even
                selection is kept. If None, all are kept.
            awake: the tricks, from 1, in which the player searches or the chooser plays. In all
                other tricks the player follows `policy`. If None, all tricks.
        """
        self.rules = rules
        self.policy = policy
        self.chooser = self.by_worlds if chooser is None else chooser
        self.most_worlds = most_worlds
        self._is_awake = is_awake(awake)
        # After so many cards the last trick is forced; a shooter may still have to choose after it.
        self._forced = 2 * rules.hand_size - 2 if rules.moon != "choose" else ALL
        # Deals separate if more than the card is seen (see ``walk``).
        self._shows_more = bool(rules.queen_any_time) or rules.kitty_to != "nobody"

    # -- queries ----------------------------------------------------------------------------------
    def card_values(self, infosets: InfoSets, depth: int = ALL) -> Floats:
        """Return the value of each card: the mean margin times the information set's weight.

        Args:
            infosets: information sets in which their player is to act.
            depth: the number of the player's own decisions to search, this one included. After
                that, the policy given as `chooser` plays.

        Returns:
            ``(sets, num_actions)``, -inf for illegal actions.
        """
        sets = len(infosets.seats)
        table = np.full((sets, self.rules.num_actions), -np.inf)
        if sets:
            plan = _Plan(np.full(sets, depth), np.arange(sets))
            step, following, after = self._step(infosets, plan, is_first=True)
            values = self._values(following, after)
            table[step.parents, step.actions] = 0.0
            np.add.at(table, (step.parents, step.actions), values)
        return table

    def best(self, infosets: InfoSets, depth: int = ALL) -> Ints:
        """Return the best action in each information set, ``(sets,) int64``."""
        values = self.card_values(infosets, depth)
        values /= infosets.totals[:, None]
        found: Ints = (values >= values.max(1, keepdims=True) - TIE).argmax(1)
        return found

    def value(self, infosets: InfoSets, depth: int = 0) -> float:
        """Return the player's margin from here on, summed over worlds times their weights.

        The first `depth` of its own decisions are searched. Then the chooser plays.
        """
        plan = _Plan(np.full(len(infosets.seats), depth), np.zeros(len(infosets.seats), np.int64))
        return float(self._values(infosets, plan).sum())

    def by_worlds(self, infosets: InfoSets) -> Ints:
        """Return the action with the best mean double-dummy value over the worlds of each set."""
        actions = np.empty(len(infosets.seats), np.int64)
        notes = np.empty(k.MAX_CARDS, np.int64), np.empty(k.MAX_CARDS)
        r, worlds = self.rules.vector, (infosets.states, infosets.weights, infosets.starts)
        with borrowed(self.rules) as table:
            _best_by_worlds(r, *worlds, table, notes, actions)
        return actions

    # -- forward and back -------------------------------------------------------------------------
    def _values(self, infosets: InfoSets, plan: _Plan) -> Floats:
        """Return the value of each information set, ``(sets,)``."""
        steps: list[_Step] = []
        while len(infosets.seats):
            if len(infosets.states) > _MOST_ROWS and len(infosets.seats) > 1:
                values = self._values_in_parts(infosets, plan)
                break
            step, infosets, plan = self._step(infosets, plan)
            steps.append(step)
        else:
            values = np.empty(0)
        for step in reversed(steps):
            values = _back(step, values)
        return values

    def _values_in_parts(self, infosets: InfoSets, plan: _Plan) -> Floats:
        """Return ``_values``, computed for one half of the worlds after the other."""
        middle = int(np.searchsorted(infosets.starts, len(infosets.states) // 2))
        middle = min(max(middle, 1), len(infosets.seats) - 1)
        parts = []
        for first, last in ((0, middle), (middle, len(infosets.seats))):
            part = _Plan(plan.depth[first:last], plan.branch[first:last])
            parts.append(self._values(infosets.slice(first, last), part))
        return np.concatenate(parts)

    def _step(
        self, infosets: InfoSets, plan: _Plan, *, is_first: bool = False
    ) -> tuple[_Step, InfoSets, _Plan]:
        """Return everything that can follow after one action."""
        rules, numbers, firsts = self.rules, infosets.numbers, infosets.starts[:-1]
        movers = infosets.states[firsts, k.PLAYER]
        is_over = movers < 0
        if not is_first:
            is_over |= infosets.states[firsts, k.NUM_PLAYED] >= self._forced
        is_own = (
            ~is_over
            & (movers == infosets.seats)
            & self._is_awake[infosets.states[firsts, k.TRICK_NUM]]
        )
        legal = np.empty(len(infosets.seats), np.int64)
        write_legal(rules.vector, np.ascontiguousarray(infosets.states[firsts]), legal)
        is_choice = is_own & (legal & (legal - 1) != 0)
        is_searched = is_choice & (plan.depth > 0)
        tried = np.where(is_own, legal, 0)
        chosen = np.flatnonzero(is_choice & ~is_searched)
        if len(chosen):
            tried[chosen] = 1 << self.chooser(infosets.subset(chosen))
        ended = np.zeros(len(infosets.seats))
        if is_over.any():
            over = np.flatnonzero(is_over[numbers])
            ends = np.empty((len(over), rules.state_size), np.int64)
            _write_ends(rules.vector, infosets.states, over, ends)
            earned = self._margins(ends, infosets.seats[numbers[over]])
            np.add.at(ended, numbers[over], infosets.weights[over] * earned)
        replies = self._replies(infosets, numbers, ~is_over & ~is_own)
        rows, played, weights = _branches(infosets, tried, *replies)
        states = np.empty((len(rows), infosets.states.shape[1]), np.int64)
        _write_after(rules.vector, infosets.states, rows, played, states)
        keys = numbers[rows] * _ACTIONS + played
        if self._shows_more:
            order = np.lexsort((_shown(states), keys))
            rows, weights, keys, states = rows[order], weights[order], keys[order], states[order]
        starts = self._starts(states, keys)
        branch = self._branch(plan, is_searched, keys[starts[:-1]])
        most = self.most_worlds
        if most is not None and np.bincount(branch, np.diff(starts)).max(initial=0) > most:
            taken, weights = _thinned(np.repeat(branch, np.diff(starts)), weights, most)
            keys, states = keys[taken], states[taken]
            starts = self._starts(states, keys)
            branch = self._branch(plan, is_searched, keys[starts[:-1]])
        parents, actions = np.divmod(keys[starts[:-1]], _ACTIONS)
        step = _Step(ended, parents, actions, is_searched)
        after = _Plan(plan.depth[parents] - is_searched[parents], branch)
        return step, InfoSets(states, weights, starts, infosets.seats[parents]), after

    def _branch(self, plan: _Plan, is_searched: Bools, keys: Ints) -> Ints:
        """Return the branches of the next information sets. Each searched card begins its own."""
        parents = keys // _ACTIONS
        branches = np.where(is_searched[parents], keys, -1 - plan.branch[parents])
        return np.unique(branches, return_inverse=True)[1]

    def _margins(self, states: Ints, seats: Ints) -> Floats:
        """Return the margins of `seats` in deals that are over, ``(n,)``."""
        margins = np.empty(len(states))
        _write_margins(self.rules.vector, states, seats, margins)
        return margins

    def _replies(self, infosets: InfoSets, numbers: Ints, by_policy: Bools) -> tuple[Ints, Floats]:
        """Return each world's row in the table of the policy's probabilities, or -1, and the table.

        `by_policy` marks the information sets in which the policy plays. `numbers` has the
        information set of each world.
        """
        of = np.full(len(numbers), -1)
        others = np.flatnonzero(by_policy[numbers])
        # Ask once about worlds that look alike to the acting player.
        firsts = infosets.starts[:-1][numbers[others]]
        asked = np.where(
            infosets.states[firsts, k.PLAYER] == infosets.seats[numbers[others]], firsts, others
        )
        is_new = np.diff(asked, prepend=-1) > 0
        of[others] = np.cumsum(is_new) - 1
        return of, self._chances(infosets.states, asked[is_new])

    def _chances(self, states: Ints, rows: Ints) -> Floats:
        """Return the policy's probabilities in some worlds, ``(rows, num_actions)``."""
        rules = self.rules
        chances, choices = np.zeros((len(rows), rules.num_actions)), np.empty_like(rows)
        choices = choices[: _find_choices(rules.vector, states, rows, chances, choices)]
        vectors = np.empty((len(choices), states.shape[1]), np.int64)
        players = np.empty(len(choices), np.int64)
        write_views(rules.vector, states, rows[choices], vectors, players)
        for some, _, probs in asked_in_blocks(self.policy, rules, vectors, players):
            chances[choices[some]] = probs
        return chances

    def _starts(self, states: Ints, keys: Ints) -> Ints:
        """Return the first world of each information set, for ordered worlds."""
        is_new = keys[1:] != keys[:-1]
        if self._shows_more:
            shown = _shown(states)
            is_new |= shown[1:] != shown[:-1]
        if not len(keys):
            return np.zeros(1, np.int64)
        return np.concatenate([[0], np.flatnonzero(is_new) + 1, [len(keys)]])


def _branches(
    infosets: InfoSets, tried: Ints, of: Ints, chances: Floats
) -> tuple[Ints, Ints, Floats]:
    """Return the continuations of worlds, as rows, actions and weights.

    They are ordered by information set, action and world. `tried` has the player's actions in each
    information set as a mask, 0 where the policy plays (see ``_replies``).
    """
    worlds = infosets.starts, infosets.weights, tried, of, chances
    count = _write_branches(*worlds, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    found = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    _write_branches(*worlds, *found)
    return found


def _shown(states: Ints) -> Ints:
    """Return the public information of each state beside its cards (see ``walk``)."""
    kitty = np.where(states[:, k.KITTY_TAKER] >= 0, states[:, k.KITTY], 0)
    shown: Ints = kitty << 1 | states[:, k.BROKEN]
    return shown


def _thinned(branches: Ints, weights: Floats, most: int) -> tuple[Ints, Floats]:
    """Select at most `most` worlds of each branch evenly by weight. Return rows and new weights.

    A world is selected in proportion to its share of the branch's weight, rounded to the right sum.
    The selected worlds share the branch's weight. Smaller branches do not change.
    """
    branches = np.unique(branches, return_inverse=True)[1]
    counts = np.bincount(branches)
    if counts.max(initial=0) <= most:
        return np.arange(len(weights)), weights
    order = np.argsort(branches, kind="stable")
    totals = np.bincount(branches, weights)
    sums = np.cumsum(weights[order])
    before = np.cumsum(totals) - totals
    own = branches[order]
    shares = (sums - before[own]) / totals[own]
    marks = np.floor(shares * most + _ROUND).astype(np.int64)
    first = np.concatenate([[True], own[1:] != own[:-1]])
    copies = marks - np.where(first, 0, np.concatenate([[0], marks[:-1]]))
    is_full = counts[own] > most
    scaled = np.where(is_full, copies * totals[own] / most, weights[order])
    thinned = np.empty(len(weights))
    thinned[order] = scaled
    taken = np.flatnonzero(thinned > 0)
    return taken, thinned[taken]


def _back(step: _Step, values: Floats) -> Floats:
    """Return the values of information sets from the values of the next ones."""
    found = step.ended.copy()
    if not len(values):
        return found
    keys = step.parents * _ACTIONS + step.actions
    of_actions = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    earned, parents = np.add.reduceat(values, of_actions), step.parents[of_actions]
    of_parents = np.concatenate([[0], np.flatnonzero(parents[1:] != parents[:-1]) + 1])
    parents = parents[of_parents]
    best = np.maximum.reduceat(earned, of_parents)
    total = np.add.reduceat(earned, of_parents)
    found[parents] += np.where(step.is_searched[parents], best, total)
    return found


# ---- compiled ------------------------------------------------------------------------------------
@jit
def _write_deals(r: k.Vector, deals: Ints, states: Ints) -> None:
    """Write the first position of each deal."""
    for i in range(len(deals)):
        start_deal(r, states[i], deals[i, 0], deals[i, 1], 1)


@jit
def _find_choices(r: k.Vector, states: Ints, rows: Ints, chances: Floats, choices: Ints) -> int:
    """Write probability 1 for forced actions, and the `rows` with a choice. Return their number."""
    count = 0
    for i in range(len(rows)):
        legal = k.legal_mask(r, states[rows[i]])
        if legal & (legal - 1):
            choices[count] = i
            count += 1
        else:
            chances[i, lowest(legal)] = 1.0
    return count


@jit
def _write_branches(
    starts: Ints,
    weights: Floats,
    tried: Ints,
    of: Ints,
    chances: Floats,
    rows: Ints,
    actions: Ints,
    likely: Floats,
) -> int:
    """Write the rows, actions and weights of ``_branches`` if there is room. Return the number."""
    count = 0
    for i in range(len(tried)):
        cards = tried[i]
        for row in range(starts[i], starts[i + 1]):
            if of[row] >= 0:
                for action in range(chances.shape[1]):
                    cards |= (chances[of[row], action] > 0.0) << action
        while cards:
            action = lowest(cards)
            cards &= cards - 1
            for row in range(starts[i], starts[i + 1]):
                weight = weights[row]
                if of[row] >= 0:
                    weight *= chances[of[row], action]
                if weight > 0.0:
                    if count < len(rows):
                        rows[count] = row
                        actions[count] = action
                        likely[count] = weight
                    count += 1
    return count


@jit
def _write_after(r: k.Vector, states: Ints, rows: Ints, actions: Ints, out: Ints) -> None:
    """Write the states after an action in each of `rows`, in order."""
    for i in range(len(rows)):
        k.copy_state(states[rows[i]], out[i])
        k.play(r, out[i], actions[i])


@jit
def _write_ends(r: k.Vector, states: Ints, rows: Ints, out: Ints) -> None:
    """Write the states of `rows` at the end of the deal, playing the forced rest."""
    for i in range(len(rows)):
        k.copy_state(states[rows[i]], out[i])
        while out[i, k.PHASE] != k.OVER:
            k.play(r, out[i], lowest(k.legal_mask(r, out[i])))


@jit
def _write_margins(r: k.Vector, states: Ints, seats: Ints, out: Floats) -> None:
    """Write the margin of each of `seats` in its state."""
    for i in range(len(states)):
        out[i] = k.margin_sum(r, states[i], seats[i])


@jit
def _best_by_worlds(
    r: k.Vector,
    states: Ints,
    weights: Floats,
    starts: Ints,
    table: k.Vector,
    notes: tuple[Ints, Floats],
    actions: Ints,
) -> None:
    """Write the action with the best mean double-dummy value over the worlds of each set.

    Of equal actions the lowest is taken. `notes` has MAX_CARDS numbers in each array.
    """
    values, sums = notes
    for i in range(len(actions)):
        s = states[starts[i]]
        legal = k.legal_mask(r, s)
        if legal & (legal - 1) == 0:
            actions[i] = lowest(legal)
            continue
        if s[k.PHASE] != k.PLAY:  # of two players the shooter's margin is the same either way
            actions[i] = highest(legal)
            continue
        sums[:] = 0.0
        total = 0.0
        player = s[k.PLAYER]
        for row in range(starts[i], starts[i + 1]):
            s = states[row]
            card_values(r, s, s[k.HANDS + k.SEAT * (1 - player)], table, values)
            total += weights[row]
            cards = legal
            while cards:
                sums[lowest(cards)] += weights[row] * values[lowest(cards)]
                cards &= cards - 1
        best = lowest(legal)
        cards = legal & (legal - 1)
        while cards:
            if sums[lowest(cards)] > sums[best] + TIE * total:
                best = lowest(cards)
            cards &= cards - 1
        actions[i] = best
