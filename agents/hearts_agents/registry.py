"""The package's players by name, the loaders of players' files, and the parsing of options.

``spec`` parses agent names.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import re
from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from hearts_env import HeartsError
from hearts_env.support.errors import did_you_mean

Factory = Callable[..., Any]
"""``factory(seed=None, **options)`` returns an object with ``act(view)``."""

CHECKPOINT_SUFFIX = ".safetensors"
_SB3 = "hearts_agents.models.libraries:Sb3Agent"
_MODULE = "hearts_agents.models.libraries:ModuleAgent"
FILES = {
    CHECKPOINT_SUFFIX: "hearts_agents.models.network:load_agent",
    ".zip": _SB3,
    ".pt": _MODULE,
    ".pth": _MODULE,
    ".onnx": "hearts_agents.models.libraries:OnnxAgent",
}
"""The factory of each kind of file, by suffix. Other paths are run folders."""
RISKS = {
    ".zip": "a stable-baselines3 file holds pickled Python objects",
    ".pt": "TorchScript is a program, which can read and write files",
    ".pth": "TorchScript is a program, which can read and write files",
}
"""The reason why loading a file with this suffix can run code from it."""
FORMATS = {"hearts-env equilibrium": "hearts_agents.models.solved:load_solved"}
"""The factory of each other kind of safetensors file, by the ``format`` in its header."""
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
"""The package's players, imported on first use.

``random`` is another name of ``easy``.
"""

VERSIONS = dict.fromkeys((name for name in OWN if name != "random"), 1)
"""The version of each player: ``pro`` is also ``pro-v1``.

Results name the version. It is raised when the player's decisions change.
"""
_VERSIONED = re.compile(r"(?P<name>.+)-v(?P<version>[0-9]{1,9})")


def versioned(name: str) -> str:
    """Return the name with its version, ``pro-v1``, if it is one of the package's players."""
    return f"{name}-v{VERSIONS[name]}" if name in VERSIONS else name


def split_version(name: str) -> tuple[str, int | None]:
    """Split ``pro-v1`` into ``pro`` and 1. The version is None for all other names."""
    match = _VERSIONED.fullmatch(name)
    if match is None or match["name"] not in VERSIONS:
        return name, None
    return match["name"], int(match["version"])


def agent_names() -> list[str]:
    """Return the names of the package's players."""
    return [*OWN]


def looks_like_path(name: str) -> bool:
    """Return True if `name` can only be a path."""
    return name.endswith(tuple(FILES)) or "/" in name or os.sep in name


def model_factory(value: object) -> str:
    """Return where the factory of a model of stable-baselines3 or torch is, or "" for others.

    Objects with an ``act`` are agents. No library is imported: the names of the object's base
    classes decide.
    """
    if callable(getattr(value, "act", None)):
        return ""
    homes = {cls.__module__ for cls in type(value).__mro__}
    if {home.partition(".")[0] for home in homes} & {"stable_baselines3", "sb3_contrib"}:
        return _SB3 if hasattr(value, "policy") else ""
    return _MODULE if "torch.nn.modules.module" in homes else ""


def describe_agent(name: str) -> dict[str, Any]:
    """Return a player's ``about`` text, the rules it ``plays`` and its ``options``."""
    factory = resolve_name(OWN[name])
    document = (factory.__doc__ or "").strip()
    about = " ".join(document.partition("\n\n")[0].split()).replace("``", "")
    if name == "random":
        about = "Another name of easy: random legal cards."
    options = {
        option: parameter.default
        for option, parameter in _parameters(factory)[0].items()
        if option != "seed"
    }
    return {"about": about, "plays": getattr(factory, "plays", "every game"), "options": options}


# ---- options -------------------------------------------------------------------------------------
def check_options(name: str, factory: Factory, options: Mapping[str, Any]) -> bool:
    """Raise if the factory does not take an option. Return True if it takes a seed."""
    parameters, takes_all = _parameters(factory)
    known = [option for option in parameters if option != "seed"]
    for option in () if takes_all else options:
        if option not in known:
            fix = did_you_mean(option, known) if known else "its only option is seed"
            raise HeartsError(f"{option}: the agent {name!r} has no such option; {fix}")
    return takes_all or "seed" in parameters


def parse_options(agent: str, factory: Factory, texts: Mapping[str, str]) -> dict[str, Any]:
    """Parse options given as text by the types of the factory's parameters."""
    parameters = _parameters(factory)[0]
    return {
        name: _parse(agent, name, text, _kinds(parameters.get(name)))
        for name, text in texts.items()
    }


def _parameters(factory: Factory) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return the factory's keyword parameters, and True if it takes any keyword."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return {}, True
    parameters = signature.parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return {p.name: p for p in parameters if p.kind in kinds}, takes_all


def _kinds(parameter: inspect.Parameter | None) -> set[str]:
    """Return the names of a parameter's plain types, by its annotation or its default."""
    if parameter is None:
        return set()
    hint = parameter.annotation
    text = hint if isinstance(hint, str) else inspect.formatannotation(hint)
    words = re.findall(r"\w+", re.sub(r"\[.*?\]", "", text))  # without the int of list[int]
    kinds = {"bool", "int", "float", "str", "None"} & {*words}
    default = type(parameter.default).__name__
    return kinds or {"bool", "int", "float", "str"} & {default}


def _parse(agent: str, name: str, text: str, kinds: set[str]) -> Any:
    """Parse an option as the first of `kinds` that fits. If there are none, all kinds are tried."""
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
    raise HeartsError(f"{name}: {text!r} does not fit {agent!r}; give {wanted}")
