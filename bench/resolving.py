"""What solving the last tricks does to the exact exploitability of a network (docs/equilibrium.md).

    python bench/resolving.py --out docs/results/resolving.json

The champion of mini plays its first trick, and the other four are solved in each of the ways. Each
way asks for a solution at every public position after the first trick, for either player.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bench import harness
from hearts_agents.attackers import as_policy
from hearts_agents.champion import weights_of
from hearts_agents.endgame_agent import ITERATIONS, MOST_LINES, EndgameAgent
from hearts_agents.models.network import load_agent
from hearts_env import Game
from hearts_env.solve.beliefs import Policy
from hearts_env.solve.best_response import Profile, best_response, exploit
from hearts_env.solve.endgame import Endgame
from hearts_env.solve.side import backward_mean
from hearts_env.solve.tree import Tree
from hearts_train import console
from hearts_train.measure.statistics import mean_and_interval

GAME = "mini"
WAYS = (
    (False, 0.0, MOST_LINES),
    (False, 0.9, MOST_LINES),
    (False, 1.0, MOST_LINES),
    (True, 0.9, MOST_LINES),
)
"""Whether the network plays its preferred card before and where nothing is solved, or draws; the
weight of the guessed range (1 is unsafe); and how many lines a tree may have."""


def late_attack(tricks: int, deals: int) -> dict[str, Any]:
    """What is won from the champion of two_player by who knows it and attacks late, exactly.

    Two champions play; from the first decision of either in the last tricks on, a best response
    takes the other's place, against the champion alone and against the same solving these tricks.
    What the champion would have won there is taken off: it is nothing on average.
    """
    network = load_agent(weights_of("two_player"))
    agent, policy = EndgameAgent(network, tricks), as_policy(network)
    gains, seconds, unsolved = [], 0.0, 0
    for seed in range(deals):
        game, seen = Game.deal("two_player", seed), {}
        while (player := game.player) is not None:
            view = game.view(player)
            if game.rules.hand_size - game.trick_number <= tricks and player not in seen:
                begin = time.process_time()
                solution = agent.solution_at(view)
                seconds += time.process_time() - begin
                seen[player] = _won(*solution, 1 - player, policy) if solution else None
            game.play(network.act(view))
        unsolved += list(seen.values()).count(None)
        if None not in seen.values():
            gains.append(np.mean(list(seen.values()), 0))
    alone, solved = np.array(gains).T
    row: dict[str, Any] = {"tricks": tricks, "deals": len(gains), "unsolved": unsolved / 2 / deals}
    row["seconds"] = seconds / 2 / deals
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


def main() -> None:
    """Read the command line, measure, write."""
    parser = harness.options(__doc__)
    parser.add_argument("--tricks", type=int, default=4, help="solved")
    parser.add_argument("--deals", type=int, default=60, help="of two_player")
    given = parser.parse_args()
    late = [late_attack(tricks, given.deals) for tricks in (4, 5)]
    tree = Tree(GAME)
    rows: list[dict[str, Any]] = []
    for greedy, guessed, most_lines in WAYS:
        network = load_agent(weights_of(GAME), greedy=greedy)
        begin = time.process_time()
        player = EndgameAgent(network, given.tricks, guessed=guessed, most_lines=most_lines)
        found = exploit(player, tree).exploitability
        row = {"plays": "the preferred card" if greedy else "a drawn card", "guessed": guessed}
        row |= {"most_lines": most_lines, "alone": exploit(network, tree).exploitability}
        row |= {"exploitability": found, "processor_seconds": time.process_time() - begin}
        rows.append(row)
        console.note(f"{row['plays']}, range {guessed:4.0%}, {most_lines:,}: {found:.4f}")
    facts = {"late": late, "tricks": given.tricks, "iterations": ITERATIONS, "rows": rows}
    harness.write(given.out, facts, command=f"python bench/resolving.py --tricks {given.tricks}")


if __name__ == "__main__":
    main()
