"""The command line: output, exit status, errors and interrupts."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from typer.testing import CliRunner

from hearts_agents.models.checkpoint import CHECKPOINT_NAME
from hearts_agents.programs.process import python_environment
from hearts_agents.spec import AgentSpec
from hearts_env import Game, HeartsError, Rules, __version__
from hearts_env.rules.explain import aim, explain, option_rows
from hearts_env.rules.presets import PRESETS
from hearts_env.rules.rules import FIELDS
from hearts_env.support import errors, files, jit
from hearts_env.support.interrupts import held_interrupt
from hearts_train import console
from hearts_train.cli.app import app
from hearts_train.learn.config_files import shipped_configs
from hearts_train.learn.runs import PICTURE_NAME
from hearts_train.measure import contest, display
from hearts_train.measure.contest import Contest
from hearts_train.measure.duel import Duel
from hearts_train.measure.participants import Participant
from hearts_train.screen import progress
from tests.refusals import mistake
from tests.slow import quick_cases
from tests.strategies import played_on

ROOT = Path(__file__).resolve().parents[1]
FIELDS_OF_EVALUATE = {"agent", "opponent", "rules", "deals", "margin", "ci95", "won", "moons"}
FIELDS_OF_EVALUATE |= {"ms_per_decision", "seed"}


def run(*args, input=None):
    """Run a command line in this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args], input=input)


def command(*args, before="", main="from hearts_train.cli import main; main()"):
    """Start a command line in its own process."""
    code = f"{before}\n{main}"
    environment = python_environment()
    environment.pop("PYTHONWARNINGS", None)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=hears_ctrl_c if os.name == "posix" else None,
    )


