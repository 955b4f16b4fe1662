"""HeartsBench: how good an agent is, in figures that anybody can repeat.

A *track* is a game with its deals and its field. The *field* are players whose play does not
change: ``pro-v1`` is the `pro` of this version of the package, and the plain name an alias of it.
An agent plays duplicate deals against every one of them (``hearts_train.measure.evaluation``); on
small decks its exact exploitability is computed too. Tracks and their fields are in
``hearts_train.measure.protocol``, for every version of the protocol.

The deals follow from the names of protocol, track and split alone: those of ``dev`` are to be
looked at while an agent is made, those of ``test`` to be played once it is done. Both are public,
and their SHA-256 shows that they are the protocol's.

Whatever a change of this file changes in a result makes it another version of the protocol.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from hearts_agents.registry import versioned
from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, Rules, __version__
from hearts_env.seeds import secret_seed
from hearts_env.solve.tree import Tree
from hearts_env.support.arguments import check_choice, check_number
from hearts_env.support.progress import Show, silent
from hearts_train.measure.benchmark_file import differences, exploited, rounded, sealed
from hearts_train.measure.contest import Contest, check_deals
from hearts_train.measure.duel import deals_digest
from hearts_train.measure.intervals import mean_and_interval
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.protocol import (
    BUDGETS,
    NEWEST,
    SPLITS,
    VERSIONS,
    protocol_name,
    protocol_number,
)
from hearts_train.measure.summary import Evaluation, platform_versions


class Benchmark:
    """An agent on a track: what is played, and the record of it."""

    def __init__(
        self,
        agent: AgentLike,
        track: str = "two_player",
        split: str = "dev",
        deals: int | None = None,
        budget: str = "free",
        *,
        protocol: int | None = None,
        decisions: int | None = None,
        **settings: Any,
    ) -> None:
        """Make the players; nothing is played yet.

        Args:
            agent: an agent, or its name or checkpoint for ``make_agent``.
            track: one of the protocol's.
            split: ``dev`` or ``test``.
            deals: duplicate deals; None: as many as the protocol says. A result with fewer
                says so.
            budget: the time that the agent claims to need for a card, one of ``BUDGETS``.
            protocol: the version of HeartsBench, one of ``protocol.VERSIONS``; None: the newest.
            decisions: how many the agent saw in training, as claimed; None: what its checkpoint
                says, if it is one.
            **settings: `isolate`, `workers`, `backend` and `command`, as for ``evaluate``.

        Raises:
            HeartsError: if an argument is not one of these, the agent is unknown or cannot play the
                track's rules, or this package deals other cards than the protocol's.
        """
        self.version = check_number("protocol", NEWEST if protocol is None else protocol, 1, NEWEST)
        self.protocol = protocol_name(self.version)
        tracks = VERSIONS[self.version]
        self.track = tracks[check_choice("track", track, tuple(tracks))]
        self.split = check_choice("split", split, SPLITS)
        self.budget = check_choice("budget", budget, tuple(BUDGETS))
        self.deals = self.track.deals if deals is None else check_deals(deals)
        if self.deals > self.track.deals:
            raise HeartsError(
                f"deals: {self.track.name} of {self.protocol} has {self.track.deals:,} deals, got "
                f"{self.deals:,}; give fewer, or measure with hearts evaluate"
            )
        self.rules = Rules.from_text(self.track.rules)
        self.seed = self.track.seed(self.split)
        self._check_deals()
        self.field = self.track.players()
        self.contest = Contest(
            [AgentSpec.parse(agent).unversioned(), *self.field],
            self.rules,
            self.seed,
            **settings,
        )
        self.decisions = self.contest.participants[0].trained_on
        if decisions is not None:
            self.decisions = check_number("decisions", decisions, 0, None)

    def _check_deals(self) -> None:
        found = deals_digest(self.rules, self.seed, self.track.deals)
        if found != self.track.digest(self.split):
            raise HeartsError(
                f"track: the deals of {self.track.name} {self.split} have the SHA-256 {found}, "
                f"those of {self.protocol} have {self.track.digest(self.split)}; install a version "
                f"of hearts-env that has {self.protocol}"
            )

    @property
    def name(self) -> str:
        """What the agent is called in the record."""
        return versioned(self.contest.participants[0].name)

    def settings(self) -> dict[str, Any]:
        """What the record follows from, besides the agent."""
        return {
            "protocol": self.protocol,
            "field_version": self.version,
            "track": self.track.name,
            "split": self.split,
            "deals": self.deals,
            "is_full": self.deals == self.track.deals,
            "budget": self.budget,
            "decisions": self.decisions,
        }

    def run(
        self,
        save: str | os.PathLike[str] | None = None,
        resume: str | os.PathLike[str] | None = None,
        show: Show = silent,
    ) -> dict[str, Any]:
        """Play all of it, and return the record.

        Args:
            save: a file that finished blocks of deals are written to.
            resume: such a file, to be continued.
            show: shows the progress.

        Raises:
            HeartsError: if a file cannot be begun, or continued with these settings.
            OSError: if a file cannot be read or written.
            KeyboardInterrupt: it was stopped; what was finished is in the file.
        """
        opponents = len(self.field)
        with self.contest.saved(save, resume, "benchmark", **self.settings()):
            evaluations = list(self.contest.evaluations(self.deals, show))
        if len(evaluations) < opponents or evaluations[-1].interrupted:
            raise KeyboardInterrupt
        exact = self.exploitability(show) if self.track.is_exact else None
        return sealed(self.result(evaluations, exact), self.circumstances(evaluations))

    def exploitability(self, show: Show = silent) -> dict[str, Any]:
        """What an exact best response wins from the agent, or why that cannot be told."""
        seed = secret_seed(self.seed, "exploitability")
        with show(f"{self.name}, exploitability") as report:
            return exploited(
                self.contest.participants[0], self.name, Tree(self.rules), seed, report
            )

    def result(
        self, evaluations: Sequence[Evaluation], exact: dict[str, Any] | None
    ) -> dict[str, Any]:
        """All that follows from the settings, the agent and the version: nothing of the machine."""
        # The opponents play the same deals, so that a deal counts once: its mean over them.
        margin, ci95 = mean_and_interval(np.mean([e.margins for e in evaluations], axis=0))
        return {
            **self.settings(),
            "package": __version__,
            "rules": self.rules.name,
            "rules_in_full": self.rules.to_dict(),
            "agent": {**self.contest.participants[0].to_json(), "name": self.name},
            "dealt": {
                "seed": self.seed,
                "sha256": evaluations[0].deals_digest,
                "sha256_of_all": self.track.digest(self.split),
            },
            "margin": rounded(margin),
            "ci95": [rounded(bound) for bound in ci95],
            "exploitability": exact,
            "opponents": [
                self._figures(place, evaluation) for place, evaluation in enumerate(evaluations)
            ],
        }

    def _figures(self, place: int, evaluation: Evaluation) -> dict[str, Any]:
        """The figures against one opponent."""
        participant = self.contest.participants[place + 1].to_json()
        opponent: dict[str, Any] = {"opponent": versioned(evaluation.opponent)}
        opponent |= {name: participant[name] for name in ("spec", "options", "digest")}
        for name in ("margin", "won", "tied", "rank", "matches_won"):
            value = getattr(evaluation, name)
            opponent[name] = None if value is None else rounded(value)
        for name in ("ci95", "won_ci95", "rank_ci95"):
            opponent[name] = [rounded(bound) for bound in getattr(evaluation, name)]
        for name in ("plays", "matches", "moons", "opponent_moons", "faults", "opponent_faults"):
            opponent[name] = getattr(evaluation, name)
        opponent["worst"] = [
            {
                "number": deal.number,
                "seed": deal.seed,
                "margin": rounded(evaluation.margins[deal.number]),
                "games": list(deal.games),
            }
            for deal in evaluation.worst
        ]
        opponent["margins"] = [rounded(margin) for margin in evaluation.margins]
        return opponent

    def circumstances(self, evaluations: Sequence[Evaluation]) -> dict[str, Any]:
        """When and where it was played: what may differ when it is played again."""
        most = max(evaluation.ms_per_decision for evaluation in evaluations)
        return {
            "command": self.contest.command,
            "platform": platform_versions(),
            "isolated": self.contest.isolate,
            "ms_per_card": {
                versioned(e.opponent): [round(e.ms_per_decision, 6), round(ms, 6)]
                for e in evaluations
                for ms in [e.opponent_ms_per_decision]
            },
            "within_budget": most <= BUDGETS[self.budget],
            "examples": [
                dataclasses.asdict(example) | {"agent": versioned(example.agent)}
                for e in evaluations
                for example in e.examples
            ],
        }


def benchmark(
    agent: AgentLike,
    track: str = "two_player",
    split: str = "dev",
    deals: int | None = None,
    *,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Any,
) -> dict[str, Any]:
    """Play an agent on a track of HeartsBench: the record that ``hearts benchmark --json`` writes.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        track: one of the protocol's.
        split: ``dev`` or ``test``.
        deals: duplicate deals; None: as many as the protocol says.
        save: a file that finished blocks of deals are written to.
        resume: such a file, to be continued; all other arguments as before.
        show: shows the progress; silent by default.
        **settings: the other arguments of ``Benchmark``.

    Raises:
        HeartsError: as ``Benchmark`` and its ``run``.
    """
    return Benchmark(agent, track, split, deals, **settings).run(save, resume, show)


def verify(
    record: dict[str, Any],
    agent: AgentLike | None = None,
    *,
    show: Show = silent,
    **settings: Any,
) -> tuple[dict[str, Any], list[str]]:
    """Play a record again: the new record, and where the results differ; nowhere if it holds.

    Args:
        record: as ``read_benchmark`` returns it.
        agent: the agent, where its name or path is another than in the record.
        show: shows the progress.
        **settings: `isolate`, `workers` and `backend`, as for ``evaluate``.

    Raises:
        HeartsError: if it is of a protocol that this package does not have or of another version of
            the package, or the agent is another than that of the record.
    """
    result = record["result"]
    version = protocol_number(result["protocol"], "verify")
    for name, ours in (("field_version", version), ("package", __version__)):
        if result[name] != ours:
            raise HeartsError(
                f"verify: {name} of the result is {result[name]!r}, here it is {ours!r}; verify "
                "it with the version of hearts-env that made it"
            )
    source = result["agent"]["spec"] if agent is None else agent
    if source is None:
        raise HeartsError("verify: the agent of the result was made by a program; give the agent")
    known = {name: result[name] for name in ("track", "split", "deals", "budget", "decisions")}
    bench = Benchmark(source, **known, protocol=version, **settings)
    if changed := bench.contest.participants[0].differing(result["agent"]):
        raise HeartsError(
            f"verify: this is another agent: its {changed}, in the result; give the agent that "
            "made it"
        )
    again = bench.run(show=show)
    played = again["result"]
    if agent is not None:  # it may lie elsewhere
        names = ("name", "spec")
        played = {**played, "agent": {**played["agent"], **{n: result["agent"][n] for n in names}}}
    return again, differences(result, played)


def verdict(result: dict[str, Any]) -> str:
    """Whom of the field the agent of a record's result beats, and its place in the field, in words.

    It beats a player where the whole 95 % interval of its margin is above zero.
    """
    figures = result["opponents"]
    won = [f["opponent"] for f in figures if f["ci95"][0] > 0]
    lost = [f["opponent"] for f in figures if f["ci95"][1] < 0]
    open_ = [f["opponent"] for f in figures if f["opponent"] not in (*won, *lost)]
    groups = (("beats", won), ("loses to", lost), ("is level with", open_))
    parts = [f"{verb} {', '.join(names)}" for verb, names in groups if names]
    best, worst = 1 + len(lost), 1 + len(lost) + len(open_)
    place = f"{best}" if best == worst else f"{best} to {worst}"
    return f"{'; '.join(parts)}: place {place} of {len(figures) + 1}"
