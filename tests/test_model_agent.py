"""Players with models of other libraries: stable-baselines3, TorchScript, ONNX."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import shutil
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import typer
from gymnasium import spaces
from safetensors.numpy import save_file
from sb3_contrib import QRDQN, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.torch_layers import FlattenExtractor

from hearts_agents import HeartsSB3VecEnv, OpponentPool, make_agent
from hearts_agents.models import libraries, onnx_files
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import TRUST
from hearts_env import BatchGame, CheckpointError, HeartsError, Rules
from hearts_env.encoders import ENCODERS, make_encoder
from hearts_env.encoders.flat import FlatEncoder
from hearts_train.cli.app import app
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.participants import Participant
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases
from tests.test_cli import run

RULES = Rules.preset("micro")
SIZE, ACTIONS = 90, RULES.num_actions  # of `flat`
ENCODER = make_encoder("flat")
WEIGHTS = np.random.default_rng(5).normal(size=(SIZE, ACTIONS)).astype(np.float32)
TRIED = (PPO, A2C, TRPO, MaskablePPO, DQN, QRDQN)


@pytest.fixture
def views():
    batch = BatchGame(RULES, num_games=40, seed=1)
    batch.play(batch.random_actions())
    return batch.views()


def best_of(weights, views):
    """Return each view's legal action with the highest weight."""
    return [
        max(view.legal_actions(), key=lambda action: row[action])
        for row, view in zip(weights, views, strict=True)
    ]


