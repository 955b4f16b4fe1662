"""The settings of a training run, each with its default and its check.

A config lists only what differs from the defaults below; ``config_files`` reads it. The table
`ALGORITHMS` names the learners, which are imported only when a run needs one, and their checks.
"""

from __future__ import annotations

import importlib
import re
import shutil
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from hearts_agents.user_code import is_code
from hearts_env.batch.kernel import MAX_GAMES
from hearts_env.support.errors import HeartsError
from hearts_train.measure.contest import MAX_DEALS, MIN_DEALS

SELF = "self"
"""The name of the learner's own snapshots as opponents."""
LATEST = f"{SELF} 0"
"""The entry of an opponent pool that is the latest snapshot."""
AVERAGE = "average"
"""The name of the average of the learner's own weights as magnet."""

COMPILERS = ("c++", "g++", "clang++")
"""One of these compiles what torch.compile writes."""
_MAX_ROLLOUT = 100_000_000  # decisions, of some hundred bytes each


class ConfigError(HeartsError):
    """An invalid config or setting."""


class Loader(yaml.SafeLoader):
    """Reads YAML with the plain values of its version 1.2: 1e6 is a number, a date is text.

    Whole numbers of more than 18 digits are floats.
    """

    yaml_implicit_resolvers = {}  # noqa: RUF012  a class attribute of PyYAML's


class Dumper(yaml.SafeDumper):
    """Writes what `Loader` reads: text that would read as a number is quoted."""

    yaml_implicit_resolvers = Loader.yaml_implicit_resolvers


for _kind, _pattern, _first in (
    ("null", "|~|null|Null|NULL", ["", *"~nN"]),
    ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", "[-+]?(?:0|[1-9][0-9]{0,17})", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.?[0-9]*)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
):
    _regexp = re.compile(f"(?:{_pattern})$")
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", _regexp, _first)


Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, le=1e6)]
RateEnd = Annotated[float, Field(ge=0, le=1e6)]
Count = Annotated[int, Field(ge=1)]
Pairs = Annotated[int, Field(ge=MIN_DEALS, le=MAX_DEALS)]
Sizes = Annotated[list[Annotated[int, Field(ge=1, le=8192)]], Field(max_length=8)]


def between(start: float, end: float | None, share: float) -> float:
    """Linear interpolation from `start` to `end` over the budget."""
    return start if end is None else start + (end - start) * share


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class EnvConfig(_Section):
    """The games that the learner trains on."""

    rules: str = Field(default="two_player", description="preset, also followed by field=value")
    players: int | None = Field(
        default=None, description="number of players, for presets that allow several"
    )
    observation: str = Field(
        default="flat", description="encoder; your own as FILE.py:NAME, which needs --allow-code"
    )
    reward: Literal["margin", "points", "trick", "win", "chips"] = "margin"
    seat: int | str = Field(default="random", description="the learner's seat, or random")
    num_envs: Annotated[int, Field(ge=1, le=MAX_GAMES)] = Field(
        default=1024, description="games at once"
    )
    skip_forced: bool = Field(default=True, description="leave out decisions with one legal action")

    @field_validator("seat")
    @classmethod
    def _is_seat(cls, seat: int | str) -> int | str:
        if seat != "random" and (isinstance(seat, str) or seat < 0):
            raise ValueError("give a seat's number from 0, or random")
        return seat


class NetworkConfig(_Section):
    """Layer sizes: a trunk that policy and value share, then a head for each."""

    trunk: Sizes = [256]
    policy: Sizes = [64]
    value: Sizes = [64]
    activation: Literal["relu", "tanh"] = "relu"
    module: Annotated[str, Field(pattern=r"^.+:[A-Za-z_]\w*$")] | None = Field(
        default=None,
        description="your own torch module instead of these layers, as FILE.py:NAME: made as "
        "NAME(observation_shape, num_actions), from observations to logits and values; needs "
        "--allow-code",
    )
    start: str | None = Field(
        default=None,
        description="a trained player that sees the same and has these sizes, whose weights it "
        "starts from: a name or file",
    )
    start_updates: Annotated[int, Field(ge=0)] = Field(
        default=25, description="with start: the first updates, in which only the value head learns"
    )


