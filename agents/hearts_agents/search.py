"""Players that search: perfect-information Monte Carlo over all hidden worlds, solved exactly.

``pimc`` computes in every possible world how much each of its cards would make if both hands were
seen from here on (the double-dummy value), and plays the best on average (determinization;
Ginsberg 2001 for bridge). With at most a few hundred worlds it takes all of them. ``pimc_belief``
weights them by how a model of the other player would have played in each (Bayes' rule, see
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
from hearts_env.solve.beliefs import (
    belief,
    check_two_players,
    check_view,
    hidden_hands,
    num_first_worlds,
)
from hearts_env.solve.dd.search import card_values, world_values
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
"""The most hidden hands that ``mean_rows`` examines; 105 are possible in the 28-card game."""


class PimcMemory(NamedTuple):
    """The working memory of ``mean_rows``; written before it is read in each decision."""

    table: k.Vector
    """The double-dummy solver's transposition table, see ``double_dummy.TranspositionTable``."""
    hands: k.Vector
    """``(MAX_HANDS,)``: the other player's possible hands."""
    scratch: k.Vector
    """``(SCRATCH_SIZE,)``: for ``worlds_of_two``."""
    values: k.Vector
    """``(MAX_CARDS,)``: the double-dummy value of each card in one world."""
    sums: k.Vector
    """``(MAX_CARDS,)``: the sums of the values over the worlds."""


def working_memory(table: k.Vector) -> PimcMemory:
    """PimcMemory around the vector of a ``double_dummy.TranspositionTable``."""
    sizes = (MAX_HANDS, SCRATCH_SIZE, k.MAX_CARDS, k.MAX_CARDS)
    return PimcMemory(table, *(np.empty(size, np.int64) for size in sizes))


class Pimc(StochasticAgent):
    """Plays the card that is best on average over all worlds, each solved double dummy.

    Not thread-safe: each one works in memory of its own.
    """

    name = "pimc"
    plays = "two-player games without an exchange"

    def __init__(self, seed: int | None = None, worlds: int | None = None) -> None:
        """A player of two-player games.

        Args:
            seed: of the random numbers, which only sampled worlds need.
            worlds: at most this many worlds a decision, drawn without repetition; None: all.

        Raises:
            HeartsError: if an option has an unusable value; it is named.
        """
        super().__init__(seed_number(seed))
        self.worlds = None if worlds is None else check_number("worlds", worlds, 1, 1_000_000)
        self._table: TranspositionTable | None = None

    def check_rules(self, rules: Rules) -> None:
        """Refuse games of other than two players, with an exchange, or with too many worlds.

        Raises:
            HeartsError: if `rules` has another number of players, an exchange, or so large a kitty
                that more than a million worlds are possible at the first card.
        """
        check_two_players(rules, self.name)
        worlds = num_first_worlds(rules)
        if worlds > MAX_WORLDS:
            raise HeartsError(
                f"rules: {self.name} lists all worlds; {rules.name!r} begins with {worlds:,}, more "
                f"than {MAX_WORLDS:,}: take pro, which samples them"
            )

    def act(self, view: PlayerView) -> int:
        """The action chosen by the player whose turn it is in `view`."""
        check_turn(view)
        check_view(view)
        legal = view.legal_actions()
        if len(legal) == 1:
            return legal[0]
        if view.phase == "moon":  # of two players the shooter is as far ahead either way
            return legal[-1]  # the others pay
        means = self._means(view)
        # The lowest of equally good cards.
        return legal[int((means >= means.max() - _TIE).argmax())]

    def act_batch(self, views: BatchView) -> Actions:
        """The actions chosen in many games, (len(views),) int64; one compiled call for most."""
        check_views(views)
        check_two_players(views.rules, self.name)
        actions, legal = np.full(len(views), -1, np.int64), views.legal_masks
        forced = (legal != 0) & (legal & (legal - 1) == 0)
        actions[forced] = np.log2(legal[forced])  # exact: powers of two
        if self.worlds is None and type(self)._weighed is Pimc._weighed:
            rows = np.flatnonzero(legal & (legal - 1))
            # All but the order of play counts.
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
        """The mean margin of each legal card of `view`, by which it chooses; ascending by action.

        Raises:
            HeartsError: if the player of `view` has no card to play.
        """
        _check_has_card(view)
        means: list[float] = self._means(view).tolist()
        return means

    def world_margins(self, view: PlayerView) -> WorldMargins:
        """The margin of each legal card in each world that it would examine, and their weights.

        Returns:
            margins ``(worlds, legal cards)``, cards ascending by action; weights ``(worlds,)``; and
            whether there are more worlds than these.

        Raises:
            HeartsError: if the player of `view` has no card to play.
        """
        _check_has_card(view)
        hands, weights, is_sample = self._drawn(view)
        return self._values(view, hands).astype(np.float64), weights, is_sample

    def reseed(self, seed: int) -> None:
        """Restart the random numbers from `seed`."""
        super().reseed(seed_number(seed))

    def _means(self, view: PlayerView) -> Floats:
        hands, weights, _ = self._drawn(view)
        means: Floats = weights @ self._values(view, hands) / weights.sum()
        return means

    def _values(self, view: PlayerView, hands: NDArray[np.int64]) -> NDArray[np.int64]:
        """The double-dummy margin of each legal card in each world."""
        values = np.empty((len(hands), view.legal_mask.bit_count()), np.int64)
        world_values(view.rules.vector, view.vector, hands, self._memory(view.rules), values)
        return values

    def _drawn(self, view: PlayerView) -> tuple[NDArray[np.int64], Floats, bool]:
        """The hands to examine, their weights, and whether there are more."""
        hands, weights = self._weighed(view)
        count = len(hands)
        if self.worlds is not None and len(hands) > self.worlds:
            some = self._rng.choice(len(hands), self.worlds, replace=False)
            hands, weights = hands[some], weights[some]
        is_sample = len(hands) < count
        live = weights > 0
        if not live.any():  # none of the worlds drawn explains the play
            return hands, np.ones(len(hands)), is_sample
        return hands[live], weights[live], is_sample

    def _weighed(self, view: PlayerView) -> tuple[NDArray[np.int64], Floats]:
        """The other player's possible hands and how likely they are."""
        hands = hidden_hands(view)
        return hands, np.ones(len(hands))

    def _memory(self, rules: Rules) -> k.Vector:
        if self._table is None or self._table.rules != rules:
            self._table = TranspositionTable(rules)
        return self._table.vector


