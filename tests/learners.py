"""Everything that a learner gets from an environment at each decision, as plain data.

`WAYS` play a known game through one of four environments. ``assert_nothing_hidden_shows`` plays it
again with other hidden cards, and compares byte for byte. `turns` steps an environment with
opponents inside.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hearts_agents import Agent, HeartsEnv, HeartsVectorEnv
from hearts_env import Game, PlayerView, hearts_v0
from tests.reshuffle import reshuffled

Seen = list[Any]


class Scripted(Agent):
    """Plays its part of a known game."""

    name = "scripted"

    def __init__(self, game: Game) -> None:
        self.actions = game.actions

    def act(self, view: PlayerView) -> int:
        return self.actions[place_of(view)]

    def act_batch(self, views: Any) -> Any:
        return np.array([self.act(view) for view in views], np.int64)


def place_of(view: PlayerView) -> int:
    """Return the number of actions before this decision."""
    count = 0 if view.direction == "hold" else view.rules.pass_count
    if view.phase == "pass":
        return view.player * count + len(view.passed)
    return view.rules.players * count + len(view.history)


def plain(value: Any) -> Any:
    """Return `value` with every array, number and text as its type and bytes."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return ["objects", plain(value.tolist())]
    if isinstance(value, np.ndarray | np.generic):
        return [type(value).__name__, str(value.dtype), value.shape, value.tobytes()]
    return [type(value).__name__, repr(value)]


# ---- four ways to play a game --------------------------------------------------------------------
def through_aec(game: Game, player: int, seed: int, **options: Any) -> Seen:
    """Return everything that an agent of hearts_v0 gets after each card."""
    mode = options.pop("render_mode", "ansi")
    agent = f"player_{player}"
    env: Any = hearts_v0.raw_env(game.rules, render_mode=mode, render_for=agent, **options)
    env.reset(seed=seed, options={"deal": game.start()})
    seen = []
    for action in [None, *game.actions]:
        if action is not None:
            env.step(action)
        payments = (env.rewards, env._cumulative_rewards, env.terminations, env.truncations)
        seen.append((env.observe(agent), env.infos[agent], *[part[agent] for part in payments]))
        seen.append((env.agent_selection, env.render()))
        if env.agent_selection == agent:
            seen.append(env.last())
    return seen


def through_single(game: Game, player: int, seed: int, **options: Any) -> Seen:
    """Return everything from the Gymnasium environment up to the decision in `game`."""
    mode = options.pop("render_mode", "ansi")
    env = HeartsEnv(game.rules, seat=player, opponent=Scripted(game), render_mode=mode, **options)
    seen: Seen = [env.reset(seed=seed, options={"deal": game.start()})]
    for action in own_actions(game, player):
        seen.append((env.render(), env.action_masks()))
        seen.append(env.step(action))
    return [*seen, env.render(), env.action_masks()]


def through_vector(game: Game, player: int, seed: int, **options: Any) -> Seen:
    """Return the same from the vector environment with a single game."""
    options.pop("render_mode", None)
    envs = HeartsVectorEnv(1, game.rules, seat=player, opponent=Scripted(game), **options)
    deal_by_hand(envs.arena, game)
    seen: Seen = [envs.reset(seed=seed)]
    for action in own_actions(game, player):
        seen.append(envs.action_masks())
        seen.append(envs.step(np.array([action])))
    return seen


def through_sb3(game: Game, player: int, seed: int, **options: Any) -> Seen:
    """Return the same from stable-baselines3's environment with a single game."""
    from hearts_agents.envs.sb3 import HeartsSB3VecEnv

    options.pop("render_mode", None)
    envs = HeartsSB3VecEnv(
        1, game.rules, seat=player, opponent=Scripted(game), seed=seed, **options
    )
    deal_by_hand(envs.arena, game)
    seen: Seen = [envs.reset()]
    for action in own_actions(game, player):
        seen.append(envs.env_method("action_masks"))
        seen.append(envs.step(np.array([action])))
    return seen


WAYS: dict[str, Callable[..., Seen]] = {
    "hearts_v0": through_aec,
    "gymnasium": through_single,
    "vector": through_vector,
    "stable-baselines3": through_sb3,
}


def own_actions(game: Game, player: int) -> Iterator[int]:
    """Yield the actions of `player` in a game."""
    again = game.start()
    for action in game.actions:
        if again.current_player == player:
            yield action
        again.play(action)


def deal_by_hand(arena: Any, game: Game) -> None:
    """Let every episode of an arena begin with the deal of `game`, with any seed."""
    deal = arena.batch.reset

    def reset(seeds: Any, games: Any) -> None:
        deal(seeds, games=games)
        arena.states[games] = game.start().vector

    arena.batch.reset = reset


# ---- environments with opponents inside ----------------------------------------------------------
LEARNERS = ("gymnasium", "vector", "stable-baselines3")


def made(way: str, *args: Any, seed: int = 1, **options: Any) -> Any:
    """Make an environment of one learner, or of three."""
    if way == "gymnasium":
        return HeartsEnv(*args, **options)
    if way == "vector":
        return HeartsVectorEnv(3, *args, **options)
    pytest.importorskip("stable_baselines3")
    from hearts_agents.envs.sb3 import HeartsSB3VecEnv

    return HeartsSB3VecEnv(3, *args, seed=seed, **options)


def turns(
    env: Any, number: int, choose: Callable[[Any], Any], seed: int = 1
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield observation, infos and masks of some turns, the ends of episodes among them."""
    if isinstance(env, HeartsEnv | HeartsVectorEnv):
        observation, infos = env.reset(seed=seed)
    else:
        observation, infos = env.reset(), env.reset_infos
    waits = getattr(env, "autoreset_mode", None) is AutoresetMode.DISABLED
    for _ in range(number):
        masks = env.action_masks()
        yield observation, infos, masks
        over = ~masks.any(-1)
        if isinstance(env, HeartsEnv) and over:
            observation, infos = env.reset()
        elif waits and over.any():
            observation, infos = env.reset(options={"reset_mask": over})
        else:
            observation, *_, infos = env.step(choose(masks))


# ---- the comparison ------------------------------------------------------------------------------
def decisions(rules: Any, seed: int, player: int, number: int) -> list[Game]:
    """Return some decisions of `player` in a random game."""
    rng = random.Random(seed)
    game = Game.deal(rules, seed)
    found = []
    while not game.is_over:
        if game.current_player == player:
            found.append(game.clone())
        game.play(rng.choice(game.legal_actions()))
    return [found[0], *rng.sample(found[1:], min(number - 1, len(found) - 1))]


def assert_nothing_hidden_shows(
    way: str, game: Game, player: int, seed: int, **options: Any
) -> bool:
    """Check that a learner gets the same from this game and from one with other hidden cards.

    Return whether the other game differs. If little is hidden, the draw is repeated.
    """
    draws = (reshuffled(game, player, seed + number) for number in range(8))
    other = next((drawn for drawn in draws if drawn != game), game)
    seen, twin = (
        [plain(part) for part in WAYS[way](g, player, s, **options)]
        for g, s in ((game, seed), (other, seed + 1))
    )
    assert len(seen) == len(twin)
    for one, two in zip(seen, twin, strict=True):
        assert one == two, f"{way}, player {player}\n{game.to_text()}\n{other.to_text()}"
    return other != game
