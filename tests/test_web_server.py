"""The server as browsers meet it: whole deals over sockets, refusals, hostile clients, limits."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from hearts_agents import Agent, make_agent, register_agent
from hearts_env import Game, HeartsError
from hearts_env.notation import parse_games
from hearts_train.web import assets, helping, players, store
from hearts_train.web.app import create_app
from hearts_train.web.hosting import Limits
from hearts_train.web.players import Players, Workers
from hearts_train.web.store import Store
from tests import web

SOCKET = "ws://localhost/ws"


class Browser:
    """A socket that says hello, and keeps what it was told of one table."""

    def __init__(self, socket: Any, token: str | None = None) -> None:
        self.socket = socket
        self.send(type="hello", v=1, **({"token": token} if token else {}))
        self.welcome = self.read()
        self.state: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []

    @property
    def token(self) -> str:
        return self.welcome["token"]

    def send(self, **message: Any) -> None:
        self.socket.send_text(json.dumps(message))

    def read(self) -> dict[str, Any]:
        message = json.loads(self.socket.receive_text())
        if message["type"] == "table":
            self.state = message
        elif message["type"] == "event":
            self.events.append(message)
            if message["kind"] == "seat":
                self.state["seats"] = message["seats"]
            else:
                keys = ("seq", "view", "public", "turn")
                self.state.update({k: message[k] for k in keys if k in message})
        return message

    def until(self, *wanted: str) -> dict[str, Any]:
        """The next message of these types, or event of these kinds."""
        while True:
            message = self.read()
            if message["type"] in wanted or message.get("kind") in wanted:
                return message

    def ask(self, **message: Any) -> dict[str, Any]:
        """What a request is answered with."""
        self.send(**message, id=5)
        while (found := self.read()).get("id") != 5:
            pass
        return found

    def create(self, rules: str, *agents: str, **more: Any) -> dict[str, Any]:
        seats = [{"me": True}, *({"agent": agent} for agent in agents)]
        return self.ask(type="create", rules=rules, seats=seats, **more)

    def act(self, pick: int = 0) -> None:
        """Do one of the legal actions, when it is one's turn."""
        state = self.state
        while state["turn"] != state["you"]:
            self.read()
        legal = state["view"]["legal"]
        action = legal[pick % len(legal)]
        message = {"type": "act", "table": state["table"], "action": action}
        assert self.ask(**message, seq=state["seq"])["type"] == "done"

    def play_on(self) -> dict[str, Any]:
        """Play to the end of the deal; returns the event that says so."""
        while True:
            if self.events and self.events[-1]["kind"] == "over":
                return self.events[-1]
            if self.state["turn"] == self.state["you"]:
                self.act(len(self.events))
            else:
                self.read()


@contextlib.contextmanager
def serving(
    folder, *agents: str, limits: Limits | None = None, **more: Any
) -> Iterator[TestClient]:
    listed = web.players() if not agents else Players(agents, patience=0.5)
    app = create_app(Store(folder), listed, limits=limits, **more)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def client(tmp_path) -> Iterator[TestClient]:
    with serving(tmp_path) as client:
        yield client


@contextlib.contextmanager
def browsing(client: TestClient, token: str | None = None) -> Iterator[Browser]:
    with client.websocket_connect(SOCKET) as socket:
        yield Browser(socket, token)


# ---- play ----------------------------------------------------------------------------------------
def test_a_greeting_tells_what_there_is(client):
    with browsing(client) as browser:
        told = browser.welcome
        assert re.fullmatch("[0-9a-f]{32}", told["token"])
        assert [agent["name"] for agent in told["agents"]] == list(players.SHIPPED)
        fits = {agent["name"]: agent for agent in told["agents"]}
        assert fits["pimc"]["players"] == [2]
        assert "hoyle players=2" not in fits["pimc"]["games"]
        assert fits["standard"]["players"] == [2, 3, 4, 5, 6, 7]
        assert {"name": "party", "players": [3, 4, 5, 6, 7]}.items() <= next(
            game for game in told["rules"] if game["name"] == "party"
        ).items()
        assert told["tables"] == []


