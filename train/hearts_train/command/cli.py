"""The command `hearts`. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hearts_train import console
from hearts_train.console import Commands, Mistake

if TYPE_CHECKING:
    from hearts_env import Rules
    from hearts_train.command.reports import Settings

app = typer.Typer(
    name="hearts",
    cls=Commands,
    help="Hearts for reinforcement learning: train, evaluate and play.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

RulesName = Annotated[
    str | None,
    typer.Option(
        "--rules", metavar="NAME", help="A preset, also with changes: 'party trump=\"S\"'."
    ),
]
Players = Annotated[int | None, typer.Option("--players", help="How many play.")]
Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable line at the end.")]
Seed = Annotated[int, typer.Option("--seed", help="What deals and chance follow from.")]
MaxMemory = Annotated[
    float, typer.Option("--max-memory", metavar="GB", help="Refuse what would take more.")
]
Isolate = Annotated[bool, typer.Option("--isolate", help="Every player in a process of its own.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="With --isolate: at most, an answer."),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Keep finished deals here, to go on.")
]
Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="FILE", help="Go on with what --out has kept.")
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a picture: .png, .svg or .pdf."),
]
Pairs = Annotated[
    int, typer.Option("--pairs", help="Deals, each played with the agent in every seat.")
]


def main() -> None:
    """Run the command line."""
    app()


@app.callback()
def _commands(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from hearts_env import __version__

        print(f"hearts-env {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


# ---- training and measuring ----------------------------------------------------------------------
@app.command(rich_help_panel="Train", epilog="Example: hearts train demo --set seed=2")
def train(
    config: Annotated[
        str | None, typer.Argument(help="A recipe: its path, or the name of a shipped one (demo).")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Go on with a run's folder.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The run's folder; default in runs/."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a policy, then evaluate it against the table's players."""
    if resume is not None and out is not None:
        raise Mistake("--out: a resumed run stays in its folder; leave --out away")
    from hearts_train.command.train_command import train_and_evaluate

    train_and_evaluate(config, settings or [], resume, out, as_json=as_json)


