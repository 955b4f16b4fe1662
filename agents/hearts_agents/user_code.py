"""The code of users: permission to run it, its errors, its import, and its way to other processes.

``allow_code`` permits files that can run code. ``blamed`` turns every exception of a user's code
into a one-line error. ``find_code`` imports an agent named ``my_agent.py:MyAgent`` or
``pkg.mod:Cls``. ``packed`` pickles objects of a user's classes for another process.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import io
import os
import pickle
import sys
import sysconfig
import traceback
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle

from hearts_env import HeartsError
from hearts_env.encoders import ENCODERS, OWN_WRITERS, register_encoder
from hearts_env.support.errors import did_you_mean, quoted
from hearts_env.support.files import kind_of
from hearts_env.support.interrupts import signals_apart

TRUST = "HEARTS_ALLOW_CODE"
"""The environment variable that, if it is 1, permits loading files that can run code.

Child processes inherit it.
"""


def allow_code() -> None:
    """Permit this process and its child processes to load files that can run code."""
    os.environ[TRUST] = "1"


def is_code_allowed() -> bool:
    """Return whether files that can run code may be loaded."""
    return os.environ.get(TRUST) == "1"


def check_allowed(where: str, what: str) -> None:
    """Raise unless files that can run code may be loaded.

    Args:
        where: the beginning of the message: the option that read a record, and the record's path.
        what: the code that the record names, such as "the agent 'my.py:Mine'".
    """
    if not is_code_allowed():
        raise HeartsError(
            f"{where} names {what}, which can run any code; if you trust the file's author, add "
            "--allow-code, or in Python call hearts_agents.allow_code()"
        )


KINDS = ("raised", "illegal", "crashed", "late")
"""The kinds of faults. The last two occur only in a separate process."""
RAISED, ILLEGAL, CRASHED, LATE = KINDS


class Fault(NamedTuple):
    """A fault of an agent in one row of a batch of views."""

    row: int
    kind: str
    """One of `KINDS`."""
    text: str
    """A description in one line."""


_MOST_TEXT = 500
_OURS = ("hearts_env", "hearts_agents", "hearts_train")
_STDLIB = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})


def describe(error: BaseException) -> str:
    """Describe an exception in one line, with its place in a user's code, ``line 3 of my.py``."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # of its own __str__
        text = type(error).__name__
    return " ".join(text.split())[:_MOST_TEXT] + _place(error)


def _place(error: BaseException) -> str:
    """Return the innermost place in a user's code, not in this package or a library, or ""."""
    if isinstance(error, SyntaxError):
        return ""  # its message already has the place
    place = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        file = code.co_filename
        is_ours = module.partition(".")[0] in _OURS
        if not (is_ours or file.startswith("<") or _is_in_library(file)):
            inside = "" if code.co_name == "<module>" else f", in {code.co_name}"
            place = f", line {number} of {Path(file).name}{inside}"
    return place


def is_users(module: str) -> bool:
    """Return whether a module belongs to the user: neither to this package nor to a library."""
    root = module.partition(".")[0]
    files = (getattr(sys.modules.get(name), "__file__", None) for name in (module, root))
    file = next(filter(None, files), "")
    is_builtin = root in sys.stdlib_module_names and not file  # a user's file may have its name
    return module == "__main__" or not (root in _OURS or is_builtin or _is_in_library(file))


def _is_in_library(file: str) -> bool:
    """Return whether a file belongs to the standard library, or was installed."""
    folders = {"site-packages", "dist-packages"}
    return file.startswith(_STDLIB) or not folders.isdisjoint(Path(file).parts)


@contextlib.contextmanager
def blamed(what: str, fix: str) -> Iterator[None]:
    """Run a user's code, and turn its exceptions into a one-line ``HeartsError``.

    A ``HeartsError`` passes through, and so do exceptions raised by signals.

    Args:
        what: the beginning of the message, such as "agent: 'mine' could not be made".
        fix: the end of the message: how to fix it.

    Raises:
        HeartsError: if the code raises anything else, including ``SystemExit``.
    """
    with signals_apart() as check_signals:
        try:
            yield
        except HeartsError:
            check_signals()
            raise
        except BaseException as error:
            check_signals()
            raise HeartsError(f"{what} ({describe(error)}); {fix}") from None
        check_signals()


