"""Models of other libraries as players: stable-baselines3, TorchScript, torch and ONNX.

A model's file does not say which game it plays. The spec states the encoder
(``model.onnx?encoder=flat``) and, if wanted, the rules. Before the first deal the model is tried on
a few positions, and errors name the mismatch. A model is refused if the positions of a batch
influence each other. If the rules are not given, this is tried in the first preset that the model
fits, when the agent is made. docs/agents.md explains the options and which files can run code. A
library is imported when one of its files is loaded.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hearts_agents.models.network import (
    TOLERANCE,
    EncoderAgent,
    check_rows,
    some_positions,
    trained_for_others,
)
from hearts_agents.models.onnx_files import whole_model
from hearts_agents.user_code import blamed
from hearts_env import HeartsError, Rules
from hearts_env.encoders import ENCODERS
from hearts_env.rules.presets import PRESETS
from hearts_env.support.arrays import Array
from hearts_env.support.errors import CheckpointError, did_you_mean, library, quoted
from hearts_env.support.files import kind_of

_ROUNDED = 0.05
"""The tolerance of ``check_rows`` for quantised models. Some round by the largest number in the
batch, so the positions of a batch influence each other by about a hundredth."""
_NEEDED = ("policy_class", "observation_space", "action_space", "policy_kwargs")
"""The fields of a stable-baselines3 file that are unpickled."""
_ONNX_FOLDER = "session.model_external_initializers_file_folder_path"
"""The setting of onnxruntime for the folder of weights in other files."""
_OUTPUTS = ("get_distribution", "quantile_net", "q_net")
"""The members of a stable-baselines3 policy that give logits or values, in order of preference."""
_SEEN = ("observation", "action_mask")
"""The keys of an observation with its mask, as in the environments."""
_QUANTISED = (b"uantize", b"MatMulInteger")
"""Names of operations in the files of quantised models."""


class ModelAgent(EncoderAgent):
    """A player with a model of another library.

    A subclass implements ``run`` and ``_load``, and ``_copied`` if it takes models in memory.
    """

    plays = "what its model fits"
    default_encoder: str | None = None
    gives_logits = True
    """False for a model of action values, which cannot be sampled as probabilities."""

    def __init__(
        self,
        source: str | Path | Any,
        seed: int | None = None,
        *,
        encoder: str | None = None,
        rules: str | Rules | None = None,
        greedy: bool = True,
    ) -> None:
        """Load a file, or copy a model, so that further training does not change the player.

        Args:
            source: the file's path, or the model. The caller checks that the file is trusted.
            seed: the seed of its random numbers, if it is not greedy. If None, the operating system
                seeds them.
            encoder: the name of the encoder of its observations, which is required: None is
                refused.
            rules: the only rules that it plays. If None, it plays all rules that the model fits.
            greedy: if True, take the greedy action. If False, sample from the softmax of the
                model's output.

        Raises:
            HeartsError: if the encoder is missing or unknown, or the model cannot play.
            CheckpointError: if there is no such file.
        """
        is_file = isinstance(source, str | Path)
        name = str(source) if is_file else type(source).__name__
        self._data = self._content(name) if is_file else None
        encoder = encoder or self.default_encoder
        if encoder is None:
            fix = 'make_agent(model, encoder="flat")'
            fix = "model.onnx?encoder=flat" if is_file else fix
            raise HeartsError(
                f"encoder: {quoted(name)} does not state its encoder; give it, as in "
                f"{fix}; known: {', '.join(ENCODERS)}"
            )
        if encoder not in ENCODERS:
            raise HeartsError(
                f"encoder: {quoted(encoder)} of {quoted(name)} is unknown; "
                f"{did_you_mean(encoder, ENCODERS)}"
            )
        super().__init__(encoder, greedy=greedy, seed=seed)
        self.name = name
        self.rules = None if rules is None else Rules.make(rules)
        self.plays = self.plays if self.rules is None else self.rules.name
        self.dtype = np.dtype(np.float32)
        """The dtype of the observations, as the model states it, or float32."""
        self._fits: Rules | None = None
        self._encoder_name = encoder
        self._model: Any = None
        if not is_file:
            with blamed(f"agent: {quoted(name)} cannot be copied", "give it a __deepcopy__"):
                self._model = self._copied(source)
        self._load()
        if self.rules is not None:
            self.check_rules(self.rules)
        else:
            self._try_presets()

    def _content(self, path: str) -> bytes:
        """Return the content of a file, with everything that the model is made of."""
        return _read(path)

    def _copied(self, model: Any) -> Any:
        """Return a copy of a model in memory, reduced to the part that plays."""
        raise NotImplementedError

    def _load(self) -> None:
        """Load the model from its file's content, if there is one, and inspect it."""
        raise NotImplementedError

    def _check_shapes(self, rules: Rules, space: spaces.Box) -> None:
        """Raise if the shapes alone show that the model does not fit `rules`."""

    def _is_quantised(self) -> bool:
        """Return True if the model computes with whole numbers."""
        return self._data is not None and any(word in self._data for word in _QUANTISED)

    def run(self, observations: Array, legal: Array) -> Any:
        """Return the model's output for ``(n, *shape)`` observations, ``(n, num_actions)``."""
        raise NotImplementedError

    def weigh(self, observations: Array, legal: Array) -> Array:
        """Return the model's checked output, ``(n, num_actions) float32``."""
        assert self._fits is not None
        given = self.run(np.ascontiguousarray(observations, self.dtype), legal)
        return self._checked(given, (len(observations), self._fits.num_actions))

    def check_rules(self, rules: Rules) -> None:
        """Raise if the model does not fit `rules`, or positions of a batch influence each other."""
        if rules is self._fits:
            return
        if self.rules is not None and not self.rules.is_same_deal(rules):
            raise HeartsError(trained_for_others(self.rules, rules))
        self._check_shapes(rules, self.encoder.space(rules))
        try:
            self._check_outputs(rules)
        except HeartsError:
            if not (games := self._fitting_presets()):
                raise
            raise HeartsError(
                f"agent: {quoted(self.name)} does not fit {rules.name}; with encoder "
                f"{self._encoder_name} it fits {' or '.join(games)}: play these rules"
            ) from None
        self._check_rows(rules)

    def _check_outputs(self, rules: Rules) -> None:
        """Raise if the model does not fit `rules`, after trials on one and on several positions."""
        self._check_shapes(rules, self.encoder.space(rules))
        observations, legal = some_positions(rules, self.encoder)
        for rows in (1, len(legal)):
            given = np.array(observations[:rows], self.dtype)
            with blamed(
                f"agent: {quoted(self.name)} fails on observations of shape {given.shape}, "
                f"{self.dtype} (encoder {self._encoder_name}, {rules.name})",
                "it must take any number of rows; state the encoder that it was trained with",
            ):
                found = self.run(given, legal[:rows])
            self._checked(found, (rows, rules.num_actions), rules)
        self._fits = rules

    def _check_rows(self, rules: Rules) -> None:
        """Raise if the model's output for a position depends on the others in the batch."""
        tolerance = _ROUNDED if self._is_quantised() else TOLERANCE
        positions = some_positions(rules, self.encoder)
        check_rows("agent", self.name, self.weigh, *positions, tolerance)

    def _fitting_presets(self) -> list[str]:
        """Return the presets that the model fits."""
        before, found = self._fits, []
        for name in PRESETS:
            with contextlib.suppress(HeartsError):
                self._check_outputs(Rules.preset(name))
                found.append(name)
        self._fits = before
        return found

    def _try_presets(self) -> None:
        """Run ``_check_rows`` in the first preset that the model fits. No rules are known yet."""
        for name in PRESETS:
            rules = Rules.preset(name)
            with contextlib.suppress(Exception):  # also of an own encoder for other games
                self._check_outputs(rules)
                break
        else:
            return
        self._check_rows(rules)

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
        array = np.asarray(given)
        where = f" in {rules.name}" if rules is not None else ""
        if array.dtype.kind not in "fiu":
            raise HeartsError(
                f"agent: {quoted(self.name)} gives {type(given).__name__} of dtype {array.dtype}; "
                "its first output must have a number for each action"
            )
        if array.shape != shape:
            raise HeartsError(
                f"agent: {quoted(self.name)} gives numbers of shape {array.shape} for {shape[0]} "
                f"observations{where}; it must be {shape}, one number for each action"
            )
        with np.errstate(over="ignore"):
            weights: Array = array.astype(np.float32)
        if np.isnan(weights).any():
            raise HeartsError(f"agent: {quoted(self.name)} gives NaN; its training diverged")
        # A legal action with minus infinity stays above the illegal ones.
        return np.clip(weights, np.finfo(np.float32).min, np.finfo(np.float32).max)

    def digest_parts(self, rules: Rules | None = None) -> Iterator[bytes]:
        """Yield the whole content of the file, or the weights of a model in memory."""
        if self._data is not None:
            yield self._data
            return
        for _, value in sorted(self._model.state_dict().items()):
            yield from _bytes_of(value)

    def __deepcopy__(self, memo: dict[int, Any]) -> ModelAgent:
        """Copy the random numbers and share the model, which never changes."""
        return self.sharing_copy(memo)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the file instead of a model loaded from it."""
        return vars(self) | ({"_model": None} if self._data is not None else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, and load the model again if it has a file."""
        vars(self).update(state)
        if self._data is not None:
            self._load()


