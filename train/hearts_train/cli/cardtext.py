"""Cards and what happens at a table as text for a terminal.

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

from hearts_env import Game, Match, PlayerView
from hearts_env.cards import SUITS

if TYPE_CHECKING:
    from hearts_train.measure.analysis import Hint, Worth

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

    def suit(self, suit: str) -> str:
        """A suit."""
        return self.style(_SYMBOLS[suit] if self.symbols else suit, _COLORS[suit])

    def card(self, card: str) -> str:
        """A card, like ``Q♠``."""
        return self.style(
            card[0] + (_SYMBOLS[card[1]] if self.symbols else card[1]), _COLORS[card[1]]
        )

    def cards(self, cards: Iterable[str]) -> str:
        """Cards in the order given."""
        return " ".join(map(self.card, cards)) or "-"

    def hand(self, cards: Iterable[str], playable: Iterable[str] | None = None) -> str:
        """A hand by suits; what is not `playable` is in brackets (or dimmed)."""
        cards = list(cards)
        free = set(cards if playable is None else playable)
        suits = []
        for suit in SUITS:
            held = [card for card in cards if card[1] == suit]
            if held:
                suits.append(" ".join(self._held(card, free) for card in held))
        return "   ".join(suits) or "-"

    def _held(self, card: str, playable: set[str]) -> str:
        if card in playable:
            return self.card(card)
        plain = card[0] + (_SYMBOLS[card[1]] if self.symbols else card[1])
        return self.dim(plain) if self.color else f"({plain})"


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


# ---- what happens at a table ---------------------------------------------------------------------
CHOICES = {"moon:off": "have the points taken off", "moon:others": "let the others pay"}


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

    def begin_deal(self, play: Game | Match) -> None:
        """Announce a deal: its number in a match, and its exchange."""
        game = play.game if isinstance(play, Match) else play
        if isinstance(play, Match):
            self.say(self.cards.bold(f"Deal {play.num_deals + 1} of the match."))
        if game.phase == "pass":
            n = game.rules.players
            to = (self.seat + {"left": 1, "right": -1, "across": n // 2}[game.direction]) % n
            count = game.rules.pass_count
            self.say(f"Exchange: {count} cards {game.direction}, to {self.names[to]}.")
        elif game.rules.pass_count and not game.actions:
            self.say("No exchange in this deal (hold).")

    def action(self, before: Game, game: Game, action: int) -> None:
        """Announce an action as everybody sees it; in an exchange, as the person sees it.

        Args:
            before: the deal before the action.
            game: the same deal after it.
            action: the action.
        """
        seat, phase, view = before.player, before.phase, game.view(self.seat)
        assert seat is not None
        if phase == "pass":
            if game.phase != "pass":
                self.say(
                    f"You pass {self.cards.cards(view.passed)} and receive "
                    f"{self.cards.cards(view.received)}.\n"
                )
            return
        own = seat == self.seat
        if phase == "moon":
            choice = CHOICES[view.rules.action_name(action)]
            self.say(f"{self.who(seat)} {'choose' if own else 'chooses'} to {choice}.")
            return
        name = game.rules.deck[action]
        card = self.cards.card(name)
        self.say(f"{self.who(seat)} {'play' if own else 'plays'} {card}.")
        if game.rules.break_on is not None and game.hearts_broken and not before.hearts_broken:
            is_breaker = name[1] == "H" or (name == "QS" and game.rules.queen_breaks_hearts)
            why = f"played {card}" if is_breaker else "could not follow"
            self.say(f"Hearts are broken: {self.who(seat)} {why}.")
        if view.trick:
            return
        trick, taker = view.tricks[-1], view.trick_takers[-1]
        verb = "take" if taker == self.seat else "takes"
        worth = _worth(view, [card for _, card in trick])
        line = self.cards.bold(f"{self.who(taker)} {verb} trick {len(view.tricks)}{worth}")
        if game.kitty_taker != before.kitty_taker:
            line += f", and the kitty {self.cards.cards(view.kitty)}{_worth(view, view.kitty)}"
        self.say(line + ".\n")

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
            state.append(f"trump {self.cards.suit(rules.trump)}")
        self.say(self.cards.dim(" | ".join(state)))
        width = max(map(len, self.names))
        unit = "total" if rules.settlement == "points" else "chips"
        for seat in range(rules.players):
            voids = " ".join(map(self.cards.suit, view.voids[seat]))
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
            own = game.shooter == self.seat
            self.say(f"{self.who(game.shooter)} {'have' if own else 'has'} shot the moon!")
        best = [seat for seat, score in enumerate(scores) if score == min(scores)]
        names = _listed([self.who(seat) for seat in best])
        has = "has" if len(best) == 1 and best[0] != self.seat else "have"
        self.say(self.cards.bold(f"{names} {has} the lowest score.") + "\n")

    def totals(self, match: Match) -> None:
        """Show the standing of a match after a deal."""
        unit = "chips" if match.in_chips else "points"
        totals = ", ".join(f"{self.who(s)} {total}" for s, total in enumerate(match.totals))
        pool = f"; {match.pool} in the pool" if match.pool else ""
        deals = "1 deal" if match.num_deals == 1 else f"{match.num_deals} deals"
        self.say(f"Match after {deals}, in {unit}: {totals}{pool}.")
        if match.is_over:
            winner = match.winner
            if winner is None:
                self.say(self.cards.bold("The match is shared."))
            else:
                verb = "win" if winner == self.seat else "wins"
                self.say(self.cards.bold(f"{self.who(winner)} {verb} the match."))
        self.say()


def _worth(view: PlayerView, cards: Sequence[str]) -> str:
    """The points of cards, like `` (+5)``; empty if there are none."""
    points = sum(view.rules.card_points.get(card, 0) for card in cards)
    return f" ({points:+d})" if points else ""


def _listed(names: Sequence[str]) -> str:
    """Like ``A``, ``A and B`` or ``A, B and C``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# ---- hints ---------------------------------------------------------------------------------------
def describe(advice: Hint, view: PlayerView, cards: CardText) -> list[str]:
    """A hint for a position as lines of text: what another player would do, and why."""

    def named(action: int) -> str:
        name = view.rules.action_name(action)
        return CHOICES.get(name) or cards.card(name)

    lines = [f"{advice.agent} would choose {named(advice.action)}."]
    if advice.worths:
        of = "sampled worlds" if advice.is_sample else "possible worlds, all of them"
        lines.append(f"Mean margin of the deal over {advice.worlds} {of}:")
        first = advice.worths[0]
        parts = [f"{named(first.action)} {_figure(first, is_sample=advice.is_sample)}"]
        for worth in advice.worths[1:]:
            words = "within noise" if advice.is_sample else "as good"
            near = f" ({words})" if worth.is_close else ""
            figure = _figure(worth, is_sample=advice.is_sample)
            parts.append(f"{named(worth.action)} {figure}{near}")
        lines.append("  " + ", ".join(parts))
    elif advice.chances:
        likely = [f"{named(a)} {chance:.0%}" for a, chance in advice.chances if chance >= 0.005]
        lines.append("Its probabilities: " + ", ".join(likely))
    return lines


def _figure(worth: Worth, *, is_sample: bool) -> str:
    return f"{worth.margin:+.1f}" + (f" ± {worth.half:.1f}" if is_sample else "")
