"""Spread work over processes of this machine, or over a Ray cluster.

``spread(work, tasks)`` yields the results in the order of the tasks. Each result depends only on
its task. If a process dies, another one repeats its task. The number of processes, their machines
and their deaths therefore change nothing.
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
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from hearts_agents.user_code import blamed, describe, packed, packed_encoders, register_packed
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
"""The tasks per worker that are handed out ahead of the results. With more, more work would be
wasted if the caller stops early."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_LOSSES = 3
"""If so many processes in a row end before a task is done, the task itself is the cause."""


def spread(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    workers: int | None = None,
    backend: str = "local",
    apart: bool = False,
    cores: int = 1,
) -> Generator[Result]:
    """Yield ``work(task)`` for each task, in the order of the tasks.

    Closing the generator, or an exception in the code that uses it, ends all running tasks. An
    exception of `work` is raised here at the turn of its task, with its traceback as the cause.

    Args:
        work: a function. Each process receives it once, pickled, and may keep data between tasks.
            Its classes may be defined in a script or a notebook (``user_code.packed``).
        tasks: the tasks, taken when they are needed.
        workers: the number of processes. If None, this process alone, or with ``ray`` all cores of
            the cluster.
        backend: ``local`` for processes of this machine, or ``ray`` for a Ray cluster. Without a
            cluster in reach, one is started on this machine.
        apart: if True, a single worker is a separate process, which an interruption ends at once.
        cores: the cores per task on a Ray cluster, at most the cores of one machine.

    Raises:
        HeartsError: if `workers` or `backend` is invalid, Ray is not installed, `work` or a task
            cannot be pickled, or processes keep ending.
    """
    workers, backend = check_executor(workers, backend)
    if backend == "local" and workers in (None, 1) and not apart:
        return (work(task) for task in tasks)
    return _in_order(work, iter(tasks), workers, backend, cores)


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_executor(workers: object, backend: object) -> Executor:
    """Return `workers` and `backend` after checking them.

    Raises:
        HeartsError: if `workers` is neither None nor a whole number from 1 to 1024, `backend` is
            unknown, or Ray is needed but not installed.
    """
    chosen = check_choice("backend", backend, BACKENDS)
    if chosen == "ray" and importlib.util.find_spec("ray") is None:
        raise HeartsError(f"backend: 'ray' {needs('ray')}")
    if workers is None:
        return None, chosen
    return check_number("workers", workers, 1, MAX_WORKERS), chosen


def _in_order(
    work: Callable[[Any], Any], tasks: Iterator[Any], workers: int | None, backend: str, cores: int
) -> Generator[Any]:
    """Yield the results in the order of the tasks."""
    pool: _Ray | _Processes = (
        _Ray(work, workers, cores) if backend == "ray" else _Processes(work, workers or 1)
    )
    queue: deque[tuple[bytes, Future[Any]]] = deque()
    finished = losses = finished_at_loss = 0
    try:
        while True:
            for task in itertools.islice(tasks, _AHEAD * pool.size - len(queue)):
                data = _pickled(task, "a task")
                queue.append((data, pool.submit(data)))
            if not queue:
                return
            try:
                result = queue[0][1].result()
            except BrokenProcessPool:
                pool.restart()
                queue = deque((data, _kept(future) or pool.submit(data)) for data, future in queue)
                done = finished + sum(future.done() for _, future in queue)
                losses = losses + 1 if done == finished_at_loss else 1
                finished_at_loss = done
                if losses == _MOST_LOSSES:
                    raise HeartsError(
                        f"workers: {losses} processes ended before a task was done; if "
                        "memory is short, use fewer workers, and in a script, call this under "
                        "if __name__ == '__main__'"
                    ) from None
                continue
            queue.popleft()
            finished += 1
            yield result
    finally:
        pool.close()


def _kept(future: Future[Any]) -> Future[Any] | None:
    """Return `future` if it finished before its pool broke, else None."""
    return None if isinstance(future.exception(), BrokenProcessPool) else future


def _attempt(work: Callable[[Any], Any], task: bytes) -> Any:
    """Do a task. An exception that cannot be pickled becomes a RuntimeError with its text."""
    try:
        return work(pickle.loads(task))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            text = f"{describe(error)}\n{traceback.format_exc()}"
            raise RuntimeError(text) from None
        raise


def _pickled(value: Any, name: str) -> bytes:
    fix = "keep only what can be pickled in it, name agents as FILE.py:CLASS, or use one worker"
    return packed(f"workers: {name}", value, fix)


def _pickled_work(work: Callable[[Any], Any]) -> bytes:
    """Return the work with the encoders that were registered in this process."""
    return pickle.dumps((packed_encoders(), _pickled(work, "the work")))


