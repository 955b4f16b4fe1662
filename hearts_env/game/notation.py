"""Hand histories of games, with their tags; the text itself is the business of ``grammar``.

``Game.to_text`` and ``Game.from_text`` write and read one game. Here are texts of several games,
and the tags of their headers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hearts_env.game import grammar
from hearts_env.game.game import Game, play_transcript


@dataclass(frozen=True)
class Record:
    """A game and the tags of its hand history.

    Attributes:
        game: The deal and its play.
        tags: Further fields of the header by name, in order: ``{"Player 0": "You", "Date": ...}``.
    """

    game: Game
    tags: dict[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """The name of each seat's player, all different; ``player 0`` where no tag gives one."""
        named = [
            self.tags.get(f"Player {seat}") or f"player {seat}"
            for seat in range(self.game.rules.players)
        ]
        return [
            name if named.count(name) == 1 else f"{name} ({seat})"
            for seat, name in enumerate(named)
        ]

    def to_text(self) -> str:
        """The hand history with its tags."""
        return self.game.to_text(self.tags)


def parse_games(text: str) -> list[Game]:
    """All games of a text, in order, each play checked.

    Raises:
        NotationError: the line, what is wrong with it, and what would be right.
    """
    return [record.game for record in parse_records(text)]


def parse_records(text: str) -> list[Record]:
    """All games of a text, in order, with their tags.

    Raises:
        NotationError: the line, what is wrong with it, and what would be right.
    """
    return [Record(play_transcript(t), dict(t.tags)) for t in grammar.parse(text)]
