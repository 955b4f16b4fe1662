"""Hearts as a multi-agent reinforcement learning environment.

The default is a two-player game in which a player faces at most 105 hidden worlds. The other Hearts
games of the rule book are presets. ``hearts_v0`` is the PettingZoo environment, ``Game`` plays one
deal, and ``BatchGame`` plays thousands at once.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hearts_env.envs import register_envs
from hearts_env.support.errors import (
    CheckpointError,
    DealError,
    HeartsError,
    IllegalActionError,
    NotationError,
    RulesError,
)

if TYPE_CHECKING:
    from hearts_env import hearts_v0
    from hearts_env.batch.batch import BatchGame
    from hearts_env.batch.views import BatchView
    from hearts_env.encoders import Encoder, make_encoder, register_encoder
    from hearts_env.game.chips import chips_of, settle
    from hearts_env.game.game import Game
    from hearts_env.game.match import Match
    from hearts_env.rules.rules import Rules
    from hearts_env.views.view import PlayerView

__version__ = "0.1.0"

__all__ = [
    "BatchGame",
    "BatchView",
    "CheckpointError",
    "DealError",
    "Encoder",
    "Game",
    "HeartsError",
    "IllegalActionError",
    "Match",
    "NotationError",
    "PlayerView",
    "Rules",
    "RulesError",
    "__version__",
    "chips_of",
    "hearts_v0",
    "make_encoder",
    "register_encoder",
    "settle",
]


_HOMES = {
    "BatchGame": "batch.batch",
    "BatchView": "batch.views",
    "Encoder": "encoders",
    "Game": "game.game",
    "Match": "game.match",
    "PlayerView": "views.view",
    "Rules": "rules.rules",
    "chips_of": "game.chips",
    "make_encoder": "encoders",
    "register_encoder": "encoders",
    "settle": "game.chips",
}


def __getattr__(name: str) -> object:
    """Import a name or module on first use, because numba takes a quarter of a second to import."""
    if name in _HOMES:
        value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))


register_envs()
