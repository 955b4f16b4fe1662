"""Commands that compute exactly: solve, endgame."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AllowCode,
    GameNumber,
    Json,
    MaxMemory,
    Plot,
    Resume,
    Save,
    Seed,
    app,
    check_apart,
    check_new,
    check_plot,
    names_in,
)
from hearts_train.console import Mistake


@app.command(
    "solve",
    epilog="Example: hearts solve mini --save mini.safetensors --plot mini.png",
)
def solve_deck(
    deck: Annotated[
        str | None, typer.Argument(help="Rules for two players with few cards: micro, mini, ...")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            metavar="NAME,...",
            help="pdcfr+ (default), pcfr+, cfr+, dcfr; for micro also lp.",
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
    max_memory: MaxMemory = 4.0,
    plot: Plot = None,
    as_json: Json = None,
) -> None:
    """Compute an equilibrium of a small deck."""
    from hearts_train.cli import solving
    from hearts_train.cli.reports import say_written, with_origin

    check_plot(plot)
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
        out=save,
        resume=resume,
        max_memory=max_memory,
    )
    title = f"{results[0].rules.name}: points a deal; the memory is that of all arrays"
    console.print_table(
        title,
        solving.SOLVE_COLUMNS,
        solving.solve_rows(results),
        to_stderr=console.is_stdout(as_json),
    )
    say_written(save)
    if policy is not None:
        results[-1].save(policy)
        say_written(policy)
    if plot is not None:
        solving.draw_curves(results, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json(with_origin([solving.solve_json(found) for found in results]), as_json)
    if results[-1].interrupted:
        raise typer.Exit(128 + results[-1].signal)


@app.command(epilog="Example: hearts endgame deal.txt --tricks 4")
def endgame(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Hand histories of two players.")],
    tricks: Annotated[int, typer.Option("--tricks", help="Tricks that are left.")] = 4,
    number: GameNumber = None,
    agent: Annotated[
        str,
        typer.Option(
            "--agent", metavar="AGENT,...", help="Agents whose exploitability is computed."
        ),
    ] = "pro,pimc",
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="AGENT", help="Model of how both have played so far."),
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="Probability that the model plays a random card.")
    ] = 0.1,
    target: Annotated[float, typer.Option("--target", help="Exploitability to reach.")] = 0.01,
    max_memory: MaxMemory = 4.0,
    seed: Seed = 0,
    plot: Plot = None,
    allow_code: AllowCode = False,
    as_json: Json = None,
) -> None:
    """Solve the last tricks of recorded deals as games of imperfect information."""
    from hearts_agents import make_agent
    from hearts_train.cli import solving
    from hearts_train.cli.replay import read_games
    from hearts_train.cli.reports import with_origin
    from hearts_train.measure.analysis import pick

    check_plot(plot)
    agents = {name: make_agent(name, seed=seed) for name in names_in(agent, "--agent")}
    mind = None if model is None else make_agent(model, seed=seed)
    games = pick(read_games(file), number)
    found = []
    with console.progress("endgames") as report:
        for place, game in enumerate(games):
            report(place, len(games))
            found.append(
                solving.solve_endgame(
                    game,
                    place + 1 if number is None else number,
                    tricks,
                    agents,
                    mind,
                    epsilon=epsilon,
                    target=target,
                    max_memory=max_memory,
                )
            )
    title = f"last {tricks} tricks, solved; exploitability of {', '.join(agents)} in them"
    console.print_table(
        title,
        solving.endgame_columns(list(agents)),
        solving.endgame_rows(found),
        to_stderr=console.is_stdout(as_json),
    )
    if plot is not None:
        solving.draw_endgames(found, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json(with_origin([one.to_json() for one in found], seed), as_json)
