"""Agents at the server that misbehave, are slow or come from outside."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any, ClassVar

import pytest
from starlette.testclient import TestClient

from hearts_agents import Agent, make_agent
from hearts_train.web import players
from hearts_train.web.app import create_app
from hearts_train.web.folders import ServerFolder
from hearts_train.web.players import Players
from tests.players import CODE, code_named
from tests.waiting import wait_until
from tests.web import LIMIT, PERSON_LEADS
from tests.web_browser import browsing, serving
from tests.web_browser import client as client


class Bad:
    """Misbehaves as its name says."""

    go = threading.Event()

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.inner = make_agent("easy", seed=0)

    def act(self, view: Any) -> Any:
        match self.kind:
            case "raises":
                raise RuntimeError(f"my cards are {view.hand}")
            case "illegal":
                return -1
            case "slow":
                self.go.wait(LIMIT)
        return self.inner.act(view)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("raises", "raised an error"),
        ("illegal", "chose an illegal action"),
        ("slow", "took too long"),
    ],
)
def test_misbehaving_agent_plays_its_first_card(kind, words, tmp_path, monkeypatch):
    bad = code_named("bad", lambda seed=None: Bad(kind), monkeypatch)
    Bad.go.clear()
    patience = 0.05 if kind == "slow" else LIMIT
    with serving(tmp_path, bad, patience=patience) as client, browsing(client) as browser:
        table = browser.create("micro", bad)
        assert table["seats"][1]["name"] == bad
        browser.act() if browser.state["turn"] == 0 else None
        state = browser.until(lambda state: state["fault"])
        assert state["fault"] == f"{bad} {words}; its first legal card is played"
        assert browser.play_on()["scores"]
        Bad.go.set()


class Copied(Agent):
    """Plays its first card. Keeps its copies and the seats that each played."""

    made: ClassVar[list[Copied]] = []

    def __init__(self) -> None:
        self.seats: list[int] = []
        self.closed = threading.Event()

    def __deepcopy__(self, memo: Any) -> Copied:
        self.made.append(type(self)())
        return self.made[-1]

    def act(self, view: Any) -> int:
        self.seats.append(view.player)
        if view.rules.name == "classic":
            raise RuntimeError("no such game")
        return view.legal_actions()[0]

    def close(self) -> None:
        self.closed.set()


MINE = "tests.players:mine"


@pytest.fixture
def copies(monkeypatch) -> list[Copied]:
    """Register the agent MINE and return the list of its copies."""
    monkeypatch.setattr(Copied, "made", [])
    code_named("mine", lambda seed=None: Copied(), monkeypatch)
    return Copied.made


def test_slow_agent_stalls_no_other_table(tmp_path, caplog, monkeypatch):
    begun, go = threading.Event(), threading.Event()

    class Slow:
        def act(self, view: Any) -> int:
            begun.set()
            go.wait(LIMIT)
            return view.legal_actions()[0]

    slow_agent = code_named("slow", lambda seed=None: Slow(), monkeypatch)
    listed = Players([slow_agent], patience=LIMIT)
    app = create_app(ServerFolder(tmp_path), listed)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(TestClient(app, base_url="http://localhost"))
        first, second = (stack.enter_context(browsing(client)) for _ in range(2))
        slow = first.create("two_player", slow_agent, seed=PERSON_LEADS)["table"]
        first.act()
        assert begun.wait(LIMIT)
        second.create("two_player", "easy")
        assert second.play_on()["scores"]
        assert first.ask(type="watch", table=slow)["turn"] == 1  # its table answers, too
        undone = first.ask(type="undo", table=slow, seq=first.state["seq"])
        go.set()
        (host,) = (h for h in app.state.manager._live.values() if h.table.id == slow)
        wait_until(lambda: not host.is_busy)  # its late choice has come and is ignored
        now = first.ask(type="watch", table=slow)
        assert (now["seq"], now["turn"]) == (undone["seq"], 0)
        assert now["view"]["history"] == []
        assert not caplog.records
        assert first.play_on()["scores"]


def test_each_seat_has_its_own_player(copies, tmp_path):
    with serving(tmp_path, MINE) as client, browsing(client) as browser:
        copies.clear()
        browser.create("party players=3", MINE, MINE)
        browser.play_on()
        assert [len(set(one.seats)) for one in copies] == [1, 1]


def test_player_that_fails_is_replaced(copies, tmp_path, monkeypatch):
    class Failing(Copied):
        def act(self, view: Any) -> int:
            action = super().act(view)
            return action if not view.history else 1 // 0

    failing = code_named("failing", lambda seed=None: Failing(), monkeypatch)
    with serving(tmp_path, failing) as client, browsing(client) as browser:
        copies.clear()
        browser.create("two_player", failing, seed=PERSON_LEADS)
        browser.play_on()
        assert [len(one.seats) for one in copies] == [1] * 13
        wait_until(lambda: all(one.closed.is_set() for one in copies))


def test_undo_never_asks_a_player_in_two_threads(copies, tmp_path, monkeypatch):
    begun, go = threading.Semaphore(0), threading.Event()

    class Slow(Copied):
        def act(self, view: Any) -> int:
            begun.release()
            action = super().act(view)
            go.wait(LIMIT)
            return action

    slow = code_named("slow", lambda seed=None: Slow(), monkeypatch)
    app = create_app(ServerFolder(tmp_path), Players([slow], patience=LIMIT))
    with TestClient(app, base_url="http://localhost") as client, browsing(client) as browser:
        copies.clear()
        table = browser.create("two_player", slow, seed=PERSON_LEADS)["table"]
        for _ in range(2):
            browser.act()
            assert begun.acquire(timeout=LIMIT)
            asked = {"type": "undo", "table": table, "seq": browser.state["seq"]}
            assert browser.ask(**asked)["type"] == "table"
        assert [len(one.seats) for one in copies] == [1, 1]
        go.set()
        wait_until(lambda: all(one.closed.is_set() for one in copies))
        assert [len(one.seats) for one in copies] == [1, 1]


def test_further_agent_is_listed_without_its_path(tmp_path, monkeypatch):
    path = tmp_path / "run" / "mine.py"
    path.parent.mkdir()
    path.write_text(
        "class Mine:\n    def act(self, view):\n        return view.legal_actions()[0]\n"
    )
    monkeypatch.chdir(path.parent)
    listed = Players([f"{path}:Mine", "mine.py:Mine", "pro?worlds=5", "pro"])
    names = list(listed.listed)
    assert names == [*players.STRENGTHS, "mine.py:Mine", "mine.py:Mine (2)", "pro (2)"]
    assert str(tmp_path) not in json.dumps(listed.to_json())


def test_saved_table_finds_its_agent_among_others(tmp_path):
    files = [tmp_path / name / "bot.py" for name in "ab"]
    for place, file in enumerate(files):
        file.parent.mkdir()
        file.write_text(CODE.format(-place))
    one, other = (f"{file}:Mine" for file in files)
    data = tmp_path / "data"
    with serving(data, one) as client, browsing(client) as browser:
        token = browser.token
        table = browser.create("micro", "bot.py:Mine")["table"]
    with serving(data, other, one) as client, browsing(client, token, table) as browser:
        (listed,) = browser.welcome["tables"]
        assert listed["table"] == table
        shown = browser.ask(type="watch", table=table)
        assert [seat["name"] for seat in shown["seats"]] == ["You", "bot.py:Mine (2)"]
        (live,) = client.app.state.manager._live.values()
        assert live.table.seats[1].spec == one
        browser.play_on()
    files[0].write_text(CODE.format(0) + "# changed\n")
    for agents in ([other], [other, one]):
        with serving(data, *agents) as client, browsing(client, token, table) as browser:
            assert browser.welcome["tables"] == []
            refused = browser.ask(type="watch", table=table)
            assert (refused["code"], str(tmp_path) in refused["text"]) == ("unknown_agent", False)


def test_table_without_its_agent_says_so(tmp_path, monkeypatch):
    code_named("mine", lambda seed=None: make_agent("easy", seed=0), monkeypatch)
    with serving(tmp_path, MINE) as client, browsing(client) as browser:
        token, table = browser.token, browser.create("micro", MINE)["table"]
    with serving(tmp_path) as client, browsing(client, token) as browser:
        answer = browser.ask(type="watch", table=table)
        assert answer["code"] == "unknown_agent"
        assert "--agent" in answer["text"]
