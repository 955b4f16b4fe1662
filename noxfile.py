"""The lowest, the pinned and the newest dependencies under every Python: ``make matrix``.

Each session compares tests/digests.py (again with ``-O``, random hash seeds and more threads), and
runs the command line and a few tests. ``nox --list`` names the sessions.
"""

from __future__ import annotations

import os
from pathlib import Path

import nox
from packaging.requirements import Requirement

ROOT = Path(__file__).parent
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PYTHONS = nox.project.python_versions(PYPROJECT)
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
TOOLS = [text for text in EXTRAS["test"] if Requirement(text).name in ("pytest", "hypothesis")]
TESTS = ("tests/test_infos.py", "tests/test_imports.py")
HEARTS = "import sys; from hearts_train.cli import main; sys.argv[0] = 'hearts'; main()"


def least(session: nox.Session, requirements: list[str]) -> list[str]:
    """Return the requirements of the session's Python, each at its lowest version."""
    python = {"python_version": str(session.python)}
    found = [Requirement(text) for text in requirements]
    least_of = {
        one.name: next(s.version for s in one.specifier if s.operator == ">=")
        for one in found
        if one.marker is None or one.marker.evaluate(python)
    }
    # There is often only one build of torch for a machine.
    return [
        f"{name}{'>=' if name == 'torch' else '=='}{version}" for name, version in least_of.items()
    ]


def check(session: nox.Session, versions: str, requirements: list[str], *tests: str) -> None:
    """Install the requirements and run everything with them."""
    requirements = [*requirements, *TOOLS]
    if versions == "lowest":
        requirements = least(session, requirements)
    pinned = ["--constraint", "constraints.txt"] if versions == "pinned" else []
    session.install(*pinned, *requirements)
    session.env.update(
        PYTHONPATH=os.pathsep.join(str(ROOT / part) for part in (".", "agents", "train")),
        PYTHONDONTWRITEBYTECODE="1",
        OMP_NUM_THREADS="1",
        NUMBA_CACHE_DIR=session.create_tmp(),
    )
    session.run("python", "tests/digests.py", "--threads", "1", env={"PYTHONHASHSEED": "0"})
    session.run("python", "-O", "tests/digests.py", "--threads", "3")
    for words in (["--help"], ["rules", "two_player"], ["evaluate", "--help"]):
        session.run("python", "-c", HEARTS, *words, silent=True)
    session.run("pytest", "-q", "-p", "no:cacheprovider", *TESTS, *tests)


@nox.session(python=PYTHONS)
@nox.parametrize("versions", ["lowest", "pinned", "newest"])
def core(session: nox.Session, versions: str) -> None:
    """Check the core: environments, players and the command line."""
    check(session, versions, PROJECT["dependencies"])


@nox.session(python=PYTHONS[0])
@nox.parametrize("versions", ["lowest", "newest"])
def train(session: nox.Session, versions: str) -> None:
    """Check the core with the extra for training."""
    requirements = PROJECT["dependencies"] + EXTRAS["train"]
    check(session, versions, requirements, "tests/test_vector_env.py")
