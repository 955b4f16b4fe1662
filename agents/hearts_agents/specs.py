"""Specs: the texts that name agents, and what they say.

A spec stands wherever an agent can be named: a name, a path, or code as ``FILE.py:NAME`` or
``MODULE:NAME``, or a program as ``exec:COMMAND``; options may follow as ``?worlds=50&noise=0.2``.
"""

from __future__ import annotations

import inspect
import math
import re
import types
import typing
from collections.abc import Callable
from typing import Any

from hearts_env import HeartsError

CODE = re.compile(r"(?P<where>.+\.py|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
"""The spec of code: the file or module, and what in it makes the agent."""
EXEC = "exec:"
"""What the spec of a program begins with; a module named ``exec`` cannot be named."""
WEIGHTS_ALONE = (
    "weights alone do not say how to play: name the code that loads them (my_agent.py:CLASS), save "
    "the whole model as TorchScript (model.pt?encoder=flat), or write it with export_policy"
)
"""The end of a message about a file like a state dict: the ways in which it can become an agent."""
_QUOTED_OR_NOT = re.compile(r"""(?:[^?'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*""", re.DOTALL)
_MOST_COMMAND = 10_000
_WORDS = {"true": True, "false": False}


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
                f"agent: {part!r} in {spec!r} is not an option; write it as in pro?worlds=50",
                value=part,
            )
        if name in options:
            raise HeartsError(f"{name}: given twice in {spec!r}; give it once")
        options[name] = value
    return base, options


def is_exec(name: str) -> bool:
    """Whether `name` says which program an agent is: ``exec:COMMAND``."""
    return name.startswith(EXEC)


def is_code(name: str) -> bool:
    """Whether `name` says where the code of an agent is: ``FILE.py:NAME`` or ``MODULE:NAME``."""
    return not is_exec(name) and CODE.fullmatch(name) is not None


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
    raise HeartsError(f"{name}: {text!r} does not fit {agent!r}; give {wanted}", value=text)
