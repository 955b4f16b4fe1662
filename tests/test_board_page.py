"""The analysis board in a real browser: the offline file and the server's page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_train.web.assets import board_page
from hearts_train.web.review import read_deal, review, tried

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("chromium"), reason="no Chromium here"),
]

from tests.deals import played  # noqa: E402
from tests.page import Person, signed  # noqa: E402
from tests.page import address as address  # noqa: E402
from tests.page import browser as browser  # noqa: E402
from tests.page import visit as visit  # noqa: E402
from tests.web import LIMIT  # noqa: E402

NAME = "<b>Ann</b> & 'Bo'"


@pytest.fixture(scope="module")
def told() -> list[dict]:
    documents = []
    for rules, seed in (("two_player", 3), ("mini", 2)):
        game = played(rules, seed, "easy", "standard")
        documents.append(review(Record(game, {"Player 0": NAME, "Player 1": "standard"})))
    return documents


@pytest.fixture(scope="module")
def file(told: list[dict], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("board") / "deals.html"
    path.write_bytes(board_page(told))
    return path


@pytest.fixture
def page(browser: sync_api.Browser, file: Path) -> Iterator[sync_api.Page]:
    """Open the file in a browser, and fail on errors or network requests."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    shown, faults, asked = context.new_page(), [], []
    shown.on("console", lambda message: faults.append(message.text))
    shown.on("pageerror", lambda error: faults.append(str(error)))
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(file.as_uri())
    shown.wait_for_selector(".table-top")
    yield shown
    context.close()
    assert faults == []
    # The policy of the page lets its own modules in, and no request.
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert [url for url in asked if url.startswith("file")] == [file.as_uri()]


def picks(page: sync_api.Page) -> dict[str, list[str]]:
    """Return the figures on the legal cards."""
    return {
        pick.get_attribute("data-card"): pick.locator(".worth > span").all_inner_texts()
        for pick in page.locator(".pick").all()
    }


def test_every_card_shows_both_worths(page: sync_api.Page, told: list[dict]) -> None:
    page.keyboard.press("Home")
    for moment in told[0]["moments"]:
        shown = picks(page)
        assert set(shown) == set(moment["values"])
        best = signed(max(moment["means"].values()), 1)
        for card, (known, seen) in shown.items():
            assert known.lstrip("✓?") == signed(moment["means"][card], 1)
            assert ("✓" in known) == (known.lstrip("✓?") == best)
            assert seen == signed(moment["values"][card])
        assert page.locator(".pick.played").get_attribute("data-card") == moment["card"]
        page.keyboard.press("ArrowRight")
    scores = told[0]["scores"]
    assert page.locator(".where").inner_text() == "The end"
    assert page.locator(".middle-text").inner_text() == f"{NAME} {scores[0]}, standard {scores[1]}"


def test_keyboard_buttons_and_list_step_through_a_deal(page: sync_api.Page) -> None:
    where = page.locator(".where")
    page.keyboard.press("Home")
    assert "Trick 1 " in where.inner_text()
    page.keyboard.press("End")
    assert where.inner_text() == "The end"
    page.keyboard.press("Home")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert "Trick 2 " in where.inner_text()
    assert "Trick 2, " in page.locator("#live").inner_text()
    page.get_by_label("One card back").click()
    assert "Trick 1 " in where.inner_text()
    page.locator(".list .go").nth(20).click()
    assert "Trick 11 " in where.inner_text()
    assert page.locator("[aria-current=step]").count() == 1


