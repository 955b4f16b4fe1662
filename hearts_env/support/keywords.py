"""Keywords that several functions share, seen by type checkers, ``help`` and users.

A function takes them as ``**options: Unpack[...]`` and passes them on. ``takes`` shows them in its
signature, and refuses every other name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from hearts_env.support.errors import HeartsError, bare, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def takes(
    keywords: type | None = None, home: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that shows the keywords of ``**options`` and refuses any other name.

    Args:
        keywords: the ``TypedDict`` of the keywords. If None, the function has no ``**options``.
        home: the function or class to which the keywords are passed on, with their defaults. If
            None, there are no ``**options``.
    """
    own: list[inspect.Parameter] = []
    if keywords is not None and home is not None:
        given = inspect.signature(home).parameters
        own = [
            given[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name in keywords.__annotations__
        ]

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = [parameter.name for parameter in (*named, *own) if parameter.name != "self"]
        shown = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    raise HeartsError(
                        f"{bare(name)}: {shown} has no such argument; {did_you_mean(name, known)}"
                    )
            return function(*args, **kwargs)

        checked.__signature__ = signature.replace(parameters=[*named, *own])  # type: ignore[attr-defined]
        return checked

    return decorate
