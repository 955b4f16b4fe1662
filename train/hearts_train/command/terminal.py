"""Hearts at the terminal: one person, agents in the other seats.

Every deal is saved, and the table after every card, so that nothing is lost (``saved_tables``).
What the person reads is in ``announcer``, what another player would do in ``hints``. An agent that
misbehaves does not end the deal: a card is played for it.
"""

from __future__ import annotations

import contextlib
import datetime
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearts_agents import Agent, make_agent
from hearts_agents.base import check_rules
from hearts_agents.programs.process import LAST_WORDS
from hearts_env import Game, HeartsError, Match, NotationError, Rules
from hearts_env.cards import SUITS, parse_card
from hearts_env.game.notation import Record, parse_games, parse_records
from hearts_env.rules.explain import explain
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.support.files import write_whole
from hearts_env.support.interrupts import Interrupted, held_interrupt
from hearts_train.command import replay
from hearts_train.command.announcer import CHOICES, Announcer
from hearts_train.command.hints import describe
from hearts_train.command.saved_tables import Keeper, TableState
from hearts_train.measure.guard import CRASHED, ILLEGAL, LATE, TAMPERED, Fault, ask_one
from hearts_train.measure.hints import best_hinter, hint

HELP = """\
Play a card by its name: qs, QS, 10h, Q♠; or by rank or suit alone,
where only one card fits (but the queen of spades is qs: q alone leaves the
table). In an exchange several cards may be given at once: qs ah kh. Enter
alone plays a forced card. Cards that cannot be played now are {marked}.
  hint [NAME]  what each card is worth to a strong player, or what NAME would do
  undo         take back everything since your last decision
  history      the tricks so far
  rules        the rules of this game
  save FILE    write the deals so far, all cards open, for 'hearts replay FILE'
  quit         leave the table; 'hearts play --resume' resumes it
Commands may be shortened to two or more letters: un, hin, his."""

_COMMANDS = ("hint", "undo", "history", "rules", "save", "save!", "quit", "help")
_WITH_ARGUMENT = ("hint", "save", "save!")
_MENU = ("analyse", "replay", "save", "save!", "undo", "next", "quit", "help")
_PLAYS = 2**62  # seeds of the deals and matches that follow the first one count from here
_PATIENCE = 10.0  # seconds until a line says that an agent is still thinking

Ask = Callable[[str], "str | None"]
"""Asks for a line after a prompt; None at the end of the input."""


class Quit(Exception):
    """The person leaves the table."""


