"""Hidden information and possible worlds: a player's knowledge and its conclusions."""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from hearts_env import Game, HeartsError, PlayerView, Rules, kernel
from hearts_env.cards import ALL_CARDS, mask_of
from hearts_env.rules.presets import GAMES
from hearts_env.views import hidden
from hearts_env.views.picture import picture_of
from tests.deals import make_game, play
from tests.lockstep import QUICK, every_deal, every_line, naive_at
from tests.naive import NaiveGame, naive_world_bound, naive_worlds
from tests.refusals import raises_hearts_error
from tests.reshuffle import reshuffled
from tests.slow import TIMES, quick_cases, quick_count, quick_given
from tests.strategies import games, positions, rule_sets


def deck_of(ranks: str) -> tuple[str, ...]:
    """The cards to remove so that these ranks are left."""
    return tuple(card for card in ALL_CARDS if card[0] not in ranks)


def small(players: int, hand_size: int, ranks: str = "TQA", **changes: Any) -> Rules:
    """A game small enough for brute force."""
    return Rules(players=players, hand_size=hand_size, removed=deck_of(ranks), **changes)


# Each of them has some of what makes worlds hard: leads that prove something, a queen that may
# be played any time, first tricks without points, exchanges, kitties that are turned up.
HARD_RULES = {
    "micro": Rules.preset("micro"),
    "mini": Rules.preset("mini"),
    "mini, a dodging queen": Rules.preset("mini").replace(queen_any_time=True),
    "mini, the queen breaks": Rules.preset("mini").replace(
        queen_any_time=True, queen_breaks_hearts=True
    ),
    "mini, any club": Rules.preset("mini").replace(first_lead="any_club", break_on="heart"),
    "two, exchange and last trick": small(
        2, 5, pass_count=2, pass_rotation=("left",), kitty_to="last_trick", trump="S"
    ),
    "two, eldest hand": small(
        2, 5, first_lead="eldest_hand", unbroken_lead="queen_frees_hearts", queen_any_time=True
    ),
    "three, all at once": small(
        3,
        3,
        first_lead="any_club",
        break_on="void",
        unbroken_lead="spades_or_hearts",
        queen_any_time=True,
        points_on_first_trick=False,
        pass_count=1,
        pass_rotation=("right",),
        kitty_to="first_heart",
    ),
    "three, void": small(
        3, 4, break_on="void", queen_any_time=True, points_on_first_trick=False, trump="H"
    ),
    "three, across": small(3, 4, pass_count=2, pass_rotation=("across", "hold")),
    "four, first trick": small(
        4, 3, points_on_first_trick=False, pass_count=1, pass_rotation=("across",)
    ),
    "four, kitty": small(4, 2, first_lead="any_club", kitty_to="first_trick", break_on="void"),
    "four, eldest": small(
        4, 3, first_lead="eldest_hand", unbroken_lead="spades_or_hearts", moon="choose"
    ),
    "five": small(5, 2, first_lead="any_club", queen_any_time=True, break_on="void"),
}


# ---- hidden information -------------------------------------------------------------------------


def kinds_of_members(owner: type) -> dict[str, type]:
    return {name: type(getattr(owner, name)) for name in dir(owner) if name[0] != "_"}


def test_game_and_view_use_the_same_names() -> None:
    game, view = kinds_of_members(Game), kinds_of_members(PlayerView)
    only = {"player", "unseen", "key", "num_worlds", "worlds", "sample_worlds"}
    assert view.keys() - game.keys() == only
    own = {"hand", "passed", "received"}  # of a game, a seat's
    assert {name for name in view.keys() & game.keys() if view[name] is not game[name]} == own


@quick_given(25, 150, games(rule_sets(max_players=5)))
def test_game_and_view_agree_on_public_facts(game: Game) -> None:
    names = ("current_player", "is_over", "phase", "points", "tricks_taken", "voids", "taken")
    for seat in range(game.rules.players):
        view = game.view(seat)
        for name in names:
            ours, theirs = (getattr(one, name) for one in (game, view))
            assert ours == theirs if name != "taken" else ours(seat) == theirs(seat)
        assert view.hand == game.hand(seat)


def assert_looks_the_same(game: Game, other: Game, player: int) -> None:
    """Fails if `player` could tell the two games apart."""
    view, redrawn = game.view(player), other.view(player)
    np.testing.assert_array_equal(view.vector, redrawn.vector)
    assert view == redrawn
    for encoder in ("flat", "ranked", "recall", "history"):  # straight from the state
        seen = game.observe(player=player, observation=encoder)
        assert np.array_equal(seen, other.observe(player=player, observation=encoder))
    assert view.to_text() == redrawn.to_text()
    assert view.legal_actions() == redrawn.legal_actions()
    assert picture_of(game, player) == picture_of(other, player)  # every drawing
    assert (game.phase, game.current_player, game.trick) == (
        other.phase,
        other.current_player,
        other.trick,
    )
    assert game.points == other.points
    assert game.tricks_taken == other.tricks_taken
    assert game.hearts_broken == other.hearts_broken
    if game.revoker is None:  # a revoke charges points that lie hidden, but always the same
        assert game.scores() == other.scores()