def assert_plays(agent, views, expected):
    """Compare an agent's actions, singly, in a batch and by its copies."""
    assert [agent.act(view) for view in views] == expected
    for player in (agent, copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert player.act_batch(views).tolist() == expected


def seen(views):
    return np.stack([view.observe(ENCODER) for view in views])


# ---- stable-baselines3 ---------------------------------------------------------------------------
SETTINGS: dict[str, Any] = {"policy_kwargs": {"net_arch": [8]}, "seed": 3, "device": "cpu"}


@pytest.fixture(scope="module")
def models():
    """A small, untrained model of each algorithm, with its initial weights."""
    envs = HeartsSB3VecEnv(2, "micro", seed=1)
    return {kind.__name__: kind("MlpPolicy", envs, **SETTINGS) for kind in TRIED}


def multi_input(kind, **options):
    """A small model that sees dictionaries of observation and mask."""
    envs = HeartsSB3VecEnv(2, "micro", seed=1, action_mask="both", **options)
    return kind("MultiInputPolicy", envs, **SETTINGS)


def weights_by_hand(model, observations, masks=None):
    """Compute the weights of the actions by the model's own layers.

    With `masks` the model sees dictionaries: its first layer takes the observation, then the mask.
    """
    parts = [observations] if masks is None else [observations, masks]
    tensor: Any = torch.as_tensor(np.hstack(parts), dtype=torch.float32)
    policy = model.policy
    if masks is not None and isinstance(model, DQN | QRDQN):
        named = zip(("observation", "action_mask"), map(torch.as_tensor, parts), strict=True)
        tensor = dict(named)
    with torch.no_grad():
        if isinstance(model, DQN | QRDQN):
            values = model.q_net(tensor) if isinstance(model, DQN) else model.quantile_net(tensor)
            return (values if isinstance(model, DQN) else values.mean(1)).numpy()
        latent = policy.mlp_extractor.forward_actor(tensor)
        return policy.action_net(latent).numpy()


@quick_cases("name", [kind.__name__ for kind in TRIED], ["PPO", "MaskablePPO"])
def test_model_and_file_play_the_policys_best_action(models, name, views, tmp_path):
    model, file = models[name], tmp_path / "model.zip"
    model.save(file)
    expected = best_of(weights_by_hand(model, seen(views)), views)
    for agent in (make_agent(model), make_agent(f"{file}?encoder=flat", allow_code=True)):
        assert_plays(agent, views, expected)


@quick_cases("kind", TRIED, [PPO, MaskablePPO])
def test_multi_input_model_sees_observation_and_mask(kind, views, tmp_path):
    model, file = multi_input(kind), tmp_path / "model.zip"
    model.save(file)
    observations, masks = seen(views), views.legal_table
    weights = weights_by_hand(model, observations, masks)
    expected = best_of(weights, views)
    assert not np.allclose(weights, weights_by_hand(model, observations, np.zeros_like(masks)))
    for agent in (make_agent(model), make_agent(file, allow_code=True)):
        assert_plays(agent, views, expected)


def test_model_of_other_dictionaries_names_its_keys():
    space = spaces.Dict(cards=spaces.Box(0, 1, (SIZE,), np.int8), action_mask=spaces.MultiBinary(8))
    policy = PPO.policy_aliases["MultiInputPolicy"](space, spaces.Discrete(8), lambda _: 0.0)
    holder = copy.copy(multi_input(PPO))
    holder.policy = policy
    with raises_hearts_error(HeartsError, "agent", "cards", "observation and action_mask"):
        make_agent(holder)


def test_maskable_ppo_agent_matches_its_predictions(models, views):
    model = models["MaskablePPO"]
    agent: Any = make_agent(model, greedy=False, seed=2)
    masks = views.legal_table
    predicted, _ = model.predict(seen(views), action_masks=masks, deterministic=True)
    assert make_agent(model).act_batch(views).tolist() == predicted.tolist()
    tensor = torch.as_tensor(seen(views), dtype=torch.float32)
    chances = model.policy.get_distribution(tensor, action_masks=masks).distribution.probs
    np.testing.assert_allclose(agent.action_probs(views), chances.detach().numpy(), atol=1e-6)
    drawn = [agent.act_batch(views) for _ in range(50)]
    assert masks[np.arange(len(views)), drawn].all()
    assert (np.ptp(drawn, axis=0) > 0).any()


def test_model_is_accepted_wherever_agents_are(models):
    model = models["MaskablePPO"]
    model.policy.evaluate_actions(torch.zeros(2, SIZE), torch.zeros(2))  # as learning leaves it
    result = evaluate(model, "easy", "micro", deals=3)
    assert (result.agent, result.faults) == ("MaskablePPO", 0)
    record = Participant(model, 0).to_json()
    assert (record["kind"], record["spec"]) == ("Sb3Agent", None)
    assert record["digest"] != Participant(models["DQN"], 0).to_json()["digest"]
    assert OpponentPool.of(model, RULES).names == ["MaskablePPO"]
    assert OpponentPool([model, "easy"]).names == ["MaskablePPO", "easy"]


def test_file_is_not_opened_without_trust(models, tmp_path, monkeypatch):
    file = tmp_path / "model.zip"
    models["PPO"].save(file)
    monkeypatch.setattr("cloudpickle.loads", lambda _: pytest.fail("unpickled"))
    with raises_hearts_error(HeartsError, "allow_code", "--allow-code"):
        make_agent(file)
    with raises_hearts_error(HeartsError, "allow_code"):
        make_agent(f"{file}?allow_code=true")
    with raises_hearts_error(HeartsError, "allow_code"):
        evaluate(str(file), "easy", "micro", deals=2)
    assert AgentSpec.parse(file).is_outside
    assert AgentSpec.parse(f"{file}?encoder=flat").is_outside


def test_allow_code_on_command_line_loads_file(models, tmp_path):
    file = tmp_path / "model.zip"
    models["PPO"].save(file)
    words = ["evaluate", str(file), "--opponents", "easy", "--deals", "2", "--rules", "micro"]
    result = run(*words)
    assert result.exit_code == 2
    assert "--allow-code" in result.output
    assert os.environ[TRUST] == ""
    result = run(*words, "--allow-code")
    assert result.exit_code == 0, result.output
    assert os.environ[TRUST] == "1"  # inherited by child processes
    plain = Participant(str(file), 0).to_json()["digest"]
    isolated = Participant(str(file), 0, isolate=True)
    isolated.close()
    assert isolated.digest == plain


def test_every_agent_command_has_allow_code():
    commands = dict(typer.main.get_command(app).commands)
    agents = {"agent", "agents", "against", "opponent", "opponents", "model"}
    taking = {name for name, one in commands.items() if agents & {p.name for p in one.params}}
    trusting = {
        name for name, one in commands.items() if "allow_code" in {p.name for p in one.params}
    }
    assert {"evaluate", "tournament", "benchmark", "play", "exploit"} <= taking
    assert trusting == taking | {"train"}  # a recipe names its opponents


def test_models_that_cannot_play_are_refused(models, tmp_path):
    envs = HeartsSB3VecEnv(2, "micro", seed=1)
    recurrent = RecurrentPPO("MlpLstmPolicy", envs, device="cpu", policy_kwargs={"net_arch": [8]})
    with raises_hearts_error(HeartsError, "agent"):
        make_agent(recurrent)
    with raises_hearts_error(HeartsError, "greedy"):
        make_agent(models["DQN"], greedy=False)
    with raises_hearts_error(HeartsError, "encoder", "(192,)", "(90,)", "encoder=flat"):
        make_agent(models["PPO"], encoder="recall", rules="micro")
    with raises_hearts_error(HeartsError, "encoder"):
        evaluate(models["PPO"], "easy", "two_player", deals=2)
    with raises_hearts_error(HeartsError, "greedi", hint="greedy"):
        make_agent(models["PPO"], greedi=True)
    with raises_hearts_error(HeartsError, "rules", "micro"):
        evaluate(make_agent(models["PPO"], rules="micro"), "easy", "mini", deals=2)
    for data in (b"", b"PK\x05\x06" + bytes(18)):
        (tmp_path / "other.zip").write_bytes(data)
        with raises_hearts_error(HeartsError, "agent", "stable-baselines3"):
            make_agent(tmp_path / "other.zip", allow_code=True)
    models["PPO"].save(tmp_path / "model.zip")
    whole = (tmp_path / "model.zip").read_bytes()
    at = whole.index(b"policy_class") - 2
    (tmp_path / "torn.zip").write_bytes(whole[:at] + b"[" + whole[at + 1 :])
    with raises_hearts_error(HeartsError, "agent"):
        make_agent(tmp_path / "torn.zip", allow_code=True)
    with raises_hearts_error(CheckpointError, "agent"):
        make_agent("no/such.zip", allow_code=True)


# ---- TorchScript and ONNX ------------------------------------------------------------------------
class Net(torch.nn.Module):
    """Gives more than the weights, as networks with values do."""

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights = observations @ torch.tensor([[1.0, 2.0]]).expand(observations.shape[1], 2)
        return weights, weights


def _number(n):
    """Encode a number as a protobuf varint."""
    out = b""
    while True:
        n, low = n >> 7, n & 127
        out += bytes([low | (128 if n else 0)])
        if not n:
            return out


def _field(number, value):
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    data = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(data)) + data