@pytest.mark.parametrize(
    ("rules", "agents"),
    [
        ("two_player", ["champion"]),
        ("two_player", ["pimc"]),
        ("classic", ["pro", "standard", "easy"]),
        ("party players=7", ["standard"] * 6),
        ("kitty players=3", ["easy", "random"]),
        ("hoyle players=2", ["pro"]),
    ],
)
def test_a_whole_deal_against_agents(rules, agents, client):
    with browsing(client) as browser:
        table = browser.create(rules, *agents)
        assert table["type"] == "table"
        assert table["you"] == 0
        assert [seat["name"] for seat in table["seats"]] == ["You", *agents]
        over = browser.play_on()
        (game,) = parse_games(over["deal"])
        assert game.is_over
        assert game.scores() == over["scores"]
        numbered = [event["seq"] for event in browser.events if event["kind"] != "seat"]
        assert numbered == list(range(numbered[0], numbered[0] + len(numbered)))
        assert browser.ask(type="next", table=table["table"])["type"] == "done"
        assert browser.state["view"]["phase"] in ("pass", "play")
        assert browser.ask(type="watch", table=table["table"])["number"] == 1


def test_a_known_seed_deals_known_cards_and_a_moon_may_be_chosen(client):
    rules = 'micro moon="choose"'
    with browsing(client) as browser:
        chosen = False
        for seed in range(40):
            table = browser.create(rules, "easy", seed=seed)
            dealt = Game.deal(rules, seed).hand(0)
            seen = {*browser.state["view"]["hand"]}
            seen |= {card for player, card in browser.state["view"]["history"] if player == 0}
            assert seen == set(dealt)
            browser.events.clear()
            browser.play_on()
            kinds = [event["kind"] for event in browser.events]
            if "moon" in kinds:
                moon = browser.events[kinds.index("moon")]
                assert moon["choice"] in ("off", "others")
                chosen = True
            leave = {"type": "leave", "table": table["table"], "close": True}
            assert browser.ask(**leave)["type"] == "done"
            if chosen:
                break
        assert chosen


def test_two_people_play_each_other_by_a_link_and_others_look_on(client):
    with browsing(client) as anna, browsing(client) as ben, browsing(client) as cleo:
        seats = [{"me": True}, {"open": True}]
        table = anna.ask(type="create", rules="two_player", seats=seats, name="Anna")["table"]
        assert anna.state["help"] == "off"
        assert anna.state["seats"][1]["kind"] == "open"
        assert ben.ask(type="watch", table=table)["you"] is None
        assert ben.ask(type="sit", table=table, seat=0)["code"] == "seat_taken"
        assert ben.ask(type="sit", table=table, seat=1, name="Ben")["you"] == 1
        assert [seat["name"] for seat in anna.until("seat")["seats"]] == ["Anna", "Ben"]
        assert cleo.ask(type="sit", table=table, seat=1)["code"] == "seat_taken"
        assert cleo.ask(type="watch", table=table)["view"] is None
        while not anna.events or anna.events[-1]["kind"] != "over":
            for person in (anna, ben):
                if person.state["turn"] == person.state["you"]:
                    person.act()
            for person in (anna, ben):
                while person.state["seq"] < max(anna.state["seq"], ben.state["seq"]):
                    person.read()
        over = cleo.until("over")
        assert over["deal"] == anna.events[-1]["deal"]
        assert '[Player 1 "Ben"]' in over["deal"]
        assert anna.ask(type="undo", table=table, seq=anna.state["seq"])["code"] == "not_allowed"
        assert anna.ask(type="next", table=table)["type"] == "done"
        assert anna.state["view"]["phase"] == "over"  # until both have had a look
        assert anna.state["seats"][0]["ready"]
        ben.ask(type="next", table=table)
        anna.until("deal")
        assert anna.state["view"]["phase"] == "play"


@pytest.mark.parametrize("is_full", [False, True])
def test_whoever_goes_is_not_waited_for_with_the_next_deal(is_full, client, monkeypatch):
    with browsing(client) as anna:
        seats = [{"me": True}, {"agent": "easy"}, {"open": True}]
        with browsing(client) as ben:
            table = anna.ask(type="create", rules="party players=3", seats=seats)["table"]
            ben.ask(type="sit", table=table, seat=2)
            while not anna.events or anna.events[-1]["kind"] != "over":
                for person in (anna, ben):
                    if person.state["turn"] == person.state["you"]:
                        person.act()
                for person in (anna, ben):
                    while person.state["seq"] < max(anna.state["seq"], ben.state["seq"]):
                        person.read()
                if anna.state["turn"] not in (0, 2) and anna.events[-1]["kind"] != "over":
                    anna.read()
            anna.ask(type="next", table=table)
            if is_full:  # or the disk

                def fail(self: Any, line: Any) -> None:
                    raise OSError(28, "No space left on device")

                monkeypatch.setattr(store.Journal, "append", fail)
        told = anna.until("seat" if is_full else "deal")
        assert is_full or told["number"] == 1
        if is_full:
            assert not told["seats"][2]["connected"]
            assert anna.ask(type="next", table=table)["code"] == "internal"
            monkeypatch.undo()
            assert anna.ask(type="next", table=table)["type"] == "done"
        while anna.state["turn"] not in (0, 2):  # the agent goes on, too
            anna.read()


