"""Play blocks of games, and record every decision with its player, reward and exact values.

Each block has its own players, seeded by the dataset's seed and the number of the block. A block is
therefore the same in any process. No evaluation plays these deals with any seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_agents.guard import NO_ACTION
from hearts_agents.search import PimcMemory, mean_rows, working_memory
from hearts_agents.user_code import Fault
from hearts_env import BatchGame, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.envs.rewards import Rewarder, pay_rows
from hearts_env.seeds import secret_seed
from hearts_env.solve import TranspositionTable
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.solve.dd.search import card_values
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.bits import lowest
from hearts_env.support.interrupts import held_interrupt
from hearts_env.support.jit import jit
from hearts_env.views.hidden import worlds_of_two
from hearts_train.data.options import DatasetOptions
from hearts_train.measure.participants import (
    AgentLike,
    Seat,
    check_same,
    compile_players,
    enter,
    rounds,
)

BLOCK = 64
"""Games that are played at once. Each block has its own random numbers."""


@dataclass(frozen=True)
class Played:
    """A block of finished games. Decisions are sorted by game, then by time.

    Attributes:
        rules: Rules of all games.
        first: Number of the first game in the dataset.
        seeds: ``(games,)``, the seed of each deal, ``Game.deal(rules, seed)``.
        states: ``(games, rules.state_size)``, final states.
        scores: ``(games, players)``, scores of the deals.
        views: The player's view at each decision.
        games: ``(decisions,)``, index of the game in this block.
        steps: ``(decisions,)``, number of the decision in its game, from 0.
        others: ``(decisions,)``, the opponent's hand in games of two, as a bit mask.
        actions: ``(decisions,)``, the actions played.
        is_random: ``(decisions,)``, True if the action was drawn at random, not the player's.
        rewards: ``(decisions,)``, reward up to the player's next decision or the end.
        faults: Descriptions of the faults of external players.
    """

    rules: Rules
    first: int
    seeds: Ints
    states: k.Vector
    scores: Ints
    views: BatchView
    games: Ints
    steps: Ints
    others: Ints
    actions: Ints
    is_random: NDArray[np.bool_]
    rewards: Floats
    faults: tuple[str, ...] = ()

    @property
    def margins(self) -> Floats:
        """The margin of every seat, ``(games, players)``: others' mean score minus its own."""
        n = self.rules.players
        margins: Floats = (self.scores.sum(1, keepdims=True) - n * self.scores) / (n - 1)
        return margins

    def rows_of(self, seats: Sequence[int]) -> Ints:
        """Return the indices of the decisions of these seats, ascending."""
        return np.flatnonzero(np.isin(self.views.players, seats))


