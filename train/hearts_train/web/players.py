"""The agents that people can choose, and the threads in which they decide.

Browsers name agents by the names of this list alone; nothing that they send becomes a path or a
name of code. Each agent has threads of its own, so that a slow one keeps only its games waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hearts_agents import Agent
from hearts_agents.guard import RAISED, TAMPERED, Fault, ask_one
from hearts_agents.programs.process import CRASHED, ILLEGAL, LATE
from hearts_agents.registry import agent_names, describe_agent
from hearts_env import Game, HeartsError, PlayerView, Rules
from hearts_env.batch.views import BatchView
from hearts_env.rules.presets import GAMES
from hearts_env.solve.beliefs import Policy
from hearts_env.support.errors import quoted
from hearts_train.measure.participants import Participant
from hearts_train.session.table import Refusal

SHIPPED = ("champion", "pimc", "pro", "standard", "easy", "random")
"""The package's own players that are always on the list, strongest first."""
FAULT_TEXTS = {
    RAISED: "raised an error",
    ILLEGAL: "chose an illegal action",
    TAMPERED: "changed what it was shown",
    CRASHED: "came to an end",
    LATE: "took too long",
}
"""What people at the table are told of a fault; the rest could tell of cards."""

_THREADS = 4
"""Of each agent, as long as none is stuck."""
_MOST_THREADS = 16
_REST = 30.0  # seconds until a thread without work ends
_PART = 32  # views between two looks whether the work is still wanted
_T = TypeVar("_T")


@dataclass
class _Piece:
    """A piece of work; changed by whoever holds the lock of its workers."""

    is_started: bool = False
    is_over: bool = False
    is_left: bool = False
    """Whether nobody waits for it any more."""


class Unwanted(Exception):
    """Nobody waits for this piece of work any more."""


_current = threading.local()


def check_wanted() -> None:
    """End a long piece of work of `Workers` early; in other threads, do nothing.

    Raises:
        Unwanted: if nobody waits for it any more.
    """
    piece: _Piece | None = getattr(_current, "piece", None)
    if piece is not None and piece.is_left:
        raise Unwanted


def in_parts(policy: Policy) -> Policy:
    """A policy that is asked about some views at a time, until nobody waits for the answer."""

    def ask(views: BatchView) -> Any:
        parts = []
        for first in range(0, len(views), _PART):
            check_wanted()
            rows = np.arange(first, min(first + _PART, len(views)))
            parts.append(policy(views.subset(rows)))
        return np.concatenate(parts)

    return ask


class Workers:
    """Threads that do one piece of work after another.

    They end when there is nothing to do for a while, and with the program, whatever they do.
    """

    def __init__(self, name: str, size: int = _THREADS) -> None:
        self._name = name
        self._size = size
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._waiting = 0  # threads, and pieces of work begun or to be begun
        self._stuck = 0  # threads with work for which nobody waits; others stand in for them

    async def run(self, work: Callable[[], _T], seconds: float | None = None) -> _T:
        """What `work` returns; the clock starts when a thread takes it.

        Raises:
            TimeoutError: if it takes longer; its thread is replaced by another. Also if all
                threads that there may be are stuck.
        """
        loop = asyncio.get_running_loop()
        started: asyncio.Future[None] = loop.create_future()
        future: asyncio.Future[_T] = loop.create_future()
        piece = _Piece()

        def begin() -> None:
            if not started.done():
                started.set_result(None)

        def finish(result: Any, failure: BaseException | None) -> None:
            if future.cancelled():
                return
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)

        def do() -> None:
            if not self._take(piece):
                return
            _current.piece = piece
            result: Any = None
            failure: BaseException | None = None
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(begin)
            try:
                result = work()
            except BaseException as error:
                failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
            self._end(piece)
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(finish, result, failure)

        self._put(do)
        try:
            while not (await asyncio.wait([started], timeout=seconds))[0]:
                if self._stuck >= _MOST_THREADS:
                    raise TimeoutError
            return await asyncio.wait_for(future, seconds)
        finally:
            future.cancel()
            self._leave(piece)

    def begin(self, work: Callable[[], object]) -> None:
        """Have something done whose end nobody waits for."""
        piece = _Piece()

        def do() -> None:
            _current.piece = None
            self._take(piece)
            self._leave(piece)
            with contextlib.suppress(Exception):
                work()
            self._end(piece)

        self._put(do)

    def _take(self, piece: _Piece) -> bool:
        """Begin a piece of work, unless nobody waits for it any more."""
        with self._lock:
            piece.is_started = not piece.is_left
        return piece.is_started

    def _end(self, piece: _Piece) -> None:
        with self._lock:
            piece.is_over = True
            self._stuck -= piece.is_left

    def _leave(self, piece: _Piece) -> None:
        """Wait for a piece of work no more; if a thread is at it, another takes its place."""
        with self._lock:
            piece.is_left = not piece.is_over
            if piece.is_left and piece.is_started:
                self._stuck += 1
                self._staff()

    def _put(self, do: Callable[[], None]) -> None:
        with self._lock:
            self._waiting += 1
            self._work.put(do)
            self._staff()

    def _staff(self) -> None:
        """Start a thread if there is work for it; for whoever holds the lock."""
        most = min(self._size + self._stuck, _MOST_THREADS)
        if self._threads < min(most, self._waiting):
            self._threads += 1
            name = f"hearts {self._name}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=_REST)
            except queue.Empty:
                with self._lock:
                    if self._work.empty():  # else something came just now
                        self._threads -= 1
                        return
                continue
            work()
            with self._lock:
                self._waiting -= 1


