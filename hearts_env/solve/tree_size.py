"""How large the game tree of a deck is, counted or estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.solve.walk import DEALS, INFOSETS, LINES, POSITIONS, SEQUENCES, Walk, num_deals
from hearts_env.support.arguments import check_positive
from hearts_env.support.errors import HeartsError
from hearts_env.views.worlds import Worlds

DEFAULT_MEMORY = 4.0
"""Gigabytes (10^9 bytes) that a tree and its solver may take where nothing else is said."""

_SAMPLES = 300
"""Lines that an estimate draws."""
_MOST_DEALS = 50_000_000
"""More deals than that are not counted one by one."""


def check_rules(rules: Rules | str) -> Rules:
    """Rules whose game tree can be built.

    Raises:
        HeartsError: other than two players, or an exchange.
    """
    rules = Rules.make(rules)
    if rules.players != 2:
        raise HeartsError(
            f"players: {rules.players} players cannot be solved; give rules for 2, like mini"
        )
    if rules.pass_count and set(rules.pass_rotation) != {"hold"}:
        raise HeartsError(
            f"pass_count: {rules.pass_count} cards are exchanged, and games with an exchange "
            "cannot be solved; take rules.replace(pass_count=0)"
        )
    return rules


def check_memory(max_memory: float) -> float:
    """A number of gigabytes.

    Raises:
        HeartsError: if it is not a positive finite number.
    """
    return check_positive("max_memory", max_memory, ", in gigabytes, like 4")


@dataclass(frozen=True)
class TreeSize:
    """How large the game tree of a deck is, seat 0 leading.

    Attributes:
        rules: The rules.
        deals: Deals in which seat 0 leads first.
        positions: Positions in all of them, first and last ones included.
        lines: Deals played to their end, in every way.
        infosets: Information sets with a choice, of either player.
        sequences: Sequences of either player, the empty ones not counted.
        exact: Whether they are counted; else estimated from a sample.
    """

    rules: Rules
    deals: float
    positions: float
    lines: float
    infosets: tuple[float, float]
    sequences: tuple[float, float]
    exact: bool

    @property
    def tree_bytes(self) -> float:
        """Bytes of the tree's arrays while it is built."""
        depth = 2 * self.rules.hand_size
        capacity = 2 * max(self.infosets)  # both players' arrays have the larger length
        return 28 * self.lines + (33 + depth) * capacity + 8 * sum(self.sequences) + 44 * self.deals

    @property
    def solver_bytes(self) -> float:
        """Bytes that solving it takes besides."""
        return 8 * 8 * sum(self.sequences)

    @property
    def gigabytes(self) -> float:
        """Both together, in 10^9 bytes."""
        return (self.tree_bytes + self.solver_bytes) / 1e9

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        infosets, sequences = (format_count(sum(n)) for n in (self.infosets, self.sequences))
        return (
            f"{about}{format_count(self.deals)} deals, {format_count(self.positions)} positions, "
            f"{format_count(self.lines)} lines, {infosets} information sets, {sequences} "
            f"sequences, {format_gigabytes(self.gigabytes)}"
        )


def format_count(number: float) -> str:
    """``16,632``, or ``3.1e+15`` where digits would tell nothing."""
    return f"{number:,.0f}" if number < 1e9 else f"{number:.1e}"


def format_gigabytes(gigabytes: float) -> str:
    """Like ``0.15 GB`` or ``2.1e+08 GB``."""
    return f"{gigabytes:.2g} GB" if gigabytes < 1e3 else f"{gigabytes:.1e} GB"


def estimate(rules: Rules | str, samples: int = _SAMPLES, seed: int = 0) -> TreeSize:
    """The size of the tree from random lines, each weighted by the choices along it (Knuth 1975).

    A position met stands for as many as there were choices on the way to it; an information set
    has one position for each of the worlds that its player holds possible.
    """
    rules = check_rules(rules)
    deals = num_deals(rules)
    rng = np.random.default_rng(seed)
    positions = lines = 0.0
    infosets, sequences = np.zeros(2), np.zeros(2)
    for _ in range(samples):
        game = _random_deal(rules, rng)
        weight = deals / samples
        while (player := game.player) is not None:
            positions += weight
            legal = game.legal_actions()
            if len(legal) > 1:
                share = weight / max(Worlds(game.view(player)).count, 1)
                infosets[player] += share
                sequences[player] += share * len(legal)
            weight *= len(legal)
            game.play(legal[rng.integers(len(legal))])
        positions += weight
        lines += weight
    pairs = [(float(pair[0]), float(pair[1])) for pair in (infosets, sequences)]
    return TreeSize(rules, float(deals), positions, lines, pairs[0], pairs[1], exact=False)


def _random_deal(rules: Rules, rng: np.random.Generator) -> Game:
    """A uniformly drawn deal in which seat 0 leads first."""
    cards = [rules.deck[i] for i in rng.permutation(len(rules.deck))]
    n = rules.hand_size
    hands = [cards[:n], cards[n : 2 * n]]
    for _ in range(2):
        game = Game(rules, hands=hands, kitty=cards[2 * n :], deal_number=0, dealer=1)
        if game.leader == 0:
            break
        hands.reverse()
    return game


def measure(rules: Rules | str, max_memory: float = DEFAULT_MEMORY) -> TreeSize:
    """The size of the tree: counted where it fits into `max_memory` gigabytes, else estimated.

    Raises:
        HeartsError: rules of other than two players, or with an exchange.
    """
    rules = check_rules(rules)
    size = estimate(rules)
    if size.gigabytes > 2 * check_memory(max_memory) or size.deals > _MOST_DEALS:
        return size
    return count_tree(Walk(rules))


def refuse_size(size: TreeSize, max_memory: float) -> None:
    """Refuse a tree that is too large.

    Raises:
        HeartsError: it takes more than `max_memory` gigabytes; the message has the figure.
    """
    if not size.exact or size.gigabytes > max_memory:
        raise HeartsError(
            f"max_memory: the game tree of {size.rules.name} does not fit into {max_memory:g} GB: "
            f"{size}; allow more, or take fewer cards (hand_size, removed)"
        )


def count_tree(walk: Walk) -> TreeSize:
    """The size of the tree that a walk meets, counted."""
    totals = walk.count()
    deals, positions, lines = (float(totals[i]) for i in (DEALS, POSITIONS, LINES))
    pairs = [(float(totals[first]), float(totals[first + 1])) for first in (INFOSETS, SEQUENCES)]
    return TreeSize(walk.rules, deals, positions, lines, pairs[0], pairs[1], exact=True)
