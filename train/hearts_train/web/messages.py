"""The messages between the server and a browser: checks requests and builds answers.

After each change every browser gets the whole table as its seat may see it. Its cards come from
``game.view(seat)``, through `sight` alone. The view has the form that external programs read
(``external_schema.json``). ``docs/playing.md`` shows every message.
"""

from __future__ import annotations

import functools
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hearts_agents.programs.process import dump
from hearts_agents.programs.view_lines import ViewLines
from hearts_env import Game, Match, Rules
from hearts_env.batch.views import BatchView
from hearts_env.rules.explain import explain
from hearts_env.rules.presets import PRESETS
from hearts_env.support.errors import quoted
from hearts_env.support.files import json_object
from hearts_train.web.table import TABLE_ID, Refusal, Table

log = logging.getLogger("hearts.serve")

VERSION = 1
MOST_TEXT = 300
"""The longest rules or agent name in a message, in characters."""
MOST_NAME = 24
"""The longest name of a person, in characters."""

TOKEN = re.compile(r"[0-9a-f]{32}")
_HIDDEN = ("hand", "legal", "passed", "received", "player")
"""The keys of a view that only its player may know."""


# ---- requests ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Request:
    """A message of a browser, its fields checked.

    Attributes:
        type: The kind of request.
        fields: All fields of this type, with defaults for those not given.
        id: The browser's id, repeated in the answer, or None.
    """

    type: str
    fields: Mapping[str, Any]
    id: str | int | None = None

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


def _bad(text: str) -> Refusal:
    return Refusal("bad_message", text)


