"""Changes of a function, found by their place in its syntax tree; `tests/mutants.py` makes them.

A change is one of these:

    old -> new      the expression or statement `old` becomes `new`
    drop old        the statement that is or holds `old` is left out
    negate old      the condition `old` becomes its opposite
    swap old        the first two operands, arguments or elements of `old` change places

`old` is matched in the syntax tree of the function, so layout and comments do not matter. `_` in it
stands for any expression; so do `_1`, `_2`, ..., which may be used in `new`. A name of `old` that
the function does not know stands for any one of its local names, so that a local can be renamed.
`old` must fit in one place, or it is said which one counts, from 1.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_VERBS = ("drop", "negate", "swap")
_WILD = re.compile(r"_\d*")
_ANY_CONTEXT = frozenset({"ctx", "type_comment", "kind"})
Body = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


class CannotBePlaced(ValueError):
    """The code does not have the place that a fault names, or has several."""


def parse_pattern(text: str) -> ast.expr | list[ast.stmt]:
    """An expression, or statements."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return ast.parse(text.strip()).body


def function_of(tree: ast.Module, name: str) -> Body:
    """The function or class of a qualified name; the module for an empty one."""
    found: Body = tree
    for part in filter(None, name.split(".")):
        inner = [
            node
            for node in ast.walk(found)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node is not found
            and node.name == part
        ]
        if not inner:
            raise CannotBePlaced(f"there is no {name}")
        found = inner[-1]  # after overloads
    return found


def locals_of(function: Body) -> set[str]:
    """The names that a function, and those in it, bind."""
    return {
        node.arg if isinstance(node, ast.arg) else node.id
        for node in ast.walk(function)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }


def globals_of(tree: ast.Module) -> set[str]:
    """The names that a module binds outside its functions, and Python's own."""
    names = set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
    return names | {
        node.id
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }


@dataclass
class Matcher:
    """Compares a pattern with nodes; `renamed` are names of the pattern for other local ones."""

    locals: set[str]
    renamed: frozenset[str] = frozenset()

    def match(self, pattern: ast.AST, node: ast.AST) -> dict[str, ast.AST] | None:
        """What the names of the pattern stand for, or None."""
        found: dict[str, ast.AST] = {}
        return found if self._fits(pattern, node, found) else None

    def _fits(self, pattern: Any, node: Any, found: dict[str, ast.AST]) -> bool:
        if isinstance(pattern, list):
            return (
                isinstance(node, list)
                and len(pattern) == len(node)
                and all(self._fits(*pair, found) for pair in zip(pattern, node, strict=True))
            )
        if isinstance(pattern, ast.Name):
            if _WILD.fullmatch(pattern.id):
                return isinstance(node, ast.expr) and (
                    pattern.id == "_" or self._bind(pattern.id, node, found)
                )
            if pattern.id in self.renamed:
                return (
                    isinstance(node, ast.Name)
                    and node.id in self.locals
                    and self._bind(pattern.id, node, found)
                    and self._is_alone(pattern.id, node.id, found)
                )
        if type(pattern) is not type(node):
            return False
        if not isinstance(pattern, ast.AST):
            return bool(pattern == node)
        return all(
            self._fits(getattr(pattern, field), getattr(node, field), found)
            for field in pattern._fields
            if field not in _ANY_CONTEXT
        )

    def _bind(self, name: str, node: ast.AST, found: dict[str, ast.AST]) -> bool:
        if name in found:
            return ast.unparse(found[name]) == ast.unparse(node)
        found[name] = node
        return True

    def _is_alone(self, name: str, other: str, found: dict[str, ast.AST]) -> bool:
        return not any(
            key != name and key in self.renamed and isinstance(node, ast.Name) and node.id == other
            for key, node in found.items()
        )


def names_in(pattern: ast.expr | list[ast.stmt]) -> set[str]:
    """The names of a pattern that are no wildcards."""
    nodes = pattern if isinstance(pattern, list) else [pattern]
    return {
        node.id
        for top in nodes
        for node in ast.walk(top)
        if isinstance(node, ast.Name) and not _WILD.fullmatch(node.id)
    }


