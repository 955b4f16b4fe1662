"""A browser at the table server: its socket, and the latest message about its table."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from hearts_train.web.app import create_app
from hearts_train.web.folders import ServerFolder
from hearts_train.web.hosting import Limits
from hearts_train.web.players import Players
from tests import web

SOCKET = "ws://localhost/ws"
_SILENT = "silent"  # the id of the ping that ends a wait
_MOST_MESSAGES = 2_000  # more than any deal here takes


class Browser:
    """A socket that says hello and keeps the latest state of one table."""

    def __init__(self, socket: Any, token: str | None = None, *tables: str) -> None:
        self.socket = socket
        known = {"token": token, "tables": tables} if token else {}
        self.send(type="hello", v=1, **known)
        self.welcome = self.read()
        self.state: dict[str, Any] = {}

    @property
    def token(self) -> str:
        return self.welcome["token"]

    def send(self, **message: Any) -> None:
        self.socket.send_text(json.dumps(message))

    def read(self) -> dict[str, Any]:
        """Return the next message; fail if none comes."""
        ping = threading.Timer(web.LIMIT, self.send, kwargs={"type": "ping", "id": _SILENT})
        ping.daemon = True
        ping.start()
        try:
            message = json.loads(self.socket.receive_text())
        finally:
            ping.cancel()
        assert message.get("id") != _SILENT, f"no message in {web.LIMIT:g} s; had {self.state}"
        if message["type"] == "table":
            self.state = message
        return message

    def until(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read until the table is as wanted, or fail after many messages or a long silence."""
        for _ in range(_MOST_MESSAGES):
            if self.state and is_wanted(self.state):
                return self.state
            self.read()
        raise AssertionError(
            f"{_MOST_MESSAGES} messages and none as wanted; the last: {self.state}"
        )

    def ask(self, **message: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        self.send(**message, id=5)
        while (found := self.read()).get("id") != 5:
            pass
        return found

    def create(self, rules: str, *agents: str, **more: Any) -> dict[str, Any]:
        seats = [{"me": True}, *({"agent": agent} for agent in agents)]
        return self.ask(type="create", rules=rules, seats=seats, **more)

    def act(self, pick: int = 0) -> None:
        """Do a legal action once it is this browser's turn."""
        while True:
            self.until(lambda state: state["turn"] == state["you"])
            legal, seq = self.state["view"]["legal"], self.state["seq"]
            message = {"type": "act", "table": self.state["table"], "seq": seq}
            answer = self.ask(**message, actions=[legal[pick % len(legal)]])
            if answer["type"] == "table":
                return
            # Another move was still under way: the table as it is now comes after the answer.
            assert answer["code"] == "stale"
            self.until(lambda state, old=seq: state["seq"] != old)

    def play_on(self) -> dict[str, Any]:
        """Play to the end of the deal, and return its result."""
        while not self.state["over"]:
            if self.state["turn"] == self.state["you"]:
                self.act(self.state["seq"])
            else:
                self.read()
        return self.state["over"]


@contextlib.contextmanager
def serving(
    folder, *agents: str, limits: Limits | None = None, patience: float = web.LIMIT, **more: Any
) -> Iterator[TestClient]:
    listed = web.players() if not agents else Players(agents, patience=patience)
    app = create_app(ServerFolder(folder), listed, limits=limits, **more)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def client(tmp_path) -> Iterator[TestClient]:
    with serving(tmp_path) as client:
        yield client


@contextlib.contextmanager
def browsing(client: TestClient, token: str | None = None, *tables: str) -> Iterator[Browser]:
    with client.websocket_connect(SOCKET) as socket:
        yield Browser(socket, token, *tables)


def sit_together(anna: Browser, ben: Browser, rules: str = "micro") -> str:
    """Let two people sit down at a new table; return its name."""
    seats = [{"me": True}, {"open": True}]
    table = anna.ask(type="create", rules=rules, seats=seats)["table"]
    ben.ask(type="sit", table=table, seat=1)
    return table


def take_turns(*people: Browser) -> None:
    """Let the acting person play a card, and read until everyone has seen it."""
    for person in people:
        if person.state["turn"] == person.state["you"]:
            person.act()
    for person in people:
        while person.state["seq"] < max(other.state["seq"] for other in people):
            person.read()
