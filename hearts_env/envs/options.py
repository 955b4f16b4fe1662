"""The options of an episode: declared, described, defaulted and checked in this one place.

Every environment takes them as keywords. ``takes_options`` shows them in its signature and its
docstring, and lets it refuse any other.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from hearts_env.encoders import Encoder
from hearts_env.envs.drawing import Drawer
from hearts_env.envs.observations import DType, ObservationFormat
from hearts_env.envs.rewards import Rewarder
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import (
    check_choice,
    check_flag,
    check_max_deals,
    unexpected_keyword,
)

EPISODES = ("deal", "match")
ILLEGAL_ACTIONS = ("terminate", "raise", "revoke")

Function = TypeVar("Function", bound=Callable[..., Any])


class Keywords(TypedDict, total=False):
    """The keywords of ``EpisodeOptions.of``, for type checkers."""

    episode: str
    reward: str
    observation: str | Encoder
    dtype: DType
    action_mask: str
    text_infos: bool
    illegal_action: str
    max_deals: int | None
    render_mode: str | None
    render_for: str
    render_scale: float
    render_names: Sequence[str] | None


@dataclass(frozen=True)
class EpisodeOptions:
    """What the episodes of an environment are like; every value has been checked."""

    rules: Rules
    episode: str
    rewarder: Rewarder
    form: ObservationFormat
    text_infos: bool
    illegal_action: str
    max_deals: int | None
    drawer: Drawer

    @classmethod
    def of(
        cls,
        rules: str | Rules = "two_player",
        players: int | None = None,
        *,
        episode: str = "deal",
        reward: str = "margin",
        observation: str | Encoder = "flat",
        dtype: DType = None,
        action_mask: str = "both",
        text_infos: bool = True,
        illegal_action: str = "terminate",
        max_deals: int | None = None,
        render_mode: str | None = None,
        render_for: str = "current_player",
        render_scale: float = 1.0,
        render_names: Sequence[str] | None = None,
    ) -> EpisodeOptions:
        """The options that these arguments stand for.

        Args:
            rules: a preset's name, or any `Rules`.
            players: how many, where the preset leaves it open.
            episode: ``deal``, or ``match``: deals until the end score.
            reward: ``margin``, ``points``, ``trick``, ``win`` or, where the rules settle in chips,
                ``chips``; see `Rewarder`.
            observation: an encoder or its name.
            dtype: of the encoder's array: ``int8``, ``float32`` or ``float16``; None: the
                encoder's own, int8 but for a few.
            action_mask: where the mask is: ``observation``: beside the encoder's array, in a
                dictionary; ``info``: in infos, and the observation is the array alone; ``both``.
            text_infos: whether infos have texts (``deal``, ``opponent``); False: for libraries that
                make a tensor of whatever they find there.
            illegal_action: ``terminate``: the episode ends with -1; ``raise``: an error, and
                nothing is played; ``revoke``: the deal ends at the offender's expense.
            max_deals: a match is cut off (truncated) after this many deals.
            render_mode: ``ansi``, ``rgb_array``, ``human``, ``svg`` or None.
            render_for: whose cards are shown: a player's name, ``all``, or ``current_player``. With
                opponents inside, that is the learner, also while an opponent is to act.
            render_scale: of pictures and the window, as a multiple of 960 x 720; 0.25 to 4.
            render_names: what the players are called in pictures; None: ``player_0`` and so on.

        Raises:
            HeartsError: if an argument is invalid; the message names it and the fix.
        """
        rules = Rules.make(rules, players)
        return cls(
            rules,
            check_choice("episode", episode, EPISODES),
            Rewarder(rules, reward, episode=episode),
            ObservationFormat(rules, observation, dtype, action_mask),
            check_flag("text_infos", text_infos),
            check_choice("illegal_action", illegal_action, ILLEGAL_ACTIONS),
            check_max_deals(max_deals, episode),
            Drawer(rules, render_mode, render_for, render_scale, render_names),
        )


def takes_options(options: Callable[..., Any], **defaults: Any) -> Callable[[Function], Function]:
    """Show the keywords of `options` where a function has ``**options``, and refuse any other.

    They are added to its signature, and to the ``Args:`` of its docstring where it does not
    describe them itself. `defaults` replaces some of theirs.
    """

    def add(function: Function) -> Function:
        own = list(inspect.signature(function).parameters.values())[:-1]
        names = {parameter.name for parameter in own}
        added = [
            parameter.replace(default=defaults.get(name, parameter.default))
            for name, parameter in inspect.signature(options).parameters.items()
            if name not in names
        ]
        parameters = sorted([*own, *added], key=lambda parameter: parameter.kind)
        known = [p.name for p in parameters if p.name not in ("self", "cls")]

        @functools.wraps(function)
        def checked(*args: Any, **named: Any) -> Any:
            for name in named:
                if name not in known:
                    raise unexpected_keyword(function.__qualname__, name, known)
            return function(*args, **(defaults | named))

        checked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        checked.__doc__ = _described(function, options)
        return checked  # type: ignore[return-value]

    return add


def _described(function: Callable[..., Any], options: Callable[..., Any]) -> str:
    """The docstring of `function`, continued by those ``Args:`` of `options` that it lacks."""
    text, _, own = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
    theirs = (inspect.getdoc(options) or "").partition("Args:\n")[2]
    known = [f"    {name}" for name in re.findall(r"^    (\w+):", own, re.MULTILINE)]
    entries = re.split(r"^(?=    \w+:)", theirs, flags=re.MULTILINE)
    more = "".join(entry for entry in entries if entry.partition(":")[0] not in known)
    return f"{text}\n\nArgs:\n{own}" + "\n" * bool(own) + more
