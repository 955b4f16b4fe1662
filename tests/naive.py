"""The rules of Hearts a second time: plain and slow, with sets, lists and strings.

Written from the rule book alone (it is quoted in the comments) and sharing no code with the
package, so that tests can play both in lock-step. A rules object is anything that has the
attributes of the rule book's table "The fields of Rules". Seats are 0, 1, ...; cards are strings
such as "QS"; action i is the i-th card of the deck.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

RANKS = "23456789TJQKA"
SUITS = "CDSH"
QUEEN = "QS"

World = tuple[tuple[str, ...], ...]


def naive_deck(removed: Iterable[str]) -> list[str]:
    """Return the cards in use, clubs diamonds spades hearts, each suit low to high."""
    out = set(removed)
    return [r + s for s in SUITS for r in RANKS if r + s not in out]


def suit_of(card: str) -> str:
    """Return the suit letter of a card."""
    return card[1]


def rank_of(card: str) -> int:
    """Return the rank of a card, 0 for a two up to 12 for an ace."""
    return RANKS.index(card[0])


def in_suit(cards: Iterable[str], suit: str) -> set[str]:
    """Return the cards of one suit."""
    return {card for card in cards if suit_of(card) == suit}


def deck_order(cards: Iterable[str]) -> tuple[str, ...]:
    """Return the cards in deck order."""
    return tuple(sorted(cards, key=lambda card: (SUITS.index(suit_of(card)), rank_of(card))))


@dataclass(frozen=True)
class NaiveKnowledge:
    """Everything that one player may know: its own cards and all public facts.

    Attributes:
        player: The observer.
        phase: "pass", "play", "moon" or "over".
        hand: The observer's present hand.
        history: Every card played, in order, as (player, card).
        broken: After each card of the history, whether hearts could be led freely: this is public
            (a view shows it), and tells a void from a queen played at any time.
        first_leader: The leader of the first trick, or None until the exchange is over.
        passed: The cards the observer has chosen to pass.
        received: The cards the observer got in the exchange.
        kitty: The kitty once it is face up, else None.
        deal_number: Picks the entry of the passing rotation.
        dealer: The seat before the eldest hand.
    """

    player: int
    phase: str
    hand: frozenset[str]
    history: tuple[tuple[int, str], ...]
    broken: tuple[bool, ...]
    first_leader: int | None
    passed: frozenset[str]
    received: frozenset[str]
    kitty: frozenset[str] | None
    deal_number: int
    dealer: int


class NaiveGame:
    """One deal, from the exchange to the score.

    Attributes:
        phase: "pass", "play", "moon" or "over".
        player: The seat to act, or None when the game is over.
        hands: The present hand of each seat, as sets.
        kitty: The cards not dealt, a set; it stays here when awarded.
        taken: The cards of the tricks each seat took, without the kitty.
        tricks_taken: How many tricks each seat took.
        trick: The unfinished trick as (player, card), empty between tricks.
        history: All cards played, as (player, card).
        broken: `hearts_broken` after each card of the history.
        hearts_broken: True if hearts may be led, from the start if no rule forbids it.
        leader: Who leads the trick in progress; None in the exchange, in the end the last taker.
        first_leader: The leader of trick 1, or None in the exchange.
        passed: The cards each seat has chosen to pass.
        received: The cards each seat got; empty sets until all are delivered together.
        kitty_taker: The seat that was awarded a kitty of at least one card, or None.
        shooter: Who shot the moon, known after the last trick; None too if there is no such rule.
        moon_choice: The action chosen in phase "moon", else None.
        offender: Who made the illegal action that ended the deal, else None.
    """

    def __init__(
        self,
        rules: Any,
        hands: Sequence[Iterable[str]],
        kitty: Iterable[str] = (),
        deal_number: int = 0,
        dealer: int = 0,
        *,
        exchanged: bool = False,
    ) -> None:
        """Start from known hands; `exchanged` if they are the hands after the exchange."""
        self.rules = rules
        self.deck = naive_deck(rules.removed)
        self.hands = [set(hand) for hand in hands]
        self.kitty = set(kitty)
        self.deal_number = deal_number
        self.dealer = dealer
        everything = [card for cards in (*self.hands, self.kitty) for card in cards]
        assert sorted(everything) == sorted(self.deck), "each card of the deck exactly once"
        assert [len(h) for h in self.hands] == [rules.hand_size] * rules.players, "hand sizes"

        seats = range(rules.players)
        self.taken: list[set[str]] = [set() for _ in seats]
        self.tricks_taken = [0 for _ in seats]
        self.trick: list[tuple[int, str]] = []
        self.history: list[tuple[int, str]] = []
        self.broken: list[bool] = []
        self.passed: list[set[str]] = [set() for _ in seats]
        self.received: list[set[str]] = [set() for _ in seats]
        # "`break_on = None` any time".
        self.hearts_broken: bool = rules.break_on is None
        self.leader: int | None = None
        self.first_leader: int | None = None
        self.kitty_taker: int | None = None
        self.shooter: int | None = None
        self.moon_choice: int | None = None
        self.offender: int | None = None
        self.current_player: int | None = 0
        self.phase = "pass"
        # "`hold` no exchange".
        if exchanged or rules.pass_count == 0 or pass_offset(rules, deal_number) == 0:
            self._start_play()

    # ---- what may be played -------------------------------------------------------------------

    def legal(self) -> list[int]:
        """Return the legal actions of the player to act in ascending order, none when over."""
        if self.phase == "moon":
            # "two extra actions, ids len(deck) and len(deck)+1".
            return [len(self.deck), len(self.deck) + 1]
        return sorted(self.deck.index(card) for card in self.legal_cards())

    def legal_cards(self) -> set[str]:
        """Return the cards that the player to move may pass or play."""
        if self.current_player is None or self.phase == "moon":
            return set()
        hand = self.hands[self.current_player]
        if self.phase == "pass":
            # "A chosen card is not legal again, and stays in the hand".
            return hand - self.passed[self.current_player]
        if not self.history:
            return self._first_leads(hand)
        return self._follows(hand) if self.trick else self._leads(hand)

    def _first_leads(self, hand: set[str]) -> set[str]:
        # "the seat after the dealer leads any card that `break_on` and `unbroken_lead` allow".
        if self.rules.first_lead == "eldest_hand":
            return self._leads(hand)
        lowest = deck_order(hand)[0]
        # "leads that very card".
        if self.rules.first_lead == "lowest_club":
            return {lowest}
        # "leads any own club", or of "the next suit in deck order".
        return in_suit(hand, suit_of(lowest))

    def _leads(self, hand: set[str]) -> set[str]:
        others = {card for card in hand if suit_of(card) != "H"}
        # "not before hearts are broken".
        if self.hearts_broken:
            return set(hand)
        # "a leader who holds nothing but hearts may lead one", which all the exceptions contain.
        if not others:
            return set(hand)
        # "a leader whose cards other than hearts are all spades may lead a heart".
        exception = self.rules.unbroken_lead
        if exception == "spades_or_hearts" and others == in_suit(others, "S"):
            return set(hand)
        # "a leader whose only other card is QS may lead a heart".
        if exception == "queen_frees_hearts" and others == {QUEEN}:
            return set(hand)
        return others

    def _follows(self, hand: set[str]) -> set[str]:
        same = in_suit(hand, suit_of(self.trick[0][1]))
        if same:
            # "Follow the led suit if able."
            cards = same
        else:
            # "If not: any card."
            cards = set(hand)
            # "on trick 1 a player void in the led suit may not play a card worth penalty points
            # unless the hand holds nothing else (a bonus card is allowed)".
            if sum(self.tricks_taken) == 0 and not self.rules.points_on_first_trick:
                cards = {card for card in hand if self._value(card) <= 0} or cards
        # "the holder of QS may play it instead of following suit", on trick 1 too.
        if self.rules.queen_any_time and QUEEN in hand:
            cards = cards | {QUEEN}
        return cards

    # ---- what happens -------------------------------------------------------------------------

    def play(self, action: int) -> None:
        """Pass or play the card `action`, or make the moon choice; raise ValueError if illegal."""
        if action not in self.legal():
            raise ValueError(f"action {action} is not one of {self.legal()}")
        assert self.current_player is not None
        if self.phase == "moon":
            self.moon_choice = action
            self._end()
        elif self.phase == "pass":
            self._pass_card(self.deck[action])
        else:
            self._play_card(self.deck[action])

    def revoke(self) -> None:
        """End the deal by an illegal action of the player to move."""
        assert self.current_player is not None, "the deal is over"
        self.offender = self.current_player
        self.shooter = None  # Known already at a moon choice, but a revoked deal has no moon.
        self._end()

    def _end(self) -> None:
        self.phase, self.current_player = "over", None

    def _pass_card(self, card: str) -> None:
        assert self.current_player is not None
        self.passed[self.current_player].add(card)
        # "Seat 0 chooses all its `pass_count` cards, then seat 1, and so on, whoever deals."
        if len(self.passed[self.current_player]) == self.rules.pass_count:
            self.current_player += 1
        if self.current_player < self.rules.players:
            return
        # "until all are delivered together".
        for seat, cards in enumerate(self.passed):
            self.received[pass_target(self.rules, self.deal_number, seat)] = set(cards)
        for seat, hand in enumerate(self.hands):
            self.hands[seat] = (hand - self.passed[seat]) | self.received[seat]
        self._start_play()

    def _start_play(self) -> None:
        if self.rules.first_lead == "eldest_hand":
            # "the seat after the dealer".
            first = (self.dealer + 1) % self.rules.players
        else:
            # "whoever holds the lowest club in any hand (after the exchange)"; without clubs "the
            # next suit in deck order stands in": the lowest card of the deck that was dealt.
            lowest = deck_order(card for hand in self.hands for card in hand)[0]
            first = next(seat for seat, hand in enumerate(self.hands) if lowest in hand)
        self.phase = "play"
        self.first_leader = self.leader = self.current_player = first

    def _play_card(self, card: str) -> None:
        assert self.current_player is not None
        hand, rules = self.hands[self.current_player], self.rules
        void = bool(self.trick) and not in_suit(hand, suit_of(self.trick[0][1]))
        # "broken once a heart has been played", under both.
        if suit_of(card) == "H":
            self.hearts_broken = True
        # "broken once a player could not follow suit, whatever they then played".
        if rules.break_on == "void" and void:
            self.hearts_broken = True
        # "the queen of spades, played, breaks hearts too".
        if rules.queen_breaks_hearts and card == QUEEN:
            self.hearts_broken = True
        hand.remove(card)
        self.trick.append((self.current_player, card))
        self.history.append((self.current_player, card))
        self.broken.append(self.hearts_broken)
        if len(self.trick) == rules.players:
            self._finish_trick()
        else:
            self.current_player = (self.current_player + 1) % rules.players

    def _finish_trick(self) -> None:
        cards = {card: seat for seat, card in self.trick}
        # "to the highest card of the `trump` suit if one was played, else of the led suit".
        trumps = in_suit(cards, self.rules.trump) if self.rules.trump else set()
        strongest = max(trumps or in_suit(cards, suit_of(self.trick[0][1])), key=rank_of)
        taker = cards[strongest]
        self.taken[taker] |= set(cards)
        self.tricks_taken[taker] += 1
        self.trick = []
        if self.kitty and self.kitty_taker is None and self._awards_kitty(set(cards)):
            self.kitty_taker = taker
        # "Its taker leads the next."
        self.leader = self.current_player = taker
        if not any(self.hands):
            self._finish_play()

    def _awards_kitty(self, cards: set[str]) -> bool:
        """Return whether the trick just finished takes the kitty."""
        if self.rules.kitty_to == "first_trick":
            return sum(self.tricks_taken) == 1
        if self.rules.kitty_to == "last_trick":
            return not any(self.hands)
        # "the first trick with any penalty card"; the first such trick, as the kitty has not been
        # awarded.
        if self.rules.kitty_to == "first_penalty":
            return any(self._value(card) > 0 for card in cards)
        # "the trick in which the first heart was played".
        return self.rules.kitty_to == "first_heart" and bool(in_suit(cards, "H"))

    def _finish_play(self) -> None:
        self._end()
        if self.rules.moon == "none":
            return
        # "one player has taken every penalty card that anybody took, and there was at least one".
        takers = [
            seat
            for seat in range(self.rules.players)
            if any(self._value(card) > 0 for card in self._won(seat))
        ]
        if len(takers) == 1:
            self.shooter = takers[0]
            # "after the last trick the shooter picks one of two extra actions".
            if self.rules.moon == "choose":
                self.phase, self.current_player = "moon", self.shooter

    # ---- scores -------------------------------------------------------------------------------

    def _value(self, card: str) -> int:
        return int(self.rules.card_points.get(card, 0))

    def _won(self, seat: int) -> set[str]:
        # "Kitty cards score like taken cards."
        return self.taken[seat] | (self.kitty if self.kitty_taker == seat else set())

    def points(self) -> list[int]:
        """Return the points of the cards each seat has taken so far, an awarded kitty's too."""
        return [sum(map(self._value, self._won(seat))) for seat in range(self.rules.players)]

    def scores(self) -> list[int]:
        """Return each seat's score; before the end as if the deal stopped now, without a moon."""
        if self.offender is not None:
            return self._revoked_scores()
        if self.phase == "over" and self.shooter is not None:
            return self._moon_scores(self.shooter)
        # "added to a player who took no trick, unless the moon was shot".
        return [
            points + (self.rules.no_trick_points if tricks == 0 else 0)
            for points, tricks in zip(self.points(), self.tricks_taken, strict=True)
        ]

    def _moon_scores(self, shooter: int) -> list[int]:
        # "`len(deck)` (take the points off oneself) and `len(deck)+1` (give them to everybody)".
        to_self = self.rules.moon == "self_minus" or self.moon_choice == len(self.deck)
        scores = []
        for seat in range(self.rules.players):
            # "`others_plus`: shooter 0, every other player `moon_points`";
            # "`self_minus`: shooter -`moon_points`, the others 0".
            if to_self:
                score = -self.rules.moon_points if seat == shooter else 0
            else:
                score = 0 if seat == shooter else self.rules.moon_points
            # "Bonus points stay with whoever took them and are added on top."
            scores.append(score + sum(min(self._value(card), 0) for card in self._won(seat)))
        return scores

    def _revoked_scores(self) -> list[int]:
        # "the offender is charged every penalty point still in play or taken in this deal, nobody
        # else anything". A kitty that goes to a player is in play or taken. Any other is dead.
        live = set(self.deck) if self.rules.kitty_to != "nobody" else set(self.deck) - self.kitty
        charge = sum(max(self._value(card), 0) for card in live)
        return [charge if seat == self.offender else 0 for seat in range(self.rules.players)]

    # ---- knowledge of one player --------------------------------------------------------------

    def knowledge(self, player: int) -> NaiveKnowledge:
        """Return the knowledge of `player`."""
        return NaiveKnowledge(
            player=player,
            phase=self.phase,
            hand=frozenset(self.hands[player]),
            history=tuple(self.history),
            broken=tuple(self.broken),
            first_leader=self.first_leader,
            passed=frozenset(self.passed[player]),
            received=frozenset(self.received[player]),
            # "An awarded kitty is turned face up for all"; a dead one is "never shown".
            kitty=frozenset(self.kitty) if self.kitty_taker is not None else None,
            deal_number=self.deal_number,
            dealer=self.dealer,
        )


