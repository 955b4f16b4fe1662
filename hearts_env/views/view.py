"""The view of one player."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from hearts_env import kernel as k
from hearts_env.cards import SUIT_NAMES, SUITS, list_of
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_number, check_seed
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError
from hearts_env.support.jit import DirectCall
from hearts_env.views.hidden import unseen_mask
from hearts_env.views.position import Position
from hearts_env.views.worlds import Worlds

_TASKS = {"pass": "choose a card to pass", "play": "play a card", "moon": "choose"}
MAX_WORLDS = 1_000_000
_INT64 = np.dtype(np.int64)
_write_view = DirectCall(k.write_view)

World = tuple[tuple[str, ...], ...]
"""The present hand of each seat and, last, the dead cards."""


class PlayerView(Position):
    """Everything that one player may know of a game. Agents receive only this.

    Attributes:
        rules: the rules.
        player: the seat of the observing player. ``current_player`` is the seat to act.
        vector: the state with everything hidden emptied, ``(rules.state_size,) int64``.
    """

    __slots__ = ("player",)

    def __init__(self, rules: Rules, vector: k.Vector, player: int) -> None:
        self.rules = rules
        self.vector = vector
        self.player = player

    # These take no seat, unlike those of `Game`: a view has only its own player's cards.
    @property
    def hand(self) -> tuple[str, ...]:
        """The cards that the player holds."""
        return self._pile(k.HANDS, self.player)

    @property
    def passed(self) -> tuple[str, ...]:
        """The cards that the player has chosen to pass."""
        return self._pile(k.PASSED, self.player)

    @property
    def received(self) -> tuple[str, ...]:
        """The cards that the player received in the exchange."""
        return self._pile(k.RECEIVED, self.player)

    @property
    def legal_mask(self) -> int:
        """This player's legal actions as a bit mask, or 0 if another player is to act."""
        if self.vector[k.PLAYER] != self.player:
            return 0
        return int(k.legal_mask(self.rules.vector, self.vector))

    def legal_actions(self) -> list[int]:
        """Return this player's legal actions, ascending, or [] if another player is to act."""
        return list_of(self.legal_mask)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The cards that the player has not seen."""
        return self._cards(unseen_mask(self.rules.vector, self.vector, self.player))

    def observe(self, observation: Any = "flat") -> Array:
        """Return the observation of this view as a new array of the encoder's space.

        Args:
            observation: an `Encoder` or its name.

        Raises:
            HeartsError: if there is no such encoder.
        """
        encoders = import_module("hearts_env.encoders")  # on first use, because it imports views
        form = encoders.encoding(observation, self.rules)
        out = np.zeros(form.shape, form.dtype)
        form.encoder.write(self, out)
        return out

    def to_text(self) -> str:
        """Return the view in words, for people and language models."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        rules, me = self.rules, self.player
        yield f"Hearts ({rules.name}), you are player {me} of {rules.players}."
        if any(self.totals):
            yield "Match totals: " + _by_seat(self.totals)
        if self.direction != "hold":
            yield f"Exchange: {rules.pass_count} cards {self.direction}."
            if self.passed:
                yield "You passed: " + " ".join(self.passed)
            if self.received:
                yield "You received: " + " ".join(self.received)
        for number, trick in enumerate(self.tricks, 1):
            yield f"Trick {number}: " + ", ".join(f"player {p} {card}" for p, card in trick)
        if self.trick:
            yield "This trick: " + ", ".join(f"player {p} {card}" for p, card in self.trick)
        yield "Points taken: " + _by_seat(self.points)
        shown = [
            f"player {p} has no {' or '.join(SUIT_NAMES[SUITS.index(s)] for s in suits)}"
            for p, suits in enumerate(self.voids)
            if suits
        ]
        if shown:
            yield "Shown: " + "; ".join(shown)
        if self.kitty_taker is not None:
            yield f"The kitty {' '.join(self.kitty)} went to player {self.kitty_taker}."
        if rules.break_on is not None:
            yield "Hearts are broken." if self.hearts_broken else "Hearts are not broken."
        yield "Your hand: " + (" ".join(self.hand) or "empty")
        if self.current_player is None:
            yield "The deal is over."
        elif self.current_player != me:
            yield f"Player {self.current_player} is to act."
        else:
            task = _TASKS[self.phase]
            names = " ".join(rules.action_name(action) for action in self.legal_actions())
            yield f"You are to {task}. Legal: {names}"

    def key(self) -> str:
        """Return the player's information set as one line of text, for tables of policies.

        Two keys are equal exactly when the views are. A key has perfect recall: everything that the
        player has seen, in order. It omits the order in which cards to pass were chosen, because
        that has no effect. It does not depend on the layout of ``vector``, so other versions can
        read saved tables.
        """
        me = f"player {self.player}"
        deal, own, play = self._deal_facts(), self._own_facts(), self._play_facts()
        return "; ".join((self.rules.name, me, *deal, *own, *play))

    # The parts of ``key``, from which everything else in a view follows.
    def _deal_facts(self) -> Iterator[str]:
        rules = self.rules
        if rules.pass_count or rules.first_lead == "eldest_hand" or self.dealer or self.deal_number:
            yield f"deal {self.deal_number} by {self.dealer}"
        if any(self.totals):
            yield "totals " + " ".join(map(str, self.totals))

    def _own_facts(self) -> Iterator[str]:
        yield " ".join(("hand", *self.hand))
        if self.passed:
            yield " ".join(("passed", *self.passed))
        if self.received:
            yield " ".join(("received", *self.received))

    def _play_facts(self) -> Iterator[str]:
        rules, v = self.rules, self.vector
        if v[k.NUM_PLAYED]:
            yield "played " + " ".join(f"{p}:{card}" for p, card in self.history)
        if rules.queen_any_time:  # else these follow from the cards played
            if self.hearts_broken:
                yield "broken"
            if any(shown := self.voids):
                yield "void " + " ".join(f"{p}:{suits}" for p, suits in enumerate(shown) if suits)
            if v[k.DODGED] >= 0:
                yield f"dodged {SUITS[v[k.DODGED]]}"
        if self.kitty_taker is not None:
            yield " ".join(("kitty", *self.kitty))
        if self.current_player is not None:
            yield f"{self.phase} {self.current_player}"
        elif self.revoker is not None:
            yield f"revoke {self.revoker}"
        else:
            yield f"over {self.moon_choice}" if self.moon_choice else "over"

    # -- worlds -----------------------------------------------------------------------------------
    @property
    def num_worlds(self) -> int:
        """The number of possible worlds, exactly."""
        return Worlds(self).count

    def worlds(self) -> Iterator[World]:
        """Return an iterator over all possible worlds, in a fixed order.

        A world is the present hand of each seat and, last, the dead cards. Worlds agree with
        everything that play has shown: voids, the first lead, a heart led before hearts were
        broken, a penalty card on a first trick that forbids it, and cards passed.

        Raises:
            HeartsError: if there are more than a million.
        """
        worlds = Worlds(self)
        if worlds.count > MAX_WORLDS:
            raise HeartsError(
                f"worlds: {worlds.count:,} are possible, more than {MAX_WORLDS:,}; "
                "use sample_worlds(n, seed)"
            )
        return (tuple(self._cards(mask) for mask in world) for world in worlds)

    def sample_worlds(self, n: int, seed: int) -> list[World]:
        """Draw `n` possible worlds uniformly and independently.

        Args:
            n: 0 to a million.
            seed: an int of 0 or more. Equal seeds draw equal worlds.

        Raises:
            HeartsError: if `n` or `seed` is out of range.
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

    def _repr_svg_(self) -> str:
        """Return an SVG of the table as this player sees it, for notebooks."""
        from hearts_env.render import render_svg
        from hearts_env.views.picture import picture_of

        return render_svg(picture_of(self, self.player))

    def __repr__(self) -> str:
        return f"<PlayerView of player {self.player}: {self.rules.name}, {self.phase}>"


def _by_seat(values: Sequence[int]) -> str:
    return ", ".join(f"player {p} {value}" for p, value in enumerate(values))


def view_of(rules: Rules, state: k.Vector, player: int) -> PlayerView:
    """Return the view that the seat `player` has of a whole state."""
    vector = np.empty(len(state), _INT64)
    _write_view.call(rules.vector, state, player, vector)
    return PlayerView(rules, vector, player)
