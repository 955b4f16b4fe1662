"""Players by name: our own, users' and installed packages', checkpoints, code, and programs."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hearts_agents.base import Agent, as_agent
from hearts_agents.blame import blamed
from hearts_agents.programs.program_agent import external_factory
from hearts_agents.specs import WEIGHTS_ALONE, is_code, is_exec, parse_options, split_spec
from hearts_agents.trust import is_code_allowed
from hearts_agents.user_code import find_code
from hearts_env import CheckpointError, HeartsError
from hearts_env.support.arguments import is_plain_name
from hearts_env.support.errors import did_you_mean, quoted
from hearts_env.support.files import kind_of

Factory = Callable[..., Any]
"""``factory(seed=None, **options)`` -> an object with ``act(view)``."""

GROUP = "hearts_agents"
"""The entry-point group in which installed packages add players."""

CHECKPOINT_SUFFIX = ".safetensors"
FILES = {
    CHECKPOINT_SUFFIX: "hearts_agents.models.network:load_agent",
    ".npz": "hearts_agents.models.solved:load_solved",  # of `hearts solve`
    ".zip": "hearts_agents.models.sb3_agent:load_sb3",
    ".pt": "hearts_agents.models.torch_agent:load_torchscript",
    ".onnx": "hearts_agents.models.onnx_agent:load_onnx",
}
"""Which factory makes players of a file with this suffix; other paths are of runs' folders."""
_TRUSTED = (".zip", ".pt")
"""Those that can run code when they are loaded."""
_MODEL = (".zip", ".pt", ".onnx")
_OF_WEIGHTS = (".pth", ".ckpt", ".bin", ".pkl", ".h5")
"""What other libraries write weights to, which nobody here can play with."""

OWN = {
    "easy": "hearts_agents.baselines:Easy",
    "standard": "hearts_agents.baselines:Standard",
    "standard_trump": "hearts_agents.baselines:StandardTrump",
    "pro": "hearts_agents.baselines:Pro",
    "pro_trump": "hearts_agents.baselines:ProTrump",
    "pimc": "hearts_agents.search:Pimc",
    "pimc_belief": "hearts_agents.search:PimcBelief",
    "match": "hearts_agents.match_player:MatchPlayer",
    "random": "hearts_agents.baselines:Easy",
    "equilibrium": "hearts_agents.models.solved:EquilibriumAgent",
    "champion": "hearts_agents.champion:Champion",
}
"""The players of this package, imported when they are asked for, as those of entry points are.

``random`` is another name of ``easy``.
"""

VERSIONS = dict.fromkeys((name for name in OWN if name != "random"), 1)
"""Of each player, which version of its play this package has: ``pro`` is ``pro-v1`` too.

Results name the version. It is raised when a player comes to play otherwise.
"""
_VERSIONED = re.compile(r"(?P<name>.+)-v(?P<version>[0-9]{1,9})")

_registered: dict[str, Factory] = {}
_loaded: dict[str, Factory] = {}
"""The factories of entry points that have been asked for."""


def register_agent(name: str, factory: Factory) -> None:
    """Make a player known under `name`, everywhere that an agent or opponent can be named.

    Args:
        name: neither one of this package's players nor anything that looks like a path. Your own
            names may be registered again: the last factory counts.
        factory: ``factory(seed=None, **options)`` -> an object with ``act(view)``, and perhaps
            ``act_batch(views)``.

    Raises:
        HeartsError: if the name cannot be used, or the factory is not callable.
    """
    if not is_plain_name(name) or name == "vs":  # which stands between groups in `hearts compare`
        raise HeartsError(
            f"agent: {quoted(name)} cannot be registered; give text that can be printed, without "
            "space at its ends or a minus sign before it, other than 'vs'",
            value=name,
        )
    if looks_like_path(name) or set(name) & set("?:,"):
        raise HeartsError(
            f"agent: {name!r} cannot be registered; take a name without path separators "
            f"or any of '?:,' that does not end in {', '.join(FILES)}",
            value=name,
        )
    match = _VERSIONED.fullmatch(name)
    if name in OWN or (match is not None and match["name"] in OWN):
        raise HeartsError(
            f"agent: {name!r} is one of the package's own; choose another name", value=name
        )
    if not callable(factory):
        raise HeartsError(
            f"agent: {factory!r} is not a factory; give a callable "
            "factory(seed=None, **options) that returns an object with act(view)",
            value=factory,
        )
    _registered[name] = factory


def versioned(name: str) -> str:
    """The name of a player of this package in results, ``pro-v1``; any other name unchanged."""
    return f"{name}-v{VERSIONS[name]}" if name in VERSIONS else name


