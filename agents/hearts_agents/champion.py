"""``champion``: the networks that come with the package, one for each game.

How each was made, what it wins and from whom, and what wins from it, is in the card beside its
weights (``data/champion_*.md``) and in docs/champion.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from hearts_agents.base import Agent, PerGameAgent
from hearts_agents.models.network import load_agent
from hearts_agents.search_agent import Budget, SearchAgent
from hearts_env import HeartsError, Rules
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.support.arguments import check_flag

SHIPPED = {"two_player": True, "mini": False, "classic": True}
"""The games, by their presets; and whether the network plays the card that it prefers, or draws.

In small decks who does not mix loses more to a best response (docs/champion.md).
"""
OTHERS = {"small": ("two_player",), "taught": ("two_player",)}
"""Other networks that come with the package, and for which games.

``small`` has a seventeenth of the weights; that of ``mini`` is small itself. ``taught`` has learnt
in pretraining which card ``pimc`` takes, and is the model that a search has of such a player.
"""

_FOLDER = Path(__file__).parent / "data"


class Champion(PerGameAgent):
    """The package's network for the rules; it can also search."""

    name = "champion"
    plays = ", ".join(SHIPPED)

    def __init__(
        self,
        seed: int | None = None,
        search: str | int | None = None,
        *,
        greedy: bool | None = None,
        small: bool = False,
    ) -> None:
        """A player of the games in ``SHIPPED``.

        Args:
            seed: of its draws, where it is not greedy.
            search: look at what the cards lead to: a time for each card (``50ms``), a number of
                worlds (``32``) or ``all``; None: the network alone.
            greedy: take the preferred action; False: draw from the policy's probabilities; None:
                as ``SHIPPED`` has it. A search plays the best card that it finds.
            small: the network of a seventeenth of the weights, where there is one.

        Raises:
            HeartsError: if an option has an unusable value; it is named.
        """
        super().__init__(seed)
        self.search = None if search is None else Budget(search).text
        self.greedy = None if greedy is None else check_flag("greedy", greedy)
        self.small = check_flag("small", small)

    @property
    def is_timed(self) -> bool:
        """Return whether its play depends on the machine: it searches for a time."""
        return self.search is not None and Budget(self.search).is_timed

    def files(self, game: str) -> list[Path]:
        """The files of weights that it plays one of ``SHIPPED`` with: its own, then its models'."""
        own = weights_of(game, "small" if self.small else "")
        has_model = self.search is not None and game in OTHERS["taught"]
        return [own, weights_of(game, "taught")] if has_model else [own]

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """The weights of the game that `rules` are; of all games if they are none or not known."""
        game = None if rules is None else game_of(rules)
        for name in SHIPPED if game is None else [game]:
            yield from (file.read_bytes() for file in self.files(name))

    def player_of(self, rules: Rules) -> Agent:
        """The player of these rules.

        Raises:
            HeartsError: if none comes with the package.
        """
        name = game_of(rules)
        if name is None:
            raise HeartsError(
                f"rules: champion plays {self.plays} only, with any end of a match; "
                f"{rules.name!r} is another game: take pro, or train a player of yours with "
                "hearts train"
            )
        if self.search is not None and not has_exact_worlds(rules):
            raise HeartsError(
                f"search: champion looks ahead in games of two; {rules.name!r} has "
                f"{rules.players} players: let it play without, as champion"
            )
        greedy = SHIPPED[name] if self.greedy is None else self.greedy
        own, *others = self.files(name)
        network = load_agent(own, greedy=greedy)
        if self.search is None:
            return network
        return SearchAgent(network, self.search, models=[load_agent(file) for file in others])


def strongest(rules: Rules) -> str:
    """The name of the package's quickest strong player of a game: whom people meet by default."""
    return Champion.name if game_of(rules) else "pro"


def game_of(rules: Rules) -> str | None:
    """Return the game of ``SHIPPED`` with the same deals as these rules; None if none has."""
    return next((name for name in SHIPPED if Rules.preset(name).is_same_deal(rules)), None)


def weights_of(game: str, kind: str = "") -> Path:
    """The file of weights that comes with the package for one of ``SHIPPED``.

    Args:
        game: which.
        kind: one of ``OTHERS``; by default, and for games that have none, the champion's own.
    """
    suffix = f"_{kind}" if kind and game in OTHERS[kind] else ""
    return _FOLDER / f"champion_{game}{suffix}.safetensors"


def digest_of(game: str) -> str:
    """The SHA-256 of the champion's own: by it figures say which network they were measured of."""
    return hashlib.sha256(weights_of(game).read_bytes()).hexdigest()
