"""Infos: the same keys at each step, and nothing hidden."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hearts_agents import HeartsEnv, HeartsVectorEnv
from hearts_env import Game, HeartsError, Match, Rules, hearts_v0
from hearts_env import kernel as k
from hearts_env.encoders import ENCODERS
from hearts_env.envs.observations import MASKS
from hearts_env.rules.presets import GAMES
from hearts_env.seeds import derived_seed, episode_seed, secret_seed, siphash
from tests.learners import (
    LEARNERS,
    WAYS,
    assert_nothing_hidden_shows,
    decisions,
    made,
    plain,
    turns,
)
from tests.lockstep import QUICK
from tests.refusals import raises_hearts_error
from tests.slow import TIMES, quick_cases
from tests.test_fair_play import unmix

RULES = [("two_player", 2), ("classic", 4), ("hoyle", 3)]


def infos_of(way: str, *args: Any, seed: int = 3, **options: Any) -> Iterator[tuple[str, Any]]:
    """Yield every info of random legal play, each with its kind: "step" or "end"."""
    rng = np.random.default_rng(seed)
    if way in ("hearts_v0", "parallel"):
        make: Any = hearts_v0.raw_env if way == "hearts_v0" else hearts_v0.parallel_env
        env = make(*args, **options)
        table = env.unwrapped if way == "hearts_v0" else env.aec_env
        for number in range(2):
            result = env.reset(seed=seed + number)
            while True:
                for info in (env.infos if way == "hearts_v0" else result[-1]).values():
                    has_ended = table.is_over or (table.match and table.match.num_deals > 0)
                    assert has_ended or not info["scores"].any()
                    yield "step", info
                if table.is_over:
                    break
                action = int(rng.choice(table.game.legal_actions()))
                result = env.step({table.agent_selection: action} if way == "parallel" else action)
        return

    def choose(masks: Any) -> Any:
        """Return a legal action for each row, 0 if there is none."""
        return (masks * rng.random(masks.shape)).argmax(-1)

    env = made(way, *args, seed=seed, **options)
    for _, infos, masks in turns(env, 40, choose, seed):
        if way == "gymnasium":
            assert infos["scores"].any() <= (not masks.any()) or env.table.match is not None
            yield "step", infos
        elif way == "vector":
            final = {key: infos.pop(key) for key in [*infos] if "final_" in key}
            assert len(final) in (0, 4)  # these come as Gymnasium has them
            yield "step", infos
            if final:
                over = final["_final_info"]
                yield "end", {k: v for k, v in final["final_info"].items() if k[0] != "_"}
                assert final["final_info"]["scores"][over].any(1).all()
        else:
            for info in infos:
                last = info.keys() & {"episode", "terminal_observation"}  # as it wants them
                assert len(last) in (0, 2)
                yield "step", {key: info[key] for key in info.keys() - last}


def shape_of(info: dict[str, Any]) -> dict[str, Any]:
    """Return the type, dtype and shape of each value."""
    return {
        key: (type(value), getattr(value, "dtype", None), np.shape(value))
        for key, value in info.items()
    }


def leaves(value: Any) -> Iterator[Any]:
    """Yield every number and text in nested dictionaries, lists and arrays."""
    if isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, np.ndarray):
        yield from leaves(value.tolist())
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


# ---- keys and types ------------------------------------------------------------------------------
EVERYWHERE = {"action_mask", "scores", "points", "shooter", "offender"}
INSIDE = {"seat", "opponent"}
"""Additional keys of environments with opponents inside."""
DOORS = ("hearts_v0", "parallel", *LEARNERS)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize(("rules", "players"), RULES)
def test_infos_have_the_same_keys_and_types_always(
    rules: str, players: int, episode: str, door: str
) -> None:
    """Every value is a number or an array, and infos of single environments are dictionaries."""
    cut = {"max_deals": 2} if episode == "match" else {}
    first: dict[str, Any] = {}
    for kind, info in infos_of(door, rules, players, episode=episode, **cut):
        assert first.setdefault(kind, shape_of(info)) == shape_of(info)
        # JAX's trees, and so Minari, know no other dictionaries.
        assert door != "gymnasium" or type(info) is dict
        for leaf in leaves(info):
            assert leaf is not None
            assert leaf == leaf
    expected = EVERYWHERE | ({"totals", "winner"} if episode == "match" else set())
    expected |= INSIDE if door not in ("hearts_v0", "parallel") else set()
    assert first["step"].keys() >= expected
    rows = (3,) if door == "vector" else ()
    assert first["step"]["scores"] == (np.ndarray, np.int64, (*rows, players))
    assert door == "vector" or first["step"]["shooter"] == (np.int64, np.int64, ())
    if door == "vector":
        own = {key for key in first["step"] if key[0] != "_"}
        assert first["end"].keys() - own == {"episode"}
        assert all(first["end"][key] == first["step"][key] for key in own)


@pytest.mark.parametrize(
    ("door", "options"),
    [
        *((door, {"action_mask": mask}) for door in DOORS for mask in MASKS),
        *(("vector", {"autoreset_mode": mode}) for mode in AutoresetMode),
        *((door, {"episode": "match", "reward": "win", "max_deals": 2}) for door in DOORS),
        ("parallel", {"noop": True}),
    ],
    ids=str,
)
def test_infos_are_numbers_and_arrays_of_numbers(door: str, options: dict[str, Any]) -> None:
    """Everything can become a tensor: Gymnasium's ``NumpyToTorch`` reads arrays by DLPack."""
    for _, info in infos_of(door, "micro", **options):
        for name, value in info.items():
            if name == "episode":
                continue
            assert isinstance(value, np.ndarray | np.number | float | int | bool), name
            if isinstance(value, np.ndarray):
                np.from_dlpack(value.copy())


