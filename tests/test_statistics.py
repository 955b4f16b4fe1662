"""Sequential tests, comparisons."""

from __future__ import annotations

import json
import math
import re
import signal
from dataclasses import replace

import numpy as np
import pytest

from hearts_env import HeartsError, Rules
from hearts_train.measure import comparison
from hearts_train.measure.comparison import compare
from hearts_train.measure.duel import Duel
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.statistics import (
    Question,
    SequentialTest,
    log_likelihood,
    looks,
    mean_and_interval,
)
from tests.players import Highest, Lowest
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run


# ---- the sequential test -------------------------------------------------------------------------
def test_bounds_and_sizes_follow_the_formulas():
    question = Question(0.0, 1.0, 0.05, 0.05)
    assert question.bounds == pytest.approx((-math.log(19), math.log(19)))
    assert Question(alpha=0.01, beta=0.1).bounds == pytest.approx(
        (math.log(0.1 / 0.99), math.log(90))
    )
    # (1.6449 + 1.6449)**2 * 49 = 530.3
    assert question.fixed_deals(49.0) == 531
    assert Question(alpha=0.01, beta=0.1).fixed_deals(1.0) == math.ceil(
        100 * (2.326348 + 1.281552) ** 2
    )


def test_looks_start_at_64_and_grow_by_sixteenth():
    assert looks(150) == [64, 96, 128, 150]
    assert looks(64) == [64]
    counts = looks(1_000_000)
    assert counts[-1] == 1_000_000
    steps = np.diff(counts)
    assert (steps <= np.maximum(32, np.array(counts[:-1]) / 16)).all()
    assert len(counts) < 150


def test_likelihood_of_a_mean_equals_hand_derivation():
    # Of 0, 0, 0 and 1: with mean 1/2 both have probability 1/2, at best 3/4 and 1/4.
    levels, counts = np.array([0.0, 1.0]), np.array([3.0, 1.0])
    by_hand = 3 * math.log(0.5 / 0.75) + math.log(0.5 / 0.25)
    assert log_likelihood(levels, counts, 0.5)[0] == pytest.approx(by_hand)
    assert log_likelihood(levels, counts, 0.25)[0] == pytest.approx(0, abs=1e-12)
    assert log_likelihood(levels, counts, 1e-9)[0] == pytest.approx(math.log(1e-9 / 0.25), abs=1)
    # 0, 1 and 2 once each, mean 3/2: p, 1/2 - 2p and p + 1/2, likeliest where
    # 1/p - 2/(1/2 - 2p) + 1/(p + 1/2) = 0: 12 p**2 + 2 p - 1/2 = 0... solved by trial below.
    p = np.linspace(1e-6, 0.25 - 1e-6, 2_000_001)
    best = np.log(p * (0.5 - 2 * p) * (p + 0.5)).max() + 3 * math.log(3)
    assert log_likelihood(np.arange(3.0), np.ones(3), 1.5)[0] == pytest.approx(best, abs=1e-9)


def test_look_includes_one_pseudo_pair():
    # Mean 1, squares 0 + 4 + 0 + 4 about it; half a pair at 5 and half at -5: (4**2 + 6**2) / 2.
    state = SequentialTest(Question(0.0, 1.5), reach=5.0).add(np.array([1.0, 3.0, 1.0, -1.0]))
    assert state.mean == 1.0
    assert state.variance == pytest.approx((8 + 26) / 5)
    levels, counts = np.array([-5.0, -1, 1, 3, 5]), np.array([0.5, 1, 2, 1, 0.5])
    high, low = (log_likelihood(levels, counts, mean)[0] for mean in (1.5, 0.0))
    assert state.llr == pytest.approx(high - low)
    assert state.verdict == "open"


@pytest.mark.slow
def test_error_rates_stay_within_alpha_and_beta():
    # Margins like those of two networks: most deals level, then lumps.
    rng = np.random.default_rng(7)
    kinds, chances = np.array([-13.0, -6.0, 0.0, 5.0, 13.0]), np.array([0.1, 0.1, 0.5, 0.2, 0.1])
    shift = kinds @ chances
    question = Question(0.0, 1.0, alpha=0.1, beta=0.05)
    wrong = {"low": 0, "high": 0}
    for truth, error in ((0.0, "high"), (1.0, "low")):
        for _ in range(200):
            test, before = SequentialTest(question, 26.0), 0
            for end in looks(20_000):
                drawn = rng.choice(kinds, end - before, p=chances) - shift + truth
                before = end
                if test.add(drawn).is_decided:
                    break
            wrong[error] += test.looks[-1].verdict == error
    # As often as asked, give or take two standard errors, or somewhat less.
    assert 3 < wrong["high"] <= 200 * (0.1 + 2 * math.sqrt(0.1 * 0.9 / 200))
    assert 1 < wrong["low"] <= 200 * (0.05 + 2 * math.sqrt(0.05 * 0.95 / 200))


