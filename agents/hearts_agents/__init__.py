"""Players of Hearts, and environments with players inside.

``make_agent`` makes the baselines, the search players, trained networks, and agents from the code
and programs of users. ``gym_env`` and ``vector`` are Gymnasium environments with such players as
opponents. ``sb3`` is their counterpart for stable-baselines3.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hearts_agents.base import Agent, Player, as_agent
from hearts_agents.registry import agent_names
from hearts_agents.spec import make_agent
from hearts_agents.user_code import allow_code

if TYPE_CHECKING:
    from hearts_agents.envs.gym_env import HeartsEnv
    from hearts_agents.envs.opponents import OpponentPool
    from hearts_agents.envs.sb3 import HeartsSB3VecEnv
    from hearts_agents.envs.vector import HeartsVectorEnv
    from hearts_agents.models.layers import save_policy

_LATER = {
    "HeartsEnv": "envs.gym_env",
    "HeartsSB3VecEnv": "envs.sb3",
    "HeartsVectorEnv": "envs.vector",
    "OpponentPool": "envs.opponents",
    "save_policy": "models.layers",
}


def __getattr__(name: str) -> object:
    """Import a name on first use, so that players alone need no Gymnasium."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Agent",
    "HeartsEnv",
    "HeartsSB3VecEnv",
    "HeartsVectorEnv",
    "OpponentPool",
    "Player",
    "agent_names",
    "allow_code",
    "as_agent",
    "make_agent",
    "save_policy",
]
