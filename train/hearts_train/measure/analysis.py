"""Analyse a played deal: the worth of each card, and the points that it lost.

With two players and no exchange every card is measured twice. With all cards open, its worth is the
double-dummy value: the margin under best play by both players. With the player's knowledge, it is
the mean double-dummy value over all worlds that the view allows, as ``pimc`` computes it. A card
that loses points in the first sense may be right in the second.

All other games have too many cards and worlds for that. There ``pro`` estimates the worth of each
legal card: the mean margin over a sample of worlds, each played to the end by ``standard``. The
sample depends only on the position, so a deal always gets the same figures. A card counts as worse
than the best only if the sample shows it at the 95 % level.

A hint does the same for one position. It has the choice of an agent there, and the worth of each
card.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents import Agent
from hearts_agents.base import has_chances
from hearts_agents.baselines import Pro
from hearts_agents.guard import ask_one, is_ours
from hearts_agents.search import Pimc
from hearts_agents.user_code import blamed
from hearts_env import Game, HeartsError, PlayerView, Rules
from hearts_env.batch.views import BatchView
from hearts_env.cards import MOON_CHOICES, card_text
from hearts_env.solve import TranspositionTable, solve_double_dummy
from hearts_env.solve.policies import has_exact_worlds
from hearts_env.support.progress import Progress
from hearts_env.support.tables import ResultTable
from hearts_train.measure.statistics import Z95

SLIP, BLUNDER = 1.0, 5.0
"""Lost points from which a card is marked with ``?`` or ``??``."""
_MARKS = {"best": "", "fair": "", "slip": "?", "blunder": "??"}


@dataclass(frozen=True)
class Moment:
    """One card of a deal.

    Attributes:
        number: the number of the action in the deal, from 0.
        trick: the number of the trick, from 1.
        player: the seat of the player.
        card: the card played, or "" if no card was played.
        values: the double-dummy margin of the whole deal for the player, by legal card. Empty if
            the deal is not solved.
        means: the mean margin over the worlds that the view allows, by legal card.
        worlds: the number of worlds in the mean.
        half: half the 95 % interval of each estimated mean, over worlds, or 0 if all worlds are in
            the mean.
        close: the cards that an estimate does not show to be worse than the best.
        sample: True if there are more worlds than `worlds`.
    """

    number: int
    trick: int
    player: int
    card: str
    values: dict[str, int]
    means: dict[str, float]
    worlds: int
    half: dict[str, float] = field(default_factory=dict)
    close: list[str] = field(default_factory=list)
    sample: bool = False

    @property
    def after(self) -> int:
        """The double-dummy margin of seat 0 after the card. Only for solved deals."""
        value = self.values[self.card]
        return value if self.player == 0 else -value

    @property
    def lost(self) -> int:
        """The points lost by this card with all cards open, or 0 if the deal is not solved."""
        return max(self.values.values()) - self.values[self.card] if self.values else 0

    @property
    def expected_loss(self) -> float:
        """The points lost by this card, as the mean over the worlds that the view allows.

        In an estimate, it is 0 if the card is not shown to be worse than the best.
        """
        if self.card in self.close:
            return 0.0
        return max(self.means.values()) - self.means[self.card]

    @property
    def better(self) -> list[str]:
        """The cards with the best mean."""
        best = max(self.means.values())
        return [card for card, value in self.means.items() if value >= best - 1e-9]

    @property
    def mark(self) -> str:
        """``?`` for a slip and ``??`` for a blunder, by `expected_loss`, else ""."""
        return _MARKS[self.verdict(self.card)]

    def verdict(self, card: str) -> str:
        """Return ``best``, ``fair``, ``slip`` or ``blunder`` for a legal card.

        A card is also ``best`` if its figure with one decimal equals the figure of the best card.
        """
        best = max(self.means.values())
        loss = 0.0 if card in self.close else best - self.means[card]
        if loss >= SLIP:
            return "blunder" if loss >= BLUNDER else "slip"
        return "best" if f"{self.means[card]:.1f}" == f"{best:.1f}" else "fair"

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON types."""
        solved = {"after": self.after, "lost": self.lost} if self.values else {}
        found = {"expected_loss": self.expected_loss, "better": self.better}
        return {**asdict(self), **solved, **found}


