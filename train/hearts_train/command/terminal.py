"""Hearts at the terminal: one person, agents in the other seats.

Every deal is kept, and the table after every card, so that nothing is lost (``kept``). What the
person is told is in ``telling``, what another player would do in ``hints``. An agent that
misbehaves ends no deal: a card is played for it.
"""

from __future__ import annotations

import contextlib
import datetime
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearts_agents import Agent, make_agent
from hearts_agents.base import check_rules
from hearts_env import Game, HeartsError, Match, NotationError, Rules
from hearts_env.arguments import check_seed
from hearts_env.cards import SUITS, parse_card
from hearts_env.files import write_whole
from hearts_env.interrupts import Interrupted, held_interrupt
from hearts_env.notation import Record, parse_games, parse_records
from hearts_env.seeds import derived_seed, secret_seed
from hearts_train.command import replay
from hearts_train.command.cardtext import CardText
from hearts_train.command.explain import explain
from hearts_train.command.hints import best_hinter, hint, tell
from hearts_train.command.kept import Keeper, TableState
from hearts_train.command.telling import CHOICES, Teller
from hearts_train.measure.contenders import Contender, rules_for
from hearts_train.measure.guard import ILLEGAL, LATE, TAMPERED, Fault, ask_one

HELP = """\
Play a card by its name: qs, QS, 10h, Q♠; or by rank or suit alone, where only one card fits (but
the queen of spades is qs: q alone leaves the table). In an exchange several cards may be given at
once: qs ah kh. Enter alone plays a forced card. Cards that cannot be played now stand {marked}.
  hint [NAME]  what the best player for these rules, or another one, would do
  undo         take everything back to your last decision
  history      the tricks so far
  rules        the rules of this game
  save FILE    write the deals so far, all cards open, as text for 'hearts replay FILE'
  quit         leave the table; 'hearts play --resume' goes on with it
Commands may be shortened to two letters or more: un, hin, his."""

_COMMANDS = ("hint", "undo", "history", "rules", "save", "save!", "quit", "help")
_WITH_ARGUMENT = ("hint", "save", "save!")
_MENU = ("analyse", "replay", "save", "save!", "undo", "next", "quit", "help")
_PLAYS = 2**62  # seeds of the deals and matches that follow the first one count from here
_PATIENCE = 10.0  # seconds after which it is said that an agent is still thinking

Ask = Callable[[str], "str | None"]
"""Asks for a line after a prompt; None: there are no more."""


class Quit(Exception):
    """The person leaves the table."""


