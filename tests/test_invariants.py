"""What holds at each step of every game, whatever the rules."""

from __future__ import annotations

from hearts_env import Game, kernel
from hearts_env.cards import list_of, mask_of
from tests.slow import drawn
from tests.strategies import games


@drawn(15, 100, games())
def test_each_card_is_in_one_place(game: Game) -> None:
    """In a hand, in the unfinished trick, taken, or in a kitty that nobody has."""
    seats = range(game.rules.players)
    places = [card for seat in seats for card in game.hand(seat)]
    places += [card for seat in seats for card in game.taken(seat)]
    places += [card for _, card in game.trick]
    if game.kitty_taker is None:
        places += game.kitty
    assert sorted(places) == sorted(game.rules.deck)
    # And each card played was played once, by one of whom it left the hand.
    played = [card for seat in seats for card in game.played(seat)]
    assert sorted(played) == sorted(card for _, card in game.history)
    for seat in seats:
        assert game.cards_left(seat) == len(game.hand(seat))
        assert not set(game.played(seat)) & set(game.hand(seat))
        assert set(game.passed(seat)) <= set(game.start().hand(seat))


@drawn(15, 100, games())
def test_points_taken_and_outstanding_are_all_there_are(game: Game) -> None:
    worth = game.rules.card_points
    seats = range(game.rules.players)
    outstanding = [card for seat in seats for card in game.hand(seat)]
    outstanding += [card for _, card in game.trick]
    if game.kitty_taker is None:
        outstanding += game.kitty
    total = sum(worth.get(card, 0) for card in game.rules.deck)
    assert sum(game.points()) + sum(worth.get(card, 0) for card in outstanding) == total
    for seat in seats:
        assert game.points()[seat] == sum(worth.get(card, 0) for card in game.taken(seat))


@drawn(15, 100, games())
def test_the_mask_is_empty_at_the_end_and_only_there(game: Game) -> None:
    legal = game.legal_actions()
    assert bool(legal) is not game.is_over
    assert (game.player is None) is game.is_over
    assert legal == sorted(set(legal)) == list_of(game.legal_mask)
    assert mask_of(legal) == game.legal_mask
    deck = len(game.rules.deck)
    if game.phase == "moon":
        assert legal == [deck, deck + 1]
    elif legal:
        assert game.player is not None
        # Only cards of the hand.
        assert {game.rules.deck[action] for action in legal} <= set(game.hand(game.player))
    assert all(action < game.rules.num_actions for action in legal)


@drawn(15, 100, games())
def test_margins_add_up_to_nothing(game: Game) -> None:
    assert abs(sum(game.margins())) < 1e-9
    total = sum(game.scores())
    for seat, margin in enumerate(game.margins()):
        own = game.scores()[seat]
        others = (total - own) / (game.rules.players - 1)
        assert abs(margin - (others - own)) < 1e-9
        # The kernel's whole number is the margin times the others.
        whole = int(kernel.margin_sum(game.rules.vector, game.vector, seat))
        assert abs(whole - margin * (game.rules.players - 1)) < 1e-6


@drawn(15, 100, games())
def test_what_a_player_concludes_is_true(game: Game) -> None:
    """Suits shown void are gone from the hand; the real deal is among the worlds."""
    seats = range(game.rules.players)
    dead = () if game.kitty_taker is not None else game.kitty
    truth = (*(game.hand(seat) for seat in seats), dead)
    for seat in seats:
        assert not any(card[1] in game.voids(seat) for card in game.hand(seat))
        view = game.view(seat)
        if view.num_worlds <= 300:
            assert truth in set(view.worlds())
