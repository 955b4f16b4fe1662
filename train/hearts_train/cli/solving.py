"""Helpers of ``hearts solve`` and ``exploit``; the work is in ``hearts_env.solve``."""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents.attackers import METHODS
from hearts_env import Rules
from hearts_env.render.scene import count_text
from hearts_env.solve.best_response import Exploitability, exploitability
from hearts_env.solve.equilibrium import Equilibrium, Solver, solve
from hearts_env.solve.regret import ALGORITHMS, DEFAULT_ALGORITHM
from hearts_env.solve.solved_files import Checkpoint, check_folder
from hearts_env.solve.tree import Tree, estimate, format_count, format_gigabytes
from hearts_env.support.arguments import check_positive
from hearts_env.support.errors import did_you_mean
from hearts_env.support.files import held, lock_beside, remove_leftovers
from hearts_env.support.interrupts import held_interrupt
from hearts_train import console
from hearts_train.cli.options import names_in
from hearts_train.console import Mistake
from hearts_train.measure.display import (
    ResultTable,
    format_interval,
    format_margin,
    format_ms,
    new_figure,
    save_figure,
    styles,
    wrapped,
)
from hearts_train.measure.exploit import HANDS, TREE, Attack, ExploitResult
from hearts_train.measure.exploitability import tree_of

_LARGE = 1e7
"""Lines of a tree from which on it is said beforehand what it takes."""
_BUILDING, _ITERATION = 2.2e-7, 9e-9
"""Seconds of one processor: to build a line; of an iteration, for each line and each sequence."""


# ---- solve ---------------------------------------------------------------------------------------
def solve_deck(
    deck: str | None,
    algorithms: Sequence[str] | None,
    *,
    target: float | None,
    iterations: int | None,
    minutes: float | None,
    save: Path | None,
    resume: Path | None,
    max_memory: float,
) -> list[Equilibrium]:
    """Solve a deck with one algorithm, or several for comparison; a signal ends it early."""
    _check_algorithms(algorithms, has_file=save is not None or resume is not None)
    if (deck is None) == (resume is None):
        raise Mistake(
            "deck: missing, or given with --resume too; give a deck, like mini, or --resume FILE"
        )
    limits = {"--target": target, "--iterations": iterations, "--minutes": minutes}
    for option, value in limits.items():
        if value is not None:
            check_positive(option, value)
    seconds = None if minutes is None else 60.0 * minutes
    results: list[Equilibrium] = []
    with _state_file(save, resume) as state_file:
        _compile()
        resumed = None if resume is None else Solver.load(resume, max_memory)
        if resumed is not None:
            _check_resumed(resumed, algorithms, iterations, seconds)
        if resumed is None:
            rules = Rules.make(str(deck))
            _say_large(rules, max_memory)
            tree = tree_of(rules, max_memory, console.progress)
        else:
            tree = resumed.tree
        console.note(f"{tree.rules.name}: {tree.size}")
        for algorithm in [resumed.algorithm] if resumed else algorithms or [DEFAULT_ALGORITHM]:
            solver = resumed or Solver(tree, algorithm)
            with _progress(f"{tree.rules.name}, {algorithm}") as report:
                result = solve(
                    solver,
                    target=target,
                    iterations=iterations,
                    seconds=seconds,
                    save_to=state_file,
                    progress=report,
                    stopping=_say_stopping,
                )
            results.append(result)
            if result.interrupted:
                with held_interrupt():
                    if state_file is None:
                        state_file = _free_name(f"solve-{tree.rules.name}-{algorithm}")
                        solver.save(state_file)
                console.note(
                    f"stopped after {solver.iteration:,} iterations; continue with: "
                    f"hearts solve --resume {state_file}"
                )
                break
    return results


def _say_large(rules: Rules, max_memory: float) -> None:
    """Say how long a large tree takes, before it is built."""
    size = estimate(rules)
    if size.lines > _LARGE and size.gigabytes <= max_memory:
        build = console.format_seconds(_BUILDING * size.lines)
        each = console.format_seconds(_ITERATION * (size.lines + sum(size.sequences)))
        console.note(
            f"{rules.name}: {size}; on one processor about {build} for the tree, "
            f"and {each} an iteration"
        )


def _say_stopping() -> None:
    with suppress(RuntimeError):  # the signal came while something was printed
        console.note("stopping after this iteration (Ctrl-C again stops at once)")


@contextmanager
def _progress(label: str) -> Iterator[Callable[[Checkpoint], None]]:
    """Shows how far a solver is; yields a function that does."""
    with console.progress(label) as report:

        def show(found: Checkpoint) -> None:
            if found.seconds_left is not None:
                text = f"{found.iteration:,} iterations, exploitability {found.exploitability:.2e}"
                report(found.seconds, found.seconds + found.seconds_left, text)

        yield show


