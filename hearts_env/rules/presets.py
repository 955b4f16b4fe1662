"""The games of the rule book: the fields in which each differs from ``Rules()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hearts_env.cards import ALL_CARDS, HEARTS_AND_QUEEN, HEARTS_ONE

Fields = dict[str, Any]


class Preset(NamedTuple):
    """A game of the rule book."""

    players: range
    """The possible numbers of players."""
    fields: Callable[[int], Fields]
    """Returns the fields of ``Rules`` for a number of players."""
    summary: str

    @property
    def usual(self) -> int:
        """The default number of players."""
        return 4 if 4 in self.players else self.players[0]

    @property
    def span(self) -> str:
        """The numbers of players, like ``3 to 7``."""
        first, last = self.players[0], self.players[-1]
        return f"{first} to {last}" if first < last else str(first)


_FOUR_WAYS = ("left", "right", "across", "hold")
# By number of players: the cards left out and the hand size of party and similar games.
_EVEN_DEALS: dict[int, tuple[tuple[str, ...], int]] = {
    3: (("2D",), 17),
    4: ((), 13),
    5: (("2C", "2D"), 10),
    6: (("3C", "4C", "2D", "3D"), 8),
    7: (("3C", "2D", "3D"), 7),
}
_KITTY_HANDS = {3: 17, 4: 12, 5: 10, 6: 8, 7: 7}


def _short_deck(
    ranks: str, hand_size: int, moon_points: int, *more: str
) -> Callable[[int], Fields]:
    """Return the fields of two-player Hearts with these ranks of each suit, and `more` cards."""

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


def _in_chips(extra: Mapping[str, int]) -> Callable[[int], Fields]:
    """Return the fields of an older game for chips: each heart one point, plus `extra`."""

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


_TWO, _FOUR, _PARTY, _CHIPS = range(2, 3), range(4, 5), range(3, 8), range(2, 7)
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "two_player": Preset(
            _TWO,
            _short_deck("2468TQA", 13, 20),
            "two-player Hearts: 28 cards, two of them not dealt; hearts are trump",
        ),
        "mini": Preset(
            _TWO,
            _short_deck("TQA", 5, 16),
            "two-player Hearts with 12 cards, small enough to be solved to any precision",
        ),
        "micro": Preset(
            _TWO,
            _short_deck("QA", 3, 15),
            "two-player Hearts with 8 cards, small enough to be solved exactly",
        ),
        "classic": Preset(
            _FOUR, _classic, "four players, three cards passed, no points on the first trick"
        ),
        "no_pass": Preset(
            _FOUR, _no_pass, "four players without an exchange; a shooter may choose"
        ),
        "party": Preset(
            _PARTY, _party, "three to seven players, low cards removed so that all is dealt"
        ),
        "kitty": Preset(
            _PARTY,
            _kitty,
            "as party with the whole deck; the first trick takes the rest of the cards",
        ),
        "omnibus": Preset(_PARTY, _omnibus, "as party; the jack of diamonds takes ten points off"),
        "hoyle": Preset(_CHIPS, _in_chips({}), "the game of 1913 for chips: hearts only, no moon"),
        "black_jack": Preset(
            _CHIPS, _in_chips({"JS": 10}), "hoyle in which the jack of spades costs ten"
        ),
        "black_lady": Preset(
            _CHIPS, _in_chips({"QS": 10}), "hoyle in which the queen of spades costs ten"
        ),
        "mini_6": Preset(
            _TWO,
            _short_deck("TQA", 6, 17, "8H"),
            "two-player Hearts with 13 cards, solved in minutes",
        ),
        "midi": Preset(
            _TWO,
            _short_deck("TQA", 6, 17, "8S", "8H"),
            "two-player Hearts with 14 cards, two of them not dealt; the largest deck solved",
        ),
        "two_player_16": Preset(
            _TWO, _short_deck("8TQA", 7, 17), "two-player Hearts with 16 cards, the eight and up"
        ),
        "two_player_20": Preset(
            _TWO, _short_deck("68TQA", 9, 18), "two-player Hearts with 20 cards, the six and up"
        ),
    }
)
"""The games of the rule book by name."""
GAMES = tuple((name, n) for name, preset in PRESETS.items() for n in preset.players)
"""Every pair of a preset and a number of players."""
