"""A player that solves the last tricks of a deal as a game of their own, given another policy.

Up to its first decision in the last tricks it plays as its policy does. There it lists the pairs of
hands that agree with the play, weighs both players' hands by how likely the policy is to have
played so with them, solves what is left of the deal (``hearts_env.solve.endgame``), and draws its
cards from the solution until the end. What is solved follows from what both players have seen, not
from the player's own hand: so its probabilities in any view are defined, and many views share one
solution.

The solution is held to what the policy itself would have lost (``hearts_env.solve.endgame``), so
that it gains the other player next to nothing to steer into endgames in which the ranges are wrong.
Its own range is that of the policy as it plays, so it is right; the other's, of the policy drawing
its cards, is a guess. Where another player, as a search, plays before the last tricks, both are.

Hands with which it would not have played so itself are left out, and with them it plays on as
before; of the other's hands none is, however unlikely, as whoever knows what is left out could use
it. Where there are too many lines all the same, it solves at its next decision.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from hearts_agents.attackers import as_policy
from hearts_agents.base import Actions, Agent, Probs, StochasticAgent, check_turn
from hearts_agents.models.network import EncoderAgent, check_network
from hearts_env import HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import Policy, check_two_players, dealt_hands, past_plays
from hearts_env.solve.endgame import PRICE, Endgame, check_price, check_tricks_left, solve_safely
from hearts_env.support.arguments import check_number
from hearts_env.support.arrays import Bools, Floats, Ints, Numbers
from hearts_env.support.errors import quoted
from hearts_env.support.jit import jit
from hearts_env.views.view import PlayerView

TRICKS = 3
"""How many last tricks are solved by default."""
MOST_TRICKS = 6
"""With seven there are too many pairs of hands to begin with."""
MOST_LINES = 500_000
"""Of the tree of an endgame."""
_NOISE = 0.01
"""With this probability the other player is taken to have played at random, or no hand might
explain what it has done; the player itself too where not its policy has played."""
_MEMORY = 1.0
"""Gigabytes of solutions that are remembered; a deal asks for its own a few times in a row."""

_MOST = 512
"""Solutions, however small."""

_Solution = tuple[Endgame, dict[int, Floats]]
"""Its own part alone, by its seat. None instead: there are too many lines, or the player would not
have come here with any hand."""


class EndgameAgent(StochasticAgent):
    """Plays as a policy does, and the last tricks by an equilibrium of what is left of the deal.

    In games of two without an exchange. Not thread-safe: it remembers solutions, which saves time
    and decides nothing.
    """

    plays = "two-player games without an exchange"

    def __init__(
        self,
        policy: EncoderAgent,
        tricks: int = TRICKS,
        *,
        early: Agent | None = None,
        price: float = PRICE,
        most_lines: int = MOST_LINES,
        seed: int | None = None,
    ) -> None:
        """A player.

        Args:
            policy: what both are taken to have played by; the other one drawing from its chances.
            tricks: how many last tricks are solved, 1 to `MOST_TRICKS`.
            early: who plays before them; None: `policy`, as it is.
            price: what a point costs that a hand of the other wins more than before
                (``solve_safely``); 0: nothing, which is unsafe.
            most_lines: of the tree that is solved; with more it waits for its next decision.
            seed: of its draws.

        Raises:
            HeartsError: if a number is out of range; it is named.
        """
        super().__init__(seed)
        self.policy = check_network(policy)
        if not isinstance(early, Agent | None):
            raise HeartsError(
                f"early: {quoted(early)} is not an agent; give make_agent('pimc')", value=early
            )
        self.early = copy.copy(policy if early is None else early)
        self.tricks = check_tricks("tricks", tricks)
        self.price = check_price(price)
        self.most_lines = check_number("most_lines", most_lines, 1, 10**9)
        self.name = f"{self.early.name} with the last {self.tricks} tricks solved"
        self._is_own = early is None
        self._solved: OrderedDict[int, _Solution | None] = OrderedDict()
        self._rules: Rules | None = None

    def check_rules(self, rules: Rules) -> None:
        """Refuse games of other than two players, with an exchange, or not the policy's.

        Those too of which the last tricks may have too many pairs of hands.
        """
        check_two_players(rules, self.name)
        check_tricks_left(rules, self.tricks)
        self.policy.check_rules(rules)
        self.early.check_rules(rules)

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        check_turn(view)
        return int(self.act_batch(BatchView.of([view]))[0])

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many views, ``(len(views),) int64``."""
        self.check_rules(views.rules)
        late = self._late(views)
        actions = np.empty(len(views), np.int64)
        if not late.all():
            rows = np.flatnonzero(~late)
            if isinstance(self.early, StochasticAgent):
                self.early._rng = self._rng  # one stream for the whole deal
            actions[rows] = self.early.act_batch(views.subset(rows))
        if late.any():
            rows = np.flatnonzero(late)
            table = self._endings(views.subset(rows))
            actions[rows] = self.sample(table)
        return actions

    def action_probs(self, views: BatchView) -> Probs:
        """The probabilities of the actions in many views, ``(len(views), num_actions) float64``."""
        self.check_rules(views.rules)
        late = self._late(views)
        chances = np.empty((len(views), views.rules.num_actions))
        for rows, answer in ((~late, self.early.action_probs), (late, self._endings)):
            if rows.any():
                chances[rows] = answer(views.subset(np.flatnonzero(rows)))
        return chances

    def _late(self, views: BatchView) -> Bools:
        left = views.rules.hand_size - views.vectors[:, k.TRICK_NUM]
        late: Bools = (left <= self.tricks) & (views.vectors[:, k.PHASE] == k.PLAY)
        return late

    def _endings(self, views: BatchView) -> Probs:
        """The chances in views of the last tricks."""
        if self._rules is None or not self._rules.is_same_deal(views.rules):
            self._rules = views.rules
            self._solved.clear()
        table: Probs = views.legal_table.astype(np.float64)
        is_open = table.sum(1) > 1
        for rows, (end, chances) in self._solutions(views, is_open):
            known = rows[end.has(views.subset(rows))]
            table[known] = end.chances_in(views.subset(known), chances)
            is_open[known] = False
        if is_open.any():
            table[is_open] = self.early.action_probs(views.subset(is_open))
        return table

    def _solutions(self, views: BatchView, asked: Bools) -> Iterator[tuple[Ints, _Solution]]:
        """What it plays by in those rows of the `asked` that have a solution, some at a time.

        It is found at the first of its decisions in the last tricks where that can be solved.
        """
        waits, size = asked.copy(), views.rules.hand_size
        for play in range(max(size - self.tricks, 0), size):
            rows = np.flatnonzero(waits & (views.vectors[:, k.NUM_PLAYED] >= 2 * play))
            if not len(rows):
                break
            some = views.subset(rows)
            keys = np.empty(len(rows), np.uint64)
            _write_keys(views.rules.vector, some.vectors, some.players, play, keys)
            order = np.argsort(keys)
            begins = np.flatnonzero(np.diff(keys[order])) + 1
            for alike in np.split(order, begins):  # all that follows is the same for these
                solution = self._solution(int(keys[alike[0]]), some[alike[0]], play)
                if solution is not None:
                    waits[rows[alike]] = False
                    yield rows[alike], solution

    def _solution(self, key: int, view: PlayerView, play: int) -> _Solution | None:
        """What it plays by from its play number `play` on; `view` may be of a later one."""
        if key not in self._solved:
            used = sum(one[0].size.gigabytes for one in self._solved.values() if one)
            while self._solved and (used > _MEMORY or len(self._solved) > _MOST):
                gone = self._solved.popitem(last=False)[1]
                used -= gone[0].size.gigabytes if gone else 0.0
            if view.vector[k.NUM_PLAYED] >= 2 * play + 2:
                one = dealt_hands(view)[:1]
                past, _ = past_plays(view.rules, view.vector, view.player, one, play)
                view = PlayerView(view.rules, past[0], view.player)
            self._solved[key] = self._solve(view)
        self._solved.move_to_end(key)
        return self._solved[key]

    def _solve(self, root: PlayerView) -> _Solution | None:
        mine, policy = root.player, as_policy(self.policy)
        model = _noisy(as_policy(self.policy.with_greedy(False)))
        policies = [model, model]
        if self._is_own:
            policies[mine] = policy
        try:
            end = Endgame(root, policies, player=mine, most_lines=self.most_lines)
        except HeartsError as error:
            if error.argument not in ("most_lines", "policies"):
                raise
            return None
        found = solve_safely(end, mine, end.chances_of(mine, policy), price=self.price)
        return end, {mine: found}

    def reseed(self, seed: int) -> None:
        """Restart the draws, those of the early player too, from `seed`."""
        super().reseed(seed)
        self.early.reseed(seed)

    def close(self) -> None:
        """Close the early player, which may be a program."""
        self.early.close()

    def __getstate__(self) -> dict[str, Any]:
        """All but the solutions."""
        return vars(self) | {"_solved": OrderedDict()}

    def __deepcopy__(self, memo: dict[int, Any]) -> EndgameAgent:
        """A player with draws of its own, which remembers no solution."""
        player = self.sharing_copy(memo)
        player.early = copy.deepcopy(self.early, memo)
        player._solved = OrderedDict()
        return player


