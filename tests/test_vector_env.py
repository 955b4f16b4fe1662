"""Many learners at once: Gymnasium's and stable-baselines3's vector environments."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hearts_agents import Agent, HeartsEnv, HeartsVectorEnv, OpponentPool, make_agent
from hearts_agents.base import StochasticAgent
from hearts_env import BatchGame, HeartsError, IllegalActionError, Rules
from hearts_env.batch.views import BatchView
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases


def choose(rng, masks, *, illegal=0.0):
    """A random action in each row, legal except some, 0 if there is none."""
    actions = np.where(masks.any(1), (masks * rng.random(masks.shape)).argmax(1), 0)
    bad = masks.any(1) & (rng.random(len(masks)) < illegal)
    return np.where(bad, (masks == 0).argmax(1), actions)


class Counting(Agent):
    """An agent outside the compiled loop that counts its calls."""

    name = "counting"

    def __init__(self):
        self.calls, self.decisions = 0, 0
        self.inner = make_agent("standard")

    def act_batch(self, views):
        self.calls += 1
        self.decisions += len(views)
        return self.inner.act_batch(views)

    def act(self, view):
        return self.inner.act(view)


CASES = [
    {},
    {"opponent": "easy", "reward": "trick"},
    {"opponent": ["pro", "easy"], "skip_forced": True},
    {"opponent": Counting(), "reward": "points"},
    {"rules": "classic", "opponent": ["standard", Counting()], "reward": "trick"},
    {"rules": "omnibus", "players": 5, "opponent": "easy", "observation": "recall"},
    {"rules": "hoyle", "players": 3, "episode": "match", "reward": "win"},
    {"episode": "match", "reward": "margin", "max_deals": 2},
    {
        "rules": "hoyle players=3 settlement=sweepstakes stake=20",
        "opponent": "easy",
        "episode": "match",
        "reward": "chips",
    },
    {"rules": "hoyle settlement=sweepstakes", "illegal_action": "revoke", "reward": "chips"},
    {"rules": "micro", "skip_forced": True, "reward": "win"},
    {"rules": "micro", "skip_forced": True, "episode": "match", "opponent": "easy"},
    {  # matches are passed over that have nothing to decide, some of them cut off, some not
        "rules": "micro end_score=15",
        "skip_forced": True,
        "episode": "match",
        "max_deals": 1,
        "opponent": "easy",
    },
    {"illegal_action": "revoke", "reward": "trick"},
    {"rules": "kitty", "players": 3, "opponent": "standard_trump", "num_threads": 2},
]


WAITING = [
    {"rules": "mini", "opponent": "easy"},
    {"rules": "hoyle", "players": 3, "episode": "match", "max_deals": 1, "reward": "trick"},
    {"rules": "micro", "skip_forced": True, "action_mask": "both", "dtype": "float32"},
    {"rules": "mini", "illegal_action": "revoke", "reward": "trick"},
    {"rules": "mini", "skip_forced": True, "reward": "trick"},  # paid before the first decision
]
"""Of episodes that may wait for their reset."""
SAME, NEXT, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED
BESIDE = [(mode, case) for mode in (SAME, NEXT, DISABLED) for case in WAITING]


def assert_same(one, two, rows):
    """Observations, or infos by key, in some rows."""
    if isinstance(two, dict):
        for key in two:
            if not key.startswith("_"):
                assert_same(one[key], two[key], rows)
    else:
        assert np.array_equal(np.asarray(one)[rows], np.asarray(two)[rows])


def assert_same_final(ours, theirs, over):
    """The episodes that ended in this step."""
    assert (ours["_final_obs"] == over).all()
    assert (ours["_final_info"] == over).all()
    mine, their = ours["final_info"], theirs["final_info"]
    assert {*mine} == {*their, "episode", "_episode"}
    assert all((mine[name] == over).all() for name in mine if name[0] == "_")
    assert not mine["action_mask"].any()
    for i in np.flatnonzero(over):
        assert_same(ours["final_obs"][i], theirs["final_obs"][i], ...)
        for name in their:
            assert np.array_equal(mine[name][i], their[name][i]), name


@quick_cases(
    ("mode", "case"),
    BESIDE + [(SAME, case) for case in CASES],
    BESIDE + [(SAME, case) for case in CASES[:4] + CASES[7:10]],
    ids=str,
)
def test_vector_env_equals_gymnasium_vector_of_singles(mode, case):
    """Seeds, masks, rewards, ends and infos, illegal actions among them, in each mode."""
    n, everywhere = 4, np.ones(4, bool)
    ours = HeartsVectorEnv(n, autoreset_mode=mode, **case)
    options = {name: value for name, value in case.items() if name != "num_threads"}
    theirs = SyncVectorEnv([lambda: HeartsEnv(**options)] * n, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is ours.autoreset_mode is mode
    assert ours.observation_space == theirs.observation_space
    rng = np.random.default_rng(0)
    seen, infos = ours.reset(seed=11)
    their_seen, their_infos = theirs.reset(seed=11)
    keys, ends = infos.keys(), 0
    totals, lengths = np.zeros(n), np.zeros(n, int)
    for _ in range(90):
        assert seen in ours.observation_space
        assert_same(seen, their_seen, everywhere)
        assert_same(infos, {key: their_infos[key] for key in keys}, everywhere)
        assert np.array_equal(ours.action_masks(), infos["action_mask"])
        if mode is SAME:
            assert ours.episode_seeds.tolist() == [env.episode_seed for env in theirs.envs]
        actions = choose(rng, infos["action_mask"], illegal=0.03)
        seen, rewards, terminated, truncated, infos = ours.step(actions)
        their_seen, *theirs_too, their_infos = theirs.step(actions)
        for mine, their in zip((rewards, terminated, truncated), theirs_too, strict=True):
            assert mine == pytest.approx(their)
        over = terminated | truncated
        ends += int(over.sum())
        assert ("final_info" in infos) == (mode is SAME and over.any())
        if mode is SAME:
            keys = their_infos.keys() - {"final_info", "_final_info", "final_obs", "_final_obs"}
            totals, lengths = totals + rewards, lengths + 1
            if over.any():
                assert_same_final(infos, their_infos, over)
                episode = infos["final_info"]["episode"]
                assert episode["r"][over] == pytest.approx(totals[over])
                assert np.array_equal(episode["l"][over], lengths[over])
                totals[over], lengths[over] = 0.0, 0
            continue
        assert infos.keys() == keys
        if mode is NEXT:  # an action must be given there, and theirs have none
            for masks in (their_infos, their_seen)[: 1 + isinstance(their_seen, dict)]:
                masks["action_mask"] = masks["action_mask"].copy()
                masks["action_mask"][over, 0] = 1
        else:
            assert not infos["action_mask"][over].any()
        if mode is DISABLED and over.any():
            assert_same(infos, their_infos, everywhere)
            seen, infos = ours.reset(options={"reset_mask": over})
            their_seen, their_infos = theirs.reset(options={"reset_mask": over.copy()})
            assert infos.keys() == keys
            assert_same(infos, their_infos, over)
            their_infos = infos  # theirs are only of those that were reset
    assert ends > 4 or case.get("episode") == "match"


def test_opponents_outside_are_asked_together():
    counting = Counting()
    envs = HeartsVectorEnv(64, opponent=counting, seat=0)
    envs.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(13):
        envs.step(choose(rng, envs.action_masks()))
    assert counting.decisions > 400
    assert counting.calls < 3 * 14  # not one call per game, and none for forced cards


class Dice(StochasticAgent):
    """Plays at random outside the compiled loop."""

    name = "dice"

    def act_batch(self, views):
        return self.sample(views.legal_table.astype(float))

    def act(self, view):
        return int(self.act_batch(BatchView.of([view]))[0])


def test_seed_of_a_reset_restarts_opponents_too():
    envs = HeartsVectorEnv(5, "mini", opponent=Dice())
    played = []
    for _ in range(2):
        seen, _ = envs.reset(seed=4)
        played.append([seen.tobytes()])
        for _ in range(12):
            seen, *_ = envs.step(envs.action_masks().argmax(1))
            played[-1].append(seen.tobytes())
    assert played[0] == played[1]


def test_opponents_of_a_pool_draw_different_numbers():
    pool = OpponentPool([Dice(), Dice()])
    batch = BatchGame("mini", 64, seed=1)
    batch.play(batch.random_actions())
    pool.reseed(5)
    first, second = (entry.agent.act_batch(batch.views()) for entry in pool.entries)
    assert not np.array_equal(first, second)


def test_lists_are_drawn_and_pools_grow():
    pool = OpponentPool({"easy": 1.0, "standard": 3.0})
    envs = HeartsVectorEnv(200, opponent=pool, rules="mini")
    envs.reset(seed=1)
    rng = np.random.default_rng(0)

    def met(steps):
        names: list[str] = []
        for _ in range(steps):
            *_, infos = envs.step(choose(rng, envs.action_masks()))
            if "final_info" in infos:
                places = infos["final_info"]["opponent"][infos["_final_info"]]
                names += [pool.names[place] for place in places]
        return names

    names = met(20)  # 4 deals
    assert set(names) == {"easy", "standard"}
    assert 0.18 < names.count("easy") / len(names) < 0.32  # 800 draws of 1 in 4
    pool.add(Counting(), name="step 1", weight=4.0)
    assert envs.opponents is pool
    met(5)  # deals under way end as they began
    names = met(20)
    assert 0.42 < names.count("step 1") / len(names) < 0.58
    pool.remove("easy")
    met(5)
    assert "easy" not in met(10)


def test_invalid_action_is_refused_and_illegal_may_raise():
    envs = HeartsVectorEnv(3, illegal_action="raise")
    _, infos = envs.reset(seed=1)
    actions = infos["action_mask"].argmax(1)
    actions[1] = infos["action_mask"][1].argmin()
    with raises_hearts_error(IllegalActionError, "actions", 1):
        envs.step(actions)
    with raises_hearts_error(IllegalActionError, "actions"):
        envs.step(np.array([28, 0, 0]))
    with raises_hearts_error(HeartsError, "actions", 3):
        envs.step(np.array([1, 2]))
    with raises_hearts_error(HeartsError, "actions"):
        envs.step(np.array([1.0, 2.0, 3.0]))


def test_step_after_failed_reset_is_refused():
    class Failing(Agent):
        def act(self, view):
            raise HeartsError("act: not today")

    envs = HeartsVectorEnv(8, "classic", opponent=Failing())
    with pytest.raises(HeartsError, match="not today"):
        envs.reset(seed=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros(8, np.int64))


# ---- stable-baselines3 ---------------------------------------------------------------------------
@pytest.fixture
def make_sb3():
    pytest.importorskip("stable_baselines3")
    from hearts_agents.envs.sb3 import HeartsSB3VecEnv

    return HeartsSB3VecEnv


@pytest.mark.parametrize("options", [{}, {"opponent": "pro", "skip_forced": True}])
def test_sb3_vector_env_equals_gymnasium_except_infos(make_sb3, options):
    theirs, ours = make_sb3(7, seed=3, **options), HeartsVectorEnv(7, **options)
    observations, infos = ours.reset(seed=3)
    assert (theirs.reset() == observations).all()
    assert [info["seat"] for info in theirs.reset_infos] == infos["seat"].tolist()
    theirs.reset_infos[0]["mine"] = 1  # as wrappers do, gone with the next step
    rng = np.random.default_rng(0)
    totals, lengths = np.zeros(7), np.zeros(7, int)
    ended = 0
    for _ in range(40):
        masks = np.stack(theirs.env_method("action_masks"))
        assert (masks == infos["action_mask"]).all()
        actions = choose(rng, masks)
        seats, places = infos["seat"], infos["opponent"]
        observations, rewards, done, _, infos = ours.step(actions)
        seen, paid, over, their_infos = theirs.step(actions)
        assert (seen == observations).all()
        assert paid == pytest.approx(rewards)
        assert paid.dtype == np.float32
        assert (over == done).all()
        totals += rewards
        lengths += 1
        for i in range(7):
            assert "mine" not in their_infos[i]
            their_infos[i]["mine"] = 1
            # Where an episode has ended too it is that of the observation, the next one's first.
            assert (their_infos[i]["action_mask"] == infos["action_mask"][i]).all()
            if not done[i]:
                assert (their_infos[i]["seat"], their_infos[i]["opponent"]) == (seats[i], places[i])
                continue
            ended += 1
            assert (their_infos[i]["terminal_observation"] == infos["final_obs"][i]).all()
            assert their_infos[i]["episode"]["r"] == pytest.approx(totals[i])
            assert their_infos[i]["episode"]["l"] == lengths[i]
            own = {"episode", "terminal_observation", "TimeLimit.truncated", "mine", "action_mask"}
            for name in their_infos[i].keys() - own:
                assert np.array_equal(their_infos[i][name], infos["final_info"][name][i]), name
            totals[i], lengths[i] = 0, 0
    assert ended >= 14


def test_sb3_vector_env_marks_truncated_matches(make_sb3):
    """stable-baselines3 bootstraps the value of the rest by this key."""
    options = {"rules": "mini end_score=18", "episode": "match", "max_deals": 2}
    theirs, ours = make_sb3(6, seed=3, **options), HeartsVectorEnv(6, **options)
    theirs.reset()
    _, infos = ours.reset(seed=3)
    rng, told = np.random.default_rng(0), []
    while len(told) < 30:
        actions = choose(rng, infos["action_mask"])
        _, _, ended, cut, infos = ours.step(actions)
        *_, done, their_infos = theirs.step(actions)
        assert (done == (ended | cut)).all()
        assert [info["TimeLimit.truncated"] for info in their_infos] == cut.tolist()
        told += cut[done].tolist()
    assert set(told) == {True, False}


def test_sb3_vector_env_answers_other_calls(make_sb3):
    envs = make_sb3(3)
    assert envs.seed(5) == [5, 6, 7]
    first = envs.reset()
    envs.seed(5)
    assert (envs.reset() == first).all()
    assert not (envs.reset() == first).all()  # without a seed the stream goes on
    assert envs.has_attr("action_masks")
    assert not envs.has_attr("nothing")
    assert envs.get_attr("rules", [0, 2]) == [Rules.preset("two_player")] * 2
    assert len(envs.env_method("action_masks", indices=[1])) == 1
    with pytest.raises(AttributeError):
        envs.env_method("close")
    with raises_hearts_error(HeartsError, "step"):
        make_sb3(3).step(np.zeros(3, int))
