"""Compiling ahead in several processes."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hearts_agents
import hearts_env
from hearts_env import HeartsError, kernel
from hearts_train import warmup
from hearts_train.warmup import PARTS, warm_up
from tests.refusals import raises_hearts_error
from tests.test_cli import run


def stand_in(monkeypatch: pytest.MonkeyPatch, count: Callable[[str], int]) -> list[int]:
    """Count instead of compiling. Return a list that gets the numbers of processes."""
    sizes: list[int] = []

    def spread(_work: Any, names: list[str], *, workers: int, apart: bool) -> Any:
        assert apart
        sizes.append(workers)
        return (count(name) for name in names)

    monkeypatch.setattr(warmup, "spread", spread)
    return sizes


def keep_parts(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave out all other parts."""
    monkeypatch.setattr(warmup, "PARTS", {name: PARTS[name] for name in names})


@pytest.mark.slow
def test_all_functions_are_compiled_and_kept(monkeypatch):
    if not hasattr(getattr(kernel.deal, "_cache", None), "_cache_file"):
        pytest.skip("compiling is switched off, or nothing compiled is kept")
    # Compiling each preset's own functions adds no new kind, and is slow.
    keep_parts(monkeypatch, *[name for name in PARTS if "batches of" not in name])
    warm_up(workers=1)
    missing = set()
    # Training and measuring compile their own functions before their clocks run.
    for package in (hearts_env, hearts_agents):
        folder = Path(package.__file__).parent
        for path in folder.rglob("*.py"):
            if b"support.jit import" not in path.read_bytes():
                continue
            name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
            found = vars(importlib.import_module(name)).values()
            for function in filter(lambda f: hasattr(f, "py_func"), found):
                if not function._cache._cache_file._load_index():
                    missing.add(function.py_func.__name__)
    assert not missing


@pytest.mark.parametrize("workers", [0, 1025, "two", True])
def test_invalid_number_of_workers_is_refused(workers):
    with raises_hearts_error(HeartsError, "workers"):
        warm_up(workers=workers)


def test_warmup_compiles_nothing_without_a_writable_cache(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(warmup, "cache_folder", lambda package: None)
        with raises_hearts_error(HeartsError, "NUMBA_CACHE_DIR"):
            warm_up()
    with monkeypatch.context() as patch:
        patch.setattr(warmup, "unsaved", ["it cannot be saved in /there (full)"])
        patch.setattr(warmup, "PARTS", {"games": lambda: None})
        with raises_hearts_error(HeartsError, "compiled code", "/there", hint="NUMBA_CACHE_DIR"):
            warmup._compile("games")
    monkeypatch.setitem(os.environ, "NUMBA_DISABLE_JIT", "1")
    with raises_hearts_error(HeartsError, "NUMBA_DISABLE_JIT"):
        warm_up()


def test_warmup_command_reports_compiled_functions(monkeypatch):
    stand_in(monkeypatch, lambda name: 2 * (name == "games"))
    shown = run("warmup", "--workers", "1")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("compiled 2 functions in ")
