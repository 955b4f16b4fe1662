"""A played deal of two players, card by card: what each card was worth, and where points were lost.

Every card is measured twice. With all cards seen: the double-dummy value, what best play by both
would make from there. And with what the player could know: the mean of that over all worlds that
its view allows, which is how ``pimc`` chooses. A card that loses points in the first sense may have
been right in the second.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from hearts_agents.search import Pimc
from hearts_env import Game, HeartsError
from hearts_env.solve import TranspositionTable, solve_double_dummy
from hearts_env.solve.beliefs import check_two_players
from hearts_env.support.progress import Progress
from hearts_train.measure.shown import Shown

T = TypeVar("T")

SLIP, BLUNDER = 1.0, 5.0
"""A card that loses at least this many points is marked with ``?`` or with ``??``."""


@dataclass(frozen=True)
class Moment:
    """One card of a deal.

    Attributes:
        number: which action of the deal, from 0.
        trick: its trick, from 1.
        player: who played it.
        card: what was played.
        values: double-dummy margin of the whole deal for the player, by legal card.
        means: the mean of that over the worlds that the view allows; empty if not measured.
        worlds: how many there are; 0 if not measured.
    """

    number: int
    trick: int
    player: int
    card: str
    values: dict[str, int]
    means: dict[str, float]
    worlds: int

    @property
    def after(self) -> int:
        """Double-dummy margin of seat 0 once the card is played."""
        value = self.values[self.card]
        return value if self.player == 0 else -value

    @property
    def lost(self) -> int:
        """Points lost by this card, all cards seen."""
        return max(self.values.values()) - self.values[self.card]

    @property
    def expected_loss(self) -> float:
        """Points lost by this card on average over what the player could not see."""
        return max(self.means.values()) - self.means[self.card] if self.means else 0.0

    @property
    def better(self) -> list[str]:
        """The best cards by what the player could know (if not measured: with all cards seen)."""
        worth: dict[str, float] = self.means or dict(self.values)
        best = max(worth.values())
        return [card for card, value in worth.items() if value >= best - 1e-9]

    @property
    def mark(self) -> str:
        """``?`` for a slip, ``??`` for a blunder, judged by what the player could know."""
        loss = self.expected_loss if self.means else self.lost
        return "??" if loss >= BLUNDER else "?" if loss >= SLIP else ""


@dataclass(frozen=True)
class Analysis:
    """A deal and all its cards.

    Attributes:
        game: the deal as it was played.
        before: double-dummy margin of seat 0 before the first card.
        moments: the cards in order.
        names: what the players are called.
    """

    game: Game
    before: int
    moments: tuple[Moment, ...]
    names: tuple[str, str] = ("player 0", "player 1")

    def lost(self, player: int) -> int:
        """What a player lost in all, all cards seen."""
        return sum(m.lost for m in self.moments if m.player == player)

    def expected_loss(self, player: int) -> float:
        """What a player lost in all by what it could know."""
        return sum(m.expected_loss for m in self.moments if m.player == player)

    def _repr_html_(self) -> str:
        """A table of all cards and the result in sentences, for notebooks."""
        told = "".join(f"<p>{html.escape(line)}</p>\n" for line in summary(self))
        return Shown("", columns(self), rows(self)).to_html() + told

    def to_json(self) -> dict[str, Any]:
        """Everything, of types that JSON knows."""
        return {
            "rules": self.game.rules.name,
            "scores": self.game.scores() if self.game.is_over else None,
            "before": self.before,
            "players": [
                {
                    "name": self.names[p],
                    "lost": self.lost(p),
                    "expected_loss": self.expected_loss(p),
                }
                for p in range(2)
            ],
            "cards": [
                {
                    **asdict(m),
                    "after": m.after,
                    "lost": m.lost,
                    "expected_loss": m.expected_loss,
                    "better": m.better,
                }
                for m in self.moments
            ],
        }


def analyse(
    game: Game,
    *,
    worlds: bool = True,
    progress: Progress | None = None,
    names: Sequence[str] = ("player 0", "player 1"),
) -> Analysis:
    """Measure every card of a deal.

    Args:
        game: a game of two players, played to the end or not.
        worlds: measure what the players could know too, which takes longer.
        progress: called with the cards done and all cards.
        names: what the players are called: ``Record.names()``.

    Raises:
        HeartsError: if there is another number of players, or an exchange.
    """
    check_two_players(game.rules)
    table, pimc, replay = TranspositionTable(game.rules), Pimc(seed=0), game.start()
    plays = [action for action in game.actions if action >= 0]  # a revoke ends the deal
    moments: list[Moment] = []
    before = _value_of_seat_0(replay, table)
    for number, action in enumerate(plays):
        if progress is not None:
            progress(number, len(plays))
        if replay.phase != "play":
            break
        player = replay.player
        assert player is not None
        card, trick = game.rules.action_name(action), replay.trick_number + 1
        measured = measure(replay, table, pimc, worlds=worlds)
        moments.append(Moment(number, trick, player, card, *measured))
        replay.play(action)
    first, second = names
    return Analysis(game, before, tuple(moments), (first, second))


def measure(
    game: Game, table: TranspositionTable, pimc: Pimc, *, worlds: bool = True
) -> tuple[dict[str, int], dict[str, float], int]:
    """What each legal card of a position in the play is worth, for the player to act.

    Returns:
        ``Moment.values``, ``Moment.means`` and ``Moment.worlds``.
    """
    assert game.player is not None
    cards = [game.rules.action_name(action) for action in game.legal_actions()]
    values = dict(zip(cards, solve_double_dummy(game, table=table).values.values(), strict=True))
    if not worlds:
        return values, {}, 0
    view = game.view(game.player)
    return values, dict(zip(cards, pimc.margins(view), strict=True)), view.num_worlds


def _value_of_seat_0(game: Game, table: TranspositionTable) -> int:
    value = solve_double_dummy(game, table=table).value
    return value if game.is_over or game.player == 0 else -value


def pick(games: Sequence[T], number: int | None) -> list[T]:
    """The deal of this number, from 1; None: all.

    Raises:
        HeartsError: if there are fewer.
    """
    if number is None:
        return list(games)
    if not 1 <= number <= len(games):
        raise HeartsError(f"--game: {number} is out of range; the file has deals 1 to {len(games)}")
    return [games[number - 1]]


# ---- showing -------------------------------------------------------------------------------------
def columns(analysis: Analysis) -> list[str]:
    """The column headings; margins are those of seat 0."""
    margin = f"{possessive(analysis.names[0])} margin"
    return ["trick", "player", "card", margin, "lost", "expected", "worlds", "better"]


def rows(analysis: Analysis) -> list[list[str]]:
    """A row per card: trick, player, card, seat 0's margin, loss, loss by what could be known."""
    lines = []
    for m in analysis.moments:
        forced = len(m.values) == 1
        better = "" if forced or m.card in m.better else " ".join(m.better[:3])
        lines.append(
            [
                str(m.trick),
                analysis.names[m.player],
                f"{m.card} {m.mark}".rstrip(),
                f"{m.after:+d}",
                "" if forced else f"{m.lost or '-'}",
                "" if forced or not m.means else f"{m.expected_loss:.2f}",
                "" if forced or not m.worlds else str(m.worlds),
                better,
            ]
        )
    return lines


