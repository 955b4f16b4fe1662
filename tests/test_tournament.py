"""Tournaments: the ranking follows from the evaluations, ratings have their closed forms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hearts_env import HeartsError, Rules
from hearts_train.measure.statistics import mean_and_interval
from hearts_train.measure.tournament import bradley_terry, tournament
from tests.refusals import raises_hearts_error
from tests.test_cli import run as hearts
from tests.test_evaluation import show_until

THREE = ("easy", "standard", "standard_trump")


# ---- ratings: closed forms -----------------------------------------------------------------------
def test_rating_for_three_deals_in_four_is_191():
    # 400 log10(3 / 1). The error of log(p / (1 - p)) is the error of p over p (1 - p).
    shares = np.array([[0.73, 0.77]])  # a standard error of 0.02
    for series, expected in zip(
        bradley_terry(shares, [(0, 1)], 1, 2), (95.42, -95.42), strict=True
    ):
        rating, (low, high) = mean_and_interval(series)
        assert rating == pytest.approx(expected, abs=0.05)
        assert (high - low) / 2 / 1.96 == pytest.approx(173.72 * 0.02 / 0.1875 / 2, rel=1e-3)


def test_rating_against_three_copies_is_even_at_quarter():
    pairings = [(0, 1), (1, 0)]
    rating = bradley_terry(np.array([[0.25], [0.25]]), pairings, 3, 2)[:, 0]
    assert rating == pytest.approx([0, 0], abs=1e-6)
    rating = bradley_terry(np.array([[0.5], [0.1]]), pairings, 3, 2)[:, 0]
    assert rating == pytest.approx([95.42, -95.42], abs=0.1)  # odds of 3 and of 1 to 3


def test_rating_prior_is_even_for_any_copies():
    def ahead(won):
        rating = bradley_terry(np.array([[won]]), [(0, 1)], 3, 2)[:, 0]
        return rating[0] - rating[1]

    assert ahead(1 / 4) == pytest.approx(0, abs=1e-6)
    # One deal in 10,000 is drawn by lot: a player that never wins against three copies wins 1 in
    # 40,000.
    assert ahead(0.0) == pytest.approx(400 * math.log10(3 / 39_999), abs=1e-3)
    assert ahead(1.0) == pytest.approx(400 * math.log10(3 * 39_997 / 3), abs=1e-3)


# ---- the ranking ---------------------------------------------------------------------------------
@pytest.mark.parametrize("rules", ["micro", "party players=3"])
def test_ranking_follows_from_the_evaluations(rules):
    result = tournament(THREE, rules, deals=16, seed=5)

    def margins(i, j):
        forth, back = result.evaluations.get((i, j)), result.evaluations.get((j, i))
        if forth is None or back is None:
            return -back.margins if forth is None else forth.margins
        return (forth.margins - back.margins) / 2

    assert [standing.place for standing in result.standings] == [1, 2, 3]
    ranked = [standing.margin for standing in result.standings]
    assert ranked == sorted(ranked, reverse=True)
    for standing in result.standings:
        i = THREE.index(standing.agent)
        others = [j for j in range(3) if j != i]
        margin, ci95 = mean_and_interval(np.mean([margins(i, j) for j in others], axis=0))
        assert standing.margin == pytest.approx(margin, abs=1e-8)
        assert standing.ci95 == pytest.approx(ci95, abs=1e-8)
        for j in others:
            expected, ci95 = mean_and_interval(margins(i, j))
            assert result.margin(i, j)[0] == pytest.approx(expected)
            assert result.margin(i, j)[1] == pytest.approx(ci95)


@pytest.mark.parametrize("rules", ["micro", "party players=3"])
def test_standings_sum_shares_moons_faults_over_pairings(rules):
    result = tournament(THREE, rules, deals=16, seed=5)
    players = Rules.make(rules).players
    seats = 2 * 16 * (2 if players == 2 else 9)  # both ways: one seat of three, then two of three
    moons, won = dict.fromkeys(THREE, 0), {name: [] for name in THREE}
    for (i, j), e in result.evaluations.items():
        assert e.shares.mean() == pytest.approx(e.won)
        moons[THREE[i]] += e.moons
        moons[THREE[j]] += e.opponent_moons
        won[THREE[i]].append(e.won)
        if players == 2:
            won[THREE[j]].append(1 - e.won)
    for standing in result.standings:
        name = standing.agent
        assert standing.moons == pytest.approx(100 * moons[name] / seats)
        assert (len(won[name]), standing.won) == (2, pytest.approx(np.mean(won[name])))
        assert (standing.faults, standing.ms_per_decision > 0) == (0, True)


@pytest.mark.parametrize("rules", ["micro", "party players=3"])
def test_rating_intervals_agree_with_the_jackknife(rules):
    result = tournament(THREE, rules, deals=150, seed=2)
    shares = np.stack([e.shares for e in result.evaluations.values()])
    pairings, copies = list(result.evaluations), Rules.make(rules).players - 1
    deals = shares.shape[1]

    def ratings(won):
        return bradley_terry(won[:, None], pairings, copies, 3)[:, 0]

    without = (shares.sum(1, keepdims=True) - shares) / (deals - 1)  # of each deal in turn
    each = np.array([ratings(won) for won in without.T])
    error = np.sqrt((deals - 1) / deals * ((each - each.mean(0)) ** 2).sum(0))
    for standing in result.standings:
        i = THREE.index(standing.agent)
        assert standing.rating == pytest.approx(ratings(shares.mean(1))[i], abs=0.005)
        half = (standing.rating_ci95[1] - standing.rating_ci95[0]) / 2
        assert half == pytest.approx(1.96 * error[i], rel=0.03)


def test_stopped_tournament_keeps_deals_of_all_pairings():
    result = tournament(["easy", "standard", "pro"], "micro", 100, show=show_until(3 * 16 + 1))
    assert (result.interrupted, result.deals) == (True, 16)
    assert {e.deals for e in result.evaluations.values()} == {16}


@pytest.mark.parametrize("agents", [None, 2, "easy", ["easy"]])
def test_a_tournament_needs_a_list_of_agents(agents):
    with raises_hearts_error(HeartsError, "agents"):
        tournament(agents, "micro", deals=2)


# ---- the command ---------------------------------------------------------------------------------
def test_tournament_tables_equal_json(tmp_path):
    file = tmp_path / "result.json"
    args = ("--rules", "micro", "--deals", "100", "--json", file)
    shown = hearts("tournament", *THREE, *args).stdout
    result = json.loads(file.read_text())
    best = result["ranking"][0]
    assert best["place"] == 1
    assert best["agent"] == "easy"  # on micro the published baseline is worse than chance
    half = (best["ci95"][1] - best["ci95"][0]) / 2
    assert f"{best['margin']:+.2f} ± {half:.2f}" in shown
    assert f"{best['rating']:+.1f} ± " in shown
    assert sum(row["margin"] for row in result["ranking"]) == pytest.approx(0, abs=1e-8)
    assert sum(row["rating"] for row in result["ranking"]) == pytest.approx(0, abs=0.02)
    for row in result["pairings"]:
        margin, (low, high) = row["margin"], row["ci95"]
        assert f"{margin:+z.2f} ± {(high - low) / 2:.2f}" in shown
        assert f"{0 - margin:+z.2f} ± {(high - low) / 2:.2f}" in shown