def test_one_file_holds_several_deals(page: sync_api.Page, told: list[dict]) -> None:
    page.locator(".board-page select").select_option("1")
    page.wait_for_function("() => document.querySelectorAll('.list .go').length === 10")
    page.keyboard.press("Home")
    assert set(picks(page)) == set(told[1]["moments"][0]["values"])
    assert page.locator("b", has_text="Ann").first.inner_text() == NAME


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark"), (192, "light")])
def test_board_is_accessible_at_every_width(
    browser: sync_api.Browser, file: Path, width: int, scheme: str
) -> None:
    axe_core = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector(".table-top")
    for _ in range(19):
        page.keyboard.press("ArrowRight")
    if width == 400:  # axe takes seconds, and its findings do not depend on the width
        found = axe_core.Axe().run(page)
        assert [(v["id"], v["nodes"][0]["html"]) for v in found.response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate(
        "[...document.querySelectorAll('.review button, .review summary')].filter(b => {"
        "const r = b.getBoundingClientRect(); return r.width && Math.min(r.width, r.height) < 32})"
        ".map(b => b.outerHTML.slice(0, 80))"
    )
    assert small == []
    context.close()


def test_link_holds_the_deal_and_the_place(
    browser: sync_api.Browser, address: str, told: list[dict]
) -> None:
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    page.set_default_timeout(1000 * LIMIT)
    page.goto(f"{address}/board")
    page.get_by_label("The text of the deal").fill("nonsense")
    page.get_by_role("button", name="Look at it").click()
    assert page.locator(".wrong").inner_text().startswith("line 1")
    page.get_by_label("The text of the deal").fill(told[0]["deal"])
    page.get_by_role("button", name="Look at it").click()
    page.wait_for_selector(".table-top")
    page.keyboard.press("Home")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    link = page.url
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save its text").click()
    assert Path(saved.value.path()).read_text() == told[0]["deal"]
    assert "at=6" in link
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(".table-top")
    moment = told[0]["moments"][6]
    assert set(picks(page)) == set(moment["values"])
    scores = told[0]["scores"]
    assert page.locator(".summary h2").inner_text() == f"{NAME} {scores[0]} : standard {scores[1]}"
    page.get_by_role("button", name="Another deal").click()
    assert page.url == f"{address}/board"
    page.goto(link.replace("seat=", "seat=1"))
    page.wait_for_selector(".table-top")
    assert page.locator(".summary h2").inner_text() == f"standard {scores[1]} : {NAME} {scores[0]}"
    context.close()


def test_board_opens_at_own_mistakes_and_steps_through_them(
    page: sync_api.Page, told: list[dict]
) -> None:
    player = told[0]["players"][0]
    assert len(player["mistakes"]) > 1
    rows = page.locator(".list tbody tr")
    for at in [*player["mistakes"], player["mistakes"][0]]:
        assert "now" in (rows.nth(at).get_attribute("class") or "")
        assert f"{told[0]['names'][0]} plays" in page.locator(".where").inner_text()
        page.keyboard.press("n")
    page.get_by_role("button", name="Next mistake").click()
    at, text = player["verdict"][2]
    page.get_by_role("button", name=text).click()
    assert "now" in (rows.nth(at).get_attribute("class") or "")
    bars = page.locator(".strip .bar")
    assert bars.count() == 26
    marked = page.locator(".strip .bar:has(b)")
    assert marked.count() == len(player["mistakes"])
    bars.nth(25).click()
    assert "now" in (rows.nth(25).get_attribute("class") or "")
    assert page.locator("button.pick").count() == 0  # a file has no server to ask
    assert page.get_by_role("button", name="Play on").count() == 0


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_other_cards_are_tried_and_the_deal_played_on(
    visit: Callable[..., Person], told: list[dict], size: str
) -> None:
    person = visit(size)
    page, deal = person.page, told[0]
    at = deal["players"][0]["mistakes"][0]
    moment = deal["moments"][at]
    page.goto(f"{person.address}/board#{urlencode({'deal': deal['deal'], 'seat': 0})}")
    page.locator(f".pick.played[data-card='{moment['card']}']").wait_for()
    assert page.locator("div.pick").count() == 1
    better = next(card for card in moment["better"])
    page.locator(f"button.pick[data-card='{better}']").click()
    page.get_by_text("You are trying another line.").wait_for()
    assert page.locator(".list .go").count() == at + 1
    assert page.locator(".strip .bar").count() == at + 1
    line = review(tried(read_deal(deal["deal"]), at, better), since=at)
    shown = picks(page)
    assert set(shown) == set(line["now"]["means"])
    for card, (known, seen) in shown.items():
        assert known.lstrip("✓?") == signed(line["now"]["means"][card], 1)
        assert seen == signed(line["now"]["values"][card])
    following = next(iter(shown))
    page.locator(f"button.pick[data-card='{following}']").click()
    page.wait_for_function("n => document.querySelectorAll('.list .go').length === n", arg=at + 2)
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Back to the deal").click()
    page.locator(f".pick.played[data-card='{moment['card']}']").wait_for()
    assert page.locator(".list .go").count() == 26
    page.locator(f"button.pick[data-card='{better}']").click()
    page.get_by_text("You are trying another line.").wait_for()
    page.get_by_role("button", name="Play on from here").click()
    person.wait()
    assert "/t/" in page.url
    assert page.locator(".seat .name").first.inner_text() == "standard"
    person.play_on()
    game = person.result()
    names = [game.rules.deck[action] for action in game.actions]
    assert names[: at + 1] == [step[1] for step in line["steps"]]
    person.lobby()  # the cards were known, so this deal does not count
    assert page.locator(".record").count() == 0
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_play_goes_on_where_the_chosen_strength_does_not_play(
    visit: Callable[..., Person],
) -> None:
    """The champion does not play this game, so another agent takes the seats of the people."""
    person = visit(settings={"strength": "champion"})
    game = Game.deal("no_pass", 1)
    game.play(game.legal_actions()[0])
    person.page.goto(f"{person.address}/board#{urlencode({'deal': game.to_text(), 'at': 1})}")
    person.page.get_by_role("button", name="Play on from here").click()
    person.wait()
    names = person.page.locator(".seat .name").all_inner_texts()
    assert names[:3] == ["pro 1", "pro 2", "pro 3"]
