"""The game, its states and its observers as OpenSpiel asks for them; the one user of ``pyspiel``.

OpenSpiel copies a state by ``copy.deepcopy`` of its attributes, and writes it by ``pickle``. So a
state has one attribute, a `Dealt`, which is replaced and never changed, so that copies share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel

from hearts_env.batch.views import BatchView
from hearts_env.game.game import Game
from hearts_env.openspiel.setup import NAME, PARAMETERS, Setup
from hearts_env.solve.beliefs import Policy, check_policy
from hearts_env.support.arrays import Floats
from hearts_env.support.errors import HeartsError
from hearts_env.views.view import PlayerView

_CHANCE, _TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)
_Utility, _Payment = pyspiel.GameType.Utility, pyspiel.GameType.RewardModel


def _kind(setup: Setup | None) -> Any:
    """The type of a game; of all of them, as they are registered, where none is given."""
    players = setup.rules.players if setup else None
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Hearts of hearts-env" + (f": {setup.rules.name}" if setup else ""),
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=_Utility.ZERO_SUM if setup is None or setup.is_zero_sum else _Utility.GENERAL_SUM,
        reward_model=_Payment.REWARDS if setup and setup.reward == "trick" else _Payment.TERMINAL,
        max_num_players=players or 7,
        min_num_players=players or 2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=dict(PARAMETERS),
    )


def _size(setup: Setup) -> Any:
    """How large a game is, and between what its returns lie."""
    low, high = setup.bounds
    outcomes = len(setup.rules.deck) if setup.chance == "cards" else len(setup.deals)
    return pyspiel.GameInfo(
        num_distinct_actions=setup.rules.num_actions,
        max_chance_outcomes=max(outcomes, len(setup.tables)),
        num_players=setup.rules.players,
        min_utility=low,
        max_utility=high,
        utility_sum=0.0 if setup.is_zero_sum else None,
        max_game_length=setup.longest,
    )


class HeartsGame(pyspiel.Game):  # type: ignore[misc]
    """One deal of Hearts; ``game.setup.rules`` are its rules."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """A game of these parameters, `PARAMETERS` for those not given.

        Raises:
            HeartsError: if one cannot be used; the message names it and the fix.
        """
        self.setup = setup = Setup(params or {})
        self.first = Dealt(setup, 0 if len(setup.tables) == 1 else -1)
        super().__init__(_kind(setup), _size(setup), setup.parameters)

    def new_initial_state(self, text: str | None = None) -> HeartsState:
        """The state before the first chance node."""
        if text is not None:
            raise HeartsError(f"{NAME}: no states are made from text; apply actions to the first")
        return HeartsState(self)

    def max_chance_nodes_in_history(self) -> int:
        """The most chance nodes of a deal."""
        setup = self.setup
        return (len(setup.tables) > 1) + (setup.num_dealt if setup.chance == "cards" else 1)

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None
    ) -> Observer | None:
        """What is observed: all that a player knows, only what all know, or only its own cards.

        With perfect recall the first is the player's information state.

        Returns:
            The observer; None, as OpenSpiel has it, where nothing is to be observed, or the cards
            of all players.

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
        is_own = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        if is_own and kind.public_info:
            return KnownObserver(self.setup, is_recall=kind.perfect_recall)
        if is_own:
            return PrivateObserver(self.setup, is_recall=kind.perfect_recall)
        if kind.public_info and kind.private_info == pyspiel.PrivateInfoType.NONE:
            return PublicObserver(self.setup)
        return None


class Dealt(NamedTuple):
    """How far chance has dealt and the players have played; never changed in place."""

    setup: Setup
    table: int
    """Which of ``setup.tables`` it is; -1: not chosen yet."""
    cards: tuple[int, ...] = ()
    """Dealt one by one so far, seat by seat."""
    hearts: Game | None = None
    """The deal as it stands, once all is dealt."""
    before: tuple[float, ...] = ()
    """What each player had earned before the last action, where tricks are paid."""

    def __deepcopy__(self, memo: object) -> Dealt:
        return self


