"""Hand histories of several games, and the tags of their headers.

``Game.to_text`` and ``Game.from_text`` write and read a single game. ``grammar`` defines the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hearts_env.game import grammar
from hearts_env.game.game import Game, play_transcript


@dataclass(frozen=True)
class Record:
    """A game and the tags of its hand history.

    Attributes:
        game: the deal and its play.
        tags: the other fields of the header by name, in order, like ``{"Player 0": "You"}``.
    """

    game: Game
    tags: dict[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return a distinct name for each seat: its tag, or without one ``player 0`` and so on."""
        named = [
            self.tags.get(f"Player {seat}") or f"player {seat}"
            for seat in range(self.game.rules.players)
        ]
        return [
            name if named.count(name) == 1 else f"{name} ({seat})"
            for seat, name in enumerate(named)
        ]

    def to_text(self) -> str:
        """Return the hand history with its tags."""
        return self.game.to_text(self.tags)


def parse_games(text: str) -> list[Game]:
    """Return all games of a text in order, after checking their play.

    Raises:
        NotationError: if a line is invalid. The message names the line, its fault and the fix.
    """
    return [record.game for record in parse_records(text)]


def parse_records(text: str) -> list[Record]:
    """Return all games of a text in order, with their tags, after checking their play.

    Raises:
        NotationError: if a line is invalid. The message names the line, its fault and the fix.
    """
    return [Record(play_transcript(t), dict(t.tags)) for t in grammar.parse(text)]
