"""Compile everything before a user waits for it, in several processes at once.

Each process takes one part after another. Functions that an earlier run or another process has
compiled come from numba's cache on disk, so the processes share the work. Only a function that two
of them need at the same moment is compiled twice.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numba.core import event

import hearts_agents
import hearts_env
from hearts_agents import make_agent
from hearts_agents.attackers import Attacker
from hearts_agents.baselines import NAMES
from hearts_agents.envs.vector import HeartsVectorEnv
from hearts_env import BatchGame, Game, HeartsError, Rules, hearts_v0
from hearts_env.encoders import ENCODERS
from hearts_env.rules.presets import PRESETS
from hearts_env.solve import TranspositionTable, solve_batch, solve_double_dummy, solve_worlds
from hearts_env.solve.beliefs import belief
from hearts_env.solve.best_response import exploitability_of
from hearts_env.solve.response import whole_game
from hearts_env.support.jit import cache_folder, unsaved
from hearts_env.support.progress import Progress, no_progress
from hearts_train.equilibria import solve
from hearts_train.executor import check_executor, num_cores, spread

_DEFAULT_WORKERS = 4  # more processes often compile the same function: parts share most of them


def warm_up(progress: Progress = no_progress, *, workers: int | None = None) -> int:
    """Compile the code of games, environments, players and solvers that is not compiled yet.

    An interruption ends the processes at once. Compiled functions stay.

    Args:
        progress: called with the number of parts done and of all parts.
        workers: the number of processes. If None, one per core, but at most 4.

    Returns:
        The number of functions that were compiled, counted once per signature.

    Raises:
        HeartsError: if compiled code cannot be saved, compiling is switched off, `workers` is
            invalid, or three processes ended at the same part.
    """
    names = list(PARTS)
    wanted, _ = check_executor(workers, "local")
    _check_cache()
    size = max(1, min(wanted or min(num_cores(), _DEFAULT_WORKERS), len(names)))
    compiled = 0
    progress(0, len(names))
    with contextlib.closing(spread(_compile, names, workers=size, apart=True)) as counts:
        for done, count in enumerate(counts, 1):
            compiled += count
            progress(done, len(names))
    return compiled


def _check_cache() -> None:
    """Raise if compiled code would not be saved."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise HeartsError("NUMBA_DISABLE_JIT: it is set, so nothing is compiled; unset it")
    for package in (hearts_env, hearts_agents):
        if cache_folder(Path(package.__file__ or "").resolve().parent) is None:
            raise HeartsError(
                "NUMBA_CACHE_DIR: no folder for compiled code is writable; set it to one that is"
            )


def _compile(name: str) -> int:
    """Do a part. Return the number of the package's functions that were compiled."""
    # Announcements of several processes would disturb the progress line.
    quiet = contextlib.redirect_stderr(io.StringIO())
    with quiet, event.install_recorder("numba:compile") as recorder:
        PARTS[name]()
    if unsaved:
        raise HeartsError(f"compiled code: {unsaved[0]}; make room, or set NUMBA_CACHE_DIR")
    return sum(
        e.is_start and e.data["dispatcher"].py_func.__module__.startswith("hearts_")
        for _, e in recorder.buffer
    )


# ---- the parts -----------------------------------------------------------------------------------
def _play(*presets: str) -> None:
    """Play a game of each preset, view it and undo an action."""
    for preset in presets:
        game = Game.deal(preset, 0)
        while legal := game.legal_actions():
            game.view(game.current_player or 0).to_text()
            game.play(legal[0])
        game.scores()
        Game.from_state(game.rules, game.vector).undo()


def _play_environments() -> None:
    """Play a deal with observations that are written within the step, and after it."""
    for observation in ("flat", "history"):
        env = hearts_v0.env("two_player", observation=observation)
        env.reset(seed=0)
        while env.agents:
            seen, _, is_over, _, _ = env.last()
            env.step(None if is_over else int(seen["action_mask"].argmax()))


def _play_batches() -> None:
    """Play batches of games until one is over, and use the other methods of a batch."""
    for freeze in (False, True):
        batch = BatchGame("two_player", 2, freeze=freeze)
        while not batch.done.any():
            batch.step(batch.random_actions())
    batch.play(batch.random_actions())
    batch.masks()
    batch.restore(batch.state())
    batch.revoke(games=np.arange(1))


def _step_frozen(preset: str) -> None:
    """Compile the step of a `BatchGame` that is specialised for one rule set."""
    batch = BatchGame(preset, 2, freeze=True)
    batch.step(batch.random_actions())


def _observe() -> None:
    for name in ENCODERS:
        BatchGame("two_player", 2, observation=name).observe()


def _ask(*names: str) -> None:
    """Ask players for one action, and for many."""
    game, batch = _after_tricks(), BatchGame("two_player", 2)
    for name in names:
        agent = make_agent(name, seed=0)
        agent.act(game.view(game.current_player or 0))
        agent.act_batch(batch.views())


def _train() -> None:
    for rules, opponent in (("two_player", "pro"), ("hoyle", "easy")):  # for points, for chips
        envs = HeartsVectorEnv(2, rules=rules, opponent=opponent)
        envs.reset(seed=0)
        for _ in range(envs.rules.hand_size):
            envs.step(envs.arena.batch.random_actions())


def _solve() -> None:
    game = _after_tricks()
    solve_double_dummy(game)
    solve_worlds(game.view(game.current_player or 0))
    solve_batch([game])


def _after_tricks(tricks: int = 1) -> Game:
    """Return a game after some tricks."""
    game = Game.deal("two_player", 0)
    for _ in range(2 * tricks):
        game.play(game.legal_actions()[0])
    return game


def _solve_trees() -> None:
    found = solve("micro", iterations=2)
    found.tree.find(BatchGame("micro", 2).views())
    agent = make_agent("easy", seed=0)
    exploitability_of(agent, "micro")
    game = _after_tricks(9)
    belief(game.view(game.current_player or 0), agent.action_probs)


def _attack() -> None:
    game = _after_tricks(9)
    Attacker("standard", "lbr").act(game.view(game.current_player or 0))
    whole_game(Rules.preset("micro"), 0)


_part = functools.partial
PARTS: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "games": _part(_play, *PRESETS),
        "double-dummy endgames": _part(TranspositionTable, "two_player"),
        "batches": _play_batches,
        "double-dummy solver": _solve,
        "players": _part(_ask, *NAMES),
        "trees and equilibria": _solve_trees,
        "vector environments": _train,
        "environments": _play_environments,
        "observations": _observe,
        "pimc": _part(_ask, "pimc"),
        "champion": _part(_ask, "champion", "champion?search=2"),
        "attackers": _attack,
        **{
            f"batches of {preset}": _part(_step_frozen, preset)
            for preset in PRESETS
            if preset != "two_player"
        },
    }
)
"""The parts of a warm-up in order. A free process takes the next one."""