class OnnxAgent(ModelAgent):
    """An ONNX model as a player. Loading its file runs no code from it.

    It takes observations and, in an input with "mask" in its name, the legal actions.
    """

    def _content(self, path: str) -> bytes:
        with self._blamed(path):
            return whole_model(super()._content(path), Path(path))

    def _blamed(self, path: str) -> AbstractContextManager[None]:
        return blamed(
            f"agent: {quoted(path)} cannot be loaded as an ONNX model",
            "write it with torch.onnx.export(..., external_data=False)",
        )

    def _load(self) -> None:
        runtime = library("onnxruntime", f"agent: {quoted(self.name)}", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # many players may play
        options.log_severity_level = 4
        # The content is whole. Nothing is read from the current folder, whatever it names.
        options.add_session_config_entry(_ONNX_FOLDER, os.devnull)
        with self._blamed(self.name):
            self._model = runtime.InferenceSession(
                self._data, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        inputs = self._model.get_inputs()
        seen = [one for one in inputs if "mask" not in one.name.lower()]
        masks = [one for one in inputs if "mask" in one.name.lower()]
        if len(seen) != 1 or len(masks) > 1:
            names = ", ".join(one.name for one in inputs)
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {len(inputs)} inputs ({names[:200]}); export it "
                "with one, the observations, or with a second named action_mask, 1 for each legal "
                "action"
            )
        self.dtype = self._dtype_of(seen[0], "observations")
        self._shape: list[Any]
        rows, *self._shape = seen[0].shape or [""]
        if isinstance(rows, int):
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {rows} observations at a time; export "
                "it for any number, with dynamic_axes={'NAME OF ITS INPUT': {0: 'n'}}"
            )
        self._input = seen[0].name
        self._mask = masks[0].name if masks else ""
        """The name of the input for the legal actions, or ""."""
        if masks:
            self._mask_dtype = self._dtype_of(masks[0], "masks")

    def _dtype_of(self, given: Any, noun: str) -> np.dtype[Any]:
        """Return the dtype of an input, which must be numbers."""
        kind = given.type.removeprefix("tensor(").removesuffix(")")
        with blamed(f"agent: {quoted(self.name)} takes {given.type}", f"use numbers for {noun}"):
            return np.dtype({"float": "float32", "double": "float64"}.get(kind, kind))

    def run(self, observations: Array, legal: Array) -> Any:
        """Return the first output of the model."""
        given = {self._input: observations}
        if self._mask:
            given[self._mask] = legal.astype(self._mask_dtype)
        return self._model.run([self._model.get_outputs()[0].name], given)[0]

    def _check_shapes(self, rules: Rules, space: spaces.Box) -> None:
        is_fit = len(self._shape) == len(space.shape) and all(
            size == own
            for size, own in zip(self._shape, space.shape, strict=True)
            if isinstance(size, int)
        )
        if not is_fit:
            raise self._refuse_observation(rules, space, tuple(self._shape))