def test_near_identical_agents_stay_open_at_first_look():
    test = SequentialTest(Question(0.0, 0.1), reach=26.0)
    assert not test.add(np.zeros(64)).is_decided
    assert not test.add(np.zeros(200)).is_decided
    assert test.add(np.zeros(1500)).verdict == "low"
    middle, (low, high) = test.estimate()
    assert middle == pytest.approx(0, abs=0.02)
    assert -0.2 < low < high < 0.2


def test_expected_deals_are_near_simulated_walks():
    rng = np.random.default_rng(3)
    question = Question(0.0, 0.5)
    for truth in (0.25, 0.5, -0.1):
        test = SequentialTest(question, 26.0)
        values = rng.normal(0, 5, 200)
        test.add(values - values.mean() + truth)
        state = test.looks[-1]
        steps = (
            (rng.normal(truth, math.sqrt(state.variance), (700, 6000)) - 0.25) / 2 / state.variance
        )
        walks = state.llr + np.cumsum(steps, axis=1)
        below, above = question.bounds
        out = (walks <= below) | (walks >= above)
        assert 0.9 < test.expected_left() / (out.argmax(1) + 1).mean() < 1.6


# ---- the estimate after it -----------------------------------------------------------------------
def test_single_look_gives_the_usual_interval():
    margins = np.random.default_rng(5).normal(0.4, 7, 5000)
    test = SequentialTest(Question(0.3, 0.5), 26.0)
    test.add(margins)
    middle, interval = test.estimate()
    mean, usual = mean_and_interval(margins)
    assert middle == pytest.approx(mean, abs=1e-3)
    assert interval == pytest.approx(usual, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [-6.0, 2.0, 8.0])
def test_estimate_holds_far_from_both_hypotheses(truth):
    # There the ratio hardly rises with the margins, and the bounds of the formula are far off.
    rng = np.random.default_rng(4)
    held = above = 0
    for _ in range(40):
        test, before = SequentialTest(Question(0.0, 0.5), 40.0), 0
        for end in looks(20_000):
            if test.add(rng.normal(truth, 6.5, end - before)).is_decided:
                break
            before = end
        middle, (low, high) = test.estimate()
        held += low <= truth <= high
        above += middle > truth
        assert low < middle < high
    assert held >= 35
    assert 10 <= above <= 30


# ---- comparisons ---------------------------------------------------------------------------------
def test_comparison_tests_margins_of_two_agents():
    result = compare(Lowest(), Highest(), "micro", Question(0.0, 1.0), seed=4)
    played = evaluate(Lowest(), Highest(), "micro", result.deals, seed=4)
    assert result.mean == pytest.approx(played.margin)
    assert result.sd == pytest.approx(played.margins.std(ddof=1))
    assert result.deals_digest == played.deals_digest
    assert result.verdict == ("high" if played.margin > 0 else "low")
    back = compare(Highest(), Lowest(), "micro", Question(-1.0, 0.0), seed=4)
    assert (back.deals, back.mean) == (result.deals, -result.mean)
    assert {back.verdict, result.verdict} == {"low", "high"}


def test_comparison_with_more_players_seats_one_among_copies():
    rules = Rules.make("party", 3)
    result = compare(Lowest(), Highest(), rules, Question(0, 20.0), deals=64, seed=6)
    forth = evaluate(Lowest(), Highest(), rules, 64, seed=6).margins
    back = evaluate(Highest(), Lowest(), rules, 64, seed=6).margins
    assert result.mean == pytest.approx(((forth - back) / 2).mean())


def test_agent_is_not_better_than_itself():
    result = compare("standard", "standard-v1", "micro", Question(0, 0.5), seed=1)
    assert (result.verdict, result.mean, result.sd) == ("low", 0.0, 0.0)
    assert result.ci95[0] < 0 < result.ci95[1]