def hears_ctrl_c() -> None:
    """Restore Ctrl-C, which a test suite in the background ignores and its children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# ---- help, lists ---------------------------------------------------------------------------------
@pytest.mark.slow
def test_help_and_play_import_nothing_heavy():
    script = (
        "import sys\n"
        "from hearts_train.cli import app as cli\n"
        "assert not {'numba', 'torch', 'rich.table', 'hearts_env'} & set(sys.modules)\n"
        "from typer.testing import CliRunner\n"
        "for args in (['agents'], ['rules', 'classic'], ['tournament', 'easy', 'standard',\n"
        "             '--deals', '4'], ['evaluate', 'standard', '--deals', '4', '--json'],\n"
        "             ['play', '--seed', '1']):\n"
        "    assert CliRunner().invoke(cli.app, args).exit_code == 0, args\n"
        "assert not {'torch', 'stable_baselines3', 'matplotlib'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=python_environment(),
    )
    assert done.returncode == 0, done.stderr


def test_new_agent_plays_and_digest_covers_its_weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("agents", "--new", "mine")
    assert done.exit_code == 0, done.output
    commands = [shlex.split(line) for line in done.output.splitlines() if line.startswith("  ")]
    assert [words[:3] for words in commands] == [
        ["hearts", command, "mine.py:MyAgent"] for command in ("evaluate", "benchmark")
    ]
    shown = run(*commands[0][1:], "--deals", "30", "--json")
    rows = json.loads(shown.stdout)
    assert [row["faults"] for row in rows] == [0, 0, 0]
    assert rows[0]["ci95"][0] > 0  # better than `easy`
    agent = AgentSpec.parse("mine.py:MyAgent")
    first = Participant(agent, 0).to_json()["digest"]
    weights = json.loads(Path("mine.json").read_text())
    Path("mine.json").write_text(json.dumps(weights | {"lead": [0, 1, 0]}))
    assert Participant(agent, 0).to_json()["digest"] != first
    code = Path("mine.py").read_text()
    Path("home").mkdir()
    for name, said in {
        "mine": "mine.py",
        "a/b": "a",
        "my-agent": "my-agent",
        "random": "random",
        "class": "class",
    }.items():
        mistake(run("agents", "--new", name), "--new", said)
    assert run("agents", "--new", "home/mine").exit_code == 0
    assert sorted(path.name for path in Path("home").iterdir()) == ["mine.json", "mine.py"]
    assert Path("mine.py").read_text() == code


def test_agents_describes_every_agent():
    listed = json.loads(run("agents", "--json").stdout)
    assert list(listed)[:5] == ["easy", "standard", "standard_trump", "pro", "pro_trump"]
    assert all(listed[name]["about"] for name in listed)
    assert listed["pro"]["options"] == {"worlds": None}
    assert listed["pimc"]["plays"] == "two-player games without an exchange"
    shown = run("agents").stdout
    assert "standard_trump" in shown
    assert "`" not in shown


@quick_cases(
    ("preset", "players"),
    [(name, n) for name, (numbers, *_) in PRESETS.items() for n in (numbers[0], numbers[-1])],
    [("two_player", 2), ("classic", 4), ("hoyle", 6)],
)
def test_rules_explains_every_preset(preset, players):
    result = run("rules", f"{preset} players={players}")
    assert result.exit_code == 0
    rules = Rules.preset(preset, players)
    for field in FIELDS:
        assert f"\n{field} " in result.stdout
    text = " ".join(explain(rules))
    assert ("passes" in text) == bool(rules.pass_count)
    assert ("moon" in text) == (rules.moon != "none")
    assert ("trump" in text) == bool(rules.trump)
    assert ("kitty" in text) == bool(rules.kitty_size)
    assert ("chips" in text) == (rules.settlement != "points")
    assert all(meaning for _, _, meaning in option_rows(rules))


@pytest.mark.parametrize("preset", PRESETS)
def test_explained_rules_begin_with_the_aim(preset):
    rules = Rules.preset(preset)
    said = explain(rules)
    assert said[0].startswith("Take as few points as you can: each heart costs 1")
    assert ("Hearts are trump" in said[1]) == (rules.trump == "H")
    assert not [sentence for sentence in said if "=" in sentence or "_" in sentence]
    of_match = [sentence for sentence in said if sentence not in explain(rules, match=False)]
    assert of_match == said[-len(of_match) :]
    assert "match" in " ".join(of_match) or "total" in " ".join(of_match)


def test_aim_names_cards_that_take_points_off():
    assert aim(Rules.preset("omnibus")) == [
        "Take as few points as you can: each heart costs 1, the queen of spades 13, "
        "J♦ takes 10 off."
    ]


@pytest.mark.parametrize("preset", PRESETS)
def test_rules_say_where_the_queen_follows_suit(preset):
    rules = Rules.preset(preset)
    said = [sentence for sentence in explain(rules)[1:] if "queen of spades" in sentence]
    costly = preset not in ("hoyle", "black_jack")  # where the queen is a card like any other
    assert len(said) == costly
    for sentence in said:
        assert sentence == "The queen of spades must follow suit, too."
        other = rules.replace(queen_any_time=True)
        said_there = [s for s in explain(other)[1:] if "queen of spades" in s]
        assert said_there == ["The queen of spades may be played instead of following suit."]


def test_rules_lists_presets_and_applies_changes():
    listed = run("rules").stdout
    assert all(name in listed for name in PRESETS)
    assert "highest trump (spades)" in run("rules", 'party trump="S"').stdout
    record = json.loads(run("rules", "micro", "--json").stdout)
    assert Rules.from_dict({k: v for k, v in record.items() if k != "name"}) == Rules.make("micro")


# ---- evaluate, tournament ------------------------------------------------------------------------
def test_evaluate_prints_json_or_table_and_plots(tmp_path):
    words = ("evaluate", "standard", "--opponents", "easy,pro", "--deals", 20)
    shown = run(*words, "--plot", tmp_path / "bars.png").stdout
    assert "±" in shown
    assert "two_player" in shown
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    result = run(*words, "--json")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    records = json.loads(result.stdout)
    assert [record["opponent"] for record in records] == ["easy", "pro"]
    for record in records:
        assert record.keys() >= FIELDS_OF_EVALUATE
        assert record["deals"] == 20
        assert record["ci95"][0] <= record["margin"] <= record["ci95"][1]
    assert "margin" in result.stderr  # the table


def test_progress_without_terminal_is_printed_every_ten_seconds(clock, monkeypatch, capsys):
    monkeypatch.setattr("hearts_train.screen.PLAIN_EVERY", 10.0)
    with progress("work") as tell:
        for done in range(11):  # each part takes four seconds, the first of all 24
            clock.time += 4.0 if done else 24.0
            tell(done, 10)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "work: 20%, about 32 s left",
        "work: 50%, about 20 s left",
        "work: 80%, about 8 s left",
    ]


@pytest.mark.parametrize(
    ("words", "seed"),
    [
        (["solve", "micro", "--iterations", 5], None),
        (["exploit", "easy", "--rules", "micro", "--seed", 3], 3),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_json_records_name_command_version_and_seed(words, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [*map(str, words), "--json"]
    monkeypatch.setattr(sys, "argv", ["hearts", *words])
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    for record in json.loads(result.stdout):
        assert record["version"] == __version__
        assert record["command"] == shlex.join(["hearts", *words])
        assert record["platform"]["numpy"] == np.__version__
        assert record.get("seed") == seed
        assert ("seed" in record) == (seed is not None)


PRESSED = """
import atexit, signal, sys

