"""Prepare the Markdown pages for the documentation site, and generate its reference.

- The side bar has the headings of ``docs/index.md`` and, below each, the pages of its table.
- Links to files outside ``docs`` lead to their twin on the site, or are downloads.
- Each tutorial can be downloaded as a Jupyter notebook.
- The reference, in ``docs/reference``, which git ignores, documents what the packages export in
  ``__all__``, what the pages import beside that, and what these functions return; no list of names
  is written by hand.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import citation
import parts
import typer
from tables import TOKEN

from hearts_env.encoders import ENCODERS
from hearts_train.cli.app import app
from hearts_train.console import group_of

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
TUTORIALS = DOCS / "tutorials"

BUILT = {
    "reference/api.rst": "Python",
    "reference/commands.rst": "Commands",
    "reference/arrays.md": "Arrays, place by place",
    "reference/changelog.rst": "Changelog",
    "reference/contributing.rst": "Contributing",
    "reference/cite.rst": "How to cite",
}
"""Pages of the site alone, and their titles."""

TWINS = {
    "README.md": "index.md",
    "CHANGELOG.md": "reference/changelog.rst",
    "CONTRIBUTING.md": "reference/contributing.rst",
    "CITATION.cff": "reference/cite.rst",
}
"""Files of the repository's root, and the pages of the site with the same content."""

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
_OUTPUT = re.compile(r"^<!-- generated: output -->\n```text\n", re.MULTILINE)
_MOVING = re.compile(r"^!\[(.*)\]\(images/deal\.gif\)$", re.MULTILINE)
_STILL = r"\g<0>" + "\n\n```{image} images/table.png\n" + r":alt: \1" + "\n:class: still\n```"
"""A still picture for readers who prefer reduced motion."""


