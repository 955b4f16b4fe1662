"""The package's ``Game`` and the naive second implementation, played side by side."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from hearts_env import Game, Rules, RulesError
from hearts_env.cards import ALL_CARDS, DIRECTIONS
from hearts_env.kernel import margin_sum
from hearts_env.rules.rules import CHOICES, FIELDS, RANGES
from tests.naive import NaiveGame

HEARTS_ONE = dict.fromkeys(
    ["2H", "3H", "4H", "5H", "6H", "7H", "8H", "9H", "TH", "JH", "QH", "KH", "AH"], 1
)
HEARTS_AND_QUEEN = {**HEARTS_ONE, "QS": 13}
"""The points of cards by the rule book, independent of the package's table."""

SAMPLE = [
    ("two_player", 2),
    ("hoyle", 3),
    ("classic", 4),
    ("kitty", 5),
    ("omnibus", 6),
    ("party", 7),
]
"""One game for each number of players."""

QUICK = [("two_player", 2), ("mini", 2), ("hoyle", 3), ("kitty", 3), ("classic", 4)]
"""The games of expensive batteries in ``make test``."""

MATCH_FIELDS = ("end_score", "end_when", "tie", "max_deals", "settlement", "stake", "target")
"""The fields that a single deal does not depend on."""

_NUMBERS = (-5, 0, 1, 2, 3, 5, 7, 9, 12, 17, 25, 500)


def values_of(field: str) -> Sequence[Any]:
    """Return all values of a field, or some."""
    if field in RANGES:
        low, high = RANGES[field]
        none = [None] if getattr(Rules(), field) is None else []
        return none + [number for number in _NUMBERS if low <= number <= high]
    return CHOICES.get(field) or (False, True) if field not in _OTHERS else _OTHERS[field]


_OTHERS: dict[str, Sequence[Any]] = {
    "removed": ((), ("2C",), ("QS",), ("AH", "AC"), tuple(c for c in ALL_CARDS if c[0] in "35K")),
    "card_points": (
        HEARTS_AND_QUEEN,
        HEARTS_ONE,
        {"QS": 13},
        {**HEARTS_AND_QUEEN, "JD": -10, "TC": -3},
        {**HEARTS_ONE, "AS": 7, "AC": 1, "2H": 0},
        {"AD": -5},
    ),
    "pass_rotation": (*((way,) for way in DIRECTIONS), ("across", "hold", "left", "right", "left")),
}


def single_changes(rules: Rules) -> Iterator[tuple[str, Rules]]:
    """Yield every accepted rule set that differs in one field from `rules`, with that field."""
    for field in FIELDS:
        for value in values_of(field):
            try:
                changed = rules.replace(**{field: value})
            except RulesError:
                continue
            if changed != rules:
                yield field, changed


def naive_of(game: Game) -> NaiveGame:
    """Return the naive game of the same deal, at its beginning."""
    start = game.start()
    hands = [start.hand(seat) for seat in range(game.rules.players)]
    return NaiveGame(game.rules, hands, start.kitty, game.deal_number, game.dealer)


def copy_naive(game: NaiveGame) -> NaiveGame:
    """Return a copy, much faster than ``deepcopy``."""
    other = copy.copy(game)
    for name in ("hands", "taken", "passed", "received"):
        setattr(other, name, [set(cards) for cards in getattr(game, name)])
    other.tricks_taken = list(game.tricks_taken)
    other.trick = list(game.trick)
    other.history = list(game.history)
    other.broken = list(game.broken)
    return other


def facts_of_naive(game: NaiveGame) -> dict[str, Any]:
    """Return everything that can be compared."""
    seats = range(game.rules.players)
    kitty = game.kitty if game.kitty_taker is not None else set()
    choice = None if game.moon_choice is None else game.moon_choice - len(game.deck)
    scores, others = game.scores(), game.rules.players - 1
    return {
        "phase": game.phase,
        "player": game.current_player,
        "legal": game.legal(),
        "trick": game.trick,
        "hands": game.hands,
        "history": len(game.history),
        "last": game.history[-1:],
        "points": game.points(),
        "scores": scores,
        "margin sums": [sum(scores) - own - others * own for own in scores],
        "broken": game.hearts_broken,
        "leader": game.leader if game.phase == "play" else None,
        "played": [{card for player, card in game.history if player == s} for s in seats],
        "left": [len(hand) for hand in game.hands],
        "false voids": set(),
        "passed": game.passed,
        "received": game.received,
        "taken": [game.taken[s] | kitty if s == game.kitty_taker else game.taken[s] for s in seats],
        "tricks": game.tricks_taken,
        "kitty": game.kitty,
        "kitty taker": game.kitty_taker,
        "shooter": game.shooter,
        "choice": None if choice is None else ("off", "others")[choice],
        "revoker": game.offender,
    }


