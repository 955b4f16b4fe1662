"""An agent in a process of its own, which gets views and gives actions, and nothing else.

The process is started afresh, not forked, so that nothing of this one's memory is in it. Views go
there over a pipe as the arrays of a ``BatchView``; what comes back are whole numbers, checked like
any agent's actions, and the text of errors. Nothing that the agent wrote is ever unpickled here.

It keeps an agent from what an evaluation holds in memory, and from itself in another seat. It is
not a sandbox: the process has the user's rights. docs/evaluation.md says more.

| to the process | then |
|---|---|
| `J` JSON: spec, seed, rules, import path; then the pickled agent if no spec | ready, or an error |
| `N` a seed, 8 bytes | an agent without memory, its random numbers from this seed; ready |
| `V` number of rows n, vectors, players | `A` n actions (below -1: a fault), JSON: what happened |

Every message is its length in 8 bytes, and that many bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from typing import IO, Any

import numpy as np

from hearts_agents import Agent
from hearts_env import HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch import BatchView
from hearts_train.guard import CRASHED, KINDS, LATE, NO_ACTION, Answer, Fault, check, describe

_START_SECONDS = 300.0  # a first start may compile
_MOST_TEXTS = 20
_MOST_TEXT_BYTES = 100_000


class Isolated:
    """An agent in a process of its own."""

    def __init__(
        self,
        name: str,
        spec: str | None,
        agent: Agent,
        rules: Rules,
        seed: int,
        time_limit: float | None = None,
    ) -> None:
        """Start the process.

        Args:
            name: of the agent, for messages.
            spec: what to make it from there; None: `agent` is sent.
            agent: the agent, which must be of a class that can be imported there.
            rules: what it will play.
            seed: of its random numbers.
            time_limit: seconds that one answer may take; then the process is ended.

        Raises:
            HeartsError: the agent cannot be sent, or cannot be made there.
        """
        self.name = name
        self.time_limit = time_limit
        self._rules = rules
        hello = {
            "spec": spec,
            "name": name,
            "seed": seed,
            "rules": rules.to_dict(),
            "path": [path or os.getcwd() for path in sys.path],
        }
        self._hello = [b"J" + json.dumps(hello).encode()]
        if spec is None:
            self._hello.append(_pickled(name, agent))
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(1)
        self._start()

    def renew(self, seed: int) -> None:
        """Go on with an agent that remembers nothing, its random numbers from `seed`."""
        if self._process is None:
            self._start()
        self._expect_ready(b"N" + int(seed).to_bytes(8, "little"))

    def ask(self, views: BatchView) -> Answer:
        """What the agent answers; a process that ends or is late loses all these games."""
        size = len(views)
        try:
            if self._process is None:
                self._start()
            data = b"V" + size.to_bytes(8, "little")
            data += np.ascontiguousarray(views.vectors, "<i8").tobytes()
            data += np.ascontiguousarray(views.players, "<i8").tobytes()
            reply = self._exchange([data], 1 + 8 * size + _MOST_TEXT_BYTES, self.time_limit)
        except LateError:
            self.close()
            return _all_faulty(size, LATE, f"gave no answer within {self.time_limit:g} s")
        except (OSError, EOFError, HeartsError) as error:
            status = None if self._process is None else self._process.poll()
            self.close()
            ended = "" if status is None else f" with status {status}"
            return _all_faulty(size, CRASHED, f"its process ended{ended} ({describe(error)})")
        if reply[:1] != b"A" or len(reply) < 1 + 8 * size:
            self.close()
            return _all_faulty(size, CRASHED, "its process gave something that is not an answer")
        return _read_answer(reply, views)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    # -- helpers ----------------------------------------------------------------------------------
    def _start(self) -> None:
        code = "from hearts_train.isolation import serve; serve()"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        try:
            self._expect_ready(*self._hello)
        except (LateError, OSError, EOFError):
            self.close()
            raise HeartsError(
                f"agent: the process of {self.name!r} ended before it was ready; what it printed "
                "says why"
            ) from None

    def _expect_ready(self, *messages: bytes) -> None:
        try:
            reply = self._exchange(list(messages), 10_000, _START_SECONDS)
        except HeartsError:
            self.close()
            raise
        if reply[:1] != b"R":
            self.close()
            text = reply[1:].decode(errors="replace")
            raise HeartsError(text if reply[:1] == b"X" else f"agent: {self.name!r} is not ready")

    def _exchange(self, messages: list[bytes], limit: int, seconds: float | None) -> bytes:
        """Send messages and wait for one reply, in a thread, since a full pipe would wait too."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        to, back = process.stdin, process.stdout

        def exchange() -> bytes:
            for message in messages:
                _send(to, message)
            return _receive(back, limit)

        try:
            return self._thread.submit(exchange).result(seconds)
        except KeyboardInterrupt:
            self.close()
            raise


