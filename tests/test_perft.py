"""Counts of lines of play against committed numbers, which the naive implementation counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hearts_env import Game, Rules
from tests.lockstep import every_deal, naive_of
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


def test_all_lines_of_micro() -> None:
    # 8! / (3! 3! 2!) deals; every line is six cards long.
    deals = list(every_deal(Rules.preset("micro")))
    assert len(deals) == 560
    assert sum(int(count_lines(game, 6)[-1]) for game in deals) == 4216
    assert all(count_lines(game, 7)[-1] == 0 for game in deals)


def test_a_mismatch_tells_where() -> None:
    game = Game.deal("no_pass", seed=1)
    game.play(game.legal_actions()[0])
    assert "differs" not in report(game.start(), 2)
    text = report(game.start(), 3)
    assert f"  {game.trick[0][1]}: " in text