@pytest.mark.parametrize("players", [2, 3])
def test_info_opponent_is_its_list_position(players: int) -> None:
    """All three environments agree. The value is -1 if the opponents of several seats differ."""
    options: dict[str, Any] = {"players": players, "opponent": ["easy", "standard"]}
    rules = "hoyle" if players == 3 else "micro"
    env, envs = HeartsEnv(rules, **options), HeartsVectorEnv(30, rules, **options)
    _, infos = envs.reset(seed=5)
    met = set()
    for number in range(30):
        _, info = env.reset(seed=5 + number)
        cast = {env._cast[seat].name for seat in range(players) if seat != info["seat"]}
        place = info["opponent"]
        assert {place.dtype} == {infos["opponent"].dtype} == {np.dtype(np.int64)}
        assert place == infos["opponent"][number]
        assert cast == ({["easy", "standard"][place]} if place >= 0 else {"easy", "standard"})
        met.add(int(place))
    assert met == ({0, 1} if players == 2 else {-1, 0, 1})


@pytest.mark.parametrize("illegal_action", ["terminate", "revoke"])
def test_illegal_action_keeps_info_keys(illegal_action: str) -> None:
    env = HeartsEnv(illegal_action=illegal_action, seat=1)
    _, info = env.reset(seed=1)
    before = shape_of(info)
    *_, info = env.step(int(np.flatnonzero(info["action_mask"] == 0)[0]))
    assert shape_of(info) == before
    assert info["offender"] == 1
    envs = HeartsVectorEnv(2, illegal_action=illegal_action, seat=1)
    _, infos = envs.reset(seed=1)
    actions = infos["action_mask"].argmax(1)
    actions[1] = np.flatnonzero(infos["action_mask"][1] == 0)[0]
    *_, infos = envs.step(actions)
    assert infos["final_info"]["offender"].tolist() == [-1, 1]
    assert infos["offender"].tolist() == [-1, -1]


