"""The training loop of all algorithms: evaluate if due, make an update, save regularly."""

from __future__ import annotations

import contextlib
import importlib
import math
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hearts_agents.base import Agent, check_rules
from hearts_agents.models.checkpoint import CHECKPOINT_NAME, Checkpoint, save_checkpoint
from hearts_agents.models.own_network import OwnNetwork
from hearts_agents.spec import make_agent, quoted_path
from hearts_env.solve.best_response import action_probs_in, exploitability
from hearts_env.solve.tree import Tree
from hearts_env.support import clock
from hearts_env.support.errors import CheckpointError, HeartsError, quoted
from hearts_env.support.files import write_whole
from hearts_env.support.interrupts import Interrupted, noted_interrupt
from hearts_env.support.tables import ResultTable
from hearts_train.learn import runs
from hearts_train.learn.config import ConfigError, Name, TrainConfig
from hearts_train.learn.learner import Learner
from hearts_train.learn.log import Metrics
from hearts_train.learn.own_code import change_of, code_of, continued, same_code, to_json
from hearts_train.learn.report import EXPLOITED, curves_of, draw_curves, listed_files, write_card
from hearts_train.measure.display import format_margin
from hearts_train.measure.evaluation import evaluate
from hearts_train.screen import format_seconds, note, progress

EVALUATION_SEED = 20_000
"""The seed of evaluations during training. The final one has the next seed, and so other deals."""


@dataclass(frozen=True)
class RunResult:
    """The result of a training run."""

    run_dir: Path
    checkpoint: Path
    card: Path
    curve: Path
    decisions: int
    updates: int
    seconds: float
    """Seconds of training with evaluations, without start and compilation."""
    learning_seconds: float
    """Seconds of rollouts and updates alone, without pretraining."""
    decisions_per_second: float
    """Decisions per second of `learning_seconds`."""
    is_finished: bool
    """False if it was stopped and can be resumed."""
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    """The latest evaluation per opponent, as in ``metrics.jsonl``."""
    signal_number: int = 0
    """The signal that stopped it, or 0."""

    def agent(self, seed: int | None = None, *, greedy: bool = True) -> Agent:
        """Return the trained policy as an agent, like ``make_agent`` with the run's folder.

        Args:
            seed: the seed for sampling, if it is not greedy. If None, the seed is random.
            greedy: if True, take the greedy action. If False, sample from the policy.

        Raises:
            HeartsError: if the network or encoder is code that is not trusted, as for
                ``make_agent``.
        """
        return make_agent(self.run_dir, seed, greedy=greedy)

    @property
    def summary(self) -> str:
        """A line with the decisions and the time that they took."""
        return (
            f"{self.decisions:,} decisions: {format_seconds(self.learning_seconds)} learning "
            f"({self.decisions_per_second:,.0f} decisions per second), "
            f"{format_seconds(self.seconds)} in total, with evaluations"
        )

    @property
    def files(self) -> dict[str, Path]:
        """The files that a user may want to open, by name."""
        found = {
            "player": self.checkpoint,
            "evaluation": self.run_dir / runs.EVALUATION_NAME,
            "picture": self.run_dir / runs.PICTURE_NAME,
            "learning curve": self.curve,
            "model card": self.card,
            "settings": self.run_dir / runs.CONFIG_NAME,
        }
        return {name: path for name, path in found.items() if path.exists()}

    def __str__(self) -> str:
        lines = []
        if self.evaluations:
            title = "latest margins in points per deal, with their 95 % intervals"
            rows = [
                [row["opponent"], format_margin(row["margin"], row["ci95"]), f"{row['won']:.1%}"]
                for row in self.evaluations
            ]
            lines.append(str(ResultTable(title, ["against", "margin", "deals won"], rows)))
        lines += [self.summary, *listed_files(self.files)]
        return "\n".join(lines)


LEARNERS: dict[Name, str] = {
    "ppo": "ppo:PPO",
    "vrpo": "vrpo:VRPOLearner",
    "maskable_ppo": "maskable:MaskableLearner",
}
"""Module and class of each algorithm, imported when a run needs it."""


def learner_class(config: TrainConfig, learner: type[Learner] | None = None) -> type[Learner]:
    """Return `learner`. If None, return the class of the config's algorithm.

    Raises:
        ConfigError: if it is no class of learners, or is one without an algorithm.
    """
    if learner is None:
        module, _, name = LEARNERS[config.algorithm].partition(":")
        learner = getattr(importlib.import_module(f"hearts_train.learn.{module}"), name)
    if not (isinstance(learner, type) and issubclass(learner, Learner)):
        raise ConfigError(f"learner: {quoted(learner)} is no subclass of Learner; give one of PPO")
    if learner.learn is Learner.learn:
        raise ConfigError(
            f"learner: {quoted(learner.__name__)} has no method learn; derive it from PPO, or add "
            "the method"
        )
    return learner


