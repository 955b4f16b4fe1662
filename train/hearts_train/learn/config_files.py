"""Read configs of training runs: YAML files, overrides, and one line per mistake.

A config (``configs/*.yaml``) lists only the settings that differ from the defaults in ``config``.
``--set key.sub=value`` overrides it. An empty config is complete.
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

_MAX_CONFIG = 100_000  # bytes; all settings written out take some 2,000


def shipped_configs() -> dict[str, Traversable]:
    """Return the shipped configs by name, from the installed package or the checkout."""
    folders: list[Traversable] = [resources.files("hearts_train") / "configs"]
    folders += [parent / "configs" for parent in Path(__file__).resolve().parents[3:4]]
    folder = next((one for one in folders if one.is_dir()), None)
    files = sorted(folder.iterdir(), key=lambda file: file.name) if folder else []
    return {file.name[:-5]: file for file in files if file.name.endswith(".yaml")}


def load_config(
    name_or_path: str | Path | None = None, overrides: Sequence[str] = ()
) -> TrainConfig:
    """Return the config of a file or of a shipped name, with ``key.sub=value`` overrides.

    Args:
        name_or_path: the config. If None, the defaults alone.
        overrides: settings with values as in YAML. A list is set as a whole.

    Raises:
        ConfigError: if there is no such config, a key is unknown, or a value cannot be used.
    """
    given: Any = overrides
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not (is_list and all(isinstance(one, str) for one in given)):
        raise ConfigError(
            f"overrides: {quoted(overrides)} is not a list of texts; give one like "
            "['ppo.ent_coef=0.02']"
        )
    tree: dict[str, Any] = {}
    source = "--set"
    if name_or_path is not None:
        tree, source = _read_tree(name_or_path)
        stem = Path(source).stem
        if "name" not in tree and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", stem):
            tree["name"] = stem
    changed = [_override(tree, override) for override in overrides]
    return make_config(tree, source, changed)


def make_config(
    tree: Mapping[str, Any], source: str = "config", changed: Sequence[Sequence[str]] = ()
) -> TrainConfig:
    """Return the config of nested settings.

    Args:
        tree: the settings.
        source: the beginning of messages.
        changed: the places of settings that ``--set`` has changed, which messages then name.

    Raises:
        ConfigError: if a setting is invalid.
    """
    try:
        return TrainConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(error, source, changed))) from None


def _read_tree(name_or_path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the nested settings of a config as written, and its name for messages.

    Raises:
        ConfigError: if it cannot be read, or is not a mapping.
    """
    name, shipped = str(name_or_path), shipped_configs()
    try:
        path = Path(name_or_path)
        if name in shipped and not path.is_file():
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
    return tree or {}, source


def _parse(text: str, source: str) -> Any:
    """Parse YAML text. A ConfigError names `source`, and the line if known."""
    try:
        return yaml.load(text, Loader)  # a SafeLoader
    except Exception as error:  # of many types, since PyYAML passes on its converters' errors
        mark = getattr(error, "problem_mark", None)
        where = f"{source}, line {mark.line + 1}" if mark else source
        problem = _shortened(getattr(error, "problem", None) or str(error))
        raise ConfigError(f"{where}: not valid YAML ({problem}); correct it") from None


def _override(tree: dict[str, Any], override: str) -> Sequence[str]:
    """Set ``key.sub=value`` in nested settings. Return its place."""
    key, equals, text = override.partition("=")
    *parents, last = place = key.strip().split(".")
    if not (last and equals):
        raise ConfigError(
            f"--set: {quoted(override)} is not a setting with a value; write key.sub=value"
        )
    value = _parse(text, f"--set {_shortened(key)}")
    for part in parents:
        if not isinstance(tree.get(part), dict):
            tree[part] = {}
        tree = tree[part]
    tree[last] = value
    return place


def _explain(
    error: ValidationError, source: str, changed: Sequence[Sequence[str]]
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
        where = "--set" if is_set else source
        clause = _clause(fault, message)
        yield clause if where == before else f"{where}: {clause}"
        before = where


def _clause(fault: Any, message: str) -> str:
    """Return a clause about a mistake, of which pydantic says `message`."""
    key, given = _shortened(".".join(map(str, fault["loc"]))), fault["input"]
    if fault["type"] == "extra_forbidden":
        *parents, last = fault["loc"]
        return f"unknown key {quoted(key)}; {did_you_mean(str(last), _fields_at(parents))}"
    if not key:
        return message
    message = message if re.match(r"\w+\.", message) else message[:1].lower() + message[1:]
    if isinstance(given, dict | list):
        return f"{key}: {message}"
    is_item = fault["type"] == "list_type" and len(quoted(given)) < MAX_QUOTED
    form = f", as in [{given}]" if is_item else ""
    return f"{key}: {quoted(given)} cannot be used; {message}{form}"


def _fields_at(place: Iterable[int | str]) -> list[str]:
    """Return the valid keys at a place in the nested settings."""
    model: Any = TrainConfig
    for name in place:
        model = model.model_fields[name].annotation
    return list(model.model_fields)


def _shortened(text: str) -> str:
    """Return another library's message as one printable line of bounded length."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))
    return line if len(line) <= 200 else line[:197] + "..."