def facts_of_game(game: Game) -> dict[str, Any]:
    """Return the same facts of the package's game, from its public interface."""
    seats = range(game.rules.players)
    history = game.history
    return {
        "phase": game.phase,
        "player": game.current_player,
        "legal": game.legal_actions(),
        "trick": list(game.trick),
        "hands": [set(game.hand(seat)) for seat in seats],
        "history": len(history),
        "last": list(history[-1:]),
        "points": game.points,
        "scores": game.scores(),
        "margin sums": [margin_sum(game.rules.vector, game.vector, seat) for seat in seats],
        "broken": game.hearts_broken,
        "leader": game.leader,
        "played": [set(game.played(seat)) for seat in seats],
        "left": [game.cards_left(seat) for seat in seats],
        "false voids": {c for seat in seats for c in game.hand(seat) if c[1] in game.voids[seat]},
        "passed": [set(game.passed(seat)) for seat in seats],
        "received": [set(game.received(seat)) for seat in seats],
        "taken": [set(game.taken(seat)) for seat in seats],
        "tricks": game.tricks_taken,
        "kitty": set(game.kitty),
        "kitty taker": game.kitty_taker,
        "shooter": game.shooter,
        "choice": game.moon_choice,
        "revoker": game.revoker,
    }


def assert_same(game: Game, naive: NaiveGame) -> None:
    """Fail with the difference unless both games agree in everything."""
    ours, theirs = facts_of_game(game), facts_of_naive(naive)
    if ours != theirs:
        differing = [
            f"{name}: game {ours[name]!r}, naive {theirs[name]!r}"
            for name in theirs
            if ours[name] != theirs[name]
        ]
        raise AssertionError("\n".join([*differing, game.to_text()]))


def play_in_lockstep(game: Game, rng: random.Random, *, revoke: float = 0.0) -> int:
    """Play a game at random to its end, compare each step, and return the number of actions.

    Args:
        game: a game not yet begun, which is played in place.
        rng: draws the actions.
        revoke: how likely the player to act is to end the deal by an illegal action, each time.
    """
    naive = naive_of(game)
    steps = 0
    assert_same(game, naive)
    while not game.is_over:
        if revoke and rng.random() < revoke:
            game.revoke()
            naive.revoke()
        else:
            action = rng.choice(naive.legal())
            game.play(action)
            naive.play(action)
        steps += 1
        assert_same(game, naive)
    return steps


def lockstep_deals(rules: Rules, deals: int, first_seed: int) -> int:
    """Play many deals, every tenth ended by a revoke, and return the number of actions."""
    steps = 0
    for seed in range(first_seed, first_seed + deals):
        rng = random.Random(seed)
        revoke = 1 / (rules.hand_size * rules.players) if seed % 10 == 9 else 0.0
        steps += play_in_lockstep(Game.deal(rules, seed), rng, revoke=revoke)
    return steps


def naive_at(game: Game) -> NaiveGame:
    """Return the naive game at the same point of the same deal."""
    naive = naive_of(game)
    for action in game.actions:
        if action == -1:
            naive.revoke()
        else:
            naive.play(action)
    return naive


def every_deal(rules: Rules, dealer: int = 0) -> Iterator[Game]:
    """Yield every deal of a two-player rule set, in the order of the cards."""
    deck = rules.deck
    for first in itertools.combinations(deck, rules.hand_size):
        rest = [card for card in deck if card not in first]
        for second in itertools.combinations(rest, rules.hand_size):
            yield Game(rules, [first, second], dealer=dealer)


def every_line(game: Game) -> Iterator[tuple[Game, NaiveGame]]:
    """Yield every position that can follow, in both implementations."""
    stack = [(game, naive_at(game))]
    while stack:
        ours, theirs = stack.pop()
        yield ours, theirs
        for action in theirs.legal():
            after, naive = ours.clone(), copy_naive(theirs)
            after.play(action)
            naive.play(action)
            stack.append((after, naive))
