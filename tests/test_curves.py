"""The pictures of learning curves: means, bands, labels apart, and pictures that are stale."""

from __future__ import annotations

import numpy as np
import pytest

from tests.slow import quick_cases
from tests.test_docs import load_script

curves, tables = load_script("curves"), load_script("tables")


def run(example, rules, curve, budget=100):
    """Return a result with points of (decisions, processor minutes, value)."""
    points = [
        {
            "decisions": decisions,
            "cpu_seconds": 60 * minutes,
            "margins": {"standard": value + 3, "pro": value, "pimc": value - 3},
            "exploitability": value if rules == "mini" else None,
        }
        for decisions, minutes, value in curve
    ]
    return {"example": example, "rules": rules, "budget": budget, "curve": points}


@pytest.mark.parametrize("rules", ["mini", "two_player"])
def test_curve_is_mean_over_seeds_by_fifth(rules):
    first = run("a", rules, [(20, 1, 1.0), (41, 2, 2.0), (99, 5, 4.0)])
    second = run("a", rules, [(22, 3, 3.0), (70, 4, 7.0), (81, 5, 8.0)])  # no second fifth
    found = curves.mean_curve([first, second], "decisions")
    assert found == [(21, 1, 2, 3), (41, 2, 2, 2), (70, 7, 7, 7), (90, 4, 6, 8)]
    assert [x for x, *_ in curves.mean_curve([first, second], "minutes")] == [2, 2, 4, 5]


@pytest.fixture
def measured(monkeypatch):
    """Results of three recipes, of which one has another budget and one no result on `mini`."""
    point = {"margins": {"standard": 0.0}, "final": {"exploitability": 2.0}}
    found = {
        "reference/*": [
            run("first", "two_player", [(20, 1, -3.0), (90, 2, 1.0)]),
            run("first", "mini", [(20, 1, 3.0), (90, 2, 1.0)]),
            run("other", "two_player", [(20, 0.1, -3.0), (90, 0.2, 1.0)]),
            run("million", "two_player", [(20, 1, 0.0), (90, 2, 0.0)], budget=1000),
        ],
        "baselines": [
            {"baselines": [{"agent": "pro", "rules": r, **point} for r in ("two_player", "mini")]}
        ],
    }
    monkeypatch.setattr(curves, "results", found.__getitem__)
    monkeypatch.setitem(curves.recipes.__globals__, "results", found.__getitem__)
    monkeypatch.setattr(tables, "reference_panels", curves.reference_panels)
    return found["reference/*"]


def test_panels_have_recipes_with_a_result_only(measured):
    two, mini = curves.reference_panels(100, "decisions")
    assert (list(two.curves), two.baselines) == (["first", "other"], {"pro": 0.0})
    assert (list(mini.curves), mini.baselines) == (["first"], {"pro": 2.0})
    [timed] = curves.reference_panels(100, "minutes")
    assert list(timed.curves) == ["first", "other"]


@pytest.mark.parametrize("values", [[5.0] * 15, [9.9] * 15, [0.0, 0.1, 6.0, 6.1, 20.0], [3.0]])
def test_labels_stay_apart_within_axes(values):
    named = {f"recipe_{i}": value for i, value in enumerate(values)}
    found = curves.spread(named, (0.0, 10.0), 0.05)
    places = [found[name] for name in named]
    assert all(np.diff(places) >= 0.05 - 1e-9)
    assert 0 <= min(places) <= max(places) <= 1
    assert curves.spread({"a": 8.0, "b": 2.0}, (0.0, 10.0), 0.05) == {"b": 0.2, "a": 0.8}


@quick_cases("over", ["decisions", "minutes"], ["minutes"])
def test_changed_result_makes_picture_stale(over, measured, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    (tmp_path / "images").mkdir()
    page, place = str(tmp_path / "page.md"), f"<!-- generated: curves 100 {over} -->\n<!-- end -->"
    with pytest.raises(SystemExit, match=rf"reference_{over}_100\.svg is stale"):
        tables.render(place, page)
    written = tables.render(place, page, write=True)
    assert f"![Learning curves by {over}](images/reference_{over}_100.svg)" in written
    measured[0]["curve"][0]["margins"]["pro"] += 1e-9
    assert tables.render(written, page) == written
    measured[0]["curve"][0]["margins"]["pro"] += 0.001
    with pytest.raises(SystemExit, match="is stale"):
        tables.render(written, page)