@quick_cases(("name", "players"), GAMES, QUICK)
def test_view_is_unchanged_by_reshuffling_hidden_cards(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    changed = 0
    for seed in range(TIMES * (6 if players == 2 else 2 if players < 6 else 1)):
        for game in positions(rules, seed)[:: 6 if players > 5 else 1]:
            for player in range(0, players, 3 if players > 5 else 1):
                other = reshuffled(game, player, seed)
                assert_looks_the_same(game, other, player)
                changed += other != game
    assert changed > 0


@quick_given(25, 150, games(rule_sets(max_players=5, max_hand=9)), st.integers(0, 99))
def test_view_ignores_reshuffling_under_any_rules(game: Game, seed: int) -> None:
    for player in range(game.rules.players):
        assert_looks_the_same(game, reshuffled(game, player, seed), player)


def test_passed_cards_are_hidden_until_delivery() -> None:
    rules = Rules.preset("classic")
    game = Game.deal(rules, seed=4, deal_number=0)
    while game.phase == "pass":
        for player in range(4):
            view = game.view(player)
            assert view.received == ()
            assert set(view.hand) == set(game.start().hand(player))
            others = [q for q in range(4) if q != player]
            for field in (kernel.HANDS, kernel.PASSED, kernel.RECEIVED):
                assert not view.vector[[field + kernel.SEAT * q for q in others]].any()
        game.play(game.legal_actions()[0])
    for player in range(4):
        # Left: what seat p passed, the next seat has received, and a third seat sees neither.
        assert game.view((player + 1) % 4).received == game.passed(player)
        assert game.view(player).vector[kernel.PASSED + kernel.SEAT * ((player + 2) % 4)] == 0


def test_view_fields_follow_the_layout() -> None:
    """A view keeps the fields that the kernel's column "who may know" allows."""
    rules = Rules.preset("kitty", players=4)
    for game in positions(rules, seed=3):
        for player in range(4):
            view = game.view(player)
            assert game.history == view.history
            for name, start, _, _, _, who, is_seats in kernel.STATE:
                places = kernel.every_seat(start, 4 if is_seats else 0)
                real = game.vector[places if is_seats else start]
                shown = view.vector[places if is_seats else start]
                if who == kernel.ALL:
                    assert np.array_equal(real, shown), name
                elif who == kernel.OWN:
                    assert shown[player] == real[player]
                    assert not np.delete(shown, player).any(), name
                else:
                    assert who == kernel.NOBODY
                    awarded = game.kitty_taker is not None
                    assert shown == (real if awarded else 0), name


def test_layout_constants_cover_fields_without_overlap() -> None:
    """Every field has a constant of its name, a plain number, and no two fields overlap."""
    once = kernel.SEATS + kernel.SEAT
    for fields, size in ((kernel.STATE, once), (kernel.RULES, kernel.RULES_SIZE)):
        places = []
        for field in fields:
            start = getattr(kernel, field.name)
            assert type(start) is int  # a constant of compiled code
            assert start == field.start, field.name
            places += range(start, start + field.size)
        assert places == list(range(size))


def test_empty_state_follows_the_layout() -> None:
    state = np.full(Rules.preset("classic").state_size, 77, np.int64)
    kernel.clear(state)
    for field in kernel.STATE:
        places = kernel.every_seat(field.start, 4 if field.is_seats else 1)
        assert (state[places] == (field.empty or 0)).all(), field.name
    assert not state[kernel.SEATS :].any()  # the history too


def test_view_is_unchanged_by_later_play() -> None:
    game = Game.deal("two_player", seed=1)
    view = game.view(0)
    text = view.to_text()
    before = view.vector.copy()
    game.play(game.legal_actions()[0])
    assert view.to_text() == text
    assert (view.vector == before).all()
    assert view != game.view(0)


def test_view_copies_and_pickles() -> None:
    view = Game.deal("party", seed=1).view(2)
    for twin in (copy.copy(view), copy.deepcopy(view), pickle.loads(pickle.dumps(view))):
        assert twin == view
        assert isinstance(twin, PlayerView)
        assert twin.to_text() == view.to_text()
    assert view != "view"
    assert view != Game.deal("party", seed=1).view(1)


def test_only_the_mover_has_legal_actions() -> None:
    for game in positions(Rules.preset("no_pass"), seed=9):
        for player in range(4):
            expected = game.legal_actions() if game.current_player == player else []
            assert game.view(player).legal_actions() == expected


# ---- worlds against brute force -----------------------------------------------------------------


def assert_worlds_by_brute_force(game: Game, naive: NaiveGame, limit: int = 1700) -> int:
    """Compare every player's worlds with all assignments. Return the number of worlds."""
    tried = 0
    for player in range(game.rules.players):
        known = naive.knowledge(player)
        bound = naive_world_bound(game.rules, known)
        if bound > limit:
            continue
        tried += bound
        view = game.view(player)
        expected = naive_worlds(game.rules, known)
        worlds = list(view.worlds())
        if set(worlds) != expected:
            extra, missing = sorted(set(worlds) - expected), sorted(expected - set(worlds))
            raise AssertionError(
                f"player {player}: impossible {extra[:3]}, missing {missing[:3]}\n{game.to_text()}"
            )
        assert len(worlds) == len(expected) == view.num_worlds
    return tried


@quick_count("enough", 1_000, 6_000)
@pytest.mark.parametrize("name", HARD_RULES)
def test_worlds_against_brute_force(name: str, enough: int) -> None:
    seed = tried = 0
    while tried < enough:
        for game in positions(HARD_RULES[name], seed):
            tried += assert_worlds_by_brute_force(game, naive_at(game))
        seed += 1


@quick_given(25, 150, games(rule_sets(max_players=4, max_hand=4, max_deck=12)))
def test_worlds_against_brute_force_under_any_rules(game: Game) -> None:
    assume(game.revoker is None)
    assert_worlds_by_brute_force(game, naive_at(game), limit=400)


@pytest.mark.slow
def test_worlds_of_micro_equal_indistinguishable_deals() -> None:
    """Of all deals of micro, those that agree with a view are its worlds: at every position."""
    rules = Rules.preset("micro")
    # The positions of all lines of all deals, by all that a player knows of them.
    alike: dict[tuple[int, bytes], set[tuple[tuple[str, ...], ...]]] = {}
    views: dict[tuple[int, bytes], PlayerView] = {}
    for deal in every_deal(rules):
        for game, _ in every_line(deal):
            for player in range(2):
                view = game.view(player)
                key = (player, view.vector.tobytes())
                alike.setdefault(key, set()).add((game.hand(0), game.hand(1), game.kitty))
                views[key] = view
    for key, worlds in alike.items():
        assert set(views[key].worlds()) == worlds, views[key].to_text()
    assert max(map(len, alike.values())) == 10  # C(5, 2): five cards unseen, two of them dead


# ---- worlds counted by hand ---------------------------------------------------------------------


def cards(text: str) -> list[str]:
    return text.split()


def test_worlds_before_anything_is_known() -> None:
    # In the exchange of the classic game 39 cards lie in three hands of 13.
    game = Game.deal("classic", seed=1, deal_number=0)
    assert game.view(2).num_worlds == math.factorial(39) // math.factorial(13) ** 3


def test_worlds_when_the_first_leader_is_known() -> None:
    # No exchange: who is to lead has 2C, so that 38 cards are left for 12, 13 and 13 places.
    game = Game.deal("classic", seed=1, deal_number=3)
    assert game.current_player is not None
    others = math.factorial(38) // (math.factorial(12) * math.factorial(13) ** 2)
    assert game.view((game.current_player + 1) % 4).num_worlds == others
    assert (
        game.view(game.current_player).num_worlds == math.factorial(39) // math.factorial(13) ** 3
    )


def test_first_lead_excludes_worlds_with_lower_clubs() -> None:
    rules = Rules.preset("two_player")
    hands = [
        cards("2C 6C 8C 2D 4D 6D 8D TD 2S 4S 6S 8S TS"),
        cards("4C TC QC AC QD AD QS AS 2H 4H 6H 8H TH"),
    ]
    game = Game(rules, hands)
    # Seat 0 has 2C. 15 cards are unseen, two of them dead.
    assert game.view(0).num_worlds == 105
    # Seat 1 sees that seat 0 leads and so has 2C (the only card below 4C). Of the other
    # 14 unseen cards two are dead.
    assert game.view(1).num_worlds == 14 * 13 // 2


def test_points_on_first_trick_show_the_hand() -> None:
    game = make_game("TC QC TD / TH QH AH / AC QD AD / TS QS AS", points_on_first_trick=False)
    play(game, "TC TH")
    # Seat 1 holds two of QH, AH and QS. The other five unseen cards are two of seat 0 and three of
    # seat 3.
    assert game.view(2).num_worlds == math.comb(3, 2) * math.comb(5, 2)


def test_more_than_a_million_worlds_are_refused() -> None:
    view = Game.deal("classic", seed=1, deal_number=0).view(0)
    with raises_hearts_error(HeartsError, "worlds", "sample_worlds"):
        view.worlds()
    with raises_hearts_error(HeartsError, "worlds", f"{view.num_worlds:,}"):
        view.worlds()


def test_million_worlds_are_accepted() -> None:
    # 7 players with unseen hands of 1 card: 6! worlds. 2 players: just above a million.
    view = small(7, 1, "QA", first_lead="eldest_hand")
    assert Game.deal(view, seed=1).view(0).num_worlds == math.factorial(7)  # 7 cards, 1 dead
    big = Rules(players=2, hand_size=11, first_lead="eldest_hand", removed=deck_of("23456789"))
    view_of_big = Game.deal(big, seed=1).view(0)
    assert view_of_big.num_worlds == math.comb(21, 11) == 352_716
    assert next(iter(view_of_big.worlds()))[0] == view_of_big.hand


# ---- order and sampling -------------------------------------------------------------------------


def worlds_of_two(view: PlayerView, room: int = 4000) -> list[int]:
    out = np.zeros(room, np.int64)
    scratch = np.zeros(3 * (kernel.MAX_PLAYERS + 1) + 128, np.int64)
    count = hidden.worlds_of_two(view.rules.vector, view.vector, view.player, out, scratch)
    assert count <= room
    return [int(hand) for hand in out[:count]]


@pytest.mark.parametrize("name", [name for name in HARD_RULES if HARD_RULES[name].players == 2])
def test_compiled_worlds_of_two_handle_hard_rules(name: str) -> None:
    dodged = 0
    for seed in range(40):
        for game in positions(HARD_RULES[name], seed):
            for player in range(2):
                view = game.view(player)
                if game.phase == "pass":
                    continue
                hands = [mask_of(view.rules.index[c] for c in w[1 - player]) for w in view.worlds()]
                assert worlds_of_two(view) == hands, game.to_text()
                dodged += view.vector[kernel.DODGED] >= 0
    # Where the queen dodged, her player is known to have held the suit.
    assert (dodged > 0) == (name == "mini, a dodging queen")


def test_compiled_worlds_stop_where_room_ends() -> None:
    view = Game.deal("two_player", seed=5).view(0)
    out = np.zeros(4, np.int64)
    scratch = np.zeros(3 * (kernel.MAX_PLAYERS + 1) + 128, np.int64)
    assert hidden.worlds_of_two(view.rules.vector, view.vector, 0, out, scratch) == 5
    assert out.tolist() == worlds_of_two(view)[:4]


@quick_count("most", 300, 3000)
@pytest.mark.parametrize("name", HARD_RULES)
def test_worlds_come_in_lexicographic_order_of_hands(name: str, most: int) -> None:
    rules = HARD_RULES[name]
    for game in positions(rules, seed=2):
        for player in range(rules.players):
            view = game.view(player)
            if view.num_worlds < most:
                order = [[[rules.index[c] for c in cards] for cards in w] for w in view.worlds()]
                assert order == sorted(order)


@quick_count("number", 1, 6)
@pytest.mark.parametrize("name", HARD_RULES)
def test_sampled_worlds_are_uniform(name: str, number: int) -> None:
    rules = HARD_RULES[name]
    tested = 0
    for seed in range(60):
        for game in positions(rules, seed)[1::2]:
            view = game.view(seed % rules.players)
            cells = view.num_worlds
            if not 3 <= cells <= 120:
                continue
            tested += 1
            draws = 60 * cells
            counts = Counter(view.sample_worlds(draws, seed))
            assert set(counts) <= set(view.worlds())
            # Pearson's statistic. Its cube root is nearly normal (Wilson and Hilferty, 1931).
            statistic = sum((counts[w] - 60) ** 2 / 60 for w in view.worlds())
            degrees = cells - 1
            spread = 2 / (9 * degrees)
            z = ((statistic / degrees) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
            assert z < 4.5, (z, game.to_text())
            if tested == number:
                return
    assert tested == number


def test_sampled_worlds_follow_from_the_seed() -> None:
    view = Game.deal("classic", seed=1, deal_number=3).view(0)
    assert view.sample_worlds(5, 7) == view.sample_worlds(5, 7)
    assert view.sample_worlds(5, 7) != view.sample_worlds(5, 8)
    assert view.sample_worlds(0, 7) == []


def test_dodging_queen_on_first_trick_proves_no_penalties() -> None:
    """Seat 1, void in clubs, threw her though it holds a harmless card: others are possible."""
    game = make_game(
        "2C 3C 4C / QS 5D 6H",
        "7D",
        queen_any_time=True,
        break_on="void",
        points_on_first_trick=False,
    )
    view = play(game, "2C QS").view(0)
    hidden = {"5D", "6H", "7D"}  # two of them in the hand of seat 1
    assert view.num_worlds == 3
    assert {frozenset(world[1]) for world in view.worlds()} == {
        frozenset(hidden - {card}) for card in hidden
    }
