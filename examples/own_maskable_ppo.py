"""MaskablePPO of sb3-contrib, run by the trainer of this package against its own snapshots.

One random seat of each game learns. The settings are written out, so later defaults do not change
them. Four settings were tried. They differ in activation, epochs, learning rate and `gae_lambda`.

    pip install . -r examples/requirements/own_maskable_ppo.txt
    python examples/own_maskable_ppo.py
"""

import functools
import tempfile
from pathlib import Path

from _report import Learning
from stable_baselines3.common.callbacks import BaseCallback

from hearts_train import load_config, train
from hearts_train.learn.maskable import MaskableLearner

NUM_GAMES, NUM_STEPS = 64, 32
PPO = {"num_steps": NUM_STEPS, "batch_size": 128, "num_epochs": 6, "gamma": 1.0, "gae_lambda": 0.75}
PPO |= {"learning_rate": 1.5e-3, "learning_rate_end": 3e-4, "clip_range": 0.2, "vf_coef": 0.5}
PPO |= {"ent_coef": 0.01, "ent_coef_end": 0.001, "max_grad_norm": 0.5, "normalize_advantage": True}
PPO |= {"clip_range_vf": None, "target_kl": None}
SETTINGS = {
    "algorithm": "maskable_ppo",
    "env": {"observation": "flat", "reward": "trick", "num_envs": NUM_GAMES, "skip_forced": True},
    "env.seat": "random",
    "network": {"trunk": [], "policy": [256], "value": [256], "activation": "relu"},
    "ppo": PPO,
    "opponents": {"self": 1.0},
    "self_play": {"every": 1, "keep": 8, "keep_every": 10, "latest_share": 0.8},
    "threads": 1,
    "precision": "float32",
    "compile": False,
}
report = Learning(
    __doc__,
    *("hearts-env", "sb3-contrib", "stable-baselines3", "torch"),
    opponents="self-play, snapshots, the latest in 80 % of deals",
    greedy=False,
    settings=SETTINGS,
    tried=4,
)


class Deals(BaseCallback):
    """Reports decisions and finished deals."""

    def _on_step(self):
        report.decided(self.locals["action_masks"])
        for info in self.locals["infos"]:
            if "episode" in info:
                report.played(info["seat"], info["episode"]["r"], offender=info["offender"])
        return True


class Reported(MaskableLearner):
    """Reports its games and updates."""

    def _make_model(self):
        model = super()._make_model()
        model.learn = functools.partial(model.learn, callback=Deals())
        return model

    def update(self):
        """Play, learn and report."""
        metrics = super().update()
        policy = self.model.policy
        trunk = policy.features_extractor.layers
        report.learned(lambda: [*trunk, *policy.mlp_extractor.policy_net, policy.action_net])
        return metrics


budget = report.options.decisions // (NUM_GAMES * NUM_STEPS) * NUM_GAMES * NUM_STEPS
run = {"env.rules": report.rules, "seed": report.seed, "budget.decisions": budget}
with tempfile.TemporaryDirectory() as folder:
    config = load_config(None, {**SETTINGS, **run, "evaluation.times": 0})
    result = train(config, Path(folder, "run"), progress=False, learner=Reported)
assert report.decisions == result.decisions
report.finish()
