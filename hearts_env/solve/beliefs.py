"""Beliefs: how likely each hidden world is, given how the other player plays.

A view of two-player Hearts allows at most a few hundred hidden worlds. Bayes' rule weighs them
exactly: a world is as likely as the product of the chances with which the other player would, with
that hand, have played each card it did play. Cards are dealt uniformly, so nothing else counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hearts_env import kernel as k
from hearts_env.rules.rules import Rules
from hearts_env.solve.policies import Policy, check_policy, log_likelihoods
from hearts_env.support.arguments import check_chance, check_is
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.errors import HeartsError
from hearts_env.views.hidden import worlds_of_two
from hearts_env.views.view import MAX_WORLDS, PlayerView

__all__ = [
    "Belief",
    "Policy",
    "belief",
    "check_policy",
    "check_two_players",
    "check_view",
    "dealt_hands",
    "hidden_hands",
    "log_likelihoods",
]


@dataclass(frozen=True)
class Belief:
    """What a player can conclude about the other one's hand.

    Attributes:
        hands: ``(n,) int64``, the other player's possible present hands as bit masks, in the order
            of ``view.worlds()``.
        weights: ``(n,) float64``, their probabilities.
        log_likelihoods: ``(n,) float64``, natural logarithms of the chances of the other player's
            play with each hand, forced cards included; -inf where it would have played otherwise.
    """

    hands: Ints
    weights: Floats
    log_likelihoods: Floats

    def weight_of(self, hand: int) -> float:
        """The probability of a hand, given as a bit mask."""
        return float(self.weights[self.hands == hand].sum())


def hidden_hands(view: PlayerView) -> Ints:
    """The other player's possible present hands, bit masks in the order of ``view.worlds()``.

    Raises:
        HeartsError: the game has another number of players than two, or an exchange under way.
    """
    check_view(view)
    scratch = np.empty(3 * (k.MAX_PLAYERS + 1) + 2 * 64, np.int64)
    hands = np.empty(1024, np.int64)
    while True:
        n = worlds_of_two(view.rules.vector, view.vector, view.player, hands, scratch)
        if n <= len(hands):
            return hands[:n].copy()
        if len(hands) >= MAX_WORLDS:
            raise HeartsError(
                f"view: it allows too many worlds; give one that allows at most {MAX_WORLDS:,}"
            )
        hands = np.empty(min(64 * len(hands), MAX_WORLDS), np.int64)


def dealt_hands(view: PlayerView) -> Ints:
    """``(worlds, 2) int64``: what both players were dealt, in the order of ``hidden_hands``.

    Raises:
        HeartsError: as ``hidden_hands`` does.
    """
    hidden = hidden_hands(view)
    other = 1 - view.player
    deals = np.empty((len(hidden), 2), np.int64)
    deals[:, view.player] = k.hand_at_start(view.vector, view.player)
    deals[:, other] = hidden | view.vector[k.PLAYED + k.SEAT * other]
    return deals


def check_view(view: PlayerView) -> None:
    """Refuse what exact worlds do not cover.

    Raises:
        HeartsError: not two players, or not in the play of the cards.
    """
    check_is("view", view, PlayerView, "give game.view(player)")
    check_two_players(view.rules)
    if view.phase == "pass":
        raise HeartsError("view: cards are still being passed; worlds are weighed in the play")


def has_exact_worlds(rules: Rules) -> bool:
    """Whether there is exactly one other player, and no exchange: see ``check_two_players``."""
    return rules.players == 2 and not rules.pass_count


def num_first_worlds(rules: Rules) -> int:
    """How many hands the other player of two may have before the first card."""
    return math.comb(len(rules.deck) - rules.hand_size, rules.hand_size)


def check_two_players(rules: Rules) -> None:
    """Refuse rules without exactly one other player.

    Raises:
        HeartsError: the game has another number of players, or an exchange.
    """
    if rules.players != 2:
        raise HeartsError(
            f"rules: {rules.name!r} is for {rules.players} players; exact worlds are for two"
        )
    if rules.pass_count:
        raise HeartsError(
            "rules: exact worlds are for games without an exchange; give rules with pass_count 0"
        )


def belief(view: PlayerView, policy: Policy | None = None, *, noise: float = 0.0) -> Belief:
    """Weigh every world of `view` by how the other player would have played in it.

    Args:
        view: of a two-player game, at any time of the play.
        policy: the other player's chances of each action; an agent's ``action_probs``. None: play
            that tells nothing, all worlds alike.
        noise: with this chance the other player is taken to play a random legal card instead, so
            that a play which the policy would never have made does not rule out every world.

    Returns:
        The weights. Where no world explains the play, all worlds weigh the same.

    Raises:
        HeartsError: not a two-player view, or the policy gives no
            probabilities (see ``check_policy``).
    """
    noise = check_chance("noise", noise)
    if policy is not None and not callable(policy):
        raise HeartsError(
            f"policy: {policy!r} is not a function of views; give agent.action_probs", value=policy
        )
    hands = hidden_hands(view)
    logs = np.zeros(len(hands))
    if policy is not None and len(hands):
        deals = dealt_hands(view)
        logs = log_likelihoods(view.rules, view.vector, 1 - view.player, deals, policy, noise)
    best = logs.max(initial=-np.inf)
    weights = np.exp(logs - best) if np.isfinite(best) else np.ones(len(hands))
    return Belief(hands, weights / weights.sum(), logs)
