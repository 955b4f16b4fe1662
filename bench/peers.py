"""Other libraries that the bench measures: random legal play, in the way their users write it.

Each function here makes a contestant, or raises ImportError if the library is not installed.
"""

from __future__ import annotations

import functools
import importlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

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


def pgx(name: str, num_games: int) -> Measure:
    """Pgx on whatever device JAX finds: step, mask and observation of many games in one call."""
    jax = importlib.import_module("jax")
    env = importlib.import_module("pgx").make(name)
    init, step = jax.vmap(env.init), jax.vmap(env.step)

    def run(state: Any, key: Any) -> Any:
        def one(carry: Any, _: Any) -> Any:
            state, key = carry
            key, draw, deal = jax.random.split(key, 3)
            logits = jax.numpy.log(state.legal_action_mask.astype(jax.numpy.float32))
            action = jax.random.categorical(draw, logits)
            after = step(state, action)
            over = after.terminated | after.truncated
            fresh = init(jax.random.split(deal, num_games))
            states = jax.tree_util.tree_map(
                lambda a, b: jax.numpy.where(over.reshape((-1, *[1] * (a.ndim - 1))), a, b),
                fresh,
                after,
            )
            return (states, key), states.observation.sum(dtype=jax.numpy.float32)

        return jax.lax.scan(one, (state, key), None, length=16)

    compiled = jax.jit(run)
    carry = (init(jax.random.split(jax.random.PRNGKey(0), num_games)), jax.random.PRNGKey(1))

    def play() -> int:
        nonlocal carry
        carry, seen = compiled(*carry)
        seen.block_until_ready()
        return 16 * num_games

    return lambda seconds: rate(seconds, play)


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
    for name in ("leduc_holdem", "sparrow_mahjong"):
        yield "batch", f"Pgx {name}, all cores", "decisions/s", functools.partial(pgx, name, 4096)
