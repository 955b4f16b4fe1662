"""Exact exploitability: the margin of a best response to a policy.

The *exploitability* of a policy is the mean margin, in points per deal, of an exact best response
to it when seats are drawn at random: the mean of its margins as first leader and as second. It is 0
for an equilibrium and never negative. (With seat 0 always leading, these are the best responses of
seats 0 and 1. Their sum is OpenSpiel's ``nash_conv``, their mean its ``exploitability``.)

One pass over the tree finds a best response. First it sums the earnings of each sequence against
the given plan over the sequence's lines. Then each information set, from the last to the first,
takes its best action.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hearts_env.batch.views import BatchView
from hearts_env.rules.rules import Rules
from hearts_env.solve.policies import Policy, certain, check_policy
from hearts_env.solve.side import backward_best, take_best
from hearts_env.solve.tree import DEFAULT_MEMORY, Tree
from hearts_env.support.arguments import check_player
from hearts_env.support.arrays import Floats, Ints, Ints32
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.support.progress import Progress
from hearts_env.support.tables import ResultTable

Profile = tuple[Floats, Floats]
"""A strategy profile: both players' action probabilities, one per sequence of the tree."""


@dataclass(frozen=True, eq=False)
class BestResponse:
    """One player's best response to a policy.

    Attributes:
        player: the player.
        value: the margin of the best response in points per deal.
        chances: the action probabilities of the best response, 0 or 1, one per sequence. Of equally
            good actions the first has 1.
        hand_values: the margin with each of the player's hands, weighted by chance and by the
            opponent's plan alone, in points per deal.
    """

    player: int
    value: float
    chances: Floats
    hand_values: Floats


def best_response(tree: Tree, player: int, chances: Floats) -> BestResponse:
    """Return the best response of `player` to an opponent with the probabilities `chances`.

    Raises:
        HeartsError: if `chances` is not a policy, or the seat does not exist.
    """
    player = check_player(player, 2)
    side, other = tree.sides[player], tree.sides[1 - player]
    values = tree.gradient(player, other.plan(other.check(chances)))
    backward_best(side.parent, side.first, values)
    best = np.zeros(side.num_sequences)
    best[: len(side.hands)] = 1.0
    take_best(side.first, values, best)
    hand_values = values[: len(side.hands)].copy()
    return BestResponse(player, float(hand_values.sum()), best, hand_values)


def exploitability(tree: Tree, chances: Profile) -> float:
    """Return the exploitability of a profile in points per deal (see the module)."""
    return sum(best_response(tree, p, chances[1 - p]).value for p in range(2)) / 2


# ---- any agent -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Exploitability:
    """The result of an exact best response against an agent.

    Attributes:
        agent: the agent's name.
        rules: the rules, as ``Rules.from_text`` reads them.
        exploitability: the best response's margin in points per deal, the mean over both seats.
        best_responses: the best response's margin as first leader, and as second player.
        value: the agent's margin against itself as first leader.
        infosets: the number of information sets of each seat.
        is_sampled_once: True if the agent draws random numbers and gives no probabilities. One
            sample in each information set was then taken as its constant action there.
        seconds: the time taken, without building the tree.
    """

    agent: str
    rules: str
    exploitability: float
    best_responses: tuple[float, float]
    value: float
    infosets: tuple[int, int]
    is_sampled_once: bool
    seconds: float

    def table(self) -> ResultTable:
        """Return the figures as a table of one row."""
        value = self.exploitability
        row = [
            self.agent + " (sampled once)" * self.is_sampled_once,
            f"{value:.4f}" if value >= 0.001 else f"{max(value, 0.0):.2e}",
            *(f"{value:+.4f}" for value in self.best_responses),
            f"{self.seconds:.1f}",
        ]
        title = (
            f"{self.rules}: exact exploitability in points per deal, the mean of what a best "
            "response wins as the first leader and as the other player"
        )
        columns = ("agent", "exploitability", "leader", "other", "seconds")
        return ResultTable(title, columns, [row])

    def __str__(self) -> str:
        return str(self.table())

    def to_json(self) -> dict[str, Any]:
        """Return all figures in JSON types."""
        return asdict(self) | {
            "best_responses": list(self.best_responses),
            "infosets": list(self.infosets),
        }


