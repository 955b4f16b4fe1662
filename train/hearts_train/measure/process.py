"""What runs in the process of an isolated agent: it makes the agent and answers messages.

The other side, and the list of messages, is in ``isolation``.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from typing import Any

import numpy as np

from hearts_agents import Agent
from hearts_agents.user_code import describe
from hearts_env import HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.solve.best_response import policy_asker
from hearts_train.measure.contenders import Contender
from hearts_train.measure.guard import KINDS, ask
from hearts_train.measure.isolation import read_message, write_message

_MOST_TEXTS = 20
_MOST_WORDS = 10_000


def serve() -> None:
    """Be the process: answer messages until there are no more."""
    back = os.fdopen(os.dup(1), "wb")
    to = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the agent prints is not an answer
    contender: Contender | None = None
    agent: Any = None
    rules, hello, sent = Rules(), {}, None
    while True:
        try:
            message = read_message(to, 2**40)
        except (EOFError, OSError):
            return
        if message[:1] in (b"V", b"P"):
            answer = _answer if message[:1] == b"V" else _policy
            write_message(back, answer(agent, rules, message))
            continue
        if message[:1] == b"J":
            hello = json.loads(message[1:])
            rules = rules if hello["rules"] is None else Rules.from_dict(hello["rules"])
            sent = None if hello["spec"] is not None else read_message(to, 2**40)
            continue
        reply = b"R"
        try:
            if contender is None:
                contender = _contender(hello, sent)
            if message[:1] == b"Q":
                reply = _card(contender)
            elif message[:1] == b"C":
                contender.check_rules(Rules.from_dict(json.loads(message[1:])))
            else:
                agent = contender.fresh(int.from_bytes(message[1:9], "little"))
        except BaseException as error:  # signals are ignored, so it is the agent's
            reply = _error(error)
        write_message(back, reply)


def _contender(hello: dict[str, Any], sent: bytes | None) -> Contender:
    """The agent as the other process has it."""
    sys.path[:] = hello["path"]
    if sent is None:
        return Contender(hello["spec"], 0)
    try:
        return Contender(pickle.loads(sent), 0)
    except BaseException as error:
        raise HeartsError(
            f"agent: {hello['name']!r} cannot be made in a process of its own "
            f"({describe(error)}); name it as FILE.py:CLASS, or omit isolate"
        ) from None


def _card(contender: Contender) -> bytes:
    record = contender.to_json()
    rules = None if contender.rules is None else contender.rules.to_dict()
    files = {name: str(path) for name, path in contender.files.items()}
    card = {"kind": record["kind"], "options": record["options"], "rules": rules, "files": files}
    return b"Q" + json.dumps(card).encode()


def _views(rules: Rules, message: bytes) -> BatchView:
    size = int.from_bytes(message[1:9], "little")
    numbers = np.frombuffer(message, "<i8", offset=9).astype(np.int64)
    vectors = numbers[: size * rules.state_size].reshape(size, rules.state_size)
    return BatchView(rules, vectors, numbers[size * rules.state_size :])


def _policy(agent: Any, rules: Rules, message: bytes) -> bytes:
    try:
        table = policy_asker(agent, "the agent")(_views(rules, message))
    except BaseException as error:  # signals are ignored, so it is the agent's
        return _error(error)
    return b"P" + table.astype("<f8").tobytes()


def _error(error: BaseException) -> bytes:
    """What tells the other process of an error."""
    text = str(error) if isinstance(error, HeartsError) else describe(error)
    return b"X" + text.encode()[: _MOST_WORDS - 1]


def _answer(agent: Agent, rules: Rules, message: bytes) -> bytes:
    actions, faults = ask(agent, _views(rules, message))
    for fault in faults:
        actions[fault.row] = -2 - KINDS.index(fault.kind)
    texts = [[fault.row, fault.text] for fault in faults[:_MOST_TEXTS]]
    return b"A" + actions.astype("<i8").tobytes() + json.dumps(texts).encode()