def press(at, *_):
    if at == {at!r}:
        signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, type("Finder", (), {{"find_spec": staticmethod(press)}}))
atexit.register(press, "the end")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of a shell")
@quick_cases(
    "at",
    ["typer", "hearts_train.cli.solve", "hearts_train.cli.training", "numba", "the end"],
    ["hearts_train.cli.training"],
)
def test_early_or_late_ctrl_c_shows_no_traceback(at, tmp_path):
    words = ["train", "no.yaml"] if at == "the end" else ["train", "smoke", "--run", tmp_path / "r"]
    start = "from runpy import run_module; run_module('hearts_train.cli', run_name='__main__')"
    process = command(*words, before=PRESSED.format(at=at), main=start)
    _, errors = process.communicate()
    assert process.returncode in (-signal.SIGINT, console.INTERRUPTED)
    assert "Traceback" not in errors
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "easy", "--deals", "32", "--opponents", "easy"],
        ["tournament", "easy", "standard", "--deals", "32"],
        ["exploit", "easy", "--rules", "two_player", "--attackers", "belief", "--deals", "32"],
    ],
    ids=" ".join,
)
def test_command_stopped_early_prints_how_to_resume(words, tmp_path, monkeypatch):
    def stops(*_arguments, **_settings):
        raise KeyboardInterrupt

    saved = tmp_path / "saved"
    monkeypatch.setattr(Duel, "play", stops)
    done = run(*words, "--save", saved)
    assert done.exit_code == console.INTERRUPTED
    assert f"hearts {words[0]} --resume {saved}" in done.stderr
    saved.unlink()
    monkeypatch.setattr(Contest, "__init__", stops)  # before there is a file
    done = run(*words, "--save", saved)
    assert done.exit_code == console.INTERRUPTED
    assert done.stderr.splitlines()[-1] == "stopped"


@pytest.mark.skipif(os.name != "posix", reason="signals of a shell")
def test_sigterm_while_compiling_is_the_exit_status(monkeypatch):
    def compiles(*_arguments, **_settings):
        with held_interrupt():
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(contest, "compile_players", compiles)
    done = run("evaluate", "easy", "--opponents", "easy", "--rules", "micro")
    assert done.exit_code == 128 + signal.SIGTERM


def test_eof_error_is_no_interruption(monkeypatch):
    def fails(*_arguments, **_settings):
        raise EOFError("Ran out of input")

    monkeypatch.setattr(Contest, "__init__", fails)
    done = run("evaluate", "easy", "--opponents", "easy")
    assert isinstance(done.exception, EOFError)
    assert done.exit_code == 1
    assert "stopped" not in done.stderr


