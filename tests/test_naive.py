"""Checks naive.py itself, on deals so small that the comments count them by hand."""

# mypy: disable-error-code="comparison-overlap"
# (fractions and whole numbers are compared, as they may be)

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from tests.naive import (
    NaiveGame,
    NaiveMatch,
    naive_deck,
    naive_settle,
    naive_world_bound,
    naive_worlds,
)

ALL = [rank + suit for suit in "CDSH" for rank in "23456789TJQKA"]
HEARTS_AND_QUEEN = {card: 1 for card in ALL if card[1] == "H"} | {"QS": 13}


def make_rules(deck: list[str], **changes: Any) -> Any:
    """Returns the rule book's defaults for two players, for a deck of just these cards."""
    fields = {
        "players": 2,
        "removed": [card for card in ALL if card not in deck],
        "hand_size": 3,
        "trump": None,
        "first_lead": "lowest_club",
        "break_on": "heart",
        "unbroken_lead": "only_hearts",
        "points_on_first_trick": True,
        "queen_any_time": False,
        "queen_breaks_hearts": False,
        "card_points": HEARTS_AND_QUEEN,
        "moon": "others_plus",
        "moon_points": 26,
        "no_trick_points": 0,
        "kitty_to": "nobody",
        "pass_count": 0,
        "pass_rotation": ("hold",),
        "end_score": 100,
        "end_when": "reached",
        "tie": "lowest_shared",
        "max_deals": None,
        "settlement": "points",
        "stake": 100,
        "target": None,
    }
    assert set(changes) <= set(fields)
    return SimpleNamespace(**fields | changes)


def make_game(
    *hands: str, kitty: str = "", deal_number: int = 0, dealer: int = 0, **changes: Any
) -> NaiveGame:
    """Returns a deal of exactly the cards named."""
    cards = [hand.split() for hand in hands]
    deck = " ".join((*hands, kitty)).split()
    sizes = {"players": len(hands), "hand_size": len(cards[0])}
    rules = make_rules(deck, **sizes | changes)
    return NaiveGame(rules, cards, kitty.split(), deal_number, dealer)


def play(game: NaiveGame, cards: str) -> NaiveGame:
    """Plays the cards, and returns the game."""
    for card in cards.split():
        game.play(game.deck.index(card))
    return game


def legal(game: NaiveGame) -> str:
    """Returns the legal cards in deck order."""
    return " ".join(game.deck[action] for action in game.legal())


def micro(first: str, second: str, dead: str) -> NaiveGame:
    """Returns a deal of the preset `micro`, typed in from the rule book's table."""
    return make_game(
        first,
        second,
        kitty=dead,
        trump="H",
        break_on="void",
        unbroken_lead="spades_or_hearts",
        moon_points=15,
    )


# ---- the deck -----------------------------------------------------------------------------------


def test_numbering_is_the_rule_books() -> None:
    assert naive_deck([]) == ALL
    # "`2C` is action 0; in the two-player deck `QS` is 19 and the hearts are 21..27".
    deck = naive_deck(card for card in ALL if card[0] in "3579JK")
    assert (len(deck), deck[0], deck[19]) == (28, "2C", "QS")
    assert {deck.index(card) for card in deck if card[1] == "H"} == set(range(21, 28))


# ---- play ---------------------------------------------------------------------------------------


def test_micro_played_out() -> None:
    game = micro("QC QS QH", "AC AD AH", "QD AS")
    assert (game.player, game.leader, legal(game)) == (0, 0, "QC")  # Holds and leads the lowest.
    play(game, "QC")
    assert (game.player, legal(game)) == (1, "AC")  # Must follow.
    play(game, "AC")
    # The ace took it. Nobody was void yet, and AD is neither spade nor heart: no heart lead.
    assert (game.player, legal(game), game.hearts_broken) == (1, "AD", False)
    play(game, "AD")
    assert legal(game) == "QS QH"  # Void: anything.
    play(game, "QH")  # A trump: it takes the ace of diamonds, and 1 point.
    assert (game.player, game.hearts_broken, game.points()) == (0, True, [1, 0])
    assert game.taken[0] == {"AD", "QH"}
    play(game, "QS AH")  # Trumped: QS 13 + AH 1 to the second player.
    assert (game.phase, game.player, game.legal()) == ("over", None, [])
    assert (game.points(), game.scores(), game.tricks_taken) == ([1, 14], [1, 14], [1, 2])
    assert game.history == [(0, "QC"), (1, "AC"), (1, "AD"), (0, "QH"), (0, "QS"), (1, "AH")]


def test_micro_moon() -> None:
    # QS on the diamond instead: the second player then has 13, and draws QH with AH: all 15.
    game = play(micro("QC QS QH", "AC AD AH", "QD AS"), "QC AC AD QS AH QH")
    assert (game.points(), game.shooter, game.scores()) == ([0, 15], 1, [15, 0])


def test_moon_is_shot_also_when_a_point_card_is_dead() -> None:
    # QS is dead; the second player takes AH and QH, all that anybody took.
    game = play(micro("QC QD QH", "AC AD AH", "QS AS"), "QC AC AD QD AH QH")
    assert (game.points(), game.scores()) == ([0, 2], [15, 0])


def test_illegal_card_is_refused_and_changes_nothing() -> None:
    game = micro("QC QS QH", "AC AD AH", "QD AS")
    with pytest.raises(ValueError, match="not one of"):
        play(game, "QS")
    assert (game.player, game.history, len(game.hands[0])) == (0, [], 3)


def test_trick_goes_to_the_highest_of_the_led_suit_without_trump() -> None:
    # The ace of spades, discarded, takes nothing.
    game = play(make_game("2C 3D", "4C 5D", "AS 6S"), "2C 4C AS")
    assert (game.leader, game.player, game.taken[1]) == (1, 1, {"2C", "4C", "AS"})


@pytest.mark.parametrize(
    ("first_lead", "leader", "cards"),
    [
        ("lowest_club", 1, "2C"),
        ("any_club", 1, "2C 9C"),  # The same player, any own club.
        ("eldest_hand", 2, "5C 6S"),  # Dealer 1, so seat 2; its heart is not broken.
    ],
)
def test_first_lead(first_lead: str, leader: int, cards: str) -> None:
    game = make_game("3C 4C 4D", "2C 9C 7D", "5C 6S 6H", first_lead=first_lead, dealer=1)
    assert (game.player, game.first_leader, legal(game)) == (leader, leader, cards)


@pytest.mark.parametrize(("first_lead", "cards"), [("lowest_club", "3D"), ("any_club", "3D 4D")])
def test_diamonds_stand_in_where_no_hand_holds_a_club(first_lead: str, cards: str) -> None:
    # The only club is dead.
    game = make_game("5D 7S", "3D 4D", kitty="2C", first_lead=first_lead)
    assert (game.player, legal(game)) == (1, cards)


@pytest.mark.parametrize(
    ("hand", "break_on", "unbroken_lead", "cards"),
    [
        ("2S QS 5H", "heart", "only_hearts", "2S QS"),
        ("2S QS 5H", "heart", "spades_or_hearts", "2S QS 5H"),
        ("2S QS 5H", "heart", "queen_frees_hearts", "2S QS"),  # 2S is another card.
        ("QS 5H 6H", "heart", "only_hearts", "QS"),
        ("QS 5H 6H", "heart", "spades_or_hearts", "QS 5H 6H"),
        ("QS 5H 6H", "void", "queen_frees_hearts", "QS 5H 6H"),
        ("4H 5H 6H", "heart", "only_hearts", "4H 5H 6H"),
        ("4H 5H 6H", "void", "spades_or_hearts", "4H 5H 6H"),
        ("4H 5H 6H", "heart", "queen_frees_hearts", "4H 5H 6H"),
        ("2C QS 5H", "heart", "spades_or_hearts", "2C QS"),
        ("2C QS 5H", None, "only_hearts", "2C QS 5H"),
    ],
)
def test_leading_hearts_unbroken(
    hand: str, break_on: str | None, unbroken_lead: str, cards: str
) -> None:
    game = make_game(
        hand,
        "7C 8C 9C",
        first_lead="eldest_hand",
        dealer=1,
        break_on=break_on,
        unbroken_lead=unbroken_lead,
    )
    assert (game.player, game.hearts_broken) == (0, break_on is None)
    assert legal(game) == cards


@pytest.mark.parametrize(
    ("card", "changes", "broken"),
    [
        ("9D", {"break_on": "heart"}, False),
        ("9D", {"break_on": "void"}, True),  # "whatever they then played".
        ("7H", {"break_on": "heart"}, True),
        ("QS", {"break_on": "heart"}, False),
        ("QS", {"break_on": "heart", "queen_breaks_hearts": True}, True),
    ],
)
def test_breaking_hearts_by_a_discard(card: str, changes: dict[str, Any], broken: bool) -> None:
    game = make_game("2C 5D 8H", "4C 6D 9H", "9D QS 7H", **changes)
    assert play(game, f"2C 4C {card}").hearts_broken is broken


def test_a_heart_led_breaks_hearts_under_void_too() -> None:
    game = make_game("2H 3H", "4H 5H", break_on="void", first_lead="eldest_hand", dealer=1)
    assert play(game, "2H").hearts_broken


@pytest.mark.parametrize(
    ("hand", "changes", "cards"),
    [
        ("9D QS 7H", {}, "9D QS 7H"),
        ("9D QS 7H", {"points_on_first_trick": False}, "9D"),
        ("TH QS 7H", {"points_on_first_trick": False}, "QS 7H TH"),  # Nothing else.
        # A bonus card is allowed, and makes the others forbidden.
        ("JD QS 7H", {"points_on_first_trick": False}, "JD"),
        ("JD QS 7H", {"points_on_first_trick": False, "queen_any_time": True}, "JD QS"),
        ("3C QS 7H", {"points_on_first_trick": False}, "3C"),
        ("3C QS 7H", {"points_on_first_trick": False, "queen_any_time": True}, "3C QS"),
    ],
)
def test_last_to_the_first_trick(hand: str, changes: dict[str, Any], cards: str) -> None:
    points = HEARTS_AND_QUEEN | {"JD": -10}
    game = make_game("2C 5D 8H", "4C 6D 9H", hand, card_points=points, **changes)
    assert legal(play(game, "2C 4C")) == cards


def test_the_queen_instead_of_following_is_no_void() -> None:
    hands = ("2C 5D 8H", "4C 6D 9H", "3C QS 7H")
    game = play(make_game(*hands, queen_any_time=True, break_on="void"), "2C 4C QS")
    assert not game.hearts_broken
    assert legal(game) == "6D"
    # It never widens leads: hearts are led when only QS is left beside them, if at all.
    game = make_game("2C QS 5H", "3C 4C 5C", queen_any_time=True, first_lead="lowest_club")
    assert legal(game) == "2C"


# ---- exchange -----------------------------------------------------------------------------------

THREE = ("2C 3C 4C", "5D 6D 7D", "8S 9S TS")


def exchange(deal_number: int) -> NaiveGame:
    """Returns a deal with one card to pass: left, right, then hold."""
    rotation = ("left", "right", "hold")
    return make_game(*THREE, pass_count=1, pass_rotation=rotation, deal_number=deal_number)


def test_exchange_left() -> None:
    game = exchange(0)
    assert (game.phase, game.player, game.leader, legal(game)) == ("pass", 0, None, "2C 3C 4C")
    play(game, "2C 5D")
    # Nothing is delivered before the last has chosen.
    assert (game.player, game.hands[0], game.received[1]) == (2, {"2C", "3C", "4C"}, set())
    play(game, "TS")
    assert game.hands == [{"3C", "4C", "TS"}, {"2C", "6D", "7D"}, {"5D", "8S", "9S"}]
    assert game.passed == [{"2C"}, {"5D"}, {"TS"}]
    assert game.received == [{"TS"}, {"2C"}, {"5D"}]
    # Who now holds the lowest club leads it.
    assert (game.phase, game.player, legal(game), game.history) == ("play", 1, "2C", [])


