"""OpenSpiel's neural fictitious self-play (Heinrich and Silver 2016), which learns an equilibrium.

A best response learns by DQN, and an average policy imitates the best responses so far. The
learners of both seats share their networks. The average policy is the result.

    pip install . -r examples/requirements/openspiel_nfsp.txt
    python examples/openspiel_nfsp.py
"""

import numpy as np
from _report import Learning
from open_spiel.python import rl_environment as rl
from open_spiel.python.pytorch import nfsp

from hearts_env import Rules, openspiel

SETTINGS = {"hidden_layers_sizes": [256, 128], "reservoir_buffer_capacity": 200_000}
SETTINGS |= {"anticipatory_param": 0.2, "rl_learning_rate": 1e-3, "sl_learning_rate": 1e-3}
SETTINGS |= {"optimizer_str": "adam", "batch_size": 128, "learn_every": 8}
SETTINGS |= {"min_buffer_size_to_learn": 500, "replay_buffer_capacity": 50_000}
SETTINGS |= {"epsilon_start": 0.3, "epsilon_end": 0.05, "epsilon_decay_duration": 10_000}
SETTINGS |= {"epsilon_decay_schedule_str": "linear", "update_target_network_every": 500}
libraries = ("open_spiel", "torch")
report = Learning(
    __doc__,
    *libraries,
    opponents="itself and its average",
    greedy=False,
    settings=SETTINGS,
    tried=2,
)
form = {"observation_type": rl.ObservationType.OBSERVATION}  # `flat`, without the seat
form |= {"chance_event_sampler": rl.ChanceEventSampler(seed=report.seed)}
env = rl.Environment(openspiel.load(report.rules), enable_legality_check=True, **form)
sizes = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
learners = [nfsp.NFSP(seat, *sizes, seed=report.seed, **SETTINGS) for seat in range(2)]
for name in ("_avg_network", "_optimizer"):
    setattr(learners[1], name, getattr(learners[0], name))
for name in ("_q_network", "_target_q_network", "_optimizer"):
    setattr(learners[1]._rl_agent, name, getattr(learners[0]._rl_agent, name))

cards = 2 * Rules.make(report.rules).hand_size
while report.fits(cards):
    step = env.reset()
    while not step.last():
        seat = step.current_player()
        legal = np.isin(np.arange(sizes[1]), step.observations["legal_actions"][seat])
        report.decided(legal)
        step = env.step([learners[seat].step(step).action])
    for seat, learner in enumerate(learners):
        learner.step(step)  # the reward of its last card
        report.played(seat, step.rewards[seat])
    report.learned(lambda: learners[0]._avg_network.model)
report.finish()
