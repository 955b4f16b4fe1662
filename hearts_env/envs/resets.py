"""How an episode begins: its seed, and what the options of a reset leave open or fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearts_env.game.game import Game
from hearts_env.game.match import Match
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import DealError, HeartsError, did_you_mean, quoted

OPTIONS = ("deal", "deal_number", "dealer")


def begin(rules: Rules, seed: int, options: object, *, is_match: bool) -> tuple[Match | None, Game]:
    """The match, if one is played, and the deal of a seed, as far as `options` leave it open.

    Raises:
        HeartsError: if an option or the deal is invalid.
    """
    if options is None and not is_match:
        return None, Game.deal(rules, seed)
    given = _check_options(options)
    number, dealer, known = (given.get(name) for name in ("deal_number", "dealer", "deal"))
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
        match.replace_deal(_known_deal(match.game, known, 0, match.first_dealer))
    return match, match.game


def _check_options(options: object) -> Mapping[str, Any]:
    """The options of a reset, none if there are none."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise HeartsError(
            f"options: {quoted(options)} is not a dict; known keys: {', '.join(OPTIONS)}",
            value=options,
        )
    for name in options:
        # PettingZoo's api_test resets with {"options": 1}.
        if name not in OPTIONS and name != "options":
            raise HeartsError(
                f"options: {quoted(name)} is unknown; {did_you_mean(name, OPTIONS)}", value=name
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
    drawn: Game, known: Game | Mapping[str, Any], number: int | None, dealer: int | None
) -> Game:
    """The cards of `known`, as they were dealt; what it leaves open is as in `drawn`."""
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
        totals=source.totals if number is None else drawn.totals,
    )
