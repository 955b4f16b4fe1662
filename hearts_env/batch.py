"""Thousands of games of one rule set at once, compiled; and what their players may know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env._bits import put_word
from hearts_env._jit import inlined, jit
from hearts_env._workers import Workers
from hearts_env.arguments import (
    check_array,
    check_flag,
    check_is,
    check_number,
    check_seed,
    whole_numbers,
)
from hearts_env.arrays import Array
from hearts_env.encoders import Encoder, make_encoder, write_many
from hearts_env.encoders.flat import FlatEncoder, write_row
from hearts_env.errors import DealError, HeartsError, IllegalActionError, quoted
from hearts_env.game import Game
from hearts_env.rules import Rules
from hearts_env.seeds import stream_seed
from hearts_env.view import PlayerView

_MAX_GAMES = 10_000_000
_CHUNK = 64  # observations that are cast at once: they stay in the nearest cache


class BatchView:
    """What the player to act may know in each of many games, and nothing else.

    ``vectors`` is ``(len, rules.state_size) int64``, states in which everything hidden is empty;
    ``players`` is ``(len,) int64``, whose views they are. ``views[i]`` is a ``PlayerView``.
    """

    __slots__ = ("players", "rules", "vectors")

    def __init__(self, rules: Rules, vectors: k.Vector, players: k.Vector) -> None:
        self.rules = rules
        self.vectors = vectors
        self.players = players

    @classmethod
    def of(cls, views: list[PlayerView]) -> BatchView:
        """The views of a list, all of the same rules.

        Raises:
            HeartsError: if the list is empty, or its views are of different rules.
        """
        try:
            views = list(views)
        except TypeError:
            views = []
        if not views:
            raise HeartsError("views: there are none; give one or more")
        for view in views:
            check_is("views", view, PlayerView, "give game.view(player)")
        if any(view.rules != views[0].rules for view in views):
            names = sorted({view.rules.name for view in views})
            raise HeartsError(
                f"views: of different rules ({', '.join(names)}); give one batch each"
            )
        vectors = np.stack([view.vector for view in views])
        return cls(views[0].rules, vectors, np.array([view.player for view in views], np.int64))

    @property
    def legal_masks(self) -> k.Vector:
        """What each player may do, as bit masks over actions, ``(len,) int64``."""
        out = np.empty(len(self), np.int64)
        _legal_bits(self.rules.vector, self.vectors, out)
        return out

    @property
    def legal_table(self) -> NDArray[np.bool_]:
        """What each player may do, ``(len, num_actions) bool``."""
        table: NDArray[np.bool_] = (
            self.legal_masks[:, None] >> np.arange(self.rules.num_actions) & 1
        ) == 1
        return table

    def subset(self, rows: Array) -> BatchView:
        """The views of some rows."""
        vectors, players = self.vectors[rows], self.players[rows]
        return BatchView(self.rules, np.ascontiguousarray(vectors), np.ascontiguousarray(players))

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, row: int) -> PlayerView:
        return PlayerView(self.rules, self.vectors[row].copy(), int(self.players[row]))

    def __iter__(self) -> Iterator[PlayerView]:
        return (self[row] for row in range(len(self)))


class BatchGame:
    """Many games side by side, for self-play: every player is moved from outside.

    Game i is ``Game.deal(rules, seed=int(batch.seeds[i]))`` whatever the number of games or
    threads. With `autodeal` a finished game is followed by a new deal at once: ``done`` and
    ``scores()`` then describe the finished one, ``player`` and observations the new one.

    ``legal``, ``(num_games,) int64``, has the legal actions of each game's player to act as a bit
    mask over actions, 0 where a game is over; like ``states`` it is for reading alone.
    """

    def __init__(
        self,
        rules: Rules | str,
        num_games: int,
        seed: int = 0,
        *,
        observation: str | Encoder = "flat",
        autodeal: bool = True,
        num_threads: int = 1,
    ) -> None:
        """Deal `num_games` games.

        Args:
            rules: the rules, or a preset's name.
            num_games: 1 to ten million.
            seed: from which all seeds of deals follow.
            observation: an encoder or its name.
            autodeal: whether the next deal of a finished game begins at once.
            num_threads: threads that share the work.

        Raises:
            HeartsError: if an argument is invalid; the message names it.
        """
        self.rules = Rules.make(rules)
        self.num_games = check_number("num_games", num_games, 1, _MAX_GAMES)
        self.num_threads = check_number("num_threads", num_threads, 1, 1024)
        self.seed = check_seed(seed)
        self.autodeal = check_flag("autodeal", autodeal)
        self.encoder = make_encoder(observation)
        self.space = self.encoder.space(self.rules)
        n = self.num_games
        self.states: k.Vector = np.empty((n, self.rules.state_size), np.int64)
        self.states[:] = _empty_state(self.rules)
        self.legal: k.Vector = np.zeros(n, np.int64)
        self.seeds: k.Vector = np.zeros(n, np.int64)
        self.done: NDArray[np.bool_] = np.zeros(n, np.bool_)
        self._deals: k.Vector = np.zeros(n, np.int64)
        self._scores: k.Vector = np.zeros((n, self.rules.players), np.int64)
        self._all: k.Vector = np.arange(n)
        self._workers = Workers(self.num_threads)
        self._random: NDArray[np.uint64] = np.empty(n, np.uint64)
        _seed_random(self._random, self.seed)
        self.reset()

    # -- reading ----------------------------------------------------------------------------------
    @property
    def player(self) -> k.Vector:
        """Whose turn it is in each game, ``(num_games,) int64``; -1 where a game is over."""
        return self.states[:, k.PLAYER].copy()

    def scores(self) -> k.Vector:
        """The scores of the last finished deal of each game, ``(num_games, players) int64``."""
        return self._scores.copy()

    def observe(
        self, out: Array | None = None, *, games: Array | None = None, players: Array | None = None
    ) -> Array:
        """The view of each game's player to act, encoded, ``(num_games, *space.shape)``.

        Args:
            out: written in place and returned, of the space's dtype, or float32 or float16; None:
                a new array of the space's dtype.
            games: the rows of these games only.
            players: whose views, instead of the player's to act.

        Raises:
            HeartsError: if `out` has another shape or dtype, or is not contiguous.
        """
        rows = self._rows(games)
        out = self._check_out(out, (len(rows), *self.space.shape), self._dtypes)
        if players is None:  # a game that is over is shown as seat 0 sees it
            seats = np.maximum(self.states[rows, k.PLAYER], 0)
        else:
            seats = self._check_seats(players, len(rows))
        self._workers.share(
            lambda part, _: self._observe(rows[part], seats[part], out[part]), len(rows)
        )
        return out

    def _observe(self, rows: k.Vector, seats: k.Vector, out: Array) -> None:
        if out.dtype == self.space.dtype:
            write_many(self.encoder, self.rules, self.states, rows, seats, out)
            return
        own = np.empty((min(len(rows), _CHUNK), *self.space.shape), self.space.dtype)
        for first in range(0, len(rows), _CHUNK):
            some = slice(first, first + _CHUNK)
            part = own[: len(rows[some])]
            write_many(self.encoder, self.rules, self.states, rows[some], seats[some], part)
            out[some] = part

    def masks(self, out: Array | None = None, *, games: Array | None = None) -> Array:
        """The legal actions of each game's player to act, ``(num_games, num_actions) int8``."""
        rows = self._rows(games)
        out = self._check_out(out, (len(rows), self.rules.num_actions), (np.dtype(np.int8),))
        _masks(self.legal, rows, out)  # so quick that sharing it would take longer
        return out

    def random_actions(self, *, games: Array | None = None) -> k.Vector:
        """A uniformly random legal action of each game, ``(num_games,) int64``; 0 where it is over.

        Game i draws from a stream of its own, whatever the number of games or threads.
        """
        rows = self._rows(games)
        actions = np.zeros(len(rows), np.int64)
        _choose(self.legal, rows, self._random, actions)
        return actions

    def views(self, games: Array | None = None) -> BatchView:
        """What the players to act may know; of some games only."""
        rows = self._rows(games)
        vectors = np.empty((len(rows), self.rules.state_size), np.int64)
        players = np.empty(len(rows), np.int64)
        r = self.rules.vector
        self._workers.share(
            lambda part, _: _views(r, self.states, rows[part], vectors[part], players[part]),
            len(rows),
        )
        return BatchView(self.rules, vectors, players)

    def game(self, index: int) -> Game:
        """An independent ``Game`` in the state of game `index`, with its past: ``Game.from_state``.

        Raises:
            HeartsError: if `index` is not a game of this batch.
        """
        index = check_number("index", index, 0, self.num_games - 1)
        return Game._with_past(self.rules, self.states[index])

    # -- playing ----------------------------------------------------------------------------------
    def play(self, actions: Array, *, games: Array | None = None) -> None:
        """Do one action in each game, or in some games only; all or, on an error, none.

        Raises:
            IllegalActionError: if actions are illegal; the message names their games.
            HeartsError: if `actions` is not one whole number for each game.
        """
        rows = self._rows(games, once=True)
        acts = self._check_actions(actions, rows)
        self._check_legal(rows, acts)
        self.done[rows if games is not None else slice(None)] = False
        r, tables = self.rules.vector, self._tables
        self._workers.share(
            lambda part, _: _play(r, tables, rows[part], acts[part], self.seed, self.autodeal),
            len(rows),
        )

    def step(
        self,
        actions: Array,
        observations: Array | None = None,
        masks: Array | None = None,
    ) -> tuple[Array, Array]:
        """Do one action in each game and show what comes next: the inner loop of self-play.

        The same as ``play(actions)``, ``observe(observations)`` and ``masks(masks)``, but each game
        is played, dealt anew where it ended, and shown while it is in the nearest cache.

        Args:
            actions: one whole number for each game.
            observations: written in place, ``(num_games, *space.shape)`` of the space's dtype,
                float32 or float16; None: a new array of the space's dtype.
            masks: written in place, ``(num_games, num_actions) int8``; None: a new array.

        Returns:
            `observations` and `masks`.

        Raises:
            IllegalActionError: if actions are illegal; the message names their games.
            HeartsError: if an array has another shape or dtype, is not contiguous or writeable, or
                `observations` and `masks` overlap. Nothing has been played.
        """
        rows, n = self._all, self.num_games
        acts = self._check_actions(actions, rows)
        observations = self._check_out(
            observations, (n, *self.space.shape), self._dtypes, "observations"
        )
        masks = self._check_out(masks, (n, self.rules.num_actions), (np.dtype(np.int8),), "masks")
        if np.may_share_memory(observations, masks):
            raise HeartsError("masks: shares memory with observations; give an array of its own")
        self._check_legal(rows, acts)
        r, tables = self.rules.vector, self._tables
        is_fused = type(self.encoder) is FlatEncoder and observations.dtype == np.int8

        def work(part: slice, _: int) -> None:
            if is_fused:
                _step_flat(
                    r,
                    tables,
                    rows[part],
                    acts[part],
                    self.seed,
                    self.autodeal,
                    observations[part],
                    masks[part].reshape(-1),
                )
                return
            for first in range(part.start, part.stop, _CHUNK):
                some = slice(first, min(first + _CHUNK, part.stop))
                self.done[some] = False
                _play(r, tables, rows[some], acts[some], self.seed, self.autodeal)
                seats = np.maximum(self.states[some, k.PLAYER], 0)
                self._observe(rows[some], seats, observations[some])
                _masks(self.legal, rows[some], masks[some])

        self._workers.share(work, n)
        return observations, masks

    def reset(self, seeds: Array | None = None, *, games: Array | None = None) -> None:
        """Begin new deals: the next of each game, or those of given `seeds`; of some games only.

        Raises:
            DealError: if `seeds` is not one integer in [0, 2**63) for each game.
        """
        rows = self._rows(games, once=True)
        if seeds is None:
            _next_seeds(rows, self.seeds, self._deals, self.seed)
        else:
            given = whole_numbers(seeds)
            if given is None or given.shape != rows.shape or (given < 0).any():
                raise DealError(
                    f"seeds: give a whole number from 0 to 2**63 - 1 for each of {len(rows)} games"
                )
            self.seeds[rows] = given
        self.done[rows] = False
        r = self.rules.vector
        self._workers.share(
            lambda part, _: _deal(r, self.states, rows[part], self.seeds, self.legal), len(rows)
        )

    def revoke(self, *, games: Array) -> None:
        """End these games as ``Game.revoke`` does: the player to act in each pays for all.

        Finished games are left alone; with `autodeal` the next deal does not follow by itself.
        """
        rows = self._rows(games, once=True)
        _revoke(self.rules.vector, self.states, rows, self.legal, self.done, self._scores)

    # -- saving -----------------------------------------------------------------------------------
    def state(self) -> dict[str, Array]:
        """All that the games need to go on, new arrays by name.

        A game is kept as its seed and ``actions``, ``(num_games, most of a deal) int8``, -1 where
        none has been done yet: a state that is restored can only be one that play leads to.
        """
        own = {name: array.copy() for name, array in self._arrays().items()}
        return own | {"actions": self._past(self._all)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what ``state`` gave, in a batch of the same rules, size and seed.

        Raises:
            HeartsError: if the arrays are missing, of other shapes, or hold impossible values; the
                batch is unchanged.
        """
        check_is("state", state, Mapping, "give what BatchGame.state() has returned")
        own = self._arrays()
        actions = np.broadcast_to(np.int8(-1), (self.num_games, _most_actions(self.rules)))
        given = {
            name: check_array(f"state.{name}", state.get(name), like)
            for name, like in {**own, "actions": actions}.items()
        }
        if (given["seeds"] < 0).any() or (given["deals"] < 0).any():
            raise HeartsError("state: seeds and deals must be integers from 0")
        states, legal = np.empty_like(self.states), np.empty_like(self.legal)
        states[:] = _empty_state(self.rules)
        r, everyone = self.rules.vector, np.arange(self.num_games)
        _deal(r, states, everyone, np.array(given["seeds"]), legal)
        bad = _replay_actions(r, states, given["actions"].copy(), legal)
        if bad >= 0:
            raise HeartsError(
                f"state.actions: those of game {bad} cannot be played in the deal of its seed"
            )
        self.states[:], self.legal[:] = states, legal
        for name, array in own.items():
            array[:] = given[name]

    def _arrays(self) -> dict[str, Array]:
        """The arrays that ``state`` copies and ``restore`` writes to, beside ``actions``."""
        return {
            "seeds": self.seeds,
            "deals": self._deals,
            "done": self.done,
            "scores": self._scores,
            "random": self._random,
        }

    def _past(self, rows: k.Vector) -> NDArray[np.int8]:
        """The actions so far in each of `rows`, ``(len(rows), most of a deal)``; then -1."""
        actions = np.full((len(rows), _most_actions(self.rules)), -1, np.int8)
        start = np.empty(self.rules.state_size, np.int64)
        past = np.empty(k.MAX_PAST, np.int64)
        _read_actions(self.rules.vector, self.states, rows, start, past, actions)
        return actions

    # -- helpers ----------------------------------------------------------------------------------
    def _rows(self, games: Array | None, *, once: bool = False) -> k.Vector:
        """The numbers of games, checked; `once`: none may come twice."""
        if games is None:
            return self._all
        rows = whole_numbers(games)
        if rows is None or rows.ndim != 1:
            raise HeartsError("games: give a one-dimensional array of whole numbers")
        if rows.size and not (rows.min() >= 0 and rows.max() < self.num_games):
            raise HeartsError(f"games: give numbers from 0 to {self.num_games - 1}")
        if once and len(rows) > 1:
            ordered = np.sort(rows)
            twice = ordered[1:][ordered[1:] == ordered[:-1]]
            if len(twice):
                raise HeartsError(f"games: {twice[0]} comes twice; name each game once")
        return rows

    def _check_seats(self, players: Array, size: int) -> k.Vector:
        seats = whole_numbers(players)
        if seats is None or seats.shape != (size,):
            raise HeartsError(f"players: give one seat, a whole number, for each of {size} games")
        if seats.size and not (seats.min() >= 0 and seats.max() < self.rules.players):
            raise HeartsError(f"players: give seats from 0 to {self.rules.players - 1}")
        return seats

    def _check_actions(self, actions: Array, rows: k.Vector) -> k.Vector:
        acts = whole_numbers(actions)
        if acts is None or acts.shape != rows.shape:
            raise HeartsError(
                f"actions: {_described(actions)}; give one whole number for each of "
                f"{len(rows)} games"
            )
        return acts

    def _check_legal(self, rows: k.Vector, acts: k.Vector) -> None:
        bad = np.zeros(len(rows), np.bool_)
        if not find_illegal(self.legal, rows, acts, bad):
            return
        wrong = np.flatnonzero(bad)
        shown = ", ".join(f"game {rows[i]}: {acts[i]}" for i in wrong[:5])
        shown += ", ..." if len(wrong) > 5 else ""
        over = (self.states[rows[wrong], k.PLAYER] < 0).any()
        waits = "; finished games wait for reset" if over else ""
        raise IllegalActionError(
            f"actions: {len(wrong)} illegal ({shown}){waits}; nothing was played"
        )

    @property
    def _dtypes(self) -> tuple[Any, ...]:
        """Of observations, the encoder's own first."""
        return (self.space.dtype, np.dtype(np.float32), np.dtype(np.float16))

    @property
    def _tables(self) -> Tables:
        """The arrays that play changes."""
        return Tables(self.states, self.legal, self.done, self._scores, self.seeds, self._deals)

    def _check_out(
        self,
        out: Array | None,
        shape: tuple[int, ...],
        dtypes: tuple[Any, ...],
        name: str = "out",
    ) -> Array:
        if out is None:
            return np.empty(shape, dtypes[0])
        if not isinstance(out, np.ndarray):
            raise HeartsError(f"{name}: {type(out).__name__} is not a NumPy array in main memory")
        if out.shape != shape or out.dtype not in dtypes:
            known = " or ".join(dict.fromkeys(map(str, dtypes)))
            raise HeartsError(
                f"{name}: shape {out.shape} and dtype {out.dtype}; needed are {shape} and {known}"
            )
        if not out.flags.carray:
            raise HeartsError(
                f"{name}: the array is not C-contiguous, aligned and writeable; give one that is"
            )
        return out

    def __repr__(self) -> str:
        return f"<BatchGame {self.rules.name}: {self.num_games} games>"


def _described(array: object) -> str:
    """What a message says of an unsuitable array."""
    if isinstance(array, np.ndarray):
        return f"shape {array.shape} and dtype {array.dtype}"
    return quoted(array)


def _empty_state(rules: Rules) -> k.Vector:
    state = np.empty(rules.state_size, np.int64)
    k.clear(state)
    return state


def _most_actions(rules: Rules) -> int:
    """The most actions that a deal has: exchange, cards, the choice after a moon or a revoke."""
    return rules.players * (rules.hand_size + rules.pass_count) + 1


# ---- compiled loops -----------------------------------------------------------------------------
_REVOKE = 63
"""Stands for a revoke among the actions of a state."""


@jit
def _read_actions(
    r: k.Vector,
    states: k.Vector,
    rows: k.Vector,
    start: k.Vector,
    past: k.Vector,
    out: NDArray[np.int8],
) -> None:
    """Write the actions so far of each of `rows`; of one player's exchanged cards lowest first."""
    for i in range(len(rows)):
        for n in range(k.read_past(r, states[rows[i]], start, past)):
            out[i, n] = past[n] if past[n] >= 0 else _REVOKE


@jit
def _replay_actions(
    r: k.Vector, states: k.Vector, actions: NDArray[np.int8], legal: k.Vector
) -> int:
    """Do the actions of each game, just dealt; returns the first with an illegal one, or -1."""
    for g in range(len(states)):
        s = states[g]
        for n in range(actions.shape[1]):
            action = int(actions[g, n])
            if action < 0:
                break
            if action == _REVOKE and s[k.PHASE] != k.OVER:
                k.revoke(r, s)
            elif k.step(r, s, action) < 0:
                return g
        legal[g] = k.legal_mask(r, s)
    return -1


@jit
def _legal_bits(r: k.Vector, states: k.Vector, out: k.Vector) -> None:
    for i in range(len(states)):
        out[i] = k.legal_mask(r, states[i])


@jit
def _masks(legal: k.Vector, rows: k.Vector, out: NDArray[np.int8]) -> None:
    for i in range(len(rows)):
        mask = legal[rows[i]]
        for j in range(out.shape[1]):
            out[i, j] = mask >> j & 1


@jit
def _seed_random(random: NDArray[np.uint64], seed: int) -> None:
    for g in range(len(random)):
        random[g] = k.mix(k.mix(np.uint64(seed)) + np.uint64(g))


@jit
def _choose(legal: k.Vector, rows: k.Vector, random: NDArray[np.uint64], actions: k.Vector) -> None:
    for i in range(len(rows)):
        g = rows[i]
        if legal[g]:
            actions[i] = k.random_card(random[g : g + 1], legal[g])


@jit
def _views(
    r: k.Vector, states: k.Vector, rows: k.Vector, vectors: k.Vector, players: k.Vector
) -> None:
    for i in range(len(rows)):
        s = states[rows[i]]
        players[i] = max(s[k.PLAYER], 0)
        k.write_view(r, s, players[i], vectors[i])


@jit
def find_illegal(legal: k.Vector, rows: k.Vector, actions: k.Vector, bad: NDArray[np.bool_]) -> int:
    """Mark the rows whose action, any whole number, is illegal; returns how many."""
    count = 0
    for i in range(len(rows)):
        action = actions[i]
        inside = 0 <= action < k.MAX_ACTIONS
        bad[i] = not inside or not legal[rows[i]] >> action & 1
        count += bad[i]
    return count


@inlined
def _next_seed(g: int, deals: k.Vector, seed: int) -> np.int64:
    """The seed of the next deal of game `g`, which does not depend on the number of games."""
    deals[g] += 1
    return stream_seed(seed, g, deals[g])


@jit
def _next_seeds(rows: k.Vector, seeds: k.Vector, deals: k.Vector, seed: int) -> None:
    for i in range(len(rows)):
        seeds[rows[i]] = _next_seed(rows[i], deals, seed)


@jit
def _deal(r: k.Vector, states: k.Vector, rows: k.Vector, seeds: k.Vector, legal: k.Vector) -> None:
    for i in range(len(rows)):
        g = rows[i]
        k.deal(r, states[g], seeds[g], -1, -1)
        legal[g] = k.legal_mask(r, states[g])


class Tables(NamedTuple):
    """What play changes, a row a game."""

    states: k.Vector
    """``(games, rules.state_size)``."""
    legal: k.Vector
    """``(games,)``: legal actions as bit masks."""
    done: NDArray[np.bool_]
    """``(games,)``: whether the last action ended the deal."""
    scores: k.Vector
    """``(games, players)``: of the last finished deal."""
    seeds: k.Vector
    """``(games,)``: of the deals."""
    deals: k.Vector
    """``(games,)``: the number of the deal in the game's stream of seeds."""


@inlined
def _play_one(r: k.Vector, tables: Tables, g: int, action: int, seed: int, autodeal: int) -> None:
    s = tables.states[g]
    k.play(r, s, action)
    if s[k.PHASE] == k.OVER:
        tables.done[g] = True
        for p in range(r[k.R_PLAYERS]):
            tables.scores[g, p] = k.score(r, s, p)
        if autodeal:
            tables.seeds[g] = _next_seed(g, tables.deals, seed)
            k.deal(r, s, tables.seeds[g], -1, -1)
    tables.legal[g] = k.legal_mask(r, s)


@jit
def _play(
    r: k.Vector, tables: Tables, rows: k.Vector, actions: k.Vector, seed: int, autodeal: int
) -> None:
    for i in range(len(rows)):
        _play_one(r, tables, rows[i], actions[i], seed, autodeal)


@inlined
def _step_flat(
    r: k.Vector,
    tables: Tables,
    rows: k.Vector,
    actions: k.Vector,
    seed: int,
    autodeal: int,
    observations: NDArray[np.int8],
    masks: NDArray[np.int8],
) -> None:
    """Play, deal anew, observe and mask each of `rows`; `masks` is one row after the other."""
    width = len(masks) // max(len(rows), 1)
    for i in range(len(rows)):
        g = rows[i]
        tables.done[g] = False
        _play_one(r, tables, g, actions[i], seed, autodeal)
        write_row(r, tables.states[g], max(tables.states[g, k.PLAYER], 0), observations[i])
        mask, start = tables.legal[g], i * width
        if start + 64 <= len(masks):  # what it writes too much, the rows after it write over
            put_word(masks, start, np.uint64(mask))
        else:
            for j in range(width):
                masks[start + j] = mask >> j & 1


@jit
def _revoke(
    r: k.Vector,
    states: k.Vector,
    rows: k.Vector,
    legal: k.Vector,
    done: NDArray[np.bool_],
    scores: k.Vector,
) -> None:
    for i in range(len(rows)):
        g = rows[i]
        s = states[g]
        if s[k.PHASE] == k.OVER:
            continue
        k.revoke(r, s)
        legal[g] = 0
        done[g] = True
        for p in range(r[k.R_PLAYERS]):
            scores[g, p] = k.score(r, s, p)