def test_who_comes_back_with_the_token_has_the_seat_and_nobody_else(client):
    with browsing(client) as browser:
        token = browser.token
        table = browser.create("two_player", "standard")["table"]
        browser.act()
        while browser.state["turn"] != 0:
            browser.read()
        seen = browser.state["view"]
    with browsing(client) as stranger:
        assert stranger.welcome["tables"] == []
        told = stranger.ask(type="watch", table=table)
        assert told["view"] is None
        assert not told["seats"][0]["connected"]
        for kind in ("act", "hint", "values", "odds", "undo"):
            more = {"action": seen["legal"][0]} if kind == "act" else {}
            asked = stranger.ask(type=kind, table=table, seq=told["seq"], **more)
            assert asked["code"] == "not_your_seat"
        assert stranger.ask(type="next", table=table)["code"] == "not_your_seat"
        assert stranger.ask(type="leave", table=table, close=True)["type"] == "done"
        with browsing(client, token) as again:
            (mine,) = again.welcome["tables"]
            assert mine["table"] == table
            assert mine["your_turn"]
            back = again.ask(type="watch", table=table)
            assert back["you"] == 0
            assert back["view"] == seen
            assert not back["closed"]
            again.act()


def test_two_windows_of_a_person_show_the_same(client):
    with browsing(client) as first, browsing(client, first.token) as second:
        table = first.create("two_player", "easy")["table"]
        second.ask(type="watch", table=table)
        second.act()
        first.until("play")
        while first.state["seq"] < second.state["seq"]:
            first.read()
        assert first.state["view"] == second.state["view"]


def test_a_match_is_scored_deal_by_deal(client):
    with browsing(client) as browser:
        table = browser.create("two_player", "easy", match=True)["table"]
        for number in range(3):
            browser.events.clear()
            over = browser.play_on()
            assert len(over["sheet"]) == number + 1
            nets = zip(*(deal["net"] for deal in over["sheet"]), strict=True)
            assert over["totals"] == [sum(net) for net in nets]
            browser.ask(type="next", table=table)
            assert browser.state["view"]["totals"] == over["totals"]


def test_a_card_sent_again_after_something_was_taken_back_gets_the_whole_table(client):
    with browsing(client) as browser:
        seed = next(s for s in range(99) if Game.deal("two_player", s).player == 0)
        table = browser.create("two_player", "easy", seed=seed)["table"]
        first = {"type": "act", "table": table, "seq": browser.state["seq"]}
        first["action"] = browser.state["view"]["legal"][0]
        assert browser.ask(**first)["type"] == "done"
        browser.act()
        while browser.state["turn"] != 0:
            browser.read()
        undone = browser.ask(type="undo", table=table, seq=browser.state["seq"])["seq"]
        browser.state = {}
        told = browser.ask(**first)
        assert (told["type"], told["seq"]) == ("done", undone)
        assert browser.state["seq"] == undone


# ---- help ----------------------------------------------------------------------------------------
def test_help_is_computed_from_the_view(client, monkeypatch):
    counted = []
    original = helping.values_of
    monkeypatch.setattr(helping, "values_of", lambda *args: (counted.append(1), original(*args))[1])
    with browsing(client) as browser:
        table = browser.create("two_player", "standard", seed=3)["table"]
        browser.act()
        while browser.state["turn"] != 0 or len(browser.state["view"]["legal"]) < 2:
            browser.act() if browser.state["turn"] == 0 else browser.read()
        asked = {"table": table, "seq": browser.state["seq"]}
        legal = browser.state["view"]["legal"]
        values = browser.ask(type="values", **asked)
        assert set(values["values"]) == set(legal)
        assert values == browser.ask(type="values", **asked)
        assert len(counted) == 1  # kept for the position
        hint = browser.ask(type="hint", **asked)
        best = max(values["values"].values())
        assert values["values"][hint["action"]] == best
        assert browser.ask(type="hint", agent="champion", **asked)["agent"] == "champion"
        odds = browser.ask(type="odds", **asked)
        assert odds["worlds"] == values["worlds"]
        by_model = browser.ask(type="odds", model="standard", **asked)
        assert by_model["chances"] != odds["chances"]
        unknown = browser.ask(type="hint", agent="../champion", **asked)
        assert unknown["code"] == "unknown_agent"
        browser.act()
        assert browser.ask(type="values", **asked)["code"] == "stale"


