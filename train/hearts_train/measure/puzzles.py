"""The 300 puzzles of the package, and a test of players by them.

A puzzle is a decision of two-player Hearts with three legal cards or more. Over all worlds that the
player can think possible, all alike, the mean double-dummy margin of one card is at least two
points above that of every other; ``standard`` and ``pro`` choose another. The file that comes with
the package holds what ``bench/make_puzzles.py`` has found.

Levels: 1, the players that know of trump find it; 2, all baselines miss it, and ``champion`` finds
it; 3, ``champion`` misses it.

The test (`puzzle_test`) asks all of them in words, without a game to play. A player is measured by
the points that it loses a decision: the margin of the best card less that of the card chosen
(`score_answers`, `score_agent`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hearts_agents import Agent
from hearts_agents.base import has_chances
from hearts_agents.guard import NO_ACTION, ask
from hearts_agents.user_code import blamed
from hearts_env import BatchView, Game, HeartsError, Rules, __version__
from hearts_env.rules.explain import explain
from hearts_env.solve import solve_worlds
from hearts_env.solve.best_response import probs_function
from hearts_env.support.arguments import check_number
from hearts_env.support.arrays import Floats
from hearts_env.support.errors import quoted
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.participants import AgentLike, Participant
from hearts_train.measure.statistics import Interval, mean_and_interval

RULES = "two_player"
LEVELS = 3
FILE = Path(__file__).with_suffix(".jsonl")
QUESTION = "Which card do you play? End your answer with one line: PLAY <card>, as in PLAY QS."
_AT_ONCE = 10
"""Positions that an agent is asked about at once: often enough for a report of progress."""
_CARD = r"(?:10|[2-9TJQKA])[CDSH]"


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


# ---- the test ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PuzzleScore:
    """What a player loses in the puzzles.

    Attributes:
        agent: who; the record of an agent has its digest.
        lost: points lost a decision; 0 for the best card everywhere.
        ci95: the 95 % interval of ``lost``, the puzzles taken for a sample of such decisions.
        levels: points lost a decision at each level.
        solved: the share of decisions in which it plays the best card.
        failed: decisions without a legal card, which lose as much as the worst card.
    """

    agent: Any
    lost: float
    ci95: Interval
    levels: tuple[float, ...]
    solved: float
    failed: int

    def to_json(self) -> dict[str, Any]:
        """All of it, with the rules, as JSON types."""
        return {"rules": RULES} | asdict(self)


@cache
def _positions() -> tuple[BatchView, Floats]:
    """The views of all puzzles, and the mean margin of each action, NaN where it is not legal."""
    views = []
    for one in puzzles():
        game = one.game()
        assert game.player is not None
        views.append(game.view(game.player))
    means = np.full((len(views), views[0].rules.num_actions), np.nan)
    for row, view in enumerate(views):
        means[row, view.legal_actions()] = solve_worlds(view)[1].mean(axis=0)
    return BatchView.of(views), means


def puzzle_test() -> dict[str, Any]:
    """The puzzles as a test in words, with their exact answers.

    Returns:
        ``rules``, the game in words; ``question``; and ``puzzles``: of each its ``number``,
        ``level``, ``text`` (what its player knows), ``legal`` cards, ``margins`` of these (points,
        the mean over all hidden hands, both seats playing on without a mistake) and ``best``.
    """
    views, means = _positions()
    asked = []
    for number, (one, view, row) in enumerate(zip(puzzles(), views, means, strict=True), 1):
        legal = {view.rules.deck[action]: float(row[action]) for action in view.legal_actions()}
        asked.append(
            {
                "number": number,
                "level": one.level,
                "text": view.to_text(),
                "legal": list(legal),
                "margins": legal,
                "best": one.best,
            }
        )
    rules = "\n".join(explain(Rules.preset(RULES)))
    about = {"name": "hearts-env puzzles", "version": __version__}
    return about | {"rules": rules, "question": QUESTION, "puzzles": asked}


def card_of(answer: object) -> str:
    """The card that an answer names, the last after the word PLAY, or itself; "" for none."""
    text = str(answer).strip().upper()
    named = re.findall(rf"\bPLAY\W*({_CARD})\b", text) or re.findall(rf"^\W*({_CARD})\W*$", text)
    return str(named[-1]).replace("10", "T") if named else ""


def score_answers(answers: Mapping[str, Any] | Sequence[Any], name: str = "answers") -> PuzzleScore:
    """What answers lose: cards, or texts that end with ``PLAY <card>``.

    Args:
        answers: by the puzzles' numbers, from 1; or all in order. One that is missing has failed.
        name: whose they are.

    Raises:
        HeartsError: if there are no answers, a list has not one to each puzzle, or one is no text
            or to no puzzle.
    """
    known = [str(number) for number in range(1, len(puzzles()) + 1)]
    form = (
        f"give a list of {len(known)} texts, or an object of them by number, as "
        '{"1": "QS", "2": "PLAY 4C"}'
    )
    if isinstance(answers, Sequence) and not isinstance(answers, str):
        if len(answers) != len(known):
            raise HeartsError(f"answers: {name} is a list of {len(answers)}; {form}")
        answers = dict(zip(known, answers, strict=True))
    if not isinstance(answers, Mapping) or not answers:
        raise HeartsError(f"answers: {quoted(answers)} of {name} are none; {form}")
    for number, answer in answers.items():
        if not isinstance(answer, str | None):
            raise HeartsError(
                f"answers: {name} has {quoted(answer)} for {quoted(number)}, no text; {form}"
            )
    given = {str(number): card_of(answer) for number, answer in answers.items()}
    if unknown := sorted(given.keys() - set(known)):
        raise HeartsError(
            f"answers: {name} has one to {quoted(unknown[0])}; the puzzles are 1 to {len(known)}"
        )
    views, means = _positions()
    index = views.rules.index
    actions = [index.get(given.get(number, ""), NO_ACTION) for number in known]
    chances = np.zeros(means.shape)
    for row, action in enumerate(actions):
        if action != NO_ACTION and not np.isnan(means[row, action]):
            chances[row, action] = 1.0
    return _score(name, chances)


def score_agent(agent: AgentLike, seed: int = 0, progress: Progress = no_progress) -> PuzzleScore:
    """What an agent loses; of one that mixes its cards, on average over its probabilities.

    Args:
        agent: an agent, or what names one.
        seed: of the draws of an agent that does not say its probabilities.
        progress: is told the decisions made, and how many there are.

    Raises:
        HeartsError: if it is unknown, cannot play the game, or gives no probabilities.
    """
    entered, (views, _) = Participant(agent, seed), _positions()
    entered.check_rules(views.rules)
    with closing(entered.fresh(seed)) as player:
        is_mixed = has_chances(player)
        parts = []
        for first in range(0, len(views), _AT_ONCE):
            progress(first, len(views))
            part = views.subset(np.arange(first, min(first + _AT_ONCE, len(views))))
            parts.append(
                _policy(player, part, entered.name) if is_mixed else _choices(player, part)
            )
        chances = np.concatenate(parts)
    return _score(entered.to_json(), chances)


def _policy(player: Agent, views: BatchView, name: str) -> Floats:
    """The probabilities that a player states."""
    fix = "correct its action_probs(views)"
    with blamed(f"agent: {name!r} fails when it is asked for its probabilities", fix):
        return probs_function(player, name)(views)


def _choices(player: Agent, views: BatchView) -> Floats:
    """1 for the action that a player chooses; rows of zeros where it fails."""
    actions, _ = ask(player, views)
    chances = np.zeros((len(views), views.rules.num_actions))
    rows = np.flatnonzero(actions != NO_ACTION)
    chances[rows, actions[rows]] = 1.0
    return chances


def _score(agent: Any, chances: Floats) -> PuzzleScore:
    """The score of a player by its probability of each action; rows of zeros have failed."""
    _, means = _positions()
    best = np.nanmax(means, axis=1)
    has_failed = ~chances.any(axis=1)
    lost = (chances * (best[:, np.newaxis] - np.nan_to_num(means))).sum(axis=1)
    lost[has_failed] = (best - np.nanmin(means, axis=1))[has_failed]
    levels = np.array([one.level for one in puzzles()])
    mean, ci95 = mean_and_interval(lost)
    return PuzzleScore(
        agent=agent,
        lost=mean,
        ci95=ci95,
        levels=tuple(float(lost[levels == level].mean()) for level in range(1, LEVELS + 1)),
        solved=float((chances * (means == best[:, np.newaxis])).sum(axis=1).mean()),
        failed=int(has_failed.sum()),
    )
