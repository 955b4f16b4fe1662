"""Other libraries that the bench measures: random legal play, in the way their users write it.

Each function here makes a contestant, or raises ImportError if the library is not installed.
"""

from __future__ import annotations

import functools
import importlib
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Measure = Callable[[float], float]
"""Plays for about the given number of seconds; returns steps per second."""


def rate(
    seconds: float, work: Callable[[], int], clock: Callable[[], float] = time.perf_counter
) -> float:
    """The units of `work` done per second; each call returns how many it did."""
    done, begin = 0, clock()
    while True:
        done += work()
        gone = clock() - begin
        if gone >= seconds:
            return done / gone


def aec(
    env: Any, *, sample: bool = False, clock: Callable[[], float] = time.perf_counter
) -> Measure:
    """Random legal play through ``last()`` and ``step()``, as PettingZoo's tutorials have it.

    Args:
        env: the environment.
        sample: draw actions with the action space, as PettingZoo's own examples do.
        clock: what seconds are read from.
    """
    rng = random.Random(0)
    seed = 0

    def play() -> int:
        nonlocal seed
        seed += 1
        env.reset(seed=seed)
        steps = 0
        for agent in env.agent_iter():
            observation, _, termination, truncation, info = env.last()
            if termination or truncation:
                env.step(None)
                continue
            has_mask = isinstance(observation, dict) and "action_mask" in observation
            mask = (observation if has_mask else info)["action_mask"]
            if sample:
                env.step(env.action_space(agent).sample(mask))
            else:
                legal = mask.nonzero()[0]
                env.step(int(legal[int(rng.random() * len(legal))]))
            steps += 1
        return steps

    return lambda seconds: rate(seconds, play, clock)


def pettingzoo(module: str) -> Measure:
    """A game of PettingZoo's own."""
    return aec(importlib.import_module(f"pettingzoo.classic.{module}").env())


def rlcard(name: str) -> Measure:
    """A game of RLCard, through its own ``step``, which returns observation and legal actions."""
    env = importlib.import_module("rlcard").make(name, config={"seed": 0})
    rng = random.Random(0)

    def play() -> int:
        state, _ = env.reset()
        steps = 0
        while not env.is_over():
            legal = list(state["legal_actions"])
            state, _ = env.step(legal[int(rng.random() * len(legal))])
            steps += 1
        return steps

    return lambda seconds: rate(seconds, play)


def shimmy_hearts() -> Measure:
    """OpenSpiel's hearts as a PettingZoo environment."""
    compatibility = importlib.import_module("shimmy.openspiel_compatibility")
    game = importlib.import_module("pyspiel").load_game("hearts")
    return aec(compatibility.OpenSpielCompatibilityV0(env=game, render_mode=None))


def openspiel(*, tensor: bool) -> Measure:
    """OpenSpiel's hearts from Python; with `tensor`, observed the quickest way there is."""
    pyspiel = importlib.import_module("pyspiel")
    game = pyspiel.load_game("hearts")
    rng = random.Random(0)
    observation: Any = None
    if tensor:
        module = importlib.import_module("open_spiel.python.observation")
        kind = pyspiel.IIGObservationType(perfect_recall=True)
        observation = module.make_observation(game, kind)

    def play() -> int:
        state, steps = game.new_initial_state(), 0
        while not state.is_terminal():
            if observation is not None and not state.is_chance_node():
                observation.set_from(state, state.current_player())
            actions = state.legal_actions()
            steps += not state.is_chance_node()
            state.apply_action(actions[int(rng.random() * len(actions))])
        return steps

    return lambda seconds: rate(seconds, play)


def pgx(name: str) -> Any:
    """An environment of Pgx; bridge bidding with deals and results that are made up here.

    Its own table has to be fetched, and what the table holds does not change the speed.
    """
    if name != "bridge_bidding":
        return importlib.import_module("pgx").make(name)
    rng = np.random.default_rng(0)
    owners = rng.permuted(np.tile(np.arange(4).repeat(13), (10_000, 1)), axis=1)
    keys = owners.reshape(-1, 4, 13) @ 4 ** np.arange(13)
    with tempfile.NamedTemporaryFile(suffix=".npy") as table:
        np.save(table, np.stack([keys, rng.integers(16**5, size=keys.shape)]).astype(np.int32))
        table.flush()
        return importlib.import_module("pgx.bridge_bidding").BridgeBidding(table.name)


