"""Players by name: the table's, those of users and installed packages, and checkpoints."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hearts_agents.base import Agent, as_agent
from hearts_agents.search import SEARCHERS
from hearts_agents.table import AGENTS
from hearts_env import HeartsError
from hearts_env._files import kind_of
from hearts_env.errors import did_you_mean, quoted

Factory = Callable[..., Any]
"""``factory(seed=None, **options)`` -> an object with ``act(view)``."""

GROUP = "hearts_agents"
"""The entry-point group in which installed packages add players."""

CHECKPOINT_SUFFIX = ".safetensors"
SOLVED_SUFFIX = ".npz"
"""Files of ``hearts solve``, which are players too."""

OWN: dict[str, Factory] = {**AGENTS, **SEARCHERS}
"""The players of this package."""

_registered: dict[str, Factory] = {}


def register_agent(name: str, factory: Factory) -> None:
    """Make a player known under `name`, everywhere that an agent or opponent can be named.

    Args:
        name: not one of the table's players, nor anything that looks like a path. A name of one's
            own may be registered again: the last factory counts.
        factory: ``factory(seed=None, **options)`` -> an object with ``act(view)``, and perhaps
            ``act_batch(views)``.

    Raises:
        HeartsError: a name that cannot be, or something that is not callable.
    """
    if not str(name) or looks_like_path(str(name)):
        raise HeartsError(
            f"agent: {name!r} cannot be registered; take a name without path separators "
            f"and without {CHECKPOINT_SUFFIX}"
        )
    if name in OWN:
        raise HeartsError(f"agent: {name!r} is one of the package's own; choose another name")
    if not callable(factory):
        raise HeartsError(
            f"agent: {factory!r} is no factory; give a callable "
            "factory(seed=None, **options) that returns an object with act(view)"
        )
    _registered[name] = factory


def agent_names() -> list[str]:
    """All names that ``make_agent`` knows: our own, then the others in alphabetical order."""
    others = {*_registered, *(point.name for point in _entry_points())}
    return [*OWN, *sorted(others - set(OWN))]


def make_agent(
    agent: str | os.PathLike[str] | Any, seed: int | None = None, **options: Any
) -> Agent:
    """A player by its name, from a checkpoint, or as it is.

    Args:
        agent: a name of ``agent_names()``; the path of a checkpoint or of a training run's
            folder; or an object with ``act(view)``, which is returned, fit for ``act_batch``.
        seed: of the player's random numbers; None: from the operating system.
        **options: the player's own, such as ``worlds`` of ``pro``.

    Raises:
        HeartsError: an unknown name or option.
        CheckpointError: a path that holds no checkpoint.
    """
    if not isinstance(agent, str | os.PathLike):
        if options or seed is not None:
            wrong = "seed" if seed is not None else next(iter(options))
            raise HeartsError(f"{wrong}: an agent that is made already takes none; leave it out")
        return as_agent(agent)
    name = os.fspath(agent)
    factory = None if isinstance(agent, os.PathLike) else find_factory(name)
    if factory is None:
        if not looks_like_path(name) and not kind_of(name):
            raise HeartsError(
                f"agent: {quoted(name)} is unknown; {did_you_mean(name, agent_names())}; "
                f"or the path of a checkpoint (*{CHECKPOINT_SUFFIX}) or of a run's folder"
            )
        if name.endswith(SOLVED_SUFFIX):
            from hearts_agents.solved import load_solved

            factory = _with_path(load_solved, name)
        else:
            from hearts_agents.network import load_agent

            factory = _with_path(load_agent, name)
    _check_options(name, factory, options)
    return as_agent(factory(seed=seed, **options), name)


def find_factory(name: str) -> Factory | None:
    """The factory registered under `name` by us, by the user or by a package; None: by nobody."""
    if name in OWN:
        return OWN[name]
    if name in _registered:
        return _registered[name]
    for point in _entry_points():
        if point.name == name:
            factory = point.load()
            if not callable(factory):
                raise HeartsError(
                    f"agent: the entry point {name!r} of {_home(point)} is not callable"
                )
            _registered[name] = factory
            return factory
    return None


def looks_like_path(name: str) -> bool:
    """Whether `name` can only be a path."""
    separators = {"/", os.sep, os.altsep} - {None}
    suffixes = (CHECKPOINT_SUFFIX, SOLVED_SUFFIX)
    return name.endswith(suffixes) or any(s in name for s in separators if s)


def _entry_points() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def _home(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _with_path(load: Factory, path: str) -> Factory:
    def factory(seed: int | None = None, **options: Any) -> Any:
        return load(path, seed=seed, **options)

    try:
        parameters = list(inspect.signature(load).parameters.values())[1:]
        factory.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass
    return factory


def _check_options(name: str, factory: Factory, options: dict[str, Any]) -> None:
    """Refuse options that the factory does not take, by name."""
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return
    kinds = {p.kind for p in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = [p.name for p in parameters.values() if p.kind in named and p.name != "seed"]
    for option in options:
        if option not in known:
            mend = did_you_mean(option, known) if known else "it takes none but seed"
            raise HeartsError(f"{option}: the agent {name!r} has no such option; {mend}")
