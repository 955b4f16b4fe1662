"""Agents that are external programs: ``exec:./bot --flag``, over lines of JSON.

docs/agents.md has the protocol, and ``external_schema.json`` its messages. A program is started at
the first question, and again after a failure. After `_MOST_FAILURES` failures in a row it is not
started again for this player.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.base import Actions, Agent
from hearts_agents.programs.process import LineProcess, ProgramError, line
from hearts_agents.programs.view_lines import ViewLines
from hearts_agents.user_code import ILLEGAL, Fault
from hearts_env import HeartsError, PlayerView, Rules, __version__
from hearts_env.batch.views import BatchView
from hearts_env.support.arguments import check_any_seed, check_number, check_positive
from hearts_env.support.errors import quoted
from hearts_env.support.files import kind_of

EXEC = "exec:"
"""The prefix of a program's name, so code in a module named ``exec`` cannot be named."""
PROTOCOL = 1
SECONDS, START_SECONDS, BATCH = 10.0, 20.0, 256
_MOST_BATCH = 65_536
_MOST_FAILURES = 3
_MOST_READY, _MOST_ACTION = 10_000, 100  # bytes of an answer: to hello, and per view
_MOST_NAME = 100
_AHEAD, _ALONE = 2, 32
"""The most unanswered messages before more are sent: of messages with many views, and of messages
with one view. Messages with one view are sent `_ALONE` at a time."""


