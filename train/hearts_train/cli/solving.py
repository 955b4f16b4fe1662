"""Helpers of ``hearts solve`` and ``hearts exploit``; the work is in ``hearts_env.solve``."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents import make_agent
from hearts_agents.base import check_rules
from hearts_env import HeartsError, Rules
from hearts_env.solve.best_response import Exploitability, exploit, exploitability
from hearts_env.solve.equilibrium import (
    Checkpoint,
    Equilibrium,
    Solver,
    solve,
)
from hearts_env.solve.linear import solve_linear
from hearts_env.solve.regret import (
    ALGORITHMS,
    DEFAULT_ALGORITHM,
    check_algorithm,
)
from hearts_env.solve.solved_files import check_folder
from hearts_env.solve.tree import Tree
from hearts_env.support import clock
from hearts_env.support.arguments import check_positive
from hearts_env.support.files import held, lock_beside, remove_leftovers
from hearts_env.support.interrupts import held_interrupt
from hearts_train import console, screen
from hearts_train.console import Mistake
from hearts_train.measure.pictures import (
    literal,
    new_figure,
    save_figure,
    short_names,
    styles,
    wrapped,
)

SOLVE_COLUMNS = (
    "algorithm",
    "value to the leader",
    "exploitability",
    "iterations",
    "seconds",
    "memory",
)
EXPLOIT_COLUMNS = ("agent", "exploitability", "leading", "not leading", "seconds")


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
    """Solve a deck with one algorithm, or several for comparison; a signal ends it early."""
    _check_algorithms(algorithms, has_file=out is not None or resume is not None)
    if (deck is None) == (resume is None):
        raise Mistake(
            "deck: missing, or given with --resume too; give a deck, like mini, or --resume FILE"
        )
    if algorithms == ["lp"] and (target, iterations, minutes) != (None,) * 3:
        raise Mistake("--algorithm: lp takes no limits; omit --target, --iterations and --minutes")
    for option, value in (
        ("--target", target),
        ("--iterations", iterations),
        ("--minutes", minutes),
    ):
        if value is not None:
            check_positive(option, value)
    seconds = None if minutes is None else 60.0 * minutes
    results: list[Equilibrium] = []
    with _state_file(out, resume) as state_file:
        _compile()
        resumed = None if resume is None else Solver.load(resume, max_memory)
        if resumed is not None:
            _check_resumed(resumed, algorithms, iterations, seconds)
        tree = Tree(str(deck), max_memory) if resumed is None else resumed.tree
        console.note(f"{tree.rules.name}: {tree.size}")
        for algorithm in [resumed.algorithm] if resumed else algorithms or [DEFAULT_ALGORITHM]:
            if algorithm == "lp":
                results.append(solve_linear(tree))
                continue
            solver = resumed or Solver(tree, algorithm)
            with _progress(f"{tree.rules.name}, {algorithm}") as report:
                result = solve(
                    solver,
                    target=target,
                    iterations=iterations,
                    seconds=seconds,
                    save_to=state_file,
                    progress=report,
                    warn=console.note,
                    stopping=_say_stopping,
                )
            results.append(result)
            if result.interrupted:
                with held_interrupt():
                    if state_file is None:
                        name = f"solve-{_slug(tree.rules.name)}-{_slug(algorithm)}"
                        state_file = _free_name(name)
                        solver.save(state_file)
                console.note(
                    f"stopped after {solver.iteration:,} iterations; continue with: "
                    f"hearts solve --resume {state_file}"
                )
                break
    return results


def _say_stopping() -> None:
    line = "\n" if sys.stderr.isatty() else ""  # below the progress line
    with suppress(RuntimeError):  # the signal came while something was printed
        console.note(f"{line}stopping after this iteration (Ctrl-C again stops at once)")


def _check_algorithms(algorithms: Sequence[str] | None, *, has_file: bool) -> None:
    """Refuse unknown algorithms, and a state file where there is no state, or several."""
    for algorithm in algorithms or ():
        if algorithm not in (*ALGORITHMS, "lp"):
            try:
                check_algorithm(algorithm)
            except HeartsError as error:
                raise Mistake(f"{error}, lp") from None
    if has_file and len(algorithms or ()) > 1:
        raise Mistake("--algorithm: a saved state has one algorithm; give one")
    if has_file and "lp" in (algorithms or ()):
        raise Mistake("--algorithm: lp has no state to save; omit --save and --resume")


def _compile() -> None:
    """Compile what solving needs; a signal waits, as compilation cannot be interrupted safely."""
    with held_interrupt():
        solver = Solver(Tree("micro hand_size=1"), num_threads=1)
        solver.step()
        exploitability(solver.tree, solver.chances())


@contextmanager
def _state_file(out: Path | None, resume: Path | None) -> Iterator[Path | None]:
    """The state file, if there is one, locked against other processes in this block."""
    state_file = out or resume
    if state_file is None:
        yield None
        return
    _check_out(out, resume)
    if resume is not None and not resume.is_file():
        what = "is not a file" if resume.exists() else "is not there"
        raise Mistake(f"--resume: {resume} {what}; give a state that --save has written")
    check_folder(state_file)
    # Before the state is read: another process may be about to replace it.
    lock = lock_beside(state_file)
    with held(lock, f"solve: {str(state_file)!r}"):
        _check_out(out, resume)
        remove_leftovers(lock.parent)
        yield state_file


def _check_resumed(
    solver: Solver, algorithms: Sequence[str] | None, iterations: int | None, seconds: float | None
) -> None:
    """Refuse an algorithm other than the state's, and note the limits it has already reached."""
    if algorithms is not None and list(algorithms) != [solver.algorithm]:
        raise Mistake(f"--algorithm: the state is of {solver.algorithm}; omit it")
    if iterations is not None and solver.iteration >= iterations:
        console.note(f"--iterations: the state already has {solver.iteration:,}; none is added")
    if seconds is not None and solver.seconds >= seconds:
        spent = console.format_seconds(solver.seconds)
        console.note(f"--minutes: the state has already taken {spent}; no time is added")


