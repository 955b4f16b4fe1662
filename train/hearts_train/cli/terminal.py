"""Hearts at the terminal: one person, agents in the other seats.

Every deal is saved, and the table after every card, so that nothing is lost (``session``). What the
person reads is in ``cardtext``. An agent's fault does not end the deal: a card is played for it.
"""

from __future__ import annotations

import contextlib
import datetime
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearts_agents import Agent, make_agent
from hearts_agents.base import check_rules
from hearts_agents.guard import ask_one
from hearts_agents.programs.process import LAST_WORDS
from hearts_agents.user_code import CRASHED, ILLEGAL, LATE, Fault
from hearts_env import Game, HeartsError, Match, NotationError, Rules
from hearts_env.cards import BYTE_ORDER_MARK, card_letters, parse_card
from hearts_env.game.notation import Record
from hearts_env.render.scene import count_text
from hearts_env.rules.explain import explain
from hearts_env.seeds import secret_seed
from hearts_env.support.arguments import check_number, check_seed
from hearts_env.support.files import write_whole
from hearts_env.support.interrupts import held_interrupt
from hearts_train.cli import replay
from hearts_train.cli.cardtext import Announcer, CardText, describe
from hearts_train.measure.analysis import best_hinter, hint
from hearts_train.measure.participants import Participant, rules_for
from hearts_train.session.folders import SessionFiles, latest_table
from hearts_train.session.table import Line, Refusal, Seat, Table

HELP = """\
Play a card by its name: qs, QS, 10h, Q♠; or by rank or suit alone, where only \
one card fits (but the queen of spades is qs: q alone leaves the table). In an \
exchange several cards may be given at once: qs ah kh. Enter alone plays a \
forced card. Cards that cannot be played now are {marked}.
  hint [NAME]  what each card is worth to a strong player, or what NAME would do
  undo         take back everything since your last decision
  history      the tricks so far
  rules        the rules of this game
  save FILE    write the deals so far, all cards open, for 'hearts replay FILE'
  quit         leave the table; 'hearts play --resume' resumes it
Commands may be shortened to two or more letters: un, hin, his."""

_COMMANDS = ("hint", "undo", "history", "rules", "save", "save!", "quit", "help")
_WITH_ARGUMENT = ("hint", "save", "save!")
_MENU = ("next", "analyse", "replay", "save", "save!", "undo", "quit")
_MENU_TEXT = "[a]nalyse [r]eplay [s]ave FILE [u]ndo [n]ext [q]uit"
_PATIENCE = 10.0  # seconds until a line says that an agent is still thinking

Ask = Callable[[str], "str | None"]
"""Reads a line after a prompt; None at the end of the input."""


class Quit(Exception):
    """The person leaves the table."""


