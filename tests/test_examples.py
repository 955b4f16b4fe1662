"""The examples for libraries: short, whole, and run where their library is installed here."""

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
}
"""Examples whose libraries this project's own tests have; the others are run by `make examples`."""


def source(name: str) -> str:
    return (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")


def test_there_are_examples():
    libraries_told = ("agilerl", "benchmarl", "jax", "rllib", "tianshou", "torchrl", *HERE)
    assert all(any(name.startswith(told) for name in NAMES) for told in libraries_told)
    assert "_report" not in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_short_and_says_how_to_run_it(name):
    text = source(name)
    assert len(text.splitlines()) < 60
    told = ast.get_docstring(compile(text, name, "exec", ast.PyCF_ONLY_AST))
    assert f"python examples/{name}.py" in told
    assert f"-r examples/requirements/{name}.txt" in told
    assert libraries.subject(name) != name


@pytest.mark.parametrize("name", NAMES)
def test_an_example_takes_the_arguments_that_all_take(name):
    # `Report` reads them: --smoke, --json and --help.
    tree = ast.parse(source(name))
    assert any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Report"
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id == "__doc__"
        for node in ast.walk(tree)
    )
    assert "report.finish()" in source(name)


@pytest.mark.parametrize("name", NAMES)
def test_what_an_example_needs_is_pinned(name):
    note, wanted = libraries.requirements(name)
    assert note.endswith(".")
    assert wanted
    for requirement in wanted:
        assert re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+", requirement)


def test_there_are_no_requirements_without_an_example():
    files = {path.stem for path in (EXAMPLES / "requirements").iterdir()}
    assert files == set(NAMES)