class Loop:
    """Random legal play of many games in one program of JAX, on whatever device it finds.

    Every step is observed and masked, and a game that ends is followed by the next.

    Args:
        make: makes an environment with the interface of Pgx.
        num_games: how many games are played at once.
    """

    def __init__(self, make: Callable[[], Any], num_games: int) -> None:
        self._jax = jax = importlib.import_module("jax")
        self._env, self._num_games, self._steps = make(), num_games, 16
        keys = jax.random.split(jax.random.key(0), num_games)
        self._carry = jax.jit(jax.vmap(self._env.init))(keys), jax.random.key(1)
        # On a CPU all its cores take part, so their time is counted.
        is_on_cpu = jax.default_backend() == "cpu"
        self._clock = time.process_time if is_on_cpu else time.perf_counter

    def play(self) -> Measure:
        """Decisions per second."""
        program = self._compiled()

        def play() -> int:
            self._carry = self._jax.block_until_ready(program(*self._carry)[0])
            return self._steps * self._num_games

        return lambda seconds: rate(seconds, play, self._clock)

    def compile(self) -> Measure:
        """Compilations per second."""

        def measure(_: float) -> float:
            begin = self._clock()
            self._compiled()
            return 1 / (self._clock() - begin)

        return measure

    def _compiled(self) -> Any:
        jax, count = self._jax, self._num_games
        init, step = jax.vmap(self._env.init), jax.vmap(self._env.step)

        def one(carry: Any, _: Any) -> Any:
            state, key = carry
            key, draw, deal = jax.random.split(key, 3)
            # One number per game chooses among its legal actions.
            legal = state.legal_action_mask.cumsum(1)
            place = jax.random.uniform(draw, (count, 1)) * legal[:, -1:]
            after = step(state, (legal > place).argmax(1))
            over = after.terminated | after.truncated
            states = jax.tree_util.tree_map(
                lambda a, b: jax.numpy.where(over.reshape((-1, *[1] * (a.ndim - 1))), a, b),
                init(jax.random.split(deal, count)),
                after,
            )
            return (states, key), states.observation.sum(dtype=jax.numpy.float32)

        def run(*carry: Any) -> Any:
            return jax.lax.scan(one, carry, None, length=self._steps)

        return jax.jit(run).lower(*self._carry).compile()


def in_jax(
    make: Callable[[], Any], name: str
) -> Iterator[tuple[str, str, str, Callable[[], Measure]]]:
    """The contestants of an environment in JAX: playing and compiling."""
    yield "jax", name, "decisions/s", lambda: Loop(make, 4096).play()
    yield "compile", name, "ms", lambda: Loop(make, 4096).compile()


def contestants() -> Iterator[tuple[str, str, str, Callable[[], Measure]]]:
    """Group, name, unit and maker of every peer."""
    for module in ("connect_four_v3", "leduc_holdem_v4", "texas_holdem_v4", "hanabi_v5"):
        yield "aec", f"PettingZoo {module}", "steps/s", functools.partial(pettingzoo, module)
    yield "aec", "OpenSpiel hearts through Shimmy", "steps/s", shimmy_hearts
    for name in ("leduc-holdem", "gin-rummy", "doudizhu"):
        yield "turns", f"RLCard {name}", "steps/s", functools.partial(rlcard, name)
    plain, observed = (functools.partial(openspiel, tensor=tensor) for tensor in (False, True))
    yield "game", "OpenSpiel hearts", "actions/s", plain
    yield "observed", "OpenSpiel hearts, tensor", "actions/s", observed
    for name in ("leduc_holdem", "sparrow_mahjong", "bridge_bidding"):
        yield from in_jax(functools.partial(pgx, name), f"Pgx {name}")
