"""Counts of lines of play against committed numbers, which the naive implementation counted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hearts_env import Game, Rules
from tests.lockstep import every_deal, naive_of
from tests.perft import DATA, count_lines, naive_count, report
from tests.slow import few_of

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


@few_of("most", 400, 2000)
def test_the_data_is_what_the_naive_implementation_counts(most: int) -> None:
    for case in CASES:
        depth = sum(1 for lines in case["lines"] if lines <= most)
        game = Game.from_text("\n".join(case["deal"]))
        assert naive_count(naive_of(game), depth) == case["lines"][:depth]


@pytest.mark.slow
def test_every_line_of_mini() -> None:
    """Of both leaders; tests/test_equilibrium.py finds the same in the tree."""
    counts = [count_lines(deal, 11) for deal in every_deal(Rules.preset("mini"))]
    total = np.sum(counts, axis=0)
    assert (len(counts), total[9], total[10]) == (16_632, 7_426_296, 0)
    assert len(counts) + total.sum() == 30_401_526
