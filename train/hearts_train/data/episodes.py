"""Episodes: what one seat saw, did and earned in each game, as arrays and as a dataset of Minari.

The layout is the one that Minari documents and its ``HDF5Storage`` reads. Minari's own writer takes
three times as long and four times the space, since it lays out every array to be extended later:
https://minari.farama.org/content/dataset_standards/
"""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_agents.envs.gym_env import ENV_ID
from hearts_env import __version__
from hearts_env import kernel as k
from hearts_env.encoders import write_many
from hearts_env.support.arrays import Array, Floats, Ints
from hearts_train.data.options import DatasetOptions, library
from hearts_train.data.playing import BLOCK, Played

MAIN_FILE = "main_data.hdf5"
_READABLE_FROM = ("v108", "v114")
"""HDF5's versions: old enough for every reader, new enough for many groups."""


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
        number = played.games * n + players  # of the episode, if every seat had one
        order = wanted[np.argsort(number[wanted], kind="stable")]
        found, owners, lengths = np.unique(number[order], return_inverse=True, return_counts=True)
        games, seats = found // n, found % n
        ends = np.cumsum(lengths + 1) - 1
        places = np.arange(len(order)) + owners  # one more place for each earlier episode
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
        """The episodes that ``arrays`` returned; other entries are ignored."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def _encoded(options: DatasetOptions, states: k.Vector, games: Ints, players: Ints) -> Array:
    """The views of these players, in the encoder's own dtype."""
    form = options.form
    out = np.empty((len(games), *form.box.shape), form.own_dtype)
    write_many(form.encoder, options.rules, states, games, players, out)
    return out


# ---- Minari --------------------------------------------------------------------------------------
class EpisodeWriter:
    """Appends episodes to a new dataset of Minari."""

    def __init__(self, h5py: Any, file: Any, options: DatasetOptions) -> None:
        self._h5 = h5py
        self._file = file.id
        self._options = options
        self._kinds: dict[Any, Any] = {}
        self._compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        self._compact.set_layout(h5py.h5d.COMPACT)  # fixed size: nothing is appended later
        self._group = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        for made in (self._compact, self._group):  # the same bytes at any time
            made.set_obj_track_times(False)
        self._scalar = h5py.h5s.create(h5py.h5s.SCALAR)
        self.episodes = self.steps = 0

    def add(self, episodes: Episodes, texts: Sequence[str]) -> None:
        """Append a block's episodes; `texts` are the hand histories of all its games."""
        ends = np.cumsum(episodes.lengths)
        for i, (end, length) in enumerate(
            zip(ends.tolist(), episodes.lengths.tolist(), strict=True)
        ):
            places = slice(end - length + i, end + i + 1)
            moves = slice(end - length, end)
            self._add_one(episodes, i, places, moves, texts[int(episodes.games[i]) % BLOCK])

    def _add_one(self, episodes: Episodes, i: int, places: slice, moves: slice, text: str) -> None:
        length = moves.stop - moves.start
        group = self._new(self._file, f"episode_{self.episodes}")
        observations, masks = episodes.observations[places], episodes.masks[places]
        infos = {"trick": episodes.tricks[places], "is_random": episodes.is_random[places]}
        if self._options.form.mask_in_observation:
            both = self._new(group, "observations")
            self._put(both, "observation", observations)
            self._put(both, "action_mask", masks)
        else:
            self._put(group, "observations", observations)
        if self._options.form.mask_in_info:
            infos["action_mask"] = masks
        terminations = np.zeros(length, np.bool_)
        terminations[-1] = True
        self._put(group, "actions", episodes.actions[moves])
        self._put(group, "rewards", episodes.rewards[moves])
        self._put(group, "terminations", terminations)
        self._put(group, "truncations", np.zeros(length, np.bool_))
        shown = self._new(group, "infos")
        for name, values in infos.items():
            self._put(shown, name, values)
        seat = int(episodes.seats[i])
        about = {
            "id": self.episodes,
            "total_steps": length,
            "seed": int(episodes.seeds[i]),
            "game": int(episodes.games[i]),
            "seat": seat,
            "player": self._options.agents[seat],
            "margin": float(episodes.margins[i]),
            "deal": text,
        }
        for name, value in about.items():
            self._describe(group, name, value)
        self.episodes += 1
        self.steps += length

    # By h5py's low-level API: the usual one takes 1.5 times as long for many small things.
    def _new(self, group: Any, name: str) -> Any:
        """A new group in another."""
        return self._h5.h5g.create(group, name.encode(), None, self._group)

    def _put(self, group: Any, name: str, values: Array) -> None:
        """Write an array under its name."""
        values = np.ascontiguousarray(values)
        made = self._h5.h5d.create(group, name.encode(), *self._kind(values), self._compact)
        made.write(self._h5.h5s.ALL, self._h5.h5s.ALL, values)

    def _describe(self, group: Any, name: str, value: str | float) -> None:
        """Write what Minari calls metadata of an episode."""
        dtype = self._h5.string_dtype() if isinstance(value, str) else None
        values = np.array(value, dtype=dtype)
        self._h5.h5a.create(group, name.encode(), *self._kind(values)).write(values)

    def _kind(self, values: Array) -> tuple[Any, Any]:
        """The type and the shape of an array, as HDF5 has them."""
        key = values.shape, values.dtype
        if key not in self._kinds:
            kind = self._h5.h5t.py_create(values.dtype, logical=True)
            space = self._h5.h5s.create_simple(values.shape) if values.shape else self._scalar
            self._kinds[key] = kind, space
        return self._kinds[key]


