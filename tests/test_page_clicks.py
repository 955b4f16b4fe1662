"""A double-click, a held key and a second click on a button act once, in a real browser.

The clock does not decide: a click says that it is the second, or its time is set by the test.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

pytest.importorskip("playwright")
pytest.importorskip("starlette")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium"),
]

from playwright.sync_api import Locator, expect  # noqa: E402

from tests.page import Person  # noqa: E402
from tests.page import address as address  # noqa: E402
from tests.page import browser as browser  # noqa: E402
from tests.page import visit as visit  # noqa: E402

ONE_TAP = {"tap": "one"}

NOTE_REQUESTS = """
window.requests = [];
const {send} = WebSocket.prototype;
WebSocket.prototype.send = function(text) {
  window.requests.push(JSON.parse(text).type);
  send.call(this, text);
};
"""
SET_TIMES = """
window.time = 0;
const times = new WeakMap();
addEventListener("click", (event) => times.set(event, window.time), {capture: true});
Object.defineProperty(Event.prototype, "timeStamp", {get() { return times.get(this); }});
"""


def sit(
    visit: Callable[..., Person],
    rules: str = "two_player",
    *scripts: str,
    seed: int = 7,
    **settings: str,
) -> Person:
    """Seat a person among agents, with `scripts` on the page."""
    person = visit(settings=settings)
    for script in (NOTE_REQUESTS, *scripts):
        person.page.add_init_script(script)
    players = 2 if rules == "two_player" else 4
    person.sit_down(rules, ["me", *["standard"] * (players - 1)], seed=seed)
    return person


def requests(person: Person, *kinds: str) -> int:
    """Count the requests of these kinds that the page has sent."""
    return sum(kind in kinds for kind in person.page.evaluate("window.requests"))


def place_of(person: Person, target: Locator | str) -> tuple[float, float]:
    """Where to click on a card, or on a button."""
    node = person.card(target) if isinstance(target, str) else target
    box = node.bounding_box() or {}
    if isinstance(target, str):
        return box["x"] + min(18, box["width"] / 2), box["y"] + box["height"] * 0.3
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def click(person: Person, place: tuple[float, float], count: int = 1) -> None:
    """Click at `place`. A `count` of 2 makes it the second of a double-click."""
    mouse = person.page.mouse
    mouse.move(*place)
    mouse.down(click_count=count)
    mouse.up(click_count=count)


def is_legal_card(person: Person, place: tuple[float, float]) -> bool:
    """Return True if a legal card lies at `place`."""
    look = "([x, y]) => Boolean(document.elementFromPoint(x, y).closest('.card.legal'))"
    return bool(person.page.evaluate(look, list(place)))


def press_first(person: Person) -> tuple[float, float]:
    """Play the first legal card by a click; return the place of the click."""
    count, place = len(person.hand), place_of(person, person.legal[0])
    person.page.evaluate("window.time += 10_000")
    click(person, place)
    person.played(count)
    return place


@pytest.mark.parametrize("is_timed", [False, True])
def test_double_click_with_one_tap_plays_one_card(visit, is_timed) -> None:
    """By the second click another legal card is under the pointer. A third plays none, either."""
    person = sit(visit, "two_player", *[SET_TIMES] * is_timed, **ONE_TAP)
    tried = 0
    while len(person.hand) > 2:
        place = press_first(person)
        count = len(person.hand)
        if not is_legal_card(person, place):
            continue
        tried += 1
        for number in (2, 3):
            person.page.evaluate("window.time += 499")
            click(person, place, 1 if is_timed else number)
        assert requests(person, "act") == 13 - len(person.hand)
        assert len(person.hand) == count
    assert tried


def test_click_after_the_interval_plays_the_next_card(visit) -> None:
    person = sit(visit, "two_player", SET_TIMES, **ONE_TAP)
    while not is_legal_card(person, place := press_first(person)):
        pass
    count = len(person.hand)
    person.page.evaluate("window.time += 500")
    click(person, place)
    person.played(count)
    assert len(person.hand) == count - 1


def test_click_elsewhere_plays_at_once(visit) -> None:
    """Only a click at the same place can be the second of a double-click."""
    person = sit(visit, "two_player", SET_TIMES, **ONE_TAP)
    far: list[tuple[float, float]] = []
    while not far:
        place = press_first(person)
        others = [place_of(person, name) for name in person.legal]
        far = [other for other in others if abs(other[0] - place[0]) > 100]
    count = len(person.hand)
    click(person, far[0])
    person.played(count)
    assert len(person.hand) == count - 1


@pytest.mark.parametrize("key", ["1", "Enter"])
@pytest.mark.parametrize("tap", ["one", "two"])
def test_held_key_plays_at_most_one_card(visit, key, tap) -> None:
    person = sit(visit, tap=tap)
    keyboard = person.page.keyboard
    person.card(person.legal[0]).focus()
    keyboard.down(key)
    if tap == "one":
        person.played(13)
    for _ in range(3):
        keyboard.down(key)
    assert requests(person, "act") == (tap == "one")
    keyboard.up(key)
    if tap == "two":
        assert len(person.cards(".hand .card.raised")) == 1
        keyboard.press(key)
        person.played(13)
    assert len(person.hand) == 12


def test_held_enter_deals_no_next_deal(visit) -> None:
    """The heading of the result has the focus, and Enter there deals the next deal."""
    person = sit(visit, **ONE_TAP)
    while len(person.hand) > 2:  # the last card is played by itself
        person.play_once()
    keyboard = person.page.keyboard
    person.card(person.legal[0]).focus()
    keyboard.down("Enter")
    person.page.wait_for_selector(".result")
    keyboard.down("Enter")
    assert requests(person, "next") == 0
    keyboard.up("Enter")
    keyboard.press("Enter")
    person.page.wait_for_selector(".hand .card")


def test_double_click_on_next_deal_asks_once(visit) -> None:
    person = sit(visit, **ONE_TAP)
    while not person.is_over:
        person.play_once()
    place = place_of(person, person.page.get_by_role("button", name="Next deal"))
    played = requests(person, "act")
    click(person, place)
    click(person, place, 2)
    person.page.wait_for_selector(".hand .card.legal")
    click(person, place, 3)
    assert requests(person, "next") == 1
    assert requests(person, "act") == played
    assert len(person.hand) == 13


def test_double_click_while_others_wait_asks_once(visit) -> None:
    anna, ben = (visit(settings={"name": name}) for name in ("Anna", "Ben"))
    anna.page.add_init_script(NOTE_REQUESTS)
    ben.page.goto(anna.open_table("micro"))
    ben.page.get_by_role("button", name="Sit here").click()
    ben.page.wait_for_selector(".hand .card")
    while not anna.is_over:
        anna.play_with(ben)
    place = place_of(anna, anna.page.get_by_role("button", name="Next deal"))
    click(anna, place)
    expect(anna.page.locator("#live")).to_contain_text("Waiting for the others")
    click(anna, place, 2)
    assert requests(anna, "next") == 1


def test_double_click_on_undo_takes_one_card_back(visit) -> None:
    person = sit(visit, "two_player", SET_TIMES)
    for _ in range(3):
        person.play()
    assert len(person.hand) == 10
    place = place_of(person, person.page.get_by_role("button", name="Undo"))
    click(person, place)
    expect(person.page.locator(".hand .card")).to_have_count(11)
    expect(person.page.get_by_role("button", name="Undo")).to_be_enabled()
    click(person, place, 2)
    assert requests(person, "undo") == 1
    person.page.evaluate("window.time += 500")
    click(person, place)
    expect(person.page.locator(".hand .card")).to_have_count(12)


def test_double_click_on_pass_plays_no_card(visit) -> None:
    person = sit(visit, "classic", **ONE_TAP)
    for name in person.hand[:3]:
        person.press(name)
    button = person.page.locator(".actions .main")
    place = place_of(person, button)
    click(person, place)
    person.page.wait_for_selector(".hand[data-mode='play']")
    click(person, place, 2)
    assert requests(person, "act") == 1
    assert len(person.hand) == 13


def test_double_click_forgets_one_table_of_the_lobby(visit) -> None:
    """The next table of the list moves up to where the first one was."""
    person = visit()
    for _ in range(3):
        person.sit_down("mini", ["me", "easy"])
    person.lobby()
    closing = person.page.get_by_role("button", name="Forget: Mini, with easy")
    expect(closing).to_have_count(3)
    place = place_of(person, closing.first)
    click(person, place)
    expect(closing).to_have_count(2)
    click(person, place, 2)
    click(person, (1, 1))  # the page has handled the click before
    person.page.reload()
    expect(closing).to_have_count(2)


def test_double_click_on_play_now_plays_no_card(visit) -> None:
    person = visit(settings=ONE_TAP)
    person.page.add_init_script(NOTE_REQUESTS)
    person.lobby()
    button = person.page.get_by_role("button", name="Play now")
    place = place_of(person, button)
    click(person, place)
    person.wait()
    click(person, place, 2)
    assert requests(person, "create") == 1
    assert requests(person, "act") == 0
