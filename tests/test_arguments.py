"""Every argument of the core and the environments refuses an odd value or accepts it cleanly.

A value accepted by accident (True for 1) would hide a mistake. A TypeError from inside would not
explain it.
"""

from __future__ import annotations

import functools
import inspect
import re
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

from hearts_agents import HeartsEnv, HeartsSB3VecEnv, HeartsVectorEnv
from hearts_env import BatchGame, Game, HeartsError, Match, Rules, chips_of, hearts_v0, settle
from hearts_env.envs.options import EPISODES, RESET_OPTIONS
from hearts_env.rules.rules import FIELDS
from hearts_env.support.arguments import MAX_SEED, whole
from hearts_env.support.errors import quoted
from hearts_env.views.deals import all_deals, all_tables, num_deals
from hearts_env.views.view import PlayerView
from tests.refusals import argument_of, fix_of, raises_hearts_error

DEEP: list[Any] = []
for _ in range(20_000):
    DEEP = [DEEP]
BYTES: list[Any] = [b"2C", bytearray(b"2C"), memoryview(b"2C"), bytearray(2)]
"""Sequences of numbers, but surely a mistake for text."""
ODD: list[Any] = [
    *BYTES,
    DEEP,
    {0, 1},
    np.zeros((2, 2)),
    np.zeros((2, 2), np.int64),
    array("q", [0, 1]),
    None,
    True,
    np.True_,
    1.5,
    float("nan"),
    float("inf"),
    -1,
    2**63,
    2**70,
    10**5000,
    "",
    "x",
    "two_player players=9",
    "A" * 500,
    [],
    {},
    (),
    [1, 2],
    [None, "2C"],
    {"2C": 1},
    {3: [], "QX": None},
    {"hands": 1},
    np.array(3),
    np.array([1, 2]),
    np.array(["2C", "x"]),
    np.zeros(0, np.int64),
    np.int8(1),
    object(),
    lambda: 1,
    iter([1, 2]),
    Rules.preset("micro"),
    Game.deal("micro", 1),
]


class Subject:
    """A callable, valid arguments for it, and a function that returns its object's state."""

    def __init__(
        self, call: Callable[..., Any], good: dict[str, Any], look: Callable[[], Any] = tuple
    ) -> None:
        self.call, self.good, self.look = call, good, look


