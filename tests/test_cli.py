"""The command line: what it prints where, its exit status, mistakes, play from a pipe."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hearts_agents import make_agent
from hearts_agents.network import CHECKPOINT_NAME, Checkpoint, save_checkpoint
from hearts_env import Game, Rules
from hearts_env._interrupts import held_interrupt
from hearts_env.encoders import make_encoder
from hearts_env.rules import FIELDS, PRESETS
from hearts_train.cardtext import CardText
from hearts_train.cli import app
from hearts_train.explain import SUMMARIES, explain, option_rows
from hearts_train.terminal import Table
from tests.deals import make_game, play

COMMANDS = ["train", "evaluate", "tournament", "play", "replay", "bench", "rules", "agents"]
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
    code = f"{before}\nfrom hearts_train.cli import main; main()"
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


@pytest.fixture
def history(tmp_path):
    """A file with two games, the second unfinished."""
    texts = []
    for rules, cards in (("two_player", 26), ("classic", 30)):
        game, rng = Game.deal(rules, 4, deal_number=0), random.Random(4)
        while game.legal_actions() and len(game.actions) < cards:
            game.play(rng.choice(game.legal_actions()))
        texts.append(game.to_text())
    path = tmp_path / "games.txt"
    path.write_text("\n".join(texts))
    return path


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
def test_help_names_all_commands():
    result = run("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout
        assert run(name, "--help").exit_code == 0
    assert run().stdout == result.stdout
    assert run("--version").stdout.startswith("hearts-env ")


def test_help_is_light_and_playing_needs_no_torch():
    script = (
        "import sys\n"
        "from hearts_train import cli\n"
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


@pytest.mark.parametrize(
    ("preset", "players"),
    [(name, n) for name, (numbers, _) in PRESETS.items() for n in (numbers[0], numbers[-1])],
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
        (["evaluate", "pro", "--pairs", "1"], ["pairs", "2 or more"]),
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


def test_files_that_are_no_checkpoints(tmp_path):
    write_player(tmp_path / "whole.safetensors")
    whole = (tmp_path / "whole.safetensors").read_bytes()
    bad = tmp_path / "bad.safetensors"
    for content in (b"", b"junk", whole[:100], whole[:-10], whole.replace(b"flat", b"flot")):
        bad.write_bytes(content)
        refused(run("evaluate", bad, "--pairs", 2), "bad.safetensors")
        assert bad.read_bytes() == content


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
        if name.rpartition(".")[2] in ("config", "ppo", "runs", "train_command", "networks"):
            monkeypatch.delitem(sys.modules, name)
    refused(run("train", "smoke"), "pydantic", "pip install 'hearts-env[train]'")


# ---- replay --------------------------------------------------------------------------------------
def test_replay_shows_all(history):
    result = run("replay", history, "--all")
    assert result.exit_code == 0
    games = result.stdout.split("Game ")
    assert len(games) == 3
    scores = Game.from_text(history.read_text().split("\n\n[Rules")[0]).scores()
    assert f"scores: player 0 {scores[0]}, player 1 {scores[1]}" in games[1]
    assert "13. player" in games[1]
    assert "player 3 passes" in games[2]
    assert "not finished" in games[2]


def test_replay_shows_the_award_of_the_kitty(tmp_path):
    first = make_game("2C 3H / 3C 2H", "4D 5D", kitty_to="first_trick")
    heart = make_game("2C 4D 3H / 3C 5D 2H", "QS 4H", kitty_to="first_heart")
    texts = [play(first, "2C 3C").to_text(), play(heart, "2C 3C 5D 4D 2H 3H").to_text()]
    (tmp_path / "games.txt").write_text("\n".join(texts))
    lines = run("replay", tmp_path / "games.txt").stdout.splitlines()
    assert [line for line in lines if "taken" in line] == [
        " 1. player 0 leads: 2♣ 3♣   taken by player 1, and the kitty 4♦ 5♦",
        " 1. player 0 leads: 2♣ 3♣   taken by player 1",
        " 2. player 1 leads: 5♦ 4♦   taken by player 1",
        " 3. player 1 leads: 2♥ 3♥   taken by player 0, +2, and the kitty Q♠ 4♥ +14",
    ]


def test_replay_draws_pictures(history, tmp_path):
    result = run("replay", history, "--svg", tmp_path / "pictures")
    assert result.exit_code == 0
    pictures = sorted((tmp_path / "pictures").iterdir())
    assert len(pictures) == 27 + 31
    assert all("<svg" in picture.read_text()[:200] for picture in pictures)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: "", ["no game"]),
        (lambda t: t.replace("two_player", "two_players"), ["did you mean 'two_player'"]),
        (lambda t: t.replace("2C", "4C", 1), ["4C"]),
        (lambda t: t.replace("\n1. ", "\n1. 0: AH AD\n1. "), ["line", "AH"]),
        (lambda t: t.replace("\n2. ", "\n3. "), ["line"]),
        (lambda t: t.replace("[Scores", "[Score"), ["line"]),
        (lambda t: t + "\nhello", ["line", "hello"]),
    ],
)
def test_replay_refuses_impossible_histories(change, words, tmp_path):
    game, rng = Game.deal("two_player", 4), random.Random(4)
    while legal := game.legal_actions():
        game.play(rng.choice(legal))
    path = tmp_path / "bad.txt"
    path.write_text(change(game.to_text()))
    refused(run("replay", path), "bad.txt", *words)


def test_replay_of_what_is_not_text(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    refused(run("replay", tmp_path / "bytes"), "not text")
    refused(run("replay", tmp_path), str(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
@pytest.mark.parametrize("command", ["replay", "analyse", "endgame"])
def test_devices_and_pipes_are_no_hand_histories(command, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        refused(run(command, path), str(path), "not an ordinary file; give hand histories")


# ---- play ----------------------------------------------------------------------------------------
def play_through(*args, moves=400):
    """Plays from a pipe by trying, at each turn, the cards of the deck, until it is over."""
    deck = Rules().deck
    lines = [line for _ in range(moves) for line in (*deck, "others")]
    return run("play", *args, input="\n".join(lines))


@pytest.mark.parametrize(
    "args",
    [
        ["--seed", 1],
        ["--seed", 2, "--seat", 1, "--against", "standard"],
        ["--rules", "classic", "--against", "standard", "--seed", 3],
        ["--rules", "kitty", "--players", 3, "--against", "easy,standard", "--seed", 3],
        ["--rules", "no_pass moon_points=7", "--against", "easy", "--seed", 5],
        ["--rules", "micro", "--match", "--against", "easy", "--seed", 4],
        ["--rules", "hoyle stake=10", "--players", 2, "--match", "--against", "easy", "--seed", 4],
    ],
)
def test_play_to_the_end(args):
    result = play_through(*args)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "The deal is over." in result.stdout
    assert "lowest score" in result.stdout
    assert bool(re.search(r"wins? the match\.", result.stdout)) == ("--match" in args)
    assert "left the table" not in result.stdout


def test_play_shows_only_what_the_player_may_know():
    game = Game.deal("two_player", 6)
    result = run("play", "--seed", 6, "--seat", 0, input="hint\nhistory\nrules\nhelp\n")
    played = {card for _, card in game.history}
    shown = result.stdout.split("Play> rules")[0].replace("Q♠", "")
    symbols = dict(zip("CDSH", "♣♦♠♥", strict=True))
    hidden = [*game.hand(1), *game.kitty]
    opening = {card[0] + symbols[card[1]] for card in hidden if card not in played}
    leads = next((line for line in shown.splitlines() if line.startswith("pro plays")), "")
    assert not [name for name in opening if name in shown and name not in leads]
    assert result.stdout.rstrip().endswith("You have left the table.")


def test_play_commands(tmp_path):
    saved = tmp_path / "deal.txt"
    lines = [
        "help",
        "hint",
        "hin",
        "nonsense",
        "9z",
        "xx yy",
        "AS AS",
        "undo",
        "his",
        "rules",
        "save",
        f"save {saved}",
        "save /nowhere/deal.txt",
        "?",
        "",
        "undo",
        "hist",
        "quit",
    ]
    result = run("play", "--seed", 3, input="\n".join(lines))
    assert result.exit_code == 0
    text = result.stdout
    assert "pro would choose 2♣" in text  # seed 3: forced
    assert "neither a card that fits nor a command" in text
    assert "There is nothing to take back." in text
    assert "Nothing has been played yet." in text
    assert "highest trump (hearts)" in text
    assert "cannot be written" in text
    assert "You play 2♣." in text
    assert "Taken back." in text
    assert "You have left the table." in text
    assert Game.from_text(saved.read_text()) == Game.deal("two_player", 3)


@pytest.mark.parametrize("word", ["2c", "2C", "2♣", "2", "c"])
def test_play_knows_a_card_by_many_names(word):
    assert "You play 2♣." in run("play", "--seed", 3, input=f"{word}\n").stdout


def test_play_says_why_not():
    text = run("play", "--seed", 3, input="AS\n9C\n").stdout
    assert "AS cannot be played now; you may take 2♣" in text
    assert "9C is not in your hand" in text


def test_exchange_takes_several_cards_at_once():
    game = Game.deal("classic", 8)
    assert game.phase == "pass"
    hand = game.hand(0)
    text = run(
        "play",
        "--rules",
        "classic",
        "--against",
        "standard",
        "--seed",
        8,
        input=f"{' '.join(hand[:4])}\n{' '.join(hand[:3])}\n",
    ).stdout
    assert "4 cards are too many; 3 are still to be passed" in text
    assert "You pass" in text


def test_play_shows_the_award_of_the_kitty():
    args = ("--rules", "kitty", "--players", 5, "--against", "standard", "--seed", 3)
    text = play_through(*args).stdout
    game = Game.deal(Rules.preset("kitty", 5), 3)
    shown = CardText(color=False, symbols=True).cards(game.kitty)
    points = sum(game.rules.card_points.get(card, 0) for card in game.kitty)
    assert points == 2  # 5H and 7H
    assert re.search(rf"takes? trick 1( \(\+\d+\))?, and the kitty {shown} \(\+2\)\.", text)
    assert text.count("and the kitty") == 1


@pytest.mark.parametrize(
    ("hands", "line"),
    [
        ("2C / 3C / 2H / 3H", "You, 2:c and 3:d have the lowest score."),
        ("3C / 2C / 2H", "1:b and 2:c have the lowest score."),
        ("3H / 2H", "1:b has the lowest score."),
        ("2H / 3H", "You have the lowest score."),
    ],
)
def test_all_who_share_the_lowest_score_are_named(hands, line, capsys):
    cards = hands.split(" / ")
    last = len(cards) - 1
    game = make_game(hands, dealer=last, first_lead="eldest_hand", break_on=None, moon="none")
    play(game, " ".join(cards))
    names = ["you", "1:b", "2:c", "3:d"][: len(cards)]
    table = Table(game, 0, {}, names, make_agent("easy"), CardText(color=False, symbols=False))
    table._show_result(game)
    assert capsys.readouterr().out.splitlines()[-2] == line


def test_undo_takes_back_to_the_last_decision():
    text = run("play", "--seed", 3, input="2c\nundo\n2c\n").stdout
    plays = [line for line in text.splitlines() if "plays" in line]
    assert len(plays) == 4  # pro answers and leads, twice
    assert plays[:2] == plays[2:]  # and as it did before


def test_play_can_be_stopped():
    process = command("play", "--seed", "3")
    assert process.stdout is not None
    while not process.stdout.readline().startswith("Your hand"):
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_cards_without_symbols_or_colours():
    assert CardText(color=False, symbols=False).cards(["QS", "TH"]) == "QS TH"
    assert CardText(color=False, symbols=True).cards(["QS", "TH"]) == "Q♠ T♥"
    assert "\x1b[" in CardText(color=True, symbols=True).card("QS")
    assert CardText(color=False, symbols=False).hand(["2C", "QS"], ["QS"]) == "(2C)   QS"


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
    opponents = [row["opponent"] for row in record["evaluations"]]
    assert opponents == ["easy", "standard", "standard_trump", "pro"]
    assert Path(record["checkpoint"]) == out / CHECKPOINT_NAME
    assert json.loads((out / "evaluation.json").read_text()) == record["evaluations"]
    assert (out / "evaluation.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "config.yaml").exists()
    again = run("evaluate", out, "--against", "easy", "--pairs", 20, "--json")
    assert json.loads(again.stdout)[0]["rules"] == "micro"
    refused(run("train", "smoke", "--out", out), "--resume")


def test_bench_and_warmup(tmp_path):
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
    assert "compiled" in run("warmup").stdout


def test_a_plot_into_no_folder_is_refused_before_anything_is_played(tmp_path):
    refused(run("evaluate", "easy", "--plot", tmp_path / "none" / "x.png"), "--plot", "no folder")