def test_exchange_right_and_hold() -> None:
    # The fifth deal is entry 4 % 3 = 1, right: seat 0 gives to seat 2.
    game = play(exchange(4), "2C 5D TS")
    assert game.hands == [{"3C", "4C", "5D"}, {"6D", "7D", "TS"}, {"2C", "8S", "9S"}]
    assert (exchange(2).phase, exchange(2).player) == ("play", 0)


def test_a_chosen_card_is_not_legal_again_and_across_is_half_way_round() -> None:
    game = make_game(*THREE, pass_count=2, pass_rotation=("across",))
    assert legal(play(game, "3C")) == "2C 4C"
    # Three players: across is seat + 3 // 2 = seat + 1.
    play(game, "2C 5D 6D 8S 9S")
    assert game.received == [{"8S", "9S"}, {"2C", "3C"}, {"5D", "6D"}]


# ---- kitty --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kitty_to", "after_each_trick", "points"),
    [
        # Trick 1 goes to seat 1, trick 2 with the two hearts to seat 1, trick 3 to seat 0.
        ("nobody", [[0, 0], [0, 2], [0, 2]], [26, 0]),  # All the hearts taken: a moon.
        ("first_trick", [[0, 14], [0, 16], [0, 16]], [26, 0]),
        ("first_heart", [[0, 0], [0, 16], [0, 16]], [26, 0]),
        ("first_penalty", [[0, 0], [0, 16], [0, 16]], [26, 0]),
        ("last_trick", [[0, 0], [0, 2], [14, 2]], [14, 2]),
    ],
)
def test_kitty(kitty_to: str, after_each_trick: list[list[int]], points: list[int]) -> None:
    game = make_game("2C TD 4H", "3C 9D 5H", kitty="6H QS", kitty_to=kitty_to, break_on=None)
    seen = []
    for trick in ("2C 3C", "5H 4H", "9D TD"):
        seen.append(play(game, trick).points())
    assert (seen, game.scores()) == (after_each_trick, points)


def test_the_queen_of_spades_is_not_the_first_heart() -> None:
    game = make_game("2C 3D", "QS 4H", kitty="6H", kitty_to="first_heart")
    assert play(game, "2C QS").kitty_taker is None
    assert play(game, "3D 4H").kitty_taker == 0
    # It is the first penalty card.
    game = make_game("2C 3D", "QS 4H", kitty="6H", kitty_to="first_penalty")
    assert play(game, "2C QS").kitty_taker == 0


# ---- scoring ------------------------------------------------------------------------------------


def moon_game(moon: str, no_trick_points: int = 0) -> NaiveGame:
    """Returns a finished deal: seat 0 took both hearts and a bonus of 10, seat 1 no trick."""
    game = make_game(
        "AC AD AH",
        "2C 3D 4H",
        card_points=HEARTS_AND_QUEEN | {"3D": -10},
        moon=moon,
        no_trick_points=no_trick_points,
    )
    return play(game, "2C AC AD 3D AH 4H")


def test_moon_scores_keep_the_bonus() -> None:
    assert moon_game("none").scores() == [2 - 10, 0]
    assert moon_game("none").shooter is None
    assert moon_game("others_plus").scores() == [0 - 10, 26]
    assert moon_game("self_minus").scores() == [-26 - 10, 0]
    assert moon_game("self_minus").points() == [2 - 10, 0]


def test_moon_choice() -> None:
    for action, scores in ((6, [-36, 0]), (7, [-10, 26])):
        game = moon_game("choose")
        # Six cards, so the extra actions are 6 (off oneself) and 7 (to the others).
        assert (game.phase, game.player, game.shooter, game.legal()) == ("moon", 0, 0, [6, 7])
        assert game.scores() == [-8, 0]
        game.play(action)
        assert (game.phase, game.player, game.moon_choice) == ("over", None, action)
        assert game.scores() == scores


def test_no_trick_points() -> None:
    assert moon_game("none", no_trick_points=-5).scores() == [-8, -5]
    assert moon_game("others_plus", no_trick_points=-5).scores() == [-10, 26]  # A moon was shot.
    # In the middle: as if the deal stopped now.
    game = make_game("AC 3S", "2C 4S", no_trick_points=-5)
    assert game.scores() == [-5, -5]
    assert play(game, "2C AC").scores() == [0, -5]


