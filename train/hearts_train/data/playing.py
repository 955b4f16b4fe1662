"""Play the games of a dataset, and compute the rewards and exact values of their decisions.

Each part of a dataset has its own players, seeded by the dataset's seed and the number of the part.
A part is therefore the same in any process. No evaluation with any seed plays these deals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hearts_agents.search import mean_rows, working_memory
from hearts_env import BatchGame, HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.kernel import write_views
from hearts_env.batch.views import BatchView
from hearts_env.envs.rewards import Rewarder, pay_rows
from hearts_env.seeds import secret_seed
from hearts_env.solve.dd.search import card_values
from hearts_env.solve.double_dummy import borrowed
from hearts_env.solve.policies import has_exact_worlds
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.bits import lowest
from hearts_env.support.interrupts import held_interrupt
from hearts_env.support.jit import jit
from hearts_train.data.options import DatasetOptions
from hearts_train.measure.participants import (
    AgentLike,
    check_same,
    compile_players,
    enter,
    rounds,
)

FEWEST_GAMES, MOST_GAMES = 64, 1024
"""The limits of the games per part."""
_FEWEST_PARTS = 16
"""The fewest parts of a dataset that is large enough, so processes can share them."""
_CHUNK = 512
"""The views per call to the solver. An interruption has to wait for one call."""


def part_size(games: int) -> int:
    """Return the number of games per part in a dataset of `games` games."""
    return max(FEWEST_GAMES, min(MOST_GAMES, -(-games // _FEWEST_PARTS)))


def margins_of(scores: Ints) -> Floats:
    """Return the margins of `scores`, both ``(games, players)``: the others' mean minus the own."""
    n = scores.shape[1]
    margins: Floats = (scores.sum(1, keepdims=True) - n * scores) / (n - 1)
    return margins


