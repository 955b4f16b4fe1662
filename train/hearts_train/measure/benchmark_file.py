"""Files of HeartsBench: one JSON that says what was played, with a seal that shows an edit.

``result`` holds what follows from protocol, agent and version of the package: played again it is
the same to the byte. ``run`` holds what does not: times, machine, command. ``sha256`` is the seal,
the SHA-256 of ``result`` in its shortest spelling; it shows accidents, not forgers, who can write a
new one. Only playing it again shows that a result holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hearts_agents.user_code import blamed
from hearts_env import HeartsError
from hearts_env.solve.best_response import exploit
from hearts_env.solve.tree import Tree
from hearts_env.support.errors import quoted
from hearts_env.support.files import read_limited
from hearts_env.support.progress import Progress
from hearts_train.measure.participants import Participant

FORMAT = "HeartsBench result"
VERSION = 1
_MOST_BYTES = 2**26
_MAX_LISTED = 10
_DECIMALS = 9
"""Figures are rounded, so that the last bits of a sum, which differ among processors, do not
count."""
_NEEDED = {
    "protocol": str,
    "field_version": int,
    "package": str,
    "track": str,
    "split": str,
    "deals": int,
    "budget": str,
    "agent": dict,
    "opponents": list,
}


def rounded(value: float) -> float:
    """A figure as results have it."""
    return round(float(value), _DECIMALS) + 0.0  # never -0.0


def exploited(
    participant: Participant,
    name: str,
    tree: Tree,
    seed: int,
    report: Progress,
) -> dict[str, Any]:
    """What an exact best response wins from an agent, or why that cannot be told."""
    with participant.answering(tree.rules, seed) as player:
        try:
            with blamed(f"{name} raised", "correct it, and play again"):
                found = exploit(player, tree, name, progress=report)
        except HeartsError as error:
            return {"exploitability": None, "why": str(error)}
    return {
        "exploitability": rounded(found.exploitability),
        "best_responses": [rounded(value) for value in found.best_responses],
        "infosets": list(found.infosets),
        "one_draw": found.frozen,
    }


def sealed(result: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """A record of these, as it will be read again: lists for tuples."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": seal(result),
        "result": result,
        "run": run,
    }
    plain: dict[str, Any] = json.loads(json.dumps(record, allow_nan=False))
    return plain


def seal(result: Any) -> str:
    """The SHA-256 of a result in its shortest spelling, its names in order."""
    text = json.dumps(result, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def encoded(record: dict[str, Any]) -> bytes:
    """The text of a record: a line for each field, and one for each list of numbers."""
    text = json.dumps(record, allow_nan=False, indent=1)
    # Text in JSON has no line breaks, so that nothing but lists of numbers is found.
    text = re.sub(r"\[\n[-+\d.e,\s]*\]", lambda found: " ".join(found[0].split()), text)
    return (text + "\n").encode()


def read_benchmark(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The record in a file.

    Raises:
        HeartsError: if it is not such a file, is cut short, was edited, or is of another version.
        OSError: if it cannot be read.
    """
    name = repr(os.fspath(path))
    data = read_limited(Path(path), _MOST_BYTES, "a result of hearts benchmark")
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        raise HeartsError(
            f"verify: {name} is not JSON, or is cut short; give a file that hearts benchmark "
            "--json has written"
        ) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise HeartsError(
            f"verify: {name} is not a result of hearts benchmark; give a file that its --json has "
            "written"
        )
    if record.get("version") != VERSION:
        raise HeartsError(
            f"verify: {name} has version {quoted(record.get('version'))} of the format, this "
            f"package reads {VERSION}; use the version of hearts-env that wrote it"
        )
    result = record.get("result")
    try:
        is_whole = record.get("sha256") == seal(result)
    except (ValueError, RecursionError):
        is_whole = False
    if not is_whole:
        raise HeartsError(
            f"verify: {name} was edited or damaged: its sha256 is not that of its result; "
            "get it again, or play it again with hearts benchmark --json"
        )
    _check_fields(name, result)
    return record


def _check_fields(name: str, result: Any) -> None:
    """Refuse what has a right seal, but lacks what a result has."""
    fields = result if isinstance(result, dict) else {}
    for field, kind in _NEEDED.items():
        value = fields.get(field)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise HeartsError(
                f"verify: {field} in {name} is {quoted(value)}; give a file that hearts benchmark "
                "--json has written",
                value=value,
            )
    agent = fields["agent"]
    if not {"name", "spec", "kind", "options", "digest"} <= agent.keys():
        raise HeartsError(
            f"verify: agent in {name} is {quoted(agent)}; give a file that hearts benchmark "
            "--json has written",
            value=agent,
        )


def differences(old: Any, new: Any) -> list[str]:
    """Where two results differ, at most ten places: ``opponents[0].margin: 1.5, now 1.25``."""
    places: list[str] = []
    for place in _differing(old, new, ""):
        if len(places) == _MAX_LISTED:
            return [*places, "and more"]
        places.append(place)
    return places


def _differing(old: Any, new: Any, where: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            at = f"{where}.{name}" if where else name
            yield from _differing(old.get(name), new.get(name), at)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _differing(a, b, f"{where}[{place}]")
    elif type(old) is not type(new) or old != new:
        yield f"{where}: {quoted(old)}, now {quoted(new)}"
