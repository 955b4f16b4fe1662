"""The options of environments, and those of ``reset``, which choose an episode's deal or game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from hearts_env.encoders import Encoder
from hearts_env.envs.observations import DType
from hearts_env.game.game import Game
from hearts_env.game.match import Match
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_count
from hearts_env.support.errors import DealError, HeartsError, did_you_mean, quoted

EPISODES = ("deal", "match")
ILLEGAL_ACTIONS = ("terminate", "raise", "revoke")
RESET_OPTIONS = ("deal", "deal_number", "dealer", "game")


class EpisodeOptions(TypedDict, total=False):
    """The options that all environments share, as in ``raw_env``, with the same defaults."""

    episode: str
    reward: str
    observation: str | Encoder
    dtype: DType
    illegal_action: str
    max_deals: int | None


class TableOptions(EpisodeOptions, total=False):
    """The options of environments that draw their table."""

    render_mode: str | None
    render_for: str
    render_scale: float
    render_names: Sequence[str] | None


def begin(
    rules: Rules, seed: int, options: object, *, is_match: bool, max_deals: int | None = None
) -> tuple[Match | None, Game]:
    """Return the match (None in deal episodes) and the deal with which an episode begins.

    `options` are those of ``reset``, not yet checked.

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
    if number is not None and check_count("deal_number", number, 2**31):
        raise DealError(f"deal_number: {number}, but a match begins with 0; omit it")
    if dealer is None and isinstance(known, Game):
        dealer = known.dealer % rules.players  # other rules raise below
    match = Match(rules, seed, dealer=dealer)
    if known is not None:
        totals = match.game.totals
        match.game = _known_deal(match.game, known, 0, match.first_dealer, totals=totals)
    return match, match.game


def check_begun(name: str, game: object, rules: Rules) -> Game:
    """Return a copy of `game` for an episode of `rules` to continue.

    Raises:
        HeartsError: if `game` is not a Game, is over or has different rules.
    """
    if not isinstance(game, Game):
        raise HeartsError(
            f"{name}: {quoted(game)} is not a Game; give one, such as Game.from_text(text)"
        )
    if game.rules != rules:
        raise DealError(
            f"{name}: its rules are {game.rules.name!r}, the environment's {rules.name!r}; give a "
            "game of the same rules"
        )
    if game.is_over:
        raise DealError(f"{name}: it is over; give one in which a player is to act")
    return game.clone()


def check_deals_left(name: str, played: int, max_deals: int | None) -> None:
    """Raise unless a match of `max_deals` deals has one left after `played` deals."""
    if max_deals is not None and played >= max_deals:
        raise DealError(
            f"{name}: its deal number is {played}, and a match ends after {max_deals} deals "
            "(max_deals); give a game of an earlier deal"
        )


def _check_options(options: object) -> Mapping[str, Any]:
    """Return the options of ``reset`` as a mapping, empty for None. Raise if one is unknown."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise HeartsError(
            f"options: {quoted(options)} is not a dict; known keys: {', '.join(RESET_OPTIONS)}"
        )
    for name in options:
        # PettingZoo's api_test resets with {"options": 1}.
        if name not in RESET_OPTIONS and name != "options":
            raise HeartsError(
                f"options: {quoted(name)} is unknown; {did_you_mean(name, RESET_OPTIONS)}"
            )
    return options


def _read_deal(known: object) -> Game | Mapping[str, Any]:
    """Return the option ``deal``, a Game or a mapping with ``hands``, after checking its form."""
    if isinstance(known, str):
        return Game.from_text(known)
    if isinstance(known, Game):
        return known
    if not isinstance(known, Mapping):
        raise DealError(
            f"deal: {quoted(known)} is not a deal; give {{'hands': [[...], ...], 'kitty': [...]}}, "
            "a hand history or a Game"
        )
    for name in known:
        if name not in ("hands", "kitty"):
            raise DealError(
                f"deal: {quoted(name)} is unknown; {did_you_mean(name, ('hands', 'kitty'))}"
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
    """Return the deal `known` before its first action.

    For its number, dealer and totals the arguments come first, then `known`, then `drawn`.
    """
    rules = drawn.rules
    if isinstance(known, Game):
        if known.rules != rules:
            raise DealError(
                f"deal: its rules are {known.rules.name!r}, those of this environment "
                f"{rules.name!r}; give a deal of the same rules"
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
