"""Files of tables that are damaged, odd or hostile: each can be read and told, or is refused."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hearts_env import HeartsError, Rules, __version__
from hearts_train.measure.records import entry_of, sealed_line
from hearts_train.web import store
from hearts_train.web.store import Store, digest_of
from hearts_train.web.tables import Seat, Table
from tests.web import Guest, ask, follow, hall
from tests.web_browser import browsing, serving

NAME = "5" * 16
Lines = list[dict[str, Any]]


def written(folder: Path, rules: str, steps: int, *, open_seat: bool = False) -> bytes:
    """A journal in which everything happens: cards, faults, undo, next, sitting down, closing."""
    plain, rng = Rules.from_text(rules), random.Random(1)
    seats = [Seat(agent="easy") for _ in range(plain.players)]
    seats[0] = Seat(owner="a" * 32, name="Anna")
    if open_seat:
        seats[1] = Seat()
    table = Table(NAME, plain, False, 9, 3, seats, "odds", Store(folder).journal(NAME))
    table.journal.remove()
    table.journal.create(table.head())
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
    """The table that a file describes, told to everybody; None: it was refused."""
    journal = Store(folder).journal(NAME)
    journal.path.write_bytes(data)
    try:
        table = Table.resume(journal)
    except HeartsError:
        return None
    seats = table.rules.players
    for seat in (None, *range(seats)):
        json.loads(table.told(seat, [True] * seats, [False] * seats))
        for entry in table.log:
            json.loads(entry.told(table.id, seat))
    return table


GAMES = [("micro", 25, False), ("party players=3", 20, False), ("mini", 14, True)]


@pytest.mark.parametrize(("rules", "steps", "open_seat"), GAMES)
def test_a_byte_that_changed_is_noticed(rules, steps, open_seat, tmp_path):
    data, rng = written(tmp_path, rules, steps, open_seat=open_seat), random.Random(2)
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


@pytest.mark.parametrize("field", ["format", "version", "table", "rules", "match", "seed", "help"])
def test_a_first_line_with_an_odd_field_is_refused(field, tmp_path):
    head, *rest = written(tmp_path, "micro", 5).splitlines(keepends=True)
    good = entry_of(head.strip())
    assert good is not None
    for value in ODD:
        if good[field] != value and not (field == "match" and value is True):
            told = sealed_line({**good, field: value})
            assert opened(tmp_path, b"".join([told, *rest])) is None, value
    del good[field]
    assert opened(tmp_path, sealed_line(good)) is None


def test_odd_seats_and_seeds_are_refused(tmp_path):
    head = entry_of(written(tmp_path, "micro", 0).splitlines()[0])
    assert head is not None
    first, second = head["seats"]
    odd = [[first], [first] * 3, [first, "x"], [first, {}, {}], [{**first, "x": 1}, {}]]
    for seats in (*ODD, *odd):
        assert opened(tmp_path, sealed_line({**head, "seats": seats})) is None, seats
    for name in first:
        for value in (None, 5, [], {}):
            changed = {**head, "seats": [{**first, name: value}, second]}
            assert opened(tmp_path, sealed_line(changed)) is None
    for value in (-1, True, "5", 2**63, 0.5):
        assert opened(tmp_path, sealed_line({**head, "dealt_by": value})) is None


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
            opened(tmp_path, b"".join([*lines[:place], sealed_line(line), *lines[place:]]))


@pytest.mark.parametrize(
    "data",
    [b"", b"{}\n", b"[1]\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"\n\n", sealed_line({})],
)
def test_what_is_no_journal_is_refused(data, tmp_path):
    assert opened(tmp_path, data) is None


@pytest.mark.parametrize(("field", "value"), [("format", 1), ("version", "0.0.1")])
def test_another_format_or_version_is_refused_by_its_name(field, value, tmp_path):
    """Another version may deal other cards from the same seed."""
    head = entry_of(written(tmp_path, "micro", 0).splitlines()[0])
    assert head is not None
    assert head["version"] == __version__
    journal = Store(tmp_path).journal(NAME)
    journal.path.write_bytes(sealed_line({**head, field: value}))
    with pytest.raises(HeartsError) as refused:
        Table.resume(journal)
    assert field in str(refused.value)
    assert repr(value) in str(refused.value)


def mended(change: Callable[[Lines], Lines]) -> Callable[[bytes], bytes]:
    """A change of a journal's lines whose digests are right again."""

    def apply(data: bytes) -> bytes:
        lines = [entry_of(line) or {} for line in data.splitlines()]
        return b"".join(map(sealed_line, change(lines)))

    return apply


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data + sealed_line({"do": [0]}),
        mended(lambda lines: [{**lines[0], "help": "all"}, *lines[1:]]),
        mended(lambda lines: [{**lines[0], "seats": lines[0]["seats"][:1]}, *lines[1:]]),
        mended(lambda lines: [{**lines[0], "format": 99}, *lines[1:]]),
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
    path = Store(tmp_path).journal(tables[1]).path
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
        at, guest = hall(tmp_path), Guest("f" * 32)
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
    at, tables = Store(tmp_path), [f"{number:016x}" for number in range(300)]
    for table in tables:
        at.add_table("me", table)
    monkeypatch.setattr(store, "_MOST_LISTED", 17 * 100)
    assert at.tables_of("me") == tables[200:]
    at.remove_table("me", tables[299])
    assert at.tables_of("me") == tables[200:299]
    path = tmp_path / "people" / "me"
    odd = b"\xff\x00\n../../x\n" + b"x" * 900
    path.write_bytes(odd + f"\n{tables[7]}\n{tables[8][:5]}".encode())
    assert at.tables_of("me") == [tables[7]]