def test_info_arrays_are_own_or_read_only() -> None:
    env: Any = hearts_v0.raw_env(episode="match", max_deals=2)
    env.reset(seed=1)
    for table in (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        for info in table.infos.values():
            for key in ("scores", "points", "totals"):
                with pytest.raises(ValueError, match="WRITEABLE"):
                    info[key].setflags(write=True)
        legal = table.game.legal_actions()
        assert table.last()[-1] is table.infos[table.agent_selection]  # as in PettingZoo
        table.infos[table.agent_selection]["action_mask"][:] = 0  # which no rule reads
        assert np.flatnonzero(table.observe(table.agent_selection)["action_mask"]).tolist() == legal
        table.step(legal[0])
        assert (
            np.flatnonzero(table.last()[-1]["action_mask"]).tolist() == table.game.legal_actions()
        )
    single = HeartsEnv()
    _, info = single.reset(seed=1)
    info["scores"][:] = 7
    both = HeartsEnv(action_mask="both").reset(seed=1)
    both[1]["action_mask"][:] = 0
    assert both[0]["action_mask"].any()
    assert not single.step(int(info["action_mask"].argmax()))[4]["scores"].any()


@pytest.mark.parametrize("make", [hearts_v0.raw_env, hearts_v0.env])
def test_added_info_entry_stays_until_next_action(make: Any) -> None:
    """PettingZoo's environments allow this, and a reward wrapper needs it."""
    env = make(rules="classic")
    env.reset(seed=3)
    added: dict[str, int] = {}
    for number in range(40):
        agent = env.agent_selection
        for name in env.agents:  # entries since its last action, and nothing older
            assert env.infos[name].get("mine") == added.get(name)
        assert env.last()[-1].get("mine") == added.get(agent)
        waiting = env.agents[number % 4]
        env.infos[agent]["mine"] = env.infos[waiting]["mine"] = number
        assert env.infos[agent]["mine"] == env.last()[-1]["mine"] == number
        assert env.infos[agent].keys() - {"mine"} == env.infos[env.agents[0]].keys() - {"mine"}
        added[waiting] = number
        twin = copy.deepcopy(env) if number % 10 == 0 else pickle.loads(pickle.dumps(env))
        assert twin.infos[waiting]["mine"] == number
        added.pop(agent, None)
        env.step(env.unwrapped.game.legal_actions()[0])
    env.reset(seed=4)
    assert not any("mine" in info for info in env.infos.values())


# ---- nothing hidden ------------------------------------------------------------------------------
@pytest.mark.parametrize("way", WAYS)
@quick_cases(("rules", "players"), GAMES, QUICK, ids=lambda part: str(part))
def test_learners_get_nothing_that_depends_on_hidden_cards(
    rules: str, players: int, way: str
) -> None:
    """With other hidden cards, secret passes and another seed, every byte stays the same."""
    if way == "stable-baselines3":
        pytest.importorskip("stable_baselines3")
    place = GAMES.index((rules, players)) + [*WAYS].index(way)
    options = {
        "observation": [*ENCODERS][place % len(ENCODERS)],
        "reward": ("margin", "trick", "points")[place % 3],
        "render_mode": ("ansi", "svg")[place % 2],
    }
    player = place % players
    different = [  # in one deal all may be known
        assert_nothing_hidden_shows(way, game, player, place, **options)
        for seed, number in ((place, 2), *((place + 100 * n, 1) for n in range(1, 1 + TIMES)))
        for game in decisions(Rules.preset(rules, players), seed, player, number)
    ]
    assert any(different)


@pytest.mark.parametrize("way", ["hearts_v0", "gymnasium"])
def test_first_deal_of_match_shows_nothing_hidden(way: str) -> None:
    for seed in range(4):
        for game in decisions(Rules.preset("mini"), seed, seed % 2, 2):
            start = Game(
                game.rules,
                [game.start().hand(seat) for seat in range(2)],
                game.start().kitty,
                dealer=game.dealer,
            )
            for action in game.actions:
                start.play(action)
            assert_nothing_hidden_shows(way, start, seed % 2, seed, episode="match")


def numbers_in(info: Any) -> set[int]:
    """Return every whole number in an info."""
    found = set()
    for leaf in leaves(info):
        if isinstance(leaf, int | float) and leaf == int(leaf):
            found.add(int(leaf))
    return {number for number in found if 0 <= number < 2**63}


def deals_of(rules: Rules, number: int) -> Iterator[Game]:
    """Yield the deals that can be computed from a number."""
    for seed in (number, *(derived_seed(number, later) for later in range(3))):
        yield Game.deal(rules, seed)
        yield Match(rules, seed).game


@pytest.mark.parametrize("rules", ["two_player", "classic"])
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_no_info_number_leads_to_the_deal(rules: str, episode: str) -> None:
    env = HeartsEnv(rules, episode=episode)
    envs = HeartsVectorEnv(2, rules, episode=episode)
    for seed in (5, 10**15 + 1):
        numbers: set[int] = set()
        _, info = env.reset(seed=seed)
        secret = env.episode_seed
        assert secret is not None
        truth = env.game.start()
        while env.game.start() == truth and not env._is_over:
            numbers |= numbers_in(info)
            *_, info = env.step(int(info["action_mask"].argmax()))
        _, infos = envs.reset(seed=seed)
        for _ in range(13):
            numbers |= numbers_in(infos)
            *_, infos = envs.step(infos["action_mask"].argmax(1))
        # The check below would find the cards if the seed were among the numbers.
        hands = [truth.hand(player) for player in range(truth.rules.players)]
        assert any(
            [deal.hand(p) for p in range(truth.rules.players)] == hands
            for deal in deals_of(truth.rules, secret)
        )
        for number in numbers:
            for deal in deals_of(truth.rules, number):
                assert [deal.hand(p) for p in range(truth.rules.players)] != hands, number


def seeds_behind(number: int) -> set[int]:
    """Return every seed from which the package's mixing functions may have made `number`."""
    found = {number}
    for _ in range(2):
        for old in list(found):
            for whole in (old, 2 * old, 2 * old + 1):  # a bit may have been dropped
                inner = unmix(whole % 2**64)
                found.add(inner)
                for purpose in range(20):
                    part = (inner - int(k.mix(np.uint64(purpose)))) % 2**64
                    found |= {part, unmix(part)}
    return found


def test_unmix_inverts_mixing() -> None:
    for number in (0, 1, 2**63, 2**64 - 1, 123456789):
        assert unmix(int(k.mix(np.uint64(number)))) == number
        assert number >> 1 in seeds_behind(derived_seed(number >> 1, 3))


@pytest.mark.slow
def test_episode_seeds_do_not_reveal_the_next() -> None:
    env, seed = HeartsEnv(), 2**61 + 987654321
    _, info = env.reset(seed=seed)
    for number in range(1, 4):
        over = False
        while not over:
            _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
        assert env.episode_seed is not None
        behind = {n % 2**63 for n in seeds_behind(env.episode_seed)}
        _, info = env.reset()
        assert env.episode_seed == episode_seed(seed, number)
        assert seed not in behind
        for root in behind:
            for later in range(1, 5):
                assert derived_seed(root, later) != env.episode_seed
                assert episode_seed(root, later) != env.episode_seed


def test_siphash_matches_the_published_vector() -> None:
    """Appendix A of the paper has a vector of 15 bytes, the reference code one of eight, 0 to 7."""
    key0, key1 = (np.uint64(n) for n in (0x0706050403020100, 0x0F0E0D0C0B0A0908))
    found = int(siphash(key0, key1, key0))
    assert found.to_bytes(8, "little") == bytes.fromhex("6224939a79f5f593")


def test_secret_seed_depends_on_seed_and_purpose() -> None:
    assert secret_seed(5, "deal", 3) == secret_seed(np.int64(5), "deal", np.int64(3))  # type: ignore[arg-type]
    made = {
        secret_seed(seed, *purpose)
        for seed in (0, 1, 2**63, 2**70)
        for purpose in ((), ("a",), ("b",), ("a", 1), (1, "a"), ("a", "1"), (1,), ("1",), ("a1",))
    }
    assert len(made) == 36
    assert all(0 <= number < 2**63 for number in made)


# ---- windows -------------------------------------------------------------------------------------
@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of frames, as text, that windows show."""
    from hearts_env import render

    shown: list[str] = []

    class Window:
        def __init__(self, title: str, fps: int) -> None:
            pass

        def show(self, frame: str) -> None:
            shown.append(frame)

        def close(self) -> None:
            pass

    monkeypatch.setattr(render, "Window", Window)
    monkeypatch.setattr(render, "render_rgb", lambda picture, _: render.render_ansi(picture))
    return shown


@pytest.mark.parametrize(("rules", "players"), [("two_player", 2), ("classic", 4)])
def test_window_shows_only_the_learners_cards(rules: str, players: int, frames: list[str]) -> None:
    """There is one frame per card, also in the opponents' turns. The seat is drawn anew."""
    env = HeartsEnv(rules, players, render_mode="human", opponent="easy")
    seats = set()
    for seed in range(4):
        frames.clear()
        env.reset(seed=seed)
        while env.action_masks().any():
            env.step(env.action_masks().argmax())
        seats.add(env.seat)
        assert len(frames) == 1 + len(env.game.actions)
        opened = set()
        for frame in frames:
            hands = re.findall(r"^hand of player_(\d): ?(.*)$", frame, re.MULTILINE)
            opened |= {
                int(seat) for seat, cards in hands if re.search(r"\b[2-9TJQKA][CDHS]\b", cards)
            }
        assert opened == {env.seat}
    assert len(seats) > 1


def test_window_shows_the_chosen_player(frames: list[str]) -> None:
    for shown, count in (("all", 2), ("player_1", 1), ("current_player", 1)):
        frames.clear()
        HeartsEnv(render_mode="human", render_for=shown, seat=0).reset(seed=1)
        assert frames[0].count(" closed cards") + count == 2
    env = HeartsEnv(render_mode="human")
    env.reset(seed=1)
    before = env.render_mode, env.table.drawer.shown_for, env.seat
    with raises_hearts_error(HeartsError, "options"):
        env.reset(seed=4, options={"nonsense": 1})
    assert (env.render_mode, env.table.drawer.shown_for, env.seat) == before
    assert plain(env.render()) == plain(None)
