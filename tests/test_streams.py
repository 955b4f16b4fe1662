"""Terminals and pipes of every kind: no output of the command line ends in a traceback."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import pytest

from hearts_agents.programs.process import python_environment
from hearts_train.cli.app import app
from hearts_train.console import prepare_streams

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
    assert b"pimc would choose 2C" in out
    assert out.isascii()
    status, out, _ = shell("play --seed 3", given=b"\xff\n", PYTHONIOENCODING="utf-8")
    assert status == 0
    assert out.count(b"Type a card like QS") == 2  # at the start and after an invalid card


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