def test_no_moon_without_a_penalty_card() -> None:
    game = play(make_game("AC AD", "2C 3D"), "2C AC AD 3D")
    assert (game.phase, game.shooter, game.scores()) == ("over", None, [0, 0])


@pytest.mark.parametrize(
    ("kitty_to", "charge"),
    [(to, 16) for to in ("first_trick", "first_heart", "first_penalty", "last_trick")]
    + [("nobody", 2)],
)
@pytest.mark.parametrize("cards", ["", "2C", "2C 3C 5H"])
def test_revoke(kitty_to: str, charge: int, cards: str) -> None:
    # 4H and 5H are 2; the kitty with 6H and QS is 14 more, unless it is dead.
    game = make_game(
        "2C TD 4H",
        "3C 9D 5H",
        kitty="6H QS",
        kitty_to=kitty_to,
        break_on=None,
        no_trick_points=-5,
        card_points=HEARTS_AND_QUEEN | {"TD": -10},
    )
    offender = play(game, cards).player
    game.revoke()
    assert (game.phase, game.player, game.shooter, game.legal()) == ("over", None, None, [])
    assert game.scores() == [charge if seat == offender else 0 for seat in range(2)]


# ---- worlds -------------------------------------------------------------------------------------


def test_worlds_of_micro() -> None:
    game = micro("QC QS QH", "AC AD AH", "QD AS")
    # Seat 0 holds the very lowest card and leads: any 3 of the 5 unseen, C(5,3) = 10.
    assert len(naive_worlds(game.rules, game.knowledge(0))) == 10
    # Seat 1 sees seat 0 to lead. Who has QC has the lead; it is dead in no world, for then seat 1
    # would lead with its AC. So seat 0 has QC and 2 of QD QS AS QH: 6.
    assert len(naive_worlds(game.rules, game.knowledge(1))) == 6
    # QC AC AD: seat 1 has one card more, of QD AS AH. (AD led tells nothing.)
    play(game, "QC AC AD")
    assert naive_worlds(game.rules, game.knowledge(0)) == {
        (("QS", "QH"), ("QD",), ("AS", "AH")),
        (("QS", "QH"), ("AS",), ("QD", "AH")),
        (("QS", "QH"), ("AH",), ("QD", "AS")),
    }
    assert naive_world_bound(game.rules, game.knowledge(0)) == 3


def test_worlds_after_a_diamond_has_been_led_first() -> None:
    # No hand has a club, or it would have been led: both are dead, and all is known.
    game = play(micro("QD QS QH", "AD AS AH", "QC AC"), "QD")
    assert naive_world_bound(game.rules, game.knowledge(1)) == 6  # 2 of QC AC QS QH to seat 0.
    assert naive_worlds(game.rules, game.knowledge(1)) == {
        (("QS", "QH"), ("AD", "AS", "AH"), ("QC", "AC")),
    }


def test_worlds_after_hearts_have_been_led_unbroken() -> None:
    # Seat 1 leads AH beside a card of AD AS QH; beside AD it could not have.
    game = play(micro("QC QD QS", "AC AS AH", "AD QH"), "QC AC AH")
    assert naive_worlds(game.rules, game.knowledge(0)) == {
        (("QD", "QS"), ("AS",), ("AD", "QH")),
        (("QD", "QS"), ("QH",), ("AD", "AS")),
    }


def test_worlds_after_a_penalty_card_on_a_first_trick_that_forbids_it() -> None:
    hands = ("2C 5D 8H", "4C 6D 9H", "QS 7H TH")
    game = play(make_game(*hands, points_on_first_trick=False), "2C 4C QS")
    # Unseen by seat 0: 6D 7H 9H TH. Seat 2 holds only penalty cards, two of the hearts: 3.
    worlds = naive_worlds(game.rules, game.knowledge(0))
    assert len(worlds) == 3
    assert all("6D" in hands[1] for hands in worlds)
    # Had points been allowed, all C(4,2) = 6.
    game = play(make_game(*hands), "2C 4C QS")
    assert len(naive_worlds(game.rules, game.knowledge(0))) == 6


