"""Deep Monte Carlo, deep Q-learning, NFSP: what they remember, learn and continue from."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

from hearts_env import CheckpointError, Rules
from hearts_env.encoders import make_encoder
from hearts_env.solve.best_response import exploit
from hearts_env.support.errors import HeartsError
from hearts_train.learn.config import ConfigError
from hearts_train.learn.config_files import make_config
from hearts_train.learn.dqn import DQNLearner, transitions
from hearts_train.learn.games import END, PENDING
from hearts_train.learn.log import read_metrics
from hearts_train.learn.monte_carlo import epsilon_greedy
from hearts_train.learn.nfsp import NFSPLearner, draw_responses
from hearts_train.learn.ppo_kernel import FIGURES
from hearts_train.learn.replay import Column, Memory, Reservoir, seen
from hearts_train.learn.report import curves
from hearts_train.learn.runs import find_runs
from hearts_train.learn.training import Trainer, make_learner, train
from hearts_train.measure.evaluation import evaluate
from tests.refusals import refused
from tests.slow import few

RECIPE: dict[str, Any] = {
    "algorithm": "dqn",
    "threads": 1,
    "env": {"rules": "mini", "num_envs": 64, "observation": "ranked", "reward": "trick"},
    "network": {"trunk": [64], "policy": [], "value": []},
    "ppo": {"num_steps": 16, "batch_size": 128, "learning_rate": 0.005},
    "dqn": {"buffer_size": 20_000, "target_every": 50},
    "budget": {"decisions": 60 * 64 * 16},
}
SMALL: dict[str, Any] = {
    "env": RECIPE["env"] | {"num_envs": 12},
    "ppo": {"num_steps": 4, "batch_size": 16},
    "budget": {"decisions": 10 * 12 * 4},
}


def learner(algorithm: str = "dqn", state: Any = None, **changes: Any) -> Any:
    return make_learner(make_config(RECIPE | {"algorithm": algorithm} | changes), state)


# ---- what is remembered --------------------------------------------------------------------------
NUMBER = Column((), np.dtype(np.int64))
RNG = np.random.default_rng(0)


def offered(memory: Memory, numbers: range, rng: np.random.Generator = RNG) -> None:
    memory.add({"number": np.array(numbers)}, rng)


def test_the_latest_decisions_are_remembered():
    memory = Memory(5, {"number": NUMBER})
    for first, last, expected in (
        (0, 3, {0, 1, 2}),
        (3, 7, {2, 3, 4, 5, 6}),
        (7, 19, {*range(14, 19)}),
    ):
        offered(memory, range(first, last))
        assert len(memory) == len(expected)
        assert set(memory.read(np.arange(len(memory)))["number"].tolist()) == expected


def test_a_reservoir_keeps_all_decisions_equally_often():
    """Also where several of one batch are drawn for the same place."""
    counts = np.zeros(60)
    for seed in range(3000):
        memory, rng = Reservoir(12, {"number": NUMBER}), np.random.default_rng(seed)
        for first, last in ((0, 7), (7, 8), (8, 30), (30, 60)):
            offered(memory, range(first, last), rng)
        kept = memory.read(np.arange(12))["number"]
        assert len(set(kept.tolist())) == 12
        counts[kept] += 1
    chance = 12 / 60
    deviation = np.sqrt(3000 * chance * (1 - chance))
    assert np.abs(counts - 3000 * chance).max() < 4.5 * deviation


def test_with_a_least_probability_a_reservoir_forgets_the_oldest():
    """Each new one gets in with that chance, and then any other has to go."""
    capacity, chance, number = 20, 0.5, 200
    memory = Reservoir(capacity, {"number": NUMBER}, chance)
    counts, rng = np.zeros(number), np.random.default_rng(0)
    for _ in range(4000):
        memory.count = 0
        offered(memory, range(90), rng)
        offered(memory, range(90, number), rng)
        counts[memory.read(np.arange(capacity))["number"]] += 1
    ages = number - 1 - np.arange(number)
    recent = np.arange(number) >= capacity / chance
    expected = chance * (1 - chance / capacity) ** ages
    np.testing.assert_allclose(counts[recent] / 4000, expected[recent], atol=0.04)
    assert counts[~recent].max() < 0.05 * 4000


@pytest.mark.parametrize("name", ["flat", "ranked", "belief", "planes", "history"])
def test_observations_are_remembered_as_they_are(name):
    rules, encoder = Rules.preset("mini"), make_encoder(name)
    column, space = seen(encoder, rules), encoder.space(rules)
    given = np.stack([space.sample() for _ in range(9)])
    memory = Memory(9, {"seen": column})
    memory.add({"seen": given}, RNG)
    again = Memory(9, {"seen": column})
    again.restore(memory.state(), "memory")
    for found in (memory, again):
        read = found.read(np.arange(9))["seen"]
        assert read.dtype == given.dtype
        np.testing.assert_array_equal(read, given)
    assert column.is_bits == (name != "belief")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": np.array(-1)}, "memory/count"),
        ({"count": np.array(4)}, "memory/action"),
        ({"action": np.array([0, 1, 7])}, "memory/action [0 7"),
        ({"action": np.array([0.0, 1.0, 2.0])}, "memory/action"),
        ({"action": None}, "memory/action"),
    ],
)
def test_what_no_memory_has_is_refused(change, message):
    memory = Memory(5, {"action": NUMBER._replace(below=7)})
    memory.add({"action": np.array([0, 3, 6])}, RNG)
    memory.restore(memory.state(), "memory")
    with refused(HeartsError, *message.split()):
        memory.restore(memory.state() | change, "memory")


# ---- deep Monte Carlo ----------------------------------------------------------------------------
def test_cards_are_drawn_epsilon_greedily():
    rng = np.random.default_rng(0)
    values, legal = rng.normal(size=(200, 7)), rng.random((200, 7)) < 0.5
    legal[:, 3] = True
    for epsilon in (0.0, 0.2, 1.0):
        chances = np.where(legal, np.exp(epsilon_greedy(values, legal, epsilon)), 0.0)
        np.testing.assert_allclose(chances.sum(1), 1.0, rtol=1e-5)
        best = np.where(legal, values, -np.inf).argmax(1)
        expected = np.where(legal, epsilon / legal.sum(1, keepdims=True), 0.0)
        expected[np.arange(200), best] += 1 - epsilon
        np.testing.assert_allclose(chances, expected, atol=1e-6)


def test_what_is_learnt_is_what_the_seat_earned_to_the_end():
    """Whatever reward is paid on the way, and whatever PPO's discounts are."""
    made = learner("monte_carlo", ppo=RECIPE["ppo"] | {"gamma": 0.5, "gae_lambda": 0.3})
    made._collect(0, 16)
    games = made.games[0]
    rows = made._estimate(games)
    nexts, rewards, returns = games.rows.nexts, games.rows.rewards, games.rows.returns
    ends = set()
    for row in rows:
        total, at = 0.0, int(row)
        while nexts[at] >= 0:
            total, at = total + float(rewards[at]), int(nexts[at])
        ends.add(int(nexts[at]))
        total += float(rewards[at]) if nexts[at] == END else float(games.rows.values[at])
        assert returns[row] == pytest.approx(total, abs=1e-5)
    assert ends == {END, PENDING}


