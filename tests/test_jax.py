"""Hearts in JAX has the numbers of ``BatchGame`` and behaves as an environment of Pgx does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hearts_env import BatchGame, DealError, Rules, RulesError
from hearts_env import kernel as k
from hearts_env.rules.presets import GAMES
from tests.refusals import raises_hearts_error
from tests.slow import TIMES, slow

jax = pytest.importorskip("jax")
from hearts_env.jax import Hearts, auto_reset  # noqa: E402

VARIED = Rules.preset("two_player_20").replace(
    trump="S", moon_points=9, card_points={"QH": 3, "AS": 5, "AC": -4, "TD": -2}, end_score=7
)
"""Everything that may differ from ``two_player`` does."""
PLAYED = {
    "two_player",
    "mini",
    "micro",
    "mini_6",
    "midi",
    "two_player_16",
    "two_player_20",
}


def hands_of(batch: BatchGame) -> Any:
    """Who holds what, ``(num_games, 2, cards)``: the deal, where one begins."""
    masks = batch.states[:, k.every_seat(k.HANDS, 2)]
    return masks[:, :, None] >> np.arange(len(batch.rules.deck)) & 1 == 1


def held(hands: Any, cards: int) -> Any:
    """The hands of JAX in the form of ``hands_of``."""
    return np.stack(hands, -1)[..., None] >> np.arange(cards, dtype=np.uint32) & 1 == 1


def check_equal(state: Any, batch: BatchGame, over: Any) -> None:
    """Compare everything that players get, except illegal actions. `over`: the ended deals."""
    assert np.array_equal(state.terminated, over)
    assert not np.any(state.truncated)
    assert np.array_equal(state.current_player, np.maximum(batch.current_player, 0))
    assert np.array_equal(state.observation, batch.observe())
    assert np.array_equal(
        state.legal_action_mask, batch.masks() | (batch.current_player < 0)[:, None]
    )


def play_along(rules: Rules | str, num_games: int, deals: int) -> None:
    """Play the same cards in JAX and in a batch, deal after deal, and compare after each card."""
    batch, env = BatchGame(rules, num_games, seed=3, freeze=False), Hearts(rules)

    @jax.jit
    @jax.vmap
    def step(state: Any, action: Any, hands: Any) -> Any:
        after = auto_reset(env.step, lambda _: env.deal(hands))(state, action, None)
        return after, env.observe(after, 1 - after.current_player)

    state = jax.jit(jax.vmap(env.deal))(hands_of(batch))
    check_equal(state, batch, batch.done)
    for _ in range(deals * 2 * batch.rules.hand_size):
        actions = batch.random_actions()
        batch.play(actions)
        state, seen = step(state, actions, hands_of(batch))
        check_equal(state, batch, batch.done)
        assert np.array_equal(seen, batch.observe(players=1 - np.maximum(batch.current_player, 0)))
        scores, ended = batch.scores(), batch.done[:, None]
        margins = ended * (scores[:, ::-1] - scores) / batch.rules.max_margin
        # XLA multiplies by the reciprocal, so the last bit may differ.
        np.testing.assert_allclose(state.rewards, margins.astype("float32"), rtol=1.2e-7, atol=0)
    assert batch.done.all()


def test_jax_deals_equal_a_batch() -> None:
    play_along("two_player", 100, deals=1)


@slow
@pytest.mark.parametrize("rules", [*sorted(PLAYED), VARIED], ids=str)
def test_two_thousand_jax_deals_equal_a_batch(rules: Rules | str) -> None:
    play_along(rules, 500, deals=4 * TIMES)


@slow
def test_illegal_card_in_jax_ends_the_deal() -> None:
    batch, env = BatchGame("mini", 200, seed=5, autodeal=False, freeze=False), Hearts("mini")
    state, step = jax.jit(jax.vmap(env.deal))(hands_of(batch)), jax.jit(jax.vmap(env.step))
    rows, last = np.arange(200), batch.rules.num_actions
    wrong = np.where(rows % 3 == 0, batch.masks().argmin(1), np.where(rows % 3 == 1, -1, last))
    wrong[::8] = 32 + rows[::8]
    after = step(state, wrong)
    assert after.terminated.all()
    assert after.legal_action_mask.all()
    paid = np.where(np.arange(2) == batch.current_player[:, None], -1, 1)
    assert np.array_equal(after.rewards, paid)
    assert not np.any(after.current_player)
    assert np.array_equal(after.observation, batch.observe(players=np.zeros(200, np.int64)))
    observe = jax.jit(jax.vmap(env.observe))
    again = step(after, batch.random_actions())
    for seat in (rows * 0, rows * 0 + 1):
        for ended in (after, again):
            assert np.array_equal(observe(ended, seat), batch.observe(players=seat))
    assert not np.any(again.rewards)
    assert np.array_equal(again._hands, state._hands)


def test_unjitted_deals_can_be_donated() -> None:
    env = Hearts("micro")
    hands = jax.numpy.array(hands_of(BatchGame("micro", 1, seed=1))[0])
    step = jax.jit(env.step, donate_argnums=0)
    for begin, given in ((env.init, jax.random.key(1)), (env.deal, hands)):
        state = begin(given)
        after = step(state, int(np.argmax(state.legal_action_mask)))
        assert int(after._step_count) == 1
    assert hands.any()  # still the caller's


@slow
@pytest.mark.parametrize("x64", [False, True])
def test_jax_deals_run_in_loops_and_64_bits(x64: bool) -> None:
    """Loops need the same types in every state, and nothing is counted in Python."""
    env, keys = Hearts("micro"), jax.random.split(jax.random.key(3), 5)

    def lowest(state: Any) -> Any:
        return env.step(state, state.legal_action_mask.argmax())

    with jax.enable_x64(x64):
        begin = jax.vmap(env.init)(keys)
        by_hand = begin
        for _ in range(2 * env.rules.hand_size):
            by_hand = jax.jit(jax.vmap(lowest))(by_hand)
        scanned, rewards = jax.lax.scan(
            lambda state, _: (after := jax.vmap(lowest)(state), after.rewards), begin, length=6
        )
        looped = jax.vmap(lambda state: jax.lax.while_loop(lambda s: ~s.terminated, lowest, state))(
            begin
        )
    for one in (scanned, looped):
        for found, expected in zip(jax.tree.leaves(one), jax.tree.leaves(by_hand), strict=True):
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)
    assert by_hand.terminated.all()
    assert np.array_equal(rewards[-1], by_hand.rewards)
    assert by_hand.current_player.dtype == np.int32
    assert by_hand.rewards.dtype == np.float32


@pytest.mark.parametrize("hands", [[], [[1], [1, 2]], "2C", b"2C", [["2C"], ["QS"]], np.ones(6)])
def test_odd_jax_hands_are_refused(hands: Any) -> None:
    with raises_hearts_error(DealError, "hands", "(2, 8)"):
        Hearts("micro").deal(hands)


@slow
def test_key_deals_place_every_card_uniformly() -> None:
    env, deals = Hearts("two_player"), 4_000
    states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), deals))
    hands = held(states._hands, 28)
    assert (hands.sum(2) == 13).all()
    assert not hands.all(1).any()
    expected, sd = deals * 13 / 28, (deals * 13 / 28 * 15 / 28) ** 0.5
    assert (abs(hands.sum(0) - expected) < 4 * sd).all()
    assert not np.any(states.rewards)
    assert not np.any(states.terminated)


def test_every_deal_in_jax_has_one_number() -> None:
    env, counts = Hearts("micro"), (math.comb(8, 3), math.comb(5, 3))
    numbers = np.indices(counts, np.uint32).reshape(2, -1)
    deals = held(jax.jit(jax.vmap(env._hands_of, 1))(numbers), 8)
    assert (deals.sum(2) == 3).all()
    assert not deals.all(1).any()
    assert len(np.unique(deals, axis=0)) == math.prod(counts)


def test_decks_of_more_cards_than_bits_are_refused() -> None:
    rules = Rules.preset("two_player").replace(
        removed="2C 2D 2H 3C 3D 3H 4C 4D 4H 5C 5D 5H 2S 3S 4S"
    )
    with raises_hearts_error(RulesError, "rules", "37 cards", "BatchGame"):
        Hearts(rules)


def test_rules_unknown_to_jax_are_refused() -> None:
    for name, players in GAMES:
        rules = Rules.preset(name, players)
        if name in PLAYED:
            assert Hearts(rules).observation_shape == BatchGame(rules, 1).space.shape
        else:
            with raises_hearts_error(RulesError, "rules", rules.name, "mini"):
                Hearts(rules)
    with raises_hearts_error(RulesError, "rules", "BatchGame"):
        Hearts("two_player queen_any_time=true")
