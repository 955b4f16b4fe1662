"""Compilation: the one decorator under which the package's compiled functions are made.

Numba refreshes a cached function when the file that defines it changes, but not when a function
that it calls in another file does. So the cache lies in a folder named by a digest of all sources
of this package and of the package of the function that compile anything: edited code is never run
stale, other edits throw nothing away, and nothing of a user's own numba cache is touched. A
constant that compiled code reads must therefore be assigned in a file that compiles; a test holds
to it. Where no folder can be written (a read-only
install without a home), functions are compiled again at each start.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.registry import CPUDispatcher

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config  # its fields are made at run time
_HERE = Path(__file__).resolve().parents[1]
_TAKE_PART = ("support/bits.py", "support/jit.py", "cards.py")
"""Files that compile nothing themselves, but give compiled functions parts or constants."""


@functools.cache
def _digest(package: Path) -> str:
    """A digest of numba's version and all that compiles in this package and `package` (or file)."""
    digest = hashlib.sha256(numba.__version__.encode())
    for root in sorted({_HERE, package}):
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            if compiles(path, source := path.read_bytes()):
                digest.update(source)
    return digest.hexdigest()[:16]


def compiles(path: Path, source: bytes) -> bool:
    """Whether a file takes part in compiled code: by functions, or by constants that they read."""
    return b"support.jit import" in source or path in [_HERE / name for name in _TAKE_PART]


def _roots(package: Path) -> list[Path]:
    """Where a cache may lie, best first."""
    roots = [Path(d)] if (d := os.environ.get("NUMBA_CACHE_DIR")) else []
    if package.is_dir():
        roots.append(package / "__pycache__")
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    roots.append((Path(home) if home else Path(os.path.expanduser("~/.cache"))) / "hearts_env")
    return roots


@functools.cache
def cache_folder(package: Path) -> Path | None:
    """The folder of the compiled functions of `package`, or None where none can be written."""
    name = f"compiled-{_digest(package)}"
    for root in _roots(package):
        folder = root / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        if root == package / "__pycache__":  # the user's own folder is the user's to clean
            for old in root.glob("compiled-*"):
                if old != folder:
                    shutil.rmtree(old, ignore_errors=True)
        return folder
    return None


class _Announcer(event.Listener):
    """Says, where somebody looks on, what a first start waits for, and how long each part took."""

    def __init__(self) -> None:
        self._started: list[float] = []  # of ours: a function, one that it calls, and so on

    def on_start(self, event: event.Event) -> None:
        package, _, place = event.data["dispatcher"].py_func.__module__.partition(".")
        if package not in _packages:
            return
        if not self._started:
            if not _packages[package]:
                _packages[package] = True
                _show(
                    f"{package}: compiling, once for this installation "
                    "(`hearts warmup` does all of it)\n"
                )
            name = f"{place}.{event.data['dispatcher'].py_func.__name__}".lstrip(".")
            _show(f"  {name} ...")
        self._started.append(time.perf_counter())

    def on_end(self, event: event.Event) -> None:
        if event.data["dispatcher"].py_func.__module__.partition(".")[0] in _packages:
            started = self._started.pop()
            if not self._started:
                _show(f" {time.perf_counter() - started:.1f} s\n")


def _show(text: str) -> None:
    """Write to a terminal on standard error, if there is one."""
    if sys.stderr is not None and sys.stderr.isatty():
        with contextlib.suppress(OSError):  # a terminal that has just been closed
            sys.stderr.write(text)
            sys.stderr.flush()


_packages: dict[str, bool] = {}
"""Whose functions are compiled here, and whether that has been announced."""

event.register("numba:compile", _Announcer())


def jit(function: F) -> F:
    """`function`, compiled on first use without the GIL, and cached where a folder can be written.

    Nothing so compiled raises: errors are return values.
    """
    return _compiled(function)


def inlined(function: F) -> F:
    """The same, compiled into its callers: for what is done at every card, where a call costs."""
    return _compiled(function, forceinline=True)


def inner(function: F) -> F:
    """As ``inlined``, for what only compiled code calls: a first use compiles no entry from Python.

    Called from Python all the same, it runs as it is written.
    """
    compiled = _compiled(function, forceinline=True, no_cpython_wrapper=True)
    if isinstance(compiled, CPUDispatcher):
        cast(Any, compiled).__class__ = _Inner  # a new one would lack what `njit` has set up
    return compiled


class _Inner(CPUDispatcher):
    """Called from Python, the function itself."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


def called(function: F) -> F:
    """The same with the GIL: for what Python calls once a step, and is done in no time."""
    return _compiled(function, nogil=False)


class DirectCall:
    """A way into a compiled function without the look-up of types at each call.

    That takes half as long again as the rest of a call. The types are those of the first call, and
    nothing checks them later, so all arguments must be the caller's own.

    Attributes:
        call: does what the function does.
    """

    __slots__ = ("_function", "call")

    def __init__(self, function: Callable[..., Any]) -> None:
        """The way into `function`, which is compiled at the first call."""
        self._function = function
        self.call: Callable[..., Any] = self._first_call

    def _first_call(self, *arguments: Any) -> Any:
        if isinstance(self._function, CPUDispatcher):  # else: NUMBA_DISABLE_JIT
            kinds = [numba.int64 if isinstance(a, int) else numba.typeof(a) for a in arguments]
            self.call = self._function.compile(tuple(kinds))
        else:
            self.call = self._function
        return self.call(*arguments)


def shared(function: F) -> F:
    """The same for ``Workers.run``: of an address of int64 words and a range of rows."""
    return _compiled(function, no_cfunc_wrapper=False)


def address_of(function: Any) -> int:
    """Where a ``shared`` function lies, compiled now if it is not; 0: nothing is compiled here."""
    if not isinstance(function, CPUDispatcher):
        return 0
    words_and_rows = (numba.types.int64,) * 3
    if words_and_rows not in function.overloads:
        function.compile(words_and_rows)
    found: Any = function.overloads[words_and_rows]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name))


def _compiled(function: F, **more: Any) -> F:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return function
    top, in_package, _ = function.__module__.partition(".")
    _packages.setdefault(top, False)
    source = Path(sys.modules[top].__file__ or __file__).resolve()
    folder = cache_folder(source.parent if in_package else source)
    before = _config.CACHE_DIR
    if folder is not None:
        # Read once, where the cache of the function is made; put back for everybody else's.
        _config.CACHE_DIR = str(folder)
    try:
        # Without numba's runtime nothing can allocate, and arrays are not reference-counted: at
        # every call that cost more than most of the functions do (observing took 4 times as long).
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
        options["no_cfunc_wrapper"] = True  # few are called as C is, and compiling it takes time
        options |= more
        compiled: F = numba.njit(cache=folder is not None, **options)(function)
    finally:
        _config.CACHE_DIR = before
    return compiled
