"""The documentation: generated parts are fresh, examples and commands run, links have targets."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from bench.__main__ import app as bench
from hearts_agents import HeartsEnv
from hearts_env import Rules, hearts_v0
from hearts_env.envs.rewards import REWARDS
from hearts_env.rules.presets import PRESETS
from hearts_train.cli.app import app
from hearts_train.measure.benchmark import record_of
from hearts_train.measure.participants import Participant
from tests.training_runs import smaller

DOCS = Path(__file__).resolve().parents[1] / "docs"
README = DOCS.parent / "README.md"
TESTS = DOCS.parent / "tests"


def load_script(name: str) -> ModuleType:
    """Import a script of ``docs``, which is not part of a package."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))  # they import each other
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


parts = load_script("parts")
tables = load_script("tables")
figures = load_script("figures")
PAGES = [pytest.param(page, id=page.relative_to(DOCS).as_posix()) for page in parts.pages()]
QUICK = ("start.md", "worlds.md", "rules.md", "notation.md", "tutorials/game.md")
"""Pages that run in about a second each. The others are slow tests."""


def blocks_of(page: Path) -> list[str]:
    """Return the Python blocks of a page that are run."""
    text = page.read_text(encoding="utf-8")
    return [code for flags, code in parts.BLOCK.findall(text) if "no-run" not in flags]


# ---- pages ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("page", [*PAGES, pytest.param(README, id="README.md")])
def test_generated_parts_are_fresh(page):
    text = page.read_text(encoding="utf-8")
    assert tables.render(text, str(page), run=False) == text, "run make docs-tables"
    # Strengths come from files of results and appear only in generated parts.
    written = re.sub(r"<!-- generated.*?<!-- end -->|^```.*?^```", "", text, flags=re.S | re.M)
    assert not re.findall(r"[+-]\d+\.\d+ ± \d", written)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for page in [README, *parts.pages()]
        if (name := os.path.relpath(page, DOCS)) and blocks_of(page)
    ],
)
def test_outputs_of_page_are_fresh(page):
    text = page.read_text(encoding="utf-8")
    assert tables.render(text, str(page), run=True) == text, "run make docs-tables"


def test_environment_page_lists_every_argument_reward_and_info():
    env = HeartsEnv("hoyle", 3, episode="match", reward="chips")
    parallel = inspect.signature(hearts_v0.parallel_env).parameters
    listed = {*inspect.signature(HeartsEnv).parameters, *parallel.keys() - {"noop"}, *REWARDS}
    text = (DOCS / "environment.md").read_text(encoding="utf-8")
    for name in [*listed, *env.reset(seed=1)[1]]:
        assert f"\n| `{name}` | " in text, name


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, pytest.param(README, id="README.md")])
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" not in link:
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def sources() -> list[Path]:
    """Return the files of the packages, configurations, examples and docs tools."""
    patterns = ("hearts_env/**/*", "agents/**/*", "train/**/*", "configs/*", "examples/**/*")
    found = {path for pattern in (*patterns, "docs/*.py") for path in DOCS.parent.glob(pattern)}
    return sorted(p for p in found if p.is_file() and "__pycache__" not in p.parts)


def test_pages_named_in_sources_exist():
    for path in sources():
        if path.suffix in (".py", ".yaml", ".js"):
            for page, anchor in re.findall(r"docs/([\w/]+\.md)(?:#([\w-]+))?", path.read_text()):
                assert (DOCS / page).exists(), f"{path}: docs/{page}"
                assert not anchor or anchor in anchors(DOCS / page), f"{path}: docs/{page}#{anchor}"


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b")
COMMAND = re.compile(
    r"(?<![\w/-])(hearts|python -m bench) ([a-z]+)(( +(?!hearts )[^\s`#|;&\x22]+)*)"
)
OTHERS = {"--fast", "--flag", "--head", "--help", "--version"}
"""Options of other programs that packages name, and ``--help``."""


def options_of(app) -> dict[str, set[str]]:
    """Return the options of an application by command."""
    commands = typer.main.get_command(app).commands
    return {
        name: {option for one in command.params for option in one.opts} | {"--help"}
        for name, command in commands.items()
    }


