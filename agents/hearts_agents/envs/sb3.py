"""stable-baselines3's vector environment, over Gymnasium's (``vector``).

Needs the extra ``train``. No other module of this package imports stable-baselines3.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from hearts_agents.envs.arena import Arena, ArenaOptions, Finished
from hearts_agents.envs.vector import HeartsVectorEnv, check_options
from hearts_env import HeartsError, Rules
from hearts_env.support.arguments import check_seed, listed
from hearts_env.support.arrays import Array
from hearts_env.support.keywords import takes


class HeartsSB3VecEnv(VecEnv):
    """`HeartsVectorEnv` for stable-baselines3 and sb3-contrib.

    ::

        envs = HeartsSB3VecEnv(num_envs=512, opponent="standard_trump")
        model = MaskablePPO("MlpPolicy", envs)

    The next episode begins in the step that ends one, as stable-baselines3 expects. In that step
    ``infos[i]`` also has ``terminal_observation`` and ``episode`` (``r``, ``l``, ``t``). All other
    keys are always there with the same types: the keys of ``HeartsEnv``'s info, and
    ``TimeLimit.truncated``. ``action_mask`` always belongs to the returned observation.
    """

    @takes(ArenaOptions, Arena)
    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        seed: int | None = None,
        **options: Unpack[ArenaOptions],
    ) -> None:
        """Make the environments. Call ``reset`` first.

        Args:
            num_envs: the number of environments.
            rules: a preset's name, or any `Rules`.
            players: the number of players, for presets with several. If None, the preset's default.
            seed: the seed of the first environment, from which the others count up. If None, the
                seeds are random. A later ``seed(n)``, which models call, takes effect at the next
                reset.
            **options: all other arguments of `HeartsVectorEnv` except ``autoreset_mode`` and
                ``render_mode``.

        Raises:
            HeartsError: if an argument is invalid. The message names it and the fix.
        """
        self.vector = HeartsVectorEnv(
            num_envs, rules, players, autoreset_mode=AutoresetMode.SAME_STEP, **options
        )
        self.arena, self.rules = self.vector.arena, self.vector.rules
        self.opponents = self.vector.opponents
        self.render_mode = None
        self._actions: Array | None = None
        self._no_info = {"TimeLimit.truncated": False, **self.arena.no_facts()}
        self._infos: list[dict[str, Any]] = []  # copied for each step during an episode
        self._start = time.time()
        super().__init__(
            self.vector.num_envs,
            self.vector.single_observation_space,
            self.vector.single_action_space,
        )
        if seed is not None:
            self.seed(seed)

    def reset(self) -> Any:
        """Begin new episodes in all environments. Return the observations."""
        games = [options.get("game") for options in self._options]
        observations, _ = self.vector.reset(seed=self._seeds[0], options={"game": games})
        self._reset_seeds()
        self._reset_options()
        self._infos = self._first_infos(np.arange(self.num_envs))
        self.reset_infos = [info.copy() for info in self._infos]
        self._add_masks(self.reset_infos)
        return observations

    def set_options(self, options: Any = None) -> None:
        """Set the options of the next reset.

        Args:
            options: ``{"game": game}``, for episodes that continue from a `Game`, or a list of such
                dictionaries, one per environment. If None, no options.

        Raises:
            HeartsError: if an option is unknown, or a list has another length.
        """
        each = [options] * self.num_envs if listed(options) is None else options
        if len(each) != self.num_envs:
            raise HeartsError(
                f"options: {len(each)} for {self.num_envs} environments; give one each, or one dict"
            )
        self._options = [dict(check_options(one, ("game",))) for one in each]

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the first environment's seed at the next reset. If None, the seed is random."""
        return super().seed(None if seed is None else check_seed(seed))

    def action_masks(self) -> NDArray[np.int8]:
        """Return each learner's legal actions, a new array ``(num_envs, n) int8``."""
        return self.vector.action_masks()

    def step_async(self, actions: Array) -> None:
        """Store the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Play the stored actions.

        Returns:
            Observations, rewards ``(num_envs,) float32``, dones ``(num_envs,) bool``, and a list of
            infos.

        Raises:
            HeartsError: if no actions are stored, or they are not one whole number per environment.
            IllegalActionError: if a number is not an action of these rules or, under
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

    def _first_infos(self, games: Array) -> list[dict[str, Any]]:
        """Return the infos of environments in mid-episode, before their masks are added."""
        drawn = zip(self.arena.learner[games], self.arena.opponent[games], strict=True)
        return [{**self._no_info, "seat": seat, "opponent": place} for seat, place in drawn]

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

    __copy__ = copy.deepcopy

    # -- attributes of single environments, for models --------------------------------------------
    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute once per environment. All environments share their attributes.

        Raises:
            AttributeError: if there is no attribute of this name.
        """
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise, because environments have no attributes of their own."""
        raise AttributeError(f"{attr_name}: environments share all attributes; set it on this one")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call ``action_masks`` in each environment, for sb3-contrib.

        Raises:
            AttributeError: if `method_name` is any other method.
        """
        if method_name != "action_masks":
            raise AttributeError(f"{type(self).__name__}: environments have no {method_name!r}")
        masks = self.action_masks()
        return [masks[place] for place in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each environment, but True for ``Monitor``, which is built in."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor for _ in self._get_indices(indices)]
