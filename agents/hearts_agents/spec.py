"""Parse agent names. An ``AgentSpec`` is the parsed form.

There are five ways to name an agent: one of ``agent_names()``, the path of a file or a run, code as
``FILE.py:NAME`` or ``MODULE:NAME``, a program as ``exec:COMMAND``, or the object itself. Options
may follow a name, as in ``pro?worlds=50&epsilon=0.2``.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import os
import re
import shlex
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Self

from hearts_agents.base import Agent, as_agent, unadapted
from hearts_agents.models.checkpoint import refuse_weights
from hearts_agents.programs.program_agent import EXEC, ExternalAgent
from hearts_agents.registry import (
    CHECKPOINT_SUFFIX,
    FILES,
    FORMATS,
    OWN,
    RISKS,
    VERSIONS,
    Factory,
    agent_names,
    check_options,
    looks_like_path,
    model_factory,
    parse_options,
    split_version,
    versioned,
)
from hearts_agents.user_code import (
    blamed,
    check_allowed,
    code_file,
    declared_files,
    find_code,
    is_code_allowed,
)
from hearts_env import HeartsError, Rules
from hearts_env.support.errors import CheckpointError, did_you_mean, quoted
from hearts_env.support.files import kind_of
from hearts_env.support.tensors import format_of

_CODE = re.compile(r"(.+\.py|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_]\w*")
"""Code: a file or module, and the name in it. No module can be named ``exec``."""
_PLAIN_PATH = re.compile(r"[\w.][\w./\\+-]*")
"""A path without the marks of options, lists, code or programs."""
_QUOTED_OR_NOT = re.compile(r"""(?:[^?'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*""", re.DOTALL)


class Kind(StrEnum):
    """The kinds of agents that a name can refer to."""

    OWN = "own"  # one of this package's players
    FILE = "file"  # or the folder of a training run
    CODE = "code"
    PROGRAM = "program"
    OBJECT = "object"  # no name: the agent itself, or a model of another library
    UNKNOWN = "unknown"  # only in a record


@dataclass(frozen=True)
class AgentSpec:
    """A parsed agent name.

    Attributes:
        kind: the kind of agent.
        name: the name without version and options: ``pro``, a path, ``my.py:Mine``, ``exec:./bot``.
        text: the full name in records, which can be parsed again, or None for an object.
        options: the options after the name, as text.
        agent: the object, if the kind is OBJECT.
        files: the files that the object has declared in another process, or None. In this process
            its code may be in another place.
    """

    kind: Kind
    name: str
    text: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    agent: Any = None
    files: Mapping[str, Path] | None = None

    @classmethod
    def parse(cls, agent: Any) -> AgentSpec:
        """Parse a name, a path, an object, or a spec. Nothing is loaded.

        Raises:
            HeartsError: if the name is unknown, or its options cannot be parsed.
        """
        if isinstance(agent, AgentSpec):
            return agent
        if isinstance(agent, os.PathLike):
            path = path_name(agent)
            return cls(Kind.FILE, path, path)
        if not isinstance(agent, str):
            return cls(Kind.OBJECT, type(agent).__name__, None, agent=agent)
        spec = cls.from_json(agent)
        if spec.kind is Kind.UNKNOWN:
            spec._refuse()
        return spec

    @classmethod
    def from_json(cls, record: object) -> Self:
        """Parse an agent name from a record. Unknown names become UNKNOWN. Nothing is loaded."""
        text = str(record)  # a record may contain any value
        is_program = text.startswith(EXEC)
        if not is_program and looks_like_path(text) and kind_of(text):
            return cls(Kind.FILE, text, text)
        try:
            name, options = _split(text)
        except HeartsError:
            return cls(Kind.UNKNOWN, text, text)
        if is_program:
            return cls(Kind.PROGRAM, name, text, options)
        plain, version = split_version(name)
        if version not in (None, VERSIONS.get(plain)):
            return cls(Kind.UNKNOWN, name, text, options)
        if plain in OWN:
            kind = Kind.OWN
        elif _CODE.fullmatch(plain):
            kind = Kind.CODE
        elif not plain.endswith(".py") and (looks_like_path(plain) or kind_of(plain)):
            kind = Kind.FILE
        else:
            kind = Kind.UNKNOWN
        return cls(kind, plain, text, options)

    def _refuse(self) -> typing.NoReturn:
        name, text = self.name, self.text or ""
        _split(text)
        plain, version = split_version(name)
        if version is not None:
            raise HeartsError(
                f"agent: {name!r} is not the {plain} of this package, which is "
                f"{versioned(plain)!r}; take {versioned(plain)}, or install a version of "
                f"hearts-env that has {name}"
            )
        if name.endswith(".py"):
            raise HeartsError(f"agent: {text!r} does not say which class; write {name}:CLASS")
        raise HeartsError(
            f"agent: {quoted(name)} is unknown; {did_you_mean(name, agent_names())}; "
            f"or give the path of a run's folder or a file ({', '.join(FILES)}), FILE.py:CLASS or "
            "exec:PROGRAM"
        )

    @property
    def is_named(self) -> bool:
        """True if the agent can be made again from its name."""
        return self.kind is not Kind.OBJECT

    def unversioned(self) -> AgentSpec:
        """Return the spec with a plain name: ``pro`` for ``pro-v1``."""
        is_bare = self.kind is Kind.OWN and not self.options
        return replace(self, text=self.name) if is_bare else self

    # -- permissions ------------------------------------------------------------------------------
    @property
    def is_outside(self) -> bool:
        """True if the agent, or one in its options, loads code from outside this package.

        Programs do not count: they run in their own processes.
        """
        return any(spec.kind is Kind.CODE or spec._risk for spec in self._all())

    @property
    def runs_code(self) -> bool:
        """True if the agent, or one in its options, is a program, code or a risky file."""
        return self.is_outside or any(spec.kind is Kind.PROGRAM for spec in self._all())

    @property
    def _risk(self) -> str:
        """The reason why loading the file can run code from it, or "" if loading is safe."""
        if self.kind is not Kind.FILE or kind_of(self.name) == "folder":
            return ""
        return next((risk for suffix, risk in RISKS.items() if self.name.endswith(suffix)), "")

    def _all(self) -> Iterator[AgentSpec]:
        """Yield the spec, then a spec for the value of each option, which may name an agent."""
        yield self
        for text in self.options.values():
            yield from AgentSpec.from_json(text)._all()

    def check_allowed(self, where: str) -> None:
        """Raise if an agent from a record runs code and the user has not allowed code.

        Args:
            where: the beginning of the message: the option that read the record, and the record's
                path.

        Raises:
            HeartsError: if the agent runs code, and code is not allowed.
        """
        if self.runs_code:
            check_allowed(where, f"the agent {quoted(self.text)}")

    # -- making the agent -------------------------------------------------------------------------
    @property
    def label(self) -> str:
        """The agent's name in results."""
        return self.text or str(getattr(self.agent, "name", None) or self.name)

    @property
    def factory(self) -> Factory:
        """The function or class that makes the agent. Reading this attribute imports code."""
        if self.kind is Kind.OWN:
            factory: Factory = resolve_name(OWN[self.name])
            return factory
        if self.kind is Kind.FILE:
            refuse_weights(self.name)
            is_folder = kind_of(self.name) == "folder"  # of a run, however it is called
            suffixes = () if is_folder else FILES
            suffix = next((one for one in suffixes if self.name.endswith(one)), CHECKPOINT_SUFFIX)
            place = FILES[suffix]
            if suffix == CHECKPOINT_SUFFIX:
                place = FORMATS.get(format_of(self.name) or "", place)
            return functools.partial(resolve_name(place), self.name)
        if self.kind is Kind.CODE:
            return find_code(self.name)
        if self.kind is Kind.PROGRAM:
            return functools.partial(ExternalAgent, self.name.removeprefix(EXEC))
        if place := model_factory(self.agent):
            return functools.partial(resolve_name(place), self.agent)
        return self._refuse()

    def values(self) -> dict[str, Any]:
        """Return the options, parsed by the types of the factory's parameters."""
        return parse_options(self.name, self.factory, self.options) if self.options else {}

    def make(self, seed: int | None = None, *, allow_code: bool = False, **options: Any) -> Agent:
        """Make the agent (see ``make_agent``)."""
        if self.kind is Kind.OBJECT and not model_factory(self.agent):
            player = as_agent(self.agent)
            if options or seed is not None:
                wrong = "seed" if seed is not None else next(iter(options))
                raise HeartsError(f"{wrong}: cannot be set for an agent object; omit it")
            return player
        factory, texts = self.factory, self.options
        if self._risk and not (allow_code or is_code_allowed()):
            if not kind_of(self.name):
                raise CheckpointError(
                    f"agent: there is no file {quoted(self.name)}; check the path"
                )
            raise HeartsError(
                f"allow_code: loading {quoted(self.name)} can run any code in it "
                f"({self._risk}); if you trust its author, add --allow-code, or in Python "
                "make_agent(path, allow_code=True)"
            )
        takes_seed = check_options(self.name, factory, {**texts, **options})
        options = parse_options(self.name, factory, texts) | options
        if takes_seed:
            options["seed"] = seed
        name = self.text or ""
        if self.kind is not Kind.CODE:
            return as_agent(factory(**options), name)
        with blamed(
            f"agent: {name!r} could not be made",
            "its factory is called as factory(seed=None, **options)",
        ):
            return as_agent(factory(**options), name)

    def fresh(self, agent: Agent, seed: int, name: str) -> Agent:
        """Return a copy of `agent`, or make it again from its name if it cannot be copied.

        Args:
            agent: an agent made by this spec. It is not changed.
            seed: the seed of the copy's random numbers.
            name: the agent's name in errors.

        Raises:
            HeartsError: if the agent can be neither copied nor made again.
        """
        try:
            with blamed(
                f"agent: {name!r} cannot be copied",
                "the same player must not see a deal from both seats; give it a "
                "__deepcopy__, or name it as FILE.py:CLASS",
            ):
                player = copy.deepcopy(agent)
        except HeartsError:
            if not self.is_named:
                raise
            player = self.make(seed)
        with blamed(
            f"agent: {name!r} cannot be reseeded",
            "its method is called as reseed(seed), with a whole number",
        ):
            player.reseed(seed)
        return player

    # -- identity ---------------------------------------------------------------------------------
    def declared_files(self, agent: Agent) -> dict[str, Path]:
        """Return the files that the code of `agent` declares, by name."""
        for name, path in (self.files or {}).items():
            if kind_of(path) != "file":
                raise HeartsError(
                    f"files: {quoted(name)} of {quoted(self.label)} is not at {str(path)!r} on "
                    "this machine; copy it there"
                )
        if self.files is not None:
            return dict(self.files)
        code = self.factory if self.kind is Kind.CODE else None
        return declared_files(unadapted(agent), code)

    def digest(
        self, agent: Agent | None = None, rules: Rules | None = None, files: Iterable[Path] = ()
    ) -> str | None:
        """Return the SHA-256 of the agent's code, weights and files, or None if it has none.

        Args:
            agent: an agent made by this spec. If None, the digest covers only content that can be
                read without making the agent.
            rules: the rules to play. The digest covers only content used under them. If None, it
                covers all content.
            files: the files that the agent's code declares.
        """
        digest, empty = hashlib.sha256(), hashlib.sha256().digest()
        for part in self.parts(agent, rules):
            digest.update(part)
        for path in files:
            content = path.read_bytes()
            digest.update(len(content).to_bytes(8, "big"))  # separates the files
            digest.update(content)
        return digest.hexdigest() if digest.digest() != empty else None

    def parts(self, agent: Agent | None, rules: Rules | None) -> Iterator[bytes]:
        """Yield the content that the digest covers.

        Code has its source and the files named by its options. Other agents have their weights or
        probabilities. If `agent` is None, the content is a risky file, or the parts of the agents
        in the options.
        """
        if self.kind is Kind.CODE:
            options = self.options if agent is None else self.values()
            for path in (code_file(self.name), *options.values()):
                if isinstance(path, str | os.PathLike) and kind_of(path) == "file":
                    yield Path(path).read_bytes()
        elif agent is not None:
            yield from agent.digest_parts(rules) or ()
        elif self._risk:
            yield Path(self.name).read_bytes()
        else:
            for text in self.options.values():
                spec = AgentSpec.from_json(text)
                if spec.is_outside:
                    yield from spec.parts(None, None)


def make_agent(
    agent: str | os.PathLike[str] | Any,
    seed: int | None = None,
    *,
    allow_code: bool = False,
    **options: Any,
) -> Agent:
    """Make a player from a name, a file, code, a program, a model or an object.

    Args:
        agent: one of:

            - a name from ``agent_names()``, with a version if wanted (``pro-v1``)
            - the path of a checkpoint, a training run's folder, or a model file of
              stable-baselines3, TorchScript or ONNX
            - code as ``my_agent.py:MyAgent`` or ``package.module:MyAgent``: a class, or a function
              that returns a player
            - a program as ``exec:./bot --flag``
            - an object with ``act(view)``. An ``Agent`` is returned unchanged, any other object in
              an adapter
            - a model of stable-baselines3 or a ``torch.nn.Module``, which is copied

            Options may follow a name, as in ``pro?worlds=50``.
        seed: the seed of the player's random numbers. If None, the operating system seeds them.
        allow_code: if True, load files that can run code when loaded (.zip, .pt, .pth).
        **options: the player's own options, such as ``worlds`` of ``pro``.

    Raises:
        HeartsError: if a name or option is unknown, code cannot be imported, a factory raises, or
            a file can run code and `allow_code` is False.
        CheckpointError: if there is no checkpoint at the path.
    """
    return AgentSpec.parse(agent).make(seed, allow_code=allow_code, **options)


def path_name(path: str | os.PathLike[str]) -> str:
    """Return a path as text that names the agent there, and nothing else.

    For example, ``pro`` is the built-in player, so the folder ``pro`` becomes ``./pro``. The result
    is never read as a player, code, a program, a list, or an option of a command.
    """
    name = os.fsdecode(path)
    if _PLAIN_PATH.fullmatch(name) and AgentSpec.from_json(name).kind is Kind.FILE:
        return name
    return os.path.join(os.curdir, name)


def quoted_path(path: str | os.PathLike[str]) -> str:
    """Return ``path_name``, quoted for the command line of a shell."""
    return shlex.quote(path_name(path))


def _split(spec: str) -> tuple[str, dict[str, str]]:
    """Split a spec into the agent's name and its options as text.

    In a program's command, a ``?`` within quotation marks does not begin the options.
    """
    base, mark, rest = spec.partition("?")
    if spec.startswith(EXEC):
        match = _QUOTED_OR_NOT.match(spec)
        end = match.end() if match is not None else 0
        if spec[end : end + 1] != "?":  # to the end, or up to a quotation mark left open
            end = len(spec)
        base, mark, rest = spec[:end], spec[end : end + 1], spec[end + 1 :]
    options: dict[str, str] = {}
    for part in rest.split("&") if mark else []:
        name, equals, value = part.partition("=")
        if not (equals and name.isidentifier() and value):
            raise HeartsError(
                f"agent: {part!r} in {spec!r} is not an option; write it as in pro?worlds=50"
            )
        if name in options:
            raise HeartsError(f"{name}: given twice in {spec!r}; give it once")
        options[name] = value
    return base, options
