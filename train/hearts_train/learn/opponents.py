"""The players that a learner needs: opponents, its own snapshots, trained players."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from hearts_agents.base import PerGameAgent
from hearts_agents.envs.opponents import OpponentPool
from hearts_agents.models.network import Network, NetworkAgent
from hearts_agents.spec import make_agent
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_array
from hearts_env.support.errors import HeartsError
from hearts_env.support.tensors import Tensors
from hearts_train.learn.config import SELF, ConfigError, SelfPlayConfig


class Opponents:
    """The opponent pool: the agents of the config, and snapshots of the learner.

    Snapshot 0 is the latest. All others are earlier snapshots. A new snapshot replaces the network
    of one of these agents, even in the middle of a deal, which does no harm.
    """

    def __init__(
        self,
        opponents: Mapping[str, float],
        settings: SelfPlayConfig,
        make_player: Callable[[Tensors | None], NetworkAgent],
    ) -> None:
        """Make the pool. Until the first snapshot is taken, the snapshots have random weights.

        Args:
            opponents: the weight of each opponent.
            settings: the number and frequency of snapshots.
            make_player: a function that returns a player with the given weights, or with random
                weights if they are None.
        """
        self.weight_of_self = opponents.get(SELF, 0.0)
        self.settings, self._make_player = settings, make_player
        self.snapshots = [make_player(None).with_greedy(False) for _ in range(1 + settings.keep)]
        self.pool = OpponentPool()
        for name, weight in opponents.items():
            if name != SELF:
                self.pool.add(name, weight=weight)
        for number, agent in enumerate(self.snapshots if self.weight_of_self else []):
            self.pool.add(agent, name=f"{SELF} {number}", weight=0.0)
        self._set_num_past(0)

    def _set_num_past(self, number: int) -> None:
        """Set the number of earlier snapshots, and the weights of all snapshots."""
        self.num_past = number
        latest = self.settings.latest_share if number else 1.0
        shares = [latest, *[(1.0 - latest) / number] * number] if number else [latest]
        for place, share in enumerate(shares if self.weight_of_self else []):
            self.pool.set_weight(f"{SELF} {place}", self.weight_of_self * share)

    def take(self, tensors: Tensors, number: int) -> None:
        """Make the `number`-th snapshot (from 1) the latest. Keep every ``keep_every``-th."""
        network = self._make_player(tensors).network
        self.snapshots[0].network = network
        keep, every = self.settings.keep, self.settings.keep_every
        if number and number % every == 0:
            nth = number // every
            self.snapshots[1 + (nth - 1) % keep].network = network
            self._set_num_past(min(keep, nth))

    def state(self) -> Tensors:
        """Return the snapshots' networks, by names for the state's file."""
        return {
            f"{place}/{name}": array
            for place, agent in enumerate(self.snapshots[: 1 + self.num_past])
            for name, array in agent.network.tensors().items()
        }

    def restore(self, state: Mapping[str, NDArray[Any]], name: str) -> None:
        """Restore a result of ``state``. Raise HeartsError if it does not fit."""
        places = {key.split("/")[0] for key in state}
        like = self.snapshots[0].network.tensors()
        for number in range(max(1, len(places))):
            layers = {
                key: check_array(
                    f"{name}/{number}/{key}", state.get(f"{number}/{key}"), own, has_infinite=True
                )
                for key, own in like.items()
            }
            if number < len(self.snapshots):
                self.snapshots[number].network = self._make_player(layers).network
        self._set_num_past(max(0, min(self.settings.keep, len(places) - 1)))


def trained_network(setting: str, name: str, rules: Rules, encoder: Encoder) -> Network:
    """Return the network, of linear layers, of a trained player of these rules and encoder.

    Raises:
        ConfigError: if there is no such player, or its network is a user's own code. The message
            names `setting`.
    """
    try:
        agent = make_agent(name, seed=0)
        agent = agent.player_of(rules) if isinstance(agent, PerGameAgent) else agent
        if isinstance(agent, NetworkAgent):
            agent.check_rules(rules)
    except HeartsError as error:
        raise ConfigError(f"{setting}: {error}") from None
    if not isinstance(agent, NetworkAgent):
        raise ConfigError(
            f"{setting}: {name!r} is not a trained network; give champion, or a run's "
            "folder or checkpoint"
        )
    if agent.encoder != encoder:
        raise ConfigError(
            f"{setting}: {name!r} has another observation than the learner; set env.observation to "
            "the encoder that it was trained with, or give another player"
        )
    if not agent.network.layers:
        raise ConfigError(
            f"{setting}: {name!r} has a user's own network; give a player with linear layers"
        )
    return agent.network
