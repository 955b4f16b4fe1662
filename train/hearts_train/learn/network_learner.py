"""What the package's own algorithms share: a network, its average, the optimiser, their state."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from hearts_agents.models.checkpoint import Tensors
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_array
from hearts_train.learn import runs
from hearts_train.learn.actor_critic import (
    ActorCritic,
    Adam,
    Replicas,
    find_device,
    find_precision,
    policy_tensors,
)
from hearts_train.learn.config import TrainConfig
from hearts_train.learn.learner import Learner


class NetworkLearner(Learner):
    """A learner of one actor-critic network, in plain torch.

    An algorithm is a subclass with ``warm_up``, ``_learn``, ``_begin_games`` and perhaps
    ``_games_state``.
    """

    def __init__(self, config: TrainConfig, replicas: int, state: runs.State | None = None) -> None:
        """Make everything, as ``Learner`` has it.

        Args:
            config: the recipe.
            replicas: of the network, whose gradients can be computed side by side.
            state: what to go on from.

        Raises:
            ConfigError: if the device is not there.
        """
        super().__init__(config, state)
        self.device = find_device(config.device)
        self.precision = find_precision(config.precision, self.device)
        self.replicas = Replicas(self._make_network(), replicas)
        self.network = self.replicas.networks[0]
        self.optimizer = Adam(self.replicas.weights)
        self.averaged = Replicas(copy.deepcopy(self.network), 1) if config.average else None

    def _make_network(self) -> ActorCritic:
        inputs = math.prod(self.encoder.space(self.rules).shape)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            network = ActorCritic(inputs, self.rules.num_actions, self.config.network)
        # Single deals begin at 0:0. What totals do is not learnt, and must not sway a match.
        first = next(layer for layer in network.modules() if isinstance(layer, torch.nn.Linear))
        with torch.no_grad():
            first.weight[:, places_of_totals(self.encoder, self.rules)] = 0.0
        return network.to(self.device)

    def _forward(
        self, network: ActorCritic, observations: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values, float32, on the device."""
        logits, values = self._apply(network, observations)
        return logits, values

    def _apply(self, module: torch.nn.Module, observations: torch.Tensor) -> Any:
        inputs = observations.to(self.device, non_blocking=True).flatten(1).to(self.precision)
        is_mixed = self.precision is not torch.float32
        with torch.autocast(self.device.type, torch.bfloat16, enabled=is_mixed):
            return module(inputs)

    def _step(self, learning_rate: float) -> None:
        self._descend(self.replicas, self.optimizer, learning_rate)

    def _descend(self, replicas: Replicas, optimizer: Adam, learning_rate: float) -> None:
        """Go along the first replica's gradient, shortened to ``max_grad_norm``."""
        gradient = replicas.gradients[0]
        gradient *= (self.config.ppo.max_grad_norm / (gradient.norm() + 1e-6)).clamp(max=1.0)
        optimizer.step(gradient, learning_rate)

    # -- state -------------------------------------------------------------------------------------
    def tensors(self) -> Tensors:
        """The policy's weights under their names in a checkpoint."""
        chosen = self.network if self.averaged is None else self.averaged.networks[0]
        return dict(policy_tensors(chosen))

    def _parameters(self) -> Iterable[torch.Tensor]:
        return [self.replicas.weights]

    def state(self) -> runs.State:
        """All that training goes on from; to be taken between two updates."""
        tensors: Tensors = {
            f"policy/{name}": tensor.cpu().numpy().copy()
            for name, tensor in self.network.state_dict().items()
        }
        if self.averaged is not None:
            tensors["average/weights"] = self.averaged.weights.cpu().numpy().copy()
        tensors |= {f"optimizer/{name}": array for name, array in self.optimizer.state().items()}
        for past in self.pasts[:1]:  # they are all the same
            tensors |= past.tensors()
        return runs.State(replace(self.counters), tensors | self._games_state(), self._games_key)

    def _games_state(self) -> Tensors:
        """The games under way, each array's name beginning with ``games/``; by default none."""
        return {}

    def _restore_parts(self, parts: dict[str, Tensors]) -> None:
        policy = parts.get("policy", {})
        given = {}
        for name, tensor in self.network.state_dict().items():
            array = check_array(f"policy/{name}", policy.get(name), tensor.cpu().numpy())
            given[name] = torch.from_numpy(array.copy())
        self.network.load_state_dict(given)
        self.optimizer.restore(parts.get("optimizer", {}), "optimizer")
        if self.averaged is not None:  # a run resumed with an average begins it anew
            known = parts.get("average", {}).get("weights", self.replicas.weights.cpu().numpy())
            self.averaged.restore(known, "average/weights")


def places_of_totals(encoder: Encoder, rules: Rules) -> list[int]:
    """Where the totals of a match are in the observations of an encoder that is a row of blocks."""
    blocks = getattr(encoder, "blocks", None)
    places: list[int] = []
    start = 0
    if blocks is not None and len(encoder.space(rules).shape) == 1:
        for block in blocks(rules):
            if block.name.startswith("total_"):
                places += range(start, start + block.size)
            start += block.size
    return places
