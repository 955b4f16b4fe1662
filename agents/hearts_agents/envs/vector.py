"""Gymnasium's vector environment: many learners at once, with compiled opponents inside."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from hearts_agents.envs.arena import Arena, ArenaOptions, Finished
from hearts_agents.envs.opponents import OpponentPool
from hearts_env import HeartsError, Rules
from hearts_env.envs.infos import read_only_values
from hearts_env.envs.observations import Observation
from hearts_env.support.arguments import whole
from hearts_env.support.arrays import Array, Ints
from hearts_env.support.errors import quoted
from hearts_env.support.keywords import takes


class HeartsVectorEnv(VectorEnv[Observation, Array, Array]):
    """Many episodes with one learner each: ``gymnasium.make_vec("hearts_env/Hearts-v0", ...)``.

    After an episode has ended, ``autoreset_mode`` decides when the next begins:

    - ``SAME_STEP``: in the same step. The observation is then the first of the new episode.
      ``infos["final_obs"]`` and ``infos["final_info"]`` describe the ended one.
    - ``NEXT_STEP``: in the next step, which ignores that environment's action and pays 0. The mask
      before that step allows action 0 alone.
    - ``DISABLED``: by ``reset(options={"reset_mask": ended})``, before the next step.

    Environment i after ``reset(seed=s)`` plays the same episodes as a single ``HeartsEnv`` after
    ``reset(seed=s + i)``. Opponents that draw random numbers may act differently if they decide for
    many games at once. Of the baselines, only a ``pro`` that samples worlds does.

    ``infos`` has the keys of ``HeartsEnv``'s info, each an array. ``action_mask`` is
    ``(num_envs, n) int8``. ``infos["final_info"]`` has them too, and ``episode`` with ``r``
    (return) and ``l`` (length). Infos have no hand histories. ``hearts dataset`` writes them.
    ``envs.unwrapped.episode_seeds`` has the current episodes' seeds, which reveal every card.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    @takes(ArenaOptions, Arena)
    def __init__(  # noqa: D417  # the others are those of HeartsEnv
        self,
        num_envs: int = 1,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        **options: Unpack[ArenaOptions],
    ) -> None:
        """Make the environments. Call ``reset`` first.

        `HeartsEnv` describes all other arguments.

        Args:
            num_envs: the number of environments.
            autoreset_mode: when the next episode begins: a Gymnasium ``AutoresetMode`` or its name,
                ``SAME_STEP``, ``NEXT_STEP`` or ``DISABLED``.
            num_threads: the number of threads for the opponents.
            render_mode: must be None. Render a single environment instead.

        Raises:
            HeartsError: if an argument is invalid. The message names it and the fix.
        """
        if render_mode is not None:
            raise HeartsError(
                f"render_mode: {quoted(render_mode)} is not available for many environments; make "
                "a single one with gymnasium.make"
            )
        self._mode = _check_mode(autoreset_mode)
        self.arena = Arena(num_envs, rules, players, **options)
        self.arena.acts_when_over = self._mode is AutoresetMode.NEXT_STEP
        self.rules = self.arena.rules
        self.num_envs = self.arena.num_envs
        self.single_observation_space = self.arena.space
        self.single_action_space = spaces.Discrete(self.rules.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {**type(self).metadata, "autoreset_mode": self._mode}
        self._share_infos()

    def _share_infos(self) -> None:
        """Make the read-only arrays that all infos share."""
        n = self.num_envs
        facts = {name: np.stack([one] * n) for name, one in self.arena.no_facts().items()}
        if self.arena.form.mask_in_info:
            facts = {"action_mask": np.zeros(0), **facts}
        self._no_infos = read_only_values(_with_masks(facts, np.ones(n, np.bool_)))

    __copy__ = copy.deepcopy

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share_infos()

    @property
    def opponents(self) -> OpponentPool:
        """The pool of opponents. Changes take effect from the next episodes on."""
        return self.arena.pool

    @property
    def episode_seeds(self) -> Ints:
        """The current episodes' seeds, a new array ``(num_envs,) int64``. They reveal all cards."""
        return self.arena.episode_seeds.copy()

    def action_masks(self) -> NDArray[np.int8]:
        """Return each learner's legal actions, a new array ``(num_envs, n) int8``."""
        return self.arena.masks()

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """The ``AutoresetMode``: when the next episode begins. It cannot be changed."""
        return self._mode

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin new episodes in all environments, or in the environments of ``reset_mask``.

        Args:
            seed: the seed of the first environment, from which the others count up, or a list of
                one seed per environment. If None, the sequences of episodes go on. Before any seed
                was given, they are random.
            options: ``reset_mask``, ``(num_envs,) bool``: reset only these environments. ``game``:
                a `Game` of the same rules, also in mid-deal, from which the episodes continue, or a
                list of one per environment, in which None means a new deal. Opponents play up to
                the learner's turn. The games are not changed, and later episodes are dealt. If
                None, no options.

        Returns:
            The observations and the infos.

        Raises:
            HeartsError: if the seed or an option is invalid. Nothing is changed.
        """
        given = check_options(options, ("reset_mask", "game"))
        rows = self._rows_of(given.get("reset_mask"))
        is_whole = rows is None or not self.arena.is_reset
        self.arena.reset(seed, self.np_random, rows, given.get("game"))
        if is_whole:
            super().reset(seed=whole(seed))
        return self.arena.observe(), self._infos()

    def _rows_of(self, mask: object) -> Ints | None:
        """Return the environments in a reset's mask, or None for all."""
        if mask is None:
            return None
        if not isinstance(mask, np.ndarray) or (mask.shape, mask.dtype) != ((self.num_envs,), "?"):
            shown = f"{mask.shape} {mask.dtype}" if isinstance(mask, np.ndarray) else quoted(mask)
            raise HeartsError(
                f"options: reset_mask is {shown}; give a NumPy array of shape ({self.num_envs},) "
                "and dtype bool"
            )
        if not mask.any():
            raise HeartsError("options: reset_mask is False everywhere; give True for each reset")
        if not self.arena.is_reset and not mask.all():
            raise HeartsError("options: reset_mask is incomplete at the first reset; omit it")
        return np.flatnonzero(mask)

    def step(self, actions: Array) -> tuple[Observation, Array, Array, Array, dict[str, Any]]:
        """Play one action per environment, and the opponents' up to the next decision.

        Args:
            actions: ``(num_envs,)`` whole numbers.

        Returns:
            Observations, rewards ``(num_envs,) float64``, terminated and truncated ``(num_envs,)
            bool``, and infos.

        Raises:
            HeartsError: if `actions` is not one whole number per environment.
            IllegalActionError: if a number is not an action of these rules or, under
                ``illegal_action="raise"``, is illegal now. Nothing is played.
        """
        if not self.arena.is_reset:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        stays = self._mode is not AutoresetMode.SAME_STEP
        waiting = np.flatnonzero(self.arena.over)  # none in SAME_STEP
        if len(waiting) and self._mode is AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(
                f"the episodes of environments {', '.join(map(str, waiting[:5]))}"
                f"{', ...' if len(waiting) > 5 else ''} are over; "
                'call reset(options={"reset_mask": terminated | truncated}) first'
            )
        rewards, done, finished = self.arena.step(actions)
        truncated = np.zeros(self.num_envs, np.bool_)
        if finished is not None:
            truncated[finished.games] = finished.truncated
        final: dict[str, Any] = {}
        if finished is not None and not stays:
            waiting = finished.games
            final = self._final(finished, done)
        if len(waiting):
            self.arena.begin(waiting)
        infos = self._infos() | final
        if finished is not None and stays:
            infos = self._with_results(infos, finished)
        return self.arena.observe(), rewards, done & ~truncated, truncated, infos

    def _infos(self) -> dict[str, Any]:
        infos = self._no_infos.copy()
        if self.arena.form.mask_in_info:
            infos["action_mask"] = self.arena.masks()
        infos["seat"] = self.arena.learner.copy()
        infos["opponent"] = self.arena.opponent.copy()
        return infos

    def _final(self, finished: Finished, done: Array) -> dict[str, Any]:
        """Return the SAME_STEP infos of ended episodes. Call it before the next episodes begin."""
        final = self._with_results(self._no_infos, finished)
        if self.arena.form.mask_in_info:
            final["action_mask"] = np.zeros((self.num_envs, self.rules.num_actions), np.int8)
        totals = {"r": self.arena.returns, "l": self.arena.lengths}
        totals = {name: np.where(done, own, np.zeros_like(own)) for name, own in totals.items()}
        final["episode"] = _with_masks(totals, done)
        for name in [name for name in final if name[0] != "_"]:
            final[f"_{name}"] = done.copy()
        return {
            "final_obs": self._last_observations(finished.games),
            "_final_obs": done.copy(),
            "final_info": final,
            "_final_info": done.copy(),
        }

    def _last_observations(self, games: Ints) -> Array:
        """Return an object array ``(num_envs,)`` of the last observations of `games`, else None."""
        observations = np.empty(self.num_envs, dtype=object)
        each = self.arena.form.split(self.arena.observe(games))
        observations[games] = np.fromiter(each, object, len(games))
        return observations

    def _with_results(self, infos: dict[str, Any], finished: Finished) -> dict[str, Any]:
        """Return a copy of `infos` with the results of the ended episodes."""
        results = infos.copy()
        for name, values in finished.facts.items():
            results[name] = infos[name].copy()
            results[name][finished.games] = values
        return results


def check_options(options: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Return the options of a reset, or {} if `options` is None.

    Raises:
        HeartsError: if `options` is not a mapping, or an option is not in `known`.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not set(options) <= set(known):
        raise HeartsError(
            f"options: {quoted(options)} are not options of many environments; "
            f"give {' or '.join(known)}, or make a single environment with gymnasium.make"
        )
    return options


def _check_mode(mode: object) -> AutoresetMode:
    """Return the ``AutoresetMode`` for a mode, its name or its value, in any case."""
    if isinstance(mode, AutoresetMode):
        return mode
    known = {m.value.lower(): m for m in AutoresetMode}
    word = mode.lower().replace("_", "") if isinstance(mode, str) else ""
    if word not in known:
        raise HeartsError(
            f"autoreset_mode: {quoted(mode)} is unknown; known: "
            f"{', '.join(m.name for m in AutoresetMode)}"
        )
    return known[word]


def _with_masks(facts: dict[str, Array], there: NDArray[np.bool_]) -> dict[str, Any]:
    """Return `facts`, each with the mask of the environments that have it, as Gymnasium does."""
    infos: dict[str, Any] = {}
    for name, values in facts.items():
        infos[name] = values
        infos[f"_{name}"] = there.copy()
    return infos
