"""What holds in every test: nothing is kept in the user's own data folder, nor for other tests."""

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

# Ignored by what nohup, or a shell without job control, has started; tests send these signals.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Workers:
    """Lets what the workers of xdist have in common be made by one of them.

    Otherwise each would rewrite the assertions of all tests and compile all functions, which takes
    longer than most of the tests.
    """

    def __init__(self, folder: Path, run: str) -> None:
        from filelock import FileLock  # xdist alone needs it

        self.lock = FileLock(folder / "lock", thread_local=False)
        self.collected, self.run = folder / "collected", run
        self.collected.touch()

    def compile_once(self, compile_alone: Callable[..., Any]) -> Callable[..., Any]:
        """One at a time: who has waited finds in the cache what the other has made."""

        def compile(*args: Any) -> Any:
            with self.lock:
                return compile_alone(*args)

        return compile

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        """The first worker alone, then all others."""
        with self.lock:
            if self.collected.read_text() != self.run:
                try:
                    return (yield)
                finally:
                    self.collected.write_text(self.run)
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Let the kernel run interpreted (``NUMBA_DISABLE_JIT=1``): its sums beyond 64 bits are meant.

    Compiled code wraps in silence. NumPy's scalars wrap too, but warn: in this thread that is
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
    """Folders that are not there yet; `mktemp` would read the names of all others each time."""
    base = tmp_path_factory.mktemp("data")
    return (base / str(number) / "hearts-env" for number in itertools.count())


@pytest.fixture(autouse=True)
def data_folder(data_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch):
    """An empty folder in the place of the user's."""
    folder = next(data_folders)
    monkeypatch.setenv("HEARTS_DATA_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def trusts_no_files(monkeypatch: pytest.MonkeyPatch):
    """What a command with --allow-code has said does not hold for the next test."""
    monkeypatch.setenv(TRUST, "")


@pytest.fixture(autouse=True)
def shows_no_progress_by_the_clock(monkeypatch: pytest.MonkeyPatch):
    """Lines of progress come every few seconds: how many there are would depend on the machine."""
    monkeypatch.setattr(screen, "PLAIN_EVERY", math.inf)


class Clock:
    """A clock that goes only where a test sets it; or on by `tick` each time it is read."""

    def __init__(self) -> None:
        self.time = 0.0
        self.tick = 0.0

    def __call__(self) -> float:
        self.time += self.tick
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """In the place of the package's clock, in this process."""
    fake = Clock()
    monkeypatch.setattr(clock_module, "now", fake)
    return fake
