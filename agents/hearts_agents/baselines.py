"""The baselines: the computer players of the rule book, from random cards to all-world playouts.

Their play is compiled (``baseline_kernel``); here they are agents with options, random numbers
and, where there are too many worlds to take them all, sampling.
"""

from __future__ import annotations

import itertools
import math
import random
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hearts_agents.base import (
    Actions,
    Agent,
    Probs,
    RandomState,
    WorldMargins,
    check_turn,
    check_views,
)
from hearts_agents.baseline_kernel import (
    EASY,
    PRO,
    PRO_TRUMP,
    STANDARD,
    STANDARD_TRUMP,
    act_row,
    act_rows,
    best_of,
    make_memory,
    plain_action,
    sum_margins,
)
from hearts_env import HeartsError, PlayerView, Rules
from hearts_env import kernel as k
from hearts_env.support import clock
from hearts_env.support.arguments import check_any_seed, check_number, check_positive
from hearts_env.support.arrays import Ints
from hearts_env.support.distinct import distinct
from hearts_env.views.view import view_of
from hearts_env.views.worlds import Worlds

if TYPE_CHECKING:
    from hearts_env.batch.views import BatchView


NAMES = ("easy", "standard", "standard_trump", "pro", "pro_trump")
"""Names by the number of the policy."""

DEFAULT_WORLDS = 200
"""``pro`` takes all worlds up to this number, and samples this number where there are more."""

CHUNK = 8
"""Worlds that are played out between two checks of the clock, where time is limited."""


