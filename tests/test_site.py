"""The documentation site: its transforms, and what its reference must hold.

Nothing here needs Sphinx; .ci/run builds the site itself. The tutorials' code is run by
tests/test_docs.py, as that of all pages is.
"""

from __future__ import annotations

import importlib
import importlib.util
import re

import pytest
import typer

from hearts_train.cli.app import app
from tests.test_docs import blocks_of, load_script, parts, tables

site = load_script("site_pages")
DOCS = site.DOCS


def test_side_bar_has_every_page_once() -> None:
    found = site.sections((DOCS / "index.md").read_text(encoding="utf-8"))
    rows = [page for rows in found.values() for _, page in rows]
    written = {page.relative_to(DOCS).as_posix() for page in parts.pages()} - {"index.md"}
    assert len(rows) == len(set(rows))
    assert set(rows) == written


# ---- notebooks -----------------------------------------------------------------------------------
TUTORIALS = [pytest.param(page, id=page.stem) for page in sorted(site.TUTORIALS.glob("*.md"))]


@pytest.mark.parametrize("page", TUTORIALS)
def test_notebook_has_code_and_words_of_page(page) -> None:
    nbformat = pytest.importorskip("nbformat")
    made = site.notebook(page.read_text(encoding="utf-8"))
    nbformat.validate(made)
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert [source for source in code if not source.isidentifier()] == [
        block.strip() for block in blocks_of(page)
    ]
    words = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "generated" not in words
    assert re.findall(r"^#+ .*", words, re.M) == re.findall(
        r"^#+ .*",
        re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M),
        re.M,
    )
    assert not re.search(r"\]\((?!https://)", words)  # the file has no neighbours


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS)
def test_notebook_runs_and_prints_outputs_of_page(page) -> None:
    pytest.importorskip("nbformat")
    text = page.read_text(encoding="utf-8")
    names, printed = {"__name__": "__main__"}, ""
    with tables.empty_folder():
        for cell in site.notebook(text).cells:
            if cell.cell_type == "code":
                printed += tables.run_block(cell.source, page.name, 0, names)
                if cell.source.isidentifier():  # a notebook draws it
                    assert names[cell.source]._repr_svg_().startswith("<svg")
    outputs = re.findall(r"<!-- generated: output -->\n```text\n(.*?)```", text, re.S)
    for output in outputs:
        assert output.rstrip() in printed


# ---- the reference -------------------------------------------------------------------------------
def test_reference_has_every_exported_and_imported_name() -> None:
    made = site.api_pages()
    text = "".join(made.values())
    assert made.keys() == {"api", *(f"api/{package}" for package in site.PACKAGES)}
    for package in site.PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing):
                assert re.search(rf"^\.\. auto\w+:: hearts_\S*\.{name}$", text, re.M), name
    game = made["api/hearts_env"]
    assert ".. autoclass:: hearts_env.Game\n   :members:\n" in game
    assert ".. autofunction:: hearts_env.hearts_v0.env\n" in game
    assert ".. autofunction:: hearts_train.measure.analysis.analyse\n" in made["api/hearts_train"]
    assert ".Evaluation\n" in made["api/hearts_train"]  # what `evaluate` returns
    for name in ("ppo.PPO", "learner.Learner", "games.SelfPlayGames", "shared.SharedNetwork"):
        assert f".. autoclass:: hearts_train.learn.{name}\n" in made["api/hearts_train.learn"]
    documented = re.findall(r"^\.\. auto(?:class|function):: (\S+)$", text, re.M)
    assert len(documented) == len(set(documented))


def test_reference_has_every_option_of_every_command() -> None:
    parts_of = {}
    for part in site.commands().split(".. program:: ")[1:]:
        path, _, text = part.partition("\n\n")
        parts_of[path] = text
    root = typer.main.get_command(app)
    shown = {f"hearts {name}": c for name, c in root.commands.items() if not c.hidden}
    assert parts_of.keys() == shown.keys()
    for path, command in shown.items():
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and not getattr(parameter, "hidden", False):
                    found = re.search(rf"^\.\. option:: .*{option}\b", parts_of[path], re.M)
                    assert found or option == "--help", option
