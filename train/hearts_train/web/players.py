"""The agents that people can choose, and the threads in which they decide.

Browsers choose by the names on this list. Nothing that they send becomes a path or the name of
code. Each agent has threads of its own, so a slow one delays only its own games.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hearts_agents import Agent
from hearts_agents.guard import ask_one
from hearts_agents.registry import agent_names
from hearts_agents.user_code import CRASHED, ILLEGAL, LATE, RAISED, Fault
from hearts_env import Game, HeartsError, PlayerView, Rules
from hearts_env.rules.presets import GAMES
from hearts_env.support.errors import quoted
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.analysis import advice, best_hinter, hints
from hearts_train.measure.participants import Participant
from hearts_train.web.table import Refusal, Seat

STRENGTHS = {
    "champion": ("Champion", "is the strongest: a network trained for this game"),
    "pimc": ("", "is very strong: solves every deal that is still possible"),
    "pro": ("Strong", "tries every card in simulated deals"),
    "standard": ("", "avoids tricks, and throws its highest card"),
    "easy": ("Beginner", "plays any card"),
}
"""The package's own players, strongest first. Each has its strength in the lobby (or ""),
beside "Play now", and a description that follows "which"."""
FAULT_TEXTS = {
    RAISED: "raised an error",
    ILLEGAL: "chose an illegal action",
    CRASHED: "came to an end",
    LATE: "took too long",
}
"""The words for a fault at the table. An error's own text could reveal cards."""

_THREADS = 8  # of an agent
_T = TypeVar("_T")


class Workers:
    """A few threads at a time, each for one piece of work.

    They end with the program, even in the midst of work. A stuck thread keeps its place until it
    ends.
    """

    def __init__(self, name: str, size: int = _THREADS) -> None:
        self._name = f"hearts {name}"
        self._places = asyncio.Semaphore(size)

    async def run(self, do: Callable[[], _T], seconds: float | None = None) -> _T:
        """Return the result of `do`. The clock starts with its thread.

        Raises:
            TimeoutError: if it takes longer, or if no thread is free for as long.
        """
        async with asyncio.timeout(seconds):
            await self._places.acquire()
        result: futures.Future[_T] = futures.Future()
        result.set_running_or_notify_cancel()  # a thread cannot be stopped
        threading.Thread(target=_do, args=(do, result), name=self._name, daemon=True).start()
        done = asyncio.wrap_future(result)
        done.add_done_callback(self._free)
        return await asyncio.wait_for(asyncio.shield(done), seconds)

    def _free(self, done: asyncio.Future[Any]) -> None:
        self._places.release()
        done.exception()  # otherwise asyncio reports it when no one waits any more


def _do(do: Callable[[], _T], result: futures.Future[_T]) -> None:
    try:
        result.set_result(do())
    except BaseException as error:
        result.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))


@dataclass
class AgentSeat:
    """An agent's seat at a table, with its own player once it has been asked."""

    player: Agent | None = None
    is_closed: bool = False
    """If True, the player is not asked again. It may still be thinking."""

    def close(self) -> None:
        """Close the player, in a thread."""
        self.is_closed = True
        if self.player is not None:
            threading.Thread(target=_close, args=(self.player,), daemon=True).start()


def _close(player: Agent) -> None:
    with contextlib.suppress(Exception):
        player.close()


class Listed(Participant):
    """An agent on the list.

    Attributes:
        name: the name for browsers.
        entered: its full name for ``make_agent``, and the digest of its code and weights.
        workers: the threads in which it decides.
    """

    def __init__(self, spec: str, name: str) -> None:
        """Make the agent that ``make_agent`` knows as `spec`.

        Raises:
            HeartsError: if it is unknown or cannot be made.
        """
        super().__init__(spec, 0)
        self.name = name
        self.entered = self.spec.text or "", self.digest  # before rules change the digest
        self.workers = Workers(name)
        self._spare: list[Agent] = []

    @functools.cached_property
    def games(self) -> list[str]:
        """The presets that it plays, each with every number of players."""
        found = []
        for rules in (Rules.preset(*game) for game in GAMES):
            with contextlib.suppress(HeartsError):
                self.check_rules(rules)
                found.append(rules.name)
        return found

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[Any]:
        """Lend a player that no other thread uses in this block.

        Only for the package's own players: they remember no cards, so they are used again.
        """
        try:
            player = self._spare.pop()
        except IndexError:
            player = self.fresh(0)
        yield player
        self._spare.append(player)

    def hint(self, game: Game) -> dict[str, Any]:
        """Return its actions, and the mean margin of each card if it estimates them.

        Raises:
            HeartsError: if it raises, or does not choose a legal action.
        """
        name = game.rules.action_name
        with self.borrowed() as player:
            found = hints(player, game)
        worths = [
            {"action": name(one.action), "margin": round(one.margin, 6), "half": round(one.half, 6)}
            for one in found[0].worths
        ]
        return {
            "agent": self.name,
            "actions": [name(one.action) for one in found],
            "text": advice(found, game),
            "worths": worths,
        }

    def answer(self, place: AgentSeat, view: PlayerView, seed: int) -> tuple[int, Fault | None]:
        """Return the choice of the player in a seat. It is slow, so call it in a thread."""
        if self.is_ours:  # it remembers nothing, so any copy can answer
            with self.borrowed() as one:
                return ask_one(one, view, seed)
        if place.player is None:
            place.player = self.fresh(0)
        try:
            return ask_one(place.player, view, seed)
        finally:
            if place.is_closed:  # meanwhile; it may have started a process again
                place.close()