@dataclass(frozen=True)
class Analysis:
    """The analysis of a deal.

    Attributes:
        game: the deal as it was played.
        before: the double-dummy margin of seat 0 before the first of `moments`. None if the deal is
            not solved. All figures are then estimates.
        moments: the cards in order.
        names: the names of the players.
    """

    game: Game
    before: int | None
    moments: tuple[Moment, ...]
    names: tuple[str, ...] = ("player 0", "player 1")

    @property
    def is_exact(self) -> bool:
        """True if the deal was solved. If False, its figures are estimates."""
        return self.before is not None

    def lost(self, player: int) -> int:
        """Return the points that a player lost, with all cards open."""
        return sum(m.lost for m in self.moments if m.player == player)

    def expected_loss(self, player: int) -> float:
        """Return the points that a player lost in expectation over its possible worlds."""
        return sum(m.expected_loss for m in self.moments if m.player == player)

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON types."""
        return {
            "rules": self.game.rules.name,
            "scores": self.game.scores() if self.game.is_over else None,
            "before": self.before,
            "players": [
                {
                    "name": name,
                    **({"lost": self.lost(p)} if self.is_exact else {}),
                    "expected_loss": self.expected_loss(p),
                }
                for p, name in enumerate(self.names)
            ],
            "cards": [m.to_json() for m in self.moments],
        }


def analyse(
    game: Game,
    *,
    progress: Progress | None = None,
    names: Sequence[str] | None = None,
    exact: bool | None = None,
    since: int = 0,
) -> Analysis:
    """Measure every card of a deal except those passed in an exchange.

    Args:
        game: a game, finished or not.
        progress: called with the number of cards done and of all cards. If None, nothing is called.
        names: the names of the players, like ``Record.names()``. If None, ``player 0`` and so on.
        exact: if True, solve the deal. If False, estimate. If None, solve it if it has two players
            and no exchange.
        since: the number of the first action to measure.
    """
    if exact is None:
        exact = has_exact_worlds(game.rules)
    measurer, replay = Measurer(game.rules, exact=exact), game.start()
    moments: list[Moment] = []
    before = None
    actions = [action for action in game.actions if action >= 0]  # a revoke ends the deal
    for number, action in enumerate(actions):
        if progress is not None:
            progress(number, len(actions))
        if exact and number == since:
            before = measurer.value_of_seat_0(replay)
        if replay.phase == "play" and number >= since:
            moments.append(measurer.measure(replay, action))
        replay.play(action)
    if exact and len(actions) <= since:
        before = measurer.value_of_seat_0(replay)
    called = names or [f"player {p}" for p in range(game.rules.players)]
    return Analysis(game, before, tuple(moments), tuple(called))


class Measurer:
    """Measures positions of the same rules, and remembers solved positions. Not thread-safe."""

    def __init__(self, rules: Rules, *, exact: bool) -> None:
        """Solve positions if `exact` (two players, no exchange), otherwise estimate them."""
        self.table = TranspositionTable(rules) if exact else None
        self.pimc, self._pro = Pimc(seed=0), Pro(seed=0)

    def measure(self, game: Game, action: int | None) -> Moment:
        """Return the worth of each legal card in a position, with the card played, if any."""
        assert game.current_player is not None
        name, view = game.rules.action_name, game.view(game.current_player)
        cards = [name(legal) for legal in game.legal_actions()]
        place = (len(game.actions), game.trick_number + 1, game.current_player)
        card = "" if action is None else name(action)
        if self.table is None:
            advice = values(self._pro, view)
            worths = {name(worth.action): worth for worth in advice.worths}
            return Moment(
                *place,
                card,
                values={},
                means={card: worths[card].margin for card in cards},
                worlds=advice.worlds,
                half={card: worths[card].half for card in cards},
                close=[card for card in cards if worths[card].is_close],
                sample=advice.is_sample,
            )
        found = solve_double_dummy(game, table=self.table)
        solved = dict(zip(cards, found.values.values(), strict=True))
        means = dict(zip(cards, self.pimc.margins(view), strict=True))
        return Moment(*place, card, solved, means, view.num_worlds)

    def value_of_seat_0(self, game: Game) -> int:
        """Return the double-dummy margin of seat 0 in a position."""
        assert self.table is not None
        value = solve_double_dummy(game, table=self.table).value
        return value if game.is_over or game.current_player == 0 else -value


# ---- output --------------------------------------------------------------------------------------
def card_table(analysis: Analysis) -> ResultTable:
    """Return a row per card, with margins of seat 0 and worths for the player of the card."""
    columns = ["trick", "player", "card", "worth", "given away", "worlds", "better"]
    if analysis.is_exact:
        margin = f"{_possessive(analysis.names[0])} margin"
        columns[3:5] = [margin, "cards open", "given away"]
    rows = []
    for m in analysis.moments:
        forced = len(m.means) == 1
        loss = m.expected_loss
        if m.values:
            is_best = m.card in m.better
            worth = [f"{m.after:+d}", "" if forced else f"{m.lost or '-'}"]
            given = f"{loss:.1f}"
        else:
            is_best = not loss
            half = f" ± {m.half[m.card]:.1f}" if m.sample else ""
            worth, given = [f"{m.means[m.card]:+.1f}{half}"], f"{loss:.1f}" if loss else "-"
        rows.append(
            [
                str(m.trick),
                analysis.names[m.player],
                f"{card_text(m.card)} {m.mark}".rstrip(),
                *worth,
                "" if forced else given,
                "" if forced else str(m.worlds),
                "" if forced or is_best else " ".join(map(card_text, m.better[:3])),
            ]
        )
    return ResultTable(f"{analysis.game.rules.name}, card by card", columns, rows)


def _possessive(name: str) -> str:
    """Return ``your`` or, for example, ``pro's``."""
    return "your" if name == "You" else f"{name}'s"


