"""The check of the leaderboard: changed entries are replayed in full, and no forgery holds."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from hearts_train.measure.benchmark import encoded, read_benchmark, record_of
from tests.slow import quick_cases, slow
from tests.test_cli import run

SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "leaderboard"
CODE = """
import json
from pathlib import Path

from chooser import chosen

files = ("weights.json",)


class Mine:
    def act(self, view):
        return chosen(view, json.loads(Path(__file__).with_name(files[0]).read_text()))
"""
TAMPERING = """
from hearts_train.measure import duel

duel.Block.margins = property(lambda block: block.scores[:: block.scores.shape[1], 0] * 0.0 + 9.0)
"""
CHOOSER = "def chosen(view, weights):\n    return view.legal_actions()[weights[0]]\n"


def load():
    """Import the script, which has no suffix and is in no package."""
    loader = SourceFileLoader("leaderboard_check", str(SCRIPT))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


script = load()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files of an entry: an agent in code, its result, attacks on it."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "mine.py").write_text(CODE)
    (folder / "chooser.py").write_text(CHOOSER)
    (folder / "weights.json").write_text("[0]")
    play = "benchmark mine.py:Mine --track micro --deals 20 --declare authors=A --json mine.json"
    attack = "exploit mine.py:Mine --rules micro --attackers belief --deals 20 --json attacks.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (play, attack):
            done = run(*words.split())
            assert done.exit_code == 0, done.output
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def root(made, tmp_path):
    """A repository with that entry in a folder, and another that is a file."""
    entry = tmp_path / script.FOLDER / "mine"
    entry.mkdir(parents=True)
    for name, data in made.items():
        (entry / name).write_bytes(data)
    (entry.parent / "alone.json").write_text("{}")
    (tmp_path / "code.py").write_text("")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    return tmp_path


def git(root, *words):
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def commit(root):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")


# ---- selection ---------------------------------------------------------------------------------
def checked(root, monkeypatch, *words):
    """Run the script; return the names of the entries that it checks."""
    names = []
    monkeypatch.setattr(script, "check", lambda entry, _: names.append(entry.name) or [])
    assert script.main(list(words), root) == 0
    return names


def test_without_a_base_all_entries_are_checked(root, monkeypatch):
    assert checked(root, monkeypatch) == ["alone.json", "mine"]
    assert checked(root, monkeypatch, "--base", "main") == []


@pytest.mark.parametrize("is_committed", [True, False])
@pytest.mark.parametrize("name", ["mine.json", "weights.json", "chooser.py", "new \xe9\n.bin"])
def test_changed_entry_is_checked(root, monkeypatch, name, is_committed):
    git(root, "checkout", "-q", "-b", "entry")
    with (root / script.FOLDER / "mine" / name).open("a") as file:
        file.write("\n")
    if is_committed:
        commit(root)
    assert checked(root, monkeypatch, "--base", "main") == ["mine"]


def test_changes_on_main_are_not_checked(root, monkeypatch):
    git(root, "checkout", "-q", "-b", "entry")
    (root / script.FOLDER / "alone.json").write_text("[]")
    commit(root)
    git(root, "checkout", "-q", "main")
    (root / script.FOLDER / "mine" / "mine.py").write_text("")
    commit(root)
    git(root, "checkout", "-q", "entry")
    assert checked(root, monkeypatch, "--base", "main") == ["alone.json"]


def test_new_entry_with_changed_code_is_refused(root, monkeypatch, capsys):
    monkeypatch.setattr(script, "check", lambda *_: [])
    for name in ("page.md", "code.py"):
        (root / name).write_text("1")
    assert script.main(["--base", "main"], root) == 0
    (root / script.FOLDER / "new.json").write_text("{}")
    assert script.main(["--base", "main"], root) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in told] == ["code.py"]


# ---- verdicts ----------------------------------------------------------------------------------
@pytest.fixture
def entry(root, monkeypatch):
    monkeypatch.setattr(script, "LEAST_MS", math.inf)  # no test depends on the clock
    (root / script.FOLDER / "alone.json").unlink()
    return root / script.FOLDER / "mine"


def wrong(entry):
    """Return the faults that the check finds in an entry."""
    return "\n".join(script.check(entry, entry.parents[3]))


@slow
def test_genuine_entry_and_attacks_hold(entry, capsys):
    assert script.main([], entry.parents[3]) == 0
    told = sorted(line.split("/")[-1] for line in capsys.readouterr().out.splitlines())
    assert told == ["attacks.json: holds", "mine.json: holds"]


def rewrite(entry, change):
    """Change an entry's record as a forger would: with a new digest."""
    record = read_benchmark(entry / "mine.json")
    change(record)
    record = record_of(record["result"], record["run"]) | {"entry": record["entry"]}
    (entry / "mine.json").write_bytes(encoded(record))