def ask_at_terminal(prompt: str) -> str | None:
    """The next line of standard input, its ends stripped."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        return None
    if not sys.stdin.isatty():  # what was typed belongs into the record
        print(line.strip())
    return line.strip()


@dataclass
class Table:
    """A sitting: deals or matches with one person at the table.

    Attributes:
        play: The deal, or the match, that is played.
        seed: What all deals and the agents' chance follow from.
        agents: Who plays in each other seat.
        against: The agents, as they were named.
        teller: Tells the person what happens.
        keeper: Writes what is to be kept; None: nothing is.
        ask: Where the person's words come from.
    """

    play: Game | Match
    seed: int
    agents: dict[int, Agent]
    against: Sequence[str]
    teller: Teller
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
        return self.teller.seat

    def run(self) -> None:
        """Play until the person leaves.

        Raises:
            Quit: the person leaves, or the input ends.
        """
        if self._ended is None:
            self.teller.begin_deal(self.play)
        self._keep()
        while True:
            if self._ended is not None:
                self._after_deal(self._ended)
            elif self.play.player == self.seat:
                self._own_turn()
            else:
                self._let_act()

    def greeting(self) -> str:
        """What is played, for somebody who sits down."""
        goes_on = bool(self._past or self._deals or self._earlier or self.game.actions)
        again = ", going on where you left" if goes_on else ""
        return f"{self.play.rules.name}, seed {self.seed}{again}. 'help' tells what you can do."

    def farewell(self) -> str:
        """What to say to somebody who leaves."""
        if self.keeper is not None:
            self.keeper.write_record(self._text(unfinished=True))
        if self.play.player is not None:
            if self.keeper is None or not self.keeper.is_kept:
                return "You have left the table."
            return "You have left the table; 'hearts play --resume' goes on with it."
        if self.keeper is None or not self.keeper.games.is_file():
            return "Good-bye."
        return f"Your deals are kept in {self.keeper.games}."

    # -- actions -----------------------------------------------------------------------------------
    def _let_act(self) -> None:
        """Let an agent act; its chance follows from the table's seed and the position alone.

        The table's seed cannot be computed from what the agent is given. For an agent that
        misbehaves the first legal action is played.
        """
        seat = self.play.player
        assert seat is not None
        game, name = self.game, self._name(seat)
        place = 1000 * len(self._deals) + len(game.actions)
        view, action = game.view(seat), 0
        fault: Fault | None = Fault(0, LATE, "was broken off")
        with self._patience(name, "Ctrl-C plays a card for it"):
            seed = secret_seed(self.seed, "act", self.number, place)
            action, fault = ask_one(self.agents[seat], view, seed)
        if fault is not None:
            action = view.legal_actions()[0]
            self.teller.say(f"{name} {_misdeed(fault)}; its first legal card is played for it.")
        self._do(action)

    @contextlib.contextmanager
    def _patience(self, name: str, way_out: str) -> Iterator[None]:
        """Say after a while that `name` still thinks; from then on Ctrl-C ends this block alone."""
        is_said = threading.Event()

        def tell() -> None:
            is_said.set()
            self.teller.say(f"{name} is still thinking; {way_out}.")

        timer = threading.Timer(_PATIENCE, tell)
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
        """Play an action, keep the table, and tell what it did."""
        game, before = self.game, self.game.clone()
        with held_interrupt():  # what is played is kept
            self.play.play(action)  # a match has then perhaps begun its next deal
            if game.is_over:
                self._deals.append(game)
                self._ended = game
            self._keep()
        self.teller.action(before, game, action)
        if game.is_over:
            self.teller.result(game)
            if isinstance(self.play, Match):
                self.teller.totals(self.play)

    def _decide(self, action: int) -> None:
        self._past.append((self.play.clone(), len(self._deals)))
        self._do(action)

    def _own_turn(self) -> None:
        """Show the position and ask until an action is played or taken back."""
        self.teller.position(self.game.view(self.seat))
        while True:
            prompt = {"pass": "Pass", "moon": "Choose"}.get(self.game.phase, "Play")
            line = self._line(prompt)
            if not line:
                legal = self.game.legal_actions()
                if len(legal) > 1:
                    self.teller.say("Name a card, or 'help'.")
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
                self.teller.say(str(error))
                continue
            for action in actions:
                self._decide(action)
            return

    def _line(self, prompt: str) -> str:
        line = self.ask(self.teller.cards.bold(f"{prompt}> "))
        if line is None:
            raise Quit
        return line

    def _read(self, line: str) -> list[int] | None:
        """The actions that a line names; None: it may be a command.

        Raises:
            NotationError: it names cards that cannot be played now.
        """
        game, view, cards = self.game, self.game.view(self.seat), self.teller.cards
        names = {game.rules.action_name(action): action for action in view.legal_actions()}
        if game.phase == "moon":
            chosen = {"1": "moon:off", "2": "moon:others", "off": "moon:off"}
            name = chosen.get(line.lower(), f"moon:{line.lower()}")
            return [names[name]] if name in names else None
        words = line.replace(",", " ").split()
        if not words or _command(words[0]) or (len(words) > 1 and game.phase != "pass"):
            return None
        found: list[str] = []
        for word in words:
            card = self._card(word, [name for name in names if name not in found])
            if card is None:
                return None
            if card not in names or card in found:
                held = card in view.hand
                why = "cannot be played now" if held else "is not in your hand"
                raise NotationError(f"{cards.card(card)} {why}; you may take {cards.cards(names)}")
            found.append(card)
        left = game.rules.pass_count - len(view.passed)
        if game.phase == "pass" and len(found) > left:
            raise NotationError(f"{len(found)} cards are too many; {left} are still to be passed")
        return [names[card] for card in found]

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
            raise NotationError("q alone leaves the table; name a queen with her suit, like qs")
        found = [card for card in legal if len(letter) == 1 and letter in card]
        if len(found) > 1:
            shown = ", ".join(map(self.teller.cards.card, found))
            raise NotationError(f"{word!r} may be {shown}; name one")
        return found[0] if found else None

    # -- commands ----------------------------------------------------------------------------------
    def _command(self, line: str) -> bool:
        """Do a command; returns whether the position has changed."""
        word, _, argument = line.partition(" ")
        command, argument = _command(word), argument.strip()
        if command and argument and command not in _WITH_ARGUMENT:
            self.teller.say(f"{command!r} stands alone; leave {argument!r} out.")
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
                self.teller.history(self.game.view(self.seat))
            case "rules":
                self.teller.say("\n".join(explain(self.game.rules)))
            case "save" | "save!":
                self._save(argument, overwrites=command == "save!")
            case "help":
                marked = "dimmed" if self.teller.cards.color else "in ( )"
                self.teller.say(HELP.format(marked=marked))
            case _:
                self.teller.say(
                    f"{line!r} is neither a card that fits nor a command; 'help' lists both."
                )
        return False

    def _leaves(self) -> bool:
        return self._line("Leave the table? y or n").lower() in ("y", "yes", "q", "quit")

    def _undo(self) -> bool:
        if not self._past:
            self.teller.say("There is nothing to take back.")
            return False
        self.play, count = self._past.pop()
        self._ended = None
        del self._deals[count:]
        self._keep()
        self.teller.say(self.teller.cards.dim("Taken back."))
        return True

    def _hint(self, name: str) -> None:
        view, found = self.game.view(self.seat), None
        with self._patience(name or "the player that gives hints", "Ctrl-C goes on without a hint"):
            if name not in self._hinters:
                agent = make_agent(name, seed=0) if name else best_hinter(view.rules)
                check_rules(agent, view.rules)
                self._hinters[name] = agent
            found = hint(self._hinters[name], view)
        for line in tell(found, view, self.teller.cards, CHOICES) if found else ():
            self.teller.say(line)

    def _save(self, name: str, *, overwrites: bool) -> None:
        if not name:
            self.teller.say("Name a file: save my-deal.txt")
            return
        path = Path(name).expanduser()
        if path.exists() and not overwrites:
            self.teller.say(f"{name} is there already; take another name, or write: save! {name}")
            return
        try:
            write_whole(path, self._text(unfinished=True).encode())
        except (OSError, ValueError) as error:  # ValueError: no file can be called so
            self.teller.say(
                f"{name} cannot be written: {getattr(error, 'strerror', None) or error}"
            )
        else:
            self.teller.say(f"Saved in {name}.")

    # -- between deals -----------------------------------------------------------------------------
    def _after_deal(self, game: Game) -> None:
        """Ask what to do with a finished deal until it is the next one, or an undo.

        Raises:
            Quit: the person leaves.
        """
        two = game.rules.players == 2 and not game.rules.pass_count
        menu = ["[a]nalyse"] if two else []
        menu += ["[r]eplay", "[s]ave FILE", "[u]ndo", "[n]ext", "[q]uit"]
        self.teller.say(" ".join(menu))
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
                    replay.show([record], self.teller.cards, self.ask)
                case "analyse" if two:
                    self._analyse(game)
                case _:
                    self.teller.say(" ".join(menu) + "; Enter alone: next")

    def _next(self) -> None:
        """Go on with the match, or begin another deal or match."""
        self._ended = None
        if self.play.player is None:
            self._earlier += self._records()
            self._deals.clear()
            self._past.clear()
            self.number += 1
            self.play = _new_play(
                self.play.rules, self.seed, self.number, is_match=isinstance(self.play, Match)
            )
        self._keep()
        self.teller.begin_deal(self.play)

    def _analyse(self, game: Game) -> None:
        from hearts_train.console import print_table
        from hearts_train.measure import (
            analysis,  # the solver, which a game without it can do without
        )

        found = analysis.analyse(game, names=Record(game, self._tags(game)).names())
        print_table("card by card", analysis.columns(found), analysis.rows(found))
        for line in analysis.summary(found):
            self.teller.say(line)

    # -- keeping -----------------------------------------------------------------------------------
    def _tags(self, game: Game) -> dict[str, str]:
        """What is told of a deal beside its play; its seed only when all of that is over."""
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
        return _short(self.against[others.index(seat) % len(self.against)])

    @property
    def _seed(self) -> int:
        """That of the deal or match that is played."""
        return _play_seed(self.seed, self.number)

    def _records(self) -> list[Record]:
        return [Record(game, self._tags(game)) for game in self._deals]

    def _text(self, *, unfinished: bool) -> str:
        """The hand histories of the sitting."""
        records = [*self._earlier, *self._records()]
        if unfinished and self._ended is None:
            records.append(Record(self.game, self._tags(self.game)))
        return "\n".join(record.to_text() for record in records)

    def _keep(self) -> None:
        """Write what has been played so far; nothing is lost whatever ends the program."""
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
        """Go on where `state` was kept, every decision of it still to be taken back.

        Raises:
            HeartsError: its deals are not those of such a table.
        """
        self.number, self.date = state.number, state.date
        self._earlier = [record for text in state.finished for record in parse_records(text)]
        games = [game for text in state.deals for game in parse_games(text)]
        if any(game.rules != self.play.rules for game in games) or (
            len(games) > 1 and not state.is_match
        ):
            raise HeartsError("table: the deals kept are not of its rules; remove its file")
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
    """What an agent did, in words for its opponent: nothing about the cards that it could play."""
    if fault.kind == ILLEGAL:
        return "chose what is not legal now"
    return fault.text if fault.kind in (TAMPERED, LATE) else f"raised {fault.text}"


def _command(word: str) -> str | None:
    """The command that a word of two letters or more begins; None: none, or several."""
    special = {"?": "help", "q": "quit", "Q": "quit", "save": "save", "sa": "save"}
    if word in special:
        return special[word]
    found = [name for name in _COMMANDS if len(word) > 1 and name.startswith(word.lower())]
    return found[0] if len(found) == 1 or found == ["save", "save!"] else None


def _menu_word(word: str) -> str | None:
    """The choice of the menu that a word begins; Enter alone is the next deal."""
    if not word:
        return "next"
    return next((name for name in _MENU if name.startswith(word.lower())), None)


def _play_seed(seed: int, number: int) -> int:
    return seed if number == 0 else derived_seed(seed, _PLAYS + number)


def _new_play(rules: Rules, seed: int, number: int, *, is_match: bool) -> Game | Match:
    """The deal or match of this number in a sitting, from 0."""
    seed = _play_seed(seed, number)
    return Match(rules, seed) if is_match else Game.deal(rules, seed)


def _short(name: str) -> str:
    """An agent as people call it: its name, or the last part of its path."""
    return Path(name).name or name


def open_table(
    rules: Rules | None,
    against: Sequence[str],
    seed: int | None,
    seat: int,
    *,
    is_match: bool,
    keeper: Keeper | None = None,
    ask: Ask = ask_at_terminal,
) -> Table:
    """Deal, and seat the agents.

    Args:
        rules: what to play; None: what an agent was trained for, else ``two_player``.
        against: one agent for all other seats, or one for each, from seat 0 on.
        seed: of the deals and of the agents' chance; None: from the operating system.
        seat: the person's.
        is_match: play deals to the end score.
        keeper: writes what is to be kept; None: nothing is.
        ask: where the person's words come from.

    Raises:
        HeartsError: an unknown agent, or one that cannot play these rules, no such seat, or not
            one agent for each.
    """
    seed = secrets.randbelow(10**9) if seed is None else check_seed(seed)
    made = [Contender(name, secret_seed(seed, "table", i)) for i, name in enumerate(against)]
    rules = rules_for(made, rules)
    for contender in made:
        try:
            contender.check_rules(rules)
        except HeartsError as error:
            name = contender.name
            raise HeartsError(f"against: {name} cannot play {rules.name}: {error}") from None
    n = rules.players
    if not 0 <= seat < n:
        raise HeartsError(f"seat: {seat} is no seat of {n} players; give 0 to {n - 1}")
    if len(made) not in (1, n - 1):
        agents, seats = _counted(len(made), "agent"), _counted(n - 1, "seat")
        raise HeartsError(f"against: {agents} for {seats}; give one, or one for each")
    others = [p for p in range(n) if p != seat]
    names = ["you"] * n
    for place, p in enumerate(others):
        name = _short(against[place % len(against)])
        names[p] = name if n == 2 else f"{p}:{name}"
    return Table(
        play=_new_play(rules, seed, 0, is_match=is_match),
        seed=seed,
        agents={
            p: made[place % len(made)].fresh(secret_seed(seed, "seat", p))
            for place, p in enumerate(others)
        },
        against=against,
        teller=Teller(seat, names, CardText.of(sys.stdout)),
        keeper=keeper,
        ask=ask,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def reopen_table(keeper: Keeper, state: TableState, ask: Ask = ask_at_terminal) -> Table:
    """Sit down again at a table that was left.

    Raises:
        HeartsError: it cannot be gone on with: an agent is not there any more.
    """
    table = open_table(
        Rules.from_text(state.rules),
        state.against,
        state.seed,
        state.seat,
        is_match=state.is_match,
        keeper=keeper,
        ask=ask,
    )
    table.restore(state)
    return table
