"""Games of the learner against itself or opponents from a pool, and a list of its decisions.

The decisions of all seats form one list, a row each, in the order of play. ``nexts`` links each row
to the next decision of the same seat in the deal, so rewards, advantages and returns are computed
per seat. In zero-sum games of two, ``vrpo`` links it to the next decision of either seat. The
compiled loops over games and rows come after `SelfPlayGames`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_agents.envs.arena_kernel import OPPONENT, SEAT, draw, draw_place, unit
from hearts_agents.envs.opponents import OpponentPool, check_seat
from hearts_env import kernel as k
from hearts_env.batch.batch import BatchGame
from hearts_env.encoders import Encoder
from hearts_env.envs.rewards import Rewarder, earned, is_due
from hearts_env.rules.rules import Rules
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.support.arguments import check_array
from hearts_env.support.arrays import Bytes, Floats, Floats32, Ints, Numbers
from hearts_env.support.bits import lowest
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import jit
from hearts_env.support.tensors import Tensors
from hearts_train.learn.config import LATEST, EnvConfig

MAX_FORCED_DEALS = 10_000

PENDING, END = -1, -2
"""The values of ``nexts``: the next decision is still to come, or the deal has ended."""

LEARNS, WAITS, ENDED = range(3)
"""The states of a game: the learner decides next, an opponent decides next, or it has ended."""

LEARNER = -1
"""The value of ``occupants`` for a seat of the learner. Opponents have their index in the pool."""


class Table(NamedTuple):
    """The data of each game that the loops read and write."""

    states: Ints
    """``(games, STATE_SIZE)``, of a ``BatchGame``."""
    legal: Ints
    """``(games,)``, of a ``BatchGame``."""
    occupants: Ints
    """``(games, players)``: `LEARNER`, or the index of the seat's opponent in the pool."""
    last: Ints
    """``(games, players)``: the row of the seat's last decision in this deal, or -1.

    With a single column, the row of the last decision of any seat.
    """
    credited: Ints
    """``(games, players)``: the seat's rewards in this deal so far, in units of ``earned``."""
    status: Ints
    """``(games,)``: `LEARNS`, `WAITS` or `ENDED`."""


class Rollout(NamedTuple):
    """A list of decisions. All columns are ``(rows,)`` except `masks`."""

    masks: Bytes
    """``(rows, actions)``: 1 for each legal action."""
    seats: Ints
    """The seats that decided."""
    actions: Ints
    """The actions drawn."""
    log_probs: Floats32
    """The logarithms of their probabilities."""
    values: Floats32
    """The outputs of the value head."""
    rewards: Floats32
    """The seat's rewards up to the next row, or to the end of the deal."""
    nexts: Ints
    """The next row, `PENDING` or `END`."""
    advantages: Floats32
    returns: Floats32
    """The targets of the value head."""


