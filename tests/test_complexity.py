"""The size of games: estimates against counted trees, and what is counted against a plain count."""

from __future__ import annotations

import itertools
import json
import math
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

from bench import complexity
from bench.__main__ import app
from bench.complexity import (
    Complexity,
    Measurement,
    all_rules,
    complexities,
    estimated,
    histories,
)
from hearts_env import Game, HeartsError, Rules
from hearts_env.views.deals import num_deals
from tests.refusals import mistake, refused
from tests.test_cli import command
from tests.waiting import HANG


def plain_tree(rules: Rules) -> tuple[int, int, int]:
    """Lines, positions and information sets with a choice, by playing every deal in every way."""
    lines = positions = 0
    views = set()
    cards = set(rules.deck)
    for own in _hands(rules.deck, rules.hand_size):
        for other in _hands(sorted(cards - set(own), key=rules.index.get), rules.hand_size):
            kitty = cards - set(own) - set(other)
            game = Game(rules, hands=[own, other], kitty=list(kitty), deal_number=0, dealer=0)
            stack = [game]
            while stack:
                game = stack.pop()
                positions += 1
                if game.is_over:
                    lines += 1
                    continue
                legal = game.legal_actions()
                if len(legal) > 1:
                    view = game.view(game.player)
                    views.add((view.player, view.hand, tuple(view.history)))
                for action in legal:
                    after = game.clone()
                    after.play(action)
                    stack.append(after)
    return lines, positions, len(views)


def _hands(cards, size: int):
    return itertools.combinations(cards, size)


def test_micro_is_counted_as_by_hand() -> None:
    (found,) = complexities(["micro"], measurement=Measurement(deals=50, pro_deals=5))
    lines, positions, infosets = plain_tree(Rules.preset("micro"))
    assert found.deals == math.comb(8, 3) * math.comb(5, 3) == 560
    for estimate, counted in [
        (found.lines, lines),
        (found.positions, positions),
        (found.infosets, infosets),
    ]:
        assert estimate.exact
        assert 10**estimate.log10 == pytest.approx(counted)
    assert found.random.actions == found.pro.actions == 6
    assert found.worlds_most <= math.comb(5, 3)


@pytest.mark.parametrize(
    ("name", "lines", "infosets"), [("micro", 4216, 1114), ("mini", 7_426_296, 2_469_782)]
)
def test_estimates_agree_with_counted_trees(name: str, lines: int, infosets: int) -> None:
    ends, _, sets = estimated(Rules.preset(name), 20_000, 2000, seed=1)
    for estimate, counted in ((ends, lines), (sets, infosets)):
        assert not estimate.exact
        half = estimate.high - estimate.log10
        assert half < 0.05
        assert estimate.log10 == pytest.approx(math.log10(counted), abs=2.5 * half)


@pytest.mark.parametrize(
    ("name", "lines", "infosets"), [("micro", 4216, 1114), ("mini", 7_426_296, 2_469_782)]
)
def test_lines_drawn_in_pieces_estimate_the_same(name, lines, infosets, monkeypatch) -> None:
    monkeypatch.setattr(complexity, "_PIECE", 150)
    ends, _, sets = estimated(Rules.preset(name), 20_000, 2000, seed=2)
    for estimate, counted in ((ends, lines), (sets, infosets)):
        half = estimate.high - estimate.log10
        assert half < 0.05
        assert estimate.log10 == pytest.approx(math.log10(counted), abs=2.5 * half)


def stop_after(pieces: int, monkeypatch) -> None:
    """Press Ctrl-C when so many pieces of lines have been drawn."""
    random_lines, drawn = complexity.random_lines, []

    def stopping(*args):
        drawn.append(args)
        if len(drawn) > pieces:
            signal.raise_signal(signal.SIGINT)
        return random_lines(*args)

    monkeypatch.setattr(complexity, "random_lines", stopping)


@pytest.mark.slow
def test_ctrl_c_keeps_the_groups_of_lines_that_were_drawn(monkeypatch) -> None:
    work = Measurement(lines=4000, positions=100, deals=3, pro_deals=1)
    (whole,) = complexities(["two_player"], measurement=work)
    assert (whole.drawn, whole.interrupted) == (4000, False)
    stop_after(4, monkeypatch)  # of 20 groups
    stopped, *more = complexities(["two_player", "mini"], measurement=work)
    assert not more
    assert (stopped.drawn, stopped.interrupted) == (800, True)
    assert (stopped.random, stopped.pro) == (whole.random, whole.pro)
    for few, all_lines in ((stopped.lines, whole.lines), (stopped.infosets, whole.infosets)):
        assert few.high - few.log10 > all_lines.high - all_lines.log10
    assert Complexity.of(stopped.to_json()) == stopped