def _check_out(out: Path | None, resume: Path | None) -> None:
    """Refuse to overwrite a file, except the state that is resumed."""
    if out is None:
        return
    if out.is_dir():
        raise Mistake(f"--save: {out} is a folder; give a file")
    if not out.exists() or (resume is not None and resume.exists() and out.samefile(resume)):
        return
    raise Mistake(
        f"--save: {out} already exists; continue it with --resume {out}, or name another file"
    )


def _free_name(stem: str) -> Path:
    """A file that does not exist yet: stem.safetensors, stem-2.safetensors, ..."""
    names = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    return next(path for n in names if not (path := Path(f"{n}.safetensors")).exists())


def _slug(text: str) -> str:
    return re.sub(r"[^\w+.=-]+", "_", text)[:80]


@contextmanager
def _progress(label: str) -> Iterator[Any]:
    """Shows exploitability and the time left on standard error; yields a function that does."""
    on_terminal = sys.stderr.isatty()
    last = clock.now()

    def report(point: Checkpoint) -> None:
        nonlocal last
        now = clock.now()
        if not on_terminal and now - last < screen.PLAIN_EVERY:
            return
        last = now
        left = ""
        if point.seconds_left is not None:
            left = f", about {console.format_seconds(point.seconds_left)} left"
        line = (
            f"{label}: {point.iteration:,} iterations, "
            f"exploitability {point.exploitability:.2e}{left}"
        )
        if on_terminal:
            print(f"\r\x1b[2K{line}", end="", file=console.screen(), flush=True)
        else:
            console.note(line)

    try:
        yield report
    finally:
        if on_terminal:
            print("\r\x1b[2K", end="", file=console.screen(), flush=True)