def possessive(name: str) -> str:
    """``your``, or ``pro's``."""
    return "your" if name == "You" else f"{name}'s"


def subject(name: str) -> str:
    """A name at the beginning of a sentence."""
    return name[:1].upper() + name[1:] if name.startswith("player ") else name


def _object(name: str) -> str:
    return "you" if name == "You" else name


def summary(analysis: Analysis) -> list[str]:
    """The result of the deal, in sentences."""
    game, names = analysis.game, analysis.names
    lines = [
        "Best play by both, all cards seen: a margin of "
        f"{analysis.before:+d} for {_object(names[0])}."
    ]
    if game.is_over:
        scores = game.scores()
        lines.append(f"Played: {scores[0]} to {scores[1]}, a margin of {scores[1] - scores[0]:+d}.")
    lines += ending_of(game, names, len(analysis.moments))
    for p in range(2):
        points = "point" if analysis.lost(p) == 1 else "points"
        sentence = (
            f"{subject(names[p])} lost {analysis.lost(p)} {points} by cards that were not the best"
        )
        if any(m.means for m in analysis.moments):
            who = "you" if names[p] == "You" else "it"
            sentence += f"; by what {who} could know, {analysis.expected_loss(p):.2f}"
        lines.append(sentence + ".")
    worst = max(analysis.moments, key=lambda m: m.expected_loss, default=None)
    if worst is not None and worst.expected_loss >= SLIP:
        owner = names[worst.player]
        lines.append(
            f"The costliest card was {possessive(owner)} {worst.card} in trick {worst.trick}: "
            f"{' or '.join(worst.better[:3])} is {worst.expected_loss:.2f} better."
        )
    return lines


_CHOICES = {"off": "the points come off {own} own score", "others": "the other pays"}


def ending_of(game: Game, names: Sequence[str], cards: int) -> list[str]:
    """How a deal ended, if not by its last card; `cards` are played."""
    if game.revoker is not None:
        who = names[game.revoker]
        return [f"{subject(who)} revoked: the deal ended there, at {possessive(who)} expense."]
    if game.shooter is not None:
        shooter = names[game.shooter]
        shot = f"{subject(shooter)} shot the moon"
        if game.phase == "moon":
            has = "have" if shooter == "You" else "has"
            return [f"{shot} and {has} not chosen yet: the deal is not finished."]
        if game.moon_choice is not None and game.rules.moon == "choose":
            choice = _CHOICES[game.moon_choice].format(own="your" if shooter == "You" else "its")
            if game.rules.players > 2:
                choice = choice.replace("other pays", "others pay")
            return [f"{shot} and chose: {choice}."]
    if not game.is_over:
        played = f"{cards} of {game.rules.players * game.rules.hand_size} cards are played"
        return [f"The deal is not finished: {played}."]
    return []
