"""Players by name, by path and by code."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from hearts_agents import Agent, make_agent, registry
from hearts_agents.baselines import Standard
from hearts_agents.envs.gym_env import HeartsEnv
from hearts_agents.envs.opponents import OpponentPool
from hearts_agents.envs.vector import HeartsVectorEnv
from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules
from hearts_train.cli.terminal import TerminalGame, new_game
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.tournament import tournament
from tests.players import code_named
from tests.refusals import argument_of, fix_of, raises_hearts_error


class First:
    """The least a user's agent can be."""

    def __init__(self, seed=None, step=1):
        self.seed, self.step = seed, step

    def act(self, view):
        return view.legal_actions()[0]


def test_agent_object_is_returned_unchanged():
    agent = Standard(1)
    assert make_agent(agent) is agent
    assert isinstance(make_agent(First()), Agent)
    with raises_hearts_error(HeartsError, "seed"):
        make_agent(agent, seed=3)
    with raises_hearts_error(HeartsError, "agent", "act(view)"):
        make_agent(3)
    with raises_hearts_error(HeartsError, "agent", "act(view)"):
        make_agent(None, seed=3)  # the first error, not the seed
    with raises_hearts_error(HeartsError, "agent", "First()"):
        make_agent(First)  # the class, not an agent


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("standard_trmp", {}, "agent standard_trmp standard_trump"),
        ("pro", {"world": 3}, "world pro worlds"),
        (f"{__name__}:First", {"stepp": 3}, "stepp step"),
    ],
)
def test_unknown_name_or_option_suggests_the_nearest(name, options, words):
    with raises_hearts_error(HeartsError, *words.split()):
        make_agent(name, **options)


def test_name_accepts_only_its_own_version():
    for name in registry.VERSIONS:
        told = registry.versioned(name)
        assert type(make_agent(told)) is type(make_agent(name))
        assert AgentSpec.parse(told).unversioned().text == AgentSpec.parse(told).name == name
        assert not AgentSpec.parse(told).is_outside
    pro: Any = make_agent("pro-v1?worlds=3")
    assert pro.worlds == 3
    for other in ("pro?worlds=3", "runs/demo-v1", "mine-v2", "random"):
        assert registry.versioned(other) == AgentSpec.from_json(other).unversioned().text == other
    with raises_hearts_error(HeartsError, "agent", "pro-v1"):
        make_agent("pro-v2")
    assert evaluate("easy", "pro-v1", "micro", deals=2).opponent == "pro-v1"


@pytest.mark.parametrize("name", ["easy", "pimc"])
def test_invalid_seed_is_refused(name):
    with raises_hearts_error(HeartsError, "seed"):
        make_agent(name, seed=-1)
    with raises_hearts_error(HeartsError, "seed"):
        make_agent(name).reseed(1.5)


# ---- specs: options, code ------------------------------------------------------------------------


def test_options_are_parsed_by_the_factorys_types(monkeypatch):
    class Options(First):
        def __init__(
            self,
            seed: int | None = None,
            *,
            whole: int = 1,
            part: float = 0.5,
            flag: bool = False,
            word: str = "a",
            guessed=None,
            listed: list[int] | list[float] = (),
        ):
            self.values = (whole, part, flag, word, guessed)
            self.listed = listed

    name = code_named("options", Options, monkeypatch)
    made: Any = make_agent(f"{name}?whole=2&part=3&flag=true&word=4&guessed=5")
    assert made.values == (2, 3.0, True, "4", 5)
    assert [type(value) for value in made.values] == [int, float, bool, str, int]
    made = make_agent(f"{name}?listed=1,2.5")
    assert made.listed == "1,2.5"
    made = make_agent(f"{name}?flag=False&word=true&guessed=x")
    assert made.values == (1, 0.5, False, "true", "x")
    for text, words in (
        ("whole=1.5", "whole 1.5"),
        ("flag=1", "flag 1"),
        ("hole=1", "hole whole"),
        ("seed=1", "seed"),
        ("whole", "agent whole"),
        ("whole=1&whole=2", "whole"),
    ):
        with raises_hearts_error(HeartsError, *words.split()):
            make_agent(f"{name}?{text}")


