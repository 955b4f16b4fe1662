"""Players by name, ours, users' and installed packages', and the options that each takes.

``spec`` reads what names them.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import re
import types
import typing
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hearts_agents.user_code import blamed
from hearts_env import HeartsError
from hearts_env.support.arguments import is_plain_name
from hearts_env.support.errors import did_you_mean, quoted

Factory = Callable[..., Any]
"""``factory(seed=None, **options)`` -> an object with ``act(view)``."""

GROUP = "hearts_agents"
"""The entry-point group in which installed packages add players."""

CHECKPOINT_SUFFIX = ".safetensors"
FILES = {
    CHECKPOINT_SUFFIX: "hearts_agents.models.network:load_agent",
    ".zip": "hearts_agents.models.libraries:load_model",
    ".pt": "hearts_agents.models.libraries:load_model",
    ".onnx": "hearts_agents.models.libraries:load_model",
}
"""Which factory makes players of a file with this suffix; other paths are of runs' folders."""
FORMATS = {"hearts-env equilibrium": "hearts_agents.models.solved:load_solved"}
"""The same of safetensors files whose header says one of these formats."""
MODELS = "hearts_agents.models.libraries:agent_of_model"
"""The same of models of other libraries, as they are in memory."""
OWN = {
    "easy": "hearts_agents.baselines:Easy",
    "standard": "hearts_agents.baselines:Standard",
    "standard_trump": "hearts_agents.baselines:StandardTrump",
    "pro": "hearts_agents.baselines:Pro",
    "pro_trump": "hearts_agents.baselines:ProTrump",
    "pimc": "hearts_agents.search:Pimc",
    "pimc_belief": "hearts_agents.search:PimcBelief",
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
    if split_version(name)[0] in OWN:
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


def split_version(name: str) -> tuple[str, int | None]:
    """The plain name of a player of this package, and the version that `name` says: ``pro``, 1."""
    match = _VERSIONED.fullmatch(name)
    if match is None or match["name"] not in VERSIONS:
        return name, None
    return match["name"], int(match["version"])


def agent_names() -> list[str]:
    """All names that ``make_agent`` knows: our own, then the others in alphabetical order."""
    others = {*_registered, *(point.name for point in entry_points(group=GROUP))}
    return [*OWN, *sorted(others - set(OWN))]


def looks_like_path(name: str) -> bool:
    """Whether `name` can only be a path."""
    separators = {"/", os.sep, os.altsep} - {None}
    return name.endswith(tuple(FILES)) or any(s in name for s in separators if s)


def loaded_from(place: str) -> Factory:
    """What ``module:name`` of this package stands for, imported now."""
    factory: Factory = EntryPoint("", place, GROUP).load()
    return factory


def is_model(value: object) -> bool:
    """Whether it is a model of another library, of which a player can be made.

    No library is imported: the classes that the object is of or derived from say it.
    """
    if callable(getattr(value, "act", None)):
        return False
    homes = {cls.__module__ for cls in type(value).__mro__}
    if {home.partition(".")[0] for home in homes} & {"stable_baselines3", "sb3_contrib"}:
        return hasattr(value, "policy")
    return "torch.nn.modules.module" in homes


def is_registered(name: str) -> bool:
    """Whether `name` is one of ``register_agent``, which only this process knows."""
    return name in _registered


def find_entry_point(name: str) -> EntryPoint | None:
    """The player of this name of an installed package, not loaded; None if there is none."""
    return next((point for point in entry_points(group=GROUP) if point.name == name), None)


def find_factory(name: str) -> Factory | None:
    """The factory of `name`: ours, the user's or an installed package's; None if there is none."""
    if name in OWN:
        return loaded_from(OWN[name])
    if name in _registered:
        return _registered[name]
    point = find_entry_point(name)
    if point is None:
        return None
    package = point.dist.name if point.dist is not None else point.value
    where = f"{name!r} of {package}"
    with blamed(f"agent: the entry point {where} cannot be loaded", "correct that package"):
        factory: Factory = point.load()
    if not callable(factory):
        raise HeartsError(f"agent: the entry point {where} is not callable; correct that package")
    return factory


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
    parameters = _parameters(factory)[0] if factory is not None else {}
    options = {
        option: None if parameter.default is parameter.empty else parameter.default
        for option, parameter in parameters.items()
        if option != "seed"
    }
    return {"about": about, "plays": getattr(factory, "plays", "every game"), "options": options}


# ---- options -------------------------------------------------------------------------------------
def check_options(name: str, factory: Factory, options: Mapping[str, Any]) -> bool:
    """Refuse options that the factory does not take, by name; returns whether it takes a seed."""
    parameters, takes_all = _parameters(factory)
    known = [option for option in parameters if option != "seed"]
    for option in () if takes_all else options:
        if option not in known:
            fix = did_you_mean(option, known) if known else "its only option is seed"
            raise HeartsError(f"{option}: the agent {name!r} has no such option; {fix}")
    return takes_all or "seed" in parameters


def parse_options(agent: str, factory: Factory, texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of options given as text, by the types of the factory's parameters."""
    parameters = _parameters(factory)[0]
    return {
        name: _parse(agent, name, text, _kinds(parameters.get(name)))
        for name, text in texts.items()
    }


def _parameters(factory: Factory) -> tuple[dict[str, inspect.Parameter], bool]:
    """Those that can be given by name; and whether it takes all, or has no signature."""
    try:
        try:
            signature = inspect.signature(factory, eval_str=True)
        except Exception:  # such as a name that only the type checker knows
            signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return {}, True
    parameters = signature.parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return {p.name: p for p in parameters if p.kind in kinds}, takes_all


def _kinds(parameter: inspect.Parameter | None) -> set[str]:
    """The names of the plain types that a parameter takes; none if nothing says."""
    if parameter is None:
        return set()
    hint = parameter.annotation
    if isinstance(hint, str):  # that could not be evaluated
        parts = hint.split("|")
    elif typing.get_origin(hint) in (types.UnionType, typing.Union):
        parts = [inspect.formatannotation(part) for part in typing.get_args(hint)]
    else:
        parts = [inspect.formatannotation(hint)]
    names = {part.strip().replace("NoneType", "None") for part in parts}  # not those in list[int]
    kinds = {"bool", "int", "float", "str", "None"} & names
    default = type(parameter.default).__name__
    return kinds or {"bool", "int", "float", "str"} & {default}


def _parse(agent: str, name: str, text: str, kinds: set[str]) -> Any:
    """The value of an option: of the first of these kinds that its text fits, or of any kind."""
    plain = kinds or {"bool", "int", "float", "str", "None"}
    if "None" in plain and text.lower() == "none":
        return None
    if "bool" in plain and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "int" in plain and re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    if "float" in plain:
        with contextlib.suppress(ValueError):
            number = float(text)
            if math.isfinite(number):
                return number
    if "str" in plain or plain == {"None"}:
        return text
    hidden = {"int"} if "float" in plain else set()
    words = {"bool": "true or false", "int": "a whole number", "float": "a number"}
    wanted = " or ".join(words[kind] for kind in words if kind in plain - hidden)
    raise HeartsError(f"{name}: {text!r} does not fit {agent!r}; give {wanted}", value=text)