def test_stopped_comparison_resumes_to_the_same_result(tmp_path, monkeypatch):
    kept = tmp_path / "kept.jsonl"
    question, play = Question(-0.1, 0.1), Duel.play
    wanted = compare("easy", "random", "micro", question, deals=900, seed=3)

    def stop(self, first, deals, progress=None):
        if first > 200:
            signal.raise_signal(signal.SIGINT)
        return play(self, first, deals, progress)

    monkeypatch.setattr(Duel, "play", stop)
    some = compare("easy", "random", "micro", question, deals=900, seed=3, save=kept)
    assert some.interrupted
    assert some.verdict == "open"
    assert some.looks == wanted.looks[: len(some.looks)]
    monkeypatch.setattr(Duel, "play", play)
    result = compare("easy", "random", "micro", question, deals=900, seed=3, resume=kept)
    assert replace(result, seconds=0) == replace(wanted, seconds=0)
    with raises_hearts_error(HeartsError, "resume"):
        compare("easy", "random", "micro", Question(0, 0.1), deals=900, seed=3, resume=kept)
    monkeypatch.setattr(comparison, "TEST_VERSION", comparison.TEST_VERSION + 1)
    with raises_hearts_error(HeartsError, "resume"):
        compare("easy", "random", "micro", question, deals=900, seed=3, resume=kept)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"low": 1, "high": 1}, "low 1"),
        ({"alpha": 0.5}, "alpha"),
        ({"high": math.inf}, "high"),
    ],
)
def test_undecidable_questions_are_refused(more, named):
    with raises_hearts_error(HeartsError, *named.split()):
        Question(**more)


def test_hypothesis_beyond_possible_margins_is_refused():
    with raises_hearts_error(HeartsError, "high", 50):
        compare("standard", "pro", "micro", Question(0, 50))


@pytest.mark.parametrize("deals", [63, 1, 10**8, "many"])
def test_invalid_number_of_pairs_is_refused(deals):
    with raises_hearts_error(HeartsError, "deals"):
        compare("standard", "easy", "micro", deals=deals)


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared():
    """A comparison to replace figures of."""
    return compare("pro", "easy", "micro", Question(0, 6), seed=3)


@pytest.mark.parametrize(
    ("verdict", "low", "high", "ci95", "better", "sure"),
    [
        ("high", 0.0, 0.1, (-0.01, 2.0), "pro", "5.0%"),  # by the test, where the interval is wide
        ("high", 0.5, 1.0, (0.4, 2.0), "pro", "more than 0.5"),
        ("high", -3.0, -2.0, (-1.5, -0.5), "easy", "less than 3"),
        ("low", 0.0, 3.0, (0.2, 1.8), "pro", "less than 3"),
        ("low", -1.0, -0.5, (-2.0, 0.1), "easy", "more than 0.5"),
        ("open", 0.0, 0.1, (-0.2, 0.2), None, "95 %"),
    ],
)
def test_conclusion_states_winner_margin_and_certainty(
    compared, verdict, low, high, ci95, better, sure
):
    middle = sum(ci95) / 2
    result = replace(compared, verdict=verdict, low=low, high=high, ci95=ci95, margin=middle)
    assert result.better == better
    told = result.conclusion
    assert told.startswith(f"{better} is better") == (better is not None)
    shown = -1 if better == "easy" else 1
    for figure in (middle, *ci95):
        assert f"{shown * figure:+.2f}" in told
    assert f"{result.deals:,}" in told
    assert sure in told
    record = result.to_json()
    assert (record["better"], record["conclusion"]) == (better, told)


class Faulty:
    """Plays no legal card."""

    def act(self, view):
        return -1


def test_faults_of_both_pairings_are_charged_to_their_agent():
    """With three players, the agents play 64 deals each way round, from three seats."""
    result = compare(Lowest(), Faulty(), "party players=3", Question(0, 1), deals=64, seed=1)
    assert result.faults == (0, 2 * 3 * 64)


def test_compare_command_prints_conclusion_and_json(tmp_path):
    kept = tmp_path / "kept.jsonl"
    words = ["compare", "pro", "easy", "--rules", "micro", "--margins", "0,0.5", "--seed", "3"]
    told = run(*words)
    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith("pro is better than easy")
    printed = run(*words, "--save", kept, "--json")
    record = json.loads(printed.stdout)
    assert record["verdict"] == "high"
    assert record["agents"][0]["name"] == record["better"] == "pro"
    assert record["conclusion"] == told.stdout.splitlines()[0]
    assert f"{record['llr']:+.2f}" in told.stdout
    assert re.search(r"test of fixed size +[0-9]", told.stdout)
    assert str(kept) in printed.stderr
    again = run("compare", "--resume", kept, "--json")
    aside = {"command": "", "seconds": 0}
    assert json.loads(again.stdout) | aside == record | aside


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "agents"),
        (["pro", "easy", "pimc"], "agents 3"),
        (["pro", "easy", "--margins", "1"], "--margins '1'"),
        (["pro", "easy", "--deals", "10"], "deals 10"),
        (["pimc", "easy", "--rules", "classic"], "rules classic"),
        (["pro", "--resume", "x"], "agents --resume"),
    ],
)
def test_compare_mistakes_are_one_line(words, told):
    mistake(run("compare", *words), *told.split())
