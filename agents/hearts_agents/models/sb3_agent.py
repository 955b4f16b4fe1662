"""Players of stable-baselines3 and sb3-contrib: a model, or a file that ``model.save`` wrote."""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hearts_agents.blame import blamed
from hearts_agents.models.model_agent import ModelAgent, import_library, names_in_zip, read_model
from hearts_agents.trust import check_code_allowed
from hearts_env import HeartsError, Rules
from hearts_env.support.arrays import Array
from hearts_env.support.errors import CheckpointError, quoted

_PICKLE = "a stable-baselines3 file holds pickled Python objects"
_NEEDED = ("policy_class", "observation_space", "action_space", "policy_kwargs")
"""What of a stable-baselines3 file is unpickled."""


class Sb3Agent(ModelAgent):
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
            HeartsError: if it is not a policy that chooses an action from one observation.
        """
        super().__init__(name, encoder, rules, greedy=greedy, seed=seed)
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
        self._ask = _asked(policy)
        if self._ask is None:
            raise HeartsError(
                f"agent: {quoted(name)} has a policy of type {kind}; usable are those of PPO, A2C, "
                "TRPO, MaskablePPO, DQN and QRDQN",
                value=name,
            )
        if not greedy and not hasattr(policy, "get_distribution"):
            raise HeartsError(
                f"greedy: {quoted(name)} gives values of actions and no chances; omit it",
                value=name,
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
        HeartsError: if it cannot play.
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
    allow_code: bool = False,
) -> Sb3Agent:
    """The player of a file that ``model.save`` of stable-baselines3 or sb3-contrib wrote.

    Args:
        path: the file.
        seed: of its draws, where it is not greedy.
        encoder: the ``observation`` that it was trained with.
        rules: the only rules that it plays; None: all whose shapes it fits.
        greedy: take the preferred action; False: draw from the policy's probabilities.
        allow_code: load it; it is not looked into without.

    Raises:
        HeartsError: if `allow_code` is missing, or it is not a policy that can play.
        CheckpointError: if it is not such a file.
    """
    data = read_model(path)
    names = names_in_zip(data)
    if not {"data", "policy.pth"} <= names:
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
    return Sb3Agent(policy, str(path), encoder, rules, greedy=greedy, seed=seed)


def _no_learning(_: float) -> float:
    return 0.0
