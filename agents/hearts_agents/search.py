"""Search players: perfect-information Monte Carlo over all hidden worlds, solved exactly.

In every possible world ``pimc`` computes the double-dummy value of each of its cards, as if both
players saw all hands. It plays the card with the best mean (determinization; Ginsberg 2001 for
bridge). By default it examines all worlds: at most 105 in the 28-card game. ``pimc_belief`` weights
them by the likelihood of the opponent's play under an opponent model (Bayes' rule, see
``hearts_env.solve.beliefs``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearts_agents.base import (
    Actions,
    Agent,
    StochasticAgent,
    WorldMargins,
    check_has_card,
    check_rules,
    check_turn,
    check_views,
)
from hearts_agents.baseline_kernel import SCRATCH_SIZE
from hearts_agents.baselines import seed_number
from hearts_agents.spec import AgentSpec
from hearts_env import HeartsError, PlayerView, Rules
from hearts_env import kernel as k
from hearts_env.solve import TranspositionTable
from hearts_env.solve.beliefs import belief, check_view, hidden_hands, num_first_worlds
from hearts_env.solve.dd.search import card_values, world_values
from hearts_env.solve.policies import check_two_players
from hearts_env.support.arguments import check_chance, check_number
from hearts_env.support.arrays import Floats
from hearts_env.support.bits import lowest
from hearts_env.support.distinct import distinct
from hearts_env.support.jit import jit
from hearts_env.views.hidden import worlds_of_two
from hearts_env.views.view import MAX_WORLDS

if TYPE_CHECKING:
    from hearts_env.batch.views import BatchView


_TIE = 1e-9
MAX_HANDS = 1024
"""The most hidden hands that ``mean_rows`` examines. 105 are possible in the 28-card game."""


class PimcMemory(NamedTuple):
    """The working memory of ``mean_rows``. Each decision writes it before reading it."""

    table: k.Vector
    """The double-dummy solver's table, see ``double_dummy.TranspositionTable``."""
    hands: k.Vector
    """``(MAX_HANDS,)``: the opponent's possible hands."""
    scratch: k.Vector
    """``(SCRATCH_SIZE,)``: for ``worlds_of_two``."""
    values: k.Vector
    """``(MAX_CARDS,)``: the double-dummy value of each card in one world."""
    sums: k.Vector
    """``(MAX_CARDS,)``: the sums of the values over the worlds."""


def working_memory(table: k.Vector) -> PimcMemory:
    """Return memory around the vector of a ``double_dummy.TranspositionTable``."""
    sizes = (MAX_HANDS, SCRATCH_SIZE, k.MAX_CARDS, k.MAX_CARDS)
    return PimcMemory(table, *(np.empty(size, np.int64) for size in sizes))


class Pimc(StochasticAgent):
    """Plays the card that is best on average over all worlds, each solved double dummy.

    Not thread-safe, because each object has its own working memory.
    """

    name = "pimc"
    plays = "two-player games without an exchange"

    def __init__(self, seed: int | None = None, worlds: int | None = None) -> None:
        """Make a player of two-player games.

        Args:
            seed: the seed of the random numbers, which only sampling uses. If None, the operating
                system seeds them.
            worlds: the most worlds per decision, drawn without replacement. If None, all.

        Raises:
            HeartsError: if an option has an unusable value. The message names it.
        """
        super().__init__(seed_number(seed))
        self.worlds = None if worlds is None else check_number("worlds", worlds, 1, 1_000_000)
        self._table: TranspositionTable | None = None

    def check_rules(self, rules: Rules) -> None:
        """Raise unless `rules` have two players, no exchange, and not too many worlds.

        Raises:
            HeartsError: if one of these fails. More than a million worlds at the first card are too
                many.
        """
        check_two_players(rules, self.name)
        worlds = num_first_worlds(rules)
        if worlds > MAX_WORLDS:
            raise HeartsError(
                f"rules: {self.name} lists all worlds; {rules.name!r} begins with {worlds:,}, more "
                f"than {MAX_WORLDS:,}: take pro, which samples them"
            )

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        check_turn(view)
        check_view(view)
        legal = view.legal_actions()
        if len(legal) == 1:
            return legal[0]
        if view.phase == "moon":  # with two players, either choice gives the same margin
            return legal[-1]  # the others pay
        means = np.array(self.margins(view))
        # The lowest of equally good cards.
        return legal[int((means >= means.max() - _TIE).argmax())]

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``.

        One compiled call decides most of them.
        """
        check_views(views)
        check_two_players(views.rules, self.name)
        actions, legal = np.full(len(views), -1, np.int64), views.legal_masks
        forced = (legal != 0) & (legal & (legal - 1) == 0)
        actions[forced] = np.log2(legal[forced])  # exact: powers of two
        if self.worlds is None and type(self)._weighed is Pimc._weighed:
            rows = np.flatnonzero(legal & (legal - 1))
            # The order of play does not count.
            firsts, of = distinct(views.vectors[rows, : views.rules.vector[k.R_HISTORY]])
            some, memory = views.subset(rows[firsts]), working_memory(self._memory(views.rules))
            means = np.full((len(firsts), views.rules.num_actions), -np.inf)
            mean_rows(views.rules.vector, some.vectors, some.players, memory, means)
            is_found = means.max(1, initial=-np.inf) > -np.inf
            best = np.where(is_found, means.argmax(1), -1)  # the lowest of equally good cards
            actions[rows] = best[of]
        for i in np.flatnonzero(actions < 0).tolist():
            actions[i] = self.act(views[i])
        return actions

    def margins(self, view: PlayerView) -> list[float]:
        """Return the mean margin of each legal card of `view`, ascending by action.

        Raises:
            HeartsError: if the player of `view` has no card to play.
        """
        values, weights, _ = self.world_margins(view)
        means: list[float] = (weights @ values / weights.sum()).tolist()
        return means

    def world_margins(self, view: PlayerView) -> WorldMargins:
        """Return the margin of each legal card in each examined world.

        Returns:
            Margins ``(worlds, legal cards)``, the cards in ascending order, weights ``(worlds,)``,
            and True if worlds were left out.

        Raises:
            HeartsError: if the player of `view` has no card to play.
        """
        check_has_card(view)
        check_view(view)
        hands, weights, is_sample = self._drawn(view)
        values = np.empty((len(hands), view.legal_mask.bit_count()), np.int64)
        world_values(view.rules.vector, view.vector, hands, self._memory(view.rules), values)
        return values.astype(np.float64), weights, is_sample

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`."""
        super().reseed(seed_number(seed))

    def _drawn(self, view: PlayerView) -> tuple[NDArray[np.int64], Floats, bool]:
        """Return the hands to examine, their weights, and True if hands were left out."""
        hands, weights = self._weighed(view)
        count = len(hands)
        if self.worlds is not None and len(hands) > self.worlds:
            some = self._rng.choice(len(hands), self.worlds, replace=False)
            hands, weights = hands[some], weights[some]
        is_sample = len(hands) < count
        live = weights > 0
        if not live.any():  # no sampled world explains the play
            return hands, np.ones(len(hands)), is_sample
        return hands[live], weights[live], is_sample

    def _weighed(self, view: PlayerView) -> tuple[NDArray[np.int64], Floats]:
        """Return the opponent's possible hands and their weights."""
        hands = hidden_hands(view)
        return hands, np.ones(len(hands))

    def _memory(self, rules: Rules) -> k.Vector:
        if self._table is None or self._table.rules != rules:
            self._table = TranspositionTable(rules)
        return self._table.vector