def subjects() -> Iterator[tuple[str, Callable[[], Subject]]]:
    """Yield every public method that takes arguments: its name, and a function that makes it."""

    def methods(make: Callable[[], Any], look: Callable[[Any], Any], goods: dict[str, Any]) -> Any:
        for name, good in goods.items():

            def subject(name: str = name, good: Any = good) -> Subject:
                one = make()
                return Subject(getattr(one, name), good, lambda: look(one))

            yield f"{type(make()).__name__}.{name}", subject

    def plain(name: str, call: Callable[..., Any], good: dict[str, Any]) -> Any:
        return name, lambda: Subject(call, good)

    def state_of(game: Any) -> Any:
        return game.vector.tobytes(), getattr(game, "actions", None)

    def state_of_match(match: Match) -> Any:
        return state_of(match.game), match.totals, match.num_deals

    def state_of_batch(batch: BatchGame) -> Any:
        return batch.states.tobytes(), batch.seeds.tolist(), batch.done.tolist()

    seat = {"player": 1}
    seats = dict.fromkeys(("hand", "passed", "received"), seat)
    both = {"taken": seat, "played": seat, "cards_left": seat}
    hands = [["QC", "QS", "QH"], ["AC", "AD", "AH"]]

    def new_game() -> Game:
        game = Game.deal("micro", 3)
        game.play(game.legal_actions()[0])
        return game

    first = new_game().legal_actions()[0]
    game_goods = {"play": {"action": first}, "view": seat}
    game_goods |= {"why_illegal": {"action": "QC"}}
    game_goods |= seats | both
    game_goods |= {"to_text": {"tags": {"Player 0": "You"}}}
    row = new_game().observe()
    game_goods |= {"observe": {"out": row, "player": 0, "observation": "flat"}}
    yield from methods(new_game, state_of, game_goods)
    yield plain("Game", Game, {"rules": "micro", "hands": hands, "kitty": ["QD", "AS"]} | DEALT)
    yield plain("Game.deal", Game.deal, {"rules": "micro", "seed": 3} | DEALT)
    yield plain("Game.from_text", Game.from_text, {"text": new_game().to_text()})
    vector = new_game().vector
    yield plain("Game.from_state", Game.from_state, {"rules": "micro", "vector": vector})

    def new_view() -> PlayerView:
        return new_game().view(0)

    here = new_view()
    world = next(iter(here.worlds()))
    yield plain("Game.from_view", Game.from_view, {"view": here, "world": world, "seed": 1})
    seen = {"sample_worlds": {"n": 2, "seed": 1}, "observe": {"observation": "flat"}}
    yield from methods(new_view, state_of, both | seen)

    def new_match() -> Match:
        return Match("micro", 3)

    move = new_match().legal_actions()[0]
    yield from methods(new_match, state_of_match, {"play": {"action": move}})
    yield plain("Match", Match, {"rules": "micro", "seed": 1, "dealer": 0})
    yield plain("Match.from_game", Match.from_game, {"game": new_game(), "seed": 1})

    def new_batch() -> BatchGame:
        return BatchGame("micro", 2, seed=1)

    batch = new_batch()
    some = {"games": np.array([0, 1])}
    out = np.zeros((2, *batch.space.shape), np.int8)
    batch_goods: dict[str, Any] = {
        "observe": {"out": out, "players": np.array([0, 1])} | some,
        "masks": {"out": batch.masks()} | some,
        "random_actions": some,
        "views": some,
        "game": {"index": 0},
        "play": {"actions": batch.masks().argmax(1)} | some,
        "step": {
            "actions": batch.masks().argmax(1),
            "observations": batch.observe(),
            "masks": batch.masks(),
        },
        "reset": {"seeds": np.array([1, 2])} | some,
        "restore": {"state": batch.state()},
        "revoke": some,
    }
    yield from methods(new_batch, state_of_batch, batch_goods)
    more = {
        "observation": "flat",
        "autodeal": True,
        "num_threads": 1,
        "freeze": False,
    }
    yield plain("BatchGame", BatchGame, {"rules": "micro", "num_games": 2, "seed": 1} | more)

    yield plain("Rules", Rules, Rules.preset("kitty").to_dict())
    yield plain("Rules.replace", Rules.preset("kitty").replace, Rules.preset("kitty").to_dict())
    yield plain("Rules.preset", Rules.preset, {"name": "party", "players": 4})
    yield plain("Rules.make", Rules.make, {"rules": "party", "players": 4})
    yield plain("Rules.from_text", Rules.from_text, {"text": "party players=4", "players": 4})
    yield plain("Rules.from_dict", Rules.from_dict, {"fields": {"players": 3, "hand_size": 4}})
    yield plain("Rules.action_number", Rules.preset("micro").action_number, {"action": "QC"})
    yield plain("Rules.action_name", Rules.preset("micro").action_name, {"action": 2})
    yield plain("Rules.is_same_deal", Rules.preset("party").is_same_deal, {"other": Rules()})
    yield plain("settle", settle, {"method": "simple", "points": [1, 2], "pool": 0})
    hoyle = Rules.preset("hoyle", 2)
    yield plain("chips_of", chips_of, {"rules": hoyle, "points": [1, 2]})
    for function in (num_deals, all_deals, all_tables):
        yield plain(function.__name__, function, {"rules": "micro"})


DEALT: dict[str, Any] = {"deal_number": 0, "dealer": 0, "totals": [0, 0]}
SUBJECTS = dict(subjects())


# Other beginnings of a message: a part of the value, or another argument that conflicts with it.
ALSO = {
    "rules": ("players", "chips"),
    "text": ("history", "line 1", "rules", "players"),
    "fields": ("rules",),
    "name": ("rules",),
    "hand_size": ("pass_count",),
    "game": ("deal",),
    "games": ("out", "actions", "seeds"),
    "tags": ("",),
}


