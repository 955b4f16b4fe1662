"""Names of agents and the specs that they parse to."""

from __future__ import annotations

import pickle
import shlex
from pathlib import Path

import pytest

from hearts_agents import make_agent
from hearts_agents.spec import AgentSpec, Kind, quoted_path
from hearts_env import CheckpointError, HeartsError
from hearts_train.cli.options import names_in
from tests.refusals import raises_hearts_error

KINDS = {
    "pro": (Kind.OWN, "pro", False, False),
    "pro-v1?worlds=3": (Kind.OWN, "pro", False, False),
    "pimc_belief?model=mine.py:Mine": (Kind.OWN, "pimc_belief", True, True),
    "pimc_belief?model=exec:./bot": (Kind.OWN, "pimc_belief", True, False),
    "pimc_belief?model=pimc_belief?model=mine.py:Mine": (Kind.OWN, "pimc_belief", True, True),
    "mine.py:Mine?step=1": (Kind.CODE, "mine.py:Mine", True, True),
    "package.module:Mine": (Kind.CODE, "package.module:Mine", True, True),
    "exec:./bot 'what?' --fast?batch=3": (Kind.PROGRAM, "exec:./bot 'what?' --fast", True, False),
    "model.onnx?encoder=flat": (Kind.FILE, "model.onnx", False, False),
    "model.zip?encoder=flat": (Kind.FILE, "model.zip", True, True),
    "runs/mine": (Kind.FILE, "runs/mine", False, False),
    "here": (Kind.FILE, "here", False, False),
    "what?/run": (Kind.FILE, "what?/run", False, False),
}
PATHS = (
    "pro",
    "here",
    "mine.py:Mine",
    "mine.py",
    "-x",
    "exec:x",
    "exec:x/y",
    "x.zip",
    "x.safetensors?greedy=false",
    "x.onnx",
    "pro?worlds=50",
    "what?",
    "a, b",
    " two words ",
    "two\nlines",
    "it's",
    "sub/x.pt",
)
UNKNOWN = ("nobody", "pro-v2", "mine.py", "pro?worlds", "pro?worlds=1&worlds=2", "")


@pytest.fixture(autouse=True)
def _folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("here", "what?/run", "pro"):
        Path(folder).mkdir(parents=True)


@pytest.mark.parametrize("text", KINDS)
def test_record_of_a_name_parses_back(text):
    spec = AgentSpec.parse(text)
    assert (spec.kind, spec.name, spec.runs_code, spec.is_outside) == KINDS[text]
    assert AgentSpec.from_json(spec.text) == pickle.loads(pickle.dumps(spec)) == spec
    assert AgentSpec.parse(spec) is spec
    assert spec.label == text


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown_agent_in_a_record_cannot_be_made(text):
    spec = AgentSpec.from_json(text)
    assert (spec.kind, spec.text, spec.runs_code) == (Kind.UNKNOWN, text, False)
    for make in (lambda: AgentSpec.parse(text), lambda: make_agent(text), spec.make):
        with pytest.raises(HeartsError):
            make()


@pytest.mark.parametrize("path", PATHS)
def test_path_object_is_always_a_path(path):
    for there in (False, True):
        if there:
            Path(path).mkdir(exist_ok=True, parents=True)
        spec = AgentSpec.parse(Path(path))
        assert (spec.kind, Path(spec.name)) == (Kind.FILE, Path(path))
    assert AgentSpec.from_json(spec.text) == spec
    assert (spec.runs_code, spec.text[0] == "-") == (False, False)
    assert shlex.split(quoted_path(path)) == names_in(spec.text, "--opponents") == [spec.text]
    Path(path, "checkpoint.safetensors").touch()
    with raises_hearts_error(CheckpointError, "checkpoint"):  # it is a run's folder
        spec.make()


def test_missing_file_needs_no_permission():
    with raises_hearts_error(CheckpointError, "agent", "missing.zip"):
        make_agent("missing.zip")
    Path("there.zip").touch()
    with raises_hearts_error(HeartsError, "allow_code", "there.zip"):
        make_agent("there.zip")


def test_record_grants_no_permission(monkeypatch):
    spec = AgentSpec.from_json("mine.py:Mine")
    with raises_hearts_error(HeartsError, "resume", hint="--allow-code"):
        spec.check_allowed("resume: 'results.jsonl'")
    monkeypatch.setenv("HEARTS_ALLOW_CODE", "1")
    spec.check_allowed("resume: 'results.jsonl'")
