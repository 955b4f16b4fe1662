"""Make episodes for Minari: the observations, actions and rewards of one seat in a game."""

from __future__ import annotations

import contextlib
import copy
import errno
import io
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import h5py  # noqa: F401  Minari imports it only when it writes
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from numpy.typing import NDArray

from hearts_env import __version__
from hearts_env import kernel as k
from hearts_env.encoders import encoding, make_encoder
from hearts_env.envs import GYMNASIUM_ID
from hearts_env.support.arrays import Array, Floats, Ints
from hearts_train.data.options import DatasetOptions
from hearts_train.data.playing import Played, margins_of

_OVERHEAD = 32_000
"""The most bytes of an episode in Minari's file without its arrays. 22,000 were measured."""
_FOLDER = "MINARI_DATASETS_PATH"  # the environment variable for the folder of all datasets


@dataclass(frozen=True)
class Episodes:
    """The concatenated episodes of a part of the dataset, sorted by game, then by seat.

    An episode of T decisions has T + 1 places in the first three arrays, of which the last is the
    end of the deal, and T places in the next two.

    Attributes:
        observations: ``(places, *shape)``, the observations of the seat in the encoder's shape.
        masks: ``(places, num_actions) int8``, the legal actions, with zeros at the end.
        tricks: ``(places,) int8``, the number of finished tricks.
        actions: ``(decisions,) int64``.
        rewards: ``(decisions,) float64``.
        lengths: ``(episodes,)``, the number of decisions in each episode.
        seeds: ``(games,)``, the seed of each deal.
        scores: ``(games, players)``, the score of each seat.
        shooters: ``(games,)``, the seat that shot the moon, or -1.
        texts: ``(games,)``, the hand histories.
    """

    observations: Array
    masks: NDArray[np.int8]
    tricks: NDArray[np.int8]
    actions: Ints
    rewards: Floats
    lengths: Ints
    seeds: Ints
    scores: Ints
    shooters: Ints
    texts: NDArray[np.str_]

    @classmethod
    def of(cls, played: Played, options: DatasetOptions, texts: list[str]) -> Episodes:
        """Return the episodes of a part of the dataset, given the hand histories of its games."""
        rules, views, episodes = played.rules, played.views, played.episodes
        ends = np.arange(played.scores.size)  # one per episode
        order = np.argsort(np.concatenate([episodes, ends]), kind="stable")
        seats = np.concatenate([views.players, ends % rules.players])[order]
        states = np.concatenate([played.states, played.ends[ends // rules.players]])[order]
        masks = np.zeros((len(order), rules.num_actions), np.int8)
        masks[: len(views)] = views.legal_table
        form = encoding(options.observation, rules)
        observations = form.observe_many(states, np.arange(len(order)), seats)
        decisions = np.argsort(episodes, kind="stable")
        return cls(
            observations,
            masks[order],
            states[:, k.TRICK_NUM].astype(np.int8),
            actions=played.actions[decisions],
            rewards=played.rewards(options.reward)[decisions],
            lengths=np.bincount(episodes),
            seeds=played.seeds,
            scores=played.scores,
            shooters=played.ends[:, k.SHOOTER],
            texts=np.array(texts),
        )

    @property
    def margins(self) -> Floats:
        """The margin of each seat in points, ``(games, players)``."""
        return margins_of(self.scores)

    @property
    def counts(self) -> dict[str, Any]:
        """The counts of games, decisions and moons, and the sum of the scores by seat."""
        return {
            "games": len(self.seeds),
            "decisions": len(self.actions),
            "moons": int((self.shooters >= 0).sum()),
            "scores": self.scores.sum(0).tolist(),
        }

    @property
    def num_bytes(self) -> int:
        """The most bytes that the episodes take in Minari's file."""
        arrays = sum(array.nbytes for array in vars(self).values())
        return 2 * arrays + _OVERHEAD * len(self.lengths)  # incomplete chunks have their full size

    def to_bytes(self) -> bytes:
        """Return all arrays as one file."""
        file = io.BytesIO()
        np.savez(file, **vars(self))
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, options: DatasetOptions) -> Episodes:
        """Return the episodes in an untrusted file.

        Raises:
            Exception: if the file is damaged or has other arrays than a part with `options`. It may
                be of any type.
        """
        with np.load(io.BytesIO(data)) as arrays:  # it refuses pickles
            if any(info.compress_size != info.file_size for info in arrays.zip.infolist()):
                raise ValueError  # it could take any amount of memory
            self = cls(**arrays)
        rules = options.rules
        games, episodes, steps = len(self.seeds), len(self.lengths), len(self.actions)
        form = encoding(options.observation, rules)
        forms: dict[str, tuple[tuple[int, ...], Any]] = {
            "observations": ((steps + episodes, *form.shape), form.dtype),
            "masks": ((steps + episodes, rules.num_actions), np.int8),
            "tricks": ((steps + episodes,), np.int8),
            "actions": ((steps,), np.int64),
            "rewards": ((steps,), np.float64),
            "lengths": ((games * rules.players,), np.int64),
            "seeds": ((games,), np.int64),
            "scores": ((games, rules.players), np.int64),
            "shooters": ((games,), np.int64),
            "texts": ((games,), self.texts.dtype if self.texts.dtype.kind == "U" else np.str_),
        }
        for name, (shape, dtype) in forms.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != dtype:
                raise ValueError(f"{name} is {array.dtype} {array.shape}")
        if self.lengths.sum() != steps or (self.lengths < 1).any():
            raise ValueError("the lengths do not fit")
        return self


# ---- Minari --------------------------------------------------------------------------------------
def write_minari(folder: Path, options: DatasetOptions, parts: Iterable[Episodes]) -> None:
    """Write a Minari dataset into a new folder, which ``MINARI_DATASETS_PATH`` may name.

    Args:
        folder: the folder, for this dataset alone.
        options: the options of the dataset.
        parts: the episodes of each part. Only one part is in memory at a time.

    Raises:
        OSError: if a file cannot be written.
    """
    folder.mkdir(parents=True)
    opponents = list(dict.fromkeys(options.agents))
    spec = copy.deepcopy(gymnasium.spec(GYMNASIUM_ID))  # made, it would start the opponents
    spec.kwargs |= {
        "rules": options.rules.name,
        "observation": options.observation,
        "reward": options.reward,
        "opponent": opponents,
        "seat": "random",
    }
    absolute = folder.absolute()  # Minari joins it twice
    with warnings.catch_warnings(), _datasets_in(absolute), _writing(folder):
        warnings.simplefilter("ignore", UserWarning)  # Minari asks for an e-mail address and a link
        storage = minari.create_dataset_from_buffers(
            options.dataset_id,
            [],
            env=spec,
            observation_space=make_encoder(options.observation).space(options.rules),
            action_space=gymnasium.spaces.Discrete(options.rules.num_actions),
            algorithm_name=" against ".join(opponents),
            author="hearts-env contributors",
            description=f"Hearts, {options.rules.name}: one episode per deal and seat",
            requirements=[f"hearts-env=={__version__}"],
            jpeg_encoding=False,
        ).storage
    written, file = 0, Path(storage.data_path, "main_data.hdf5")
    for episodes in parts:
        _check_room(file, episodes.num_bytes)
        with _writing(file):
            storage.update_episodes(_buffers(episodes))
            numbers = range(written, written + len(episodes.lengths))
            storage.update_episode_metadata(_metadata(episodes, options, written), numbers)
        written = numbers.stop


def _check_room(file: Path, size: int) -> None:
    """Raise OSError if a file cannot grow by `size` bytes.

    On a full disk HDF5 ends the process, or prints hundreds of lines and cannot close its file.
    """
    file.touch()
    with _writing(file), file.open("r+b") as opened:
        end = opened.seek(0, os.SEEK_END)
        if not hasattr(os, "posix_fallocate"):
            if shutil.disk_usage(file).free < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return
        try:
            os.posix_fallocate(opened.fileno(), end, size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            # This file system cannot reserve room.
        finally:
            opened.truncate(end)


@contextlib.contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Raise OSError with the name of a file for every error in this block."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # h5py raises all of them for a bad disk
        number = getattr(error, "errno", None) or errno.EIO
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
        raise OSError(number, reason, str(file)) from None


@contextlib.contextmanager
def _datasets_in(folder: Path) -> Iterator[None]:
    """Let Minari write its datasets to a folder. Minari has no argument for that."""
    before = os.environ.get(_FOLDER)
    os.environ[_FOLDER] = str(folder)
    try:
        yield
    finally:
        del os.environ[_FOLDER]
        if before is not None:
            os.environ[_FOLDER] = before


def _buffers(episodes: Episodes) -> Iterator[Any]:
    """Yield each episode in the form that Minari stores."""
    players, end = episodes.scores.shape[1], 0
    for i, length in enumerate(episodes.lengths.tolist()):
        begin, end = end, end + length
        places = slice(begin + i, end + i + 1)
        yield EpisodeBuffer(
            seed=int(episodes.seeds[i // players]),
            observations=episodes.observations[places],
            actions=episodes.actions[begin:end],
            rewards=episodes.rewards[begin:end],
            terminations=np.arange(length) == length - 1,
            truncations=np.zeros(length, np.bool_),
            infos={"trick": episodes.tricks[places], "action_mask": episodes.masks[places]},
        )


def _metadata(episodes: Episodes, options: DatasetOptions, first: int) -> Iterator[dict[str, Any]]:
    """Yield the metadata of each episode. `first` is the number of the first one."""
    for i, margin in enumerate(episodes.margins.ravel().tolist()):
        game, seat = divmod(i, options.rules.players)
        yield {
            "game": first // options.rules.players + game,
            "seat": seat,
            "player": options.agents[seat],
            "margin": margin,
            "deal": str(episodes.texts[game]),
        }