def _pickled(name: str, agent: Agent) -> bytes:
    try:
        data = pickle.dumps(agent)
    except Exception as error:
        raise HeartsError(
            f"agent: {name!r} cannot be sent to a process of its own ({describe(error)}); name it "
            "as FILE.py:CLASS, or leave isolate off"
        ) from None
    return data


def _all_faulty(size: int, kind: str, text: str) -> Answer:
    return np.full(size, NO_ACTION), [Fault(row, kind, text) for row in range(size)]


def _read_answer(reply: bytes, views: BatchView) -> Answer:
    size = len(views)
    given = np.frombuffer(reply, "<i8", size, 1).astype(np.int64)
    try:
        texts = {int(row): str(text)[:500] for row, text in json.loads(reply[1 + 8 * size :])}
    except (ValueError, TypeError, RecursionError):
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


def _send(to: IO[bytes], message: bytes) -> None:
    to.write(len(message).to_bytes(8, "little"))
    to.write(message)
    to.flush()


def _receive(back: IO[bytes], limit: int) -> bytes:
    size = int.from_bytes(_exactly(back, 8), "little")
    if size > limit:
        raise HeartsError(f"a message of {size} bytes, of which {limit} are allowed")
    return _exactly(back, size)


def _exactly(back: IO[bytes], size: int) -> bytes:
    data = back.read(size)
    if len(data) < size:
        raise EOFError("nothing more came")
    return data


# ---- in the process ------------------------------------------------------------------------------
def serve() -> None:
    """Be the process: answer messages until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asks
    back = os.fdopen(os.dup(1), "wb")
    to = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the agent prints is no answer
    contender: Any = None
    agent: Any = None
    rules = Rules()
    while True:
        try:
            message = _receive(to, 2**40)
        except (EOFError, OSError):
            return
        if message[:1] == b"V":
            _send(back, _answer(agent, rules, message))
            continue
        try:
            if message[:1] == b"J":
                hello = json.loads(message[1:])
                rules = Rules.from_dict(hello["rules"])
                contender = _contender(hello, to)
                agent = contender.fresh(hello["seed"])
            else:
                agent = contender.fresh(int.from_bytes(message[1:9], "little"))
        except Exception as error:
            text = str(error) if isinstance(error, HeartsError) else describe(error)
            _send(back, b"X" + text.encode()[:5000])
        else:
            _send(back, b"R")


def _contender(hello: dict[str, Any], to: IO[bytes]) -> Any:
    """The agent as the other process has it."""
    from hearts_train.contenders import Contender

    sys.path[:] = hello["path"]
    if hello["spec"] is not None:
        return Contender(hello["spec"], hello["seed"])
    data = _receive(to, 2**40)
    try:
        return Contender(pickle.loads(data), hello["seed"])
    except Exception as error:
        raise HeartsError(
            f"agent: {hello['name']!r} cannot be made in a process of its own "
            f"({describe(error)}); name it as FILE.py:CLASS, or leave isolate off"
        ) from None


def _answer(agent: Agent, rules: Rules, message: bytes) -> bytes:
    from hearts_train.guard import ask

    size = int.from_bytes(message[1:9], "little")
    numbers = np.frombuffer(message, "<i8", offset=9).astype(np.int64)
    vectors = numbers[: size * k.STATE_SIZE].reshape(size, k.STATE_SIZE)
    players = numbers[size * k.STATE_SIZE :]
    actions, faults = ask(agent, BatchView(rules, vectors, players))
    for fault in faults:
        actions[fault.row] = -2 - KINDS.index(fault.kind)
    texts = [[fault.row, fault.text] for fault in faults[:_MOST_TEXTS]]
    return b"A" + actions.astype("<i8").tobytes() + json.dumps(texts).encode()
