"""Work shared among processes of this machine, or of many machines through Ray.

``spread(work, tasks)`` gives the results in the order of the tasks, whoever did them. Each result
follows from its task alone, so that it does not matter how many processes there are, where
they run, or which of them was killed: a task whose process ended is done again by another.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from hearts_agents.user_code import describe
from hearts_env import HeartsError
from hearts_env.support.arguments import check_choice, check_number
from hearts_env.support.errors import needs
from hearts_env.support.interrupts import SIGNALS

Task = TypeVar("Task")
Result = TypeVar("Result")

Executor = tuple[int | None, str]
"""Workers and backend."""
BACKENDS = ("local", "ray")
MAX_WORKERS = 1024
_AHEAD = 4
"""Tasks handed out for each worker before the first of them is asked for: more would be in vain
where the results so far decide that no more are needed."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_LOSSES = 3
"""So many processes may end at one task; then it is the task that ends them."""


def spread(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    workers: int | None = None,
    backend: str = "local",
    apart: bool = False,
) -> Generator[Result]:
    """The results of ``work(task)``, in the order of the tasks.

    Closing the generator, or an exception in the code that uses it, ends what is under way. What
    `work` raises is raised here, when its task's turn has come.

    Args:
        work: what is done; it is pickled and sent to each process once, and may keep what it has
            made for one task for the next.
        tasks: they are taken as they are needed, not all at once.
        workers: processes; None: one, which is this one, or with ``ray`` all cores of the cluster.
        backend: ``local``: processes of this machine; ``ray``: those of a Ray cluster, the one that
            this process can reach, else one that is started on this machine.
        apart: a single worker is another process too, which an interruption ends at once.

    Raises:
        HeartsError: if there is no such backend or number of workers, Ray is not installed,
            `work` cannot be sent to another process, or a task ended three processes.
    """
    workers, backend = check_executor(workers, backend)
    if backend == "local" and workers in (None, 1) and not apart:
        return (work(task) for task in tasks)
    return _in_order(work, iter(tasks), workers, backend)


def check_executor(workers: object, backend: object) -> Executor:
    """`workers` and `backend` as ``spread`` takes them, before anything is started.

    Raises:
        HeartsError: if they are not a whole number from 1 to 1024 (or None) and a backend, or Ray
            is asked for and not installed.
    """
    chosen = check_choice("backend", backend, BACKENDS)
    if chosen == "ray" and importlib.util.find_spec("ray") is None:
        raise HeartsError(f"backend: 'ray' {needs('ray')}")
    if workers is None:
        return None, chosen
    return check_number("workers", workers, 1, MAX_WORKERS), chosen


@dataclass(frozen=True)
class _Outcome:
    """What became of a task: a result, or what was raised."""

    result: Any = None
    error: BaseException | None = None

    @classmethod
    def of(cls, work: Callable[[Any], Any], task: Any) -> _Outcome:
        """Do a task."""
        try:
            return cls(work(task))
        except Exception as error:
            if not isinstance(error, HeartsError):
                error.add_note("In another process:\n" + traceback.format_exc())
            try:
                pickle.loads(pickle.dumps(error))
            except Exception:  # many exceptions cannot be sent
                return cls(error=RuntimeError(f"{describe(error)}\n{traceback.format_exc()}"))
            return cls(error=error)

    def get(self) -> Any:
        """The result, or raise what was raised."""
        if self.error is not None:
            raise self.error
        return self.result


def _in_order(
    work: Callable[[Any], Any], tasks: Iterator[Any], workers: int | None, backend: str
) -> Generator[Any]:
    """The results of all tasks, those that come early wait for their turn."""
    places: _Ray | _Processes = (
        _Ray(work, workers) if backend == "ray" else _Processes(work, workers or 1)
    )
    done: dict[int, _Outcome] = {}
    started = 0
    try:
        for turn in itertools.count():
            for task in itertools.islice(tasks, turn + _AHEAD * places.size - started):
                places.begin(started, task)
                started += 1
            if turn == started:
                return
            while turn not in done:
                done.update(places.finished())
            yield done.pop(turn).get()
    finally:
        places.close()


