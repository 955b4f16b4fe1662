"""Duplicate matches: pairs of matches with the seats swapped, and their command."""

from __future__ import annotations

import json
import pickle

from hearts_agents import make_agent
from hearts_env import HeartsError, Match, Rules
from hearts_env.game.match import Scoreboard
from hearts_env.seeds import derived_seed
from hearts_train.measure.contest import Contest, Task
from hearts_train.measure.duel import MatchBlock
from hearts_train.measure.evaluation import evaluate
from tests.refusals import mistake, raises_hearts_error
from tests.test_cli import run
from tests.waiting import timeless

RULES = Rules.preset("mini")


def test_match_pair_swaps_seats() -> None:
    work = Contest(["standard", "pro"], "mini", 3, unit="match")
    task = Task((0, 1), 4, 2)
    block = work.play(task)
    for row in range(2):
        for seating in range(2):
            match = Match(RULES, derived_seed(3, 4 + row))
            agents = [make_agent("standard", seed=0), make_agent("pro", seed=0)]
            while not match.is_over:
                agent = agents[match.current_player != seating]
                match.play(agent.act(match.game.view(match.current_player)))
            assert block.won[row, seating] == (match.winner == seating)
            assert block.lengths[row, seating] == match.num_deals
            lead = match.totals[1 - seating] - match.totals[seating]
            assert block.ahead[row, seating] == lead
    again = pickle.loads(pickle.dumps(work)).play(task)
    assert again.to_json() == block.to_json()
    assert MatchBlock.of(json.loads(json.dumps(block.to_json()))).to_json() == block.to_json()


class Spy:
    """Play the lowest card and note the totals of each view."""

    seen: list[tuple[int, ...]] = []  # noqa: RUF012

    def act(self, view):
        Spy.seen.append(view.totals)
        return view.legal_actions()[0]


class Faulty:
    """Never answers."""

    def act(self, view):
        raise RuntimeError


def test_players_see_the_match_totals() -> None:
    evaluate(f"{__name__}:Spy", "easy", "micro", deals=2, unit="match")
    assert Spy.seen[0] == (0, 0)
    assert len(set(Spy.seen)) > 3


def test_matches_with_workers_and_isolation_are_equal() -> None:
    def play(**settings):
        record = evaluate("standard", "easy", "micro", deals=34, unit="match", **settings)
        return timeless({**record.to_json(), "isolated": None})

    whole = play()  # blocks of 32 and 2
    assert play(workers=2) == whole
    assert play(isolate=True, time_limit=600) == whole


def test_faulty_player_loses_all_matches() -> None:
    result = evaluate("easy", f"{__name__}:Faulty", "micro", deals=3, unit="match")
    assert (result.won, result.swept, result.faults) == (1, 1, 0)
    assert result.opponent_faults > 6
    assert result.ahead > 90


def test_player_against_itself_wins_half() -> None:
    result = evaluate("standard", "standard", "mini", deals=40, seed=1, unit="match")
    assert (result.won, result.ci95, result.swept) == (0.5, (0.5, 0.5), 0)
    assert result.ahead == 0
    assert 100 / 16 < result.deals < 30


def test_matches_may_begin_with_totals() -> None:
    match = Match("two_player", 1, totals=[90, 99])
    assert match.totals == [90, 99]
    assert match.game.totals == (90, 99)
    assert Scoreboard("hoyle players=2", [150, 50]).totals == [150, 50]
    # Both past the limit: a play-off, which the next deal decides.
    board = Scoreboard("two_player", [110, 105])
    board.add([0, 3], [0, 3])
    assert (board.is_over, board.winner) == (True, 1)
    for rules, totals, words in [
        ("two_player", [100, 3], "100"),
        ("two_player", "ab", "ab"),
        ("hoyle players=2", [100, 101], 200),
    ]:
        with raises_hearts_error(HeartsError, "totals", words):
            Match(rules, 1, totals=totals)


def test_evaluate_command_plays_matches() -> None:
    words = ["standard", "--unit", "match", "--opponents", "easy", "--rules", "micro"]
    words += ["--deals", "5"]
    result = run("evaluate", *words, "--json")
    assert result.exit_code == 0, result.stderr
    (told,) = json.loads(result.stdout)
    assert told["pairs"] == 5
    for wrong, said in [
        (["--rules", "classic"], "players 'classic' 4"),
        (["--deals", "1"], "deals 1 2 10,000,000"),
        (["--plot", "x.png"], "--plot omit"),
        (["--unit", "trick"], "unit 'trick'"),
    ]:
        mistake(run("evaluate", *words[:5], *wrong), *said.split())
