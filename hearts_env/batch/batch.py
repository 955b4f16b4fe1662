"""Thousands of games of the same rules at once."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.batch import kernel as loops
from hearts_env.batch.views import BatchView
from hearts_env.encoders import Encoder, encoding
from hearts_env.encoders.flat import FlatEncoder
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import (
    MAX_SEED,
    check_array,
    check_flag,
    check_is,
    check_number,
    check_numbers,
    check_seed,
    whole_numbers,
)
from hearts_env.support.arrays import Array
from hearts_env.support.errors import DealError, HeartsError, IllegalActionError
from hearts_env.support.jit import COMPILES, DirectCall
from hearts_env.support.workers import Threads

_FREEZE_FROM = 1024  # games: a batch this large is worth a second of compilation
_CHUNK = 64  # observations to cast at once, few enough for the L1 cache
_THREADS_FROM = 16_384  # games: below, handing work over costs as much as it saves
_OVERLAPS = {
    2: "masks: shares memory with observations; give an array of its own",
    3: "observations: shares memory with actions; give an array of its own",
    4: "masks: shares memory with actions; give an array of its own",
}
"""The messages for the faults that ``loops.give_step`` returns."""


class BatchGame:
    """Many games of the same rules side by side, in which you play for all players.

    Game i is ``Game.deal(rules, seed=int(batch.seeds[i]))`` for any number of games and threads.
    With `autodeal`, a new deal follows a finished one at once. Then ``done`` and ``scores()``
    describe the finished deal, and ``current_player`` and observations describe the new one.

    Attributes:
        rules: the rules.
        num_games: the number of games.
        seed: the seed that determines the seeds of all deals.
        encoder: the encoder of observations.
        space: the space of one observation.
        autodeal: True if a new deal follows a finished one at once.
        num_threads: the number of threads, of which batches below 16,384 games use one.
        seeds: the seed of each game's deal, ``(num_games,) int64``.
        done: True for each game whose last action ended a deal, ``(num_games,) bool``.
        legal: the legal actions in each game as a bit mask, 0 if the game is over,
            ``(num_games,) int64``. Do not write to it.
        states: the state of each game, as ``Game.vector``, ``(num_games, rules.state_size) int64``.
            Do not write to it.
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
        freeze: bool | None = None,
    ) -> None:
        """Deal `num_games` games.

        Args:
            rules: the rules, or a preset's name.
            num_games: 1 to ten million.
            seed: the seed that determines the seeds of all deals.
            observation: an encoder or its name.
            autodeal: if True, a new deal follows a finished one at once.
            num_threads: the number of threads, 1 to 1,024. No effect below 16,384 games.
            freeze: if True, compile ``step`` for these rules alone. This takes a second, once per
                rule set, and makes ``step`` nearly twice as fast. If None, batches of 1,024 games
                or more do so.

        Raises:
            HeartsError: if an argument is invalid. The message names it.
        """
        self.rules = Rules.make(rules)
        self.num_games = check_number("num_games", num_games, 1, loops.MAX_GAMES)
        self.num_threads = check_number("num_threads", num_threads, 1, 1024)
        self.seed = check_seed(seed)
        self.autodeal = check_flag("autodeal", autodeal)
        self._is_frozen = (
            self.num_games >= _FREEZE_FROM if freeze is None else check_flag("freeze", freeze)
        )
        self._encoding = encoding(observation, self.rules)
        self.encoder = self._encoding.encoder
        self.space = self.encoder.space(self.rules)
        n = self.num_games
        self.states: k.Vector = np.empty((n, self.rules.state_size), np.int64)
        self.states[:] = self.rules.empty_state
        self.legal: k.Vector = np.zeros(n, np.int64)
        self.seeds: k.Vector = np.zeros(n, np.int64)
        self.done: NDArray[np.bool_] = np.zeros(n, np.bool_)
        self._deals: k.Vector = np.zeros(n, np.int64)
        self._scores: k.Vector = np.zeros((n, self.rules.players), np.int64)
        self._all: k.Vector = np.arange(n)
        self._threads = Threads(self.num_threads if n >= _THREADS_FROM else 1)
        self._words: k.Vector | None = None  # of a step, which a copy must find anew
        self._fused: DirectCall | None = None  # the step that takes their address
        self._random: NDArray[np.uint64] = np.empty(n, np.uint64)
        loops.seed_random(self._random, self.seed)
        self.reset()

    # -- reading ----------------------------------------------------------------------------------
    @property
    def current_player(self) -> k.Vector:
        """The seat to act in each game, -1 if the game is over, ``(num_games,) int64``."""
        return self.states[:, k.PLAYER].copy()

    def scores(self) -> k.Vector:
        """Return the scores of each game's last finished deal, ``(num_games, players) int64``."""
        return self._scores.copy()

    def observe(
        self, out: Array | None = None, *, games: Array | None = None, players: Array | None = None
    ) -> Array:
        """Return the observation of the player to act in each game, ``(num_games, *space.shape)``.

        Args:
            out: a NumPy array to write to and return, such as ``tensor.numpy()``. Its dtype is the
                space's dtype, float32 or float16. If None, a new array of the space's dtype.
            games: the numbers of some games. If None, all games.
            players: the observing seat of each game. If None, the player to act.

        Raises:
            HeartsError: if `out` has another shape or dtype or is not contiguous, or a game or seat
                is out of range.
        """
        rows = self._rows(games)
        array = self._check_out(out, (len(rows), *self.space.shape), self._dtypes)
        if players is None:  # seat 0 observes games that are over
            seats = np.maximum(self.states[rows, k.PLAYER], 0)
        else:
            seats = self._check_seats(players, len(rows))
        self._threads.share(
            lambda part, _: self._observe(rows[part], seats[part], array[part]), len(rows)
        )
        return array if out is None else out

    def _observe(self, rows: k.Vector, seats: k.Vector, out: Array) -> None:
        if out.dtype == self.space.dtype:
            self._encoding.observe_many(self.states, rows, seats, out)
            return
        own = np.empty((min(len(rows), _CHUNK), *self.space.shape), self.space.dtype)
        for first in range(0, len(rows), _CHUNK):
            some = slice(first, first + _CHUNK)
            part = own[: len(rows[some])]
            self._encoding.observe_many(self.states, rows[some], seats[some], part)
            out[some] = part

    def masks(self, out: Array | None = None, *, games: Array | None = None) -> Array:
        """Return the legal actions in each game, ``(num_games, num_actions) int8``.

        Args:
            out: an int8 array to write to and return, as in ``observe``. If None, a new array.
            games: the numbers of some games. If None, all games.
        """
        rows = self._rows(games)
        array = self._check_out(out, (len(rows), self.rules.num_actions), (np.dtype(np.int8),))
        loops.write_masks(self.legal, rows, array.reshape(-1))
        return array if out is None else out

    def random_actions(self, *, games: Array | None = None) -> k.Vector:
        """Draw a legal action in each game uniformly, or 0 if it is over, ``(num_games,) int64``.

        Game i has its own random stream, the same for any number of games and threads.
        """
        rows = self._rows(games)
        actions = np.zeros(len(rows), np.int64)
        loops.choose(self.legal, rows, self._random, actions)
        return actions

    def views(self, games: Array | None = None) -> BatchView:
        """Return the views of the players to act, in all games or some."""
        rows = self._rows(games)
        vectors = np.empty((len(rows), self.rules.state_size), np.int64)
        players = np.empty(len(rows), np.int64)
        r = self.rules.vector
        self._threads.share(
            lambda part, _: loops.write_views(
                r, self.states, rows[part], vectors[part], players[part]
            ),
            len(rows),
        )
        return BatchView(self.rules, vectors, players)

    def game(self, index: int) -> Game:
        """Return game `index` as an independent ``Game`` with its past (see ``Game.from_state``).

        Raises:
            HeartsError: if `index` is not a game of this batch.
        """
        index = check_number("index", index, 0, self.num_games - 1)
        return Game._with_past(self.rules, self.states[index])

    # -- playing ----------------------------------------------------------------------------------
    def play(self, actions: Array, *, games: Array | None = None) -> None:
        """Play one action in each game, or in some. On an error nothing is played.

        Args:
            actions: one int per game.
            games: the numbers of some games, each once. If None, all games.

        Raises:
            IllegalActionError: if actions are illegal. The message names their games.
            HeartsError: if `actions` does not have one int per game.
        """
        rows = self._rows(games, once=True)
        acts = check_numbers("actions", actions, len(rows))
        self._check_legal(rows, acts)
        self.done[rows if games is not None else slice(None)] = False
        r, tables = self.rules.vector, self._tables
        self._threads.share(
            lambda part, _: loops.play(r, tables, rows[part], acts[part], self.seed, self.autodeal),
            len(rows),
        )

    def step(
        self,
        actions: Array,
        observations: Array | None = None,
        masks: Array | None = None,
    ) -> tuple[Array, Array]:
        """Play one action in each game and return the next observations and masks.

        This does ``play(actions)``, ``observe(observations)`` and ``masks(masks)`` in one faster
        call: the inner loop of self-play.

        Args:
            actions: one int per game.
            observations: an array to write to, ``(num_games, *space.shape)``, as in ``observe``. If
                None, a new array.
            masks: an array to write to, ``(num_games, num_actions) int8``. If None, a new array.

        Returns:
            `observations` and `masks`.

        Raises:
            IllegalActionError: if actions are illegal. The message names their games.
            HeartsError: if an array has another shape or dtype, is not contiguous or writeable, or
                overlaps another. Nothing has been played.
        """
        n = self.num_games
        acts = check_numbers("actions", actions, n)
        shown = self._check_out(observations, (n, *self.space.shape), self._dtypes, "observations")
        mask = self._check_out(masks, (n, self.rules.num_actions), (np.dtype(np.int8),), "masks")
        if self._words is None:
            self._words = self._prepare_step()
        fused = self._fused if shown.dtype == self.space.dtype else None
        whole = shown if fused else shown.reshape(n, -1).view(np.uint8)
        if fault := loops.give_step(self._words, self.legal, acts, whole, mask):
            self._check_legal(self._all, acts)
            raise HeartsError(_OVERLAPS[fault])
        if fused:
            at = self._address
            self._threads.share(lambda part, _: fused.call(at, part.start, part.stop), n)
        else:
            self._threads.share(lambda part, _: self._step(part, acts, shown, mask), n)
        return (shown if observations is None else observations, mask if masks is None else masks)

    def _prepare_step(self) -> k.Vector:
        """Choose the fused step. Return its words, which ``loops.give_step`` completes."""
        if COMPILES and type(self.encoder) is FlatEncoder:
            step = loops.frozen_step(self.rules) if self._is_frozen else loops.flat_step
            self._fused = DirectCall(step)
        tables = {name: array.ctypes.data for name, array in self._tables._asdict().items()}
        arguments = loops.StepWords(
            **tables,
            rules=self.rules.vector.ctypes.data,
            games=self._all.ctypes.data,
            num_rules=len(self.rules.vector),
            num_games=self.num_games,
            state_size=self.rules.state_size,
            players=self.rules.players,
            length=self.space.shape[0],
            width=self.rules.num_actions,
            seed=self.seed,
            autodeal=self.autodeal,
        )
        words = np.array(arguments, np.int64)
        self._address = words.ctypes.data
        return words

    def _step(self, part: slice, acts: k.Vector, observations: Array, masks: Array) -> None:
        """Step the games of `part` with any encoder and dtype, without the fused step."""
        for first in range(part.start, part.stop, _CHUNK):
            some = slice(first, min(first + _CHUNK, part.stop))
            rows = self._all[some]
            self.done[some] = False
            loops.play(self.rules.vector, self._tables, rows, acts[some], self.seed, self.autodeal)
            seats = np.maximum(self.states[some, k.PLAYER], 0)
            self._observe(rows, seats, observations[some])
            loops.write_masks(self.legal, rows, masks[some].reshape(-1))

    def reset(self, seeds: Array | None = None, *, games: Array | None = None) -> None:
        """Begin new deals in all games or some.

        Args:
            seeds: the seed of each new deal, ints in [0, 2**63). If None, each game begins its next
                deal.
            games: the numbers of some games, each once. If None, all games.

        Raises:
            DealError: if `seeds` does not have one int in [0, 2**63) per game.
            HeartsError: if a game is out of range or listed twice.
        """
        rows = self._rows(games, once=True)
        if seeds is None:
            loops.next_seeds(rows, self.seeds, self._deals, self.seed)
        else:
            self.seeds[rows] = check_numbers("seeds", seeds, len(rows), (0, MAX_SEED), DealError)
        self.done[rows] = False
        r = self.rules.vector
        self._threads.share(
            lambda part, _: loops.deal(r, self.states, rows[part], self.seeds, self.legal),
            len(rows),
        )

    def revoke(self, *, games: Array) -> None:
        """End these games as ``Game.revoke`` does.

        Finished games do not change. No new deal follows, even with `autodeal`.
        """
        rows = self._rows(games, once=True)
        loops.revoke(self.rules.vector, self.states, rows, self.legal, self.done, self._scores)

    # -- saving -----------------------------------------------------------------------------------
    __copy__ = copy.deepcopy

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_words": None, "_fused": None}

    def state(self) -> dict[str, Array]:
        """Return new arrays by name, from which ``restore`` continues the games."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from the ``state`` of a batch with the same rules, size and seed.

        Raises:
            HeartsError: if an array is missing or has another shape, or play cannot lead to one of
                its states. The batch is unchanged.
        """
        check_is("state", state, Mapping, "give what BatchGame.state() has returned")
        own = self._arrays()
        given = {
            name: check_array(f"state.{name}", state.get(name), like) for name, like in own.items()
        }
        for index, vector in enumerate(given["states"]):  # compiled code trusts them
            try:
                Game.from_state(self.rules, vector)
            except DealError:
                raise HeartsError(
                    f"state.states: play does not lead to game {index}; give what "
                    "BatchGame.state() has returned"
                ) from None
        for name in ("seeds", "deals"):
            if given[name].min() < 0:
                raise HeartsError(
                    f"state.{name}: {given[name].min()} is negative; give what BatchGame.state() "
                    "has returned"
                )
        for name, array in own.items():
            array[:] = given[name]
        loops.write_legal(self.rules.vector, self.states, self.legal)

    def _arrays(self) -> dict[str, Array]:
        """Return the arrays that ``state`` copies and ``restore`` writes to."""
        return {
            "states": self.states,
            "seeds": self.seeds,
            "deals": self._deals,
            "done": self.done,
            "scores": self._scores,
            "random": self._random,
        }

    # -- helpers ----------------------------------------------------------------------------------
    def _rows(self, games: Array | None, *, once: bool = False) -> k.Vector:
        """Return the numbers of games after checking them. If `once`, no game may come twice."""
        if games is None:
            return self._all
        rows = whole_numbers(games)
        if rows is None or rows.ndim != 1:
            raise HeartsError("games: not a one-dimensional array of whole numbers; give one")
        if rows.size and not (rows.min() >= 0 and rows.max() < self.num_games):
            raise HeartsError(f"games: some are out of range; give 0 to {self.num_games - 1}")
        if once and len(rows) > 1:
            ordered = np.sort(rows)
            twice = ordered[1:][ordered[1:] == ordered[:-1]]
            if len(twice):
                raise HeartsError(f"games: {twice[0]} is listed twice; name each game once")
        return rows

    def _check_seats(self, players: Array, size: int) -> k.Vector:
        return check_numbers("players", players, size, (0, self.rules.players - 1))

    def _check_legal(self, rows: k.Vector, acts: k.Vector) -> None:
        bad = np.zeros(len(rows), np.bool_)
        if not loops.find_illegal(self.legal, rows, acts, bad):
            return
        games = rows[bad]
        named = zip(games[:5], acts[bad][:5], strict=True)
        shown = ", ".join(f"game {game}: {action}" for game, action in named)
        shown += ", ..." if len(games) > 5 else ""
        waits = "" if self.legal[games].all() else ", and reset finished games"
        raise IllegalActionError(
            f"actions: {len(games)} illegal ({shown}), nothing was played; "
            f"take them from the masks{waits}"
        )

    @property
    def _dtypes(self) -> tuple[Any, ...]:
        """The dtypes of observations, the encoder's own first."""
        return (self.space.dtype, np.dtype(np.float32), np.dtype(np.float16))

    @property
    def _tables(self) -> loops.Tables:
        """The arrays that play changes."""
        return loops.Tables(
            self.states, self.legal, self.done, self._scores, self.seeds, self._deals
        )

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
            raise HeartsError(f"{name}: {type(out).__name__} is not a NumPy array; give one")
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