def test_of_more_players_values_are_a_sample_and_no_model_is_asked(client):
    with browsing(client) as browser:
        table = browser.create("party players=5", *["standard"] * 4)["table"]
        while browser.state["view"]["phase"] == "pass" or browser.state["turn"] != 0:
            browser.act() if browser.state["turn"] == 0 else browser.read()
        asked = {"table": table, "seq": browser.state["seq"]}
        values = browser.ask(type="values", **asked)
        assert values["sample"]
        assert values["worlds"] == 200
        assert set(values["values"]) == set(browser.state["view"]["legal"])
        assert browser.ask(type="odds", model="standard", **asked)["code"] == "not_fit"
        assert browser.ask(type="hint", agent="pimc", **asked)["code"] == "not_fit"


def test_in_an_exchange_a_hint_names_a_card_and_there_are_no_values(client):
    seed = next(s for s in range(9) if Game.deal("classic", s).direction != "hold")
    with browsing(client) as browser:
        table = browser.create("classic", "easy", "easy", "easy", seed=seed)["table"]
        asked = {"table": table, "seq": browser.state["seq"]}
        hand = browser.state["view"]["hand"]
        assert browser.ask(type="values", **asked)["values"] == {}
        assert browser.ask(type="hint", **asked)["action"] in hand
        chances = browser.ask(type="odds", **asked)["chances"]
        assert {*chances, *hand} == {*browser.state["rules"]["deck"]}
        thirds = {str(seat): pytest.approx(1 / 3, abs=1e-6) for seat in (1, 2, 3)}
        assert all(chance == thirds for chance in chances.values())


@pytest.mark.parametrize(
    ("level", "allowed"),
    [("off", ""), ("warn", "values"), ("values", "values hint"), ("odds", "values hint odds")],
)
def test_a_table_allows_as_much_help_as_was_agreed(level, allowed, client):
    with browsing(client) as browser:
        table = browser.create("two_player", "easy", help=level)["table"]
        while browser.state["turn"] != 0:
            browser.read()
        for kind in ("values", "hint", "odds"):
            told = browser.ask(type=kind, table=table, seq=browser.state["seq"])
            assert told.get("code", kind) == (kind if kind in allowed else "not_allowed")


# ---- refusals ------------------------------------------------------------------------------------
HELLO = {"type": "hello", "v": 1}
TABLE = "0" * 16
CREATE = {"type": "create", "rules": "two_player", "seats": [{"me": True}, {"agent": "easy"}]}
WRONG = [
    ("", "bad_message"),
    ("{", "bad_message"),
    ("[]", "bad_message"),
    ("null", "bad_message"),
    ("[" * 10_000, "bad_message"),
    ("9" * 5_000, "bad_message"),
    ('{"type": "act", "seq": NaN}', "bad_message"),
    ('"\\ud800"', "bad_message"),
    ({}, "bad_message"),
    ({"type": "fly"}, "bad_message"),
    ({"type": ["hello"]}, "bad_message"),
    ({"type": "hello"}, "bad_message"),
    ({"type": "hello", "v": 2}, "bad_message"),
    ({"type": "hello", "v": True}, "bad_message"),
    ({**HELLO, "token": "x"}, "bad_message"),
    ({**HELLO, "token": "f" * 32}, "bad_message"),  # a second person on one connection
    ({"type": "watch"}, "bad_message"),
    ({"type": "watch", "table": 5}, "unknown_table"),
    ({"type": "watch", "table": "../people"}, "unknown_table"),
    ({"type": "watch", "table": TABLE}, "unknown_table"),
    ({"type": "sit", "table": TABLE, "seat": 0}, "unknown_table"),
    ({"type": "watch", "table": TABLE, "seq": -1}, "bad_message"),
    ({"type": "act", "table": TABLE, "seq": 0}, "bad_message"),
    ({"type": "act", "table": TABLE, "seq": 1.0, "action": "2C"}, "bad_message"),
    ({"type": "act", "table": TABLE, "seq": 0, "actions": []}, "bad_message"),
    ({"type": "act", "table": TABLE, "seq": 0, "action": "x" * 400}, "bad_message"),
    ({**CREATE, "rules": "bridge"}, "unknown_rules"),
    ({**CREATE, "rules": "two_player hand_size=99"}, "unknown_rules"),
    ({**CREATE, "rules": "x" * 400}, "bad_message"),
    ({**CREATE, "rules": "classic"}, "not_fit"),
    ({**CREATE, "seats": "me"}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}] * 2}, "bad_message"),
    ({**CREATE, "seats": [{"me": 1}, {"open": True}]}, "bad_message"),
    ({**CREATE, "seats": [{"agent": "easy"}] * 2}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, {"agent": "easy", "open": True}]}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, {}]}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, 7]}, "bad_message"),
    ({**CREATE, "help": "all"}, "bad_message"),
    ({**CREATE, "help": {}}, "bad_message"),
    ({**CREATE, "match": 1}, "bad_message"),
    ({**CREATE, "seed": -1}, "bad_message"),
    ({**CREATE, "name": 5}, "bad_message"),
    ({**CREATE, "seats": [{"me": True}, {"open": True}], "seed": 1}, "not_allowed"),
    (
        {
            "type": "create",
            "rules": "classic",
            "seats": [{"me": True}, *[{"agent": "pimc"}] * 3],
        },
        "not_fit",
    ),
]


