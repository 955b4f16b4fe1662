"""`hearts runs`: run folders read back, grouped, averaged and drawn."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hearts_env import HeartsError
from hearts_env.support.files import held
from hearts_train import console
from hearts_train.cli.app import app
from hearts_train.learn.report import chosen, curve, differing, grouped, quantities
from hearts_train.learn.runs import find_runs, read_run
from tests.refusals import refused


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


def update(decisions: int, **values: float) -> dict[str, object]:
    reported = {"kind": "update", "decisions": decisions, "updates": decisions // 1000}
    return {**reported, "decisions_per_second": 1e5, "seconds": decisions / 1e5, **values}


def make(folder: Path, *rows: dict[str, object], seed: int = 0, **settings: float) -> Path:
    folder.mkdir(parents=True)
    ppo = "".join(f"  {name}: {value}\n" for name, value in settings.items())
    text = f"name: demo\nseed: {seed}\nbudget:\n  decisions: 2000000\n  minutes: null\nppo:\n{ppo}"
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


def hearts(*words: object):
    return CliRunner().invoke(app, list(map(str, words)))


def test_runs_are_found_below_a_folder_and_know_how_far_they_are(four):
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


def test_only_seeds_apart_is_alike(four):
    runs, _ = find_runs([four])
    assert differing(runs) == ["ppo.ent_coef"]
    groups = {label: {run.seed for run in group} for label, group in grouped(runs).items()}
    assert groups == {"ent_coef 0.01": {0, 1, 3}, "ent_coef 0.1": {2}}
    assert list(grouped(runs, ["name"])) == ["demo"]
    with refused(HeartsError, "--by", value="ppo.lr"):
        grouped(runs, ["ppo.lr"])


def test_a_curve_is_the_mean_over_seeds_and_its_band_a_standard_deviation(four):
    runs, _ = find_runs([four])
    group = grouped(runs)["ent_coef 0.01"]
    one = curve("mine", group, "over pro", "decisions")
    assert one is not None
    assert (one.runs, one.x, one.mean) == (2, [0.0, 2.0], [-4.0, 4.0])  # of 3 and 5
    assert one.high[1] - one.mean[1] == pytest.approx(math.sqrt(2))
    assert one.low[0] == one.high[0] == -4.0
    alone = curve("alone", group[:1], "over pro", "minutes")
    assert alone is not None
    assert alone.x == pytest.approx([0, 20 / 60])
    assert (alone.low[1], alone.high[1]) == (2.5, 3.5)  # the interval of its evaluation
    assert curve("none", group, "over easy", "decisions") is None


def test_runs_measured_at_other_places_are_interpolated_where_all_have_been(tmp_path):
    make(tmp_path / "a", evaluation(0, 0.0), evaluation(2 * 10**6, 4.0))
    make(tmp_path / "b", evaluation(10**6, 1.0), evaluation(3 * 10**6, 3.0), seed=1)
    one = curve("both", find_runs([tmp_path])[0], "over pro", "decisions")
    assert one is not None
    assert (one.x, one.mean) == ([1.0, 2.0], [1.5, 3.0])


def test_what_can_be_drawn(four):
    runs, _ = find_runs([four])
    names = ["over pro", "over pimc", "decisions_per_second", "entropy"]
    assert quantities(runs) == names
    assert chosen(runs, []) == names[:2]
    assert chosen(runs, ["pimc", "entropy"]) == ["over pimc", "entropy"]
    with refused(HeartsError, "--y", value="easy"):
        chosen(runs, ["easy"])


def test_the_list_as_a_table_and_as_json(four):
    result = hearts("runs", four, "--settings")
    assert result.exit_code == 0, result.output
    line = next(line for line in result.output.splitlines() if "demo-1" in line)
    assert line.split()[1:] == ["demo", "1", "2,000,000", "finished", "+5.00", "±", "0.50", "0.01"]
    assert "50% stopped" in result.output
    reported = json.loads(hearts("runs", four / "demo-2", "--json").stdout.splitlines()[-1])
    assert [reported[0][key] for key in ("name", "seed", "status", "share")] == [
        "demo",
        2,
        "finished",
        1.0,
    ]
    assert reported[0]["settings"]["ppo.ent_coef"] == 0.1


@pytest.mark.slow
def test_runs_of_one_recipe_and_seed_are_reported_as_one_sample(four, tmp_path):
    rows = (evaluation(0, -4.0), evaluation(2 * 10**6, 3.0))
    make(four / "again", *rows, seed=0, ent_coef=0.01)
    reported = hearts("runs", four / "demo-0", four / "demo-1", "--plot", tmp_path / "a.svg")
    assert "one sample" not in reported.stderr
    reported = hearts("runs", four / "demo-0", four / "again", "--plot", tmp_path / "a.svg")
    assert reported.exit_code == 0, reported.output
    assert "seed of" in reported.stderr
    assert "one sample" in reported.stderr


def test_exploitability_of_before_the_margins_shown_is_not_shown(tmp_path):
    exact = {"kind": "exploitability", "drawn": 4.33, "preferred": 4.33}
    exact |= {"seconds": 1.0, "updates": 0, "round": 0}
    rows = (evaluation(0, -4.0), exact | {"decisions": 0}, evaluation(10**6, 1.0))
    broken_off = make(tmp_path / "killed", *rows)
    whole = make(tmp_path / "whole", *rows, exact | {"decisions": 10**6, "drawn": 1.5})
    reported = [json.loads(hearts("runs", run, "--json").stdout)[0] for run in (broken_off, whole)]
    assert reported[0]["exploitability"] == []
    assert reported[1]["exploitability"][0]["drawn"] == 1.5
    assert "4.330" not in hearts("runs", tmp_path).output


def test_a_picture_of_all_curves(four):
    out = four / "fig.png"
    result = hearts("runs", four, "--plot", out, "--y", "pro", "--y", "entropy", "--x", "minutes")
    assert result.exit_code == 0, result.output
    assert "ent_coef 0.01: 3 runs" in result.output
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_run_that_cannot_be_read_is_reported(four, capsys):
    (four / "demo-0" / "config.yaml").write_text("name: [")
    runs, faults = find_runs([four])
    assert len(runs) == 3
    assert "demo-0" in faults[0]
    assert "YAML" in faults[0]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["runs", "{0}", "--plot", "x.txt"], "--plot: 'x.txt'"),
        (["runs", "{0}", "--x", "steps"], "--x: 'steps'"),
        (["runs", "{0}", "--y", "pro"], "--plot: "),
        (["runs", "{0}/nothing"], "nothing"),
        (["runs", "{0}/demo-0/empty"], "run: "),
        (["runs"], "run: "),
    ],
)
def test_mistakes_are_reported_in_one_line(four, words, reported, monkeypatch):
    monkeypatch.chdir(four)
    (four / "demo-0" / "empty").mkdir()
    result = hearts(*(word.format(four) for word in words))
    assert result.exit_code != 0
    assert isinstance(result.exception, SystemExit | HeartsError | console.Mistake)
    assert reported in result.output + str(result.exception)


def test_what_is_not_finite_is_left_out_and_no_common_range_is_no_curve(tmp_path):
    rows = [update(n * 10**6, entropy=value) for n, value in enumerate((0.5, math.nan, 0.3))]
    make(tmp_path / "a", *rows)
    make(tmp_path / "b", update(9 * 10**6, entropy=0.1), seed=1)
    runs, _ = find_runs([tmp_path])
    alone = curve("a", [run for run in runs if run.seed == 0], "entropy", "decisions")
    assert alone is not None
    assert (alone.x, alone.mean) == ([0.0, 2.0], [0.5, 0.3])
    assert curve("both", runs, "entropy", "decisions") is None


def test_a_folder_that_cannot_be_read_is_passed_over(four, monkeypatch):
    listed = Path.iterdir

    def closed(folder: Path):
        if folder.name == "more":
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", closed)
    assert len(find_runs([four])[0]) == 3


def test_long_curves_are_thinned_to_their_end(tmp_path):
    make(tmp_path / "a", *(update(n * 1000, entropy=float(n)) for n in range(1001)))
    one = curve("a", find_runs([tmp_path])[0], "entropy", "decisions")
    assert one is not None
    assert len(one.x) == 400
    assert (one.mean[0], one.mean[-1]) == (0.0, 1000.0)
