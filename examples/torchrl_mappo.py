"""TorchRL's multi-agent PPO: one policy for both seats of the parallel environment.

Both agents act at every step. `noop` is the only legal action of the agent that waits. In training,
the critic of each agent sees the observations of both.

    pip install . -r examples/requirements/torchrl_mappo.txt
    python examples/torchrl_mappo.py
"""

import sys

import torch
from _report import Learning
from _wrappers import count, without_noop
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import RewardSum, TransformedEnv
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MaskedCategorical, MultiAgentMLP, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss, ValueEstimators

from hearts_env import hearts_v0

SETTINGS = {"frames_per_batch": 2_080, "hidden": [256], "lr": 1e-3, "epochs": 4, "minibatches": 8}
SETTINGS |= {"gae_lambda": 0.8, "entropy": 0.01, "reward": "trick"}
libraries = ("torchrl", "tensordict", "torch")
report = Learning(__doc__, *libraries, opponents="itself", greedy=False, settings=SETTINGS)
torch.manual_seed(report.seed)
form = {"noop": True, "dtype": "float32", "action_mask": "info", "reward": SETTINGS["reward"]}
table = hearts_v0.parallel_env(rules=report.rules, **form)
env = PettingZooWrapper(table, seed=report.seed)
env = TransformedEnv(env, RewardSum(in_keys=[env.reward_key]))
size = table.observation_space("player_0").shape[0]
num_actions = int(table.action_space("player_0").n)
names = {name: ("player", name) for name in ("observation", "logits", "action_mask", "value")}
actor = nn.Sequential(nn.Linear(size, 256), nn.Tanh(), nn.Linear(256, num_actions))
critic = MultiAgentMLP(size, 1, 2, centralized=True, share_params=False, depth=1, num_cells=256)
policy = ProbabilisticActor(
    TensorDictModule(actor, in_keys=[names["observation"]], out_keys=[names["logits"]]),
    spec=env.full_action_spec,
    in_keys={"logits": names["logits"], "mask": names["action_mask"]},
    out_keys=[env.action_key],
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
value = TensorDictModule(critic, in_keys=[names["observation"]], out_keys=[names["value"]])
entropy = SETTINGS["entropy"]
loss = ClipPPOLoss(policy, value, entropy_coeff=entropy, normalize_advantage=True)
ends = {key: ("player", key) for key in ("done", "terminated")}
loss.set_keys(reward=env.reward_key, action=env.action_key, value=names["value"], **ends)
loss.make_value_estimator(ValueEstimators.GAE, gamma=1.0, lmbda=SETTINGS["gae_lambda"])
optimizer = torch.optim.Adam(loss.parameters(), lr=SETTINGS["lr"])

frames = SETTINGS["frames_per_batch"]
for data in Collector(env, policy, frames_per_batch=frames, total_frames=sys.maxsize):
    count(report, data)
    if report.is_over:
        break
    with torch.no_grad():
        loss.value_estimator(
            data, params=loss.critic_network_params, target_params=loss.target_critic_network_params
        )
    for _ in range(SETTINGS["epochs"]):
        for rows in torch.randperm(len(data)).chunk(SETTINGS["minibatches"]):
            found = loss(data[rows])
            optimizer.zero_grad()
            sum(found[key] for key in ("loss_objective", "loss_critic", "loss_entropy")).backward()
            optimizer.step()
    report.learned(lambda: without_noop(actor))
report.finish()
