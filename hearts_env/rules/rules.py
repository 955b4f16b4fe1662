"""Rule sets: one frozen field per house rule."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env.cards import (
    ALL_CARDS,
    BREAKS,
    FIRST_LEADS,
    HEARTS_AND_QUEEN,
    KITTIES,
    MOONS,
    SETTLEMENTS,
    SUITS,
    UNBROKEN_LEADS,
    parse_card,
    rank_of,
    suit_of,
)
from hearts_env.rules.presets import GAMES, PRESETS
from hearts_env.rules.values import MAX_POINTS, as_cards, as_points, as_rotation, one_of, read_value
from hearts_env.support.arguments import check_flag, check_number, is_word, only, whole
from hearts_env.support.errors import (
    IllegalActionError,
    NotationError,
    RulesError,
    did_you_mean,
    quoted,
)

_MANY = 10**9  # the greatest numbers keep every sum far inside 64 bits
_MAX_TEXT = 10_000  # characters; all fields written out take some 500


def _value(default: Any, doc: str, **metadata: Any) -> Any:
    """Return a field with its description, which `hearts rules`, `help` and the pages show."""
    return field(default=default, metadata={"doc": doc, **metadata})


def _one_of(choices: tuple[Any, ...], doc: str, **meanings: str) -> Any:
    """Return a field with one of a few values. The first is the default."""
    return _value(choices[0], doc, choices=choices, meanings=meanings)


def _number(default: int | None, low: int, high: int, doc: str) -> Any:
    """Return a field with a number from `low` to `high`, or None if that is the default."""
    return _value(default, doc, range=(low, high))


@dataclass(frozen=True, kw_only=True, eq=False)
class Rules:
    """The rules of a game, one field per rule of the rule book (docs/rules.md).

    Rules that cannot be played raise ``RulesError``, which names the field, the value and the fix.
    Rules with equal fields are equal and have equal hashes.
    """

    players: int = _number(4, 2, 7, "Seats at the table.")
    removed: tuple[str, ...] = _value((), "Cards left out of the pack.")
    hand_size: int = _number(13, 1, 26, "Cards dealt to each player; what is left is the kitty.")
    trump: str | None = _one_of((None, *SUITS), "Suit that beats every other.")
    first_lead: str = _one_of(
        FIRST_LEADS,
        "The first lead of a deal.",
        lowest_club="the player with the lowest club in any hand leads it",
        any_club="the player with the lowest club in any hand leads any club",
        eldest_hand="the seat after the dealer leads any card",
    )
    break_on: str | None = _one_of(
        BREAKS,
        "The event that breaks hearts; if None, they may be led at any time.",
        heart="a heart played",
        void="a heart played, or a player unable to follow suit",
    )
    unbroken_lead: str = _one_of(
        UNBROKEN_LEADS,
        "When a heart may be led before hearts are broken.",
        only_hearts="the hand holds only hearts",
        spades_or_hearts="the hand holds only spades and hearts",
        queen_frees_hearts="the hand holds only hearts, or hearts and the queen of spades",
    )
    points_on_first_trick: bool = _value(
        True,
        "Whether a player void in the suit led may play a penalty card to trick 1. "
        "If False, only a hand with nothing but penalty cards may.",
    )
    queen_any_time: bool = _value(
        False,
        "Whether the queen of spades may be played instead of following suit.",
    )
    queen_breaks_hearts: bool = _value(
        False,
        "Whether playing the queen of spades breaks hearts too.",
    )
    card_points: Mapping[str, int] = field(
        default_factory=lambda: HEARTS_AND_QUEEN,
        metadata={
            "doc": "Points by card: penalties positive, bonuses negative, all others 0. "
            "Whole numbers of -1,000,000 to 1,000,000. Default: every heart 1, QS 13."
        },
    )
    moon: str = _one_of(
        MOONS,
        "The score if one player takes every penalty card.",
        others_plus="the shooter scores 0, every other player `moon_points`",
        self_minus="the shooter scores minus `moon_points`, the others 0",
        choose="the shooter chooses after the last trick between minus `moon_points`, and "
        "`moon_points` for every other player",
        none="nothing special",
    )
    moon_points: int = _number(26, 0, MAX_POINTS, "The points that a moon is worth.")
    no_trick_points: int = _number(
        0,
        -MAX_POINTS,
        0,
        "Added to the score of a player who took no trick, unless the moon was shot.",
    )
    kitty_to: str = _one_of(
        KITTIES,
        "Who is awarded the kitty.",
        nobody="it is dead and never shown",
        first_trick="the taker of the first trick",
        last_trick="the taker of the last trick",
        first_heart="the taker of the first trick with a heart",
        first_penalty="the taker of the first trick with a card that costs points",
    )
    pass_count: int = _number(0, 0, 26, "Cards that each player passes before play.")
    pass_rotation: tuple[str, ...] = _value(
        ("hold",),
        "Where the passed cards go, deal by deal. "
        "1 to 16 of ``left``, ``right``, ``across`` and ``hold`` (no exchange), used in turn.",
    )
    end_score: int = _number(100, 1, _MANY, "The total at which a match ends.")
    end_when: str = _one_of(
        ("reached", "exceeded"), "Whether that total must be reached or exceeded."
    )
    tie: str = _one_of(
        ("lowest_shared", "all_past_limit"),
        "When a match continues past its end score.",
        lowest_shared="while the lowest total is shared",
        all_past_limit="also after one deal has taken all totals past the limit",
    )
    max_deals: int | None = _number(
        None, 1, _MANY, "A match ends after this many deals at the latest."
    )
    settlement: str = _one_of(
        SETTLEMENTS,
        "How a deal is settled: in points, or in one of three ways in chips.",
        points="scores add up",
        simple="each player pays a chip per point, and the fewest points take the pot",
        sweepstakes="each player pays a chip per point, and the players without points share the "
        "pool; if all have points, or one has them all, the pool stays for the next deal, and at "
        "the end of the match it is divided equally",
        howell="each player pays every other player a chip per point",
    )
    stake: int = _number(100, 1, _MANY, "Chips of each player at the start (chips only).")
    target: int | None = _number(
        None, 1, _MANY, "Chips won above the stake that end a match (chips only)."
    )

    def __new__(cls, **fields: Any) -> Rules:
        """Raise if a field is unknown. The message names the nearest known field."""
        _refuse_unknown(fields)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        for name, (low, high) in RANGES.items():
            value, default = getattr(self, name), getattr(Rules, name)
            if value is not None or default is not None:
                other = " or None" if default is None else ""
                put(name, check_number(name, value, low, high, RulesError, other))
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str | None) or value not in choices:
                raise RulesError(f"{name}: unknown value {quoted(value)}; {one_of(value, choices)}")
        for name in FLAGS:
            put(name, check_flag(name, getattr(self, name), RulesError))
        put("removed", as_cards("removed", self.removed))
        put("card_points", as_points(self.card_points))
        put("pass_rotation", as_rotation(self.pass_rotation))
        self._check_together()

    def _check_together(self) -> None:
        """Raise if fields that are valid on their own cannot be played together."""
        deck = self.deck
        needed = self.players * self.hand_size
        if needed > len(deck):
            raise RulesError(
                f"hand_size: {self.players} players with {self.hand_size} cards each need {needed} "
                f"cards, the deck has {len(deck)}; deal at most {len(deck) // self.players} each "
                "or remove fewer cards"
            )
        if self.first_lead != "eldest_hand" and not any(card[1] == "C" for card in deck):
            raise RulesError(
                f"first_lead: {self.first_lead!r} needs clubs and the deck has none; "
                "take 'eldest_hand' or leave a club in the deck"
            )
        if self.pass_count > self.hand_size:
            raise RulesError(
                f"pass_count: {self.pass_count} cards cannot be passed from a hand of "
                f"{self.hand_size}; pass at most {self.hand_size}"
            )
        if self.kitty_to != "nobody" and needed == len(deck):
            raise RulesError(
                f"kitty_to: {self.kitty_to!r} needs a kitty, but all {needed} cards are dealt; "
                "take 'nobody', or a smaller hand_size"
            )
        points = [self.card_points.get(card, 0) for card in deck]
        if not any(points):
            raise RulesError(
                "card_points: no card of the deck is worth points, so no one can win; "
                'give some, like {"QS": 13}'
            )
        if self.settlement != "points" and min(points) < 0:
            bonus = next(card for card in deck if self.card_points.get(card, 0) < 0)
            raise RulesError(
                f"settlement: {self.settlement!r} is not defined with bonus cards ({bonus}: "
                f"{self.card_points[bonus]}); take 'points' or no negative card_points"
            )
        if self.settlement == "sweepstakes" and self.players == 2:
            raise RulesError(
                "settlement: 'sweepstakes' could never be won by one of two players; "
                "take 'simple' or 'howell', or 3 players or more"
            )

    # -- derived from the fields ------------------------------------------------------------------
    @functools.cached_property
    def deck(self) -> tuple[str, ...]:
        """All cards in use, in deck order. Action i is ``deck[i]``."""
        return tuple(card for card in ALL_CARDS if card not in self.removed)

    @functools.cached_property
    def index(self) -> Mapping[str, int]:
        """The number of each card of the deck: ``index["QS"]``."""
        return MappingProxyType({card: number for number, card in enumerate(self.deck)})

    @property
    def num_actions(self) -> int:
        """The size of the action space: the deck, and two more under ``moon = "choose"``."""
        return len(self.deck) + 2 * (self.moon == "choose")

    def action_name(self, action: int) -> str:
        """Return the name of an action: a card, ``moon:off`` or ``moon:others``.

        Raises:
            HeartsError: if the rules have no such action.
        """
        number = check_number("action", action, 0, self.num_actions - 1)
        if number < len(self.deck):
            return self.deck[number]
        return ("moon:off", "moon:others")[number - len(self.deck)]

    def action_number(self, action: object) -> int:
        """Return the number of an action given as a number or a card's name.

        A number is returned even if it is out of range.

        Raises:
            IllegalActionError: if `action` is neither a whole number nor a card's name.
        """
        if isinstance(action, np.integer):  # the usual case
            return int(action)
        if isinstance(action, str):
            try:
                return self.index[parse_card(action)]
            except NotationError as error:
                reason = str(error).removeprefix("card: ")
                raise IllegalActionError(f"action: {reason}") from None
            except KeyError:
                raise IllegalActionError(
                    f"action: {quoted(action)} is not in the deck of these rules; "
                    "choose from legal_actions()"
                ) from None
        number = whole(only(action))
        if number is None:
            raise IllegalActionError(
                f"action: {quoted(action)} ({type(action).__name__}) is not an action; "
                "give a whole number or a card's name"
            )
        return number

    @property
    def kitty_size(self) -> int:
        """The number of cards not dealt."""
        return len(self.deck) - self.players * self.hand_size

    @functools.cached_property
    def max_margin(self) -> float:
        """An upper bound on the size of a margin (the others' mean score minus one's own).

        ``reward="margin"`` divides by it, so rewards lie in [-1, 1]. It holds for all deals,
        including one that a revoke ends. The comments here derive it.
        """
        points = sorted(self.card_points.get(card, 0) for card in self.deck)
        # The most cards that can be taken, and the most that can be dead.
        taken, dead = len(points), 0
        if self.kitty_to == "nobody":
            taken, dead = taken - self.kitty_size, self.kitty_size
        elif self.kitty_to == "first_heart":  # dead if it has all the hearts
            hearts = sum(card[1] == "H" for card in self.deck)
            dead = self.kitty_size if hearts <= self.kitty_size else 0
        elif self.kitty_to == "first_penalty":  # dead if it has all the penalty cards
            costly = sum(p > 0 for p in points)
            dead = self.kitty_size if costly <= self.kitty_size else 0
        penalties = [p for p in points if p > 0]  # the least first
        bonuses = [-p for p in points if p < 0]  # the largest first
        total, bonus = sum(penalties[-taken:]), sum(bonuses[:taken])
        idle, others = -self.no_trick_points, self.players - 1
        # Bonus cards that cannot be dead go to some player.
        forced = free = sum(bonuses[dead:])
        if self.kitty_to == "first_penalty":  # dead with all the penalty cards in it, or not at all
            forced, free = sum(bonuses), sum(bonuses[max(dead - len(penalties), 0) :])
        # A player is ahead with all bonus cards or without a trick, and behind if another has all
        # bonus cards and the rest have no trick. Penalty cards are added below.
        ahead = max(bonus, idle - forced / others)
        behind = (bonus + idle * (others - 1)) / others
        sizes: list[float] = [total]  # a revoke
        if len(penalties) <= dead:  # perhaps no one has a penalty card
            sizes += [max(bonus, idle - free / others), behind]
        if self.moon == "none":
            sizes += [total / others + ahead, total + behind]
            sizes.append(total - forced + idle)  # behind with all tricks
            return float(max(sizes))
        if penalties:
            sizes.append(self.moon_points + bonus)
        if len(penalties) > 1 and self.hand_size > 1:
            # No moon: two players have penalty cards, one of them perhaps only the smallest.
            least = penalties[0]
            sizes.append(total / others + ahead if others > 1 else total - 2 * least + bonus)
            sizes.append(total - least - least / others + behind)
        return float(max(sizes))

    @functools.cached_property
    def vector(self) -> NDArray[np.int64]:
        """The rules for compiled code, ``(kernel.RULES_SIZE,) int64``, read-only."""
        from hearts_env import kernel  # here because it imports numba, which is slow

        r = np.zeros(kernel.RULES_SIZE, np.int64)
        deck = self.deck
        for name in FIELDS:  # numbers and flags as they are, words as their place in CHOICES
            place = getattr(kernel, f"R_{name.upper()}", None)
            if place is not None:
                value = getattr(self, name)
                r[place] = CHOICES[name].index(value) if name in CHOICES else value
        r[kernel.R_TRUMP] -= 1  # suits from 0; -1: none
        r[kernel.R_NUM_CARDS] = len(deck)
        r[kernel.R_ROTATION_LEN] = len(self.pass_rotation)
        r[kernel.R_DECK] = (1 << len(deck)) - 1
        r[kernel.R_QUEEN] = 1 << self.index["QS"] if "QS" in self.index else 0
        r[kernel.R_KITTY_SIZE] = self.kitty_size
        r[kernel.R_NUM_ACTIONS] = self.num_actions
        r[kernel.R_TOTAL_SCALE] = (
            self.end_score if self.settlement == "points" else self.stake * self.players
        )
        r[kernel.R_HISTORY] = kernel.SEATS + kernel.SEAT * self.players
        r[kernel.R_STATE_SIZE] = r[kernel.R_HISTORY] + kernel.history_words(
            self.players * self.hand_size
        )
        steps = {"left": 1, "right": self.players - 1, "across": self.players // 2, "hold": 0}
        for i, direction in enumerate(self.pass_rotation):
            r[kernel.R_ROTATION + i] = steps[direction]
        for i, card in enumerate(deck):
            suit, points = suit_of(card), self.card_points.get(card, 0)
            r[kernel.R_SUIT_OF + i] = suit
            r[kernel.R_VALUE_OF + i] = 4 * rank_of(card) + "CDHS".index(card[1])
            r[kernel.R_POINTS_OF + i] = points
            r[kernel.R_SUIT_MASK + suit] |= 1 << i
            r[kernel.R_POINT_CARDS] |= (points != 0) << i
            r[kernel.R_PENALTY] |= (points > 0) << i
        return np.frombuffer(r.tobytes(), np.int64)  # bytes cannot be made writeable

    @functools.cached_property
    def state_size(self) -> int:
        """The length of a game's state, ``Game.vector``."""
        from hearts_env import kernel

        return int(self.vector[kernel.R_STATE_SIZE])

    @functools.cached_property
    def empty_state(self) -> NDArray[np.int64]:
        """A state before the deal, ``(state_size,) int64``, read-only."""
        from hearts_env import kernel

        state = np.zeros(self.state_size, np.int64)
        state[: kernel.SEATS] = kernel.EMPTY[: kernel.SEATS]
        return np.frombuffer(state.tobytes(), np.int64)  # as in `vector`

    # -- construction -----------------------------------------------------------------------------
    @classmethod
    def preset(cls, name: str, players: int | None = None) -> Rules:
        """Return a game of the rule book.

        Args:
            name: the preset's name.
            players: the number of players. If None, the preset's usual number.

        Raises:
            RulesError: if the preset is unknown or not for this number of players.
        """
        if not (is_word(name) and name in PRESETS):
            near = did_you_mean(quoted(name).strip("'"), PRESETS)
            raise RulesError(f"rules: no preset {quoted(name)}; {near}")
        preset = PRESETS[name]
        number = preset.usual if players is None else whole(players)
        if number is None or number not in preset.players:
            raise RulesError(
                f"players: {name} is not for {quoted(players)} players; give {preset.span}"
            )
        return _preset(name, number)

    @classmethod
    def make(cls, rules: str | Rules, players: int | None = None) -> Rules:
        """Return `rules`, or the rules that a text describes. Every `rules` argument uses this.

        Raises:
            RulesError: if `rules` is neither text nor rules, or not for this number of players.
        """
        if isinstance(rules, str):
            return cls.from_text(rules, players)
        if not isinstance(rules, Rules):
            raise RulesError(
                f"rules: {quoted(rules)} is not a game; give Rules or one of {', '.join(PRESETS)}"
            )
        if players is not None and whole(players) != rules.players:
            raise RulesError(
                f"players: the rules are for {rules.players}, not for {quoted(players)}; "
                "leave players out, or give a preset's name"
            )
        return rules

    def replace(self, **changes: Any) -> Rules:
        """Return a copy with some fields changed.

        Raises:
            RulesError: if a field is unknown or the new rules cannot be played.
        """
        _refuse_unknown(changes)
        return dataclasses.replace(self, **changes)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rules:
        """Return rules from a mapping of fields, with lists for tuples, as in JSON and YAML.

        Raises:
            RulesError: if `fields` is not a mapping of fields, or the rules cannot be played.
        """
        if not isinstance(fields, Mapping):
            raise RulesError(f"rules: {quoted(fields)} are not named fields; give a mapping")
        _refuse_unknown(fields)
        return cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        plain = {name: getattr(self, name) for name in FIELDS}
        return plain | {
            "removed": list(self.removed),
            "card_points": dict(self.card_points),
            "pass_rotation": list(self.pass_rotation),
        }

    @functools.cached_property
    def name(self) -> str:
        """The nearest preset and the fields that differ from it: ``party players=5 trump="S"``.

        ``from_text`` reads it back.
        """
        plain, found = self.to_dict(), []
        for order, (name, players) in enumerate(GAMES):
            base = _preset(name, players)
            words = [name] + [f"players={players}"] * (players != PRESETS[name].usual)
            differing = [f for f in FIELDS if getattr(self, f) != getattr(base, f)]
            words += [f"{f}={json.dumps(plain[f], separators=(',', ':'))}" for f in differing]
            found.append((len(differing) + (self.players != players) * 100, order, words))
        return " ".join(min(found)[2])

    @classmethod
    def from_text(cls, text: str, players: int | None = None) -> Rules:
        """Return rules from a preset's name followed by ``field=value`` words.

        Values are in JSON. None, True and False are allowed, and strings need no quotes.

        Args:
            text: for example ``party players=5 trump=S``.
            players: the number of players, which the text may also give. If None, the text decides.

        Raises:
            RulesError: if the preset or a field is unknown, a value is invalid, a field is given
                twice, or `players` contradicts the text.
        """
        if not isinstance(text, str):
            raise RulesError(f"rules: {quoted(text)} is not text; give a preset's name")
        if len(text) > _MAX_TEXT:
            raise RulesError(
                f"rules: a text of {len(text):,} characters; give one of {_MAX_TEXT:,} at most"
            )
        if players is not None:
            players = check_number("players", players, *RANGES["players"], RulesError)
        first, *words = text.split() or [""]
        changes: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise RulesError(
                    f"rules: {quoted(word)} is not a field with a value; write field=value"
                )
            _refuse_unknown([name])
            if name in changes:
                raise RulesError(f"{name}: {quoted(word)} sets it a second time; set it once")
            changes[name] = read_value(value)
        stated = changes.pop("players", None)
        if None not in (stated, players) and stated != players:
            raise RulesError(
                f"players: {quoted(players)}, but the rules {quoted(text)} are for "
                f"{quoted(stated)}; give it once"
            )
        base = cls.preset(first, players if stated is None else stated)
        return base.replace(**changes) if changes else base

    def __str__(self) -> str:
        return self.name

    # Hash and fields are cached: rules are keys of caches that every step reads.
    @functools.cached_property
    def _fields(self) -> tuple[Any, ...]:
        plain = {name: getattr(self, name) for name in FIELDS}
        return tuple((plain | {"card_points": tuple(self.card_points.items())}).values())

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self._fields)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rules):
            return NotImplemented
        return self is other or (self._hash == other._hash and self._fields == other._fields)

    @functools.cached_property
    def _of_a_deal(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in FIELDS if name not in _ENDS)

    def is_same_deal(self, other: object) -> bool:
        """Return True if the deals are the same, so a player of one game can play the other.

        Only fields that end a match may differ: ``end_score``, ``end_when``, ``tie``, ``max_deals``
        and ``target``. Observations show totals as shares of the end score.
        """
        return self is other or (isinstance(other, Rules) and self._of_a_deal == other._of_a_deal)

    def __deepcopy__(self, memo: object) -> Rules:
        return self  # immutable

    def __reduce__(self) -> tuple[Any, ...]:
        return Rules.from_dict, (self.to_dict(),)