def _subject(name: str) -> str:
    """Return a name for the beginning of a sentence."""
    return name[:1].upper() + name[1:] if name.startswith("player ") else name


def _object(name: str) -> str:
    return "you" if name == "You" else name


Part = str | tuple[int, str]
"""A part of a sentence: text, or a card as the number of its action and text."""
_NUMBERS = ("No", "One", "Two", "Three")


def mistakes(analysis: Analysis, player: int) -> list[Moment]:
    """Return the slips and blunders of a player in order."""
    return [m for m in analysis.moments if m.player == player and m.mark]


def outcome(game: Game, player: int, name: str) -> str:
    """Return the result of a finished deal for a player as a sentence."""
    margin = game.margins()[player]
    how = "won" if margin > 0 else "lost"
    than = "" if game.rules.players == 2 else " against the others' average"
    text = f"{how} by {_figure(abs(margin))}{than}" if margin else "came out even"
    return f"{_subject(name)} {text}."


def verdict(analysis: Analysis, player: int) -> Iterator[Part]:
    """Yield a player's result and costliest cards, as parts of sentences."""
    game, name = analysis.game, analysis.names[player]
    if game.is_over:
        yield f"{outcome(game, player, name)} "
    found = mistakes(analysis, player)
    worst = sorted(found, key=lambda m: -m.expected_loss)[: len(_NUMBERS) - 1]
    if not worst:
        yield f"No card cost {_object(name)} a point or more."
        return
    several = f"{_NUMBERS[len(worst)]} cards cost {_object(name)} most"
    yield f"{several if len(worst) > 1 else 'The costliest card'}: "
    for place, m in enumerate(worst):
        yield m.number, f"{card_text(m.card)} in trick {m.trick}"
        unit = "" if place else f" point{'' if m.expected_loss == 1 else 's'}"
        end = "." if m is worst[-1] else ", "
        yield f" ({_figure(m.expected_loss)}{unit}){end}"


def _figure(number: float) -> str:
    """Return a figure with at most one decimal."""
    return f"{round(number, 1):g}"


def verdict_text(analysis: Analysis, player: int) -> str:
    """Return `verdict` as text."""
    parts = verdict(analysis, player)
    return "".join(part if isinstance(part, str) else part[1] for part in parts)