def refusal_of(call: Callable[[], object], *also: type[Exception]) -> HeartsError | None:
    """Return the HeartsError of a call, which must name a fix, or None. Other errors propagate."""
    refusal = None
    try:
        call()
    except also:
        return HeartsError("")
    except HeartsError as error:
        refusal = error
    assert refusal is None or (fix_of(refusal) and 10 < len(str(refusal)) < 1500), str(refusal)
    return refusal


@pytest.mark.parametrize("name", SUBJECTS)
def test_odd_core_values_are_refused_or_answered(name: str) -> None:
    """The message begins with the argument and names a fix."""
    made = SUBJECTS[name]
    made().call(**made().good)
    for argument in made().good:
        for odd in ODD:
            subject = made()
            before = subject.look()
            given = {**subject.good, argument: odd}
            try:
                refusal = refusal_of(lambda subject=subject, given=given: subject.call(**given))
            except Exception as error:
                raise AssertionError(f"{argument}={quoted(odd)}: {error!r}") from error
            if refusal is not None:
                assert subject.look() == before, (argument, quoted(odd))
                begin = re.split(r"[.\[]", argument_of(refusal))[0]
                assert begin in (argument, *ALSO.get(argument, ())), (argument, str(refusal))


def test_every_public_method_is_a_subject() -> None:
    """Every public method that takes an argument is among the subjects."""
    for kind in (Game, PlayerView, Match, BatchGame, Rules):
        for name, member in inspect.getmembers(kind, callable):
            if name.startswith("_"):
                continue
            takes = [p for p in inspect.signature(member).parameters if p not in ("self", "cls")]
            full = f"{kind.__name__}.{name}"
            assert not takes or full in SUBJECTS, full
    assert set(FIELDS) == set(SUBJECTS["Rules"]().good)


@pytest.mark.parametrize("right", [1, np.int8(1), np.uint64(1), np.array(1)])
def test_whole_numbers_of_any_type_are_accepted(right: Any) -> None:
    assert (whole(right), type(whole(right))) == (1, int)
    assert Game.deal("micro", right) == Game.deal("micro", 1)
    assert Match("micro", right, dealer=right) == Match("micro", 1, dealer=1)
    assert Game.deal("micro", 1).hand(right) == Game.deal("micro", 1).hand(1)


# ---- environments --------------------------------------------------------------------------------
MADE: dict[str, Any] = {
    "hearts_v0": hearts_v0.raw_env,
    "parallel": hearts_v0.parallel_env,
    "gymnasium": HeartsEnv,
    "vector": HeartsVectorEnv,
    "stable-baselines3": HeartsSB3VecEnv,
}
SINGLE = ("hearts_v0", "parallel", "gymnasium")
ARGUMENTS = [
    (way, name) for way, make in MADE.items() for name in inspect.signature(make).parameters
]


@pytest.mark.parametrize(("way", "name"), ARGUMENTS)
def test_odd_arguments_are_taken_or_refused(way: str, name: str) -> None:
    given = {"episode": "match"} if name == "max_deals" else {}
    said = {"opponent": (name, "agent", "weight"), "rules": (name, "players")}.get(name, (name,))
    refusals = [refusal_of(lambda v=v: MADE[way](**given, **{name: v})) for v in ODD]
    assert {argument_of(error) for error in refusals if error} <= {*said}
    taken = [value for value, error in zip(ODD, refusals, strict=True) if not error]
    # Some arguments may be None, 1 or True. No argument takes all of them.
    assert len(taken) < 8, [quoted(value) for value in taken]


@pytest.mark.parametrize("make", [*MADE.values(), hearts_v0.env])
def test_misspelt_argument_names_environment_and_nearest_name(make: Any) -> None:
    with raises_hearts_error(HeartsError, "rewards", make.__name__, hint="did you mean 'reward'?"):
        make(rewards="margin")


