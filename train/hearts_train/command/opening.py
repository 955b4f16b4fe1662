"""Opens the table of ``terminal``: who sits where, dealt anew or as it was left."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence

from hearts_env import HeartsError, Rules
from hearts_env.seeds import secret_seed
from hearts_env.support.arguments import check_seed
from hearts_train.command.announcer import Announcer
from hearts_train.command.cardtext import CardText
from hearts_train.command.saved_tables import Keeper, TableState
from hearts_train.command.terminal import Ask, Table, ask_at_terminal, new_play, short_name
from hearts_train.measure.contenders import Contender, rules_for


def open_table(
    rules: Rules | None,
    against: Sequence[str],
    seed: int | None,
    seat: int,
    *,
    is_match: bool,
    keeper: Keeper | None = None,
    ask: Ask = ask_at_terminal,
) -> Table:
    """Deal, and seat the agents.

    Args:
        rules: the rules; None: those that an agent was trained for, else ``two_player``.
        against: one agent for all other seats, or one for each, from seat 0 on.
        seed: of the deals and of the agents' random numbers; None: a random one.
        seat: the person's seat.
        is_match: play deals to the end score.
        keeper: saves deals and the table; None: nothing is saved.
        ask: asks the person for a line.

    Raises:
        HeartsError: if an agent is unknown or cannot play these rules, there is no such seat, or
            the number of agents fits neither one nor all other seats.
    """
    seed = secrets.randbelow(10**9) if seed is None else check_seed(seed)
    contenders = [Contender(name, secret_seed(seed, "table", i)) for i, name in enumerate(against)]
    rules = rules_for(contenders, rules)
    for contender in contenders:
        try:
            contender.check_rules(rules)
        except HeartsError as error:
            name = contender.name
            raise HeartsError(f"opponent: {name} cannot play {rules.name}: {error}") from None
    n = rules.players
    if not 0 <= seat < n:
        raise HeartsError(f"seat: {seat} is out of range; give 0 to {n - 1}")
    if len(contenders) not in (1, n - 1):
        agents, seats = _counted(len(contenders), "agent"), _counted(n - 1, "seat")
        raise HeartsError(f"opponent: {agents} for {seats}; give one for all, or one for each")
    others = [p for p in range(n) if p != seat]
    names = ["you"] * n
    for place, p in enumerate(others):
        name = short_name(against[place % len(against)])
        names[p] = name if n == 2 else f"{p}:{name}"
    return Table(
        play=new_play(rules, seed, 0, is_match=is_match),
        seed=seed,
        agents={
            p: contenders[place % len(contenders)].fresh(secret_seed(seed, "seat", p))
            for place, p in enumerate(others)
        },
        against=against,
        announcer=Announcer(seat, names, CardText.of(sys.stdout)),
        keeper=keeper,
        ask=ask,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def reopen_table(keeper: Keeper, state: TableState, ask: Ask = ask_at_terminal) -> Table:
    """Resume a table that was left.

    Raises:
        HeartsError: if an agent no longer exists, or the saved deals do not fit the rules.
    """
    table = open_table(
        Rules.from_text(state.rules),
        state.against,
        state.seed,
        state.seat,
        is_match=state.is_match,
        keeper=keeper,
        ask=ask,
    )
    table.restore(state)
    return table
