"""VRPO of this package: PPO with a critic that sees all hands during training.

One network plays both seats of every game and learns from both. The settings are written out, so
later defaults do not change them. Actions are drawn from the legal ones only, so none is illegal.
Five settings were tried. They differ in layers, epochs, batch size, learning rate, `gae_lambda`,
reward and whether advantages are normalised.

    pip install . -r examples/requirements/own_vrpo.txt
    python examples/own_vrpo.py
"""

import tempfile
from pathlib import Path

from _report import Learning

from hearts_train import load_config, train
from hearts_train.learn.vrpo import VRPOGames, VRPOLearner

NUM_GAMES, NUM_STEPS = 64, 32
PPO = {"num_steps": NUM_STEPS, "batch_size": 128, "num_epochs": 6, "gamma": 1.0, "gae_lambda": 0.8}
PPO |= {"learning_rate": 1.5e-3, "learning_rate_end": 3e-4, "clip_range": 0.2, "vf_coef": 0.5}
PPO |= {"ent_coef": 0.01, "ent_coef_end": 0.001, "max_grad_norm": 0.5, "normalize_advantage": True}
PPO |= {"clip_range_vf": None, "target_kl": None, "kl_coef": 0.0}
PPO |= {"magnet_coef": 0.0, "magnet_coef_end": None}
SETTINGS = {
    "algorithm": "vrpo",
    "env": {"observation": "flat", "reward": "trick", "num_envs": NUM_GAMES, "skip_forced": True},
    "env.seat": "random",
    "network": {"trunk": [], "policy": [256], "value": [256], "activation": "relu"},
    "ppo": PPO,
    "pretraining.positions": 0,
    "opponents": {"self": 1.0},
    "self_play": {"latest_share": 1.0},
    "threads": 1,
    "precision": "float32",
    "compile": False,
    "ema_decay": 0.0,
}
report = Learning(
    __doc__,
    *("hearts-env", "torch"),
    opponents="itself",
    greedy=False,
    settings=SETTINGS,
    tried=5,
)


class Games(VRPOGames):
    """Games that report each finished deal."""

    def ended(self, games):
        """Report the deals of these games."""
        for game in games:
            for seat, margin in enumerate(self.batch.game(game).margins()):
                report.played(seat, margin)


class Reported(VRPOLearner):
    """Reports the decisions that it has learned from."""

    kind_of_games = Games

    def estimate(self):
        """Write advantages and returns, and keep the masks of their decisions."""
        ready = super().estimate()
        self.masks = self.games.rollout.masks[ready]
        return ready

    def update(self):
        """Play, learn and report."""
        metrics = super().update()
        report.decided(self.masks)
        report.learned(lambda: [*self.network.module.trunk, *self.network.module.policy])
        return metrics


# Whole updates. The last decisions of unfinished deals have no return yet and are not learned from.
budget = report.options.decisions // (NUM_GAMES * NUM_STEPS) * NUM_GAMES * NUM_STEPS
run = {"env.rules": report.rules, "seed": report.seed, "budget.decisions": budget}
with tempfile.TemporaryDirectory() as folder:
    config = load_config(None, {**SETTINGS, **run, "evaluation.times": 0})
    result = train(config, Path(folder, "run"), progress=False, learner=Reported)
assert 0 <= result.decisions - report.decisions <= 2 * NUM_GAMES
report.finish()
