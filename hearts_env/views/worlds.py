"""Exact counts, lists and draws of worlds: the possible owners of the cards not seen."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import cards_of, list_of, mask_of
from hearts_env.rules.rules import Rules
from hearts_env.support.errors import DealError, HeartsError, quoted
from hearts_env.views import hidden
from hearts_env.views.deals import list_piles, pile_masks


class Seen(Protocol):
    """The protocol of a view for counting and drawing worlds."""

    rules: Rules
    vector: k.Vector
    player: int


class Worlds:
    """All worlds of a view, which can be counted, listed and drawn uniformly.

    ``hidden.hidden_cards`` gives each owner the cards that it can have and those that it must have.
    A *family* is the set of worlds within such bounds. Because of the first lead, the worlds are a
    disjoint union of families, one for each card that may have been the lowest in any hand. A
    dodging queen (see ``_dodge``) subtracts one family from another. Counts follow by sums and by
    inclusion and exclusion.
    """

    def __init__(self, view: Seen) -> None:
        self.rules, self.vector, self.player = view.rules, view.vector, view.player
        r, v, n = self.rules.vector, self.vector, self.rules.players
        size = k.MAX_PLAYERS + 1
        possible, certain, sizes = (np.zeros(size, np.int64) for _ in range(3))
        hidden.hidden_cards(r, v, self.player, possible, certain, sizes)
        self.owners = [p for p in range(n + 1) if p != self.player]
        self.sizes = tuple(int(sizes[p]) for p in self.owners)
        unseen = int(hidden.unseen_mask(r, v, self.player))
        self.unseen = list(cards_of(unseen))
        bounds = [int(possible[p]) for p in self.owners]
        for place, p in enumerate(self.owners):
            sure = int(certain[p])
            bounds = [b if i == place else b & ~sure for i, b in enumerate(bounds)]
        self.families = self._families(bounds)

    def _families(self, bounds: list[int]) -> list[tuple[int, ...]]:
        """Return the bounds of each family: the cards that every owner can have."""
        r, v, n = self.rules.vector, self.vector, self.rules.players
        leader = int(v[k.FIRST_LEADER])
        if leader in (-1, self.player) or r[k.R_FIRST_LEAD] == k.ELDEST_HAND:
            return [tuple(bounds)]
        place = self.owners.index(leader)
        seen = int(v[k.HANDS + k.SEAT * self.player])
        for p in range(n):
            seen |= int(v[k.PLAYED + k.SEAT * p])
        played = int(v[k.PLAYED + k.SEAT * leader])
        lowest_seen = seen & -seen
        families = []
        # Case: the leader still holds the lowest card of all hands.
        for card in cards_of(bounds[place]):
            bit = 1 << card
            if lowest_seen and bit > lowest_seen:
                break
            # No hand has a lower card, and only the leader has this one.
            family = [b & ~(bit - 1) & ~bit for b in bounds[:-1]] + [bounds[-1] & ~bit]
            family[place] |= bit
            families.append(tuple(family))
        # Case: the leader has played it.
        if lowest_seen & played:
            families.append(tuple([b & ~(lowest_seen - 1) for b in bounds[:-1]] + [bounds[-1]]))
        return families

    @functools.cached_property
    def count(self) -> int:
        """The number of worlds."""
        return sum(self._count_family(family) for family in self.families)

    def _count_family(self, family: tuple[int, ...]) -> int:
        dodge = self._dodge(family)
        whole = _count_ways(_kinds(self.unseen, family), self.sizes)
        return whole - (_count_ways(_kinds(self.unseen, dodge), self.sizes) if dodge else 0)

    def _dodge(self, family: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the bounds of the worlds of a family that the dodge rules out, or None.

        The queen of spades dodges a suit if she is played on it without breaking hearts. Her player
        then held a card of the suit, so worlds without such a card are impossible.
        """
        v = self.vector
        suit = int(v[k.DODGED])
        if suit < 0:
            return None
        cards = int(self.rules.vector[k.R_SUIT_MASK + suit])
        codes = k.plays(self.rules.vector, v, 0, int(v[k.NUM_PLAYED]))
        plays = [(code >> k.SEAT_AT, code & k.CARD_BITS) for code in codes]
        queen = next(i for i, (_, card) in enumerate(plays) if card == self.rules.index["QS"])
        dodger = plays[queen][0]
        shown = mask_of(card for seat, card in plays[queen:] if seat == dodger)
        if dodger == self.player or shown & cards:
            return None
        place = self.owners.index(dodger)
        return tuple(b & ~cards if i == place else b for i, b in enumerate(family))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield all worlds as card masks of every seat and, last, the dead cards."""
        worlds = itertools.chain.from_iterable(self._expand(family) for family in self.families)
        if len(self.families) > 1:  # in lexicographic order of the hands, as within a family
            return iter(sorted(worlds, key=lambda world: [list_of(mask) for mask in world]))
        return worlds

    def _expand(self, family: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        dodge = self._dodge(family)
        everything = mask_of(self.unseen)

        def assign(place: int, left: int) -> Iterator[tuple[int, ...]]:
            if place == len(self.sizes) - 1:
                if left & ~family[place] == 0:
                    yield (left,)
                return
            # Cards that no later owner can have must go here.
            later = functools.reduce(int.__or__, family[place + 1 :])
            must = left & ~later
            if must & ~family[place]:
                return
            free = list(cards_of(left & family[place] & ~must))
            need = self.sizes[place] - must.bit_count()
            if need < 0:
                return
            for chosen in itertools.combinations(free, need):
                hand = must | mask_of(chosen)
                for rest in assign(place + 1, left & ~hand):
                    yield (hand, *rest)

        return filter(None, (self._world(unseen, dodge) for unseen in assign(0, everything)))

    def _world(
        self, unseen: Sequence[int], dodge: tuple[int, ...] | None
    ) -> tuple[int, ...] | None:
        """Return a world with the player's own hand, or None if a dodging queen rules it out."""
        if dodge and all(h & ~b == 0 for h, b in zip(unseen, dodge, strict=True)):
            return None
        own = int(self.vector[k.HANDS + k.SEAT * self.player])
        return (*unseen[: self.player], own, *unseen[self.player :])

    def sampler(self, rng: random.Random) -> Callable[[], tuple[int, ...]]:
        """Return a function that draws a world: masks of every seat and, last, the dead cards."""
        if self.count == 0:
            raise HeartsError("worlds: no world agrees with this view; give a view of a real game")
        weights = [_count_ways(_kinds(self.unseen, family), self.sizes) for family in self.families]

        def draw() -> tuple[int, ...]:
            while True:
                (family,) = rng.choices(self.families, [w / sum(weights) for w in weights])
                unseen = _draw(self.unseen, family, self.sizes, rng)
                if world := self._world(unseen, self._dodge(family)):
                    return world

        return draw


