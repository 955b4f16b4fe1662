"""Players whose networks other libraries made: stable-baselines3, TorchScript, ONNX.

Such a file does not say what it plays. The spec states the encoder (``model.onnx?encoder=flat``),
and perhaps the rules; before anything is dealt the model is tried on empty observations, and what
does not fit is named. What it must take and give, and which of these files can run code when they
are loaded: docs/agents.md.

The libraries are imported when a file of theirs is loaded.
"""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hearts_agents.blame import blamed
from hearts_agents.encoded import EncodedAgent, trained_for_others
from hearts_agents.trust import check_trust
from hearts_env import HeartsError, Rules
from hearts_env.arguments import check_choice
from hearts_env.arrays import Array
from hearts_env.encoders import ENCODERS
from hearts_env.errors import CheckpointError, did_you_mean, install, quoted
from hearts_env.files import kind_of
from hearts_env.presets import PRESETS

_PICKLE = "a stable-baselines3 file holds pickled Python objects"
_SCRIPT = "TorchScript is a program, which can read and write files"
_DTYPES = ("float32", "float16", "float64", "int8", "uint8", "int32", "int64")
_ONNX_DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
}
_NEEDED = ("policy_class", "observation_space", "action_space", "policy_kwargs")
"""What of a stable-baselines3 file is unpickled."""
_TRIALS = (1, 3)
"""Rows of the observations that a model is tried on."""


