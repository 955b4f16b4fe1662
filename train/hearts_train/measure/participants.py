"""The agents that are measured, made once, and fresh players of each for every seating.

The agent that was entered never plays. What plays are copies of it as it was on entering, one for
each seat of each seating of each block of deals, so that no player has seen a deal before: what
one remembers is of no use to another. An isolated agent whose making runs code from outside
is made in other processes only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
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
from hearts_env.support.arrays import Ints
from hearts_env.support.interrupts import held_interrupt

AgentLike = str | os.PathLike[str] | Player | AgentSpec
"""An agent, or what names one for ``make_agent``."""


def rounds(batch: BatchGame, players: Sequence[Seat]) -> Iterator[list[tuple[int, Seat, Ints]]]:
    """Yield the players that are to act, round by round, until all games of a batch are over.

    A round is the seats whose turn it is at its start, each with its player and its games; the
    caller plays their actions. Players learn when the games begin, and when some are over.
    """
    reported = np.zeros(len(batch.done), np.bool_)
    for seat, player in enumerate(players):
        player.ready()
        player.begin(np.full(len(batch.done), seat))
    while not batch.done.all():
        turn = batch.current_player  # -1 where the game is over
        games = [np.flatnonzero(turn == seat) for seat in range(len(players))]
        yield [(seat, players[seat], own) for seat, own in enumerate(games) if len(own)]
        over = np.flatnonzero(batch.done & ~reported)
        if len(over):
            reported[over] = True
            for player in players:
                player.over(over, batch.scores()[over])


class Participant:
    """An agent as it was entered."""

    def __init__(
        self, agent: AgentLike, seed: int, name: str | None = None, *, isolate: bool = False
    ) -> None:
        """Make the agent, if it is named; its random numbers follow from `seed`.

        With `isolate` its players have processes of their own, and an agent whose making runs code
        from outside is made only there: a process is started to say what it is (``close`` ends
        it).

        Raises:
            HeartsError: if the agent is unknown.
        """
        self.spec = AgentSpec.parse(agent)
        self.name = self.spec.label if name is None else name
        self.isolate = isolate
        self._agent: Agent | None = None
        self._probe: Isolated | None = None
        self._options: dict[str, Any] = {}
        self.files: dict[str, Path] = {}
        """Those that its code declares, by the names that it gives them."""
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
        """The agent, which never plays; not to be asked for where only other processes make it."""
        assert self._agent is not None
        return self._agent

    @property
    def trained_on(self) -> int | None:
        """The decisions that its checkpoint says it saw in training; None if nothing says it."""
        checkpoint = getattr(self._agent, "checkpoint", None)
        seen = checkpoint.training.get("decisions") if isinstance(checkpoint, Checkpoint) else None
        return seen if isinstance(seen, int) else None

    @property
    def is_ours(self) -> bool:
        """Return whether it is one of the package's own players, its model included."""
        return self._agent is not None and is_ours(self._agent)

    @property
    def rules(self) -> Rules | None:
        """The rules it was trained for, if it states them."""
        if self._probe is not None:
            return self._probe.card.rules
        rules = getattr(self.agent, "rules", None)
        return rules if isinstance(rules, Rules) else None

    def check_rules(self, rules: Rules) -> None:
        """Ask it whether it can play these rules; from now on ``digest`` is of what it plays there.

        That of an agent which is made in other processes has its declared files only from now on.

        Raises:
            HeartsError: if it cannot.
        """
        if self._probe is not None:
            self._probe.check_rules(rules)
            self.files = {name: Path(path) for name, path in self._probe.card.files.items()}
            self.digest = self.spec.digest(files=self.files.values())
            return
        check_rules(self.agent, rules)
        if self.is_ours:
            # A champion of one more game, or a better one there, is no other player here.
            self.digest = self.spec.digest(self.agent, rules)

    def fresh(self, seed: int) -> Agent:
        """A player as the agent was when it was entered, its random numbers from `seed`.

        Raises:
            HeartsError: if the agent can be neither copied nor made again.
        """
        return self.spec.fresh(self.agent, seed, self.name)

    def seat(self, rules: Rules, seed: int, time_limit: float | None = None) -> Seat:
        """A fresh player; that of an isolated participant has a process of its own.

        A program always has one, and is held to the time limit, if there is one.
        """
        return Seat(self, rules, seed, time_limit)

    @contextmanager
    def answering(self, rules: Rules, seed: int) -> Iterator[Agent]:
        """A fresh player that can be asked for its policy, wherever it is made."""
        if self._agent is not None:
            yield self.fresh(seed)
            return
        player = Isolated(self.name, self.spec, rules, seed)
        try:
            yield player
        finally:
            player.close()

    def to_send(self) -> AgentSpec | Agent:
        """Return its name, from which another process makes it, or else the agent itself."""
        if self.spec.is_named:
            return self.spec
        return self.agent

    def to_json(self) -> dict[str, Any]:
        """Return all that distinguishes this agent from others."""
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
        """In what it is another agent than that of a record (``to_json``); "" if in nothing."""
        here = self.to_json()
        for name in ("kind", "options", "digest"):
            if here[name] != record[name]:
                return f"{name} is {here[name]!r}, and was {record[name]!r}"
        return ""

    def close(self) -> None:
        """End the processes that say what the agent is; its players stay, and it can be copied."""
        if self._probe is not None:
            self._probe.close()
        elif self._agent is not None:
            _close(self._agent, self.name)


