"""What some libraries need beside their own code: small, to be copied."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces
from pettingzoo.utils import BaseWrapper


class Plural(BaseWrapper):
    """For RLlib, whose masking module reads `observations` where PettingZoo has `observation`."""

    def observation_space(self, agent: str) -> spaces.Dict:
        """The same spaces."""
        space = self.env.observation_space(agent)
        return spaces.Dict(observations=space["observation"], action_mask=space["action_mask"])

    def observe(self, agent: str) -> dict[str, Any]:
        """The same arrays."""
        seen = self.env.observe(agent)
        return {"observations": seen["observation"], "action_mask": seen["action_mask"]}


def count(report: Any, data: Any) -> None:
    """Note in `report` the deals that have ended in a batch of TorchRL's, ``(n,)`` steps."""
    report.decided(len(data))  # one of the two decides, the other waits
    for deal in data["next", "player"][data["next", "done"][:, 0]]:
        for seat, reward in enumerate(deal["reward"][:, 0]):
            report.played(seat, reward, offender=deal["info", "offender"][seat])
