"""Run an agent in its own process, which receives views and returns actions.

The process is started afresh, not forked, so it shares no memory with this one. It is asked like a
program (``process``). Views are sent as the arrays of a ``BatchView``. The process returns numbers,
which are checked like the actions of every agent, a description of the agent, and the text of
errors. Nothing from the agent is ever unpickled here. An agent that is named by its code is neither
imported nor made here: its process describes it and states the rules that it plays (``card``). An
agent object has been made here by the caller.

Programs get views as JSON, without the state vector that agents of this package read. Making the
vector from JSON would repeat the kernel's account of a trick, and sending JSON takes 300 times as
long.

A process keeps an agent away from the memory of the evaluation and of its copies in other seats. It
is not a sandbox: the process has the user's rights. See docs/evaluation.md.

| message | answer |
|---|---|
| `hello`: the spec or the pickled agent, its name, the rules, the import path, encoders | none |
| `player`: a seed | `ready`, after making a player without memory |
| `act`: views, as bytes after the line | `actions`, one per view; `faults`: row, kind and text |
| `policy`: the same | `policy`: the probabilities of all actions |
| `card` | `card`: the agent's description, after making it |
| `rules` | `ready`, if the agent plays them |
| any of them | `error`: a text |
"""

from __future__ import annotations

import base64
import math
import os
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hearts_agents.base import Agent
from hearts_agents.programs.process import (
    LineProcess,
    ProgramError,
    line,
    python_environment,
)
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import (
    CRASHED,
    KINDS,
    Fault,
    describe,
    packed,
    packed_encoders,
)
from hearts_env import HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.support.arrays import Array, Floats, Ints
from hearts_env.support.files import kind_of

_START_SECONDS = 300.0  # a first start may compile
_MOST_BYTES = 100_000  # of an answer, except its numbers
MOST_WORDS, _MOST_NAME = 10_000, 100
MOST_TIMED = 32
"""The most views per message under a time limit, so a late answer loses no more games."""

_PROGRAM = """
import signal
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
from hearts_agents.served import serve
serve()
"""
"""The program of the process. It ignores signals, because the parent process ends it."""


@dataclass(frozen=True)
class Card:
    """An agent's description, from its process.

    Attributes:
        kind: the name of its class.
        options: the options of its spec, parsed.
        rules: the rules that it was trained for, if it states them.
        files: the paths of the files that its code declares, by declared name.
    """

    kind: str
    options: dict[str, Any]
    rules: Rules | None
    files: dict[str, str]