@contextlib.contextmanager
def minari_writer(data: Path, options: DatasetOptions) -> Iterator[EpisodeWriter]:
    """A new dataset of Minari in a folder, whose metadata is written when this block ends."""
    h5py, minari = library("h5py"), library("minari")
    storages = library("minari.dataset.minari_storage")
    data.mkdir(parents=True)
    with h5py.File(data / MAIN_FILE, "w", libver=_READABLE_FROM) as file:
        writer = EpisodeWriter(h5py, file, options)
        yield writer
    metadata = {
        "total_episodes": writer.episodes,
        "total_steps": writer.steps,
        "data_format": "hdf5",
        "jpeg_encoding": False,
        "observation_space": storages.serialize_space(options.form.space()),
        "action_space": storages.serialize_space(spaces.Discrete(options.rules.num_actions)),
        "env_spec": _environment(options).to_json(),
        "dataset_id": options.dataset_id,
        "algorithm_name": " against ".join(dict.fromkeys(options.agents)),
        "author": ["hearts-env contributors"],
        "description": f"Hearts, {options.rules.name}: an episode for each deal and seat",
        "requirements": [f"hearts-env=={__version__}"],
        "minari_version": minari.__version__,
        "dataset_size": round((data / MAIN_FILE).stat().st_size / 1e6, 1),
    }
    text = json.dumps(metadata, indent=1)
    (data / storages.METADATA_FILE_NAME).write_text(text + "\n", encoding="utf-8")


def _environment(options: DatasetOptions) -> Any:
    """The environment in which a learner sits in the seat of the episodes."""
    spec = copy.deepcopy(gymnasium.spec(ENV_ID))
    one = len(options.seats) == 1
    others = [a for seat, a in enumerate(options.agents) if not one or seat not in options.seats]
    opponents = list(dict.fromkeys(others))
    spec.kwargs |= {
        "rules": options.rules.name,
        "observation": options.observation,
        "dtype": options.dtype,
        "action_mask": options.action_mask,
        "reward": options.reward,
        "opponent": opponents[0] if len(opponents) == 1 else opponents,
        "seat": options.seats[0] if one else "random",
    }
    return spec
