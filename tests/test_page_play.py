"""People in a real browser: whole deals of every kind, on screens of every size."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("playwright")
pytest.importorskip("starlette")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium"),
]

from playwright.sync_api import expect  # noqa: E402

from hearts_env import Game, Rules  # noqa: E402
from hearts_env.rules.presets import PRESETS  # noqa: E402
from tests.page import SIZES, Person  # noqa: E402
from tests.page import address as address  # noqa: E402
from tests.page import browser as browser  # noqa: E402
from tests.page import person as person  # noqa: E402
from tests.page import visit as visit  # noqa: E402
from tests.web import LIMIT, PERSON_LEADS  # noqa: E402

MOON = 'micro moon=choose card_points={"AH":1}'
"""The holder of the ace of hearts takes everything that costs points."""
MOON_SEED = 2
EASY_LEADS = next(s for s in range(50) if Game.deal("two_player", s).current_player == 1)
"""A deal in which the agent leads the first card."""
CORNER = """(card) => {
    const {x, y, width, height} = card.getBoundingClientRect();
    const top = document.elementFromPoint(x + 0.12 * width, y + 0.1 * height);
    return {y, seen: card.contains(top)};
}"""
"""The place of a card, and whether its index is visible."""
FORGET_LAST = """() => {
    const record = JSON.parse(localStorage['hearts.record']);
    localStorage['hearts.record'] = JSON.stringify({...record, last: []});
}"""
"""As after twenty deals at other tables."""
HEAR = """
window.heard = 0;
const {start} = AudioScheduledSourceNode.prototype;
AudioScheduledSourceNode.prototype.start = function(...all) {
  window.heard += 1;
  start.apply(this, all);
};
"""


@pytest.mark.parametrize("size", SIZES)
def test_lobby_deals_two_players_in_one_press(person, size) -> None:
    person.lobby()
    hero = person.page.locator(".hero")
    expect(hero).to_contain_text("Take as few points as you can: each heart costs 1,")
    expect(hero.get_by_role("radio", name="Beginner")).to_be_checked()
    hero.get_by_role("radio", name="Strong").check()
    person.page.reload()
    expect(hero.get_by_role("radio", name="Strong")).to_be_checked()
    expect(hero).to_contain_text("You play against pro")
    person.page.get_by_role("button", name="Play now").click()
    person.wait()
    expect(person.page.locator(".seat .name").first).to_have_text("pro")
    assert len(person.hand) == 13
    person.play_on()
    game = person.result()
    assert game.rules.name == "two_player"
    assert person.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    person.page.get_by_role("button", name="Next deal").click()
    person.page.wait_for_selector(".hand .card.legal")
    assert len(person.hand) == 13


@pytest.mark.parametrize("size", ["phone", "watch"])
def test_exchange_names_the_receiver_and_delivers_the_cards(person, size) -> None:
    person.sit_down("classic", ["easy", "me", "standard", "easy"], match=True)
    page = person.page
    expect(page.locator(".line")).to_have_text("Choose 3 cards for standard (to the left).")
    expect(page.locator(".seat", has_text="standard")).to_contain_text("gets 3")
    before = person.hand
    given = [before[0], before[5], before[12]]
    for name in given:
        person.press(name)
    expect(page.locator(".line")).to_have_text("These go to standard (to the left).")
    person.press(given[1])
    expect(page.locator(".line")).to_have_text("Choose 1 more card for standard (to the left).")
    person.press(given[1])
    page.locator(".actions .main").click()
    page.wait_for_selector(".hand[data-mode='play']")
    new = person.cards(".hand .card.new")
    left = [name for name in before if name not in given]
    assert len(new) == 3
    assert sorted([*left, *new]) == sorted(person.hand)
    person.play_on()
    game = person.result()
    assert set(game.passed(1)) == set(given)
    assert sorted(game.passed(0)) == sorted(new)
    page.get_by_role("button", name="Scores").click()
    expect(page.locator("dialog tbody tr")).to_have_count(1)


def test_seven_players_fit_on_a_watch(visit) -> None:
    person = visit("watch")
    person.sit_down("party players=7", ["easy"] * 3 + ["me"] + ["standard"] * 3, match=True)
    person.hand_over(person.hand[:3])
    assert person.page.locator(".seat").count() == 7
    names = person.page.locator(".seat .name").all_inner_texts()
    assert names == ["standard 1", "standard 2", "standard 3", "easy 1", "easy 2", "easy 3", "You"]
    person.play_on()
    assert person.result().rules.players == 7


@pytest.mark.parametrize("size", ["wide", "tablet", "phone"])
@pytest.mark.parametrize("players", [3, 4, 5, 6, 7])
def test_trick_covers_no_card_and_no_player(visit, size, players) -> None:
    person = visit(size)
    rules, seats = f"party players={players}", ["me", *["easy"] * (players - 1)]
    person.sit_down(rules, seats, match=True, seed=players)
    if person.page.locator(".actions .main").count():
        person.hand_over(person.hand[:3])
    while len(person.cards(".slot .laid")) < 2 and not person.is_over:
        person.play()
    assert person.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    boxes = person.page.locator(".slot, .plate").evaluate_all(
        "(nodes) => nodes.map((node) => node.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == 2 * players
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            beside = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert beside or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]


@pytest.mark.parametrize("size", ["wide", "tablet", "phone"])
def test_trick_of_two_shows_both_indices(visit, size) -> None:
    person = visit(size, settings={"pace": "calm"})
    person.sit_down("two_player", ["me", "easy"], seed=EASY_LEADS)
    name = person.legal[0]
    person.press(name)
    person.press(name)
    person.page.wait_for_function("() => document.querySelectorAll('.slot .laid').length === 2")
    own, other = (
        person.page.locator(f".seat{near} .laid").evaluate(CORNER)
        for near in (".near", ":not(.near)")
    )
    assert own["seen"]
    assert other["seen"]
    assert own["y"] > other["y"]


@pytest.mark.parametrize("pace", ["none", "quick"])
def test_match_end_names_winner_and_offers_rematch(visit, pace) -> None:
    person = visit(settings={"pace": pace})
    person.sit_down("micro end_score=5", ["me", "easy"], match=True, seed=1)
    page = person.page
    while True:
        person.play_on()
        totals = page.locator(".result tbody tr > td:nth-child(3)").all_inner_texts()
        if min(map(int, totals)) < 5 <= max(map(int, totals)):
            break
        page.get_by_role("button", name="Next deal").click()
        page.wait_for_selector(".hand .card.legal")
    expect(page.locator(".result h2")).to_have_text(re.compile("^(You win|easy wins) the match.$"))
    page.get_by_role("button", name="Rematch").click()
    page.wait_for_selector(".hand .card")
    assert len(person.hand) == 3
    expect(page.locator(".plate .total")).to_have_text(["total 0", "total 0"])


def test_keyboard_alone_plays_a_deal_and_a_moon(person) -> None:
    person.sit_down(MOON, ["me", "easy"], seed=MOON_SEED)
    keys = person.page.keyboard
    person.page.locator("h1").first.focus()
    for count in (3, 2):  # the last card is played by itself
        keys.press("1")
        assert len(person.cards(".hand .card.raised")) == 1
        keys.press("Enter" if count % 2 else "1")
        person.played(count)
    expect(person.page.locator(".line")).to_have_text("You have shot the moon: choose.")
    keys.press("Tab")
    keys.press("Enter")
    person.page.wait_for_selector(".result")
    game = person.result()
    assert game.scores() == [0, game.rules.moon_points]
    keys.press("Enter")
    person.page.wait_for_selector(".hand .card")


def test_arrows_go_to_playable_cards(person) -> None:
    person.sit_down("two_player", ["me", "easy"], seed=7)
    keys, page = person.page.keyboard, person.page
    while not person.page.locator(".hand .card.illegal").count():
        person.play()
    legal = person.legal
    page.locator("body").focus()
    for name in [*legal, legal[0]]:
        keys.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.card") == name
        raised = person.cards(".hand .card.raised")
        assert raised == [name]
    keys.press("ArrowLeft")
    count = len(person.hand)
    keys.press("Enter")
    person.played(count)
    assert legal[-1] not in person.hand


def test_unplayable_card_says_why_and_stays(person) -> None:
    person.sit_down("two_player", ["me", "easy"], seed=7)
    while not person.cards(".hand .card.illegal") or not person.cards(".slot .laid"):
        person.play()
    illegal = person.page.locator(".hand .card.illegal").first
    assert "cannot be played" in (illegal.get_attribute("aria-label") or "")
    hand = person.hand
    illegal.dispatch_event("click")
    expect(person.page.locator(".line.refused")).to_contain_text("Follow suit: you hold")
    assert person.hand == hand


def test_live_line_tells_each_card(person) -> None:
    person.sit_down("two_player", ["me", "easy"], seed=EASY_LEADS)
    game = Game.deal("two_player", EASY_LEADS)
    (lead,) = game.legal_actions()  # the lowest club
    card = game.rules.deck[lead]
    name = {"2": "two", "4": "four", "6": "six"}[card[0]]
    live = person.page.locator("#live")
    assert live.get_attribute("aria-live") == "polite"
    told = f"easy plays {name} of clubs. Your turn: "
    person.page.get_by_role("button", name="Last trick").wait_for()
    if told not in live.inner_text():  # the table was told whole, after the card
        expect(live).to_contain_text("Your turn: ")
    expect(person.page.locator(f".slot .laid[data-card='{card}']")).to_be_visible()


def test_two_people_play_and_a_third_watches(visit) -> None:
    anna, ben, onlooker = (visit(settings={"name": n}) for n in ("Anna", "Ben", ""))
    link = anna.open_table("mini")
    for other in (ben, onlooker):
        other.page.goto(link)
        other.page.wait_for_selector(".sit")
    ben.page.get_by_role("button", name="Sit here").click()
    ben.page.wait_for_selector(".hand .card")
    expect(anna.page.locator(".banner")).to_have_text("Someone is watching.")
    expect(anna.page.locator(".seat .name").first).to_have_text("Ben")
    expect(onlooker.page.locator(".sit")).to_have_count(0)
    assert not set(anna.hand) & set(ben.hand)
    while not anna.is_over:
        assert not onlooker.hand
        anna.play_with(ben)
    ben.page.wait_for_selector(".result")
    onlooker.page.wait_for_selector(".result")
    assert anna.result() == ben.result()
    anna.page.get_by_role("button", name="Next deal").click()
    expect(anna.page.locator("#live")).to_contain_text("Waiting for the others")
    ben.page.get_by_role("button", name="Next deal").click()
    anna.page.wait_for_selector(".hand .card")


def test_sitting_down_changes_the_line_of_everyone(visit) -> None:
    anna, ben, onlooker = (visit(settings={"name": n}) for n in ("Anna", "Ben", ""))
    link = anna.open_table("two_player")
    for other in (ben, onlooker):
        other.page.goto(link)
        other.page.wait_for_selector(".sit")
    ben.page.get_by_role("button", name="Sit here").click()
    ben.page.wait_for_selector(".hand .card")
    for other in (anna, onlooker):
        expect(other.page.locator("#notices")).to_contain_text("Ben has sat down.")
    leads = "Anna" if anna.legal else "Ben"
    for one, name in ((anna, "Anna"), (ben, "Ben"), (onlooker, "")):
        told = "Your turn: lead the " if name == leads else f"Waiting for {leads} to play."
        expect(one.page.locator(".line")).to_have_text(re.compile(f"(Ben has sat down. )?{told}"))


def test_last_card_and_results_look_after_themselves(person) -> None:
    """The last trick plays itself. The deal counts once, also if it is looked at long after."""
    person.sit_down("two_player", ["me", "easy"], seed=EASY_LEADS)
    while len(person.hand) > 1:
        person.play()
    person.page.wait_for_selector(".result")
    expect(person.page.locator(".lesson")).to_have_text(re.compile("^(Your costliest|You gave)"))
    scores = person.result().scores()
    table = person.page.url
    person.lobby()
    person.page.evaluate(FORGET_LAST)
    person.page.goto(table)
    person.page.wait_for_selector(".result")
    person.lobby()
    record = person.page.locator(".record")
    expect(record).to_contain_text(f"You won {int(scores[0] < scores[1])} of 1 deal.")
    expect(record).to_contain_text("points per deal.")
    expect(record.locator(".dots i")).to_have_count(0)


@pytest.mark.parametrize(("setting", "expected"), [("on", 3), ("off", 0)])
def test_cards_and_tricks_are_heard_unless_turned_off(visit, setting, expected) -> None:
    person = visit(settings={"sound": setting})
    person.page.add_init_script(HEAR)
    person.sit_down("two_player", ["me", "easy"], seed=PERSON_LEADS)
    person.play()  # the agent follows; it may also lead the next card
    heard = person.page.evaluate("window.heard")
    assert expected <= heard <= expected + (setting == "on")


def test_lost_network_is_said_without_a_timer(person) -> None:
    person.page.clock.install()
    person.sit_down("micro", ["me", "easy"])
    person.page.clock.pause_at(person.page.evaluate("Date.now()") / 1000 + 1)
    person.page.context.set_offline(True)
    expect(person.page.locator(".line-lost")).to_have_text("Reconnecting …")
    assert not person.legal
    person.page.context.set_offline(False)
    person.page.clock.resume()
    person.page.wait_for_selector(".hand .card.legal")


def test_small_decks_have_a_heading_of_their_own(person) -> None:
    person.lobby()
    small = person.page.locator("optgroup[label='Small decks'] option")
    names = small.evaluate_all("(options) => options.map((option) => option.value)")
    decks = {name: len(Rules.preset(name).deck) for name in PRESETS}
    assert names == [name for name in PRESETS if decks[name] < 28]


def test_name_dialog_sits_down_on_enter_only(visit) -> None:
    anna, ben = visit(settings={"name": "Anna"}), visit()
    ben.page.goto(anna.open_table("mini"))
    expect(anna.page.locator(".banner").first).to_contain_text("works on this computer only")
    expect(anna.page.locator(".banner").last).to_have_text("Someone is watching.")
    for key in ("Escape", "Enter"):
        ben.page.get_by_role("button", name="Sit here").click()
        ben.page.get_by_label("Your name").fill("Ben")
        ben.page.keyboard.press(key)
        expect(ben.page.locator("dialog")).to_have_count(0)
        if key == "Escape":
            expect(ben.page.get_by_role("button", name="Sit here")).to_be_visible()
    expect(anna.page.locator("#notices")).to_contain_text("Ben has sat down.")
    expect(anna.page.locator(".banner")).to_have_count(0)


def test_reload_and_lobby_return_to_the_game(visit) -> None:
    person = visit("phone")
    person.sit_down("two_player", ["me", "easy"], seed=7)
    for _ in range(4):
        person.play()
    hand, table = person.hand, person.page.url
    trick = person.cards(".slot .laid")
    person.page.reload()
    person.wait()
    assert person.hand == hand
    assert person.cards(".slot .laid") == trick
    person.page.close()
    person.page = person.page.context.new_page()
    person.lobby()
    person.page.get_by_role("link", name="Two-player Hearts, with easy").first.click()
    person.wait()
    assert person.page.url == table
    assert person.hand == hand
    person.page.get_by_role("button", name="Undo").click()
    person.page.wait_for_function(
        f"() => document.querySelectorAll('.hand .card').length > {len(hand)}"
    )


def test_page_reconnects_after_the_server_is_killed(browser, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.page", str(port), str(tmp_path)]
        process = subprocess.Popen(command, cwd=Path(__file__).parents[1])
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"{address}/healthz", timeout=LIMIT).close()
                return process
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server does not start")

    server = start()
    try:
        person = Person(browser, address)
        person.sit_down("mini", ["me", "easy"], seed=7)
        for _ in range(2):
            person.play()
        hand = person.hand
        server.kill()
        server.wait()
        expect(person.page.locator(".line-lost")).to_have_text("Reconnecting …")
        assert not person.legal
        server = start()
        person.wait()
        expect(person.page.locator(".line-lost")).to_be_empty()
        assert person.hand == hand
        person.play_on()
        game = person.result()
        assert set(hand) <= set(game.start().hand(0))
        person.page.context.close()
    finally:
        server.kill()
        server.wait()
