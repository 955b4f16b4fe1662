"""Compilation: the decorators of the package's compiled functions.

Numba refreshes a cached function when the file that defines it changes, but not when it calls a
function in another file that changes. So the cache folder is named by a digest of all sources that
take part in compiled code, in this package and in the function's package. Edited code never runs
stale, other edits keep the cache, and a user's own numba cache stays untouched. A constant that
compiled code reads must therefore be assigned in a file that compiles. A test checks that.

The cache never stops a program. If a file is damaged or belongs to another user, the function is
compiled and the file written again. If nothing can be written (a full disk, a read-only install
without a home), one warning says so and functions are compiled at each start.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import pickle
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    NullCache,
)
from numba.core.registry import CPUDispatcher

F = TypeVar("F", bound=Callable[..., Any])

COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""False if numba's switch is set: all functions then run interpreted."""
_HERE = Path(__file__).resolve().parents[1]
_TAKE_PART = ("support/bits.py", "support/jit.py", "cards.py")
"""The files without compiled functions that give parts or constants to compiled functions."""


@functools.cache
def _digest(package: Path) -> str:
    """Return a digest of numba's version and all compiling sources of these packages."""
    digest = hashlib.sha256(numba.__version__.encode())
    for root in sorted({_HERE, package}):
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            if compiles(path, source := path.read_bytes()):
                digest.update(source)
    return digest.hexdigest()[:16]


def compiles(path: Path, source: bytes) -> bool:
    """Return True if a file takes part in compiled code, by its functions or its constants."""
    return b"support.jit import" in source or path in [_HERE / name for name in _TAKE_PART]


def _roots(package: Path) -> list[Path]:
    """Return the possible places of the cache, best first."""
    roots = [Path(d)] if (d := os.environ.get("NUMBA_CACHE_DIR")) else []
    if package.is_dir():
        roots.append(package / "__pycache__")
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    roots.append((Path(home) if home else Path(os.path.expanduser("~/.cache"))) / "hearts_env")
    return roots


@functools.cache
def cache_folder(package: Path) -> Path | None:
    """Return the folder of the compiled functions of `package`, or None if none can be written."""
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


def _folder_of(function: Callable[..., Any]) -> Path | None:
    """Return the folder of a function's compiled code."""
    top, in_package, _ = function.__module__.partition(".")
    source = Path(sys.modules[top].__file__ or __file__).resolve()
    return cache_folder(source.parent if in_package else source)


class _CacheFile(IndexDataCacheFile):
    """A file of compiled functions, each saved with a digest and a key that loading checks.

    Without them, damaged machine code could load, and then crash or compute wrong results. If the
    index is lost and begun again, it may name a file with the code for other types.
    """

    def save(self, key: Any, data: Any) -> None:
        code = self._dump((key, data))
        super().save(key, (hashlib.sha256(code).digest(), code))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        if found is None:
            return None
        digest, code = found
        if hashlib.sha256(code).digest() != digest:
            return None
        saved_key, data = pickle.loads(code)
        return data if saved_key == key else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # damaged; the next save writes it again
            return {}


