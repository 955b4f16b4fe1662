"""RLlib's new API stack: one masked PPO plays both seats.

The wrapper renames PettingZoo's `observation` to `observations`.

    pip install . -r examples/requirements/rllib_selfplay.txt
    python examples/rllib_selfplay.py
"""

import numpy as np
import ray
from _report import Learning
from _wrappers import Plural
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune import register_env
from torch import nn

from hearts_env import hearts_v0

SETTINGS = {"train_batch_size": 2_048, "minibatch_size": 256, "num_epochs": 4, "lr": 1e-3}
SETTINGS |= {"lambda": 0.8, "entropy_coeff": 0.01, "hidden": [256], "reward": "trick"}
SETTINGS |= {"vf_clip_param": 1_000.0}  # the default, 10, is for smaller rewards
report = Learning(__doc__, "ray", "torch", opponents="itself", greedy=False, settings=SETTINGS)
# The environment must not refer to the report, which cannot be sent.
form = {"rules": report.rules, "reward": SETTINGS["reward"], "dtype": "float32"}


def note(episode, metrics_logger, **_):
    """Log the decisions of a finished deal and each seat's reward."""
    for agent, deal in episode.agent_episodes.items():
        masks = np.stack([seen["action_mask"] for seen in deal.get_observations()[:-1]])
        facts = (int(agent[-1]), deal.get_return(), deal.get_infos(-1)["offender"], masks)
        metrics_logger.log_value("deals", facts, reduce="item_series")


def layers():
    """Return the layers of the policy."""
    module = algorithm.get_module("both")
    parts = [*module.encoder.actor_encoder.net.mlp, *module.pi.net.mlp]
    return [part for part in parts if isinstance(part, nn.Linear | nn.Tanh)]


class SeededOnce(PettingZooEnv):
    """Gives the environment the first seed only. RLlib gives the same before every sample."""

    seeded = False

    def reset(self, *, seed=None, options=None):
        """Deal. Without a seed, the environment continues its series of deals."""
        seed, self.seeded = None if self.seeded else seed, True
        return super().reset(seed=seed, options=options)


register_env("hearts", lambda _: SeededOnce(Plural(hearts_v0.env(**form))))
config = PPOConfig().environment("hearts").callbacks(on_episode_end=note)
config.debugging(seed=report.seed).env_runners(num_env_runners=0, batch_mode="complete_episodes")
config.multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
model = {"fcnet_hiddens": SETTINGS["hidden"], "fcnet_activation": "tanh", "vf_share_layers": False}
spec = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=model)
config.rl_module(rl_module_spec=spec)
config.training(
    train_batch_size_per_learner=SETTINGS["train_batch_size"],
    minibatch_size=SETTINGS["minibatch_size"],
    num_epochs=SETTINGS["num_epochs"],
    lr=SETTINGS["lr"],
    lambda_=SETTINGS["lambda"],
    entropy_coeff=SETTINGS["entropy_coeff"],
    vf_clip_param=SETTINGS["vf_clip_param"],
    gamma=1.0,
)
ray.init(num_cpus=1, include_dashboard=False)
algorithm = config.build_algo()
while report.fits(SETTINGS["train_batch_size"]):
    for seat, reward, offender, masks in algorithm.train()["env_runners"]["deals"]:
        report.played(seat, reward, offender=offender)
        report.decided(masks)
    report.learned(layers)
algorithm.stop()
ray.shutdown()
report.finish()
