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
from hearts_train.learn.training import train, train_run
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.participants import Participant
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases
from tests.test_cli import run
from tests.training_runs import assert_same_history, on_update, stop
from tests.training_runs import quick as quick

CODE = """
import threading
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


class Tied(nn.Module):  # the weights of the policy also give the value, under a second name
    def __init__(self, shape, num_actions):
        super().__init__()
        self.head = nn.Linear(shape[1], num_actions)
        self.again = nn.Linear(shape[1], num_actions)
        self.again.weight = self.head.weight

    def forward(self, observations):
        return self.head(observations[:, 0]), self.again(observations[:, 1]).sum(1)


class Compiled(MyNet):  # the names of its weights contain _orig_mod
    def __init__(self, shape, num_actions):
        super().__init__(shape, num_actions)
        self.head = torch.compile(self.head, backend="eager")


class NotANumber(MyNet):
    def forward(self, observations):
        logits, values = super().forward(observations)
        return logits * float("nan"), values


class OneOutput(nn.Linear):
    def __init__(self, shape, num_actions):
        super().__init__(shape[1], num_actions)


class Base(nn.Module):  # Usual heads over features that the others change.
    def __init__(self, shape, num_actions):
        super().__init__()
        self.body = nn.Linear(shape[0] * shape[1], 8)
        self.policy, self.value = nn.Linear(8, num_actions), nn.Linear(8, 1)

    def features(self, x):
        return torch.relu(self.body(x.flatten(1)))

    def forward(self, x):
        features = self.features(x)
        return self.policy(features), self.value(features)


class Kept(Base):
    def features(self, x):
        self.last = [super().features(x)]
        return self.last[0]


class Hooked(Base):
    def __init__(self, *given):
        super().__init__(*given)
        self.body.register_forward_hook(lambda module, _, found: setattr(module, "seen", found))


class OldNorm(Base):  # ``body.weight`` belongs to a gradient from the start.
    def __init__(self, *given):
        super().__init__(*given)
        self.body = nn.utils.weight_norm(self.body)


class Spectral(Base):
    def __init__(self, *given):
        super().__init__(*given)
        self.body = nn.utils.parametrizations.spectral_norm(self.body)


class Lazy(Base):
    def __init__(self, *given):
        super().__init__(*given)
        self.body = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d())


class Dropped(Base):
    def features(self, x):
        return nn.functional.dropout(super().features(x), 0.5, self.training)


class Buffered(Base):  # Buffers that float16 or float32 cannot hold.
    def __init__(self, shape, num_actions):
        super().__init__(shape, num_actions)
        self.register_buffer("mask", torch.triu(torch.full((4, 4), -torch.inf), 1))
        self.register_buffer("low", torch.tensor(-1e9))
        self.register_buffer("large", torch.tensor(2**40 + 1))
        self.register_buffer("places", torch.arange(shape[0] * shape[1] - 1, -1, -1))
        self.register_buffer("share", torch.tensor(0.5, dtype=torch.float64))

    def features(self, x):
        assert int(self.large) == 2**40 + 1
        h = super().features(x.flatten(1)[:, self.places])
        parts = h.view(len(h), 4, 2)
        found = (parts @ parts.transpose(1, 2) + self.mask).softmax(-1) @ parts
        return found.flatten(1) + self.share * torch.where(h < self.low, 1.0, h)


class Scaled(Base):  # Replaces its buffer by the statistics of the last calls.
    def __init__(self, *given):
        super().__init__(*given)
        self.register_buffer("scale", torch.ones(8))

    def features(self, x):
        found = super().features(x)
        if self.training:
            self.scale = 0.9 * self.scale + 0.1 * found.detach().std(0)
        return found / self.scale


class Cached(Base):  # Makes a buffer in its first call, and keeps statistics in it.
    def features(self, x):
        found = super().features(x)
        if not hasattr(self, "mask"):
            self.register_buffer("mask", torch.ones(8))
        if self.training:
            self.mask = 0.9 * self.mask + 0.1 * found.detach().std(0)
        return found * self.mask


class Empty(Base):  # Fills a buffer in its first call.
    def __init__(self, *given):
        super().__init__(*given)
        self.register_buffer("mask", None)

    def features(self, x):
        found = super().features(x)
        if self.mask is None:
            self.mask = torch.ones(8)
        return found * self.mask


class Table(Base):  # Keeps a table for the number of rows.
    def __init__(self, *given):
        super().__init__(*given)
        self.register_buffer("table", torch.ones(0, 1), persistent=False)

    def features(self, x):
        if len(self.table) != len(x):
            self.table = torch.ones(len(x), 1)
        return super().features(x) * self.table


class SavedTable(Table):
    def __init__(self, *given):
        super().__init__(*given)
        self.register_buffer("table", torch.ones(0, 1))


class Late(Base):  # Makes a layer in its first call.
    def features(self, x):
        found = super().features(x)
        if not hasattr(self, "more"):
            self.more = nn.Linear(8, 8)
        return self.more(found)


class Expanded(Base):
    def __init__(self, *given):
        super().__init__(*given)
        self.register_buffer("places", torch.arange(8).expand(2, -1))

    def features(self, x):
        return super().features(x)[:, self.places[0]]


class Zeros(Base):  # Weights of zero that are no layers: whole numbers, and a variance.
    def __init__(self, *given):
        super().__init__(*given)
        self.count = nn.Parameter(torch.zeros(2, dtype=torch.int64), requires_grad=False)
        self.variance = nn.Parameter(torch.zeros(8), requires_grad=False)

    def features(self, x):
        return super().features(x) / torch.sqrt(self.variance + 1e-3)


class OnlyZeros(Base):
    def __init__(self, *given):
        super().__init__(*given)
        self.offset = nn.Parameter(torch.zeros(8), requires_grad=False)

    def features(self, x):
        assert not self.offset.any()
        return super().features(x)


class Copies(Base):
    def features(self, x):
        return super().features(x * 2 - 1)


class Writes(Base):
    def features(self, x):
        return super().features(x.mul_(2).sub_(1))


class OneRow(Base):
    def forward(self, x):
        features = self.features(x).squeeze()
        return self.policy(features), self.value(features)[:, 0]


class Mixed(Base):  # Its zero head hides that the rows are a sequence.
    def __init__(self, *given):
        super().__init__(*given)
        self.memory = nn.LSTM(8, 8)
        nn.init.zeros_(self.policy.weight)
        nn.init.zeros_(self.value.weight)

    def features(self, x):
        return self.memory(super().features(x))[0]


class Remembers(Base):
    last = 0.0

    def features(self, x):
        found = super().features(x) + self.last
        self.last = found.detach().mean()
        return found


class Three(Base):
    def forward(self, x):
        return (*super().forward(x), x)


class Masked(Base):
    def forward(self, x, mask):
        return super().forward(x)


class Detached(Base):
    def forward(self, x):
        return tuple(found.detach() for found in super().forward(x))


class Locked(Base):
    def __init__(self, *given):
        super().__init__(*given)
        self.lock = threading.Lock()


class Complex(Base):
    def __init__(self, *given):
        super().__init__(*given)
        self.register_buffer("wave", torch.zeros(2, dtype=torch.complex64))


class Few(Base):
    def features(self, x):
        if len(x) > 12:
            raise ValueError("too many")
        return super().features(x)


class MyEncoder:
    def space(self, rules):
        return spaces.Box(0, 1, (2, rules.num_actions), np.int8)

    def write(self, view, out):
        out[:] = 0
        out[0, list(view.legal_actions())] = 1
        for player, card in view.history:
            out[1, rules_place(view, card)] = 1


class FloatEncoder(MyEncoder):
    def space(self, rules):
        return spaces.Box(0, 1, (2, rules.num_actions), np.float32)


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
    tensors = ModulePolicy(module, rules, find_encoder(encoder)).tensors()
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
    folder = train_run(recipe(code), tmp_path / "run").run_dir
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
    before = {name: weights.clone() for name, weights in learner.network.module.named_parameters()}
    for _ in range(3):
        row = learner.update()
    assert row["magnet_kl"] > 0.0
    for name, weights in learner.network.module.named_parameters():
        assert not torch.equal(before[name], weights), name


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_frozen_weights_stay_and_the_others_learn(code, precision, monkeypatch):
    monkeypatch.setattr("hearts_train.learn.learner.find_precision", lambda *_: precision)
    learner = make_learner(recipe(code, network={"module": f"{code}:FrozenMemory"}))
    before = {name: weights.clone() for name, weights in learner.network.module.named_parameters()}
    learner.warm_up()
    learner.update()
    for name, weights in learner.network.module.named_parameters():
        assert torch.equal(before[name], weights) == (".memory." in name), name


def test_average_takes_the_statistics_of_a_batch_norm(code):
    learner = make_learner(recipe(code, network={"module": f"{code}:Normed"}))
    learner.update()
    learnt, average = learner.network.module, learner.average.module
    assert not torch.equal(learnt.module.norm.running_mean, torch.zeros(8))
    for name, buffer in learnt.named_buffers():
        assert torch.equal(buffer, average.get_buffer(name)), name


def test_own_network_of_doubles_learns_in_float32(code):
    learner = make_learner(recipe(code, network={"module": f"{code}:Double"}))
    learner.update()
    assert {weights.dtype for weights in learner.network.module.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("name", "key"),
    [("Tied", "again.weight"), pytest.param("Compiled", "_orig_mod", marks=pytest.mark.slow)],
)
def test_tied_and_compiled_weights_are_saved_and_loaded(name, key, code, tmp_path):
    module, encoder, rules = f"{code}:{name}", f"{code}:MyEncoder", Rules.preset("micro")
    learner = make_learner(recipe(code, network={"module": module}))
    learner.update()
    path, shape = tmp_path / "player.safetensors", find_encoder(encoder).space(rules).shape
    meta = Checkpoint(rules, encoder, (math.prod(shape), rules.num_actions), "", module=module)
    save_checkpoint(path, learner.tensors(), meta)
    assert any(key in tensor for tensor in read_checkpoint(path)[0])
    views = BatchGame(rules, 8, seed=1).views()
    loaded, trained = make_agent(str(path)), learner.agent()
    assert np.array_equal(loaded.action_probs(views), trained.action_probs(views))


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
        ("network.module", "mine.py:OneRow", ["fails"]),
        ("network.module", "mine.py:Mixed", ["influence each other", "random"]),
        ("network.module", "mine.py:Remembers", ["influence each other", "random"]),
        ("network.module", "mine.py:Three", ["logits"]),
        ("network.module", "mine.py:Masked", ["fails", "mask"]),
        ("network.module", "mine.py:Detached", ["fails", "grad"]),
        ("network.module", "mine.py:Locked", ["fails", "lock"]),
        ("network.module", "mine.py:Complex", ["wave", "complex64"]),
        ("network.module", "mine.py:SavedTable", ["shape", "table", "persistent=False"]),
        ("env.observation", "mine.py:Encoder", ["MyEncoder"]),
    ],
)
def test_invalid_network_or_encoder_code_is_refused(code, setting, name, words):
    section, _, key = setting.partition(".")
    own = recipe(code).model_dump()
    own[section][key] = str(Path(code).parent / name)
    with raises_hearts_error(HeartsError, setting, *words):
        make_learner(make_config(own))


@pytest.mark.parametrize("algorithm", ["vrpo", "maskable_ppo"])
def test_own_network_requires_ppo(code, algorithm):
    with raises_hearts_error(ConfigError, "config", "network.module", algorithm):
        recipe(code, algorithm=algorithm, ema_decay=0.0)
    with raises_hearts_error(ConfigError, "config", "network.start"):
        recipe(code, network={"module": f"{code}:MyNet", "start": "champion"})


# ---- usual networks ------------------------------------------------------------------------------
USUAL = [
    *("Kept", "Hooked", "OldNorm", "Spectral", "Tied", "Lazy"),
    *("Dropped", "Buffered", "Scaled", "Writes", "Normed"),
    *("Cached", "Empty", "Table", "Late", "Expanded", "Zeros", "OnlyZeros"),
]


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@quick_cases("name", USUAL, ["Kept", "Dropped", "Buffered", "Cached", "Table", "Zeros"])
def test_usual_network_trains_plays_and_resumes(name, code, tmp_path, monkeypatch, quick):
    config = recipe(
        code,
        network={"module": f"{code}:{name}"},
        checkpoint={"half": True},
        opponents={"self": 1, "easy": 1},
        threads=2,
    )
    whole = train(config, tmp_path / "whole", progress=False).run_dir
    on_update(monkeypatch, stop, 2)
    folder = train_run(config, tmp_path / "run").run_dir
    assert train(resume=folder, progress=False).is_finished
    assert_same_history(folder, whole)
    assert evaluate(str(folder), "easy", "micro", 4).faults == 0


@pytest.mark.parametrize("name", ["Kept", "Hooked", "Dropped", "Spectral", "Table"])
def test_threads_share_no_network_that_keeps_state(code, name, tmp_path, quick, capsys):
    config = recipe(code, network={"module": f"{code}:{name}"}, threads=2)
    assert make_learner(config).network.threads.num_threads == 1
    train(config, tmp_path / "run")
    assert capsys.readouterr().err.count("threads: ") == 1


@pytest.mark.parametrize("name", ["Base", "Empty", "Late"])
def test_threads_share_network_that_keeps_no_state(code, name, tmp_path, quick, capsys):
    config = recipe(code, network={"module": f"{code}:{name}"}, threads=2)
    assert make_learner(config).network.threads.num_threads == 2
    train(config, tmp_path / "run")
    assert "threads: " not in capsys.readouterr().err


def test_layer_made_in_first_call_learns(code):
    learner = make_learner(recipe(code, network={"module": f"{code}:Late"}))
    before = learner.network.module.module.more.weight.clone()
    learner.update()
    assert not torch.equal(before, learner.network.module.module.more.weight)


def test_warm_up_keeps_statistics_made_in_first_call(code):
    learner = make_learner(recipe(code, network={"module": f"{code}:Cached"}))
    networks = learner.network.module, learner.average.module
    before = [network.module.mask.clone() for network in networks]
    learner.warm_up()
    for network, mask in zip(networks, before, strict=True):
        assert torch.equal(network.module.mask, mask)


def test_network_that_writes_to_input_learns_alike(code):
    env = {"rules": "micro", "num_envs": 8, "observation": f"{code}:FloatEncoder"}
    found = []
    for name in ("Copies", "Writes"):
        learner = make_learner(recipe(code, env=env, network={"module": f"{code}:{name}"}))
        learner.update()
        found.append(learner.state().tensors)
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], name)


def test_network_that_fails_in_training_is_refused(code, tmp_path, quick):
    with raises_hearts_error(HeartsError, "network.module", "Few", "too many"):
        train(recipe(code, network={"module": f"{code}:Few"}), tmp_path / "run", progress=False)
