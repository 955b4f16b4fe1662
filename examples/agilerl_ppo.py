"""AgileRL's PPO over the compiled vector environment, with AgileRL's own collection and masks.

    pip install . -r examples/requirements/agilerl_ppo.txt
    python examples/agilerl_ppo.py
AgileRL reads the masks from `info["action_mask"]`.
"""

import gymnasium
import numpy as np
import torch
from _report import Report
from agilerl.algorithms import PPO
from agilerl.rollouts import collect_rollouts

report = Report(__doc__, "agilerl", "torch")
torch.manual_seed(1)


class Counted(gymnasium.vector.VectorWrapper):
    """Counts the reward of each finished deal for the report."""

    def step(self, actions):
        """Step all environments."""
        result = _, rewards, ends, _, info = self.env.step(actions)
        report.decided(len(actions))
        for i in np.flatnonzero(ends):
            last = info["final_info"]
            report.played(last["seat"][i], rewards[i], offender=last["offender"][i])
        return result


name = "hearts_env:hearts_env/Hearts-v0"
envs = Counted(gymnasium.make_vec(name, num_envs=64, opponent="easy", dtype="float32"))
agent = PPO(
    envs.single_observation_space,
    envs.single_action_space,
    num_envs=64,
    learn_step=64 * 52,
    batch_size=832,
    lr=1e-3,
    gamma=1.0,
    update_epochs=10,
)


def worths(observations):
    """Return the logits of AgileRL's policy, for the report."""
    agent.actor(torch.as_tensor(observations))
    return agent.actor.head_net.dist.logits.detach()


report.measure(worths)
carried = {}
for _ in range(report.choose(full=600, smoke=8)):
    _, *last = collect_rollouts(agent, envs, **carried)
    carried = dict(zip(("last_obs", "last_done", "last_scores", "last_info"), last, strict=True))
    agent.learn()
report.measure(worths)
report.finish()
