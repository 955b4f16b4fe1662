"""A learner's opponents: one, a list to draw from, or a pool that grows during training."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents.base import Agent, check_rules
from hearts_agents.registry import model_factory
from hearts_agents.spec import AgentSpec, make_agent
from hearts_agents.user_code import describe
from hearts_env import BatchGame, HeartsError, Rules
from hearts_env.support.arguments import check_number, check_range
from hearts_env.support.arrays import Ints
from hearts_env.support.errors import quoted


@dataclass
class Opponent:
    """An opponent in a pool, drawn in proportion to its weight."""

    name: str
    agent: Agent
    weight: float


class OpponentPool:
    """Opponents with weights. Each episode draws one for every seat except the learner's seat.

    ::

        pool = OpponentPool({"standard": 1.0, "standard_trump": 2.0})
        envs = HeartsVectorEnv(num_envs=512, opponent=pool)
        pool.add(snapshot, name="step 100000", weight=1.0)   # from the next episodes on

    Entries keep their places. A removed entry is never drawn again, but episodes under way keep
    their opponents.
    """

    def __init__(self, opponents: Any = ()) -> None:
        """Make a pool.

        Args:
            opponents: a name, an agent, a list of them, or a mapping from names to weights.

        Raises:
            HeartsError: if an agent is unknown or a weight is invalid.
        """
        self.entries: list[Opponent] = []
        self.version = 0
        if isinstance(opponents, Mapping):
            for name, weight in opponents.items():
                self.add(name, weight=weight)
        else:
            single = isinstance(opponents, str | os.PathLike) or hasattr(opponents, "act")
            single = single or bool(model_factory(opponents))
            try:
                given = [opponents] if single else list(opponents)
            except TypeError:
                raise HeartsError(
                    f"opponent: {quoted(opponents)} is not an agent; "
                    "give a name, an agent, or a list of them"
                ) from None
            for opponent in given:
                self.add(opponent)

    @classmethod
    def of(cls, opponent: Any, rules: Rules | None = None) -> OpponentPool:
        """Return the pool for the argument ``opponent`` of an environment. A pool is not copied.

        Raises:
            HeartsError: if the pool is empty, has no weight above 0, or a player refuses `rules`.
            CheckpointError: if a network in it was trained for other rules.
        """
        pool = opponent if isinstance(opponent, OpponentPool) else cls(opponent)
        if not any(entry.weight for entry in pool.entries):
            raise HeartsError("opponent: there are none; give a name, an agent, or a list of them")
        for entry in pool.entries:
            if rules is not None:
                check_rules(entry.agent, rules)
        return pool

    def add(self, agent: Any, *, weight: float = 1.0, name: str | None = None) -> int:
        """Add an opponent and return its place.

        A name that is already taken gets a number, as in ``pro (2)``.

        Args:
            agent: a name, a path or an agent.
            weight: the opponent is drawn in proportion to this number, from the next episodes on.
            name: the entry's name. If None, the agent's own name.

        Raises:
            HeartsError: if the agent is unknown, or the weight is negative or not finite.
        """
        if name is None and isinstance(agent, str | os.PathLike):
            name = AgentSpec.parse(agent).label
        weight = check_range("weight", weight, 0, math.inf)
        opponent = make_agent(agent)
        name = name or opponent.name or type(opponent).__name__
        if name in self.names:
            number = 2
            while f"{name} ({number})" in self.names:
                number += 1
            name = f"{name} ({number})"
        self.entries.append(Opponent(name, opponent, weight))
        self.version += 1
        return len(self.entries) - 1

    def set_weight(self, name: str, weight: float) -> None:
        """Draw entry `name` in proportion to `weight`, from the next episodes on.

        Raises:
            HeartsError: if there is no such entry, or the weight is negative or not finite.
        """
        self.entries[self.place(name)].weight = check_range("weight", weight, 0, math.inf)
        self.version += 1

    def remove(self, name: str) -> None:
        """Stop drawing entry `name`.

        Raises:
            HeartsError: if there is no such entry.
        """
        self.set_weight(name, 0.0)

    def place(self, name: str) -> int:
        """Return the place of the entry with this name.

        Raises:
            HeartsError: if there is no such entry.
        """
        if name not in self.names:
            raise HeartsError(f"opponent: {quoted(name)} is not in the pool; it has {self.names}")
        return self.names.index(name)

    @property
    def names(self) -> list[str]:
        """The names of all entries, by place."""
        return [entry.name for entry in self.entries]

    @property
    def cumulative(self) -> NDArray[np.float64]:
        """The cumulative probabilities of the entries, ``(len,) float64``. The last is 1.

        Raises:
            HeartsError: if all weights are 0.
        """
        weights = np.array([entry.weight for entry in self.entries])
        if not weights.any():
            raise HeartsError("opponent: all weights in the pool are 0; set one above 0")
        sums = np.cumsum(weights / weights.sum())
        sums[np.flatnonzero(weights)[-1] :] = 1.0
        return sums

    def play(self, batch: BatchGame, games: Ints, places: Ints) -> None:
        """Play one action of the acting opponent in each of `games`, in place.

        Args:
            batch: the games.
            games: numbers of games, ``(n,)``.
            places: the place in the pool of each game's acting opponent, ``(n,)``.

        Raises:
            HeartsError: if an opponent raises an exception or acts illegally. The message names the
                opponent.
        """
        for place in np.unique(places).tolist():
            some = games[places == place]
            entry = self.entries[place]
            try:
                actions = np.asarray(entry.agent.act_batch(batch.views(some)))
                batch.play(actions, games=some)
            except HeartsError as error:
                raise type(error)(f"opponent {entry.name!r}: {error}") from None
            except Exception as error:
                raise HeartsError(
                    f"opponent {entry.name!r}: it raised {describe(error)}; correct it"
                ) from error

    def reseed(self, seed: int) -> None:
        """Restart the random numbers of all agents. Their seeds are `seed` plus the place."""
        for place, entry in enumerate(self.entries):
            entry.agent.reseed(seed + place)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        weights = ", ".join(f"{entry.name}: {entry.weight:g}" for entry in self.entries)
        return f"<OpponentPool {weights}>"


def check_seat(rules: Rules, seat: int | str) -> int:
    """Return the seat as a number, -1 for ``random``.

    Raises:
        HeartsError: if `seat` is neither a seat of these rules nor ``random``.
    """
    if isinstance(seat, str) and seat == "random":
        return -1
    return check_number("seat", seat, 0, rules.players - 1, other=", or 'random'")
