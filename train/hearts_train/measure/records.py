"""Files of results: blocks of deals as they are finished, so that nothing played is lost.

A file has one line of JSON for the settings and one for each block. Each line carries a digest of
itself; a line that is damaged or cut short is ignored, and its block is played again. Every
block follows from the settings and the version of the package alone, so that the result is the same
however often it was resumed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, __version__
from hearts_env.support.errors import quoted
from hearts_env.support.files import (
    append_all,
    check_file_name,
    held,
    lock_beside,
    read_limited,
    write_whole,
)
from hearts_train.measure.duel import Block

FORMAT = "hearts-env results"
VERSION = 1
_MOST_BYTES = 2**31


class Results:
    """The blocks in a file of results; new ones are appended to it."""

    def __init__(self, path: Path, blocks: dict[tuple[int, int, int], Any], file: io.FileIO):
        self.path = path
        self._blocks = blocks
        self._file = file

    def get(self, pairing: tuple[int, int], first: int, players: int) -> Block | None:
        """The block of a pairing that begins with the deal of this number, if it is there."""
        try:
            return Block.of(self._blocks[*pairing, first], players)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            return None

    def append(self, pairing: tuple[int, int], block: Block) -> None:
        """Write a block to the file, so that it outlives this process.

        Raises:
            OSError: if it cannot be written; the earlier lines remain.
        """
        append_all(
            self._file, sealed_line({"pairing": list(pairing), "block": block.to_json()}), self.path
        )


@contextmanager
def results_file(
    out: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
    settings: dict[str, Any],
) -> Iterator[Results | None]:
    """The file that blocks are saved to during an evaluation, locked against other processes.

    Args:
        out: a file to begin; it must not exist yet.
        resume: a file to continue.
        settings: what the blocks follow from; a file to continue must have the same.

    Raises:
        HeartsError: if both are given; the file already exists, is in use, has other settings, or
            was written by another version of the package; or its folder does not exist.
        OSError: if it cannot be read or written.
    """
    if out is not None and resume is not None:
        raise HeartsError("out: a resumed evaluation stays in its file; omit out")
    if out is None and resume is None:
        yield None
        return
    path = Path(out if resume is None else resume)  # type: ignore[arg-type]
    # Before the lock file is made, which an error would otherwise name or leave behind.
    check_file_name(path, "out" if resume is None else "resume")
    if resume is not None:
        path.stat()
    elif not path.parent.is_dir():
        raise HeartsError(f"out: there is no folder {str(path.parent)!r}; make it first")
    with held(lock_beside(path), f"results: {str(path)!r}"):
        blocks: dict[tuple[int, int, int], Any] = {}
        if resume is None:
            if path.exists():
                raise HeartsError(
                    f"out: {str(path)!r} already exists; continue it with resume (--resume), or "
                    "name another file"
                )
            write_whole(path, sealed_line(_header(settings)))
        else:
            recorded, blocks, whole = _read(path)
            _compare(path, recorded, settings)
            if whole < path.stat().st_size:  # a last line that was cut short
                os.truncate(path, whole)
        # Unbuffered: closing it would write once more what could not be written, and raise again.
        with path.open("ab", buffering=0) as file:
            yield Results(path, blocks, file)


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings in a file of results.

    Raises:
        HeartsError: if it is not such a file, or is of another version of the package.
        OSError: if it cannot be read.
    """
    return _read(Path(path))[0]


def named_agents(path: str | os.PathLike[str], settings: dict[str, Any]) -> list[str]:
    """The specs of the agents in the settings of a file, to be made again.

    Raises:
        HeartsError: if an agent was made by a program, or runs code and the user does not trust
            the file; or the settings have no agents.
    """
    try:
        names = [agent["spec"] for agent in settings["agents"]]
    except (KeyError, TypeError):
        raise HeartsError(
            f"resume: the settings in {str(path)!r} are damaged; begin another file"
        ) from None
    for name in names:
        if not isinstance(name, str):
            raise HeartsError(
                f"resume: {str(path)!r} has agents that a program made; resume it in that program"
            )
        AgentSpec.from_json(name).check_allowed(f"resume: {str(path)!r}")
    return names


def _header(settings: dict[str, Any]) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "package": __version__, "settings": settings}


def sealed_line(entry: dict[str, Any]) -> bytes:
    """An entry as a line of a file, with a digest of itself."""
    text = json.dumps(entry, allow_nan=False, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f'{{"digest":"{digest}","entry":{text}}}\n'.encode()


def entry_of(line: bytes) -> dict[str, Any] | None:
    """The entry of a line, given without its end; None if it is damaged."""
    try:
        record = json.loads(line)
        entry = record["entry"]
        return entry if isinstance(entry, dict) and sealed_line(entry) == line + b"\n" else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _read(path: Path) -> tuple[dict[str, Any], dict[tuple[int, int, int], Any], int]:
    """Settings, blocks by pairing and first deal, and the length up to the last whole line."""
    data = read_limited(path, _MOST_BYTES, "a file of results that --save has written")
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].split(b"\n")[:-1]
    header = entry_of(lines[0]) if lines else None
    if header is None or header.get("format") != FORMAT or "settings" not in header:
        raise HeartsError(
            f"resume: {str(path)!r} is not a file of results; give one that --save has written"
        )
    if header.get("version") != VERSION:
        raise HeartsError(
            f"resume: {str(path)!r} is of version {quoted(header.get('version'))}, this package "
            f"reads {VERSION}; use the package that wrote it ({quoted(header.get('package'))})"
        )
    if header.get("package") != __version__:
        raise HeartsError(
            f"resume: {str(path)!r} was written by version {quoted(header.get('package'))} of "
            f"hearts-env, this is {quoted(__version__)}, which may play differently; resume it "
            "with the version that wrote it, or begin another file"
        )
    if not isinstance(header["settings"], dict):
        raise HeartsError(f"resume: the settings in {str(path)!r} are damaged; begin another file")
    blocks = {}
    for line in lines[1:]:
        entry = entry_of(line)
        # A line of another kind is passed over.
        with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):
            i, j = entry["pairing"]  # type: ignore[index]
            blocks[int(i), int(j), int(entry["block"]["first"])] = entry["block"]  # type: ignore[index]
    return header["settings"], blocks, whole


def _compare(path: Path, recorded: dict[str, Any], settings: dict[str, Any]) -> None:
    for name, value in json.loads(json.dumps(settings)).items():
        if name == "agents":
            _compare_agents(path, recorded.get(name), value)
        if recorded.get(name) != value:
            raise HeartsError(
                f"resume: {name} of {str(path)!r} is {_short(recorded.get(name))}, here it is "
                f"{_short(value)}; give the same, or begin another file"
            )


def _compare_agents(path: Path, recorded: Any, agents: list[dict[str, Any]]) -> None:
    """Refuse an agent that is another one, saying in what it differs."""
    if not isinstance(recorded, list) or len(recorded) != len(agents):
        return
    for old, new in zip(recorded, agents, strict=True):
        for field in new:
            if isinstance(old, dict) and old.get(field) != new[field]:
                raise HeartsError(
                    f"resume: agents: {new['name']!r} has the {field} {_short(new[field])}, in "
                    f"{str(path)!r} it is {_short(old.get(field))}; give the same agent, or begin "
                    "another file"
                )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 200 else text[:200] + "..."