class HeartsState(pyspiel.State):  # type: ignore[misc]
    """A position: chance has dealt so far, or the players have played so far."""

    def __init__(self, game: HeartsGame) -> None:
        super().__init__(game)
        self._now = game.first

    @property
    def hearts(self) -> Game | None:
        """The deal as it stands, not to be played on; None before its last card is dealt."""
        return self._now.hearts

    @property
    def table(self) -> int:
        """Which of ``setup.tables`` the deal is played at; -1: not chosen yet."""
        return self._now.table

    # -- turns ------------------------------------------------------------------------------------
    def current_player(self) -> int:
        """The seat whose turn it is, or chance, or nobody."""
        hearts = self._now.hearts
        if hearts is None:
            return _CHANCE
        player = hearts.current_player
        return _TERMINAL if player is None else player

    def is_terminal(self) -> bool:
        """Whether the deal is over."""
        hearts = self._now.hearts
        return hearts is not None and hearts.is_over

    def _legal_actions(self, player: int) -> list[int]:
        assert self._now.hearts is not None
        return self._now.hearts.legal_actions()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """What chance may do now, all equally likely: tables, deals or cards."""
        setup, table, cards, *_ = self._now
        if table < 0:
            actions = list(range(len(setup.tables)))
        elif setup.chance == "deals":
            return setup.even_chances
        else:
            actions = [card for card in range(len(setup.rules.deck)) if card not in cards]
        return [(action, 1 / len(actions)) for action in actions]

    def _apply_action(self, action: int) -> None:
        action, now = int(action), self._now
        setup, hearts, cards = now.setup, now.hearts, (*now.cards, action)
        if hearts is not None:
            after = hearts.clone()
            after.play(action)
            before = tuple(setup.returns(hearts)) if setup.reward == "trick" else ()
            self._now = now._replace(hearts=after, before=before)
        elif now.table < 0:
            self._now = now._replace(table=action)
        elif setup.chance == "deals":
            self._now = now._replace(hearts=setup.start(setup.deals[action], now.table))
        elif len(cards) < setup.num_dealt:
            self._now = now._replace(cards=cards)
        else:
            self._now = now._replace(hearts=setup.start(setup.deal_of(cards), now.table))

    # -- results ----------------------------------------------------------------------------------
    def returns(self) -> list[float]:
        """What each player has earned so far."""
        hearts, setup = self._now.hearts, self._now.setup
        return [0.0] * setup.rules.players if hearts is None else setup.returns(hearts)

    def rewards(self) -> list[float]:
        """What each player has earned by the last action."""
        before = self._now.before or (0.0,) * self._now.setup.rules.players
        return [new - old for new, old in zip(self.returns(), before, strict=True)]

    # -- what is seen -----------------------------------------------------------------------------
    def resample_from_infostate(
        self, player: int, sampler: Callable[[], float] | None = None
    ) -> HeartsState:
        """Another state that `player` cannot tell from this one, drawn uniformly from all of them.

        Args:
            player: who cannot.
            sampler: draws numbers from 0 to below 1, like ``pyspiel.UniformProbabilitySampler``.
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
        if setup.chance == "cards":
            return rules.deck[action]
        return "deal " + " | ".join(" ".join(hand) for hand in setup.hands_of(setup.deals[action]))

    def __str__(self) -> str:
        setup, table, cards, hearts, _ = self._now
        if hearts is not None:
            return hearts.to_text()
        dealt = " ".join(setup.rules.deck[card] for card in cards)
        return f"table {table}, dealt: {dealt or 'nothing'}"


def state_of(game: Any, hearts: Game) -> HeartsState:
    """``hearts_env.openspiel.state_of``, for games that are ours."""
    setup: Setup = game.setup
    state: HeartsState = game.new_initial_state()
    for action in [*setup.chance_actions(hearts), *hearts.actions]:
        state.apply_action(action)
    return state


class Observer:
    """What is observed of a state, as OpenSpiel asks for it: a flat array, its parts, and text."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        sizes = {name: math.prod(shape) for name, shape in shapes.items()}
        self.tensor = np.zeros(sum(sizes.values()), np.float32)
        ends = np.cumsum([*sizes.values()])[:-1]
        parts = zip(shapes.items(), np.split(self.tensor, ends), strict=True)
        self.dict = {name: part.reshape(shape) for (name, shape), part in parts}

    def set_from(self, state: HeartsState, player: int) -> None:
        """Write what is observed in `state` over ``tensor``, in place; zeros before the deal."""
        self.tensor.fill(0)
        if state.hearts is not None:
            self._write(state, state.hearts.view(player))

    def string_from(self, state: HeartsState, player: int) -> str:
        """What is observed in `state`, in words and cards."""
        if state.hearts is None:
            return self._undealt.format(player)
        return self._text(state, state.hearts.view(player))

    _undealt = "player {}; not dealt"

    def _write(self, state: HeartsState, view: PlayerView) -> None:
        raise NotImplementedError

    def _text(self, state: HeartsState, view: PlayerView) -> str:
        raise NotImplementedError


