"""The document of a deal that the analysis board shows, of types that JSON knows.

Its figures come from ``hearts_train.measure.analysis``. Two-player games without an exchange are
measured exactly. Other games, and decks that would take too long, are estimated and have no
double-dummy values.

A *step* is an action as a list: the seat and the action's name, and at the end of a trick its taker
and the points of all seats.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import Record, parse_records
from hearts_env.solve.beliefs import num_first_worlds
from hearts_env.solve.policies import has_exact_worlds
from hearts_env.support.arguments import check_number
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.analysis import (
    BLUNDER,
    SLIP,
    Analysis,
    Measurer,
    Moment,
    analyse,
    mistakes,
    summary,
    verdict,
)
from hearts_train.web.messages import title_of

Json = dict[str, Any]
Step = list[Any]

MOST_CARDS = 14
"""The largest hand that the board measures exactly, in cards."""
MOST_WORK = 50_000
"""The largest product of the opponent's possible hands and the cards of a deal, likewise."""


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


def review(
    record: Record,
    found: Analysis | None = None,
    progress: Progress | None = None,
    *,
    since: int = 0,
) -> Json:
    """Return the document of a deal.

    Args:
        record: the deal, finished or not.
        found: the result of ``analyse``. If None, the deal is analysed here.
        progress: called with the number of actions done and of all actions. If None, nothing is
            called.
        since: the number of the first action that is measured.
    """
    exact = is_exact(record.game.rules)
    if found is None or found.is_exact != exact:
        names = record.names()
        found = analyse(record.game, progress=progress, names=names, exact=exact, since=since)
    game, replay = record.game, record.game.start()
    seats = range(game.rules.players)
    return {
        "rules": {
            "name": game.rules.name,
            "title": title_of(game.rules.name),
            "tricks": game.rules.hand_size,
            "most": game.rules.max_margin,
        },
        "names": record.names(),
        "tags": {tag: value for tag, value in record.tags.items() if tag in ("Event", "Date")},
        "deal": record.to_text(),
        "hands": hands_of(replay),
        "kitty": list(game.kitty),
        "exchange": _exchange(game),
        "scores": game.scores() if game.is_over else None,
        "exact": exact,
        "summary": summary(found),
        "marks": {"slip": SLIP, "blunder": BLUNDER},
        "players": [
            {
                "verdict": list(verdict(found, p)),
                "mistakes": [moment.number for moment in mistakes(found, p)],
                "course": _course(found, p),
            }
            for p in seats
        ],
        "steps": [play_step(replay, action) for action in game.actions],
        "moments": [{**moment.to_json(), **_shown(moment)} for moment in found.moments],
        "now": _now(game, exact=exact),
    }


def tried(record: Record, at: int, card: str) -> Record:
    """Return a deal with another card after its first `at` actions, and none after it.

    Raises:
        HeartsError: if there are fewer actions, or the card cannot be played there.
    """
    game = cut(record.game, at)
    game.play(card)
    return Record(game, record.tags)


def cut(game: Game, at: int) -> Game:
    """Return a deal after its first `at` actions.

    Raises:
        HeartsError: if it has fewer.
    """
    check_number("at", at, 0, len(game.actions))
    replay = game.start()
    for action in game.actions[:at]:
        play_step(replay, action)
    return replay


def _shown(moment: Moment) -> Json:
    """Return what the board shows of a moment besides its figures."""
    cards = {"verdicts": {card: moment.verdict(card) for card in moment.means}}
    if not moment.card:
        return cards
    is_choice = len(moment.means) > 1
    is_best = not moment.expected_loss or moment.card in moment.better
    return cards | {
        "mark": moment.mark,
        "given": f"{moment.expected_loss:.1f}" if is_choice else "",
        "instead": [] if is_best else moment.better[:2],
    }


def _now(game: Game, *, exact: bool) -> Json | None:
    """Return the worth of every card where an unfinished deal stops, or None."""
    if game.is_over or game.phase != "play":
        return None
    moment = Measurer(game.rules, exact=exact).measure(game, None)
    return asdict(moment) | _shown(moment)


def _course(found: Analysis, player: int) -> list[list[float]]:
    """Return a player's margin after each card, as pairs of the action's number and the margin.

    It is the double-dummy value, or in an estimate the mean after each of the player's own cards.
    """
    if found.is_exact:
        return [[m.number, m.after if player == 0 else -m.after] for m in found.moments]
    return [[m.number, m.means[m.card]] for m in found.moments if m.player == player]


def costliest(record: Record, seat: int, progress: Progress = no_progress) -> Json:
    """Find the card that gave away most, judged by the view of its player.

    Returns:
        ``choices``: the number of its cards that were not forced. ``lost``: the points that these
        cards gave away. ``card``: the costliest one, or None if no card was a slip or a
        blunder. It has ``at``, the number of actions before it, ``trick``, ``played``, ``best``, a
        better card, and ``lost``, the points given away.

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
    lost = sum(moment.expected_loss for moment in choices)
    found = {"choices": len(choices), "lost": lost, "card": None}
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
