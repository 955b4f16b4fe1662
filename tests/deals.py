"""Known deals from text, for tests that count by hand."""

from __future__ import annotations

from typing import Any

from hearts_agents import make_agent
from hearts_env import Game, Rules
from hearts_env.cards import ALL_CARDS
from tests.lockstep import HEARTS_AND_QUEEN, naive_of


def make_game(
    hands: str, kitty: str = "", *, deal_number: int = 0, dealer: int = 0, **changes: Any
) -> Game:
    """Return a deal of exactly the named cards, under the default rules with `changes`.

    Args:
        hands: the cards of each seat, parted by slashes.
        kitty: the cards not dealt.
        deal_number: picks the rotation.
        dealer: the seat before the eldest hand.
        changes: fields of ``Rules``.
    """
    parts = [hand.split() for hand in hands.split("/")]
    deck = [card for part in parts for card in part] + kitty.split()
    points = {card: worth for card, worth in HEARTS_AND_QUEEN.items() if card in deck}
    fields = {
        "players": len(parts),
        "hand_size": len(parts[0]),
        "removed": tuple(card for card in ALL_CARDS if card not in deck),
        # Some card must be worth something.
        "card_points": points or {max(deck): 1},
    }
    rules = Rules(**{**fields, **changes})
    return Game(rules, parts, kitty.split(), deal_number=deal_number, dealer=dealer)


def play(game: Game, plays: str) -> Game:
    """Play the named cards and return the game. Check it against the naive rules."""
    for card in plays.split():
        game.play(card)
    naive = naive_of(game)
    for action in game.actions:
        naive.play(action)
    assert (naive.phase, naive.current_player, naive.legal()) == (
        game.phase,
        game.current_player,
        game.legal_actions(),
    )
    assert (naive.points(), naive.scores()) == (game.points, game.scores())
    return game


def legal(game: Game) -> str:
    """Return the legal cards, in deck order."""
    return " ".join(game.rules.deck[action] for action in game.legal_actions())


def hand(game: Game, player: int) -> str:
    """Return the cards that a seat holds, in deck order."""
    return " ".join(game.hand(player))


def played(rules: str, seed: int, *names: str, cards: int | None = None) -> Game:
    """Play a deal with these agents, to its end or for some actions."""
    agents = [make_agent(name, seed=1) for name in names]
    game = Game.deal(rules, seed)
    while not game.is_over and len(game.actions) != cards:
        game.play(agents[game.current_player].act(game.view(game.current_player)))
    return game
