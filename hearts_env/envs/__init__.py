"""The parts that all environments share (spaces, infos, rewards, resets, drawing), and their names.

``hearts_env.hearts_v0`` is the PettingZoo environment. ``import hearts_env`` registers all
environments with Gymnasium and PettingZoo by name. An environment's module is imported when the
first environment is made.
"""

from __future__ import annotations

import gymnasium

GYMNASIUM_ID, PETTINGZOO_ID = "hearts_env/Hearts-v0", "hearts_env/hearts-v0"
"""The names in the spelling of each library. Both names work in both libraries."""


def register_envs() -> None:
    """Register the environments with Gymnasium and PettingZoo, once."""
    for name in (GYMNASIUM_ID, PETTINGZOO_ID):
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="hearts_agents.envs.gym_env:HeartsEnv",
                vector_entry_point="hearts_agents.envs.vector:HeartsVectorEnv",
            )
    try:
        from pettingzoo.env_registry import registration
    except ImportError:  # PettingZoo before 1.27 has no registry
        return
    for name in (GYMNASIUM_ID, PETTINGZOO_ID):
        if name not in registration.aec_registry:
            registration.register("aec", name, entry_point="hearts_env.hearts_v0:env")
        if name not in registration.parallel_registry:
            registration.register("parallel", name, entry_point="hearts_env.hearts_v0:parallel_env")
