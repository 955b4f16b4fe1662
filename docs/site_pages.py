"""What the documentation site makes of the Markdown pages, so that they need no marks of Sphinx's.

- The order of the site is that of ``docs/index.md``: a row that begins with a link is a page below
  the heading of its table, one that begins with a word a part of the side bar with all its links.
  Pages that are built stand in `BUILT`.
- Links to files outside ``docs`` lead to their twin on the site, or are downloads.
- What a block of Python prints looks like output.
- Each tutorial is a notebook too, and every link of the built site is followed.

Nothing here needs Sphinx, except `setup`.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

BUILT = {
    "Reference": (
        ("reference/api.rst", "Python"),
        ("reference/commands.rst", "Commands"),
    ),
    "Project": (
        ("reference/changelog.rst", "Changelog"),
        ("reference/contributing.rst", "Contributing"),
        ("reference/cite.rst", "How to cite"),
    ),
}
"""Pages that only the site has, by the row of ``docs/index.md`` that they come first in."""

TWINS = {
    "README.md": "index.md",
    "CHANGELOG.md": "reference/changelog.rst",
    "CONTRIBUTING.md": "reference/contributing.rst",
    "CITATION.cff": "reference/cite.rst",
}
"""Files of the repository's root, and the pages of the site that say the same."""

_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
_ROW = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<page>[^)#\s:]+)\) \|", re.MULTILINE)
_PART = re.compile(r"^\| (?P<caption>\w[^|\[]*) \| (?P<links>\[.*) \|$", re.MULTILINE)
_OUTPUT = re.compile(r"^<!-- generated: output -->\n```text\n", re.MULTILINE)
_MOVING = re.compile(r"^!\[(.*)\]\(images/deal\.gif\)$", re.MULTILINE)
_STILL = "images/table.png"
"""Shown in its place to whoever prefers that nothing moves."""
_DOORS = re.compile(r"^<!-- doors -->\n(.*?)^<!-- end doors -->$", re.DOTALL | re.MULTILINE)
_CELL = re.compile(
    r"^```python\n(?P<code>.*?)^```$"
    r"|^<!-- generated: (?:shown (?P<shown>.+?)(?: as .*?)?|[^\n]*) -->\n.*?^<!-- end -->$",
    re.DOTALL | re.MULTILINE,
)


# ---- links ---------------------------------------------------------------------------------------
def rewritten_links(text: str, page: Path) -> str:
    """The text of a page with its links to files outside ``docs`` as the site can follow them.

    A file with a twin on the site becomes a link to that; a folder, which a site cannot show, the
    text of the link alone. Blocks of code stay as they are.
    """

    def rewrite(found: re.Match[str]) -> str:
        target = (page.parent / found["target"]).resolve()
        if target.is_relative_to(DOCS):
            return found[0]
        twin = TWINS.get(target.name) if target.parent == ROOT else None
        if twin is not None:
            return f"[{found['text']}]({os.path.relpath(DOCS / twin, page.parent)})"
        return found["text"] if target.is_dir() else found[0]

    parts, last = [], 0
    for fence in _FENCED.finditer(text):
        parts += [_LINK.sub(rewrite, text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, _LINK.sub(rewrite, text[last:])])


