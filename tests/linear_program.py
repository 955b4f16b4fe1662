"""Equilibria a second time: of tiny decks, by a linear program in sequence form.

Koller, Megiddo, von Stengel 1996: *Efficient computation of equilibria for extensive two-person
games*. The first leader's plan x and the other player's information-set values v solve

    max  sum over the other's empty sequences r of  (A'x)_r + sum of v_J over J that follow r
    with  v_J <= (A'x)_s + sum of v_K over K that follow s,   for each sequence s of each J,
          sum of x_s over the sequences s of I = x of the sequence before I,   for its own I,
          x >= 0, and 1 for empty sequences,

where A'x is what the other player's sequences let the leader earn. The dual values of the first
constraints are the other player's plan. The program has one row for each information set and
sequence; HiGHS (in scipy) solves it for `micro` in well under a second.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from hearts_env.solve.best_response import Profile, exploitability
from hearts_env.solve.equilibrium import Equilibrium
from hearts_env.solve.side import Side
from hearts_env.solve.solved_files import Checkpoint
from hearts_env.solve.tree import Tree
from hearts_env.support.arrays import Floats


def solve_linear(tree: Tree) -> Equilibrium:
    """An equilibrium from the linear program."""
    begin = time.perf_counter()
    own, other = tree.sides
    if not own.num_infosets + other.num_infosets:  # nobody ever chooses
        return _finished(tree, (own.uniform(), other.uniform()), 0, begin)
    # Unknowns: the leader's realization plan after its empty sequences, then the other's values.
    hands, roots = len(own.hands), len(other.hands)
    earned = _outcomes(tree).T.tocsr()  # what the other's sequences let the leader earn, a row each
    follow, before = _followers(other), _followers(own).T.tocsr()
    ceilings = sp.hstack([-earned[roots:, hands:], _owners(other) - follow[roots:]])
    balance = sp.hstack(
        [
            _owners(own).T - before[:, hands:],
            sp.csr_matrix((own.num_infosets, other.num_infosets)),
        ]
    )
    goal = sp.hstack([earned[:roots, hands:], follow[:roots]])
    num_plan = own.num_sequences - hands
    result: Any = linprog(
        -(goal.T @ other.reach),
        A_ub=ceilings.tocsr(),
        b_ub=earned[roots:, :hands] @ own.reach,
        A_eq=balance.tocsr(),
        b_eq=before[:, :hands] @ own.reach,
        bounds=[(0, None)] * num_plan + [(None, None)] * other.num_infosets,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0, result.message
    chances = (
        _policy(own, result.x[:num_plan]),
        _policy(other, -np.asarray(result.ineqlin.marginals)),
    )
    return _finished(tree, chances, int(result.nit), begin)


def _finished(tree: Tree, chances: Profile, iterations: int, begin: float) -> Equilibrium:
    seconds = time.perf_counter() - begin
    value, spread = tree.value(*chances), exploitability(tree, chances)
    found = Checkpoint(iterations, seconds, spread, value)
    return Equilibrium(tree, "lp", chances, value, spread, iterations, seconds, (found,))


def _outcomes(tree: Tree) -> Any:
    """What the leader earns by each pair of sequences, chance weighed in, as a sparse matrix."""
    shape = tuple(side.num_sequences for side in tree.sides)
    points = tree.margins.astype(np.float64) / tree.num_deals
    return sp.csr_matrix((points, (tree.ends[0], tree.ends[1])), shape=shape)


def _followers(side: Side) -> Any:
    """Which information sets follow which sequence: (sequences, information sets)."""
    n = side.num_infosets
    return sp.csr_matrix((np.ones(n), (side.parent, np.arange(n))), shape=(side.num_sequences, n))


def _owners(side: Side) -> Any:
    """To which information set each sequence but the empty ones belongs."""
    counts = np.diff(side.first)
    number = int(counts.sum())
    places = (np.arange(number), np.repeat(np.arange(side.num_infosets), counts))
    return sp.csr_matrix((np.ones(number), places), shape=(number, side.num_infosets))


def _policy(side: Side, plan: Floats) -> Floats:
    """The policy of a plan that may be wrong in the last digits."""
    clean = np.where(plan > 1e-12, plan, 0.0)
    return side.chances(np.concatenate([np.ones(len(side.hands)), clean]))
