"""Pictures of games: the only place that decides which cards a viewer sees."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import list_of
from hearts_env.render.scene import SeatPicture, TablePicture, count_text
from hearts_env.support.arguments import check_choice, check_player
from hearts_env.views.position import Position

MOVER, ALL = "current_player", "all"


def picture_of(
    game: Position,
    render_for: int | str = MOVER,
    *,
    names: Sequence[str] | None = None,
    totals: Sequence[int | Fraction] | None = None,
    message: str = "",
    is_over: bool = False,
) -> TablePicture:
    """Return the picture of a game as one viewer sees it.

    The picture for a seat is made from that seat's view, so it cannot show hidden cards. An
    onlooker sees no hand. Only ``"all"`` shows every card.

    Args:
        game: the game.
        render_for: a seat, ``"current_player"`` (the player to act, or an onlooker if there is
            none) or ``"all"``.
        names: the players' names. If None, ``player_0`` and so on.
        totals: each seat's points or chips before this deal. If None, the totals of the game.
            Totals of zero are not shown.
        message: a text to show across the table, above the result.
        is_over: if True, play has been stopped and no player is to act.

    Raises:
        HeartsError: if `render_for` is anything else.
    """
    if isinstance(render_for, str) and render_for not in (MOVER, ALL):
        check_choice("render_for", render_for, (MOVER, ALL))
    mover = None if is_over else game._seat(k.PLAYER)
    viewer = mover if render_for == MOVER else render_for
    if totals is None and any(game.totals):
        totals = game.totals
    names = names or [f"player_{seat}" for seat in range(game.rules.players)]
    source = _seen(game, viewer) if isinstance(viewer, int) else game
    rules, vector, voids = source.rules, source.vector, source.voids
    seats = tuple(
        SeatPicture(
            name=names[seat],
            hand=source._pile(k.HANDS, seat) if viewer in (seat, ALL) else source.cards_left(seat),
            points=int(vector[k.POINTS + k.SEAT * seat]),
            tricks=int(vector[k.TRICKS + k.SEAT * seat]),
            taken=tuple(c for c in source.taken(seat) if rules.card_points.get(c)),
            voids=tuple(voids[seat]),
            total=None if totals is None else totals[seat],
            passed=source._pile(k.PASSED, seat) if viewer in (seat, ALL) else (),
            received=source._pile(k.RECEIVED, seat) if viewer in (seat, ALL) else (),
            played=source.played(seat) if source.phase == "over" else (),
        )
        for seat in range(rules.players)
    )
    shows_legal = mover is not None and viewer in (mover, ALL)
    legal = list_of(int(k.legal_mask(rules.vector, vector))) if shows_legal else []
    last = source.tricks[-1] if source.tricks else ()
    shows_kitty = viewer == ALL or source.kitty_taker is not None
    kitty: tuple[str, ...] | int = source.kitty if shows_kitty else rules.kitty_size
    if source.phase == "over" and len(source.history) == rules.players * rules.hand_size:
        seen = {card for _, card in source.history}  # all cards except the kitty
        kitty = tuple(card for card in rules.deck if card not in seen)
    return TablePicture(
        title=rules.name,
        seats=seats,
        phase=source.phase,
        viewer=viewer if isinstance(viewer, int) else None,
        current_player=mover,
        legal=tuple(rules.deck[action] for action in legal if action < len(rules.deck)),
        trick=source.trick,
        last_trick=last,
        last_taker=source.trick_takers[-1] if last else None,
        kitty=kitty,
        hearts_broken=source.hearts_broken,
        trump=rules.trump,
        message="\n".join(line for line in (message, *_messages(source, names, viewer)) if line),
        winners=_winners(source),
    )


def _seen(game: Position, seat: int) -> Position:
    """Return the position with everything hidden from `seat` removed."""
    seen = Position()
    seen.rules, seen.vector = game.rules, np.empty(len(game.vector), np.int64)
    seat = check_player(seat, game.rules.players)
    k.write_view(game.rules.vector, game.vector, seat, seen.vector)
    return seen


def _winners(position: Position) -> tuple[int, ...]:
    """Return the seats with the lowest score, or () before the end of the deal."""
    if position.phase != "over":
        return ()
    scores = position._scores()
    return tuple(seat for seat, score in enumerate(scores) if score == min(scores))


def _messages(game: Position, names: Sequence[str], viewer: int | str | None) -> list[str]:
    """Return the lines on an exchange, a moon and its choice, a revoke and the result."""
    rules = game.rules
    lines = []
    if game.phase == "pass":
        lines.append(_exchange(game, names, viewer))
    if game.shooter is not None:
        lines.append(f"{names[game.shooter]} has shot the moon")
    if game.revoker is not None:
        lines.append(f"{names[game.revoker]} pays for an illegal action")
    if game.phase == "moon":
        choices = [
            f"{rules.action_name(a)} is {a}" for a in range(len(rules.deck), rules.num_actions)
        ]
        lines.append("to choose: " + ", ".join(choices))
    elif game.phase == "over":
        winners = [names[seat] for seat in _winners(game)]
        shared = f"{', '.join(winners[:-1])} and {winners[-1]} share the lowest score"
        lines.append(shared if len(winners) > 1 else f"{winners[0]} wins")
        if _shows_scores(game):
            scores = zip(names, game._scores(), strict=True)
            line = ", ".join(f"{name} {count_text(score, 'point')}" for name, score in scores)
            lines.append(line)
    return lines


def _shows_scores(game: Position) -> bool:
    """Return True if the scores of `game`, which may be a view, are known.

    A revoke costs all penalty points outside the kitty, and a view hides the kitty.
    """
    rules = game.rules
    is_known = rules.kitty_to != "nobody" or len(game.kitty) == rules.kitty_size
    return game.revoker is None or is_known


def _exchange(game: Position, names: Sequence[str], viewer: int | str | None) -> str:
    """Return the line on an exchange: the number of cards, the direction and the receiver."""
    count = count_text(game.rules.pass_count, "card")
    if not isinstance(viewer, int):
        return f"each player passes {count} {game.direction}"
    target = (viewer + int(game.vector[k.EXCHANGE])) % game.rules.players
    return f"{names[viewer]} passes {count} {game.direction}, to {names[target]}"