@app.command(
    rich_help_panel="Measure",
    epilog="Example: hearts evaluate runs/demo-1 --against standard,pro --plot margins.pdf",
)
def evaluate(
    context: typer.Context,
    agent: Annotated[
        str | None,
        typer.Argument(help="A player's name, a checkpoint, a run's folder or FILE.py:CLASS."),
    ] = None,
    against: Annotated[
        str, typer.Option("--against", metavar="AGENT,...", help="Opponents, with commas between.")
    ] = "easy,standard,standard_trump,pro",
    pairs: Pairs = 2000,
    rules: RulesName = None,
    players: Players = None,
    seed: Seed = 0,
    isolate: Isolate = False,
    time_limit: TimeLimit = None,
    out: Out = None,
    resume: Resume = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure an agent on duplicate deals against others."""
    from hearts_train.command.reports import command_line, evaluate_against, show_evaluations
    from hearts_train.measure.evaluation import plot as draw

    _check_plot(plot)
    _check_folder(out, "--out")
    played = _rules(rules, players)
    if resume is not None:
        (agent, *opponents), played, pairs, seed, isolate, time_limit = _resumed(
            context, resume, is_tournament=False, is_given=agent is not None
        )
    else:
        opponents = _names(against, "--against")
    if agent is None:
        raise Mistake("agent: nobody to measure; name one; see 'hearts evaluate --help'")
    results = evaluate_against(
        agent,
        opponents,
        played,
        pairs,
        seed,
        isolate=isolate,
        time_limit=time_limit,
        out=out,
        resume=resume,
        command=command_line(),
    )
    show_evaluations(results, to_stderr=as_json)
    if as_json:
        console.print_json([result.to_json() for result in results])
    if plot is not None and results:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    if len(results) < len(opponents) or results[-1].interrupted:
        _say_how_to_go_on("evaluate", out or resume)
        raise console.stopped()


@app.command(
    rich_help_panel="Measure", epilog="Example: hearts tournament easy standard pro runs/demo-1"
)
def tournament(
    context: typer.Context,
    agents: Annotated[list[str] | None, typer.Argument(help="Two or more players.")] = None,
    pairs: Pairs = 1000,
    rules: RulesName = None,
    players: Players = None,
    seed: Seed = 0,
    isolate: Isolate = False,
    time_limit: TimeLimit = None,
    out: Out = None,
    resume: Resume = None,
    as_json: Json = False,
) -> None:
    """Let every agent play every other, and rank them."""
    from hearts_train.command.reports import command_line, show_tournament
    from hearts_train.measure.tournament import tournament as play

    _check_folder(out, "--out")
    entered, played = agents or [], _rules(rules, players)
    if resume is not None:
        entered, played, pairs, seed, isolate, time_limit = _resumed(
            context, resume, is_tournament=True, is_given=bool(entered)
        )
    with console.progress("tournament") as tell:
        result = play(
            entered,
            played,
            pairs,
            seed,
            tell,
            isolate=isolate,
            time_limit=time_limit,
            out=out,
            resume=resume,
            command=command_line(),
        )
    show_tournament(result, to_stderr=as_json)
    if as_json:
        console.print_json(result.to_json())
    if result.interrupted:
        _say_how_to_go_on("tournament", out or resume)
        raise console.stopped()


@app.command(rich_help_panel="Measure", epilog="Example: hearts bench --quick")
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter, rougher.")] = False,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Measure other libraries too.")
    ] = True,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure speed on this machine, beside the peers that are installed (extra `bench`)."""
    from hearts_train.measure.bench import draw, left_out, run_bench, tables, to_json

    _check_plot(plot)
    with console.progress("bench") as tell:
        results = run_bench(quick=quick, with_peers=peers, progress=tell)
    for title, columns, rows in tables(results):
        console.print_table(title, columns, rows, to_stderr=as_json)
    if missing := left_out(results):
        console.note("left out: " + "; ".join(missing))
    if plot is not None:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json(to_json(results))


@app.command(rich_help_panel="Measure", epilog="Example: hearts warmup")
def warmup() -> None:
    """Compile everything now, so that nothing has to wait later."""
    from hearts_train.measure.bench import warm_up

    with console.progress("compiling") as tell:
        seconds = warm_up(tell)
    print(f"everything is compiled ({console.format_seconds(seconds)})")


# ---- for people ----------------------------------------------------------------------------------
@app.command(
    rich_help_panel="Play",
    epilog="Example: hearts play --rules party --players 5 --against standard --match",
)
def play(
    against: Annotated[
        str, typer.Option("--against", metavar="AGENT,...", help="One for all seats, or one each.")
    ] = "pro",
    rules: RulesName = None,
    players: Players = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Deal these cards.")] = None,
    seat: Annotated[int, typer.Option("--seat", help="Your seat.")] = 0,
    match: Annotated[bool, typer.Option("--match", help="Play deals to the end score.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Write the deals here, too.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the deal or match left last.")
    ] = False,
) -> None:
    """Sit down and play, in the terminal. Every deal is kept; --resume goes on where you left."""
    import contextlib

    from hearts_train.command.saved_tables import Keeper, latest_table
    from hearts_train.command.terminal import Quit, open_table, reopen_table

    if resume:
        given = {
            "--against": against != "pro",
            "--rules": rules is not None,
            "--players": players is not None,
            "--seed": seed is not None,
            "--seat": seat != 0,
            "--match": match,
            "--record": record is not None,
        }
        if extra := [option for option, is_given in given.items() if is_given]:
            raise Mistake(f"--resume: the table goes on as it was; leave {', '.join(extra)} out")
    with contextlib.ExitStack() as stack:
        if resume:
            keeper, state = stack.enter_context(latest_table())
            table = reopen_table(keeper, state)
        else:
            keeper = Keeper.begin(record)
            table = open_table(
                _rules(rules, players),
                _names(against, "--against"),
                seed,
                seat,
                is_match=match,
                keeper=keeper,
            )
            stack.enter_context(keeper.holding())
        try:
            table.announcer.say(table.greeting() + "\n")
            table.run()
        except Quit:
            table.announcer.say(table.farewell())
        except KeyboardInterrupt:
            console.note("\n" + table.farewell())
            raise


@app.command(rich_help_panel="Play", epilog="Example: hearts replay deal.txt")
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Hand histories.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Do not stop after each trick.")
    ] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="DIR", help="Write a picture of every position.")
    ] = None,
) -> None:
    """Show recorded deals again, trick by trick."""
    import sys

    from hearts_train.command import replay as shown
    from hearts_train.command.cardtext import CardText
    from hearts_train.command.terminal import ask_at_terminal

    records = shown.read_records(file)
    if svg is not None:
        paths = shown.write_pictures([record.game for record in records], svg)
        print(f"{len(paths)} pictures in {svg}")
        return
    cards = CardText.of(sys.stdout)
    if not everything and sys.stdin.isatty() and sys.stdout.isatty():
        shown.show(records, cards, ask_at_terminal)
        return
    for number, record in enumerate(records, 1):
        for _, text in shown.pages_of(record, number, len(records), cards):
            print(cards.wrap(text))


