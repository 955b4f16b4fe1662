"""Marks for cases that `make test` leaves to `make test-all`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings

from tests.strategies import SEEDED

slow = pytest.mark.slow
TIMES = int(os.environ.get("HEARTS_TIMES", "1"))
"""The factor by which ``make verify`` multiplies deals, inputs and examples of slow tests."""


def quick_cases(
    names: str | tuple[str, ...], cases: Iterable[Any], quick: Iterable[Any], **options: Any
) -> pytest.MarkDecorator:
    """Run a test with all `cases`. Those not in `quick` are slow."""
    cases, quick = list(cases), list(quick)
    assert all(case in cases for case in quick)

    def marked(case: Any) -> Any:
        values = case if isinstance(names, tuple) else (case,)
        return case if case in quick else pytest.param(*values, marks=slow)

    return pytest.mark.parametrize(names, [marked(case) for case in cases], **options)


def quick_count(name: str, quick: int, full: int) -> pytest.MarkDecorator:
    """Run a test with `quick` as its argument `name`, and with `full` as a slow test."""
    return pytest.mark.parametrize(name, [quick, pytest.param(full * TIMES, marks=slow)])


def quick_given(quick: int, full: int, *strategies: Any) -> Callable[[Callable[..., None]], Any]:
    """Run a test with `quick` examples from hypothesis, and with `full` as a slow test."""

    def decorate(test: Callable[..., None]) -> Callable[[int], None]:
        @quick_count("examples", quick, full)
        def run(examples: int) -> None:
            settings(SEEDED, max_examples=examples)(given(*strategies)(test))()

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate
