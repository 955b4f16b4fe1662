"""Lock-step with OpenSpiel's hearts over all 256 combinations of its options.

An independent C++ implementation (skipped where it is not installed). Each
step compares the player and the legal cards, and thereby whether hearts are broken. The end
compares the scores.
"""

from __future__ import annotations

import itertools
import random

import pytest

from hearts_env import Game, Rules
from tests.lockstep import HEARTS_AND_QUEEN
from tests.slow import quick_cases

pyspiel = pytest.importorskip("pyspiel")

OPTIONS = (
    "pass_cards",
    "no_pts_on_first_trick",
    "can_lead_any_club",
    "jd_bonus",
    "avoid_all_tricks_bonus",
    "must_break_hearts",
    "qs_breaks_hearts",
    "can_lead_hearts_instead_of_qs",
)
COMBINATIONS = list(itertools.product((False, True), repeat=len(OPTIONS)))
DEALS = 50
# OpenSpiel's direction is how many seats further the cards go.
DIRECTIONS = ("hold", "left", "across", "right")


def our_rules(options: dict[str, bool], direction: str) -> Rules:
    """Return the equivalent `Rules`."""
    points = {**HEARTS_AND_QUEEN, **({"JD": -10} if options["jd_bonus"] else {})}
    return Rules(
        pass_count=3 if options["pass_cards"] else 0,
        pass_rotation=(direction,),
        points_on_first_trick=not options["no_pts_on_first_trick"],
        first_lead="any_club" if options["can_lead_any_club"] else "lowest_club",
        card_points=points,
        no_trick_points=-5 if options["avoid_all_tricks_bonus"] else 0,
        break_on="heart" if options["must_break_hearts"] else None,
        queen_breaks_hearts=options["qs_breaks_hearts"],
        unbroken_lead=(
            "queen_frees_hearts" if options["can_lead_hearts_instead_of_qs"] else "only_hearts"
        ),
    )


def card_table(game: object) -> dict[str, int]:
    """Return OpenSpiel's number of each card by our name."""
    state = game.new_initial_state()  # type: ignore[attr-defined]
    state.apply_action(0)
    names = {a: state.action_to_string(a) for a in state.legal_actions()}
    # Its text is ours already, rank then suit, in capitals.
    return {name: number for number, name in names.items()}


def start_both(options: dict[str, bool], hands: list[list[str]], direction: int):
    """Start the same deal in both programs."""
    theirs = pyspiel.load_game("hearts", options)
    table = card_table(theirs)
    state = theirs.new_initial_state()
    state.apply_action(direction)
    for place in range(52):  # dealt round the table
        state.apply_action(table[hands[place % 4][place // 4]])
    game = Game(our_rules(options, DIRECTIONS[direction]), hands)
    return game, state, table


def play_both(game: Game, state, table: dict[str, int], choose) -> None:
    """Play to the end side by side, comparing at every step."""
    while not game.is_over:
        assert state.current_player() == game.current_player
        legal = [game.rules.deck[action] for action in game.legal_actions()]
        assert sorted(state.legal_actions()) == sorted(table[card] for card in legal)
        card = choose(game, legal)
        state.apply_action(table[card])
        game.play(card)
    assert state.is_terminal()
    # Returns are 26 - points. A moon takes 26 off the shooter, who has taken 26: 0, as here.
    assert [26 - value for value in state.returns()] == game.scores()


@quick_cases("combination", COMBINATIONS, COMBINATIONS[::9])
def test_random_deals_equal_openspiel_hearts(combination: tuple[bool, ...]) -> None:
    options = dict(zip(OPTIONS, combination, strict=True))
    rng = random.Random(str(combination))
    for _ in range(DEALS):
        deck = list(Rules.preset("classic").deck)
        rng.shuffle(deck)
        hands = [deck[seat::4] for seat in range(4)]
        direction = rng.randrange(4) if options["pass_cards"] else 0
        play_both(*start_both(options, hands, direction), lambda _, legal: rng.choice(legal))
