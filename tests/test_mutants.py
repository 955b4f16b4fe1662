"""The tool that puts deliberate faults in. ``make mutants`` shows that tests catch them."""

from __future__ import annotations

import pytest

from tests import mutants
from tests.mutants import ROOT, CannotBePlaced, change, load

SAMPLE = """
LIMIT = 3

def pick(hand, led):
    follow = (hand
        & led)  # a comment
    return follow or max(hand, led)

class Table:
    def pay(self, total, own):
        def share(n):
            return total / n
        self.paid = total - 2 * own
        return share(2) if own == LIMIT else -self.paid
"""


@pytest.mark.parametrize(
    ("function", "words", "nth", "line"),
    [
        ("pick", "hand & led -> hand", 0, "    follow = hand"),
        ("", "3 -> 4", 0, "LIMIT = 4"),
        ("Table.pay", "self.paid = total - 2 * own -> pass", 0, "        pass"),
        ("Table.pay.share", "total / n -> n", 0, "            return n"),
        ("Table.pay", "total -> own", 3, "        self.paid = own - 2 * own"),
    ],
)
def test_change_replaces_text_at_one_place(function: str, words: str, nth: int, line: str) -> None:
    before = change(SAMPLE, "", "LIMIT = 3 -> LIMIT = 5").replace("5", "3").splitlines()
    after = change(SAMPLE, function, words, nth).splitlines()
    assert [new for old, new in zip(before, after, strict=True) if old != new] == [line]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("Table.play", "own -> 0"),  # no such function
        ("Table.pay", "own -> 0"),  # several places
        ("pick", "own -> 0"),  # no place
        ("Table.pay", "2 * own -> nobody * own"),  # a name that would be an error
        ("Table.pay", "2 * own -> 2 * own"),  # no change
        ("Table.pay", "2 * own"),  # no arrow
    ],
)
def test_change_without_one_place_is_refused(function: str, words: str) -> None:
    with pytest.raises(CannotBePlaced):
        change(SAMPLE, function, words)


def test_every_listed_fault_can_be_placed() -> None:
    faults = load()
    assert len({(fault.module, fault.fault) for fault in faults}) == len(faults)
    for fault in faults:
        assert fault.file.endswith(".py")
        assert fault.tests
        for test in fault.tests:
            assert (ROOT / mutants.test_path(test)).exists(), test
        fault.apply((ROOT / fault.file).read_text(encoding="utf-8"))  # or it cannot be placed
