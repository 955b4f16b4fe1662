"""Redraw everything in a game that one player cannot know.

``reshuffled(game, player, seed)`` deals the unseen cards anew, consistently with the public
history. The others pass other cards in the exchange, and the history is replayed from the new
deal. Everything made for `player` from either game must be equal.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from hearts_env import Game


def reshuffled(game: Game, player: int, seed: int) -> Game:
    """Return a game in the same public position, with other hidden cards and secret passes.

    The hidden cards are drawn uniformly from ``game.view(player).worlds()``. A draw may be the
    truth itself. In an unfinished exchange, the others' choices are redrawn too.

    Raises:
        IllegalActionError: the world drawn contradicts the public history, by an error in
            ``sample_worlds``.
    """
    (world,) = game.view(player).sample_worlds(1, seed)
    return game_of_world(game, player, world, random.Random(f"passes {seed}"))


def game_of_world(
    game: Game, player: int, world: Sequence[Sequence[str]], rng: random.Random
) -> Game:
    """Replay the public history of `game` from the deal that `world` implies.

    Args:
        game: the game as it is.
        player: the seat that knows its own hand and exchange, which are kept.
        world: the present hand of each seat and, last, the dead cards.
        rng: draws the cards that the others passed, which the world leaves open.
    """
    rules, seats = game.rules, range(game.rules.players)
    hands = [set(world[seat]) | set(game.played(seat)) for seat in seats]
    kitty = world[-1] if game.kitty_taker is None else game.kitty
    step = {"hold": 0, "left": 1, "right": -1, "across": rules.players // 2}[game.direction]
    passes: list[list[str]] = [[] for _ in seats]
    actions = game.actions
    if step:
        count = rules.pass_count
        own = [rules.deck[a] for a in actions[player * count : (player + 1) * count]]
        own = own[: len(game.passed(player))]
        if game.phase == "pass" or not game.received(player):  # not yet delivered
            for seat in seats:
                number = len(game.passed(seat))
                passes[seat] = rng.sample(sorted(hands[seat]), number)
            passes[player] = own
        else:
            # A seat may have received any cards that it held after the exchange. Only the cards
            # that the player itself passed and received are known.
            for seat in seats:
                receiver = (seat + step) % rules.players
                passes[seat] = rng.sample(sorted(hands[receiver]), count)
                if receiver == player:
                    passes[seat] = rng.sample(game.received(player), count)
            passes[player] = own
            for seat in seats:
                hands[(seat + step) % rules.players] -= set(passes[seat])
            for seat in seats:
                hands[seat] |= set(passes[seat])
        actions = actions[sum(len(game.passed(seat)) for seat in seats) :]
    other = Game(
        rules, hands, kitty, deal_number=game.deal_number, dealer=game.dealer, totals=game.totals
    )
    for card in [card for cards in passes for card in cards]:
        other.play(card)
    for action in actions:
        if action == -1:
            other.revoke()
        else:
            other.play(action)
    return other
