"""Configs of training runs: reading YAML, overrides, and messages on mistakes.

A config (``configs/*.yaml``) lists only what differs from the defaults in ``config``, and
``--set key.sub=value`` what differs from the config. An empty config is complete.
"""

from __future__ import annotations

import itertools
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from hearts_env.support.errors import HeartsError, did_you_mean, quoted
from hearts_env.support.files import read_limited
from hearts_train.learn.config import ConfigError, TrainConfig

_MAX_CONFIG = 100_000  # bytes; all settings written out take some 2,000
_MAX_KEY = 200  # characters
_MAX_MESSAGES = 10
"""The most faults of a config in one message."""


class _Loader(yaml.SafeLoader):
    """YAML in which 1e6 is a number (as in YAML 1.2) and no key is set twice."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int) and abs(value) >= 2**64:  # it cannot be written back
                raise OverflowError
            return value
        except yaml.YAMLError:
            raise
        except Exception:  # PyYAML lets its converters' own errors through, of many kinds
            value = quoted(node.value) if isinstance(node, yaml.ScalarNode) else "the value"
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                problem=f"{value} cannot be read as {kind}", problem_mark=node.start_mark
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.constructor.ConstructorError(
                    problem="a key is not a plain value", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"{quoted(key)} is set twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9][0-9_]*)(?:\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def parse_yaml(text: str, source: str) -> Any:
    """The value of YAML text.

    Raises:
        ConfigError: if it is not YAML, or larger than a config can be; the message names `source`
            and, where it is known, the line.
    """
    if len(text) > _MAX_CONFIG:
        raise ConfigError(
            f"{source}: {len(text):,} characters; a config may have at most {_MAX_CONFIG:,}"
        )
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{source}, line {mark.line + 1}" if mark else source
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    except Exception as error:  # from a late converter, or nesting beyond Python's limit
        where, problem = source, str(error) or type(error).__name__
    raise ConfigError(f"{where}: not valid YAML ({_shortened(problem)}); correct it") from None


def _shortened(text: str) -> str:
    """Another library's message, as one printable line of bounded length."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))
    return line if len(line) <= 200 else line[:197] + "..."


def shipped_configs() -> dict[str, Traversable]:
    """The shipped configs, by name."""
    here = Path(__file__).resolve()
    folders: list[Traversable] = [resources.files("hearts_train") / "configs"]
    if len(here.parents) > 3:  # in a checkout
        folders.append(here.parents[3] / "configs")
    for folder in folders:
        if folder.is_dir():
            files = {f.name.removesuffix(".yaml"): f for f in folder.iterdir()}
            configs = {name: f for name, f in sorted(files.items()) if f.name.endswith(".yaml")}
            if configs:
                return configs
    return {}


def load_config(
    name_or_path: str | Path | None = None, overrides: Sequence[str] = ()
) -> TrainConfig:
    """The config of a file or of a shipped name, with ``key.sub=value`` overrides.

    Args:
        name_or_path: the config; None: only the defaults.
        overrides: values as in YAML; items of lists by index (``schedule.0.until=0.5``).

    Raises:
        ConfigError: if there is no such config, a key is unknown, or a value cannot be used.
    """
    tree: dict[str, Any] = {}
    source = "defaults"
    if name_or_path is not None:
        tree, source = read_tree(name_or_path)
        stem = Path(source).stem
        if "name" not in tree and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", stem):
            tree["name"] = stem
    for override in overrides:
        _override(tree, override)
    return make_config(tree, source)


def make_config(tree: Mapping[str, Any], source: str = "config") -> TrainConfig:
    """The config of nested settings; ConfigError if one is unknown, or cannot be used."""
    try:
        return TrainConfig.model_validate(tree)
    except ValidationError as error:
        clauses = list(itertools.islice(_explain(error), _MAX_MESSAGES + 1))
        if len(clauses) > _MAX_MESSAGES:
            clauses[_MAX_MESSAGES:] = [f"and more, {error.error_count()} in all"]
        problems = "; ".join(clauses)
        raise ConfigError(f"{source}: {problems}") from None


