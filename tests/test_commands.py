"""The command in a result does the same work again."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path

import pytest

import hearts_train
from hearts_agents.user_code import TRUST
from hearts_train import benchmark, compare, evaluate, exploit, tournament
from hearts_train.measure.statistics import Question
from tests.players import CODE, Lowest
from tests.slow import quick_cases
from tests.test_cli import run
from tests.waiting import timeless

OWN = "my own.py:Mine"
DONE = {
    "evaluate": partial(evaluate, OWN, ["pro", "champion?search=2"], "mini", 4, 3, isolate=True),
    "matches": partial(evaluate, "easy", ["pro"], "micro", 2, unit="match"),
    "compare": partial(compare, OWN, "pro", "mini", Question(0, 9, 0.2, 0.1), deals=64),
    "tournament": partial(tournament, ["easy", OWN], "party players=3", 2, 5),
    "benchmark": partial(benchmark, OWN, "micro", "test", 2, decisions=0),
    "duplicates": partial(exploit, OWN, "two_player", ["lbr", "pro"], deals=2, tricks=1, seed=3),
    "small deck": partial(exploit, "easy", "micro", ["belief", OWN], deals=2, awake=[2, 3]),
    "hands": partial(exploit, OWN, "two_player", ["best_response"], deals=2, awake=[13]),
}


@pytest.fixture(autouse=True)
def _own_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TRUST, "0")
    for file in ("my own.py", "a,b.py"):
        Path(file).write_text(CODE.format(-1))


@quick_cases("name", DONE, ["evaluate", "benchmark"])
def test_command_of_result_repeats_it(name):
    found = DONE[name]()
    records = [one.to_json() for one in (found if isinstance(found, list) else [found])]
    ways = {one["run"]["command"] if "run" in one else one["command"] for one in records}
    (command,) = ways
    shown = run(*shlex.split(command)[1:], "--json")
    assert shown.exit_code == 0, shown.output
    again = json.loads(shown.stdout)
    again = again if isinstance(again, list) else [again]
    if name == "benchmark":
        records, again = ([one["result"] for one in all_] for all_ in (records, again))
    assert timeless(json.loads(json.dumps(records))) == timeless(again)


CALLS = {
    "object": partial(evaluate, Lowest(), "pro", "micro", 2),
    "objects": partial(tournament, [Lowest(), "pro"], "micro", 2),
    "question": partial(compare, Lowest(), "pro", "micro", Question(0, 9), deals=64),
    "commas": partial(evaluate, "pro", ["a,b.py:Mine", "easy"], "micro", 2),
    "one with commas": partial(evaluate, "pro", "a,b.py:Mine", "micro", 2),
    "gaps": partial(exploit, "easy", "micro", ["lbr"], deals=2, awake=[1, 3]),
}


@quick_cases("name", CALLS, ["object", "gaps"])
def test_work_without_a_command_has_the_call(name):
    found = CALLS[name]()
    record = (found[0] if isinstance(found, list) else found).to_json()
    names = {"Lowest": Lowest(), "Question": Question}
    again = eval(record["command"], vars(hearts_train) | names)
    again = (again[0] if isinstance(again, list) else again).to_json()
    assert timeless(again) == timeless(record)
    assert again["command"] == record["command"]
