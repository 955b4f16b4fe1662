"""Self-play PPO is right: advantages, gradients, rewards, seats, opponents, a known value."""

from __future__ import annotations

import itertools
import math
import shutil
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from hearts_agents import make_agent
from hearts_agents.models.checkpoint import read_checkpoint
from hearts_env import CheckpointError, Game, HeartsError, Rules, settle
from hearts_env.rules.presets import PRESETS
from hearts_env.solve.best_response import exploitability, policy_of
from hearts_env.solve.tree import Tree
from hearts_train.learn import games as sp
from hearts_train.learn.config import COMPILERS, ConfigError
from hearts_train.learn.config_files import load_config
from hearts_train.learn.learner import Learner
from hearts_train.learn.ppo import (
    PPO,
    Coefficients,
    Decisions,
    estimate_advantages,
    explained_variance,
    minibatches,
    ppo_loss,
)
from hearts_train.learn.training import train
from tests.players import Noting
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases
from tests.training_runs import quick as quick
from tests.training_runs import recipe


def learner(*overrides: str) -> PPO:
    """A small one, which plays all seats of `mini` itself."""
    small = [
        "threads=1",
        "env={rules: mini, reward: trick, num_envs: 32}",
        "ppo={num_steps: 4, batch_size: 64}",
        "network={trunk: [8], policy: [8], value: [8]}",
        "budget.decisions=100000",
    ]
    return PPO(load_config(None, [*small, *overrides]))


def rows_of(nexts: list[int], rewards: list[float], values: list[float]) -> sp.Rollout:
    n = len(nexts)
    return sp.Rollout(
        masks=np.ones((n, 3), np.int8),
        seats=np.zeros(n, np.int64),
        actions=np.zeros(n, np.int64),
        log_probs=np.zeros(n, np.float32),
        values=np.array(values, np.float32),
        rewards=np.array(rewards, np.float32),
        nexts=np.array(nexts),
        advantages=np.full(n, np.nan, np.float32),
        returns=np.full(n, np.nan, np.float32),
    )


# ---- advantages ----------------------------------------------------------------------------------
@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize(("gamma", "gae_lambda"), [(1.0, 1.0), (0.9, 1.0), (1.0, 0.5), (0.8, 0.3)])
def test_advantages_of_each_seat_equal_closed_form(players, gamma, gae_lambda):
    """Seats decide in turn, with constant values and rewards, so advantages are geometric sums."""
    decisions = 5
    n = players * decisions
    value = [0.1 * (1 + i % players) for i in range(n)]
    reward = [1.0 + i % players for i in range(n)]
    nexts = [i + players if i + players < n else sp.END for i in range(n)]
    rows = rows_of(nexts, reward, value)
    estimate_advantages(rows, n, gamma, gae_lambda)
    for i in range(n):
        v, r, left = value[i], reward[i], decisions - 1 - i // players
        delta = r + gamma * v - v
        expected = sum(delta * (gamma * gae_lambda) ** later for later in range(left))
        expected += (r - v) * (gamma * gae_lambda) ** left
        assert rows.advantages[i] == pytest.approx(expected, rel=1e-5)
        assert rows.returns[i] == pytest.approx(expected + v, rel=1e-5)


def test_pending_decision_gives_value_but_no_advantage():
    rows = rows_of([2, sp.END, sp.PENDING], rewards=[0.5, -1.0, 9.0], values=[0.25, 0.0, 0.75])
    estimate_advantages(rows, 3, 1.0, 0.9)
    assert rows.advantages.tolist() == [0.5 + 0.75 - 0.25, -1.0, 0.0]


# ---- finished deals ------------------------------------------------------------------------------
def test_ended_shows_each_deal_that_was_paid():
    shown, paid, deals = Counter(), Counter(), set()

    class Games(sp.SelfPlayGames):
        def ended(self, games):
            for place in games:
                game = self.batch.game(place)
                assert game.is_over
                deals.add(int(self.batch.seeds[place]))
                shown.update((seat, round(margin)) for seat, margin in enumerate(game.margins()))

    class Noted(PPO):
        kind_of_games = Games

        def estimate(self):
            ready, rollout, scale = super().estimate(), self.games.rollout, self.rules.max_margin
            last = ready[rollout.nexts[ready] == sp.END]
            rewards = (scale * rollout.rewards[last]).round().astype(int)
            paid.update(zip(rollout.seats[last].tolist(), rewards.tolist(), strict=True))
            return ready

    noted = Noted(learner("env.reward=margin").config)
    for _ in range(3):
        noted.update()
    assert shown.total() == 2 * len(deals) > 100
    assert not paid - shown
    assert paid.total() > 0.9 * shown.total()  # a seat without a choice is not paid


