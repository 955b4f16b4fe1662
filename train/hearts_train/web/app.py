"""The server: pages, files and the socket of the tables, as one ASGI application.

Everything is refused that does not come from the server's own page: other origins, other names of
the host, messages too large or too many.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import importlib
import importlib.util
import ipaddress
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from hearts_env.errors import HeartsError
from hearts_env.explain import explain
from hearts_env.presets import PRESETS
from hearts_env.rules import Rules
from hearts_train.web import messages
from hearts_train.web.hosting import Hall, Host, Limits
from hearts_train.web.messages import Refusal, Request, answer
from hearts_train.web.players import Players
from hearts_train.web.store import Store, digest_of

log = logging.getLogger("hearts.serve")

STATIC = Path(__file__).with_name("static")
PAGES = ("/", "/t/{table}", "/board", "/puzzles", "/runs")
"""All of them are the same file, which looks at its address."""

MORE = (
    "hearts_train.web.assets",
    "hearts_train.web.review_routes",
    "hearts_train.web.runs_routes",
)
"""Modules with further routes, each with a function ``routes() -> list[BaseRoute]``."""

_IMPORT_MAP = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)
_SWEEP = 30.0  # seconds between two looks for tables that nobody is at


def create_app(
    store: Store,
    players: Players,
    *,
    limits: Limits | None = None,
    hosts: Iterable[str] = (),
    more: Iterable[BaseRoute] | None = None,
) -> Starlette:
    """The application.

    Args:
        store: where tables are kept.
        players: the agents that can be chosen.
        limits: what may be asked for; None: the usual.
        hosts: names by which browsers may reach the server, beside addresses and ``localhost``.
        more: further routes; None: those of the modules of `MORE` that are there.
    """
    limits = limits or Limits()
    hall = Hall(store, players, limits)
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
            *(more_routes() if more is None else more),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        lifespan=lifespan,
    )
    app.state.hall = hall
    app.add_middleware(Guard, hosts=tuple(hosts))
    return app


def more_routes() -> list[BaseRoute]:
    """The routes of the modules of `MORE` that are there."""
    found: list[BaseRoute] = []
    for name in MORE:
        if importlib.util.find_spec(name) is not None:
            found += importlib.import_module(name).routes()
    return found


async def _sweep(hall: Hall) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        hall.sweep()


async def _page(request: HttpRequest) -> Response:
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})


# ---- who may come in -----------------------------------------------------------------------------
def content_policy() -> str:
    """What the page may load: its own files, and the import map that it has inside."""
    found = _IMPORT_MAP.search((STATIC / "index.html").read_bytes())
    scripts = "'self'"
    if found is not None:
        digest = base64.b64encode(hashlib.sha256(found[1]).digest()).decode()
        scripts += f" 'sha256-{digest}'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Guard:
    """Refuses strangers, and puts the headers on every answer that keep others out of the page."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] = ()) -> None:
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._headers = {
            "Content-Security-Policy": content_policy(),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        wrong = self._wrong(Headers(scope=scope))
        if wrong is None:
            await self._app(scope, receive, send_guarded)
        elif scope["type"] == "http":
            await PlainTextResponse(wrong, 403)(scope, receive, send_guarded)
        else:
            await WebSocket(scope, receive, send).close(1008, wrong)

    def _wrong(self, headers: Headers) -> str | None:
        """Why a request is refused; None: it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name = urlsplit(f"//{host}").hostname or ""
            comes_from = None if origin is None else urlsplit(origin).netloc
        except ValueError:
            return "host: it is not written as NAME:PORT"
        if name not in self._hosts and not _is_address(name):
            return "host: this server is not known by that name; add it with --allow-host NAME"
        if comes_from is not None and comes_from.lower() != host.lower():
            return "origin: another site must not use this server"
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


# ---- the socket ----------------------------------------------------------------------------------
class Connection:
    """A browser's socket: what it sent is counted, what it is sent waits in a queue."""

    def __init__(self, socket: WebSocket, limits: Limits) -> None:
        self.owner = ""
        self.address = socket.client.host if socket.client else ""
        self.hosts: set[Host] = set()
        self._socket = socket
        self._limits = limits
        self._left, self._at = float(limits.burst), time.monotonic()
        self._out: asyncio.Queue[str | None] = asyncio.Queue()

    def send(self, text: str) -> None:
        """Send a message when the browser is ready; one that never is, is cut off."""
        if self._out.qsize() < self._limits.waiting:
            self._out.put_nowait(text)
        elif self._out.qsize() == self._limits.waiting:
            self._out.put_nowait(None)

    async def pump(self) -> None:
        """Send what waits, until the browser is cut off."""
        while (text := await self._out.get()) is not None:
            if self._out.qsize() >= self._limits.waiting:
                break
            await self._socket.send_text(text)
        await self._socket.close(1013, "too slow; connect again")

    def is_too_fast(self) -> bool:
        """Count a message; whether there were too many."""
        now = time.monotonic()
        gained = (now - self._at) * self._limits.rate
        self._left, self._at = min(self._left + gained, float(self._limits.burst)), now
        self._left -= 1
        return self._left < 0

    @property
    def is_flooding(self) -> bool:
        """Whether it goes on in spite of being told."""
        return self._left < -self._limits.burst


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
