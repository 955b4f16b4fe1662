"""NeuRD, R-NaD, VRPO and ESCHER: their updates in closed form, and a game of known value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from hearts_env.solve.tree import Tree
from hearts_train.learn import games as sp
from hearts_train.learn.config_files import make_config
from hearts_train.learn.escher import ESCHERLearner, draw_explorers, matched
from hearts_train.learn.neurd import replicate
from hearts_train.learn.ppo_kernel import FIGURES, Clip
from hearts_train.learn.training import distances, make_learner

RECIPE: dict[str, Any] = {
    "threads": 1,
    "env": {"rules": "micro", "num_envs": 128, "observation": "recall", "reward": "trick"},
    "network": {"trunk": [32], "policy": [], "value": []},
    "ppo": {"num_steps": 8, "batch_size": 256},
    "budget": {"decisions": 60 * 128 * 8},
    "evaluation": {"opponents": []},
}


def learner(algorithm: str, state: Any = None, **changes: Any) -> Any:
    tree = RECIPE | {"algorithm": algorithm} | changes
    return make_learner(make_config(tree), state)


# ---- NeuRD: one decision -------------------------------------------------------------------------
LOGITS = np.array([0.3, -0.2, 9.0, 1.1], np.float32)
LEGAL = np.array([1, 1, 0, 1], np.int8)
WORTH = np.array([0.5, -1.0, 9.0, 0.25], np.float32)
MAGNET = np.array([1.0, 0.0, -9.0, 0.5], np.float32)


def softmax(logits: Any) -> Any:
    chances = np.where(LEGAL, np.exp(logits), 0.0)
    return chances / chances.sum()


def centred(steps: Any) -> Any:
    """Steps of the legal logits, less their mean."""
    return np.where(LEGAL, steps - steps[LEGAL == 1].mean(), 0.0)


def step(clip: Clip, *, has_magnet: bool, moved: float = 0.0) -> Any:
    """What `replicate` adds to the logits on average, each action drawn as often as it is likely.

    The value of the decision is its own, so that an action's advantage is its worth less that. The
    logarithm of its chance has `moved` since it was drawn.
    """
    policy = softmax(LOGITS)
    value = float(policy @ WORTH)
    total = np.zeros(4)
    for action in np.flatnonzero(LEGAL):
        rows = sp.Rows(
            masks=LEGAL[None],
            seats=np.zeros(1, np.int64),
            actions=np.array([action]),
            log_probs=(np.log(policy[[action]]) - moved).astype(np.float32),
            values=np.array([value], np.float32),
            rewards=np.zeros(1, np.float32),
            nexts=np.array([sp.END]),
            advantages=np.array([WORTH[action] - value], np.float32),
            returns=WORTH[[action]],
        )
        gradients = np.empty((1, 4), np.float32), np.empty(1, np.float32)
        values, magnet = np.array([value], np.float32), MAGNET[None][: int(has_magnet)]
        given = (LOGITS[None], values, magnet, gradients, np.zeros(len(FIGURES)))
        replicate(rows, np.zeros(1, np.int64), 1, clip, *given)
        assert gradients[1][0] == pytest.approx(2 * 0.7 * (value - WORTH[action]), abs=1e-6)
        total -= policy[action] * gradients[0][0]
    return total


@pytest.mark.parametrize("has_magnet", [False, True])
def test_logits_move_by_their_advantages_and_by_what_regularises(has_magnet):
    policy = softmax(LOGITS)
    logs = np.log(np.where(LEGAL, policy, 1.0))
    entropy = -(policy * logs).sum()
    expected = WORTH - policy @ WORTH - 0.03 * (logs + entropy)
    if has_magnet:
        away = logs - np.log(np.where(LEGAL, softmax(MAGNET), 1.0))
        expected = expected - 0.05 * (away - policy @ away)
    found = step(Clip(0.2, 0.2, 0.7, 0.0, 0.03, 0.05, math.inf, 0.0), has_magnet=has_magnet)
    np.testing.assert_allclose(found, centred(expected), atol=1e-5)


def test_a_logit_is_not_pushed_further_than_its_limit_but_back():
    """Of the legal logits 0.3, -0.2 and 1.1, whose mean is 0.4, the last two are beyond 0.5."""
    free = step(Clip(0.2, 0.2, 0.7, 0.0, 0.0, 0.0, math.inf, 0.0), has_magnet=False)
    held = step(Clip(0.2, 0.2, 0.7, 0.0, 0.0, 0.0, 0.5, 0.0), has_magnet=False)
    policy = softmax(LOGITS)
    gains = WORTH - policy @ WORTH
    expected = free.copy()
    # What pushes action j: its own draw by (1 - pi_j) / mu_j, others' by -pi(a) / mu(a) = -1.
    for j, sign in ((1, -1), (3, 1)):
        forces = {a: gains[a] * ((a == j) / policy[a] - 1.0) for a in (0, 1, 3)}
        expected[j] -= sum(policy[a] * force for a, force in forces.items() if sign * force > 0)
    assert np.abs(expected - free).max() > 0.1
    np.testing.assert_allclose(held, centred(expected), atol=1e-5)


def test_logits_do_not_drift_together():
    """Logits beyond their limits would, with one that is pushed back."""
    clip = Clip(0.2, 0.2, 0.7, 0.0, 0.5, 0.5, 0.5, 0.1)
    assert step(clip, has_magnet=True).sum() == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("moved", [0.3, -0.3])
def test_what_has_moved_far_enough_is_not_pushed_on(moved):
    """Of the three actions the second is worth less than the mean, the others more."""
    clip = Clip(0.2, 0.2, 0.7, 0.0, 0.0, 0.0, math.inf, 0.0)
    policy = softmax(LOGITS)
    gains = WORTH - policy @ WORTH
    expected = np.zeros(4)
    for action in np.flatnonzero(LEGAL):
        if gains[action] * moved < 0:
            push = gains[action] / (policy[action] * math.exp(-moved))
            expected += policy[action] * push * ((np.arange(4) == action) - policy[action])
    found = step(clip, has_magnet=False, moved=moved)
    np.testing.assert_allclose(found, centred(expected), atol=1e-5)


def test_the_least_chance_bounds_the_step():
    found = step(Clip(0.2, 0.2, 0.7, 0.0, 0.0, 0.0, math.inf, 1.0), has_magnet=False)
    policy = softmax(LOGITS)
    gains = WORTH - policy @ WORTH
    # Divided by 1 in place of mu(a): an action's own draw counts as often as it is drawn.
    expected = policy * gains - (policy**2 * gains).sum()
    np.testing.assert_allclose(found, centred(expected), atol=1e-5)


# ---- R-NaD ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("rules", "players"), [("mini", 2), ("party players=4 hand_size=3", 4)])
def test_a_tax_is_taken_from_who_decides_and_shared_by_the_others(rules, players):
    made = learner("ppo", env=RECIPE["env"] | {"rules": rules})
    games = made.games[0]
    made._collect(0, players + 1)
    before, n = games.rows.rewards.copy(), games.num_games
    last, taxes = games.table.last, np.linspace(0.5, 1.5, n).astype(np.float32)
    first = games.size - n
    decided = last == first + np.arange(n)[:, None]  # of deals that have not ended
    games.table.states[:, sp.k.PLAYER] = decided.argmax(1)
    sp.levy(players, games.table, games.rows, first, taxes)
    paid, found = games.rows.rewards - before, 0
    for g in np.flatnonzero(decided.any(1)):
        assert paid[first + g] == pytest.approx(-taxes[g], abs=1e-6)
        for row in last[g][~decided[g] & (last[g] >= 0)]:
            assert paid[row] == pytest.approx(taxes[g] / (players - 1), abs=1e-6)
            found += 1
    assert found > n / 4


def test_nothing_is_to_pay_for_play_by_the_reference_and_then_the_log_ratio():
    made = learner("r_nad", r_nad={"eta": 0.5, "reference_every": 3}, precision="float32")
    plain = learner("neurd", precision="float32")
    for one in (made, plain):
        one._collect(0, 8)
    rewards = [one.games[0].rows.rewards for one in (made, plain)]
    np.testing.assert_allclose(*rewards, atol=1e-6)
    with torch.no_grad():
        made.reference.networks[0].policy[-1].bias[:] += torch.arange(made.rules.num_actions)
    rows, own = made.games[0].rows, slice(0, 100)
    observations = torch.from_numpy(made.games[0].observations[own])
    logits, _ = made._forward(made.reference.networks[0], observations)
    is_legal = torch.from_numpy(rows.masks[own]) != 0
    logs = torch.log_softmax(logits.masked_fill(~is_legal, -torch.inf), 1).detach().numpy()
    expected = 0.5 * (rows.log_probs[own] - logs[np.arange(100), rows.actions[own]])
    with torch.no_grad():
        found = made._tax(0, own)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(expected).max() > 0.1


def test_every_few_updates_the_policy_becomes_the_reference():
    made = learner("r_nad", r_nad={"reference_every": 3})
    start = made.reference.weights.clone()
    for update in range(1, 8):
        made.update()
        is_same = torch.equal(made.reference.weights, made.replicas.weights)
        assert is_same == (update in (3, 6))
        assert torch.equal(made.reference.weights, start) == (update < 3)


# ---- VRPO ----------------------------------------------------------------------------------------
def returns_by(made: Any, worth: Any, gae_lambda: float) -> tuple[Any, Any]:
    """The returns of all decisions of a learner's games, if the critic said `worth`; which count.

    Values are its mean under the policy that drew the cards: uniform here.
    """
    games = made.games[0]
    some = slice(0, games.size)
    legal = games.rows.masks[some] != 0
    games.worth[some] = worth
    games.rows.values[some] = np.where(legal, worth, 0.0).sum(1) / legal.sum(1)
    ready = games.estimate(1.0, gae_lambda)
    return games.rows.returns[: games.size].copy(), ready


def played(**changes: Any) -> Any:
    """A learner after some cards drawn uniformly: the weights of its policy are 0."""
    made = learner("vrpo", **changes)
    with torch.no_grad():
        made.network.policy[-1].weight[:] = 0.0
        made.network.policy[-1].bias[:] = 0.0
    made._collect(0, 8)
    return made


def test_a_critic_that_says_nothing_leaves_what_was_earned_to_the_end():
    """With lambda 1: the sum of rewards, which change their sign with the player."""
    made = played()
    rows, (returns, ready) = made.games[0].rows, returns_by(made, 0.0, 1.0)
    plain = learner("ppo")
    plain._collect(0, 8)
    assert len(set(rows.seats[ready])) == 2
    ends = ready[rows.nexts[ready] == sp.END]
    np.testing.assert_allclose(returns[ends], rows.rewards[ends])
    inner = ready[rows.nexts[ready] >= 0]
    after = rows.nexts[inner]
    sign = np.where(rows.seats[after] == rows.seats[inner], 1.0, -1.0)
    is_known = np.isin(after, ready)
    expected = rows.rewards[inner] + sign * returns[after]
    np.testing.assert_allclose(returns[inner][is_known], expected[is_known], atol=1e-6)
    assert {-1.0, 1.0} == set(sign)


def test_luck_that_the_critic_sees_is_taken_out_and_the_mean_stays():
    """The critic's noise of later cards has mean 0: a return differs by it alone, with lambda 1."""
    made, rng = played(), np.random.default_rng(0)
    games = made.games[0]
    plain, _ = returns_by(made, 0.0, 1.0)
    noise = rng.normal(size=(games.size, made.rules.num_actions)).astype(np.float32)
    found, ready = returns_by(made, noise, 1.0)
    rows = games.rows
    legal = rows.masks[: games.size] != 0
    means = np.where(legal, noise, 0.0).sum(1) / legal.sum(1)
    luck = noise[np.arange(games.size), rows.actions[: games.size]] - means
    later = np.zeros(games.size)
    for row in reversed(range(games.size)):
        after = rows.nexts[row]
        if after >= 0:
            sign = 1.0 if rows.seats[after] == rows.seats[row] else -1.0
            known = luck[after] if rows.nexts[after] != sp.PENDING else -means[after]
            later[row] = sign * (known + later[after])
    np.testing.assert_allclose(found[ready], (plain - later)[ready], atol=1e-5)
    assert abs(luck.mean()) < 5 * luck.std() / math.sqrt(len(luck))


