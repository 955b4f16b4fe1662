"""Opponents of a learner: one, a list to draw from, or a pool that grows during training."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents.base import Agent, RandomState, check_rules
from hearts_agents.registry import is_model
from hearts_agents.spec import make_agent
from hearts_agents.user_code import describe
from hearts_env import BatchGame, HeartsError, Rules
from hearts_env.support.arguments import check_any_seed, check_number
from hearts_env.support.arrays import Ints
from hearts_env.support.errors import quoted


@dataclass
class Opponent:
    """One opponent of a pool: drawn in proportion to its weight; 0 is never drawn."""

    name: str
    agent: Agent
    weight: float


class OpponentPool:
    """Opponents with weights, from which every seat that is not the learner's draws each episode.

    ::

        pool = OpponentPool({"standard": 1.0, "standard_trump": 2.0})
        envs = HeartsVectorEnv(num_envs=512, opponent=pool)
        pool.add(snapshot, name="step 100000", weight=1.0)   # from the next episodes on

    Entries keep their places: a removed one is only never drawn again, so that episodes under way
    end with the opponents they began with.
    """

    def __init__(self, opponents: Any = (), *, seed: int | None = None) -> None:
        """A pool of `opponents`.

        Args:
            opponents: a name, an agent, a list of them, or a mapping from names to weights.
            seed: from which the random numbers of agents given by name follow.
        """
        self.entries: list[Opponent] = []
        self.version = 0
        self._seed = None if seed is None else check_any_seed(seed)
        if isinstance(opponents, Mapping):
            for name, weight in opponents.items():
                self.add(name, weight=weight)
        else:
            single = isinstance(opponents, str | os.PathLike) or hasattr(opponents, "act")
            single = single or is_model(opponents)
            try:
                given = [opponents] if single else list(opponents)
            except TypeError:
                raise HeartsError(
                    f"opponent: {quoted(opponents)} is not an agent; "
                    "give a name, an agent, or a list of them",
                    value=opponents,
                ) from None
            for opponent in given:
                self.add(opponent)

    @classmethod
    def of(cls, opponent: Any, rules: Rules | None = None) -> OpponentPool:
        """The pool that an argument ``opponent`` means; a pool itself is not copied.

        Raises:
            HeartsError: if no opponent can be drawn from it.
            CheckpointError: if a player in it was trained for other rules.
        """
        pool = opponent if isinstance(opponent, OpponentPool) else cls(opponent)
        if not any(entry.weight for entry in pool.entries):
            raise HeartsError(
                "opponent: there is none to draw; give a name, an agent, or a list of them"
            )
        for entry in pool.entries:
            if rules is not None:
                check_rules(entry.agent, rules)
        return pool

    def add(self, agent: Any, *, weight: float = 1.0, name: str | None = None) -> int:
        """Add an opponent (a name, a path or an agent), and return its place.

        Its entry gets a number if another one has its name, as in ``pro (2)``.

        Raises:
            HeartsError: if the agent is unknown, or the weight is not a number from 0.
        """
        if name is None and isinstance(agent, str | os.PathLike):
            name = os.fspath(agent)
        weight = _check_weight(weight)
        seed = None if self._seed is None else self._seed + len(self.entries)
        opponent = make_agent(agent, seed if isinstance(agent, str | os.PathLike) else None)
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
        """Draw `name` in proportion to `weight` from the next episodes on."""
        self.entries[self.place(name)].weight = _check_weight(weight)
        self.version += 1

    def remove(self, name: str) -> None:
        """Stop drawing `name`.

        Raises:
            HeartsError: if it is the last one that can be drawn.
        """
        place = self.place(name)
        if not any(e.weight for i, e in enumerate(self.entries) if i != place):
            raise HeartsError(
                f"opponent: {name!r} is the last of the pool; add another first", value=name
            )
        self.set_weight(name, 0.0)

    def place(self, name: str) -> int:
        """The number of the entry of this name.

        Raises:
            HeartsError: if there is none.
        """
        if name not in self.names:
            raise HeartsError(
                f"opponent: {name!r} is not in the pool; it has {self.names}", value=name
            )
        return self.names.index(name)

    @property
    def names(self) -> list[str]:
        """The names of all entries, in their places."""
        return [entry.name for entry in self.entries]

    @property
    def cumulative(self) -> NDArray[np.float64]:
        """The probability to draw each entry or one before it, (len,) float64; the last is 1."""
        weights = np.array([entry.weight for entry in self.entries])
        if not weights.any():
            raise HeartsError("opponent: all weights in the pool are 0; set one above 0")
        sums = np.cumsum(weights / weights.sum())
        sums[np.flatnonzero(weights)[-1] :] = 1.0
        return sums

    def play(self, batch: BatchGame, games: Ints, places: Ints) -> None:
        """Do one action of the opponent at each of `places`, who is to move, in each of `games`.

        Raises:
            HeartsError: if one raises, or does something illegal; the message names it.
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
        """Restart the random numbers of all agents that have any."""
        for place, entry in enumerate(self.entries):
            entry.agent.reseed(seed + place)

    def state(self) -> dict[str, RandomState]:
        """The state of the random numbers of each agent, by the name of its entry."""
        return {entry.name: entry.agent.random_state() for entry in self.entries}

    def restore(self, state: Mapping[str, RandomState]) -> None:
        """Continue the random numbers of each agent from what ``state`` returned.

        Raises:
            HeartsError: if an agent is missing, or its state is that of another kind of agent.
        """
        for entry in self.entries:
            if entry.name not in state:
                raise HeartsError(
                    f"opponent {entry.name!r}: its random numbers are missing; give the whole state"
                )
            try:
                entry.agent.restore_random(state[entry.name])
            except HeartsError as error:
                raise HeartsError(f"opponent {entry.name!r}: {error}") from None

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        weights = ", ".join(f"{entry.name}: {entry.weight:g}" for entry in self.entries)
        return f"<OpponentPool {weights}>"


def _check_weight(weight: float) -> float:
    try:
        number = float(weight)
    except (TypeError, ValueError):
        number = -1.0
    if not (number >= 0 and math.isfinite(number)):
        raise HeartsError(
            f"weight: {weight!r} is not a number from 0; give 0 or more", value=weight
        )
    return number


def check_seat(rules: Rules, seat: int | str) -> int:
    """The seat as a number, -1 for ``random``.

    Raises:
        HeartsError: if it is neither a seat of these rules nor ``random``.
    """
    if isinstance(seat, str) and seat == "random":
        return -1
    return check_number("seat", seat, 0, rules.players - 1, other=", or 'random'")