def _number(name: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise _bad(f"{name}: {quoted(value)} is not a whole number from 0; give one")
    return value


def _flag(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise _bad(f"{name}: {quoted(value)} is neither true nor false; give one of them")
    return value


def _text(name: str, value: Any) -> str:
    if type(value) is not str or len(value) > MOST_TEXT:
        raise _bad(f"{name}: give a text of at most {MOST_TEXT} characters")
    return value


def _name(name: str, value: Any) -> str:
    """Return a person's name: printable, trimmed, not too long."""
    text = " ".join("".join(c if c.isprintable() else " " for c in _text(name, value)).split())
    return text[:MOST_NAME]


def _table(name: str, value: Any) -> str:
    if type(value) is not str or not TABLE_ID.fullmatch(value):
        raise Refusal("unknown_table", f"{name}: there is no table {quoted(value)}; check the link")
    return value


def _token(name: str, value: Any) -> str:
    if type(value) is not str or not TOKEN.fullmatch(value):
        raise _bad(f"{name}: it is 32 digits 0-9a-f; omit it to get a new one")
    return value


def _actions(name: str, value: Any) -> tuple[str, ...]:
    if type(value) is not list or not 1 <= len(value) <= 13:
        raise _bad(f"{name}: give a list of one to 13 names of actions")
    return tuple(_text(name, action) for action in value)


def _seats(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Return (kind, name of the agent) of each seat."""
    if type(value) is not list or not 2 <= len(value) <= 7:
        raise _bad(f"{name}: give a list with one entry a seat, two to seven")
    found: list[tuple[str, str]] = []
    for entry in value:
        if type(entry) is not dict or len(entry) != 1:
            raise _bad(
                f'{name}: {quoted(entry)} is not a seat; give {{"me": true}}, {{"open": true}} or '
                '{"agent": NAME}'
            )
        ((kind, what),) = entry.items()
        if kind == "agent":
            found.append((kind, _text("agent", what)))
        elif kind in ("me", "open") and what is True:
            found.append((kind, ""))
        else:
            raise _bad(f'{name}: {quoted(entry)} is not a seat; give "me", "open" or "agent"')
    if sum(kind == "me" for kind, _ in found) > 1:
        raise _bad(f'{name}: you can sit in one seat; give "me" once')
    if all(kind == "agent" for kind, _ in found):
        raise _bad(
            f'{name}: no person would play; give one seat {{"me": true}} or {{"open": true}}'
        )
    return tuple(found)


_NEEDED: Any = object()
_TABLE = {"table": (_table, _NEEDED)}
_SEAT = {**_TABLE, "seq": (_number, _NEEDED)}
_Field = tuple[Callable[[str, Any], Any], Any]
REQUESTS: Mapping[str, Mapping[str, _Field]] = MappingProxyType(
    {
        "hello": {"v": (_number, _NEEDED), "token": (_token, None)},
        "create": {
            "rules": (_text, _NEEDED),
            "match": (_flag, False),
            "seats": (_seats, _NEEDED),
            "name": (_name, ""),
            "seed": (_number, None),
        },
        "sit": {**_TABLE, "seat": (_number, _NEEDED), "name": (_name, "")},
        "watch": _TABLE,
        "act": {**_SEAT, "actions": (_actions, _NEEDED)},
        "hint": _SEAT,
        "undo": _SEAT,
        "next": _TABLE,
        "leave": {**_TABLE, "close": (_flag, False)},
        "ping": {},
    }
)
"""The fields of each type of request, each with its check and, if optional, its default.

Other fields are ignored.
"""


def parse(data: str | bytes) -> Request:
    """Parse and check a message of a browser.

    Raises:
        Refusal: if it is not a message, or a field is missing or wrong. The text names the field.
    """
    plain = json_object(data)
    if plain is None:
        raise _bad("message: it is not a JSON object; send one object a message")
    kind = plain.get("type")
    try:
        known = REQUESTS.get(kind) if type(kind) is str else None
        if type(kind) is not str or known is None:
            raise _bad(f"type: {quoted(kind)} is unknown; give one of {', '.join(REQUESTS)}")
        fields = _checked(kind, known, plain)
    except Refusal as refusal:
        refusal.id = id_of(plain)
        raise
    return Request(kind, fields, id_of(plain))


def _checked(kind: str, known: Mapping[str, _Field], plain: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, (check, default) in known.items():
        value = plain.get(name)
        if value is None and default is _NEEDED:
            raise _bad(f"{name}: it is missing; {kind} needs it")
        fields[name] = default if value is None else check(name, value)
    return fields


def id_of(plain: Any) -> str | int | None:
    """Return the id of a request, or None if it has none or an unsuitable one."""
    given = plain.get("id") if type(plain) is dict else None
    is_short = type(given) is str and len(given) <= 64
    return given if is_short or (type(given) is int and abs(given) < 2**53) else None


# ---- answers -------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)
def _lines(rules: Rules) -> ViewLines:
    return ViewLines(rules)


def sight(game: Game, seat: int | None) -> str:
    """Return the cards that a seat may know, as fields of a message.

    ``view`` is the view that external programs get. For onlookers (`seat` None) it is null, and
    ``public`` has the public part of a view and the number of cards in each hand.
    """
    view = game.view(0 if seat is None else seat)
    text = _lines(game.rules).write(BatchView.of([view]))[0]
    if seat is not None:
        return f'"view":{text}'
    known = {name: value for name, value in json.loads(text).items() if name not in _HIDDEN}
    known["cards_left"] = [view.cards_left(p) for p in range(game.rules.players)]
    return f'"view":null,"public":{dump(known)}'


def refusal_of(error: Exception, what: str) -> Refusal:
    """Return the refusal for an error. The server's own errors go to the log."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, OSError):
        log.error("%s: cannot be written: %s", what, error)
        return Refusal("internal", "the table cannot be saved now; nothing was done, try again")
    log.error(what, exc_info=error)
    return Refusal("internal", "the server made a mistake; reload the page")


def error(refusal: Refusal, request_id: str | int | None, table: str | None = None) -> str:
    """Return a refusal as a message."""
    fields: dict[str, Any] = {"code": refusal.code, "text": refusal.text}
    return answer("error", fields if table is None else {**fields, "table": table}, request_id)


def answer(kind: str, fields: Mapping[str, Any], request_id: str | int | None) -> str:
    """Return a message of this type that answers a request."""
    return answered(dump({"type": kind, **fields}), request_id)


def answered(text: str, request_id: str | int | None) -> str:
    """Return a message with the id of the request, if there is one."""
    return text if request_id is None else f'{text[:-1]},"id":{dump(request_id)}}}'


def rules_json(rules: Rules) -> dict[str, Any]:
    """Return the rules of a table: name, fields, deck and sentences."""
    return {
        "name": rules.name,
        "title": title_of(rules.name),
        "players": rules.players,
        "deck": list(rules.deck),
        "actions": [rules.action_name(action) for action in range(rules.num_actions)],
        "fields": rules.to_dict(),
        "text": list(explain(rules)),
    }


def title_of(name: str) -> str:
    """Return the title of rules, such as "Party (5 players)"."""
    preset, _, rest = name.partition(" ")
    words = {"two_player": "Two-player Hearts", "no_pass": "No passing"}
    title = words.get(preset) or preset.replace("_", " ").capitalize()
    rest = re.sub(r"^players=(\d)", r"\1 players", rest)
    return f"{title} ({rest})" if rest else title


def presets_json() -> list[dict[str, Any]]:
    """Return the presets for `welcome`."""
    return [
        {
            "name": name,
            "title": title_of(name),
            "players": list(preset.players),
            "text": preset.summary,
        }
        for name, preset in PRESETS.items()
    ]


# ---- a table -------------------------------------------------------------------------------------
def listed_table(table: Table, owner: str) -> dict[str, Any]:
    """Return a person's table for `welcome`."""
    seat = table.seat_of(owner)
    return {
        "table": table.id,
        "rules": table.rules.name,
        "title": title_of(table.rules.name),
        "match": table.is_match,
        "you": seat,
        "seats": [table.name_of(p) for p in range(table.rules.players)],
        "your_turn": table.turn is not None and table.turn == seat,
        "seq": table.seq,
    }


@functools.lru_cache(maxsize=64)
def _rules_text(rules: Rules) -> str:
    return dump(rules_json(rules))


def table_message(
    table: Table, seat: int | None, connected: Sequence[bool], ready: Sequence[bool]
) -> str:
    """Return the message with the whole table for a seat, or for an onlooker if `seat` is None."""
    match = None
    if isinstance(table.play, Match) and table.play.is_over:
        match = {"winner": table.play.winner, "totals": table.totals()}
    head = {
        "type": "table",
        "table": table.id,
        "seq": table.seq,
        "match": table.is_match,
        "seats": seats_json(table, connected, ready),
        "you": seat,
        "number": table.deal_number(),
        "totals": table.totals(),
        "sheet": table.sheet,
        "undo": seat is not None and table.can_undo,
        "fault": table.fault,
        "over": None if table.ended is None else table.result(),
        "match_over": match,
        "closed": table.is_closed,
        "turn": table.turn,
    }
    rules = _rules_text(table.rules)
    return f'{dump(head)[:-1]},"rules":{rules},{sight(table.game, seat)}}}'


def seats_json(
    table: Table, connected: Sequence[bool], ready: Sequence[bool]
) -> list[dict[str, Any]]:
    """Return the players by seat, and whether each is present."""
    return [
        {
            "seat": p,
            "name": table.name_of(p),
            "kind": seat.kind,
            "agent": seat.agent or None,
            "connected": bool(seat.agent) or connected[p],
            "ready": ready[p],
        }
        for p, seat in enumerate(table.seats)
    ]
