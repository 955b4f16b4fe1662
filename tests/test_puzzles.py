"""The puzzles of the package, each solved again; how they are found, shown, played and scored."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.make_puzzles import GAP, LEGAL, MISSING, RATING, Judge, Search, line_of
from hearts_agents import Agent, make_agent
from hearts_env import Game, HeartsError
from hearts_env.batch.views import BatchView
from hearts_env.game.notation import Record
from hearts_env.solve import solve_worlds
from hearts_train.cli.app import app
from hearts_train.measure.analysis import analyse
from hearts_train.measure.puzzles import (
    FILE,
    card_of,
    cards_in,
    puzzle,
    puzzle_test,
    puzzles,
    read_puzzles,
    score_agent,
    score_answers,
)
from hearts_train.web.puzzles import listed, mistakes, puzzle_json
from tests.refusals import mistake, refused


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


# ---- the test of players -------------------------------------------------------------------------
def test_the_test_asks_in_words_and_knows_what_each_card_is_worth() -> None:
    asked = json.loads(json.dumps(puzzle_test()))
    assert [one["number"] for one in asked["puzzles"]] == list(range(1, 301))
    for number in (1, 120, 300):
        one, shown = asked["puzzles"][number - 1], puzzle_json(number)
        game = puzzle(number).game()
        assert one["text"] == game.view(game.player).to_text()
        assert one["margins"] == pytest.approx(shown["means"])
        assert (one["legal"], one["best"], one["level"]) == tuple(
            shown[key] for key in ("legal", "best", "level")
        )


@pytest.mark.parametrize(
    ("answer", "card"),
    [
        ("QS", "QS"),
        (" tc. ", "TC"),
        ("10H", "TH"),
        ("PLAY QS is tempting. No.\nPLAY: **4d**", "4D"),
        ("I would play 10c", "TC"),
        ("QS or AH", ""),
        ("DISPLAY QS", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_an_answer_is_a_card_or_ends_with_the_word_play(answer, card) -> None:
    assert card_of(answer) == card


def test_points_are_lost_as_the_chosen_cards_are_worth_less() -> None:
    asked = puzzle_test()["puzzles"]
    best = {str(one["number"]): f"PLAY {one['best']}" for one in asked}
    whole = score_answers(best)
    assert (whole.lost, whole.solved, whole.failed, whole.levels) == (0, 1, 0, (0, 0, 0))
    margins = sorted(asked[149]["margins"].items(), key=lambda item: item[1])
    second = score_answers(best | {"150": margins[-2][0]})
    gap = puzzle(150).gap
    assert second.levels == pytest.approx((0, gap / 100, 0), abs=1e-4)
    assert second.lost == pytest.approx(gap / 300, abs=1e-4)
    assert second.solved == pytest.approx(299 / 300)
    illegal = next(card for card in puzzle(150).game().rules.deck if card not in dict(margins))
    for wrong in ({"150": illegal}, {"150": "the queen"}, {}):
        left = {number: answer for number, answer in best.items() if number != "150"}
        failed = score_answers(left | wrong)
        assert failed.failed == 1
        assert failed.lost == pytest.approx((margins[-1][1] - margins[0][1]) / 300)
    assert score_answers(list(best.values())) == whole


@pytest.mark.parametrize(
    "answers",
    [{}, [], "QS", 3, {"301": "QS"}, {"x": "QS"}, ["QS"] * 301, [1, 2], [1] * 300, {"1": ["QS"]}],
    ids=lambda answers: str(answers)[:20],
)
def test_answers_that_are_to_no_puzzle_are_refused(answers) -> None:
    with refused(HeartsError, "answers", "300"):
        score_answers(answers)


class Fails:
    """A player that fails in the puzzles of seat 0, and takes the first card in the others."""

    def act(self, view):
        if view.player == 0:
            raise OSError("no answer")
        return view.legal_actions()[0]


def test_agents_are_scored_by_their_probabilities_and_faults_by_the_worst_card() -> None:
    asked = puzzle_test()["puzzles"]
    worths = [np.array(list(one["margins"].values())) for one in asked]
    random = score_agent("easy")
    assert random.lost == pytest.approx(np.mean([w.max() - w.mean() for w in worths]))
    assert random.solved == pytest.approx(np.mean([1 / len(w) for w in worths]))
    assert random.agent["name"] == "easy"
    done = []
    assert score_agent("pimc", progress=lambda now, of: done.append((now, of))).lost == 0
    assert done[0] == (0, 300)
    fails = score_agent(Fails())
    seats = [one.game().player for one in puzzles()]
    assert fails.failed == seats.count(0)
    lost = [
        w.max() - (w.min() if seat == 0 else w[0]) for w, seat in zip(worths, seats, strict=True)
    ]
    assert fails.lost == pytest.approx(np.mean(lost))


class NotProbabilities(Agent):
    def action_probs(self, views):
        raise KeyError("gone")


def test_an_agent_without_probabilities_that_can_be_used_is_named() -> None:
    with refused(HeartsError, "agent", "KeyError", "action_probs"):
        score_agent(NotProbabilities())
    with refused(HeartsError, "rules"):
        score_agent("equilibrium")


def test_the_test_is_written_and_its_answers_are_scored_on_the_command_line(tmp_path) -> None:
    def run(*words):
        return CliRunner().invoke(app, ["puzzle", *map(str, words)])

    file, answers, bad = (tmp_path / name for name in ("test.json", "answers.json", "bad.json"))
    assert run("--export", file).exit_code == 0
    asked = json.loads(file.read_text())
    assert asked == json.loads(json.dumps(puzzle_test()))
    answers.write_text(json.dumps([one["legal"][0] for one in asked["puzzles"]]))
    shown = run("--score", f"{answers},easy", "--json")
    assert shown.exit_code == 0, shown.output
    mine, easy = json.loads(shown.stdout)
    assert mine["lost"] == pytest.approx(score_answers(json.loads(answers.read_text())).lost)
    assert (mine["agent"], easy["agent"]["name"]) == (str(answers), "easy")
    assert "version" in mine
    bad.write_text("{")
    for words, said in [
        (["--export", file], "--export"),
        (["3", "--export", tmp_path / "new"], "number"),
        (["3", "--score", "easy"], "number"),
        (["--score", bad], "--score"),
        (["--score", tmp_path / "none.json"], "--score"),
        (["--score", "nobody"], "agent"),
    ]:
        mistake(run(*words), said)
