"""Players: anything with ``act(view)``. ``Agent`` answers many views at once."""

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
from hearts_env.solve.beliefs import certain
from hearts_env.support.arguments import check_any_seed, check_is
from hearts_env.support.errors import quoted

Actions = NDArray[np.int64]
Probs = NDArray[np.float64]
RandomState = NDArray[np.uint64]
WorldMargins = tuple[NDArray[np.float64], NDArray[np.float64], bool]
"""Margins ``(worlds, legal cards)``, weights ``(worlds,)``, and whether there are more worlds."""


@runtime_checkable
class Player(Protocol):
    """The least that a player must have."""

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""


class Agent:
    """Base class of players. It sees views only, and remembers nothing but its random numbers.

    Derive from it and write ``act``; write ``act_batch`` too where many decisions at once are
    faster than one after another.
    """

    name: str = ""
    plays: str = "every game"
    """Which rules it can play, in words; ``check_rules`` decides."""

    def check_rules(self, rules: Rules) -> None:
        """Refuse rules that this player cannot play, before anything is dealt; by default none.

        Raises:
            HeartsError: if it cannot play them; the message says what it plays.
        """

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        raise NotImplementedError

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many games, (len(views),) int64; by default one by one."""
        check_views(views)
        rules, rows = views.rules, range(len(views))
        actions = (_action_number(self, rules, self.act(views[row])) for row in rows)
        return np.fromiter(actions, np.int64, len(views))

    def action_probs(self, views: BatchView) -> Probs:
        """The probability of each action in many games, ``(len(views), num_actions) float64``.

        This is the player's behaviour strategy. By default the choice of ``act_batch`` has
        probability 1, which is right for players whose choice follows from the view alone; others
        should write their own.

        Raises:
            HeartsError: the choice is illegal.
        """
        check_views(views)
        name = f"agent: {self.name or type(self).__name__}"
        return certain(np.asarray(self.act_batch(views)), views.legal_table, name)

    def digest_parts(self, rules: Rules | None = None) -> Iterable[bytes] | None:
        """Return the content that the digest covers, for all rules or these; None: nothing own."""
        return None

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`, in place; nothing happens if there are none."""

    def close(self) -> None:
        """End what it has started, like a program; asked again, it starts that again."""

    def random_state(self) -> RandomState:
        """The state of the random numbers, ``(n,) uint64``; empty if there are none."""
        return np.zeros(0, np.uint64)

    def restore_random(self, state: RandomState) -> None:
        """Continue the random numbers from what ``random_state`` returned.

        Raises:
            HeartsError: if `state` is that of another kind of player.
        """
        if len(state):
            raise HeartsError(f"random: {type(self).__name__} has no random numbers; restore none")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def _action_number(agent: Agent, rules: Rules, given: object) -> int:
    """Return the number of an agent's action; IllegalActionError, with its name, if it is none."""
    try:
        return rules.action_number(given)
    except IllegalActionError as error:
        reason = str(error).removeprefix("action: ")
        name = agent.name or type(agent).__name__
        raise IllegalActionError(f"agent: {name}: {reason}", value=given) from None


def check_turn(view: PlayerView) -> None:
    """Refuse what is not a view (a game, which knows all cards), or one of whose turn it is not."""
    check_is("view", view, PlayerView, "give game.view(player)")
    if view.vector[k.PLAYER] != view.player or view.vector[k.PHASE] == k.OVER:
        raise HeartsError(
            f"view: it is not the turn of player {view.player}; give the current player's"
        )


def check_views(views: BatchView) -> None:
    """Refuse what is not the views of a batch."""
    check_is("views", views, BatchView, "give batch.views(), or BatchView.of(list of views)")


class StochasticAgent(Agent):
    """An agent that draws from a stream of NumPy's, ``_rng``."""

    def __init__(self, seed: int | None = None) -> None:
        """An agent whose draws follow from `seed`; None: from the operating system."""
        self._rng = _random_numbers(seed)

    def reseed(self, seed: int) -> None:
        """Restart the draws from `seed`."""
        self._rng = _random_numbers(seed)

    def random_state(self) -> RandomState:
        """The state of the draws, ``(6,) uint64``."""
        return generator_state(self._rng)

    def restore_random(self, state: RandomState) -> None:
        """Continue the draws from what ``random_state`` returned."""
        restore_generator(self._rng, state)

    def sample(self, table: Probs) -> Actions:
        """An action drawn from each row of probabilities, ``(n, num_actions) -> (n,) int64``."""
        sums = np.cumsum(table, axis=1)
        actions: Actions = (sums > self._rng.random((len(table), 1)) * sums[:, -1:]).argmax(axis=1)
        return actions

    def sharing_copy(self, memo: dict[int, Any]) -> Self:
        """A copy with draws of its own; all else is shared, for classes that never change it."""
        player = object.__new__(type(self))
        vars(player).update(vars(self))
        player._rng = copy.deepcopy(self._rng, memo)
        return player


