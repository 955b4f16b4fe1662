"""From a game to a `TablePicture`: the one place that decides what a viewer is shown."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hearts_env import kernel as k
from hearts_env.errors import HeartsError, did_you_mean
from hearts_env.game import Game
from hearts_env.render.scene import SeatPicture, TablePicture, count_text
from hearts_env.view import PlayerView, Position

MOVER, ALL = "mover", "all"


def picture_of(
    game: Game,
    render_for: int | str = MOVER,
    *,
    names: Sequence[str] | None = None,
    totals: Sequence[int | Fraction] | None = None,
    message: str = "",
    is_over: bool = False,
) -> TablePicture:
    """What `render_for` sees of `game`.

    A seat's picture is made from that seat's view, and an onlooker's from nobody's hand, so that
    closed cards are not even looked at; only ``"all"`` shows them.

    Args:
        game: the game to show.
        render_for: a seat; ``"mover"``, whoever is to act (an onlooker when nobody is); or
            ``"all"``.
        names: of the players; None: ``player_0`` and so on.
        totals: scores before this deal; None: those of the game, if it has any.
        message: said across the table, before the result.
        is_over: play has been stopped, nobody is to act any more.

    Raises:
        HeartsError: if `render_for` is anything else.
    """
    rules = game.rules
    if isinstance(render_for, str) and render_for not in (MOVER, ALL):
        raise HeartsError(f"render_for: {render_for!r}; {did_you_mean(render_for, (MOVER, ALL))}")
    mover = None if is_over else game.player
    viewer = mover if render_for == MOVER else render_for
    source: Position = game
    if isinstance(viewer, int):
        source = game.view(viewer)
    if totals is None and any(game.totals):
        totals = game.totals
    known = names or [f"player_{seat}" for seat in range(rules.players)]
    points, tricks = game.points(), game.tricks_taken()
    played = _played(game)
    seats = tuple(
        SeatPicture(
            name=known[seat],
            hand=_open(source, "hand", seat, viewer)
            if viewer in (seat, ALL)
            else game.cards_left(seat),
            points=points[seat],
            tricks=tricks[seat],
            taken=tuple(c for c in game.taken(seat) if rules.card_points.get(c)),
            voids=tuple(game.voids(seat)),
            total=None if totals is None else totals[seat],
            passed=_open(source, "passed", seat, viewer),
            received=_open(source, "received", seat, viewer),
            played=played[seat],
        )
        for seat in range(rules.players)
    )
    deck = rules.deck
    legal = [] if mover is None or viewer not in (mover, ALL) else game.legal_actions()
    last = game.tricks[-1] if game.tricks else ()
    # Who has seen all other cards knows those of the kitty too.
    is_known = game.is_over and len(game.history) == rules.players * rules.hand_size
    shows_kitty = viewer == ALL or game.kitty_taker is not None or is_known
    return TablePicture(
        title=rules.name,
        seats=seats,
        phase=game.phase,
        viewer=viewer if isinstance(viewer, int) else None,
        to_move=mover,
        legal=tuple(deck[action] for action in legal if action < len(deck)),
        trick=game.trick,
        last_trick=last,
        last_taker=_taker(game, last),
        kitty=game.kitty if shows_kitty else rules.kitty_size,
        hearts_broken=game.hearts_broken,
        trump=rules.trump,
        message="\n".join(line for line in (message, *_news(game, known, viewer)) if line),
        winners=_winners(game),
    )


def _played(game: Game) -> list[tuple[str, ...]]:
    """What everybody has played, by seat, in deck order; only once the deal is over."""
    hands: list[list[str]] = [[] for _ in range(game.rules.players)]
    for seat, card in game.history if game.is_over else ():
        hands[seat].append(card)
    return [tuple(sorted(hand, key=game.rules.deck.index)) for hand in hands]


def _winners(game: Game) -> tuple[int, ...]:
    """The seats with the lowest score, once the deal is over."""
    scores = game.scores() if game.is_over else []
    return tuple(seat for seat, score in enumerate(scores) if score == min(scores))


def _open(source: Position, field: str, seat: int, viewer: int | str | None) -> tuple[str, ...]:
    """Cards of a seat where the viewer may see them: one's own, or everybody's."""
    if viewer == ALL:
        cards = getattr(source, field)(seat)
    elif viewer == seat and isinstance(source, PlayerView):
        cards = getattr(source, field)
    else:
        cards = ()
    return tuple(cards)


def _taker(game: Game, trick: Sequence[tuple[int, str]]) -> int | None:
    """Who took a finished trick."""
    if not trick:
        return None
    card = trick[0][1]
    return next(seat for seat in range(game.rules.players) if card in game.taken(seat))


def _news(game: Game, names: Sequence[str], viewer: int | str | None) -> list[str]:
    """What there is to say: an exchange, a moon and its choice, a revoke, the result."""
    lines = []
    if game.phase == "pass":
        lines.append(_exchange(game, names, viewer))
    if game.shooter is not None:
        lines.append(f"{names[game.shooter]} has shot the moon")
    if game.revoker is not None:
        lines.append(f"{names[game.revoker]} pays for an illegal action")
    if game.phase == "moon":
        choices = [f"{game.rules.action_name(a)} is {a}" for a in game.legal_actions()]
        lines.append("to choose: " + ", ".join(choices))
    elif game.is_over:
        winners = [names[seat] for seat in _winners(game)]
        shared = f"{', '.join(winners[:-1])} and {winners[-1]} share the lowest score"
        lines.append(shared if len(winners) > 1 else f"{winners[0]} wins")
        scores = zip(names, game.scores(), strict=True)
        lines.append(", ".join(f"{name} {count_text(score, 'point')}" for name, score in scores))
    return lines


def _exchange(game: Game, names: Sequence[str], viewer: int | str | None) -> str:
    """Who passes how many cards to whom."""
    count = count_text(game.rules.pass_count, "card")
    step = int(game.vector[k.EXCHANGE])
    if not isinstance(viewer, int):
        return f"everybody passes {count} {game.direction}"
    target = names[(viewer + step) % game.rules.players]
    return f"{names[viewer]} passes {count} {game.direction}, to {target}"
