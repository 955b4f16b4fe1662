"""Matches: continuation, end, winner and the three settlements worked out by hand."""

from __future__ import annotations

import copy
import pickle
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

from hearts_env import Game, HeartsError, IllegalActionError, Match, Rules, settle
from hearts_env.game.match import Scoreboard
from hearts_env.rules.explain import match_sentences
from hearts_env.seeds import derived_seed
from tests.lockstep import naive_of
from tests.naive import NaiveGame, NaiveMatch, naive_settle
from tests.refusals import raises_hearts_error
from tests.slow import quick_given
from tests.strategies import rule_sets

HALF = Fraction(1, 2)
SWEEPSTAKES = "hoyle players=3 settlement=sweepstakes stake=20"
METHODS = ("simple", "sweepstakes", "howell")


def chips(*net: int | Fraction) -> list[Fraction]:
    return [Fraction(chip) for chip in net]


# ---- settlements by hand -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "points", "pool", "net", "left"),
    [
        # 13 points. The third player has the fewest, takes the pot of 13 and has paid nothing.
        ("simple", [8, 5, 0], 0, [-8, -5, 13], 0),
        # Two have none: they share the pot, 6 1/2 each.
        ("simple", [0, 13, 0], 0, [6 + HALF, -13, 6 + HALF], 0),
        # All have points. The player with 2 takes all 13, including the own 2: +11.
        ("simple", [2, 4, 7], 0, [11, -4, -7], 0),
        # Two share the fewest, 3 each: 16 / 2 = 8 each, 5 more than they paid.
        ("simple", [3, 3, 4, 6], 0, [5, 5, -4, -6], 0),
        # Two players, 7 against 6: the pot of 13 goes to the second, net 7.
        ("simple", [7, 6], 0, [-7, 7], 0),
        # One of three has none: the pool of 13 is his.
        ("sweepstakes", [0, 5, 8], 0, [13, -5, -8], 0),
        # All have points: 13 stay in the pool.
        ("sweepstakes", [1, 4, 8], 0, [-1, -4, -8], 13),
        # One has taken them all: they stay too, though two have none.
        ("sweepstakes", [0, 13, 0], 0, [0, -13, 0], 13),
        # The deal after: 13 lie there, 13 more are paid, and two of four share 26.
        ("sweepstakes", [0, 6, 0, 7], 13, [13, -6, 13, -7], 0),
        # All points are dead: no player has any, and all share the pool.
        ("sweepstakes", [0, 0, 0], 9, [3, 3, 3], 0),
        # Three players, T = 13: 13 - 3 * 0, 13 - 3 * 5, 13 - 3 * 8. The sum is 0.
        ("howell", [0, 5, 8], 0, [13, -2, -11], 0),
        # Four players, one takes all, pays 39 and takes out nothing. Each other takes out 13.
        ("howell", [13, 0, 0, 0], 0, [-39, 13, 13, 13], 0),
        # A pool (which Howell's own settlement never makes) is left alone.
        ("howell", [9, 4], 7, [-5, 5], 7),
    ],
)
def test_settlements_equal_hand_counts(
    method: str, points: list[int], pool: int, net: list[Any], left: int
) -> None:
    assert settle(method, points, pool) == (chips(*net), Fraction(left))


@quick_given(
    83,
    500,
    st.sampled_from(METHODS),
    st.lists(st.integers(0, 30), min_size=2, max_size=7),
    st.fractions(0, 50, max_denominator=12),
)
def test_chips_are_conserved(method: str, points: list[int], pool: Fraction) -> None:
    net, left = settle(method, points, pool)
    assert sum(net) + left == pool
    assert left >= 0
    assert all(isinstance(chip, Fraction) for chip in [*net, left])
    if method == "howell":
        assert sum(net) == 0
    if method != "simple" or pool == 0:  # what others left is only in a sweepstake's pool
        assert (net, left) == naive_settle(method, points, pool)