class PimcBelief(Pimc):
    """``pimc`` with worlds weighted by an opponent model."""

    name = "pimc_belief"

    def __init__(
        self,
        seed: int | None = None,
        worlds: int | None = None,
        model: str | Agent = "pro",
        epsilon: float = 0.1,
    ) -> None:
        """Make a player of two-player games.

        Args:
            seed: the seed of the random numbers, which only sampling uses. If None, the operating
                system seeds them.
            worlds: the most worlds per decision, drawn without replacement. If None, all.
            model: the opponent model, as an agent or its name.
            epsilon: the assumed probability, in (0, 1], that the opponent plays at random instead.

        Raises:
            HeartsError: if an option has an unusable value. The message names it.
        """
        super().__init__(seed, worlds)
        spec = AgentSpec.parse(model)
        self.model = spec.make(0 if spec.is_named else None)
        self._of_model = replace(spec, agent=None)
        self.epsilon = check_chance("epsilon", epsilon)
        if not self.epsilon:
            raise HeartsError(
                "epsilon: must be in (0, 1], got 0; with 0 a single card can rule out every world"
            )

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Return the content of the opponent model."""
        return self._of_model.parts(self.model, rules)

    def check_rules(self, rules: Rules) -> None:
        """Raise if ``pimc`` or the model refuses `rules`."""
        super().check_rules(rules)
        check_rules(self.model, rules)

    def close(self) -> None:
        """Close the model, which may be a program."""
        self.model.close()

    def _weighed(self, view: PlayerView) -> tuple[NDArray[np.int64], Floats]:
        posterior = belief(view, self.model.action_probs, epsilon=self.epsilon)
        return posterior.hands, posterior.weights


@jit
def mean_rows(
    r: k.Vector, vectors: k.Vector, players: k.Vector, memory: PimcMemory, means: Floats
) -> None:
    """Write each legal card's mean value over all worlds into `means`, for each view.

    `means` is ``(len(vectors), num_actions)``. Elements of illegal actions do not change. Neither
    do rows of views with more than MAX_HANDS worlds or without a card to play.
    """
    for i in range(len(vectors)):
        v = vectors[i]
        legal = k.legal_mask(r, v) if v[k.PLAYER] == players[i] else 0
        if v[k.PHASE] != k.PLAY or legal == 0:
            continue
        n = worlds_of_two(r, v, players[i], memory.hands, memory.scratch)
        if n > MAX_HANDS:
            continue
        memory.sums[:] = 0
        for world in range(n):
            card_values(r, v, memory.hands[world], memory.table, memory.values)
            cards = legal
            while cards:
                memory.sums[lowest(cards)] += memory.values[lowest(cards)]
                cards &= cards - 1
        while legal:
            means[i, lowest(legal)] = memory.sums[lowest(legal)] / n
            legal &= legal - 1