def test_warning_is_one_line(monkeypatch):
    def warns(*_arguments, **_settings):
        jit._warn_if_unsaved()
        raise HeartsError("deals: none are played")

    monkeypatch.setattr(jit, "unsaved", ["there is no room"])
    monkeypatch.setattr(jit, "_has_warned", False)
    monkeypatch.setattr(Contest, "__init__", warns)
    done = run("evaluate", "easy", "--opponents", "easy")
    note, error = done.stderr.splitlines()
    assert note.startswith("warning: compiled code: there is no room")
    assert error.startswith("error: deals: ")


@pytest.mark.filterwarnings("default::UserWarning")
def test_bfloat16_on_a_processor_without_it_warns(monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx2": True})
    magnet = ("--set", "ppo.magnet=nobody", "--set", "ppo.magnet_coef=0.1")
    done = run("train", "smoke", "--set", "precision=bfloat16", *magnet)
    note, error = done.stderr.splitlines()
    assert note.startswith("warning: precision: bfloat16 is many times slower")
    assert error.startswith("error: ppo.magnet: agent: 'nobody'")


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nope"], ["", "nope", "--help"]),
        (["evaluate", "standart"], ["agent", "'standart'", "'standard'"]),
        (["evaluate", "pro", "--opponents", ","], ["--opponents"]),
        (["evaluate", "pro", "--deals", "x"], ["", "--deals", "--help"]),
        (["evaluate", "pro", "--seed", "-1"], ["seed"]),
        (["evaluate", "pro", "--rules", "classic players=3"], ["players", "4", "3"]),
        (["tournament", "pro", "pro"], ["agents", "pro"]),
        (["play", "--opponent", "pro,easy"], ["opponent", "2", "1"]),
        (["replay", "nowhere.txt"], ["nowhere.txt"]),
        (["train", "--resume", "nowhere"], ["resume", "nowhere"]),
        (["train", "--resume", "nowhere", "--run", "there"], ["--run"]),
        (["agents", "--new", "mine", "--json"], ["--json", "--new"]),
        (["rules", "--out", "x"], ["No such option", "--out", "--help"]),
    ],
)
def test_mistake_is_one_line_with_the_fix(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mistake(run(*args), *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "file"),
    [
        (("evaluate", "easy", "--deals", 2, "--save", "results"), "results"),
        (("train", "smoke", "--run", "run"), "config.yaml"),
        (("train", "smoke", "--run", "run", "--seeds", "0"), "config.yaml"),
        (("solve", "micro", "--iterations", 2, "--save", "state.safetensors"), "state.safetensors"),
    ],
)
def test_full_disk_names_file_and_leaves_nothing(args, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name in ("fsync", "pwrite"):
        monkeypatch.setattr(os, name, full)
    result = run(*args)
    assert result.exit_code == 2, result.output
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert file in last
    assert "--resume" not in last  # nothing was begun
    assert list(tmp_path.iterdir()) == []


OUTPUTS = [
    *("evaluate easy --json", "evaluate easy --save", "benchmark easy --json", "play --save"),
    *("exploit easy --json", "solve micro --policy", "solve micro --save", "train smoke --json"),
    *("analyse deal --html", "analyse deal --json", "replay deal --plot", "evaluate easy --plot"),
]
SUFFIXES = {"--policy": "safetensors", "--html": "html", "--plot": "gif", "--json": "json"}


@pytest.mark.parametrize("words", OUTPUTS)
def test_unwritable_output_is_refused_before_the_work(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    option = words.split()[-1]
    suffix = "png" if words == "evaluate easy --plot" else SUFFIXES.get(option, "save")
    (tmp_path / "deal").write_text(Game.deal("micro", seed=1).to_text())
    (tmp_path / f"folder.{suffix}").mkdir()
    for start in (
        "learn.training.train_run",
        "measure.contest.Contest",
        "measure.analysis.analyse",
    ):
        monkeypatch.setattr(f"hearts_train.{start}", None)
    for place in ("deal/below", "deal/far/below", "missing/below", "folder"):
        mistake(run(*words.split(), f"{place}.{suffix}"), option, place.split("/")[0])

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "touch", refuse)
    mistake(run(*words.split(), f"below.{suffix}"), option, "below", "Permission denied")
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deal", f"folder.{suffix}"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("evaluate easy --deals 2 --json x", "against"),
        ("evaluate easy --deals 2 --plot x.png", "against"),
        ("compare easy pro --deals 64 --json x", "sequential test"),
        ("tournament easy pro --deals 2 --json x", "rating"),
        ("benchmark easy --track micro --deals 2 --json x", "mean of all"),
        ("exploit easy --rules micro --json x", "exploitability"),
        ("solve micro --iterations 2 --policy x.safetensors", "exploitability"),
        ("analyse deal --html x.html", "trick"),
    ],
)
def test_figures_are_shown_before_a_disk_is_full(words, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deal").write_text(played_on("micro", 1, 99).to_text())

    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "_replacing", full)
    result = run(*words.split())
    assert result.exit_code == 2
    assert shown in result.stdout
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"error: {words.split()[-1]}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["deal"]


