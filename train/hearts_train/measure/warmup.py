"""Compiling everything before somebody waits for it, in several processes at once.

A process does one part after another. What a part calls and an earlier start, or another process,
has compiled comes from numba's cache on disk, function by function; so two processes share the work
as long as they are not at the same function. The processes are started afresh and told their parts
over pipes, a line of JSON each way.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import queue
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numba.core import event

import hearts_agents
import hearts_env
from hearts_agents import make_agent
from hearts_agents.attackers import Attacker
from hearts_agents.baselines import NAMES
from hearts_agents.envs.vector import HeartsVectorEnv
from hearts_agents.programs.process import (
    close_pipes,
    kill_child,
    python_environment,
    start_child,
)
from hearts_env import BatchGame, Game, HeartsError, Rules, hearts_v0
from hearts_env.encoders import ENCODERS
from hearts_env.rules.presets import PRESETS
from hearts_env.solve import (
    TranspositionTable,
    solve_batch,
    solve_double_dummy,
    solve_worlds,
)
from hearts_env.solve.beliefs import belief
from hearts_env.solve.best_response import exploit
from hearts_env.solve.endgame import Endgame
from hearts_env.solve.equilibrium import solve
from hearts_env.solve.regret import ALGORITHMS
from hearts_env.solve.response import whole_game
from hearts_env.support.arguments import check_number
from hearts_env.support.jit import cache_folder
from hearts_env.support.progress import Progress

_PROGRAM = "from hearts_train.measure.warmup import serve; serve()"
_MOST_WORKERS = 256
_DEFAULT_WORKERS = 4  # more get in one another's way: few functions are of one part alone


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up did.

    Attributes:
        seconds: how long it took.
        workers: the processes that shared the work.
        compiled: how many functions each part had compiled; 0: all that it needs was compiled
            before, by an earlier start or by a part named before it.
    """

    seconds: float
    workers: int
    compiled: Mapping[str, int]

    @property
    def num_compiled(self) -> int:
        """How many functions were compiled in all, one for several types counted for each."""
        return sum(self.compiled.values())


def warm_up(
    progress: Progress | None = None,
    *,
    workers: int | None = None,
    parts: Sequence[str] | None = None,
) -> WarmUp:
    """Compile what games, environments, players and solvers need, as far as it is not compiled.

    An interruption ends the processes at once; what they have compiled so far is kept.

    Args:
        progress: called with the work done and all of it, in seconds as they were measured once.
        workers: processes; None: one for each core, at most 4.
        parts: names out of `PARTS`; None: all of them.

    Raises:
        HeartsError: compiled code can be kept nowhere or compiling is switched off, `workers` or
            `parts` are no such thing, or a process came to an end.
    """
    names = list(PARTS) if parts is None else list(parts)
    if unknown := [name for name in names if name not in PARTS]:
        raise HeartsError(f"parts: no part {unknown[0]!r}; known: {', '.join(PARTS)}")
    if workers is not None:
        workers = check_number("workers", workers, 1, _MOST_WORKERS)
    _check_kept()
    begin = time.perf_counter()
    workers = workers or min(_cores(), _DEFAULT_WORKERS)
    helpers = [_Helper() for _ in range(min(workers, len(names)))]
    idle: queue.SimpleQueue[_Helper] = queue.SimpleQueue()
    for helper in helpers:
        idle.put(helper)

    def compile_part(name: str) -> tuple[str, int]:
        helper = idle.get()
        try:
            return name, helper.ask(name)
        finally:
            idle.put(helper)

    compiled = dict.fromkeys(names, 0)
    total, done = sum(PARTS[name].seconds for name in names), 0.0
    pool = ThreadPoolExecutor(max(1, len(helpers)))
    try:
        if progress is not None:
            progress(done, total)
        for future in as_completed([pool.submit(compile_part, name) for name in names]):
            name, compiled[name] = future.result()
            done += PARTS[name].seconds
            if progress is not None:
                progress(done, total)
    finally:
        for helper in helpers:
            helper.kill()
        pool.shutdown(cancel_futures=True)
        for helper in helpers:
            helper.close()
    return WarmUp(time.perf_counter() - begin, len(helpers), MappingProxyType(compiled))


def _check_kept() -> None:
    """Refuse to compile what would not be kept.

    Raises:
        HeartsError: no folder can be written, or compiling is switched off.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise HeartsError("NUMBA_DISABLE_JIT: it is set, so nothing is compiled; unset it")
    for package in (hearts_env, hearts_agents):
        if cache_folder(Path(package.__file__ or "").resolve().parent) is None:
            raise HeartsError(
                "NUMBA_CACHE_DIR: no folder can be written in which compiled code could be kept; "
                "set it to one that can"
            )


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# ---- the processes -------------------------------------------------------------------------------
class _Helper:
    """A process that does parts, one after another."""

    def __init__(self) -> None:
        """Start it."""
        # What it says is read only when it has failed.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 closed with the process
        self._process = start_child(
            [sys.executable, "-c", _PROGRAM],
            stderr=self._errors,
            environment=python_environment(),
        )

    def ask(self, name: str) -> int:
        """Have a part done; returns how many functions that compiled.

        Raises:
            HeartsError: the process came to an end.
            RuntimeError: the part raised something; its text is what it raised.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(name).encode() + b"\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()
            why = f" ({said[-1]})" if said else ""
            raise HeartsError(
                f"warmup: a process came to an end at {name!r}{why}; if memory is short, use one "
                "worker"
            ) from None
        if isinstance(answer, str):
            raise RuntimeError(f"{name}: {answer}")
        return int(answer)

    def kill(self) -> None:
        """End it at once; who waits for an answer gets none."""
        kill_child(self._process)

    def close(self) -> None:
        """Give back what belongs to it, when nobody asks any more."""
        close_pipes(self._process)
        self._errors.close()


