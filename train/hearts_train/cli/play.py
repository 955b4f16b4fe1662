"""The commands for people: play, replay, analyse, rules, agents and serve."""

from __future__ import annotations

import contextlib
import keyword
import secrets
import shlex
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hearts_train import console
from hearts_train.cli.options import (
    AllowCode,
    Html,
    Json,
    RulesName,
    app,
    check_new,
    named,
    names_in,
    new_output,
    output,
    refuse_other,
    rules_of,
)
from hearts_train.console import Mistake

if TYPE_CHECKING:
    from hearts_env.game.notation import Record


@app.command(epilog="Example: hearts play --rules 'party players=5' --opponent standard")
def play(
    context: typer.Context,
    against: Annotated[
        str | None,
        typer.Option(
            "--opponent",
            metavar="AGENT,...",
            help="One agent for all other seats, or one for each. Default: champion if it can play "
            "these rules, else pro.",
        ),
    ] = None,
    rules: RulesName = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed of the deal. Default: random.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            callback=new_output,
            help="Save the deal to FILE after every card.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="FILE", callback=named, help="Continue the deal in FILE."),
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Play a deal against agents in the terminal.

    At the prompt, type a card (QS or 10h), hint, rules or quit. 'hearts replay' and 'hearts
    analyse' can read the saved file.
    """
    from hearts_agents.champion import strongest
    from hearts_agents.spec import quoted_path
    from hearts_env.game.notation import parse_records
    from hearts_env.rules.rules import Rules
    from hearts_env.support.arguments import check_seed
    from hearts_env.support.errors import quoted
    from hearts_env.support.files import held, lock_beside
    from hearts_train.cli.terminal import TerminalGame, new_game, saved_game

    path = save or resume
    if resume is not None:
        settings = ("against", "rules", "seed", "save")
        refuse_other(context, settings, "--resume continues the saved deal as it is; omit one")
        record = saved_game(resume)
        if record.game.is_over:
            raise Mistake(f"--resume: the deal in {resume} is over; start another")
    else:
        given = rules_of(rules)
        names = against or strongest(given or Rules.preset("two_player"))
        seed = secrets.randbelow(10**9) if seed is None else check_seed(seed)
        record = new_game(given, seed, names_in(names, "--opponent"))
        if save is not None and parse_records(record.to_text())[0].tags != record.tags:
            raise Mistake(
                f"--opponent: {quoted(names)} cannot be written to a hand history; name it in "
                "letters, digits and single spaces, or omit --save"
            )
    game, left = TerminalGame(record), "You have left the game."
    if path is None:
        left += " Only a game with --save FILE can be continued."
    else:
        left += f" Continue it with: hearts play --resume {quoted_path(path)}"
    with contextlib.ExitStack() as stack:
        if path is not None:
            stack.enter_context(held(lock_beside(path), f"game: {str(path)!r}"))
        try:
            if not game.play(path):
                console.say(left)
        except KeyboardInterrupt:
            console.note("\n" + left)
            raise


@app.command(epilog="Example: hearts replay deal.txt")
def replay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            callback=named,
            help="Hand histories, or a result of 'hearts benchmark' (its worst deals).",
        ),
    ],
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE.gif",
            callback=output,
            help="Draw every position, with all cards open, in an animation.",
        ),
    ] = None,
    board: Annotated[
        bool,
        typer.Option("--board", help="Open the analysis board of the deals in a browser."),
    ] = False,
) -> None:
    """Print or draw recorded deals trick by trick, or open them on the analysis board."""
    from hearts_train.cli import replay as shown
    from hearts_train.cli.cardtext import show

    if plot is not None and plot.suffix.lower() != ".gif":
        raise Mistake(f"--plot: {plot} does not end in .gif; give a name that does")
    if plot is not None and board:
        raise Mistake("--board: it does not go with --plot; give one of them")
    records = shown.read_records(file)
    if board:
        _open_board(records)
        return
    if plot is not None:
        console.say(f"{shown.write_animation(records, plot)} positions in {plot}")
        return
    for number, record in enumerate(records, 1):
        show("\n".join(shown.lines_of(record, number, len(records))))


def _open_board(records: Sequence[Record]) -> None:
    """Write the analysis board of deals to a file of its own and open it in a browser."""
    import webbrowser

    from hearts_env.support.files import write_whole
    from hearts_train.web.assets import board_page
    from hearts_train.web.folders import data_folder
    from hearts_train.web.review import review

    documents = []
    for place, record in enumerate(records, 1):
        with console.progress(f"deal {place} of {len(records)}") as report:
            documents.append(review(record, progress=report))
    page = data_folder() / "board.html"  # the next board replaces it
    page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(page, board_page(documents))
    console.say(f"The board is in {page}")
    webbrowser.open(page.as_uri())


@app.command(epilog="Example: hearts analyse deal.txt --html deal.html")
def analyse(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            callback=named,
            help="Hand histories, or a result of 'hearts benchmark' (its worst deals).",
        ),
    ],
    number: Annotated[
        int | None,
        typer.Option("--game", metavar="N", help="Analyse only deal N of FILE, from 1."),
    ] = None,
    page: Html = None,
    as_json: Json = None,
) -> None:
    """Show what each card of a deal was worth, and which cards lost points.

    Values are exact in games for two players without an exchange, and estimates in all others.
    """
    from hearts_env.support.files import write_whole
    from hearts_train.cli.replay import read_records
    from hearts_train.measure.analysis import analyse, card_table, summary, verdict_text
    from hearts_train.web.assets import board_page
    from hearts_train.web.review import review

    records = read_records(file, number)
    found = []
    for place, record in enumerate(records, 1):
        with console.progress(f"deal {place} of {len(records)}") as report:
            names = record.names()
            found.append(analyse(record.game, progress=report, names=names))
    for analysis in found:
        table = card_table(analysis)
        console.print_table(*table)
        verdicts = (verdict_text(analysis, p) for p in range(len(analysis.names)))
        for line in [*verdicts, *summary(analysis)]:
            console.say(line)
    if page is not None:
        documents = []
        for place, (record, analysis) in enumerate(zip(records, found, strict=True), 1):
            with console.progress(f"the board of deal {place} of {len(records)}") as report:
                documents.append(review(record, analysis, progress=report))
        write_whole(page, board_page(documents))
        console.note(f"written: {page}")
    if as_json:
        from hearts_train.cli.reports import write_json

        write_json([analysis.to_json() for analysis in found], as_json)


@app.command("rules", epilog="Example: hearts rules two_player")
def show_rules(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A game of the list, and changes to it: 'party players=5'. Default: list all.",
        ),
    ] = None,
    as_json: Json = None,
) -> None:
    """Explain the rules of a game, or list all games."""
    from hearts_env.rules.explain import explain, option_rows
    from hearts_env.rules.presets import PRESETS
    from hearts_env.rules.rules import Rules
    from hearts_train.cli.cardtext import show

    if name is None:
        if as_json:
            found = {name: {"players": list(p.players)} for name, p in PRESETS.items()}
            console.print_json(found, as_json)
            return
        width = max(map(len, PRESETS))
        for preset, (numbers, _, summary) in PRESETS.items():
            span = f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
            show(f"{preset:{width}}  {span:>3} players  {summary}")
        console.say("\n'hearts rules NAME' explains a game.")
        return
    rules = Rules.from_text(name)
    if as_json:
        console.print_json({"name": rules.name, **rules.to_dict()}, as_json)
        return
    show("\n".join([rules.name, "", *explain(rules), ""]))
    options = option_rows(rules)
    widths = [max(len(row[column]) for row in options if len(row[1]) < 30) for column in range(2)]
    for option, value, meaning in options:
        is_long = len(value) > widths[1]  # on its own line, to keep the meanings in a column
        shown = "" if is_long else value
        show(f"{option:{widths[0]}}  {shown:{widths[1]}}  {meaning}".rstrip())
        if is_long:
            console.say(f"  {value}")


@app.command(epilog="Example: hearts agents --new my_agent")
def agents(
    context: typer.Context,
    new: Annotated[
        Path | None,
        typer.Option(
            "--new",
            metavar="NAME",
            help="Write a simple agent, NAME.py and NAME.json, for you to change.",
        ),
    ] = None,
    as_json: Json = None,
) -> None:
    """List the built-in agents with their games and options, or start one of your own."""
    if new is not None:
        refuse_other(context, ("as_json",), "does not apply to --new; omit it")
        _write_agent(new)
        return
    from hearts_agents import agent_names
    from hearts_agents.registry import describe_agent
    from hearts_train.cli.cardtext import show

    listed = {name: describe_agent(name) for name in agent_names()}
    if as_json:
        console.print_json(listed, as_json)
        return
    width = max(map(len, listed))
    for name, entry in listed.items():
        show(f"{name:{width}}  {entry['about']}".rstrip())
        options = ", ".join(f"{option}={value}" for option, value in entry["options"].items())
        plays = f"{'':{width}}  plays {entry['plays']}"
        show(plays + (f"; options: {options}" if options else ""))
    console.say(
        "\nOther agents, wherever a command takes an AGENT:\n"
        "  runs/demo-1, x.safetensors      a training run, a checkpoint or a solved game\n"
        "  mine.py:Mine, package.mod:Mine  a Python class\n"
        "  'exec:./bot --flag'             a program\n"
        "  model.onnx?encoder=flat         an ONNX model; with --allow-code also\n"
        "  model.pt?encoder=flat           a TorchScript model\n"
        "  model.zip                       a stable-baselines3 model\n"
        "Options follow a question mark, as in pro?worlds=50."
    )


def _write_agent(path: Path) -> None:
    """Write a copy of ``hearts_agents.template`` and its weights, and print the next commands."""
    import hearts_agents
    from hearts_env.support.files import write_whole

    stem = path.name.removesuffix(".py")
    if not stem.isidentifier() or keyword.iskeyword(stem):
        raise Mistake(f"--new: {path} is no Python name; use letters, digits and _, as in my_agent")
    files = {suffix: path.with_name(stem + suffix) for suffix in (".py", ".json")}
    for file in files.values():
        check_new(file, "--new")
    elsewhere = [place for place in sys.path if place and Path(place).resolve() != Path.cwd()]
    if stem in sys.stdlib_module_names or PathFinder.find_spec(stem, elsewhere):
        raise Mistake(
            f"--new: {stem} would hide an installed module; give another name, as in my_agent"
        )
    for suffix, file in files.items():
        text = (Path(hearts_agents.__file__).parent / f"template{suffix}").read_text("utf-8")
        write_whole(file, text.replace("template.", f"{stem}.").encode())
    agent = shlex.quote(f"{files['.py']}:MyAgent")
    console.say(f"written: {files['.py']} and {files['.json']}; measure the agent with:")
    console.say(f"  hearts evaluate {agent} --opponents easy,standard,pro")
    console.say(f"  hearts benchmark {agent}")


# ---- the server ----------------------------------------------------------------------------------
@app.command(
    epilog="Example: hearts serve --open; "
    "hearts serve --host 0.0.0.0 --allow-host hearts.example.org"
)
def serve(
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on: 127.0.0.1 for this machine only, 0.0.0.0 for the network.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", help="Port to listen on. 0 chooses a free port."),
    ] = 8650,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="AGENT",
            help="Offer this agent, too: a run's folder, a checkpoint or FILE.py:CLASS. Repeat the "
            "option for more.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Folder in which tables are saved. Default: a folder in your user data folder.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A host name under which browsers reach the server, if it is not localhost or an "
            "address. Repeat the option for more.",
        ),
    ] = None,
    allow_code: AllowCode = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve a web page to play against agents and other people, until Ctrl-C.

    It offers every game of 'hearts rules', against agents or friends with an invitation link. Every
    card is saved, and a restarted server continues all tables.
    """
    from hearts_train.cli.serve import serve_tables

    serve_tables(host, port, agents=agent or [], data=data, names=allow_host or [], opens=open_page)
