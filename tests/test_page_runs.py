"""The page of training runs in a real browser: curves, cards, and sitting down against a run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright")
pytest.importorskip("starlette")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium"),
]

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import expect  # noqa: E402

from tests.page import SIZES, served  # noqa: E402
from tests.page import browser as browser  # noqa: E402
from tests.page import person as person  # noqa: E402
from tests.page import visit as visit  # noqa: E402
from tests.test_web_runs import two_runs  # noqa: E402


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("served")
    with served(folder / "tables", [two_runs(folder / "mine")]) as found:
        yield found


def test_curves_are_drawn_and_change_with_what_is_asked(person) -> None:
    page = person.page
    page.goto(f"{person.address}/runs")
    picture = page.get_by_role("img", name="margin over pro")
    expect(picture).to_have_attribute("aria-label", r_ends("4.00 after 2.0"))
    expect(page.locator(".run-legend li")).to_have_text(["demo (2 runs, ± sd)"])
    page.get_by_label("draw demo-0").uncheck()
    expect(picture).to_have_attribute("aria-label", r_ends("5.00 after 2.0"))
    page.get_by_label("What").select_option("entropy")
    expect(page.locator(".run-panel figcaption")).to_have_text(["entropy"])
    page.get_by_role("radio", name="minutes").check()
    expect(page.get_by_role("img", name="minutes of training")).to_be_visible()


def test_a_card_is_text_and_a_run_is_played(person) -> None:
    """What stands in a card cannot become a part of the page."""
    page = person.page
    page.goto(f"{person.address}/runs")
    page.get_by_role("button", name="Model card of demo-1").click()
    expect(page.get_by_role("heading", name="<b>demo</b>")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    assert page.get_by_role("button", name="Play against demo-0").count() == 0  # no player yet
    page.get_by_role("button", name="Play against demo-1").click()
    person.wait()
    assert "/t/" in page.url
    expect(page.get_by_text("demo-1").first).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(visit, size: str, scheme: str) -> None:
    person = visit(size, color_scheme=scheme)
    person.page.goto(f"{person.address}/runs")
    person.page.wait_for_selector(".run-panel svg")
    found = Axe().run(person.page).response["violations"]
    assert not [(fault["id"], fault["nodes"][0]["html"]) for fault in found]
    width = person.page.evaluate("document.documentElement.scrollWidth")
    assert width <= SIZES[size][0]


def r_ends(text: str) -> re.Pattern[str]:
    """A pattern of texts that end so."""
    return re.compile(re.escape(text) + "$")
