"""What holds in every test: nothing is kept in the user's own data folder."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """An empty folder in the place of the user's."""
    folder = tmp_path_factory.mktemp("data") / "hearts-env"
    monkeypatch.setenv("HEARTS_DATA_DIR", str(folder))
    return folder
