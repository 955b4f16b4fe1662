"""# Hearts

A trick-taking game for 2 to 7 players in which points are bad. The default is a game for two with
28 cards. Each player sees 13 of them, and two cards stay hidden to the end, so a player faces at
most 105 possible worlds. The other games of the rule book, including classic Hearts for four, are
other values of `rules`.

|                      |                                                                          |
|----------------------|--------------------------------------------------------------------------|
| Import               | `from hearts_env import hearts_v0`                                       |
| By name              | `pettingzoo.make("aec", "hearts_env/hearts-v0")`                         |
| Agents               | `agents = ["player_0", "player_1"]`; 2 to 7, depending on the rules      |
| Turns                | one agent at a time (AEC); the taker of a trick leads the next           |
| Parallel API         | `hearts_v0.parallel_env`, also with `noop=True`                          |
| Manual control       | no; `hearts play` on the command line                                    |
| Actions              | `Discrete(28)`: action i is the card `rules.deck[i]`                     |
| Observation          | `{"observation": Box, "action_mask": Box}`                               |
| Observation shape    | (200,) int8 in [0, 1]; depends on the encoder                            |
| Action mask          | (28,) int8                                                               |
| State                | (245,) float32, all cards open, for centralised critics                  |
| Episode              | one deal, or a whole match                                               |

## Rules

1. Take few points. Each heart counts 1 and the queen of spades 13, 20 in all.
2. The deck has 2, 4, 6, 8, 10, queen and ace of each suit. The ace is high. Each player is dealt
   13 cards. The last two stay face down.
3. The player with the lowest club in either hand leads it to the first trick.
4. Follow suit if you can. If not, play any card. The queen of spades must follow suit, except
   under two_player queen_any_time=true, where she may be played at any time.
5. Hearts are trump: the highest heart takes a trick. Without a heart, the highest card of the suit
   led takes it. The taker leads the next trick.
6. Hearts may not be led until they are broken, that is, until a player could not follow suit.
7. A player who holds only hearts and spades may still lead a heart, which breaks them.
8. The moon: a player who takes all point cards that are taken scores 0, and the opponent 20.
9. A deal ends after 13 tricks. The lower score wins.
10. A match is played deal by deal until a total reaches 100. The lower total wins. Another deal is
    played if both totals reach 100 in the same deal, and while they are equal.

Other presets differ. Games for three or more have no trump, and most of them pass cards before
play. `hearts rules` on the command line lists the presets.

## Actions

Action i plays the card `rules.deck[i]`. In games with an exchange, actions first choose the cards
to pass, one by one. These are the cards of the default game:

```
 0 2C    1 4C    2 6C    3 8C    4 TC    5 QC    6 AC
 7 2D    8 4D    9 6D   10 8D   11 TD   12 QD   13 AD
14 2S   15 4S   16 6S   17 8S   18 TS   19 QS   20 AS
21 2H   22 4H   23 6H   24 8H   25 TH   26 QH   27 AH
```

Under `moon="choose"` there are two more actions, for the player who has shot the moon: `len(deck)`
subtracts the points from the player's score, and `len(deck) + 1` adds them to all other scores.

## Observations

An encoder writes everything that the agent may know as an array. The default, `flat`, is a row of
zeros and ones in blocks: the hand, the trick, the cards that each player has played and taken, and
the cards still out. `action_mask` has a 1 for each legal action. It is all zeros while
another agent acts: that agent's mask would reveal its hand. An illegal action ends the episode with
-1 for that agent and 0 for the others, unless `illegal_action` says otherwise.

## Rewards

A *margin* is the others' mean score minus one's own, in one deal. Low scores win, so a positive
margin is good.

| `reward` | amount | when | zero-sum |
|---|---|---|---|
| `margin` | the margin, divided by `rules.max_margin`: in [-1, 1] | at the end of each deal | yes |
| `points` | minus one's own score | at the end of each deal | no |
| `trick` | as `margin` in total | after each trick; corrected for a moon at the end | yes |
| `win` | the winners split +1, the losers split -1; 0 if all tie | at the episode's end | yes |
| `chips` | chips won; only under rules in chips | at the end of each deal | yes, except pools |

## Infos

Infos have the same keys and types after every reset and step. Values that are known only at the end
of a deal are zeros or -1 until then.

| key | type | during the deal | after it |
|---|---|---|---|
| `action_mask` | int8 (n,) | the mask, as in the observation | zeros |
| `scores` | int64 (players,) | zeros | the score of each seat, moon included |
| `points` | int64 (players,) | zeros | the points of the cards that each seat took |
| `shooter` | int64 | -1 | the seat that shot the moon, or -1 |
| `offender` | int64 | -1 | the seat that ended it by an illegal action, or -1 |
| `chips` | float64 (players,) | zeros | the chips that each seat won; only under rules in chips |
| `totals` | float64 (players,) | zeros | the points or chips of each seat; only in matches |
| `winner` | int64 | -1 | the seat that has won the match, or -1; only in matches |

`env.unwrapped.game.to_text()` is the hand history.

## Arguments

```
hearts_v0.env(rules="two_player", players=None, episode="deal", reward="margin",
              observation="flat", dtype=None, action_mask="both", illegal_action="terminate",
              max_deals=None, render_mode=None, render_for="current_player", render_scale=1.0,
              render_names=None)
```

`help(hearts_v0.raw_env)` describes each of them. `raw_env` takes the same arguments and has no
wrapper that enforces the order of calls. `parallel_env` also takes `noop`.

## Version history

| version | change |
|---|---|
| `hearts_v0` | first |
"""  # noqa: D415  # a heading, as on PettingZoo's pages

