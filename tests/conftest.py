"""What holds in every test: nothing is kept in the user's own data folder, nor for other tests."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from hearts_agents import registry
from hearts_agents.trust import TRUST

# Ignored by what nohup, or a shell without job control, has started; tests send these signals.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Let the kernel run interpreted (``NUMBA_DISABLE_JIT=1``): its sums beyond 64 bits are meant.

    Compiled code wraps in silence. NumPy's scalars wrap too, but warn: in this thread that is
    turned off, in others the warning is ignored.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        np.seterr(over="ignore")
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


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
