"""Hints, settings, the guide and accessibility, in a real browser."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("playwright")
pytest.importorskip("starlette")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium"),
]

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import expect  # noqa: E402

from hearts_agents import make_agent  # noqa: E402
from hearts_env import Game  # noqa: E402
from hearts_train.measure.analysis import SLIP, analyse  # noqa: E402
from tests.page import SIZES, Person  # noqa: E402
from tests.page import address as address  # noqa: E402
from tests.page import browser as browser  # noqa: E402
from tests.page import person as person  # noqa: E402
from tests.page import visit as visit  # noqa: E402
from tests.web import PERSON_LEADS  # noqa: E402

DECIDED = next(s for s in range(99) if "AH" in Game.deal("mini", s).hand(0))
"""A deal in which the person holds the ace of hearts."""

NO_CLUBS = 22
"""A deal of ``micro`` in which both clubs are dead, and the person leads."""
AGENT_LEADS = next(s for s in range(99) if Game.deal("two_player", s).current_player == 1)
"""A deal in which the agent leads the lowest club, and the person holds clubs and hearts."""


def history(person: Person) -> Game:
    """Return the game at a person's table, from the messages to the page."""
    game = Game.deal("two_player", PERSON_LEADS)
    told = person.page.evaluate("window.told")
    for seat, card in told:
        assert game.current_player == seat
        game.play(card)
    return game


LISTEN = """
window.told = [];
const Line = window.WebSocket;
window.WebSocket = class extends Line {
  constructor(...all) {
    super(...all);
    this.addEventListener("message", (event) => {
      const {view} = JSON.parse(event.data);
      if (view) window.told = view.history;
    });
  }
};
"""


def listening(visit, size: str) -> Person:
    person = visit(size)
    person.page.add_init_script(LISTEN)
    person.sit_down("two_player", ["me", "pimc"], seed=PERSON_LEADS)
    return person


@pytest.mark.parametrize("size", SIZES)
def test_hint_raises_the_best_card_with_its_worth(visit, size) -> None:
    person = listening(visit, size=size)
    while len(person.legal) < 2:
        person.play()
    person.page.get_by_role("button", name="Hint").click()
    line = person.page.locator(".line")
    expect(line).to_contain_text("Best: ")
    view = history(person).view(0)
    margins, weights, _ = make_agent("pimc", seed=0).world_margins(view)
    means = weights / weights.sum() @ margins
    best = view.rules.deck[view.legal_actions()[int(means.argmax())]]
    assert person.cards(".hand .card.raised") == [best]
    outcome = f"you {'win' if means.max() > 0 else 'lose'} by {abs(means.max()):.1f} on average"
    expect(line).to_contain_text(outcome)
    assert person.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


def test_hint_raises_every_card_to_pass(person) -> None:
    person.sit_down("classic", ["me", "easy", "easy", "easy"], match=True)  # it begins with a pass
    person.press(person.hand[0])
    person.page.get_by_role("button", name="Hint").click()
    line = person.page.locator(".line")
    expect(line).to_contain_text("Best: pass ")
    assert len(person.cards(".hand .card.raised")) == 3
    assert len(line.inner_text().removeprefix("Best: pass ").split()) == 3


def test_line_says_why_leads_are_limited(visit) -> None:
    """The lowest club is forced. Later the guide explains why no heart may be led."""
    person = visit(settings={"guide": "on"})
    person.sit_down("two_player", ["me", "easy"], seed=PERSON_LEADS)
    line, guide = person.page.locator(".line"), person.page.locator(".guide")
    expect(line).to_have_text(
        "Your turn: lead the two of clubs. The lowest club leads the first trick."
    )
    person.sit_down("micro", ["me", "easy"], seed=NO_CLUBS)
    expect(line).to_have_text(
        "Your turn: lead the queen of diamonds. No hand has a club, so the lowest diamond leads "
        "the first trick."
    )
    person.sit_down("two_player", ["me", "easy"], seed=AGENT_LEADS)
    person.play()  # any club is higher than the one led
    expect(line).to_contain_text("Your turn: lead a card, but no heart yet.")
    expect(guide).to_contain_text("broken: that is, before someone cannot follow suit")


@pytest.mark.parametrize("size", SIZES)
def test_decided_deal_can_be_played_out(visit, size) -> None:
    """In this deal the ace of hearts alone costs points, and a person holds it."""
    person = visit(size)
    person.sit_down('mini moon=none card_points={"AH":1}', ["me", "easy"], seed=DECIDED)
    rest = person.page.get_by_role("button", name="Play out the rest")
    while "AH" in person.hand:
        expect(rest).to_have_count(0)
        person.play("AH" if "AH" in person.legal else None)
    assert len(person.hand) > 1
    rest.click()
    person.page.wait_for_selector(".result")
    assert person.result().scores() in ([0, 1], [1, 0])


def test_settings_survive_a_reload(person) -> None:
    person.sit_down("two_player", ["me", "easy"], seed=PERSON_LEADS)
    page = person.page
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("radio", name="One tap").check()
    page.get_by_role("button", name="Done").click()
    page.reload()
    person.wait()
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("radio", name="One tap")).to_be_checked()


def test_mouse_plays_by_one_click_unless_set_otherwise(person) -> None:
    person.sit_down("two_player", ["me", "easy"], seed=PERSON_LEADS)
    person.page.evaluate("localStorage['hearts.settings'] = '{\"pace\": \"none\"}'")
    person.page.reload()
    person.wait()
    person.press(person.legal[0])
    person.played(13)


