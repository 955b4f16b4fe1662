"""Endgames: the same game as a whole tree where that can be built, and ranges by Bayes' rule."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from hearts_agents import make_agent
from hearts_env import BatchView, Game, HeartsError, Rules
from hearts_env.cards import mask_of
from hearts_env.solve.beliefs import belief
from hearts_env.solve.best_response import best_response
from hearts_env.solve.endgame import Endgame
from hearts_env.solve.equilibrium import solve
from hearts_env.solve.tree import Tree
from hearts_train.cli.app import app
from tests.deals import played
from tests.refusals import mistake, refused


def leading_first(name: str) -> Game:
    """A deal in which seat 0 has the first lead."""
    return next(game for game in (Game.deal(name, seed) for seed in range(99)) if game.leader == 0)


def mask(game: Game, player: int) -> int:
    """The hand that was dealt to a player."""
    return mask_of(game.rules.index[card] for card in game.start().hand(player))


def test_the_whole_deal_is_an_endgame() -> None:
    """From the first lead on the tree is that of `hearts solve`, dealer and all."""
    tree = Tree("micro")
    game = leading_first("micro")
    end = Endgame(game)
    # The leader's first card is known to be its lowest, and nothing else.
    assert end.size.lines == tree.size.lines
    assert len(end.deals) == tree.num_deals
    assert np.isclose(*(solve(one, target=1e-8).value for one in (end, tree)), atol=1e-7)


@pytest.mark.parametrize("name", ["micro", "mini", "two_player"])
def test_the_deals_are_those_that_both_think_possible(name: str) -> None:
    """What a player can rule out for itself: the pairs with its own hand are its worlds."""
    late = {"micro": 2, "mini": 5, "two_player": 19}[name]
    for seed in range(12):
        game = played(name, seed, "easy", "easy", cards=late + seed % 3)
        end = Endgame(game)
        for player in range(2):
            with_own = end.deals[end.deals[:, player] == mask(game, player)][:, 1 - player]
            out = mask_of(game.rules.index[card] for seat, card in game.history if seat != player)
            found = sorted(int(hand) & ~out for hand in with_own)
            assert found == sorted(belief(game.view(player)).hands.tolist())


@pytest.mark.parametrize("name", ["mini", "two_player"])
def test_ranges_are_bayes_rule(name: str) -> None:
    """Given one's own hand, the other's range is the belief of ``beliefs``."""
    rules = Rules.preset(name)
    pimc = make_agent("standard", seed=0)
    late = 5 if name == "mini" else 19
    for seed in range(5):
        game = played(name, seed, "standard", "standard", cards=late)
        end = Endgame(game, (pimc.action_probs, pimc.action_probs), epsilon=0.2)
        view = game.view(0)
        found = belief(view, pimc.action_probs, epsilon=0.2)
        rows = end.deals[:, 0] == mask(game, 0)
        hands = end.deals[rows, 1]
        weights = end.sides[1].reach[np.searchsorted(end.sides[1].hands, hands)]
        out = mask_of(rules.index[card] for seat, card in game.history if seat == 1)
        mine = dict(zip((hands & ~out).tolist(), weights / weights.sum(), strict=True))
        for hand, weight in zip(found.hands.tolist(), found.weights, strict=True):
            assert np.isclose(mine[hand], weight)


@pytest.mark.slow
def test_regrets_find_what_best_responses_do_not_beat() -> None:
    standard = make_agent("standard", seed=0)
    for seed in range(6):
        game = played("mini", seed, "standard", "standard", cards=3)
        end = Endgame(game, (standard.action_probs, None), epsilon=0.1)
        found = solve(end, target=1e-6)
        won = [best_response(end, p, found.chances[1 - p]).value for p in range(2)]
        assert sum(won) / 2 == pytest.approx(found.exploitability, abs=1e-12)
        assert sum(won) < 2e-6
        assert -won[1] - 1e-9 <= found.value <= won[0] + 1e-9
        shares = [hand.share for hand in found.hand_values(0)]
        assert np.isclose(sum(shares), 1)
        mean = sum(hand.share * hand.value for hand in found.hand_values(0))
        assert np.isclose(mean, found.value)


def test_the_end_can_begin_within_a_trick() -> None:
    game = played("mini", 3, "easy", "easy", cards=5)
    assert len(game.trick) == 1
    end = Endgame(game)
    assert solve(end, target=1e-4).exploitability < 1e-4
    again = Endgame(game.view(game.player))
    assert np.array_equal(end.deals, again.deals)


def test_what_is_hidden_changes_nothing() -> None:
    game = played("two_player", 6, "easy", "easy", cards=18)
    other = Game.from_view(game.view(0), list(game.view(0).worlds())[-1])
    assert other != game
    assert np.array_equal(Endgame(game).deals, Endgame(other).deals)


def test_mistakes_are_named(tmp_path) -> None:
    game = played("mini", 1, "easy", "easy", cards=4)

    def wrong(views: BatchView) -> np.ndarray:
        return np.full((len(views), views.rules.num_actions), 0.1)

    for position, options, words in [
        (Game.deal("no_pass", 1), {}, "rules"),
        (Game.deal("two_player", 1), {}, "position"),
        (played("micro", 1, "easy", "easy", cards=6), {}, "position"),
        (game, {"epsilon": 2.0}, "epsilon"),
        (game, {"policies": (None,)}, "policies"),
        (game, {"policies": (wrong, None)}, "policy"),
        (game, {"max_memory": 1e-9}, "max_memory"),
    ]:
        with refused(HeartsError, words):
            Endgame(position, **options)
    found = solve(Endgame(game), target=0.1)
    with refused(HeartsError, "endgame"):
        found.save(tmp_path / "x.safetensors")


def test_the_command(tmp_path) -> None:
    file = tmp_path / "deal.txt"
    file.write_text(played("two_player", 2, "pro", "pro").to_text(), encoding="utf-8")
    arguments = ["endgame", str(file), "--tricks", "3", "--agent", "pro,pimc"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    for words in ("3 tricks", "pro", "pimc", "solved"):
        assert words in result.stdout
    for arguments, words in [
        (["--tricks", "0"], "--tricks"),
        (["--tricks", "13"], "position"),
        (["--game", "2"], "--game"),
    ]:
        result = CliRunner().invoke(app, ["endgame", str(file), *arguments])
        assert result.exit_code == 2, arguments
        assert words in result.stderr


def test_play_that_the_model_would_not_choose_is_refused_by_option(tmp_path) -> None:
    file = tmp_path / "deal.txt"
    file.write_text(played("mini", 0, "easy", "easy", cards=10).to_text(), encoding="utf-8")
    arguments = ["endgame", str(file), "--tricks", "2", "--agent", "easy", "--model", "standard"]
    result = CliRunner().invoke(app, [*arguments, "--epsilon", "0"])
    assert result.exit_code == 2
    mistake(result, "--model", "deal 1", "--epsilon")
    assert CliRunner().invoke(app, arguments).exit_code == 0