# ---- deep Q-learning -----------------------------------------------------------------------------
def test_a_transition_is_to_the_seats_own_next_decision():
    made = learner()
    made._collect(0, 16)
    games = made.games[0]
    ready = made._estimate(games)
    found, kept = transitions(games, ready), games.rows
    assert {True, False} == set(found["goes_on"].tolist())
    for place, row in enumerate(ready):
        np.testing.assert_array_equal(found["seen"][place], games.observations[row])
        assert found["actions"][place] == kept.actions[row]
        assert found["rewards"][place] == kept.rewards[row]
        assert found["goes_on"][place] == (kept.nexts[row] >= 0)
        if kept.nexts[row] >= 0:
            after = kept.nexts[row]
            np.testing.assert_array_equal(found["seen_next"][place], games.observations[after])
            np.testing.assert_array_equal(found["legal_next"][place], kept.masks[after])


def test_targets_are_those_of_double_q_learning_over_legal_actions():
    """Written out row by row; the networks disagree, and often prefer what is illegal."""
    made = learner(ppo=RECIPE["ppo"] | {"gamma": 0.5})
    made.update()
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for replicas in (made.replicas, made.target):
            replicas.weights += torch.from_numpy(
                rng.normal(0, 0.3, len(replicas.weights)).astype(np.float32)
            )
    rows = made.memory.read(np.arange(200))
    found = made._targets(0, rows)
    with torch.no_grad():
        after = torch.from_numpy(rows["seen_next"])
        liked, _ = made._forward(made.network, after)
        worth, _ = made._forward(made.target.networks[0], after)
    disagree = illegal = 0
    for place in range(200):
        legal = np.flatnonzero(rows["legal_next"][place]).tolist()
        best = max(legal, key=lambda action: float(liked[place, action]))
        rest = 0.5 * float(worth[place, best]) if rows["goes_on"][place] else 0.0
        assert float(found[place]) == pytest.approx(rows["rewards"][place] + rest, abs=1e-6)
        disagree += best != max(legal, key=lambda action: float(worth[place, action]))
        illegal += int(liked[place].argmax()) not in legal
    assert disagree > 20
    assert illegal > 20


