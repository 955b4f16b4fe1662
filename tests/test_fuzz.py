"""Some thousands of inputs that nobody meant for every parser and file reader; see fuzz.py."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from hearts_env import HeartsError
from hearts_env.support.errors import MAX_MESSAGE, MAX_QUOTED, quoted
from tests import fuzz
from tests.fuzz import TARGETS, Target, TooSlowError, limited, make_input, try_input, work
from tests.slow import TIMES, quick_count

NUMBER = {"configs": 100}
"""Inputs of each target; 300 where nothing else is said."""


@pytest.fixture(autouse=True)
def is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine takes longer than two seconds; what blows up, longer still."""
    monkeypatch.setattr(fuzz, "MOST_SECONDS", 60.0)


@quick_count("most", 60, 300)
@pytest.mark.parametrize("name", TARGETS)
def test_inputs_that_nobody_meant_are_read_or_refused_in_a_line(name: str, most: int) -> None:
    number = min(NUMBER.get(name, 300) * TIMES, most)
    counts = work(name, 0, number)
    assert counts["read"] + counts["refused"] == counts["inputs"] == number
    assert counts["read"] > 0 or number < 100  # of some targets few are read
    if name != "logs":  # whose damaged lines are left out
        assert counts["refused"] > number / 10


def test_an_input_can_be_made_again_from_its_number() -> None:
    for target in TARGETS.values():
        assert all(make_input(target, n) == make_input(target, n) for n in range(20))
        assert len({make_input(target, n) for n in range(50)}) > 20


def spin() -> None:
    while True:
        pass


def fake(read) -> Target:  # type: ignore[no-untyped-def]
    return Target("cards", lambda: ["2C"], read)


def test_other_errors_long_refusals_and_endless_work_are_faults(tmp_path: Path) -> None:
    def crash(data, folder):
        raise KeyError(data)

    def say_nothing(data, folder):
        raise HeartsError("")

    def lines(data, folder):
        raise HeartsError("one\ntwo")

    for read, error in ((crash, KeyError), (say_nothing, AssertionError), (lines, AssertionError)):
        with pytest.raises(error):
            try_input(fake(read), "2C", tmp_path)
    with pytest.raises(TooSlowError), limited(0.01):
        spin()
    with limited(60):
        pass


def test_a_message_is_cut_whatever_it_repeats() -> None:
    assert str(HeartsError("x" * 10**6)) == "x" * MAX_MESSAGE + "..."
    assert str(HeartsError("short")) == "short"
    again = pickle.loads(pickle.dumps(HeartsError("x" * 10**6)))
    assert again.args == HeartsError("x" * 10**6).args


def test_quotes_are_short_whatever_is_quoted() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError

    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    wide = {str(n): list(range(1000)) for n in range(1000)}
    for value in ("x" * 10**7, 16**5000, deep, wide, b"x" * 10**6, [wide] * 1000, Rude(), None):
        assert 0 < len(quoted(value)) <= MAX_QUOTED
    assert quoted("ab") == "'ab'"
    assert quoted([1, "b"]) == "[1, 'b']"
    assert quoted("x" * 100) == "'" + "x" * 76 + "..."
