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
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from hearts_agents.programs.process import dump
from hearts_agents.programs.view_lines import ViewLines
from hearts_env import Game, Match, Rules
from hearts_env.batch.views import BatchView
from hearts_env.rules.explain import aim, explain
from hearts_env.rules.presets import PRESETS
from hearts_env.support.errors import quoted
from hearts_train.web.table import Refusal, Table

log = logging.getLogger("hearts.serve")

VERSION = 1
MOST_TEXT = 300
"""The longest rules or agent name in a message, in characters."""
MOST_DEAL = 8192
"""The longest text of a deal in a message, in characters."""
MOST_NAME = 24
"""The longest name of a person, in characters."""
MOST_TABLES = 24
"""The most tables that a browser asks about."""

_HIDDEN = ("hand", "legal", "passed", "received", "player")
"""The keys of a view that only its player may know."""


# ---- requests ------------------------------------------------------------------------------------
def _plain_name(text: str) -> str:
    """Return a person's name: printable, trimmed, not too long."""
    words = "".join(letter if letter.isprintable() else " " for letter in text).split()
    return " ".join(words)[:MOST_NAME]


Number = Annotated[int, Field(ge=0, lt=2**53)]
Text = Annotated[str, Field(max_length=MOST_TEXT)]
Name = Annotated[Text, AfterValidator(_plain_name)]


class Request(BaseModel):
    """A message of a browser. Unknown fields are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)

    type: str
    id: str | int | None = None


class OfTable(Request):
    """A request about a table."""

    table: Text


class OfPosition(OfTable):
    """A request about the position `seq` of a table."""

    seq: Number


class Hello(Request):
    """The first request of a connection."""

    v: Number
    token: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    tables: Annotated[list[Text], Field(max_length=MOST_TABLES)] = []


class SeatWish(BaseModel):
    """A seat of a new table. One of the fields is given."""

    model_config = ConfigDict(strict=True, extra="forbid")

    me: bool = False
    open: bool = False
    agent: Text = ""


class Create(Request):
    """A new table."""

    rules: Text
    match: bool = False
    seats: Annotated[list[SeatWish], Field(min_length=2, max_length=7)]
    name: Name = ""
    seed: Number | None = None
    deal: Annotated[str, Field(max_length=MOST_DEAL)] = ""
    at: Number = 0

    @field_validator("deal")
    @classmethod
    def _check_deal(cls, deal: str, info: ValidationInfo) -> str:
        if deal and info.data.get("match"):
            raise ValueError("a match begins with a new deal; omit it, or match")
        return deal

    @field_validator("seats")
    @classmethod
    def _check_seats(cls, seats: list[SeatWish]) -> list[SeatWish]:
        if any(seat.me + seat.open + bool(seat.agent) != 1 for seat in seats):
            raise ValueError('give {"me": true}, {"open": true} or {"agent": NAME} for each')
        if sum(seat.me for seat in seats) > 1:
            raise ValueError('you can sit in one seat; give "me" once')
        if all(seat.agent for seat in seats):
            raise ValueError('no person would play; give one seat {"me": true} or {"open": true}')
        return seats


class Sit(OfTable):
    """A person takes an open seat."""

    seat: Number
    name: Name = ""


class Act(OfPosition):
    """A card, cards to pass, or the use of a moon."""

    actions: Annotated[list[Text], Field(min_length=1, max_length=13)]


REQUESTS: Mapping[str, type[Request]] = {
    "hello": Hello,
    "create": Create,
    "sit": Sit,
    "watch": OfTable,
    "act": Act,
    "hint": OfPosition,
    "undo": OfPosition,
    "next": OfTable,
    "leave": OfTable,
    "ping": Request,
}


def parse(plain: Mapping[str, Any] | None) -> Request:
    """Return a message of a browser as a request.

    Args:
        plain: the message, or None if it is not a JSON object.

    Raises:
        Refusal: if a field is missing or wrong. The text names the field.
    """
    if plain is None:
        raise Refusal(
            "bad_message", "message: it is not a JSON object; send one object per message"
        )
    kind = plain.get("type")
    if type(kind) is not str or kind not in REQUESTS:
        text = f"type: {quoted(kind)} is unknown; give one of {', '.join(REQUESTS)}"
        raise Refusal("bad_message", text)
    try:
        return REQUESTS[kind].model_validate({**plain, "id": id_of(plain)})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field, why = ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")
        given = "" if fault["type"] == "missing" else f"{quoted(fault['input'])} cannot be used; "
        raise Refusal("bad_message", f"{field}: {given}{why[:1].lower()}{why[1:]}") from None


def id_of(plain: Mapping[str, Any] | None) -> str | int | None:
    """Return the id of a request, or None if it has none or an unsuitable one."""
    given = None if plain is None else plain.get("id")
    is_short = type(given) is str and len(given) <= 64
    return given if is_short or (type(given) is int and abs(given) < 2**53) else None


# ---- answers -------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)
def _lines(rules: Rules) -> ViewLines:
    return ViewLines(rules)


def sight(game: Game, seat: int | None) -> str:
    """Return the cards that a seat may know, as fields of a message.

    ``view`` is the view that external programs get. For onlookers (`seat` None) it is null, and
    ``public`` has the public part of a view.
    """
    view = game.view(0 if seat is None else seat)
    text = _lines(game.rules).write(BatchView.of([view]))[0]
    if seat is not None:
        return f'"view":{text}'
    known = {name: value for name, value in json.loads(text).items() if name not in _HIDDEN}
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
            "small": len(Rules.preset(name).deck) < len(Rules.preset("two_player").deck),
            "aim": " ".join(aim(Rules.preset(name))),
            "text": preset.summary,
        }
        for name, preset in PRESETS.items()
    ]


# ---- a table -------------------------------------------------------------------------------------
def listed_table(table: Table, owner: str) -> dict[str, Any]:
    """Return a person's table for `welcome`."""
    seat, game = table.seat_of(owner), table.game
    return {
        "table": table.id,
        "title": title_of(table.rules.name),
        "match": table.is_match,
        "you": seat,
        "seats": [table.name_of(p) for p in range(table.rules.players)],
        "trick": min(game.trick_number + 1, table.rules.hand_size),
        "tricks": table.rules.hand_size,
        "points": table.totals() if table.is_match else game.points,
        "saved": None if table.journal is None else int(table.journal.path.stat().st_mtime),
        "your_turn": table.turn is not None and table.turn == seat,
    }


