"""A table: its seats, its deal or match, and the journal of its moves.

It knows nothing of connections and threads. It changes only by its commands, and each is written to
the table's file before it is done. Following the lines of the file therefore gives the same table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from hearts_env import CheckpointError, Game, HeartsError, Match, Rules
from hearts_env.game.notation import Record
from hearts_env.seeds import derived_seed, secret_seed
from hearts_train.store import FileKind, Store

KIND = FileKind("hearts-env table", "table", "the file of a table", "remove it")
MOST_BYTES = 8 * 2**20
"""The longest file of a table, about 100,000 cards."""
TABLE_ID = re.compile(r"[0-9a-f]{16}")
"""The name of a table."""
_LATER_PLAYS = 2**62  # added to the number of a later deal or match of a given seed

Line = Mapping[str, Any]


class Refusal(Exception):
    """A refused request: a code for programs and a sentence for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(config=ConfigDict(strict=True, extra="forbid"))
class Seat:
    """A seat of an agent or a person, or an open seat.

    Attributes:
        agent: the agent's name on the server's list, or "".
        spec: the agent's full name for ``make_agent``, or "". Browsers do not see it.
        digest: the digest of the agent's code and weights, or None if the agent has none.
        owner: the digest of the person's token, or "".
        name: the person's name.
    """

    agent: str = ""
    spec: str = ""
    digest: str | None = None
    owner: str = ""
    name: str = ""

    @property
    def kind(self) -> str:
        """``agent``, ``person`` or ``open``."""
        return "agent" if self.agent else "person" if self.owner else "open"


