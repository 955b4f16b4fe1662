"""The command line: what it prints where, its exit status, mistakes, play from a pipe."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hearts_agents.checkpoint import CHECKPOINT_NAME, Checkpoint, save_checkpoint
from hearts_env import Game, Rules, __version__
from hearts_env.encoders import make_encoder
from hearts_env.explain import SUMMARIES, explain, option_rows
from hearts_env.interrupts import held_interrupt
from hearts_env.presets import PRESETS
from hearts_env.rules import FIELDS
from hearts_train.command.cardtext import CardText
from hearts_train.command.cli import app
from hearts_train.learn.recipes import shipped_configs
from tests.slow import few

COMMANDS = ["train", "evaluate", "tournament", "play", "replay", "bench", "rules", "agents"]
COMMANDS += ["engine-check"]
ROOT = Path(__file__).resolve().parents[1]
FIELDS_OF_EVALUATE = {
    "agent",
    "opponent",
    "rules",
    "pairs",
    "margin",
    "ci95",
    "won",
    "moons",
    "ms_per_decision",
    "seed",
}


def run(*args, input=None):
    """A command line in this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args], input=input)


def command(*args, before=""):
    """The same in a process of its own, as a user starts it."""
    code = f"{before}\nfrom hearts_train.command.cli import main; main()"
    paths = [str(ROOT), str(ROOT / "agents"), str(ROOT / "train")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
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
    """A suite started in the background ignores Ctrl-C, and what it starts inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def refused(result, *words):
    """One line on standard error, with these words; status 2; nothing on standard output."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert "Traceback" not in lines[0]
    for word in words:
        assert word in lines[0]


def write_player(path, rules="micro", encoder="flat"):
    """A checkpoint with random weights."""
    rules = Rules.make(rules)
    size = int(np.prod(make_encoder(encoder).space(rules).shape))
    rng = np.random.default_rng(0)
    tensors = {
        "policy.0.weight": rng.standard_normal((rules.num_actions, size)).astype(np.float32),
        "policy.0.bias": np.zeros(rules.num_actions, np.float32),
    }
    meta = Checkpoint(rules, encoder, (size, rules.num_actions), "relu")
    save_checkpoint(path, tensors, meta)


# ---- help, lists ---------------------------------------------------------------------------------
@pytest.mark.slow
def test_help_names_all_commands():
    result = run("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout
        assert run(name, "--help").exit_code == 0
    assert run().stdout == result.stdout
    assert run("--version").stdout.startswith("hearts-env ")


@pytest.mark.slow
def test_help_is_light_and_playing_needs_no_torch():
    script = (
        "import sys\n"
        "from hearts_train.command import cli\n"
        "assert not {'numba', 'torch', 'rich.table', 'hearts_env'} & set(sys.modules)\n"
        "from typer.testing import CliRunner\n"
        "for args in (['agents'], ['rules', 'classic'], ['tournament', 'easy', 'standard',\n"
        "             '--pairs', '4'], ['evaluate', 'standard', '--pairs', '4', '--json'],\n"
        "             ['play', '--seed', '1']):\n"
        "    assert CliRunner().invoke(cli.app, args).exit_code == 0, args\n"
        "assert not {'torch', 'stable_baselines3', 'matplotlib'} & set(sys.modules)\n"
    )
    paths = [str(ROOT), str(ROOT / "agents"), str(ROOT / "train")]
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr


def test_agents_lists_each_with_a_line():
    listed = json.loads(run("agents", "--json").stdout)
    assert list(listed)[:5] == ["easy", "standard", "standard_trump", "pro", "pro_trump"]
    assert all(listed[name]["about"] for name in listed)
    assert listed["pro"]["options"] == {"worlds": None, "milliseconds": None}
    assert listed["pimc"]["plays"] == "two-player games without an exchange"
    shown = run("agents").stdout
    assert "standard_trump" in shown
    assert "`" not in shown


@few(
    ("preset", "players"),
    [(name, n) for name, (numbers, _) in PRESETS.items() for n in (numbers[0], numbers[-1])],
    [("two_player", 2), ("classic", 4), ("hoyle", 6)],
)
def test_rules_explains_every_preset(preset, players):
    result = run("rules", preset, "--players", players)
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


def test_rules_lists_and_changes():
    assert set(SUMMARIES) == set(PRESETS)
    listed = run("rules").stdout
    assert all(name in listed for name in PRESETS)
    assert "highest trump (spades)" in run("rules", 'party trump="S"').stdout
    record = json.loads(run("rules", "micro", "--json").stdout)
    assert Rules.from_dict({k: v for k, v in record.items() if k != "name"}) == Rules.make("micro")


@pytest.mark.parametrize(
    ("preset", "players"), [(name, n) for name, (numbers, _) in PRESETS.items() for n in numbers]
)
def test_the_options_are_shown_as_a_text_takes_them(preset, players):
    rules = Rules.preset(preset, players)
    words = [f"{name}={value}" for name, value, _ in option_rows(rules)]
    assert Rules.from_text(f"{preset} {' '.join(words)}") == rules


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("classic", "unseen and all at once: in turn to the left, to the right, across and not at"),
        ("party players=3", "unseen and all at once: in turn to the left and to the right, deal"),
        ('classic pass_rotation=["right"]', "unseen and all at once: always to the right."),
        ('classic pass_rotation=["hold"]', "Nothing is exchanged: pass_rotation is hold"),
        ("classic max_deals=1", "has reached 100, or after one deal;"),
        ("classic max_deals=2", "has reached 100, or after two deals;"),
        (
            "classic no_trick_points=-5",
            "Whoever takes no trick gets five points off, unless the moon was shot.",
        ),
        ("classic no_trick_points=-1 moon=none", "Whoever takes no trick gets one point off."),
        ("hoyle", "Most chips win; a shared first place plays on."),
        ("hoyle settlement=sweepstakes", "what is left at the end is divided equally."),
        (
            "hoyle moon=choose",
            "paid for cards alone: the moon counts only in the scores.",
        ),
        (
            "hoyle no_trick_points=-5 moon=choose",
            "the moon and the points off for no trick count only in the scores.",
        ),
    ],
)
def test_rules_say_it_in_words(text, sentence):
    assert sentence in " ".join(explain(Rules.from_text(text)))