def exploitability_of(
    agent: Any,
    game: Tree | Rules | str,
    name: str = "",
    *,
    max_memory: float = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Exploitability:
    """Return the exact exploitability of an agent, from its policy in every view of a deck.

    Args:
        agent: an object with ``action_probs(views)``, which returns probabilities
            ``(len(views), num_actions)``. Or an object with ``act_batch(views)`` or ``act(view)``,
            whose choice in each view counts as constant. Or a function of ``views`` that returns
            probabilities or actions ``(len(views),) int``. Actions are numbers here.
            ``hearts_train.exploitability`` also accepts names of cards.
        game: the rules, or their tree, which can be reused.
        name: the agent's name in results and errors.
        max_memory: the most memory of the tree, in gigabytes.
        progress: called after every block of views with the information sets done and their total.
            If None, nothing is called.

    Raises:
        HeartsError: if the tree would be too large, or the agent has no valid policy: if it gives
            illegal actions, no actions, or probabilities that are not finite.
    """
    tree = game if isinstance(game, Tree) else Tree(game, max_memory)
    begin = time.perf_counter()
    chances, is_sampled_once = policy_of(agent, tree, name, progress)
    responses = [best_response(tree, p, chances[1 - p]).value for p in range(2)]
    return Exploitability(
        agent=_name(agent, name),
        rules=tree.rules.name,
        exploitability=sum(responses) / 2,
        best_responses=(responses[0], responses[1]),
        value=tree.value(*chances),
        infosets=(tree.sides[0].num_infosets, tree.sides[1].num_infosets),
        is_sampled_once=is_sampled_once,
        seconds=time.perf_counter() - begin,
    )


def policy_of(
    agent: Any, tree: Tree, name: str = "", progress: Progress | None = None
) -> tuple[Profile, bool]:
    """Return an agent's action probabilities in every view, and whether it was sampled once.

    It is asked twice about the first block of each seat's views, to find out whether it draws
    random numbers.

    Raises:
        HeartsError: if the agent has no valid policy in a view.
    """
    ask = probs_function(agent, _name(agent, name))
    total = sum(side.num_infosets for side in tree.sides)
    done, is_sampled_once = 0, False

    def policy(views: BatchView) -> Floats:
        nonlocal done, is_sampled_once
        table = ask(views)
        if done in (0, tree.sides[0].num_infosets):  # the first block of a player
            is_sampled_once |= not np.array_equal(table, ask(views))
        done += len(views)
        if progress is not None:
            progress(done, total)
        return table

    return (action_probs_in(tree, 0, policy), action_probs_in(tree, 1, policy)), is_sampled_once


def action_probs_in(tree: Tree, player: int, policy: Policy) -> Floats:
    """Return a policy's probabilities in all information sets of a player, one per sequence.

    Args:
        tree: the game.
        player: the player.
        policy: returns the probabilities of all actions in many views. They are not checked.
    """
    side = tree.sides[player]
    chances = np.ones(side.num_sequences)
    for begin, views in tree.blocks(player):
        take_chances(views.legal_masks, side.first[begin:], policy(views), chances)
    return chances


def _name(agent: Any, name: str) -> str:
    if not name and inspect.isroutine(agent):
        return f"function {agent.__name__}"
    return name or str(getattr(agent, "name", "") or type(agent).__name__)


def probs_function(agent: Any, name: str) -> Callable[[BatchView], Floats]:
    """Return a function from many views to an agent's probabilities, which it checks.

    Raises:
        HeartsError: if the agent has none of the methods. The function raises it if an answer is
            not a policy.
    """
    policy, act_batch, act = (
        method if callable(method := getattr(agent, word, None)) else None
        for word in ("action_probs", "act_batch", "act")
    )
    if policy is None and act_batch is None and act is None:
        if isinstance(agent, type) or not callable(agent):
            raise HeartsError(
                f"agent: {name.removeprefix('agent: ')} has neither action_probs(views) nor "
                "act_batch(views) nor act(view), and is no function of views; give an object with "
                "one of them"
            )
        policy = agent

    def answer(views: BatchView) -> Any:
        if policy is not None:
            return policy(views)
        if act_batch is not None:
            return act_batch(views)
        assert act is not None
        return [act(views[i]) for i in range(len(views))]

    def ask(views: BatchView) -> Floats:
        legal = views.legal_table
        given = answer(views)
        if policy is None or (policy is agent and np.ndim(given) == 1):
            given = certain(np.asarray(given), legal, name)
        try:
            return check_policy(given, legal)
        except (HeartsError, TypeError, ValueError) as error:
            raise HeartsError(f"{name}: {error}") from None

    return ask


@jit
def take_chances(legal: Ints, first: Ints32, table: Floats, chances: Floats) -> None:
    """Write a block's action probabilities, one row per view, to the sequences, in place."""
    for i in range(len(table)):
        at = first[i]
        for action in range(table.shape[1]):
            if legal[i] >> action & 1:
                chances[at] = table[i, action]
                at += 1
