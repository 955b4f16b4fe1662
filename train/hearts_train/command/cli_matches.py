"""Commands about matches: equity, matches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hearts_train import console
from hearts_train.command.cli_options import (
    AGENT_HELP,
    AllowCode,
    Backend,
    Json,
    Players,
    Plot,
    RulesName,
    Seed,
    Workers,
    app,
    check_apart,
    check_new,
    check_plot,
    rules_of,
)
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_env import Rules
    from hearts_env.solve.deal_results import DealResults
    from hearts_train.measure.equity import MatchEquity, Simulated
    from hearts_train.measure.match_duel import MatchResults

Totals = Annotated[
    str | None,
    typer.Option("--totals", metavar="N,N", help="Totals before a deal, in order of the seats."),
]


@app.command(
    rich_help_panel="Measure",
    epilog="Example: hearts equity --agent pimc --totals 80,60 --plot equity.svg",
)
def equity(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="Who plays the deals.")
    ] = None,
    opponents: Annotated[
        str | None,
        typer.Option("--opponents", metavar="AGENT", help="Against whom; itself, if left out."),
    ] = None,
    rules: RulesName = None,
    players: Players = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="FILE", help="Deals that --out has kept; none is played."
        ),
    ] = None,
    deals: Annotated[
        int, typer.Option("--deals", help="Deals to play, each with the agent in every seat.")
    ] = 2000,
    totals: Totals = None,
    matches: Annotated[
        int, typer.Option("--matches", help="Matches drawn for more than two players.")
    ] = 10_000,
    seed: Seed = 0,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Keep how the deals ended: JSON.")
    ] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Compute the chance to win a match from any score, from how deals between two agents end.

    Deals are played (or read), and for two players every score up to the end is computed exactly
    from how they ended. With --totals the chance from that score; for three players and more that
    is needed, and matches are drawn.
    """
    from hearts_train.command.reports import command_line
    from hearts_train.measure.equity import load_results, measure_results

    check_plot(plot)
    check_new(out, "--out")
    check_apart(out=out, plot=plot)
    given = _numbers(totals)
    played = rules_of(rules, players)
    if results is not None:
        if agent is not None or opponents is not None:
            raise Mistake(f"--agent: the deals are those of {results}; omit it, or --results")
        found = load_results(results)
    else:
        _check_known(played, given, plot)
        name = agent or "pro"
        with console.progress(f"{name} against {opponents or 'itself'}") as tell:
            found = measure_results(
                name,
                opponents,
                played,
                deals,
                seed,
                tell,
                workers=workers,
                backend=backend,
                command=command_line(),
            )
    if out is not None:
        found.save(out)
        console.note(f"written: {out}")
    ends = found.rules if played is None else played
    _check_known(ends, given, plot)
    if ends.players == 2:
        record = _tell_table(found, ends, given, plot, as_json=as_json)
    else:
        record = _tell_drawn(found, ends, given or [], matches, seed, as_json=as_json)
    if as_json:
        console.print_json(record)
    if results is None and found.about.get("interrupted"):
        raise console.stopped()