# ---- Markdown pages ------------------------------------------------------------------------------
def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the headings of the home page, each with the (title, page) of its rows."""
    found: dict[str, list[tuple[str, str]]] = {}
    heading = ""
    for line in text.splitlines():
        heading = line[3:] if line.startswith("## ") else heading
        if line.startswith("| [") and (link := _LINK.search(line)):
            found.setdefault(heading, []).append((link["text"], link["target"]))
    return found


def prepared(text: str, page: Path) -> str:
    """Return the text of a Markdown page as Sphinx reads it."""

    def rewrite(link: re.Match[str]) -> str:
        target = (page.parent / link["target"]).resolve()
        if target.is_relative_to(DOCS):
            return link[0]
        twin = TWINS.get(target.name) if target.parent == ROOT else None
        if twin is not None:
            return f"[{link['text']}]({os.path.relpath(DOCS / twin, page.parent)})"
        return link["text"] if target.is_dir() else link[0]

    if page == DOCS / "index.md":
        text = _MOVING.sub(_STILL, text)
        built = [(title, path) for path, title in BUILT.items()]
        for heading, rows in {**sections(text), "On this site": built}.items():
            lines = "".join(f"{title} <{path}>\n" for title, path in rows)
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{lines}```\n"
    if page.parent == TUTORIALS:
        file = f"../reference/notebooks/{page.stem}.ipynb"
        text = re.sub(
            r"(?<=^# ).*\n", rf"\g<0>\n{{download}}`As a notebook <{file}>`\n", text, count=1
        )
    text = _OUTPUT.sub("```{code-block} text\n:class: output\n\n", text)
    return _LINK.sub(rewrite, text)


# ---- notebooks -----------------------------------------------------------------------------------
def notebook(text: str) -> Any:
    """Return a tutorial as a notebook. Python blocks and pictures of values are its code cells.

    The outputs are left out. Links to other pages lead to the published site, if there is one.
    """
    from nbformat import v4

    home = citation.link(citation.project(), "Documentation").rstrip("/")

    def linked(link: re.Match[str]) -> str:
        page = os.path.relpath((TUTORIALS / link["target"]).with_suffix(".html"), DOCS)
        is_page = home and link["target"].endswith(".md") and not page.startswith("..")
        return f"[{link['text']}]({home}/{page}{link['anchor'] or ''})" if is_page else link["text"]

    cells: list[Any] = []

    def add(kind: str, source: str) -> None:
        if kind == "markdown":
            source = _LINK.sub(linked, source)
            if cells and cells[-1].cell_type == kind:
                cells[-1].source += f"\n\n{source.strip()}" * bool(source.strip())
                return
        if source.strip():
            make = v4.new_code_cell if kind == "code" else v4.new_markdown_cell
            cells.append(make(source.strip(), id=f"cell-{len(cells)}"))

    place = 0
    for found in TOKEN.finditer(text):
        add("markdown", text[place : found.start()])
        place = found.end()
        if found["code"] is not None:
            is_run = "no-run" not in found["flags"]
            add(
                *("code", found["code"])
                if is_run
                else ("markdown", found[0].replace(" no-run", ""))
            )
        elif found["name"].startswith("shown "):
            add("code", found["name"].removeprefix("shown ").partition(" as ")[0])
        elif found["name"] != "output":
            add("markdown", found["body"])
    add("markdown", text[place:])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


# ---- the reference of Python ---------------------------------------------------------------------
PACKAGES = {
    "hearts_env": "The game and its environments",
    "hearts_env.solve": "Exact answers",
    "hearts_env.openspiel": "OpenSpiel",
    "hearts_env.jax": "JAX",
    "hearts_agents": "Agents",
    "hearts_train": "Training and measuring",
    "hearts_train.learn": "Learning",
}
"""The pages of the reference. A name is on the page of its innermost package."""

MORE = {
    "hearts_env.hearts_v0": ("env", "raw_env", "parallel_env"),
    "hearts_train.learn.ppo": (
        *("PPO", "Decisions", "Coefficients"),
        *("ppo_loss", "estimate_advantages", "minibatches", "log_policy"),
    ),
    "hearts_train.learn.learner": ("Learner",),
    "hearts_train.learn.actor_critic": ("ActorCritic", "Saved", "Weights", "Moments"),
    "hearts_train.learn.log": ("Counters",),
    "hearts_train.learn.opponents": ("Opponents",),
    "hearts_train.learn.games": ("SelfPlayGames", "Rollout"),
    "hearts_train.learn.shared": ("SharedNetwork",),
    "hearts_train.learn.vrpo": ("VRPOLearner",),
}
"""Public names of modules, besides those that packages export and pages import."""


def imported_by_pages() -> Iterator[str]:
    """Yield every name of these packages that a page imports."""
    for page in parts.pages():
        for _, code in parts.BLOCK.findall(page.read_text("utf-8")):
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.ImportFrom) and str(node.module).startswith("hearts_"):
                    yield from (f"{node.module}.{alias.name}" for alias in node.names)


def public_names() -> dict[str, Any]:
    """Return every public class and function by the name to import it by.

    Each has one name, the shortest. The classes that functions return are included.
    """
    names = [
        f"{package}.{name}"
        for package in PACKAGES
        for name in getattr(importlib.import_module(package), "__all__", ())
        if not name.startswith("__")
    ]
    names += [f"{module}.{name}" for module, more in MORE.items() for name in more]
    names += sorted(set(imported_by_pages()), key=lambda name: (name.count("."), name))
    found: dict[str, Any] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        thing = getattr(importlib.import_module(module), last)
        if callable(thing) and not any(thing is known for known in found.values()):
            found[name] = thing
    for thing in list(found.values()):
        returned = typing.get_type_hints(thing).get("return") if inspect.isfunction(thing) else None
        for made in (returned, *typing.get_args(returned)):
            if inspect.isclass(made) and is_ours(made) and made not in found.values():
                found[f"{made.__module__}.{made.__name__}"] = made
    return found


def is_ours(thing: Any) -> bool:
    """Return whether a class belongs to these packages."""
    return str(thing.__module__).startswith("hearts_")


def api_pages() -> dict[str, str]:
    """Return the Python reference: a page with all names, and one per package."""
    head = "Every public class and function, from its docstring. Whatever else the packages hold "
    head += "may change without notice.\n\n.. toctree::\n   :hidden:\n\n"
    pages = {"api": heading("Python", "=") + head + "".join(f"   api/{p}\n" for p in PACKAGES)}
    public = public_names()
    for package, title in PACKAGES.items():
        below = {name for name in PACKAGES if name.startswith(f"{package}.")}
        names = [
            name
            for name in public
            if name.startswith(f"{package}.") and not any(name.startswith(f"{b}.") for b in below)
        ]
        summary = ".. autosummary::\n   :nosignatures:\n\n" + "".join(f"   {n}\n" for n in names)
        pages["api"] += f"\n{heading(f':doc:`{title} <api/{package}>`', '-')}{summary}"
        text = heading(title, "=") + summary + "\n"
        for name in names:
            kind = "autoclass" if inspect.isclass(public[name]) else "autofunction"
            text += f".. {kind}:: {name}\n"
            if kind == "autoclass":
                foreign = {base.__name__ for base in public[name].__mro__ if not is_ours(base)}
                text += f"   :members:\n   :inherited-members: {', '.join(sorted(foreign))}\n"
            text += "\n"
        pages[f"api/{package}"] = text
    return pages


def mend_docstring(what: str, lines: list[str]) -> None:
    """Repair Napoleon's output for a docstring in place, and link pages of the docs.

    In a property's "The length: of the vector." Napoleon takes the words before the colon as type.
    """
    typed = [line for line in lines if line.startswith(":type: ")]
    if what in ("property", "attribute") and typed:
        lines[lines.index(typed[-1])] = ""
        lines[0] = f"{typed[-1].removeprefix(':type: ')}: {lines[0]}"
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"(?<![/\w])docs/([\w/]+)\.md", r":doc:`docs/\1.md </\1>`", line)


# ---- commands ------------------------------------------------------------------------------------
def commands() -> str:
    """Return every command with its help, arguments, options and example."""
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="hearts")
    panels: dict[str, str] = {}
    for name in root.list_commands(context):
        command = root.commands[name]
        if not command.hidden:
            panel = group_of(name)
            panels[panel] = panels.get(panel, "") + command_text(command, name, context)
    head = "``hearts COMMAND --help`` says the same on a terminal.\n\n"
    texts = (heading(panel, "-") + text for panel, text in panels.items())
    return heading("Commands", "=") + head + "".join(texts)


def command_text(command: Any, name: str, parent: Any) -> str:
    """Return the reference of one command."""
    context = typer.Context(command, info_name=name, parent=parent)
    path = context.command_path
    usage = re.sub(r"[{}]", "", " ".join(command.collect_usage_pieces(context)))
    text = f".. program:: {path}\n\n" + heading(path, "~")
    text += "".join(f"{escaped(words)}\n\n" for words in (command.help or "").split("\n\n"))
    text += f".. code-block:: text\n   :class: usage\n\n   {path} {usage}\n\n"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[0] != "--help":
            text += f".. option:: {record[0]}\n\n   {escaped(record[1])}\n\n"
    example = re.sub(r"^Examples?: ", "", re.sub(r"\s*\n\s*", " ", command.epilog or ""))
    if example:
        lines = re.split(r"; (?:then )?(?=hearts )", example)
        text += "Example:\n\n.. code-block:: text\n\n" + "".join(f"   {one}\n" for one in lines)
    return text + "\n"


def escaped(text: str) -> str:
    """Escape plain text for reStructuredText."""
    return re.sub(r"([\\*`_|])", r"\\\1", re.sub(r"\s*\n\s*", " ", text).strip())


# ---- all of it -----------------------------------------------------------------------------------
def heading(text: str, line: str) -> str:
    """Return a heading underlined with `line`."""
    return f"{text}\n{line * len(text)}\n\n"


def arrays() -> str:
    """Return the layout of observations and of a game's state."""
    text = "# Arrays, place by place\n\nObservations of two-player Hearts; other rules have other "
    text += "sizes ([encoders](../encoders.md)).\n\n"
    for name in ENCODERS:
        if name != "text":  # words have no places
            text += f"## `{name}`\n\n{parts.encoder(name, 'two_player')}\n"
    return text + f"## The state of a game\n\n{parts.state()}"


