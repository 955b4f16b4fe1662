"""The pictures of learning curves: the mean over seeds, and labels that can be read."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree as ET

import pytest

from tests.test_docs import load_script

curves, tables = load_script("curves"), load_script("tables")


def run(example, rules, curve, budget=100, seed=0):
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
    about = {"example": example, "rules": rules, "budget": budget, "seed": seed}
    return {**about, "curve": points}


def test_curve_is_mean_over_seeds_by_fifth():
    first = run("a", "mini", [(20, 1, 1.0), (41, 2, 2.0), (99, 5, 4.0)])
    second = run("a", "mini", [(22, 3, 3.0), (70, 4, 7.0), (81, 5, 8.0)])  # no second fifth
    found = curves.mean_curve([first, second], "decisions", curves.mean_margin)
    assert found == [(21, 1, 2, 3), (41, 2, 2, 2), (70, 7, 7, 7), (90, 4, 6, 8)]
    timed = curves.mean_curve([first, second], "minutes", curves.mean_margin)
    assert [point.x for point in timed] == [2, 2, 4, 5]


@pytest.mark.parametrize("ends", [[50.0] * 15, [99.0] * 15, [10.0, 11.0, 60.0, 61.0, 200.0]])
def test_labels_never_overlap_nor_pass_bottom(ends):
    heights = curves.place_labels({f"recipe_{i}": (0.0, y) for i, y in enumerate(ends)}, 300.0)
    for one, other in itertools.combinations(heights.values(), 2):
        assert abs(one - other) > curves.LINE - 1
    assert max(heights.values()) <= 300


def test_labels_beside_each_other_stay_in_place():
    wanted = {"left": (0.0, 50.0), "right": (100.0, 50.0)}
    assert curves.place_labels(wanted, 300.0) == {"left": 50.0, "right": 50.0}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 100_000, [0, 20_000, 40_000, 60_000, 80_000, 100_000]), (-6.7, 5, [-6, -4, -2, 0, 2, 4])],
)
def test_ticks_are_round_values(low, high, expected):
    assert curves.ticks(low, high) == pytest.approx(expected)


def test_ticks_of_minutes_are_one_two_and_five():
    assert curves.log_ticks(0.09, 6) == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5])


@pytest.mark.parametrize("over", ["decisions", "minutes"])
def test_picture_names_recipes_with_a_result_only(over, monkeypatch):
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
    texts = [one.text for one in ET.fromstring(curves.reference_picture(100, over)).iter()]
    panels = 2 if over == "decisions" else 1
    assert [texts.count(name) for name in ("first", "other", "million")] == [panels, 1, 0]
    assert texts.count("pro") == panels


def test_stale_picture_is_refused_until_written(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    (tmp_path / "images").mkdir()
    page = tmp_path / "page.md"
    with pytest.raises(SystemExit, match=r"x\.svg is stale"):
        tables.placed("<svg/>", "x.svg", "X", page, write=False)
    assert tables.placed("<svg/>", "x.svg", "X", page, write=True) == "![X](images/x.svg)\n"
    assert tables.placed("<svg/>", "x.svg", "X", page, write=False) == "![X](images/x.svg)\n"