@dataclass(frozen=True)
class Place:
    """Where a pattern fits: a field of a node, or an element of it; and what its names are."""

    owner: ast.AST
    field: str
    index: int | None
    node: ast.AST
    names: dict[str, ast.AST]

    def put(self, new: ast.expr | list[ast.stmt]) -> None:
        """Put something else there."""
        if self.index is None:
            setattr(self.owner, self.field, new)
        else:
            elements = getattr(self.owner, self.field)
            many = new if isinstance(new, list) else [new]
            elements[self.index : self.index + 1] = many


def _children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield field, None, value
        elif isinstance(value, list):
            yield from (
                (field, i, inner) for i, inner in enumerate(value) if isinstance(inner, ast.AST)
            )


def places(function: Body, pattern: ast.AST, matcher: Matcher) -> list[Place]:
    """Where a pattern fits in a function, in the order of the text."""
    found = []
    for field, index, node in _children(function):
        if (names := matcher.match(pattern, node)) is not None:
            found.append(Place(function, field, index, node, names))
        found += places(node, pattern, matcher)  # type: ignore[arg-type]
    return found


def _statement_of(function: ast.AST, node: ast.AST) -> Place:
    """The innermost statement that holds a node."""
    inner = None
    for owner in ast.walk(function):
        for field, index, child in _children(owner):
            if isinstance(child, ast.stmt) and any(n is node for n in ast.walk(child)):
                inner = Place(owner, field, index, child, {})
    assert inner is not None
    return inner


class _Fill(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.AST]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.names.get(node.id, node))


_PAIRS = {ast.BinOp: ("left", "right"), ast.IfExp: ("body", "orelse")}
_LISTS = {ast.Call: "args", ast.Tuple: "elts", ast.List: "elts", ast.BoolOp: "values"}


def _swap(node: ast.AST) -> None:
    """Exchange the first two parts of a node, in place."""
    if (pair := _PAIRS.get(type(node))) is not None:
        first, second = (getattr(node, name) for name in pair)
        setattr(node, pair[0], second)
        setattr(node, pair[1], first)
    elif isinstance(node, ast.Compare):
        node.left, node.comparators[0] = node.comparators[0], node.left
    elif (name := _LISTS.get(type(node))) is not None and len(getattr(node, name)) > 1:
        parts = getattr(node, name)
        parts[:2] = parts[1], parts[0]
    else:
        raise CannotBePlaced(f"nothing to swap in {ast.unparse(node)}")


def change(text: str, name: str, words: str, nth: int = 0) -> str:
    """The text of a module with a change in one of its functions.

    Args:
        text: the module.
        name: the qualified name of the function; empty for the module itself.
        words: the change.
        nth: which of several places counts, from 1; 0 where there is only one.

    Raises:
        CannotBePlaced: The change has no place there, or several.
    """
    tree = ast.parse(text)
    before = ast.unparse(tree) + "\n"
    function = function_of(tree, name)
    verb, _, rest = words.partition(" ")
    old, arrow, new = (rest, "", "") if verb in _VERBS else words.partition(" -> ")
    if verb not in _VERBS and not arrow:
        raise CannotBePlaced(f"no change: {words}")
    pattern = parse_pattern(old)
    local, known = locals_of(function), globals_of(tree)
    for renamed in (frozenset[str](), frozenset(names_in(pattern) - local - known)):
        one = pattern[0] if isinstance(pattern, list) else pattern
        found = places(function, one, Matcher(local, renamed))
        if found:
            break
    if len(found) < max(nth, 1) or (len(found) > 1 and not nth):
        raise CannotBePlaced(f"{old} fits {len(found)} places of {name or 'the module'}")
    place = found[max(nth, 1) - 1]
    if verb == "drop":
        _statement_of(function, place.node).put([ast.Pass()])
    elif verb == "negate":
        assert isinstance(place.node, ast.expr)
        place.put(ast.UnaryOp(ast.Not(), place.node))
    elif verb == "swap":
        _swap(place.node)
    else:
        filling = parse_pattern(new)
        if unknown := names_in(filling) - set(place.names) - local - known:
            raise CannotBePlaced(f"{name} does not know {', '.join(sorted(unknown))}")
        statements = [ast.Expr(filling)] if isinstance(filling, ast.expr) else filling
        filled = [_Fill(place.names).visit(statement) for statement in statements]
        if isinstance(place.node, ast.stmt):
            place.put(filled)
        elif isinstance(filling, ast.expr):
            place.put(filled[0].value)
        else:
            _statement_of(function, place.node).put(filled)
    changed = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    if changed == before:
        raise CannotBePlaced(f"{words} changes nothing")
    return changed
