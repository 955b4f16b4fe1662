"""Commands that solve and exploit: solve, exploit (exact, or by attackers)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AGENT_HELP,
    AllowCode,
    Backend,
    Json,
    MaxMemory,
    Plot,
    Resume,
    Save,
    Seed,
    Workers,
    app,
    check_apart,
    check_new,
    is_said,
    names_in,
    refuse_other,
)
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_env import Rules


_OF_EXACT = ("max_memory",)
_OF_METHODS = ("tricks",)
_OF_ATTACKERS = (*_OF_METHODS, "awake", "deals", "save", "workers", "backend")


@app.command("solve", epilog="Example: hearts solve mini --save mini.safetensors --plot mini.png")
def solve_deck(
    deck: Annotated[
        str | None, typer.Argument(help="Rules for two players with few cards: micro, mini, ...")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm", metavar="NAME,...", help="pdcfr+ (default), pcfr+, cfr+, dcfr."
        ),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", help="At most this many in all.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="At most this long in all.")
    ] = None,
    target: Annotated[
        float | None,
        typer.Option("--target", help="Stop at this exploitability; 1e-5 if nothing else stops."),
    ] = None,
    save: Save = None,
    resume: Resume = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Write a player's file: .safetensors."),
    ] = None,
    max_memory: MaxMemory = 5.0,
    plot: Plot = None,
    as_json: Json = None,
) -> None:
    """Compute an equilibrium of a small deck."""
    from hearts_train.cli import solving
    from hearts_train.cli.reports import say_written

    check_new(policy, "--policy")
    check_apart(save=save or resume, policy=policy, plot=plot, json=as_json)
    if policy is not None and policy.suffix != ".safetensors":
        raise Mistake(
            f"--policy: {policy.name!r} is not a player's file; end its name in .safetensors"
        )
    results = solving.solve_deck(
        deck,
        None if algorithm is None else names_in(algorithm, "--algorithm"),
        target=target,
        iterations=iterations,
        minutes=minutes,
        save=save,
        resume=resume,
        max_memory=max_memory,
    )
    console.print_table(*solving.solve_table(results))
    say_written(save)
    if policy is not None:
        results[-1].save(policy)
        say_written(policy)
    if plot is not None:
        solving.draw_curves(results, plot)
        console.note(f"drawn: {plot}")
    _print(map(solving.solve_json, results), as_json)
    if results[-1].interrupted:
        raise console.stopped()


@app.command(
    epilog="Example: hearts exploit pro mini.safetensors --rules micro,mini; "
    "hearts exploit runs/demo-1 --attackers all --deals 1000 --workers 2"
)
def exploit(
    context: typer.Context,
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="[AGENT]...", help=AGENT_HELP)
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="NAME,...", help="One game, or several small decks."),
    ] = None,
    attackers: Annotated[
        str | None,
        typer.Option(
            "--attackers",
            metavar="NAME,...",
            help="best_response alone (exact for each drawn deal); or belief, lbr, endings, "
            "lbr_endings; all of these; any other player. Default: by size.",
        ),
    ] = None,
    deals: Annotated[
        int, typer.Option("--deals", help="Duplicate deals of each attacker; small decks: all.")
    ] = 600,
    tricks: Annotated[
        int | None,
        typer.Option("--tricks", help="Last tricks that 'endings' answers exactly; usually half."),
    ] = None,
    awake: Annotated[
        str | None,
        typer.Option(
            "--awake",
            metavar="FIRST-LAST",
            help="Tricks, like 7-13, in which the attackers attack; in others they play as AGENT.",
        ),
    ] = None,
    seed: Seed = 0,
    max_memory: MaxMemory = 5.0,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    as_json: Json = None,
) -> None:
    """Compute what a best response wins from an agent, or a lower bound of it.

    On small decks (micro, mini), and with --max-memory, the best response to each agent is exact.
    On larger ones it is exact for each of many drawn deals. Where that takes too long, and with
    --attackers, attackers play against one agent: each sees only its own cards, but can query the
    frozen agent's policy in any view.
    """
    from hearts_env import Rules
    from hearts_train.cli import reports
    from hearts_train.measure.contest import check_deals
    from hearts_train.measure.exploit import BEST, ExploitResult, is_small, over_hands
    from hearts_train.measure.exploit import exploit as measure
    from hearts_train.measure.participants import trained_rules

    estimated: dict[str, Any] = {}
    attacked: Sequence[Any] = agents or []
    if resume is not None:
        attacked, arguments = reports.resumed(context, resume, "exploit")
    elif not agents:
        raise Mistake("agent: none given; name one; see 'hearts exploit --help'")
    else:
        if rules is not None:
            games = [Rules.from_text(text) for text in names_in(rules, "--rules")]
        else:
            games = [trained_rules(agents) or Rules.make("two_player")]
        is_exact = all(map(is_small, games)) or is_said(context, "max_memory")
        if attackers is None and is_exact:
            refuse_other(context, _OF_ATTACKERS, "is for attackers; omit it, or add --attackers")
            _compute(agents, games, seed, max_memory, as_json=as_json)
            return
        if len(games) > 1:
            raise Mistake(
                "rules: attackers take one game; name one, or only small decks without --attackers"
            )
        refuse_other(context, _OF_EXACT, "is for exact answers on small decks; omit it")
        check_deals(deals)
        arguments = {"rules": games[0], "deals": deals, "seed": seed}
        arguments["awake"] = reports.tricks_in(awake)
        if attackers is None and not any(is_said(context, name) for name in _OF_METHODS):
            names, positions = reports.attackers_for(agents, games[0], seed, arguments["awake"])
            estimated = {"positions": positions}
        else:
            names = reports.attackers_in(attackers)
        arguments["attackers"] = names
        if BEST in names:
            refuse_other(context, _OF_METHODS, f"is for other attackers than {BEST}; omit it")
        else:
            arguments["tricks"] = tricks
    arguments |= {"save": save, "resume": resume, "workers": workers, "backend": backend}
    arguments |= {"command": reports.command_line(), "show": console.progress}
    is_best = arguments["attackers"] == [BEST]
    if len(attacked) > 1 and not is_best and resume is None:
        raise Mistake(
            f"agents: attackers other than {BEST} take one agent; name one, or only small decks "
            "without --attackers"
        )
    with reports.stoppable("exploit", save or resume):
        if is_best:
            del arguments["attackers"]
            results = over_hands(attacked, **estimated, **arguments)
        else:
            found = measure(attacked[0], **arguments)
            assert isinstance(found, ExploitResult)
            results = [found]
    asked = len(attacked) if is_best else 1
    if is_best:
        reports.show_best(results)
    else:
        reports.show_attack(results[0])
    if as_json:
        records = [result.to_json() for result in results]
        console.print_json(records if asked > 1 else records[0], as_json)
    is_cut = results[-1].interrupted or len(results) < asked
    reports.finish("exploit", save, resume, interrupted=is_cut)


def _compute(
    agents: list[str], games: list[Rules], seed: int, max_memory: float, *, as_json: str | None
) -> None:
    """Compute the best response to each agent in each game."""
    from hearts_train.cli import solving

    results = []
    for played in games:
        found = solving.exploit_agents(agents, played, seed=seed, max_memory=max_memory)
        console.print_table(*solving.exploit_table(found))
        results += found
    _print((found.to_json() for found in results), as_json, seed)


def _print(records: Iterable[dict[str, Any]], as_json: str | None, seed: int | None = None) -> None:
    """Write the figures as JSON, each record with how it was measured."""
    from hearts_train.cli.reports import with_origin

    if as_json:
        console.print_json(with_origin(records, seed), as_json)
