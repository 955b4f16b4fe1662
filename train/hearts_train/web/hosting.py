"""The tables in use, each with its browsers and agents, and their manager.

Only functions on the event loop change tables, and these do not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.websockets import WebSocket

from hearts_env import HeartsError, Rules
from hearts_env.support.errors import quoted
from hearts_train.web import messages
from hearts_train.web.folders import ServerFolder
from hearts_train.web.messages import Act, Create, OfPosition, OfTable, Request, Sit
from hearts_train.web.players import FAULT_TEXTS, AgentSeat, Players
from hearts_train.web.review import cut, read_deal
from hearts_train.web.table import TABLE_ID, Refusal, Seat, Table

log = logging.getLogger("hearts.serve")

_MOST_ADDRESSES = 10_000


@dataclass(frozen=True)
class Limits:
    """The limits for one browser, and for all together.

    Attributes:
        message: the largest message in bytes.
        burst: the most messages of a connection, or requests of an address to ``/api``, at once.
        rate: the messages or requests per second after that.
        connections: the most connections in all.
        connections_each: the most connections of one address.
        created: the most new tables of one address at once, and then per hour.
        listed: the most unfinished tables in a person's list, which has the latest.
        live: the most tables in memory.
        stored: the most tables on disk.
        idle: the seconds after which a table without browsers leaves the memory.
        waiting: the messages that wait for a slow browser. One with more is cut off, and may
            connect again.
        gather: the seconds after which a table tells who has come and gone, in one message for all.
    """

    message: int = 16_384
    burst: int = 60
    rate: float = 10.0
    connections: int = 2_000
    connections_each: int = 256
    created: int = 600
    listed: int = 12
    live: int = 1_000
    stored: int = 100_000
    idle: float = 600.0
    waiting: int = 400
    gather: float = 0.5


class Bucket:
    """A token bucket: `burst` events at once, and then `rate` events per second."""

    def __init__(
        self, burst: int, rate: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._left = self._burst = float(burst)
        self._rate, self._clock = rate, clock
        self._at = clock()

    def take(self) -> bool:
        """Return True and count one more if there is room for it."""
        now = self._clock()
        self._left = min(self._left + (now - self._at) * self._rate, self._burst)
        self._at = now
        has_room = self._left >= 1
        self._left -= has_room
        return has_room


class Buckets:
    """A bucket for each address. The address seen least recently is forgotten."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str) -> bool:
        """Return True and count one more of an address if there is room for it."""
        bucket = self._buckets.setdefault(address, Bucket(self._burst, self._rate))
        self._buckets.move_to_end(address)
        if len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return bucket.take()


def warm_up() -> None:
    """Play a small table, so nothing is compiled on the event loop later."""
    seats = [Seat(owner="warm-up"), Seat(agent="warm-up")]
    table = Table("", Rules.preset("micro"), is_match=True, seed=0, dealt_by=0, seats=seats)
    while table.ended is None:
        action = table.game.legal_actions()[0]
        if table.turn == 0:
            table.act(0, table.seq, (table.rules.action_name(action),))
        else:
            table.act_for_agent(action, None)
        for seat in (0, None):
            messages.table_message(table, seat, [True, True])


class Connection:
    """A browser's socket, with a queue for its messages and a limit on its requests.

    Attributes:
        owner: the digest of the person's token, or "" before the first request.
        address: the network address.
        tables: the tables that it has opened.
        bucket: the limit.
    """

    def __init__(self, socket: WebSocket, limits: Limits) -> None:
        self.owner = ""
        self.address = socket.client.host if socket.client else ""
        self.tables: set[LiveTable] = set()
        self.bucket = Bucket(limits.burst, limits.rate)
        self._socket = socket
        self._most = limits.waiting
        self._out: asyncio.Queue[str] = asyncio.Queue()

    def send(self, text: str) -> None:
        """Send a message when the browser is ready. A browser that is never ready is cut off."""
        if self.num_waiting <= self._most:
            self._out.put_nowait(text)

    @property
    def num_waiting(self) -> int:
        """The number of messages waiting for the browser."""
        return self._out.qsize()

    async def pump(self) -> None:
        """Send the waiting messages until the browser is cut off."""
        while self.num_waiting <= self._most:
            await self._socket.send_text(await self._out.get())
        await self._socket.close(1013, "too slow; connect again")


