"""What players share that keep what earlier views have told them, to save time."""

from __future__ import annotations

from typing import Any

from hearts_agents.base import Agent, check_turn
from hearts_env import PlayerView
from hearts_env.batch.views import BatchView


class CachingAgent(Agent):
    """An agent that remembers views, in attributes whose names begin with ``_``.

    Not thread-safe. What it remembers saves time and decides nothing, so copies begin without it.
    A subclass writes ``act_batch`` and ``_forget``.
    """

    def _forget(self) -> None:
        """Set all attributes whose names begin with ``_``, as before the first view."""
        raise NotImplementedError

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        check_turn(view)
        return int(self.act_batch(BatchView.of([view]))[0])

    def reseed(self, seed: int) -> None:
        """Forget what earlier deals have told; it draws no random numbers itself."""
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """All but what it remembers."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on from what pickle or copy has kept."""
        vars(self).update(state)
        self._forget()
