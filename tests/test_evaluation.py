"""Duplicate evaluation."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import itertools
import json
import math
import signal
from dataclasses import replace

import numpy as np
import pytest

import hearts_train
from hearts_agents import make_agent
from hearts_env import Game, HeartsError, Rules, __version__, settle
from hearts_env.seeds import derived_seed
from hearts_train.measure import contest
from hearts_train.measure.duel import Duel
from hearts_train.measure.evaluation import Evaluation, evaluate
from hearts_train.measure.participants import Participant
from tests.players import CODE, Highest, Lowest, Noting
from tests.refusals import raises_hearts_error
from tests.waiting import timeless


def figures(result: Evaluation) -> dict[str, object]:
    """Return the fields that depend neither on the clock nor on the agent's form."""
    return {**timeless(result.to_json()), "agents": None}


def play_plainly(agent, opponent, rules, deals, seed):
    """Return scores (its own first), shooters and chips of the agent in each seat of each deal."""
    rows, shooters, chips = [], [], []
    for number in range(deals):
        for seat in range(rules.players):
            game = Game.deal(rules, derived_seed(seed, number))
            while (player := game.current_player) is not None:
                game.play((agent if player == seat else opponent).act(game.view(player)))
            scores = game.scores()
            rows.append(scores[seat:] + scores[:seat])
            shooters.append(None if game.shooter is None else game.shooter == seat)
            if rules.settlement != "points":
                chips.append(float(settle(rules.settlement, game.points)[0][seat]))
    return np.array(rows, float), shooters, chips


def mean_over_deals(by_play, deals):
    """Return the mean of a figure and its 95 % interval over deals."""
    by_deal = np.reshape(by_play, (deals, -1)).mean(1)
    half = 1.96 * by_deal.std(ddof=1) / math.sqrt(deals)
    mean = by_deal.mean()
    return pytest.approx([mean, mean - half, mean + half])


# ---- margins -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_player", "micro", "party players=3", "no_pass", "hoyle"])
def test_evaluation_equals_plain_play(name):
    rules, deals, seed = Rules.make(name), 30, 11
    scores, shooters, chips = play_plainly(Lowest(), Highest(), rules, deals, seed)
    margins = scores[:, 1:].mean(1) - scores[:, 0]
    best = scores == scores.min(1, keepdims=True)
    # 1 for each lower score, a half for each equal one: ties in the middle.
    own = scores[:, :1]
    ranks = 1 + (scores < own).sum(1) + ((scores[:, 1:] == own).sum(1)) / 2

    result = evaluate(Lowest(), Highest(), rules, deals, seed)
    assert np.allclose(result.margins, margins.reshape(deals, -1).mean(1))
    assert [result.margin, *result.ci95] == mean_over_deals(margins, deals)
    # The plays of a deal are one observation.
    assert [result.won, *result.won_ci95] == mean_over_deals(best[:, 0] / best.sum(1), deals)
    assert [result.rank, *result.rank_ci95] == mean_over_deals(ranks, deals)
    assert result.tied == pytest.approx((best[:, 0] & (best.sum(1) > 1)).mean())
    if rules.players == 2:  # the rank says nothing beyond the deals won
        assert result.rank == pytest.approx(2 - result.won)
    if chips:
        assert [result.chips, *result.chips_ci95] == mean_over_deals(chips, deals)
    else:
        assert result.chips is None
    assert result.moons == shooters.count(True)
    assert result.opponent_moons == shooters.count(False)
    assert result.rules == rules.name
    assert (result.agent, result.opponent) == ("Lowest", "Highest")


@pytest.mark.parametrize("rules", ["micro", "party players=3", "classic", "omnibus players=5"])
def test_block_orders_opponents_by_seat(rules):
    agents, made = (Lowest(), Highest()), Rules.make(rules)
    block = Duel(*(Participant(agent, 0) for agent in agents), made, seed=11).play(0, 6)
    rows, points, shooters = [], [], []
    for number, seat in itertools.product(range(6), range(made.players)):
        game = Game.deal(made, derived_seed(11, number))
        while (player := game.current_player) is not None:
            game.play(agents[player != seat].act(game.view(player)))
        # Seats are counted from the agent in order of play.
        order = [(seat + step) % made.players for step in range(made.players)]
        rows.append([game.scores()[other] for other in order])
        points.append([game.points[other] for other in order])
        shooters.append(-1 if game.shooter is None else order.index(game.shooter))
    assert block.scores.tolist() == rows
    assert block.points.tolist() == points
    assert block.shooters.tolist() == shooters


def test_revoked_deal_is_settled_by_the_offender():
    class NeverLegal:
        def act(self, view):
            return -1

    result = evaluate(NeverLegal(), "standard", "hoyle", deals=4)
    assert result.chips == -13  # thirteen hearts at a point each, all its own


