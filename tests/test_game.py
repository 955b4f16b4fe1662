"""``Game`` as an object: actions, errors, undo, copies, known deals and seeds."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from hearts_env import DealError, Game, IllegalActionError, Rules
from tests.deals import play
from tests.refusals import raises_hearts_error
from tests.slow import quick_given
from tests.strategies import games, played_on, rule_sets

HANDS = ["QC QS QH", "AC AD AH"]


def micro() -> Game:
    return Game("micro", HANDS, "QD AS")


# ---- actions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        0,
        "QC",
        "qc",
        " Q♣ ",
        np.int64(0),
        np.array(0),
        np.str_("QC"),
    ],
)
def test_action_is_number_or_card_name(action: Any) -> None:
    game = micro()
    game.play(action)
    assert game.trick == ((0, "QC"),)
    assert game.actions == [0]
    assert type(game.actions[0]) is int


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (1, ["1 (AC)", "player 0", "0 (QC)"]),  # not in the hand
        ("AC", ["1 (AC)", "player 0", "0 (QC)"]),
        ("QS", ["4 (QS)", "0 (QC)"]),  # in the hand, but the lowest club is to be led
        (8, ["8", "0 (QC)"]),  # there is no moon choice in these rules
        (99, ["99"]),
        (10**30, [str(10**30)]),
        ("2C", ["'2C'"]),
        ("QX", ["'QX'", "(2..9"]),
    ],
    ids=repr,
)
def test_bad_action_is_refused_and_changes_nothing(action: Any, words: list[str]) -> None:
    game = micro()
    before = game.clone()
    with pytest.raises(IllegalActionError) as caught:
        game.play(action)
    message = str(caught.value)
    assert message.startswith("action: ")
    for word in words:
        assert word in message
    assert "\n" not in message
    assert game == before
    assert (game.actions, game.legal_actions(), game.current_player) == ([], [0], 0)
    game.play(0)  # and can be played on


@quick_given(17, 100, games(), st.integers(-2, 60))
def test_every_action_outside_the_mask_is_refused(game: Game, action: int) -> None:
    before = game.clone()
    if action in game.legal_actions():
        game.play(action)
        assert game != before
        return
    with pytest.raises(IllegalActionError):
        game.play(action)
    assert game == before
    assert game.actions == before.actions
    assert game.legal_actions() == before.legal_actions()


def test_nothing_can_be_played_after_the_end() -> None:
    game = play(micro(), "QC AC AD QH QS AH")
    before = game.clone()
    for action in (0, "QC", 99):
        with raises_hearts_error(IllegalActionError, "action", "Game.deal"):
            game.play(action)
    with raises_hearts_error(IllegalActionError, "action"):
        game.revoke()
    assert game == before
    assert (game.is_over, game.current_player, game.legal_mask, game.legal_actions()) == (
        True,
        None,
        0,
        [],
    )


def test_a_moon_choice_has_a_name() -> None:
    rules = Rules.preset("micro").replace(moon="choose")
    game = play(Game(rules, HANDS, "QD AS"), "QC AC AD QS AH QH")
    assert [game.rules.action_name(a) for a in game.legal_actions()] == ["moon:off", "moon:others"]
    with raises_hearts_error(IllegalActionError, "action", 8, "(moon:off)", 9, "(moon:others)"):
        game.play(10)
    with raises_hearts_error(IllegalActionError, "action", "QC"):
        game.play("QC")


# ---- undo ---------------------------------------------------------------------------------------


@quick_given(17, 100, rule_sets(max_hand=8), st.integers(0, 2**40))
def test_undo_goes_back_step_by_step(rules: Rules, seed: int) -> None:
    length = rules.players * (rules.hand_size + rules.pass_count) + 1
    game = played_on(rules, seed, length, revoke=True)
    past = []
    for steps in range(len(game.actions)):
        past.append(played_on(rules, seed, steps))
    while past:
        game.undo()
        earlier = past.pop()
        assert game == earlier
        assert game.actions == earlier.actions
        assert game.legal_actions() == earlier.legal_actions()
        assert (game.current_player, game.phase) == (earlier.current_player, earlier.phase)
    with raises_hearts_error(IllegalActionError, "undo"):
        game.undo()


# ---- copies -------------------------------------------------------------------------------------


@quick_given(17, 100, games(), st.integers(0, 2**40))
def test_copies_play_on_identically_and_independently(game: Game, seed: int) -> None:
    twins = [
        game.clone(),
        copy.copy(game),
        copy.deepcopy(game),
        pickle.loads(pickle.dumps(game)),
        Game.from_text(game.to_text()),
    ]
    before = game.clone()
    rng = np.random.default_rng(seed)
    plays = []
    while not game.is_over:
        plays.append(int(rng.choice(game.legal_actions())))
        game.play(plays[-1])
    for twin in twins:
        assert twin == before
        assert twin.actions == before.actions
        for action in plays:
            twin.play(action)
        assert twin == game
        assert twin.scores() == game.scores()
        if twin.actions:
            twin.undo()
            assert twin != game


def test_games_compare_by_state() -> None:
    game = micro()
    assert game == micro()
    assert game != play(micro(), "QC")
    assert game != Game("micro", HANDS, "QD AS", dealer=1)
    assert game != Game(Rules.preset("micro").replace(moon="none"), HANDS, "QD AS")
    assert game != "micro"
    with pytest.raises(TypeError):
        hash(game)


# ---- known deals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hands", "kitty", "words"),
    [
        (["QC QS", "AC AD AH"], "QD AS", ["hands[0]", "2", "3"]),
        (HANDS, "QD", ["kitty", "1", "2"]),  # a missing card
        (["QC QS QH", "AC AD QC"], None, ["hands[1]", "QC", "hands[0]"]),  # doubled
        (HANDS, "QD QC", ["kitty", "QC", "hands[0]"]),
        (["QC QS 2H", "AC AD AH"], None, ["hands[0]", "2H"]),  # foreign
        (["QC QS XH", "AC AD AH"], None, ["hands[0]", "'XH'", "(2..9"]),
        (["QC QS QH"], None, ["hands", "2"]),
    ],
)
def test_a_bad_deal_is_refused(hands: Any, kitty: Any, words: list[str]) -> None:
    with raises_hearts_error(DealError, *words) as caught:
        Game("micro", hands, kitty)
    assert "\n" not in str(caught.value)


def test_deal_accepts_lists_or_words_without_kitty() -> None:
    expected = micro()
    assert Game("micro", [["QH", "QC", "QS"], ("ah", "A♦", "AC")]) == expected
    assert Game(Rules.preset("micro"), [{"QC", "QS", "QH"}, iter(["AC", "AD", "AH"])]) == expected


# ---- seeds --------------------------------------------------------------------------------------


def test_the_cards_depend_on_the_seed_alone() -> None:
    game = Game.deal("classic", seed=5)
    for deal_number in range(4):
        for dealer in range(4):
            other = Game.deal("classic", seed=5, deal_number=deal_number, dealer=dealer)
            assert [other.hand(p) for p in range(4)] == [game.hand(p) for p in range(4)]
            assert (other.deal_number, other.dealer) == (deal_number, dealer)
    assert Game.deal("classic", seed=6).hand(0) != game.hand(0)
    assert Game.deal("classic", seed=np.int64(5)) == game


def test_deals_are_evenly_spread() -> None:
    """The 560 deals of micro, the dealers and the rotation are about equally frequent."""
    rules = Rules.preset("micro").replace(pass_count=1, pass_rotation=("left", "hold", "right"))
    games = [Game.deal(rules, seed) for seed in range(28_000)]
    counts = Counter((game.hand(0), game.hand(1)) for game in games)
    # Expected 50 each. Pearson's statistic has mean 559 and standard deviation sqrt(2 * 559).
    assert sum((n - 50) ** 2 / 50 for n in counts.values()) < 559 + 5 * (2 * 559) ** 0.5
    assert len(counts) == 560
    for field, values in (("dealer", 2), ("deal_number", 3)):
        spread = Counter(getattr(game, field) for game in games)
        expected = 28_000 / values
        assert len(spread) == values
        assert all(abs(n - expected) < 5 * expected**0.5 for n in spread.values())
