"""The server: pages, files and the socket of the tables, as one ASGI application.

It refuses other origins and unknown host names, and messages that are too large or too many.
Headers keep other sites out of the page.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from hearts_env.support.files import json_object
from hearts_train.web import assets, messages, review_routes
from hearts_train.web.folders import ServerFolder, digest_of
from hearts_train.web.hosting import Connection, Limits, LiveTable, TableManager
from hearts_train.web.messages import Create, Hello, OfTable, Request, answer
from hearts_train.web.players import Players
from hearts_train.web.table import Refusal

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
        limits: the limits for browsers. If None, the default limits.
        hosts: further names of the server, besides addresses and ``localhost``.
    """
    limits = limits or Limits()
    manager = TableManager(folder, players, limits)
    lobby = Lobby(manager)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        sweeper = asyncio.create_task(_sweep(manager))
        try:
            yield
        finally:
            sweeper.cancel()
            manager.close()

    app = Starlette(
        routes=[
            *(Route(path, _page) for path in ("/", "/t/{table}", "/board")),
            Route("/healthz", lobby.health),
            WebSocketRoute("/ws", lobby.socket),
            Route("/static/{name}", _file),
            Route("/api/review", review_routes.ask_review, methods=["POST"]),
            Route("/api/try", review_routes.ask_try, methods=["POST"]),
            Route("/api/costliest", review_routes.ask_costliest, methods=["POST"]),
        ],
        exception_handlers={404: _lost},
        lifespan=lifespan,
    )
    app.state.manager = manager
    app.state.reviews = review_routes.ReviewQueue(limits)
    app.add_middleware(GZipMiddleware)
    app.add_middleware(SecurityMiddleware, hosts=hosts)
    return app


async def _sweep(manager: TableManager) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        manager.sweep()


async def _page(request: HttpRequest) -> Response:
    return HTMLResponse(assets.index())


async def _lost(request: HttpRequest, error: Exception) -> Response:
    return HTMLResponse(assets.index(), 404)  # it says so, and links to the lobby


async def _file(request: HttpRequest) -> Response:
    file = assets.files().get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    headers = {"ETag": file.tag, "Vary": "Accept-Encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.data, media_type=file.kind, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(file.packed, media_type=file.kind, headers=headers)


# ---- the socket ----------------------------------------------------------------------------------
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
        connection = Connection(socket, limits)
        address = connection.address
        if self._open[address] >= limits.connections_each or (
            self._open.total() >= limits.connections
        ):
            await socket.close(1013, "too many connections; try again later")
            return
        self._open[address] += 1
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
            data = event.get("text") or event.get("bytes") or ""
            if len(data) > self.manager.limits.message:
                await socket.close(1009, "the message is too large")
                return
            await self._take(connection, json_object(data))

    async def _take(self, connection: Connection, message: dict[str, Any] | None) -> None:
        """Answer a message."""
        try:
            if not connection.bucket.take():
                raise Refusal("too_fast", "too many messages at once; wait a second")
            await self._do(connection, messages.parse(message))
        except Exception as error:
            refusal = messages.refusal_of(error, "a request")
            connection.send(messages.error(refusal, messages.id_of(message)))

    async def _do(self, connection: Connection, request: Request) -> None:
        if isinstance(request, Hello):
            self._greet(connection, request)
        elif not connection.owner:
            raise Refusal("bad_message", "type: send hello first")
        elif isinstance(request, Create):
            table = await self.manager.create(connection, request)
            watch = OfTable(type="watch", table=table.table.id, id=request.id)
            self._ask(connection, table, watch)
        elif isinstance(request, OfTable):
            self._ask(connection, self.manager.find(request.table), request)
        else:
            connection.send(answer("pong", {}, request.id))

    def _ask(self, connection: Connection, table: LiveTable, request: OfTable) -> None:
        if request.type in ("sit", "watch"):
            connection.tables.add(table)
        table.answer(connection, request)

    def _greet(self, connection: Connection, request: Hello) -> None:
        if request.v != messages.VERSION:
            raise Refusal(
                "bad_message", f"v: the server speaks version {messages.VERSION}; reload the page"
            )
        token = request.token or secrets.token_hex(16)
        if connection.owner not in ("", digest_of(token)):
            raise Refusal("bad_message", "type: hello had another token; connect again")
        connection.owner = digest_of(token)
        fields = {
            "v": messages.VERSION,
            "token": token,
            "agents": self.manager.players.to_json(),
            "rules": messages.presets_json(),
            "tables": self.manager.tables_json(connection.owner, request.tables),
        }
        connection.send(answer("welcome", fields, request.id))


# ---- who may come in -----------------------------------------------------------------------------
_HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class SecurityMiddleware:
    """Refuses other sites and unknown hosts, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        scripts = " ".join(["'self'", *assets.script_digests(assets.index())])
        policy = (
            f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self._headers = {"Content-Security-Policy": policy, **_HEADERS}

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

        why = self._why_refused(Headers(scope=scope))
        if why is None:
            await self._app(scope, receive, send_complete)
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(1008, why)
        else:
            await PlainTextResponse(why, 403)(scope, receive, send_complete)

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


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
