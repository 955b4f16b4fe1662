"""PettingZoo's loop over turns and its wrapper that enforces the order of calls, made quicker.

Both do what PettingZoo's do. Theirs ask for each attribute through ``__getattr__``, several times
a turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pettingzoo.utils.env import AECIterable
from pettingzoo.utils.wrappers import OrderEnforcingWrapper
from pettingzoo.utils.wrappers.order_enforcing import AECOrderEnforcingIterable


class Turns(AECIterable):  # type: ignore[misc]
    """PettingZoo's loop over turns, written as a generator, which is quicker."""

    def __iter__(self) -> Iterator[str]:
        env, left = self.env, self.max_iter
        while env.agents and left > 0:
            left -= 1
            yield env.agent_selection


class _TurnsInOrder(AECOrderEnforcingIterable):  # type: ignore[misc]
    """The same where every turn must have been played before the next."""

    def __iter__(self) -> Iterator[str]:
        wrapper, env, left = self.env, self.env.env, self.max_iter
        while env.agents and left > 0:
            left -= 1
            agent = env.agent_selection
            if not wrapper._has_updated:
                raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
            wrapper._has_updated = False
            yield agent


class InOrder(OrderEnforcingWrapper):  # type: ignore[misc]
    """PettingZoo's wrapper, with short ways to what is asked for at every step.

    Its own way is through ``__getattr__``, several times for each ``last()``. A property that
    raises AttributeError hands over to just that, and so to its message.
    """

    @property
    def agents(self) -> list[str]:
        """Who is still in the episode."""
        if not self._has_reset:
            raise AttributeError
        return self.env.agents

    @property
    def agent_selection(self) -> str:
        """Whose turn it is."""
        if not self._has_reset:
            raise AttributeError
        return self.env.agent_selection

    def agent_iter(self, max_iter: int = 2**63) -> AECOrderEnforcingIterable:
        """Whose turn it is, for a loop with a ``step`` each time, until nobody is left."""
        if not self._has_reset:
            return super().agent_iter(max_iter)
        return _TurnsInOrder(self, max_iter)

    def last(
        self,
        observe: bool = True,  # noqa: FBT001, FBT002  # as PettingZoo has it
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward since the last turn, termination, truncation and info."""
        if not self._has_reset:
            return super().last(observe)
        return self.env.last(observe)

    def __str__(self) -> str:
        return str(self.env)

    def step(self, action: int | None) -> None:
        """Do the action of the agent whose turn it is."""
        if self._has_reset and self.env.agents:
            self._has_updated = True
            self.env.step(action)
        else:
            super().step(action)
