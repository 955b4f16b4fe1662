"""Reference results: those in the repository are whole, and the second check finds wrong ones."""

from __future__ import annotations

import ast
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import make_agent, save_policy
from hearts_env import BatchGame
from hearts_train import benchmark
from tests.test_docs import load_script, parts

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
    assert run["weights"] <= 110_000
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
    recipe = {"opponents": "pro", "greedy": request.param, "settings": {"lr": 0.1}, "tried": 2}

    def run(name, venvs, limit, arguments):
        player, form = Path(arguments[-1]), {"greedy": request.param, "activation": "tanh"}
        for path, positions, seen in (
            (player.with_suffix(".1.safetensors"), 10, 40),
            (player, 400, 90),
        ):
            spent = {"decisions": seen, "cpu_seconds": seen / 10}
            facts = {"name": path.stem, **spent, **recipe}
            save_policy(like_pro(positions, 6.0), path, "micro", training=facts, **form)
        about = {"budget": 100, "rules": "micro", "seed": 0, **recipe}
        return {**about, "decisions": 90, "cpu_seconds": 9.1, "illegal": 0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libraries, "run", run)
        patch.setattr(libraries, "CURVE_DEALS", 200)
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
    """Return a change of a result. A float is added, to each margin of a dictionary of them."""

    def change(folder):
        file = folder / f"{NAME}.json"
        record = json.loads(file.read_bytes())
        *places, last = path
        part = record
        for place in places:
            part = part[place]
        if type(value) is not float:
            part[last] = value
        elif isinstance(part[last], dict):
            part[last] = {name: margin + value for name, margin in part[last].items()}
        else:
            part[last] += value
        file.write_text(json.dumps(record))

    return change


def with_mean(change):
    """Return a change of a result after which its margin is the mean of those of its opponents."""

    def changed(folder):
        change(folder)
        file = folder / f"{NAME}.json"
        record = json.loads(file.read_bytes())
        final = record["final"]
        final["margin"] = float(np.mean([*final["opponents"].values()]))
        final["ci95"] = [final["margin"] - 1.0, final["margin"] + 1.0]
        file.write_text(json.dumps(record))

    return changed


def no_snapshot(folder):
    (folder / "players" / f"{NAME}.1.safetensors").unlink()


def old_snapshot(folder):
    first = folder / "players" / f"{NAME}.1.safetensors"
    shutil.copy(first, first.with_name(f"{NAME}.2.safetensors"))


def snapshot_of_another(folder):
    first = folder / "players" / f"{NAME}.1.safetensors"
    first.write_bytes(first.read_bytes().replace(NAME.encode(), b"cleanrl_ppo-micro-100-1"))


def policy_of_another(folder):
    path = folder / "players" / f"{NAME}.safetensors"
    path.write_bytes(path.read_bytes().replace(NAME.encode(), b"cleanrl_ppo-micro-100-1"))


def result_of_another_seed(folder):
    record = json.loads((folder / f"{NAME}.json").read_bytes()) | {"seed": 1}
    (folder / "cleanrl_ppo-micro-100-1.json").write_text(json.dumps(record))


def last_point_of_another(folder):
    file = folder / f"{NAME}.json"
    record = json.loads(file.read_bytes())
    record["curve"][-1] |= {"decisions": 40}
    file.write_text(json.dumps(record))


def only_first_snapshot(folder):
    """Let the final policy have the weights of the first snapshot, and the result its digest."""
    players = folder / "players"
    policy, first = players / f"{NAME}.safetensors", players / f"{NAME}.1.safetensors"
    start = 8 + int.from_bytes(policy.read_bytes()[:8], "little")
    weights = first.read_bytes()[8 + int.from_bytes(first.read_bytes()[:8], "little") :]
    policy.write_bytes(policy.read_bytes()[:start] + weights)
    altered("final", "digest", value=script.Policy(policy).digest())(folder)


def other_policy(folder):
    path = folder / "players" / f"{NAME}.safetensors"
    shutil.copy(path.with_suffix(".1.safetensors"), path)


