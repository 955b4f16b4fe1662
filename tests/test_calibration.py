"""Calibration: the true model tells most, and equally likely worlds lose what counting says."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bench import calibration
from bench.__main__ import app
from bench.calibration import calibrate
from hearts_agents import make_agent
from hearts_env import Game, HeartsError
from hearts_env.seeds import derived_seed
from hearts_env.solve.beliefs import belief
from tests.refusals import refused
from tests.test_cli import command
from tests.waiting import HANG


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
    with refused(HeartsError, "deals"):
        calibrate("easy", [], "micro", deals=deals)


# ---- stopped -------------------------------------------------------------------------------------
def test_ctrl_c_keeps_the_deals_finished() -> None:
    def stop(done: float, deals: float) -> None:
        if done == 7:
            signal.raise_signal(signal.SIGINT)

    found = calibrate("standard", ["easy"], "micro", deals=100, seed=2, progress=stop)
    whole = calibrate("standard", ["easy"], "micro", deals=7, seed=2)
    assert [result.interrupted for result in (*found, *whole)] == [True, True, False, False]
    for stopped, played in zip(found, whole, strict=True):
        assert stopped.to_json() == {**played.to_json(), "interrupted": True}


def test_a_deal_broken_off_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = calibrate("standard", ["easy"], "micro", deals=3, seed=2)
    asked = []

    def stopping(*args, **options):
        asked.append(args)
        if len(asked) > 2 * whole[0].decisions + 1:  # both models of the first view of deal 3
            signal.raise_signal(signal.SIGINT)
        return belief(*args, **options)

    monkeypatch.setattr(calibration, "belief", stopping)
    found = calibrate("standard", ["easy"], "micro", deals=100, seed=2)
    assert [result.deals for result in found] == [3, 3]
    assert [result.log_loss for result in found] == [result.log_loss for result in whole]
    assert found[1].impossible == whole[1].impossible


def test_ctrl_c_before_two_deals_has_nothing_to_show() -> None:
    def stop(done: float, deals: float) -> None:
        if done == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        calibrate("standard", [], "micro", deals=100, progress=stop)


STOPPED = """
import os, signal
from bench import calibration

dealt = []

class Game(calibration.Game):
    @classmethod
    def deal(cls, rules, seed):
        dealt.append(seed)
        if len(dealt) == 6:
            os.kill(os.getpid(), signal.{name})
        return super().deal(rules, seed)

calibration.Game = Game
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_stopped_command_shows_what_was_played(name: str, status: int) -> None:
    words = ("calibrate", "easy", "--model", "easy", "--rules", "micro", "--deals", 100, "--json")
    process = command(
        *words, main="from bench.__main__ import app; app()", before=STOPPED.format(name=name)
    )
    shown, errors = process.communicate(timeout=HANG)
    assert process.returncode == status, errors
    assert [(row["deals"], row["interrupted"]) for row in json.loads(shown)] == [(5, True)] * 2
    assert "5 deals (stopped early)" in " ".join(errors.split())
