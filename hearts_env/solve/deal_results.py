"""How often the deals of some players end with which scores: what matches are computed from."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_is, whole, whole_numbers
from hearts_env.support.arrays import Ints
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.support.files import read_limited, write_whole

SHIPPED_RESULTS = ("two_player", "mini", "micro")
"""Presets of which results come with the package."""
KIND = "hearts deal results"
"""What a file of them says it is."""
_DATA = Path(__file__).parent / "data"
_LARGEST_FILE = 64_000_000
_MOST_SCORE = 10**9
_MATCH_FIELDS = ("end_score", "end_when", "tie", "max_deals", "stake", "target")


@dataclass(frozen=True, eq=False)
class DealResults:
    """Results of deals and how often each occurred.

    Attributes:
        rules: The rules. Those that only say when a match ends do not matter here.
        scores: ``(n, players) int64``, the agent's first, the others in order of play: scores or,
            where the rules settle in chips, the points that are settled.
        dealers: ``(n,) int64``: who dealt, counted from the agent on; 0 is the agent.
        counts: ``(n,) int64``, how many deals had this result, 1 or more.
        about: Where they come from (players, number of deals, seed, command), for files.
    """

    rules: Rules
    scores: Ints
    dealers: Ints
    counts: Ints
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_is("rules", self.rules, Rules, "give Rules, like Rules.preset('two_player')")
        n = self.rules.players
        scores, dealers, counts = map(whole_numbers, (self.scores, self.dealers, self.counts))
        if scores is None or scores.ndim != 2 or scores.shape[1] != n or not len(scores):
            raise HeartsError(
                f"results: scores are not rows of whole numbers; give a row of {n} for each result"
            )
        if np.abs(scores).max() > _MOST_SCORE:
            raise HeartsError(f"results: a score is beyond {_MOST_SCORE:,}; check the file")
        for name, given, low, high in (
            ("dealers", dealers, 0, n - 1),
            ("counts", counts, 1, 2**53),
        ):
            if given is None or given.shape != scores.shape[:1]:
                raise HeartsError(
                    f"results: {name} are not whole numbers; give one for each result"
                )
            if given.min() < low or given.max() > high:
                raise HeartsError(f"results: {name} are out of range; give {low} to {high}")
        if self.rules.settlement != "points" and scores.min() < 0:
            raise HeartsError(
                "results: points below 0 cannot be settled in chips; give results of other rules"
            )
        for name, given in (("scores", scores), ("dealers", dealers), ("counts", counts)):
            object.__setattr__(self, name, given)

    @classmethod
    def counted(
        cls,
        rules: Rules,
        scores: Sequence[Sequence[int]] | Ints,
        dealers: Sequence[int] | Ints,
        about: Mapping[str, Any] | None = None,
    ) -> DealResults:
        """The results of deals played, one row each, equal ones counted together.

        Raises:
            HeartsError: if a row does not have one score for each player, or there is no row.
        """
        once = cls(rules, scores, dealers, np.ones(len(scores), np.int64))  # type: ignore[arg-type]
        rows = np.column_stack([once.scores, once.dealers])
        kinds, counts = np.unique(rows, axis=0, return_counts=True)
        return cls(rules, kinds[:, :-1], kinds[:, -1], counts.astype(np.int64), about or {})

    @property
    def num_deals(self) -> int:
        """How many deals were counted."""
        return int(self.counts.sum())

    def evened(self) -> DealResults:
        """The same as between two equal players: each deal also with the sides exchanged.

        Raises:
            HeartsError: if the rules are not for two players.
        """
        if self.rules.players != 2:
            raise HeartsError(f"results: {self.rules.players} players cannot be evened; only 2 can")
        rows = np.column_stack([self.scores, self.dealers])
        rows = np.concatenate([rows, np.column_stack([self.scores[:, ::-1], 1 - self.dealers])])
        kinds, places = np.unique(rows, axis=0, return_inverse=True)
        counts = np.zeros(len(kinds), np.int64)
        np.add.at(counts, places.reshape(-1), np.tile(self.counts, 2))
        return DealResults(self.rules, kinds[:, :-1], kinds[:, -1], counts, self.about)

    # -- files ------------------------------------------------------------------------------------
    def to_json(self) -> dict[str, Any]:
        """All of it, of types that JSON knows."""
        rows = np.column_stack([self.scores, self.dealers, self.counts])
        return {
            "kind": KIND,
            "rules": self.rules.name,
            "rules_in_full": self.rules.to_dict(),
            "about": dict(self.about),
            "columns": [*(f"score_{p}" for p in range(self.rules.players)), "dealer", "count"],
            "rows": rows.tolist(),
        }

    @classmethod
    def from_json(cls, record: object) -> DealResults:
        """What ``to_json`` gave.

        Raises:
            HeartsError: if it is something else.
        """
        if not isinstance(record, Mapping) or record.get("kind") != KIND:
            raise HeartsError(
                f"results: this is not a file of deal results; give one of the kind {KIND!r}"
            )
        rules = Rules.from_dict(record.get("rules_in_full"))  # type: ignore[arg-type]
        rows, about = record.get("rows"), record.get("about", {})
        width = rules.players + 2
        _check_about(about)
        table = (
            whole_numbers(rows)
            if isinstance(rows, list)
            and all(isinstance(row, list) and len(row) == width for row in rows)
            and all(whole(number) is not None for row in rows for number in row)
            else None
        )
        if table is None or not len(table):
            raise HeartsError(
                "results: some rows are not results; "
                f"give lists of {width} whole numbers, the scores of "
                f"{rules.players} players, who dealt, and how often"
            )
        results = cls(rules, table[:, :-2], table[:, -2], table[:, -1], about)
        _check_possible(results)
        return results

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to a file, whole or not at all: JSON, one result to a line."""
        record = self.to_json()
        rows = ",\n  ".join(json.dumps(row) for row in record.pop("rows"))
        head = "".join(f" {json.dumps(key)}: {json.dumps(record[key])},\n" for key in record)
        write_whole(Path(path), f'{{\n{head} "rows": [\n  {rows}\n ]\n}}\n'.encode())