def test_worlds_and_the_exchange() -> None:
    game = exchange(0)
    # While it lasts: 3 of 6 unseen cards each, C(6,3) = 20, even when others have chosen.
    assert [len(naive_worlds(game.rules, game.knowledge(seat))) for seat in range(3)] == [20] * 3
    play(game, "2C 5D")
    assert [len(naive_worlds(game.rules, game.knowledge(seat))) for seat in range(3)] == [20] * 3
    play(game, "TS")
    # Now the hands are 3C 4C TS, 2C 6D 7D, 5D 8S 9S, and seat 1 is to lead.
    # Seat 0 knows where its 2C lies: 2 more of 5D 6D 7D 8S 9S to seat 1, 10.
    # Seat 1 knows where its 5D lies: 2 more of 3C 4C 8S 9S TS to seat 2, 10.
    # Seat 2 knows where its TS lies, and that the leader has 2C: 2 of 3C 4C 6D 7D to seat 0, 6.
    assert [len(naive_worlds(game.rules, game.knowledge(s))) for s in range(3)] == [10, 10, 6]


def test_worlds_and_a_kitty_face_up() -> None:
    game = make_game("2C TD 4H", "3C 9D 5H", kitty="6H QS", kitty_to="first_trick")
    assert game.knowledge(0).kitty is None
    # 3 of 5 unseen to seat 1, the holder of the lowest club being seat 0 itself: 10.
    assert len(naive_worlds(game.rules, game.knowledge(0))) == 10
    play(game, "2C 3C")
    assert game.knowledge(0).kitty == {"6H", "QS"}
    assert naive_worlds(game.rules, game.knowledge(0)) == {(("TD", "4H"), ("9D", "5H"), ())}


@pytest.mark.parametrize("seed", range(20))
def test_the_true_world_is_always_possible(seed: int) -> None:
    rng = random.Random(seed)
    cards = [rank + suit for suit in "CDSH" for rank in "TQA"]
    rng.shuffle(cards)
    three = rng.random() < 0.5
    sizes = (3, 3, 3) if three else (5, 5)
    hands = [" ".join(cards[sum(sizes[:i]) : sum(sizes[: i + 1])]) for i in range(len(sizes))]
    game = make_game(
        *hands,
        kitty=" ".join(cards[sum(sizes) :]),
        break_on=rng.choice(["heart", "void", None]),
        first_lead=rng.choice(["lowest_club", "any_club", "eldest_hand"]),
        points_on_first_trick=rng.random() < 0.5,
        queen_any_time=rng.random() < 0.5,
        kitty_to=rng.choice(
            ["nobody", "first_trick", "last_trick", "first_heart", "first_penalty"]
        ),
        pass_count=rng.choice([0, 1]),
        pass_rotation=("right",),
        moon="choose",
    )
    while game.phase != "over":
        dead = game.kitty if game.kitty_taker is None else set()
        truth = [tuple(c for c in game.deck if c in cards) for cards in (*game.hands, dead)]
        for seat in range(len(sizes)):
            if naive_world_bound(game.rules, game.knowledge(seat)) <= 500:
                assert tuple(truth) in naive_worlds(game.rules, game.knowledge(seat))
        game.play(rng.choice(game.legal()))


# ---- a match ------------------------------------------------------------------------------------


def test_match_ends_when_reached_or_exceeded() -> None:
    for end_when, over in (("reached", True), ("exceeded", False)):
        match = NaiveMatch(make_rules(ALL, end_when=end_when))
        match.add_deal([90, 20])
        assert (match.is_over, match.deal_number, match.dealer) == (False, 1, 1)
        match.add_deal([10, 16])
        assert (match.totals, match.is_over) == ([100, 36], over)
        assert match.winner == (1 if over else None)


def test_match_plays_on_while_the_lowest_is_shared() -> None:
    match = NaiveMatch(make_rules(ALL, players=3))
    match.add_deal([100, 50, 50])
    assert not match.is_over
    match.add_deal([0, 1, 2])
    assert (match.is_over, match.winner) == (True, 1)


