"""``python -m bench``: speed beside the peers, the size of games, how well models predict hands."""

from __future__ import annotations

import functools
import json
import math
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces
from typer.testing import CliRunner

from bench import peers
from bench.__main__ import app
from bench.calibration import calibrate
from bench.complexity import Complexity, Measurement, complexities, estimated
from bench.floors import Minimiser, floors, rows_of
from bench.speed import Result, agreed, tables
from hearts_agents import make_agent
from hearts_env import Game, HeartsError, PlayerView, Rules
from hearts_env.encoders import ENCODERS
from hearts_env.seeds import derived_seed
from hearts_env.solve.best_response import Profile, exploitability
from hearts_env.solve.tree import Tree
from tests.refusals import mistake, refused


# ---- speed ---------------------------------------------------------------------------------------
def speed(*args):
    """The command ``speed`` in this process."""
    return CliRunner().invoke(app, ["speed", *map(str, args)])


@pytest.mark.slow
def test_speed(tmp_path):
    result = speed("--quick", "--json", "--plot", tmp_path / "speed.png")
    assert result.exit_code == 0, result.stderr
    results = json.loads(result.stdout)
    measured = [row for row in results if not row["missing"]]
    assert all(row["low"] <= row["value"] <= row["high"] for row in measured)
    ours = {row["name"] for row in results if row["ours"]}
    if shutil.which("cc") is None:
        ours = {name for name in ours if not name.startswith("C, ")}
    assert ours <= {row["name"] for row in measured}
    assert {"hearts_v0.env, two_player", "OpenSpiel hearts"} <= {row["name"] for row in results}
    for row in results:
        assert row["name"] in result.stderr
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
    alone = json.loads(speed("--quick", "--json", "--no-peers").stdout)
    assert all(row["ours"] for row in alone)
    mistake(speed("--plot", tmp_path / "none" / "x.png"), "--plot")


def test_speed_measures_one_group_and_refuses_unknown_ones():
    rows = json.loads(speed("--quick", "--no-peers", "--group", "turns", "--json").stdout)
    assert {row["name"] for row in rows} == {"hearts_v0.env, two_player", "hearts_v0.env, classic"}
    assert all(row["ours"] and row["group"] == "turns" and row["value"] > 0 for row in rows)
    mistake(speed("--group", "turn"), "--group", "turns")


class ThreeTurns:
    """An environment as RLCard has it: three turns, in which action 7 is legal, then 5 or 6."""

    def __init__(self):
        self.played = []

    def reset(self):
        self.played = []
        return {"legal_actions": {7: None}}, 0

    def is_over(self):
        return len(self.played) == 3

    def step(self, action):
        assert action in ((5, 6) if self.played else (7,))
        self.played.append(action)
        return {"legal_actions": {5: None, 6: None}}, len(self.played) % 2


def test_rlcard_is_played_by_its_own_loop(monkeypatch):
    env, made = ThreeTurns(), []

    def make(name, config):
        made.append((name, config))
        return env

    monkeypatch.setitem(sys.modules, "rlcard", SimpleNamespace(make=make))
    # A duration of 0 seconds: one game, three steps, in some time.
    assert peers.rlcard("leduc-holdem")(0.0) > 0
    assert made == [("leduc-holdem", {"seed": 0})]
    assert len(env.played) == 3


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(("games", "steps"), [(1, 300), (2, 300), (257, 150)])
def test_the_yardstick_does_what_a_batch_does(games, steps):
    yardstick = agreed(games, seed=games, steps=steps)
    assert yardstick.last_scores.any(axis=1).all()
    if games > 100:
        assert (yardstick.last_scores == [0, 20]).all(axis=1).any()  # a moon is among them
    nothing = np.zeros(games, np.int64)
    with pytest.raises(ValueError, match="illegal"):
        yardstick.step(nothing - 1, np.empty((games, 200), np.int8), np.empty((games, 28), np.int8))