@pytest.mark.slow
def test_ctrl_c_in_a_later_piece_keeps_the_earlier_ones(monkeypatch) -> None:
    monkeypatch.setattr(complexity, "_PIECE", 50)
    stop_after(27, monkeypatch)  # all groups have one, seven of them two
    work = Measurement(lines=100_000, positions=100, deals=3, pro_deals=1)
    (found,) = complexities(["two_player"], measurement=work)
    assert (found.drawn, found.interrupted) == (27 * 50, True)


@pytest.mark.slow
def test_ctrl_c_before_two_groups_keeps_the_games_before(monkeypatch) -> None:
    work = Measurement(lines=4000, positions=100, deals=3, pro_deals=1)
    stop_after(1, monkeypatch)
    (found,) = complexities(["micro", "two_player"], measurement=work)
    assert (found.rules, found.interrupted) == ("micro", False)
    with pytest.raises(KeyboardInterrupt):
        complexities(["two_player"], measurement=work)


STOPPED = """
import os, signal
from bench import complexity

random_lines, drawn = complexity.random_lines, []

def stopping(*args):
    drawn.append(args)
    if len(drawn) > 4:
        os.kill(os.getpid(), signal.SIGTERM)
    return random_lines(*args)

complexity.random_lines = stopping
"""


@pytest.mark.slow
def test_a_stopped_command_tells_what_was_drawn() -> None:
    words = ("complexity", "two_player", "--lines", 4000, "--pro-deals", 1, "--json")
    process = command(*words, main="from bench.__main__ import app; app()", before=STOPPED)
    told, errors = process.communicate(timeout=HANG)
    assert process.returncode == 143, errors
    (record,) = json.loads(told)
    assert (record["drawn"], record["interrupted"]) == (800, True)
    assert "two_player (stopped: 800 lines)" in errors


def test_the_interval_of_few_groups_is_that_of_student() -> None:
    # Of 1 and 3: the mean is 2, the standard error 1, and t 12.706; no less than the least.
    found = complexity._estimate(np.log([1.0, 3.0]), 0.0)
    assert found == pytest.approx((math.log10(2), 0.0, math.log10(14.706), False))


def test_histories_of_an_exchange_are_all_deals_and_passes_with_that_view() -> None:
    # Three players with two cards each, one passed: all histories can be listed.
    rules = Rules(
        players=3,
        removed=tuple(c for c in Rules().deck if c not in ("2C", "3C", "4C", "QS", "2H", "3H")),
        hand_size=2,
        pass_count=1,
        pass_rotation=("left",),
    )
    seen: dict[tuple, int] = {}
    examples = {}
    deck = set(rules.deck)
    for first in _hands(rules.deck, 2):
        for second in _hands(sorted(deck - set(first), key=rules.index.get), 2):
            third = tuple(deck - set(first) - set(second))
            stack = [Game(rules, hands=[first, second, third], deal_number=0, dealer=0)]
            while stack:
                game = stack.pop()
                if game.is_over:
                    continue
                view = game.view(game.player)
                key = (view.player, view.hand, view.passed, view.received, tuple(view.history))
                seen[key] = seen.get(key, 0) + 1
                examples[key] = view
                if len(game.actions) < 5:
                    for action in game.legal_actions():
                        after = game.clone()
                        after.play(action)
                        stack.append(after)
    assert len(seen) > 500
    assert all(histories(view) == seen[key] for key, view in examples.items())


def test_every_preset_with_every_number_of_players() -> None:
    texts = all_rules()
    assert len(texts) == len(set(texts)) == 35
    assert "party players=7" in texts
    classic = Rules.preset("classic")
    assert num_deals(classic) == math.factorial(52) // math.factorial(13) ** 4


@pytest.mark.slow
def test_an_exchange_is_measured() -> None:
    work = Measurement(lines=200, positions=20, deals=3, pro_deals=1)
    (found,) = complexities(["classic"], measurement=work)
    assert found.random.actions == found.pro.actions == 4 * 3 + 52
    assert found.lines.low <= found.lines.log10 <= found.lines.high
    assert found.infosets.log10 < found.positions.log10
    assert math.log10(found.deals) < found.lines.log10
    assert math.isfinite(estimated(Rules.preset("kitty", 7), 200, 20, seed=1)[2].log10)


@pytest.mark.slow
def test_the_command(tmp_path) -> None:
    out = tmp_path / "sizes.json"
    words = ["complexity", "micro", "mini", "--pro-deals", "2", "--json", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    told = json.loads(out.read_text())
    assert [one["rules"] for one in told] == ["micro", "mini"]
    for one in told:
        assert Complexity.of(one).to_json().items() <= one.items()
    for wrong, said in [
        (["micro", "--json", str(out)], "--json"),
        (["nothing"], "rules 'nothing'"),
        (["mini", "--lines", "3"], "lines 3"),
        (["mini", "--json", "no/such/folder.json"], "--json"),
        (["classic", "--players", "3"], "players classic 4"),
    ]:
        mistake(CliRunner().invoke(app, ["complexity", *wrong]), *said.split())
    with refused(HeartsError, "positions", value=1):
        complexities(["mini"], measurement=Measurement(positions=1))
