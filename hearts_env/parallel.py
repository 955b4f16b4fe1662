"""The environment for libraries in which all agents act at once: PettingZoo's parallel interface.

In Hearts one agent acts at a time. PettingZoo's turn-based conversion keeps it so: each step plays
the action of the agent whose turn it is, and whatever the others give is left aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper

from hearts_env.arguments import check_flag, only, whole
from hearts_env.errors import HeartsError, IllegalActionError, did_you_mean, quoted
from hearts_env.form import Observation

Infos = dict[str, dict[str, Any]]
Step = tuple[
    dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]
]


class ParallelHearts(turn_based_aec_to_parallel_wrapper):  # type: ignore[misc]
    """``hearts_v0.raw_env``, with a dictionary of all agents: see ``hearts_v0.parallel_env``.

    Observations, rewards, ends and infos of every agent come with each step, and the last ones with
    the last. Infos have one key more, ``active_agent``: whose turn it is, "" at the end (unless
    infos are without texts).

    With `noop` there is one more action, the last: it is the only legal one for whoever waits, and
    for all when the episode is over, so that no mask is empty. Whoever does it in turn does an
    illegal action.
    """

    def __init__(self, table: AECEnv, *, noop: bool = False) -> None:
        """The parallel form of `table`, a ``hearts_v0.raw_env``."""
        super().__init__(table)
        self.has_noop = check_flag("noop", noop)
        self.agents = table.agents[:]
        self.metadata = {**table.metadata, "is_parallelizable": True}
        self._n = table.rules.num_actions
        n = self._n + self.has_noop
        self._action_spaces = {agent: spaces.Discrete(n) for agent in self.agents}
        self._observation_spaces = {agent: table.form.space(n) for agent in self.agents}

    @property
    def action_spaces(self) -> dict[str, spaces.Discrete]:
        """The action space of every agent."""
        return self._action_spaces

    @property
    def observation_spaces(self) -> dict[str, spaces.Space[Any]]:
        """The observation space of every agent."""
        return self._observation_spaces

    def action_space(self, agent: str) -> spaces.Discrete:
        """``Discrete(n)``, or ``Discrete(n + 1)`` with `noop`."""
        self.aec_env.action_space(agent)  # refuses unknown agents
        return self._action_spaces[agent]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """As that of ``hearts_v0.env``; with `noop` masks have a place more."""
        self.aec_env.observation_space(agent)  # refuses unknown agents
        return self._observation_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], Infos]:
        """Begin an episode, as ``hearts_v0.env`` does: observations and infos of all agents.

        Raises:
            HeartsError: if the seed, an option or the deal is invalid; nothing has changed then.
        """
        self.aec_env.reset(seed=seed, options=options)
        self.agents = self.aec_env.agents[:]
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> Step:
        """Do the action of the agent whose turn it is; those of others are left aside.

        Returns:
            Observations, rewards, terminations, truncations and infos, each of all agents; five
            empty dictionaries when the episode is over.

        Raises:
            IllegalActionError: if there is none for the agent in turn, or it is not an action at
                all, or, under ``illegal_action="raise"``, one that the rules do not allow.
            HeartsError: if `actions` is not a dictionary, or has an agent that does not exist.
        """
        table = self.aec_env
        action = self._action_of(actions, table)
        if not self.agents:
            return {}, {}, {}, {}, {}
        table.step(action)
        result = (
            self._observations(),
            {agent: float(reward) for agent, reward in table.rewards.items()},
            table.terminations.copy(),
            table.truncations.copy(),
            self._infos(),
        )
        while table.agents and any(result[ends][table.agent_selection] for ends in (2, 3)):
            table.step(None)
        self.agents = table.agents[:]
        return result

    def _action_of(self, actions: object, table: AECEnv) -> object:
        """The action for `table` of the agent in turn."""
        game = table.game  # refuses to play before a reset
        if not isinstance(actions, Mapping):
            raise HeartsError(
                f"actions: {quoted(actions)} is not a dictionary; give one of agents' actions",
                value=actions,
            )
        for agent in actions:
            if agent not in table.possible_agents:
                near = did_you_mean(str(agent), table.possible_agents)
                raise HeartsError(f"actions: {quoted(agent)} is not an agent; {near}", value=agent)
        agent = table.agent_selection
        if self.agents and agent not in actions:
            raise IllegalActionError(f"actions: none for {agent}, whose turn it is; add it")
        action = actions.get(agent)
        if not self.has_noop or not self.agents or whole(only(action)) != self._n:
            return action
        if table.illegal_action == "raise":
            raise IllegalActionError(
                f"action: {self._n} is for those who wait, and it is the turn of {agent}; give an "
                "action of its mask"
            )
        legal = game.legal_mask
        return next(illegal for illegal in range(self._n) if not legal >> illegal & 1)

    def _observations(self) -> dict[str, Observation]:
        """What every agent sees."""
        table = self.aec_env
        seen: dict[str, Observation] = {agent: table.observe(agent) for agent in table.agents}
        if self.has_noop:
            for one in seen.values():
                if isinstance(one, dict):
                    one["action_mask"] = _with_noop(one["action_mask"])
        return seen

    def _infos(self) -> Infos:
        """Every agent's info, dictionaries of its own."""
        table, infos = self.aec_env, {}
        is_over = any(table.terminations.values()) or any(table.truncations.values())
        for agent in table.agents:
            info = infos[agent] = table.infos[agent].copy()
            if table.texts:
                info["active_agent"] = "" if is_over else table.agent_selection
            if self.has_noop:
                info["action_mask"] = _with_noop(info["action_mask"])
        return infos


def _with_noop(mask: NDArray[np.int8]) -> NDArray[np.int8]:
    """`mask` with a place more, which has a one where nothing else is legal."""
    return np.append(mask, np.int8(not mask.any()))
