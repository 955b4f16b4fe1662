"""Rules, chance, rewards and encoders that the states of one game share; without OpenSpiel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hearts_env.encoders import Encoder, make_encoder
from hearts_env.envs.rewards import REWARDS, Rewarder, is_due, pay_seats
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_choice, check_number
from hearts_env.support.errors import HeartsError, did_you_mean
from hearts_env.views.deals import all_tables, most_cards, table_of

NAME = "hearts_env"
"""The short name of the games in OpenSpiel."""

PARAMETERS: Mapping[str, str | int] = {
    "rules": "two_player",
    "players": 0,
    "reward": "margin",
    "observation": "flat",
    "information_state": "history",
}
"""The parameters of a game and their defaults, by name."""


def rules_word(rules: Rules) -> str:
    """Rules as a parameter of OpenSpiel can have them, whose own grammar takes ``=`` and ``,``."""
    words = [word.replace("=", ":", 1) for word in rules.name.split()]
    return " ".join(words).replace(",", ";")


def rules_of(word: str, players: int | None = None) -> Rules:
    """The rules of a parameter: ``Rules.from_text``, where ``field:value`` is allowed too."""
    words = [w if "=" in w else w.replace(":", "=", 1) for w in word.replace(";", ",").split()]
    return Rules.from_text(" ".join(words) if words else word, players)


class Setup:
    """One game of OpenSpiel, without OpenSpiel: made from its parameters, shared by its states.

    Attributes:
        rules: The rules.
        reward: The kind of reward, one of ``REWARDS``.
        tables: The tables at which a deal is played, (deal_number, dealer); the first chance node
            chooses one where there are several.
        observer, informer: The encoders of observations and of information states.
    """

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Check the parameters."""
        for name in parameters:
            if name not in PARAMETERS:
                raise HeartsError(
                    f"{name}: no parameter of {NAME}; {did_you_mean(name, PARAMETERS)}"
                )
        given = {**PARAMETERS, **parameters}
        players = check_number("players", given["players"], 0, None)
        self.rules = rules_of(given["rules"], players or None)
        reward = check_choice("reward", given["reward"], REWARDS)
        rewarder = Rewarder(self.rules, reward)
        self.reward, self._kind, self._scale = reward, rewarder.number, rewarder.scale
        self.tables = all_tables(self.rules)
        self.observer: Encoder = _encoder("observation", given)
        self.informer: Encoder = _encoder("information_state", given)
        self.parameters: dict[str, Any] = {"rules": rules_word(self.rules)} | {
            name: given[name]
            for name, usual in PARAMETERS.items()
            if name not in ("rules", "players") and given[name] != usual
        }

    # -- chance -----------------------------------------------------------------------------------
    def dealing_chances(self, owners: Sequence[int]) -> list[tuple[int, float]]:
        """Return the seats that may get the next card (players: the kitty), with probabilities.

        Args:
            owners: of the cards before it, in deck order.
        """
        rules = self.rules
        sizes = [rules.hand_size] * rules.players + [rules.kitty_size]
        room = [size - owners.count(owner) for owner, size in enumerate(sizes)]
        left = len(rules.deck) - len(owners)
        return [(owner, places / left) for owner, places in enumerate(room) if places]

    def start(self, owners: Sequence[int], table: int) -> Game:
        """Return the first position of a deal, given by the owner of each card of the deck."""
        hands: list[list[str]] = [[] for _ in range(self.rules.players + 1)]
        for card, owner in zip(self.rules.deck, owners, strict=True):
            hands[owner].append(card)
        number, dealer = self.tables[table]
        return Game(self.rules, hands[:-1], deal_number=number, dealer=dealer)

    def chance_actions(self, game: Game) -> list[int]:
        """The chance actions that lead to the deal of `game`."""
        if not self.rules.is_same_deal(game.rules):
            raise HeartsError(
                f"rules: the game is of {game.rules.name!r}, that of OpenSpiel of "
                f"{self.rules.name!r}; take the same"
            )
        if game.revoker is not None:
            raise HeartsError(
                "game: it ended by an illegal action, which OpenSpiel has not; give another game"
            )
        start, actions, kitty = game.start(), [], self.rules.players
        if len(self.tables) > 1:
            table = table_of(self.rules, game.deal_number, game.dealer)
            actions.append(self.tables.index(table))
        owner_of = {card: seat for seat in range(kitty) for card in start.hand(seat)}
        return actions + [owner_of.get(card, kitty) for card in self.rules.deck]

    # -- returns ----------------------------------------------------------------------------------
    def returns(self, game: Game) -> list[float]:
        """Return the returns so far, by seat, in the unit of the reward."""
        if not is_due(self._kind, game.is_over):
            return [0.0] * self.rules.players
        paid, out = np.zeros(self.rules.players, np.int64), np.zeros(self.rules.players)
        pay_seats(self.rules.vector, game.vector, self._kind, paid, self._scale, out)
        return list(out.tolist())

    @property
    def is_zero_sum(self) -> bool:
        """Whether the returns of all seats sum to zero."""
        if self.reward == "chips":
            return self.rules.settlement != "sweepstakes"
        return self.reward != "points"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest possible return."""
        if self.reward not in ("points", "chips"):
            return -1.0, 1.0
        rules = self.rules
        worth = [rules.card_points.get(card, 0) for card in rules.deck]
        costly, good = sum(p for p in worth if p > 0), -sum(p for p in worth if p < 0)
        if self.reward == "chips":
            others = rules.players - 1
            return -float(costly * (others if rules.settlement == "howell" else 1)), float(costly)
        moon = rules.moon_points if rules.moon != "none" else 0
        return -float(max(costly, moon)), float(good - rules.no_trick_points + moon)

    @property
    def longest(self) -> int:
        """The largest number of players' actions in a deal."""
        rules = self.rules
        return rules.players * most_cards(rules) + (rules.moon == "choose")

    # -- copies: one for all states, made anew where a state is read from text --------------------
    def __deepcopy__(self, memo: object) -> Setup:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Setup, (self.parameters,)


def _encoder(name: str, given: Mapping[str, Any]) -> Encoder:
    """The encoder that a parameter names."""
    try:
        return make_encoder(given[name])
    except HeartsError as error:
        raise HeartsError(str(error).replace("observation:", f"{name}:", 1)) from None