class PPOConfig(_Section):
    """Proximal policy optimisation (Schulman et al. 2017).

    A value ``x`` changes linearly to ``x_end`` over the budget; with an ``x_end`` of null it stays
    constant.
    """

    num_steps: Count = Field(default=32, description="decisions of each game in one update")
    batch_size: Annotated[int, Field(ge=2)] = Field(
        default=1024, description="decisions in a minibatch"
    )
    num_epochs: Count = 2
    learning_rate: Rate = 3e-3
    learning_rate_end: RateEnd | None = 1e-4
    gamma: Share = Field(default=1.0, description="deals are short: nothing is discounted")
    gae_lambda: Share = 0.9
    clip_range: Positive | None = 0.2
    clip_range_vf: Positive | None = None
    normalize_advantage: bool = True
    kl_coef: NotNegative = Field(
        default=0.0,
        description="pull towards the policy that played; with clip_range null, mirror descent "
        "by steps of its inverse",
    )
    ent_coef: NotNegative = 0.01
    ent_coef_end: NotNegative | None = 0.001
    magnet_coef: NotNegative = Field(
        default=0.0, description="pull towards the policy of the magnet"
    )
    magnet_coef_end: NotNegative | None = None
    magnet: Annotated[str, Field(min_length=1)] = Field(
        default=AVERAGE,
        description="average: of the own weights (needs ema_decay); or a trained player that sees "
        "the same: a name or file",
    )
    vf_coef: NotNegative = 0.5
    max_grad_norm: Positive = 0.5
    target_kl: Positive | None = None

    @property
    def has_magnet(self) -> bool:
        """Whether a magnet is used at any time."""
        return bool(self.magnet_coef or self.magnet_coef_end)


class PretrainingConfig(_Section):
    """Supervised learning of a teacher's positions, before play (``pretraining.py``).

    The network learns what every legal card is worth on average over all hidden worlds, double
    dummy, in games of two without an exchange; or with ``target: action`` which card is worth most.
    """

    positions: Annotated[int, Field(ge=0, le=100_000_000)] = Field(
        default=0, description="in each pass; 0: no pretraining"
    )
    passes: Count = Field(default=10, description="through all positions")
    batch_size: Annotated[int, Field(ge=2)] = Field(
        default=1024, description="positions in a minibatch"
    )
    learning_rate: Rate = 2e-3
    learning_rate_end: RateEnd | None = 1e-4
    target: Literal["values", "action"] = Field(
        default="values", description="what all cards are worth, or which card the teacher prefers"
    )
    inverse_temperature: Positive = Field(
        default=1.0,
        description="by how much a logit is higher for a point of worth; not with target: action",
    )
    temperature: Positive = Field(
        default=0.5, description="in points, of the softmax by which the teacher plays"
    )
    random: Share = Field(default=0.05, description="share of its cards played at random")


class ExactConfig(_Section):
    """Learning from exact values, in decks of two players that can be enumerated (``exact.py``).

    In the first stage a value ``x`` changes to ``x_end``: step and temperature geometrically, the
    learning rate linearly.
    """

    step: Positive = Field(
        default=0.4, description="how much an update adds to a logit for a point of value"
    )
    step_end: Positive = 0.25
    temperature: Positive = Field(
        default=0.3, description="in points: what the policy is pulled to the uniform one by"
    )
    temperature_end: Positive = 0.035
    minibatches: Count = Field(default=20, description="of an update")
    batch_size: Annotated[int, Field(ge=2)] = Field(
        default=4096, description="information sets in a minibatch, half of each player's"
    )
    learning_rate: Rate = 2e-3
    learning_rate_end: RateEnd = 6e-5
    inverse_temperature: Positive = Field(
        default=2.0, description="by how much the player's logits are larger than the network's"
    )
    descent: Share = Field(
        default=0.75, description="share of the budget for the second stage, exploitability descent"
    )
    descent_rate: Rate = Field(
        default=3e-4, description="learning rate of the second stage, which falls to 0"
    )
    descent_floor: NotNegative = Field(
        default=0.1,
        description="added to the chances by which actions count in the second stage, falls to 0",
    )
    descent_ema_decay: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.98, description="instead of ema_decay, if that is not 0, in the second stage"
    )


class Phase(_Section):
    """The opponents until a share of the budget is spent."""

    until: Annotated[float, Field(gt=0, le=1)] = 1.0
    opponents: dict[str, Positive] = Field(
        default={SELF: 1.0}, min_length=1, description="agent, or self for snapshots -> weight"
    )


