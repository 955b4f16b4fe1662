"""Recorded play before it is written: observations, actions, rewards and values."""

import pickle

import numpy as np
import pytest

from hearts_agents.search import MAX_HANDS
from hearts_env import Game, HeartsError, hearts_v0, kernel
from hearts_env.solve import solve_double_dummy, solve_worlds
from hearts_train.data.episodes import Episodes
from hearts_train.data.options import DatasetOptions
from hearts_train.data.playing import BLOCK, ExactValues, Seating
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
    asked = options(rules=rules, games=3, reward=reward, observation=observation)
    found = Seating(asked).play(0)
    episodes = Episodes.of(found, asked)
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
            assert paid == pytest.approx(episodes.rewards[place - 1] if at[seat] else 0.0)
            assert over == (at[seat] == episodes.lengths[number])
            env.step(None if over else int(episodes.actions[place]))
            at[seat] += 1
        margins = env.unwrapped.game.margins()
        assert episodes.margins[game * n : (game + 1) * n] == pytest.approx(margins)


@pytest.mark.parametrize(
    "rules", ["two_player", "mini kitty_to=first_trick", "mini pass_count=1 pass_rotation=left"]
)
def test_dataset_values_equal_the_solver(rules):
    found = played(rules=rules, games=2)
    values = ExactValues(found.rules).of(found.views, found.others)
    some = range(0, len(found.games), 5)
    for row in some:
        game = Game.deal(found.rules, int(found.seeds[found.games[row]]))
        for action in found.actions[found.games == found.games[row]][: found.steps[row]]:
            game.play(int(action))
        view = game.view(game.current_player)
        legal = view.legal_actions()
        others = np.setdiff1d(np.arange(found.rules.num_actions), legal)
        assert np.isnan(values.seen[row, others]).all()
        if view.phase == "pass":
            assert np.isnan(values.seen[row]).all()
            continue
        assert values.seen[row, legal].tolist() == [
            *map(float, solve_double_dummy(game).values.values())
        ]
        if found.rules.pass_count:
            assert np.isnan(values.mean[row]).all()
            assert values.worlds[row] == 0
            continue
        worlds, margins = solve_worlds(view)
        np.testing.assert_allclose(values.mean[row, legal], margins.mean(0))
        assert values.worlds[row] == len(worlds)


def test_too_many_worlds_are_not_counted():
    """At the deal the opponent holds 10 of 18 unseen cards, which gives 43,758 worlds."""
    found = played(rules="two_player hand_size=10", games=1, agents=["easy"])
    values = ExactValues(found.rules).of(found.views, found.others)
    known = np.array([view.num_worlds <= MAX_HANDS for view in found.views])
    assert known.any()
    assert not known.all()
    assert (values.worlds[~known] == 0).all()
    assert np.isnan(values.mean[~known]).all()
    for row in np.flatnonzero(known)[::7]:
        assert values.worlds[row] == found.views[int(row)].num_worlds


def test_block_depends_on_its_number_alone():
    one, other = Seating(options(games=BLOCK + 5)), Seating(options(games=BLOCK + 5))
    first, second = one.play(0), one.play(1)
    again = other.play(1)
    assert len(second.seeds) == 5
    assert second.first == BLOCK
    np.testing.assert_array_equal(second.actions, again.actions)
    assert len(np.unique(np.concatenate([first.seeds, second.seeds]))) == BLOCK + 5
    assert not np.array_equal(Seating(options(seed=1)).play(0).seeds, first.seeds[:6])


def test_random_actions_are_legal_and_marked():
    found = played(["pro"], "two_player", 40, random=0.25)
    assert found.is_random.mean() == pytest.approx(0.25, abs=0.05)
    legal = found.views.legal_table
    assert legal[np.arange(len(legal)), found.actions].all()
    own = np.flatnonzero(~found.is_random)
    pro = Seating(options(["pro"])).participants[0].fresh(0)
    np.testing.assert_array_equal(pro.act_batch(found.views.subset(own)), found.actions[own])
    assert not played(["pro"], "two_player", 4).is_random.any()


class Odd:
    """Plays its highest card, but something illegal when it leads while holding QS."""

    def act(self, view):
        return 99 if not view.trick and "QS" in view.hand else view.legal_actions()[-1]


def test_player_with_illegal_action_loses_the_game():
    odd = f"{__name__}:Odd"
    found = played([odd, "random"], "two_player", 30)
    revokers = found.states[:, kernel.REVOKER]
    lost = np.flatnonzero(revokers >= 0)
    assert 0 < len(lost) == len(found.faults)
    assert (revokers[lost] == 0).all()
    assert (found.margins[lost, 0] < 0).all()
    assert found.faults[0].startswith(f"{odd}: illegal, deal seed ")
    mine = found.views.players == 0
    earned = np.bincount(found.games[mine], found.rewards[mine], minlength=30)
    had_any = np.bincount(found.games[mine], minlength=30) > 0
    np.testing.assert_allclose(
        (earned * found.rules.max_margin)[had_any], found.margins[had_any, 0]
    )
    episodes = Episodes.of(found, options([odd, "random"], "two_player", 30))
    assert (episodes.lengths > 0).all()


def test_only_chosen_seats_have_episodes():
    asked = options(rules="party", seats=[1, 3], dtype="float16", games=4)
    episodes = Episodes.of(Seating(asked).play(0), asked)
    assert episodes.seats.tolist() == [1, 3] * 4
    assert episodes.games.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert episodes.observations.dtype == asked.form.box.dtype == np.float16
    assert len(episodes.observations) == len(episodes.actions) + 8
    assert not episodes.masks[np.cumsum(episodes.lengths + 1) - 1].any()
    own = options(rules="party", games=4)
    own = Episodes.of(Seating(own).play(0), own)
    assert own.observations.dtype == np.int8
    assert len(own.seats) == 16


def test_options_survive_json():
    given = options(
        ["easy", "pro"], "two_player trump=S", 9, random=0.5, seats=[1], views=["json", "text"]
    )
    assert DatasetOptions.from_json(given.to_json()) == given == pickle.loads(pickle.dumps(given))
    assert given.dataset_id == "hearts/two_player-trump-S/easy-pro-v0"
    assert given.views == ("text", "json")
    with raises_hearts_error(HeartsError, "dataset"):
        DatasetOptions.from_json({"agents": ["pro"]})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"agents": ["pro"] * 3}, "agent 3 mini 2"),
        ({"formats": ["csv"]}, "format csv parquet, minari"),
        ({"views": ["words"]}, "view words"),
        ({"dtype": "int8", "observation": "text"}, "dtype int8"),
        ({"reward": "chips"}, "reward chips"),
        ({"seats": [2]}, "seat 2 1"),
        ({"rules": "classic", "exact": True}, "exact"),
        ({"formats": ["minari"], "exact": True}, "exact parquet"),
    ],
)
def test_invalid_dataset_options_are_refused(changed, message):
    with raises_hearts_error(HeartsError, *message.split()):
        options(**changed)
