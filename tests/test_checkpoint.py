"""Checkpoints: round trips, and files that are damaged, foreign or for other rules."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from hearts_agents.models.checkpoint import (
    CHECKPOINT_NAME,
    Checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from hearts_agents.models.network import Network, NetworkAgent, load_agent
from hearts_agents.programs.process import python_environment
from hearts_env import BatchGame, CheckpointError, Game, Rules
from hearts_env.encoders import make_encoder
from hearts_env.support.tensors import DIGEST, read_tensors, write_tensors
from hearts_env.views.view import PlayerView
from tests.players import random_weights
from tests.refusals import raises_hearts_error

RULES = Rules.preset("two_player")
INPUTS = make_encoder("flat").space(RULES).shape[0]


def random_tensors():
    return random_weights(RULES, 24, 16, seed=0, spread=0.3)[0]


LAYERS = (INPUTS, 24, 16, 28)
META = Checkpoint(RULES, "flat", LAYERS, "relu", {"seed": 3})


@pytest.fixture
def path(tmp_path):
    file = tmp_path / CHECKPOINT_NAME
    save_checkpoint(file, random_tensors(), META)
    return file


def rewrite(path, tensors=None, **header):
    """Rewrite the file with other tensors or header values, and a matching digest."""
    old_tensors, old = read_tensors(path)
    write_tensors(path, tensors or old_tensors, old | header)


def edit(path, section, **values):
    old = json.loads(read_tensors(path)[1][section])
    rewrite(path, **{section: json.dumps(old | values)})


def test_checkpoint_round_trip(path):
    tensors, meta = read_checkpoint(path)
    assert meta == META
    assert meta.num_weights == sum(t.size for t in tensors.values())
    for name, tensor in random_tensors().items():
        assert np.array_equal(tensors[name], tensor)
    assert list(path.parent.iterdir()) == [path]  # nothing temporary is left


WRITES = """
import sys
from pathlib import Path
from hearts_env.support.tensors import read_tensors, write_tensors
write_tensors(Path(sys.argv[2]), *read_tensors(Path(sys.argv[1])))
"""


def test_equal_players_have_equal_files_in_every_process(path, tmp_path):
    again = tmp_path / "again.safetensors"
    for _ in range(5):
        save_checkpoint(again, random_tensors(), META)
        assert again.read_bytes() == path.read_bytes()
    environment = python_environment() | {"PYTHONHASHSEED": "77"}
    subprocess.run([sys.executable, "-c", WRITES, path, again], check=True, env=environment)
    assert again.read_bytes() == path.read_bytes()


def reference_action(view: PlayerView) -> int:
    """Return the greedy action, computed in float64 layer by layer."""
    encoder = make_encoder("flat")
    out = np.zeros(INPUTS, np.int8)
    encoder.write(view, out)
    x = out.astype(np.float64)
    tensors = random_tensors()
    for i in range(3):
        x = tensors[f"policy.{i}.weight"].astype(np.float64) @ x + tensors[f"policy.{i}.bias"]
        x = np.maximum(x, 0) if i < 2 else x
    return max(view.legal_actions(), key=lambda action: x[action])


def test_act_and_act_batch_equal_plain_forward_pass(path):
    agent = load_agent(path)
    batch = BatchGame(RULES, 32, seed=5)
    for _ in range(26):
        views = batch.views()
        actions = agent.act_batch(views)
        assert actions.tolist() == [reference_action(view) for view in views]
        assert actions.tolist() == [agent.act(view) for view in views]
        batch.play(actions)


def test_sampled_actions_follow_the_softmax_over_legal_actions(path):
    game = Game.deal(RULES, seed=1)
    for _ in range(6):
        game.play(game.legal_actions()[0])
    while len(game.legal_actions()) < 4:
        game.play(game.legal_actions()[0])
    assert game.current_player is not None
    view = game.view(game.current_player)
    legal = view.legal_actions()
    agent = load_agent(path, seed=1, greedy=False)
    out = np.zeros((1, INPUTS), np.int8)
    make_encoder("flat").write(view, out[0])
    logits = agent.network.logits(out)[0][legal].astype(np.float64)
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    n = 4000
    drawn = [agent.act(view) for _ in range(n)]
    assert set(drawn) <= set(legal)
    for action, chance in zip(legal, chances, strict=True):
        deviation = (chance * (1 - chance) / n) ** 0.5
        assert abs(drawn.count(action) / n - chance) < 5 * deviation + 1e-9
    again = load_agent(path, seed=1, greedy=False)
    assert [again.act(view) for _ in range(50)] == drawn[:50]


class Bomb:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_damaged_file_is_refused_and_pickle_not_run(path, tmp_path):
    data = path.read_bytes()
    cut = [data[: int(len(data) * share)] for share in (0.0, 0.001, 0.1, 0.5, 0.99)]
    for content in (*cut, b"hello, world\n" * 20, pickle.dumps(Bomb(tmp_path / "exploded"))):
        path.write_bytes(content)
        with raises_hearts_error(CheckpointError, "checkpoint"):
            load_agent(path)
    assert not (tmp_path / "exploded").exists()
    path.unlink()
    with raises_hearts_error(CheckpointError, "checkpoint"):
        load_agent(tmp_path / "missing.safetensors")
    with raises_hearts_error(CheckpointError, "checkpoint", CHECKPOINT_NAME):
        load_agent(tmp_path)


@pytest.mark.parametrize(
    ("section", "values", "words"),
    [
        ("encoder", {"name": "flatt"}, ["encoder", "'flatt'", "'flat'"]),
        ("encoder", {"layout": "0" * 16}, ["encoder", "layout"]),
        ("rules", {"trump": "X"}, ["rules", "trump", "'X'"]),
        ("rules", {"moon": "choose"}, ["network.layers", "30"]),
        ("network", {"activation": "relUU"}, ["network", "relUU"]),
        ("network", {"layers": [INPUTS, 24.0, 28]}, ["network", "24.0"]),
        ("network", {"layers": [INPUTS, 24, 28]}, ["policy.1.weight"]),
    ],
)
def test_mismatched_header_is_refused(path, section, values, words):
    edit(path, section, **values)
    with raises_hearts_error(CheckpointError, *words, path.name):
        load_agent(path)


@pytest.mark.parametrize("key", ["format", "version", "encoder", "network"])
def test_errors_of_endless_headers_are_short_and_printable(key, path):
    endless = "hearts-env \x1b]0;" + "x" * 10_000
    values = {
        "encoder": json.dumps({"name": endless}),
        "network": json.dumps({"kind": "mlp", "activation": "relu", "layers": [7] * 10_000}),
    }
    rewrite(path, **{key: values.get(key, endless)})
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(path)
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


def test_changed_weight_or_header_is_refused(path):
    tensors, header = read_tensors(path)
    save_file(tensors, path, {key: value for key, value in header.items() if key != DIGEST})
    assert read_checkpoint(path)[1] == META  # one may be written without a digest
    tensors["policy.1.bias"][3] += 0.25
    save_file(tensors, path, header)
    with raises_hearts_error(CheckpointError, "digest"):
        load_agent(path)
    save_file(random_tensors(), path, header | {"training": '{"seed": 4}'})
    with raises_hearts_error(CheckpointError, "digest"):
        load_agent(path)


def test_mismatched_tensors_are_refused(path):
    tensors = load_file(path)
    rewrite(path, tensors | {"value.weight": np.zeros(3, np.float32)})
    with raises_hearts_error(CheckpointError, "value.weight"):
        load_agent(path)
    rewrite(path, tensors | {"policy.0.bias": np.full(24, np.nan, np.float32)})
    with raises_hearts_error(CheckpointError, "policy.0.bias"):
        load_agent(path)
    rewrite(path, tensors | {"policy.0.bias": np.zeros(24, np.float64)})
    with raises_hearts_error(CheckpointError, "policy.0.bias", "float64"):
        load_agent(path)
    rewrite(path, tensors, version="2")
    with raises_hearts_error(CheckpointError, "version"):
        load_agent(path)


def test_checkpoint_refuses_to_play_other_rules(path):
    agent = load_agent(path)
    other = Rules.preset("two_player").replace(trump=None)
    with raises_hearts_error(CheckpointError, "rules"):
        agent.act_batch(BatchGame(other, 3).views())
    game = Game.deal(Rules.from_dict(RULES.to_dict()), seed=0)  # equal, another object
    assert game.current_player is not None
    assert agent.act(game.view(game.current_player)) in game.legal_actions()


def test_mismatched_weights_are_not_saved(tmp_path):
    with raises_hearts_error(CheckpointError, "policy.2.weight"):
        save_checkpoint(
            tmp_path / "x", random_tensors(), replace(META, layers=(INPUTS, 24, 16, 29))
        )
    assert not list(tmp_path.iterdir())
    with raises_hearts_error(CheckpointError, "network.layers"):
        NetworkAgent(Network(random_weights(Rules.preset("mini"), seed=0)[0]), RULES)


def test_half_precision_checkpoint_plays_by_rounded_weights(path):
    tensors, small = random_tensors(), path.with_name("half.safetensors")
    save_checkpoint(path, tensors, META)
    save_checkpoint(small, tensors, META, half=True)
    assert small.stat().st_size < 0.65 * path.stat().st_size
    found, meta = read_checkpoint(small)
    assert meta.layers == META.layers
    for name, array in tensors.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], array.astype(np.float16))
    views = BatchGame(RULES, 64, seed=3).views()
    assert (load_agent(small).act_batch(views) == load_agent(path).act_batch(views)).mean() > 0.9
    tensors["policy.0.bias"][0] = 1e6  # float16 ends at 65,504
    with raises_hearts_error(CheckpointError, "policy.0.bias", "65,504", "half=false"):
        save_checkpoint(small, tensors, META, half=True)
    save_checkpoint(path, tensors, META)
    tensors["policy.0.bias"][0] = np.inf
    with raises_hearts_error(CheckpointError, "policy.0.bias"):
        save_checkpoint(small, tensors, META, half=True)


def test_player_plays_rules_with_another_match_end(path):
    agent = load_agent(path)
    ends = {"tie": "lowest_shared", "max_deals": 9, "end_when": "exceeded"}
    twin = Game.deal(RULES, seed=4, totals=[80, 40])
    for other, totals in ((ends, [80, 40]), (ends | {"end_score": 50}, [40, 20])):
        # Totals are seen as shares of the end score.
        game = Game.deal(RULES.replace(**other), seed=4, totals=totals)
        assert agent.act(game.view(game.current_player)) == agent.act(
            twin.view(twin.current_player)
        )
        observed, seen = (
            one.view(one.current_player).observe(make_encoder("flat")) for one in (game, twin)
        )
        np.testing.assert_array_equal(observed, seen)