@pytest.mark.parametrize(
    ("method", "points", "argument"),
    [("points", [1, 2], "method"), ("simple", [1, -2], "points"), ("simple", [], "points")],
)
def test_invalid_settlement_is_refused(method: str, points: Any, argument: str) -> None:
    with raises_hearts_error(HeartsError, argument):
        settle(method, points)


# ---- matches against the naive account -----------------------------------------------------------


def play_deal(match: Match, rng: random.Random, *, revoke: bool = False) -> NaiveGame:
    """Play the deal of a match at random to its end or a revoke; return its naive game."""
    game, naive = match.game, naive_of(match.game)
    while naive.phase != "over":
        assert match.current_player == naive.current_player
        assert match.legal_actions() == naive.legal()
        assert match.game is game
        if revoke and rng.random() < 0.2:
            match.revoke()
            naive.revoke()
        else:
            action = rng.choice(naive.legal())
            match.play(action)
            naive.play(action)
    assert match.last_game is game
    assert game.scores() == naive.scores()
    return naive


def play_match(rules: Rules, seed: int, most: int = 200, revokes: float = 0.0) -> Match:
    """A match compared with the naive account after each deal, until its end or so many deals."""
    rng = random.Random(seed)
    dealer = rng.randrange(rules.players)
    match, naive = Match(rules, seed, dealer=dealer), NaiveMatch(rules, dealer)
    seen = set()
    while not naive.is_over and naive.deal_number < most:
        assert (match.game.deal_number, match.game.dealer) == (naive.deal_number, naive.dealer)
        assert match.game.totals == tuple(int(total) for total in naive.totals)
        seen.add(tuple(match.game.hand(seat) for seat in range(rules.players)))
        naive.add_game(play_deal(match, rng, revoke=rng.random() < revokes))
        assert match.totals == naive.totals
        assert match.pool == naive.pool
        assert match.num_deals == naive.deal_number
        assert match.is_over == naive.is_over
        assert match.winner == naive.winner
        if match.in_chips:
            assert sum(match.totals) + match.pool == rules.stake * rules.players
    if rules.hand_size > 3:  # each deal is another one
        assert len(seen) == match.num_deals
    if match.is_over:
        with raises_hearts_error(IllegalActionError, "action"):
            match.play(0)
        with raises_hearts_error(IllegalActionError, "action"):
            match.revoke()
    return match


MATCHES = [
    "two_player",
    "mini end_score=40",
    "classic",
    "no_pass end_score=60",
    "party players=5",
    "party players=3 tie=all_past_limit end_score=20",
    "kitty players=7 end_score=60",
    "omnibus",
    "hoyle players=2 stake=20",
    "hoyle players=5 stake=30",
    "hoyle players=3 settlement=sweepstakes stake=60",
    "hoyle players=4 settlement=howell target=50",
    "black_jack players=3 settlement=howell stake=80",
    "black_jack players=6 settlement=sweepstakes target=30",
    "black_lady target=40",
    "classic max_deals=3",
    "black_lady settlement=sweepstakes max_deals=2",
]


@pytest.mark.parametrize("text", MATCHES)
def test_matches_of_all_games_equal_naive_account(text: str) -> None:
    rules = Rules.from_text(text)
    over = sum(play_match(rules, seed, revokes=0.1).is_over for seed in range(3))
    assert over >= 2  # a random match in chips may take very long


@quick_given(25, 150, rule_sets(max_players=5, max_hand=5, max_deck=24), st.integers(0, 2**63 - 1))
def test_matches_under_any_rules_equal_naive_account(rules: Rules, seed: int) -> None:
    play_match(rules, seed, most=12, revokes=0.2)


