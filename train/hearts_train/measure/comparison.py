"""Compare two agents with a sequential test over duplicate deals.

``hearts_train.measure.statistics`` describes the test, and `docs/evaluation.md` states its error
rates and savings.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np

from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules
from hearts_env.support.arrays import Floats
from hearts_env.support.keywords import takes
from hearts_env.support.progress import Show, silent
from hearts_env.support.tables import ResultTable, visible
from hearts_train.measure.contest import Contest, Pairing, Task, check_deals
from hearts_train.measure.display import short_names
from hearts_train.measure.duel import Block, Example, first_examples
from hearts_train.measure.evaluation import Result
from hearts_train.measure.participants import AgentLike, distinct_names
from hearts_train.measure.settings import PlaySettings
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
        agent: the name or checkpoint of the first agent.
        other: the name or checkpoint of the second agent.
        rules: the rules in the form of ``Rules.from_text``.
        verdict: ``high`` if the test found a margin of at least `high`, ``low`` if of at most
            `low`, else ``open``.
        low: the lower hypothesis on the margin in points per deal.
        high: the higher hypothesis on the margin in points per deal.
        alpha: the error rate of the verdict ``high`` if the truth is `low`.
        beta: the error rate of the verdict ``low`` if the truth is `high`.
        deals: the number of duplicate deals used, each from every seat.
        max_deals: the number of duplicate deals after which the test ends undecided.
        fixed_deals: the number of duplicate deals that a test of fixed size with the same error
            rates needs.
        margin: the median-unbiased estimate of the margin of `agent` over `other` in points per
            deal.
        ci95: 95 % interval of `margin`, corrected for early stopping.
        mean: the plain mean of the margins, which early stopping biases away from the middle.
        sd: the standard deviation of the margins.
        llr: the final log likelihood ratio.
        bounds: the log likelihood ratios at which the test accepts `low` and `high`.
        looks: the number of deals, the mean and the log likelihood ratio of each look.
        seconds: the duration, without deals that were saved before a resumption.
        faults: the number of deals charged to each agent for a fault.
        examples: some of the faults.
    """

    agent: str
    other: str
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
    faults: tuple[int, int] = (0, 0)
    examples: tuple[Example, ...] = ()

    @property
    def better(self) -> str | None:
        """The name of the better agent, or None if that is not known.

        The better agent is known if the interval does not contain 0, or if all margins of the
        accepted hypothesis have one sign.
        """
        if self.ci95[0] > 0 or (self.verdict == HIGH and self.low >= 0):
            return self.agent
        if self.ci95[1] < 0 or (self.verdict == LOW and self.high <= 0):
            return self.other
        return None

    @property
    def conclusion(self) -> str:
        """A sentence: the better agent, its margin, the error rate and the number of deals."""
        name, rest, sign = self.agent, self.other, 1.0
        if self.better == self.other:
            name, rest, sign = rest, name, -1.0
        # The accepted hypothesis on the margin of `name`: it is more, or less, than `bound`.
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
                found = f"It is not decided which of {name} and {rest} is better"
        low, high = sorted(sign * end for end in self.ci95)
        figures = (
            f"{sign * self.margin:+.2f} points per deal (95 % interval {low:+.2f} to {high:+.2f}) "
            f"after {self.deals:,} duplicate deals"
        )
        return f"{found}: {figures}{sure}"

    def with_short_names(self) -> Comparison:
        """Return the comparison with the agents' names as tables show them."""
        short = short_names([self.agent, self.other])
        return replace(self, agent=short[self.agent], other=short[self.other])

    def table(self) -> ResultTable:
        """Return the figures of the test as a table."""
        shown = self.with_short_names()
        times = self.fixed_deals / self.deals
        more = f" ({times:.1f} times as many)" if times >= 1.05 else ""
        below, above = self.bounds
        low, high = self.ci95
        margin = f"{self.margin:+.3f} ({low:+.3f} to {high:+.3f})"
        accepted = "neither: stopped early" if self.interrupted else "neither"
        if self.verdict == HIGH:
            accepted = f"{self.high:+g} or more (error rate at most {self.alpha:.1%})"
        elif self.verdict == LOW:
            accepted = f"{self.low:+g} or less (error rate at most {self.beta:.1%})"
        rows = [
            ["accepted", accepted],
            ["margin, corrected for early stopping", margin],
            ["log likelihood ratio", f"{self.llr:+.2f}, bounds {below:+.2f} and {above:+.2f}"],
            ["duplicate deals", f"{self.deals:,}"],
            ["duplicate deals of a test of fixed size", f"{self.fixed_deals:,}{more}"],
        ]
        title = f"{shown.agent} over {shown.other}, {self.rules}: points per deal, 95 % interval"
        columns = ["sequential test", f"{self.low:+g} or less, or {self.high:+g} or more"]
        return ResultTable(title, columns, rows)

    def __str__(self) -> str:
        return f"{visible(self.with_short_names().conclusion)}\n{self.table()}"

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types, with ``better`` and ``conclusion``."""
        return super().to_json() | {"better": self.better, "conclusion": self.conclusion}


@takes(PlaySettings, Contest)
def compare(
    agent: AgentLike,
    other: AgentLike,
    rules: Rules | str | None = None,
    question: Question | None = None,
    *,
    deals: int = MAX_DEALS,
    seed: int = 0,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Unpack[PlaySettings],
) -> Comparison:
    """Play until a sequential test decides which of two agents is better.

    Ctrl-C returns the looks so far, undecided and marked as interrupted.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        other: the agent to compare it with.
        rules: the rules, or the name of a preset. If None, the rules that a checkpoint was trained
            for, else ``two_player``.
        question: the hypotheses and error rates. If None, margins of 0 and 0.1 with errors of 5 %.
        deals: the number of duplicate deals after which the test stops undecided.
        seed: the seed of deals and agents.
        save: a file to which finished blocks of deals are written. If None, nothing is saved.
        resume: such a file, to continue with the same arguments. If None, start anew.
        show: shows the deals done, the expected number of deals, and the state of the test.
        **settings: `isolate`, `time_limit`, `workers` and `backend`, as for ``evaluate``.

    Raises:
        HeartsError: if an agent is unknown, named twice or cannot play the rules, or an argument is
            unknown or invalid.
    """
    if AgentSpec.parse(agent).is_named:  # the names of two objects may be equal
        distinct_names("agents", [agent, other])
    deals = check_deals(deals)
    if deals < FIRST_LOOK:
        raise HeartsError(
            f"deals: {deals} are fewer than the {FIRST_LOOK} before the first look of the test; "
            "give more, or omit it"
        )
    question = question or Question()
    contest = Contest([agent, other], rules, seed, pairings=_both_ways, open_duels=2, **settings)
    test = SequentialTest(question, float(contest.rules.max_margin))
    about = {"question": asdict(question), "deals": deals, "test": TEST_VERSION}
    short = short_names(contest.names)
    label = " against ".join(short[name] for name in contest.names)
    found: list[Block] = []
    begin, interrupted = time.perf_counter(), False
    with contest.saved(save, resume, "compare", **about), show(label) as progress:

        def advance(done: float) -> None:
            if not test.looks:
                progress(done, deals, "no look yet")
                return
            state = test.looks[-1]
            total = min(deals, max(state.deals + test.expected_left(), done + 1))
            progress(done, total, f"margin {state.mean:+.3f}, about {total - done:,.0f} deals left")

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
    faults = [0, 0]
    for pairing, block in zip(itertools.cycle(contest.pairings), found, strict=False):
        for place, count in zip(pairing, block.faults, strict=True):
            faults[place] += count
    spread = max(0.0, state.variance * (state.deals + 1) - test.reach**2 - state.mean**2)
    return Comparison(
        agent=contest.names[0],
        other=contest.names[1],
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
        faults=(faults[0], faults[1]),
        examples=first_examples(example for block in found for example in block.examples),
        **contest.how(deals=state.deals),
    )


def _both_ways(rules: Rules) -> list[Pairing]:
    """Return the pairing of the agents. With more than two players, return it both ways."""
    return [(0, 1)] if rules.players == 2 else [(0, 1), (1, 0)]


def _margins(
    contest: Contest, deals: int, found: list[Block], advance: Callable[[float], None]
) -> Iterator[Floats]:
    """Yield the margins of the test, look by look, and append every block to `found`."""
    pairings = contest.pairings
    signs = [1.0 if pairing[0] == 0 else -1.0 for pairing in pairings]
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
            parts.append(total / len(pairings))
            if part.stop in ends:
                yield np.concatenate(parts)
                parts = []


def _parts(max_deals: int) -> Iterator[range]:
    """Yield the deals in blocks that end at every look."""
    before = 0
    for end in looks(max_deals):
        count = -(-(end - before) // _LARGEST_BLOCK)
        edges = [before + (end - before) * i // count for i in range(count + 1)]
        yield from itertools.starmap(range, itertools.pairwise(edges))
        before = end
