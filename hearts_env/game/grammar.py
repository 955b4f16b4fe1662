"""The grammar of hand histories.

``parse`` reads text into transcripts and ``format_transcript`` writes one. The cards and numbers of
a `Transcript` are well formed, but its play is not checked. ``game.play_transcript`` does that.

A hand history is a header of bracketed fields, then a line for each hand that is passed, each trick
and each other event (docs/notation.md)::

    [Rules "two_player"]
    [Deal "0"]
    [Dealer "0"]
    [Hand 0 "2C 6C QC ..."]
    [Hand 1 "4C 8C TC ..."]
    [Kitty "2H AD"]
    [Scores "20 0"]

    1. 0: 2C 4C
    2. 1: QS 2S

``pass 2: 3C 4C QS`` lists the cards that seat 2 passes. ``7. 1: AH QS`` is trick 7, which seat 1
leads. ``moon 1: others`` is a choice after a moon. ``revoke 0`` is an illegal action that ended the
deal. ``#`` begins a comment. A text may hold several games, each with its own header. Fields with
other names, such as ``[Player 0 "You"]`` and ``[Date "2026-11-21"]``, are tags. They do not affect
play.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hearts_env.cards import BYTE_ORDER_MARK, parse_card
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_is
from hearts_env.support.errors import HeartsError, NotationError, quoted

_FIELD = re.compile(r'\[\s*([^\W\d]\w{0,39})(?:\s+(\d{1,9}))?\s+"(.*?)"\s*\]\s*(?:#.*)?$')
_BEGINS = re.compile(r"\[\s*Rules\b")
_TAG = re.compile(r"[^\W\d]\w{0,39}(?: (?:0|[1-9][0-9]{0,8}))?")
_TRICK = re.compile(r"(\d{1,9})\.\s*(\d{1,9})\s*:\s*(.+)$")
_PASS = re.compile(r"pass\s+(\d{1,9})\s*:\s*(.*)$")
_MOON = re.compile(r"moon\s+(\d{1,9})\s*:\s*(off|others)$")
_REVOKE = re.compile(r"revoke\s+(\d{1,9})$")
_PLAIN = ("Rules", "Deal", "Dealer", "Totals", "Kitty", "Scores")
_FIELDS = (*_PLAIN, "Hand")


class Entry(NamedTuple):
    """One line of the play.

    Attributes:
        kind: ``trick``, ``pass``, ``moon`` or ``revoke``.
        seat: the seat that leads, passes, chooses or revokes.
        cards: the cards played or passed, or for ``moon`` the choice: ``off`` or ``others``.
        trick: the number of the trick, from 1 (0 on other lines).
        line: the line number in the text, from 1 (0 if the entry comes from a game).
        text: the line itself, for messages.
    """

    kind: str
    seat: int
    cards: tuple[str, ...] = ()
    trick: int = 0
    line: int = 0
    text: str = ""


@dataclass(slots=True)
class Transcript:
    """A deal and its play as written, not yet checked against the rules.

    Attributes:
        rules: the rules.
        hands: the cards of each seat as written.
        kitty: the cards not dealt. If None, all cards outside the hands.
        deal_number: the number of the deal in its match, from 0.
        dealer: the seat that dealt.
        totals: the scores before this deal of a match. If None, zeros.
        entries: the lines of the play, in order.
        scores: the final scores in the header, or None.
        tags: the other fields of the header by name, in order.
        line: the line of the text at which the header ends.
    """

    rules: Rules
    hands: tuple[tuple[str, ...], ...]
    kitty: tuple[str, ...] | None = None
    deal_number: int = 0
    dealer: int = 0
    totals: tuple[int, ...] | None = None
    entries: tuple[Entry, ...] = ()
    scores: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    line: int = 0


# ---- writing ------------------------------------------------------------------------------------
def format_transcript(transcript: Transcript) -> str:
    """Return the text of a transcript, which ``parse`` reads back."""
    rules, tags = transcript.rules, transcript.tags
    check_is("tags", tags, Mapping, 'give {"Date": "2026-11-21"} or the like', NotationError)
    name = rules.name.replace('"', "'")
    lines = [f'[Rules "{name}"]', *_tag_lines(rules, tags)]
    lines += [f'[Deal "{transcript.deal_number}"]', f'[Dealer "{transcript.dealer}"]']
    if transcript.totals is not None and any(transcript.totals):
        lines.append(f'[Totals "{" ".join(map(str, transcript.totals))}"]')
    for seat, hand in enumerate(transcript.hands):
        lines.append(f'[Hand {seat} "{" ".join(hand)}"]')
    if transcript.kitty is not None:
        lines.append(f'[Kitty "{" ".join(transcript.kitty)}"]')
    if transcript.scores is not None:
        lines.append(f'[Scores "{transcript.scores}"]')
    lines += ["", *map(_entry_line, transcript.entries), ""]
    return "\n".join(lines)


def _tag_lines(rules: Rules, tags: Mapping[str, str]) -> Iterator[str]:
    _check_seats(tags, rules)
    for name, value in tags.items():
        if not _TAG.fullmatch(str(name)) or not _is_tag(name):
            raise NotationError(
                f"tags: {quoted(name)} is not allowed as the name of a tag; give a word that is "
                "not a field, optionally with a seat, like 'Date' or 'Player 0'"
            )
        # A value must fit on one line and must not end its field: quotes and brackets are replaced.
        words = "".join(c if c.isprintable() else " " for c in str(value)).split()
        plain = " ".join(words).translate({ord('"'): "'", ord("["): "(", ord("]"): ")"})
        yield f'[{name} "{plain}"]'


def _check_seats(names: Iterable[object], rules: Rules) -> None:
    """Raise if a ``Hand`` or ``Player`` names no seat, another has a number, or one is misspelt."""
    words = (*_FIELDS, "Player")
    known = {f"{word} {seat}" for word in ("Hand", "Player") for seat in range(rules.players)}
    for name in names:
        word = str(name).partition(" ")[0]
        if word not in words:
            if meant := difflib.get_close_matches(word, words, 1, 0.75):
                raise NotationError(f"[{name}]: it is not a field; did you mean [{meant[0]}]?")
        elif name not in {*_PLAIN, *known}:
            raise NotationError(
                f"[{name}]: it is not a field of these rules; give {', '.join(_PLAIN)}, "
                f"Hand or Player with a seat from 0 to {rules.players - 1}, or a tag of your own"
            )


def _entry_line(entry: Entry) -> str:
    kind, seat, cards, trick, _, _ = entry
    if kind == "trick":
        return f"{trick}. {seat}: {' '.join(cards)}"
    return f"revoke {seat}" if kind == "revoke" else f"{kind} {seat}: {' '.join(cards)}"


# ---- reading ------------------------------------------------------------------------------------
def parse(text: str) -> list[Transcript]:
    """Return all deals of a text in order. Byte order marks are ignored.

    Raises:
        NotationError: if a line is invalid. The message names the line, its fault and the fix.
    """
    if not isinstance(text, str):
        raise NotationError(f"history: {type(text).__name__} is not text; give a hand history")
    transcripts: list[Transcript] = []
    header: dict[str, str] = {}
    entries: list[Entry] = []
    deal: Transcript | None = None  # the header, once a line of the play follows it

    def finish(at: int) -> None:
        nonlocal header, entries, deal
        if header or entries:
            transcripts.append(replace(deal or _read_deal(header, at), entries=tuple(entries)))
        header, entries, deal = {}, [], None

    number = 0
    for number, raw in enumerate(text.replace(BYTE_ORDER_MARK, "").splitlines(), 1):
        line = raw.strip()
        if not line.startswith("["):  # a field's value may contain #
            line = line.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("["):
            begins = bool(_BEGINS.match(line)) and not all(map(_is_tag, header))
            if entries or begins:
                finish(number)
            _read_field(line, number, header)
            continue
        if deal is None:
            deal = _read_deal(header, number)
        entries.append(_read_entry(line, number, deal.rules))
    finish(number)
    if not transcripts:
        raise NotationError('history: the text has no game; it begins with [Rules "two_player"]')
    return transcripts


def _is_tag(name: str) -> bool:
    return name.partition(" ")[0] not in _FIELDS


def _read_field(line: str, number: int, header: dict[str, str]) -> None:
    match = _FIELD.match(line)
    if not match:
        raise NotationError(
            f'line {number}: {quoted(line)} is not a field; write [Name "value"], like '
            f"{', '.join(_FIELDS)} or a tag of your own"
        )
    name = match[1] + (f" {int(match[2])}" if match[2] is not None else "")
    if name in header:
        raise NotationError(f"line {number}: [{name}] is given twice; give it once")
    header[name] = match[3]


def _read_deal(header: dict[str, str], line: int) -> Transcript:
    """Return the transcript of a header that ends at this line, without its play."""
    if "Rules" not in header:
        raise NotationError(
            f'line {line}: the header is missing; a game begins with [Rules "two_player"]'
        )
    try:
        rules = Rules.from_text(header["Rules"].replace("'", '"'))
    except HeartsError as error:
        raise NotationError(f"line {line}: the deal above is impossible: {error}") from None
    try:
        seats = [f"Hand {seat}" for seat in range(rules.players)]
        for seat, name in enumerate(seats):
            if name not in header:
                raise NotationError(
                    f'[Hand {seat}]: the cards of this seat are missing; add [Hand {seat} "..."]'
                )
        _check_seats(header, rules)
        (deal,), (dealer,) = (_numbers(f, header.get(f, "0")) for f in ("Deal", "Dealer"))
        return Transcript(
            rules,
            hands=tuple(tuple(header[name].split()) for name in seats),
            kitty=tuple(header["Kitty"].split()) if "Kitty" in header else None,
            deal_number=deal,
            dealer=dealer,
            totals=_numbers("Totals", header["Totals"]) if "Totals" in header else None,
            scores=header.get("Scores"),
            tags={name: value for name, value in header.items() if _is_tag(name)},
            line=line,
        )
    except NotationError as error:
        raise NotationError(f"line {line}: {error}") from None


def _numbers(field: str, text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(word) for word in text.split())
    except ValueError:
        numbers = ()
    if not numbers or (field != "Totals" and len(numbers) != 1):
        raise NotationError(f"[{field}]: {quoted(text)} is not a whole number; give one")
    return numbers


def _read_entry(line: str, number: int, rules: Rules) -> Entry:
    """Return the entry for a line of the play."""
    if match := _TRICK.match(line):
        if len(match[3].split()) > rules.players:
            raise NotationError(
                f"line {number}: {quoted(line)} has too many cards; give {rules.players}"
            )
        cards = _cards(match[3], number)
        return Entry("trick", int(match[2]), cards, int(match[1]), number, line)
    if match := _PASS.match(line):
        return Entry("pass", int(match[1]), _cards(match[2], number), 0, number, line)
    if match := _MOON.match(line):
        return Entry("moon", int(match[1]), (match[2],), 0, number, line)
    if match := _REVOKE.match(line):
        return Entry("revoke", int(match[1]), (), 0, number, line)
    raise NotationError(
        f"line {number}: {quoted(line)} is not understood; write '1. 0: 2C 4C', 'pass 0: 2C', "
        "'moon 0: off' or 'revoke 0'"
    )


def _cards(words: str, number: int) -> tuple[str, ...]:
    try:
        return tuple(map(parse_card, words.split()))
    except NotationError as error:
        raise NotationError(f"line {number}: {error}") from None
