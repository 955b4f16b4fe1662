"""Registers the environments with Gymnasium and PettingZoo, so that ``import hearts_env`` suffices.

By name only: neither the environments nor what they need is imported before one is made.
"""

from __future__ import annotations

import gymnasium


def register_envs() -> None:
    """Make the environments known; those that are known already stay as they are."""
    if "hearts_env/Hearts-v0" not in gymnasium.registry:
        gymnasium.register(
            id="hearts_env/Hearts-v0",
            entry_point="hearts_agents.gym_env:HeartsEnv",
            vector_entry_point="hearts_agents.vector:HeartsVectorEnv",
        )
    try:
        from pettingzoo.env_registry import registration
    except ImportError:  # PettingZoo before 1.27 has no registry
        return
    if "hearts_env/hearts-v0" not in registration.aec_registry:
        registration.register("aec", "hearts_env/hearts-v0", entry_point="hearts_env.hearts_v0:env")