def _unpickled_work(data: bytes) -> Callable[[Any], Any]:
    """Return the work, and register the encoders.

    Raises:
        HeartsError: if this process lacks a module of the work.
    """
    with blamed(
        "workers: the work cannot be loaded in another process",
        "define its classes in the script or in a module that all processes can import",
    ):
        encoders, packed_work = pickle.loads(data)
        register_packed(encoders)
        work: Callable[[Any], Any] = pickle.loads(packed_work)
    return work


# ---- processes of this machine -------------------------------------------------------------------
class _Processes:
    """Processes of this machine. They are spawned and share no memory with this one."""

    def __init__(self, work: Callable[[Any], Any], size: int) -> None:
        self.size = min(size, 61) if sys.platform == "win32" else size  # the limit of Windows
        self._work = _pickled_work(work)
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self.size, context, _begin, (self._work,))

    def submit(self, task: bytes) -> Future[Any]:
        """Queue a task, and start a process for it if none is idle."""
        try:
            with _one_core_each(), _deaf(), _importable_main():
                return self._pool.submit(_do, task)
        except BrokenProcessPool as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def restart(self) -> None:
        """Replace all processes after one has ended."""
        self.close()
        self._start()

    def close(self) -> None:
        """End all processes at once."""
        pool: Any = self._pool
        for process in list((pool._processes or {}).values()):  # like kill_workers of Python 3.14
            process.kill()
        pool.shutdown(cancel_futures=True)


def _begin(work: bytes) -> None:
    """Prepare a process. It ignores signals, because its parent ends it."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    global _work
    # Loaded with the first task, which then reports an exception.
    _work = functools.cache(lambda: _unpickled_work(work))


_work: Callable[[], Callable[[Any], Any]]
"""Loads the work of this process."""


def _do(task: bytes) -> Any:
    return _attempt(lambda data: _work()(data), task)


def _end_with_parent() -> None:
    """End this process when its parent has ended or was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextlib.contextmanager
def _one_core_each() -> Iterator[None]:
    """Limit a process that is started within this context to one core."""
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
def _importable_main() -> Iterator[None]:
    """Keep a process that is started within this context from reading a script without a file.

    Code from standard input has the file name ``<stdin>``, which each process would try to run.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or os.path.exists(file):
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = file


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Block signals for a process that is started within this context, even while it loads."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # POSIX only

    resource_tracker.ensure_running()  # starting it later would let signals through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- Ray -----------------------------------------------------------------------------------------
class _Ray:
    """The processes of a Ray cluster. Ray repeats a task if its process was killed."""

    def __init__(self, work: Callable[[Any], Any], size: int | None, cores: int) -> None:
        import ray

        data = _pickled_work(work)
        self._ray = ray
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            try:
                ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
            except Exception as error:  # the type depends on which of Ray's processes failed
                ray.shutdown()
                raise HeartsError(
                    f"backend: Ray cannot start ({describe(error)}); omit --backend ray, or start "
                    "a cluster with `ray start --head` first"
                ) from None
            if threading.current_thread() is threading.main_thread():
                for number, handler in handlers.items():  # Ray has replaced some
                    signal.signal(number, handler)
        nodes = ray.nodes()  # type: ignore[no-untyped-call]
        machines = [node["Resources"].get("CPU", 0) for node in nodes if node["Alive"]]
        cores = max(1, min(cores, int(max(machines))))
        self.size = size or max(1, sum(int(number // cores) for number in machines))
        self._work = [ray.put(data)]  # in a list, so each process fetches it once, not per task
        self._do = ray.remote(max_retries=_MOST_LOSSES, num_cpus=cores)(_do_in_ray)
        self._threads = ThreadPoolExecutor(self.size)  # each waits for one task
        self._running: set[Any] = set()

    def submit(self, task: bytes) -> Future[Any]:
        """Queue a task. At most `size` run at a time."""
        return self._threads.submit(self._wait, task)

    def _wait(self, task: bytes) -> Any:
        ref = self._do.remote(self._work, task)
        self._running.add(ref)
        try:
            return self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise HeartsError(
                f"backend: Ray lost a task ({describe(error)}); check the cluster with "
                "ray status, and run this again"
            ) from None
        finally:
            self._running.discard(ref)

    def restart(self) -> None:
        """Do nothing: Ray replaces its own processes."""

    def close(self) -> None:
        """Cancel the running tasks, and end Ray if it was started here."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for ref in list(self._running):
            with contextlib.suppress(Exception):
                self._ray.cancel(ref, force=True)
        self._threads.shutdown()
        if self._is_ours:
            self._ray.shutdown()


@functools.lru_cache(maxsize=1)
def _work_in_ray(ref: Any) -> Callable[[Any], Any]:
    """Return the work of a spread. Each process keeps the last one."""
    import ray

    return _unpickled_work(ray.get(ref))


def _do_in_ray(refs: list[Any], task: bytes) -> Any:
    return _attempt(lambda data: _work_in_ray(refs[0])(data), task)