def test_with_lambda_0_the_critic_is_believed_after_one_card():
    made = played()
    games, rows = made.games[0], made.games[0].rows
    worth = np.random.default_rng(1).normal(size=(games.size, made.rules.num_actions))
    legal = rows.masks[: games.size] != 0
    means = np.where(legal, worth, 0.0).sum(1) / legal.sum(1)
    returns, ready = returns_by(made, worth.astype(np.float32), 0.0)
    for row in ready:
        after = rows.nexts[row]
        sign = 0.0 if after < 0 else 1.0 if rows.seats[after] == rows.seats[row] else -1.0
        assert returns[row] == pytest.approx(rows.rewards[row] + sign * means[after], abs=1e-5)


def test_the_critic_sees_the_hands_of_the_others():
    made = learner("vrpo", env=RECIPE["env"] | {"rules": "party players=4 hand_size=3"})
    games, actions = made.games[0], made.rules.num_actions
    states = games.batch.states.copy()
    made._collect(0, 1)
    for g, state in enumerate(states):
        own = state[sp.k.PLAYER]
        for other in range(1, 4):
            seen = games.hands[g, (other - 1) * actions : other * actions]
            hand = state[sp.k.HANDS + sp.k.SEAT * ((own + other) % 4)]
            assert sum(1 << card for card in np.flatnonzero(seen).tolist()) == hand


