"""Players whose networks other libraries made: stable-baselines3, TorchScript, torch and ONNX.

A file of such a model does not say what it plays. The spec states the encoder
(``model.onnx?encoder=flat``), and perhaps the rules; before anything is dealt the model is tried on
empty observations, and what does not fit is named. docs/agents.md says it to users, and which of
these files can run code when they are loaded. A library is imported when a file of it is loaded.
"""

from __future__ import annotations

import copy
import functools
import io
import json
import warnings
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hearts_agents.models.network import EncoderAgent, trained_for_others
from hearts_agents.registry import WEIGHTS_ALONE
from hearts_agents.user_code import blamed, check_code_allowed
from hearts_env import HeartsError, Rules
from hearts_env.encoders import ENCODERS
from hearts_env.rules.presets import PRESETS
from hearts_env.support.arguments import check_choice
from hearts_env.support.arrays import Array
from hearts_env.support.errors import CheckpointError, did_you_mean, needs, quoted
from hearts_env.support.files import kind_of

_TRIALS = (1, 3)
"""Rows of the observations that a model is tried on."""
_PICKLE = "a stable-baselines3 file holds pickled Python objects"
_SCRIPT = "TorchScript is a program, which can read and write files"
_NEEDED = ("policy_class", "observation_space", "action_space", "policy_kwargs")
"""What of a stable-baselines3 file is unpickled."""
_ANSWERS = ("get_distribution", "quantile_net", "q_net")
"""What gives the logits or values of the actions, in a policy of stable-baselines3."""
_DTYPES = ("float32", "float16", "float64", "int8", "uint8", "int32", "int64")
_ONNX_DTYPES = {"float": "float32", "double": "float64"}
"""What ONNX calls them, where its name is another."""


class ModelAgent(EncoderAgent):
    """A player that asks a model of another library; derive from it and write ``run``."""

    plays = "what its model fits"

    def __init__(
        self,
        name: str,
        seed: int | None = None,
        *,
        encoder: str | None,
        rules: str | Rules | None = None,
        greedy: bool = True,
    ) -> None:
        """A player; a subclass calls ``_try`` when its model is there.

        Args:
            name: of the file, or of the model's class.
            seed: of its draws, where it is not greedy.
            encoder: what its model sees.
            rules: the only rules that it plays; None: all that it fits.
            greedy: take the preferred action; False: draw from the softmax of what the model gives.

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

    def _try(self) -> None:
        """Try the model, where its rules are known."""
        if self.rules is not None:
            self.check_rules(self.rules)

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

    def __init__(
        self, data: bytes, name: str, seed: int | None = None, *, dtype: str = "float32", **how: Any
    ) -> None:
        """The player of a file's content; `how` is as in ``ModelAgent``."""
        super().__init__(name, seed, **how)
        self.dtype = np.dtype(check_choice("dtype", dtype, _DTYPES))
        self._data = data
        self._again = functools.partial(type(self), data, name, seed, dtype=dtype, **how)
        self._load()
        self._try()

    def _load(self) -> None:
        """Load the model from ``_data``."""
        raise NotImplementedError

    def content(self) -> Iterator[bytes]:
        """The file."""
        yield self._data

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()


# ---- ONNX ----------------------------------------------------------------------------------------
class OnnxAgent(FileAgent):
    """An ONNX model as a player."""

    def _load(self) -> None:
        runtime = import_library("onnxruntime", "onnx", self.name)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # many players may play
        options.log_severity_level = 4
        with blamed(
            f"agent: {quoted(self.name)} is no ONNX model that can be loaded",
            "write it with torch.onnx.export(..., external_data=False), and check it",
        ):
            self._session = runtime.InferenceSession(
                self._data, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        self._input = self._only_input()
        self._output = self._session.get_outputs()[0].name

    def _only_input(self) -> str:
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            names = ", ".join(one.name for one in inputs)
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {len(inputs)} inputs ({names[:200]}); one must "
                "do, the observations: illegal actions are masked here"
            )
        kind = inputs[0].type.removeprefix("tensor(").removesuffix(")")
        if _ONNX_DTYPES.get(kind, kind) not in _DTYPES:
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {inputs[0].type}; observations are numbers"
            )
        self.dtype = np.dtype(_ONNX_DTYPES.get(kind, kind))
        self._shape = list(inputs[0].shape)
        if self._shape and isinstance(self._shape[0], int):
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {self._shape[0]} observations at a time; export "
                "it for any number, with dynamic_axes={'NAME OF ITS INPUT': {0: 'n'}}"
            )
        return str(inputs[0].name)

    def run(self, observations: Array) -> Any:
        """Its first output."""
        return self._session.run([self._output], {self._input: observations})[0]

    def _check_shapes(self, rules: Rules, space: spaces.Box) -> None:
        taken = self._shape[1:]
        fits = len(taken) == len(space.shape) and all(
            not isinstance(size, int) or size == own
            for size, own in zip(taken, space.shape, strict=True)
        )
        if not fits:
            raise self._refuse_observation(rules, space, tuple(taken))


