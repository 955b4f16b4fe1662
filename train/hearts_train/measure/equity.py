"""Match equity, measured: the results of deals between two agents, and what matches they make.

For two players ``hearts_env.solve.match_equity`` computes the chance to win from both totals. For
more there is an estimate: matches are drawn deal by deal from the results, and counted.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearts_env import BatchGame, HeartsError, Rules, __version__
from hearts_env import kernel as k
from hearts_env.game.match import Scoreboard
from hearts_env.seeds import derived_seed
from hearts_env.solve.deal_results import DealResults, check_same_deals, load_results
from hearts_env.solve.match_equity import MatchEquity
from hearts_env.support.arguments import check_number, check_seed
from hearts_env.support.arrays import Ints
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.contest import Contest, check_deals
from hearts_train.measure.duel import Block
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.statistics import Z95

__all__ = [
    "DealResults",
    "MatchEquity",
    "Simulated",
    "load_results",
    "measure_results",
    "simulated_equity",
]

_LONGEST = 100_000
"""Deals after which a simulated match is given up."""
_DRAWN = 4096


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


# ---- any number of players: simulated matches ----------------------------------------------------
@dataclass(frozen=True)
class Simulated:
    """The results of matches drawn from the results of deals.

    Attributes:
        totals: The totals at their start, the agent's first.
        matches: How many were drawn.
        chances: Each player's share of the matches won, shared first places in part.
        halves: Half the 95 % interval of each.
        deals: Mean number of deals.
        seed: Of the draws.
    """

    totals: tuple[int, ...]
    matches: int
    chances: tuple[float, ...]
    halves: tuple[float, ...]
    deals: float
    seed: int


def _drawn(
    results: DealResults, dealer: int | None, rng: np.random.Generator
) -> Iterator[list[int]]:
    """Results drawn without end: of those with this dealer, or of all."""
    rows = np.flatnonzero((results.dealers == dealer) | (dealer is None))
    if not len(rows):
        raise HeartsError(
            f"results: there is no deal that player {dealer} dealt, and the dealer matters in "
            f"{results.rules.name!r}; measure more deals"
        )
    scores, counts = results.scores[rows].tolist(), results.counts[rows]
    while True:
        for place in rng.choice(len(rows), _DRAWN, p=counts / counts.sum())[::-1].tolist():
            yield scores[place]


def simulated_equity(
    results: DealResults,
    totals: Sequence[int] | None = None,
    *,
    rules: Rules | str | None = None,
    matches: int = 10_000,
    seed: int = 0,
) -> Simulated:
    """The share of the matches that each player wins from some totals, by drawing deals.

    Deals are drawn independently, whatever their number: of rules with an exchange those of all its
    directions together. Who deals first is drawn, and where the eldest hand leads the deals drawn
    are those with that dealer.

    Args:
        results: how deals end, for any number of players.
        totals: at the start, the agent's first, the others in order of play; None: a new match.
        rules: they say when a match ends; None: those of the results.
        matches: how many are drawn, 2 to 10,000,000.
        seed: of the draws.

    Raises:
        HeartsError: if the totals are not one for each player, the match is over with them, or
            drawn matches do not end.
    """
    ends = results.rules if rules is None else Rules.make(rules)
    check_same_deals(results, ends)
    number = check_number("matches", matches, 2, 10_000_000)
    rng = np.random.default_rng(check_seed(seed))
    start = Scoreboard(ends, totals)
    by_dealer = ends.first_lead == "eldest_hand"
    urns = [_drawn(results, p, rng) for p in (range(ends.players) if by_dealer else [None])]
    won, lengths = np.zeros((number, ends.players)), 0
    for row in range(number):
        board, first = start.clone(), int(rng.integers(len(urns)))
        while not board.is_over:
            if board.num_deals >= _LONGEST:
                raise HeartsError(
                    f"results: a simulated match is not over after {_LONGEST:,} deals; with such "
                    "deals it hardly ever ends"
                )
            drawn = next(urns[(first + board.num_deals) % len(urns)])
            board.add(drawn, drawn)
        lengths += board.num_deals
        won[row, board.leaders] = 1 / len(board.leaders)
    halves = Z95 * won.std(axis=0, ddof=1) / math.sqrt(number)
    return Simulated(
        totals=tuple([int(total) for total in start.totals]),
        matches=number,
        chances=tuple(won.mean(axis=0).tolist()),
        halves=tuple(halves.tolist()),
        deals=lengths / number,
        seed=seed,
    )


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
