"""Best responses on decks whose tree is too large: exact for drawn hands, one deal after another.

With its own hand known, a best response has few hidden hands to reckon with, and what can follow is
small enough to be listed (``hearts_env.solve.response``), above all where the agent does not mix
its cards. So what it wins with that hand is exact, and the mean over drawn deals, with the hands of
both seats, is an unbiased estimate of the exploitability: no lower bound.

A best response that sleeps in the first tricks plays as the agent does there. So the agent plays
them against itself, and what follows is listed from where either seat then stands.

What the agent wins from itself from there on is subtracted. Over all deals and both seats that is
0, so the mean stays the same, and most of the luck of the cards is gone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hearts_agents.attackers import as_policy
from hearts_env import BatchGame, Game, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.solve.beliefs import Policy, Tracker
from hearts_env.solve.response import ALL, Responses, is_awake
from hearts_train.measure.contest import Contest, Task
from hearts_train.measure.participants import AgentLike

_SAMPLES = 512
"""Lines that an estimate draws for each seat."""


@dataclass(frozen=True)
class HandBlock:
    """The points that can be won with the two hands of a deal.

    Attributes:
        first: The number of the deal.
        won: What a best response wins from the agent as the first leader, and as the other player,
            in points, the mean over what the agent may hold.
        own: What the agent wins from itself there.
        took: Seconds of processor time that it took.
    """

    first: int
    won: tuple[float, float]
    own: tuple[float, float]
    took: float
    deals: int = 1

    @property
    def gain(self) -> float:
        """Return how much more a best response wins than the agent, the mean of both hands."""
        return (sum(self.won) - sum(self.own)) / 2

    def to_json(self) -> dict[str, Any]:
        """All of it, of types that JSON knows."""
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> HandBlock:
        """The block that ``to_json`` wrote.

        Raises:
            ValueError, TypeError, KeyError: if `record` is something else.
        """
        (a, b), (c, d) = record["won"], record["own"]
        numbers = [float(number) for number in (a, b, c, d, record["took"])]
        if not np.isfinite(numbers).all():
            raise ValueError("won")
        return cls(
            int(record["first"]), (numbers[0], numbers[1]), (numbers[2], numbers[3]), numbers[4]
        )


class HandContest(Contest):
    """Agents against the best response to each, deal by deal, the same deals for all."""

    def __init__(
        self,
        agents: Sequence[AgentLike],
        rules: Rules,
        seed: int,
        *,
        awake: Sequence[int] | None = None,
        **settings: Any,
    ) -> None:
        """The agents, as for ``Contest``; the deals are those of its duplicate deals.

        In tricks that are not among `awake`, counted from 1, the best response plays as the agent
        does; None: all are.
        """
        pairings = [(place, place) for place in range(len(agents))]
        super().__init__(
            agents, rules, seed, pairings=lambda _: pairings, largest_block=1, **settings
        )
        self.awake = awake

    def _block(self, record: dict[str, Any]) -> HandBlock:
        return HandBlock.of(record)

    def play(self, task: Task) -> HandBlock:
        """Answer both hands of a deal: the same block in any process."""
        began = time.process_time()
        rules, participant = self.rules, self.participants[task.pairing[0]]
        game = Game.deal(rules, derived_seed(self.seed, task.first))
        rng = np.random.default_rng(secret_seed(self.seed, "asleep", task.first))
        asleep, won, own = _tricks_asleep(self.awake), [], []
        with participant.answering(rules, secret_seed(self.seed, "hands", task.first)) as player:
            policy = as_policy(player, participant.name)
            while (mover := game.current_player) is not None and game.trick_number < asleep:
                chances = policy(BatchView.of([game.view(mover)]))[0]
                game.play(int(rng.choice(len(chances), p=chances)))
            leader = int(game.vector[k.FIRST_LEADER])
            both = Tracker(policy).fan(BatchView.of([game.view(leader), game.view(1 - leader)]))
            for role in range(2):
                fan = both.slice(role, role + 1)
                won.append(Responses(rules, policy, awake=self.awake).value(fan, ALL))
                own.append(Responses(rules, policy, awake=()).value(fan))
                if self._report is not None:
                    self._report(task, (role + 1) / 2)
        took = time.process_time() - began
        return HandBlock(task.first, (won[0], won[1]), (own[0], own[1]), took)


def _tricks_asleep(awake: Sequence[int] | None) -> int:
    """Return the number of tricks before the first one in which a best response is awake."""
    return 0 if awake is None else min(awake, default=1) - 1


def num_positions(rules: Rules, policy: Policy | None, awake: Sequence[int] | None = None) -> float:
    """About how many positions are listed for a deal, from random lines (Knuth 1975).

    From the first trick in which the best response is `awake`, a position stands for as many as
    there were choices on the way to it, all legal ones of the best response where it is awake, else
    those that the agent's policy may take (None: all); times the hands that it may hold at first.
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