def ask_at_terminal(prompt: str) -> str | None:
    """Return the next line of standard input, without spaces around it or a byte order mark."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        return None
    line = line.replace(BYTE_ORDER_MARK, "").strip()  # which a pipe of PowerShell begins with
    if not sys.stdin.isatty():  # else the output would lack what was entered
        print(line)
    return line


@dataclass
class Terminal:
    """A table with one person at the terminal.

    Attributes:
        table: What is played, and who sits where.
        agents: The agent in each other seat.
        announcer: Says what happens.
        files: Where deals and the table are saved.
        ask: Asks the person for a line.
        earlier: The deals of the session before the present deal or match.
    """

    table: Table
    agents: dict[int, Agent]
    announcer: Announcer
    files: SessionFiles
    ask: Ask = ask_at_terminal
    earlier: list[Record] = field(default_factory=list)
    _hinters: dict[str, Agent] = field(default_factory=dict)

    @property
    def game(self) -> Game:
        """The deal on the table."""
        return self.table.game

    @property
    def seat(self) -> int:
        """Where the person sits."""
        return self.announcer.seat

    def run(self) -> None:
        """Play until the person leaves.

        Raises:
            Quit: when the person leaves, or the input ends.
        """
        if self.table.journal is None:
            self.files.save_table(self.table)
        if self.table.ended is None:
            self.announcer.begin_deal(self.table.play)
        while True:
            if self.table.ended is not None:
                self._after_deal(self.table.ended)
            elif self.table.turn == self.seat:
                self._own_turn()
            else:
                self._let_act()

    def greeting(self) -> str:
        """The first line: what is played."""
        again = ", resumed where you left off" if self.table.seq else ""
        name, seed = self.table.rules.name, self.table.seed
        return f"{name}, seed {seed}{again}. Type 'help' for a list of commands."

    def farewell(self) -> str:
        """The last line, when the person leaves."""
        self.files.save_games(self._text())
        if self.table.play.player is not None:
            way_back = "; 'hearts play --resume' resumes it" if self.files.is_saved else ""
            return f"You have left the table{way_back}."
        self.files.remove_table()
        if not self.files.games.is_file():
            return "Good-bye."
        return f"Your deals are saved in {self.files.games}."

    # -- actions -----------------------------------------------------------------------------------
    def _let_act(self) -> None:
        """Let an agent act; if it misbehaves, the first legal action is played for it."""
        seat = self.table.turn
        assert seat is not None
        name = self.table.name_of(seat)
        view, action = self.game.view(seat), 0
        fault: Fault | None = Fault(0, LATE, "was interrupted")
        with self._patience(name, "Ctrl-C plays a card for it"):
            action, fault = ask_one(self.agents[seat], view, self.table.agent_seed())
        if fault is None:
            self._do(action)
            return
        self.announcer.say(f"{name} {_fault_text(fault)}; its first legal card is played.")
        self._do(view.legal_actions()[0], fault.kind)

    @contextlib.contextmanager
    def _patience(self, name: str, way_out: str) -> Iterator[None]:
        """Say after a while that `name` is thinking; from then on Ctrl-C ends this block alone."""
        is_said = threading.Event()

        def announce() -> None:
            is_said.set()
            self.announcer.say(f"{name} is still thinking; {way_out}.")

        timer = threading.Timer(_PATIENCE, announce)
        timer.daemon = True
        timer.start()
        try:
            yield
        except KeyboardInterrupt as error:
            if getattr(error, "number", signal.SIGINT) != signal.SIGINT or not is_said.is_set():
                raise
        finally:
            timer.cancel()

    def _do(self, action: int, fault: str | None = None) -> None:
        """Play an action, save it, and announce what happened."""
        table = self.table
        with held_interrupt():  # what has been played is saved
            if table.turn == self.seat:
                entries = table.act(self.seat, table.seq, (table.rules.action_name(action),))
            else:
                entries = table.act_for_agent(action, fault)
            if table.ended is not None:
                self.files.save_games(self._text())
        self.announcer.action(entries)
        if self.game.is_over:
            self.announcer.result(self.game)
            if isinstance(table.play, Match):
                self.announcer.totals(table.play)

    def _own_turn(self) -> None:
        """Show the position and ask until an action is played or undone."""
        self.announcer.position(self.game.view(self.seat))
        prompt = {"pass": "Pass", "moon": "Choose"}.get(self.game.phase, "Play")
        while True:
            line = self._line(prompt)
            try:
                actions = self._read(line)
                if actions is None and self._command(line):
                    return
            except HeartsError as error:
                self.announcer.say(str(error))
                continue
            if actions is not None:
                for action in actions:
                    self._do(action)
                return

    def _line(self, prompt: str) -> str:
        line = self.ask(self.announcer.cards.bold(f"{prompt}> "))
        if line is None:
            raise Quit
        return line

    def _read(self, line: str) -> list[int] | None:
        """The actions that a line names; None if it may be a command.

        Raises:
            NotationError: if it names cards that cannot be played now.
        """
        game, view, cards = self.game, self.game.view(self.seat), self.announcer.cards
        names = {game.rules.action_name(action): action for action in view.legal_actions()}
        if not line:
            if len(names) > 1:
                raise NotationError("Name a card, or 'help'.")
            return list(names.values())
        if game.phase == "moon":
            chosen = {"1": "moon:off", "2": "moon:others", "off": "moon:off"}
            name = chosen.get(line.lower(), f"moon:{line.lower()}")
            return [names[name]] if name in names else None
        words = line.replace(",", " ").split()
        if not words or _command(words[0]) or (len(words) > 1 and game.phase != "pass"):
            return None  # the exchange alone takes several cards
        choices: list[str] = []
        for word in words:
            card = self._card(word, [name for name in names if name not in choices])
            if card is None:
                return None
            if card not in names or card in choices:
                why = "cannot be played now" if card in view.hand else "is not in your hand"
                raise NotationError(f"{cards.card(card)} {why}; choose from {cards.cards(names)}")
            choices.append(card)
        left = game.rules.pass_count - len(view.passed)
        if game.phase == "pass" and len(choices) > left:
            raise NotationError(f"{len(choices)} cards are too many; {left} are still to be passed")
        return [names[card] for card in choices]

    def _card(self, word: str, legal: Sequence[str]) -> str | None:
        """The card that a word names: in full, or by rank or suit where one legal card fits."""
        try:
            return parse_card(word)
        except NotationError:
            pass
        letter = card_letters(word)
        if letter == "Q":
            raise NotationError("q alone leaves the table; name a queen with its suit, like qs")
        matches = [card for card in legal if len(letter) == 1 and letter in card]
        if len(matches) > 1:
            cards = ", ".join(map(self.announcer.cards.card, matches))
            raise NotationError(f"{word!r} could be {cards}; name one")
        return matches[0] if matches else None

    # -- commands ----------------------------------------------------------------------------------
    def _command(self, line: str) -> bool:
        """Carry out a command; returns whether the position has changed."""
        word, _, argument = line.partition(" ")
        command, argument = _command(word), argument.strip()
        if command and argument and command not in _WITH_ARGUMENT:
            self.announcer.say(f"{command!r} takes no argument; omit {argument!r}.")
            return False
        match command:
            case "quit":
                if len(word) > 1 or self._leaves():
                    raise Quit
            case "undo":
                return self._undo()
            case "hint":
                self._hint(argument)
            case "history":
                self.announcer.history(self.game.view(self.seat))
            case "rules":
                self.announcer.say("\n".join(explain(self.game.rules)))
            case "save" | "save!":
                self._save(argument, overwrites=command == "save!")
            case "help":
                marked = "dimmed" if self.announcer.cards.color else "in ( )"
                self.announcer.say(HELP.format(marked=marked))
            case _:
                self.announcer.say(
                    f"{line!r} is neither a card that fits nor a command; 'help' lists both."
                )
        return False

    def _leaves(self) -> bool:
        return self._line("Leave the table? y or n").lower() in ("y", "yes", "q", "quit")

    def _undo(self) -> bool:
        try:
            self.table.undo(self.table.seq)
        except Refusal as refusal:
            is_empty = not self.table.can_undo
            self.announcer.say("There is nothing to undo." if is_empty else refusal.text)
            return False
        self.announcer.say(self.announcer.cards.dim("Undone."))
        return True

    def _hint(self, name: str) -> None:
        view, advice = self.game.view(self.seat), None
        name = name or best_hinter(view)
        with self._patience(name, "Ctrl-C skips the hint"):
            if name not in self._hinters:
                agent = make_agent(name, seed=0)
                check_rules(agent, view.rules)
                self._hinters[name] = agent
            advice = hint(self._hinters[name], view)
        if advice is not None:
            for line in describe(advice, view, self.announcer.cards):
                self.announcer.say(line)

    def _save(self, name: str, *, overwrites: bool) -> None:
        if not name:
            self.announcer.say("Name a file: save my-deal.txt")
            return
        path = Path(name).expanduser()
        if path.exists() and not overwrites:
            self.announcer.say(f"{name} already exists; give another name, or type: save! {name}")
            return
        try:
            write_whole(path, self._text().encode())
        except (OSError, ValueError) as error:  # ValueError: it cannot be the name of a file
            self.announcer.say(
                f"{name} cannot be written: {getattr(error, 'strerror', None) or error}"
            )
        else:
            self.announcer.say(f"Saved in {name}.")

    # -- between deals -----------------------------------------------------------------------------
    def _after_deal(self, game: Game) -> None:
        """Ask what to do after a deal, until the person chooses the next one or undoes this one."""
        self.announcer.say(_MENU_TEXT)
        while self.table.ended is game:
            word, _, argument = self._line("Next").partition(" ")
            match _abbreviated(word, _MENU):  # Enter alone: next
                case "next":
                    self._next()
                case "undo":
                    self._undo()
                case "quit":
                    raise Quit
                case "save" | "save!" as command:
                    self._save(argument.strip(), overwrites=command == "save!")
                case "replay":
                    record = record_of(self.table, game)
                    replay.show([record], self.announcer.cards, self.ask)
                case "analyse":
                    self._analyse(game)
                case _:
                    self.announcer.say(_MENU_TEXT + "; Enter alone: next")

    def _next(self) -> None:
        """Continue the match, or begin another deal or match."""
        is_new = self.table.play.player is None
        earlier = [record_of(self.table, game) for game in self.table.deals if is_new]
        try:
            self.table.next()
        except Refusal as refusal:
            self.announcer.say(refusal.text)
            return
        self.earlier += earlier
        self.announcer.begin_deal(self.table.play)

    def _analyse(self, game: Game) -> None:
        # It loads the solver, which play itself does not need.
        from hearts_train.console import print_table, progress
        from hearts_train.measure.analysis import analyse, card_table, summary

        names = record_of(self.table, game).names()
        with progress("analysing") as report:
            found = analyse(game, progress=report, names=names)
        table = card_table(found)
        print_table("card by card", table.columns, table.rows)
        for line in summary(found):
            self.announcer.say(line)

    # -- saving ------------------------------------------------------------------------------------
    def _text(self) -> str:
        """The hand histories of the session, with that of an unfinished deal."""
        games = self.table.deals + [self.game] * (self.table.ended is None)
        records = [*self.earlier, *(record_of(self.table, game) for game in games)]
        return "\n".join(record.to_text() for record in records)


def record_of(table: Table, game: Game) -> Record:
    """A deal with the tags of its hand history; the seed only once the play is over."""
    play = table.play
    tags = {"Event": "hearts play", "Date": table.note["date"]}
    if isinstance(play, Match):
        tags["Event"] += f", match, deal {game.deal_number + 1}"
    tags |= {f"Player {seat}": table.name_of(seat) for seat in range(game.rules.players)}
    if play.player is None:
        seed = play.deal_seed(game.deal_number) if isinstance(play, Match) else table.play_seed
        tags["Seed"] = str(seed)
    return Record(game, tags)


def _fault_text(fault: Fault) -> str:
    """What an agent did wrong, without a word about the cards that it could have played."""
    if fault.kind == ILLEGAL:
        return "chose an illegal action"
    if fault.kind in (LATE, CRASHED):
        return fault.text.partition(LAST_WORDS)[0]
    return f"raised {fault.text}"


def _abbreviated(word: str, names: Sequence[str]) -> str | None:
    """The first of these names that a word abbreviates."""
    return next((name for name in names if name.startswith(word.lower())), None)


def _command(word: str) -> str | None:
    """The command that a word abbreviates; single letters, but for q, are cards."""
    if word == "?":
        return "help"
    return _abbreviated(word, _COMMANDS) if len(word) > 1 or word in ("q", "Q") else None


# ---- opening a table -----------------------------------------------------------------------------
def open_table(
    rules: Rules | None,
    against: Sequence[str],
    seed: int | None,
    seat: int,
    *,
    is_match: bool,
    save: Path | None = None,
    ask: Ask = ask_at_terminal,
) -> Terminal:
    """Deal, and seat the agents.

    Args:
        rules: the rules; None: those that an agent was trained for, else ``two_player``.
        against: one agent for all other seats, or one for each, from seat 0 on.
        seed: of the deals and of the agents' random numbers; None: a random one.
        seat: the person's seat.
        is_match: play deals to the end score.
        save: a file to which the deals are saved; None: one in the user's data folder.
        ask: asks the person for a line.

    Raises:
        HeartsError: if an agent is unknown or cannot play these rules, there is no such seat, or
            the number of agents fits neither one nor all other seats; or the file to save to
            exists.
    """
    files = SessionFiles.begin(save)
    seed = secrets.randbelow(10**9) if seed is None else check_seed(seed)
    participants = [
        Participant(name, secret_seed(seed, "table", i)) for i, name in enumerate(against)
    ]
    rules = rules_for(participants, rules)
    n = rules.players
    check_number("seat", seat, 0, n - 1)
    if len(participants) not in (1, n - 1):
        agents, places = count_text(len(participants), "agent"), count_text(n - 1, "seat")
        raise HeartsError(f"opponent: {agents} for {places}; give one for all, or one for each")
    names = [Path(name).name or name for name in against]
    seats = [Seat(agent=name) for name in (names * n)[: n - 1]]
    seats.insert(seat, Seat(owner="terminal", name="You"))
    note = {
        "against": list(against),
        "date": datetime.date.today().isoformat(),
        "record": str(files.games),
    }
    table = Table(
        id=files.table.stem,
        rules=rules,
        is_match=is_match,
        seed=seed,
        dealt_by=seed,
        seats=seats,
        is_free=True,
        note=note,
    )
    return _seated(table, participants, files, ask, [])


@contextlib.contextmanager
def reopened_table(ask: Ask = ask_at_terminal) -> Iterator[Terminal]:
    """The table left last that no other terminal plays at, held in this block.

    Raises:
        HeartsError: if there is none, its file is damaged, or an agent no longer exists.
    """
    earlier: list[Record] = []

    def before(table: Table, line: Line) -> None:
        if "next" in line and table.play.player is None:
            earlier.extend(record_of(table, game) for game in table.deals)

    with latest_table(before) as (files, table):
        against: Any = table.note.get("against")
        date, record = table.note.get("date"), table.note.get("record")
        is_whole = isinstance(against, list) and against and len(table.persons) == 1
        if not is_whole or not all(isinstance(word, str) for word in (*against, date, record)):
            raise HeartsError(f"table: {str(files.table)!r} is damaged; remove it")
        files.games = Path(str(record))
        participants = [
            Participant(name, secret_seed(table.seed, "table", i)) for i, name in enumerate(against)
        ]
        yield _seated(table, participants, files, ask, earlier)


def _seated(
    table: Table,
    participants: Sequence[Participant],
    files: SessionFiles,
    ask: Ask,
    earlier: list[Record],
) -> Terminal:
    """A table with its agents, once they have been found to play its rules."""
    rules = table.rules
    for participant in participants:
        try:
            participant.check_rules(rules)
        except HeartsError as error:
            name = participant.name
            raise HeartsError(f"opponent: {name} cannot play {rules.name}: {error}") from None
    (seat,) = table.persons
    names = [
        table.name_of(p) if rules.players == 2 else f"{p}:{table.name_of(p)}"
        for p in range(rules.players)
    ]
    names[seat] = "you"
    others = [p for p in range(rules.players) if p != seat]
    agents = {
        p: participants[place % len(participants)].fresh(secret_seed(table.seed, "seat", p))
        for place, p in enumerate(others)
    }
    announcer = Announcer(seat, names, CardText.of(sys.stdout))
    return Terminal(table, agents, announcer, files, ask, earlier)
