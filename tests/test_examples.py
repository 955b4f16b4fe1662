"""The library examples are short and complete, and run if their library is installed."""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
from importlib.util import find_spec

import pytest

from hearts_env import hearts_v0
from tests.test_docs import load_script

libraries = load_script("libraries")
EXAMPLES, NAMES = libraries.EXAMPLES, libraries.names()
HERE = {
    "pettingzoo_loop": "pettingzoo",
    "text_agent": "gymnasium",
    "sb3_selfplay": "sb3_contrib",
    "cleanrl_ppo": "torch",
    "openspiel_nfsp": "pyspiel",
    "jax_selfplay": "jax",
}
"""Examples with libraries that the tests install. `make examples` runs the others."""


@pytest.mark.parametrize("name", NAMES)
def test_example_is_short_with_instructions_and_report(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    about = ast.get_docstring(ast.parse(text))
    assert f"python examples/{name}.py" in about
    assert f"-r examples/requirements/{name}.txt" in about
    assert "Report(__doc__" in text  # which reads --smoke, --json and --help
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


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_example_learns_from_both_seats(name, monkeypatch, tmp_path, capsys):
    if find_spec(HERE[name]) is None:
        pytest.skip(f"no {HERE[name]} here")

    file = tmp_path / "report.json"
    run_here(name, monkeypatch, "--smoke", "--json", str(file))
    report = json.loads(file.read_text())
    assert report["smoke"]
    assert report["decisions"] > 3_000
    assert all(seat["won"] > 20 and seat["lost"] > 20 for seat in report["seats"])
    assert report["illegal"] == 0
    assert report["after"]["margin"] > report["before"]["margin"]
    assert "illegal actions   0" in capsys.readouterr().out


def test_wrappers_rename_keys_for_a_library(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    wrappers = runpy.run_path(str(EXAMPLES / "_wrappers.py"))
    turns = hearts_v0.env(rules="micro", dtype="float32")
    plural = wrappers["Plural"](turns)
    plural.reset(seed=1)
    seen = plural.last()[0]
    assert plural.observation_space("player_0").contains(seen)
    assert (seen["observations"] == turns.last()[0]["observation"]).all()
