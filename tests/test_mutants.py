"""The tool that puts deliberate faults in; that tests catch them is for ``make mutants``."""

from __future__ import annotations

import ast

import pytest

from tests import mutants
from tests.mutants import Mutant, Record, Run, load, section_of
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


def test_one_of_several_places_is_counted_from_one() -> None:
    assert changed("Table.pay", "own -> 0", 1)[-1] == "+ self.paid = total - 2 * 0"
    assert changed("Table.pay", "own -> 0", 2)[-1].endswith("if 0 == LIMIT else -self.paid")
    with pytest.raises(CannotBePlaced):
        change(SAMPLE, "Table.pay", "own -> 0", 3)


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


def test_the_list_can_be_read() -> None:
    faults = load()
    assert len({(fault.module, fault.fault) for fault in faults}) == len(faults)
    for fault in faults:
        assert fault.file.endswith(".py")
        assert fault.tests


@pytest.fixture
def small_tree(tmp_path, monkeypatch):
    """The root of a tree of one module and its tests."""
    (tmp_path / "hearts_env").mkdir()
    (tmp_path / "hearts_env" / "sample.py").write_text(SAMPLE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_sample.py").write_text("def test_this(): ...\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "tree_version", lambda: "0123456789")
    return tmp_path


def test_a_record_knows_what_was_caught_with_the_code_as_it_is(small_tree) -> None:
    words = ["3 -> 4", "3 -> 5", "3 -> 6"]
    faults = [Mutant("hearts_env.sample", "", word, word, 0, ("sample",)) for word in words]
    path = small_tree / "record.json"
    output = "FAILED tests/test_game.py::test_this[a b] - AssertionError: it - is\n1 failed"
    Record(path, faults).add(faults[1], Run(1, 2.5, output), compiled=False)
    Record(path, faults).add(faults[0], Run(0, 4.0, "9 passed"), compiled=True)
    record = Record(path, faults)
    assert [record.is_caught(fault) for fault in faults] == [False, True, False]
    row = record.of(faults[1])
    assert row is not None
    assert row["test"] == "tests/test_game.py::test_this[a b]"
    assert "| `hearts_env.sample` | 3 | 2 | 1 | 6 |" in section_of(faults, record)
    module = small_tree / "hearts_env" / "sample.py"
    module.write_text("# a comment\n" + SAMPLE)
    assert record.is_caught(faults[1])
    module.write_text(SAMPLE.replace("max(hand, queen)", "hand"))
    assert not record.is_caught(faults[1])


def test_where_modules_lie() -> None:
    def file(module: str) -> str:
        return Mutant(module, "", "", "", 0, ()).file

    assert file("hearts_env.kernel") == "hearts_env/kernel.py"
    assert file("hearts_env.encoders") == "hearts_env/encoders/__init__.py"
    assert file("hearts_agents.attackers") == "agents/hearts_agents/attackers.py"
    assert file("hearts_train.measure.duel") == "train/hearts_train/measure/duel.py"
