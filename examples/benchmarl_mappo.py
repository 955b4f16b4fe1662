"""BenchMARL trains MAPPO: one policy for both seats of the parallel environment.

The two seats have opposite rewards, so the critic gives each seat a value of its own. The default
is one value for all agents, as for a team.

pip install . -r examples/requirements/benchmarl_mappo.txt
python examples/benchmarl_mappo.py
"""

import contextlib
import sys

from _report import Learning
from _wrappers import count, without_noop
from benchmarl.algorithms import MappoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from torch import nn
from torchrl.envs import PettingZooWrapper

from hearts_env.hearts_v0 import parallel_env

SETTINGS = {"frames_per_batch": 2_080, "envs": 2, "hidden": [256], "lr": 1e-3}
SETTINGS |= {"epochs": 4, "minibatch_size": 260, "lambda": 0.8, "entropy": 0.01, "reward": "trick"}
SETTINGS |= {"share_param_critic": False}
libraries = ("benchmarl", "torchrl", "torch")
form = {"opponents": "itself", "greedy": False, "tried": 2}
report = Learning(__doc__, *libraries, settings=SETTINGS, **form)
FORM = {"rules": report.rules, "noop": True, "dtype": "float32", "action_mask": "info"}
FORM |= {"reward": SETTINGS["reward"]}


class Hearts(PettingZooClass):
    """The task: its environment, and the properties that BenchMARL reads."""

    get_env_fun = staticmethod(
        lambda seed=None, **_: lambda: PettingZooWrapper(parallel_env(**FORM), seed=seed)
    )
    supports_discrete_actions = staticmethod(lambda: True)
    max_steps = staticmethod(lambda _: 26)


class Over(Exception):
    """The budget is spent."""


class Count(Callback):
    """Counts the decisions and the rewards of finished deals for the report."""

    def on_batch_collected(self, batch):
        """Count the deals of a collection. Note the policy, which has learned from all before."""
        if report.decisions:
            report.learned(layers)
        count(report, batch.reshape(-1))
        if report.is_over:
            raise Over


def layers():
    """Return the layers of BenchMARL's policy."""
    mlp = experiment.policy.get_submodule("module.0.module.0").mlp
    return without_noop(list(mlp.get_stateful_net()))


config, net, mappo = (c.get_from_yaml() for c in (ExperimentConfig, MlpConfig, MappoConfig))
net.num_cells, net.activation_class = SETTINGS["hidden"], nn.Tanh
mappo.lmbda, mappo.entropy_coef = SETTINGS["lambda"], SETTINGS["entropy"]
mappo.share_param_critic = SETTINGS["share_param_critic"]
config.max_n_frames, config.max_n_iters = None, sys.maxsize
config.on_policy_collected_frames_per_batch = SETTINGS["frames_per_batch"]
config.on_policy_n_envs_per_worker = SETTINGS["envs"]
config.on_policy_n_minibatch_iters = SETTINGS["epochs"]
config.on_policy_minibatch_size = SETTINGS["minibatch_size"]
config.gamma, config.lr, config.evaluation, config.loggers = 1.0, SETTINGS["lr"], False, []
experiment = Experiment(Hearts("HEARTS", {}), mappo, net, report.seed, config, net, [Count()])
with contextlib.suppress(Over):
    experiment.run()
report.finish()
