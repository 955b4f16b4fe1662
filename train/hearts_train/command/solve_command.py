"""What ``hearts solve`` and ``hearts exploit`` do around the tools of ``hearts_env.solve``."""

from __future__ import annotations

import itertools
import math
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents import make_agent
from hearts_agents.base import check_rules
from hearts_env import HeartsError, Rules
from hearts_env.files import held, lock_beside, remove_leftovers
from hearts_env.interrupts import held_interrupt
from hearts_env.solve.archive import check_folder
from hearts_env.solve.best_response import Exploitability, exploit, exploitability
from hearts_env.solve.equilibrium import (
    ALGORITHMS,
    DEFAULT_ALGORITHM,
    Checkpoint,
    Equilibrium,
    Solver,
    check_algorithm,
    solve,
)
from hearts_env.solve.linear import solve_linear
from hearts_env.solve.tree import Tree
from hearts_train import console
from hearts_train.console import Mistake
from hearts_train.measure.pictures import literal, save_figure, short_names, styles, wrapped

SOLVE_COLUMNS = (
    "algorithm",
    "value to the leader",
    "exploitability",
    "iterations",
    "seconds",
    "memory",
)
EXPLOIT_COLUMNS = ("agent", "exploitability", "leading", "not leading", "seconds")

_PLAIN_EVERY = 10.0  # seconds between lines of progress where no terminal shows them


# ---- solve ---------------------------------------------------------------------------------------
def solve_deck(
    deck: str | None,
    algorithms: Sequence[str] | None,
    *,
    target: float | None,
    iterations: int | None,
    minutes: float | None,
    out: Path | None,
    resume: Path | None,
    max_memory: float,
) -> list[Equilibrium]:
    """Solve a deck with one algorithm or, for comparison, several; after a signal what there is."""
    _check_algorithms(algorithms, has_file=out is not None or resume is not None)
    if (deck is None) == (resume is None):
        raise Mistake("solve: give either a deck, like micro or mini, or --resume FILE")
    if algorithms == ["lp"] and (target, iterations, minutes) != (None,) * 3:
        raise Mistake("--algorithm: lp goes to the end; leave target, iterations and minutes out")
    for option, value in (
        ("--target", target),
        ("--iterations", iterations),
        ("--minutes", minutes),
    ):
        if value is not None and not 0 < value < math.inf:
            raise Mistake(f"{option}: {value} is out of range; give a number above 0")
    seconds = None if minutes is None else 60.0 * minutes
    results: list[Equilibrium] = []
    with _kept(out, resume) as kept:
        _compile()
        begun = None if resume is None else Solver.load(resume, max_memory)
        if begun is not None:
            _tell_what_is_used_up(begun, algorithms, iterations, seconds)
        tree = Tree(str(deck), max_memory) if begun is None else begun.tree
        console.note(f"{tree.rules.name}: {tree.size}")
        for algorithm in [begun.algorithm] if begun else algorithms or [DEFAULT_ALGORITHM]:
            if algorithm == "lp":
                results.append(solve_linear(tree))
                continue
            solver = begun or Solver(tree, algorithm)
            with _told(f"{tree.rules.name}, {algorithm}") as tell:
                found = solve(
                    solver,
                    target=target,
                    iterations=iterations,
                    seconds=seconds,
                    save_to=kept,
                    progress=tell,
                    warn=console.note,
                    stopping=_say_stopping,
                )
            results.append(found)
            if found.interrupted:
                with held_interrupt():
                    if kept is None:
                        kept = _free_name(f"solve-{_slug(tree.rules.name)}-{_slug(algorithm)}")
                        solver.save(kept)
                console.note(
                    f"stopped after {solver.iteration:,} iterations; go on with: "
                    f"hearts solve --resume {kept}"
                )
                break
    return results


def _say_stopping() -> None:
    line = "\n" if sys.stderr.isatty() else ""  # below that of the progress
    with suppress(RuntimeError):  # the signal came while something was printed
        console.note(f"{line}stopping after this iteration (Ctrl-C again: at once)")


