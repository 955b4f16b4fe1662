"""Hearts at the terminal: one person, agents in the other seats.

Everything shown during a deal comes from the player's view; only after it all cards are shown.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearts_agents import Agent, make_agent
from hearts_agents.base import check_rules
from hearts_env import Game, HeartsError, Match, NotationError, PlayerView, Rules
from hearts_env.cards import SUITS, parse_card
from hearts_env.game import action_name, check_seed, derived_seed
from hearts_train.cardtext import CardText
from hearts_train.evaluation import rules_for
from hearts_train.explain import explain

HELP = """\
Play a card by its name: qs, QS, 10h, Q♠; or by rank or suit alone, where only one card fits.
In an exchange several cards may be given at once: qs ah kh. Enter alone plays a forced card.
  hint       what the player 'pro' would do
  undo       take everything back to your last decision
  history    the tricks so far
  rules      the rules of this game
  save FILE  write the deals so far, all cards open, as text for 'hearts replay FILE'
  quit       leave the table
Commands may be shortened to two letters or more: un, hin, his."""

_COMMANDS = ("hint", "undo", "history", "rules", "save", "quit", "help")
_MOON = {"moon:off": "take the points off oneself", "moon:others": "let the others pay"}


class Quit(Exception):
    """The person leaves the table."""


@dataclass
class Table:
    """A deal or a match with one person at it.

    Attributes:
        play: The deal, or the match, that is played.
        seat: Where the person sits.
        agents: Who plays in each other seat.
        names: What each seat is called.
        hinter: Who answers for a hint.
        cards: How cards are written.
    """

    play: Game | Match
    seat: int
    agents: dict[int, Agent]
    names: Sequence[str]
    hinter: Agent
    cards: CardText
    _finished: list[Game] = field(default_factory=list)
    _past: list[tuple[Game | Match, int]] = field(default_factory=list)

    @property
    def game(self) -> Game:
        """The deal in hand."""
        return self.play.game if isinstance(self.play, Match) else self.play

    def run(self) -> None:
        """Play to the end.

        Raises:
            Quit: the person leaves, or the input ends.
        """
        self._begin_deal()
        while self.play.player is not None:
            if self.play.player == self.seat:
                self._own_turn()
            else:
                self._do(self.agents[self.play.player].act(self.game.view(self.play.player)))

    # -- actions -----------------------------------------------------------------------------------
    def _do(self, action: int) -> None:
        """Play an action and tell what it did."""
        game, seat, phase = self.game, self.play.player, self.game.phase
        kitty_taker = game.kitty_taker
        assert seat is not None
        self.play.play(action)  # a match has then perhaps begun its next deal; `game` is this one
        self._tell(game, seat, phase, action, awards_kitty=game.kitty_taker != kitty_taker)
        if game.is_over:
            self._finished.append(game)
            self._show_result(game)
            if isinstance(self.play, Match):
                self._show_totals(self.play)
                if not self.play.is_over:
                    self._begin_deal()

    def _own_turn(self) -> None:
        """Show the position and ask until an action is played or taken back."""
        self._show(self.game.view(self.seat))
        while True:
            line = self._ask()
            if not line:
                legal = self.game.legal_actions()
                if len(legal) > 1:
                    print("Name a card, or 'help'.")
                    continue
                self._decide(legal[0])
                return
            try:
                actions = self._read(line)
            except NotationError as error:
                print(error)
                continue
            if actions is None:
                if self._command(line):
                    return
                continue
            for action in actions:
                self._decide(action)
            return

    def _decide(self, action: int) -> None:
        self._past.append((self.play.clone(), len(self._finished)))
        self._do(action)

    def _ask(self) -> str:
        prompt = {"pass": "Pass", "moon": "Choose"}.get(self.game.phase, "Play")
        print(self.cards.bold(f"{prompt}> "), end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print()
            raise Quit
        if not sys.stdin.isatty():  # what was typed belongs into the record
            print(line.strip())
        return line.strip()

    def _read(self, line: str) -> list[int] | None:
        """The actions that a line names; None: it may be a command.

        Raises:
            NotationError: it names cards that cannot be played now.
        """
        game, view = self.game, self.game.view(self.seat)
        names = {action_name(game.rules, action): action for action in view.legal_actions()}
        if game.phase == "moon":
            chosen = {"1": "moon:off", "2": "moon:others", "off": "moon:off"}
            name = chosen.get(line.lower(), f"moon:{line.lower()}")
            return [names[name]] if name in names else None
        words = line.replace(",", " ").split()
        if _command(words[0]) or (len(words) > 1 and game.phase != "pass"):
            return None
        cards: list[str] = []
        for word in words:
            card = _card(word, [name for name in names if name not in cards])
            if card is None:
                return None
            if card not in names or card in cards:
                held = card in view.hand
                why = "cannot be played now" if held else "is not in your hand"
                raise NotationError(f"{card} {why}; you may take {self.cards.cards(names)}")
            cards.append(card)
        left = game.rules.pass_count - len(view.passed)
        if game.phase == "pass" and len(cards) > left:
            raise NotationError(f"{len(cards)} cards are too many; {left} are still to be passed")
        return [names[card] for card in cards]

    # -- commands ----------------------------------------------------------------------------------
    def _command(self, line: str) -> bool:
        """Do a command; returns whether the position has changed."""
        word, _, argument = line.partition(" ")
        match _command(word):
            case "quit":
                raise Quit
            case "undo":
                return self._undo()
            case "hint":
                self._hint()
            case "history":
                self._history()
            case "rules":
                print("\n".join(explain(self.game.rules)))
            case "save":
                self._save(argument.strip())
            case "help":
                print(HELP)
            case _:
                print(f"{line!r} is neither a card that fits nor a command; 'help' lists both.")
        return False

    def _undo(self) -> bool:
        if not self._past:
            print("There is nothing to take back.")
            return False
        self.play, count = self._past.pop()
        del self._finished[count:]
        print(self.cards.dim("Taken back."))
        return True

    def _hint(self) -> None:
        view = self.game.view(self.seat)
        rules = view.rules
        legal = view.legal_actions()
        name = getattr(self.hinter, "name", "pro")
        chosen = self.hinter.act(view)
        shown = rules.deck[chosen] if chosen < len(rules.deck) else None
        print(f"{name} would choose {self.cards.card(shown) if shown else _moon(view, chosen)}.")
        margins = getattr(self.hinter, "margins", None)
        if callable(margins) and view.phase == "play" and len(legal) > 1:
            values = dict(zip(legal, margins(view), strict=True))
            ranked = sorted(legal, key=lambda action: (-values[action], action))
            print(
                "Mean margin: "
                + ", ".join(
                    f"{self.cards.card(rules.deck[action])} {values[action]:+.1f}"
                    for action in ranked
                )
            )

    def _history(self) -> None:
        view = self.game.view(self.seat)
        if view.passed:
            print(
                f"Passed {self.cards.cards(view.passed)}, "
                f"received {self.cards.cards(view.received)}."
            )
        if not view.history:
            print("Nothing has been played yet.")
        tricks = [*view.tricks, view.trick] if view.trick else view.tricks
        for number, trick in enumerate(tricks, 1):
            plays = ", ".join(f"{self._who(seat)} {self.cards.card(card)}" for seat, card in trick)
            print(f"{number:2}. {plays}")

    def _save(self, path: str) -> None:
        if not path:
            print("Name a file: save my-deal.txt")
            return
        games = [*self._finished, *([] if self.game.is_over else [self.game])]
        try:
            Path(path).expanduser().write_text(
                "\n".join(game.to_text() for game in games), encoding="utf-8"
            )
        except (OSError, HeartsError) as error:
            print(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}")
        else:
            print(f"Saved in {path}.")

    # -- showing -----------------------------------------------------------------------------------
    def _who(self, seat: int) -> str:
        return "You" if seat == self.seat else self.names[seat]

    def _begin_deal(self) -> None:
        game = self.game
        if isinstance(self.play, Match):
            print(self.cards.bold(f"Deal {self.play.num_deals + 1} of the match."))
        if game.phase == "pass":
            n = game.rules.players
            to = (self.seat + {"left": 1, "right": -1, "across": n // 2}[game.direction]) % n
            print(f"Exchange: {game.rules.pass_count} cards {game.direction}, to {self.names[to]}.")

    def _tell(self, game: Game, seat: int, phase: str, action: int, *, awards_kitty: bool) -> None:
        """What everybody sees of an action, and the person of an exchange."""
        view = game.view(self.seat)
        if phase == "pass":
            if game.phase != "pass":
                print(
                    f"You pass {self.cards.cards(view.passed)} and receive "
                    f"{self.cards.cards(view.received)}.\n"
                )
            return
        own = seat == self.seat
        if phase == "moon":
            print(f"{self._who(seat)} {'choose' if own else 'chooses'} to {_moon(view, action)}.")
            return
        card = self.cards.card(game.rules.deck[action])
        print(f"{self._who(seat)} {'play' if own else 'plays'} {card}.")
        if view.trick:
            return
        trick = view.tricks[-1]
        taker = next(p for p in range(game.rules.players) if trick[0][1] in view.taken(p))
        verb = "take" if taker == self.seat else "takes"
        worth = _worth(view, [card for _, card in trick])
        line = self.cards.bold(f"{self._who(taker)} {verb} trick {len(view.tricks)}{worth}")
        if awards_kitty:
            line += f", and the kitty {self.cards.cards(view.kitty)}{_worth(view, view.kitty)}"
        print(line + ".\n")

    def _show(self, view: PlayerView) -> None:
        """The position, from the person's seat."""
        rules = view.rules
        if view.phase == "pass":
            left = rules.pass_count - len(view.passed)
            print(f"{left} to pass {view.direction}.")
            print("Your hand: " + self.cards.hand(view.hand, self._legal_names(view)))
            return
        if view.phase == "moon":
            print(
                "You have shot the moon. 1 (off): take the points off your own score; "
                "2 (others): the others pay."
            )
            return
        state = [f"Trick {view.trick_number + 1} of {rules.hand_size}"]
        if rules.break_on is not None:
            state.append("hearts broken" if view.hearts_broken else "hearts not broken")
        if rules.trump:
            state.append(f"trump {self.cards.suit(rules.trump)}")
        print(self.cards.dim(" | ".join(state)))
        width = max(map(len, self.names))
        for seat in range(rules.players):
            voids = " ".join(map(self.cards.suit, view.voids[seat]))
            total = f"  before {view.totals[seat]:3}" if any(view.totals) else ""
            print(
                f"  {self._who(seat):{width}}  points {view.points[seat]:3}  "
                f"tricks {view.tricks_taken()[seat]:2}{total}"
                + (f"  void {voids}" if voids else "")
            )
        if view.kitty_taker is not None:
            print(f"  kitty {self.cards.cards(view.kitty)}, to {self._who(view.kitty_taker)}")
        if view.trick:
            plays = ", ".join(
                f"{self._who(seat)} {self.cards.card(card)}" for seat, card in view.trick
            )
            print(f"On the table: {plays}")
        else:
            print("You lead.")
        print("Your hand: " + self.cards.hand(view.hand, self._legal_names(view)))

    def _legal_names(self, view: PlayerView) -> list[str]:
        return [view.rules.deck[action] for action in view.legal_actions()]

    def _show_result(self, game: Game) -> None:
        """All cards and the scores, after a deal."""
        print(self.cards.bold("The deal is over."))
        start, scores = game.start(), game.scores()
        width = max(map(len, self.names))
        for seat in range(game.rules.players):
            print(
                f"  {self._who(seat):{width}} {scores[seat]:4}   dealt "
                + self.cards.hand(start.hand(seat))
            )
        if game.kitty:
            print(f"  {'kitty':{width}}        " + self.cards.hand(game.kitty))
        if game.shooter is not None:
            own = game.shooter == self.seat
            print(f"{self._who(game.shooter)} {'have' if own else 'has'} shot the moon!")
        best = [seat for seat, score in enumerate(scores) if score == min(scores)]
        names = _listed([self._who(seat) for seat in best])
        has = "has" if len(best) == 1 and best[0] != self.seat else "have"
        print(self.cards.bold(f"{names} {has} the lowest score.") + "\n")

    def _show_totals(self, match: Match) -> None:
        unit = "chips" if match.in_chips else "points"
        totals = ", ".join(f"{self._who(s)} {total}" for s, total in enumerate(match.totals))
        pool = f"; {match.pool} in the pool" if match.pool else ""
        print(f"Match after {match.num_deals} deals, in {unit}: {totals}{pool}.")
        if match.is_over:
            winner = match.winner
            if winner is None:
                print(self.cards.bold("The match is shared."))
            else:
                verb = "win" if winner == self.seat else "wins"
                print(self.cards.bold(f"{self._who(winner)} {verb} the match."))
        print()