def _check_algorithms(algorithms: Sequence[str] | None, *, has_file: bool) -> None:
    """Refuse unknown algorithms, and a state file where there is no state, or several."""
    for algorithm in algorithms or ():
        if algorithm not in ALGORITHMS:
            raise Mistake(
                f"--algorithm: {algorithm!r} is unknown; {did_you_mean(algorithm, ALGORITHMS)}"
            )
    if has_file and len(algorithms or ()) > 1:
        raise Mistake("--algorithm: a saved state has one algorithm; give one")


def _compile() -> None:
    """Compile what solving needs; a signal waits, as compilation cannot be interrupted safely."""
    with held_interrupt():
        solver = Solver(Tree("micro hand_size=1"), num_threads=1)
        solver.step()
        exploitability(solver.tree, solver.chances())


@contextmanager
def _state_file(save: Path | None, resume: Path | None) -> Iterator[Path | None]:
    """The state file, if there is one, locked against other processes in this block."""
    state_file = save or resume
    if state_file is None:
        yield None
        return
    _check_new(save, resume)
    if resume is not None and not resume.is_file():
        what = "is not a file" if resume.exists() else "is not there"
        raise Mistake(f"--resume: {resume} {what}; give a state that --save has written")
    check_folder(state_file)
    # Before the state is read: another process may be about to replace it.
    lock = lock_beside(state_file)
    with held(lock, f"solve: {str(state_file)!r}"):
        _check_new(save, resume)
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


def _check_new(save: Path | None, resume: Path | None) -> None:
    """Refuse to overwrite a file, except the state that is resumed."""
    if save is None or not save.exists():
        return
    if resume is None or not resume.exists() or not save.samefile(resume):
        raise Mistake(
            f"--save: {save} already exists; continue it with --resume {save}, or name another file"
        )


def _free_name(text: str) -> Path:
    """A file that does not exist yet: NAME.safetensors, NAME-2.safetensors, ..."""
    stem = re.sub(r"[^\w+.=-]+", "_", text)[:120]
    names = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    return next(path for n in names if not (path := Path(f"{n}.safetensors")).exists())


def solve_table(results: Sequence[Equilibrium]) -> ResultTable:
    """A row for each result."""
    columns = ("algorithm", "value to the leader", "exploitability", "iterations", "seconds")
    rows = [
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
    title = f"{results[0].rules.name}: points a deal; the memory is that of all arrays"
    return ResultTable(title, (*columns, "memory"), rows)


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
        "peak_megabytes": _peak_megabytes(),
        "deals": int(size.deals),
        "lines": int(size.lines),
        "infosets": [int(n) for n in size.infosets],
        "sequences": [int(n) for n in size.sequences],
        "interrupted": result.interrupted,
        "curve": [[c.iteration, c.seconds, c.exploitability] for c in result.curve],
    }


def _peak_megabytes() -> float | None:
    """The peak memory of this process in 10^6 bytes; None if unknown."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


# ---- exploit -------------------------------------------------------------------------------------
_MOST_MEMORY = 256
"""Gigabytes of the largest machines for which a tree is recommended."""


def attackers_in(text: str | None) -> list[str] | None:
    """The names of ``--attackers``, where ``all`` stands for `METHODS`; None: not given."""
    if text is None:
        return None
    names = names_in(text, "--attackers")
    if "all" not in names:
        return names
    return [*METHODS, *(name for name in names if name not in ("all", *METHODS))]


def tricks_in(text: str | None) -> range | None:
    """The tricks of ``--awake``, like 7-13, or 7; None: not given."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d{1,2})\s*(?:-\s*(\d{1,2})\s*)?", text)
    first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= first <= last:
        raise Mistake(f"--awake: {text!r} are no tricks; give the first and the last, like 7-13")
    return range(first, last + 1)


def format_tricks(tricks: Sequence[int]) -> str:
    """Like 7-13, or 1, 3."""
    if len(tricks) > 1 and tricks[-1] - tricks[0] == len(tricks) - 1:
        return f"{tricks[0]}-{tricks[-1]}"
    return ", ".join(map(str, tricks))


def explain(attack: Attack) -> None:
    """Say what an attack computes, where that takes long or was not asked for."""
    rules = attack.rules
    if attack.answer == TREE:
        _say_large(rules, attack.max_memory)
    elif attack.positions is not None:
        size = estimate(rules)
        memory = math.ceil(1.2 * size.gigabytes)
        exact = f" (exact with --max-memory {memory})" if memory <= _MOST_MEMORY else ""
        is_best = attack.answer == HANDS
        then = "it is exact for each drawn deal" if is_best else "attackers give a lower bound"
        console.note(
            f"{rules.name}: the whole tree takes about {format_gigabytes(size.gigabytes)}{exact}; "
            f"a best response lists some {format_count(attack.positions)} positions for a deal: "
            f"{then}"
        )