def _check_algorithms(algorithms: Sequence[str] | None, *, has_file: bool) -> None:
    """Refuse unknown algorithms, and a file where there is no state to keep in it."""
    for algorithm in algorithms or ():
        if algorithm not in (*ALGORITHMS, "lp"):
            try:
                check_algorithm(algorithm)
            except HeartsError as error:
                raise Mistake(f"{error}, lp") from None
    if has_file and len(algorithms or ()) > 1:
        raise Mistake("--algorithm: a state is kept of one algorithm; give one")
    if has_file and "lp" in (algorithms or ()):
        raise Mistake("--algorithm: lp has no state to keep; leave --out and --resume out")


def _compile() -> None:
    """Compile what solving needs; compilers do not like to be interrupted, a signal waits."""
    with held_interrupt():
        solver = Solver(Tree("micro hand_size=1"), num_threads=1)
        solver.step()
        exploitability(solver.tree, solver.chances())


@contextmanager
def _kept(out: Path | None, resume: Path | None) -> Iterator[Path | None]:
    """The file for the state, if there is one, which nobody else writes in this block."""
    kept = out or resume
    if kept is None:
        yield None
        return
    _check_out(out, resume)
    if resume is not None and not resume.is_file():
        raise Mistake(f"--resume: there is no file {resume}; check the path")
    check_folder(kept)
    # From before it is read, so that nobody goes on with what another process is about to replace.
    lock = lock_beside(kept)
    with held(lock, f"solve: {str(kept)!r}"):
        _check_out(out, resume)
        remove_leftovers(lock.parent)
        yield kept


def _tell_what_is_used_up(
    begun: Solver, algorithms: Sequence[str] | None, iterations: int | None, seconds: float | None
) -> None:
    """Refuse another algorithm than a state's, and say where its limits are met already."""
    if algorithms is not None and list(algorithms) != [begun.algorithm]:
        raise Mistake(f"--algorithm: the state is of {begun.algorithm}; leave it out")
    if iterations is not None and begun.iteration >= iterations:
        console.note(f"--iterations: the state has {begun.iteration:,} already; none is added")
    if seconds is not None and begun.seconds >= seconds:
        told = console.format_seconds(begun.seconds)
        console.note(f"--minutes: the state has taken {told} already; nothing is added")


def _check_out(out: Path | None, resume: Path | None) -> None:
    """Refuse to write over what is there, but for the state that goes on."""
    if out is None:
        return
    if out.is_dir():
        raise Mistake(f"--out: {out} is a folder; give a file")
    if not out.exists() or (resume is not None and resume.exists() and out.samefile(resume)):
        return
    raise Mistake(f"--out: {out} is already there; go on with --resume {out}, or give another name")


def _free_name(stem: str) -> Path:
    """A file that is not there yet: stem.npz, stem-2.npz, stem-3.npz, ..."""
    names = itertools.chain([f"{stem}.npz"], (f"{stem}-{n}.npz" for n in itertools.count(2)))
    return next(path for path in map(Path, names) if not path.exists())


def _slug(text: str) -> str:
    return re.sub(r"[^\w+.=-]+", "_", text)[:80]


@contextmanager
def _told(label: str) -> Iterator[Any]:
    """Shows exploitability and the time left on standard error; gives a function for it."""
    on_terminal = sys.stderr.isatty()
    last = time.monotonic()

    def tell(found: Checkpoint) -> None:
        nonlocal last
        now = time.monotonic()
        if not on_terminal and now - last < _PLAIN_EVERY:
            return
        last = now
        left = ""
        if found.seconds_left is not None:
            left = f", about {console.format_seconds(found.seconds_left)} left"
        line = (
            f"{label}: {found.iteration:,} iterations, "
            f"exploitability {found.exploitability:.2e}{left}"
        )
        if on_terminal:
            print(f"\r\x1b[2K{line}", end="", file=console.screen(), flush=True)
        else:
            console.note(line)

    try:
        yield tell
    finally:
        if on_terminal:
            print("\r\x1b[2K", end="", file=console.screen(), flush=True)


def solve_rows(results: Sequence[Equilibrium]) -> list[list[str]]:
    """A table's rows, one a result."""
    return [
        [
            found.algorithm + " (stopped)" * found.interrupted,
            f"{found.value:+.9f}",
            f"{max(found.exploitability, 0.0):.2e}",
            f"{found.iterations:,}",
            f"{found.seconds:.1f}",
            f"{found.megabytes:,.0f} MB" if found.megabytes >= 1 else "< 1 MB",
        ]
        for found in results
    ]


