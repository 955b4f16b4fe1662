"""Training with sb3-contrib's MaskablePPO against a schedule of opponents and own snapshots.

The loop: set rates and opponents by how much of the budget is spent, collect one rollout and
update (``MaskablePPO.learn`` for exactly one), take snapshots, evaluate, save. Everything that
shapes the learning follows from the seed and from the share of the budget spent, so that with a
budget of decisions the same seed gives the same player, however often the run was stopped or
killed and resumed on the way; a budget of minutes depends on the clock.
"""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from hearts_agents.base import generator_state, restore_generator
from hearts_agents.checkpoint import Checkpoint, save_checkpoint
from hearts_agents.network import Network, NetworkAgent
from hearts_agents.pool import OpponentPool
from hearts_agents.registry import make_agent
from hearts_agents.sb3 import HeartsSB3VecEnv
from hearts_env.arguments import check_array
from hearts_env.encoders import make_encoder
from hearts_env.errors import CheckpointError, HeartsError
from hearts_env.files import write_whole
from hearts_env.interrupts import Interrupted, noted_interrupt
from hearts_env.rules import Rules
from hearts_env.seeds import derived_seed, secret_seed
from hearts_train.learn import runs
from hearts_train.learn.config import SELF, ConfigError, TrainConfig, load_config
from hearts_train.learn.display import Display
from hearts_train.learn.networks import (
    CompactRolloutBuffer,
    HeartsPolicy,
    TorchNetwork,
    policy_kwargs,
    policy_tensors,
    set_threads,
)
from hearts_train.learn.snapshots import Snapshots, pool_weights
from hearts_train.measure.evaluation import Evaluation, evaluate

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
    """False: stopped by a signal; it can be resumed."""
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    """The latest over each opponent, as in ``metrics.jsonl``."""
    signal_number: int = 0
    """Of the signal that stopped it; 0: none came."""


class DivergenceError(HeartsError):
    """Training whose weights are no longer finite numbers."""


def train(
    config: TrainConfig | None = None,
    run_dir: Path | None = None,
    resume: Path | None = None,
    *,
    progress: bool = True,
) -> RunResult:
    """Train a player, or go on training one.

    Ctrl-C, SIGTERM and SIGHUP end the run after the update under way, with everything saved.

    Args:
        config: the recipe; None: the defaults, or the resumed run's own.
        run_dir: folder of a new run; None: ``runs/NAME-DATE-TIME``.
        resume: folder of a run to go on with. A `config` then replaces the run's own (a larger
            budget, say), but not its rules, observation, network or seed.
        progress: show how it goes, on standard error.

    Raises:
        ConfigError: a setting that cannot be used; nothing has been written.
        CheckpointError: a folder that cannot be resumed, is in use, or cannot be written.
        DivergenceError: the weights have become infinite; what was saved before stands.
    """
    with contextlib.ExitStack() as stack:
        if resume is None:
            trainer = Trainer(config or TrainConfig())
            run_dir = runs.new_run_folder(trainer.config, run_dir)
            stack.enter_context(runs.hold_run(run_dir))
            runs.check_is_free(run_dir)  # somebody may have been quicker
        else:
            run_dir = Path(resume)
            runs.check_run_folder(run_dir)
            stack.enter_context(runs.hold_run(run_dir))
            before = load_config(run_dir / runs.CONFIG_NAME)
            state = None
            if (run_dir / runs.STATE_NAME).exists():
                _check_same(before, config or before, run_dir)
                state = runs.load_state(run_dir / runs.STATE_NAME)
            trainer = Trainer(config or before, state)
        return trainer.run(run_dir, is_shown=progress)


