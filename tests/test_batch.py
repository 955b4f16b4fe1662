"""The batch equals single games bit for bit, and refuses what cannot be."""

from __future__ import annotations

import multiprocessing
import pickle

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_env import BatchGame, BatchView, DealError, Game, HeartsError, IllegalActionError, Rules
from hearts_env.encoders import ENCODERS, encode, make_encoder
from hearts_env.rules import PRESETS

GAMES = [(name, numbers[0]) for name, (numbers, _) in PRESETS.items()] + [
    (name, numbers[-1]) for name, (numbers, _) in PRESETS.items() if len(numbers) > 1
]


def check_against_single_games(batch: BatchGame, steps: int, seed: int) -> None:
    """Play at random and compare every state, mask and observation with a ``Game``."""
    rng = np.random.default_rng(seed)
    games = [Game.deal(batch.rules, int(s)) for s in batch.seeds]
    for _ in range(steps):
        observations, masks, views = batch.observe(), batch.masks(), batch.views()
        actions = np.zeros(batch.num_games, np.int64)
        for i, game in enumerate(games):
            view = game.view(batch.player[i])
            assert views[i] == view
            assert np.array_equal(observations[i], encode(batch.encoder, view))
            assert np.flatnonzero(masks[i]).tolist() == game.legal_actions()
            actions[i] = rng.choice(game.legal_actions())
            game.play(int(actions[i]))
        batch.play(actions)
        for i, game in enumerate(games):
            assert batch.done[i] == game.is_over
            if game.is_over:
                assert batch.scores()[i].tolist() == game.scores()
                games[i] = Game.deal(batch.rules, int(batch.seeds[i]))


@pytest.mark.parametrize(("name", "players"), GAMES)
def test_a_batch_equals_single_games(name: str, players: int) -> None:
    check_against_single_games(BatchGame(Rules.preset(name, players), 3, seed=5), 90, 1)


@pytest.mark.parametrize("observation", ["planes", "history", "belief", "text"])
@pytest.mark.parametrize("name", PRESETS)
def test_a_batch_equals_single_games_in_every_encoder(name: str, observation: str) -> None:
    rules = Rules.preset(name)
    steps = 12 if observation == "belief" and rules.players > 2 else 70
    check_against_single_games(BatchGame(rules, 2, seed=9, observation=observation), steps, 2)


def test_views_are_of_one_rule_set() -> None:
    views = [Game.deal(name, 1).view(0) for name in ("micro", "mini")]
    assert len(BatchView.of(views[:1])) == 1
    for wrong in ([], views):
        with pytest.raises(HeartsError, match=r"^views: "):
            BatchView.of(wrong)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_and_size_change_nothing(threads: int) -> None:
    one, many = (
        BatchGame("two_player", 50, seed=3),
        BatchGame("two_player", 64, seed=3, num_threads=threads),
    )
    for _ in range(60):
        assert np.array_equal(one.seeds, many.seeds[:50])
        assert np.array_equal(one.observe(), many.observe()[:50])
        masks = many.masks()
        assert np.array_equal(one.masks(), masks[:50])
        actions = masks.argmax(1)
        one.play(actions[:50])
        many.play(actions)
    assert np.array_equal(one.scores(), many.scores()[:50])


@pytest.mark.parametrize("threads", range(1, 9))
def test_random_play_is_the_same_whatever_the_number_of_threads(threads: int) -> None:
    one, many = (
        BatchGame("party", 30, seed=4),
        BatchGame("party", 41, seed=4, num_threads=threads),
    )
    for _ in range(130):
        actions, others = one.random_actions(), many.random_actions()
        assert np.array_equal(actions, others[:30])
        assert one.masks()[np.arange(30), actions].all()
        one.play(actions)
        many.play(others)
    assert np.array_equal(one.states, many.states[:30])
    assert np.array_equal(one.legal, many.legal[:30])


