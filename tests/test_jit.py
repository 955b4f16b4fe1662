"""Compiled code: damaged and unwritable caches, and the messages meanwhile."""

from __future__ import annotations

import ast
import importlib
import inspect
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hearts_agents
import hearts_env
import hearts_train
from hearts_env.support import jit as jit_module
from hearts_env.support.jit import compiles
from tests.slow import quick_cases

MODULE = """
from hearts_env.support.jit import jit

@jit
def twice(number):
    return number + number

@jit
def thrice(number):
    return 3 * number
"""


class CachedModule:
    """A module of two compiled functions with its own cache."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        (folder / "cached_module.py").write_text(MODULE)

    def start(self) -> Any:
        """Import it as a new process does."""
        sys.modules.pop("cached_module", None)
        return importlib.import_module("cached_module")

    def files(self, ending: str) -> list[Path]:
        """Return the cache files of ``twice``."""
        return sorted(self.cache.rglob(f"*twice*.{ending}"))


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CachedModule]:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        pytest.skip("compiling is switched off")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jit_module, "unsaved", [], raising=False)
    monkeypatch.setattr(jit_module, "_has_warned", False, raising=False)
    yield CachedModule(tmp_path)
    sys.modules.pop("cached_module", None)


def empty(data: bytes) -> bytes:
    return b""


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def zeros_at_the_end(data: bytes) -> bytes:
    return data[:-64] + bytes(64)


def one_bit(data: bytes) -> bytes:
    """Change the machine code only: most such files load, and then compute anything."""
    place = len(data) * 2 // 3
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@quick_cases("damaged", [empty, half, zeros_at_the_end, one_bit], [empty, one_bit])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_cache_file_is_compiled_and_written_again(
    cached: CachedModule, ending: str, damaged: Callable[[bytes], bytes]
) -> None:
    module = cached.start()
    assert module.twice(4) == 8
    (path,) = cached.files(ending)
    whole = path.read_bytes()
    path.write_bytes(damaged(whole))
    module = cached.start()
    assert module.twice(4) == 8
    assert sum(module.twice.stats.cache_misses.values()) == 1
    module = cached.start()
    assert module.twice(4) == 8
    assert sum(module.twice.stats.cache_hits.values()) == 1


def test_cache_file_of_other_types_is_compiled_again(cached: CachedModule) -> None:
    module = cached.start()
    assert (module.twice(4), module.twice(0.25)) == (8, 0.5)
    one, other = cached.files("nbc")
    saved = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(saved)
    module = cached.start()
    assert repr((module.twice(4), module.twice(0.25))) == "(8, 0.5)"


@pytest.fixture
def uncached(cached: CachedModule, monkeypatch: pytest.MonkeyPatch) -> CachedModule:
    """The module where no cache folder can be found."""
    monkeypatch.setattr(jit_module, "cache_folder", lambda package: None)
    return cached


def test_unwritable_cache_warns_once(cached: CachedModule) -> None:
    module = cached.start()
    (folder,) = cached.cache.iterdir()
    folder.rmdir()
    folder.write_text("a file, where the folder was")
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as warned:
        results = module.twice(4), module.thrice(4)
    assert results == (8, 12)
    assert len(warned) == 1
    assert str(folder) in str(warned[0].message)


def test_worker_does_not_repeat_the_cache_warning(
    uncached: CachedModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", multiprocessing.current_process)
    module = uncached.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert module.twice(4) == 8
    assert jit_module.unsaved


def test_missing_cache_warns_once_after_progress_line(
    uncached: CachedModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = uncached.start()
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(jit_module._announcer, "_started", [0.0])  # of a function that calls this one
        assert module.twice(4) == 8
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR") as warned:
        assert (module.thrice(4), module.thrice(0.5)) == (12, 1.5)
    assert len(warned) == 1


SOURCES = sorted(
    path
    for package in (hearts_env, hearts_agents, hearts_train)
    for path in Path(package.__file__).parent.rglob("*.py")
)


def reads_of_compiled_code(path: Path) -> list[tuple[str, str]]:
    """Return the (module, name) pairs that a file's compiled functions import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    origin = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hearts_")
        for alias in node.names
    }
    compiled = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(d, ast.Name) and d.id in ("jit", "inlined", "inner")
            for d in node.decorator_list
        )
    ]
    names = {
        name.id
        for function in compiled
        for part in function.body
        for name in ast.walk(part)
        if isinstance(name, ast.Name)
    }
    return sorted(origin[name] for name in names & origin.keys())


@pytest.mark.slow
def test_everything_compiled_code_reads_is_digested() -> None:
    read = {source for path in SOURCES for source in reads_of_compiled_code(path)}
    assert ("hearts_env.cards", "HEARTS") in read
    assert ("hearts_env", "kernel") in read
    for module, name in read:
        found = importlib.import_module(module)
        if inspect.ismodule(inner := getattr(found, name)):
            found = inner
        path = Path(found.__file__ or "")
        assert compiles(path, path.read_bytes()), f"{name} of {path.name}"
