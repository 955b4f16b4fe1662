"""Speed on this machine: the game, the environments, the batch and the players, and the peers.

Every contestant is measured for a while in each of several rounds, in turn, so that a machine
that slows down slows all of them; figures are medians over the rounds. Ours run on one core unless
stated otherwise. Peers that are not installed are named and omitted (extra ``bench``).
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import itertools
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import peers
from bench.peers import Measure, aec, in_jax, rate
from hearts_agents import make_agent
from hearts_agents.envs.vector import HeartsVectorEnv
from hearts_env import BatchGame, Game, Rules, hearts_v0
from hearts_env import kernel as k
from hearts_env.batch.kernel import choose, seed_random
from hearts_env.support.jit import jit
from hearts_env.support.progress import Progress
from hearts_train import load_config
from hearts_train.learn.loop import make_learner
from hearts_train.measure.display import BLUE, GREY, new_figure, save_figure

GROUPS = {
    "aec": "PettingZoo's AEC interface: last() and step()",
    "parallel": "PettingZoo's parallel interface: step() for all agents",
    "turns": "an environment turn by turn, in the loop of its own library",
    "game": "one game from Python: legal actions and play",
    "observed": "one game from Python, observed at every decision",
    "kernel": "compiled random playouts",
    "batch": "many games: masks and flat observations at every decision",
    "jax": "4,096 games in one program of JAX, by processor second",
    "compile": "compiling that program, processor time",
    "vector": "Gymnasium's vector environment, opponents inside",
    "train": "training, by processor second",
    "players": "players, one decision",
    "start": "a game of hearts_v0.env in a new process: processor time, imports included",
}
"""What is compared with what, in the order of the tables."""

_RATES = [
    (group, title)
    for group, title in GROUPS.items()
    if group not in ("players", "start", "compile")
]
_ROUNDS = 5
_BOT = Path(__file__).resolve().parents[1] / "examples" / "bots" / "low_bot.py"
_C = "C, one core"
"""What ``Yardstick`` is called."""


@dataclass(frozen=True)
class Result:
    """What was measured of one contestant; without figures where it is not installed."""

    group: str
    name: str
    unit: str
    ours: bool
    value: float | None = None
    low: float | None = None
    high: float | None = None
    missing: str = ""


def run_bench(
    *,
    quick: bool = False,
    with_peers: bool = True,
    group: str | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Measure all groups, or one: medians, least and most over the rounds."""
    seconds, rounds = (0.03, 3) if quick else (0.5, _ROUNDS)
    entered = [(True, *case) for case in _ours()]
    if with_peers:
        entered += [(False, *case) for case in peers.contestants()]
    if group is not None:
        entered = [case for case in entered if case[1] == group]
    total, done = (rounds + 1) * len(entered), 0
    measures: list[Measure | None] = []
    missing: list[str] = []
    values: list[list[float]] = [[] for _ in entered]
    for number in range(rounds + 1):
        for place, (_, _, _, unit, make) in enumerate(entered):
            if progress is not None:
                progress(done, total)
            done += 1
            if number == 0:  # makes it; compiles, fills caches
                measure, reason = _made(make)
                measures.append(measure)
                missing.append(reason)
                continue
            if (measure := measures[place]) is not None:
                speed = measure(seconds)
                values[place].append(1000 / speed if unit == "ms" else speed)
    return [
        Result(group, name, unit, ours, statistics.median(speeds), min(speeds), max(speeds))
        if speeds
        else Result(group, name, unit, ours, missing=why)
        for (ours, group, name, unit, _), speeds, why in zip(entered, values, missing, strict=True)
    ]


def _made(make: Callable[[], Measure]) -> tuple[Measure | None, str]:
    """A contestant that is ready to be measured, or None and the reason."""
    try:
        measure = make()
        measure(0.0)
    except ImportError as error:
        return None, f"not installed: {error.name or error}"
    except Exception as error:  # a peer that fails is named and omitted, whatever the error
        return None, f"{type(error).__name__}: {error}"
    return measure, ""


