"""A server's tables without a server, and guests that keep their messages."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hearts_env import Game, Match, Rules
from hearts_train.store import sealed, unsealed
from hearts_train.web.folders import ServerFolder, digest_of
from hearts_train.web.hosting import Limits, TableManager
from hearts_train.web.messages import parse, table_message
from hearts_train.web.players import Players
from hearts_train.web.table import Seat, Table

PERSON_LEADS = next(s for s in range(99) if Game.deal("two_player", s).current_player == 0)
"""A seed of `two_player` whose first card seat 0 leads."""
LIMIT = 300.0
"""Seconds that only a hang takes, even on a busy machine."""


@functools.cache
def players(*more: str) -> Players:
    """Return the list of agents. It is made once, which takes a second."""
    return Players(more, patience=LIMIT)


def manager(folder: Path, limits: Limits | None = None, *more: str) -> TableManager:
    """Return the tables of a folder, as a new server has them."""
    limits = dataclasses.replace(limits or Limits(), gather=0.0)
    return TableManager(ServerFolder(folder), players(*more), limits)


class Guest:
    """A browser that keeps its messages."""

    def __init__(self, token: str, address: str = "somewhere") -> None:
        self.owner = digest_of(token)
        self.address = address
        self.sent: list[str] = []

    def send(self, text: str) -> None:
        self.sent.append(text)

    def take(self) -> list[dict[str, Any]]:
        """Return the messages since the last call."""
        messages, self.sent = [json.loads(text) for text in self.sent], []
        return messages


async def settle(at: TableManager) -> None:
    """Wait until every table is idle."""
    async with asyncio.timeout(LIMIT):
        while True:
            await asyncio.sleep(0)
            if not any(one.is_busy for one in at._live.values()):
                await asyncio.sleep(0)
                if not any(one.is_busy for one in at._live.values()):
                    return
            await asyncio.sleep(0.001)


async def ask(at: TableManager, guest: Guest, **message: Any) -> list[dict[str, Any]]:
    """Send a message to a table and return the guest's messages once all is done."""
    request = parse(message)
    if request.type == "create":
        host = await at.create(guest, request)
        request = parse({"type": "watch", "table": host.table.id})
    else:
        host = at.find(request.table)
    host.answer(guest, request)
    await settle(at)
    return guest.take()


def began(
    folder: Path,
    name: str,
    rules: Rules,
    seats: list[Seat],
    *,
    seed: int = 1,
    dealt_by: int | None = None,
    is_match: bool = False,
) -> Table:
    """Return a table with a new file, in place of any earlier one."""
    path = ServerFolder(folder).path_of(name)
    path.unlink(missing_ok=True)
    table = Table(name, rules, is_match, seed, dealt_by, seats)
    table.begin(path)
    return table


def table_of(game: Game, folder: Path, seat: int, *, is_match: bool = False) -> Table:
    """Return a table at the start of `game`, with a person in one seat and agents in the others."""
    rules: Rules = game.rules
    seats = [Seat(agent="easy") for _ in range(rules.players)]
    seats[seat] = Seat(owner="a" * 32, name="Anna")
    table = began(folder, "0" * 16, rules, seats, is_match=is_match)
    if isinstance(table.play, Match):
        table.play.game = game.start()
    else:
        table.play = game.start()
    return table


NAME = "5" * 16
"""The name of the table of `written`."""


def written(folder: Path, rules: str, steps: int, open_seat: bool = False) -> bytes:
    """Return a journal with everything: cards, faults, undo, next, sitting down."""
    plain, rng = Rules.from_text(rules), random.Random(1)
    seats = [Seat(agent="easy") for _ in range(plain.players)]
    seats[0] = Seat(owner="a" * 32, name="Anna")
    if open_seat:
        seats[1] = Seat()
    table = began(folder, NAME, plain, seats, seed=9, dealt_by=3)
    if open_seat:
        table.sit(1, "b" * 32, "Ben")
    for step in range(steps):
        if table.ended is not None:
            table.next()
        elif step % 5 == 4 and table.can_undo:
            table.undo(table.seq)
        elif table.turn is not None and table.seats[table.turn].agent and step % 4 == 3:
            table.act_for_agent(rng.choice(table.game.legal_actions()), "easy took too long")
        else:
            follow(table, [rng.choice(table.game.legal_actions())])
    return table.journal.path.read_bytes()


def with_settings(**changes: Any) -> Callable[[bytes], bytes]:
    """Return a change of a table file's settings that also corrects the digest."""

    def apply(data: bytes) -> bytes:
        head, *lines = data.splitlines(keepends=True)
        entry: Any = unsealed(head[:-1])
        entry["settings"] |= changes
        return sealed(entry) + b"".join(lines)

    return apply


def message_of(table: Table, seat: int | None, *, here: bool = True) -> str:
    """Return the message with the whole table for a seat."""
    return table_message(table, seat, [here] * 7)


def follow(table: Table, actions: Sequence[int]) -> None:
    """Play actions at a table, each for the acting seat."""
    for action in actions:
        seat = table.turn
        assert seat is not None
        if table.seats[seat].agent:
            table.act_for_agent(action, None)
        else:
            table.act(seat, table.seq, (table.rules.action_name(action),))