def ask_at_terminal(prompt: str) -> str | None:
    """The next line of standard input, without the spaces around it."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        return None
    if not sys.stdin.isatty():  # else the output would lack what was entered
        print(line.strip())
    return line.strip()


@dataclass
class Table:
    """A session: deals or matches with one person at the table.

    Attributes:
        play: The deal, or the match, that is played.
        seed: The seed of all deals and of the agents' random numbers.
        agents: The agent in each other seat.
        against: The agents, as they were named.
        announcer: Says what happens.
        keeper: Saves deals and the table; None: nothing is saved.
        ask: Asks the person for a line.
    """

    play: Game | Match
    seed: int
    agents: dict[int, Agent]
    against: Sequence[str]
    announcer: Announcer
    keeper: Keeper | None = None
    ask: Ask = ask_at_terminal
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())
    number: int = 0
    _earlier: list[Record] = field(default_factory=list)  # of the deals and matches before
    _deals: list[Game] = field(default_factory=list)  # finished ones of this one
    _past: list[tuple[Game | Match, int]] = field(default_factory=list)
    _ended: Game | None = None  # the deal that has just ended
    _hinters: dict[str, Agent] = field(default_factory=dict)

    @property
    def game(self) -> Game:
        """The deal in hand."""
        return self.play.game if isinstance(self.play, Match) else self.play

    @property
    def seat(self) -> int:
        """Where the person sits."""
        return self.announcer.seat

    def run(self) -> None:
        """Play until the person leaves.

        Raises:
            Quit: when the person leaves, or the input ends.
        """
        if self._ended is None:
            self.announcer.begin_deal(self.play)
        self._keep()
        while True:
            if self._ended is not None:
                self._after_deal(self._ended)
            elif self.play.player == self.seat:
                self._own_turn()
            else:
                self._let_act()

    def greeting(self) -> str:
        """The first line: what is played."""
        is_resumed = bool(self._past or self._deals or self._earlier or self.game.actions)
        again = ", resumed where you left off" if is_resumed else ""
        return f"{self.play.rules.name}, seed {self.seed}{again}. 'help' lists what you can do."

    def farewell(self) -> str:
        """The last line, when the person leaves."""
        if self.keeper is not None:
            self.keeper.write_record(self._text(unfinished=True))
        if self.play.player is not None:
            if self.keeper is None or not self.keeper.is_kept:
                return "You have left the table."
            return "You have left the table; 'hearts play --resume' resumes it."
        if self.keeper is None or not self.keeper.games.is_file():
            return "Good-bye."
        return f"Your deals are saved in {self.keeper.games}."

    # -- actions -----------------------------------------------------------------------------------
    def _let_act(self) -> None:
        """Let an agent act; its random numbers follow from the table's seed and the position alone.

        The agent cannot compute the table's seed from the seed that it gets. If it misbehaves, the
        first legal action is played for it.
        """
        seat = self.play.player
        assert seat is not None
        game, name = self.game, self._name(seat)
        place = 1000 * len(self._deals) + len(game.actions)
        view, action = game.view(seat), 0
        fault: Fault | None = Fault(0, LATE, "was interrupted")
        with self._patience(name, "Ctrl-C plays a card for it"):
            seed = secret_seed(self.seed, "act", self.number, place)
            action, fault = ask_one(self.agents[seat], view, seed)
        if fault is not None:
            action = view.legal_actions()[0]
            self.announcer.say(f"{name} {_misdeed(fault)}; its first legal card is played for it.")
        self._do(action)

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
            if isinstance(error, Interrupted) or not is_said.is_set():
                raise
        finally:
            timer.cancel()

    def _do(self, action: int) -> None:
        """Play an action, save the table, and announce what happened."""
        game, before = self.game, self.game.clone()
        with held_interrupt():  # what has been played is saved
            self.play.play(action)  # a match may then have begun its next deal
            if game.is_over:
                self._deals.append(game)
                self._ended = game
            self._keep()
        self.announcer.action(before, game, action)
        if game.is_over:
            self.announcer.result(game)
            if isinstance(self.play, Match):
                self.announcer.totals(self.play)

    def _decide(self, action: int) -> None:
        self._past.append((self.play.clone(), len(self._deals)))
        self._do(action)

    def _own_turn(self) -> None:
        """Show the position and ask until an action is played or undone."""
        self.announcer.position(self.game.view(self.seat))
        while True:
            prompt = {"pass": "Pass", "moon": "Choose"}.get(self.game.phase, "Play")
            line = self._line(prompt)
            if not line:
                legal = self.game.legal_actions()
                if len(legal) > 1:
                    self.announcer.say("Name a card, or 'help'.")
                    continue
                self._decide(legal[0])
                return
            try:
                actions = self._read(line)
                if actions is None:
                    if self._command(line):
                        return
                    continue
            except HeartsError as error:
                self.announcer.say(str(error))
                continue
            for action in actions:
                self._decide(action)
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
        if game.phase == "moon":
            chosen = {"1": "moon:off", "2": "moon:others", "off": "moon:off"}
            name = chosen.get(line.lower(), f"moon:{line.lower()}")
            return [names[name]] if name in names else None
        words = line.replace(",", " ").split()
        if not words or _command(words[0]) or (len(words) > 1 and game.phase != "pass"):
            return None
        choices: list[str] = []
        for word in words:
            card = self._card(word, [name for name in names if name not in choices])
            if card is None:
                return None
            if card not in names or card in choices:
                is_held = card in view.hand
                why = "cannot be played now" if is_held else "is not in your hand"
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
        letter = word.upper().replace("10", "T")
        for symbol, suit in zip("♣♦♠♥", SUITS, strict=True):
            letter = letter.replace(symbol, suit)
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
        if not self._past:
            self.announcer.say("There is nothing to undo.")
            return False
        self.play, count = self._past.pop()
        self._ended = None
        del self._deals[count:]
        self._keep()
        self.announcer.say(self.announcer.cards.dim("Undone."))
        return True

    def _hint(self, name: str) -> None:
        view, advice = self.game.view(self.seat), None
        with self._patience(name or "the player that gives hints", "Ctrl-C skips the hint"):
            if name not in self._hinters:
                agent = make_agent(name, seed=0) if name else best_hinter(view.rules)
                check_rules(agent, view.rules)
                self._hinters[name] = agent
            advice = hint(self._hinters[name], view)
        if advice is not None:
            for line in describe(advice, view, self.announcer.cards, CHOICES):
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
            write_whole(path, self._text(unfinished=True).encode())
        except (OSError, ValueError) as error:  # ValueError: it cannot be the name of a file
            self.announcer.say(
                f"{name} cannot be written: {getattr(error, 'strerror', None) or error}"
            )
        else:
            self.announcer.say(f"Saved in {name}.")

    # -- between deals -----------------------------------------------------------------------------
    def _after_deal(self, game: Game) -> None:
        """Ask what to do after a deal, until the person chooses the next one or undoes this one.

        Raises:
            Quit: when the person leaves.
        """
        menu = "[a]nalyse [r]eplay [s]ave FILE [u]ndo [n]ext [q]uit"
        self.announcer.say(menu)
        while self._ended is game:
            line = self._line("Next")
            word, _, argument = line.partition(" ")
            match _menu_word(word):
                case "next":
                    self._next()
                case "undo":
                    self._undo()
                case "quit":
                    raise Quit
                case "save" | "save!" as command:
                    self._save(argument.strip(), overwrites=command == "save!")
                case "replay":
                    record = Record(game, self._tags(game))
                    replay.show([record], self.announcer.cards, self.ask)
                case "analyse":
                    self._analyse(game)
                case _:
                    self.announcer.say(menu + "; Enter alone: next")

    def _next(self) -> None:
        """Continue the match, or begin another deal or match."""
        self._ended = None
        if self.play.player is None:
            self._earlier += self._records()
            self._deals.clear()
            self._past.clear()
            self.number += 1
            self.play = new_play(
                self.play.rules, self.seed, self.number, is_match=isinstance(self.play, Match)
            )
        self._keep()
        self.announcer.begin_deal(self.play)

    def _analyse(self, game: Game) -> None:
        # It loads the solver, which play itself does not need.
        from hearts_train.command.analysis_page import analysed, told
        from hearts_train.console import print_table, progress

        with progress("analysing") as tell:
            shown = told(analysed(Record(game, self._tags(game)), tell))
        print_table("card by card", shown.columns, shown.rows)
        for line in shown.summary:
            self.announcer.say(line)

    # -- saving ------------------------------------------------------------------------------------
    def _tags(self, game: Game) -> dict[str, str]:
        """The tags of a deal's hand history; the seed only once the play is over."""
        tags = {"Event": "hearts play", "Date": self.date}
        if isinstance(self.play, Match):
            tags["Event"] += f", match, deal {game.deal_number + 1}"
        tags |= {f"Player {seat}": self._name(seat) for seat in range(game.rules.players)}
        if self.play.player is None:
            play = self.play
            seed = play.deal_seed(game.deal_number) if isinstance(play, Match) else self._seed
            tags["Seed"] = str(seed)
        return tags

    def _name(self, seat: int) -> str:
        if seat == self.seat:
            return "You"
        others = sorted(self.agents)
        return short_name(self.against[others.index(seat) % len(self.against)])

    @property
    def _seed(self) -> int:
        """The seed of the deal or match being played."""
        return _play_seed(self.seed, self.number)

    def _records(self) -> list[Record]:
        return [Record(game, self._tags(game)) for game in self._deals]

    def _text(self, *, unfinished: bool) -> str:
        """The hand histories of the session."""
        records = [*self._earlier, *self._records()]
        if unfinished and self._ended is None:
            records.append(Record(self.game, self._tags(self.game)))
        return "\n".join(record.to_text() for record in records)

    def _keep(self) -> None:
        """Save what has been played so far, so that nothing is lost whatever ends the program."""
        if self.keeper is None:
            return
        if self._ended is not None:
            self.keeper.keep_games(self._text(unfinished=False))
            self.keeper.write_record(self._text(unfinished=False))
        if self.play.player is None:
            self.keeper.keep_table(None)
            return
        record = self.keeper.record
        playing = [*self._deals, self.game]
        self.keeper.keep_table(
            TableState(
                rules=self.play.rules.name,
                seed=self.seed,
                number=self.number,
                seat=self.seat,
                against=list(self.against),
                is_match=isinstance(self.play, Match),
                date=self.date,
                record=None if record is None else str(record),
                finished=[finished.to_text() for finished in self._earlier],
                deals=[game.to_text() for game in playing],
            )
        )

    def restore(self, state: TableState) -> None:
        """Continue from `state`; all its decisions can still be undone.

        Raises:
            HeartsError: if its deals do not fit its rules.
        """
        self.number, self.date = state.number, state.date
        self._earlier = [record for text in state.finished for record in parse_records(text)]
        games = [game for text in state.deals for game in parse_games(text)]
        if any(game.rules != self.play.rules for game in games) or (
            len(games) > 1 and not state.is_match
        ):
            raise HeartsError("table: the saved deals do not fit its rules; remove the file")
        if state.is_match:
            seed = _play_seed(self.seed, self.number)
            self.play = Match(self.play.rules, seed, dealer=games[0].dealer)
        else:
            self.play = games[0].start()
        for game in games:
            if isinstance(self.play, Match) and self.game != game.start():
                self.play.replace_deal(game.start())
            for action in game.actions:
                if self.play.player == self.seat:
                    self._past.append((self.play.clone(), len(self._deals)))
                current = self.game
                self.play.play(action)
                if current.is_over:
                    self._deals.append(current)


