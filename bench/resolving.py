"""What solving the last tricks does to the exact exploitability of a network (docs/equilibrium.md).

    python bench/resolving.py --out docs/results/resolving.json

Networks play the first tricks of mini or mini_6, and the last ones are solved: at every public
position in which a solution begins, for either player. Rows that the file has are kept.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from pathlib import Path

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

DECISIONS = 500_000
"""Of a network that has learned little, with the shipped config of mini."""
PREFERRED = "champion, preferred cards"
PRICES = (PRICE, 0.0, 16.0)
"""As players solve by default; unsafe; so high that no hand may win more."""
COLUMNS = ("deck", "network", "tricks", "most_lines", "price")
ROWS = (
    ("mini", "champion", 5, MOST_LINES, PRICE),
    *(("mini", "champion", 4, MOST_LINES, price) for price in PRICES),
    ("mini", "champion", 4, 100_000, PRICE),
    ("mini", "champion", 3, MOST_LINES, PRICE),
    *(("mini", PREFERRED, 4, MOST_LINES, price) for price in PRICES),
    ("mini", "little", 5, MOST_LINES, PRICE),
    *(("mini", "little", 4, MOST_LINES, price) for price in PRICES),
    ("mini", "little", 4, 100_000, PRICE),
    ("mini_6", "little", 5, MOST_LINES, PRICE),
)
"""The deck; who plays the first tricks; how many are solved; how many lines a tree may have (with
more it waits for its next decision); and what a point costs that a hand of the other wins more."""


def network(deck: str, name: str) -> EncoderAgent:
    """The champion of a deck, or one that has learned little; it draws, but for `PREFERRED`."""
    if name != "little":
        return load_agent(weights_of(deck), greedy=name == PREFERRED)
    words = [f"env.rules={deck}", f"budget.decisions={DECISIONS}", "evaluation.opponents=[]"]
    words += ["evaluation.times=0", "evaluation.exploitability=false"]
    with tempfile.TemporaryDirectory() as folder:
        train(load_config("mini", words), Path(folder) / "run")
        return load_agent(Path(folder) / "run", greedy=False)


def main() -> None:
    """Read the command line, measure, write after each network."""
    given = harness.options(__doc__).parse_args()
    rows = json.loads(given.out.read_text())["rows"] if given.out and given.out.exists() else []
    found = {tuple(row[name] for name in COLUMNS): row for row in rows}
    for (deck, name), settings in itertools.groupby(ROWS, lambda row: row[:2]):
        missing = [setting for setting in settings if setting not in found]
        if missing:
            tree, policy = Tree(deck), network(deck, name)
            alone = exploit(policy, tree).exploitability
        for setting in missing:
            begin = time.process_time()
            _, _, tricks, most_lines, price = setting
            player = EndgameAgent(policy, tricks, price=price, most_lines=most_lines)
            row = dict(zip(COLUMNS, setting, strict=True)) | {"alone": alone}
            row["exploitability"] = exploit(player, tree).exploitability
            found[setting] = row | {"processor_seconds": time.process_time() - begin}
            console.note(f"{found[setting]}")
        rows = [found[setting] for setting in ROWS if setting in found]
        harness.write(given.out, {"iterations": ITERATIONS, "rows": rows})


if __name__ == "__main__":
    main()
