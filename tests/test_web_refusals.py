"""Refusals of the server: wrong messages, strangers, floods, too many tables, full disks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from hearts_train.web.hosting import Connection, Limits
from tests.waiting import wait_until
from tests.web_browser import SOCKET, Browser, browsing, serving, sit_together, take_turns
from tests.web_browser import client as client

HELLO = {"type": "hello", "v": 1}
TABLE = "0" * 16
CREATE = {"type": "create", "rules": "two_player", "seats": [{"me": True}, {"agent": "easy"}]}
WRONG = [
    ("", "bad_message"),
    ("{", "bad_message"),
    ("[" * 10_000, "bad_message"),
    ("9" * 5_000, "bad_message"),
    (f'{{"type": "ping", "id": {"9" * 5_000}}}', "bad_message"),
    ('{"type": "act", "seq": NaN}', "bad_message"),
    ('"\\ud800"', "bad_message"),
    ({"type": "fly"}, "bad_message"),
    ({"type": ["hello"]}, "bad_message"),
    ({"type": "hello", "v": 2}, "bad_message"),
    ({**HELLO, "token": "x"}, "bad_message"),
    ({**HELLO, "token": "f" * 32}, "bad_message"),  # a second person on one connection
    ({"type": "watch", "table": 5}, "bad_message"),
    ({**HELLO, "tables": [TABLE] * 25}, "bad_message"),
    ({**HELLO, "tables": TABLE}, "bad_message"),
    ({"type": "watch", "table": "../people"}, "unknown_table"),
    ({"type": "sit", "table": TABLE, "seat": 0}, "unknown_table"),
    ({"type": "undo", "table": TABLE, "seq": -1}, "bad_message"),
    ({"type": "act", "table": TABLE, "seq": 1.0, "actions": ["2C"]}, "bad_message"),
    ({"type": "act", "table": TABLE, "seq": 0, "actions": ["x" * 400]}, "bad_message"),
    ({**CREATE, "rules": "bridge"}, "unknown_rules"),
    ({**CREATE, "rules": "two_player hand_size=99"}, "unknown_rules"),
    ({**CREATE, "rules": "classic"}, "not_fit"),
    ({**CREATE, "seats": [{"me": True}] * 2}, "bad_message"),
    ({**CREATE, "seats": [{"agent": "easy"}] * 2}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, {"agent": "easy", "open": True}]}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, {"agent": ""}]}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, {"agent": "easy", "more": 1}]}, "bad_message"),
    ({**CREATE, "seed": -1}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, {"open": True}], "seed": 1}, "not_allowed"),
    (
        {"type": "create", "rules": "classic", "seats": [{"me": True}, *[{"agent": "pimc"}] * 3]},
        "not_fit",
    ),
]


def test_wrong_message_is_refused_and_the_connection_lives(tmp_path):
    limits = Limits(burst=1000)
    with serving(tmp_path, limits=limits) as client, browsing(client) as browser:
        for wrong, code in WRONG:
            if isinstance(wrong, dict):
                wrong = json.dumps({**wrong, "id": "w"})
            browser.socket.send_text(wrong)
            answer = browser.read()
            assert (answer["type"], answer["code"]) == ("error", code), wrong
            assert 10 < len(answer["text"]) < 400
            assert answer.get("id", "w") == "w"
        assert browser.ask(type="ping")["type"] == "pong"


@pytest.mark.parametrize(
    "name",
    [
        "../champion",
        "os:system",
        "exec:ls",
        "pro?worlds=1",
        "\x00",
    ],
)
def test_only_listed_agents_can_be_named(name, client, monkeypatch):
    def fail(*args: Any, **options: Any) -> Any:
        raise AssertionError("made from the name that a browser sent")

    monkeypatch.setattr("hearts_agents.spec.AgentSpec.make", fail)
    with browsing(client) as browser:
        assert browser.create("two_player", name)["code"] == "unknown_agent"


def test_request_before_hello_is_refused(client):
    with client.websocket_connect(SOCKET) as socket:
        for message in (CREATE, {"type": "ping"}, {"type": "watch", "table": TABLE}):
            socket.send_text(json.dumps(message))
            assert json.loads(socket.receive_text())["code"] == "bad_message"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:9999"},
        {"origin": "null"},
        {"host": "evil.example"},
        {"host": "evil.example", "origin": "http://evil.example"},
        {"host": "[::1"},
    ],
)
def test_other_origins_and_hosts_are_refused(headers, client):
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client.websocket_connect(SOCKET, headers=headers),
    ):
        pass
    assert refused.value.code == 1008
    assert client.get("/", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://localhost"},
        {"host": "127.0.0.1:8650", "origin": "http://127.0.0.1:8650"},
        {"host": "[::1]:8650"},
        {"host": "cards.example:80", "origin": "https://cards.example:80"},
    ],
)
def test_page_is_served_by_address_and_given_names(headers, tmp_path):
    with serving(tmp_path, hosts=["Cards.Example"]) as client:
        assert client.get("/", headers=headers).status_code == 200
        with client.websocket_connect(SOCKET, headers=headers) as socket:
            Browser(socket)


def test_too_large_message_ends_the_connection(client):
    for data in ("x" * 20_000, json.dumps({**HELLO, "more": "x" * 20_000})):
        with browsing(client) as browser:
            browser.socket.send_text(data)
            with pytest.raises(WebSocketDisconnect) as ended:
                browser.read()
            assert ended.value.code == 1009


def test_flood_is_refused_and_others_are_served(tmp_path):
    with serving(tmp_path, limits=Limits(burst=10, rate=0.001)) as client, browsing(client) as one:
        for number in range(40):
            one.send(type="ping", id=number)
        answers = [one.read() for _ in range(40)]
        codes = [answer.get("code", "pong") for answer in answers]
        assert codes == ["pong"] * 9 + ["too_fast"] * 31
        assert [answer["id"] for answer in answers] == [*range(40)]
        with browsing(client) as other:
            assert other.ask(type="ping")["type"] == "pong"


def test_browser_that_never_reads_is_cut_off():
    """It may come back for the whole table."""

    class Stuck:
        client = None

        def __init__(self) -> None:
            self.sent: list[str] = []
            self.reads = asyncio.Event()
            self.code = 0

        async def send_text(self, text: str) -> None:
            await self.reads.wait()
            self.sent.append(text)

        async def close(self, code: int, reason: str) -> None:
            self.code = code

    async def play() -> None:
        socket, waiting = Stuck(), 40
        connection = Connection(socket, Limits(waiting=waiting))
        pump = asyncio.create_task(connection.pump())
        for number in range(1000):
            connection.send(str(number))
            await asyncio.sleep(0)
        assert connection.num_waiting <= waiting + 1
        socket.reads.set()
        await pump
        assert socket.code == 1013
        assert len(socket.sent) <= 1

    asyncio.run(play())


def test_requests_to_the_interface_are_limited(tmp_path):
    limits = Limits(burst=10, rate=0.001)
    with serving(tmp_path, limits=limits) as client:
        found = [client.post("/api/review", json={}) for _ in range(60)]
        assert [one.status_code for one in found] == [422] * 10 + [429] * 50
        assert found[-1].json()["code"] == "too_fast"
        assert client.get("/healthz").status_code == 200


def test_connections_per_address_are_limited(tmp_path):
    with serving(tmp_path, limits=Limits(connections_each=2)) as client:
        with browsing(client), browsing(client):
            with pytest.raises(WebSocketDisconnect) as refused, client.websocket_connect(SOCKET):
                pass
            assert refused.value.code == 1013
        with browsing(client):
            load = {"connections": 1, "tables": 0, "reviews": 0}
            assert client.get("/healthz").json() == {"ok": True, **load}


@pytest.mark.parametrize("match", [False, True])
def test_lobby_lists_the_latest_unfinished_tables(match, tmp_path):
    with serving(tmp_path, limits=Limits(listed=2)) as client, browsing(client) as browser:
        over = browser.create("micro end_score=1", "easy", match=match)["table"]
        browser.play_on()
        while match and not browser.state["match_over"]:  # the lowest score was shared
            browser.ask(type="next", table=over)
            browser.play_on()
        left = [browser.create("micro", "easy")["table"] for _ in range(3)]
        with browsing(client, browser.token, *left, over, TABLE, "../x") as again:
            assert [table["table"] for table in again.welcome["tables"]] == left[1:]


def test_leaving_between_deals_stops_no_one(tmp_path):
    with (
        serving(tmp_path) as client,
        browsing(client) as anna,
        browsing(client) as ben,
    ):
        table = sit_together(anna, ben)
        while not anna.state["over"]:
            take_turns(anna, ben)
        assert anna.ask(type="leave", table=table)["type"] == "left"
        assert ben.ask(type="next", table=table)["over"] is None
        for person, seat in ((ben, 1), (anna, 0)):
            with browsing(client, person.token, table) as again:
                assert [one["table"] for one in again.welcome["tables"]] == [table]
                assert again.ask(type="watch", table=table)["you"] == seat  # still theirs


@pytest.mark.parametrize("limits", [Limits(created=1), Limits(stored=1)])
def test_new_tables_are_limited(limits, tmp_path):
    with serving(tmp_path, limits=limits) as client:
        with browsing(client) as browser:
            assert browser.create("micro", "easy")["type"] == "table"
        with browsing(client) as browser:
            assert browser.create("micro", "easy")["code"] == "too_many_tables"


def test_tables_without_browsers_make_room_and_return(tmp_path):
    with serving(tmp_path, limits=Limits(live=1, idle=0.0)) as client:
        with browsing(client) as browser:
            token = browser.token
            table = browser.create("two_player", "easy")["table"]
            browser.act()
            with browsing(client) as other:
                assert other.create("micro", "easy")["code"] == "too_many_tables"
            while browser.state["turn"] != 0:
                browser.read()
            seen = browser.state["view"]
        with browsing(client) as other:
            assert other.create("micro", "easy")["type"] == "table"
        with browsing(client, token) as browser:
            assert browser.ask(type="watch", table=table)["view"] == seen
        manager = client.app.state.manager
        wait_until(lambda: all(one.is_idle for one in manager._live.values()))
        manager.sweep()
        assert client.get("/healthz").json()["tables"] == 0