class Seating:
    """The players of a dataset. Fresh copies of them play each block.

    A seating can be pickled for another process, where its players are made again.
    """

    def __init__(self, options: DatasetOptions) -> None:
        """Make every player.

        Raises:
            HeartsError: a player is unknown or cannot play the rules.
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

    @cached_property
    def exact_values(self) -> ExactValues:
        """Computes the values of all legal cards in games of two."""
        return ExactValues(self.options.rules)

    def compile(self) -> None:
        """Compile the code of the built-in players and the exact values."""
        compile_players(self.participants, self.options.rules)
        if self.options.exact:
            views = BatchGame(self.options.rules, 1, freeze=False).views()
            none = np.empty(0, np.int64)
            with held_interrupt():  # compilation cannot be interrupted safely
                self.exact_values.of(views.subset(none), none)

    def play(self, number: int) -> Played:
        """Play the block of games with this number."""
        options = self.options
        first = number * BLOCK
        size = min(BLOCK, options.games - first)
        seeds = [secret_seed(options.seed, "dataset", "deal", first + i) for i in range(size)]
        batch = BatchGame(options.rules, size, autodeal=False, freeze=False)
        batch.reset(seeds=np.array(seeds, np.int64))
        rng = np.random.default_rng(secret_seed(options.seed, "dataset", "random", number))
        players = self._seated(number)
        log = _Log(batch, Rewarder(options.rules, options.reward))
        try:
            _play_out(batch, players, log, rng, options.random)
        finally:
            for player in players:
                player.close()
        names = [participant.name for participant in self.participants]
        return log.finished(first, names)

    def _seated(self, number: int) -> list[Seat]:
        """Return fresh players for a block."""
        rules, seed = self.options.rules, self.options.seed
        return [
            participant.seat(rules, secret_seed(seed, "dataset", "player", number, seat))
            for seat, participant in enumerate(self.participants)
        ]


def _play_out(
    batch: BatchGame, players: Sequence[Seat], log: _Log, rng: np.random.Generator, random: float
) -> None:
    """Play all games of a batch to their ends."""
    for waiting in rounds(batch, players):
        for seat, player, games in waiting:
            views = batch.views(games=games)
            shown = BatchView(views.rules, views.vectors.copy(), views.players.copy())
            actions, faults = player.ask(shown, games)  # a player may modify its views
            if faults:
                log.charge(seat, games, faults)
                batch.revoke(games=games[actions == NO_ACTION])
            live = np.flatnonzero(actions != NO_ACTION)
            views, games, actions = views.subset(live), games[live], actions[live].copy()
            is_random = rng.random(len(games)) < random
            actions[is_random] = _any_legal(views, rng)[is_random]
            log.add(views, games, actions, is_random)
            batch.play(actions, games=games)


def _any_legal(views: BatchView, rng: np.random.Generator) -> Ints:
    """Draw a uniformly random legal action for each view."""
    legal = views.legal_table
    draws = rng.random(legal.shape)
    draws[~legal] = -1.0
    drawn: Ints = draws.argmax(1)
    return drawn


class _Log:
    """Records the games of a block while they are played."""

    def __init__(self, batch: BatchGame, rewarder: Rewarder) -> None:
        self._batch, self._rewarder = batch, rewarder
        seats, games = batch.rules.players, batch.num_games
        none = np.empty(0, np.int64)
        self._parts: list[dict[str, Any]] = [
            dict.fromkeys(("players", "games", "others", "actions"), none)
            | {"vectors": np.empty((0, batch.rules.state_size), np.int64)}
            | {"is_random": np.empty(0, np.bool_)}
        ]
        self._size = 0
        self._gains: list[tuple[Ints, Floats]] = []
        self._last = np.full((seats, games), -1)
        """Index of the last decision of each seat in each game."""
        self._paid = np.zeros((seats, games), np.int64)
        self._faults: list[tuple[int, str]] = []

    def add(
        self, views: BatchView, games: Ints, actions: Ints, is_random: NDArray[np.bool_]
    ) -> None:
        """Record decisions of one seat, one per game, before they are played."""
        if not len(games):
            return
        seat = int(views.players[0])
        self._pay(seat, games)
        states = self._batch.states
        part = {
            "vectors": views.vectors,
            "players": views.players,
            "games": games,
            "others": states[games, k.HANDS + k.SEAT * (1 - seat if seat < 2 else 0)],
            "actions": actions,
            "is_random": is_random,
        }
        self._parts.append(part)
        self._last[seat, games] = self._size + np.arange(len(games))
        self._size += len(games)

    def charge(self, seat: int, games: Ints, faults: Sequence[Fault]) -> None:
        """Record a player's faults, which end the games."""
        seeds = self._batch.seeds
        for fault in faults:
            text = f"{fault.kind}, deal seed {seeds[games[fault.row]]}, seat {seat}: {fault.text}"
            self._faults.append((seat, text))

    def finished(self, first: int, names: Sequence[str]) -> Played:
        """Return the whole block, once every game is over."""
        batch = self._batch
        everyone = np.arange(batch.num_games)
        for seat in range(batch.rules.players):
            self._pay(seat, everyone)
        all_of = {name: np.concatenate([p[name] for p in self._parts]) for name in self._parts[0]}
        rewards = np.zeros(self._size)
        for rows, gains in self._gains:
            rewards[rows] += gains
        order = np.argsort(all_of["games"], kind="stable")
        games = all_of["games"][order]
        begins = np.searchsorted(games, everyone)
        return Played(
            rules=batch.rules,
            first=first,
            seeds=batch.seeds.copy(),
            states=batch.states.copy(),
            scores=batch.scores(),
            views=BatchView(batch.rules, all_of["vectors"], all_of["players"]).subset(order),
            games=games,
            steps=np.arange(len(games)) - begins[games],
            others=all_of["others"][order],
            actions=all_of["actions"][order],
            is_random=all_of["is_random"][order],
            rewards=rewards[order],
            faults=tuple(f"{names[seat]}: {text}" for seat, text in self._faults),
        )

    def _pay(self, seat: int, games: Ints) -> None:
        """Credit the last decisions of a seat with its rewards since then."""
        batch, kind, scale = self._batch, self._rewarder.number, self._rewarder.scale
        r, paid, gains = batch.rules.vector, self._paid[seat], np.zeros(batch.num_games)
        seats = np.full(batch.num_games, seat)
        pay_rows(r, batch.states, games, seats, kind, paid, scale, gains)
        rows = self._last[seat, games]
        self._gains.append((rows[rows >= 0], gains[games][rows >= 0]))


# ---- the values of all legal cards, in games of two ----------------------------------------------
class Values(NamedTuple):
    """The margin for the player to act after each action, with double-dummy play from there.

    Attributes:
        seen: ``(n, num_actions) float64``, given the true cards. NaN for illegal actions and
            outside the play of cards.
        mean: ``(n, num_actions) float64``, mean over all worlds of the view. Also NaN with more
            than ``MAX_HANDS`` worlds, or if an exchange gives information on them.
        worlds: ``(n,) int64``, number of worlds, or 0 if `mean` is unknown.
    """

    seen: Floats
    mean: Floats
    worlds: NDArray[np.int64]


class ExactValues:
    """Computes values under one rule set. Not thread-safe."""

    def __init__(self, rules: Rules) -> None:
        """Set up for rules of two players."""
        self.rules = rules

    @cached_property
    def _memory(self) -> PimcMemory:
        return working_memory(TranspositionTable(self.rules).vector)

    def of(self, views: BatchView, others: Ints) -> Values:
        """Return the values of all legal cards in many views. `others` are the opponents' hands."""
        shape = (len(views), self.rules.num_actions)
        found = Values(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(views), int))
        r, memory = self.rules.vector, self._memory
        _seen_rows(r, views.vectors, others, memory.table, memory.values, found.seen)
        if has_exact_worlds(self.rules):
            mean_rows(r, views.vectors, views.players, memory, found.mean)
            _count_rows(r, views.vectors, views.players, memory.hands, memory.scratch, found.worlds)
        return found


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


@jit
def _count_rows(
    r: k.Vector,
    vectors: k.Vector,
    players: k.Vector,
    hands: k.Vector,
    scratch: k.Vector,
    out: k.Vector,
) -> None:
    """Write the number of worlds of each view into `out`, or 0 if there are too many."""
    for i in range(len(vectors)):
        if vectors[i][k.PHASE] != k.PLAY:
            continue
        n = worlds_of_two(r, vectors[i], players[i], hands, scratch)
        out[i] = n if n <= len(hands) else 0
