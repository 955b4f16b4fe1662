"""Players whose networks other libraries made, whichever: what a model must take and give.

A file of such a model does not say what it plays. The spec states the encoder
(``model.onnx?encoder=flat``), and perhaps the rules; before anything is dealt the model is tried on
empty observations, and what does not fit is named. docs/agents.md says it to users, and which of
these files can run code when they are loaded. Each library has a module of its own: ``sb3_agent``,
``torch_agent`` and ``onnx_agent``, which import it when a file of theirs is loaded.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hearts_agents.blame import blamed
from hearts_agents.models.encoder_agent import EncoderAgent, trained_for_others
from hearts_env import HeartsError, Rules
from hearts_env.encoders import ENCODERS
from hearts_env.rules.presets import PRESETS
from hearts_env.support.arrays import Array
from hearts_env.support.errors import CheckpointError, did_you_mean, needs, quoted
from hearts_env.support.files import kind_of

_TRIALS = (1, 3)
"""Rows of the observations that a model is tried on."""


class ModelAgent(EncoderAgent):
    """A player that asks a model of another library; derive from it and write ``run``."""

    plays = "what its model fits"

    def __init__(
        self,
        name: str,
        encoder: str | None,
        rules: str | Rules | None,
        *,
        greedy: bool,
        seed: int | None,
    ) -> None:
        """A player of these rules only, if some are given; the model is tried when they are known.

        Raises:
            HeartsError: if the encoder is not stated or unknown.
        """
        if encoder is None:
            raise HeartsError(
                f"encoder: {quoted(name)} does not say what its model sees; state it, as in "
                f"{name}?encoder=flat; known: {', '.join(ENCODERS)}",
                value=name,
            )
        if encoder not in ENCODERS:
            raise HeartsError(
                f"encoder: {quoted(encoder)} of {quoted(name)} is unknown; "
                f"{did_you_mean(encoder, ENCODERS)}",
                value=encoder,
            )
        super().__init__(encoder, greedy=greedy, seed=seed)
        self.name = name
        self.rules = None if rules is None else Rules.make(rules)
        self.plays = self.plays if self.rules is None else self.rules.name
        self.dtype = np.dtype(np.float32)
        """Of the observations that the model is given."""
        self._fits: Rules | None = None
        self._encoder_name = encoder

    def run(self, observations: Array) -> Any:
        """What the model gives for ``(n, *shape)`` observations: ``(n, num_actions)``."""
        raise NotImplementedError

    def weigh(self, observations: Array) -> Array:
        """The weights of the actions, ``(n, *shape) -> (n, num_actions) float32``.

        Raises:
            HeartsError: if the model gives something else, or NaN.
        """
        assert self._fits is not None
        given = self.run(np.ascontiguousarray(observations, self.dtype))
        return self._checked(given, (len(observations), self._fits.num_actions))

    def check_rules(self, rules: Rules) -> None:
        """Refuse rules that the model does not fit, after a trial on empty observations.

        Raises:
            HeartsError: if the shapes differ, the model raises, or gives something else than a
                number for each action.
        """
        if rules is self._fits:
            return
        if self.rules is not None and not self.rules.is_same_deal(rules):
            raise HeartsError(trained_for_others(self.rules, rules))
        space = self.encoder.space(rules)
        self._check_shapes(rules, space)
        for rows in _TRIALS:
            observations = np.zeros((rows, *space.shape), self.dtype)
            with blamed(
                f"agent: {quoted(self.name)} fails on observations of shape {observations.shape}, "
                f"{self.dtype} (encoder {self._encoder_name}, {rules.name})",
                "it must take any number of rows; state the encoder that it was trained with",
            ):
                given = self.run(observations)
            self._checked(given, (rows, rules.num_actions), rules)
        self._fits = rules

    def _check_shapes(self, rules: Rules, space: spaces.Box) -> None:
        """Refuse what can be told without a trial."""

    def _refuse_observation(self, rules: Rules, space: spaces.Box, taken: Any) -> HeartsError:
        fitting = [name for name, one in ENCODERS.items() if one.space(rules).shape == taken]
        games = [n for n in PRESETS if self.encoder.space(Rules.preset(n)).shape == taken]
        fix = "give the encoder and the rules that it was trained with"
        if fitting:
            fix = f"state encoder={fitting[0]}"
        elif games:
            fix = f"{self._encoder_name} of {' or '.join(games)} gives those: play these rules"
        return HeartsError(
            f"encoder: {self._encoder_name} gives observations of shape {space.shape} in "
            f"{rules.name}, and {quoted(self.name)} takes {taken}; {fix}"
        )

    def _checked(self, given: Any, shape: tuple[int, int], rules: Rules | None = None) -> Array:
        if isinstance(given, tuple | list) and given:
            given = given[0]  # others, like a value, do not count
        array = np.asarray(given)
        where = f" in {rules.name}" if rules is not None else ""
        if array.dtype.kind not in "fiu":
            raise HeartsError(
                f"agent: {quoted(self.name)} gives {type(given).__name__} of dtype {array.dtype}; "
                "its first output must be a number for each action"
            )
        if array.shape != shape:
            raise HeartsError(
                f"agent: {quoted(self.name)} gives numbers of shape {array.shape} for {shape[0]} "
                f"observations{where}; needed is {shape}, one for each action"
            )
        with np.errstate(over="ignore"):
            weights: Array = array.astype(np.float32)
        if np.isnan(weights).any():
            raise HeartsError(f"agent: {quoted(self.name)} gives NaN; its training diverged")
        # A legal action of minus infinity stays above those that are not legal.
        return np.clip(weights, np.finfo(np.float32).min, np.finfo(np.float32).max)

    def __deepcopy__(self, memo: dict[int, Any]) -> ModelAgent:
        """A player with draws of its own; the model, which is never changed, is shared."""
        return self.sharing_copy(memo)


class FileAgent(ModelAgent):
    """A player whose model is loaded from the content of a file, in another process again."""

    def __init__(self, data: bytes, name: str, **how: Any) -> None:
        """The player of a file's content; `how` is as in ``ModelAgent``."""
        super().__init__(name, **how)
        self._data = data
        self._made_of: tuple[Any, ...] = data, name, how

    def content(self) -> Iterator[bytes]:
        """The file."""
        yield self._data

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self._made_of)


def _remade(kind: type[ModelAgent], made_of: tuple[Any, ...]) -> ModelAgent:
    return kind(*made_of[:-1], **made_of[-1])


# ---- files ---------------------------------------------------------------------------------------
def read_model(path: str | Path) -> bytes:
    """The content of a model's file.

    Raises:
        CheckpointError: if there is no such file, or it cannot be read.
    """
    if kind_of(path) != "file":
        raise CheckpointError(
            f"agent: there is no file {quoted(str(path))}; check the path", value=path
        )
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"agent: {quoted(str(path))} cannot be read ({error.strerror}); check the path",
            value=path,
        ) from None


def names_in_zip(data: bytes) -> set[str]:
    """The names of an archive's files; empty where it is not an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return set()


def import_library(name: str, extra: str, path: str | Path) -> Any:
    """The module `name` of another library, which the file at `path` needs.

    Raises:
        HeartsError: if it is not installed; the message names our `extra` that has it.
    """
    try:
        return import_module(name)
    except ImportError:
        raise HeartsError(f"agent: {quoted(str(path))} {needs(extra)}", value=path) from None
