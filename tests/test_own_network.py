"""A user's own torch module and encoder: trained, resumed, evaluated, refused if not trusted."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from hearts_agents import make_agent
from hearts_agents.models.checkpoint import (
    Checkpoint,
    find_encoder,
    read_checkpoint,
    save_checkpoint,
)
from hearts_agents.models.own_network import ModulePolicy
from hearts_agents.user_code import TRUST
from hearts_env import BatchGame, HeartsError, Rules
from hearts_train.learn import runs
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.config_files import make_config
from hearts_train.learn.loop import make_learner
from hearts_train.learn.training import train
from hearts_train.measure.participants import Participant
from tests.refusals import raises_hearts_error
from tests.test_cli import run
from tests.training_runs import assert_same_history, on_update, stop
from tests.training_runs import quick as quick

CODE = """
import numpy as np
import torch
from gymnasium import spaces
from torch import nn


class MyNet(nn.Module):
    def __init__(self, shape, num_actions):
        super().__init__()
        self.memory = nn.GRU(shape[1], 8, batch_first=True)
        self.head = nn.Linear(8, num_actions + 1)

    def forward(self, observations):
        last = self.memory(observations)[0][:, -1]
        outputs = self.head(last)
        return outputs[:, :-1], outputs[:, -1:]


class FrozenMemory(MyNet):
    def __init__(self, shape, num_actions):
        super().__init__(shape, num_actions)
        self.memory.requires_grad_(False)


class AllFrozen(MyNet):
    def __init__(self, shape, num_actions):
        super().__init__(shape, num_actions)
        self.requires_grad_(False)


class Normed(MyNet):
    def __init__(self, shape, num_actions):
        super().__init__(shape, num_actions)
        self.norm = nn.BatchNorm1d(num_actions)

    def forward(self, observations):
        logits, values = super().forward(observations)
        return self.norm(logits), values


class Double(MyNet):
    def __init__(self, shape, num_actions):
        super().__init__(shape, num_actions)
        self.double()


class NotANumber(MyNet):
    def forward(self, observations):
        logits, values = super().forward(observations)
        return logits * float("nan"), values


class OneOutput(nn.Linear):
    def __init__(self, shape, num_actions):
        super().__init__(shape[1], num_actions)


class MyEncoder:
    def space(self, rules):
        return spaces.Box(0, 1, (2, rules.num_actions), np.int8)

    def write(self, view, out):
        out[:] = 0
        out[0, list(view.legal_actions())] = 1
        for player, card in view.history:
            out[1, rules_place(view, card)] = 1


def rules_place(view, card):
    return card if isinstance(card, int) else view.rules.deck.index(card)
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a file with a network and an encoder. Code is allowed."""
    monkeypatch.setenv(TRUST, "1")
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return str(path)


def recipe(code: str, **changes: object) -> TrainConfig:
    """A short run of both."""
    return make_config(
        {
            "name": "own",
            "threads": 1,
            "env": {"rules": "micro", "num_envs": 8, "observation": f"{code}:MyEncoder"},
            "network": {"module": f"{code}:MyNet"},
            "ppo": {"num_steps": 4, "batch_size": 16},
            "ema_decay": 0.5,
            "budget": {"decisions": 4 * 32},
            "evaluation": {"times": 1, "deals": 2, "opponents": ["easy"]},
        }
        | changes
    )


def test_own_network_trains_and_evaluates_by_name(code, tmp_path, monkeypatch, quick):
    result = train(recipe(code), tmp_path / "run", progress=False)
    assert result.is_finished
    _, meta = read_checkpoint(result.run_dir)
    assert (meta.module, meta.encoder) == (f"{code}:MyNet", f"{code}:MyEncoder")
    assert f"{code}:MyNet" in result.card.read_text()
    views = BatchGame("micro", 30, seed=3).views()
    learner = make_learner(recipe(code), runs.load_state(result.run_dir / runs.STATE_NAME))
    played = make_agent(result.run_dir).act_batch(views)
    np.testing.assert_array_equal(played, learner.agent().act_batch(views))
    given = ["evaluate", str(result.run_dir), "--opponents", "easy", "--rules", "micro"]
    shown = run(*given, "--deals", "5", "--allow-code")
    assert shown.exit_code == 0, shown.stderr
    monkeypatch.delenv(TRUST)
    refused = run(*given)
    assert refused.exit_code == 2
    assert "--allow-code" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_digest_covers_code_of_network_and_encoder(code, tmp_path):
    rules, player = Rules.preset("micro"), str(tmp_path / "mine.safetensors")
    files = [Path(shutil.copy(code, tmp_path / name)) for name in ("net.py", "encoder.py")]
    module, encoder = f"{files[0]}:MyNet", f"{files[1]}:MyEncoder"
    shape = find_encoder(encoder).space(rules).shape
    meta = Checkpoint(rules, encoder, (math.prod(shape), rules.num_actions), "", module=module)
    tensors = ModulePolicy(module, shape, rules.num_actions).tensors()
    save_checkpoint(player, tensors, meta)
    digests = {Participant(player, 0).digest}
    for file in files:
        file.write_text(CODE.replace("[:, -1]", "[:, 0]").replace("= 1", "= 2"))
        digests.add(Participant(player, 0).digest)
    assert len(digests) == 3


def test_training_own_code_ends_with_a_command_that_works(code, tmp_path, quick):
    evaluation = {"times": 0, "deals": 2, "final_deals": 2}
    config, folder = tmp_path / "own.yaml", tmp_path / "my run"
    config.write_text(recipe(code, evaluation=evaluation).to_yaml())
    shown = run("train", str(config), "--run", str(folder), "--allow-code")
    assert f"hearts play --opponent '{folder}' --allow-code" in shown.stdout


def test_own_network_resumes_to_the_bit(code, tmp_path, monkeypatch, quick):
    whole = train(recipe(code), tmp_path / "whole", progress=False).run_dir
    on_update(monkeypatch, stop, 2)
    folder = train(recipe(code), tmp_path / "run", progress=False).run_dir
    assert train(resume=folder, progress=False).is_finished
    assert_same_history(folder, whole)


def test_player_of_own_code_is_neither_start_nor_magnet(code, tmp_path, quick):
    player = str(train(recipe(code), tmp_path / "run", progress=False).run_dir)
    with raises_hearts_error(ConfigError, "network.start", "code"):
        make_learner(recipe(code, network={"start": player}))
    ppo = {"num_steps": 4, "batch_size": 16, "magnet": player, "magnet_coef": 0.1}
    with raises_hearts_error(ConfigError, "ppo.magnet", "code"):
        make_learner(recipe(code, network={}, ppo=ppo))


def test_own_network_learns_from_every_decision(code):
    learner = make_learner(recipe(code, ppo={"num_steps": 4, "batch_size": 16, "magnet_coef": 0.1}))
    before = {name: weights.clone() for name, weights in learner.network.named_parameters()}
    for _ in range(3):
        row = learner.update()
    assert row["magnet_kl"] > 0.0
    for name, weights in learner.network.named_parameters():
        assert not torch.equal(before[name], weights), name


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_frozen_weights_stay_and_the_others_learn(code, precision, monkeypatch):
    monkeypatch.setattr("hearts_train.learn.ppo.find_precision", lambda *_: precision)
    learner = make_learner(recipe(code, network={"module": f"{code}:FrozenMemory"}))
    before = {name: weights.clone() for name, weights in learner.network.named_parameters()}
    learner.warm_up()
    learner.update()
    for name, weights in learner.network.named_parameters():
        assert torch.equal(before[name], weights) == (".memory." in name), name


def test_average_takes_the_statistics_of_a_batch_norm(code):
    learner = make_learner(recipe(code, network={"module": f"{code}:Normed"}))
    learner.update()
    learnt, average = learner.learnt.network, learner.average.network
    assert not torch.equal(learnt.module.norm.running_mean, torch.zeros(8))
    for name, buffer in learnt.named_buffers():
        assert torch.equal(buffer, average.get_buffer(name)), name


def test_own_network_of_doubles_learns_in_float32(code):
    learner = make_learner(recipe(code, network={"module": f"{code}:Double"}))
    learner.update()
    assert {weights.dtype for weights in learner.network.parameters()} == {torch.float32}


def test_own_code_without_permission_raises(code, monkeypatch):
    monkeypatch.delenv(TRUST)
    with raises_hearts_error(HeartsError, "env.observation", "--allow-code"):
        make_learner(recipe(code))
    env = {"rules": "micro", "num_envs": 8}
    with raises_hearts_error(HeartsError, "network.module", "--allow-code"):
        make_learner(recipe(code, env=env))


@pytest.mark.parametrize(
    ("setting", "name", "words"),
    [
        ("network.module", "mine.py:OneOutput", ["logits"]),
        ("network.module", "mine.py:MyNett", ["MyNet"]),
        ("network.module", "mine.py:AllFrozen", ["no weights that learn"]),
        ("network.module", "mine.py:NotANumber", ["NaN"]),
        ("network.module", "mine.py:rules_place", ["fails"]),
        ("env.observation", "mine.py:Encoder", ["MyEncoder"]),
    ],
)
def test_invalid_network_or_encoder_code_is_refused(code, setting, name, words):
    section, _, key = setting.partition(".")
    own = recipe(code).model_dump()
    own[section][key] = str(Path(code).parent / name)
    with raises_hearts_error(HeartsError, setting, *words):
        make_learner(make_config(own))


@pytest.mark.parametrize("algorithm", ["vrpo", "exact", "maskable_ppo"])
def test_own_network_requires_ppo(code, algorithm):
    with raises_hearts_error(ConfigError, "config", "network.module", algorithm):
        recipe(code, algorithm=algorithm, ema_decay=0.0)
    with raises_hearts_error(ConfigError, "config", "network.start"):
        recipe(code, network={"module": f"{code}:MyNet", "start": "champion"})
