"""The reference pages of the documentation site, which follow from the code.

`write_pages` writes them as reStructuredText into ``docs/reference``, which git ignores; a file
that would not change is left alone, so that Sphinx does not read it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from hearts_train.command.cli import app
from hearts_train.console import GROUPS

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
            panel = getattr(command, "rich_help_panel", None) or "Commands"
            panels.setdefault(panel, []).append(command_text(command, name, context, "~"))
    parts = [
        heading("Commands", "="),
        "``hearts COMMAND --help`` says the same on a terminal. This page is written from the "
        "code.\n\n",
    ]
    for panel in [*GROUPS, *sorted(panels.keys() - set(GROUPS))]:
        parts += [heading(panel, "-"), *panels.get(panel, ())]
    return "".join(parts)


def command_text(command: Any, name: str, parent: Any, line: str) -> str:
    """One command, and those below it."""
    context = typer.Context(command, info_name=name, parent=parent)
    path = context.command_path
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [
        f".. program:: {path}\n\n",
        heading(path, line),
        f"{escaped(command.help or '')}\n\n",
        f".. code-block:: text\n   :class: usage\n\n   {path} {usage}\n\n",
    ]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[0] != "--help":
            declared, told = record
            parts.append(f".. option:: {declared}\n\n   {escaped(told)}\n\n")
    if command.epilog:
        parts.append("".join(examples(command.epilog)))
    if isinstance(command, TyperGroup):
        for below in command.list_commands(context):
            parts.append(command_text(command.commands[below], below, context, "."))
    return "".join(parts)


def examples(epilog: str) -> Iterator[str]:
    """The examples that a command's help ends with."""
    text = re.sub(r"\s*\n\s*", " ", epilog).removeprefix("Example: ")
    lines = re.split(r"; (?:then )?(?=hearts )", text)
    yield ".. code-block:: text\n\n" + "".join(f"   {line}\n" for line in lines) + "\n"


def escaped(text: str) -> str:
    """Plain words as reStructuredText."""
    return re.sub(r"([\\*`_|])", r"\\\1", re.sub(r"\s*\n\s*", " ", text).strip())


# ---- pages of the repository's root ----------------------------------------------------------------
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


def api() -> str:
    """Every public name."""
    return heading("Python", "=")


def write_pages(folder: Path) -> None:
    """Write every page into `folder`."""
    pages = {
        "api": api(),
        "commands": commands(),
        "changelog": included("CHANGELOG.md"),
        "contributing": included("CONTRIBUTING.md"),
        "cite": cite(),
    }
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
