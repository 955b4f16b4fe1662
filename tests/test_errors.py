"""Errors: their parts, which survive pickling, and the form of all messages."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearts_agents.programs.process import ProgramError
from hearts_env import CheckpointError, HeartsError, RulesError
from hearts_env.support.errors import MAX_MESSAGE, MAX_QUOTED, quoted
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
PARTS = ("{} {}", "{} is in use", "{} names the agent", "{} (an agent of", "gave something")
"""Beginnings of messages in which the first value contains the argument."""


def test_error_parts_equal_its_message():
    error = RulesError("players: 9 is out of range; give 2 to 7", value=9)
    assert (error.argument, error.value, error.hint) == ("players", 9, "give 2 to 7")
    error = HeartsError("rules: 'a: b; c' is no preset; give one; or none", value="a: b; c")
    assert (error.argument, error.hint) == ("rules", "give one; or none")
    error = HeartsError("it does not fit")
    assert (error.argument, error.value, error.hint) == ("", None, "")
    error = HeartsError("it does not fit", argument="deck", hint="take another")
    assert (error.argument, error.hint) == ("deck", "take another")
    assert HeartsError().argument == HeartsError(1, 2).hint == ""


def test_shortened_error_keeps_its_parts():
    error = HeartsError(f"deal: {'x' * MAX_MESSAGE}; give less")
    assert len(str(error)) == MAX_MESSAGE + 3
    assert (error.argument, error.hint) == ("deal", "give less")


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
    assert quoted([1, "b"]) == "[1, 'b']"
    assert quoted("x" * 100) == "'" + "x" * 76 + "..."


@pytest.mark.parametrize("value", [None, 9, 2.5, "text"])
@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_error_parts_survive_pickling(again, value):
    for made in (HeartsError, CheckpointError, ConfigError):
        error = again(made("seed: wrong; right", value=value, hint="another"))
        assert type(error) is made
        assert str(error) == "seed: wrong; right"
        assert (error.argument, error.value, error.hint) == ("seed", value, "another")
    error = again(ProgramError("agent: wrong", "late"))
    assert (error.argument, error.kind) == ("agent", "late")


def test_values_that_cannot_be_pickled_arrive_as_text():
    error = pickle.loads(pickle.dumps(HeartsError("policy: wrong", value=lambda view: view)))
    assert "lambda" in error.value


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
    assert len(found) > 500
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
