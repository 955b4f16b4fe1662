"""What holds in every test: nothing is kept in the user's own data folder, nor for other tests."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

from hearts_agents import registry
from hearts_agents.trust import TRUST

# Ignored by what nohup, or a shell without job control, has started; tests send these signals.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

LOCK = pytest.StashKey[Any]()


def pytest_configure(config: pytest.Config) -> None:
    """Let one worker of xdist compile at a time: the others find in the cache what it has made."""
    config.stash[LOCK] = nullcontext()
    if not hasattr(config, "workerinput"):
        return
    from filelock import FileLock  # xdist alone needs it

    lock = FileLock(config.cache.mkdir("workers") / "lock", thread_local=False)
    compile_alone = Dispatcher.compile

    def compile_once(self: Dispatcher, signature: Any) -> Any:
        with lock:
            return compile_alone(self, signature)

    Dispatcher.compile = compile_once
    config.stash[LOCK] = lock


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """One worker after the other: the first one leaves its rewritten assertions too."""
    with session.config.stash[LOCK]:
        return (yield)


@pytest.fixture(scope="session")
def data_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Folders that are not there yet; `mktemp` would read the names of all others each time."""
    base = tmp_path_factory.mktemp("data")
    return (base / str(number) / "hearts-env" for number in itertools.count())


@pytest.fixture(autouse=True)
def data_folder(data_folders: Iterator[Any], monkeypatch: pytest.MonkeyPatch):
    """An empty folder in the place of the user's."""
    folder = next(data_folders)
    monkeypatch.setenv("HEARTS_DATA_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def registered_agents(monkeypatch: pytest.MonkeyPatch):
    """Agents that a test or an example registers are forgotten after it."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    monkeypatch.setattr(registry, "_loaded", {})


@pytest.fixture(autouse=True)
def trusts_no_files(monkeypatch: pytest.MonkeyPatch):
    """What a command with --trust has said does not hold for the next test."""
    monkeypatch.setenv(TRUST, "")
