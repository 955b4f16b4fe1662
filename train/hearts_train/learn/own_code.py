"""Record the user's code that makes a run: its learner, network, encoder and agents.

A finished run counts only for the code that made it. A learner is recorded with the functions,
classes and values that its code names. All other code is recorded by its files.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import (
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter

from hearts_agents.spec import Kind
from hearts_agents.user_code import code_file, find_class, is_users
from hearts_env.encoders import ENCODERS
from hearts_env.support.errors import quoted
from hearts_env.support.files import kind_of
from hearts_train.learn.config import AVERAGE, TrainConfig
from hearts_train.measure.participants import Participant


@dataclass(frozen=True)
class OwnCode:
    """The code of a run, from an update on."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    learner: str
    """The class that learns, as ``module.Class``."""
    digests: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    """The SHA-256 of each part that belongs to the user: of the learner's code, and of the files or
    weights of all others."""
    since: int = 0
    """The number of updates before this code."""

    @property
    def class_name(self) -> str:
        """The name of the class without its module."""
        return self.learner.rpartition(".")[2]


_HISTORY = TypeAdapter(list[OwnCode])


def to_json(history: Sequence[OwnCode]) -> list[dict[str, Any]]:
    """Return a run's history of code as JSON types."""
    return [asdict(code) for code in history]


def from_json(value: Any) -> list[OwnCode]:
    """Return the history in untrusted JSON, text or parsed. Invalid JSON is a ValidationError."""
    if isinstance(value, str):
        return _HISTORY.validate_json(value)
    return _HISTORY.validate_python(value)


def change_of(before: OwnCode | None, now: OwnCode) -> str:
    """Describe how a run's code has changed, or return "". If `before` is None, it is unknown."""
    if before is None:
        return "its code is unknown"
    if before.class_name != now.class_name:
        return f"its learner was {quoted(before.learner)}, not {quoted(now.learner)}"
    # A script is another module if it is imported, and a class of the package has no digest.
    old = before.digests | {now.learner: before.digests.get(before.learner)}
    new = now.digests | {now.learner: now.digests.get(now.learner)}
    changed = (name for name in new if old.get(name, new[name]) != new[name])
    return next((f"{quoted(name)} has changed since" for name in changed), "")


def continued(history: Sequence[OwnCode], now: OwnCode, updates: int) -> list[OwnCode]:
    """Return the history of a run that goes on after some updates, with this code."""
    kept = [code for code in history if code.since < updates]
    if kept and replace(kept[-1], since=now.since) == now:
        return kept
    return [*kept, replace(now, since=updates if kept else 0)]


# ---- the code of a run ---------------------------------------------------------------------------
EARLIER: dict[str, str] = {}
"""The recorded digest of an object by its present digest, if training has changed the object.

A list that training fills would look like other code to the next call in the same process.
"""


def code_of(config: TrainConfig, learner: type) -> OwnCode:
    """Return the code of a run with this config and this class.

    Raises:
        HeartsError: if an agent, a network or an encoder cannot be found.
    """
    found = {name: _recorded(value) for name, value in _objects(config, learner).items()}
    for name in config.own_code:
        source = code_file(name)
        if source is not None and kind_of(source) == "file":
            found[name] = hashlib.sha256(source.read_bytes()).hexdigest()
        else:  # as in a notebook
            setting = "network.module" if name == config.network.module else "env.observation"
            found[name] = _recorded(find_class(setting, name))
    if not config.ppo.has_magnet:
        unused = config.ppo.model_copy(update={"magnet": AVERAGE})
        config = config.model_copy(update={"ppo": unused})
    for name in config.agents:
        with closing(Participant(name, 0)) as agent:
            if agent.digest is not None:
                found[name] = agent.digest
            elif agent.spec.kind is Kind.CODE:
                found[name] = _recorded(agent.agent)
    return OwnCode(_name_of(learner), found)


@contextmanager
def same_code(config: TrainConfig, learner: type) -> Iterator[None]:
    """Let code count as the same later, although training changes the objects that it names."""
    before = {name: _recorded(value) for name, value in _objects(config, learner).items()}
    try:
        yield
    finally:
        for name, value in _objects(config, learner).items():
            EARLIER.setdefault(_digest(value), before[name])


def _recorded(value: Any) -> str:
    digest = _digest(value)
    return EARLIER.get(digest, digest)


