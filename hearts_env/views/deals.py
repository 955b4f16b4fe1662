"""The possible deals of a game, and the checks of a deal that a user gives.

All deals are equally likely. A *table* is a pair of a deal number and a dealer at which deals play
differently. All tables are equally likely, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hearts_env.cards import parse_card
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import DealError, NotationError, quoted

Deal = tuple[tuple[str, ...], ...]
"""The cards dealt to each seat and, last, those not dealt."""


def num_deals(rules: Rules | str) -> int:
    """Return the number of possible deals: ways to deal the cards to the seats and the kitty."""
    rules = Rules.make(rules)
    ways, left = 1, len(rules.deck)
    for _ in range(rules.players):
        ways *= math.comb(left, rules.hand_size)
        left -= rules.hand_size
    return ways


def most_cards(rules: Rules) -> int:
    """Return the most cards that one player passes and plays in a deal."""
    passes = rules.pass_count if set(rules.pass_rotation) != {"hold"} else 0
    return rules.hand_size + passes


def all_deals(rules: Rules | str) -> Iterator[Deal]:
    """Yield every deal. Each has the probability ``1 / num_deals(rules)``.

    Deals come in lexicographic order: by the hand of seat 0 in deck order, then by the hand of seat
    1, and so on. ``Game(rules, deal[:-1])`` plays one.
    """
    rules = Rules.make(rules)

    def go(seats: int, left: tuple[str, ...]) -> Iterator[Deal]:
        if not seats:
            yield (left,)
            return
        for hand in itertools.combinations(left, rules.hand_size):
            rest = tuple([card for card in left if card not in hand])
            for others in go(seats - 1, rest):
                yield (hand, *others)

    return go(rules.players, rules.deck)


def all_tables(rules: Rules | str) -> list[tuple[int, int]]:
    """Return the tables (deal_number, dealer) at which a deal plays differently.

    The deal number picks the direction of the exchange. The dealer matters if the eldest hand
    leads. If neither matters, the only table is ``(0, 0)``, the default of ``Game(rules, hands)``.
    """
    rules = Rules.make(rules)
    numbers = len(rules.pass_rotation) if rules.pass_count else 1
    dealers = rules.players if rules.first_lead == "eldest_hand" else 1
    return list(itertools.product(range(numbers), range(dealers)))


def table_of(rules: Rules, deal_number: int, dealer: int) -> tuple[int, int]:
    """Return the table of ``all_tables`` at which a deal plays as at this number and dealer."""
    number = deal_number % len(rules.pass_rotation) if rules.pass_count else 0
    return number, dealer if rules.first_lead == "eldest_hand" else 0


def deal_masks(
    rules: Rules, hands: Sequence[Iterable[str]], kitty: Iterable[str] | None
) -> list[int]:
    """Return the card masks of all hands and, last, the kitty. Raise unless they are a deal."""
    given = list_piles(hands)
    if len(given) != rules.players:
        raise DealError(
            f"hands: give {rules.players} hands, one list of cards for each seat; got "
            f"{quoted(hands)}"
        )
    names = [f"hands[{seat}]" for seat in range(rules.players)]
    piles = {**dict(zip(names, given, strict=True)), "kitty": kitty}
    masks = pile_masks(rules, piles)
    for name, mask in zip(piles, masks, strict=True):
        size = rules.kitty_size if name == "kitty" else rules.hand_size
        if mask.bit_count() != size:
            raise DealError(f"{name}: it has {mask.bit_count()} cards; the rules deal {size}")
    return masks


def list_piles(piles: Sequence[Iterable[str]]) -> list[Iterable[str]]:
    """Return the elements of a sequence, or [] if `piles` is text or not a sequence."""
    try:
        return [] if isinstance(piles, str) else [piles[i] for i in range(len(piles))]
    except (TypeError, KeyError, IndexError):
        return []


def pile_masks(rules: Rules, piles: Mapping[str, Iterable[str] | None]) -> list[int]:
    """Return the card masks of named piles of one deck. None stands for all cards left."""
    owner: dict[str, str] = {}
    masks = []
    for name, cards in piles.items():
        mask = 0
        if cards is None:
            cards = [card for card in rules.deck if card not in owner]
        elif isinstance(cards, str):
            cards = cards.split()
        try:
            cards = list(cards)
        except TypeError:
            raise DealError(
                f"{name}: {quoted(cards)} is not a list of cards; give one, like ['2C', 'QS']"
            ) from None
        for card in cards:
            try:
                card = parse_card(card)
            except NotationError as error:
                raise DealError(f"{name}: {error}") from None
            if card not in rules.index:
                raise DealError(f"{name}: {card} is not in the deck of these rules; omit it")
            if card in owner:
                raise DealError(
                    f"{name}: {card} is dealt twice, also in {owner[card]}; deal it once"
                )
            owner[card] = name
            mask |= 1 << rules.index[card]
        masks.append(mask)
    return masks
