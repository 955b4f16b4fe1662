"""The puzzles of the package, each solved again; how they are found, told and played."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.make_puzzles import GAP, LEGAL, MISSING, RATING, Judge, Search, line_of
from hearts_agents import make_agent
from hearts_env import Game, HeartsError
from hearts_env.batch.views import BatchView
from hearts_env.game.notation import Record
from hearts_env.solve import solve_worlds
from hearts_train.cli.app import app
from hearts_train.measure.analysis import analyse
from hearts_train.web.puzzles import (
    FILE,
    cards_in,
    listed,
    mistakes,
    puzzle,
    puzzle_json,
    puzzles,
    read_puzzles,
)
from tests.refusals import refused


@pytest.mark.slow
def test_each_of_the_300_is_one() -> None:
    """All worlds solved by the solver itself, all players asked: the file is not believed."""
    found = puzzles()
    assert len(found) == 300
    views = []
    for one in found:
        game = one.game()
        assert game.rules.name == "two_player"
        view = game.view(game.player)
        worlds, margins = solve_worlds(view)
        assert len(worlds) == view.num_worlds
        means = margins.mean(0)
        names = [game.rules.deck[action] for action in view.legal_actions()]
        second, first = np.sort(means)[-2:]
        assert len(names) >= LEGAL
        assert first - second >= GAP
        assert one.gap == round(first - second, 2)
        assert names[int(means.argmax())] == one.best
        views.append(view)
    batch = BatchView.of(views)
    best = np.array([view.rules.index[one.best] for view, one in zip(views, found, strict=True)])
    missed = {name: make_agent(name, seed=7).act_batch(batch) != best for name in RATING}
    assert missed["standard"].all()
    assert missed["pro"].all()
    for number, one in enumerate(found):
        assert set(one.missed) == {name for name in RATING if missed[name][number]}
        aware = missed["standard_trump"][number] and missed["pro_trump"][number]
        assert one.level == (3 if missed["champion"][number] else 2 if aware else 1)


def test_they_are_small_distinct_and_in_order() -> None:
    assert FILE.stat().st_size < 300_000
    found = puzzles()
    assert len({(one.hands, one.play) for one in found}) == 300
    order = [(one.level, -one.gap) for one in found]
    assert order == sorted(order)
    assert [sum(one.level == level for one in found) for level in (1, 2, 3)] == [100, 100, 100]
    assert read_puzzles("".join(map(line_of, found))) == list(found)


@pytest.mark.slow
def test_the_search_finds_what_the_judge_takes_for_one() -> None:
    looking, judge = Search(), Judge()
    found = [looking.in_deal(seed, {1, 2, 3}) for seed in range(12)]
    assert any(found)
    for one in filter(None, found):
        game = one.game()
        verdict = judge.judge(game.view(game.player))
        assert (verdict.best, verdict.missed, verdict.level) == (one.best, one.missed, one.level)
        assert round(verdict.gap, 2) == one.gap
    # The file is what the search gives: each deal of it is found by its seed.
    assert any(one in puzzles() for one in found)


def test_the_judge_goes_by_the_worlds_and_by_what_others_play() -> None:
    judge, agents = Judge(), [make_agent(name, seed=0) for name in MISSING]
    seen = set()
    for seed in range(20):
        game = Game.deal("two_player", seed)
        while not game.is_over:
            view = game.view(game.player)
            legal = view.legal_actions()
            if view.num_worlds > 50 or len(legal) < 2:
                game.play(legal[-1])
                continue
            means = solve_worlds(view)[1].mean(0)
            second, first = np.sort(means)[-2:]
            best = legal[int(means.argmax())]
            is_far, is_many = first - second >= GAP, len(legal) >= LEGAL
            is_missed = [agent.act(view) != best for agent in agents]
            is_one = is_far and is_many and all(is_missed)
            assert (judge.judge(view) is not None) == is_one
            seen.add((bool(is_far), is_many, sum(is_missed)))
            game.play(legal[seed % len(legal)])
    assert {(True, True, n) for n in range(3)} | {(False, True, 2)} <= seen


def test_a_puzzle_is_told_as_its_player_sees_it() -> None:
    one = puzzle(17)
    shown = json.loads(json.dumps(puzzle_json(17)))
    game = one.game()
    view = game.view(game.player)
    assert shown["hand"] == list(view.hand)
    assert shown["left"][1 - view.player] == view.cards_left(1 - view.player)
    assert [step[1] for step in shown["steps"]] == cards_in(one.play)
    assert shown["legal"] == [game.rules.deck[a] for a in view.legal_actions()]
    assert max(shown["means"], key=shown["means"].get) == shown["best"] == one.best
    for card, values in shown["worlds"].items():
        assert np.mean(values) == pytest.approx(shown["means"][card])
    assert shown["deal"] == game.to_text()
    assert listed()[16] == {"number": 17, "level": one.level, "trick": view.trick_number + 1}
    for number in (0, 301, "x"):
        with refused(HeartsError, "number"):
            puzzle(number)


@pytest.mark.parametrize("rules", ["two_player", "classic"])
def test_mistakes_are_the_slips_of_the_analysis_told_as_puzzles(rules) -> None:
    game = Game.deal(rules, 3)
    while not game.is_over:
        game.play(game.legal_actions()[0])
    analysis = analyse(game)
    record = Record(game, {f"Player {seat}": f"p{seat}" for seat in range(game.rules.players)})
    told = [mistakes(record, seat) for seat in range(2)]
    assert any(found["cards"] for found in told)
    for seat, found in enumerate(told):
        own = [m for m in analysis.moments if m.player == seat and len(m.means) > 1]
        assert found["choices"] == len(own)
        assert found["lost"] == pytest.approx(analysis.expected_loss(seat))
        costly = sorted((m for m in own if m.mark), key=lambda m: -m.expected_loss)
        assert [card["at"] for card in found["cards"]] == [m.number for m in costly]
        for card, moment in zip(found["cards"], costly, strict=True):
            before = game.start()
            for action in game.actions[: moment.number]:
                before.play(action)
            assert card["hand"] == list(before.hand(seat))
            assert card["points"] == before.points()
            assert card["left"] == [len(before.hand(p)) for p in range(game.rules.players)]
            assert tuple(tuple(step[:2]) for step in card["steps"]) == before.view(seat).history
            names = [f"p{p}" for p in range(game.rules.players)]
            assert card["names"] == [*names[:seat], "You", *names[seat + 1 :]]
            assert (card["played"], card["lost"]) == (moment.card, moment.expected_loss)
            assert card["means"][card["best"]] == max(card["means"].values())


@pytest.mark.slow
def test_at_the_terminal() -> None:
    one = puzzle(5)
    wrong = next(card for card in puzzle_json(5)["legal"] if card != one.best)
    solved = CliRunner().invoke(app, ["puzzle", "5"], input=f"{one.best.lower()}\n")
    assert solved.exit_code == 0, solved.output
    assert "Right" in solved.output
    missed = CliRunner().invoke(app, ["puzzle", "5"], input=f"zz\n{wrong}\n")
    assert "legal" in missed.output
    assert "gives away" in missed.output
    for left in ("q\n", ""):
        assert CliRunner().invoke(app, ["puzzle", "5"], input=left).exit_code == 0
    for number in ("0", "301"):
        result = CliRunner().invoke(app, ["puzzle", number])
        assert result.exit_code == 2
        assert "1 to 300" in result.stderr
    shown = json.loads(CliRunner().invoke(app, ["puzzle", "5", "--json"]).stdout)
    assert shown["best"] == one.best
