"""Self-play in PettingZoo's own loop, with NumPy alone: one linear policy plays both seats.

REINFORCE: after each deal, the cards that a seat played become more likely if it won and less
likely if it lost. When the deal is over, `last` gives both agents their rewards.

    pip install . -r examples/requirements/pettingzoo_loop.txt
    python examples/pettingzoo_loop.py
"""

import numpy as np
from _report import Report

from hearts_env import hearts_v0

report = Report(__doc__, "pettingzoo")
env = hearts_v0.env(rules="two_player", observation="flat")
env.reset(seed=1)
seen = env.observation_space("player_0")["observation"].shape[0]
num_actions = env.action_space("player_0").n
weights = np.zeros((seen, num_actions))
rng = np.random.default_rng(1)

report.measure(lambda observations: observations @ weights)
for _ in range(report.choose(full=20_000, smoke=500)):
    env.reset()
    returns = dict.fromkeys(env.agents, 0.0)
    played = {agent: [] for agent in env.agents}
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        returns[agent] += reward
        if termination or truncation:
            env.step(None)
            continue
        features = observation["observation"].astype(float)
        logits = np.where(observation["action_mask"], features @ weights, -np.inf)
        chances = np.exp(logits - logits.max())
        chances /= chances.sum()
        action = rng.choice(num_actions, p=chances)
        played[agent].append((features, chances, action))
        env.step(action)
    for seat, agent in enumerate(env.possible_agents):
        report.played(seat, returns[agent], offender=info["offender"])
        report.decided(len(played[agent]))
        for features, chances, action in played[agent]:
            chances[action] -= 1  # now the gradient of minus its log-probability
            weights -= 0.02 * returns[agent] * np.outer(features, chances)
report.measure(lambda observations: observations @ weights)
report.finish()
