"""Calibrate the attackers on a small deck: their share of what a best response wins.

The margin of each attacker is exact over all deals, like that of the best response.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from hearts_agents import make_agent
from hearts_agents.attackers import METHODS, Attacker, as_policy
from hearts_env import Rules
from hearts_env.solve.best_response import exploitability, policy_of
from hearts_env.solve.response import Responses, whole_game
from hearts_env.solve.tree import Tree
from hearts_env.support.progress import Show, silent
from hearts_train.measure.exploit import default_tricks, probe_policy


def exact_margin(attacker: Attacker, rules: Rules) -> float:
    """Return the margin of an attacker over its model in points per deal, over all deals."""
    choose = functools.partial(attacker.choose, rules)
    responses = Responses(rules, as_policy(attacker.model), choose, awake=attacker.awake)
    return sum(responses.value(whole_game(rules, seat)) for seat in range(2)) / 2


def calibrate(agent: str, rules: str = "mini", show: Show = silent) -> dict[str, Any]:
    """Return the margin of each of `METHODS` over an agent, and its share of a best response's."""
    player = make_agent(agent, seed=0)
    tree = Tree(rules)
    with show(agent) as progress:
        chances, _ = policy_of(player, tree, agent, progress)
    truth = exploitability(tree, chances)
    known: Any = SimpleNamespace(action_probs=lambda views: tree.chances_in(views, chances))
    is_mixed, _ = probe_policy(player, tree.rules, agent)
    tricks = default_tricks(tree.rules, is_mixed=is_mixed)
    gains = []
    for method in METHODS:
        with show(method):
            margin = exact_margin(Attacker(known, method, tricks=tricks), tree.rules)
        share = margin / truth if truth > 1e-4 else None
        gains.append({"attacker": method, "margin": margin, "ci95": None, "ratio": share})
    return {"agent": agent, "rules": tree.rules.name, "gains": gains, "exploitability": truth}
