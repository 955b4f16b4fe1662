"""The documentation: generated parts are fresh, examples run, links lead somewhere."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from typer.testing import CliRunner

from hearts_env import Rules
from hearts_env.rules.presets import PRESETS
from hearts_train.command.cli import app
from hearts_train.learn.config_files import load_config
from hearts_train.measure.contenders import Contender
from hearts_train.measure.duel import Duel
from hearts_train.measure.evaluation import evaluate
from tests import pages
from tests.pages import run_if_changed

DOCS = Path(__file__).resolve().parents[1] / "docs"


def load_script(name: str, folder: str = "docs") -> ModuleType:
    """A script of ``docs`` or ``bench``, which is not part of a package."""
    path = DOCS.parent / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def load_figures() -> ModuleType:
    """``docs/figures.py``, fresh."""
    return load_script("figures")


tables = load_script("tables")
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
PAGES = [pytest.param(page, id=page.relative_to(DOCS).as_posix()) for page in tables.pages()]


QUICK = ("start.md", "state.md", "rules.md", "notation.md", "tutorials/game.md")
"""Pages that run in a second each; the others are slow tests."""


def blocks_of(page: Path) -> list[str]:
    """The Python blocks of a page that are run."""
    text = page.read_text(encoding="utf-8")
    return [code for flags, code in BLOCK.findall(text) if "no-run" not in flags]


@pytest.mark.parametrize("page", PAGES)
def test_generated_parts_are_fresh(page):
    text = page.read_text(encoding="utf-8")
    assert tables.render(text, str(page), run=False) == text, "run make docs-tables"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for page in tables.pages()
        if (name := page.relative_to(DOCS).as_posix()) and blocks_of(page)
    ],
)
def test_what_a_page_shows_is_what_its_blocks_do(page, request):
    text = page.read_text(encoding="utf-8")

    def run():
        assert tables.render(text, str(page), run=True) == text, "run make docs-tables"

    run_if_changed(request, text, run)


@pytest.mark.parametrize("page", PAGES)
def test_a_comparison_that_a_page_shows_is_asserted(page):
    # What is printed is pinned as it comes: a wrong answer too. An assertion cannot be wrong.
    for code in blocks_of(page):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
                assert not any(isinstance(given, ast.Compare) for given in node.args), code


def test_a_page_is_run_again_only_if_it_or_the_sources_have_changed(monkeypatch):
    kept, ran = {}, []
    cache = SimpleNamespace(get=kept.get, set=kept.__setitem__)
    test = SimpleNamespace(config=SimpleNamespace(cache=cache), node=SimpleNamespace(nodeid="a"))
    for text in ("one", "one", "two", "two"):
        run_if_changed(test, text, lambda text=text: ran.append(text))
    assert ran == ["one", "two"]
    monkeypatch.setattr(pages, "digest_of_sources", lambda: "changed")
    for _ in range(2):  # what fails is not remembered
        with pytest.raises(ZeroDivisionError):
            run_if_changed(test, "two", lambda: 1 // 0)
    run_if_changed(test, "two", lambda: ran.append("again"))
    assert ran[2:] == ["again"]


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
        result = CliRunner().invoke(app, [name, *rest, "--deals", "2"])
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


# ---- figures -------------------------------------------------------------------------------------
README = DOCS.parent / "README.md"


def test_the_figures_of_the_readme_are_those_of_the_files():
    text = README.read_text(encoding="utf-8")
    assert text.count("<!-- generated: ") >= 3
    parts = "".join(found[0] for found in tables._TOKEN.finditer(text) if found["name"])
    assert tables.render(parts, "README.md", run=False) == parts, "run make docs-tables"


def recorded(tree, rules=""):
    """Every champion that a record of results names, with its rules and digest."""
    if isinstance(tree, dict):
        rules = tree["rules"] if isinstance(tree.get("rules"), str) else rules
        if str(tree.get("spec")).startswith("champion"):
            yield tree["spec"], rules, tree["digest"]
    if isinstance(tree, dict | list):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from recorded(part, rules)


def test_figures_of_the_champion_are_of_the_networks_that_come_with_the_package():
    found = {}
    for path in sorted((tables.DOCS / "results").glob("*.json")):
        for key in recorded(json.loads(path.read_text(encoding="utf-8"))):
            found.setdefault(key, path.name)
    assert {rules for _, rules, _ in found} == {"two_player", "mini", "classic"}
    assert len(found) >= 7
    for (spec, rules, digest), name in found.items():
        contender = Contender(spec, seed=0)
        contender.check_rules(Rules.make(rules))
        assert contender.digest == digest, f"{name}: measured of another {spec}; measure it again"


def test_no_interval_is_written_by_hand():
    # Strengths come from files of results; a page says them only in generated parts.
    for page in [README, *tables.pages()]:
        text = page.read_text(encoding="utf-8")
        told = re.sub(r"<!-- generated.*?<!-- end -->", "", text, flags=re.S)
        told = re.sub(r"^```.*?^```", "", told, flags=re.S | re.M)  # what a terminal shows
        assert not re.findall(r"[+-]\d+\.\d+ ± \d", told), page


def evaluation_of(margin, half, won=0.5, **more):
    """A record as an evaluation writes it."""
    ci95 = [margin - half, margin + half]
    names = {"agent": "pro", "opponent": "easy"}
    return {**names, "margin": margin, "ci95": ci95, "won": won, "deals": 12000, **more}


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder for files of results, instead of the docs' own."""
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    (tmp_path / "results").mkdir()

    def write(name, record):
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(record))

    return write


