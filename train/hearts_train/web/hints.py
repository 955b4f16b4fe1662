"""A hint at the table: the card that the best player for these rules would play.

It is computed from the player's view alone, so it reveals no hidden card.
"""

from __future__ import annotations

from typing import Any

from hearts_env import Game, HeartsError, PlayerView
from hearts_train.measure.analysis import best_hinter, hint
from hearts_train.web.players import Listed, Players
from hearts_train.web.table import Refusal

_DIGITS = 6
_PATIENCE = 60.0


async def find_hint(players: Players, view: PlayerView) -> dict[str, Any]:
    """Return a hint as fields of a message.

    Raises:
        Refusal: if the agent gives none, or takes too long.
    """
    agent = players.listed[best_hinter(view)]
    try:
        return await agent.workers.run(lambda: hint_of(agent, view), _PATIENCE)
    except HeartsError as error:
        raise Refusal("not_fit", str(error)) from None
    except TimeoutError:
        raise Refusal(
            "not_fit", f"hint: it took longer than {_PATIENCE:g} seconds; ask again"
        ) from None


def warm_up(players: Players) -> None:
    """Compute a hint once, so no one waits for the compilation."""
    game = Game.deal("two_player", 0)
    for _ in range(3):
        game.play(game.legal_actions()[0])
    view = game.view(game.current_player or 0)
    hint_of(players.listed[best_hinter(view)], view)


def hint_of(agent: Listed, view: PlayerView) -> dict[str, Any]:
    """Return an agent's action, and the mean margin of each action if it estimates them.

    Raises:
        HeartsError: if the agent raises, or does not choose a legal action.
    """
    name = view.rules.action_name
    with agent.borrowed() as player:
        found = hint(player, view)
    worths = [
        {
            "action": name(worth.action),
            "margin": round(worth.margin, _DIGITS),
            "half": round(worth.half, _DIGITS),
        }
        for worth in found.worths
    ]
    return {"agent": agent.name, "action": name(found.action), "worths": worths}
