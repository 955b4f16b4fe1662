"""The game, its states and its observers for OpenSpiel. Only this module imports ``pyspiel``.

OpenSpiel copies a state by ``copy.deepcopy`` of its attributes, and saves it by ``pickle``. So a
state has one attribute, a `Dealt`, which is replaced and never changed. Copies share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel

from hearts_env.batch.views import BatchView
from hearts_env.game.game import Game
from hearts_env.openspiel.setup import NAME, PARAMETERS, Setup
from hearts_env.solve.policies import Policy, check_policy
from hearts_env.support.arrays import Floats
from hearts_env.support.errors import HeartsError
from hearts_env.views.view import PlayerView

_CHANCE, _TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


def _kind(setup: Setup | None) -> Any:
    """Return the type of a game. If `setup` is None, the registered type of all games."""
    players = setup.rules.players if setup else None
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Hearts of hearts-env" + (f": {setup.rules.name}" if setup else ""),
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=players or 7,
        min_num_players=players or 2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=False,
        parameter_specification=dict(PARAMETERS),
    )


def _size(setup: Setup) -> Any:
    """Return the size of a game and the bounds of its returns."""
    return pyspiel.GameInfo(
        num_distinct_actions=setup.rules.num_actions,
        max_chance_outcomes=max(setup.rules.players + 1, len(setup.tables)),
        num_players=setup.rules.players,
        min_utility=-1.0,
        max_utility=1.0,
        utility_sum=0.0,
        max_game_length=setup.longest,
    )


class HeartsGame(pyspiel.Game):  # type: ignore[misc]
    """One deal of Hearts. ``game.setup.rules`` has its rules."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """Make a game with these parameters. `PARAMETERS` has the defaults.

        Raises:
            HeartsError: if a parameter is invalid. The message names it and the fix.
        """
        self.setup = setup = Setup(params or {})
        self.first = Dealt(setup, 0 if len(setup.tables) == 1 else -1)
        super().__init__(_kind(setup), _size(setup), setup.parameters)

    def new_initial_state(self, text: str | None = None) -> HeartsState:
        """Return the state before the first chance node."""
        if text is not None:
            raise HeartsError(
                f"{NAME}: states cannot be made from text; apply actions to the initial state"
            )
        return HeartsState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return the number of chance nodes in a deal."""
        return (len(self.setup.tables) > 1) + len(self.setup.rules.deck)

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None
    ) -> Observer | None:
        """Return an observer of a player's observation or, with perfect recall, information state.

        Returns:
            The observer, or None for any other part of a state, as OpenSpiel expects.

        Raises:
            HeartsError: if there are parameters.
        """
        if isinstance(iig_obs_type, Mapping):  # called with parameters alone
            iig_obs_type, params = None, iig_obs_type
        if params:
            raise HeartsError(
                f"params: observers of {NAME} take none; choose the encoder by the game's "
                "parameters observation and information_state"
            )
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return Observer(self.setup, is_recall=kind.perfect_recall)


class Dealt(NamedTuple):
    """The progress of the deal and of the play. It is never changed in place."""

    setup: Setup
    table: int
    """The place in ``setup.tables``, or -1 until it is chosen."""
    owners: tuple[int, ...] = ()
    """The owner of each card dealt so far: a seat, or the number of players for the kitty."""
    hearts: Game | None = None
    """The deal, once all cards are dealt."""

    def __deepcopy__(self, memo: object) -> Dealt:
        return self


class HeartsState(pyspiel.State):  # type: ignore[misc]
    """A position during the deal or the play."""

    def __init__(self, game: HeartsGame) -> None:
        super().__init__(game)
        self._now = game.first

    @property
    def hearts(self) -> Game | None:
        """The deal, or None before all cards are dealt. Do not play on it."""
        return self._now.hearts

    # -- turns ------------------------------------------------------------------------------------
    def current_player(self) -> int:
        """Return the acting seat, or OpenSpiel's number for chance or a terminal state."""
        hearts = self._now.hearts
        if hearts is None:
            return _CHANCE
        player = hearts.current_player
        return _TERMINAL if player is None else player

    def is_terminal(self) -> bool:
        """Return whether the deal is over."""
        hearts = self._now.hearts
        return hearts is not None and hearts.is_over

    def _legal_actions(self, player: int) -> list[int]:
        assert self._now.hearts is not None
        return self._now.hearts.legal_actions()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the tables, or the next card's possible owners, with their probabilities.

        The deck is dealt card by card, so each deal has one history, and all are equally likely.
        """
        setup, table, owners, _ = self._now
        if table < 0:
            return [(place, 1 / len(setup.tables)) for place in range(len(setup.tables))]
        return setup.dealing_chances(owners)

    def _apply_action(self, action: int) -> None:
        action, now = int(action), self._now
        setup, hearts, owners = now.setup, now.hearts, (*now.owners, action)
        if hearts is not None:
            after = hearts.clone()
            after.play(action)
            self._now = now._replace(hearts=after)
        elif now.table < 0:
            self._now = now._replace(table=action)
        elif len(owners) < len(setup.rules.deck):
            self._now = now._replace(owners=owners)
        else:
            self._now = now._replace(hearts=setup.start(owners, now.table))

    # -- results ----------------------------------------------------------------------------------
    def returns(self) -> list[float]:
        """Return each player's return, or zeros before the end."""
        hearts, setup = self._now.hearts, self._now.setup
        return [0.0] * setup.rules.players if hearts is None else setup.returns(hearts)

    # -- observations -----------------------------------------------------------------------------
    def resample_from_infostate(
        self, player: int, sampler: Callable[[], float] | None = None
    ) -> HeartsState:
        """Draw a state uniformly from all that `player` cannot distinguish from this one.

        Args:
            player: the player.
            sampler: draws numbers in [0, 1), like ``pyspiel.UniformProbabilitySampler``. If None, a
                new NumPy generator.
        """
        if self._now.hearts is None:
            other: HeartsState = self.clone()
            return other
        draw = sampler or np.random.default_rng().random
        seed = int(draw() * 2**53)
        view = self._now.hearts.view(int(player))
        (world,) = view.sample_worlds(1, seed)
        return state_of(self.get_game(), Game.from_view(view, world, seed))

    # -- text -------------------------------------------------------------------------------------
    def _action_to_string(self, player: int, action: int) -> str:
        setup, rules = self._now.setup, self._now.setup.rules
        if player != _CHANCE:
            return rules.action_name(int(action))
        if self._now.table < 0:
            number, dealer = setup.tables[action]
            return f"deal {number} by {dealer}"
        owner = "the kitty" if action == rules.players else f"player {action}"
        return f"{rules.deck[len(self._now.owners)]} to {owner}"

    def __str__(self) -> str:
        setup, table, owners, hearts = self._now
        if hearts is not None:
            return hearts.to_text()
        dealt = [f"{card}:{owner}" for card, owner in zip(setup.rules.deck, owners, strict=False)]
        return f"table {table}, dealt: {' '.join(dealt) or 'nothing'}"


