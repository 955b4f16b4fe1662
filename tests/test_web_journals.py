"""Damaged, odd and hostile table files: each is either read and shown or refused."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from hearts_env import HeartsError
from hearts_train.store import sealed, unsealed
from hearts_train.web.folders import ServerFolder
from hearts_train.web.table import Table
from tests.web import NAME, with_settings, written
from tests.web_browser import browsing, serving


def can_be_opened(folder: Path, data: bytes) -> bool:
    """Return whether a file describes a table. fuzz.py has more odd files."""
    path = ServerFolder(folder).path_of(NAME)
    path.write_bytes(data)
    try:
        Table.resume(path)
    except HeartsError:
        return False
    return True


def test_changed_byte_is_noticed(tmp_path):
    data, rng = written(tmp_path, "mini", 14, open_seat=True), random.Random(2)
    assert can_be_opened(tmp_path, data)
    for place in range(len(data)):
        odd = bytearray(data)
        odd[place] ^= 1 << rng.randrange(8)
        # Without its end the last line counts as cut off, and is skipped.
        assert can_be_opened(tmp_path, bytes(odd)) == (place == len(data) - 1)


def test_table_of_another_version_is_refused(tmp_path):
    """It may deal other cards from the same seed."""
    head = unsealed(written(tmp_path, "micro", 0).splitlines()[0])
    assert can_be_opened(tmp_path, sealed(head))
    assert not can_be_opened(tmp_path, sealed({**head, "package": "0.0.1"}))


@pytest.mark.parametrize(
    "damage",
    [lambda data: data + sealed({"do": [0]}), with_settings(match=2), lambda data: b""],
)
def test_damaged_table_leaves_the_others_usable(damage, tmp_path, caplog):
    with serving(tmp_path) as client, browsing(client) as browser:
        token = browser.token
        tables = [browser.create("micro", "easy")["table"] for _ in range(3)]
        browser.state = browser.ask(type="watch", table=tables[1])
        browser.play_on()
    path = ServerFolder(tmp_path).path_of(tables[1])
    path.write_bytes(damage(path.read_bytes()))
    with serving(tmp_path) as client:
        for _ in range(3):
            with browsing(client, token, *tables) as browser:
                listed = [table["table"] for table in browser.welcome["tables"]]
                assert listed == [tables[0], tables[2]]
                assert browser.ask(type="watch", table=tables[1])["code"] == "unknown_table"
                assert browser.ask(type="watch", table=tables[0])["you"] == 0
        with browsing(client, token) as browser:
            assert browser.create("micro", "easy")["type"] == "table"
    assert {tables[1] in record.getMessage() for record in caplog.records} == {True}
    assert {record.exc_info for record in caplog.records} == {None}


# ---- a full disk ---------------------------------------------------------------------------------
def test_table_refused_by_the_disk_leaves_nothing(tmp_path, monkeypatch):
    def refuse(*_args: Any) -> None:
        raise OSError(28, "No space left on device")

    with serving(tmp_path) as client, browsing(client) as browser:
        before = client.app.state.manager.folder.num_tables
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", refuse)
            assert browser.create("micro", "easy")["code"] == "internal"
        assert list((tmp_path / "tables").iterdir()) == []
        assert client.app.state.manager.folder.num_tables == before
        assert browser.create("micro", "easy")["type"] == "table"