class Seat:
    """A player in its seat, in this process or in another."""

    def __init__(
        self, participant: Participant, rules: Rules, seed: int, time_limit: float | None
    ) -> None:
        """A fresh player; ``Participant.seat`` has the arguments."""
        self._participant = participant
        self._time_limit = time_limit
        is_program = isinstance(participant._agent, ExternalAgent)  # has a process of its own
        if participant.isolate and not is_program:
            name, made_of = participant.name, participant.to_send()
            self._player: Agent = Isolated(name, made_of, rules, seed, time_limit)
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
        """Wait until it can be asked."""
        if isinstance(self._player, Isolated):
            self._player.ready()

    def begin(self, seats: Ints) -> None:
        """Tell a program that games begin, and which seat it has in each."""
        if isinstance(self._player, ExternalAgent):
            self._player.begin(seats.tolist())

    def ask(self, views: BatchView, games: Ints | None = None) -> Answer:
        """Its answer; a program is told which of the games each view is of."""
        self._is_open = True
        return ask(self._player, views, games)

    def over(self, games: Ints, scores: Ints) -> None:
        """Tell a program that some of the games are over, with the scores, a row a game."""
        if isinstance(self._player, ExternalAgent):
            self._player.over(games.tolist(), scores.tolist())

    def renew(self, seed: int) -> None:
        """Continue with a player that remembers nothing, in the same process if it has its own."""
        if isinstance(self._player, Isolated):
            self._player.reseed(seed)
        else:
            self.close()
            self._player = self._fresh(seed)
        self._is_open = True

    def rest(self) -> None:
        """End what it has started, as its games are over; a process of its own is kept."""
        if not isinstance(self._player, Isolated):
            self.close()

    def close(self) -> None:
        """End what it has started, like a program; once."""
        if self._is_open:
            self._is_open = False
            _close(unadapted(self._player), self._participant.name)


def _close(player: Player, name: str) -> None:
    """End what a player has started, if it has a method for it.

    Of an adapted one this is ``Agent.close``, which does nothing: a player from outside may not
    start again, so only its copies are closed, when they are done.
    """
    close = getattr(player, "close", None)
    if callable(close):
        with blamed(f"agent: {name!r} cannot be closed", "its method is called as close()"):
            close()


def named(agent: AgentLike) -> str:
    """Return the name of an agent in results."""
    return agent if isinstance(agent, str) else AgentSpec.parse(agent).label


def names_once(argument: str, agents: Sequence[AgentLike]) -> tuple[str, ...]:
    """Return the names of agents in results.

    Raises:
        HeartsError: if one is listed twice; `argument` begins the message.
    """
    names = tuple(map(named, agents))
    for name in names:
        if names.count(name) > 1:
            raise HeartsError(f"{argument}: {name!r} is listed twice; name each once", value=name)
    return names


def rules_for(players: Sequence[Agent | Participant], rules: Rules | str | None) -> Rules:
    """The rules asked for, or else those that one of the players was trained for."""
    if rules is None:
        own = (getattr(player, "rules", None) for player in players)
        rules = next((known for known in own if isinstance(known, Rules)), "two_player")
    return Rules.make(rules)


def trained_rules(agents: Sequence[AgentLike], *, isolate: bool = False) -> Rules | None:
    """The rules that the first agent was trained for which states them; None if none does.

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
    """Make each agent with its seed, and ask it whether it can play the rules (``rules_for``).

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
    """Refuse agents that were made again in another process and are others there.

    Raises:
        HeartsError: if the digest of one is not that which it had where it was entered.
    """
    for participant, digest in zip(participants, digests, strict=True):
        if participant.spec.is_named and participant.digest != digest:
            raise HeartsError(
                f"agent: {participant.name!r} is another one in a worker's process than here; its "
                "file was changed meanwhile, or is another on that machine"
            )


def compile_players(participants: Sequence[Participant], rules: Rules) -> None:
    """Compile what the package's own players need, before anything is timed."""
    with held_interrupt():  # compilation cannot be interrupted safely
        batch = BatchGame(rules, 1, freeze=False)
        views = batch.views()
        for participant in participants:
            if participant.is_ours:
                participant.fresh(0).act_batch(views)
        batch.play(batch.random_actions())