class SelfPlayGames:
    """Games side by side, each waiting for a decision of the learner, and a list of decisions.

    The learner plays the seats of the opponent `LATEST` itself. In pure self-play it therefore
    plays all seats and learns from all of them.

    A decision stays in the list for the next update while its return is unknown, because its seat
    has not decided again. The learner learns once from every other decision.
    """

    def __init__(
        self,
        rules: Rules,
        encoder: Encoder,
        pool: OpponentPool,
        env: EnvConfig,
        num_steps: int,
        *,
        seed: int,
    ) -> None:
        """Make the arrays. Call ``begin`` to deal.

        Args:
            rules: the rules of the games.
            encoder: the encoder of the learner's observations.
            pool: the opponents. Nothing else may draw from this pool.
            env: the number of games, and their settings.
            num_steps: the number of decisions per game and update.
            seed: the seed of the actions drawn and of ``rng``, which orders the minibatches.
        """
        self.rules, self.encoder, self.pool = rules, encoder, pool
        self.num_games = num_games = env.num_envs
        self.rewarder = Rewarder(rules, env.reward)
        self.seat = check_seat(rules, env.seat)
        self.skip_forced = env.skip_forced
        self.rng = np.random.default_rng(seed)
        self.random = self.rng.integers(2**64, size=num_games, dtype=np.uint64)
        capacity = num_games * (num_steps + rules.players)
        space = encoder.space(rules)
        self.observations = np.zeros((capacity, *space.shape), space.dtype)
        self.rollout = Rollout(
            masks=np.zeros((capacity, rules.num_actions), np.int8),
            seats=np.zeros(capacity, np.int64),
            actions=np.zeros(capacity, np.int64),
            log_probs=np.zeros(capacity, np.float32),
            values=np.zeros(capacity, np.float32),
            rewards=np.zeros(capacity, np.float32),
            nexts=np.zeros(capacity, np.int64),
            advantages=np.zeros(capacity, np.float32),
            returns=np.zeros(capacity, np.float32),
        )
        self.hands = np.zeros((capacity, 0), np.int8)
        """``(rows, size)``: the other seats' hands, for a critic that sees them."""
        self.size = 0
        """Number of rows in use."""
        self.num_chains = rules.players
        """The number of seats, or 1 if a row links to the next decision of any seat."""
        self._all = np.arange(num_games)

    def begin(self, seed: int) -> None:
        """Deal new games and drop all decisions."""
        n, players = self.num_games, self.rules.players
        self.seed = seed
        self.pool.reseed(secret_seed(seed, "opponents"))
        self.batch = BatchGame(self.rules, n, seed, observation=self.encoder, autodeal=False)
        self.table = Table(
            self.batch.states,
            self.batch.legal,
            occupants=np.full((n, players), LEARNER),
            last=np.full((n, self.num_chains), -1),
            credited=np.zeros((n, players), np.int64),
            status=np.zeros(n, np.int64),
        )
        self.size = 0
        self._draw_occupants(self._all)
        self._advance(self._all)

    # -- playing ---------------------------------------------------------------------------------
    def reseed_opponents(self, decisions: int) -> None:
        """Seed the opponents by the decisions so far, so a resumed run plays on identically."""
        self.pool.reseed(secret_seed(derived_seed(self.seed, decisions), "opponents"))

    def observe(self) -> slice:
        """Add a row per game, with the observation of the player to act. Return these rows."""
        rows = slice(self.size, self.size + self.num_games)
        self.batch.observe(self.observations[rows])
        self.batch.masks(self.rollout.masks[rows])
        note(self.table, self.rollout, self.size)
        self.size += self.num_games
        return rows

    def step(self, rows: slice, logits: Floats32, values: Floats32) -> None:
        """Draw the actions of these rows from the softmax of their logits and play them.

        Args:
            rows: the rows that ``observe`` has returned, one per game.
            logits: ``(games, actions)``.
            values: ``(games,)``, noted for ``rollout.values``.
        """
        rollout = self.rollout
        actions = rollout.actions[rows]
        rollout.values[rows] = values
        choose(logits, self.batch.legal, self.random, actions, rollout.log_probs[rows])
        play(self.rules.vector, self.table, actions)
        self._advance(self._all)

    def _advance(self, games: NDArray[np.int64]) -> None:
        """Play `games` to the next decisions of the learner, with a new deal after each end."""
        number, scale = self.rewarder.number, self.rewarder.scale
        for _ in range(MAX_FORCED_DEALS):
            advance(
                self.rules.vector, self.table, self.rollout, games, number, scale, self.skip_forced
            )
            status = self.table.status[games]
            ended, waiting = games[status == ENDED], games[status == WAITS]
            if len(ended):
                self.ended(ended)
                self.batch.reset(games=ended)
                self._draw_occupants(ended)
            if len(waiting):
                places = self.table.occupants[waiting, self.batch.current_player[waiting]]
                self.pool.play(self.batch, waiting, places)
            games = np.concatenate([ended, waiting])
            if not len(games):
                return
        raise HeartsError("skip_forced: every card is forced under these rules; omit it")

    def ended(self, games: NDArray[np.int64]) -> None:
        """Do nothing. A subclass can look at the finished deals of these games in `batch`."""

    def _draw_occupants(self, games: NDArray[np.int64]) -> None:
        """Draw learner and opponents of all seats in the new deals of `games`."""
        pool, deals = self.pool, self.batch.seeds
        latest = pool.place(LATEST) if LATEST in pool.names else -1
        r, occupants = self.rules.vector, self.table.occupants
        draw_occupants(r, games, deals, self.seat, pool.cumulative, latest, occupants)

    # -- learning --------------------------------------------------------------------------------
    def ready(self) -> Ints:
        """Return the rows with a known return."""
        return np.flatnonzero(self.rollout.nexts[: self.size] != PENDING)

    def drop_learnt(self) -> None:
        """Drop all rows from the list except the pending ones."""
        rows = np.flatnonzero(self.rollout.nexts[: self.size] == PENDING)
        for array in self._saved().values():
            array[: len(rows)] = array[rows]
        places = np.full(self.size + 1, -1)  # the last entry is for seats without a decision
        places[rows] = np.arange(len(rows))
        self.table.last[:] = places[self.table.last]
        self.size = len(rows)

    def _saved(self) -> Tensors:
        """Return the columns that later updates need."""
        names = ("masks", "seats", "actions", "log_probs", "values", "rewards", "nexts")
        return {"observations": self.observations} | {n: getattr(self.rollout, n) for n in names}

    # -- saving ----------------------------------------------------------------------------------
    def state(self) -> Tensors:
        """Return the state between two updates as new arrays, by name."""
        state = {f"games/{name}": array for name, array in self.batch.state().items()}
        state |= {
            f"rows/{name}": array[: self.size].copy() for name, array in self._saved().items()
        }
        state |= {name: array.copy() for name, array in self._arrays().items()}
        rng = json.dumps(self.rng.bit_generator.state).encode()
        return state | {"seed": np.array(self.seed), "rng": np.frombuffer(rng, np.uint8)}

    def restore(self, state: Mapping[str, NDArray[Any]], _name: str) -> None:
        """Restore a state, in games made with the same arguments.

        Raises:
            HeartsError: if the state does not fit. In this case, call ``begin`` before playing.
        """
        seed = check_array("seed", state.get("seed"), np.array(0))
        if seed < 0:
            raise HeartsError("seed: not a whole number of 0 or more; take another checkpoint")
        self.begin(int(seed))
        own = self._arrays()
        given = {name: check_array(name, state.get(name), like) for name, like in own.items()}
        waiting = np.sort(given["last"][given["last"] >= 0])
        if not np.array_equal(waiting, np.arange(len(waiting))) or given["last"].min() < -1:
            raise HeartsError("last: not the rows of decisions, each once; take another checkpoint")
        if not ((given["occupants"] >= LEARNER) & (given["occupants"] < len(self.pool))).all():
            raise HeartsError(
                f"occupants: not all in [-1, {len(self.pool)}); take another checkpoint"
            )
        for name, array in self._saved().items():
            rows = state.get(f"rows/{name}")
            array[: len(waiting)] = check_array(f"rows/{name}", rows, array[: len(waiting)])
        actions, nexts = self.rollout.actions[: len(waiting)], self.rollout.nexts[: len(waiting)]
        if not ((actions >= 0) & (actions < self.rules.num_actions) & (nexts == PENDING)).all():
            raise HeartsError(
                "rows: not decisions that wait for their returns; take another checkpoint"
            )
        try:
            self.rng.bit_generator.state = json.loads(state["rng"].tobytes())
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            raise HeartsError("rng: not the state of PCG64; take another checkpoint") from None
        self.batch.restore(part_of(state, "games/"))
        for name, array in own.items():
            array[...] = given[name]
        self.size = len(waiting)

    def _arrays(self) -> Tensors:
        table = self.table
        return {
            "occupants": table.occupants,
            "last": table.last,
            "credited": table.credited,
            "random": self.random,
        }


