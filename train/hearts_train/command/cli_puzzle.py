"""The command ``hearts puzzle``: positions with one card that is clearly best."""

from __future__ import annotations

from typing import Annotated

import typer

from hearts_train import console
from hearts_train.command.options import Json, app


@app.command(epilog="Example: hearts puzzle 120")
def puzzle(
    number: Annotated[
        int | None,
        typer.Argument(metavar="NUMBER", help="Which one, the easiest first; without, any."),
    ] = None,
    as_json: Json = None,
) -> None:
    """Find the one card that is best over all hands the opponent could hold.

    300 positions of two-player Hearts from play of the package's own players, in which standard and
    pro choose another card.
    """
    import secrets
    import sys

    from hearts_train.command.cardtext import CardText
    from hearts_train.command.puzzle_command import ask_puzzle
    from hearts_train.web.puzzles import puzzles, told

    chosen = secrets.randbelow(len(puzzles())) + 1 if number is None else number
    shown = told(chosen)
    if as_json:
        console.print_json(shown, as_json)
        return
    ask_puzzle(shown, CardText.of(sys.stdout))
