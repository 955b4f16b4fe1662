"""Digests of deals, observations, rewards, evaluations and solutions, equal on every machine.

After an intended change, ``python tests/digests.py --write`` writes tests/data/digests.json.
Without ``--write`` it compares, prints the differences and exits with 1. ``make matrix`` does that
under every Python and every set of dependencies. Nothing here draws from NumPy or ``random``, whose
streams may change with their versions.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from hearts_agents import HeartsEnv, HeartsVectorEnv, make_agent
from hearts_env import BatchGame, Game, Rules, hearts_v0
from hearts_env.encoders import ENCODERS, make_encoder
from hearts_env.rules.presets import GAMES, PRESETS
from hearts_env.seeds import derived_seed
from hearts_env.solve.double_dummy import solve_double_dummy
from hearts_env.support.files import write_json
from hearts_train.measure.evaluation import evaluate
from tests.learners import plain

DATA = Path(__file__).parent / "data" / "digests.json"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"opponent": ["easy", "pro"], "reward": "trick", "observation": "history"},
    {"rules": "classic", "opponent": "easy", "observation": "recall", "skip_forced": True},
    {"rules": "hoyle", "players": 3, "episode": "match", "max_deals": 2, "reward": "win"},
    {"rules": "omnibus", "players": 5, "opponent": "standard", "reward": "points"},
]


class Choices:
    """Knuth's linear congruential generator, which gives equal numbers everywhere."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def __call__(self, number: int) -> int:
        """Return a number from 0 to `number` - 1."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % number


def played(rules: Rules, seed: int) -> Iterator[Game]:
    """Play a deal at random, and yield the same game object after each action."""
    choose, game = Choices(seed), Game.deal(rules, seed)
    yield game
    while not game.is_over:
        legal = game.legal_actions()
        game.play(legal[choose(len(legal))])
        yield game


def rows_of(choose: Choices, masks: Any) -> Any:
    """Return a legal action for each row of masks."""
    return np.array([[*np.flatnonzero(m)][choose(int(m.sum()))] for m in masks], np.int64)


Shown = tuple[Any, Any]
"""An environment's observations and rewards, and its infos."""


# ---- what is compared ----------------------------------------------------------------------------
def deals(_: int) -> Iterator[Any]:
    """Yield deals of every game, and the seeds of a match's first deals."""
    for seed in (0, 1, 7, 2**32 + 5, 2**63 - 1):
        for name, players in GAMES:
            yield Game.deal(Rules.preset(name, players), seed).to_text()
        yield [derived_seed(seed, number) for number in range(4)]


def games(_: int) -> Iterator[Any]:
    """Yield deals, plays and scores of every game, and numbers of worlds."""
    for name, players in GAMES:
        for seed in (1, 2**40 + 3):
            *_, game = played(Rules.preset(name, players), seed)
            yield game.to_text(), game.scores(), game.points, game.margins()
    for seed in range(8):
        for place, game in enumerate(played(Rules.preset("two_player"), seed)):
            if place % 5 == 2 and game.current_player is not None:
                yield game.view(game.current_player).num_worlds


def observations(observation: str) -> Iterator[Any]:
    """Yield an encoder's array for each player at every fifth position of every game."""
    encoder = make_encoder(observation)
    for name, players in GAMES:
        for place, game in enumerate(played(Rules.preset(name, players), 3)):
            if place % 5 == 0:
                yield [game.view(player).observe(encoder) for player in range(players)]


def hearts_v0_turns(_: int) -> Iterator[Shown]:
    """Yield ``last``, rewards, state and infos in every game."""
    for rules in PRESETS:
        for episode in ("deal", "match"):
            env: Any = hearts_v0.raw_env(rules, episode=episode, reward="trick")
            choose = Choices(5)
            env.reset(seed=5)
            for _ in range(75):
                if env.is_over:
                    break
                *seen, info = env.last()
                yield [seen, info["action_mask"], env.rewards, env.state()], [info, env.infos]
                legal = env.game.legal_actions()
                env.step(legal[choose(len(legal))])
            yield env.rewards, env.infos


