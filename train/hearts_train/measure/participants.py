"""The measured agents, and fresh players made from them for every seating.

The entered agent never plays. Copies of its state at entry play: one for each seat of each seating
of each block of deals. So no player has seen a deal before, and nothing that a player remembers
helps another player. An isolated agent that runs foreign code is made in other processes only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents import Agent, Player
from hearts_agents.base import check_rules, unadapted
from hearts_agents.guard import Answer, ask, is_ours
from hearts_agents.isolation import MOST_TIMED, Isolated
from hearts_agents.models.checkpoint import Checkpoint
from hearts_agents.programs.program_agent import ExternalAgent
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import blamed
from hearts_env import BatchGame, HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.support.arguments import listed
from hearts_env.support.arrays import Ints
from hearts_env.support.errors import quoted
from hearts_env.support.interrupts import held_interrupt

AgentLike = str | os.PathLike[str] | Player | AgentSpec
"""An agent, or a name, path or specification for ``make_agent``."""


def rounds(batch: BatchGame, players: Sequence[Seat]) -> Iterator[list[tuple[int, Seat, Ints]]]:
    """Yield the players to act, round by round, until all games of a batch are over.

    A round lists the seats that are to act at its start, each with its player and its games. The
    caller plays the actions.
    """
    for player in players:
        player.ready()
    while not batch.done.all():
        turn = batch.current_player  # -1 where the game is over
        games = [np.flatnonzero(turn == seat) for seat in range(len(players))]
        yield [(seat, players[seat], own) for seat, own in enumerate(games) if len(own)]


class Participant:
    """An agent as it was entered."""

    def __init__(self, agent: AgentLike, seed: int, *, isolate: bool = False) -> None:
        """Make the agent, unless it is an object. Its random numbers depend on `seed`.

        With `isolate` each player has its own process. An agent that runs foreign code is then made
        only in such processes, one of which is started here to describe it and ended by ``close``.

        Raises:
            HeartsError: if the agent is unknown.
        """
        self.spec = AgentSpec.parse(agent)
        self.name = self.spec.label
        self.isolate = isolate
        self._agent: Agent | None = None
        self._probe: Isolated | None = None
        self._options: dict[str, Any] = {}
        self.files: dict[str, Path] = {}
        """The files that the agent's code declares, by its names for them."""
        if isolate and self.spec.is_outside:
            self.digest = self.spec.digest()
            self._probe = Isolated(self.name, self.spec)
            return
        self._agent = self.spec.make(seed if self.spec.is_named else None)
        self._options = self.spec.values()
        self.files = {} if self.is_ours else self.spec.declared_files(self._agent)
        self.digest = self.spec.digest(self._agent, files=self.files.values())

    @property
    def agent(self) -> Agent:
        """The agent, which never plays. It is unavailable if only other processes may make it."""
        assert self._agent is not None
        return self._agent

    @property
    def trained_on(self) -> int | None:
        """The number of training decisions in the agent's checkpoint, or None."""
        checkpoint = getattr(self._agent, "checkpoint", None)
        seen = checkpoint.training.get("decisions") if isinstance(checkpoint, Checkpoint) else None
        return seen if isinstance(seen, int) else None

    @property
    def is_ours(self) -> bool:
        """True if the agent and its model belong to the package."""
        return self._agent is not None and is_ours(self._agent)

    @property
    def rules(self) -> Rules | None:
        """The rules that the agent was trained for, or None if it does not state them."""
        if self._probe is not None:
            return self._probe.card.rules
        rules = getattr(self.agent, "rules", None)
        return rules if isinstance(rules, Rules) else None

    def check_rules(self, rules: Rules) -> None:
        """Check that the agent can play these rules, and fix its ``digest`` for them.

        Before this, the digest of an agent made in other processes lacks its declared files.

        Raises:
            HeartsError: if the agent cannot play these rules.
        """
        if self._probe is not None:
            self._probe.check_rules(rules)
            self.files = {name: Path(path) for name, path in self._probe.card.files.items()}
            self.digest = self.spec.digest(files=self.files.values())
            return
        check_rules(self.agent, rules)
        if self.is_ours:
            # Networks of a champion for other games do not matter here.
            self.digest = self.spec.digest(self.agent, rules)

    def fresh(self, seed: int) -> Agent:
        """Return a copy of the agent as it was entered, with random numbers from `seed`.

        Raises:
            HeartsError: if the agent can be neither copied nor made again.
        """
        return self.spec.fresh(self.agent, seed, self.name)

    def seat(self, rules: Rules, seed: int, time_limit: float | None = None) -> Seat:
        """Return a fresh player, in its own process if the participant is isolated.

        A program always has its own process, to which the time limit applies, too.
        """
        return Seat(self, rules, seed, time_limit)

    @contextmanager
    def answering(self, rules: Rules, seed: int) -> Iterator[Agent]:
        """Yield a fresh player that can be asked for its policy, wherever it is made."""
        if self._agent is not None:
            yield self.fresh(seed)
            return
        player = Isolated(self.name, self.spec, rules, seed)
        try:
            yield player
        finally:
            player.close()

    def to_send(self) -> AgentSpec:
        """Return the specification from which another process makes it, with an agent object."""
        if self.spec.is_named:
            return self.spec
        return replace(self.spec, agent=self.agent, files=self.files)

    def to_json(self) -> dict[str, Any]:
        """Return everything that identifies the agent, as JSON types."""
        if self._probe is not None:
            kind, options = self._probe.card.kind, self._probe.card.options
        else:
            kind, options = type(unadapted(self.agent)).__name__, self._options
        record = {
            "name": self.name,
            "spec": self.spec.text,
            "kind": kind,
            "options": options,
            "digest": self.digest,
        }
        return record | {"files": list(self.files)} if self.files else record

    def differing(self, record: dict[str, Any]) -> str:
        """Describe how the agent differs from a record of ``to_json``, or return ""."""
        here = self.to_json()
        for name in ("kind", "options", "digest"):
            if here[name] != record[name]:
                return f"{name} is {quoted(here[name])}, and was {quoted(record[name])}"
        return ""

    def close(self) -> None:
        """End the process that describes the agent. Its players go on, and it can be copied."""
        if self._probe is not None:
            self._probe.close()
        elif self._agent is not None:
            _close(self._agent, self.name)


