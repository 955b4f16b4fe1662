"""Match equity, measured: the results of deals between two agents.

``hearts_env.solve.match_equity`` computes the chance to win a match from both totals.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from hearts_env import BatchGame, Rules, __version__
from hearts_env import kernel as k
from hearts_env.seeds import derived_seed
from hearts_env.solve.deal_results import DealResults, load_results
from hearts_env.solve.match_equity import MatchEquity
from hearts_env.support.arrays import Ints
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.contest import Contest, check_deals
from hearts_train.measure.duel import Block
from hearts_train.measure.participants import AgentLike

__all__ = ["DealResults", "MatchEquity", "load_results", "measure_results"]


# ---- measuring the results of deals --------------------------------------------------------------
def measure_results(
    agent: AgentLike,
    opponent: AgentLike | None = None,
    rules: Rules | str | None = None,
    deals: int = 2000,
    seed: int = 0,
    progress: Progress = no_progress,
    **settings: Any,
) -> DealResults:
    """Play deals, each with the agent in every seat, and count how they end.

    Ctrl-C ends it with the deals finished; ``about`` then says ``interrupted``.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        opponent: that in all other seats; None: copies of the agent. Between two equal players each
            deal counts with the sides exchanged too, so that the table is even.
        rules: the rules; None: those that a checkpoint was trained for, else ``two_player``.
        deals: deals, each played as often as there are seats; 2 to 10,000,000.
        seed: seed of deals and agents.
        progress: called with the deals done and all of them.
        **settings: `workers`, `backend` and `command`, as for ``evaluate``.

    Raises:
        HeartsError: if an agent is unknown or cannot play the rules, or a number is out of range.
        KeyboardInterrupt: it was stopped before the first deals were finished.
    """
    deals, is_even = check_deals(deals), opponent is None
    other = agent if opponent is None else opponent
    contest = Contest([agent, other], rules, seed, **settings)
    rows: list[Ints] = []
    interrupted = False
    try:
        with contextlib.closing(contest.run(contest.tasks(deals))) as stream:
            for block in stream:
                scores = block.scores if contest.rules.settlement == "points" else block.points
                rows.append(np.column_stack([scores, _dealers(contest.rules, seed, block)]))
                progress(block.first + block.deals, deals)
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupted = True
    found = np.concatenate(rows)
    about = {
        "agents": [participant.to_json() for participant in contest.participants],
        "deals": len(found) // contest.rules.players,
        "seed": seed,
        "version": __version__,
        "command": settings.get("command"),
    }
    if interrupted:
        about["interrupted"] = True
    results = DealResults.counted(contest.rules, found[:, :-1], found[:, -1], about)
    return results.evened() if is_even and contest.rules.players == 2 else results


def _dealers(rules: Rules, seed: int, block: Block) -> Ints:
    """Who dealt, counted from the agent on, for each row of a block."""
    numbers = range(block.first, block.first + block.deals)
    batch = BatchGame(rules, num_games=block.deals, autodeal=False)
    batch.reset(seeds=np.array([derived_seed(seed, number) for number in numbers], np.int64))
    dealers = np.repeat(batch.states[:, k.DEALER], rules.players)
    return (dealers - np.arange(len(dealers))) % rules.players


# ---- what commands show --------------------------------------------------------------------------
def shown_totals(equity: MatchEquity, steps: int = 10) -> Ints:
    """Totals for the rows and columns of a table, some tenths of the way to the end."""
    rules = equity.rules
    if rules.settlement != "points":
        top = 2 * rules.stake
        if rules.target is not None:
            top = min(top, rules.stake + rules.target)
        low = 2 * rules.stake - top
        return np.unique(np.linspace(low, top, steps + 1).astype(np.int64)[1:-1])
    end = rules.end_score + (rules.end_when == "exceeded")
    return np.unique(np.linspace(0, end, steps + 1).astype(np.int64)[:-1])