def _put(name, shape, kind=1):
    sizes = b"".join(_field(1, _field(1 + isinstance(d, str), d)) for d in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, sizes)))


def _matrix(array, name):
    rows, columns = array.shape
    facts = _field(1, rows) + _field(1, columns) + _field(2, 1) + _field(8, name)
    return _field(5, facts + _field(9, array.astype("<f4").tobytes()))


def _elsewhere(shape, name, **place):
    """A matrix with its numbers in another file."""
    facts = b"".join(_field(1, size) for size in shape) + _field(2, 1) + _field(8, name)
    pairs = (_field(1, key) + _field(2, str(value)) for key, value in place.items())
    return facts + b"".join(_field(13, pair) for pair in pairs) + _field(14, 1)


def _node(kind, *inputs, out, more=b""):
    words = b"".join(_field(1, name) for name in inputs)
    return _field(1, words + _field(2, out) + _field(4, kind) + more)


def _model(nodes, inputs, columns, batch="n"):
    graph = nodes + _field(2, "g") + inputs + _field(12, _put("y", (batch, columns)))
    return _field(1, 8) + _field(8, _field(1, "") + _field(2, 17)) + _field(7, graph)


def masked_onnx(weights, mask_weights):
    """An ONNX model with the output ``x @ weights + action_mask @ mask_weights``."""
    nodes = _node("MatMul", "x", "w", out="a") + _node("MatMul", "action_mask", "v", out="b")
    nodes += _node("Add", "a", "b", out="y")
    inputs = _matrix(weights, "w") + _matrix(mask_weights, "v") + _field(11, _put("x", ("n", SIZE)))
    inputs += _field(11, _put("action_mask", ("n", ACTIONS)))
    return _model(nodes, inputs, ACTIONS)