# ---- the loss ------------------------------------------------------------------------------------
@pytest.mark.parametrize("by_value", [math.inf, 0.1])
@pytest.mark.parametrize("has_magnet", [False, True])
@pytest.mark.parametrize(("by_ratio", "kl_coef"), [(0.2, 0.0), (math.inf, 0.4)])
def test_loss_gradients_equal_the_hand_derivation(by_value, has_magnet, by_ratio, kl_coef):
    """Row by row and legal action by legal action, from the equations of the papers.

    Without a clip and with a pull to the policy of play it is mirror descent's.
    """
    rng = np.random.default_rng(0)
    n, actions, ent_coef, magnet_coef, vf_coef = 150, 7, 0.03, 0.05, 0.7
    legal = rng.random((n, actions)) < 0.6
    legal[np.arange(n), rng.integers(0, actions, n)] = True
    chosen = np.array([rng.choice(np.flatnonzero(row)) for row in legal])
    logits, others = rng.normal(size=(2, n, actions))
    values, old, advantages, returns = rng.normal(size=(4, n))
    values = old + 0.2 * values
    old_logs = -np.abs(rng.normal(size=n))
    figures, by_logits, by_values = np.zeros(6), np.zeros((n, actions)), np.zeros(n)
    for i in range(n):
        some, action, gain = legal[i], chosen[i], advantages[i]
        pi, rho = (np.where(some, np.exp(row[i]), 0.0) for row in (logits, others))
        pi, rho = pi / pi.sum(), rho / rho.sum()
        logs = np.log(pi, where=some, out=np.zeros(actions))
        is_chosen = np.arange(actions) == action
        change = logs[action] - old_logs[i]
        q = math.exp(change)
        clipped = min(max(q, 1 - by_ratio), 1 + by_ratio)
        push = q * gain if q * gain <= clipped * gain else 0.0  # d(q A) / dl, else it is constant
        entropy = -(pi * logs).sum()
        away = np.where(some, logs - np.log(rho, where=some, out=np.zeros(actions)), 0.0)
        distance = (pi * away).sum() if has_magnet else 0.0
        by_logits[i] = (kl_coef * q * change - push) * (is_chosen - pi)
        by_logits[i] += ent_coef * pi * (logs + entropy)
        by_logits[i] += magnet_coef * has_magnet * pi * (away - distance)
        step = values[i] - old[i]
        error = old[i] + min(max(step, -by_value), by_value) - returns[i]
        by_values[i] = 2.0 * vf_coef * error * (abs(step) <= by_value)
        figures += [
            -min(q * gain, clipped * gain),
            error**2,
            entropy,
            q - 1.0 - change,
            abs(q - 1.0) > by_ratio,
            distance,
        ]
    x, v = (torch.tensor(array, requires_grad=True) for array in (logits, values))
    given = (legal, chosen, old_logs, old, advantages, returns)
    batch = Decisions(torch.zeros(n, 0), *map(torch.from_numpy, given), torch.zeros(n, 0))
    falling = (torch.tensor(ent_coef), torch.tensor(magnet_coef))
    by = Coefficients(by_ratio, by_value, vf_coef, kl_coef, *falling)
    loss, found = ppo_loss(x, v, torch.from_numpy(others) if has_magnet else None, batch, by)
    loss.backward()
    np.testing.assert_allclose(x.grad, by_logits / n, atol=1e-9)
    np.testing.assert_allclose(v.grad, by_values / n, atol=1e-9)
    names = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "magnet_kl")
    wanted = dict(zip(names, figures / n, strict=True))
    assert {k: figure.item() for k, figure in found.items()} == pytest.approx(wanted, 1e-6, 1e-9)


