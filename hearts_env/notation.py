"""Deals, games and views as text: the hand history, both ways.

A hand history is a header of bracketed fields and one line for each hand of the exchange, each
trick and the rest (docs/notation.md)::

    [Rules "two_player"]
    [Deal "0"]
    [Dealer "0"]
    [Hand 0 "2C 6C QC ..."]
    [Hand 1 "4C 8C TC ..."]
    [Kitty "2H AD"]
    [Scores "20 0"]

    1. 0: 2C 4C
    2. 1: QS 2S

``pass 2: 3C 4C QS`` are the cards that seat 2 passes; ``7. 1: AH QS`` is trick 7, led by seat 1;
``moon 1: others`` is a choice after a moon; ``revoke 0`` an illegal action that ended the deal.
``#`` begins a comment. Several games follow one another, each with its header. Fields of other
names, such as ``[Player 0 "You"]`` and ``[Date "2026-11-21"]``, are tags: they say nothing about
the play, are read by ``parse_records`` and written by ``Game.to_text(tags)``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hearts_env.arguments import check_is
from hearts_env.cards import SUIT_NAMES, SUITS, parse_card
from hearts_env.errors import HeartsError, NotationError, quoted
from hearts_env.game import Game, action_name
from hearts_env.rules import Rules

if TYPE_CHECKING:
    from hearts_env.view import PlayerView

_FIELD = re.compile(r'\[\s*([^\W\d]\w{0,39})(?:\s+(\d{1,9}))?\s+"(.*?)"\s*\]\s*(?:#.*)?$')
_BEGINS = re.compile(r"\[\s*Rules\b")
_TAG = re.compile(r"[^\W\d]\w{0,39}(?: (?:0|[1-9][0-9]{0,8}))?")
_TRICK = re.compile(r"(\d{1,9})\.\s*(\d{1,9})\s*:\s*(.+)$")
_PASS = re.compile(r"pass\s+(\d{1,9})\s*:\s*(.*)$")
_MOON = re.compile(r"moon\s+(\d{1,9})\s*:\s*(off|others)$")
_REVOKE = re.compile(r"revoke\s+(\d{1,9})$")
_FIELDS = ("Rules", "Deal", "Dealer", "Totals", "Hand", "Kitty", "Scores")
_TYPO = 0.75  # as alike a name is a field's, mistyped


@dataclass(frozen=True)
class Record:
    """A game and what is told about it beside its play.

    Attributes:
        game: The deal and its play.
        tags: Further fields of the header by name, in order: ``{"Player 0": "You", "Date": ...}``.
    """

    game: Game
    tags: dict[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """What the player of each seat is called, all different; ``player 0`` if not said."""
        named = [
            self.tags.get(f"Player {seat}") or f"player {seat}"
            for seat in range(self.game.rules.players)
        ]
        return [
            name if named.count(name) == 1 else f"{name} ({seat})"
            for seat, name in enumerate(named)
        ]

    def to_text(self) -> str:
        """The hand history with its tags."""
        return format_game(self.game, self.tags)


# ---- writing ------------------------------------------------------------------------------------
def format_deal(game: Game, tags: Mapping[str, str] | None = None) -> str:
    """The header of a game: its rules, `tags` and the cards as dealt, without the play.

    Raises:
        NotationError: if `tags` is not a mapping, or a name in it cannot name a tag.
    """
    if tags is not None:
        check_is("tags", tags, Mapping, 'give {"Date": "2026-11-21"} or the like', NotationError)
    start = game.start()
    rules = game.rules.name.replace('"', "'")
    lines = [f'[Rules "{rules}"]', *_tag_lines(game, tags or {})]
    lines += [f'[Deal "{game.deal_number}"]', f'[Dealer "{game.dealer}"]']
    if any(game.totals):
        lines.append(f'[Totals "{" ".join(map(str, game.totals))}"]')
    for seat in range(game.rules.players):
        lines.append(f'[Hand {seat} "{" ".join(start.hand(seat))}"]')
    lines.append(f'[Kitty "{" ".join(start.kitty)}"]')
    return "\n".join(lines) + "\n"


def _tag_lines(game: Game, tags: Mapping[str, str]) -> Iterator[str]:
    for name, value in tags.items():
        if not _TAG.fullmatch(str(name)) or not _is_tag(name):
            raise NotationError(
                f"tags: {quoted(name)} cannot name a tag; give a word that is no field, perhaps "
                "with a seat, like 'Date' or 'Player 0'"
            )
        _check_name(name)
        _check_seat(name, game.rules.players)
        # One line, its end unmistakable: quotes and brackets become single quotes and round ones.
        words = "".join(c if c.isprintable() else " " for c in str(value)).split()
        plain = " ".join(words).translate({ord('"'): "'", ord("["): "(", ord("]"): ")"})
        yield f'[{name} "{plain}"]'


def _check_name(name: str) -> None:
    """Refuse the name of a field that is a known one mistyped, or has a seat too much."""
    word, _, seat = name.partition(" ")
    if word in _FIELDS:
        if seat and word != "Hand":
            raise NotationError(f"[{name}] is not a field; leave the number out: [{word}]")
        return
    for known in (*_FIELDS, "Player"):
        alike = difflib.SequenceMatcher(None, word.lower(), known.lower()).ratio()
        if word != known and alike >= _TYPO:
            raise NotationError(f"[{name}] is not a field; did you mean [{known}]?")


def _check_seat(name: str, players: int) -> None:
    """Refuse the tag of a player who is not at the table."""
    word, _, seat = name.partition(" ")
    if word == "Player" and not (seat and int(seat) < players):
        raise NotationError(f"[{name}] is for no seat of these rules; give 0 to {players - 1}")


def format_game(game: Game, tags: Mapping[str, str] | None = None) -> str:
    """The whole hand history; ``parse_game`` reads it back to an equal game.

    Raises:
        NotationError: a tag's name cannot be one.
    """
    header = format_deal(game, tags)
    if game.is_over:
        header += f'[Scores "{" ".join(map(str, game.scores()))}"]\n'
    return header + "".join(line + "\n" for line in ["", *_play_lines(game)])


def _play_lines(game: Game) -> Iterator[str]:
    rules, history = game.rules, game.history
    n, count = rules.players, rules.pass_count
    if game.direction != "hold":
        passed = [rules.deck[a] for a in game.actions[: n * count] if a != -1]
        for seat in range(n):
            if cards := passed[seat * count : (seat + 1) * count]:
                yield f"pass {seat}: {' '.join(cards)}"
    for start in range(0, len(history), n):
        trick = history[start : start + n]
        yield f"{start // n + 1}. {trick[0][0]}: {' '.join([card for _, card in trick])}"
    if game.moon_choice is not None:
        yield f"moon {game.shooter}: {game.moon_choice}"
    if game.revoker is not None:
        yield f"revoke {game.revoker}"


def format_view(view: PlayerView) -> str:
    """What a player knows, in words: for people, logs and language models."""
    rules = view.rules
    me = view.player
    lines = [f"Hearts ({rules.name}), you are player {me} of {rules.players}."]
    if any(view.totals):
        lines.append("Match totals: " + _by_seat(view.totals))
    if view.direction != "hold":
        lines.append(f"Exchange: {rules.pass_count} cards {view.direction}.")
        if view.passed:
            lines.append("You passed: " + " ".join(view.passed))
        if view.received:
            lines.append("You received: " + " ".join(view.received))
    for number, trick in enumerate(view.tricks, 1):
        lines.append(f"Trick {number}: " + ", ".join(f"player {p} {card}" for p, card in trick))
    if view.trick:
        lines.append("This trick: " + ", ".join(f"player {p} {card}" for p, card in view.trick))
    lines.append("Points taken: " + _by_seat(view.points))
    shown = [
        f"player {p} has no {' or '.join(SUIT_NAMES[SUITS.index(s)] for s in suits)}"
        for p, suits in enumerate(view.voids)
        if suits
    ]
    if shown:
        lines.append("Shown: " + "; ".join(shown))
    if view.kitty_taker is not None:
        lines.append(f"The kitty {' '.join(view.kitty)} went to player {view.kitty_taker}.")
    if rules.break_on is not None:
        lines.append("Hearts are broken." if view.hearts_broken else "Hearts are not broken.")
    lines.append("Your hand: " + (" ".join(view.hand) or "empty"))
    if view.to_move is None:
        lines.append("The deal is over.")
    elif view.to_move != me:
        lines.append(f"Player {view.to_move} is to act.")
    else:
        task = {"pass": "choose a card to pass", "play": "play a card", "moon": "choose"}[
            view.phase
        ]
        names = " ".join(action_name(rules, action) for action in view.legal_actions())
        lines.append(f"You are to {task}. Legal: {names}")
    return "\n".join(lines) + "\n"


def _by_seat(values: Sequence[int]) -> str:
    return ", ".join(f"player {p} {value}" for p, value in enumerate(values))


# ---- reading ------------------------------------------------------------------------------------
def parse_game(text: str) -> Game:
    """The one game that a hand history tells, each play checked.

    Raises:
        NotationError: the line, what is wrong with it, and what would be right.
    """
    games = parse_games(text)
    if len(games) != 1:
        raise NotationError(f"history: {len(games)} games in the text; give exactly one")
    return games[0]


def parse_games(text: str) -> list[Game]:
    """All games that a text tells, in order.

    Raises:
        NotationError: the line, what is wrong with it, and what would be right.
    """
    return [record.game for record in parse_records(text)]


def parse_records(text: str) -> list[Record]:
    """All games that a text tells, in order, with their tags.

    Raises:
        NotationError: the line, what is wrong with it, and what would be right.
    """
    if not isinstance(text, str):
        raise NotationError(f"history: {type(text).__name__} is not text")
    records: list[Record] = []
    header: dict[str, str] = {}
    game: Game | None = None

    def finish(at: int) -> None:
        nonlocal game, header
        if not header and game is None:
            return
        if game is None:
            game = _start_game(header, at)
        stated = header.get("Scores")
        if stated is not None and game.is_over and stated.split() != _words(game.scores()).split():
            raise NotationError(
                f"history: [Scores] says {quoted(stated)}, the play gives {_words(game.scores())}"
            )
        tags = {name: value for name, value in header.items() if _is_tag(name)}
        records.append(Record(game, tags))
        game, header = None, {}

    number = 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line.startswith("["):  # a field's value may hold the sign of a comment
            line = line.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("["):
            begins = bool(_BEGINS.match(line)) and not all(map(_is_tag, header))
            if game is not None or begins:
                finish(number)
            _read_field(line, number, header)
            continue
        if game is None:
            game = _start_game(header, number)
        _read_play(line, number, game)
    finish(number)
    if not records:
        raise NotationError('history: the text has no game; it begins with [Rules "two_player"]')
    return records


def _is_tag(name: str) -> bool:
    return name.partition(" ")[0] not in _FIELDS


def _read_field(line: str, number: int, header: dict[str, str]) -> None:
    found = _FIELD.match(line)
    if not found:
        raise NotationError(
            f'line {number}: {quoted(line)} is not a field; write [Name "value"], like '
            f"{', '.join(_FIELDS)} or a tag of your own"
        )
    name = found[1] + (f" {int(found[2])}" if found[2] is not None else "")
    try:
        _check_name(name)
    except NotationError as error:
        raise NotationError(f"line {number}: {error}") from None
    if name in header:
        raise NotationError(f"line {number}: [{name}] is given twice; give it once")
    header[name] = found[3]


def _start_game(header: dict[str, str], number: int) -> Game:
    if "Rules" not in header:
        raise NotationError(
            f'line {number}: the header is missing; a game begins with [Rules "two_player"]'
        )
    try:
        rules = Rules.from_text(header["Rules"].replace("'", '"'))
        hands = []
        for seat in range(rules.players):
            if f"Hand {seat}" not in header:
                raise NotationError(
                    f'the cards of seat {seat} are missing; add [Hand {seat} "..."]'
                )
            hands.append(header[f"Hand {seat}"].split())
        for name in filter(_is_tag, header):
            _check_seat(name, rules.players)
        for name in header:
            if name.partition(" ")[0] == "Hand" and name not in {
                f"Hand {s}" for s in range(rules.players)
            }:
                raise NotationError(f"[{name}] is for no seat of these rules")
        kitty = header["Kitty"].split() if "Kitty" in header else None
        totals = _numbers("Totals", header["Totals"]) if "Totals" in header else None
        (deal,), (dealer,) = (_numbers(f, header.get(f, "0")) for f in ("Deal", "Dealer"))
        return Game(rules, hands, kitty, deal_number=deal, dealer=dealer, totals=totals)
    except NotationError as error:
        raise NotationError(f"line {number}: {error}") from None
    except HeartsError as error:
        raise NotationError(f"line {number}: the deal above cannot be: {error}") from None


def _words(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def _numbers(field: str, text: str) -> list[int]:
    try:
        numbers = [int(word) for word in text.split()]
    except ValueError:
        numbers = []
    if not numbers or (field != "Totals" and len(numbers) != 1):
        raise NotationError(f"[{field}] is {quoted(text)}, not a whole number")
    return numbers


def _read_play(line: str, number: int, game: Game) -> None:
    def fail(message: str) -> NotationError:
        return NotationError(f"line {number}: {message}")

    def expect(seat: str, phase: str) -> None:
        if game.is_over:
            raise fail(f"{quoted(line)} follows the end of the deal; leave it out")
        if game.phase != phase or game.player != int(seat):
            raise fail(f"{quoted(line)}: it is the turn of player {game.player} ({game.phase})")

    def play_all(words: str, seat: str, phase: str) -> None:
        for card in words.split():
            if phase == "pass":
                expect(seat, phase)
            elif game.phase != "play":
                raise fail(
                    f"{quoted(line)}: {quoted(card)} cannot be played, the phase is {game.phase}"
                )
            try:
                game.play(parse_card(card))
            except HeartsError as error:
                raise fail(str(error)) from None

    if found := _TRICK.match(line):
        expect(found[2], "play")
        following = game.trick_number + 1
        if game.trick or int(found[1]) != following:
            raise fail(f"{quoted(line)}: trick {following} is not finished or comes first")
        if len(found[3].split()) > game.rules.players:
            raise fail(f"{quoted(line)} has more than {game.rules.players} cards")
        play_all(found[3], found[2], "play")
    elif found := _PASS.match(line):
        expect(found[1], "pass")
        play_all(found[2], found[1], "pass")
    elif found := _MOON.match(line):
        expect(found[1], "moon")
        game.play(len(game.rules.deck) + (found[2] == "others"))
    elif found := _REVOKE.match(line):
        expect(found[1], game.phase)
        game.revoke()
    else:
        raise fail(
            f"{quoted(line)} is not understood; write '1. 0: 2C 4C', 'pass 0: 2C', 'moon 0: off' "
            "or 'revoke 0'"
        )
