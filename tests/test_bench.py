"""``python -m bench``: what it measures is told, and the peers beside it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from bench.__main__ import app
from tests.refusals import mistake

pytestmark = pytest.mark.slow


def speed(*args):
    """The command ``speed`` in this process."""
    return CliRunner().invoke(app, ["speed", *map(str, args)])


def test_speed(tmp_path):
    result = speed("--quick", "--json", "--plot", tmp_path / "speed.png")
    assert result.exit_code == 0, result.stderr
    results = json.loads(result.stdout)
    measured = [row for row in results if not row["missing"]]
    assert all(row["low"] <= row["value"] <= row["high"] for row in measured)
    assert {row["name"] for row in results if row["ours"]} <= {row["name"] for row in measured}
    assert {"hearts_v0.env, two_player", "OpenSpiel hearts"} <= {row["name"] for row in results}
    for row in results:
        assert row["name"] in result.stderr
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
    alone = json.loads(speed("--quick", "--json", "--no-peers").stdout)
    assert all(row["ours"] for row in alone)
    mistake(speed("--plot", tmp_path / "none" / "x.png"), "--plot")
