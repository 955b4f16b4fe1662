"""PettingZoo's wrapper that enforces the order of calls, and its parallel API, for ``raw_env``."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from hearts_env.envs.infos import read_only, seat_number
from hearts_env.envs.observations import Observation
from hearts_env.game.game import Game
from hearts_env.game.match import Match
from hearts_env.game.state import FloatArray
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_flag, only, whole
from hearts_env.support.errors import HeartsError, IllegalActionError, did_you_mean, quoted

Infos = dict[str, dict[str, Any]]
StepResult = tuple[
    dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]
]


class OrderEnforcing(OrderEnforcingWrapper):  # type: ignore[misc]
    """PettingZoo's wrapper, without its slow attribute access.

    PettingZoo's wrapper goes through ``__getattr__`` several times per step. Here a property that
    raises AttributeError falls back to ``__getattr__``, which raises PettingZoo's own error.
    """

    @property
    def agents(self) -> list[str]:
        """The agents still in the episode."""
        if not self._has_reset:
            raise AttributeError
        return self.env.agents

    @property
    def agent_selection(self) -> str:
        """The acting agent."""
        if not self._has_reset:
            raise AttributeError
        return self.env.agent_selection

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the acting agent until none is left. Call ``step`` once per iteration."""
        if not self._has_reset:
            super().agent_iter(max_iter)  # raises
        return self._turns(max_iter)

    def _turns(self, max_iter: int) -> Iterator[str]:
        env, own = self.env, self.__dict__
        for _ in repeat(None, int(min(max_iter, sys.maxsize))):
            if not env.agents:
                return
            if not own["_has_updated"]:
                raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
            own["_has_updated"] = False
            yield env.agent_selection

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode. See ``raw_env.reset``."""
        super().reset(seed=seed, options=options)
        self.last = self.env.last

    __copy__ = copy.deepcopy

    def __str__(self) -> str:
        return str(self.env)

    def step(self, action: int | None) -> None:
        """Play an action of the acting agent. See ``raw_env.step``."""
        env = self.env
        if self._has_reset and env.agents:
            self._has_updated = True
            env.step(action)
        else:
            super().step(action)


class ParallelHearts(ParallelEnv):  # type: ignore[misc]
    """``hearts_v0.raw_env`` with PettingZoo's parallel API, as ``hearts_v0.parallel_env`` makes it.

    Each step plays the action of the acting agent and ignores the actions of the others, as
    PettingZoo's ``turn_based_aec_to_parallel`` does. It returns observations, rewards, ends and
    infos of all agents. Infos have one more key: ``active_agent``, the seat of the acting agent, an
    int64, -1 at the end.

    With `noop` there is one more action, the last. It is the only legal action of agents that wait,
    and of all agents at the end, so no mask is empty. It is illegal for the acting agent.

    This is not a wrapper: ``unwrapped`` is the environment itself.

    Attributes:
        aec_env: the ``raw_env`` inside.
        has_noop: True if there is a no-op action.
        possible_agents: the names of all seats. ``agents`` are those still in the episode.
        action_spaces: each agent's action space.
        observation_spaces: each agent's observation space.
        state_space: the space of ``state()``.
        metadata: as in ``raw_env``, except ``is_parallelizable``.
    """

    def __init__(self, table: AECEnv, *, noop: bool = False) -> None:
        """Wrap `table`, a ``hearts_v0.raw_env``, in the parallel API."""
        self.has_noop = check_flag("noop", noop)
        self.aec_env = table
        self.possible_agents = table.possible_agents
        self.agents = table.agents[:]
        self.state_space = table.state_space
        self.metadata = {**table.metadata, "is_parallelizable": True}
        self._n = table.rules.num_actions
        n = self._n + self.has_noop
        waits = np.zeros(n, np.int8)
        waits[-1] = 1
        self._waits = read_only(waits)  # the mask of agents that wait; used only with `noop`
        self.action_spaces = {agent: spaces.Discrete(n) for agent in self.agents}
        space = table.observation_format.space(n)
        self.observation_spaces = dict.fromkeys(self.agents, space)

    @property
    def rules(self) -> Rules:
        """The rules."""
        return self.aec_env.rules

    @property
    def game(self) -> Game:
        """The current or last deal, all cards open."""
        return self.aec_env.game

    @property
    def match(self) -> Match | None:
        """The match that ``game`` belongs to, or None in deal episodes."""
        return self.aec_env.match

    @property
    def episode_seed(self) -> int | None:
        """The seed of this episode, or None before the first ``reset``. It reveals every card."""
        return self.aec_env.episode_seed

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return ``Discrete(n)``, or ``Discrete(n + 1)`` with `noop`."""
        self.aec_env.action_space(agent)  # raises for unknown agents
        return self.action_spaces[agent]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space as in ``hearts_v0.env``. With `noop`, masks have one more element."""
        self.aec_env.observation_space(agent)  # raises for unknown agents
        return self.observation_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], Infos]:
        """Begin an episode and return the observations and infos of all agents.

        The arguments are those of ``raw_env.reset``.

        Raises:
            HeartsError: if the seed, an option or the deal is invalid. Nothing has changed.
        """
        table = self.aec_env
        table.reset(seed=seed, options=options)
        self.agents = table.agents[:]
        acting = table.agent_selection
        return self._observations(acting), self._infos(acting)

    def step(self, actions: Mapping[str, Any]) -> StepResult:
        """Play the action of the acting agent. The actions of the others are ignored.

        Args:
            actions: actions by agent.

        Returns:
            Observations, rewards, terminations, truncations and infos, each a dictionary of all
            agents. After the end of the episode all five are empty.

        Raises:
            IllegalActionError: if the acting agent has no action, its action is not a number of
                the action space, or it is illegal under ``illegal_action="raise"``.
            HeartsError: if `actions` is not a dictionary or names an unknown agent.
        """
        table = self.aec_env
        action = self._action_of(actions)
        if not self.agents:
            return {}, {}, {}, {}, {}
        table.step(action)
        is_over = table.is_over
        acting = "" if is_over else table.agent_selection
        result = (
            self._observations(acting),
            {agent: float(reward) for agent, reward in table.rewards.items()},
            table.terminations.copy(),
            table.truncations.copy(),
            self._infos(acting),
        )
        while is_over and table.agents:
            table.step(None)
        self.agents = table.agents[:]
        return result

    def state(self) -> FloatArray:
        """Return the perfect-information array. See ``raw_env.state``."""
        return self.aec_env.state()

    @property
    def render_mode(self) -> str | None:
        """One of ``drawing.RENDER_MODES``, or None."""
        return self.aec_env.render_mode

    def render(self) -> str | NDArray[np.uint8] | None:
        """Draw the table. See ``raw_env.render``."""
        return self.aec_env.render()

    def close(self) -> None:
        """Close the window, if one is open."""
        self.aec_env.close()

    __copy__ = copy.deepcopy

    def _action_of(self, actions: object) -> object:
        """Return the acting agent's action for ``raw_env``. A no-op becomes an illegal action."""
        table = self.aec_env
        game = table.game  # raises before a reset
        if not isinstance(actions, Mapping):
            raise HeartsError(
                f"actions: {quoted(actions)} is not a dictionary; give {{agent: action}}"
            )
        for agent in actions:
            if agent not in table.possible_agents:
                near = did_you_mean(str(agent), table.possible_agents)
                raise HeartsError(f"actions: {quoted(agent)} is not an agent; {near}")
        agent = table.agent_selection
        if self.agents and agent not in actions:
            raise IllegalActionError(f"actions: none for {agent}, which is to act; add it")
        action = actions.get(agent)
        if not self.has_noop or not self.agents or whole(only(action)) != self._n:
            return action
        if table.illegal_action == "raise":
            raise IllegalActionError(
                f"action: {self._n} is for agents that wait, and {agent} is to act; give an action "
                "of its mask"
            )
        legal = game.legal_mask
        return next(illegal for illegal in range(self._n) if not legal >> illegal & 1)

    def _observations(self, acting: str) -> dict[str, Observation]:
        """Return the observations of all agents. `acting` is the acting agent, or "" at the end."""
        table = self.aec_env
        seen: dict[str, Observation] = {agent: table.observe(agent) for agent in table.agents}
        if self.has_noop and table.observation_format.mask_in_observation:
            for agent, one in seen.items():
                assert isinstance(one, dict)
                is_acting = agent == acting
                mask = _with_noop(one["action_mask"]) if is_acting else self._waits.copy()
                one["action_mask"] = mask
        return seen

    def _infos(self, acting: str) -> Infos:
        """Return the infos of all agents, new dictionaries."""
        table = self.aec_env
        infos: Infos = {agent: info.copy() for agent, info in table.infos.items()}
        seat = seat_number(table.possible_agents.index(acting) if acting else None)
        for agent, info in infos.items():
            info["active_agent"] = seat
            if self.has_noop and table.observation_format.mask_in_info:
                is_acting = agent == acting
                info["action_mask"] = _with_noop(info["action_mask"]) if is_acting else self._waits
        return infos


def _with_noop(mask: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the acting agent's mask with a zero appended, for the no-op.

    ``np.append`` takes four times as long, and every step needs this.
    """
    out = np.empty(len(mask) + 1, np.int8)
    out[:-1] = mask
    out[-1] = 0
    return out