def _check_about(about: object) -> None:
    """Refuse what a file says of its origin if it cannot be shown."""
    if not isinstance(about, Mapping):
        raise HeartsError("results: about must be a mapping of names to values; or omit it")
    agents = about.get("agents", [])
    if not isinstance(agents, list) or not all(isinstance(agent, Mapping) for agent in agents):
        raise HeartsError(
            "results: agents in about must be a list with a mapping for each agent, like "
            '[{"name": "pro"}]; or omit it'
        )


def _check_possible(results: DealResults) -> None:
    """Refuse scores that are beyond what one player can have after a deal."""
    rules = results.rules
    points = [rules.card_points.get(card, 0) for card in rules.deck]
    lowest, highest = sum(p for p in points if p < 0), sum(p for p in points if p > 0)
    if rules.settlement == "points":  # what is settled in chips is the points of the cards alone
        lowest += rules.no_trick_points  # 0 or less
        if rules.moon in ("self_minus", "choose"):
            lowest -= rules.moon_points
        if rules.moon in ("others_plus", "choose"):
            highest = max(highest, rules.moon_points)
    low, high = int(results.scores.min()), int(results.scores.max())
    if low < lowest or high > highest:
        raise HeartsError(
            f"results: a score of {low if low < lowest else high:,} cannot be in "
            f"{rules.name!r}, where a deal gives {lowest:,} to {highest:,}; check rows"
        )


def load_results(path: str | os.PathLike[str]) -> DealResults:
    """The results that ``save`` wrote.

    Raises:
        HeartsError: if it is another file; the message names it.
        OSError: if it cannot be read.
    """
    what = "a file of deal results (hearts analyse --unit match --save)"
    data = read_limited(Path(path), _LARGEST_FILE, what)
    try:
        return DealResults.from_json(json.loads(data))
    except HeartsError as error:
        raise HeartsError(f"{os.fspath(path)}: {error}") from None
    except (ValueError, RecursionError):  # not JSON, or not text
        raise HeartsError(
            f"results: {quoted(os.fspath(path))} is not {what}; it is not JSON, or cut short"
        ) from None


@functools.cache
def _shipped(name: str) -> DealResults:
    return load_results(_DATA / f"deals_{name}.json")


def shipped_results(rules: Rules) -> DealResults:
    """Results of deals between two ``pimc`` that come with the package.

    Raises:
        HeartsError: if there are none of these rules.
    """
    for name in SHIPPED_RESULTS:
        if not _differing(_shipped(name).rules, rules):
            return _shipped(name)
    raise HeartsError(
        f"results: none of {rules.name!r} come with the package, only those of "
        f"{', '.join(SHIPPED_RESULTS)}; measure them with hearts analyse --unit match "
        "--save FILE and give results=FILE"
    )


def _differing(rules: Rules, others: Rules) -> list[str]:
    """The fields that make deals different ones; when a match ends is none of them."""
    theirs, ours = rules.to_dict(), others.to_dict()
    return [f for f in ours if theirs[f] != ours[f] and f not in _MATCH_FIELDS]


def check_same_deals(results: DealResults, rules: Rules) -> None:
    """Refuse results of deals with other rules; when a match ends may differ.

    Raises:
        HeartsError: if they are of other rules.
    """
    if _differing(results.rules, rules):
        raise HeartsError(
            f"results: they are of {results.rules.name!r}, not of {rules.name!r}; measure "
            "those of these rules with hearts analyse --unit match --save"
        )
