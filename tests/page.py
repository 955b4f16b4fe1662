"""The page in a real browser: a server in a thread or process of its own, and a person.

python -m tests.page PORT FOLDER    a server without the warm-up of ``hearts serve``
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from hearts_env import Game
from hearts_train.web.app import create_app
from hearts_train.web.folders import ServerFolder
from hearts_train.web.players import Players
from tests.waiting import wait_until
from tests.web import LIMIT

expect.set_options(timeout=1000 * LIMIT)

CHROMIUM = shutil.which("chromium")
SIZES = {"wide": (1280, 800), "phone": (400, 800), "watch": (192, 384)}
_ALL_SIZES = {**SIZES, "tablet": (768, 1024)}
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
_CREATE = """async (what) => {
    const socket = new WebSocket(location.origin.replace('http', 'ws') + '/ws');
    const heard = (type) => new Promise((resolve) => socket.addEventListener('message', (event) => {
        const message = JSON.parse(event.data);
        if (message.type === type || message.type === 'error') resolve(message);
    }));
    await new Promise((resolve) => { socket.onopen = resolve; });
    let answer = heard('welcome');
    const token = JSON.parse(localStorage['hearts.token']);
    socket.send(JSON.stringify({type: 'hello', v: 1, token}));
    await answer;
    answer = heard('table');
    socket.send(JSON.stringify({type: 'create', ...what}));
    const {table, text} = await answer;
    socket.close();
    return table || text;
}"""
_IN_SIGHT = """(node) => {
    node.scrollIntoView({block: 'nearest'});
    return node.getBoundingClientRect().toJSON();
}"""


def make_server(folder: Path) -> uvicorn.Server:
    """Return the real application."""
    app = create_app(ServerFolder(folder), Players())
    return uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a server in a thread and yield its address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = make_server(folder)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(LIMIT)


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """Run Debian's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server for the tests of a module."""
    with served(tmp_path_factory.mktemp("tables")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a module."""
    with browsing() as found:
        yield found


def signed(value: float, digits: int = 0) -> str:
    """Return a figure as the page writes it."""
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else ("+" if value > 0 else "−") + text


class Person:
    """A person with their own browser.

    Attributes:
        page: The page on the screen.
        asked_for: The addresses of everything that the page has loaded.
        faults: The errors of the page.
    """

    def __init__(self, browser: Browser, address: str, size: str = "wide", **options: Any) -> None:
        settings = {"pace": "none", "guide": "off", "tap": "two", **options.pop("settings", {})}
        width, height = _ALL_SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height},
            has_touch=size != "wide",
            **{"reduced_motion": "reduce", **options},
        )
        told = json.dumps(json.dumps(settings))
        context.add_init_script(f"localStorage['hearts.settings'] ??= {told}")
        self.address = address
        self.uses_touch = size != "wide"
        self.page: Page = context.new_page()
        self.page.set_default_timeout(1000 * LIMIT)
        self.asked_for: list[str] = []
        self.faults: list[str] = []
        self.page.on("request", lambda request: self.asked_for.append(request.url))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._note)

    def _note(self, message: Any) -> None:
        # The browser reports a lost connection as an error. The page handles it.
        if message.type == "error" and "WebSocket" not in message.text:
            self.faults.append(message.text)

    def leave(self) -> None:
        """Close the browser. Fail if the page had an error or loaded anything from elsewhere."""
        strangers = [url for url in self.asked_for if not url.startswith((self.address, "data:"))]
        self.page.context.close()
        assert not strangers
        assert not self.faults

    def lobby(self) -> None:
        """Go to the lobby."""
        self.page.goto(self.address)
        self.page.wait_for_selector(".form")

    def sit_down(self, rules: str, seats: list[Any], **more: Any) -> None:
        """Create a table and go there. Seats are "me", "open" or names of agents."""
        told = [{name: True} if name in ("me", "open") else {"agent": name} for name in seats]
        self.lobby()
        table = self.page.evaluate(_CREATE, {"rules": rules, "seats": told, **more})
        self.page.goto(f"{self.address}/t/{table}")
        self.wait()

    def open_table(self, rules: str) -> str:
        """Open a table for a friend in the lobby; return its link."""
        self.lobby()
        self.page.get_by_label("Game").select_option(rules)
        self.page.get_by_label("Against").select_option("a friend")
        self.page.get_by_role("button", name="Open the table").click()
        return self.page.get_by_label("Link for friends").input_value()

    def wait(self) -> None:
        """Wait until it is this person's turn or the deal is over."""
        self.page.wait_for_selector(".hand .card.legal, .result, .actions .main")

    def cards(self, where: str) -> list[str]:
        """Return the cards of these elements, in order."""
        told = "(nodes) => nodes.map((node) => node.dataset.card)"
        names: list[str] = self.page.locator(where).evaluate_all(told)
        return names

    @property
    def hand(self) -> list[str]:
        """The cards of the hand."""
        return self.cards(".hand .card")

    @property
    def legal(self) -> list[str]:
        """The cards marked as playable."""
        return self.cards(".hand .card.legal")

    def card(self, name: str) -> Locator:
        """Return a card of the hand."""
        return self.page.locator(f".hand .card[data-card='{name}']")

    def press(self, name: str) -> None:
        """Tap or click the visible part of a card: its left edge, above the middle."""
        box = self.card(name).evaluate(_IN_SIGHT)
        x, y = box["x"] + min(18, box["width"] / 2), box["y"] + box["height"] * 0.3
        if self.uses_touch:
            self.page.touchscreen.tap(x, y)
        else:
            self.page.mouse.click(x, y)

    def play(self, name: str | None = None, *, then_wait: bool = True) -> None:
        """Play a card by two taps, by default the first playable one."""
        name, count = name or self.legal[0], len(self.hand)
        self.press(name)
        self.press(name)
        self.played(count, then_wait=then_wait)

    def play_once(self) -> None:
        """Play the first playable card by Enter, if one tap plays a card."""
        name, count = self.legal[0], len(self.hand)
        self.card(name).focus()
        self.page.keyboard.press("Enter")
        self.played(count)

    def hand_over(self, names: list[str]) -> None:
        """Pass these cards in the exchange, and wait until the play has begun."""
        for name in names:
            self.press(name)
        self.page.locator(".actions .main").click()
        self.page.wait_for_selector(".hand[data-mode='play'], .result")

    def played(self, count: int, *, then_wait: bool = True) -> None:
        """Wait until there are fewer than `count` cards, and for the next turn."""
        self.page.wait_for_function(
            "n => document.querySelectorAll('.hand .card').length < n", arg=count
        )
        if then_wait:
            self.wait()

    def play_with(self, friend: Person) -> None:
        """Play a card of this person or the friend, if either can play."""
        mover = self if self.legal else friend
        if mover.legal:
            mover.play(then_wait=False)
        else:
            mover.page.wait_for_timeout(10)

    def play_on(self) -> None:
        """Play to the end of the deal."""
        while not self.is_over:
            self.play()

    @property
    def is_over(self) -> bool:
        """Whether the result is on the page."""
        return self.page.locator(".result").count() > 0

    def result(self) -> Game:
        """Return the deal of the link to the board, and compare it with the scores on the page."""
        link = self.page.locator(".result a", has_text="Analyse").get_attribute("href") or ""
        game = Game.from_text(parse_qs(urlsplit(link).fragment)["deal"][0])
        assert game.is_over
        shown = [
            int(cell.inner_text().replace("−", "-"))
            for cell in self.page.locator(".result tbody tr > td:nth-child(2)").all()
        ]
        assert shown == sorted(game.scores())
        return game


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Person]]:
    """Return a function that opens a new browser. At the end all are closed and checked."""
    people = []

    def open_page(*size: str, **options: Any) -> Person:
        people.append(Person(browser, address, *size, **options))
        return people[-1]

    yield open_page
    for person in people:
        person.leave()


@pytest.fixture
def person(visit: Callable[..., Person], request: pytest.FixtureRequest) -> Person:
    """A person with a screen of the test's size."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    return visit(parameters.get("size", "wide"))


if __name__ == "__main__":
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", int(sys.argv[1])))
        make_server(Path(sys.argv[2])).run(sockets=[listening])