def test_options_named_anywhere_exist():
    known = {"hearts": options_of(app), "python -m bench": options_of(bench)}
    every = set().union(*known["hearts"].values(), OTHERS)
    files = [*sources(), *DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]
    for path in files:
        if path.suffix not in (".py", ".md", ".js"):
            continue
        text = path.read_text(encoding="utf-8")
        for program, command, words, _ in COMMAND.findall(text):
            for option in OPTION.findall(words) if command in known[program] else ():
                assert option in known[program][command] | OTHERS, (path, command, option)
            assert command in known[program] or not OPTION.search(words), f"{path}: {command}"
        for script, words in re.findall(r"python (bench/\w+\.py)([^`\n]*)", text):
            for option in OPTION.findall(words):
                assert f'"{option}"' in (DOCS.parent / script).read_text(), (path, option)
        if path.suffix == ".py" and path.parts[-2] != "docs" and "examples" not in path.parts:
            assert every.issuperset(OPTION.findall(text)), path


RULES_PAGE = (DOCS / "rules.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", ["options", "decks"])
def test_rules_page_has_every_preset(part):
    (names,) = re.findall(rf"generated: {part} (.*) -->", RULES_PAGE)
    small = {"two_player_20", "two_player_16", "midi", "mini_6", "mini", "micro"}
    as_others = {
        "options": small,
        "decks": {"no_pass", "kitty", "omnibus", "hoyle", "black_jack", "black_lady"},
    }
    assert {*names.split(), *as_others[part]} == set(PRESETS)


def test_rules_page_names_existing_tests():
    found = re.findall(r"^Tests: (.*?)\n\n", RULES_PAGE, re.S | re.M)
    tests = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    starts = tests.partition('\nRULES = """')[2].partition('"""')[0]
    assert len(found) >= 11
    for text in found:
        for name in re.findall(r"`(\w+)`", text):
            assert f"def {name}(" in tests, name
        for start in re.findall(r'"([^"]*)"', " ".join(text.split())):
            assert f"\n{start}" in starts, start


# ---- commands ------------------------------------------------------------------------------------
NOT_RUN = {
    "make |source |python3 -m venv |pip install ": "they change an installation",
    "python (examples|docs)/": "tests/test_examples.py runs the examples and their runner",
    "hearts serve": "a server does not end; tests/test_web_serve.py starts one",
    "hearts warmup": "it compiles everything; tests/test_warmup.py",
    'hearts evaluate "model.zip': "the model is the reader's",
    'hearts benchmark "model.onnx': "the model is the reader's",
    "hearts solve midi": "it takes 11 GB of memory",
    "hearts train demo --seeds 0-4 --backend ray": "tests/test_executor.py starts Ray",
}
"""Commands that are not run, by their beginnings, and the reasons."""

LESS = {
    "hearts benchmark": "--deals 2",
    "hearts benchmark --verify": "",
    "hearts compare": "--deals 64",
    "hearts dataset": "--deals 2",
    "hearts evaluate": "--deals 2",
    "hearts exploit": "--deals 2",
    "hearts exploit pro --rules micro": "",
    "hearts play": "--seed 1",
    "hearts play --resume": "",
    "hearts solve": "--iterations 2",
    "hearts tournament": "--deals 2",
    "hearts train demo --seeds": "--seeds 0-1",
}
"""Options added to commands by their longest beginning. Of an option, the last value counts.

Commands that train a config get the overrides of `smaller`, too.
"""

OWN_FILES = {
    "deal.txt": "examples/champion_deals.txt",
    "learned.safetensors": "docs/results/leaderboard/demo/demo.safetensors",
    "low_bot.py": "examples/bots/low_bot.py",
    "my.yaml": "configs/demo.yaml",
}
"""Files that the reader has, and files of the repository that replace them."""

STEP = re.compile(r"^( *)```(python|console)\n(.*?)^\1```$", re.S | re.M)
ALL_PAGES = {os.path.relpath(page, DOCS.parent): page for page in [README, *parts.pages()]}


def steps_of(page: Path) -> list[str]:
    """Return the commands of a page and its Python blocks that write files, in order."""
    steps = []
    for _, language, text in STEP.findall(page.read_text(encoding="utf-8")):
        if language == "console":
            steps += map(str.strip, text.replace("\\\n", " ").splitlines())
        elif ".write_text(" in text:
            steps.append(text)
    return steps


