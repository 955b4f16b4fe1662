"""Self-play with Tianshou: one DQN plays both seats of the PettingZoo environment.

Rewards come at the end of a deal, and half of all deals end with the opponent's card. Returns are
therefore computed over all cards of a deal. With one step, the default of DQN, the seat that did
not play the last card would never see its reward.

    pip install . -r examples/requirements/tianshou_dqn.txt
    python examples/tianshou_dqn.py
"""

import torch
from _report import Learning
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step

from hearts_env import hearts_v0

SETTINGS = {"num_envs": 16, "hidden": [256, 128], "lr": 1e-3, "epsilon": 0.3, "batch_size": 256}
SETTINGS |= {"deals_per_update": 16, "gradient_steps_per_update": 40}
report = Learning(__doc__, "tianshou", "torch", opponents="itself", greedy=True, settings=SETTINGS)
torch.manual_seed(report.seed)


def make():
    """Return the environment."""
    return PettingZooEnv(hearts_v0.env(rules=report.rules))


one, envs = make(), DummyVectorEnv([make] * SETTINGS["num_envs"])
envs.seed(report.seed)
shape = one.observation_space["observation"].shape
net = Net(state_shape=shape, action_shape=one.action_space.n, hidden_sizes=SETTINGS["hidden"])
policy = DiscreteQLearningPolicy(
    model=net, action_space=one.action_space, eps_training=SETTINGS["epsilon"]
)
adam = AdamOptimizerFactory(lr=SETTINGS["lr"])
cards = 2 * one.env.unwrapped.game.rules.hand_size
dqn = DQN(policy=policy, optim=adam, gamma=1.0, n_step_return_horizon=cards)
both = MultiAgentOffPolicyAlgorithm(algorithms=[dqn, dqn], env=one)


def count(deal):
    """Count the decisions of a finished deal, and each seat's reward: the sum of its column."""
    report.decided(deal.obs.mask)
    for seat, reward in enumerate(deal.rew.sum(axis=0)):
        report.played(seat, reward, offender=deal.info["offender"][-1])


buffer = VectorReplayBuffer(200_000, len(envs))
collector = Collector(both, envs, buffer, exploration_noise=True, on_episode_done_hook=count)
collector.reset()
with policy_within_training_step(both.policy):
    while True:
        collector.collect(n_episode=SETTINGS["deals_per_update"])
        if report.is_over:
            break
        for _ in range(SETTINGS["gradient_steps_per_update"]):
            both.update(buffer=buffer, sample_size=SETTINGS["batch_size"])
        report.learned(lambda: net.model.model)
report.finish()
