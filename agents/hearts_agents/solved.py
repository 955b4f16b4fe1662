"""A player of a tiny deck that plays a policy computed by ``hearts solve``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hearts_agents.base import (
    Actions,
    Agent,
    Chances,
    RandomState,
    generator_state,
    restore_generator,
)
from hearts_env import PlayerView
from hearts_env.batch import BatchView
from hearts_env.solve.equilibrium import Equilibrium, load


class SolvedAgent(Agent):
    """Plays the policy of an equilibrium, from either seat: draws from its chances."""

    def __init__(self, solved: Equilibrium, seed: int | None = None) -> None:
        """A player of the rules of `solved`, whose draws follow from `seed`."""
        self.solved = solved
        self.rules = solved.rules
        self.name = f"solved {solved.rules.name}"
        self._rng = np.random.default_rng(seed)

    def policy_batch(self, views: BatchView) -> Chances:
        """The chances of the actions in many views, ``(len(views), num_actions) float64``."""
        tree = self.solved.tree
        roles, infosets = tree.find(views)
        legal = views.legal_table
        table: Chances = legal.astype(np.float64)
        for role, side in enumerate(tree.sides):
            rows = np.flatnonzero((roles == role) & (infosets >= 0))
            first = side.first[infosets[rows]]
            # The n-th legal action has the n-th sequence.
            place = first[:, None] + np.cumsum(legal[rows], axis=1) - 1
            table[rows] = np.where(legal[rows], self.solved.chances[role][place], 0.0)
        return table

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many views, ``(len(views),) int64``."""
        table = self.policy_batch(views)
        drawn = self._rng.random((len(views), 1)) * table.sum(axis=1, keepdims=True)
        actions: Actions = (np.cumsum(table, axis=1) > drawn).argmax(axis=1)
        return actions

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        return int(self.act_batch(BatchView.of([view]))[0])

    def reseed(self, seed: int) -> None:
        """Begin the draws anew."""
        self._rng = np.random.default_rng(seed)

    def random_state(self) -> RandomState:
        """Where the draws stand, ``(6,) uint64``."""
        return generator_state(self._rng)

    def restore_random(self, state: RandomState) -> None:
        """Go on with the draws where ``random_state`` stood."""
        restore_generator(self._rng, state)


def load_solved(path: str | Path, seed: int | None = None) -> SolvedAgent:
    """The player of a file that ``hearts solve --out`` has written.

    Raises:
        CheckpointError: it is no such file, or of another version.
    """
    return SolvedAgent(load(path), seed)
