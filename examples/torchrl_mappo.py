"""TorchRL's multi-agent PPO: one policy for both seats of the parallel environment.

Both agents act at every step. `noop` is the only legal action of the agent that waits.

    pip install . -r examples/requirements/torchrl_mappo.txt
    python examples/torchrl_mappo.py
"""

import torch
from _report import Report
from _wrappers import count
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss, ValueEstimators

from hearts_env import hearts_v0

report = Report(__doc__, "torchrl", "tensordict", "torch")
torch.manual_seed(1)
table = hearts_v0.parallel_env(noop=True, dtype="float32", action_mask="info")
env = PettingZooWrapper(table)
size = table.observation_space("player_0").shape[0]
num_actions = int(table.action_space("player_0").n)
names = {name: ("player", name) for name in ("observation", "logits", "action_mask", "value")}
actor = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, num_actions))
critic = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 1))
policy = ProbabilisticActor(
    TensorDictModule(actor, in_keys=[names["observation"]], out_keys=[names["logits"]]),
    spec=env.full_action_spec,
    in_keys={"logits": names["logits"], "mask": names["action_mask"]},
    out_keys=[env.action_key],
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
value = TensorDictModule(critic, in_keys=[names["observation"]], out_keys=[names["value"]])
loss = ClipPPOLoss(policy, value, entropy_coeff=0.01, normalize_advantage=True)
ends = {key: ("player", key) for key in ("done", "terminated")}
loss.set_keys(reward=env.reward_key, action=env.action_key, value=names["value"], **ends)
loss.make_value_estimator(ValueEstimators.GAE, gamma=1.0, lmbda=0.95)
optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)

report.measure(lambda observations: actor(torch.as_tensor(observations))[:, :-1].detach())
frames = report.choose(full=1_000_000, smoke=3_900)
for data in Collector(env, policy, frames_per_batch=1_300, total_frames=frames):
    count(report, data)
    with torch.no_grad():
        loss.value_estimator(
            data, params=loss.critic_network_params, target_params=loss.target_critic_network_params
        )
    for rows in torch.stack([torch.randperm(len(data)) for _ in range(8)]).view(32, -1):
        found = loss(data[rows])
        optimizer.zero_grad()
        sum(found[key] for key in ("loss_objective", "loss_critic", "loss_entropy")).backward()
        optimizer.step()
report.measure(lambda observations: actor(torch.as_tensor(observations))[:, :-1].detach())
report.finish()