class LiveTable:
    """A table in use. Answers requests, sends the table after each change and asks its agents."""

    def __init__(self, table: Table, manager: TableManager) -> None:
        self.table = table
        self.manager = manager
        self.browsers: dict[Connection, int | None] = {}
        self.ready: set[int] = set()
        self.last_used = time.monotonic()
        self._thinking = -1  # the position in which an agent was asked
        self._is_gathering = False  # who comes and goes
        self._agent_seats = {p: AgentSeat() for p, seat in enumerate(table.seats) if seat.agent}
        self._hint: tuple[int, asyncio.Task[dict[str, Any]]] | None = None  # for a position
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake()

    @property
    def is_busy(self) -> bool:
        """True while an agent decides or an answer is being prepared."""
        return self._thinking >= 0 or bool(self._tasks)

    @property
    def is_idle(self) -> bool:
        """True if no browser is here and the table is not busy."""
        return not self.browsers and not self.is_busy

    def close(self) -> None:
        """End all tasks. The journal has every move."""
        for task in self._tasks:
            task.cancel()
        if self._hint is not None:
            self._hint[1].cancel()
        for seat in self._agent_seats:
            self._renew(seat)

    # -- requests ----------------------------------------------------------------------------------
    def answer(self, browser: Connection, request: Request) -> None:
        """Carry out a request and answer it."""
        self.last_used = time.monotonic()
        try:
            getattr(self, f"_do_{request.type}")(browser, request)
        except Exception as error:
            refusal = self._refuse(browser, request, error)
            if refusal.code == "stale":
                self._show_to(browser)
        self._wake()

    def _refuse(self, browser: Connection, request: Request, error: Exception) -> Refusal:
        refusal = messages.refusal_of(error, f"table {self.table.id}: {request.type}")
        browser.send(messages.error(refusal, request.id, self.table.id))
        return refusal

    def _do_watch(self, browser: Connection, request: Request) -> None:
        seat = self.table.seat_of(browser.owner)
        is_new = browser not in self.browsers if seat is None else seat not in self._present
        self.browsers[browser] = seat
        self._show_to(browser, request.id)
        if is_new and len(self.browsers) > 1:
            self._show_later()

    def _do_sit(self, browser: Connection, request: Sit) -> None:
        table = self.table
        if table.seat_of(browser.owner) is None:
            table.sit(request.seat, browser.owner, request.name)
        self.browsers[browser] = None
        for one in self.browsers:  # also further windows of the person
            self.browsers[one] = table.seat_of(one.owner)
        self._show(browser, request.id)

    def _do_act(self, browser: Connection, request: Act) -> None:
        self.table.act(self._seat(browser), request.seq, request.actions)
        self._show(browser, request.id)

    def _do_undo(self, browser: Connection, request: OfPosition) -> None:
        self._seat(browser)
        self.table.undo(request.seq)
        for seat in self._agent_seats:  # one may still be thinking
            self._renew(seat)
        self._show(browser, request.id)

    def _do_next(self, browser: Connection, request: OfTable) -> None:
        seat = self._seat(browser)
        if self.table.ended is not None:  # otherwise another person was faster
            self.ready.add(seat)
            self._deal_next()
        self._show(browser, request.id)

    def _deal_next(self) -> None:
        """Deal the next deal if everyone present has asked for it."""
        if self.ready >= self._present:
            self.table.next()
            self.ready.clear()

    def _do_leave(self, browser: Connection, request: OfTable) -> None:
        self.detach(browser)
        browser.send(messages.answer("left", {"table": self.table.id}, request.id))

    def _do_hint(self, browser: Connection, request: OfPosition) -> None:
        """Send a hint. It is computed once per position."""
        table, seat = self.table, self._seat(browser)
        if not table.has_one_person:
            raise Refusal("not_allowed", "hint: other people play here; play on")
        table.check_turn(seat, request.seq)
        task = self._hint[1] if self._hint is not None and self._hint[0] == table.seq else None
        if task is None or (task.done() and task.exception() is not None):  # a failure may pass
            task = asyncio.create_task(self.manager.players.hint(table.game.clone()))
            self._hint = table.seq, task
        self._begin(self._send_hint(browser, request, table.seq, task))

    async def _send_hint(
        self, browser: Connection, request: Request, seq: int, task: asyncio.Task[dict[str, Any]]
    ) -> None:
        try:
            fields = {"table": self.table.id, "seq": seq, **await asyncio.shield(task)}
            browser.send(messages.answer("hint", fields, request.id))
        except Exception as error:
            self._refuse(browser, request, error)

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("table %s", self.table.id, exc_info=error)

    @property
    def _present(self) -> set[int]:
        """The seats whose person is here."""
        return {seat for seat in self.browsers.values() if seat is not None}

    # -- people ------------------------------------------------------------------------------------
    def _seat(self, browser: Connection) -> int:
        seat = self.table.seat_of(browser.owner)
        if seat is None:
            raise Refusal("not_your_seat", "you have no seat at this table; sit down, or watch")
        return seat

    def detach(self, browser: Connection) -> None:
        """Forget a browser that has left or lost its connection."""
        self.last_used = time.monotonic()
        if browser not in self.browsers:
            return
        seat = self.browsers.pop(browser)
        if seat is not None and seat in self._present:
            return
        is_waiting = self.ready & self._present  # for the person who has just left
        if is_waiting and seat is not None and self.table.ended is not None:
            try:
                self._deal_next()
            except OSError as error:
                log.error("table %s cannot be written: %s", self.table.id, error)
            except Refusal:  # the file is full: the next request says so
                pass
            self._wake()
            self._show()
        elif self.browsers:
            self._show_later()

    def _show_later(self) -> None:
        """Send the table to everyone soon, once for all who come and go until then."""
        if not self._is_gathering:
            self._is_gathering = True
            self._begin(self._gather())

    async def _gather(self) -> None:
        await asyncio.sleep(self.manager.limits.gather)
        self._is_gathering = False
        self._show()

    def _show(self, asking: Connection | None = None, request_id: str | int | None = None) -> None:
        """Send the table to everyone. The browser `asking` gets it as its answer."""
        made = {seat: self._message(seat) for seat in {*self.browsers.values()}}
        for browser, seat in self.browsers.items():
            answered = request_id if browser is asking else None
            browser.send(messages.answered(made[seat], answered))
        if asking is not None and asking not in self.browsers:
            self._show_to(asking, request_id)

    def _show_to(self, browser: Connection, request_id: str | int | None = None) -> None:
        text = self._message(self.table.seat_of(browser.owner))
        browser.send(messages.answered(text, request_id))

    def _message(self, seat: int | None) -> str:
        here = [p in self._present for p in range(self.table.rules.players)]
        watching = {browser.owner for browser, seat in self.browsers.items() if seat is None}
        return messages.table_message(self.table, seat, here, len(watching))

    # -- agents ------------------------------------------------------------------------------------
    def _wake(self) -> None:
        """Ask the agent to act, if it is an agent's turn and it is not thinking yet."""
        seat = self.table.turn
        if seat is None or not self.table.seats[seat].agent or self._thinking == self.table.seq:
            return
        self._thinking = self.table.seq
        self._begin(self._think(seat, self.table.seq))

    async def _think(self, seat: int, seq: int) -> None:
        table, players = self.table, self.manager.players
        agent = players.listed[table.seats[seat].agent]
        view, seed = table.game.view(seat), table.agent_seed()
        place = self._agent_seats[seat]
        action, fault = await players.decide(agent, place, view, seed)
        text = None
        if fault is not None:
            log.warning("table %s: %s %s: %s", table.id, agent.name, fault.kind, fault.text)
            text = f"{agent.name} {FAULT_TEXTS[fault.kind]}; its first legal card is played"
            if self._agent_seats[seat] is place:  # its player may be in any state
                self._renew(seat)
        self._played(seq, action, text)

    def _renew(self, seat: int) -> None:
        """Give an agent a fresh player and end the processes of the old player."""
        old, self._agent_seats[seat] = self._agent_seats[seat], AgentSeat()
        old.close()

    def _played(self, seq: int, action: int, fault: str | None) -> None:
        """Carry out an agent's choice, unless the position has changed."""
        if seq != self.table.seq:
            self._thinking = -1 if self._thinking == seq else self._thinking
            return
        try:
            self.table.act_for_agent(action, fault)
        except OSError as error:
            log.error("table %s cannot be written: %s", self.table.id, error)
            self._begin(self._later(seq, action, fault))
            return
        self._thinking = -1
        self._show()
        self._wake()

    async def _later(self, seq: int, action: int, fault: str | None) -> None:
        await asyncio.sleep(2.0)
        self._played(seq, action, fault)