def part_of(state: Mapping[str, NDArray[Any]], prefix: str) -> Tensors:
    """Return the arrays with this prefix, by their names without it."""
    return {n.removeprefix(prefix): array for n, array in state.items() if n.startswith(prefix)}


# ---- compiled loops ------------------------------------------------------------------------------


@jit
def draw_occupants(
    r: k.Vector,
    games: Ints,
    deals: Ints,
    seat: int,
    cumulative: Floats,
    latest: int,
    occupants: Ints,
) -> None:
    """Draw learner and opponents of all seats in the new deals of `games`, from the deals' seeds.

    The learner has `seat`, or a random seat if `seat` is -1. The players of all other seats are
    drawn from the pool, in which the index `latest` also means the learner.
    """
    for g in games:
        players = r[k.R_PLAYERS]
        own = np.int64(draw(deals[g], SEAT) % np.uint64(players)) if seat < 0 else seat
        for p in range(players):
            place = draw_place(deals[g], OPPONENT + p, cumulative)
            occupants[g, p] = LEARNER if p == own or place == latest else place


@jit
def choose(
    logits: Floats32, legal: Ints, random: Numbers, actions: Ints, log_probs: Floats32
) -> None:
    """Draw a legal action per row from the softmax of its logits.

    Args:
        logits: ``(rows, actions)``.
        legal: ``(rows,)``, bit masks over actions.
        random: ``(rows,)``, states of random generators, advanced in place.
        actions: ``(rows,)``, written.
        log_probs: ``(rows,)``, written: the log-probabilities of the actions.
    """
    for i in range(len(legal)):
        highest, mask = np.float32(-np.inf), legal[i]
        while mask:
            highest = max(highest, logits[i, lowest(mask)])
            mask &= mask - 1
        total, mask = 0.0, legal[i]
        while mask:
            total += np.exp(logits[i, lowest(mask)] - highest)
            mask &= mask - 1
        random[i] += np.uint64(0x9E3779B97F4A7C15)
        left = unit(k.mix(random[i])) * total
        mask = legal[i]
        while mask:
            actions[i] = lowest(mask)
            left -= np.exp(logits[i, actions[i]] - highest)
            if left < 0.0:
                break
            mask &= mask - 1
        log_probs[i] = logits[i, actions[i]] - highest - np.log(total)