def onnx(weights=WEIGHTS, taken=("n", SIZE), *, kind=1, more=b""):
    """An ONNX model that multiplies its input by a matrix."""
    inputs = _matrix(weights, "w") + _field(11, _put("x", taken, kind)) + more
    return _model(_node("MatMul", "x", "w", out="y"), inputs, weights.shape[1], taken[0])


def beside(**place):
    """An ONNX model that multiplies its input by a matrix in another file."""
    inputs = _field(5, _elsewhere(WEIGHTS.shape, "w", **place)) + _field(11, _put("x", ("n", SIZE)))
    return _model(_node("MatMul", "x", "w", out="y"), inputs, ACTIONS)


def in_branches(**place):
    """An ONNX model whose matrix is in another file, in a node of each branch of an If."""
    tensor = _field(1, "value") + _field(5, _elsewhere(WEIGHTS.shape, "w", **place)) + _field(20, 4)
    made = _node("Constant", out="w", more=_field(5, tensor))
    graph = made + _node("MatMul", "x", "w", out="z") + _field(2, "b") + _field(12, _put("z", ()))
    both = b"".join(
        _field(5, _field(1, name) + _field(6, graph) + _field(20, 5))
        for name in ("then_branch", "else_branch")
    )
    always = _field(5, _field(2, 9) + _field(8, "c") + _field(9, b"\1"))
    inputs = always + _field(11, _put("x", ("n", SIZE)))
    return _model(_node("If", "c", out="y", more=both), inputs, ACTIONS)