def test_drawn_actions_follow_the_policy():
    n = 20_000
    logits = np.tile(np.array([0.0, 1.0, 2.0, 5.0], np.float32), (n, 1))
    random = np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64)
    actions, log_probs = np.zeros(n, np.int64), np.zeros(n, np.float32)
    sp.choose(logits, np.full(n, 0b0111), random, actions, log_probs)
    chances = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    assert np.abs(np.bincount(actions, minlength=4)[:3] / n - chances).max() < 0.02
    np.testing.assert_allclose(np.exp(log_probs), chances[actions], rtol=1e-5)
    again = actions.copy()
    sp.choose(logits, np.full(n, 0b0111), random, again, log_probs)
    assert abs((again == actions).mean() - (chances**2).sum()) < 0.02  # drawn anew


# ---- games ---------------------------------------------------------------------------------------
def play(made: PPO, steps: int) -> sp.Rollout:
    made.play(steps)
    return made.games.rollout


def pay(game: Game, kind: str) -> list[float]:
    """Return each seat's reward for a finished deal, from its score."""
    scores, n = game.scores(), game.rules.players
    if kind == "points":
        return [-float(score) for score in scores]
    if kind == "chips":
        return [float(chips) for chips in settle(game.rules.settlement, game.points)[0]]
    if kind == "win":
        won = [score == min(scores) for score in scores]
        lost = n - sum(won)
        return [1 / sum(won) if one else -1 / lost for one in won] if lost else [0.0] * n
    others = [(sum(scores) - score) / (n - 1) for score in scores]
    margins = [other - score for other, score in zip(others, scores, strict=True)]
    return [margin / game.rules.max_margin for margin in margins]


@quick_cases(
    ("rules", "players", "reward"),
    [
        *itertools.product(["mini"], [2], ["margin", "points", "trick", "win"]),
        *itertools.product(["party hand_size=3"], [3], ["margin", "points", "trick", "win"]),
        ("hoyle hand_size=3", 4, "chips"),
    ],
    [("mini", 2, "margin"), ("party hand_size=3", 3, "win"), ("hoyle hand_size=3", 4, "chips")],
)
def test_each_seat_receives_its_rewards_per_deal(rules, players, reward):
    """Nothing of a deal is paid in the next one in its place, and no decision leads into it."""
    n, steps = 8, 70
    env = f"env={{rules: {rules} players={players}, reward: {reward}, num_envs: {n}}}"
    made = learner(env, "env.skip_forced=false", f"ppo={{num_steps: {steps}, batch_size: 64}}")
    games = made.games
    playing = [Game.deal(made.rules, seed=int(seed)) for seed in games.batch.seeds]
    over: list[list[Game]] = [[] for _ in range(n)]
    seats = []
    for step in range(steps):
        seats += [(g, len(over[g]), game.current_player) for g, game in enumerate(playing)]
        made.play(1)
        for g, game in enumerate(playing):
            game.play(int(games.rollout.actions[step * n + g]))
            if game.is_over:
                over[g].append(game)
                playing[g] = Game.deal(made.rules, seed=int(games.batch.seeds[g]))
    earned: dict[tuple[int, int, int], float] = dict.fromkeys(seats, 0.0)
    for key, reward_of_row in zip(seats, games.rollout.rewards.tolist(), strict=False):
        earned[key] += reward_of_row
    assert min(map(len, over)) >= 3
    for g, deals in enumerate(over):
        for number, game in enumerate(deals):
            found = [earned[g, number, seat] for seat in range(players)]
            assert found == pytest.approx(pay(game, reward), abs=1e-5), (g, number)
    # Each decision leads to the next one of its seat in the deal, and the last one ends it.
    nexts = [sp.END if number < len(over[g]) else sp.PENDING for g, number, _ in seats]
    last: dict[tuple[int, int, int], int] = {}
    for row, key in enumerate(seats):
        if key in last:
            nexts[last[key]] = row
        last[key] = row
    assert games.rollout.nexts[: len(seats)].tolist() == nexts