@jit
def note(table: Table, rollout: Rollout, first: int) -> None:
    """Start a row for the current decision of each game. Game g has row `first` + g."""
    for g in range(len(table.states)):
        row, p = first + g, table.states[g, k.PLAYER]
        rollout.seats[row] = p
        rollout.rewards[row] = 0.0
        rollout.nexts[row] = PENDING
        chain = p % table.last.shape[1]
        if table.last[g, chain] >= 0:
            rollout.nexts[table.last[g, chain]] = row
        table.last[g, chain] = row


@jit
def play(r: k.Vector, table: Table, actions: Ints) -> None:
    """Play one legal action per game."""
    for g in range(len(actions)):
        k.play(r, table.states[g], actions[g])


@jit
def advance(
    r: k.Vector, table: Table, rollout: Rollout, games: Ints, kind: int, scale: float, skip: int
) -> None:
    """Play forced cards up to a decision or the end of the deal, and pay the rewards.

    Args:
        r: the rules.
        table: changed in place, except ``occupants``.
        rollout: changed in place. Rewards go to the last decision of each seat.
        games: the indices of the games.
        kind: ``Rewarder.number``.
        scale: ``Rewarder.scale``.
        skip: if 0, forced cards of the learner are not played. Forced cards of opponents are always
            played.
    """
    for g in games:
        s = table.states[g]
        while True:
            mask = k.legal_mask(r, s)
            if mask == 0:
                table.status[g] = ENDED
                break
            learns = table.occupants[g, s[k.PLAYER]] == LEARNER
            if mask & (mask - 1) == 0 and (skip or not learns):
                k.play(r, s, lowest(mask))
                continue
            table.status[g] = LEARNS if learns else WAITS
            break
        table.legal[g] = mask
        is_over = mask == 0
        chains = table.last.shape[1]
        for p in range(r[k.R_PLAYERS]):
            row = table.last[g, p % chains]
            if is_due(kind, is_over):
                now = earned(r, s, kind, p)
                # Rewards before the seat's first decision are not learnt from.
                if row >= 0 and rollout.seats[row] == p:
                    rollout.rewards[row] += (now - table.credited[g, p]) / scale
                table.credited[g, p] = 0 if is_over else now
        for chain in range(chains if is_over else 0):
            if table.last[g, chain] >= 0:
                rollout.nexts[table.last[g, chain]] = END
                table.last[g, chain] = -1
