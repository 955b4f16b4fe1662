"""Runs in folders with odd names: a path is never a player's name, code, a program or an option."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from hearts_agents.models.network import load_agent
from hearts_agents.spec import AgentSpec
from hearts_train.cli.options import names_in
from hearts_train.learn import training
from tests.slow import quick_cases
from tests.test_cli import run
from tests.training_runs import quick

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
    "sub/exec:x",
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
