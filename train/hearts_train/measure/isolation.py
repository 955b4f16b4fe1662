"""An agent in a process of its own, which gets views and gives actions, and nothing else.

The process is started afresh, not forked, so that nothing of this one's memory is in it. Views go
there over a pipe as the arrays of a ``BatchView``; what comes back are whole numbers, checked like
any agent's actions, what the agent is, and the text of errors. Nothing that the agent wrote is ever
unpickled here, and an agent named by its code is neither imported nor made here: a process of its
own says what it is and which rules it plays (``Enquiry``). An agent object, and an agent that this
process has registered, were made here by the caller.

It keeps an agent from what an evaluation holds in memory, and from itself in another seat. It is
not a sandbox: the process has the user's rights. See docs/evaluation.md.

| to the process | then |
|---|---|
| `J` JSON: spec, rules, import path; then, if it has no spec, the pickled agent | |
| `N` a seed, 8 bytes | a player without memory is made; `R` ready, or `X` an error's text |
| `V` number of rows n, vectors, players | `A` n actions (below -1: a fault), JSON: what happened |
| `P` the same as `V` | `P` the chances of all actions, n rows, or `X` |
| `Q` | the agent is made; `Q` JSON: what it is (``Card``), or `X` |
| `C` JSON: rules | the agent is asked whether it plays them; `R` yes, or `X` |

Every message is its length in 8 bytes, and that many bytes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

import numpy as np

from hearts_agents import Agent
from hearts_agents.programs.process import (
    close_pipes,
    kill_child,
    python_environment,
    start_child,
)
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import describe
from hearts_env import HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.files import kind_of
from hearts_train.measure.guard import CRASHED, KINDS, LATE, NO_ACTION, Answer, Fault, check

_START_SECONDS = 300.0  # a first start may compile
_MOST_TEXTS = 20
_MOST_TEXT = 100_000
_MOST_WORDS = 10_000
_MOST_NAME = 100


_PROGRAM = """
import signal
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
from hearts_train.measure.process import serve
serve()
"""
"""The process ignores signals to its group: the asking process ends it when it is done."""


class _Process:
    """A process that makes one agent and answers messages."""

    def __init__(self, hello: list[bytes]) -> None:
        """Start it; the messages of `hello` come before the first of ``send``."""
        self._hello = hello
        self._thread = ThreadPoolExecutor(1)
        self._process = start_child(
            [sys.executable, "-c", _PROGRAM], environment=python_environment()
        )

    def send(self, message: bytes, limit: int) -> Future[bytes]:
        """Send a message, and get the reply; in a thread, since a full pipe blocks."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        messages, self._hello = [*self._hello, message], []

        def exchange() -> bytes:
            for part in messages:
                write_message(to, part)
            return read_message(back, limit)

        return self._thread.submit(exchange)

    def end(self) -> str:
        """Wait for the process, which is ending; returns how it ended, in words."""
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(5.0)
        self.close()
        return "" if status is None else f" with status {status}"

    def close(self) -> None:
        """End it, and all that it has started."""
        kill_child(self._process)
        close_pipes(self._process)
        self._thread.shutdown(wait=False)


def _hello(name: str, spec: str | None, rules: Rules | None) -> bytes:
    hello = {
        "spec": spec,
        "name": name,
        "rules": None if rules is None else rules.to_dict(),
        "path": [path or os.getcwd() for path in sys.path],
    }
    return b"J" + json.dumps(hello).encode()


def _ended_early(name: str, before: str = "was ready") -> HeartsError:
    return HeartsError(
        f"agent: the process of {name!r} ended before it {before}; see what it printed"
    )


def _question(kind: bytes, views: BatchView) -> bytes:
    """A message that asks about many views."""
    words = (views.vectors, views.players)
    data = b"".join(np.ascontiguousarray(numbers, "<i8").tobytes() for numbers in words)
    return kind + len(views).to_bytes(8, "little") + data


@dataclass(frozen=True)
class Card:
    """What an agent is, as its process says.

    Attributes:
        kind: The name of its class.
        options: Those of its spec, as it reads them.
        rules: The rules it was trained for, if it states them.
        files: The paths of the files that its code declares, by the names that it gives them.
    """

    kind: str
    options: dict[str, Any]
    rules: Rules | None
    files: dict[str, str]


