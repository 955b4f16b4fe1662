"""For libraries that make a tensor of every info: the parallel environment without its texts."""

from __future__ import annotations

from typing import Any

from pettingzoo.utils import BaseParallelWrapper


class Numbers(BaseParallelWrapper):
    """Leaves `deal` and `active_agent` out of the infos; all else is as it was."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """As before, infos of numbers."""
        seen, infos = super().reset(seed, options)
        return seen, _numbers(infos)

    def step(self, actions: dict[str, Any]) -> Any:
        """As before, infos of numbers."""
        *rest, infos = super().step(actions)
        return *rest, _numbers(infos)


def _numbers(infos: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        agent: {key: value for key, value in info.items() if not isinstance(value, str)}
        for agent, info in infos.items()
    }