def make_learner(
    config: TrainConfig, state: runs.State | None = None, learner: type[Learner] | None = None
) -> Learner:
    """Make a learner of this class. If None, the config's algorithm names the class."""
    return learner_class(config, learner)(config, state)


class Trainer:
    """A training run: a learner with its budget, evaluations and files."""

    def __init__(
        self,
        config: TrainConfig,
        state: runs.State | None = None,
        learner: type[Learner] | None = None,
    ) -> None:
        """Make the learner. If `state` is given, resume from it. Nothing is written."""
        opponents = [make_agent(name, seed=0) for name in config.evaluation.opponents]
        learner = learner_class(config, learner)
        history = state.code if state else []
        if history and history[-1].class_name != learner.__name__:
            raise CheckpointError(
                f"resume: the run's learner is {quoted(history[-1].class_name)}, not "
                f"{quoted(learner.__name__)}; "
                "give train the run's own class as learner, or omit learner if it had none"
            )
        self.config = config
        with same_code(config, learner):
            self.learner = make_learner(config, state, learner)
        for agent in opponents:
            try:
                check_rules(agent, self.learner.rules)
            except HeartsError as error:
                raise ConfigError(f"evaluation.opponents: {error}") from None
        self.tree: Tree | None = None
        """For the exploitability in evaluations, if asked for."""
        if config.evaluation.exploitability:
            try:
                self.tree = Tree(self.learner.rules)
            except HeartsError as error:
                raise ConfigError(f"evaluation.exploitability: {error}") from None
        self.counters = self.learner.counters
        code = code_of(config, learner)
        self.code_change = change_of(history[-1] if history else None, code) if state else ""
        """How the code differs from that of the resumed run, or ""."""
        self.code = continued(history, code, self.counters.updates)
        self._signal: Callable[[], int] = lambda: 0
        self._is_stopped: Callable[[], bool] = lambda: False

    # -- the run -----------------------------------------------------------------------------------
    @property
    def is_finished(self) -> bool:
        """True if the budget is spent and the player is evaluated."""
        return self.learner.progress >= 1.0 and not self._is_evaluation_due()

    def run(
        self,
        run_dir: Path,
        *,
        is_shown: bool,
        is_stopped: Callable[[], bool] | None = None,
        advice: str = "",
    ) -> RunResult:
        """Train into `run_dir` until the budget is spent, or a signal or `is_stopped` stops it.

        The state is saved regularly between updates. If a save fails, the next one tries again.
        Only the last one must succeed. `advice` says how to continue if it fails (``saving``).
        """
        counters = self.counters
        with contextlib.ExitStack() as stack:
            display = stack.enter_context(Display(self.learner, is_shown=is_shown))
            stack.enter_context(self._stops_on_signals(display, is_stopped))
            stack.enter_context(same_code(self.config, type(self.learner)))
            display.say("starting (the first run after an installation compiles its code) ...")
            if self.code_change:
                display.say(f"warning: {self.code_change}; the model card lists both versions")
            if warning := self.learner.warm_up():
                display.say(f"warning: {warning}")
            own = self.learner.network.module
            if isinstance(own, OwnNetwork) and own.keeps_state and self.config.threads > 1:
                display.say(
                    f"threads: one thread computes {quoted(own.name)}, because its forward changes "
                    "it or draws random numbers, like a batch norm or dropout"
                )
            with saving(run_dir, advice):
                write_whole(run_dir / runs.CONFIG_NAME, self.config.to_yaml().encode())
                (run_dir / runs.EVALUATION_NAME).unlink(missing_ok=True)  # outdated from here on
                metrics = Metrics(run_dir, counters)
                stack.callback(metrics.close)
                runs.drop_lost_checkpoints(run_dir, counters.decisions)
                self._save(run_dir, metrics)
            saved = start = clock.now()
            before = counters.seconds
            while not self._is_stopped():
                counters.seconds = before + clock.now() - start
                if self._is_evaluation_due():
                    self._evaluate(metrics, display)
                    with _tolerated(display, "without saving this player"):
                        path = runs.checkpoint_path(run_dir, counters.decisions)
                        path.parent.mkdir(exist_ok=True)
                        self._save_player(path, run_dir, metrics)
                    with _tolerated(display):
                        self._draw(run_dir, metrics)
                    continue
                if self.learner.progress >= 1.0:
                    break
                if not self._gather(display):
                    break
                row = self.learner.update()
                counters.seconds = before + clock.now() - start
                metrics.write("update", counters.decisions, row | {"seconds": counters.seconds})
                display.update(row)
                if clock.now() - saved >= self.config.checkpoint.every_seconds:
                    with _tolerated(display):
                        self._save(run_dir, metrics)
                    saved = clock.now()
            with saving(run_dir, advice):
                self._save(run_dir, metrics)
                self._draw(run_dir, metrics)
            latest = list(metrics.latest.values())
            signal_number = self._signal()
        return RunResult(
            run_dir=run_dir,
            checkpoint=run_dir / CHECKPOINT_NAME,
            card=run_dir / runs.CARD_NAME,
            curve=run_dir / runs.CURVE_NAME,
            decisions=counters.decisions,
            updates=counters.updates,
            seconds=counters.seconds,
            learning_seconds=counters.learning_seconds,
            decisions_per_second=counters.decisions / max(counters.learning_seconds, 1e-9),
            is_finished=self.is_finished,
            evaluations=latest,
            signal_number=signal_number,
        )

    def _gather(self, display: Display) -> bool:
        """Gather the positions for pretraining, if any. Return False if stopped meanwhile."""
        pretraining = self.learner.pretraining
        if self.counters.pretraining_steps < pretraining.size:
            with contextlib.closing(pretraining.gather(self.config.threads)) as shares:
                for share in shares:
                    display.progress("gathering positions", share)
                    if self._is_stopped():
                        return False
        return True

    # -- evaluation --------------------------------------------------------------------------------
    def _is_evaluation_due(self) -> bool:
        """Return True if an evaluation is due.

        The times follow from the current budget, which may have changed since the last evaluation.
        """
        times, counters = self.config.evaluation.times, self.counters
        if times == 0 or counters.evaluations == 0:
            return times > 0
        if self.learner.progress >= 1.0:  # the final player, also if the budget was reduced
            return counters.evaluated_decisions < counters.decisions
        last = self.config.budget.share(counters.evaluated_decisions)
        return _num_passed(self.learner.progress, times) > _num_passed(last, times)

    def _evaluate(self, metrics: Metrics, display: Display) -> None:
        config, counters = self.config.evaluation, self.counters
        agent = self.learner.agent()
        when = {
            "seconds": counters.seconds,
            "updates": counters.updates,
            "round": counters.evaluations,
        }
        for name in config.opponents:
            result = evaluate(agent, name, self.learner.rules, config.deals, EVALUATION_SEED)
            if result.interrupted:  # by a second signal
                raise Interrupted(self._signal() or signal.SIGINT)
            row = {
                "opponent": name,
                "margin": result.margin,
                "ci95": list(result.ci95),
                "won": result.won,
                "deals": result.deals,
                "seed": result.seed,
            }
            metrics.write("evaluation", counters.decisions, row | when)
            display.evaluated(name, result.margin, result.ci95)
        if self.tree is not None:
            found = exploitabilities(self.learner, self.tree)
            metrics.write("exploitability", counters.decisions, when | found)
            texts = [f"{found[name]:.3f} ({name} cards)" for name in EXPLOITED]
            display.found(f"exploitability {', '.join(texts)}")
        counters.evaluations += 1
        counters.evaluated_decisions = counters.decisions

    # -- files -------------------------------------------------------------------------------------
    def _save(self, run_dir: Path, metrics: Metrics) -> None:
        metrics.flush()
        runs.save_state(run_dir / runs.STATE_NAME, replace(self.learner.state(), code=self.code))
        meta = self._save_player(run_dir / CHECKPOINT_NAME, run_dir, metrics)
        write_card(run_dir, meta=meta)

    def _save_player(self, path: Path, run_dir: Path, metrics: Metrics) -> Checkpoint:
        meta = self.checkpoint(run_dir, metrics)
        save_checkpoint(path, self.learner.tensors(), meta, half=self.config.checkpoint.half)
        return meta

    def _draw(self, run_dir: Path, metrics: Metrics) -> None:
        if curves := curves_of(metrics):
            title = f"{self.config.name}: {self.learner.rules.name}"
            draw_curves(run_dir / runs.CURVE_NAME, curves, title)

    def checkpoint(self, run_dir: Path, metrics: Metrics) -> Checkpoint:
        """Return the metadata of the player's file."""
        config, counters = self.config, self.counters
        exploited = metrics.latest_exploitability or {}
        settings, learner = run_dir / runs.CONFIG_NAME, type(self.learner)
        command = f"hearts train {quoted_path(settings)}" + " --allow-code" * config.runs_code
        if not learner.__module__.startswith("hearts_train."):
            command = f"train(load_config({str(settings)!r}), learner={learner.__name__})"
        training = {
            "name": config.name,
            "algorithm": self.learner.algorithm,
            "command": command,
            "seed": config.seed,
            "decisions": counters.decisions,
            "updates": counters.updates,
            "minutes": counters.seconds / 60,
            "evaluations": list(metrics.latest.values()),
            "exploitability": {name: exploited[name] for name in EXPLOITED if exploited},
            "config": config.model_dump(mode="json"),
            "code": to_json(self.code),
            "versions": {name: version(name) for name in self.learner.packages},
        }
        return Checkpoint(
            rules=self.learner.rules,
            encoder=config.env.observation,
            layers=self.learner.agent().network.sizes,
            activation=config.network.activation,
            training=training,
            module=config.network.module,
        )

    @contextlib.contextmanager
    def _stops_on_signals(
        self, display: Display, is_stopped: Callable[[], bool] | None
    ) -> Iterator[None]:
        """Let a first signal end the run after its current update, a second one at once."""

        def noted() -> None:
            display.say("stopping after this update, then saving (Ctrl-C again: at once)")

        with noted_interrupt(noted, twice=True) as signalled:
            self._signal = signalled
            self._is_stopped = lambda: bool(signalled() or (is_stopped and is_stopped()))
            yield


