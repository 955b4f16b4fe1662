"""Helpers of ``hearts analyse --unit match``: the chance to win a match from any score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearts_env.render.scene import count_text
from hearts_train import console
from hearts_train.cli.options import names_in, numbers_in
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_env import Rules
    from hearts_env.solve.deal_results import DealResults
    from hearts_train.executor import Executor
    from hearts_train.measure.equity import MatchEquity


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
    as_json: str | None,
) -> None:
    """Compute the chance to win a match from any score, from the results of deals of two agents.

    Deals are played, or read from a file.
    """
    from hearts_train.cli.reports import command_line
    from hearts_train.measure.equity import MatchEquity, load_results, measure_results

    given = numbers_in(totals, "--totals")
    if results is not None:
        if agent is not None:
            raise Mistake(f"--agent: the deals are those of {results}; omit it, or FILE")
        found = load_results(results)
    else:
        _check_known(rules, given)
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
    _check_known(ends, given)
    columns, rows, record = _table_of(MatchEquity(ends, found), given)
    title = f"chance to win a match of {ends.name}: {_who(found)}"
    console.print_table(title, columns, rows)
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


def _check_known(rules: Rules | None, totals: list[int] | None) -> None:
    """Check the arguments before any deal is played."""
    from hearts_env.game.match import Scoreboard

    if rules is None:
        return
    if rules.players > 2:
        raise Mistake(f"--rules: {rules.name} is for {rules.players} players; give rules for two")
    Scoreboard(rules, totals)


def _who(found: DealResults) -> str:
    """Words that say who played the deals."""
    names = [str(agent.get("name")) for agent in found.about.get("agents", [])]
    pair = f"{names[0]} against {names[1]}" if len(names) == 2 else "deals of a file"
    deals = found.about.get("deals")
    if isinstance(deals, int):
        stopped = ", stopped early" if found.about.get("interrupted") else ""
        return f"{pair}, {count_text(deals, 'deal')}, each from every seat{stopped}"
    return f"{pair}, {count_text(found.num_deals, 'result')}"


def _table_of(
    equity: MatchEquity, totals: list[int] | None
) -> tuple[list[str], list[list[str]], dict[str, Any]]:
    """Columns and rows of the table of two players, and its JSON."""
    from hearts_train.measure.equity import shown_totals

    rules, found = equity.rules, equity.results
    record: dict[str, Any] = {
        "rules": rules.name,
        "rules_in_full": rules.to_dict(),
        "deals": found.num_deals,
        "about": dict(found.about),
        "states": equity.num_states,
        "sweeps": equity.sweeps,
        "going_on": equity.going_on,
    }
    if totals is not None:
        chance, deals = equity.chance(*totals), equity.deals_to_come(*totals)
        rows = [[f"{totals[0]} : {totals[1]}", f"{chance:.4f}", f"{deals:.2f}"]]
        record |= {"totals": totals, "chance": chance, "deals_to_come": deals}
        return ["score", "chance", "deals left"], rows, record
    steps, more = shown_totals(equity).tolist(), shown_totals(equity, 20).tolist()
    record["totals"] = more
    if rules.settlement != "points":
        all_ = 2 * rules.stake
        rows = [
            [
                str(a),
                f"{equity.chance(a, all_ - a):.3f}",
                f"{equity.deals_to_come(a, all_ - a):.1f}",
            ]
            for a in steps
        ]
        record["chances"] = [equity.chance(a, all_ - a) for a in more]
        return ["chips", "chance", "deals left"], rows, record
    rows = [[str(a), *(f"{equity.chance(a, b):.3f}" for b in steps)] for a in steps]
    record["chances"] = [[equity.chance(a, b) for b in more] for a in more]
    record["deals_to_come"] = [[equity.deals_to_come(a, b) for b in more] for a in more]
    return ["own \\ other", *map(str, steps)], rows, record
