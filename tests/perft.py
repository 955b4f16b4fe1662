"""Lines of play counted to each depth from known deals, as chess programs count theirs.

``python -m tests.perft`` writes tests/data/perft.json anew. Its numbers come from the naive
implementation, never from the package; tests/test_perft.py counts them again with the package.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from hearts_env import Game, Rules
from hearts_env import kernel as k
from hearts_env.support.bits import lowest
from hearts_env.support.files import write_json
from tests.lockstep import copy_naive, naive_of
from tests.naive import NaiveGame

DATA = Path(__file__).parent / "data" / "perft.json"


# ---- by the package -----------------------------------------------------------------------------
@numba.njit
def _count(r: Any, states: Any, masks: Any, counts: Any) -> None:
    """Adds the lines from ``states[0]`` to `counts`, one place a depth, as deep as it is long."""
    depth = 0
    masks[0] = k.legal_mask(r, states[0])
    while depth >= 0:
        mask = masks[depth]
        if mask == 0:
            depth -= 1
            continue
        masks[depth] = mask & (mask - 1)
        counts[depth] += 1
        if depth + 1 < len(counts):
            states[depth + 1] = states[depth]
            k.play(r, states[depth + 1], lowest(mask))
            masks[depth + 1] = k.legal_mask(r, states[depth + 1])
            depth += 1


def count_lines(game: Game, depth: int) -> NDArray[np.int64]:
    """How many lines of 1, 2, ... `depth` actions there are; finished games have none longer."""
    counts = np.zeros(depth, np.int64)
    states = np.zeros((depth + 1, game.rules.state_size), np.int64)
    states[0] = game.vector
    _count(game.rules.vector, states, np.zeros(depth + 1, np.int64), counts)
    return counts


# ---- by the naive implementation ----------------------------------------------------------------
def naive_levels(game: NaiveGame) -> Iterator[int]:
    """How many lines of 1, 2, ... actions there are, slowly; up to the longest."""
    positions = [game]
    while True:
        following = []
        for position in positions:
            for action in position.legal():
                after = copy_naive(position)
                after.play(action)
                following.append(after)
        if not following:
            return
        yield len(following)
        positions = following


def naive_count(game: NaiveGame, depth: int) -> list[int]:
    """The same as ``count_lines``, slowly."""
    counts = list(itertools.islice(naive_levels(game), depth))
    return counts + [0] * (depth - len(counts))


def report(game: Game, depth: int) -> str:
    """The lines of `depth` actions below each first one: where to look for the fault."""
    naive, lines = naive_of(game), [f"lines of {depth} actions below each first one (game, naive):"]
    for action in sorted({*game.legal_actions(), *naive.legal()}):
        counts = [0, 0]
        if action in game.legal_actions():
            ours = game.clone()
            ours.play(action)
            counts[0] = int(count_lines(ours, depth - 1)[-1]) if depth > 1 else 1
        if action in naive.legal():
            theirs = copy_naive(naive)
            theirs.play(action)
            counts[1] = naive_count(theirs, depth - 1)[-1] if depth > 1 else 1
        mark = "" if counts[0] == counts[1] else "   <-- differs"
        lines.append(f"  {game.rules.action_name(action)}: {counts[0]}, {counts[1]}{mark}")
    return "\n".join([*lines, game.to_text()])


# ---- the data -----------------------------------------------------------------------------------
# A deal of each, counted until there are more than so many lines.
_LIMIT = 30_000
_RULES = [
    "two_player",
    "two_player",
    "two_player trump=null",
    "two_player queen_any_time=true",
    "two_player break_on=heart unbroken_lead=only_hearts",
    "mini",
    "mini",
    "mini moon=choose",
    "micro",
    "micro first_lead=any_club",
    "classic",
    "classic pass_rotation=['hold']",
    "no_pass",
    "party players=3",
    "party players=5",
    "party players=6 pass_count=1",
    "party players=7 pass_count=0",
    "kitty players=4 hand_size=3 pass_count=0",
    "kitty players=3 hand_size=3 pass_count=1",
    "kitty players=7",
    "omnibus players=3 pass_count=0",
    "omnibus players=5",
    "hoyle players=2",
    "hoyle players=4",
    "hoyle players=6",
    "black_jack players=3",
    "black_lady players=5",
]


def main() -> None:
    """Writes the data file."""
    found = []
    for seed, text in enumerate(_RULES):
        game = Game.deal(Rules.from_text(text.replace("'", '"')), seed)
        levels = itertools.islice(naive_levels(naive_of(game)), 12)
        counts = list(itertools.takewhile(lambda lines: lines <= _LIMIT, levels))
        found.append({"deal": game.to_text().splitlines(), "lines": counts})
        print(text, counts, file=sys.stderr)
    write_json(DATA, found)


if __name__ == "__main__":
    main()
