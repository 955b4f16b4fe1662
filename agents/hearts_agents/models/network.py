"""Players that weigh actions by an observation, such as policy networks.

The forward pass is compiled and does not need torch.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Self

import numpy as np

from hearts_agents.base import Actions, Probs, StochasticAgent, check_turn, check_views
from hearts_agents.models.checkpoint import Checkpoint, check_fit, find_encoder, read_checkpoint
from hearts_agents.user_code import code_file, is_code
from hearts_env.batch.batch import BatchGame
from hearts_env.batch.views import BatchView
from hearts_env.encoders import Encoder, make_encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_flag
from hearts_env.support.arrays import Array, Floats32, Ints
from hearts_env.support.distinct import distinct
from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import kind_of
from hearts_env.support.jit import jit
from hearts_env.views.view import PlayerView


class EncoderAgent(StochasticAgent):
    """A player that weighs all actions by its observation, and plays a legal one.

    A subclass implements ``weigh``, and ``check_rules``, which is called before any observation.
    """

    def __init__(self, encoder: str | Encoder, *, greedy: bool = True, seed: int | None = None):
        """Make a player.

        Args:
            encoder: the encoder of its observations, or its name.
            greedy: if True, take the legal action with the highest weight. If False, sample from
                the softmax of the weights.
            seed: the seed for sampling. If None, the operating system seeds it.
        """
        self.encoder = make_encoder(encoder)
        self.greedy = check_flag("greedy", greedy)
        super().__init__(seed)

    def weigh(self, observations: Array, legal: Array) -> Array:
        """Return the weights of all actions, ``(n, num_actions) float32``.

        Args:
            observations: ``(n, *shape)``, as the encoder writes them.
            legal: the legal actions, ``(n, num_actions) bool``. The weights may ignore them.
        """
        raise NotImplementedError

    def with_greedy(self, greedy: bool) -> Self:  # noqa: FBT001
        """Return a copy that is greedy or samples."""
        player = copy.copy(self)
        player.greedy = greedy
        return player

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        self.check_rules(view.rules)
        check_turn(view)
        observation = view.observe(self.encoder)[np.newaxis]
        legal = self._is_legal(view.rules, np.array([view.legal_mask]))
        return int(self._choose(self.weigh(observation, legal), legal)[0])

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``."""
        return self._choose(*self._weights(views))

    def action_probs(self, views: BatchView) -> Probs:
        """Return the probability of each action, ``(len(views), num_actions) float64``.

        A greedy player's action has probability 1.
        """
        if self.greedy:
            return super().action_probs(views)
        weights, legal = self._weights(views)
        logits = weights.astype(np.float64)
        logits[~legal] = -np.inf
        probs: Probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        return probs / probs.sum(axis=1, keepdims=True)

    def _weights(self, views: BatchView) -> tuple[Array, Array]:
        """Return the weights and the legal actions. Equal rows are weighed only once."""
        check_views(views)
        self.check_rules(views.rules)
        n, observations = len(views), views.observe(self.encoder)
        legal = self._is_legal(views.rules, views.legal_masks)
        size = math.prod(observations.shape[1:]) * observations.itemsize
        seen = observations.view(np.uint8).reshape(n, size)
        firsts, of = distinct(np.concatenate([seen, legal.view(np.uint8)], axis=1))
        if len(firsts) == n:
            return self.weigh(observations, legal), legal
        return self.weigh(observations[firsts], legal[firsts])[of], legal

    def _is_legal(self, rules: Rules, masks: Array) -> Array:
        return masks[:, np.newaxis] >> np.arange(rules.num_actions) & 1 == 1

    def _choose(self, weights: Array, legal: Array) -> Actions:
        if not self.greedy:  # the largest of logits + Gumbel noise is a draw from their softmax
            noise = self._rng.standard_exponential(weights.shape, np.float32)
            weights = weights - np.log(np.maximum(noise, np.float32(1e-30)))
        actions: Actions = np.where(legal, weights, -np.inf).argmax(axis=1)
        return actions


# ---- trials of models of users and other libraries -----------------------------------------------
_ROWS = 4
"""The number of positions in a trial."""
_PLAYED = 5
"""The number of actions before these positions."""
TOLERANCE = 1e-3
"""The largest difference of a weight, as a share of the range of all weights."""
_NOISE = 1e-6
"""The largest difference of a weight, as a share of the largest weight."""
_MASKED = 1e30
"""The number beyond which weights count as infinite, in models that mask actions."""


