"""Self-play in PettingZoo's own loop, with NumPy alone: one linear policy plays both seats.

REINFORCE: after each deal, the cards that a seat played become more likely if it won and less
likely if it lost. When the deal is over, `last` gives both agents their rewards.

    pip install . -r examples/requirements/pettingzoo_loop.txt
    python examples/pettingzoo_loop.py
"""

import numpy as np
from _report import Learning

from hearts_env import hearts_v0

SETTINGS = {"learning_rate": 0.02, "layers": "linear"}
report = Learning(__doc__, "pettingzoo", opponents="itself", greedy=False, settings=SETTINGS)
env = hearts_v0.env(rules=report.rules, observation="flat")
env.reset(seed=report.seed)
seen = env.observation_space("player_0")["observation"].shape[0]
num_actions = env.action_space("player_0").n
weights = np.zeros((seen, num_actions))
rng = np.random.default_rng(report.seed)

while True:
    env.reset()
    returns = dict.fromkeys(env.agents, 0.0)
    played = {agent: [] for agent in env.agents}
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        returns[agent] += reward
        if termination or truncation:
            env.step(None)
            continue
        report.decided(observation["action_mask"])
        features = observation["observation"].astype(float)
        logits = np.where(observation["action_mask"], features @ weights, -np.inf)
        probs = np.exp(logits - logits.max())
        probs /= probs.sum()
        action = rng.choice(num_actions, p=probs)
        played[agent].append((features, probs, action))
        env.step(action)
    if report.is_over:
        break
    for seat, agent in enumerate(env.possible_agents):
        report.played(seat, returns[agent], offender=info["offender"])
        for features, probs, action in played[agent]:
            probs[action] -= 1  # now the gradient of minus its log-probability
            weights[...] -= SETTINGS["learning_rate"] * returns[agent] * np.outer(features, probs)
    report.learned(lambda: [(weights.T, None)])
report.finish()