def test_raising_opponent_is_named_with_its_line(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    def act(self, view):\n        return {}['plan']\n")
    with raises_hearts_error(
        HeartsError, f"opponent '{path}:Mine'", "KeyError: 'plan'", "line 3 of mine.py"
    ):
        learner(f"opponents={{'{path}:Mine': 1}}", "env.num_envs=20").update()


@pytest.mark.parametrize("seat", [0, 1, "random"])
def test_opponents_seats_are_not_learnt_from(seat):
    made = learner("opponents={easy: 1, self: 1}", f"env.seat={seat}", "env.num_envs=400")
    occupants = made.games.table.occupants
    easy = made.opponents.pool.place("easy")
    assert set(np.unique(occupants)) == {sp.LEARNER, easy}
    if seat != "random":
        assert (occupants[:, seat] == sp.LEARNER).all()
    share = (occupants == easy).mean()  # a quarter of all seats: one in two of the others
    assert abs(share - 0.25) < 0.06
    seats: list[int] = []
    for _ in range(8):
        batch, table = made.games.batch, made.games.table
        seats += table.occupants[np.arange(400), batch.current_player].tolist()
        made.play(1)
        made.games.drop_learnt()
    assert set(seats) == {sp.LEARNER}


def test_opponent_of_each_seat_is_drawn_separately():
    made = learner("env.rules=classic", "opponents={easy: 1, standard: 1}", "env.num_envs=800")
    easy = (made.games.table.occupants == made.opponents.pool.place("easy")).sum(1)
    shares = np.bincount(easy, minlength=4) / 800
    assert shares == pytest.approx(np.array([1, 3, 3, 1]) / 8, abs=0.06)


def test_opponents_draw_new_numbers_in_each_update():
    made = learner(f"opponents={{'{Noting.__module__}:Noting': 1}}")
    Noting.seeds.clear()
    for _ in range(3):
        made.update()
    assert len(set(Noting.seeds)) == len(Noting.seeds) == 3


def test_pending_decisions_wait_and_others_train_once():
    made = learner("env.rules=classic", "env.num_envs=20")
    games, learnt = made.games, 0
    for _ in range(5):
        play(made, 4)
        ready, last = games.ready(), games.table.last.copy()
        is_open = last >= 0
        assert sorted([*ready, *last[is_open]]) == list(range(games.size))
        learnt += len(ready)
        before = {name: array[last[is_open]] for name, array in games._saved().items()}
        games.drop_learnt()
        places = games.table.last[is_open]
        for name, array in games._saved().items():
            assert np.array_equal(array[places], before[name]), name
    assert learnt + games.size == 5 * 4 * 20


@quick_cases("preset", PRESETS, ["two_player", "omnibus"])
def test_every_preset_trains(preset):
    reward = "chips" if Rules.make(preset).settlement != "points" else "margin"
    made = learner(f"env.rules={preset}", f"env.reward={reward}", "threads=2")
    before = made.tensors()
    for _ in range(4):
        row = made.update()
    assert row["value_loss"] is not None
    assert not np.array_equal(before["policy.0.weight"], made.tensors()["policy.0.weight"])


def test_custom_loss_trains_and_resumes(tmp_path, quick):
    """One of the values alone leaves the policy's layers as they were, and the trunk learns."""

    class ValuesAlone(PPO):
        def loss(self, some: Decisions) -> Any:
            logits, values = self.outputs(some)
            _, figures = ppo_loss(logits, values, self.magnet_logits(some), some, self.coefs)
            return (values - some.returns).square().mean(), figures

    config = recipe("evaluation.times=0")
    before = PPO(config).tensors()
    folder = train(config, tmp_path / "run", progress=False, learner=ValuesAlone).run_dir
    more = recipe("evaluation.times=0", "budget.decisions=792")
    with raises_hearts_error(CheckpointError, "resume", "ValuesAlone", hint="learner"):
        train(more, resume=folder, progress=False)
    assert train(more, resume=folder, progress=False, learner=ValuesAlone).updates == 11
    after, meta = read_checkpoint(folder)
    assert meta.training["command"].endswith("config.yaml'), learner=ValuesAlone)")
    unchanged = [name for name in before if np.array_equal(before[name], after[name])]
    assert unchanged == [name for name in before if not name.startswith("policy.0.")]


def test_own_figures_are_logged_as_means():
    class Counting(PPO):
        def decisions(self) -> Decisions:
            made = super().decisions()
            counts.append(made.legal.sum(1).double().mean().item())
            return made

        def loss(self, batch: Decisions) -> Any:
            loss, figures = super().loss(batch)
            return loss, figures | {"choices": batch.legal.sum(1).double().mean(), "one": 1.0}

    counts: list[float] = []
    made = Counting(learner("threads=2", "ppo.num_epochs=3").config)
    rows = [made.update() for _ in range(3)]
    assert [row["choices"] for row in rows] == pytest.approx(counts)
    assert [row["one"] for row in rows] == pytest.approx([1.0] * 3)


def test_figure_of_several_numbers_raises():
    class Odd(PPO):
        def loss(self, batch: Decisions) -> Any:
            loss, figures = super().loss(batch)
            return loss, figures | {"odd": batch.returns}

    with raises_hearts_error(HeartsError, "loss", "odd"):
        Odd(learner().config).warm_up()


def test_learner_without_an_algorithm_raises(tmp_path):
    class Empty(Learner):
        pass

    with raises_hearts_error(ConfigError, "learner", "Empty", hint="PPO"):
        train(recipe(), tmp_path / "run", learner=Empty, progress=False)
    assert not (tmp_path / "run").exists()


def test_explained_variance_compares_values_with_returns():
    returns = torch.arange(4.0)  # of variance 1.25
    batch = Decisions(*[torch.zeros(4)] * len(Decisions._fields))
    batch = batch._replace(returns=returns, values=returns + torch.tensor([0.5, -0.5, 0.5, -0.5]))
    assert explained_variance(batch) == {"explained_variance": pytest.approx(1.0 - 0.25 / 1.25)}


# ---- settings ------------------------------------------------------------------------------------
def test_every_ppo_setting_reaches_the_update():
    made = learner(
        "ppo.clip_range=0.17",
        "ppo.clip_range_vf=0.23",
        "ppo.vf_coef=0.77",
        "ppo.kl_coef=0.6",
        "ppo.learning_rate=0.011",
        "ppo.learning_rate_end=0.007",
        "ppo.ent_coef=0.041",
        "ppo.ent_coef_end=0.019",
        "ppo.magnet_coef=0.3",
        "ppo.magnet_coef_end=0.1",
        "ema_decay=0.9",
    )
    made.counters.decisions = 50_000
    before = vector(made)
    made.set_rates(made.progress)
    made.network.weights.grad = torch.full_like(before, 1e-3)
    made.step(made.learning_rate)
    # Adam's first step is as long as the learning rate.
    assert (before - vector(made)).max().item() == pytest.approx(0.009, rel=0.02)
    made.update()
    assert made.learning_rate == pytest.approx(0.009)
    assert made.coefs == pytest.approx((0.17, 0.23, 0.77, 0.6, 0.03, 0.2))
    assert learner("ppo.clip_range_vf=null").coefs.clip_range_vf == math.inf


def vector(made: PPO) -> torch.Tensor:
    """All weights in one vector."""
    return made.network.weights.detach().clone()


def test_epochs_visit_every_row_in_new_order():
    rows, rng = torch.arange(115), np.random.default_rng(0)
    batch = Decisions(*[rows] * len(Decisions._fields))
    found = [some.actions for some in minibatches(batch, 50, 2, rng)]
    epochs = [found[:2], found[2:]]
    for epoch in epochs:
        assert len(epoch) == 2  # 115 rows in parts of about 50
        assert sorted(torch.cat(epoch).tolist()) == rows.tolist()
    assert not torch.equal(epochs[0][0], epochs[1][0])
    none = Decisions(*[rows[:0]] * len(Decisions._fields))
    assert list(minibatches(none, 50, 2, rng)) == []


def test_small_target_kl_ends_update_early(monkeypatch):
    counts = []
    for bound in ("null", "1e-9"):
        made = learner("ppo.num_epochs=8", "ppo.learning_rate=0.05", f"ppo.target_kl={bound}")
        made.update()  # every first decision of a seat is still open
        sizes: list[int] = []

        def loss(batch: Any, sizes: list[int] = sizes, made: Any = made) -> Any:
            sizes.append(len(batch.actions))
            return made.loss(batch)

        monkeypatch.setattr(made, "compiled_loss", loss)
        made.update()
        counts.append(len(sizes))
    assert counts[0] == 8 * 2
    assert counts[1] <= 2


def test_gradients_are_clipped_to_max_grad_norm():
    made = learner("ppo.max_grad_norm=0.25")
    made.network.weights.grad = gradient = torch.full_like(vector(made), 3.0)
    made.step(made.learning_rate)
    assert gradient.norm().item() == pytest.approx(0.25, rel=1e-4)


def test_threads_sum_the_gradient_of_a_minibatch():
    """Each thread takes a share of the rows. A single row is not shared. Bits are reproducible."""
    found = {}
    for threads in (1, 2, 3, 3):
        made = learner(f"threads={threads}", "precision=float32", "ppo.num_steps=8")
        made.play(8)
        batch = made.decisions()
        gradients = []
        for size in (len(batch.actions), 1):
            some = Decisions(*(column[:size] for column in batch))
            figures = made.network.backward(made.loss, some)
            gradients += [made.network.weights.grad, torch.stack([*figures.values()])]
        for one, expected in zip(gradients, found.setdefault(1, gradients), strict=True):
            torch.testing.assert_close(one, expected, rtol=1e-4, atol=1e-6)
        for one, before in zip(gradients, found.setdefault(threads, gradients), strict=True):
            assert torch.equal(one, before)


def test_advantages_are_normalised_over_the_update(monkeypatch):
    for wanted in (True, False):
        made, seen = learner(f"ppo.normalize_advantage={str(wanted).lower()}"), []

        def loss(batch: Any, seen: list[torch.Tensor] = seen, made: Any = made) -> Any:
            seen.append(batch.advantages)
            return made.loss(batch)

        monkeypatch.setattr(made, "compiled_loss", loss)
        made.update()
        seen.clear()
        made.update()
        every = torch.cat(seen)
        assert (abs(every.mean()) < 1e-5) == wanted
        assert (abs(every.std(correction=0) - 1) < 1e-4) == wanted


def test_uncompilable_loss_warns_and_trains_eagerly(monkeypatch):
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no compiler")

    plain, made = learner(), learner("compile=true")
    monkeypatch.setattr(torch, "compile", fails)
    assert plain.warm_up() == ""
    warning = made.warm_up()
    assert warning.startswith("compile: ")
    assert "no compiler" in warning
    for one in (plain, made):
        one.update()
    assert torch.equal(vector(plain), vector(made))


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="there is no C++ compiler")
def test_compiled_loss_agrees_and_resumes_to_the_bit():
    settings = ("threads=2", "precision=float32")
    made, plain = learner("compile=true", *settings), learner(*settings)
    assert made.warm_up() == ""
    for one in (made, plain):
        one.update()
    torch.testing.assert_close(vector(made), vector(plain), rtol=1e-3, atol=1e-5)
    resumed = PPO(made.config, made.state())
    assert resumed.warm_up() == ""
    for one in (made, resumed):
        one.update()
    assert torch.equal(vector(made), vector(resumed))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_missing_device_raises():
    with raises_hearts_error(ConfigError, "device"):
        learner("device=cuda")
    assert learner("device=auto").device.type == "cpu"


def test_rules_without_decisions_raise():
    with raises_hearts_error(HeartsError, "skip_forced"):
        learner("env.rules=micro hand_size=1")


# ---- results -------------------------------------------------------------------------------------
@pytest.mark.slow
def test_tiny_game_is_learnt_to_known_value():
    """Self-play on `micro` reaches a low exploitability."""
    made = learner(
        "env={rules: micro, reward: trick, num_envs: 256}",
        "ppo={num_steps: 8, batch_size: 512, learning_rate: 0.005, ent_coef: 0.05}",
        "ppo.ent_coef_end=0.005",
        "network={trunk: [], policy: [64], value: [64]}",
        "budget.decisions=150000",
    )
    while made.progress < 1.0:
        made.update()
    tree = Tree("micro")

    def exploited(agent: Any) -> float:
        return exploitability(tree, policy_of(agent, tree)[0])

    assert exploited(made.agent()) < 0.25 * exploited(make_agent("easy", seed=0))