def some_positions(rules: Rules, encoder: Encoder) -> tuple[Array, Array]:
    """Return a few different positions as observations and legal actions, for a trial."""
    batch = BatchGame(rules, _ROWS, seed=7, freeze=False)
    for _ in range(_PLAYED):
        batch.play(batch.random_actions())
    views = batch.views()
    return views.observe(encoder), views.legal_table.astype(np.bool_)


def check_rows(
    argument: str,
    name: str,
    weigh: Callable[[Array, Array], Array],
    observations: Array,
    legal: Array,
    tolerance: float = TOLERANCE,
) -> None:
    """Raise if a model weighs a position differently beside other positions.

    A batch holds positions of different games, so a player's card would depend on games that it is
    not in. Each position is weighed beside the others and beside copies of itself. Both batches
    have one size, and the position has the same place in both, because these decide how sums are
    rounded.

    Args:
        argument: the argument that the message names.
        name: the model's name.
        weigh: returns the model's weights, as ``EncoderAgent.weigh``.
        observations: several different positions.
        legal: their legal actions, whose weights are never masked.
        tolerance: the largest allowed difference, as a share of the range of these weights.

    Raises:
        HeartsError: if a weight depends on the other positions.
    """
    together = weigh(observations.copy(), legal)
    is_number = np.abs(together) < _MASKED
    some = together[legal & is_number]
    most = tolerance * np.ptp(some) + _NOISE * np.abs(some).max() if len(some) else 0.0
    for row in range(len(observations)):
        same = np.full(len(observations), row)
        alone = weigh(observations[same], legal[same])[row]
        difference = float(np.abs(alone - together[row])[is_number[row]].max(initial=0.0))
        if not difference <= most:
            raise HeartsError(
                f"{argument}: {quoted(name)} gives other numbers for a position beside other "
                f"positions (up to {difference:.2g} apart): its rows influence each other, as in a "
                "recurrent layer over the rows, or it is random, as with dropout in training; "
                "compute each row by itself, in evaluation mode"
            )


def trained_for_others(mine: Rules, theirs: Rules) -> str:
    """Return the error message of a player for rules `mine` that refuses rules `theirs`."""
    return (
        f"rules: this player was trained for {mine.name!r} and cannot play {theirs.name!r}; "
        "play its rules, or train a player for yours"
    )


class Network:
    """A multilayer perceptron's forward pass in float32.

    Attributes:
        sizes: the sizes of the layers, from the observation to the actions.
        layers: the weights ``(inputs, outputs)`` and the bias of each layer.
    """

    def __init__(self, tensors: Mapping[str, Array], activation: str = "relu") -> None:
        """Make the network from the arrays ``policy.{i}.weight`` and ``policy.{i}.bias``."""
        self.activation = activation
        self.layers: list[tuple[Array, Array]] = []
        while f"policy.{len(self.layers)}.weight" in tensors:
            i = len(self.layers)
            weight = np.ascontiguousarray(tensors[f"policy.{i}.weight"].T, np.float32)
            self.layers.append((weight, np.array(tensors[f"policy.{i}.bias"], np.float32)))
        self.sizes = (len(self.layers[0][0]), *(len(bias) for _, bias in self.layers))

    @functools.cached_property
    def _vectors(self) -> tuple[Floats32, Ints, bool]:
        """The arguments of ``write_logits``. Snapshots in training do not need them."""
        parts = [array.ravel() for layer in self.layers for array in layer]
        return np.concatenate(parts), np.array(self.sizes), self.activation == "tanh"

    def tensors(self) -> dict[str, Array]:
        """Return the weights by name in a file."""
        named: dict[str, Array] = {}
        for i, (weight, bias) in enumerate(self.layers):
            named[f"policy.{i}.weight"] = np.ascontiguousarray(weight.T)
            named[f"policy.{i}.bias"] = bias
        return named

    def logits(self, observations: Array) -> Array:
        """Return the logits of the actions, ``(n, size) -> (n, actions) float32``."""
        x = observations.reshape(-1, self.sizes[0]).astype(np.float32)
        out = np.empty((len(x), self.sizes[-1]), np.float32)
        write_logits(x, *self._vectors, np.empty((2, max(self.sizes)), np.float32), out)
        return out


