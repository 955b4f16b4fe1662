"""Read configs of training runs: YAML files, overrides, and one line per mistake.

A config (``configs/*.yaml``) lists only the settings that differ from the defaults in ``config``.
``--set key.sub=value`` overrides it. An empty config is complete. The code that a file names runs
only with permission.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from hearts_env.support.errors import MAX_QUOTED, HeartsError, did_you_mean, quoted
from hearts_env.support.files import read_limited
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.plain_yaml import Loader
from hearts_train.screen import printable

_MAX_CONFIG = 100_000  # bytes; all settings written out take some 2,000


def shipped_configs() -> dict[str, Traversable]:
    """Return the shipped configs by name, from the installed package or the checkout."""
    folders: list[Traversable] = [resources.files("hearts_train") / "configs"]
    folders += [parent / "configs" for parent in Path(__file__).resolve().parents[3:4]]
    folder = next((one for one in folders if one.is_dir()), None)
    files = sorted(folder.iterdir(), key=lambda file: file.name) if folder else []
    return {file.name[:-5]: file for file in files if file.name.endswith(".yaml")}


Overrides = Sequence[str] | Mapping[str, Any]


def load_config(name_or_path: str | Path | None = None, overrides: Overrides = ()) -> TrainConfig:
    """Return the config of a file or of a shipped name, with overrides.

    A file may come from someone else. If it names code, ``hearts_agents.allow_code`` must be called
    first. The overrides and the shipped configs need no permission.

    Args:
        name_or_path: the config. If None, the defaults alone.
        overrides: a list of ``"key.sub=value"`` with values as in YAML, or a mapping like
            ``{"ppo": {"ent_coef": 0.02}}`` or ``{"ppo.ent_coef": 0.02}``. A setting that is a list
            or a mapping is replaced as a whole.

    Raises:
        ConfigError: if there is no such config, a key is unknown, or a value cannot be used.
        HeartsError: if a file names code that is not allowed.
    """
    config, file, changed = _load(name_or_path, overrides)
    if file is not None:
        config.check_allowed(f"config: {str(file)!r}", changed)
    return config


def read_config(path: Path) -> TrainConfig:
    """Return the config of a file, which may name code: to read its settings, not to train.

    Raises:
        ConfigError: if ``load_config`` raises it.
    """
    return _load(path, ())[0]


def _load(
    name_or_path: str | Path | None, overrides: Overrides
) -> tuple[TrainConfig, Path | None, list[Sequence[str]]]:
    """Return a config, its file unless it is a shipped one, and the places of the overrides."""
    settings = _settings(overrides)
    tree: dict[str, Any] = {}
    source = by = "overrides" if isinstance(overrides, Mapping) else "--set"
    file = None
    if name_or_path is not None:
        tree, source, file = _read_tree(name_or_path)
        stem = Path(source).stem
        if "name" not in tree and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", stem):
            tree["name"] = stem
    for (*parents, last), value in settings:
        section = tree
        for part in parents:
            if not isinstance(section.get(part), dict):
                section[part] = {}
            section = section[part]
        section[last] = value
    changed = [place for place, _ in settings]
    return make_config(tree, source, changed, by), file, changed


def make_config(
    tree: Mapping[str, Any],
    source: str = "config",
    changed: Sequence[Sequence[str]] = (),
    by: str = "--set",
) -> TrainConfig:
    """Return the config of nested settings.

    Args:
        tree: the settings.
        source: the beginning of messages.
        changed: the places of settings that were overridden.
        by: the beginning of messages about those: the option or argument that changed them.

    Raises:
        ConfigError: if a setting is invalid.
    """
    try:
        return TrainConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(error, source, changed, by))) from None


def _read_tree(name_or_path: str | Path) -> tuple[dict[str, Any], str, Path | None]:
    """Return a config's settings as written, its name for messages, and its file unless shipped.

    Raises:
        ConfigError: if it cannot be read, or is not a mapping.
    """
    name, shipped = str(name_or_path), shipped_configs()
    try:
        path = Path(name_or_path)
        is_shipped = name in shipped and not path.is_file()
        if is_shipped:
            text, source = shipped[name].read_text(encoding="utf-8"), f"{name}.yaml"
        else:
            text, source = read_limited(path, _MAX_CONFIG, "a config").decode(), str(path)
    except FileNotFoundError:
        raise ConfigError(
            f"config: {quoted(name)} is neither a file nor a shipped config; "
            f"{did_you_mean(name, shipped)}"
        ) from None
    except HeartsError as error:
        raise ConfigError(str(error)) from None
    except (OSError, TypeError, ValueError) as error:
        # TypeError: not a path. ValueError: not UTF-8, or a name with a null byte.
        raise ConfigError(
            f"config: {quoted(name)} cannot be read ({error}); give another file"
        ) from None
    tree = _parse(text, source)
    if not isinstance(tree, dict | None):
        raise ConfigError(
            f"{source}: {quoted(tree)} is not a mapping; write lines of the form key: value"
        )
    return tree or {}, source, None if is_shipped else path


def _parse(text: str, source: str) -> Any:
    """Parse YAML text. A ConfigError names `source`, and the line if known."""
    try:
        return yaml.load(text, Loader)  # a SafeLoader
    except Exception as error:  # of many types, since PyYAML passes on its converters' errors
        mark = getattr(error, "problem_mark", None)
        where = f"{source}, line {mark.line + 1}" if mark else source
        problem = _shortened(getattr(error, "problem", None) or str(error))
        raise ConfigError(f"{where}: not valid YAML ({problem}); correct it") from None


def _settings(overrides: Any) -> list[tuple[Sequence[str], Any]]:
    """Return the place and the value of each override."""
    if isinstance(overrides, Mapping):
        return list(_flattened(overrides))
    is_list = isinstance(overrides, Sequence) and not isinstance(overrides, str)
    if not (is_list and all(isinstance(one, str) for one in overrides)):
        raise ConfigError(
            f"overrides: {quoted(overrides)} is neither a list of texts nor a mapping; give one "
            "like ['ppo.ent_coef=0.02'] or {'ppo.ent_coef': 0.02}"
        )
    return list(map(_setting, overrides))


def _flattened(
    given: Mapping[Any, Any], place: Sequence[str] = ()
) -> Iterator[tuple[Sequence[str], Any]]:
    """Yield place and value of the settings in a mapping. Sections may be nested or dotted."""
    for key, value in given.items():
        if not isinstance(key, str):
            raise ConfigError(
                f"overrides: {quoted(key)} is not the name of a setting; give a text like "
                "'ppo.ent_coef'"
            )
        where = [*place, *key.split(".")]
        if isinstance(value, Mapping) and _section_at(where):
            yield from _flattened(value, where)
        else:
            yield where, dict(value) if isinstance(value, Mapping) else value


def _setting(override: str) -> tuple[Sequence[str], Any]:
    """Return the place and the value of ``key.sub=value``."""
    key, equals, text = override.partition("=")
    place = key.strip().split(".")
    if not (place[-1] and equals):
        raise ConfigError(
            f"--set: {quoted(override)} is not a setting with a value; write key.sub=value"
        )
    return place, _parse(text, f"--set {_shortened(key)}")


def _explain(
    error: ValidationError, source: str, changed: Sequence[Sequence[str]], by: str
) -> Iterator[str]:
    """Yield one clause per mistake, with key, value and fix, for the first five mistakes.

    A clause begins with the source of the setting, unless it is that of the clause before.
    """
    before = ""
    for fault in error.errors(include_url=False)[:5]:
        place = [str(part) for part in fault["loc"]]
        message = _shortened(fault["msg"].removeprefix("Value error, "))
        if not place:  # it concerns several settings, which the message names
            place = message.partition(":")[0].split(".")
        ends = (min(len(place), len(one)) for one in changed)
        is_set = any(place[:end] == one[:end] for end, one in zip(ends, changed, strict=True))
        where = by if is_set else source
        clause = _clause(fault, message)
        yield clause if where == before else f"{where}: {clause}"
        before = where


def _clause(fault: Any, message: str) -> str:
    """Return a clause about a mistake, of which pydantic says `message`."""
    key, given = _shortened(".".join(map(str, fault["loc"]))), fault["input"]
    if fault["type"] == "extra_forbidden":
        *parents, last = map(str, fault["loc"])
        return f"unknown key {quoted(key)}; {_did_you_mean(parents, last)}"
    if not key:
        return message
    message = message if re.match(r"\w+\.", message) else message[:1].lower() + message[1:]
    if isinstance(given, dict | list):
        return f"{key}: {message}"
    is_item = fault["type"] == "list_type" and len(quoted(given)) < MAX_QUOTED
    form = f", as in [{given}]" if is_item else ""
    return f"{key}: {quoted(given)} cannot be used; {message}{form}"


_OTHER_NAMES = {
    "clip_coef": "clip_range",
    "clip_eps": "clip_range",
    "clip_param": "clip_range",
    "entropy_coeff": "ent_coef",
    "lam": "gae_lambda",
    "lambda": "gae_lambda",
    "lambda_": "gae_lambda",
    "lr": "learning_rate",
    "minibatch_size": "batch_size",
    "n_envs": "num_envs",
    "n_epochs": "num_epochs",
    "n_steps": "num_steps",
    "net_arch": "trunk",
    "num_minibatches": "batch_size",
    "total_timesteps": "decisions",
    "update_epochs": "num_epochs",
}
"""Names of settings in other libraries of PPO, with those here."""


def _did_you_mean(parents: Sequence[str], last: str) -> str:
    """Return the fix for an unknown key: the known key that it stands for, here or elsewhere."""
    known, name = _section_at(parents).model_fields, _OTHER_NAMES.get(last, last)
    elsewhere = [place for place in _places() if place.rpartition(".")[2] == name]
    if name in known or not elsewhere:
        return did_you_mean(name, known)
    return f"did you mean {elsewhere[0]!r}?"


def _places(parents: Sequence[str] = ()) -> Iterator[str]:
    """Yield the places of all settings, like ``ppo.gamma``."""
    for name in _section_at(parents).model_fields:
        place = [*parents, name]
        if _section_at(place):
            yield from _places(place)
        else:
            yield ".".join(place)


def _section_at(place: Iterable[int | str]) -> Any:
    """Return the class of the section at a place in the nested settings, or None."""
    found: Any = TrainConfig
    for name in place:
        setting = getattr(found, "model_fields", {}).get(name)
        found = setting and setting.annotation
    return found if hasattr(found, "model_fields") else None


def _shortened(text: str) -> str:
    """Return another library's message as one printable line of bounded length."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= 200 else line[:197] + "..."
