"""Two agents compared until it is decided: a sequential test over duplicate deals.

Either the two play each other, or both play the same field on the same deals, and what is tested
is the difference of their margins, deal by deal. See ``hearts_train.measure.sequential`` for the
test, and `docs/evaluation.md` for how often it errs and what it saves.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from hearts_env import HeartsError, Rules, __version__
from hearts_env.support.arrays import Floats
from hearts_train.measure.duel import Block, Example, deals_digest
from hearts_train.measure.evaluation import (
    Contest,
    Entrant,
    Stretch,
    check_deals,
    named,
    platform_versions,
)
from hearts_train.measure.intervals import Interval
from hearts_train.measure.sequential import (
    FIRST_LOOK,
    HIGH,
    LOW,
    OPEN,
    TEST_VERSION,
    Question,
    SequentialTest,
    looks,
)

MAX_DEALS = 1_000_000
_LARGEST_BLOCK = 1024
_MOST_EXAMPLES = 3

Watch = Callable[[SequentialTest, float], None]
"""Called with the test so far and the duplicate deals done, part of those being played too."""


@dataclass(frozen=True)
class Comparison:
    """What a sequential test of one agent against another has found.

    Attributes:
        agent: Name or checkpoint of the first agent.
        other: That of the second.
        opponents: The field that both have played; empty: they have played each other.
        rules: The rules, as ``Rules.from_text`` reads them.
        verdict: ``high``: the margin is at least `high`, as far as the error rates go; ``low``: it
            is at most `low`; ``open``: not decided.
        low: The lower hypothesis on the margin, points a deal.
        high: The higher one.
        alpha: How often ``high`` may be wrong where the truth is `low`.
        beta: How often ``low`` may be wrong where it is `high`.
        deals: Duplicate deals used, each played from every seat, against each of the field.
        max_deals: After this many it would have ended undecided.
        fixed_deals: Duplicate deals that a test of fixed size needs, with the same error rates.
        margin: Median-unbiased estimate of the agent's margin over the other, points a deal.
        ci95: Its 95 % interval; it takes into account that the test stops early.
        mean: The plain mean of the margins, which early stopping drives from the middle.
        sd: Standard deviation of the margins.
        llr: Log likelihood ratio at the end.
        bounds: Where it decides, ``low`` and ``high``.
        looks: For each look the deals, the mean and the log likelihood ratio.
        seed: What the deals and the players' own chance follow from.
        seconds: How long it took this time; what was kept before a resumption is not in it.
        interrupted: Whether it was stopped from outside.
        faults: Deals charged to each agent for misbehaving: the two, then the field.
        examples: Some of those faults.
        agents: All of them: name, options, digest of weights or source code.
        rules_in_full: Every field of the rules.
        deals_digest: SHA-256 over seeds and cards of the deals used.
        version: Of this package.
        platform: Versions of Python, NumPy and Numba, and the kind of machine.
        command: The command line, if there was one.
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
    seed: int
    seconds: float
    interrupted: bool = False
    faults: tuple[int, ...] = ()
    examples: tuple[Example, ...] = ()
    agents: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    rules_in_full: dict[str, Any] = field(default_factory=dict, repr=False)
    deals_digest: str = field(default="", repr=False)
    version: str = __version__
    platform: dict[str, str] = field(default_factory=platform_versions, repr=False)
    command: str | None = None

    @property
    def better(self) -> str | None:
        """Who is better, by name; None if that is not known.

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
        """Who is better, by how much, how sure that is and after how many deals, in a sentence."""
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
            found = f"{name} is not {word} than {rest} by {abs(bound):g} points a deal"
            sure = f"; {error}"
        if self.verdict == OPEN:
            sure = "; stopped early" if self.interrupted else "; more deals would decide it"
            if self.better is None:
                found = f"It is not known which of {name} and {rest} is better"
        field = f" against {', '.join(self.opponents)}" if self.opponents else ""
        low, high = sorted(sign * end for end in self.ci95)
        figures = (
            f"{sign * self.margin:+.2f} points a deal (95 % interval {low:+.2f} to {high:+.2f}) "
            f"after {self.deals:,} duplicate deals"
        )
        return f"{found}{field}: {figures}{sure}"

    def to_json(self) -> dict[str, Any]:
        """All of it, of types that JSON knows, with ``better`` and ``conclusion``."""
        record = asdict(self) | {"better": self.better, "conclusion": self.conclusion}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in record.items()}


def compare(
    agent: Entrant,
    other: Entrant,
    rules: Rules | str | None = None,
    question: Question | None = None,
    *,
    opponents: Sequence[Entrant] = (),
    max_deals: int = MAX_DEALS,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
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
        max_deals: give up after this many duplicate deals.
        seed: what deals and the agents' chance follow from.
        out: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        watch: called after every round of play with the test so far and the duplicate deals done.
        settings: `isolate`, `time_limit`, `workers`, `backend` and `command`, as for ``Contest``.

    Raises:
        HeartsError: if an agent is unknown or cannot play the rules, or an argument is unusable.
    """
    trial = Trial([agent, other, *opponents], rules, question or Question(), seed, **settings)
    with trial.recorded(check_max_deals(max_deals), out, resume):
        return trial.run(max_deals, watch)


def check_max_deals(max_deals: object) -> int:
    """`max_deals` as a number of duplicate deals after which a test ends.

    Raises:
        HeartsError: if it is not a whole number from 64 to 10,000,000.
    """
    deals = check_deals(max_deals)
    if deals < FIRST_LOOK:
        raise HeartsError(
            f"max_deals: {deals} are fewer than the test needs before its first look, "
            f"{FIRST_LOOK}; give more, or leave it out"
        )
    return deals


