"""Hearts as a multi-agent reinforcement learning environment.

The two-player game, in which a player faces at most 105 hidden worlds, and the other Hearts games
of the rule book. ``Game`` plays a deal, ``hearts_v0`` is the PettingZoo environment, ``BatchGame``
plays thousands of games at once.
"""

from hearts_env.batch import BatchGame, BatchView
from hearts_env.encoders import Encoder, make_encoder, register_encoder
from hearts_env.errors import (
    CheckpointError,
    DealError,
    HeartsError,
    IllegalActionError,
    NotationError,
    RulesError,
)
from hearts_env.game import Game
from hearts_env.match import Match, settle
from hearts_env.rules import Rules
from hearts_env.view import PlayerView

__version__ = "0.1.0"

__all__ = [
    "BatchGame",
    "BatchView",
    "Encoder",
    "make_encoder",
    "register_encoder",
    "CheckpointError",
    "DealError",
    "Game",
    "HeartsError",
    "IllegalActionError",
    "Match",
    "NotationError",
    "PlayerView",
    "Rules",
    "RulesError",
    "__version__",
    "settle",
]
