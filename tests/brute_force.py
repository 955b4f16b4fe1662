"""A brute-force solver of two-player Hearts, to compare the double-dummy solver with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from hearts_env import Game, HeartsError, Rules, kernel
from hearts_env.cards import ALL_CARDS, HEARTS_ONE
from hearts_env.rules.rules import CHOICES, FLAGS
from hearts_env.solve import TranspositionTable
from hearts_env.support.bits import lowest

POINTS: list[dict[str, int]] = [
    {"QS": 13},
    {"JS": 10, "QS": 3},
    {**HEARTS_ONE, "QS": 13, "JD": -10},
    dict(HEARTS_ONE),
    {**HEARTS_ONE, "AH": 5},
]
# The options that decide play and scores: those that the kernel reads.
OPTIONS: dict[str, list[Any]] = {
    name: [*CHOICES.get(name, (False, True))]
    for name in (*CHOICES, *FLAGS)
    if hasattr(kernel, f"R_{name.upper()}") and name != "settlement"
}
OPTIONS["kitty_to"].append("nobody")
OPTIONS |= {"moon_points": [0, 3, 7, 20, 26, 40], "no_trick_points": [0, 0, -5]}


# ---- brute force --------------------------------------------------------------------------------
@numba.njit(error_model="numpy")
def brute_force(r: Any, states: Any, depth: int, player: int) -> int:
    """Return the margin of `player` under best play from ``states[depth]``, by trying all play.

    Plain minimax on the kernel: no bound, no table, no order. The rows below are overwritten.
    """
    s = states[depth]
    if s[kernel.PHASE] == kernel.OVER:
        return kernel.margin_sum(r, s, player)
    mine = s[kernel.PLAYER] == player
    best = -(1 << 40) if mine else 1 << 40
    legal = kernel.legal_mask(r, s)
    while legal:
        card = lowest(legal)
        legal &= legal - 1
        kernel.copy_state(s, states[depth + 1])
        kernel.play(r, states[depth + 1], card)
        value = brute_force(r, states, depth + 1, player)
        best = max(best, value) if mine else min(best, value)
    return best


def brute_values(game: Game) -> dict[int, int]:
    """Return the acting player's margin after each legal action, by brute force."""
    states = np.zeros((2 * game.rules.hand_size + 3, game.rules.state_size), np.int64)
    values = {}
    for action in game.legal_actions():
        after = game.clone()
        after.play(action)
        states[0] = after.vector
        values[action] = int(brute_force(game.rules.vector, states, 0, game.current_player))
    return values


# ---- random rules and positions -----------------------------------------------------------------
def random_rules(rng: random.Random) -> Rules:
    """Draw rules of two players: a preset with some fields changed, or any deck."""
    while True:
        base = rng.choice(["two_player", "two_player", "mini", "micro", "any", "any"])
        if base == "any":
            ranks = rng.sample("23456789TJQKA", rng.randint(3, 9))
            removed = [card for card in ALL_CARDS if card[0] not in ranks]
            if rng.random() < 0.4:
                removed = rng.sample(ALL_CARDS, rng.randint(20, 40))
            size = rng.randint(1, min(7, (52 - len(removed)) // 2))
            fields: dict[str, Any] = {"removed": tuple(removed), "hand_size": size, "players": 2}
            share = 0.6
        else:
            fields = Rules.preset(base).to_dict()
            share = rng.choice([0, 0.15, 0.5])
        for name, choices in OPTIONS.items():
            if rng.random() < share:
                fields[name] = rng.choice(choices)
        if rng.random() < (0.3 if base == "any" else 0.1):
            fields["card_points"] = rng.choice(POINTS)
            if rng.random() < 0.5:
                deck = [card for card in ALL_CARDS if card not in fields["removed"]]
                cards = rng.sample(deck, rng.randint(1, len(deck)))
                fields["card_points"] = {card: rng.randint(-6, 8) for card in cards}
        try:
            return Rules(**fields)
        except HeartsError:
            continue


def random_position(rng: random.Random, rules: Rules, most: int = 6) -> Game | None:
    """Return a deal in which both hold at most `most` cards, or None if it ends before.

    In two of three deals one player takes every trick it can, which keeps moons possible.
    """
    game = Game.deal(rules, rng.getrandbits(40))
    stop = rng.randint(1, 2 * most)
    greedy = rng.choice([None, 0, 1])
    while game.phase == "play":
        sizes = [len(game.hand(seat)) for seat in (0, 1)]
        if max(sizes) <= most and (sum(sizes) <= stop or rng.random() < 0.1):
            return game
        legal = game.legal_actions()
        action = rng.choice(legal)
        if greedy is not None and game.current_player == greedy and rng.random() < 0.8:
            trumps = [card for card in legal if rules.deck[card][1] == rules.trump]
            action = max(
                trumps or legal, key=lambda card: "23456789TJQKA".index(rules.deck[card][0])
            )
        game.play(action)
    return None


def one_may_shoot(game: Game) -> bool:
    """Return whether exactly one player has taken penalty cards."""
    s, r = game.vector, game.rules.vector
    has_taken = [bool(s[kernel.TAKEN + kernel.SEAT * p] & r[kernel.R_PENALTY]) for p in (0, 1)]
    return has_taken[0] != has_taken[1]


def positions(seed: int, count: int, most: int = 6) -> Iterator[tuple[Game, TranspositionTable]]:
    """Yield random positions, a few per rule set, with one table for each rule set."""
    rng = random.Random(f"double dummy {seed}")
    drawn = 0
    while drawn < count:
        rules = random_rules(rng)
        table = TranspositionTable(rules, log2_bytes=15, endgames=rng.choice([0, 2, 4]))
        for _ in range(5):
            game = random_position(rng, rules, most)
            if game is not None and drawn < count:
                drawn += 1
                yield game, table