# ---- what a result tells -------------------------------------------------------------------------
def test_evaluation_records_what_was_measured(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(CODE.format(0))
    record = evaluate(f"{file}:Mine", "pro?worlds=30", "mini", 4, 9).to_json()
    json.dumps(record, allow_nan=False)
    assert record["version"] == __version__
    assert Rules.from_dict(record["rules_in_full"]) == Rules.make("mini")
    mine, pro = record["agents"]
    assert mine["kind"] == "Mine"
    assert mine["digest"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (pro["spec"], pro["options"], pro["digest"]) == ("pro?worlds=30", {"worlds": 30}, None)
    assert record["platform"]["numpy"] == np.__version__


def test_deals_digest_depends_on_cards_alone():
    def digest(*arguments):
        return evaluate(*arguments).deals_digest

    usual = digest("easy", "standard", "two_player", 20, 3)
    assert digest("standard", "standard_trump", "two_player", 20, 3) == usual
    others = [
        digest("easy", "standard", "two_player", 20, 4),
        digest("easy", "standard", "two_player", 21, 3),
        digest("easy", "standard", "mini", 20, 3),
    ]
    assert len({usual, *others}) == 4
    # By hand: seed, deal number, dealer, kitty and hands of each deal, as 64-bit numbers.
    told = []
    for number in range(2):
        seed = derived_seed(3, number)
        game = Game.deal("two_player", seed)
        masks = [
            sum(1 << game.rules.index[card] for card in cards)
            for cards in (game.kitty, game.hand(0), game.hand(1))
        ]
        told += [seed, game.deal_number, game.dealer, *masks]
    by_hand = hashlib.sha256(b"".join(n.to_bytes(8, "little") for n in told)).hexdigest()
    assert digest("easy", "standard", "two_player", 2, 3) == by_hand


# ---- determinism ---------------------------------------------------------------------------------
def test_evaluation_follows_from_the_seed():
    first, again = (evaluate("easy", "standard", deals=100, seed=5) for _ in range(2))
    assert figures(first) == figures(again)
    assert first.margin != evaluate("easy", "standard", deals=100, seed=6).margin
    # Agents seed themselves from the operating system, and evaluation reseeds them.
    named, one, two = (
        evaluate(agent, "standard", deals=50)
        for agent in ("easy", make_agent("easy"), make_agent("easy"))
    )
    assert figures(replace(one, agent="easy")) == figures(replace(two, agent="easy"))
    assert figures(replace(one, agent="easy")) == figures(named)
    # An agent against itself does not draw the same numbers.
    assert evaluate("easy", "easy", deals=200).margins.any()


@pytest.mark.parametrize("unit", ["deal", "match"])
def test_each_player_of_each_block_has_its_own_seed(unit):
    duel = Duel(Participant(Noting(), 0), Participant(Noting(), 0), Rules.make("micro"), 3, unit)
    Noting.seeds.clear()
    for first in (0, 2):
        duel.play(first, 2)
    blocks, seatings, seats = 2, 2, 2
    assert len(set(Noting.seeds)) == len(Noting.seeds) == blocks * seatings * seats


@pytest.mark.parametrize("size", [1, 7, 500])
def test_evaluation_is_independent_of_block_size(monkeypatch, size):
    usual = evaluate("standard", "standard_trump", deals=60, seed=2)
    few = evaluate("standard", "standard_trump", deals=30, seed=2)
    assert (usual.margins[:30] == few.margins).all()
    monkeypatch.setitem(contest._BLOCKS, "deal", (size, size))
    assert figures(evaluate("standard", "standard_trump", deals=60, seed=2)) == figures(usual)


# ---- agents, errors, Ctrl-C ----------------------------------------------------------------------


def show_until(deals, name=""):
    """Return a progress display that presses Ctrl-C after some deals of the label `name`."""

    def show(label):
        def report(done, _):
            if name in label and done >= deals:
                signal.raise_signal(signal.SIGINT)

        return contextlib.nullcontext(report)

    return show


@pytest.mark.parametrize("unit", ["deal", "match"])
def test_ctrl_c_keeps_the_opponents_finished(unit):
    opponents, settings = ["easy", "standard", "pro"], {"deals": 50, "rules": "micro", "unit": unit}
    (whole,) = evaluate("random", opponents[:1], **settings)
    for deals, interrupted in ((0, [False]), (48, [False, True])):
        found = evaluate("random", opponents, **settings, show=show_until(deals, "standard"))
        assert [one.interrupted for one in found] == interrupted
        assert timeless(found[0].to_json()) == timeless(whole.to_json())


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("deals", deals) for deals in (1, 2.5, 10_000_001)),
        ("rules", "two_players"),
        ("seed", -1),
        ("unit", "trick"),
        ("backend", "dask"),
        ("isolate", 1),
    ],
)
def test_invalid_evaluation_settings_are_refused(word, value):
    with raises_hearts_error(HeartsError, word):
        evaluate("easy", "standard", **{word: value})


SHARED = {"evaluate": 4, "compare": 4, "tournament": 4, "benchmark": 3, "exploit": 2}


@pytest.mark.parametrize("name", SHARED)
def test_measuring_function_shows_and_checks_its_keywords(name):
    measure = getattr(hearts_train, name)
    shown = inspect.signature(measure).parameters
    settings = ("workers", "backend", "isolate", "time_limit")[: SHARED[name]]
    defaults = [shown[setting].default for setting in settings]
    assert defaults == [None, "local", False, None][: SHARED[name]]
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in shown.values())
    for word, value in (("worker", 2), ("largest_block", 4), ("open_duels", 2), ("command", "x")):
        hint = "'workers'" if word == "worker" else ""
        with raises_hearts_error(HeartsError, word, name, hint=hint):
            measure("easy", "pro", **{word: value})


def test_opponents_together_equal_each_alone():
    both = evaluate("pro", ["easy", "standard"], "micro", deals=20, seed=4)
    assert [found.opponent for found in both] == ["easy", "standard"]
    for found in both:
        alone = evaluate("pro", opponents=found.opponent, rules="micro", deals=20, seed=4)
        assert found.margins.tolist() == alone.margins.tolist()
