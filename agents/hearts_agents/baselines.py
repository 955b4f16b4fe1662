"""The baselines: the computer players of the rule book, from random cards to all-world playouts.

Their decisions are compiled (``baseline_kernel``). This module adds options, random numbers and,
for positions with too many worlds, sampling.
"""

from __future__ import annotations

import random
import secrets
from typing import TYPE_CHECKING

import numpy as np

from hearts_agents.base import (
    Actions,
    Agent,
    Probs,
    WorldMargins,
    check_has_card,
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
from hearts_env.support.arguments import check_any_seed, check_number
from hearts_env.support.arrays import Ints
from hearts_env.support.distinct import distinct
from hearts_env.views.view import view_of
from hearts_env.views.worlds import Worlds

if TYPE_CHECKING:
    from hearts_env.batch.views import BatchView


NAMES = ("easy", "standard", "standard_trump", "pro", "pro_trump")
"""The names, by number of the policy."""

DEFAULT_WORLDS = 200
"""``pro`` examines all worlds up to this number, and samples this many if there are more."""


class Baseline(Agent):
    """A baseline. Not thread-safe, because each object has its own working memory."""

    policy: int
    """The number of the baseline in the compiled functions."""
    worlds: int = 1
    """All worlds are examined up to this number. If there are more, this many are sampled."""

    def __init__(self, seed: int | None = None) -> None:
        """Seed the random numbers. If None, the operating system seeds them."""
        self.rng = np.array([seed_number(seed)], np.uint64)
        self.memory = make_memory(self.worlds)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The player's name for ``make_agent``."""
        return NAMES[self.policy]

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`, in place."""
        self.rng[0] = seed_number(seed)

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        check_turn(view)
        return self.act_state(view.rules, view.vector, view.player)

    def act_state(self, rules: Rules, vector: k.Vector, player: int) -> int:
        """Return the action for the vector of a view or a state.

        Of a state it uses only what `player`, the acting player, may know.
        """
        if self.policy < PRO:
            return int(plain_action(rules.vector, vector, self.policy, self.rng))
        action = act_row(
            rules.vector, vector, player, self.policy, self.worlds, self.rng, self.memory
        )
        return int(action) if action >= 0 else self._act_in_sample(rules, vector, player)

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``, in one compiled call."""
        check_views(views)
        rules, vectors, players = views.rules, views.vectors, views.players
        if (wrong := vectors[:, k.PLAYER] != players).any():
            row = int(np.flatnonzero(wrong)[0])
            raise HeartsError(f"views: row {row} has no decision to make; leave out finished games")
        of: Ints | slice = slice(None)
        asked = vectors, players
        if self.policy >= PRO:  # the order of play does not count
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
        """Return the action if there are too many worlds or players for the compiled loop."""
        view = view_of(rules, vector, player)
        legal, count = view.legal_mask, self._draw(Worlds(view))
        sum_margins(rules.vector, vector, player, legal, count, self.policy, self.memory)
        return int(best_of(legal, self.memory.sums))

    def _draw(self, worlds: Worlds) -> int:
        """Write all worlds or a sample into ``memory.worlds``. Return their number."""
        if worlds.count <= self.worlds:
            chosen = [*worlds]
        else:
            self.rng += np.uint64(0x9E3779B97F4A7C15)
            draw = worlds.sampler(random.Random(int(k.mix(self.rng[0]))))
            chosen = [draw() for _ in range(self.worlds)]
        self.memory.worlds[: len(chosen), : len(chosen[0])] = chosen
        return len(chosen)


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

    def __init__(self, seed: int | None = None, worlds: int | None = None) -> None:
        """Make a player that examines all worlds or, if there are too many, a sample.

        Args:
            seed: the seed of the random numbers, which only sampling uses. If None, the operating
                system seeds them.
            worlds: the most worlds per decision, 1 to 1,000,000. If None, 200.

        Raises:
            HeartsError: if an option has an unusable value. The message names it.
        """
        other = f", or None for {DEFAULT_WORLDS}"
        most = DEFAULT_WORLDS if worlds is None else worlds
        self.worlds = check_number("worlds", most, 1, 1_000_000, other=other)
        super().__init__(seed)

    def world_margins(self, view: PlayerView) -> WorldMargins:
        """Return the margin of each legal card in each examined world.

        Returns:
            Margins ``(worlds, legal cards)``, the cards in ascending order, weights ``(worlds,)``,
            and True if worlds were left out.

        Raises:
            HeartsError: if the player of `view` has no card to play.
        """
        check_has_card(view)
        margins: list[Ints] = []
        worlds = Worlds(view)
        r, v, player, legal = view.rules.vector, view.vector, view.player, view.legal_mask
        actions = view.legal_actions()
        for row in range(self._draw(worlds)):
            one = self.memory._replace(worlds=self.memory.worlds[row : row + 1])
            sum_margins(r, v, player, legal, 1, self.policy, one)
            margins.append(one.sums[actions])
        table = np.array(margins, np.float64) / (view.rules.players - 1)
        return table, np.ones(len(table)), len(table) < worlds.count


class ProTrump(Pro):
    """``pro`` with ``standard_trump`` in its playouts."""

    policy = PRO_TRUMP


def seed_number(seed: int | None) -> int:
    """Return the start of a random stream, 0 to 2**64 - 1, which is random if `seed` is None."""
    if seed is None:
        return secrets.randbits(64)
    return int(k.mix(np.uint64(check_any_seed(seed) % 2**64)))
