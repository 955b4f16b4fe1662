"""Games, environments and solvers have the digests in tests/data/digests.json."""

from __future__ import annotations

import pytest

from hearts_env.batch import batch
from tests.digests import SUBJECTS, digest_of, stored
from tests.slow import quick_cases


@quick_cases("name", SUBJECTS, [n for n in SUBJECTS if not n.startswith("observations_")])
def test_digest_equals_the_recorded_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change affects every user's experiments: ``python tests/digests.py --write``."""
    monkeypatch.setattr(batch, "_THREADS_FROM", 1)
    assert digest_of(SUBJECTS[name], num_threads=2) == stored()[name]


def test_digest_file_has_exactly_these_cases() -> None:
    assert stored().keys() == SUBJECTS.keys()


def test_a_digest_depends_on_the_last_bit() -> None:
    def digest(number: float) -> str:
        return digest_of(lambda _: iter([[{"a": number}]]))

    assert digest(0.1 + 0.2) != digest(0.3)
    assert digest(1) != digest(1.0)
