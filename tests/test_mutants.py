"""The tool that puts deliberate faults in. ``make mutants`` shows that tests catch them."""

from __future__ import annotations

from tests.mutants import ROOT, load


def test_every_listed_fault_can_be_placed() -> None:
    faults = load()
    assert len({(fault.module, fault.fault) for fault in faults}) == len(faults)
    for fault in faults:
        assert fault.file.endswith(".py")
        assert fault.tests
        for test in fault.tests:
            assert (ROOT / test).exists(), test
        fault.apply((ROOT / fault.file).read_text(encoding="utf-8"))  # or it cannot be placed
