"""Training with sb3-contrib's MaskablePPO against a schedule of opponents and own snapshots.

The loop: set rates and opponents by how much of the budget is spent, collect one rollout and
update (``MaskablePPO.learn`` for exactly one), take snapshots, evaluate, save. Everything that
shapes the learning follows from the seed and from the share of the budget spent, so that with a
budget of decisions the same seed gives the same player; a budget of minutes depends on the clock.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from hearts_agents.network import (
    Checkpoint,
    Network,
    NetworkAgent,
    save_checkpoint,
)
from hearts_agents.pool import OpponentPool
from hearts_agents.registry import make_agent
from hearts_agents.sb3 import HeartsSB3VecEnv
from hearts_env._files import write_whole
from hearts_env.encoders import Encoder, make_encoder
from hearts_env.errors import CheckpointError
from hearts_env.game import derived_seed
from hearts_env.rules import Rules
from hearts_train import runs
from hearts_train.config import SELF, ConfigError, TrainConfig, load_config
from hearts_train.evaluation import Evaluation, evaluate
from hearts_train.networks import (
    CompactRolloutBuffer,
    HeartsPolicy,
    TorchNetwork,
    policy_kwargs,
    policy_tensors,
    set_threads,
)

ALGORITHM = "MaskablePPO"


@dataclass(frozen=True)
class RunResult:
    """What a training run has come to."""

    run_dir: Path
    checkpoint: Path
    card: Path
    curve: Path
    decisions: int
    updates: int
    seconds: float
    """Of training, evaluations included, start and compilation not."""
    decisions_per_second: float
    """Learning included, evaluations not."""
    is_finished: bool
    """False: stopped by Ctrl-C; it can be resumed."""
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    """The latest over each opponent, as in ``metrics.jsonl``."""


def train(
    config: TrainConfig | None = None,
    run_dir: Path | None = None,
    resume: Path | None = None,
    *,
    progress: bool = True,
) -> RunResult:
    """Train a player, or go on training one.

    Ctrl-C ends the run after the update under way, with everything saved.

    Args:
        config: the recipe; None: the defaults, or the resumed run's own.
        run_dir: folder of a new run; None: ``runs/NAME-DATE-TIME``.
        resume: folder of a run to go on with. A `config` then replaces the run's own (a larger
            budget, say), but not its rules, observation, network or seed.
        progress: show how it goes, on standard error.

    Raises:
        ConfigError: a setting that cannot be used; nothing has been written.
        CheckpointError: a folder that cannot be resumed; nothing has been written.
    """
    if resume is not None:
        resume = Path(resume)
        runs.check_run_folder(resume)
        before = load_config(resume / runs.CONFIG_NAME)
        config = config or before
        _check_same(before, config, resume)
        state = runs.load_state(resume / runs.STATE_NAME)
        trainer = Trainer(config, state)
        run_dir = resume
    else:
        config = config or TrainConfig()
        trainer = Trainer(config)
        run_dir = runs.new_run_folder(config, None if run_dir is None else Path(run_dir))
    write_whole(run_dir / runs.CONFIG_NAME, config.to_yaml().encode())
    return trainer.run(run_dir, is_shown=progress)


def _check_same(before: TrainConfig, config: TrainConfig, folder: Path) -> None:
    """Refuse to resume with what the weights were not made for."""
    mend = f"leave it as in {folder / runs.CONFIG_NAME}, or start a new run"
    for key in ("rules", "players", "observation"):
        old, new = getattr(before.env, key), getattr(config.env, key)
        if old != new:
            raise ConfigError(f"env.{key}: {new!r} cannot replace {old!r} in a resumed run; {mend}")
    if before.seed != config.seed:
        raise ConfigError(
            f"seed: {config.seed} cannot replace {before.seed} in a resumed run; {mend}"
        )
    if before.network != config.network:
        raise ConfigError(f"network: the sizes of a resumed run cannot change; {mend}")


class Trainer:
    """One training run: environment, learner, opponents and counters."""

    def __init__(self, config: TrainConfig, state: runs.State | None = None) -> None:
        """Make everything; nothing is written.

        Args:
            config: the recipe.
            state: what to go on from.

        Raises:
            HeartsError: a rule set, encoder or agent that is unknown.
            CheckpointError: a state of other networks.
        """
        self.config = config
        self.counters = replace(state.counters) if state else runs.Counters()
        self.counters.starts += 1
        set_threads(config.threads)
        self.rules = Rules.make(config.env.rules, config.env.players)
        self.encoder = make_encoder(config.env.observation)
        for name in config.evaluation.opponents:
            make_agent(name, seed=0)
        self.snapshots = _Snapshots(config, self.rules, self.encoder)
        self.env = self._make_env(self._make_pool())
        self.model = self._make_model()
        self.snapshots.take(policy_tensors(self.model.policy), 0)
        if state is not None:
            self._restore(state)
        self._phase = -1
        self._is_stopped = False
        self._set_rates()

    @property
    def title(self) -> str:
        """What the run is called in pictures."""
        return f"{self.config.name}: {self.rules.name}"

    # -- making --------------------------------------------------------------------------------
    def _make_pool(self) -> OpponentPool:
        pool = OpponentPool(seed=derived_seed(self.config.seed, 2) % 2**62)
        for name in self.config.opponents:
            if name != SELF:
                pool.add(name, weight=0.0)
        if SELF in self.config.opponents:
            for number, agent in enumerate(self.snapshots.agents):
                pool.add(agent, name=f"{SELF} {number}", weight=0.0)
        for name, weight in _pool_weights(self.config, 0, self.snapshots).items():
            pool.set_weight(name, weight)
        return pool

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
        )

    def _make_model(self) -> MaskablePPO:
        config, ppo = self.config, self.config.ppo
        self._learning_rate = ppo.learning_rate
        model = MaskablePPO(
            HeartsPolicy,
            self.env,
            learning_rate=lambda _: self._learning_rate,
            n_steps=ppo.num_steps,
            batch_size=ppo.batch_size,
            n_epochs=ppo.num_epochs,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_range,
            clip_range_vf=ppo.clip_range_vf,
            normalize_advantage=ppo.normalize_advantage,
            ent_coef=ppo.ent_coef,
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

    def agent(self) -> NetworkAgent:
        """The learner as a player that takes its preferred actions."""
        network = TorchNetwork(policy_tensors(self.model.policy), self.config.network.activation)
        return NetworkAgent(network, self.rules, self.encoder)

    # -- state -----------------------------------------------------------------------------------
    def state(self) -> runs.State:
        """All that training goes on from."""
        policy, optimizer = self.model.policy, self.model.policy.optimizer
        tensors: dict[str, NDArray[Any]] = {}
        for name, tensor in policy.state_dict().items():
            tensors[f"policy/{name}"] = tensor.numpy().copy()
        for number, moments in optimizer.state_dict()["state"].items():
            for name, tensor in moments.items():
                tensors[f"optimizer/{number}/{name}"] = torch.as_tensor(tensor).numpy().copy()
        tensors |= self.snapshots.tensors()
        tensors["rng/torch"] = torch.get_rng_state().numpy().copy()
        rng = {"buffer": self._buffer.rng.bit_generator.state}
        return runs.State(replace(self.counters), tensors, rng)

    def _restore(self, state: runs.State) -> None:
        parts: dict[str, dict[str, torch.Tensor]] = {}
        for name, array in state.tensors.items():
            part, _, rest = name.partition("/")
            parts.setdefault(part, {})[rest] = torch.from_numpy(array.copy())
        policy = self.model.policy
        try:
            policy.load_state_dict(parts["policy"])
            moments: dict[int, dict[str, torch.Tensor]] = {}
            for name, tensor in parts.get("optimizer", {}).items():
                number, _, key = name.partition("/")
                moments.setdefault(int(number), {})[key] = tensor
            groups = policy.optimizer.state_dict()["param_groups"]
            policy.optimizer.load_state_dict({"state": moments, "param_groups": groups})
            self.snapshots.restore(state.tensors)
            self._buffer.rng.bit_generator.state = state.rng["buffer"]
            torch.set_rng_state(parts["rng"]["torch"])
        except (KeyError, ValueError, RuntimeError, TypeError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(
                f"resume: the state does not fit the run's {runs.CONFIG_NAME} ({reason}); "
                "resume another run, or start anew"
            ) from None
        self.model.num_timesteps = self.counters.decisions
        self.model._n_updates = self.counters.gradient_epochs

    @property
    def _buffer(self) -> CompactRolloutBuffer:
        buffer = self.model.rollout_buffer
        assert isinstance(buffer, CompactRolloutBuffer)
        return buffer

    # -- the run -----------------------------------------------------------------------------------
    @property
    def progress(self) -> float:
        """The share of the budget that is spent, 0 to 1."""
        budget, shares = self.config.budget, [0.0]
        if budget.decisions is not None:
            shares.append(self.counters.decisions / budget.decisions)
        if budget.minutes is not None:
            shares.append(self.counters.seconds / (60 * budget.minutes))
        return min(1.0, max(shares))

    def run(self, run_dir: Path, *, is_shown: bool) -> RunResult:
        """Train until the budget is spent or somebody stops it; files in `run_dir`."""
        counters = self.counters
        with contextlib.ExitStack() as stack:
            display = stack.enter_context(_Display(self, is_shown=is_shown))
            stack.enter_context(self._stops_on_signals(display))
            display.say("compiling, once for each version ...")
            self._warm_up()
            metrics = runs.Metrics(run_dir, counters)
            stack.callback(metrics.close)
            self._save(run_dir, metrics)
            saved = start = time.monotonic()
            before = counters.seconds
            display.start()
            while not self._is_stopped:
                counters.seconds = before + time.monotonic() - start
                if self._is_evaluation_due():
                    self._evaluate(metrics, display)
                    runs.draw_curve(run_dir / runs.CURVE_NAME, metrics.evaluations(), self.title)
                    continue
                if self.progress >= 1.0:
                    break
                row = self._update()
                counters.seconds = before + time.monotonic() - start
                metrics.write("update", counters.decisions, row | {"seconds": counters.seconds})
                display.update(metrics)
                if time.monotonic() - saved >= self.config.checkpoint.every_seconds:
                    self._save(run_dir, metrics)
                    saved = time.monotonic()
            self._save(run_dir, metrics)
            runs.draw_curve(run_dir / runs.CURVE_NAME, metrics.evaluations(), self.title)
            card = runs.write_card(run_dir)
            latest = list(latest_of(metrics.evaluations()).values())
        return RunResult(
            run_dir=run_dir,
            checkpoint=run_dir / runs.CHECKPOINT_NAME,
            card=card,
            curve=run_dir / runs.CURVE_NAME,
            decisions=counters.decisions,
            updates=counters.updates,
            seconds=counters.seconds,
            decisions_per_second=counters.decisions / max(counters.learning_seconds, 1e-9),
            is_finished=self.progress >= 1.0,
            evaluations=latest,
        )

    def _warm_up(self) -> None:
        """Compile what a rollout needs, before the clock runs; leaves no trace in what follows."""
        self.env.seed(0)
        self.env.reset()
        self.env.step(self.env.action_masks().argmax(axis=1))
        # Fresh deals and draws of the opponents after each start.
        self.env.seed(derived_seed(self.config.seed, 1000 + self.counters.starts) % 2**62)

    def _set_rates(self) -> None:
        """Rates and opponents as they are to be at this share of the budget."""
        ppo, share = self.config.ppo, self.progress
        self._learning_rate = _between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.model.ent_coef = _between(ppo.ent_coef, ppo.ent_coef_end, share)
        phase = self.config.phase_at(share)
        for name, weight in _pool_weights(self.config, phase, self.snapshots).items():
            if self.env.opponents.entries[self.env.opponents.place(name)].weight != weight:
                self.env.opponents.set_weight(name, weight)
        self._phase = phase

    def _update(self) -> dict[str, Any]:
        """One rollout and update; returns what is to be logged."""
        counters, model = self.counters, self.model
        self._set_rates()
        begin = time.monotonic()
        size = self.config.env.num_envs * self.config.ppo.num_steps
        model.learn(size, reset_num_timesteps=False, log_interval=sys.maxsize)
        counters.updates += 1
        counters.decisions = model.num_timesteps
        counters.gradient_epochs = model._n_updates
        if counters.updates % self.config.self_play.every == 0:
            counters.snapshots += 1
            self.snapshots.take(policy_tensors(model.policy), counters.snapshots)
        seconds = time.monotonic() - begin
        counters.learning_seconds += seconds
        row: dict[str, Any] = {
            "updates": counters.updates,
            "decisions_per_second": size / seconds,
            "phase": self._phase,
            "learning_rate": self._learning_rate,
            "ent_coef": model.ent_coef,
        }
        buffer = self._buffer
        deals = float(buffer.episode_starts.sum())
        if deals:
            row["reward"] = float(buffer.rewards.sum()) / deals
        for name, value in model.logger.name_to_value.items():
            if name.startswith("train/") and isinstance(value, int | float | np.number):
                number = float(value)
                row[name.removeprefix("train/")] = number if math.isfinite(number) else None
        return row

    # -- evaluation --------------------------------------------------------------------------------
    def _is_evaluation_due(self) -> bool:
        times, done = self.config.evaluation.times, self.counters.evaluations
        return times > 0 and done <= times and self.progress >= done / times

    def _evaluate(self, metrics: runs.Metrics, display: _Display) -> None:
        config, counters = self.config.evaluation, self.counters
        agent = self.agent()
        for name in config.opponents:
            result = evaluate(agent, name, self.rules, config.pairs, config.seed)
            row = evaluation_row(result) | {
                "opponent": name,
                "seconds": counters.seconds,
                "updates": counters.updates,
                "round": counters.evaluations,
            }
            metrics.write("evaluation", counters.decisions, row)
            display.evaluated(name, result)
        times = config.times
        # One round stands for all that have come due since the last.
        counters.evaluations = min(times, math.floor(self.progress * times + 1e-9)) + 1

    # -- files -------------------------------------------------------------------------------------
    def _save(self, run_dir: Path, metrics: runs.Metrics) -> None:
        runs.save_state(run_dir / runs.STATE_NAME, self.state())
        tensors = policy_tensors(self.model.policy)
        meta = self.checkpoint(run_dir, list(latest_of(metrics.evaluations()).values()))
        save_checkpoint(run_dir / runs.CHECKPOINT_NAME, tensors, meta)
        runs.write_card(run_dir)

    def checkpoint(self, run_dir: Path, evaluations: list[dict[str, Any]]) -> Checkpoint:
        """What the player is, as its file will say."""
        config, counters = self.config, self.counters
        tensors = policy_tensors(self.model.policy)
        reached = config.schedule[: config.phase_at(self.progress) + 1]
        training = {
            "name": config.name,
            "algorithm": f"{ALGORITHM} (sb3-contrib {version('sb3-contrib')})",
            "command": f"hearts train {run_dir / runs.CONFIG_NAME}",
            "seed": config.seed,
            "decisions": counters.decisions,
            "updates": counters.updates,
            "minutes": counters.seconds / 60,
            "schedule": [phase.model_dump() for phase in reached],
            "evaluations": evaluations,
            "config": config.model_dump(mode="json"),
            "versions": {
                name: version(name)
                for name in ("hearts-env", "sb3-contrib", "stable-baselines3", "torch", "numpy")
            },
        }
        return Checkpoint(
            rules=self.rules,
            encoder=config.env.observation,
            layers=Network(tensors).sizes,
            activation=config.network.activation,
            training=training,
        )

    @contextlib.contextmanager
    def _stops_on_signals(self, display: _Display) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the run after the update under way; a second Ctrl-C at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def stop(number: int, frame: Any) -> None:
            self._is_stopped = True
            signal.signal(signal.SIGINT, before[signal.SIGINT])
            display.say("stopping after this update, then saving (Ctrl-C again: at once)")

        for number in before:
            signal.signal(number, stop)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


# ---- opponents -----------------------------------------------------------------------------------


class _Snapshots:
    """The learner as it was: agent 0 the latest snapshot, the others earlier ones.

    Agents stay the same objects; a snapshot changes the network that one plays. A deal under way
    then ends against a newer opponent than it began with, which does no harm.
    """

    def __init__(self, config: TrainConfig, rules: Rules, encoder: Encoder) -> None:
        """All blank, which is to play at random, until the first is taken."""
        self.config = config
        self.kept = 0
        network = config.network
        ends = math.prod(encoder.space(rules).shape), rules.num_actions
        sizes = [ends[0], *network.trunk, *network.policy, ends[1]]
        blank: dict[str, NDArray[Any]] = {}
        for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
            blank[f"policy.{i}.weight"] = np.zeros((outputs, inputs), np.float32)
            blank[f"policy.{i}.bias"] = np.zeros(outputs, np.float32)
        self.agents = [
            NetworkAgent(
                TorchNetwork(blank, network.activation),
                rules,
                encoder,
                greedy=False,
                seed=0,  # the environments seed their opponents themselves
            )
            for _ in range(1 + config.self_play.keep)
        ]

    def take(self, tensors: Mapping[str, NDArray[Any]], number: int) -> None:
        """Take the `number`-th snapshot (from 1): the latest, and now and then one to keep."""
        network = TorchNetwork(tensors, self.config.network.activation)
        self.agents[0].network = network
        settings = self.config.self_play
        if number and number % settings.keep_every == 0:
            nth = number // settings.keep_every
            self.agents[1 + (nth - 1) % settings.keep].network = network
            self.kept = min(settings.keep, nth)

    def weights(self) -> list[float]:
        """The share of each agent in the games against ``self``."""
        latest = self.config.self_play.latest if self.kept else 1.0
        past = (1.0 - latest) / self.kept if self.kept else 0.0
        return [latest] + [past if n < self.kept else 0.0 for n in range(len(self.agents) - 1)]

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The networks, under names for the state's file."""
        return {
            f"snapshot/{place}/{name}": array
            for place, agent in enumerate(self.agents[: 1 + self.kept])
            for name, array in agent.network.tensors().items()
        }

    def restore(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take up what ``tensors`` gave."""
        found: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in tensors.items():
            if name.startswith("snapshot/"):
                _, place, rest = name.split("/", 2)
                found.setdefault(int(place), {})[rest] = array
        for number, layers in found.items():
            if number < len(self.agents):
                network = TorchNetwork(layers, self.config.network.activation)
                self.agents[number].network = network
        self.kept = min(self.config.self_play.keep, max(found, default=0))


def _pool_weights(config: TrainConfig, phase: int, snapshots: _Snapshots) -> dict[str, float]:
    """The weight of each entry of the pool in a phase."""
    chosen = config.schedule[phase].opponents
    weights = {name: chosen.get(name, 0.0) for name in config.opponents if name != SELF}
    if SELF in config.opponents:
        for number, share in enumerate(snapshots.weights()):
            weights[f"{SELF} {number}"] = chosen.get(SELF, 0.0) * share
    return weights


def _between(start: float, end: float | None, share: float) -> float:
    return start if end is None else start + (end - start) * share


# ---- figures and display -------------------------------------------------------------------------


def evaluation_row(result: Evaluation) -> dict[str, Any]:
    """The figures of an evaluation that logs and cards show."""
    return {
        "opponent": result.opponent,
        "margin": result.margin,
        "ci95": list(result.ci95),
        "won": result.won,
        "pairs": result.pairs,
        "seed": result.seed,
    }


def latest_of(evaluations: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The last evaluation over each opponent."""
    return {row["opponent"]: row for row in evaluations}


class _Display:
    """How the run goes, on standard error: a bar with the time left, and a line an evaluation."""

    def __init__(self, trainer: Trainer, *, is_shown: bool) -> None:
        self.trainer = trainer
        self.is_shown = is_shown
        self.console = Console(stderr=True)
        self.latest: dict[str, str] = {}
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[text]}"),
            console=self.console,
            disable=not is_shown,
        )
        self.task = self.bar.add_task(trainer.config.name, total=1.0, text="")
        self._origin = (0.0, 0.0)

    def __enter__(self) -> _Display:
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """Show a line in passing."""
        self.bar.update(self.task, text=text)
        if self.is_shown and not self.console.is_terminal:
            print(text, file=sys.stderr)

    def start(self) -> None:
        """The clock runs from here."""
        self._origin = (time.monotonic(), self.trainer.progress)
        self.bar.reset(self.task, text="")
        self.bar.update(self.task, completed=self.trainer.progress)

    def update(self, metrics: runs.Metrics) -> None:
        """Show how far it is."""
        share = self.trainer.progress
        begin, first = self._origin
        elapsed = time.monotonic() - begin
        left = elapsed * (1 - share) / (share - first) if share > first else None
        rate = metrics.rows[-1].get("decisions_per_second", 0.0)
        count = self.trainer.counters.decisions
        parts = [f"{_clock(left)} left", f"{count / 1e6:.2f} M, {rate / 1e3:.0f} k/s"]
        parts += [f"{margin} {name}" for name, margin in self.latest.items()]
        self.bar.update(self.task, completed=share, text=" · ".join(parts))

    def evaluated(self, opponent: str, result: Evaluation) -> None:
        """Show an evaluation."""
        self.latest[opponent] = f"{result.margin:+.1f}"
        if self.is_shown:
            low, high = result.ci95
            count = self.trainer.counters.decisions
            self.bar.console.print(
                f"{self.trainer.counters.seconds / 60:5.2f} min, {count / 1e6:5.2f} M decisions: "
                f"{result.margin:+6.2f} ({low:+.2f} to {high:+.2f}) over {opponent}",
                highlight=False,
            )


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
