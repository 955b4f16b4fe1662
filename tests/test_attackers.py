"""Attackers against plain searches, exact values, one another, and by the command."""

from __future__ import annotations

import copy
import functools
import json
import pickle

import numpy as np
import pytest
from typer.testing import CliRunner

import hearts_train
from bench.__main__ import app as bench
from bench.attackers import exact_margin
from hearts_agents import make_agent
from hearts_agents.attackers import METHODS, Attacker
from hearts_agents.base import Agent
from hearts_env import BatchGame, Game, HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve import beliefs
from hearts_env.solve.beliefs import Tracker, belief
from hearts_env.solve.best_response import best_response, exploitability, exploitability_of
from hearts_env.solve.response import ALL, Responses, _thinned, whole_game
from hearts_env.solve.tree import Tree
from hearts_train.measure.contest import Contest, Task
from hearts_train.measure.exploit import BEST, is_small
from hearts_train.measure.hands import HandContest
from hearts_train.measure.statistics import mean_and_interval
from tests.players import Drawing
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run as command
from tests.test_exploit import all_deals, plain_values, random_policy

MIXED = "micro moon=choose queen_any_time=true"
KITTY = "micro kitty_to=first_trick hand_size=2"


@functools.cache
def mixing(text: str) -> tuple[Tree, Agent]:
    """Return a small deck and an agent with random probabilities, some of them 0."""
    tree = Tree(text)
    chances = random_policy(tree, 3)

    class Mixing(Agent):
        name = "mixing"

        def action_probs(self, views):
            return tree.chances_in(views, chances)

        def act_batch(self, views):
            return self.action_probs(views).argmax(1)

    return tree, Mixing()


# ---- the tools -----------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["micro", MIXED, KITTY])
def test_value_of_each_hand_equals_the_tree(text):
    tree, agent = mixing(text)
    chances = random_policy(tree, 3)
    responses = Responses(tree.rules, agent.action_probs)
    itself = Responses(tree.rules, agent.action_probs, awake=())
    gained = 0.0
    for player, side in enumerate(tree.sides):
        whole = whole_game(tree.rules, player)
        batches = [whole.slice(hand, hand + 1) for hand in range(len(side.hands))]
        found = np.array([responses.value(infosets, ALL) for infosets in batches])
        expected = best_response(tree, player, chances[1 - player]).hand_values
        assert found == pytest.approx(expected, abs=1e-10)
        gained += found.sum() - sum(itself.value(infosets) for infosets in batches)
    # The agent's margin against itself is 0 over both seats.
    assert gained / 2 == pytest.approx(exploitability(tree, chances), abs=1e-10)


def test_worlds_split_into_parts_give_same_answers(monkeypatch):
    """A hand without a choice is not searched, so depths differ within a batch."""
    tree, agent = mixing("micro")
    responses = Responses(tree.rules, agent.action_probs)

    def answers():
        batches = [whole_game(tree.rules, player) for player in range(2)]
        values = [responses.value(infosets, depth) for infosets in batches for depth in (1, 2)]
        return [*responses.card_values(batches[0], 1).ravel(), *values]

    whole = answers()
    for most in (7, 50, 150):
        monkeypatch.setattr("hearts_env.solve.response._MOST_ROWS", most)
        assert np.allclose(answers(), whole)


def plain_worlds(agent, game, player):
    """Yield every deal that looks like the real one to `player`, with its weight."""
    view = game.view(player)
    for world in view.worlds():
        replay, weight = Game.from_view(view, world).start(), 1.0
        for action in game.actions:
            if replay.current_player != player:
                chances = agent.action_probs(BatchView.of([replay.view(replay.current_player)]))
                weight *= chances[0, action]
            replay.play(action)
        if weight:
            yield replay, weight


