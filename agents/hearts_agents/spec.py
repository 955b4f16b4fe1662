"""Read what names an agent, once. Code that has an ``AgentSpec`` asks it.

An agent is named in five ways: one of ``agent_names()``, the path of a file or a run, code as
``FILE.py:NAME`` or ``MODULE:NAME``, a program as ``exec:COMMAND``, or the object itself. Options
may follow a name, as in ``pro?worlds=50&epsilon=0.2``.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from hearts_agents.base import Agent, as_agent, unadapted
from hearts_agents.models.checkpoint import refuse_weights
from hearts_agents.programs.program_agent import EXEC, ExternalAgent
from hearts_agents.registry import (
    CHECKPOINT_SUFFIX,
    FILES,
    FORMATS,
    MODELS,
    OWN,
    RISKS,
    VERSIONS,
    Factory,
    agent_names,
    check_options,
    is_model,
    loaded_from,
    looks_like_path,
    parse_options,
    split_version,
    versioned,
)
from hearts_agents.user_code import blamed, code_file, declared_files, find_code, is_code_allowed
from hearts_env import HeartsError, Rules
from hearts_env.support.errors import did_you_mean, quoted
from hearts_env.support.files import kind_of
from hearts_env.support.tensors import format_of

_CODE = re.compile(r"(.+\.py|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_]\w*")
"""Code: the file or module, and what in it makes the agent; no module is named ``exec``."""
_QUOTED_OR_NOT = re.compile(r"""(?:[^?'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*""", re.DOTALL)
_MOST_COMMAND = 10_000


class Kind(StrEnum):
    """The kinds of things that a name can stand for."""

    OWN = "own"  # one of this package's players
    FILE = "file"  # or the folder of a training run
    CODE = "code"
    PROGRAM = "program"
    OBJECT = "object"  # no name: the agent itself, or a model of which one is made
    UNKNOWN = "unknown"  # only in a record


@dataclass(frozen=True)
class AgentSpec:
    """An agent as it was given.

    Attributes:
        kind: What the name stands for.
        name: The name without version and options: ``pro``, a path, ``my.py:Mine``, ``exec:./bot``.
        text: What it is called in records, and what names it again; None for an object.
        options: Those that follow the name, as text.
        agent: The object, if it is one.
    """

    kind: Kind
    name: str
    text: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    agent: Any = None

    @classmethod
    def parse(cls, agent: Any) -> AgentSpec:
        """Read a name, a path, an object, or a spec itself. Nothing is loaded.

        Raises:
            HeartsError: if nobody knows the name, or its options cannot be read.
        """
        if isinstance(agent, AgentSpec):
            return agent
        if isinstance(agent, os.PathLike):
            path = os.fspath(agent)
            if cls.from_json(path).kind is not Kind.FILE:  # it must look like a path in records
                path = os.path.join(os.curdir, path)
            return cls(Kind.FILE, path, path)
        if not isinstance(agent, str):
            return cls(Kind.OBJECT, type(agent).__name__, None, agent=agent)
        spec = cls.from_json(agent)
        if spec.kind is Kind.UNKNOWN:
            spec._refuse()
        return spec

    @classmethod
    def from_json(cls, record: object) -> Self:
        """The spec that a record names. It may be UNKNOWN here, and gives no permission."""
        text = str(record)  # a file may say anything
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
                f"{versioned(plain)!r}; take that one, or install a version of hearts-env that has "
                "the other",
                value=name,
            )
        if name.endswith(".py"):
            raise HeartsError(
                f"agent: {text!r} does not say which class; write {name}:CLASS", value=text
            )
        raise HeartsError(
            f"agent: {quoted(name)} is unknown; {did_you_mean(name, agent_names())}; "
            f"or the path of a run's folder or of a file ({', '.join(FILES)}), or FILE.py:CLASS, "
            "or exec:PROGRAM",
            value=name,
        )

    @property
    def is_named(self) -> bool:
        """Return whether there is a name from which the agent can be made again."""
        return self.kind is not Kind.OBJECT

    def unversioned(self) -> AgentSpec:
        """Return the spec with this package's plain name: ``pro`` for ``pro-v1``."""
        is_bare = self.kind is Kind.OWN and not self.options
        return replace(self, text=self.name) if is_bare else self

    # -- what it may do ---------------------------------------------------------------------------
    @property
    def is_outside(self) -> bool:
        """Return whether the agent, or one in its options, loads code from outside this package.

        A program runs in a process of its own.
        """
        return any(spec.kind is Kind.CODE or spec._risk for spec in self._all())

    @property
    def runs_code(self) -> bool:
        """Return whether the agent, or one in its options, is a program, code or a risky file."""
        return self.is_outside or any(spec.kind is Kind.PROGRAM for spec in self._all())

    @property
    def _risk(self) -> str:
        """Why loading the file can run code that is in it; "" if it cannot."""
        risks = (risk for suffix, risk in RISKS.items() if self.name.endswith(suffix))
        return next(risks, "") if self.kind is Kind.FILE else ""

    def _all(self) -> Iterator[AgentSpec]:
        """The spec, and those that its options are if they name agents."""
        yield self
        for text in self.options.values():
            yield from AgentSpec.from_json(text)._all()

    def check_allowed(self, where: str) -> None:
        """Refuse an agent of a record that runs code, unless the user trusts such files.

        Args:
            where: begins the message: what the file is read for, and its name.
        """
        if self.runs_code and not is_code_allowed():
            raise HeartsError(
                f"{where} names the agent {quoted(self.text)}, which can run any code; if you "
                "trust whoever wrote that file, add --allow-code, or in Python call "
                "hearts_agents.allow_code()"
            )

    # -- making it --------------------------------------------------------------------------------
    @property
    def label(self) -> str:
        """The agent's name in results."""
        return self.text or str(getattr(self.agent, "name", None) or self.name)

    @property
    def factory(self) -> Factory:
        """The function or class that makes the agent. Code is imported."""
        if self.kind is Kind.OWN:
            return loaded_from(OWN[self.name])
        if self.kind is Kind.FILE:
            refuse_weights(self.name)
            suffix = next((one for one in FILES if self.name.endswith(one)), CHECKPOINT_SUFFIX)
            place = FILES[suffix]
            if suffix == CHECKPOINT_SUFFIX:
                place = FORMATS.get(format_of(self.name) or "", place)
            return functools.partial(loaded_from(place), self.name)
        if self.kind is Kind.CODE:
            return find_code(self.name)
        if self.kind is Kind.PROGRAM:
            return functools.partial(ExternalAgent, self.name.removeprefix(EXEC))
        if is_model(self.agent):
            return functools.partial(loaded_from(MODELS), self.agent)
        return self._refuse()

    def values(self) -> dict[str, Any]:
        """The options as the factory reads them."""
        return parse_options(self.name, self.factory, self.options) if self.options else {}

    def make(self, seed: int | None = None, *, allow_code: bool = False, **options: Any) -> Agent:
        """A player; see ``make_agent``."""
        if self.kind is Kind.OBJECT and not is_model(self.agent):
            player = as_agent(self.agent)
            if options or seed is not None:
                wrong = "seed" if seed is not None else next(iter(options))
                raise HeartsError(
                    f"{wrong}: cannot be set for an agent that is already made; omit it"
                )
            return player
        factory, texts = self.factory, self.options
        if self._risk and not (allow_code or is_code_allowed()):
            raise HeartsError(
                f"allow_code: loading {quoted(self.name)} can run any code that is in it "
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
        """A player as `agent`, which it made, is now: a copy, or made again if it has a name.

        Args:
            agent: the agent, which is not changed.
            seed: of the player's random numbers.
            name: what to call it in errors.

        Raises:
            HeartsError: if the agent can be neither copied nor made again.
        """
        try:
            with blamed(
                f"agent: {name!r} cannot be copied",
                "one and the same player must not see a deal from both seats; give it a "
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

    # -- what it is -------------------------------------------------------------------------------
    def declared_files(self, agent: Agent) -> dict[str, Path]:
        """The files that the code of `agent`, which it made, says it loads, by their names."""
        code = self.factory if self.kind is Kind.CODE else None
        return declared_files(unadapted(agent), code)

    def digest(
        self, agent: Agent | None = None, rules: Rules | None = None, files: Iterable[Path] = ()
    ) -> str | None:
        """A SHA-256 of what distinguishes a player from others of its kind; None if nothing does.

        Args:
            agent: what it made; None: of what can be read without making it.
            rules: of what it plays these with; None: of all that it may play with.
            files: those that its code declares.
        """
        digest, empty = hashlib.sha256(), hashlib.sha256().digest()
        for part in self.parts(agent, rules):
            digest.update(part)
        for path in files:
            digest.update(path.stat().st_size.to_bytes(8, "big"))  # so that none runs into the next
            with path.open("rb") as file:
                while part := file.read(2**20):
                    digest.update(part)
        return digest.hexdigest() if digest.digest() != empty else None

    def parts(self, agent: Agent | None, rules: Rules | None) -> Iterator[bytes]:
        """The source code and the files that its options name, or its weights or probabilities.

        Those of a player that was not made are those of the agents that its options name.
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
    """A player by its name, from a checkpoint, from code, or as it is.

    Args:
        agent: a name of ``agent_names()``, also with its version as in ``pro-v1``; the path of a
            checkpoint, of a training run's folder, of a file of stable-baselines3, TorchScript or
            ONNX; ``my_agent.py:MyAgent`` or ``package.module:MyAgent``, a class or a function that
            returns a player; ``exec:./bot --flag``, a program; or an object with ``act(view)``,
            which is returned, adapted if it is no ``Agent``; or a model of stable-baselines3,
            of which a player as it is now is made. Options may follow a name, as in
            ``pro?worlds=50``.
        seed: of the player's random numbers; None: from the operating system.
        allow_code: load a file that can run code when it is loaded (.zip and .pt).
        **options: the player's own, such as ``worlds`` of ``pro``.

    Raises:
        HeartsError: if a name or option is unknown, code cannot be imported, a factory raises, or
            a file that can run code is not trusted.
        CheckpointError: if there is no checkpoint at a path.
    """
    return AgentSpec.parse(agent).make(seed, allow_code=allow_code, **options)


def _split(spec: str) -> tuple[str, dict[str, str]]:
    """The agent's part of a spec, and its options as text.

    In the command of a program a ``?`` may stand within quotation marks.
    """
    base, mark, rest = spec.partition("?")
    if spec.startswith(EXEC):
        if len(spec) > _MOST_COMMAND:
            raise HeartsError(
                f"agent: a command of {len(spec):,} characters is too long; put it into a script, "
                f"{_MOST_COMMAND:,} will do"
            )
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
                f"agent: {part!r} in {spec!r} is not an option; write it as in pro?worlds=50",
                value=part,
            )
        if name in options:
            raise HeartsError(f"{name}: given twice in {spec!r}; give it once")
        options[name] = value
    return base, options
