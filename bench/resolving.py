"""What solving the last tricks does to the exact exploitability of a network (docs/equilibrium.md).

    python bench/resolving.py --out docs/results/resolving.json

The champion of mini plays its first trick, and the other four are solved in each of the ways. Each
way asks for a solution at every public position after the first trick, for either player.
"""

from __future__ import annotations

import time
from typing import Any

from bench import harness
from hearts_agents.champion import weights_of
from hearts_agents.endgame_agent import EPSILON, ITERATIONS, EndgameAgent
from hearts_agents.models.network import load_agent
from hearts_env.solve.best_response import exploit
from hearts_env.solve.tree import Tree
from hearts_train import console

GAME = "mini"
WAYS = ((0.0, EPSILON), (0.5, EPSILON), (0.75, EPSILON), (0.9, EPSILON), (1.0, EPSILON), (1.0, 0.3))
"""Weights of the guessed range (1 is unsafe), and the chance of a random card in both ranges."""


def main() -> None:
    """Read the command line, measure, write."""
    parser = harness.options(__doc__)
    parser.add_argument("--tricks", type=int, default=4, help="solved")
    given = parser.parse_args()
    network = load_agent(weights_of(GAME), greedy=False)
    tree = Tree(GAME)
    rows: list[dict[str, Any]] = [{"exploitability": exploit(network, tree).exploitability}]
    for guessed, epsilon in WAYS:
        begin = time.process_time()
        player = EndgameAgent(network, given.tricks, guessed=guessed, epsilon=epsilon)
        found = exploit(player, tree).exploitability
        seconds = time.process_time() - begin
        rows.append({"guessed": guessed, "noise": epsilon, "exploitability": found})
        rows[-1]["processor_seconds"] = seconds
        console.note(f"range {guessed:4.0%}, epsilon {epsilon:4.0%}: {found:.4f}")
    facts = {"tricks": given.tricks, "iterations": ITERATIONS, "rows": rows}
    harness.write(given.out, facts, command=f"python bench/resolving.py --tricks {given.tricks}")


if __name__ == "__main__":
    main()