def write_pages(folder: Path) -> None:
    """Write every generated page and notebook that has changed."""
    from nbformat import v4

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    bibtex = readme.partition("```bibtex\n")[2].partition("```")[0]
    pages = {f"{name}.rst": text for name, text in api_pages().items()} | {
        "commands.rst": commands(),
        "arrays.md": arrays(),
        "cite.rst": heading("How to cite", "=")
        + ".. code-block:: bibtex\n\n"
        + "".join(f"   {line}\n" for line in bibtex.splitlines())
        + "\n.. literalinclude:: ../../CITATION.cff\n   :language: yaml\n",
    }
    for name in ("CHANGELOG", "CONTRIBUTING"):
        include = f".. include:: ../../{name}.md\n   :parser: myst_parser.sphinx_\n"
        pages[f"{name.lower()}.rst"] = include
    for page in sorted(TUTORIALS.glob("*.md")):
        made = notebook(page.read_text(encoding="utf-8"))
        pages[f"notebooks/{page.stem}.ipynb"] = f"{v4.writes(made)}\n"
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Connect these functions to Sphinx."""

    def read(_app: object, name: str, content: list[str]) -> None:
        path = Path(app.env.doc2path(name))
        if path.suffix == ".md":
            content[0] = prepared(content[0], path)

    def document(_app: object, what: str, *rest: Any) -> None:
        mend_docstring(what, rest[-1])

    write_pages(DOCS / "reference")
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", document, priority=900)  # after Napoleon