class Seat:
    """A player in its seat, in this process or in another."""

    def __init__(
        self, participant: Participant, rules: Rules, seed: int, time_limit: float | None
    ) -> None:
        """Make a fresh player, with the arguments of ``Participant.seat``."""
        self._participant = participant
        self._time_limit = time_limit
        is_program = isinstance(participant._agent, ExternalAgent)  # has its own process anyway
        if participant.isolate and not is_program:
            spec = participant.spec
            made_of = spec if spec.is_named else participant.agent
            self._player: Agent = Isolated(participant.name, made_of, rules, seed, time_limit)
        else:
            self._player = self._fresh(seed)
        self._is_open = True

    def _fresh(self, seed: int) -> Agent:
        player = self._participant.fresh(seed)
        if isinstance(player, ExternalAgent) and self._time_limit is not None:
            player.seconds = min(player.seconds, self._time_limit)
            player.batch = min(player.batch, MOST_TIMED)
        return player

    def ready(self) -> None:
        """Wait until the player can be asked."""
        if isinstance(self._player, Isolated):
            self._player.ready()

    def ask(self, views: BatchView) -> Answer:
        """Return the player's answer."""
        self._is_open = True
        return ask(self._player, views)

    def renew(self, seed: int) -> None:
        """Replace the player with a fresh one. An isolated player keeps its process."""
        if isinstance(self._player, Isolated):
            self._player.reseed(seed)
        else:
            self.close()
            self._player = self._fresh(seed)
        self._is_open = True

    def rest(self) -> None:
        """Close the player after its games, unless it is isolated, because its process is kept."""
        if not isinstance(self._player, Isolated):
            self.close()

    def close(self) -> None:
        """Close the player, which ends its processes. Later calls have no effect."""
        if self._is_open:
            self._is_open = False
            _close(unadapted(self._player), self._participant.name)