def reasons(step: str) -> list[str]:
    """Return the entries of `NOT_RUN` for a command."""
    return [start for start in NOT_RUN if re.match(start, step)]


def is_run(step: str) -> bool:
    """Return whether a step is a command that is run."""
    return step.startswith("hearts ") and not reasons(step)


def shortened(step: str) -> list[str]:
    """Return the words of a command, with the options that shorten it."""
    start = max((start for start in LESS if step.startswith(start)), key=len, default="")
    words = shlex.split(f"{step} {LESS.get(start, '')}")
    if words[1] == "train" and words[2] != "--resume":
        words += [f"--set={setting}" for setting in smaller(words[2])]
    return words


def test_tables_of_commands_have_no_outdated_entry():
    steps = [step for page in ALL_PAGES.values() for step in steps_of(page) if "\n" not in step]
    assert len(NOT_RUN) <= 10
    for start in LESS:
        assert any(step.startswith(start) for step in steps), start
    assert {start for step in steps for start in reasons(step)} == {*NOT_RUN}
    for step in steps:
        assert step.startswith("hearts ") or reasons(step), step


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, page in ALL_PAGES.items() if any(map(is_run, steps_of(page)))]
)
def test_commands_of_page_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for step in steps_of(ALL_PAGES[name]):
        if "\n" in step:
            tables.run_block(step, name, 0, {})
        elif is_run(step):
            for own, file in OWN_FILES.items():
                if own in step:
                    shutil.copyfile(DOCS.parent / file, own)
            words = shortened(step)
            if words[1] == "dataset":
                pytest.importorskip("minari")
            done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
            assert done.exit_code == 0, f"{shlex.join(words)}\n{done.output}"


# ---- generated parts -----------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return a function that writes files of results to an empty folder."""
    monkeypatch.setattr(parts, "DOCS", tmp_path)
    (tmp_path / "results" / "leaderboard").mkdir(parents=True)

    def write(name, record):
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(record))

    return write


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """Return a result of all deals of `micro` test, as JSON."""
    path = tmp_path_factory.mktemp("entry") / "standard.json"
    words = "benchmark standard --track micro --split test --declare authors=A --json"
    assert CliRunner().invoke(app, [*words.split(), str(path)]).exit_code == 0
    return json.loads(path.read_bytes())


def test_leaderboard_shows_margin_attacker_and_decisions(entry, results):
    results("leaderboard/standard", entry)
    results("leaderboard/weights", [1, 2])  # an agent's own file
    row = parts.leaderboard("micro").splitlines()[-1]
    for told in (
        "1",
        "`standard-v1`",
        "2.230, exact",
        "not declared",
        parts.interval(entry["result"]),
    ):
        assert f"| {told} |" in row
    assert "standard-v1" not in parts.leaderboard("mini")


def test_reference_shows_recipe_of_one_game_last(results):
    (parts.DOCS / "results" / "reference").mkdir()
    about = {"budget": 100, "versions": {"torch": "2"}, "opponents": "itself", "cpu_seconds": 60.0}
    about["weights"] = 5_000
    runs = [("a", "mini", 2.0), ("b", "mini", 1.0), ("b", "two_player", -3.0)]
    for seed, (example, rules, margin) in enumerate(runs):
        final = {"margin": margin, "exploitability": 0.5 if rules == "mini" else None}
        run = about | {"example": example, "rules": rules, "seed": seed, "final": final}
        results(f"reference/{example}-{rules}", run)
    results("baselines", {"baselines": []})
    above, below = parts.reference("100").splitlines()[2:]
    assert above.endswith(
        "| torch 2 | itself | -3.00 | +1.00 | 0.50 | 5,000 | 1.0, 1.0 | 1, 1 | 1 |"
    )
    assert below.endswith("| torch 2 | itself |  | +2.00 | 0.50 | 5,000 | , 1.0 | 0, 1 | 1 |")


