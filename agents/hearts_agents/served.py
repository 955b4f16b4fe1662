"""The process of an isolated agent: the other end of ``isolation``."""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
from functools import cached_property
from typing import IO, Any

import numpy as np

from hearts_agents.base import Agent, check_rules, unadapted
from hearts_agents.guard import ask, is_ours
from hearts_agents.isolation import MOST_WORDS
from hearts_agents.programs.process import line
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import blamed, describe, register_packed
from hearts_env import HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.solve.best_response import probs_function
from hearts_env.support.arrays import Array

_MOST_TEXTS = 20
_BUFFER = 1 << 20


def to_text(numbers: Array, dtype: str) -> str:
    """Encode an array as text for a message."""
    return base64.b64encode(numbers.astype(dtype).tobytes()).decode()


def serve() -> None:
    """Answer messages until there are no more."""
    back = os.fdopen(os.dup(1), "wb")
    to = os.fdopen(os.dup(0), "rb", _BUFFER)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the agent's output must not mix with answers
    served = _Served(to)
    for text in to:
        message = json.loads(text)
        try:
            answer = getattr(served, message["type"])(message)
        except BaseException as error:  # signals are ignored, so the agent raised it
            words = str(error) if isinstance(error, HeartsError) else describe(error)
            answer = line("error", text=words[:MOST_WORDS])
        back.write(answer)
        back.flush()


class _Served:
    """Answers messages, with one method per kind of message."""

    def __init__(self, to: IO[bytes]) -> None:
        self._to = to
        self._hello = hello = json.loads(to.readline())
        self._rules = Rules() if hello["rules"] is None else Rules.from_dict(hello["rules"])
        self._player: Any = None

    @cached_property
    def _entered(self) -> tuple[AgentSpec, Agent]:
        """The spec and the agent, made from the first message."""
        sys.path[:] = self._hello["path"]
        encoders: dict[str, str] = self._hello["encoders"]
        register_packed({name: base64.b64decode(text) for name, text in encoders.items()})
        if self._hello["spec"] is not None:
            spec = AgentSpec.parse(self._hello["spec"])
            return spec, spec.make(0)
        with blamed(
            f"agent: {self._hello['name']!r} cannot be made in its own process",
            "name it as FILE.py:CLASS, or omit isolate",
        ):
            spec = AgentSpec.parse(pickle.loads(base64.b64decode(self._hello["agent"])))
            return spec, spec.make()

    def player(self, message: dict[str, Any]) -> bytes:
        spec, agent = self._entered
        self._player = spec.fresh(agent, message["seed"], self._hello["name"])
        return line("ready")

    def act(self, message: dict[str, Any]) -> bytes:
        actions, found = ask(self._player, self._views(message))
        faults = [
            fault if place < _MOST_TEXTS else fault._replace(text="")
            for place, fault in enumerate(found)
        ]
        return line("actions", actions=to_text(actions, "<i8"), faults=faults)

    def policy(self, message: dict[str, Any]) -> bytes:
        views = self._views(message)  # must be read even if the next line raises
        table = probs_function(self._player, "the agent")(views)
        return line("policy", policy=to_text(table, "<f8"))

    def card(self, message: dict[str, Any]) -> bytes:
        spec, agent = self._entered
        rules = getattr(agent, "rules", None)
        files = {} if is_ours(agent) else spec.declared_files(agent)
        return line(
            "card",
            kind=type(unadapted(agent)).__name__,
            options=spec.values(),
            rules=rules.to_dict() if isinstance(rules, Rules) else None,
            files={name: str(path) for name, path in files.items()},
        )

    def rules(self, message: dict[str, Any]) -> bytes:
        check_rules(self._entered[1], Rules.from_dict(message["rules"]))
        return line("ready")

    def _views(self, message: dict[str, Any]) -> BatchView:
        rows, width = message["rows"], self._rules.state_size
        numbers = np.frombuffer(self._to.read(message["size"]), "<i8").astype(np.int64)
        vectors = numbers[: rows * width].reshape(rows, width)
        return BatchView(self._rules, vectors, numbers[rows * width :])