@pytest.mark.parametrize("text", ["micro", MIXED, KITTY])
def test_endings_play_as_a_plain_search(text):
    tree, agent = mixing(text)
    attacker = Attacker(agent, "endings", tricks=tree.rules.hand_size)
    compared = 0
    for seed in range(12):
        game = Game.deal(tree.rules, seed)
        while game.phase == "play":
            player = game.current_player
            alike = list(plain_worlds(agent, game, player))
            if player == seed % 2 and alike and len(game.legal_actions()) > 1:
                values = plain_values(agent, player, alike)
                action = attacker.act(game.view(player))
                assert values[action] == pytest.approx(max(values.values()), abs=1e-9)
                compared += max(values.values()) - min(values.values()) > 1e-6
            game.play(game.legal_actions()[seed % len(game.legal_actions())])
    assert compared > 2


@pytest.mark.parametrize(("name", "epsilon"), [("standard", 0.0), ("easy", 0.0), ("standard", 0.2)])
def test_tracked_beliefs_are_those_of_the_whole_past(name, epsilon):
    agent = make_agent(name, seed=0)
    batch = BatchGame("two_player", 6, seed=4, autodeal=False)
    tracker, most = Tracker(agent.action_probs, epsilon), 0
    for _ in range(22):
        views = batch.views()
        infosets = tracker.infosets(views)
        for row, view in enumerate(views):
            expected = belief(view, agent.action_probs, epsilon=epsilon)
            own = slice(infosets.starts[row], infosets.starts[row + 1])
            live = expected.weights > 0
            hands = infosets.states[own, k.HANDS + k.SEAT * (1 - view.player)]
            assert hands.tolist() == expected.hands[live].tolist()
            assert np.allclose(infosets.weights[own], expected.weights[live])
            most = max(most, int((~live).sum()))
        games = np.arange(len(views))
        chosen = agent.act_batch(views)
        chosen[games % 3 == 0] = batch.random_actions()[games % 3 == 0]
        batch.play(chosen)
    assert most > 50 or epsilon or name == "easy"


def test_even_selection_keeps_each_branchs_weight():
    rng = np.random.default_rng(1)
    branches = np.repeat([4, -1, 7], [100, 3, 60])
    weights = rng.random(163)
    weights[5] = 40.0  # saved more than once
    saved, thinned = _thinned(branches, weights, 20)
    for branch in (4, -1, 7):
        own = branches[saved] == branch
        assert own.sum() <= 20
        assert thinned[own].sum() == pytest.approx(weights[branches == branch].sum())
    assert saved[branches[saved] == -1].tolist() == [100, 101, 102]
    alike = _thinned(np.zeros(40, np.int64), np.ones(40), 20)[0]
    assert np.diff(alike).tolist() == [2] * 19
    assert _thinned(branches, weights, 100)[0].tolist() == list(range(163))


# ---- attackers -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def micro():
    return Tree("micro")


def gains(agent, **options):
    """Return the exact margin of every attacker over an agent on `micro`."""
    rules = Rules.preset("micro")
    return {name: exact_margin(Attacker(agent, name, **options), rules) for name in METHODS}


@pytest.mark.parametrize("name", ["easy", "standard", "pro", "pimc", "equilibrium"])
def test_attackers_improve_and_stay_below_best_response(name, micro):
    won = gains(name, tricks=2)
    truth = exploitability_of(make_agent(name, seed=0), micro).exploitability
    assert max(won.values()) <= truth + 1e-9
    assert won["belief"] <= min(won["lbr"], won["endings"]) + 1e-9
    if name == "equilibrium":
        assert abs(won["lbr"]) <= 1e-9
        return
    assert won["lbr_endings"] > 0.9 * truth
    assert gains(name, tricks=3)["endings"] == pytest.approx(truth)


