"""Hypothesis strategies: valid rule sets, and games at any point of their play."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hearts_env import Game, Rules
from hearts_env.cards import ALL_CARDS, DIRECTIONS
from hearts_env.rules.rules import CHOICES, FLAGS, RANGES

SEEDED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
"""Draws the same examples on every run: ``settings(SEEDED, max_examples=n)``."""

NUMBERS = [name for name in RANGES if name not in ("players", "hand_size", "pass_count")]


def values_of(field: str) -> st.SearchStrategy[Any]:
    """Return a strategy of a field's values, with small numbers."""
    if field not in RANGES:
        return st.sampled_from(CHOICES.get(field, (False, True)))
    low, high = RANGES[field]
    numbers = st.integers(max(low, -6), min(high, 100))
    return st.none() | numbers if getattr(Rules(), field) is None else numbers


@st.composite
def rule_sets(
    draw: st.DrawFn, *, max_players: int = 7, max_hand: int = 26, max_deck: int = 52
) -> Rules:
    """Draw any playable rule set, often with a small deck."""
    players = draw(st.integers(2, max_players))
    size = draw(st.integers(max(players, 4), max_deck))
    if draw(st.booleans()):  # whole ranks, as the presets of two players have them
        ranks = draw(st.permutations("23456789TJQKA"))[: -(-size // 4)]
        deck = [card for card in ALL_CARDS if card[0] in ranks]
    else:
        deck = list(draw(st.permutations(ALL_CARDS))[:size])
    hand_size = draw(st.integers(1, min(len(deck) // players, max_hand)))
    points = draw(
        st.one_of(
            st.just({**{c: 1 for c in ALL_CARDS if c[1] == "H"}, "QS": 13}),
            st.dictionaries(st.sampled_from(deck), st.integers(-10, 15), max_size=8),
        )
    )
    if not any(points.get(card) for card in deck):
        points = {deck[0]: draw(st.sampled_from([1, 5, -5]))}
    fields: dict[str, Any] = {name: draw(values_of(name)) for name in (*CHOICES, *FLAGS, *NUMBERS)}
    fields["pass_count"] = draw(st.integers(0, min(hand_size, 4)))
    # Replace combinations that rules refuse.
    if not any(card[1] == "C" for card in deck):
        fields["first_lead"] = "eldest_hand"
    if len(deck) == players * hand_size:
        fields["kitty_to"] = "nobody"
    has_bonus = any(points.get(card, 0) < 0 for card in deck)
    if has_bonus or (fields["settlement"] == "sweepstakes" and players == 2):
        fields["settlement"] = "points"
    return Rules(
        players=players,
        removed=tuple(card for card in ALL_CARDS if card not in deck),
        hand_size=hand_size,
        card_points=points,
        pass_rotation=draw(st.lists(st.sampled_from(DIRECTIONS), min_size=1, max_size=5)),
        **fields,
    )


def played_on(
    rules: Rules | str, seed: int, steps: int, *, revoke: bool = False, **table: Any
) -> Game:
    """Return the deal of `seed` after some random actions or at its end, revoked if `revoke`."""
    game = Game.deal(rules, seed, **table)
    rng = random.Random(seed)
    for _ in range(steps):
        if game.is_over:
            break
        game.play(rng.choice(game.legal_actions()))
    if revoke and not game.is_over:
        game.revoke()
    return game


def positions(rules: Rules, seed: int) -> list[Game]:
    """Return every position of a random deal, including its end."""
    game, rng = Game.deal(rules, seed), random.Random(seed)
    found = [game.clone()]
    while not game.is_over:
        game.play(rng.choice(game.legal_actions()))
        found.append(game.clone())
    return found


@st.composite
def games(draw: st.DrawFn, rules: st.SearchStrategy[Rules] | None = None) -> Game:
    """Draw a game of any rules at any point of its play, sometimes ended by a revoke."""
    drawn = draw(rule_sets() if rules is None else rules)
    seed = draw(st.integers(0, 2**63 - 1))
    length = drawn.players * (drawn.hand_size + drawn.pass_count) + 1
    steps = draw(st.integers(0, length))
    return played_on(drawn, seed, steps, revoke=draw(st.integers(0, 7)) == 7)
