"""What the documentation site makes of the Markdown pages, so that they need no marks of Sphinx's.

- The order of the site is the order of the tables in ``docs/index.md``: each heading there is a
  part of the side bar, each row a page of it. Pages that are built stand in `BUILT`.
- Links to files outside ``docs`` lead to their twin on the site, or are downloads.
- What a block of Python prints looks like output.

Nothing here needs Sphinx, except `setup` and what it connects.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

BUILT = {
    "Reference": (
        ("reference/api.rst", "Python", "Every public class and function."),
        ("reference/commands.rst", "Commands", "`hearts`: every command with all its options."),
    ),
    "Project": (
        ("reference/changelog.rst", "Changelog", "What has changed."),
        ("reference/contributing.rst", "Contributing", "Where things are, what a change brings."),
        ("reference/cite.rst", "How to cite", "BibTeX, and the same for tools."),
    ),
}
"""Pages that only the site has, by the heading of ``docs/index.md`` that they come under."""

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
_OUTPUT = re.compile(r"^<!-- generated: output -->\n```text\n", re.MULTILINE)


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
    """The headings of the home page, and the (title, page) of the rows of their tables."""
    found: dict[str, list[tuple[str, str]]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = [(row["title"], row["page"]) for row in _ROW.finditer(part)]
        if rows:
            found[part.partition("\n")[0].strip()] = rows
    return found


def with_built_pages(text: str) -> str:
    """The home page with the rows of the pages that only the site has."""
    for heading, pages in BUILT.items():
        rows = "".join(f"| [{title}]({page}) | {told} |\n" for page, title, told in pages)
        start = text.index(f"\n## {heading}\n")
        table = text.index("|---|---|\n", start) + len("|---|---|\n")
        text = text[:table] + rows + text[table:]
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
        text = with_toctrees(with_built_pages(text))
    text = _OUTPUT.sub("```{code-block} text\n:class: output\n\n", text)
    return rewritten_links(text, page)


def setup(app: Any) -> None:
    """Connect all of this to Sphinx."""
    import site_reference

    def read(_app: object, name: str, content: list[str]) -> None:
        path = Path(app.env.doc2path(name))
        if path.suffix == ".md":
            content[0] = prepared(content[0], path)

    site_reference.write_pages(DOCS / "reference")
    app.connect("source-read", read)
