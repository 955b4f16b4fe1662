"""The project's address, authors and DOI, as the pages, CITATION.cff and .zenodo.json name them.

``pyproject.toml`` is the only place where they are written: ``Repository`` and ``DOI`` below
``[project.urls]``, and ``authors``. ``docs/tables.py`` copies them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLACEHOLDER = "hearts-env contributors"
"""The author before a person has entered a name."""
YEAR = "2026"
"""The year of a version that has not been released."""


def project() -> dict[str, Any]:
    """Return the table ``project`` of ``pyproject.toml``."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)["project"])


def link(about: Mapping[str, Any], name: str) -> str:
    """Return one of the project's links, or an empty text."""
    return str(about.get("urls", {}).get(name, ""))


def doi(about: Mapping[str, Any]) -> str:
    """Return the project's DOI without the address of its resolver, or an empty text."""
    return link(about, "DOI").removeprefix("https://doi.org/")


def authors(about: Mapping[str, Any]) -> list[str]:
    """Return the authors' names."""
    return [author["name"] for author in about["authors"]]


def bibtex(about: Mapping[str, Any], cff: str) -> str:
    """Return the BibTeX entry. `cff` is the text of CITATION.cff."""
    title = re.findall(r'^title: "(.*)"$', cff, re.MULTILINE)[0]
    released = re.findall(r"^date-released: [\"']?(\d{4})", cff, re.MULTILINE)
    names = [f"{{{name}}}" if name == PLACEHOLDER else name for name in authors(about)]
    fields = {
        "author": " and ".join(names),
        "title": title,
        "version": about["version"],
        "year": (released or [YEAR])[0],
        "url": link(about, "Repository"),
        "doi": doi(about),
    }
    lines = [f"  {name:<7} = {{{value}}}" for name, value in fields.items() if value]
    return "@software{hearts_env,\n" + ",\n".join(lines) + "\n}\n"


def citation(about: Mapping[str, Any], cff: str) -> str:
    """Return the text of CITATION.cff with the project's authors, version, address and DOI."""
    cff = re.sub(r"^(version|repository-code|doi): .*\n", "", cff, flags=re.MULTILINE)
    values = {
        "version": about["version"],
        "repository-code": link(about, "Repository"),
        "doi": doi(about),
    }
    lines = "".join(
        f"  - name: {json.dumps(name, ensure_ascii=False)}\n" for name in authors(about)
    )
    lines += "".join(f"{name}: {value}\n" for name, value in values.items() if value)
    return re.sub(r"(?<=^authors:\n)(  .*\n)+", lambda _: lines, cff, flags=re.MULTILINE)


def archive(about: Mapping[str, Any], zenodo: str) -> str:
    """Return the text of .zenodo.json with the project's authors."""
    creators = json.dumps([{"name": name} for name in authors(about)], ensure_ascii=False)
    return re.sub(r'"creators": \[.*\]', lambda _: f'"creators": {creators}', zenodo)


def lacking(about: Mapping[str, Any], *, is_first: bool) -> list[str]:
    """Return what a release still needs. Zenodo gives the DOI at the first one."""
    missing = {
        "Repository: write the project's address into [project.urls]": link(about, "Repository"),
        "DOI: write the DOI from Zenodo into [project.urls]": is_first or doi(about),
        "authors: replace the placeholder by names": PLACEHOLDER not in authors(about),
    }
    return [words for words, value in missing.items() if not value]


def write() -> list[str]:
    """Write CITATION.cff and .zenodo.json anew. Return the names of those that changed."""
    changed = []
    for name, renew in (("CITATION.cff", citation), (".zenodo.json", archive)):
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = renew(project(), old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            changed.append(name)
    return changed
