"""Responses: what cards earn against an opponent whose policy is known, world by world.

Against a known policy, a game of two is a game against chance: Bayes' rule gives the probability of
each possible world (``hearts_env.solve.beliefs``), the policy gives the other player's actions in
each, and these actions distinguish the worlds again. So all that can follow can be listed, and the
best response is exact.

What is listed is a *fan*: for each of many information sets of the responding player the worlds it
holds possible, with their weights. A step of all fans at once asks the policy about every world in
one call, lets chances and cards branch, and sorts what follows into the information sets of the
next fan. At its own decisions the player either tries all of its cards (they are *searched*), or
plays the card that a *chooser* names. With all decisions searched this is the exact best response
from there on; with the first one alone it is one step of policy improvement over the chooser, the
local best response of Lisy and Bowling 2017 (*Equilibrium approximation quality of current no-limit
poker bots*) with exact beliefs and whole deals played out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.kernel import write_legal, write_views
from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.solve.beliefs import Fan, Policy, check_policy
from hearts_env.solve.dd.search import card_values
from hearts_env.solve.double_dummy import borrowed
from hearts_env.solve.walk import Walk, start_deal
from hearts_env.support.arrays import Array, Bools, Floats, Ints
from hearts_env.support.bits import highest, lowest
from hearts_env.support.jit import jit

ALL = 1_000
"""As many decisions as no deal has: all of them are searched."""
TIE = 1e-9
"""Values no further apart are equal; of equal cards the lowest is played."""
_ROUND = 0.5 - 1e-6
"""Added before rounding down: exact halves, of which sums fall a little short, all go down."""
_MOST_ROWS = 1 << 16
"""Worlds that are looked at side by side; 50 MB for each step."""
_MOST_ASKED = 1 << 14
"""Views that a policy is asked about at once."""
_ACTIONS = 64
"""More than there are; to number the pairs of an information set and an action."""


def whole_game(rules: Rules, seat: int) -> Fan:
    """All deals in which seat 0 leads first, equally likely, by the information sets of `seat`.

    For decks so small that they can be listed. The weights of all of them add up to 1.
    """
    deals = Walk(rules).deals
    deals = deals[np.argsort(deals[:, seat], kind="stable")]
    states = np.empty((len(deals), rules.state_size), np.int64)
    _write_deals(rules.vector, deals, states)
    own = deals[:, seat]
    starts = np.concatenate([[0], np.flatnonzero(own[1:] != own[:-1]) + 1, [len(own)]])
    weights = np.full(len(own), 1.0 / len(own))
    return Fan(states, weights, starts, np.full(len(starts) - 1, seat))


Chooser = Callable[[Fan], Ints]
"""The action of the player to act in each information set of a fan, ``(sets,) int64``."""


def is_awake(awake: Sequence[int] | None) -> Bools:
    """By the number of a trick, from 0: whether it is one of `awake`, which count from 1.

    ``(MAX_CARDS + 1,)``; None: all are.
    """
    found = np.full(k.MAX_CARDS + 1, awake is None)
    if awake is not None:
        found[np.array(awake, np.int64) - 1] = True
    return found


class _Step(NamedTuple):
    """What leads from a fan to the next one; to go back with their values."""

    ended: Floats
    """``(sets,)``: what the worlds that are over have earned."""
    parents: Ints
    """``(next sets,)``: from which information set each comes."""
    actions: Ints
    """``(next sets,)``: by which action."""
    is_searched: Array
    """``(sets,) bool``: whether the best action counts, not the sum over all."""


class _Plan(NamedTuple):
    """How the information sets of a fan are continued."""

    depth: Ints
    """``(sets,)``: how many of the player's own decisions are searched."""
    branch: Ints
    """``(sets,)``: those of one number share the selection when there are too many worlds."""