def script(module, example):
    """Trace a module to TorchScript."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(module, example)


@pytest.fixture
def linear(tmp_path):
    """Files of one linear network as TorchScript and ONNX, by suffix."""
    module = torch.nn.Linear(SIZE, ACTIONS, bias=False)
    module.weight.data = torch.from_numpy(WEIGHTS.T.copy())
    for suffix in (".pt", ".pth"):
        script(module, torch.zeros(2, SIZE)).save(tmp_path / f"model{suffix}")
    (tmp_path / "model.onnx").write_bytes(onnx())
    return {suffix: str(tmp_path / f"model{suffix}") for suffix in (".pt", ".pth", ".onnx")}


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".onnx"])
def test_model_plays_its_heaviest_legal_action(linear, suffix, views):
    if suffix == ".onnx":
        pytest.importorskip("onnxruntime")
    spec = linear[suffix] + "?encoder=flat&rules=micro"
    if suffix != ".onnx":
        with raises_hearts_error(HeartsError, "allow_code"):
            make_agent(spec)
    agent: Any = make_agent(spec, allow_code=True)
    expected = best_of(seen(views).astype(np.float32) @ WEIGHTS, views)
    shutil.move(linear[suffix], linear[suffix] + ".moved")  # the player keeps its own copy
    assert_plays(agent, views, expected)
    assert pickle.loads(pickle.dumps(agent)).rules == RULES
    drawn: Any = agent.with_greedy(False)
    logits = seen(views).astype(np.float64) @ WEIGHTS
    odds = np.where(views.legal_table, np.exp(logits - logits.max(1, keepdims=True)), 0)
    chances = odds / odds.sum(1, keepdims=True)
    np.testing.assert_allclose(drawn.action_probs(views), chances, atol=1e-5)


def test_onnx_model_with_mask_gets_legal_actions(views, tmp_path):
    pytest.importorskip("onnxruntime")
    weights = np.random.default_rng(5).normal(size=(ACTIONS, ACTIONS)).astype(np.float32)
    (tmp_path / "model.onnx").write_bytes(masked_onnx(WEIGHTS, weights))
    agent: Any = make_agent(f"{tmp_path / 'model.onnx'}?encoder=flat&rules=micro")
    logits = seen(views).astype(np.float32) @ WEIGHTS + views.legal_table @ weights
    assert agent.act_batch(views).tolist() == best_of(logits, views)
    assert best_of(logits, views) != best_of(seen(views).astype(np.float32) @ WEIGHTS, views)


@pytest.mark.parametrize("model", [beside, in_branches])
def test_onnx_weights_are_those_beside_model(model, views, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    length, matrices = WEIGHTS.nbytes, {"a": WEIGHTS, "b": -WEIGHTS}
    for name, weights in matrices.items():
        (tmp_path / name).mkdir()
        data = model(location="model.data", offset=8, length=length)
        (tmp_path / name / "model.onnx").write_bytes(data)
        (tmp_path / name / "model.data").write_bytes(bytes(8) + weights.tobytes() + b"more")
    digests = set()
    for current in matrices:
        monkeypatch.chdir(tmp_path / current)
        for name, weights in matrices.items():
            expected = best_of(seen(views).astype(np.float32) @ weights, views)
            spec = f"../{name}/model.onnx?encoder=flat&rules=micro"
            assert_plays(make_agent(spec), views, expected)
            digests.add(Participant(spec, 0).digest)
    assert len(digests) == 2
    agent = make_agent("model.onnx?encoder=flat&rules=micro")
    shutil.rmtree(tmp_path / "b")  # the player keeps its own copy
    monkeypatch.chdir(tmp_path)
    assert_plays(agent, views, expected)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("../model.data", "outside folder"),
        ("{}/model.data", "outside folder"),
        ("sub/link", "outside folder"),
        ("sub", "sub folder put"),
        ("pipe", "pipe folder put"),
        ("none.data", "none.data folder put"),
        ("", "folder put"),
        ("a\0b", "ONNX null"),
        ("*/_ORT_MEM_ADDR_/*", "folder put"),
        ("short", "ONNX short"),
    ],
)
def test_onnx_weights_elsewhere_are_refused(location, message, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    for path in (tmp_path / "model.data", home / "short"):
        path.write_bytes(WEIGHTS.tobytes()[: None if path.parent == tmp_path else -1])
    (home / "sub" / "link").symlink_to(tmp_path / "model.data")
    os.mkfifo(home / "pipe")
    place = {"location": location.format(tmp_path), "length": WEIGHTS.nbytes}
    (home / "model.onnx").write_bytes(beside(**place))
    monkeypatch.chdir(home)
    with raises_hearts_error(HeartsError, "agent", *message.split()):
        make_agent("model.onnx?encoder=flat&rules=micro")


def test_onnx_weights_used_many_times_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_files, "_MOST", 10 * WEIGHTS.nbytes)
    (tmp_path / "model.data").write_bytes(WEIGHTS.tobytes())
    tensor = _field(5, _elsewhere(WEIGHTS.shape, "w", location="model.data"))
    for times in (10, 11):
        model = _field(7, times * tensor)
        with contextlib.ExitStack() as stack:
            if times == 11:
                stack.enter_context(pytest.raises(ValueError, match="more than"))
            whole = onnx_files.whole_model(model, tmp_path / "model.onnx")
            assert len(whole) > times * WEIGHTS.nbytes


def test_onnx_runtime_reads_no_file_itself(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(beside(location="model.data"))
    (tmp_path / "model.data").write_bytes(WEIGHTS.tobytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(libraries, "whole_model", lambda model, path: model)
    with raises_hearts_error(HeartsError, "agent", "ONNX"):
        make_agent("model.onnx?encoder=flat&rules=micro")


@pytest.mark.parametrize("is_traced", [False, True])
def test_torch_module_is_copied_when_made_an_agent(is_traced, views):
    module = torch.nn.Linear(SIZE, ACTIONS, bias=False)
    module.weight.data = torch.from_numpy(WEIGHTS.T.copy())
    module.policy = torch.nn.Identity()  # stable-baselines3 models have this attribute, too
    given = script(module, torch.zeros(2, SIZE)) if is_traced else module
    agent = make_agent(given, encoder="flat", rules="micro")
    expected = best_of(seen(views).astype(np.float32) @ WEIGHTS, views)
    module.weight.data.zero_()
    assert agent.act_batch(views).tolist() == expected
    assert copy.deepcopy(agent).act_batch(views).tolist() == expected
    assert OpponentPool(agent).names == [type(given).__name__]
    with raises_hearts_error(HeartsError, "encoder"):
        make_agent(given)
    with raises_hearts_error(HeartsError, "encoder"):
        OpponentPool(given)
    with raises_hearts_error(HeartsError, "agent", "two_player", hint="micro"):
        make_agent(given, encoder="flat", rules="two_player")


def test_module_of_another_game_names_that_game():
    mini = Rules.preset("mini")
    size = make_encoder("flat").space(mini).shape[0]
    agent = make_agent(torch.nn.Linear(size, mini.num_actions), encoder="flat")
    with raises_hearts_error(HeartsError, "agent", "two_player", hint="fits mini: play"):
        agent.check_rules(Rules.preset("two_player"))
    agent.check_rules(mini)


def test_onnx_evaluates_without_trust(linear):
    pytest.importorskip("onnxruntime")
    spec = linear[".onnx"] + "?encoder=flat"
    assert not AgentSpec.parse(spec).is_outside
    assert AgentSpec.parse(linear[".pt"] + "?encoder=flat").is_outside
    result = evaluate(spec, "easy", "micro", deals=3)
    assert (result.agent, result.faults) == (spec, 0)
    with raises_hearts_error(HeartsError, "encoder", "(90,)"):
        evaluate(spec, "easy", "mini", deals=2)


@pytest.mark.parametrize(
    ("data", "end", "message"),
    [
        (onnx(), "", "encoder"),
        (onnx(), "?encoder=recall&rules=micro", "encoder (192,) (90,) encoder=flat"),
        (onnx(taken=(1, SIZE)), "?encoder=flat", "agent 1 dynamic_axes"),
        (onnx(more=_field(11, _put("h", ("n", 8)))), "?encoder=flat", "agent 2 h action_mask"),
        (onnx(more=_field(11, _put("mask", ("n", 8), 8))), "?encoder=flat", "agent string masks"),
        (b"hello", "?encoder=flat", "agent ONNX"),
        (onnx()[:-1], "?encoder=flat", "agent ONNX"),
        (b":" + b"\xff" * 20, "?encoder=flat", "agent ONNX"),
        (onnx(WEIGHTS * np.nan), "?encoder=flat&rules=micro", "agent NaN"),
    ],
)
def test_unfitting_onnx_models_are_refused(data, end, message, tmp_path, capfd):
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(data)
    with raises_hearts_error(HeartsError, *message.split()):
        make_agent(f"{tmp_path / 'model.onnx'}{end}")
    assert "".join(capfd.readouterr()) == ""


def test_unfitting_torchscript_is_refused(linear, tmp_path):
    file = linear[".pt"]
    for end, message in {
        "": "encoder",
        "?encoder=text&rules=micro": "agent float32",
    }.items():
        with raises_hearts_error(HeartsError, *message.split()):
            make_agent(file + end, allow_code=True)
    (tmp_path / "other.pt").write_bytes(b"hello")
    with raises_hearts_error(HeartsError, "agent", "TorchScript"):
        make_agent(tmp_path / "other.pt", encoder="flat", allow_code=True)
    script(Net(), torch.zeros(2, SIZE)).save(tmp_path / "net.pt")
    with raises_hearts_error(HeartsError, "agent", "(1, 2)", 1):
        make_agent(tmp_path / "net.pt", encoder="flat", rules="micro", allow_code=True)


def test_model_without_library_names_the_extra(linear, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with raises_hearts_error(HeartsError, "agent", "[onnx]"):
        make_agent(linear[".onnx"] + "?encoder=flat")


# ---- weights alone -------------------------------------------------------------------------------
class Runs:
    """Fails the test when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("unpickled",)


