"""Keys of information states, games of views, and lists of all deals."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest

from hearts_env import DealError, Game, Rules
from hearts_env.rules.presets import PRESETS
from hearts_env.solve.tree import Tree
from hearts_env.solve.walk import Walk
from hearts_env.views.deals import all_deals, all_tables, num_deals, table_of
from hearts_env.views.view import PlayerView
from tests.lockstep import every_deal
from tests.reshuffle import reshuffled
from tests.slow import quick_given
from tests.strategies import games, positions, rule_sets
from tests.test_view import small


def assert_keys_tell_as_much_as_views(views: list[PlayerView]) -> None:
    """Fail unless views are equal exactly if their keys are."""
    contents: dict[str, tuple[Any, ...]] = {}
    keys: dict[tuple[Any, ...], str] = {}
    for view in views:
        content = (view.rules, view.player, view.vector.tobytes())
        key = view.key()
        assert contents.setdefault(key, content) == content, key
        assert keys.setdefault(content, key) == key, (keys[content], key)


# ---- keys ----------------------------------------------------------------------------------------


@quick_given(5, 30, games(rule_sets(max_players=5, max_hand=5)))
def test_keys_match_views_under_any_rules(game: Game) -> None:
    positions = [game]
    while positions[-1].actions:
        positions.append(positions[-1].clone())
        positions[-1].undo()
    views = []
    for position in positions:
        for player in range(game.rules.players):
            views += [position.view(player), reshuffled(position, player, 1).view(player)]
    assert_keys_tell_as_much_as_views(views)


@pytest.mark.parametrize("name", ["micro", "mini hand_size=2 queen_any_time=true"])
def test_information_sets_have_distinct_keys(name: str) -> None:
    """Every choice in every deal has its own key, which all its worlds share."""
    tree = Tree(name)
    keys = set()
    for player in range(2):
        for _, views in tree.blocks(player):
            for view in views:
                keys.add(view.key())
                for world in itertools.islice(view.worlds(), 2):
                    assert Game.from_view(view, world).view(player).key() == view.key()
    assert len(keys) > 100
    assert len(keys) == sum(side.num_infosets for side in tree.sides)


def test_key_text_is_as_documented() -> None:
    game = Game.deal("classic", seed=3, deal_number=0, dealer=2)
    for _ in range(20):
        game.play(game.legal_actions()[0])
    view = game.view(1)
    assert view.key() == (
        "classic; player 1; deal 0 by 2; hand 7C TD QD KD 5S 7S QS AS 6H JH KH; "
        "passed 2C TC 9D; received 4C 5C 7C; "
        "played 2:2C 3:6C 0:3C 1:4C 3:8C 0:9C 1:5C 2:TC; play 2"
    )
    ahead = Game(
        "micro", [game_hand.split() for game_hand in ("QC AC QD", "AD QS AS")], totals=[7, -2]
    )
    assert ahead.view(0).key() == "micro; player 0; totals 7 -2; hand QC AC QD; play 0"


def test_keys_of_different_rules_and_tables_differ() -> None:
    deal = [["QC", "AC", "QD"], ["AD", "QS", "AS"]]
    made = [
        Game("micro", deal),
        Game("micro moon_points=7", deal),
        Game("micro", deal, dealer=1),
        Game("micro", deal, deal_number=1),
        Game("micro", deal, totals=[0, 1]),
    ]
    assert len({game.view(0).key() for game in made}) == len(made)


# ---- games of views ------------------------------------------------------------------------------
def hands_of(game: Game) -> tuple[tuple[str, ...], ...]:
    """Return the true world."""
    dead = game.kitty if game.kitty_taker is None else ()
    return (*(game.hand(p) for p in range(game.rules.players)), dead)


@quick_given(10, 60, games(rule_sets(max_players=7, max_hand=9)))
def test_game_from_view_under_any_rules(game: Game) -> None:
    for player in range(game.rules.players):
        view = game.view(player)
        for world in [hands_of(game), *view.sample_worlds(2, seed=1)]:
            other = Game.from_view(view, world)
            assert other.view(player) == view
            assert hands_of(other) == world
            if not other.is_over:  # and it can be played on
                other.play(other.legal_actions()[0])


def test_only_worlds_of_the_view_make_a_game() -> None:
    """Every arrangement of micro's unseen cards that is no world of the view is refused."""
    rules = Rules.preset("micro").replace(queen_any_time=True)
    refused = 0
    for seed in range(12):
        for game in positions(rules, seed):
            for player in range(2):
                view = game.view(player)
                worlds = set(view.worlds())
                number = game.cards_left(1 - player)
                for hand in itertools.combinations(view.unseen, number):
                    dead = tuple(card for card in view.unseen if card not in hand)
                    world = (hand, view.hand, dead) if player else (view.hand, hand, dead)
                    if world in worlds:
                        assert Game.from_view(view, world).view(player) == view
                    else:
                        refused += 1
                        with pytest.raises(DealError):
                            Game.from_view(view, world)
    assert refused > 100


