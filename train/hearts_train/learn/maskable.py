"""sb3-contrib's MaskablePPO over ``HeartsSB3VecEnv``, and policies of a user's script exported."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import (
    MaskableRolloutBuffer,
    MaskableRolloutBufferSamples,
)
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from hearts_agents.base import generator_state, restore_generator
from hearts_agents.envs.pool import OpponentPool
from hearts_agents.envs.sb3 import HeartsSB3VecEnv
from hearts_agents.models.checkpoint import Checkpoint, save_checkpoint
from hearts_agents.models.network import Network
from hearts_env import HeartsError, Rules
from hearts_env.encoders import make_encoder
from hearts_env.seeds import derived_seed
from hearts_env.support.arguments import check_array
from hearts_env.support.tensors import Tensors
from hearts_train.learn import runs
from hearts_train.learn.actor_critic import ACTIVATIONS, set_threads
from hearts_train.learn.config import NetworkConfig, TrainConfig
from hearts_train.learn.learner import Learner

_NEVER = -1e8
"""The logit of an illegal action, as sb3-contrib has it."""


class MaskableLearner(Learner):
    """sb3-contrib's MaskablePPO: one seat of each game learns, the others are opponents."""

    algorithm = "MaskablePPO"
    packages = ("hearts-env", "sb3-contrib", "stable-baselines3", "torch", "numpy")

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make everything, as ``Learner`` has it."""
        super().__init__(config, state)
        set_threads(config.threads)
        self.env = self._make_env(self._add_opponents())
        self.model = self._make_model()
        self._start(state)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The policy's weights under their names in a checkpoint."""
        return policy_tensors(self.model.policy)

    # -- making ----------------------------------------------------------------------------------
    def _make_env(self, pool: OpponentPool) -> HeartsSB3VecEnv:
        env = self.config.env
        return HeartsSB3VecEnv(
            env.num_envs,
            self.rules,
            reward=env.reward,
            observation=self.encoder,
            opponent=pool,
            seat=env.seat,
            skip_forced=env.skip_forced,
            seed=derived_seed(self.config.seed, 3),
        )

    def _make_model(self) -> MaskablePPO:
        config, ppo = self.config, self.config.ppo
        model = MaskablePPO(
            HeartsPolicy,
            self.env,
            learning_rate=lambda _: self.learning_rate,
            n_steps=ppo.num_steps,
            batch_size=ppo.batch_size,
            n_epochs=ppo.num_epochs,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_range,
            clip_range_vf=ppo.clip_range_vf,
            normalize_advantage=ppo.normalize_advantage,
            vf_coef=ppo.vf_coef,
            max_grad_norm=ppo.max_grad_norm,
            target_kl=ppo.target_kl,
            rollout_buffer_class=CompactRolloutBuffer,
            rollout_buffer_kwargs={"seed": derived_seed(config.seed, 1)},
            policy_kwargs=policy_kwargs(config.network),
            seed=config.seed,
            device="cpu",
        )
        model.set_logger(Logger(None, []))
        return model

    def _begin_games(self) -> None:
        """Start new games, with other deals after each start, and observe them."""
        self.env.seed(derived_seed(self.config.seed, 1000 + self.counters.starts) % 2**62)
        self.model._last_obs = self.env.reset()
        self.model._last_episode_starts = np.ones(self.env.num_envs, np.bool_)

    # -- state -----------------------------------------------------------------------------------
    def state(self) -> runs.State:
        """The whole training state, between two updates."""
        policy, optimizer = self.model.policy, self.model.policy.optimizer
        tensors: dict[str, NDArray[Any]] = {}
        for name, tensor in policy.state_dict().items():
            tensors[f"policy/{name}"] = tensor.numpy().copy()
        for number, moments in optimizer.state_dict()["state"].items():
            for name, tensor in moments.items():
                tensors[f"optimizer/{number}/{name}"] = torch.as_tensor(tensor).numpy().copy()
        tensors |= self.opponents[0].tensors()
        tensors |= {f"games/{name}": array for name, array in self.env.state().items()}
        starts = self.model._last_episode_starts
        assert starts is not None
        tensors["games/episode_starts"] = starts.copy()
        tensors["rng/torch"] = torch.get_rng_state().numpy().copy()
        tensors["rng/buffer"] = generator_state(self._buffer.rng)
        return runs.State(replace(self.counters), tensors, self._games_key)

    def _restore_parts(self, parts: dict[str, Tensors]) -> None:
        self._restore_weights(parts.get("policy", {}), parts.get("optimizer", {}))
        if "games" in parts:
            self._restore_games(parts["games"])
        rng = parts.get("rng", {})
        now = torch.get_rng_state()
        torch.set_rng_state(
            torch.from_numpy(check_array("rng/torch", rng.get("torch"), now.numpy()))
        )
        restore_generator(self._buffer.rng, rng.get("buffer", np.zeros(0, np.uint64)))
        self.model.num_timesteps = self.counters.decisions
        self.model._n_updates = self.counters.gradient_epochs

    def _restore_weights(
        self, policy: dict[str, NDArray[Any]], optimizer: dict[str, NDArray[Any]]
    ) -> None:
        own = {name: tensor.numpy() for name, tensor in self.model.policy.state_dict().items()}
        for name, tensor in own.items():
            check_array(f"policy/{name}", policy.get(name), tensor)
        self.model.policy.load_state_dict(
            {name: torch.from_numpy(policy[name].copy()) for name in own}
        )
        moments: dict[int, dict[str, torch.Tensor]] = {}
        if optimizer:  # empty before the first update
            for number, weights in enumerate(self.model.policy.parameters()):
                like = weights.detach().numpy()
                moments[number] = {
                    name: torch.from_numpy(
                        check_array(
                            f"optimizer/{number}/{name}", optimizer.get(f"{number}/{name}"), shape
                        ).copy()
                    )
                    for name, shape in (
                        ("step", np.zeros((), np.float32)),
                        ("exp_avg", like),
                        ("exp_avg_sq", like),
                    )
                }
        groups = self.model.policy.optimizer.state_dict()["param_groups"]
        self.model.policy.optimizer.load_state_dict({"state": moments, "param_groups": groups})

    def _restore_games(self, games: dict[str, NDArray[Any]]) -> None:
        starts = check_array(
            "games/episode_starts",
            games.get("episode_starts"),
            np.zeros(self.env.num_envs, np.bool_),
        )
        self.env.reset()  # its state is replaced
        self.model._last_obs = self.env.restore(games)
        self.model._last_episode_starts = starts.copy()

    @property
    def _buffer(self) -> CompactRolloutBuffer:
        buffer = self.model.rollout_buffer
        assert isinstance(buffer, CompactRolloutBuffer)
        return buffer

    # -- learning --------------------------------------------------------------------------------
    def warm_up(self) -> None:
        """Compile what a rollout needs, before the clock runs; leaves no trace in what follows."""
        before = self.env.state()
        for _ in range(self.rules.hand_size + self.rules.pass_count + 2):  # to the end of a deal
            _, _, done, _ = self.env.step(self.env.action_masks().argmax(axis=1))
            if done.any():
                break
        self.env.restore(before)

    def _parameters(self) -> Iterable[torch.Tensor]:
        return self.model.policy.parameters()

    def _learn(self) -> dict[str, Any]:
        model = self.model
        model.ent_coef = self.ent_coef
        size = self.config.env.num_envs * self.config.ppo.num_steps
        model.learn(size, reset_num_timesteps=False, log_interval=sys.maxsize)
        self.counters.decisions = model.num_timesteps
        self.counters.gradient_epochs = model._n_updates
        row: dict[str, Any] = {}
        buffer = self._buffer
        deals = float(buffer.episode_starts.sum())
        if deals:
            row["reward"] = float(buffer.rewards.sum()) / deals
        for name, value in model.logger.name_to_value.items():
            if name.startswith("train/") and isinstance(value, int | float | np.number):
                number = float(value)
                row[name.removeprefix("train/")] = number if math.isfinite(number) else None
        return row


