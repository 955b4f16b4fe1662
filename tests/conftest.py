"""Fixtures for every test: an empty data folder, no trust in code, and a fake clock."""

from __future__ import annotations

import itertools
import math
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from hearts_agents.user_code import TRUST
from hearts_env.support import clock as clock_module
from hearts_train import screen

# nohup or a shell without job control ignores these signals, which tests send.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Workers:
    """Lets one worker of xdist do the work that all of them need.

    Otherwise each would rewrite all assertions and compile all functions, which takes longer than
    most of the tests.
    """

    def __init__(self, folder: Path, run: str) -> None:
        from filelock import FileLock  # xdist alone needs it

        self.lock = FileLock(folder / "lock", thread_local=False)
        self.collected, self.run = folder / "collected", run
        self.collected.touch()

    def compile_once(self, compile_alone: Callable[..., Any]) -> Callable[..., Any]:
        """Compile in one worker at a time. Those that waited find the result in the cache."""

        def compile(*args: Any) -> Any:
            with self.lock:
                return compile_alone(*args)

        return compile

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        """Collect in the first worker alone, then in all others."""
        with self.lock:
            if self.collected.read_text() != self.run:
                try:
                    return (yield)
                finally:
                    self.collected.write_text(self.run)
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Let the kernel run interpreted (``NUMBA_DISABLE_JIT=1``): its sums overflow on purpose.

    Compiled code wraps silently. NumPy's scalars wrap too, but warn: in this thread that is
    turned off, in others the warning is ignored.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        np.seterr(over="ignore")
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")
    if hasattr(config, "workerinput"):
        workers = Workers(config.cache.mkdir("workers"), config.workerinput["testrunuid"])
        config.pluginmanager.register(workers)
        Dispatcher.compile = workers.compile_once(Dispatcher.compile)


@pytest.fixture(scope="session")
def data_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield folders to be made. `mktemp` would list all others each time."""
    base = tmp_path_factory.mktemp("data")
    return (base / str(number) / "hearts-env" for number in itertools.count())


@pytest.fixture(autouse=True)
def data_folder(data_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch):
    """Replace the user's data folder by an empty one."""
    folder = next(data_folders)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder.parent))
    return folder


@pytest.fixture(autouse=True)
def trusts_no_files(monkeypatch: pytest.MonkeyPatch):
    """Forget the --allow-code of an earlier test."""
    monkeypatch.setenv(TRUST, "")


@pytest.fixture(autouse=True)
def shows_no_progress_by_the_clock(monkeypatch: pytest.MonkeyPatch):
    """Switch off progress lines, whose number would depend on the machine."""
    monkeypatch.setattr(screen, "PLAIN_EVERY", math.inf)


class Clock:
    """A clock that a test sets. Each reading advances it by `tick`."""

    def __init__(self) -> None:
        self.time = 0.0
        self.tick = 0.0

    def __call__(self) -> float:
        self.time += self.tick
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the package's clock in this process."""
    fake = Clock()
    monkeypatch.setattr(clock_module, "now", fake)
    return fake
