"""RLlib's new API stack on a Ray cluster of two local nodes: one masked PPO plays both seats.

    pip install . -r examples/requirements/rllib_selfplay.txt
    python examples/rllib_selfplay.py
The wrapper renames PettingZoo's `observation` to `observations`.
"""

import ray
import torch
from _report import Report
from _wrappers import Plural
from ray.cluster_utils import Cluster
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune import register_env

from hearts_env import hearts_v0


def note(episode, metrics_logger, **_):
    """Log each seat's reward of a finished deal, on the node that played it."""
    for agent, deal in episode.agent_episodes.items():
        facts = (int(agent[-1]), deal.get_return(), deal.get_infos(-1)["offender"], len(deal))
        metrics_logger.log_value("deals", facts, reduce="item_series")


def worths(observations):
    """Return the logits of the policy, for the report."""
    seen = {"observations": torch.as_tensor(observations), "action_mask": torch.ones(1)}
    return algorithm.get_module("both").forward_inference({"obs": seen})["action_dist_inputs"]


report = Report(__doc__, "ray", "torch")
cluster = Cluster(initialize_head=True, connect=True, head_node_args={"num_cpus": 1})
cluster.add_node(num_cpus=1)
register_env("hearts", lambda _: PettingZooEnv(Plural(hearts_v0.env(dtype="float32"))))
config = PPOConfig().environment("hearts").callbacks(on_episode_end=note)
config.env_runners(num_env_runners=2, sample_timeout_s=600)
config.multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
config.training(train_batch_size_per_learner=1_300, num_epochs=8, gamma=1.0, lr=1e-3)
algorithm = config.build_algo()
report.measure(worths)
for _ in range(report.choose(full=200, smoke=3)):
    for seat, reward, offender, number in algorithm.train()["env_runners"]["deals"]:
        report.played(seat, reward, offender=offender)
        report.decided(number)
report.measure(worths)
algorithm.stop()
ray.shutdown()
cluster.shutdown()
report.finish()
