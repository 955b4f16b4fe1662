"""What ``hearts endgame`` does: the last tricks of recorded deals, solved and played against."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hearts_agents import Agent
from hearts_env import Game, HeartsError
from hearts_env.solve.beliefs import check_two_players
from hearts_env.solve.best_response import exploit
from hearts_env.solve.endgame import Endgame
from hearts_env.solve.equilibrium import solve
from hearts_train.measure.intervals import Z95
from hearts_train.measure.pictures import (
    literal,
    new_figure,
    save_figure,
    short_names,
    styles,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Solved:
    """An endgame and its solution.

    Attributes:
        deal: Which deal of the file, from 1.
        tricks: Tricks that were left.
        pairs: Pairs of hands that agree with the play.
        value: Seat 0's margin in the whole deal if both play an equilibrium from here on.
        exploitability: Of that equilibrium, in points.
        build_seconds: Time to list hands, weigh them and build the tree.
        solve_seconds: Time to solve it.
        agents: Exploitability of each player in this endgame, given the same ranges.
    """

    deal: int
    tricks: int
    pairs: int
    value: float
    exploitability: float
    build_seconds: float
    solve_seconds: float
    agents: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return asdict(self)


def solve_endgame(
    game: Game,
    deal: int,
    tricks: int,
    agents: Mapping[str, Agent],
    model: Agent | None,
    *,
    epsilon: float,
    target: float,
    max_memory: float,
) -> Solved:
    """Solve the last `tricks` of a deal as it was played.

    Raises:
        HeartsError: if there are not two players, the deal ends before its last `tricks` begin, or
            the model cannot have played it.
    """
    check_two_players(game.rules)
    if not 1 <= tricks <= game.rules.hand_size:
        raise HeartsError(f"--tricks: {tricks} is out of range; give 1 to {game.rules.hand_size}")
    replay = game.start()
    for action in game.actions:
        if replay.rules.hand_size - replay.trick_number <= tricks and not replay.trick:
            break
        if action < 0 or replay.phase != "play":
            break
        replay.play(action)
    if replay.phase != "play" or replay.rules.hand_size - replay.trick_number > tricks:
        raise HeartsError(
            f"position: deal {deal} ends before its last {tricks} tricks begin; give whole deals"
        )
    policy = None if model is None else model.action_probs
    begin = time.perf_counter()
    try:
        end = Endgame(replay, (policy, policy), epsilon=epsilon, max_memory=max_memory)
    except HeartsError as error:
        if error.argument != "policies":
            raise
        raise HeartsError(
            f"--model: it would not have played deal {deal} so with any hand; "
            "give --epsilon above 0, or omit --model"
        ) from None
    built = time.perf_counter()
    solution = solve(end, target=target)
    done = time.perf_counter()
    return Solved(
        deal,
        tricks,
        len(end.deals),
        solution.value,
        solution.exploitability,
        built - begin,
        done - built,
        {name: exploit(agent, end, name).exploitability for name, agent in agents.items()},
    )


def columns(agents: Sequence[str]) -> list[str]:
    """The column headings."""
    return ["deal", "pairs", "value", "solved to", "build s", "solve s", *agents]


def rows(solved: Sequence[Solved]) -> list[list[str]]:
    """A row per deal, followed by the means."""
    lines = [
        [
            str(one.deal),
            f"{one.pairs:,}",
            f"{one.value:+.3f}",
            f"{one.exploitability:.2g}",
            f"{one.build_seconds:.2f}",
            f"{one.solve_seconds:.2f}",
            *(f"{value:.3f}" for value in one.agents.values()),
        ]
        for one in solved
    ]
    if len(solved) > 1:
        n = len(solved)
        lines.append(
            [
                "mean",
                f"{sum(one.pairs for one in solved) / n:,.0f}",
                "",
                f"{sum(one.exploitability for one in solved) / n:.2g}",
                f"{sum(one.build_seconds for one in solved) / n:.2f}",
                f"{sum(one.solve_seconds for one in solved) / n:.2f}",
                *(
                    f"{sum(one.agents[name] for one in solved) / n:.3f}"
                    for name in solved[0].agents
                ),
            ]
        )
    return lines


def draw(solved: Sequence[Solved], path: Path) -> None:
    """The mean exploitability of each player in the endgames, and of the solution, as a plot."""
    save_figure(figure_of(solved), path)


def figure_of(solved: Sequence[Solved]) -> Figure:
    """The same as a figure; one deal alone has no interval."""
    short = short_names(list(solved[0].agents))
    values = {short[name]: np.array([one.agents[name] for one in solved]) for name in short}
    values["solved"] = np.array([one.exploitability for one in solved])
    means = [float(v.mean()) for v in values.values()]
    halves = None
    if len(solved) > 1:
        halves = [Z95 * float(v.std(ddof=1)) / len(v) ** 0.5 for v in values.values()]
    figure = new_figure(7, 1.2 + 0.4 * len(values))
    axes = figure.subplots()
    colors = [style.color for style in styles(list(values)).values()]
    labels = [literal(name) for name in values]
    axes.barh(labels, means, xerr=halves, color=colors, height=0.6, capsize=4)
    for place, mean in enumerate(means):
        end = mean + (halves[place] if halves else 0.0)
        axes.annotate(f" {mean:.2g}", (end, place), va="center")
    axes.invert_yaxis()
    axes.margins(x=0.15)
    interval = "95 % interval over deals" if halves else "of one deal, so without an interval"
    axes.set_xlabel(f"points that a best response wins, {interval}")
    deals = f"{len(solved)} deals" if len(solved) > 1 else "one deal"
    title = f"the last {solved[0].tricks} tricks of {deals}"
    axes.set_title(wrapped(title), fontsize=10, loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure
