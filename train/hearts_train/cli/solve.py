"""The commands solve and exploit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AgentName,
    AllowCode,
    Backend,
    Json,
    Resume,
    RulesName,
    Save,
    Seed,
    Workers,
    app,
    given_agent,
    new_output,
)
from hearts_train.console import Mistake


@app.command("solve", epilog="Example: hearts solve mini --policy mini.safetensors")
def solve_deck(
    deck: Annotated[
        str | None,
        typer.Argument(
            metavar="DECK",
            help="A two-player game with at most about 14 cards: micro, mini, mini_6 or midi, or "
            "one with changes, like 'mini hand_size=4'. Required without --resume.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            metavar="N",
            help="Stop after N iterations, counting those in a resumed file.",
        ),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--target",
            metavar="POINTS",
            help="Stop at this exploitability, in points per deal. Default: 1e-5 without "
            "--iterations, else none.",
        ),
    ] = None,
    save: Save = None,
    resume: Resume = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            callback=new_output,
            help="Write the equilibrium to a .safetensors file, which every command takes as an "
            "AGENT.",
        ),
    ] = None,
    max_memory: Annotated[
        float,
        typer.Option(
            "--max-memory",
            metavar="GB",
            help="The most memory for the game tree. A game with a larger tree is refused.",
        ),
    ] = 5.0,
    as_json: Json = None,
) -> None:
    """Compute an equilibrium of a two-player game with a small deck.

    An equilibrium is a policy that no opponent can beat on average.
    """
    from hearts_train.cli import solving
    from hearts_train.cli.reports import say_written, write_json

    if policy is not None and policy.suffix != ".safetensors":
        raise Mistake(
            f"--policy: {policy.name!r} is not a player's file; end its name in .safetensors"
        )
    result = solving.solve_deck(
        deck,
        target=target,
        iterations=iterations,
        save=save,
        resume=resume,
        max_memory=max_memory,
    )
    say_written(save)
    if policy is not None:
        result.save(policy)
        say_written(policy)
    if as_json:
        write_json([solving.solve_json(result)], as_json)
    if result.interrupted:
        raise console.stopped()


@app.command(
    epilog="Example: hearts exploit mini.safetensors --rules mini; "
    "hearts exploit runs/demo-1 --attackers all --deals 1000 --workers 2"
)
def exploit(
    context: typer.Context,
    agent: AgentName = None,
    rules: RulesName = None,
    attackers: Annotated[
        str | None,
        typer.Option(
            "--attackers",
            metavar="NAME,...",
            help="Attackers of AGENT. best_response, given alone: an exact best response to each "
            "sampled deal. belief: infers the hidden cards from AGENT's play. lbr: local best "
            "response, which tries each card. endings and lbr_endings: like belief and lbr, but "
            "exact in the last tricks. all: belief, lbr, endings and lbr_endings. Names of agents "
            "are accepted, too. Default: by the size of the game.",
        ),
    ] = None,
    deals: Annotated[
        int | None,
        typer.Option(
            "--deals", metavar="N", help="Sampled deals that each attacker plays. Default: 600."
        ),
    ] = None,
    tricks: Annotated[
        int | None,
        typer.Option(
            "--tricks",
            metavar="N",
            help="Last tricks that endings and lbr_endings play exactly. Default: half of all "
            "tricks, or at most 4 if AGENT mixes its cards.",
        ),
    ] = None,
    awake: Annotated[
        str | None,
        typer.Option(
            "--awake",
            metavar="FIRST-LAST",
            help="Attack only in these tricks, as in 7-13, and play like AGENT in all others.",
        ),
    ] = None,
    seed: Seed = 0,
    max_memory: Annotated[
        float | None,
        typer.Option(
            "--max-memory",
            metavar="GB",
            help="The most memory for the tree of all deals. With this option the answer is exact "
            "on any deck, or refused if the tree is larger. Default: 5 on small decks, no tree on "
            "larger decks.",
        ),
    ] = None,
    allow_code: AllowCode = False,
    workers: Workers = None,
    backend: Backend = "local",
    save: Save = None,
    resume: Resume = None,
    as_json: Json = None,
) -> None:
    """Measure how much a best response wins from an agent: exactly, or as a lower bound.

    On small decks (micro, mini, mini_6) the answer is exact over all deals. With --max-memory it is
    exact on any deck whose tree fits (midi needs 12). On larger decks it is a mean over sampled
    deals, each of which is exact. If that would take too long, or with --attackers, attackers give
    a lower bound. An attacker sees only its own cards, but may ask for the agent's policy in any
    view.
    """
    from hearts_train.cli import reports, solving
    from hearts_train.measure.exploit import Exact, choose_answer

    work = reports.Work(context, choose_answer)
    if resume is None:
        work.begin(
            [given_agent(context, agent)],
            rules=rules,
            attackers=solving.attackers_in(attackers),
            deals=deals,
            tricks=tricks,
            awake=solving.tricks_in(awake),
            seed=seed,
            max_memory=max_memory,
        )
    else:
        work.settings["attackers"] = [one.text for one in work.agents[1:]]
    show = work.settings.pop("show")
    answer = choose_answer(work.agents[0], **work.settings)
    with work.stoppable():
        solving.explain(answer)
        result: Any = answer.run(show)
    solving.show_exploit(answer, result)
    if isinstance(answer, Exact):
        work.finish([result.to_json() | {"seed": seed}])
    else:
        work.finish(result.to_json(), interrupted=result.interrupted)
