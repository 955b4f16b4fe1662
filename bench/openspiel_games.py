"""What OpenSpiel's algorithms find in these games, beside what our own tools say of the same play.

    python bench/openspiel_games.py --out docs/results/openspiel_games.json

Exploitability is in points a deal, computed by OpenSpiel (`nash_conv / 2`, times the largest
margin) and by ours, from both seats. Seconds are of the processor. DQN and NFSP need `dm-tree` and
`torch`.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bench import harness
from hearts_agents import make_agent
from hearts_env import Game, openspiel
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import Policy
from hearts_env.solve.best_response import exploitability, policy_of
from hearts_env.solve.tree import Tree
from hearts_env.views.view import PlayerView

Record = dict[str, Any]

SOLVERS = {"CFR": 10, "CFR+": 10, "external sampling": 3_000, "outcome sampling": 10_000}
"""Iterations of each."""
LEARNERS = {"DQN": 1_500, "NFSP": 1_500}
"""Deals that two of each play against each other."""


def spiel(name: str) -> Any:
    """A module of OpenSpiel's own Python code."""
    return importlib.import_module(f"open_spiel.python.{name}")


def seats_exchanged(view: PlayerView) -> PlayerView:
    """The view of the other seat in the deal that is the same but for the names of the seats."""
    (world,) = view.sample_worlds(1, seed=0)
    game = Game.from_view(view, world)
    start = game.start()
    other = Game(game.rules, [start.hand(1), start.hand(0)], dealer=1 - game.dealer)
    for action in game.actions:
        other.play(action)
    return other.view(1 - view.player)


class Asked:
    """What our tools ask of an agent."""

    def __init__(self, chances: Policy) -> None:
        self.action_probs = chances


def compare(game: Any, tree: Tree, policy: Any) -> Record:
    """Exploitability on both sides; ours is the mean over who leads first."""
    began = time.process_time()
    conv = spiel("algorithms.exploitability").nash_conv(game, policy)
    theirs = float(conv / 2 * tree.rules.max_margin)
    seconds = time.process_time() - began
    return {"theirs": theirs, "ours": our_exploitability(tree, game, policy), "seconds": seconds}


def our_exploitability(tree: Tree, game: Any, policy: Any) -> float:
    """What ours says of a policy of OpenSpiel: the mean over who leads first."""
    chances = openspiel.action_probs(game, policy)

    def exchanged(views: BatchView) -> Any:
        return chances(BatchView.of([seats_exchanged(view) for view in views]))

    found = [exploitability(tree, policy_of(Asked(ask), tree)[0]) for ask in (chances, exchanged)]
    return sum(found) / 2


def learner_policy(game: Any, kind: str, episodes: int) -> Any:
    """Two learners of OpenSpiel after some deals against each other, as one policy."""
    learners, environment = spiel(f"pytorch.{kind}"), spiel("rl_environment").Environment(game)
    inputs = environment.observation_spec()["info_state"][0]
    actions = environment.action_spec()["num_actions"]
    sizes = {"replay_buffer_capacity": 20_000, "batch_size": 64, "epsilon_decay_duration": episodes}
    made = {
        player: learners.DQN(player, inputs, actions, [64], learning_rate=0.005, **sizes)
        if kind == "dqn"
        else learners.NFSP(player, inputs, actions, [64], 100_000, 0.1, **sizes)
        for player in range(2)
    }
    for _ in range(episodes):
        step = environment.reset()
        while not step.last():
            step = environment.step([made[step.observations["current_player"]].step(step).action])
        for learner in made.values():
            learner.step(step)
    joint = spiel("rl_agent_policy").JointRLAgentPolicy(game, made, environment.use_observation)
    # Chances of 32 bits do not quite sum to 1; the way through views makes them do so.
    return openspiel.spiel_policy(game, openspiel.action_probs(game, joint))


def solved(game: Any, name: str, iterations: int) -> Any:
    """The average policy of one of OpenSpiel's solvers."""
    module, kind, step = {
        "CFR": ("cfr", "CFRSolver", "evaluate_and_update_policy"),
        "CFR+": ("cfr", "CFRPlusSolver", "evaluate_and_update_policy"),
        "external sampling": ("external_sampling_mccfr", "ExternalSamplingSolver", "iteration"),
        "outcome sampling": ("outcome_sampling_mccfr", "OutcomeSamplingSolver", "iteration"),
    }[name]
    solver = getattr(spiel(f"algorithms.{module}"), kind)(game)
    for _ in range(iterations):
        getattr(solver, step)()
    return solver.average_policy()


def rows_of(game: Any) -> dict[str, tuple[int | None, Callable[[], Any]]]:
    """What is measured: how many iterations or deals, and what makes the policy."""
    pro = make_agent("pro", seed=0).action_probs
    solvers = {
        name: (number, lambda n=name, i=number: solved(game, n, i))
        for name, number in SOLVERS.items()
    }
    learners = {
        name: (number, lambda n=name, i=number: learner_policy(game, n.lower(), i))
        for name, number in LEARNERS.items()
    }
    first: dict[str, tuple[int | None, Callable[[], Any]]] = {
        "uniform": (None, lambda: spiel("policy").UniformRandomPolicy(game)),
        "our pro": (None, lambda: openspiel.spiel_policy(game, pro)),
    }
    return first | solvers | learners


def main() -> None:
    """Measure, and write what was found."""
    parser = harness.options(__doc__)
    parser.add_argument("--only", metavar="NAME", help="measure one row anew, like CFR")
    args = parser.parse_args()
    np.random.seed(1)  # noqa: NPY002  # OpenSpiel's solvers draw from it
    game, tree, found = openspiel.load("micro", information_state="flat"), Tree("micro"), []
    known = json.loads(args.out.read_text()) if args.only and args.out else {"rows": []}
    for name, (number, make) in rows_of(game).items():
        if args.only not in (None, name):
            found += [row for row in known["rows"] if row["policy"] == name]
            continue
        began = time.process_time()
        policy = make()
        row = {"policy": name, "iterations": number, "made_in": time.process_time() - began}
        found.append(row | compare(game, tree, policy))
        print(found[-1], flush=True)
    platform = harness.platform_versions() | {"open_spiel": _version("open_spiel")}
    facts = {"platform": platform, "rules": "micro", "rows": found}
    harness.write(args.out, facts, command="python bench/openspiel_games.py")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


if __name__ == "__main__":
    main()
