"""Counts of lines of play against committed numbers, which the naive implementation counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hearts_env import Game
from tests.lockstep import naive_of
from tests.perft import DATA, count_lines, naive_count, report

CASES: list[dict[str, Any]] = json.loads(DATA.read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["deal"][0].strip("[]"))
def test_lines_of_play(case: dict[str, Any]) -> None:
    game = Game.from_text("\n".join(case["deal"]))
    depth = len(case["lines"])
    counts = count_lines(game, depth).tolist()
    for place, (ours, theirs) in enumerate(zip(counts, case["lines"], strict=True)):
        assert ours == theirs, report(game, place + 1)


def test_the_data_has_every_preset() -> None:
    names = {case["deal"][0].split('"')[1].split()[0] for case in CASES}
    assert names >= {"two_player", "mini", "micro", "classic", "no_pass", "party", "kitty"}
    assert names >= {"omnibus", "hoyle", "black_jack", "black_lady"}
    assert sum(sum(case["lines"]) for case in CASES) > 300_000


def test_the_data_is_what_the_naive_implementation_counts() -> None:
    for case in CASES:
        depth = sum(1 for lines in case["lines"] if lines <= 400)
        game = Game.from_text("\n".join(case["deal"]))
        assert naive_count(naive_of(game), depth) == case["lines"][:depth]
