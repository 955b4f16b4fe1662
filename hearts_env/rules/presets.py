"""The games of the rule book, as the fields in which each differs from a plain ``Rules()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from hearts_env.cards import ALL_CARDS, HEARTS_AND_QUEEN, HEARTS_ONE

Fields = dict[str, Any]
Maker = Callable[[int], Fields]
"""Number of players -> fields of ``Rules``."""

_FOUR_WAYS = ("left", "right", "across", "hold")
# The deck without these cards and the hand, by number of players (party and its kin).
_EVEN_DEALS: dict[int, tuple[tuple[str, ...], int]] = {
    3: (("2D",), 17),
    4: ((), 13),
    5: (("2C", "2D"), 10),
    6: (("3C", "4C", "2D", "3D"), 8),
    7: (("3C", "2D", "3D"), 7),
}
_KITTY_HANDS = {3: 17, 4: 12, 5: 10, 6: 8, 7: 7}


def _short_deck(ranks: str, hand_size: int, moon_points: int, *more: str) -> Maker:
    """Two-player Hearts with these ranks of each suit, and `more` cards."""

    def make(players: int) -> Fields:
        return {
            "players": 2,
            "removed": tuple(
                card for card in ALL_CARDS if card[0] not in ranks and card not in more
            ),
            "hand_size": hand_size,
            "trump": "H",
            "break_on": "void",
            "unbroken_lead": "spades_or_hearts",
            "moon_points": moon_points,
            "tie": "all_past_limit",
        }

    return make


def _classic(players: int) -> Fields:
    return {"points_on_first_trick": False, "pass_count": 3, "pass_rotation": _FOUR_WAYS}


def _no_pass(players: int) -> Fields:
    return {"moon": "choose"}


def _party(players: int) -> Fields:
    removed, hand_size = _EVEN_DEALS[players]
    return {
        "players": players,
        "removed": removed,
        "hand_size": hand_size,
        "points_on_first_trick": False,
        "pass_count": 3,
        "pass_rotation": _FOUR_WAYS if players == 4 else ("left", "right"),
        "end_when": "exceeded",
    }


def _kitty(players: int) -> Fields:
    return _party(players) | {
        "removed": (),
        "hand_size": _KITTY_HANDS[players],
        "kitty_to": "first_trick",
    }


def _omnibus(players: int) -> Fields:
    return _party(players) | {
        "card_points": {**HEARTS_AND_QUEEN, "JD": -10},
        "end_score": 50,
        "end_when": "reached",
    }


def _in_chips(extra: Mapping[str, int]) -> Maker:
    """The older games settled in chips: every heart one point, and these cards."""

    def make(players: int) -> Fields:
        removed, hand_size = _EVEN_DEALS[players] if players > 4 else ((), 13)
        return {
            "players": players,
            "removed": removed,
            "hand_size": hand_size,
            "first_lead": "eldest_hand",
            "break_on": None,
            "card_points": {**HEARTS_ONE, **extra},
            "moon": "none",
            "settlement": "simple",
        }

    return make


_MAKERS: dict[str, tuple[range, Maker]] = {
    "two_player": (range(2, 3), _short_deck("2468TQA", 13, 20)),
    "mini": (range(2, 3), _short_deck("TQA", 5, 16)),
    "micro": (range(2, 3), _short_deck("QA", 3, 15)),
    "classic": (range(4, 5), _classic),
    "no_pass": (range(4, 5), _no_pass),
    "party": (range(3, 8), _party),
    "kitty": (range(3, 8), _kitty),
    "omnibus": (range(3, 8), _omnibus),
    "hoyle": (range(2, 7), _in_chips({})),
    "black_jack": (range(2, 7), _in_chips({"JS": 10})),
    "black_lady": (range(2, 7), _in_chips({"QS": 10})),
    "mini_6": (range(2, 3), _short_deck("TQA", 6, 17, "8H")),
}
PRESETS: Mapping[str, tuple[range, Maker]] = MappingProxyType(_MAKERS)
"""Preset name -> (numbers of players, maker)."""