@contextlib.contextmanager
def saving(run_dir: Path, advice: str = "") -> Iterator[None]:
    """Raise CheckpointError if a file cannot be written within this context.

    Args:
        run_dir: the run's folder.
        advice: how to continue afterwards. If empty, resume the run in this folder.
    """
    try:
        yield
    except OSError as error:
        is_begun = (run_dir / runs.CONFIG_NAME).exists()  # else an empty folder is removed
        resume = f"resume with --resume {quoted_path(run_dir)}" if is_begun else "train again"
        raise CheckpointError(
            f"run: {_file_fault(error)}; correct this, then {advice or resume}"
        ) from error


@contextlib.contextmanager
def _tolerated(display: Display, then: str = "the next save tries again") -> Iterator[None]:
    """Show a warning if a file cannot be written within this context, and continue."""
    try:
        yield
    except OSError as error:
        display.say(f"warning: {_file_fault(error)}; training continues, {then}")


def _file_fault(error: OSError) -> str:
    return f"{error.filename or 'a file'!s} cannot be written: {error.strerror or error}"


def _num_passed(share: float, times: int) -> int:
    """Return how many of `times` evenly spaced evaluations are due at `share` of the budget."""
    return math.floor(share * times + 1e-9)


def exploitabilities(learner: Learner, tree: Tree) -> dict[str, float]:
    """Return the exploitability of the learner's greedy actions and of its sampled ones."""
    found = {}
    for name in ("greedy", "sampled"):
        agent = learner.agent()
        agent.greedy = name == "greedy"
        one, two = (action_probs_in(tree, player, agent.action_probs) for player in range(2))
        found[name] = exploitability(tree, (one, two))
    return found