@dataclass(frozen=True)
class Played:
    """The finished games of a part. Decisions are sorted by game, then by time.

    Attributes:
        rules: the rules of all games.
        first: the number of the first game in the dataset.
        seeds: ``(games,)``, the seed of each deal, ``Game.deal(rules, seed)``.
        ends: ``(games, rules.state_size)``, the final states.
        scores: ``(games, players)``, the scores of the deals.
        states: ``(decisions, rules.state_size)``, the state before each decision.
        games: ``(decisions,)``, the index of the game in this part.
        actions: ``(decisions,)``, the actions played.
    """

    rules: Rules
    first: int
    seeds: Ints
    ends: k.Vector
    scores: Ints
    states: k.Vector
    games: Ints
    actions: Ints

    @cached_property
    def views(self) -> BatchView:
        """The view of the player to act at each decision."""
        vectors, players = np.empty_like(self.states), np.empty_like(self.games)
        rows = np.arange(len(self.states))
        write_views(self.rules.vector, self.states, rows, vectors, players)
        return BatchView(self.rules, vectors, players)

    @property
    def steps(self) -> Ints:
        """The number of each decision in its game, from 0."""
        begins = np.searchsorted(self.games, np.arange(len(self.seeds)))
        return np.arange(len(self.games)) - begins[self.games]

    @property
    def episodes(self) -> Ints:
        """The number of each decision's episode. Each seat of a game is one episode."""
        return self.games * self.rules.players + self.views.players

    @property
    def margins(self) -> Floats:
        """The margin of every seat, ``(games, players)``: the others' mean score less its own."""
        return margins_of(self.scores)

    def rewards(self, kind: str) -> Floats:
        """Return the reward of each decision up to the player's next decision or the end."""
        n, episodes = self.rules.players, self.episodes
        everyone = np.arange(len(self.seeds) * n)
        rewarder = Rewarder(self.rules, kind)
        earned = _earned(rewarder, self.states, self.views.players)
        order = np.argsort(episodes, kind="stable")
        after = np.roll(earned[order], -1)
        is_last = np.diff(episodes[order], append=-1) != 0
        after[is_last] = _earned(rewarder, self.ends[everyone // n], everyone % n)
        rewards = np.empty_like(earned)
        rewards[order] = (after - earned[order]) / rewarder.scale
        return rewards


def _earned(rewarder: Rewarder, states: k.Vector, seats: Ints) -> Floats:
    """Return the earnings of a seat in each state so far, in units of ``1 / rewarder.scale``."""
    rows, earned = np.arange(len(states)), np.zeros(len(states))
    r, paid = rewarder.rules.vector, np.zeros_like(rows)
    pay_rows(r, states, rows, seats, rewarder.number, paid, 1.0, earned)
    return earned


class Seating:
    """The players of a dataset. Fresh copies of them play each part.

    A seating can be pickled for another process, where its players are made again.
    """

    def __init__(self, options: DatasetOptions) -> None:
        """Make every player.

        Raises:
            HeartsError: if a player is unknown or cannot play the rules.
        """
        self.options = options
        self._enter(options.agents)

    def _enter(self, agents: Sequence[AgentLike]) -> None:
        # Not the seed of the dataset, from which every deal could be computed.
        seed = self.options.seed
        seeds = [secret_seed(seed, "dataset", "entered", seat) for seat in range(len(agents))]
        self.participants, _ = enter(agents, seeds, self.options.rules)

    def __getstate__(self) -> dict[str, Any]:
        agents = [participant.to_send() for participant in self.participants]
        return {"options": self.options, "agents": agents, "digests": self.digests}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.options = state["options"]
        self._enter(state["agents"])
        check_same(self.participants, state["digests"])

    @property
    def digests(self) -> list[str | None]:
        """The digests that distinguish players of the same name (``Participant.digest``)."""
        return [participant.digest for participant in self.participants]

    def compile(self) -> None:
        """Compile the code of the built-in players and the exact values."""
        compile_players(self.participants, self.options.rules)
        if self.options.has_values:
            batch = BatchGame(self.options.rules, 1, freeze=False)
            with held_interrupt():  # compilation cannot be interrupted safely
                exact_values(batch.views(), batch.states)

    def play(self, number: int) -> Played:
        """Play the part with this number.

        Raises:
            HeartsError: if a player raises an exception, or plays an illegal action.
        """
        rules, seed = self.options.rules, self.options.seed
        size = part_size(self.options.games)
        first = number * size
        size = min(size, self.options.games - first)
        seeds = [secret_seed(seed, "dataset", "deal", first + i) for i in range(size)]
        batch = BatchGame(rules, size, autodeal=False, freeze=False)
        batch.reset(seeds=np.array(seeds, np.int64))
        players = [
            participant.seat(rules, secret_seed(seed, "dataset", "player", number, seat))
            for seat, participant in enumerate(self.participants)
        ]
        found: list[tuple[Ints, k.Vector, Ints]] = []
        try:
            for waiting in rounds(batch, players):
                for seat, player, games in waiting:
                    actions, faults = player.ask(batch.views(games=games))
                    if faults:
                        row, kind, text = faults[0]
                        raise HeartsError(
                            f"agent: {self.participants[seat].name!r} committed a fault ({kind}) "
                            f"in seat {seat} of the deal with seed {seeds[games[row]]}: {text}; "
                            "repair it, and begin in a new folder"
                        )
                    found.append((games, batch.states[games], actions))
                    batch.play(actions, games=games)
        finally:
            for player in players:
                player.close()
        games, states, actions = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(games, kind="stable")
        return Played(
            rules=rules,
            first=first,
            seeds=batch.seeds.copy(),
            ends=batch.states.copy(),
            scores=batch.scores(),
            states=states[order],
            games=games[order],
            actions=actions[order],
        )


# ---- the values of all legal cards, in games of two ----------------------------------------------
def exact_values(views: BatchView, states: k.Vector) -> tuple[Floats, Floats]:
    """Return the player's margin after each action, with double-dummy play from there.

    Args:
        views: the views of the players to act.
        states: the full state of each view.

    Returns:
        The values given the true cards, and the mean values over all worlds of the view, both
        ``(n, num_actions) float64``. Illegal actions and views in an exchange are NaN. The means of
        views with more than ``MAX_HANDS`` worlds are NaN. All means are NaN if an exchange gives
        information on the hidden cards.
    """
    rules = views.rules
    seen, mean = np.full((2, len(views), rules.num_actions), np.nan)
    with borrowed(rules) as table:
        memory = working_memory(table)
        for begin in range(0, len(views), _CHUNK):
            rows = slice(begin, begin + _CHUNK)
            vectors, players = views.vectors[rows], views.players[rows]
            others = states[rows][np.arange(len(players)), k.HANDS + k.SEAT * (1 - players)]
            _seen_rows(rules.vector, vectors, others, table, memory.values, seen[rows])
            if has_exact_worlds(rules):
                mean_rows(rules.vector, vectors, players, memory, mean[rows])
    return seen, mean


@jit
def _seen_rows(
    r: k.Vector, vectors: k.Vector, others: k.Vector, table: k.Vector, values: k.Vector, out: Floats
) -> None:
    """Write the values of each row's legal cards into `out`, given the opponent's hand."""
    for i in range(len(vectors)):
        v = vectors[i]
        if v[k.PHASE] != k.PLAY:
            continue
        legal = card_values(r, v, others[i], table, values)
        if legal < 0:
            continue
        while legal:
            out[i, lowest(legal)] = values[lowest(legal)]
            legal &= legal - 1
