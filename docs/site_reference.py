"""The reference pages of the documentation site, which follow from the code.

`write_pages` writes them as reStructuredText into ``docs/reference``, which git ignores; a file
that would not change is left alone, so that Sphinx does not read it again.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from hearts_train.command.cli import app
from hearts_train.console import group_of

ROOT = Path(__file__).resolve().parents[1]


def heading(text: str, line: str) -> str:
    """A heading with this line below it."""
    return f"{text}\n{line * len(text)}\n\n"


# ---- commands ------------------------------------------------------------------------------------
def commands() -> str:
    """Every command with its help, arguments, options and example."""
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="hearts")
    panels: dict[str, list[str]] = {}
    for name in root.list_commands(context):
        command = root.commands[name]
        if not command.hidden:
            panels.setdefault(group_of(name), []).append(command_text(command, name, context, "~"))
    parts = [
        heading("Commands", "="),
        "``hearts COMMAND --help`` says the same on a terminal. This page is written from the "
        "code.\n\n",
    ]
    for panel, texts in panels.items():
        parts += [heading(panel, "-"), *texts]
    return "".join(parts)


def command_text(command: Any, name: str, parent: Any, line: str) -> str:
    """One command."""
    context = typer.Context(command, info_name=name, parent=parent)
    path = context.command_path
    usage = re.sub(r"[{}]", "", " ".join(command.collect_usage_pieces(context)))
    parts = [
        f".. program:: {path}\n\n",
        heading(path, line),
        "".join(f"{escaped(words)}\n\n" for words in (command.help or "").split("\n\n")),
        f".. code-block:: text\n   :class: usage\n\n   {path} {usage}\n\n",
    ]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[0] != "--help":
            declared, told = record
            parts.append(f".. option:: {declared}\n\n   {escaped(told)}\n\n")
    if command.epilog:
        parts.append("".join(examples(command.epilog)))
    return "".join(parts)


def examples(epilog: str) -> Iterator[str]:
    """The examples that a command's help ends with."""
    text = re.sub(r"^Examples?: ", "", re.sub(r"\s*\n\s*", " ", epilog))
    lines = re.split(r"; (?:then )?(?=hearts )", text)
    yield "Example:\n\n" if len(lines) == 1 else "Examples:\n\n"
    yield ".. code-block:: text\n\n" + "".join(f"   {line}\n" for line in lines) + "\n"


def escaped(text: str) -> str:
    """Plain words as reStructuredText."""
    return re.sub(r"([\\*`_|])", r"\\\1", re.sub(r"\s*\n\s*", " ", text).strip())


# ---- pages of the repository's root --------------------------------------------------------------
def included(name: str) -> str:
    """A page that is a Markdown file of the repository's root."""
    return f".. include:: ../../{name}\n   :parser: myst_parser.sphinx_\n"


