"""HeartsBench: measure an agent in figures that anyone can reproduce.

A *track* is a game with fixed deals and a fixed field of opponents (``TRACKS``). Opponents have
versions: ``pro-v1`` is the `pro` of this package, and the plain name is an alias. An agent plays
duplicate deals against each opponent (``hearts_train.measure.evaluation``). On small decks its
exact exploitability is computed, too.

The deals depend only on the names of protocol, track and split. Use ``dev`` while you develop an
agent, and play ``test`` once it is finished. Both are public. Their SHA-256 identifies them.

A change of this file that changes any result needs a new version of the protocol.

A result is a JSON file. ``result`` depends only on protocol and agent: playing again gives the same
bytes. ``run`` has the times, the machine and the command. ``entry`` has the authors' declarations.
``sha256`` seals ``result`` against accidents, not against forgers, who can write a new seal. Only
playing again verifies a result.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from hearts_agents.registry import versioned
from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import blamed
from hearts_env import Game, HeartsError, Rules, __version__
from hearts_env.game.notation import Record
from hearts_env.seeds import secret_seed
from hearts_env.solve.best_response import exploitability_of
from hearts_env.solve.tree import Tree
from hearts_env.support.arguments import check_choice, check_number, check_path
from hearts_env.support.errors import quoted
from hearts_env.support.files import json_object, read_limited
from hearts_env.support.keywords import takes
from hearts_env.support.progress import Show, silent
from hearts_env.support.tables import ResultTable
from hearts_train.measure.contest import Contest, check_deals
from hearts_train.measure.display import format_margin, short_names
from hearts_train.measure.duel import deals_digest
from hearts_train.measure.evaluation import (
    OF_BOTH,
    Evaluation,
    evaluations,
    opponents_table,
    platform_versions,
)
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.settings import WorkerSettings
from hearts_train.measure.statistics import mean_and_interval, rounded
from hearts_train.store import misfit

FORMAT = "HeartsBench result"
VERSION = 2
_MOST_BYTES = 2**26
_MAX_LISTED = 10
_PLAYED = (
    *("margins", "worst", "won", "won_ci95", "tied", "rank", "rank_ci95"),
    *("moons", "opponent_moons", "faults", "opponent_faults"),
)
"""The figures against an opponent that vary for an agent that does not repeat its play."""
_RESULT = {
    **dict.fromkeys(("protocol", "package", "track", "split"), str),
    **dict.fromkeys(("field_version", "deals"), int),
    "decisions": (int, None),
    "agent": {
        **dict.fromkeys(("name", "kind"), str),
        **dict.fromkeys(("spec", "digest"), (str, None)),
        "options": dict,
    },
    "opponents": [
        {
            "opponent": str,
            "worst": [{"number": int, "margin": float, "games": [str]}],
        }
    ],
    "margin": float,
}
"""The fields of a result that are read before it is played again (``store.misfit``)."""


# ---- the protocol --------------------------------------------------------------------------------
FIELD_VERSION = 3
PROTOCOL = f"HeartsBench v{FIELD_VERSION}"
SPLITS = ("dev", "test")
MOST_APART = 3.29
"""The most standard errors between two results of an agent that does not repeat its play. One
honest result in 1,000 differs by more."""
EXACT_APART = 1e-4
"""The most by which the exploitability of such an agent may differ, in points per deal. Another
machine may round its probabilities differently."""


_DRAWN_BY = "HeartsBench v1"
"""The name from which the seeds of the deals are derived."""
_BLOCK = 128
"""The most deals that are played at once. An agent draws random numbers for a whole block, so a
block is the smallest unit that can be replayed alone."""


@dataclass(frozen=True)
class Track:
    """A game of the benchmark.

    Attributes:
        name: the name.
        rules: the rules in the form of ``Rules.from_text``.
        deals: the number of duplicate deals of a full result.
        field: the opponents with their versions, like ``pro-v1``.
        is_exact: True if the exact exploitability is computed, too.
    """

    name: str
    rules: str
    deals: int
    field: tuple[str, ...]
    is_exact: bool

    def seed(self, split: str) -> int:
        """Return the seed of the deals of a split, from 0 to 2**63 - 1."""
        digest = hashlib.sha256(f"{_DRAWN_BY} {self.name} {split}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    def players(self) -> list[str]:
        """Return the field by plain names, like ``pro``."""
        return [name.rpartition("-v")[0] for name in self.field]


_TWO = ("easy-v1", "standard-v1", "standard_trump-v1", "pro-v1", "pimc-v1")
_SMALL = (*_TWO, "equilibrium-v1")
_MANY = ("easy-v1", "standard-v1", "pro-v1")
TRACKS = {
    name: Track(name, rules, deals, field, name in ("mini", "micro"))
    for name, rules, deals, field in (
        ("two_player", "two_player", 2000, (*_TWO, "champion-v1")),
        ("mini", "mini", 5000, (*_SMALL, "champion-v1")),
        ("micro", "micro", 5000, _SMALL),
        ("classic", "classic", 500, (*_MANY, "champion-v1")),
        ("party-5", "party players=5", 500, _MANY),
    )
}
"""The tracks by name."""


class BenchmarkResult(dict[str, Any]):
    """The record of a result, as ``hearts benchmark --json`` writes it.

    Read its parts by name, like ``found["result"]["margin"]``. ``print`` shows the table that the
    command prints.
    """

    def table(self) -> ResultTable:
        """Return the figures as a table: one row per opponent, and one for their mean."""
        result, times = self["result"], self["run"]["ms_per_card"]
        agent = result["agent"]["name"]
        part = "" if result["is_full"] else " (a part of the track)"
        title = (
            f"{short_names([agent])[agent]}, {result['protocol']}, {result['track']} "
            f"{result['split']}: points per deal, 95 % interval over {result['deals']:,} duplicate "
            f"deals{part}; {OF_BOTH}"
        )
        names = ("ms_per_decision", "opponent_ms_per_decision")
        figures = [
            one | dict(zip(names, times[one["opponent"]], strict=True))
            for one in result["opponents"]
        ]
        table = opponents_table(title, figures, result["rules_in_full"]["players"])
        mean = ["mean of all", format_margin(result["margin"], result["ci95"])]
        mean += [""] * (len(table.columns) - len(mean))
        return table._replace(rows=[*table.rows, mean])

    def __str__(self) -> str:
        return str(self.table())

    def to_json(self) -> dict[str, Any]:
        """Return the record as a plain dictionary of JSON types."""
        return dict(self)


# ---- an agent on a track -------------------------------------------------------------------------
class Benchmark:
    """Plays an agent on a track and makes the record of the result."""

    def __init__(
        self,
        agent: AgentLike,
        track: str = "two_player",
        split: str = "dev",
        deals: int | None = None,
        *,
        decisions: int | None = None,
        isolate: bool = False,
        **settings: Unpack[WorkerSettings],
    ) -> None:
        """Make the players, with the arguments of ``benchmark``.

        Raises:
            HeartsError: if an argument is invalid, or the agent is unknown or cannot play the
                rules.
        """
        self.track = TRACKS[check_choice("track", track, tuple(TRACKS))]
        self.split = check_choice("split", split, SPLITS)
        self.deals = self.track.deals if deals is None else check_deals(deals)
        if self.deals > self.track.deals:
            raise HeartsError(
                f"deals: {self.deals:,} are more than the {self.track.deals:,} of "
                f"{self.track.name} in {PROTOCOL}; give fewer, or use hearts evaluate"
            )
        self.rules = Rules.from_text(self.track.rules)
        self.seed = self.track.seed(self.split)
        self.field = self.track.players()
        self.contest = Contest(
            [AgentSpec.parse(agent).unversioned(), *self.field],
            self.rules,
            self.seed,
            largest_block=_BLOCK,
            isolate=isolate,
            **settings,
        )
        seen = self.contest.participants[0].trained_on
        self.decisions = seen
        if decisions is not None:
            self.decisions = check_number("decisions", decisions, 0, None)
            if seen is not None and self.decisions < seen:
                raise HeartsError(
                    f"decisions: {decisions:,} are fewer than the {seen:,} in the checkpoint; "
                    "omit it"
                )

    @property
    def name(self) -> str:
        """The agent's name in the record."""
        return versioned(self.contest.participants[0].name)

    def settings(self) -> dict[str, Any]:
        """Return everything that determines the result, known before the play."""
        return {
            "protocol": PROTOCOL,
            "field_version": FIELD_VERSION,
            "track": self.track.name,
            "split": self.split,
            "deals": self.deals,
            "is_full": self.deals == self.track.deals,
            "decisions": self.decisions,
            "package": __version__,
            "rules": self.rules.name,
            "rules_in_full": self.rules.to_dict(),
            "agent": {**self.contest.participants[0].to_json(), "name": self.name},
            "dealt": {
                "seed": self.seed,
                "sha256": deals_digest(self.rules, self.seed, self.deals),
                "sha256_of_all": deals_digest(self.rules, self.seed, self.track.deals),
            },
        }

    def run(
        self,
        save: str | os.PathLike[str] | None = None,
        resume: str | os.PathLike[str] | None = None,
        show: Show = silent,
    ) -> BenchmarkResult:
        """Play the benchmark and return the record, with the arguments of ``benchmark``."""
        about = {
            "track": self.track.name,
            "split": self.split,
            "deals": self.deals,
            "decisions": self.decisions,
        }
        with self.contest.saved(save, resume, "benchmark", **about):
            found = list(evaluations(self.contest, self.deals, show))
        if len(found) < len(self.field) or found[-1].interrupted:
            raise KeyboardInterrupt
        exact = self.exploitability(show) if self.track.is_exact else None
        return record_of(self.result(found, exact), self.circumstances(found))

    def exploitability(self, show: Show = silent) -> dict[str, Any]:
        """Return the agent's exact exploitability, or the reason why it cannot be computed."""
        participant, seed = self.contest.participants[0], secret_seed(self.seed, "exploitability")
        with (
            show(f"{self.name}, exploitability") as report,
            participant.answering(self.rules, seed) as player,
        ):
            try:
                with blamed(f"{self.name} raised", "correct it, and play again"):
                    tree = Tree(self.rules)
                    found = exploitability_of(player, tree, self.name, progress=report)
            except HeartsError as error:
                return {"exploitability": None, "why": str(error)}
        return {
            "exploitability": rounded(found.exploitability),
            "best_responses": [rounded(value) for value in found.best_responses],
            "infosets": list(found.infosets),
            "one_draw": found.is_sampled_once,
        }

    def result(
        self, evaluations: Sequence[Evaluation], exact: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return the part of the record that does not depend on the machine."""
        opponents = [self._figures(place, one) for place, one in enumerate(evaluations)]
        means = _mean([one.margins for one in evaluations])
        return {**self.settings(), **means, "exploitability": exact, "opponents": opponents}

    def _figures(self, place: int, evaluation: Evaluation) -> dict[str, Any]:
        """Return the figures against one opponent."""
        record = self.contest.participants[place + 1].to_json()
        opponent: dict[str, Any] = {"opponent": versioned(record["name"])}
        opponent |= {name: record[name] for name in ("spec", "options", "digest")}
        for name in ("margin", "won", "tied", "rank"):
            opponent[name] = rounded(getattr(evaluation, name))
        for name in ("ci95", "won_ci95", "rank_ci95"):
            opponent[name] = [rounded(bound) for bound in getattr(evaluation, name)]
        for name in ("plays", "moons", "opponent_moons", "faults", "opponent_faults"):
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
        """Return the part of the record that may differ when it is played again."""
        return {
            "command": self.contest.command,
            "platform": platform_versions(),
            "isolated": self.contest.isolate,
            "ms_per_card": {
                versioned(e.opponent): [
                    round(e.ms_per_decision, 6),
                    round(e.opponent_ms_per_decision, 6),
                ]
                for e in evaluations
            },
            "examples": [
                dataclasses.asdict(example) | {"agent": versioned(example.agent)}
                for e in evaluations
                for example in e.examples
            ],
        }


def _mean(margins: Sequence[Any]) -> dict[str, Any]:
    """Return the mean margin over opponents that play the same deals."""
    margin, ci95 = mean_and_interval(np.mean(margins, axis=0))
    return {"margin": rounded(margin), "ci95": [rounded(bound) for bound in ci95]}


@takes(WorkerSettings, Contest)
def benchmark(
    agent: AgentLike,
    track: str = "two_player",
    split: str = "dev",
    deals: int | None = None,
    *,
    decisions: int | None = None,
    isolate: bool = False,
    save: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    show: Show = silent,
    **settings: Unpack[WorkerSettings],
) -> BenchmarkResult:
    """Play HeartsBench and return the record that ``hearts benchmark --json`` writes.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        track: a name in `TRACKS`.
        split: ``dev`` or ``test``.
        deals: the number of duplicate deals. If None, all deals of the track.
        decisions: the number of training decisions that the agent claims. If None, the number in
            its checkpoint.
        isolate: if True, each player has its own process, as for ``evaluate``.
        save: a file to which finished blocks of deals are written. If None, nothing is saved.
        resume: such a file, to continue with the same arguments. If None, start anew.
        show: shows the progress. By default nothing is shown.
        **settings: `workers` and `backend`, as for ``evaluate``.

    Raises:
        HeartsError: if an argument is invalid or unknown, the agent is unknown or cannot play the
            rules, or a file cannot be created or belongs to other settings.
        OSError: if a file cannot be read or written.
        KeyboardInterrupt: if play is stopped. Finished blocks are in the file.
    """
    bench = Benchmark(agent, track, split, deals, decisions=decisions, isolate=isolate, **settings)
    return bench.run(save, resume, show)


@takes(WorkerSettings, Contest)
def verify(
    record: dict[str, Any],
    agent: AgentLike | None = None,
    *,
    isolate: bool = False,
    show: Show = silent,
    **settings: Unpack[WorkerSettings],
) -> tuple[BenchmarkResult, list[str]]:
    """Play a record again in full. Return the new record and the differences.

    If there are no differences, the record is correct.

    Args:
        record: a record from ``read_benchmark``.
        agent: the agent, if its name or path has changed since. If None, the agent in the record.
        isolate: if True, each player has its own process, as for ``evaluate``.
        show: shows the progress.
        **settings: `workers` and `backend`, as for ``evaluate``.

    Raises:
        HeartsError: if this package has another protocol, or `agent` is not the agent of the
            record.
    """
    result = record["result"]
    if result["protocol"] != PROTOCOL:
        raise HeartsError(
            f"verify: the result has protocol {result['protocol']!r}, this package "
            f"{PROTOCOL!r}; use the version of hearts-env that made the result"
        )
    source = result["agent"]["spec"] if agent is None else agent
    if source is None:
        raise HeartsError("verify: the agent of the result was made by a program; give the agent")
    known = {name: result[name] for name in ("track", "split", "deals", "decisions")}
    bench = Benchmark(source, **known, isolate=isolate, **settings)
    if changed := bench.contest.participants[0].differing(result["agent"]):
        raise HeartsError(
            f"verify: this is not the agent of the result: its {changed}; give the agent that "
            "made the result"
        )
    again = bench.run(show=show)
    played = {**again["result"], "package": result["package"]}  # any version with this protocol
    if agent is not None:  # its name and path may differ
        played["agent"] |= {name: result["agent"][name] for name in ("name", "spec")}
    again |= {"entry": record["entry"]} if "entry" in record else {}
    if repeats_play(record):
        return again, differences(result, played)
    return again, _unlike(result, played)


def repeats_play(record: dict[str, Any]) -> bool:
    """Return True if the agent of a record plays the same each time. Its entry may deny this."""
    return bool(record.get("entry", {}).get("repeats") != "no")


def _unlike(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """List the differences beyond chance of two results of an agent that does not repeat its play.

    The settings must be the same, the mean margins must agree, and the other figures of the old
    result must follow from its margins.
    """
    try:
        before = np.array([one["margins"] for one in old["opponents"]], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        before = np.empty(0)
    after = np.array([one["margins"] for one in new["opponents"]])
    if before.shape != after.shape:
        return ["opponents: the margins are not one per deal and opponent"]
    over, after = (after - before).mean(axis=0), after.mean(axis=0)
    # Bounded by the spread of two independent plays, which made-up margins cannot widen.
    spread = min(over.std(ddof=1), math.sqrt(2) * after.std(ddof=1))
    error = spread / math.sqrt(len(over))
    known = {**new, **_mean([*before]), "exploitability": _exact(old, new)}
    known["opponents"] = [
        {**one, **{name: its.get(name) for name in _PLAYED}, **_mean([its["margins"]])}
        for one, its in zip(new["opponents"], old["opponents"], strict=True)
    ]
    apart = abs(over.mean())
    return differences(old, known) + [
        f"margin: {old['margin']}, now {new['margin']}: more than {MOST_APART} standard errors "
        "apart"
    ] * (not apart <= MOST_APART * error)


def _exact(old: dict[str, Any], new: dict[str, Any]) -> Any:
    """Return the old exploitability if chance or rounding explains the difference, else the new.

    If the policy gives its probabilities, there is no chance in its exploitability.
    """
    said: Any = old.get("exploitability")
    known: Any = new["exploitability"]
    if known is None or known["exploitability"] is None or known["one_draw"]:
        return said
    try:
        apart = [abs(said["exploitability"] - known["exploitability"])]
        for one, other in zip(said["best_responses"], known["best_responses"], strict=True):
            apart.append(abs(one - other))
        is_close = max(apart) <= EXACT_APART
    except (KeyError, TypeError, ValueError, OverflowError):
        return known
    numbers = {name: said[name] for name in ("exploitability", "best_responses")}
    return {**known, **numbers} if is_close else known


# ---- files ---------------------------------------------------------------------------------------
def seal(result: Any) -> str:
    """Return the SHA-256 of a result as compact JSON with sorted keys."""
    text = json.dumps(result, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def record_of(result: dict[str, Any], run: dict[str, Any]) -> BenchmarkResult:
    """Return the sealed record of a result, with JSON types: lists instead of tuples."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": seal(result),
        "result": result,
        "run": run,
    }
    return BenchmarkResult(json.loads(json.dumps(record, allow_nan=False)))