@pytest.mark.parametrize(
    ("rules", "reward", "chains"),
    [("mini", "trick", 1), ("mini", "points", 2), ("party players=4 hand_size=3", "trick", 4)],
)
def test_one_chain_of_decisions_where_one_wins_what_the_other_loses(rules, reward, chains):
    made = learner("vrpo", env=RECIPE["env"] | {"rules": rules, "reward": reward})
    made._collect(0, 8)
    rows, size = made.games[0].rows, made.games[0].size
    inner = np.flatnonzero(rows.nexts[:size] >= 0)
    is_same = rows.seats[rows.nexts[inner]] == rows.seats[inner]
    assert made.games[0].table.last.shape[1] == chains
    assert is_same.all() == (chains > 1)


# ---- ESCHER --------------------------------------------------------------------------------------
def test_play_is_in_proportion_to_positive_regrets():
    regrets = torch.tensor([[3.0, 1.0, -2.0, 9.0], [-3.0, -1.0, -2.0, 9.0], [0.0, 2.0, 2.0, -1.0]])
    is_legal = torch.tensor([[True, True, True, False]] * 2 + [[True, True, True, True]])
    expected = [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 0.5, 0.5, 0]]
    torch.testing.assert_close(matched(regrets, is_legal), torch.tensor(expected))


