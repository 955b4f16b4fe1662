"""OpenSpiel's DQN by self-play: the learners of both seats share their networks.

pip install . -r examples/requirements/openspiel_dqn.txt
python examples/openspiel_dqn.py
"""

import numpy as np
from _report import Learning
from open_spiel.python import rl_environment as rl
from open_spiel.python.pytorch import dqn

from hearts_env import Rules, openspiel

SETTINGS = {"hidden_layers_sizes": [256, 128], "learning_rate": 1e-3, "optimizer_str": "adam"}
SETTINGS |= {"batch_size": 128, "learn_every": 8, "replay_buffer_capacity": 50_000}
SETTINGS |= {"epsilon_start": 1.0, "epsilon_end": 0.1, "epsilon_decay_duration": 10_000}
SETTINGS |= {"epsilon_decay_schedule_str": "linear", "update_target_network_every": 500}
SETTINGS |= {"discount_factor": 1.0, "min_buffer_size_to_learn": 1_000}
libraries = ("open_spiel", "torch")
report = Learning(__doc__, *libraries, opponents="itself", greedy=True, settings=SETTINGS, tried=2)
form = {"observation_type": rl.ObservationType.OBSERVATION}  # `flat`, without the seat
form |= {"chance_event_sampler": rl.ChanceEventSampler(seed=report.seed)}
env = rl.Environment(openspiel.load(report.rules), enable_legality_check=True, **form)
sizes = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
learners = [dqn.DQN(seat, *sizes, seed=report.seed, **SETTINGS) for seat in range(2)]
for name in ("_q_network", "_target_q_network", "_optimizer"):
    setattr(learners[1], name, getattr(learners[0], name))

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
    report.learned(lambda: learners[0]._q_network.model)
report.finish()
