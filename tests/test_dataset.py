"""Recorded play before it is written: observations, actions, rewards and values."""

import pickle

import numpy as np
import pytest

from hearts_agents.search import MAX_HANDS
from hearts_env import Game, HeartsError, hearts_v0
from hearts_env.solve import solve_double_dummy, solve_worlds
from hearts_train.data import playing
from hearts_train.data.options import DatasetOptions
from hearts_train.data.playing import FEWEST_GAMES, Seating, exact_values, part_size
from tests.players import Noting
from tests.refusals import raises_hearts_error


def options(agents=("random",), rules="mini", games=6, **others):
    return DatasetOptions(list(agents), rules, games, **others)


def played(*arguments, **others):
    return Seating(options(*arguments, **others)).play(0)


@pytest.mark.parametrize("observation", ["flat", "history"])
@pytest.mark.parametrize(
    ("rules", "reward"), [("mini", "trick"), ("micro", "margin"), ("party players=3", "trick")]
)
def test_episodes_equal_environment_observations_and_rewards(rules, reward, observation):
    making = pytest.importorskip("hearts_train.data.episodes")
    asked = options(rules=rules, games=3, reward=reward, observation=observation)
    found = Seating(asked).play(0)
    episodes = making.Episodes.of(found, asked, ["text"] * 3)
    n = found.rules.players
    ends = np.cumsum(episodes.lengths)
    assert len(ends) == 3 * n
    env = hearts_v0.env(found.rules, reward=reward, observation=observation)
    for game in range(3):
        env.reset(seed=int(found.seeds[game]))
        at = [0] * n
        for name in env.agent_iter():
            seat = env.possible_agents.index(name)
            number = game * n + seat
            place = ends[number] - episodes.lengths[number] + at[seat]  # of the decision
            shown, paid, over, _, _ = env.last()
            np.testing.assert_array_equal(
                episodes.observations[place + number], shown["observation"]
            )
            np.testing.assert_array_equal(episodes.masks[place + number], shown["action_mask"])
            assert paid == (episodes.rewards[place - 1] if at[seat] else 0.0)
            assert over == (at[seat] == episodes.lengths[number])
            env.step(None if over else int(episodes.actions[place]))
            at[seat] += 1
        assert episodes.margins[game].tolist() == pytest.approx(env.unwrapped.game.margins())


@pytest.mark.parametrize(
    "rules", ["two_player", "mini kitty_to=first_trick", "mini pass_count=1 pass_rotation=left"]
)
def test_dataset_values_equal_the_solver(rules):
    found = played(rules=rules, games=2)
    seen, mean = exact_values(found.views, found.states)
    some = range(0, len(found.games), 5)
    for row in some:
        game = Game.deal(found.rules, int(found.seeds[found.games[row]]))
        for action in found.actions[found.games == found.games[row]][: found.steps[row]]:
            game.play(int(action))
        view = game.view(game.current_player)
        legal = view.legal_actions()
        others = np.setdiff1d(np.arange(found.rules.num_actions), legal)
        assert np.isnan(seen[row, others]).all()
        if view.phase == "pass":
            assert np.isnan(seen[row]).all()
            continue
        assert seen[row, legal].tolist() == [*map(float, solve_double_dummy(game).values.values())]
        if found.rules.pass_count:
            assert np.isnan(mean[row]).all()
            continue
        _, margins = solve_worlds(view)
        np.testing.assert_allclose(mean[row, legal], margins.mean(0))


def test_values_of_views_do_not_depend_on_the_chunk(monkeypatch):
    found = played(games=3)
    whole = exact_values(found.views, found.states)
    monkeypatch.setattr(playing, "_CHUNK", 7)
    np.testing.assert_array_equal(exact_values(found.views, found.states), whole)


def test_views_with_too_many_worlds_have_no_mean():
    """At the deal the opponent holds 10 of 18 unseen cards, which gives 43,758 worlds."""
    found = played(rules="two_player hand_size=10", games=1, agents=["easy"])
    _, mean = exact_values(found.views, found.states)
    known = np.array([view.num_worlds <= MAX_HANDS for view in found.views])
    assert known.any()
    assert not known.all()
    assert (np.isnan(mean).all(1) == ~known).all()


def test_part_depends_on_its_number_alone():
    assert part_size(FEWEST_GAMES + 5) == FEWEST_GAMES
    assert part_size(10_000) * 16 == 10_000
    one, other = (Seating(options(games=FEWEST_GAMES + 5)) for _ in range(2))
    first, second = one.play(0), one.play(1)
    again = other.play(1)
    assert len(second.seeds) == 5
    assert second.first == FEWEST_GAMES
    np.testing.assert_array_equal(second.actions, again.actions)
    assert len(np.unique(np.concatenate([first.seeds, second.seeds]))) == FEWEST_GAMES + 5
    assert not np.array_equal(Seating(options(seed=1)).play(0).seeds, first.seeds[:6])


def test_each_player_of_each_part_has_its_own_seed():
    seating = Seating(options([f"{Noting.__module__}:Noting"], games=FEWEST_GAMES + 1))
    Noting.seeds.clear()
    for number in range(2):
        seating.play(number)
    assert len(set(Noting.seeds)) == len(Noting.seeds) == 2 * 2


class Odd:
    """Plays its highest card, but something illegal when it leads while holding QS."""

    def act(self, view):
        return 99 if not view.trick and "QS" in view.hand else view.legal_actions()[-1]


def test_fault_of_an_agent_names_its_deal():
    odd = f"{__name__}:Odd"
    with raises_hearts_error(HeartsError, "agent", odd, "illegal", "seat 0", "seed ") as caught:
        played([odd, "random"], "two_player", 30)
    seed = int(str(caught.value).partition("seed ")[2].partition(":")[0])
    game = Game.deal("two_player", seed)
    assert "QS" in game.hand(0)


def test_options_survive_json():
    given = options(
        ["easy", "pro"], "two_player trump=S", 9, exact=False, formats=["minari", "parquet"]
    )
    written = given.to_json()
    del written["rules_in_full"]
    assert DatasetOptions(**written) == given == pickle.loads(pickle.dumps(given))
    assert given.dataset_id == "hearts/two_player-trump-S/easy-pro-v0"
    assert given.formats == ("parquet", "minari")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"agents": ["pro"] * 3}, "agent 3 mini 2"),
        ({"formats": ["csv"]}, "format csv parquet, minari"),
        ({"observation": "flatt"}, "observation flatt 'flat'"),
        ({"reward": "chips"}, "reward chips"),
        ({"formats": []}, "format parquet, minari"),
        ({"exact": "yes"}, "exact yes"),
    ],
)
def test_invalid_dataset_options_are_refused(changed, message):
    with raises_hearts_error(HeartsError, *message.split()):
        options(**changed)
