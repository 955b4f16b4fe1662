"""Run the examples, each with its library: a check of seconds, or the reference results.

An example is a file ``examples/NAME.py``. What it needs is in
``examples/requirements/NAME.txt``. The comment at the head of that file has notes for
users of the library. Each example has a virtual
environment of its own. If one cannot be installed or fails, the others continue.

    python docs/libraries.py [NAME ...]                       check that the examples run
    python docs/libraries.py --decisions 100000 [NAME ...]    reference results
    python docs/libraries.py --baselines                      players to compare them with
    python docs/libraries.py --decisions 100000 --enter NAME  enter the best runs

The check learns from a few decisions and writes ``docs/results/libraries.json``. Reference results
follow the protocol of docs/benchmark.md. Each game and each seed of ``--rules`` and ``--seeds`` is
a run of its own. Its result is a file in ``docs/results/reference``. A run that has a file is
skipped, so the same command continues after a stop. The learned policies stay in the folder of the
virtual environments. ``docs/tables.py`` shows the results in the pages.

``--enter`` writes an entry of the leaderboard for each game: the weights of the run with the best
margin as float16, its result on the test deals, and attacks on larger decks. A game that has a
result is skipped, so the test deals are played once.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hearts_agents import make_agent
from hearts_agents.models.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from hearts_agents.programs.process import kill_child, start_child
from hearts_agents.spec import AgentSpec
from hearts_env import __version__
from hearts_env.support.errors import did_you_mean
from hearts_env.support.files import write_json
from hearts_env.support.interrupts import exit_status, interruptible
from hearts_train import benchmark, evaluate, exploitability
from hearts_train.measure.benchmark import TRACKS
from hearts_train.measure.evaluation import platform_versions

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
RESULTS = ROOT / "docs" / "results" / "libraries.json"
REFERENCE = ROOT / "docs" / "results" / "reference"
BASELINES = ROOT / "docs" / "results" / "baselines.json"
LEADERBOARD = ROOT / "docs" / "results" / "leaderboard"
_INSTALL_SECONDS = 1800.0
_MOST_BYTES = 500_000
"""Most bytes of the weights of an entry."""
_MOST_UNEVEN = 0.2
"""Largest difference between the shares of deals that a recipe wins in its seats."""
_FEW_DEALS = 400
"""Chance alone makes the shares of so few deals uneven."""
_MOST_SHOWN = 200
"""Most characters of an error that are shown."""
_CHECK = ["--decisions", "5000", "--rules", "mini"]
"""The arguments of a check of an example that learns."""
GAMES = ["two_player", "mini"]
COMPARED = ("easy", "standard", "pro", "pimc", "champion", "equilibrium")
CURVE_OPPONENTS = ("standard", "pro", "pimc")
CURVE_DEALS = 500


def all_names() -> list[str]:
    """Return the names of all examples."""
    return sorted(path.stem for path in EXAMPLES.glob("[a-z]*.py"))


def requirements_file(name: str) -> Path:
    """Return the requirements file of an example."""
    return EXAMPLES / "requirements" / f"{name}.txt"


def requirements(name: str) -> tuple[str, list[str]]:
    """Return the notes on an example's library, and its requirements."""
    notes, wanted = [], []
    for line in requirements_file(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            notes.append(line.removeprefix("#").strip())
        elif line.strip():
            wanted.append(line.strip())
    return " ".join(notes), wanted


def subject(name: str) -> str:
    """Return the first sentence of an example."""
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    first, _, _ = (ast.get_docstring(tree) or name).partition("\n\n")
    return " ".join(first.split()).removesuffix(".")


def learns(name: str) -> bool:
    """Return whether an example learns within a budget of decisions, for a reference result."""
    return "Learning(" in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")


class Failed(Exception):
    """The failure of an example or of its installation."""


def call(command: Sequence[str | Path], limit: float, log: Path) -> None:
    """Run a program in the folder of `log` with its output there, and end all its processes.

    It has one thread for numerical work, so that processor seconds of programs compare.

    Raises:
        Failed: if its exit status is not 0, or it takes longer than `limit` seconds.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["OMP_NUM_THREADS"] = "1"
    with log.open("ab") as out:
        words = ["sh", "-c", 'cd "$0" && exec "$@" >&2 </dev/null', log.parent, *command]
        child = start_child(list(map(str, words)), stderr=out, environment=environment)
        try:
            status = child.wait(limit)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {limit:.0f} s") from None
        finally:
            kill_child(child)
    if status:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        raise Failed(f"exit status {status}{': ' * bool(last)}{last[:_MOST_SHOWN]}")


def prepared(name: str, venvs: Path) -> Path:
    """Update an example's virtual environment, and return its Python.

    Raises:
        Failed: if it cannot be installed.
    """
    venv, log = venvs / name, venvs / f"{name}.log"
    log.unlink(missing_ok=True)
    python, mark = venv / "bin" / "python", venv / "installed"
    state = requirements_file(name).read_text() + (ROOT / "pyproject.toml").read_text()
    if not mark.exists() or mark.read_text() != state:
        call([sys.executable, "-m", "venv", "--clear", venv], _INSTALL_SECONDS, log)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        needed = ["-r", requirements_file(name), "--editable", ROOT]
        call([*pip, *needed], _INSTALL_SECONDS, log)
        mark.write_text(state)
    return python


def run(name: str, venvs: Path, limit: float, arguments: Sequence[str]) -> dict[str, Any]:
    """Run an example in its virtual environment, and return its report.

    Raises:
        Failed: if it cannot be installed, fails, writes no report, or the report shows an error.
    """
    python = prepared(name, venvs)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        line = [python, EXAMPLES / f"{name}.py", *arguments, "--json", report]
        call(line, limit, venvs / f"{name}.log")
        if not report.exists():
            raise Failed("it wrote no report")
        found = json.loads(report.read_text(encoding="utf-8"))
    if error := error_in(found):
        raise Failed(error)
    return dict(found)


def error_in(report: dict[str, Any]) -> str:
    """Return what a report shows to be wrong with an example, or an empty text."""
    if report["illegal"]:
        return f"illegal: it played {report['illegal']} illegal cards; apply the action mask"
    if not report["decisions"]:
        return (
            "decisions: it learned from none; call report.decided with the masks of its turns, and "
            "report.learned after each update"
        )
    for seat, row in enumerate(report["seats"]):
        if not (row["won"] and row["lost"]):
            return (
                f"seats: it won {row['won']} deals and lost {row['lost']} in seat {seat}; call "
                "report.played with the return of each finished deal, and look for lost rewards"
            )
    first, second = (row["won"] / (sum(row.values()) or 1) for row in report["seats"])
    deals = min(sum(row.values()) for row in report["seats"])
    if deals > _FEW_DEALS and abs(first - second) > _MOST_UNEVEN:
        return (
            f"seats: it won {first:.0%} of the deals in seat 0 and {second:.0%} in seat 1; see "
            "whether it meets the same deals again and again: give reset a seed only once"
        )
    return ""


def check(name: str, venvs: Path, limit: float) -> dict[str, Any]:
    """Run an example for seconds, and return its record.

    Raises:
        Failed: as ``run``.
    """
    arguments = ["--smoke"]
    if learns(name):
        arguments = [*_CHECK, "--save", str(venvs / f"{name}.safetensors")]
    report = run(name, venvs, limit, arguments)
    note, wanted = requirements(name)
    return {"what": subject(name), "note": note, "requirements": wanted, "report": report}


# ---- reference results ---------------------------------------------------------------------------
def reference(
    name: str, rules: str, decisions: int, seed: int, venvs: Path, limit: float
) -> dict[str, Any]:
    """Train an example's policy, measure it on the development deals, and return the record.

    Raises:
        Failed: as ``run``.
    """
    player = venvs / "players" / f"{name}-{rules}-{decisions}-{seed}.safetensors"
    player.parent.mkdir(exist_ok=True)
    for old in (*snapshots(player), player):
        old.unlink(missing_ok=True)
    arguments = ["--decisions", decisions, "--seed", seed, "--rules", rules, "--save", player]
    report = run(name, venvs, limit, list(map(str, arguments)))
    curve = [point(path, rules) for path in [*sorted(snapshots(player)), player]]
    _, meta = read_checkpoint(player)
    about = {"example": name, "what": subject(name), "platform": platform_versions()}
    about |= {"processor": processor(), "weights": meta.num_weights}
    return {**about, **report, "curve": curve, "final": final(player, rules)}


def processor() -> str:
    """Return the model of the processor, as far as the system tells."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def final(agent: str | Path, rules: str) -> dict[str, Any]:
    """Return the figures of a player on all development deals."""
    record = benchmark(agent, rules)
    result = record["result"]
    return {
        **{key: result[key] for key in ("protocol", "split", "deals", "margin", "ci95")},
        "sha256": record["sha256"],
        "digest": result["agent"]["digest"],
        "opponents": {one["opponent"]: one["margin"] for one in result["opponents"]},
        "faults": sum(one["faults"] for one in result["opponents"]),
        "exploitability": (result["exploitability"] or {}).get("exploitability"),
    }


def snapshots(player: Path) -> list[Path]:
    """Return the files of a learned policy during its training."""
    return list(player.parent.glob(f"{player.stem}.[0-9].safetensors"))


def point(path: Path, rules: str) -> dict[str, Any]:
    """Return a point of a learning curve: margins, and on small decks the exploitability."""
    _, meta = read_checkpoint(path)
    exact = round(exploitability(path, rules), 6) if TRACKS[rules].is_exact else None
    return {
        "decisions": meta.training["decisions"],
        "cpu_seconds": meta.training["cpu_seconds"],
        "margins": curve_margins(path, rules),
        "exploitability": exact,
    }


def curve_margins(agent: str | Path, rules: str) -> dict[str, float]:
    """Return a player's margins over the opponents of the learning curves."""
    seed = TRACKS[rules].seed("dev")
    played = evaluate(agent, list(CURVE_OPPONENTS), rules, CURVE_DEALS, seed)
    return {one.opponent: round(one.margin, 4) for one in played}


def measure_baselines() -> None:
    """Measure the players of each game that reference results are compared with."""
    rows = []
    for name, rules in itertools.product(COMPARED, GAMES):
        if name == "equilibrium" and not TRACKS[rules].is_exact:
            continue
        row = {"agent": name, "rules": rules, "margins": curve_margins(name, rules)}
        rows.append({**row, "final": final(name, rules)})
        print(f"{name}, {rules}: margin {rows[-1]['final']['margin']:+.2f}", flush=True)
    command = "python docs/libraries.py --baselines"
    about = {"version": __version__, "platform": platform_versions(), "command": command}
    write_json(BASELINES, {**about, "baselines": rows})


def measure(given: argparse.Namespace, names: Sequence[str], venvs: Path) -> list[str]:
    """Run the missing reference results, and return the names of those that failed."""
    failed = []
    for name, rules, seed in itertools.product(names, given.rules, given.seeds):
        file = REFERENCE / f"{name}-{rules}-{given.decisions}-{seed}.json"
        if file.exists():
            continue
        began = time.monotonic()
        try:
            record = reference(name, rules, given.decisions, seed, venvs, given.limit or 3600.0)
        except Failed as error:
            failed.append(name)
            outcome = f"{error}; see {given.venvs / name}.log"
        else:
            file.parent.mkdir(exist_ok=True)
            write_json(file, record)
            exact = record["final"]["exploitability"]
            outcome = f"margin {record['final']['margin']:+.2f}"
            outcome += "" if exact is None else f", exploitability {exact:.3f}"
        print(f"{file.stem}: {outcome} ({time.monotonic() - began:.0f} s)", flush=True)
    return failed


def best_run(name: str, rules: str, decisions: int) -> tuple[str, dict[str, Any]]:
    """Return the run of an example with the best margin on the development deals, and its name.

    Raises:
        Failed: if there is none.
    """
    files = REFERENCE.glob(f"{name}-{rules}-{decisions}-*.json")
    runs = [(file.stem, json.loads(file.read_text(encoding="utf-8"))) for file in sorted(files)]
    if not runs:
        raise Failed("it has no result to enter; run without --enter first")
    return max(runs, key=lambda run: run[1]["final"]["margin"])


def enter(name: str, rules: str, decisions: int, venvs: Path) -> str:
    """Write an entry of the leaderboard with an example's best run, and return the run's name.

    Raises:
        Failed: if there is no run, its policy is missing or another, or a command fails.
    """
    run, record = best_run(name, rules, decisions)
    player, folder = venvs / "players" / f"{run}.safetensors", LEADERBOARD / name
    if not player.exists():
        raise Failed(f"there is no {player}; delete {run}.json and run without --enter")
    if AgentSpec.parse(player).digest(make_agent(player)) != record["final"]["digest"]:
        raise Failed(f"{player} is not the policy of {run}.json; give its folder with --venvs")
    folder.mkdir(parents=True, exist_ok=True)
    tensors, meta = read_checkpoint(player)
    weights = f"{name}-{rules}.safetensors"
    save_checkpoint(folder / weights, tensors, meta, half=True)
    if (folder / weights).stat().st_size > _MOST_BYTES:
        (folder / weights).unlink()
        raise Failed(f"{weights} has more than {_MOST_BYTES:,} bytes; train a smaller network")
    minutes = f"compute={record['cpu_seconds'] / 60:.1f} minutes of one core"
    declared = ["authors=hearts-env contributors", minutes]
    declared += [] if repeats(meta) else ["repeats=no"]
    words = ["benchmark", weights, "--split", "test"]
    words += [word for fact in declared for word in ("--declare", fact)]
    commands = [[*words, "--json", f"{rules}.json"]]
    if not TRACKS[rules].is_exact:
        attack = ["exploit", weights, "--attackers", "belief,lbr_endings", "--deals", "100"]
        commands.insert(0, [*attack, "--json", f"{rules}-attacks.json"])
    for command in commands:
        done = subprocess.run([sys.executable, "-m", "hearts_train.cli", *command], cwd=folder)
        if done.returncode:
            raise Failed(f"hearts {command[0]}: exit status {done.returncode}")
    return run


def repeats(meta: Checkpoint) -> bool:
    """Return whether a policy plays the same on every machine. Functions like tanh may vary."""
    return meta.greedy and meta.activation == "relu"


def enter_all(given: argparse.Namespace, names: Sequence[str], venvs: Path) -> list[str]:
    """Write the missing entries of the leaderboard, and return the names of those that failed."""
    failed = []
    for name, rules in itertools.product(names, given.rules):
        if (LEADERBOARD / name / f"{rules}.json").exists():
            continue
        try:
            outcome = f"entered {enter(name, rules, given.decisions, venvs)}"
        except Failed as error:
            failed.append(name)
            outcome = str(error)
        print(f"{name}, {rules}: {outcome}", flush=True)
    return failed


def check_all(given: argparse.Namespace, names: Sequence[str], venvs: Path) -> list[str]:
    """Check examples, and return the names of those that failed."""
    failed = []
    known = json.loads(RESULTS.read_text())["examples"] if RESULTS.exists() else {}
    for name in names:
        known.pop(name, None)
        began = time.monotonic()
        try:
            known[name] = check(name, venvs, given.limit or 600.0)
            outcome = f"{known[name]['report']['decisions']:,} decisions"
        except Failed as error:
            failed.append(name)
            outcome = f"{error}; see {given.venvs / name}.log"
        print(f"{name}: {outcome} ({time.monotonic() - began:.0f} s)", flush=True)
        examples = {key: known[key] for key in all_names() if key in known}
        write_json(RESULTS, {"command": "make examples", "examples": examples})
    return failed


def seeds(text: str) -> list[int]:
    """Parse seeds like ``0-2`` or ``3``."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the given examples. Return the exit status, 1 if one failed."""
    parser = argparse.ArgumentParser(description="Run the examples, each with its library.")
    parser.add_argument("names", nargs="*", help="examples (default: all)")
    parser.add_argument("--decisions", type=int, help="measure reference results of this budget")
    parser.add_argument("--baselines", action="store_true", help="measure players to compare with")
    parser.add_argument("--rules", nargs="+", choices=GAMES, default=GAMES, help="their games")
    parser.add_argument("--seeds", type=seeds, default="0-2", help="their seeds (0-2)")
    parser.add_argument("--limit", type=float, help="seconds per run (600; reference: 3600)")
    parser.add_argument("--venvs", type=Path, default=ROOT / "build" / "examples", metavar="FOLDER")
    enters = "enter the best runs into the leaderboard instead (needs --decisions and names)"
    parser.add_argument("--enter", action="store_true", help=enters)
    given = parser.parse_args(arguments)
    if given.enter and not (given.decisions and given.names):
        print("--enter: needs --decisions and the names of examples", file=sys.stderr)
        return 2
    for name in given.names:
        if name not in all_names():
            print(f"{name}: unknown example; {did_you_mean(name, all_names())}", file=sys.stderr)
            return 2
    given.venvs.mkdir(parents=True, exist_ok=True)
    names, venvs = given.names or all_names(), given.venvs.resolve()
    try:
        with interruptible():
            if given.baselines:
                measure_baselines()
                return 0
            if given.decisions is None:
                return bool(check_all(given, names, venvs))
            if given.enter:
                return bool(enter_all(given, names, venvs))
            return bool(measure(given, list(filter(learns, names)), venvs))
    except KeyboardInterrupt:
        print("stopped; the same command continues", file=sys.stderr)
        return exit_status()


if __name__ == "__main__":
    sys.exit(main())