class Baseline(Agent):
    """One of the baselines. Not thread-safe: each one works in memory of its own."""

    policy: int
    """The number of the baseline, as the compiled functions take it."""
    worlds: int
    """All worlds are taken where there are no more than this."""
    samples: int | None
    """Where there are more, this many are drawn; None: until the time is up."""
    milliseconds: float | None = None
    """At most about this long for a decision that samples worlds; None: as long as it takes."""

    def __init__(self, seed: int | None = None) -> None:
        """A player whose random numbers follow from `seed`; None: from the operating system."""
        self.rng = np.array([seed_number(seed)], np.uint64)
        self._set_worlds(1)

    def _set_worlds(self, worlds: int) -> None:
        self.worlds = worlds
        self.samples = worlds
        self.memory = make_memory(worlds)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name by which ``make_agent`` knows it."""
        return NAMES[self.policy]

    @property
    def is_timed(self) -> bool:
        """Return whether its play may depend on the machine: it has a time for a decision."""
        return self.milliseconds is not None

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`, in place."""
        self.rng[0] = seed_number(seed)

    def random_state(self) -> RandomState:
        """The state of the random numbers, ``(1,) uint64``."""
        return self.rng.copy()

    def restore_random(self, state: RandomState) -> None:
        """Continue the random numbers from what ``random_state`` returned."""
        if np.shape(state) != (1,):
            raise HeartsError(f"{self.name}: found {np.size(state)} random numbers; give 1")
        self.rng[:] = state

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        check_turn(view)
        return self.act_state(view.rules, view.vector, view.player)

    def act_state(self, rules: Rules, vector: k.Vector, player: int) -> int:
        """Return the action for the vector of a view or a state.

        Nothing of a state is used that `player`, whose turn it is, may not know.
        """
        if self.policy < PRO:
            return int(plain_action(rules.vector, vector, self.policy, self.rng))
        action = act_row(
            rules.vector, vector, player, self.policy, self.worlds, self.rng, self.memory
        )
        return int(action) if action >= 0 else self._act_in_sample(rules, vector, player)

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many games, (len(views),) int64; one compiled call."""
        check_views(views)
        rules, vectors, players = views.rules, views.vectors, views.players
        if (wrong := vectors[:, k.PLAYER] != players).any():
            row = int(np.flatnonzero(wrong)[0])
            raise HeartsError(f"views: row {row} has nothing to decide; its game is over")
        of: Ints | slice = slice(None)
        asked = vectors, players
        if self.policy >= PRO:  # all but the order of play counts
            firsts, of = distinct(vectors[:, : rules.vector[k.R_HISTORY]])
            asked = vectors[firsts], players[firsts]
        out = np.empty(len(asked[0]), np.int64)
        undone = act_rows(
            rules.vector, *asked, self.policy, self.worlds, self.rng, self.memory, out
        )
        out = out[of]
        if undone:
            for i in np.flatnonzero(out < 0):
                out[i] = self._act_in_sample(rules, vectors[i], int(players[i]))
        return out

    def _act_in_sample(self, rules: Rules, vector: k.Vector, player: int) -> int:
        """The action where there are too many worlds, or players, for the compiled loop."""
        view = view_of(rules, vector, player)
        legal, total = view.legal_mask, np.zeros_like(self.memory.sums)
        for count in self._rows(view, Worlds(view)):
            sum_margins(rules.vector, vector, player, legal, count, self.policy, self.memory)
            total += self.memory.sums
        return int(best_of(legal, total))

    def _rows(self, view: PlayerView, worlds: Worlds) -> Iterator[int]:
        """Write all worlds, or a sample, into ``memory.worlds``, part by part; yields the rows."""
        end = clock.now() + (self.milliseconds or math.inf) / 1000
        chunk = self.worlds
        if self.milliseconds and (view.rules.players > 2 or worlds.count > chunk):
            chunk = min(CHUNK, chunk)
        if worlds.count <= chunk:
            source = iter(worlds)
        else:  # the first worlds would not be a fair sample if the time ran out
            self.rng += np.uint64(0x9E3779B97F4A7C15)
            draw = worlds.sampler(random.Random(int(k.mix(self.rng[0]))))
            source = itertools.islice(iter(draw, None), self.samples)
        rows = self.memory.worlds
        while chosen := list(itertools.islice(source, chunk)):
            rows[: len(chosen), : view.rules.players + 1] = chosen
            yield len(chosen)
            if clock.now() >= end:
                break


class Easy(Baseline):
    """Random legal cards."""

    policy = EASY

    def action_probs(self, views: BatchView) -> Probs:
        """Return equal probabilities of the legal actions."""
        check_views(views)
        legal = views.legal_table
        probs: Probs = legal / legal.sum(1, keepdims=True)
        return probs


class Standard(Baseline):
    """The published baseline: ducks, and throws its highest card."""

    policy = STANDARD


class StandardTrump(Baseline):
    """``standard``, aware of trump."""

    policy = STANDARD_TRUMP


class Pro(Baseline):
    """Deals out the unseen cards, plays every card to the end with ``standard``, takes the best."""

    policy = PRO

    def __init__(
        self,
        seed: int | None = None,
        worlds: int | None = None,
        milliseconds: float | None = None,
    ) -> None:
        """A player that examines all worlds or, where there are too many, a sample of them.

        Args:
            seed: of the random numbers, which only sampled worlds need.
            worlds: at most this many worlds a decision, 1 to 1,000,000. None: 200; with
                `milliseconds`, as many as there is time for.
            milliseconds: at most about this long a decision. The play then depends on the machine,
                except where all worlds are taken: of two players up to 200 of them, which take
                less than a millisecond, of more players up to 8.

        Raises:
            HeartsError: if an option has an unusable value; it is named.
        """
        super().__init__(seed)
        if worlds is not None:
            other = f", or None for {DEFAULT_WORLDS}"
            worlds = check_number("worlds", worlds, 1, 1_000_000, other=other)
        if milliseconds is None:
            self._set_worlds(worlds or DEFAULT_WORLDS)
        else:
            self.milliseconds = check_positive("milliseconds", milliseconds, ", or None")
            self._set_worlds(min(worlds or DEFAULT_WORLDS, DEFAULT_WORLDS))
            self.samples = worlds

    def world_margins(self, view: PlayerView) -> WorldMargins:
        """The margin of each legal card in each world that it would examine, and their weights.

        Returns:
            margins ``(worlds, legal cards)``, cards ascending by action; weights ``(worlds,)``; and
            whether there are more worlds than these.
        """
        if view.phase != "play" or not view.legal_mask:
            raise HeartsError(f"view: player {view.player} has no card to play; ask in the play")
        margins: list[Ints] = []
        worlds = Worlds(view)
        r, v, player, legal = view.rules.vector, view.vector, view.player, view.legal_mask
        actions = view.legal_actions()
        for count in self._rows(view, worlds):
            for row in range(count):
                one = self.memory._replace(worlds=self.memory.worlds[row : row + 1])
                sum_margins(r, v, player, legal, 1, self.policy, one)
                margins.append(one.sums[actions])
        table = np.array(margins, np.float64) / (view.rules.players - 1)
        return table, np.ones(len(table)), len(table) < worlds.count


class ProTrump(Pro):
    """``pro`` with ``standard_trump`` in its playouts."""

    policy = PRO_TRUMP


def seed_number(seed: int | None) -> int:
    """The start of a stream of random numbers, 0 .. 2**64 - 1."""
    if seed is None:
        return secrets.randbits(64)
    return int(k.mix(np.uint64(check_any_seed(seed) % 2**64)))