# ---- processes of this machine -------------------------------------------------------------------
@dataclass
class _Process:
    """A process that does one task after another."""

    process: Any
    pipe: Connection
    has_work: bool = False
    """Whether it was sent what to do."""
    number: int | None = None
    """Of the task that it is at."""
    message: bytes = b""
    """That task."""

    @classmethod
    def started(cls) -> _Process:
        """A process that waits for work."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,))
        with _one_core_each(), _deaf():
            process.start()
        theirs.close()
        return cls(process, ours)


class _Processes:
    """Processes of this machine, started afresh: nothing of this one's memory is in them."""

    def __init__(self, work: Callable[[Any], Any], size: int) -> None:
        self.size = size
        self._work = _pickled(work, "the work")
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._losses: dict[int, int] = {}
        self._processes: list[_Process] = []

    def begin(self, number: int, task: Any) -> None:
        """Have a task done, as soon as a process is free."""
        self._waiting.append((number, _pickled(task, "a task")))

    def finished(self) -> list[tuple[int, _Outcome]]:
        """Wait for some; a task whose process has ended is started again."""
        self._hand_out()
        found = []
        busy = {p.pipe: p for p in self._processes if p.number is not None}
        for pipe in wait(list(busy)):
            process = busy[pipe]  # type: ignore[index]
            assert process.number is not None
            try:
                outcome = process.pipe.recv()
            except (EOFError, OSError):
                self._replace(process)
                continue
            found.append((process.number, outcome))
            process.number = None
        self._hand_out()
        return found

    def close(self) -> None:
        """End all processes at once."""
        for process in self._processes:
            process.process.kill()
        for process in self._processes:
            process.process.join()
            process.pipe.close()
        self._processes.clear()

    def _hand_out(self) -> None:
        busy = sum(process.number is not None for process in self._processes)
        wanted = min(self.size, busy + len(self._waiting)) - len(self._processes)
        self._processes += [_Process.started() for _ in range(wanted)]  # they start side by side
        for process in self._processes:
            if process.number is None and self._waiting:
                process.number, process.message = self._waiting.popleft()
                with contextlib.suppress(OSError):  # it has ended, as `finished` will see
                    if not process.has_work:
                        process.pipe.send_bytes(self._work)
                        process.has_work = True
                    process.pipe.send_bytes(process.message)

    def _replace(self, process: _Process) -> None:
        """Start another process for one that has ended, and begin its task again."""
        assert process.number is not None
        process.process.join()
        process.pipe.close()
        times = self._losses[process.number] = self._losses.get(process.number, 0) + 1
        if times == _MOST_LOSSES:
            raise HeartsError(
                f"workers: {times} processes came to an end at the same task, the last with status "
                f"{process.process.exitcode}; if memory is short, use fewer workers, and in a "
                "script, call this under if __name__ == '__main__'"
            )
        self._waiting.appendleft((process.number, process.message))
        self._processes.remove(process)


@contextlib.contextmanager
def _one_core_each() -> Iterator[None]:
    """A process started in this context computes on one core: others are busy beside it."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A process started in this context never hears signals to its group, not even as it loads."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # of POSIX

    resource_tracker.ensure_running()  # whose start would let them through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection) -> None:
    """Do tasks until the asking process ends or closes the pipe."""
    for number in SIGNALS:  # for the asking process, which ends this one
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        data = pipe.recv_bytes()
        work = functools.cache(
            lambda: pickle.loads(data)
        )  # an error in it is one of the first task
        while True:
            task = pickle.loads(pipe.recv_bytes())
            pipe.send(_Outcome.of(lambda task: work()(task), task))


def _end_with_parent() -> None:
    """End this process when the asking one has ended, also if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _pickled(value: Any, what: str) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise HeartsError(
            f"workers: {what} cannot be sent to another process ({describe(error)}); name agents "
            "by text, as FILE.py:CLASS, or use one worker"
        ) from None


# ---- Ray -----------------------------------------------------------------------------------------
class _Ray:
    """The processes of a Ray cluster. Ray itself does a task again whose process was killed."""

    def __init__(self, work: Callable[[Any], Any], size: int | None) -> None:
        import ray

        _pickled(work, "the work")
        self._ray = ray
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            try:
                ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
            except Exception as error:  # of what type depends on which of its processes failed
                ray.shutdown()
                raise HeartsError(
                    f"backend: Ray cannot start ({describe(error)}); leave out --backend ray, or "
                    "start a cluster with `ray start --head` first"
                ) from None
        cores = ray.cluster_resources().get("CPU", 1)  # type: ignore[no-untyped-call]
        self.size = size or max(1, int(cores))
        self._work = [ray.put(work)]  # in a list: fetched by a process once, not with each task
        self._do = ray.remote(max_retries=_MOST_LOSSES)(_do_in_ray)
        self._key = os.urandom(16)
        self._waiting: deque[tuple[int, Any]] = deque()
        self._running: dict[Any, int] = {}

    def begin(self, number: int, task: Any) -> None:
        """Have a task done, as soon as a worker is free."""
        self._waiting.append((number, task))
        self._hand_out()

    def finished(self) -> list[tuple[int, _Outcome]]:
        """Wait for some."""
        ready, _ = self._ray.wait(list(self._running), num_returns=1)
        found = [(self._running.pop(ref), self._outcome(ref)) for ref in ready]
        self._hand_out()
        return found

    def close(self) -> None:
        """Cancel what runs, and end Ray if it was started here."""
        for ref in self._running:
            with contextlib.suppress(Exception):
                self._ray.cancel(ref, force=True)
        if self._is_ours:
            self._ray.shutdown()

    def _hand_out(self) -> None:
        while self._waiting and len(self._running) < self.size:
            number, task = self._waiting.popleft()
            self._running[self._do.remote(self._key, self._work, task)] = number

    def _outcome(self, ref: Any) -> _Outcome:
        try:
            outcome: _Outcome = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            return _Outcome(
                error=HeartsError(
                    f"backend: Ray lost a task ({describe(error)}); check its cluster with "
                    "ray status, and play again"
                )
            )
        return outcome


_ray_work: dict[bytes, Callable[[Any], Any]] = {}
"""The work that a process of Ray has fetched, by its key; the last one only."""


def _do_in_ray(key: bytes, refs: list[Any], task: Any) -> _Outcome:
    if key not in _ray_work:
        import ray

        _ray_work.clear()
        _ray_work[key] = ray.get(refs[0])
    return _Outcome.of(_ray_work[key], task)
