"""The keywords that several public functions share (see ``hearts_env.support.keywords``)."""

from __future__ import annotations

from typing import TypedDict


class WorkerSettings(TypedDict, total=False):
    """The place where the deals are played, which does not change the results."""

    workers: int | None
    backend: str


class PlaySettings(WorkerSettings, total=False):
    """How the deals are played."""

    isolate: bool
    time_limit: float | None
