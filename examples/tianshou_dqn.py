"""Self-play with Tianshou: one DQN plays both seats of the PettingZoo environment.

Rewards come at the end of a deal, and half of all deals end with the opponent's card. Returns are
therefore computed over all 26 cards of a deal. With one step, the default of DQN, the seat that did
not play the last card would never see its reward.

    pip install . -r examples/requirements/tianshou_dqn.txt
    python examples/tianshou_dqn.py
"""

import torch
from _report import Report
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from hearts_env import hearts_v0

report = Report(__doc__, "tianshou", "torch")
torch.manual_seed(1)
one = PettingZooEnv(hearts_v0.env(rules="two_player"))
envs = DummyVectorEnv([lambda: PettingZooEnv(hearts_v0.env(rules="two_player"))] * 16)
shape = one.observation_space["observation"].shape
net = Net(state_shape=shape, action_shape=one.action_space.n, hidden_sizes=[128, 128])
policy = DiscreteQLearningPolicy(model=net, action_space=one.action_space, eps_training=0.3)
adam = AdamOptimizerFactory(lr=1e-3)
dqn = DQN(policy=policy, optim=adam, gamma=1.0, n_step_return_horizon=26)
both = MultiAgentOffPolicyAlgorithm(algorithms=[dqn, dqn], env=one)


def count(deal):
    """Count each seat's reward of a finished deal: the sum of its column of the rewards."""
    report.decided(len(deal))
    for seat, reward in enumerate(deal.rew.sum(axis=0)):
        report.played(seat, reward, offender=deal.info["offender"][-1])


buffer = VectorReplayBuffer(report.choose(full=200_000, smoke=20_000), len(envs))
collector = Collector(both, envs, buffer, exploration_noise=True, on_episode_done_hook=count)
report.measure(lambda observations: net(observations)[0].detach())
params = OffPolicyTrainerParams(
    training_collector=collector,
    max_epochs=1,
    epoch_num_steps=report.choose(full=500_000, smoke=6_500),
    collection_step_num_env_steps=416,
    update_step_num_gradient_steps_per_sample=0.1,
    batch_size=256,
)
both.run_training(params)
report.measure(lambda observations: net(observations)[0].detach())
report.finish()
