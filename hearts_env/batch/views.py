"""The views of the players to act in many games."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.batch.kernel import write_legal, write_masks
from hearts_env.encoders import Encoder, encoding
from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_is
from hearts_env.support.arrays import Array
from hearts_env.support.errors import HeartsError
from hearts_env.views.view import PlayerView


class BatchView:
    """Views of many games of the same rules, one of each game's player to act.

    ``views[i]`` is a `PlayerView`.

    Attributes:
        rules: the rules of all games.
        vectors: states with everything hidden emptied, ``(len, rules.state_size) int64``.
        players: the seats of the views, ``(len,) int64``.
    """

    __slots__ = ("players", "rules", "vectors")

    def __init__(self, rules: Rules, vectors: k.Vector, players: k.Vector) -> None:
        self.rules = rules
        self.vectors = vectors
        self.players = players

    @classmethod
    def of(cls, views: list[PlayerView]) -> BatchView:
        """Return the batch of a list of views of the same rules.

        Raises:
            HeartsError: if the list is empty, or its views are of different rules.
        """
        try:
            views = list(views)
        except TypeError:
            views = []
        if not views:
            raise HeartsError("views: there are none; give one or more")
        for view in views:
            check_is("views", view, PlayerView, "give game.view(player)")
        if any(view.rules != views[0].rules for view in views):
            names = sorted({view.rules.name for view in views})
            raise HeartsError(
                f"views: of different rules ({', '.join(names)}); give one batch each"
            )
        vectors = np.stack([view.vector for view in views])
        return cls(views[0].rules, vectors, np.array([view.player for view in views], np.int64))

    @property
    def legal_masks(self) -> k.Vector:
        """The legal actions of each player as bit masks, ``(len,) int64``."""
        out = np.empty(len(self), np.int64)
        write_legal(self.rules.vector, self.vectors, out)
        return out

    @property
    def legal_table(self) -> NDArray[np.bool_]:
        """The legal actions of each player, ``(len, num_actions) bool``."""
        table = np.empty((len(self), self.rules.num_actions), np.int8)
        write_masks(self.legal_masks, np.arange(len(self)), table.reshape(-1))
        return table.view(np.bool_)

    def observe(self, observation: str | Encoder = "flat") -> Array:
        """Return the observation of each view, ``(len, *space.shape)``, in the space's dtype.

        Built-in encoders write all of them in one compiled call.

        Args:
            observation: an encoder or its name.

        Raises:
            HeartsError: if there is no such encoder.
        """
        rows = np.arange(len(self))
        return encoding(observation, self.rules).observe_many(self.vectors, rows, self.players)

    def subset(self, rows: Array) -> BatchView:
        """Return the views of some rows."""
        vectors, players = self.vectors[rows], self.players[rows]
        return BatchView(self.rules, np.ascontiguousarray(vectors), np.ascontiguousarray(players))

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, row: int) -> PlayerView:
        return PlayerView(self.rules, self.vectors[row].copy(), int(self.players[row]))

    def __iter__(self) -> Iterator[PlayerView]:
        return (self[row] for row in range(len(self)))