def test_what_is_wrong_is_refused_in_a_sentence_and_the_connection_lives(tmp_path):
    limits = Limits(burst=1000)
    with serving(tmp_path, limits=limits) as client, browsing(client) as browser:
        for wrong, code in WRONG:
            if isinstance(wrong, dict):
                wrong = json.dumps({**wrong, "id": "w"})
            browser.socket.send_text(wrong)
            told = browser.read()
            assert (told["type"], told["code"]) == ("error", code), wrong
            assert 10 < len(told["text"]) < 400
            assert told.get("id", "w") == "w"
        assert browser.ask(type="ping")["type"] == "pong"


@pytest.mark.parametrize(
    "name",
    [
        "../champion",
        "/etc/passwd",
        "os:system",
        "exec:ls",
        "pro?worlds=1",
        "pro-v1",
        "pimc_belief",
        "champion.safetensors",
        "",
        "\x00",
    ],
)
def test_only_agents_of_the_list_can_be_named(name, client, monkeypatch):
    def fail(*args: Any, **options: Any) -> Any:
        raise AssertionError("made from what a browser said")

    for module in ("hearts_agents.registry", "hearts_train.measure.contenders"):
        monkeypatch.setattr(f"{module}.make_agent", fail)
    with browsing(client) as browser:
        assert browser.create("two_player", name)["code"] == "unknown_agent"
        table = browser.create("two_player", "easy")["table"]
        while browser.state["turn"] != 0:
            browser.read()
        for kind, field in (("hint", "agent"), ("odds", "model")):
            asked = {"type": kind, "table": table, "seq": browser.state["seq"], field: name}
            assert browser.ask(**asked)["code"] == "unknown_agent"


def test_before_a_greeting_nothing_is_done(client):
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
def test_other_sites_and_other_names_are_refused(headers, client):
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
def test_its_own_page_is_served_by_address_and_by_the_names_given(headers, tmp_path):
    with serving(tmp_path, hosts=["Cards.Example"]) as client:
        assert client.get("/", headers=headers).status_code == 200
        with client.websocket_connect(SOCKET, headers=headers) as socket:
            Browser(socket)


def test_a_message_that_is_too_large_ends_the_connection(client):
    for data in ("x" * 20_000, json.dumps({**HELLO, "more": "x" * 20_000})):
        with browsing(client) as browser:
            browser.socket.send_text(data)
            with pytest.raises(WebSocketDisconnect) as ended:
                browser.read()
            assert ended.value.code == 1009


def test_a_flood_is_told_to_wait_and_then_cut_off(tmp_path):
    with serving(tmp_path, limits=Limits(burst=10, rate=0.001)) as client, browsing(client) as one:
        codes: list[str] = []
        for _ in range(40):
            one.send(type="ping")
        while len(codes) < 19:
            codes.append(one.read().get("code", "pong"))
        with pytest.raises(WebSocketDisconnect) as ended:
            one.read()
        assert ended.value.code == 1008
        assert codes == ["pong"] * 9 + ["too_fast"] * 10
        with browsing(client) as other:  # others are served meanwhile
            assert other.ask(type="ping")["type"] == "pong"


def test_connections_of_one_address_are_limited(tmp_path):
    with serving(tmp_path, limits=Limits(connections_each=2)) as client:
        with browsing(client), browsing(client):
            with pytest.raises(WebSocketDisconnect) as refused, client.websocket_connect(SOCKET):
                pass
            assert refused.value.code == 1013
        with browsing(client):
            assert client.get("/healthz").json() == {"ok": True, "connections": 1, "tables": 0}


