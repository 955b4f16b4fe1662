"""BenchMARL trains MAPPO: one policy for both seats of the parallel environment.

`pip install . -r examples/requirements/benchmarl_mappo.txt`; `python examples/benchmarl_mappo.py`.
"""

import torch
from _report import Report
from _wrappers import count
from benchmarl.algorithms import MappoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from tensordict import TensorDict
from torchrl.envs import PettingZooWrapper

from hearts_env.hearts_v0 import parallel_env

report = Report(__doc__, "benchmarl", "torchrl", "torch")
FORM = {"noop": True, "dtype": "float32", "action_mask": "info"}


class Hearts(PettingZooClass):
    """The task: its environment, and the properties that BenchMARL reads."""

    get_env_fun = staticmethod(lambda **_: lambda: PettingZooWrapper(parallel_env(**FORM)))
    supports_discrete_actions = staticmethod(lambda: True)
    max_steps = staticmethod(lambda _: 26)


class Count(Callback):
    """Counts the reward of each finished deal for the report."""

    def on_batch_collected(self, batch):
        """Count the deals of a collection."""
        count(report, batch.reshape(-1))


def worths(observations):
    """Return the logits of BenchMARL's policy, for the report. Seat 0 gets the observations."""
    seen = torch.as_tensor(observations)[:, None].expand(-1, 2, -1)
    seen = {"observation": seen, "action_mask": torch.ones(*seen.shape[:2], 29) > 0}
    seen = TensorDict({"player": seen}, len(observations))
    return experiment.policy(seen)["player", "logits"][:, 0, :-1].detach()


config, net, mappo = (c.get_from_yaml() for c in (ExperimentConfig, MlpConfig, MappoConfig))
config.max_n_frames = report.choose(full=1_000_000, smoke=3_900)
config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = 1_300, 2
config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = 8, 325
config.gamma, config.lr, config.evaluation, config.loggers = 1.0, 1e-3, False, []
experiment = Experiment(Hearts("HEARTS", {}), mappo, net, 1, config, net, [Count()])
report.measure(worths)
experiment.run()
report.measure(worths)
report.finish()