# ---- showing -------------------------------------------------------------------------------------
def tables(results: Sequence[Result]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Title, columns and rows, a table per group; ratios are to the best peer of the group.

    The last column of batches is their share of the yardstick's speed, where it was measured.
    """
    for group, title in GROUPS.items():
        members = [r for r in results if r.group == group and r.value is not None]
        if not members:
            continue
        best = max((r.value or 0.0 for r in members if not r.ours), default=0.0)
        limits = {_games(r): r.value or 0.0 for r in members if r.name.startswith(_C)}
        rows = []
        for r in sorted(members, key=lambda r: (r.value or 0.0) * (1 if r.unit == "ms" else -1)):
            spread = f"{_shown(r.low, r.unit)} - {_shown(r.high, r.unit)}"
            ratio = f"{(r.value or 0.0) / best:.2f}" if best else ""
            rows.append([r.name, _shown(r.value, r.unit), spread, ratio])
            if limits:
                limit = limits.get(_games(r))
                rows[-1].append(f"{(r.value or 0.0) / limit:.2f}" if limit else "")
        columns = ["", f"{members[0].unit}, median", "least - most", "ratio" if best else ""]
        yield title, columns + [f"of {_C}"] * bool(limits), rows


def _games(result: Result) -> str:
    """How many games the yardstick has to play for the same work; "" for other work."""
    found = re.match(r"[^,]*\((\d+)\)(\.step)?(, \d threads)?, two_player$", result.name)
    found = found or re.match(rf"{_C} \((\d+)\), two_player$", result.name)
    return found[1] if found else ""


def left_out(results: Sequence[Result]) -> list[str]:
    """The contestants that could not be measured, and why."""
    return [f"{r.name} ({r.missing})" for r in results if r.value is None]


def to_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Results of types that JSON knows."""
    return [asdict(result) for result in results]


def draw(results: Sequence[Result], path: Path) -> None:
    """A bar chart of every group with rates, ours and the peers' in two colours, as a plot."""
    groups = [(title, [r for r in results if r.group == g and r.value]) for g, title in _RATES]
    charts = [(title, members) for title, members in groups if members]
    heights = [len(members) + 1.2 for _, members in charts]
    figure = new_figure(8, 0.36 * sum(heights))
    grid = figure.subplots(len(charts), squeeze=False, height_ratios=heights)[:, 0]
    for axes, (title, members) in zip(grid, charts, strict=True):
        members = sorted(members, key=lambda r: r.value or 0.0)
        speeds = [r.value or 0.0 for r in members]
        colors = [BLUE if r.ours and not r.name.startswith(_C) else GREY for r in members]
        axes.barh([r.name for r in members], speeds, color=colors, height=0.7)
        for place, speed in enumerate(speeds):
            label = f" {_shown(speed, '')}"
            axes.annotate(label, (speed, place), va="center", fontsize=8)
        axes.set_title(f"{title}, {members[0].unit}", fontsize=9, loc="left")
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0, labelsize=8)
        axes.margins(x=0.15)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    save_figure(figure, path, dpi=130)


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if unit == "ms" and value < 1000 else f"{value:,.0f}"


