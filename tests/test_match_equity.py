"""Match equity: by hand, against matches drawn with the scoreboard, and against closed forms."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from hearts_env import HeartsError, Rules
from hearts_env.game.match import Scoreboard
from hearts_env.solve.deal_results import DealResults, load_results, shipped_results
from hearts_train.measure.equity import MatchEquity, measure_results
from tests.refusals import refused
from tests.slow import few


def results(text: str, rows: dict[tuple[int, int], int]) -> DealResults:
    """These results of deals, so many of each by either dealer."""
    rules = Rules.from_text(text)
    kinds = [(pair, dealer) for pair in rows for dealer in range(2)]
    counts = [rows[pair] for pair, _ in kinds]
    scores, dealers = np.array([pair for pair, _ in kinds]), np.array([d for _, d in kinds])
    return DealResults(rules, scores, dealers, np.array(counts))


# ---- by hand -------------------------------------------------------------------------------------
def test_first_to_two_by_hand() -> None:
    # One point a deal, ours with chance 1/4; who has two has lost.
    equity = MatchEquity("micro end_score=2", results("micro", {(1, 0): 1, (0, 1): 3}))
    assert equity.chance(1, 1) == pytest.approx(3 / 4)
    assert equity.chance(1, 0) == pytest.approx(3 / 4 * 3 / 4)
    assert equity.chance(0, 1) == pytest.approx(1 / 4 * 3 / 4 + 3 / 4)
    assert equity.chance(0, 0) == pytest.approx(1 / 4 * 9 / 16 + 3 / 4 * 15 / 16)
    assert equity.deals_to_come(1, 1) == pytest.approx(1)
    assert equity.deals_to_come(0, 0) == pytest.approx(2 + 2 * 3 / 16)  # a third after 1-1


def test_a_play_off_by_hand() -> None:
    # Half of the deals bring both past the limit, we are one behind: then the next one counts, and
    # if it makes both level the one after it.
    rows = {(2, 1): 1, (0, 1): 1}
    equity = MatchEquity("micro end_score=1", results("micro", rows))
    assert equity.chance(0, 0) == pytest.approx(1 / 2 * (1 / 2 * 1 / 2) + 1 / 2)
    assert equity.chance(2, 1) == pytest.approx(1 / 4)
    assert equity.chance(7, 7) == pytest.approx(1 / 2)
    shared = MatchEquity("micro end_score=1 tie=lowest_shared", results("micro", rows))
    assert shared.chance(0, 0) == pytest.approx(1 / 2)
    with refused(HeartsError, "totals"):
        shared.chance(2, 1)


def test_the_last_deal_by_hand() -> None:
    # Two deals at most: after them the lower total wins, and level totals share.
    equity = MatchEquity("micro max_deals=2", results("micro", {(1, 0): 1, (0, 1): 1}))
    assert equity.chance(0, 0) == pytest.approx(1 / 2)
    assert equity.chance(1, 0, deal_number=1) == pytest.approx(1 / 4)  # level at best
    assert equity.chance(1, 0) == pytest.approx(1 / 4)  # ahead after two, or behind
    assert equity.deals_to_come(0, 0) == 2
    ends = equity.after(0, 0, np.array([[1, 0], [0, 1], [1, 1]]), dealt=True, deal_number=1)
    assert ends.tolist() == [0, 1, 0.5]
    with refused(HeartsError, "deal_number", 2):
        equity.chance(0, 0, deal_number=2)


def test_the_gamblers_ruin() -> None:
    # A chip a deal, won with chance p: from k of n chips ((q/p)^k - 1) / ((q/p)^n - 1).
    text = "hoyle players=2 settlement=howell stake=10"
    equity = MatchEquity(text, results(text, {(0, 1): 11, (1, 0): 9}))
    ratio = 9 / 11
    for own in (1, 7, 10, 19):
        expected = (ratio**own - 1) / (ratio**20 - 1)
        assert equity.chance(own, 20 - own) == pytest.approx(expected, abs=1e-10)
    assert equity.going_on < 1e-11
    even = MatchEquity(text, results(text, {(0, 1): 1, (1, 0): 1}))
    assert even.deals_to_come(10, 10) == pytest.approx(100, abs=1e-6)  # k (n - k)
    target = MatchEquity(f"{text} target=5", results(text, {(0, 1): 1, (1, 0): 1}))
    assert target.chance(6, 14) == pytest.approx(1 / 10)
    assert target.deals_to_come(10, 10) == pytest.approx(25, abs=1e-6)


# ---- against matches drawn deal by deal ----------------------------------------------------------
def drawn_matches(
    found: DealResults, totals: tuple[int, int], matches: int
) -> tuple[float, float, float]:
    """The share that the first player wins, its standard error, and the deals of a match."""
    rules, rng = found.rules, np.random.default_rng(1)
    by_dealer = rules.first_lead == "eldest_hand"
    rows = [np.flatnonzero((found.dealers == p) | (not by_dealer)) for p in range(2)]
    chances = [found.counts[own] / found.counts[own].sum() for own in rows]
    won, lengths = [], 0
    for _ in range(matches):
        board, first = Scoreboard(rules, totals), int(rng.integers(2))
        while not board.is_over:
            dealer = (first + board.num_deals) % 2
            row = found.scores[rng.choice(rows[dealer], p=chances[dealer])].tolist()
            board.add(row, row)
        lengths += board.num_deals
        won.append((0 in board.leaders) / len(board.leaders))
    return float(np.mean(won)), float(np.std(won)) / matches**0.5, lengths / matches


MADE_UP = {(5, 21): 4, (12, 14): 6, (26, 0): 1, (0, 26): 2, (3, 3): 1, (13, 8): 5}
BELOW = {(-20, 0): 1, (0, -20): 1, (9, 6): 9, (5, 12): 9}
DRAWN = [
    ("two_player", MADE_UP, (0, 0)),
    ("two_player", MADE_UP, (88, 93)),
    ("two_player tie=lowest_shared end_when=exceeded", MADE_UP, (100, 97)),
    ("two_player max_deals=4", MADE_UP, (10, 0)),
    ("two_player moon=self_minus end_score=40", BELOW, (0, 0)),
    ("two_player moon=self_minus end_score=30", BELOW, (-9, 28)),
    ("hoyle players=2 stake=20", {(0, 13): 2, (3, 5): 5, (6, 4): 5, (7, 6): 1}, (25, 15)),
]


@few(("text", "rows", "totals"), DRAWN, DRAWN[:4])
def test_the_table_agrees_with_drawn_matches(
    text: str, rows: dict[tuple[int, int], int], totals: tuple[int, int]
) -> None:
    found = results(text, rows)
    equity = MatchEquity(text, found)
    chance, error, deals = drawn_matches(found, totals, matches=700)
    assert equity.chance(*totals) == pytest.approx(chance, abs=4.5 * error + 1e-9)
    assert equity.deals_to_come(*totals) == pytest.approx(deals, rel=0.12)


@pytest.mark.parametrize(("text", "rows"), {text: rows for text, rows, _ in DRAWN}.items())
def test_every_result_leads_where_the_scoreboard_says(
    text: str, rows: dict[tuple[int, int], int]
) -> None:
    equity = MatchEquity(text, results(text, rows))
    chips = equity.rules.settlement != "points"
    rng, decided = np.random.default_rng(5), 0
    for _ in range(60):
        end = equity.rules.end_score
        own, other = map(int, rng.integers(end - 30, end + 20, 2))
        if chips:
            own = int(rng.integers(1, 40))
        totals = (own, 40 - own if chips else other)
        try:
            board = Scoreboard(equity.rules, totals)
        except HeartsError:
            with refused(HeartsError, "totals"):
                equity.chance(*totals)
            continue
        chances = equity.after(*totals, np.array(list(rows)), dealt=False)
        for chance, row in zip(chances, rows, strict=True):
            after = board.clone()
            after.add(row, row)
            if after.is_over:
                decided += 1
                assert chance == (1 if after.winner == 0 else 0)
            else:
                assert 0 < chance < 1
    assert decided > 10


def test_equal_players_have_equal_chances() -> None:
    for text in ("two_player", "mini", "micro"):
        equity = MatchEquity(text, shipped_results(Rules.preset(text)))
        for own, other in ((0, 0), (40, 40), (99, 99), (80, 20), (99, 0)):
            assert equity.chance(own, other) + equity.chance(other, own) == pytest.approx(1)
        assert equity.chance(99, 0) < equity.chance(50, 30) < 0.5


def test_who_deals_counts_where_the_eldest_hand_leads() -> None:
    text = "hoyle players=2 stake=15"
    rules = Rules.from_text(text)
    scores, dealers = np.array([[0, 5], [5, 0], [0, 5], [5, 0]]), np.array([0, 0, 1, 1])
    found = DealResults(rules, scores, dealers, np.array([3, 1, 1, 3]))  # the dealer wins
    equity = MatchEquity(text, found)
    ours, theirs = equity.chance(15, 15, deals=True), equity.chance(15, 15, deals=False)
    assert ours > 0.5 > theirs
    assert ours + theirs == pytest.approx(1)
    assert equity.chance(15, 15) == pytest.approx(0.5)
    after = equity.after(15, 15, np.array([[0, 5]]), dealt=True)  # then the other deals
    assert after[0] == equity.chance(20, 10, deals=False)
    # The same with matches drawn, which begin with either dealer.
    chance, error, _ = drawn_matches(found, (20, 10), matches=600)
    assert equity.chance(20, 10) == pytest.approx(chance, abs=6 * error)


def test_equal_players_exchange_their_results_and_who_dealt() -> None:
    # The agent won three deals that it dealt, the other player one that it dealt. The same deals
    # from the other seat: the other dealer wins.
    rules = Rules.from_text("hoyle players=2 stake=15")
    kinds = {(0, 5, 0): 3, (5, 0, 1): 1, (2, 1, 0): 2}  # two scores, the dealer
    scores, dealers = np.array([k[:2] for k in kinds]), np.array([k[2] for k in kinds])
    found = DealResults(rules, scores, dealers, np.array([*kinds.values()])).evened()
    rows = zip(found.scores.tolist(), found.dealers.tolist(), found.counts.tolist(), strict=True)
    assert {(*pair, dealer): count for pair, dealer, count in rows} == {
        (0, 5, 0): 3 + 1,
        (5, 0, 1): 1 + 3,
        (2, 1, 0): 2,
        (1, 2, 1): 2,
    }
    assert MatchEquity(rules, found).chance(15, 15, deals=True) > 0.5
    four = DealResults(Rules.preset("classic"), np.array([[1, 2, 3, 20]]), *np.array([[0], [1]]))
    with refused(HeartsError, "results", 4, 2):
        four.evened()


# ---- measured results ----------------------------------------------------------------------------
def test_measured_results_are_those_of_the_deals(tmp_path) -> None:
    found = measure_results("standard", "easy", "mini", deals=40, seed=2, workers=1)
    assert found.num_deals == 80
    sums = (found.scores.sum(axis=1) * found.counts).sum()
    assert 0 < sums <= 80 * 16
    assert set(found.dealers.tolist()) == {0, 1}
    path = tmp_path / "deals.json"
    found.save(path)
    again = load_results(path)
    assert again.to_json() == found.to_json()
    assert again.about["agents"][0]["name"] == "standard"
    even = measure_results("standard", rules="mini", deals=10)
    assert sorted(map(tuple, even.scores)) == sorted((b, a) for a, b in even.scores)


def test_ctrl_c_keeps_the_deals_finished() -> None:
    def stop(done: float, deals: float) -> None:
        if done > 40:
            signal.raise_signal(signal.SIGINT)

    found = measure_results("standard", "easy", "mini", 100, 2, stop)
    assert (found.about["deals"], found.about["interrupted"]) == (48, True)
    whole = measure_results("standard", "easy", "mini", 48, 2)
    assert found.to_json()["rows"] == whole.to_json()["rows"]
    assert "interrupted" not in whole.about


def test_a_table_is_for_two_players() -> None:
    found = measure_results("easy", rules="classic", deals=6)
    with refused(HeartsError, "players", "classic", 4, "draw"):
        MatchEquity("classic", found)


# ---- bad input -----------------------------------------------------------------------------------
def test_bad_input_is_refused_by_name() -> None:
    found = results("micro", {(1, 0): 1, (0, 1): 1})
    for rules, words in [
        ("mini", "results micro"),
        ("micro end_score=100000", "end_score 100,000"),
    ]:
        with refused(HeartsError, *words.split()):
            MatchEquity(rules, found)
    with refused(HeartsError, "results"):
        MatchEquity("micro end_score=3", results("micro", {(0, 0): 10**6, (1, 0): 1}))
    with refused(HeartsError, "results"):
        MatchEquity("micro tie=lowest_shared", results("micro", {(-1, -2): 1, (5, 9): 1}))
    equity = MatchEquity("micro", found)
    for totals, words in [((100, 3), "100"), ((1.5, 0), "1.5")]:
        with refused(HeartsError, "totals", words):
            equity.chance(*totals)
    with refused(HeartsError, "scores"):
        equity.after(0, 0, np.zeros((2, 3), np.int64), dealt=True)
    with refused(HeartsError, "results", "DealResults"):
        MatchEquity("micro", {})  # type: ignore[arg-type]
    with refused(HeartsError, "results", "classic"):
        shipped_results(Rules.preset("classic"))


def test_files_of_results_are_read_and_broken_ones_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # messages shorten long paths
    path = Path("deals.json")
    for text, rows in [  # all that a deal can give
        ("two_player moon=self_minus", [[-20, 0, 0, 1], [0, 20, 1, 1]]),
        ("omnibus players=3", [[-10, 16, 10, 0, 1], [-10, 26, 26, 1, 1]]),
        ("hoyle players=2", [[0, 13, 0, 1]]),
    ]:
        scores, (dealers, counts) = np.array(rows)[:, :-2], np.array(rows)[:, -2:].T
        DealResults(Rules.from_text(text), scores, dealers, counts).save(path)
        assert load_results(path).to_json()["rows"] == rows
    whole = results("micro", {(1, 0): 1, (0, 1): 1}).to_json()
    for data, words in [
        (b"", "JSON"),
        (json.dumps(whole).encode()[:-9], ""),
        (b"[]", ""),
        *(
            (json.dumps(whole | changes).encode(), words)
            for changes, words in [
                ({"kind": "other"}, ""),
                ({"rows": [[1, 2, 3]]}, "4"),
                ({"rows": [[1, 2, 0, 1.5]]}, "4"),
                ({"rows": [[1, 2, 0, 0]]}, "counts 1"),
                ({"rows": [[1, 2, 2, 1]]}, "dealers 0 1"),
                ({"rows": [[10**12, 2, 0, 1]]}, ""),
                ({"rows": [[16, 2, 0, 1]]}, "16 'micro'"),
                ({"rows": [[1, -1, 0, 1]]}, "-1 'micro'"),
                ({"rows": []}, "4"),
                ({"about": [5]}, "about"),
                ({"about": {"agents": 5}}, "agents about"),
                ({"about": {"agents": ["x"]}}, "agents about"),
                ({"rules_in_full": {"players": 99}}, "players"),
                ({"rules_in_full": 3}, "rules"),
            ]
        ),
    ]:
        path.write_bytes(data)
        with pytest.raises(HeartsError) as error:
            load_results(path)
        for word in ("deals.json", *words.split()):
            assert word in str(error.value)