def test_random_actions_are_uniform() -> None:
    batch = BatchGame("two_player", 4000, seed=8)
    batch.reset(np.full(4000, 5))  # the same deal in all games
    batch.play(batch.random_actions())
    mask = batch.masks()[0]
    counts = np.bincount(batch.random_actions(), minlength=28)
    assert not counts[mask == 0].any()
    expected = 4000 / mask.sum()
    chi = ((counts[mask == 1] - expected) ** 2 / expected).sum()
    assert chi < mask.sum() + 5 * np.sqrt(2 * mask.sum())


def test_finished_games_have_no_random_action() -> None:
    batch = BatchGame("micro", 3, autodeal=False)
    while not batch.done.all():
        batch.play(batch.random_actions())
    assert batch.random_actions().tolist() == [0, 0, 0]
    assert batch.legal.tolist() == [0, 0, 0]


def _play_on(batch: BatchGame) -> list[int]:
    for _ in range(20):
        batch.play(batch.random_actions())
    return batch.states.sum(1).tolist()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_play_on_with_threads_of_their_own(method: str) -> None:
    batch = BatchGame("two_player", 64, seed=2, num_threads=2)
    batch.play(batch.random_actions())  # the threads of this process have begun
    with multiprocessing.get_context(method).Pool(1) as pool:
        theirs = pool.apply_async(_play_on, (batch,)).get(timeout=120)
    assert theirs == _play_on(batch)


def test_pickle_in_mid_game_plays_on_identically() -> None:
    batch = BatchGame("classic", 8, seed=1, num_threads=2)
    for _ in range(20):
        batch.play(batch.masks().argmax(1))
    copy = pickle.loads(pickle.dumps(batch))
    for _ in range(60):
        actions = batch.masks().argmax(1)
        batch.play(actions)
        copy.play(actions)
    assert np.array_equal(batch.states, copy.states)
    assert np.array_equal(batch.seeds, copy.seeds)


def test_rows_can_be_played_seen_and_dealt_alone() -> None:
    batch = BatchGame("two_player", 6, seed=2)
    some = np.array([4, 1])
    before = batch.states.copy()
    batch.play(batch.masks(games=some).argmax(1), games=some)
    changed = (batch.states != before).any(1)
    assert np.flatnonzero(changed).tolist() == [1, 4]
    seen = batch.observe(games=some, players=np.array([0, 1]))
    for row, (g, p) in enumerate([(4, 0), (1, 1)]):
        assert np.array_equal(seen[row], encode(batch.encoder, batch.game(g).view(p)))
    batch.reset(np.array([7, 8]), games=some)
    assert batch.game(4) == Game.deal("two_player", 7)
    assert batch.seeds[[1, 4]].tolist() == [8, 7]


def test_without_autodeal_finished_games_wait() -> None:
    batch = BatchGame("micro", 2, seed=0, autodeal=False)
    for _ in range(6):
        batch.play(batch.masks().argmax(1))
    assert batch.done.all()
    assert batch.player.tolist() == [-1, -1]
    assert not batch.masks().any()
    assert (batch.scores().sum(1) > 0).all()
    with pytest.raises(IllegalActionError, match="wait for reset"):
        batch.play(np.zeros(2, np.int64))
    batch.reset()
    assert not batch.done.any()


def test_an_illegal_action_plays_nothing() -> None:
    batch = BatchGame("two_player", 4, seed=6)
    before = batch.states.copy()
    actions = batch.masks().argmax(1)
    actions[2] = 27  # a first lead of the ace of hearts
    with pytest.raises(IllegalActionError, match=r"1 illegal \(game 2: 27\)"):
        batch.play(actions)
    assert np.array_equal(batch.states, before)
    for wrong in (-1, 28, 10**9):
        actions[2] = wrong
        with pytest.raises(IllegalActionError, match="game 2"):
            batch.play(actions)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"num_games": 0}, "num_games"),
        ({"num_games": -3}, "num_games"),
        ({"num_games": 10**9}, "num_games"),
        ({"num_games": 2.5}, "num_games"),
        ({"num_threads": 0}, "num_threads"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"observation": "flatt"}, "observation"),
        ({"rules": "two_players"}, "rules"),
    ],
)
def test_arguments_that_cannot_be_are_named(arguments: dict, field: str) -> None:
    with pytest.raises(HeartsError, match=f"^{field}: "):
        BatchGame(**({"rules": "two_player", "num_games": 2} | arguments))