def test_match_plays_on_when_all_pass_the_limit_in_one_deal() -> None:
    for tie, over in (("lowest_shared", True), ("all_past_limit", False)):
        match = NaiveMatch(make_rules(ALL, tie=tie))
        match.add_deal([90, 80])
        match.add_deal([10, 21])
        assert match.is_over is over
    # The next deal ends it, though all are past the limit: they did not pass it in that deal.
    match.add_deal([0, 26])
    assert (match.is_over, match.winner) == (True, 0)


def test_match_plays_off_though_totals_have_fallen_below_the_limit() -> None:
    match = NaiveMatch(make_rules(ALL, players=3, tie="all_past_limit"))
    for results, over in (([100, 101, 102], False), ([-9, -10, 0], False), ([0, 1, 0], True)):
        match.add_deal(results)
        assert match.is_over is over
    assert match.winner == 0


def test_max_deals_lets_ties_stand() -> None:
    match = NaiveMatch(make_rules(ALL, players=3, max_deals=2))
    match.add_deal([5, 6, 7])
    match.add_deal([5, 4, 7])
    assert (match.is_over, match.winners, match.winner) == (True, [0, 1], None)


def test_settle_simple() -> None:
    # Pot 13. One winner nets 13 - 0; two winners share it, and a winner who paid has paid.
    assert naive_settle("simple", [0, 8, 5]) == ([13, -8, -5], 0)
    assert naive_settle("simple", [0, 0, 13]) == ([Fraction(13, 2), Fraction(13, 2), -13], 0)
    assert naive_settle("simple", [3, 3, 7]) == ([Fraction(7, 2), Fraction(7, 2), -7], 0)


def test_settle_sweepstakes() -> None:
    assert naive_settle("sweepstakes", [0, 8, 5], 4) == ([17, -8, -5], 0)
    assert naive_settle("sweepstakes", [0, 0, 8, 5]) == (
        [Fraction(13, 2), Fraction(13, 2), -8, -5],
        0,
    )
    assert naive_settle("sweepstakes", [1, 7, 5], 4) == ([-1, -7, -5], 17)  # Nobody has none.
    assert naive_settle("sweepstakes", [0, 13, 0], 4) == ([0, -13, 0], 17)  # One has all.


def test_settle_howell() -> None:
    # T = 13, n = 3: 13 - 0, 13 - 24, 13 - 15.
    assert naive_settle("howell", [0, 8, 5], 4) == ([13, -11, -2], 4)


def test_match_in_chips() -> None:
    rules = make_rules(ALL, players=3, settlement="sweepstakes", stake=20)
    match = NaiveMatch(rules)
    match.add_deal([13, 0, 0])  # All taken by one: 13 stay in the pool.
    assert (match.totals, match.pool, match.is_over) == ([7, 20, 20], 13, False)
    match.add_deal([11, 1, 1])  # Nobody has none; seat 0 falls to -4, but first place is shared.
    assert (match.totals, match.pool, match.is_over) == ([-4, 19, 19], 26, False)
    match.add_deal([1, 5, 7])  # Now it is not: 14 against 12. The pool of 39 is 13 each.
    assert (match.totals, match.pool) == ([8, 27, 25], 0)
    assert (match.is_over, match.winner) == (True, 1)


def test_match_in_chips_ends_at_the_target() -> None:
    rules = make_rules(ALL, players=3, settlement="simple", stake=100, target=13)
    match = NaiveMatch(rules)
    match.add_deal([0, 0, 13])  # 6 1/2 won.
    assert (match.totals[0], match.is_over) == (Fraction(213, 2), False)
    match.add_deal([0, 8, 5])  # 19 1/2 won.
    assert (match.is_over, match.winner) == (True, 0)


def test_match_takes_scores_from_games() -> None:
    match = NaiveMatch(make_rules(ALL))
    match.add_game(moon_game("others_plus"))
    assert match.totals == [-10, 26]
    # In chips the cards alone count: -8 and 0, so n = 2, T = -8 gives -8 + 16 and -8.
    match = NaiveMatch(make_rules(ALL, settlement="howell"))
    match.add_game(moon_game("others_plus"))
    assert match.totals == [108, 92]