# ---- on the screen -------------------------------------------------------------------------------
class Display:
    """Shows the progress of a run, and a line per evaluation."""

    def __init__(self, learner: Learner, *, is_shown: bool) -> None:
        self.learner = learner
        self.is_shown = is_shown
        self._bar = contextlib.ExitStack()
        self._label = self._speed = ""
        self._margins: dict[str, str] = {}

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def say(self, text: str) -> None:
        """Show a line."""
        if self.is_shown:
            note(text)

    def progress(self, label: str, share: float, message: str = "") -> None:
        """Show the share done of the work `label`."""
        if not self.is_shown:
            return
        if label != self._label:
            self._bar.close()
            self._report = self._bar.enter_context(progress(label))
            self._label = label
        self._report(share, 1.0, message)

    def update(self, row: Mapping[str, Any]) -> None:
        """Show the progress after an update that logged `row`."""
        if "pretraining" in row:
            self._speed = f"pretraining {row['pretraining']:.0%}"
        else:
            millions = self.learner.counters.decisions / 1e6
            self._speed = f"{millions:.2f} M, {row['decisions_per_second'] / 1e3:.0f} k/s"
        self._show()

    def evaluated(self, opponent: str, margin: float, ci95: Sequence[float]) -> None:
        """Show the result of an evaluation."""
        self._margins[opponent] = f"{margin:+.1f}"
        self._show()
        self.found(f"{margin:+6.2f} ({ci95[0]:+.2f} to {ci95[1]:+.2f}) over {opponent}")

    def found(self, text: str) -> None:
        """Show a line with the time and the decisions learnt from."""
        counters = self.learner.counters
        when = f"{counters.seconds / 60:5.2f} min, {counters.decisions / 1e6:5.2f} M decisions"
        if not counters.decisions:
            start = self.learner.config.network.start
            first = f"network of {start}" if start else "untrained network"
            when += f" ({'pretrained network' if counters.pretraining_steps else first})"
        self.say(f"{when}: {text}")

    def _show(self) -> None:
        margins = [f"{margin} {name}" for name, margin in self._margins.items()]
        message = " · ".join(filter(None, [self._speed, *margins]))
        self.progress(self.learner.config.name, self.learner.progress, message)
