"""What holds in every test: nothing is kept in the user's own data folder, nor for other tests."""

from __future__ import annotations

import math
import signal

import pytest

from hearts_agents import registry
from hearts_agents.trust import TRUST
from hearts_env import clock as clock_module
from hearts_train import screen

# Ignored by what nohup, or a shell without job control, has started; tests send these signals.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """An empty folder in the place of the user's."""
    folder = tmp_path_factory.mktemp("data") / "hearts-env"
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
