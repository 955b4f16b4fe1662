"""How well a model of a player predicts its hidden hand: log-loss in random deals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents import Agent, make_agent
from hearts_env import Game, Rules
from hearts_env import kernel as k
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.solve.beliefs import belief, check_two_players, hidden_hands
from hearts_env.support.arguments import check_number
from hearts_env.support.progress import Progress
from hearts_train.measure.display import (
    format_interval,
    literal,
    new_figure,
    save_figure,
    short_names,
    styles,
    wrapped,
)
from hearts_train.measure.statistics import Z95

UNIFORM = "all alike"
_FEWEST_DEALS, _MOST_DEALS = 2, 1_000_000


@dataclass(frozen=True)
class Calibration:
    """Log-losses of one model about one player.

    Attributes:
        agent: who played both hands.
        model: how it was assumed to play; ``all alike``: all worlds equally likely.
        deals: deals played, the unit of the interval.
        decisions: views examined.
        log_loss: mean of -log2(weight of the real hand), in bits.
        ci95: its 95 % interval over deals.
        impossible: share of views in which the real hand was ruled out (they count as if it had
            a millionth of the weight).
        by_trick: ``(tricks,)`` the mean log-loss in each trick.
        by_trick_half: ``(tricks,)`` half the 95 % interval of that over deals; 0 where only one
            deal has a choice to examine.
        interrupted: whether it was stopped before all deals were played.
    """

    agent: str
    model: str
    deals: int
    decisions: int
    log_loss: float
    ci95: tuple[float, float]
    impossible: float
    by_trick: tuple[float, ...]
    by_trick_half: tuple[float, ...]
    interrupted: bool = False

    @property
    def perplexity(self) -> float:
        """The number of equally likely worlds that would leave the same uncertainty."""
        return float(2**self.log_loss)

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return {
            **vars(self),
            "ci95": list(self.ci95),
            "by_trick": list(self.by_trick),
            "by_trick_half": list(self.by_trick_half),
        }


def calibrate(
    agent: str,
    models: Sequence[str],
    rules: Rules | str = "two_player",
    *,
    deals: int = 100,
    epsilon: float = 0.1,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Calibration]:
    """Play deals of `agent` against itself and weigh at every decision what the other may hold.

    Returns a result for equally likely worlds, then one for each model; after Ctrl-C of the
    finished deals, two or more.
    """
    rules = Rules.make(rules)
    check_two_players(rules)
    check_number("deals", deals, _FEWEST_DEALS, _MOST_DEALS)
    # Not the seed itself, from which every deal could be computed.
    player = make_agent(agent, seed=secret_seed(seed, "calibrate", 0))
    minds: list[Agent | None] = [None]
    for place, model in enumerate(models, 1):
        minds.append(make_agent(model, seed=secret_seed(seed, "calibrate", place)))
    tricks = rules.hand_size
    sums = np.zeros((len(minds), deals, tricks))
    counts = np.zeros((deals, tricks))
    ruled_out = np.zeros((len(minds), deals))
    done, interrupted = 0, False
    try:
        for deal in range(deals):
            if progress is not None:
                progress(deal, deals)
            game = Game.deal(rules, derived_seed(seed, deal))
            while game.phase == "play":
                assert game.player is not None
                view = game.view(game.player)
                if len(hidden_hands(view)) > 1:
                    trick = game.trick_number
                    counts[deal, trick] += 1
                    real = int(game.vector[k.HANDS + k.SEAT * (1 - view.player)])
                    for row, mind in enumerate(minds):
                        policy = None if mind is None else mind.action_probs
                        weight = belief(view, policy, epsilon=epsilon).weight_of(real)
                        ruled_out[row, deal] += weight == 0.0
                        sums[row, deal, trick] -= math.log2(max(weight, 1e-6))
                game.play(player.act(view))
            done = deal + 1  # a deal broken off counts for nothing
    except KeyboardInterrupt:
        if done < _FEWEST_DEALS:
            raise
        interrupted = True
    return [
        _result(
            agent,
            name,
            sums[row, :done],
            counts[:done],
            ruled_out[row, :done].sum(),
            interrupted=interrupted,
        )
        for row, name in enumerate([UNIFORM, *models])
    ]


def _result(
    agent: str,
    model: str,
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    ruled_out: float,
    *,
    interrupted: bool = False,
) -> Calibration:
    total = counts.sum()
    mean, half = _ratio(sums.sum(1), counts.sum(1))
    tricks = [_ratio(sums[:, t], counts[:, t]) for t in range(counts.shape[1])]
    return Calibration(
        agent=agent,
        model=model,
        deals=len(counts),
        decisions=int(total),
        log_loss=mean,
        ci95=(mean - half, mean + half),
        impossible=float(ruled_out / total),
        by_trick=tuple(trick[0] for trick in tricks),
        by_trick_half=tuple(trick[1] for trick in tricks),
        interrupted=interrupted,
    )


def _ratio(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> tuple[float, float]:
    """The mean of what is summed deal by deal, and half its 95 % interval; 0 for one deal."""
    total, n = counts.sum(), int((counts > 0).sum())
    if not total:
        return 0.0, 0.0
    mean = sums.sum() / total
    if n < 2:
        return float(mean), 0.0
    # A ratio of sums over deals: its standard error by linearisation.
    errors = sums - mean * counts
    half = Z95 * np.sqrt((errors**2).sum() * n / (n - 1)) / total
    return float(mean), float(half)


COLUMNS = ["model", "log-loss in bits", "perplexity", "ruled out"]


def rows(results: Sequence[Calibration]) -> list[list[str]]:
    """A row per model."""
    return [
        [
            r.model,
            format_interval(r.log_loss, r.ci95, ".3f"),
            f"{r.perplexity:.1f}",
            f"{r.impossible:.1%}",
        ]
        for r in results
    ]


def draw(results: Sequence[Calibration], path: Path) -> None:
    """Plot the log-loss trick by trick with its 95 % intervals, a line per model."""
    figure = new_figure(7, 4)
    axes = figure.subplots()
    short = short_names([result.model for result in results])
    style = styles(list(short.values()))
    for place, result in enumerate(results):
        name = short[result.model]
        aside = 0.12 * (place - (len(results) - 1) / 2)  # so that no interval hides another
        axes.errorbar(
            np.arange(1, len(result.by_trick) + 1) + aside,
            result.by_trick,
            yerr=result.by_trick_half,
            **style[name]._asdict(),
            markersize=5,
            capsize=2,
            elinewidth=0.8,
            label=literal(name),
        )
    axes.set_xlabel("trick")
    axes.set_ylabel("log-loss in bits, 95 % interval over deals")
    agent = short_names([results[0].agent])[results[0].agent]
    axes.set_title(wrapped(f"Doubt about the hidden hand of {agent}"), fontsize=10, loc="left")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)
