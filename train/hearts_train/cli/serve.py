"""``hearts serve``: open the socket, warm the agents up and serve until stopped."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_train.console import Mistake, note, progress, say
from hearts_train.web.app import create_app
from hearts_train.web.folders import ServerFolder, data_folder
from hearts_train.web.hosting import Limits, warm_up
from hearts_train.web.players import Players
from hearts_train.web.review import review

_GRACE = 2  # seconds for browsers to close when the server ends
_WARNING = (
    "Warning: nothing is encrypted, and everyone in this network can open tables and use this "
    "machine's processor. Serve only in a network that you trust."
)


def serve_tables(
    host: str,
    port: int,
    *,
    agents: Sequence[str],
    data: Path | None,
    names: Sequence[str],
    opens: bool,
) -> None:
    """Serve until a signal ends the process.

    Args:
        host: the address to listen on.
        port: the port to listen on. If 0, a free port.
        agents: agents to offer besides the built-in ones.
        data: the folder of the tables. If None, a folder in the user's data folder.
        names: the host names under which browsers may reach the server.
        opens: if True, open the page in a browser.

    Raises:
        Mistake: if the address or the folder cannot be used.
        HeartsError: if an agent is unknown, or another server uses the folder.
    """
    logging.basicConfig(handlers=[_Notes()], format="%(message)s", level=logging.WARNING)
    _allow_files()
    folder = (data or data_folder() / "server").expanduser()
    with _listening(host, port) as listener:
        players, tables = Players(agents), _server_folder(folder)
        with tables.locked():
            _make_ready(players)
            limits = Limits()
            app = create_app(tables, players, limits=limits, hosts=names)
            config = uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                ws_max_size=limits.message,
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=_GRACE,
            )
            server = _Server(config, _addresses(listener, host), folder, opens=opens)
            asyncio.run(server.serve([listener]))


class _Notes(logging.Handler):
    """Shows the log as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message."""
        note(self.format(record))


class _Server(uvicorn.Server):
    """A server that prints its address when it is ready and ends quietly."""

    def __init__(
        self, config: uvicorn.Config, addresses: list[str], folder: Path, *, opens: bool
    ) -> None:
        super().__init__(config)
        self._addresses, self._folder, self._opens = addresses, folder, opens

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and print the address."""
        await super().startup(sockets)
        if not self.started:
            return
        for address in self._addresses:
            say(f"Hearts is at {address}")
        if not all(map(_is_loopback, self._addresses)):
            note(_WARNING)
        note(f"Tables are saved in {self._folder}. Ctrl-C ends the server.")
        if self._opens:  # some browsers block the process that opens them
            threading.Thread(
                target=webbrowser.open, args=(self._addresses[0],), daemon=True
            ).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop at once. The journals have every move."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # of cut connections
        await super().shutdown(sockets)


def _allow_files() -> None:
    """Let this process open as many files and sockets as the system allows."""
    try:
        import resource  # Windows has no such limit
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at the address."""
    if not 0 <= port < 65536:
        raise Mistake(f"--port: {port} is out of range; give 1 to 65535, or 0 for any")
    elsewhere = f"--host: {host!r} is not an address of this machine; give 127.0.0.1 or 0.0.0.0"
    found: Any = None
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        found = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":  # on Windows it would share the port with another server
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)  # accepts connections when the agents are ready
    except (socket.gaierror, UnicodeError):
        raise Mistake(elsewhere) from None
    except OSError as error:
        if found is not None:
            found.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise Mistake(elsewhere) from None
        why = error.strerror or str(error)
        raise Mistake(
            f"--port: {host}:{port} cannot be used ({why}); free it, or give another port, as in "
            "--port 0"
        ) from None
    return found


def _server_folder(folder: Path) -> ServerFolder:
    try:
        return ServerFolder(folder)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        raise Mistake(f"--data: {folder} cannot be used ({why}); give another folder") from None


def _addresses(listener: socket.socket, host: str) -> list[str]:
    """Return the URLs of the server. If it listens on all addresses, they work elsewhere too."""
    port, hosts = listener.getsockname()[1], [host]
    if host in ("0.0.0.0", "::"):
        families = [socket.AF_INET, socket.AF_INET6][: 1 + (host == "::")]
        hosts = [found for family in families if (found := _outward(family))] or ["127.0.0.1"]
    return [f"http://{f'[{one}]' if ':' in one else one}:{port}/" for one in hosts]


def _outward(family: socket.AddressFamily) -> str | None:
    """Return this machine's address in its network, or None. Nothing is sent."""
    elsewhere = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}  # documentation's
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere[family], 9))
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _is_loopback(address: str) -> bool:
    name = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _make_ready(players: Players) -> None:
    """Compile everything that the server needs, which takes a minute or two the first time."""
    note(
        "Preparing the players (the first time they are compiled, which takes a minute or two) ..."
    )
    with progress("preparing") as report:
        players.warm_up(report)
        warm_up()
        game = Game.deal("two_player", 0)
        while not game.is_over:
            game.play(game.legal_actions()[0])
        review(Record(game))
