"""The parts of a release: workflows, recipe and metadata agree with the package."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from hearts_env import Rules, __version__
from hearts_train.measure.benchmark import FORMAT, TRACKS, read_benchmark
from hearts_train.measure.participants import Participant

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ENTRIES = [
    path
    for path in sorted((ROOT / "docs" / "results" / "leaderboard").rglob("*.json"))
    if f'"{FORMAT}"' in path.read_text(encoding="utf-8")
]


def loaded(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_pinned_actions_and_no_secret(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+(\.\d+)*", action), action
    assert "secrets." not in text
    assert "pull_request_target" not in text  # it would run others' code with our rights
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    given = {name: job.get("permissions", {}) for name, job in workflow["jobs"].items()}
    assert {name for name, rights in given.items() if rights} <= {"publish", "site"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if str(step.get("uses")).startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


def test_recipe_requirements_equal_the_package():
    recipe = loaded(".ci/recipe.yaml")
    assert recipe["context"]["version"] == __version__ == PROJECT["version"]
    needed = [f"python {PROJECT['requires-python']}"]
    for text in PROJECT["dependencies"]:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"python_version": "3.13"}):
            order = sorted(map(str, requirement.specifier), key=lambda one: one[0] != ">")
            needed.append(f"{requirement.name} {','.join(order)}")
    assert recipe["requirements"]["run"] == needed
    entry_points = [f"{name} = {what}" for name, what in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == entry_points
    assert recipe["about"]["license"] == PROJECT["license"]


def test_citation_and_archive_say_the_same():
    citation, zenodo = loaded("CITATION.cff"), json.loads((ROOT / ".zenodo.json").read_bytes())
    assert citation["version"] == __version__
    assert citation["title"] == zenodo["title"]
    _, _, bibtex = (ROOT / "README.md").read_text(encoding="utf-8").partition("```bibtex\n")
    assert f"version = {{{__version__}}}" in bibtex
    assert citation["title"] in bibtex
    assert citation["abstract"] == zenodo["description"]
    assert citation["keywords"] == zenodo["keywords"]
    assert citation["license"] == zenodo["license"] == PROJECT["license"]
    authors = [author["name"] for author in citation["authors"]]
    assert authors == [creator["name"] for creator in zenodo["creators"]]
    assert authors == [author["name"] for author in PROJECT["authors"]]


def test_leaderboard_entries_met_current_players():
    known = {}
    for path in ENTRIES:
        result = read_benchmark(path)["result"]
        for figures in result["opponents"]:
            key = result["track"], figures["opponent"]
            if key not in known:
                participant = Participant(figures["opponent"], 0)
                participant.check_rules(Rules.from_text(TRACKS[result["track"]].rules))
                known[key] = participant.digest
            assert figures["digest"] == known[key], path.name
