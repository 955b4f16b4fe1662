"""One test for each rule of the rule book, named by it, from a deal in text, counted by hand."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from hearts_env import Game, Rules
from tests.deals import HEARTS_AND_QUEEN, hand, legal, make_game, play
from tests.naive import NaiveGame


def micro(hands: str, kitty: str) -> Game:
    """A known deal of the preset ``micro``: hearts are trump, a void breaks them, a moon is 15."""
    return Game(Rules.preset("micro"), hands.split("/"), kitty)


# ---- cards --------------------------------------------------------------------------------------


def test_action_i_is_the_ith_card_of_the_deck() -> None:
    deck = Rules.preset("two_player").deck
    assert (len(deck), deck[0], deck[19]) == (28, "2C", "QS")
    assert [card[1] for card in deck[21:]] == ["H"] * 7
    classic = Rules.preset("classic").deck
    assert (len(classic), classic[0], classic[12:14], classic[51]) == (52, "2C", ("AC", "2D"), "AH")


# ---- deal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "players", "deck", "hand_size", "kitty"),
    [  # the table "The games" of the rule book
        ("two_player", 2, 28, 13, 2),
        ("mini", 2, 12, 5, 2),
        ("micro", 2, 8, 3, 2),
        ("classic", 4, 52, 13, 0),
        ("no_pass", 4, 52, 13, 0),
        *[
            (name, players, players * each, each, 0)
            for name in ("party", "omnibus")
            for players, each in ((3, 17), (4, 13), (5, 10), (6, 8), (7, 7))
        ],
        ("kitty", 3, 52, 17, 1),
        ("kitty", 4, 52, 12, 4),
        ("kitty", 5, 52, 10, 2),
        ("kitty", 6, 52, 8, 4),
        ("kitty", 7, 52, 7, 3),
        *[
            (name, players, deck, each, kitty)
            for name in ("hoyle", "black_jack", "black_lady")
            for players, deck, each, kitty in (
                (2, 52, 13, 26),
                (3, 52, 13, 13),
                (4, 52, 13, 0),
                (5, 50, 10, 0),
                (6, 48, 8, 0),
            )
        ],
    ],
)
def test_every_preset_deals_as_the_table_says(
    name: str, players: int, deck: int, hand_size: int, kitty: int
) -> None:
    rules = Rules.preset(name, players)
    game = Game.deal(rules, seed=1)
    assert len(rules.deck) == deck
    assert [len(game.hand(p)) for p in range(players)] == [hand_size] * players
    assert len(game.kitty) == rules.kitty_size == kitty
    everything = [card for p in range(players) for card in game.hand(p)] + list(game.kitty)
    assert sorted(everything) == sorted(rules.deck)


@pytest.mark.parametrize(
    ("players", "removed"),
    [
        (3, {"2D"}),
        (4, set()),
        (5, {"2D", "2C"}),
        (6, {"2D", "3D", "3C", "4C"}),
        (7, {"2D", "3D", "3C"}),
    ],
)
def test_even_deals_remove_low_cards(players: int, removed: set[str]) -> None:
    for name in ("party", "omnibus"):
        assert set(Rules.preset(name, players).removed) == removed
    if players in (5, 6):
        assert set(Rules.preset("hoyle", players).removed) == removed


def test_the_other_columns_of_the_table() -> None:
    preset = Rules.preset
    for name, moon_points in (("two_player", 20), ("mini", 16), ("micro", 15)):
        rules = preset(name)
        assert (rules.trump, rules.first_lead, rules.break_on) == ("H", "lowest_club", "void")
        assert (rules.unbroken_lead, rules.points_on_first_trick) == ("spades_or_hearts", True)
        assert (rules.moon, rules.moon_points) == ("others_plus", moon_points)
        assert (rules.pass_count, rules.kitty_to, rules.end_score) == (0, "nobody", 100)
        assert rules.card_points == HEARTS_AND_QUEEN
    for name in ("classic", "no_pass", "party", "kitty", "omnibus"):
        rules = preset(name, 4)
        assert (rules.trump, rules.first_lead) == (None, "lowest_club")
        assert (rules.break_on, rules.unbroken_lead) == ("heart", "only_hearts")
        assert rules.moon_points == 26
        assert rules.points_on_first_trick == (name == "no_pass")
        assert rules.moon == ("choose" if name == "no_pass" else "others_plus")
        assert rules.pass_count == (0 if name == "no_pass" else 3)
        assert rules.settlement == "points"
    four_ways = ("left", "right", "across", "hold")
    for name in ("party", "kitty", "omnibus"):
        for players in range(3, 8):
            rotation = preset(name, players).pass_rotation
            assert rotation == (four_ways if players == 4 else ("left", "right"))
        rules = preset(name, 5)
        expected = (50, "reached") if name == "omnibus" else (100, "exceeded")
        assert (rules.end_score, rules.end_when) == expected
    assert preset("classic").pass_rotation == four_ways
    assert (preset("classic").end_score, preset("classic").end_when) == (100, "reached")
    assert preset("kitty", 5).kitty_to == "first_trick"
    assert preset("omnibus").card_points == {**HEARTS_AND_QUEEN, "JD": -10}
    hearts = {card: 1 for card in HEARTS_AND_QUEEN if card != "QS"}
    for name, extra in (("hoyle", {}), ("black_jack", {"JS": 10}), ("black_lady", {"QS": 10})):
        rules = preset(name)
        assert rules.card_points == {**hearts, **extra}
        assert (rules.first_lead, rules.break_on, rules.moon) == ("eldest_hand", None, "none")
        assert (rules.pass_count, rules.points_on_first_trick) == (0, True)
        assert (rules.settlement, rules.stake) == ("simple", 100)


# ---- exchange -----------------------------------------------------------------------------------

THREE = "2C 3C 4C / 5D 6D 7D / 8S 9S TS"


def test_exchange_seat_0_chooses_first_whoever_deals() -> None:
    for dealer in range(3):
        game = make_game(THREE, dealer=dealer, pass_count=2, pass_rotation=("left",))
        order = []
        while game.phase == "pass":
            order.append(game.player)
            game.play(game.legal_actions()[0])
        assert order == [0, 0, 1, 1, 2, 2]


def test_exchange_a_chosen_card_is_not_legal_again_and_stays_until_all_are_delivered() -> None:
    game = make_game(THREE, pass_count=2, pass_rotation=("left",))
    play(game, "3C")
    assert legal(game) == "2C 4C"
    play(game, "2C 7D 5D 9S")
    assert hand(game, 0) == "2C 3C 4C"  # seat 2 has one more to choose
    assert game.passed(0) == ("2C", "3C")
    assert game.received(1) == ()
    play(game, "TS")
    assert (hand(game, 0), hand(game, 1), hand(game, 2)) == ("4C 9S TS", "2C 3C 6D", "5D 7D 8S")
    assert (game.received(0), game.received(1)) == (("9S", "TS"), ("2C", "3C"))
    assert game.received(2) == ("5D", "7D")


def test_exchange_any_order_of_choosing_is_the_same_exchange() -> None:
    rules: dict[str, Any] = {"pass_count": 2, "pass_rotation": ("left",)}
    one = play(make_game(THREE, **rules), "2C 3C 5D 6D 8S 9S")
    two = play(make_game(THREE, **rules), "3C 2C 6D 5D 9S 8S")
    assert one == two


@pytest.mark.parametrize(
    ("direction", "players", "step"),
    [
        ("left", 3, 1),
        ("right", 3, 2),
        ("across", 4, 2),
        ("across", 3, 1),  # players // 2: odd tables have no seat across
        ("across", 5, 2),
        ("across", 6, 3),
        ("across", 7, 3),
        ("left", 2, 1),
        ("right", 2, 1),
        ("across", 2, 1),
    ],
)
def test_exchange_directions(direction: str, players: int, step: int) -> None:
    own = ["2C 3C", "4C 5C", "6C 7C", "2D 3D", "4D 5D", "2S 3S", "4S 5S"][:players]
    game = make_game(" / ".join(own), pass_count=1, pass_rotation=(direction,))
    chosen = [cards.split()[0] for cards in own]
    play(game, " ".join(chosen))
    for seat in range(players):
        assert game.received((seat + step) % players) == (chosen[seat],)


@pytest.mark.parametrize(
    ("deal_number", "direction"),
    [
        (0, "left"),
        (1, "right"),
        (2, "across"),
        (3, "hold"),
        (4, "left"),
        (7, "hold"),
        (101, "right"),
    ],
)
def test_exchange_rotation_is_the_deal_number_modulo_its_length(
    deal_number: int, direction: str
) -> None:
    game = Game.deal("classic", seed=3, deal_number=deal_number)
    assert game.direction == direction
    assert game.phase == ("play" if direction == "hold" else "pass")


def test_exchange_of_whole_hands() -> None:
    game = make_game("2C 3H / 4C 5H", pass_count=2, pass_rotation=("left",))
    play(game, "2C 3H 4C 5H")
    # Everything changes hands, also the lead.
    assert (hand(game, 0), hand(game, 1), game.player) == ("4C 5H", "2C 3H", 1)


def test_exchange_the_lowest_club_leads_where_it_lies_afterwards() -> None:
    game = make_game(THREE, pass_count=1, pass_rotation=("right",))
    assert game.view(0).leader is None
    play(game, "2C 5D 8S")  # 2C goes from seat 0 to seat 2
    assert (game.player, game.leader, legal(game)) == (2, 2, "2C")


# ---- the first lead -----------------------------------------------------------------------------


def test_lowest_club_is_led_by_its_holder_and_nothing_else() -> None:
    # 2C is dead: 4C is the lowest club in any hand. Its holder has lower cards than clubs, none.
    game = make_game("6C 3D AH / 4C 8C 2D", kitty="2C KS")
    assert (game.player, legal(game)) == (1, "4C")


def test_any_club_is_led_by_the_holder_of_the_lowest() -> None:
    game = make_game("6C 3D AH / 4C 8C 2D", kitty="2C KS", first_lead="any_club")
    assert (game.player, legal(game)) == (1, "4C 8C")


def test_the_next_suit_stands_in_where_both_clubs_of_micro_are_dead() -> None:
    # The kitty has both clubs: QD is the lowest card in a hand and is led, though no club.
    game = micro("AD QS AH/QD AS QH", kitty="QC AC")
    assert (game.player, legal(game)) == (1, "QD")
    # Diamonds may be dead too: then it is the lowest spade.
    game = make_game("AS 3H / KS 4H", kitty="QC QD AC AD")
    assert (game.player, legal(game)) == (1, "KS")


def test_the_next_suit_stands_in_under_any_club_too() -> None:
    rules = Rules.preset("micro").replace(first_lead="any_club")
    game = Game(rules, ["QD AD AH", "QS AS QH"], "QC AC")
    assert (game.player, legal(game)) == (0, "QD AD")


def test_spades_stand_in_where_no_hand_holds_clubs_or_diamonds() -> None:
    game = make_game("9S 3H / 4S AS", kitty="2C 3C 2D")
    assert (game.player, legal(game)) == (1, "4S")


@pytest.mark.parametrize("dealer", range(3))
def test_eldest_hand_leads_after_the_dealer(dealer: int) -> None:
    game = make_game("2C 3H / 4C 5H / 6C 7H", first_lead="eldest_hand", dealer=dealer)
    eldest = (dealer + 1) % 3
    assert game.player == eldest
    # It leads any card that break_on allows; hearts are not broken.
    assert legal(game) == ["2C", "4C", "6C"][eldest]


def test_eldest_hand_may_lead_a_heart_where_hearts_need_no_breaking() -> None:
    game = make_game("2C 3H / 4C 5H", first_lead="eldest_hand", break_on=None)
    assert (game.player, legal(game)) == (1, "4C 5H")


def test_eldest_hand_may_lead_points_to_a_first_trick_without_points() -> None:
    # The ban is on discards, "a player void in the led suit"; a lead is no discard.
    game = make_game("2C 3S / QS 5H", first_lead="eldest_hand", points_on_first_trick=False)
    assert legal(game) == "QS"


# ---- following suit and the first trick ---------------------------------------------------------


def test_follow_the_led_suit_if_able() -> None:
    game = play(make_game("2C 9D 3H / 4C 5C QS"), "2C")
    assert legal(game) == "4C 5C"


def test_a_player_void_in_the_led_suit_plays_any_card() -> None:
    game = play(make_game("2C 9D 3H / 4D QS 5H"), "2C")
    assert legal(game) == "4D QS 5H"


@pytest.mark.parametrize(
    ("cards", "allowed"),
    [
        ("9D QS 7H", "9D"),
        ("TH QS 7H", "QS 7H TH"),  # nothing else: all of it
        ("JD QS 7H", "JD"),  # a bonus card is allowed
        ("3C QS 7H", "3C"),  # not void
    ],
)
def test_no_points_on_the_first_trick(cards: str, allowed: str) -> None:
    points = {**HEARTS_AND_QUEEN, "JD": -10}
    game = make_game(
        f"2C 5D 8H / 4C 6D 9H / {cards}", points_on_first_trick=False, card_points=points
    )
    assert legal(play(game, "2C 4C")) == allowed


def test_no_points_on_the_first_trick_is_about_points_and_not_about_hearts() -> None:
    # Here a spade costs points and the hearts but one do not.
    game = make_game("2C 5D / 2H KS", points_on_first_trick=False, card_points={"KS": 5, "3H": 1})
    assert legal(play(game, "2C")) == "2H"


def test_points_may_be_played_on_the_second_trick() -> None:
    game = make_game("2C 3C 4D / 5C 6H 7D", points_on_first_trick=False)
    play(game, "2C 5C 7D")  # seat 1 took it and leads 7D
    assert legal(game) == "4D"
    game = make_game(
        "2C 3D 4D / 5C 6H QS", points_on_first_trick=False, first_lead="eldest_hand", dealer=1
    )
    play(game, "2C 5C")
    play(game, "QS 3D")  # 5C took the trick, QS is led, nobody can follow
    assert game.points() == [0, 13]


# ---- taking tricks ------------------------------------------------------------------------------


def test_the_highest_card_of_the_led_suit_takes_the_trick() -> None:
    # The aces of other suits take nothing.
    game = play(make_game("2C 3D / AS 5D / 4C AH"), "2C AS 4C")
    assert (game.leader, game.taken(2)) == (2, ("2C", "4C", "AS"))
    assert game.tricks_taken() == [0, 0, 1]


def test_the_highest_trump_takes_the_trick() -> None:
    game = play(make_game("2C 3D / 2H 5D / 3H AS / AD AC", trump="H"), "2C 2H 3H AC")
    assert (game.leader, game.points()) == (2, [0, 0, 2, 0])


def test_any_suit_may_be_trump() -> None:
    for trump, taker in (("C", 0), ("D", 2), ("S", 1), ("H", 3)):
        game = make_game("3C 4C / KS AS / 2D KD / 2H 5H", trump=trump)
        assert play(game, "3C KS 2D 2H").leader == taker


def test_a_trump_led_is_taken_by_the_highest_trump() -> None:
    game = make_game("2H 3C / 9H 4C", trump="H", first_lead="eldest_hand", dealer=1, break_on=None)
    assert play(game, "2H 9H").leader == 1


def test_the_ace_of_trump_hearts_thrown_on_a_trick_takes_it() -> None:
    # Two-player Hearts: seat 1 is void in clubs, throws its ace of hearts, and has to take it.
    game = micro("QC QS QH/AD AS AH", kitty="AC QD")
    play(game, "QC AH")
    assert (game.leader, game.points(), game.hearts_broken) == (1, [0, 1], True)


# ---- breaking hearts ----------------------------------------------------------------------------


def test_hearts_may_not_be_led_before_they_are_broken() -> None:
    game = play(make_game("2C 9D 3H / 4C 5D 6H"), "2C 4C")
    assert (game.player, game.hearts_broken, legal(game)) == (1, False, "5D")


def test_a_heart_played_breaks_hearts() -> None:
    game = play(make_game("2C 4C 9D / 3H 5D 6H"), "2C 3H")
    assert game.hearts_broken
    play(game, "4C 5D")
    assert (game.player, legal(game)) == (0, "9D")


def test_break_on_void_whatever_was_then_played() -> None:
    for break_on, broken in (("void", True), ("heart", False)):
        game = make_game("2C 9D 3H / 5D 7D 6H", break_on=break_on)
        assert play(game, "2C 5D").hearts_broken is broken


def test_break_on_void_also_by_a_heart_led() -> None:
    # Nobody was ever void; the leader has hearts only.
    game = make_game("2H 3H / 4H 5H", break_on="void", first_lead="eldest_hand", dealer=1)
    assert not game.hearts_broken
    assert play(game, "2H").hearts_broken


def test_break_on_none_lets_hearts_be_led_any_time() -> None:
    game = make_game("2C 9D 3H / 4C 5D 6H", break_on=None)
    assert game.hearts_broken
    assert legal(play(game, "2C 4C")) == "5D 6H"


def test_break_on_none_holds_in_the_exchange_too() -> None:
    game = make_game("2C 3H / 4C 5H", break_on=None, pass_count=1, pass_rotation=("left",))
    assert (game.phase, game.hearts_broken) == ("pass", True)


@pytest.mark.parametrize(
    ("cards", "unbroken_lead", "allowed"),
    [
        ("2S QS 5H", "only_hearts", "2S QS"),
        ("2S QS 5H", "spades_or_hearts", "2S QS 5H"),
        ("2S QS 5H", "queen_frees_hearts", "2S QS"),
        ("QS 4H 5H", "only_hearts", "QS"),
        ("QS 4H 5H", "spades_or_hearts", "QS 4H 5H"),
        ("QS 4H 5H", "queen_frees_hearts", "QS 4H 5H"),
        ("KS 4H 5H", "queen_frees_hearts", "KS"),
        ("3H 4H 5H", "only_hearts", "3H 4H 5H"),
        ("3H 4H 5H", "spades_or_hearts", "3H 4H 5H"),
        ("3H 4H 5H", "queen_frees_hearts", "3H 4H 5H"),
        ("2D QS 5H", "spades_or_hearts", "2D QS"),
        ("2D 3D 4S", "spades_or_hearts", "2D 3D 4S"),
    ],
)
def test_unbroken_lead(cards: str, unbroken_lead: str, allowed: str) -> None:
    game = make_game(
        f"{cards} / 7C 8C 9C", first_lead="eldest_hand", dealer=1, unbroken_lead=unbroken_lead
    )
    assert legal(game) == allowed


def test_spades_or_hearts_in_two_player_hearts_before_anybody_was_void() -> None:
    # Seat 1 took the club; AS and AH are left: no club, no diamond, so the heart may be led.
    game = micro("QC QD QH/AC AS AH", kitty="AD QS")
    play(game, "QC AC")
    assert (game.player, game.hearts_broken, legal(game)) == (1, False, "AS AH")


def differing_deals(deals: int, seed: int) -> dict[str, int]:
    """In how many deals of random cards "only has spades left", literally, allows other cards.

    Of each `unbroken_lead`. docs/rules.md has what this returns for 15,000 deals and seed 2.
    """
    found, rng = {}, random.Random(seed)
    for option in ("only_hearts", "spades_or_hearts"):
        rules, found[option] = Rules.preset("two_player").replace(unbroken_lead=option), 0
        literal = rules.replace(unbroken_lead="only_hearts")
        for _ in range(deals):
            deck = rng.sample(rules.deck, 28)
            game, only_spades = NaiveGame(rules, [deck[:13], deck[13:26]], deck[26:]), False
            while game.phase == "play":
                hands = [hand for hand in game.hands if hand]
                only_spades |= any({card[1] for card in hand} == {"S"} for hand in hands)
                other = copy.copy(game)  # only asked
                other.rules, other.hearts_broken = literal, game.hearts_broken or only_spades
                if other.legal() != game.legal():
                    found[option] += 1
                    break
                game.play(rng.choice(game.legal()))
    return found


def test_only_spades_left_read_literally_is_only_hearts_in_practice() -> None:
    found = differing_deals(200, seed=2)
    assert found["only_hearts"] == 0
    assert 5 < found["spades_or_hearts"] < 40  # about a tenth


def test_queen_breaks_hearts() -> None:
    for breaks in (True, False):
        game = make_game("2C 9D 3H / QS 5D 6H", queen_breaks_hearts=breaks)
        assert play(game, "2C QS").hearts_broken is breaks


def test_queen_breaks_hearts_when_led_and_when_followed_with_too() -> None:
    changes: dict[str, Any] = {"queen_breaks_hearts": True, "first_lead": "eldest_hand"}
    game = make_game("QS 3H / 2S 4H", dealer=1, **changes)
    assert play(game, "QS").hearts_broken
    game = make_game("QS 3H / 2S 4H", dealer=0, **changes)
    assert play(game, "2S QS").hearts_broken


def test_queen_any_time() -> None:
    game = play(make_game("2C 9D 3H / 4C QS 6H", queen_any_time=True), "2C")
    assert legal(game) == "4C QS"
    play(game, "QS")  # off the led suit: it does not take the trick
    assert (game.leader, game.points()) == (0, [13, 0])


def test_queen_any_time_goes_before_the_ban_on_the_first_trick() -> None:
    changes: dict[str, Any] = {"queen_any_time": True, "points_on_first_trick": False}
    assert legal(play(make_game("2C 9D 3H / 4D QS 6H", **changes), "2C")) == "4D QS"
    assert legal(play(make_game("2C 9D 3H / 4C QS 6H", **changes), "2C")) == "4C QS"


def test_queen_any_time_does_not_widen_leads() -> None:
    assert legal(make_game("2C QS / 3C 4C", queen_any_time=True)) == "2C"


def test_queen_any_time_is_no_void_and_breaks_nothing() -> None:
    game = make_game("2C 9D 3H / 4C QS 6H", queen_any_time=True, break_on="void")
    play(game, "2C QS")
    assert (game.hearts_broken, game.voids(1)) == (False, "")


def test_queen_any_time_takes_the_trick_where_spades_are_trump() -> None:
    game = make_game("2C 9D 3H / 4C QS 6H", queen_any_time=True, trump="S")
    assert play(game, "2C QS").leader == 1


def test_the_queen_by_default_follows_suit_but_neither_trick_1_nor_unbroken_hearts_hold_it() -> (
    None
):
    # The rule book's reading of "at any time": on trick 1, and led while hearts are unbroken.
    game = micro("QC QD AH/AD QS QH", kitty="AC AS")
    assert legal(play(game, "QC")) == "AD QS QH"
    game = micro("QC AS AH/AC QS QH", kitty="AD QD")
    play(game, "QC AC")
    assert (game.hearts_broken, legal(game)) == (False, "QS QH")


# ---- kitty --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kitty_to", "after_each_trick", "scores"),
    [
        # Tricks: 2C 3C to seat 1; 5H 4H (2 points) to seat 1; 9D TD to seat 0. Kitty: 14 points.
        ("nobody", [[0, 0], [0, 2], [0, 2]], [26, 0]),  # all that anybody took: a moon
        ("first_trick", [[0, 14], [0, 16], [0, 16]], [26, 0]),
        ("first_heart", [[0, 0], [0, 16], [0, 16]], [26, 0]),
        ("first_penalty", [[0, 0], [0, 16], [0, 16]], [26, 0]),
        ("last_trick", [[0, 0], [0, 2], [14, 2]], [14, 2]),  # the kitty spoils the moon
    ],
)
def test_kitty_to(kitty_to: str, after_each_trick: list[list[int]], scores: list[int]) -> None:
    game = make_game("2C TD 4H / 3C 9D 5H", kitty="6H QS", kitty_to=kitty_to, break_on=None)
    seen = [play(game, trick).points() for trick in ("2C 3C", "5H 4H", "9D TD")]
    assert (seen, game.scores()) == (after_each_trick, scores)


def test_kitty_to_first_heart_the_queen_of_spades_does_not_count() -> None:
    game = make_game("2C 3D / QS 4H", kitty="6H", kitty_to="first_heart")
    assert play(game, "2C QS").kitty_taker is None
    play(game, "3D 4H")
    assert (game.kitty_taker, game.scores()) == (0, [0, 26])  # QS, 4H and 6H: everything


def test_kitty_to_first_heart_stays_dead_where_no_heart_is_dealt() -> None:
    game = make_game("2C 3D / 4C QS", kitty="6H 7H", kitty_to="first_heart")
    play(game, "2C 4C QS 3D")
    # Seat 1 took the queen, which is all that anybody took.
    assert (game.kitty_taker, game.points(), game.shooter) == (None, [0, 13], 1)


def test_kitty_to_first_penalty_goes_with_any_penalty_card_but_no_bonus_card() -> None:
    game = make_game("2C 3D / QS 4H", kitty="6H", kitty_to="first_penalty")
    assert (play(game, "2C QS").kitty_taker, game.points()) == (0, [14, 0])
    game = make_game(
        "2C 3D 4S / 3C 5H 9D",
        kitty="6H",
        kitty_to="first_penalty",
        card_points={"3C": -5, "5H": 1, "6H": 1, "4S": 2},
    )
    assert play(game, "2C 3C").kitty_taker is None  # a bonus card
    assert play(game, "9D 3D").kitty_taker is None
    assert (play(game, "5H 4S").kitty_taker, game.points()) == (1, [0, -1])


def test_kitty_to_first_penalty_stays_dead_where_no_penalty_card_is_dealt() -> None:
    points = {"QS": 13, "6H": 1, "2C": -1}
    game = make_game("2C 3D / 4C 5H", kitty="QS 6H", kitty_to="first_penalty", card_points=points)
    play(game, "2C 4C 5H 3D")
    assert (game.kitty_taker, game.points(), game.scores()) == (None, [0, -1], [0, -1])


def test_kitty_to_first_trick_goes_to_its_taker_as_trump_decides() -> None:
    game = make_game("AC 3D / 2H 4D", kitty="QS", kitty_to="first_trick", trump="H")
    play(game, "AC 2H")
    assert (game.kitty_taker, game.taken(1), game.points()) == (1, ("AC", "QS", "2H"), [0, 14])


def test_a_bonus_card_in_the_kitty_scores_like_a_taken_card() -> None:
    points = {**HEARTS_AND_QUEEN, "JD": -10}
    game = make_game(
        "2C 4H / 3C 5H", kitty="JD", kitty_to="last_trick", card_points=points, moon="none"
    )
    assert play(game, "2C 3C 5H 4H").scores() == [0, 2 - 10]


# ---- the moon -----------------------------------------------------------------------------------

# Seat 0 takes both hearts and the bonus of JD, seat 1 no trick.
MOON = "AC AD AH / 2C JD 4H"
MOON_PLAYS = "2C AC AD JD AH 4H"
WITH_JACK = {**HEARTS_AND_QUEEN, "JD": -10}


@pytest.mark.parametrize(
    ("moon", "scores"),
    [
        ("others_plus", [0 - 10, 26]),  # the bonus stays with its taker, on top
        ("self_minus", [-26 - 10, 0]),
        ("none", [2 - 10, 0]),
    ],
)
def test_moon_and_bonus(moon: str, scores: list[int]) -> None:
    game = play(make_game(MOON, moon=moon, card_points=WITH_JACK), MOON_PLAYS)
    assert game.scores() == scores
    assert game.points() == [2 - 10, 0]
    assert game.shooter == (None if moon == "none" else 0)


def test_a_bonus_card_taken_by_another_neither_spoils_the_moon_nor_is_lost() -> None:
    # Seat 1 takes JD, and so pays 26 - 10; bonus cards are no penalty cards.
    game = make_game("AC 2D AH / 2C JD 4H", card_points=WITH_JACK)
    play(game, "2C AC 2D JD 4H AH")
    assert (game.shooter, game.scores()) == (0, [0, 26 - 10])


def test_moon_also_when_a_point_card_is_dead() -> None:
    # QS is dead. Seat 1 takes QH and AH, all that anybody took: 15, though it took only 2.
    game = play(micro("QC QD QH/AC AD AH", kitty="QS AS"), "QC AC AD QD AH QH")
    assert (game.points(), game.shooter, game.scores()) == ([0, 2], 1, [15, 0])


def test_moon_of_two_player_hearts_is_20() -> None:
    deal = """
        [Rules "two_player"]
        [Hand 0 "2C 4C 6C 8C 2D 4D 6D 8D 2S 4S 6S 8S TS"]
        [Hand 1 "TC AC QD AD AS 2H 4H 6H 8H TH QH AH QS"]
        [Kitty "QC TD"]
        """
    game = Game.from_text(deal)
    # Seat 1 takes two clubs, two diamonds and two spades, QS too, and then leads its hearts, of
    # which seat 0 has none.
    play(game, "2C TC AC 4C QD 2D AD 4D AS 2S QS 4S")
    # Nobody was void yet, and no heart has been played.
    assert (game.points(), game.hearts_broken) == ([0, 13], False)
    play(game, "AH 6C")  # only hearts left
    assert (game.points(), game.hearts_broken) == ([0, 14], True)
    play(game, "QH 8C TH 6D 8H 8D 6H 6S 4H 8S 2H TS")
    assert (game.points(), game.shooter, game.scores()) == ([0, 20], 1, [20, 0])


def test_the_moon_needs_a_penalty_card() -> None:
    game = make_game("AC AD / 2C 3D", kitty="QS 4H", card_points=HEARTS_AND_QUEEN)
    play(game, "2C AC AD 3D")
    assert (game.phase, game.shooter, game.scores()) == ("over", None, [0, 0])


def test_the_moon_is_shot_by_a_single_card_where_it_is_the_only_penalty() -> None:
    game = play(make_game("2C 3D / 4C QS", card_points={"QS": 13}), "2C 4C QS 3D")
    assert (game.points(), game.scores()) == ([0, 13], [26, 0])


def test_no_moon_while_two_players_have_penalty_cards() -> None:
    # Seat 2 throws 5H on the diamond that seat 0 takes; then hearts are led.
    # The heart of seat 0 is the highest: it takes 5H, and 4H with 3H, all there is.
    game = make_game("2C 4H 9D / AC 3H 8D / 3C 6S 5H", first_lead="eldest_hand", dealer=2)
    play(game, "2C AC 3C 8D 5H 9D 4H 3H 6S")
    assert (game.points(), game.shooter, game.scores()) == ([3, 0, 0], 0, [0, 26, 26])
    # Here that of seat 1 is: it takes two hearts and spoils the moon.
    game = make_game("2C 2H 9D / AC 3H 8D / 3C 6S 5H", first_lead="eldest_hand", dealer=2)
    play(game, "2C AC 3C 8D 5H 9D 2H 3H 6S")
    assert (game.points(), game.shooter, game.scores()) == ([1, 2, 0], None, [1, 2, 0])


def test_before_the_end_scores_are_without_moon() -> None:
    game = play(micro("QC QD QH/AC AD AH", kitty="QS AS"), "QC AC AD QD AH")
    assert game.scores() == [0, 0]


@pytest.mark.parametrize(("choice", "scores"), [(0, [-36, 0]), (1, [-10, 26])])
def test_moon_choice(choice: int, scores: list[int]) -> None:
    game = play(make_game(MOON, moon="choose", card_points=WITH_JACK), MOON_PLAYS)
    # Six cards: the extra actions are 6 (off oneself) and 7 (to everybody else).
    assert game.rules.num_actions == 8
    assert (game.phase, game.player, game.legal_actions()) == ("moon", 0, [6, 7])
    assert game.leader is None  # all tricks are over
    assert game.scores() == [-8, 0]
    game.play(6 + choice)
    assert (game.phase, game.player, game.scores()) == ("over", None, scores)
    assert game.moon_choice == ("off", "others")[choice]


def test_moon_choice_only_after_a_moon() -> None:
    rules = Rules.preset("micro").replace(moon="choose")
    game = Game(rules, ["QC QS QH", "AC AD AH"], "QD AS")
    # 13 and 1 to seat 1, 1 to seat 0: no moon, no choice.
    play(game, "QC AC AD QH QS AH")
    assert (game.phase, game.points()) == ("over", [1, 14])
    assert (Rules.preset("micro").num_actions, rules.num_actions) == (8, 10)


# ---- no tricks, revokes -------------------------------------------------------------------------


def test_no_trick_points() -> None:
    # Seat 2 takes no trick; seat 0 one heart, seat 1 the other: no moon.
    game = make_game("AC 4H 9D / 2C AH TD / 3C 5D 8D", no_trick_points=-5)
    play(game, "2C 3C AC 9D TD 5D AH 8D 4H")
    assert (game.tricks_taken(), game.points()) == ([1, 2, 0], [0, 2, 0])
    # It is a moon: nobody gets anything for no trick.
    assert game.scores() == [26, 0, 26]
    game = make_game("AC 4H 9D / 2C AH TD / 3C 5D 8D", no_trick_points=-5, moon="none")
    play(game, "2C 3C AC 9D TD 5D AH 8D 4H")
    assert game.scores() == [0, 2, -5]


def test_no_trick_points_before_the_end_as_if_the_deal_stopped_now() -> None:
    game = make_game("AC 3S / 2C QS", no_trick_points=-5)
    assert game.scores() == [-5, -5]
    assert play(game, "2C AC").scores() == [0, -5]


@pytest.mark.parametrize(
    ("kitty_to", "charge"),
    # 4H and 5H are 2; the kitty with 6H and QS is 14 more, unless it is dead. TD is a bonus.
    [("nobody", 2)]
    + [(to, 16) for to in ("first_trick", "first_heart", "first_penalty", "last_trick")],
)
@pytest.mark.parametrize("plays", ["", "2C", "2C 3C 5H"])
def test_revoke_charges_every_penalty_point_in_play_or_taken(
    kitty_to: str, charge: int, plays: str
) -> None:
    game = make_game(
        "2C TD 4H / 3C 9D 5H",
        kitty="6H QS",
        kitty_to=kitty_to,
        break_on=None,
        no_trick_points=-5,
        card_points={**HEARTS_AND_QUEEN, "TD": -10},
    )
    offender = play(game, plays).player
    game.revoke()
    assert (game.phase, game.player, game.legal_actions()) == ("over", None, [])
    assert (game.revoker, game.scores()) == (
        offender,
        [charge if seat == offender else 0 for seat in range(2)],
    )


def test_revoke_in_the_exchange_and_at_a_moon_choice() -> None:
    game = Game.deal("classic", seed=1, deal_number=0)
    game.revoke()
    assert game.scores() == [26, 0, 0, 0]
    game = play(make_game(MOON, moon="choose", card_points=WITH_JACK), MOON_PLAYS)
    game.revoke()
    assert (game.scores(), game.shooter) == ([2, 0], None)  # a revoked deal has no moon


def test_a_whole_deal_of_micro() -> None:
    game = micro("QC QS QH/AC AD AH", kitty="QD AS")
    assert legal(game) == "QC"
    assert legal(play(game, "QC")) == "AC"
    assert legal(play(game, "AC")) == "AD"  # no heart yet: AD is neither spade nor heart
    assert legal(play(game, "AD")) == "QS QH"
    play(game, "QH")  # a trump takes AD, and its own point
    assert (game.player, game.points(), game.voids(0)) == (0, [1, 0], "D")
    play(game, "QS AH")
    assert (game.points(), game.scores(), game.margins()) == ([1, 14], [1, 14], [13, -13])
    assert game.tricks == (((0, "QC"), (1, "AC")), ((1, "AD"), (0, "QH")), ((0, "QS"), (1, "AH")))


def test_margins_are_the_others_mean_less_ones_own() -> None:
    game = make_game("AC 4H 9D / 2C AH TD / 3C 5D 8D", moon="none")
    play(game, "2C 3C AC 9D TD 5D AH 8D 4H")
    assert game.scores() == [0, 2, 0]
    assert game.margins() == [1, -2, 1]