def test_reference_summary_adds_columns_of_each_budget(results):
    (parts.DOCS / "results" / "reference").mkdir()
    about = {"versions": {"torch": "2"}}
    runs = [("a", "mini", 100_000), ("a", "two_player", 1_000_000), ("b", "two_player", 100_000)]
    for seed, (example, rules, budget) in enumerate(runs):
        final = {"margin": -1.0 - seed, "opponents": {"pro-v1": -2.0 - seed}}
        final["exploitability"] = 0.5 if rules == "mini" else None
        run = about | {"example": example, "rules": rules, "budget": budget, "seed": 0}
        results(f"reference/{example}-{rules}-{budget}", run | {"final": final})
    final = {"margin": 0.0, "exploitability": 0.25}
    names = ("champion", "pro", "easy")
    known = [
        {"agent": name, "rules": rules, "final": final}
        for name in names
        for rules in ("two_player", "mini")
    ]
    results("baselines", {"baselines": known})
    rows = parts.reference_summary().splitlines()
    assert rows[0].endswith("| margin, 10^6 decisions | exploitability, 10^6 decisions |")
    assert rows[-2:] == [
        "| `a` | torch 2 |  | 0.50 | -2.00 |  |",
        "| `b` | torch 2 | -3.00 |  |  |  |",
    ]
    best = [row.split(" | ")[2:4] for row in parts.reference_best().splitlines()[2:]]
    assert best == [
        ["-3.00", "`b`"],
        ["-4.00", "`b`"],
        ["0.50", "`a`"],
        ["-2.00", "`a`"],
        ["-3.00", "`a`"],
    ]


@pytest.mark.parametrize(("one_draw", "shown"), [(False, "2.230, exact"), (True, "")])
def test_entry_that_varies_shows_exploitability_without_draws(entry, results, one_draw, shown):
    exact = entry["result"]["exploitability"] | {"one_draw": one_draw}
    record = record_of(entry["result"] | {"exploitability": exact}, entry["run"])
    results("leaderboard/standard", record | {"entry": {"authors": "A", "repeats": "no"}})
    row = parts.leaderboard("micro").splitlines()[-1]
    assert row.startswith(f"| 1 | `standard-v1` | ≈ {parts.interval(entry['result'])} | {shown} |")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"split": "dev"}, "--split test"),
        ({"is_full": False}, "--deals"),
        ({"entry": {}}, "authors"),
        ({"entry": {"authors": "A |\n| `champion-v9` | +99"}}, "authors"),
        ({"agent": {"spec": "mine.py:Mine"}}, "code"),
    ],
    ids=str,
)
def test_incomplete_entry_is_refused(entry, results, change, word):
    changed = dict(change)
    declared = changed.pop("entry", entry["entry"])
    result = entry["result"] | changed
    result["agent"] = entry["result"]["agent"] | result["agent"]
    results("leaderboard/x", record_of(result, entry["run"]) | {"entry": declared})
    with pytest.raises(SystemExit, match=rf"x\.json: .*{word}"):
        parts.leaderboard("micro")


def test_place_is_a_range_if_difference_includes_zero():
    # The second is behind the first by exactly 1 in each deal, though margins vary by 6.
    # The third is behind the first by 1 ± 1.13. The last is behind all by 20.
    deals, noise = np.array([-9.0, -3.0, 3.0, 9.0]), np.array([1.0, -1.0, -1.0, 1.0])
    played = [deals + 1, deals, deals + noise, deals - 20]
    entries = [{"result": {"opponents": [{"margins": m + 2}, {"margins": m - 2}]}} for m in played]
    assert parts.places(entries) == ["1 to 2", "2 to 3", "1 to 3", "4"]


# ---- figures -------------------------------------------------------------------------------------
def recorded(tree, rules=""):
    """Yield every champion in a record of results, with its rules and digest."""
    if isinstance(tree, dict):
        rules = tree["rules"] if isinstance(tree.get("rules"), str) else rules
        if str(tree.get("spec")).startswith("champion"):
            yield tree["spec"], rules, tree["digest"]
    if isinstance(tree, dict | list):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from recorded(part, rules)


def test_champion_results_match_the_shipped_networks():
    found = {}
    for path in sorted((DOCS / "results").rglob("*.json")):
        for key in recorded(json.loads(path.read_text(encoding="utf-8"))):
            found.setdefault(key, path.name)
    assert {rules for _, rules, _ in found} == {"two_player", "mini", "classic"}
    assert len(found) >= 7
    for (spec, rules, digest), name in found.items():
        participant = Participant(spec, seed=0)
        participant.check_rules(Rules.make(rules))
        assert participant.digest == digest, f"{name}: measured of another {spec}; measure it again"
