"""HeartsBench's versions: which deals are played, and against whom; and how these do.

A version is an entry of ``VERSIONS``, and nothing else knows one from another. What has been
published stays as it is: whatever would change in a result of a version is another version.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hearts_agents.registry import versioned
from hearts_env import HeartsError
from hearts_env.support.errors import quoted

SPLITS = ("dev", "test")
BUDGETS: dict[str, float] = {"1ms": 1.0, "50ms": 50.0, "free": math.inf}
"""Milliseconds that an agent may take for a card, on the mean of ``act_batch``."""


FIELD = Path(str(files("hearts_train.measure") / "field.json"))
"""How the players of the fields do against each other, by track and split ("two_player dev"): the
`seed` of the deals, how many `deals`, and `pairings` both ways round. They do not change, so the
figures are shipped (``bench/benchmark_field.py`` played them): for every version with these
deals."""


@dataclass(frozen=True)
class Track:
    """A game of the benchmark.

    Attributes:
        name: What it is called.
        rules: Its rules, as ``Rules.from_text`` reads them.
        deals: Duplicate deals that a full result has.
        field: Who is played against, by name and version, ``pro-v1``.
        is_exact: Whether the exact exploitability is computed too.
        digests: SHA-256 of the deals of ``dev`` and of ``test``.
        drawn_by: What the seeds of its deals are made of: the version that drew them.
    """

    name: str
    rules: str
    deals: int
    field: tuple[str, ...]
    is_exact: bool
    digests: tuple[str, str]
    drawn_by: str = "HeartsBench v1"

    def seed(self, split: str) -> int:
        """What the deals of a split follow from: from 0 to 2**63 - 1."""
        digest = hashlib.sha256(f"{self.drawn_by} {self.name} {split}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    def digest(self, split: str) -> str:
        """The SHA-256 that the deals of a split have."""
        return self.digests[SPLITS.index(split)]

    def players(self) -> list[str]:
        """The field by the plain names, ``pro``.

        Raises:
            HeartsError: if this package has another version of one of them.
        """
        plain = [name.rpartition("-v")[0] for name in self.field]
        for name, ours in zip(self.field, map(versioned, plain), strict=True):
            if name != ours:
                raise HeartsError(
                    f"protocol: {name} of its field is not in this package, which has {ours}; "
                    f"play {protocol_name(NEWEST)}, or install a version of hearts-env that has "
                    f"{name}"
                )
        return plain


Tracks = dict[str, Track]

_TWO = ("easy-v1", "standard-v1", "standard_trump-v1", "pro-v1", "pimc-v1")
_MANY = ("easy-v1", "standard-v1", "pro-v1")
_FIRST: Tracks = {
    track.name: track
    for track in (
        Track(
            "two_player",
            "two_player",
            2000,
            _TWO,
            is_exact=False,
            digests=(
                "e50b61f8e93e56dd2741b1f3396d41a5eefa8a57e25f95082df7d10d676e99ca",
                "9424d5ad35b027af45ad5d4142840e4730846c81532524725f3640b772f10cfa",
            ),
        ),
        Track(
            "mini",
            "mini",
            5000,
            (*_TWO, "equilibrium-v1"),
            is_exact=True,
            digests=(
                "0aeb077d936f2248f9c3f715b42a0d3554ed6b5b062438be2b83acb0101066fb",
                "d58e37147a7e0dad62e3dfa1d5b98024857531771be4ae313de09b4e86c94a39",
            ),
        ),
        Track(
            "micro",
            "micro",
            5000,
            (*_TWO, "equilibrium-v1"),
            is_exact=True,
            digests=(
                "12b61dcb30298f34f864382e82225b430cb3cfabbfa1eaeda6944ffeb5f0e1d5",
                "10bee9a415db0fad2ae95856fb291b4c72d0d44b0147241bc389f4f72da54ac0",
            ),
        ),
        Track(
            "classic",
            "classic",
            500,
            _MANY,
            is_exact=False,
            digests=(
                "e5b4aa2400fa2c416a12ce18834341f2d40e67a4ea00000b8815214875f898af",
                "bc82d388a2174c7bbcbaed9326d167d65a47a93618cdcd6f9147030e9cf3c5ac",
            ),
        ),
        Track(
            "party-5",
            "party players=5",
            500,
            _MANY,
            is_exact=False,
            digests=(
                "4259f2ddedbacc8dfa2c10253347d378fec515ab186fe62af85d5d9f1415bd66",
                "e0c1daea71ef60763a208526d47eebd41657ec352d41369cea007ae384b868f3",
            ),
        ),
    )
}


def _joined(tracks: Tracks, player: str, names: Iterable[str]) -> Tracks:
    """The tracks, with one more player in the fields of those that are named."""
    return tracks | {
        name: replace(tracks[name], field=(*tracks[name].field, player)) for name in names
    }


VERSIONS: dict[int, Tracks] = {
    1: _FIRST,
    2: _joined(_FIRST, "champion-v1", ("two_player", "mini", "classic")),
}
"""The tracks of each version, by name."""
NEWEST = max(VERSIONS)
TRACKS = VERSIONS[NEWEST]


def protocol_name(number: int) -> str:
    """What a version is called in results."""
    return f"HeartsBench v{number}"


def protocol_number(name: object, where: str) -> int:
    """The version that a file names.

    Args:
        name: what the file says.
        where: begins the message: what the file is read for.

    Raises:
        HeartsError: if this package has no such version.
    """
    known = {protocol_name(number): number for number in VERSIONS}
    if not isinstance(name, str) or name not in known:
        raise HeartsError(
            f"{where}: protocol of the result is {quoted(name)}, this package has "
            f"{' and '.join(known)}; use the version of hearts-env that made it",
            value=name,
        )
    return known[name]


def read_field() -> dict[str, dict[str, Any]]:
    """The tables of ``FIELD``."""
    tables: dict[str, dict[str, Any]] = json.loads(FIELD.read_bytes()) if FIELD.exists() else {}
    return tables