def _close(player: Player, name: str) -> None:
    """Call a player's ``close``, if it has one.

    For an adapted player this is ``Agent.close``, which does nothing: a foreign player may not be
    able to start again, so only its copies are closed.
    """
    close = getattr(player, "close", None)
    if callable(close):
        with blamed(f"agent: {name!r} cannot be closed", "its method is called as close()"):
            close()


def result_name(agent: AgentLike) -> str:
    """Return the name of an agent in results."""
    return agent if isinstance(agent, str) else AgentSpec.parse(agent).label


def distinct_names(argument: str, agents: Sequence[AgentLike]) -> tuple[str, ...]:
    """Return the names of agents in results.

    Raises:
        HeartsError: if `agents` is not a list, or an agent is listed twice. `argument` begins the
            message.
    """
    if listed(agents) is None:
        raise HeartsError(
            f"{argument}: {quoted(agents)} is not a list of agents; give a list, like ['pro']"
        )
    names = tuple(map(result_name, agents))
    for name in names:
        if names.count(name) > 1:
            raise HeartsError(f"{argument}: {name!r} is listed twice; name each once")
    return names


def rules_for(players: Sequence[Agent | Participant], rules: Rules | str | None) -> Rules:
    """Return `rules`. If None, the rules that a player was trained for, or ``two_player``."""
    if rules is None:
        own = (getattr(player, "rules", None) for player in players)
        rules = next((known for known in own if isinstance(known, Rules)), "two_player")
    return Rules.make(rules)


def trained_rules(agents: Sequence[AgentLike], *, isolate: bool = False) -> Rules | None:
    """Return the training rules of the first agent that states them, or None.

    Raises:
        HeartsError: if an agent is unknown.
    """
    found: Rules | None = None
    for agent in agents:
        with closing(Participant(agent, 0, isolate=isolate)) as participant:
            found = found or participant.rules
    return found


def enter(
    agents: Sequence[AgentLike],
    seeds: Sequence[int],
    rules: Rules | str | None = None,
    *,
    isolate: bool = False,
) -> tuple[list[Participant], Rules]:
    """Make each agent with its seed, and check that it can play the rules (``rules_for``).

    Raises:
        HeartsError: if an agent is unknown or cannot play the rules.
    """
    participants: list[Participant] = []
    try:
        for agent, seed in zip(agents, seeds, strict=True):
            participants.append(Participant(agent, seed, isolate=isolate))
        rules = rules_for(participants, rules)
        for participant in participants:
            participant.check_rules(rules)
    finally:
        for participant in participants:
            participant.close()
    return participants, rules


def check_same(participants: Sequence[Participant], digests: Sequence[str | None]) -> None:
    """Raise if an agent that was made again in another process differs from the entered one.

    Raises:
        HeartsError: if the digests differ.
    """
    for participant, digest in zip(participants, digests, strict=True):
        if participant.digest != digest:
            raise HeartsError(
                f"agent: {participant.name!r} differs between this process and a worker; its file "
                "has changed meanwhile, or differs on that machine"
            )


def compile_players(participants: Sequence[Participant], rules: Rules) -> None:
    """Compile the code of the package's own agents, before anything is timed."""
    with held_interrupt():  # compilation cannot be interrupted safely
        batch = BatchGame(rules, 1, freeze=False)
        views = batch.views()
        for participant in participants:
            if participant.is_ours:
                participant.fresh(0).act_batch(views)
        batch.play(batch.random_actions())
