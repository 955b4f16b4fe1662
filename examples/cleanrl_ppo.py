"""PPO in one file, in the style of CleanRL, over the compiled vector environment.

To run it: `pip install . -r examples/requirements/cleanrl_ppo.txt`, then
`python examples/cleanrl_ppo.py`.
"""

import gymnasium
import numpy as np
import torch
from _report import Report
from torch import nn

report = Report(__doc__, "torch")
torch.manual_seed(1)
(num_envs, num_steps), name = (64, 52), "hearts_env:hearts_env/Hearts-v0"
envs = gymnasium.make_vec(name, num_envs=num_envs, opponent="easy", dtype="float32")
size, num_actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
actor = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, num_actions))
critic = nn.Sequential(nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 1), nn.Flatten(0))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)


def policy(seen, mask):
    """Return the distribution over legal cards."""
    return torch.distributions.Categorical(logits=actor(seen).masked_fill(mask == 0, -1e9))


report.measure(lambda observations: actor(torch.as_tensor(observations)).detach())
observation, info = envs.reset(seed=1)
for _ in range(report.choose(full=600, smoke=5)):
    rows, rewards, ends = [], np.zeros((num_steps, num_envs)), np.zeros((num_steps, num_envs))
    for t in range(num_steps):
        seen, mask = torch.as_tensor(observation), torch.as_tensor(info["action_mask"])
        with torch.no_grad():
            chosen, value = policy(seen, mask), critic(seen)
        action = chosen.sample()
        rows.append((seen, mask, action, chosen.log_prob(action), value))
        observation, rewards[t], ends[t], _, info = envs.step(action.numpy())
        report.decided(num_envs)
        for i in np.flatnonzero(ends[t]):
            seat, offender = (info["final_info"][key][i] for key in ("seat", "offender"))
            report.played(seat, rewards[t, i], offender=offender)
    *rows, values = (torch.stack(column) for column in zip(*rows, strict=True))
    gains, gain, after = torch.zeros_like(values), 0, critic(torch.as_tensor(observation)).detach()
    rewards, goes_on = torch.as_tensor(rewards).float(), torch.as_tensor(1 - ends).float()
    for t in reversed(range(num_steps)):  # generalised advantage estimates, without discount
        gain = rewards[t] + goes_on[t] * (after + 0.95 * gain) - values[t]
        gains[t], after = gain, values[t]
    data = [part.flatten(0, 1) for part in (*rows, gains, gains + values)]
    for batch in torch.stack([torch.randperm(num_steps * num_envs) for _ in range(4)]).view(16, -1):
        seen, mask, action, before, gain, target = (part[batch] for part in data)
        chosen, gain = policy(seen, mask), (gain - gain.mean()) / gain.std()
        ratio = (chosen.log_prob(action) - before).exp()
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain) - 0.01 * chosen.entropy()
        optimizer.zero_grad()
        (loss + 0.5 * (critic(seen) - target).square()).mean().backward()
        optimizer.step()
report.measure(lambda observations: actor(torch.as_tensor(observations)).detach())
report.finish()