def written(kind, path):
    """Write the weights of a small network in one of the usual forms; return the path."""
    module = torch.nn.Linear(2, 2)
    weights = module.state_dict()
    match kind:
        case "safetensors":
            save_file({name: array.numpy() for name, array in weights.items()}, path)
        case "pickle":
            path.write_bytes(pickle.dumps({"weights": Runs()}))
        case _:
            held = {
                "state dict": weights,
                "checkpoint": {"model_state_dict": weights, "optimizer_state_dict": {}},
                "module": module,
            }
            torch.save(held[kind], path)
    return path


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("state dict", "sd.pt"),
        ("checkpoint", "ckpt.pt"),
        ("module", "pytorch_model.bin"),
        ("pickle", "net.pkl"),
    ],
)
def test_bare_weights_are_refused_unread_with_fix(kind, name, tmp_path, monkeypatch):
    written(kind, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with raises_hearts_error(
        CheckpointError, "agent", name, "only weights", hint="hearts agents --new"
    ):
        make_agent(name, allow_code=True)


def test_foreign_safetensors_are_refused_with_fix(tmp_path):
    path = written("safetensors", tmp_path / "net.safetensors")
    with raises_hearts_error(CheckpointError, "format", "only weights", hint="hearts agents --new"):
        make_agent(path)


LOADS_WEIGHTS = """
from pathlib import Path

import torch

from hearts_agents import make_agent

files = ("ckpt.pt",)

def my_agent(seed=None):
    net = torch.nn.Sequential(torch.nn.Linear(90, 4), torch.nn.Tanh(), torch.nn.Linear(4, 8))
    saved = torch.load(Path(__file__).with_name(files[0]), weights_only=True)
    net.load_state_dict(saved["model_state_dict"])
    return make_agent(net, seed, encoder="flat")
"""


def test_agent_file_with_training_checkpoint_plays_its_network(views, tmp_path):
    """The fix that the messages name, as in docs/agents.md."""
    parts = torch.nn.Linear(SIZE, 4), torch.nn.Tanh(), torch.nn.Linear(4, ACTIONS)
    net = torch.nn.Sequential(*parts)
    saved = {"model_state_dict": net.state_dict(), "optimizer_state_dict": {}}
    torch.save(saved, tmp_path / "ckpt.pt")
    (tmp_path / "my_agent.py").write_text(LOADS_WEIGHTS)
    agent = make_agent(f"{tmp_path / 'my_agent.py'}:my_agent")
    with torch.no_grad():
        weights = net(torch.as_tensor(seen(views), dtype=torch.float32)).numpy()
    assert agent.act_batch(views).tolist() == best_of(weights, views)
    participant = Participant(f"{tmp_path / 'my_agent.py'}:my_agent", 0)
    assert list(participant.files) == ["ckpt.pt"]
    before = participant.digest
    (tmp_path / "my_agent.py").write_text(LOADS_WEIGHTS.replace("Tanh", "ReLU"))
    assert Participant(f"{tmp_path / 'my_agent.py'}:my_agent", 0).digest != before


# ---- rows that influence each other --------------------------------------------------------------
class Mixes(torch.nn.Module):
    """A linear network that mixes rows in one of several ways."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.first, self.last = torch.nn.Linear(SIZE, 8), torch.nn.Linear(8, ACTIONS)
        self.memory, self.norm = torch.nn.LSTM(8, 8), torch.nn.BatchNorm1d(8)
        self.attention = torch.nn.MultiheadAttention(8, 2)

    def forward(self, observations):
        x = self.first(observations)
        match self.way:
            case "LSTM":
                x = self.memory(x)[0]
            case "softmax":
                x = x.softmax(0)
            case "attention":
                x = x + self.attention(x, x, x)[0]
            case "mean":
                x = x - 0.1 * x.mean(0)
            case "small":  # weights of a narrow range, like those of an untrained policy
                return 0.001 * self.last(x - x.mean(0)) - 2.0
            case "norm":
                x = self.norm(x)
            case "dropout":
                x = torch.nn.functional.dropout(x, 0.5, training=True)
        return self.last(x)


def assert_refused(source, **options):
    """Check that a model is refused when it is made, with and without rules."""
    for rules in ({}, {"rules": "micro"}):
        with raises_hearts_error(HeartsError, "agent", "influence each other", "random"):
            make_agent(source, encoder="flat", **rules, **options)


@pytest.mark.parametrize("way", ["LSTM", "softmax", "attention", "mean", "small", "dropout"])
def test_module_that_mixes_rows_or_is_random_is_refused(way):
    assert_refused(Mixes(way))
    with raises_hearts_error(HeartsError, "agent"):
        evaluate(make_agent(Mixes(way), encoder="flat"), "easy", "micro", 2)


def test_file_that_mixes_rows_is_refused(tmp_path):
    pytest.importorskip("onnxruntime")
    for way in ("LSTM", "norm"):  # the batch norm was traced in training mode
        script(Mixes(way), torch.rand(4, SIZE)).save(tmp_path / "model.pt")
        assert_refused(tmp_path / "model.pt", allow_code=True)
    axis = _field(5, _field(1, "axis") + _field(3, 0) + _field(20, 2))
    nodes = _node("MatMul", "x", "w", out="a") + _node("Softmax", "a", out="y", more=axis)
    inputs = _matrix(WEIGHTS, "w") + _field(11, _put("x", ("n", SIZE)))
    (tmp_path / "model.onnx").write_bytes(_model(nodes, inputs, ACTIONS))
    assert_refused(tmp_path / "model.onnx")


class Centred(FlattenExtractor):
    """Subtracts the mean of the rows."""

    def forward(self, observations):
        features = super().forward(observations)
        return features - features.mean(0)


def test_sb3_policy_that_mixes_rows_is_refused(tmp_path):
    envs = HeartsSB3VecEnv(2, "micro", seed=1)
    kwargs = {"net_arch": [8], "features_extractor_class": Centred}
    model = PPO("MlpPolicy", envs, device="cpu", policy_kwargs=kwargs)
    assert_refused(model)
    model.save(tmp_path / "model.zip")
    assert_refused(tmp_path / "model.zip", allow_code=True)


class Rounds(torch.nn.Module):
    """Computes with fewer bits, and masks an action."""

    def __init__(self, dtype):
        super().__init__()
        self.net, self.dtype = torch.nn.Linear(SIZE, ACTIONS).to(dtype), dtype

    def forward(self, observations):
        weights = self.net(observations.to(self.dtype)).float()
        mask = torch.zeros(ACTIONS).index_fill(0, torch.tensor([3]), -torch.inf)
        return weights + mask


def quantised():
    net = torch.nn.Sequential(*(torch.nn.Linear(SIZE, SIZE) for _ in range(4)))
    net.append(torch.nn.Linear(SIZE, ACTIONS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch recommends another package
        return torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rounds(torch.bfloat16),
        lambda: Rounds(torch.float16),
        lambda: Mixes("norm").train(),
        quantised,
        lambda: torch.nn.Sequential(torch.nn.Linear(SIZE, 8), torch.nn.Dropout(), Mixes("").last),
    ],
)
def test_rounding_and_training_modes_are_accepted(make, tmp_path):
    module = make()
    assert evaluate(make_agent(module, encoder="flat"), "easy", "micro", 2).faults == 0
    script(module.eval(), torch.rand(4, SIZE)).save(tmp_path / "model.pt")
    make_agent(tmp_path / "model.pt", encoder="flat", rules="micro", allow_code=True)


class Keeps(torch.nn.Linear):
    """Keeps its output, which belongs to a gradient."""

    def forward(self, observations):
        self.last = {"weights": super().forward(observations)}
        return self.last["weights"]


def test_module_that_keeps_a_gradient_is_copied():
    module = Keeps(SIZE, ACTIONS)
    module(torch.zeros(1, SIZE))
    assert evaluate(make_agent(module, encoder="flat"), "easy", "micro", 2).faults == 0
    module.lock = threading.Lock()
    with raises_hearts_error(HeartsError, "agent", "Keeps", "lock"):
        make_agent(module, encoder="flat")


class OfFewCards(FlatEncoder):
    """Knows one game."""

    def space(self, rules):
        if rules.name != "micro":
            raise ValueError(rules.name)
        return super().space(rules)


def test_model_with_encoder_of_one_game_plays_it(monkeypatch):
    monkeypatch.setitem(ENCODERS, "few", OfFewCards())
    agent = make_agent(torch.nn.Linear(SIZE, ACTIONS), encoder="few")
    assert evaluate(agent, "easy", "micro", 2).faults == 0
