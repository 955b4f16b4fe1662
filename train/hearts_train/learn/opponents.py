"""The players that a learner needs: opponents, its own snapshots, trained players."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from hearts_agents.base import PerGameAgent
from hearts_agents.envs.opponents import OpponentPool
from hearts_agents.models.network import Network, NetworkAgent
from hearts_agents.spec import make_agent
from hearts_env.encoders import Encoder
from hearts_env.rules.rules import Rules
from hearts_env.seeds import secret_seed
from hearts_env.support.arguments import check_array
from hearts_env.support.errors import HeartsError
from hearts_env.support.tensors import Tensors
from hearts_train.learn.config import SELF, ConfigError, Phase, SelfPlayConfig


class Opponents:
    """The opponent pool: the agents of the schedule, and snapshots of the learner.

    Snapshot 0 is the latest, the others are earlier ones. A new snapshot replaces the network of
    one of these agents, even in the middle of a deal, which does no harm.
    """

    def __init__(
        self,
        schedule: Sequence[Phase],
        settings: SelfPlayConfig,
        seed: int,
        make_player: Callable[[Tensors | None], NetworkAgent],
    ) -> None:
        """Make the pool. Until the first snapshot is taken, the snapshots have random weights.

        Args:
            schedule: the opponents and their weights.
            settings: number and frequency of snapshots.
            seed: seed of the run.
            make_player: returns a player with these weights. If None, with random weights.
        """
        self.schedule, self.settings, self._make_player = schedule, settings, make_player
        self.num_past = 0
        """The number of earlier snapshots."""
        self.snapshots = [make_player(None).with_greedy(False) for _ in range(1 + settings.keep)]
        # Opponents may be external code, so their seed must not reveal the deals' seeds. It affects
        # no game, since all opponents are reseeded before the first deal.
        self.pool = OpponentPool(seed=secret_seed(seed, "opponents"))
        self._names = list(dict.fromkeys(name for phase in schedule for name in phase.opponents))
        for name in self._names:
            if name != SELF:
                self.pool.add(name, weight=0.0)
        if SELF in self._names:
            for number, agent in enumerate(self.snapshots):
                self.pool.add(agent, name=f"{SELF} {number}", weight=0.0)
        self.set_phase(0)

    def set_phase(self, phase: int) -> None:
        """Set the pool's weights for a phase of the schedule."""
        chosen = self.schedule[phase].opponents
        weights = {name: chosen.get(name, 0.0) for name in self._names if name != SELF}
        if SELF in self._names:
            latest = self.settings.latest_share if self.num_past else 1.0
            for number in range(len(self.snapshots)):
                past = (1.0 - latest) / self.num_past if 0 < number <= self.num_past else 0.0
                share = past if number else latest
                weights[f"{SELF} {number}"] = chosen.get(SELF, 0.0) * share
        for name, weight in weights.items():
            if self.pool.entries[self.pool.place(name)].weight != weight:
                self.pool.set_weight(name, weight)

    def take(self, tensors: Tensors, number: int) -> None:
        """Make the `number`-th snapshot (from 1) the latest. Keep every ``keep_every``-th."""
        network = self._make_player(tensors).network
        self.snapshots[0].network = network
        keep, every = self.settings.keep, self.settings.keep_every
        if number and number % every == 0:
            nth = number // every
            self.snapshots[1 + (nth - 1) % keep].network = network
            self.num_past = min(keep, nth)

    def state(self) -> Tensors:
        """Return the snapshots' networks, by names for the state's file."""
        return {
            f"{place}/{name}": array
            for place, agent in enumerate(self.snapshots[: 1 + self.num_past])
            for name, array in agent.network.tensors().items()
        }

    def restore(self, state: Mapping[str, NDArray[Any]], name: str) -> None:
        """Restore what ``state`` returned; HeartsError if it does not fit."""
        places = {key.split("/")[0] for key in state}
        like = self.snapshots[0].network.tensors()
        for number in range(max(1, len(places))):
            layers = {
                key: check_array(f"{name}/{number}/{key}", state.get(f"{number}/{key}"), own)
                for key, own in like.items()
            }
            if number < len(self.snapshots):
                self.snapshots[number].network = self._make_player(layers).network
        self.num_past = min(self.settings.keep, len(places) - 1)


def trained_network(setting: str, name: str, rules: Rules, encoder: Encoder) -> Network:
    """Return the network of a trained player of these rules and this encoder.

    Raises:
        ConfigError: naming `setting`, if there is no such player.
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
            "folder or checkpoint",
            value=name,
        )
    if agent.encoder != encoder:
        raise ConfigError(
            f"{setting}: {name!r} has another observation than the learner; set env.observation to "
            "the encoder that it was trained with, or give another player",
            value=name,
        )
    return agent.network
