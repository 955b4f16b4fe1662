"""The batch equals single games bit for bit, and refuses invalid arguments."""

from __future__ import annotations

import multiprocessing
import pickle
import random
import threading
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from hearts_env import (
    BatchGame,
    BatchView,
    DealError,
    Game,
    HeartsError,
    IllegalActionError,
    Match,
    PlayerView,
    Rules,
)
from hearts_env import kernel as k
from hearts_env.batch import batch as batches
from hearts_env.batch import kernel as loops
from hearts_env.encoders import Encoder, FlatEncoder, make_encoder
from hearts_env.rules.presets import PRESETS
from tests.refusals import argument_of, raises_hearts_error
from tests.slow import quick_cases
from tests.waiting import HANG

GAMES = [(name, numbers[0]) for name, (numbers, *_) in PRESETS.items()] + [
    (name, numbers[-1]) for name, (numbers, *_) in PRESETS.items() if len(numbers) > 1
]


class Mine(FlatEncoder):
    """Inherits a compiled ``write_many`` and writes something else."""

    def write(self, view: PlayerView, out: Any) -> None:
        super().write(view, out)
        out[-1] = len(view.hand)


def check_against_single_games(batch: BatchGame, steps: int, seed: int) -> None:
    """Play at random and compare every state, mask and observation with a ``Game``."""
    rng = np.random.default_rng(seed)
    games = [Game.deal(batch.rules, int(s)) for s in batch.seeds]
    for _ in range(steps):
        observations, masks, views = batch.observe(), batch.masks(), batch.views()
        assert np.array_equal(views.observe(batch.encoder), observations)
        actions = np.zeros(batch.num_games, np.int64)
        for i, game in enumerate(games):
            view = game.view(batch.current_player[i])
            assert views[i] == view
            assert np.array_equal(observations[i], view.observe(batch.encoder))
            assert np.flatnonzero(masks[i]).tolist() == game.legal_actions()
            actions[i] = rng.choice(game.legal_actions())
            game.play(int(actions[i]))
        batch.play(actions)
        for i, game in enumerate(games):
            assert batch.done[i] == game.is_over
            if game.is_over:
                assert batch.scores()[i].tolist() == game.scores()
                games[i] = Game.deal(batch.rules, int(batch.seeds[i]))


@pytest.mark.parametrize(
    ("name", "players", "observation"),
    [
        *((*game, "flat") for game in GAMES),
        *((name, None, kind) for name in PRESETS for kind in ("recall", "history", "text", Mine())),
    ],
)
def test_a_batch_equals_single_games(
    name: str, players: int | None, observation: str | Encoder
) -> None:
    rules = Rules.preset(name, players)
    check_against_single_games(BatchGame(rules, 3, seed=5, observation=observation), 90, 1)


def test_views_are_of_one_rule_set() -> None:
    views = [Game.deal(name, 1).view(0) for name in ("micro", "mini")]
    assert len(BatchView.of(views[:1])) == 1
    for wrong in ([], views):
        with raises_hearts_error(HeartsError, "views"):
            BatchView.of(wrong)


class Plain:
    """An encoder with nothing but the two methods of the protocol, which cannot be hashed."""

    __hash__ = None

    def space(self, rules: Rules) -> spaces.Box:
        return spaces.Box(0, 99, (2, 2), np.float32)

    def write(self, view: PlayerView, out: Any) -> None:
        out[:] = [[view.player, len(view.hand)], [len(view.history), view.player or 0]]


@pytest.mark.parametrize("observation", ["flat", "ranked", "text", FlatEncoder(), Mine(), Plain()])
def test_listed_views_are_encoded_one_by_one(observation: str | Encoder) -> None:
    game, listed = Game.deal("classic", 3), []
    while not game.is_over:
        listed += [game.view(seat) for seat in range(4)]  # including the waiting players
        game.play(game.legal_actions()[-1])
    listed.append(game.view(2))
    encoder = make_encoder(observation)
    seen = BatchView.of(listed).observe(observation)
    assert (seen.shape[1:], seen.dtype) == (
        encoder.space(game.rules).shape,
        encoder.space(game.rules).dtype,
    )
    for row, view in zip(seen, listed, strict=True):
        assert np.array_equal(row, view.observe(encoder))


