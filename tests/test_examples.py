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
from tests.pages import run_if_changed
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
def test_example_learns_from_both_seats(name, monkeypatch, tmp_path, capsys, request):
    if find_spec(HERE[name]) is None:
        pytest.skip(f"no {HERE[name]} here")

    def run():
        file = tmp_path / "report.json"
        run_here(name, monkeypatch, "--smoke", "--json", str(file))
        report = json.loads(file.read_text())
        assert report["smoke"]
        assert report["decisions"] > 3_000
        assert all(seat["won"] > 20 and seat["lost"] > 20 for seat in report["seats"])
        assert report["illegal"] == 0
        assert report["after"]["margin"] > report["before"]["margin"]
        assert "illegal actions   0" in capsys.readouterr().out

    run_if_changed(request, "", run)


def test_wrappers_rename_keys_for_a_library(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    wrappers = runpy.run_path(str(EXAMPLES / "_wrappers.py"))
    turns = hearts_v0.env(rules="micro", dtype="float32")
    plural = wrappers["Plural"](turns)
    plural.reset(seed=1)
    seen = plural.last()[0]
    assert plural.observation_space("player_0").contains(seen)
    assert (seen["observations"] == turns.last()[0]["observation"]).all()


# ---- the command that runs them all --------------------------------------------------------------
REPORT = {"versions": {"lib": "1.0"}, "after": {"margin": 1.5}}


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Replace the examples by an empty folder, and return a function that adds one."""
    (tmp_path / "examples" / "requirements").mkdir(parents=True)
    monkeypatch.setattr(libraries, "EXAMPLES", tmp_path / "examples")
    monkeypatch.setattr(libraries, "RESULTS", tmp_path / "libraries.json")

    def write(name, code, needs="nothing==1.0", *, installed=True):
        (tmp_path / "examples" / f"{name}.py").write_text(f'"""Shows {name}."""\n{code}\n')
        (tmp_path / "examples" / "requirements" / f"{name}.txt").write_text(f"# Fine.\n{needs}\n")
        venv = tmp_path / "venvs" / name
        python = venv / "bin" / "python"
        if installed and not python.exists():
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
            python.chmod(0o755)
            state = libraries.requirements_file(name).read_text()
            (venv / "installed").write_text(state + (libraries.ROOT / "pyproject.toml").read_text())

    return write


def test_failing_example_does_not_stop_the_others(example, tmp_path, monkeypatch, capsys):
    write = f"import json, sys; json.dump({REPORT}, open(sys.argv[-1], 'w'))"
    example("a_bad", "raise ValueError")
    example("b_slow", "import time; time.sleep(36000)")
    example("c_good", f"{write}; assert '--smoke' in sys.argv")
    example("d_silent", "pass")
    call = libraries.call

    def impatient(command, limit, log):
        call(command, 1 if "b_slow" in str(command) else limit, log)

    monkeypatch.setattr(libraries, "call", impatient)
    arguments = ["--venvs", str(tmp_path / "venvs")]
    assert libraries.main(arguments) == 1
    found = json.loads(libraries.RESULTS.read_text())["examples"]
    about = {"what": "Shows c_good", "note": "Fine.", "requirements": ["nothing==1.0"]}
    assert found == {"c_good": about | {"report": REPORT}}
    said = capsys.readouterr().out.splitlines()
    for line, why in zip(said, ["exit status 1", "after 1 s", "+1.50", "no report"], strict=True):
        assert why in line
    monkeypatch.setattr(libraries, "call", call)
    example("b_slow", write)
    assert libraries.main([*arguments, "b_slow"]) == 0
    again = json.loads(libraries.RESULTS.read_text())["examples"]
    assert again["b_slow"]["report"] == REPORT
    assert again["c_good"] == found["c_good"]
