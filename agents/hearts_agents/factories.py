"""What makes players, and which options it takes: checked by name, read by type, described."""

from __future__ import annotations

import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from hearts_env import HeartsError
from hearts_env.support.errors import did_you_mean

Factory = Callable[..., Any]
"""``factory(seed=None, **options)`` -> an object with ``act(view)``."""

RENAMED = {"endings": "endgame_tricks", "noise": "epsilon"}
"""Options of this package's players that had another name."""

_WORDS = {"true": True, "false": False}


def check_options(name: str, factory: Factory, options: Mapping[str, Any]) -> bool:
    """Refuse options that the factory does not take, by name; returns whether it takes a seed."""
    parameters, takes_all = _parameters(factory)
    known = [option for option in parameters if option != "seed"]
    for option in () if takes_all else options:
        if option not in known:
            fix = did_you_mean(option, known) if known else "its only option is seed"
            if RENAMED.get(option) in known:
                fix = f"it is called {RENAMED[option]} now"
            raise HeartsError(f"{option}: the agent {name!r} has no such option; {fix}")
    return takes_all or "seed" in parameters


def options_of(factory: Factory) -> dict[str, Any]:
    """The options that a factory takes, with their defaults; None for one without."""
    parameters = [p for p in _parameters(factory)[0].values() if p.name != "seed"]
    return {p.name: None if p.default is p.empty else p.default for p in parameters}


def parse_options(agent: str, factory: Factory, texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of options given as text, by the types of the factory's parameters.

    Raises:
        HeartsError: if a text is not of its parameter's type.
    """
    parameters, hints = _parameters(factory)[0], _hints(factory)
    return {
        name: _parse(agent, name, text, _kinds(hints.get(name), parameters.get(name)))
        for name, text in texts.items()
    }


def _parameters(factory: Factory) -> tuple[dict[str, inspect.Parameter], bool]:
    """Those that can be given by name; and whether it takes all, or has no signature."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return {}, True
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return {p.name: p for p in parameters if p.kind in kinds}, takes_all


def _hints(factory: Factory) -> dict[str, Any]:
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
