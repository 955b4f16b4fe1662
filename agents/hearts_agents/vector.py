"""Gymnasium's vector environment: many learners at once, opponents inside, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from hearts_agents._arena import Arena, Finished, env_seeds, objects
from hearts_agents._options import EpisodeOptions, Options, documented
from hearts_agents.pool import OpponentPool
from hearts_env import HeartsError, Rules
from hearts_env.arguments import check_choice, whole
from hearts_env.arrays import Array
from hearts_env.errors import quoted
from hearts_env.infos import DeferredDeal, read_only


class HeartsVectorEnv(VectorEnv[Array, Array, Array]):
    """Many episodes, each with one learner: ``gymnasium.make_vec("hearts_env/Hearts-v0", ...)``.

    An environment whose episode ends begins the next in the same step
    (``AutoresetMode.SAME_STEP``): the observation is then the first of the new episode, and
    ``infos["final_obs"]`` and ``infos["final_info"]`` describe the one that ended. Environment i
    after ``reset(seed=s)`` plays the episodes of a single ``HeartsEnv`` after
    ``reset(seed=s + i)``; only agents other than the baselines that draw random numbers of their
    own (and ``pro`` where it samples) draw different ones, being asked for many games at once.

    ``infos`` has ``action_mask`` (num_envs, n) int8, and otherwise the keys of a ``HeartsEnv``'s
    info, an array each; ``infos["final_info"]`` has them too, with ``episode`` (``r`` and ``l``,
    the return and the length). Its ``deal`` is written when it is read, and costs nothing until
    then; cards passed in an exchange are in deck order there. The seeds of the current episodes,
    which reveal every card, are ``envs.unwrapped.episode_seeds``.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    @documented
    def __init__(  # noqa: D417  # `documented` describes the others
        self,
        num_envs: int = 1,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        num_threads: int = 1,
        render_mode: str | None = None,
        render_for: str = "mover",
        **options: Unpack[Options],
    ) -> None:
        """Environments that wait for ``reset``.

        Args:
            num_envs: how many.
            num_threads: threads that share the opponents' work.
            render_mode: must be None; render single environments instead.
            render_for: as in the single environment; checked, but without effect.
        """
        if render_mode is not None:
            raise HeartsError(
                f"render_mode: {quoted(render_mode)} is not for many environments; "
                "render a single one, from gymnasium.make"
            )
        self.arena = Arena(num_envs, EpisodeOptions.of(rules, players, **options), num_threads)
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
        self._names = objects(self.num_envs, "")  # of the opponents
        self._make_scratch()

    def _make_scratch(self) -> None:
        """What every step's infos share: read-only arrays."""
        n = self.num_envs
        facts = {"action_mask": np.zeros(0), **self.arena.no_facts(n)}
        infos = _with_masks(facts, np.ones(n, np.bool_))
        self._no_infos = {name: read_only(values) for name, values in infos.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_scratch()

    @property
    def opponents(self) -> OpponentPool:
        """The pool that opponents are drawn from; additions count from the next episodes on."""
        return self.arena.pool

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes everywhere.

        Args:
            seed: of the first environment, the next counting up; or a list; None: the
                next episodes of the last seed's sequence, at first of a random one.
            options: must be None or empty; for given deals use a single environment.
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
        """Play one action in each environment, and everything up to the next decision there."""
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
        """The seeds of the episodes under way, a new array (num_envs,); they reveal all cards."""
        return self.arena.deals.copy()

    def _infos(self) -> dict[str, Any]:
        infos = self._no_infos.copy()
        infos["action_mask"] = self.arena.masks()
        infos["seat"] = self.arena.learner.copy()
        infos["opponent"] = self._names.copy()
        return infos

    def _add_final(self, infos: dict[str, Any], finished: Finished, done: Array) -> None:
        n, games = self.num_envs, finished.games
        observations = np.empty(n, dtype=object)  # None where no episode has ended
        observations[games] = np.fromiter(finished.observations, object, len(games))
        facts = {"action_mask": np.zeros_like(infos["action_mask"])}
        for name, values in finished.facts.items():
            facts[name] = self._no_infos[name].copy()
            facts[name][games] = values
        facts["deal"] = self._no_infos["deal"]
        final = DeferredDeal(_with_masks(facts, done))
        final.write, final.subject = partial(_texts, n), finished
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
    """`facts`, each with Gymnasium's mask of the environments that have it."""
    infos: dict[str, Any] = {}
    for name, values in facts.items():
        infos[name] = values
        infos[f"_{name}"] = there.copy()
    return infos


def _texts(n: int, finished: Finished) -> Array:
    """The deals that have ended as text, an array of `n` objects; "" for all others."""
    texts = objects(n, "")
    for i, g in enumerate(finished.games.tolist()):
        texts[g] = finished.text(i)
    return texts


def _spread(n: int, games: Array, values: Array) -> Array:
    """An array for all environments with `values` in those of `games`."""
    out = np.zeros(n, values.dtype)
    out[games] = values
    return out
