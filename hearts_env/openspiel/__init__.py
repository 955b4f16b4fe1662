"""Hearts as games of OpenSpiel.

After ``register()`` they are there by name, ``pyspiel.load_game("hearts_env(rules=micro)")``;
``load("micro")`` does both. OpenSpiel is asked for only when one of these is called. The page
docs/libraries.md lists the parameters, and the algorithms that were run with their versions.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hearts_env.game.game import Game
from hearts_env.openspiel.setup import NAME, PARAMETERS, Setup, rules_of, rules_word
from hearts_env.rules.rules import Rules
from hearts_env.solve.beliefs import Policy
from hearts_env.support.arguments import check_is
from hearts_env.support.errors import HeartsError

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
    """Make the games known to OpenSpiel as ``hearts_env``; a second call changes nothing.

    Raises:
        HeartsError: if OpenSpiel cannot be imported; the message names what to install.
    """
    _game_module()


def load(rules: str | Rules = "two_player", players: int | None = None, **parameters: Any) -> Any:
    """Return a game of OpenSpiel; register it if needed.

    Args:
        rules: a preset's name, text as ``Rules.from_text`` reads it, or any `Rules`.
        players: how many, where the preset leaves it open.
        **parameters: the others of `PARAMETERS`.

    Returns:
        A ``pyspiel.Game``; ``game.setup.rules`` are its rules.

    Raises:
        HeartsError: if a parameter is unknown or cannot be used, or OpenSpiel is not installed.
    """
    made = rules_of(rules, players) if isinstance(rules, str) else Rules.make(rules, players)
    given = {"rules": rules_word(made), **parameters}
    pyspiel = _game_module().pyspiel
    Setup(given)  # OpenSpiel's own check comes first, and says less
    return pyspiel.load_game(NAME, given)


def state_of(game: Any, hearts: Game) -> Any:
    """Return the state of a deal in a game of OpenSpiel, with the history that leads there.

    Args:
        game: from ``load`` or ``pyspiel.load_game``.
        hearts: a deal of the same rules as it stands.

    Raises:
        HeartsError: if it was played under other rules, or ended by an illegal action.
    """
    return _game_module().state_of(_checked(game), hearts)


def spiel_policy(game: Any, policy: Policy) -> Any:
    """Return a policy of OpenSpiel that plays like a function of views, such as ``action_probs``.

    Each information state is asked once.

    Args:
        game: from ``load`` or ``pyspiel.load_game``.
        policy: the probabilities of actions in many views; an agent's ``action_probs``.

    Returns:
        An ``open_spiel.python.policy.Policy``.
    """
    return _game_module().ViewPolicy(_checked(game), policy)


def action_probs(game: Any, policy: Any) -> Policy:
    """Return a function of views that plays like a policy of OpenSpiel: the way back.

    Each information state is asked once, in the state of any deal that agrees with the view.

    Args:
        game: from ``load`` or ``pyspiel.load_game``.
        policy: has ``action_probabilities(state, player)``.

    Returns:
        The probabilities of actions in many views, as an agent's ``action_probs`` gives them.
    """
    return _game_module().chances_in_views(_checked(game), policy)


def _checked(game: Any) -> Any:
    """A game of ours."""
    check_is("game", game, _game_module().HeartsGame, "give hearts_env.openspiel.load(rules)")
    return game


def _game_module() -> Any:
    """The module of this package that imports OpenSpiel."""
    try:
        return import_module(f"{__name__}.game")
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("pyspiel", "open_spiel"):
            raise
        raise HeartsError(
            f"openspiel: {error}; install it with pip install open_spiel ({VERSIONS})"
        ) from None