def run_here(name, monkeypatch, *arguments):
    """Run an example in this process, where its library may be imported already."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name in HERE])
def test_an_example_learns_from_both_seats(name, monkeypatch, tmp_path, capsys, request):
    if find_spec(HERE[name]) is None:
        pytest.skip(f"no {HERE[name]} here")
    file = tmp_path / "report.json"
    run_if_changed(request, "", lambda: learns(name, monkeypatch, file, capsys))


def learns(name, monkeypatch, file, capsys):
    run_here(name, monkeypatch, "--smoke", "--json", str(file))
    report = json.loads(file.read_text())
    assert report["smoke"]
    assert report["decisions"] > 3_000
    assert all(seat["won"] > 20 and seat["lost"] > 20 for seat in report["seats"])
    assert report["illegal"] == 0
    assert report["after"]["margin"] > report["before"]["margin"]
    printed = capsys.readouterr().out
    assert "illegal actions   0" in printed
    assert f"{report['decisions']:,} in" in printed


def test_wrappers_say_the_same_in_the_words_of_a_library(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    wrappers = runpy.run_path(str(EXAMPLES / "_wrappers.py"))
    turns = hearts_v0.env(rules="micro", dtype="float32")
    plural = wrappers["Plural"](turns)
    plural.reset(seed=1)
    seen = plural.last()[0]
    assert plural.observation_space("player_0").contains(seen)
    assert (seen["observations"] == turns.last()[0]["observation"]).all()


def test_help_tells_what_an_example_shows(monkeypatch, capsys):
    with pytest.raises(SystemExit) as left:
        run_here("pettingzoo_loop", monkeypatch, "--help")
    assert left.value.code == 0
    printed = capsys.readouterr().out
    assert "--smoke" in printed
    assert "REINFORCE" in printed


# ---- the command that runs them all --------------------------------------------------------------
@pytest.fixture
def table(tmp_path, monkeypatch):
    """A folder of examples in the place of ours, and what is told of them."""
    (tmp_path / "examples" / "requirements").mkdir(parents=True)
    monkeypatch.setattr(libraries, "EXAMPLES", tmp_path / "examples")
    monkeypatch.setattr(libraries, "RESULTS", tmp_path / "libraries.json")

    def write(name, code, needs="nothing==1.0"):
        (tmp_path / "examples" / f"{name}.py").write_text(f'"""Shows {name}."""\n{code}\n')
        (tmp_path / "examples" / "requirements" / f"{name}.txt").write_text(f"# Fine.\n{needs}\n")

    return write


REPORT = {"versions": {"lib": "1.0"}, "after": {"margin": 1.5}}


def installed(folder, name):
    """An environment of an example that is up to date: this one."""
    venv = folder / name
    (venv / "bin").mkdir(parents=True)
    python = venv / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    state = libraries.requirements_file(name).read_text()
    (venv / "installed").write_text(state + (libraries.ROOT / "pyproject.toml").read_text())


def test_one_that_fails_does_not_stop_the_others(table, tmp_path, monkeypatch, capsys):
    venvs = tmp_path / "venvs"
    write = f"import json, sys; json.dump({REPORT}, open(sys.argv[-1], 'w'))"
    table("a_bad", "raise ValueError('of /home/somebody/else/lib.py')")
    table("b_slow", "import time; time.sleep(36000)")
    table("c_good", f"{write}; assert '--smoke' in sys.argv")
    table("d_silent", "pass")
    for name in ("a_bad", "b_slow", "c_good", "d_silent"):
        installed(venvs, name)
    call = libraries.call

    def impatient(command, limit, log):
        call(command, 1 if "b_slow" in str(command) else limit, log)

    monkeypatch.setattr(libraries, "call", impatient)
    assert libraries.main(["--venvs", str(venvs)]) == 1
    told = json.loads(libraries.RESULTS.read_text())["examples"]
    assert told["a_bad"]["failed"] == "run"
    assert told["a_bad"]["error"] == "ValueError: of .../lib.py"
    assert told["b_slow"]["error"] == "not done after 1 s"
    assert told["c_good"]["report"] == REPORT
    assert told["c_good"] | {"report": None} == {
        "what": "Shows c_good",
        "note": "Fine.",
        "requirements": ["nothing==1.0"],
        "report": None,
    }
    assert told["d_silent"]["error"] == "it wrote no report"
    assert "failed: a_bad, b_slow, d_silent" in capsys.readouterr().err
    monkeypatch.setattr(libraries, "call", call)
    table("b_slow", write)
    installed_mark = venvs / "b_slow" / "installed"
    assert installed_mark.exists()
    assert libraries.main(["--venvs", str(venvs), "b_slow"]) == 0
    again = json.loads(libraries.RESULTS.read_text())["examples"]
    assert again["b_slow"]["report"] == REPORT
    assert again["a_bad"] == told["a_bad"]


def test_one_that_cannot_be_installed_says_so(table, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    table("a_none", "", "no-such-library==9.9")
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\necho 'ERROR: No matching distribution' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stub))
    assert libraries.main(["--venvs", str(tmp_path / "venvs")]) == 1
    [told] = json.loads(libraries.RESULTS.read_text())["examples"].values()
    assert (told["failed"], told["error"]) == ("install", "ERROR: No matching distribution")


def test_an_unknown_example_is_named(capsys):
    assert libraries.main(["pettingzoo_lop"]) == 2
    assert "did you mean 'pettingzoo_loop'" in capsys.readouterr().err
    assert libraries.main(["--list"]) == 0
    assert "Self-play in PettingZoo's own loop" in capsys.readouterr().out


def test_ctrl_c_keeps_what_is_done(table, tmp_path, monkeypatch, capsys):
    def run(name, venvs, limit):
        if name == "b":
            raise KeyboardInterrupt
        return {"report": REPORT}

    monkeypatch.setattr(libraries, "run", run)
    for name in "abc":
        table(name, "")
    assert libraries.main(["--venvs", str(tmp_path / "venvs")]) == 130
    assert "stopped" in capsys.readouterr().err
    assert list(json.loads(libraries.RESULTS.read_text())["examples"]) == ["a"]
