"""The tool that puts deliberate faults in; that tests catch them is for ``make mutants``."""

from __future__ import annotations

import ast

import pytest

from tests import mutants
from tests.mutants import ROOT, load
from tests.syntax_changes import CannotBePlaced, change

SAMPLE = '''
LIMIT = 3

def pick(hand, led, *, queen=0):
    """A docstring."""
    follow = hand & led  # a comment
    for card in range(LIMIT):
        if follow >> card & 1 and card > LIMIT:
            follow = 0
    if follow:
        return follow | queen
    return max(hand, queen)

class Table:
    def pay(self, total, own):
        def share(n):
            return total / n
        self.paid = total - 2 * own
        return share(2) if own == LIMIT else -self.paid
'''


def changed(function: str, words: str, nth: int = 0, sample: str = SAMPLE) -> list[str]:
    """The lines that a change takes out, and those that it puts in."""
    before = ast.unparse(ast.parse(sample)).splitlines()
    after = change(sample, function, words, nth).splitlines()
    return [
        *(f"- {line.strip()}" for line in before if line not in after),
        *(f"+ {line.strip()}" for line in after if line not in before),
    ]


@pytest.mark.parametrize(
    ("function", "words", "expected"),
    [
        ("pick", "follow | queen -> follow", ["- return follow | queen", "+ return follow"]),
        ("pick", "_ > LIMIT -> False", None),
        ("pick", "_1 and _ > LIMIT -> _1", None),
        ("pick", "negate follow >> _ & 1", None),
        ("pick", "swap max(_, _)", ["- return max(hand, queen)", "+ return max(queen, hand)"]),
        ("pick", "return max(_) -> return max(_)", CannotBePlaced),  # of two arguments, not one
        (
            "pick",
            "follow = 0 -> follow = 1; queen = 2",
            ["- follow = 0", "+ follow = 1", "+ queen = 2"],
        ),
        ("pick", "drop follow = 0", ["- follow = 0", "+ pass"]),
        ("", "3 -> 4", ["- LIMIT = 3", "+ LIMIT = 4"]),
        ("Table.pay", "drop self.paid = _", ["- self.paid = total - 2 * own", "+ pass"]),
        ("Table.pay.share", "swap total / n", ["- return total / n", "+ return n / total"]),
        ("Table.pay", "-_1 -> _1", None),
        (
            "Table.pay",
            "total - _ -> total",
            ["- self.paid = total - 2 * own", "+ self.paid = total"],
        ),
        ("Table.pay", "swap share(2) if _ else _", None),
        ("Table.play", "own -> 0", CannotBePlaced),  # no such function
        ("Table.pay", "own -> 0", CannotBePlaced),  # in two places
        ("Table.pay", "own * 2 -> 0", CannotBePlaced),  # in none
        ("Table.pay", "2 * own -> nobody * own", CannotBePlaced),  # a name that would be an error
        ("Table.pay", "2 * own -> 2 * own", CannotBePlaced),  # changes nothing
        ("Table.pay", "2 * own", CannotBePlaced),  # is no change
    ],
)
def test_a_change_has_one_place(function: str, words: str, expected: list[str] | None) -> None:
    if expected is CannotBePlaced:
        with pytest.raises(CannotBePlaced):
            change(SAMPLE, function, words)
    else:
        found = changed(function, words)
        assert len(found) >= 2
        if expected is not None:
            assert found == expected


def test_layout_and_the_names_of_locals_do_not_matter() -> None:
    words = "follow | queen -> follow"
    other = SAMPLE.replace("follow | queen", "(follow\n            | queen  # why\n    )")
    assert change(other, "pick", words) == change(SAMPLE, "pick", words)
    renamed = SAMPLE.replace("follow", "able").replace("queen", "lady")
    assert change(renamed, "pick", words) == change(SAMPLE, "pick", words).replace(
        "follow", "able"
    ).replace("queen", "lady")
    # Two names of the pattern are not taken for one local, nor a local for something global.
    with pytest.raises(CannotBePlaced):
        change(SAMPLE, "Table.pay", "aa - 2 * aa -> 0")
    with pytest.raises(CannotBePlaced):
        change(SAMPLE, "pick", "range(aa) -> range(2)")


def test_the_list_can_be_read_and_every_fault_has_its_place() -> None:
    faults = load()
    assert len({(fault.module, fault.fault) for fault in faults}) == len(faults)
    for fault in faults:
        assert fault.file.endswith(".py")
        assert fault.tests
        for test in fault.tests:
            assert (ROOT / mutants.test_path(test)).exists(), test
        fault.apply((ROOT / fault.file).read_text(encoding="utf-8"))  # or it cannot be placed
