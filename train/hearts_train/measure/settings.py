"""The keywords that the functions of users share (``hearts_env.support.keywords``)."""

from __future__ import annotations

from typing import TypedDict


class WorkerSettings(TypedDict, total=False):
    """Where the deals are played. The results are the same anywhere."""

    workers: int | None
    backend: str


class PlaySettings(WorkerSettings, total=False):
    """How the deals are played."""

    isolate: bool
    time_limit: float | None
