"""PPO in one file, in the style of CleanRL, over the compiled vector environment.

The opponents are snapshots of the learner. To run it:

    pip install . -r examples/requirements/cleanrl_ppo.txt
    python examples/cleanrl_ppo.py
"""

import gymnasium
import numpy as np
import torch
from _report import Learning
from torch import nn

from hearts_agents import make_agent

num_envs, num_steps, hidden = 64, 64, 256
SETTINGS = {"num_envs": num_envs, "num_steps": num_steps, "hidden": [hidden], "lr": 1e-3}
SETTINGS |= {"epochs": 4, "minibatches": 16, "gae_lambda": 0.8, "clip": 0.2, "entropy": 0.01}
SETTINGS |= {"reward": "trick"}
form = {"opponents": "self-play, the last 5 snapshots", "greedy": False, "tried": 4}
report = Learning(__doc__, "torch", settings=SETTINGS, **form)
torch.manual_seed(report.seed)
name, form = "hearts_env:hearts_env/Hearts-v0", {"rules": report.rules, "dtype": "float32"}
form |= {"reward": "trick", "opponent": "easy"}
envs = gymnasium.make_vec(name, num_envs=num_envs, **form)
size, num_actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
actor = nn.Sequential(nn.Linear(size, hidden), nn.Tanh(), nn.Linear(hidden, num_actions))
critic = nn.Sequential(nn.Linear(size, hidden), nn.Tanh(), nn.Linear(hidden, 1), nn.Flatten(0))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=SETTINGS["lr"])
pool = envs.unwrapped.opponents


def policy(seen, mask):
    """Return the distribution over legal cards."""
    return torch.distributions.Categorical(logits=actor(seen).masked_fill(mask == 0, -1e9))


def add_snapshot():
    """Add a snapshot to the opponents, and keep the last five."""
    snapshot = make_agent(actor, report.seed, encoder="flat", rules=report.rules, greedy=False)
    pool.add(snapshot, name=f"after {report.decisions} decisions")
    if len(pool) > 5:
        pool.remove(pool.names[0])


add_snapshot()
pool.remove("easy")
observation, info = envs.reset(seed=report.seed)
while True:
    rows, rewards, ends = [], np.zeros((num_steps, num_envs)), np.zeros((num_steps, num_envs))
    for t in range(num_steps):
        seen, mask = torch.as_tensor(observation), torch.as_tensor(info["action_mask"])
        with torch.no_grad():
            chosen, value = policy(seen, mask), critic(seen)
        action = chosen.sample()
        rows.append((seen, mask, action, chosen.log_prob(action), value))
        report.decided(mask)
        observation, rewards[t], ends[t], _, info = envs.step(action.numpy())
        for i in np.flatnonzero(ends[t]):
            last = info["final_info"]
            returned, offender = last["episode"]["r"][i], last["offender"][i]
            report.played(last["seat"][i], returned, offender=offender)
    if report.is_over:
        break
    *rows, values = (torch.stack(column) for column in zip(*rows, strict=True))
    gains, gain, after = torch.zeros_like(values), 0, critic(torch.as_tensor(observation)).detach()
    rewards, goes_on = torch.as_tensor(rewards).float(), torch.as_tensor(1 - ends).float()
    for t in reversed(range(num_steps)):  # generalised advantage estimates, without discount
        gain = rewards[t] + goes_on[t] * (after + SETTINGS["gae_lambda"] * gain) - values[t]
        gains[t], after = gain, values[t]
    data = [part.flatten(0, 1) for part in (*rows, gains, gains + values)]
    for _ in range(SETTINGS["epochs"]):
        for batch in torch.randperm(num_steps * num_envs).chunk(SETTINGS["minibatches"]):
            seen, mask, action, before, gain, target = (part[batch] for part in data)
            chosen, gain = policy(seen, mask), (gain - gain.mean()) / gain.std()
            ratio, clip = (chosen.log_prob(action) - before).exp(), SETTINGS["clip"]
            loss = -torch.min(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
            loss = (loss - SETTINGS["entropy"] * chosen.entropy()).mean()
            loss = loss + 0.5 * (critic(seen) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    report.learned(lambda: actor)
    add_snapshot()
report.finish()
