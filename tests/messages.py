"""All messages of errors, as they are written in the code, to be read as prose.

``python -m tests.messages`` writes tests/data/messages.txt, the one place that pins their wording.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hearts_env.support.files import write_whole

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data" / "messages.txt"
PACKAGES = ("hearts_env", "agents/hearts_agents", "train/hearts_train")
ROOTS = {"HeartsError", "Mistake", "Refusal"}


class Message(NamedTuple):
    """A message where it is written, with ``{}`` for each value."""

    module: str
    line: int
    error: str
    text: str


@functools.cache
def messages() -> list[Message]:
    """All of them, by module and in the order of the file."""
    trees = {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_bytes())
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    makers = _makers(list(trees.values()))
    return [
        Message(module, line, error, text)
        for module, tree in trees.items()
        for line, error, text in sorted(_found(tree, makers))
    ]


def listing() -> str:
    """The content of the file."""
    lines: list[str] = []
    last = ""
    for module, _, error, text in messages():
        if module != last:
            lines += ["", module]
        lines.append(f"    {error}  {text}")
        last = module
    return "\n".join(lines[1:]) + "\n"


def _makers(trees: list[ast.Module]) -> set[str]:
    """The names of the error classes, and of the functions that return such an error."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = set(ROOTS)
    for _ in range(3):  # levels of subclasses
        for node in nodes:
            if isinstance(node, ast.ClassDef) and classes & {ast.unparse(b) for b in node.bases}:
                classes.add(node.name)
    functions = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and node.returns is not None
        and ast.unparse(node.returns) in classes
    }
    return classes | functions | {"error", "type(error)"}  # a class given as an argument


def _found(tree: ast.Module, makers: set[str]) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).removeprefix("self.").removeprefix("process.")
        if name in makers:
            texts = [text for text in map(_template, node.args) if " " in text]
            if texts:
                yield node.lineno, name, texts[0]


def _template(node: ast.expr) -> str:
    """The text of an expression, ``{}`` where it has a value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("\n", " ")
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_template, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return "{}"


if __name__ == "__main__":
    write_whole(DATA, listing().encode())
