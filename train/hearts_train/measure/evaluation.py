"""Duplicate evaluation: how many points a deal one agent is better than another.

Every deal is played once with the agent in each seat, the other seats taken by copies of the
opponent, so that good and bad cards cancel out. Such a *duplicate deal*, all plays of one deal
together, is the unit of every interval. Arguments and results call their number ``deals``, since
with two players it is two plays, with the seats swapped.

- The margin of a deal is the others' mean score minus the agent's own: positive is good.
- Intervals are the mean over duplicate deals +- 1.96 standard errors (normal approximation,
  adequate from a few dozen of them on).
- Deals won: 1 where the agent alone has the lowest score, a share of 1 where it is shared.
- Rank: 1 for the lowest score of the deal, 2 for the next, and so on; ties share the mean rank.
- Chips, where the rules settle in chips: what the agent wins in a deal that is settled on its own.
- Matches: for each seat, the deals that the agent played there, in order, are strung together into
  matches that end as the rules say (end score, ties, chips); unfinished ones do not count. The
  players do not know the totals, and deal number and dealer are those of each deal.
- No player sees a deal twice: each seating has players of its own (``hearts_train.measure.duel``).
- An agent that raises, answers with something illegal or changes its views commits a fault: it is
  charged all points of the deal, as after a revoke at the card table, and the rest continues.
- Milliseconds per decision are those of ``act_batch``, many games at once. Everything else follows
  from the seed: the deals from it alone, so that they are the same whoever plays; with players that
  draw random numbers the play also from the number of deals, which decides how many run at once.
"""

from __future__ import annotations

import os
from typing import Any, overload

from hearts_env import Rules
from hearts_env.support.progress import Show, silent
from hearts_train.measure.contest import Contest, check_deals
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.summary import Evaluation, MatchResults

File = str | os.PathLike[str]


@overload
def evaluate(
    agent: AgentLike,
    opponents: list[AgentLike] | tuple[AgentLike, ...],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    **settings: Any,
) -> list[Evaluation]: ...


@overload
def evaluate(
    agent: AgentLike,
    opponents: AgentLike,
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    **settings: Any,
) -> Evaluation: ...


def evaluate(
    agent: AgentLike,
    opponents: AgentLike | list[AgentLike] | tuple[AgentLike, ...],
    rules: Rules | str | None = None,
    deals: int = 1000,
    seed: int = 0,
    *,
    unit: str = "deal",
    save: File | None = None,
    resume: File | None = None,
    show: Show = silent,
    **settings: Any,
) -> Evaluation | MatchResults | list[Any]:
    """Play `deals` duplicate deals of `agent` against an opponent, or each of several.

    The module's text has the protocol. Ctrl-C ends it with the duplicate deals finished, marked as
    interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``. An agent object is
            copied; it does not play itself.
        opponents: the same for all other seats; of a list or tuple each in turn, and the result is
            a list of evaluations.
        rules: the rules, or a preset's name; None: those that a checkpoint was trained for, else
            ``two_player``.
        deals: duplicate deals, each played with the agent in every seat; 2 to 10,000,000.
        seed: the same seed gives the same deals to whoever plays, and to agents that have
            ``reseed(seed)`` the same random numbers.
        unit: ``deal``, or ``match``: pairs of whole matches of two players, who know the score
            (``hearts_train.measure.duel``); the results are ``MatchResults``.
        save: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        show: shows the progress against each opponent; silent by default.
        **settings: the other arguments of ``Contest``: `isolate` (every player in a process of
            its own), `time_limit` (with it, seconds for one answer), `workers` (processes that
            play; the figures, times aside, are the same with any number), `backend` (``local`` or
            ``ray``), `totals` (of matches: those of seats 0 and 1 at the start), `command`.

    Raises:
        HeartsError: if an agent or rule set is unknown, an agent cannot play the rules or cannot be
            copied, or there are too few or too many deals.
    """
    deals = check_deals(deals)
    others = list(opponents) if isinstance(opponents, list | tuple) else [opponents]
    contest = Contest([agent, *others], rules, seed, unit=unit, **settings)
    with contest.saved(save, resume, "evaluate", deals=deals):
        found = list(contest.evaluations(deals, show))
    return found if isinstance(opponents, list | tuple) else found[0]