def encoded(record: dict[str, Any]) -> bytes:
    """Return a record as JSON with one line per field and per list of numbers."""
    text = json.dumps(record, allow_nan=False, indent=1)
    # Strings in JSON have no line breaks, so this matches lists of numbers only.
    text = re.sub(r"\[\n[-+\d.e,\s]*\]", lambda found: " ".join(found[0].split()), text)
    return (text + "\n").encode()


def read_benchmark(path: str | os.PathLike[str]) -> BenchmarkResult:
    """Return the record in a file.

    Raises:
        HeartsError: if the file is of another kind or version, cut short, or edited.
        OSError: if the file cannot be read.
    """
    file = check_path("file", path)
    name = repr(str(file))
    data = read_limited(file, _MOST_BYTES, "a result of hearts benchmark")
    no_result = HeartsError(
        f"file: {name} is not a result of hearts benchmark, or is damaged; give a file that "
        "hearts benchmark --json wrote"
    )
    record = json_object(data)
    if record is None or record.get("format") != FORMAT:
        raise no_result
    if record.get("version") != VERSION:
        raise HeartsError(
            f"file: {name} has format version {quoted(record.get('version'))}, this package reads "
            f"{VERSION}; use the version of hearts-env that wrote it"
        )
    result = record.get("result")
    try:
        is_whole = record.get("sha256") == seal(result)
    except (ValueError, RecursionError):
        is_whole = False
    if not is_whole:
        raise HeartsError(
            f"file: {name} was edited or damaged: its sha256 does not match its result; get the "
            "file again, or play again with hearts benchmark --json"
        )
    entry = record.get("entry", {})
    wrong = misfit(result, _RESULT, "result") or misfit(entry, dict, "entry")
    wrong = wrong or misfit([*entry.values()], [str], "entry")
    if wrong:
        raise HeartsError(f"file: {name} is damaged: {wrong}; get the file again")
    return BenchmarkResult(record)


