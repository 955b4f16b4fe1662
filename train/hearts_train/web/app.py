"""The server: pages, files and the socket of the tables, as one ASGI application.

It refuses other origins and unknown host names, and messages that are too large or too many.
Headers keep other sites out of the page.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from hearts_train.web import assets, messages, review_routes
from hearts_train.web.folders import ServerFolder, digest_of
from hearts_train.web.hosting import Bucket, Buckets, Limits, LiveTable, TableManager, warm_up
from hearts_train.web.messages import Request, answer
from hearts_train.web.players import Players
from hearts_train.web.table import Refusal

log = logging.getLogger("hearts.serve")

PAGES = ("/", "/t/{table}", "/board")
"""All get the same file, which looks at its address."""

_SWEEP = 30.0  # seconds between two looks for tables without browsers


def create_app(
    folder: ServerFolder,
    players: Players,
    *,
    limits: Limits | None = None,
    hosts: Iterable[str] = (),
) -> Starlette:
    """Return the application.

    Args:
        folder: where tables are saved.
        players: the agents that can be chosen.
        limits: the limits for browsers. If None, the defaults.
        hosts: further names of the server, besides addresses and ``localhost``.
    """
    limits = limits or Limits()
    manager = TableManager(folder, players, limits)
    lobby = Lobby(manager)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(warm_up)
        sweeper = asyncio.create_task(_sweep(manager))
        try:
            yield
        finally:
            sweeper.cancel()
            manager.close()

    app = Starlette(
        routes=[
            *(Route(path, _page) for path in PAGES),
            Route("/healthz", lobby.health),
            WebSocketRoute("/ws", lobby.socket),
            *assets.routes(),
            *review_routes.routes(),
            Mount("/static", StaticFiles(directory=assets.STATIC)),
        ],
        lifespan=lifespan,
    )
    app.state.manager = manager
    app.state.reviews = review_routes.ReviewQueue()
    policy = content_policy(assets.script_digests(assets.index()))
    app.add_middleware(
        SecurityMiddleware,
        policy=policy,
        hosts=tuple(hosts),
        burst=limits.burst,
        rate=limits.rate,
    )
    return app


async def _sweep(manager: TableManager) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        manager.sweep()


async def _page(request: HttpRequest) -> Response:
    return HTMLResponse(assets.index())


# ---- the socket ----------------------------------------------------------------------------------
class Connection:
    """A browser's socket, with a queue for its messages and a limit on its requests."""

    def __init__(self, socket: WebSocket, limits: Limits) -> None:
        self.owner = ""
        self.address = socket.client.host if socket.client else ""
        self.tables: set[LiveTable] = set()
        self._socket = socket
        self._limits = limits
        self.bucket = Bucket(limits.burst, limits.rate)
        self._out: asyncio.Queue[str | None] = asyncio.Queue()

    def send(self, text: str) -> None:
        """Send a message when the browser is ready. A browser that is never ready is cut off."""
        if self._out.qsize() < self._limits.waiting:
            self._out.put_nowait(text)
        elif self._out.qsize() == self._limits.waiting:
            self._out.put_nowait(None)

    @property
    def num_waiting(self) -> int:
        """The number of messages waiting for the browser."""
        return self._out.qsize()

    async def pump(self) -> None:
        """Send the waiting messages until the browser is cut off."""
        while (text := await self._out.get()) is not None:
            if self._out.qsize() >= self._limits.waiting:
                break
            await self._socket.send_text(text)
        await self._socket.close(1013, "too slow; connect again")