class SelfPlayConfig(_Section):
    """Snapshots of the learner, its opponents of the name ``self``."""

    every: Count = Field(default=1, description="updates between snapshots")
    keep: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=8, description="past snapshots in the pool, besides the latest"
    )
    keep_every: Count = Field(default=10, description="snapshots between those that enter the pool")
    latest_share: Share = Field(
        default=1.0, description="share of the games of self against the latest"
    )


class BudgetConfig(_Section):
    """The end of the run: whichever of the two comes first."""

    minutes: Positive | None = Field(
        default=None, description="of training, its evaluations included"
    )
    decisions: Count | None = Field(
        default=None, description="of the learner, forced ones not counted"
    )

    @model_validator(mode="after")
    def _has_an_end(self) -> BudgetConfig:
        if self.minutes is None and self.decisions is None:
            raise ValueError("neither minutes nor decisions is set; give one, like minutes: 3")
        return self

    @property
    def is_long(self) -> bool:
        """Whether compiling the loss first pays."""
        few = self.decisions is not None and self.decisions < 50_000_000
        return not few and (self.minutes is None or self.minutes >= 10.0)

    def share(self, decisions: int, seconds: float) -> float:
        """The share of the budget that is spent after these decisions and seconds, 0 to 1."""
        shares = [0.0]
        if self.decisions is not None:
            shares.append(decisions / self.decisions)
        if self.minutes is not None:
            shares.append(seconds / (60 * self.minutes))
        return min(1.0, max(shares))


class EvaluationConfig(_Section):
    """Duplicate deals played greedily, for the learning curve and at the end."""

    times: Annotated[int, Field(ge=0)] = Field(
        default=10, description="rounds, evenly over the budget"
    )
    deals: Pairs = 500
    opponents: list[str] = ["standard_trump", "pro"]
    exploitability: bool = Field(
        default=False, description="compute it exactly too: small decks of two players, like mini"
    )
    final_deals: Pairs = Field(default=5000, description="after the training")
    seed: Annotated[int, Field(ge=0)] = 20_000


class CheckpointConfig(_Section):
    """Saving, so that a killed run can be resumed."""

    every_seconds: Positive = 30.0
    half: bool = Field(
        default=False, description="weights of players' files in 16 bits, for half the size"
    )


# ---- algorithms ----------------------------------------------------------------------------------


class Algorithm(NamedTuple):
    """What is known of an algorithm before its code is imported."""

    learner: str
    """Module and class of its ``Learner``."""
    meaning: str
    """Its documentation in the setting ``algorithm``."""
    without: tuple[str, ...] = ()
    """Settings that it cannot have, also as ``name=value``."""

    def load(self) -> Any:
        """The class of its learner, imported now."""
        module, _, name = self.learner.partition(":")
        return getattr(importlib.import_module(f"hearts_train.learn.{module}"), name)


Name = Literal["ppo", "vrpo", "maskable_ppo", "exact"]

_OF_PPO = (
    "pretraining.positions",
    "ppo.magnet_coef",
    "ppo.kl_coef",
    "network.start",
    "network.module",
)

ALGORITHMS: dict[Name, Algorithm] = {
    "ppo": Algorithm("ppo:Learner", "all seats learn"),
    "vrpo": Algorithm(
        "vrpo:VRPOLearner",
        "ppo with a critic of all hands",
        without=("pretraining.positions", "network.module"),
    ),
    "maskable_ppo": Algorithm(
        "maskable:MaskableLearner",
        "one seat, by sb3-contrib",
        (*_OF_PPO, "ema_decay", "compile=True", "device=cuda", "precision=bfloat16"),
    ),
    "exact": Algorithm(
        "exact:ExactLearner",
        "small decks, from exact values",
        (*_OF_PPO, "compile=True", "device=cuda"),
    ),
}
"""The first is the default."""


