"""People who join, play, leave, come back, repeat and err in any order, compared with a `Match`.

Hypothesis draws their actions, and kills the server between any two messages. The model knows the
rules from `Match` alone. At any time each browser's messages must show the model's game as far as
its seat may see it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hearts_agents.programs.view_lines import ViewLines
from hearts_env import Game, Match, Rules
from hearts_env.batch.views import BatchView
from hearts_env.seeds import secret_seed
from hearts_train.web.folders import digest_of
from hearts_train.web.hosting import Limits
from hearts_train.web.messages import sight
from tests.web import Guest, ask, manager, settle


class Browser(Guest):
    """A browser that keeps its last state, as the page does."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.token = token
        self.state: dict[str, Any] = {"seq": -1}
        self.errors: list[str] = []
        self.sent_last: tuple[int, str] | None = None

    @property
    def seq(self) -> int:
        return self.state["seq"]

    def read(self) -> list[dict[str, Any]]:
        """Read the messages and check that the position never goes back."""
        messages = self.take()
        for message in messages:
            if message["type"] == "error":
                self.errors.append(message["code"])
            else:
                assert message["type"] == "table"
                assert message["seq"] >= self.seq
                self.state = message
        return messages


class People(RuleBasedStateMachine):
    """Some people at one table, and an onlooker."""

    rules_name = "two_player"

    @initialize(is_match=st.booleans(), seed=st.integers(0, 2**63 - 1))
    def open_table(self, is_match: bool, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.rules, self.is_match = Rules.from_text(self.rules_name), is_match
        self.number = 0
        self.manager: Any = None
        self.start()
        n = self.rules.players
        self.tokens = [f"{p:032x}" for p in range(n + 1)]  # the last one only looks on
        self.windows: list[Browser | None] = [Browser(token) for token in self.tokens]
        seats = [{"me": True}, *[{"open": True}] * (n - 1)]
        with mock.patch.object(secrets, "randbits", return_value=seed):  # not left to chance
            (answer,) = self.ask(
                0, type="create", rules=self.rules_name, seats=seats, match=is_match
            )
        self.id = answer["table"]
        for p in range(1, n):
            self.ask(p, type="sit", table=self.id, seat=p, name=f"P{p}")
        self.ask(n, type="watch", table=self.id)
        self.secret = seed
        self.deal()

    def start(self) -> None:
        """Start a server on the files of the last one."""
        self.manager = self.run(self._made())

    async def _made(self) -> Any:
        return manager(self.folder, Limits(live=3))

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def ask(self, person: int, **message: Any) -> list[dict[str, Any]]:
        window = self.windows[person]
        assert window is not None
        window.errors.clear()
        before = len(window.sent)
        assert not before

        async def send() -> None:
            found = await ask(self.manager, window, **message)
            window.sent = [json.dumps(message) for message in found]

        self.run(send())
        return [m for w in self.windows if w is not None for m in w.read() if w is window]

    @property
    def table(self) -> Any:
        async def find() -> Any:
            return self.manager.find(self.id).table

        return self.run(find())

    def deal(self) -> None:
        """The model's deal or match."""
        seed = secret_seed(self.secret, "deal", self.number)
        self.play = Match(self.rules, seed) if self.is_match else Game.deal(self.rules, seed)
        self.ended: Game | None = None
        self.ready: set[int] = set()

    @property
    def game(self) -> Game:
        if self.ended is not None:
            return self.ended
        return self.play.game if isinstance(self.play, Match) else self.play

    @property
    def turn(self) -> int | None:
        return None if self.ended is not None else self.play.current_player

    def here(self) -> set[int]:
        return {p for p, window in enumerate(self.windows[:-1]) if window is not None}

    # -- actions of people -------------------------------------------------------------------------
    def _act(self, pick: int) -> None:
        seat = self.turn
        window = self.windows[seat]
        legal = self.game.legal_actions()
        action = legal[pick % len(legal)]
        name = self.rules.action_name(action)
        seq = window.seq
        self.ask(seat, type="act", table=self.id, seq=seq, actions=[name])
        assert window.errors == []
        game = self.game
        self.play.play(action)
        if game.is_over:
            self.ended = game
        window.sent_last = (seq, name)

    @precondition(lambda self: self.turn is not None and self.windows[self.turn] is not None)
    @rule(pick=st.integers(0, 60))
    def act(self, pick: int) -> None:
        self._act(pick)

    @precondition(lambda self: self.turn is not None and len(self.here()) == self.rules.players)
    @rule(picks=st.lists(st.integers(0, 60), min_size=4, max_size=30))
    def act_often(self, picks: list[int]) -> None:
        for pick in picks:
            if self.turn is not None:
                self._act(pick)

    @rule(person=st.integers(0, 6))
    def repeat(self, person: int) -> None:
        """Send the last card again, as after a lost answer. It is played once."""
        person %= self.rules.players
        window = self.windows[person]
        if window is None or window.sent_last is None:
            return
        seq, name = window.sent_last
        window.state = {"seq": -1}
        found = self.ask(person, type="act", table=self.id, seq=seq, actions=[name], id=7)
        assert window.errors == ["stale"]
        assert found[-1]["type"] == "table"

    @rule(person=st.integers(0, 6), back=st.integers(1, 3), pick=st.integers(0, 60))
    def act_too_late(self, person: int, back: int, pick: int) -> None:
        """Send a card for a position that is gone, or for one that is yet to come."""
        person %= self.rules.players
        window = self.windows[person]
        if window is None:
            return
        seq = window.seq - back if window.seq >= back else window.seq + back
        name = self.rules.deck[pick % len(self.rules.deck)]
        self.ask(person, type="act", table=self.id, seq=seq, actions=[name])
        assert window.errors == ["stale"]

    @rule(person=st.integers(0, 6), pick=st.integers(0, 60))
    def act_wrongly(self, person: int, pick: int) -> None:
        """Play out of turn, or a card that may not be played."""
        person %= self.rules.players + 1
        window = self.windows[person]
        if window is None:
            return
        name = self.rules.deck[pick % len(self.rules.deck)]
        legal = [self.rules.action_name(action) for action in self.game.legal_actions()]
        if person == self.turn and name in legal:
            return
        self.ask(person, type="act", table=self.id, seq=window.seq, actions=[name])
        code = "illegal" if person == self.turn else "not_your_turn"
        assert window.errors == ["not_your_seat" if person == self.rules.players else code]

    @rule(person=st.integers(0, 6), seat=st.integers(0, 8))
    def sit_again(self, person: int, seat: int) -> None:
        """All seats are taken. An onlooker gets none, and a player keeps theirs."""
        person %= self.rules.players + 1
        window = self.windows[person]
        if window is None:
            return
        found = self.ask(person, type="sit", table=self.id, seat=seat, name="X")
        if person == self.rules.players:
            assert window.errors == ["seat_taken"]
        else:
            assert [m["you"] for m in found if m["type"] == "table"] == [person]

    @rule(person=st.integers(0, 6))
    def leave(self, person: int) -> None:
        """Close the window."""
        person %= self.rules.players + 1
        window, self.windows[person] = self.windows[person], None
        if window is None:
            return

        async def go() -> None:
            self.manager.find(self.id).detach(window)
            await settle(self.manager)

        self.run(go())
        if self.ended is not None and self.ready & self.here() and self.ready >= self.here():
            self.deal_next()  # perhaps only the one who left had not asked for it
        for other in self.windows:
            if other is not None:
                other.read()

    @rule(person=st.integers(0, 6))
    def come_back(self, person: int) -> None:
        """Open a window again."""
        person %= self.rules.players + 1
        if self.windows[person] is not None:
            return
        window = self.windows[person] = Browser(self.tokens[person])
        self.ask(person, type="watch", table=self.id)
        assert window.errors == []

    @precondition(lambda self: self.ended is not None)
    @rule(person=st.integers(0, 6))
    def next(self, person: int) -> None:
        """The next deal comes when all who are here want it."""
        person %= self.rules.players
        if self.windows[person] is None:
            return
        self.ready.add(person)
        if self.ready >= self.here():
            self.deal_next()
        self.ask(person, type="next", table=self.id)

    def deal_next(self) -> None:
        """Apply it to the model."""
        self.ended = None
        if self.play.current_player is None:
            self.number += 1
            self.deal()
        self.ready = set()
        for window in self.windows:
            if window is not None:
                window.sent_last = None

    @rule()
    def kill(self) -> None:
        """Kill the server, start a new one and let the browsers come back."""
        old = self.manager

        async def end() -> None:
            old.close()
            await asyncio.sleep(0)

        self.run(end())
        self.start()
        self.ready = set()
        for person, window in enumerate(self.windows):
            if window is not None:
                self.ask(person, type="watch", table=self.id)
                assert window.errors == []

    # -- invariants --------------------------------------------------------------------------------
    @invariant()
    def everybody_sees_the_game_of_the_model(self) -> None:
        if not hasattr(self, "play"):
            return
        lines = ViewLines(self.rules)
        for person, window in enumerate(self.windows):
            if window is None:
                continue
            state = window.state
            assert state["seq"] == self.table.seq
            assert state["turn"] == self.turn
            if person < self.rules.players:
                text = lines.write(BatchView.of([self.game.view(person)]))[0]
                assert state["view"] == json.loads(text)
            else:
                assert state["view"] is None
                public = json.loads("{" + sight(self.game, None) + "}")["public"]
                assert state["public"] == public
            if self.ended is None:
                assert state["over"] is None
            else:
                assert state["over"]["scores"] == self.ended.scores()

    @invariant()
    def the_score_is_that_of_the_model(self) -> None:
        if hasattr(self, "play") and isinstance(self.play, Match):
            assert self.table.totals() == self.play.totals
            assert self.table.is_match_over == self.play.is_over

    def teardown(self) -> None:
        if hasattr(self, "loop"):

            async def end() -> None:
                self.manager.close()
                await asyncio.sleep(0)

            self.run(end())
            self.loop.close()
            shutil.rmtree(self.folder)


class Four(People):
    """`People` with an exchange."""

    rules_name = "classic"


class Chooser(People):
    """`People` with few cards and a choice after a moon."""

    rules_name = 'micro moon="choose"'


_SETTINGS = settings(
    max_examples=12,
    stateful_step_count=40,
    phases=[Phase.generate],  # failures are not shrunk, which takes minutes
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("people", [People, Four, Chooser])
def test_any_request_order_agrees_with_a_match(people):
    case = people.TestCase
    case.settings = _SETTINGS
    case().runTest()


def test_token_is_saved_as_a_digest(tmp_path):
    async def play() -> None:
        at = manager(tmp_path)
        guest = Guest("f" * 32)
        seats = [{"me": True}, {"agent": "easy"}]
        await ask(at, guest, type="create", rules="two_player", seats=seats)
        at.close()

    asyncio.run(play())
    data = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"f" * 32 not in data
    assert digest_of("f" * 32).encode() in data