class TableManager:
    """All tables of a server."""

    def __init__(self, folder: ServerFolder, players: Players, limits: Limits) -> None:
        self.folder = folder
        self.players = players
        self.limits = limits
        self._live: OrderedDict[str, LiveTable] = OrderedDict()  # the latest used last
        self._created = Buckets(limits.created, limits.created / 3600)

    @property
    def num_live(self) -> int:
        """The number of tables in memory."""
        return len(self._live)

    def find(self, table: str) -> LiveTable:
        """Return a table, read from disk if necessary.

        Raises:
            Refusal: if there is no such table, it cannot be read, or too many are in use.
        """
        live = self._live.get(table)
        if live is None:
            if not TABLE_ID.fullmatch(table) or not self.folder.path_of(table).is_file():
                raise Refusal(
                    "unknown_table", "table: there is no table of this name; check the link"
                )
            self._make_room()
            live = self._live[table] = LiveTable(self._read(table), self)
        self._live.move_to_end(table)
        return live

    def _read(self, name: str) -> Table:
        try:
            table = Table.resume(self.folder.path_of(name))
        except (HeartsError, OSError) as error:
            log.error("table %s: %s (%r)", name, error, error.__cause__ or error)
            text = "table: its file cannot be read; start another table"
            raise Refusal("unknown_table", text) from None
        for seat in table.seats:
            if seat.agent:
                found = self.players.name_of(seat)
                if found is None:
                    text = (
                        f"table: its player {quoted(seat.agent)} has changed or is not on this "
                        "server any more; start another table, or the server with --agent for it"
                    )
                    raise Refusal("unknown_agent", text)
                seat.agent = found
        return table

    async def create(self, browser: Connection, request: Create) -> LiveTable:
        """Make a table.

        Raises:
            Refusal: if the rules or an agent are unknown or do not fit, or there are too many.
            OSError: if it cannot be written.
        """
        try:
            rules = Rules.from_text(request.rules)
        except HeartsError as error:
            raise Refusal("unknown_rules", str(error)) from None
        if len(request.seats) != rules.players:
            text = f"seats: {rules.name} is for {rules.players}; {len(request.seats)} are given"
            raise Refusal("not_fit", text)
        me = Seat(owner=browser.owner, name=request.name or "You")
        for wish in request.seats:
            if wish.agent:
                await self.players.check_fits(wish.agent, rules)
        seats = [
            me if wish.me else self.players.seat_of(wish.agent) if wish.agent else Seat()
            for wish in request.seats
        ]
        for field in ("seed", "deal"):
            if getattr(request, field) not in (None, "") and any(s.kind == "open" for s in seats):
                text = f"{field}: other people must not be dealt known cards; omit it"
                raise Refusal("not_allowed", text)
        begun = _begun(request, rules)
        self._check_room(browser)
        self._make_room()
        table = Table(
            id=secrets.token_hex(8),
            rules=rules,
            is_match=request.match,
            seed=secrets.randbits(63),
            dealt_by=request.seed,
            seats=seats,
            begun=begun,
        )
        table.begin(self.folder.path_of(table.id))
        self.folder.num_tables += 1
        live = self._live[table.id] = LiveTable(table, self)
        return live

    def tables_json(self, owner: str, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the tables for `welcome` in which the person has a seat and more to play.

        Args:
            owner: the digest of the person's token.
            names: the tables, oldest first.
        """
        found: list[dict[str, Any]] = []
        for name in reversed(names):
            with contextlib.suppress(Refusal, OSError):  # also if its file has been removed
                table = self.find(name).table
                if table.is_unfinished and table.seat_of(owner) is not None:
                    found.append(messages.listed_table(table, owner))
            if len(found) == self.limits.listed:
                break
        return found[::-1]

    def sweep(self) -> None:
        """Unload the tables that no browser has used for a while."""
        before = time.monotonic() - self.limits.idle
        for name, live in list(self._live.items()):
            if live.is_idle and live.last_used < before:
                self._live.pop(name).close()

    def close(self) -> None:
        """End all tasks."""
        while self._live:
            self._live.popitem()[1].close()

    def _make_room(self) -> None:
        if len(self._live) < self.limits.live:
            return
        name = next((name for name, live in self._live.items() if live.is_idle), None)
        if name is None:
            raise Refusal("too_many_tables", "all tables are in use; try again in a few minutes")
        self._live.pop(name).close()

    def _check_room(self, browser: Connection) -> None:
        """Refuse another table if an address has made many of late, or the disk has too many."""
        if self.folder.num_tables >= self.limits.stored:
            raise Refusal(
                "too_many_tables", "the server keeps no more tables; ask its owner to remove some"
            )
        if not self._created.take(browser.address):
            text = "too many new tables from this address; wait a few minutes"
            raise Refusal("too_many_tables", text)


def _begun(request: Create, rules: Rules) -> str:
    """Return the text of the deal that a new table continues, or "".

    Raises:
        Refusal: if it cannot be read, has other rules or is over.
    """
    if not request.deal:
        return ""
    try:
        game = cut(read_deal(request.deal).game, request.at)
    except HeartsError as error:
        raise Refusal("bad_deal", str(error)) from None
    if game.rules != rules:
        raise Refusal("not_fit", f"deal: its rules are {game.rules.name}; give these as rules")
    if game.is_over:
        raise Refusal("bad_deal", "deal: it is over after so many actions; give a smaller at")
    return game.to_text()