def test_rules_for_two_numbers_of_players_are_refused():
    refused(run("rules", "party players=5", "--players", 6), "players: 6", "5", "once")
    assert run("rules", "party players=5", "--players", 5).exit_code == 0


# ---- evaluate, tournament ------------------------------------------------------------------------
def test_evaluate_prints_one_line_of_json():
    result = run("evaluate", "standard", "--against", "easy,pro", "--pairs", 20, "--json")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    records = json.loads(result.stdout)
    assert [record["opponent"] for record in records] == ["easy", "pro"]
    for record in records:
        assert record.keys() >= FIELDS_OF_EVALUATE
        assert record["pairs"] == 20
        assert record["ci95"][0] <= record["margin"] <= record["ci95"][1]
    assert "margin" in result.stderr  # the table


@pytest.mark.slow
def test_evaluate_prints_a_table_and_draws(tmp_path):
    picture = tmp_path / "bars.png"
    result = run(
        "evaluate",
        "standard",
        "--against",
        "easy",
        "--pairs",
        20,
        "--rules",
        "party",
        "--players",
        5,
        "--seed",
        3,
        "--plot",
        picture,
    )
    assert result.exit_code == 0
    assert "party players=5" in result.stdout
    assert "±" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_evaluate_takes_the_rules_of_a_checkpoint(tmp_path):
    write_player(tmp_path / "player.safetensors")
    result = run(
        "evaluate", tmp_path / "player.safetensors", "--against", "easy", "--pairs", 20, "--json"
    )
    assert json.loads(result.stdout)[0]["rules"] == "micro"
    refused(
        run("evaluate", tmp_path / "player.safetensors", "--rules", "two_player", "--pairs", 20),
        "micro",
        "two_player",
    )


MINE = """
class Mine:
    def __init__(self, last=False):
        self.place = -1 if last else 0

    def act(self, view):
        return view.legal_actions()[self.place]
"""


