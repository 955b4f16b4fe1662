"""One learner, opponents inside: Hearts as a Gymnasium environment."""

from __future__ import annotations

import copy
from typing import Any, SupportsFloat, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_agents.baselines import Baseline
from hearts_agents.envs.arena import (
    MAX_FORCED_DEALS,
    compiled,
    nothing_to_decide,
)
from hearts_agents.envs.arena_kernel import NUMBERS, OPPONENT, SEAT, draw, draw_place
from hearts_agents.envs.opponents import Opponent, OpponentPool, check_seat
from hearts_env import HeartsError, IllegalActionError, Rules
from hearts_env.envs.drawing import FPS, RENDER_MODES
from hearts_env.envs.infos import NOBODY, no_result, result_of
from hearts_env.envs.observations import Observation, ObservationFormat
from hearts_env.envs.options import TableOptions
from hearts_env.envs.rewards import ILLEGAL_REWARD
from hearts_env.game.game import Game
from hearts_env.hearts_v0 import raw_env
from hearts_env.kernel import write_mask
from hearts_env.seeds import episode_seed, secret_seed
from hearts_env.support.arguments import check_flag, check_seed
from hearts_env.support.keywords import takes


class HeartsEnv(gymnasium.Env[Observation, np.int64]):
    """A deal or a match against opponents: ``gymnasium.make("hearts_env/Hearts-v0")``.

    It wraps ``hearts_v0.raw_env``, which has the rules, rewards, options and drawing. A step plays
    the learner's action, then the opponents' actions up to the learner's next decision or the end
    of the episode. The reward is the sum of the learner's rewards during the step.

    Hearts is a trick-taking game in which points are bad: avoid hearts and the queen of spades.
    Action i plays, or passes, the card ``rules.deck[i]``. The observation is the encoder's array of
    everything that the learner may know. ``info["action_mask"]`` has a 1 for each legal action. The
    reward comes at the end of a deal: the opponents' mean score minus the learner's score, divided
    by ``rules.max_margin``. ``help("hearts_env.hearts_v0")`` explains the rules and everything
    else.

    ``info`` has the same keys with the same types after every reset and step:

    - ``action_mask`` (int8) and ``seat``
    - ``opponent``, the opponent's place in the list `opponent`, or -1 if the seats have different
      opponents
    - the result, zeros and -1 before the end: ``scores``, ``points``, ``shooter``, ``offender``;
      ``chips`` under rules that settle in chips, ``totals`` and ``winner`` in matches.

    The hand history is ``env.unwrapped.game.to_text()``. ``env.unwrapped.episode_seed`` is the
    episode's seed, which reveals every card.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": FPS}  # noqa: RUF012

    @takes(TableOptions, raw_env)
    def __init__(  # the others are in ``options``
        self,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        opponent: Any = "standard",
        seat: int | str = "random",
        skip_forced: bool = False,
        action_mask: str = "info",
        **options: Unpack[TableOptions],
    ) -> None:
        """Make an environment. Call ``reset`` first.

        Opponents with random numbers are reseeded for each episode.

        Args:
            rules: a preset's name, or any `Rules`.
            players: the number of players, for presets with several. If None, the usual number.
            opponent: a name, a checkpoint's path, an agent, a list of these, or an
                ``OpponentPool``. Each episode draws one for every seat except the learner's seat.
            seat: the learner's seat, or ``random``.
            skip_forced: if True, the environment plays the learner's forced actions, about a fifth
                of all, and adds up their rewards. Deals without any decision are skipped.
            episode: ``deal``, or ``match`` for deals until the end score.
            reward: a reward of ``hearts_v0``, paid to the learner.
            observation: an encoder or its name.
            dtype: the array's dtype: ``int8``, ``float32`` or ``float16``. If None, the encoder's
                own dtype.
            action_mask: the place of the mask: ``info``, ``observation`` or ``both``.
            illegal_action: how illegal actions are handled. ``terminate`` ends the episode with
                reward -1, ``raise`` raises and plays nothing, ``revoke`` ends the deal at the
                learner's expense.
            max_deals: the number of deals after which a match is truncated. If None, no limit.
            render_mode: ``ansi``, ``rgb_array``, ``human``, ``svg`` or None.
            render_for: the player whose view is drawn: a player's name, ``current_player``, which
                is always the learner here, or ``all`` for all cards.
            render_scale: the size of pictures relative to 960 x 720 pixels, 0.25 to 4.
            render_names: the players' names in pictures. If None, ``player_0`` and so on.

        Raises:
            HeartsError: if an argument is invalid. The message names it and the fix.
        """
        self.table = table = raw_env(
            rules,
            players,
            action_mask="info",  # added here: it is empty after `terminate`
            **options,
        )
        self.illegal_action = table.illegal_action
        if self.illegal_action == "terminate":
            table.illegal_action = "raise"  # `step` ends the episode
        self.rules = rules = table.rules
        self.render_mode = table.render_mode
        self.opponents = OpponentPool.of(opponent, rules)
        self.skip_forced = check_flag("skip_forced", skip_forced)
        self._seat_wanted = check_seat(rules, seat)
        self.seat = max(self._seat_wanted, 0)
        form = table.observation_format
        self.form = ObservationFormat(rules, form.encoder, form.dtype, action_mask)
        self.observation_space: spaces.Space[Any] = self.form.space()
        self.action_space = spaces.Discrete(rules.num_actions)
        self._first: int | None = None
        self._number = 0
        self.episode_seed: int | None = None
        self._shows_learner = table.drawer.shown_for == "current_player"
        self._cast: list[Opponent] = []
        self._compiled: list[Baseline | None] = []  # the compiled baselines of the cast
        self._is_over = True
        self._no_result = no_result(rules, is_match=table.episode == "match")
        self._arrays = [key for key, v in self._no_result.items() if isinstance(v, np.ndarray)]
        self._info: dict[str, Any] = {}  # copied for each step during an episode

    # -- the two commands -------------------------------------------------------------------------
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: determines the cards, the seat, the opponents and their random numbers, through
                ``episode_seed``. If None, the sequence of episodes that the last seed began goes
                on. If no seed was given before, the sequence is random.
            options: the options of ``hearts_v0``: ``deal``, ``deal_number``, ``dealer``, ``game``.
                In a given game, opponents play up to the learner's turn. If None, the cards are
                dealt from the seed.

        Returns:
            The observation and the info.

        Raises:
            HeartsError: if the seed, an option or a deal is invalid. The sequence of episodes is
                unchanged.
        """
        if seed is not None:
            seed = check_seed(seed)
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
        raise HeartsError("skip_forced: the learner has no decisions under these rules; omit it")

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
                entry.agent.reseed(self._opponents_seed(entry))
        self._compiled = [compiled(entry.agent, self.rules) for entry in self._cast]
        others = {int(place) for p, place in enumerate(places) if p != seat}
        opponent = np.int64(others.pop()) if len(others) == 1 else NOBODY
        self._info = {"seat": np.int64(seat), "opponent": opponent, **self._no_result}
        self._is_over = False
        self._carry = self._play_on()

    def step(
        self, action: int | np.int64
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play the learner's action, and the opponents' up to the learner's next decision.

        Returns:
            The observation, reward, terminated, truncated and info.

        Raises:
            IllegalActionError: if `action` is not an action of these rules or, under
                ``illegal_action="raise"``, is illegal now.
        """
        if self._is_over:
            raise gymnasium.error.ResetNeeded("the episode is over or has not begun; call reset")
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
        """The current deal, including hidden cards."""
        return self.table.game

    def action_masks(self) -> NDArray[np.int8]:
        """Return the learner's legal actions, a new array ``(n,) int8``, or zeros at the end."""
        masks = np.zeros(self.rules.num_actions, np.int8)
        if not self._is_over:
            write_mask(self.table.game.legal_mask, masks)
        return masks

    def render(self) -> Any:
        """Draw the game as ``hearts_v0`` does in this render mode."""
        return self.table.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.table.close()

    # -- helpers ----------------------------------------------------------------------------------
    __copy__ = copy.deepcopy

    def _play_on(self) -> float:
        """Play up to the learner's next decision or the end. Return the learner's rewards."""
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
            HeartsError: if the opponent raises an exception or acts illegally. The message names
                the opponent.
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
        """Return the learner's observation and info.

        Args:
            offender: the seat that ended the episode by an illegal action, or None.
        """
        table, mask = self.table, self.action_masks()
        array: Any = table.observe(table.possible_agents[self.seat])
        observation = self.form.join(array, mask)
        info: dict[str, Any] = {"action_mask": mask.copy()} if self.form.mask_in_info else {}
        info |= self._info
        if self._is_over:
            info |= result_of(table.game, table.match, offender=offender)
        for name in self._arrays:  # Gymnasium's checker wants new arrays in each info
            info[name] = info[name].copy()
        return observation, info

    def _opponents_seed(self, entry: Opponent) -> int:
        """Return an opponent's seed. Only compiled code gets one that reveals the episode seed."""
        assert self.episode_seed is not None
        if compiled(entry.agent, self.rules) is not None:
            return int(draw(self.episode_seed, NUMBERS)) >> 1  # as in the vector environment
        return secret_seed(self.episode_seed, "opponents")