def test_arrays_of_the_wrong_kind_are_refused() -> None:
    batch = BatchGame("two_player", 4)
    for out in (
        np.zeros((4, 199), np.int8),
        np.zeros((4, 200), np.float64),
        np.zeros((200, 4), np.int8).T,
        np.zeros((8, 200), np.int8)[::2],
        [0] * 4,
    ):
        with pytest.raises(HeartsError, match=r"^out: "):
            batch.observe(out)  # type: ignore[arg-type]
    with pytest.raises(HeartsError, match=r"^out: "):
        batch.masks(np.zeros((4, 27), np.int8))
    for actions in (np.zeros(3, np.int64), np.zeros((4, 1), np.int64), np.zeros(4)):
        with pytest.raises(HeartsError, match=r"^actions: "):
            batch.play(actions)
    with pytest.raises(HeartsError, match=r"^games: "):
        batch.masks(games=np.array([4]))
    with pytest.raises(DealError, match=r"^seeds: "):
        batch.reset(np.array([1, 2, 3]))
    with pytest.raises(DealError, match=r"^seeds: "):
        batch.reset(np.array([1, 2, 3, -4]))


def test_games_written_in_place_are_the_same_array() -> None:
    batch = BatchGame("two_player", 4)
    out = np.full((4, *batch.space.shape), 7, np.int8)
    assert batch.observe(out) is out
    assert set(np.unique(out)) == {0, 1}
    assert make_encoder("flat") is batch.encoder


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("observation", ENCODERS)
def test_observations_are_cast_where_asked(observation: str, dtype: type) -> None:
    batch = BatchGame("two_player", 150, seed=3, observation=observation, num_threads=2)
    for _ in range(5):
        batch.play(batch.random_actions())
    out = np.full((150, *batch.space.shape), 7, dtype)
    assert batch.observe(out) is out
    assert np.array_equal(out, batch.observe().astype(dtype))


def test_a_game_named_twice_is_not_played() -> None:
    batch = BatchGame("two_player", 3, seed=1)
    before = batch.states.copy()
    action = int(batch.masks()[0].argmax())
    with pytest.raises(HeartsError, match=r"^games: 0 comes twice"):
        batch.play(np.array([action, action]), games=np.array([0, 0]))
    with pytest.raises(HeartsError, match=r"^games: 2 comes twice"):
        batch.reset(games=np.array([2, 0, 2]))
    assert np.array_equal(batch.states, before)
    assert np.array_equal(*batch.observe(games=np.array([1, 1])))


def test_seeds_beyond_63_bits_are_refused() -> None:
    batch = BatchGame("micro", 2)
    with pytest.raises(DealError, match=r"^seeds: "):
        batch.reset(np.array([5, 2**63 + 5], np.uint64))
    batch.reset(np.array([5, 2**63 - 1], np.uint64))
    assert batch.game(1) == Game.deal("micro", 2**63 - 1)


@pytest.mark.parametrize("index", [2, -1, 1.5, "a", None])
def test_games_that_are_not_there(index: object) -> None:
    with pytest.raises(HeartsError, match=r"^index: "):
        BatchGame("micro", 2).game(index)  # type: ignore[arg-type]


def test_finished_games_are_not_asked_of_agents() -> None:
    batch = BatchGame("micro", 2, autodeal=False)
    while not batch.done.any():
        batch.play(batch.random_actions())
    for name in ("easy", "standard", "pro", "pimc"):
        with pytest.raises(HeartsError, match="view"):
            make_agent(name, seed=0).act_batch(batch.views())
