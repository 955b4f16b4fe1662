"""The table in windows of every size, in a real browser."""

from __future__ import annotations

import itertools
import shutil

import pytest

pytest.importorskip("playwright")
pytest.importorskip("starlette")
pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium")

from tests.page import address as address  # noqa: E402
from tests.page import browser as browser  # noqa: E402
from tests.page import visit as visit  # noqa: E402
from tests.slow import quick_cases  # noqa: E402

WINDOWS = """1280x800 768x1024 412x732 390x664 375x667 360x640 320x568 844x390 667x375 640x400
192x384 192x192"""
GAMES = {2: "two_player", 4: "classic", 7: "party players=7"}
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SEEN = """(cards, [owner, scrolls]) => cards.map((card) => {
    if (scrolls) card.scrollIntoView({block: 'center'});
    const {x, y, width, height} = card.getBoundingClientRect();
    const own = card.closest(owner);
    let seen = 0;
    for (let i = 1; i < 20; i += 2) for (let j = 1; j < 20; j += 2) {
        const top = document.elementFromPoint(x + width * i / 20, y + height * j / 20);
        seen += own.contains(top) ? .01 : 0;
    }
    return [width, seen];
})"""
"""The width of each card, and the part of its box that shows it."""


@quick_cases(("players", "guide"), [*itertools.product(GAMES, ["on", "off"])], [(2, "on")])
def test_trick_is_drawn_at_every_size(visit, players, guide) -> None:
    person = visit(settings={"guide": guide})
    for seed in itertools.count():
        person.sit_down(GAMES[players], ["me", *["easy"] * (players - 1)], seed=seed)
        if person.page.locator(".actions .main").count():
            person.hand_over(person.hand[:3])
            person.wait()
        if person.cards(".laid"):
            break
    person.page.reload()
    person.wait()
    for window in WINDOWS.split():
        width, height = map(int, window.split("x"))
        person.page.set_viewport_size({"width": width, "height": height})
        person.page.evaluate(DRAWN)
        assert person.page.locator(".guide").is_visible() == (guide == "on")
        assert person.page.evaluate("document.documentElement.scrollWidth") <= width, window
        is_high = height >= 568
        trick = person.page.locator(".laid").evaluate_all(SEEN, [".slot", not is_high])
        hand = person.page.locator(".hand .card").evaluate_all(SEEN, [".card", not is_high])
        assert min(size for size, _ in trick) >= (40 if width > 192 else 28), window
        assert min(part for _, part in trick) > 2 / 3, window
        assert min(part for _, part in hand) > 0.1, window
