"""Hearts as games of OpenSpiel.

``register()`` makes them available by name, ``pyspiel.load_game("hearts_env(rules=micro)")``.
``load("micro")`` does both. OpenSpiel is imported only when one of these is called.
docs/libraries.md lists the parameters, and the tested algorithms and versions.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hearts_env.game.game import Game
from hearts_env.openspiel.setup import NAME, PARAMETERS, Setup, rules_of, rules_word
from hearts_env.rules.rules import Rules
from hearts_env.solve.policies import Policy
from hearts_env.support.arguments import check_is
from hearts_env.support.errors import HeartsError, quoted

__all__ = [
    "NAME",
    "PARAMETERS",
    "action_probs",
    "load",
    "register",
    "rules_word",
    "spiel_policy",
    "state_of",
]

VERSIONS = "open_spiel 1.6 or later; tests run with 2.0.2"


def register() -> None:
    """Register the games in OpenSpiel as ``hearts_env``. A second call has no effect.

    Raises:
        HeartsError: if OpenSpiel cannot be imported. The message names the fix.
    """
    _game_module()


def load(rules: str | Rules = "two_player", players: int | None = None, **parameters: Any) -> Any:
    """Return a game of OpenSpiel, and register it if needed.

    Args:
        rules: a preset's name, text for ``Rules.from_text``, or any `Rules`.
        players: the number of players, for presets with several. If None, the preset's default.
        **parameters: the other `PARAMETERS`.

    Returns:
        A ``pyspiel.Game``. ``game.setup.rules`` has its rules.

    Raises:
        HeartsError: if a parameter is unknown or cannot be used, or OpenSpiel is not installed.
    """
    made = rules_of(rules, players) if isinstance(rules, str) else Rules.make(rules, players)
    given = {"rules": rules_word(made), **parameters}
    pyspiel = _game_module().pyspiel
    Setup(given)  # OpenSpiel's own check comes first, and says less
    return pyspiel.load_game(NAME, given)


def state_of(game: Any, hearts: Game) -> Any:
    """Return the OpenSpiel state of a deal, with its history.

    Args:
        game: from ``load`` or ``pyspiel.load_game``.
        hearts: a deal of the same rules, at any point.

    Raises:
        HeartsError: if it is not a Game, has other rules, or was ended by an illegal action.
    """
    check_is("hearts", hearts, Game, "give a deal")
    return _game_module().state_of(_checked(game), hearts)


def spiel_policy(game: Any, policy: Policy) -> Any:
    """Convert a function of views into an OpenSpiel policy.

    The function is called once per information state.

    Args:
        game: from ``load`` or ``pyspiel.load_game``.
        policy: a function from many views to action probabilities, like ``Agent.action_probs``.

    Returns:
        An ``open_spiel.python.policy.Policy``.

    Raises:
        HeartsError: if `policy` is not a function.
    """
    if not callable(policy):
        raise HeartsError(
            f"policy: {quoted(policy)} is not a function of views; give agent.action_probs"
        )
    return _game_module().ViewPolicy(_checked(game), policy)


def action_probs(game: Any, policy: Any) -> Policy:
    """Convert an OpenSpiel policy into a function of views.

    The policy is called once per information state, in a deal that is consistent with the view.

    Args:
        game: from ``load`` or ``pyspiel.load_game``.
        policy: an object with ``action_probabilities(state, player)``.

    Returns:
        A function from many views to action probabilities, like ``Agent.action_probs``.

    Raises:
        HeartsError: if `policy` has no ``action_probabilities``.
    """
    if not callable(getattr(policy, "action_probabilities", None)):
        raise HeartsError(
            f"policy: {quoted(policy)} has no action_probabilities(state, player); give a policy "
            "of OpenSpiel"
        )
    return _game_module().chances_in_views(_checked(game), policy)


def _checked(game: Any) -> Any:
    """Return `game` if it is one of ours, else raise."""
    check_is("game", game, _game_module().HeartsGame, "give hearts_env.openspiel.load(rules)")
    return game


def _game_module() -> Any:
    """Import the module that needs OpenSpiel."""
    try:
        return import_module(f"{__name__}.game")
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("pyspiel", "open_spiel"):
            raise
        raise HeartsError(
            f"openspiel: {error}; install it with pip install open_spiel ({VERSIONS})"
        ) from None