@quick_given(
    50,
    300,
    st.sampled_from(["points", *METHODS]),
    st.integers(3, 6),
    st.sampled_from(["reached", "exceeded"]),
    st.sampled_from(["lowest_shared", "all_past_limit"]),
    st.integers(0, 2**32),
)
def test_scoreboard_equals_naive_account_on_invented_results(
    settlement: str, players: int, end_when: str, tie: str, seed: int
) -> None:
    """Ties and ends are rare in play, so deals get invented points."""
    rng = random.Random(seed)
    rules = Rules.preset("party" if settlement == "points" else "hoyle", players).replace(
        settlement=settlement,
        end_when=end_when,
        tie=tie,
        end_score=rng.choice([3, 5, 9]),
        stake=rng.choice([3, 9]),
        target=rng.choice([None, 4]),
        max_deals=rng.choice([None, None, 3]),
    )
    board, naive = Scoreboard(rules), NaiveMatch(rules)
    while not naive.is_over and naive.deal_number < 50:
        least = 0 if settlement != "points" or tie == "lowest_shared" else -2
        results = [rng.choice([least, 0, 1, 1, 2, 3]) for _ in range(players)]
        board.add(results, results)
        naive.add_deal(results)
        assert board.totals == naive.totals
        assert (board.pool, board.is_over) == (naive.pool, naive.is_over)
        assert board.winner == naive.winner


# ---- matches by hand -----------------------------------------------------------------------------


def board_after(text: str, *deals: list[int]) -> Scoreboard:
    """Return the scoreboard after deals with these results, compared with the naive one."""
    board = Scoreboard(text)
    naive = NaiveMatch(board.rules)
    for results in deals:
        assert not board.is_over
        board.add(results, results)
        naive.add_deal(results)
    assert (naive.totals, naive.pool) == (board.totals, board.pool)
    assert (naive.is_over, naive.winner) == (board.is_over, board.winner)
    return board


def test_finished_scoreboard_refuses_another_deal() -> None:
    board = board_after("two_player", [90, 20], [10, 10])
    with raises_hearts_error(HeartsError, "scores", hint="another Scoreboard"):
        board.add([0, 500], [0, 500])
    assert (board.winner, board.totals, board.num_deals) == (1, [100, 30], 2)


@pytest.mark.parametrize("wrong", [[1], [1] * 4, ["1", 2], b"12", None, [0.5, 1], [None, 1]])
@pytest.mark.parametrize(("rules", "name"), [("two_player", "scores"), (SWEEPSTAKES, "points")])
def test_results_without_number_per_seat_are_refused(rules, name, wrong) -> None:
    board = Scoreboard(rules)
    before = board.clone()
    with raises_hearts_error(HeartsError, name):
        board.add(*([wrong, [0, 0, 0]] if name == "scores" else [[0, 0, 0], wrong]))
    assert board == before


PLAY_OFF = "party players=3 tie=all_past_limit"


@pytest.mark.parametrize(
    ("text", "deals", "totals", "winner"),
    [
        ("two_player", [[90, 20], [9, 10]], [99, 30], None),
        ("two_player", [[90, 20], [10, 10]], [100, 30], 1),
        ("two_player end_when=exceeded", [[90, 20], [10, 10]], [100, 30], None),
        ("two_player end_when=exceeded", [[90, 20], [11, 10]], [101, 30], 1),
        # A shared lowest total plays on.
        ("party players=3", [[101, 50, 50]], [101, 50, 50], None),
        ("party players=3", [[101, 50, 50], [0, 1, 2]], [101, 51, 52], 1),
        # All pass the limit in one deal. If one has passed it before, the match ends.
        ("mini tie=lowest_shared", [[90, 80], [10, 21]], [100, 101], 0),
        *[(name, [[99, 98], [2, 5]], [101, 103], None) for name in ("two_player", "mini", "micro")],
        ("mini", [[90, 80], [10, 21], [1, 1]], [101, 102], 0),
        ("mini", [[100, 100], [1, 2]], [101, 102], 0),
        # All are above 100 after one deal. Then the lowest total is shared, and then it is not.
        (PLAY_OFF, [[101, 103, 103], [4, 2, 2]], [105, 105, 105], None),
        (PLAY_OFF, [[101, 103, 103], [4, 2, 2], [0, 1, 9]], [105, 106, 114], 0),
        # Bonus cards may bring all below the limit again: that is still the play-off.
        (PLAY_OFF, [[101, 102, 103], [-10, -10, -10]], [91, 92, 93], 0),
        # 13 go to the pool. Then all have points and seat 0 is at -4, but first place is shared.
        (SWEEPSTAKES, [[13, 0, 0], [11, 1, 1]], [-4, 19, 19], None),
        # It is no longer: 14 against 12, and the pool of 39 is divided, 13 for each.
        (SWEEPSTAKES, [[13, 0, 0], [11, 1, 1], [1, 5, 7]], [8, 27, 25], 1),
        # 6 1/2 won, then 19 1/2.
        ("hoyle players=3 target=13", [[0, 0, 13]], [106 + HALF, 106 + HALF, 87], None),
        ("hoyle players=3 target=13", [[0, 0, 13], [0, 8, 5]], [119 + HALF, 98 + HALF, 82], 0),
    ],
)
def test_match_is_won_at_the_deciding_total(
    text: str, deals: list[list[int]], totals: list[Any], winner: int | None
) -> None:
    board = board_after(text, *deals)
    assert (board.totals, board.is_over, board.winner) == (totals, winner is not None, winner)


