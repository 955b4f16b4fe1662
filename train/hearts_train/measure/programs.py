"""Whether a program is fit to be an agent: it plays a few deals, and what is wrong is reported."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearts_agents import make_agent
from hearts_agents.guard import ask
from hearts_agents.programs.process import REFUSED, ProgramError
from hearts_agents.programs.program_agent import EXEC, ExternalAgent
from hearts_env import BatchGame, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.support.arguments import check_number, check_seed
from hearts_train.measure.evaluation import Evaluation, evaluate

PRESETS = ("two_player", "mini", 'mini moon="choose"', "classic", "no_pass", "party", "kitty")
"""Between them: two and more players, an exchange, a choice after a moon, an awarded kitty."""

GOOD, NOTE, FAULT = "ok", "note", "FAULT"
_MOST_DEALS = 10_000
_ASKED = 40  # views asked about together, then one by one
_MOON_GAMES, _MOST_MOONS = 200, 20  # deals played at random for a moon; choices asked about


@dataclass(frozen=True)
class Verdict:
    """What was found about one thing.

    Attributes:
        what: The thing: ``start``, the name of rules, ``moon``, ``alone``, ``again``, ``end`` or
            ``verdict``.
        word: `GOOD`, `NOTE` (worth knowing, not wrong) or `FAULT`.
        text: What was found, in one line.
    """

    what: str
    word: str
    text: str

    @property
    def is_fault(self) -> bool:
        """Whether it is wrong."""
        return self.word == FAULT

    def to_json(self) -> dict[str, Any]:
        """All of it, of types that JSON knows."""
        return dataclasses.asdict(self)


def check_program(
    command: str, presets: Sequence[str | Rules], deals: int = 10, seed: int = 0
) -> Iterator[Verdict]:
    """Try a program, and say what is found as it is found; the verdict on all of it comes last.

    Args:
        command: the program and its arguments; ``exec:`` before it and options after it as in an
            agent's spec.
        presets: games to play, or names of them.
        deals: duplicate deals of each, 2 to 10,000, against ``easy``.
        seed: what the deals follow from.

    Raises:
        HeartsError: if there is no such program, or an argument is out of its range.
    """
    deals = check_number("deals", deals, 2, _MOST_DEALS)
    seed = check_seed(seed)
    all_rules = [Rules.make(preset) for preset in presets]
    agent = make_agent(EXEC + command.removeprefix(EXEC), seed=seed)
    assert isinstance(agent, ExternalAgent)
    is_fit = True
    try:
        for verdict in _tried(agent, all_rules, deals, seed):
            is_fit &= not verdict.is_fault
            yield verdict
    finally:
        agent.close()
    if is_fit:
        yield Verdict("verdict", GOOD, "fit to play")
    else:
        yield Verdict("verdict", FAULT, "not fit to play; docs/external_agents.md has the protocol")


def _tried(
    agent: ExternalAgent, all_rules: list[Rules], deals: int, seed: int
) -> Iterator[Verdict]:
    is_started, played = False, None
    for rules in all_rules:
        begin = time.perf_counter()
        try:
            agent.start(rules)
        except ProgramError as error:
            if error.kind != REFUSED:
                yield Verdict("start", FAULT, str(error))
                return
            yield Verdict(rules.name, NOTE, str(error))
            continue
        if not is_started:
            many = "takes many views at once" if agent.takes_many else "takes one view at a time"
            yield Verdict("start", GOOD, f"ready after {time.perf_counter() - begin:.2f} s, {many}")
        is_started = True
        result = evaluate(agent, "easy", rules, deals, seed)
        yield _verdict(rules, result)
        if result.faults:
            continue
        played = played or rules
        if rules.moon == "choose" and (moons := _moons(rules, seed)) is not None:
            yield _chosen(agent, moons)
    if not is_started:
        yield Verdict("rules", FAULT, "it refuses every game")
    elif played is not None:
        yield from _repeated(agent, _views(played, seed), seed)


def _verdict(rules: Rules, result: Evaluation) -> Verdict:
    if not result.faults:
        text = f"{result.plays} plays of a deal, {result.ms_per_decision:.3f} ms a decision"
        return Verdict(rules.name, GOOD, text)
    first = next(example for example in result.examples if example.role == "agent")
    text = f"{result.faults} of {result.plays} plays of a deal forfeited; the first, deal "
    text += f"{first.seed} in seat {first.seat}: {first.kind}: {first.text}"
    return Verdict(rules.name, FAULT, text)


def _views(rules: Rules, seed: int) -> BatchView:
    """Views at different moments of deals that `easy` plays."""
    batch, easy = BatchGame(rules, _ASKED, seed), make_agent("easy", seed=seed)
    cards = rules.players * rules.hand_size
    for number in range(cards - 1):
        later = np.flatnonzero(np.arange(_ASKED) % cards > number)
        batch.play(easy.act_batch(batch.views(later)), games=later)
    return batch.views()


def _moons(rules: Rules, seed: int) -> BatchView | None:
    """Views of players who have a choice after a moon, from deals played at random."""
    batch = BatchGame(rules, num_games=_MOON_GAMES, seed=seed, autodeal=False)
    easy = make_agent("easy", seed=seed)
    while True:
        moons = np.flatnonzero(batch.states[:, k.PHASE] == k.MOON)
        others = np.flatnonzero((batch.player >= 0) & (batch.states[:, k.PHASE] != k.MOON))
        if not len(others):  # all that are not over have come to a moon
            return batch.views(games=moons[:_MOST_MOONS]) if len(moons) else None
        batch.play(easy.act_batch(batch.views(games=others)), games=others)


def _chosen(agent: ExternalAgent, views: BatchView) -> Verdict:
    """Whether it answers with one of the two choices after a moon."""
    _, faults = ask(agent, views)
    if faults:
        return Verdict("moon", FAULT, f"{faults[0].kind}: {faults[0].text}")
    return Verdict("moon", GOOD, f"{len(views)} choices after a moon")


def _repeated(agent: ExternalAgent, views: BatchView, seed: int) -> Iterator[Verdict]:
    """Whether it answers alike when asked one by one, and after a new start; and how it ends."""
    alone = [views.subset(np.array([row])) for row in range(len(views))]
    first: list[int] = []
    for what, parts in (("", [views]), ("alone", alone), ("again", [views])):
        agent.close()
        agent.reseed(seed)
        found = [ask(agent, part) for part in parts]
        answers = [action for actions, _ in found for action in actions.tolist()]
        fault = next((fault for _, faults in found for fault in faults), None)
        if fault is not None:
            yield Verdict(what or "again", FAULT, f"{fault.kind}: {fault.text}")
            return
        count = sum(one != two for one, two in zip(answers, first or answers, strict=True))
        how = "one by one" if what == "alone" else "after a new start with the same seed"
        if count:
            text = f"{count} of {len(views)} answers are others {how}; it draws or remembers"
            yield Verdict(what, NOTE, text)
        elif what:
            yield Verdict(what, GOOD, f"{len(views)} views {how}: the same answers")
        first = first or answers
    agent.close()
    if agent.left_by_itself:
        yield Verdict("end", GOOD, "ended by itself after bye")
    else:
        yield Verdict("end", NOTE, "did not end after bye, and was killed")