class ForeignAgent(EncodedAgent):
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
                f"{name}?encoder=flat; known: {', '.join(ENCODERS)}"
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
        """Of the observations that the model is given."""
        self._fits: Rules | None = None
        self._encoder_name = encoder

    def run(self, observations: Array) -> Any:
        """What the model gives for ``(n, *shape)`` observations: ``(n, num_actions)``."""
        raise NotImplementedError

    def weigh(self, observations: Array) -> Array:
        """The weights of the actions, ``(n, *shape) -> (n, num_actions) float32``.

        Raises:
            HeartsError: if the model gives something else, or a number that is none.
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

    def __deepcopy__(self, memo: dict[int, Any]) -> ForeignAgent:
        """A player with draws of its own; the model, which is never changed, is shared."""
        return self.sharing_copy(memo)


# ---- stable-baselines3 ---------------------------------------------------------------------------
class Sb3Agent(ForeignAgent):
    """A policy of stable-baselines3 or sb3-contrib that chooses among discrete actions."""

    def __init__(
        self,
        policy: Any,
        name: str,
        encoder: str = "flat",
        rules: str | Rules | None = None,
        *,
        greedy: bool = True,
        seed: int | None = None,
    ) -> None:
        """A player that asks `policy`, which is not changed.

        Raises:
            HeartsError: if it is no policy that chooses an action from one observation.
        """
        super().__init__(name, encoder, rules, greedy=greedy, seed=seed)
        self.policy = policy
        kind = type(policy).__name__
        if hasattr(policy, "lstm_actor"):
            raise HeartsError(
                f"agent: {quoted(name)} is recurrent ({kind}): it chooses by what it saw before, "
                "and an agent is asked about views in any order; train one without memory, or "
                "write an agent for it"
            )
        sees, does = policy.observation_space, policy.action_space
        if not isinstance(sees, spaces.Box) or not isinstance(does, spaces.Discrete):
            raise HeartsError(
                f"agent: {quoted(name)} has spaces {quoted(sees)} and {quoted(does)}; needed are a "
                "Box and Discrete, as hearts_agents.HeartsEnv has them"
            )
        self._ask = _asked(policy)
        if self._ask is None:
            raise HeartsError(
                f"agent: {quoted(name)} has a policy of type {kind}; usable are those of PPO, A2C, "
                "TRPO, MaskablePPO, DQN and QRDQN"
            )
        if not greedy and not hasattr(policy, "get_distribution"):
            raise HeartsError(
                f"greedy: {quoted(name)} gives values of actions, not chances to draw from; omit it"
            )
        self.dtype = np.dtype(sees.dtype)
        if self.rules is not None:
            self.check_rules(self.rules)

    def run(self, observations: Array) -> Any:
        """The logits or values of the actions."""
        import torch

        assert self._ask is not None
        with torch.no_grad():
            tensor, _ = self.policy.obs_to_tensor(observations)
            return self._ask(tensor).cpu().numpy()

    def content(self) -> Iterator[bytes]:
        """The weights."""
        for _, tensor in sorted(self.policy.state_dict().items()):
            yield tensor.cpu().numpy().tobytes()

    def _check_shapes(self, rules: Rules, space: spaces.Box) -> None:
        taken, actions = self.policy.observation_space.shape, int(self.policy.action_space.n)
        if taken != space.shape:
            raise self._refuse_observation(rules, space, taken)
        if actions != rules.num_actions or self.policy.action_space.start != 0:
            raise HeartsError(
                f"rules: {quoted(self.name)} has {actions} actions, {rules.name} has "
                f"{rules.num_actions}; play the rules that it was trained for"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ask": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ask = _asked(self.policy)


def _asked(policy: Any) -> Callable[[Any], Any] | None:
    """What gives the logits or values of the actions for a tensor of observations."""
    if hasattr(policy, "get_distribution"):
        return lambda seen: policy.get_distribution(seen).distribution.logits
    if hasattr(policy, "quantile_net"):
        return lambda seen: policy.quantile_net(seen).mean(dim=1)
    if hasattr(policy, "q_net"):
        return lambda seen: policy.q_net(seen)
    return None


def agent_of_model(
    model: Any,
    seed: int | None = None,
    *,
    encoder: str = "flat",
    rules: str | Rules | None = None,
    greedy: bool = True,
) -> Sb3Agent:
    """The player that a model of stable-baselines3 is now; further training does not change it.

    Raises:
        HeartsError: if it is none that can play.
    """
    # What it gave last may be of a gradient under way, which cannot be copied.
    last = getattr(getattr(model.policy, "action_dist", None), "distribution", None)
    policy = copy.deepcopy(model.policy, {id(last): None})
    policy.set_training_mode(False)
    name = type(model).__name__
    return Sb3Agent(policy, name, encoder, rules, greedy=greedy, seed=seed)


def load_sb3(
    path: str | Path,
    seed: int | None = None,
    *,
    encoder: str = "flat",
    rules: str | None = None,
    greedy: bool = True,
    trust: bool = False,
) -> Sb3Agent:
    """The player of a file that ``model.save`` of stable-baselines3 or sb3-contrib wrote.

    Args:
        path: the file.
        seed: of its draws, where it is not greedy.
        encoder: the ``observation`` that it was trained with.
        rules: the only rules that it plays; None: all whose shapes it fits.
        greedy: take the preferred action; False: draw from the policy's probabilities.
        trust: load it; it is not looked into without.

    Raises:
        HeartsError: if `trust` is missing, or it is no policy that can play.
        CheckpointError: if it is not such a file.
    """
    data = _read(path)
    names = _names_in_zip(data)
    if not {"data", "policy.pth"} <= names:
        raise CheckpointError(
            f"agent: {quoted(str(path))} is not a file of stable-baselines3; give one that "
            "model.save wrote"
        )
    check_trust(path, _PICKLE, trust=trust)
    save_util = _library("stable_baselines3.common.save_util", "train", path)
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
    return Sb3Agent(policy, str(path), encoder, rules, greedy=greedy, seed=seed)


def _no_learning(_: float) -> float:
    return 0.0


# ---- TorchScript and ONNX ------------------------------------------------------------------------
class FileAgent(ForeignAgent):
    """A player whose model is loaded from the content of a file, in another process again."""

    def __init__(self, data: bytes, name: str, **how: Any) -> None:
        """The player of a file's content; `how` is as in ``ForeignAgent``."""
        super().__init__(name, **how)
        self._data = data
        self._made_of: tuple[Any, ...] = data, name, how

    def content(self) -> Iterator[bytes]:
        """The file."""
        yield self._data

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self._made_of)