@quick_cases("threads", [1, 2, 3], [2])
@pytest.mark.parametrize(
    ("text", "observation", "dtype"),
    [(name, "flat", np.int8) for name in ("two_player", "classic", "party players=7", "micro")]
    + [("two_player", name, np.int8) for name in ("ranked", "history")]
    + [("two_player", "flat", np.float16), ("micro moon=choose", "text", np.uint8)],
)
def test_step_equals_play_observe_and_masks(
    text: str, observation: str, dtype: type, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_THREADS_FROM", 1)
    rules, size = Rules.from_text(text), 2 * 64 + 5
    options = {"observation": observation, "num_threads": threads, "freeze": threads == 2}
    whole = BatchGame(rules, size, seed=3, **options)
    parts = BatchGame(rules, size, seed=3, observation=observation)
    observations = np.full((size, *whole.space.shape), 7, dtype)
    masks = np.full((size, rules.num_actions), 7, np.int8)
    ended = 0
    while ended <= size:  # into the second deals
        actions = parts.random_actions()
        shown = whole.step(actions, observations, masks)
        assert shown[0] is observations
        assert shown[1] is masks
        parts.play(actions)
        assert np.array_equal(observations, parts.observe().astype(dtype))
        assert np.array_equal(masks, parts.masks())
        for name, array in parts.state().items():
            assert np.array_equal(whole.state()[name], array) or name == "random"
        assert np.array_equal(whole.states, parts.states)
        ended += int(parts.done.sum())
    fresh, _ = whole.step(parts.random_actions())
    assert fresh.dtype == whole.space.dtype


@pytest.mark.parametrize("games", [16_383, 16_384])
def test_only_large_batches_start_threads(games: int) -> None:
    before = set(threading.enumerate())
    batch = BatchGame("micro", games, num_threads=3, freeze=False)
    batch.step(batch.random_actions())
    assert len(set(threading.enumerate()) - before) == (2 if games == 16_384 else 0)


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


def _play_on(batch: BatchGame) -> list[int]:
    for _ in range(20):
        batch.play(batch.random_actions())
    return batch.states.sum(1).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_play_on_with_threads_of_their_own(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_THREADS_FROM", 1)
    batch = BatchGame("two_player", 64, seed=2, num_threads=2)
    batch.play(batch.random_actions())  # the threads of this process are running
    with multiprocessing.get_context(method).Pool(1) as pool:
        theirs = pool.apply_async(_play_on, (batch,)).get(timeout=HANG)
    assert theirs == _play_on(batch)


@pytest.mark.parametrize("autodeal", [True, False])
@quick_cases(
    ("name", "players"),
    [*GAMES, ("micro moon=choose", 2)],
    [("two_player", 2), ("classic", 4), ("kitty", 3), ("micro moon=choose", 2)],
)
def test_batch_continues_from_its_state(name: str, players: int, autodeal: bool) -> None:
    rules = Rules.make(name, players)
    one, two = (BatchGame(rules, 48, seed=3, autodeal=autodeal) for _ in range(2))
    for _ in range(rules.players * (rules.hand_size + rules.pass_count) + 3):
        two.reset()
        two.restore(one.state())
        for key in ("states", "legal", "seeds", "done"):
            assert np.array_equal(getattr(one, key), getattr(two, key)), key
        assert np.array_equal(one.scores(), two.scores())
        rows = np.flatnonzero(one.current_player >= 0)
        for batch in (one, two):  # also the streams of random actions go on
            batch.play(batch.random_actions(games=rows), games=rows)
        assert np.array_equal(one.states, two.states)
    if name == "micro moon=choose" and not autodeal:
        assert (one.states[:, k.MOON_CHOICE] >= 0).any()


def test_unwritable_arrays_are_refused() -> None:
    batch = BatchGame("micro", 2, seed=1)
    shape, before = (2, *batch.space.shape), batch.states.copy()
    fixed = np.zeros(shape, np.int8)
    fixed.flags.writeable = False
    for out in (
        np.zeros(shape),
        np.zeros((3, 3), np.int8),
        np.zeros(shape[::-1], np.int8).T,
        fixed,
        [[0] * shape[1]] * 2,
    ):
        with raises_hearts_error(HeartsError, "out"):
            batch.observe(out)  # type: ignore[arg-type]
        with raises_hearts_error(HeartsError, "observations"):
            batch.step(batch.masks().argmax(1), out)  # type: ignore[arg-type]
    both = np.zeros(8192, np.int8)
    with raises_hearts_error(HeartsError, "masks"):
        batch.step(
            batch.masks().argmax(1),
            both[: 2 * shape[1]].reshape(shape),
            both[: 2 * batch.rules.num_actions].reshape(2, -1),
        )
    assert np.array_equal(batch.states, before)


def test_batch_refuses_invalid_state() -> None:
    batch = BatchGame("mini", 4, seed=3)
    for _ in range(3):
        batch.play(batch.random_actions())
    batch.revoke(games=np.array([3]))
    state = batch.state()
    far = state["states"].copy()
    far[2, k.PLAYER] = 10**15  # compiled code would read outside the array
    for field, value in (
        ("states", far),
        ("states", np.zeros_like(far)),
        ("states", state["states"][:, :-1]),
        ("seeds", -1 - state["seeds"]),
        ("deals", state["deals"] - 10),
        ("scores", np.zeros((4, 3), np.int64)),
        ("random", None),
    ):
        with pytest.raises(HeartsError) as caught:
            batch.restore(state | {field: value})
        assert argument_of(caught.value) in ("state", f"state.{field}")
    with raises_hearts_error(HeartsError, "state.states"):
        batch.restore({})
    batch.restore(state)
    assert np.array_equal(batch.state()["states"], state["states"])


# ---- single games out of a batch -----------------------------------------------------------------
def choose_in_deck_order(game: Any, rng: random.Random) -> int:
    """Return a legal action. Cards to pass come in deck order, which a state does not record."""
    legal = game.legal_actions()
    if game.phase == "pass":
        passed = [game.rules.index[card] for card in game.passed(game.current_player)]
        missing = game.rules.pass_count - len(passed)
        above = [a for a in legal if a > max(passed, default=-1)]
        return rng.choice(above[: len(above) - missing + 1])
    return rng.choice(legal)


def check_past(ours: Game, single: Game) -> None:
    assert ours == single
    assert ours.actions == single.actions
    assert ours.to_text() == single.to_text()
    assert ours.start() == single.start()
    assert Game.from_text(ours.to_text()) == single
    assert pickle.loads(pickle.dumps(ours)) == single
    assert ours.legal_actions() == single.legal_actions()
    if single.actions:
        back, there = ours.clone(), single.clone()
        back.undo()
        there.undo()
        assert back == there
    before = single.clone()
    if not ours.is_over:
        ours.play(ours.legal_actions()[0])
        assert single == before  # it is independent


def test_cards_passed_count_as_chosen_in_deck_order() -> None:
    batch = BatchGame("classic", 1, seed=0)
    batch.reset(np.array([next(s for s in range(9) if Game.deal("classic", s).phase == "pass")]))
    game = Game.deal("classic", int(batch.seeds[0]))
    hand = game.legal_actions()
    for action in (hand[5], hand[2], hand[9]):
        batch.play(np.array([action]))
        game.play(action)
    assert batch.game(0) == game
    assert batch.game(0).actions == [hand[2], hand[5], hand[9]]


@pytest.mark.parametrize(
    "text",
    [
        "two_player",
        "classic",
        "party players=5",
        'micro moon=choose pass_count=1 pass_rotation=["right"]',
    ],
)
def test_state_keeps_its_past_after_revokes_in_matches(text: str) -> None:
    for seed in range(12):
        match, rng = Match(Rules.from_text(text), seed), random.Random(seed)
        for _ in range(rng.randrange(150)):
            if not match.is_over:
                match.play(choose_in_deck_order(match.game, rng))
        games = [match.game, match.last_game] if match.last_game else [match.game]
        revoked = match.game.clone()
        if not match.is_over:
            revoked.revoke()
        for game in [*games, revoked]:
            check_past(Game.from_state(game.rules, game.vector), game)


def test_invalid_state_vector_is_refused() -> None:
    game = Game.deal("classic", 5, deal_number=0)
    rng = random.Random(0)
    for _ in range(40):
        game.play(choose_in_deck_order(game, rng))
    hidden = game.view(0).vector
    for wrong in (hidden, game.vector[:-1], np.zeros_like(game.vector)):
        with raises_hearts_error(DealError, "vector"):
            Game.from_state("classic", wrong)
    with raises_hearts_error(DealError, "vector"):
        Game.from_state("two_player", game.vector)
    for field in range(game.rules.state_size):  # any one number changed to any other
        for value in (-1, 0, 1, 5, -(2**63), 2**63 - 1):
            changed = game.vector.copy()
            changed[field] = value
            if changed[field] != game.vector[field]:
                try:
                    made = Game.from_state("classic", changed)
                except DealError:
                    continue
                # Play does not depend on these.
                free = (k.DEALER, k.DEAL_NUMBER, *range(k.TOTALS, k.TOTALS + 4 * k.SEAT, k.SEAT))
                assert field in free
                assert np.array_equal(made.vector, changed)


# ---- some games only -----------------------------------------------------------------------------
@pytest.mark.parametrize("autodeal", [True, False])
def test_selected_games_play_as_among_all(autodeal: bool) -> None:
    """Selected games are played and dealt as single games are. The other games do not change."""
    n, rng = 8, np.random.default_rng(int(autodeal))
    batch, whole = (BatchGame("micro", n, seed=2, autodeal=autodeal) for _ in range(2))
    upcoming = []  # the seeds of each game's next deals
    for _ in range(60):
        upcoming.append(whole.seeds.copy())
        whole.reset()
    assert len(np.unique(upcoming)) == 60 * n
    games, done, num_deals = [Game.deal("micro", int(s)) for s in batch.seeds], [False] * n, [1] * n

    def deal(g: int, seed: int | None) -> None:
        if seed is None:
            seed = int(upcoming[num_deals[g]][g])
            num_deals[g] += 1
        games[g] = Game.deal("micro", seed)
        assert batch.seeds[g] == seed

    for step in range(150):
        some = rng.permutation(n)[: rng.integers(1, n)]
        if step % 10 == 9:
            seeds = rng.integers(2**62, size=len(some)) if step % 20 == 9 else None
            batch.reset(seeds, games=some)
            for i, g in enumerate(some.tolist()):
                deal(g, None if seeds is None else int(seeds[i]))
                done[g] = False
        some = np.array([g for g in some.tolist() if not games[g].is_over], np.int64)
        actions = batch.random_actions(games=some)
        batch.play(actions, games=some)
        for g, action in zip(some.tolist(), actions.tolist(), strict=True):
            games[g].play(action)
            done[g] = games[g].is_over
            if done[g]:
                assert batch.scores()[g].tolist() == games[g].scores()
                if autodeal:
                    deal(g, None)
        assert batch.done.tolist() == done
        masks = batch.masks()
        for g, game in enumerate(games):
            assert batch.game(g) == game
            assert np.flatnonzero(masks[g]).tolist() == game.legal_actions()
        players = rng.integers(2, size=len(some))
        seen = batch.observe(games=some, players=players)
        for row, g, player in zip(seen, some.tolist(), players.tolist(), strict=True):
            assert np.array_equal(row, games[g].view(player).observe(batch.encoder))
    finished = np.array([g for g in range(n) if games[g].is_over], np.int64)
    assert bool(len(finished)) != autodeal
    assert not batch.random_actions(games=finished).any()
    assert (batch.current_player[finished] == -1).all()


def test_selected_games_draw_as_among_all() -> None:
    whole, parts = (BatchGame("party", 40, seed=4) for _ in range(2))
    some = np.array([37, 2, 20, 3])
    others = np.setdiff1d(np.arange(40), some)
    for _ in range(60):
        expected, found = whole.random_actions(), np.empty(40, np.int64)
        found[some] = parts.random_actions(games=some)
        found[others] = parts.random_actions(games=others)
        assert np.array_equal(found, expected)
        whole.play(expected)
        parts.play(found)


@pytest.mark.skipif(not hasattr(loops.play, "signatures"), reason="nothing is compiled")
def test_other_array_kinds_compile_nothing_anew() -> None:
    batch, games = BatchGame("micro", 4, seed=1), np.array([0, 2])

    def use(kind: Any) -> list[int]:
        batch.play(batch.random_actions(games=kind), games=kind)
        batch.observe(games=kind)
        return [len(loop.signatures) for loop in (loops.play, loops.choose, loops.write_views)]

    compiled = use(games)
    read_only = games.copy()
    read_only.setflags(write=False)
    for kind in (np.arange(4)[::2], read_only, games.astype(np.int32), games.astype(">i8"), [0, 2]):
        assert use(kind) == compiled


def refusals() -> list[Any]:
    """Return invalid calls, each with words of its error."""
    legal = BatchGame("two_player", 4, seed=6).masks().argmax(1)
    illegal, read_only = legal.copy(), np.zeros((4, 28), np.int8)
    illegal[2] = 27  # a first lead of the ace of hearts
    memory = np.zeros(4 * 200 + 4 * 28 - 1, np.int8)
    beneath = np.zeros((4, 200), np.int8)
    covered = beneath.reshape(-1)[-32:].view(np.int64)
    covered[:] = legal
    read_only.setflags(write=False)
    two = np.array([2, 0, 2])
    return [
        ("step", (illegal,), "actions 1 2 27"),
        ("step", (legal, memory[:800].reshape(4, 200), memory[-112:].reshape(4, 28)), "masks"),
        ("step", (covered, beneath), "observations"),
        ("step", (legal, None, read_only), "masks"),
        ("play", (illegal,), "actions 1 2 27"),
        *(("play", (np.where(np.arange(4) == 2, wrong, legal),), "actions 2")
          for wrong in (-1, 28, 10**9)),
        ("observe", (np.zeros((200, 4), np.int8).T,), "out"),
        ("observe", (np.zeros((8, 200), np.int8)[::2],), "out"),
        ("masks", {"games": np.array([4])}, "games"),
        ("play", {"actions": legal[two], "games": two}, "games 2"),
        ("reset", {"games": two}, "games 2"),
        ("reset", (np.array([1, 2, 3, 2**63 + 5], np.uint64),), "seeds"),
    ]  # fmt: skip


@pytest.mark.parametrize(("method", "given", "words"), refusals())
def test_bad_batch_arguments_are_refused_and_change_nothing(
    method: str, given: Any, words: str
) -> None:
    batch = BatchGame("two_player", 4, seed=6)
    before = pickle.dumps(batch.state())
    with raises_hearts_error(HeartsError, *words.split()):
        getattr(batch, method)(**given) if isinstance(given, dict) else getattr(batch, method)(
            *given
        )
    assert pickle.dumps(batch.state()) == before


def test_finished_games_cannot_be_played() -> None:
    batch = BatchGame("micro", 2, seed=0, autodeal=False)
    while not batch.done.all():
        batch.play(batch.random_actions())
    with raises_hearts_error(IllegalActionError, "actions"):
        batch.play(np.zeros(2, np.int64))
    batch.reset(np.array([5, 2**63 - 1], np.uint64))
    assert batch.game(1) == Game.deal("micro", 2**63 - 1)
    assert np.array_equal(*batch.observe(games=np.array([1, 1])))
