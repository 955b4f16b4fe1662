"""Policies of one side for the other: chances in views as a policy of OpenSpiel, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from open_spiel.python import policy as spiel

from hearts_env.batch.views import BatchView
from hearts_env.game.game import Game
from hearts_env.openspiel.game import HeartsGame, state_of
from hearts_env.solve.beliefs import Policy, check_policy
from hearts_env.support.arrays import Floats
from hearts_env.support.errors import HeartsError
from hearts_env.views.view import PlayerView


class ViewPolicy(spiel.Policy):  # type: ignore[misc]
    """A policy of OpenSpiel that does what a policy does in views; each choice is asked once."""

    def __init__(self, game: HeartsGame, policy: Policy) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._policy = policy
        self._known: dict[str, dict[int, float]] = {}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """The chance of each legal action in a state, by action.

        Raises:
            HeartsError: if the policy gives no probabilities, or the cards are not dealt yet.
        """
        if state.hearts is None:
            raise HeartsError("state: the cards are not dealt yet; ask where a player is to act")
        player = state.current_player() if player_id is None else player_id
        view = state.hearts.view(player)
        legal = view.legal_actions()
        if len(legal) == 1:
            return {legal[0]: 1.0}
        key = view.key()
        if key not in self._known:
            views = BatchView.of([view])
            chances = check_policy(self._policy(views), views.legal_table)[0]
            self._known[key] = {a: float(chances[a]) for a in legal}
        return dict(self._known[key])


def chances_in_views(game: HeartsGame, policy: Any) -> Policy:
    """A function of views that does what a policy of OpenSpiel does; each view is asked once."""
    known: dict[str, Floats] = {}

    def ask(view: PlayerView) -> Floats:
        (world,) = view.sample_worlds(1, seed=0)
        state = state_of(game, Game.from_view(view, world))
        chances = np.zeros(view.rules.num_actions)
        for action, chance in policy.action_probabilities(state, view.player).items():
            chances[action] = chance
        return chances

    def chances(views: BatchView) -> Floats:
        table = np.zeros((len(views), views.rules.num_actions))
        for row, view in enumerate(views):
            key = view.key()
            if key not in known:
                known[key] = ask(view)
            table[row] = known[key]
        return table

    return chances