def load_onnx(
    path: str | Path,
    seed: int | None = None,
    *,
    encoder: str | None = None,
    rules: str | None = None,
    greedy: bool = True,
) -> OnnxAgent:
    """The player of an ONNX file, which is data: loading it runs no code from it.

    Its options are those of ``ModelAgent``.

    Raises:
        HeartsError: if `encoder` is missing, the file cannot be loaded, or the model does not fit.
        CheckpointError: if there is no such file.
    """
    data = read_model(path)
    return OnnxAgent(data, str(path), seed, encoder=encoder, rules=rules, greedy=greedy)


# ---- torch ---------------------------------------------------------------------------------------
class ModuleAgent(ModelAgent):
    """A ``torch.nn.Module`` as a player."""

    def __init__(
        self, module: Any, name: str, seed: int | None = None, *, dtype: str, **how: Any
    ) -> None:
        """The player of a module, which must not change any more; `how` is as in ``ModelAgent``."""
        super().__init__(name, seed, **how)
        self.dtype = np.dtype(check_choice("dtype", dtype, _DTYPES))
        self._module = module
        self._try()

    def run(self, observations: Array) -> Any:
        """What its ``forward`` gives."""
        return _forward(self._module, observations)

    def content(self) -> Iterator[bytes]:
        """The weights."""
        return _weights(self._module)