def find_code(name: str) -> Callable[..., Any]:
    """Import and return the factory named ``FILE.py:NAME`` or ``MODULE:NAME``.

    NAME is a class, a function that returns an agent, or an agent.
    """
    value = _found("agent", name)
    if not callable(value) and callable(getattr(value, "act", None)):
        return lambda: value
    return _called("agent", name, value)


def is_code(name: str) -> bool:
    """Return whether `name` has the form ``FILE.py:NAME`` or ``MODULE:NAME``."""
    return ":" in name


def find_class(setting: str, name: str) -> Callable[..., Any]:
    """Import and return the class or function that a setting names.

    Args:
        setting: the setting's name, for messages.
        name: ``FILE.py:NAME`` or ``MODULE:NAME``.

    Raises:
        HeartsError: if code is not permitted, or there is no such class.
    """
    if not is_code_allowed():
        raise HeartsError(
            f"{setting}: {quoted(name)} is code, which can do anything; if you trust it, add "
            "--allow-code, or in Python call hearts_agents.allow_code()"
        )
    return _called(setting, name, _found(setting, name))


def code_file(name: str) -> Path | None:
    """Return the source file of ``FILE.py:NAME`` or ``MODULE:NAME``, or None if there is none.

    Nothing is imported.
    """
    where = name.rpartition(":")[0]
    if where.endswith(".py"):
        return Path(where)
    source = getattr(sys.modules.get(where), "__file__", None) or _source(where)
    return Path(source) if source else None


def declared_files(player: Any, code: Any = None) -> dict[str, Path]:
    """Return the files that an agent declares, by declared name.

    An agent declares them as ``files = ("weights.pth",)`` in its class, in the object, or in the
    module of its code. Paths are relative to the folder of the declaring code.

    Args:
        player: the agent.
        code: the factory from ``find_code``. If None, the module's declaration does not count.

    Raises:
        HeartsError: if the declaration is not a tuple or list of texts, or a file is missing.
    """
    declared, home = getattr(player, "files", None), type(player).__module__
    if declared is not None and "files" not in getattr(player, "__dict__", {}):
        owners = (cls.__module__ for cls in type(player).__mro__ if "files" in vars(cls))
        home = next(owners, home)
    if declared is None and code is not None:
        modules = (str(getattr(code, "__module__", "")), home)
        home = next((m for m in modules if hasattr(sys.modules.get(m), "files")), home)
        declared = getattr(sys.modules.get(home), "files", None)
    if declared is None or callable(declared):  # like importlib.resources.files
        return {}
    if not isinstance(declared, tuple | list) or not all(isinstance(f, str) for f in declared):
        raise HeartsError(
            f"files: {quoted(declared)} of {home} are not paths; declare a tuple of texts, as in "
            'files = ("weights.pth",)'
        )
    source = getattr(sys.modules.get(home), "__file__", None)
    folder = Path(source).resolve().parent if source else Path.cwd()
    found = {name: folder / name for name in declared}
    for name, path in found.items():
        if kind_of(path) != "file":
            raise HeartsError(
                f"files: {quoted(name)} of {home} is not a file in {str(folder)!r}; correct the "
                "declaration, relative to the code's folder"
            )
    return found


def _source(module: str) -> str | None:
    """Return the source file of a module without importing it, or None."""
    first, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(first)  # a dotted name would import its parents
    except (ImportError, ValueError):
        spec = None
    find = importlib.machinery.PathFinder.find_spec
    spec = spec or find(first, [str(Path.cwd())])
    for part in rest:
        spec = find(part, list(spec.submodule_search_locations or ())) if spec else None
    return spec.origin if spec is not None and spec.has_location else None


def _found(role: str, name: str) -> object:
    """Import the file or module, and return its attribute NAME."""
    where, _, what = name.rpartition(":")
    module = _module(role, name, where)
    if not hasattr(module, what):
        own = [
            key
            for key, item in vars(module).items()
            if isinstance(item, type | types.FunctionType) and item.__module__ == module.__name__
        ]
        hint = did_you_mean(what, own) if own else "it defines no class"
        raise HeartsError(f"{role}: {where} has no {what!r}; {hint}")
    return getattr(module, what)


