"""Puzzles as the page shows them, and the slips and blunders of one's own deals in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hearts_agents.search import Pimc
from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_env.support.arguments import check_number
from hearts_env.support.progress import Progress
from hearts_train.measure.analysis import Measurer
from hearts_train.measure.puzzles import cards_in, puzzle, puzzles
from hearts_train.web.review import Json, Step, is_exact, play_step


def listed() -> list[Json]:
    """All puzzles for a page to choose from."""
    return [
        {"number": number, "level": one.level, "trick": len(one.play) // 4 + 1}
        for number, one in enumerate(puzzles(), 1)
    ]


def puzzle_json(number: int) -> Json:
    """A puzzle as the page shows it: what its player sees, and what each card is worth.

    ``worlds`` has the worth of each card in each of the worlds; ``deal``, which is for the board
    afterwards, all cards.

    Raises:
        HeartsError: if there is no puzzle of that number.
    """
    one = puzzle(number)
    game, steps = one.game().start(), []
    for card in cards_in(one.play):
        steps.append(play_step(game, game.rules.action_number(card)))
    assert game.player is not None
    view = game.view(game.player)
    _, _, margins = Pimc(seed=0).examined(view)
    legal = [game.rules.deck[action] for action in view.legal_actions()]
    return {
        **_asked(game, steps, dict(zip(legal, margins.mean(axis=0).tolist(), strict=True))),
        "number": number,
        "of": len(puzzles()),
        "level": one.level,
        "missed": list(one.missed),
        "players": list(one.players),
        "names": ["You" if seat == view.player else "Opponent" for seat in range(2)],
        "best": one.best,
        "gap": one.gap,
        "worlds": {name: margins[:, place].tolist() for place, name in enumerate(legal)},
        "deal": one.game().to_text(),
        "at": len(steps),
    }


def _asked(game: Game, steps: Sequence[Step], means: Mapping[str, float]) -> Json:
    """A position as its player sees it, after these steps, and the worth of each card."""
    seat, rules = game.player, game.rules
    assert seat is not None
    return {
        "seat": seat,
        "hand": list(game.hand(seat)),
        "left": [len(game.hand(other)) for other in range(rules.players)],
        "points": game.points(),
        "steps": list(steps),
        "trick": game.trick_number + 1,
        "legal": list(means),
        "means": dict(means),
        "card_points": {card: points for card, points in rules.card_points.items() if points},
    }


def mistakes(record: Record, seat: int, progress: Progress = lambda _done, _total: None) -> Json:
    """What a player gave away in a deal, by what it could know.

    Returns:
        ``lost``, the points given away; ``choices``, the cards that were not forced; ``cards``, the
        slips and blunders as puzzles, the costliest first.

    Raises:
        HeartsError: if there is no such seat.
    """
    game = record.game
    check_number("seat", seat, 0, game.rules.players - 1)
    names = ["You" if p == seat else name for p, name in enumerate(record.names())]
    measurer, replay = Measurer(game.rules, exact=is_exact(game.rules)), game.start()
    steps: list[Step] = []
    cards, lost, choices = [], 0.0, 0
    for number, action in enumerate(game.actions):
        progress(number, len(game.actions))
        is_play = replay.phase == "play"
        if is_play and replay.player == seat and action >= 0 and len(replay.legal_actions()) > 1:
            moment = measurer.measure(replay, action)
            lost, choices = lost + moment.expected_loss, choices + 1
            if moment.mark:
                told = {"names": names, "at": number, "played": moment.card}
                told |= {"lost": moment.expected_loss, "best": moment.better[0]}
                told |= {"half": moment.half, "close": moment.close, "worlds": None}
                cards.append({**_asked(replay, steps, moment.means), **told})
        step = play_step(replay, action)
        if is_play:
            steps.append(step)
    cards.sort(key=lambda card: -card["lost"])
    return {"lost": lost, "choices": choices, "cards": cards}
