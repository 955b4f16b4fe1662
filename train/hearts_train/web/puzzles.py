"""Puzzles: positions from real play with one card that is clearly best, which others miss.

A puzzle is a decision of two-player Hearts with three legal cards or more. Over all worlds that the
player can think possible, all alike, the mean double-dummy margin of one card is at least two
points above that of every other; ``standard`` and ``pro`` choose another. The file that comes with
the package holds what ``bench/make_puzzles.py`` has found.

Levels: 1, the players that know of trump find it; 2, all baselines miss it, and ``champion`` finds
it; 3, ``champion`` misses it.

The slips and blunders of one's own deals (`mistakes`) are asked in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hearts_agents.search import Pimc
from hearts_env import Game
from hearts_env.game.notation import Record
from hearts_env.support.arguments import check_number
from hearts_env.support.progress import Progress
from hearts_train.measure.analysis import Measurer
from hearts_train.web.review import Json, Step, is_exact, play_step

RULES = "two_player"
_LEVELS = ("standard and pro miss it", "all baselines miss it", "the champion misses it")
FILE = Path(__file__).parent / "data" / "puzzles.jsonl"


@dataclass(frozen=True)
class Puzzle:
    """A position.

    Attributes:
        hands: the cards dealt to both seats, each as one text such as ``2C4CQS``.
        dealer: the seat that dealt.
        play: the cards played before it, as one text.
        best: the solution.
        gap: points by which it leads the second best card.
        missed: who of five players choose another card.
        level: 1, 2 or 3.
        players: who played the deal.
    """

    hands: tuple[str, str]
    dealer: int
    play: str
    best: str
    gap: float
    missed: tuple[str, ...]
    level: int
    players: tuple[str, str]

    def game(self) -> Game:
        """The position, all cards open."""
        game = Game(RULES, [cards_in(hand) for hand in self.hands], dealer=self.dealer)
        for card in cards_in(self.play):
            game.play(card)
        return game


def cards_in(text: str) -> list[str]:
    """``2C4C`` as its cards."""
    return [text[place : place + 2] for place in range(0, len(text), 2)]


def read_puzzles(text: str) -> list[Puzzle]:
    """The puzzles of a file, a line each."""
    found = []
    for line in text.splitlines():
        fields = json.loads(line)
        fields |= {name: tuple(fields[name]) for name in ("hands", "missed", "players")}
        found.append(Puzzle(**fields))
    return found


@cache
def puzzles() -> tuple[Puzzle, ...]:
    """The puzzles of the package, the easiest first."""
    return tuple(read_puzzles(FILE.read_text(encoding="utf-8")))


def puzzle(number: int) -> Puzzle:
    """The puzzle of this number, from 1.

    Raises:
        HeartsError: if there is none.
    """
    found = puzzles()
    return found[check_number("number", number, 1, len(found)) - 1]


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
        "level_text": _LEVELS[one.level - 1],
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