# ---- neural fictitious self-play -----------------------------------------------------------------
def test_seats_are_drawn_by_deal_and_stay_what_they_are():
    deals = np.arange(20_000) * 7919 + 3
    drawn = []
    for player in (0, 1):
        for eta in (0.1, 0.35, 1.0):
            responds = np.zeros(len(deals), np.bool_)
            draw_responses(deals, np.full(len(deals), player), eta, responds)
            assert responds.mean() == pytest.approx(eta, abs=0.015)
            again = np.zeros(len(deals), np.bool_)
            draw_responses(deals, np.full(len(deals), player), eta, again)
            np.testing.assert_array_equal(responds, again)
        draw_responses(deals, np.full(len(deals), player), 0.35, responds)
        drawn.append(responds)
    both = (drawn[0] & drawn[1]).mean()
    assert both == pytest.approx(0.35**2, abs=0.015)  # the seats are drawn apart


def test_only_what_the_best_response_does_is_averaged_and_all_is_learnt_from():
    made = learner(
        "nfsp", nfsp={"eta": 0.4}, dqn=RECIPE["dqn"] | {"epsilon": 0.0, "epsilon_end": None}
    )
    with torch.no_grad():  # networks that differ, so that it shows which one has played
        made.policies.weights.mul_(-1.0)
    made._collect(0, 16)
    ready = made._estimate(made.games[0])
    made._take_in([ready])
    assert len(made.memory) == len(ready)
    assert len(made.reservoir) == pytest.approx(0.4 * 64 * 16, rel=0.2)
    rows = made.reservoir.read(np.arange(len(made.reservoir)))
    values, _ = made._forward(made.network, torch.from_numpy(rows["seen"]))
    best = values.detach().masked_fill(torch.from_numpy(rows["legal"]) == 0, -torch.inf).argmax(1)
    np.testing.assert_array_equal(best, rows["actions"])
    games = made.games[0]
    others = ~made._responds[0][: games.size]
    values, _ = made._forward(made.network, torch.from_numpy(games.observations[: games.size]))
    legal = torch.from_numpy(games.rows.masks[: games.size]) != 0
    best = values.detach().masked_fill(~legal, -torch.inf).argmax(1).numpy()
    same = best == games.rows.actions[: games.size]
    assert same[~others].all()
    assert same[others].mean() < 0.8


def test_the_average_policy_learns_how_often_each_action_was_done():
    made = learner("nfsp", nfsp={"learning_rate": 0.005})  # of longer steps bfloat16 makes noise
    made.update()
    choices = made.reservoir.read(np.arange(60))["legal"].sum(1)
    rows = made.reservoir.read(np.flatnonzero(choices > 2)[:1])
    first, second, third = np.flatnonzero(rows["legal"][0])[:3]
    made.reservoir.count = 0
    for action in [first] * 6 + [second] * 3 + [third]:
        made.reservoir.add(rows | {"actions": np.array([action])}, RNG)
    for _ in range(300):
        made._imitate((np.arange(10),))
    agent = made.agent()
    logits = agent.network.logits(rows["seen"].astype(np.float32))[0, [first, second, third]]
    chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    np.testing.assert_allclose(chances, [0.6, 0.3, 0.1], atol=0.02)