def test_passes_of_others_are_drawn_uniformly() -> None:
    rules = small(3, 3, ranks="TQA", pass_count=1, pass_rotation=("left",))
    game = Game.deal(rules, seed=5)
    while game.phase == "pass":
        game.play(game.legal_actions()[0])
    view = game.view(0)
    world = hands_of(game)
    passes = Counter(Game.from_view(view, world, seed).passed(1) for seed in range(300))
    # Any card of seat 2 may have come from seat 1. Seat 0 knows the passes of seats 0 and 2.
    assert set(passes) == {(card,) for card in world[2]}
    assert min(passes.values()) > 60  # a hundred each on average
    for seed in range(5):
        other = Game.from_view(view, world, seed)
        assert (other.passed(0), other.passed(2)) == (view.passed, view.received)
        assert other.actions == Game.from_view(view, world, seed).actions


# ---- deals ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["micro", "mini hand_size=2", "micro first_lead=eldest_hand"])
def test_all_deals_equal_plain_enumeration(name: str) -> None:
    rules = Rules.make(name)
    deals = list(all_deals(name))
    assert deals == [(*(g.hand(p) for p in (0, 1)), g.kitty) for g in every_deal(rules)]
    assert len(set(deals)) == len(deals) == num_deals(name)
    # The exact tools take those in which seat 0 leads first.
    leads = [
        tuple(sum(1 << rules.index[card] for card in hand) for hand in deal[:2])
        for deal in deals
        if Game(rules, deal[:-1], dealer=1).leader == 0
    ]
    assert sorted(leads) == sorted(map(tuple, Walk(rules).deals.tolist()))


def test_all_tables() -> None:
    assert all_tables("two_player") == [(0, 0)]
    assert all_tables("classic") == [(number, 0) for number in range(4)]
    assert all_tables("hoyle") == [(0, dealer) for dealer in range(4)]
    assert len(all_tables("party pass_rotation=left first_lead=eldest_hand")) == 4


@pytest.mark.parametrize("name", PRESETS)
def test_seeded_games_play_as_at_a_table(name: str) -> None:
    """A deal with any number and dealer plays as one of the tables."""
    for seed in range(8):
        game = Game.deal(name, seed)
        rules, rng = game.rules, random.Random(seed)
        number, dealer = table_of(rules, game.deal_number + 4 * seed, game.dealer)
        assert (number, dealer) in all_tables(rules)
        hands = [game.hand(p) for p in range(rules.players)]
        same = Game(rules, hands, deal_number=number, dealer=dealer)
        while not game.is_over:
            assert (game.current_player, game.legal_mask) == (same.current_player, same.legal_mask)
            action = rng.choice(game.legal_actions())
            game.play(action)
            same.play(action)
        assert game.scores() == same.scores()
