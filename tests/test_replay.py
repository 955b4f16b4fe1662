"""``hearts replay``: its text, its pictures and its refusals."""

from __future__ import annotations

import json
import os
import re
import sys
from urllib.request import urlopen

import pytest

from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_train.cli.replay import lines_of
from tests.deals import make_game, play
from tests.refusals import mistake
from tests.strategies import played_on
from tests.test_cli import run


@pytest.fixture
def history(tmp_path):
    """A file with two games, the second unfinished."""
    games = [played_on("two_player", 4, 26), played_on("classic", 4, 30, deal_number=0)]
    path = tmp_path / "games.txt"
    path.write_text("\n".join(game.to_text() for game in games))
    return path


def test_replay_shows_every_game(history):
    result = run("replay", history)
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


def test_replay_opens_the_board_of_all_deals(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    games = [micro_record().game, micro_record().game]
    (tmp_path / "games.txt").write_text("\n".join(game.to_text() for game in games))
    mistake(
        run("replay", tmp_path / "games.txt", "--board", "--plot", "a.gif"), "--board", "--plot"
    )
    assert not opened
    for _ in range(2):
        assert run("replay", tmp_path / "games.txt", "--board").exit_code == 0
    page = opened.pop()
    assert opened == [page]  # the next board replaces the last
    with urlopen(page) as file:
        found = re.search(r'id="deals">(.*?)</script>', file.read().decode(), re.DOTALL)
    assert [deal["scores"] for deal in json.loads(found[1])] == [game.scores() for game in games]


def test_replay_writes_an_animation(tmp_path):
    image = pytest.importorskip("PIL.Image")
    games = [micro_record().game, micro_record().game]
    (tmp_path / "games.txt").write_text("\n".join(game.to_text() for game in games))
    mistake(run("replay", tmp_path / "games.txt", "--plot", "deal.avi"), "--plot", ".gif")
    moving = tmp_path / "deal.gif"
    result = run("replay", tmp_path / "games.txt", "--plot", moving)
    assert result.exit_code == 0
    positions = 2 * (1 + len(games[0].actions))
    assert f"{positions} positions" in result.stdout
    with image.open(moving) as shown:
        assert shown.size == (640, 480)
        assert shown.n_frames == positions
        times = []
        for frame in range(positions):
            shown.seek(frame)
            times.append(shown.info["duration"])
    assert times == ([800] * (positions // 2 - 1) + [2400]) * 2


def test_replay_reads_text_from_phones_and_editors(history, tmp_path):
    """Each file of two begins with a byte order mark, and suits are signs with a mark."""
    signs = {"QH": "Q\u2665\ufe0f", "QS": "q\u2660\ufe0e", "TC": "10\u2663"}
    first, second = history.read_text().split("\n\n[Rules")
    text = f"\ufeff{first}\n\n\ufeff[Rules{second}"
    for card, sign in signs.items():
        text = text.replace(card, sign)
    (tmp_path / "typed.txt").write_text(text, encoding="utf-8")
    assert run("replay", tmp_path / "typed.txt").stdout == run("replay", history).stdout


MICRO = """[Rules "micro"]
[Hand 0 "QC QS QH"]
[Hand 1 "AC AD AH"]
1. 0: QC AC
2. 1: AD QH
3. 0: QS AH
"""


def micro_record(**tags: str) -> Record:
    """Hearts are trump: seat 1 takes the first trick and the last, seat 0 its own queen's."""
    return Record(Game.from_text(MICRO), tags)


def test_replay_shows_player_names_and_event():
    tags = {"Player 0": "You", "Player 1": "pro", "Date": "2026-11-21", "Event": "club evening"}
    text = "\n".join(lines_of(Record(micro_record().game, tags), 1, 1))
    assert "You: Q♣   Q♠   Q♥" in text
    assert "club evening, 2026-11-21" in text
    assert " 1. You lead: Q♣ A♣   taken by pro" in text
    assert " 2. pro leads: A♦ Q♥   taken by you, +1" in text
    assert "scores: You 1, pro 14" in text
    assert "player" not in text


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
@pytest.mark.parametrize("command", ["replay", "analyse"])
def test_devices_pipes_folders_and_bytes_are_refused(command, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    mistake(run(command, tmp_path / "bytes"), str(tmp_path / "bytes"))
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path):
        mistake(run(command, path), "file", str(path))
