"""Hand histories shown again: deals and plays as text, pictures as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hearts_env import Game, NotationError
from hearts_env._files import read_limited
from hearts_env.game import action_name
from hearts_env.notation import parse_games
from hearts_train.cardtext import CardText

MOST_BYTES = 64 * 2**20
"""Of a file of hand histories: some 100,000 deals."""


def read_games(path: Path) -> list[Game]:
    """The games of a file, each play checked.

    Raises:
        NotationError: it is not text, or not hand histories; the line is named.
        HeartsError: it is not an ordinary file, or larger than ``MOST_BYTES``.
    """
    try:
        data = read_limited(path, MOST_BYTES, "hand histories")
        return parse_games(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise NotationError(f"{path} is not text; give a file of hand histories") from None
    except NotationError as error:
        raise NotationError(f"{path}: {error}") from None


def header(game: Game, number: int, count: int, cards: CardText) -> str:
    """What is dealt: the game's rules and all hands."""
    start = game.start()
    lines = [cards.bold(f"Game {number} of {count}: {game.rules.name}")]
    if any(game.totals):
        lines.append("totals before: " + ", ".join(map(str, game.totals)))
    lines += [f"player {p}: {cards.hand(start.hand(p))}" for p in range(game.rules.players)]
    if game.kitty:
        lines.append(f"kitty:    {cards.hand(game.kitty)}")
    return "\n".join(lines)


def steps(game: Game, cards: CardText) -> Iterator[str]:
    """What happens, a text for each hand of the exchange, each trick and the rest."""
    rules, replay = game.rules, game.start()
    for action in game.actions:
        seat, phase = replay.player, replay.phase
        assert seat is not None
        if action == -1:
            replay.revoke()
            yield f"player {seat} plays an illegal card and pays for all"
            continue
        kitty_taker = replay.kitty_taker
        replay.play(action)
        if phase == "pass":
            passed = replay.passed(seat)
            if len(passed) == rules.pass_count:
                yield f"player {seat} passes {cards.cards(passed)} {replay.direction}"
        elif phase == "moon":
            choice = action_name(rules, action).partition(":")[2]
            yield (
                f"player {seat} takes the points off"
                if choice == "off"
                else (f"player {seat} lets the others pay")
            )
        elif not replay.trick:
            yield _trick(replay, cards, awards_kitty=replay.kitty_taker != kitty_taker)
            if replay.shooter is not None:
                yield f"player {replay.shooter} has shot the moon"
    if replay.trick:
        yield f"{replay.trick_number + 1:2}. {_plays(replay.trick, cards)} ..."


def _plays(trick: Sequence[tuple[int, str]], cards: CardText) -> str:
    return f"player {trick[0][0]} leads: " + " ".join(cards.card(card) for _, card in trick)


def _trick(game: Game, cards: CardText, *, awards_kitty: bool) -> str:
    trick = game.tricks[-1]
    taker = next(p for p in range(game.rules.players) if trick[0][1] in game.taken(p))
    text = f"{len(game.tricks):2}. {_plays(trick, cards)}   taken by player {taker}"
    if worth := _worth(game, [card for _, card in trick]):
        text += f", {worth}"
    if awards_kitty:
        text += f", and the kitty {cards.cards(game.kitty)} {_worth(game, game.kitty)}".rstrip()
    return text


def _worth(game: Game, cards: Sequence[str]) -> str:
    """The points of cards, like ``+5``; nothing where there are none."""
    points = sum(game.rules.card_points.get(card, 0) for card in cards)
    return f"{points:+d}" if points else ""


def footer(game: Game) -> str:
    """The scores."""
    scores = ", ".join(f"player {p} {score}" for p, score in enumerate(game.scores()))
    return ("scores: " if game.is_over else "not finished; points so far: ") + scores


def write_pictures(games: Sequence[Game], folder: Path) -> list[Path]:
    """Draw the start and every action of the games, all cards open, as SVG files in a folder."""
    from hearts_env.render import render_svg
    from hearts_env.render.picture import picture_of

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, game in enumerate(games, 1):
        replay = game.start()
        for step, action in enumerate([None, *game.actions]):
            if action == -1:
                replay.revoke()
            elif action is not None:
                replay.play(action)
            path = folder / f"game{number:03}-{step:03}.svg"
            path.write_text(render_svg(picture_of(replay, "all")), encoding="utf-8")
            paths.append(path)
    return paths