def _noisy(policy: Policy) -> Policy:
    """The policy, which with some chance plays at random instead."""

    def noisy(views: BatchView) -> Probs:
        legal = views.legal_table
        mixed: Probs = (1.0 - _NOISE) * policy(views)
        mixed += _NOISE * legal / legal.sum(1, keepdims=True)
        return mixed

    return noisy


def check_tricks(name: str, tricks: Any) -> int:
    """A number of last tricks that can be solved.

    Raises:
        HeartsError: it is something else; the message names it.
    """
    return check_number(name, tricks, 1, MOST_TRICKS)


@jit
def _write_keys(r: k.Vector, vectors: Ints, players: Ints, play: int, keys: Numbers) -> None:
    """Write a number for each view by what both had seen when its player came to play `play`.

    The dead cards too, where they are seen by now: views that differ in them share no solution.
    """
    for i in range(len(vectors)):
        v = vectors[i]
        seen = 2 * play
        if seen < v[k.NUM_PLAYED] and k.seat_at(r, v, seen) != players[i]:
            seen += 1
        h = k.mix(v[k.KITTY] << 3 | v[k.DEALER] << 2 | v[k.FIRST_LEADER] << 1 | players[i])
        for t in range(seen):
            h = k.mix(h ^ np.uint64(k.play_at(r, v, t)))
        keys[i] = h