class ModuleAgent(ModelAgent):
    """A ``torch.nn.Module``, or a TorchScript file, as a player."""

    def _copied(self, model: Any) -> Any:
        from hearts_agents.models.own_network import copied

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about gradients, which a player does not use
            return copied(model).cpu().eval()

    def _is_quantised(self) -> bool:
        """Return True if a layer of the model computes with whole numbers."""
        parts = () if self._data is not None else self._model.modules()
        return super()._is_quantised() or any("quantized" in type(m).__module__ for m in parts)

    def _load(self) -> None:
        if self._data is None:
            return
        torch = library("torch", f"agent: {quoted(self.name)}", "train")
        with (
            blamed(
                f"agent: {quoted(self.name)} cannot be loaded as TorchScript",
                "write it with torch.jit.trace(model, observations).save(path)",
            ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # newer torch prefers torch.export
            self._model = torch.jit.load(io.BytesIO(self._data), map_location="cpu").eval()

    def run(self, observations: Array, legal: Array) -> Any:
        """Return the first output of its ``forward``."""
        import torch

        try:
            with torch.no_grad():
                given = self._model(torch.from_numpy(observations))
        except RuntimeError as error:  # TorchScript's begins with pages of code
            lines = str(error).strip().splitlines() or [""]
            raise RuntimeError(lines[-1]) from None
        if isinstance(given, tuple | list) and given:
            given = given[0]  # others, like a value, do not count
        return given.numpy() if isinstance(given, torch.Tensor) else given


class Sb3Agent(ModelAgent):
    """A policy of stable-baselines3 or sb3-contrib with discrete actions.

    It sees an array (``MlpPolicy``), or a dictionary of array and mask (``MultiInputPolicy``).
    """

    default_encoder = "flat"

    def _copied(self, model: Any) -> Any:
        from hearts_agents.models.own_network import copied

        own = copied(model.policy)
        own.set_training_mode(False)
        return own

    def _load(self) -> None:
        if self._data is not None:
            self._unpickle(self._data)
        policy, name, kind = self._model, self.name, type(self._model).__name__
        if hasattr(policy, "lstm_actor"):
            raise HeartsError(
                f"agent: {quoted(name)} is recurrent ({kind}): it depends on earlier observations, "
                "and an agent is asked about views in any order; train one without memory, or "
                "write an agent for it"
            )
        sees, does = policy.observation_space, policy.action_space
        self._takes_masks = isinstance(sees, spaces.Dict) and set(sees) == set(_SEEN)
        box = sees["observation"] if self._takes_masks else sees
        if not isinstance(box, spaces.Box) or not isinstance(does, spaces.Discrete):
            raise HeartsError(
                f"agent: {quoted(name)} has spaces {quoted(sees)} and {quoted(does)}; give one "
                f"with a Box or a Dict of {' and '.join(_SEEN)}, and Discrete, like HeartsEnv"
            )
        self._shape = box.shape
        self._output = next((word for word in _OUTPUTS if hasattr(policy, word)), "")
        if not self._output:
            raise HeartsError(
                f"agent: {quoted(name)} has a policy of type {kind}; give one of PPO, A2C, TRPO, "
                "MaskablePPO, DQN or QRDQN"
            )
        self.gives_logits = self._output == "get_distribution"
        if not self.greedy and not self.gives_logits:
            raise HeartsError(
                f"greedy: {quoted(name)} gives action values, not probabilities; omit it"
            )
        self.dtype = np.dtype(box.dtype)

    def _unpickle(self, data: bytes) -> None:
        name = f"agent: {quoted(self.name)}"
        save_util = library("stable_baselines3.common.save_util", name, "train")
        with (
            blamed(
                f"{name} cannot be loaded as a model of stable-baselines3",
                "install the libraries that it needs, or save it again with model.save",
            ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # it warns about missing parts that are not needed
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                stored = json.loads(archive.read("data"))
            ignored = {key: None for key in stored if key not in _NEEDED}
            fields, parameters, _ = save_util.load_from_zip_file(
                io.BytesIO(data), custom_objects=ignored, device="cpu"
            )
            self._model = fields["policy_class"](
                fields["observation_space"],
                fields["action_space"],
                lambda _: 0.0,  # its learning rate
                **(fields.get("policy_kwargs") or {}),
            )
            self._model.load_state_dict(parameters["policy"])
            self._model.set_training_mode(False)

    def run(self, observations: Array, legal: Array) -> Any:
        """Return the logits or values of the actions."""
        import torch

        given: Any = observations
        if self._takes_masks:
            mask = legal.astype(self._model.observation_space["action_mask"].dtype)
            given = dict(zip(_SEEN, (observations, mask), strict=True))
        with torch.no_grad():
            tensor, _ = self._model.obs_to_tensor(given)
            given = getattr(self._model, self._output)(tensor)
            if self._output == "get_distribution":
                given = given.distribution.logits
            elif self._output == "quantile_net":
                given = given.mean(dim=1)
            return given.cpu().numpy()

    def _check_shapes(self, rules: Rules, space: spaces.Box) -> None:
        actions = int(self._model.action_space.n)
        if self._shape != space.shape:
            raise self._refuse_observation(rules, space, self._shape)
        if actions != rules.num_actions or self._model.action_space.start != 0:
            raise HeartsError(
                f"rules: {quoted(self.name)} has {actions} actions, {rules.name} has "
                f"{rules.num_actions}; play the rules that it was trained for"
            )


def _bytes_of(value: Any) -> Iterator[bytes]:
    """Yield the bytes of a value in a model's state: a tensor, or the parts of a quantised one."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from _bytes_of(part)
    elif hasattr(value, "dequantize"):
        tensor = value.detach().cpu()
        tensor = tensor.dequantize() if tensor.is_quantized else tensor
        is_unknown = str(tensor.dtype).startswith(("torch.bfloat", "torch.float8"))  # to NumPy
        yield (tensor.float() if is_unknown else tensor).numpy().tobytes()
    elif value is None or isinstance(value, str | int | float | bytes):
        yield repr(value).encode()


def _read(path: str) -> bytes:
    if kind_of(path) != "file":
        raise CheckpointError(f"agent: there is no file {quoted(path)}; check the path")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"agent: {quoted(path)} cannot be read ({error.strerror}); check the path"
        ) from None
