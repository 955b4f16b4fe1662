"""Docstrings and helps have one form, and describe the arguments that there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from hearts_train.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("hearts_env", "agents/hearts_agents", "train/hearts_train")

_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields|Fields):")
_ENTRY = re.compile(r" {4}(\S[^:]*): (.*)")
_SENTENCE_CAPITAL = re.compile(r"(?!True|False|None|[A-Z][a-z]+[A-Z])[A-Z][a-z]*(?=[ ,'])")
_LONE_POSSESSIVE = re.compile(r".{0,40}(\w's|s')[.,;:)]")
_NOT_VERBS = {
    *("a", "an", "the", "this", "these", "its", "it", "all", "each", "every", "one", "true"),
    *("what", "whether", "how", "when", "where", "which", "who", "if", "of", "in", "only"),
}


class Docstring(NamedTuple):
    """A docstring with its place and the module, class or function that it describes."""

    place: str
    node: ast.Module | ast.ClassDef | ast.FunctionDef
    text: str

    def entries(self, section: str) -> Iterator[tuple[str, str]]:
        """Yield the names in a section, each with its description in one line."""
        here, entry = "", None
        for line in [*self.text.splitlines(), "end"]:
            new = _ENTRY.fullmatch(line) if here == section else None
            if entry and (new or not line.startswith("     ")):
                yield entry
                entry = None
            if new:
                entry = new[1], new[2]
            elif entry:
                entry = entry[0], f"{entry[1]} {line.strip()}"
            elif line and not line.startswith(" "):
                here = line.removesuffix(":") if _SECTION.fullmatch(line) else ""


def docstrings() -> Iterator[Docstring]:
    """Yield the docstrings of the packages."""
    for path in [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                continue
            if text := ast.get_docstring(node):
                name = getattr(node, "name", "module")
                line = getattr(node, "lineno", 1)
                yield Docstring(f"{path.relative_to(ROOT)}:{line} {name}", node, text)


ALL = list(docstrings())
FUNCTIONS = [one for one in ALL if isinstance(one.node, ast.FunctionDef)]


def is_property(one: Docstring) -> bool:
    """Return True if the docstring describes a property, which reads like an attribute."""
    return any("property" in ast.unparse(d) for d in one.node.decorator_list)


def parameters(one: Docstring) -> dict[str, str]:
    """Return the annotation of each parameter, by its name with stars."""
    args = one.node.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    starred = [("*", args.vararg), ("**", args.kwarg)]
    return {
        f"{stars}{arg.arg}": ast.unparse(arg.annotation) if arg.annotation else ""
        for stars, arg in [*(("", arg) for arg in named), *starred]
        if arg is not None
    }


def test_functions_begin_with_a_verb_and_properties_with_a_noun():
    odd = [
        f"{one.place}: {one.text.splitlines()[0]}"
        for one in FUNCTIONS
        for word in [re.split(r"\W", one.text.lower())[0]]
        if (word in ("return", "yield") if is_property(one) else word in _NOT_VERBS)
    ]
    assert not odd, "\n".join(odd)


@pytest.mark.parametrize("section", ["Args", "Attributes", "Fields", "Raises"])
def test_descriptions_begin_in_lower_case_and_end(section):
    odd = [
        f"{one.place}: {name}: {text}"
        for one in ALL
        for name, text in one.entries(section)
        if _SENTENCE_CAPITAL.match(text) or text[-1] not in ".:"
    ]
    assert not odd, "\n".join(odd)


def test_errors_state_their_condition():
    odd = [
        f"{one.place}: {name}: {text}"
        for one in ALL
        for name, text in one.entries("Raises")
        if not text.startswith("if ")
    ]
    assert not odd, "\n".join(odd)


def test_described_arguments_are_those_of_the_function():
    odd = [
        f"{one.place}: {name}"
        for one in FUNCTIONS
        if not one.node.args.kwarg  # whose names the type of the keywords lists
        for names, _ in one.entries("Args")
        for name in names.split(", ")
        if name not in parameters(one) and "Unpack" not in parameters(one).get("**options", "")
    ]
    assert not odd, "\n".join(odd)


def test_flags_say_what_true_does_and_optional_arguments_none():
    odd = [
        f"{one.place}: {name}: {text}"
        for one in FUNCTIONS
        for name, text in one.entries("Args")
        for kind in [parameters(one).get(name, "")]
        if (kind == "bool" and not text.startswith(("if True, ", "if False, ")))
        or (kind.endswith("| None") and "None" not in text)
    ]
    assert not odd, "\n".join(odd)


def test_possessives_have_their_noun():
    odd = [
        f"{one.place}: {found[0]}"
        for one in ALL
        for found in _LONE_POSSESSIVE.finditer(re.sub(r"(?<!\w)'[^']*'|\s+", " ", one.text))
    ]
    assert not odd, "\n".join(odd)


def test_helps_are_sentences():
    commands = typer.main.get_command(app).commands.items()
    helps = [
        (f"hearts {name} {'/'.join(parameter.opts)}", parameter.help)
        for name, command in commands
        for parameter in command.params
    ]
    assert len(helps) > 100
    odd = [
        f"{place}: {text}"
        for place, text in helps
        if not text or text[-1] != "." or not text[0].isupper() or ";" in text
    ]
    assert not odd, "\n".join(odd)
