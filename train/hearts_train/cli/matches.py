"""Helpers of ``hearts analyse --unit match``: the chance to win a match from any score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearts_train import console
from hearts_train.cli.options import names_in, numbers_in
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_env import Rules
    from hearts_env.solve.deal_results import DealResults
    from hearts_train.executor import Executor
    from hearts_train.measure.equity import MatchEquity, Simulated

UNITS = ("deal", "match")
"""The values of ``--unit``."""


def is_match(unit: str) -> bool:
    """Whether ``--unit`` is ``match``."""
    if unit not in UNITS:
        raise Mistake(f"--unit: {unit!r} is unknown; choose {' or '.join(UNITS)}")
    return unit == "match"


def analyse_match(
    agent: str | None,
    rules: Rules | None,
    *,
    results: Path | None,
    deals: int,
    totals: str | None,
    seed: int,
    executor: Executor,
    out: Path | None,
    plot: Path | None,
    as_json: str | None,
) -> None:
    """Compute the chance to win a match from any score, from the results of deals of two agents.

    Deals are played, or read from a file. For two players the chance is computed exactly for every
    score. Three players and more need totals, and the chance from them is estimated by simulation.
    """
    from hearts_train.cli.reports import command_line
    from hearts_train.measure.equity import load_results, measure_results

    given = numbers_in(totals, "--totals")
    if results is not None:
        if agent is not None:
            raise Mistake(f"--agent: the deals are those of {results}; omit it, or FILE")
        found = load_results(results)
    else:
        _check_known(rules, given, plot)
        name, opponent = _pair(agent or "pro")
        workers, backend = executor
        with console.progress(f"{name} against {opponent or 'itself'}") as report:
            found = measure_results(
                name,
                opponent,
                rules,
                deals,
                seed,
                report,
                workers=workers,
                backend=backend,
                command=command_line(),
            )
    if out is not None:
        found.save(out)
        console.note(f"written: {out}")
    ends = found.rules if rules is None else rules
    _check_known(ends, given, plot)
    record: dict[str, Any]
    if ends.players == 2:
        record = _report_table(found, ends, given, plot, as_json=as_json)
    else:
        record = _report_drawn(found, ends, given or [], seed, as_json=as_json)
    if as_json:
        console.print_json(record, as_json)
    if results is None and found.about.get("interrupted"):
        raise console.stopped()


def _pair(text: str) -> tuple[str, str | None]:
    """The player, and its opponent if one is named."""
    names = names_in(text, "--agent")
    if len(names) > 2:
        raise Mistake(f"--agent: {len(names)} given; give a player, or two with a comma")
    return names[0], names[1] if len(names) == 2 else None


def _check_known(rules: Rules | None, totals: list[int] | None, plot: Path | None) -> None:
    """Check the arguments before any deal is played."""
    from hearts_env.game.match import Scoreboard

    if rules is None:
        return
    if rules.players > 2 and totals is None:
        raise Mistake(
            f"--totals: a match of {rules.players} has too many scores for a table; give one, "
            f"like {','.join(['40'] * rules.players)}, and its chances are estimated"
        )
    if rules.players > 2 and plot is not None:
        raise Mistake("--plot: only the table of two players can be drawn; omit it")
    Scoreboard(rules, totals)


def _who(found: DealResults) -> str:
    """Words that say who played the deals."""
    names = [str(agent.get("name")) for agent in found.about.get("agents", [])]
    pair = f"{names[0]} against {names[1]}" if len(names) == 2 else "deals of a file"
    deals = found.about.get("deals")
    if isinstance(deals, int):
        stopped = ", stopped early" if found.about.get("interrupted") else ""
        return f"{pair}, {deals:,} deals, each from every seat{stopped}"
    return f"{pair}, {found.num_deals:,} results"


def _report_table(
    found: DealResults,
    rules: Rules,
    totals: list[int] | None,
    plot: Path | None,
    *,
    as_json: str | None,
) -> dict[str, object]:
    """Compute, show and draw the table of two players; its JSON."""
    from hearts_train.measure.display import save_figure
    from hearts_train.measure.equity import MatchEquity, figure_of, shown_totals

    equity = MatchEquity(rules, found)
    steps = shown_totals(equity)
    title = f"chance to win a match of {rules.name}: {_who(found)}"
    if totals is not None:
        chance, deals = equity.chance(*totals), equity.deals_to_come(*totals)
        row = [f"{totals[0]} : {totals[1]}", f"{chance:.4f}", f"{deals:.2f}"]
        console.print_table(
            title, ["score", "chance", "deals left"], [row], to_stderr=console.is_stdout(as_json)
        )
    elif rules.settlement == "points":
        columns = ["own \\ other", *map(str, steps)]
        rows = [
            [str(a), *(f"{chance:.3f}" for chance in line)]
            for a, line in zip(steps.tolist(), equity.grid(steps), strict=True)
        ]
        console.print_table(title, columns, rows, to_stderr=console.is_stdout(as_json))
    else:
        both = [(a, 2 * rules.stake - a) for a in steps.tolist()]
        rows = [
            [str(a), f"{equity.chance(a, b):.3f}", f"{equity.deals_to_come(a, b):.1f}"]
            for a, b in both
        ]
        console.print_table(
            title, ["chips", "chance", "deals left"], rows, to_stderr=console.is_stdout(as_json)
        )
    if plot is not None:
        save_figure(figure_of(equity, title), plot)
        console.note(f"drawn: {plot}")
    return _table_json(equity, totals)


def _table_json(equity: MatchEquity, totals: list[int] | None) -> dict[str, object]:
    from hearts_train.measure.equity import shown_totals

    rules, found = equity.rules, equity.results
    record: dict[str, object] = {
        "rules": rules.name,
        "rules_in_full": rules.to_dict(),
        "deals": found.num_deals,
        "about": dict(found.about),
        "states": equity.num_states,
        "sweeps": equity.sweeps,
        "going_on": equity.going_on,
    }
    if totals is not None:
        chance = {
            "chance": equity.chance(*totals),
            "deals_to_come": equity.deals_to_come(*totals),
        }
        return record | {"totals": totals} | chance
    steps = shown_totals(equity, 20).tolist()
    if rules.settlement != "points":
        pairs = [(a, 2 * rules.stake - a) for a in steps]
        return record | {"totals": steps, "chances": [equity.chance(*pair) for pair in pairs]}
    grid = [[equity.chance(a, b) for b in steps] for a in steps]
    lengths = [[equity.deals_to_come(a, b) for b in steps] for a in steps]
    return record | {"totals": steps, "chances": grid, "deals_to_come": lengths}


def _report_drawn(
    found: DealResults,
    rules: Rules,
    totals: list[int],
    seed: int,
    *,
    as_json: str | None,
) -> dict[str, object]:
    """Simulate matches of more than two players and show how many each wins; its JSON."""
    from hearts_train.measure.equity import simulated_equity

    drawn: Simulated = simulated_equity(found, totals, rules=rules, seed=seed)
    rows = [
        [("agent" if seat == 0 else f"seat {seat}"), str(total), f"{chance:.4f} ± {half:.4f}"]
        for seat, (total, chance, half) in enumerate(
            zip(drawn.totals, drawn.chances, drawn.halves, strict=True)
        )
    ]
    title = (
        f"chance to win a match of {rules.name}: {_who(found)}; {drawn.matches:,} matches drawn, "
        f"{drawn.deals:.1f} deals each"
    )
    console.print_table(
        title, ["player", "total", "chance"], rows, to_stderr=console.is_stdout(as_json)
    )
    about = {"rules": rules.name, "deals": found.num_deals, "about": dict(found.about)}
    return about | vars(drawn)
