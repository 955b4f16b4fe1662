"""Attackers: players that know their opponent's policy and respond to it.

An attacker sees only its own views. It also has a frozen copy of the opponent, and may query the
opponent's policy in any view. It weighs the hidden worlds exactly, by Bayes' rule. Its mean margin
is a lower bound of the margin of a best response.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hearts_agents.base import Actions, Agent, CachingAgent, Probs, check_rules
from hearts_agents.spec import make_agent
from hearts_agents.user_code import blamed
from hearts_env import HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.kernel import write_views
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import InfoSets, Tracker
from hearts_env.solve.best_response import probs_function
from hearts_env.solve.policies import Policy, check_two_players
from hearts_env.solve.response import ALL, Responses, is_awake
from hearts_env.support.arguments import check_chance, check_choice, check_number
from hearts_env.support.arrays import Ints
from hearts_env.support.errors import quoted


class Method(NamedTuple):
    """The method by which an attacker chooses its cards.

    Attributes:
        depth: the number of decisions of its own, the present one included, in which it tries every
            card. Afterwards it plays the card with the best mean double-dummy value over the
            worlds.
        has_endings: True if it plays an exact best response in the last tricks.
        meaning: the method in words.
    """

    depth: int
    has_endings: bool
    meaning: str


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "belief": Method(0, False, "the card that is best double dummy over the worlds, weighed"),
        "lbr": Method(1, False, "every card tried, the rest of the deal played as by belief"),
        "endings": Method(0, True, "belief; exact best response in the last tricks"),
        "lbr_endings": Method(1, True, "lbr; exact best response in the last tricks"),
    }
)
"""The attackers by name, the weakest first."""

TRICKS = 7
"""The default number of last tricks with an exact best response."""
_MOST_WORLDS = 512
"""The most worlds in playouts, which branch where the model mixes. An even selection is kept."""


class Attacker(CachingAgent):
    """Plays against one agent with a known policy, in two-player games."""

    plays = "two-player games without an exchange"

    def __init__(
        self,
        model: str | Agent,
        method: str = "lbr_endings",
        *,
        tricks: int = TRICKS,
        epsilon: float = 0.0,
        awake: Sequence[int] | None = None,
    ) -> None:
        """Make an attacker of `model`.

        Args:
            model: the attacked agent, or its name. ``action_probs`` must be its policy.
            method: one of `METHODS`.
            tricks: the number of last tricks with an exact best response, if the method plays
                endings exactly.
            epsilon: the assumed probability that the model plays at random, for agents that do not
                always follow their ``action_probs``.
            awake: the tricks, from 1, in which it attacks, like ``range(7, 14)``. In all others it
                plays like the model. If None, it attacks in all tricks.

        Raises:
            HeartsError: if the method is unknown, or a number is out of range.
        """
        self.method = check_choice("method", method, tuple(METHODS))
        self.model = make_agent(model, seed=0) if isinstance(model, str | os.PathLike) else model
        self.tricks = check_number("tricks", tricks, 0, k.MAX_CARDS)
        self.epsilon = check_chance("epsilon", epsilon)
        self.awake = check_awake(awake)
        self.name = method
        self._forget()

    def _forget(self) -> None:
        self._policy = as_policy(self.model)
        self._tracker = Tracker(self._policy, self.epsilon)
        self._responses: Responses | None = None

    def check_rules(self, rules: Rules) -> None:
        """Raise unless `rules` have two players and no exchange, and the model plays them."""
        check_two_players(rules, self.name)
        check_rules(self.model, rules)

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``."""
        check_two_players(views.rules, self.name)
        awake = is_awake(self.awake)[views.vectors[:, k.TRICK_NUM]]
        if awake.all():
            return self._attack(views)
        actions = np.empty(len(views), np.int64)
        for rows, act in ((awake, self._attack), (~awake, self.model.act_batch)):
            if rows.any():
                actions[rows] = act(views.subset(np.flatnonzero(rows)))
        return actions

    def _attack(self, views: BatchView) -> Actions:
        """Return the actions in views of tricks in which the attacker attacks."""
        legal = views.legal_masks
        is_play = views.vectors[:, k.PHASE] == k.PLAY
        # The last legal action. After a moon, either choice gives the same margin.
        actions = np.array([mask.bit_length() - 1 for mask in legal.tolist()], np.int64)
        rows = np.flatnonzero(is_play & (legal & (legal - 1) != 0))
        if len(rows):
            infosets = self._tracker.infosets(views.subset(rows))
            actions[rows] = self.choose(views.rules, infosets)
        return actions

    def choose(self, rules: Rules, infosets: InfoSets) -> Ints:
        """Return the action in each information set, ``(len(infosets.seats),) int64``."""
        responses = self._of(rules)
        method = METHODS[self.method]
        actions = np.empty(len(infosets.seats), np.int64)
        left = rules.hand_size - infosets.states[infosets.starts[:-1], k.TRICK_NUM]
        is_late = left <= (self.tricks if method.has_endings else 0)
        for sets, depth in ((is_late, ALL), (~is_late, method.depth)):
            some = np.flatnonzero(sets)
            if len(some):
                part = infosets.subset(some)
                actions[some] = responses.best(part, depth) if depth else responses.chooser(part)
        return actions

    def _of(self, rules: Rules) -> Responses:
        if self._responses is None or self._responses.rules != rules:
            self._responses = Responses(
                rules, self._policy, most_worlds=_MOST_WORLDS, awake=self.awake
            )
        return self._responses

    def reseed(self, seed: int) -> None:
        """Reseed the model and clear the caches."""
        super().reseed(seed)
        reseed = getattr(self.model, "reseed", None)
        if callable(reseed):
            reseed(seed)

    def close(self) -> None:
        """Close the model, which may be a program."""
        self.model.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Attacker:
        """Return an attacker with a copy of the model and empty caches."""
        other = copy.copy(self)
        other.model = copy.deepcopy(self.model, memo)
        other._forget()
        return other