class Players:
    """The list of agents."""

    def __init__(self, more: Iterable[str] = (), *, patience: float = 60.0) -> None:
        """List the package's own players and `more`.

        Args:
            more: further agents, in any form that ``make_agent`` takes.
            patience: the seconds that an agent has per decision.

        Raises:
            HeartsError: if one is unknown or cannot be made.
        """
        self.patience = patience
        self.listed: dict[str, Listed] = {}
        for spec in dict.fromkeys([*STRENGTHS, *more]):
            name = self._short(spec)
            self.listed[name] = Listed(spec, name)

    def _short(self, spec: str) -> str:
        """Return a unique name: the last part of the spec, with a number if needed."""
        plain = spec if spec in agent_names() else Path(spec.partition("?")[0]).name or spec
        name, number = plain, 1
        while name in self.listed:
            number += 1
            name = f"{plain} ({number})"
        return name

    def to_json(self) -> list[dict[str, Any]]:
        """Return the list for `welcome`."""
        return [
            {"name": name, "strength": strength, "text": text, "games": agent.games}
            for name, agent in self.listed.items()
            for strength, text in [STRENGTHS.get(name, ("", ""))]
        ]

    def seat_of(self, name: str) -> Seat:
        """Return a seat of an agent on the list."""
        spec, digest = self.listed[name].entered
        return Seat(agent=name, spec=spec, digest=digest)

    def name_of(self, seat: Seat) -> str | None:
        """Return the present name of the agent of a saved seat, or None if it is not listed.

        Names depend on the whole list, so another server may give this one to another agent.
        """
        found = (one for one in self.listed.values() if one.entered == (seat.spec, seat.digest))
        return next((one.name for one in found), None)

    async def check_fits(self, name: str, rules: Rules) -> None:
        """Refuse an agent that is not on the list or cannot play these rules."""
        agent = self.listed.get(name)
        if agent is None:
            known = ", ".join(self.listed)
            raise Refusal("unknown_agent", f"agent: {quoted(name)} is unknown; choose from {known}")
        if rules.name in agent.games:
            return
        try:
            await agent.workers.run(lambda: agent.check_rules(rules), self.patience)
        except TimeoutError:
            raise Refusal("not_fit", f"agent: {name} does not answer; choose another") from None
        except HeartsError as error:
            raise Refusal("not_fit", f"agent: {name} cannot play {rules.name}: {error}") from None

    async def decide(
        self, agent: Listed, place: AgentSeat, view: PlayerView, seed: int
    ) -> tuple[int, Fault | None]:
        """Return the choice of `agent`, or the first legal action and the fault."""
        try:
            action, fault = await agent.workers.run(
                lambda: agent.answer(place, view, seed), self.patience
            )
        except TimeoutError:
            action, fault = 0, Fault(0, LATE, f"took longer than {self.patience:g} seconds")
        except Exception as error:  # an agent that cannot even be copied
            action, fault = 0, Fault(0, RAISED, str(error))
        return (view.legal_actions()[0] if fault is not None else action), fault

    async def hint(self, game: Game) -> dict[str, Any]:
        """Return a hint from the best player for these rules, as fields of a message.

        The player gets views of the acting seat alone, so the hint reveals no hidden card.

        Raises:
            Refusal: if the player gives none, or takes too long.
        """
        assert game.current_player is not None
        agent = self.listed[best_hinter(game.view(game.current_player))]
        try:
            return await agent.workers.run(lambda: agent.hint(game), self.patience)
        except HeartsError as error:
            raise Refusal("not_fit", str(error)) from None
        except TimeoutError:
            text = f"hint: it took longer than {self.patience:g} seconds; ask again"
            raise Refusal("not_fit", text) from None

    def warm_up(self, report: Progress = no_progress) -> None:
        """Let every agent choose its first cards, so no one waits for the compilation."""
        for done, agent in enumerate(self.listed.values()):
            report(done, len(self.listed), agent.name)
            usual = [name for name in ("two_player", "classic") if name in agent.games]
            for game in usual or agent.games[:1]:
                dealt, place = Game.deal(game, 0), AgentSeat()
                for _ in range(2):
                    if dealt.current_player is None:
                        break
                    view = dealt.view(dealt.current_player)
                    if best_hinter(view) == agent.name:
                        agent.hint(dealt)
                    action, fault = agent.answer(place, view, 0)
                    dealt.play(dealt.legal_actions()[0] if fault is not None else action)
                place.close()