class Trial(Contest):
    """A comparison of the first two entrants, against each other or against the rest."""

    def __init__(
        self,
        entrants: Sequence[Entrant],
        rules: Rules | str | None,
        question: Question | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        """Make the agents (see ``Contest``); nothing is played yet.

        Raises:
            HeartsError: as ``Contest``, an opponent is there twice, or a hypothesis is a mean that
                no margins can have.
        """
        opponents = [named(entrant) for entrant in entrants[2:]]
        for name in opponents:
            if opponents.count(name) > 1:
                raise HeartsError(
                    f"opponents: {name!r} is there twice; name each opponent once", value=name
                )
        super().__init__(entrants, rules, seed, **settings)
        self.question = question or Question()
        self.pairings = [(i, j) for i in range(2) for j in range(2, len(entrants))] or [(0, 1)]
        if not opponents and self.rules.players > 2:
            self.pairings.append((1, 0))  # one of the other among copies of the agent
        self.most_open = len(self.pairings)
        SequentialTest(self.question, self.reach)  # refuses what no margins can have

    def settings(self, deals: int) -> dict[str, Any]:
        """All that the blocks of a file of results, and the verdict, follow from."""
        return {
            **super().settings(FIRST_LOOK),
            "deals": deals,
            "blocks": list(itertools.islice(map(len, _parts(deals)), 8)),
            "about": {"compare": asdict(self.question), "test": TEST_VERSION},
        }

    def run(self, max_deals: int, watch: Watch | None = None) -> Comparison:
        """Play until it is decided, all deals are played, or Ctrl-C is pressed.

        Raises:
            KeyboardInterrupt: there was no look yet.
        """
        begin = time.perf_counter()
        test = SequentialTest(self.question, self.reach)
        found: list[Block] = []
        interrupted = False

        def tell(done: float) -> None:
            if watch is not None:
                watch(test, done)

        try:
            for margins in self._margins(max_deals, found, tell):
                if test.add(margins).is_decided:
                    break
        except KeyboardInterrupt:
            if not test.states:
                raise
            interrupted = True
        result = self._result(test, max_deals, found, interrupted=interrupted)
        return replace(result, seconds=time.perf_counter() - begin)

    @property
    def reach(self) -> float:
        """The largest possible margin of a pair, or difference of two of them."""
        return float(self.rules.max_margin) * (2 if len(self.contenders) > 2 else 1)

    def _margins(
        self, max_deals: int, found: list[Block], tell: Callable[[float], None]
    ) -> Iterator[Floats]:
        """The agent's margins over the other, look by look; blocks are added to `found`."""
        signs = {pairing: 1.0 if pairing[0] == 0 else -1.0 for pairing in self.pairings}
        share = (1 if len(self.contenders) == 2 else 2) / len(self.pairings)
        stretches = [
            Stretch(pairing, part.start, len(part))
            for part in _parts(max_deals)
            for pairing in self.pairings
        ]
        ends = set(looks(max_deals))
        parts: list[Floats] = []
        # Of several pairings that play the same deals in turn, only whole blocks can be told.
        in_step = self.reporting(tell) if len(self.pairings) == 1 else contextlib.nullcontext()
        with contextlib.closing(self.played(stretches)) as blocks, in_step:
            for part in _parts(max_deals):
                total = np.zeros(len(part))
                for place, pairing in enumerate(self.pairings, 1):
                    found.append(next(blocks))
                    total += signs[pairing] * found[-1].margins
                    tell(part.start + len(part) * place / len(self.pairings))
                parts.append(total * share)
                if part.stop in ends:
                    yield np.concatenate(parts)
                    parts = []

    def _result(
        self, test: SequentialTest, max_deals: int, found: list[Block], *, interrupted: bool
    ) -> Comparison:
        state, question = test.states[-1], self.question
        margin, ci95 = test.estimate()
        faults = [0] * len(self.contenders)
        for pairing, block in zip(itertools.cycle(self.pairings), found, strict=False):
            for place, count in zip(pairing, block.faults, strict=True):
                faults[place] += count
        examples = [example for block in found for example in block.examples]
        names = [contender.name for contender in self.contenders]
        spread = max(0.0, state.variance * (state.deals + 1) - self.reach**2 - state.mean**2)
        return Comparison(
            agent=names[0],
            other=names[1],
            opponents=tuple(names[2:]),
            rules=self.rules.name,
            verdict=state.verdict,
            **asdict(question),
            deals=state.deals,
            max_deals=max_deals,
            fixed_deals=question.fixed_deals(state.variance),
            margin=margin,
            ci95=ci95,
            mean=state.mean,
            sd=(spread / (state.deals - 1)) ** 0.5,
            llr=state.llr,
            bounds=question.bounds,
            looks=tuple([(s.deals, s.mean, s.llr) for s in test.states]),
            seed=self.seed,
            seconds=0.0,
            interrupted=interrupted,
            faults=tuple(faults),
            examples=tuple(_first_of_each(examples)),
            agents=tuple([contender.to_json() for contender in self.contenders]),
            rules_in_full=self.rules.to_dict(),
            deals_digest=deals_digest(self.rules, self.seed, state.deals),
            command=self.command,
        )


def _parts(max_deals: int) -> Iterator[range]:
    """The deals in blocks, none of which goes past a look."""
    before = 0
    for end in looks(max_deals):
        count = -(-(end - before) // _LARGEST_BLOCK)
        edges = [before + (end - before) * i // count for i in range(count + 1)]
        yield from itertools.starmap(range, itertools.pairwise(edges))
        before = end


def _first_of_each(examples: Sequence[Example]) -> Iterator[Example]:
    """A few examples of the faults of each agent."""
    for name in dict.fromkeys(example.agent for example in examples):
        yield from [example for example in examples if example.agent == name][:_MOST_EXAMPLES]