@pytest.mark.slow
def test_nfsp_comes_nearer_to_an_equilibrium_and_resumes_to_the_bit():
    changes = {"env": RECIPE["env"] | {"rules": "micro"}, "nfsp": {"eta": 0.2}}

    def drawn(made: NFSPLearner) -> float:
        agent = made.agent()
        agent.greedy = False
        return exploit(agent, made.tree).exploitability

    made = learner("nfsp", **changes)
    before = drawn(made)
    for _ in range(30):
        made.update()
    resumed = learner("nfsp", made.state(), **changes)
    for _ in range(30):
        made.update()
        resumed.update()
    assert_same(made, resumed)
    assert drawn(made) < 0.4 * before


# ---- both ----------------------------------------------------------------------------------------
def assert_same(made: DQNLearner, other: DQNLearner) -> None:
    ours, theirs = made.state().tensors, other.state().tensors
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize("algorithm", ["ppo", "monte_carlo", "dqn", "nfsp"])
def test_warming_up_leaves_no_trace(algorithm):
    settings = SMALL | {"schedule": [{"opponents": {"self": 1, "easy": 1, "random": 1}}]}
    made, cold = learner(algorithm, **settings), learner(algorithm, **settings)
    made.warm_up()
    assert_same(made, cold)
    for one in (made, cold):
        one.update()
    assert_same(made, cold)


@pytest.mark.parametrize(
    ("algorithm", "logged"),
    [
        ("dqn", {"value_loss", "learning_rate"}),
        ("monte_carlo", {"value_loss", "learning_rate"}),
        ("nfsp", {"value_loss", "policy_loss", "learning_rate", "policy_learning_rate"}),
        ("ppo", {*FIGURES, "learning_rate", "ent_coef"}),
    ],
)
def test_only_figures_and_rates_that_there_are_are_logged(algorithm, logged):
    made = learner(algorithm, **SMALL)
    for _ in range(4):
        row = made.update()
    rates = {"learning_rate", "policy_learning_rate", "ent_coef"}
    assert row.keys() & {*FIGURES, *rates} == logged
    assert all(row[name] != 0.0 for name in logged - {"clip_fraction", "magnet_kl"})


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["dqn", "monte_carlo"])
def test_players_of_values_learn_to_beat_easy_and_resume_to_the_bit(algorithm):
    made = learner(algorithm)
    assert made.epsilon == 0.1
    for _ in range(30):
        made.update()
    assert made.epsilon == pytest.approx(0.055)
    resumed = learner(algorithm, made.state())
    for _ in range(30):
        made.update()
        resumed.update()
    assert_same(made, resumed)
    result = evaluate(made.agent(), "easy", "mini", 1500, seed=3)
    assert result.ci95[0] > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["dqn", "nfsp"])
def test_a_resumed_run_warms_up_with_what_it_remembers(algorithm):
    """However small the memory is beside the games' lists, whose rows are other decisions."""
    tiny = {
        "env": RECIPE["env"] | {"rules": "micro", "num_envs": 2},
        "ppo": {"num_steps": 1, "batch_size": 2},
        "dqn": {"buffer_size": 2},
    }
    for seed in range(2):
        made = learner(algorithm, **tiny, seed=seed)
        for _ in range(3):
            made.update()
            resumed = learner(algorithm, made.state(), **tiny, seed=seed)
            memory = resumed.memory
            with patch.object(memory, "read", wraps=memory.read) as read:
                resumed.warm_up()
            assert_same(resumed, made)
            assert max(call.args[0].max(initial=0) for call in read.mock_calls) == 0


def test_with_another_opponent_the_memory_begins_anew_and_the_reservoir_goes_on():
    made = learner("nfsp", **SMALL)
    for _ in range(4):
        made.update()
    state = made.state()
    other = SMALL | {"schedule": [{"opponents": {"self": 1, "easy": 1}}]}
    resumed = learner("nfsp", state, **other)
    assert len(resumed.memory) == 0
    assert len(resumed.reservoir) == len(made.reservoir) > 0
    resumed.update()
    for change, name in (
        ({"dqn": {"buffer_size": 100}}, "games/memory/seen"),
        ({"nfsp": {"reservoir": 1}}, "reservoir/seen"),
    ):
        with refused(CheckpointError, "resume", name):
            learner("nfsp", state, **SMALL | change)