@pytest.mark.parametrize("players", [2, 3])
def test_one_seat_of_each_deal_explores_and_each_as_often(players):
    deals = np.random.default_rng(0).integers(2**62, size=6000)
    table = np.empty((players, 6000), np.float32)
    for player in range(players):
        draw_explorers(deals, np.full(6000, player), players, table[player])
    assert (table.sum(0) == 1).all()
    assert np.abs(table.mean(1) - 1 / players).max() < 0.03


def test_values_and_regrets_are_learnt_by_who_explores_and_the_average_by_the_others():
    made: ESCHERLearner = learner("escher", nfsp={"reservoir": 5000})
    games, n = made.games[0], 128
    made._collect(0, 8)
    explores = games.rows.values[: 8 * n] != 0
    assert 0.4 < explores.mean() < 0.6
    chances, gains = made._chances[0][: 8 * n], made._gains[0][: 8 * n]
    np.testing.assert_allclose(chances.sum(1), 1.0, atol=1e-5)
    np.testing.assert_allclose((chances * gains).sum(1), 0.0, atol=1e-5)
    drawn = np.log(chances[np.arange(8 * n), games.rows.actions[: 8 * n]].clip(1e-12))
    random = -np.log(games.rows.masks[: 8 * n].sum(1))
    expected = np.where(explores, random, drawn)
    np.testing.assert_allclose(games.rows.log_probs[: 8 * n], expected, atol=1e-5)
    ready = [made._estimate(games)]
    made._take_in(ready)
    assert len(made.memory) == explores[ready[0]].sum()
    for memory, name, table, some in (
        (made.regret_memory, "regrets", gains, explores),
        (made.reservoir, "chances", chances, ~explores),
    ):
        assert len(memory) == some.sum()
        read = memory.read(np.arange(len(memory)))
        np.testing.assert_array_equal(read[name], table[some])
        np.testing.assert_array_equal(read["seen"], games.observations[: 8 * n][some])


