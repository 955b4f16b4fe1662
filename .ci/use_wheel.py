"""Use the installed core as a user would, without torch, extras or a checkout."""

import importlib.metadata
import importlib.resources
import importlib.util
import sys
from pathlib import Path

assert importlib.util.find_spec("torch") is None, "the core must install without torch"

import hearts_env  # noqa: E402

assert Path(hearts_env.__file__).is_relative_to(sys.prefix), hearts_env.__file__
assert not {"stable_baselines3", "matplotlib", "pygame"} & set(sys.modules)

from hearts_env import hearts_v0  # noqa: E402

env = hearts_v0.env(rules="two_player")
env.reset(seed=7)
returns = dict.fromkeys(env.agents, 0.0)
num_steps = 0
for agent in env.agent_iter():
    observation, reward, termination, truncation, _ = env.last()
    returns[agent] += reward
    over = termination or truncation
    env.step(None if over else int(observation["action_mask"].argmax()))
    num_steps += not over
assert num_steps > 0, "no card was played"
assert abs(sum(returns.values())) < 1e-6, returns

import gymnasium  # noqa: E402

gymnasium.make("hearts_env/Hearts-v0").reset(seed=7)

for package in ("hearts_env", "hearts_agents", "hearts_train"):
    assert importlib.resources.files(package).joinpath("py.typed").is_file(), package
configs = [f.name for f in importlib.resources.files("hearts_train").joinpath("configs").iterdir()]
assert any(name.endswith(".yaml") for name in configs), configs

from hearts_env.solve.equilibrium import load  # noqa: E402

assert load("micro").exploitability < 1e-9, "the policies that come with the package"

version = importlib.metadata.version("hearts-env")
print(f"hearts-env {version}: {num_steps} cards played, returns {returns}, configs {configs}")
