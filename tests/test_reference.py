"""Reference results: those in the repository are whole, and the second check finds wrong ones."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import make_agent, save_policy
from hearts_env import BatchGame
from hearts_train import benchmark
from tests.test_docs import load_script

libraries, script = load_script("libraries"), load_script("check_reference")
FILES = sorted(libraries.REFERENCE.glob("*.json"))
NAME = "cleanrl_ppo-micro-100-0"


# ---- the results in the repository ---------------------------------------------------------------
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_committed_result_is_whole(file):
    run = json.loads(file.read_bytes())
    curve, final = run["curve"], run["final"]
    name = f"{run['example']}-{run['rules']}-{run['budget']}-{run['seed']}"
    assert file.stem == name
    assert run["example"] in libraries.all_names()
    assert run["opponents"]
    assert run["settings"]
    assert next(iter(run["versions"].values())) != "unknown"
    assert type(run["greedy"]) is bool
    assert 0.5 * run["budget"] < run["decisions"] <= run["budget"]
    assert run["cpu_seconds"] > 0
    assert run["illegal"] == final["faults"] == 0
    at = [point["decisions"] for point in curve]
    assert at == sorted(set(at))
    assert at[-1] == run["decisions"]
    assert len(at) >= 2
    assert all(set(point["margins"]) == {*libraries.CURVE_OPPONENTS} for point in curve)
    track = libraries.TRACKS[run["rules"]]
    assert (final["split"], final["deals"]) == ("dev", track.deals)
    assert [*final["opponents"]] == [*track.field]
    assert final["margin"] == pytest.approx(np.mean([*final["opponents"].values()]), abs=1e-6)
    assert final["ci95"][0] < final["margin"] < final["ci95"][1]
    assert len(final["digest"]) == len(final["sha256"]) == 64
    assert (final["exploitability"] is not None) is track.is_exact
    if track.is_exact:
        assert curve[-1]["exploitability"] == pytest.approx(final["exploitability"], abs=1e-5)


# ---- the second check ----------------------------------------------------------------------------
def like_pro(positions, scale):
    """Return the layers of a policy fitted to the actions of `pro`."""
    batch, pro = BatchGame("micro", positions, seed=1), make_agent("pro", seed=1)
    seen, wanted = [], []
    for _ in range(6):
        seen.append(batch.observe().reshape(positions, -1).astype(np.float64))
        wanted.append(pro.act_batch(batch.views()))
        batch.play(wanted[-1])
    x, y = np.concatenate(seen), np.eye(8)[np.concatenate(wanted)]
    hidden = np.random.default_rng(0).normal(0, 0.3, (64, x.shape[1]))
    features = np.tanh(x @ hidden.T)
    square = features.T @ features + np.eye(64)
    return [(hidden, np.zeros(64)), (scale * np.linalg.solve(square, features.T @ y).T, None)]


@pytest.fixture(scope="module", params=[True, False], ids=["greedy", "sampled"])
def measured(request, tmp_path_factory):
    """The folder of a policy with its first snapshot, and its result."""
    folder = tmp_path_factory.mktemp("measured")

    def run(name, venvs, limit, arguments):
        player, form = Path(arguments[-1]), {"greedy": request.param, "activation": "tanh"}
        for path, positions, seen in (
            (player.with_suffix(".1.safetensors"), 10, 40),
            (player, 400, 90),
        ):
            facts = {"decisions": seen, "cpu_seconds": 1.0}
            save_policy(like_pro(positions, 6.0), path, "micro", training=facts, **form)
        about = {"budget": 100, "rules": "micro", "seed": 0, "greedy": request.param}
        return {**about, "decisions": 90, "illegal": 0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libraries, "run", run)
        patch.setattr(libraries, "CURVE_DEALS", 4)
        patch.setattr(libraries, "benchmark", lambda *given: benchmark(*given, deals=200))
        record = libraries.reference("cleanrl_ppo", "micro", 100, 0, folder, 0.0)
    (folder / f"{NAME}.json").write_text(json.dumps(record))
    return folder


@pytest.fixture
def folder(measured, tmp_path):
    """A copy of these files, which a test may change."""
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True)
    return tmp_path


def check(folder):
    return script.check(folder / f"{NAME}.json", folder / "players", deals=200)


def test_check_uses_nothing_that_measured():
    tree = ast.parse(Path(script.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {
        one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names
    }
    assert not any("hearts_train" in module or "solve" in module for module in modules | names)
    assert "libraries" not in modules | names


@pytest.mark.slow
def test_check_passes_right_result(folder):
    assert "exploitability" in check(folder)


def altered(*path, value):
    """Return a change of a result."""

    def change(folder):
        file = folder / f"{NAME}.json"
        record = json.loads(file.read_bytes())
        *places, last = path
        part = record
        for place in places:
            part = part[place]
        part[last] = part[last] + value if type(value) is float else value
        file.write_text(json.dumps(record))

    return change


def only_first_snapshot(folder):
    players = folder / "players"
    shutil.copy(players / f"{NAME}.safetensors", players / f"{NAME}.1.safetensors")


def other_policy(folder):
    path = folder / "players" / f"{NAME}.safetensors"
    shutil.copy(path.with_suffix(".1.safetensors"), path)


WRONG = {
    "digest": (other_policy, "digest"),
    "digest stated": (altered("final", "digest", value="0" * 64), "digest"),
    "rules": (altered("rules", value="mini"), "rules"),
    "decisions": (altered("decisions", value=80), "decisions"),
    "budget": (altered("budget", value=89), "budget"),
    "illegal": (altered("illegal", value=1), "illegal"),
    "faults": (altered("final", "faults", value=1), "illegal"),
    "untrained": (altered("final", "opponents", "easy-v1", value=-9.0), "untrained"),
    "unchanged": (only_first_snapshot, "first snapshot"),
    "margin": (altered("final", "opponents", "pro-v1", value=3.0), "margin over pro"),
    "easy": (altered("final", "opponents", "easy-v1", value=3.0), "margin over easy"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_check_finds_wrong_result(folder, wrong):
    change, text = WRONG[wrong]
    change(folder)
    with pytest.raises(script.Wrong, match=text):
        check(folder)


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.001, -0.001])
def test_check_finds_wrong_exploitability(folder, error):
    altered("final", "exploitability", value=error)(folder)
    with pytest.raises(script.Wrong, match="exploitability"):
        check(folder)


def test_check_finds_mask_of_another_game(folder, monkeypatch):
    monkeypatch.setattr(script.Game, "legal_actions", lambda game: [0, 7])
    with pytest.raises(script.Wrong, match="mask"):
        check(folder)


def test_command_lists_missing_policies(folder, monkeypatch, capsys):
    monkeypatch.setattr(script, "RESULTS", folder)
    (folder / "players" / f"{NAME}.safetensors").unlink()
    assert script.main(["cleanrl", "--players", str(folder / "players")]) == 0
    assert "unchecked" in capsys.readouterr().out
    assert script.main(["nobody"]) == 2


def test_command_fails_for_wrong_result(folder, monkeypatch, capsys):
    monkeypatch.setattr(script, "RESULTS", folder)
    other_policy(folder)
    assert script.main(["--players", str(folder / "players")]) == 1
    assert "does not hold" in capsys.readouterr().out
