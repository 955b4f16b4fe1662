"""Players: any object with ``act(view)``. ``Agent`` also answers many views at once."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hearts_agents.user_code import blamed
from hearts_env import HeartsError, IllegalActionError, PlayerView, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve.policies import certain
from hearts_env.support.arguments import check_any_seed, check_is
from hearts_env.support.errors import quoted

Actions = NDArray[np.int64]
Probs = NDArray[np.float64]
WorldMargins = tuple[NDArray[np.float64], NDArray[np.float64], bool]
"""Margins ``(worlds, legal cards)``, weights ``(worlds,)``, and True if worlds were left out."""


@runtime_checkable
class Player(Protocol):
    """The minimum interface of a player."""

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""


class Agent:
    """Base class of players. An agent sees only views. It remembers only its random numbers.

    Subclass it and implement ``act``. Override ``act_batch`` too if it can make many decisions
    faster at once than one by one.
    """

    name: str = ""
    plays: str = "every game"
    """The rules that it can play, in words for people. ``check_rules`` decides."""

    def check_rules(self, rules: Rules) -> None:
        """Raise if this player cannot play `rules`, before the deal. The default accepts all.

        Raises:
            HeartsError: if it cannot play them. The message says which rules it plays.
        """

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        raise NotImplementedError

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``.

        The default calls ``act`` for each view.
        """
        check_views(views)
        rules, rows = views.rules, range(len(views))
        actions = (_action_number(self, rules, self.act(views[row])) for row in rows)
        return np.fromiter(actions, np.int64, len(views))

    def action_probs(self, views: BatchView) -> Probs:
        """Return the probability of each action, ``(len(views), num_actions) float64``.

        This is the player's behaviour strategy. The default gives probability 1 to the choice of
        ``act_batch``, which is right for deterministic players. Others should override it.

        Raises:
            HeartsError: if the choice is illegal.
        """
        check_views(views)
        name = f"agent: {self.name or type(self).__name__}"
        return certain(np.asarray(self.act_batch(views)), views.legal_table, name)

    def digest_parts(self, rules: Rules | None = None) -> Iterable[bytes] | None:
        """Return the bytes that the agent's digest covers, such as weights, or None.

        Args:
            rules: the rules to play, which may need only a part of the content. If None, return all
                of it.
        """
        return None

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`, in place. Does nothing if there are none."""

    def close(self) -> None:
        """Stop everything that the agent has started, such as a program.

        The agent starts it again at its next decision.
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def _action_number(agent: Agent, rules: Rules, given: object) -> int:
    """Return an agent's action as a number, or raise an IllegalActionError that names the agent."""
    try:
        return rules.action_number(given)
    except IllegalActionError as error:
        reason = str(error).removeprefix("action: ")
        name = agent.name or type(agent).__name__
        raise IllegalActionError(f"agent: {name}: {reason}") from None


def check_turn(view: PlayerView) -> None:
    """Raise unless `view` is the acting player's ``PlayerView``, not a `Game`."""
    check_is("view", view, PlayerView, "give game.view(player)")
    if view.vector[k.PLAYER] != view.player or view.vector[k.PHASE] == k.OVER:
        raise HeartsError(
            f"view: it is not the turn of player {view.player}; give the view of the acting player"
        )


def check_has_card(view: PlayerView) -> None:
    """Raise unless the player of `view` has a card to play."""
    if view.phase != "play" or not view.legal_mask:
        raise HeartsError(
            f"view: player {view.player} has no card to play; give the view of the player to act"
        )


def check_views(views: BatchView) -> None:
    """Raise unless `views` is a ``BatchView``."""
    check_is("views", views, BatchView, "give batch.views(), or BatchView.of(list of views)")


class StochasticAgent(Agent):
    """An agent with a NumPy random generator, ``_rng``."""

    def __init__(self, seed: int | None = None) -> None:
        """Seed the random numbers. If None, the operating system seeds them."""
        self._rng = _random_numbers(seed)

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`."""
        self._rng = _random_numbers(seed)

    def sample(self, table: Probs) -> Actions:
        """Draw an action from each row of probabilities, ``(n, num_actions) -> (n,) int64``."""
        sums = np.cumsum(table, axis=1)
        actions: Actions = (sums > self._rng.random((len(table), 1)) * sums[:, -1:]).argmax(axis=1)
        return actions

    def sharing_copy(self, memo: dict[int, Any]) -> Self:
        """Return a copy with its own random numbers. It shares all else, which must not change."""
        player = object.__new__(type(self))
        vars(player).update(vars(self))
        player._rng = copy.deepcopy(self._rng, memo)
        return player


class PerGameAgent(StochasticAgent):
    """An agent that delegates to one player per rule set."""

    def __init__(self, seed: int | None = None) -> None:
        """Seed the random numbers, which its players share."""
        super().__init__(seed)
        self._playing: tuple[Rules, Agent] | None = None

    def player_of(self, rules: Rules) -> Agent:
        """Return a new player for `rules`. It is kept until the rules change."""
        raise NotImplementedError

    def check_rules(self, rules: Rules) -> None:
        """Raise if there is no player for `rules`."""
        self._of(rules)

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        check_turn(view)
        return self._of(view.rules).act(view)

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``."""
        check_views(views)
        return self._of(views.rules).act_batch(views)

    def action_probs(self, views: BatchView) -> Probs:
        """Return the probability of each action, ``(len(views), num_actions) float64``."""
        check_views(views)
        return self._of(views.rules).action_probs(views)

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`."""
        super().reseed(seed)
        if self._playing is not None:
            player = self._playing[1]
            player.reseed(seed)
            self._share(player)

    def _of(self, rules: Rules) -> Agent:
        if self._playing is None or not self._playing[0].is_same_deal(rules):
            player = self.player_of(rules)
            self._share(player)
            self._playing = rules, player
        return self._playing[1]

    def _share(self, player: Agent) -> None:
        """Give `player` this agent's random generator."""
        if isinstance(player, StochasticAgent):
            player._rng = self._rng


class CachingAgent(Agent):
    """An agent with caches, in attributes that begin with ``_``.

    Not thread-safe. The caches save time and never change a decision, so copies start without
    them. A subclass implements ``act_batch`` and ``_forget``.
    """

    def _forget(self) -> None:
        """Set all attributes that begin with ``_`` to their state before the first view."""
        raise NotImplementedError

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        check_turn(view)
        return int(self.act_batch(BatchView.of([view]))[0])

    def reseed(self, seed: int) -> None:
        """Clear the caches. The agent itself has no random numbers."""
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes except the caches."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes that pickle or copy saved, with empty caches."""
        vars(self).update(state)
        self._forget()


class AgentAdapter(Agent):
    """Turn any player with ``act`` into an ``Agent``. Other attributes are passed through."""

    def __init__(self, player: Player, name: str = "") -> None:
        self.player = player
        self.name = name or getattr(player, "name", "") or type(player).__name__

    def act(self, view: PlayerView) -> int:
        """Return the number of the action that the player chooses."""
        return _action_number(self, view.rules, self.player.act(view))

    def _method(self, name: str) -> Any:
        """Return the player's own method if it has one, else the default of ``Agent``."""
        own = getattr(self.player, name, None)
        return own if callable(own) else getattr(super(), name)

    def act_batch(self, views: BatchView) -> Actions:
        """Return the actions that the player chooses, ``(len(views),) int64``."""
        actions: Actions = self._method("act_batch")(views)
        return actions

    def action_probs(self, views: BatchView) -> Probs:
        """Return the player's own probabilities, or 1 for its choice."""
        probs: Probs = self._method("action_probs")(views)
        return probs

    def check_rules(self, rules: Rules) -> None:
        """Raise if the player refuses `rules`."""
        check_rules(self.player, rules)

    def reseed(self, seed: int) -> None:
        """Restart the player's random numbers."""
        self._method("reseed")(seed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "player":  # looked up before __init__ by copy
            raise AttributeError(name)
        return getattr(self.player, name)


def unadapted(agent: Agent) -> Player:
    """Return the player inside an ``AgentAdapter``. Return any other agent itself."""
    return agent.player if isinstance(agent, AgentAdapter) else agent


def has_chances(agent: Agent) -> bool:
    """Return whether an agent has its own ``action_probs``, not only a choice."""
    own = getattr(type(unadapted(agent)), "action_probs", None)
    return own is not None and own is not Agent.action_probs


def as_agent(player: Any, name: str = "") -> Agent:
    """Return `player` itself if it is an ``Agent``, else an adapter around it.

    Args:
        player: any object with ``act(view)``.
        name: the adapter's name. If empty, the adapter takes the player's name.

    Raises:
        HeartsError: if `player` has no ``act``.
    """
    if isinstance(player, type):
        raise HeartsError(
            f"agent: {player.__name__} is a class; give an object, like {player.__name__}()"
        )
    if not callable(getattr(player, "act", None)):
        raise HeartsError(
            f"agent: {name or quoted(player)} has no act(view); give an object with "
            "act(view) -> action, or a name for make_agent"
        )
    return player if isinstance(player, Agent) else AgentAdapter(player, name)


def _random_numbers(seed: int | None) -> np.random.Generator:
    return np.random.default_rng(None if seed is None else check_any_seed(seed))


def check_rules(player: Any, rules: Rules) -> None:
    """Raise if `player` cannot play `rules`. A player without ``check_rules`` plays all."""
    check = getattr(player, "check_rules", None)
    if callable(check):
        name = getattr(player, "name", "") or type(player).__name__
        with blamed(
            f"agent: {name!r} cannot be asked whether it plays {rules.name}",
            "its check_rules(rules) may only raise a HeartsError that says what it plays",
        ):
            check(rules)