@pytest.mark.slow
def test_figures_of_a_run_are_shown_before_a_disk_is_full(tmp_path, monkeypatch):
    write, out = files.write_whole, tmp_path / "run"

    def full(path, data):
        if path.name == PICTURE_NAME:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, data)

    monkeypatch.setattr(display, "write_whole", full)
    result = run("train", "smoke", "--run", out)
    assert result.exit_code == 2
    assert "against" in result.stdout
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"error: {out / PICTURE_NAME}: ")


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    for name in [name for name in sys.modules if name.startswith("hearts_train.")]:
        if name.startswith("hearts_train.learn.") or name == "hearts_train.cli.training":
            monkeypatch.delitem(sys.modules, name)
    mistake(run("train", "smoke"), "", errors.needs("train"))
    assert '-e ".[train]"' in errors.needs("train")  # this is a checkout
    monkeypatch.setattr(errors, "__file__", "/lib/hearts_env/support/errors.py")
    assert "'hearts-env[train]'" in errors.needs("train")


# ---- the file of --json --------------------------------------------------------------------------
def test_json_goes_to_a_file_or_stdout(tmp_path):
    file = tmp_path / "rules.json"
    assert run().exit_code == 0  # no words at all
    shown = run("rules", "--json").stdout
    assert run("rules", "--json", "-").stdout == shown
    written = run("rules", "--json", file)
    assert written.stdout == ""
    assert str(file) in written.stderr
    assert json.loads(file.read_text()) == json.loads(shown)
    mistake(run("rules", "--json", file), "--json", file)
    words = ("evaluate", "easy", "--opponents", "easy", "--rules", "micro", "--deals", 2)
    result = run(*words, "--json", tmp_path / "a.json")
    assert "easy" in result.stdout  # the table, which has standard output for itself
    assert json.loads((tmp_path / "a.json").read_text())[0]["deals"] == 2