@dataclass(config=ConfigDict(strict=True, arbitrary_types_allowed=True))
class Table:
    """A table.

    A command raises `Refusal` if it is not allowed, and ``OSError`` if it cannot be written to the
    file. In both cases nothing is done.

    Attributes:
        id: the name in links.
        rules: the rules of the game.
        is_match: if True, deals are played to the end score.
        seed: the secret seed of the agents and of the deals.
        dealt_by: the creator's seed for the deals. If None, they follow from `seed`.
        seats: the seats in order.
        journal: the file. If None, the table is not saved.
        begun: the text of the first deal as far as it was played elsewhere, or "".
        number: the number of earlier deals, or matches.
        seq: the number of the position. Moves, undone moves and new deals each add one.
        fault: why a card was played for the agent that acted last, or None.
        ended: the deal that has just ended, or None once the next is dealt.
        sheet: the score sheet of this match, or of this table's deals.
    """

    id: str
    rules: Rules
    is_match: bool
    seed: int
    dealt_by: int | None
    seats: list[Seat]
    journal: Store | None = None
    begun: str = ""

    def __post_init__(self) -> None:
        self.number = self.seq = 0
        self.fault: str | None = None
        self.ended: Game | None = None
        self.sheet: list[dict[str, Any]] = []
        self._past: list[Game | Match] = []  # before each of a person's decisions in this deal
        self.play = self._deal()

    # -- beginning and resuming --------------------------------------------------------------------
    def begin(self, path: Path) -> None:
        """Begin the table's file.

        Raises:
            OSError: if the file exists or cannot be written.
        """
        self.journal = Store.create(path, KIND, self.head(), is_synced=False)

    def head(self) -> dict[str, Any]:
        """Return the settings for the head of the file."""
        return {
            "rules": self.rules.name,
            "match": self.is_match,
            "seed": self.seed,
            "dealt_by": self.dealt_by,
            "begun": self.begun,
            "seats": [vars(seat) for seat in self.seats],
        }

    @classmethod
    def resume(cls, path: Path) -> Table:
        """Return the table of a file, ready to be continued.

        Args:
            path: the file. A last line that is cut short is ignored.

        Raises:
            HeartsError: if the file is damaged, of another format or version, or has illegal moves.
            OSError: if the file cannot be read.
        """
        store = Store.open(path, KIND, is_synced=False, limit=MOST_BYTES)
        try:
            if store.damaged:
                raise HeartsError(f"table: line {store.damaged[0]} is damaged; remove the file")
            head = store.settings
            rules, seats = Rules.from_text(head["rules"]), [Seat(**seat) for seat in head["seats"]]
            if len(seats) != rules.players:
                raise HeartsError(f"seats: {len(seats)} given; {rules.name} has {rules.players}")
            dealt = head["dealt_by"], seats, None, head["begun"]
            table = cls(path.stem, rules, head["match"], head["seed"], *dealt)
            for record in store.records:
                table._follow(record)
        except Exception as error:  # the person's other tables must stay usable
            raise CheckpointError(
                f"table: {str(path)!r} is damaged; remove it, or start another table"
            ) from error
        store.records.clear()
        table.journal = store
        return table

    def _write(self, line: Line) -> None:
        """Append a line to the file. After an error the file is unchanged."""
        if self.journal is not None:
            self.journal.append(line)

    def _follow(self, line: Line) -> None:
        if "do" in line:
            self._act(line["do"], line.get("fault"))
        elif "sit" in line:
            self._check_open(line["sit"])
            self.seats[line["sit"]] = Seat(owner=line["owner"], name=line["name"])
        elif "undo" in line:
            self._undo()
        elif "next" in line:
            self._next()
        else:
            raise HeartsError("table: a line is of no known kind; start another table")

    # -- queries -----------------------------------------------------------------------------------
    @property
    def game(self) -> Game:
        """The deal being played, or the one that has just ended."""
        if self.ended is not None:
            return self.ended
        return self.play.game if isinstance(self.play, Match) else self.play

    @property
    def turn(self) -> int | None:
        """The acting seat, or None between deals and after the end."""
        return None if self.ended is not None else self.play.current_player

    @property
    def is_match_over(self) -> bool:
        """True if this is a match and it is over."""
        return isinstance(self.play, Match) and self.play.is_over

    def seat_of(self, owner: str) -> int | None:
        """Return the seat of a person, or None."""
        return next((p for p, seat in enumerate(self.seats) if owner and seat.owner == owner), None)

    @property
    def has_one_person(self) -> bool:
        """True if agents have all other seats, so undo and hints harm no one."""
        return sum(not seat.agent for seat in self.seats) == 1

    @property
    def is_unfinished(self) -> bool:
        """True if something is left to play."""
        return self.ended is None or (self.is_match and not self.is_match_over)

    @property
    def can_undo(self) -> bool:
        """True if a person can undo a move. Not after the end, which shows all cards."""
        return bool(self._past) and self.has_one_person and self.ended is None

    def totals(self) -> list[int | float]:
        """Return each seat's total in the match, or over the deals of this table."""
        if isinstance(self.play, Match):
            return [_plain_number(total) for total in self.play.totals]
        seats = range(self.rules.players)
        return [_plain_number(sum(deal["net"][p] for deal in self.sheet)) for p in seats]

    def agent_seed(self) -> int:
        """Return the seed of the next decision. The table's seed does not follow from it."""
        place = 1000 * len(self.sheet) + len(self.game.actions)
        return secret_seed(self.seed, "act", self.number, place)

    @property
    def play_seed(self) -> int:
        """The seed of this deal or match. Others follow from it only if `dealt_by` is given."""
        if self.dealt_by is None:
            return secret_seed(self.seed, "deal", self.number)
        if not self.number:
            return self.dealt_by
        return derived_seed(self.dealt_by, _LATER_PLAYS + self.number)

    # -- commands ----------------------------------------------------------------------------------
    def act(self, seat: int, seq: int, names: Sequence[str]) -> None:
        """Play the actions that a person chose in position `seq`."""
        self.check_turn(seat, seq)
        game, view = self.game, self.game.view(seat)
        legal = {self.rules.action_name(action): action for action in view.legal_actions()}
        left = self.rules.pass_count - len(view.passed) if game.phase == "pass" else 1
        for name in names:
            if name not in legal:
                why = "cannot be played now" if name in view.hand else "is not an action"
                raise Refusal("illegal", f"action: {name!r} {why}; choose from {', '.join(legal)}")
        if len(set(names)) < len(names) or len(names) > left:
            raise Refusal("illegal", f"actions: give at most {left}, all different")
        actions = [legal[name] for name in names]
        self._write({"do": actions})
        self._act(actions, None)

    def act_for_agent(self, action: int, fault: str | None) -> None:
        """Play the acting agent's legal action, or the action that replaces it after a fault."""
        line: dict[str, Any] = {"do": [action]}
        self._write(line if fault is None else {**line, "fault": fault})
        self._act([action], fault)

    def check_turn(self, seat: int, seq: int) -> None:
        """Refuse a request unless the position is `seq` and the seat is to act."""
        self.check_seq(seq)
        if self.turn != seat:
            why = "the deal is over" if self.turn is None else f"seat {self.turn} is to act"
            raise Refusal("not_your_turn", f"it is not your turn: {why}")

    def check_seq(self, seq: int) -> None:
        """Refuse a request that was made for another position."""
        if seq != self.seq:
            raise Refusal("stale", f"seq: {seq} is not the present position; see the new one")

    def undo(self, seq: int) -> None:
        """Undo everything since the person's last decision, if all others are agents."""
        self.check_seq(seq)
        if not self.has_one_person:
            raise Refusal("not_allowed", "undo: other people play here; play on")
        if not self.can_undo:
            raise Refusal("not_allowed", "undo: there is nothing to take back")
        self._check_length("undo")
        self._write({"undo": 1})
        self._undo()

    def next(self) -> None:
        """Deal the next deal."""
        self._check_length("next")
        self._write({"next": 1})
        self._next()

    def _check_length(self, what: str) -> None:
        """Refuse to make a full journal longer. The current deal has room to end."""
        if self.journal is not None and self.journal.size > MOST_BYTES // 2:
            text = f"{what}: this table's file has no room for more; start another table"
            raise Refusal("not_allowed", text)

    def sit(self, seat: int, owner: str, name: str) -> None:
        """Give an open seat to a person."""
        self._check_open(seat)
        self._write({"sit": seat, "owner": owner, "name": name})
        self.seats[seat] = Seat(owner=owner, name=name)

    def _check_open(self, seat: int) -> None:
        if not 0 <= seat < len(self.seats):
            text = f"seat: {seat} is out of range; give 0 to {len(self.seats) - 1}"
            raise Refusal("seat_taken", text)
        if self.seats[seat].kind != "open":
            raise Refusal("seat_taken", f"seat: seat {seat} is taken; choose an open one, or watch")

    # -- without writing them ----------------------------------------------------------------------
    def _deal(self) -> Game | Match:
        if self.begun and not self.number:
            return Game.from_text(self.begun)
        return (Match if self.is_match else Game.deal)(self.rules, self.play_seed)

    def _act(self, actions: Sequence[int], fault: str | None) -> None:
        seat = self.turn
        if seat is None:
            raise HeartsError("table: no seat is to act; remove the line")
        if not self.seats[seat].agent:
            self._past.append(self.play.clone())
        for action in actions:
            if self.turn != seat:
                raise HeartsError(f"table: more actions than seat {seat} has; remove the line")
            game = self.game
            self.play.play(action)  # a match then deals the next deal itself
            if game.is_over:
                self.ended = game
                self.sheet.append({"scores": game.scores(), "net": self._net(game)})
        self.fault = fault
        self.seq += 1

    def _net(self, game: Game) -> list[int | float]:
        """Return the points or chips of each seat for a finished deal."""
        if isinstance(self.play, Match):
            return [_plain_number(number) for number in self.play.last_net]
        net = game.scores() if self.rules.settlement == "points" else game.chips()
        return [_plain_number(number) for number in net]

    def _undo(self) -> None:
        self.play, self.fault = self._past.pop(), None
        self.seq += 1

    def _next(self) -> None:
        self.ended = self.fault = None
        self._past.clear()
        if self.play.current_player is None:
            self.number += 1
            if self.is_match:
                self.sheet.clear()
            self.play = self._deal()
        self.seq += 1

    # -- for messages ------------------------------------------------------------------------------
    def result(self) -> dict[str, Any]:
        """Return the result of the finished deal, with all cards."""
        game = self.game
        if not game.is_over:  # it would show hidden cards
            raise HeartsError("table: the deal is not over; remove the line")
        start = game.start()
        seats = range(self.rules.players)
        tags = {f"Player {p}": self.name_of(p) for p in seats}
        return {
            "scores": game.scores(),
            "net": self.sheet[-1]["net"],
            "shooter": game.shooter,
            "hands": [list(start.hand(p)) for p in seats],
            "kitty": list(start.kitty),
            "deal": Record(game, {"Event": "hearts serve", **tags}).to_text(),
        }

    def name_of(self, seat: int) -> str:
        """Return the name of the player in a seat."""
        found = self.seats[seat]
        return found.agent or found.name or f"player {seat}"


def _plain_number(number: int | float | Fraction) -> int | float:
    """Return points or chips as a number for JSON."""
    return int(number) if number == int(number) else float(number)