@pytest.mark.parametrize("method", ["lbr", "endings"])
def test_claimed_margin_is_won_in_play(method):
    """Play every deal of the deck from views alone."""
    agent = make_agent("pro", seed=0)
    attacker = Attacker(agent, method, tricks=2)
    expected = exact_margin(attacker, Rules.preset("micro"))
    won, deals = 0, list(all_deals(Rules.preset("micro")))
    for seat in range(2):
        games = [game.clone() for game in deals]
        while open_games := [game for game in games if game.current_player is not None]:
            for player in (seat, 1 - seat):
                mine = [game for game in open_games if game.current_player == player]
                if mine:
                    views = BatchView.of([game.view(player) for game in mine])
                    actions = (attacker if player == seat else agent).act_batch(views)
                    for game, action in zip(mine, actions.tolist(), strict=True):
                        game.play(action)
        won += sum(game.margins()[seat] for game in games)
    assert won / 2 / len(deals) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["pro", "easy"])
def test_attacker_awake_in_some_tricks_wins_part(name, micro):
    """Asleep it plays like the agent, mixing or not. Awake in all tricks it is unchanged."""
    assert gains(name, tricks=2, awake=range(1, 4)) == gains(name, tricks=2)
    assert gains(name, tricks=2, awake=[]) == pytest.approx(dict.fromkeys(METHODS, 0), abs=1e-9)
    truth = hearts_train.exploitability(name, micro)
    for awake in ([1], [2, 3]):
        part = gains(name, tricks=3, awake=awake)
        assert part["belief"] <= part["lbr"] + 1e-9
        assert 0 < part["endings"] <= truth + 1e-9
        assert part["lbr_endings"] == pytest.approx(part["endings"])  # the best of these tricks
    assert gains(name, tricks=3, awake=[2, 3])["endings"] < truth - 0.01


def test_sleeping_attacker_plays_like_the_agent():
    both = "standard", "two_player", ["belief", "endings"]
    found = hearts_train.exploit(*both, awake=[], deals=8)
    assert [gain.margin for gain in found.gains] == [0, 0]
    assert [gain.over_first for gain in found.gains] == [None, 0]
    late = hearts_train.exploit(*both, awake=range(12, 14), deals=48)
    assert 0 < late.gains[1].margin < 9  # two tricks of the fourteen that all of them win


def test_gains_are_compared_with_those_of_the_first_attacker():
    gains = hearts_train.exploit(
        "standard", "two_player", ["easy", "standard", "pro"], deals=8
    ).gains
    for gain in gains[1:]:
        assert gain.over_first == pytest.approx(gain.margin - gains[0].margin)
        assert gain.over_first != 0


def test_only_untimed_search_can_be_attacked():
    name = "champion?small=true&search=2"
    found = hearts_train.exploit(name, "two_player", ["belief"], awake=[12, 13], deals=2)
    assert found.gains[0].deals == 2
    for timed in ("champion?search=5ms", "champion?search=1s"):
        with raises_hearts_error(HeartsError, "agent", "search=16"):
            hearts_train.exploit(timed, "two_player", ["belief"])


class Asked(Agent):
    """Plays like ``easy`` and counts the views that it gets."""

    name = "asked"
    number = 0

    def action_probs(self, views):
        self.number += len(views)
        return make_agent("easy").action_probs(views)


def test_mid_game_copy_and_single_view_agree(monkeypatch):
    """A copy has its own model."""
    monkeypatch.setattr("hearts_agents.attackers._MOST_WORLDS", 5)
    attacker = Attacker(Asked(), "lbr_endings", tricks=1)
    batch = BatchGame("mini", 8, seed=3, autodeal=False)
    for _ in range(4):
        batch.play(attacker.act_batch(batch.views()))
    twins = copy.deepcopy(attacker), pickle.loads(pickle.dumps(attacker))
    asked = attacker.model.number
    for _ in range(3):
        views = batch.views()
        found = [twin.act_batch(views).tolist() for twin in twins]
        assert found[0] == found[1] == [twins[1].act(view) for view in views]
        batch.play(np.array(found[0]))
    assert attacker.model.number == asked < twins[0].model.number
    assert attacker.act_batch(views).tolist() == found[0]


