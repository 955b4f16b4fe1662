"""One step of policy improvement at play: a searching player made of a policy.

In each hidden world, as likely as Bayes' rule says if the other player draws its cards from the
policy, every legal card is tried, and the rest of the deal is played as the policy prefers, by both
players, who see no more than players do. The mean margin Q of a card and the policy p are then
weighed against each other: the card with the highest Q / tau + log p is played. That is a step of
mirror descent from the policy, as in the update-equivalent search of Sokota et al. (2023, *The
Update-Equivalence Framework for Decision-Time Planning*).

Who the other player is, is not known. Beside the policy itself there can be models of other ways to
play; each is as likely as Bayes' rule says after the cards that the other player has played in this
deal, and in each of its worlds it plays as that model does.

What is answered is not this deal's other player alone: worlds that only a policy without any mixing
would rule out stay possible, and where cards are about equally good the policy decides.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hearts_agents.attackers import asked, played_by
from hearts_agents.base import Actions
from hearts_agents.encoded import EncodedAgent
from hearts_agents.remembering import Remembering
from hearts_env import HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.arguments import check_chance, check_flag
from hearts_env.arrays import Bools, Floats, Ints
from hearts_env.batch_view import BatchView
from hearts_env.errors import quoted
from hearts_env.solve.beliefs import check_two_players
from hearts_env.solve.deal_results import shipped_results
from hearts_env.solve.match_worth import MatchWorth
from hearts_env.solve.response import Fan, Responses, Worth
from hearts_env.solve.tracking import Tracker

TAU = 0.5
"""In points: how much better a card must be for the policy to be overruled e to 1."""
NOISE = 0.05
"""With this chance the other player is taken to have played at random."""
_AT_ONCE = 16
"""Worlds of each view that are looked at between two looks at the clock."""


class Budget:
    """How much may be looked at before a card is played: a time, a number of worlds, or all."""

    def __init__(self, text: str | int) -> None:
        """A budget as it is written: ``50ms``, ``2s``; ``16`` worlds; ``all``.

        Raises:
            HeartsError: it is none of these.
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

    @staticmethod
    def _refuse(text: str | int) -> HeartsError:
        return HeartsError(
            f"search: {quoted(str(text))} is not a budget; give a time for each card like 50ms, a "
            "number of worlds like 32, or all"
        )


class Weighed(NamedTuple):
    """What a search chooses by in some views."""

    values: Floats
    """Q of every action, ``(views, num_actions)``: the mean margin over the worlds that the budget
    allowed, -inf for illegal actions."""
    logs: Floats
    """log p, ``(views, num_actions)``."""
    fans: list[Fan]
    """All worlds of each view, a fan for each model: weights are the chance of the world and of the
    model, and add up to 1 over all models."""


class _Model:
    """A way in which the other player may play: what it tells of the worlds, and what it plays."""

    def __init__(self, policy: EncodedAgent, noise: float) -> None:
        self.policy = policy.with_greedy(True)
        self.chances = asked(policy.with_greedy(False))
        self.tracker = Tracker(self.chances, noise)

    def responses(self, own: EncodedAgent, rules: Rules, worth: Worth | None) -> Responses:
        """What cards earn against it, for a player who goes on by a policy of its own."""
        return Responses(rules, asked(self.policy), played_by(rules, own), worth=worth)