@functools.cache
def _preset(name: str, players: int) -> Rules:
    return Rules(**PRESETS[name].fields(players))


_ENDS = ("end_score", "end_when", "tie", "max_deals", "target")
_SPECS = {f.name: f for f in dataclasses.fields(Rules)}
FIELDS = tuple(_SPECS)
CHOICES: dict[str, tuple[Any, ...]] = {
    name: f.metadata["choices"] for name, f in _SPECS.items() if "choices" in f.metadata
}
"""The values of each field that has a few allowed values."""
RANGES: dict[str, tuple[int, int]] = {
    name: f.metadata["range"] for name, f in _SPECS.items() if "range" in f.metadata
}
"""The smallest and largest value of each field that is a number."""
FLAGS = tuple(name for name, f in _SPECS.items() if isinstance(f.default, bool))
"""The fields that are True or False."""
DESCRIPTIONS: dict[str, str] = {name: f.metadata["doc"] for name, f in _SPECS.items()}
"""The description of each field."""
MEANINGS: dict[str, Mapping[str, str]] = {
    name: f.metadata.get("meanings", {}) for name, f in _SPECS.items()
}
"""The meaning of each value of a field, where it needs one."""


def _documentation(name: str) -> str:
    """Return the description of a field, its values and its default."""
    spec, text = _SPECS[name], DESCRIPTIONS[name]
    if name in RANGES:
        text += " {:,} to {:,}.".format(*RANGES[name])
    elif name in CHOICES and not MEANINGS[name]:
        text += f" One of {', '.join(map(repr, CHOICES[name]))}."
    if spec.default is not dataclasses.MISSING:
        text += f" Default {spec.default!r}."
    text = textwrap.fill(text, 80, subsequent_indent="    ")
    if MEANINGS[name]:
        text += "\n"  # a list of reStructuredText needs an empty line before it
    for value, says in MEANINGS[name].items():
        line = f"- ``{value}``: {says}."
        text += "\n" + textwrap.fill(line, 80, initial_indent="    ", subsequent_indent="      ")
    return text


FIELD_DOCS = {name: _documentation(name) for name in FIELDS}
"""The documentation of each field: its meaning, its values, its default."""
if Rules.__doc__:  # for `help(Rules)`, and not with -OO
    _fields = "\n".join(f"{name}: {text}" for name, text in FIELD_DOCS.items())
    Rules.__doc__ = (
        f"{inspect.cleandoc(Rules.__doc__)}\n\nFields:\n{textwrap.indent(_fields, '    ')}"
    )


def _refuse_unknown(names: Iterable[object]) -> None:
    for name in names:
        if not (is_word(name) and name in FIELDS):
            near = did_you_mean(quoted(name).strip("'"), FIELDS)
            raise RulesError(f"rules: no rule is named {quoted(name)}; {near}")
