"""The files of the page, none of them from elsewhere, and one deal in a real browser."""

from __future__ import annotations

import base64
import json
import re
import shutil
import xml.etree.ElementTree as ET

import pytest

from hearts_env.cards import ALL_CARDS
from hearts_train.web import assets

SVG = "{http://www.w3.org/2000/svg}"


def test_every_card_uses_the_pages_ink() -> None:
    sprite = ET.fromstring(assets.sprite())
    symbols = {s.get("id"): s for s in sprite.iter(f"{SVG}symbol")}
    courts = {card for card in ALL_CARDS if card[0] in "JQK"}
    parts = {*(f"court-{card}" for card in courts), *(f"pip-{suit}" for suit in "CDSH")}
    assert set(symbols) == {"back", *ALL_CARDS, *parts}
    for card in ALL_CARDS:
        pictures = [use.get("href") for use in symbols[card].iter(f"{SVG}use")]
        assert pictures == [f"#court-{card}"] * (card in courts)
    named = [element.get("id") for element in sprite.iter() if element.get("id")]
    assert len(named) == len(set(named))
    assert {use.get("href") for use in sprite.iter(f"{SVG}use")} <= {f"#{name}" for name in named}
    for card in ALL_CARDS:
        inks = {path.get("fill") for path in symbols[card].iter(f"{SVG}path")}
        assert inks - {"none"} == {"currentColor"}


def test_all_modules_are_inlined() -> None:
    imports = json.loads(assets.inline_modules())["imports"]
    modules = {f"hearts/{path.name}": path.read_bytes() for path in assets.STATIC.glob("*.js")}
    heads, coded = zip(*(url.split(",") for url in imports.values()), strict=True)
    assert set(heads) == {"data:text/javascript;base64"}
    assert dict(zip(imports, map(base64.b64decode, coded), strict=True)) == modules


def test_page_names_no_other_host() -> None:
    for path in assets.STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        addresses = set(re.findall(r"https?://[^\s\"'<>)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not addresses, path.name


def test_modules_import_only_existing_files() -> None:
    for path in assets.STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 600, path.name
        for name in re.findall(r'(?:from|import\() ?"hearts/([\w.]+)"', text):
            assert (assets.STATIC / name).is_file(), (path.name, name)
        assert "innerHTML" not in text, path.name
        assert not re.search(r"style:\s*[\"'`]", text), path.name


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium")
def test_browser_plays_a_deal_to_its_end(tmp_path) -> None:
    """Most other tests of the page in a browser are slow."""
    pytest.importorskip("playwright")
    pytest.importorskip("starlette")
    from tests.page import Person, browsing, served

    with served(tmp_path) as address, browsing() as browser:
        person = Person(browser, address)
        person.sit_down("micro", ["me", "easy"], seed=3)
        person.play_on()
        assert person.result().rules.name == "micro"
        person.leave()
