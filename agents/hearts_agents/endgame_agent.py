"""A player that solves the last tricks of a deal as a game of their own, given another policy.

Up to its first decision in the last tricks it plays as its policy does. There it lists the pairs of
hands that agree with the play, weighs both players' hands by how likely the policy is to have
played so with them, solves what is left of the deal (``hearts_env.solve.endgame``), and draws its
cards from the solution until the end. What is solved follows from what both players have seen, not
from the player's own hand: so its probabilities in any view are defined, and many views share one
solution.

The solution is held to what the policy itself would have lost (``hearts_env.solve.endgame``), so
that it gains the other player next to nothing to steer into endgames in which the ranges are wrong.
The ranges are those of the policy drawing its cards: where the player before the last tricks is
another one, greedy or searching, they are a guess about both.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import numpy as np

from hearts_agents.attackers import as_policy
from hearts_agents.base import Actions, Agent, Probs, StochasticAgent, check_turn
from hearts_agents.models.network import EncoderAgent, check_network
from hearts_env import HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import check_two_players, dealt_hands, past_plays
from hearts_env.solve.best_response import Profile, action_probs_in
from hearts_env.solve.endgame import GUESSED, Endgame, SafeSolver, check_tricks_left
from hearts_env.support.arguments import check_chance, check_number
from hearts_env.support.arrays import Bools
from hearts_env.support.errors import quoted
from hearts_env.views.view import PlayerView

TRICKS = 3
"""How many last tricks are solved by default."""
MOST_TRICKS = 4
"""With five an endgame of a whole deck takes gigabytes and minutes."""
EPSILON = 0.01
"""With this probability both players are taken to have played at random."""
ITERATIONS = 200
"""Of the solver."""
_MEMORY = 1.0
"""Gigabytes of solutions that are remembered; a deal asks for its own a few times in a row."""

_Key = tuple[int, ...]
Solution = tuple[Endgame, Profile]


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
        epsilon: float = EPSILON,
        guessed: float = GUESSED,
        seed: int | None = None,
    ) -> None:
        """A player.

        Args:
            policy: what both are taken to have played by, drawing from its chances.
            tricks: how many last tricks are solved, 1 to `MOST_TRICKS`.
            early: who plays before them; None: `policy`, as it is.
            epsilon: the chance, above 0, that both are taken to have played at random instead.
            guessed: the weight of the other player's range, in [0, 1], against its choice to leave
                (``SafeSolver``); 1: unsafe.
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
        self.epsilon = check_chance("epsilon", epsilon)
        if not self.epsilon:  # or no hand might explain what another player has done
            raise HeartsError("epsilon: 0 gives hands the probability 0; give more, like 0.01")
        self.guessed = check_chance("guessed", guessed)
        self.name = f"{self.early.name} with the last {self.tricks} tricks solved"
        self._drawn = policy.with_greedy(False)
        self._solved: OrderedDict[_Key, Solution] = OrderedDict()
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
        legal = views.legal_masks
        table: Probs = views.legal_table.astype(np.float64)
        rows_of: dict[_Key, list[int]] = {}
        roots: dict[_Key, PlayerView] = {}
        for row in np.flatnonzero(legal & (legal - 1) != 0).tolist():
            root = self._root(views[row])
            key = _key(root)
            rows_of.setdefault(key, []).append(row)
            roots[key] = root
        for key, rows in rows_of.items():
            end, chances = self._solution(key, roots[key])
            some = views.subset(np.array(rows))
            table[rows] = end.chances_in(some, chances)
        return table

    def _root(self, view: PlayerView) -> PlayerView:
        """What the player saw at its first decision in the last tricks."""
        first = max(view.rules.hand_size - self.tricks, 0)
        if int(view.vector[k.PLAYED + k.SEAT * view.player]).bit_count() <= first:
            return view
        one = dealt_hands(view)[:1]
        vectors, _ = past_plays(view.rules, view.vector, view.player, one, first)
        return PlayerView(view.rules, vectors[0], view.player)

    def _solution(self, key: _Key, root: PlayerView) -> Solution:
        found = self._solved.get(key)
        if found is None:
            used = sum(end.size.gigabytes for end, _ in self._solved.values())
            while self._solved and used > _MEMORY:
                used -= self._solved.popitem(last=False)[1][0].size.gigabytes
            found = self._solved[key] = self._solve(root)
        self._solved.move_to_end(key)
        return found

    def _solve(self, root: PlayerView) -> Solution:
        model, mine = as_policy(self._drawn), root.player
        end = Endgame(root, (model, model), epsilon=self.epsilon)
        solver = SafeSolver(end, mine, action_probs_in(end, mine, model), guessed=self.guessed)
        for _ in range(ITERATIONS):
            solver.step()
        return end, solver.chances()

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


def check_tricks(name: str, tricks: Any) -> int:
    """A number of last tricks that can be solved.

    Raises:
        HeartsError: it is something else; the message names it.
    """
    return check_number(name, tricks, 1, MOST_TRICKS)


def _key(root: PlayerView) -> _Key:
    """What both players have seen up to a decision of one of them."""
    v = root.vector
    return (
        root.player,
        int(v[k.DEALER]),
        int(v[k.FIRST_LEADER]),
        int(v[k.KITTY]) if v[k.KITTY_TAKER] >= 0 else 0,
        *k.plays(root.rules.vector, v, 0, int(v[k.NUM_PLAYED])),
    )
