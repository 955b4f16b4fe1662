"""The training runs that a server shows: read from their folders, again when they have changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearts_env import HeartsError
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import CheckpointError, quoted
from hearts_env.support.files import json_object
from hearts_train.learn.log import METRICS_NAME, exploitability_of
from hearts_train.learn.report import (
    TIMES,
    axis_label,
    chosen,
    curves,
    differing,
    grouped,
    quantities,
    standing,
)
from hearts_train.learn.runs import RunFolder, began, has_player, read_run, run_folders
from hearts_train.session.table import Refusal

_LOOK = 2.0  # seconds between two looks for new folders


class RunShelf:
    """The runs under some folders, by names that say nothing about where they are.

    Browsers name runs by these names alone; nothing that they send becomes a path.
    """

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = list(places)
        self._lock = threading.Lock()
        self._found: dict[str, Path] = {}
        self._read: dict[Path, tuple[tuple[int, int], RunFolder]] = {}
        self._looked = -_LOOK

    def runs(self) -> dict[str, RunFolder]:
        """All runs that can be read, by name, newest first."""
        with self._lock:
            if time.monotonic() - self._looked >= _LOOK:
                self._found = self._names()
                self._looked = time.monotonic()
            found = {}
            for name, path in self._found.items():
                try:
                    found[name] = self._fresh(path)
                except (HeartsError, OSError):  # gone, or just being written
                    continue
            return found

    def _names(self) -> dict[str, Path]:
        """The folders of runs, newest first, by their path from the place where they were found."""
        found: dict[str, Path] = {}
        for place in self.places:
            for path in run_folders(place):
                inside = path.relative_to(place).as_posix()
                plain = name = path.resolve().name if path == place else inside
                number = 1
                while name in found:
                    number += 1
                    name = f"{plain} ({number})"
                found[name] = path
        return dict(sorted(found.items(), key=lambda item: began(item[1]), reverse=True))

    def _fresh(self, path: Path) -> RunFolder:
        """The run in a folder, as it is now."""
        stat = (path / METRICS_NAME).stat()
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._read.get(path)
        if known is None or known[0] != stamp or known[1].is_training:
            known = self._read[path] = (stamp, read_run(path))
        return known[1]

    def find(self, name: object) -> RunFolder:
        """The run of this name; CheckpointError if there is none."""
        runs = self.runs()
        if not isinstance(name, str) or name not in runs:
            raise CheckpointError(f"run: {quoted(name)} is not here; reload the page", value=name)
        return runs[name]

    def player_of(self, agent: str) -> str | None:
        """The folder of the newest run whose player is on the list of agents under this name."""
        folders = (path for path in self._names().values() if path.name == agent)
        return next((str(path) for path in folders if has_player(path)), None)

    def listing(self) -> dict[str, Any]:
        """All runs, as the page lists them."""
        runs = self.runs()
        names = differing(list(runs.values()))
        return {
            "places": [place.name or str(place) for place in self.places],
            "differing": names,
            "quantities": quantities(list(runs.values())),
            "standing": standing(list(runs.values())),
            "x": {name: time.label for name, time in TIMES.items()},
            "runs": [_summary(name, run, names) for name, run in runs.items()],
        }

    def curves(
        self, wanted: Sequence[str], y: Sequence[str], x: str, by: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The curves of some runs, a panel for each quantity.

        Args:
            wanted: names of runs; none: all.
            y: quantities, as ``listing`` has them; none: margins and exploitability.
            x: ``decisions`` or ``minutes``.
            by: settings that tell curves apart; none: all but seed and machine.

        Raises:
            HeartsError: if one of them is unknown.
        """
        if x not in TIMES:
            raise HeartsError(f"x: {quoted(x)} is unknown; choose {' or '.join(TIMES)}", value=x)
        runs = self.runs()
        picked = [self.find(name) for name in wanted] if wanted else list(runs.values())
        groups = grouped(picked, by)
        names = {run.path: name for name, run in runs.items()}
        return {
            "x": TIMES[x].label,
            "groups": {
                label: [names.get(run.path, run.path.name) for run in group]
                for label, group in groups.items()
            },
            "panels": [
                {
                    "quantity": quantity,
                    "label": axis_label(quantity),
                    "curves": [one.to_json() for one in curves(groups, quantity, x)],
                }
                for quantity in chosen(picked, y)
            ],
        }


def rules_of(run: RunFolder) -> Rules:
    """The rules that a run learns to play."""
    name, players = run.settings.get("env.rules"), run.settings.get("env.players")
    return Rules.make(str(name), players if isinstance(players, int) else None)


def _summary(name: str, run: RunFolder, differing_in: Sequence[str]) -> dict[str, Any]:
    exploited = run.latest_exploitability
    return (
        {"run": name}
        | run.summary()
        | {
            "rules": run.settings.get("env.rules"),
            "left": run.seconds_left if run.is_training else None,
            "player": has_player(run.path),
            "margins": {
                opponent: {"margin": row["margin"], "ci95": row["ci95"]}
                for opponent, row in run.latest.items()
            },
            "exploitability": exploitability_of(exploited) if exploited else None,
            "settings": {key: run.settings.get(key) for key in differing_in},
        }
    )


# ---- what the page asks of a server --------------------------------------------------------------
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
    query = request.query_params
    runs, y, by = (query.getlist(name)[:_MOST] for name in ("run", "y", "by"))
    x = query.get("x", "decisions")
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
    given = json_object(await request.body()) or {}
    players = request.app.state.manager.players

    def enter() -> dict[str, Any]:
        run = _shelf(request).find(given.get("run"))
        if not has_player(run.path):
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
