"""The arguments of the learners' environments: documented, defaulted and checked in one place.

``HeartsEnv``, ``HeartsVectorEnv`` and ``HeartsSB3VecEnv`` take them as keywords and pass them to
``EpisodeOptions.of``. ``documented`` gives their constructors its signature and description, so
that ``help`` and editors show every argument with its default.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from hearts_agents.pool import OpponentPool
from hearts_env import Rules
from hearts_env.arguments import check_choice, check_flag, check_max_deals, check_number
from hearts_env.encoders import Encoder
from hearts_env.errors import did_you_mean
from hearts_env.form import DType, Form
from hearts_env.hearts_v0 import EPISODES, ILLEGAL_ACTIONS
from hearts_env.rewards import Rewarder

Constructor = TypeVar("Constructor", bound=Callable[..., None])


class Options(TypedDict, total=False):
    """The keywords of ``EpisodeOptions.of``, for type checkers."""

    episode: str
    reward: str
    observation: str | Encoder
    dtype: DType
    mask: str
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
    form: Form
    illegal_action: str
    pool: OpponentPool
    seat: int
    """The learner's; -1: drawn for each episode."""
    skip_forced: bool
    max_deals: int | None

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
        mask: str = "info",
        illegal_action: str = "terminate",
        opponent: Any = "standard",
        seat: int | str = "random",
        skip_forced: bool = False,
        max_deals: int | None = None,
        **unknown: Any,
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
            mask: ``info``: the observation is the encoder's array alone; ``observation``: a
                dictionary of array and mask. The infos have the mask in any case.
            illegal_action: ``terminate``: the episode ends with -1; ``raise``: an error, and
                nothing is played; ``revoke``: the deal ends at the offender's expense.
            opponent: a name, a checkpoint's path, an agent, a list or an ``OpponentPool``. One is
                drawn for every seat but the learner's at the start of each episode.
            seat: the learner's, or ``random``.
            skip_forced: play decisions with a single legal action without asking the learner,
                about a fifth of all; rewards add up. A deal without any decision is passed over.
            max_deals: a match is cut off (truncated) after this many deals.
            **unknown: anything else; refused.

        Raises:
            HeartsError: if an argument has an unusable value; it is named.
            TypeError: if an argument is unknown.
        """
        if unknown:
            name = next(iter(unknown))
            drawn = ("render_mode", "render_for", "render_scale", "render_names")
            known = (*parameters(), "num_envs", "num_threads", *drawn)
            raise TypeError(f"{name}: unknown argument; {did_you_mean(name, known)}")
        rules = Rules.make(rules, players)
        episode = check_choice("episode", episode, EPISODES)
        return cls(
            rules,
            episode,
            Rewarder(rules, reward, episode=episode).kind,
            Form(rules, observation, dtype, mask),
            check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS),
            OpponentPool.of(opponent, rules),
            check_seat(rules, seat),
            check_flag("skip_forced", skip_forced),
            check_max_deals(max_deals, episode),
        )


def parameters() -> dict[str, inspect.Parameter]:
    """The parameters of ``EpisodeOptions.of`` by name."""
    known = inspect.signature(EpisodeOptions.of).parameters
    return {name: p for name, p in known.items() if p.kind is not p.VAR_KEYWORD}


def documented(constructor: Constructor) -> Constructor:
    """Show the arguments of ``EpisodeOptions.of`` where `constructor` has ``**options``.

    Its docstring ends with an ``Args:`` section for its own arguments.
    """
    signature = inspect.signature(constructor)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [p for name, p in parameters().items() if name not in signature.parameters]
    own.sort(key=lambda p: p.kind)
    first_keyword = sum(p.kind is not p.KEYWORD_ONLY for p in own)
    constructor.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own[:first_keyword], *added, *own[first_keyword:]]
    )
    explained = inspect.getdoc(EpisodeOptions.of) or ""
    arguments = explained[explained.index("Args:\n") + len("Args:\n") :]
    arguments = re.sub(r"    \*\*unknown.*\n", "", arguments)
    constructor.__doc__ = f"{inspect.cleandoc(constructor.__doc__ or '')}\n{arguments}"
    return constructor


def check_seat(rules: Rules, seat: int | str) -> int:
    """The seat as a number, -1 for ``random``.

    Raises:
        HeartsError: if it is neither a seat of these rules nor ``random``.
    """
    if isinstance(seat, str) and seat == "random":
        return -1
    return check_number("seat", seat, 0, rules.players - 1, other=", or 'random'")