def test_max_deals_ends_a_match_with_its_ties() -> None:
    board = board_after("party players=3 max_deals=2", [5, 6, 7], [5, 4, 7])
    assert (board.totals, board.is_over, board.winner) == ([10, 10, 14], True, None)


@pytest.mark.parametrize("text", ["party", "two_player", "hoyle"])
def test_match_sentences_follow_every_deciding_field(text: str) -> None:
    fields: dict[str, list[Any]] = {"stake": [61], "target": [71], "max_deals": [81]}
    if text != "hoyle":
        ends = ["reached", "exceeded"], ["lowest_shared", "all_past_limit"]
        fields = {"end_score": [61], "end_when": ends[0], "tie": ends[1], "max_deals": [81]}
    rules = Rules.from_text(text)
    texts = {rules: ""}
    for name, values in fields.items():
        for value in values:
            other = rules.replace(**{name: value})
            texts[other] = " ".join(match_sentences(other))
            assert not isinstance(value, int) or str(value) in texts[other]
    assert len(set(texts.values())) == len(texts)


def test_first_dealer_is_drawn_unless_given() -> None:
    for text in ("two_player", "hoyle players=3", "classic"):
        matches = [Match(text, seed) for seed in range(300)]
        players = matches[0].rules.players
        counts = [sum(m.first_dealer == p for m in matches) for p in range(players)]
        # 300 draws: each seat within five standard deviations of its share.
        share = 300 / players
        assert all(abs(n - share) < 5 * (share * (1 - 1 / players)) ** 0.5 for n in counts)
        for match in matches[:20]:
            assert match.game.dealer == match.first_dealer
            assert match.game == Game.deal(
                text, derived_seed(match.seed, 0), deal_number=0, totals=match.game.totals
            )
        assert [Match(text, 7, dealer=p).game.dealer for p in range(players)] == [*range(players)]


# ---- the object ----------------------------------------------------------------------------------


def play_some(match: Match, steps: int, seed: int) -> Match:
    rng = random.Random(seed)
    for _ in range(steps):
        if match.is_over:
            break
        match.play(rng.choice(match.legal_actions()))
    return match


@pytest.mark.parametrize("text", ["two_player", "hoyle settlement=sweepstakes", "classic"])
def test_copies_play_on_identically(text: str) -> None:
    match = play_some(Match(text, seed=3), 130, seed=1)
    twins = [match.clone(), copy.deepcopy(match), pickle.loads(pickle.dumps(match))]
    before = match.clone()
    play_some(match, 200, seed=2)
    for twin in twins:
        assert twin == before
        assert twin != match
        assert play_some(twin, 200, seed=2) == match
        assert (twin.totals, twin.pool) == (match.totals, match.pool)
    assert match != "match"
