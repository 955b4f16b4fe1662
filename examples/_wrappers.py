"""Small helpers that some libraries need. Copy them."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces
from pettingzoo.utils import BaseWrapper


class Plural(BaseWrapper):
    """Renames `observation` to `observations`, the key that RLlib's masking module reads."""

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the renamed spaces."""
        space = self.env.observation_space(agent)
        return spaces.Dict(observations=space["observation"], action_mask=space["action_mask"])

    def observe(self, agent: str) -> dict[str, Any]:
        """Return the renamed arrays."""
        seen = self.env.observe(agent)
        return {"observations": seen["observation"], "action_mask": seen["action_mask"]}


def count(report: Any, data: Any) -> None:
    """Count in `report` the decisions and the deals that ended in TorchRL's steps, ``(n,)``."""
    report.decided(data["player", "action_mask"])  # the agent that waits has one action
    for deal in data["next", "player"][data["next", "done"][:, 0]]:
        for seat, reward in enumerate(deal["episode_reward"][:, 0]):
            report.played(seat, reward, offender=deal["info", "offender"][seat])


def without_noop(layers: Any) -> list[Any]:
    """Return a policy's layers without the last output, the action of the agent that waits."""
    *first, last = layers
    return [*first, (last.weight[:-1], last.bias[:-1])]
