"""Every message of ``docs/playing.md`` is one that the server accepts or sends."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hearts_train.web import messages
from hearts_train.web.hosting import Limits
from tests.web import Guest, ask, manager, players

PAGE = (Path(__file__).parents[1] / "docs" / "playing.md").read_text(encoding="utf-8")
REQUESTS, _, SENT = PAGE.partition("### Requests")[2].partition("### Answers")


def examples(part: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", part, re.DOTALL)]


def test_every_request_has_a_valid_example():
    shown = examples(REQUESTS)
    assert {example["type"] for example in shown} == set(messages.REQUESTS)
    for example in shown:
        parsed = messages.parse(example)
        assert set(example) <= set(type(parsed).model_fields)
    given = {(example["type"], field) for example in shown for field in example}
    wanted = {
        (name, field)
        for name, kind in messages.REQUESTS.items()
        for field in set(kind.model_fields) - {"id"}
    }
    assert wanted - given == {("create", "seed")}  # described in words


async def play_everything(folder: Path) -> list[dict[str, Any]]:
    """Return all messages to a person during a deal."""
    at, guest, sent = manager(folder, Limits(created=10_000)), Guest("a" * 32), []

    async def send(**message: Any) -> None:
        sent.extend(await ask(at, guest, **message))

    seats = [{"me": True}, {"agent": "easy"}]
    await send(type="create", rules="micro", seats=seats, match=True, seed=1)
    table = at.find(sent[0]["table"]).table
    asked = {"table": table.id}
    while table.ended is None:
        seq = table.seq
        await send(type="hint", seq=seq, **asked)
        actions = [table.rules.action_name(table.game.legal_actions()[0])]
        await send(type="act", seq=seq, actions=actions, id=1, **asked)
    await send(type="act", seq=10_000, actions=["2C"], **asked)
    await send(type="leave", **asked)
    guest.send(messages.answer("pong", {}, None))
    welcome = {"v": 1, "token": "", "agents": players().to_json(), "rules": messages.presets_json()}
    guest.send(
        messages.answer("welcome", {**welcome, "tables": at.tables_json(guest.owner, [])}, None)
    )
    sent.extend(guest.take())
    at.close()
    return sent


@pytest.fixture(scope="module")
def sent(tmp_path_factory) -> dict[str, dict[str, Any]]:
    found = asyncio.run(play_everything(tmp_path_factory.mktemp("tables")))
    shown = [message for message in found if message.get("worths") != []]  # of a forced card
    return {message["type"]: message for message in shown}


def fields_of(message: Any) -> Any:
    """Return the names of all fields, also inside lists and objects."""
    if isinstance(message, list):
        return fields_of(message[0]) if message and isinstance(message[0], dict) else "list"
    if not isinstance(message, dict):
        return "value"
    loose = {"view", "fields", "id"}  # with changing names, or optional
    return {k: "..." if k in loose else fields_of(v) for k, v in message.items() if k != "id"}


SHOWN = {example["type"]: example for example in examples(SENT)}


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_messages_have_the_fields_of_the_page(name, sent):
    shown, real = fields_of(SHOWN[name]), fields_of(sent[name])
    for field in ("tables", "match_over"):  # may be empty, or null
        if field in shown:
            real[field] = shown[field] = "..."
    assert shown == real


def test_page_shows_every_message(sent):
    assert set(sent) == set(SHOWN)


def test_view_on_the_page_is_complete(sent):
    assert set(SHOWN["table"]["view"]) == set(sent["table"]["view"])


def test_every_code_is_on_the_page():
    files = Path(messages.__file__).parent.glob("*.py")
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    codes = set(re.findall(r'Refusal\(\s*"(\w+)"', source))
    listed = set(re.findall(r"`(\w+)`", PAGE.partition("| code |")[2].partition("\n## ")[0]))
    assert codes <= listed
    assert len(codes) >= 12
