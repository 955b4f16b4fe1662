"""What holds in every test: nothing is kept in the user's own data folder, nor for other tests."""

from __future__ import annotations

import pytest

from hearts_agents import registry


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
