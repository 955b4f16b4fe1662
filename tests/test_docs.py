"""The documentation: generated parts are fresh, examples run, links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from hearts_env.rules import PRESETS
from hearts_train.cli import app
from hearts_train.config import load_config

DOCS = Path(__file__).resolve().parents[1] / "docs"


def load_tables() -> ModuleType:
    """``docs/tables.py``, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("docs_tables", DOCS / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tables = load_tables()
PAGES = [pytest.param(page, id=page.relative_to(DOCS).as_posix()) for page in tables.pages()]


@pytest.mark.parametrize("page", PAGES)
def test_generated_parts_are_fresh_and_examples_run(page):
    text = page.read_text(encoding="utf-8")
    assert tables.render(text, str(page)) == text, "run make docs-tables"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


GAMES = sorted((DOCS / "games").glob("*.md"))
COMMANDS = [
    pytest.param(line.partition("#")[0].split(), id=line.partition("#")[0].strip())
    for line in sorted({line for page in GAMES for line in page.read_text().splitlines()})
    if line.startswith("hearts ")
]


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_of_the_games_are_understood(words):
    _, name, *rest = words
    if name == "train":  # the recipe alone; training is what the pages' Python does
        recipe, *settings = rest
        assert settings[::2] == ["--set"] * (len(settings) // 2)
        load_config(recipe, settings[1::2])
    else:
        result = CliRunner().invoke(app, [name, *rest, "--pairs", "2"])
        assert result.exit_code == 0, result.stderr


def test_every_preset_has_a_page():
    told = {line for page in GAMES for line in page.read_text().splitlines()}
    shown = {name for line in told if "generated: options" in line for name in line.split()[3:-1]}
    assert shown == set(PRESETS)


def test_every_page_is_in_the_index():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([^)#\s]+)", index))
    missing = {page.relative_to(DOCS).as_posix() for page in tables.pages()} - linked
    assert missing <= {"index.md", "verification.md"}, f"not in docs/index.md: {missing}"


def test_every_field_is_explained():
    assert tuple(tables.MEANINGS) == tables.FIELDS


def test_check_finds_a_stale_part(monkeypatch, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n<!-- generated: margins -->\nold\n<!-- end -->\n")
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    assert tables.main(["--check"]) == 1
    assert "page.md" in capsys.readouterr().err
    assert "old" in page.read_text()
    assert tables.main([]) == 0
    assert "old" not in page.read_text()
    assert tables.main(["--check"]) == 0


def test_output_is_what_the_blocks_before_it_print():
    text = (
        "```python\nx = 2\n```\n```python no-run\nraise SystemExit\n```\n"
        "```python\nprint(x + 2)\n```\n<!-- generated: output -->\n<!-- end -->\n"
    )
    assert "```text\n4\n```\n<!-- end -->" in tables.render(text)