@pytest.mark.parametrize(("algorithm", "is_mixed"), [("dqn", False), ("nfsp", True)])
def test_past_snapshots_play_as_the_player_does(algorithm, is_mixed):
    """A softmax of action values would play nearly at random."""
    made = learner(algorithm, self_play={"latest_share": 0.5, "keep": 1, "keep_every": 1})
    made.update()
    past = made.opponents[0].snapshots[1]
    views = made.games[0].batch.views(np.arange(64))
    is_same = np.array_equal(past.act_batch(views), made.agent().act_batch(views))
    assert is_same != is_mixed
    if is_mixed:
        past.greedy = True
        np.testing.assert_array_equal(past.act_batch(views), made.agent().act_batch(views))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "counts"),
    [("dqn", "preferred"), ("monte_carlo", "preferred"), ("nfsp", "drawn"), ("ppo", "drawn")],
)
def test_players_are_compared_by_how_exploitable_they_are_as_they_play(algorithm, counts, tmp_path):
    """What would be drawn by a softmax of action values is not even computed."""
    evaluation = {"opponents": [], "exploitability": True, "times": 2, "final_deals": 2}
    recipe = RECIPE | {"env": RECIPE["env"] | {"rules": "micro"}, "budget": {"decisions": 2_000}}
    config = make_config(recipe | {"algorithm": algorithm, "evaluation": evaluation})
    run = tmp_path / "run"
    card = train(config, run, progress=False).card.read_text()
    assert ("(cards drawn)" in card) == (counts == "drawn")
    rows = [row for row in read_metrics(run) if row["kind"] == "exploitability"]
    assert len(rows) == 3
    assert {"drawn" in row for row in rows} == {counts == "drawn"}
    scores = Trainer(config)._scores(SimpleNamespace(of_kind=lambda _: rows))
    assert scores == {row["decisions"]: -row[counts] for row in rows}
    (shown,) = curves({"run": find_runs([run])[0]}, "exploitability", "decisions")
    assert shown.mean == [row[counts] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "change"),
    [
        ("dqn", {"dqn": {"buffer_size": 100_000}}),
        ("nfsp", {"dqn": {"buffer_size": 10_000}}),
        ("nfsp", {"nfsp": {"reservoir": 100_000}}),
    ],
)
def test_a_resumed_run_keeps_the_sizes_of_its_memories(algorithm, change, tmp_path):
    """Also while so little is remembered that it would fit."""
    recipe = RECIPE | SMALL | {"algorithm": algorithm, "evaluation": {"times": 0}}
    recipe["budget"] = {"decisions": 2 * 12 * 4}
    train(make_config(recipe), tmp_path / "run", progress=False)
    ((section, sizes),) = change.items()
    ((name, size),) = sizes.items()
    changed = make_config(recipe | {section: recipe.get(section, {}) | sizes})
    with refused(ConfigError, f"{section}.{name}", size):
        train(changed, resume=tmp_path / "run", progress=False)
    other = make_config(recipe | {"monte_carlo": {"epsilon": 0.5}, "dqn": recipe["dqn"]})
    train(other, resume=tmp_path / "run", progress=False)


@pytest.mark.parametrize("setting", ["dqn.buffer_size", "nfsp.reservoir"])
def test_a_memory_that_would_fill_the_machine_is_refused(setting):
    section, _, name = setting.partition(".")
    wide = SMALL | {
        "env": {"rules": "classic", "observation": "belief", "num_envs": 12},
        section: RECIPE.get(section, {}) | {name: 10_000_000},
    }
    with refused(ConfigError, setting, 10_000_000, "belief", "5 GB") as caught:
        learner("nfsp", **wide)
    fits = int(re.search(r"\d+", caught.value.hint)[0])
    made = learner("nfsp", **SMALL | {"env": wide["env"]})
    columns = (made.memory if name == "buffer_size" else made.reservoir).columns
    row = sum(column.empty(1).nbytes for column in columns.values())
    assert fits * row <= 5e9 < (fits + 1) * row


@few("algorithm", ["ppo", "monte_carlo", "dqn", "nfsp", "exact", "maskable_ppo"], ["ppo", "nfsp"])
def test_a_state_that_lacks_an_array_is_refused(algorithm):
    settings = SMALL | {"env": SMALL["env"] | {"rules": "micro"}, "exact": {"minibatches": 1}}
    made = learner(algorithm, **settings)
    made.update()
    state = made.state()
    for name in state.tensors:
        lacking = {n: array for n, array in state.tensors.items() if n != name}
        with refused(CheckpointError, "resume"):
            learner(algorithm, replace(state, tensors=lacking), **settings)
            pytest.fail(name)
