"""Exact values of two-player Hearts positions and cards with all cards seen.

The search is alpha-beta in zero windows (Pearl's Scout 1980, MTD(f): Plaat et al. 1996) over
positions between two tricks. Its transposition table stores positions in relative ranks, as in
bridge solvers (Ginsberg 1996, Haglund 2010). `docs/worlds.md` explains the techniques.
``hearts_env.solve.dd`` holds the search itself.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hearts_env import kernel as k
from hearts_env.batch.batch import BatchGame
from hearts_env.cards import list_of, mask_of
from hearts_env.game.game import Game
from hearts_env.rules.rules import Rules
from hearts_env.solve.dd.memory import forget, make_memory
from hearts_env.solve.dd.position import DEFAULT_NODES, H_LIMIT, H_NODES, MAX_ENDGAME
from hearts_env.solve.dd.search import card_values, position_values, world_values
from hearts_env.support.arguments import check_is, check_number
from hearts_env.support.arrays import Ints
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.support.workers import Threads
from hearts_env.views.hidden import unseen_mask
from hearts_env.views.view import PlayerView, World

_MOST_POOLED = 8  # rule sets that have tables in the pool


@dataclass(frozen=True)
class Solution:
    """The result of best play for the player to act.

    Attributes:
        value: the margin of the whole deal (the opponent's score less one's own) under best play by
            both players with all cards seen. Once the game is over, seat 0's margin.
        best: the actions that reach `value`, ascending. Empty once the game is over.
        values: the margin after each legal action.
        nodes: the number of positions searched.
    """

    value: int
    best: list[int]
    values: dict[int, int]
    nodes: int = 0


class TranspositionTable:
    """The solver's memory for one rule set: the bounds found so far.

    Entries do not depend on the deal, so results of one deal serve the next. Only one thread may
    use a table at a time.
    """

    def __init__(self, rules: Rules | str, *, log2_bytes: int = 20, endgames: int = 5) -> None:
        """Make an empty table.

        Args:
            rules: the rules, or a preset's name.
            log2_bytes: the base-2 logarithm of the size of the table in bytes, 14 to 34.
            endgames: positions of up to this many cards per hand are solved now, 0 to 7. None are
                solved if the deck or the points do not suit the table (`docs/worlds.md`).

        Raises:
            HeartsError: if the rules are not for two players, or a number is out of range.
        """
        self.rules = _check_rules(Rules.make(rules))
        log2_bytes = check_number("log2_bytes", log2_bytes, 14, 34)
        endgames = check_number("endgames", endgames, 0, MAX_ENDGAME)
        self.vector = make_memory(self.rules, log2_bytes, endgames)

    def clear(self) -> None:
        """Forget everything found so far."""
        forget(self.vector)

    def __repr__(self) -> str:
        return f"<TranspositionTable of {self.rules.name}: {self.vector.nbytes / 2**20:.1f} MiB>"


def solve_double_dummy(
    game: Game, *, table: TranspositionTable | None = None, max_nodes: int = DEFAULT_NODES
) -> Solution:
    """Return the value of a position and of each legal action under perfect play by both players.

    Args:
        game: a two-player game after the exchange. It is not changed.
        table: the table to use, by one thread at a time. If None, a table from a pool.
        max_nodes: the most positions to search. A deal of `two_player` needs a few hundred. Hands
            of 26 cards without trump need a million or two.

    Raises:
        HeartsError: if the game has more than two players or an unfinished exchange, the table is
            of other rules, or `max_nodes` was not enough.
    """
    check_is("game", game, Game, "give a game with all cards seen; a view has solve_worlds")
    rules = _check_rules(game.rules)
    if game.is_over:
        return Solution(int(game.margins()[0]), [], {})
    s = game.vector
    if s[k.PHASE] == k.PASS:
        raise HeartsError(
            "phase: the exchange is not over; play it first, the solver begins with the first lead"
        )
    if s[k.PHASE] == k.MOON:
        values = {}
        for action in game.legal_actions():
            after = game.clone()
            after.play(action)
            values[action] = int(after.margins()[int(s[k.PLAYER])])
        return _solution(values, 0)
    out = np.empty(k.MAX_CARDS, np.int64)
    other = int(s[k.HANDS + k.SEAT * (1 - s[k.PLAYER])])
    with borrowed(rules, table) as memory:
        _set_limit(memory, max_nodes)
        legal = int(card_values(rules.vector, s, other, memory, out))
        nodes = int(memory[H_NODES])
    if legal < 0:
        raise _too_many(max_nodes)
    return _solution({card: int(out[card]) for card in list_of(legal)}, nodes)


def solve_worlds(
    view: PlayerView,
    worlds: Sequence[World] | None = None,
    *,
    table: TranspositionTable | None = None,
    max_nodes: int = DEFAULT_NODES,
) -> tuple[list[World], Ints]:
    """Return the margin of each legal action in each possible world of a view.

    Args:
        view: the view of the player to act, in the play of a two-player game.
        worlds: some of ``view.worlds()``. If None, all worlds.
        table: the table to use, by one thread at a time. If None, a table from a pool.
        max_nodes: the most positions to search per world.

    Returns:
        The worlds, and ``(num_worlds, num_legal)`` margins for the player to act, the columns in
        the order of ``view.legal_actions()``.

    Raises:
        HeartsError: if there are more than two players, the view's player is not to play a card,
            the table is of other rules, a world does not fit the view, or `max_nodes` was not
            enough.
    """
    check_is("view", view, PlayerView, "give game.view(player)")
    rules = _check_rules(view.rules)
    v = view.vector
    if v[k.PHASE] != k.PLAY or v[k.PLAYER] != view.player:
        state = f"the phase is {view.phase!r}, player {view.current_player} to act"
        raise HeartsError(
            f"view: it is player {view.player}'s and {state}; "
            "give the view of the player who is to play a card"
        )
    try:
        found = list(view.worlds() if worlds is None else worlds)
    except TypeError:
        raise HeartsError(
            f"worlds: {quoted(worlds)} is not a list of worlds; take some of view.worlds()"
        ) from None
    hands = np.array([_other_hand(view, world) for world in found], np.int64)
    values = np.empty((len(found), len(view.legal_actions())), np.int64)
    with borrowed(rules, table) as memory:
        _set_limit(memory, max_nodes)
        done = int(world_values(rules.vector, v, hands, memory, values))
    if done < len(found):
        raise _too_many(max_nodes)
    return found, values


def solve_batch(
    games: BatchGame | Sequence[Game],
    *,
    num_threads: int = 1,
    max_nodes: int = DEFAULT_NODES,
) -> Ints:
    """Return the value of each game for its player to act, ``(num,) int64``.

    Args:
        games: a batch, or games with equal rules.
        num_threads: the number of threads that share the work, each with its own table.
        max_nodes: the most positions to search per game.

    Returns:
        The margins. For games that are over, the margin of seat 0.

    Raises:
        HeartsError: if there are more than two players or an unfinished exchange, the games have
            different rules, or `max_nodes` was not enough.
    """
    num_threads = check_number("num_threads", num_threads, 1, 1024)
    if isinstance(games, BatchGame):
        rules, states = games.rules, games.states
    else:
        check_is("games", games, Sequence, "give a BatchGame or a list of games")
        if not games:
            return np.empty(0, np.int64)
        for game in games:
            check_is("games", game, Game, "give games, all of the same rules")
        rules = games[0].rules
        if any(game.rules != rules for game in games):
            raise HeartsError("games: they have different rules; solve one rule set at a time")
        states = np.stack([game.vector for game in games])
    _check_rules(rules)
    passing = np.flatnonzero(states[:, k.PHASE] == k.PASS)
    if len(passing):
        raise HeartsError(
            f"phase: the exchange of game {passing[0]} is not over; "
            "play it first, the solver begins with the first lead"
        )
    out = np.empty(len(states), np.int64)

    def work(part: slice, _: int) -> None:
        with borrowed(rules) as memory:
            _set_limit(memory, max_nodes)
            if not position_values(rules.vector, states[part], memory, out[part]):
                raise _too_many(max_nodes)

    Threads(num_threads).share(work, len(states))
    return out


_lock = threading.Lock()
_free: dict[Rules, list[TranspositionTable]] = {}


@contextlib.contextmanager
def borrowed(rules: Rules, table: TranspositionTable | None = None) -> Iterator[k.Vector]:
    """Yield the vector of `table` after checking it, or of an unused table from the pool."""
    if table is not None:
        check_is("table", table, TranspositionTable, "give a TranspositionTable(rules), or None")
        if table.rules != rules:
            raise HeartsError(
                f"table: it is for {table.rules.name}, not for {rules.name}; make another"
            )
        yield table.vector
        return
    with _lock:
        tables = _free.pop(rules, [])
        mine = tables.pop() if tables else None
        _free[rules] = tables  # the rules last used come last
        while len(_free) > _MOST_POOLED:
            del _free[next(iter(_free))]
    mine = mine or TranspositionTable(rules)
    mine.vector[H_LIMIT] = DEFAULT_NODES
    try:
        yield mine.vector
    finally:
        with _lock:
            if rules in _free:
                _free[rules].append(mine)


def _check_rules(rules: Rules) -> Rules:
    if rules.players != 2:
        raise HeartsError(
            f"players: {rules.name} has {rules.players}; "
            "the double-dummy solver needs rules for two"
        )
    return rules


def _set_limit(memory: k.Vector, max_nodes: int) -> None:
    memory[H_LIMIT] = check_number("max_nodes", max_nodes, 1, 2**62)


def _too_many(max_nodes: int) -> HeartsError:
    return HeartsError(
        f"max_nodes: {max_nodes:,} positions were not enough; give more, or solve later in the deal"
    )


def _solution(values: dict[int, int], nodes: int) -> Solution:
    value = max(values.values())
    return Solution(value, [action for action, v in values.items() if v == value], values, nodes)


def _other_hand(view: PlayerView, world: World) -> int:
    """Return the opponent's cards in a world, after checking them against the view."""
    rules, other = view.rules, 1 - view.player
    try:
        own, hand = (mask_of(rules.index[c] for c in world[p]) for p in (view.player, other))
    except (KeyError, IndexError, TypeError):
        raise HeartsError(
            f"worlds: {quoted(world)} is not a world; give hands and dead cards, as view.worlds() "
            "does"
        ) from None
    unseen = int(unseen_mask(rules.vector, view.vector, view.player))
    if own != view.vector[k.HANDS + k.SEAT * view.player] or hand & ~unseen:
        raise HeartsError(
            f"worlds: {quoted(world)} contradicts the view of player {view.player}; "
            "take one of view.worlds()"
        )
    if hand.bit_count() != view.cards_left(other):
        raise HeartsError(
            f"worlds: {hand.bit_count()} cards for player {other}; give {view.cards_left(other)}"
        )
    return hand
