"""The table server under load: answers to cards, memory, and what a kill in the midst loses.

    python bench/serve.py [--games 200] [--seconds 30] [--out docs/results/serve.json]

A server in one process and the people in another: each has a table against the champion and plays
deal after deal, thinking about each card for half a second to one and a half. Then the server is
killed (kill -9) and started again; everybody comes back, compares the tables with what it saw
before, and plays on. The clock runs from sending a card to the event that says it is played, and to
the last event of the agent's answer. Seconds of the clock depend on what else the machine does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from bench import harness
from hearts_env.game.notation import parse_games

AGENT, RULES = "champion", "two_player"
THINKS = (0.5, 1.5)
_PROGRAM = "from hearts_train.cli import main; main()"


class Server:
    """A server in its own process."""

    def __init__(self, folder: Path) -> None:
        start = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, "serve", "--port", "0", "--data", str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split("//")[-1].strip("/\n")
        with urllib.request.urlopen(f"http://{self.address}/") as page:
            page.read()
        self.seconds_to_page = time.perf_counter() - start
        self.cpu_to_page = self.cpu()

    def cpu(self) -> float:
        """Processor seconds so far."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Memory in use."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024

    def kill(self) -> None:
        """End it as a loss of power would, but for the disk."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server that is killed at the end."""
    server = Server(folder)
    try:
        yield server
    finally:
        server.kill()


@dataclass
class Person:
    """Somebody who plays deal after deal.

    Attributes:
        played: Seconds until each card was played.
        answered: Seconds until the agent had answered it, or the deal was over.
        deals: Finished deals.
        lost: What was shown before a kill and is missing after it.
    """

    seed: int
    token: str | None = None
    table: str = ""
    last: dict[str, Any] = field(default_factory=dict)
    played: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    deals: int = 0
    lost: int = 0

    async def play(self, address: str, end: float, ready: asyncio.Barrier) -> None:
        """Sit down, or come back, and play until `end` or until the server is gone."""
        rng = random.Random(self.seed)
        async with connect(f"ws://{address}/ws", compression=None, ping_interval=None) as socket:
            await self._sit(socket)
            await ready.wait()
            await asyncio.sleep(rng.uniform(0, THINKS[1]))
            while time.perf_counter() < end:
                await self._play_card(socket, rng)
                await asyncio.sleep(rng.uniform(*THINKS))

    async def _sit(self, socket: Any) -> None:
        await _send(socket, type="hello", v=1, **({"token": self.token} if self.token else {}))
        self.token = json.loads(await socket.recv())["token"]
        if self.table:
            before, self.last = self.last, {}
            await _send(socket, type="watch", table=self.table)
            await self._until(socket, lambda: self.last)
            self.lost += not _continues(before, self.last)
        else:
            seats = [{"me": True}, {"agent": AGENT}]
            await _send(socket, type="create", rules=RULES, seats=seats)
            await self._until(socket, lambda: self.last)
            self.table = self.last["table"]
        await self._wait(socket)

    async def _play_card(self, socket: Any, rng: random.Random) -> None:
        if self.last["over"]:
            (game,) = parse_games(self.last["over"]["deal"])
            assert game.is_over
            self.deals += 1
            await _send(socket, type="next", table=self.table)
            await self._until(socket, lambda: not self.last["over"])
            await self._wait(socket)
            return
        action, seq = rng.choice(self.last["view"]["legal"]), self.last["seq"]
        start = time.perf_counter()
        await _send(socket, type="act", table=self.table, seq=seq, actions=[action])
        await self._until(socket, lambda: self.last["seq"] > seq)
        self.played.append(time.perf_counter() - start)
        await self._wait(socket)
        self.answered.append(time.perf_counter() - start)

    async def _wait(self, socket: Any) -> None:
        """Wait until it is one's turn, or the deal is over."""
        await self._until(socket, lambda: self.last["turn"] == 0 or self.last["over"])

    async def _until(self, socket: Any, is_wanted: Callable[[], Any]) -> None:
        while not is_wanted():
            found = await self._read(socket)
            assert found["type"] != "error", found

    async def _read(self, socket: Any) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await socket.recv())
        if message.get("view"):
            self.last = message
        return message