def _owners_of(card: int, family: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(place for place, bound in enumerate(family) if bound >> card & 1)


def _kinds(unseen: list[int], family: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the unseen cards grouped by their possible owners: (owners, number of cards)."""
    counts: dict[tuple[int, ...], int] = {}
    for card in unseen:
        owners = _owners_of(card, family)
        counts[owners] = counts.get(owners, 0) + 1
    # Few owners first, so the last kind only fills the room that is left.
    return tuple(sorted(counts.items(), key=lambda kind: (len(kind[0]), kind)))


@functools.lru_cache(maxsize=1 << 16)
def _count_ways(kinds: tuple[tuple[tuple[int, ...], int], ...], sizes: tuple[int, ...]) -> int:
    """Return the number of ways in which cards of these kinds fill owners of these sizes."""
    if not kinds:
        return int(not any(sizes))
    (owners, number), rest = kinds[0], kinds[1:]
    return sum(ways * _count_ways(rest, left) for left, ways in _splits(owners, number, sizes))


def _splits(
    owners: tuple[int, ...], number: int, sizes: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the ways to give `number` cards to `owners`: the sizes left, the number of ways."""
    if not owners:
        if number == 0:
            yield sizes, 1
        return
    first, others = owners[0], owners[1:]
    room = sum(sizes[o] for o in others)
    for give in range(max(0, number - room), min(number, sizes[first]) + 1):
        left = (*sizes[:first], sizes[first] - give, *sizes[first + 1 :])
        ways = math.comb(number, give)
        for end, more in _splits(others, number - give, left):
            yield end, ways * more


def _draw(
    unseen: list[int], family: tuple[int, ...], sizes: tuple[int, ...], rng: random.Random
) -> list[int]:
    """Draw a way to fill the owners, uniformly, as a card mask per owner."""
    cards: dict[tuple[int, ...], list[int]] = {}
    for card in unseen:
        cards.setdefault(_owners_of(card, family), []).append(card)
    kinds = _kinds(unseen, family)
    hands = [0] * len(sizes)
    for i, (owners, number) in enumerate(kinds):
        pick = rng.randrange(_count_ways(kinds[i:], sizes))
        for left, ways in _splits(owners, number, sizes):
            pick -= ways * _count_ways(kinds[i + 1 :], left)
            if pick < 0:
                break
        pile = cards[owners]
        rng.shuffle(pile)
        for place, (before, after) in enumerate(zip(sizes, left, strict=True)):
            for _ in range(before - after):
                hands[place] |= 1 << pile.pop()
        sizes = left
    return hands


# ---- the whole state in a world ------------------------------------------------------------------
def state_in_world(view: Seen, world: Sequence[Iterable[str]], rng: random.Random) -> k.Vector:
    """Return a state in which the hidden cards are `world` and the player's view is `view`.

    The cards that others passed are drawn uniformly with `rng` from all possibilities. Each card
    of `world` is checked on its own. ``Game.from_state`` checks that play can lead to the state.

    Raises:
        DealError: if a card cannot be where `world` has it.
    """
    hands = _check_world(view, world)
    r, n, me = view.rules.vector, view.rules.players, view.player
    state = view.vector.copy()
    state[k.every_seat(k.HANDS, n)] = hands[:-1]
    if state[k.KITTY_TAKER] < 0:
        state[k.KITTY] = hands[-1]
    step, count = int(state[k.EXCHANGE]), int(r[k.R_PASS_COUNT])
    if step and not state[k.RECEIVED + k.SEAT * me]:  # not delivered yet
        turn = int(state[k.PLAYER] if state[k.PHASE] == k.PASS else state[k.REVOKER])
        for p in range(turn):
            if p != me:
                state[k.PASSED + k.SEAT * p] = _some(hands[p], count, rng)
    elif step:
        for p in range(n):
            receiver = (p + step) % n
            if p == me:
                state[k.RECEIVED + k.SEAT * receiver] = state[k.PASSED + k.SEAT * me]
            elif receiver == me:
                state[k.PASSED + k.SEAT * p] = state[k.RECEIVED + k.SEAT * me]
            else:  # any of the cards that the receiver held after the exchange
                held = hands[receiver] | int(state[k.PLAYED + k.SEAT * receiver])
                passed = _some(held, count, rng)
                state[k.PASSED + k.SEAT * p] = state[k.RECEIVED + k.SEAT * receiver] = passed
    return state


def _some(cards: int, number: int, rng: random.Random) -> int:
    """Draw `number` cards of a set uniformly."""
    return mask_of(rng.sample(list_of(cards), number))


def _check_world(view: Seen, world: Sequence[Iterable[str]]) -> list[int]:
    """Return the masks of a world's hands and dead cards, each card checked on its own."""
    rules, v, n, me = view.rules, view.vector, view.rules.players, view.player
    given = list_piles(world)
    if len(given) != n + 1:
        raise DealError(
            f"world: give the present hands of {n} players and, last, the dead cards, as "
            f"view.worlds() does; got {quoted(world)}"
        )
    names = [f"world[{owner}]" for owner in range(n + 1)]
    masks = pile_masks(rules, dict(zip(names, given, strict=True)))
    possible, certain, sizes = (np.zeros(k.MAX_PLAYERS + 1, np.int64) for _ in range(3))
    hidden.hidden_cards(rules.vector, v, me, possible, certain, sizes)
    own = int(v[k.HANDS + k.SEAT * me])
    possible[me] = certain[me] = own
    sizes[me] = own.bit_count()
    for owner, (name, mask) in enumerate(zip(names, masks, strict=True)):
        whose = f"player {owner}" if owner < n else "the dead cards"
        if wrong := mask & ~int(possible[owner]):
            cards = " ".join(rules.deck[i] for i in cards_of(wrong))
            raise DealError(
                f"{name}: {cards} cannot be with {whose}, as player {me} has seen; take one of "
                "view.worlds()"
            )
        if missing := int(certain[owner]) & ~mask:
            cards = " ".join(rules.deck[i] for i in cards_of(missing))
            raise DealError(
                f"{name}: {cards} must be with {whose}, as player {me} has seen; "
                "take one of view.worlds()"
            )
        if mask.bit_count() != sizes[owner]:
            raise DealError(
                f"{name}: it has {mask.bit_count()} cards; there are {sizes[owner]} left"
            )
    return masks