def _objects(config: TrainConfig, learner: type) -> dict[str, Any]:
    """Return the learner and the registered encoder, by name, if they are the user's own code."""
    encoder = config.env.observation
    found = {_name_of(learner): learner} if is_users(learner.__module__) else {}
    if is_users(type(ENCODERS.get(encoder)).__module__):
        found[encoder] = ENCODERS[encoder]
    return found


def _name_of(learner: type) -> str:
    module = learner.__module__.replace("__mp_main__", "__main__")  # in a spawned process
    return f"{module}.{learner.__qualname__}"


# ---- the digest of an object ---------------------------------------------------------------------
_PLAIN = {bool, int, float, complex, str, bytes, type(None)}
_BY_VALUE = {*_PLAIN, tuple, frozenset, CodeType}
"""The types of constants. Equal constants may be one object or several."""
_PARTS = {
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    MethodType: ("__self__", "__func__"),
    functools.partial: ("func", "args", "keywords"),
}
_RANDOM = (random.Random, np.random.Generator, np.random.BitGenerator, np.random.RandomState)
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_NOT_CODE = ("__doc__", "__module__", "__firstlineno__", "__static_attributes__")
"""Names that the body of a class sets without effect on what it does."""
_DATA = ("__slots__", "__pydantic_fields__")
"""Special attributes of a class that count, although they are no methods."""


def _digest(value: Any, known: Mapping[int, Any] = MappingProxyType({})) -> str:
    """Return the SHA-256 of a user's class or object.

    It covers the compiled code of the class, of its bases, and of the functions, classes and values
    that this code names, unless they belong to a library. Unlike the text of a file, this is the
    code that runs, also in a notebook and after an import that is no longer up to date. Locks,
    files and random generators count by their type.

    Args:
        value: the class or object.
        known: the objects around it, by id, each with its number.
    """
    inside: Sequence[Any]
    digest, seen, waiting = hashlib.sha256(), dict(known), [value]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            data, inside = b"as %d" % seen[id(value)][0], ()
        else:
            if type(value) not in _BY_VALUE:
                seen[id(value)] = len(seen), value  # holds the object, so its id stays its own
            head, inside = _opened(value, seen)
            data = head if isinstance(head, bytes) else head.encode(errors="surrogatepass")
        digest.update(f"{type(value).__qualname__} {len(data)} {len(inside)} ".encode() + data)
        waiting.extend(reversed(inside))
    return digest.hexdigest()


def _opened(value: Any, seen: Mapping[int, Any]) -> tuple[str | bytes, Sequence[Any]]:
    """Return the content of a value: text or bytes, and the values inside."""
    kind = type(value)
    if kind in _PLAIN:
        return value if kind in (str, bytes) else repr(value), ()
    if kind in (list, tuple):
        return "", value
    if kind in (dict, MappingProxyType):
        return "", list(value.items())
    if issubclass(kind, set | frozenset):
        items = sorted(_digest(one, {} if type(one) in _PLAIN else seen) for one in value)
        return "", [items, *_subclassed(value, set, frozenset)]
    for base, names in _PARTS.items():
        if issubclass(kind, base):
            return "", [*(getattr(value, name) for name in names), *_subclassed(value, base)]
    if kind is CodeType:
        return "", _inside_code(value)
    if kind is FunctionType:
        return _function(value)
    if issubclass(kind, type):
        return _class(value)
    if issubclass(kind, ModuleType):
        file = Path(getattr(value, "__file__", None) or "")
        return value.__name__, [file.read_bytes()] if is_users(value.__name__) and file.name else ()
    if issubclass(kind, np.dtype):
        return repr(value), ()
    torch = sys.modules.get("torch")
    if issubclass(kind, _RANDOM) or (torch and issubclass(kind, torch.Generator)):
        return "", [kind]
    if torch and issubclass(kind, torch.Tensor):
        with suppress(Exception):  # of a sparse tensor, or without data
            dense = value.detach().cpu().resolve_conj().resolve_neg().contiguous().flatten()
            data = dense.view(torch.uint8).numpy().tobytes()
            return data, [kind, str(value.dtype), tuple(value.shape), value.requires_grad]
    return _object(value)