def unversioned(name: str) -> str:
    """The plain name of a player of this package, ``pro`` for ``pro-v1``; any other unchanged.

    Raises:
        HeartsError: if it names a version that this package has not.
    """
    match = _VERSIONED.fullmatch(name)
    if match is None or match["name"] not in VERSIONS:
        return name
    plain = match["name"]
    if int(match["version"]) != VERSIONS[plain]:
        raise HeartsError(
            f"agent: {name!r} is not the {plain} of this package, which is {versioned(plain)!r}; "
            "take that one, or install a version of hearts-env that has the other",
            value=name,
        )
    return plain


def agent_names() -> list[str]:
    """All names that ``make_agent`` knows: our own, then the others in alphabetical order."""
    others = {*_registered, *(point.name for point in _entry_points())}
    return [*OWN, *sorted(others - set(OWN))]


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
    if not isinstance(agent, str | os.PathLike):
        if maker := _maker_of_model(agent):
            of_model = functools.partial(_loaded_from(maker), agent)
            _check_options(type(agent).__name__, of_model, options)
            return as_agent(of_model(seed=seed, **options))
        if options or seed is not None:
            wrong = "seed" if seed is not None else next(iter(options))
            raise HeartsError(f"{wrong}: cannot be set for an agent that is already made; omit it")
        return as_agent(agent)
    name = os.fspath(agent)
    factory, texts = resolve(agent)
    base = unversioned(split_spec(name)[0] if texts else name)
    if base.endswith(_TRUSTED) and not is_code(base):
        if "allow_code" in texts:  # a name may come from a file that somebody sent
            raise HeartsError(
                f"allow_code: cannot be said in a name like {quoted(name)}; add --allow-code, or "
                "in Python make_agent(path, allow_code=True)",
                value=name,
            )
        options["allow_code"] = allow_code
    known = _check_options(base, factory, {**texts, **options})
    options = parse_options(base, factory, texts) | options
    arguments = {"seed": seed, **options} if known is None or "seed" in known else options
    if base in OWN or not (is_code(base) or base in {**_loaded, **_registered}):  # of this package
        return as_agent(factory(**arguments), name)
    with blamed(
        f"agent: {name!r} could not be made",
        "its factory is called as factory(seed=None, **options)",
    ):
        return as_agent(factory(**arguments), name)


def resolve(agent: str | os.PathLike[str]) -> tuple[Factory, dict[str, str]]:
    """The factory of a spec, and the options that the spec gives, as text.

    Raises:
        HeartsError: if the name is unknown, or code cannot be imported.
    """
    name = os.fspath(agent)
    if _is_path(agent):
        return _path_factory(name), {}
    base, texts = split_spec(name)
    if is_exec(name):
        return external_factory(base), texts
    base = unversioned(base)
    factory = find_factory(base)
    if factory is not None:
        return factory, texts
    if is_code(base):
        return find_code(base), texts
    if base.endswith(".py"):
        raise HeartsError(
            f"agent: {name!r} does not say which class; write {base}:CLASS", value=name
        )
    if not looks_like_path(base) and not kind_of(base):
        raise HeartsError(
            f"agent: {quoted(base)} is unknown; {did_you_mean(base, agent_names())}; "
            f"or the path of a checkpoint (*{CHECKPOINT_SUFFIX}), of a run's folder or of a model "
            f"({', '.join(_MODEL)}), or FILE.py:CLASS, or exec:PROGRAM",
            value=base,
        )
    return _path_factory(base), texts


def _path_factory(path: str) -> Factory:
    if path.lower().endswith(_OF_WEIGHTS):
        raise CheckpointError(f"agent: {quoted(path)} is not a player's file; {WEIGHTS_ALONE}")
    suffix = next((suffix for suffix in FILES if path.endswith(suffix)), CHECKPOINT_SUFFIX)
    return _with_path(_loaded_from(FILES[suffix]), path)


def _loaded_from(place: str) -> Factory:
    """What ``module:name`` of this package stands for, imported now."""
    factory: Factory = EntryPoint("", place, GROUP).load()
    return factory


def is_model(value: object) -> bool:
    """Whether `value` is a model of stable-baselines3 or sb3-contrib, or a module of torch."""
    return _maker_of_model(value) is not None


def _maker_of_model(value: object) -> str | None:
    """Who makes a player of an object of another library's; None for anything else.

    No library is imported: it is told by the classes that the object is of or derived from.
    """
    if callable(getattr(value, "act", None)):
        return None
    homes = {cls.__module__ for cls in type(value).__mro__}
    if {home.partition(".")[0] for home in homes} & {"stable_baselines3", "sb3_contrib"}:
        return "hearts_agents.models.sb3_agent:agent_of_model" if hasattr(value, "policy") else None
    if "torch.nn.modules.module" in homes:
        return "hearts_agents.models.torch_agent:agent_of_module"
    return None


