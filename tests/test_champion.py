"""The networks that come with the package, and the search that improves a policy at play."""

import copy
import pickle
import re

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_agents.champion import OTHERS, SHIPPED, strongest, weights_of
from hearts_agents.models.checkpoint import read_checkpoint
from hearts_agents.models.network import load_agent
from hearts_agents.search_agent import Budget, SearchAgent, _shared
from hearts_env import BatchGame, Game, HeartsError, Rules
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import Tracker, belief
from hearts_env.solve.response import Responses
from hearts_train.measure.evaluation import evaluate
from tests.players import network_player
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases


@pytest.mark.parametrize(
    ("game", "kind"), [*((g, "") for g in SHIPPED), *((g, k) for k in OTHERS for g in OTHERS[k])]
)
def test_weights_come_with_their_card_and_are_small(game, kind):
    path = weights_of(game, kind)
    assert path.stat().st_size < (200_000 if kind == "small" else 2_000_000)
    _, meta = read_checkpoint(path)
    assert meta.rules.is_same_deal(Rules.preset(game))
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    training = meta.training
    for fact in (f"{training['decisions']:,} decisions", str(training["seed"]), "hearts train"):
        assert fact in card
    for text in (path.read_bytes()[:20_000], card.encode()):
        assert not re.search(rb"/(work|home|tmp|root|Users)/", text)
    if kind == "taught":
        return
    agent = make_agent(f"champion?{kind}=true" if kind else "champion")
    agent.check_rules(Rules.preset(game))
    views = BatchGame(game, 32, seed=1).views()
    same = load_agent(path, greedy=SHIPPED[game]).action_probs(views)
    np.testing.assert_array_equal(agent.action_probs(views), same)


@pytest.mark.slow
def test_champion_beats_the_baselines():
    for opponent, least in (("standard", 8.0), ("pro", 4.5), ("pimc", 0.7)):
        assert evaluate("champion", opponent, "two_player", 2000, seed=4).margin > least


def test_draws_follow_from_the_seed():
    batch = BatchGame("mini", 400, seed=1)
    for _ in range(3):
        batch.play(batch.random_actions())
    views = batch.views()
    one, same, other = (make_agent("champion", seed=s).act_batch(views) for s in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()
    best = make_agent("champion", greedy=True)
    assert best.action_probs(views).max(1).min() == 1.0
    assert make_agent("champion?greedy=false").action_probs(views).max(1).min() < 1.0


@pytest.mark.parametrize(
    ("name", "rules", "words"),
    [
        ("champion", "party players=5", "rules two_player"),
        ("champion", "two_player moon_points=10", "rules two_player"),
        ("champion?search=50ms", "classic", "search classic 4"),
    ],
)
def test_other_games_are_refused(name, rules, words):
    with raises_hearts_error(HeartsError, *words.split()):
        make_agent(name).check_rules(Rules.make(rules))


# ---- search --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("search", "seconds", "worlds"),
    [("50", 0, 50), (7, 0, 7), ("50ms", 0.05, 0), ("0.5s", 0.5, 0), ("all", 0, 0)],
)
def test_search_budget_is_parsed_or_refused(search, seconds, worlds):
    budget = Budget(search)
    assert budget.seconds == pytest.approx(seconds or np.inf)
    assert budget.worlds == worlds if worlds else budget.worlds > 10**6


def scores_by_hand(agent, view, models=()):
    """Weigh a search's legal cards, one world, one card and one deal at a time."""
    legal = view.legal_actions()
    values, total = np.zeros(len(legal)), 0.0
    for model in (agent, *models):
        found = belief(view, model.with_greedy(False).action_probs, epsilon=0.02)
        for world, weight in zip(view.worlds(), np.exp(found.log_likelihoods), strict=True):
            total += weight
            for place, action in enumerate(legal):
                game = Game.from_view(view, world)
                game.play(action)
                while not game.is_over:
                    mover = agent if game.current_player == view.player else model
                    game.play(mover.act(game.view(game.current_player)))
                values[place] += weight * game.margins()[view.player]
    chances = agent.with_greedy(False).action_probs(BatchView.of([view]))[0, legal]
    return values / total / 0.2 + np.log(np.maximum(chances, 1e-9))