class TorchScriptAgent(FileAgent):
    """A TorchScript program as a player."""

    def _load(self) -> None:
        torch = import_library("torch", "train", self.name)
        with (
            blamed(f"agent: {quoted(self.name)} cannot be loaded", "save it with torch.jit.save"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # newer torch prefers torch.export
            self._module = torch.jit.load(io.BytesIO(self._data), map_location="cpu").eval()

    def run(self, observations: Array) -> Any:
        """What its ``forward`` gives."""
        return _forward(self._module, observations)


def _forward(module: Any, observations: Array) -> Any:
    """The first output of a module, as an array."""
    import torch

    try:
        with torch.no_grad():
            given = module(torch.from_numpy(observations))
    except RuntimeError as error:  # that of TorchScript begins with pages of the program
        lines = str(error).strip().splitlines() or [""]
        raise RuntimeError(lines[-1]) from None
    if isinstance(given, tuple | list) and given:
        given = given[0]
    return given.numpy() if isinstance(given, torch.Tensor) else given


def _weights(module: Any) -> Iterator[bytes]:
    for _, tensor in sorted(module.state_dict().items()):
        yield tensor.cpu().numpy().tobytes()


def agent_of_module(
    module: Any,
    seed: int | None = None,
    *,
    encoder: str | None = None,
    rules: str | Rules | None = None,
    greedy: bool = True,
    dtype: str = "float32",
) -> ModuleAgent:
    """The player that a ``torch.nn.Module`` is now; further training does not change it.

    Its options are those of ``ModelAgent``, and `dtype`: of the observations that it is given.

    Raises:
        HeartsError: if `encoder` is missing, or the module does not fit.
    """
    name = type(module).__name__
    if encoder is None:
        raise HeartsError(
            f"encoder: {name} does not say what it sees; state it, as in "
            'make_agent(module, encoder="flat")'
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gradients, which a player has no use for
        own = copy.deepcopy(module).cpu().eval()
    return ModuleAgent(own, name, seed, dtype=dtype, encoder=encoder, rules=rules, greedy=greedy)


def load_torchscript(
    path: str | Path,
    seed: int | None = None,
    *,
    encoder: str | None = None,
    rules: str | None = None,
    greedy: bool = True,
    dtype: str = "float32",
    allow_code: bool = False,
) -> TorchScriptAgent:
    """The player of a file that ``torch.jit.save`` wrote.

    Its options are those of ``agent_of_module``, and `allow_code`: load it; it is not looked into
    without.

    Raises:
        HeartsError: if `allow_code` or `encoder` is missing, or the model does not fit.
        CheckpointError: if it is not such a file.
    """
    data = read_model(path)
    names = names_in_zip(data)
    if not any("/code/" in name for name in names):
        fix = "write it with torch.jit.trace(model, observations).save(path)"
        if any("data.pkl" in name for name in names):  # of torch.save
            fix = WEIGHTS_ALONE
        raise CheckpointError(f"agent: {quoted(str(path))} is not TorchScript; {fix}")
    check_code_allowed(path, _SCRIPT, allow_code=allow_code)
    return TorchScriptAgent(
        data, str(path), seed, dtype=dtype, encoder=encoder, rules=rules, greedy=greedy
    )


# ---- stable-baselines3 ---------------------------------------------------------------------------
class Sb3Agent(ModelAgent):
    """A policy of stable-baselines3 or sb3-contrib that chooses among discrete actions."""

    def __init__(self, policy: Any, name: str, seed: int | None = None, **how: Any) -> None:
        """A player that asks `policy`, which is not changed; `how` is as in ``ModelAgent``.

        Raises:
            HeartsError: if it is not a policy that chooses an action from one observation.
        """
        super().__init__(name, seed, **how)
        self.policy = policy
        kind = type(policy).__name__
        if hasattr(policy, "lstm_actor"):
            raise HeartsError(
                f"agent: {quoted(name)} is recurrent ({kind}): it chooses by what it saw before, "
                "and an agent is asked about views in any order; train one without memory, or "
                "write an agent for it",
                value=name,
            )
        sees, does = policy.observation_space, policy.action_space
        if not isinstance(sees, spaces.Box) or not isinstance(does, spaces.Discrete):
            raise HeartsError(
                f"agent: {quoted(name)} has spaces {quoted(sees)} and {quoted(does)}; needed are a "
                "Box and Discrete, as hearts_agents.HeartsEnv has them",
                value=name,
            )
        answers = next((word for word in _ANSWERS if hasattr(policy, word)), None)
        if answers is None:
            raise HeartsError(
                f"agent: {quoted(name)} has a policy of type {kind}; usable are those of PPO, A2C, "
                "TRPO, MaskablePPO, DQN and QRDQN",
                value=name,
            )
        if not self.greedy and answers != "get_distribution":
            raise HeartsError(
                f"greedy: {quoted(name)} gives values of actions and no chances; omit it",
                value=name,
            )
        self._answers = answers
        self.dtype = np.dtype(sees.dtype)
        self._try()

    def run(self, observations: Array) -> Any:
        """The logits or values of the actions."""
        import torch

        with torch.no_grad():
            tensor, _ = self.policy.obs_to_tensor(observations)
            given = getattr(self.policy, self._answers)(tensor)
            if self._answers == "get_distribution":
                given = given.distribution.logits
            elif self._answers == "quantile_net":
                given = given.mean(dim=1)
            return given.cpu().numpy()

    def content(self) -> Iterator[bytes]:
        """The weights."""
        return _weights(self.policy)

    def _check_shapes(self, rules: Rules, space: spaces.Box) -> None:
        taken, actions = self.policy.observation_space.shape, int(self.policy.action_space.n)
        if taken != space.shape:
            raise self._refuse_observation(rules, space, taken)
        if actions != rules.num_actions or self.policy.action_space.start != 0:
            raise HeartsError(
                f"rules: {quoted(self.name)} has {actions} actions, {rules.name} has "
                f"{rules.num_actions}; play the rules that it was trained for"
            )


def agent_of_model(
    model: Any,
    seed: int | None = None,
    *,
    encoder: str = "flat",
    rules: str | Rules | None = None,
    greedy: bool = True,
) -> Sb3Agent:
    """The player that a model of stable-baselines3 is now; further training does not change it.

    Its options are those of ``ModelAgent``.

    Raises:
        HeartsError: if it cannot play.
    """
    # What it gave last may be of a gradient under way, which cannot be copied.
    last = getattr(getattr(model.policy, "action_dist", None), "distribution", None)
    policy = copy.deepcopy(model.policy, {id(last): None})
    policy.set_training_mode(False)
    name = type(model).__name__
    return Sb3Agent(policy, name, seed, encoder=encoder, rules=rules, greedy=greedy)


def load_sb3(
    path: str | Path,
    seed: int | None = None,
    *,
    encoder: str = "flat",
    rules: str | None = None,
    greedy: bool = True,
    allow_code: bool = False,
) -> Sb3Agent:
    """The player of a file that ``model.save`` of stable-baselines3 or sb3-contrib wrote.

    Its options are those of ``ModelAgent``, and `allow_code`: load it; it is not looked into
    without.

    Raises:
        HeartsError: if `allow_code` is missing, or it is not a policy that can play.
        CheckpointError: if it is not such a file.
    """
    data = read_model(path)
    if not {"data", "policy.pth"} <= names_in_zip(data):
        raise CheckpointError(
            f"agent: {quoted(str(path))} is not a file of stable-baselines3; give one that "
            "model.save wrote"
        )
    check_code_allowed(path, _PICKLE, allow_code=allow_code)
    save_util = import_library("stable_baselines3.common.save_util", "train", path)
    with (
        blamed(
            f"agent: {quoted(str(path))} cannot be loaded",
            "install what it was made with, or save it again with model.save",
        ),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # of what is missing it tells when it is needed
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            stored = json.loads(archive.read("data"))
        ignored = {key: None for key in stored if key not in _NEEDED}
        fields, parameters, _ = save_util.load_from_zip_file(
            io.BytesIO(data), custom_objects=ignored, device="cpu"
        )
        policy = fields["policy_class"](
            fields["observation_space"],
            fields["action_space"],
            _no_learning,
            **(fields.get("policy_kwargs") or {}),
        )
        policy.load_state_dict(parameters["policy"])
        policy.set_training_mode(False)
    return Sb3Agent(policy, str(path), seed, encoder=encoder, rules=rules, greedy=greedy)


def _no_learning(_: float) -> float:
    return 0.0


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