def test_tables_of_one_person_are_limited_and_finished_or_closed_ones_do_not_count(tmp_path):
    with serving(tmp_path, limits=Limits(own=2)) as client, browsing(client) as browser:
        first = browser.create("micro", "easy")["table"]
        second = browser.create("micro", "easy")["table"]
        assert browser.create("micro", "easy")["code"] == "too_many_tables"
        assert browser.ask(type="leave", table=first, close=True)["type"] == "done"
        browser.state = browser.ask(type="watch", table=second)
        browser.events.clear()
        browser.play_on()
        third = browser.create("micro", "easy")["table"]
        assert browser.create("micro", "easy")["type"] == "table"
        assert browser.create("micro", "easy")["code"] == "too_many_tables"
        with browsing(client, browser.token) as again:
            listed = [table["table"] for table in again.welcome["tables"]]
            assert listed[:2] == [second, third]
            assert first not in listed
        assert browser.ask(type="watch", table=first)["closed"]
        assert browser.ask(type="next", table=first)["code"] == "not_allowed"


def test_a_table_with_an_open_seat_can_be_closed(tmp_path):
    with serving(tmp_path, limits=Limits(own=1)) as client, browsing(client) as browser:
        seats = [{"me": True}, {"open": True}]
        table = browser.ask(type="create", rules="micro", seats=seats)["table"]
        assert browser.create("micro", "easy")["code"] == "too_many_tables"
        assert browser.ask(type="leave", table=table, close=True)["type"] == "done"
        assert browser.ask(type="watch", table=table)["closed"]
        assert browser.create("micro", "easy")["type"] == "table"


def test_nobody_closes_a_table_under_another_but_may_take_it_off_the_own_list(tmp_path):
    with (
        serving(tmp_path, limits=Limits(own=1)) as client,
        browsing(client) as anna,
        browsing(client) as ben,
    ):
        seats = [{"me": True}, {"open": True}]
        table = anna.ask(type="create", rules="micro", seats=seats)["table"]
        ben.ask(type="sit", table=table, seat=1)
        while not anna.events or anna.events[-1]["kind"] != "over":
            for person in (anna, ben):
                if person.state["turn"] == person.state["you"]:
                    person.act()
            for person in (anna, ben):
                while person.state["seq"] < max(anna.state["seq"], ben.state["seq"]):
                    person.read()
        leave = {"type": "leave", "table": table, "close": True}
        assert anna.ask(**leave)["type"] == "done"  # between two deals
        assert ben.ask(type="next", table=table)["type"] == "done"
        assert not ben.ask(type="watch", table=table)["closed"]
        assert ben.create("micro", "easy")["code"] == "too_many_tables"
        assert anna.create("micro", "easy")["type"] == "table"
        with browsing(client, anna.token) as again:
            assert table not in [one["table"] for one in again.welcome["tables"]]
            assert again.ask(type="watch", table=table)["you"] == 0  # the seat is still hers
        assert ben.ask(**leave)["type"] == "done"
        assert ben.create("micro", "easy")["type"] == "table"


@pytest.mark.parametrize("limits", [Limits(created=1), Limits(stored=1)])
def test_new_tables_are_limited(limits, tmp_path):
    with serving(tmp_path, limits=limits) as client:
        with browsing(client) as browser:
            assert browser.create("micro", "easy")["type"] == "table"
        with browsing(client) as browser:
            assert browser.create("micro", "easy")["code"] == "too_many_tables"


def test_tables_at_which_nobody_is_make_room_and_come_back(tmp_path):
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
        client.app.state.hall.sweep()
        assert client.get("/healthz").json()["tables"] == 0


def test_a_disk_that_cannot_be_written_plays_no_card(client, monkeypatch):
    with browsing(client) as browser:
        table = browser.create("two_player", "easy")["table"]
        while browser.state["turn"] != 0:
            browser.read()
        before = browser.state["seq"]
        action = {"type": "act", "table": table, "seq": before}
        action["action"] = browser.state["view"]["legal"][0]

        def fail(self: Any, line: Any) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(store.Journal, "append", fail)
            told = browser.ask(**action)
            assert told["code"] == "internal"
            assert "saved" in told["text"]
        assert browser.ask(type="watch", table=table)["seq"] == before
        assert browser.ask(**action)["type"] == "done"


# ---- agents --------------------------------------------------------------------------------------
class Bad:
    """Misbehaves in one of several ways; its name says how."""

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
                threading.Event().wait(1.5)
        return self.inner.act(view)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("raises", "raised an error"),
        ("illegal", "chose an illegal action"),
        ("slow", "took too long"),
    ],
)
def test_for_an_agent_that_misbehaves_a_card_is_played_and_all_are_told(kind, words, tmp_path):
    register_agent("bad", lambda seed=None: Bad(kind))
    with serving(tmp_path, "bad") as client, browsing(client) as browser:
        table = browser.create("micro", "bad")
        assert table["seats"][1]["name"] == "bad"
        browser.act() if browser.state["turn"] == 0 else None
        fault = browser.until("fault")
        assert fault["text"] == f"bad {words}; its first legal card is played for it"
        assert browser.play_on()["scores"]


