"""``hearts serve`` as a process: killed in mid-deal, stopped, and started wrongly."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from hearts_env.game.notation import parse_games
from hearts_train.cli import serve as serve_command
from hearts_train.web import assets
from tests.refusals import mistake
from tests.test_cli import ROOT, command, run
from tests.web import LIMIT
from tests.web_browser import Browser


@contextmanager
def server(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server and yield it with its address. It is killed at the end."""
    process = command("serve", "--port", "0", "--data", folder, *options)
    try:
        line = process.stdout.readline()
        assert line.startswith("Hearts is at http://127.0.0.1:"), process.communicate()
        yield process, line.split()[-1].removeprefix("http://").rstrip("/")
    finally:
        process.kill()
        process.communicate()


class Line:
    """A real socket with the methods of Starlette's test client."""

    def __init__(self, socket: ClientConnection) -> None:
        self.send_text, self._socket = socket.send, socket

    def receive_text(self) -> str:
        return self._socket.recv(timeout=LIMIT)


def connected(stack: ExitStack, address: str, token: str | None = None, *tables: str) -> Browser:
    """Return a connected browser."""
    url, origin = f"ws://{address}/ws", f"http://{address}"
    socket = stack.enter_context(connect(url, origin=origin, close_timeout=1))
    return Browser(Line(socket), token, *tables)


def dealt(answer: dict[str, Any]) -> set[str]:
    """Return the cards dealt to seat 0."""
    return {*answer["view"]["hand"], *(card for p, card in answer["view"]["history"] if p == 0)}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_killed_server_resumes_every_table(tmp_path):
    with server(tmp_path) as (process, address), ExitStack() as stack:
        with urllib.request.urlopen(f"http://{address}/t/{'0' * 16}") as page:
            assert page.read() == assets.index()
        people = [connected(stack, address) for _ in range(3)]
        games = [("two_player", ["champion"]), ("classic", ["pro", "easy", "standard"])]
        games.append(("party players=5", ["standard"] * 4))
        for person, (rules, agents) in zip(people, games, strict=True):
            person.create(rules, *agents, match=True)
            for _ in range(5):
                person.act()
        os.kill(process.pid, signal.SIGKILL)
    with server(tmp_path) as (process, address), ExitStack() as stack:
        for answer, token in [(person.state, person.token) for person in people]:
            person = connected(stack, address, token, answer["table"])
            (mine,) = person.welcome["tables"]
            assert mine["table"] == answer["table"]
            person.ask(type="watch", table=answer["table"])
            assert person.state["seq"] >= answer["seq"]
            seen = answer["view"]["history"]
            assert person.state["view"]["history"][: len(seen)] == seen
            if answer["view"]["rules"] == "two_player":
                assert dealt(person.state) == dealt(answer)
            (game,) = parse_games(person.play_on()["deal"])
            assert [list(play) for play in game.history][: len(seen)] == seen
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 130
        assert errors.splitlines()[-1] == "stopped"
        assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_address_can_be_opened_from_elsewhere(host, tmp_path):
    process = command("serve", "--port", "0", "--host", host, "--data", tmp_path)
    try:
        address = process.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"{address}healthz", timeout=LIMIT) as answer:
            assert json.load(answer)["ok"]
        is_open = not serve_command._is_loopback(address)
        assert is_open == (host == "0.0.0.0" and serve_command._outward(socket.AF_INET) is not None)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    assert (serve_command._WARNING in errors.splitlines()) == is_open


def test_occupied_port_is_one_line_with_the_fix(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        mistake(run("serve", "--port", port, "--data", tmp_path), "--port", str(port))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "70000"], ["--port", "65535"]),
        (["--host", "no.such.host.invalid"], ["--host", "127.0.0.1"]),
        (["--agent", "champoin"], ["agent", "champoin", "champion"]),
    ],
)
def test_mistakes_are_one_line(options, words, tmp_path):
    mistake(run("serve", "--port", "0", "--data", tmp_path, *options), *words)


def test_unusable_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    answer = run("serve", "--port", "0", "--data", tmp_path / "file" / "data")
    mistake(answer, "--data")


def test_two_servers_share_no_folder(tmp_path):
    from hearts_train.web.folders import ServerFolder

    with ServerFolder(tmp_path).locked():
        mistake(run("serve", "--port", "0", "--data", tmp_path), "data")


WARM = """
import gc, sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from hearts_train.web import hosting
from tests import web

hosting.warm_up()

def count():
    return sum(len(f.signatures) for f in gc.get_objects() if isinstance(f, Dispatcher))

before = count()
for rules in ("two_player", "classic", "kitty players=5", "hoyle", "omnibus players=7"):
    web.written(Path(sys.argv[1]), rules, 200)
    game = web.Game.deal(rules, 1)
    for _ in range(game.rules.hand_size * game.rules.players):
        web.message_of(web.table_of(game, Path(sys.argv[1]), 0), 0)
        game.play(game.legal_actions()[0])
print(before, count())
"""


@pytest.mark.slow
def test_warm_up_compiles_all_that_tables_need(tmp_path):
    command = [sys.executable, "-c", WARM, str(tmp_path)]
    before, after = map(int, subprocess.check_output(command, text=True, cwd=ROOT).split())
    assert before == after > 0
