"""Pretraining: the teacher's values, their seeds, and a network that learns them."""

import signal

import numpy as np
import pytest
import torch

from hearts_agents import make_agent
from hearts_agents.models.checkpoint import Checkpoint, save_checkpoint
from hearts_agents.models.network import Network
from hearts_agents.search import mean_rows, working_memory
from hearts_env import BatchGame, Game, Rules
from hearts_env.encoders import make_encoder
from hearts_env.solve import TranspositionTable
from hearts_train.executor import spread
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.loop import make_learner
from hearts_train.learn.ppo import Decisions
from hearts_train.learn.pretraining import Pretraining
from hearts_train.learn.teacher import Positions, Teacher
from hearts_train.learn.training import train, train_run
from tests.refusals import raises_hearts_error

MICRO, FLAT = Rules.make("micro"), make_encoder("flat")
RECIPE = {
    "name": "taught",
    "threads": 2,
    "env": {"rules": "micro", "num_envs": 16},
    "network": {"trunk": [32], "policy": [16], "value": [16]},
    "pretraining": {"positions": 2000},
    "ppo": {"num_steps": 8, "batch_size": 64},
    "budget": {"decisions": 1000},
    "ema_decay": 0.5,
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Pretrain with few and small minibatches."""
    monkeypatch.setattr(Pretraining, "passes", 7)
    monkeypatch.setattr(Pretraining, "batch_size", 100)
    monkeypatch.setattr(Pretraining, "learning_rates", (0.01, 1e-4))


def recipe(**changes):
    return TrainConfig.model_validate(RECIPE | changes)


def vector(network):
    """All weights of a network in one vector."""
    return torch.nn.utils.parameters_to_vector(network.parameters()).detach().clone()


@pytest.mark.parametrize("preset", ["micro", "two_player"])
def test_teacher_values_equal_those_of_pimc(preset):
    rules = Rules.make(preset)
    batch, pimc = BatchGame(rules, 6, 4, autodeal=False), make_agent("pimc")
    memory = working_memory(TranspositionTable(rules).vector)
    for _ in range(5):
        batch.play(batch.random_actions())
        views = batch.views()
        means = np.full((len(views), rules.num_actions), np.nan)
        mean_rows(rules.vector, views.vectors, views.players, memory, means)
        for view, row in zip(views, means, strict=True):
            np.testing.assert_allclose(row[view.legal_actions()], pimc.margins(view))
            assert np.isfinite(row).sum() == len(view.legal_actions())


@pytest.mark.slow
def test_positions_have_choices_and_follow_the_seed():
    teacher = Teacher(MICRO, FLAT, seed=3, deals=20)
    positions = teacher(1)
    assert (np.isfinite(positions.values).sum(1) > 1).all()
    assert len(positions.observations) == len(positions.values)
    for again, is_same in ((Teacher(MICRO, FLAT, seed=3, deals=20)(1), True), (teacher(2), False)):
        assert np.array_equal(again.values, positions.values, equal_nan=True) == is_same
        assert np.array_equal(again.observations, positions.observations) == is_same
    parts = list(spread(teacher, range(1, 3), workers=2))
    together, alone = Positions.joined(parts), Positions.joined([positions, teacher(2)])
    assert np.array_equal(together.values, alone.values, equal_nan=True)
    assert np.array_equal(together.observations, alone.observations)


def test_each_pass_visits_every_position_once():
    course = Pretraining(recipe().pretraining, MICRO, FLAT, seed=0)
    assert course.size == 7 * 20
    passes = [[course.rows(20 * number + i) for i in range(20)] for number in (0, 1, 0)]
    rows = [np.concatenate(one).tolist() for one in passes]
    assert sorted(rows[0]) == sorted(rows[1]) == list(range(2000))
    assert rows[0] == rows[2] != rows[1]


def test_rate_of_pretraining_falls_over_all_passes():
    course = Pretraining(recipe().pretraining, MICRO, FLAT, seed=0)
    rates = [course.learning_rate(step) for step in range(course.size + 1)]
    assert rates == pytest.approx(np.linspace(0.01, 1e-4, course.size + 1))


@pytest.mark.slow
def test_positions_are_packed_and_taken_as_encoded():
    course = Pretraining(recipe().pretraining, MICRO, FLAT, seed=0)
    assert course.positions.observations.dtype == np.uint8  # packed
    shown, space = course.take(np.arange(50)).observations, FLAT.space(MICRO)
    assert (shown.dtype, shown.shape) == (space.dtype, (50, *space.shape))
    given = Teacher(MICRO, FLAT, seed=course._teacher.seed)(0).observations[:50]
    assert np.array_equal(np.packbits(shown.reshape(50, -1), axis=1), given)


@pytest.mark.slow
def test_pretrained_run_resumes_to_the_bit():
    whole = make_learner(recipe())
    rows = [whole.update() for _ in range(3)]
    assert rows[2]["pretraining_error"] < 0.5 * rows[0]["pretraining_error"]
    assert rows[0]["learning_rate"] == whole.pretraining.learning_rate(63)
    assert whole.counters.learning_seconds == 0.0
    assert whole.counters.pretraining_steps == 7 * 20
    assert whole.counters.decisions == 0
    stopped = make_learner(recipe())
    stopped.update()
    resumed = make_learner(recipe(), stopped.state())
    for _ in range(3):
        resumed.update()
    whole.update()
    assert whole.counters.decisions == resumed.counters.decisions > 0
    for name, array in whole.state().tensors.items():
        if not name.startswith("games/"):
            np.testing.assert_array_equal(array, resumed.state().tensors[name], err_msg=name)


@pytest.mark.slow
def test_imitation_learns_the_card_of_pimc(monkeypatch):
    monkeypatch.setattr(Pretraining, "passes", 40)
    learner = make_learner(recipe(pretraining={"positions": 2000, "target": "action"}))
    course = learner.pretraining
    preferred = np.nanargmax(course.positions.values, 1)
    observations = torch.from_numpy(course.take(np.arange(2000)).observations)
    while learner.counters.pretraining_steps < course.size:
        learner.update()
    with torch.no_grad():
        logits, _ = learner.average.module(observations.float())
    legal = torch.from_numpy(~np.isnan(course.positions.values))
    found = logits.masked_fill(~legal, -torch.inf).argmax(1).numpy()
    assert (found == preferred).mean() > 0.9
    views = BatchGame(MICRO, 500, seed=9).views()
    played = learner.agent().act_batch(views)
    assert (played == make_agent("pimc").act_batch(views)).mean() > 0.9


def test_player_is_the_average_of_the_weights():
    learner = make_learner(recipe(pretraining={}, ema_decay=0.75))
    before = vector(learner.network.module)
    assert torch.equal(vector(learner.average.module), before)
    learner.update()
    expected = 0.75 * before + 0.25 * vector(learner.network.module)
    torch.testing.assert_close(vector(learner.average.module), expected, rtol=1e-5, atol=1e-7)
    last = make_learner(recipe(pretraining={}, ema_decay=0.0))
    last.update()
    name = "policy.0.weight"
    assert not np.array_equal(learner.tensors()[name], last.tensors()[name])


def pretrained(**changes):
    """A learner that has just learnt all positions, in one update."""
    learner = make_learner(recipe(pretraining={"positions": 200}, **changes))
    assert learner.update()["pretraining"] == 1.0
    return learner


def steps_of(learner):
    """The steps of Adam since it started anew, one number for each vector of weights."""
    found = learner.state().tensors.items()
    return [int(a) for name, a in found if name.startswith("optimizer/") and name.endswith("step")]


def test_player_after_pretraining_is_the_taught_network():
    taught, average = (pretrained(ema_decay=decay).tensors() for decay in (0.0, 0.9))
    for name, array in taught.items():
        np.testing.assert_array_equal(average[name], array, name)


def test_optimizer_starts_anew_after_pretraining():
    learner = pretrained()
    assert steps_of(learner) == []
    learner.update()
    ppo, env = learner.config.ppo, learner.config.env
    most = ppo.num_epochs * (env.num_envs * ppo.num_steps // ppo.batch_size)
    assert 0 < steps_of(learner)[0] <= most


@pytest.mark.parametrize("encoder", ["flat", "ranked", "recall"])
def test_unseen_match_totals_do_not_affect_play(encoder):
    env = {"rules": "micro", "num_envs": 16, "observation": encoder}
    learner = make_learner(recipe(pretraining={}, env=env))
    learner.update()
    game, late = Game.deal("micro", seed=5), Game.deal("micro", seed=5, totals=[3, 90])
    views = [some.view(some.current_player) for some in (game, late)]
    agent = learner.agent()
    seen = [view.observe(make_encoder(encoder)) for view in views]
    assert not np.array_equal(*seen)
    logits = agent.network.logits(np.stack(seen))
    np.testing.assert_allclose(logits[0], logits[1], rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_trained_player_can_be_the_magnet(tmp_path):
    """It is imitated: from a policy far from it to one near it, by nothing but the pull."""
    teacher = make_learner(recipe(ema_decay=0.0))
    for _ in range(4):
        teacher.update()
    path = tmp_path / "teacher.safetensors"
    network = Network(teacher.tensors())
    save_checkpoint(path, teacher.tensors(), Checkpoint(MICRO, "flat", network.sizes, "relu"))
    ppo = RECIPE["ppo"] | {"magnet": str(path), "magnet_coef": 3.0, "learning_rate": 0.01}
    learner = make_learner(recipe(pretraining={}, ema_decay=0.0, network={"trunk": [24]}, ppo=ppo))
    away = [learner.update()["magnet_kl"] for _ in range(12)]
    assert away[-1] < 0.3 * away[0]
    rows = torch.from_numpy(BatchGame("micro", 50, seed=3).observe())
    batch = Decisions(*[rows] * len(Decisions._fields))
    np.testing.assert_allclose(
        learner.magnet_logits(batch), network.logits(rows.numpy()), rtol=0.05, atol=0.05
    )


@pytest.fixture
def trained(tmp_path):
    """A trained player of the recipe's sizes: its file, and its weights."""
    learner = make_learner(recipe(pretraining={}, ema_decay=0.0))
    learner.update()
    path, tensors = tmp_path / "trained.safetensors", learner.tensors()
    layers = Network(tensors).sizes
    save_checkpoint(path, tensors, Checkpoint(MICRO, "flat", layers, "relu"))
    return str(path), tensors


def starting(name, **changes):
    network = RECIPE["network"] | {"start": name}
    return make_learner(recipe(**{"pretraining": {}, "network": network} | changes))


@pytest.mark.parametrize("ema_decay", [0.0, 0.5])
def test_start_player_first_fits_only_its_values(trained, ema_decay, monkeypatch):
    monkeypatch.setattr("hearts_train.learn.learner.START_UPDATES", 2)
    path, tensors = trained
    learner = starting(path, ema_decay=ema_decay)
    values = [weights.clone() for weights in learner.network.module.value.parameters()]
    for is_same in (True, True, False):
        learner.update()
        for name, array in learner.tensors().items():
            assert np.array_equal(array, tensors[name]) == is_same, name
    assert not any(
        torch.equal(old, new)
        for old, new in zip(values, learner.network.module.value.parameters(), strict=True)
    )


def test_optimizer_starts_anew_after_start_updates(trained, monkeypatch):
    monkeypatch.setattr("hearts_train.learn.learner.START_UPDATES", 2)
    path, _ = trained
    learner = starting(path)
    steps = []
    for _ in range(4):
        learner.update()
        steps.append(steps_of(learner)[0])
    first, second, anew, last = steps
    assert second > first  # the updates of the values continue
    assert anew < second
    assert last > anew


def test_pretraining_for_rules_without_a_teacher_raises():
    with raises_hearts_error(ConfigError, "pretraining.positions", "pimc", "classic"):
        make_learner(recipe(env={"rules": "classic", "num_envs": 16}))


def test_unfitting_start_player_raises(trained):
    path, _ = trained
    for changes in (
        {"network": {"trunk": [24], "start": path}},
        {"pretraining": RECIPE["pretraining"]},
        {"env": {"rules": "mini", "num_envs": 16}},
    ):
        with raises_hearts_error(ConfigError, "network.start"):
            starting(path, **changes)
    with raises_hearts_error(ConfigError, "network.start", "no-such"):
        starting("no-such")
    with pytest.raises(ValueError, match="not supported by maskable_ppo"):
        starting(path, algorithm="maskable_ppo", ema_decay=0.0)


@pytest.mark.parametrize(
    ("rules", "magnet", "words"),
    [
        ("micro", "champion", ["two_player"]),
        ("mini", "champion", ["champion"]),
    ],
)
def test_unfitting_magnet_raises(rules, magnet, words):
    ppo = {"magnet_coef": 1.0, "batch_size": 64, "magnet": magnet}
    with raises_hearts_error(ConfigError, "ppo.magnet", *words):
        make_learner(recipe(pretraining={}, env={"rules": rules, "num_envs": 16}, ppo=ppo))


@pytest.mark.slow
def test_signal_while_gathering_positions_stops_the_run(tmp_path, monkeypatch, capsys):
    taught, blocks = Teacher.__call__, []

    def interrupted(teacher, number):
        blocks.append(number)
        if len(blocks) == 2:
            signal.raise_signal(signal.SIGINT)
        return taught(teacher, number)

    monkeypatch.setattr(Teacher, "__call__", interrupted)
    monkeypatch.setattr("hearts_train.screen.PLAIN_EVERY", -1.0)
    config = recipe(threads=1, pretraining={"positions": 20_000}, evaluation={"times": 0})
    result = train_run(config, tmp_path / "run", progress=True)
    assert len(blocks) == 2
    assert result.signal_number == signal.SIGINT
    assert not result.is_finished
    assert result.updates == 0
    assert " left" in capsys.readouterr().err.partition("gathering positions: ")[2]
    assert train(resume=tmp_path / "run").is_finished