def test_batches_are_shown_as_shares_of_the_yardstick():
    names = {
        "BatchGame(4096).step, two_player": (30.0, "0.60"),
        "BatchGame(4096).step, 2 threads, two_player": (60.0, "1.20"),
        "BatchGame(1024).step, two_player": (30.0, ""),  # of another size than the yardstick
        "BatchGame(4096).step, bits, two_player": (30.0, ""),
        "BatchGame(4096).step, classic": (30.0, ""),
        "C, one core (4096), two_player": (50.0, "1.00"),
    }
    results = [
        Result("batch", name, "decisions/s", ours=True, value=value)
        for name, (value, _) in names.items()
    ]
    ((_, columns, rows),) = tables(results)
    assert columns[-1] == "of C, one core"
    assert {row[0]: row[-1] for row in rows} == {name: share for name, (_, share) in names.items()}
    ((_, columns, rows),) = tables(results[:-1])
    assert len(columns) == len(rows[0]) == 4


# ---- complexity ----------------------------------------------------------------------------------
def test_micro_is_counted() -> None:
    """Its numbers are those of plain play (test_equilibrium.py), which follow either leader."""
    (found,) = complexities(["micro"], measurement=Measurement(deals=50, pro_deals=5))
    assert found.deals == math.comb(8, 3) * math.comb(5, 3) == 560
    for estimate, counted in [
        (found.lines, 4216),
        (found.positions, 17_608),
        (found.infosets, 1114),
    ]:
        assert estimate.exact
        assert 10**estimate.log10 == pytest.approx(counted)
    assert found.random.actions == found.pro.actions == 6
    assert found.worlds_most <= math.comb(5, 3)


@pytest.mark.parametrize(
    ("name", "lines", "infosets"), [("micro", 4216, 1114), ("mini", 7_426_296, 2_469_782)]
)
def test_estimates_agree_with_counted_trees(name, lines, infosets) -> None:
    ends, _, sets = estimated(Rules.preset(name), 20_000, 2000, seed=1)
    for estimate, counted in ((ends, lines), (sets, infosets)):
        assert not estimate.exact
        half = estimate.high - estimate.log10
        assert half < 0.05
        assert estimate.log10 == pytest.approx(math.log10(counted), abs=2.5 * half)