def _continues(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether a table after a kill has all that was shown before it."""
    old, new = before["view"], now["view"]
    seen = new["history"][: len(old["history"])] == old["history"]
    dealt = [
        {*view["hand"], *(card for seat, card in view["history"] if seat == 0)}
        for view in (old, new)
    ]
    return now["seq"] >= before["seq"] and seen and dealt[0] == dealt[1]


async def _send(socket: Any, **message: Any) -> None:
    await socket.send(json.dumps(message))


async def load(server: Server, people: Sequence[Person], seconds: float) -> tuple[float, float]:
    """Let all play for a while; returns processor seconds of the server a second, and cards."""
    ready = asyncio.Barrier(len(people) + 1)
    end = time.perf_counter() + 3600

    async def one(person: Person) -> None:
        with contextlib.suppress(OSError, EOFError, ConnectionError):
            await person.play(server.address, end, ready)

    tasks = [asyncio.create_task(one(person)) for person in people]
    await ready.wait()
    cpu, start, cards = server.cpu(), time.perf_counter(), _cards(people)
    await asyncio.sleep(seconds)
    passed = time.perf_counter() - start
    rates = (server.cpu() - cpu) / passed, (_cards(people) - cards) / passed
    for task in tasks:
        if task.done() and not task.cancelled():
            task.result()
    server.megabytes_at_load = server.megabytes()  # type: ignore[attr-defined]
    server.kill()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return rates


def _cards(people: Sequence[Person]) -> int:
    return sum(len(person.answered) for person in people)


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile and longest, in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    found = {"p50": statistics.median(seconds), "p99": cuts[98], "max": max(seconds)}
    return {name: round(1e3 * value, 2) for name, value in found.items()}


def measure(games: int, seconds: float) -> dict[str, Any]:
    """All figures."""
    people = [Person(seed) for seed in range(games)]
    with tempfile.TemporaryDirectory() as folder:
        with serving(Path(folder)):  # compiles what is not compiled
            pass
        server = Server(Path(folder))
        starts, empty = [(server.seconds_to_page, server.cpu_to_page)], server.megabytes()
        first = asyncio.run(load(server, people, seconds))
        full = server.megabytes_at_load  # type: ignore[attr-defined]
        server = Server(Path(folder))
        starts.append((server.seconds_to_page, server.cpu_to_page))
        second = asyncio.run(load(server, people, seconds))
        written = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {
        "games": games,
        "seconds": seconds,
        "rules": RULES,
        "agent": AGENT,
        "thinks": THINKS,
        "cards": _cards(people),
        "deals": sum(person.deals for person in people),
        "lost": sum(person.lost for person in people),
        "played_ms": quantiles([s for person in people for s in person.played]),
        "answered_ms": quantiles([s for person in people for s in person.answered]),
        "cards_per_second": round(statistics.fmean([first[1], second[1]]), 1),
        "server_cores": round(statistics.fmean([first[0], second[0]]), 2),
        "megabytes": {"empty": round(empty, 1), "full": round(full, 1)},
        "kilobytes_a_table_on_disk": round(written / games / 1024, 2),
        "start": {
            "seconds": round(min(wall for wall, _ in starts), 2),
            "cpu": round(min(cpu for _, cpu in starts), 2),
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the figures if wanted."""
    parser = harness.options(__doc__)
    parser.add_argument("--games", type=int, default=200, help="tables, with a person at each")
    parser.add_argument("--seconds", type=float, default=30.0, help="of play, before and after")
    given = parser.parse_args(arguments)
    load_average = os.getloadavg()[0]
    facts = {
        "cores": os.cpu_count(),
        "load": round(load_average, 1),
        **measure(given.games, given.seconds),
    }
    print(json.dumps(facts, indent=1))
    command = f"python bench/serve.py --seconds {given.seconds:g} --out docs/results/serve.json"
    harness.write(given.out, facts, command=command)


if __name__ == "__main__":
    main()
