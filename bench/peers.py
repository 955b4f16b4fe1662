"""Random legal play here and in peer libraries, in one process and one run: medians and ratios.

    make bench            installs the peers and runs this among others
    python bench/peers.py [--seconds 1] [--rounds 5] [--json FILE]

Every contestant plays for `seconds` in each round, in turn, so that a machine that slows down
slows all of them. What is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Play = Callable[[float], tuple[int, float]]
"""Plays for about so many seconds; returns (steps, seconds)."""


def _aec(make: Callable[[], object]) -> Play:
    """Random legal play through ``last()`` and ``step()``."""
    env = make()
    rng = np.random.default_rng(0)

    def play(seconds: float) -> tuple[int, float]:
        steps, start = 0, time.perf_counter()
        while True:
            env.reset(seed=steps)  # type: ignore[attr-defined]
            for _ in env.agent_iter():  # type: ignore[attr-defined]
                observation, _, termination, truncation, info = env.last()  # type: ignore[attr-defined]
                if termination or truncation:
                    action = None
                else:
                    mask = (
                        observation["action_mask"]
                        if isinstance(observation, dict)
                        else info["action_mask"]
                    )
                    legal = mask.nonzero()[0]
                    action = int(legal[int(rng.random() * len(legal))])
                    steps += 1
                env.step(action)  # type: ignore[attr-defined]
            if (passed := time.perf_counter() - start) >= seconds:
                return steps, passed

    return play


def _pettingzoo(module: str, **arguments: object) -> Callable[[], Play]:
    return lambda: _aec(
        lambda: importlib.import_module(f"pettingzoo.classic.{module}").env(**arguments)
    )


def _shimmy_hearts() -> Play:
    compatibility = importlib.import_module("shimmy.openspiel_compatibility")
    pyspiel = importlib.import_module("pyspiel")
    return _aec(
        lambda: compatibility.OpenSpielCompatibilityV0(
            env=pyspiel.load_game("hearts"), render_mode=None
        )
    )


def _openspiel(*, tensor: bool) -> Callable[[], Play]:
    def make() -> Play:
        pyspiel = importlib.import_module("pyspiel")
        game = pyspiel.load_game("hearts")
        rng = random.Random(0)
        if tensor:  # the quickest way from Python: written into one NumPy array
            module = importlib.import_module("open_spiel.python.observation")
            observation = module.make_observation(
                game, pyspiel.IIGObservationType(perfect_recall=True)
            )

        def play(seconds: float) -> tuple[int, float]:
            steps, start = 0, time.perf_counter()
            while True:
                state = game.new_initial_state()
                while not state.is_terminal():
                    if state.is_chance_node():
                        actions = state.legal_actions()
                        state.apply_action(actions[int(rng.random() * len(actions))])
                        continue
                    if tensor:
                        observation.set_from(state, state.current_player())
                    actions = state.legal_actions()
                    state.apply_action(actions[int(rng.random() * len(actions))])
                    steps += 1
                if (passed := time.perf_counter() - start) >= seconds:
                    return steps, passed

        return play

    return make


def _our_game(rules: str, *, observe: bool) -> Callable[[], Play]:
    def make() -> Play:
        from hearts_env import Game, Rules, make_encoder

        made = Rules.preset(rules)
        encoder = make_encoder("flat")
        space = encoder.space(made)
        out = np.zeros(space.shape, space.dtype)
        rng = random.Random(0)

        def play(seconds: float) -> tuple[int, float]:
            steps, start, seed = 0, time.perf_counter(), 0
            while True:
                game = Game.deal(made, seed)
                seed += 1
                while actions := game.legal_actions():
                    if observe:
                        encoder.write(game.view(game.player), out)  # type: ignore[arg-type]
                    game.play(actions[int(rng.random() * len(actions))])
                    steps += 1
                if (passed := time.perf_counter() - start) >= seconds:
                    return steps, passed

        return play

    return make


def _our_env(name: str, rules: str) -> Callable[[], Play]:
    def make() -> Play:
        from hearts_env import hearts_v0

        return _aec(lambda: getattr(hearts_v0, name)(rules=rules))

    return make


CONTESTANTS: list[tuple[str, str, Callable[[], Play]]] = [
    ("AEC", "hearts_v0.env two_player", _our_env("env", "two_player")),
    ("AEC", "hearts_v0.raw_env two_player", _our_env("raw_env", "two_player")),
    ("AEC", "hearts_v0.env classic", _our_env("env", "classic")),
    ("AEC", "PettingZoo connect_four_v3", _pettingzoo("connect_four_v3")),
    ("AEC", "PettingZoo leduc_holdem_v4", _pettingzoo("leduc_holdem_v4")),
    ("AEC", "PettingZoo texas_holdem_v4", _pettingzoo("texas_holdem_v4")),
    ("AEC", "PettingZoo chess_v6", _pettingzoo("chess_v6")),
    ("AEC", "PettingZoo hanabi_v5", _pettingzoo("hanabi_v5")),
    ("AEC", "OpenSpiel hearts through Shimmy", _shimmy_hearts),
    ("game", "Game classic", _our_game("classic", observe=False)),
    ("game", "Game classic, flat observation", _our_game("classic", observe=True)),
    ("game", "Game two_player", _our_game("two_player", observe=False)),
    ("game", "OpenSpiel hearts", _openspiel(tensor=False)),
    ("game", "OpenSpiel hearts, information tensor", _openspiel(tensor=True)),
]


def measure(seconds: float, rounds: int) -> list[dict[str, object]]:
    """Steps a second of all contestants that are installed, medians over the rounds."""
    players: list[tuple[str, str, Play, list[float]]] = []
    rows: list[dict[str, object]] = []
    for group, name, make in CONTESTANTS:
        try:
            play = make()
            play(0.0)  # compiles, loads
        except Exception as error:  # a peer that is not installed, or fails, is named and left out
            rows.append(
                {"group": group, "name": name, "missing": f"{type(error).__name__}: {error}"}
            )
            continue
        players.append((group, name, play, []))
    for number in range(rounds):
        for _, name, play, rates in players:
            print(f"round {number + 1}/{rounds}: {name}", file=sys.stderr, flush=True)
            steps, passed = play(seconds)
            rates.append(steps / passed)
    for group, name, _, rates in players:
        rows.append(
            {
                "group": group,
                "name": name,
                "per_second": round(statistics.median(rates)),
                "least": round(min(rates)),
                "most": round(max(rates)),
                "rounds": rounds,
            }
        )
    return rows


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = measure(arguments.seconds, arguments.rounds)
    for group in dict.fromkeys(str(row["group"]) for row in rows):
        mine = [row for row in rows if row["group"] == group and "per_second" in row]
        print(
            f"\n| {group} | steps/s (median of {arguments.rounds}) | least - most |"
            "\n|---|---:|---:|"
        )
        for row in sorted(mine, key=lambda one: -int(str(one["per_second"]))):
            rate, low, high = (int(str(row[key])) for key in ("per_second", "least", "most"))
            print(f"| {row['name']} | {rate:,} | {low:,} - {high:,} |")
    for row in rows:
        if "missing" in row:
            print(f"left out: {row['name']} ({row['missing']})")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
