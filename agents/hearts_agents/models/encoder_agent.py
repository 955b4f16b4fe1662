"""Players that weigh the actions by an observation: networks, ours and those of other libraries."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Self

import numpy as np
from gymnasium import spaces

from hearts_agents.base import Actions, Chances, DrawingAgent, check_turn, check_views
from hearts_env.batch.views import BatchView
from hearts_env.encoders import Encoder, make_encoder, write_many
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_flag
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.views.view import PlayerView


class EncoderAgent(DrawingAgent):
    """A player that gives every action a weight by its observation, and takes a legal one.

    Derive from it and write ``weigh``; write ``check_rules`` too, which is asked before anything is
    observed.
    """

    def __init__(self, encoder: str | Encoder, *, greedy: bool = True, seed: int | None = None):
        """A player that sees what `encoder` writes.

        Args:
            encoder: what it sees.
            greedy: take the legal action with the highest weight; False: draw from the softmax of
                the weights.
            seed: of those draws; None: from the operating system.
        """
        self.encoder = make_encoder(encoder)
        self.greedy = check_flag("greedy", greedy)
        super().__init__(seed)
        self._seen: tuple[Rules, spaces.Box, Array] | None = None

    def weigh(self, observations: Array) -> Array:
        """The weights of all actions, ``(n, *shape) -> (n, num_actions) float32``."""
        raise NotImplementedError

    def content(self) -> Iterator[bytes]:
        """What distinguishes it from others of its kind, for digests."""
        raise NotImplementedError

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Its content, whatever the rules."""
        return self.content()

    def with_greedy(self, greedy: bool) -> Self:  # noqa: FBT001
        """The same player, which takes its preferred action, or draws."""
        player = copy.copy(self)
        player.greedy = greedy
        return player

    def act(self, view: PlayerView) -> int:
        """The action in one position."""
        self.check_rules(view.rules)
        check_turn(view)
        space, _ = self._sight(view.rules)
        observation = np.zeros((1, *space.shape), space.dtype)
        self.encoder.write(view, observation[0])
        legal = self._is_legal(view.rules, np.array([view.legal_mask]))
        return int(self._choose(self.weigh(observation), legal)[0])

    def act_batch(self, views: BatchView) -> Actions:
        """The actions in many positions, ``(len(views),) int64``."""
        return self._choose(self._weights(views), self._is_legal(views.rules, views.legal_masks))

    def action_probs(self, views: BatchView) -> Chances:
        """The probabilities of the actions; a greedy player's preferred action has 1."""
        if self.greedy:
            return super().action_probs(views)
        logits = self._weights(views).astype(np.float64)
        logits[~self._is_legal(views.rules, views.legal_masks)] = -np.inf
        chances: Chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)

    def _weights(self, views: BatchView) -> Array:
        check_views(views)
        self.check_rules(views.rules)
        n, (space, _) = len(views), self._sight(views.rules)
        observations = np.zeros((n, *space.shape), space.dtype)
        rows = np.arange(n)
        write_many(self.encoder, views.rules, views.vectors, rows, views.players, observations)
        return self.weigh(observations)

    def _sight(self, rules: Rules) -> tuple[spaces.Box, Array]:
        """What an observation is under some rules, and the numbers of the actions."""
        if self._seen is None or self._seen[0] is not rules:
            self._seen = rules, self.encoder.space(rules), np.arange(rules.num_actions)
        return self._seen[1:]

    def _is_legal(self, rules: Rules, masks: Array) -> Array:
        return (masks[:, np.newaxis] >> self._sight(rules)[1]) & 1 == 1

    def _choose(self, weights: Array, legal: Array) -> Actions:
        if not self.greedy:  # the largest of logits + Gumbel noise is a draw from their softmax
            noise = self._rng.standard_exponential(weights.shape, np.float32)
            weights = weights - np.log(np.maximum(noise, np.float32(1e-30)))
        actions: Actions = np.where(legal, weights, -np.inf).argmax(axis=1)
        return actions


def check_network(policy: object) -> EncoderAgent:
    """`policy`, a player that weighs the actions, as a search asks for them.

    Raises:
        HeartsError: it is something else.
    """
    if isinstance(policy, EncoderAgent):
        return policy
    raise HeartsError(
        f"policy: {quoted(policy)} is not a network; give load_agent(PATH), of a run's folder or a "
        "checkpoint",
        value=policy,
    )


def trained_for_others(mine: Rules, theirs: Rules) -> str:
    """What a player that was trained for other rules says when it refuses some."""
    own, others = mine.to_dict(), theirs.to_dict()
    differing = ", ".join(
        f"{name} {others[name]!r} instead of {own[name]!r}"
        for name in own
        if own[name] != others[name] and name not in ("removed", "card_points")
    )
    return (
        f"rules: this player was trained for {mine.name!r} and cannot play {theirs.name!r}"
        f"{f' ({differing})' if differing else ''}; play its rules, or train a player for yours"
    )
