"""Episodes: what one seat saw, did and earned in each game, as arrays for offline learning."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hearts_env import kernel as k
from hearts_env.encoders import write_many
from hearts_env.support.arrays import Array, Floats, Ints
from hearts_train.offline.options import DatasetOptions
from hearts_train.offline.playing import Played


@dataclass(frozen=True)
class Episodes:
    """The episodes of a block of games, one after another: game by game, then seat by seat.

    An episode of T decisions has T + 1 places in the first four arrays, the last for the end of
    the deal, and T in the next two. A seat without any decision has no episode.

    Attributes:
        observations: What the seat saw, of the encoder's shape.
        masks: ``(places, num_actions) int8``, its legal actions; zeros at the end.
        tricks: ``(places,) int8``, tricks finished before.
        is_random: ``(places,) bool``, whether the action was drawn at random.
        actions: ``(decisions,) int64``.
        rewards: ``(decisions,) float64``.
        lengths: ``(episodes,)``, T of each.
        games: ``(episodes,)``, the number of its game in the dataset.
        seats: ``(episodes,)``.
        seeds: ``(episodes,)``, of the deal.
        margins: ``(episodes,) float64``, of the seat, in points.
    """

    observations: Array
    masks: NDArray[np.int8]
    tricks: NDArray[np.int8]
    is_random: NDArray[np.bool_]
    actions: Ints
    rewards: Floats
    lengths: Ints
    games: Ints
    seats: Ints
    seeds: Ints
    margins: Floats

    @classmethod
    def of(cls, played: Played, options: DatasetOptions) -> Episodes:
        """The episodes of a block, of the seats that are recorded."""
        players, n = played.views.players, played.rules.players
        wanted = played.rows_of(options.seats)
        number = played.games * n + players  # of the episode, were there one for every seat
        order = wanted[np.argsort(number[wanted], kind="stable")]
        found, owners, lengths = np.unique(number[order], return_inverse=True, return_counts=True)
        games, seats = found // n, found % n
        ends = np.cumsum(lengths + 1) - 1
        places = np.arange(len(order)) + owners  # one place more for each episode before
        views = played.views.subset(order)
        size = len(order) + len(found)
        masks = np.zeros((size, played.rules.num_actions), np.int8)
        masks[places] = views.legal_table
        tricks, is_random = np.zeros(size, np.int8), np.zeros(size, np.bool_)
        tricks[places] = views.vectors[:, k.TRICK_NUM]
        tricks[ends] = played.states[games, k.TRICK_NUM]
        is_random[places] = played.is_random[order]
        observations = options.form.empty(size)
        rows = np.arange(len(order))
        observations[places] = _encoded(options, views.vectors, rows, views.players)
        observations[ends] = _encoded(options, played.states, games, seats)
        return cls(
            observations,
            masks,
            tricks,
            is_random,
            actions=played.actions[order],
            rewards=played.rewards[order],
            lengths=lengths,
            games=played.first + games,
            seats=seats,
            seeds=played.seeds[games],
            margins=played.margins[games, seats],
        )

    def arrays(self) -> dict[str, Array]:
        """All arrays by name."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> Episodes:
        """The episodes that ``arrays`` gave, whatever else is among them."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def _encoded(options: DatasetOptions, states: k.Vector, games: Ints, players: Ints) -> Array:
    """The views of these players, in the encoder's own dtype."""
    form = options.form
    out = np.empty((len(games), *form.box.shape), form.own_dtype)
    write_many(form.encoder, options.rules, states, games, players, out)
    return out
