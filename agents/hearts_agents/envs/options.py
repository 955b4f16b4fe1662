"""The arguments of the learners' environments: documented, defaulted and checked in one place.

``HeartsEnv``, ``HeartsVectorEnv`` and ``HeartsSB3VecEnv`` take them as keywords and pass them to
``EpisodeOptions.of``. ``documented`` gives their constructors its signature and description, so
that ``help`` and editors show every argument with its default, and lets them refuse any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from hearts_agents.envs.pool import OpponentPool
from hearts_env import Rules
from hearts_env.encoders import Encoder
from hearts_env.envs.observations import DType, ObservationFormat
from hearts_env.envs.rewards import Rewarder
from hearts_env.hearts_v0 import EPISODES, ILLEGAL_ACTIONS
from hearts_env.support.arguments import (
    check_choice,
    check_flag,
    check_max_deals,
    check_number,
    checked_keywords,
)
from hearts_env.views.deals import most_cards

Constructor = TypeVar("Constructor", bound=Callable[..., None])


class Options(TypedDict, total=False):
    """The keywords of ``EpisodeOptions.of``, for type checkers."""

    episode: str
    reward: str
    observation: str | Encoder
    dtype: DType
    action_mask: str
    text_infos: bool
    illegal_action: str
    opponent: Any
    seat: int | str
    skip_forced: bool
    max_deals: int | None


@dataclass(frozen=True)
class EpisodeOptions:
    """What a learner's episodes are like; every value has been checked."""

    rules: Rules
    episode: str
    reward: str
    form: ObservationFormat
    text_infos: bool
    illegal_action: str
    pool: OpponentPool
    seat: int
    """The learner's; -1: drawn for each episode."""
    skip_forced: bool
    max_deals: int | None

    @property
    def max_steps(self) -> int | None:
        """The most decisions of the learner in an episode; None for a match, which may go on."""
        if self.episode == "match":
            return None
        return most_cards(self.rules) + (self.rules.moon == "choose")

    @classmethod
    def of(
        cls,
        rules: Rules | str = "two_player",
        players: int | None = None,
        *,
        episode: str = "deal",
        reward: str = "margin",
        observation: str | Encoder = "flat",
        dtype: DType = None,
        action_mask: str = "info",
        text_infos: bool = True,
        illegal_action: str = "terminate",
        opponent: Any = "standard",
        seat: int | str = "random",
        skip_forced: bool = False,
        max_deals: int | None = None,
    ) -> EpisodeOptions:
        """The options that these arguments stand for.

        Args:
            rules: the rules, or a preset's name.
            players: number of players, for presets that several numbers can play.
            episode: ``deal``, or ``match``: deals until the end score.
            reward: ``margin``, ``points``, ``trick``, ``win`` or, where the rules settle in chips,
                ``chips``.
            observation: an encoder or its name.
            dtype: of the encoder's array: ``int8``, ``float32`` or ``float16``; None: the
                encoder's own, int8 but for a few.
            action_mask: where the mask is: ``info``: in infos, and the observation is the encoder's
                array alone; ``observation``: beside that array, in a dictionary; ``both``.
            text_infos: whether infos have texts (``opponent``, ``deal``); False: for libraries that
                make a tensor of whatever they find there.
            illegal_action: ``terminate``: the episode ends with -1; ``raise``: an error, and
                nothing is played; ``revoke``: the deal ends at the offender's expense.
            opponent: a name, a checkpoint's path, an agent, a list or an ``OpponentPool``. One is
                drawn for every seat but the learner's at the start of each episode.
            seat: the learner's, or ``random``.
            skip_forced: play decisions with a single legal action without asking the learner,
                about a fifth of all; rewards add up. A deal without any decision is passed over.
            max_deals: a match is cut off (truncated) after this many deals.

        Raises:
            HeartsError: if an argument has an unusable value; it is named.
        """
        rules = Rules.make(rules, players)
        episode = check_choice("episode", episode, EPISODES)
        return cls(
            rules,
            episode,
            Rewarder(rules, reward, episode=episode).kind,
            ObservationFormat(rules, observation, dtype, action_mask),
            check_flag("text_infos", text_infos),
            check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS),
            OpponentPool.of(opponent, rules),
            check_seat(rules, seat),
            check_flag("skip_forced", skip_forced),
            check_max_deals(max_deals, episode),
        )


def documented(constructor: Constructor) -> Constructor:
    """Show the arguments of ``EpisodeOptions.of`` where `constructor` has ``**options``.

    Unknown keywords are refused. Its docstring ends with an ``Args:`` section for its own
    arguments.
    """
    signature = inspect.signature(constructor)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    known = inspect.signature(EpisodeOptions.of).parameters
    added = [p for name, p in known.items() if name not in signature.parameters]
    own.sort(key=lambda p: p.kind)
    first_keyword = sum(p.kind is not p.KEYWORD_ONLY for p in own)
    constructor.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own[:first_keyword], *added, *own[first_keyword:]]
    )
    explained = inspect.getdoc(EpisodeOptions.of) or ""
    arguments = explained[explained.index("Args:\n") + len("Args:\n") :]
    constructor.__doc__ = f"{inspect.cleandoc(constructor.__doc__ or '')}\n{arguments}"
    return checked_keywords(constructor)


def check_seat(rules: Rules, seat: int | str) -> int:
    """The seat as a number, -1 for ``random``.

    Raises:
        HeartsError: if it is neither a seat of these rules nor ``random``.
    """
    if isinstance(seat, str) and seat == "random":
        return -1
    return check_number("seat", seat, 0, rules.players - 1, other=", or 'random'")