def solve_rows(results: Sequence[Equilibrium]) -> list[list[str]]:
    """The rows of a table, one for each result."""
    return [
        [
            result.algorithm + " (stopped)" * result.interrupted,
            f"{result.value:+.9f}",
            f"{max(result.exploitability, 0.0):.2e}",
            f"{result.iterations:,}",
            f"{result.seconds:.1f}",
            f"{result.megabytes:,.0f} MB" if result.megabytes >= 1 else "< 1 MB",
        ]
        for result in results
    ]


def solve_json(result: Equilibrium) -> dict[str, Any]:
    """The figures of a result, as JSON types."""
    size = result.tree.size
    return {
        "rules": result.rules.name,
        "algorithm": result.algorithm,
        "value": result.value,
        "exploitability": result.exploitability,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "megabytes": result.megabytes,
        "peak_megabytes": peak_megabytes(),
        "deals": int(size.deals),
        "lines": int(size.lines),
        "infosets": [int(n) for n in size.infosets],
        "sequences": [int(n) for n in size.sequences],
        "interrupted": result.interrupted,
        "curve": [[c.iteration, c.seconds, c.exploitability] for c in result.curve],
    }


def peak_megabytes() -> float | None:
    """The peak memory of this process in 10^6 bytes; None if unknown."""
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
    """The exact exploitability of each agent."""
    agents = [make_agent(name, seed=seed) for name in names]
    for agent in agents:
        check_rules(agent, rules)
    tree = Tree(rules, max_memory)
    console.note(f"{tree.rules.name}: {tree.size}")
    results = []
    for name, agent in zip(names, agents, strict=True):
        with console.progress(name) as report:
            results.append(exploit(agent, tree, name, progress=report))
        if results[-1].frozen:
            console.note(
                f"{name}: draws random numbers and gives no probabilities (action_probs); one draw "
                "for each information set was taken as what it always plays"
            )
    return results


def exploit_rows(results: Sequence[Exploitability]) -> list[list[str]]:
    """The rows of a table, one for each agent."""
    return [
        [
            result.agent + " (one draw)" * result.frozen,
            _points(result.exploitability),
            *(f"{value:+.4f}" for value in result.best_responses),
            f"{result.seconds:.1f}",
        ]
        for result in results
    ]


def _points(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{max(value, 0.0):.2e}"


# ---- pictures ------------------------------------------------------------------------------------
def draw_curves(results: Sequence[Equilibrium], path: Path) -> None:
    """Plot exploitability against iterations and against seconds."""
    figure = new_figure(9, 4)
    left, right = figure.subplots(1, 2, sharey=True)
    style = styles([result.algorithm for result in results])
    for result in results:
        color, sign = style[result.algorithm]
        points = [c for c in result.curve if c.iteration and c.exploitability > 0]
        for axes, xs in (
            (left, [c.iteration for c in points]),
            (right, [c.seconds for c in points]),
        ):
            values = [c.exploitability for c in points]
            axes.loglog(
                xs,
                values,
                color=color,
                label=result.algorithm,
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
    """Plot exploitability as horizontal bars."""
    figure = new_figure(7, 1.6 + 0.45 * len(results))
    axes = figure.subplots()
    places = range(len(results))
    short = short_names([result.agent for result in results])
    style = styles(list(short.values()))
    colors = [style[short[result.agent]].color for result in results]
    axes.barh(places, [result.exploitability for result in results], color=colors, height=0.6)
    for place, result in zip(places, results, strict=True):
        axes.annotate(
            _points(result.exploitability),
            (result.exploitability, place),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
    decks = list(dict.fromkeys(result.rules for result in results))
    is_one = len(decks) == 1
    labels = [short[r.agent] if is_one else f"{short[r.agent]}, {r.rules}" for r in results]
    axes.set_yticks(places, [literal(label) for label in labels])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("exploitability, points a deal (exact)")
    axes.set_title(wrapped(", ".join(decks)), fontsize=11)
    save_figure(figure, path)