# ---- a full disk ---------------------------------------------------------------------------------
@pytest.fixture
def full(monkeypatch):
    """A disk that takes three bytes of the next line and then nothing; `room` mends it."""
    write, room = os.write, [3]

    def refuse(handle: int, data: bytes) -> int:
        if room[0] < 0:
            return write(handle, data)
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken, room[0] = room[0], 0
        return write(handle, data[:taken])

    def switch(*, is_full: bool) -> None:
        room[0] = 3 if is_full else -1

    switch(is_full=False)
    monkeypatch.setattr(os, "write", refuse)
    return switch


@pytest.mark.parametrize("is_resumed", [False, True])
def test_a_line_that_the_disk_refuses_leaves_the_file_as_it_was(is_resumed, tmp_path, full):
    written(tmp_path, "micro", 7)
    journal = Store(tmp_path).journal(NAME)
    lines = Lines(map(entry_of, journal.path.read_bytes().splitlines()))[:-1]
    journal.remove()
    journal.create(lines[0])
    for line in lines[1:]:
        journal.append(line)
    if is_resumed:
        journal = Store(tmp_path).journal(NAME)
        journal.resume()
    for _ in range(2):
        full(is_full=True)
        with pytest.raises(OSError, match="No space"):
            journal.append({"undo": 1})
        assert Store(tmp_path).journal(NAME).resume() == lines
        full(is_full=False)
    journal.append({"close": 1})
    assert Store(tmp_path).journal(NAME).resume() == [*lines, {"close": 1}]


def test_a_table_that_the_disk_refuses_leaves_nothing_behind(tmp_path, full):
    with serving(tmp_path) as client, browsing(client) as browser:
        before = client.app.state.hall.store.num_tables
        full(is_full=True)
        assert browser.create("micro", "easy")["code"] == "internal"
        full(is_full=False)
        assert list((tmp_path / "tables").iterdir()) == []
        append = store._append  # the first line finds room, the list of the person's tables not

        def refuse(path: Path, data: bytes, flags: int = 0) -> None:
            if path.parent.name == "people":
                raise OSError(28, "No space left on device")
            append(path, data, flags)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(store, "_append", refuse)
            assert browser.create("micro", "easy")["code"] == "internal"
        assert list((tmp_path / "tables").iterdir()) == []
        assert client.app.state.hall.store.num_tables == before
        assert browser.create("micro", "easy")["type"] == "table"
