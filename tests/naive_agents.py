"""A second implementation of the baseline agents, with sets and strings.

They play `NaiveGame`s and share no code with hearts_agents.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tests.naive import NaiveGame, in_suit, naive_worlds, suit_of

RANKS = "23456789TJQKA"
SUITS_BY_VALUE = "CDHS"

Policy = Callable[[NaiveGame], int]


def value(card: str) -> tuple[int, int]:
    """Return the rank, then the suit: spades highest, then hearts, diamonds, clubs."""
    return RANKS.index(card[0]), SUITS_BY_VALUE.index(card[1])


def takes(game: NaiveGame, card: str) -> bool:
    """Return whether the card would take the trick as it stands."""
    cards = [played for _, played in game.trick] + [card]
    trumps = [c for c in cards if c[1] == game.rules.trump]
    contest = trumps or [c for c in cards if c[1] == cards[0][1]]
    return max(contest, key=value) == card


def trick_points(game: NaiveGame) -> int:
    """Return the points of the cards on the table."""
    return sum(game.rules.card_points.get(card, 0) for _, card in game.trick)


def naive_standard(game: NaiveGame) -> int:
    """Return the action of `standard`."""
    return _action(game, aware=False)


def naive_standard_trump(game: NaiveGame) -> int:
    """Return the action of `standard_trump`."""
    return _action(game, aware=True)


def _action(game: NaiveGame, *, aware: bool) -> int:
    if game.phase == "moon":
        return len(game.deck) + 1  # "the others pay"
    legal = game.legal_cards()
    if game.phase == "pass" or not game.trick:
        # "passes the highest cards by value", "Leading: the lowest card".
        pick = max if game.phase == "pass" else min
        return game.deck.index(pick(legal, key=value))
    led = suit_of(game.trick[0][1])
    assert game.current_player is not None
    has_suit = bool(in_suit(game.hands[game.current_player], led))
    card = _following(game, legal, led) if has_suit else _void(game, legal, aware=aware)
    if aware and card == "QS" and takes(game, card):
        others = in_suit(legal, "S") - {"QS"}
        card = max(others, key=value) if others else card
    return game.deck.index(card)


def _following(game: NaiveGame, legal: set[str], led: str) -> str:
    same = in_suit(legal, led)
    ducks = {card for card in legal if not takes(game, card)}
    is_last = len(game.trick) == game.rules.players - 1
    if not is_last:
        return max(ducks, key=value) if ducks else min(same, key=value)
    if trick_points(game) <= 0:
        return max(same, key=value)
    if ducks:
        return max(ducks, key=value)
    return max(same - {"QS"} or same, key=value)


def _void(game: NaiveGame, legal: set[str], *, aware: bool) -> str:
    if not aware:
        return "QS" if "QS" in legal else max(legal, key=value)
    ducks = {card for card in legal if not takes(game, card)}
    if "QS" in ducks:
        return "QS"
    return max(ducks, key=value) if ducks else min(legal, key=value)


def naive_pro(game: NaiveGame, policy: Policy = naive_standard) -> int:
    """Return the action of `pro` over all worlds."""
    legal = game.legal()
    if game.phase != "play" or len(legal) == 1:
        return policy(game)
    assert game.current_player is not None
    known = game.knowledge(game.current_player)
    sums = dict.fromkeys(legal, Fraction())
    for world in naive_worlds(game.rules, known):
        for action in legal:
            other = copy.deepcopy(game)
            other.hands = [set(hand) for hand in world[:-1]]
            if game.kitty_taker is None:
                other.kitty = set(world[-1])
            sums[action] += played_out(other, action, game.current_player, policy)
    return max(legal, key=lambda action: (sums[action], -action))


def played_out(game: NaiveGame, action: int, player: int, policy: Policy) -> Fraction:
    """Return the margin of `player` if `policy` continues after `action`."""
    game.play(action)
    while game.phase != "over":
        game.play(policy(game))
    scores: list[Any] = game.scores()
    others = sum(scores) - scores[player]
    return Fraction(others, len(scores) - 1) - scores[player]