@pytest.mark.parametrize("episode", EPISODES)
@pytest.mark.parametrize("way", MADE)
def test_odd_seeds_and_options_are_taken_or_refused(way: str, episode: str) -> None:
    args = () if way in SINGLE else (2,)
    env = MADE[way](*args, "micro", episode=episode)
    taken = []
    for value in ODD:
        if way == "stable-baselines3":
            calls = [
                lambda v=value: (env.set_options(), env.seed(v), env.reset()),
                lambda v=value: (env.set_options(v), env.reset()),
                lambda v=value: (env.set_options({"game": v}), env.reset()),
            ]
        else:
            calls = [
                lambda v=value: env.reset(seed=v),
                lambda v=value: env.reset(options=v),
                *(
                    lambda v=value, key=key: env.reset(options={key: v})
                    for key in (*RESET_OPTIONS, "x")
                ),
                lambda v=value: env.reset(options={"deal": {"hands": v}}),
                lambda v=value: env.reset(options={"deal": {"hands": [v, v], "kitty": v}}),
            ]
        taken += [place for place, call in enumerate(calls) if not refusal_of(call)]
    assert 0 in taken  # None and 1 are seeds
    if way == "stable-baselines3":
        env.set_options()
    env.reset()


@pytest.mark.parametrize("way", MADE)
def test_all_environments_have_the_same_seeds(way: str) -> None:
    env = MADE[way]("micro") if way in SINGLE else MADE[way](2, "micro")

    def reset(seed: object) -> object:
        if way == "stable-baselines3":
            env.seed(seed)
            return env.reset()
        return env.reset(seed=seed)

    for seed in (0, np.int64(0), MAX_SEED, np.uint64(MAX_SEED)):
        reset(seed)
    for seed in (-1, MAX_SEED + 1, 2**64, 2**100, np.uint64(2**63), 0.0, "0", True):
        with raises_hearts_error(HeartsError, "seed"):
            reset(seed)


def test_bytes_are_never_numbers() -> None:
    """``list(b"2C")`` is [50, 67]."""
    for name, made in SUBJECTS.items():
        for argument in set(made().good) - {"other"}:  # of is_same_deal
            for odd in [*BYTES, b"\0\1", bytearray(b"\0\1"), memoryview(b"\0\1")]:
                subject = made()
                given = {**subject.good, argument: odd}
                call = functools.partial(subject.call, **given)
                assert refusal_of(call) is not None, (name, argument, odd)
    for way in ("vector", "stable-baselines3"):
        env = MADE[way](2, "micro")
        if way == "vector":
            with raises_hearts_error(HeartsError, "seed"):
                env.reset(seed=bytearray(b"2C"))
        env.reset()
        with raises_hearts_error(HeartsError, "actions"):
            env.step(bytearray(2))


@pytest.mark.parametrize("way", MADE)
def test_odd_actions_are_taken_or_refused(way: str) -> None:
    for value in [*ODD, -2, 7, 2.0, np.bool_(True), [[1]]]:
        env = MADE[way]("micro") if way in SINGLE else MADE[way](2, "micro")
        refusal_of(lambda env=env, v=value: env.step(v), gymnasium.error.ResetNeeded)
        if way == "stable-baselines3":
            env.seed(1)
            env.reset()
        else:
            env.reset(seed=1)
        before = env.unwrapped.game.clone() if way in SINGLE else None
        if refusal_of(lambda env=env, v=value: env.step(v)) and way in SINGLE:
            assert env.unwrapped.game == before
        if way not in SINGLE:
            refusal_of(lambda env=env, v=value: env.step([v, v]))
            refusal_of(lambda env=env, v=value: env.step(np.array([v, v], dtype=object)))


def test_odd_agents_are_refused() -> None:
    for env in (hearts_v0.raw_env(), hearts_v0.env()):
        env.reset(seed=1)
        for value in ODD:
            for call in (env.observe, env.observation_space, env.action_space):
                assert refusal_of(lambda call=call, v=value: call(v))


def test_learner_before_reset_has_no_picture_or_action() -> None:
    env = HeartsEnv(render_mode="ansi")
    assert refusal_of(env.render)
    assert not env.action_masks().any()
