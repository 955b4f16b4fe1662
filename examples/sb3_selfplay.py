"""Self-play with stable-baselines3 and sb3-contrib: MaskablePPO against its own snapshots.

The learner has a random seat in each deal. A snapshot from a pool plays the other seat. The learner
gets its reward after every deal, in either seat. (The wrapper in PettingZoo's tutorial rewards only
the last player to move.)

    pip install . -r examples/requirements/sb3_selfplay.txt
    python examples/sb3_selfplay.py
"""

import sys

import torch
from _report import Learning
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from hearts_agents import HeartsSB3VecEnv, make_agent

SETTINGS = {"n_steps": 64, "batch_size": 256, "n_epochs": 4, "gamma": 1.0, "learning_rate": 1e-3}
SETTINGS |= {"gae_lambda": 0.8, "ent_coef": 0.01}
NETWORK, EPISODE = {"net_arch": [256], "activation_fn": "Tanh"}, {"reward": "trick"}
report = Learning(
    __doc__,
    *("stable-baselines3", "sb3-contrib", "torch"),
    opponents="self-play, the last 5 snapshots",
    greedy=False,
    settings={"num_envs": 64, **NETWORK, **EPISODE, **SETTINGS},
    tried=3,
)
form = {"opponent": "easy", "seat": "random", **EPISODE}
envs = HeartsSB3VecEnv(64, report.rules, seed=report.seed, **form)


def layers():
    """Return the layers that choose actions."""
    return [*model.policy.mlp_extractor.policy_net, model.policy.action_net]


def add_snapshot():
    """Add a snapshot to the opponents, and keep the last five."""
    snapshot = make_agent(model, report.seed, rules=report.rules, greedy=False)
    envs.opponents.add(snapshot, name=f"after {report.decisions} decisions")
    if len(envs.opponents) > 5:
        envs.opponents.remove(envs.opponents.names[0])


class SelfPlay(BaseCallback):
    """Adds the policy to the opponents after each update, and counts for the report."""

    def _on_rollout_start(self):
        if report.decisions:
            report.learned(layers)
            add_snapshot()

    def _on_step(self):
        report.decided(self.locals["action_masks"])
        for info in self.locals["infos"]:
            if "episode" in info:  # a deal has ended
                report.played(info["seat"], info["episode"]["r"], offender=info["offender"])
        return not report.is_over  # ends the training without an update


network = NETWORK | {"activation_fn": torch.nn.Tanh}
model = MaskablePPO("MlpPolicy", envs, seed=report.seed, policy_kwargs=network, **SETTINGS)
add_snapshot()
envs.opponents.remove("easy")
model.learn(sys.maxsize, callback=SelfPlay())
report.finish()