def is_model_file(agent: str) -> bool:
    """Whether a spec names a file whose network another library made."""
    return agent.endswith(_MODEL) and not is_exec(agent)


def is_outside(agent: str | os.PathLike[str]) -> bool:
    """Whether making the agent of this spec imports code that is not this package's.

    That is so for ``FILE.py:NAME`` and ``MODULE:NAME``, for the entry points of installed packages,
    for files that must be trusted, and for options that name one of these. What was registered in
    this process is imported already, and a program of ``exec:`` has a process of its own anyway.
    """
    name = os.fspath(agent)
    if is_exec(name):
        return False
    if _is_path(agent):
        return name.endswith(_TRUSTED)
    try:
        base, texts = split_spec(name)
        base = unversioned(base)
    except HeartsError:
        return False
    if base.endswith(_TRUSTED):
        return True
    if base not in OWN:
        if base in _registered:
            return False
        if any(point.name == base for point in _entry_points()) or is_code(base):
            return True
    return any(is_outside(text) for text in texts.values())


def check_recorded(name: str, where: str) -> None:
    """Refuse an agent that a file names and that runs code, unless the user trusts such files.

    Args:
        name: the spec in the file.
        where: begins the message: what the file is read for, and its name.

    Raises:
        HeartsError: if it is a program, code or a file that must be trusted, or has one as an
            option, and nobody has called ``allow_code``.
    """
    if runs_code(name) and not is_code_allowed():
        raise HeartsError(
            f"{where} names the agent {quoted(name)}, which can run any code; if you trust whoever "
            "wrote that file, add --allow-code, or in Python call hearts_agents.trust.allow_code()"
        )


def runs_code(name: str) -> bool:
    """Whether a spec or one of its options is a program, code, or a file that must be trusted."""
    if is_exec(name) or is_outside(name):
        return True
    try:
        return any(map(runs_code, split_spec(name)[1].values()))
    except HeartsError:
        return False


def is_registered_here(spec: str) -> bool:
    """Whether a spec names a player of ``register_agent``, which only this process knows."""
    base = spec.partition("?")[0]
    return base in _registered


def find_factory(name: str) -> Factory | None:
    """The factory of `name`: ours, the user's or an installed package's; None if there is none."""
    if name in OWN:
        return _loaded_from(OWN[name])
    if name in _registered or name in _loaded:
        return _registered.get(name) or _loaded[name]
    for point in _entry_points():
        if point.name == name:
            with blamed(
                f"agent: the entry point {name!r} of {_home(point)} cannot be loaded",
                "correct or remove that package",
            ):
                factory = point.load()
            if not callable(factory):
                raise HeartsError(
                    f"agent: the entry point {name!r} of {_home(point)} is not callable; "
                    "correct or remove that package"
                )
            _loaded[name] = factory
            return factory
    return None


def _is_path(agent: str | os.PathLike[str]) -> bool:
    """Whether an agent is named by its path: one that says so, or is there."""
    if isinstance(agent, os.PathLike):
        return True
    return looks_like_path(agent) and not is_exec(agent) and bool(kind_of(agent))


def looks_like_path(name: str) -> bool:
    """Whether `name` can only be a path."""
    separators = {"/", os.sep, os.altsep} - {None}
    return name.endswith(tuple(FILES)) or any(s in name for s in separators if s)


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


def _check_options(name: str, factory: Factory, options: dict[str, Any]) -> list[str] | None:
    """Refuse options that the factory does not take, by name; returns what it takes.

    None: it takes everything, or has no signature.
    """
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return None
    kinds = {p.kind for p in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    taken = [p.name for p in parameters.values() if p.kind in named]
    known = [option for option in taken if option != "seed"]
    for option in options:
        if option not in known:
            fix = did_you_mean(option, known) if known else "its only option is seed"
            raise HeartsError(f"{option}: the agent {name!r} has no such option; {fix}")
    return taken


def options_of(factory: Factory) -> dict[str, Any]:
    """The options that a factory takes, with their defaults; None for one without."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        p.name: None if p.default is p.empty else p.default
        for p in parameters
        if p.kind in named and p.name != "seed"
    }


def describe_agent(name: str) -> dict[str, Any]:
    """What an agent does, which games it plays, and its options with their defaults."""
    try:
        factory = find_factory(name)
    except HeartsError as error:  # a broken package must not hide the others
        return {"about": f"Cannot be used: {error}", "plays": "nothing", "options": {}}
    document = (getattr(factory, "__doc__", None) or "").strip()
    about = " ".join(document.partition("\n\n")[0].split()).replace("``", "")
    if name == "random":
        about = "Another name of easy: random legal cards."
    return {
        "about": about,
        "plays": getattr(factory, "plays", "every game"),
        "options": options_of(factory) if factory is not None else {},
    }
