"""Help at the table: a hint, the worth of each card, the odds of each unseen card.

Each is computed from a player's view and nothing else, so that it says no more than the player
could have worked out alone. It takes its time: for threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hearts_agents.user_code import blamed
from hearts_env import Game, HeartsError, PlayerView
from hearts_env.solve.beliefs import belief, has_exact_worlds
from hearts_env.views.worlds import Worlds
from hearts_train.measure.analysis import MOST_WORLDS, Hint, best_hinter, hint, values
from hearts_train.session.table import Refusal
from hearts_train.web.players import Listed, Players, Workers, in_parts
from hearts_train.web.review import EPSILON

_DIGITS = 6
_PATIENCE = 60.0


class Helper:
    """Computes what people at the table ask for."""

    def __init__(self, players: Players) -> None:
        """Help by the agents of a list."""
        self.players = players
        self._workers = Workers("help", 2)

    async def hint(self, view: PlayerView, name: str | None) -> dict[str, Any]:
        """What an agent would do, and why; None: the best one for these rules.

        Raises:
            Refusal: if the agent is not on the list, cannot play these rules or gives no hint.
        """
        if name is None:
            return await self._run(self._workers, lambda: hint_of(self._best(view), view))
        agent = await self.players.fitting(name, view.rules)
        return await self._run(agent.workers, lambda: hint_of(agent, view))

    async def values(self, view: PlayerView, _name: None = None) -> dict[str, Any]:
        """What each legal card is worth."""
        return await self._run(self._workers, lambda: values_of(self._best(view), view))

    async def odds(self, view: PlayerView, model: str | None) -> dict[str, Any]:
        """The chance of each seat to hold each unseen card; by a model of the other player.

        Raises:
            Refusal: if the model is not on the list, or the rules allow none.
        """
        if model is None:
            return await self._run(self._workers, lambda: odds_of(view))
        agent = await self.players.fitting(model, view.rules)
        if not has_exact_worlds(view.rules):
            text = "model: odds by a model are for two players without an exchange; omit it"
            raise Refusal("not_fit", text)
        return await self._run(agent.workers, lambda: odds_by(agent, view))

    async def _run(self, workers: Workers, work: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await workers.run(work, _PATIENCE)
        except HeartsError as error:
            raise Refusal("not_fit", str(error)) from None
        except TimeoutError:
            raise Refusal("not_fit", f"it took longer than {_PATIENCE:g} seconds") from None
        return found

    def _best(self, view: PlayerView) -> Listed:
        return self.players.listed[best_hinter(view)]

    def warm_up(self) -> None:
        """Compute everything once, so that nobody waits for the compilation."""
        game = Game.deal("two_player", 0)
        for _ in range(3):
            game.play(game.legal_actions()[0])
        view = game.view(game.current_player or 0)
        values_of(self._best(view), view)
        odds_of(view)
        odds_by(self.players.listed["standard"], view)


def hint_of(agent: Listed, view: PlayerView) -> dict[str, Any]:
    """A hint as fields of a message.

    Raises:
        HeartsError: if the agent raises, or does not choose a legal action.
    """
    with agent.borrowed() as player:
        found = hint(player, view)
    name = view.rules.action_name
    chances = {name(action): round(chance, _DIGITS) for action, chance in found.chances}
    return {
        "agent": agent.name,
        "action": name(found.action),
        "chances": chances,
        **_worths(found, view),
    }


def values_of(agent: Listed, view: PlayerView) -> dict[str, Any]:
    """The mean margin of each legal card over the worlds; none outside the play of the cards."""
    if view.phase != "play":
        return {"worths": [], "worlds": 0, "sample": False}
    with agent.borrowed() as player:
        return _worths(values(player, view), view)


def _worths(found: Hint, view: PlayerView) -> dict[str, Any]:
    worths = [
        {
            "action": view.rules.action_name(worth.action),
            "margin": round(worth.margin, _DIGITS),
            "half": round(worth.half, _DIGITS),
            "close": worth.is_close,
        }
        for worth in found.worths
    ]
    return {"worths": worths, "worlds": found.worlds, "sample": found.is_sample}


def odds_of(view: PlayerView) -> dict[str, Any]:
    """The probability of each seat to hold each unseen card, all worlds alike; exact."""
    worlds = Worlds(view)
    return {"worlds": worlds.count, "model": None, "chances": _chances(view, worlds.chances())}


def odds_by(agent: Listed, view: PlayerView) -> dict[str, Any]:
    """The same, with worlds weighed by how `agent` would have played in each.

    Raises:
        HeartsError: if there are more worlds than are weighed, or the agent raises or gives no
            probabilities.
    """
    if view.num_worlds > MOST_WORLDS:
        raise HeartsError(
            f"model: {view.num_worlds:,} worlds are possible, more than the {MOST_WORLDS:,} that "
            "can be weighed by a model; omit it, or ask again later in the deal"
        )
    blames = blamed(f"model: {agent.name} gives no odds", "take another model")
    with agent.borrowed() as player, blames:
        found = belief(view, in_parts(player.action_probs), epsilon=EPSILON)
    cards = np.arange(len(view.rules.deck))
    other = found.weights @ (found.hands[:, None] >> cards & 1)
    rows = np.stack([other, 1 - other])  # what the other does not hold is dead
    return {"worlds": len(found.hands), "model": agent.name, "chances": _chances(view, rows)}


def _chances(view: PlayerView, rows: np.ndarray[Any, Any]) -> dict[str, dict[str, float]]:
    """By card and owner; the owner of dead cards is ``kitty``."""
    n, deck = view.rules.players, view.rules.deck
    owners = [str(p) for p in range(n) if p != view.player] + ["kitty"]
    unseen = set(view.unseen)
    return {
        card: {
            owner: round(float(row[i]), _DIGITS)
            for owner, row in zip(owners, rows, strict=True)
            if row[i] > 0
        }
        for i, card in enumerate(deck)
        if card in unseen
    }