class KnownObserver(Observer):
    """All that one player knows: its information state, or with less memory its observation.

    An information state begins with who it is: in what encoders write seats are relative to the
    player, and two players' states must not be taken for each other.
    """

    def __init__(self, setup: Setup, *, is_recall: bool) -> None:
        self._encoder = setup.informer if is_recall else setup.observer
        space = self._encoder.space(setup.rules)
        self._out = np.zeros(space.shape, space.dtype)
        self._is_recall = is_recall
        self._name = "information_state" if is_recall else "observation"
        who = {"player": (setup.rules.players,)} if is_recall else {}
        super().__init__({**who, self._name: space.shape})

    def set_from(self, state: HeartsState, player: int) -> None:
        """Write what `player` knows in `state` over ``tensor``, in place."""
        super().set_from(state, player)
        if self._is_recall:
            self.dict["player"][player] = 1

    def _write(self, state: HeartsState, view: PlayerView) -> None:
        self._encoder.write(view, self._out)
        self.dict[self._name][...] = self._out

    def _text(self, state: HeartsState, view: PlayerView) -> str:
        return view.key() if self._is_recall else view.to_text()


class PublicObserver(Observer):
    """What everybody knows, whoever asks: which deal it is, who is to act, every card played.

    Nothing of it is ever forgotten, so that it is the same with perfect recall.
    """

    _undealt = "not dealt"

    def __init__(self, setup: Setup) -> None:
        rules, self._setup = setup.rules, setup
        places, seats, cards = rules.players * rules.hand_size, rules.players, len(rules.deck)
        super().__init__(
            {"table": (len(setup.tables),), "to_act": (seats,), "history": (places, seats + cards)}
        )

    def _write(self, state: HeartsState, view: PlayerView) -> None:
        rules = view.rules
        self.dict["table"][state.table] = 1
        if view.current_player is not None:
            self.dict["to_act"][view.current_player] = 1
        for row, (seat, card) in zip(self.dict["history"], view.history, strict=False):
            row[[seat, rules.players + rules.index[card]]] = 1

    def _text(self, state: HeartsState, view: PlayerView) -> str:
        return view.public_key()


class PrivateObserver(Observer):
    """A player's own cards: its hand, with perfect recall as dealt, and what it passed and got."""

    def __init__(self, setup: Setup, *, is_recall: bool) -> None:
        self._is_recall = is_recall
        parts = ["hand", "passed", "received"] if setup.rules.pass_count else ["hand"]
        super().__init__(dict.fromkeys(parts, (len(setup.rules.deck),)))

    def _cards(self, state: HeartsState, view: PlayerView) -> dict[str, tuple[str, ...]]:
        assert state.hearts is not None
        hand = state.hearts.start().hand(view.player) if self._is_recall else view.hand
        own = {"hand": hand, "passed": view.passed, "received": view.received}
        return {name: own[name] for name in self.dict}

    def _write(self, state: HeartsState, view: PlayerView) -> None:
        for name, cards in self._cards(state, view).items():
            self.dict[name][[view.rules.index[card] for card in cards]] = 1

    def _text(self, state: HeartsState, view: PlayerView) -> str:
        cards = self._cards(state, view).items()
        return "; ".join((f"player {view.player}", *(" ".join((n, *own)) for n, own in cards)))


class ViewPolicy(spiel.Policy):  # type: ignore[misc]
    """A policy of OpenSpiel that does what a policy does in views; each choice is asked once."""

    def __init__(self, game: HeartsGame, policy: Policy) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._policy = policy
        self._known: dict[str, dict[int, float]] = {}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """The probability of each legal action in a state, by action.

        Raises:
            HeartsError: if the policy gives no probabilities, or the cards are not dealt yet.
        """
        if state.hearts is None:
            raise HeartsError("state: the cards are not dealt yet; ask where a player is to act")
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
    """A function of views that does what a policy of OpenSpiel does; each view is asked once."""
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