def serve() -> None:
    """Do the parts named on standard input: a line for each, with the number of its functions."""
    for line in sys.stdin:
        try:
            answer: int | str = _compile(json.loads(line))
        except Exception:
            answer = traceback.format_exc()
        print(json.dumps(answer), flush=True)


def _compile(name: str) -> int:
    """Do a part; returns how many of the package's functions had to be compiled."""
    with event.install_recorder("numba:compile") as recorder:
        PARTS[name].work()
    return sum(
        e.is_start and e.data["dispatcher"].py_func.__module__.startswith("hearts_")
        for _, e in recorder.buffer
    )


# ---- the parts -----------------------------------------------------------------------------------
class Part(NamedTuple):
    """Something that people do with the package, to be done once."""

    seconds: float
    """What compiling it took once, after the parts before it."""
    work: Callable[[], object]


def _play(*presets: str) -> None:
    """Play a game of each, look at it and take it back."""
    for preset in presets:
        game = Game.deal(preset, 0)
        while legal := game.legal_actions():
            game.view(game.player or 0).to_text()
            game.play(legal[0])
        game.scores()
        Game.from_state(game.rules, game.vector).undo()


def _play_environments() -> None:
    """Play a deal with each way of writing observations: within the step, as bits, and after it."""
    for observation in ("flat", "bits", "planes"):
        env = hearts_v0.env("two_player", observation=observation)
        env.reset(seed=0)
        while env.agents:
            seen, _, is_over, _, _ = env.last()
            env.step(None if is_over else int(seen["action_mask"].argmax()))


def _play_batches() -> None:
    """Play many games until one is over and the next is dealt, observed after each card."""
    for observation, freeze in itertools.product(("flat", "bits"), (False, True)):
        batch = BatchGame("two_player", 2, observation=observation, freeze=freeze)
        while not batch.done.any():
            batch.step(batch.random_actions())
    batch.play(batch.random_actions())
    batch.masks()
    batch.restore(batch.state())
    batch.revoke(games=np.arange(1))


def _step_frozen(preset: str) -> None:
    """What `BatchGame` compiles for one rule set alone."""
    for observation in ("flat", "bits"):
        batch = BatchGame(preset, 2, observation=observation, freeze=True)
        batch.step(batch.random_actions())


def _observe() -> None:
    for name in ENCODERS:
        BatchGame("two_player", 2, observation=name).observe()


def _ask(*names: str) -> None:
    """Ask players for one action and for many."""
    game, batch = _begun(), BatchGame("two_player", 2)
    for name in names:
        agent = make_agent(name, seed=0)
        agent.act(game.view(game.player or 0))
        agent.act_batch(batch.views())


def _train() -> None:
    for rules, opponent in (("two_player", "pro"), ("hoyle", "easy")):  # for points, for chips
        envs = HeartsVectorEnv(2, rules=rules, opponent=opponent)
        envs.reset(seed=0)
        for _ in range(envs.rules.hand_size):
            envs.step(envs.arena.batch.random_actions())


def _fill_table() -> None:
    TranspositionTable("two_player")


def _solve() -> None:
    game = _begun()
    solve_double_dummy(game)
    solve_worlds(game.view(game.player or 0))
    solve_batch([game])


def _begun(tricks: int = 1) -> Game:
    """A game in which some tricks have been played."""
    game = Game.deal("two_player", 0)
    for _ in range(2 * tricks):
        game.play(game.legal_actions()[0])
    return game


def _solve_trees() -> None:
    for name in ALGORITHMS:
        found = solve("micro", name, iterations=2)
        found.hand_values()
        found.tree.find(BatchGame("micro", 2).views())
    agent = make_agent("easy", seed=0)
    exploit(agent, "micro")
    game = _begun(9)
    belief(game.view(game.player or 0), agent.action_probs)
    Endgame(game, (agent.action_probs, None))


def _attack() -> None:
    game = _begun(9)
    Attacker("standard", "lbr").act(game.view(game.player or 0))
    whole_game(Rules.preset("micro"), 0)


_part = functools.partial
PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "games": Part(5.0, _part(_play, *PRESETS)),
        "double-dummy endgames": Part(3.0, _fill_table),
        "batches": Part(11.0, _play_batches),
        "double-dummy solver": Part(7.0, _solve),
        "players": Part(7.0, _part(_ask, *NAMES)),
        "trees and equilibria": Part(7.0, _solve_trees),
        "vector environments": Part(4.0, _train),
        "environments": Part(2.0, _play_environments),
        "observations": Part(3.0, _observe),
        "pimc": Part(1.0, _part(_ask, "pimc")),
        "champion": Part(2.0, _part(_ask, "champion", "champion?search=2&match=true")),
        "attackers": Part(2.0, _attack),
        **{
            f"batches of {preset}": Part(1.0, _part(_step_frozen, preset))
            for preset in PRESETS
            if preset != "two_player"
        },
    }
)
"""What a warm-up does, in this order; each process takes the next when it is done with one."""
