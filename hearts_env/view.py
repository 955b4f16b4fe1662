"""What a position shows: the fields that a game and a player's view share, and the view itself."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.arguments import check_number, check_player, check_seed
from hearts_env.cards import SUITS, cards_of, list_of, mask_of
from hearts_env.errors import HeartsError
from hearts_env.rules import Rules

PHASES = ("pass", "play", "moon", "over")
MAX_WORLDS = 1_000_000

World = tuple[tuple[str, ...], ...]
"""The players' present hands and, last, the dead cards."""


class Position:
    """The fields of a state by name; of a view, whatever its player may not know is empty."""

    __slots__ = ("rules", "vector")

    rules: Rules
    vector: k.Vector

    def _cards(self, mask: int) -> tuple[str, ...]:
        deck = self.rules.deck
        return tuple([deck[i] for i in list_of(int(mask))])

    def _seat(self, field: int) -> int | None:
        seat = int(self.vector[field])
        return None if seat < 0 else seat

    @property
    def phase(self) -> str:
        """``pass``, ``play``, ``moon`` or ``over``."""
        return PHASES[self.vector[k.PHASE]]

    @property
    def trick(self) -> tuple[tuple[int, str], ...]:
        """The unfinished trick as (seat, card), in order of play."""
        end = int(self.vector[k.NUM_PLAYED])
        return self._plays(end - int(self.vector[k.TRICK_LEN]), end)

    @property
    def history(self) -> tuple[tuple[int, str], ...]:
        """Every card played as (seat, card), in order."""
        return self._plays(0, int(self.vector[k.NUM_PLAYED]))

    def _plays(self, begin: int, end: int) -> tuple[tuple[int, str], ...]:
        deck = self.rules.deck
        plays = self.vector[k.HISTORY + begin : k.HISTORY + end].tolist()
        return tuple([(code >> 6, deck[code & 63]) for code in plays])

    @property
    def tricks(self) -> tuple[tuple[tuple[int, str], ...], ...]:
        """The finished tricks, each in order of play."""
        history, n = self.history, self.rules.players
        return tuple(history[i : i + n] for i in range(0, len(history) - n + 1, n))

    @property
    def trick_number(self) -> int:
        """How many tricks are finished."""
        return int(self.vector[k.TRICK_NUM])

    @property
    def leader(self) -> int | None:
        """The seat that led the unfinished trick, or is to lead; None outside play."""
        return self._seat(k.LEADER)

    @property
    def winner(self) -> int | None:
        """The seat that takes the unfinished trick as it stands."""
        return self._seat(k.WINNER)

    @property
    def hearts_broken(self) -> bool:
        """Whether hearts may be led freely."""
        return bool(self.vector[k.BROKEN])

    @property
    def dealer(self) -> int:
        """The seat that dealt."""
        return int(self.vector[k.DEALER])

    @property
    def deal_number(self) -> int:
        """Which deal of a match this is, from 0."""
        return int(self.vector[k.DEAL_NUMBER])

    @property
    def direction(self) -> str:
        """Where the exchange of this deal goes: ``left``, ``right``, ``across`` or ``hold``."""
        if not self.rules.pass_count:
            return "hold"
        rotation = self.rules.pass_rotation
        return rotation[self.deal_number % len(rotation)]

    @property
    def shooter(self) -> int | None:
        """Who shot the moon, once the last trick is taken."""
        return self._seat(k.SHOOTER)

    @property
    def moon_choice(self) -> str | None:
        """What a shooter chose: ``off`` (points off oneself) or ``others`` (the others pay)."""
        return {-1: None, 0: "off", 1: "others"}[int(self.vector[k.MOON_CHOICE])]

    @property
    def revoker(self) -> int | None:
        """Who ended the deal by an illegal action."""
        return self._seat(k.REVOKER)

    @property
    def kitty_taker(self) -> int | None:
        """Who was awarded the kitty."""
        return self._seat(k.KITTY_TAKER)

    @property
    def kitty(self) -> tuple[str, ...]:
        """The cards not dealt."""
        return self._cards(self.vector[k.KITTY])

    @property
    def totals(self) -> tuple[int, ...]:
        """The scores before this deal in a match."""
        return tuple(self.vector[k.TOTALS : k.TOTALS + self.rules.players].tolist())

    def tricks_taken(self) -> list[int]:
        """How many tricks each seat has taken."""
        return list(self.vector[k.TRICKS : k.TRICKS + self.rules.players].tolist())

    def taken(self, player: int) -> tuple[str, ...]:
        """The cards that a seat has taken, an awarded kitty among them."""
        return self._cards(self.vector[k.TAKEN + self._check(player)])

    def played(self, player: int) -> tuple[str, ...]:
        """The cards that a seat has played."""
        return self._cards(self.vector[k.PLAYED + self._check(player)])

    def cards_left(self, player: int) -> int:
        """How many cards a seat holds."""
        return int(k.cards_left(self.rules.vector, self.vector, self._check(player)))

    def _points(self) -> list[int]:
        return list(self.vector[k.POINTS : k.POINTS + self.rules.players].tolist())

    def _voids(self, player: int) -> str:
        shown = int(self.vector[k.VOIDS + self._check(player)])
        return "".join(suit for i, suit in enumerate(SUITS) if shown >> i & 1)

    def _check(self, player: int) -> int:
        if player.__class__ is int and 0 <= player < self.rules.players:
            return player
        return check_player(player, self.rules.players)


