"""A table: its seats, the deal or match that is played at it, and the journal of its moves.

It knows nothing of connections and threads. It changes only by its commands, each of
which is written to the table's file before it is done. Following the lines of the file again
therefore gives the same table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from hearts_env import CheckpointError, Game, HeartsError, Match, Rules
from hearts_env.game.notation import Record
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.support.arguments import check_choice, check_flag, check_is, check_seed
from hearts_train.store import FileKind, Store

KIND = FileKind("hearts-env table", 1, "table", "the file of a table", "remove it")
MOST_BYTES = 8 * 2**20
"""Of a table's file; some 100,000 cards."""
TABLE_ID = re.compile(r"[0-9a-f]{16}")
"""The name of a server's table."""
_LATER_PLAYS = 2**62  # added to the number of a deal or match after the first of a given seed

Line = Mapping[str, Any]


class Refusal(Exception):
    """A request that is refused: a code for programs, a sentence for people, the request's id."""

    def __init__(self, code: str, text: str, request_id: str | int | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.id = request_id


@dataclass
class Seat:
    """Who sits in a place: an agent, a person, or no one yet.

    Attributes:
        agent: The agent's name in the list of the server; "" where a person sits or may sit.
        owner: The digest of the person's token; "" if no person sits there.
        name: The person's name.
    """

    agent: str = ""
    owner: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_is(name, value, str, "give a text")

    @property
    def kind(self) -> str:
        """``agent``, ``person`` or ``open``."""
        return "agent" if self.agent else "person" if self.owner else "open"


@dataclass
class Table:
    """A table.

    A command that the rules or other people do not allow raises `Refusal`. One that cannot be
    written to the file raises ``OSError``. In both cases nothing is done.

    Attributes:
        id: Its name in links.
        rules: The rules of the game.
        is_match: Whether deals are played to the end score.
        seed: The secret seed of the agents and of the deals.
        dealt_by: The seed that the creator gave for the deals. If None, they follow from `seed`.
        seats: Who sits where.
        journal: Its file. If None, the table is not saved.
        number: How many deals or matches came before this one.
        seq: The number of the present position: the number of moves, undone moves and
            deals so far.
        fault: Why a card was played for the agent that acted last. None if it was its own.
        ended: The deal that has just ended, until the next one is dealt.
        sheet: The score sheet of this match, or of this table's deals.
        is_closed: Whether the table is closed for good.
    """

    id: str
    rules: Rules
    is_match: bool
    seed: int
    dealt_by: int | None
    seats: list[Seat]
    journal: Store | None = None

    def __post_init__(self) -> None:
        self.number = self.seq = 0
        self.fault: str | None = None
        self.ended: Game | None = None
        self.sheet: list[dict[str, Any]] = []
        self.is_closed = False
        self._past: list[Game | Match] = []  # before each decision of a person in this deal
        self.play = self._deal()

    # -- beginning and resuming --------------------------------------------------------------------
    def begin(self, path: Path) -> None:
        """Begin the table's file.

        Raises:
            OSError: if it is there already, or cannot be written; then there is none.
        """
        self.journal = Store.create(path, KIND, self.head(), is_synced=False)

    def head(self) -> dict[str, Any]:
        """Return the settings at the head of its file."""
        return {
            "table": self.id,
            "rules": self.rules.name,
            "match": self.is_match,
            "seed": self.seed,
            "dealt_by": self.dealt_by,
            "seats": [vars(seat) for seat in self.seats],
        }

    @classmethod
    def resume(cls, path: Path) -> Table:
        """Return the table that a file describes, ready to be continued.

        Args:
            path: the file. A last line that was cut short when the process ended is left out.

        Raises:
            HeartsError: if the file is damaged, of another format or version, or describes moves
                that these rules do not allow.
            OSError: if it cannot be read.
        """
        store = Store.open(path, KIND, is_synced=False, limit=MOST_BYTES)
        try:
            if store.damaged:
                raise HeartsError(f"table: line {store.damaged[0]} is damaged; remove the file")
            check_choice("table", store.settings["table"], [path.stem])
            table = cls(**_checked(store.settings))
            for record in store.records:
                table._follow(record)
        except Exception as error:  # one odd file must not keep people from their other tables
            raise CheckpointError(
                f"table: {str(path)!r} is damaged; remove it, or start another table"
            ) from error
        store.records.clear()
        table.journal = store
        return table

    def _write(self, line: Line) -> None:
        """Write a line to the file; after an error the file is as it was."""
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
        elif "close" in line:
            self.is_closed = True
        else:
            raise HeartsError("table: a line is of no known kind; start another table")

    # -- queries -----------------------------------------------------------------------------------
    @property
    def game(self) -> Game:
        """The deal on the table: the one being played, or the one that has just ended."""
        if self.ended is not None:
            return self.ended
        return self.play.game if isinstance(self.play, Match) else self.play

    @property
    def turn(self) -> int | None:
        """The seat that is to act; None between deals and after the end."""
        return None if self.ended is not None or self.is_closed else self.play.current_player

    @property
    def is_match_over(self) -> bool:
        """Whether a match has come to its end."""
        return isinstance(self.play, Match) and self.play.is_over

    def seat_of(self, owner: str) -> int | None:
        """Return the seat of a person; None without one."""
        return next((p for p, seat in enumerate(self.seats) if owner and seat.owner == owner), None)

    @property
    def has_one_person(self) -> bool:
        """Whether only agents have the other seats, so that taking back and hints harm no one."""
        return sum(not seat.agent for seat in self.seats) == 1

    @property
    def is_unfinished(self) -> bool:
        """Whether something is left to play."""
        if self.is_closed:
            return False
        return self.ended is None or (self.is_match and not self.is_match_over)

    @property
    def can_undo(self) -> bool:
        """Whether a person can take something back; not after all cards have been shown."""
        is_over = self.is_closed or self.ended is not None
        return bool(self._past) and self.has_one_person and not is_over

    def totals(self) -> list[int | float]:
        """Return the total of each seat in the match, or over the deals of this table."""
        if isinstance(self.play, Match):
            return [plain_number(total) for total in self.play.totals]
        seats = range(self.rules.players)
        return [plain_number(sum(deal["net"][p] for deal in self.sheet)) for p in seats]

    def agent_seed(self) -> int:
        """Return the seed of the next decision, which does not reveal the table's."""
        place = 1000 * len(self.sheet) + len(self.game.actions)
        return secret_seed(self.seed, "act", self.number, place)

    @property
    def play_seed(self) -> int:
        """The seed of this deal or match; without a given one it does not reveal the others'."""
        if self.dealt_by is None:
            return secret_seed(self.seed, "deal", self.number)
        if not self.number:
            return self.dealt_by
        return derived_seed(self.dealt_by, _LATER_PLAYS + self.number)

    # -- commands ----------------------------------------------------------------------------------
    def act(self, seat: int, seq: int, names: tuple[str, ...]) -> None:
        """Do the actions that a person chose in the position `seq`."""
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
        """Do the action that an agent chose, or the one that replaces it after a fault.

        Raises:
            ValueError: if it is not an agent's turn, or the action is not legal.
        """
        seat = self.turn
        if seat is None or not self.seats[seat].agent or action not in self.game.legal_actions():
            raise ValueError(f"action {action} at position {self.seq} is not an agent's")
        line: dict[str, Any] = {"do": [action]}
        self._write(line if fault is None else {**line, "fault": fault})
        self._act([action], fault)

    def check_turn(self, seat: int, seq: int) -> None:
        """Refuse a request about a decision that is not the seat's own present one."""
        self.check_seq(seq)
        if self.turn != seat:
            over = "the table is closed" if self.is_closed else "the deal is over"
            why = over if self.turn is None else f"seat {self.turn} is to act"
            raise Refusal("not_your_turn", f"it is not your turn: {why}")

    def check_seq(self, seq: int) -> None:
        """Refuse a request that was made from another position than the present one."""
        if seq != self.seq:
            raise Refusal("stale", f"seq: {seq} is not the present position; see the new one")

    def undo(self, seq: int) -> None:
        """Take back everything since the person's last decision, if all others are agents."""
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
        """Refuse to make a full journal longer; the deal on the table has room to end."""
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

    def close(self) -> None:
        """End the play at this table."""
        self._write({"close": 1})
        self.is_closed = True

    # -- how they are done -------------------------------------------------------------------------
    def _deal(self) -> Game | Match:
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
            self.play.play(action)  # if the deal is over, a match has dealt the next one
            if game.is_over:
                self.ended = game
                self.sheet.append({"scores": game.scores(), "net": self._net(game)})
        self.fault = fault
        self.seq += 1

    def _net(self, game: Game) -> list[int | float]:
        """Return the points or chips of each seat for a finished deal."""
        if isinstance(self.play, Match):
            return [plain_number(number) for number in self.play.last_net]
        net = game.scores() if self.rules.settlement == "points" else game.chips()
        return [plain_number(number) for number in net]

    def _undo(self) -> None:
        if not self.can_undo:
            raise HeartsError("table: there is nothing to take back; remove the line")
        self.play, self.fault = self._past.pop(), None
        self.seq += 1

    def _next(self) -> None:
        if self.ended is None or self.is_closed:
            raise HeartsError("table: there is no next deal yet; remove the line")
        self.ended = self.fault = None
        self._past.clear()
        if self.play.current_player is None:
            self.number += 1
            if self.is_match:
                self.sheet.clear()
            self.play = self._deal()
        self.seq += 1

    # -- for messages ------------------------------------------------------------------------------
    def deal_number(self) -> int:
        """Return how many deals came before this one, in this match or at this table."""
        return self.game.deal_number if self.is_match else len(self.sheet) - bool(self.ended)

    def result(self) -> dict[str, Any]:
        """Return how the deal on the table ended, all cards open."""
        game = self.game
        if not game.is_over:  # hidden cards must not be seen yet
            raise HeartsError("table: the deal is not over; remove the line")
        start = game.start()
        seats = range(self.rules.players)
        tags = {f"Player {p}": self.name_of(p) for p in seats}
        return {
            "points": game.points,
            "scores": game.scores(),
            "net": self.sheet[-1]["net"],
            "shooter": game.shooter,
            "hands": [list(start.hand(p)) for p in seats],
            "passed": [list(game.passed(p)) for p in seats],
            "kitty": list(start.kitty),
            "deal": Record(game, {"Event": "hearts serve", **tags}).to_text(),
        }

    def name_of(self, seat: int) -> str:
        """Return the name of the player in a seat."""
        found = self.seats[seat]
        return found.agent or found.name or f"player {seat}"


def _checked(head: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Table` from a file's settings; raise anything if one is wrong."""
    rules = Rules.from_text(head["rules"])
    seats = [Seat(**seat) for seat in head["seats"]]
    if len(seats) != rules.players:
        raise HeartsError(f"seats: {len(seats)} are given; {rules.name} is for {rules.players}")
    dealt_by = head["dealt_by"]
    return {
        "id": head["table"],
        "rules": rules,
        "is_match": check_flag("match", head["match"]),
        "seed": check_seed(head["seed"]),
        "dealt_by": None if dealt_by is None else check_seed(dealt_by),
        "seats": seats,
    }


def plain_number(number: int | float | Fraction) -> int | float:
    """Return points or chips as a number that JSON knows."""
    return int(number) if number == int(number) else float(number)
