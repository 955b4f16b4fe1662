"""What the states of a game of OpenSpiel share: rules, chance, rewards, encoders; no OpenSpiel."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hearts_env.cards import cards_of
from hearts_env.encoders import Encoder, make_encoder
from hearts_env.envs.rewards import REWARDS, Rewarder, is_due, pay_seats
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_choice, check_number
from hearts_env.support.errors import HeartsError, did_you_mean
from hearts_env.views.deals import all_masks, all_tables, most_cards, num_deals, table_of

NAME = "hearts_env"
"""The short name of the games in OpenSpiel."""

PARAMETERS: Mapping[str, str | int] = {
    "rules": "two_player",
    "players": 0,
    "reward": "margin",
    "chance": "auto",
    "observation": "flat",
    "information_state": "history",
}
"""The parameters of a game, by name, with what holds where nothing is said."""

CHANCES = ("auto", "deals", "cards")
"""How the cards are dealt: ``auto``, all deals at one node, or card by card.

There is no hidden draw at one node (SAMPLED_STOCHASTIC): OpenSpiel cannot write such a state where
the game is one of Python's, and card by card every history can be repeated.
"""

MAX_DEALS = 100_000
"""More deals than that are not put into one chance node."""


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
        reward: What is paid, one of ``REWARDS``.
        chance: How the cards are dealt, ``deals`` or ``cards``.
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
        self.chance = _check_chance(self.rules, given["chance"])
        self.tables = all_tables(self.rules)
        self.observer: Encoder = _encoder("observation", given)
        self.informer: Encoder = _encoder("information_state", given)
        self.parameters: dict[str, Any] = {"rules": rules_word(self.rules)} | {
            name: given[name]
            for name, usual in PARAMETERS.items()
            if name not in ("rules", "players") and given[name] != usual
        }

    # -- chance -----------------------------------------------------------------------------------
    @property
    def num_dealt(self) -> int:
        """How many cards are dealt in all."""
        return self.rules.players * self.rules.hand_size

    @property
    def deals(self) -> list[tuple[int, ...]]:
        """Every deal, as card masks, where they are listed."""
        return _listed(self.rules)[0]

    @functools.cached_property
    def even_chances(self) -> list[tuple[int, float]]:
        """The number and the chance of each of the listed deals."""
        return [(number, 1 / len(self.deals)) for number in range(len(self.deals))]

    def number_of(self, deal: tuple[int, ...]) -> int:
        """Which of the listed deals it is."""
        return _listed(self.rules)[1][deal]

    def hands_of(self, deal: tuple[int, ...]) -> list[list[str]]:
        """The cards of each seat in a deal of masks."""
        deck = self.rules.deck
        return [[deck[card] for card in cards_of(mask)] for mask in deal[:-1]]

    def start(self, deal: tuple[int, ...], table: int) -> Game:
        """The first position of a deal of masks."""
        number, dealer = self.tables[table]
        return Game(self.rules, self.hands_of(deal), deal_number=number, dealer=dealer)

    def deal_of(self, cards: Sequence[int]) -> tuple[int, ...]:
        """A deal as masks, its cards given seat by seat."""
        size, masks = self.rules.hand_size, []
        for first in range(0, len(cards), size):
            masks.append(sum(1 << card for card in cards[first : first + size]))
        return (*masks, (1 << len(self.rules.deck)) - 1 & ~sum(masks))

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
        start, actions = game.start(), []
        if len(self.tables) > 1:
            table = table_of(self.rules, game.deal_number, game.dealer)
            actions.append(self.tables.index(table))
        seats = range(self.rules.players)
        cards = [self.rules.index[card] for seat in seats for card in start.hand(seat)]
        if self.chance == "deals":
            return [*actions, self.number_of(self.deal_of(cards))]
        return actions + cards

    # -- what it is worth -------------------------------------------------------------------------
    def returns(self, game: Game) -> list[float]:
        """What each seat has earned so far, in the unit of the reward."""
        if not is_due(self._kind, game.is_over):
            return [0.0] * self.rules.players
        paid, out = np.zeros(self.rules.players, np.int64), np.zeros(self.rules.players)
        pay_seats(self.rules.vector, game.vector, self._kind, paid, self._scale, out)
        return list(out.tolist())

    @property
    def is_zero_sum(self) -> bool:
        """Whether the returns of all seats sum to nothing."""
        if self.reward == "chips":
            return self.rules.settlement != "sweepstakes"
        return self.reward != "points"

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which numbers every return lies."""
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
        """The most actions of players in a deal."""
        rules = self.rules
        return rules.players * most_cards(rules) + (rules.moon == "choose")

    # -- copies: one for all states, made anew where a state is read from text --------------------
    def __deepcopy__(self, memo: object) -> Setup:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Setup, (self.parameters,)


def _check_chance(rules: Rules, chance: object) -> str:
    """How the cards are dealt: ``deals`` where nothing is said and they are few."""
    chance = check_choice("chance", chance, CHANCES)
    number = num_deals(rules)
    if chance == "auto":
        return "deals" if number <= MAX_DEALS else "cards"
    if chance == "deals" and number > MAX_DEALS:
        raise HeartsError(
            f"chance: 'deals' lists every deal, and {rules.name!r} has {number:,}, more than "
            f"{MAX_DEALS:,}; take 'cards'"
        )
    return chance


def _encoder(name: str, given: Mapping[str, Any]) -> Encoder:
    """The encoder that a parameter names."""
    try:
        return make_encoder(given[name])
    except HeartsError as error:
        raise HeartsError(str(error).replace("observation:", f"{name}:", 1)) from None


@functools.lru_cache(maxsize=4)
def _listed(rules: Rules) -> tuple[list[tuple[int, ...]], dict[tuple[int, ...], int]]:
    """Every deal as masks, and the number of each."""
    deals = list(all_masks(rules))
    return deals, {deal: number for number, deal in enumerate(deals)}