def _check_same(before: TrainConfig, config: TrainConfig, folder: Path) -> None:
    """Refuse to resume with what the weights were not made for."""
    fix = f"leave it as in {folder / runs.CONFIG_NAME}, or start a new run"
    for key in ("rules", "players", "observation"):
        old, new = getattr(before.env, key), getattr(config.env, key)
        if old != new:
            raise ConfigError(f"env.{key}: {new!r} cannot replace {old!r} in a resumed run; {fix}")
    if before.seed != config.seed:
        raise ConfigError(
            f"seed: {config.seed} cannot replace {before.seed} in a resumed run; {fix}"
        )
    if before.network != config.network:
        raise ConfigError(f"network: the sizes of a resumed run cannot change; {fix}")


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
        self.snapshots = Snapshots(config, self.rules, self.encoder)
        self.env = self._make_env(self._make_pool())
        self.model = self._make_model()
        self.snapshots.take(policy_tensors(self.model.policy), 0)
        if state is None or state.games != self._games_key:
            self._begin_games()
        if state is not None:
            self._restore(state)
        self._phase = -1
        self._stopped: Callable[[], int] = lambda: 0
        self._set_rates()

    @property
    def title(self) -> str:
        """What the run is called in pictures."""
        return f"{self.config.name}: {self.rules.name}"

    # -- making --------------------------------------------------------------------------------
    def _make_pool(self) -> OpponentPool:
        # Opponents may be outside code: no seed from which those of the deals can be computed. It
        # shapes no game, since the environment reseeds all opponents before the first deal.
        pool = OpponentPool(seed=secret_seed(self.config.seed, "opponents"))
        for name in self.config.opponents:
            if name != SELF:
                pool.add(name, weight=0.0)
        if SELF in self.config.opponents:
            for number, agent in enumerate(self.snapshots.agents):
                pool.add(agent, name=f"{SELF} {number}", weight=0.0)
        for name, weight in pool_weights(self.config, 0, self.snapshots).items():
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
            seed=derived_seed(self.config.seed, 3),
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

    def _begin_games(self) -> None:
        """Begin new games, of other deals after each start, and look at them."""
        self.env.seed(derived_seed(self.config.seed, 1000 + self.counters.starts) % 2**62)
        self.model._last_obs = self.env.reset()
        self.model._last_episode_starts = np.ones(self.env.num_envs, np.bool_)

    @property
    def _games_key(self) -> str:
        """What the games under way depend on besides what no resumed run may change."""
        env = self.config.env.model_dump(mode="json")
        return json.dumps([env, self.env.opponents.names], sort_keys=True)

    # -- state -----------------------------------------------------------------------------------
    def state(self) -> runs.State:
        """All that training goes on from; to be taken between two updates."""
        policy, optimizer = self.model.policy, self.model.policy.optimizer
        tensors: dict[str, NDArray[Any]] = {}
        for name, tensor in policy.state_dict().items():
            tensors[f"policy/{name}"] = tensor.numpy().copy()
        for number, moments in optimizer.state_dict()["state"].items():
            for name, tensor in moments.items():
                tensors[f"optimizer/{number}/{name}"] = torch.as_tensor(tensor).numpy().copy()
        tensors |= self.snapshots.tensors()
        tensors |= {f"games/{name}": array for name, array in self.env.state().items()}
        starts = self.model._last_episode_starts
        assert starts is not None
        tensors["games/episode_starts"] = starts.copy()
        tensors["rng/torch"] = torch.get_rng_state().numpy().copy()
        tensors["rng/buffer"] = generator_state(self._buffer.rng)
        return runs.State(replace(self.counters), tensors, self._games_key)

    def _restore(self, state: runs.State) -> None:
        parts: dict[str, dict[str, NDArray[Any]]] = {}
        for name, array in state.tensors.items():
            part, _, rest = name.partition("/")
            parts.setdefault(part, {})[rest] = array
        try:
            self._restore_weights(parts.get("policy", {}), parts.get("optimizer", {}))
            self.snapshots.restore(state.tensors)
            if state.games == self._games_key:
                self._restore_games(parts.get("games", {}))
            rng = parts.get("rng", {})
            now = torch.get_rng_state()
            torch.set_rng_state(
                torch.from_numpy(check_array("rng/torch", rng.get("torch"), now.numpy()))
            )
            restore_generator(self._buffer.rng, rng.get("buffer", np.zeros(0, np.uint64)))
        except (HeartsError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(
                f"resume: the state does not fit the run's {runs.CONFIG_NAME} ({reason}); "
                "resume another run, or start a new one"
            ) from None
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
        self.env.reset()  # whose state is replaced
        self.model._last_obs = self.env.restore(games)
        self.model._last_episode_starts = starts.copy()

    @property
    def _buffer(self) -> CompactRolloutBuffer:
        buffer = self.model.rollout_buffer
        assert isinstance(buffer, CompactRolloutBuffer)
        return buffer

    # -- the run -----------------------------------------------------------------------------------
    @property
    def progress(self) -> float:
        """The share of the budget that is spent, 0 to 1."""
        return self._share(self.counters.decisions, self.counters.seconds)

    def _share(self, decisions: int, seconds: float) -> float:
        """The share of the budget that is spent after so many decisions and seconds, 0 to 1."""
        budget, shares = self.config.budget, [0.0]
        if budget.decisions is not None:
            shares.append(decisions / budget.decisions)
        if budget.minutes is not None:
            shares.append(seconds / (60 * budget.minutes))
        return min(1.0, max(shares))

    def run(self, run_dir: Path, *, is_shown: bool) -> RunResult:
        """Train until the budget is spent or somebody stops it; files in `run_dir`.

        Between updates a state is saved now and then; if that fails, it is tried again at the
        next time, and only the last save has to succeed.
        """
        counters = self.counters
        with contextlib.ExitStack() as stack:
            display = stack.enter_context(Display(self, is_shown=is_shown))
            stack.enter_context(self._stops_on_signals(display))
            display.say("compiling, once for each version ...")
            self._warm_up()
            with _saving(run_dir):
                write_whole(run_dir / runs.CONFIG_NAME, self.config.to_yaml().encode())
                metrics = runs.Metrics(run_dir, counters)
                stack.callback(metrics.close)
                runs.drop_lost_checkpoints(run_dir, counters.decisions, self._margins(metrics))
                self._save(run_dir, metrics)
            saved = start = time.monotonic()
            before = counters.seconds
            display.start()
            while not self._stopped():
                counters.seconds = before + time.monotonic() - start
                if self._is_evaluation_due():
                    self._evaluate(metrics, display)
                    with _tolerated(display):
                        self._keep(run_dir, metrics)
                        self._draw(run_dir, metrics)
                    continue
                if self.progress >= 1.0:
                    break
                row = self._update()
                counters.seconds = before + time.monotonic() - start
                metrics.write("update", counters.decisions, row | {"seconds": counters.seconds})
                display.update(metrics)
                if time.monotonic() - saved >= self.config.checkpoint.every_seconds:
                    with _tolerated(display):
                        self._save(run_dir, metrics)
                    saved = time.monotonic()
            with _saving(run_dir):
                self._save(run_dir, metrics)
                self._draw(run_dir, metrics)
            latest = list(latest_of(metrics.evaluations()).values())
            signal_number = self._stopped()
        return RunResult(
            run_dir=run_dir,
            checkpoint=run_dir / runs.CHECKPOINT_NAME,
            card=run_dir / runs.CARD_NAME,
            curve=run_dir / runs.CURVE_NAME,
            decisions=counters.decisions,
            updates=counters.updates,
            seconds=counters.seconds,
            decisions_per_second=counters.decisions / max(counters.learning_seconds, 1e-9),
            is_finished=self.progress >= 1.0 and not self._is_evaluation_due(),
            evaluations=latest,
            signal_number=signal_number,
        )

    def _warm_up(self) -> None:
        """Compile what a rollout needs, before the clock runs; leaves no trace in what follows."""
        before = self.env.state()
        for _ in range(self.rules.hand_size + self.rules.pass_count + 2):  # to the end of a deal
            _, _, done, _ = self.env.step(self.env.action_masks().argmax(axis=1))
            if done.any():
                break
        self.env.restore(before)

    def _set_rates(self) -> None:
        """Rates and opponents as they are to be at this share of the budget."""
        ppo, share = self.config.ppo, self.progress
        self._learning_rate = _between(ppo.learning_rate, ppo.learning_rate_end, share)
        self.model.ent_coef = _between(ppo.ent_coef, ppo.ent_coef_end, share)
        phase = self.config.phase_at(share)
        for name, weight in pool_weights(self.config, phase, self.snapshots).items():
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
        if not all(bool(torch.isfinite(weights).all()) for weights in model.policy.parameters()):
            raise DivergenceError(
                f"update {counters.updates + 1}: training diverged, the weights are no longer "
                "finite; what was saved before stands: resume with a smaller ppo.learning_rate "
                f"(it was {self._learning_rate:g}) or ppo.max_grad_norm"
            )
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
        """Whether the run has passed one of the times for an evaluation since the last one.

        They are counted from where the last one was, under the present budget: it may be another
        one than it was then.
        """
        times, counters = self.config.evaluation.times, self.counters
        if times == 0 or counters.evaluations == 0:
            return times > 0
        last = self._share(counters.evaluated_decisions, counters.evaluated_seconds)
        return _num_passed(self.progress, times) > _num_passed(last, times)

    def _evaluate(self, metrics: runs.Metrics, display: Display) -> None:
        config, counters = self.config.evaluation, self.counters
        agent = self.agent()
        for name in config.opponents:
            result = evaluate(agent, name, self.rules, config.pairs, config.seed)
            if result.interrupted:  # by a second signal
                raise Interrupted(self._stopped() or signal.SIGINT)
            row = evaluation_row(result) | {
                "opponent": name,
                "seconds": counters.seconds,
                "updates": counters.updates,
                "round": counters.evaluations,
            }
            metrics.write("evaluation", counters.decisions, row)
            display.evaluated(name, result)
        counters.evaluations += 1
        counters.evaluated_decisions = counters.decisions
        counters.evaluated_seconds = counters.seconds

    # -- files -------------------------------------------------------------------------------------
    def _save(self, run_dir: Path, metrics: runs.Metrics) -> None:
        metrics.flush()
        runs.save_state(run_dir / runs.STATE_NAME, self.state())
        meta = self.checkpoint(run_dir, list(latest_of(metrics.evaluations()).values()))
        save_checkpoint(run_dir / runs.CHECKPOINT_NAME, policy_tensors(self.model.policy), meta)
        runs.write_card(run_dir, meta=meta)

    def _keep(self, run_dir: Path, metrics: runs.Metrics) -> None:
        """Put the player just evaluated among the checkpoints kept."""
        margins = self._margins(metrics)
        if not margins:  # nobody to be evaluated against
            return
        before = margins.get(runs.best_decisions(run_dir), -math.inf)
        runs.keep_checkpoint(
            run_dir,
            policy_tensors(self.model.policy),
            self.checkpoint(run_dir, list(latest_of(metrics.evaluations()).values())),
            is_best=margins[self.counters.decisions] >= before,
        )

    def _margins(self, metrics: runs.Metrics) -> dict[int, float]:
        """The margins over the first opponent, by decisions."""
        return {
            row["decisions"]: row["margin"]
            for row in metrics.evaluations()
            if row["opponent"] in self.config.evaluation.opponents[:1]
        }

    def _draw(self, run_dir: Path, metrics: runs.Metrics) -> None:
        runs.draw_curve(run_dir / runs.CURVE_NAME, metrics.evaluations(), self.title)

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
    def _stops_on_signals(self, display: Display) -> Iterator[None]:
        """Ctrl-C, SIGTERM, SIGHUP end the run after the update under way; a second one at once."""

        def noted() -> None:
            if self._stopped() == getattr(signal, "SIGHUP", None):
                display.silence()
            display.say("stopping after this update, then saving (Ctrl-C again: at once)")

        with noted_interrupt(noted, twice=True) as self._stopped:
            yield


@contextlib.contextmanager
def _saving(run_dir: Path) -> Iterator[None]:
    """A file that cannot be written in this block ends the run with one line."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"run: {_file_fault(error)}; see to it, then go on with --resume {run_dir}"
        ) from error


@contextlib.contextmanager
def _tolerated(display: Display) -> Iterator[None]:
    """A file that cannot be written in this block is told of, no more."""
    try:
        yield
    except OSError as error:
        display.warn(f"{_file_fault(error)}; training goes on, the next save tries again")


def _file_fault(error: OSError) -> str:
    return f"{error.filename or 'a file'!s} cannot be written: {error.strerror or error}"


def _num_passed(share: float, times: int) -> int:
    """How many of `times` evenly spaced evaluations belong to the first `share` of the budget."""
    return math.floor(share * times + 1e-9)


def _between(start: float, end: float | None, share: float) -> float:
    return start if end is None else start + (end - start) * share


# ---- figures -------------------------------------------------------------------------------------


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
