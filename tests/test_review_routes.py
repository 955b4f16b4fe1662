"""The routes of the board: answers, heavy deals, impatient senders and many requests at once."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from hearts_env import Game, Rules
from hearts_env.game.notation import Record
from hearts_train.web import review_routes
from hearts_train.web.hosting import Limits
from hearts_train.web.review import costliest, is_exact, read_deal, review, tried
from hearts_train.web.review_routes import ReviewQueue
from hearts_train.web.table import Refusal
from tests.strategies import played_on
from tests.web import LIMIT
from tests.web_browser import client as client

Result = TypeVar("Result")
DEALT = Game.deal("mini", 4)
TEXT = DEALT.to_text()


def text_of(rules: str, seed: int = 1) -> str:
    return Record(played_on(rules, seed, 1_000)).to_text()


class Heavy:
    """Work that ends only when its progress raises. It notes its start and end."""

    def __init__(self) -> None:
        self.begun, self.over = threading.Event(), threading.Event()

    def __call__(self, _given: Any, progress: Any) -> Any:
        self.begun.set()
        try:
            while True:
                progress(0, 1)
                threading.Event().wait(0.001)
        finally:
            self.over.set()


def quick(_given: Any, _progress: Any) -> str:
    return "done"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.001)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a test, and fail if it hangs."""
    return asyncio.run(asyncio.wait_for(work, LIMIT))


def queue(**options: Any) -> ReviewQueue:
    return ReviewQueue(Limits(), **options)


def begin(reviews: ReviewQueue, address: str, work: Any) -> asyncio.Task[bytes]:
    return asyncio.create_task(reviews.look(address, work, {}))


async def is_refused(reviews: ReviewQueue, address: str) -> bool:
    try:
        await reviews.look(address, quick, {})
    except Refusal as refusal:
        return refusal.code == "too_fast"
    return False


# ---- the queue -----------------------------------------------------------------------------------
def test_slow_deal_is_given_up():
    async def play() -> None:
        reviews, heavy = queue(patience=0.01), Heavy()
        with pytest.raises(Refusal) as refused:
            await begin(reviews, "a", heavy)
        assert refused.value.code == "too_long"
        await until(heavy.over.is_set)  # its thread is free again
        assert reviews.num_waiting == 0

    run(play())


def test_one_address_never_delays_another():
    async def play() -> None:
        reviews, first, second = queue(), Heavy(), Heavy()
        tasks = [
            begin(reviews, "a", first),
            begin(reviews, "a", second),
            begin(reviews, "a", quick),
        ]
        await until(first.begun.is_set)
        assert await begin(reviews, "b", quick) == b'"done"'
        assert not second.begun.is_set()
        assert await is_refused(reviews, "a")
        assert not await is_refused(reviews, "b")
        tasks[0].cancel()
        await until(first.over.is_set)
        await until(second.begun.is_set)
        assert not tasks[2].done()
        tasks[1].cancel()
        assert await tasks[2] == b'"done"'
        assert reviews.num_waiting == 0
        assert not await is_refused(reviews, "a")

    run(play())


def test_full_queue_refuses_another_address():
    async def play() -> None:
        reviews = queue(most=4)
        tasks = [begin(reviews, address, Heavy()) for address in "abcd"]
        await until(lambda: reviews.num_waiting == 4)
        assert await is_refused(reviews, "e")
        for task in tasks:
            task.cancel()
        await until(lambda: reviews.num_waiting == 0)
        assert not await is_refused(reviews, "e")

    run(play())


# ---- requests ------------------------------------------------------------------------------------
async def post(
    app: Any, body: bytes, leaves: threading.Event, *, is_whole: bool = True
) -> list[Any]:
    """Return the messages to a sender until it has all or leaves."""
    sent: list[Any] = []
    parts = [{"type": "http.request", "body": body, "more_body": not is_whole}]

    async def receive() -> Any:
        if parts:
            return parts.pop()
        await until(leaves.is_set)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [("host", "localhost"), ("content-length", str(len(body)))]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/review",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
        "client": ("192.0.2.7", 5),
    }
    await app(scope, receive, send)
    return sent


DEAL = json.dumps({"deal": text_of("micro")}).encode()


@pytest.fixture
def heavy(monkeypatch) -> Heavy:
    """Replace the review by heavy work."""
    work = Heavy()
    monkeypatch.setattr(review_routes, "review", work)
    return work