# ---- our own -------------------------------------------------------------------------------------
def _ours() -> Iterator[tuple[str, str, str, Callable[[], Measure]]]:
    part = functools.partial
    for kind, preset in (("raw_env", "two_player"), ("env", "two_player"), ("env", "classic")):
        env = getattr(hearts_v0, kind)(rules=preset)
        yield "aec", f"hearts_v0.{kind}, {preset}", "steps/s", part(aec, env)
        if kind == "env":
            yield "turns", f"hearts_v0.env, {preset}", "steps/s", part(aec, env)
    for noop in (False, True):
        name = "hearts_v0.parallel_env" + ", noop" * noop
        yield "parallel", f"{name}, two_player", "steps/s", part(_parallel, noop=noop)
    for preset in ("two_player", "classic"):
        rules = Rules.preset(preset)
        yield "game", f"Game, {preset}", "actions/s", part(_game, rules)
        for name, into in (("Game.observe", "array"), ("Game.observe, new array", "new array")):
            measure = part(_game, rules, into=into)
            yield "observed", f"{name}, flat, {preset}", "actions/s", measure
        yield "kernel", f"kernel, {preset}", "actions/s", part(_playouts, rules)
        for way in _BATCHES:
            yield "batch", f"{way}, {preset}", "decisions/s", part(_batch, rules, way)
    two = Rules.preset("two_player")
    for rules in (two, Rules.preset("mini")):
        yield from in_jax(part(_in_jax, rules), f"hearts_env.jax, {rules.name}")
    for opponent in ("standard_trump", "pro"):
        yield "vector", f"against {opponent}", "decisions/s", part(_vector, opponent)
    for games in _SIZES:
        yield "batch", f"{_C} ({games}), two_player", "decisions/s", part(_yardstick, games)
    for recipe, threads, precision in itertools.product(*_TRAINED):
        name = f"{recipe}, {threads} thread{'s' * (threads > 1)}, {precision}"
        measure = part(_train, recipe, threads=threads, precision=precision)
        yield "train", name, "decisions/s", measure
    yield "train", "maskable (sb3-contrib), 1 thread", "decisions/s", part(_train, "maskable")
    players = {name: name for name in ("standard", "pro", "pimc")}
    players["a program (exec:low_bot.py)"] = f"exec:{sys.executable} -IS {_BOT}"
    for name, spec in players.items():
        yield "players", f"{name}, act", "ms", part(_act, two, spec, many=False)
        yield "players", f"{name}, act_batch", "ms", part(_act, two, spec, many=True)
    for when, is_compiled in (("nothing compiled", False), ("all compiled", True)):
        yield "start", when, "ms", part(_first_game, is_compiled=is_compiled)


def _parallel(*, noop: bool) -> Measure:
    env, rng, seed = hearts_v0.parallel_env(noop=noop), random.Random(1), 0

    def play() -> int:
        nonlocal seed
        seed += 1
        steps = 0
        observations, _ = env.reset(seed=seed)
        while env.agents:
            masks = [seen["action_mask"].nonzero()[0] for seen in observations.values()]
            actions = [
                legal[int(rng.random() * len(legal))] if len(legal) else 0 for legal in masks
            ]
            observations, *_ = env.step(dict(zip(observations, actions, strict=True)))
            steps += 1
        return steps

    return lambda seconds: rate(seconds, play)


def _game(rules: Rules, *, into: str = "") -> Measure:
    """Random play; each decision is observed `into` one array, into a new one, or not at all."""
    rng, seed = random.Random(1), 0
    out = Game.deal(rules, 0).observe() if into == "array" else None

    def play() -> int:
        nonlocal seed
        seed += 1
        game, actions = Game.deal(rules, seed), 0
        while legal := game.legal_actions():
            if into:
                game.observe(out)
            game.play(legal[int(rng.random() * len(legal))])
            actions += 1
        return actions

    return lambda seconds: rate(seconds, play)


@jit
def _play_out(r: k.Vector, s: k.Vector, rng: Any, first_seed: int, deals: int) -> int:
    """Play deals with uniformly random legal actions; returns the number of actions."""
    actions = 0
    for number in range(deals):
        k.deal(r, s, first_seed + number, -1, -1)
        while s[k.PHASE] != k.OVER:
            k.play(r, s, k.random_card(rng, k.legal_mask(r, s)))
            actions += 1
    return actions


def _playouts(rules: Rules) -> Measure:
    state, rng, seed = np.zeros(rules.state_size, np.int64), np.array([5], np.uint64), 0

    def play() -> int:
        nonlocal seed
        seed += 1000
        return _play_out(rules.vector, state, rng, seed, 1000)

    return lambda seconds: rate(seconds, play)


class _Way(NamedTuple):
    """How a batch is played."""

    games: int
    threads: int = 1
    is_step: bool = True
    """By one call of ``step`` instead of ``observe``, ``masks`` and ``play``."""

    def __str__(self) -> str:
        calls = ".step" if self.is_step else ""
        threads = f", {self.threads} threads" if self.threads > 1 else ""
        return f"BatchGame({self.games}){calls}{threads}"