def test_the_next_decision_is_worth_its_mean_under_the_policy():
    made: ESCHERLearner = learner("escher", precision="float32", ppo=RECIPE["ppo"] | {"gamma": 0.5})
    for _ in range(3):
        made.update()
    rows = made.memory.read(np.arange(200))
    after = torch.from_numpy(rows["seen_next"])
    with torch.no_grad():
        regrets, _ = made._forward(made.regrets.networks[0], after)
        worth, _ = made._forward(made.target.networks[0], after)
    policy = matched(regrets, torch.from_numpy(rows["legal_next"]) != 0)
    mean = (policy * worth).sum(1).numpy()
    assert 0 < rows["goes_on"].sum() < 200
    expected = rows["rewards"] + 0.5 * np.where(rows["goes_on"], mean, 0.0)
    np.testing.assert_allclose(made._targets(0, rows).numpy(), expected, atol=1e-5)


# ---- a game of known value -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("algorithm", "changes", "bound"),
    [
        ("ppo", {"clip_range": None, "kl_coef": 0.3, "ent_coef": 0.1, "ent_coef_end": 0.01}, 0.3),
        ("vrpo", {"ent_coef": 0.1, "ent_coef_end": 0.01}, 0.3),
        ("neurd", {"ent_coef": 0.05, "ent_coef_end": 0.005, "num_epochs": 1}, 0.3),
        ("r_nad", {"ent_coef": 0.0, "ent_coef_end": None, "num_epochs": 1}, 0.3),
        ("escher", {"learning_rate": 0.005, "num_epochs": 4}, 0.6),
    ],
)
def test_play_of_three_cards_approaches_equilibrium_and_resumes_to_the_bit(
    algorithm, changes, bound
):
    settings = {
        "ppo": RECIPE["ppo"] | changes,
        "dqn": {"buffer_size": 5000, "target_every": 25},
        "nfsp": {"reservoir": 20_000, "learning_rate": 0.005, "min_reservoir_prob": 0.25},
    }
    made, tree = learner(algorithm, **settings), Tree("micro")
    before = distances(made, tree)["drawn"]
    assert before > 1.0
    for _ in range(30):
        made.update()
    resumed = learner(algorithm, made.state(), **settings)
    for _ in range(30):
        made.update()
        resumed.update()
    ours, theirs = made.state().tensors, resumed.state().tensors
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    assert distances(made, tree)["drawn"] < bound
