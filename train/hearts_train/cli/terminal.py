"""Hearts in the terminal: one person in seat 0, agents in the others; saved after every card.

The file is the hand history of the deal, with the seed and the agents in its tags.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hearts_agents import make_agent
from hearts_agents.guard import ask_one
from hearts_agents.programs.process import LAST_WORDS
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import CRASHED, ILLEGAL, LATE, Fault
from hearts_env import Game, HeartsError, NotationError, PlayerView, Rules
from hearts_env.cards import BYTE_ORDER_MARK, parse_card
from hearts_env.game.notation import Record
from hearts_env.render.scene import count_text
from hearts_env.rules.explain import explain
from hearts_env.seeds import secret_seed
from hearts_env.support.files import write_whole
from hearts_env.support.interrupts import held_interrupt
from hearts_train.cli.cardtext import CHOICES, CardText, describe
from hearts_train.cli.replay import dealt, footer, read_records, steps
from hearts_train.measure.analysis import best_hinter, hint
from hearts_train.measure.participants import Participant, rules_for

COMMANDS = "Type a card like QS or 10h, or: hint, rules, quit. Enter plays a forced card."
EVENT = "hearts play"

Ask = Callable[[str], "str | None"]
"""Reads a line after a prompt; None at the end of the input."""


def ask_at_terminal(prompt: str) -> str | None:
    """Return the next line of standard input without surrounding spaces; None at its end."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline().replace(BYTE_ORDER_MARK, "")  # some shells begin a pipe with one
    if not line:
        print()
        return None
    if not sys.stdin.isatty():  # else the output would lack what was entered
        print(line.strip())
    return line.strip()