def _misdeed(fault: Fault) -> str:
    """What an agent did wrong, without a word about the cards that it could have played."""
    if fault.kind == ILLEGAL:
        return "chose an illegal action"
    if fault.kind in (TAMPERED, LATE, CRASHED):
        return fault.text.partition(LAST_WORDS)[0]
    return f"raised {fault.text}"


def _command(word: str) -> str | None:
    """The command that a word of two or more letters abbreviates; None if not exactly one."""
    special = {"?": "help", "q": "quit", "Q": "quit", "save": "save", "sa": "save"}
    if word in special:
        return special[word]
    matches = [name for name in _COMMANDS if len(word) > 1 and name.startswith(word.lower())]
    return matches[0] if len(matches) == 1 or matches == ["save", "save!"] else None


def _menu_word(word: str) -> str | None:
    """The menu entry that a word abbreviates; Enter alone is the next deal."""
    if not word:
        return "next"
    return next((name for name in _MENU if name.startswith(word.lower())), None)


def _play_seed(seed: int, number: int) -> int:
    return seed if number == 0 else derived_seed(seed, _PLAYS + number)


def new_play(rules: Rules, seed: int, number: int, *, is_match: bool) -> Game | Match:
    """The deal or match with this number in a session, from 0."""
    seed = _play_seed(seed, number)
    return Match(rules, seed) if is_match else Game.deal(rules, seed)


def short_name(name: str) -> str:
    """An agent's short name: its name, or the last part of its path."""
    return Path(name).name or name
