"""What the environments share: spaces, infos, rewards, resets, drawing; and their registration.

``hearts_env.hearts_v0`` is the environment itself. Only environments import this room.
``import hearts_env`` registers them with Gymnasium and PettingZoo, by name only: neither the
environments nor what they need is imported before one is made.
"""

from __future__ import annotations

import gymnasium

GYMNASIUM_ID, PETTINGZOO_ID = "hearts_env/Hearts-v0", "hearts_env/hearts-v0"
"""As each library writes its names; both know both."""


def register_envs() -> None:
    """Make the environments known; those that are known already stay as they are."""
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
