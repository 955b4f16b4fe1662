"""How well a model of a player tells its hidden hand: log-loss of the posterior in random deals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents import Agent, make_agent
from hearts_env import Game, HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.game import derived_seed
from hearts_env.solve.beliefs import belief, check_two_players, hidden_hands
from hearts_train.pictures import save_png

Progress = Callable[[float, float], None]

UNIFORM = "all alike"


@dataclass(frozen=True)
class Calibration:
    """Log-losses of one model about one player.

    Attributes:
        agent: who played both hands.
        model: how it was taken to play; ``all alike``: worlds taken as equally likely.
        deals: deals played, the unit of the interval.
        decisions: views looked at.
        log_loss: mean of -log2(weight of the real hand), in bits.
        ci95: its 95 % interval over deals.
        impossible: share of views in which the real hand was ruled out (they count as if it had
            a millionth of the weight).
        by_trick: ``(tricks,)`` the mean log-loss in each trick.
    """

    agent: str
    model: str
    deals: int
    decisions: int
    log_loss: float
    ci95: tuple[float, float]
    impossible: float
    by_trick: tuple[float, ...]

    @property
    def perplexity(self) -> float:
        """As many equally likely worlds would leave the same doubt."""
        return float(2**self.log_loss)

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return {**vars(self), "ci95": list(self.ci95), "by_trick": list(self.by_trick)}


def calibrate(
    agent: str,
    models: Sequence[str],
    rules: Rules | str = "two_player",
    *,
    deals: int = 100,
    noise: float = 0.1,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Calibration]:
    """Play deals of `agent` against itself and weigh at every decision what the other may hold.

    Args:
        agent: who plays, by its name for ``make_agent``.
        models: how it is taken to play, by name; equally likely worlds come first by themselves.
        rules: of two players.
        deals: 2 or more.
        noise: see ``hearts_env.solve.beliefs.belief``.
        seed: what the deals follow from.
        progress: called with the deals done and all deals.

    Returns:
        A result for equally likely worlds, then one for each model.

    Raises:
        HeartsError: an unknown agent, rules for other numbers of players, too few deals.
    """
    rules = Rules.make(rules)
    check_two_players(rules)
    if deals < 2:
        raise HeartsError(f"deals: {deals!r} give no interval; give 2 or more")
    player = make_agent(agent, seed=seed)
    minds: list[Agent | None] = [None, *(make_agent(model, seed=seed) for model in models)]
    tricks = rules.hand_size
    sums = np.zeros((len(minds), deals, tricks))
    counts = np.zeros((deals, tricks))
    ruled_out = np.zeros(len(minds))
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
                real = int(game.vector[k.HANDS + 1 - view.player])
                for row, mind in enumerate(minds):
                    policy = None if mind is None else mind.policy_batch
                    weight = belief(view, policy, noise=noise).weight_of(real)
                    ruled_out[row] += weight == 0.0
                    sums[row, deal, trick] -= math.log2(max(weight, 1e-6))
            game.play(player.act(view))
    return [
        _result(agent, name, sums[row], counts, ruled_out[row])
        for row, name in enumerate([UNIFORM, *models])
    ]


def _result(
    agent: str,
    model: str,
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    ruled_out: float,
) -> Calibration:
    total = counts.sum()
    mean = sums.sum() / total
    # A ratio of sums over deals: its standard error by linearisation.
    errors = sums.sum(1) - mean * counts.sum(1)
    half = 1.96 * float(np.sqrt((errors**2).sum() * len(errors) / (len(errors) - 1)) / total)
    with np.errstate(invalid="ignore"):
        by_trick = np.nan_to_num(sums.sum(0) / counts.sum(0))
    return Calibration(
        agent=agent,
        model=model,
        deals=len(counts),
        decisions=int(total),
        log_loss=float(mean),
        ci95=(float(mean) - half, float(mean) + half),
        impossible=float(ruled_out / total),
        by_trick=tuple(by_trick.tolist()),
    )


COLUMNS = ["model", "log-loss in bits", "perplexity", "ruled out"]


def rows(results: Sequence[Calibration]) -> list[list[str]]:
    """A row a model."""
    return [
        [
            r.model,
            f"{r.log_loss:.3f} ± {(r.ci95[1] - r.ci95[0]) / 2:.3f}",
            f"{r.perplexity:.1f}",
            f"{r.impossible:.1%}",
        ]
        for r in results
    ]


def draw(results: Sequence[Calibration], path: Path) -> None:
    """The log-loss trick by trick, a line a model, as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for result in results:
        tricks = np.arange(1, len(result.by_trick) + 1)
        axes.plot(tricks, result.by_trick, marker="o", markersize=4, label=result.model)
    axes.set_xlabel("trick")
    axes.set_ylabel("log-loss in bits")
    axes.set_title(f"What the hidden hand of {results[0].agent} tells", fontsize=10, loc="left")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save_png(figure, path)