_SIZES = (1024, 4096, 16_384, 65_536)
_BATCHES = (
    _Way(4096, is_step=False),
    *[_Way(games) for games in _SIZES],
    *[_Way(games, threads=2) for games in _SIZES if games >= 16_384],  # no effect below
)


def _spread(batch: BatchGame) -> BatchGame:
    """`batch` with games everywhere between their first and last card."""
    parts = np.array_split(np.arange(batch.num_games), 30)
    for number in range(len(parts)):
        for some in parts[:number]:
            batch.play(batch.random_actions(games=some), games=some)
    return batch


def _batch(rules: Rules, way: _Way) -> Measure:
    """Every decision observed and masked; without the time that choosing at random takes."""
    games = way.games
    batch = BatchGame(rules, games, seed=3, num_threads=way.threads)
    observations, masks = batch.observe(), batch.masks()
    batch.step(batch.random_actions(), observations, masks)  # compiles
    _spread(batch)

    def step(actions: k.Vector) -> None:
        if way.is_step:
            batch.step(actions, observations, masks)
        else:
            batch.observe(observations)
            batch.masks(masks)
            batch.play(actions)

    return _steps(games, batch.random_actions, step)


def _in_jax(rules: Rules) -> Any:
    return importlib.import_module("hearts_env.jax").Hearts(rules)


def _steps(games: int, draw: Callable[[], Any], step: Callable[[Any], object]) -> Measure:
    """Decisions per second of `step`, without the time of `draw`."""

    def measure(seconds: float) -> float:
        done, spent = 0, 0.0
        while True:
            actions = draw()
            begin = time.perf_counter()
            step(actions)
            spent += time.perf_counter() - begin
            done += games
            if spent >= seconds:
                return done / spent

    return measure


