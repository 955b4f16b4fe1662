"""Agents from outside the package: ``my_agent.py:MyAgent``, ``pkg.mod:Cls``, and their options.

A *spec* is the text that names an agent, wherever an agent can be named: a name, a path, or code
as ``FILE.py:NAME`` or ``MODULE:NAME``, or a program as ``exec:COMMAND``; options may follow as
``?worlds=50&noise=0.2``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import math
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hearts_env import HeartsError
from hearts_env.errors import did_you_mean, quoted
from hearts_env.interrupts import signals_apart

_CODE = re.compile(r"(?P<where>.+\.py|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
EXEC = "exec:"
"""What the spec of a program begins with; a module named ``exec`` cannot be named."""
_QUOTED_OR_NOT = re.compile(r"""(?:[^?'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*""", re.DOTALL)
_MOST_COMMAND = 10_000
TRUST = "HEARTS_TRUST"
"""The environment variable that is 1 where files that can run code may be loaded.

It is one, so that the processes that a command starts load them too.
"""
_WORDS = {"true": True, "false": False}
_MOST_TEXT = 500


def describe(error: BaseException) -> str:
    """An exception in one line."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # of its own __str__
        text = type(error).__name__
    return " ".join(text.split())[:_MOST_TEXT]


@contextlib.contextmanager
def blamed(what: str, fix: str) -> Iterator[None]:
    """Run code from outside, whose exceptions become a ``HeartsError`` in one line.

    A ``HeartsError`` passes through, and so does what a signal raises.

    Args:
        what: what failed, the beginning of the message: "agent: 'mine' could not be made".
        fix: what to do about it.

    Raises:
        HeartsError: if the code raised anything else, ``SystemExit`` and the like included.
    """
    with signals_apart() as check_signals:
        try:
            yield
        except HeartsError:
            check_signals()
            raise
        except BaseException as error:
            check_signals()
            raise HeartsError(f"{what} ({describe(error)}); {fix}") from None
        check_signals()


def split_spec(spec: str) -> tuple[str, dict[str, str]]:
    """The agent's part of a spec, and its options as text.

    In the command of a program a ``?`` may stand within quotation marks.

    Raises:
        HeartsError: if an option has no value or is given twice, or a command is too long.
    """
    base, mark, rest = spec.partition("?")
    if is_exec(spec):
        if len(spec) > _MOST_COMMAND:
            raise HeartsError(
                f"agent: a command of {len(spec):,} characters is too long; put it into a script, "
                f"{_MOST_COMMAND:,} will do"
            )
        match = _QUOTED_OR_NOT.match(spec)
        end = match.end() if match is not None else 0
        if spec[end : end + 1] != "?":  # to the end, or up to a quotation mark left open
            end = len(spec)
        base, mark, rest = spec[:end], spec[end : end + 1], spec[end + 1 :]
    options: dict[str, str] = {}
    for part in rest.split("&") if mark else []:
        name, equals, value = part.partition("=")
        if not (equals and name.isidentifier() and value):
            raise HeartsError(
                f"agent: {part!r} in {spec!r} is not an option; write it as in pro?worlds=50"
            )
        if name in options:
            raise HeartsError(f"{name}: given twice in {spec!r}; give it once")
        options[name] = value
    return base, options


def is_exec(name: str) -> bool:
    """Whether `name` says which program an agent is: ``exec:COMMAND``."""
    return name.startswith(EXEC)


def is_sb3_model(value: object) -> bool:
    """Whether `value` is a model of stable-baselines3 or sb3-contrib, neither of which is imported.

    That is an object of a class of theirs, or derived from one, that has a policy.
    """
    homes = {cls.__module__.partition(".")[0] for cls in type(value).__mro__}
    is_theirs = bool(homes & {"stable_baselines3", "sb3_contrib"})
    return is_theirs and hasattr(value, "policy") and not callable(getattr(value, "act", None))


def is_code(name: str) -> bool:
    """Whether `name` says where the code of an agent is: ``FILE.py:NAME`` or ``MODULE:NAME``."""
    return not is_exec(name) and _CODE.fullmatch(name) is not None


def find_code(name: str) -> Callable[..., Any]:
    """The factory that ``FILE.py:NAME`` or ``MODULE:NAME`` stands for.

    NAME is a class, a function that returns an agent, or an agent itself.

    Raises:
        HeartsError: if the file or module cannot be imported, or has no such name.
    """
    match = _CODE.fullmatch(name)
    assert match is not None
    module = _module(name, match["where"])
    value = getattr(module, match["name"], None)
    if value is None:
        known = [key for key, item in vars(module).items() if _could_be_agent(item, module)]
        hint = did_you_mean(match["name"], known) if known else "nothing in it could be an agent"
        raise HeartsError(f"agent: {match['where']} has no {match['name']!r}; {hint}")
    if not callable(value) and callable(getattr(value, "act", None)):
        return lambda: value
    if not callable(value):
        raise HeartsError(
            f"agent: {name!r} is of type {type(value).__name__}; name a class, or a function that "
            "returns an agent"
        )
    return typing.cast(Callable[..., Any], value)


def code_file(name: str) -> Path | None:
    """The source file of ``FILE.py:NAME`` or ``MODULE:NAME``; None where there is none.

    Nothing is imported to find it.
    """
    match = _CODE.fullmatch(name)
    if match is None:
        return None
    if match["where"].endswith(".py"):
        return Path(match["where"])
    source = getattr(sys.modules.get(match["where"]), "__file__", None) or _source(match["where"])
    return Path(source) if source else None


def _source(module: str) -> str | None:
    """The file of a module that has not been imported."""
    first, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(first)  # which would import the parents of a dotted name
    except (ImportError, ValueError):
        spec = None
    find = importlib.machinery.PathFinder.find_spec
    spec = spec or find(first, [str(Path.cwd())])
    for part in rest:
        spec = find(part, list(spec.submodule_search_locations or ())) if spec else None
    return spec.origin if spec is not None and spec.has_location else None


def _could_be_agent(item: object, module: types.ModuleType) -> bool:
    if isinstance(item, type):
        return item.__module__ == module.__name__ and callable(getattr(item, "act", None))
    return inspect.isfunction(item) and item.__module__ == module.__name__


def _module(name: str, where: str) -> types.ModuleType:
    with signals_apart() as check_signals:
        try:
            if where.endswith(".py"):
                return _module_of_file(Path(where))
            if "" not in sys.path and str(Path.cwd()) not in sys.path:
                sys.path.append(str(Path.cwd()))  # as `python -m` has it
            return importlib.import_module(where)
        except HeartsError:
            raise
        except BaseException as error:  # whatever the user's code does on import
            check_signals()
            raise HeartsError(
                f"agent: {name!r}: {where} cannot be imported ({describe(error)}"
                f"{_line_of(error, where)}); correct it, or name another agent"
            ) from None


def _module_of_file(path: Path) -> types.ModuleType:
    if not path.is_file():
        raise HeartsError(f"agent: there is no file {str(path)!r}; check the path")
    file = path.resolve()
    stamp = f"{file}\0{file.stat().st_mtime_ns}"
    key = "hearts_agent_" + hashlib.sha256(stamp.encode()).hexdigest()[:16]
    if key in sys.modules:  # imported once, so that a class is always the same
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # for modules beside the file
    sys.modules[key] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[key]
        raise
    return module


def _line_of(error: BaseException, where: str) -> str:
    """The line of the user's file in which it happened, like ``, line 3``."""
    if isinstance(error, SyntaxError):
        return ""  # its message has the line
    line, trace = None, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).name == Path(where).name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f", line {line}"


# ---- trust ---------------------------------------------------------------------------------------
def trust_files() -> None:
    """Let this process, and those that it starts, load files that can run code."""
    os.environ[TRUST] = "1"


def is_trusting() -> bool:
    """Whether files that can run code may be loaded."""
    return os.environ.get(TRUST) == "1"


def check_trust(path: str | Path, why: str, *, trust: bool) -> None:
    """Refuse to load a file that can run code, unless the user says that they trust it.

    Args:
        path: the file.
        why: what loading it can do.
        trust: whether the user said so here; ``trust_files`` says it for all.

    Raises:
        HeartsError: if they have not.
    """
    if not (trust or is_trusting()):
        raise HeartsError(
            f"trust: loading {quoted(str(path))} can run any code that is in it ({why}); if you "
            "trust whoever made it, add --trust, or in Python make_agent(path, trust=True)"
        )


# ---- options -------------------------------------------------------------------------------------
def parse_options(agent: str, factory: Callable[..., Any], texts: dict[str, str]) -> dict[str, Any]:
    """The values of options given as text, by the types of the factory's parameters.

    Raises:
        HeartsError: if a text is not of its parameter's type.
    """
    try:
        parameters = dict(inspect.signature(factory).parameters)
    except (TypeError, ValueError):
        parameters = {}
    hints = _hints(factory)
    return {
        name: _parse(agent, name, text, _kinds(hints.get(name), parameters.get(name)))
        for name, text in texts.items()
    }


def _hints(factory: Callable[..., Any]) -> dict[str, Any]:
    target: Any = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
    target = getattr(target, "__wrapped__", target)
    hints = {}
    for name, hint in getattr(target, "__annotations__", {}).items():
        try:
            names = getattr(target, "__globals__", {})
            hints[name] = eval(hint, dict(names)) if isinstance(hint, str) else hint
        except Exception:  # a name that only the type checker knows: take the plain types
            parts = {part.strip() for part in hint.split("|")}
            plain = {"str": str, "int": int, "float": float, "bool": bool, "None": type(None)}
            hints[name] = tuple(plain[part] for part in parts if part in plain)
    return hints


def _kinds(hint: Any, parameter: inspect.Parameter | None) -> set[type] | None:
    """The plain types that a parameter takes; None if nothing says."""
    if isinstance(hint, tuple):
        return set(hint) or None
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return {kind for kind in typing.get_args(hint) if isinstance(kind, type)}
    if hint in (int, float, bool, str):
        return {hint}
    default = None if parameter is None else parameter.default
    if isinstance(default, bool | int | float | str):
        return {type(default)}
    return None


def _parse(agent: str, name: str, text: str, kinds: set[type] | None) -> Any:
    lower = text.lower()
    if (kinds is None or type(None) in kinds) and lower == "none":
        return None
    if (kinds is None or bool in kinds) and lower in _WORDS:
        return _WORDS[lower]
    if (kinds is None or int in kinds) and re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    if kinds is None or float in kinds:
        try:
            number = float(text)
        except ValueError:
            pass
        else:
            if math.isfinite(number):
                return number
    if kinds is None or str in kinds or not kinds & {int, float, bool}:
        return text
    wanted = " or ".join(
        words
        for kind, words in ((bool, "true or false"), (int, "a whole number"), (float, "a number"))
        if kind in kinds and not (kind is int and float in kinds)
    )
    raise HeartsError(f"{name}: {text!r} in the options of {agent!r} is not {wanted}")
