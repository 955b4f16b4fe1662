"""Write the parts of the documentation that are generated from code and from files of results.

A generated part stands between two comments and is never edited by hand::

    <!-- generated: NAME -->
    <!-- end -->

NAME is one of `PARTS` with its arguments. It comes from code (the fields of ``Rules``) or from a
file in ``docs/results``. ``output`` is the output of the Python blocks before it, back to the last
such part, so a page cannot show an outdated answer. ``shown EXPRESSION as NAME.svg: CAPTION`` is a
value's picture in a notebook, in ``docs/images``. ``curves BUDGET decisions`` and ``minutes`` draw
the learning curves of the reference results there.

    python docs/tables.py            write every part anew, and CITATION.cff and .zenodo.json
    python docs/tables.py PAGE ...   those of some pages

tests/test_docs.py fails if a part is stale.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import citation
from curves import digest, reference_panels
from curves import draw as draw_curves
from parts import PARTS, pages, rows

from hearts_env.encoders import ENCODERS

DOCS = Path(__file__).resolve().parent
TOKEN = re.compile(
    r"^```python(?P<flags>[^\n]*)\n(?P<code>.*?)^```[ ]*$"
    r"|<!-- generated: (?P<name>.+?) -->\n(?P<body>.*?)<!-- end -->",
    re.DOTALL | re.MULTILINE,
)
"""A Python block of a page, or a generated part."""
_RUN = r"(output|shown)\b"
"""Parts that need the page's blocks to be run."""


def run_block(code: str, name: str, line: int, names: dict[str, Any]) -> str:
    """Run a Python block and return its output. `names`, the page's variables, change in place."""
    printed = io.StringIO()
    # Blank lines before it, so that a traceback names the page's own line.
    compiled = compile("\n" * line + code, name, "exec")
    with contextlib.redirect_stdout(printed):
        exec(compiled, names)
    return printed.getvalue()


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """Change to an empty folder and back. Encoders registered meanwhile are removed."""
    before, known = Path.cwd(), dict(ENCODERS)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            ENCODERS.clear()
            ENCODERS.update(known)


def picture(words: str, page: Path, names: dict[str, Any], *, write: bool) -> str:
    """Return the body of a ``shown`` part.

    Raises:
        SystemExit: as ``placed``.
    """
    expression, _, rest = words.partition(" as ")
    file, _, caption = rest.partition(": ")
    data = eval(expression, names)._repr_svg_().encode()
    return placed(data, file, caption, page, (lambda p: p.write_bytes(data)) if write else None)


def placed(
    mark: bytes, file: str, caption: str, page: Path, draw: Callable[[Path], object] | None
) -> str:
    """Return the Markdown of a picture in ``docs/images``.

    Raises:
        SystemExit: if the picture does not contain `mark`, and `draw` is None instead of a function
            that draws it anew.
    """
    path = DOCS / "images" / file
    if not path.exists() or mark not in path.read_bytes():
        if draw is None:
            raise SystemExit(f"{page}: docs/images/{file} is stale; run make docs-tables")
        draw(path)
    return f"![{caption}]({os.path.relpath(path, page.parent)})\n"


def render(text: str, name: str = "page", *, run: bool | None = None, write: bool = False) -> str:
    """Return a page with its generated parts written anew.

    Args:
        text: The page.
        name: The page's path, for messages.
        run: If True, run the Python blocks in order, in one namespace and an empty folder, except
            blocks marked ``no-run``. If False, parts that need them stay as they are. If None, run
            them only if there are such parts.
        write: Draw stale pictures anew.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    if run is None:
        run = re.search(rf"<!-- generated: {_RUN}", text) is not None
    printed: list[str] = []

    def renew(found: re.Match[str]) -> str:
        if found["name"] is None:
            if run and "no-run" not in found["flags"]:
                line = text.count("\n", 0, found.start("code"))
                printed.append(run_block(found["code"], name, line, names))
            return found[0]
        first, *template = found["name"].splitlines()
        word, *arguments = first.split()
        if re.match(_RUN, word):
            if not run:
                return found[0]
            if word == "output":
                body = "```text\n" + "".join(printed).rstrip("\n") + "\n```\n"
                printed.clear()
            else:
                words = found["name"].partition(" ")[2]
                body = picture(words, Path(name), names, write=write)
        elif word == "curves":
            budget, over = arguments
            panels, file = reference_panels(int(budget), over), f"reference_{over}_{budget}.svg"
            draw = (lambda path: draw_curves(panels, path)) if write else None
            mark, caption = digest(panels).encode(), f"Learning curves by {over}"
            body = placed(mark, file, caption, Path(name), draw)
        elif word == "rows":
            body = rows(first.removeprefix("rows "), *template)
        elif word in PARTS:
            body = PARTS[word](*arguments)
        else:
            raise SystemExit(f"{name}: no generated part {word!r}; known: {', '.join(PARTS)}")
        return f"<!-- generated: {found['name']} -->\n{body}<!-- end -->"

    with empty_folder():
        return TOKEN.sub(renew, text)


def main() -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(description="Write the generated parts of the docs anew.")
    parser.add_argument("pages", nargs="*", type=Path, help="these pages. If none, all")
    stale: list[str] = []
    named = [page.resolve() for page in parser.parse_args().pages]
    if not named:
        stale += citation.write()
    for page in named or [*pages(), *DOCS.parent.glob("README.md")]:
        old = page.read_text(encoding="utf-8")
        new = render(old, str(page), write=True)
        if new != old:
            stale.append(str(page.relative_to(DOCS.parent)))
            page.write_text(new, encoding="utf-8")
    print(f"rewritten: {', '.join(stale)}" if stale else "all pages are fresh")


if __name__ == "__main__":
    main()
