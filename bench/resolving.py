"""What solving the last tricks does to the exact exploitability of a network (docs/equilibrium.md).

    python bench/resolving.py --out docs/results/resolving.json

Networks play the first tricks of mini, and the last ones are solved: at every public position in
which a solution begins, for either player.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from bench import harness
from hearts_agents.champion import weights_of
from hearts_agents.endgame_agent import MOST_LINES, EndgameAgent
from hearts_agents.models.network import EncoderAgent, load_agent
from hearts_env.solve.best_response import exploit
from hearts_env.solve.endgame import ITERATIONS, PRICE
from hearts_env.solve.tree import Tree
from hearts_train import console
from hearts_train.learn.config_files import load_config
from hearts_train.learn.training import train

GAME = "mini"
DECISIONS = 500_000
"""Of a network that has learned little, with the shipped config of mini."""
ROWS = (
    ("champion", 5, MOST_LINES, PRICE),
    ("champion", 4, MOST_LINES, PRICE),
    ("champion", 4, 100_000, PRICE),
    ("champion", 3, MOST_LINES, PRICE),
    ("champion", 4, MOST_LINES, 0.0),
    ("little", 5, MOST_LINES, PRICE),
    ("little", 4, MOST_LINES, PRICE),
    ("little", 4, 100_000, PRICE),
    ("little", 4, MOST_LINES, 0.0),
)
"""Who plays the first tricks; how many are solved; how many lines a tree may have (with more it
waits for its next decision); and what a point costs that a hand of the other wins more."""


def networks() -> dict[str, EncoderAgent]:
    """The champion of mini, and one that has learned little; both draw their cards."""
    words = [f"budget.decisions={DECISIONS}", "evaluation.opponents=[]"]
    with tempfile.TemporaryDirectory() as folder:
        train(load_config(GAME, words), Path(folder) / "run")
        little = load_agent(Path(folder) / "run", greedy=False)
    return {"champion": load_agent(weights_of(GAME), greedy=False), "little": little}


def main() -> None:
    """Read the command line, measure, write after each figure."""
    given = harness.options(__doc__).parse_args()
    facts: dict[str, Any] = {"iterations": ITERATIONS, "rows": []}
    tree = Tree(GAME)
    players = networks()
    alone = {name: exploit(player, tree).exploitability for name, player in players.items()}
    for name, tricks, most_lines, price in ROWS:
        begin = time.process_time()
        player = EndgameAgent(players[name], tricks, price=price, most_lines=most_lines)
        found = exploit(player, tree).exploitability
        row = {"network": name, "tricks": tricks, "most_lines": most_lines, "price": price}
        row |= {"alone": alone[name], "exploitability": found}
        facts["rows"].append(row | {"processor_seconds": time.process_time() - begin})
        console.note(f"{row}")
        harness.write(given.out, facts)


if __name__ == "__main__":
    main()