def state_of(game: Any, hearts: Game) -> HeartsState:
    """Return the state of a deal (see ``hearts_env.openspiel.state_of``)."""
    setup: Setup = game.setup
    state: HeartsState = game.new_initial_state()
    for action in [*setup.chance_actions(hearts), *hearts.actions]:
        state.apply_action(action)
    return state


class Observer:
    """One player's observation or information state, as a flat array, its parts, and text.

    An information state begins with the player's seat. Encoders write seats relative to the player,
    but the information states of two players must differ.
    """

    def __init__(self, setup: Setup, *, is_recall: bool) -> None:
        self._encoder = setup.informer if is_recall else setup.observer
        self._is_recall = is_recall
        space = self._encoder.space(setup.rules)
        self._seen = np.zeros(space.shape, space.dtype)
        seats = setup.rules.players if is_recall else 0
        self.tensor = np.zeros(seats + self._seen.size, np.float32)
        self._name = "information_state" if is_recall else "observation"
        self.dict = {"player": self.tensor[:seats]} if is_recall else {}
        self.dict[self._name] = self.tensor[seats:].reshape(space.shape)

    def set_from(self, state: HeartsState, player: int) -> None:
        """Write the view of `player` into ``tensor``, in place, or zeros before the deal."""
        self.tensor.fill(0)
        if state.hearts is not None:
            self._encoder.write(state.hearts.view(player), self._seen)
            self.dict[self._name][...] = self._seen
        if self._is_recall:
            self.dict["player"][player] = 1

    def string_from(self, state: HeartsState, player: int) -> str:
        """Return the view of `player` as text."""
        if state.hearts is None:
            return f"player {player}; not dealt"
        view = state.hearts.view(player)
        return view.key() if self._is_recall else view.to_text()


class ViewPolicy(spiel.Policy):  # type: ignore[misc]
    """An OpenSpiel policy made from a function of views, called once per view."""

    def __init__(self, game: HeartsGame, policy: Policy) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._policy = policy
        self._known: dict[str, dict[int, float]] = {}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """Return the probability of each legal action, by action.

        Raises:
            HeartsError: if the policy gives no probabilities, or the cards are not dealt yet.
        """
        if state.hearts is None:
            raise HeartsError(
                "state: the cards are not dealt yet; give a state in which a player is to act"
            )
        player = state.current_player() if player_id is None else player_id
        view = state.hearts.view(player)
        legal = view.legal_actions()
        if len(legal) == 1:
            return {legal[0]: 1.0}
        key = view.key()
        if key not in self._known:
            views = BatchView.of([view])
            chances = check_policy(self._policy(views), views.legal_table)[0]
            self._known[key] = {a: float(chances[a]) for a in legal}
        return dict(self._known[key])


def chances_in_views(game: HeartsGame, policy: Any) -> Policy:
    """Return a function of views made from an OpenSpiel policy, called once per view."""
    known: dict[str, Floats] = {}

    def ask(view: PlayerView) -> Floats:
        (world,) = view.sample_worlds(1, seed=0)
        state = state_of(game, Game.from_view(view, world))
        chances = np.zeros(view.rules.num_actions)
        for action, chance in policy.action_probabilities(state, view.player).items():
            chances[action] = chance
        return chances

    def chances(views: BatchView) -> Floats:
        table = np.zeros((len(views), views.rules.num_actions))
        for row, view in enumerate(views):
            key = view.key()
            if key not in known:
                known[key] = ask(view)
            table[row] = known[key]
        return table

    return chances


pyspiel.register_game(_kind(None), HeartsGame)
