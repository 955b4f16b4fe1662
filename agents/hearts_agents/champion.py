"""``champion``: the package's networks, one per game.

The card beside each network's weights (``data/champion_*.md``) and docs/champion.md describe its
training and its strength.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hearts_agents.base import Agent, PerGameAgent
from hearts_agents.models.network import load_agent
from hearts_agents.search_agent import Budget, SearchAgent
from hearts_env import HeartsError, Rules
from hearts_env.solve.policies import has_exact_worlds
from hearts_env.support.arguments import check_flag

SHIPPED = {"two_player": True, "mini": False, "classic": True}
"""The games by preset. True: the network takes its greedy action there. False: it samples.

In small decks, a policy that does not mix is more exploitable (docs/champion.md).
"""
OTHERS = {"small": ("two_player",), "taught": ("two_player",)}
"""The package's other networks, and their games.

``small`` has a seventeenth of the weights. The network for ``mini`` is small itself. ``taught`` was
pretrained on the choices of ``pimc``. A search uses it as a model of such opponents.
"""

_FOLDER = Path(__file__).parent / "data"


class Champion(PerGameAgent):
    """The package's network for the rules. It can also search."""

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
        """Make a player of the games in ``SHIPPED``.

        Args:
            seed: the seed of its random numbers, if it is not greedy. If None, the operating system
                seeds them.
            search: the search budget per card: a time (``50ms``), a number of worlds (``32``) or
                ``all``. If None, the network plays without search.
            greedy: if True, take the greedy action. If False, sample from the policy. If None,
                ``SHIPPED`` decides. A search always plays the best card that it finds.
            small: if True, use the network with a seventeenth of the weights, where the package has
                one.

        Raises:
            HeartsError: if an option has an unusable value. The message names it.
        """
        super().__init__(seed)
        self.search = None if search is None else Budget(search).text
        self.greedy = None if greedy is None else check_flag("greedy", greedy)
        self.small = check_flag("small", small)

    @property
    def is_timed(self) -> bool:
        """True if the player searches for a given time, so its play depends on the machine."""
        return self.search is not None and Budget(self.search).is_timed

    def files(self, game: str) -> list[Path]:
        """Return the files of weights for a game: the player's file, then its opponent models."""
        own = weights_of(game, "small" if self.small else "")
        has_model = self.search is not None and game in OTHERS["taught"]
        return [own, weights_of(game, "taught")] if has_model else [own]

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Return the weights for `rules`, or for all games if there are none for `rules`."""
        game = None if rules is None else game_of(rules)
        for name in SHIPPED if game is None else [game]:
            yield from (file.read_bytes() for file in self.files(name))

    def player_of(self, rules: Rules) -> Agent:
        """Return the player for `rules`.

        Raises:
            HeartsError: if the package has no network for `rules`, or cannot search under them.
        """
        name = game_of(rules)
        if name is None:
            raise HeartsError(
                f"rules: champion plays {self.plays} only, with any end of a match; "
                f"{rules.name!r} is another game: take pro, or train your own player with "
                "hearts train"
            )
        if self.search is not None and not has_exact_worlds(rules):
            raise HeartsError(
                f"search: champion searches in two-player games only; {rules.name!r} has "
                f"{rules.players} players: omit search"
            )
        greedy = SHIPPED[name] if self.greedy is None else self.greedy
        own, *others = self.files(name)
        network = load_agent(own, greedy=greedy)
        if self.search is None:
            return network
        return SearchAgent(network, self.search, models=[load_agent(file) for file in others])


def strongest(rules: Rules) -> str:
    """Return the name of a strong and fast player for `rules`, the default opponent of people."""
    return Champion.name if game_of(rules) else "pro"


def game_of(rules: Rules) -> str | None:
    """Return the game in ``SHIPPED`` with the same deals as `rules`, or None."""
    return next((name for name in SHIPPED if Rules.preset(name).is_same_deal(rules)), None)


def weights_of(game: str, kind: str = "") -> Path:
    """Return the package's file of weights for a game.

    Args:
        game: one of ``SHIPPED``.
        kind: one of ``OTHERS``. If empty, or if this game has no such network, the champion's own
            weights.
    """
    suffix = f"_{kind}" if kind and game in OTHERS[kind] else ""
    return _FOLDER / f"champion_{game}{suffix}.safetensors"
