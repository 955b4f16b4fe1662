"""The list of deliberate faults fits the code; that tests catch them is for ``make mutants``."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import LIST, PACKAGES, ROOT, load


def test_every_fault_still_stands_in_its_file_once_and_is_a_program() -> None:
    faults = load()
    assert len(faults) >= 100
    assert len({(fault.file, fault.fault) for fault in faults}) == len(faults)
    for fault in faults:
        assert fault.file.startswith(PACKAGES)
        text = (ROOT / fault.file).read_text(encoding="utf-8")
        changed = fault.apply(text)
        assert changed != text, fault.fault
        ast.parse(changed)
        for test in fault.tests:
            assert (ROOT / test.partition("::")[0]).is_file(), f"{fault.fault}: {test}"


def test_a_fault_that_stands_nowhere_is_refused() -> None:
    fault = load()[0]
    with pytest.raises(ValueError, match=f"{fault.fault}: the text stands there 0 times"):
        fault.apply("nothing of it")
    assert LIST.is_file()
