"""The options of an environment and of a reset: declared, described, defaulted and checked here.

Every environment takes them as keywords. ``takes_options`` shows them in its signature and its
docstring, and lets it refuse any other.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from hearts_env.encoders import Encoder
from hearts_env.envs.drawing import Drawer
from hearts_env.envs.observations import DType, ObservationFormat
from hearts_env.envs.rewards import Rewarder
from hearts_env.game.game import Game
from hearts_env.game.match import Match
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import (
    check_choice,
    check_max_deals,
    unexpected_keyword,
)
from hearts_env.support.errors import DealError, HeartsError, did_you_mean, quoted

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


# ---- of a reset ----------------------------------------------------------------------------------
RESET_OPTIONS = ("deal", "deal_number", "dealer", "game")


def begin(
    rules: Rules, seed: int, options: object, *, is_match: bool, max_deals: int | None = None
) -> tuple[Match | None, Game]:
    """Return the match, if one is played, and the deal: of a seed, unless `options` fix it.

    Raises:
        HeartsError: if an option or the deal is invalid.
    """
    if options is None and not is_match:
        return None, Game.deal(rules, seed)
    given = _check_options(options)
    number, dealer, known = (given.get(name) for name in ("deal_number", "dealer", "deal"))
    if (game := given.get("game")) is not None:
        for name in RESET_OPTIONS:
            if name != "game" and given.get(name) is not None:
                raise HeartsError(f"{name}: the given game has its own; omit {name} or game")
        begun = check_begun("game", game, rules)
        if not is_match:
            return None, begun
        match = Match.from_game(begun, seed)
        check_deals_left("game", match.num_deals, max_deals)
        return match, match.game
    known = None if known is None else _read_deal(known)
    if not is_match:
        game = Game.deal(rules, seed, deal_number=number, dealer=dealer)
        if known is not None:
            game = _known_deal(game, known, number, dealer)
        return None, game
    if number not in (None, 0):
        raise DealError(
            f"deal_number: {number!r}, but a match begins with 0; omit it", value=number
        )
    if dealer is None and isinstance(known, Game):
        dealer = known.dealer % rules.players  # of other rules it is refused below
    match = Match(rules, seed, dealer=dealer)
    if known is not None:
        start = _known_deal(match.game, known, 0, match.first_dealer, totals=match.game.totals)
        match.replace_deal(start)
    return match, match.game


def check_begun(name: str, game: object, rules: Rules) -> Game:
    """Return a copy of `game`, from which an episode of `rules` can begin.

    Raises:
        HeartsError: if it is not a Game, or is over, or has other rules.
    """
    if not isinstance(game, Game):
        raise HeartsError(f"{name}: {quoted(game)} is not a Game; give one", value=game)
    if game.rules != rules:
        raise DealError(
            f"{name}: its rules are {game.rules.name!r}, the environment's {rules.name!r}; give a "
            "game of the same rules"
        )
    if game.is_over:
        raise DealError(f"{name}: it is over; give one in which a player is to act")
    return game.clone()


def check_deals_left(name: str, played: int, max_deals: int | None) -> None:
    """Refuse a game that follows the last deal of a match of at most `max_deals` deals."""
    if max_deals is not None and played >= max_deals:
        raise DealError(
            f"{name}: its deal number is {played}, and a match ends after {max_deals} deals "
            "(max_deals); give a game of an earlier deal"
        )


def _check_options(options: object) -> Mapping[str, Any]:
    """The options of a reset, none if there are none."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise HeartsError(
            f"options: {quoted(options)} is not a dict; known keys: {', '.join(RESET_OPTIONS)}",
            value=options,
        )
    for name in options:
        # PettingZoo's api_test resets with {"options": 1}.
        if name not in RESET_OPTIONS and name != "options":
            raise HeartsError(
                f"options: {quoted(name)} is unknown; {did_you_mean(name, RESET_OPTIONS)}",
                value=name,
            )
    return options


def _read_deal(known: object) -> Game | Mapping[str, Any]:
    """What the option ``deal`` gives, its form checked."""
    if isinstance(known, str):
        return Game.from_text(known)
    if isinstance(known, Game):
        return known
    if not isinstance(known, Mapping):
        raise DealError(
            f"deal: {quoted(known)} is not a deal; give {{'hands': [[...], ...], 'kitty': [...]}}, "
            "a hand history or a Game",
            value=known,
        )
    for name in known:
        if name not in ("hands", "kitty"):
            raise DealError(
                f"deal: {quoted(name)} is unknown; {did_you_mean(name, ('hands', 'kitty'))}",
                value=name,
            )
    if "hands" not in known:
        raise DealError("deal: 'hands' is missing; give the cards of each seat")
    return known


def _known_deal(
    drawn: Game,
    known: Game | Mapping[str, Any],
    number: int | None,
    dealer: int | None,
    totals: Sequence[int] | None = None,
) -> Game:
    """Return `known` as it was dealt; its number, dealer and totals too, unless others are given.

    What it leaves open is as in `drawn`.
    """
    rules = drawn.rules
    if isinstance(known, Game):
        if known.rules != rules:
            raise DealError(
                f"deal: its rules are {known.rules.name!r}, those of this environment "
                f"{rules.name!r}; "
                "give a deal of the same rules"
            )
        start = known.start()
        hands: Any = [start.hand(seat) for seat in range(rules.players)]
        kitty: Any = start.kitty
        source = start
    else:
        hands, kitty, source = known["hands"], known.get("kitty"), drawn
    return Game(
        rules,
        hands,
        kitty,
        deal_number=source.deal_number if number is None else number,
        dealer=source.dealer if dealer is None else dealer,
        totals=source.totals if totals is None else totals,
    )
