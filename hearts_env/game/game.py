"""One deal from the cards to the scores: the Python API around the compiled core."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import list_of
from hearts_env.encoders import OWN_WRITERS, Encoder, encoding
from hearts_env.game.chips import chips_of, points_settled
from hearts_env.game.grammar import Entry, Transcript, format_transcript, parse
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import (
    check_count,
    check_is,
    check_numbers,
    check_player,
    check_seed,
    whole_numbers,
)
from hearts_env.support.arrays import Array
from hearts_env.support.errors import (
    DealError,
    HeartsError,
    IllegalActionError,
    NotationError,
    quoted,
)
from hearts_env.support.jit import DirectCall
from hearts_env.views.deals import deal_masks
from hearts_env.views.position import Position
from hearts_env.views.view import PlayerView, view_of
from hearts_env.views.worlds import state_in_world

_INT64 = np.dtype(np.int64)
_SEATS: tuple[int | None, ...] = (None, *range(k.MAX_PLAYERS))
MAX_TOTAL = 2**53 - 1
"""The largest size of a total before a deal."""

_step, _deal, _status = DirectCall(k.step), DirectCall(k.deal), DirectCall(k.status)


class Game(Position):
    """One deal with all cards open.

    Cards are strings like ``"QS"``. Sets of cards are tuples in deck order. Actions are ints:
    action i is ``rules.deck[i]``.

    Attributes:
        rules: the rules.
        vector: the state, ``(rules.state_size,) int64``. See ``kernel.STATE``. Read it, but change
            it only with ``play``, ``undo`` and ``revoke``.
    """

    __slots__ = ("_actions", "_start", "_status")

    def __init__(
        self,
        rules: Rules | str,
        hands: Sequence[Iterable[str]],
        kitty: Iterable[str] | None = None,
        *,
        deal_number: int = 0,
        dealer: int = 0,
        totals: Sequence[int] | None = None,
    ) -> None:
        """Begin a deal with known cards.

        Args:
            rules: the rules, or a preset's name.
            hands: the cards of each seat.
            kitty: the cards not dealt. If None, all cards outside the hands.
            deal_number: the number of the deal in its match, from 0, which picks the direction of
                the exchange.
            dealer: the seat that dealt. The next seat is the eldest hand.
            totals: each seat's score before this deal of a match. If None, zeros.

        Raises:
            DealError: if a card is missing, dealt twice or not in the deck, or another argument is
                out of range.
        """
        rules = Rules.make(rules)
        masks = deal_masks(rules, hands, kitty)
        vector = rules.empty_state.copy()
        vector[k.every_seat(k.HANDS, rules.players)] = masks[:-1]
        vector[k.KITTY] = masks[-1]
        vector[k.DEAL_NUMBER] = check_count("deal_number", deal_number, 2**31)
        vector[k.DEALER] = check_count("dealer", dealer, rules.players)
        self._set_totals(rules, vector, totals)
        k.start(rules.vector, vector)
        self._begin(rules, vector)

    @classmethod
    def deal(
        cls,
        rules: Rules | str,
        seed: int,
        deal_number: int | None = None,
        dealer: int | None = None,
        *,
        totals: Sequence[int] | None = None,
    ) -> Game:
        """Return the deal of a seed, which is the same on every machine.

        The cards depend on the seed alone.

        Args:
            rules: the rules, or a preset's name.
            seed: an int from 0 to 2**63 - 1.
            deal_number: picks the direction of the exchange. If None, it is drawn from the seed.
            dealer: the seat that dealt. If None, it is drawn from the seed.
            totals: each seat's score before this deal of a match. If None, zeros.

        Raises:
            HeartsError: if an argument is invalid.
        """
        rules = Rules.make(rules)
        vector = rules.empty_state.copy()
        cls._set_totals(rules, vector, totals)
        number = -1 if deal_number is None else check_count("deal_number", deal_number, 2**31)
        seat = -1 if dealer is None else check_count("dealer", dealer, rules.players)
        _deal.call(rules.vector, vector, check_seed(seed), number, seat)
        game = cls.__new__(cls)
        game._begin(rules, vector)
        return game

    @classmethod
    def from_state(cls, rules: Rules | str, vector: k.Vector) -> Game:
        """Return the game in a state, with the actions that led to it.

        A state does not record the order in which a player chose cards to pass. They count as
        chosen in deck order.

        Args:
            rules: the rules, or a preset's name.
            vector: a whole state, such as ``game.vector`` or a row of ``batch.states``, copied.

        Raises:
            DealError: if play under these rules cannot lead to `vector`, for example because it is
                the vector of a view.
        """
        rules = Rules.make(rules)
        state = whole_numbers(vector)
        if state is None or state.shape != (rules.state_size,):
            raise DealError(
                f"vector: {quoted(vector)} is not a state; give {rules.state_size} whole numbers"
            )
        game = None
        if _is_readable(rules, state):
            with contextlib.suppress(IllegalActionError):  # no one can revoke after the end
                game = cls._with_past(rules, state)
        if game is None or not np.array_equal(game.vector, state):
            raise DealError(
                f"vector: play under {rules.name!r} does not lead to this state; "
                "give a vector of these rules"
            )
        return game

    @classmethod
    def from_view(cls, view: PlayerView, world: Sequence[Iterable[str]], seed: int = 0) -> Game:
        """Return the game in which the hidden cards are `world`, with the actions that led to it.

        The player's view of this game equals `view`. A world does not determine the cards that
        others passed in an exchange, so they are drawn uniformly from all possibilities.

        Args:
            view: the view of a player.
            world: the present hand of each seat and, last, the dead cards, as ``view.worlds()`` and
                ``view.sample_worlds`` return them.
            seed: the seed for drawing these cards, an int of 0 or more.

        Raises:
            DealError: if `world` contradicts the view. The message names the contradiction.
            HeartsError: if `view` is not a view or `seed` is not an int of 0 or more.
        """
        check_is("view", view, PlayerView, "give game.view(player)")
        rng = random.Random(f"hearts passes {check_seed(seed)}")
        state = state_in_world(view, world, rng)
        try:
            return cls.from_state(view.rules, state)
        except DealError:
            raise DealError(
                "world: play with these cards does not lead to this view; take one of "
                "view.worlds() or view.sample_worlds(n, seed)"
            ) from None

    @classmethod
    def _with_past(cls, rules: Rules, state: k.Vector) -> Game:
        """Return ``from_state`` without its checks."""
        start, actions = np.empty(len(state), np.int64), np.empty(k.MAX_PAST, np.int64)
        count = k.read_past(rules.vector, state, start, actions)
        return cls._restore(rules, start, actions[:count].tolist())

    @classmethod
    def _restore(cls, rules: Rules, start: k.Vector, actions: list[int]) -> Game:
        """Return the game after legal actions from `start`. `start` becomes its ``vector``."""
        game = cls.__new__(cls)
        game._begin(rules, start)
        game._replay(actions)
        return game

    def _replay(self, actions: list[int]) -> None:
        """Play actions from the start of the deal. The last may be -1, a revoke."""
        is_revoked = actions[-1:] == [-1]
        self._actions = actions[:-1] if is_revoked else actions[:]
        played = np.array(self._actions, np.int64)
        self._status = int(k.replay(self.rules.vector, self.vector, played))
        if is_revoked:
            self.revoke()

    def _begin(self, rules: Rules, vector: k.Vector) -> None:
        self.rules = rules
        self.vector = vector
        self._start = vector.copy()
        self._actions = []
        self._status = _status.call(rules.vector, vector)

    @staticmethod
    def _set_totals(rules: Rules, vector: k.Vector, totals: Sequence[int] | None) -> None:
        if totals is not None:
            span = (-MAX_TOTAL, MAX_TOTAL)
            given = check_numbers("totals", totals, rules.players, span, DealError)
            vector[k.every_seat(k.TOTALS, rules.players)] = given

    # -- play -------------------------------------------------------------------------------------
    @property
    def current_player(self) -> int | None:
        """The seat of the player to act, or None when the game is over."""
        return _SEATS[self._status >> k.ACTING_AT & k.ACTING]

    @property
    def is_over(self) -> bool:
        """True once the deal is finished."""
        return self._status >> k.PHASE_AT == k.OVER

    @property
    def legal_mask(self) -> int:
        """The legal actions as a bit mask, 0 when the game is over."""
        return self._status & k.LEGAL

    def legal_actions(self) -> list[int]:
        """Return the legal actions in ascending order, none when the game is over."""
        return list_of(self._status & k.LEGAL)

    def play(self, action: int | str) -> None:
        """Play an action, given as a number or a card's name.

        Raises:
            IllegalActionError: if the action is illegal. The game is unchanged.
        """
        if action.__class__ is not int:
            action = self.rules.action_number(action)
        try:
            status = _step.call(self.rules.vector, self.vector, action)
        except OverflowError:  # a number beyond 64 bits
            status = -1
        if status < 0:
            raise IllegalActionError(self.why_illegal(action))
        self._status = status  # as ``_advance``, without its call
        self._actions.append(action)

    def _advance(self, action: int, status: int) -> int:
        """Record an action that a compiled step has played in ``vector``.

        Args:
            action: the number of the action.
            status: the new ``kernel.status``, which the step returned.

        Returns:
            The seat to act, or -1 if the game is over.
        """
        self._status = status
        self._actions.append(action)
        return (status >> k.ACTING_AT & k.ACTING) - 1

    def why_illegal(self, action: int | str) -> str:
        """Return why an action is illegal and which ones are legal, or "" if it is legal.

        Raises:
            IllegalActionError: if `action` is neither a number nor a card's name.
        """
        action = self.rules.action_number(action)
        if self.is_over:
            return "action: the game is over; start another with Game.deal"
        legal, name = self.legal_actions(), self.rules.action_name
        if action in legal:
            return ""
        wrong = f"{quoted(action)} is not an action of these rules"
        if 0 <= action < self.rules.num_actions:
            wrong = f"{action} ({name(action)}) is not legal for player {self.current_player}"
        return f"action: {wrong}; legal now: {', '.join(f'{a} ({name(a)})' for a in legal)}"

    def revoke(self) -> None:
        """End the deal as after an illegal action at a card table.

        The player to act is charged all penalty points in play, the others none.

        Raises:
            IllegalActionError: if the game is over.
        """
        if self.is_over:
            raise IllegalActionError("action: the game is over; no one can revoke")
        k.revoke(self.vector)
        self._status = int(k.status(self.rules.vector, self.vector))
        self._actions.append(-1)

    def undo(self) -> None:
        """Take back the last action.

        Raises:
            IllegalActionError: if nothing has been played.
        """
        if not self._actions:
            raise IllegalActionError("undo: nothing has been played; play an action first")
        self.vector[:] = self._start
        self._replay(self._actions[:-1])

    @property
    def actions(self) -> list[int]:
        """All actions so far, the exchange included. A revoke is -1."""
        return list(self._actions)

    def start(self) -> Game:
        """Return the same deal before its first action."""
        return Game._restore(self.rules, self._start.copy(), [])

    # -- what only the whole game shows ------------------------------------------------------------
    def hand(self, player: int) -> tuple[str, ...]:
        """Return the cards that a seat holds."""
        return self._pile(k.HANDS, player)

    def passed(self, player: int) -> tuple[str, ...]:
        """Return the cards that a seat has chosen to pass."""
        return self._pile(k.PASSED, player)

    def received(self, player: int) -> tuple[str, ...]:
        """Return the cards that a seat received in the exchange, once delivered."""
        return self._pile(k.RECEIVED, player)

    # -- results ----------------------------------------------------------------------------------
    def scores(self) -> list[int]:
        """Return each seat's score: card points, moon and ``no_trick_points``, never chips.

        Before the end, the scores are as if the deal stopped now, without a moon.
        """
        return self._scores()

    def chips(self) -> list[Fraction]:
        """Return each seat's net win in chips for this deal on its own, exactly.

        Before the end, the chips are as if the deal stopped now. A match may add a pool from
        earlier deals. See ``match.last_net``.

        Raises:
            HeartsError: if the rules settle in points.
        """
        return chips_of(self.rules, points_settled(self.rules, self.vector))

    def margins(self) -> list[float]:
        """Return each seat's margin: the others' mean score minus its own."""
        scores = self.scores()
        total, others = sum(scores), len(scores) - 1
        return [(total - own) / others - own for own in scores]

    # -- copies -----------------------------------------------------------------------------------
    def clone(self) -> Game:
        """Return an independent copy with the same past."""
        game = Game.__new__(Game)
        game.rules = self.rules
        game.vector = self.vector.copy()
        game._start = self._start
        game._actions = self._actions.copy()
        game._status = self._status
        return game

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return Game._restore, (self.rules, self._start, self._actions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        return self.rules == other.rules and bool(np.array_equal(self.vector, other.vector))

    __hash__ = None  # type: ignore[assignment]  # a game changes

    # -- views and text ---------------------------------------------------------------------------
    def view(self, player: int) -> PlayerView:
        """Return a player's view now: everything that it may know. Later play does not change it.

        Raises:
            HeartsError: if `player` is not a seat.
        """
        rules = self.rules
        if player.__class__ is not int or not 0 <= player < rules.players:
            player = check_player(player, rules.players)
        return view_of(rules, self.vector, player)

    def observe(
        self,
        out: Array | None = None,
        *,
        player: int | None = None,
        observation: str | Encoder = "flat",
    ) -> Array:
        """Return a player's observation: ``view(player)`` as an encoder writes it, but faster.

        Args:
            out: an array of the encoder's shape and dtype to write to and return. If None, a new
                array.
            player: the observing seat. If None, the player to act, or seat 0 after the end.
            observation: an encoder or its name.

        Raises:
            HeartsError: if `out` cannot hold the observation, there is no such encoder, or `player`
                is not a seat.
        """
        rules = self.rules
        if player is None:
            player = (self._status >> k.ACTING_AT & k.ACTING or 1) - 1
        elif player.__class__ is not int or not 0 <= player < rules.players:
            player = check_player(player, rules.players)
        # To look up the encoding takes a fifth of the time.
        write = OWN_WRITERS.get(observation) if observation.__class__ is str else None
        if write is None or out is None:
            return encoding(observation, rules).observe(self.vector, player, out)
        write(rules, self.vector, player, out)
        return out

    def to_text(self, tags: Mapping[str, str] | None = None) -> str:
        """Return the hand history: rules, deal and play. ``from_text`` reads it back.

        Args:
            tags: more fields of the header, such as ``{"Player 0": "You"}``. If None, none are
                added.

        Raises:
            NotationError: if the name of a tag is not allowed.
        """
        rules, dealt = self.rules, self._start
        seats = range(rules.players)
        return format_transcript(
            Transcript(
                rules,
                hands=tuple([self._cards(dealt[k.HANDS + k.SEAT * seat]) for seat in seats]),
                kitty=self._cards(dealt[k.KITTY]),
                deal_number=self.deal_number,
                dealer=self.dealer,
                totals=self.totals,
                entries=tuple(self._entries()),
                scores=" ".join(map(str, self.scores())) if self.is_over else None,
                tags={} if tags is None else tags,
            )
        )

    def _entries(self) -> Iterator[Entry]:
        """Yield the lines of the play so far."""
        rules, history = self.rules, self.history
        n, count = rules.players, rules.pass_count
        if self.direction != "hold":
            passed = tuple([rules.deck[a] for a in self._actions[: n * count] if a != -1])
            for seat in range(-(-len(passed) // count)):
                yield Entry("pass", seat, passed[seat * count : (seat + 1) * count])
        cards = tuple([card for _, card in history])
        for start in range(0, len(cards), n):
            yield Entry("trick", history[start][0], cards[start : start + n], start // n + 1)
        if self.moon_choice is not None:
            yield Entry("moon", int(self.vector[k.SHOOTER]), (self.moon_choice,))
        if self.revoker is not None:
            yield Entry("revoke", self.revoker)

    @classmethod
    def from_text(cls, text: str) -> Game:
        """Return the game of a hand history, after checking its play.

        Raises:
            NotationError: if a line is invalid, or there is not exactly one game. The message names
                the line, its fault and the fix.
        """
        transcripts = parse(text)
        if len(transcripts) != 1:
            raise NotationError(f"history: {len(transcripts)} games in the text; give exactly one")
        return play_transcript(transcripts[0])

    def _repr_svg_(self) -> str:
        """Return an SVG of the table with all hands open, for notebooks.

        ``game.view(player)`` shows the table as one player sees it.
        """
        from hearts_env.render import render_svg
        from hearts_env.views.picture import picture_of

        return render_svg(picture_of(self, "all"))

    def __repr__(self) -> str:
        turn = "over" if self.is_over else f"{self.phase}, player {self.current_player} to act"
        return f"<Game {self.rules.name}: {turn}, {len(self._actions)} actions>"


def play_transcript(transcript: Transcript) -> Game:
    """Return the game of a transcript, and check its play.

    Raises:
        NotationError: if a line is invalid. The message names the line, its fault and the fix.
    """
    try:
        game = Game(
            transcript.rules,
            transcript.hands,
            transcript.kitty,
            deal_number=transcript.deal_number,
            dealer=transcript.dealer,
            totals=transcript.totals,
        )
    except HeartsError as error:
        raise NotationError(
            f"line {transcript.line}: the deal above is impossible: {error}"
        ) from None
    for entry in transcript.entries:
        try:
            _play_entry(game, entry)
        except HeartsError as error:
            raise NotationError(f"line {entry.line}: {error}") from None
    stated = transcript.scores
    if stated is not None and game.is_over:
        scores = " ".join(map(str, game.scores()))
        if stated.split() != scores.split():
            raise NotationError(f"history: [Scores] says {quoted(stated)}; the play gives {scores}")
    return game


def _play_entry(game: Game, entry: Entry) -> None:
    """Play one line of a hand history."""
    text, is_trick = quoted(entry.text), entry.kind == "trick"
    number, phase = game.trick_number + 1, "play" if is_trick else entry.kind
    for place, card in enumerate(entry.cards or ("",)):  # a revoke has no cards
        if game.is_over:
            raise NotationError(f"{text}: it follows the end of the deal; omit it")
        is_turn = entry.seat == game.current_player or (is_trick and place > 0)
        if phase not in (game.phase, "revoke") or not is_turn:
            raise NotationError(
                f"{text}: it is not this player's turn ({game.phase}); "
                f"player {game.current_player} is to act"
            )
        if is_trick and place == 0 and (game.trick or entry.trick != number):
            raise NotationError(
                f"{text}: trick {number} is not finished or comes first; put it in order"
            )
        if entry.kind == "revoke":
            game.revoke()
        elif entry.kind == "moon":
            game.play(len(game.rules.deck) + (card == "others"))
        else:
            game.play(game.rules.index.get(card, card))


def _is_readable(rules: Rules, state: k.Vector) -> bool:
    """Return True if the deal and history of a state are within bounds, so they can be read."""
    n, number = rules.players, int(state[k.NUM_PLAYED])
    left = (1 << len(rules.deck)) - 1
    for p in range(n):
        held = int(k.hand_at_start(state, p))
        passed = int(state[k.PASSED + k.SEAT * p])
        dealt = held & ~int(state[k.RECEIVED + k.SEAT * p]) | passed
        if dealt & ~left or dealt.bit_count() != rules.hand_size or passed & ~dealt:
            return False
        left &= ~dealt
    return (
        left == state[k.KITTY]
        and 0 <= number <= n * rules.hand_size
        and all(
            code & k.CARD_BITS < len(rules.deck) for code in k.plays(rules.vector, state, 0, number)
        )
        and all(-MAX_TOTAL <= total <= MAX_TOTAL for total in state[k.every_seat(k.TOTALS, n)])
        and 0 <= state[k.DEALER] < n
        and 0 <= state[k.DEAL_NUMBER] < 2**31
        and -1 <= state[k.MOON_CHOICE] <= 1
    )
