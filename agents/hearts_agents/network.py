"""Players that are policy networks: the forward pass in NumPy, no torch needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hearts_agents.base import (
    Agent,
    RandomState,
    generator_state,
    random_numbers,
    restore_generator,
)
from hearts_agents.checkpoint import Checkpoint, read_checkpoint
from hearts_env.arrays import Array
from hearts_env.batch_view import BatchView
from hearts_env.encoders import Encoder, make_encoder, write_many
from hearts_env.errors import CheckpointError
from hearts_env.rules import Rules
from hearts_env.view import PlayerView


class Network:
    """A multilayer perceptron's forward pass in float32."""

    def __init__(self, tensors: Mapping[str, Array], activation: str = "relu") -> None:
        """The network of ``policy.{i}.weight`` and ``policy.{i}.bias``."""
        self.activation = activation
        self.layers: list[tuple[Array, Array]] = []
        while f"policy.{len(self.layers)}.weight" in tensors:
            i = len(self.layers)
            weight = np.ascontiguousarray(tensors[f"policy.{i}.weight"].T, np.float32)
            self.layers.append((weight, np.array(tensors[f"policy.{i}.bias"], np.float32)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the layers, from the observation to the actions."""
        return (len(self.layers[0][0]), *(len(bias) for _, bias in self.layers))

    def tensors(self) -> dict[str, Array]:
        """The weights under their names in a file."""
        named: dict[str, Array] = {}
        for i, (weight, bias) in enumerate(self.layers):
            named[f"policy.{i}.weight"] = np.ascontiguousarray(weight.T)
            named[f"policy.{i}.bias"] = bias
        return named

    def logits(self, observations: Array) -> Array:
        """The logits of the actions, ``(n, size) -> (n, actions) float32``; higher is better."""
        x = observations.reshape(len(observations), -1).astype(np.float32)
        last = len(self.layers) - 1
        for i, (weight, bias) in enumerate(self.layers):
            x = x @ weight
            x += bias
            if i < last:
                if self.activation == "relu":
                    np.maximum(x, 0.0, out=x)
                else:
                    np.tanh(x, out=x)
        return x


class NetworkAgent(Agent):
    """A policy network as a player: one forward pass a decision.

    Also made from arrays in memory, for pools of snapshots in self-play.
    """

    def __init__(
        self,
        network: Network,
        rules: Rules | str,
        encoder: str | Encoder = "flat",
        *,
        greedy: bool = True,
        seed: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        """A player.

        Args:
            network: its policy.
            rules: the only rules it plays.
            encoder: what its network sees.
            greedy: take the preferred action; False: draw from the policy's probabilities.
            seed: of those draws; None: from the operating system.
            checkpoint: what its file says about it.

        Raises:
            CheckpointError: if the network does not fit the encoder or the actions of the rules.
        """
        self.network = network
        self.rules = Rules.make(rules)
        self.plays = self.rules.name
        self.encoder = make_encoder(encoder)
        self.greedy = bool(greedy)
        self.checkpoint = checkpoint
        self.name = str(checkpoint.training.get("name", "network")) if checkpoint else "network"
        self._rng = random_numbers(seed)
        self._known: Rules = self.rules
        self._space = self.encoder.space(self.rules)
        need = (math.prod(self._space.shape), self.rules.num_actions)
        sizes = network.sizes
        if (sizes[0], sizes[-1]) != need:
            raise CheckpointError(
                f"network.layers: {list(sizes)}, but these rules and this encoder need {need[0]} "
                f"inputs and {need[1]} outputs"
            )
        self._actions = np.arange(self.rules.num_actions)

    def act(self, view: PlayerView) -> int:
        """The action in one position."""
        self.check_rules(view.rules)
        observation = np.zeros((1, *self._space.shape), self._space.dtype)
        self.encoder.write(view, observation[0])
        return int(self._choose(observation, np.array([view.legal_mask]))[0])

    def act_batch(self, views: BatchView) -> Array:
        """The actions in many positions, ``(len(views),) int64``."""
        return self._choose(self._observe(views), views.legal_masks)

    def policy_batch(self, views: BatchView) -> Array:
        """The probabilities of the actions; a greedy player's preferred action has 1."""
        if self.greedy:
            return super().policy_batch(views)
        logits = self.network.logits(self._observe(views)).astype(np.float64)
        logits[~self._is_legal(views.legal_masks)] = -np.inf
        chances: Array = np.exp(logits - logits.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)

    def _observe(self, views: BatchView) -> Array:
        self.check_rules(views.rules)
        n = len(views)
        observations = np.zeros((n, *self._space.shape), self._space.dtype)
        rows = np.arange(n)
        write_many(self.encoder, self.rules, views.vectors, rows, views.players, observations)
        return observations

    def _is_legal(self, legal: Array) -> Array:
        return (legal[:, np.newaxis] >> self._actions) & 1 == 1

    def reseed(self, seed: int) -> None:
        """Restart the draws from `seed`."""
        self._rng = random_numbers(seed)

    def random_state(self) -> RandomState:
        """The state of the draws, ``(6,) uint64``."""
        return generator_state(self._rng)

    def restore_random(self, state: RandomState) -> None:
        """Continue the draws from what ``random_state`` returned."""
        restore_generator(self._rng, state)

    def _choose(self, observations: Array, legal: Array) -> Array:
        logits = self.network.logits(observations)
        if not self.greedy:  # the largest of logits + Gumbel noise is a draw from their softmax
            noise = self._rng.standard_exponential(logits.shape, np.float32)
            logits -= np.log(np.maximum(noise, np.float32(1e-30)))
        actions: Array = np.where(self._is_legal(legal), logits, -np.inf).argmax(axis=1)
        return actions

    def check_rules(self, rules: Rules) -> None:
        """Refuse rules that this player was not trained for.

        Raises:
            CheckpointError: if they are other rules; the message names what differs.
        """
        if rules is self._known:
            return
        if not self.rules.is_same_deal(rules):
            mine, theirs = self.rules.to_dict(), rules.to_dict()
            differing = ", ".join(
                f"{name} {theirs[name]!r} instead of {mine[name]!r}"
                for name in mine
                if mine[name] != theirs[name] and name not in ("removed", "card_points")
            )
            raise CheckpointError(
                f"rules: this player was trained for {self.rules.name!r} and cannot play "
                f"{rules.name!r}{f' ({differing})' if differing else ''}; play its rules, or train "
                "a player for yours"
            )
        self._known = rules

    def __repr__(self) -> str:
        sizes = "-".join(str(size) for size in self.network.sizes)
        return f"<NetworkAgent {self.rules.name}: {sizes}>"


def load_agent(path: str | Path, seed: int | None = None, *, greedy: bool = True) -> NetworkAgent:
    """The player of a checkpoint.

    Args:
        path: the file, or a run folder.
        seed: of its draws, where it is not greedy.
        greedy: take the preferred action; False: draw from the policy's probabilities.

    Raises:
        CheckpointError: see ``read_checkpoint``.
    """
    tensors, meta = read_checkpoint(path)
    network = Network(tensors, meta.activation)
    return NetworkAgent(
        network, meta.rules, meta.encoder, greedy=greedy, seed=seed, checkpoint=meta
    )


def snapshot(
    layers: Sequence[tuple[Array, Array]],
    rules: Rules,
    encoder: str | Encoder = "flat",
    *,
    activation: str = "relu",
    seed: int | None = None,
) -> NetworkAgent:
    """A player that draws from the policy of (weight, bias) pairs, weights (outputs, inputs)."""
    tensors = {f"policy.{i}.weight": weight for i, (weight, _) in enumerate(layers)}
    tensors |= {f"policy.{i}.bias": bias for i, (_, bias) in enumerate(layers)}
    return NetworkAgent(Network(tensors, activation), rules, encoder, greedy=False, seed=seed)
