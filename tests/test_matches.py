"""Duplicate matches, the player that plays for the match, and their commands."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from hearts_agents import make_agent, register_agent
from hearts_agents.match_player import points_in_play
from hearts_env import Game, HeartsError, Match, Rules
from hearts_env.game.match import Scoreboard
from hearts_env.seeds import derived_seed
from hearts_env.solve import solve_double_dummy
from hearts_env.solve.deal_results import DealResults, shipped_results
from hearts_env.solve.match_equity import MatchEquity
from hearts_train.measure.contest import Contest, Task
from hearts_train.measure.duel import MatchBlock
from hearts_train.measure.evaluation import evaluate
from tests.refusals import mistake, refused
from tests.test_cli import run

RULES = Rules.preset("mini")


def some_views(number: int, totals: tuple[int, int]):
    """Views of mini with a choice, at random times of random play, with these totals."""
    rng = np.random.default_rng(8)
    seed = 0
    while number:
        seed += 1
        game = Game.deal(RULES, seed, totals=totals)
        for _ in range(int(rng.integers(2, 7))):
            game.play(int(rng.choice(game.legal_actions())))
        if len(game.legal_actions()) > 1:
            number -= 1
            yield game.view(game.player)


def played_out(view, world) -> list[list[int]]:
    """The scores of the deal after each legal card, all cards seen and played double dummy."""
    hands = [[*world[p], *(card for seat, card in view.history if seat == p)] for p in range(2)]
    game = Game(RULES, hands=hands, kitty=world[-1], deal_number=0, dealer=view.dealer)
    for _, card in view.history:
        game.play(card)
    scores = []
    for action in game.legal_actions():
        after = game.clone()
        after.play(action)
        while not after.is_over:
            values = solve_double_dummy(after).values
            after.play(max(after.legal_actions(), key=lambda card: values[card]))
        scores.append([after.scores()[view.player], after.scores()[1 - view.player]])
    return scores


@pytest.mark.parametrize("totals", [(90, 70), (95, 97)])
def test_match_plays_the_card_with_the_best_chance_to_win_the_match(totals) -> None:
    player, table = make_agent("match", seed=0), MatchEquity(RULES, shipped_results(RULES))
    for view in some_views(8, totals):
        own, other = view.totals[view.player], view.totals[1 - view.player]
        dealt = view.dealer == view.player
        chances = np.array(
            [
                table.after(own, other, np.array(played_out(view, world)), dealt=dealt)
                for world in view.worlds()
            ]
        )
        hands, _, margins = player.searcher.examined(view)
        assert np.allclose(player.equities(view, hands, margins), chances)
        chosen = view.legal_actions().index(player.act(view))
        means = chances.mean(axis=0)
        assert means[chosen] == pytest.approx(means.max())


def test_the_score_of_the_match_changes_its_choice() -> None:
    player, pimc = make_agent("match", seed=0), make_agent("pimc", seed=0)
    differing = 0
    for seed in (40, 60, 94):
        game = Game.deal(RULES, seed, totals=(97, 85))
        while not game.is_over:
            view = game.view(game.player)
            action, legal = pimc.act(view), view.legal_actions()
            if player.act(view) != action:
                differing += 1
                hands, weights, margins = player.searcher.examined(view)
                means = weights @ player.equities(view, hands, margins)
                gain = means[legal.index(player.act(view))] - means[legal.index(action)]
                assert gain / weights.sum() > 0.01
            game.play(action)
    assert differing >= 5


def test_points_in_play_leave_out_the_dead_cards() -> None:
    for view in some_views(5, (0, 0)):
        worlds = list(view.worlds())
        hands = np.array([sum(1 << RULES.index[c] for c in w[1 - view.player]) for w in worlds])
        total = sum(RULES.card_points.get(card, 0) for card in RULES.deck)
        dead = [sum(RULES.card_points.get(card, 0) for card in world[-1]) for world in worlds]
        assert points_in_play(view, hands).tolist() == [total - points for points in dead]


def test_it_chooses_after_a_moon_by_the_match(tmp_path) -> None:
    rules = RULES.replace(moon="choose")
    path = tmp_path / "deals.json"
    shipped = shipped_results(RULES)
    DealResults(rules, shipped.scores, shipped.dealers, shipped.counts).save(path)
    player = make_agent(f"match?results={path}", seed=0)
    # Sixteen points for the other end the match, won; off one's own they do not.
    for totals, choice in (((80, 90), "moon:others"), ((99, 0), "moon:off")):
        game = None
        for seed in range(300):
            game = Game.deal(rules, seed)
            rng = np.random.default_rng(seed)
            while game.phase == "play":
                game.play(int(rng.choice(game.legal_actions())))
            if game.phase == "moon":
                break
        assert game is not None
        assert game.phase == "moon"
        shooter = game.player
        mine = totals if shooter == 0 else totals[::-1]
        again = Game.deal(rules, seed, totals=mine)
        for action in game.actions:
            again.play(action)
        assert rules.action_name(player.act(again.view(shooter))) == choice


def test_what_match_refuses(tmp_path) -> None:
    other = tmp_path / "micro.json"
    shipped_results(Rules.preset("micro")).save(other)
    for spec, words in [
        ("match?player=pro", "player: 'pro'"),
        (f"match?results={tmp_path / 'none.json'}", r"none\.json"),
    ]:
        with pytest.raises((HeartsError, OSError), match=words):
            make_agent(spec)
    player = make_agent("match")
    for text, words in [
        ("classic", "rules"),
        ("hoyle players=2", "rules players=2'"),
        ("mini hand_size=4", "results hand_size=4'"),
        ("mini no_trick_points=-5", "no_trick_points -5"),
        ("mini kitty_to=last_trick", "kitty_to last_trick"),
        ("mini moon_points=3", "moon_points 3"),
    ]:
        with refused(HeartsError, *words.split()):
            player.check_rules(Rules.from_text(text))
    with refused(HeartsError, "results", "micro"):
        make_agent("match", results=str(other)).check_rules(RULES)
    player.check_rules(Rules.from_text("mini end_score=50 tie=lowest_shared"))


# ---- duplicate matches ---------------------------------------------------------------------------
def test_a_pair_of_matches_is_played_with_the_seats_swapped() -> None:
    work = Contest(["standard", "pro"], "mini", 3, unit="match")
    task = Task((0, 1), 4, 2)
    block = work.play(task)
    for row in range(2):
        for seating in range(2):
            match = Match(RULES, derived_seed(3, 4 + row))
            agents = [make_agent("standard", seed=0), make_agent("pro", seed=0)]
            while not match.is_over:
                agent = agents[match.player != seating]
                match.play(agent.act(match.game.view(match.player)))
            assert block.won[row, seating] == (match.winner == seating)
            assert block.lengths[row, seating] == match.num_deals
            lead = match.totals[1 - seating] - match.totals[seating]
            assert block.ahead[row, seating] == lead
    again = pickle.loads(pickle.dumps(work)).play(task)
    assert {**again.to_json(), "took": 0} == {**block.to_json(), "took": 0}
    assert MatchBlock.of(json.loads(json.dumps(block.to_json()))).to_json() == block.to_json()


class Spy:
    """Plays its lowest card, and notes the totals that it was shown."""

    seen: list[tuple[int, ...]] = []  # noqa: RUF012

    def act(self, view):
        Spy.seen.append(view.totals)
        return view.legal_actions()[0]


class Faulty:
    """Never answers."""

    def act(self, view):
        raise RuntimeError


def test_players_know_the_totals_and_matches_begin_with_those_given() -> None:
    register_agent("spy", Spy)
    result = evaluate("spy", "easy", "micro", deals=2, unit="match", totals=(70, 40))
    assert set(Spy.seen[:1]) == {(70, 40)}
    assert all(max(totals) >= 70 for totals in Spy.seen)
    assert len(set(Spy.seen)) > 3
    assert result.totals == (70, 40)
    assert result.to_json()["totals"] == [70, 40]


def test_matches_are_the_same_with_workers_isolated_and_resumed(tmp_path) -> None:
    def play(**settings):
        record = evaluate("standard", "easy", "micro", deals=70, unit="match", **settings)
        return {**record.to_json(), "isolated": None}

    whole = play(save=tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 3  # blocks of 32, 32 and 6
    (tmp_path / "cut").write_bytes(b"".join(lines[:2]))
    assert play(resume=tmp_path / "cut", workers=2) == whole
    assert (tmp_path / "cut").read_bytes().count(b"\n") == 4
    assert play(isolate=True, time_limit=600) == whole


def test_a_faulty_player_loses_and_the_matches_go_on() -> None:
    register_agent("faulty", Faulty)
    result = evaluate("easy", "faulty", "micro", deals=3, unit="match")
    assert (result.won, result.swept, result.faults) == (1, 1, 0)
    assert result.opponent_faults > 6
    assert result.ahead > 90


def test_a_player_against_itself_wins_half() -> None:
    result = evaluate("standard", "standard", "mini", deals=40, seed=1, unit="match")
    assert (result.won, result.ci95, result.split) == (0.5, (0.5, 0.5), 1)
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
        ("two_player", [1, 2, 3], 2),
        ("two_player", [1.5, 2], "1.5"),
        ("two_player", "ab", "ab"),
        ("hoyle players=2", [100, 101], 200),
        ("hoyle players=2", [200, 0], "200"),
    ]:
        with refused(HeartsError, "totals", words):
            Match(rules, 1, totals=totals)


# ---- commands ------------------------------------------------------------------------------------


def test_the_command_plays_matches() -> None:
    words = ["standard", "--unit", "match", "--opponents", "easy", "--rules", "micro"]
    words += ["--deals", "5"]
    result = run("evaluate", *words, "--totals", "50,60", "--json")
    assert result.exit_code == 0, result.stderr
    (told,) = json.loads(result.stdout)
    assert (told["pairs"], told["totals"]) == (5, [50, 60])
    for wrong, said in [
        (["--rules", "classic"], "players 'classic' 4"),
        (["--totals", "1;2"], "--totals '1;2'"),
        (["--totals", "100,1"], "totals 100"),
        (["--deals", "1"], "deals 1 2 10,000,000"),
        (["--plot", "x.png"], "--plot omit"),
        (["--unit", "trick"], "unit 'trick'"),
    ]:
        mistake(run("evaluate", *words[:5], *wrong), *said.split())


@pytest.mark.slow
def test_the_command_equity(tmp_path) -> None:
    deals = tmp_path / "deals.json"
    words = ["analyse", "--unit", "match", "--agent", "standard", "--rules", "mini"]
    words += ["--deals", "30"]
    result = run(*words, "--save", str(deals))
    assert result.exit_code == 0, result.stderr
    assert "own \\ other" in result.stdout
    result = run("analyse", str(deals), "--unit", "match", "--totals", "30,30", "--json")
    told = json.loads(result.stdout)
    assert told["chance"] == pytest.approx(0.5)
    assert told["deals"] == 120
    result = run("analyse", str(deals), "--unit", "match", "--json")
    table = json.loads(result.stdout)
    assert np.array(table["chances"]).shape == (20, 20)
    for wrong, said in [
        ([str(deals), "--agent", "pro"], "--agent"),
        ([str(deals), "--rules", "two_player"], "results 'mini'"),
        ([str(deals), "--totals", "100,2"], "totals 100"),
        (["--rules", "classic"], "--rules classic"),
        (["--rules", "mini", "--totals", "1,2,3"], "totals 2"),
        ([__file__], "results"),
        (["--agent", "pro,easy,pimc"], "--agent 3"),
        (["--html", "x.html"], "--html"),
    ]:
        mistake(run("analyse", "--unit", "match", *wrong), *said.split())


@pytest.mark.slow
def test_chips_at_the_command() -> None:
    words = ["--agent", "easy", "--rules", "hoyle players=2", "--deals", "20"]
    result = run("analyse", "--unit", "match", *words)
    assert result.exit_code == 0, result.stderr
    assert "100     0.500" in result.stdout