def test_agent_without_probabilities_is_detected():
    asleep = {"awake": [], "deals": 2}
    with pytest.warns(UserWarning, match="drawing"):
        sampled = hearts_train.exploit(Drawing(), "two_player", ["belief"], **asleep)
    assert sampled.is_sampled_once
    assert sampled.noise > 0
    found = hearts_train.exploit("standard", "two_player", ["belief"], **asleep)
    assert (found.is_sampled_once, found.noise, found.awake) == (False, 0, ())
    assert "; awake in no trick\n" in str(found)


def test_invalid_attack_is_refused():
    assert is_small(Rules.preset("mini"))
    assert not is_small(Rules.preset("two_player"))
    for agent, attackers, options, said in [
        ("pro", [], {}, "attackers"),
        ("pro", ["lrb"], {}, "agent lrb"),
        ("pro", "lbr", {}, "attackers list"),
        ("equilibrium", ["lbr"], {}, "rules"),
        ("pro", ["lbr"], {"tricks": 0}, "tricks"),
        ("pro", ["lbr"], {"awake": 7}, "awake 7"),
    ]:
        with raises_hearts_error(HeartsError, *said.split()):
            hearts_train.exploit(agent, "two_player", attackers, **options)
    for name, value in (("method", "x"), ("tricks", -1), ("epsilon", 2)):
        with raises_hearts_error(HeartsError, name):
            Attacker("pro", **{name: value})


@pytest.mark.parametrize("most", [7, beliefs._MOST_CACHED])
def test_block_is_independent_of_earlier_blocks(most, monkeypatch):
    monkeypatch.setattr(beliefs, "_MOST_CACHED", most)
    attacker = Attacker(Drawing(), "belief", epsilon=0.1)

    def played(*firsts):
        contest = Contest([Drawing(), attacker], "mini", 3, pairings=lambda _: [(1, 0)])
        return [contest.play(Task((1, 0), first, 8)).scores for first in firsts][-1]

    assert np.array_equal(played(0, 8, 16), played(16))
    assert np.array_equal(played(40, 16), played(16))
    assert not attacker._tracker._cache  # only copies have played


# ---- the command ---------------------------------------------------------------------------------
run = functools.partial(command, "exploit")


def test_attackers_play_sampled_deals_of_small_decks():
    words = ["pro", "--rules", "micro", "--attackers", "belief,easy", "--deals", 40, "--json"]
    done = run(*words)
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["exploitability"] is None
    assert [gain["attacker"] for gain in record["gains"]] == ["belief", "easy"]
    assert [gain["deals"] for gain in record["gains"]] == [40, 40]
    assert record["best"] == "belief"
    assert "attacker is belief" in done.stderr


def test_calibration_shows_shares_of_best_response():
    done = CliRunner().invoke(bench, ["attackers", "pro", "--rules", "micro", "--json"])
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["exploitability"] == pytest.approx(0.308929, abs=1e-6)
    found = {gain["attacker"]: gain["ratio"] for gain in record["gains"]}
    assert found["lbr"] == pytest.approx(1)
    assert "100.0%" in done.stderr


@pytest.mark.slow
def test_saved_attack_is_resumed(tmp_path):
    saved = tmp_path / "saved.jsonl"
    words = ["standard", "--attackers", "belief,pimc", "--deals", 20, "--tricks", 3]
    done = run(*words, "--save", saved, "--json")
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["exploitability"] is None
    assert record["gains"][0]["margin"] > 4
    assert record["gains"][0]["deals"] == 20
    lines = saved.read_bytes().splitlines(keepends=True)
    saved.write_bytes(b"".join(lines[:2]))  # as if it had been stopped after the first block
    again = json.loads(run("--resume", saved, "--json").stdout)
    assert [gain["margin"] for gain in again["gains"]] == [g["margin"] for g in record["gains"]]
    assert again["deals_digest"] == record["deals_digest"]
    assert "stopped early" not in done.stderr
    for words, said in [
        (["standard", "--resume", saved], "agent"),
        (["--resume", saved, "--tricks", 2], "--tricks"),
    ]:
        mistake(run(*words), said, "--resume")
    done = command("evaluate", "--resume", saved)
    mistake(done, "resume", "hearts exploit --resume")


