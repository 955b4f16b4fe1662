"""Terminals and pipes of every kind: no output of the command line ends in a traceback."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hearts_agents.models.checkpoint import Checkpoint
from hearts_agents.programs.process import python_environment
from hearts_env import Rules
from hearts_train import console
from hearts_train.cli.app import app
from hearts_train.cli.cardtext import show as show_text
from hearts_train.console import prepare_streams, print_table, say
from hearts_train.data import folder
from hearts_train.data.options import DatasetOptions
from hearts_train.learn import report
from hearts_train.learn.runs import CARD_NAME
from hearts_train.measure.benchmark import Benchmark, encoded, record_of
from hearts_train.measure.evaluation import evaluate
from hearts_train.screen import note, printable, progress
from hearts_train.store import sealed, unsealed
from tests.strategies import played_on

pytestmark = pytest.mark.skipif(os.name != "posix", reason="streams are closed by a shell")

NO_UTF8 = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def shell(words: str, redirection: str = "", given: bytes = b"", **variables: str):
    """Run a command line with redirected streams. Return status, output and errors."""
    script = "from hearts_train.cli import main; main()"
    line = f"exec {sys.executable} -c '{script}' {words} {redirection}"
    done = subprocess.run(
        ["sh", "-c", line],
        input=given,
        capture_output=True,
        check=False,
        env=python_environment() | variables,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, NO_UTF8])
def test_ascii_terminal_gets_plain_letters(variables):
    words = "evaluate standard --opponents easy --deals 4"
    status, out, err = shell(words, **variables)
    assert (status, err) == (0, b"")
    assert b"+-" in out
    assert out.isascii()
    heads = {len(line) for line in re.findall(rb"^.*? margin\b", out, re.MULTILINE)}
    ends = {len(line) for line in re.findall(rb"^.*? \+- [0-9.]+", out, re.MULTILINE)}
    assert len(heads) == 1
    assert heads == ends


@pytest.mark.slow
def test_play_reads_and_writes_any_terminal_encoding(data_folder):
    given = b"\xff\xfe\nhint\n\xe2\x99\xa0\n"
    status, out, err = shell("play --seed 3", given=given, **NO_UTF8)
    assert (status, err) == (0, b"")
    assert b"Best: 2C." in out
    assert out.isascii()
    status, out, _ = shell("play --seed 3", given=b"\xff\n", PYTHONIOENCODING="utf-8")
    assert status == 0
    assert out.count(b"Type a card like QS") == 2  # at the start and after an invalid card


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_western_terminals_get_the_letters_they_have(encoding):
    words = "evaluate standard --opponents easy --deals 4"
    status, out, err = shell(words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (status, err) == (0, b"")
    assert "±" in out.decode(encoding)
    given = b"\x81\nhint\n"  # a byte that cp1252 does not define
    status, out, err = shell("play --seed 3", "", given, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (status, err) == (0, b"")
    assert "Best: 2C." in out.decode(encoding)


@pytest.mark.parametrize(
    ("redirection", "words"),
    [(">&-", b"standard output is closed"), (">/dev/full", b"No space left on device")],
)
def test_unwritable_output_is_reported_in_one_line(redirection, words):
    status, out, err = shell("rules two_player", redirection)
    assert (status, out) == (2, b"")
    assert err.count(b"\n") == 1
    assert err.startswith(b"error: ")
    assert words in err


@pytest.mark.slow
def test_closed_input_counts_as_empty():
    status, out, err = shell("play --seed 3", "<&-")
    assert (status, err) == (0, b"")
    assert b"You have left the game" in out


@pytest.mark.slow
def test_closed_stderr_keeps_output_clean():
    status, out, _ = shell("evaluate standard --opponents easy --deals 4 --json", "2>&-")
    assert status == 0
    assert len(json.loads(out)) == 1
    assert shell("rules nonsense", "<&- >&- 2>&-") == (2, b"", b"")


class Closed(io.StringIO):
    """A terminal that is closed at the first letter."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")

    def flush(self) -> None:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    "words", [["evaluate", "standard", "--opponents", "easy"], ["tournament", "easy", "standard"]]
)
def test_results_are_written_after_the_terminal_closes(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", Closed())
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(SystemExit) as ended:
        app([*words, "--rules", "micro", "--deals", "4", "--json"])
    assert ended.value.code == 0
    assert len(json.loads(capsys.readouterr().out)) >= 1


def test_every_letter_of_messages_has_a_plain_form(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    prepare_streams()
    print("1.5 ± 0.2 ♣♦♠♥ ✓ é")
    sys.stdout.flush()
    assert raw.getvalue() == b"1.5 +- 0.2 CDSH * ?\n"


# ---- texts of strangers --------------------------------------------------------------------------
EVIL = "A\x1b]0;owned\x07\x9b31m\u202eB\u2066\ud800\r\x7f"
"""A name with codes for the terminal, marks of direction and half a character."""
PLAIN = r"A\x1b]0;owned\x07\x9b31m\u202eB\u2066\ud800\r\x7f"


def test_everything_printed_is_printable(capsys):
    for show in (note, say, show_text):
        show(f"{EVIL} é\u00a0♠\n\tx")
    print_table(EVIL, ["name", EVIL], [[f"{EVIL}\nx", "1"]])
    with progress(EVIL) as report:
        for done in (1, 2, 3):
            report(done, 3, EVIL)
    out, err = capsys.readouterr()
    assert f"{PLAIN} é\u00a0♠\n\tx\n" in out
    assert f"{PLAIN} é\u00a0♠\n\tx\n" in err
    assert f"{PLAIN}\\nx " in out
    assert printable(out + err) == out + err


def test_terminal_shows_progress_of_a_printable_name(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress(EVIL) as report:
        report(1, 2, EVIL)
    assert PLAIN in terminal.getvalue()
    assert not {"\x07", "\x9b", "\u202e"} & set(terminal.getvalue())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_module_prints_past_the_border():
    # A prompt, a version, a help and JSON.
    allowed = {"cli/terminal.py": 1, "cli/app.py": 2, "console.py": 2, "screen.py": 1}
    home = Path(console.__file__).parent
    found = {
        path.relative_to(home).as_posix(): count
        for path in home.rglob("*.py")
        if (count := len(re.findall(r"(?<!\w)print\(", path.read_text("utf-8"))))
    }
    assert found == allowed


@pytest.mark.parametrize("words", ["replay deal", "analyse deal", "replay result", "verify"])
def test_commands_write_out_codes_of_strangers(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = EVIL.encode("utf-8", "replace").decode()
    text = played_on("micro", 1, 99).to_text({"Player 0": "NAME", "Event": "NAME"})
    Path("deal").write_text(text.replace("NAME", name.replace("\r", "")), "utf-8")
    bench = Benchmark("easy", "micro", deals=2)
    record = bench.run()
    record["result"]["agent"]["name"] = EVIL
    record["result"]["opponents"][0]["opponent"] = EVIL
    forged = record_of(record["result"], record["run"])
    Path("result").write_bytes(encoded(forged))
    command = ["benchmark", "--verify", "result"] if words == "verify" else words.split()
    done = CliRunner().invoke(app, command)
    assert done.exit_code == (words == "verify"), done.output
    assert r"A\x1b]0;owned\x07\x9b31m\u202eB" in done.output
    assert printable(done.output) == done.output


def test_resumed_faults_write_out_codes_of_strangers(tmp_path):
    saved = tmp_path / "saved"
    evaluate("easy", "pro", "micro", 2, save=saved)
    head, line = saved.read_bytes().splitlines(keepends=True)
    entry = unsealed(line[:-1])
    entry["block"]["faults"] = [1, 0]
    example = {"agent": "easy", "role": "agent", "kind": EVIL, "text": EVIL, "seed": 1, "seat": 0}
    entry["block"]["examples"] = [example | {"view": EVIL}]
    saved.write_bytes(head + sealed(entry))
    done = CliRunner().invoke(app, ["evaluate", "--resume", str(saved)])
    assert done.exit_code == 0, done.output
    assert done.output.count(PLAIN) == 3
    assert printable(done.output) == done.output


def test_cards_of_runs_and_datasets_write_out_codes(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "format_card", lambda *_: EVIL)
    report.write_card(tmp_path, [{}], Checkpoint(Rules.make("micro"), "flat", (), "relu", {}))
    assert (tmp_path / CARD_NAME).read_text("utf-8") == PLAIN
    monkeypatch.setattr(folder, "datasheet", lambda *_: EVIL)
    folder.make_dataset(tmp_path / "games", DatasetOptions(["easy"], Rules.make("micro"), 2))
    assert (tmp_path / "games" / folder.SHEET).read_text("utf-8") == PLAIN