@dataclass
class AgentSeat:
    """An agent's place at a table: its own player there, once it has been asked."""

    player: Agent | None = None
    is_left: bool = False
    """Whether nobody will be asked there again; somebody may still be thinking."""


class Listed:
    """An agent on the list.

    Attributes:
        name: As browsers name it.
        about: What it is, in a sentence.
    """

    def __init__(self, spec: str, name: str) -> None:
        """An agent that ``make_agent`` knows as `spec`.

        Raises:
            HeartsError: if it is unknown or cannot be made.
        """
        self.name = name
        self.about = describe_agent(spec)["about"] if spec in agent_names() else f"Yours: {name}."
        self.workers = Workers(name)
        self._participant = Participant(spec, 0, name)
        self._spare: list[Agent] = []

    @property
    def is_ours(self) -> bool:
        """Whether it is one of the package's, which remember nothing from card to card."""
        return self._participant.is_ours

    def check_rules(self, rules: Rules) -> None:
        """Ask it whether it can play these rules.

        Raises:
            HeartsError: if it cannot.
        """
        self._participant.check_rules(rules)

    @functools.cached_property
    def games(self) -> list[str]:
        """The names of the presets that it plays, with every number of players."""
        return [rules.name for rules in preset_rules() if self._fits(rules)]

    def _fits(self, rules: Rules) -> bool:
        try:
            self.check_rules(rules)
        except HeartsError:
            return False
        return True

    def fresh(self) -> Agent:
        """A player as the agent was when the server began."""
        return self._participant.fresh(0)

    @contextlib.contextmanager
    def borrowed(self) -> Any:
        """One of its players that nobody else asks in this block; for threads.

        One of ours may have been asked before; one that could remember a seat's cards has not.
        """
        if not self.is_ours:
            player = self.fresh()
            try:
                yield player
            finally:
                with contextlib.suppress(Exception):
                    player.close()
            return
        try:
            player = self._spare.pop()
        except IndexError:
            player = self.fresh()
        yield player
        self._spare.append(player)

    def answer(self, place: AgentSeat, view: PlayerView, seed: int) -> tuple[int, Fault | None]:
        """What the player in a chair chooses. Takes its time: for its threads."""
        if self.is_ours:  # remembers nothing, so any one will do
            with self.borrowed() as one:
                return ask_one(one, view, seed)
        if place.player is None:
            place.player = self.fresh()
        try:
            return ask_one(place.player, view, seed)
        finally:
            if place.is_left:  # since it was asked, so that it may have started something again
                self.close(place)

    def close(self, place: AgentSeat) -> None:
        """End what the player in a chair has started; it is not asked there again."""
        place.is_left = True
        if place.player is not None:
            self.workers.begin(place.player.close)


