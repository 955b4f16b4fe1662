"""Read and write YAML by the core schema of YAML 1.2, which has no surprises.

``yes``, ``on``, ``1_000``, ``1:30`` and ``2026-11-28`` are text, and so is ``010``. Duplicate keys,
aliases and merge keys (``<<``) are refused, so a small file never becomes large data.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import yaml

from hearts_env.support.errors import quoted

_TAG = "tag:yaml.org,2002:"
_WHOLE = r"[-+]?(?:0|[1-9][0-9]*)"
_FORMS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (rf"{_WHOLE}|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        rf"(?:{_WHOLE}\.[0-9]*|[-+]?\.[0-9]+)(?:[eE][-+]?[0-9]+)?|{_WHOLE}[eE][-+]?[0-9]+"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}
"""The texts that YAML reads as other types, by type, and their first characters."""


class Loader(yaml.SafeLoader):
    """Reads YAML. An error names the line."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 as PyYAML declares it
    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        _TAG + "null": lambda _, node: None,
        _TAG + "bool": lambda _, node: node.value[0] in "tT",
        _TAG + "int": lambda _, node: int(node.value, 0),
        _TAG + "float": lambda _, node: _float(node.value),
        _TAG + "str": yaml.SafeLoader.construct_yaml_str,
        _TAG + "seq": yaml.SafeLoader.construct_yaml_seq,
        _TAG + "map": yaml.SafeLoader.construct_yaml_map,
        None: yaml.SafeLoader.construct_undefined,
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node. Refuse aliases."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _refused(f"the alias *{event.anchor} stands for a value; write it out", event)
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: Any) -> None:
        """Refuse keys given twice. PyYAML calls this to merge mappings."""
        keys = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise _refused(f"the key {quoted(key.value)} is given twice", key)
                keys.add(key.value)


class Dumper(yaml.SafeDumper):
    """Writes YAML that every version reads alike: text like 1e6 or yes is quoted."""


for _name, (_form, _firsts) in _FORMS.items():
    for _class in (Loader, Dumper):
        _class.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_form})$"), _firsts)


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _refused(problem: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)