@app.command(
    rich_help_panel="Measure",
    epilog="Example: hearts matches match --opponents pimc --deals 500 --totals 80,60",
)
def matches(
    agent: Annotated[str, typer.Argument(help=AGENT_HELP)],
    opponents: Annotated[
        str, typer.Option("--opponents", metavar="AGENT", help="The other player.")
    ] = "pimc",
    deals: Annotated[
        int, typer.Option("--deals", help="Matches, each played twice with the seats swapped.")
    ] = 200,
    rules: RulesName = None,
    totals: Totals = None,
    seed: Seed = 0,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the result here: JSON.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Play whole matches of two, twice each with the seats swapped; players know the score."""
    from hearts_env.support.files import write_json
    from hearts_train.command.reports import command_line
    from hearts_train.measure.match_duel import play_matches

    check_new(out, "--out")
    with console.progress(f"matches of {agent} against {opponents}") as tell:
        found = play_matches(
            agent,
            opponents,
            rules_of(rules, None),
            deals,
            seed,
            tell,
            totals=_numbers(totals),
            workers=workers,
            backend=backend,
            command=command_line(),
        )
    _tell_matches(found, to_stderr=as_json)
    if out is not None:
        write_json(out, found.to_json())
        console.note(f"written: {out}")
    if as_json:
        console.print_json(found.to_json())
    if found.interrupted:
        raise console.stopped()


def _numbers(text: str | None) -> list[int] | None:
    """The totals in ``80,60``."""
    if text is None:
        return None
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise Mistake(f"--totals: {text!r} is not whole numbers; write them like 80,60") from None


def _check_known(rules: Rules | None, totals: list[int] | None, plot: Path | None) -> None:
    """Refuse what can be refused before any deal is played."""
    from hearts_env.game.scoreboard import Scoreboard

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
    """Who played the deals, in words."""
    names = [str(agent.get("name")) for agent in found.about.get("agents", [])]
    pair = f"{names[0]} against {names[1]}" if len(names) == 2 else "deals of a file"
    deals = found.about.get("deals")
    if isinstance(deals, int):
        stopped = ", stopped early" if found.about.get("interrupted") else ""
        return f"{pair}, {deals:,} deals, each from every seat{stopped}"
    return f"{pair}, {found.num_deals:,} results"


def _tell_table(
    found: DealResults,
    rules: Rules,
    totals: list[int] | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> dict[str, object]:
    """Compute, show and draw the table of two players; its JSON."""
    from hearts_train.measure.equity import draw, match_equity, shown_totals

    equity = match_equity(rules, found)
    steps = shown_totals(equity)
    title = f"chance to win a match of {rules.name}: {_who(found)}"
    if totals is not None:
        chance, deals = equity.chance(*totals), equity.deals_to_come(*totals)
        row = [f"{totals[0]} : {totals[1]}", f"{chance:.4f}", f"{deals:.2f}"]
        console.print_table(title, ["score", "chance", "deals left"], [row], to_stderr=as_json)
    elif rules.settlement == "points":
        columns = ["own \\ other", *map(str, steps)]
        rows = [
            [str(a), *(f"{chance:.3f}" for chance in line)]
            for a, line in zip(steps.tolist(), equity.grid(steps), strict=True)
        ]
        console.print_table(title, columns, rows, to_stderr=as_json)
    else:
        both = [(a, 2 * rules.stake - a) for a in steps.tolist()]
        rows = [
            [str(a), f"{equity.chance(a, b):.3f}", f"{equity.deals_to_come(a, b):.1f}"]
            for a, b in both
        ]
        console.print_table(title, ["chips", "chance", "deals left"], rows, to_stderr=as_json)
    if plot is not None:
        draw(equity, plot, title)
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


def _tell_drawn(
    found: DealResults,
    rules: Rules,
    totals: list[int],
    matches: int,
    seed: int,
    *,
    as_json: bool,
) -> dict[str, object]:
    """Draw matches of more than two players and show how many each wins; its JSON."""
    from hearts_train.measure.equity import simulated_equity

    drawn: Simulated = simulated_equity(found, totals, rules=rules, matches=matches, seed=seed)
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
    console.print_table(title, ["player", "total", "chance"], rows, to_stderr=as_json)
    about = {"rules": rules.name, "deals": found.num_deals, "about": dict(found.about)}
    return about | vars(drawn)


def _tell_matches(found: MatchResults, *, to_stderr: bool) -> None:
    from hearts_train.measure.shown import format_interval

    start = "" if not any(found.totals) else f" from {found.totals[0]}:{found.totals[1]}"
    title = (
        f"{found.agent} against {found.opponent}: {found.rules}{start}, {found.pairs:,} pairs of "
        f"matches, {found.deals:.1f} deals each{', stopped early' if found.interrupted else ''}"
    )
    columns = ["player", "matches won", "both of a pair", "ahead at the end"]
    row = [
        found.agent,
        format_interval(found.won, found.ci95, ".2%"),
        f"{found.swept:.1%}",
        f"{found.ahead:+.2f}",
    ]
    console.print_table(title, columns, [row], to_stderr=to_stderr)
    if found.faults or found.opponent_faults:
        console.note(f"faults: {found.faults} of the agent, {found.opponent_faults} of the other")
