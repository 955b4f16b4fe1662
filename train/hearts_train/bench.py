"""Speed on this machine: the game, the environments, the batch and the players, in one run.

Every figure is the median of several measurements on one core, the machine's other work included;
compare figures of one run with each other rather than with those of another machine. Other
packages are measured beside this one by ``bench/peers.py``.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents import make_agent
from hearts_agents.table import AGENTS
from hearts_env import BatchGame, Game, Rules
from hearts_env import kernel as k
from hearts_env._jit import jit
from hearts_env.encoders import ENCODERS
from hearts_env.rules import PRESETS

Result = dict[str, Any]
Progress = Callable[[float, float], None]

_REPEATS = 5
_BATCH = 4096


def run_bench(*, quick: bool = False, progress: Progress | None = None) -> list[Result]:
    """Measure everything; each result has ``name``, ``value``, ``unit``, ``low`` and ``high``."""
    seconds = 0.05 if quick else 0.5
    cases = list(_cases())
    results = []
    for number, (name, unit, measure) in enumerate(cases):
        if progress is not None:
            progress(number, len(cases))
        measure(seconds / 10)  # compiles, fills caches
        rates = [measure(seconds) for _ in range(3 if quick else _REPEATS)]
        values = [1000 / rate if unit == "ms" else rate for rate in rates]
        results.append(
            {
                "name": name,
                "value": statistics.median(values),
                "unit": unit,
                "low": min(values),
                "high": max(values),
            }
        )
    return results


def to_rows(results: Sequence[Result]) -> list[list[str]]:
    """Results as rows of a table."""
    rows = []
    for result in results:
        value = result["value"]
        shown = f"{value:.3g}" if result["unit"] == "ms" else f"{value:,.0f}"
        rows.append([result["name"], shown, result["unit"]])
    return rows


def _cases() -> Iterator[tuple[str, str, Callable[[float], float]]]:
    for preset in ("two_player", "classic"):
        play = functools.partial(_play_game, Rules.preset(preset))
        yield f"Game from Python, {preset}", "actions/s", play
    for kind in ("raw_env", "env"):
        yield f"hearts_v0.{kind}, two_player", "steps/s", functools.partial(_play_env, kind)
    for preset in ("two_player", "classic"):
        play = functools.partial(_play_batch, Rules.preset(preset))
        yield f"BatchGame, masks and flat, {preset}", "decisions/s", play
    two = Rules.preset("two_player")
    for name in ("standard", "pro"):
        yield f"{name}, one decision", "ms", functools.partial(_ask_agent, two, name)
        yield f"{name}, one of many", "ms", functools.partial(_ask_agent_batch, two, name)


def _rate(seconds: float, work: Callable[[], int]) -> float:
    """How much of `work` is done a second, which tells how much it did."""
    done, begin = 0, time.perf_counter()
    while True:
        done += work()
        gone = time.perf_counter() - begin
        if gone >= seconds:
            return done / gone


def _choices(rng: np.random.Generator) -> Callable[[int], int]:
    """Quick random numbers below n, so that choosing is not what is measured."""
    numbers = rng.integers(2**30, size=4096).tolist()
    place = 0

    def choose(n: int) -> int:
        nonlocal place
        place = (place + 1) & 4095
        return int(numbers[place] % n)

    return choose


def _play_game(rules: Rules, seconds: float) -> float:
    choose = _choices(np.random.default_rng(1))
    seed = 0

    def play() -> int:
        nonlocal seed
        seed += 1
        game = Game.deal(rules, seed)
        actions = 0
        while legal := game.legal_actions():
            game.play(legal[choose(len(legal))])
            actions += 1
        return actions

    return _rate(seconds, play)


def _play_env(kind: str, seconds: float) -> float:
    from hearts_env import hearts_v0

    env = getattr(hearts_v0, kind)()
    choose = _choices(np.random.default_rng(2))
    seed = 0

    def play() -> int:
        nonlocal seed
        seed += 1
        env.reset(seed=seed)
        steps = 0
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[choose(len(legal))]))
            steps += 1
        return steps

    return _rate(seconds, play)


@jit
def _choose_all(r: k.Vector, states: k.Vector, rng: NDArray[np.uint64], out: k.Vector) -> None:
    """Write a random legal action for each game, so that choosing is not what is measured."""
    for i in range(len(states)):
        out[i] = k.random_card(rng, k.legal_mask(r, states[i]))


def _play_batch(rules: Rules, seconds: float) -> float:
    batch = BatchGame(rules, _BATCH, seed=3)
    observations, masks = batch.observe(), batch.masks()
    actions, rng = np.zeros(_BATCH, np.int64), np.array([3], np.uint64)

    def play() -> int:
        batch.observe(observations)
        batch.masks(masks)
        _choose_all(rules.vector, batch.states, rng, actions)
        batch.play(actions)
        return _BATCH

    return _rate(seconds, play)


def _middle(rules: Rules, games: int) -> BatchGame:
    """Games a few cards after the start, as random play leaves them."""
    batch = BatchGame(rules, games, seed=4, autodeal=False)
    actions, rng = np.zeros(games, np.int64), np.array([4], np.uint64)
    for _ in range(3 * rules.players):
        _choose_all(rules.vector, batch.states, rng, actions)
        batch.play(actions)
    return batch


def _ask_agent(rules: Rules, name: str, seconds: float) -> float:
    agent, views = make_agent(name, seed=0), list(_middle(rules, 64).views())

    def ask() -> int:
        for view in views:
            agent.act(view)
        return len(views)

    return _rate(seconds, ask)


def _ask_agent_batch(rules: Rules, name: str, seconds: float) -> float:
    agent, views = make_agent(name, seed=0), _middle(rules, 512).views()

    def ask() -> int:
        agent.act_batch(views)
        return len(views)

    return _rate(seconds, ask)


# ---- compiling -----------------------------------------------------------------------------------
def warm_up(progress: Progress | None = None) -> float:
    """Compile everything that games, environments and players need; returns the seconds it took."""
    begin = time.perf_counter()
    two = Rules.preset("two_player")
    parts: list[Callable[[], object]] = []
    parts += [functools.partial(_finish, Rules.preset(preset)) for preset in PRESETS]
    parts += [BatchGame(two, 2, observation=name).observe for name in ENCODERS]
    parts += [functools.partial(_play_env, "env", 0.0), functools.partial(_play_batch, two, 0.0)]
    for name in AGENTS:
        parts.append(functools.partial(_ask_agent, two, name, 0.0))
        parts.append(functools.partial(_ask_agent_batch, two, name, 0.0))
    for number, part in enumerate(parts):
        if progress is not None:
            progress(number, len(parts))
        part()
    return time.perf_counter() - begin


def _finish(rules: Rules) -> None:
    """Play a game, look at it and take it back, so that all of it is compiled."""
    game = Game.deal(rules, 0)
    while legal := game.legal_actions():
        game.view(game.player or 0).to_text()
        game.play(legal[0])
    game.scores()
    game.undo()