class TerminalGame:
    """A deal that one person plays in the terminal.

    Attributes:
        game: The deal.
        names: The name of each seat's player; "You" for the person, who has seat 0.
    """

    def __init__(self, rules: Rules | None, seed: int, opponents: Sequence[str]) -> None:
        """Deal, and make one agent for each other seat.

        Args:
            rules: The rules. If None, those that an agent was trained for, else ``two_player``.
            seed: The seed of the deal; the agents' random numbers follow from it.
            opponents: One agent for all other seats, or one for each.

        Raises:
            HeartsError: if an agent is unknown or cannot play these rules, or their number is
                wrong.
        """
        entered = [
            Participant(name, secret_seed(seed, "table", i)) for i, name in enumerate(opponents)
        ]
        rules = rules_for(entered, rules)
        others = rules.players - 1
        if len(entered) not in (1, others):
            agents, places = count_text(len(entered), "agent"), count_text(others, "seat")
            raise HeartsError(f"opponent: {agents} for {places}; give one for all, or one for each")
        for one in entered:
            try:
                one.check_rules(rules)
            except HeartsError as error:
                text = f"opponent: {one.name} cannot play {rules.name}: {error}"
                raise HeartsError(text) from None
        seats = [entered[i % len(entered)] for i in range(others)]
        self._agents = [one.fresh(secret_seed(seed, "seat", p)) for p, one in enumerate(seats, 1)]
        self.game = Game.deal(rules, seed)
        labels = {f"Player {p}": one.name for p, one in enumerate(seats, 1)}
        self._record = Record(self.game, {"Player 0": "You", **labels})
        self.names = self._record.names()
        self._opponents = [opponents[i % len(opponents)] for i in range(others)]
        self._seed = seed
        self._cards = CardText.of()
        self._told = 0

    @classmethod
    def resume(cls, path: Path) -> TerminalGame:
        """Return the game of a file that ``save`` has written.

        Raises:
            HeartsError: if it is no such file, is damaged, or names code that is not allowed.
        """
        record, *more = read_records(path)
        rules, tags = record.game.rules, record.tags
        try:
            seed = int(tags["Seed"])
            opponents = [tags[f"Player {p}"] for p in range(1, rules.players)]
        except (KeyError, ValueError):
            opponents = []
        if more or not opponents or tags.get("Event") != EVENT:
            text = f"resume: {path} was not saved by 'hearts play'; give a file that was"
            raise HeartsError(text)
        for name in opponents:
            AgentSpec.from_json(name).check_allowed(f"resume: {path}")
        found = cls(rules, seed, opponents)
        if found.game != record.game.start():
            raise HeartsError(f"resume: {path} is damaged; start another game")
        for action in record.game.actions:
            found.game.play(action)
        return found

    def save(self, path: Path) -> None:
        """Write the hand history."""
        tags = {"Event": EVENT, "Seed": str(self._seed)}
        tags |= {f"Player {p}": name for p, name in enumerate(["You", *self._opponents])}
        write_whole(path, Record(self.game, tags).to_text().encode())

    def run(self, path: Path | None, ask: Ask = ask_at_terminal) -> bool:
        """Play, and save after every action; return whether the game was played to its end."""
        self._say(f"{self.game.rules.name}, seed {self._seed}. {COMMANDS}")
        if path is not None:
            self.save(path)
        while (seat := self.game.current_player) is not None:
            action = self._asked(ask) if seat == 0 else self._answered(seat)
            if action is None:
                return False
            with held_interrupt():  # an action that was played is saved
                self.game.play(action)
                if path is not None:
                    self.save(path)
        self._tell()
        self._say("\n".join([*dealt(self._record, self._cards), footer(self._record)]))
        return True

    def _answered(self, seat: int) -> int:
        """Return the action of an agent; after a fault, its first legal one."""
        view = self.game.view(seat)
        seed = secret_seed(self._seed, "act", len(self.game.actions))
        action, fault = ask_one(self._agents[seat - 1], view, seed)
        if fault is None:
            return action
        self._say(f"{self.names[seat]} {fault_text(fault)}; its first legal card is played.")
        return view.legal_actions()[0]

    def _asked(self, ask: Ask) -> int | None:
        """Show the position and return the person's action; None if the person leaves."""
        view = self.game.view(0)
        names = {view.rules.action_name(action): action for action in view.legal_actions()}
        self._tell()
        self._show(view, names)
        prompt = {"pass": "Pass> ", "moon": "off or others> "}.get(view.phase, "Play> ")
        while (line := ask(prompt)) not in (None, "quit", "q"):
            try:
                if line == "hint":
                    advice = hint(make_agent(best_hinter(view), seed=0), view)
                    self._say("\n".join(describe(advice, view, self._cards)))
                elif line == "rules":
                    self._say("\n".join(explain(view.rules)))
                elif not line and len(names) == 1:
                    return next(iter(names.values()))
                elif f"moon:{line}" in names:
                    return names[f"moon:{line}"]
                elif (card := parse_card(line or "?")) in names:
                    return names[card]
                else:
                    why = "cannot be played now" if card in view.hand else "is not in your hand"
                    self._say(f"{self._cards.card(card)} {why}; choose from {' '.join(names)}.")
            except NotationError:
                self._say(COMMANDS)
            except HeartsError as error:
                self._say(str(error))
        return None

    # -- what is shown -----------------------------------------------------------------------------
    def _say(self, text: str) -> None:
        print(self._cards.wrap(text), flush=True)

    def _tell(self) -> None:
        """Tell the events since the last call, and the trick on the table."""
        view = self.game.view(0)
        # Those of trick 0, the exchange, are not for everyone's eyes.
        events = [text for trick, text in steps(self._record, self._cards) if trick]
        if view.received:
            given, got = self._cards.cards(view.passed), self._cards.cards(view.received)
            events.insert(0, f"You pass {given} {view.direction} and receive {got}.")
        for text in events[self._told :]:
            self._say(text)
        self._told = len(events) - bool(view.trick)

    def _show(self, view: PlayerView, names: Iterable[str]) -> None:
        """Show the position before the person's action."""
        if view.phase == "pass":
            left = view.rules.pass_count - len(view.passed)
            self._say(f"{count_text(left, 'card')} to pass {view.direction}.")
        elif view.phase == "moon":
            self._say("You have shot the moon: " + ", or ".join(CHOICES.values()) + "?")
        else:
            points = ", ".join(f"{n} {p}" for n, p in zip(self.names, view.points, strict=True))
            self._say(f"Trick {view.trick_number + 1} of {view.rules.hand_size}. Points: {points}.")
        self._say("Your hand: " + self._cards.hand(view.hand, names))


def fault_text(fault: Fault) -> str:
    """Describe a fault without a word about the cards that the agent could have played."""
    if fault.kind == ILLEGAL:
        return "chose an illegal action"
    if fault.kind in (LATE, CRASHED):
        return fault.text.partition(LAST_WORDS)[0]
    return f"raised {fault.text}"
