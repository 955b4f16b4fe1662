"""Players of small decks with a policy computed by ``hearts solve``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hearts_agents.base import Actions, PerGameAgent, Probs, StochasticAgent
from hearts_env import HeartsError, PlayerView, Rules
from hearts_env.batch.views import BatchView
from hearts_env.solve.equilibrium import SHIPPED, Equilibrium, load, shipped_file


class SolvedAgent(StochasticAgent):
    """Plays an equilibrium policy in either seat, drawing from its probabilities."""

    def __init__(self, solved: Equilibrium, seed: int | None = None) -> None:
        """Make a player for the rules of `solved`. If `seed` is None, the seed is random."""
        super().__init__(seed)
        self.solved = solved
        self.rules = solved.rules
        self.name = f"solved {solved.rules.name}"
        self.plays = solved.rules.name

    def check_rules(self, rules: Rules) -> None:
        """Raise unless `rules` are the solved ones."""
        if not self.rules.is_same_deal(rules):
            raise HeartsError(
                f"rules: this policy was solved for {self.rules.name!r} and cannot play "
                f"{rules.name!r}; play its rules, or solve yours with hearts solve"
            )

    def action_probs(self, views: BatchView) -> Probs:
        """Return the probability of each action, ``(len(views), num_actions) float64``."""
        tree = self.solved.tree
        self.check_rules(views.rules)
        views = BatchView(self.rules, views.vectors, views.players)
        return tree.chances_in(views, self.solved.chances)

    def act_batch(self, views: BatchView) -> Actions:
        """Return the chosen action for each view, ``(len(views),) int64``."""
        return self.sample(self.action_probs(views))

    def act(self, view: PlayerView) -> int:
        """Return the action that this player chooses in `view`."""
        return int(self.act_batch(BatchView.of([view]))[0])

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Return the probabilities."""
        return (chances.tobytes() for chances in self.solved.chances)

    def __deepcopy__(self, memo: dict[int, Any]) -> SolvedAgent:
        """Copy the random numbers and share the policy, which never changes."""
        return self.sharing_copy(memo)


class EquilibriumAgent(PerGameAgent):
    """Plays the package's exact equilibrium of micro or mini."""

    name = "equilibrium"
    plays = " and ".join(SHIPPED)

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Yield the equilibrium of `rules`, or all equilibria of the package if it has none."""
        own = [name for name in SHIPPED if rules and Rules.preset(name).is_same_deal(rules)]
        return (shipped_file(name).read_bytes() for name in own or SHIPPED)

    def player_of(self, rules: Rules) -> StochasticAgent:
        """Return a player that plays the equilibrium of `rules`.

        Raises:
            HeartsError: if the package has no equilibrium of `rules`.
        """
        names = [name for name in SHIPPED if Rules.preset(name).is_same_deal(rules)]
        if not names:
            raise HeartsError(
                f"rules: equilibrium plays {self.plays} only; {rules.name!r} is another game: "
                "give --rules mini, or solve yours with hearts solve and name its file"
            )
        return SolvedAgent(load(names[0]))


def load_solved(path: str | Path, seed: int | None = None) -> SolvedAgent:
    """Return the player of a file that ``hearts solve --save`` wrote.

    Raises:
        CheckpointError: if the file is of another kind or another version.
    """
    return SolvedAgent(load(Path(path)), seed)