def show_exploit(attack: Attack, results: Sequence[Any]) -> None:
    """Print how much is won from each agent."""
    if attack.answer == TREE:
        console.print_table(*exploit_table(results))
    elif attack.answer == HANDS:
        _show_best(results)
    else:
        _show_attack(results[0])


def exploit_table(results: Sequence[Exploitability]) -> ResultTable:
    """A row for each agent."""
    rows = [
        [
            result.agent + " (one draw)" * result.frozen,
            _points(result.exploitability),
            *(f"{value:+.4f}" for value in result.best_responses),
            f"{result.seconds:.1f}",
        ]
        for result in results
    ]
    title = f"{results[0].rules}: what a best response wins, points a deal, exact"
    return ResultTable(
        title, ("agent", "exploitability", "leading", "not leading", "seconds"), rows
    )


def _points(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{max(value, 0.0):.2e}"


def _show_attack(result: ExploitResult) -> None:
    """Print what each attacker wins, and which wins most."""
    is_exact = result.gains[0].ci95 is None
    first = result.gains[0].attacker
    more = [] if len(result.gains) == 1 else [f"more than {first}"]
    columns = ["attacker", "wins a deal"]
    columns += ["of the best response"] if is_exact else [*more, "ms"]
    rows = []
    for gain in result.gains:
        if is_exact:
            share = "-" if gain.ratio is None else f"{gain.ratio:.1%}"
            rows.append([gain.attacker, f"{gain.margin:+.4f}", share])
        else:
            margin = format_margin(gain.margin, gain.ci95)
            is_short = gain.deals < result.gains[0].deals
            stopped = f" (stopped: {count_text(gain.deals, 'deal')})" * is_short
            over = format_margin(gain.over_first, gain.over_first_ci95)
            rows.append([gain.attacker + stopped, margin])
            assert gain.ms_per_decision is not None
            rows[-1] += [*([over] if more else []), format_ms(gain.ms_per_decision)]
    if is_exact:
        rows.append(["best response", f"{result.exploitability:+.4f}", "exact"])
        over = "over all deals, exact"
    else:
        stopped = " (stopped early)" * result.interrupted
        over = f"95 % interval over {result.gains[0].deals:,} duplicate deals{stopped}"
    drawn = " (one draw)" * result.is_one_draw
    title = f"what is won from {result.agent}{drawn}, {result.rules}: points a deal, {over}"
    title += _awake_words(result)
    console.print_table(title, columns, rows)
    best = result.best
    amount = f"{best.margin:+.4f}" if is_exact else format_margin(best.margin, best.ci95)
    console.note(f"the best attacker is {best.attacker}: {amount} points a deal")
    for gain in result.gains:
        if gain.agent_faults:
            console.note(
                f"{result.agent}: forfeited {gain.agent_faults:,} deals against "
                f"{gain.attacker} (faults)"
            )


def _awake_words(result: ExploitResult) -> str:
    """The tricks in which attackers attack, for a title."""
    return "" if result.awake is None else f"; awake in tricks {format_tricks(result.awake)}"


def _show_best(results: Sequence[ExploitResult]) -> None:
    """Print what a best response wins from each agent over drawn deals."""
    first, rows = results[0], []
    title = f"{first.rules}: what a best response wins, points a deal, 95 % interval over "
    title += f"{first.gains[0].deals:,} deals, each exact{_awake_words(first)}"
    for result in results:
        (gain,) = result.gains
        assert gain.ci95 is not None
        stopped = f" (stopped: {count_text(gain.deals, 'deal')})" * result.interrupted
        row = [result.agent + " (one draw)" * result.is_one_draw + stopped]
        row.append(format_interval(gain.margin, gain.ci95, ".3f"))
        if len(results) > 1:
            row.append(format_margin(gain.over_first, gain.over_first_ci95))
        rows.append([*row, f"{gain.seconds / gain.deals:.2g}"])
    amount = "exploitability" if first.awake is None else "wins a deal"
    more = [f"more than from {first.agent}"] if len(results) > 1 else []
    console.print_table(title, ("agent", amount, *more, "seconds a deal"), rows)


# ---- pictures ------------------------------------------------------------------------------------
def draw_curves(results: Sequence[Equilibrium], path: Path) -> None:
    """Plot exploitability against iterations and against seconds."""
    figure = new_figure(9, 4)
    left, right = figure.subplots(1, 2, sharey=True)
    style = styles([result.algorithm for result in results])
    for result in results:
        points = [c for c in result.curve if c.iteration and c.exploitability > 0]
        for axes, xs in (
            (left, [c.iteration for c in points]),
            (right, [c.seconds for c in points]),
        ):
            values = [c.exploitability for c in points]
            axes.loglog(
                xs,
                values,
                label=result.algorithm,
                **style[result.algorithm]._asdict(),
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
