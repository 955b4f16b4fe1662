"""Players that attack another one: they know its policy, and answer it as well as they can.

An attacker sees what any player may see. Beyond that it has the attacked agent itself, frozen, and
may ask it what it would do in any view. So it weighs the hidden worlds exactly, by Bayes' rule, and
what it wins on average is a lower bound of what a best response would win.
"""

from __future__ import annotations

import copy
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
from hearts_env.solve.beliefs import Fan, Policy, Tracker, check_two_players
from hearts_env.solve.best_response import probs_function
from hearts_env.solve.response import ALL, Responses, is_awake
from hearts_env.support.arguments import check_chance, check_number
from hearts_env.support.arrays import Ints
from hearts_env.support.errors import did_you_mean, quoted


class Method(NamedTuple):
    """How an attacker chooses its cards.

    Attributes:
        depth: How many of its own decisions, the present one first, are tried with every card;
            after them, or with 0, it takes the card that is best double dummy over the worlds.
        has_endings: Whether the last tricks are answered exactly.
        meaning: In words.
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
"""How many last tricks are answered exactly by default."""


class Attacker(CachingAgent):
    """Plays against one agent, whose policy it knows; of two players."""

    plays = "two-player games without an exchange"

    def __init__(
        self,
        model: str | Agent,
        method: str = "lbr_endings",
        *,
        tricks: int = TRICKS,
        epsilon: float = 0.0,
        most_worlds: int = 512,
        awake: Sequence[int] | None = None,
    ) -> None:
        """An attacker of `model`.

        Args:
            model: the attacked agent, or its name; ``action_probs`` must say what it does.
            method: one of `METHODS`.
            tricks: with a method that has endings: how many last tricks are answered exactly.
            epsilon: with this probability the model is taken to have played at random: for one that
                does not always do what its ``action_probs`` says.
            most_worlds: where the model mixes its cards, worlds branch in the play to the end after
                a card; of more than this many an even selection is taken.
            awake: the tricks, from 1, in which it attacks, like ``range(7, 14)``; in all others it
                plays as the model does. None: all.

        Raises:
            HeartsError: the method is unknown, or a number is out of range.
        """
        if method not in METHODS:
            raise HeartsError(
                f"method: {method!r} is not an attacker; {did_you_mean(method, METHODS)}",
                value=method,
            )
        self.method = method
        self.model = make_agent(model, seed=0) if isinstance(model, str) else model
        self.tricks = check_number("tricks", tricks, 0, k.MAX_CARDS)
        self.epsilon = check_chance("epsilon", epsilon)
        self.most_worlds = check_number("most_worlds", most_worlds, 1, 1_000_000)
        self.awake = check_awake(awake)
        self.name = method
        self._forget()

    def _forget(self, policy: Policy | None = None) -> None:
        self._policy = as_policy(self.model) if policy is None else policy
        self._tracker = Tracker(self._policy, self.epsilon)
        self._responses: Responses | None = None

    def check_rules(self, rules: Rules) -> None:
        """Refuse games of other than two players, with an exchange, or that the model refuses."""
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
        """The actions in tricks in which it is awake."""
        legal = views.legal_masks
        is_play = views.vectors[:, k.PHASE] == k.PLAY
        # After a moon the last: the shooter is as far ahead either way.
        actions = np.array([mask.bit_length() - 1 for mask in legal.tolist()], np.int64)
        rows = np.flatnonzero(is_play & (legal & (legal - 1) != 0))
        if len(rows):
            fan = self._tracker.fan(views.subset(rows))
            actions[rows] = self.choose(views.rules, fan)
        return actions

    def choose(self, rules: Rules, fan: Fan) -> Ints:
        """The action in each information set of `fan`, given its worlds and their weights."""
        responses = self._of(rules)
        method = METHODS[self.method]
        actions = np.empty(len(fan.seats), np.int64)
        left = rules.hand_size - fan.states[fan.starts[:-1], k.TRICK_NUM]
        is_late = left <= (self.tricks if method.has_endings else 0)
        for sets, depth in ((is_late, ALL), (~is_late, method.depth)):
            some = np.flatnonzero(sets)
            if len(some):
                part = fan.subset(some)
                actions[some] = responses.best(part, depth) if depth else responses.chooser(part)
        return actions

    def knowing(self, policy: Policy) -> Attacker:
        """The same attacker of a policy that is given as a function; for ``choose`` alone."""
        other = copy.copy(self)
        other._forget(policy)
        return other

    def _of(self, rules: Rules) -> Responses:
        if self._responses is None or self._responses.rules != rules:
            self._responses = Responses(
                rules,
                self._policy,
                most_worlds=self.most_worlds,
                awake=self.awake,
            )
        return self._responses

    def reseed(self, seed: int) -> None:
        """Reseed the model, where it draws random numbers, and forget its answers."""
        super().reseed(seed)
        reseed = getattr(self.model, "reseed", None)
        if callable(reseed):
            reseed(seed)

    def close(self) -> None:
        """Close the model, which may be a program."""
        self.model.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Attacker:
        """An attacker with a model of its own, which remembers no view."""
        other = copy.copy(self)
        other.model = copy.deepcopy(self.model, memo)
        other._forget()
        return other


def check_awake(awake: Any) -> tuple[int, ...] | None:
    """The tricks in which an attacker is awake, ascending; None: all.

    Raises:
        HeartsError: they are not numbers of tricks.
    """
    if awake is None:
        return None
    try:
        tricks = reversed([*awake])  # a range is refused by its end, which somebody has typed
        return tuple(sorted({check_number("awake", trick, 1, k.MAX_CARDS) for trick in tricks}))
    except TypeError:
        raise HeartsError(
            f"awake: {quoted(awake)} are not tricks; give their numbers, like range(7, 14)",
            value=awake,
        ) from None


def as_policy(agent: Any, name: str = "") -> Policy:
    """The policy of an agent that may be anybody's: whatever it does wrong is a ``HeartsError``.

    Args:
        agent: anything that ``best_response.exploitability_of`` can ask.
        name: what to call it in errors; empty: its own name.
    """
    who = name or getattr(agent, "name", "") or type(agent).__name__
    ask = probs_function(agent, f"agent: {who!r}")

    def policy(views: BatchView) -> Probs:
        with blamed(
            f"agent: {who!r} cannot be asked how it plays",
            "it must answer any view, with a legal action or with the chances of all",
        ):
            return ask(views)

    return policy


def played_by(rules: Rules, agent: Agent) -> Callable[[Fan], Ints]:
    """A chooser that plays as `agent` does."""

    def choose(fan: Fan) -> Ints:
        firsts = np.ascontiguousarray(fan.starts[:-1])
        vectors = np.empty((len(firsts), fan.states.shape[1]), np.int64)
        players = np.empty(len(firsts), np.int64)
        write_views(rules.vector, fan.states, firsts, vectors, players)
        return np.asarray(agent.act_batch(BatchView(rules, vectors, players)), np.int64)

    return choose