class Enquiry:
    """A process that makes an agent to say what it is, and which rules it plays."""

    def __init__(self, name: str, spec: AgentSpec) -> None:
        """Start it without waiting for it."""
        self._name, self._spec = name, spec
        self._process: _Process | None = _Process([_hello(name, spec.to_json(), None)])
        self._awaited = self._process.send(b"Q", _MOST_WORDS)

    @cached_property
    def card(self) -> Card:
        """What the agent is, once it is made.

        Raises:
            HeartsError: if it cannot be made, or its process ended.
        """
        reply = self._reply(self._awaited, b"Q")
        try:
            fields = json.loads(reply)
            rules = None if fields["rules"] is None else Rules.from_dict(fields["rules"])
            given, told = self._spec.options, fields["options"]
            options = {name: _plain(told.get(name), text) for name, text in given.items()}
            files = {str(name): str(path) for name, path in fields["files"].items()}
            if any(kind_of(path) != "file" for path in files.values()):
                raise ValueError(files)
            return Card(str(fields["kind"])[:_MOST_NAME], options, rules, files)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise HeartsError(
                f"agent: the process of {self._name!r} does not say what the agent is; it must not "
                "write to the pipe that it is asked through"
            ) from None

    def check_rules(self, rules: Rules) -> None:
        """Ask the agent whether it plays some rules.

        Raises:
            HeartsError: if it does not.
        """
        _ = self.card  # must be asked first
        assert self._process is not None
        question = b"C" + json.dumps(rules.to_dict()).encode()
        self._reply(self._process.send(question, _MOST_WORDS), b"R")

    def close(self) -> None:
        """End the process; what it has said is still known."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _reply(self, awaited: Future[bytes], kind: bytes) -> bytes:
        try:
            reply = awaited.result(_START_SECONDS)
        except (LateError, OSError, EOFError, HeartsError):
            raise _ended_early(self._name) from None
        if reply[:1] != kind:
            raise HeartsError(reply[1:].decode(errors="replace"))
        return reply[1:]


def _plain(value: Any, text: str) -> Any:
    """An option as the agent's process reads it, if that is a plain value; else as it was given."""
    is_plain = value is None or isinstance(value, str | int)
    return value if is_plain or (isinstance(value, float) and math.isfinite(value)) else text


