"""``hearts play``: input and output, saving after every card, resuming and hints."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from hearts_agents import make_agent
from hearts_env import Game, Rules
from hearts_env.cards import card_text
from hearts_env.game.notation import parse_records
from hearts_train.cli.terminal import TerminalGame, new_game, saved_game
from hearts_train.measure.analysis import best_hinter, hint
from tests.deals import make_game
from tests.players import code_named, write_player
from tests.refusals import mistake
from tests.test_cli import command, run
from tests.waiting import HANG

SMALL = "party players=4 hand_size=3 pass_count=1"


def person(game: TerminalGame, cards: int = 10_000):
    """Play the lowest legal card `cards` times, then end the input."""
    left = iter(range(cards))

    def ask(prompt: str) -> str | None:
        if next(left, None) is None:
            return None
        table = game.game
        return table.rules.action_name(table.legal_actions()[0]).removeprefix("moon:")

    return ask


def deals_in(path) -> list[Game]:
    return [record.game for record in parse_records(path.read_text(encoding="utf-8"))]


# ---- to the end ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rules", "against"),
    [
        ("two_player", ["pro"]),
        ("classic", ["standard"]),
        ("kitty players=3", ["easy", "standard"]),
        ("hoyle players=2 stake=10", ["easy"]),
    ],
)
def test_game_is_played_to_its_end_and_saved(rules, against, tmp_path):
    path = tmp_path / "game.txt"
    words = ["--rules", rules, "--opponent", ",".join(against)]
    first = run("play", *words, "--seed", 4, "--save", path, input="")
    assert first.exit_code == 0
    game = TerminalGame(saved_game(path))
    assert game.play(path, person(game))
    assert deals_in(path) == [game.game]
    assert game.game.is_over
    mistake(run("play", "--resume", path), "--resume", "over")
    assert run("replay", path).exit_code == 0


def test_play_answers_help_hint_and_wrong_cards(tmp_path):
    """Help, hint, rules, a wrong card, a legal one and quit are each answered."""
    path = tmp_path / "game.txt"
    lines = ["what?", "hint", "AS", "9C", "rules", "2♣", "quit"]
    words = ["--seed", 3, "--opponent", "standard", "--save", path]
    text = run("play", *words, input="\n".join(lines)).stdout
    assert text.startswith("two_player, seed 3. Take as few points as you can: each heart costs 1,")
    assert text.count("Type a card like QS or 10h") == 2
    assert "Best: 2♣." in text
    assert "A♠ cannot be played now; choose from 2♣." in text
    assert "9♣ is not in your hand" in text
    assert "highest trump (hearts)" in text
    assert re.search(r" 1\. You lead: 2♣ \S+   taken by standard", text)
    assert f"hearts play --resume {path}" in text.replace("\n", " ")
    (deal,) = deals_in(path)
    assert deal.history[0] == (0, "2C")
    assert deal.start() == Game.deal("two_player", 3)


@pytest.mark.parametrize("word", ["2c", "2C", "2♣", ""])
def test_card_names_vary_and_enter_plays_forced_card(word):
    words = ["--seed", 3, "--opponent", "standard"]
    assert " 1. You lead: 2♣ " in run("play", *words, input=f"{word}\n").stdout


@pytest.mark.parametrize(("choice", "scores"), [("off", [-20, 0]), ("others", [0, 20])])
def test_shooter_chooses_how_the_moon_is_scored(choice, scores, capsys):
    """With seed 2 the person holds the ace of hearts, the only penalty card."""
    rules = Rules.from_text('micro moon=choose moon_points=20 card_points={"AH":1}')
    game = TerminalGame(new_game(rules, 2, ["easy"]))
    play = person(game)
    assert "AH" in game.game.hand(0)
    assert game.play(None, lambda prompt: choice if "others" in prompt else play(prompt))
    assert game.game.scores() == scores
    out = capsys.readouterr().out
    assert "You choose to" in out
    assert out.endswith(f"You won by {scores[1] - scores[0]}.\n")


def test_play_shows_only_what_the_player_may_know():
    game = Game.deal("two_player", 6)
    result = run("play", "--opponent", "pro", "--seed", 6, input="hint\n")
    hidden = {*map(card_text, (*game.hand(1), *game.kitty))}
    leads = re.findall(r"pro leads: (\S+)", result.stdout)
    assert leads
    assert not {card for card in hidden - {*leads} if card in result.stdout}


def test_exchange_shows_no_cards_passed_by_others():
    game = Game.deal("classic", 8)
    lines = "\n".join(game.hand(0)[:3])
    words = ["--rules", "classic", "--opponent", "standard", "--seed", 8]
    text = run("play", *words, input=lines).stdout
    assert "3 cards to pass left." in text
    assert "1 card to pass left." in text
    assert re.search(r"You pass (\S+ ){2}\S+ left and receive (\S+ ){2}\S+\.", text)
    received, told = re.search(r"receive (.*?)\.\n(.*)", text, re.DOTALL).groups()
    own = {*map(card_text, game.hand(0))} | {*received.split()}
    played = {*re.findall(r"(?:10|[\dJQKA])[♣♦♠♥]", told.partition("Your hand")[0])}
    shown = {*re.findall(r"(?:10|[\dJQKA])[♣♦♠♥]", text)}
    assert shown - own == played - own
    assert len(played - own) <= 3


# ---- nothing is lost -----------------------------------------------------------------------------
def test_resumed_game_equals_an_uninterrupted_one(tmp_path):
    against = ["pro", "easy", "standard"]

    def all_played(step: int) -> Game:
        path = tmp_path / f"{step}.txt"
        game = TerminalGame(new_game(Rules.from_text(SMALL), 7, against))
        while not game.play(path, person(game, step)):
            game = TerminalGame(saved_game(path))
        return game.game

    whole = all_played(10_000)
    assert whole.is_over
    for step in (1, 2, 3):
        assert all_played(step) == whole


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text.replace('[Seed "3"]\n', ""),
        lambda text: text.replace('[Seed "3"]', f'[Seed "{"9" * 5_000}"]'),
        lambda text: text.replace('"standard"', '"nobody"'),
        lambda text: text.replace('"two_player"', '"micro"'),
        lambda text: Game.deal("mini", 1).to_text(),
    ],
)
def test_damaged_game_is_one_line(damage, tmp_path):
    path = tmp_path / "game.txt"
    run("play", "--seed", 3, "--opponent", "standard", "--save", path, input="\n")
    text = path.read_text(encoding="utf-8")
    path.write_text(damage(text), encoding="utf-8")
    assert damage(text) != text
    mistake(run("play", "--resume", path), "")


def test_game_that_names_code_needs_permission(tmp_path):
    path = tmp_path / "game.txt"
    run("play", "--seed", 3, "--opponent", "standard", "--save", path, input="\n")
    text = path.read_text(encoding="utf-8").replace('"standard"', '"exec:touch x"')
    path.write_text(text, encoding="utf-8")
    mistake(run("play", "--resume", path), "resume", "--allow-code")


def test_opponent_that_the_file_cannot_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("pro", 'a "b"', "a\nb", "a [2]"):
        Path(name).mkdir()
        write_player(Path(name, "checkpoint.safetensors"))
        result = run("play", "--opponent", f"./{name}", "--save", "game.txt", input="\n")
        if name != "pro":
            mistake(result, "--opponent", "--save")
            assert not Path("game.txt").exists()
            continue
        assert saved_game(Path("game.txt")).tags["Player 1"] == "./pro"
        Path("game.txt").unlink()


def test_save_never_overwrites_and_resume_takes_no_settings(tmp_path):
    path = tmp_path / "game.txt"
    run("play", "--seed", 3, "--opponent", "standard", "--save", path, input="\n")
    mistake(run("play", "--save", path), "--save")
    mistake(run("play", "--save", tmp_path / "none" / "x.txt"), "--save")
    mistake(run("play", "--resume", path, "--seed", 3), "--seed", "--resume")
    mistake(run("play", "--resume", tmp_path / "none.txt"), "")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [("SIGKILL", -9), ("SIGTERM", 143), ("SIGINT", 130)])
def test_game_stopped_from_outside_is_kept(number, status, tmp_path):
    path = tmp_path / "game.txt"
    process = command("play", "--seed", "3", "--opponent", "standard", "--save", str(path))
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdin.write("\n")  # one card is legal
    process.stdin.flush()
    while not process.stdout.readline().startswith("Trick 2"):
        assert process.poll() is None
    process.send_signal(getattr(signal, number))
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == status
    assert "Traceback" not in err
    assert ("--resume" in err) == (number != "SIGKILL")
    game = saved_game(path).game
    assert game.history[0] == (0, "2C")
    assert game.current_player == 0


# ---- agents that misbehave -----------------------------------------------------------------------
class Wrong:
    """Plays its first card, then does something wrong."""

    def __init__(self, what: str) -> None:
        self.what = what

    def act(self, view):
        if len(view.history) < 2:
            return view.legal_actions()[-1]
        if self.what == "raised":
            raise BaseException("oh")
        return 99


@pytest.mark.parametrize("what", ["raised", "illegal"])
def test_deal_continues_when_an_agent_misbehaves(what, monkeypatch, capsys):
    wrong = code_named("wrong", lambda: Wrong(what), monkeypatch)
    rules = Game.deal("two_player hand_size=4", 0).rules
    game = TerminalGame(new_game(rules, 3, [wrong]))
    assert game.play(None, person(game))
    out = " ".join(capsys.readouterr().out.split())
    assert out.count(f":wrong committed a fault ({what});") >= 2
    assert "legal were" not in out  # that would tell the hand


# ---- hints ---------------------------------------------------------------------------------------


def test_hints_come_from_best_player_for_rules():
    assert best_hinter(Game.deal("two_player", 0).view(0)) == "pimc"
    assert best_hinter(Game.deal("classic", 0).view(0)) == "pro"
    assert best_hinter(Game.deal("two_player removed=[] hand_size=10", 0).view(0)) == "pro"


def test_hint_without_worlds_shows_probabilities():
    game = make_game("2C 3C / 4C 5C", dealer=1, first_lead="eldest_hand")
    view = game.view(0)
    found = hint(make_agent("easy", seed=1), view)
    assert found.chances == ((0, 0.5), (1, 0.5))
    assert found.action == 0
