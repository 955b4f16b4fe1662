"""Endgames solved inside a player: safe against every hand, and the same whoever asks."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

from hearts_agents import endgame_agent, make_agent
from hearts_agents.champion import weights_of
from hearts_agents.endgame_agent import EndgameAgent
from hearts_agents.models.network import load_agent
from hearts_env import BatchGame, BatchView, Game, HeartsError, Rules
from hearts_env.solve.beliefs import dealt_hands
from hearts_env.solve.best_response import action_probs_in, best_response, exploit
from hearts_env.solve.endgame import PRICE, SHARE, Endgame, solve_safely
from hearts_env.solve.equilibrium import solve
from tests.deals import played
from tests.players import network_player
from tests.refusals import refused


def hand_values(tree: Endgame, player: int, chances: np.ndarray) -> np.ndarray:
    """What a best response of `player` wins with each of its hands."""
    return best_response(tree, player, chances).hand_values


def late(seed: int, tricks: int = 1) -> Game:
    """A deal of mini after its first tricks."""
    return played("mini", seed, "easy", "easy", cards=2 * tricks)


@pytest.mark.slow
@pytest.mark.parametrize("player", [0, 1])
def test_what_hands_of_the_other_gain_is_less_than_what_its_range_loses(player: int) -> None:
    agent = network_player("mini", seed=3)
    agent.greedy = False
    for seed in range(2):
        end = Endgame(late(seed), (agent.action_probs, agent.action_probs), epsilon=0.01)
        before = action_probs_in(end, player, agent.action_probs)
        left = hand_values(end, 1 - player, before)
        gained = hand_values(end, 1 - player, solve_safely(end, player, before)) - left
        lost = -float(gained @ end.sides[1 - player].reach)
        assert 0.0 < PRICE * gained.clip(min=0.0).sum() < lost


@pytest.mark.slow
def test_guessing_alone_is_the_equilibrium_of_the_ranges() -> None:
    end = Endgame(late(5))
    found = solve_safely(end, 0, end.sides[0].uniform(), price=0.0, iterations=400)
    worst = -float(hand_values(end, 1, found) @ end.sides[1].reach)
    assert worst == pytest.approx(solve(end, target=1e-3).value, abs=0.02)


@pytest.mark.slow
def test_a_wrong_range_costs_who_only_guesses() -> None:
    """The other player is taken to hold its likeliest hand nearly always, and holds another."""
    agent = network_player("mini", seed=3)
    agent.greedy = False
    end = Endgame(late(1), (None, agent.action_probs))
    before = action_probs_in(end, 0, agent.action_probs)
    left, found = hand_values(end, 1, before), {}
    for price in (0.0, 1e4):
        chances = solve_safely(end, 0, before, price=price, iterations=400)
        found[price] = (hand_values(end, 1, chances) - left).max()
    assert found[0.0] > 10 * max(found[1e4], 1e-4)


@pytest.mark.slow
def test_at_a_high_price_a_strong_player_gives_no_hand_more() -> None:
    """The champion of mini is near an equilibrium: a point of the range must not cost another."""
    network = load_agent(weights_of("mini"), greedy=False)
    for seed in range(3):
        game = played("mini", seed, "champion", "champion", cards=2)
        player = game.player
        assert player is not None
        solution = EndgameAgent(network, 4, price=16.0)._solve(game.view(player))
        assert solution is not None
        end, chances = solution
        assert set(chances) == {player}  # of the other's part it knows nothing
        before = end.chances_of(player, network.action_probs)
        left, found = (hand_values(end, 1 - player, one) for one in (before, chances[player]))
        points = end.num_deals / np.maximum(end.deals_of_hands[1 - player], 1e-9)
        assert ((found - left) * points).max() < 0.02


def test_the_champion_weighs_its_own_hands_by_what_it_plays() -> None:
    """Which is its preferred card, not a drawn one."""
    network = load_agent(weights_of("two_player"))
    game = Game.deal("two_player", 1)
    while game.rules.hand_size - game.trick_number > 3:
        game.play(network.act(game.view(game.player)))
    views = BatchView.of([game.view(game.player)])
    found = [
        a.action_probs(views)
        for a in (make_agent("champion?endgame_tricks=3"), EndgameAgent(network))
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.slow
def test_a_network_that_solves_the_last_tricks_is_less_exploitable() -> None:
    agent = network_player("micro", seed=1)
    agent.greedy = False
    alone, solving = (exploit(a, "micro").exploitability for a in (agent, EndgameAgent(agent, 2)))
    assert solving < 0.7 * alone


def test_before_the_last_tricks_it_plays_as_its_policy() -> None:
    network = load_agent(weights_of("two_player"))
    agent, early = EndgameAgent(network, 2, seed=1), make_agent("easy", seed=4)
    batch = BatchGame("two_player", 20, seed=3)
    for _ in range(16):
        batch.play(batch.random_actions())
    views = batch.views()
    assert (agent.act_batch(views) == network.act_batch(views)).all()
    other = EndgameAgent(network, 2, early=early, seed=1)
    np.testing.assert_array_equal(other.action_probs(views), early.action_probs(views))


@pytest.mark.slow
def test_chances_do_not_depend_on_what_was_asked_before_or_beside() -> None:
    agent = make_agent("champion?endgame_tricks=3", seed=1)
    batch = BatchGame("two_player", 12, seed=3)
    for step in range(25):
        views = batch.views()
        if step >= 20:
            together = agent.action_probs(views)
            assert np.allclose(together.sum(1), 1.0)
            alone = make_agent("champion?endgame_tricks=3", seed=2).action_probs(
                views.subset(np.array([7]))
            )
            np.testing.assert_array_equal(alone[0], together[7])
        batch.play(batch.random_actions())


@pytest.mark.slow
def test_copies_draw_the_same_and_remember_nothing() -> None:
    agent = EndgameAgent(load_agent(weights_of("mini"), greedy=False), 3, seed=1)
    views = BatchView.of([game.view(game.player) for game in (late(s, 2) for s in range(20))])
    agent.action_probs(views)
    assert agent._solved
    twins = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    assert not any(twin._solved for twin in twins)
    drawn = [[player.act_batch(views).tolist() for _ in range(5)] for player in (agent, *twins)]
    assert drawn[0] == drawn[1] == drawn[2]
    assert len({tuple(actions) for actions in drawn[0]}) > 1


def test_no_hand_of_the_other_is_left_out_and_none_that_the_player_would_have() -> None:
    """By its own play, which takes its preferred card; the kept deals have all its real hands."""
    network = load_agent(weights_of("two_player"))
    left_out = 0
    for seed in range(3):
        game = Game.deal("two_player", seed)
        while game.rules.hand_size - game.trick_number > 4:
            game.play(network.act(game.view(game.player)))
        player = game.player
        assert player is not None
        policies = [network.with_greedy(False).action_probs] * 2
        policies[player] = network.action_probs
        whole = Endgame(game, policies, epsilon=0.0)
        kept = Endgame(game, policies, player=player, most_lines=10**6)
        own = np.unique(kept.deals[:, player])
        assert (np.isin(whole.deals[:, player], own).sum()) == len(kept.deals)
        ranges = whole.sides[player].reach
        assert set(own) == set(whole.sides[player].hands[ranges >= SHARE])
        left_out += len(whole.deals) - len(kept.deals)
        with refused(HeartsError, "most_lines"):
            Endgame(game, policies, player=player, most_lines=int(kept.size.lines) - 1)
        views = game.view(player), game.view(player)
        assert kept.has(BatchView.of(views)).all() == (len(game.legal_actions()) > 1)
        before = kept.chances_of(player, network.action_probs)
        reached = kept.sides[player].plan(before) > 0
        everywhere = action_probs_in(kept, player, network.action_probs)
        assert (before[reached] == everywhere[reached]).all()
        best = best_response(kept, 1 - player, before), best_response(kept, 1 - player, everywhere)
        assert best[0].value == pytest.approx(best[1].value)
    assert left_out > 1000


@pytest.mark.parametrize("greedy", [False, True])
def test_with_few_lines_it_waits_and_is_no_more_exploitable_than_its_policy(greedy: bool) -> None:
    network = network_player("micro", seed=1)
    network.greedy = greedy
    alone = exploit(network, "micro").exploitability
    for lines, most in ((10**6, 0.7), (100, 1.0), (1, 1.0)):
        agent = EndgameAgent(network, 2, most_lines=lines)
        assert exploit(agent, "micro").exploitability < most * alone + 1e-9
    assert not any(agent._solved.values())  # one line is no endgame with a choice


def test_whole_deals_follow_from_the_seed() -> None:
    def cards_of(seed: int, search: str = "") -> list[tuple[int, str]]:
        player, cards = make_agent(f"champion?endgame_tricks=3{search}", seed=seed), []
        for number in range(5):
            game = Game.deal("mini", number)
            while game.player is not None:
                game.play(player.act(game.view(game.player)))
            cards += game.history
        return cards

    assert cards_of(1) == cards_of(1) != cards_of(2)
    assert cards_of(1, "&search=4") != cards_of(1)


def test_worlds_are_listed_once_for_all_views_with_one_solution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = []
    monkeypatch.setattr(
        endgame_agent, "dealt_hands", lambda view: listed.append(view) or dealt_hands(view)
    )
    agent = EndgameAgent(network_player("mini", seed=1), 3)
    for player in range(2):
        for _, views in Endgame(late(0, 2)).blocks(player):
            agent.action_probs(views)
    assert 0 < len(listed) <= len(agent._solved)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endgame_agent, "_MEMORY", 0.0)
    agent = EndgameAgent(load_agent(weights_of("mini"), greedy=False), 3, seed=1)
    for seed in range(3):
        agent.act(late(seed, 2).view(late(seed, 2).player))
    assert len(agent._solved) == 1


def test_deals_that_differ_in_the_kitty_alone_have_solutions_of_their_own() -> None:
    rules = Rules.preset("micro").replace(kitty_to="first_trick")
    for tricks, seed in itertools.product((2, 4), range(12)):  # the last tricks may be all
        agent = EndgameAgent(network_player(rules, seed=1), tricks, seed=1)
        game = Game.deal(rules, seed)
        while game.player is not None:
            game.play(agent.act(game.view(game.player)))


def test_what_cannot_work_is_refused_before_the_deal() -> None:
    network = network_player("mini")
    for tricks in ("0", "7", "two"):
        with refused(HeartsError, "endgame_tricks"):
            make_agent(f"champion?endgame_tricks={tricks}")
    with refused(HeartsError, "endings", hint="endgame_tricks"):
        make_agent("champion?endings=2")
    with refused(HeartsError, "price"):
        EndgameAgent(network, 2, price=-1.0)
    large = Rules.preset("two_player").replace(removed=(), hand_size=13)
    with refused(HeartsError, "tricks", 3):
        EndgameAgent(network, 3).check_rules(large)
    with refused(HeartsError, "iterations"):
        end = Endgame(late(1))
        solve_safely(end, 0, end.sides[0].uniform(), iterations=0)
