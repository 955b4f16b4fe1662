"""The settings of a training run, with their defaults and checks.

A config lists only the settings that differ from these defaults. ``config_files`` reads it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from hearts_agents.spec import AgentSpec
from hearts_agents.user_code import check_allowed, is_code
from hearts_env.batch.kernel import MAX_GAMES
from hearts_env.support.errors import HeartsError, quoted
from hearts_train.learn.plain_yaml import Dumper
from hearts_train.measure.contest import MAX_DEALS, MIN_DEALS

SELF = "self"
"""The opponent that stands for snapshots of the learner."""
LATEST = f"{SELF} 0"
"""The name of the latest snapshot in an opponent pool."""
AVERAGE = "average"
"""The magnet that is the average of the learner's weights."""

COMPILERS = ("c++", "g++", "clang++")
"""The C++ compilers that torch.compile can use."""
_MANY = 50_000_000
"""The decisions that win back the time for compiling the loss."""
_MAX_ROLLOUT = 100_000_000  # decisions, of some hundred bytes each


class ConfigError(HeartsError):
    """An invalid config or setting."""


def _kind(what: str) -> Callable[[Any], Any]:
    """Return a check that a value is not of another kind. pydantic reads text as numbers."""

    def check(value: Any) -> Any:
        is_truth = isinstance(value, bool | np.bool_)
        if isinstance(value, str | bytes) or is_truth != (what == "true or false"):
            raise ValueError(f"give {what}")
        return value

    return check


