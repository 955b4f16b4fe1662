"""A trained attacker: a network that learns against one frozen agent, and against nothing else.

It is the project's own trainer (``selfplay``) with one fixed opponent: an approximate best response
by reinforcement learning (Timbers et al. 2022: *Approximate exploitability*). What it has learnt is
measured afterwards on fresh deals (``hearts_train.measure.exploit``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hearts_env import HeartsError, Rules
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.recipes import make_config
from hearts_train.learn.training import RunResult, train

_SMALL_HAND = 6
"""Up to this many cards a hand small networks are enough, and quicker."""


def train_attacker(
    agent: str,
    rules: Rules,
    *,
    seconds: float | None = None,
    decisions: int | None = None,
    run_dir: Path | None = None,
    seed: int = 0,
    progress: bool = True,
) -> RunResult:
    """Train a network to win as much as it can from `agent`.

    Args:
        agent: the frozen agent, by its name or file.
        rules: of the deals.
        seconds: how long to train; whichever of the two comes first.
        decisions: of the learner, with which the same seed gives the same attacker.
        run_dir: a folder for the run; None: a new one, ``runs/attack-1`` or a higher number.
        seed: of the training.
        progress: show how it goes, on standard error.

    Raises:
        HeartsError: neither seconds nor decisions, or not more than 0; the agent is unknown.
    """
    return train(
        attacker_config(agent, rules, seconds, decisions, seed), run_dir, progress=progress
    )


def attacker_config(
    agent: str, rules: Rules, seconds: float | None, decisions: int | None, seed: int
) -> TrainConfig:
    """The recipe of an attacker of `agent`.

    Raises:
        HeartsError: as ``train_attacker``.
    """
    if seconds is None and decisions is None:
        raise HeartsError("seconds: neither seconds nor decisions are given; give one")
    if seconds is not None and not seconds > 0:
        raise HeartsError(
            f"seconds: {seconds!r} is out of range; give a number above 0", value=seconds
        )
    tree: dict[str, Any] = {
        "name": "attack",
        "seed": seed,
        "env": {"rules": rules.name, "reward": "trick"},
        "schedule": [{"opponents": {agent: 1.0}}],
        "budget": {"minutes": None if seconds is None else seconds / 60, "decisions": decisions},
        "evaluation": {"times": 4, "deals": 250, "opponents": [agent], "final_deals": 250},
    }
    if rules.hand_size <= _SMALL_HAND:
        tree["env"]["num_envs"] = 512
        tree["network"] = {"trunk": [128]}
        tree["ppo"] = {"num_steps": 8, "batch_size": 512}
    return make_config(tree, "attack")