class Responses:
    """What cards earn against a policy."""

    def __init__(
        self,
        rules: Rules,
        policy: Policy,
        chooser: Chooser | None = None,
        *,
        most_worlds: int | None = None,
        awake: Sequence[int] | None = None,
    ) -> None:
        """Responses to `policy`.

        Args:
            rules: of two players, without an exchange.
            policy: the other player's chances of each action (an agent's ``action_probs``).
            chooser: what the player plays where it does not search; None: ``by_worlds``.
            most_worlds: where a policy mixes, worlds branch; of more than this many after one card
                an even selection is taken. None: all are.
            awake: the tricks, from 1, in which the player searches or the chooser plays; in all
                others it plays by `policy` itself. None: all.
        """
        self.rules = rules
        self.policy = policy
        self.chooser = self.by_worlds if chooser is None else chooser
        self.most_worlds = most_worlds
        self._is_awake = is_awake(awake)
        # So many cards played, the last trick is forced; a shooter may have to choose after it.
        self._forced = 2 * rules.hand_size - 2 if rules.moon != "choose" else ALL
        # Deals part where more is seen than the card (see ``walk``).
        self._shows_more = bool(rules.queen_any_time) or rules.kitty_to != "nobody"

    # -- what is asked ----------------------------------------------------------------------------
    def card_values(self, fan: Fan, depth: int = ALL) -> Floats:
        """What each card earns in each information set: the mean margin, times the weights.

        Args:
            fan: information sets in which their player is to act.
            depth: how many of the player's own decisions are searched, this one counted; after
                them the chooser plays.

        Returns:
            ``(sets, num_actions)``, -inf for illegal actions.
        """
        sets = len(fan.seats)
        table = np.full((sets, self.rules.num_actions), -np.inf)
        if sets:
            plan = _Plan(np.full(sets, depth), np.arange(sets))
            step, following, after = self._step(fan, plan, is_first=True)
            values = self._values(following, after)
            table[step.parents, step.actions] = 0.0
            np.add.at(table, (step.parents, step.actions), values)
        return table

    def best(self, fan: Fan, depth: int = ALL) -> Ints:
        """The best action in each information set of a fan, ``(sets,) int64``."""
        values = self.card_values(fan, depth)
        values /= fan.totals[:, None]
        found: Ints = (values >= values.max(1, keepdims=True) - TIE).argmax(1)
        return found

    def value(self, fan: Fan, depth: int = 0) -> float:
        """What the player earns from a fan on, summed over its worlds, each times its weight.

        The first `depth` of its own decisions are searched; then the chooser plays.
        """
        plan = _Plan(np.full(len(fan.seats), depth), np.zeros(len(fan.seats), np.int64))
        return float(self._values(fan, plan).sum())

    def by_worlds(self, fan: Fan) -> Ints:
        """The action that is best on average over the worlds, each solved double dummy."""
        actions = np.empty(len(fan.seats), np.int64)
        notes = np.empty(k.MAX_CARDS, np.int64), np.empty(k.MAX_CARDS)
        r, worlds = self.rules.vector, (fan.states, fan.weights, fan.starts)
        with borrowed(self.rules) as table:
            _best_by_worlds(r, *worlds, table, notes, actions)
        return actions

    # -- forward and back -------------------------------------------------------------------------
    def _values(self, fan: Fan, plan: _Plan) -> Floats:
        """What each information set earns, ``(sets,)``."""
        steps: list[_Step] = []
        while len(fan.seats):
            if len(fan.states) > _MOST_ROWS and len(fan.seats) > 1:
                values = self._values_in_parts(fan, plan)
                break
            step, fan, plan = self._step(fan, plan)
            steps.append(step)
        else:
            values = np.empty(0)
        for step in reversed(steps):
            values = _back(step, values)
        return values

    def _values_in_parts(self, fan: Fan, plan: _Plan) -> Floats:
        """The same, one half of the worlds after the other: they take less memory."""
        middle = int(np.searchsorted(fan.starts, len(fan.states) // 2))
        middle = min(max(middle, 1), len(fan.seats) - 1)
        parts = []
        for first, last in ((0, middle), (middle, len(fan.seats))):
            part = _Plan(plan.depth[first:last], plan.branch[first:last])
            parts.append(self._values(fan.slice(first, last), part))
        return np.concatenate(parts)

    def _step(self, fan: Fan, plan: _Plan, *, is_first: bool = False) -> tuple[_Step, Fan, _Plan]:
        """All that can follow after one action."""
        rules, numbers, firsts = self.rules, fan.numbers, fan.starts[:-1]
        movers = fan.states[firsts, k.PLAYER]
        is_over = movers < 0
        if not is_first:
            is_over |= fan.states[firsts, k.NUM_PLAYED] >= self._forced
        is_own = ~is_over & (movers == fan.seats) & self._is_awake[fan.states[firsts, k.TRICK_NUM]]
        legal = np.empty(len(fan.seats), np.int64)
        write_legal(rules.vector, np.ascontiguousarray(fan.states[firsts]), legal)
        is_choice = is_own & (legal & (legal - 1) != 0)
        is_searched = is_choice & (plan.depth > 0)
        tried = np.where(is_own, legal, 0)
        chosen = np.flatnonzero(is_choice & ~is_searched)
        if len(chosen):
            tried[chosen] = 1 << self.chooser(fan.subset(chosen))
        ended = np.zeros(len(fan.seats))
        if is_over.any():
            over = np.flatnonzero(is_over[numbers])
            ends = np.empty((len(over), rules.state_size), np.int64)
            _write_ends(rules.vector, fan.states, over, ends)
            earned = self._margins(ends, fan.seats[numbers[over]])
            np.add.at(ended, numbers[over], fan.weights[over] * earned)
        replies = self._replies(fan, numbers, ~is_over & ~is_own)
        rows, played, weights = _branches(fan, tried, *replies)
        states = np.empty((len(rows), fan.states.shape[1]), np.int64)
        _write_after(rules.vector, fan.states, rows, played, states)
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
        return step, Fan(states, weights, starts, fan.seats[parents]), after

    def _branch(self, plan: _Plan, is_searched: Bools, keys: Ints) -> Ints:
        """The branches of the next information sets; each card that is tried begins its own."""
        parents = keys // _ACTIONS
        branches = np.where(is_searched[parents], keys, -1 - plan.branch[parents])
        return np.unique(branches, return_inverse=True)[1]

    def _margins(self, states: Ints, seats: Ints) -> Floats:
        """The margins of `seats` in deals that are over, ``(n,)``."""
        margins = np.empty(len(states))
        _write_margins(self.rules.vector, states, seats, margins)
        return margins

    def _replies(self, fan: Fan, numbers: Ints, by_policy: Bools) -> tuple[Ints, Floats]:
        """What the policy does: for each world the row of a table, or -1; and the table.

        `by_policy` says in which information sets it plays; `numbers` are those of the worlds.
        """
        of = np.full(len(numbers), -1)
        others = np.flatnonzero(by_policy[numbers])
        # What looks alike to the player that moves is asked once.
        firsts = fan.starts[:-1][numbers[others]]
        asked = np.where(fan.states[firsts, k.PLAYER] == fan.seats[numbers[others]], firsts, others)
        is_new = np.diff(asked, prepend=-1) > 0
        of[others] = np.cumsum(is_new) - 1
        return of, self._chances(fan.states, asked[is_new])

    def _chances(self, states: Ints, rows: Ints) -> Floats:
        """What the policy does in some worlds, ``(rows, num_actions)``."""
        rules = self.rules
        chances, choices = np.zeros((len(rows), rules.num_actions)), np.empty_like(rows)
        choices = choices[: _find_choices(rules.vector, states, rows, chances, choices)]
        for begin in range(0, len(choices), _MOST_ASKED):
            some = choices[begin : begin + _MOST_ASKED]
            vectors = np.empty((len(some), states.shape[1]), np.int64)
            players = np.empty(len(some), np.int64)
            write_views(rules.vector, states, rows[some], vectors, players)
            views = BatchView(rules, vectors, players)
            chances[some] = check_policy(self.policy(views), views.legal_table)
        return chances

    def _starts(self, states: Ints, keys: Ints) -> Ints:
        """Where the information sets of ordered worlds begin."""
        is_new = keys[1:] != keys[:-1]
        if self._shows_more:
            shown = _shown(states)
            is_new |= shown[1:] != shown[:-1]
        if not len(keys):
            return np.zeros(1, np.int64)
        return np.concatenate([[0], np.flatnonzero(is_new) + 1, [len(keys)]])


def _branches(fan: Fan, tried: Ints, of: Ints, chances: Floats) -> tuple[Ints, Ints, Floats]:
    """Which worlds continue by which actions, and how likely: rows, actions, weights.

    In order of information sets, actions and worlds. `tried` has the actions that the player of
    each information set takes as a mask, 0 where the policy plays: see ``_replies``.
    """
    worlds = fan.starts, fan.weights, tried, of, chances
    count = _write_branches(*worlds, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    found = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    _write_branches(*worlds, *found)
    return found


def _shown(states: Ints) -> Ints:
    """What is seen of each state beside its cards: see ``walk``."""
    kitty = np.where(states[:, k.KITTY_TAKER] >= 0, states[:, k.KITTY], 0)
    shown: Ints = kitty << 1 | states[:, k.BROKEN]
    return shown


def _thinned(branches: Ints, weights: Floats, most: int) -> tuple[Ints, Floats]:
    """Of each branch's worlds no more than `most`, evenly chosen by weight; the rows and weights.

    Every world is taken as often as its share of the branch's weight says, rounded so that the sum
    is right; the worlds taken share the branch's weight. Where there are no more, nothing changes.
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
    """The values of a fan's information sets from those of the next fan's."""
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
    """Write the chance of each forced action, and which of `rows` have a choice; how many have."""
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
    """Write the worlds, actions and weights of ``_branches``, while there is room; how many."""
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
    """Write the states after an action in each of `rows`, one behind the other."""
    for i in range(len(rows)):
        k.copy_state(states[rows[i]], out[i])
        k.play(r, out[i], actions[i])


@jit
def _write_ends(r: k.Vector, states: Ints, rows: Ints, out: Ints) -> None:
    """Write the states of `rows` at the end of the deal, where what is left is forced."""
    for i in range(len(rows)):
        k.copy_state(states[rows[i]], out[i])
        while out[i, k.PHASE] != k.OVER:
            k.play(r, out[i], lowest(k.legal_mask(r, out[i])))


@jit
def _write_margins(r: k.Vector, states: Ints, seats: Ints, out: Floats) -> None:
    """Write by how much each of `seats` is ahead in its state."""
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
    """Write the action of the best mean double-dummy value over each information set's worlds.

    Of equally good ones the lowest. `notes` are MAX_CARDS numbers each.
    """
    values, sums = notes
    for i in range(len(actions)):
        s = states[starts[i]]
        legal = k.legal_mask(r, s)
        if legal & (legal - 1) == 0:
            actions[i] = lowest(legal)
            continue
        if s[k.PHASE] != k.PLAY:  # of two players the shooter is as far ahead either way
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