class TrainConfig(_Section):
    """A whole training run."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")] = "run"
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    algorithm: Name = Field(
        default="ppo",
        description="; ".join(
            one.meaning if name == "ppo" else f"{name}: {one.meaning}"
            for name, one in ALGORITHMS.items()
        ),
    )
    threads: Annotated[int, Field(ge=1, le=64)] = Field(
        default=2, description="that compute the network together, each for its share of the rows"
    )
    device: Literal["cpu", "cuda", "auto"] = Field(
        default="cpu", description="of the network; auto: cuda where there is one"
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="of products of matrices, float32 in your own network.module; auto: bfloat16 "
        "where that is quicker",
    )
    compile: bool | Literal["auto"] = Field(
        default="auto",
        description="the loss by torch.compile, which takes 3 to 20 s of each start; auto: if "
        "threads is 1, the budget is 50 M decisions or 10 minutes at least, and a C++ compiler is "
        "there",
    )
    env: EnvConfig = EnvConfig()
    network: NetworkConfig = NetworkConfig()
    ema_decay: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0,
        description="the player is a moving average of the weights: the share of it that each "
        "update keeps; 0: the last weights",
    )
    pretraining: PretrainingConfig = PretrainingConfig()
    ppo: PPOConfig = PPOConfig()
    exact: ExactConfig = ExactConfig()
    schedule: Annotated[list[Phase], Field(min_length=1)] = [Phase()]
    self_play: SelfPlayConfig = SelfPlayConfig()
    budget: BudgetConfig = BudgetConfig(minutes=3.0)
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()

    @field_validator("schedule")
    @classmethod
    def _in_order(cls, phases: list[Phase], info: ValidationInfo) -> list[Phase]:
        ends = [phase.until for phase in phases]
        if sorted(set(ends)) != ends or ends[-1] != 1.0:
            raise ValueError(f"the phases end at {ends}; give ascending shares that end with 1.0")
        return phases

    @model_validator(mode="after")
    def _fits(self) -> TrainConfig:
        rollout, ppo = self.rollout, self.ppo
        if rollout > _MAX_ROLLOUT:
            raise ValueError(
                f"ppo.num_steps: an update would have {rollout} decisions (env.num_envs * "
                f"ppo.num_steps), of at most {_MAX_ROLLOUT}; make one of them smaller"
            )
        if ppo.batch_size > rollout:
            raise ValueError(
                f"ppo.batch_size: {ppo.batch_size} is more than the {rollout} decisions of an "
                "update (env.num_envs * ppo.num_steps); make it smaller"
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
        """Refuse settings that the algorithm does not use."""
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
        for setting in ALGORITHMS[name].without:
            if given.get(setting):
                key, _, value = setting.partition("=")
                what = f"{value!r} is not" if value else "not"
                raise ValueError(f"{key}: {what} for {name}; omit it, or take algorithm: ppo")
        if name == "maskable_ppo" and self.rollout % self.ppo.batch_size == 1:
            raise ValueError(
                f"ppo.batch_size: {self.ppo.batch_size} leaves a last minibatch of one decision; "
                f"give a divisor of {self.rollout}, the decisions of an update"
            )
        if name == "exact" and any(set(phase.opponents) != {SELF} for phase in self.schedule):
            raise ValueError(
                "schedule: exact learns from values, and plays no games against opponents; leave "
                "them out with schedule=[{}]"
            )

    @property
    def rollout(self) -> int:
        """The decisions of an update."""
        return self.env.num_envs * self.ppo.num_steps

    def decided(self) -> TrainConfig:
        """Return the config of a run: with ``compile: auto`` decided."""
        if self.compile != "auto":
            return self
        is_possible = "compile=True" not in ALGORITHMS[self.algorithm].without
        pays = self.threads == 1 and self.budget.is_long
        worth = is_possible and pays and any(map(shutil.which, COMPILERS))
        return self.model_copy(update={"compile": worth})

    def phase_at(self, progress: float) -> int:
        """The number of the phase in which `progress` (0 to 1 of the budget) lies."""
        for number, phase in enumerate(self.schedule):
            if progress < phase.until:
                return number
        return len(self.schedule) - 1

    @property
    def opponents(self) -> list[str]:
        """All opponents of the schedule, in order of appearance."""
        return list(dict.fromkeys(name for phase in self.schedule for name in phase.opponents))

    @property
    def runs_code(self) -> bool:
        """Whether its network or encoder is a user's own code."""
        return self.network.module is not None or is_code(self.env.observation)

    @property
    def agents(self) -> list[str]:
        """Every agent named in the config: opponents, opponents of evaluations, the magnet."""
        named = [*self.opponents, *self.evaluation.opponents, self.ppo.magnet]
        return [name for name in dict.fromkeys(named) if name not in (SELF, AVERAGE)]

    def to_yaml(self) -> str:
        """The complete resolved config; ``config_files.load_config`` reads it back."""
        tree = self.model_dump(mode="json")
        return yaml.dump(tree, Dumper=Dumper, sort_keys=False, allow_unicode=True)