def single_environments(_: int) -> Iterator[Shown]:
    """Yield observations, masks, rewards and infos against baseline opponents."""
    for options in OPTIONS:
        env, choose = HeartsEnv(**options), Choices(7)
        for seed in (11, 12, None):
            observation, info = env.reset(seed=seed)
            yield [observation, info["action_mask"]], info
            over = False
            while not over:
                (action,) = rows_of(choose, [info["action_mask"]])
                *seen, info = env.step(action)
                yield [seen, info["action_mask"]], info
                over = seen[2] or seen[3]


def vector_environments(num_threads: int) -> Iterator[Shown]:
    """Yield the same from many games at once."""
    for options in OPTIONS:
        envs, choose = HeartsVectorEnv(9, **options, num_threads=num_threads), Choices(9)
        observations, infos = envs.reset(seed=21)
        for _ in range(40):
            yield [observations, infos["action_mask"]], infos
            *seen, infos = envs.step(rows_of(choose, infos["action_mask"]))
            yield [seen, infos["action_mask"], infos.get("final_obs")], infos
            observations = seen[0]


def batches(observation: str, num_threads: int) -> Iterator[Any]:
    """Yield the arrays of self-play in many games at once, with one encoder."""
    for name, players in (("two_player", 2), ("kitty", 5)):
        batch = BatchGame(
            Rules.preset(name, players),
            50,
            seed=4,
            observation=observation,
            num_threads=num_threads,
        )
        for _ in range(70):
            batch.play(batch.random_actions())
            yield batch.done, batch.current_player
        yield batch.observe(), batch.masks(), batch.scores(), batch.seeds


def evaluations(_: int) -> Iterator[Any]:
    """Yield the margin of each duplicate deal."""
    for agent, opponent, rules in (
        ("standard", "easy", "two_player"),
        ("pro", "standard_trump", "two_player"),
        ("standard", "easy", "classic"),
    ):
        yield evaluate(make_agent(agent), make_agent(opponent), rules, deals=40, seed=6).margins


def solutions(_: int) -> Iterator[Any]:
    """Yield double-dummy values of every card."""
    for seed in range(6):
        for place, game in enumerate(played(Rules.preset("two_player"), seed)):
            if place in (6, 13):
                found = solve_double_dummy(game)
                yield found.value, sorted(found.values.items())


Subject = Callable[[int], Iterator[Any]]
"""A function of the number of threads that yields values."""

SUBJECTS: dict[str, Subject] = {
    "deals": deals,
    "games": games,
    "evaluations": evaluations,
    "solutions": solutions,
}
for _environment in (hearts_v0_turns, single_environments, vector_environments):
    for _place, _part in enumerate(("", "_infos")):
        SUBJECTS[_environment.__name__ + _part] = lambda threads, f=_environment, part=_place: (
            shown[part] for shown in f(threads)
        )
for _name in ENCODERS:
    SUBJECTS[f"observations_{_name}"] = lambda _, name=_name: observations(name)
    SUBJECTS[f"batches_{_name}"] = functools.partial(batches, _name)


def digest_of(subject: Subject, num_threads: int = 1) -> str:
    """Return the digest of everything that a subject yields."""
    digest = blake2b(digest_size=16)
    for value in subject(num_threads):
        digest.update(json.dumps(plain(value), default=bytes.hex, sort_keys=True).encode())
    return digest.hexdigest()


def stored() -> dict[str, str]:
    """Return the digests in the file."""
    digests: dict[str, str] = json.loads(DATA.read_text())
    return digests


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="write the file")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    made = {name: digest_of(subject, arguments.threads) for name, subject in SUBJECTS.items()}
    if arguments.write:
        write_json(DATA, made)
        return
    differ = [name for name, digest in made.items() if digest != stored().get(name)]
    print(f"{len(made) - len(differ)} of {len(made)} digests agree")
    if differ or made.keys() != stored().keys():
        sys.exit(f"these differ: {', '.join(differ)}")


if __name__ == "__main__":
    main()