def summary(analysis: Analysis) -> list[str]:
    """Return the figures of the deal in sentences."""
    game, names = analysis.game, analysis.names
    lines = []
    scores = game.scores() if game.is_over else None
    if analysis.is_exact:
        lines.append(
            "Best play by both, with all cards open: a margin of "
            f"{analysis.before:+d} for {_object(names[0])}."
        )
        if scores is not None:
            margin = f"a margin of {scores[1] - scores[0]:+d}"
            lines.append(f"Played: {scores[0]} to {scores[1]}, {margin}.")
    elif scores is not None:
        results = (f"{name} {score}" for name, score in zip(names, scores, strict=True))
        lines.append(f"Played: {', '.join(results)}.")
    lines += _ending_of(game, names, len(analysis.moments))
    for p, name in enumerate(names):
        who = "you" if name == "You" else "it"
        given = f"{analysis.expected_loss(p):.1f}"
        if not analysis.is_exact:
            lines.append(f"{_subject(name)} gave away {given} points, given what {who} could know.")
            continue
        lost = f"{analysis.lost(p) or 'no'} point{'' if analysis.lost(p) == 1 else 's'}"
        lines.append(
            f"{_subject(name)} gave away {lost} with all cards open, and {given} given what {who} "
            "could know."
        )
    if not analysis.is_exact:
        lines.append(
            "The worth of a card is pro's estimate: the mean margin over sampled worlds, each "
            "played to its end by standard."
        )
    return lines


_CHOICES = {"off": "the points come off {own} own score", "others": "the other pays"}


def _ending_of(game: Game, names: Sequence[str], cards: int) -> list[str]:
    """Describe how a deal ended, unless it ended with its last card. `cards` were played."""
    if game.revoker is not None:
        who = names[game.revoker]
        return [f"{_subject(who)} revoked: the deal ended there, at {_possessive(who)} expense."]
    if game.shooter is not None:
        shooter = names[game.shooter]
        shot = f"{_subject(shooter)} shot the moon"
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


# ---- hints ---------------------------------------------------------------------------------------
_ANOTHER = "ask another agent, like pro"


@dataclass(frozen=True)
class Worth:
    """The estimated worth of one legal card.

    Attributes:
        action: the card.
        margin: the mean margin of the deal with this card, for the player.
        half: half the 95 % interval of `margin` over worlds, or 0 if all worlds are in the mean.
        is_close: True if the card is not shown to be worse than the chosen card.
    """

    action: int
    margin: float
    half: float
    is_close: bool


@dataclass(frozen=True)
class Hint:
    """The choice of an agent in a position, and its reasons.

    Attributes:
        agent: the name of the agent.
        action: the action that it chooses.
        worths: the legal cards, best first. Empty if the agent computes no worths.
        chances: the probability of each legal action, likeliest first, if the agent gives them.
        worlds: the number of worlds in the means.
        is_sample: True if there are more worlds than `worlds`.
    """

    agent: str
    action: int
    worths: tuple[Worth, ...] = ()
    chances: tuple[tuple[int, float], ...] = field(default=())
    worlds: int = 0
    is_sample: bool = False


MOST_WORLDS = 5_000
"""The most worlds that a hint enumerates. `two_player` has at most 105."""


def best_hinter(view: PlayerView) -> str:
    """Return the strongest built-in agent that computes the worth of every card in a position."""
    can_weigh_all = has_exact_worlds(view.rules) and view.num_worlds <= MOST_WORLDS
    return "pimc" if can_weigh_all else "pro"


def hint(agent: Agent, view: PlayerView) -> Hint:
    """Return the choice of `agent` in a position: the best by its own figures. It is repeatable.

    Raises:
        HeartsError: if the agent cannot play these rules, raises, or chooses an illegal action.
    """
    name = getattr(agent, "name", "") or type(agent).__name__
    if is_ours(agent):
        return _hint(agent, view, name)
    with blamed(f"hint: {name} gives none", _ANOTHER):
        return _hint(agent, view, name)


def hints(agent: Agent, game: Game) -> list[Hint]:
    """Return the hints of the acting player's turn: one per card to pass, or one for a card.

    Raises:
        HeartsError: if `hint` raises it.
    """
    found, replay, seat = [], game.clone(), game.current_player
    assert seat is not None
    while True:
        found.append(hint(agent, replay.view(seat)))
        if replay.phase != "pass":
            return found
        replay.play(found[-1].action)
        if replay.phase != "pass" or replay.current_player != seat:
            return found


