"""Damaged inputs for every parser and file reader in tests/fuzz.py."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from hearts_env import HeartsError
from tests.fuzz import TARGETS, Data, damaged, samples_of
from tests.slow import quick_count
from tests.strategies import SEEDED

resource = pytest.importorskip("resource")
MOST_GROWTH = 600
"""Megabytes by which a process may grow over the inputs of a test."""


def peak_megabytes() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


@quick_count("examples", 60, 300)
@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused(name: str, examples: int, tmp_path: Path) -> None:
    target, results = TARGETS[name], Counter[str]()
    for sample in samples_of(name):
        target.read(sample, tmp_path)
    before = peak_megabytes()

    @settings(
        SEEDED,
        max_examples=examples,
        deadline=timedelta(minutes=1),
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(target))
    def run(data: Data) -> None:
        try:
            target.read(data, tmp_path)
        except HeartsError as error:
            message = str(error).replace(str(tmp_path), "")
            assert message
            assert "\n" not in message
            assert len(message) <= 2_100
            results["refused"] += 1
        else:
            results["read"] += 1

    run()
    assert peak_megabytes() - before < MOST_GROWTH
    assert results["read"]
    assert results["refused"] > examples / 10
