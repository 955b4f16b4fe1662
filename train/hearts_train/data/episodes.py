"""Make episodes for Minari: the observations, actions and rewards of one seat in a game."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hearts_env import __version__
from hearts_env import kernel as k
from hearts_env.encoders import write_many
from hearts_env.envs import GYMNASIUM_ID
from hearts_env.support.arrays import Array, Floats, Ints
from hearts_train.data.options import DatasetOptions, library
from hearts_train.data.playing import Played

MINARI_FOLDER = "MINARI_DATASETS_PATH"
"""The environment variable in which Minari looks for the folder of all datasets."""


@dataclass(frozen=True)
class Episodes:
    """The concatenated episodes of a block, sorted by game, then by seat.

    An episode of T decisions has T + 1 places in the first four arrays, the last for the end of
    the deal, and T in the next two. A seat without a decision has no episode.

    Attributes:
        observations: ``(places, *shape)``, observations of the seat in the encoder's shape.
        masks: ``(places, num_actions) int8``, legal actions, with zeros at the end.
        tricks: ``(places,) int8``, number of finished tricks.
        is_random: ``(places,) bool``, True if the action was drawn at random.
        actions: ``(decisions,) int64``.
        rewards: ``(decisions,) float64``.
        lengths: ``(episodes,)``, T of each episode.
        games: ``(episodes,)``, number of the game in the dataset.
        seats: ``(episodes,)``.
        seeds: ``(episodes,)``, seed of the deal.
        margins: ``(episodes,) float64``, margin of the seat in points.
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
        """Return the episodes of the recorded seats of a block."""
        players, n = played.views.players, played.rules.players
        wanted = played.rows_of(options.seats)
        number = played.games * n + players  # the number of the episode, if every seat had one
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

    @classmethod
    def joined(cls, blocks: Sequence[Episodes]) -> Episodes:
        """Join the episodes of several blocks, in order."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(b, name) for b in blocks]) for name in names))

    def to_bytes(self, texts: Sequence[str]) -> bytes:
        """Return all arrays and the hand histories of the games as one file."""
        file = io.BytesIO()
        np.savez(file, **vars(self), texts=np.array(texts))
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Episodes, list[str]]:
        """Return the episodes and hand histories of such a file."""
        with np.load(io.BytesIO(data)) as arrays:
            found = cls(**{field.name: arrays[field.name] for field in fields(cls)})
            return found, arrays["texts"].tolist()


def _encoded(options: DatasetOptions, states: k.Vector, games: Ints, players: Ints) -> Array:
    """Encode the views of these players, in the encoder's own dtype."""
    form = options.form
    out = np.empty((len(games), *form.box.shape), form.own_dtype)
    write_many(form.encoder, options.rules, states, games, players, out)
    return out


# ---- Minari --------------------------------------------------------------------------------------
def write_minari(
    folder: Path, options: DatasetOptions, parts: Iterable[tuple[Episodes, Sequence[str]]]
) -> None:
    """Write a Minari dataset into a new folder, a value for ``MINARI_DATASETS_PATH``.

    Args:
        folder: The folder, for this dataset alone.
        options: The options of the dataset.
        parts: The episodes of each part, with the hand histories of its games. Only one part is in
            memory at a time.
    """
    minari = library("minari")
    folder.mkdir(parents=True)
    with warnings.catch_warnings(), _datasets_in(folder.absolute()):  # Minari joins it twice
        warnings.simplefilter("ignore", UserWarning)  # Minari asks for an e-mail address and a link
        storage = minari.create_dataset_from_buffers(
            options.dataset_id,
            [],
            env=_environment(options),
            observation_space=options.form.space(),
            action_space=spaces.Discrete(options.rules.num_actions),
            algorithm_name=" against ".join(dict.fromkeys(options.agents)),
            author="hearts-env contributors",
            description=f"Hearts, {options.rules.name}: one episode per deal and seat",
            requirements=[f"hearts-env=={__version__}"],
            jpeg_encoding=False,
        ).storage
    written = games = 0
    for episodes, texts in parts:
        storage.update_episodes(_buffers(episodes, options))
        numbers = range(written, written + len(episodes.lengths))
        storage.update_episode_metadata(_metadata(episodes, options, games, texts), numbers)
        written, games = numbers.stop, games + len(texts)


@contextlib.contextmanager
def _datasets_in(folder: Path) -> Iterator[None]:
    """Let Minari write its datasets to a folder, for which it has no argument."""
    before = os.environ.get(MINARI_FOLDER)
    os.environ[MINARI_FOLDER] = str(folder)
    try:
        yield
    finally:
        del os.environ[MINARI_FOLDER]
        if before is not None:
            os.environ[MINARI_FOLDER] = before


def _buffers(episodes: Episodes, options: DatasetOptions) -> Iterator[Any]:
    """Yield each episode in the form that Minari stores."""
    buffer = library("minari.data_collector").EpisodeBuffer
    end = 0
    for i, length in enumerate(episodes.lengths.tolist()):
        begin, end = end, end + length
        places = slice(begin + i, end + i + 1)
        observations: Any = episodes.observations[places]
        masks = episodes.masks[places]
        infos = {"trick": episodes.tricks[places], "is_random": episodes.is_random[places]}
        if options.form.mask_in_observation:
            observations = {"observation": observations, "action_mask": masks}
        if options.form.mask_in_info:
            infos["action_mask"] = masks
        yield buffer(
            seed=int(episodes.seeds[i]),
            observations=observations,
            actions=episodes.actions[begin:end],
            rewards=episodes.rewards[begin:end],
            terminations=np.arange(length) == length - 1,
            truncations=np.zeros(length, np.bool_),
            infos=infos,
        )


def _metadata(
    episodes: Episodes, options: DatasetOptions, first: int, texts: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the metadata of each episode. `texts` has the hand histories from game `first` on."""
    for game, seat, margin in zip(
        episodes.games.tolist(), episodes.seats.tolist(), episodes.margins.tolist(), strict=True
    ):
        yield {
            "game": game,
            "seat": seat,
            "player": options.agents[seat],
            "margin": margin,
            "deal": texts[game - first],
        }


def _environment(options: DatasetOptions) -> Any:
    """Return the environment with a learner in the seat of the episodes."""
    spec = copy.deepcopy(gymnasium.spec(GYMNASIUM_ID))
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