Int = Annotated[int, BeforeValidator(_kind("a whole number"))]
Real = Annotated[float, BeforeValidator(_kind("a number"))]
Truth = Annotated[bool, BeforeValidator(_kind("true or false"))]
Share = Annotated[Real, Field(ge=0, le=1)]
Positive = Annotated[Real, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[Real, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[Real, Field(gt=0, le=1e6)]
RateEnd = Annotated[Real, Field(ge=0, le=1e6)]
Count = Annotated[Int, Field(ge=1)]
Pairs = Annotated[Int, Field(ge=MIN_DEALS, le=MAX_DEALS)]


class Named(Enum):
    """The kinds of objects that a setting may name. All of them may be code."""

    AGENT = "agent"
    MODULE = "torch module"
    ENCODER = "encoder"


AgentName = Annotated[str, Named.AGENT]
"""The type of every setting that names an agent. ``TrainConfig.named`` finds it by this type."""
ModuleName = Annotated[str, Named.MODULE, Field(pattern=r"^.+:[A-Za-z_]\w*$")]
EncoderName = Annotated[str, Named.ENCODER]
Sizes = Annotated[list[Annotated[Int, Field(ge=1, le=8192)]], Field(max_length=8)]


def between(start: float, end: float | None, share: float) -> float:
    """Interpolate linearly from `start` to `end` by the share of the budget spent."""
    return start if end is None else start + (end - start) * share


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class EnvConfig(_Section):
    """The games that the learner trains on."""

    rules: str = "two_player"
    """Preset, or preset with changes, like ``mini hand_size=4`` or ``party players=5``."""
    observation: EncoderName = "flat"
    """Encoder. Your own, as FILE.py:NAME, needs --allow-code."""
    reward: Literal["margin", "points", "trick", "win", "chips"] = "margin"
    seat: int | str = "random"
    """The learner's seat, or ``random``."""
    num_envs: Annotated[Int, Field(ge=1, le=MAX_GAMES)] = 1024
    """Games played side by side."""
    skip_forced: Truth = True
    """If True, forced cards are played automatically and not learnt from."""

    @field_validator("seat", mode="before")
    @classmethod
    def _is_seat(cls, seat: Any) -> Any:
        is_number = isinstance(seat, int | np.integer) and not isinstance(seat, bool)
        if seat != "random" and not (is_number and seat >= 0):
            raise ValueError("give a seat's number from 0, or random")
        return seat


class NetworkConfig(_Section):
    """Layer sizes: a trunk that policy and value share, and a head for each."""

    trunk: Sizes = [256]
    policy: Sizes = [64]
    value: Sizes = [64]
    activation: Literal["relu", "tanh"] = "relu"
    module: ModuleName | None = None
    """Your own torch module, as FILE.py:NAME, instead of these layers. It needs --allow-code.

    ``NAME(observation_shape, num_actions)`` maps observations to logits and values.
    """
    start: AgentName | None = None
    """A trained player (name or file) with the same observation and layer sizes.

    Training starts from its policy weights. In the first 25 updates, only the value head learns.
    """


class PPOConfig(_Section):
    """Proximal policy optimisation (Schulman et al. 2017).

    A value ``x`` changes linearly to ``x_end`` over the budget. If ``x_end`` is null, it stays
    constant.
    """

    num_steps: Count = 32
    """Decisions per game and update."""
    batch_size: Annotated[Int, Field(ge=2)] = 2048
    """Decisions per minibatch, or all of an update if it has fewer."""
    num_epochs: Count = 2
    learning_rate: Rate = 3e-3
    learning_rate_end: RateEnd | None = 1e-4
    gamma: Share = 1.0
    """Discount per decision. Deals are short, so by default nothing is discounted."""
    gae_lambda: Share = 0.9
    clip_range: Positive | None = 0.2
    clip_range_vf: Positive | None = None
    normalize_advantage: Truth = True
    kl_coef: NotNegative = 0.0
    """Pull towards the policy that played.

    With ``clip_range: null`` this is mirror descent with step size 1 / ``kl_coef``.
    """
    ent_coef: NotNegative = 0.01
    ent_coef_end: NotNegative | None = 0.001
    magnet_coef: NotNegative = 0.0
    """Pull towards the policy of the magnet."""
    magnet_coef_end: NotNegative | None = None
    magnet: Annotated[AgentName, Field(min_length=1)] = AVERAGE
    """``average`` (of the learner's weights; needs ``ema_decay``), or a trained player with the
    same observation (name or file)."""
    vf_coef: NotNegative = 0.5
    max_grad_norm: Positive = 0.5
    target_kl: Positive | None = None

    @property
    def has_magnet(self) -> bool:
        """True if the magnet pulls at any time."""
        return bool(self.magnet_coef or self.magnet_coef_end)


class PretrainingConfig(_Section):
    """Supervised learning from a teacher's positions, before play (``pretraining.py``).

    By default the network learns the value of every legal card: its mean double-dummy margin over
    all hidden worlds, in games of two without an exchange.
    """

    positions: Annotated[Int, Field(ge=0, le=100_000_000)] = 0
    """Positions to learn from. If 0, there is no pretraining."""
    target: Literal["values", "action"] = "values"
    """``values``: the values of all cards. ``action``: the card that the teacher prefers."""


class SelfPlayConfig(_Section):
    """Snapshots of the learner, which play as the opponent ``self``."""

    every: Count = 1
    """Updates between snapshots."""
    keep: Annotated[Int, Field(ge=1, le=1000)] = 8
    """Earlier snapshots in the pool, besides the latest."""
    keep_every: Count = 10
    """One snapshot in this many is kept as an earlier one."""
    latest_share: Share = 1.0
    """Share of the games against ``self`` that are against the latest snapshot."""


class BudgetConfig(_Section):
    """The length of the run."""

    decisions: Count = 20_000_000
    """Decisions of the learner, without forced cards."""

    def share(self, decisions: int) -> float:
        """Return the share of the budget that these decisions spend, 0 to 1."""
        return min(1.0, decisions / self.decisions)


class EvaluationConfig(_Section):
    """Evaluations on duplicate deals, with greedy actions, during training and at its end."""

    times: Annotated[Int, Field(ge=0)] = 10
    """Rounds of evaluation, spread evenly over the budget."""
    deals: Pairs = 500
    opponents: list[AgentName] = ["standard_trump", "pro"]
    exploitability: Truth = False
    """If True, exploitability is computed exactly, too. For small decks of two players, like
    ``mini``."""
    final_deals: Pairs = 5000
    """Deals per opponent after training."""


class CheckpointConfig(_Section):
    """How often a run is saved, and in what form."""

    every_seconds: Positive = 30.0
    half: Truth = False
    """If True, weights are written in 16 bits, which halves the files of players."""


# ---- algorithms ----------------------------------------------------------------------------------


Name = Literal["ppo", "vrpo", "maskable_ppo"]
"""The algorithms: all seats learn by PPO; PPO with a critic that sees all hands; one seat learns,
by sb3-contrib."""

_NOT_SUPPORTED: dict[Name, tuple[str, ...]] = {
    "ppo": (),
    "vrpo": ("pretraining.positions", "network.module"),
    "maskable_ppo": (
        "pretraining.positions",
        "ppo.magnet_coef",
        "ppo.kl_coef",
        "network.start",
        "network.module",
        "ema_decay",
        "compile=True",
        "device=cuda",
        "precision=bfloat16",
    ),
}
"""The settings that an algorithm does not support, some as ``name=value``."""


class TrainConfig(_Section):
    """All settings of a training run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")] = "run"
    seed: Annotated[Int, Field(ge=0, lt=2**31)] = 0
    algorithm: Name = "ppo"
    threads: Annotated[Int, Field(ge=1, le=64)] = 2
    """Threads that compute the network together, each for its share of the rows."""
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    """Device of the network. ``auto``: cuda if there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of matrix products, always float32 in your own `network.module`.

    ``auto``: bfloat16 if the hardware computes it faster.
    """
    compile: bool | Literal["auto"] = "auto"
    """If True, torch.compile compiles the loss, which takes 3 to 25 s per start.

    ``auto``: if the budget is at least 50 M decisions, and there is a C++ compiler.
    """
    env: EnvConfig = EnvConfig()
    network: NetworkConfig = NetworkConfig()
    ema_decay: Annotated[Real, Field(ge=0, lt=1)] = 0.0
    """If above 0, the player is a moving average of the weights, which keeps this share of itself
    in each update."""
    pretraining: PretrainingConfig = PretrainingConfig()
    ppo: PPOConfig = PPOConfig()
    opponents: Annotated[dict[AgentName, Positive], Field(min_length=1)] = {SELF: 1.0}
    """Weight of each opponent. ``self`` stands for the learner and its snapshots."""
    self_play: SelfPlayConfig = SelfPlayConfig()
    budget: BudgetConfig = BudgetConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()

    @field_validator("compile", mode="before")
    @classmethod
    def _is_choice(cls, value: Any) -> Any:
        if not (isinstance(value, bool) or value == "auto"):
            raise ValueError("give true, false or auto")
        return value

    @model_validator(mode="after")
    def _fits(self) -> TrainConfig:
        rollout, ppo = self.rollout, self.ppo
        if rollout > _MAX_ROLLOUT:
            raise ValueError(
                f"ppo.num_steps: an update would have {rollout} decisions (env.num_envs * "
                f"ppo.num_steps), more than {_MAX_ROLLOUT}; make one of them smaller"
            )
        if ppo.has_magnet and ppo.magnet == AVERAGE and not self.ema_decay:
            raise ValueError(
                "ppo.magnet_coef: the magnet is the average of the weights, and ema_decay is 0; "
                "give ema_decay too, like 0.99"
            )
        if self.network.module and self.network.start:
            raise ValueError(
                "network.start: your own network.module cannot start from a player; omit one"
            )
        self._check_algorithm()
        return self

    def _check_algorithm(self) -> None:
        """Raise if a setting is given that the algorithm does not support."""
        name = self.algorithm
        given = {
            "pretraining.positions": self.pretraining.positions,
            "ema_decay": self.ema_decay,
            "ppo.magnet_coef": self.ppo.has_magnet,
            "network.start": self.network.start,
            "network.module": self.network.module,
            "ppo.kl_coef": self.ppo.kl_coef,
            f"device={self.device}": True,
            f"precision={self.precision}": True,
            f"compile={self.compile}": True,
        }
        for setting in _NOT_SUPPORTED[name]:
            if given.get(setting):
                key, _, value = setting.partition("=")
                what = f"{value!r} is not" if value else "not"
                raise ValueError(
                    f"{key}: {what} supported by {name}; omit it, or take algorithm: ppo"
                )
        if name == "maskable_ppo" and self.rollout % self.batch_size == 1:
            raise ValueError(
                f"ppo.batch_size: {self.batch_size} leaves a last minibatch of one decision; "
                f"give a divisor of {self.rollout}, the decisions of an update"
            )

    @property
    def rollout(self) -> int:
        """Decisions per update."""
        return self.env.num_envs * self.ppo.num_steps

    @property
    def batch_size(self) -> int:
        """Decisions per minibatch."""
        return min(self.ppo.batch_size, self.rollout)

    def decided(self) -> TrainConfig:
        """Return the config with True or False for ``compile: auto``."""
        if self.compile != "auto":
            return self
        is_possible = "compile=True" not in _NOT_SUPPORTED[self.algorithm]
        is_long = self.budget.decisions >= _MANY
        worth = is_possible and is_long and any(map(shutil.which, COMPILERS))
        return self.model_copy(update={"compile": worth})

    def named(self, *kinds: Named) -> list[str]:
        """Return what the settings of these kinds name, each once."""
        found = dict.fromkeys(name for kind in kinds for _, name in self._names_of(kind))
        return list(found)

    def _names_of(self, kind: Named) -> Iterator[tuple[Sequence[str], str]]:
        return _names(kind, TrainConfig, self, ())

    def check_allowed(self, where: str, typed: Sequence[Sequence[str]]) -> None:
        """Raise if a setting from a file names code and the user has not allowed code.

        Args:
            where: the beginning of the message, with the file.
            typed: the places of settings that the user has typed, which need no permission.

        Raises:
            HeartsError: if one does.
        """
        for kind in Named:
            for place, name in self._names_of(kind):
                if any(place[: len(one)] == tuple(one) for one in typed):
                    continue
                if kind is Named.AGENT:
                    AgentSpec.from_json(name).check_allowed(where)
                elif is_code(name):
                    check_allowed(where, quoted(name))

    @property
    def own_code(self) -> list[str]:
        """The network and the encoder, if they are the user's own code. Playing runs them."""
        return [name for name in self.named(Named.MODULE, Named.ENCODER) if is_code(name)]

    @property
    def runs_code(self) -> bool:
        """True if anything that the config names is code, a program or a risky file."""
        agents = map(AgentSpec.from_json, self.agents)
        return bool(self.own_code) or any(agent.runs_code for agent in agents)

    @property
    def agents(self) -> list[str]:
        """All agents that the config names, except the learner itself."""
        return [name for name in self.named(Named.AGENT) if name not in (SELF, AVERAGE)]

    def to_yaml(self) -> str:
        """Return all settings as YAML, for ``config_files.load_config``."""
        tree = self.model_dump(mode="json")
        return yaml.dump(tree, Dumper=Dumper, sort_keys=False, allow_unicode=True)


def _names(
    kind: Named, hint: Any, value: Any, place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the names of one kind in the value of a setting, each with its place.

    Args:
        kind: the kind.
        hint: the type of the setting.
        value: its value.
        place: its place. The entries of a list have the place of the list.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if isinstance(value, BaseModel):
        for name, setting in type(value).model_fields.items():
            inner = setting.rebuild_annotation(), getattr(value, name)
            yield from _names(kind, *inner, (*place, name))
    elif origin is Annotated and kind in parts and isinstance(value, str):
        yield place, value
    elif origin in (Annotated, Union, UnionType):
        for part in parts:
            yield from _names(kind, part, value, place)
    elif origin is list and isinstance(value, list):
        for item in value:
            yield from _names(kind, parts[0], item, place)
    elif origin is dict and isinstance(value, dict):
        for item in value.items():
            for part, one in zip(parts, item, strict=True):
                yield from _names(kind, part, one, (*place, str(item[0])))
