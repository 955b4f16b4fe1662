"""Best responses on decks whose tree is too large: exact for each sampled deal.

Given its own hand, a best response faces few hidden hands. It is then possible to enumerate
everything that can follow (``hearts_env.solve.response``), above all if the agent does not mix. Its
margin with that hand is exact. The mean over sampled deals, with the hands of both seats, is an
unbiased estimate of the exploitability, not a lower bound.

A best response that does not attack in the first tricks plays like the agent there. So the agent
plays these tricks against itself, and the enumeration starts from the position reached.

The margin of the agent over itself from that position on is subtracted. Its mean over all deals and
both seats is 0, so the estimate stays unbiased, but most of the luck of the cards is removed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from hearts_agents.attackers import as_policy
from hearts_env import BatchGame, Game, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.solve.beliefs import Tracker
from hearts_env.solve.policies import Policy
from hearts_env.solve.response import ALL, Responses, is_awake
from hearts_train.measure.contest import Contest, Task
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.settings import WorkerSettings
from hearts_train.store import misfit

_SAMPLES = 512
"""The number of random lines per seat of an estimate."""


@dataclass(frozen=True)
class HandBlock:
    """The margins with the two hands of a deal.

    Attributes:
        first: the number of the deal.
        won: the margins of a best response over the agent as the first leader and as the other
            player, in points, each the mean over the agent's possible hands.
        own: the margins of the agent over itself in the same places.
        took: the processor time in seconds.
    """

    first: int
    won: tuple[float, float]
    own: tuple[float, float]
    took: float
    deals: int = 1

    @property
    def gain(self) -> float:
        """The gain of a best response over the agent's own play, as the mean over both hands."""
        return (sum(self.won) - sum(self.own)) / 2

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> HandBlock:
        """Return the block that ``to_json`` wrote.

        Raises:
            ValueError, TypeError: if `record` is something else.
        """
        if wrong := misfit(record, _SHAPE):
            raise ValueError(wrong)
        (a, b), (c, d) = record["won"], record["own"]
        return cls(**record | {"won": (a, b), "own": (c, d)})


_SHAPE = {"first": int, "won": [float], "own": [float], "took": float, "deals": int}


class HandContest(Contest):
    """A contest of an agent against the best response to it."""

    def __init__(
        self,
        agent: AgentLike,
        rules: Rules,
        seed: int,
        *,
        awake: Sequence[int] | None = None,
        **settings: Unpack[WorkerSettings],
    ) -> None:
        """Make the agent as ``Contest`` does.

        In tricks outside `awake`, counted from 1, the best response plays like the agent. If
        `awake` is None, it attacks in all tricks.
        """
        super().__init__(
            [agent], rules, seed, pairings=lambda _: [(0, 0)], largest_block=1, **settings
        )
        self.awake = awake

    def _block(self, record: dict[str, Any]) -> HandBlock:
        return HandBlock.of(record)

    def play(self, task: Task) -> HandBlock:
        """Compute the margins with both hands of a deal. The block is the same in any process."""
        began = time.process_time()
        rules, (participant,) = self.rules, self.participants
        game = Game.deal(rules, derived_seed(self.seed, task.first))
        rng = np.random.default_rng(secret_seed(self.seed, "asleep", task.first))
        asleep, won, own = _tricks_asleep(self.awake), [], []
        with participant.answering(rules, secret_seed(self.seed, "hands", task.first)) as player:
            policy = as_policy(player, participant.name)
            while (mover := game.current_player) is not None and game.trick_number < asleep:
                chances = policy(BatchView.of([game.view(mover)]))[0]
                game.play(int(rng.choice(len(chances), p=chances)))
            leader = int(game.vector[k.FIRST_LEADER])
            both = Tracker(policy).infosets(
                BatchView.of([game.view(leader), game.view(1 - leader)])
            )
            for role in range(2):
                infosets = both.slice(role, role + 1)
                won.append(Responses(rules, policy, awake=self.awake).value(infosets, ALL))
                own.append(Responses(rules, policy, awake=()).value(infosets))
                self._report(task, (role + 1) / 2)
        took = time.process_time() - began
        return HandBlock(task.first, (won[0], won[1]), (own[0], own[1]), took)


def _tricks_asleep(awake: Sequence[int] | None) -> int:
    """Return the number of tricks before the first one in `awake`."""
    return 0 if awake is None else min(awake, default=1) - 1


def num_positions(rules: Rules, policy: Policy | None, awake: Sequence[int] | None = None) -> float:
    """Estimate how many positions are enumerated for a deal, from random lines (Knuth 1975).

    Each position on a random line, from the first trick in `awake`, counts as many times as there
    were choices on the way to it. Where the best response attacks, the choices are all legal
    actions. Elsewhere they are the actions with positive probability in `policy` (if None, all
    actions). The total is multiplied by the number of hands that the agent may hold at first.
    """
    is_free, asleep = is_awake(awake), _tricks_asleep(awake)
    total = 0.0
    rng = np.random.default_rng(0)
    for role in range(2):
        batch = BatchGame(rules, _SAMPLES, seed=1, autodeal=False)
        responding = batch.current_player ^ role
        weights = np.ones(_SAMPLES)
        while not batch.done.all():
            games = np.flatnonzero(~batch.done)
            views = batch.views(games=games)
            options = views.legal_table.astype(np.float64)
            is_listed = views.vectors[:, k.TRICK_NUM] >= asleep
            is_own = batch.current_player[games] == responding[games]
            is_own &= is_free[views.vectors[:, k.TRICK_NUM]]
            asked = np.flatnonzero(is_listed & ~is_own & (options.sum(1) > 1))
            if policy is not None and len(asked):
                options[asked] = policy(views.subset(asked)) > 0
            number = options.sum(1)
            total += float(weights[games] @ is_listed)
            weights[games] *= np.where(is_listed, number, 1.0)
            drawn = (options.cumsum(1) > (rng.random(len(games)) * number)[:, None]).argmax(1)
            batch.play(drawn.astype(np.int64), games=games)
    left = rules.hand_size - asleep
    return total / _SAMPLES * math.comb(len(rules.deck) - rules.hand_size - asleep, left)
