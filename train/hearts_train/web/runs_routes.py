"""What the page of training runs asks of a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearts_env import HeartsError
from hearts_train.session.table import Refusal
from hearts_train.web.run_shelf import RunShelf, rules_of

_MOST = 64  # of values of one kind in a question


def routes() -> list[BaseRoute]:
    """The routes, for ``create_app``."""
    return [
        Route("/api/runs", ask_runs),
        Route("/api/runs/curves", ask_curves),
        Route("/api/runs/card", ask_card),
        Route("/api/runs/play", ask_play, methods=["POST"]),
    ]


async def ask_runs(request: Request) -> Response:
    """All runs: how far they are, what they win, in what they differ."""
    return await _answer(_shelf(request).listing)


async def ask_curves(request: Request) -> Response:
    """``?run=...&y=...&x=decisions&by=...``: learning curves; all but x may be repeated."""
    asked = request.query_params
    runs, y, by = (asked.getlist(name)[:_MOST] for name in ("run", "y", "by"))
    x = asked.get("x", "decisions")
    return await _answer(lambda: _shelf(request).curves(runs, y, x, by))


async def ask_card(request: Request) -> Response:
    """``?run=...``: its model card, Markdown, and all its settings."""
    name = request.query_params.get("run")

    def look() -> dict[str, Any]:
        run = _shelf(request).find(name)
        return {"run": name, "card": run.card, "settings": dict(run.settings)}

    return await _answer(look)


async def ask_play(request: Request) -> Response:
    """``{"run": name}``: put its player on the list of agents; its name there, and its rules."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        given = None
    players = request.app.state.hall.players

    def enter() -> dict[str, Any]:
        run = _shelf(request).find(given.get("run") if isinstance(given, dict) else None)
        if not run.has_player:
            raise HeartsError(f"run: {run.path.name} has no player yet; wait for its first save")
        rules = rules_of(run)
        listed = players.add(str(run.path))
        return {"agent": listed.name, "rules": rules.name, "players": rules.players}

    return await _answer(enter)


def _shelf(request: Request) -> RunShelf:
    shelf: RunShelf = request.app.state.runs
    return shelf


async def _answer(work: Callable[[], dict[str, Any]]) -> Response:
    """What `work` finds, in a thread, or in one sentence why not."""
    try:
        return JSONResponse(await run_in_threadpool(work))
    except (HeartsError, Refusal) as error:
        return JSONResponse({"code": "bad_run", "text": str(error)}, 422)
