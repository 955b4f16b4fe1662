"""OpenSpiel's NFSP learns `micro` by self-play, and the exact tools compute its exploitability.

Each seat has a learner of neural fictitious self-play (Heinrich and Silver 2016). Its best response
learns by DQN, and its average policy imitates the best responses so far.

    pip install . -r examples/requirements/openspiel_nfsp.txt
    python examples/openspiel_nfsp.py
"""

import numpy as np
from _report import Report
from open_spiel.python import rl_environment as rl
from open_spiel.python.pytorch import nfsp
from open_spiel.python.rl_agent_policy import JointRLAgentPolicy

from hearts_env import openspiel
from hearts_env.batch.views import BatchView
from hearts_env.solve import best_response
from hearts_env.solve.tree import Tree

SETTINGS = {"rl_learning_rate": 5e-3, "sl_learning_rate": 5e-3, "optimizer_str": "adam"}
SETTINGS |= {"batch_size": 64, "learn_every": 4, "min_buffer_size_to_learn": 100}
SETTINGS |= {"epsilon_start": 0.3, "epsilon_decay_duration": 300, "update_target_network_every": 50}


class Player:
    """Draws its cards from the average policies of both learners."""

    name = "nfsp"

    def __init__(self):
        joint, mode = JointRLAgentPolicy(game, learners, False), nfsp.MODE.AVERAGE_POLICY
        self.action_probs = openspiel.action_probs(game, joint)
        with learners[0].temp_mode_as(mode), learners[1].temp_mode_as(mode):
            self.learned, _ = best_response.policy_of(self, tree)

    def act(self, view):
        """Return a card for the player to act."""
        chances = tree.chances_in(BatchView.of([view]), self.learned)[0]
        return int(rng.choice(len(chances), p=chances))


report, rng, tree = Report(__doc__, "open_spiel", "torch"), np.random.default_rng(1), Tree("micro")
game, deals = openspiel.load("micro", information_state="flat"), rl.ChanceEventSampler(seed=1)
env = rl.Environment(game, chance_event_sampler=deals, enable_legality_check=True)
sizes = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"], [64], 50_000, 0.3
learners = {seat: nfsp.NFSP(seat, *sizes, seed=seat, **SETTINGS) for seat in range(2)}
report.measure(Player(), rules="micro")
for _ in range(report.choose(full=10_000, smoke=1_500)):
    step = env.reset()
    while not step.last():
        step = env.step([learners[step.current_player()].step(step).action])
        report.decided()
    for seat, learner in learners.items():
        learner.step(step)  # the reward of its last card
        report.played(seat, step.rewards[seat])
report.measure(player := Player(), rules="micro")
print(f"exploitability    {best_response.exploitability(tree, player.learned):.3f} points per deal")
report.finish()
