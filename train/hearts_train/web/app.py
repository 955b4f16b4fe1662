"""The server: pages, files and the socket of the tables, as one ASGI application.

Everything is refused that does not come from the server's own page: other origins, other names of
the host, messages too large or too many.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from hearts_env.rules.explain import explain
from hearts_env.rules.presets import PRESETS
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import HeartsError
from hearts_train.session.folders import ServerFolder, digest_of
from hearts_train.session.table import Refusal
from hearts_train.web import assets, messages, review_routes, runs_routes
from hearts_train.web.gate import Bucket, Gate, content_policy
from hearts_train.web.hosting import Hall, Host, Limits
from hearts_train.web.messages import Request, answer
from hearts_train.web.players import Players
from hearts_train.web.run_shelf import RunShelf

log = logging.getLogger("hearts.serve")

PAGES = ("/", "/t/{table}", "/board", "/puzzles", "/runs")
"""All of them are the same file, which looks at its address."""

MORE: tuple[Callable[[], list[BaseRoute]], ...] = (
    assets.routes,
    review_routes.routes,
    runs_routes.routes,
)
"""Where further routes come from."""

_SWEEP = 30.0  # seconds between two looks for tables that nobody is at


def create_app(
    folder: ServerFolder,
    players: Players,
    *,
    limits: Limits | None = None,
    hosts: Iterable[str] = (),
    runs: Sequence[Path] = (),
    more: Iterable[BaseRoute] | None = None,
) -> Starlette:
    """The application.

    Args:
        folder: where tables are kept.
        players: the agents that can be chosen.
        limits: what may be asked for; None: the usual.
        hosts: names by which browsers may reach the server, beside addresses and ``localhost``.
        runs: folders whose training runs are shown.
        more: further routes; None: those of `MORE`.
    """
    limits = limits or Limits()
    hall = Hall(folder, players, limits)
    lobby = Lobby(hall)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        sweeper = asyncio.create_task(_sweep(hall))
        try:
            yield
        finally:
            sweeper.cancel()
            hall.close()

    app = Starlette(
        routes=[
            *(Route(path, _page) for path in PAGES),
            Route("/healthz", lobby.health),
            Route("/api/rules", lobby.rules),
            WebSocketRoute("/ws", lobby.socket),
            *([route for routes in MORE for route in routes()] if more is None else more),
            Mount("/static", StaticFiles(directory=assets.STATIC)),
        ],
        lifespan=lifespan,
    )
    app.state.hall = hall
    app.state.desk = review_routes.Desk()
    app.state.runs = RunShelf(runs)
    players.elsewhere = app.state.runs.player_of
    policy = content_policy(assets.script_digests(assets.index()))
    app.add_middleware(
        Gate, policy=policy, hosts=tuple(hosts), burst=limits.asked, rate=limits.asked_rate
    )
    return app


async def _sweep(hall: Hall) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        hall.sweep()


async def _page(request: HttpRequest) -> Response:
    return HTMLResponse(assets.index())


# ---- the socket ----------------------------------------------------------------------------------
class Connection:
    """A browser's socket: what it sent is counted, what it is sent waits in a queue."""

    def __init__(self, socket: WebSocket, limits: Limits) -> None:
        self.owner = ""
        self.address = socket.client.host if socket.client else ""
        self.hosts: set[Host] = set()
        self._socket = socket
        self._limits = limits
        self._bucket = Bucket(limits.burst, limits.rate)
        self._out: asyncio.Queue[str | None] = asyncio.Queue()

    def send(self, text: str) -> None:
        """Send a message when the browser is ready; one that never is, is cut off."""
        if self._out.qsize() < self._limits.waiting:
            self._out.put_nowait(text)
        elif self._out.qsize() == self._limits.waiting:
            self._out.put_nowait(None)

    @property
    def num_waiting(self) -> int:
        """How many messages wait for the browser."""
        return self._out.qsize()

    async def pump(self) -> None:
        """Send what waits, until the browser is cut off."""
        while (text := await self._out.get()) is not None:
            if self._out.qsize() >= self._limits.waiting:
                break
            await self._socket.send_text(text)
        await self._socket.close(1013, "too slow; connect again")

    def is_too_fast(self) -> bool:
        """Count a message; whether there were too many."""
        return self._bucket.take()

    @property
    def is_flooding(self) -> bool:
        """Whether it goes on in spite of being told."""
        return self._bucket.is_flooded