class Isolated:
    """An agent in a process of its own."""

    def __init__(
        self,
        name: str,
        entrant: AgentSpec | Agent,
        rules: Rules,
        seed: int,
        time_limit: float | None = None,
    ) -> None:
        """Start the process; ``ready`` waits for it.

        Args:
            name: of the agent, for messages.
            entrant: what to make it from there; or the agent, which is sent and must be of a class
                that can be imported there.
            rules: what it will play.
            seed: of its random numbers.
            time_limit: seconds that one answer may take; then the process is ended.

        Raises:
            HeartsError: if the agent cannot be sent.
        """
        self.name = name
        self.time_limit = time_limit
        self._rules = rules
        self._seed = int(seed).to_bytes(8, "little")
        if isinstance(entrant, AgentSpec):
            self._hello = [_hello(name, entrant.to_json(), rules)]
        else:
            self._hello = [_hello(name, None, rules), _pickled(name, entrant)]
        self._process: _Process | None = None
        self._awaited: Future[bytes] | None = None
        self._start()

    def ready(self) -> None:
        """Wait until the agent is made there.

        Raises:
            HeartsError: if it cannot be made, or its process ended.
        """
        awaited, self._awaited = self._awaited, None
        if awaited is None:
            return
        try:
            reply = awaited.result(_START_SECONDS)
        except (LateError, OSError, EOFError, HeartsError):
            self.close()
            raise _ended_early(self.name) from None
        except KeyboardInterrupt:
            self.close()
            raise
        if reply[:1] != b"R":
            self.close()
            raise HeartsError(reply[1:].decode(errors="replace"))

    def renew(self, seed: int) -> None:
        """Continue with an agent that remembers nothing, its random numbers from `seed`."""
        self.ready()
        self._seed = int(seed).to_bytes(8, "little")
        if self._process is None:
            self._start()
        else:
            self._awaited = self._process.send(b"N" + self._seed, _MOST_WORDS)

    def begin(self, seats: Ints) -> None:
        """Do nothing: it is asked about views, and remembers no games."""

    def over(self, games: Ints, scores: Ints) -> None:
        """Do nothing."""

    def ask(self, views: BatchView, games: Ints | None = None) -> Answer:
        """What the agent answers; a process that ends or is late loses all these games."""
        size = len(views)
        data = _question(b"V", views)
        try:
            process = self._process or self._start()
            self.ready()
            reply = process.send(data, 1 + 8 * size + _MOST_TEXT).result(self.time_limit)
        except LateError:
            self.close()
            return _all_faulty(size, LATE, f"gave no answer within {self.time_limit:g} s")
        except (OSError, EOFError, HeartsError) as error:
            ended, self._process = self._process, None
            status = "" if ended is None else ended.end()
            return _all_faulty(size, CRASHED, f"its process ended{status} ({error})")
        except KeyboardInterrupt:
            self.close()
            raise
        if reply[:1] != b"A" or len(reply) < 1 + 8 * size:
            self.close()
            return _all_faulty(size, CRASHED, "its process gave something that is not an answer")
        return _read_answer(reply, views)

    def action_probs(self, views: BatchView) -> Floats:
        """The agent's chances of all actions in many views, ``(len(views), num_actions)``.

        Raises:
            HeartsError: if it has none, or its process ended or is late.
        """
        shape = (len(views), views.rules.num_actions)
        expected = 1 + 8 * shape[0] * shape[1]
        try:
            process = self._process or self._start()
            self.ready()
            sent = process.send(_question(b"P", views), expected + _MOST_WORDS)
            reply = sent.result(self.time_limit)
        except (LateError, OSError, EOFError):
            self.close()
            raise _ended_early(self.name, "had told its policy") from None
        if reply[:1] == b"X":
            raise HeartsError(reply[1:].decode(errors="replace"))
        if reply[:1] != b"P" or len(reply) != expected:
            self.close()
            raise HeartsError(
                f"agent: the process of {self.name!r} gave no policy when asked; omit isolate"
            )
        return np.frombuffer(reply, "<f8", offset=1).reshape(shape).astype(np.float64)

    def rest(self) -> None:
        """Keep the process, which takes long to start."""

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _start(self) -> _Process:
        self._process = _Process(self._hello)
        self._awaited = self._process.send(b"N" + self._seed, _MOST_WORDS)
        return self._process


def _pickled(name: str, agent: Agent | None) -> bytes:
    try:
        data = pickle.dumps(agent)
    except Exception as error:
        raise HeartsError(
            f"agent: {name!r} cannot be sent to a process of its own ({describe(error)}); name it "
            "as FILE.py:CLASS, or omit isolate",
            value=name,
        ) from None
    return data


def _all_faulty(size: int, kind: str, text: str) -> Answer:
    return np.full(size, NO_ACTION), [Fault(row, kind, text) for row in range(size)]


def _read_answer(reply: bytes, views: BatchView) -> Answer:
    size = len(views)
    given = np.frombuffer(reply, "<i8", size, 1).astype(np.int64)
    try:
        texts = {int(row): str(text)[:500] for row, text in json.loads(reply[1 + 8 * size :])}
    except (ValueError, TypeError, OverflowError, RecursionError):
        texts = {}
    stated = (given <= -2) & (given > -2 - len(KINDS))
    faults = [
        Fault(row, KINDS[-2 - int(given[row])], texts.get(row, ""))
        for row in np.flatnonzero(stated).tolist()
    ]
    actions = np.full(size, NO_ACTION)
    rest = np.flatnonzero(~stated)
    actions[rest], more = check(given[rest], views.subset(rest))
    faults += [Fault(int(rest[fault.row]), fault.kind, fault.text) for fault in more]
    return actions, sorted(faults, key=lambda fault: fault.row)


def write_message(to: IO[bytes], message: bytes) -> None:
    """Write a message, preceded by its length."""
    to.write(len(message).to_bytes(8, "little"))
    to.write(message)
    to.flush()


def read_message(back: IO[bytes], limit: int) -> bytes:
    """Read a message of at most `limit` bytes."""
    size = int.from_bytes(_exactly(back, 8), "little")
    if size > limit:
        raise HeartsError(f"message: {size} bytes are too many; send at most {limit}")
    return _exactly(back, size)


def _exactly(back: IO[bytes], size: int) -> bytes:
    data = back.read(size)
    if len(data) < size:
        raise EOFError("the pipe was closed")
    return data
