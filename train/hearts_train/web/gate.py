"""Who may come in, how often, with how much; and the headers that keep others out of the page."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

MOST_BODY = 512 * 1024
"""Bytes that a request may bring."""
_API_BURST, _API_RATE = 60, 10.0
_MOST_ADDRESSES = 10_000
_HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Bucket:
    """Counts what comes: a number at once, and a number a second after that."""

    def __init__(self, burst: int, rate: float) -> None:
        self.left = float(burst)
        self._burst, self._rate, self._at = float(burst), rate, time.monotonic()

    def take(self) -> bool:
        """Count one; whether it is one too many."""
        now = time.monotonic()
        self.left = min(self.left + (now - self._at) * self._rate, self._burst) - 1
        self._at = now
        return self.left < 0


def content_policy(scripts: Iterable[str]) -> str:
    """What a page may load: files of this server, and these scripts that it has inside.

    Args:
        scripts: as ``assets.script_digests`` gives them.
    """
    allowed = " ".join(["'self'", *scripts])
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Gate:
    """Refuses other sites, other names of the host, and too much; completes every answer."""

    def __init__(self, app: ASGIApp, policy: str, hosts: tuple[str, ...] = ()) -> None:
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._headers = {"Content-Security-Policy": policy, **_HEADERS}
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
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
        stranger = self._stranger(headers)
        if scope["type"] == "websocket":
            if stranger is not None:
                await WebSocket(scope, receive, send).close(1008, stranger)
            else:
                await self._app(scope, receive, send)
            return
        if stranger is not None:
            await PlainTextResponse(stranger, 403)(scope, receive, send_complete)
        elif _length(headers) > MOST_BODY:
            await _refused(413, "too_large", "the request is too large")(
                scope, receive, send_complete
            )
        elif scope["path"].startswith("/api/") and self._is_too_fast(scope):
            await _refused(429, "too_fast", "too many requests at once; wait some seconds")(
                scope, receive, send_complete
            )
        else:
            await self._app(scope, receive, send_complete)

    def _stranger(self, headers: Headers) -> str | None:
        """Why a request is refused whatever it asks for; None: it is not."""
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

    def _is_too_fast(self, scope: Scope) -> bool:
        address = scope["client"][0] if scope.get("client") else ""
        bucket = self._buckets.setdefault(address, Bucket(_API_BURST, _API_RATE))
        self._buckets.move_to_end(address)
        if len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return bucket.take()


def _refused(status: int, code: str, text: str) -> JSONResponse:
    return JSONResponse({"code": code, "text": text}, status)


def _length(headers: Headers) -> int:
    """The bytes that follow; a body whose length is not said counts as too large."""
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
