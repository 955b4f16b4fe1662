"""The settings of a training run, each with its default and its check.

A recipe lists only what differs from the defaults below; ``recipes`` reads it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hearts_env.batch.kernel import MAX_GAMES
from hearts_env.support.errors import HeartsError
from hearts_train.learn.algorithms import ALGORITHMS, Name
from hearts_train.measure.contest import MAX_DEALS, MIN_DEALS

SELF = "self"
"""The opponent that stands for the learner's own snapshots."""
AVERAGE = "average"
"""The magnet that stands for the average of the learner's own weights."""

_MAX_ROLLOUT = 100_000_000  # decisions, of some hundred bytes each


class ConfigError(HeartsError):
    """A recipe or a setting that cannot be used."""


Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, le=1e6)]
RateEnd = Annotated[float, Field(ge=0, le=1e6)]
Count = Annotated[int, Field(ge=1)]
Pairs = Annotated[int, Field(ge=MIN_DEALS, le=MAX_DEALS)]
Remembered = Annotated[int, Field(ge=1, le=10_000_000)]
Sizes = Annotated[list[Annotated[int, Field(ge=1, le=8192)]], Field(max_length=8)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class EnvConfig(_Section):
    """The games that the learner trains on."""

    rules: str = Field(default="two_player", description="preset, also followed by field=value")
    players: int | None = Field(
        default=None, description="number of players, for presets that allow several"
    )
    observation: str = Field(default="flat", description="encoder")
    reward: Literal["margin", "points", "trick", "win", "chips"] = "margin"
    seat: int | str = Field(default="random", description="the learner's seat, or random")
    num_envs: Annotated[int, Field(ge=1, le=MAX_GAMES)] = Field(
        default=1024, description="games at once"
    )
    skip_forced: bool = Field(default=True, description="leave out decisions with one legal action")

    @field_validator("observation")
    @classmethod
    def _is_for_networks(cls, observation: str) -> str:
        if observation == "bits":
            raise ValueError("bits are packed, eight in a number; give flat, which tells the same")
        return observation

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
    clip_range: Positive = 0.2
    clip_range_vf: Positive | None = None
    normalize_advantage: bool = True
    ent_coef: NotNegative = 0.01
    ent_coef_end: NotNegative | None = 0.001
    magnet_coef: NotNegative = Field(
        default=0.0, description="pull towards the policy of the magnet"
    )
    magnet_coef_end: NotNegative | None = None
    magnet: Annotated[str, Field(min_length=1)] = Field(
        default=AVERAGE,
        description="average: of the own weights (needs average); or a trained player that sees "
        "the same: a name or file",
    )
    vf_coef: NotNegative = 0.5
    max_grad_norm: Positive = 0.5
    target_kl: Positive | None = None

    @property
    def has_magnet(self) -> bool:
        """Whether anything pulls towards a magnet at any time."""
        return bool(self.magnet_coef or self.magnet_coef_end)


class LessonsConfig(_Section):
    """What the network is taught before it plays.

    It is what every legal card is worth on average over all hidden worlds, double dummy, in games
    of two without an exchange (``lessons.py``); or with ``imitate`` which card is worth most.
    """

    positions: Annotated[int, Field(ge=0, le=100_000_000)] = Field(
        default=0, description="taught in each pass; 0: it begins knowing nothing"
    )
    passes: Count = Field(default=10, description="through all positions")
    batch_size: Annotated[int, Field(ge=2)] = Field(
        default=1024, description="positions in a minibatch"
    )
    learning_rate: Rate = 2e-3
    learning_rate_end: RateEnd | None = 1e-4
    sharpness: Positive = Field(
        default=1.0,
        description="by how much a logit is higher for a point of worth; not with imitate",
    )
    imitate: bool = Field(
        default=False, description="teach which card the teacher prefers, not what all are worth"
    )
    temperature: Positive = Field(
        default=0.5, description="in points, of the softmax by which the teacher plays"
    )
    random: Share = Field(default=0.05, description="share of its cards played at random")


class ExactConfig(_Section):
    """Learning from exact values, in decks of two players that can be listed (``exact.py``).

    In the first stage a value ``x`` changes to ``x_end``: step and temperature by a factor an
    update, the learning rate linearly.
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
    sharpness: Positive = Field(
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
    descent_average: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.98, description="instead of average, if that is not 0, in the second stage"
    )


class MonteCarloConfig(_Section):
    """Deep Monte Carlo (``monte_carlo.py``); sizes and rates of updates are those of ``ppo``."""

    epsilon: Share = Field(default=0.1, description="share of cards played at random")
    epsilon_end: Share | None = 0.01


class DQNConfig(_Section):
    """Deep Q-learning (``dqn.py``); sizes and rates of updates are those of ``ppo``."""

    epsilon: Share = Field(default=0.1, description="share of cards played at random")
    epsilon_end: Share | None = 0.01
    memory: Remembered = Field(
        default=200_000, description="the latest decisions, from which minibatches are drawn"
    )
    target_every: Count = Field(
        default=200, description="minibatches between copies of the network to the target network"
    )


class NFSPConfig(_Section):
    """Neural fictitious self-play (``nfsp.py``); its best response learns by ``dqn``."""

    eta: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.1, description="share of seats that play the best response, not the average"
    )
    reservoir: Remembered = Field(
        default=500_000, description="decisions of the best response, of which the average learns"
    )
    least_chance: Share = Field(
        default=0.0,
        description="of a decision to get into the reservoir; above 0 those of long ago fade away",
    )
    learning_rate: Rate = Field(default=1e-3, description="of the average policy")
    learning_rate_end: RateEnd | None = None


class Phase(_Section):
    """The opponents until this share of the budget is spent."""

    until: Annotated[float, Field(gt=0, le=1)] = 1.0
    opponents: dict[str, Positive] = Field(
        default={SELF: 1.0}, min_length=1, description="agent, or self for snapshots -> weight"
    )


class SelfPlayConfig(_Section):
    """Snapshots of the learner, which it plays against as ``self``."""

    every: Count = Field(default=1, description="updates between snapshots")
    keep: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=8, description="past snapshots in the pool, besides the latest"
    )
    keep_every: Count = Field(default=10, description="snapshots between those kept in the pool")
    latest: Share = Field(default=1.0, description="share of the games of self against the latest")


class BudgetConfig(_Section):
    """When the run is over: at whichever of the two comes first."""

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
    """What survives a kill."""

    every_seconds: Positive = 30.0
    half: bool = Field(
        default=False, description="weights of players' files in 16 bits, for half the size"
    )


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
        default=2, description="that share games and minibatches; of maskable_ppo: torch's own"
    )
    device: Literal["cpu", "cuda", "auto"] = Field(
        default="cpu", description="of the network; auto: cuda where there is one"
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="of products of matrices; auto: bfloat16 where that is quicker"
    )
    env: EnvConfig = EnvConfig()
    network: NetworkConfig = NetworkConfig()
    average: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0,
        description="the player is an average of the weights, so much of it each "
        "update that of before; 0: the last weights",
    )
    lessons: LessonsConfig = LessonsConfig()
    ppo: PPOConfig = PPOConfig()
    monte_carlo: MonteCarloConfig = MonteCarloConfig()
    dqn: DQNConfig = DQNConfig()
    nfsp: NFSPConfig = NFSPConfig()
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
    def _batches_fit(self) -> TrainConfig:
        rollout = self.env.num_envs * self.ppo.num_steps
        if rollout > _MAX_ROLLOUT:
            raise ValueError(
                f"ppo.num_steps: an update would have {rollout} decisions (env.num_envs * "
                f"ppo.num_steps), of at most {_MAX_ROLLOUT}; make one of them smaller"
            )
        if self.ppo.batch_size > rollout:
            raise ValueError(
                f"ppo.batch_size: {self.ppo.batch_size} is more than the {rollout} decisions of an "
                "update (env.num_envs * ppo.num_steps); make it smaller"
            )
        one = ALGORITHMS[self.algorithm]
        if "dqn.memory" in one.memories and self.dqn.memory < rollout:
            raise ValueError(
                f"dqn.memory: {self.dqn.memory} is less than the {rollout} decisions of an update "
                "(env.num_envs * ppo.num_steps); make it larger"
            )
        if not one.learns_from_one and rollout % self.ppo.batch_size == 1:
            raise ValueError(
                f"ppo.batch_size: {self.ppo.batch_size} leaves a last minibatch of one decision; "
                f"give a divisor of {rollout}, the decisions of an update"
            )
        return self

    @model_validator(mode="after")
    def _has_a_magnet(self) -> TrainConfig:
        if self.ppo.has_magnet and self.ppo.magnet == AVERAGE and not self.average:
            raise ValueError(
                "ppo.magnet_coef: the magnet is the average of the weights, and average is 0; give "
                "average too, like 0.99"
            )
        return self

    @model_validator(mode="after")
    def _fits_the_algorithm(self) -> TrainConfig:
        one = ALGORITHMS[self.algorithm]
        ours = {
            "lessons.positions": self.lessons.positions,
            "average": self.average,
            "ppo.magnet_coef": self.ppo.has_magnet,
        }
        for name in one.has_no:
            if ours[name]:
                raise ValueError(
                    f"{name}: not for {self.algorithm}; leave it out, or take algorithm: ppo"
                )
        if not one.has_opponents and any(set(p.opponents) != {SELF} for p in self.schedule):
            raise ValueError(
                f"schedule: {self.algorithm} learns from values, and plays no games against "
                "opponents; leave them out with schedule=[{}]"
            )
        for name, value in one.cannot:
            if getattr(self, name) == value:
                raise ValueError(
                    f"{name}: {value!r} is not for {self.algorithm}, which computes "
                    f"{one.computes}; leave it out, or take algorithm: ppo"
                )
        if one.shares_games and self.threads > self.env.num_envs:
            raise ValueError(
                f"threads: {self.threads} is more than the {self.env.num_envs} games of "
                "env.num_envs, which they share; make it smaller"
            )
        return self

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
    def agents(self) -> list[str]:
        """Every agent that the recipe names: opponents, those of evaluations, the magnet."""
        named = [*self.opponents, *self.evaluation.opponents, self.ppo.magnet]
        return [name for name in dict.fromkeys(named) if name not in (SELF, AVERAGE)]

    def to_yaml(self) -> str:
        """The complete resolved recipe; ``recipes.load_config`` reads it back."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