def check_awake(awake: Any) -> tuple[int, ...] | None:
    """Return the tricks in which an attacker attacks, ascending. None means all tricks.

    Raises:
        HeartsError: if `awake` is not a sequence of trick numbers.
    """
    if awake is None:
        return None
    try:
        tricks = reversed([*awake])  # an error then names the end of a range
        return tuple(sorted({check_number("awake", trick, 1, k.MAX_CARDS) for trick in tricks}))
    except TypeError:
        raise HeartsError(
            f"awake: {quoted(awake)} is not a list of tricks; give their numbers, like range(7, 14)"
        ) from None


def as_policy(agent: Any, name: str = "") -> Policy:
    """Return an agent's policy as a function. All faults of the agent become a ``HeartsError``.

    Args:
        agent: any object that ``best_response.exploitability_of`` takes.
        name: its name in errors. If empty, its own name.
    """
    who = name or getattr(agent, "name", "") or type(agent).__name__
    ask = probs_function(agent, f"agent: {who!r}")

    def policy(views: BatchView) -> Probs:
        with blamed(
            f"agent: {who!r} cannot be asked how it plays",
            "it must answer every view, with a legal action or the probabilities of all actions",
        ):
            return ask(views)

    return policy


def played_by(rules: Rules, agent: Agent) -> Callable[[InfoSets], Ints]:
    """Return a chooser that plays like `agent`."""

    def choose(infosets: InfoSets) -> Ints:
        firsts = np.ascontiguousarray(infosets.starts[:-1])
        vectors = np.empty((len(firsts), infosets.states.shape[1]), np.int64)
        players = np.empty(len(firsts), np.int64)
        write_views(rules.vector, infosets.states, firsts, vectors, players)
        return np.asarray(agent.act_batch(BatchView(rules, vectors, players)), np.int64)

    return choose