def test_text_follows_the_reader_s_size(person) -> None:
    person.sit_down("two_player", ["me", "easy"], seed=PERSON_LEADS)
    size = "parseFloat(getComputedStyle(document.querySelector('.line')).fontSize)"
    before = person.page.evaluate(size)
    person.page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert person.page.evaluate(size) == 2 * before


def test_reduced_motion_moves_nothing(visit) -> None:
    for reduced, expected in (("reduce", False), ("no-preference", True)):
        person = visit(reduced_motion=reduced)
        person.page.add_init_script(
            "window.longest = 0; const move = Element.prototype.animate;"
            "Element.prototype.animate = function (frames, how) {"
            "window.longest = Math.max(window.longest, how.duration);"
            "return move.call(this, frames, how); };"
        )
        person.sit_down("mini", ["me", "easy"], seed=3)
        person.play()
        person.page.wait_for_function("() => !document.getAnimations().length")
        longest = person.page.evaluate("window.longest")
        assert (longest > 0) == expected
        assert longest <= 250


AXE = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast"]},
}
SCREENS = ["lobby", "table", "exchange", "moon", "result", "sheet", "settings", "missing", "hint"]


def show(person: Person, screen: str) -> None:
    """Bring one of the page's screens about."""
    page = person.page
    if screen in ("lobby", "settings"):
        person.lobby()
        if screen == "settings":
            page.get_by_role("button", name="Settings").click()
    elif screen in ("table", "hint"):
        person.sit_down("two_player", ["me", "easy"], seed=PERSON_LEADS)
        person.play()
        if screen == "hint":
            page.get_by_role("button", name="Hint").click()
            page.wait_for_selector(".hand .card.raised")
    elif screen == "exchange":
        person.sit_down("classic", ["me", "easy", "easy", "easy"], match=True)
        person.press(person.hand[0])
    elif screen == "moon":
        person.sit_down('micro moon=choose card_points={"AH":1}', ["me", "easy"], seed=2)
        for _ in range(2):
            person.play()
    elif screen in ("result", "sheet"):
        person.sit_down("micro", ["me", "easy"], match=True)
        person.play_on()
        if screen == "sheet":
            page.get_by_role("button", name="Scores").click()
    else:
        page.goto(f"{person.address}/t/0123456789abcdef")
        page.wait_for_selector("h1")


@pytest.mark.parametrize(
    "size", SIZES
)  # everything once; on small screens the pages with another layout
def test_axe_finds_no_violation(person, size) -> None:
    for screen in SCREENS if size == "wide" else ("lobby", "table", "exchange", "result", "hint"):
        show(person, screen)
        for scheme, options in AXE.items() if size == "wide" else [*AXE.items()][:1]:
            person.page.emulate_media(color_scheme=scheme)
            found = Axe().run(person.page, options=options)
            assert not found.violations_count, (screen, scheme, found.generate_report())
        assert person.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


@pytest.mark.parametrize("size", SIZES)
def test_result_links_the_costliest_card_to_the_board(person, size) -> None:
    person.sit_down("two_player", ["me", "pro"], seed=PERSON_LEADS)
    while not person.is_over:
        person.play(person.legal[len(person.legal) // 2])
    page, game = person.page, person.result()
    own = [m for m in analyse(game).moments if m.player == 0]
    worst = max(own, key=lambda m: m.expected_loss)
    assert worst.expected_loss >= SLIP
    sentence = page.locator(".result .lesson")
    sign = str.maketrans("CDSH", "♣♦♠♥")
    names = (worst.card, worst.better[0])
    card, better = (name.replace("T", "10").translate(sign) for name in names)
    lost = worst.expected_loss
    points = f"{lost:.0f}" if lost == int(lost) else f"{lost:.1f}"
    expect(sentence).to_contain_text(
        f"Your costliest card: {card} in trick {worst.trick}, on the board. With {better} you "
        f"would have done better by {points} on average, counted as your opponent’s points less"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    sentence.get_by_role("link", name="on the board").click()
    page.locator(f".pick.played[data-card='{worst.card}']").wait_for()


@pytest.mark.parametrize("size", SIZES)
def test_guide_explains_the_first_deal_only(visit, size) -> None:
    person = visit(size, settings={"guide": "on"})
    person.sit_down("two_player", ["me", "standard"], seed=7)
    page, said = person.page, []
    guide = page.locator(".guide")
    while not person.is_over:
        if guide.is_visible():
            said.append(guide.locator("p").inner_text())
        person.play()
    told = " ".join(said)
    assert said[0].startswith("Take as few points as you can: each heart costs 1,")
    for words in ("2 cards are in no one’s hand", "Hearts are trump", "You have no ", "you lead"):
        assert words in told
    assert len(said) == len(set(said))
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    expect(page.locator(".result")).to_contain_text("That was your first deal.")
    page.get_by_role("button", name="Next deal").click()
    page.wait_for_selector(".hand .card.legal")
    expect(guide).to_be_hidden()


def test_guide_can_be_skipped(visit) -> None:
    person = visit(settings={"guide": "on"})
    person.sit_down("classic", ["me", "easy", "easy", "easy"], match=True)  # it begins with a pass
    guide = person.page.locator(".guide")
    expect(guide).to_contain_text(
        "Take as few points as you can: each heart costs 1, the queen of spades 13. Who takes a "
        "trick takes its points. First pass 3 cards."
    )
    violations = Axe().run(person.page).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in violations] == []
    guide.get_by_role("button", name="Skip").click()
    expect(guide).to_be_hidden()
    person.page.reload()
    person.wait()
    expect(guide).to_be_hidden()