class Lobby:
    """Greets browsers and hands their requests to the tables."""

    def __init__(self, manager: TableManager) -> None:
        self.manager = manager
        self._open: Counter[str] = Counter()

    async def health(self, request: HttpRequest) -> Response:
        """Report that the server works, and its load."""
        load = {
            "connections": self._open.total(),
            "tables": self.manager.num_live,
            "reviews": request.app.state.reviews.num_waiting,
        }
        return JSONResponse({"ok": True, **load})

    async def socket(self, socket: WebSocket) -> None:
        """Serve a browser until it leaves."""
        limits = self.manager.limits
        address = socket.client.host if socket.client else ""
        if self._open[address] >= limits.connections_each or (
            self._open.total() >= limits.connections
        ):
            await socket.close(1013, "too many connections; try again later")
            return
        self._open[address] += 1
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
            for table in connection.tables:
                table.detach(connection)
            self._open[address] -= 1
            self._open += Counter()  # forgets addresses without a connection

    async def _listen(self, socket: WebSocket, connection: Connection) -> None:
        while True:
            event = await socket.receive()
            if event["type"] == "websocket.disconnect":
                return
            if not connection.bucket.take():
                text = "too many messages at once; wait a second"
                connection.send(messages.error(Refusal("too_fast", text), None))
                continue
            data = event.get("text") or event.get("bytes") or ""
            if len(data) > self.manager.limits.message:
                await socket.close(1009, "the message is too large")
                return
            await self._take(connection, data)

    async def _take(self, connection: Connection, data: str | bytes) -> None:
        """Answer a message."""
        request_id: str | int | None = None
        try:
            request = messages.parse(data)
            request_id = request.id
            await self._do(connection, request)
        except Exception as error:
            refusal = messages.refusal_of(error, "a request")
            connection.send(messages.error(refusal, request_id or refusal.id))

    async def _do(self, connection: Connection, request: Request) -> None:
        if request.type == "hello":
            self._greet(connection, request)
        elif not connection.owner:
            raise Refusal("bad_message", "type: send hello first")
        elif request.type == "ping":
            connection.send(answer("pong", {}, request.id))
        elif request.type == "create":
            table = await self.manager.create(connection, request)
            self._ask(connection, table, Request("watch", {}, request.id))
        else:
            self._ask(connection, self.manager.find(request["table"]), request)

    def _ask(self, connection: Connection, table: LiveTable, request: Request) -> None:
        if request.type in ("sit", "watch"):
            connection.tables.add(table)
        table.answer(connection, request)

    def _greet(self, connection: Connection, request: Request) -> None:
        if request["v"] != messages.VERSION:
            raise Refusal(
                "bad_message", f"v: the server speaks {messages.VERSION}; reload the page"
            )
        token = request["token"] or secrets.token_hex(16)
        if connection.owner not in ("", digest_of(token)):
            raise Refusal("bad_message", "type: hello had another token; connect again")
        connection.owner = digest_of(token)
        fields = {
            "v": messages.VERSION,
            "token": token,
            "agents": self.manager.players.to_json(),
            "rules": messages.presets_json(),
            "tables": self.manager.tables_json(connection.owner),
        }
        connection.send(answer("welcome", fields, request.id))


# ---- who may come in -----------------------------------------------------------------------------
MOST_BODY = 512 * 1024
"""The longest body of a request, in bytes."""
_HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def content_policy(scripts: Iterable[str]) -> str:
    """Return the policy of a page: it may load this server's files and run these scripts.

    Args:
        scripts: the digests of the page's inline scripts, from ``assets.script_digests``.
    """
    allowed = " ".join(["'self'", *scripts])
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class SecurityMiddleware:
    """Refuses other sites, unknown hosts and too many requests; adds headers to every answer."""

    def __init__(
        self,
        app: ASGIApp,
        policy: str,
        hosts: tuple[str, ...],
        burst: int,
        rate: float,
    ) -> None:
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._headers = {"Content-Security-Policy": policy, **_HEADERS}
        self._buckets = Buckets(burst, rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        why = self._why_refused(headers)
        if scope["type"] == "websocket":
            if why is not None:
                await WebSocket(scope, receive, send).close(1008, why)
            else:
                await self._app(scope, receive, send)
            return
        if why is not None:
            await PlainTextResponse(why, 403)(scope, receive, send_complete)
        elif _length(headers) > MOST_BODY:
            refusal = review_routes.refused(413, "too_large", "the request is too large")
            await refusal(scope, receive, send_complete)
        elif scope["path"].startswith("/api/") and not self._buckets.take(_address(scope)):
            text = "too many requests at once; wait a second"
            refusal = review_routes.refused(429, "too_fast", text)
            await refusal(scope, receive, send_complete)
        else:
            await self._app(scope, receive, send_complete)

    def _why_refused(self, headers: Headers) -> str | None:
        """Return why the host or origin of a request is refused, or None if it is not."""
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


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _length(headers: Headers) -> int:
    """Return the length of the body in bytes. An unstated length counts as too large."""
    if "transfer-encoding" in headers:
        return MOST_BODY + 1
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else MOST_BODY + 1


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