def read_tree(name_or_path: str | Path) -> tuple[dict[str, Any], str]:
    """The nested settings of a config as they are written, and its name in messages.

    ConfigError if it cannot be read, or is not a mapping.
    """
    text, source = _read(name_or_path)
    tree = parse_yaml(text, source)
    if not isinstance(tree, dict | None):
        raise ConfigError(
            f"{source}: {quoted(tree)} is not a mapping; write lines of the form key: value",
            value=tree,
        )
    return tree or {}, source


def _read(name_or_path: str | Path) -> tuple[str, str]:
    shipped = shipped_configs()
    name = str(name_or_path)
    path = Path(name_or_path)
    if name in shipped and not path.is_file():
        return shipped[name].read_text(encoding="utf-8"), f"{name}.yaml"
    try:
        return read_limited(path, _MAX_CONFIG, "a config").decode("utf-8"), str(path)
    except FileNotFoundError:
        raise ConfigError(
            f"config: {quoted(name)} is neither a file nor a shipped config; "
            f"{did_you_mean(name, shipped)}",
            value=name,
        ) from None
    except HeartsError as error:
        raise ConfigError(str(error)) from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a name with a null byte
        raise ConfigError(
            f"config: {quoted(name)} cannot be read ({error}); give another file", value=name
        ) from None


def _override(tree: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    key = key.strip()
    if not equals or not key:
        raise ConfigError(
            f"--set: {quoted(override)} has no value; write key.sub=value", value=override
        )
    if len(key) > _MAX_KEY or not key.isprintable():  # a lone surrogate cannot be written
        raise ConfigError(
            f"--set: {quoted(key)} is not a setting's name; see docs/training.md", value=key
        )
    value = parse_yaml(text, f"--set {_shortened(key)}")
    *parents, last = key.split(".")
    place: Any = tree
    for depth, part in enumerate(parents):
        if isinstance(place, dict) and place.get(part) is None:
            place[part] = _default_tree(parents[: depth + 1])
        place = place[_index(place, part, override)]
        if not isinstance(place, dict | list):
            raise ConfigError(
                f"--set: {quoted(override)}: {quoted(part)} is {quoted(place)}, which has no keys; "
                "give its value",
                value=override,
            )
    place[_index(place, last, override)] = value


def _index(items: dict[str, Any] | list[Any], part: str, override: str) -> str | int:
    """A part of an override's key, as an index of what it leads into."""
    if isinstance(items, dict):
        return part
    is_number = part.isascii() and part.isdecimal() and len(part) < 10
    if not is_number or int(part) >= len(items):
        raise ConfigError(
            f"--set: {quoted(override)}: {quoted(part)} is not an index of a list of "
            f"{len(items)}; give 0 to {len(items) - 1}",
            value=override,
        )
    return int(part)


def _default_tree(keys: list[str]) -> Any:
    """The start value of an override if the config does not set it: a list's default, else {}."""
    place: Any = TrainConfig()
    for key in keys:
        known = isinstance(place, BaseModel) and key in type(place).model_fields
        place = getattr(place, key) if known else None
    if isinstance(place, list):
        return [item.model_dump() if isinstance(item, BaseModel) else item for item in place]
    return {}


# ---- messages ------------------------------------------------------------------------------------


def _explain(error: ValidationError) -> Iterator[str]:
    """One clause for each mistake: the key, the value and the fix."""
    for fault in error.errors(include_url=False):
        place = fault["loc"]
        key = _shortened(".".join(str(part) for part in place))
        if fault["type"] == "extra_forbidden":
            known = _fields_at(place[:-1])
            yield f"unknown key {quoted(key)}; {did_you_mean(str(place[-1]), known)}"
            continue
        message = _shortened(str(fault["msg"]).removeprefix("Value error, "))
        if not key or message.startswith(("ppo.", "env.")):
            yield message
        elif isinstance(fault["input"], dict | list):
            yield f"{key}: {_lower(message)}"
        else:
            form = f", as in [{fault['input']}]" if fault["type"] == "list_type" else ""
            yield f"{key}: {quoted(fault['input'])} cannot be used; {_lower(message)}{form}"


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _fields_at(place: Sequence[int | str]) -> list[str]:
    """The known keys at a place in the nested settings."""
    model: type[BaseModel] = TrainConfig
    for part in place:
        if isinstance(part, int):
            continue
        model = next(_models(model.model_fields[str(part)].annotation))
    return list(model.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)