class Players:
    """The list of agents."""

    def __init__(self, more: Iterable[str] = (), *, patience: float = 60.0) -> None:
        """The shipped players and `more`.

        Args:
            more: what ``make_agent`` takes: names, runs' folders, checkpoints, code.
            patience: seconds that an agent has for a decision.

        Raises:
            HeartsError: if one is unknown or cannot be made.
        """
        self.patience = patience
        self.listed: dict[str, Listed] = {}
        self.elsewhere: Callable[[str], str | None] = lambda _name: None
        self._specs: dict[str, str] = {}  # the name of each spec that is on the list
        self._adding = threading.Lock()
        for spec in [*SHIPPED, *more]:
            if spec not in self._specs:
                self.add(spec)

    def add(self, spec: str) -> Listed:
        """Put an agent on the list, as it is now; one that is there already is made anew.

        Raises:
            HeartsError: if it cannot be made.
        """
        with self._adding:
            name = self._specs.get(spec) or self._short(spec)
            self._specs[spec] = name
            agent = self.listed[name] = Listed(spec, name)
        return agent

    def recall(self, name: str) -> None:
        """Put an agent on the list again that was there before the server was last started."""
        with contextlib.suppress(Exception):  # a run that cannot be read concerns its own tables
            spec = self.elsewhere(name)
            if spec is not None:
                self.add(spec)

    def _short(self, spec: str) -> str:
        """A name that no other has: the spec's last part, with a number if it must be."""
        plain = spec if spec in agent_names() else Path(spec.partition("?")[0]).name or spec
        name, number = plain, 1
        while name in self.listed and spec != name:
            number += 1
            name = f"{plain} ({number})"
        return name

    def to_json(self) -> list[dict[str, Any]]:
        """The list as a message has it."""
        return [
            {
                "name": agent.name,
                "title": agent.about,
                "players": sorted({Rules.from_text(game).players for game in agent.games}),
                "games": agent.games,
            }
            for agent in list(self.listed.values())  # others may be added meanwhile
        ]

    def find(self, name: str) -> Listed:
        """The agent of this name.

        Raises:
            Refusal: if it is not on the list.
        """
        found = self.listed.get(name)
        if found is None:
            raise Refusal(
                "unknown_agent", f"agent: {quoted(name)} is unknown; take {', '.join(self.listed)}"
            )
        return found

    async def fitting(self, name: str, rules: Rules) -> Listed:
        """The agent of this name, if it can play these rules.

        Raises:
            Refusal: if it is not on the list, or cannot play them.
        """
        agent = self.find(name)
        if rules.name in agent.games:
            return agent
        try:
            await agent.workers.run(lambda: agent.check_rules(rules), self.patience)
        except TimeoutError:
            raise Refusal("not_fit", f"agent: {name} does not answer; take another") from None
        except HeartsError as error:
            raise Refusal("not_fit", f"agent: {name} cannot play {rules.name}: {error}") from None
        return agent

    async def decide(
        self, agent: Listed, place: AgentSeat, view: PlayerView, seed: int
    ) -> tuple[int, Fault | None]:
        """What `agent` in its chair chooses; its first legal action with a fault.

        Args:
            agent: who is asked.
            place: where it sits.
            view: what it is asked about.
            seed: of its random numbers.
        """
        try:
            action, fault = await agent.workers.run(
                lambda: agent.answer(place, view, seed), self.patience
            )
        except TimeoutError:
            action, fault = 0, Fault(0, LATE, f"took longer than {self.patience:g} seconds")
        except Exception as error:  # an agent that cannot even be copied
            action, fault = 0, Fault(0, RAISED, str(error))
        return (view.legal_actions()[0] if fault is not None else action), fault

    def warm_up(self, report: Callable[[int, str], None] = lambda _done, _name: None) -> None:
        """Let every agent choose its first cards, so that nobody waits for the compilation.

        Args:
            report: is called with how many agents are ready, and who is next.
        """
        for done, agent in enumerate(self.listed.values()):
            report(done, agent.name)
            for game in _samples(agent.games):
                dealt, place = Game.deal(game, 0), AgentSeat()
                for _ in range(2):
                    if dealt.player is None:
                        break
                    action, fault = agent.answer(place, dealt.view(dealt.player), 0)
                    dealt.play(dealt.legal_actions()[0] if fault is not None else action)
                agent.close(place)


@functools.cache
def preset_rules() -> tuple[Rules, ...]:
    """Every preset with every number of players."""
    return tuple(Rules.preset(*game) for game in GAMES)


def _samples(games: Sequence[str]) -> list[str]:
    """Some games that differ in what is compiled for them."""
    wanted = [name for name in ("two_player", "classic") if name in games]
    return wanted or list(games[:1])