class Isolated(Agent):
    """An agent in its own process, which is restarted after a failure."""

    def __init__(
        self,
        name: str,
        agent: AgentSpec | Agent,
        rules: Rules | None = None,
        seed: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        """Start the process. ``ready`` waits for it.

        Args:
            name: the agent's name in messages.
            agent: a spec, from which the process makes the agent, or an agent object, which is
                sent. The process must be able to import its class.
            rules: the rules to play. If None, the agent only describes itself.
            seed: the seed of its random numbers. If None, 0. An agent that only describes itself
                needs none.
            time_limit: the seconds per answer, after which the process is ended. If None, no limit.

        Raises:
            HeartsError: if the agent cannot be sent.
        """
        self.name = name
        self._agent = agent
        self._rules = rules
        self._seed = seed
        self._seconds = math.inf if time_limit is None else time_limit
        self._process: LineProcess | None = None
        self._made: dict[str, Any] | None = None
        """The first answer, once it has come."""
        self._renew()

    def ready(self) -> None:
        """Wait until the process has made the agent.

        Raises:
            HeartsError: if the agent cannot be made.
        """
        if self._process is None:
            self._renew()
        if self._made is None:
            try:
                self._made = self._first_reply("card" if self._rules is None else "ready")
            except BaseException:
                self.close()
                raise

    @cached_property
    def card(self) -> Card:
        """The agent's description. Only for an agent made without rules."""
        self.ready()
        fields: Any = self._made
        assert isinstance(self._agent, AgentSpec)
        try:
            rules = None if fields["rules"] is None else Rules.from_dict(fields["rules"])
            given, read = self._agent.options, fields["options"]
            options = {name: _plain(read.get(name), text) for name, text in given.items()}
            files = {str(name): str(path) for name, path in fields["files"].items()}
            if any(kind_of(path) != "file" for path in files.values()):
                raise ValueError(files)
            return Card(str(fields["kind"])[:_MOST_NAME], options, rules, files)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise HeartsError(
                f"agent: the process of {self.name!r} did not describe the agent; its code must "
                "not write to the pipe of the answers"
            ) from None

    def check_rules(self, rules: Rules) -> None:
        """Raise if the agent refuses `rules`. Call it only if none were given at the start."""
        self.ready()
        assert self._process is not None
        self._process.send(line("rules", rules=rules.to_dict()))
        self._first_reply("ready")

    def reseed(self, seed: int) -> None:
        """Continue with a fresh agent, without memory, seeded with `seed`."""
        if self._process is not None:
            self.ready()
        self._seed = seed
        self._renew()

    def answers(self, views: BatchView) -> tuple[Ints, list[Fault]]:
        """Return the agent's actions, ``(len(views),) int64``, and its faults.

        If the process ends or is late, all views of the message have a fault. A message has all
        views or, under a time limit, up to ``MOST_TIMED``.
        """
        size = len(views)
        per_message = max(1, size) if self._seconds == math.inf else MOST_TIMED
        given, faults = np.zeros(size, np.int64), list[Fault]()
        for first in range(0, size, per_message):
            rows = np.arange(first, min(first + per_message, size))
            try:
                self.ready()
            except HeartsError as error:  # it ended and cannot be restarted
                faults += [Fault(row, CRASHED, str(error)) for row in range(first, size)]
                break
            part = views if per_message >= size else views.subset(rows)
            given[rows], found = self._answer_once(part)
            faults += [fault._replace(row=first + fault.row) for fault in found]
        return given, faults

    def _answer_once(self, views: BatchView) -> tuple[Ints, list[Fault]]:
        """Ask about all views in one message."""
        size = len(views)
        try:
            reply = self._reply_about(views, "act", "actions", 25 * size)
            actions: Ints = _numbers(reply["actions"], "<i8")
            if len(actions) != size:
                raise ValueError(f"{len(actions)} actions for {size} views")
            by_row = {fault.row: fault for fault in map(_fault, reply["faults"])}
            return actions, [by_row[row] for row in by_row if 0 <= row < size]
        except ProgramError as error:
            kind, text = error.kind, str(error)
        except (HeartsError, KeyError, TypeError, ValueError, OverflowError) as error:
            kind = CRASHED
            text = f"its process gave an invalid answer ({describe(error)})"
        self.close()
        return np.zeros(size, np.int64), [Fault(row, kind, text) for row in range(size)]

    def action_probs(self, views: BatchView) -> Floats:
        """Return the probability of each action, ``(len(views), num_actions) float64``.

        Raises:
            HeartsError: if the process gives no probabilities, or the agent raises an exception.
        """
        shape = (len(views), views.rules.num_actions)
        try:
            reply = self._reply_about(views, "policy", "policy", 11 * shape[0] * shape[1])
            return _numbers(reply["policy"], "<f8").reshape(shape)
        except (HeartsError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, HeartsError) and not isinstance(error, ProgramError):
                raise  # with the agent's message
            self.close()
            raise HeartsError(
                f"agent: the process of {self.name!r} gave no policy ({error}); omit isolate"
            ) from None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    # -- the conversation -------------------------------------------------------------------------
    def _renew(self) -> None:
        """Make a fresh agent, in a new process if there is none."""
        if self._process is None:
            hello = self._hello()
            command = [sys.executable, "-c", _PROGRAM]
            self._process = LineProcess(command, python_environment())
            self._process.send(hello, answers=0)
        self._process.send(
            line("card") if self._rules is None else line("player", seed=int(self._seed or 0))
        )
        self._made = None

    def _hello(self) -> bytes:
        spec, agent = None, None
        if isinstance(self._agent, AgentSpec):
            spec = self._agent.text
        else:
            fix = "name it as FILE.py:CLASS, or omit isolate"
            agent = _text(packed(f"agent: {self.name!r}", self._agent, fix))
        return line(
            "hello",
            name=self.name,
            spec=spec,
            agent=agent,
            encoders={name: _text(data) for name, data in packed_encoders().items()},
            rules=None if self._rules is None else self._rules.to_dict(),
            path=[path or os.getcwd() for path in sys.path],
        )

    def _reply_about(
        self, views: BatchView, kind: str, reply_kind: str, number_bytes: int
    ) -> dict[str, Any]:
        self.ready()
        assert self._process is not None
        parts = views.vectors, views.players
        data = b"".join(part.astype("<i8").tobytes() for part in parts)
        self._process.send(line(kind, rows=len(views), size=len(data)) + data)
        return self._reply(reply_kind, self._seconds, number_bytes)

    def _first_reply(self, kind: str) -> dict[str, Any]:
        """Return the next answer. Making the agent may take long."""
        try:
            return self._reply(kind, _START_SECONDS)
        except ProgramError as error:
            raise HeartsError(
                f"agent: the process of {self.name!r} was not ready ({error}); see its output"
            ) from None

    def _reply(self, kind: str, seconds: float, number_bytes: int = 0) -> dict[str, Any]:
        """Return the next answer, which must be of this kind.

        Args:
            kind: the ``type`` of the answer.
            seconds: the time limit.
            number_bytes: the most bytes that its numbers may take.

        Raises:
            ProgramError: if the process ends, is late, or sends nonsense. The process is then
                ended.
            HeartsError: if the agent reports an error.
        """
        assert self._process is not None
        answer = self._process.answer(seconds, _MOST_BYTES + number_bytes)
        if answer.get("type") == "error":
            raise HeartsError(str(answer.get("text"))[:MOST_WORDS])
        if answer.get("type") != kind:
            raise self._process.failed("gave an invalid answer", CRASHED)
        return answer


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _plain(value: Any, text: str) -> Any:
    """Return a parsed option if it is a plain value, else its text."""
    is_plain = value is None or isinstance(value, str | int)
    return value if is_plain or (isinstance(value, float) and math.isfinite(value)) else text


def _fault(item: Any) -> Fault:
    row, kind, text = item
    if row.__class__ is not int or kind not in KINDS:
        raise ValueError(f"{item!r} is no fault")
    return Fault(row, kind, str(text))


def _numbers(text: str, dtype: str) -> Array:
    """Read a flat array that ``served.to_text`` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype).astype(dtype[1:])
