"""Who may come in, how often, with how much; and the headers that keep others out of the page."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

MOST_BODY = 512 * 1024
"""Bytes that a request may bring."""
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
    """Counts what comes: a number at once, and a number a second after that.

    Attributes:
        left: How many more may come at once; after a flood it is down to less than minus `burst`,
            never further, so that whoever stops is soon let in again.
    """

    def __init__(
        self, burst: int, rate: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.left = float(burst)
        self._burst, self._rate, self._clock = float(burst), rate, clock
        self._at = clock()

    def take(self) -> bool:
        """Count one; whether it is one too many."""
        now = self._clock()
        left = min(self.left + (now - self._at) * self._rate, self._burst)
        self.left = max(left, -self._burst) - 1
        self._at = now
        return self.left < 0

    @property
    def is_flooded(self) -> bool:
        """Whether as many again have come as may come at once."""
        return self.left < -self._burst

    @property
    def wait(self) -> float:
        """Seconds until one more may come, if none comes before."""
        return max(0.0, (1 - self.left) / self._rate)


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

    def __init__(
        self,
        app: ASGIApp,
        policy: str,
        hosts: tuple[str, ...] = (),
        burst: int = 60,
        rate: float = 10.0,
    ) -> None:
        self._app = app
        self._burst, self._rate = burst, rate
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
        elif scope["path"].startswith("/api/") and (bucket := self._bucket(scope)).take():
            seconds = math.ceil(bucket.wait)
            text = f"too many requests at once; wait {seconds} s"
            refused = _refused(429, "too_fast", text)
            refused.headers["Retry-After"] = str(seconds)
            await refused(scope, receive, send_complete)
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

    def _bucket(self, scope: Scope) -> Bucket:
        """That of the address from which a request comes."""
        address = scope["client"][0] if scope.get("client") else ""
        bucket = self._buckets.setdefault(address, Bucket(self._burst, self._rate))
        self._buckets.move_to_end(address)
        if len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return bucket


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