# ---- networks and rollouts -----------------------------------------------------------------------


class Trunk(BaseFeaturesExtractor):
    """The layers shared by policy and value, for observations of any dtype and shape."""

    def __init__(
        self, observation_space: spaces.Space[Any], sizes: list[int], activation: str
    ) -> None:
        inputs = int(np.prod(observation_space.shape or (1,)))
        super().__init__(observation_space, sizes[-1] if sizes else inputs)
        layers: list[nn.Module] = [nn.Flatten()]
        for before, size in zip([inputs, *sizes], sizes, strict=False):
            layers += [nn.Linear(before, size), ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of observations."""
        features: torch.Tensor = self.layers(observations.float())
        return features


class HeartsPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy for maskable PPO, without its distribution objects.

    Those normalise twice and check their arguments at each call; one log-softmax over the masked
    logits gives the same numbers. Everything else, also ``predict``, is inherited.
    """

    def forward(
        self,
        obs: torch.Tensor,
        deterministic: bool = False,  # noqa: FBT001, FBT002 as stable-baselines3 calls it
        action_masks: NDArray[Any] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions, values and log-probabilities of the actions, for a rollout."""
        values, log_probs = self._evaluate(obs, action_masks)
        if deterministic:
            actions = log_probs.argmax(dim=1)
        else:  # the maximum of log-probability + Gumbel noise is a sample
            noise = torch.empty_like(log_probs).exponential_().log_()
            actions = (log_probs - noise).argmax(dim=1)
        return actions, values, log_probs.gather(1, actions[:, None])[:, 0]

    def evaluate_actions(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        action_masks: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values, log-probabilities of the actions, and entropies, for an update."""
        values, log_probs = self._evaluate(obs, action_masks)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)  # illegal: 0 * -1e8 = 0
        return values, log_probs.gather(1, actions[:, None])[:, 0], entropy

    def _evaluate(
        self, obs: torch.Tensor, action_masks: NDArray[Any] | torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.features_extractor(obs)
        latent_policy, latent_value = self.mlp_extractor(features)
        logits = self.action_net(latent_policy)
        if action_masks is not None:
            mask = torch.as_tensor(action_masks).reshape(logits.shape)
            logits = logits.masked_fill(mask == 0, _NEVER)
        return self.value_net(latent_value), torch.log_softmax(logits, dim=1)


def policy_kwargs(config: NetworkConfig) -> dict[str, Any]:
    """The arguments of ``HeartsPolicy`` for a network of these sizes."""
    return {
        "features_extractor_class": Trunk,
        "features_extractor_kwargs": {"sizes": config.trunk, "activation": config.activation},
        "net_arch": {"pi": list(config.policy), "vf": list(config.value)},
        "activation_fn": ACTIVATIONS[config.activation],
        "optimizer_kwargs": {"eps": 1e-5, "fused": True},
        "normalize_images": False,
    }


def policy_tensors(
    policy: ActorCriticPolicy | MaskableActorCriticPolicy,
) -> dict[str, NDArray[np.float32]]:
    """Copies of the weights that choose actions, named as in a player's file."""
    parts = (policy.features_extractor, policy.mlp_extractor.policy_net, policy.action_net)
    linear = [m for part in parts for m in part.modules() if isinstance(m, nn.Linear)]
    tensors: dict[str, NDArray[np.float32]] = {}
    for i, layer in enumerate(linear):
        tensors[f"policy.{i}.weight"] = layer.weight.detach().cpu().numpy().copy()
        tensors[f"policy.{i}.bias"] = layer.bias.detach().cpu().numpy().copy()
    return tensors


class CompactRolloutBuffer(MaskableRolloutBuffer):
    """sb3-contrib's rollout buffer with masks of one byte and a generator of its own.

    sb3-contrib's keeps masks as float32, allocates new arrays for each rollout, and shuffles by
    NumPy's global state, which other code shares and changes.
    """

    def __init__(self, *args: Any, seed: int = 0, **kwargs: Any) -> None:
        self.rng = np.random.default_rng(seed)
        super().__init__(*args, **kwargs)

    def reset(self) -> None:
        """Make room for the next rollout."""
        assert isinstance(self.action_space, spaces.Discrete)
        self.mask_dims = int(self.action_space.n)
        size = (self.buffer_size, self.n_envs)
        super(MaskableRolloutBuffer, self).reset()
        self.action_masks = np.ones((*size, self.mask_dims), np.int8)

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Minibatches in a new random order."""
        assert self.full
        size = self.buffer_size * self.n_envs
        flat = [
            torch.from_numpy(array.reshape(size, *array.shape[2:]))
            for array in (
                self.observations,
                self.actions,
                self.values,
                self.log_probs,
                self.advantages,
                self.returns,
                self.action_masks,
            )
        ]
        order = torch.from_numpy(self.rng.permutation(size))
        step = batch_size or size
        for start in range(0, size, step):
            rows = order[start : start + step]
            yield MaskableRolloutBufferSamples(*[array.index_select(0, rows) for array in flat])


# ---- policies of the user's own script -----------------------------------------------------------
_NAMES = {kind: name for name, kind in ACTIVATIONS.items()}
_PARTS = ("features_extractor", "mlp_extractor", "action_net", "value_net")
"""The parts of a policy, also under names like ``pi_features_extractor``."""


def export_policy(
    model: Any,
    path: str | Path,
    rules: Rules | str = "two_player",
    *,
    observation: str = "flat",
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write the policy of a PPO, A2C or MaskablePPO as a player's file, atomically.

    ``make_agent(path)`` then plays it, ``hearts evaluate path`` evaluates it.

    Args:
        model: with a policy of linear layers and one activation (``MlpPolicy``).
        path: the file to write, preferably ``*.safetensors``.
        rules: those that it was trained for.
        observation: the name of the encoder that it was trained on.
        training: what to record about the training; a mapping of JSON types.

    Raises:
        HeartsError: if its network is of another kind or for other observations or actions, or its
            weights are not finite.
    """
    rules = Rules.make(rules)
    policy, activation = _linear_policy(model)
    if not isinstance(observation, str):
        raise HeartsError(
            f"observation: {observation!r} is not the name of an encoder; register yours with "
            "register_encoder",
            value=observation,
        )
    tensors = policy_tensors(policy)
    sizes = Network(tensors).sizes
    inputs = math.prod(make_encoder(observation).space(rules).shape)
    if (sizes[0], sizes[-1]) != (inputs, rules.num_actions):
        raise HeartsError(
            f"model: {sizes[0]} inputs, {sizes[-1]} actions; {observation!r} of {rules.name} has "
            f"{inputs} and {rules.num_actions}; give the rules and observation it was trained on"
        )
    _check_agrees(model, Network(tensors, activation))
    facts = {"algorithm": type(model).__name__, "decisions": int(model.num_timesteps)}
    try:
        facts |= json.loads(json.dumps(dict(training or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise HeartsError(f"training: {error}; give a mapping of JSON types") from None
    meta = Checkpoint(
        rules=rules, encoder=observation, layers=sizes, activation=activation, training=facts
    )
    save_checkpoint(path, tensors, meta)


def _linear_policy(model: Any) -> tuple[ActorCriticPolicy | MaskableActorCriticPolicy, str]:
    """The policy of a model and its activation; refused unless all its layers are linear."""
    policy = getattr(model, "policy", None)
    if not isinstance(policy, ActorCriticPolicy | MaskableActorCriticPolicy):
        raise HeartsError(
            f"model: a {type(model).__name__} has no policy that can be exported; give a PPO, A2C "
            "or MaskablePPO with MlpPolicy"
        )
    foreign = [
        name
        for name, part in policy.named_children()
        if not name.endswith(_PARTS) and next(part.parameters(), None) is not None
    ]
    modules = [
        module
        for part in (policy.features_extractor, policy.mlp_extractor.policy_net, policy.action_net)
        for module in part.modules()
    ]
    parametric = [m for m in modules if next(m.parameters(recurse=False), None) is not None]
    if foreign or not all(isinstance(module, nn.Linear) for module in parametric):
        names = foreign or [type(m).__name__ for m in parametric if not isinstance(m, nn.Linear)]
        raise HeartsError(
            f"model: {names[0]} cannot be exported; give a policy of linear layers, like MlpPolicy"
        )
    used = {_NAMES[type(m)] for m in modules if type(m) in _NAMES}
    if len(used) > 1:
        raise HeartsError(f"model: the activations {', '.join(sorted(used))} are mixed; use one")
    if model.get_vec_normalize_env() is not None:
        raise HeartsError("model: trained on observations that VecNormalize changed; train without")
    return policy, used.pop() if used else "relu"


def _check_agrees(model: Any, network: Network) -> None:
    """Compare the network's output with the policy's: this shows what the checks above miss."""
    if not all(bool(torch.isfinite(weights).all()) for weights in model.policy.parameters()):
        raise HeartsError("model: its weights are not finite numbers; the training diverged")
    space = model.observation_space
    rng = np.random.default_rng(0)
    observations = rng.integers(0, 2, (32, *space.shape)).astype(space.dtype)
    with torch.no_grad():
        inputs = torch.as_tensor(observations, device=model.device)
        theirs = model.policy.get_distribution(inputs).distribution.logits.cpu().numpy()
    ours = network.logits(observations)
    ours = ours - np.log(np.exp(ours - ours.max(1)[:, None]).sum(1))[:, None] - ours.max(1)[:, None]
    if not np.allclose(ours, theirs, atol=1e-3):
        raise HeartsError(
            "model: its policy is more than linear layers with ReLU or Tanh between them; use "
            "MlpPolicy with one of these activations"
        )