CODE = """
from hearts_agents.baselines import Standard
import beside

class Mine:
    def __init__(self, step: int = 1):
        self.step = step

    def act(self, view):
        return view.legal_actions()[-1]

def factory(seed=None, word="a"):
    agent = Standard(seed)
    agent.word = word
    return agent

def fails(seed=None):
    raise RuntimeError("no luck")

def gives_nothing():
    return 3

ready = Mine(7)
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A folder with agents' code, from which the command is started."""
    (tmp_path / "beside.py").write_text("x = 1\n")
    (tmp_path / "my_agents.py").write_text(CODE)
    (tmp_path / "broken.py").write_text("x = 1\n\nraise NameError('oh')\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("my_agents", None)
    sys.modules.pop("beside", None)


@pytest.mark.parametrize("where", ["my_agents.py", "./my_agents.py", "my_agents"])
def test_code_names_an_agent(code, where):
    mine: Any = make_agent(f"{where}:Mine?step=4", seed=3)  # its class takes no seed
    assert (mine.step, mine.name) == (4, f"{where}:Mine?step=4")
    made: Any = make_agent(f"{where}:factory?word=2", seed=3)
    assert (type(made), made.word) == (Standard, "2")
    ready: Any = make_agent(f"{where}:ready")
    assert ready.step == 7
    assert OpponentPool([f"{where}:Mine", "easy"]).names == [f"{where}:Mine", "easy"]
    assert type(make_agent(f"{where}:Mine").player) is type(mine.player)  # imported once


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("my_agents.py:Mein", "agent my_agents.py 'Mein' 'Mine'"),
        ("my_agents.py", "agent my_agents.py:CLASS"),
        ("my_agents.py:gives_nothing", "agent act(view)"),
        ("my_agents.py:fails", "agent RuntimeError"),
        ("nothing.py:Mine", "agent 'nothing.py'"),
        ("broken.py:Mine", "broken.py NameError 3"),
        ("leaves.py:Mine", "leaves.py SystemExit 2"),
        ("no_such_module:Mine", "no_such_module ModuleNotFoundError"),
    ],
)
def test_unusable_code_is_refused_in_one_line(code, spec, words):
    with pytest.raises(HeartsError) as caught:
        make_agent(spec)
    assert fix_of(caught.value)
    assert "\n" not in str(caught.value)
    for word in words.split():
        assert word in str(caught.value)


# ---- which rules ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "rules", "words"),
    [
        ("pimc", "classic", "classic"),
        ("pimc", "two_player pass_count=2 pass_rotation=left", "pass_count"),
        ("pimc_belief?model=equilibrium", "two_player", "equilibrium mini"),
        ("equilibrium", "two_player", "equilibrium mini two_player"),
    ],
)
def test_agent_refuses_unplayable_rules_everywhere(name, rules, words):
    rules = Rules.make(rules)

    def seat_everywhere():
        yield lambda: make_agent(name).check_rules(rules)
        yield lambda: evaluate(name, "easy", rules, deals=2)
        yield lambda: evaluate("easy", name, rules, deals=2)
        yield lambda: tournament([name, "easy"], rules, deals=2)
        yield lambda: TerminalGame(new_game(rules, 1, [name]))
        yield lambda: HeartsEnv(rules=rules, opponent=name)
        yield lambda: HeartsVectorEnv(num_envs=2, rules=rules, opponent=["easy", name])

    for seat in seat_everywhere():
        with pytest.raises(HeartsError) as caught:
            seat()
        assert argument_of(caught.value) in ("rules", "opponent")
        assert fix_of(caught.value)
        for word in words.split():
            assert word in str(caught.value)


def test_own_player_may_refuse_rules():
    class OnlyMini(First):
        def check_rules(self, rules):
            if rules.name != "mini":
                raise HeartsError("rules: mini only; take mini")

    with raises_hearts_error(HeartsError, "rules"):
        evaluate(OnlyMini(), "easy", "micro", deals=2)
    assert evaluate(OnlyMini(), "easy", "mini", deals=2).faults == 0
    make_agent(First()).check_rules(Rules.make("classic"))  # who does not say plays everything


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


@pytest.mark.parametrize(
    ("make", "argument", "value"),
    [
        (lambda: OpponentPool.of([]), "opponent", None),
        (lambda: OpponentPool.of(3), "opponent", 3),
        (lambda: OpponentPool("easy").remove("pro"), "opponent", "pro"),
        (lambda: OpponentPool({"easy": 10**400}), "weight", None),
        (lambda: OpponentPool({"easy": True}), "weight", True),
        (lambda: _without_weights(HeartsEnv()).reset(seed=0), "opponent", None),
        (lambda: _without_weights(HeartsVectorEnv(2)).reset(seed=0), "opponent", None),
    ],
)
def test_invalid_pool_is_refused(make, argument, value):
    with raises_hearts_error(HeartsError, argument):
        make()


def _without_weights(env):
    env.opponents.set_weight("standard", 0.0)
    return env
