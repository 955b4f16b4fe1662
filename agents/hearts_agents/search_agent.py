"""Search as one step of policy improvement at decision time.

In each hidden world, every legal card is tried and the deal is played to its end. Both players see
only their own views. After that card, the searching player takes the policy's greedy actions, and
the opponent takes the greedy actions of the policy or of another opponent model. Let Q be a card's
mean margin and p its probability under the policy. The search plays the card with the highest Q /
tau + log p. This is a step of mirror descent from the policy, as in the update-equivalent search of
Sokota et al. (2023, *The Update-Equivalence Framework for Decision-Time Planning*).

The probability of each world follows by Bayes' rule from the assumption that the opponent samples
from the policy. The probability of each opponent model follows in the same way from the opponent's
cards in this deal.

The search does not fully exploit this opponent: worlds that only a deterministic policy would rule
out stay possible, and the policy decides among cards of about equal value.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from hearts_agents.attackers import as_policy, played_by
from hearts_agents.base import Actions, Agent, CachingAgent, check_rules
from hearts_agents.models.network import EncoderAgent
from hearts_env import HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import InfoSets, Tracker
from hearts_env.solve.policies import check_two_players
from hearts_env.solve.response import Responses
from hearts_env.support import clock
from hearts_env.support.arrays import Bools, Floats, Ints
from hearts_env.support.errors import quoted

TAU = 0.2
"""The lead in points at which a card outweighs a policy ratio of e to 1."""
EPSILON = 0.02
"""The assumed probability that the opponent played at random."""
_GOLDEN = 0.6180339887498949
"""A number with multiples whose fractional parts lie evenly between 0 and 1, without a pattern."""
_UNLIKELY = 1e-12
"""The least probability of an opponent model when the order of the worlds is set."""
_FIRST, _AT_ONCE = 2, 16
"""The worlds per view before the first check of the clock, and the most between two checks."""


class Budget:
    """The search budget of a card: a time, a number of worlds, or all."""

    def __init__(self, text: str | int) -> None:
        """Parse a budget: ``50ms``, ``2s``, ``16`` (worlds) or ``all``.

        Raises:
            HeartsError: if `text` is none of these.
        """
        self.text = str(text)
        self.seconds, self.worlds = np.inf, k.MAX_CARDS**4
        if self.text == "all":
            return
        found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|)", self.text)
        number, unit = (float(found[1]), found[2]) if found else (0.0, "")
        if not number or (not unit and number != int(number)):
            raise HeartsError(
                f"search: {quoted(self.text)} is not a budget; give a time per card like 50ms, a "
                "number of worlds like 32, or all"
            )
        if unit:
            self.seconds = number / (1000 if unit == "ms" else 1)
        else:
            self.worlds = int(number)

    @property
    def is_timed(self) -> bool:
        """True if the budget is a time."""
        return self.seconds < np.inf


class OpponentModel:
    """A policy that the opponent may have, which gives the likelihood of worlds and its cards."""

    def __init__(self, agent: Agent) -> None:
        greedy, sampled = agent, agent
        if isinstance(agent, EncoderAgent):
            greedy, sampled = agent.with_greedy(True), agent.with_greedy(False)
        self.greedy, self.chances = greedy, as_policy(sampled)
        self.tracker = Tracker(self.chances, EPSILON)

    def responses(self, own: Agent, rules: Rules) -> Responses:
        """Return the values of cards against this model, for a player that continues as `own`."""
        return Responses(rules, as_policy(self.greedy), played_by(rules, own))


class SearchAgent(CachingAgent):
    """Improves a policy by search, in two-player games.

    It has no random numbers.
    """

    plays = "two-player games without an exchange"

    def __init__(
        self,
        policy: EncoderAgent,
        search: str | int = "all",
        *,
        models: Sequence[Agent] = (),
    ) -> None:
        """Make a player that improves `policy`.

        Args:
            policy: the policy to improve. It is also the first opponent model.
            search: the budget per card: a time (``50ms``), a number of worlds (``32``), or ``all``.
                The likeliest worlds come first. A world counts once per opponent model. With a
                time, play depends on the machine.
            models: further opponent models: agents with ``action_probs``. Before the first card,
                all models are equally likely.

        Raises:
            HeartsError: if an option has an unusable value. The message names it.
        """
        if not isinstance(policy, EncoderAgent):
            raise HeartsError(
                f"policy: {quoted(policy)} is not a network; give make_agent(PATH) with a run's "
                "folder or a checkpoint"
            )
        self.policy = policy.with_greedy(True)
        self.models = _checked(models)
        self.budget = Budget(search)
        others = "".join(f", or {model.name} opposite" for model in self.models)
        self.name = f"{policy.name} with search={self.budget.text}{others}"
        self._forget()

    def _forget(self) -> None:
        self._opponents = [OpponentModel(agent) for agent in (self.policy, *self.models)]
        self._responses: list[Responses] = []

    def check_rules(self, rules: Rules) -> None:
        """Raise unless `rules` have two players, no exchange, and policy and models play them."""
        check_two_players(rules, self.name)
        for agent in (self.policy, *self.models):
            check_rules(agent, rules)

    @property
    def is_timed(self) -> bool:
        """True if the player's budget is a time, so its play depends on the machine."""
        return self.budget.is_timed

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``.

        A time budget applies to each view, and all views share the sum of their times.
        """
        self.check_rules(views.rules)
        actions = self.policy.act_batch(views)
        legal = views.legal_masks
        has_choice = (legal & (legal - 1) != 0) & (views.vectors[:, k.PHASE] == k.PLAY)
        rows = np.flatnonzero(has_choice)
        if len(rows):
            actions[rows] = self.scores(views.subset(rows)).argmax(1)
        return actions

    def scores(self, views: BatchView) -> Floats:
        """Return Q / tau + log p, ``(views, num_actions)``, -inf for illegal actions.

        Q is an action's mean margin over the examined worlds and models, in points. In each view,
        the player must have a card to play.
        """
        begin = clock.now()
        logs = np.log(np.maximum(self._opponents[0].chances(views), 1e-9))
        batches = _shared([model.tracker.with_likelihoods(views) for model in self._opponents])
        places = _places(batches)
        sums, weights = np.zeros((len(batches), *logs.shape)), np.zeros((len(batches), len(views)))
        most = min(1 + max(each.max() for each in places), self.budget.worlds)
        allowed = self.budget.seconds * len(views)
        # A short time may end after the first few worlds. Without a time, no check is needed.
        first, some = 0, _AT_ONCE if np.isinf(allowed) else _FIRST
        while first < most:
            last = min(first + some, most)
            for number, responses in enumerate(self._of(views.rules)):
                is_next = (places[number] >= first) & (places[number] < last)
                sets, part = _worlds_of(batches[number], is_next)
                if len(sets):
                    sums[number, sets] += responses.card_values(part, 1)
                    weights[number, sets] += part.totals
            spent = clock.now() - begin
            first, some = last, min(2 * some, _AT_ONCE)
            if spent * (first + some) / first > allowed:
                break
        return _means(batches, sums, weights) / TAU + logs

    def _of(self, rules: Rules) -> list[Responses]:
        """Return the values of cards against each opponent model."""
        if not self._responses or self._responses[0].rules != rules:
            self._responses = [model.responses(self.policy, rules) for model in self._opponents]
        return self._responses

    def __deepcopy__(self, memo: dict[int, Any]) -> SearchAgent:
        """Return a player with empty caches. It shares the policy, which never changes."""
        return copy.copy(self)


def _checked(models: object) -> tuple[Agent, ...]:
    if isinstance(models, Sequence) and all(isinstance(model, Agent) for model in models):
        return tuple(models)
    raise HeartsError(
        f"models: {quoted(models)} is not a list of agents; give [make_agent('pimc')]"
    )


def _shared(models: list[tuple[InfoSets, Floats]]) -> list[InfoSets]:
    """Return each model's worlds, weighted by the model's probability.

    If all models are impossible, they are equally likely.
    """
    logs = np.stack([chances for _, chances in models])
    best = logs.max(0)
    likely = np.exp(logs - np.where(np.isfinite(best), best, 0.0))
    likely[:, ~np.isfinite(best)] = 1.0
    shares = likely / likely.sum(0)
    return [
        infosets._replace(weights=infosets.weights * share[infosets.numbers])
        for (infosets, _), share in zip(models, shares, strict=True)
    ]


def _places(batches: list[InfoSets]) -> list[Ints]:
    """Return the place of each world in its view's order of examination, from 0.

    Within a model the likeliest worlds come first. Equally likely worlds come in a mixed order. The
    models take turns in proportion to their probabilities.
    """
    turns, numbers = [], [infosets.numbers for infosets in batches]
    for infosets, own in zip(batches, numbers, strict=True):
        begins = infosets.starts[:-1][own]
        count = np.arange(len(own))
        mixed = (count - begins) * _GOLDEN % 1.0
        ranks = np.empty(len(own))
        ranks[np.lexsort((mixed, -infosets.weights, own))] = count - begins
        turns.append((ranks + 0.5) / np.maximum(infosets.totals, _UNLIKELY)[own])
    together = np.concatenate(numbers)
    order = np.lexsort((np.concatenate(turns), together))
    sizes = np.bincount(together)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.split(places, np.cumsum([len(own) for own in numbers])[:-1])


def _worlds_of(infosets: InfoSets, is_chosen: Bools) -> tuple[Ints, InfoSets]:
    """Return the information sets with chosen worlds of positive weight, and these worlds."""
    keep = np.flatnonzero(is_chosen & (infosets.weights > 0))
    sets, firsts = np.unique(infosets.numbers[keep], return_index=True)
    starts = np.append(firsts, len(keep))
    return sets, InfoSets(
        infosets.states[keep], infosets.weights[keep], starts, infosets.seats[sets]
    )


def _means(batches: list[InfoSets], sums: Floats, weights: Floats) -> Floats:
    """Return the mean over all models, weighted by their probabilities.

    The number of worlds examined per model does not matter, but models without an examined world
    are left out.
    """
    seen = weights > 0
    shares = np.where(seen, [infosets.totals for infosets in batches], 0.0)
    shares /= shares.sum(0)
    means = np.zeros(sums.shape[1:])
    for share, total, weight, is_seen in zip(shares, sums, weights, seen, strict=True):
        means[is_seen] += (share[is_seen] / weight[is_seen])[:, None] * total[is_seen]
    return means