class Lobby:
    """Greets browsers, and hands their requests to the tables."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self._open: dict[str, int] = {}

    async def health(self, request: HttpRequest) -> Response:
        """Whether the server works, and how much it has to do."""
        return JSONResponse(
            {"ok": True, "connections": sum(self._open.values()), "tables": self.hall.num_live}
        )

    async def rules(self, request: HttpRequest) -> Response:
        """The rules of a game in words."""
        try:
            rules = Rules.from_text(request.query_params.get("name", "")[: messages.MOST_TEXT])
        except HeartsError as error:
            return JSONResponse({"code": "unknown_rules", "text": str(error)}, 404)
        return JSONResponse({**messages.told_rules(rules), "text": list(explain(rules))})

    async def socket(self, socket: WebSocket) -> None:
        """Serve a browser from its greeting to its end."""
        limits = self.hall.limits
        address = socket.client.host if socket.client else ""
        others = self._open.get(address, 0)
        if others >= limits.connections_each or sum(self._open.values()) >= limits.connections:
            await socket.close(1013, "too many connections; try again later")
            return
        self._open[address] = others + 1
        connection = Connection(socket, limits)
        pump: asyncio.Task[None] | None = None
        try:
            await socket.accept()
            pump = asyncio.create_task(connection.pump())
            await self._listen(socket, connection)
        except (WebSocketDisconnect, RuntimeError):  # gone, or cut off by the pump
            pass
        finally:
            if pump is not None:
                pump.cancel()
            for host in connection.hosts:
                host.forget(connection)
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]

    async def _listen(self, socket: WebSocket, connection: Connection) -> None:
        while True:
            event = await socket.receive()
            if event["type"] == "websocket.disconnect":
                return
            if connection.is_too_fast():
                if connection.is_flooding:
                    await socket.close(1008, "too many messages")
                    return
                text = "too many messages at once; wait a second"
                connection.send(messages.error(Refusal("too_fast", text), None))
                continue
            data = event.get("text") or event.get("bytes") or ""
            if len(data) > self.hall.limits.message:
                await socket.close(1009, "the message is too large")
                return
            await self._take(connection, data)

    async def _take(self, connection: Connection, data: str | bytes) -> None:
        """Do what a message asks for."""
        request_id: str | int | None = None
        try:
            request = messages.parse(data)
            request_id = request.id
            await self._do(connection, request)
        except Refusal as refusal:
            connection.send(messages.error(refusal, request_id or refusal.id))
        except OSError as error:
            log.error("the tables cannot be written: %s", error)
            text = "the table cannot be saved now; try again later"
            connection.send(messages.error(Refusal("internal", text), request_id))
        except Exception:
            log.exception("a request failed")
            text = "the server made a mistake; reload the page"
            connection.send(messages.error(Refusal("internal", text), request_id))

    async def _do(self, connection: Connection, request: Request) -> None:
        if request.type == "hello":
            self._greet(connection, request)
        elif not connection.owner:
            raise Refusal("bad_message", "type: say hello first")
        elif request.type == "ping":
            connection.send(answer("pong", {}, request.id))
        elif request.type == "create":
            host = await self.hall.create(connection, request)
            self._ask(connection, host, Request("watch", {"seq": None}, request.id))
        else:
            self._ask(connection, self.hall.find(request["table"]), request)

    def _ask(self, connection: Connection, host: Host, request: Request) -> None:
        if request.type in ("sit", "watch"):
            connection.hosts.add(host)
        host.ask(connection, request)

    def _greet(self, connection: Connection, request: Request) -> None:
        if request["v"] != messages.VERSION:
            raise Refusal(
                "bad_message", f"v: the server speaks {messages.VERSION}; reload the page"
            )
        token = request["token"] or secrets.token_hex(16)
        if connection.owner not in ("", digest_of(token)):
            raise Refusal("bad_message", "type: hello was said with another token; connect again")
        connection.owner = digest_of(token)
        fields = {
            "v": messages.VERSION,
            "token": token,
            "agents": self.hall.players.told(),
            "rules": _games(),
            "tables": self.hall.told_tables(connection.owner),
        }
        connection.send(answer("welcome", fields, request.id))


def _games() -> list[dict[str, Any]]:
    """The presets, as `welcome` lists them."""
    return [
        {
            "name": preset,
            "title": messages.title_of(preset),
            "players": list(numbers),
            "text": messages.summary_of(preset),
        }
        for preset, (numbers, _) in PRESETS.items()
    ]
