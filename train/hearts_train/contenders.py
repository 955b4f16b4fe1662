"""Who is measured: agents as entered, made once, and fresh players of each for every seating.

The agent that was entered never plays. What plays are copies of it as it was on entering, one for
each seat of each seating of each block of deals, so that no player has seen a deal before: what
one remembers is worth nothing to any other.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from hearts_agents import Agent, Player, as_agent, make_agent
from hearts_agents.network import NetworkAgent
from hearts_agents.outside import code_file, is_code, parse_options, split_spec
from hearts_agents.registry import is_registered_here, resolve
from hearts_agents.search import PimcBelief
from hearts_agents.solved import EquilibriumAgent, SolvedAgent
from hearts_env import HeartsError, Rules
from hearts_env._files import kind_of
from hearts_env.batch import BatchView
from hearts_env.solve.equilibrium import SHIPPED, shipped_file
from hearts_train.guard import Answer, ask, describe
from hearts_train.isolation import Isolated

Entrant = str | os.PathLike[str] | Player
"""An agent, or what names one for ``make_agent``."""


class Seat(Protocol):
    """A player in its seat, in this process or in another."""

    def ready(self) -> None:
        """Wait until it can be asked."""

    def ask(self, views: BatchView) -> Answer:
        """What it answers."""

    def renew(self, seed: int) -> None:
        """Go on with a player that remembers nothing."""

    def close(self) -> None:
        """Nothing more is asked."""


class Contender:
    """An agent as it was entered."""

    def __init__(self, entrant: Entrant, seed: int, name: str | None = None) -> None:
        """Make the agent, if it is named; its random numbers follow from `seed`.

        Raises:
            HeartsError: an unknown agent.
        """
        is_named = isinstance(entrant, str | os.PathLike)
        self.spec = os.fspath(entrant) if isinstance(entrant, str | os.PathLike) else None
        self.name = named(entrant) if name is None else name
        self.agent: Agent = make_agent(entrant, seed=seed) if is_named else as_agent(entrant)
        self.options, self.digest = _options(self.spec), _digest(self.agent, self.spec)

    def fresh(self, seed: int) -> Agent:
        """A player as the agent was when it was entered, its random numbers from `seed`.

        Raises:
            HeartsError: the agent can be neither copied nor made again.
        """
        try:
            player = copy.deepcopy(self.agent)
        except Exception as error:
            if self.spec is None:
                raise HeartsError(
                    f"agent: {self.name!r} cannot be copied ({describe(error)}), and one and the "
                    "same player must not see a deal from both seats; give it a __deepcopy__, or "
                    "name it as FILE.py:CLASS"
                ) from None
            player = make_agent(self.spec, seed=seed)
        reseed = getattr(player, "reseed", None)
        if callable(reseed):
            try:
                reseed(seed)
            except Exception as error:
                raise HeartsError(
                    f"agent: {self.name!r} cannot be reseeded ({describe(error)}); its method is "
                    "called as reseed(seed), with a whole number"
                ) from None
        return player

    def seat(
        self, rules: Rules, seed: int, *, isolate: bool = False, time_limit: float | None = None
    ) -> Seat:
        """A fresh player; with `isolate` in a process of its own."""
        if not isolate:
            return _InProcess(self, seed)
        spec = None if self.spec is None or is_registered_here(self.spec) else self.spec
        return Isolated(self.name, spec, self.agent, rules, seed, time_limit)

    def to_json(self) -> dict[str, Any]:
        """What tells this agent from others."""
        return {
            "name": self.name,
            "spec": self.spec,
            "kind": type(getattr(self.agent, "player", self.agent)).__name__,
            "options": self.options,
            "digest": self.digest,
        }


class _InProcess:
    """A player in this process."""

    def __init__(self, contender: Contender, seed: int) -> None:
        self._contender = contender
        self._player = contender.fresh(seed)

    def ready(self) -> None:
        """It is, always."""

    def ask(self, views: BatchView) -> Answer:
        """What it answers."""
        return ask(self._player, views)

    def renew(self, seed: int) -> None:
        """Go on with another copy."""
        self._player = self._contender.fresh(seed)

    def close(self) -> None:
        """Nothing is to be ended."""


def named(agent: Entrant) -> str:
    """What an agent is called in results."""
    if isinstance(agent, str | os.PathLike):
        return os.fspath(agent)
    return str(getattr(agent, "name", None) or type(agent).__name__)


def rules_for(players: Sequence[Agent], rules: Rules | str | None) -> Rules:
    """The rules asked for, or else those that one of the players was trained for."""
    if rules is None:
        own = (getattr(player, "rules", None) for player in players)
        rules = next((known for known in own if isinstance(known, Rules)), "two_player")
    return Rules.make(rules)


def _options(spec: str | None) -> dict[str, Any]:
    if spec is None:
        return {}
    factory, texts = resolve(spec)
    return parse_options(spec, factory, texts)


def _digest(agent: Agent, spec: str | None) -> str | None:
    """A SHA-256 of what makes a player of its kind this one; None where there is nothing such."""
    digest = hashlib.sha256()
    is_any = False
    for part in _parts(agent, spec):
        digest.update(part)
        is_any = True
    return digest.hexdigest() if is_any else None


def _parts(agent: Agent, spec: str | None) -> Iterator[bytes]:
    """Weights, chances or source code, those of its model, and the files that its options name."""
    options = _options(spec)
    if isinstance(agent, NetworkAgent):
        for _, array in sorted(agent.network.tensors().items()):
            yield array.tobytes()
    elif isinstance(agent, SolvedAgent):
        for chances in agent.solved.chances:
            yield chances.tobytes()
    elif isinstance(agent, EquilibriumAgent):  # which of them it plays, the rules say later
        for name in SHIPPED:
            yield shipped_file(name).read_bytes()
    elif isinstance(agent, PimcBelief):
        model = options.get("model")
        yield from _parts(agent.model, model if isinstance(model, str) else None)
    else:
        base = split_spec(spec)[0] if spec is not None else ""
        file = code_file(base) if is_code(base) else None
        for path in [file, *options.values()]:
            if isinstance(path, str | os.PathLike) and kind_of(path) == "file":
                yield Path(path).read_bytes()
