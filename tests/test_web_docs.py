"""Every message of ``docs/serve.md`` is as the server understands or sends it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hearts_env import Rules
from hearts_train.web import messages
from hearts_train.web.hosting import Limits
from tests.web import Guest, ask, manager, players

PAGE = (Path(__file__).parents[1] / "docs" / "serve.md").read_text(encoding="utf-8")
REQUESTS, _, SENT = PAGE.partition("### Requests")[2].partition("### Answers")


def examples(part: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", part, re.DOTALL)]


def name_of(message: dict[str, Any]) -> str:
    return f"{message['type']} {message.get('kind', '')}".strip()


def test_every_request_has_an_example_that_is_understood():
    shown = examples(REQUESTS)
    assert {example["type"] for example in shown} == set(messages.REQUESTS)
    for example in shown:
        parsed = messages.parse(json.dumps(example))
        known = {"type", "id", *messages.REQUESTS[parsed.type]}
        assert set(example) <= known
    given = {(example["type"], field) for example in shown for field in example}
    wanted = {(kind, field) for kind, fields in messages.REQUESTS.items() for field in fields}
    assert wanted - given == {("create", "seed")}  # described in words


async def play_everything(folder: Path) -> list[dict[str, Any]]:
    """What a person is sent in the course of deals in which everything happens."""
    at, guest, sent = manager(folder, Limits(created=10_000)), Guest("a" * 32), []

    async def send(**message: Any) -> None:
        sent.extend(await ask(at, guest, **message))

    async def play(rules: str, *, match: bool = False, until: str = "") -> None:
        n = Rules.from_text(rules).players
        before = len(sent)
        seats = [{"me": True}, *[{"agent": "easy"}] * (n - 1)]
        await send(type="create", rules=rules, seats=seats, match=match)
        table = at.find(sent[before]["table"]).table
        asked = {"table": table.id}
        while until not in {name_of(message) for message in sent[before:]}:
            if table.ended is not None:
                await send(type="next", **asked)
            seq = table.seq
            if len(table.game.actions) in (n, 9):
                for kind in ("values", "hint", "odds"):
                    await send(type=kind, seq=seq, **asked)
            legal = table.game.legal_actions()
            action = table.rules.action_name(legal[0])
            await send(type="act", seq=seq, action=action, id=1, **asked)
            if until == "event undo":
                await send(type="undo", seq=table.seq, **asked)
        await send(type="act", seq=10_000, action="2C", **asked)
        await send(type="leave", **asked, close=True)

    await play("micro", match=True, until="event match")
    await play("classic", until="event received")
    await play("classic", until="event broken")
    await play("kitty players=3", until="event kitty")
    await play("two_player", until="event undo")
    while "event moon" not in {name_of(message) for message in sent}:
        await play('micro moon="choose"', until="event over")
    guest.send(messages.answer("pong", {}, None))
    welcome = {"v": 1, "token": "", "agents": players().to_json(), "rules": messages.presets_json()}
    guest.send(messages.answer("welcome", {**welcome, "tables": at.tables_json(guest.owner)}, None))
    sent.extend(guest.take())
    other = Guest("b" * 32)
    seats = [{"me": True}, {"open": True}]
    (table,) = await ask(at, guest, type="create", rules="micro", seats=seats)
    await ask(at, other, type="sit", table=table["table"], seat=1, name="Ben")
    sent.extend(guest.take())
    at.close()
    return sent


@pytest.fixture(scope="module")
def sent(tmp_path_factory) -> dict[str, dict[str, Any]]:
    found = asyncio.run(play_everything(tmp_path_factory.mktemp("tables")))
    return {name_of(message): message for message in found}


def fields_of(message: Any) -> Any:
    """The names of all fields, below lists and objects too."""
    if isinstance(message, list):
        return fields_of(message[0]) if message and isinstance(message[0], dict) else "list"
    if not isinstance(message, dict):
        return "value"
    loose = {"view", "fields", "chances", "values", "id"}  # of changing names, or left out
    return {k: "..." if k in loose else fields_of(v) for k, v in message.items() if k != "id"}


SHOWN = {name_of(example): example for example in examples(SENT)}


@pytest.mark.parametrize("name", sorted(set(SHOWN) - {"event fault"}))
def test_what_the_server_sends_is_as_the_page_shows_it(name, sent):
    shown, real = fields_of(SHOWN[name]), fields_of(sent[name])
    for field in ("sheet", "over", "tables", "match_over", "worths"):  # may be empty, or null
        if field in shown:
            real[field] = shown[field] = "..."
    assert shown == real


def test_the_page_shows_all_that_is_sent(sent):
    assert set(sent) <= set(SHOWN)
    assert {"event fault"} == set(SHOWN) - set(sent)  # tests/test_web_agents.py has those


def test_the_view_of_the_page_is_whole(sent):
    assert set(SHOWN["table"]["view"]) == set(sent["table"]["view"])


def test_every_code_is_in_the_list():
    rooms = Path(messages.__file__).parents[1]
    files = [*rooms.glob("web/*.py"), *rooms.glob("session/*.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    codes = set(re.findall(r'Refusal\(\s*"(\w+)"', source))
    listed = set(re.findall(r"`(\w+)`", PAGE.partition("| code |")[2].partition("### Events")[0]))
    assert codes <= listed
    assert len(codes) >= 12
