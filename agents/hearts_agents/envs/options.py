"""The options of the learners' environments: those of every environment, opponents and a seat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

from hearts_agents.envs.pool import OpponentPool
from hearts_env import Rules
from hearts_env.envs.options import EpisodeOptions, Keywords, takes_options
from hearts_env.support.arguments import check_flag, check_number
from hearts_env.views.deals import most_cards


class LearnerKeywords(Keywords, total=False):
    """The keywords of ``LearnerOptions.of``, for type checkers."""

    opponent: Any
    seat: int | str
    skip_forced: bool


@dataclass(frozen=True)
class LearnerOptions(EpisodeOptions):
    """What a learner's episodes are like; every value has been checked."""

    pool: OpponentPool
    seat: int
    """The learner's; -1: drawn for each episode."""
    skip_forced: bool

    @property
    def max_steps(self) -> int | None:
        """The most decisions of the learner in an episode; None for a match, which has no limit."""
        if self.episode == "match":
            return None
        return most_cards(self.rules) + (self.rules.moon == "choose")

    @classmethod
    @takes_options(EpisodeOptions.of, action_mask="info")
    def of(  # noqa: D417  # `takes_options` describes the others
        cls,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        opponent: Any = "standard",
        seat: int | str = "random",
        skip_forced: bool = False,
        **options: Unpack[Keywords],
    ) -> LearnerOptions:
        """The options that these arguments stand for.

        Args:
            opponent: a name, a checkpoint's path, an agent, a list or an ``OpponentPool``. One is
                drawn for every seat but the learner's at the start of each episode.
            seat: the learner's, or ``random``.
            skip_forced: play decisions with a single legal action without asking the learner,
                about a fifth of all; rewards add up. A deal without any decision is passed over.
        """
        given = EpisodeOptions.of(rules, players, **options)
        return cls(
            **vars(given),
            pool=OpponentPool.of(opponent, given.rules),
            seat=check_seat(given.rules, seat),
            skip_forced=check_flag("skip_forced", skip_forced),
        )


def check_seat(rules: Rules, seat: int | str) -> int:
    """The seat as a number, -1 for ``random``.

    Raises:
        HeartsError: if it is neither a seat of these rules nor ``random``.
    """
    if isinstance(seat, str) and seat == "random":
        return -1
    return check_number("seat", seat, 0, rules.players - 1, other=", or 'random'")