@functools.lru_cache(maxsize=64)
def _rules_text(rules: Rules, is_match: bool) -> str:  # noqa: FBT001 as the cache's key
    """Return the rules of a table as JSON: title, deck, fields and sentences."""
    return dump(
        {
            "title": title_of(rules.name),
            "deck": list(rules.deck),
            "fields": rules.to_dict(),
            "text": explain(rules, match=is_match),
        }
    )


def table_message(
    table: Table, seat: int | None, connected: Sequence[bool], watching: int = 0
) -> str:
    """Return the message with the whole table for a seat, or for an onlooker if `seat` is None.

    Args:
        table: the table.
        seat: the seat, or None for an onlooker.
        connected: for each seat, True if its person is present.
        watching: the number of people present without a seat.
    """
    match = None
    if isinstance(table.play, Match) and table.play.is_over:
        match = {"winner": table.play.winner, "totals": table.totals()}
    head = {
        "type": "table",
        "table": table.id,
        "seq": table.seq,
        "match": table.is_match,
        "continued": bool(table.begun) and not table.number,
        "seats": [
            {
                "name": table.name_of(p),
                "kind": seat.kind,
                "connected": bool(seat.agent) or connected[p],
            }
            for p, seat in enumerate(table.seats)
        ],
        "you": seat,
        "watching": watching,
        "totals": table.totals(),
        "sheet": table.sheet,
        "undo": seat is not None and table.can_undo,
        "fault": table.fault,
        "over": None if table.ended is None else table.result(),
        "match_over": match,
        "turn": table.turn,
        "cards_left": [len(table.game.hand(p)) for p in range(table.rules.players)],
    }
    rules = _rules_text(table.rules, table.is_match)
    return f'{dump(head)[:-1]},"rules":{rules},{sight(table.game, seat)}}}'