def cite() -> str:
    """How to cite: the README's BibTeX, and CITATION.cff."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```bibtex\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert found is not None, "README.md: no BibTeX"
    bibtex = "".join(f"   {line}\n" for line in found[1].splitlines())
    return (
        heading("How to cite", "=")
        + f".. code-block:: bibtex\n\n{bibtex}\n"
        + "For tools, the same as :download:`CITATION.cff <../../CITATION.cff>`:\n\n"
        + ".. literalinclude:: ../../CITATION.cff\n   :language: yaml\n"
    )


# ---- Python --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Part:
    """A page of the reference of Python.

    Attributes:
        title: its heading.
        told: what it holds, in a sentence.
        names: the public names, each with the module that users import it from.
    """

    title: str
    told: str
    names: tuple[str, ...]


API = {
    "game": Part(
        "The game",
        "Rules, deals, matches and what a player may know. No reinforcement learning.",
        (
            *(f"hearts_env.{name}" for name in ("Rules", "Game", "PlayerView", "Match")),
            *(f"hearts_env.{name}" for name in ("settle", "chips_of")),
            *(
                f"hearts_env.game.notation.{name}"
                for name in ("Record", "parse_games", "parse_records")
            ),
            *(
                f"hearts_env.views.deals.{name}"
                for name in ("num_deals", "all_deals", "all_tables")
            ),
        ),
    ),
    "environments": Part(
        "Environments",
        "PettingZoo, Gymnasium, stable-baselines3, and many games at once. "
        "[Environment](../../environment.md) explains arguments, rewards and infos.",
        (
            *(f"hearts_env.hearts_v0.{name}" for name in ("env", "raw_env", "parallel_env")),
            *(f"hearts_env.{name}" for name in ("BatchGame", "BatchView")),
            *(f"hearts_agents.{name}" for name in ("HeartsEnv", "HeartsVectorEnv")),
            *(f"hearts_agents.{name}" for name in ("HeartsSB3VecEnv", "OpponentPool")),
        ),
    ),
    "encoders": Part(
        "Encoders",
        "From views to arrays. [Encoders](../../encoders.md) says which to choose.",
        (
            *(f"hearts_env.{name}" for name in ("Encoder", "make_encoder", "register_encoder")),
            *(f"hearts_env.encoders.{name}Encoder" for name in ("Flat", "Bits", "Planes")),
            *(f"hearts_env.encoders.{name}Encoder" for name in ("History", "Belief", "Text")),
            *(f"hearts_env.game.state.{name}" for name in ("encode_state", "decode_state")),
            *(f"hearts_env.game.state.{name}" for name in ("state_space", "state_blocks")),
        ),
    ),
    "agents": Part(
        "Agents",
        "Players by name, and your own. [Agents](../../agents.md) lists those of the package.",
        (
            *(f"hearts_agents.{name}" for name in ("Agent", "Player", "make_agent")),
            *(f"hearts_agents.{name}" for name in ("register_agent", "agent_names", "as_agent")),
            "hearts_agents.allow_code",
            "hearts_agents.models.network.load_agent",
            "hearts_agents.search_agent.SearchAgent",
            "hearts_agents.endgame_agent.EndgameAgent",
        ),
    ),
    "exact": Part(
        "Exact answers",
        "Double dummy, beliefs, equilibria, endgames, exploitability.",
        (
            *(
                f"hearts_env.solve.{name}"
                for name in ("solve_double_dummy", "Solution", "TranspositionTable")
            ),
            *(f"hearts_env.solve.{name}" for name in ("solve_worlds", "solve_batch")),
            *(f"hearts_env.solve.beliefs.{name}" for name in ("belief", "Belief")),
            *(f"hearts_env.solve.best_response.{n}" for n in ("exploit", "Exploitability")),
            *(f"hearts_env.solve.equilibrium.{n}" for n in ("solve", "load", "Equilibrium")),
            "hearts_env.solve.endgame.Endgame",
            "hearts_env.solve.endgame.SafeSolver",
            "hearts_env.solve.match_equity.MatchEquity",
        ),
    ),
    "measure": Part(
        "Measuring",
        "Evaluations, comparisons, tournaments, attacks, analyses of deals.",
        (
            *(f"hearts_train.measure.evaluation.{name}" for name in ("evaluate", "Evaluation")),
            *(f"hearts_train.measure.comparison.{name}" for name in ("compare", "Comparison")),
            *(f"hearts_train.measure.tournament.{name}" for name in ("tournament", "Tournament")),
            *(f"hearts_train.measure.analysis.{n}" for n in ("analyse", "Analysis", "Moment")),
            *(f"hearts_train.measure.attack.{name}" for name in ("Assault", "Attack", "Gain")),
            "hearts_train.measure.benchmark.Benchmark",
            *(f"hearts_train.measure.equity.{n}" for n in ("match_equity", "measure_results")),
            *(f"hearts_train.measure.aggregates.{n}" for n in ("aggregate", "compare_runs")),
            "hearts_train.measure.intervals.mean_and_interval",
        ),
    ),
    "training": Part(
        "Training and data",
        "Recipes, training runs, policies of other libraries, datasets, OpenSpiel.",
        (
            *(f"hearts_train.learn.recipes.{name}" for name in ("load_config", "make_config")),
            *(f"hearts_train.learn.training.{name}" for name in ("train", "RunResult")),
            "hearts_train.learn.export.export_policy",
            "hearts_train.data.folder.make_dataset",
            "hearts_train.data.options.DatasetOptions",
            *(f"hearts_env.openspiel.{name}" for name in ("load", "register", "state_of")),
            *(f"hearts_env.openspiel.{name}" for name in ("action_probs", "spiel_policy")),
        ),
    ),
    "errors": Part(
        "Errors",
        "What a user's mistake raises: one family, below `ValueError`.",
        (
            *(f"hearts_env.{name}Error" for name in ("Hearts", "Rules", "Deal", "IllegalAction")),
            *(f"hearts_env.{name}Error" for name in ("Notation", "Checkpoint")),
        ),
    ),
}
"""The public names, by page."""


def api() -> str:
    """The first page of the reference of Python: all names with the first line of each."""
    parts = [
        heading("Python", "="),
        "Every public class and function, from its docstring. Whatever else the packages hold may "
        "change without notice.\n\n",
        ".. toctree::\n   :hidden:\n\n",
        *(f"   api/{name}\n" for name in API),
    ]
    for name, part in API.items():
        title = f":doc:`{part.title} <api/{name}>`"
        parts += ["\n", heading(title, "-"), summary(part.names)]
    return "".join(parts)


def summary(names: Iterable[str]) -> str:
    """A table of these names, each with the first line of its docstring."""
    return (
        ".. autosummary::\n   :nosignatures:\n\n" + "".join(f"   {name}\n" for name in names) + "\n"
    )


def api_page(part: Part) -> str:
    """A page of the reference of Python."""
    told = re.sub(r"\[([^]]+)\]\(([^)]+)\.md\)", r":doc:`\1 <\2>`", part.told)
    parts = [heading(part.title, "="), f"{told}\n\n", summary(part.names)]
    for name in part.names:
        module, _, last = name.rpartition(".")
        thing = getattr(importlib.import_module(module), last)
        if not inspect.isclass(thing):
            parts.append(f".. autofunction:: {name}\n\n")
            continue
        parts.append(f".. autoclass:: {name}\n   :members:\n")
        if any(map(is_ours, thing.__mro__[1:])):
            foreign = {base.__name__ for base in thing.__mro__ if not is_ours(base)}
            parts.append(f"   :inherited-members: {', '.join(sorted(foreign))}\n")
        parts.append("\n")
    return "".join(parts)


def mend_docstring(what: str, lines: list[str]) -> None:
    """Put right, in place, what Napoleon has made of a docstring; pages of the docs become links.

    In a property's "The length: of the vector." Napoleon takes all before the colon for a type. The
    fields that `help` lists in a class are entries of their own here.
    """
    if what == "class" and "Fields:" in lines:
        del lines[lines.index("Fields:") :]
    typed = [line for line in lines if line.startswith(":type: ")]
    if what in ("property", "attribute") and typed:
        lines[lines.index(typed[-1])] = ""
        lines[0] = f"{typed[-1].removeprefix(':type: ')}: {lines[0]}"
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"(?<![/\w])docs/([\w/]+)\.md", r":doc:`docs/\1.md </\1>`", line)


def is_ours(thing: Any) -> bool:
    """Whether a class is of these packages."""
    return str(thing.__module__).startswith("hearts_")


def write_pages(folder: Path) -> None:
    """Write every page into `folder`."""
    pages = {
        "api": api(),
        "commands": commands(),
        "changelog": included("CHANGELOG.md"),
        "contributing": included("CONTRIBUTING.md"),
        "cite": cite(),
    }
    pages |= {f"api/{name}": api_page(part) for name, part in API.items()}
    (folder / "api").mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