@pytest.mark.parametrize("models", [0, 2])
def test_search_plays_as_a_plain_count(models):
    agent, different = network_player(), 0
    others = [network_player(seed=3 + i) for i in range(models)]
    searching = SearchAgent(agent, models=others)
    plain = SearchAgent(agent) if models else agent
    for seed in range(12, 24):
        game = Game.deal("mini", seed)
        for _ in range(seed % 4):
            game.play(game.legal_actions()[-1])
        view = game.view(game.current_player)
        if len(view.legal_actions()) > 1:
            scores = scores_by_hand(agent, view, others)
            found = searching.scores(BatchView.of([view]))[0, view.legal_actions()]
            np.testing.assert_allclose(found, scores, atol=1e-9)
            chosen = view.legal_actions().index(searching.act(view))
            assert scores[chosen] == pytest.approx(scores.max())
            different += searching.act(view) != plain.act(view)
    assert different


def test_short_time_limit_is_nearly_met(clock, monkeypatch):
    """The clock advances by a millisecond per world."""
    values = Responses.card_values

    def slow(self, infosets, *more):
        clock.time += 0.001 * len(infosets.states)
        return values(self, infosets, *more)

    monkeypatch.setattr(Responses, "card_values", slow)
    game = Game.deal("two_player", 1)
    while len(game.legal_actions()) < 5:
        game.play(game.legal_actions()[0])
    for milliseconds in (1, 5, 20, 50):
        clock.time = 0.0
        SearchAgent(network_player("two_player"), f"{milliseconds}ms").act(
            game.view(game.current_player)
        )
        assert 0.4 * milliseconds <= 1000 * clock.time <= max(2, milliseconds)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *(
            (lambda search=search: make_agent("champion", search=search), "search")
            for search in ("", "0", "5m", "1.5", "9" * 30)
        ),
        (lambda: make_agent("champion", greedy="no"), "greedy no"),
        (lambda: make_agent("champion", small="no"), "small no"),
        (lambda: load_agent(5), "checkpoint 5"),
        (lambda: SearchAgent(make_agent("champion")), "policy make_agent"),
        (lambda: SearchAgent(network_player(), models=["pimc"]), "models"),
        (lambda: SearchAgent(network_player()).check_rules(Rules.preset("classic")), "rules"),
    ],
)
def test_invalid_champion_arguments_are_refused(make, words):
    with raises_hearts_error(HeartsError, *words.split()):
        make()


def test_impossible_opponent_models_are_equally_likely():
    views = BatchGame("mini", 3, seed=1).views()
    infosets = Tracker(network_player().action_probs).infosets(views)
    chances = [np.array([-np.inf, -2.0, -np.inf]), np.array([-np.inf, -np.inf, -9.0])]
    shared = _shared([(infosets, each) for each in chances])
    sums = [each.totals for each in shared]
    np.testing.assert_allclose(sums, [[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])


def test_searching_champion_also_models_pimc():
    searching = make_agent("champion?search=8").player_of(Rules.preset("two_player"))
    assert [m.checkpoint.training["name"] for m in searching.models] == ["champion_taught"]
    assert make_agent("champion?search=8").player_of(Rules.preset("mini")).models == ()


@quick_cases("model", ["", "pimc", "pro", "equilibrium"], ["", "pimc"])
def test_search_result_is_independent_of_other_views(model):
    """Any agent with action_probs is a model."""
    rules = "mini" if model == "equilibrium" else "two_player"
    models = [make_agent(model, seed=1)] if model else []
    agent = SearchAgent(network_player(rules), 16, models=models)
    assert model in agent.name
    batch = BatchGame(rules, 12, seed=3)
    for _ in range(9):
        batch.play(batch.random_actions())
    views = batch.views()
    together = agent.act_batch(views).tolist()
    fresh = [SearchAgent(network_player(rules), 16, models=models).act(view) for view in views]
    assert together == fresh
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.act_batch(views).tolist() == together


# ---- where people meet it ------------------------------------------------------------------------


def test_champion_is_the_default_human_opponent():
    assert [strongest(Rules.preset(name)) for name in SHIPPED] == ["champion"] * len(SHIPPED)
    assert strongest(Rules.make("party players=5")) == "pro"
    assert strongest(Rules.make("two_player moon_points=10")) == "pro"