class ExternalAgent(Agent):
    """An external program, asked over lines of JSON."""

    plays = "what the program says"

    def __init__(
        self,
        command: str,
        seed: int | None = None,
        *,
        seconds: float = SECONDS,
        start_seconds: float = START_SECONDS,
        batch: int = BATCH,
    ) -> None:
        """Check the arguments. The program is started later.

        Args:
            command: the program and its arguments, split like in a shell.
            seed: the seed sent to the program. If None, the program chooses its own.
            seconds: the time limit for the answer to one message.
            start_seconds: the time limit for the start.
            batch: the most views per message.

        Raises:
            HeartsError: if there is no such program, or an argument is out of range.
        """
        self.name = EXEC + command
        self.command = command
        self._words = _split(command)
        self._seed = None if seed is None else check_any_seed(seed)
        self.seconds = check_positive("seconds", seconds)
        self.start_seconds = check_positive("start_seconds", start_seconds)
        self.batch = check_number("batch", batch, 1, _MOST_BATCH)
        self._rules: Rules | None = None
        self._process: LineProcess | None = None
        self._lines: ViewLines | None = None
        self.takes_many = False
        """Whether the running program accepts many views in one message."""
        self._seed_due = True
        self._failures = 0

    # -- as an agent ------------------------------------------------------------------------------
    def check_rules(self, rules: Rules) -> None:
        """Start the program and send it the rules.

        Raises:
            ProgramError: if the program refuses the rules, or fails.
        """
        try:
            self._started(rules)
        except ProgramError as error:
            message = f"agent: {self.name!r}: {error}; see docs/agents.md"
            raise ProgramError(message, error.kind) from None

    def act(self, view: PlayerView) -> Any:
        """Return the program's answer. The name of an action becomes its number."""
        return self.act_batch(BatchView.of([view]))[0]

    def act_batch(self, views: BatchView) -> Actions:
        """Return the program's answers, ``(len(views),) int64``, or a list if one is no action.

        Raises:
            ProgramError: if the program fails.
        """
        given, faults = self.answers(views)
        if faults:
            text = f"agent: {self.name!r}: {faults[0].text}; see docs/agents.md"
            raise ProgramError(text, faults[0].kind)
        plain = all(a.__class__ is int and -1 <= a < views.rules.num_actions for a in given)
        return np.array(given, np.int64) if plain else given  # type: ignore[return-value]

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Yield the content of the program's files."""
        return (path.read_bytes() for path in program_files(self.command))

    def reseed(self, seed: int) -> None:
        """Send the program a new `seed` before the next question."""
        self._seed = check_any_seed(seed)
        self._seed_due = True

    def answers(self, views: BatchView) -> tuple[list[Any], list[Fault]]:
        """Return the program's answers, None at a failure, and a fault for each failure.

        While the program works on one message, the next ones are sent. A failure costs the views of
        the message whose answer was expected next. All others are sent again after a restart.
        """
        given: list[Any] = []
        faults: list[Fault] = []
        unanswered: deque[int] = deque()  # the last row + 1 of each unanswered message
        sent = 0
        while len(given) < len(views):
            first = len(given)
            try:
                process = self._started(views.rules)
                are_many = self.takes_many and self.batch > 1
                while sent < len(views) and len(unanswered) <= (_AHEAD if are_many else _ALONE):
                    end = min(sent + (self.batch if are_many else _ALONE), len(views))
                    unanswered.extend([end] if are_many else range(sent + 1, end + 1))
                    part = views.subset(np.arange(sent, end))
                    self._send(process, part, are_many=are_many)
                    sent = end
                given += self._answer(process, unanswered[0] - first)
                unanswered.popleft()
                self._failures = 0
            except ProgramError as error:
                self._process = None  # it has been ended
                self._failures += 1
                size = self.batch if self.takes_many else 1
                last = unanswered[0] if unanswered else min(first + size, len(views))
                last = len(views) if self._is_given_up else last
                faults += [Fault(row, error.kind, str(error)) for row in range(first, last)]
                given += [None] * (last - first)
                unanswered.clear()
                sent = last
            except BaseException:
                self._process = None
                raise
        return given, faults

    def close(self) -> None:
        """End the program. The next question starts it again."""
        process, self._process = self._process, None
        self._failures = 0
        if process is not None:
            process.close(line("bye"))

    def __reduce__(self) -> tuple[Any, ...]:
        limits = {"seconds": self.seconds, "start_seconds": self.start_seconds}
        again = functools.partial(type(self), self.command, self._seed, batch=self.batch, **limits)
        return again, ()

    # -- the conversation -------------------------------------------------------------------------
    @property
    def _is_given_up(self) -> bool:
        return self._failures >= _MOST_FAILURES

    def _started(self, rules: Rules) -> LineProcess:
        """Return the running program, started for `rules` if needed."""
        if self._process is not None:
            if self._rules is rules or self._rules == rules:
                return self._process
            self.close()
        if self._is_given_up:
            raise ProgramError(f"failed {self._failures} times in a row; it is not restarted")
        self._rules, self._lines, self._seed_due = rules, ViewLines(rules), True
        process = LineProcess(self._words)
        hello = line(
            "hello",
            protocol=PROTOCOL,
            engine=f"hearts-env {__version__}",
            rules={"name": rules.name, **rules.to_dict()},
            deck=list(rules.deck),
            actions=[rules.action_name(action) for action in range(rules.num_actions)],
            seconds=self.seconds,
            batch=self.batch,
        )
        process.send(hello)
        ready = process.answer(self.start_seconds, _MOST_READY)
        if ready.get("type") == "refuse":
            process.close(line("bye"))
            reason = " ".join(str(ready.get("reason", "it gave no reason")).split())
            shown = "".join(c if c.isprintable() else "?" for c in reason)[:300]
            raise ProgramError(f"refuses {rules.name}: {shown}", ILLEGAL)
        if ready.get("type") != "ready":
            raise process.failed(f"answered hello with {_kind(ready)}; expected ready or refuse")
        if ready.get("protocol") != PROTOCOL:
            raise process.failed(
                f"speaks protocol {quoted(ready.get('protocol'))}; this is protocol {PROTOCOL}"
            )
        self.takes_many = ready.get("batch") is True
        self._process = process
        return process

    def _send(self, process: LineProcess, views: BatchView, *, are_many: bool) -> None:
        """Ask about some views, in one message or one by one, without waiting."""
        assert self._lines is not None
        texts = self._lines.write(views)
        if are_many and len(texts) > 1:
            text, messages = f'{{"type":"acts","views":[{",".join(texts)}]}}\n', 1
        else:
            text = "".join([f'{{"type":"act","view":{view}}}\n' for view in texts])
            messages = len(texts)
        begin = b""
        if self._seed_due:
            # JavaScript's numbers are exact up to here.
            begin = line("game", seed=None if self._seed is None else self._seed % 2**53)
            self._seed_due = False
        process.send(begin + text.encode(), messages)

    def _answer(self, process: LineProcess, size: int) -> list[Any]:
        """Return the actions that answer the oldest unanswered message, of `size` views."""
        assert self._lines is not None
        answer = process.answer(self.seconds, _MOST_READY + _MOST_ACTION * size)
        is_one = size == 1
        given = [answer.get("action")] if is_one else answer.get("actions")
        due = "action" if is_one else "actions"
        if answer.get("type") != due:
            raise process.failed(f"answered with {_kind(answer)}; expected {due}")
        if due not in answer or not isinstance(given, list):
            raise process.failed(f"answered with {quoted(given)}; expected {due}")
        if len(given) != size:
            raise process.failed(f"gave {len(given)} actions for {size} views")
        numbers = self._lines.numbers
        return [numbers.get(a, a) if a.__class__ is str else a for a in given]


def program_files(command: str) -> list[Path]:
    """Return the files of a program: its executable, and the files among its arguments.

    An executable found on the PATH counts only if no argument names a file. Otherwise it is an
    interpreter.
    """
    words = _split(command)
    files = [Path(word) for word in words[1:] if kind_of(word) == "file"]
    found = shutil.which(words[0])
    is_plain = os.sep not in words[0]
    return files if found is None or (is_plain and files) else [Path(found), *files]


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise HeartsError(
            f"agent: the command in {quoted(EXEC + command)} cannot be read ({error}); close every "
            "quotation mark"
        ) from None
    if not words:
        raise HeartsError(f"agent: {EXEC!r} names no program; write it as in exec:./bot --flag")
    if shutil.which(words[0]) is None:
        there = kind_of(words[0])
        what = (
            "cannot be executed; make it executable (chmod +x), or name its interpreter too, as in "
            "exec:python3 bot.py"
            if there
            else "is not a program in this folder or on the PATH; check the path"
        )
        raise HeartsError(f"agent: {quoted(EXEC + command)}: {quoted(words[0])} {what}")
    return words


def _kind(message: dict[str, Any]) -> str:
    return f"a message of type {quoted(message.get('type'))}"
