"""One deal in a real browser, for the quick suite; the other tests of the page are slow."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("playwright")
pytest.importorskip("starlette")
pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium")

from tests.page import Person  # noqa: E402
from tests.page import address as address  # noqa: E402
from tests.page import browser as browser  # noqa: E402


def test_a_deal_is_played_to_its_end(browser, address) -> None:
    person = Person(browser, address)
    person.sit_down("micro", ["me", "easy"], seed=3)
    person.play_on()
    assert person.result().rules.name == "micro"
    person.leave()