@pytest.mark.slow
def test_complexity_of_several_games(tmp_path) -> None:
    out = tmp_path / "sizes.json"
    words = ["complexity", "micro", "mini", "--pro-deals", "2", "--json", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    records = json.loads(out.read_text())
    assert [one["rules"] for one in records] == ["micro", "mini"]
    for one in records:
        assert Complexity.of(one).to_json().items() <= one.items()
    for wrong, said in [
        (["micro", "--json", str(out)], "--json"),
        (["nothing"], "rules 'nothing'"),
        (["mini", "--lines", "3"], "lines 3"),
        (["mini", "--json", "no/such/folder.json"], "--json"),
        (["classic", "--players", "3"], "players classic 4"),
    ]:
        mistake(CliRunner().invoke(app, ["complexity", *wrong]), *said.split())
    with refused(HeartsError, "positions", value=1):
        complexities(["mini"], measurement=Measurement(positions=1))


# ---- calibration ---------------------------------------------------------------------------------
def test_equally_likely_worlds_lose_the_logarithm_of_their_number() -> None:
    (result,) = calibrate("standard", [], "mini", deals=12, seed=3)
    standard, bits = make_agent("standard", seed=0), []
    for deal in range(12):
        game = Game.deal("mini", derived_seed(3, deal))
        while not game.is_over:
            view = game.view(game.player)
            if view.num_worlds > 1:
                bits.append(math.log2(view.num_worlds))
            game.play(standard.act(view))
    assert result.decisions == len(bits)
    assert np.isclose(result.log_loss, np.mean(bits))
    assert result.ci95[0] < result.log_loss < result.ci95[1]
    assert np.isclose(result.perplexity, 2 ** np.mean(bits))


def test_the_true_model_tells_most() -> None:
    alike, right, wrong = calibrate(
        "standard", ["standard", "easy"], "mini", deals=40, epsilon=0.05
    )
    assert right.log_loss < alike.log_loss - 0.2
    assert math.isclose(wrong.log_loss, alike.log_loss, rel_tol=0.2)
    assert right.impossible == alike.impossible == 0


@pytest.mark.slow
def test_calibration_is_shown_and_drawn(tmp_path: Path) -> None:
    plot = tmp_path / "c.png"
    arguments = ["calibrate", "standard", "--model", "standard", "--deals", "5", "--rules", "micro"]
    result = CliRunner().invoke(app, [*arguments, "--plot", str(plot), "--json"])
    assert result.exit_code == 0, result.stderr
    records = json.loads(result.stdout)
    assert [row["model"] for row in records] == ["all alike", "standard"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    for wrong, words in [
        ("--deals=1", "deals"),
        (f"--deals={10**12}", "deals"),
        ("--rules=no_pass", "4 players"),
    ]:
        result = CliRunner().invoke(app, [*arguments, wrong])
        assert result.exit_code == 2
        assert words in result.stderr


# ---- floors --------------------------------------------------------------------------------------
class Nothing:
    """Shows nothing, so that legal actions are all that a policy knows."""

    def space(self, rules: Rules) -> spaces.Box:
        return spaces.Box(0, 1, (1,), np.int8)

    def write(self, view: PlayerView, out: np.ndarray) -> None:
        out[:] = 0


@functools.cache
def masks_of(tree: Tree) -> list[list[int]]:
    """The legal actions of all information sets of each seat, as masks."""
    return [
        [mask for _, views in tree.blocks(seat) for mask in views.legal_masks.tolist()]
        for seat in range(2)
    ]


def by_mask(tree: Tree, chances: dict[int, np.ndarray]) -> float:
    """How exploitable the policy is that plays by the legal actions alone."""
    made = []
    for side, masks in zip(tree.sides, masks_of(tree), strict=True):
        made.append(np.concatenate([np.ones(len(side.hands)), *(chances[m] for m in masks)]))
    return exploitability(tree, (made[0], made[1]))


def learnt(tree: Tree, encoder: str, iterations: int) -> Profile:
    """What a player of an encoder's rows plays on average against one who knows more."""
    rows = rows_of(tree, encoder)
    player, knowing = Minimiser(tree, rows), Minimiser(tree, np.arange(len(rows)))
    for iteration in range(1, iterations + 1):
        player.learn(knowing, iteration)
        knowing.learn(player, iteration)
    return player.average()


def test_the_floor_is_the_least_of_what_plays_by_rows(monkeypatch) -> None:
    monkeypatch.setitem(ENCODERS, "nothing", Nothing())
    tree = Tree("micro")
    masks = masks_of(tree)
    (found,) = floors(["micro"], ["nothing"], 400)
    assert (found.infosets, found.rows) == (557, len({*masks[0], *masks[1]}))
    seen: dict[int, np.ndarray] = {}
    for seat, (side, chances) in enumerate(
        zip(tree.sides, learnt(tree, "nothing", 50), strict=True)
    ):
        for i, mask in enumerate(masks[seat]):
            row = chances[side.first[i] : side.first[i + 1]]
            assert (seen.setdefault(mask, row) == row).all()
    assert by_mask(tree, seen) >= found.exploitability
    # No policy of its kind is less exploitable, near it or anywhere; the best ones come close.
    rng, others = np.random.default_rng(1), []
    for share in (1.0, 0.3, 0.1, 0.03, 0.01) * 40:
        drawn = {m: rng.dirichlet(np.full(m.bit_count(), 0.5)) for m in sorted(seen)}
        others.append(by_mask(tree, {m: (1 - share) * seen[m] + share * drawn[m] for m in seen}))
    assert min(others) >= found.exploitability - 1e-9
    assert min(others) < found.exploitability + 0.05
    assert found.exploitability > 0.1


def test_rows_of_their_own_lead_to_the_equilibrium() -> None:
    tree = Tree("micro")
    assert exploitability(tree, learnt(tree, "recall", 60)) < 1e-5


def test_floors_are_shown_for_all_encoders(monkeypatch) -> None:
    words = ["floors", "micro", "--json"]
    monkeypatch.setattr(sys, "argv", ["__main__.py", *words])
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    assert {row["command"] for row in json.loads(result.stdout)} == {
        "python -m bench floors micro --json"
    }
    found = {row["encoder"]: row for row in json.loads(result.stdout)}
    assert {"flat", "ranked", "recall", "planes", "history", "text"} <= found.keys()
    assert found["recall"]["rows"] == found["recall"]["infosets"] == 557
    assert found["recall"]["exploitability"] == 0.0
    mistake(CliRunner().invoke(app, ["floors", "micro", "--encoders", "recal"]), "observation")
