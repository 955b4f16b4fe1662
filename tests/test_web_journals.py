"""Files of tables that are damaged, odd or hostile: each can be read and shown, or is refused."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hearts_env import HeartsError, Rules
from hearts_train.session import folders
from hearts_train.session.folders import ServerFolder, digest_of
from hearts_train.session.table import Seat, Table
from hearts_train.store import sealed, unsealed
from hearts_train.web.messages import entry_message
from tests.web import Guest, ask, began, follow, manager, message_of, with_settings
from tests.web_browser import browsing, serving

NAME = "5" * 16


def written(folder: Path, rules: str, steps: int, *, open_seat: bool = False) -> bytes:
    """A journal in which everything happens: cards, faults, undo, next, sitting down, closing."""
    plain, rng = Rules.from_text(rules), random.Random(1)
    seats = [Seat(agent="easy") for _ in range(plain.players)]
    seats[0] = Seat(owner="a" * 32, name="Anna")
    if open_seat:
        seats[1] = Seat()
    table = began(folder, NAME, plain, seats, seed=9, dealt_by=3)
    if open_seat:
        table.sit(1, "b" * 32, "Ben")
    for step in range(steps):
        if table.ended is not None:
            table.next()
        elif step % 5 == 4 and table.can_undo:
            table.undo(table.seq)
        elif table.turn is not None and table.seats[table.turn].agent and step % 4 == 3:
            table.act_for_agent(rng.choice(table.game.legal_actions()), "easy took too long")
        else:
            follow(table, [rng.choice(table.game.legal_actions())])
    table.close()
    return table.journal.path.read_bytes()


def opened(folder: Path, data: bytes) -> Table | None:
    """The table that a file describes, shown to everybody; None: it was refused."""
    path = ServerFolder(folder).path_of(NAME)
    path.write_bytes(data)
    try:
        table = Table.resume(path)
    except HeartsError:
        return None
    for seat in (None, *range(table.rules.players)):
        json.loads(message_of(table, seat))
        for entry in table.log:
            json.loads(entry_message(entry, table.id, seat))
    return table


GAMES = [("micro", 25, False), ("party players=3", 20, False), ("mini", 14, True)]


def test_a_byte_that_changed_is_noticed(tmp_path):
    data, rng = written(tmp_path, "mini", 14, open_seat=True), random.Random(2)
    assert opened(tmp_path, data) is not None
    for place in range(len(data)):
        odd = bytearray(data)
        odd[place] ^= 1 << rng.randrange(8)
        # The end of the last line may be lost: the line was cut short then, and is not counted.
        assert (opened(tmp_path, bytes(odd)) is None) == (place < len(data) - 1)


@pytest.mark.parametrize(("rules", "steps", "open_seat"), GAMES)
def test_lines_dropped_doubled_or_swapped_are_read_and_told_or_refused(
    rules, steps, open_seat, tmp_path
):
    lines = written(tmp_path, rules, steps, open_seat=open_seat).splitlines(keepends=True)
    refused = 0
    for place in range(1, len(lines)):
        for other in range(1, len(lines)):
            moved = lines[:place] + lines[place + 1 :]
            moved.insert(other, lines[place])
            refused += opened(tmp_path, b"".join(moved)) is None
        for odd in (lines[place:], [*lines[:place], *lines[place - 1 :]], lines[:place]):
            refused += opened(tmp_path, b"".join(odd)) is None
        shorter = lines[:place] + lines[place + 1 :]
        refused += opened(tmp_path, b"".join(shorter)) is None
    assert refused


ODD: list[Any] = [None, True, -1, 0.5, 10**30, 2**63, [], [[]], {}]
ODD += ["", "x" * 3000, "../x", "\ud800"]


def headed(folder: Path) -> tuple[dict[str, Any], Callable[[dict[str, Any]], Table | None]]:
    """The settings of a table, and what opens a file with other ones."""
    head = unsealed(written(folder, "micro", 0).splitlines()[0])
    assert head is not None
    return head["settings"], lambda given: opened(folder, sealed({**head, "settings": given}))


@pytest.mark.parametrize("field", ["table", "rules", "match", "seed", "help", "free", "note"])
def test_a_head_with_an_odd_field_is_refused(field, tmp_path):
    good, open_with = headed(tmp_path)
    assert open_with(good) is not None
    for value in ODD:
        is_right = value == good[field] or (field in ("match", "free") and value is True)
        if not is_right:
            assert open_with({**good, field: value}) is None, value
    del good[field]
    assert open_with(good) is None


def test_odd_seats_and_seeds_are_refused(tmp_path):
    good, open_with = headed(tmp_path)
    first, second = good["seats"]
    odd = [[first], [first] * 3, [first, "x"], [first, {}, {}], [{**first, "x": 1}, {}]]
    odd += [[{**first, name: value}, second] for name in first for value in (None, 5, [], {})]
    for seats in (*ODD, *odd):
        assert open_with({**good, "seats": seats}) is None, seats
    for value in (-1, True, "5", 2**63, 0.5):
        assert open_with({**good, "dealt_by": value}) is None


@pytest.mark.parametrize(
    "line",
    [
        {"do": [0]},  # after the end of a deal, out of the hand, or legal
        {"do": [0] * 9},
        {"do": "x"},
        {"do": [True]},
        {"do": ["2C"]},
        {"do": [10**30]},
        {"do": None},
        {"do": [0], "fault": {}},
        {"sit": 0, "owner": "c" * 32, "name": "Cy"},
        {"sit": -1, "owner": "c" * 32, "name": "Cy"},
        {"sit": 99, "owner": "c" * 32, "name": "Cy"},
        {"sit": "0", "owner": "", "name": ""},
        {"sit": 1},
        {"undo": 1},
        {"next": 1},
        {"close": 1},
        {"what": 1},
        {},
    ],
)
def test_a_line_too_many_is_read_and_told_or_refused(line, tmp_path):
    for rules, steps, open_seat in GAMES:
        lines = written(tmp_path, rules, steps, open_seat=open_seat).splitlines(keepends=True)
        for place in range(1, len(lines) + 1):
            opened(tmp_path, b"".join([*lines[:place], sealed(line), *lines[place:]]))


def test_a_table_of_another_version_of_the_package_is_refused(tmp_path):
    """It may deal other cards from the same seed."""
    head = unsealed(written(tmp_path, "micro", 0).splitlines()[0])
    assert opened(tmp_path, sealed(head)) is not None
    assert opened(tmp_path, sealed({**head, "package": "0.0.1"})) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data + sealed({"do": [0]}),
        with_settings(help="all"),
        with_settings(seats=[]),
        lambda data: data.replace(b'"seed":', b'"seed":Infinity,"old":'),
        lambda data: b"",
    ],
)
def test_who_has_one_damaged_table_keeps_the_others(damage, tmp_path, caplog):
    with serving(tmp_path) as client, browsing(client) as browser:
        token = browser.token
        tables = [browser.create("micro", "easy")["table"] for _ in range(3)]
        browser.events.clear()
        browser.state = browser.ask(type="watch", table=tables[1])
        browser.play_on()
    path = ServerFolder(tmp_path).path_of(tables[1])
    path.write_bytes(damage(path.read_bytes()))
    with serving(tmp_path) as client:
        for _ in range(3):
            with browsing(client, token) as browser:
                listed = [table["table"] for table in browser.welcome["tables"]]
                assert listed == [tables[0], tables[2]]
                assert browser.ask(type="watch", table=tables[1])["code"] == "unknown_table"
                assert browser.ask(type="watch", table=tables[0])["you"] == 0
        with browsing(client, token) as browser:
            assert browser.create("micro", "easy")["type"] == "table"
    # Named once, in one line, however often somebody asks.
    assert [tables[1] in record.getMessage() for record in caplog.records] == [True]
    assert caplog.records[0].exc_info is None


# ---- the list of somebody's tables ---------------------------------------------------------------
def test_sitting_down_again_in_ones_own_seat_writes_nothing(tmp_path):
    async def play() -> None:
        at, guest = manager(tmp_path), Guest("f" * 32)
        seats = [{"me": True}, {"agent": "easy"}]
        table = (await ask(at, guest, type="create", rules="micro", seats=seats))[0]["table"]
        path = tmp_path / "people" / digest_of("f" * 32)
        before = path.read_bytes()
        for _ in range(5):
            await ask(at, guest, type="sit", table=table, seat=0)
        assert path.read_bytes() == before
        at.close()

    asyncio.run(play())


def test_a_list_that_is_too_long_or_damaged_locks_nobody_out(tmp_path, monkeypatch):
    at, tables = ServerFolder(tmp_path), [f"{number:016x}" for number in range(300)]
    for table in tables:
        at.add_table("me", table)
    monkeypatch.setattr(folders, "_MOST_LISTED", 17 * 100)
    assert at.tables_of("me") == tables[200:]
    at.remove_table("me", tables[299])
    assert at.tables_of("me") == tables[200:299]
    path = tmp_path / "people" / "me"
    odd = b"\xff\x00\n../../x\n" + b"x" * 900
    path.write_bytes(odd + f"\n{tables[7]}\n{tables[8][:5]}".encode())
    assert at.tables_of("me") == [tables[7]]


# ---- a full disk ---------------------------------------------------------------------------------
def test_a_table_that_the_disk_refuses_leaves_nothing_behind(tmp_path, monkeypatch):
    def refuse(*_args: Any) -> None:
        raise OSError(28, "No space left on device")

    with serving(tmp_path) as client, browsing(client) as browser:
        before = client.app.state.manager.folder.num_tables
        # The table's own file, and where that finds room, the list of the person's tables.
        for where, what in ((os, "fsync"), (folders, "write_whole")):
            with monkeypatch.context() as patched:
                patched.setattr(where, what, refuse)
                assert browser.create("micro", "easy")["code"] == "internal"
            assert list((tmp_path / "tables").iterdir()) == []
        assert client.app.state.manager.folder.num_tables == before
        assert browser.create("micro", "easy")["type"] == "table"
