"""What ``hearts exploit`` does around attackers: who attacks, a training, files and tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import typer

from hearts_agents.attackers import METHODS
from hearts_agents.spec import AgentSpec
from hearts_env import Rules
from hearts_train import console
from hearts_train.command.options import names_in
from hearts_train.command.reports import command_line
from hearts_train.console import Mistake
from hearts_train.measure.attack import TRAINED, Assault, Attack
from hearts_train.measure.evaluation import check_deals
from hearts_train.measure.records import read_settings
from hearts_train.measure.shown import format_margin, format_ms

_ALL = "all"


@dataclass(frozen=True)
class Begun:
    """What an attack is begun with, and what its file says of it."""

    agent: str
    attackers: list[str]
    tricks: int | None
    deals: int
    seed: int
    rules: dict[str, Any] | None = None
    trained: str | None = None
    """The folder of the training, where there was one."""


def attackers_in(text: str | None) -> list[str]:
    """The names of the attackers asked for; None: those that need not be trained."""
    if text is None:
        return list(METHODS)
    names = names_in(text, "--attackers")
    known = [*METHODS, TRAINED]
    if _ALL not in names:
        return names
    return [*known, *(name for name in names if name not in (_ALL, *known))]


def read_begun(path: Path) -> Begun:
    """What a file of results was begun with.

    Raises:
        Mistake: it is of another command.
    """
    settings = read_settings(path)
    try:
        begun = Begun(**settings["about"])
    except (KeyError, TypeError):
        raise Mistake(
            f"--resume: {path} is not of this command; give a file that hearts exploit has kept"
        ) from None
    for name in (begun.agent, *begun.attackers):
        AgentSpec.from_json(name).check_allowed(f"--resume: {path}")
    return begun


def prepared(
    begun: Begun, rules: Rules | None, seconds: float, run: Path | None, *, is_kept: bool
) -> Begun:
    """The same when everything has been checked, and what is to be trained is trained.

    Raises:
        HeartsError, Mistake: somebody cannot play, or a value cannot be used.
    """
    check_deals(begun.deals)
    if not seconds > 0:
        raise Mistake(f"--seconds: {seconds:g} is out of range; give a number above 0")
    others = [name for name in begun.attackers if name != TRAINED] or ["belief"]
    first = Assault(begun.agent, others, rules, tricks=begun.tricks, seed=begun.seed)
    if first.is_small and is_kept:
        raise Mistake("--save: on a deck this small all deals count at once; omit it")
    is_trained = TRAINED in begun.attackers
    trained = _trained(begun, first.rules, seconds, run) if is_trained else None
    return replace(begun, rules=first.rules.to_dict(), trained=trained)


def _trained(begun: Begun, rules: Rules, seconds: float, run: Path | None) -> str:
    """Train an attacker; returns its run's folder."""
    from hearts_train.learn.training import train_attacker  # torch, which others do not need

    found = train_attacker(begun.agent, rules, seconds=seconds, run_dir=run, seed=begun.seed)
    if not found.is_finished:
        console.note(
            f"stopped after {found.decisions:,} decisions; go on with: hearts train --resume "
            f"{found.run_dir}, then name that folder among the --attackers"
        )
        raise typer.Exit(128 + found.signal_number)
    return str(found.run_dir)


def measure(
    begun: Begun, out: Path | None, resume: Path | None, *, workers: int | None, backend: str
) -> Attack:
    """Let the attackers play, or compute what they win.

    Raises:
        HeartsError: somebody cannot play, or a file is of something else.
    """
    assert begun.rules is not None
    assault = Assault(
        begun.agent,
        begun.attackers,
        Rules.from_dict(begun.rules),
        tricks=begun.tricks,
        seed=begun.seed,
        trained=begun.trained,
    )
    if assault.is_one_draw:
        console.note(
            f"{assault.name}: draws random numbers and gives no probabilities (action_probs); the "
            "attackers know one draw of it only"
        )
    if assault.is_small:
        return assault.exactly(console.progress, command=command_line())
    return assault.over_deals(
        begun.deals,
        console.progress,
        out=out,
        resume=resume,
        about=asdict(begun),
        workers=workers,
        backend=backend,
        command=command_line(),
    )


def show(result: Attack, *, to_stderr: bool) -> None:
    """Print what each attacker wins, and who wins most."""
    is_exact = result.exploitability is not None
    columns = ["attacker", "wins a deal", *(["of the best response"] if is_exact else ["ms"])]
    rows = []
    for gain in result.gains:
        if is_exact:
            share = "-" if gain.ratio is None else f"{gain.ratio:.1%}"
            rows.append([gain.attacker, f"{gain.margin:+.4f}", share])
        else:
            assert gain.ms_per_decision is not None
            margin = format_margin(gain.margin, gain.ci95)
            rows.append([gain.attacker, margin, format_ms(gain.ms_per_decision)])
    if is_exact:
        rows.append(["best response", f"{result.exploitability:+.4f}", "exact"])
        over = "over all deals, exact"
    else:
        stopped = " (stopped early)" * result.interrupted
        over = f"95 % interval over {result.gains[0].deals:,} duplicate deals{stopped}"
    drawn = " (one draw)" * result.is_one_draw
    title = f"what is won from {result.agent}{drawn}, {result.rules}: points a deal, {over}"
    console.print_table(title, columns, rows, to_stderr=to_stderr)
    best = result.best
    amount = f"{best.margin:+.4f}" if is_exact else format_margin(best.margin, best.ci95)
    console.note(f"the best attacker is {best.attacker}: {amount} points a deal")
    for gain in result.gains:
        if gain.agent_faults:
            console.note(
                f"{result.agent}: misbehaved in {gain.agent_faults:,} deals against "
                f"{gain.attacker}, and was charged all their points"
            )
