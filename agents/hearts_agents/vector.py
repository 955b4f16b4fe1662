"""Gymnasium's vector environment: many learners at once, opponents inside, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from hearts_agents._arena import Arena, Finished, env_seeds
from hearts_agents.pool import OpponentPool
from hearts_env import HeartsError, Rules
from hearts_env.arguments import check_choice, whole
from hearts_env.encoders import Encoder
from hearts_env.errors import quoted
from hearts_env.infos import read_only

Array = NDArray[Any]


class HeartsVectorEnv(VectorEnv[Array, Array, Array]):
    """Many episodes, each with one learner: ``gymnasium.make_vec("hearts_env/Hearts-v0", ...)``.

    An environment whose episode ends begins the next in the same step
    (``AutoresetMode.SAME_STEP``): the observation is then the first of the new episode, and
    ``infos["final_obs"]`` and ``infos["final_info"]`` tell of the one that ended. Environment i
    after ``reset(seed=s)`` plays the episodes of a single ``HeartsEnv`` after
    ``reset(seed=s + i)``; only agents from outside the table that draw random numbers of their
    own (and ``pro`` where it samples) draw others, being asked for many games at once.

    ``infos`` has ``action_mask`` (num_envs, n) int8, and otherwise the keys of a ``HeartsEnv``'s
    info but ``deal``, an array each; ``infos["final_info"]`` has them too, with ``episode`` (``r``
    and ``l``, the return and the length). The seeds of the episodes under way, which tell every
    card, are ``envs.unwrapped.episode_seeds``.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        episode: str = "deal",
        reward: str = "margin",
        observation: str | Encoder = "flat",
        illegal_action: str = "terminate",
        opponent: Any = "standard",
        seat: int | str = "random",
        skip_forced: bool = False,
        max_deals: int | None = None,
        num_threads: int = 1,
        render_mode: str | None = None,
        render_for: str = "mover",
    ) -> None:
        """Environments that wait for ``reset``.

        Args:
            num_envs: how many.
            rules: the rules, or a preset's name.
            players: number of players, for presets that several numbers play.
            episode: ``deal`` or ``match``.
            reward: ``margin``, ``points``, ``trick``, ``win`` or ``chips``.
            observation: an encoder or its name; the observation is its array alone.
            illegal_action: ``terminate``: the episode ends with -1; ``raise``; ``revoke``.
            opponent: a name, a checkpoint's path, an agent, a list or an ``OpponentPool`` to draw
                from, each episode anew for every seat but the learner's.
            seat: the learner's, or ``random``.
            skip_forced: play decisions with a single legal action by itself. The learner is not
                asked, rewards add up; a deal without a decision is passed over. Learning is
                quicker: about a fifth of all decisions are forced.
            max_deals: a match is cut off (truncated) after so many deals.
            num_threads: threads that share the opponents' work.
            render_mode: None; render single environments.
            render_for: as in the single environment, where it matters.

        Raises:
            HeartsError: an argument that cannot be; it is named.
        """
        if render_mode is not None:
            raise HeartsError(
                f"render_mode: {quoted(render_mode)} is not for many environments; "
                "render a single one, from gymnasium.make"
            )
        self.arena = Arena(
            num_envs,
            rules,
            players,
            episode=episode,
            reward=reward,
            observation=observation,
            illegal_action=illegal_action,
            opponent=opponent,
            seat=seat,
            skip_forced=skip_forced,
            max_deals=max_deals,
            num_threads=num_threads,
        )
        self.rules = self.arena.rules
        self.num_envs = self.arena.num_envs
        seats = [f"player_{seat}" for seat in range(self.rules.players)]
        check_choice("render_for", render_for, ("mover", "all", *seats))
        self.single_observation_space = self.arena.space
        self.single_action_space = spaces.Discrete(self.rules.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = dict(type(self).metadata)
        self._begun = False
        self._names = np.full(self.num_envs, "", dtype=object)  # of the opponents
        self._make_scratch()

    def _make_scratch(self) -> None:
        """What every step's infos share: arrays that nobody can write to."""
        n = self.num_envs
        facts = {"action_mask": np.zeros(0), **self.arena.no_facts(n)}
        infos = _with_masks(facts, np.ones(n, np.bool_))
        self._no_infos = {
            name: values if values.dtype == object else read_only(values)
            for name, values in infos.items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_scratch()

    @property
    def opponents(self) -> OpponentPool:
        """Whom the opponents are drawn from; what is added takes part from the next episodes on."""
        return self.arena.pool

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes everywhere.

        Args:
            seed: of the first environment, the next counting up; or a list; None: play on with
                what the seed before leads to, at first with a random one.
            options: none are known here; to play known deals take a single environment.
        """
        given: object = options
        if given is not None and not (isinstance(given, Mapping) and not given):
            raise HeartsError(
                f"options: {quoted(options)} are not for many environments; "
                "give them to a single one, from gymnasium.make"
            )
        if seed is None and self._begun:
            self.arena.begin(np.arange(self.num_envs))
        else:
            seeds = env_seeds(seed, self.num_envs, self.np_random)
            super().reset(seed=whole(seed))
            self.arena.reset(seeds)
        self._begun = True
        self._names = self.arena.opponents(np.arange(self.num_envs))
        return self.arena.observe(), self._infos()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Do one action in each environment, and everything until the next decision there."""
        if not self._begun:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        rewards, done, finished = self.arena.step(actions)
        if finished is None:
            infos = self._infos()
        else:
            self._names[finished.games] = self.arena.opponents(finished.games)
            infos = self._infos()
            self._add_final(infos, finished, done)
        truncated = self.arena.truncated.copy()
        return self.arena.observe(), rewards, done & ~truncated, truncated, infos

    def action_masks(self) -> NDArray[np.int8]:
        """What each learner may do now, a new array (num_envs, n) int8."""
        return self.arena.masks()

    @property
    def episode_seeds(self) -> NDArray[np.int64]:
        """The seeds of the episodes under way, a new array (num_envs,): all that is hidden."""
        return self.arena.deals.copy()

    def _infos(self) -> dict[str, Any]:
        infos = self._no_infos.copy()
        infos["action_mask"] = self.arena.masks()
        infos["seat"] = self.arena.learner.copy()
        infos["opponent"] = self._names.copy()
        return infos

    def _add_final(self, infos: dict[str, Any], finished: Finished, done: Array) -> None:
        n, games = self.num_envs, finished.games
        observations = np.full(n, None, dtype=object)
        for i, g in enumerate(games.tolist()):
            observations[g] = finished.observations[i]
        facts = {"action_mask": np.zeros_like(infos["action_mask"])}
        for name, values in finished.facts.items():
            facts[name] = self._no_infos[name].copy()
            facts[name][games] = values
        final = _with_masks(facts, done)
        final["episode"] = _with_masks(
            {"r": _spread(n, games, finished.returns), "l": _spread(n, games, finished.lengths)},
            done,
        )
        final["_episode"] = done.copy()
        infos["final_obs"] = observations
        infos["_final_obs"] = done.copy()
        infos["final_info"] = final
        infos["_final_info"] = done.copy()


def _with_masks(facts: dict[str, Array], there: NDArray[np.bool_]) -> dict[str, Any]:
    """`facts`, each with Gymnasium's mask of the environments that it tells of."""
    infos: dict[str, Any] = {}
    for name, values in facts.items():
        infos[name] = values
        infos[f"_{name}"] = there.copy()
    return infos


def _spread(n: int, games: Array, values: Array) -> Array:
    """An array for all environments with `values` in those of `games`."""
    out = np.zeros(n, values.dtype)
    out[games] = values
    return out
