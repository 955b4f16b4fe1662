"""The library examples are short and complete, and run if their library is installed."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import make_agent, save_policy
from hearts_agents.models.checkpoint import read_checkpoint
from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules, hearts_v0
from hearts_train import benchmark, evaluate
from tests.refusals import raises_hearts_error
from tests.test_docs import load_script

libraries = load_script("libraries")
EXAMPLES, NAMES = libraries.EXAMPLES, libraries.all_names()
HERE = {
    "own_ppo": "torch",
    "own_vrpo": "torch",
    "own_maskable_ppo": "sb3_contrib",
    "pettingzoo_loop": "pettingzoo",
    "text_agent": "gymnasium",
    "sb3_selfplay": "sb3_contrib",
    "cleanrl_ppo": "torch",
    "openspiel_dqn": "pyspiel",
    "openspiel_exploitability": "pyspiel",
    "openspiel_nfsp": "pyspiel",
    "minari_cloning": "minari",
    "jax_selfplay": "jax",
}
"""Examples with libraries that the tests install. `make examples` runs the others."""
LEARNING = set(filter(libraries.learns, NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_example_is_short_with_instructions_and_report(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 90
    about = ast.get_docstring(ast.parse(text))
    assert f"python examples/{name}.py" in about
    assert f"-r examples/requirements/{name}.txt" in about
    # They read the options, among them --json and --help.
    assert len(re.findall(r"\b(?:Report|Learning)\(\s*__doc__", text)) == 1
    assert "report.finish()" in text
    note, wanted = libraries.requirements(name)
    assert note.endswith(".")
    assert wanted
    for requirement in wanted:
        assert re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+", requirement)


def test_each_requirements_file_has_an_example():
    assert {path.stem for path in (EXAMPLES / "requirements").iterdir()} == set(NAMES)
    assert HERE.keys() < set(NAMES)


def run_here(name, monkeypatch, *arguments):
    """Run an example in this process, where its library may be imported already."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


def skip_without(name):
    if find_spec(HERE[name]) is None:
        pytest.skip(f"no {HERE[name]} here")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HERE.keys() - LEARNING))
def test_example_plays_both_seats(name, monkeypatch, tmp_path, capsys):
    skip_without(name)
    file = tmp_path / "report.json"
    run_here(name, monkeypatch, "--smoke", "--json", str(file))
    report = json.loads(file.read_text())
    assert report["decisions"] > 400
    assert all(seat["won"] > 20 and seat["lost"] > 20 for seat in report["seats"])
    assert report["illegal"] == 0
    assert "illegal actions  0" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HERE.keys() & LEARNING))
def test_example_learns_within_its_budget(name, monkeypatch, tmp_path):
    skip_without(name)
    file, player = tmp_path / "report.json", tmp_path / "player.safetensors"
    budget = 4_000 if name.startswith("openspiel") else 6_000
    options = ["--decisions", budget, "--seed", 1, "--rules", "micro", "--save", player]
    run_here(name, monkeypatch, *map(str, options), "--json", str(file))
    report = json.loads(file.read_text())
    assert 0.2 * budget < report["decisions"] <= budget
    assert all(seat["won"] > 20 and seat["lost"] > 20 for seat in report["seats"])
    assert report["illegal"] == 0
    files = [*sorted(libraries.snapshots(player)), player]
    assert 2 <= len(files) <= 5
    seen = []
    for path in files:
        tensors, meta = read_checkpoint(path)
        assert meta.greedy is report["greedy"]
        assert meta.rules == Rules.preset("micro")
        seen.append((meta.training["decisions"], {k: v.tolist() for k, v in tensors.items()}))
    assert seen[-1][0] == report["decisions"]
    assert [at for at, _ in seen] == sorted(at for at, _ in seen)
    assert seen[0][1] != seen[-1][1]  # it has learned
    assert evaluate(player, "easy", deals=10).faults == 0