class Yardstick:
    """``BatchGame("two_player", num_games, seed)`` in C, as far as ``step`` goes.

    Raises:
        ImportError: if there is no C compiler.
    """

    def __init__(self, num_games: int, seed: int) -> None:
        if (compiler := shutil.which("cc")) is None:
            raise ImportError("no C compiler", name="cc")
        with tempfile.TemporaryDirectory() as folder:
            library, source = Path(folder, "yardstick.so"), Path(__file__).with_name("yardstick.c")
            options = ["-O3", "-march=native", "-shared", "-fPIC", "-o"]
            subprocess.check_output([compiler, *options, library, source], stderr=subprocess.STDOUT)
            self._code = ctypes.CDLL(str(library))
        memory = np.zeros(64 * (num_games + 1), np.uint8)
        start = -memory.ctypes.data % 64  # each game in a line of the cache
        games = memory[start : start + 64 * num_games].reshape(num_games, 64)
        self._all, self._random = np.arange(num_games), np.empty(num_games, np.uint64)
        self.legal, self.done = np.empty(num_games, np.int64), np.zeros(num_games, np.bool_)
        self.last_scores = np.zeros((num_games, 2), np.int64)
        self.play = (games, self.legal)
        """What play changes and the next step reads, a row a game."""
        self._about = (self._at(games), ctypes.c_int64(num_games), ctypes.c_uint64(seed))
        self._tables = tuple(map(self._at, (self.legal, self.done, self.last_scores)))
        self._code.begin(*self._about, self._tables[0])
        seed_random(self._random, seed)

    @staticmethod
    def _at(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def random_actions(self) -> k.Vector:
        """A random legal action of each game."""
        actions = np.zeros(len(self.legal), np.int64)
        choose(self.legal, self._all, self._random, actions)
        return actions

    def step(self, actions: k.Vector, observations: np.ndarray, masks: np.ndarray) -> None:
        """As that of ``BatchGame``, but no array is checked."""
        arrays = map(self._at, (actions, observations, masks))
        if self._code.step(*self._about, *self._tables, *arrays):
            raise ValueError("illegal actions")


def agreed(num_games: int, seed: int, steps: int) -> Yardstick:
    """The yardstick after steps in which it did what ``BatchGame`` does, byte for byte.

    Raises:
        ImportError: if there is no C compiler.
        AssertionError: if they differ.
    """
    ours, its = BatchGame("two_player", num_games, seed), Yardstick(num_games, seed)
    shown, mask = ours.observe(), ours.masks()
    its_shown, its_mask = np.full_like(shown, -1), np.full_like(mask, -1)
    for number in range(steps):
        actions = ours.random_actions()
        ours.step(actions, shown, mask)
        its.step(actions, its_shown, its_mask)
        for one, other in (
            (shown, its_shown),
            (mask, its_mask),
            (ours.done, its.done),
            (ours.scores(), its.last_scores),
        ):
            if not np.array_equal(one, other):
                raise AssertionError(f"yardstick.c differs from BatchGame in step {number}")
    return its


def _yardstick(games: int) -> Measure:
    """As ``_batch``, games everywhere in their deals, once it has agreed with ``BatchGame``."""
    batch = agreed(games, 3, 60)
    observations, masks = np.empty((games, 200), np.int8), np.empty((games, 28), np.int8)
    kept = [array.copy() for array in batch.play]
    for some in np.array_split(np.arange(games), 30):
        for before, now in zip(kept, batch.play, strict=True):
            before[some] = now[some]
        batch.step(batch.random_actions(), observations, masks)
    for before, now in zip(kept, batch.play, strict=True):
        now[:] = before
    return _steps(
        games, batch.random_actions, lambda actions: batch.step(actions, observations, masks)
    )


def _vector(opponent: str) -> Measure:
    envs = HeartsVectorEnv(1024, opponent=opponent)
    envs.reset(seed=0)

    def play() -> int:
        envs.step(envs.arena.batch.random_actions())
        return envs.num_envs

    return lambda seconds: rate(seconds, play)


_TRAINED = ("demo", "champion"), (1, 2), ("float32", "bfloat16")
"""Configurations, threads and precisions."""


def _train(config: str, **settings: Any) -> Measure:
    fixed = {"pretraining.positions": 0, "compile": False} if config != "maskable" else {}
    short = {"ppo.num_steps": 8}  # so that an update takes less than a round
    learner = make_learner(load_config(config, {**fixed, **short, **settings}))
    learner.warm_up()

    def update() -> int:
        before = learner.counters.decisions
        learner.update()
        return learner.counters.decisions - before

    return lambda seconds: rate(seconds, update, time.process_time)


_GAME = """
import time
from hearts_env import hearts_v0
env = hearts_v0.env()
env.reset(seed=1)
for agent in env.agent_iter():
    seen, _, is_over, _, _ = env.last()
    env.step(None if is_over else int(seen["action_mask"].argmax()))
print(time.process_time())
"""


def _first_game(*, is_compiled: bool) -> Measure:
    """A game in a new process, with an empty folder of compiled functions or with this one's."""

    def measure(_: float) -> float:
        with tempfile.TemporaryDirectory() as folder:
            own = {} if is_compiled else {"NUMBA_CACHE_DIR": folder}
            words = [sys.executable, "-c", _GAME]
            return 1 / float(subprocess.check_output(words, env=os.environ | own))

    return measure


def _act(rules: Rules, name: str, *, many: bool) -> Measure:
    """Decisions from the first card of a deal to the last, each view shown once.

    Both ways see the same games. With fewer, ``pimc`` finds more of its positions solved before.
    """
    agent, batch = make_agent(name, seed=0), _spread(BatchGame(rules, 512, seed=4))

    def measure(seconds: float) -> float:
        done, spent = 0, 0.0
        while True:
            batch.play(batch.random_actions())
            views = batch.views() if many else list(batch.views())
            begin = time.perf_counter()
            done += len(agent.act_batch(views) if many else [agent.act(view) for view in views])
            spent += time.perf_counter() - begin
            if spent >= seconds:
                return done / spent

    return measure