class PlayerView(Position):
    """All that one player may know of a game, and nothing else: what every agent receives.

    ``vector`` is a state of the compiled core in which everything hidden is empty.
    """

    __slots__ = ("player",)

    def __init__(self, rules: Rules, vector: k.Vector, player: int) -> None:
        self.rules = rules
        self.vector = vector
        self.player = player

    # The player's own cards are plain fields: there is nobody else's to ask for.
    @property
    def hand(self) -> tuple[str, ...]:
        """The cards that the player holds."""
        return self._cards(self.vector[k.HANDS + self.player])

    @property
    def passed(self) -> tuple[str, ...]:
        """The cards that the player has chosen to pass."""
        return self._cards(self.vector[k.PASSED + self.player])

    @property
    def received(self) -> tuple[str, ...]:
        """The cards that the player was passed."""
        return self._cards(self.vector[k.RECEIVED + self.player])

    @property
    def voids(self) -> tuple[str, ...]:
        """The suits that each seat has shown to be void in, like ``"CS"``."""
        return tuple(self._voids(p) for p in range(self.rules.players))

    @property
    def points(self) -> list[int]:
        """The points of the cards that each seat has taken so far, before any moon."""
        return self._points()

    @property
    def to_move(self) -> int | None:
        """The seat whose turn it is; None when the game is over."""
        return self._seat(k.PLAYER)

    @property
    def legal_mask(self) -> int:
        """What this player may do now, as a bit mask over actions; 0 when another is to act."""
        if self.vector[k.PLAYER] != self.player:
            return 0
        return int(k.legal_mask(self.rules.vector, self.vector))

    def legal_actions(self) -> list[int]:
        """What this player may do now, ascending; empty when another is to act."""
        return list_of(self.legal_mask)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The cards whose place the player has not seen."""
        return self._cards(k.unseen_mask(self.rules.vector, self.vector, self.player))

    def to_text(self) -> str:
        """The view in words and cards, for people and language models."""
        from hearts_env.notation import format_view

        return format_view(self)

    # -- worlds -----------------------------------------------------------------------------------
    @property
    def num_worlds(self) -> int:
        """How many worlds are still possible, exactly."""
        return Worlds(self).count

    def worlds(self) -> Iterator[World]:
        """Everything still possible, in a fixed order: the present hands and, last, the dead cards.

        Uses all that play has shown: voids, the first lead, a heart led before hearts were broken,
        a penalty card on a first trick that forbids it, cards passed.

        Raises:
            HeartsError: there are more than a million.
        """
        worlds = Worlds(self)
        if worlds.count > MAX_WORLDS:
            raise HeartsError(
                f"worlds: {worlds.count:,} are possible, more than {MAX_WORLDS:,}; "
                "take sample_worlds(n, seed)"
            )
        return (tuple(self._cards(mask) for mask in world) for world in worlds)

    def sample_worlds(self, n: int, seed: int) -> list[World]:
        """`n` worlds drawn uniformly and independently from those still possible.

        Args:
            n: 0 to a million.
            seed: a whole number from 0; the same worlds for the same seed.

        Raises:
            HeartsError: `n` or `seed` is something else.
        """
        n = check_number("n", n, 0, MAX_WORLDS)
        seed = check_seed(seed)
        draw = Worlds(self).sampler(random.Random(f"hearts {seed}"))
        return [tuple(self._cards(mask) for mask in draw()) for _ in range(n)]

    # -- copies -----------------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlayerView):
            return NotImplemented
        return (
            self.player == other.player
            and self.rules == other.rules
            and bool(np.array_equal(self.vector, other.vector))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return PlayerView, (self.rules, self.vector, self.player)

    def __repr__(self) -> str:
        return f"<PlayerView of player {self.player}: {self.rules.name}, {self.phase}>"


class Worlds:
    """The possible owners of the cards that a player has not seen.

    Bounded per owner by a set of cards it can have and one it must have (``kernel.hidden_cards``);
    the first lead makes a disjoint union of such families, one for each card that may have been
    the lowest of all hands, and a dodging queen takes one family from another. So all can be
    counted and drawn exactly, card by card (Rules of sum and of inclusion and exclusion).
    """

    def __init__(self, view: PlayerView) -> None:
        self.view = view
        r, v, n = view.rules.vector, view.vector, view.rules.players
        size = k.MAX_PLAYERS + 1
        possible, certain, sizes = (np.zeros(size, np.int64) for _ in range(3))
        k.hidden_cards(r, v, view.player, possible, certain, sizes)
        self.owners = [p for p in range(n + 1) if p != view.player]
        self.sizes = tuple(int(sizes[p]) for p in self.owners)
        unseen = int(k.unseen_mask(r, v, view.player))
        self.unseen = list(cards_of(unseen))
        bounds = [int(possible[p]) for p in self.owners]
        for place, p in enumerate(self.owners):
            sure = int(certain[p])
            bounds = [b if i == place else b & ~sure for i, b in enumerate(bounds)]
        self.families = self._families(bounds)

    def _families(self, bounds: list[int]) -> list[tuple[int, ...]]:
        """The disjoint cases of the first lead, each as the cards that every owner can have."""
        view = self.view
        r, v, n = view.rules.vector, view.vector, view.rules.players
        leader = int(v[k.FIRST_LEADER])
        if leader in (-1, view.player) or r[k.R_FIRST_LEAD] == k.ELDEST_HAND:
            return [tuple(bounds)]
        place = self.owners.index(leader)
        seen = int(v[k.HANDS + view.player])
        for p in range(n):
            seen |= int(v[k.PLAYED + p])
        played = int(v[k.PLAYED + leader])
        lowest_seen = seen & -seen
        families = []
        # Case: the leader still holds the lowest card of all hands.
        for card in cards_of(bounds[place]):
            bit = 1 << card
            if lowest_seen and bit > lowest_seen:
                break
            # No hand has a lower card, and the leader has this one: nobody else can.
            family = [b & ~(bit - 1) & ~bit for b in bounds[:-1]] + [bounds[-1] & ~bit]
            family[place] |= bit
            families.append(tuple(family))
        # Case: it was played by the leader already.
        if lowest_seen & played:
            families.append(tuple([b & ~(lowest_seen - 1) for b in bounds[:-1]] + [bounds[-1]]))
        return families

    @functools.cached_property
    def count(self) -> int:
        """How many worlds there are."""
        return sum(self._count_family(family) for family in self.families)

    def _count_family(self, family: tuple[int, ...]) -> int:
        dodge = self._dodge(family)
        whole = _count_ways(_kinds(self.unseen, family), self.sizes)
        return whole - (_count_ways(_kinds(self.unseen, dodge), self.sizes) if dodge else 0)

    def _dodge(self, family: tuple[int, ...]) -> tuple[int, ...] | None:
        """The part of a family in which the player of a dodging queen had no card of the suit."""
        view = self.view
        suit = int(view.vector[k.DODGED])
        if suit < 0:
            return None
        cards = int(view.rules.vector[k.R_SUIT_MASK + suit])
        queen = next(i for i, (_, card) in enumerate(view.history) if card == "QS")
        dodger = view.history[queen][0]
        shown = mask_of(view.rules.index[c] for p, c in view.history[queen:] if p == dodger)
        if dodger == view.player or shown & cards:
            return None
        place = self.owners.index(dodger)
        return tuple(b & ~cards if i == place else b for i, b in enumerate(family))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """All worlds as card masks of every seat and, last, the dead cards."""
        found = itertools.chain.from_iterable(self._expand(family) for family in self.families)
        if len(self.families) > 1:  # one order, whatever the cases: by hands, lexicographic
            return iter(sorted(found, key=lambda world: [list_of(mask) for mask in world]))
        return found

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

        own = int(self.view.vector[k.HANDS + self.view.player])
        for hidden in assign(0, everything):
            if dodge and all(h & ~b == 0 for h, b in zip(hidden, dodge, strict=True)):
                continue
            hands = list(hidden)
            hands.insert(self.view.player, own)
            yield tuple(hands)

    def chances(self) -> NDArray[np.float64]:
        """The chance that each owner holds each card of the deck, ``(owners, deck)``, exact."""
        deck = len(self.view.rules.deck)
        ways = [[0] * deck for _ in self.owners]
        for family in self.families:
            for sign, bounds in ((1, family), (-1, self._dodge(family))):
                if bounds is not None:
                    self._add_ways(sign, bounds, ways)
        return np.array([[n / max(self.count, 1) for n in row] for row in ways])

    def _add_ways(self, sign: int, family: tuple[int, ...], ways: list[list[int]]) -> None:
        """Add to `ways` in how many worlds of the family each owner holds each card."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for card in self.unseen:
            groups.setdefault(_owners_of(card, family), []).append(card)
        for owners, cards in groups.items():
            for place in owners:
                # The card is there: one less of its kind, one place less.
                if not self.sizes[place]:
                    continue
                left = tuple(s - (i == place) for i, s in enumerate(self.sizes))
                others = [c for c in self.unseen if c != cards[0]]
                number = sign * _count_ways(_kinds(others, family), left)
                for card in cards:
                    ways[place][card] += number

    def sampler(self, rng: random.Random) -> Any:
        """A function that draws one world, uniformly, as card masks of every seat and the dead."""
        if self.count == 0:
            raise HeartsError("worlds: no world agrees with this view; it cannot have arisen")
        weights = [_count_ways(_kinds(self.unseen, family), self.sizes) for family in self.families]
        own = int(self.view.vector[k.HANDS + self.view.player])

        def draw() -> tuple[int, ...]:
            while True:
                (family,) = rng.choices(self.families, [w / sum(weights) for w in weights])
                hidden = _draw(self.unseen, family, self.sizes, rng)
                dodge = self._dodge(family)
                if dodge and all(h & ~b == 0 for h, b in zip(hidden, dodge, strict=True)):
                    continue
                hands = list(hidden)
                hands.insert(self.view.player, own)
                return tuple(hands)

        return draw


def _owners_of(card: int, family: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(place for place, bound in enumerate(family) if bound >> card & 1)


def _kinds(unseen: list[int], family: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """The unseen cards grouped by their possible owners: (owners, how many cards)."""
    counts: dict[tuple[int, ...], int] = {}
    for card in unseen:
        owners = _owners_of(card, family)
        counts[owners] = counts.get(owners, 0) + 1
    # Few owners first: the last kind then only fills up what room is left.
    return tuple(sorted(counts.items(), key=lambda kind: (len(kind[0]), kind)))


@functools.lru_cache(maxsize=1 << 16)
def _count_ways(kinds: tuple[tuple[tuple[int, ...], int], ...], sizes: tuple[int, ...]) -> int:
    """In how many ways cards of these kinds fill owners of these sizes."""
    if not kinds:
        return int(not any(sizes))
    (owners, number), rest = kinds[0], kinds[1:]
    return sum(ways * _count_ways(rest, left) for left, ways in _splits(owners, number, sizes))


def _splits(
    owners: tuple[int, ...], number: int, sizes: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """How `number` cards go to `owners`: what room is left then, and in how many ways."""
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
    """One way to fill the owners, uniform over all."""
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
