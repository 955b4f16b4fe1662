"""Imports point one way, also within the packages, and the core stays light."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import subprocess
import sys
import typing
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import hearts_train

ROOT = Path(__file__).parents[1]
# In addition to ROOMS.
FORBIDDEN = {
    "hearts_env": (
        "hearts_agents",
        "hearts_train",
        "torch",
        "stable_baselines3",
        "sb3_contrib",
        "pydantic",
    ),
    "agents/hearts_agents": ("hearts_train", "torch", "sb3_contrib", "onnxruntime"),
    "train/hearts_train/measure": ("torch", "stable_baselines3", "sb3_contrib"),
    "train/hearts_train/data": ("torch", "stable_baselines3", "sb3_contrib"),
    "train/hearts_train/learn": ("hearts_train.data", "typer"),
    "train/hearts_train/web": ("typer", "torch", "hearts_train.learn"),
}
# stable-baselines3 belongs to one module of the agents, which nothing else there imports, and torch
# to those which play models made with it, where they are asked for.
ALONE = {
    "sb3.py": {"stable_baselines3"},
    "libraries.py": {"torch"},
    "own_network.py": {"torch"},
}


ROOMS = {
    "hearts_env": "support cards kernel seeds rules render views encoders game batch envs "
    "hearts_v0 solve openspiel jax",
    "agents/hearts_agents": "user_code base registry models programs spec baseline_kernel "
    "baselines search attackers search_agent champion isolation guard served envs "
    "template",
    "train/hearts_train": "screen store executor equilibria measure data learn warmup web console "
    "cli",
}
"""The rooms of each package. A room may import only those before it."""


@pytest.mark.parametrize("folder", ROOMS)
def test_rooms_import_those_before_them(folder: str) -> None:
    order = ROOMS[folder].split()
    package = folder.rpartition("/")[2]
    edges = graph(ROOT / folder)
    rooms = {name: name.split(".")[1] for name in edges if "." in name}
    assert set(rooms.values()) == set(order)
    upward = [
        (name, target)
        for name, targets in edges.items()
        for target in targets
        if package not in (name, target) and order.index(rooms[target]) > order.index(rooms[name])
    ]
    assert upward == []


@pytest.mark.parametrize("folder", ROOMS)
def test_contributing_lists_rooms_in_order(folder: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package = folder.rpartition("/")[2]
    _, _, listed = text.partition(f"\n- `{package}`: ")
    listed = re.split(r"\n(?=- |\n)", listed)[0]
    rooms = ROOMS[folder].split()
    places = [listed.find(f"`{room}`") for room in rooms]
    assert min(places) >= 0, [room for room, place in zip(rooms, places, strict=True) if place < 0]
    assert places == sorted(places)


def test_contributing_names_existing_functions() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, walk = text.partition("\n## How it runs\n")
    walk, _, _ = walk.partition("\n## ")
    known = {"hearts_v0"}
    for path in (path for folder in ROOMS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                known.add(node.name)
            if isinstance(node, ast.ClassDef):
                known |= {f"{node.name}.{one.name}" for one in node.body if hasattr(one, "name")}
    assert set(re.findall(r"^(\d+)\. ", walk, re.M)) == set(map(str, range(1, 13)))
    assert set(re.findall(r"`([^`]+)`", walk)) - known == {"observe"}  # a method of environments


def graph(folder: Path) -> dict[str, set[str]]:
    """Return the modules of a package, each with its imports from the package.

    Imports inside functions and for type checkers count too.
    """
    paths = {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in folder.rglob("*.py")
    }
    edges: dict[str, set[str]] = {}
    for name, path in paths.items():
        edges[name] = set()
        for module, names in imports(path):
            inner = {f"{module}.{what}" for what in names} & paths.keys()
            edges[name] |= inner or {module} & paths.keys()
    return edges


@functools.cache
def imports(path: Path) -> list[tuple[str, list[str]]]:
    """Return every import of a file, anywhere in its text: the module and the names taken."""
    found: list[tuple[str, list[str]]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append((node.module, [alias.name for alias in node.names]))
    return found


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, and their parent packages."""
    names = {f"{module}.{name}" for module, given in imports(path) for name in given}
    names |= {module for module, _ in imports(path)}
    return {name.rsplit(".", i)[0] for name in names for i in range(name.count(".") + 1)}


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_point_one_way(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        others = {*FORBIDDEN[folder], *({"stable_baselines3"} if "agents" in folder else ())}
        found = imported(path) & others - ALONE.get(path.name, set())
        assert not found, f"{path.name} imports {found}"


def test_trainer_learns_with_torch_alone() -> None:
    foreign = {"maskable", "export"}
    for path in (ROOT / "train" / "hearts_train" / "learn").glob("*.py"):
        found = {
            word
            for module, names in imports(path)
            for word in (module, *(f"{module}.{name}" for name in names))
            if word.startswith(("stable_baselines3", "sb3_contrib", "hearts_agents.envs.sb3"))
            or word in {f"hearts_train.learn.{name}" for name in foreign}
        }
        assert bool(found) == (path.stem in foreign), f"{path.name} imports {found}"


def test_the_core_loads_nothing_heavy() -> None:
    libraries = ["torch", "jax", "stable_baselines3", "matplotlib", "PIL", "pygame", "pydantic"]
    heavy = [*libraries, "numba"]
    report = f"print([m for m in {heavy} if m in sys.modules])"
    use = (
        "hearts_env.Rules.preset('classic').to_dict(); import hearts_env.render as r; "
        "r.render_svg, r.render_ansi, r.render_rgb, r.Window, r.TablePicture"
    )
    code = f"import sys, hearts_env; {report}; {use}; {report}"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert shown.stdout.split() == ["[]", "[]"]


@pytest.mark.parametrize("folder", ["hearts_env", "agents/hearts_agents", "train/hearts_train"])
def test_imports_have_no_cycles(folder: str) -> None:
    TopologicalSorter(graph(ROOT / folder)).prepare()  # or it raises a CycleError


@pytest.mark.slow
def test_lazy_names_and_modules_are_found() -> None:
    code = (
        "import hearts_env; from hearts_env import *; "
        "hearts_env.kernel.MAX_STATE, hearts_env.solve.double_dummy, hearts_env.hearts_v0.env; "
        "missing = [n for n in hearts_env.__all__ if n not in globals()]; "
        "print(missing, hasattr(hearts_env, 'gme'), set(hearts_env._HOMES) <= set(dir(hearts_env)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert shown.stdout.split() == ["[]", "False", "True"]


def test_results_of_public_functions_are_exported() -> None:
    for name in hearts_train.__all__:
        thing = getattr(hearts_train, name)
        hint = typing.get_type_hints(thing)["return"] if inspect.isfunction(thing) else None
        for made in (hint, *typing.get_args(hint)):
            if inspect.isclass(made) and made.__module__.startswith("hearts_"):
                assert made.__name__ in hearts_train.__all__
