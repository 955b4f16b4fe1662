"""AgileRL's PPO against its own snapshots, with AgileRL's own collection and masks.

AgileRL reads the masks from `info["action_mask"]`.

    pip install . -r examples/requirements/agilerl_ppo.txt
    python examples/agilerl_ppo.py
"""

import gymnasium
import numpy as np
import torch
from _report import Learning
from agilerl.algorithms import PPO
from agilerl.rollouts import collect_rollouts
from torch import nn

from hearts_agents import make_agent

SETTINGS = {"num_envs": 64, "learn_step": 64 * 64, "batch_size": 256, "lr": 1e-3, "gamma": 1.0}
SETTINGS |= {"update_epochs": 4, "ent_coef": 0.01}
SETTINGS |= {"rollout_buffer_config": {"use_gae": False}}  # its GAE ends a deal one step too early
LINEAR = {"activation": "Tanh", "layer_norm": False}  # layers that can be saved
NETWORK = {"encoder_config": {"hidden_size": [256], "output_activation": "Tanh", **LINEAR}}
NETWORK |= {"head_config": {"hidden_size": [64], "output_vanish": False, **LINEAR}}
NETWORK |= {"latent_dim": 64}
report = Learning(
    __doc__,
    *("agilerl", "torch"),
    opponents="self-play, the last 5 snapshots",
    greedy=False,
    settings={"reward": "trick", **SETTINGS, "net_config": NETWORK},
    tried=2,
)
torch.manual_seed(report.seed)
np.random.seed(report.seed)  # noqa: NPY002  # AgileRL draws from it


class Counted(gymnasium.vector.VectorWrapper):
    """Counts decisions and finished deals for the report."""

    def reset(self, **options):
        """Reset all environments."""
        seen, self.info = self.env.reset(**options)
        return seen, self.info

    def step(self, actions):
        """Step all environments."""
        report.decided(self.info["action_mask"])
        result = _, _, ends, _, self.info = self.env.step(actions)
        for i in np.flatnonzero(ends):
            last = self.info["final_info"]
            returned, offender = last["episode"]["r"][i], last["offender"][i]
            report.played(last["seat"][i], returned, offender=offender)
        return result


name, form = "hearts_env:hearts_env/Hearts-v0", {"rules": report.rules, "dtype": "float32"}
form |= {"reward": "trick", "opponent": "easy"}
envs = Counted(gymnasium.make_vec(name, num_envs=64, **form))
pool = envs.unwrapped.opponents
spaces = envs.single_observation_space, envs.single_action_space
agent = PPO(*spaces, net_config=NETWORK, **SETTINGS)


def layers():
    """Return the layers of AgileRL's policy."""
    return nn.Sequential(*agent.actor.encoder.model, *agent.actor.head_net._wrapped.model)


def add_snapshot():
    """Add a snapshot to the opponents, and keep the last five."""
    snapshot = make_agent(layers(), report.seed, encoder="flat", rules=report.rules, greedy=False)
    pool.add(snapshot, name=f"after {report.decisions} decisions")
    if len(pool) > 5:
        pool.remove(pool.names[0])


add_snapshot()
pool.remove("easy")
envs.reset(seed=report.seed)
carried = {}
while True:
    _, *last = collect_rollouts(agent, envs, **carried)
    carried = dict(zip(("last_obs", "last_done", "last_scores", "last_info"), last, strict=True))
    if report.is_over:
        break
    agent.learn()
    report.learned(layers)
report.finish()
