"""The document of a deal that the analysis board shows, of types that JSON knows.

Its figures come from ``hearts_train.measure.analysis``. Two-player games without an exchange are
measured exactly. Other games, and decks that would take too long, are estimated and have no
double-dummy values.

A *step* is an action as a list: the seat and the action's name, and at the end of a trick its taker
and the points of all seats.
"""

from __future__ import annotations

from typing import Any

from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import Record, parse_records
from hearts_env.solve.beliefs import has_exact_worlds, num_first_worlds
from hearts_env.support.arguments import check_number
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.analysis import Analysis, Measurer, Moment, analyse, summary
from hearts_train.web.messages import title_of

Json = dict[str, Any]
Step = list[Any]

MOST_CARDS = 14
"""The largest hand that the board measures exactly, in cards."""
MOST_WORK = 50_000
"""The largest product of the opponent's possible hands and the cards of a deal, likewise."""
_SIGNS = str.maketrans({"T": "10"} | dict(zip("CDSH", "♣♦♠♥", strict=True)))


def read_deal(text: str) -> Record:
    """Return the one deal of a text, with its tags.

    Raises:
        HeartsError: if it is not exactly one hand history.
    """
    records = parse_records(text)
    if len(records) != 1:
        raise HeartsError(f"deal: the text has {len(records)} deals; give exactly one")
    return records[0]


def is_exact(rules: Rules) -> bool:
    """Return True if the board measures deals of these rules exactly."""
    if not has_exact_worlds(rules) or rules.hand_size > MOST_CARDS:
        return False
    return num_first_worlds(rules) * 2 * rules.hand_size <= MOST_WORK


def review(record: Record, found: Analysis | None = None, progress: Progress | None = None) -> Json:
    """Return the document of a deal.

    Args:
        record: the deal, finished or not.
        found: the result of ``analyse``. If None, the deal is analysed here.
        progress: called with the number of actions done and of all actions.
    """
    exact = is_exact(record.game.rules)
    if found is None or found.is_exact != exact:
        found = analyse(record.game, progress=progress, names=record.names(), exact=exact)
    game, replay = record.game, record.game.start()
    return {
        "rules": {"title": title_of(game.rules.name), "tricks": game.rules.hand_size},
        "names": record.names(),
        "tags": {tag: value for tag, value in record.tags.items() if tag in ("Event", "Date")},
        "deal": record.to_text(),
        "hands": hands_of(replay),
        "kitty": list(game.kitty),
        "exchange": _exchange(game),
        "scores": game.scores() if game.is_over else None,
        "exact": exact,
        "summary": summary(found, lambda card: card.translate(_SIGNS)),
        "steps": [play_step(replay, action) for action in game.actions],
        "moments": [{**moment.to_json(), "mark": moment.mark} for moment in found.moments],
    }


def costliest(record: Record, seat: int, progress: Progress = no_progress) -> Json:
    """Find the card that gave away most, judged by the view of its player.

    Returns:
        ``choices``: the number of its cards that were not forced. ``card``: the costliest one, or
        None if no card was a slip or a blunder. It has ``at``, the number of actions before it,
        ``trick``, ``played``, ``best``, a better card, and ``lost``, the points given away.

    Raises:
        HeartsError: if there is no such seat.
    """
    game = record.game
    check_number("seat", seat, 0, game.rules.players - 1)
    measurer, replay = Measurer(game.rules, exact=is_exact(game.rules)), game.start()
    choices: list[Moment] = []
    for number, action in enumerate(game.actions):
        progress(number, len(game.actions))
        is_own = replay.phase == "play" and replay.current_player == seat and action >= 0
        if is_own and len(replay.legal_actions()) > 1:
            choices.append(measurer.measure(replay, action))
        play_step(replay, action)
    found = {"choices": len(choices), "card": None}
    worst = max(choices, key=lambda moment: moment.expected_loss, default=None)
    if worst is None or not worst.mark:
        return found
    card = {"at": worst.number, "trick": worst.trick, "played": worst.card}
    return found | {"card": card | {"best": worst.better[0], "lost": worst.expected_loss}}


def _exchange(game: Game) -> Json | None:
    """Return the number of steps of the exchange and the hands after it, or None without one."""
    count = game.rules.players * game.rules.pass_count
    if game.direction == "hold":
        return None
    after = game.start()
    for action in game.actions[:count]:
        play_step(after, action)
    return {"steps": count, "hands": hands_of(after)}


def play_step(game: Game, action: int) -> Step:
    """Play an action (-1: a revoke) and return it as a step."""
    seat = game.current_player
    if action < 0:
        game.revoke()
        return [seat, "revoke"]
    name, tricks = game.rules.action_name(action), game.trick_number
    game.play(action)
    if game.trick_number == tricks:
        return [seat, name]
    return [seat, name, game.trick_takers[-1], game.points]


def hands_of(game: Game) -> list[list[str]]:
    """Return the cards of every seat."""
    return [list(game.hand(seat)) for seat in range(game.rules.players)]