def _worth(view: PlayerView, cards: Sequence[str]) -> str:
    """The points of cards, like `` (+5)``; nothing where there are none."""
    points = sum(view.rules.card_points.get(card, 0) for card in cards)
    return f" ({points:+d})" if points else ""


def _listed(names: Sequence[str]) -> str:
    """Like ``A``, ``A and B`` or ``A, B and C``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _command(word: str) -> str | None:
    """The command that a word of two letters or more begins; None: none, or several."""
    if word == "?":
        return "help"
    found = [name for name in _COMMANDS if len(word) > 1 and name.startswith(word.lower())]
    return found[0] if len(found) == 1 else None


def _card(word: str, legal: Sequence[str]) -> str | None:
    """The card that a word names: in full, or by rank or suit where one legal card fits."""
    try:
        return parse_card(word)
    except NotationError:
        pass
    letter = word.upper().replace("10", "T")
    for symbol, suit in zip("♣♦♠♥", SUITS, strict=True):
        letter = letter.replace(symbol, suit)
    found = [card for card in legal if len(letter) == 1 and letter in card]
    if len(found) > 1:
        raise NotationError(f"{word!r} may be {', '.join(found)}; name one")
    return found[0] if found else None


def _moon(view: PlayerView, action: int) -> str:
    return _MOON[action_name(view.rules, action)]


def open_table(
    rules: Rules | None, against: Sequence[str], seed: int | None, seat: int, *, is_match: bool
) -> Table:
    """Deal, and seat the agents.

    Args:
        rules: what to play; None: what an agent was trained for, else ``two_player``.
        against: one agent for all other seats, or one for each, from seat 0 on.
        seed: of the deals and of the agents' chance; None: from the operating system.
        seat: the person's.
        is_match: play deals to the end score.

    Raises:
        HeartsError: an unknown agent, no such seat, or not one agent for each.
    """
    seed = secrets.randbits(62) if seed is None else check_seed(seed)
    made = [make_agent(name, seed=derived_seed(seed, 2**63 + i)) for i, name in enumerate(against)]
    rules = rules_for(made, rules)
    for agent in made:
        check_rules(agent, rules)
    n = rules.players
    if not 0 <= seat < n:
        raise HeartsError(f"seat: {seat} is no seat of {n} players; give 0 to {n - 1}")
    if len(made) not in (1, n - 1):
        raise HeartsError(
            f"against: {len(made)} agents for {n - 1} seats; give one, or one for each"
        )
    others = [p for p in range(n) if p != seat]
    names = ["you"] * n
    for place, p in enumerate(others):
        name = Path(against[place % len(against)]).name
        names[p] = name if n == 2 else f"{p}:{name}"
    cards = CardText.of(sys.stdout)
    print(f"{rules.name}, seed {seed}. 'help' tells what you can do.\n")
    return Table(
        play=Match(rules, seed) if is_match else Game.deal(rules, seed),
        seat=seat,
        agents={p: made[place % len(made)] for place, p in enumerate(others)},
        names=names,
        hinter=make_agent("pro", seed=derived_seed(seed, 2**63 + n)),
        cards=cards,
    )