def pass_offset(rules: Any, deal_number: int) -> int:
    """Return how many seats on the passed cards go in this deal, 0 for no exchange."""
    # "The rotation's entry is `pass_rotation[deal_number % len]`."
    entry = rules.pass_rotation[deal_number % len(rules.pass_rotation)]
    # "`left` is seat +1, `right` seat -1, `across` seat + players//2, `hold` no exchange."
    offsets: dict[str, int] = {"left": 1, "right": -1, "across": rules.players // 2, "hold": 0}
    return offsets[entry]


def pass_target(rules: Any, deal_number: int, seat: int) -> int:
    """Return the seat that gets the cards `seat` passes."""
    return int((seat + pass_offset(rules, deal_number)) % rules.players)


# ---- worlds: everything that one player must still think possible -------------------------------


def naive_worlds(rules: Any, known: NaiveKnowledge) -> set[World]:
    """Return every distribution of the unseen cards that fits a player's knowledge.

    All assignments are tried; one is kept if the whole public history, replayed from the hands
    which it implies, begins with the right leader, is legal at every card and breaks hearts when
    they were seen to break. Exponential: look at `naive_world_bound` first.

    Args:
        rules: The rules.
        known: The knowledge of the player, from `NaiveGame.knowledge`.

    Returns:
        A set of tuples: the present hand of each seat and, last, the dead cards (an awarded kitty
        is not dead but face up, so that they are none then), each a tuple in deck order.
    """
    unseen, sizes = _unseen(rules, known)
    worlds = set()
    for split in _splits(unseen, sizes):
        # The observer's share of the unseen cards is empty.
        present, dead = split[:-1], split[-1]
        present[known.player] = set(known.hand)
        if _fits(rules, known, present, dead):
            worlds.add((*map(deck_order, present), deck_order(dead)))
    return worlds


def naive_world_bound(rules: Any, known: NaiveKnowledge) -> int:
    """Return how many assignments `naive_worlds` would try."""
    unseen, sizes = _unseen(rules, known)
    left, count = len(unseen), 1
    for size in sizes:
        count *= comb(left, size)
        left -= size
    return count


def _unseen(rules: Any, known: NaiveKnowledge) -> tuple[set[str], list[int]]:
    """Return the cards out of sight, and how many each seat (the observer none) and the dead get.

    The sizes always add up to the number of cards.
    """
    played = {card for _, card in known.history}
    unseen = set(naive_deck(rules.removed)) - known.hand - played - (known.kitty or set())
    sizes = [
        0
        if seat == known.player
        else rules.hand_size - sum(seat == player for player, _ in known.history)
        for seat in range(rules.players)
    ]
    return unseen, [*sizes, len(unseen) - sum(sizes)]


def _splits(cards: set[str], sizes: Sequence[int]) -> Iterator[list[set[str]]]:
    """Yield every way to part the cards into sets of the given sizes."""
    if not sizes:
        yield []
        return
    for first in combinations(deck_order(cards), sizes[0]):
        for rest in _splits(cards - set(first), sizes[1:]):
            yield [set(first), *rest]


def _fits(rules: Any, known: NaiveKnowledge, present: list[set[str]], dead: set[str]) -> bool:
    """Return whether the play so far could have come from these hands."""
    if known.first_leader is None:
        return True  # The exchange is under way: no one has shown anything.
    hands = [
        hand | {card for player, card in known.history if player == seat}
        for seat, hand in enumerate(present)
    ]
    # Cards passed were in the receiver's hand when play began. Cards received are in the own
    # hand, and prove nothing about the hands of others.
    if not known.passed <= hands[pass_target(rules, known.deal_number, known.player)]:
        return False
    kitty = dead | (known.kitty or set())
    game = NaiveGame(rules, hands, kitty, known.deal_number, known.dealer, exchanged=True)
    # The first leader holds the lowest card dealt (or is the eldest hand).
    if game.current_player != known.first_leader:
        return False
    for (player, card), broken in zip(known.history, known.broken, strict=True):
        if game.current_player != player or card not in game.legal_cards():
            return False
        game.play(game.deck.index(card))
        if game.hearts_broken != broken:
            return False
    return True


# ---- a match ------------------------------------------------------------------------------------


def naive_settle(
    method: str, points: Sequence[int], pool: Fraction | int = 0
) -> tuple[list[Fraction], Fraction]:
    """Settle one deal in chips.

    Args:
        method: "simple", "sweepstakes" or "howell".
        points: The points h each player took.
        pool: What earlier deals left in the pool.

    Returns:
        Each player's win (negative: a loss), and the pool for the next deal.
    """
    n, total, pool = len(points), sum(points), Fraction(pool)
    if method == "howell":
        # "everyone pays h·(n-1) and takes out T-h".
        return [Fraction(-h * (n - 1) + (total - h)) for h in points], pool
    if method == "simple":
        # "everyone pays h; the player(s) with the fewest take and share the pot".
        winners = [seat for seat in range(n) if points[seat] == min(points)]
        pot, pool_left = Fraction(total), pool
    elif method == "sweepstakes":
        # "everyone pays h into the pool; exactly those with none share the pool, unless nobody has
        # none or one player took them all: then the pool carries over to the next deal".
        winners = [seat for seat in range(n) if points[seat] == 0]
        pot, pool_left = pool + total, Fraction(0)
        if len(winners) in (0, n - 1):
            winners, pot, pool_left = [], Fraction(0), pot
    else:
        raise ValueError(f"no way to settle: {method}")
    shares = {seat: pot / len(winners) for seat in winners}
    return [shares.get(seat, Fraction(0)) - h for seat, h in enumerate(points)], pool_left


class NaiveMatch:
    """The account of a match whose deals are played elsewhere.

    Attributes:
        totals: The total score of each player or, settled in chips, the chips each has.
        pool: The chips in the pool.
        deal_number: The number of the next deal, which is also how many have been played.
        dealer: The dealer of the next deal.
        is_over: Whether the match has ended.
        winners: The seats that share first place at the end, none before.
    """

    def __init__(self, rules: Any, dealer: int = 0) -> None:
        """Start with no points or, in chips, with `stake` for each player."""
        self.rules = rules
        self.in_chips: bool = rules.settlement != "points"
        # "In chips every player starts with `stake`".
        start = rules.stake if self.in_chips else 0
        self.totals = [Fraction(start) for _ in range(rules.players)]
        self.pool = Fraction(0)
        self.deal_number = 0
        self.dealer = dealer
        self.is_over = False
        self.all_passed_at_once = False
        self.winners: list[int] = []

    @property
    def winner(self) -> int | None:
        """The only winner, or None before the end and if first place is shared."""
        return self.winners[0] if len(self.winners) == 1 else None

    def add_game(self, game: NaiveGame) -> None:
        """Add a deal that is over."""
        assert game.phase == "over"
        # Chips are settled by "the points a player took": no moon, nothing for taking no trick. A
        # revoke's charge is settled as if the offender had taken them all.
        taken = self.in_chips and game.offender is None
        self.add_deal(game.points() if taken else game.scores())

    def add_deal(self, results: Sequence[int]) -> None:
        """Add a deal, given the scores or, settled in chips, the points taken."""
        assert not self.is_over
        before = list(self.totals)
        net = [Fraction(score) for score in results]
        if self.in_chips:
            net, self.pool = naive_settle(self.rules.settlement, results, self.pool)
        # "Deals follow one another, scores add up".
        self.totals = [total + change for total, change in zip(before, net, strict=True)]
        # "`deal_number` grows by one each deal of a match"; "the dealer moves one seat each deal".
        self.deal_number += 1
        self.dealer = (self.dealer + 1) % self.rules.players
        ended = self._chips_end() if self.in_chips else self._points_end(before)
        # "`max_deals` ends a match early; the lowest total wins, ties stand".
        if ended or self.deal_number == self.rules.max_deals:
            self._finish()

    def _leaders(self) -> list[int]:
        # "Lowest total wins"; in chips "Most chips wins".
        best = max(self.totals) if self.in_chips else min(self.totals)
        return [seat for seat, total in enumerate(self.totals) if total == best]

    def _is_past(self, total: Fraction) -> bool:
        # "`reached` (>=) or `exceeded` (>) `end_score`".
        if self.rules.end_when == "reached":
            return bool(total >= self.rules.end_score)
        return bool(total > self.rules.end_score)

    def _points_end(self, before: Sequence[Fraction]) -> bool:
        # "from then on play goes on deal by deal until the lowest total is not shared".
        if self.all_passed_at_once:
            return len(self._leaders()) == 1
        # "until after a deal some total has reached or exceeded `end_score`".
        if not any(map(self._is_past, self.totals)):
            return False
        # "also if all players have passed the limit in that deal" another one is played: all were
        # within it before and none is after. (Not "all are past it": that might never end.)
        if (
            self.rules.tie == "all_past_limit"
            and not any(map(self._is_past, before))
            and all(map(self._is_past, self.totals))
        ):
            self.all_passed_at_once = True
            return False
        # "if the lowest total is shared, another deal is played".
        return len(self._leaders()) == 1

    def _chips_end(self) -> bool:
        # "the deal in which someone has lost it all (the last payment may take a total below
        # zero) or has won `target`", on top of the stake.
        lost = any(chips <= 0 for chips in self.totals)
        won = self.rules.target is not None and any(
            chips - self.rules.stake >= self.rules.target for chips in self.totals
        )
        # "a shared first place plays on".
        return (lost or won) and len(self._leaders()) == 1

    def _finish(self) -> None:
        self.is_over = True
        # "a pool left at the end is divided equally".
        share = self.pool / self.rules.players
        self.totals = [total + share for total in self.totals]
        self.pool = Fraction(0)
        self.winners = self._leaders()
