"""stable-baselines3's vector environment, over the same compiled batch.

Needs the extra ``train``. No other module of this package imports stable-baselines3.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from hearts_agents.envs.arena import (
    Arena,
    Finished,
    ManyLearners,
    check_env_seed,
    check_options,
)
from hearts_agents.envs.gym_env import HeartsEnv
from hearts_env import HeartsError, Rules
from hearts_env.encoders import Encoder
from hearts_env.envs.observations import DType
from hearts_env.support.arguments import check_any_seed, check_choice
from hearts_env.support.arrays import Array


class HeartsSB3VecEnv(ManyLearners, VecEnv):
    """Many episodes with one learner each, for stable-baselines3 and sb3-contrib.

    ::

        envs = HeartsSB3VecEnv(num_envs=512, opponent="standard_trump")
        model = MaskablePPO("MlpPolicy", envs)

    The next episode begins in the step that ends one, as stable-baselines3 expects. Only then
    ``infos[i]`` has ``terminal_observation`` and ``episode`` (``r``, ``l``, ``t``). All other keys
    are always there with the same types: the keys of ``HeartsEnv``'s info, and
    ``TimeLimit.truncated``. ``action_mask`` always belongs to the returned observation.
    """

    def __init__(  # noqa: D417  # the others are those of HeartsEnv
        self,
        num_envs: int = 1,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        num_threads: int = 1,
        seed: int | None = None,
        opponent: Any = "standard",
        seat: int | str = "random",
        skip_forced: bool = False,
        episode: str = "deal",
        reward: str = "margin",
        observation: str | Encoder = "flat",
        dtype: DType = None,
        action_mask: str = "info",
        illegal_action: str = "terminate",
        max_deals: int | None = None,
        render_mode: str | None = None,
        render_for: str = "current_player",
        render_scale: float = 1.0,
        render_names: Sequence[str] | None = None,
    ) -> None:
        """Make the environments. Call ``reset`` first.

        All arguments not listed here are those of `HeartsEnv`.

        Args:
            num_envs: the number of environments.
            num_threads: the number of threads for the opponents.
            seed: the seed of the first environment. The others count up from it. If None, random.
                A later ``seed(n)``, which models call, takes effect at the next reset.
            render_mode: ``rgb_array`` for ``render()`` to draw the first environment, as
                ``VecVideoRecorder`` expects, or None.

        Raises:
            HeartsError: if an argument is invalid. The message names it and the fix.
        """
        self.arena = Arena(
            num_envs,
            num_threads,
            rules,
            players,
            opponent=opponent,
            seat=seat,
            skip_forced=skip_forced,
            episode=episode,
            reward=reward,
            observation=observation,
            dtype=dtype,
            action_mask=action_mask,
            illegal_action=illegal_action,
            max_deals=max_deals,
            render_mode=render_mode,
            render_for=render_for,
            render_scale=render_scale,
            render_names=render_names,
        )
        self.rules = self.arena.rules
        self.render_mode = self.arena.drawer.mode
        if self.render_mode is not None:
            check_choice("render_mode", self.render_mode, ("rgb_array",))
        self._actions: Array | None = None
        self._infos: list[dict[str, Any]] = []
        self._start = time.time()
        super().__init__(
            self.arena.num_envs, self.arena.space, spaces.Discrete(self.rules.num_actions)
        )
        self.metadata["render_fps"] = HeartsEnv.metadata["render_fps"]
        self._share_infos()
        if seed is not None:
            self.seed(seed)
        self._random = np.random.default_rng(None if seed is None else check_env_seed(seed))

    def reset(self) -> Any:
        """Begin new episodes in all environments. Return the observations.

        Call ``set_options({"game": game})`` first, or with a list of such dictionaries, for
        episodes that continue from a given `Game`.
        """
        given = [check_options(options, ("game",)).get("game") for options in self._options]
        seeds = None if None in self._seeds else self._seeds
        self.arena.reset(seeds, self._random, given=given)
        self._reset_seeds()
        self._reset_options()
        self._infos = self._first_infos(np.arange(self.num_envs))
        self.reset_infos = [info.copy() for info in self._infos]
        self._add_masks(self.reset_infos)
        return self.arena.observe()

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the first environment's seed at the next reset. If None, it is random."""
        return super().seed(None if seed is None else check_any_seed(seed))

    def step_async(self, actions: Array) -> None:
        """Store the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Play the stored actions.

        Returns:
            Observations, rewards ``(num_envs,) float32``, dones ``(num_envs,) bool``, and a list of
            infos.

        Raises:
            HeartsError: if there are no actions, or they are not one whole number per environment.
            IllegalActionError: if one is not an action of these rules or, under
                ``illegal_action="raise"``, is illegal now. Nothing is played.
        """
        if self._actions is None or not self.arena.is_reset:
            raise HeartsError("step: there are no actions; call reset and step_async first")
        actions, self._actions = self._actions, None
        rewards, done, finished = self.arena.step(actions)
        infos = [info.copy() for info in self._infos]  # wrappers write to them
        if finished is not None:
            self._add_final(infos, finished)
            games = finished.games
            self.arena.begin(games)
            for game, info in zip(games.tolist(), self._first_infos(games), strict=True):
                self._infos[game] = info
        self._add_masks(infos)
        return self.arena.observe(), rewards.astype(np.float32), done, infos

    def _share_infos(self) -> None:
        """Make the read-only values that all infos share during episodes."""
        self._no_info = {"TimeLimit.truncated": False, **self.arena.no_facts()}

    def _first_infos(self, games: Array) -> list[dict[str, Any]]:
        """Return the infos of some environments for the time until their episodes end."""
        drawn = zip(self.arena.learner[games], self.arena.opponent[games], strict=True)
        return [{**self._no_info, "seat": seat, "opponent": place} for seat, place in drawn]

    __copy__ = copy.deepcopy

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share_infos()
        self._infos = self._first_infos(np.arange(self.num_envs)) if self.arena.is_reset else []

    def _add_masks(self, infos: list[dict[str, Any]]) -> None:
        """Add the masks of the current observations."""
        if not self.arena.form.mask_in_info:
            return
        for info, mask in zip(infos, self.arena.masks(), strict=True):
            info["action_mask"] = mask

    def _add_final(self, infos: list[dict[str, Any]], finished: Finished) -> None:
        now, games = round(time.time() - self._start, 6), finished.games
        names = list(finished.facts)
        rows = zip(
            games.tolist(),
            self.arena.form.split(self.arena.observe(games)),
            self.arena.returns[games].tolist(),
            self.arena.lengths[games].tolist(),
            finished.truncated.tolist(),
            zip(*finished.facts.values(), strict=True),
            strict=True,
        )
        for game, last, total, length, truncated, facts in rows:
            infos[game] = {
                "terminal_observation": last,
                "episode": {"r": total, "l": length, "t": now},
                "TimeLimit.truncated": truncated,
                **dict(zip(names, facts, strict=True)),
            }

    def close(self) -> None:
        """Do nothing, as no resource is held."""

    # -- attributes of single environments, for models --------------------------------------------
    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of each environment. All environments share them.

        Raises:
            AttributeError: if there is none of this name.
        """
        if attr_name not in ("action_masks", "opponents") and attr_name not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {attr_name!r}")
        value = getattr(self, attr_name)
        return [value for _ in self._places(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all environments.

        Raises:
            HeartsError: if `indices` does not name all environments: they share attributes.
        """
        if indices is not None and len(self._places(indices)) != self.num_envs:
            raise HeartsError(f"{attr_name}: all environments share it; omit indices")
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call ``action_masks`` in each environment, for sb3-contrib.

        Raises:
            AttributeError: for any other method.
        """
        if method_name != "action_masks" or method_args or method_kwargs:
            raise AttributeError(f"{type(self).__name__}: environments have no {method_name!r}")
        masks = self.arena.masks()
        return list(masks if indices is None else masks[self._places(indices)])

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each environment, but True for ``Monitor``, which is built in."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor for _ in self._places(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a picture of the first environment, or None for each without a render mode."""
        if self.render_mode is None:
            return [None] * self.num_envs
        if not self.arena.is_reset:
            raise HeartsError("render: there is no game yet; call reset first")
        batch, learner = self.arena.batch, int(self.arena.learner[0])
        frame = self.arena.drawer.draw(batch.game(0), mover=learner)
        assert isinstance(frame, np.ndarray)
        return [frame]

    def _places(self, indices: int | Iterable[int] | None) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else list(indices)
