"""A result as a page: paragraphs, tables and sections in one file, which needs no network."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearts_env.support.files import write_whole
from hearts_train.measure.display import ResultTable

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem;
  overflow-wrap: break-word; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.table { overflow-x: auto; margin: .6rem 0; } pre { white-space: pre-wrap; }
nav a { margin-right: .6rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; padding: .5rem 0; }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid GrayText; }
"""


@dataclass(frozen=True)
class Section:
    """Some parts of a page below a heading; those of a closed one are shown when it is opened."""

    title: str
    parts: Sequence[Part]
    is_closed: bool = False


Part = str | ResultTable | Section
"""A paragraph, or a text of several lines as it is; a table; a section."""


def write_page(path: Path, title: str, parts: Sequence[Part]) -> None:
    """Write a page of these parts; every text is escaped.

    Raises:
        OSError: if the file cannot be written.
    """
    escaped = html.escape(title)
    sections = [part.title for part in parts if isinstance(part, Section) and not part.is_closed]
    links = [f"<a href='#{html.escape(name)}'>{html.escape(name)}</a>" for name in sections]
    text = "\n".join(
        [
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<title>{escaped}</title><style>{_STYLE}</style></head><body><h1>{escaped}</h1>",
            f"<nav aria-label='Sections'>{' '.join(links)}</nav>",
            *_html(parts),
            "</body></html>\n",
        ]
    )
    write_whole(path, text.encode(errors="xmlcharrefreplace"))  # a path may be no text


def _html(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, ResultTable):
            yield f"<div class='table' tabindex='0'>{part.to_html()}</div>"
        elif isinstance(part, Section):
            title = html.escape(part.title)
            heads = (f"<section id='{title}'><h2>{title}</h2>", "</section>")
            if part.is_closed:
                heads = (f"<details><summary>{title}</summary>", "</details>")
            yield heads[0]
            yield from _html(part.parts)
            yield heads[1]
        else:
            tag = "pre" if "\n" in part else "p"
            yield f"<{tag}>{html.escape(part)}</{tag}>"
