"""The keywords that the functions of users share, seen by type checkers, ``help`` and users.

A function takes them as ``**settings: Unpack[...]`` and passes them on. ``takes`` shows them in its
signature, and refuses every other name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypedDict, TypeVar

from hearts_env import HeartsError
from hearts_env.support.errors import bare, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


class WorkerSettings(TypedDict, total=False):
    """Where the deals are played. The results are the same anywhere."""

    workers: int | None
    backend: str


class PlaySettings(WorkerSettings, total=False):
    """How the deals are played."""

    isolate: bool
    time_limit: float | None


def takes(settings: type, home: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that shows the keywords of ``**settings`` and refuses any other name.

    Args:
        settings: The ``TypedDict`` of the keywords.
        home: The function or class that the keywords are passed on to, which has their defaults.
    """
    given = inspect.signature(home).parameters
    own = [
        given[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name in settings.__annotations__
    ]

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        *named, rest = signature.parameters.values()
        assert rest.kind is inspect.Parameter.VAR_KEYWORD
        known = [parameter.name for parameter in (*named, *own)]

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    raise HeartsError(
                        f"{bare(name)}: {function.__name__} has no such argument; "
                        f"{did_you_mean(name, known)}"
                    )
            return function(*args, **kwargs)

        checked.__signature__ = signature.replace(parameters=[*named, *own])  # type: ignore[attr-defined]
        return checked

    return decorate
