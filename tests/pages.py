"""Run a page's code again only if the page, the packages or the libraries have changed."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "hearts_env/**/*",
    "agents/**/*",
    "train/**/*",
    "configs/*",
    "examples/**/*",
    "docs/*.py",
)


def sources() -> list[Path]:
    """The files that can change what a page's code does."""
    found = {path for pattern in SOURCES for path in ROOT.glob(pattern)}
    return sorted(p for p in found if p.is_file() and "__pycache__" not in p.parts)


@functools.cache
def digest_of_sources() -> str:
    """SHA-256 of all that can change what a page's code does: packages, libraries, Python."""
    made = hashlib.sha256(sys.version.encode())
    made.update(str(sorted((d.name, d.version) for d in distributions())).encode())
    for path in sources():
        made.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return made.hexdigest()


def run_if_changed(request: pytest.FixtureRequest, text: str, run: Callable[[], object]) -> None:
    """Run a test's body, unless it passed before with this `text` and these sources.

    What has passed is in pytest's cache: ``pytest --cache-clear`` runs everything again.
    """
    digest = hashlib.sha256((digest_of_sources() + text).encode()).hexdigest()
    key = f"hearts/passed/{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]}"
    cache = getattr(request.config, "cache", None)
    if cache is None or cache.get(key, None) != digest:
        run()
        if cache is not None:
            cache.set(key, digest)
