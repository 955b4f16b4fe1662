"""Errors survive pickling, and all messages have one form."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hearts_agents.programs.process import ProgramError
from hearts_env import CheckpointError, HeartsError
from hearts_env.support.errors import MAX_QUOTED, quoted
from hearts_train.learn.config import ConfigError

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("hearts_env", "agents/hearts_agents", "train/hearts_train")
ELSEWHERE = {
    "train/hearts_train/cli/terminal.py",  # the player at the prompt sees the input
    "agents/hearts_agents/programs/process.py",  # a program's fault, without its name
    "agents/hearts_agents/programs/program_agent.py",
    "agents/hearts_agents/user_code.py",
}
"""Modules in which messages need no argument or get it from their callers."""
PARTS = (
    "{} {}",
    "{} is in use",
    "{} names the agent",
    "{} (an agent of",
    "gave something",
    "it is ",
    "{}; {}",
)
"""Beginnings of messages in which the first value contains the argument."""


def test_quoted_values_are_always_short():
    class Rude:
        def __repr__(self):
            raise RuntimeError

    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    wide = {str(n): list(range(1000)) for n in range(1000)}
    for value in ("x" * 10**7, 16**5000, deep, wide, b"x" * 10**6, [wide] * 1000, Rude(), None):
        assert 0 < len(quoted(value)) <= MAX_QUOTED
    assert quoted("ab") == "'ab'"
    assert quoted(np.zeros((2, 2), int)) == "array([[0, 0], [0, 0]])"
    assert quoted([1, "b"]) == "[1, 'b']"
    assert quoted("x" * 100) == "'" + "x" * 76 + "..."


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_survive_pickling(again):
    for made in (HeartsError, CheckpointError, ConfigError):
        error = again(made("seed: wrong; right"))
        assert type(error) is made
        assert str(error) == "seed: wrong; right"
    error = again(ProgramError("agent: wrong", "late"))
    assert (str(error), error.kind) == ("agent: wrong", "late")


def messages() -> Iterator[tuple[str, str, str]]:
    """Yield the place, error and template of every message in the code."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_bytes()) for path in paths}
    nodes = [(module, node) for module, tree in trees.items() for node in ast.walk(tree)]
    makers = {"HeartsError", "Mistake", "Refusal", "error", "type(error)"}
    for _ in range(3):  # levels of subclasses
        makers |= {
            node.name
            for _, node in nodes
            if isinstance(node, ast.ClassDef) and makers & {*map(ast.unparse, node.bases)}
        }
    makers |= {  # and the functions that return such an error
        node.name
        for _, node in nodes
        if isinstance(node, ast.FunctionDef) and node.returns
        if ast.unparse(node.returns) in makers
    }
    for module, node in nodes:
        if not isinstance(node, ast.Call):
            continue
        if texts := [text for text in map(template, node.args) if " " in text]:
            name = ast.unparse(node.func).removeprefix("self.").removeprefix("process.")
            if name in makers:
                yield f"{module}:{node.lineno}", name, texts[0]


def template(node: ast.expr) -> str:
    """Return the text of an expression, with ``{}`` for each value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("\n", " ")
    if isinstance(node, ast.JoinedStr):
        return "".join(map(template, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    return "{}"


def test_every_message_names_its_argument_and_fix():
    found = list(messages())
    assert len(found) > 400
    odd = [
        f"{place}: {text}"
        for place, error, text in found
        if place.partition(":")[0] not in ELSEWHERE
        and text != "{}"
        and not text.startswith(PARTS)
        and error not in ("Refusal", "_bad", "refusal")  # parts, of which others make a message
        # A message that ends with a value ends with another message. None ends with a full stop.
        and not re.fullmatch(r"[^;]{1,40}?: (.*; .*(?<!\w\.)|.*\{\}|.*\{\}\))", text)
    ]
    assert not odd, "\n".join(odd)
