"""Runs and players in files with odd names: a path is never a name, code or an option."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from hearts_agents import make_agent
from hearts_agents.attackers import Attacker
from hearts_agents.envs.opponents import OpponentPool
from hearts_agents.models.network import load_agent
from hearts_agents.search import PimcBelief
from hearts_agents.spec import AgentSpec
from hearts_env.solve.equilibrium import load
from hearts_train.cli.options import names_in
from hearts_train.data.options import DatasetOptions
from hearts_train.equilibria import solve
from hearts_train.learn import training
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.training import train
from hearts_train.measure.benchmark import benchmark
from hearts_train.measure.comparison import compare
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.exploit import exploit
from hearts_train.measure.tournament import tournament
from tests.players import Lowest, write_player
from tests.refusals import mistake, raises_hearts_error
from tests.slow import quick_cases
from tests.test_cli import run
from tests.test_runs import evaluation, make
from tests.training_runs import quick
from tests.waiting import timeless

__all__ = ["quick"]

NAMES = (
    "pro",
    "what?",
    "x.zip",
    "-x",
    "a, b",
    "exec:x",
    "a.py:B",
    "easy",
    "champion",
    "pro?worlds=2",
    "mini",
    "x.onnx",
    "two words ",
    'it\'s "q" `$HOME`',
    "two\nlines",
    "exec:x/y",
)
TINY = (
    "threads=1",
    "env={rules: mini, num_envs: 24}",
    "ppo={num_steps: 3, batch_size: 24, num_epochs: 1}",
    "network={trunk: [], policy: [4], value: [4]}",
    "budget.decisions=144",
    "evaluation={times: 1, deals: 2, final_deals: 2, opponents: [easy]}",
)
SETTINGS = [word for setting in TINY for word in ("--set", setting)]


@pytest.fixture(autouse=True)
def _quick(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "plot", lambda *_: None)


def digest_of(folder: str) -> str | None:
    """The digest of the network in a run's folder."""
    file = Path(folder) / "checkpoint.safetensors"
    return AgentSpec.parse(file).digest(load_agent(file))


@quick_cases("name", NAMES, NAMES[:5])
def test_evaluation_of_a_run_is_of_its_player(name):
    result = run("train", "smoke", "--run", name, *SETTINGS)
    assert result.exit_code == 0, result.output
    wanted = digest_of(name)
    for row in json.loads((Path(name) / "evaluation.json").read_text()):
        entered = row["agents"][0]
        assert (entered["kind"], entered["digest"]) == ("NetworkAgent", wanted)
        spec = AgentSpec.from_json(entered["spec"])
        assert (row["agent"], spec.digest(spec.make())) == (spec.text, wanted)

    again = run(*shlex.split(row["command"])[1:], "--json")
    assert timeless(json.loads(again.stdout)) == timeless(
        json.loads((Path(name) / "evaluation.json").read_text())
    )

    # The printed commands and paths.
    said = result.stdout.partition("Play against it: ")
    *words, given = shlex.split(said[2])
    assert words == ["hearts", "play", "--opponent"]
    (opponent,) = names_in(given, "--opponent")
    assert digest_of(AgentSpec.parse(opponent).name) == wanted
    (player,) = shlex.split(said[0].partition("player:")[2].partition("evaluation:")[0])
    assert Path(player).samefile(Path(name) / "checkpoint.safetensors")
    meta = load_agent(Path(name)).checkpoint
    assert meta is not None
    *words, config = shlex.split(meta.training["command"])
    assert words == ["hearts", "train"]
    assert not config.startswith("-")
    assert Path(config).samefile(Path(name) / "config.yaml")
    marks = "`` {} ``" if "`" in name else "`{}`"
    card = (Path(name) / "model_card.md").read_text()
    assert f"**Command:** {marks.format(meta.training['command'])}\n" in card


def test_seeds_in_an_odd_folder_are_evaluated_themselves():
    result = run("train", "smoke", "--run", "exec:x?", "--seeds", "0,1", "--workers", 1, *SETTINGS)
    assert result.exit_code == 0, result.output
    (folder,) = shlex.split(result.stdout.partition("runs:")[2].partition("figures:")[0])
    for run_dir in sorted(Path(folder).glob("seed-*")):
        row = json.loads((run_dir / "evaluation.json").read_text())[0]
        assert row["agents"][0]["digest"] == digest_of(str(run_dir))
        assert make_agent(row["agent"]).checkpoint.training["seed"] == int(run_dir.name[-1])


def test_player_at_a_path_is_measured_by_every_function():
    write_player(Path("pro"), "micro")
    path = Path("pro")
    found = [
        evaluate(path, ["pro", "easy"], "micro", 4)[0].agents[0],
        compare(path, "pro", "micro", deals=64).agents[0],
        tournament([path, "pro"], "micro", deals=4).evaluations[0, 1].agents[0],
        exploit("pro", "micro", [path], deals=2).agents[1],
        benchmark(path, "micro", deals=4)["result"]["agent"],
    ]
    for record in found:
        assert record["kind"] == "NetworkAgent"
        assert AgentSpec.from_json(record["spec"]) == AgentSpec.parse(path)
    pool = OpponentPool(["pro", path])
    assert pool.names == ["pro", "./pro"]
    assert [type(entry.agent).__name__ for entry in pool.entries] == ["Pro", "NetworkAgent"]
    assert PimcBelief(model=path).model.name == Attacker(path).model.name == "network"
    options = DatasetOptions([path], "micro", 1)
    assert options.to_json()["agents"] == ["./pro", "./pro"]


def test_solved_file_is_not_the_shipped_one():
    solve("micro", iterations=2).save(Path("mini.safetensors"))
    Path("mini.safetensors").rename("mini")
    assert load(Path("mini")).rules.name == make_agent(Path("mini")).rules.name == "micro"
    assert load("mini").rules.name == "mini"


def test_solve_prints_a_name_of_its_policy():
    said = run("solve", "micro", "--iterations", 2, "--policy", "exec:x.safetensors").stderr
    (name,) = shlex.split(said.partition("written: ")[2])
    assert make_agent(name).rules.name == "micro"


def test_runs_are_listed_by_names_of_their_players():
    for name in ("pro", "two words"):
        make(Path(name), evaluation(10**6, 1.0))
    listed = run("runs", "pro", "two words", "--json", "runs.json")
    assert {"./pro", "'./two words'"} <= {line[:13].rstrip() for line in listed.output.splitlines()}
    told = json.loads(Path("runs.json").read_text())
    assert sorted(one["run"] for one in told) == ["./pro", "./two words"]


def test_result_of_a_path_with_spaces_verifies_elsewhere(monkeypatch):
    write_player(Path("my player.safetensors"), "micro")
    words = ("benchmark", "--track", "micro", "--deals", 4, "--json", "x.json")
    assert run(*words, "./my player.safetensors").exit_code == 0
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert run("benchmark", "--verify", "../x.json").exit_code == 0


def test_comparison_refuses_an_agent_named_twice(tmp_path):
    one, two = run("compare", "easy", "easy"), run("tournament", "easy", "easy")
    mistake(one, "agents", "easy")
    assert one.stderr == two.stderr
    assert compare(Lowest(), Lowest(), "micro", deals=64).mean == 0.0
    mistake(run("evaluate", "missing.zip"), "agent", "missing.zip")


def test_impossible_folder_name_is_refused():
    for name in (b"\xff", b"x" * 300):
        for seeds in (None, [0]):
            with raises_hearts_error(ConfigError, "run", hint="name another"):
                train(TrainConfig(), Path(os.fsdecode(name)), seeds=seeds, progress=False)
