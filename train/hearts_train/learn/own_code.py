"""Record the user's code that makes a run: its learner, network, encoder and agents.

A finished run counts only for the code that made it. Modules that this code imports are not
covered, except the functions and classes of the user's that a learner names.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import pickle
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter

from hearts_agents.spec import Kind
from hearts_agents.user_code import code_file, is_code, is_users
from hearts_env.encoders import ENCODERS
from hearts_env.support.errors import quoted
from hearts_train.learn.config import AVERAGE, TrainConfig
from hearts_train.measure.participants import Participant


@dataclass(frozen=True)
class OwnCode:
    """The code of a run, from an update on."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    learner: str
    """The class that learns, as ``module.Class``."""
    digests: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None]
    """The SHA-256 of each part that belongs to the user: the learner by its code, the others by
    their files or weights. None: it cannot be told."""
    since: int = 0
    """The updates before."""

    @property
    def class_name(self) -> str:
        """The name of the class without its module."""
        return self.learner.rpartition(".")[2]


_HISTORY = TypeAdapter(list[OwnCode])


def to_json(history: Sequence[OwnCode]) -> list[dict[str, Any]]:
    """Return a run's history of code as JSON types."""
    return [asdict(code) for code in history]


def from_json(value: Any) -> list[OwnCode]:
    """Return the history of untrusted JSON, as text or parsed. ValidationError: it is invalid."""
    if isinstance(value, str):
        return _HISTORY.validate_json(value)
    return _HISTORY.validate_python(value)


def change_of(before: OwnCode | None, now: OwnCode) -> str:
    """Describe how a run's code has changed, or return "". If `before` is None, it is unknown."""
    if before is None:
        return "its code is unknown"
    if before.learner != now.learner:
        return f"its learner was {quoted(before.learner)}, not {quoted(now.learner)}"
    for name in before.digests.keys() & now.digests.keys():
        if None in (before.digests[name], now.digests[name]):
            return f"the code of {quoted(name)} cannot be compared"
        if before.digests[name] != now.digests[name]:
            return f"{quoted(name)} has changed since"
    return ""


def continued(history: Sequence[OwnCode], now: OwnCode, updates: int) -> list[OwnCode]:
    """Return the history of a run that goes on after some updates, with this code."""
    kept = [code for code in history if code.since < updates]
    if kept and replace(kept[-1], since=now.since) == now:
        return kept
    return [*kept, replace(now, since=updates if kept else 0)]


# ---- the code of a run ---------------------------------------------------------------------------
def code_of(config: TrainConfig, learner: type) -> OwnCode:
    """Return the code of a run with this config and this class.

    Raises:
        HeartsError: if an agent cannot be made.
    """
    module = learner.__module__.replace("__mp_main__", "__main__")  # in a spawned process
    known_as = f"{module}.{learner.__qualname__}"
    found = {known_as: _digest(learner)} if is_users(module) else {}
    for name in config.own_code:
        source = code_file(name)
        found[name] = hashlib.sha256(source.read_bytes()).hexdigest() if source else None
    encoder = config.env.observation
    if not is_code(encoder) and is_users(type(ENCODERS.get(encoder)).__module__):
        found[encoder] = _digest(ENCODERS[encoder])
    if not config.ppo.has_magnet:
        unused = config.ppo.model_copy(update={"magnet": AVERAGE})
        config = config.model_copy(update={"ppo": unused})
    for name in config.agents:
        with closing(Participant(name, 0)) as agent:
            if agent.digest is not None or agent.spec.kind is Kind.CODE:
                found[name] = agent.digest
    return OwnCode(known_as, found)


# ---- the digest of a class -----------------------------------------------------------------------
_NOT_CONTENT = {"__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "_abc_impl"}
_NOT_CONTENT |= {"__abstractmethods__", "__firstlineno__", "__static_attributes__"}
_NOT_CONTENT |= {"__dataclass_fields__", "__dataclass_params__"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


def _digest(value: Any) -> str | None:
    """Return the SHA-256 of a class or object of the user's, or None if it cannot be told.

    It covers the compiled code of the class, of its bases, and of the functions, classes and
    constants that this code names, unless they belong to a library. Unlike the text of a file, this
    is the code that runs, also in a notebook and after an import that is no longer up to date.
    """
    digest = hashlib.sha256()
    try:
        for part in _parts(value, set()):
            data = part if isinstance(part, bytes) else part.encode()
            digest.update(len(data).to_bytes(8, "big"))  # separates the parts
            digest.update(data)
    except Exception:  # of many types: a value that cannot be pickled, or contains itself
        return None
    return digest.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[str | bytes]:
    """Yield the content of a value, that of each function and class once."""
    value = inspect.unwrap(value) if callable(value) and not isinstance(value, type) else value
    yield type(value).__name__
    if isinstance(value, _PLAIN):
        yield repr(value)
    elif isinstance(value, list | tuple):
        yield str(len(value))
        for item in value:
            yield from _parts(item, seen)
    elif isinstance(value, set | frozenset):
        yield from _parts(sorted(map(repr, value)), seen)
    elif isinstance(value, dict | MappingProxyType):
        yield from _parts(list(value.items()), seen)
    elif isinstance(value, property):
        yield from _parts([value.fget, value.fset, value.fdel], seen)
    elif isinstance(value, staticmethod | classmethod):
        yield from _parts(value.__func__, seen)
    elif isinstance(value, functools.cached_property):
        yield from _parts(value.func, seen)
    elif isinstance(value, CodeType):
        yield value.co_code
        yield from _parts([value.co_consts, value.co_names, value.co_freevars], seen)
    elif isinstance(value, ModuleType | MemberDescriptorType | GetSetDescriptorType):
        yield value.__name__
    elif isinstance(value, BuiltinFunctionType):
        yield value.__qualname__
    elif isinstance(value, type | FunctionType):
        yield f"{value.__module__}.{value.__qualname__}".replace("__mp_main__", "__main__")
        if is_users(str(value.__module__)) and id(value) not in seen:
            seen.add(id(value))
            inside = _inside_class if isinstance(value, type) else _inside_function
            yield from inside(value, seen)
    elif is_users(type(value).__module__):
        yield from _parts([type(value), getattr(value, "__dict__", None)], seen)
    else:
        yield pickle.dumps(value, protocol=5)


def _inside_class(value: Any, seen: set[int]) -> Iterator[str | bytes]:
    yield from _parts(value.__bases__, seen)
    for name, item in sorted(vars(value).items()):
        if name not in _NOT_CONTENT and not name.startswith("__annotate"):
            yield name
            yield from _parts(item, seen)


def _inside_function(value: Any, seen: set[int]) -> Iterator[str | bytes]:
    cells = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
    yield from _parts([value.__code__, value.__defaults__, value.__kwdefaults__, cells], seen)
    for name in sorted(_globals_of(value.__code__) & value.__globals__.keys()):
        yield name
        yield from _parts(value.__globals__[name], seen)


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # an empty cell
        return False


def _globals_of(code: CodeType) -> set[str]:
    """Return the names of the globals and built-ins in a function and in those inside it."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    own = {one.argval for one in dis.get_instructions(code) if one.opname in loads}
    return own.union(*map(_globals_of, inner))
