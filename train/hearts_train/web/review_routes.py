"""The routes of the analysis board.

A `ReviewQueue` reviews deals in threads of its own, so tables do not wait. No one can block it for
others: it reviews one deal of an address at a time, gives up after a minute or when the browser has
left, and refuses new deals while many wait.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from hearts_env import HeartsError
from hearts_env.cards import parse_card
from hearts_env.support.files import json_object
from hearts_env.support.progress import Progress
from hearts_train.web.hosting import Buckets, Limits
from hearts_train.web.players import Workers
from hearts_train.web.review import Json, costliest, read_deal, review, tried
from hearts_train.web.table import Refusal

log = logging.getLogger("hearts.serve")

MOST_BODY = 64 * 1024
"""The longest body of a request, in bytes. The text of a deal has about a thousand."""
MOST_EACH = 3
"""Deals of one address that may wait or be under way."""

_STATUS = {"bad_message": 400, "too_large": 413, "bad_deal": 422, "too_fast": 429, "internal": 500}

Work = Callable[[Json, Progress], Any]


async def ask_review(request: Request) -> Response:
    """Answer ``{"deal": text}`` with the document of the deal."""

    def look(given: Json, progress: Progress) -> Json:
        return review(read_deal(_deal_of(given)), progress=progress)

    return await _answer(request, look)


async def ask_try(request: Request) -> Response:
    """Answer ``{"deal": text, "at": number, "card": name}`` with the document of that line.

    Its figures begin with the card.
    """

    def look(given: Json, progress: Progress) -> Json:
        at = given.get("at", 0)
        record = tried(read_deal(_deal_of(given)), at, parse_card(given.get("card")))
        return review(record, progress=progress, since=at)

    return await _answer(request, look)


async def ask_costliest(request: Request) -> Response:
    """Answer ``{"deal": text, "seat": number}`` with the seat's costliest card."""

    def look(given: Json, progress: Progress) -> Json:
        return costliest(read_deal(_deal_of(given)), given.get("seat", 0), progress)

    return await _answer(request, look)


def _deal_of(given: Json) -> str:
    text = given.get("deal")
    if not isinstance(text, str) or not text.strip():
        raise HeartsError("deal: none given; give the text of one deal")
    return text


class ReviewQueue:
    """Reviews deals for browsers.

    Attributes:
        patience: the seconds that a deal may take.
        most: the most deals, of all addresses, that may wait or be under way.
    """

    def __init__(self, limits: Limits, patience: float = 60.0, most: int = 24) -> None:
        self.patience = patience
        self.most = most
        self._buckets = Buckets(limits.burst, limits.rate)
        self._workers = Workers("board", 2)  # so no address has all of them
        self._waiting: Counter[str] = Counter()
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def num_waiting(self) -> int:
        """The number of deals that wait or are under way."""
        return self._waiting.total()

    async def look(self, address: str, work: Work, given: Json) -> bytes:
        """Return the result of a review as JSON.

        Raises:
            Refusal: if the deal cannot be reviewed, takes too long, or many wait already.
        """
        if not self._buckets.take(address):
            raise Refusal("too_fast", "too many requests at once; wait a second")
        if self._waiting[address] >= MOST_EACH or self.num_waiting >= self.most:
            raise Refusal("too_fast", "too many deals are waiting; try again in a minute")
        is_over = threading.Event()

        def progress(done: float, total: float) -> None:
            if is_over.is_set():
                raise HeartsError("deal: no one waits for it; ask again")  # ends the thread

        def do() -> bytes:
            return json.dumps(work(given, progress)).encode()

        self._waiting[address] += 1
        try:
            async with self._turns.setdefault(address, asyncio.Lock()):
                return await self._workers.run(do, self.patience)
        except TimeoutError:
            text = f"deal: it takes longer than {self.patience:g} seconds; use hearts analyse"
            raise Refusal("too_long", text) from None
        except HeartsError as error:
            raise Refusal("bad_deal", str(error)) from None
        except Exception:
            log.exception("a deal could not be reviewed")
            text = "the server made a mistake with this deal"
            raise Refusal("internal", text) from None
        finally:
            is_over.set()
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address], self._turns[address]


async def _answer(request: Request, work: Work) -> Response:
    """Return the result of `work` on the request, or a refusal."""
    reviews: ReviewQueue = request.app.state.reviews
    address = request.client.host if request.client else ""
    try:
        given = json_object(await _body(request))
        if given is None:
            raise Refusal("bad_message", "body: it is not a JSON object; send one")
        found = await _unless_left(request, reviews.look(address, work, given))
        return Response(found, media_type="application/json")
    except ClientDisconnect:
        return Response()  # no one reads it
    except Refusal as refusal:
        fields = {"code": refusal.code, "text": refusal.text}
        return JSONResponse(fields, _STATUS.get(refusal.code, 503))


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise Refusal("too_large", "the request is too large")
    return bytes(body)


async def _unless_left(request: Request, work: Coroutine[Any, Any, bytes]) -> bytes:
    """Return the result of `work`. Cancel it when the sender of the request leaves."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        task.cancel()
    await asyncio.wait([task])
    if task.cancelled():
        raise ClientDisconnect
    return task.result()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
