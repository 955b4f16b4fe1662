"""Helpers of ``hearts solve`` and ``exploit``. The work is in ``hearts_env.solve``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hearts_agents.attackers import METHODS
from hearts_agents.spec import quoted_path
from hearts_env import Rules
from hearts_env.solve.best_response import exploitability
from hearts_env.solve.equilibrium import Equilibrium, Solver
from hearts_env.solve.solved_files import Checkpoint
from hearts_env.solve.tree import Tree
from hearts_env.support.arguments import check_positive
from hearts_env.support.files import check_output, held, lock_beside, remove_leftovers
from hearts_env.support.interrupts import held_interrupt
from hearts_train import console
from hearts_train.cli.options import names_in
from hearts_train.console import Mistake
from hearts_train.equilibria import solve
from hearts_train.measure.display import format_margin
from hearts_train.measure.exploit import Attackers, BestResponses, Exact, Sampled
from hearts_train.measure.exploitability import tree_of
from hearts_train.store import check_place


# ---- solve ---------------------------------------------------------------------------------------
def solve_deck(
    deck: str | None,
    *,
    target: float | None,
    iterations: int | None,
    save: Path | None,
    resume: Path | None,
    max_memory: float,
) -> Equilibrium:
    """Solve a deck, or continue from a saved state, and print the result. A signal ends it early.

    The result is printed before anything is written, so it is not lost if the disk is full.
    """
    if (deck is None) == (resume is None):
        raise Mistake(
            "deck: missing, or given with --resume, too; give a deck, like mini, or --resume FILE"
        )
    limits = {"--target": target, "--iterations": iterations}
    for option, value in limits.items():
        if value is not None:
            check_positive(option, value)
    with _state_file(save, resume) as state_file:
        _compile()
        if resume is None:
            solver = Solver(tree_of(Rules.make(str(deck)), max_memory, console.progress))
        else:
            solver = Solver.load(resume, max_memory)
            if iterations is not None and solver.iteration >= iterations:
                console.note(
                    f"--iterations: {resume} already has {solver.iteration:,}; none are added"
                )
        name = solver.tree.rules.name
        console.note(f"{name}: {solver.tree.size}")
        with _progress(name) as report:
            result = solve(
                solver,
                target=target,
                iterations=iterations,
                save_to=state_file,
                progress=report,
                stopping=_say_stopping,
            )
        console.print_table(*result.table())
        if result.interrupted:
            with held_interrupt():
                if state_file is None:
                    state_file = _free_name(f"solve-{name}")
                    solver.save(state_file)
            console.note(
                f"stopped after {solver.iteration:,} iterations; continue with: "
                f"hearts solve --resume {quoted_path(state_file)}"
            )
    return result


def _say_stopping() -> None:
    with suppress(RuntimeError):  # the signal came while something was printed
        console.note("stopping after this iteration; Ctrl-C again stops at once")


@contextmanager
def _progress(label: str) -> Iterator[Callable[[Checkpoint], None]]:
    """Yield a function that shows a solver's progress."""
    with console.progress(label) as report:

        def show(found: Checkpoint) -> None:
            if found.seconds_left is not None:
                text = f"{found.iteration:,} iterations, exploitability {found.exploitability:.2e}"
                report(found.seconds, found.seconds + found.seconds_left, text)

        yield show


def _compile() -> None:
    """Compile the solver. Signals wait, because compilation cannot be interrupted safely."""
    with held_interrupt():
        solver = Solver(Tree("micro hand_size=1"), num_threads=1)
        solver.step()
        exploitability(solver.tree, solver.chances())


@contextmanager
def _state_file(save: Path | None, resume: Path | None) -> Iterator[Path | None]:
    """Yield the state file, if there is one, locked against other processes."""
    state_file = check_place(save, resume)
    if state_file is None:
        yield None
        return
    if resume is not None:
        if not resume.is_file():
            raise Mistake(f"--resume: {resume} is not a file; give one that --save wrote")
        check_output(resume, "--resume")
    # Before the state is read: another process may be about to replace it.
    lock = lock_beside(state_file)
    with held(lock, f"solve: {str(state_file)!r}"):
        check_place(save, resume)
        real = state_file.resolve()
        remove_leftovers(real.parent, real.name)
        yield state_file


def _free_name(text: str) -> Path:
    """Return a file that does not exist yet: NAME.safetensors, NAME-2.safetensors, ..."""
    stem = re.sub(r"[^\w+.=-]+", "_", text)[:120]
    names = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    return next(path for n in names if not (path := Path(f"{n}.safetensors")).exists())


def solve_json(result: Equilibrium) -> dict[str, Any]:
    """Return the figures of a result as JSON types."""
    size = result.tree.size
    return {
        "rules": result.rules.name,
        "value": result.value,
        "exploitability": result.exploitability,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "megabytes": result.megabytes,
        "deals": size.deals,
        "lines": size.lines,
        "infosets": list(size.infosets),
        "sequences": list(size.sequences),
        "interrupted": result.interrupted,
        "curve": [[c.iteration, c.seconds, c.exploitability] for c in result.curve],
    }


# ---- exploit -------------------------------------------------------------------------------------
def attackers_in(text: str | None) -> list[str] | None:
    """Return the names of ``--attackers``, with `METHODS` in place of ``all``."""
    if text is None:
        return None
    names = names_in(text, "--attackers")
    if "all" not in names:
        return names
    return [*METHODS, *(name for name in names if name not in ("all", *METHODS))]


def tricks_in(text: str | None) -> range | None:
    """Return the tricks of ``--awake``, given like 7-13 or 7."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d{1,2})\s*(?:-\s*(\d{1,2})\s*)?", text)
    first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= first <= last:
        raise Mistake(f"--awake: {text!r} is no range of tricks; write one like 7-13")
    return range(first, last + 1)


def explain(answer: Exact | Sampled) -> None:
    """Print which answer was chosen for a large deck, if the user did not choose."""
    if isinstance(answer, Sampled) and answer.positions is not None:
        positions = answer.positions
        number = f"{positions:,.0f}" if positions < 1e9 else f"{positions:.1e}"
        is_best = isinstance(answer, BestResponses)
        then = "the answer is exact for each sampled deal"
        then = then if is_best else "attackers give a lower bound"
        console.note(
            f"{answer.rules.name}: a best response has to examine about {number} positions per "
            f"deal, so {then}; for the exact answer over all deals, add --max-memory GB"
        )


def show_exploit(answer: Exact | Sampled, result: Any) -> None:
    """Print the result of an attack."""
    console.print_table(*result.table())
    if not isinstance(answer, Attackers):
        return
    best = result.best
    amount = format_margin(best.margin, best.ci95)
    console.note(f"the best attacker is {best.attacker}: {amount} points per deal")
    for gain in result.gains:
        if gain.agent_faults:
            console.note(
                f"{result.agent}: forfeited {gain.agent_faults:,} deals against "
                f"{gain.attacker} (faults)"
            )