def solve_json(found: Equilibrium) -> dict[str, Any]:
    """The figures of a result, of types that JSON knows."""
    size = found.tree.size
    return {
        "rules": found.rules.name,
        "algorithm": found.algorithm,
        "value": found.value,
        "exploitability": found.exploitability,
        "iterations": found.iterations,
        "seconds": found.seconds,
        "megabytes": found.megabytes,
        "peak_megabytes": peak_megabytes(),
        "deals": int(size.deals),
        "lines": int(size.lines),
        "infosets": [int(n) for n in size.infosets],
        "sequences": [int(n) for n in size.sequences],
        "interrupted": found.interrupted,
        "curve": [[c.iteration, c.seconds, c.exploitability] for c in found.curve],
    }


def peak_megabytes() -> float | None:
    """The most memory that this process has had, in 10^6 bytes; None where nobody tells."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


# ---- exploit -------------------------------------------------------------------------------------
def exploit_agents(
    names: Sequence[str], rules: Rules, *, seed: int, max_memory: float
) -> list[Exploitability]:
    """The exact exploitability of one agent after another."""
    agents = [make_agent(name, seed=seed) for name in names]
    for agent in agents:
        check_rules(agent, rules)
    tree = Tree(rules, max_memory)
    console.note(f"{tree.rules.name}: {tree.size}")
    results = []
    for name, agent in zip(names, agents, strict=True):
        with console.progress(name) as tell:
            results.append(exploit(agent, tree, name, progress=tell))
        if results[-1].frozen:
            console.note(
                f"{name}: draws random numbers and tells no chances (policy_batch); one draw for "
                "each information set was taken for what it always plays"
            )
    return results


def exploit_rows(results: Sequence[Exploitability]) -> list[list[str]]:
    """A table's rows, one an agent."""
    return [
        [
            found.agent + " (one draw)" * found.frozen,
            _points(found.exploitability),
            *(f"{value:+.4f}" for value in found.best_responses),
            f"{found.seconds:.1f}",
        ]
        for found in results
    ]


def _points(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{max(value, 0.0):.2e}"


# ---- pictures ------------------------------------------------------------------------------------
def draw_curves(results: Sequence[Equilibrium], path: Path) -> None:
    """Draw exploitability against iterations and against seconds into a picture."""
    figure = _figure(9, 4)
    left, right = figure.subplots(1, 2, sharey=True)
    style = styles([found.algorithm for found in results])
    for found in results:
        color, sign = style[found.algorithm]
        points = [c for c in found.curve if c.iteration and c.exploitability > 0]
        for axes, xs in (
            (left, [c.iteration for c in points]),
            (right, [c.seconds for c in points]),
        ):
            values = [c.exploitability for c in points]
            axes.loglog(
                xs,
                values,
                color=color,
                label=found.algorithm,
                marker=sign,
                markersize=5,
                markevery=[-1] if points else None,
            )
    left.set_xlabel("iterations")
    right.set_xlabel("seconds")
    left.set_ylabel("exploitability, points a deal")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False)
    tree = results[0].tree
    infosets = int(np.sum(tree.size.infosets))
    figure.suptitle(wrapped(f"{tree.rules.name}: {infosets:,} information sets"), fontsize=11)
    save_figure(figure, path)


def draw_bars(results: Sequence[Exploitability], path: Path) -> None:
    """Draw exploitability as horizontal bars into a picture."""
    figure = _figure(7, 1.6 + 0.45 * len(results))
    axes = figure.subplots()
    places = range(len(results))
    short = short_names([found.agent for found in results])
    style = styles(list(short.values()))
    colors = [style[short[found.agent]].color for found in results]
    axes.barh(places, [found.exploitability for found in results], color=colors, height=0.6)
    for place, found in zip(places, results, strict=True):
        axes.annotate(
            _points(found.exploitability),
            (found.exploitability, place),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
    decks = list(dict.fromkeys(found.rules for found in results))
    is_one = len(decks) == 1
    labels = [short[f.agent] if is_one else f"{short[f.agent]}, {f.rules}" for f in results]
    axes.set_yticks(places, [literal(label) for label in labels])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("exploitability, points a deal (exact)")
    axes.set_title(wrapped(", ".join(decks)), fontsize=11)
    save_figure(figure, path)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
