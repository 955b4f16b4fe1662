"""The one file format that survives a kill: header, sealed lines, append only."""

from __future__ import annotations

import os

import pytest

from hearts_env import CheckpointError, HeartsError
from hearts_env.support.files import held, lock_beside
from hearts_train.store import FileKind, Store, saving, sealed, unsealed
from tests.faults import KINDS, Died, Faults
from tests.refusals import raises_hearts_error

KIND = FileKind("hearts-env test", "resume", "a file of tests", "give one of a test")
SETTINGS = {"seed": 1, "agents": [{"name": "pro", "digest": "a"}], "sizes": [16, 32]}
ENTRIES = [{"deals": n, "scores": [1.5, -n]} for n in range(4)]


@pytest.fixture
def file(tmp_path):
    """A file with a header and four records."""
    store = Store.create(tmp_path / "file.jsonl", KIND, SETTINGS)
    for entry in ENTRIES:
        store.append(entry)
    assert entries(store.path) == ENTRIES
    return store.path


def entries(path):
    return Store.open(path, KIND).records


def test_truncated_file_keeps_its_whole_lines(file):
    data = file.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    for length in range(ends[0], len(data) + 1):
        file.write_bytes(data[:length])
        store = Store.open(file, KIND)
        whole = sum(end <= length for end in ends) - 1
        assert store.records == ENTRIES[:whole]
        assert file.stat().st_size == length  # reading changes nothing
        for entry in ENTRIES[whole:]:
            store.append(entry)
        assert file.read_bytes() == data


def test_record_replaces_a_longer_truncated_line(file):
    whole = file.read_bytes()
    file.write_bytes(whole + sealed({"long": "x" * 500})[:-1])  # all but the end of the line
    store = Store.open(file, KIND)
    store.append({"short": 1})
    assert file.read_bytes() == whole + sealed({"short": 1})
    assert entries(file) == [*ENTRIES, {"short": 1}]


def test_damaged_line_is_skipped_and_listed(file):
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"1.5", b"2.5")
    file.write_bytes(b"".join(lines))
    store = Store.open(file, KIND)
    assert store.records == [ENTRIES[0], *ENTRIES[2:]]
    assert store.damaged == [3]


@pytest.mark.parametrize("value", [{}, {"a": [1, None, "\n", "ä", {"b": 0.1}]}, {"x": 2**70}])
def test_unsealed_inverts_sealed_and_detects_changes(value):
    line = sealed(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert unsealed(line[:-1]) == value
    for place in range(len(line) - 1):
        changed = bytearray(line[:-1])
        changed[place] ^= 1
        assert unsealed(bytes(changed)) is None


@pytest.mark.parametrize("changed", [{"format": "other"}, {"package": "0.0"}, {"settings": []}])
def test_file_of_another_version_is_refused(file, changed):
    first, _, rest = file.read_bytes().partition(b"\n")
    file.write_bytes(sealed(unsealed(first) | changed) + rest)
    with raises_hearts_error(HeartsError, "resume", file.name):
        Store.open(file, KIND)


def test_create_never_overwrites(file):
    before = file.read_bytes()
    with pytest.raises(FileExistsError):
        Store.create(file, KIND, SETTINGS)
    assert file.read_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_failing_calls_keep_the_whole_lines(tmp_path, kind):
    number = 0
    while True:
        number += 1
        path = tmp_path / str(number)
        done = []
        with Faults(number, kind) as faults:
            try:
                store = Store.create(path, KIND, SETTINGS)
                for entry in ENTRIES:
                    store.append(entry)
                    done.append(entry)
            except (OSError, Died) as error:
                named = getattr(error, "filename", None)
            else:
                named = None
        assert named in (None, str(path))
        if faults.count < number:
            assert done == ENTRIES
            break
        if not path.exists():
            assert done == []
            store = Store.create(path, KIND, SETTINGS)
        else:
            store = Store.open(path, KIND)
        found = store.records
        assert found[: len(done)] == done  # everything reported as written exists
        for entry in ENTRIES[len(found) :]:
            store.append(entry)
        assert entries(path) == ENTRIES


def test_saving_and_resuming_hold_a_lock(tmp_path):
    path = tmp_path / "results.jsonl"
    with saving(path, None, KIND, SETTINGS) as store:
        store.append(ENTRIES[0])
        with raises_hearts_error(CheckpointError, "results"), saving(None, path, KIND, SETTINGS):
            pass
    with saving(None, path, KIND, SETTINGS) as store:
        assert store.records == ENTRIES[:1]
    assert os.listdir(tmp_path) == [path.name]
    with saving(None, None, KIND, SETTINGS) as store:
        assert store is None
    with held(lock_beside(path), "x"), raises_hearts_error(CheckpointError, "results"):
        saving(None, path, KIND, SETTINGS).__enter__()


@pytest.mark.parametrize("name", ["save", "resume"])
def test_impossible_files_raise(file, tmp_path, name):
    with raises_hearts_error(HeartsError, "save"), saving(file, file, KIND, SETTINGS):
        pass
    if name == "save":
        for path in (file, tmp_path, tmp_path / "none" / "file", tmp_path / ("x" * 250)):
            with raises_hearts_error(HeartsError, "save"), saving(path, None, KIND, SETTINGS):
                pass
    else:
        with pytest.raises(FileNotFoundError), saving(None, tmp_path / "none", KIND, SETTINGS):
            pass
    assert sorted(os.listdir(tmp_path)) == [file.name]