@pytest.mark.slow
def test_an_agent_of_one_s_own_is_measured_by_its_file(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    words = ("evaluate", "mine.py:Mine", "--against", "mine.py:Mine?last=true,random")
    records = json.loads(run(*words, "--pairs", 10, "--rules", "mini", "--json").stdout)
    assert [record["opponent"] for record in records] == ["mine.py:Mine?last=true", "random"]
    assert records[0]["agents"][1]["options"] == {"last": True}
    words = (*words[:3], "random", "--pairs", 10, "--rules", "mini", "--isolate", "--json")
    (isolated,) = json.loads(run(*words).stdout)
    assert isolated["margin"] == records[1]["margin"]
    assert isolated["isolated"]
    ranked = run("tournament", "mine.py:Mine", "mine.py:Mine?last=true", "easy", "--pairs", 10)
    assert ranked.exit_code == 0
    assert "mine.py:Mine?last=true" in ranked.stdout
    refused(run("evaluate", "mine.py:Mein", "--pairs", 10), "did you mean 'Mine'")
    refused(run("evaluate", "mine.py:Mine?lst=1", "--pairs", 10), "did you mean 'last'")
    refused(run("exploit", "mine.py:Mein"), "did you mean 'Mine'")


@pytest.mark.slow
def test_what_cannot_be_measured_is_refused_before_anything_is_dealt(tmp_path):
    refused(run("evaluate", "pimc", "--rules", "classic"), "pimc plays two-player games only", "4")
    refused(run("tournament", "easy", "equilibrium"), "equilibrium plays micro and mini only")
    refused(run("play", "--against", "pimc", "--rules", "classic"), "pimc plays two-player games")
    refused(run("exploit", "equilibrium", "--rules", "micro hand_size=2"), "equilibrium plays")
    refused(run("evaluate", "easy", "--time-limit", 3), "time_limit", "isolate")
    refused(run("evaluate", "easy", "--out", tmp_path / "no" / "results"), "--out", "folder")


def test_tournament():
    args = ("tournament", "easy", "standard", "standard_trump", "--pairs", 200)
    result = run(*args)
    assert result.exit_code == 0
    assert "1. standard_trump" in result.stdout
    record = json.loads(run(*args, "--json").stdout)
    assert [row["agent"] for row in record["ranking"]] == ["standard_trump", "standard", "easy"]
    assert len(record["evaluations"]) == 3


SLOW_AGENT = """
import sys, time
from hearts_agents import register_agent

class Slow:
    calls = 0
    def act(self, view):
        Slow.calls += 1  # of all its copies
        if Slow.calls > 16 * 26 + 50:
            print("playing", file=sys.stderr, flush=True)
            time.sleep(60)
        return view.legal_actions()[0]

register_agent("slow", lambda seed=None: Slow())
"""


@pytest.mark.slow
def test_ctrl_c_prints_what_is_finished():
    args = ("evaluate", "slow", "--against", "easy,pro", "--pairs", 1_000_000, "--json")
    process = command(*args, before=SLOW_AGENT)
    assert process.stderr is not None
    while process.stderr.readline() != "playing\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    (record,) = json.loads(out)
    assert record["interrupted"]
    assert record["pairs"] == 16


@pytest.mark.parametrize(
    ("words", "seed"),
    [
        (["solve", "micro", "--iterations", 5], None),
        (["exploit", "easy", "--deck", "micro", "--seed", 3], 3),
        (["calibrate", "easy", "--model", "easy", "--rules", "micro", "--deals", 3], 0),
        (["endgame", "deal.txt", "--tricks", 2, "--agent", "easy", "--seed", 4], 4),
        (["complexity", "micro", "--pro-deals", 1, "--seed", 5], 5),
        (["analyse", "deal.txt"], None),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_records_say_what_they_were_measured_by(words, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    game = Game.deal("micro", seed=1)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    Path("deal.txt").write_text(game.to_text(), encoding="utf-8")
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


def test_ctrl_c_waits_where_it_must():
    reached = []

    def work():
        with held_interrupt():
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nope"], ["nope", "--help"]),
        (["--nope"], ["--nope"]),
        (["evaluate"], ["agent", "--help"]),
        (["evaluate", "standart"], ["'standart'", "did you mean 'standard'"]),
        (["evaluate", "pro", "--against", "bob"], ["'bob'", "easy"]),
        (["evaluate", "pro", "--against", ","], ["--against"]),
        (["evaluate", "pro", "--pairs", "x"], ["--pairs", "--help"]),
        (["evaluate", "pro", "--pairs", "1"], ["pairs", "2 to 10,000,000"]),
        (["evaluate", "pro", "--seed", "-1"], ["seed"]),
        (["evaluate", "pro", "--rules", "two_players"], ["did you mean 'two_player'"]),
        (["evaluate", "pro", "--rules", "classic", "--players", "3"], ["exactly 4", "3"]),
        (["evaluate", "pro", "--rules", "two_player trum=H"], ["'trum'", "did you mean 'trump'"]),
        (["evaluate", "pro", "--rules", "two_player trump=X"], ["trump", "'X'"]),
        (["evaluate", "nowhere.safetensors"], ["nowhere.safetensors"]),
        (["tournament", "pro"], ["2 or more"]),
        (["tournament", "pro", "pro"], ["twice"]),
        (["play", "--against", "bob"], ["'bob'"]),
        (["play", "--seat", "4"], ["seat", "0 to 1"]),
        (["play", "--against", "pro,easy"], ["2 agents", "1 seat"]),
        (["play", "--seed", "-3"], ["seed"]),
        (["rules", "twoplayer"], ["did you mean 'two_player'"]),
        (["rules", "party", "--players", "9"], ["3 to 7", "9"]),
        (["replay", "nowhere.txt"], ["nowhere.txt"]),
        (["train", "nowhere"], ["nowhere"]),
        (["train", "smoke", "--set", "x=1"], ["'x'"]),
        (["train", "smoke", "--set", "env.rules=two_players"], ["two_player"]),
        (["train", "--resume", "nowhere"], ["nowhere"]),
        (["train", "--resume", "nowhere", "--out", "there"], ["--out"]),
    ],
)
def test_a_mistake_is_one_line_with_the_mend(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(run(*args), *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_files_that_are_no_checkpoints(tmp_path):
    write_player(tmp_path / "whole.safetensors")
    whole = (tmp_path / "whole.safetensors").read_bytes()
    bad = tmp_path / "bad.safetensors"
    for content in (b"", b"junk", whole[:100], whole[:-10], whole.replace(b"flat", b"flot")):
        bad.write_bytes(content)
        refused(run("evaluate", bad, "--pairs", 2), "bad.safetensors")
        assert bad.read_bytes() == content


@pytest.mark.slow
def test_mistakes_in_a_process_of_its_own():
    process = command("evaluate", "standart", "--json")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("error: agent: 'standart'")


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    for name in [name for name in sys.modules if name.startswith("hearts_train.")]:
        if name.rpartition(".")[2] in ("config", "training", "runs", "train_command"):
            monkeypatch.delitem(sys.modules, name)
    refused(run("train", "smoke"), "pydantic", 'pip install -e ".[train]"')


# ---- train, bench --------------------------------------------------------------------------------
def test_train_evaluates_and_leaves_a_run(tmp_path):
    pytest.importorskip("sb3_contrib")
    out = tmp_path / "run"
    result = run(
        "train",
        "smoke",
        "--out",
        out,
        "--set",
        "budget.decisions=2000",
        "--set",
        "evaluation.pairs=20",
        "--json",
    )
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
    again = run("evaluate", out, "--against", "easy", "--pairs", 20, "--json")
    assert json.loads(again.stdout)[0]["rules"] == "micro"
    refused(run("train", "smoke", "--out", out), "--resume")


@pytest.mark.slow
def test_bench(tmp_path):
    result = run("bench", "--quick", "--json", "--plot", tmp_path / "speed.png")
    assert result.exit_code == 0, result.stderr
    results = json.loads(result.stdout)
    measured = [row for row in results if not row["missing"]]
    assert all(row["low"] <= row["value"] <= row["high"] for row in measured)
    assert {row["name"] for row in results if row["ours"]} <= {row["name"] for row in measured}
    assert {"hearts_v0.env, two_player", "OpenSpiel hearts"} <= {row["name"] for row in results}
    for row in results:
        assert row["name"] in result.stderr
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
    alone = json.loads(run("bench", "--quick", "--json", "--no-peers").stdout)
    assert all(row["ours"] for row in alone)
    refused(run("bench", "--plot", tmp_path / "none" / "x.png"), "--plot", "no folder")


def test_a_plot_into_no_folder_is_refused_before_anything_is_played(tmp_path):
    refused(run("evaluate", "easy", "--plot", tmp_path / "none" / "x.png"), "--plot", "no folder")


@pytest.mark.slow
def test_a_tournament_is_drawn(tmp_path):
    picture = tmp_path / "margins.svg"
    result = run("tournament", "easy", "standard", "pro", "--pairs", 20, "--plot", picture)
    assert result.exit_code == 0, result.stderr
    shown = re.findall(r"<!-- (.*?) -->", picture.read_text())
    for row in re.findall(r"[+-]\d+\.\d\d ± \d\.\d\d", result.stdout.split("margin of")[1]):
        margin, half = row.split(" ± ")
        assert margin in "".join(shown)
        assert f"± {half}" in "".join(shown)
    refused(
        run("tournament", "easy", "pro", "--plot", tmp_path / "none" / "x.png"),
        "--plot",
        "no folder",
    )


def test_training_names_all_recipes_in_its_help():
    told = run("train", "--help").stdout
    for name in shipped_configs():
        assert re.search(rf"\b{name}\b(?!_)", told), name


def test_rules_and_agents_fit_the_terminal(monkeypatch):
    monkeypatch.setattr(CardText, "of", lambda: CardText(color=False, symbols=True, wraps=True))
    monkeypatch.setenv("COLUMNS", "70")
    for words in (("rules",), ("rules", "two_player"), ("agents",)):
        lines = run(*words).stdout.splitlines()
        values = [line for line in lines if line.startswith(("  [", "  {"))]  # never cut
        assert max(len(line) for line in lines if line not in values) <= 80
        assert len(lines) > 20


def test_help_is_grouped_and_every_command_has_an_example():
    shown = run("--help").stdout
    places = [shown.index(f"\n{group}:") for group in ("Play", "Train", "Measure", "Solve")]
    assert places == sorted(places)
    assert "\nCommands:" not in shown  # none was forgotten
    names = re.findall(r"^  ([a-z]+)  ", shown, re.MULTILINE)
    assert len(names) >= 14
    for name in names:
        assert f"Example: hearts {name}" in run(name, "--help").stdout


def test_a_policy_that_would_be_no_player_is_refused(tmp_path):
    refused(
        run("solve", "micro", "--policy", tmp_path / "x.safetensors"), "--policy", "x.safetensors"
    )
    assert list(tmp_path.iterdir()) == []


def test_tables_name_runs_by_their_folder(tmp_path):
    for name in ("first", "second"):
        folder = tmp_path / "a-very-long-path" / name
        folder.mkdir(parents=True)
        write_player(folder / CHECKPOINT_NAME)
    paths = [tmp_path / "a-very-long-path" / name for name in ("first", "second")]
    shown = run("tournament", *paths, "easy", "--pairs", 4).stdout
    assert "over first" in shown
    best = paths[0] / "checkpoints" / "best.safetensors"
    best.parent.mkdir()
    write_player(best)
    assert "over first best" in run("tournament", best, "easy", "--pairs", 4).stdout
    assert "a-very-long-path" not in shown
    assert max(map(len, shown.splitlines())) < 100
    shown = run("evaluate", paths[0], "--against", paths[1], "--pairs", 4).stdout
    assert "a-very-long-path" not in shown


LONG = "a" * 250


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("evaluate easy --out p.svg --plot p.svg", "--plot: p.svg is --out too"),
        ("evaluate easy --resume p.svg --plot ./p.svg", "--plot: p.svg is --out too"),
        ("tournament easy pro --out p.svg --plot p.svg", "--plot: p.svg is --out too"),
        ("solve micro --out y.npz --policy y.npz", "--policy: y.npz is --out too"),
        ("benchmark easy --out z.html --html z.html", "--html: z.html is --out too"),
        ("benchmark --verify z.html --html z.html", "--html: z.html is --verify too"),
        ("analyse deal.html --html deal.html", "--html: deal.html is FILE too"),
        ("equity --out p.svg --plot p.svg", "--plot: p.svg is --out too"),
        ("matches easy --against pro --out kept", "--out: kept already exists"),
        ("train smoke --out .", "run: '.' has other files, like"),
        ("evaluate easy --out /", "--out: '/' is a folder; give the name of a file"),
        ("compare easy pro --out .", "--out: '.' is a folder"),
        ("attack easy --out ..", "--out: '..' is a folder"),
        ("matches easy --against pro --out .", "--out: '.' is a folder"),
        ("benchmark easy --out .", "--out: '.' is a folder"),
        ("benchmark --resume .", "resume: '.' is a folder"),
        ("benchmark --resume kept", "resume: 'kept' is there, so that nothing is unfinished"),
        (f"evaluate easy --out {LONG}", "is too long for a file"),
        (f"evaluate easy --plot {LONG}.png", "is too long for a file"),
        ("evaluate easy --isolate --time-limit 1e10", "time_limit: 1e+10 seconds are more than"),
        ("solve micro --algorithm ,", "--algorithm: ',' names nothing; give a name"),
        ("evaluate /dev/null", "'/dev/null' is not an ordinary file"),
        ("solve --resume .", "--resume: . is not a file"),
        ("replay deal.html --svg kept", "--svg: kept is not a folder"),
    ],
)
def test_nothing_is_written_over_and_no_folder_is_taken_for_a_file(
    words, told, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").write_text("precious")
    (tmp_path / "deal.html").write_text(Game.deal("micro", seed=1).to_text())
    refused(run(*words.split()), told)
    assert (tmp_path / "kept").read_text() == "precious"
