"""Draws the picture of the analysis board in docs/analysis.md, with Playwright and Chromium.

    python docs/board.py

The deal is the one of the curve beside it: `standard` against `pro`, seed 3.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from hearts_agents import make_agent
from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_env.support.files import write_whole
from hearts_train.web.assets import write_board
from hearts_train.web.review import review

PICTURE = Path(__file__).parent / "images" / "board.png"
SIZE = {"width": 1180, "height": 1060}
CARD = 15  # how many cards are played


def main() -> None:
    """Play the deal, open its board in a browser, and keep what it shows."""
    agents = [make_agent("standard", seed=0), make_agent("pro", seed=0)]
    game = Game.deal("two_player", seed=3)
    while game.current_player is not None:
        game.play(agents[game.current_player].act(game.view(game.current_player)))
    names = {"Player 0": "standard", "Player 1": "pro"}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "board.html"
        write_board([review(Record(game, names))], file)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(file.as_uri())
        page.wait_for_selector(".pick")
        for _ in range(CARD):
            page.keyboard.press("ArrowRight")
        shot = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    out = io.BytesIO()
    shot.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    write_whole(PICTURE, out.getvalue())
    print(f"{PICTURE.name}: {len(out.getvalue()):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
