"""Deals card by card: the figures against plain search, the pages, the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_env import Game
from hearts_env.cards import card_text
from hearts_env.solve import solve_double_dummy
from hearts_train.measure.analysis import (
    Hint,
    Worth,
    _weighed,
    advice,
    analyse,
    hints,
    summary,
    values,
)
from hearts_train.measure.statistics import mean_and_interval
from tests.deals import played
from tests.refusals import mistake
from tests.strategies import played_on
from tests.test_cli import run


def test_losses_sum_to_the_lost_margin() -> None:
    """The players' losses account for the deal's result."""
    for seed in range(4):
        game = played("mini", seed, "easy", "standard")
        found = analyse(game)
        margin = game.margins()[0]
        assert found.before - found.lost(0) + found.lost(1) == margin
        assert found.moments[-1].after == margin
        assert len(found.moments) == 10


def test_analysis_values_equal_solver_and_pimc() -> None:
    game = played("mini", 3, "easy", "easy")
    pimc, replay = make_agent("pimc", seed=0), game.start()
    for action, moment in zip(game.actions, analyse(game).moments, strict=True):
        view = replay.view(replay.current_player)
        values = solve_double_dummy(replay).values
        names = [game.rules.deck[a] for a in view.legal_actions()]
        assert moment.values == {game.rules.deck[a]: v for a, v in values.items()}
        assert moment.means == dict(zip(names, pimc.margins(view), strict=True))
        assert moment.worlds == view.num_worlds
        assert moment.player == replay.current_player
        assert moment.expected_loss >= 0
        assert moment.lost >= 0
        replay.play(action)


def test_unfinished_and_revoked_deals_are_analysed_so_far() -> None:
    game = played_on("mini", 5, 3)
    found = analyse(game)
    assert len(found.moments) == 3
    assert any("3 of 10" in line for line in summary(found))
    offender = game.current_player
    game.revoke()
    found = analyse(game)
    assert len(found.moments) == 3
    assert f"Player {offender} revoked: " in " ".join(summary(found))
    assert "not finished" not in " ".join(summary(found))
    assert json.dumps(found.to_json())


def test_intervals_of_an_estimate_are_those_of_means() -> None:
    """The gap to the best card has an interval, too, over the same worlds."""
    margins = np.random.default_rng(0).normal([1.0, 3.0, 2.0, 2.8], size=(40, 4))
    found = _weighed("sampling", [3, 5, 8, 9], margins, np.ones(40), True)
    assert found.action == 5
    for worth in found.worths:
        column = margins[:, [3, 5, 8, 9].index(worth.action)]
        mean, (low, _) = mean_and_interval(column)
        assert (worth.margin, worth.half) == pytest.approx((mean, mean - low))
        behind = mean_and_interval(margins[:, 1] - column)[1][0]
        assert worth.is_close == (behind <= 0)
    assert [worth.is_close for worth in found.worths] == [True, True, False, False]


@pytest.mark.slow
def test_games_of_more_players_are_estimated() -> None:
    """The figures are pro's, from samples that follow from the positions."""
    agents, game = [make_agent("standard", seed=p) for p in range(4)], Game.deal("classic", 2, 1)
    while len(game.actions) < 12 + 15:
        game.play(agents[game.current_player].act(game.view(game.current_player)))
    found = analyse(game, names=["A", "B", "You", "D"])
    assert found == analyse(game, names=["A", "B", "You", "D"])
    assert [m.number for m in found.moments] == list(range(12, 27))  # after the exchange
    replay, pro = game.start(), make_agent("pro", seed=0)
    for number, action in enumerate(game.actions):
        if number >= 12:
            m, advice = found.moments[number - 12], values(pro, replay.view(replay.current_player))
            name = game.rules.action_name
            assert (m.player, m.card) == (replay.current_player, name(action))
            assert m.means == {name(w.action): w.margin for w in advice.worths}
            assert list(m.means) == [name(a) for a in replay.legal_actions()]
            shown_worse = max(m.means.values()) - m.means[m.card]
            assert m.expected_loss == (0 if m.card in m.close else shown_worse)
            assert m.sample == (m.worlds == 200)
        replay.play(action)
    assert found.expected_loss(2) == sum(m.expected_loss for m in found.moments if m.player == 2)
    text = " ".join(summary(found))
    assert "You gave away" in text
    assert "15 of 52" in text


@pytest.mark.slow
def test_analyse_command_prints_or_writes_a_report(tmp_path: Path) -> None:
    file = tmp_path / "deals.txt"
    deals = [played("micro", seed, "easy", "easy") for seed in (1, 2)]
    file.write_text("\n".join(game.to_text() for game in deals), encoding="utf-8")
    result = run("analyse", file)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("Best play by both") == 2
    page = tmp_path / "a.html"
    result = run("analyse", file, "--game", 2, "--html", page, "--json")
    assert result.exit_code == 0, result.stderr
    (shown,) = json.loads(result.stdout)
    assert shown["scores"] == deals[1].scores()
    assert np.isclose(
        sum(card["lost"] for card in shown["cards"]), sum(p["lost"] for p in shown["players"])
    )
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("margins", "said"),
    [
        ((-13.5, -17.25), "With it you lose by 13.5 on average, with 4♦ by 17.2."),
        ((3.04, 1.0), "With it you win by 3.0 on average, with 4♦ by 1.0."),
        ((2.0, -0.5), "With it you win by 2.0 on average, with 4♦ you lose by 0.5."),
        ((1.0, 0.04), "With it you win by 1.0 on average, with 4♦ you come out even."),
    ],
)
def test_advice_gives_both_outcomes_in_words(margins, said) -> None:
    game = Game.deal("two_player", 3)
    cards = [game.rules.deck.index(card) for card in ("AD", "4D")]
    worths = tuple(Worth(*pair, 0.0, False) for pair in zip(cards, margins, strict=True))
    assert advice([Hint("pimc", cards[0], worths)], game) == f"Best: A♦. {said}"


def test_advice_says_when_every_card_is_as_good() -> None:
    game = Game.deal("two_player", 3)
    worths = tuple(Worth(card, -12.0, 0.0, True) for card in (3, 4, 5))
    best = f"Best: {card_text(game.rules.deck[3])}"
    said = advice([Hint("pimc", 3, worths)], game)
    assert said == f"{best}, but every card is as good: you lose by 12.0 on average."


def test_hints_of_an_exchange_name_every_card() -> None:
    game, pro = Game.deal("classic", 2), make_agent("pro", seed=0)
    seat = game.current_player
    found = hints(pro, game)
    names = [game.rules.deck[one.action] for one in found]
    assert len(set(names)) == 3
    assert set(names) <= set(game.hand(seat))
    assert advice(found, game) == f"Best: pass {' '.join(map(card_text, names))}."
    assert game == Game.deal("classic", 2)
    game.play(found[0].action)
    assert [one.action for one in hints(pro, game)] == [one.action for one in found[1:]]


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "deals.txt"
    file.write_text(played("micro", 1, "easy", "easy").to_text() * 2, encoding="utf-8")
    for arguments, words in [
        ((file, "--game", 3), "--game"),
        ((file, "--html", tmp_path / "none" / "a.html"), "--html"),
        ((tmp_path / "nothing.txt",), "nothing.txt"),
    ]:
        mistake(run("analyse", *arguments), "", words)
