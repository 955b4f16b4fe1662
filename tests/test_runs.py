"""`hearts runs`: reading and listing run folders, and the learning curve of a run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hearts_env.support.files import held
from hearts_train.learn import log
from hearts_train.learn.log import read_metrics
from hearts_train.learn.report import curves_of, draw_curves
from hearts_train.learn.runs import final_evaluation, find_runs, read_run
from tests.test_cli import run


def evaluation(decisions: int, margin: float, opponent: str = "pro") -> dict[str, object]:
    return {
        "kind": "evaluation",
        "decisions": decisions,
        "opponent": opponent,
        "margin": margin,
        "ci95": [margin - 0.5, margin + 0.5],
        "won": 0.5,
        "deals": 100,
        "seed": 1,
        "seconds": decisions / 1e5,
        "updates": decisions // 1000,
        "round": 0,
    }


def update(decisions: int, **values: float | None) -> dict[str, object]:
    reported = {"kind": "update", "decisions": decisions, "updates": decisions // 1000}
    return {**reported, "decisions_per_second": 1e5, "seconds": decisions / 1e5, **values}


def make(folder: Path, *rows: dict[str, object], seed: int = 0, **settings: float) -> Path:
    folder.mkdir(parents=True)
    text = f"name: demo\nseed: {seed}\nbudget: {{decisions: 2000000}}\nppo: {json.dumps(settings)}"
    (folder / "config.yaml").write_text(text)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def four(tmp_path):
    """Two seeds with one entropy bonus, one with another, and a half-finished one."""
    ends = (3.0, 5.0, 1.0)
    for seed, (end, bonus) in enumerate(zip(ends, (0.01, 0.01, 0.1), strict=True)):
        rows = (evaluation(0, -4.0), update(10**6, entropy=0.5), evaluation(2 * 10**6, end))
        make(tmp_path / f"demo-{seed}", *rows, seed=seed, ent_coef=bonus)
    make(tmp_path / "more" / "half", evaluation(10**6, 0.0, "pimc"), seed=3, ent_coef=0.01)
    return tmp_path


def test_find_runs_returns_runs_with_their_progress(four):
    runs, faults = find_runs([four])
    by_name = {run.path.name: run for run in runs}
    assert not faults
    assert set(by_name) == {"demo-0", "demo-1", "demo-2", "half"}
    assert by_name["demo-1"].status == "finished"
    half = by_name["half"]
    assert (half.share, half.status, half.seconds_left) == (0.5, "stopped", 10.0)
    with held(half.path / ".lock", "run"):
        assert read_run(half.path).status == "training"
    assert read_run(half.path).status == "stopped"


def test_curve_has_margins_with_intervals(tmp_path):
    exact = {"kind": "exploitability", "sampled": 0.5, "greedy": 0.75, "round": 0}
    exact |= {"decisions": 0, "updates": 0, "seconds": 0.0}
    rows = (evaluation(0, -4.0), evaluation(0, 1.0, "easy"), exact, evaluation(2 * 10**6, 3.0))
    pro, easy, sampled, greedy = curves_of(read_run(make(tmp_path / "a", *rows)))
    assert (pro.label, easy.label) == (
        "margin over pro, points per deal",
        "margin over easy, points per deal",
    )
    assert pro.values.tolist() == [[-4.0, -4.5, -3.5], [3.0, 2.5, 3.5]]
    assert pro.decisions == [0, 2 * 10**6]
    assert easy.values.tolist() == [[1.0, 0.5, 1.5]]
    assert (sampled.values.tolist(), greedy.values.tolist()) == ([[0.5] * 3], [[0.75] * 3])
    assert (pro.is_margin, sampled.is_margin) == (True, False)


def test_draw_curves_writes_a_picture(tmp_path):
    curves = curves_of(read_run(make(tmp_path / "a", evaluation(0, 1.0))))
    draw_curves(tmp_path / "curve.png", curves, "a $title$")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_runs_command_prints_table_and_json(four):
    result = run("runs", four)
    assert result.exit_code == 0, result.output
    line = next(line for line in result.output.splitlines() if "demo-1" in line)
    assert line.split()[1:] == ["demo", "1", "2,000,000", "finished", "+5.00", "±", "0.50"]
    assert "50% stopped" in result.output
    reported = json.loads(run("runs", four / "demo-2", "--json").stdout.splitlines()[-1])
    assert [reported[0][key] for key in ("name", "seed", "status", "share")] == [
        "demo",
        2,
        "finished",
        1.0,
    ]
    assert reported[0]["settings"]["ppo"]["ent_coef"] == 0.1


def test_runs_command_has_the_last_exploitability(tmp_path):
    exact = {"kind": "exploitability", "sampled": 4.33, "greedy": 4.33}
    exact |= {"seconds": 1.0, "updates": 0, "round": 0}
    rows = exact | {"decisions": 0}, exact | {"decisions": 10**6, "sampled": 1.5}
    result = run("runs", make(tmp_path / "exact", *rows), "--json")
    assert json.loads(result.stdout)[0]["exploitability"][0]["sampled"] == 1.5
    assert "1.500" in result.stderr


def test_find_runs_reports_unreadable_runs(four, capsys):
    (four / "demo-0" / "config.yaml").write_text("name: [")
    runs, faults = find_runs([four])
    assert len(runs) == 3
    assert "demo-0" in faults[0]
    assert "YAML" in faults[0]


ODD = (10**400, float("inf"), float("nan"), -(10**30), True, "1", None, [])


@pytest.mark.parametrize("kind", ["update", "evaluation", "exploitability"])
def test_log_lines_with_odd_values_are_skipped(tmp_path, kind):
    rows = {"update": update(10**6), "evaluation": evaluation(10**6, 1.0)}
    rows["exploitability"] = rows["evaluation"] | {"sampled": 1.0, "greedy": 1.5}
    row = rows[kind] | {"kind": kind}
    odd = [
        row | {name: value} for name in row for value in ODD if type(value) is not type(row[name])
    ]
    ends = [row | {"ci95": [1.0, value]} for value in (*ODD, 1)]
    folder = make(tmp_path / "demo", *odd, *ends * (kind == "evaluation"), row)
    found = [one for one in read_metrics(folder) if one["kind"] == kind]
    assert found[-1] == row
    read = (
        "decisions updates seconds decisions_per_second opponent margin ci95 won deals seed round"
    )
    kept = {name for one in found for name in row if one[name] != row[name]}
    assert not kept & {*read.split(), "sampled", "greedy"} & set(log._FIELDS[kind])
    shown = run("runs", tmp_path)
    assert shown.exit_code == 0, shown.stderr


@pytest.mark.parametrize("rows", [[1], [{}], [[1]], [evaluation(0, 1.0), 5], "x", {"a": 1}])
def test_damaged_final_evaluation_counts_as_none(tmp_path, rows):
    folder = make(tmp_path / "demo")
    (folder / "evaluation.json").write_text(json.dumps([evaluation(0, 1.0)]))
    assert final_evaluation(folder)
    (folder / "evaluation.json").write_text(json.dumps(rows))
    assert final_evaluation(folder) == []
    for value in ODD:
        (folder / "evaluation.json").write_text(
            json.dumps([evaluation(0, 1.0) | {"margin": value}])
        )
        assert final_evaluation(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_pipes_and_huge_logs_hide_no_other_run(four, monkeypatch):
    log_of_first = four / "demo-0" / "metrics.jsonl"
    log_of_first.unlink()
    os.mkfifo(log_of_first)
    monkeypatch.setattr(log, "_MOST", 10_000)
    (four / "demo-1" / "metrics.jsonl").write_text(" " * 10_001)
    found, faults = find_runs([four])
    assert [one.path.name for one in found] == ["demo-2", "half"]
    assert ["demo-0" in faults[0], "demo-1" in faults[1]] == [True, True]
    shown = run("runs", four)
    assert (shown.exit_code, "demo-2" in shown.stdout) == (0, True)