def _check_has_card(view: PlayerView) -> None:
    if view.phase != "play" or not view.legal_mask:
        raise HeartsError(f"view: player {view.player} has no card to play; ask in the play")
    check_view(view)


class PimcBelief(Pimc):
    """``pimc`` with worlds weighted by how a model of the other player plays."""

    name = "pimc_belief"

    def __init__(
        self,
        seed: int | None = None,
        worlds: int | None = None,
        model: str | Agent = "pro",
        epsilon: float = 0.1,
    ) -> None:
        """A player of two-player games.

        Args:
            seed: of the random numbers, which only sampled worlds need.
            worlds: at most this many worlds a decision, drawn without repetition; None: all.
            model: how the other player is assumed to play: an agent, or its name.
            epsilon: the probability, in (0, 1], that it is assumed to play at random instead.

        Raises:
            HeartsError: if an option has an unusable value; it is named.
        """
        super().__init__(seed, worlds)
        if isinstance(model, str) and model in (self.name, ""):
            raise HeartsError(
                f"model: {model!r} cannot be its own model; give another agent, such as pimc",
                value=model,
            )
        spec = AgentSpec.parse(model)
        self.model = spec.make(0 if isinstance(model, str) else None)
        self._of_model = replace(spec, agent=None)
        self.epsilon = check_chance("epsilon", epsilon)
        if not self.epsilon:
            raise HeartsError(
                "epsilon: must be in (0, 1], got 0; with 0 a single card can rule out every world"
            )

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Return the parts of its model."""
        return self._of_model.parts(self.model, rules)

    def check_rules(self, rules: Rules) -> None:
        """Refuse what ``pimc`` refuses, and what the model does."""
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
    """Write the mean value of each legal card over all worlds, for each view, into `means`.

    ``(len(vectors), num_actions)``; places of other actions are left alone, and so are the rows of
    views that allow more than MAX_HANDS worlds, or whose player has no card to play.
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
