"""What the analysis board and the puzzles ask of a server: deals reviewed, positions measured.

One deal is looked at after the other, in a thread of its own, so that the tables are not kept
waiting; when many wait, further ones are asked to come back.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearts_env import HeartsError
from hearts_train.web import puzzles
from hearts_train.web.moments import Json
from hearts_train.web.review import position, read_deal, review

log = logging.getLogger("hearts.serve")

MOST_TEXT = 20_000
"""Characters of a deal; the longest of seven players with all tags have some thousand."""
MOST_ACTIONS = 120
MOST_WAITING = 8

_worker = ThreadPoolExecutor(1, thread_name_prefix="review")
_waiting = 0


def routes() -> list[BaseRoute]:
    """The routes, for ``create_app``."""
    return [
        Route("/api/review", ask_review, methods=["POST"]),
        Route("/api/position", ask_position, methods=["POST"]),
        Route("/api/puzzles", ask_puzzles),
    ]


async def ask_review(request: Request) -> Response:
    """``{"deal": text}``: the document of the deal."""
    return await _answer(request, lambda given: review(read_deal(_deal_of(given))))


async def ask_position(request: Request) -> Response:
    """``{"deal": text, "actions": [...]}``: the position after these actions from its start."""

    def look(given: Json) -> Json:
        actions = given.get("actions")
        if not isinstance(actions, list) or not all(isinstance(a, str) for a in actions):
            raise HeartsError("actions: not a list of names; give one, such as ['2C', 'QS']")
        if len(actions) > MOST_ACTIONS:
            raise HeartsError(f"actions: {len(actions)} given; at most {MOST_ACTIONS} make a deal")
        return position(read_deal(_deal_of(given)), actions)

    return await _answer(request, look)


async def ask_puzzles(request: Request) -> Response:
    """All puzzles; with ``?number=N`` one of them."""
    number = request.query_params.get("number")
    if number is None:
        return JSONResponse({"puzzles": puzzles.listed()})
    try:
        told = puzzles.told(int(number) if number.isascii() and number.isdigit() else 0)
    except HeartsError as error:
        return _refused(404, "unknown_puzzle", str(error))
    return JSONResponse(told)


def _deal_of(given: Json) -> str:
    """The text of a request.

    Raises:
        HeartsError: if there is none, or too much of it.
    """
    text = given.get("deal")
    if not isinstance(text, str) or not text.strip():
        raise HeartsError("deal: none given; give the text of one deal")
    if len(text) > MOST_TEXT:
        raise HeartsError(
            f"deal: {len(text):,} characters are too many; give at most {MOST_TEXT:,}"
        )
    return text


async def _answer(request: Request, work: Callable[[Json], Any]) -> Response:
    """What `work` makes of the request, or in one sentence why not."""
    global _waiting
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return _refused(400, "bad_message", "body: it is not a JSON object")
    if _waiting >= MOST_WAITING:
        return _refused(503, "too_fast", "many deals are being looked at; try again in a minute")
    _waiting += 1
    try:
        told = await asyncio.get_running_loop().run_in_executor(_worker, work, given)
        return JSONResponse(told)
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON can carry
        return _refused(
            422, "bad_deal", "deal: it has characters that cannot be written; correct it"
        )
    except HeartsError as error:
        return _refused(422, "bad_deal", str(error))
    except Exception:
        log.exception("a deal could not be looked at")
        return _refused(500, "internal", "the server made a mistake with this deal")
    finally:
        _waiting -= 1


def _refused(status: int, code: str, text: str) -> Response:
    return JSONResponse({"code": code, "text": text}, status)