def test_strengths_are_told_with_their_intervals(results):
    results("pro-easy", evaluation_of(8.7351, 0.0312))
    assert tables.strengths("pro-easy", "pimc-pro").splitlines()[2:] == [
        "| `pro` | `easy` | +8.74 ± 0.03 | 12,000 |",
        "| `pimc` | `pro` | not measured yet |  |",
    ]


def test_learned_results_are_told_as_mean_and_spread_over_seeds(results):
    assert "figures.py demo" in tables.learned("demo")
    for seed, margin in ((0, 3.0), (1, 4.0), (2, 5.0)):
        record = evaluation_of(margin, 0.2, won=0.6 + 0.01 * seed)
        results(f"demo-{seed}", {"seed": seed, "decisions": 4_000_000, "evaluations": [record]})
    told = tables.learned("demo")
    # Of 3, 4 and 5 the mean is 4 and the standard deviation, with n - 1, is 1.
    assert "| `easy` | +4.00 ± 1.00 | 61.0 ± 1.0 % |" in told
    assert "of 3 trained players (seeds 0, 1, 2; 4.0 M decisions each)" in told


def test_what_one_trained_player_makes_is_told_with_its_interval(results):
    record = evaluation_of(3.0, 0.2)
    results("demo-4", {"seed": 4, "decisions": 4_000_000, "evaluations": [record]})
    told = tables.learned("demo")
    assert "| `easy` | +3.00 ± 0.20 |" in told
    assert "One trained player (seed 4; 4.0 M decisions), over 12,000 duplicate deals" in told


@pytest.mark.parametrize("name", ["dqn", "nfsp"])
def test_recipes_of_compared_ways_of_learning_have_the_settings_compared(name):
    """But for whom they are evaluated against, and for what the algorithm makes no use of."""
    arm = load_figures().TRAININGS[f"arm_{name}"]
    compared, recipe = load_config(arm.recipe, arm.settings), load_config(name)
    evaluation = recipe.evaluation.model_copy(update={"opponents": []})
    unused = {name: getattr(compared.ppo, name) for name in ("ent_coef", "ent_coef_end")}
    ppo = recipe.ppo.model_copy(update=unused)
    changed = {"name": compared.name, "evaluation": evaluation, "ppo": ppo}
    assert recipe.model_copy(update=changed) == compared
    assert recipe.budget.decisions == arm.decisions


def test_the_figures_command_knows_every_file_that_a_page_uses(capsys):
    figures = load_figures()
    assert figures.main(["--list"]) == 0
    known = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    for page in [README, *tables.pages()]:
        for line in page.read_text(encoding="utf-8").splitlines():
            words = line.removeprefix("<!-- generated: ").removesuffix(" -->").split()
            if line.startswith("<!-- generated: ") and words[0] in ("strengths", "learned"):
                assert known >= set(words[1:])
    assert figures.main(["no-such"]) == 2


def test_a_figure_is_measured_into_its_file_and_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    figures = load_figures()
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(figures, "WORK", tmp_path / "work")
    figure = figures.Figure("standard", "easy", 40)
    monkeypatch.setattr(figures, "FIGURES", [figure])
    stopped = []

    def stop(self, first, size, progress=None):
        if first == 16 and not stopped:
            stopped.append(True)
            raise KeyboardInterrupt
        return play(self, first, size, progress)

    play = Duel.play
    monkeypatch.setattr(Duel, "play", stop)
    assert figures.main(["standard-easy"]) == 130
    assert not (tmp_path / "results").exists()
    assert figures.main(["standard-easy"]) == 0
    record = json.loads((tmp_path / "results" / "standard-easy.json").read_text())
    assert record["margin"] == evaluate("standard", "easy", "two_player", 40, 0).margin
    assert record["command"] == figure.command
    assert "hearts evaluate standard --opponents easy --deals 40 --seed 0" in figure.command
