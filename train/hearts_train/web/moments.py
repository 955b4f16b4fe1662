"""One position of a deal as the board shows it: what each card is worth, and in which worlds.

Everything here is of types that JSON knows. A *step* is an action as a list: the seat, the action's
name and, where it completes a trick, who takes that and the points of all seats from then on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hearts_agents import Agent, make_agent
from hearts_agents.baselines import DEFAULT_WORLDS
from hearts_agents.champion import game_of, strongest
from hearts_agents.search import Pimc
from hearts_env import Game, HeartsError, PlayerView, Rules
from hearts_env.batch.views import BatchView
from hearts_env.cards import cards_of
from hearts_env.solve import TranspositionTable, solve_double_dummy
from hearts_env.solve.beliefs import belief, num_first_worlds
from hearts_env.solve.endgame import Endgame
from hearts_env.solve.equilibrium import solve
from hearts_env.solve.side import backward_mean
from hearts_env.support.arrays import Floats
from hearts_train.web.players import in_parts

Json = dict[str, Any]
Step = list[Any]

EPSILON = 0.1
"""The model of a player is taken to play a random card so often, in odds, beliefs and endgames; so
`python -m bench calibrate` measures it."""
ENDGAME_TRICKS = 4
"""In how many last tricks the equilibrium is computed."""
_TARGET = 0.01  # points to which an endgame is solved
_MAX_MEMORY = 0.5  # gigabytes for one endgame
REVOKE = "revoke"


class Tools:
    """What is needed to look at one deal after another of the same rules: memory and a model.

    Not for two threads at a time.
    """

    def __init__(self, rules: Rules) -> None:
        """Tools for two players without an exchange."""
        self.table = TranspositionTable(rules)
        self.pimc = Pimc(seed=0)
        self.model: Agent = make_agent(_model_of(rules), seed=0)


def _model_of(rules: Rules) -> str:
    """The strongest quick player of a game, but none that would sample in every world."""
    is_sampled = game_of(rules) is None and num_first_worlds(rules) > DEFAULT_WORLDS
    return "standard" if is_sampled else strongest(rules)


def play_step(game: Game, action: int) -> Step:
    """Play an action, -1 for a revoke, and tell it as a step."""
    seat = game.player
    if action < 0:
        game.revoke()
        return [seat, REVOKE]
    name, tricks = game.rules.action_name(action), game.trick_number
    game.play(action)
    if game.trick_number == tricks:
        return [seat, name]
    return [seat, name, game.trick_takers[-1], game.points()]


def best_line(game: Game, first: int, table: TranspositionTable) -> list[Step]:
    """A card and best play by both after it, all cards seen, to the end of the tricks."""
    replay = game.clone()
    steps = [play_step(replay, first)]
    while replay.phase == "play":
        steps.append(play_step(replay, solve_double_dummy(replay, table=table).best[0]))
    return steps


def lines_of(game: Game, table: TranspositionTable) -> dict[str, list[Step]]:
    """Best play by both after each legal card of a position."""
    name = game.rules.action_name
    return {name(action): best_line(game, action, table) for action in game.legal_actions()}


def others_of(game: Game, view: PlayerView, tools: Tools) -> Json:
    """The hands that the other player could have: how likely, and what each card is worth then.

    A hand is given by the cards of ``unseen`` that are in it or, where these are fewer, by those
    that are not (``by`` says which). ``actual`` is the number of the one that it was.
    """
    rules, seat = view.rules, view.player
    hands, _, margins = tools.pimc.examined(view)
    chances = belief(view, in_parts(tools.model.action_probs), epsilon=EPSILON).weights
    unseen = set(view.unseen)
    held = [{rules.deck[card] for card in cards_of(int(hand))} for hand in hands]
    is_dead = bool(held) and 2 * len(held[0]) > len(unseen)
    shown = [sorted(unseen - cards if is_dead else cards, key=rules.deck.index) for cards in held]
    legal = [rules.action_name(action) for action in view.legal_actions()]
    actual = set(game.hand(1 - seat))
    return {
        "unseen": list(view.unseen),
        "by": "dead" if is_dead else "hand",
        "cards": ["".join(cards) for cards in shown],
        "chances": [round(float(chance), 5) for chance in chances],
        "model": tools.model.name,
        "actual": held.index(actual) if actual in held else -1,
        "values": {card: margins[:, place].tolist() for place, card in enumerate(legal)},
    }


def endgame_of(view: PlayerView, model: Agent) -> Json | None:
    """The equilibrium of the last tricks for the player to act; None where it is not cheap.

    How likely each hand of either player is follows from the cards it has played, if the model had
    played them.
    """
    left = view.rules.hand_size - view.trick_number
    if left > ENDGAME_TRICKS or view.legal_mask.bit_count() < 2:
        return None
    try:
        tree = Endgame(
            view, (model.action_probs, model.action_probs), epsilon=EPSILON, max_memory=_MAX_MEMORY
        )
    except HeartsError:  # too many hands, or too large a tree
        return None
    found = solve(tree, target=_TARGET)
    side = tree.sides[view.player]
    _, (infoset,) = tree.find(BatchView.of([view]))
    first = int(side.first[infoset])
    places = range(first, first + view.legal_mask.bit_count())
    chances = found.chances[view.player]
    worths = _worths(tree, view.player, found.chances)
    names = [view.rules.action_name(action) for action in view.legal_actions()]
    return {
        "chances": {
            name: round(float(chances[i]), 4) for name, i in zip(names, places, strict=True)
        },
        "worths": {name: _rounded(worths[i]) for name, i in zip(names, places, strict=True)},
        "exploitability": round(found.exploitability, 4),
        "hands": len(tree.deals),
        "model": model.name,
    }


def _worths(tree: Endgame, player: int, chances: tuple[Floats, Floats]) -> Floats:
    """The mean margin after each sequence of a player if both go on as `chances` say."""
    side = tree.sides[player]
    plan = tree.sides[1 - player].plan(chances[1 - player])
    values, reach = tree.gradient(player, plan), tree.reach(player, plan)
    for sums in (values, reach):
        backward_mean(side.parent, side.first, chances[player], sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(reach > 0, values / reach, np.nan)


def _rounded(worth: float) -> float | None:
    return None if np.isnan(worth) else round(float(worth), 3)


def actions_of(game: Game, names: Iterable[str]) -> list[int]:
    """Actions by their names, as steps have them; -1 for a revoke.

    Raises:
        HeartsError: if one is not an action of these rules.
    """
    rules = game.rules
    numbers = {rules.action_name(action): action for action in range(rules.num_actions)}
    numbers[REVOKE] = -1
    unknown = [name for name in names if name not in numbers]
    if unknown:
        raise HeartsError(
            f"actions: {unknown[0]!r} is not an action of {rules.name}; give names of cards"
        )
    return [numbers[name] for name in names]


def hands_of(game: Game) -> list[list[str]]:
    """The cards of every seat."""
    return [list(game.hand(seat)) for seat in range(game.rules.players)]