def _subclassed(value: Any, *bases: type) -> list[Any]:
    """Return the attributes that a user's subclass of a built-in class adds to an object."""
    return [] if type(value) in bases else [type(value), getattr(value, "__dict__", None)]


def _object(value: Any) -> tuple[str, Sequence[Any]]:
    """Return the content of another object: what ``pickle`` would keep, or its type and fields."""
    kind, make = type(value), copyreg.dispatch_table.get(type(value))
    how: Any = ""
    with suppress(Exception):  # of many types
        if hasattr(value, "__wrapped__") and not is_users(kind.__module__):
            return "", [kind, value.__wrapped__]  # a cached or compiled function
        how = make(value) if make else value.__reduce_ex__(4)
        if not isinstance(how, str):
            how = [*how[:3], *(list(items or ()) for items in how[3:5])]
    if not isinstance(how, list):  # the name of a global, or no content
        how = [kind, how]
        with suppress(Exception):
            how.append(vars(value))
    copied = functools.WRAPPER_ASSIGNMENTS
    return "", [
        {key: one for key, one in part.items() if key not in copied} if type(part) is dict else part
        for part in how
    ]


def _class(value: Any) -> tuple[str, Sequence[Any]]:
    if not is_users(str(value.__module__)):
        return f"{value.__module__}.{value.__qualname__}", ()
    members = [one for one in sorted(vars(value).items()) if _is_content(*one)]
    return value.__qualname__, [type(value), value.__bases__, members]


def _is_content(name: str, value: Any) -> bool:
    """Return True if an attribute of a class counts. Python and libraries add many others."""
    if name.startswith("__") and name.endswith("__"):
        is_method = callable(value) or isinstance(value, classmethod | property)
        return name in _DATA or (is_method and not name.startswith("__annotate"))
    return name != "_abc_impl" and not isinstance(value, MemberDescriptorType)


def _function(value: Any) -> tuple[str, Sequence[Any]]:
    """Return the content of a function: all of it if its globals are the user's code.

    In a library's function, such as the wrapper of a decorator, only callable and fixed values
    count. The rest may be a cache.
    """
    module, code = str(value.__globals__.get("__name__")), value.__code__
    cells = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
    if not is_users(module):
        fixed = [one for one in cells if type(one) in {*_PLAIN, tuple}]
        calls = [one for one in (*cells, *vars(value).values()) if callable(one)]
        return f"{module}.{code.co_qualname}", [fixed, calls, vars(value).get("registry")]
    inside = [code, value.__defaults__, value.__kwdefaults__, cells, vars(value)]
    return value.__qualname__, [*inside, _named(code, value.__globals__)]


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # an empty cell
        return False


def _named(code: CodeType, space: Mapping[str, Any]) -> dict[str, Any]:
    """Return the globals that code names. Of a user's module, return the parts that it names."""
    codes, loads = [code], set()
    for one in codes:  # which grows
        codes += (inner for inner in one.co_consts if isinstance(inner, CodeType))
        steps = dis.get_instructions(one)
        loads |= {step.argval for step in steps if step.opname in _LOADS}
    found = {name: space[name] for name in sorted(loads & space.keys() - {"__name__"})}
    names = {name for one in codes for name in one.co_names}
    return {name: _parts_of(value, names) for name, value in found.items()}


def _parts_of(value: Any, names: set[str], around: tuple[Any, ...] = ()) -> Any:
    """Return the parts of a user's module that code names. Return any other value unchanged."""
    if not isinstance(value, ModuleType) or not is_users(value.__name__) or value in around:
        return value
    parts = sorted(names & vars(value).keys())
    return {part: _parts_of(vars(value)[part], names, (*around, value)) for part in parts}


def _inside_code(code: CodeType) -> Sequence[Any]:
    """Return the content of code without its docstrings, constants that it never loads."""
    flags = code.co_flags & 0x3FF  # of arguments and of the kind of function
    steps = list(dis.get_instructions(code))
    idle = [step.opname == "STORE_NAME" and step.argval in _NOT_CODE for step in steps]
    lines = [
        f"{step.opname} {step.argval!r}"
        if type(step.argval) in _PLAIN
        else (step.opname, step.argval)
        for step, *is_idle in zip(steps, idle, [*idle[1:], False], strict=True)  # its value, too
        if not any(is_idle)
    ]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags]
    return [*counts, code.co_varnames, code.co_exceptiontable, *lines]
