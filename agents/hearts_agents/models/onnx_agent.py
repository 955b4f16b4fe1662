"""Players of ONNX files, which are data: loading one runs no code from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hearts_agents.blame import blamed
from hearts_agents.models.model_agent import FileAgent, import_library, read_model
from hearts_env import HeartsError, Rules
from hearts_env.support.arrays import Array
from hearts_env.support.errors import quoted

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
}


class OnnxAgent(FileAgent):
    """An ONNX model as a player."""

    def __init__(self, data: bytes, name: str, **how: Any) -> None:
        """The player of a file's content; `how` is as in ``ModelAgent``."""
        super().__init__(data, name, **how)
        runtime = import_library("onnxruntime", "onnx", name)
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
        if inputs[0].type not in _DTYPES:
            raise HeartsError(
                f"agent: {quoted(self.name)} takes {inputs[0].type}; observations are numbers"
            )
        self.dtype = np.dtype(_DTYPES[inputs[0].type])
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
    return OnnxAgent(
        read_model(path), str(path), encoder=encoder, rules=rules, greedy=greedy, seed=seed
    )
