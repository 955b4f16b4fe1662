"""The command that repeats some work, for the records of results."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hearts_agents.registry import looks_like_path
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import is_code_allowed

_ALL = ("rules", "deals", "unit", "seed", "isolate", "time_limit")
_ARGUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "evaluate": ("opponents", _ALL),
    "compare": ("", (*_ALL, "question")),
    "tournament": ("", _ALL),
    "benchmark": ("", ("track", "split", "deals", "decisions", "isolate")),
    "exploit": ("attackers", ("rules", "deals", "tricks", "awake", "seed")),
}
"""For each command the option for all agents except the first, if there is one, and the others."""


def command_of(work: str, agents: Sequence[AgentSpec], settings: Mapping[str, Any]) -> str:
    """Return the command that does some work.

    If no command can do it, return the call in Python. This is so for agents that are objects, for
    names with commas in a list, and for tricks that are no range.

    Args:
        work: the name of the command and of the function.
        agents: the agents.
        settings: the arguments of the function. The command omits defaults, and arguments without
            an option.
    """
    option, names = _ARGUMENTS[work]
    agents = agents[:1] if work == "benchmark" else agents  # its opponents are fixed
    given: dict[str, Any] = {name: settings.get(name) for name in names}
    given = {
        name: value
        for name, value in given.items()
        if value is not None and value is not False and value != "deal"
    }
    first, rest = (agents[:1], agents[1:]) if option else (agents, ())
    awake = given.get("awake", [0])
    has_gaps = [*awake] != [*range(min(awake, default=0), max(awake, default=0) + 1)]
    is_path = len(rest) == 1 and looks_like_path(rest[0].label)
    has_commas = any("," in agent.label for agent in rest) and not is_path
    if has_gaps or has_commas or not all(agent.is_named for agent in agents):
        call = f"[{_listed(first)}]" if work == "tournament" else _listed(first)
        call += f", {option}=[{_listed(rest)}]" if rest else ""
        for name, value in given.items():
            is_question = name == "question"
            call += f", {name}={f'Question(**{value})' if is_question else repr(value)}"
        return f"{work}({call})"
    words = ["hearts", work, *(agent.label for agent in first)]
    if rest:
        words += [f"--{option}", ",".join(agent.label for agent in rest)]
    for name, value in given.items():
        words += _words(name, value)
    return shlex.join([*words, *["--allow-code"] * is_code_allowed()])


def _words(name: str, value: Any) -> list[str]:
    """Return the words of an option."""
    if name == "question":
        low, high, alpha, beta = (value[part] for part in ("low", "high", "alpha", "beta"))
        return ["--margins", f"{low},{high}", "--errors", f"{alpha},{beta}"]
    if name == "decisions":
        return ["--declare", f"decisions={value}"]
    if name == "awake":
        return ["--awake", f"{value[0]}-{value[-1]}"]
    option = "--" + name.replace("_", "-")
    return [option] if value is True else [option, str(value)]


def _listed(agents: Sequence[AgentSpec]) -> str:
    """Return agents as the arguments of a call."""
    return ", ".join(repr(one.text) if one.is_named else one.label for one in agents)
