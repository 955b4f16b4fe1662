"""``python -m bench speed``: its measurements, its yardstick and its peers."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.__main__ import app
from bench.speed import agreed
from bench.sweep import SPACE, flat
from hearts_train import load_config
from tests.refusals import mistake


# ---- speed ---------------------------------------------------------------------------------------
def speed(*args):
    """The command ``speed`` in this process."""
    return CliRunner().invoke(app, ["speed", *map(str, args)])


@pytest.mark.slow
def test_speed_reports_every_case_and_peer(tmp_path):
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
    mistake(speed("--plot", tmp_path / "none" / "x.png"), "--plot")


def test_speed_measures_one_group_and_refuses_unknown_ones():
    rows = json.loads(speed("--quick", "--no-peers", "--group", "turns", "--json").stdout)
    assert {row["name"] for row in rows} == {"hearts_v0.env, two_player", "hearts_v0.env, classic"}
    assert all(row["ours"] and row["group"] == "turns" and row["value"] > 0 for row in rows)
    mistake(speed("--group", "turn"), "--group", "turns")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(("games", "steps"), [(1, 300), (2, 300), (257, 150)])
def test_yardstick_equals_a_batch(games, steps):
    yardstick = agreed(games, seed=games, steps=steps)
    assert yardstick.last_scores.any(axis=1).all()
    if games > 100:
        assert (yardstick.last_scores == [0, 20]).all(axis=1).any()  # a moon is among them
    nothing = np.zeros(games, np.int64)
    with pytest.raises(ValueError, match="illegal"):
        yardstick.step(nothing - 1, np.empty((games, 200), np.int8), np.empty((games, 28), np.int8))


# ---- the sweep -----------------------------------------------------------------------------------
def test_every_point_of_the_sweep_is_a_configuration():
    for place in range(5):
        drawn = {name: values[place % len(values)] for name, values in SPACE.items()}
        config = load_config("demo", flat(drawn))
        assert config.ema_decay == drawn["average"]["ema_decay"]