def test_implausible_times_do_not_hold():
    def slower(said, here):
        run, again = ({"ms_per_card": one} for one in (said, here))
        return script.slower(run, again)

    said = {"easy-v1": [2.0, 0.0], "pro-v1": [30.0, 9.0]}
    assert slower(said, {"easy-v1": [20.0, 0.0], "pro-v1": [20.0, 9.0]}) == []
    assert slower(said, {"easy-v1": [25.0, 5.0], "pro-v1": [25.0, 9.0]}) == []  # all wait for 5 ms
    for wrong in (said | {"easy-v1": [1.9, 0.0]}, said | {"more": [0.0, 0.0]}, {}):
        assert slower(wrong, {"easy-v1": [20.0, 0.0], "pro-v1": [20.0, 9.0]})


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({"margin": 2.6, "ci95": [1.7, 3.5]}, True),  # the standard error of a difference is 0.65
        ({"margin": 4.5, "ci95": [3.5, 5.5]}, False),
        ({"margin": 2.6, "ci95": [2.1, 3.1]}, True),
        ({"margin": 2.6, "ci95": [2.5, 2.7]}, False),
        ({"margin": 2.6, "ci95": [2.0, 3.8]}, False),
        ({"deals": 100}, False),
    ],
    ids=str,
)
def test_attack_may_differ_by_chance_if_declared(change, holds):
    again = {"margin": 2.0, "ci95": [1.1, 2.9], "over_first": None, "over_first_ci95": None}
    again |= {"deals": 200}
    said = again | change
    assert (script.explained(said, again) == said) is holds


def test_result_in_entry_decides_whether_attacks_repeat(entry):
    files = sorted(entry.iterdir())
    record = json.loads((entry / "mine.json").read_bytes())
    digest = record["result"]["agent"]["digest"]
    assert script.repeats(digest, files)
    record["entry"]["repeats"] = "no"
    (entry / "mine.json").write_text(json.dumps(record))
    assert not script.repeats(digest, files)
    assert script.repeats("0" * 64, files)


@slow
def test_links_and_damaged_files_do_not_hold(entry):
    (entry / "far.bin").symlink_to(entry.parents[3] / "code.py")
    (entry / "broken.json").write_text("{")
    (entry / "short.json").write_text('{"gains": []}')
    found = wrong(entry)
    for name in ("far.bin", "broken.json", "short.json"):
        assert f"{name}: " in found
    assert "mine.json" not in found


@slow
def test_attacks_inside_a_result_are_replayed(entry):
    record = json.loads((entry / "mine.json").read_bytes())
    attacks = json.loads((entry / "attacks.json").read_bytes())
    attacks["gains"][0]["margin"] -= 1
    (entry / "mine.json").write_text(json.dumps(attacks | record))
    assert "mine.json: gains[0].margin" in wrong(entry)


@quick_cases("spec", ["../mine/mine.py:Mine", "{}/mine.py:Mine", "pro?x=../x"], ["pro?x=../x"])
def test_agent_outside_its_folder_does_not_hold(entry, spec):
    def lead_out(record):
        record["result"]["agent"]["spec"] = spec.format(entry)

    rewrite(entry, lead_out)
    assert "folder" in wrong(entry)


@slow
def test_code_that_tampers_with_scores_does_not_hold(entry, monkeypatch):
    code = entry / "mine.py"
    code.write_text(CODE + TAMPERING)
    monkeypatch.chdir(entry)
    (entry / "mine.json").unlink()
    words = "-m hearts_train.cli benchmark mine.py:Mine --track micro --deals 20 --json mine.json"
    subprocess.run([sys.executable, *words.split()], check=True)
    assert read_benchmark("mine.json")["result"]["margin"] == 9
    assert "margin: 9.0, now" in wrong(entry)