# ---- train, bench --------------------------------------------------------------------------------
def test_train_evaluates_and_writes_a_run(tmp_path):
    pytest.importorskip("sb3_contrib")
    out = tmp_path / "run"
    changes = ("--set", "budget.decisions=2000", "--set", "evaluation.deals=20")
    result = run("train", "smoke", "--run", out, *changes, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1
    record = json.loads(result.stdout)
    assert record["interrupted"] is False
    opponents = [row["opponent"] for row in record["evaluations"]]
    assert opponents == ["easy", "standard", "standard_trump", "pro"]
    assert Path(record["checkpoint"]) == out / CHECKPOINT_NAME
    assert json.loads((out / "evaluation.json").read_text()) == record["evaluations"]
    assert (out / "evaluation.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "config.yaml").exists()
    again = run("evaluate", out, "--opponents", "easy", "--deals", 20, "--json")
    assert json.loads(again.stdout)[0]["rules"] == "micro"
    wrong = run("evaluate", out, "--rules", "two_player", "--deals", 20)
    mistake(wrong, "rules", "micro", "two_player")
    mistake(run("train", "smoke", "--run", out), "run", "--resume")


def test_help_groups_commands_and_shows_examples():
    shown = run("--help").stdout
    places = [shown.index(f"\n{group}:") for group in console.GROUPS]
    assert places == sorted(places)
    assert "\nCommands:" not in shown  # every command has a group
    names = re.findall(r"^  ([a-z]+)  ", shown, re.MULTILINE)
    assert names == [name for group in console.GROUPS.values() for name in group]
    for name in names:
        shown_for_one = run(name, "--help").stdout
        assert f"Example: hearts {name}" in shown_for_one
        # No Python types, which typer and click would show.
        assert not re.search(r"<\w+(\[|>)|INTEGER|FLOAT|TEXT\b(?<!=TEXT)", shown_for_one), name
    recipes = run("train", "--help").stdout
    for name in shipped_configs():
        assert re.search(rf"\b{name}\b(?!_)", recipes), name
    assert run().stdout == shown
    assert run("--version").stdout.startswith("hearts-env ")


LONG = "a" * 250


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("evaluate easy --save p.svg --plot p.svg", "--plot p.svg --save"),
        *(
            (f"{words} --save p --json p", "--json p --save")
            for words in ("compare easy pro", "tournament easy pro", "benchmark easy")
        ),
        ("exploit easy --json p --save p", "--save p --json"),
        ("compare --resume kept --json ./kept", "--json kept --resume"),
        ("dataset p --agent easy --json p", "--json p FOLDER"),
        ("replay deal.html --plot deal.gif", "--plot deal.gif FILE"),
        (
            "solve micro --save y.safetensors --policy y.safetensors",
            "--policy y.safetensors --save",
        ),
        ("analyse deal.html --html deal.html", "--html deal.html FILE"),
        ("evaluate easy --json kept", "--json kept"),
        ("train smoke --run .", "run '.'"),
        ("evaluate easy --save /", "--save '/'"),
        ("evaluate easy --json .", "--json '.'"),
        ("benchmark --resume kept", "resume 'kept'"),
        (f"evaluate easy --save {LONG}", "--save aaa"),
        ("replay deal.html --plot kept", "--plot kept"),
    ],
)
def test_output_never_overwrites_files_or_folders(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").write_text("precious")
    (tmp_path / "deal.html").write_text(Game.deal("micro", seed=1).to_text())
    (tmp_path / "deal.gif").symlink_to("deal.html")
    mistake(run(*words.split()), *told.split())
    assert (tmp_path / "kept").read_text() == "precious"


def test_every_file_of_a_command_line_is_checked():
    unchecked = set()
    for command in app.registered_commands:
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            kind, option = [*get_args(hint), None, None][:2]
            is_file = Path in (kind, *get_args(kind)) or name == "as_json"
            if is_file and option.callback is None:
                unchecked.add((command.callback.__name__, name))
    # Folders that are read or hold files of given names, and the name of an agent.
    assert unchecked == {("train", "resume"), ("serve", "data"), ("agents", "new")}


def test_seed_is_read_from_a_file(tmp_path):
    secret, pipe = tmp_path / "secret", tmp_path / "pipe"
    secret.write_text("987654321987\n")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("987654321987",))
    writer.start()
    words = ["evaluate", "standard", "--opponents", "easy", "--rules", "micro"]
    words += ["--deals", "2", "--json"]
    found = []
    for given in ("987654321987", f"@{secret}", f"@{pipe}"):
        done = CliRunner().invoke(app, [*words, "--seed", given])
        assert done.exit_code == 0, done.stderr
        (record,) = json.loads(done.stdout)
        found.append((record["seed"], record["deals_digest"]))
    writer.join()
    assert found[0][0] == 987654321987
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("content", ["", "a secret", "-98765432198", "9" * 5000])
def test_invalid_seed_file_is_refused_without_quoting_it(tmp_path, content):
    file = tmp_path / "secret"
    file.write_text(content)
    done = run("evaluate", "easy", "--seed", f"@{file}")
    mistake(done, "", "seed")
    assert not content or content not in done.stderr
