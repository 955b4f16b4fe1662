"""What is known of each learning algorithm before its code is loaded: one table.

The checks of recipes, of magnets and of resumed runs read it. It imports nothing of this package,
so that ``config`` can.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal, NamedTuple

Name = Literal["ppo", "maskable_ppo", "monte_carlo", "dqn", "nfsp", "exact"]
"""The algorithms that a recipe can name: those of the table below."""


class Algorithm(NamedTuple):
    """One algorithm: who learns, what comes of it, and which settings it has no use for."""

    learner: str
    """Module and class of its ``Learner``."""
    meaning: str
    """What the documentation of the setting ``algorithm`` says of it."""
    is_mixed: bool = True
    """Whether a player draws its actions from a policy; else the network says what every action is
    worth, in place of a policy's logits, and the player does those that it prefers."""
    shares_games: bool = True
    """Whether its threads have games of their own, so that each needs one."""
    has_opponents: bool = True
    """Whether it plays against the opponents of a schedule."""
    learns_from_one: bool = True
    """Whether a minibatch can be a single decision."""
    memories: tuple[str, ...] = ()
    """The settings of how many decisions it remembers, which a resumed run must keep."""
    has_no: tuple[str, ...] = ()
    """Settings that must be left out, or 0."""
    computes: str = ""
    """Where and how, if the recipe cannot choose it."""
    cannot: tuple[tuple[str, str], ...] = ()
    """Settings and values of theirs that do not fit that."""

    def load(self) -> Any:
        """The class of its learner, imported now, with what it needs."""
        module, _, name = self.learner.partition(":")
        return getattr(importlib.import_module(f"hearts_train.learn.{module}"), name)


_OF_PPO = ("lessons.positions", "ppo.magnet_coef")
"""What teaches the policy of PPO, or pulls it."""

ALGORITHMS: dict[Name, Algorithm] = {
    "ppo": Algorithm("selfplay:SelfPlayLearner", "all seats learn"),
    "maskable_ppo": Algorithm(
        "maskable:MaskableLearner",
        "one seat, by sb3-contrib",
        shares_games=False,
        learns_from_one=False,
        has_no=("lessons.positions", "average", "ppo.magnet_coef"),
        computes="in float32 on the processor",
        cannot=(("device", "cuda"), ("precision", "bfloat16")),
    ),
    "monte_carlo": Algorithm(
        "monte_carlo:MonteCarloLearner",
        "what cards earn in the end",
        is_mixed=False,
        has_no=_OF_PPO,
    ),
    "dqn": Algorithm(
        "dqn:DQNLearner",
        "what they earn if the best follow",
        is_mixed=False,
        memories=("dqn.memory",),
        has_no=_OF_PPO,
    ),
    "nfsp": Algorithm(
        "nfsp:NFSPLearner",
        "the average of best responses",
        memories=("dqn.memory", "nfsp.reservoir"),
        has_no=("lessons.positions", "average", "ppo.magnet_coef"),
    ),
    "exact": Algorithm(
        "exact:ExactLearner",
        "small decks, from exact values",
        shares_games=False,
        has_opponents=False,
        has_no=_OF_PPO,
        computes="on the processor",
        cannot=(("device", "cuda"),),
    ),
}
"""The first is the default; only that of the one chosen is imported, and what it needs."""

OF_VALUES = tuple(name for name, one in ALGORITHMS.items() if not one.is_mixed)
"""Algorithms whose players say what every action is worth."""