@jit
def write_logits(
    observations: Floats32,
    weights: Floats32,
    sizes: Ints,
    is_tanh: bool,  # noqa: FBT001
    layers: Floats32,
    out: Floats32,
) -> None:
    """Compute the forward pass, in place. A row's result does not depend on the other rows.

    Weights of inputs that are 0 are skipped. Most inputs of an observation are 0, so this takes
    half the time of a matrix product.

    Args:
        observations: ``(n, inputs)``.
        weights: the weights ``(inputs, outputs)`` and the bias of each layer, concatenated.
        sizes: the sizes of the layers.
        is_tanh: if True, the activation is tanh, else relu.
        layers: ``(2, widest layer)``, working memory.
        out: ``(n, actions)``, written.
    """
    last = len(sizes) - 2
    for row in range(len(observations)):
        at, given = 0, observations[row]
        for layer in range(last + 1):
            inputs, outputs = sizes[layer], sizes[layer + 1]
            found = out[row] if layer == last else layers[layer & 1]
            bias = weights[at + inputs * outputs : at + (inputs + 1) * outputs]
            for j in range(len(bias)):
                found[j] = bias[j]
            for i in range(inputs):
                value = given[i]
                if value != 0.0:
                    # A slice, so that the compiler knows that all indices are in range.
                    column = weights[at + i * outputs : at + (i + 1) * outputs]
                    for j in range(len(column)):
                        found[j] += value * column[j]
            if layer < last:
                for j in range(outputs):
                    found[j] = np.tanh(found[j]) if is_tanh else max(found[j], np.float32(0.0))
            given = found
            at += (inputs + 1) * outputs


class NetworkAgent(EncoderAgent):
    """A policy network as a player, with one forward pass per decision.

    It can also be made from arrays in memory, for pools of snapshots in self-play.
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
        """Make a player.

        Args:
            network: its policy.
            rules: the only rules that it plays.
            encoder: the encoder of its observations, or its name.
            greedy: if True, take the greedy action. If False, sample from the policy.
            seed: the seed for sampling. If None, the operating system seeds it.
            checkpoint: the metadata of its file. If None, the network comes from memory.

        Raises:
            CheckpointError: if the network does not fit the rules and the encoder.
        """
        super().__init__(encoder, greedy=greedy, seed=seed)
        self.network = network
        self.rules = Rules.make(rules)
        self.plays = self.rules.name
        self.checkpoint = checkpoint
        self.name = str(checkpoint.training.get("name", "network")) if checkpoint else "network"
        self._known: Rules = self.rules
        check_fit("network.layers", network.sizes, self.rules, self.encoder)

    def weigh(self, observations: Array, legal: Array) -> Array:
        """Return the logits of the actions, ``(n, num_actions) float32``."""
        return self.network.logits(observations)

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Yield the weights, all other data of its file, and the code of network and encoder."""
        for _, array in sorted(self.network.tensors().items()):
            yield array.tobytes()
        if self.network.activation == "tanh":  # the weights alone stand for relu
            yield b"tanh"
        meta = self.checkpoint
        if meta is None:
            return
        if not meta.greedy:
            yield b"sampled"
        for name in (meta.module, meta.encoder):
            path = code_file(name) if name is not None and is_code(name) else None
            if path is not None and kind_of(path) == "file":
                yield path.read_bytes()

    def check_rules(self, rules: Rules) -> None:
        """Raise unless this player was trained for `rules`."""
        if rules is self._known:
            return
        if not self.rules.is_same_deal(rules):
            raise CheckpointError(trained_for_others(self.rules, rules))
        self._known = rules

    def __repr__(self) -> str:
        sizes = "-".join(str(size) for size in self.network.sizes)
        return f"<NetworkAgent {self.rules.name}: {sizes}>"


def load_agent(
    path: str | Path, seed: int | None = None, *, greedy: bool | None = None
) -> NetworkAgent:
    """Return the player of a checkpoint.

    Args:
        path: the file, or a run folder.
        seed: the seed for sampling, if it is not greedy. If None, the operating system seeds it.
        greedy: if True, take the greedy action. If False, sample from the policy. If None, the file
            decides: players of ``hearts train`` are greedy.

    Raises:
        CheckpointError: if the file cannot be read (see ``read_checkpoint``).
    """
    tensors, meta = read_checkpoint(path)
    encoder = find_encoder(meta.encoder)
    if meta.module is None:
        network = Network(tensors, meta.activation)
    else:
        make: Callable[..., Network] = resolve_name("hearts_agents.models.own_network:ModulePolicy")
        network = make(meta.module, meta.rules, encoder, tensors)
    greedy = meta.greedy if greedy is None else greedy
    return NetworkAgent(network, meta.rules, encoder, greedy=greedy, seed=seed, checkpoint=meta)
