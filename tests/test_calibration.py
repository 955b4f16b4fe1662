"""Calibration: the true model tells most, and equally likely worlds lose what counting says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hearts_agents import make_agent
from hearts_env import Game, HeartsError
from hearts_env.seeds import derived_seed
from hearts_train.command.cli import app
from hearts_train.measure.calibration import calibrate


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
    alike, right, wrong = calibrate("standard", ["standard", "easy"], "mini", deals=40, noise=0.05)
    assert right.log_loss < alike.log_loss - 0.2
    assert math.isclose(wrong.log_loss, alike.log_loss, rel_tol=0.2)
    assert right.impossible == alike.impossible == 0


def test_the_command(tmp_path: Path) -> None:
    plot = tmp_path / "c.png"
    arguments = ["calibrate", "standard", "--model", "standard", "--deals", "5", "--rules", "micro"]
    result = CliRunner().invoke(app, [*arguments, "--plot", str(plot), "--json"])
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert [row["model"] for row in told] == ["all alike", "standard"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    for wrong, words in [("--deals=1", "deals"), ("--rules=no_pass", "4 players")]:
        result = CliRunner().invoke(app, [*arguments, wrong])
        assert result.exit_code == 2
        assert words in result.stderr


@pytest.mark.parametrize("deals", [1, 10**12])
def test_numbers_of_deals_out_of_range_are_refused(deals: int) -> None:
    with pytest.raises(HeartsError, match=r"^deals: "):
        calibrate("easy", [], "micro", deals=deals)
