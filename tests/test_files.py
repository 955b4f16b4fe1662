"""Atomic writes, limited reads, locks and signals."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hearts_env import HeartsError
from hearts_env.support.errors import CheckpointError
from hearts_env.support.files import (
    held,
    is_held,
    kind_of,
    lock_beside,
    own_files,
    read_limited,
    remove_leftovers,
    write_whole,
)
from hearts_env.support.interrupts import (
    SIGNALS,
    Interrupted,
    exit_status,
    held_interrupt,
    interruptible,
    noted_interrupt,
)
from tests.refusals import raises_hearts_error

if sys.platform != "win32":
    import fcntl

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def test_failed_write_keeps_content_and_names_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, b"new")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@posix
def test_write_tolerates_unsyncable_folder_but_not_broken_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sync = tmp_path / "file", os.fsync
    number = errno.EINVAL

    def refuse_folders(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        sync(handle)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    for number in (errno.EINVAL, errno.ENOTSUP):
        write_whole(path, b"%d" % number)
        assert path.read_bytes() == b"%d" % number
    number = errno.EIO
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
        write_whole(path, b"new")
    assert caught.value.filename == str(path)


@posix
def test_link_and_target_share_one_lock(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(path)
    assert lock_beside(link) == lock_beside(path) == path.with_name(".file.lock")


@posix
def test_write_keeps_pipes_and_links(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    assert kind_of(pipe) == "other"  # as root it would have been /dev/null
    (tmp_path / "there").mkdir()
    path, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(path)
    for content in (b"first", b"second"):
        write_whole(link, content)
        assert link.is_symlink()
        assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["file"]


@posix
def test_own_files_replaces_and_refuses_only_named_links(tmp_path: Path) -> None:
    folder, target = tmp_path / "folder", tmp_path / "target"
    (folder / "sub").mkdir(parents=True)
    target.write_bytes(b"mine")
    for name in ("Card.md", "sub/1.npz", "other", "sub/other"):
        (folder / name).symlink_to(target)
    (folder / "dead").symlink_to(tmp_path / "none")
    (folder / "plain").write_bytes(b"own")
    os.mkfifo(folder / "pipe")
    names = ("card.md", "sub/*.npz", "dead", "plain", "pipe", "sub", "missing", "plain/x")
    own_files(folder, "run", written=names)
    left = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert left == {"other", "plain", "sub", "sub/other"}
    own_files(folder, "run", needed=("plain", "sub", "missing", "sub/missing"))
    own_files(tmp_path / "none", "run", needed=("plain",))
    for name in ("other", "sub/o*"):
        with raises_hearts_error(CheckpointError, "run", "other"):
            own_files(folder, "run", written=["*"], needed=[name])
    assert (folder / "other").is_symlink()
    assert target.read_bytes() == b"mine"


@posix
def test_lock_replaces_link_without_touching_target(tmp_path: Path) -> None:
    lock, target = tmp_path / "lock", tmp_path / "target"
    target.write_bytes(b"mine")
    lock.symlink_to(target)
    with held(lock, "run: 'r'"):
        assert is_held(lock)
        assert lock.read_text().startswith(str(os.getpid()))
    assert not lock.exists()
    assert target.read_bytes() == b"mine"


def test_leftovers_of_one_file_or_of_all_are_removed(tmp_path: Path) -> None:
    left = [f".{name}.123-0123abcd.tmp" for name in ("a.npz", "a", "b.npz")]
    for name in (*left, ".mine.tmp", "a.npz"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path, "a.npz")
    assert {path.name for path in tmp_path.iterdir()} == {*left[1:], ".mine.tmp", "a.npz"}
    remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".mine.tmp", "a.npz"}
    remove_leftovers(tmp_path / "none")


@posix
def test_read_stops_at_limit_and_refuses_devices(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_limited(path, 5, "a word") == b"12345"
    with raises_hearts_error(HeartsError, "file", 4):
        read_limited(path, 4, "a word")
    with raises_hearts_error(HeartsError, "file"):
        read_limited(Path("/dev/zero"), 5, "a word")
    os.mkfifo(tmp_path / "pipe")
    with raises_hearts_error(HeartsError, "file"):
        read_limited(tmp_path / "pipe", 5, "a word")
    with pytest.raises(FileNotFoundError):
        read_limited(tmp_path / "none", 5, "a word")


HOLD = """
import sys
from pathlib import Path
from hearts_env.support.files import held
with held(Path(sys.argv[1]), "run: 'r'"):
    print("held", flush=True)
    sys.stdin.read()
"""


@posix
def test_lock_is_held_until_process_ends(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with (
            raises_hearts_error(CheckpointError, "run", "'r'", process.pid),
            held(path, "run: 'r'"),
        ):
            pass
        process.kill()
    assert path.exists()
    with held(path, "run: 'r'"):
        assert is_held(path)
    assert not is_held(path)
    assert list(tmp_path.iterdir()) == []


@posix
def test_lock_removed_by_its_holder_is_retaken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder ends between the opening of the file and its locking, twice."""
    path, lock, ends = tmp_path / ".lock", fcntl.flock, [1, 2]

    def flock(handle: int, how: int) -> None:
        if ends:
            ends.pop()
            path.unlink()
        lock(handle, how)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        with held(path, "run: 'r'"):
            assert not ends
            with pytest.raises(CheckpointError), held(path, "run: 'r'"):
                pass
            path.unlink()  # by another process, which makes the file anew
            path.touch()
    assert path.exists()  # it was not the one that was held


@posix
def test_signals_interrupt_unless_ignored() -> None:
    for number in SIGNALS:
        with pytest.raises(KeyboardInterrupt) as caught, interruptible():
            signal.raise_signal(number)
        assert getattr(caught.value, "number", signal.SIGINT) == number
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@posix
@pytest.mark.parametrize("number", SIGNALS)
def test_held_signal_sets_the_exit_status(number: int) -> None:
    with pytest.raises(Interrupted), interruptible(), held_interrupt():
        signal.raise_signal(number)
    assert exit_status() == 128 + number
    with interruptible(), noted_interrupt():
        signal.raise_signal(number)
    assert exit_status() == 128 + number


@posix
def test_signal_in_destructor_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    class Hit:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def work() -> None:
        Hit()
        threading.Event().wait(60)

    report = sys.unraisablehook
    with pytest.raises(Interrupted), interruptible():
        work()
    assert sys.unraisablehook is report
    assert capsys.readouterr().err == ""


@posix
def test_noted_signal_waits_but_second_may_not() -> None:
    for number in SIGNALS:
        calls: list[int] = []
        with interruptible(), noted_interrupt(lambda calls=calls: calls.append(1)) as pressed:
            assert not pressed()
            signal.raise_signal(number)
            signal.raise_signal(number)
            assert pressed() == number
            assert calls == [1]
        with noted_interrupt(twice=True) as pressed:
            signal.raise_signal(number)
            assert pressed() == number
            with pytest.raises(Interrupted):
                signal.raise_signal(number)