OPPONENTS = ("final", "opponents")
WRONG = {
    "digest": (other_policy, "digest"),
    "digest stated": (altered("final", "digest", value="0" * 64), "digest"),
    "digest of another seed": (result_of_another_seed, "digest as that of cleanrl_ppo-micro-100-1"),
    "rules": (altered("rules", value="mini"), "those of cleanrl_ppo-mini-100-0"),
    "seed": (altered("seed", value=1), "those of cleanrl_ppo-micro-100-1"),
    "decisions": (altered("decisions", value=80), "decisions"),
    "budget": (altered("decisions", value=101), "budget"),
    "deals": (altered("final", "deals", value=100), "deals"),
    "illegal": (altered("illegal", value=1), "illegal"),
    "faults": (altered("final", "faults", value=1), "illegal"),
    "untrained": (with_mean(altered(*OPPONENTS, "easy-v1", value=-9.0)), "untrained"),
    "unchanged": (only_first_snapshot, "first snapshot"),
    "final margin": (altered("final", "margin", value=5.0), "mean over its opponents"),
    "interval": (altered("final", "ci95", value=[-9.0, -8.0]), "interval"),
    "all margins": (with_mean(altered(*OPPONENTS, value=9.0)), "margin over easy"),
    "pro": (with_mean(altered(*OPPONENTS, "pro-v1", value=3.0)), "margin over pro"),
    "easy": (with_mean(altered(*OPPONENTS, "easy-v1", value=3.0)), "margin over easy"),
    "settings": (altered("settings", value={}), "settings"),
    "opponents": (altered("opponents", value="nobody"), "opponents"),
    "tried": (altered("tried", value=1), "tried"),
    "weights": (altered("weights", value=1), "weights"),
    "cpu_seconds": (altered("cpu_seconds", value=-9.0), "cpu_seconds"),
    "cpu_seconds more": (altered("cpu_seconds", value=9.0), "cpu_seconds"),
    "policy of another": (policy_of_another, "is that of cleanrl_ppo-micro-100-1"),
    "no snapshot": (no_snapshot, "0 snapshots"),
    "old snapshot": (old_snapshot, "2 snapshots"),
    "snapshot of another": (snapshot_of_another, "is that of cleanrl_ppo-micro-100-1.1"),
    "point": (altered("curve", 0, "decisions", value=41), "point 1: decisions"),
    "point's cpu_seconds": (altered("curve", 0, "cpu_seconds", value=0.1), "1: cpu_seconds"),
    "last point": (last_point_of_another, "point 2: decisions"),
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


@pytest.mark.slow
@pytest.mark.parametrize("point", [0, 1])
@pytest.mark.parametrize("figure", ["margins", "exploitability"])
def test_check_finds_wrong_point_of_curve(folder, point, figure):
    altered("curve", point, figure, value=9.0)(folder)
    with pytest.raises(script.Wrong, match=f"point {point + 1}: (margin|exploitability)"):
        check(folder)


def test_check_finds_mask_of_another_game(folder, monkeypatch):
    monkeypatch.setattr(script.Game, "legal_actions", lambda game: [0, 7])
    with pytest.raises(script.Wrong, match="mask"):
        check(folder)


def test_command_lists_missing_policies(folder, monkeypatch, capsys):
    monkeypatch.setattr(script, "RESULTS", folder)
    (folder / "players" / f"{NAME}.safetensors").unlink()
    assert script.main(["--players", str(folder / "players")]) == 0
    assert "unchecked" in capsys.readouterr().out
    assert script.main(["nobody"]) == 2


def test_command_fails_for_named_result_without_policy(folder, monkeypatch, capsys):
    monkeypatch.setattr(script, "RESULTS", folder)
    (folder / "players" / f"{NAME}.safetensors").unlink()
    assert script.main(["cleanrl", "--players", str(folder / "players")]) == 1
    assert "unchecked" in capsys.readouterr().out


def test_command_fails_for_missing_snapshots(folder, monkeypatch, capsys):
    monkeypatch.setattr(script, "RESULTS", folder)
    monkeypatch.setitem(script.DEALS, "micro", 200)
    no_snapshot(folder)
    assert script.main(["--players", str(folder / "players")]) == 1
    assert "does not hold: curve: it has 2 points" in capsys.readouterr().out


def test_command_fails_for_wrong_result(folder, monkeypatch, capsys):
    monkeypatch.setattr(script, "RESULTS", folder)
    other_policy(folder)
    assert script.main(["--players", str(folder / "players")]) == 1
    assert "does not hold" in capsys.readouterr().out


# ---- the runner and the table --------------------------------------------------------------------
def test_reference_deletes_policies_of_earlier_run(monkeypatch, tmp_path):
    players = tmp_path / "players"
    players.mkdir()
    for end in ("", ".1", ".4"):
        (players / f"{NAME}{end}.safetensors").touch()
    kept = players / "cleanrl_ppo-micro-100-1.safetensors"
    kept.touch()

    def run(name, venvs, limit, arguments):
        raise libraries.Failed(" ".join(sorted(path.name for path in players.iterdir())))

    monkeypatch.setattr(libraries, "run", run)
    with pytest.raises(libraries.Failed, match=rf"^{kept.name}$"):
        libraries.reference("cleanrl_ppo", "micro", 100, 0, tmp_path, 0.0)


def test_call_gives_program_one_thread(tmp_path):
    program = "import os; print('threads', os.environ['OMP_NUM_THREADS'])"
    libraries.call([sys.executable, "-c", program], 60.0, tmp_path / "log")
    assert (tmp_path / "log").read_text() == "threads 1\n"


@pytest.mark.parametrize(
    ("fact", "other"),
    [("settings", {"lr": 0.2}), ("opponents", "itself"), ("tried", 2), ("greedy", False)],
)
def test_require_same_different_recipes_raises(fact, other):
    run = {"example": "a", "rules": "mini", "budget": 100, "seed": 0, "settings": {"lr": 0.1}}
    run |= {"opponents": "pro", "greedy": True}
    facts = ("settings", "opponents", "tried", "greedy")
    parts.require_same([run, run | {"seed": 1, "tried": 1}], *facts)
    text = f"a-mini-100-0.json and a-mini-100-1.json have different {fact}; delete the older"
    with pytest.raises(SystemExit, match=text):
        parts.require_same([run, run | {"seed": 1, fact: other}], *facts)
