"""``BatchGame(device="cuda")``, experimental: a thread of a GPU for each game.

Where there is no GPU, numba's simulator of CUDA interprets the same kernels, if
NUMBA_ENABLE_CUDASIM and NUMBA_DISABLE_JIT are 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numba.cuda
import numpy as np
from numba.cuda.cudadrv.devicearray import is_cuda_ndarray

from hearts_env import kernel as k
from hearts_env.batch import kernel as loops
from hearts_env.encoders import Encoder, make_encoder
from hearts_env.encoders.flat import BitsEncoder, FlatEncoder, write_row
from hearts_env.rules.rules import Rules
from hearts_env.support import arguments
from hearts_env.support.errors import HeartsError, quoted

_BLOCK = 128  # threads
_config: Any = numba.config  # its fields are made at run time
cuda: Any = numba.cuda  # its names are made at run time
_kernel: Callable[[Callable[..., None]], Any] = cuda.jit

DeviceArray = Any
"""An array of ``numba.cuda`` on the device; it has ``__cuda_array_interface__``."""


# ---- kernels: one thread a game, which hands its own row to a compiled loop ----------------------
# What CUDA compiles is the source of `batch.kernel` and of all that it calls: no rule and no
# observation stands here.
@_kernel
def read_players(states: DeviceArray, out: DeviceArray) -> None:
    """Write who is to act in each game, -1 where it is over."""
    g = cuda.grid(1)
    if g < len(out):
        out[g] = states[g, k.PLAYER]


@_kernel
def write_masks(legal: DeviceArray, rows: DeviceArray, masks: DeviceArray) -> None:
    """Write the mask of each game."""
    g = cuda.grid(1)
    if g < len(rows):
        loops.write_masks(legal, rows[g : g + 1], masks[g])


@_kernel
def choose(
    legal: DeviceArray, rows: DeviceArray, random: DeviceArray, actions: DeviceArray
) -> None:
    """Write a random legal action of each game that is not over."""
    g = cuda.grid(1)
    if g < len(rows):
        loops.choose(legal, rows[g : g + 1], random, actions[g : g + 1])


@_kernel
def check(
    legal: DeviceArray,
    rows: DeviceArray,
    given: DeviceArray,
    actions: DeviceArray,
    bad: DeviceArray,
    num_bad: DeviceArray,
) -> None:
    """Copy the `given` whole numbers to `actions`; mark and count those that are illegal."""
    g = cuda.grid(1)
    if g < len(rows):
        actions[g] = given[g]
        own = slice(g, g + 1)
        if loops.find_illegal(legal, rows[own], actions[own], bad[own]):
            cuda.atomic.add(num_bad, 0, 1)


@_kernel
def next_seeds(rows: DeviceArray, seeds: DeviceArray, deals: DeviceArray, seed: int) -> None:
    """Write the seed of the next deal of each game."""
    g = cuda.grid(1)
    if g < len(rows):
        loops.next_seeds(rows[g : g + 1], seeds, deals, seed)


@functools.lru_cache(maxsize=64)
def frozen_kernels(rules: Rules) -> tuple[Any, Any, Any]:
    """Kernels that step, observe and deal, compiled for these rules alone on first use."""
    r = rules.vector

    @_kernel
    def step(
        tables: loops.Tables,
        rows: DeviceArray,
        actions: DeviceArray,
        seed: int,
        autodeal: bool,  # noqa: FBT001
        observations: DeviceArray,
        masks: DeviceArray,
    ) -> None:
        g = cuda.grid(1)
        if g < len(rows):
            own = slice(g, g + 1)
            loops.step(
                r, tables, rows[own], actions[own], seed, autodeal, observations[own], masks[g]
            )

    @_kernel
    def observe(states: DeviceArray, out: DeviceArray) -> None:
        g = cuda.grid(1)
        if g < len(out):
            write_row(r, states[g], loops.shown_seat(states[g]), out[g])

    @_kernel
    def deal(
        states: DeviceArray, rows: DeviceArray, seeds: DeviceArray, legal: DeviceArray
    ) -> None:
        g = cuda.grid(1)
        if g < len(rows):
            loops.deal(r, states, rows[g : g + 1], seeds, legal)

    return step, observe, deal


class CudaBatch:
    """What ``BatchGame(device="cuda")`` makes: its games, on a CUDA device.

    ``seeds``, ``legal``, ``done`` and all that methods return are arrays on the device, which
    ``torch.as_tensor`` and others take without a copy. They hold what those of a batch on the CPU
    hold, bit by bit. Work is queued on numba's default stream.
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
        """Deal `num_games` games; see ``BatchGame``.

        `observation` is "flat" or "bits". Each game has a thread and all is compiled for the rules
        alone, so that `num_threads` is 1 and `freeze` not False.

        Raises:
            HeartsError: if an argument is invalid, or there is no CUDA device.
        """
        self.rules = Rules.make(rules)
        self.num_games = n = arguments.check_number("num_games", num_games, 1, loops.MAX_GAMES)
        self.seed = arguments.check_seed(seed)
        self.autodeal = arguments.check_flag("autodeal", autodeal)
        self.encoder = _check_encoder(observation)
        self.space = self.encoder.space(self.rules)
        if arguments.check_number("num_threads", num_threads, 1, 1024) > 1:
            raise HeartsError(f'num_threads: {num_threads} is for device="cpu" alone; omit it')
        if freeze is not None and not arguments.check_flag("freeze", freeze):
            raise HeartsError('freeze: False is for device="cpu" alone; omit it')
        _check_device()
        self._step, self._observe, self._deal = frozen_kernels(self.rules)
        self._tables = _empty_tables(self.rules, n)
        self.states, self.legal, self.done, self._scores, self.seeds, self._deals = self._tables
        self._rows: DeviceArray = cuda.to_device(np.arange(n))
        self._actions, self._bad, self._num_bad = _zeros(n), _zeros(n, np.bool_), _zeros(1)
        random = np.empty(n, np.uint64)
        loops.seed_random(random, self.seed)
        self._random: DeviceArray = cuda.to_device(random)
        self.reset()

    @property
    def player(self) -> DeviceArray:
        """Whose turn it is in each game, ``(num_games,) int64``; -1 where a game is over."""
        out = cuda.device_array(self.num_games, np.int64)
        self._run(read_players, self.states, out)
        return out

    def scores(self) -> DeviceArray:
        """The scores of the last finished deal of each game, ``(num_games, players) int64``."""
        out = cuda.device_array(self._scores.shape, np.int64)
        out.copy_to_device(self._scores)
        return out

    def observe(self, out: DeviceArray | None = None) -> DeviceArray:
        """The view of each game's player to act, encoded, ``(num_games, *space.shape)``.

        Raises:
            HeartsError: if `out` is not such an array on the device, of the space's dtype.
        """
        out = self._check_out("out", out, self.space.shape, self.space.dtype)
        self._run(self._observe, self.states, out)
        return out

    def masks(self, out: DeviceArray | None = None) -> DeviceArray:
        """The legal actions of each game's player to act, ``(num_games, num_actions) int8``."""
        out = self._check_out("out", out, (self.rules.num_actions,), np.dtype(np.int8))
        self._run(write_masks, self.legal, self._rows, out)
        return out

    def random_actions(self) -> DeviceArray:
        """A uniformly random legal action of each game, ``(num_games,) int64``; 0 where it is over.

        Game i draws from a stream of its own, whatever the number of games.
        """
        actions = _zeros(self.num_games)
        self._run(choose, self.legal, self._rows, self._random, actions)
        return actions

    def step(
        self,
        actions: DeviceArray,
        observations: DeviceArray | None = None,
        masks: DeviceArray | None = None,
    ) -> tuple[DeviceArray, DeviceArray]:
        """Do one action in each game and show what comes next; waits once, to see what is legal.

        Args:
            actions: one whole number for each game, on the device or in main memory.
            observations: on the device, written in place, ``(num_games, *space.shape)`` of the
                space's dtype; None: a new array.
            masks: likewise, ``(num_games, num_actions) int8``.

        Returns:
            `observations` and `masks`.

        Raises:
            IllegalActionError: if actions are illegal; the message names their games.
            HeartsError: if an array is not as said, or two overlap. Nothing has been played.
        """
        given = self._check_actions(actions)
        observations = self._check_out(
            "observations", observations, self.space.shape, self.space.dtype
        )
        masks = self._check_out("masks", masks, (self.rules.num_actions,), np.dtype(np.int8))
        if _overlap(observations, masks):
            raise HeartsError("masks: shares memory with observations; give an array of its own")
        acts, bad = self._actions, self._bad
        self._run(check, self.legal, self._rows, given, acts, bad, self._num_bad)
        if self._num_bad.copy_to_host()[0]:
            self._num_bad.copy_to_device(np.zeros(1, np.int64))
            rows = np.flatnonzero(bad.copy_to_host())
            any_over = not self.legal.copy_to_host()[rows].all()
            raise arguments.illegal_actions(rows, acts.copy_to_host()[rows], any_over=any_over)
        played = (self._tables, self._rows, acts, self.seed, self.autodeal)
        self._run(self._step, *played, observations, masks)
        return observations, masks

    def reset(self, seeds: Any = None) -> None:
        """Begin new deals: the next of each game, or those of given `seeds`.

        Raises:
            DealError: if `seeds` is not one integer in [0, 2**63) for each game.
        """
        if seeds is None:
            self._run(next_seeds, self._rows, self.seeds, self._deals, self.seed)
        else:
            self.seeds.copy_to_device(arguments.check_seeds(_in_memory(seeds), self.num_games))
        self.done.copy_to_device(np.zeros(self.num_games, np.bool_))
        self._run(self._deal, self.states, self._rows, self.seeds, self.legal)

    def _run(self, kernel: Any, *arrays: Any) -> None:
        """Queue `kernel` with a thread for each game."""
        threads = min(self.num_games, _BLOCK)
        kernel[-(-self.num_games // threads), threads](*arrays)

    def _check_actions(self, actions: Any) -> DeviceArray:
        array = _on_device(actions)
        if array is not None and array.dtype.kind in "iu" and array.shape == (self.num_games,):
            return array
        return cuda.to_device(arguments.check_actions(_in_memory(actions), self.num_games))

    def _check_out(self, name: str, out: Any, row: tuple[int, ...], dtype: Any) -> DeviceArray:
        """`out` as numba has it, with such a row for each game; None: a new array."""
        shape = (self.num_games, *row)
        if out is None:
            return cuda.device_array(shape, dtype)
        array = _on_device(out)
        if array is None:
            raise HeartsError(
                f"{name}: {type(out).__name__} is not on the CUDA device; give an array there"
            )
        if (array.shape, array.dtype) != (shape, dtype) or not array.is_c_contiguous():
            raise HeartsError(
                f"{name}: shape {tuple(array.shape)} and dtype {array.dtype}; needed are {shape} "
                f"and {dtype}, C-contiguous"
            )
        return array

    def __repr__(self) -> str:
        return f"<CudaBatch {self.rules.name}: {self.num_games} games>"


def _check_encoder(observation: str | Encoder) -> Encoder:
    encoder = make_encoder(observation)
    if type(encoder) not in (FlatEncoder, BitsEncoder):
        raise HeartsError(
            f'observation: {quoted(observation)} is not made on a CUDA device; give "flat" or '
            '"bits", or device="cpu"',
            value=observation,
        )
    return encoder


def _check_device() -> None:
    if not cuda.is_available():
        raise HeartsError(
            "device: no CUDA device can be used; that takes an NVIDIA GPU with its driver, and "
            '`pip install "numba-cuda[cu12]"` (cu13 for CUDA 13); or give device="cpu"'
        )
    if bool(_config.ENABLE_CUDASIM) != bool(_config.DISABLE_JIT):
        raise HeartsError(
            "device: numba's simulator of CUDA needs both NUMBA_ENABLE_CUDASIM=1 and "
            "NUMBA_DISABLE_JIT=1; a GPU needs neither"
        )


def _empty_tables(rules: Rules, n: int) -> Any:
    """``Tables`` of device arrays for `n` games, of which none is dealt."""
    states = cuda.to_device(np.tile(loops.empty_state(rules), (n, 1)))
    scores = _zeros((n, rules.players))
    return loops.Tables(states, _zeros(n), _zeros(n, np.bool_), scores, _zeros(n), _zeros(n))


def _zeros(shape: int | tuple[int, ...], dtype: Any = np.int64) -> DeviceArray:
    return cuda.to_device(np.zeros(shape, dtype))


def _on_device(value: Any) -> DeviceArray | None:
    """`value` as numba has it, not copied; None: it is not on a device."""
    if is_cuda_ndarray(value):
        return value
    return cuda.as_cuda_array(value) if hasattr(value, "__cuda_array_interface__") else None


def _in_memory(value: Any) -> Any:
    """A copy of an array on a device; anything else as it is."""
    array = _on_device(value)
    return value if array is None else array.copy_to_host()


def _overlap(one: DeviceArray, other: DeviceArray) -> bool:
    """Whether two C-contiguous arrays share memory."""
    (first, first_end), (second, second_end) = _span(one), _span(other)
    return first < second_end and second < first_end


def _span(array: DeviceArray) -> tuple[int, int]:
    """The addresses where it begins and ends."""
    known = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    start: int = known["data"][0]  # of the latter kind are the simulator's arrays
    return start, start + array.size * array.dtype.itemsize