def test_work_ends_when_its_sender_leaves(client, heavy):
    run(post(client.app, DEAL, heavy.begun))
    assert heavy.over.wait(LIMIT)
    assert client.app.state.reviews.num_waiting == 0


@pytest.mark.parametrize("body", [b"", b"{", json.dumps({"deal": TEXT}).encode()])
def test_sender_leaving_during_upload_raises_nothing(body, client):
    """An exception would be a traceback in the server's log."""
    leaves = threading.Event()
    leaves.set()
    run(post(client.app, body, leaves, is_whole=False))
    assert client.app.state.reviews.num_waiting == 0


# ---- answers -------------------------------------------------------------------------------------
def plain(document: object) -> object:
    return json.loads(json.dumps(document))


def test_review_route_equals_the_library(client):
    record = Record(Game.from_text(TEXT))
    answer = client.post("/api/review", json={"deal": TEXT})
    assert answer.status_code == 200
    assert answer.json() == plain(review(record))


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("review", b"[" * 60_000, 400, "JSON"),
        ("review", b"\xff\xfe", 400, "JSON"),
        ("review", {"deal": "nonsense"}, 422, "line 1"),
        ("review", {"deal": TEXT * 2}, 422, "deal: "),
        ("review", {"deal": "x" * 65_536}, 413, "too large"),
        ("costliest", {"deal": TEXT, "seat": 2}, 422, "seat: "),
        ("try", {"deal": TEXT, "at": 99, "card": "2C"}, 422, "at: "),
        ("try", {"deal": TEXT, "at": "0", "card": "2C"}, 422, "at: "),
        ("try", {"deal": TEXT, "at": 0, "card": "ZZ"}, 422, "card: "),
        ("costliest", b'{"seat": %s}' % (b"9" * 5_000), 400, "JSON"),
        ("review", {"deal": f'{TEXT}\n[Deal "{"9" * 5_000}"]'}, 422, "[Deal]"),
        ("review", {"deal": TEXT.replace("mini", f"party players={'9' * 5_000}")}, 422, "players"),
    ],
)
def test_wrong_request_is_refused_in_one_sentence(client, path, body, status, words):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post(f"/api/{path}", content=content)
    assert answer.status_code == status
    assert words in answer.json()["text"]
    assert "\n" not in answer.json()["text"]
    assert client.app.state.reviews.num_waiting == 0


def test_half_a_surrogate_pair_survives(client):
    answer = client.post(
        "/api/review", content=json.dumps({"deal": f'[Player 0 "\ud800"]\n{TEXT}'})
    )
    assert answer.json()["names"][0] == "\ud800"


def test_try_route_equals_the_library(client):
    record = read_deal(text_of("mini"))
    step = record.game.rules.deck[record.game.actions[2]]
    answer = client.post("/api/try", json={"deal": record.to_text(), "at": 2, "card": step})
    assert answer.status_code == 200
    assert answer.json() == plain(review(tried(record, 2, step), since=2))


def test_costliest_card_belongs_to_the_seat(client):
    text = text_of("two_player")
    answers = [
        client.post("/api/costliest", json={"deal": text, "seat": seat}).json() for seat in (0, 1)
    ]
    assert answers == plain([costliest(read_deal(text), seat) for seat in (0, 1)])
    assert answers[0] != answers[1]


def test_internal_error_reveals_nothing(client, monkeypatch):
    def fails(record: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(review_routes, "review", fails)
    answer = client.post("/api/review", json={"deal": TEXT})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert client.app.state.reviews.num_waiting == 0


# ---- the amount of work --------------------------------------------------------------------------
def deck(ranks: str, hand_size: int) -> Rules:
    removed = [rank + suit for suit in "CDSH" for rank in "23456789TJQKA" if rank not in ranks]
    two_player = Rules.preset("two_player")
    return two_player.replace(removed=removed, hand_size=hand_size, trump=None)


def test_deal_with_too_much_work_is_estimated():
    """Each player gets 14 of 32 cards, so the opponent has 3,060 possible hands."""
    assert is_exact(Rules.preset("two_player"))
    assert is_exact(deck("2468TQA", 12))
    heavy = deck("789TJQKA", 14)
    assert not is_exact(heavy)
    assert review(Record(Game.deal(heavy, 1)))["exact"] is False
