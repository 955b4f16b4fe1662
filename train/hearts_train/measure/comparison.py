"""Two agents compared until it is decided: a sequential test over duplicate deals.

Either the two play each other, or both play the same field on the same deals, and what is tested
is the difference of their margins, deal by deal. See ``hearts_train.measure.statistics`` for the
test, and `docs/evaluation.md` for how often it errs and what it saves.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hearts_env import HeartsError, Rules
from hearts_env.support.arrays import Floats
from hearts_env.support.progress import Show, silent
from hearts_train.measure.contest import Contest, Pairing, Task, check_deals
from hearts_train.measure.display import short_names
from hearts_train.measure.duel import Block, Example, few_of
from hearts_train.measure.evaluation import Result
from hearts_train.measure.participants import AgentLike, Participant, names_once
from hearts_train.measure.statistics import (
    FIRST_LOOK,
    HIGH,
    LOW,
    OPEN,
    TEST_VERSION,
    Interval,
    Question,
    SequentialTest,
    looks,
)

MAX_DEALS = 1_000_000
_LARGEST_BLOCK = 1024


@dataclass(frozen=True)
class Comparison(Result):
    """The result of a sequential test of one agent against another.

    Attributes:
        agent: Name or checkpoint of the first agent.
        other: That of the second.
        opponents: The field that both have played; empty: they have played each other.
        rules: The rules, as ``Rules.from_text`` reads them.
        verdict: ``high``: the margin is at least `high`, as far as the error rates go; ``low``: it
            is at most `low`; ``open``: not decided.
        low: The lower hypothesis on the margin, points per deal.
        high: The higher one.
        alpha: How often ``high`` may be wrong where the truth is `low`.
        beta: How often ``low`` may be wrong where it is `high`.
        deals: Duplicate deals used, each played from every seat, against each of the field.
        max_deals: After this many it would have ended undecided.
        fixed_deals: Duplicate deals that a test of fixed size needs to tell `low` from `high` with
            the same error rates.
        margin: Median-unbiased estimate of the agent's margin over the other, points per deal.
        ci95: Its 95 % interval; it takes into account that the test stops early.
        mean: The plain mean of the margins, which early stopping drives from the middle.
        sd: Standard deviation of the margins.
        llr: Log likelihood ratio at the end.
        bounds: Where it decides, ``low`` and ``high``.
        looks: For each look the deals, the mean and the log likelihood ratio.
        seconds: How long it took this time, without what was saved before a resumption.
        faults: Deals charged to each agent for misbehaving: the two, then the field.
        examples: Some of those faults.
    """

    agent: str
    other: str
    opponents: tuple[str, ...]
    rules: str
    verdict: str
    low: float
    high: float
    alpha: float
    beta: float
    deals: int
    max_deals: int
    fixed_deals: int
    margin: float
    ci95: Interval
    mean: float
    sd: float
    llr: float
    bounds: Interval
    looks: tuple[tuple[int, float, float], ...]
    seconds: float
    faults: tuple[int, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def better(self) -> str | None:
        """Return the name of the better agent; None if that is not known.

        It is known where the interval does not contain 0, and where the test has accepted a
        hypothesis of which all margins have one sign.
        """
        if self.ci95[0] > 0 or (self.verdict == HIGH and self.low >= 0):
            return self.agent
        if self.ci95[1] < 0 or (self.verdict == LOW and self.high <= 0):
            return self.other
        return None

    @property
    def conclusion(self) -> str:
        """Say who is better, by how much, how sure that is and after how many deals."""
        name, rest, sign = self.agent, self.other, 1.0
        if self.better == self.other:
            name, rest, sign = rest, name, -1.0
        # What the test has accepted, of the margin of `name`: that it is more, or less, than bound.
        is_more = (self.verdict == HIGH) == (sign > 0)
        bound = sign * (self.low if self.verdict == HIGH else self.high)
        error = f"error rate at most {self.alpha if self.verdict == HIGH else self.beta:.1%}"
        if self.better is not None:
            found = f"{name} is better than {rest}"
            than = f"by {'more' if is_more else 'less'} than {bound:g}, "
            sure = "" if is_more and bound < 0 else f"; {than * (bound != 0)}{error}"
        else:
            word = "worse" if is_more else "better"
            found = f"{name} is not {word} than {rest} by {abs(bound):g} points per deal"
            sure = f"; {error}"
        if self.verdict == OPEN:
            sure = "; stopped early" if self.interrupted else "; more deals would decide it"
            if self.better is None:
                found = f"It is not known which of {name} and {rest} is better"
        field = f" against {', '.join(self.opponents)}" if self.opponents else ""
        low, high = sorted(sign * end for end in self.ci95)
        figures = (
            f"{sign * self.margin:+.2f} points per deal (95 % interval {low:+.2f} to {high:+.2f}) "
            f"after {self.deals:,} duplicate deals"
        )
        return f"{found}{field}: {figures}{sure}"

    def to_json(self) -> dict[str, Any]:
        """Return all of it, of types that JSON knows, with ``better`` and ``conclusion``."""
        return super().to_json() | {"better": self.better, "conclusion": self.conclusion}


def compare(
    agent: AgentLike,
    other: AgentLike,
    rules: Rules | str | None = None,
    question: Question | None = None,
    *,
    opponents: Sequence[AgentLike] = (),
    deals: int = MAX_DEALS,
    seed: int = 0,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Any,
) -> Comparison:
    """Play until it is decided which of two agents is better, and by how much at least.

    Ctrl-C ends it with the looks so far, undecided and marked as interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        other: the agent that it is compared with.
        rules: the rules, or a preset's name; None: as for ``evaluate``.
        question: the hypotheses and their error rates; None: a margin of 0 or 0.1, 5 % each.
        opponents: a field: both play these on the same deals; empty: they play each other.
        deals: give up after this many duplicate deals.
        seed: seed of deals and agents.
        save: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        show: shows the deals done, those that seem to be needed, and where the test stands.
        **settings: `isolate`, `time_limit`, `workers`, `backend` and `command`, as for
            ``evaluate``.

    Raises:
        HeartsError: if an agent is unknown or cannot play the rules, or an argument is unusable.
    """
    deals = check_deals(deals)
    if deals < FIRST_LOOK:
        raise HeartsError(
            f"deals: {deals} are fewer than the test needs before its first look, {FIRST_LOOK}; "
            "give more, or omit it"
        )
    question = question or Question()
    names = names_once("opponents", opponents)
    contest = Contest(
        [agent, other, *opponents],
        rules,
        seed,
        pairings=_pairings(names),
        open_duels=2 * max(1, len(names)),  # all of them
        **settings,
    )
    # The largest possible margin of a deal, or difference of two of them.
    test = SequentialTest(question, float(contest.rules.max_margin) * (2 if names else 1))
    about = {"question": asdict(question), "deals": deals, "test": TEST_VERSION}
    if is_same_player(*contest.participants[:2]):
        warnings.warn(
            f"{contest.names[0]} and {contest.names[1]} are the same player: nothing can differ "
            "but luck",
            stacklevel=2,
        )
    short = short_names(contest.names)
    label = " {} ".format("or" if names else "against").join(short[n] for n in contest.names[:2])
    found: list[Block] = []
    begin, interrupted = time.perf_counter(), False
    with contest.saved(save, resume, "compare", **about), show(label) as progress:

        def advance(done: float) -> None:
            if not test.looks:
                progress(done, deals, "no look yet")
                return
            state, left = test.looks[-1], test.expected_left()
            total = min(deals, max(state.deals + left, done + 1))
            progress(done, total, f"margin {state.mean:+.3f}, about {left:,.0f} deals left")

        try:
            for margins in _margins(contest, deals, found, advance):
                if test.add(margins).is_decided:
                    break
        except KeyboardInterrupt:
            if not test.looks:
                raise
            interrupted = True
    state = test.looks[-1]
    margin, ci95 = test.estimate()
    faults = [0] * len(contest.participants)
    for pairing, block in zip(itertools.cycle(contest.pairings), found, strict=False):
        for place, count in zip(pairing, block.faults, strict=True):
            faults[place] += count
    spread = max(0.0, state.variance * (state.deals + 1) - test.reach**2 - state.mean**2)
    return Comparison(
        agent=contest.names[0],
        other=contest.names[1],
        opponents=tuple(contest.names[2:]),
        rules=contest.rules.name,
        verdict=state.verdict,
        **asdict(question),
        deals=state.deals,
        max_deals=deals,
        fixed_deals=question.fixed_deals(state.variance),
        margin=margin,
        ci95=ci95,
        mean=state.mean,
        sd=(spread / (state.deals - 1)) ** 0.5,
        llr=state.llr,
        bounds=question.bounds,
        looks=tuple([(s.deals, s.mean, s.llr) for s in test.looks]),
        seconds=time.perf_counter() - begin,
        interrupted=interrupted,
        faults=tuple(faults),
        examples=few_of(example for block in found for example in block.examples),
        **contest.how(deals=state.deals),
    )


def _pairings(opponents: Sequence[str]) -> Callable[[Rules], list[Pairing]]:
    def of(rules: Rules) -> list[Pairing]:
        if opponents:
            return [(i, j) for i in range(2) for j in range(2, 2 + len(opponents))]
        # With more than two players one of the other among copies of the agent, too.
        return [(0, 1)] if rules.players == 2 else [(0, 1), (1, 0)]

    return of


def is_same_player(one: Participant, other: Participant) -> bool:
    """Return whether two agents are known to be the same player, under any names."""
    first, second = (
        (agent["digest"] or participant.spec.name, agent["kind"], agent["options"])
        for participant in (one, other)
        for agent in [participant.to_json()]
    )
    return first == second and (one.digest is not None or one.spec.is_named)


def _margins(
    contest: Contest, deals: int, found: list[Block], advance: Callable[[float], None]
) -> Iterator[Floats]:
    """Yield the margins of the first two agents, look by look; each block joins `found`."""
    pairings = contest.pairings
    signs = [1.0 if pairing[0] == 0 else -1.0 for pairing in pairings]
    share = (1 if len(contest.participants) == 2 else 2) / len(pairings)
    tasks = [Task(pairing, part.start, len(part)) for part in _parts(deals) for pairing in pairings]
    ends = set(looks(deals))
    parts: list[Floats] = []

    def report(task: Task, done: float) -> None:
        advance(task.first + (pairings.index(task.pairing) * task.deals + done) / len(pairings))

    with contextlib.closing(contest.run(tasks, report)) as blocks:
        for part in _parts(deals):
            played = [next(blocks) for _ in pairings]
            found += played
            advance(part.stop)
            total = sum(sign * block.margins for sign, block in zip(signs, played, strict=True))
            parts.append(total * share)
            if part.stop in ends:
                yield np.concatenate(parts)
                parts = []


def _parts(max_deals: int) -> Iterator[range]:
    """Yield the deals in blocks, none of which goes past a look."""
    before = 0
    for end in looks(max_deals):
        count = -(-(end - before) // _LARGEST_BLOCK)
        edges = [before + (end - before) * i // count for i in range(count + 1)]
        yield from itertools.starmap(range, itertools.pairwise(edges))
        before = end
