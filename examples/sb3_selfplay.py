"""Self-play with stable-baselines3 and sb3-contrib: MaskablePPO against its own snapshots.

The learner has a random seat in each deal. A snapshot from a pool plays the other seat. The learner
gets its reward after every deal, in either seat. (The wrapper in PettingZoo's tutorial rewards only
the last player to move.)

    pip install . -r examples/requirements/sb3_selfplay.txt
    python examples/sb3_selfplay.py
"""

from _report import Report
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from hearts_agents import HeartsSB3VecEnv, make_agent

report = Report(__doc__, "stable-baselines3", "sb3-contrib", "torch")
envs = HeartsSB3VecEnv(num_envs=64, rules="two_player", opponent="easy", seat="random", seed=1)


class SelfPlay(BaseCallback):
    """Adds the current policy to the opponents before each rollout, and keeps the last five."""

    def _on_rollout_start(self):
        present = f"after {self.num_timesteps} steps"
        envs.opponents.add(make_agent(self.model, greedy=False, seed=1), name=present)
        if len(envs.opponents) > 5:
            envs.opponents.remove(envs.opponents.names[-6])

    def _on_step(self):
        report.decided(envs.num_envs)
        for info in self.locals["infos"]:
            if "episode" in info:  # a deal has ended
                report.played(info["seat"], info["episode"]["r"], offender=info["offender"])
        return True


model = MaskablePPO("MlpPolicy", envs, n_steps=52, batch_size=832, gamma=1.0, seed=1)
report.measure(make_agent(model))
model.learn(report.choose(full=2_000_000, smoke=13_000), callback=SelfPlay())
report.measure(make_agent(model))
report.finish()
