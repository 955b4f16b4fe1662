"""Cards and the events at a table as text for a terminal.

Cards have suit symbols and colours where the terminal can show them, else they are like ``QS``.
What is announced during a deal comes from the person's view alone; after it all cards are shown.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from hearts_env import Game, Match, PlayerView, Rules
from hearts_env.cards import SUITS
from hearts_env.render.scene import count_text

if TYPE_CHECKING:
    from hearts_train.measure.analysis import Hint
    from hearts_train.session.table import Entry

_SYMBOLS = dict(zip(SUITS, "♣♦♠♥", strict=True))
_STYLED = re.compile(r"\x1b\[[0-9;]*m")
_COLORS = {"C": "32", "D": "33", "S": "36", "H": "31"}  # four colours tell suits apart best


class CardText:
    """How cards are written to one output."""

    def __init__(self, *, color: bool, symbols: bool, wraps: bool = False) -> None:
        """Use ANSI colours or not, suit symbols or letters; break lines at the terminal's edge."""
        self.color = color
        self.symbols = symbols
        self.wraps = wraps

    @classmethod
    def of(cls, stream: TextIO | None = None) -> CardText:
        """What `stream` (standard output) can show; NO_COLOR and TERM=dumb are respected."""
        stream = sys.stdout if stream is None else stream
        color = (
            stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )
        try:
            "♣♦♠♥".encode(getattr(stream, "encoding", None) or "ascii")
            symbols = True
        except (UnicodeEncodeError, LookupError):
            symbols = False
        return cls(color=color, symbols=symbols, wraps=stream.isatty())

    def wrap(self, text: str) -> str:
        """The text with lines wider than the terminal broken between words."""
        return wrap(text, shutil.get_terminal_size().columns) if self.wraps else text

    def style(self, text: str, code: str) -> str:
        """The text in an ANSI style, where the output has colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def bold(self, text: str) -> str:
        """The text in bold."""
        return self.style(text, "1")

    def dim(self, text: str) -> str:
        """The text dimmed."""
        return self.style(text, "2")

    def card(self, card: str) -> str:
        """A card, like ``Q♠``, or a suit."""
        return self.style(self._plain(card), _COLORS[card[-1]])

    def _plain(self, card: str) -> str:
        return card[:-1] + (_SYMBOLS[card[-1]] if self.symbols else card[-1])

    def cards(self, cards: Iterable[str]) -> str:
        """Cards in the order given."""
        return " ".join(map(self.card, cards)) or "-"

    def hand(self, cards: Iterable[str], playable: Iterable[str] | None = None) -> str:
        """A hand by suits; what is not `playable` is in brackets (or dimmed)."""
        cards = list(cards)
        free = set(cards if playable is None else playable)
        suits = [
            " ".join(
                self.card(card)
                if card in free
                else self.dim(self._plain(card))
                if self.color
                else f"({self._plain(card)})"
                for card in cards
                if card[1] == suit
            )
            for suit in SUITS
        ]
        return "   ".join(filter(None, suits)) or "-"


def wrap(text: str, width: int) -> str:
    """The text with lines of at most `width` columns, broken between words.

    Styles take no columns. Continuation lines are indented by two more columns.
    """
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip(" ")) + 2, width // 2)
    parts, used = [""], 0
    for word in re.findall(r" *[^ ]+", line):
        size = len(_STYLED.sub("", word))
        if used and used + size > width:
            parts.append(indent)
            word = word.lstrip(" ")
            used, size = len(indent), len(_STYLED.sub("", word))
        parts[-1] += word
        used += size
    return parts


# ---- events at a table ---------------------------------------------------------------------------
CHOICES = {"moon:off": "have the points taken off", "moon:others": "let the others pay"}


def does(name: str, verb: str) -> str:
    """A name with its verb: ``pro plays``, but ``You play``."""
    if name.partition(" ")[0] != "You":
        return f"{name} {verb}"
    return f"{name} {_PLURAL.get(verb, verb.removesuffix('s'))}"


_PLURAL = {"passes": "pass", "has": "have"}


def points_text(rules: Rules, cards: Iterable[str]) -> str:
    """The points of cards, like ``+5``; empty if there are none."""
    points = sum(rules.card_points.get(card, 0) for card in cards)
    return f"{points:+d}" if points else ""


@dataclass
class Announcer:
    """Announces the events of a game to one person.

    Attributes:
        seat: Where the person sits.
        names: What each seat is called.
        cards: How cards are written.
    """

    seat: int
    names: Sequence[str]
    cards: CardText

    def say(self, text: str = "") -> None:
        """Print a text, wrapped at the terminal's width."""
        print(self.cards.wrap(text))

    def who(self, seat: int) -> str:
        """The name of a seat, as the first word of a sentence."""
        return "You" if seat == self.seat else self.names[seat]

    def does(self, seat: int, verb: str) -> str:
        """The name of a seat with its verb."""
        return does(self.who(seat), verb)

    def begin_deal(self, play: Game | Match) -> None:
        """Announce a deal: its number in a match, and its exchange."""
        game = play.game if isinstance(play, Match) else play
        if isinstance(play, Match):
            self.say(self.cards.bold(f"Deal {play.num_deals + 1} of the match."))
        if game.phase == "pass":
            n = game.rules.players
            to = (self.seat + {"left": 1, "right": -1, "across": n // 2}[game.direction]) % n
            count = count_text(game.rules.pass_count, "card")
            self.say(f"Exchange: {count} {game.direction}, to {self.names[to]}.")
        elif game.rules.pass_count and not game.actions:
            self.say("No exchange in this deal (hold).")

    def action(self, entries: Sequence[Entry]) -> None:
        """Announce the events of an action as everybody sees it, an exchange as the person does."""
        told = {entry.kind: entry.facts for entry in entries}
        view = entries[-1].game.view(self.seat)
        if "received" in told:
            given, got = self.cards.cards(view.passed), self.cards.cards(view.received)
            self.say(f"You pass {given} and receive {got}.\n")
        if moon := told.get("moon"):
            self.say(
                f"{self.does(moon['seat'], 'chooses')} to {CHOICES['moon:' + moon['choice']]}."
            )
        if play := told.get("play"):
            seat, name = play["seat"], play["action"]
            card = self.cards.card(name)
            self.say(f"{self.does(seat, 'plays')} {card}.")
            if "broken" in told and view.rules.break_on is not None:
                is_breaker = name[1] == "H" or (name == "QS" and view.rules.queen_breaks_hearts)
                why = f"played {card}" if is_breaker else "could not follow"
                who = "you" if seat == self.seat else self.names[seat]
                self.say(f"Hearts are broken: {who} {why}.")
        if trick := told.get("trick"):
            taker = self.does(trick["taker"], "takes")
            points = self._points(view, [card for _, card in trick["cards"]])
            line = self.cards.bold(f"{taker} trick {len(view.tricks)}{points}")
            if "kitty" in told:
                points = self._points(view, view.kitty)
                line += f", and the kitty {self.cards.cards(view.kitty)}{points}"
            self.say(line + ".\n")

    def _points(self, view: PlayerView, cards: Iterable[str]) -> str:
        points = points_text(view.rules, cards)
        return f" ({points})" if points else ""

    def position(self, view: PlayerView) -> None:
        """Show the position, from the person's seat."""
        rules = view.rules
        playable = [rules.deck[a] for a in view.legal_actions() if a < len(rules.deck)]
        if view.phase == "pass":
            left = rules.pass_count - len(view.passed)
            self.say(f"{left} to pass {view.direction}.")
            self.say("Your hand: " + self.cards.hand(view.hand, playable))
            return
        if view.phase == "moon":
            self.say(
                "You have shot the moon. 1 (off): take the points off your own score; "
                "2 (others): the others pay."
            )
            return
        state = [f"Trick {view.trick_number + 1} of {rules.hand_size}"]
        if rules.break_on is not None:
            state.append("hearts broken" if view.hearts_broken else "hearts not broken")
        if rules.trump:
            state.append(f"trump {self.cards.card(rules.trump)}")
        self.say(self.cards.dim(" | ".join(state)))
        width = max(map(len, self.names))
        unit = "total" if rules.settlement == "points" else "chips"
        for seat in range(rules.players):
            voids = " ".join(map(self.cards.card, view.voids[seat]))
            total = f"  {unit} {view.totals[seat]:3}" if any(view.totals) else ""
            self.say(
                f"  {self.who(seat):{width}}  points {view.points[seat]:3}  "
                f"tricks {view.tricks_taken()[seat]:2}{total}"
                + (f"  void {voids}" if voids else "")
            )
        if view.kitty_taker is not None:
            self.say(f"  kitty {self.cards.cards(view.kitty)}, to {self.who(view.kitty_taker)}")
        if view.trick:
            self.say("On the table: " + self._plays(view.trick))
        else:
            self.say("You lead.")
        self.say("Your hand: " + self.cards.hand(view.hand, playable))

    def history(self, view: PlayerView) -> None:
        """Show the tricks so far."""
        if view.passed:
            self.say(
                f"Passed {self.cards.cards(view.passed)}, "
                f"received {self.cards.cards(view.received)}."
            )
        if not view.history:
            self.say("Nothing has been played yet.")
        tricks = [*view.tricks, view.trick] if view.trick else view.tricks
        for number, trick in enumerate(tricks, 1):
            self.say(f"{number:2}. {self._plays(trick)}")

    def _plays(self, trick: Iterable[tuple[int, str]]) -> str:
        return ", ".join(f"{self.who(seat)} {self.cards.card(card)}" for seat, card in trick)

    def result(self, game: Game) -> None:
        """Show all cards and the scores, after a deal."""
        self.say(self.cards.bold("The deal is over."))
        start, scores = game.start(), game.scores()
        width = max(map(len, self.names))
        for seat in range(game.rules.players):
            hand = self.cards.hand(start.hand(seat))
            self.say(f"  {self.who(seat):{width}} {scores[seat]:4}   dealt {hand}")
        if game.kitty:
            self.say(f"  {'kitty':{width}}        " + self.cards.hand(game.kitty))
        if game.shooter is not None:
            self.say(f"{self.does(game.shooter, 'has')} shot the moon!")
        *first, last = [self.who(p) for p, score in enumerate(scores) if score == min(scores)]
        best = f"{', '.join(first)} and {last} have" if first else does(last, "has")
        self.say(self.cards.bold(f"{best} the lowest score.") + "\n")

    def totals(self, match: Match) -> None:
        """Show the standing of a match after a deal."""
        unit = "chips" if match.in_chips else "points"
        totals = ", ".join(f"{self.who(s)} {total}" for s, total in enumerate(match.totals))
        pool = f"; {match.pool} in the pool" if match.pool else ""
        deals = count_text(match.num_deals, "deal")
        self.say(f"Match after {deals}, in {unit}: {totals}{pool}.")
        if match.is_over:
            winner = match.winner
            shared = "The match is a draw."
            end = shared if winner is None else f"{self.does(winner, 'wins')} the match."
            self.say(self.cards.bold(end))
        self.say()


# ---- hints ---------------------------------------------------------------------------------------
def describe(advice: Hint, view: PlayerView, cards: CardText) -> list[str]:
    """A hint for a position as lines of text: what another player would do, and why."""

    def named(action: int) -> str:
        name = view.rules.action_name(action)
        return CHOICES.get(name) or cards.card(name)

    lines = [f"{advice.agent} would choose {named(advice.action)}."]
    if advice.worths:
        ways = f"{advice.worlds} of the ways" if advice.is_sample else f"all {advice.worlds} ways"
        lines.append(
            "Points by which you win the deal with each card, on average over "
            f"{ways if advice.worlds > 1 else 'the one way'} the unseen cards can lie:"
        )
        words = "within noise" if advice.is_sample else "as good"
        parts: list[str] = []
        for worth in advice.worths:
            half = f" ± {worth.half:.1f}" if advice.is_sample else ""
            near = f" ({words})" if worth.is_close and parts else ""
            parts.append(f"{named(worth.action)} {worth.margin:+.1f}{half}{near}")
        lines.append("  " + ", ".join(parts))
    elif advice.chances:
        likely = [f"{named(a)} {chance:.0%}" for a, chance in advice.chances if chance >= 0.005]
        lines.append("Its probabilities: " + ", ".join(likely))
    return lines