class Improver(Remembering):
    """Plays better than a policy by looking at what its cards lead to, in games of two.

    It draws no random numbers.
    """

    plays = "two-player games without an exchange"

    def __init__(
        self,
        policy: EncodedAgent,
        search: str | int = "all",
        *,
        models: Sequence[EncodedAgent] = (),
        tau: float = TAU,
        noise: float = NOISE,
        match: bool = False,
    ) -> None:
        """An improved `policy`.

        Args:
            policy: whose preferred cards are played on, and whose chances weigh the worlds.
            search: the budget of a card: a time (``50ms``), a number of worlds, the likeliest
                first (``32``), or ``all``. Of a time, what is done depends on the machine.
            models: how else the other player may play, besides by the policy; before the first
                card all are equally likely.
            tau: in points: the smaller, the more a card's value counts against the policy.
            noise: the chance, in [0, 1], that the other player is taken to have played at random.
            match: play for the match instead of the deal: the chance to win it counts, by the
                totals in the view (``hearts_env.solve.match_worth``).

        Raises:
            HeartsError: if an option has an unusable value; it is named.
        """
        self.policy = policy.with_greedy(True)
        self.models = tuple(models)
        self.budget = Budget(search)
        if not 0 < tau < np.inf:
            raise HeartsError(f"tau: must be a number above 0, got {tau!r}")
        self.tau, self.noise = tau, check_chance("noise", noise)
        self.match = check_flag("match", match)
        aim = " for the match" if match else ""
        self.name = f"{policy.name} with search={self.budget.text}{aim}"
        self._forget()

    def _forget(self) -> None:
        self._models = [_Model(policy, self.noise) for policy in (self.policy, *self.models)]
        self._responses: list[Responses] = []

    def check_rules(self, rules: Rules) -> None:
        """Refuse games of other than two players, with an exchange, or not the policy's."""
        check_two_players(rules)
        for policy in (self.policy, *self.models):
            policy.check_rules(rules)
        if self.match:
            shipped_results(rules)

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many views, ``(len(views),) int64``; a time is for each of them."""
        self.check_rules(views.rules)
        actions = self.policy.act_batch(views)
        legal = views.legal_masks
        has_choice = (legal & (legal - 1) != 0) & (views.vectors[:, k.PHASE] == k.PLAY)
        rows = np.flatnonzero(has_choice)
        if len(rows):
            actions[rows] = self._improved(views.subset(rows))
        return actions

    def _improved(self, views: BatchView) -> Actions:
        found = self.weighed(views)
        chosen: Actions = (found.values / self.tau + found.logs).argmax(1)
        return chosen

    def weighed(self, views: BatchView) -> Weighed:
        """What it chooses by, in views of players who have a card to play."""
        begin = time.perf_counter()
        logs = np.log(np.maximum(self._models[0].chances(views), 1e-9))
        fans = _shared([model.tracker.judged(views) for model in self._models])
        ranks = _ranks(fans)
        sums, weights = np.zeros(logs.shape), np.zeros(len(views))
        most = min(1 + max(places.max() for places in ranks), self.budget.worlds)
        allowed = self.budget.seconds * len(views)
        for first in range(0, most, _AT_ONCE):
            last = min(first + _AT_ONCE, most)
            for fan, places, responses in zip(fans, ranks, self._of(views.rules), strict=True):
                sets, part = _worlds_of(fan, (places >= first) & (places < last))
                if len(sets):
                    sums[sets] += responses.card_values(part, 1)
                    weights[sets] += np.add.reduceat(part.weights, part.starts[:-1])
            spent = time.perf_counter() - begin
            if spent * (last + _AT_ONCE) / last > allowed:
                break
        return Weighed(sums / weights[:, None], logs, fans)

    def _of(self, rules: Rules) -> list[Responses]:
        """What cards earn against each model."""
        if not self._responses or self._responses[0].rules != rules:
            worth = MatchWorth(rules) if self.match else None
            self._responses = [model.responses(self.policy, rules, worth) for model in self._models]
        return self._responses

    def __deepcopy__(self, memo: dict[int, Any]) -> Improver:
        """A player that remembers no view; the policy, which is never changed, is shared."""
        return copy.copy(self)


def _shared(judged: list[tuple[Fan, Floats]]) -> list[Fan]:
    """The worlds by each model, their weights times the chance that it is this model.

    Models that are all impossible are equally likely.
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


def _ranks(fans: list[Fan]) -> list[Ints]:
    """The place of each world among those of its view by all models, the likeliest first."""
    weights = np.concatenate([fan.weights for fan in fans])
    numbers = np.concatenate([fan.numbers for fan in fans])
    order = np.lexsort((-weights, numbers))
    sizes = np.bincount(numbers)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.split(ranks, np.cumsum([len(fan.weights) for fan in fans])[:-1])


def _worlds_of(fan: Fan, is_chosen: Bools) -> tuple[Ints, Fan]:
    """The information sets that have chosen worlds of some weight, and these worlds."""
    keep = np.flatnonzero(is_chosen & (fan.weights > 0))
    sets, firsts = np.unique(fan.numbers[keep], return_index=True)
    starts = np.append(firsts, len(keep))
    return sets, Fan(fan.states[keep], fan.weights[keep], starts, fan.seats[sets])
