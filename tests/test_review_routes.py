"""What the board asks of a server: the answers, the limits, and a sentence for what is no deal."""

from __future__ import annotations

import json

import pytest

from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_train.web.review import position, review

pytest.importorskip("starlette")
testclient = pytest.importorskip("starlette.testclient")

from starlette.applications import Starlette  # noqa: E402

from hearts_train.web import puzzles, review_routes  # noqa: E402

DEALT = Game.deal("mini", 4)
TEXT = DEALT.to_text()
OTHERS = DEALT.hand(1 - DEALT.player)[0]  # a card of the player who is not to act


@pytest.fixture
def client():
    app = Starlette(routes=review_routes.routes())
    app.state.desk = review_routes.Desk()
    with testclient.TestClient(app) as client:
        yield client


def plain(document: object) -> object:
    return json.loads(json.dumps(document))


def test_reviews_and_positions_are_those_of_the_library(client) -> None:
    record = Record(Game.from_text(TEXT))
    told = client.post("/api/review", json={"deal": TEXT})
    assert told.status_code == 200
    assert told.json() == plain(review(record))
    card = record.game.rules.deck[record.game.legal_actions()[0]]
    told = client.post("/api/position", json={"deal": TEXT, "actions": [card]})
    assert told.json() == plain(position(record, [card]))


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("review", b"", 400, "JSON"),
        ("review", b"[" * 100_000, 400, "JSON"),
        ("review", b"[1]", 400, "JSON"),
        (
            "review",
            json.dumps({"deal": f'[Player 0 "\ud800"]\n{TEXT}'}).encode(),
            422,
            "characters",
        ),
        ("review", b"\xff\xfe", 400, "JSON"),
        ("review", {}, 422, "deal: "),
        ("review", {"deal": 7}, 422, "deal: "),
        ("review", {"deal": "nonsense"}, 422, "line 1"),
        ("review", {"deal": TEXT * 2}, 422, "deal: "),
        ("review", {"deal": "x" * 20_001}, 422, "20,001"),
        ("position", {"deal": TEXT}, 422, "actions: "),
        ("position", {"deal": TEXT, "actions": [1]}, 422, "actions: "),
        ("position", {"deal": TEXT, "actions": ["2C"] * 121}, 422, "120"),
        ("position", {"deal": TEXT, "actions": ["ZZ"]}, 422, "'ZZ'"),
        ("position", {"deal": TEXT, "actions": [OTHERS]}, 422, "action: "),
    ],
)
def test_what_is_no_deal_gets_one_sentence(client, path, body, status, words) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = client.post(f"/api/{path}", content=content)
    assert told.status_code == status
    assert words in told.json()["text"]
    assert "\n" not in told.json()["text"]


def test_puzzles_are_those_of_the_package(client) -> None:
    listed = client.get("/api/puzzles").json()["puzzles"]
    assert [one["number"] for one in listed] == list(range(1, 301))
    told = client.get("/api/puzzles?number=300").json()
    assert told == plain(puzzles.told(300))
    for number in ("0", "301", "x", "-1", "9" * 30):
        told = client.get("/api/puzzles", params={"number": number})
        assert told.status_code == 404
        assert "1 to 300" in told.json()["text"]


def test_a_fault_of_ours_tells_nothing(client, monkeypatch) -> None:
    def fails(record: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(review_routes, "review", fails)
    told = client.post("/api/review", json={"deal": TEXT})
    assert told.status_code == 500
    assert "secret" not in told.text
