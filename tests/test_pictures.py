"""Figures: of the kind their name says, nothing cut off; names that fit."""

from __future__ import annotations

import pytest

from hearts_env import HeartsError
from hearts_train import evaluate, plot
from hearts_train.measure.display import (
    new_figure,
    save_figure,
    short_names,
)
from tests.refusals import mistake, raises_hearts_error
from tests.slow import quick_cases
from tests.test_cli import run

pytest.importorskip("matplotlib")

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def figure():
    """A line, as a figure."""
    found = new_figure(2, 2)
    found.subplots().plot([0, 1], [0, 1])
    return found


@quick_cases("kind", BEGINNINGS, ["png"])
def test_picture_format_follows_its_suffix(kind, tmp_path):
    path, again = tmp_path / f"x.{kind}", tmp_path / f"y.{kind.upper()}"
    result = run("evaluate", "standard", "--opponents", "easy", "--deals", 4, "--plot", path)
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(BEGINNINGS[kind])
    for _ in range(2):  # the same figure gives the same file
        save_figure(figure(), again)
        found = again.read_bytes()
        assert found.startswith(BEGINNINGS[kind])
        again.unlink()
        save_figure(figure(), again)
        assert again.read_bytes() == found


@quick_cases("name", ["x.jpg", "x", "x.png.gz", "x.eps"], ["x.png.gz"])
def test_unknown_suffix_is_refused_before_the_work(name, tmp_path):
    mistake(run("evaluate", "nobody", "--plot", tmp_path / name), "--plot", name)


def test_picture_that_cannot_be_drawn_is_refused(tmp_path):
    with raises_hearts_error(HeartsError, "plot"):
        save_figure(figure(), tmp_path / "none" / "x.png")


@pytest.mark.parametrize("unit", ["deal", "match"])
def test_plot_draws_evaluations_over_deals(unit, tmp_path):
    result = evaluate("easy", "easy", "micro", deals=2, unit=unit)
    for given in ([], None, "easy", [result, "easy"], *([result] if unit == "match" else [])):
        with raises_hearts_error(HeartsError, "evaluations", hint="evaluate"):
            plot(given, tmp_path / "x.png")
    if unit == "deal":
        for name, given in (("x.png", result), ("y.png", [result])):
            plot(given, tmp_path / name)
        assert (tmp_path / "x.png").read_bytes() == (tmp_path / "y.png").read_bytes()


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["runs/demo-1/checkpoint.safetensors", "pro"], ["demo-1", "pro"]),
        (["/home/me/runs/demo-1", "runs/demo-2/"], ["demo-1", "demo-2"]),
        (["a/demo", "b/demo"], ["a/demo", "b/demo"]),
        (["x/a/demo", "y/a/demo", "pro"], ["x/a/demo", "y/a/demo", "pro"]),
        (["nets/best_one.safetensors"], ["best_one"]),
        (["runs/demo?search=50ms"], ["demo?search=50ms"]),
        (["pro?worlds=50", "my/agent.py:Mine"], ["pro?worlds=50", "my/agent.py:Mine"]),
        (["C:\\runs\\demo"], ["C:\\runs\\demo"]),
        (["runs/pro", "demo/a"], ["runs/pro", "a"]),
        (["a/pro-v1/checkpoint.safetensors"], ["a/pro-v1/checkpoint.safetensors"]),
        (["a/easy?greedy=false"], ["a/easy?greedy=false"]),
    ],
)
def test_runs_are_named_not_their_paths(names, short):
    assert [short_names(names)[name] for name in names] == short