class PerGameAgent(StochasticAgent):
    """An agent that has a player for each of some games, and lets that one play."""

    def __init__(self, seed: int | None = None) -> None:
        """An agent whose draws, and those of its players, follow from `seed`."""
        super().__init__(seed)
        self._playing: tuple[Rules, Agent] | None = None

    def player_of(self, rules: Rules) -> Agent:
        """A new player of these rules; asked once for rules that follow each other."""
        raise NotImplementedError

    def check_rules(self, rules: Rules) -> None:
        """Refuse rules of which there is no player."""
        self._of(rules)

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        check_turn(view)
        return self._of(view.rules).act(view)

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many views, ``(len(views),) int64``."""
        check_views(views)
        return self._of(views.rules).act_batch(views)

    def action_probs(self, views: BatchView) -> Probs:
        """The probabilities of the actions in many views, ``(len(views), num_actions) float64``."""
        check_views(views)
        return self._of(views.rules).action_probs(views)

    def reseed(self, seed: int) -> None:
        """Restart the draws from `seed`."""
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
        """Give a player this agent's stream of draws."""
        if isinstance(player, StochasticAgent):
            player._rng = self._rng


class CachingAgent(Agent):
    """An agent that remembers views, in attributes whose names begin with ``_``.

    Not thread-safe. What it remembers saves time and decides nothing, so copies start without it.
    A subclass writes ``act_batch`` and ``_forget``.
    """

    def _forget(self) -> None:
        """Set all attributes whose names begin with ``_``, as before the first view."""
        raise NotImplementedError

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        check_turn(view)
        return int(self.act_batch(BatchView.of([view]))[0])

    def reseed(self, seed: int) -> None:
        """Forget earlier deals; it draws no random numbers itself."""
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """All but what it remembers."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from what pickle or copy has saved."""
        vars(self).update(state)
        self._forget()


class AgentAdapter(Agent):
    """Turn any player with ``act`` into an ``Agent``; other attributes are passed through."""

    def __init__(self, player: Player, name: str = "") -> None:
        self.player = player
        self.name = name or getattr(player, "name", "") or type(player).__name__

    def act(self, view: PlayerView) -> int:
        """The action that the player chooses, as its number."""
        return _action_number(self, view.rules, self.player.act(view))

    def _method(self, name: str) -> Any:
        """The player's own method, if it has one; else that of every ``Agent``."""
        own = getattr(self.player, name, None)
        return own if callable(own) else getattr(super(), name)

    def act_batch(self, views: BatchView) -> Actions:
        """The actions that the player chooses."""
        actions: Actions = self._method("act_batch")(views)
        return actions

    def action_probs(self, views: BatchView) -> Probs:
        """The player's own probabilities, or 1 for its choice."""
        probs: Probs = self._method("action_probs")(views)
        return probs

    def check_rules(self, rules: Rules) -> None:
        """Ask the player."""
        check_rules(self.player, rules)

    def reseed(self, seed: int) -> None:
        """Restart the player's random numbers."""
        self._method("reseed")(seed)

    def random_state(self) -> RandomState:
        """The state of the player's random numbers."""
        return np.asarray(self._method("random_state")(), np.uint64)

    def restore_random(self, state: RandomState) -> None:
        """Continue the player's random numbers."""
        self._method("restore_random")(state)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "player":  # copy and pickle look before __init__
            raise AttributeError(name)
        return getattr(self.player, name)


def unadapted(agent: Agent) -> Player:
    """Return the player inside an ``AgentAdapter``; any other agent itself."""
    return agent.player if isinstance(agent, AgentAdapter) else agent


def has_chances(agent: Agent) -> bool:
    """Return whether an agent gives probabilities of its own, not just its choice."""
    own = getattr(type(unadapted(agent)), "action_probs", None)
    return own is not None and own is not Agent.action_probs


_WORD = 2**64 - 1


def generator_state(rng: np.random.Generator) -> RandomState:
    """The state of a generator of ``np.random.default_rng`` (PCG64), ``(6,) uint64``."""
    state = rng.bit_generator.state
    now, step = state["state"]["state"], state["state"]["inc"]
    numbers = (now & _WORD, now >> 64, step & _WORD, step >> 64)
    return np.array([*numbers, state["has_uint32"], state["uinteger"]], np.uint64)


def restore_generator(rng: np.random.Generator, state: RandomState) -> None:
    """Set a generator to what ``generator_state`` returned, in place."""
    numbers = [int(number) for number in np.ravel(state)]
    fits = len(numbers) == 6 and numbers[2] % 2 == 1
    if not fits or numbers[4] > 1 or numbers[5] >= 2**32:
        raise HeartsError(
            "random: these numbers are not a state of PCG64; give those that were saved"
        )
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": numbers[0] | numbers[1] << 64, "inc": numbers[2] | numbers[3] << 64},
        "has_uint32": numbers[4],
        "uinteger": numbers[5],
    }


def as_agent(player: Any, name: str = "") -> Agent:
    """`player` itself if it is an ``Agent``, else adapted.

    Raises:
        HeartsError: if it has no ``act``.
    """
    if isinstance(player, type):
        raise HeartsError(
            f"agent: {player.__name__} is a class; give an object of it, like {player.__name__}()"
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
    """Ask a player whether it can play these rules; one without ``check_rules`` plays all."""
    check = getattr(player, "check_rules", None)
    if callable(check):
        name = getattr(player, "name", "") or type(player).__name__
        with blamed(
            f"agent: {name!r} cannot be asked whether it plays {rules.name}",
            "its check_rules(rules) may raise a HeartsError, which says what it plays",
        ):
            check(rules)