def advice(found: Sequence[Hint], position: Game | PlayerView) -> str:
    """Return the hints of a turn as one or two sentences.

    Args:
        found: the hints, as `hints` returns them.
        position: the position, or the acting player's view of it.
    """
    names = [position.rules.action_name(one.action) for one in found]
    if position.phase == "pass":
        return f"Best: pass {' '.join(map(card_text, names))}."
    if position.phase == "moon":
        return f"Best: {MOON_CHOICES[names[0]]}."
    said, worths = f"Best: {card_text(names[0])}.", found[0].worths
    if len(worths) < 2:
        return said
    best, *others = worths
    by = _won_by(best.margin)
    other = next((one for one in others if _won_by(one.margin) != by), None)
    if other is None:
        return f"{said[:-1]}, but every card is as good: you {by} on average."
    than = _won_by(other.margin)
    verb, _, _ = by.partition("by")
    than = than.removeprefix(verb) if verb and than.startswith(verb) else f"you {than}"
    name = card_text(position.rules.action_name(other.action))
    return f"{said} With it you {by} on average, with {name} {than}."


def _won_by(margin: float) -> str:
    """Return a margin in words, to follow "you"."""
    text = f"{abs(margin):.1f}"
    if text == "0.0":
        return "come out even"
    return f"{'win' if margin > 0 else 'lose'} by {text}"


def values(agent: Pimc | Pro, view: PlayerView) -> Hint:
    """Return the worth of every legal card, even a forced one, as the agent computes it.

    Raises:
        HeartsError: if the view's player is not to act, or is not to play a card.
    """
    _settle(agent, view)
    return _weighed(agent.name, view.legal_actions(), *agent.world_margins(view))


def _settle(agent: Agent, view: PlayerView) -> None:
    """Seed the agent's random numbers with the view."""
    reseed = getattr(agent, "reseed", None)
    if callable(reseed):
        digest = hashlib.blake2b(view.to_text().encode(), digest_size=7).digest()
        reseed(int.from_bytes(digest, "little"))


def _hint(agent: Agent, view: PlayerView, name: str) -> Hint:
    _settle(agent, view)
    legal = view.legal_actions()
    weigh = getattr(agent, "world_margins", None)
    if view.phase == "play" and len(legal) > 1 and callable(weigh):
        return _weighed(name, legal, *weigh(view))
    if has_chances(agent) and len(legal) > 1:
        row = agent.action_probs(BatchView.of([view]))[0]
        ranked = sorted(((a, float(row[a])) for a in legal), key=lambda pair: (-pair[1], pair[0]))
        return Hint(name, ranked[0][0], chances=tuple(ranked))
    action, fault = ask_one(agent, view)
    if fault is not None:
        raise HeartsError(f"hint: {name} gives no hint ({fault.text}); {_ANOTHER}")
    return Hint(name, action)


def _weighed(
    name: str,
    legal: list[int],
    margins: NDArray[np.float64],
    weights: NDArray[np.float64],
    is_sample: bool,  # noqa: FBT001 as world_margins returns it
) -> Hint:
    n = len(margins)
    shares = weights / weights.sum()
    means = shares @ margins
    best = int((means >= means.max() - 1e-9).argmax())  # ties: the lowest card, as agents choose
    # Differences are taken world by world, which gives them a far smaller spread.
    halves, gaps = np.zeros(len(legal)), np.zeros(len(legal))
    if is_sample:
        scale = Z95 * np.sqrt(n / max(n - 1, 1))
        halves = scale * np.sqrt((shares[:, None] ** 2 * (margins - means) ** 2).sum(0))
        behind = (margins[:, [best]] - margins) - (means[best] - means)
        gaps = scale * np.sqrt((shares[:, None] ** 2 * behind**2).sum(0))
    order = sorted(range(len(legal)), key=lambda i: (i != best, -means[i], i))
    worths = tuple(
        Worth(
            legal[i],
            float(means[i]),
            float(halves[i]),
            bool(means[best] - means[i] <= max(gaps[i], 1e-9)),
        )
        for i in order
    )
    return Hint(name, legal[best], worths, worlds=n, is_sample=is_sample)
