"""Draw ``images/board.png``, the analysis board of a deal, with Chromium.

python docs/board.py
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from hearts_agents import make_agent
from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_train.web.assets import board_page
from hearts_train.web.review import review

IMAGE = Path(__file__).parent / "images" / "board.png"
NAMES = ("standard", "pro")  # players without a network, which play the same on every processor
SEED = 9
FLAGS = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=10000"]


def deal() -> Record:
    """Return a deal between the players."""
    game, agents = Game.deal("two_player", SEED), [make_agent(name, seed=1) for name in NAMES]
    while (seat := game.current_player) is not None:
        game.play(agents[seat].act(game.view(seat)))
    return Record(game, {f"Player {seat}": name for seat, name in enumerate(NAMES)})


def main() -> None:
    """Write the board of the deal to a file, and its picture."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium: it is not installed; install it")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "board.html"
        page.write_bytes(board_page([review(deal())]))
        picture = [f"--screenshot={IMAGE}", "--window-size=1180,1070", page.as_uri()]
        subprocess.run([chromium, *FLAGS, *picture], check=True)


if __name__ == "__main__":
    main()
