"""An agent to start from. Run it with: hearts evaluate template.py:MyAgent --opponents easy,pro.

It values each legal action by the weights in template.json, and mostly plays the best. There are
three sets of weights (lead, take, duck), each with a constant, a weight per rank and one per point.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearts_agents import Agent
from hearts_env import BatchView, PlayerView

RANKS = "23456789TJQKA"


class MyAgent(Agent):
    """Ducks tricks by hand-made rules; plays every game."""

    # The files that it loads, beside this one. The digest in results covers them and this code.
    files = ("template.json",)

    def __init__(self, seed: int | None = None, temperature: float = 0.2) -> None:
        """Load the weights. Options follow `seed`, as in template.py:MyAgent?temperature=1."""
        self.weights = json.loads(Path(__file__).with_name(self.files[0]).read_text())
        self.temperature = temperature
        self.reseed(seed)

    def reseed(self, seed: int | None) -> None:
        """Restart the random numbers from `seed`, so that results are repeatable."""
        self.rng = np.random.default_rng(seed)

    def value(self, view: PlayerView, action: int) -> float:
        """Return the value of an action: the part to replace. `view` has all that you may know."""
        card = view.rules.action_name(action)  # like "QS"
        rank, points = RANKS.find(card[0]), view.rules.card_points.get(card, 0)
        if view.phase != "play":  # the exchange of other games: pass high cards
            return rank + points
        if not view.trick:
            weights = self.weights["lead"]
        else:  # view.trick holds (player, card)
            led = view.trick[0][1][1]

            def strength(card: str) -> tuple[bool, bool, int]:
                return card[1] == view.rules.trump, card[1] == led, RANKS.index(card[0])

            is_taken = strength(card) > max(strength(other) for _, other in view.trick)
            weights = self.weights["take" if is_taken else "duck"]
        return float(np.dot(weights, (1, rank, points)))

    def action_probs(self, views: BatchView) -> NDArray[np.float64]:
        """Return the probability of each action, (len(views), num_actions), 0 if illegal."""
        probs = np.zeros((len(views), views.rules.num_actions))
        for row, view in enumerate(views):
            legal = view.legal_actions()
            values = np.array([self.value(view, action) for action in legal])
            weights = np.exp((values - values.max()) / self.temperature)
            probs[row, legal] = weights / weights.sum()
        return probs

    def act_batch(self, views: BatchView) -> NDArray[np.int64]:
        """Return an action for each view. A network would answer them all at once here."""
        rows = self.action_probs(views)
        return np.array([self.rng.choice(len(row), p=row) for row in rows])

    def act(self, view: PlayerView) -> int:
        """Return an action for one view: the only method that an agent must have."""
        return int(self.act_batch(BatchView.of([view]))[0])
