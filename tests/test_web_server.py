"""The server over its sockets: whole deals, hints and pages."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re

import pytest

from hearts_env.game.notation import parse_games
from hearts_train.web import assets, players
from hearts_train.web.folders import ServerFolder
from hearts_train.web.hosting import Limits
from tests.deals import played
from tests.web import LIMIT
from tests.web_browser import browsing, serving, sit_together, take_turns
from tests.web_browser import client as client


# ---- play ----------------------------------------------------------------------------------------
def test_welcome_lists_agents_and_games(client):
    with browsing(client) as browser:
        answer = browser.welcome
        assert re.fullmatch("[0-9a-f]{32}", answer["token"])
        assert [agent["name"] for agent in answer["agents"]] == list(players.STRENGTHS)
        fits = {agent["name"]: agent for agent in answer["agents"]}
        assert "two_player" in fits["pimc"]["games"]
        assert "hoyle players=2" not in fits["pimc"]["games"]
        assert "party players=7" in fits["standard"]["games"]
        assert {"name": "party", "players": [3, 4, 5, 6, 7]}.items() <= next(
            game for game in answer["rules"] if game["name"] == "party"
        ).items()
        assert answer["tables"] == []


@pytest.mark.parametrize(
    ("rules", "agents"),
    [
        ("two_player", ["champion"]),
        ("two_player", ["pimc"]),
        ("classic", ["pro", "standard", "easy"]),
        ("party players=7", ["standard"] * 6),
        ("kitty players=3", ["easy", "standard"]),
        ("hoyle players=2", ["pro"]),
    ],
)
def test_deal_against_agents_ends(rules, agents, client):
    with browsing(client) as browser:
        table = browser.create(rules, *agents)
        assert table["type"] == "table"
        assert table["you"] == 0
        assert [seat["name"] for seat in table["seats"]] == ["You", *agents]
        over = browser.play_on()
        (game,) = parse_games(over["deal"])
        assert game.is_over
        assert game.scores() == over["scores"]
        dealt = browser.ask(type="next", table=table["table"])
        assert (len(dealt["sheet"]), dealt["over"]) == (1, None)
        assert dealt["view"]["phase"] in ("pass", "play")


def test_only_the_token_gives_the_seat_back(client):
    with browsing(client) as browser:
        token = browser.token
        table = browser.create("two_player", "standard")["table"]
        browser.act()
        while browser.state["turn"] != 0:
            browser.read()
        seen = browser.state["view"]
    with browsing(client, "f" * 32, table) as stranger:
        assert stranger.welcome["tables"] == []
        answer = stranger.ask(type="watch", table=table)
        assert answer["view"] is None
        assert not answer["seats"][0]["connected"]
        for kind in ("act", "hint", "undo"):
            more = {"actions": seen["legal"][:1]} if kind == "act" else {}
            asked = stranger.ask(type=kind, table=table, seq=answer["seq"], **more)
            assert asked["code"] == "not_your_seat"
        assert stranger.ask(type="next", table=table)["code"] == "not_your_seat"
        with browsing(client, token, table) as again:
            (mine,) = again.welcome["tables"]
            assert mine["table"] == table
            assert mine["your_turn"]
            back = again.ask(type="watch", table=table)
            assert back["you"] == 0
            assert back["view"] == seen
            again.act()


@pytest.mark.parametrize("match", [False, True])
def test_undo_never_reaches_a_deal_already_shown(match, client):
    """The end of a deal shows all its cards."""
    with browsing(client) as browser:
        table = browser.create("mini", "easy", match=match)["table"]
        browser.play_on()
        assert browser.ask(type="next", table=table)["over"] is None
        while browser.state["turn"] != 0:
            browser.read()
        started = browser.ask(type="watch", table=table)
        assert len(started["sheet"]) == 1
        assert not started["undo"]
        refused = browser.ask(type="undo", table=table, seq=started["seq"])
        assert refused["code"] == "not_allowed"
        assert browser.ask(type="watch", table=table) == started
        browser.act()
        browser.until(lambda state: state["turn"] == 0)
        back = browser.ask(type="undo", table=table, seq=browser.state["seq"])
        assert (len(back["sheet"]), back["undo"]) == (1, False)
        assert back["view"]["hand"] == started["view"]["hand"]


def test_second_request_for_a_deal_changes_nothing(client):
    """The person may have asked in two tabs."""
    with browsing(client) as browser:
        table = browser.create("micro", "easy")["table"]
        browser.play_on()
        browser.ask(type="next", table=table)
        browser.act()
        before = browser.until(lambda state: state["turn"] == 0)
        assert before["undo"]
        again = browser.ask(type="next", table=table)
        assert (again["seq"], again["undo"]) == (before["seq"], True)


def test_next_deal_needs_everyone_each_time(client):
    """A request after one deal does not count for the next."""
    with browsing(client) as anna, browsing(client) as ben:
        table = sit_together(anna, ben)
        anna.until(lambda state: state["seats"][1]["connected"])
        for number in (1, 2, 3):
            while anna.state["turn"] is not None:
                take_turns(anna, ben)
            for person in (anna, ben):
                assert person.ask(type="watch", table=table)["over"]
            assert anna.ask(type="next", table=table)["over"]
            assert ben.ask(type="next", table=table)["over"] is None
            for person in (anna, ben):
                person.state = person.ask(type="watch", table=table)
                assert len(person.state["sheet"]) == number
                assert not person.state["over"]


def test_sitting_down_seats_every_tab_of_the_person(client):
    with browsing(client) as anna, browsing(client) as ben, browsing(client) as onlooker:
        seats = [{"me": True}, {"open": True}]
        table = anna.ask(type="create", rules="mini", seats=seats, name="Anna")["table"]
        with browsing(client, ben.token) as tab:
            for browser in (tab, onlooker):
                assert browser.ask(type="watch", table=table)["you"] is None
            assert ben.ask(type="sit", table=table, seat=1, name="Ben")["you"] == 1
            assert [seat["name"] for seat in ben.state["seats"]] == ["Anna", "Ben"]
            tab.ask(type="ping")  # earlier messages have come
            assert tab.state["you"] == 1
            assert tab.state["view"]["hand"] == ben.state["view"]["hand"]
            anna.until(lambda state: state["seats"][1]["connected"])
            (anna if anna.state["turn"] == 0 else ben).act()
            hand = ben.ask(type="watch", table=table)["view"]["hand"]
            assert tab.until(lambda state: state["seq"] == 1)["view"]["hand"] == hand
            assert onlooker.until(lambda state: state["seq"] == 1)["view"] is None


def test_person_who_returns_is_no_longer_away(client):
    with browsing(client) as anna, browsing(client) as ben:
        table = sit_together(anna, ben)
        assert ben.ask(type="leave", table=table)["type"] == "left"
        anna.until(lambda state: not state["seats"][1]["connected"])
        ben.ask(type="watch", table=table)
        anna.until(lambda state: state["seats"][1]["connected"])


# ---- a deal continued ----------------------------------------------------------------------------
def continued(browser, game, **more):
    """Create a table that continues a game against `easy` in seat 1, by default after 4 cards."""
    seats = [{"me": True}, {"agent": "easy"}]
    given = {"rules": game.rules.name, "seats": seats, "deal": game.to_text(), "at": 4}
    return browser.ask(type="create", **{**given, **more})


@pytest.mark.parametrize("at", [0, 4, 9])
def test_table_continues_a_deal_from_any_card(tmp_path, at):
    game = played("mini", 3, "easy", "pro")
    with serving(tmp_path) as client, browsing(client) as browser:
        token = browser.token
        table = continued(browser, game, at=at)["table"]
        browser.until(lambda state: state["over"] or state["turn"] == 0)
    with serving(tmp_path) as client, browsing(client, token, table) as browser:
        browser.ask(type="watch", table=table)
        (dealt,) = parse_games(browser.play_on()["deal"])
        assert dealt.start() == game.start()
        assert dealt.actions[:at] == game.actions[:at]
        browser.ask(type="next", table=table)
        (other,) = parse_games(browser.play_on()["deal"])
        assert other.start() != game.start()


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"at": 10}, "bad_deal", "deal: it is over after"),
        ({"at": 11}, "bad_deal", "at: "),
        ({"deal": "nonsense"}, "bad_deal", "line 1"),
        ({"rules": "micro"}, "not_fit", "deal: its rules are mini"),
        ({"match": True}, "bad_message", "deal: "),
        ({"seats": [{"me": True}, {"open": True}]}, "not_allowed", "deal: "),
    ],
)
def test_deal_that_cannot_be_continued_is_refused(client, more, code, words):
    with browsing(client) as browser:
        refused = continued(browser, played("mini", 3, "easy", "pro"), **more)
        assert refused["code"] == code
        assert refused["text"].startswith(words)


def test_people_at_a_table_see_who_watches(client):
    with browsing(client) as anna, browsing(client) as ben:
        table = anna.create("micro", "easy")["table"]
        assert anna.state["watching"] == 0
        with browsing(client) as window:
            for one in (ben, window):
                one.ask(type="watch", table=table)
            assert anna.until(lambda state: state["watching"] == 2)["seats"][0]["connected"]
        ben.ask(type="ping")
        anna.until(lambda state: state["watching"] == 1)
        ben.ask(type="leave", table=table)
        anna.until(lambda state: state["watching"] == 0)


def test_onlookers_who_come_and_go_disturb_no_one(tmp_path):
    """Others hear of them later, and once."""
    limits = Limits(gather=LIMIT)
    with serving(tmp_path, limits=limits) as client, browsing(client) as anna:
        table = anna.create("micro", "easy")["table"]
        with browsing(client) as ben:
            for _ in range(20):
                assert ben.ask(type="watch", table=table)["watching"] == 1
                assert ben.ask(type="leave", table=table)["type"] == "left"
            assert len(client.app.state.manager.find(table)._tasks) == 1
        anna.ask(type="ping")  # earlier messages have come
        assert anna.state["watching"] == 0


# ---- hints ---------------------------------------------------------------------------------------
def test_hint_is_computed_once_per_position(client, monkeypatch):
    counted = []
    original = players.Listed.hint
    monkeypatch.setattr(
        players.Listed, "hint", lambda *args: (counted.append(1), original(*args))[1]
    )
    with browsing(client) as browser:
        table = browser.create("two_player", "standard", seed=3)["table"]
        browser.act()
        browser.until(lambda state: state["turn"] == 0)
        while len(browser.state["view"]["legal"]) < 2:
            browser.act()
            browser.until(lambda state: state["turn"] == 0)
        asked = {"type": "hint", "table": table, "seq": browser.state["seq"]}
        hint = browser.ask(**asked)
        worths = {worth["action"]: worth["margin"] for worth in hint["worths"]}
        assert set(worths) == set(browser.state["view"]["legal"])
        assert worths[hint["actions"][0]] == max(worths.values())
        assert hint == browser.ask(**asked)
        assert len(counted) == 1
        browser.act()
        assert browser.ask(**asked)["code"] == "stale"


def test_hint_is_for_the_present_position(client):
    with browsing(client) as browser:
        table = browser.create("micro", "easy")["table"]
        while not browser.state["over"]:
            browser.until(lambda state: state["turn"] == 0 or state["over"])
            if browser.state["turn"] == 0:
                seq, legal = browser.state["seq"], browser.state["view"]["legal"]
                hint = browser.ask(type="hint", table=table, seq=seq)
                assert hint["actions"][0] in legal
                browser.ask(type="act", table=table, seq=seq, actions=hint["actions"])


def test_table_with_a_free_seat_gives_no_hint(client):
    with browsing(client) as browser:
        seats = [{"me": True}, {"open": True}]
        table = browser.ask(type="create", rules="mini", seats=seats)
        refused = browser.ask(type="hint", table=table["table"], seq=table["seq"])
        assert refused["code"] == "not_allowed"


def test_people_get_neither_hint_nor_undo(client):
    with browsing(client) as anna, browsing(client) as ben:
        table = sit_together(anna, ben, "mini")
        for person in (anna, ben):
            state = person.ask(type="watch", table=table)
            for kind in ("hint", "undo"):
                refused = person.ask(type=kind, table=table, seq=state["seq"])
                assert refused["code"] == "not_allowed"


def test_unfinished_tables_say_how_far_they_are(tmp_path):
    with serving(tmp_path) as client, browsing(client) as browser:
        table = browser.create("mini", "easy", seed=3)["table"]
        browser.act()
        state = browser.until(lambda state: state["turn"] == 0)
        with browsing(client, browser.token, table) as again:
            (mine,) = again.welcome["tables"]
        assert mine["tricks"] == 5
        assert mine["trick"] == len(state["view"]["history"]) // 2 + 1
        assert mine["points"] == state["view"]["points"]
        assert mine["saved"] > 1_700_000_000
        ServerFolder(tmp_path).path_of(table).unlink()
        with browsing(client, browser.token, table) as again:
            assert again.welcome["tables"] == []


# ---- pages ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/", "/t/0123456789abcdef", "/board"])
def test_pages_are_single_files_with_strict_policy(path, client):
    found = client.get(path)
    assert found.status_code == 200
    assert found.content == assets.index()
    policy = found.headers["content-security-policy"]
    inline = re.search(rb'<script type="importmap">(.*?)</script>', found.content, re.DOTALL)
    assert inline is not None
    digest = base64.b64encode(hashlib.sha256(inline[1]).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


@pytest.mark.parametrize(
    "path", ["/", "/nowhere", "/static/index.html", "/static/../app.py", "/api/review", "/healthz"]
)
def test_every_answer_has_the_headers(path, client):
    headers = client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-cache"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_files_outside_the_folder_are_not_served(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/"):
        assert client.get(path).status_code == 404


def test_body_of_a_request_is_limited(client):
    assert client.post("/api/review", content=b"x" * 600_000).status_code == 413
    assert client.post("/api/review", content=iter([b"x" * 300_000] * 2)).status_code == 413


@pytest.mark.parametrize("name", ["cards.svg", "main.js", "style.css"])
def test_files_are_compressed_once(name, client, monkeypatch):
    """To compress the cards takes a tenth of a second, in which all tables would wait."""
    plain = client.get(f"/static/{name}", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers

    def refuse(*_args, **_options):
        raise AssertionError("compressed again")

    monkeypatch.setattr(gzip.GzipFile, "write", refuse)
    monkeypatch.setattr(gzip, "compress", refuse)
    answer = client.get(f"/static/{name}", headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.content == plain.content == assets.files()[name].data


def test_unchanged_files_are_not_sent_again(client):
    tag = client.get("/static/main.js").headers["etag"]
    for known, status in ((tag, 304), (f"W/{tag}", 304), ('"other"', 200)):
        answer = client.get("/static/main.js", headers={"if-none-match": known})
        assert (answer.status_code, bool(answer.content)) == (status, status == 200)


def test_unknown_address_shows_a_page_with_a_way_back(client):
    """The page says that there is no such page."""
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert answer.content == assets.index()