def test_the_clock_of_a_decision_starts_when_a_thread_takes_it():
    async def play() -> None:
        workers, begun, go = Workers("one", 1), threading.Event(), threading.Event()

        def first() -> str:
            begun.set()
            go.wait(10)
            return "first"

        one = asyncio.create_task(workers.run(first, 10.0))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        other = asyncio.create_task(workers.run(lambda: "other", 0.05))
        given_up = asyncio.create_task(workers.run(lambda: done.append(1), 10.0))
        await asyncio.sleep(0.2)  # longer than `other` may take
        given_up.cancel()
        await asyncio.sleep(0)
        go.set()
        assert await one == "first"
        assert await other == "other"
        assert await workers.run(lambda: "last", 10.0) == "last"
        assert done == []  # nobody waited for it any more

    done: list[int] = []
    asyncio.run(play())


def test_an_agent_whose_threads_are_all_stuck_takes_too_long_and_recovers():
    async def play() -> None:
        workers, go = Workers("stuck", 1), threading.Event()
        most = players._MOST_THREADS
        asked = [workers.run(lambda: go.wait(20), 0.01) for _ in range(most + 2)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in found] == [TimeoutError] * (most + 2)
        go.set()
        assert await workers.run(lambda: "again", 10.0) == "again"
        while workers._stuck:
            await asyncio.sleep(0.001)

    asyncio.run(play())


def test_a_slow_agent_stalls_no_other_table(tmp_path, caplog):
    begun, go = threading.Event(), threading.Event()

    class Slow:
        def act(self, view: Any) -> int:
            begun.set()
            go.wait(10)
            return view.legal_actions()[0]

    register_agent("slow", lambda seed=None: Slow())
    listed = Players(["slow"], patience=20.0)
    app = create_app(Store(tmp_path), listed)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(TestClient(app, base_url="http://localhost"))
        first, second = (stack.enter_context(browsing(client)) for _ in range(2))
        seed = next(s for s in range(99) if Game.deal("two_player", s).player == 0)
        slow = first.create("two_player", "slow", seed=seed)["table"]
        first.act()
        assert begun.wait(5)
        second.create("two_player", "easy")
        assert second.play_on()["scores"]
        assert first.ask(type="watch", table=slow)["turn"] == 1  # its table answers, too
        undone = first.ask(type="undo", table=slow, seq=first.state["seq"])
        go.set()
        (host,) = (h for h in app.state.hall._hosts.values() if h.table.id == slow)
        for _ in range(500):  # until what it chose meanwhile has come, and is forgotten
            time.sleep(0.01 if host.is_busy else 0.0)
        now = first.ask(type="watch", table=slow)
        assert (now["seq"], now["turn"]) == (undone["seq"], 0)
        assert now["view"]["history"] == []
        assert not caplog.records
        assert first.play_on()["scores"]


def test_each_seat_of_an_outside_agent_has_a_player_of_its_own(tmp_path):
    made: list[Any] = []

    class Mine:
        def __init__(self) -> None:
            self.seen: set[tuple[int, Any]] = set()

        def __deepcopy__(self, memo: Any) -> Mine:
            made.append(Mine())
            return made[-1]

        def act(self, view: Any) -> int:
            self.seen.add((view.player, view.rules.players))
            return view.legal_actions()[0]

    register_agent("mine", lambda seed=None: Mine())
    with serving(tmp_path, "mine") as client, browsing(client) as browser:
        made.clear()
        browser.create("party players=3", "mine", "mine")
        browser.play_on()
        assert [len(one.seen) for one in made] == [1, 1]


def test_no_player_is_asked_by_two_threads_when_a_card_is_taken_back(tmp_path):
    begun, go = threading.Semaphore(0), threading.Event()
    made: list[Any] = []

    class Slow(Agent):
        def __init__(self) -> None:
            self.asked = self.closed = 0

        def __deepcopy__(self, memo: Any) -> Slow:
            made.append(Slow())
            return made[-1]

        def act(self, view: Any) -> int:
            self.asked += 1
            begun.release()
            go.wait(10)
            return view.legal_actions()[0]

        def close(self) -> None:
            self.closed += 1

    register_agent("slow", lambda seed=None: Slow())
    app = create_app(Store(tmp_path), Players(["slow"], patience=20.0))
    with TestClient(app, base_url="http://localhost") as client, browsing(client) as browser:
        made.clear()
        seed = next(s for s in range(99) if Game.deal("two_player", s).player == 0)
        table = browser.create("two_player", "slow", seed=seed)["table"]
        for _ in range(2):
            browser.act()
            assert begun.acquire(timeout=5)
            asked = {"type": "undo", "table": table, "seq": browser.state["seq"]}
            assert browser.ask(**asked)["type"] == "done"
        assert [one.asked for one in made] == [1, 1]
        go.set()
        for _ in range(500):
            time.sleep(0.0 if all(one.closed for one in made) else 0.01)
        assert all(one.closed for one in made)
        assert [one.asked for one in made] == [1, 1]


