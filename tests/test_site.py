"""The documentation site: its transforms, what its reference must hold, and the built pages.

Nothing here needs Sphinx; .ci/run builds the site itself. The tutorials' code is run by
tests/test_docs.py, as that of all pages is.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import sys
from pathlib import Path

import pytest
import typer

import hearts_agents
import hearts_env
from hearts_env import hearts_v0, solve
from hearts_train.command.cli import app
from tests.test_docs import load_script

pages = load_script("site_pages")
reference = load_script("site_reference")
DOCS = pages.DOCS
HOME = (DOCS / "index.md").read_text(encoding="utf-8")
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


# ---- the order of the site -----------------------------------------------------------------------
def test_every_page_is_in_the_side_bar_once() -> None:
    rows = [
        page for rows in pages.sections(pages.with_built_pages(HOME)).values() for _, page in rows
    ]
    built = {page for rows in pages.BUILT.values() for page, _ in rows}
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"index.md"}
    assert len(rows) == len(set(rows))
    assert set(rows) == written | built


def test_toctrees_are_the_tables_of_the_home_page() -> None:
    text = (
        "# Home\n\n## One\n\n| page | told |\n|---|---|\n| [A](a.md) | x |\n\n## Two\n\n"
        "| part | pages |\n|---|---|\n| Three | [B](b.md), [C](c/d.md) |\n"
    )
    assert pages.sections(text) == {
        "One": [("A", "a.md")],
        "Three": [("B", "b.md"), ("C", "c/d.md")],
    }
    assert pages.with_toctrees(text).endswith(
        "```{toctree}\n:hidden:\n:caption: One\n\nA <a.md>\n```\n"
        "\n```{toctree}\n:hidden:\n:caption: Three\n\nB <b.md>\nC <c/d.md>\n```\n"
    )


# ---- pages ---------------------------------------------------------------------------------------
def test_links_out_of_the_docs_lead_to_a_twin_or_a_file() -> None:
    text = (
        "[r](../README.md#citing) [c](../CHANGELOG.md) [f](../configs/demo.yaml) [d](../examples) "
        "[o](rules.md)\n```\n[r](../README.md)\n```\n"
    )
    assert pages.rewritten_links(text, DOCS / "page.md") == (
        "[r](index.md) [c](reference/changelog.rst) [f](../configs/demo.yaml) d [o](rules.md)\n"
        "```\n[r](../README.md)\n```\n"
    )
    inside = pages.rewritten_links("[r](../../README.md)", DOCS / "games" / "page.md")
    assert inside == "[r](../index.md)"


def test_output_is_marked_as_such() -> None:
    text = "<!-- generated: output -->\n```text\n4\n```\n<!-- end -->\n"
    made = pages.prepared(text, DOCS / "page.md")
    assert made == "```{code-block} text\n:class: output\n\n4\n```\n<!-- end -->\n"


# ---- notebooks -----------------------------------------------------------------------------------
def test_a_notebook_has_the_code_and_shows_what_the_page_shows() -> None:
    text = (
        "# Title\n\nSee [this](x.md).\n\n```python\nx = 2\nprint(x)\n```\n"
        "<!-- generated: output -->\n```text\n2\n```\n<!-- end -->\n\nMore.\n\n"
        "<!-- generated: shown x as x.svg: a picture -->\n![a picture](x.svg)\n<!-- end -->\n"
        "<!-- generated: shown y -->\n<table/>\n<!-- end -->\n"
    )
    cells = pages.notebook_of(text)["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "# Title\n\nSee this."),
        ("code", "x = 2\nprint(x)"),
        ("markdown", "More."),
        ("code", "x"),
        ("code", "y"),
    ]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_makes_a_notebook_whose_code_can_be_read(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code = [cell for cell in pages.notebook_of(text)["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= len(re.findall(r"^```python$", text, re.MULTILINE)) > 2
    for cell in code:
        ast.parse("".join(cell["source"]))
    assert "generated" not in json.dumps(pages.notebook_of(text))


@pytest.mark.slow
@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel")),
    reason="needs nbclient and ipykernel",
)
def test_jupyter_shows_games_views_and_analyses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # this checkout, for the kernel
    code = (
        "from hearts_env import Game\nfrom hearts_train.measure.analysis import analyse\n"
        'game = Game.deal("mini", seed=1)'
    )
    text = f"```python\n{code}\n```\n"
    for shown in ("game", "game.view(0)", "analyse(game)"):
        text += f"<!-- generated: shown {shown} -->\n<!-- end -->\n"
    notebook = nbformat.reads(json.dumps(pages.notebook_of(text)), as_version=4)
    nbformat.validate(notebook)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
    kinds = [set(cell.outputs[0].data) for cell in notebook.cells[1:]]
    plain = "text/plain"
    assert kinds == [{"image/svg+xml", plain}, {"image/svg+xml", plain}, {"text/html", plain}]


# ---- the reference -------------------------------------------------------------------------------
def test_every_public_name_is_in_the_reference_of_python() -> None:
    told = [name for part in reference.API.values() for name in part.names]
    assert len(told) == len(set(told))
    public = {f"hearts_env.{name}" for name in hearts_env.__all__}
    public -= {"hearts_env.__version__", "hearts_env.hearts_v0"}
    public |= {f"hearts_agents.{name}" for name in hearts_agents.__all__}
    public |= {f"hearts_env.solve.{name}" for name in solve.__all__}
    public |= {f"{hearts_v0.__name__}.{name}" for name in ("env", "raw_env", "parallel_env")}
    assert public <= set(told), f"not in docs/site_reference.py: {sorted(public - set(told))}"


def test_a_page_of_the_reference_names_what_it_documents() -> None:
    text = reference.api_page(reference.API["game"])
    assert ".. autoclass:: hearts_env.Game\n   :members:\n   :inherited-members: object\n" in text
    assert ".. autofunction:: hearts_env.settle\n" in text


def commands() -> dict[str, list[str]]:
    """Every command, with its long options."""
    found: dict[str, list[str]] = {}

    def walk(command, path):
        found[path] = [
            name
            for parameter in command.params
            for name in parameter.opts
            if name.startswith("--") and not getattr(parameter, "hidden", False)
        ]
        for name, below in getattr(command, "commands", {}).items():
            if not below.hidden:
                walk(below, f"{path} {name}")

    walk(typer.main.get_command(app), "hearts")
    del found["hearts"]
    return found


def test_every_command_with_every_option_is_in_the_reference() -> None:
    parts = {}
    for part in reference.commands().split(".. program:: ")[1:]:
        path, _, text = part.partition("\n\n")
        parts[path] = text
    assert parts.keys() == commands().keys()
    for path, options in commands().items():
        for option in options:
            assert re.search(rf"^\.\. option:: .*{option}\b", parts[path], re.MULTILINE), option


def test_words_of_a_help_are_plain() -> None:
    assert reference.escaped("a *b* `c` d_e\n  f") == r"a \*b\* \`c\` d\_e f"
    assert "".join(reference.examples("Examples: hearts a x; then hearts\n  b")) == (
        "Examples:\n\n.. code-block:: text\n\n   hearts a x\n   hearts b\n\n"
    )


def test_a_colon_in_a_propertys_docstring_makes_no_type() -> None:
    lines = ["the length of it.", "", ":type: The size"]
    reference.mend_docstring("property", lines)
    assert lines == ["The size: the length of it.", "", ""]
    lines = ["As docs/rules.md says.", ":type: int"]
    reference.mend_docstring("method", lines)
    assert lines == ["As :doc:`docs/rules.md </rules>` says.", ":type: int"]


# ---- the built site ------------------------------------------------------------------------------
def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<p id="here"></p>')
    (tmp_path / "c.txt").write_text("x")
    links = ["b.html", "b.html#here", "#top", "c.txt", "https://x.org/y", "mailto:a@b.c"]
    bad = ["b.html#there", "d.html", "#bottom"]
    text = "".join(f'<a href="{link}"></a>' for link in links + bad)
    (tmp_path / "a.html").write_text(f'<p id="top"></p>{text}')
    told = list(pages.dead_links(tmp_path))
    assert sorted(line.split()[1] for line in told) == sorted(bad)
    assert all(line.startswith("a.html: ") for line in told)
