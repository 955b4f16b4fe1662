"""Play Hearts in the terminal, as the player in seat 0 against agents.

The saved file is the hand history of the deal, with the seed and the agents in its tags.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hearts_agents import make_agent
from hearts_agents.base import check_rules
from hearts_agents.guard import ask_one
from hearts_agents.spec import AgentSpec
from hearts_env import Game, HeartsError, NotationError, PlayerView, Rules
from hearts_env.cards import MOON_CHOICES, card_text, parse_card
from hearts_env.game.notation import Record
from hearts_env.render.scene import count_text
from hearts_env.rules.explain import aim, explain
from hearts_env.seeds import secret_seed
from hearts_env.support.files import write_whole
from hearts_env.support.interrupts import held_interrupt
from hearts_train import console
from hearts_train.cli.cardtext import cards_text, describe, hand_text, show
from hearts_train.cli.replay import dealt, footer, read_records, steps
from hearts_train.measure.analysis import best_hinter, hints, outcome
from hearts_train.measure.participants import trained_rules

COMMANDS = "Type a card like QS or 10h, or: hint, rules, quit. Enter plays a forced card."
EVENT = "hearts play"


def ask_at_terminal(prompt: str) -> str | None:
    """Return the next line of standard input without surrounding spaces, or None at its end."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line or not sys.stdin.isatty():  # a terminal has shown the input already
        console.say(line.strip())
    return line.strip() if line else None


def new_game(rules: Rules | None, seed: int, opponents: Sequence[str]) -> Record:
    """Deal a game against one agent in all other seats, or against one agent per seat.

    If `rules` is None, use the rules that an agent was trained for, or ``two_player``.

    Raises:
        HeartsError: if an agent is unknown, or the number of agents is wrong.
    """
    rules = Rules.make(rules or trained_rules(opponents) or "two_player")
    others = rules.players - 1
    if len(opponents) not in (1, others):
        agents, places = count_text(len(opponents), "agent"), count_text(others, "seat")
        raise HeartsError(f"opponent: {agents} for {places}; give one for all, or one for each")
    seated = {f"Player {p + 1}": opponents[p % len(opponents)] for p in range(others)}
    tags = {"Event": EVENT, "Seed": str(seed), "Player 0": "You", **seated}
    return Record(Game.deal(rules, seed), tags)


def saved_game(path: Path) -> Record:
    """Return the game in a file of ``hearts play --save``.

    Raises:
        HeartsError: if the file is of another kind, is damaged, or names code that is not allowed.
    """
    record, *more = read_records(path)
    agents = [record.tags.get(f"Player {p}", "") for p in range(1, record.game.rules.players)]
    seed = record.tags.get("Seed", "")
    is_seed = seed.isdecimal() and len(seed) < 20
    if more or record.tags.get("Event") != EVENT or not is_seed or not all(agents):
        raise HeartsError(f"resume: {path} is no file of 'hearts play --save'; give one that is")
    for agent in agents:
        AgentSpec.from_json(agent).check_allowed(f"resume: {path}")
    return record


class TerminalGame:
    """A deal in progress in the terminal."""

    def __init__(self, record: Record) -> None:
        """Make the agents of a game from ``new_game`` or ``saved_game``.

        Raises:
            HeartsError: if an agent is unknown or cannot play these rules.
        """
        self.record, self.game = record, record.game
        self._seed = int(record.tags["Seed"])
        self._agents = {}
        for p in range(1, self.game.rules.players):
            agent = make_agent(record.tags[f"Player {p}"], secret_seed(self._seed, "seat", p))
            check_rules(agent, self.game.rules)
            self._agents[p] = agent
        self._told = 0

    def play(self, path: Path | None, ask: Callable[[str], str | None] = ask_at_terminal) -> bool:
        """Play, and save after every action. Return False if the person leaves.

        Args:
            path: the file to save to. If None, nothing is saved.
            ask: returns a line for a prompt, or None at the end of the input.
        """
        show(f"{self.game.rules.name}, seed {self._seed}. {' '.join(aim(self.game.rules))}")
        show(COMMANDS)
        self._save(path)
        while (seat := self.game.current_player) is not None:
            action = self._asked(ask) if seat == 0 else self._answered(seat)
            if action is None:
                return False
            with held_interrupt():  # an action that was played is saved
                self.game.play(action)
                self._save(path)
        self._tell()
        ending = [footer(self.record), outcome(self.game, 0, self.record.names()[0])]
        show("\n".join([*dealt(self.record), *ending]))
        return True

    def _save(self, path: Path | None) -> None:
        if path is not None:
            write_whole(path, self.record.to_text().encode())

    def _answered(self, seat: int) -> int:
        """Return the action of an agent, or after a fault its first legal action."""
        view = self.game.view(seat)
        seed = secret_seed(self._seed, "act", len(self.game.actions))
        action, fault = ask_one(self._agents[seat], view, seed)
        if fault is None:
            return action
        # The text of the fault is not shown: it may name the cards in the agent's hand.
        did = f"{self.record.names()[seat]} committed a fault ({fault.kind})"
        show(f"{did}; its first legal card is played. 'hearts evaluate' describes faults.")
        return view.legal_actions()[0]

    def _asked(self, ask: Callable[[str], str | None]) -> int | None:
        """Show the position and return the person's action, or None if the person leaves."""
        view = self.game.view(0)
        names = {view.rules.action_name(action): action for action in view.legal_actions()}
        self._tell()
        self._show(view, names)
        prompt = {"pass": "Pass> ", "moon": "off or others> "}.get(view.phase, "Play> ")
        while (line := ask(prompt)) not in (None, "quit", "q"):
            try:
                if line == "hint":
                    found = hints(make_agent(best_hinter(view), seed=0), self.game)
                    show("\n".join(describe(found, view)))
                elif line == "rules":
                    show("\n".join(explain(view.rules)))
                elif not line and len(names) == 1:
                    return next(iter(names.values()))
                elif f"moon:{line}" in names:
                    return names[f"moon:{line}"]
                elif (card := parse_card(line or "?")) in names:
                    return names[card]
                else:
                    why = "cannot be played now" if card in view.hand else "is not in your hand"
                    show(f"{card_text(card)} {why}; choose from {' '.join(map(card_text, names))}.")
            except NotationError:
                show(COMMANDS)
            except HeartsError as error:
                show(str(error))
        return None

    # -- output ------------------------------------------------------------------------------------
    def _tell(self) -> None:
        """Print the events since the last call, and the trick on the table."""
        view = self.game.view(0)
        # Trick 0 is the exchange, of which a player sees only its own part.
        events = [text for trick, text in steps(self.record) if trick]
        if view.received:
            given, got = cards_text(view.passed), cards_text(view.received)
            events.insert(0, f"You pass {given} {view.direction} and receive {got}.")
        for text in events[self._told :]:
            show(text)
        self._told = len(events) - bool(view.trick)

    def _show(self, view: PlayerView, names: Iterable[str]) -> None:
        """Print the position before the person's action."""
        if view.phase == "pass":
            left = view.rules.pass_count - len(view.passed)
            show(f"{count_text(left, 'card')} to pass {view.direction}.")
        elif view.phase == "moon":
            show("You have shot the moon: " + ", or ".join(MOON_CHOICES.values()) + "?")
        else:
            named = zip(self.record.names(), view.points, strict=True)
            points = ", ".join(f"{name} {number}" for name, number in named)
            show(f"Trick {view.trick_number + 1} of {view.rules.hand_size}. Points: {points}.")
        show("Your hand: " + hand_text(view.hand, names))
