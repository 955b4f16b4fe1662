"""Control variates: what luck did in a deal, so that fewer deals show who is better.

A control variate is a number of each duplicate deal whose expectation is known to be 0. What is
left of the margins after subtracting the best multiple of it (``adjusted``) has the same mean and
less variance. `python bench/variates.py` measures what each of these saves, in deals and in time.

``cards_luck``
    What the hidden cards did for an agent, given how its opponent plays (AIVAT: Burch, Schmid,
    Moravcik, Morrill and Bowling 2018, its chance terms). Whenever the opponent plays a card, the
    value of the position as the agent sees it changes. Before that card, the agent's view allows
    some worlds; with the opponent's own policy each has its exact probability, and each says which
    card comes. So the expectation over the cards that might have come is computed exactly, and
    the value after the real card, less that expectation, has mean 0, whatever value is used (here
    the mean double-dummy margin over the worlds still possible) and however the agent plays, as
    long as it knows its view only.

``draws_luck``
    What an agent's own random choices did (AIVAT, its action terms): the double-dummy margin of the
    card played, less the mean over the agent's own probabilities of all its cards. It has mean 0
    given everything before, hidden cards too. For players that draw no random numbers it is 0.

``deal_value``
    The double-dummy margin of a seat. In a duplicate deal, whose seats are swapped, it cancels:
    it helps only where a deal is played once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hearts_env import BatchGame, HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import (
    Policy,
    begin_past,
    check_policy,
    check_two_players,
    hidden_hands,
)
from hearts_env.solve.dd.search import card_values
from hearts_env.solve.double_dummy import TranspositionTable, solve_batch
from hearts_env.support.arrays import Array, Floats, Ints
from hearts_env.support.jit import jit
from hearts_env.views.view import PlayerView
from hearts_train.measure.contest import Contest, check_deals
from hearts_train.measure.duel import Duel
from hearts_train.measure.participants import AgentLike
from hearts_train.measure.statistics import finite_values


class Plays(NamedTuple):
    """Duplicate deals of two players, with the games as they ended.

    Attributes:
        margins: ``(deals,)``, the agent's mean margin of both plays of each deal.
        singles: ``(deals, 2)``, its margin in each play, in seat 0 and in seat 1.
        states: Of each seating ``(deals, rules.state_size)``, the games at their end.
        rules: What was played.
    """

    margins: Floats
    singles: Floats
    states: list[k.Vector]
    rules: Rules


def play_pairs(
    agent: AgentLike, opponent: AgentLike, rules: Rules | str, deals: int, seed: int = 0
) -> Plays:
    """Play duplicate deals of two players, and keep the games: those of an evaluation's block.

    Raises:
        HeartsError: as ``evaluate``, and if the rules are not for two players.
    """
    contest = Contest([agent, opponent], rules, seed)
    check_two_players(contest.rules)
    duel = _Recorded(contest.participants[0], contest.participants[1], contest.rules, contest.seed)
    scores = duel.play(0, check_deals(deals)).scores
    singles = (scores[:, 1] - scores[:, 0]).reshape(-1, 2).astype(np.float64)
    return Plays(singles.mean(1), singles, duel.states, contest.rules)


class _Recorded(Duel):
    """A duel that records the final states of each seating."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.states: list[k.Vector] = []

    def _play_out(self, batch: BatchGame, *args: Any) -> None:
        super()._play_out(batch, *args)
        self.states.append(batch.states.copy())


def cards_luck(
    rules: Rules,
    states: k.Vector,
    seat: int,
    policy: Policy,
    table: TranspositionTable | None = None,
) -> Floats:
    """What the hidden cards did for the player in `seat`, in points of its margin, ``(n,)``.

    `states` are ``(n, rules.state_size)`` finished games of two players without an exchange, and
    `policy` is that of the other player; if it did play so, the expectation is 0.
    """
    _check(rules, states)
    table = table or TranspositionTable(rules)
    return np.array([_cards_luck(rules, state, seat, policy, table) for state in states])


def draws_luck(
    rules: Rules,
    states: k.Vector,
    seat: int,
    policy: Policy,
    table: TranspositionTable | None = None,
) -> Floats:
    """What its own random choices did for the player in `seat`, in points of its margin, ``(n,)``.

    `policy` is the player's own; if it did play so, the expectation is 0.
    """
    _check(rules, states)
    table = table or TranspositionTable(rules)
    n, cards = len(states), 2 * rules.hand_size
    vectors = np.empty((n * cards, rules.state_size), np.int64)
    found, scratch = np.empty((n * cards, 2), np.int64), np.empty(rules.state_size, np.int64)
    values = np.zeros((n * cards, k.MAX_CARDS), np.int64)
    count = int(
        _write_choices(rules.vector, states, seat, table.vector, scratch, vectors, found, values)
    )
    views = BatchView(rules, vectors[:count], np.full(count, seat, np.int64))
    chances = check_policy(policy(views), views.legal_table)
    cards_of = values[:count, : chances.shape[1]]
    games, played = found[:count].T
    gained = values[np.arange(count), played] - (chances * cards_of).sum(1)
    luck: Floats = np.bincount(games, gained, n).astype(np.float64)
    return luck


def deal_value(rules: Rules, states: k.Vector, seat: int) -> Floats:
    """The double-dummy margin of `seat` in each deal, ``(n,)``; both seats' sum to 0."""
    _check(rules, states)
    starts = np.empty_like(states)
    for state, out in zip(states, starts, strict=True):
        hands = [int(k.hand_at_start(state, p)) for p in range(2)]
        begin_past(rules.vector, state, hands[0], hands[1], out)
    values = solve_batch(starts, rules).astype(np.float64)
    signs: Floats = np.where(starts[:, k.PLAYER] == seat, 1.0, -1.0)
    return signs * values