class TorchScriptAgent(FileAgent):
    """A TorchScript program as a player."""

    def __init__(self, data: bytes, name: str, dtype: str, **how: Any) -> None:
        """The player of a file's content; `how` is as in ``ForeignAgent``."""
        super().__init__(data, name, **how)
        self._made_of = data, name, dtype, how
        self.dtype = np.dtype(check_choice("dtype", dtype, _DTYPES))
        torch = _library("torch", "train", name)
        with (
            blamed(f"agent: {quoted(name)} cannot be loaded", "save it with torch.jit.save"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # newer torch prefers torch.export
            self._module = torch.jit.load(io.BytesIO(data), map_location="cpu").eval()
        if self.rules is not None:
            self.check_rules(self.rules)

    def run(self, observations: Array) -> Any:
        """What its ``forward`` gives."""
        import torch

        try:
            with torch.no_grad():
                given = self._module(torch.from_numpy(observations))
        except RuntimeError as error:  # its message begins with pages of the program
            lines = str(error).strip().splitlines() or [""]
            raise RuntimeError(lines[-1]) from None
        if isinstance(given, tuple | list) and given:
            given = given[0]
        return given.numpy() if isinstance(given, torch.Tensor) else given


def load_torchscript(
    path: str | Path,
    seed: int | None = None,
    *,
    encoder: str | None = None,
    rules: str | None = None,
    greedy: bool = True,
    dtype: str = "float32",
    trust: bool = False,
) -> TorchScriptAgent:
    """The player of a file that ``torch.jit.save`` wrote.

    Args:
        path: the file.
        seed: of its draws, where it is not greedy.
        encoder: what its model sees.
        rules: the only rules that it plays; None: all that it fits.
        greedy: take the preferred action; False: draw from the softmax of its outputs.
        dtype: of the observations that it is given.
        trust: load it; it is not looked into without.

    Raises:
        HeartsError: if `trust` or `encoder` is missing, or the model does not fit.
        CheckpointError: if it is not such a file.
    """
    data = _read(path)
    names = _names_in_zip(data)
    if not any("/code/" in name for name in names):
        what = "holds weights alone" if any("data.pkl" in n for n in names) else "is something else"
        raise CheckpointError(
            f"agent: {quoted(str(path))} is not TorchScript, it {what}; write it with "
            "torch.jit.trace(model, observations).save(path)"
        )
    check_trust(path, _SCRIPT, trust=trust)
    return TorchScriptAgent(
        data, str(path), dtype, encoder=encoder, rules=rules, greedy=greedy, seed=seed
    )


class OnnxAgent(FileAgent):
    """An ONNX model as a player."""

    def __init__(self, data: bytes, name: str, **how: Any) -> None:
        """The player of a file's content; `how` is as in ``ForeignAgent``."""
        super().__init__(data, name, **how)
        runtime = _library("onnxruntime", "onnx", name)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # many players may play
        options.log_severity_level = 4
        with blamed(
            f"agent: {quoted(name)} is no ONNX model that can be loaded",
            "write it with torch.onnx.export(..., external_data=False), and check it",
        ):
            self._session = runtime.InferenceSession(
                data, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        self._input = self._only_input()
        self._output = self._session.get_outputs()[0].name
        if self.rules is not None:
            self.check_rules(self.rules)

    def _only_input(self) -> str:
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            names = ", ".join(one.name for one in inputs)
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {len(inputs)} inputs ({names[:200]}); one must "
                "do, the observations: illegal actions are masked here"
            )
        if inputs[0].type not in _ONNX_DTYPES:
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {inputs[0].type}; observations are numbers"
            )
        self.dtype = np.dtype(_ONNX_DTYPES[inputs[0].type])
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

    Args:
        path: the file.
        seed: of its draws, where it is not greedy.
        encoder: what its model sees.
        rules: the only rules that it plays; None: all that it fits.
        greedy: take the preferred action; False: draw from the softmax of its outputs.

    Raises:
        HeartsError: if `encoder` is missing, the file cannot be loaded, or the model does not fit.
        CheckpointError: if there is no such file.
    """
    return OnnxAgent(_read(path), str(path), encoder=encoder, rules=rules, greedy=greedy, seed=seed)


def _remade(kind: type[ForeignAgent], made_of: tuple[Any, ...]) -> ForeignAgent:
    return kind(*made_of[:-1], **made_of[-1])


# ---- files ---------------------------------------------------------------------------------------
def _read(path: str | Path) -> bytes:
    if kind_of(path) != "file":
        raise CheckpointError(f"agent: there is no file {quoted(str(path))}; check the path")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"agent: {quoted(str(path))} cannot be read ({error.strerror}); check the path"
        ) from None


def _names_in_zip(data: bytes) -> set[str]:
    """The names of an archive's files; empty where it is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return set()


def _library(name: str, extra: str, path: str | Path) -> Any:
    try:
        return import_module(name)
    except ImportError:
        library = name.partition(".")[0]
        raise HeartsError(
            f"agent: {quoted(str(path))} needs {library}, which is not installed; in the checkout: "
            f"{install(extra)}"
        ) from None