from __future__ import annotations

import copy
import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger

from hearts_env import kernel as k
from hearts_env.encoders import Encoder
from hearts_env.envs.drawing import FPS, RENDER_MODES, Drawer
from hearts_env.envs.infos import no_result, read_only, result_of
from hearts_env.envs.interfaces import OrderEnforcing, ParallelHearts
from hearts_env.envs.observations import DType, Observation, ObservationFormat
from hearts_env.envs.options import EPISODES, ILLEGAL_ACTIONS, TableOptions, begin
from hearts_env.envs.rewards import ILLEGAL_REWARD, Rewarder
from hearts_env.envs.writers import make_writer
from hearts_env.game.game import Game
from hearts_env.game.match import Match
from hearts_env.game.state import FloatArray, encode_state, state_space
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.arguments import action_number, check_choice, check_max_deals, check_seed
from hearts_env.support.errors import HeartsError, IllegalActionError, did_you_mean, quoted
from hearts_env.support.jit import DirectCall
from hearts_env.support.keywords import takes

_write_mask = DirectCall(k.write_mask)


class raw_env(AECEnv):  # type: ignore[misc]  # PettingZoo's name for it
    """One deal, or one match, of Hearts with PettingZoo's AEC API.

    It does the work of PettingZoo's wrappers itself, many times faster. It rejects actions outside
    the action space and ends the episode at an illegal action. It never writes to an array that it
    has returned.

    Attributes:
        rules: the rules.
        match: the `Match` that ``game`` belongs to, or None in deal episodes. Read both or clone
            them for search, but play only through ``step``.
        episode_seed: the seed of this episode, or None before the first ``reset``.
            ``Game.deal(rules, env.episode_seed)`` deals the same cards.
        encoder: the encoder, which writes the array of an observation.
        observation_format: the dtype of that array and the place of the mask.
        episode: ``deal`` or ``match``.
        illegal_action: how illegal actions are handled.
        max_deals: the most deals of a match, or None.
        possible_agents: the names of all seats. ``agents`` are those still in the episode.
        agent_selection: the acting agent.
        rewards: each agent's reward for the last step, current after every ``reset`` and ``step``,
            as are ``terminations`` and ``truncations``.
        infos: each agent's info, which ``last`` also returns, current after every ``reset`` and
            ``step``. An entry that you add to it stays until the agent's next action or the end of
            the deal. All arrays are read-only except the acting agent's mask, which all callers
            share until the next step. PettingZoo's ``api_test`` requires that mask to be writeable.
            No rule reads it.
        state_space: the space of ``state()``.
        action_spaces: each agent's action space.
        observation_spaces: each agent's observation space.
        drawer: draws the table and owns the window. Its ``mode`` and ``shown_for`` may be changed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # as PettingZoo has it
        "name": "hearts_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": FPS,
    }

    @takes()
    def __init__(
        self,
        rules: str | Rules = "two_player",
        players: int | None = None,
        *,
        episode: str = "deal",
        reward: str = "margin",
        observation: str | Encoder = "flat",
        dtype: DType = None,
        action_mask: str = "both",
        illegal_action: str = "terminate",
        max_deals: int | None = None,
        render_mode: str | None = None,
        render_for: str = "current_player",
        render_scale: float = 1.0,
        render_names: Sequence[str] | None = None,
    ) -> None:
        """Prepare an environment. ``reset`` begins its first episode.

        Args:
            rules: a preset's name, or any `Rules`.
            players: the number of players, for presets with several. If None, the preset's default.
            episode: ``deal`` for one deal, ``match`` for deals until the end score.
            reward: ``margin``, ``points``, ``trick``, ``win`` or, under rules that settle in chips,
                ``chips`` (see `Rewarder`).
            observation: an encoder or its name.
            dtype: the dtype of the encoder's array: ``int8``, ``float32`` or ``float16``. If None,
                the encoder's own, which is int8 for most.
            action_mask: the place of the mask. ``observation``: observations are dictionaries of
                the array and the mask. ``info``: observations are the array alone, and infos have
                the mask. ``both``: observations are dictionaries, and infos have the mask too.
            illegal_action: how illegal actions are handled. ``terminate``: the episode ends with
                -1 for the agent. ``raise``: an error is raised and nothing is played. ``revoke``:
                the deal ends at the agent's expense.
            max_deals: the number of deals after which a match is truncated. If None, no limit.
            render_mode: ``ansi``, ``rgb_array``, ``human``, ``svg`` or None.
            render_for: the player whose view is drawn: a name like ``player_0``,
                ``current_player``, or ``all`` for all cards.
            render_scale: the size of pictures relative to 960 x 720 pixels, 0.25 to 4.
            render_names: the players' names in pictures. If None, ``player_0`` and so on.

        Raises:
            HeartsError: if an argument is invalid. The message names it and the fix.
        """
        self.rules = rules = Rules.make(rules, players)
        self.episode = check_choice("episode", episode, EPISODES)
        self._rewarder = Rewarder(rules, reward, episode=episode)
        self._pays_early = self._rewarder.pays_tricks or episode == "match"  # before the end
        self.observation_format = form = ObservationFormat(rules, observation, dtype, action_mask)
        self.illegal_action = check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS)
        self.max_deals = check_max_deals(max_deals, episode)
        self.drawer = Drawer(rules, render_mode, render_for, render_scale, render_names)
        self.possible_agents = [f"player_{seat}" for seat in range(rules.players)]
        self.agents = self.possible_agents[:]
        self.encoder = form.encoder
        self.state_space = state_space(rules)
        self.action_spaces = {a: spaces.Discrete(rules.num_actions) for a in self.agents}
        self.observation_spaces = {agent: form.space() for agent in self.agents}
        self.match: Match | None = None
        self.episode_seed: int | None = None
        self.agent_selection = ""  # no one before the first reset
        self._seats = {agent: seat for seat, agent in enumerate(self.agents)}
        self._writer = make_writer(rules, form)
        self._stream: tuple[int, int] | None = None  # the last seed given, and resets since then
        self._game: Game | None = None
        self._totals: list[int | Fraction] | None = None  # before this deal of a match
        self._offender: int | None = None  # the seat that ended it by an illegal action
        self._next_observation: Observation | None = None  # written by `step`
        self._no_mask = read_only(np.zeros(rules.num_actions, np.int8))
        self._no_result = self._masked(no_result(rules, is_match=episode == "match"))
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, dict[str, Any]] = {}

    # -- spaces -----------------------------------------------------------------------------------
    def observation_space(self, agent: str) -> spaces.Dict | spaces.Box:
        """Return ``Dict(observation=Box, action_mask=Box)``, or the first box alone.

        Under ``action_mask="info"`` the space is the first box alone.
        """
        return self.observation_spaces[self._agent_of(agent)]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return ``Discrete(n)``: the deck, and two more actions under ``moon="choose"``."""
        return self.action_spaces[self._agent_of(agent)]

    def _agent_of(self, agent: object) -> str:
        if not isinstance(agent, str) or agent not in self._seats:
            raise HeartsError(
                f"agent: {quoted(agent)} is unknown; {did_you_mean(agent, self._seats)}"
            )
        return agent

    # -- reading ----------------------------------------------------------------------------------
    @property
    def game(self) -> Game:
        """The current or last deal, all cards open."""
        if self._game is None:
            raise HeartsError("game: nothing has been dealt; call reset() first")
        return self._game

    @property
    def is_over(self) -> bool:
        """True before the first episode and once the episode has ended. No agent is to act then."""
        agent = self.agent_selection
        return self.terminations.get(agent, True) or self.truncations[agent]

    def observe(self, agent: str) -> Observation:
        """Return the observation of `agent`, during and after the episode."""
        ready = self._next_observation
        if ready is not None and agent is self.agent_selection:
            self._next_observation = None  # a second call gets new arrays
            return ready
        game, seat = self.game, self._seats[self._agent_of(agent)]
        mask = np.zeros(self.rules.num_actions, np.int8)
        if agent == self.agent_selection and not self.is_over:
            _write_mask.call(game.legal_mask, mask)
        return self._writer.observe(game.vector, seat, mask)

    def last(
        self,
        observe: bool = True,  # noqa: FBT001, FBT002  # as PettingZoo has it
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return the acting agent's observation, reward, termination, truncation and info.

        The reward is the sum since the agent's last action.

        Args:
            observe: if False, the observation is None.

        Raises:
            HeartsError: if no agent is to act: before the first ``reset``, and after the end of the
                last agent.
        """
        if self._game is None or not self.agents:
            raise HeartsError("last: no agent is to act; call reset() to start an episode")
        agent = self.agent_selection
        observation = None
        if observe:
            observation, self._next_observation = self._next_observation, None
            if observation is None:
                observation = self.observe(agent)
        return (
            observation,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def state(self) -> FloatArray:
        """Return the perfect-information array. ``game.state.state_blocks`` lists its parts."""
        pool = 0 if self.match is None else self.match.pool
        return encode_state(self.game, self._totals, pool)

    # -- reset ------------------------------------------------------------------------------------
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode.

        Args:
            seed: the seed of the episode, which plays ``Game.deal(rules, seed)`` or
                ``Match(rules, seed)``. If None, the next seed of the stream that the last given
                seed began, or of a random stream if none was given.
            options: ``deal`` (``{"hands": ..., "kitty": ...}``, a hand history or a `Game`),
                ``deal_number`` and ``dealer``. Or ``game``, a `Game` of the same rules, which the
                episode continues from any point. The game itself is not changed. If None, the seed
                decides.

        Raises:
            HeartsError: if the seed, an option or the deal is invalid. Nothing has changed.
        """
        if seed is not None:
            first, drawn = check_seed(seed), 0
        elif self._stream is not None:
            first, drawn = self._stream[0], self._stream[1] + 1
        else:
            first, drawn = secrets.randbits(63), 0
        episode_seed = derived_seed(first, drawn) if drawn else first
        match, game = begin(
            self.rules,
            episode_seed,
            options,
            is_match=self.episode == "match",
            max_deals=self.max_deals,
        )
        self._stream = first, drawn
        self.episode_seed, self.match = episode_seed, match
        self._rewarder.reset(game)
        agents = self.possible_agents
        self.agents = agents[:]
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos = {agent: self._no_result.copy() for agent in agents}
        self._offender = None
        self._begin_deal(game)
        if self.render_mode == "human":
            self.render()

    def _begin_deal(self, game: Game) -> None:
        """Begin a deal of the episode."""
        assert game.current_player is not None
        self._game = game
        self._totals = None if self.match is None else list(self.match.totals)
        self.agent_selection = agent = self.possible_agents[game.current_player]
        self._next_observation = None
        if self.observation_format.mask_in_info:
            self.infos[agent]["action_mask"] = np.zeros(self.rules.num_actions, np.int8)
            _write_mask.call(game.legal_mask, self.infos[agent]["action_mask"])

    # -- play -------------------------------------------------------------------------------------
    def step(self, action: int | None) -> None:
        """Play an action of the acting agent.

        Args:
            action: an action, or None if the agent's episode is over.

        Raises:
            IllegalActionError: if it is not a number of the action space, or it is illegal under
                ``illegal_action="raise"``. Nothing has changed.
        """
        game = self._game
        if game is None:
            raise HeartsError("step: nothing has been dealt; call reset() first")
        agent = self.agent_selection
        if self.terminations.get(agent, True) or self.truncations[agent]:
            self._step_dead(agent, action)
            return
        number: int = action if action.__class__ is int else action_number(action)
        try:
            status, mask, observation = self._writer.step(game.vector, number)
        except OverflowError:  # a number beyond 64 bits
            raise IllegalActionError(game.why_illegal(number)) from None
        if status < 0:
            self._answer_illegal(agent, game, number)
        else:
            seat = game._advance(number, status)
            self.infos[agent] = self._no_result.copy()
            if seat < 0:
                self._end_deal(agent, game)
            else:
                self.agent_selection = acting = self.possible_agents[seat]
                self._next_observation = observation
                if self.observation_format.mask_in_info:
                    self.infos[acting]["action_mask"] = mask
                if self._pays_early:
                    self._forget_rewards(agent)
                    self._pay(self._rewarder.step(game))
        if self.drawer.mode == "human":
            self.render()

    def _answer_illegal(self, agent: str, game: Game, number: int) -> None:
        """Handle an illegal action of `agent` as ``illegal_action`` says."""
        if self.illegal_action == "raise" or not 0 <= number < self.rules.num_actions:
            raise IllegalActionError(game.why_illegal(number))
        if self.illegal_action == "revoke":
            game.revoke()
            self._end_deal(agent, game)
            return
        EnvLogger.warn_on_illegal_move()
        self._offender = self._seats[agent]
        self._forget_rewards(agent)
        self._pay([ILLEGAL_REWARD if other == agent else 0.0 for other in self.agents])
        self._stop(game, self.terminations)

    def _forget_rewards(self, agent: str) -> None:
        """Clear the rewards of the last step, and the sum of `agent` since its last action."""
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards[agent] = 0.0

    def _pay(self, rewards: list[float] | None) -> None:
        """Add one reward per seat. If `rewards` is None, do nothing."""
        if rewards is not None:
            for agent, reward in zip(self.possible_agents, rewards, strict=True):
                self.rewards[agent] += reward
                self._cumulative_rewards[agent] += reward

    def _end_deal(self, agent: str, game: Game) -> None:
        """Pay for the deal that `agent` has ended, then begin the next deal or end the episode."""
        self._forget_rewards(agent)
        self._pay(self._rewarder.step(game))
        match = self.match
        if match is None:
            self._stop(game, self.terminations)
            return
        match._finish_deal()
        self._pay(self._rewarder.deal_end(match.last_net))
        if match.is_over or match.num_deals == self.max_deals:
            self._pay(self._rewarder.episode_end(match.totals))
            self._stop(game, self.terminations if match.is_over else self.truncations)
        else:
            self._give_result(game)
            self._begin_deal(match.game)

    def _stop(self, game: Game, ends: dict[str, bool]) -> None:
        """End the episode for all agents. Each is selected once more for its last observation."""
        ends.update(dict.fromkeys(self.agents, True))
        self._give_result(game)
        self._next_observation = None
        self.agent_selection = self.agents[0]

    def _give_result(self, game: Game) -> None:
        """Write the deal's result to the infos of all agents."""
        result = self._masked(result_of(game, self.match, offender=self._offender))
        for agent in self.possible_agents:
            self.infos[agent] = result.copy()

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return `info` with an empty mask, if infos have masks."""
        if not self.observation_format.mask_in_info:
            return info
        return {"action_mask": self._no_mask, **info}

    def _step_dead(self, agent: str, action: int | None) -> None:
        """Remove an agent whose episode is over."""
        if not self.agents:
            raise IllegalActionError("action: the episode is over; call reset() to start another")
        if action is not None:
            raise IllegalActionError(
                f"action: {quoted(action)}, but the episode is over for {agent}; give None"
            )
        self.agents.remove(agent)
        for kept in (self._cumulative_rewards, self.terminations, self.truncations, self.infos):
            del kept[agent]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if self.agents:
            self.agent_selection = self.agents[0]

    # -- drawing ----------------------------------------------------------------------------------
    def render(self) -> str | NDArray[np.uint8] | None:
        """Draw the table as ``render_for`` may see it, in the environment's ``render_mode``.

        Returns:
            Text (``ansi``), an SVG document (``svg``), an array ``(height, width, 3) uint8``
            (``rgb_array``), or None: ``human`` updates a window, and no mode draws nothing.
        """
        return self.drawer.draw(
            self.game, totals=self._totals, offender=self._offender, is_over=self.is_over
        )

    @property
    def render_mode(self) -> str | None:
        """One of ``drawing.RENDER_MODES``, or None. It may be changed."""
        return self.drawer.mode

    @render_mode.setter
    def render_mode(self, mode: str | None) -> None:
        self.drawer.mode = mode

    def close(self) -> None:
        """Close the window, if one is open."""
        self.drawer.close()

    # -- copies -----------------------------------------------------------------------------------
    __copy__ = copy.deepcopy

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._no_mask = read_only(self._no_mask)  # NumPy makes writeable copies
        acting = None if self.is_over else self.infos[self.agent_selection]
        for info in (self._no_result, *self.infos.values()):
            for key in self._no_result.keys() & info.keys():
                is_own_mask = info is acting and key == "action_mask"
                if isinstance(info[key], np.ndarray) and not is_own_mask:
                    info[key] = read_only(info[key])


@takes(TableOptions, raw_env)
def env(
    rules: str | Rules = "two_player",
    players: int | None = None,
    *,
    action_mask: str = "both",
    **options: Unpack[TableOptions],
) -> OrderEnforcing:
    """Return `raw_env` in PettingZoo's wrapper that enforces the order of calls.

    The arguments are those of `raw_env`.
    """
    return OrderEnforcing(raw_env(rules, players, action_mask=action_mask, **options))


@takes(TableOptions, raw_env)
def parallel_env(
    rules: str | Rules = "two_player",
    players: int | None = None,
    *,
    noop: bool = False,
    action_mask: str = "both",
    **options: Unpack[TableOptions],
) -> ParallelHearts:
    """Return `raw_env` with PettingZoo's parallel API. One agent acts per step.

    PettingZoo's own ``aec_to_parallel`` needs a fixed order of agents. In Hearts the taker of a
    trick leads the next.

    The arguments are those of `raw_env`, and `noop`: if True, there is one more action, the only
    legal one for agents that wait, so no mask is empty.
    """
    table = raw_env(rules, players, action_mask=action_mask, **options)
    return ParallelHearts(table, noop=noop)
