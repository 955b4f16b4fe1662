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

import numpy as np

from bench import harness
from hearts_agents.attackers import as_policy
from hearts_agents.champion import weights_of
from hearts_agents.endgame_agent import MOST_LINES, EndgameAgent
from hearts_agents.models.network import EncoderAgent, load_agent
from hearts_env import Game
from hearts_env.solve.beliefs import Policy
from hearts_env.solve.best_response import Profile, best_response, exploit
from hearts_env.solve.endgame import ITERATIONS, PRICE, Endgame
from hearts_env.solve.side import backward_mean
from hearts_env.solve.tree import Tree
from hearts_train import console
from hearts_train.learn.config_files import load_config
from hearts_train.learn.training import train
from hearts_train.measure.statistics import mean_and_interval

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


def late_attack(tricks: int, deals: int) -> dict[str, Any]:
    """What is won from the champion of two_player by who knows it and attacks late, exactly.

    Two champions play; from the first decision of either in the last tricks on, a best response
    takes the other's place, against the champion alone and against the same solving these tricks.
    What the champion would have won there is taken off: it is nothing on average.
    """
    network = load_agent(weights_of("two_player"))
    agent, policy = EndgameAgent(network, tricks), as_policy(network)
    gains, seconds, unsolved = [], [], 0
    for seed in range(deals):
        game, seen = Game.deal("two_player", seed), {}
        while (player := game.player) is not None:
            view = game.view(player)
            if game.rules.hand_size - game.trick_number <= tricks and player not in seen:
                begin = time.process_time()
                solution = agent.solution_at(view)
                seconds.append(time.process_time() - begin)
                seen[player] = _won(*solution, 1 - player, policy) if solution else None
            game.play(network.act(view))
        known = [one for one in seen.values() if one]
        unsolved += len(seen) - len(known)
        if len(known) == len(seen):
            gains.append(np.mean(known, 0))
    alone, solved = np.array(gains).T
    row: dict[str, Any] = {"tricks": tricks, "deals": len(gains), "unsolved": unsolved / 2 / deals}
    row |= {"seconds": float(np.mean(seconds)), "most_seconds": max(seconds)}
    for name, values in (("alone", alone), ("solved", solved), ("saved", alone - solved)):
        margin, ci95 = mean_and_interval(values)
        row[name] = {"margin": margin, "ci95": ci95}
    console.note(f"{tricks} tricks: {row}")
    return row


def _won(end: Endgame, chances: Profile, other: int, policy: Policy) -> tuple[float, float]:
    """What a best response of `other` wins from the policy, and from the solution."""
    player, side = 1 - other, end.sides[other]
    before, theirs = (end.chances_of(p, policy) for p in (player, other))
    weights = end.range_of(other, policy)
    values = end.gradient(other, end.sides[player].plan(before))
    backward_mean(side.parent, side.first, theirs, values)
    kept = [values[: len(side.hands)]]
    kept += [best_response(end, other, one).hand_values for one in (before, chances[player])]
    share = float(weights @ end.deals_of_hands[other]) / end.num_deals
    as_policy_wins, alone, solved = (float(one @ weights) / share for one in kept)
    return alone - as_policy_wins, solved - as_policy_wins


def networks() -> dict[str, EncoderAgent]:
    """The champion of mini, and one that has learned little; both draw their cards."""
    words = [f"budget.decisions={DECISIONS}", "evaluation.opponents=[]"]
    with tempfile.TemporaryDirectory() as folder:
        train(load_config(GAME, words), Path(folder) / "run")
        little = load_agent(Path(folder) / "run", greedy=False)
    return {"champion": load_agent(weights_of(GAME), greedy=False), "little": little}


def main() -> None:
    """Read the command line, measure, write after each figure."""
    parser = harness.options(__doc__)
    parser.add_argument("--deals", type=int, default=40, help="of two_player")
    given = parser.parse_args()
    facts: dict[str, Any] = {"iterations": ITERATIONS, "rows": [], "late": []}
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
    for tricks in (4, 5):
        facts["late"].append(late_attack(tricks, given.deals))
        harness.write(given.out, facts)


if __name__ == "__main__":
    main()