def adjusted(margins: Array, variates: Sequence[Array]) -> Floats:
    """The margins less the best multiples of some control variates, ``(n,)``.

    The multiples are found by least squares, those for one half of the deals in the other half, so
    that the mean stays unbiased. Eight deals or more.
    """
    left = finite_values("margins", margins).copy()
    columns = [finite_values("variates", variate) for variate in variates]
    if any(len(column) != len(left) for column in columns) or len(left) < 8:
        lengths = sorted({len(left), *map(len, columns)})
        raise HeartsError(
            f"variates: arrays of {lengths} deals; give one number a deal, of eight deals or more"
        )
    table = np.column_stack(columns) if columns else np.empty((len(left), 0))
    is_first = np.arange(len(left)) % 2 == 0
    found = left.copy()
    for half in (is_first, ~is_first):
        x, y = table[half], left[half]
        multiples = np.linalg.lstsq(x - x.mean(0), y - y.mean(), rcond=None)[0]
        found[~half] = left[~half] - table[~half] @ multiples
    return found


def _check(rules: Rules, states: k.Vector) -> None:
    check_two_players(rules)
    if states.ndim != 2 or states.shape[1] != rules.state_size or states.dtype != np.int64:
        raise HeartsError(
            f"states: shape {states.shape} and dtype {states.dtype}; needed are "
            f"(num, {rules.state_size}) and int64"
        )


# ---- one game ------------------------------------------------------------------------------------
def _cards_luck(
    rules: Rules, state: k.Vector, seat: int, policy: Policy, table: TranspositionTable
) -> float:
    r, other = rules.vector, 1 - seat
    hands = [int(k.hand_at_start(state, p)) for p in range(2)]
    worlds = _worlds(rules, state, hands, seat)
    weights = np.ones(len(worlds))
    values = np.empty((len(worlds), k.MAX_CARDS), np.int64)
    luck = 0.0
    for turn in range(int(state[k.NUM_PLAYED])):
        card = int(k.card_at(r, state, turn))
        if int(k.seat_at(r, state, turn)) == other and len(worlds) > 1:
            vectors = np.empty_like(worlds)
            _write_views(r, worlds, other, vectors)
            views = BatchView(rules, vectors, np.full(len(worlds), other, np.int64))
            chances = check_policy(policy(views), views.legal_table)
            _write_values(r, worlds, other, table.vector, values)
            worth = -values[: len(worlds), : chances.shape[1]]  # the other's margins
            total = weights.sum()
            before = float(weights @ (chances * worth).sum(1)) / total
            likely = weights * chances[:, card]
            if not likely.any():
                raise HeartsError(
                    f"policy: it never plays {rules.deck[card]} where the other player did; give "
                    "the policy of the player that played"
                )
            luck += float(likely @ worth[:, card]) / likely.sum() - before
            alive = likely > 0
            worlds, weights = worlds[alive], likely[alive]
        _play_all(r, worlds, card)
    return luck


def _worlds(rules: Rules, state: k.Vector, hands: list[int], seat: int) -> k.Vector:
    """The deals that the player in `seat` thinks possible at first, a state each."""
    r = rules.vector
    start, seen = np.empty((2, rules.state_size), np.int64)
    begin_past(r, state, hands[0], hands[1], start)
    k.write_view(r, start, seat, seen)
    others: Ints = hidden_hands(PlayerView(rules, seen, seat))
    worlds = np.empty((len(others), rules.state_size), np.int64)
    for hidden, out in zip(others.tolist(), worlds, strict=True):
        hand0, hand1 = (hands[0], hidden) if seat == 0 else (hidden, hands[1])
        begin_past(r, state, hand0, hand1, out)
    return worlds


@jit
def _write_views(r: k.Vector, states: k.Vector, seat: int, vectors: k.Vector) -> None:
    """Write what `seat` sees of each state."""
    for i in range(len(states)):
        k.write_view(r, states[i], seat, vectors[i])


@jit
def _write_values(r: k.Vector, states: k.Vector, seat: int, mem: k.Vector, out: k.Vector) -> None:
    """Write the double-dummy margins of the cards of `seat`, which is to move, in each state."""
    for i in range(len(states)):
        out[i] = 0
        card_values(r, states[i], states[i, k.HANDS + k.SEAT * (1 - seat)], mem, out[i])


@jit
def _play_all(r: k.Vector, states: k.Vector, card: int) -> None:
    """Play a card in each state, in place."""
    for i in range(len(states)):
        k.play(r, states[i], card)


@jit
def _write_choices(
    r: k.Vector,
    states: k.Vector,
    seat: int,
    mem: k.Vector,
    s: k.Vector,
    vectors: k.Vector,
    found: k.Vector,
    values: k.Vector,
) -> int:
    """Write every choice of `seat` in finished games; returns how many there were.

    Each has a row in `vectors` (what it saw), `found` (the game's row, the card played) and
    `values` (the double-dummy margin of each legal card). `s` is memory for the replay.
    """
    count = 0
    for game in range(len(states)):
        end = states[game]
        begin_past(r, end, k.hand_at_start(end, 0), k.hand_at_start(end, 1), s)
        for turn in range(end[k.NUM_PLAYED]):
            card = k.card_at(r, end, turn)
            legal = k.legal_mask(r, s)
            if s[k.PLAYER] == seat and legal & (legal - 1):
                k.write_view(r, s, seat, vectors[count])
                found[count, 0], found[count, 1] = game, card
                card_values(r, s, s[k.HANDS + k.SEAT * (1 - seat)], mem, values[count])
                count += 1
            k.play(r, s, card)
    return count
