"""The routes of the analysis board: deals reviewed.

A `ReviewQueue` reviews deals in threads of its own, so tables do not wait. No one can block it for
others: it reviews one deal of an address at a time, gives up after a while or when the browser has
left, and refuses new deals while many wait.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from hearts_env import HeartsError
from hearts_env.support.files import json_object
from hearts_env.support.progress import Progress
from hearts_train.web.players import Workers, check_wanted
from hearts_train.web.review import Json, costliest, read_deal, review
from hearts_train.web.table import Refusal

log = logging.getLogger("hearts.serve")

MOST_TEXT = 20_000
"""Characters of a deal; the longest of seven players with all tags have some thousand."""
LINES = "application/x-ndjson"
"""A browser that accepts this gets the progress in lines of JSON; the last has the answer."""

_STATUS = {"bad_deal": 422, "internal": 500}  # all others: 503

Work = Callable[[Json, Progress], Any]


def routes() -> list[BaseRoute]:
    """Return the routes, for ``create_app``."""
    return [
        Route("/api/review", ask_review, methods=["POST"]),
        Route("/api/costliest", ask_costliest, methods=["POST"]),
    ]


async def ask_review(request: Request) -> Response:
    """``{"deal": text}``: the document of the deal."""

    def look(given: Json, progress: Progress) -> Json:
        return review(read_deal(_deal_of(given)), progress=progress)

    return await _answer(request, look)


async def ask_costliest(request: Request) -> Response:
    """``{"deal": text, "seat": number}``: the card by which this seat gave away most."""

    def look(given: Json, progress: Progress) -> Json:
        return costliest(read_deal(_deal_of(given)), given.get("seat", 0), progress)

    return await _answer(request, look)


def _deal_of(given: Json) -> str:
    text = given.get("deal")
    if not isinstance(text, str) or not text.strip():
        raise HeartsError("deal: none given; give the text of one deal")
    if len(text) > MOST_TEXT:
        raise HeartsError(f"deal: {len(text):,} characters given; give at most {MOST_TEXT:,}")
    return text


class ReviewQueue:
    """Reviews deals for browsers.

    Attributes:
        patience: Seconds that a deal may take.
        most_each: Deals of one address that may wait or be under way.
        most: Deals of all addresses.
    """

    def __init__(self, patience: float = 60.0, most_each: int = 3, most: int = 24) -> None:
        self.patience = patience
        self.most_each, self.most = most_each, most
        self._workers = Workers("board", 2)  # so that no one address has all of them
        self._waiting: Counter[str] = Counter()
        self._turns: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[bytes]] = set()

    @property
    def num_waiting(self) -> int:
        """The number of deals that wait or are under way."""
        return self._waiting.total()

    def check_room(self, address: str) -> None:
        """Refuse another deal.

        Raises:
            Refusal: if many wait already.
        """
        if self._waiting[address] >= self.most_each or self.num_waiting >= self.most:
            raise Refusal("too_fast", "too many deals wait for a review; try again in a minute")

    def begin(self, address: str, work: Work, given: Json, report: Progress) -> asyncio.Task[bytes]:
        """Begin a review; the result of its task is the answer as JSON, or a `Refusal`."""
        task = asyncio.create_task(self._look(address, work, given, report))
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[bytes]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # else asyncio reports it where no one asks for the result

    def stop(self) -> None:
        """Give up all reviews; browsers that wait get a refusal."""
        for task in self._tasks:
            task.cancel()

    async def _look(self, address: str, work: Work, given: Json, report: Progress) -> bytes:
        def progress(done: float, total: float) -> None:
            check_wanted()
            report(done, total)

        def do() -> bytes:
            return json.dumps(work(given, progress), ensure_ascii=False).encode()

        self._waiting[address] += 1
        try:
            async with self._turns.setdefault(address, asyncio.Lock()):
                return await self._workers.run(do, self.patience)
        except TimeoutError:
            text = f"deal: it takes longer than {self.patience:g} seconds; use hearts analyse"
            raise Refusal("too_long", text) from None
        except UnicodeEncodeError:  # half of a pair of surrogates, which JSON can carry
            text = "deal: it has characters that cannot be written; correct it"
            raise Refusal("bad_deal", text) from None
        except HeartsError as error:
            raise Refusal("bad_deal", str(error)) from None
        except Exception:
            log.exception("a deal could not be reviewed")
            text = "the server made a mistake with this deal"
            raise Refusal("internal", text) from None
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address], self._turns[address]


async def _answer(request: Request, work: Work) -> Response:
    """Return the result of `work` on the request, or one sentence that says why not."""
    try:
        given = json_object(await request.body())
    except ClientDisconnect:  # in the middle of the body; no one reads the answer
        return refused(400, "bad_message", "body: it ended too early; send all of it")
    if given is None:
        return refused(400, "bad_message", "body: it is not a JSON object; send one")
    reviews: ReviewQueue = request.app.state.reviews
    address = request.client.host if request.client else ""
    try:
        reviews.check_room(address)
        if LINES in request.headers.get("accept", ""):
            lines = _lines(lambda report: reviews.begin(address, work, given, report))
            return StreamingResponse(lines, media_type=LINES)
        task = reviews.begin(address, work, given, lambda _done, _total: None)
        await _wait(task, request)
        return Response(_result(task), media_type="application/json")
    except Refusal as refusal:
        return refused(_STATUS.get(refusal.code, 503), refusal.code, refusal.text)


async def _wait(task: asyncio.Task[bytes], request: Request) -> None:
    """Wait for the end of a task, and cancel it when the sender of the request has left."""
    gone = asyncio.create_task(_left(request))
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.wait([task])


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _lines(begin: Callable[[Progress], asyncio.Task[bytes]]) -> AsyncIterator[bytes]:
    """Write the progress line by line; the last line has the answer, or the refusal."""
    shares: asyncio.Queue[float | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def report(done: float, total: float) -> None:
        loop.call_soon_threadsafe(shares.put_nowait, done / max(total, 1))

    task = begin(report)
    task.add_done_callback(lambda _task: shares.put_nowait(None))
    try:
        while (share := await shares.get()) is not None:
            yield b'{"done":%.3f}\n' % share
        try:
            yield b'{"answer":' + _result(task) + b"}\n"
        except Refusal as refusal:
            refused = {"refused": {"code": refusal.code, "text": refusal.text}}
            yield json.dumps(refused).encode() + b"\n"
    finally:
        task.cancel()


def _result(task: asyncio.Task[bytes]) -> bytes:
    """Return the answer of a task that has ended, or raise its refusal."""
    if task.cancelled():
        raise Refusal("ending", "the server is being stopped; try again later")
    return task.result()


def refused(status: int, code: str, text: str) -> Response:
    """Return a refusal as an answer."""
    return JSONResponse({"code": code, "text": text}, status)