def worst_deals(record: dict[str, Any]) -> list[Record]:
    """Return the games, from every seat, of the deals that the agent of a record lost most.

    Raises:
        HeartsError: if the record has no lost deals, or a game in it is damaged.
    """
    result, found = record["result"], []
    agent = result["agent"]["name"]
    for figures in result["opponents"]:
        other = figures["opponent"]
        for deal in figures["worst"]:
            about = f"{result['protocol']} {result['track']} {result['split']}, "
            about += f"deal {deal['number']}, margin {deal['margin']:+.2f} over {other}"
            for seat, text in enumerate(deal["games"] if deal["margin"] < 0 else ()):
                game = Game.from_text(text)
                n = game.rules.players
                tags = {f"Player {p}": other if n == 2 else f"{other} {p}" for p in range(n)}
                found.append(Record(game, {"Event": about, **tags, f"Player {seat}": agent}))
    if not found:
        raise HeartsError(
            "result: its agent lost no deal, so there is none to show; give another, or hand "
            "histories"
        )
    return found


def differences(old: Any, new: Any) -> list[str]:
    """List at most ten differences of two results, like ``opponents[0].margin: 1.5, now 1.25``."""
    places: list[str] = []
    for place in _differing(old, new, ""):
        if len(places) == _MAX_LISTED:
            return [*places, "and more"]
        places.append(place)
    return places


def _differing(old: Any, new: Any, where: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            at = f"{where}.{name}" if where else name
            yield from _differing(old.get(name), new.get(name), at)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _differing(a, b, f"{where}[{place}]")
    elif type(old) is not type(new) or old != new:
        yield f"{where}: {quoted(old)}, now {quoted(new)}"