@app.command(rich_help_panel="Play", epilog="Example: hearts analyse deal.txt --html deal.html")
def analyse(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Hand histories of two players.")],
    number: Annotated[
        int | None, typer.Option("--game", metavar="N", help="Only the N-th deal of the file.")
    ] = None,
    worlds: Annotated[
        bool,
        typer.Option("--worlds/--no-worlds", help="Also judge by what the players could know."),
    ] = True,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with all of it.")
    ] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Tell what each card of a deal was worth, and where points were lost."""
    from hearts_train.command import analysis_page
    from hearts_train.command.replay import read_records
    from hearts_train.measure import analysis as told

    _check_plot(plot)
    _check_folder(page, "--html")
    records = told.pick(read_records(file), number)
    if plot is not None and len(records) != 1:
        raise Mistake("--plot: it draws one deal; say which with --game N")
    found = []
    for place, record in enumerate(records, 1):
        with console.progress(f"deal {place} of {len(records)}") as tell:
            found.append(
                told.analyse(record.game, worlds=worlds, progress=tell, names=record.names())
            )
    for analysis in found:
        title = f"{analysis.game.rules.name}, card by card"
        console.print_table(title, told.columns(analysis), told.rows(analysis), to_stderr=as_json)
        for line in told.summary(analysis):
            console.note(line) if as_json else print(line)
    if page is not None:
        analysis_page.write_html(found, page)
        console.note(f"written: {page}")
    if plot is not None:
        analysis_page.draw(found[0], plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json([analysis.to_json() for analysis in found])


@app.command(
    rich_help_panel="Measure", epilog="Example: hearts calibrate pro --deals 200 --plot told.svg"
)
def calibrate(
    agent: Annotated[str, typer.Argument(help="Who plays both hands.")],
    model: Annotated[
        str, typer.Option("--model", metavar="AGENT,...", help="How it is taken to play.")
    ] = "standard,pro",
    deals: Annotated[int, typer.Option("--deals", help="Deals to play.")] = 100,
    noise: Annotated[
        float, typer.Option("--noise", help="Chance that it is taken to play at random.")
    ] = 0.1,
    rules: RulesName = None,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure how well models of a player tell its hidden hand."""
    from hearts_train.measure.calibration import COLUMNS, draw, rows
    from hearts_train.measure.calibration import calibrate as measure

    _check_plot(plot)
    models = _names(model, "--model")
    with console.progress(f"{agent} against itself") as tell:
        results = measure(
            agent,
            models,
            _rules(rules, None) or "two_player",
            deals=deals,
            noise=noise,
            seed=seed,
            progress=tell,
        )
    title = f"what the play of {agent} tells about its hand, {deals} deals, 95 % intervals"
    console.print_table(title, COLUMNS, rows(results), to_stderr=as_json)
    if plot is not None:
        draw(results, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json([result.to_json() for result in results])


@app.command(
    "solve",
    rich_help_panel="Solve",
    epilog="Example: hearts solve mini --out mini.npz --plot mini.png",
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
        int | None, typer.Option("--iterations", help="At most so many in all.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="At most so long in all.")
    ] = None,
    target: Annotated[
        float | None,
        typer.Option("--target", help="Stop at this exploitability; 1e-5 if nothing else stops."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Keep the state here, to go on.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="FILE", help="Go on with a state.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Write a player's file: .npz."),
    ] = None,
    max_memory: MaxMemory = 4.0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Compute an equilibrium of a small deck."""
    from hearts_train.command import solve_command as solving

    _check_plot(plot)
    for path, option in ((out, "--out"), (policy, "--policy")):
        _check_folder(path, option)
    if policy is not None and policy.suffix != ".npz":
        raise Mistake(f"--policy: {policy.name!r} would be no player; end its name in .npz")
    results = solving.solve_deck(
        deck,
        None if algorithm is None else _names(algorithm, "--algorithm"),
        target=target,
        iterations=iterations,
        minutes=minutes,
        out=out,
        resume=resume,
        max_memory=max_memory,
    )
    title = f"{results[0].rules.name}: points a deal; the memory is that of all arrays"
    console.print_table(
        title, solving.SOLVE_COLUMNS, solving.solve_rows(results), to_stderr=as_json
    )
    if policy is not None:
        results[-1].save(policy)
        console.note(f"written: {policy}")
    if plot is not None:
        solving.draw_curves(results, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json([solving.solve_json(found) for found in results])
    if results[-1].interrupted:
        raise typer.Exit(128 + results[-1].signal)


@app.command(
    "exploit", rich_help_panel="Solve", epilog="Example: hearts exploit pro mini.npz --deck mini"
)
def exploit_agents(
    agents: Annotated[
        list[str], typer.Argument(help="Players, checkpoints, files of solve; random is known.")
    ],
    deck: Annotated[
        str | None,
        typer.Option("--deck", metavar="NAME,...", help="micro, mini (default) or both."),
    ] = None,
    rules: RulesName = None,
    seed: Seed = 0,
    max_memory: MaxMemory = 4.0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Compute what a perfect opponent would win from players of a small deck."""
    from hearts_env import Rules
    from hearts_train.command import solve_command as solving

    _check_plot(plot)
    if deck is not None and rules is not None:
        raise Mistake("--deck: --rules names the deck too; leave one of them away")
    decks = [rules] if rules is not None else _names("mini" if deck is None else deck, "--deck")
    results = []
    for played in [Rules.from_text(text) for text in decks]:
        found = solving.exploit_agents(agents, played, seed=seed, max_memory=max_memory)
        title = f"{played.name}: what a best response wins, points a deal, exact"
        console.print_table(
            title, solving.EXPLOIT_COLUMNS, solving.exploit_rows(found), to_stderr=as_json
        )
        results += found
    if plot is not None:
        solving.draw_bars(results, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json([found.to_json() for found in results])


@app.command(rich_help_panel="Solve", epilog="Example: hearts endgame deal.txt --tricks 4")
def endgame(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Hand histories of two players.")],
    tricks: Annotated[int, typer.Option("--tricks", help="How many are left.")] = 4,
    number: Annotated[
        int | None, typer.Option("--game", metavar="N", help="Only the N-th deal of the file.")
    ] = None,
    agent: Annotated[
        str,
        typer.Option("--agent", metavar="AGENT,...", help="Whose exploitability is computed."),
    ] = "pro,pimc",
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="AGENT", help="How both are taken to have played so far."),
    ] = None,
    noise: Annotated[
        float, typer.Option("--noise", help="Chance that they are taken to have played at random.")
    ] = 0.1,
    target: Annotated[float, typer.Option("--target", help="Exploitability to reach.")] = 0.01,
    max_memory: MaxMemory = 4.0,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Solve the last tricks of recorded deals, with all that is hidden."""
    from hearts_agents import make_agent
    from hearts_train.command.replay import read_games
    from hearts_train.measure import endgames
    from hearts_train.measure.analysis import pick

    _check_plot(plot)
    agents = {name: make_agent(name, seed=seed) for name in _names(agent, "--agent")}
    mind = None if model is None else make_agent(model, seed=seed)
    games = pick(read_games(file), number)
    found = []
    with console.progress("endgames") as tell:
        for place, game in enumerate(games):
            tell(place, len(games))
            found.append(
                endgames.solve_endgame(
                    game,
                    place + 1 if number is None else number,
                    tricks,
                    agents,
                    mind,
                    noise=noise,
                    target=target,
                    max_memory=max_memory,
                )
            )
    title = f"last {tricks} tricks, solved; exploitability of {', '.join(agents)} in them"
    console.print_table(
        title, endgames.columns(list(agents)), endgames.rows(found), to_stderr=as_json
    )
    if plot is not None:
        endgames.draw(found, plot)
        console.note(f"drawn: {plot}")
    if as_json:
        console.print_json([one.to_json() for one in found])


@app.command("rules", rich_help_panel="Play", epilog="Example: hearts rules two_player")
def show_rules(
    name: Annotated[str | None, typer.Argument(help="A preset; without, all are listed.")] = None,
    players: Players = None,
    as_json: Json = False,
) -> None:
    """Explain a game in plain words, or list all."""
    from hearts_env.presets import PRESETS
    from hearts_env.rules import Rules
    from hearts_train.command.explain import SUMMARIES, explain, option_rows, players_of

    if name is None:
        if as_json:
            console.print_json(
                {preset: {"players": list(numbers)} for preset, (numbers, _) in PRESETS.items()}
            )
            return
        rows = [(preset, players_of(preset), SUMMARIES.get(preset, "")) for preset in PRESETS]
        width = max(len(row[0]) for row in rows)
        for preset, numbers, summary in rows:
            print(f"{preset:{width}}  {numbers:>3} players  {summary}")
        print("\n'hearts rules NAME' explains one.")
        return
    rules = Rules.from_text(name, players)
    if as_json:
        console.print_json({"name": rules.name, **rules.to_dict()})
        return
    print(f"{rules.name}\n")
    print("\n".join(explain(rules)) + "\n")
    options = option_rows(rules)
    widths = [max(len(row[column]) for row in options if len(row[1]) < 30) for column in range(2)]
    for option, value, meaning in options:
        print(f"{option:{widths[0]}}  {value:{widths[1]}}  {meaning}".rstrip())


@app.command(rich_help_panel="Play", epilog="Example: hearts agents")
def agents(as_json: Json = False) -> None:
    """List the players that can be named: what they do, what they can play, their options."""
    from hearts_agents import agent_names
    from hearts_agents.registry import describe_agent

    listed = {name: describe_agent(name) for name in agent_names()}
    if as_json:
        console.print_json(listed)
        return
    width = max(map(len, listed))
    for name, told in listed.items():
        print(f"{name:{width}}  {told['about']}".rstrip())
        options = ", ".join(f"{option}={value}" for option, value in told["options"].items())
        print(f"{'':{width}}  plays {told['plays']}" + (f"; options: {options}" if options else ""))
    print(
        "\nAlso players: the path of a checkpoint, of a training run's folder or of a solved file "
        "(.npz);\nmy_agent.py:MyAgent and package.module:MyAgent. Options follow a ?, as in "
        "pro?worlds=50."
    )


# ---- helpers -------------------------------------------------------------------------------------
def _rules(name: str | None, players: int | None) -> Rules | None:
    """The rules named; None where nothing is said, for a checkpoint to say."""
    from hearts_env import Rules

    if name is None and players is None:
        return None
    if name is None:
        name = "two_player" if players == 2 else "party"
    return Rules.make(name, players)


def _check_plot(path: Path | None) -> None:
    """Refuse a picture that could not be drawn, before anything is measured."""
    if path is not None:
        from hearts_train.measure.pictures import check_picture

        check_picture(path)


def _check_folder(path: Path | None, option: str) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path is not None and not path.parent.is_dir():
        raise Mistake(f"{option}: there is no folder {path.parent}; make it first")


def _resumed(
    context: typer.Context, resume: Path, *, is_tournament: bool, is_given: bool
) -> Settings:
    """What a file of results was begun with; refused is whatever the command line says besides."""
    from hearts_train.command.reports import read_begun

    said = ("against", "pairs", "rules", "players", "seed", "isolate", "time_limit", "out")
    for name in said:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise Mistake(f"{option}: with --resume it is as {resume} says; omit it")
    if is_given:
        raise Mistake(f"agents: with --resume they are as {resume} says; omit them")
    return read_begun(resume, is_tournament=is_tournament)


def _say_how_to_go_on(command: str, kept: Path | None) -> None:
    if kept is not None:
        console.note(f"kept; go on with: hearts {command} --resume {kept}")


def _names(text: str, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise Mistake(f"{option}: {text!r} names nobody; give players, like standard,pro")
    return names


if __name__ == "__main__":
    main()
