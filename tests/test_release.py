"""The parts of a release: workflows, recipe and metadata agree with the package."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from hearts_env import Rules, __version__
from hearts_train.measure.benchmark import FORMAT, TRACKS, read_benchmark
from hearts_train.measure.participants import Participant
from tests.test_docs import load_script

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
citation = load_script("citation")
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
    cff, zenodo = loaded("CITATION.cff"), json.loads((ROOT / ".zenodo.json").read_bytes())
    assert cff["version"] == __version__
    assert cff["title"] == zenodo["title"]
    assert cff["abstract"] == zenodo["description"]
    assert cff["keywords"] == zenodo["keywords"]
    assert cff["license"] == zenodo["license"] == PROJECT["license"]
    authors = [author["name"] for author in cff["authors"]]
    assert authors == [creator["name"] for creator in zenodo["creators"]]
    assert authors == [author["name"] for author in PROJECT["authors"]]


@pytest.mark.parametrize(
    ("name", "renew"), [("CITATION.cff", "citation"), (".zenodo.json", "archive")]
)
def test_archives_repeat_the_facts_of_the_project(name, renew):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert getattr(citation, renew)(PROJECT, text) == text, "run make docs-tables"


def test_address_authors_and_doi_reach_every_file():
    urls = {"Repository": "https://example.org/hearts", "DOI": "https://doi.org/10.5281/zenodo.1"}
    people = [{"name": "A. Author"}, {"name": "B. Author"}]
    about = PROJECT | {"urls": urls, "authors": people, "version": "9.8.7"}
    text = citation.citation(about, (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation.citation(about, text) == text
    cff = yaml.safe_load(text)
    assert (cff["version"], cff["repository-code"]) == ("9.8.7", urls["Repository"])
    assert (cff["doi"], cff["authors"]) == ("10.5281/zenodo.1", people)
    archive = citation.archive(about, (ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert json.loads(archive)["creators"] == people
    entry = citation.bibtex(about, text + "date-released: 2031-02-03\n")
    for field in (
        "author  = {A. Author and B. Author}",
        "version = {9.8.7}",
        "year    = {2031}",
        "url     = {https://example.org/hearts}",
        "doi     = {10.5281/zenodo.1}",
    ):
        assert field in entry


def test_release_needs_address_authors_and_doi():
    released = re.findall(r"^## \[\d", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    empty = {"urls": {}, "authors": [{"name": citation.PLACEHOLDER}]}
    for is_first, number in ((True, 2), (False, 3)):
        assert len(citation.lacking(empty, is_first=is_first)) == number
    if "date-released" in loaded("CITATION.cff") or os.environ.get("GITHUB_REF_TYPE") == "tag":
        assert not citation.lacking(PROJECT, is_first=len(released) <= 1)


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