# ---- best responses to sampled hands -------------------------------------------------------------
@pytest.mark.parametrize("name", ["pro", "pimc", "easy"])
def test_interval_over_sampled_hands_covers_exact_value(name, micro):
    truth = hearts_train.exploitability(name, micro)
    found = hearts_train.exploit(name, "micro", [BEST], deals=150, seed=2)
    (gain,) = found.gains
    low, high = gain.ci95
    middle, half = (low + high) / 2, (high - low) / 2
    assert abs(truth - middle) < 1.5 * half
    assert found.exploitability == gain.margin
    assert gain.deals == 150


def test_medium_deck_is_answered_hand_by_hand():
    done = run("standard", "--rules", "midi", "--deals", 2)
    assert done.exit_code == 0, done.stderr
    assert "--max-memory" in done.stderr
    assert "each exact" in done.stdout
    with raises_hearts_error(HeartsError, "attackers", "alone"):
        hearts_train.exploit("standard", "midi", [BEST, "lbr"])


def test_only_always_awake_best_response_is_exploitability():
    def found(awake):
        return hearts_train.exploit("pro", "micro", [BEST], deals=20, seed=2, awake=awake)

    assert (found((2, 3)).exploitability, found((2, 3)).awake) == (None, (2, 3))
    margins = [found(awake).gains[0].margin for awake in (range(1, 4), None)]
    assert margins[0] == pytest.approx(margins[1], abs=1e-12)


@pytest.mark.parametrize("text", ["micro", MIXED])
def test_agent_plays_tricks_where_best_response_sleeps(text):
    """Every deal, played on from trick 2, has the weight of the whole game's tree."""
    tree, agent = mixing(text)
    policy, awake = agent.action_probs, (2, 3)
    exact = [
        Responses(tree.rules, policy, awake=awake).value(whole_game(tree.rules, seat), ALL)
        for seat in range(2)
    ]
    for seat in range(2):
        assert exact[seat] <= Responses(tree.rules, policy).value(whole_game(tree.rules, seat), ALL)
    contest = HandContest(agent, tree.rules, 5, awake=awake)
    blocks = [contest.play(task) for task in contest.tasks(400)]
    assert min(block.gain for block in blocks) > -1e-9
    mean, (low, high) = mean_and_interval(np.array([block.gain for block in blocks]))
    assert abs(np.mean(exact) - mean) < 0.75 * (high - low) < 0.75


def test_stopped_best_response_resumes_to_the_same_result(tmp_path):
    saved = tmp_path / "saved.jsonl"
    words = ["pro", "--rules", "micro", "--attackers", BEST, "--deals", 40]
    done = run(*words, "--save", saved, "--json")
    assert done.exit_code == 0, done.stderr
    whole = json.loads(done.stdout)
    assert whole["agent"] == "pro"
    saved.write_bytes(b"".join(saved.read_bytes().splitlines(keepends=True)[:21]))
    again = json.loads(run("--resume", saved, "--workers", 2, "--json").stdout)
    assert [again["gains"][0][n] for n in ("margin", "ci95")] == [
        whole["gains"][0][n] for n in ("margin", "ci95")
    ]
    assert saved.read_bytes().count(b"\n") == 41


def test_best_response_with_few_tricks_answers_full_game():
    done = run("standard", "--rules", "two_player", "--awake", "12-13", "--deals", 4)
    assert done.exit_code == 0, done.stderr
    assert "awake in tricks 12-13" in done.stdout
