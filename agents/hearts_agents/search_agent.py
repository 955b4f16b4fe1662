"""One step of policy improvement at play: a searching player made of a policy.

In each hidden world every legal card is tried, and the rest of the deal is played on, both players
seeing no more than players do: the searching one continues as the policy prefers, and so does the
other one, or as another model of it prefers. The mean margin Q of a card and the policy p are then
weighed against each other: the card with the highest Q / tau + log p is played. That is a step of
mirror descent from the policy, as in the update-equivalent search of Sokota et al. (2023, *The
Update-Equivalence Framework for Decision-Time Planning*).

How likely each world is follows from Bayes' rule if the other player draws its cards from the
policy; and so, if there are other models of it, does how likely each of them is, from the cards
that it has played in this deal.

What is answered is not this deal's other player alone: worlds that only a policy without any mixing
would rule out stay possible, and where cards are about equally good the policy decides.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hearts_agents.attackers import as_policy, played_by
from hearts_agents.base import Actions, Agent, CachingAgent, check_rules
from hearts_agents.models.network import EncoderAgent
from hearts_env import HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import Fan, Tracker, check_two_players
from hearts_env.solve.response import Responses
from hearts_env.support import clock
from hearts_env.support.arguments import check_chance, check_positive
from hearts_env.support.arrays import Bools, Floats, Ints
from hearts_env.support.errors import quoted

TAU = 0.2
"""In points: how much better a card must be for the policy to be overruled e to 1."""
EPSILON = 0.02
"""With this probability the other player is taken to have played at random."""
_GOLDEN = 0.6180339887498949
"""Its multiples, less their whole parts, lie evenly between 0 and 1: an order without a pattern."""
_UNLIKELY = 1e-12
"""So likely a way to play is taken to be at least when turns are given."""
_FIRST, _AT_ONCE = 2, 16
"""Worlds of each view that are looked at before the first look at the clock, and the most between
two looks."""


class Budget:
    """How much may be looked at before a card is played: a time, a number of worlds, or all."""

    def __init__(self, text: str | int) -> None:
        """A budget as it is written: ``50ms``, ``2s``; ``16`` worlds; ``all``.

        Raises:
            HeartsError: if it is not one of these.
        """
        self.text = str(text)
        self.seconds, self.worlds = np.inf, k.MAX_CARDS**4
        found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|)", self.text)
        if found is None and self.text != "all":
            raise self._refuse(text)
        if found is not None:
            number, unit = float(found[1]), found[2]
            if not number or (not unit and number != int(number)):
                raise self._refuse(text)
            if unit:
                self.seconds = number / (1000 if unit == "ms" else 1)
            else:
                self.worlds = int(number)

    @property
    def is_timed(self) -> bool:
        """Return whether it is a time."""
        return self.seconds < np.inf

    @staticmethod
    def _refuse(text: str | int) -> HeartsError:
        return HeartsError(
            f"search: {quoted(str(text))} is not a budget; give a time for each card like 50ms, a "
            "number of worlds like 32, or all",
            value=text,
        )


class Weighed(NamedTuple):
    """The figures by which a search chooses, for some views."""

    values: Floats
    """Q of every action, ``(views, num_actions)``: the mean margin over the worlds that the budget
    allowed, -inf for illegal actions."""
    logs: Floats
    """log p, ``(views, num_actions)``."""
    fans: list[Fan]
    """All worlds of each view, a fan for each model; weights: probabilities of the world and of the
    model, and add up to 1 over all models."""


class OpponentModel:
    """A way in which the other player may play: which worlds it makes likely, and its cards."""

    def __init__(self, agent: Agent, epsilon: float) -> None:
        preferred, drawn = agent, agent
        if isinstance(agent, EncoderAgent):
            preferred, drawn = agent.with_greedy(True), agent.with_greedy(False)
        self.preferred, self.chances = preferred, as_policy(drawn)
        self.tracker = Tracker(self.chances, epsilon)

    def responses(self, own: Agent, rules: Rules) -> Responses:
        """Return the values of cards against it, for a player who continues by its own policy."""
        return Responses(rules, as_policy(self.preferred), played_by(rules, own))


class SearchAgent(CachingAgent):
    """Plays better than a policy by looking at what its cards lead to, in games of two.

    It draws no random numbers.
    """

    plays = "two-player games without an exchange"

    def __init__(
        self,
        policy: EncoderAgent,
        search: str | int = "all",
        *,
        models: Sequence[Agent] = (),
        tau: float = TAU,
        epsilon: float = EPSILON,
    ) -> None:
        """An improved `policy`.

        Args:
            policy: what is improved; and the first model of the other player.
            search: the budget of a card: a time (``50ms``), a number of worlds, the likeliest
                first (``32``), or ``all``. Of a time, what is done depends on the machine. A world
                counts once for each model by which it is looked at.
            models: how else the other player may play: agents with ``action_probs``. Before the
                first card all ways to play are equally likely.
            tau: in points: the smaller, the more a card's value counts against the policy.
            epsilon: the chance, in [0, 1], that the other player is taken to have played at random.

        Raises:
            HeartsError: if an option has an unusable value; it is named.
        """
        if not isinstance(policy, EncoderAgent):
            raise HeartsError(
                f"policy: {quoted(policy)} is not a network; give load_agent(PATH), of a run's "
                "folder or a checkpoint",
                value=policy,
            )
        self.policy = policy.with_greedy(True)
        self.models = _checked(models)
        self.budget = Budget(search)
        self.tau = check_positive("tau", tau)
        self.epsilon = check_chance("epsilon", epsilon)
        others = "".join(f", or {model.name} opposite" for model in self.models)
        self.name = f"{policy.name} with search={self.budget.text}{others}"
        self._forget()

    def _forget(self) -> None:
        self._opponents = [
            OpponentModel(agent, self.epsilon) for agent in (self.policy, *self.models)
        ]
        self._responses: list[Responses] = []

    def check_rules(self, rules: Rules) -> None:
        """Refuse games of other than two players, with an exchange, or not the policy's."""
        check_two_players(rules, self.name)
        for agent in (self.policy, *self.models):
            check_rules(agent, rules)

    @property
    def is_timed(self) -> bool:
        """Return whether its play depends on the machine: its budget is a time."""
        return self.budget.is_timed

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many views, ``(len(views),) int64``; a time is for each of them."""
        self.check_rules(views.rules)
        actions = self.policy.act_batch(views)
        legal = views.legal_masks
        has_choice = (legal & (legal - 1) != 0) & (views.vectors[:, k.PHASE] == k.PLAY)
        rows = np.flatnonzero(has_choice)
        if len(rows):
            found = self.weighed(views.subset(rows))
            actions[rows] = (found.values / self.tau + found.logs).argmax(1)
        return actions

    def weighed(self, views: BatchView) -> Weighed:
        """Return the figures by which it chooses, for views of players who have a card to play."""
        begin = clock.now()
        logs = np.log(np.maximum(self._opponents[0].chances(views), 1e-9))
        fans = _shared([model.tracker.judged(views) for model in self._opponents])
        places = _places(fans)
        sums, weights = np.zeros((len(fans), *logs.shape)), np.zeros((len(fans), len(views)))
        most = min(1 + max(each.max() for each in places), self.budget.worlds)
        allowed = self.budget.seconds * len(views)
        # A short time may be over after the first few; without one there is nothing to wait for.
        first, some = 0, _AT_ONCE if np.isinf(allowed) else _FIRST
        while first < most:
            last = min(first + some, most)
            for number, responses in enumerate(self._of(views.rules)):
                is_next = (places[number] >= first) & (places[number] < last)
                sets, part = _worlds_of(fans[number], is_next)
                if len(sets):
                    sums[number, sets] += responses.card_values(part, 1)
                    weights[number, sets] += part.totals
            spent = clock.now() - begin
            first, some = last, min(2 * some, _AT_ONCE)
            if spent * (first + some) / first > allowed:
                break
        return Weighed(_means(fans, sums, weights), logs, fans)

    def _of(self, rules: Rules) -> list[Responses]:
        """Return the values of cards against each way to play."""
        if not self._responses or self._responses[0].rules != rules:
            self._responses = [model.responses(self.policy, rules) for model in self._opponents]
        return self._responses

    def __deepcopy__(self, memo: dict[int, Any]) -> SearchAgent:
        """A player that remembers no view; the policy, which is never changed, is shared."""
        return copy.copy(self)


def _checked(models: object) -> tuple[Agent, ...]:
    if isinstance(models, Sequence) and all(isinstance(model, Agent) for model in models):
        return tuple(models)
    raise HeartsError(
        f"models: {quoted(models)} is not a list of agents; give [make_agent('pimc')]", value=models
    )


def _shared(judged: list[tuple[Fan, Floats]]) -> list[Fan]:
    """The worlds by each way to play, their weights times the probability that it is this one.

    Where all ways are impossible they are equally likely.
    """
    logs = np.stack([chances for _, chances in judged])
    best = logs.max(0)
    likely = np.exp(logs - np.where(np.isfinite(best), best, 0.0))
    likely[:, ~np.isfinite(best)] = 1.0
    shares = likely / likely.sum(0)
    return [
        fan._replace(weights=fan.weights * share[fan.numbers])
        for (fan, _), share in zip(judged, shares, strict=True)
    ]


def _places(fans: list[Fan]) -> list[Ints]:
    """When each world is looked at, counted from 0 in each view.

    Of each way to play the likeliest worlds come first, equally likely ones in a mixed order; and
    each way has its turns as often as it is likely.
    """
    turns, numbers = [], [fan.numbers for fan in fans]
    for fan, own in zip(fans, numbers, strict=True):
        begins = fan.starts[:-1][own]
        count = np.arange(len(own))
        mixed = (count - begins) * _GOLDEN % 1.0
        ranks = np.empty(len(own))
        ranks[np.lexsort((mixed, -fan.weights, own))] = count - begins
        turns.append((ranks + 0.5) / np.maximum(fan.totals, _UNLIKELY)[own])
    together = np.concatenate(numbers)
    order = np.lexsort((np.concatenate(turns), together))
    sizes = np.bincount(together)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.split(places, np.cumsum([len(own) for own in numbers])[:-1])


def _worlds_of(fan: Fan, is_chosen: Bools) -> tuple[Ints, Fan]:
    """The information sets that have chosen worlds of some weight, and these worlds."""
    keep = np.flatnonzero(is_chosen & (fan.weights > 0))
    sets, firsts = np.unique(fan.numbers[keep], return_index=True)
    starts = np.append(firsts, len(keep))
    return sets, Fan(fan.states[keep], fan.weights[keep], starts, fan.seats[sets])


def _means(fans: list[Fan], sums: Floats, weights: Floats) -> Floats:
    """The mean over all ways to play, each as likely as it is however many of its worlds were seen.

    Ways of which no world was looked at are left out.
    """
    seen = weights > 0
    shares = np.where(seen, [fan.totals for fan in fans], 0.0)
    shares /= shares.sum(0)
    means = np.zeros(sums.shape[1:])
    for share, total, weight, is_seen in zip(shares, sums, weights, seen, strict=True):
        means[is_seen] += (share[is_seen] / weight[is_seen])[:, None] * total[is_seen]
    return means