def test_a_hint_comes_from_an_outside_agent_that_has_seen_no_other_seat():
    made: list[Any] = []

    class Mine(Agent):
        def __init__(self) -> None:
            self.seen: list[int] = []
            self.is_closed = False

        def __deepcopy__(self, memo: Any) -> Mine:
            made.append(Mine())
            return made[-1]

        def act(self, view: Any) -> int:
            self.seen.append(view.player)
            if view.rules.name == "classic":
                raise RuntimeError("no such game")
            return view.legal_actions()[0]

        def close(self) -> None:
            self.is_closed = True

    register_agent("mine", lambda seed=None: Mine())
    agent = Players(["mine"]).listed["mine"]
    made.clear()
    for seed in range(4):
        game = Game.deal("two_player", seed)
        assert helping.hint_of(agent, game.view(game.player))["action"] in game.hand(game.player)
    with pytest.raises(HeartsError):
        helping.hint_of(agent, Game.deal("classic", 0).view(0))
    assert len({seat for one in made for seat in one.seen}) == 2
    assert [len(set(one.seen)) for one in made] == [1] * 5
    assert all(one.is_closed for one in made)


def test_a_further_agent_is_listed_by_its_last_name_and_its_path_is_not_told(tmp_path):
    path = tmp_path / "run" / "mine.py"
    path.parent.mkdir()
    path.write_text(
        "class Mine:\n    def act(self, view):\n        return view.legal_actions()[0]\n"
    )
    listed = Players([f"{path}:Mine", "pro?worlds=5", "pro"])
    names = list(listed.listed)
    assert names == [*players.SHIPPED, "mine.py:Mine", "pro (2)"]
    assert str(tmp_path) not in json.dumps(listed.told())


def test_a_table_whose_agent_is_gone_says_so(tmp_path):
    register_agent("mine", lambda seed=None: make_agent("easy", seed=0))
    with serving(tmp_path, "mine") as client, browsing(client) as browser:
        token, table = browser.token, browser.create("micro", "mine")["table"]
    with serving(tmp_path) as client, browsing(client, token) as browser:
        assert browser.welcome["tables"] == []
        told = browser.ask(type="watch", table=table)
        assert told["code"] == "unknown_agent"
        assert "--agent" in told["text"]


# ---- pages ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/", "/t/0123456789abcdef", "/board", "/puzzles", "/runs"])
def test_every_page_is_the_same_file_with_a_strict_policy(path, client):
    found = client.get(path)
    assert found.status_code == 200
    assert found.content == assets.index()
    policy = found.headers["content-security-policy"]
    inline = re.search(rb'<script type="importmap">(.*?)</script>', found.content, re.DOTALL)
    assert inline is not None
    digest = base64.b64encode(hashlib.sha256(inline[1]).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


@pytest.mark.parametrize(
    "path", ["/", "/nowhere", "/static/index.html", "/static/../app.py", "/api/rules", "/healthz"]
)
def test_every_answer_has_the_headers(path, client):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-cache"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_files_outside_the_folder_are_not_served(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/"):
        assert client.get(path).status_code == 404


def test_the_rules_of_a_game_are_told_in_words(client):
    told = client.get("/api/rules", params={"name": "party players=5"}).json()
    assert told["players"] == 5
    assert told["text"][0].startswith("Five players")
    assert client.get("/api/rules", params={"name": "bridge"}).status_code == 404


def test_what_is_asked_of_the_interface_is_limited(client):
    assert client.post("/api/rules", content=b"x" * 600_000).status_code == 413
    assert client.post("/api/rules", content=iter([b"x"])).status_code == 413
    codes = {client.get("/api/rules").status_code for _ in range(100)}
    assert 429 in codes


def test_further_routes_are_served(tmp_path):
    more = [Route("/api/more", lambda request: PlainTextResponse("more"))]
    with serving(tmp_path, more=more) as client:
        assert client.get("/api/more").text == "more"
        assert client.get("/api/more").headers["x-content-type-options"] == "nosniff"
