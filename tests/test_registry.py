"""Players by name, by path and by entry point."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from typing import Any

import pytest

from hearts_agents import Agent, agent_names, make_agent, register_agent, registry
from hearts_agents.pool import OpponentPool
from hearts_agents.table import Pro, Standard
from hearts_env import BatchGame, CheckpointError, Game, HeartsError

TABLE = ["easy", "standard", "standard_trump", "pro", "pro_trump"]


class First:
    """The least a user's agent can be."""

    def __init__(self, seed=None, step=1):
        self.seed, self.step = seed, step

    def act(self, view):
        return view.legal_actions()[0]


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})


def test_the_players_of_the_table():
    assert agent_names()[:5] == TABLE
    for name in TABLE:
        agent = make_agent(name, seed=1)
        assert agent.name == name
        assert name in repr(agent)
    pro: Any = make_agent("pro", worlds=7)
    assert pro.worlds == 7


def test_a_registered_player_acts_singly_and_in_batches():
    register_agent("mine", First)
    assert "mine" in agent_names()
    agent: Any = make_agent("mine", seed=5, step=3)
    assert (agent.seed, agent.step, agent.name) == (5, 3, "mine")
    game = Game.deal("two_player", 1)
    assert game.player is not None
    view = game.view(game.player)
    assert agent.act(view) == game.legal_actions()[0]
    batch = BatchGame("two_player", 6)
    views = batch.views()
    assert agent.act_batch(views).tolist() == [view.legal_actions()[0] for view in views]
    register_agent("mine", lambda seed=None, **options: Standard(seed))  # again: the last counts
    assert isinstance(make_agent("mine", anything=1), Standard)


def test_an_agent_is_returned_as_it_is():
    agent = Standard(1)
    assert make_agent(agent) is agent
    assert isinstance(make_agent(First()), Agent)
    with pytest.raises(HeartsError, match="seed"):
        make_agent(agent, seed=3)
    with pytest.raises(HeartsError, match=r"act\(view\)"):
        make_agent(3)
    with pytest.raises(HeartsError, match=r"act\(view\)"):
        make_agent(First)  # the class, not an agent


@pytest.mark.parametrize("name", ["", "a/b", "x.safetensors", "pro"])
def test_names_that_cannot_be_registered(name):
    with pytest.raises(HeartsError, match="agent"):
        register_agent(name, First)


def test_a_factory_must_be_callable():
    factory: Any = First()
    with pytest.raises(HeartsError, match="factory"):
        register_agent("mine", factory)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(HeartsError, match="did you mean 'standard_trump'"):
        make_agent("standard_trmp")


def test_unknown_options_are_refused_with_the_nearest():
    with pytest.raises(HeartsError, match=r"world: .*'pro'.*did you mean 'worlds'"):
        make_agent("pro", world=3)
    with pytest.raises(HeartsError, match="it takes none but seed"):
        make_agent("easy", worlds=3)
    register_agent("mine", First)
    with pytest.raises(HeartsError, match="did you mean 'step'"):
        make_agent("mine", stepp=3)


@pytest.mark.parametrize("seed", [-1, 1.5, "x"])
def test_seeds_that_cannot_be(seed):
    with pytest.raises(HeartsError, match="seed"):
        make_agent("easy", seed=seed)


@pytest.mark.parametrize("worlds", [0, -3, 2.5, "many", 10**9])
def test_worlds_that_cannot_be(worlds):
    with pytest.raises(HeartsError, match="worlds"):
        make_agent("pro", worlds=worlds)


@pytest.mark.parametrize("path", ["no/such", "nothing.safetensors"])
def test_paths_lead_to_checkpoints(path, tmp_path):
    with pytest.raises(CheckpointError):
        make_agent(path)
    with pytest.raises(CheckpointError):
        make_agent(tmp_path / path)
    with pytest.raises(CheckpointError):
        make_agent(str(tmp_path))  # a folder without a run in it


def test_options_of_checkpoints_are_checked(tmp_path):
    with pytest.raises(HeartsError, match="greedi"):
        make_agent("no/such", greedi=True)


def test_installed_packages_add_players(monkeypatch):
    point = importlib.metadata.EntryPoint("theirs", "hearts_agents.table:Pro", "hearts_agents")
    broken = importlib.metadata.EntryPoint("broken", "hearts_agents.table:NAMES", "hearts_agents")
    monkeypatch.setattr(registry, "entry_points", lambda group: (point, broken))
    assert agent_names() == [*registry.OWN, "broken", "theirs"]
    assert set(TABLE) < set(registry.OWN)
    assert isinstance(make_agent("theirs", worlds=3), Pro)
    with pytest.raises(HeartsError, match="broken"):
        make_agent("broken")


def test_players_need_neither_torch_nor_stable_baselines3():
    program = (
        "import sys, hearts_agents, hearts_agents.vector, hearts_agents.gym_env\n"
        "hearts_agents.make_agent('pro')\n"
        "assert not {'torch', 'stable_baselines3', 'hearts_train'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- pools ---------------------------------------------------------------------------------------
def test_pools_take_names_agents_lists_and_weights():
    assert OpponentPool("pro").names == ["pro"]
    assert OpponentPool(["pro", First(), "pro"]).names == ["pro", "First", "pro (2)"]
    pool = OpponentPool({"easy": 1, "standard": 3})
    assert pool.cumulative.tolist() == [0.25, 1.0]
    pool.add(First(), weight=4.0, name="step 1")
    assert pool.cumulative.tolist() == [0.125, 0.5, 1.0]
    pool.remove("standard")
    assert pool.cumulative.tolist() == [0.2, 0.2, 1.0]
    assert OpponentPool.of(pool) is pool


def test_pools_refuse_what_cannot_be():
    with pytest.raises(HeartsError, match="nobody"):
        OpponentPool.of([])
    with pytest.raises(HeartsError, match="weight"):
        OpponentPool({"easy": -1})
    with pytest.raises(HeartsError, match="last"):
        OpponentPool("easy").remove("easy")
    with pytest.raises(HeartsError, match="not in the pool"):
        OpponentPool("easy").remove("pro")
    with pytest.raises(HeartsError, match="opponent"):
        OpponentPool.of(3)


@pytest.mark.parametrize("end", ["", ".npz", ".safetensors"])
def test_names_that_no_file_can_have_are_refused_in_few_words(end):
    for name in ("x" * 5000, "a\0b", "a\nb"):
        with pytest.raises(HeartsError) as refused:
            make_agent(name + end)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 600
