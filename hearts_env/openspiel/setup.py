"""The rules, chance, returns and encoders of a game, without OpenSpiel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hearts_env.encoders import Encoder, make_encoder
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import HeartsError, did_you_mean
from hearts_env.views.deals import all_tables, most_cards, table_of

NAME = "hearts_env"
"""The games' short name in OpenSpiel."""

PARAMETERS: Mapping[str, str] = {
    "rules": "two_player",
    "observation": "flat",
    "information_state": "history",
}
"""The default of each parameter of a game, by name."""


def rules_word(rules: Rules) -> str:
    """Return rules as text for a parameter of OpenSpiel, which reserves ``=`` and ``,``."""
    words = [word.replace("=", ":", 1) for word in rules.name.split()]
    return " ".join(words).replace(",", ";")


def rules_of(word: str, players: int | None = None) -> Rules:
    """Parse the rules in a parameter, as in ``Rules.from_text`` or with ``field:value``."""
    words = [w if "=" in w else w.replace(":", "=", 1) for w in word.replace(";", ",").split()]
    return Rules.from_text(" ".join(words) if words else word, players)


class Setup:
    """The parameters of one game, which its states share.

    Attributes:
        rules: the rules.
        tables: the possible pairs (deal_number, dealer). If there are several, the first chance
            node chooses one.
        observer, informer: the encoders of observations and of information states.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Check the parameters.

        Raises:
            HeartsError: if a parameter is unknown or invalid.
        """
        for name in parameters:
            if name not in PARAMETERS:
                raise HeartsError(
                    f"{name}: no parameter of {NAME}; {did_you_mean(name, PARAMETERS)}"
                )
        given = {**PARAMETERS, **parameters}
        self.rules = rules_of(given["rules"])
        self.tables = all_tables(self.rules)
        self.observer: Encoder = _encoder("observation", given)
        self.informer: Encoder = _encoder("information_state", given)
        self.parameters: dict[str, Any] = {"rules": rules_word(self.rules)} | {
            name: given[name]
            for name, usual in PARAMETERS.items()
            if name != "rules" and given[name] != usual
        }

    # -- chance -----------------------------------------------------------------------------------
    def dealing_chances(self, owners: Sequence[int]) -> list[tuple[int, float]]:
        """Return the possible owners of the next card, with probabilities.

        Args:
            owners: the owners of the earlier cards in deck order. An owner is a seat, or the number
                of players for the kitty.
        """
        rules = self.rules
        sizes = [rules.hand_size] * rules.players + [rules.kitty_size]
        room = [size - owners.count(owner) for owner, size in enumerate(sizes)]
        left = len(rules.deck) - len(owners)
        return [(owner, places / left) for owner, places in enumerate(room) if places]

    def start(self, owners: Sequence[int], table: int) -> Game:
        """Return the start of a deal, given each card's owner, in deck order."""
        hands: list[list[str]] = [[] for _ in range(self.rules.players + 1)]
        for card, owner in zip(self.rules.deck, owners, strict=True):
            hands[owner].append(card)
        number, dealer = self.tables[table]
        return Game(self.rules, hands[:-1], deal_number=number, dealer=dealer)

    def chance_actions(self, game: Game) -> list[int]:
        """Return the chance actions that lead to the deal of `game`.

        Raises:
            HeartsError: if `game` has other rules, or was ended by an illegal action.
        """
        if not self.rules.is_same_deal(game.rules):
            raise HeartsError(
                f"rules: the deal has {game.rules.name!r} and the OpenSpiel game "
                f"{self.rules.name!r}; give both the same rules"
            )
        if game.revoker is not None:
            raise HeartsError(
                "game: an illegal action ended it, which OpenSpiel cannot represent; give another "
                "game"
            )
        start, actions, kitty = game.start(), [], self.rules.players
        if len(self.tables) > 1:
            table = table_of(self.rules, game.deal_number, game.dealer)
            actions.append(self.tables.index(table))
        owner_of = {card: seat for seat in range(kitty) for card in start.hand(seat)}
        return actions + [owner_of.get(card, kitty) for card in self.rules.deck]

    # -- returns ----------------------------------------------------------------------------------
    def returns(self, game: Game) -> list[float]:
        """Return each seat's margin, divided by ``rules.max_margin``, or zeros before the end."""
        rules = self.rules
        if not game.is_over:
            return [0.0] * rules.players
        return [margin / rules.max_margin for margin in game.margins()]

    @property
    def longest(self) -> int:
        """The largest number of players' actions in a deal."""
        rules = self.rules
        return rules.players * most_cards(rules) + (rules.moon == "choose")

    # -- copies: states share one setup, unpickling makes a new one -------------------------------
    def __deepcopy__(self, memo: object) -> Setup:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Setup, (self.parameters,)


def _encoder(name: str, given: Mapping[str, Any]) -> Encoder:
    """Return the encoder that a parameter names."""
    try:
        return make_encoder(given[name])
    except HeartsError as error:
        raise HeartsError(str(error).replace("observation:", f"{name}:", 1)) from None