class _Locator(InTreeCacheLocator):
    """Places a function's cache in its package's folder, even while the disk is full."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        locator = cls(py_func, py_file)
        folder = _folder_of(py_func) or Path()
        locator._cache_path = str(folder / cls.get_suitable_cache_subpath(py_file))
        return locator


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 as in numba


class _Cache(FunctionCache):
    """Numba's cache of a function, without errors from files.

    Numba has no option for this: it raises at every start if a file is damaged, and at every save
    if the disk is full.
    """

    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # the type depends on the damage
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            unsaved.append(f"it cannot be saved in {self._cache_path} ({error.strerror or error})")
        _warn_if_unsaved()


class _NoCache(NullCache):
    """Keeps nothing, because no folder can be written."""

    def save_overload(self, sig: Any, data: Any) -> None:
        unsaved.append("no folder for it can be written")
        _warn_if_unsaved()


unsaved: list[str] = []
"""The reasons why compiled code was not saved in this process, empty if all of it was."""
_has_warned = False


def _warn_if_unsaved() -> None:
    """Warn once if compiled code could not be saved, when no line of progress is open."""
    global _has_warned
    # The process that started a worker compiles the same functions and warns itself.
    if not unsaved or _has_warned or _announcer.is_open or multiprocessing.parent_process():
        return
    _has_warned = True
    warnings.warn(
        f"compiled code: {unsaved[0]}, so each start compiles it again; make room, or set "
        "NUMBA_CACHE_DIR to a folder that can be written",
        stacklevel=2,
    )


class _Announcer(event.Listener):
    """Shows on a terminal which functions a first start compiles, and the time of each part."""

    def __init__(self) -> None:
        self._started: list[
            float
        ] = []  # our nested compilations: a function, one that it calls, ...

    @property
    def is_open(self) -> bool:
        """True while a function is compiling, when its line has no end yet."""
        return bool(self._started)

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data["dispatcher"]
        package, _, place = dispatcher.py_func.__module__.partition(".")
        if package not in _packages:
            return
        if not self._started:
            if not _packages[package]:
                _packages[package] = True
                is_kept = isinstance(dispatcher._cache, _Cache)
                once = ", once for this installation (`hearts warmup` does all of it)"
                _show(f"{package}: compiling{once if is_kept else ''}\n")
            name = f"{place}.{dispatcher.py_func.__name__}".lstrip(".")
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
"""Packages with compiled functions, and whether their compilation has been announced."""

_announcer = _Announcer()
event.register("numba:compile", _announcer)


def jit(function: F) -> F:
    """Compile `function` on first use, without the GIL, and cache it if a folder can be written.

    Compiled code never raises: errors are return values.
    """
    return _compiled(function)


def inlined(function: F) -> F:
    """Compile as ``jit`` does, into the callers, for work at every card, where calls take time."""
    return _compiled(function, forceinline=True)


def inner(function: F) -> F:
    """Compile as ``inlined`` does, for compiled callers only.

    No entry from Python is compiled: a call from Python runs the function uncompiled.
    """
    compiled = _compiled(function, forceinline=True, no_cpython_wrapper=True)
    if isinstance(compiled, CPUDispatcher):
        cast(Any, compiled).__class__ = _Inner  # a new object would lack the setup of `njit`
    return compiled


class _Inner(CPUDispatcher):
    """A compiled function that runs uncompiled when called from Python."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


def called(function: F) -> F:
    """Compile as ``jit`` does but with the GIL, for very short calls from Python, once per step."""
    return _compiled(function, nogil=False)


class DirectCall:
    """Calls a compiled function without looking up types at each call.

    The look-up adds half to the time of a call. The first call fixes the types, which are never
    checked again, so no argument may come from a user unchecked.

    Attributes:
        call: calls the function.
    """

    __slots__ = ("_function", "call")

    def __init__(self, function: Callable[..., Any]) -> None:
        """Prepare calls of `function`, which is compiled at the first call."""
        self._function = function
        self.call: Callable[..., Any] = self._first_call

    def _first_call(self, *arguments: Any) -> Any:
        if isinstance(self._function, CPUDispatcher):  # else NUMBA_DISABLE_JIT is set
            kinds = [numba.int64 if isinstance(a, int) else numba.typeof(a) for a in arguments]
            self.call = self._function.compile(tuple(kinds))
        else:
            self.call = self._function
        return self.call(*arguments)


def _compiled(function: F, **more: Any) -> F:
    if not COMPILES:
        return function
    _packages.setdefault(function.__module__.partition(".")[0], False)
    # Without numba's runtime nothing can allocate, and arrays are not reference-counted. Counting
    # costs more per call than most functions do (observing took 4 times as long).
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
    options["no_cfunc_wrapper"] = True  # nothing calls from C, and compiling that entry takes time
    compiled = numba.njit(**(options | more))(function)
    compiled._cache = _NoCache() if _folder_of(function) is None else _Cache(function)
    return cast(F, compiled)