# ---- the order of the site -----------------------------------------------------------------------
def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """The parts of the side bar, in the order of the home page, and the (title, page) of each."""
    found: dict[str, list[tuple[str, str]]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = [(row["title"], row["page"]) for row in _ROW.finditer(part)]
        if rows:
            found[part.partition("\n")[0].strip()] = rows
        for row in _PART.finditer(part):
            links = _LINK.finditer(row["links"])
            found[row["caption"]] = [(link["text"], link["target"]) for link in links]
    return found


def with_built_pages(text: str) -> str:
    """The home page with the links of the pages that only the site has."""
    for caption, pages in BUILT.items():
        links = ", ".join(f"[{title}]({page})" for page, title in pages)
        text = text.replace(f"\n| {caption} | ", f"\n| {caption} | {links}, ")
    return text


def with_toctrees(text: str) -> str:
    """The home page with the hidden lists from which Sphinx makes its side bar."""
    lists = [
        f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n"
        + "".join(f"{title} <{page}>\n" for title, page in rows)
        + "```\n"
        for heading, rows in sections(text).items()
    ]
    return text.rstrip("\n") + "\n" + "".join(lists)


# ---- pages ---------------------------------------------------------------------------------------
def prepared(text: str, page: Path) -> str:
    """The text of a Markdown page as Sphinx is to read it."""
    if page == DOCS / "index.md":
        text = _DOORS.sub(r"::::{container} doors\n\1::::", text)
        text = _MOVING.sub(rf"\g<0>\n\n```{{image}} {_STILL}\n:alt: \1\n:class: still\n```", text)
        text = with_toctrees(with_built_pages(text))
    text = _OUTPUT.sub("```{code-block} text\n:class: output\n\n", text)
    if page.parent.name == "tutorials":
        title, _, rest = text.partition("\n")
        link = f'<a href="../notebooks/{page.stem}.ipynb" download>a notebook</a>'
        text = f'{title}\n\n<p class="notebook">This page as {link}</p>\n{rest}'
    return rewritten_links(text, page)


# ---- notebooks -----------------------------------------------------------------------------------
def notebook_of(text: str) -> dict[str, Any]:
    """A page as a Jupyter notebook: its code without output, and what it shows as a cell.

    Links to other pages, which would lead nowhere, keep their text alone.
    """
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str) -> None:
        source = source.strip("\n")
        if source:
            code = {"execution_count": None, "outputs": []} if kind == "code" else {}
            lines = source.splitlines(keepends=True)
            cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": lines}
            cells.append(cell | code)

    last = 0
    for found in _CELL.finditer(text):
        add("markdown", _LINK.sub(r"\g<text>", text[last : found.start()]))
        add("code", found["code"] or found["shown"] or "")
        last = found.end()
    add("markdown", _LINK.sub(r"\g<text>", text[last:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def write_notebooks(folder: Path) -> None:
    """Write every tutorial as a notebook."""
    folder.mkdir(exist_ok=True)
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        notebook = notebook_of(page.read_text(encoding="utf-8"))
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{page.stem}.ipynb").write_text(text, encoding="utf-8")


# ---- the built site ------------------------------------------------------------------------------
class _Page(HTMLParser):
    """The ids and the links of a page of the site."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag has."""
        for name, value in attrs:
            if value and name == "id":
                self.ids.add(value)
            elif value and name in ("href", "src"):
                self.links.add(html.unescape(value))


def dead_links(site: Path) -> Iterator[str]:
    """Every link of a built site that leads nowhere on it, with its page."""
    pages = {path.resolve(): _Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = pages[target].ids if target in pages else None
            if not target.is_file() or (anchor and known is not None and anchor not in known):
                yield f"{path.relative_to(site.resolve())}: {link} leads nowhere"


def setup(app: Any) -> None:
    """Connect all of this to Sphinx."""
    import site_reference
    from sphinx.util import logging

    site = Path(app.outdir)

    def read(_app: object, name: str, content: list[str]) -> None:
        path = Path(app.env.doc2path(name))
        if path.suffix == ".md":
            content[0] = prepared(content[0], path)

    def document(_app: object, what: str, *rest: Any) -> None:
        site_reference.mend_docstring(what, rest[-1])

    def finish(_app: object, failure: Exception | None) -> None:
        if failure is None and app.builder.format == "html":
            write_notebooks(site / "notebooks")
            for line in dead_links(site):
                logging.getLogger(__name__).warning(line)

    site_reference.write_pages(DOCS / "reference")
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", document, priority=900)  # after Napoleon
    app.connect("build-finished", finish)
