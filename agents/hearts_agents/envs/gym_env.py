"""One learner, opponents inside: Hearts as a Gymnasium environment."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_agents.baselines import Baseline
from hearts_agents.envs.arena import (
    MAX_FORCED_DEALS,
    check_env_seed,
    compiled,
    nothing_to_decide,
)
from hearts_agents.envs.arena_kernel import NUMBERS, OPPONENT, SEAT, draw, draw_place
from hearts_agents.envs.opponents import Opponent, OpponentPool, check_seat
from hearts_env import HeartsError, IllegalActionError, Rules
from hearts_env.encoders import Encoder
from hearts_env.envs.drawing import FPS, RENDER_MODES
from hearts_env.envs.infos import NOBODY, no_result, result_of
from hearts_env.envs.observations import DType, Observation, ObservationFormat
from hearts_env.envs.options import ILLEGAL_ACTIONS
from hearts_env.envs.rewards import ILLEGAL_REWARD
from hearts_env.game.game import Game
from hearts_env.hearts_v0 import raw_env
from hearts_env.kernel import write_mask
from hearts_env.seeds import episode_seed, secret_seed
from hearts_env.support.arguments import check_choice, check_flag


class HeartsEnv(gymnasium.Env[Observation, np.int64]):
    """A deal, or a match, against opponents: ``gymnasium.make("hearts_env/Hearts-v0")``.

    A wrapper of ``hearts_v0.raw_env``, which has the rules, rewards, options and drawing. A step
    plays the learner's action and then the opponents' up to the learner's next decision or the end
    of the episode; the reward is the sum of what the learner got meanwhile, so nothing is lost.

    Hearts is a game of tricks in which points are bad: take few hearts, and not the queen of
    spades. Action i plays, or passes, the card ``rules.deck[i]``. The observation is what the
    encoder makes of all that the learner may know; ``info["action_mask"]`` has a 1 for each card
    that is legal now. The reward comes at the end of a deal: the opponents' mean score less the
    learner's, divided by ``rules.max_margin``. ``help("hearts_env.hearts_v0")`` has the rules of
    the game and the rest of what there is to know.

    ``info`` has the same keys with the same types after every reset and step: ``action_mask``
    (int8), ``seat``, ``opponent`` (its position in the list `opponent`, -1 where the opponents of
    several seats differ), and of the result ``scores``, ``points``, ``shooter`` and ``offender``,
    under rules that settle in chips ``chips``, in matches ``totals`` and ``winner``. The results
    are zeros and -1 before the end. The hand history is ``env.unwrapped.game.to_text()``. The seed
    of the episode, which reveals every card, is ``env.unwrapped.episode_seed``.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": FPS}  # noqa: RUF012

    def __init__(
        self,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
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
        """An environment that waits for its first ``reset``.

        Opponents that have a ``reseed`` method are reseeded for each episode.

        Args:
            rules: a preset's name, or any `Rules`.
            players: how many, where the preset leaves it open.
            opponent: a name, a checkpoint's path, an agent, a list or an ``OpponentPool``. One is
                drawn for every seat but the learner's at the start of each episode.
            seat: the learner's, or ``random``.
            skip_forced: play decisions with a single legal action without asking the learner,
                about a fifth of all; rewards add up. A deal without any decision is passed over.
            episode: ``deal``, or ``match``: deals until the end score.
            reward: as ``hearts_v0`` pays it, to the learner.
            observation: an encoder or its name.
            dtype: of the encoder's array: ``int8``, ``float32`` or ``float16``. If None, the
                encoder's own.
            action_mask: where the mask is: ``info``, ``observation`` or ``both``.
            illegal_action: ``terminate``: the episode ends with -1; ``raise``: an error, and
                nothing is played; ``revoke``: the deal ends at the learner's expense.
            max_deals: a match is cut off (truncated) after this many deals.
            render_mode: ``ansi``, ``rgb_array``, ``human``, ``svg`` or None.
            render_for: whose cards are shown: a player's name, ``all``, or ``current_player``: the
                learner, also while an opponent is to act.
            render_scale: of pictures and the window, as a multiple of 960 x 720; 0.25 to 4.
            render_names: the players' names in pictures. If None, ``player_0`` and so on.

        Raises:
            HeartsError: if an argument is invalid; the message names it and the fix.
        """
        self.illegal_action = check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS)
        self.table = raw_env(
            rules,
            players,
            episode=episode,
            reward=reward,
            observation=observation,
            dtype=dtype,
            action_mask="info",  # added here: who ended the episode here has none
            illegal_action="revoke" if illegal_action == "revoke" else "raise",
            max_deals=max_deals,
            render_mode=render_mode,
            render_for=render_for,
            render_scale=render_scale,
            render_names=render_names,
        )
        self.rules = rules = self.table.rules
        self.render_mode = self.table.render_mode
        self.opponents = OpponentPool.of(opponent, rules)
        self.skip_forced = check_flag("skip_forced", skip_forced)
        self._seat_wanted = check_seat(rules, seat)
        self.seat = max(self._seat_wanted, 0)
        self.form = ObservationFormat(rules, observation, dtype, action_mask)
        self.observation_space: spaces.Space[Any] = self.form.space()
        self.action_space = spaces.Discrete(rules.num_actions)
        self._first: int | None = None
        self._number = 0
        self.episode_seed: int | None = None
        self._shows_learner = self.table.drawer.shown_for == "current_player"
        self._cast: list[Opponent] = []
        self._compiled: list[Baseline | None] = []  # of the cast, those that need no view
        self._is_over = True
        self._no_result = no_result(rules, is_match=episode == "match")
        self._arrays = [key for key, v in self._no_result.items() if isinstance(v, np.ndarray)]
        self._info: dict[str, Any] = {}  # what the infos of an episode under way are copied from

    # -- the two commands -------------------------------------------------------------------------
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: cards, seat, opponents and their random numbers follow from it (the deal is that
                of ``episode_seed``); None: the next episode in the sequence of the last seed.
            options: those of ``hearts_v0``: ``deal``, ``deal_number``, ``dealer``, ``game``. Where
                others are to act in a given game, they play up to the learner's turn.

        Raises:
            HeartsError: if the seed, an option or a deal is invalid; the sequence stays as it was.
        """
        if seed is not None:
            seed = check_env_seed(seed)
        super().reset(seed=seed)
        if seed is not None:
            first, number = seed, 0
        elif self._first is None:
            first, number = int(self.np_random.integers(2**63 - 1)), 0
        else:
            first, number = self._first, self._number + 1
        is_given = isinstance(options, dict) and options.get("game") is not None
        for _ in range(MAX_FORCED_DEALS):
            self._begin(int(episode_seed(first, number)), options)
            if not self._is_over:
                self._first, self._number = first, number
                return self._shown()
            if is_given and self._seat_wanted >= 0:
                raise nothing_to_decide()
            number += 1  # only with skip_forced, or in a given game for another seat
        if is_given:
            raise nothing_to_decide()
        raise HeartsError("skip_forced: there is nothing left to decide; omit it")

    def _begin(self, seed: int, options: dict[str, Any] | None) -> None:
        players = self.rules.players
        seat = int(draw(seed, SEAT)) % players if self._seat_wanted < 0 else self._seat_wanted
        drawer = self.table.drawer
        shown_for = drawer.shown_for
        if self._shows_learner:
            drawer.shown_for = self.table.possible_agents[seat]
        try:
            self.table.reset(seed=seed, options=options)
        except Exception:
            drawer.shown_for = shown_for
            raise
        self.seat, self.episode_seed = seat, seed
        chances, entries = self.opponents.cumulative, self.opponents.entries
        places = [draw_place(seed, OPPONENT + p, chances) for p in range(players)]
        self._cast = [entries[place] for place in places]
        for place, entry in enumerate(self._cast):
            if place != seat:
                entry.agent.reseed(self._numbers_for(entry))
        self._compiled = [compiled(entry.agent, self.rules) for entry in self._cast]
        others = {int(place) for p, place in enumerate(places) if p != seat}
        opponent = np.int64(others.pop()) if len(others) == 1 else NOBODY
        self._info = {"seat": np.int64(seat), "opponent": opponent, **self._no_result}
        self._is_over = False
        self._carry = self._play_on()

    def step(
        self, action: int | np.int64
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play the learner's action, and everything up to its next decision.

        Raises:
            IllegalActionError: if `action` is not an action of these rules at all or, under
                ``illegal_action="raise"``, is not legal now.
        """
        if self._is_over:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset")
        table = self.table
        game = table.game
        number = action if action.__class__ is int else game.rules.action_number(action)
        if not game.legal_mask >> max(number, 0) & 1 and self.illegal_action == "terminate":
            if not 0 <= number < self.rules.num_actions:
                raise IllegalActionError(game.why_illegal(number))
            self._is_over = True
            observation, info = self._shown(offender=self.seat)
            return observation, ILLEGAL_REWARD, True, False, info
        table.step(number)
        agent = table.possible_agents[self.seat]
        reward = self._carry + table.rewards[agent]
        self._carry = 0.0
        self._is_over = table.terminations[agent] or table.truncations[agent]
        reward += self._play_on()
        observation, info = self._shown()
        return (
            observation,
            float(reward),
            bool(table.terminations[agent]),
            bool(table.truncations[agent]),
            info,
        )

    # -- reading ----------------------------------------------------------------------------------
    @property
    def game(self) -> Game:
        """The deal being played, hidden cards included: for search and baselines."""
        return self.table.game

    def action_masks(self) -> NDArray[np.int8]:
        """Return the learner's legal actions, a new array (n,) int8; all zero at the end."""
        masks = np.zeros(self.rules.num_actions, np.int8)
        if not self._is_over:
            write_mask(self.table.game.legal_mask, masks)
        return masks

    def render(self) -> Any:
        """The game, as ``hearts_v0`` draws it in this render mode."""
        return self.table.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.table.close()

    # -- helpers ----------------------------------------------------------------------------------
    __copy__ = copy.deepcopy

    def _play_on(self) -> float:
        """Play up to the learner's next decision or the end; returns the learner's rewards."""
        table, reward = self.table, 0.0
        agent = table.possible_agents[self.seat]
        while not self._is_over:
            game = table.game
            player = game.current_player
            assert player is not None
            legal = game.legal_mask
            if player == self.seat:
                if not self.skip_forced or legal & (legal - 1):
                    break
                action = legal.bit_length() - 1
            else:
                action = self._opponents_action(game, player)
            table.step(action)
            reward += table.rewards[agent]
            self._is_over = table.terminations[agent] or table.truncations[agent]
        return reward

    def _opponents_action(self, game: Game, player: int) -> int:
        """Return the action of the opponent in seat `player`.

        Raises:
            HeartsError: its own, or if the action is not legal; the message names the opponent.
        """
        entry, baseline = self._cast[player], self._compiled[player]
        try:
            if baseline is not None:
                return baseline.act_state(self.rules, game.vector, player)
            action = entry.agent.act(game.view(player))
            if action.__class__ is not int:
                action = game.rules.action_number(action)
        except HeartsError as error:
            raise type(error)(f"opponent {entry.name!r}: {error}") from None
        if not (0 <= action < self.rules.num_actions and game.legal_mask >> action & 1):
            raise IllegalActionError(f"opponent {entry.name!r}: {game.why_illegal(action)}")
        return action

    def _shown(self, *, offender: int | None = None) -> tuple[Observation, dict[str, Any]]:
        """The learner's observation and info; `offender` ended the episode by an illegal action."""
        table, mask = self.table, self.action_masks()
        array: Any = table.observe(table.possible_agents[self.seat])
        observation = self.form.join(array, mask)
        info: dict[str, Any] = {"action_mask": mask.copy()} if self.form.mask_in_info else {}
        info |= self._info
        if self._is_over:
            info |= result_of(table.game, table.match, offender=offender)
        for name in self._arrays:  # infos share none, as Gymnasium's checker wants it
            info[name] = info[name].copy()
        return observation, info

    def _numbers_for(self, entry: Opponent) -> int:
        """An opponent's seed; only from that of compiled code can the episode's be computed."""
        assert self.episode_seed is not None
        if compiled(entry.agent, self.rules) is not None:
            return int(draw(self.episode_seed, NUMBERS)) >> 1  # as in the vector environment
        return secret_seed(self.episode_seed, "opponents")
