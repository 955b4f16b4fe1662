"""The package's game and the naive one, side by side at every step."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import strategies as st

from hearts_env import Game, Rules
from hearts_env.rules.presets import GAMES
from hearts_env.rules.rules import FIELDS
from tests.lockstep import (
    HEARTS_AND_QUEEN,
    MATCH_FIELDS,
    SAMPLE,
    assert_same,
    every_deal,
    every_line,
    lockstep_deals,
    naive_of,
    play_in_lockstep,
    single_changes,
)
from tests.slow import quick_cases, quick_count, quick_given
from tests.strategies import rule_sets


@pytest.mark.parametrize("rules", ["two_player", "classic", "mini"])
def test_card_points_equal_an_independent_table(rules: str) -> None:
    """The naive game takes its points from the rules, so it would agree with any."""
    deck, worth = Rules.from_text(rules).deck, Rules.from_text(rules).card_points
    assert {c: worth.get(c, 0) for c in deck} == {c: HEARTS_AND_QUEEN.get(c, 0) for c in deck}


@quick_count("deals", 5, 80)
@pytest.mark.parametrize(("name", "players"), GAMES)
def test_random_deals_equal_naive_game(name: str, players: int, deals: int) -> None:
    lockstep_deals(Rules.preset(name, players), deals * (10 if players == 2 else 1), first_seed=0)


@quick_count("deals", 1, 6)
@quick_cases(("name", "players"), SAMPLE, SAMPLE[:3])
def test_single_option_changes_equal_naive_game(name: str, players: int, deals: int) -> None:
    seen = set()
    for number, (field, rules) in enumerate(single_changes(Rules.preset(name, players))):
        seen.add(field)
        lockstep_deals(rules, 1 if field in MATCH_FIELDS else deals, first_seed=20 * number)
    # Every field has another value that these rules accept; a few need more cards than there are,
    # fewer, or no bonus card.
    missing = set(FIELDS) - seen
    assert missing <= {"players", "removed", "kitty_to", "settlement"}


@quick_given(25, 250, rule_sets(), st.integers(0, 2**40))
def test_random_rules_equal_naive_game(rules: Rules, seed: int) -> None:
    lockstep_deals(rules, 10, first_seed=seed)


def test_every_line_of_micro_equals_naive_game() -> None:
    deals = lines = positions = 0
    for deal in every_deal(Rules.preset("micro")):
        deals += 1
        for game, naive in every_line(deal):
            assert_same(game, naive)
            positions += 1
            lines += game.is_over
    # 8! / (3! 3! 2!) deals; the rule book says "about 4,200 lines of play in all".
    assert deals == 560
    assert lines == 4216
    assert positions > lines


VARIANTS = [
    "two_player trump=null",
    "two_player queen_any_time=true",
    "two_player break_on=heart unbroken_lead=only_hearts",
    "mini moon=choose",
    "micro first_lead=any_club",
    'classic pass_rotation=["hold"]',
    "party players=6 pass_count=1",
    "party players=7 pass_count=0",
    "kitty players=4 hand_size=3 pass_count=0",
    "kitty players=3 hand_size=3 pass_count=1",
    "omnibus players=3 pass_count=0",
]


@quick_count("most", 100, 2000)
@pytest.mark.parametrize("text", [*(f"{name} players={n}" for name, n in GAMES), *VARIANTS])
def test_continuations_of_some_positions_equal_naive_game(text: str, most: int) -> None:
    """Depth first, so that the ends of deals are there with all their lines."""
    rules = Rules.from_text(text)
    for seed in range(3):
        game, rng = Game.deal(rules, seed), random.Random(seed)
        for _ in range(rng.randrange(rules.players * rules.hand_size)):
            game.play(rng.choice(game.legal_actions()))
        for ours, naive in itertools.islice(every_line(game), most):
            assert_same(ours, naive)


@pytest.mark.parametrize(("name", "players"), SAMPLE)
def test_revoke_at_every_step_equals_naive_game(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    rng = random.Random(5)
    game = Game.deal(rules, seed=5)
    while not game.is_over:
        revoked, naive = game.clone(), naive_of(game)
        for action in game.actions:
            naive.play(action)
        revoked.revoke()
        naive.revoke()
        assert_same(revoked, naive)
        game.play(rng.choice(game.legal_actions()))


@pytest.mark.parametrize("dealer", range(5))
@pytest.mark.parametrize("deal_number", range(4))
def test_every_dealer_and_rotation_equals_naive_game(dealer: int, deal_number: int) -> None:
    for first_lead in ("eldest_hand", "lowest_club"):
        rules = Rules.preset("party", players=5).replace(
            first_lead=first_lead, pass_rotation=("left", "across", "right", "hold")
        )
        game = Game.deal(rules, 11, deal_number=deal_number, dealer=dealer)
        play_in_lockstep(game, random.Random(dealer))