def _called(role: str, name: str, value: object) -> Callable[..., Any]:
    """Return `value` if it is a class or function, else raise."""
    if not callable(value):
        raise HeartsError(
            f"{role}: {name!r} is of type {type(value).__name__}; name a class or a function"
        )
    return typing.cast(Callable[..., Any], value)


def _module(role: str, name: str, where: str) -> types.ModuleType:
    what = f"{role}: {name!r}: {where} cannot be imported"
    with blamed(what, f"correct it, or name another {role.split('.')[-1]}"):
        if where.endswith(".py"):
            return _module_of_file(role, Path(where))
        if "" not in sys.path and str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))  # as `python -m` has it
        return importlib.import_module(where)


def _module_of_file(role: str, path: Path) -> types.ModuleType:
    if not path.is_file():
        raise HeartsError(f"{role}: there is no file {str(path)!r}; check the path")
    file = path.resolve()
    stamp = f"{file}\0{file.stat().st_mtime_ns}"
    key = "hearts_agent_" + hashlib.sha256(stamp.encode()).hexdigest()[:16]
    if key in sys.modules:  # imported once, so that a class is always the same
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # for modules beside the file
    sys.modules[key] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[key]
        raise
    return module


# ---- to other processes --------------------------------------------------------------------------
def packed(what: str, value: object, fix: str) -> bytes:
    """Pickle a value for another process.

    Classes and functions travel by value if they are defined in a script, in a notebook, or in a
    module that another process cannot import.

    Args:
        what: the beginning of the message, such as "workers: a task".
        value: the value.
        fix: the end of the message: how to fix it.

    Raises:
        HeartsError: if it cannot be pickled. The message names the user's class.
    """
    data = io.BytesIO()
    pickler = _Pickler(data)
    try:
        pickler.dump(value)
    except Exception as error:
        script = getattr(sys.modules["__main__"], "__file__", None)
        if script and os.path.exists(script):  # which other processes can import
            with contextlib.suppress(Exception):
                return pickle.dumps(value)
        raise HeartsError(
            f"{what} cannot be sent to another process ({pickler.owner}{describe(error)}); {fix}"
        ) from None
    return data.getvalue()


def packed_encoders() -> dict[str, bytes]:
    """Return the encoders that ``register_encoder`` added here, by name, for another process.

    Encoders that cannot be pickled are left out.
    """
    found: dict[str, bytes] = {}
    for name in ENCODERS.keys() - OWN_WRITERS.keys():
        with contextlib.suppress(HeartsError):
            found[name] = packed(name, ENCODERS[name], "")
    return found


def register_packed(encoders: dict[str, bytes]) -> None:
    """Register the encoders of ``packed_encoders`` in this process, if it can load them."""
    for name, data in encoders.items():
        with contextlib.suppress(Exception):
            register_encoder(name, pickle.loads(data))


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles by value everything that another process cannot import, and notes users' classes."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.owner = ""
        """The user's class or function that was pickled last, for messages."""
        self._is_known = dict.fromkeys((*_OURS, *sys.stdlib_module_names), True)

    def reducer_override(self, obj: Any) -> Any:
        is_definition = isinstance(obj, type | types.FunctionType)
        kind = obj if is_definition else type(obj)
        name = str(getattr(kind, "__module__", "builtins"))
        if name.partition(".")[0] not in {*_OURS, *sys.stdlib_module_names}:
            self.owner = f"{kind.__qualname__} of {name}: "
        module = sys.modules.get(name)
        if is_definition and module is not None and not self._is_importable(name):
            cloudpickle.register_pickle_by_value(module)
        return super().reducer_override(obj)

    def _is_importable(self, name: str) -> bool:
        """Return True if another process with this one's import path can import a module."""
        first = name.partition(".")[0]
        if first not in self._is_known:
            finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
            self._is_known[first] = any(find and find(first, None) for find in finders)
        return self._is_known[first]