@pytest.fixture
def learning(monkeypatch, tmp_path):
    """The class `Learning`, with options for a budget of five decisions."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", ["x", "--decisions", "5", "--save", str(tmp_path / "p.x")])
    return runpy.run_path(str(EXAMPLES / "_report.py"))["Learning"]


def test_report_counts_choices_of_the_learner(learning):
    report = learning("about", "numpy", opponents="itself", greedy=True, settings={}, tried=3)
    report.decided(np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1]]))
    assert (report.decisions, report.is_over, report.fits(3), report.fits(4)) == (2, 0, 1, 0)
    report.learned(lambda: [(np.zeros((28, 200)), None)])
    report.decided(np.ones((2, 2, 3)))
    assert report.is_over
    with raises_hearts_error(HeartsError, "decisions", "is_over"):
        report.learned(lambda: [(np.zeros((28, 200)), None)])
    record = report.record()
    assert record["decisions"] == 2  # those of the last rollout are not learned from
    assert record["tried"] == 3


def test_report_explains_wrong_use(learning, tmp_path):
    report = learning("about", "numpy", opponents="itself", greedy=True, settings={})
    with raises_hearts_error(HeartsError, "layers", "lambda"):
        report.learned([(np.zeros((28, 200)), None)])
    with raises_hearts_error(HeartsError, "decisions", "more often"):
        report.finish()
    assert not (tmp_path / "p.x").exists()


ROW = {"won": 1, "lost": 1, "drawn": 0}
BETTER, WORSE = {"won": 430, "lost": 70, "drawn": 0}, {"won": 70, "lost": 430, "drawn": 0}


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({}, ""),
        ({"illegal": 1}, "illegal"),
        ({"decisions": 0}, "decisions"),
        ({"seats": [ROW, ROW | {"won": 0}]}, "seats"),
        ({"seats": [ROW | {"lost": 0}, ROW]}, "seats"),
        ({"seats": [BETTER, BETTER]}, ""),
        ({"seats": [BETTER, WORSE]}, "seats"),
    ],
    ids=str,
)
def test_runner_finds_errors_in_reports(change, argument):
    report = {"illegal": 0, "decisions": 9, "seats": [ROW, ROW]}
    assert libraries.error_in(report | change).partition(":")[0] == argument


def test_failed_program_is_reported_with_its_error(tmp_path):
    program = ["python", "-c", "print('some'); raise ValueError('too bad')"]
    with pytest.raises(libraries.Failed, match="exit status 1: ValueError: too bad"):
        libraries.call([sys.executable, *program[1:]], 60.0, tmp_path / "log")


def test_reference_results_are_measured_once(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(libraries, "REFERENCE", tmp_path / "reference")
    monkeypatch.setattr(libraries, "CURVE_DEALS", 4)
    monkeypatch.setattr(libraries, "GAMES", ["micro"])
    calls = []

    def run(name, venvs, limit, arguments):
        calls.append((name, arguments[3]))
        save = Path(arguments[arguments.index("--save") + 1])
        for path in (save.with_suffix(".1.safetensors"), save):
            layer, facts = np.zeros((8, 90)), {"decisions": 5, "cpu_seconds": 1.0}
            save_policy([(layer, None)], path, "micro", greedy=True, training=facts)
        return {"budget": 10, "rules": "micro", "seed": int(arguments[3])}

    def played(player, rules):
        return benchmark(player, rules, deals=4)

    monkeypatch.setattr(libraries, "run", run)
    monkeypatch.setattr(libraries, "benchmark", played)
    words = ["--decisions", "10", "--rules", "micro", "--seeds", "0-1", "--venvs", str(tmp_path)]
    assert libraries.main([*words, "cleanrl_ppo"]) == 0
    assert calls == [("cleanrl_ppo", "0"), ("cleanrl_ppo", "1")]
    assert libraries.main([*words, "cleanrl_ppo"]) == 0
    assert len(calls) == 2
    record = json.loads((tmp_path / "reference" / "cleanrl_ppo-micro-10-0.json").read_text())
    assert len(record["curve"]) == 2
    assert record["final"]["exploitability"] > 0
    assert record["curve"][1]["exploitability"] == pytest.approx(record["final"]["exploitability"])
    digest = AgentSpec.parse(p := tmp_path / "players" / "cleanrl_ppo-micro-10-0.safetensors")
    assert record["final"]["digest"] == digest.digest(make_agent(p))


@pytest.fixture
def entering(monkeypatch, tmp_path):
    """Two results of a recipe with their policies, the second better; and the commands called."""
    for name in ("REFERENCE", "LEADERBOARD"):
        monkeypatch.setattr(libraries, name, tmp_path / name)
    (tmp_path / "REFERENCE").mkdir()
    (tmp_path / "players").mkdir()
    for seed, margin in enumerate((1.0, 2.0)):
        stem = f"cleanrl_ppo-mini-10-{seed}"
        path = tmp_path / "players" / f"{stem}.safetensors"
        layers = [(np.full((12, 112), 1.0 + seed + 2**-12), None)]
        save_policy(layers, path, "mini", greedy=False, training={"decisions": 9})
        final = {"margin": margin, "digest": AgentSpec.parse(path).digest(make_agent(path))}
        record = {"final": final, "cpu_seconds": 90.0}
        (tmp_path / "REFERENCE" / f"{stem}.json").write_text(json.dumps(record))
    commands = []

    def called(command, cwd):
        commands.append(command[3:])
        (cwd / command[-1]).write_text("{}")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(libraries.subprocess, "run", called)
    return commands


ENTER = ["--decisions", "10", "--rules", "mini", "--enter"]


def test_best_run_enters_the_leaderboard_once(entering, tmp_path, capsys):
    words = [*ENTER, "--venvs", str(tmp_path), "cleanrl_ppo"]
    assert libraries.main(words) == 0
    assert "entered cleanrl_ppo-mini-10-1" in capsys.readouterr().out
    (command,) = entering
    assert command[:4] == ["benchmark", "cleanrl_ppo-mini.safetensors", "--split", "test"]
    assert {"compute=1.5 minutes of one core", "repeats=no"} <= {*command}
    path = tmp_path / "LEADERBOARD" / "cleanrl_ppo" / command[1]
    tensors, meta = read_checkpoint(path)
    assert meta.training["decisions"] == 9
    assert (tensors["policy.0.weight"] == 2.0).all()  # rounded to float16
    assert libraries.main(words) == 0
    assert len(entering) == 1


def test_entry_needs_the_policy_of_its_result(entering, tmp_path, capsys):
    words = [*ENTER, "--venvs", str(tmp_path), "cleanrl_ppo"]
    path = tmp_path / "players" / "cleanrl_ppo-mini-10-1.safetensors"
    path.write_bytes(path.with_stem("cleanrl_ppo-mini-10-0").read_bytes())
    assert libraries.main(words) == 1
    assert "is not the policy" in capsys.readouterr().out
    path.unlink()
    assert libraries.main(words) == 1
    assert "delete cleanrl_ppo-mini-10-1.json" in capsys.readouterr().out
    assert libraries.main([*words, "sb3_selfplay"]) == 1
    assert "no result to enter" in capsys.readouterr().out
    assert libraries.main(ENTER) == 2
    assert not entering


def test_wrappers_rename_keys_for_a_library(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    wrappers = runpy.run_path(str(EXAMPLES / "_wrappers.py"))
    turns = hearts_v0.env(rules="micro", dtype="float32")
    plural = wrappers["Plural"](turns)
    plural.reset(seed=1)
    seen = plural.last()[0]
    assert plural.observation_space("player_0").contains(seen)
    assert (seen["observations"] == turns.last()[0]["observation"]).all()
