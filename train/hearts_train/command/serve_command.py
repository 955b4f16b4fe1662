"""``hearts serve``: the socket, the agents made ready, and the server until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from hearts_train.command.saved_tables import data_folder
from hearts_train.console import Mistake, note, progress
from hearts_train.web.app import create_app
from hearts_train.web.helping import Helper
from hearts_train.web.hosting import Limits
from hearts_train.web.players import Players
from hearts_train.web.store import Store

_GRACE = 2  # seconds that browsers have when the server ends


@dataclass(frozen=True)
class Options:
    """What the command line says.

    Attributes:
        host: Address to listen on.
        port: Port; 0: any.
        agents: Further agents.
        data: Where tables are kept; None: in the user's data folder.
        runs: Folders whose training runs are shown.
        names: Names of the server for browsers.
        opens: Whether to open the page in a browser.
    """

    host: str
    port: int
    agents: tuple[str, ...] = ()
    data: Path | None = None
    runs: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    opens: bool = False


def serve_tables(options: Options) -> None:
    """Serve until a signal ends it.

    Raises:
        Mistake: if the address cannot be listened on, or the folder not be used.
        HeartsError: if an agent is unknown, or another server uses the folder.
    """
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.WARNING)
    _allow_files()
    for place in options.runs:
        if not place.is_dir():
            raise Mistake(f"--runs: there is no folder {place}; give one with training runs")
    folder = (options.data or data_folder() / "server").expanduser()
    with _listening(options) as listener:
        players, store = Players(options.agents), _store(folder)
        with store.holding():
            _make_ready(players)
            limits = Limits()
            app = create_app(store, players, limits=limits, hosts=options.names, runs=options.runs)
            config = uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                ws_max_size=limits.message,
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=_GRACE,
            )
            server = _Server(config, _address(listener, options.host), folder, opens=options.opens)
            asyncio.run(server.serve([listener]))


class _Server(uvicorn.Server):
    """A server that says where it is when it is there."""

    def __init__(self, config: uvicorn.Config, address: str, folder: Path, *, opens: bool) -> None:
        super().__init__(config)
        self._address, self._folder, self._opens = address, folder, opens

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            print(f"Hearts is at {self._address}", flush=True)
            note(f"Tables are kept in {self._folder}. Ctrl-C ends the server.")
            if self._opens:
                asyncio.get_running_loop().run_in_executor(None, webbrowser.open, self._address)


def _allow_files() -> None:
    """Let this process open as many files and sockets as the system lets it."""
    try:
        import resource  # not on Windows, where there is no such limit
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _listening(options: Options) -> socket.socket:
    """A socket that listens at the address."""
    if not 0 <= options.port < 65536:
        raise Mistake(f"--port: {options.port} is out of range; give 1 to 65535, or 0 for any")
    found: Any = None
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        found = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":  # there it would share the port with another server
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)  # listened to when the agents are ready
    except (socket.gaierror, UnicodeError):
        raise Mistake(_no_address(options.host)) from None
    except OSError as error:
        if found is not None:
            found.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise Mistake(_no_address(options.host)) from None
        why = error.strerror or str(error)
        raise Mistake(
            f"--port: {options.host}:{options.port} cannot be used ({why}); end what uses it, or "
            "give another, as in --port 0"
        ) from None
    return found


def _no_address(host: str) -> str:
    return f"--host: {host!r} is not an address of this machine; give 127.0.0.1, or 0.0.0.0 for all"


def _store(folder: Path) -> Store:
    try:
        return Store(folder)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        raise Mistake(f"--data: {folder} cannot be used ({why}); give another folder") from None


def _address(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"


def _make_ready(players: Players) -> None:
    """Compile what the agents and the help need; the first time it takes a minute or two."""
    note("Getting the players ready (the first time they are compiled, for a minute or two) ...")
    total = len(players.listed) + 1
    with progress("getting ready") as tell:
        players.warm_up(lambda done, name: tell(done, total, name))
        Helper(players).warm_up()
        tell(total, total)
