"""Train one run, or one run per seed, spread over processes or machines.

A run that was stopped or killed resumes from its last saved state. Several seeds share a folder:

| file | content |
|---|---|
| `seed-0/`, `seed-1/`, ... | the folder of each run (``runs``) |
| `seeds.json` | final margins of all seeds, with mean and standard deviation, and the curves |
| `curve.png` | the mean learning curve, with a band of one standard deviation |
| `.lock` | the lock of the process that trains the seeds |
| `.stop` | while this file exists, runs save and stop after their current update |
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from hearts_agents.user_code import allow_code, is_code_allowed
from hearts_env import Rules
from hearts_env.support import clock
from hearts_env.support.arguments import check_is, check_path, listed
from hearts_env.support.errors import HeartsError, quoted
from hearts_env.support.files import kind_of, own_files, removed_if_unused, write_json
from hearts_env.support.interrupts import Interrupted, noted_interrupt
from hearts_env.support.progress import Progress, Show, silent
from hearts_train.executor import check_executor, num_cores, spread
from hearts_train.learn import runs
from hearts_train.learn.config import ConfigError, TrainConfig
from hearts_train.learn.config_files import load_config, read_config
from hearts_train.learn.learner import Learner
from hearts_train.learn.loop import EVALUATION_SEED, RunResult, Trainer, learner_class, saving
from hearts_train.learn.own_code import EARLIER, OwnCode, change_of, code_of
from hearts_train.learn.report import SEEDS_NAME, SeedsResult, format_status, write_card
from hearts_train.measure.duel import unseen
from hearts_train.measure.evaluation import Evaluation, evaluate, plot
from hearts_train.screen import note, progress

STOP_NAME = ".stop"
MOST_SEEDS = 1000
CONTINUE_ALL = "repeat the same command or call, which continues all seeds"
PATIENCE = 2 * runs.LEASE
"""Seconds that one of several runs waits for the last process that held its folder."""

_BASELINES = ("easy", "standard", "standard_trump", "pro")
# With more players, `pro` samples worlds and takes a hundred times as long.
_LARGE_BASELINES = ("easy", "standard")


@overload
def train(
    config: TrainConfig | None = None,
    run_dir: Path | None = None,
    resume: Path | None = None,
    *,
    progress: bool = True,
    learner: type[Learner] | None = None,
    seeds: None = None,
) -> RunResult: ...


@overload
def train(
    config: TrainConfig | None = None,
    run_dir: Path | None = None,
    *,
    progress: bool = True,
    learner: type[Learner] | None = None,
    seeds: Sequence[int],
    workers: int | None = None,
    backend: str = "local",
) -> SeedsResult: ...


def train(
    config: TrainConfig | None = None,
    run_dir: Path | None = None,
    resume: Path | None = None,
    *,
    progress: bool = True,
    learner: type[Learner] | None = None,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    backend: str = "local",
) -> RunResult | SeedsResult:
    """Train a player, or resume a run. With `seeds`, train one player per seed.

    Ctrl-C, SIGTERM and SIGHUP end each run after its current update and save everything, except
    pretraining positions that are still being gathered. Then ``KeyboardInterrupt`` is raised. To
    resume several seeds, repeat the call: it skips finished seeds and resumes the others.

    Args:
        config: the config. If None, the defaults, or the config of the resumed run.
        run_dir: the folder of a new run. If None, a new folder ``runs/NAME-1``, ``runs/NAME-2``,
            ... With `seeds`, the folder of all runs. If None, ``runs/NAME``.
        resume: the folder of a run to resume. If None, a new run begins. A `config` replaces the
            config of the resumed run, for example with a larger budget. Rules, observation,
            network, algorithm and seed cannot change. Code that the run's own config names is
            refused unless ``hearts_agents.allow_code`` was called.
        progress: if True, show progress on standard error.
        learner: the class that learns, a subclass of ``learn.ppo.PPO``, for your own loss or
            algorithm. If None, the config's ``algorithm`` names the class.
        seeds: one or more seeds. One run per seed is trained, and its player evaluated at the end.
            If None, a single run is trained. Each run is a process with one thread, unless the
            config sets ``threads``. The config's own seed is not used.
        workers: with `seeds`, the number of processes. If None, one per core, or a few more if that
            keeps all cores busy in the last round. The results do not depend on the number, unless
            your learner changes objects that a later run in its process reads.
        backend: with `seeds`, ``local`` for processes of this machine, or ``ray`` for a Ray
            cluster. All its machines must reach `run_dir` under the same path.

    Raises:
        ConfigError: if a setting cannot be used. Nothing has been written.
        CheckpointError: if a folder cannot be resumed, is in use, or cannot be written.
        HeartsError: if the config of a resumed run names code that is not trusted, processes keep
            ending, or Ray is not installed.
        DivergenceError: if the weights are no longer finite. The last save is intact.
        KeyboardInterrupt: if a signal stopped it. Everything is saved.
    """
    if config is not None:
        check_is("config", config, TrainConfig, "give load_config(name)", ConfigError)
    run_dir = None if run_dir is None else check_path("run_dir", run_dir, ConfigError)
    resume = None if resume is None else check_path("resume", resume, ConfigError)
    if seeds is None:
        if workers is not None or backend != "local":
            name = "workers" if workers is not None else "backend"
            raise ConfigError(f"{name}: one run is one process; give seeds too, or omit {name}")
        run = train_run(config, run_dir, resume, progress=progress, learner=learner)
        if run.signal_number:
            more = f", learner={learner.__name__}" if learner else ""
            call = f"train(resume={str(run.run_dir)!r}{more})"
            raise KeyboardInterrupt(f"the run is saved; continue with {call}")
        return run
    if resume is not None:
        raise ConfigError("resume: seeds resume by the same call; omit resume")
    group = train_seeds(
        config, run_dir, seeds, progress=progress, learner=learner, workers=workers, backend=backend
    )
    if group.signal_number:
        raise KeyboardInterrupt("the runs are saved; the same call continues")
    return group


def train_run(
    config: TrainConfig | None,
    run_dir: Path | None,
    resume: Path | None = None,
    *,
    progress: bool = False,
    learner: type[Learner] | None = None,
    is_stopped: Callable[[], bool] | None = None,
    patience: float = 0.0,
    advice: str = "",
) -> RunResult:
    """Train one player, or resume a run, like ``train`` without `seeds`.

    After a signal, return the result so far. The run is saved and stops, as on a signal, when
    `is_stopped` returns True after an update. If another process holds the folder, wait for it up
    to `patience` seconds. `advice` ends the error if the disk is full (``loop.saving``).
    """
    with contextlib.ExitStack() as stack:
        if resume is None:
            trainer = Trainer((config or TrainConfig()).decided(), learner=learner)
            was_there = run_dir is not None and bool(kind_of(run_dir))
            run_dir = runs.new_run_folder(trainer.config.name, run_dir)
            if not was_there:
                stack.enter_context(removed_if_unused(run_dir))
            stack.enter_context(runs.hold_run(run_dir, patience))
            runs.check_is_free(run_dir)
        else:
            run_dir = Path(resume)
            runs.check_run_folder(run_dir)
            stack.enter_context(runs.hold_run(run_dir, patience))
            before = read_config(run_dir / runs.CONFIG_NAME)
            config = config or load_config(run_dir / runs.CONFIG_NAME)
            state = None
            if (run_dir / runs.STATE_NAME).exists():
                _check_same(before, config, run_dir)
                state = runs.load_state(run_dir / runs.STATE_NAME)
            trainer = Trainer(config.decided(), state, learner)
            if trainer.is_finished:
                runs.check_reuse(run_dir, trainer.code_change)
        return trainer.run(run_dir, is_shown=progress, is_stopped=is_stopped, advice=advice)


def train_seeds(
    config: TrainConfig | None,
    run_dir: Path | None,
    seeds: Sequence[int],
    *,
    progress: bool = True,
    learner: type[Learner] | None = None,
    workers: int | None = None,
    backend: str = "local",
) -> SeedsResult:
    """Train one player per seed, like ``train``. After a signal, return the result so far."""
    config = config or TrainConfig()
    group = SeedRuns(
        config=config,
        folder=Path("runs", config.name) if run_dir is None else Path(run_dir),
        learner=learner,
        is_shown=progress,
    )
    return group.train(check_seeds(seeds), workers, backend)


_FIXED = ("env.rules", "env.observation", "network.", "algorithm", "seed")
"""Settings that a resumed run cannot change."""


def _check_same(
    before: TrainConfig, config: TrainConfig, run_dir: Path, fixed: tuple[str, ...] = _FIXED
) -> None:
    """Raise if a setting differs from the run's and its key begins with one of `fixed`."""
    for key, old, new in _differences(before.model_dump(), config.model_dump()):
        if key.startswith(fixed):
            raise ConfigError(
                f"{key}: {new!r} cannot replace {old!r} of the run in {str(run_dir)!r}; leave it "
                "unchanged, or train in a new folder (--run)"
            )


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Yield key, old value and new value of each setting that differs."""
    for name, new in after.items():
        if isinstance(new, dict) and new.keys() == before[name].keys():
            yield from _differences(before[name], new, f"{path}{name}.")
        elif before[name] != new:
            yield path + name, before[name], new


# ---- the final evaluation ------------------------------------------------------------------------
def evaluate_run(
    run_dir: Path,
    *,
    show: Show = silent,
    report: Callable[[list[Evaluation]], object] = unseen,
) -> list[Evaluation]:
    """Evaluate a run's player. If not interrupted, write figures, plot and model card.

    The caller must hold the run (``runs.hold_run``), so that all of them describe one player.
    `report` gets the evaluations before anything is written, which a full disk may prevent.
    """
    config = read_config(run_dir / runs.CONFIG_NAME)
    settings, rules = config.evaluation, Rules.make(config.env.rules)
    baselines = _BASELINES if rules.players == 2 else _LARGE_BASELINES
    opponents = list(dict.fromkeys([*baselines, *settings.opponents]))
    evaluations = evaluate(
        run_dir,
        opponents,
        rules,
        settings.final_deals,
        EVALUATION_SEED + 1,  # not the deals of the learning curve
        show=show,
    )
    report(evaluations)
    if len(evaluations) == len(opponents) and not evaluations[-1].interrupted:
        figures = [evaluation.to_json() for evaluation in evaluations]
        plot([replace(one, agent=config.name) for one in evaluations], run_dir / runs.PICTURE_NAME)
        write_card(run_dir, figures)
        write_json(run_dir / runs.EVALUATION_NAME, figures)
    return evaluations


# ---- several seeds -------------------------------------------------------------------------------
def check_seeds(seeds: Any) -> list[int]:
    """Return seeds as a list. Raise ConfigError unless they are different whole numbers."""
    found = list(itertools.islice(listed(seeds) or (), MOST_SEEDS + 1))
    are_seeds = all(
        isinstance(seed, int | np.integer) and not isinstance(seed, bool) and 0 <= seed < 2**31
        for seed in found
    )
    if not (are_seeds and 1 <= len(set(found)) == len(found) <= MOST_SEEDS):
        raise ConfigError(
            f"seeds: {quoted(found or seeds)} cannot be used; give 1 to {MOST_SEEDS} different "
            "whole numbers of 0 or more"
        )
    return [int(seed) for seed in found]


def _workers_for(seeds: int, cores: int) -> int:
    """Return the number of processes that keeps `cores` busy until the last of `seeds` ends.

    One process per core leaves cores idle in the last round: five seeds take three rounds on two
    cores. Three processes share the two cores and need two rounds.
    """
    if cores < 2 or seeds <= cores:
        return max(cores, 1)
    return math.ceil(seeds / (seeds // cores))


@dataclass(frozen=True)
class SeedRuns:
    """One run per seed. Calling it with a seed trains that run, in any process.

    Attributes:
        config: the config of all runs. Its seed is not used.
        folder: the folder of all runs.
        learner: the class that learns. If None, the config's algorithm names it.
        is_shown: True if progress is shown on standard error.
        place: the folder that relative paths start from, also on other machines.
        is_trusted: True if files that run code may be loaded.
        earlier: ``own_code.EARLIER`` of the first process.
    """

    config: TrainConfig
    folder: Path
    learner: type[Learner] | None
    is_shown: bool
    place: str = field(default_factory=os.getcwd)
    is_trusted: bool = field(default_factory=is_code_allowed)
    earlier: dict[str, str] = field(default_factory=EARLIER.copy)

    def train(self, seeds: Sequence[int], workers: int | None, backend: str) -> SeedsResult:
        """Train and evaluate the unfinished seeds, then write figures and curve.

        Raises:
            HeartsError: if a run cannot start or resume. The others are finished first.
        """
        workers, backend = check_executor(workers, backend)
        if is_begun(self.folder):
            raise ConfigError(
                f"run: {str(self.folder)!r} is the folder of one run; name another folder "
                "(--run) for several seeds"
            )
        own_files(self.folder, "run", written=(SEEDS_NAME, runs.CURVE_NAME), needed=("seed-*",))
        code = code_of(self.config, learner_class(self.config, self.learner))
        changes = {seed: self._check_begun(seed, code) for seed in seeds}
        todo = [seed for seed in seeds if not runs.final_evaluation(self._run_dir(seed))]
        threads = self._config_of(0).threads
        if backend == "local":
            workers = min(
                workers or _workers_for(len(todo), num_cores() // threads), len(todo) or 1
            )
        is_apart = (workers, backend) != (1, "local")
        errors: dict[int, HeartsError] = {}
        number = 0
        with contextlib.ExitStack() as stack:
            if not kind_of(self.folder):
                stack.enter_context(removed_if_unused(self.folder))
            runs.make_folder(self.folder)
            stack.enter_context(runs.hold_run(self.folder))
            stopped = stack.enter_context(self._stops_on_signals())
            for seed, change in changes.items():
                if change and self.is_shown and is_apart:  # otherwise the run itself shows it
                    note(f"seed {seed}: warning: {change}; its model card lists both versions")
            with self._watched(seeds, is_shown=self.is_shown and is_apart):
                work = replace(self, is_shown=self.is_shown and not is_apart)
                results = spread(work, todo, workers=workers, backend=backend, cores=threads)
                for seed, (number, error) in zip(todo, results, strict=False):
                    if error is not None:
                        errors[seed] = error
                    if number:
                        break
            begun = [run_dir for run_dir in map(self._run_dir, seeds) if is_begun(run_dir)]
            found = [runs.read_run(run_dir) for run_dir in begun]
            is_finished = len(found) == len(seeds) and all(run.final for run in found)
            result = SeedsResult(self.folder, found, is_finished, stopped() or number)
            if found:
                with saving(self.folder, CONTINUE_ALL):
                    result.write()
            for seed, error in errors.items():
                if found and self.is_shown:
                    note(f"seed {seed}: {error}")
            for error in errors.values():
                raise error
        return result

    def _check_begun(self, seed: int, code: OwnCode) -> str:
        """Return the change of the code since the run of a seed was saved, or "".

        Raises:
            ConfigError: if it was started with other settings, or finished by other code.
        """
        run_dir, change = self._run_dir(seed), ""
        if is_begun(run_dir):
            before, config = read_config(run_dir / runs.CONFIG_NAME), self._config_of(seed)
            if config.compile == "auto":
                config = config.model_copy(update={"compile": before.compile})
            _check_same(before, config, run_dir, fixed=("",))
            is_finished = bool(runs.final_evaluation(run_dir))
            if is_finished or (run_dir / runs.STATE_NAME).exists():
                change = change_of(runs.code_of_player(run_dir), code)
            if is_finished:
                runs.check_reuse(run_dir, change)
        return change

    def __call__(self, seed: int) -> tuple[int, HeartsError | None]:
        """Train or resume the run of a seed, and evaluate it.

        Returns:
            The signal that stopped it in this process (0 if none), and the error that ended it.
        """
        if self.is_trusted:
            allow_code()
        EARLIER.update(self.earlier)
        try:
            folder = Path(self.place, self.folder)
            if not folder.is_dir():
                raise HeartsError(
                    f"run: {str(folder)!r} does not exist on {platform.node()}; give a folder "
                    "(--run) that all machines reach under this path"
                )
            with contextlib.chdir(self.place):
                return self._run(seed), None
        except HeartsError as error:
            return 0, error

    def _run(self, seed: int) -> int:
        run_dir = self._run_dir(seed)
        if self._is_stopped():
            return 0
        if self.is_shown:
            note(f"seed {seed}: {run_dir}")
        is_resumed = is_begun(run_dir)
        result = train_run(
            read_config(run_dir / runs.CONFIG_NAME) if is_resumed else self._config_of(seed),
            None if is_resumed else run_dir,
            run_dir if is_resumed else None,
            progress=self.is_shown,
            learner=self.learner,
            is_stopped=self._is_stopped,
            patience=PATIENCE,
            advice=CONTINUE_ALL,
        )
        if result.is_finished:
            with (
                runs.hold_run(run_dir, PATIENCE),
                contextlib.suppress(Interrupted),
                saving(run_dir, CONTINUE_ALL),
            ):
                evaluate_run(run_dir, show=self._show)
        return result.signal_number

    def _run_dir(self, seed: int) -> Path:
        return self.folder / f"seed-{seed}"

    def _config_of(self, seed: int) -> TrainConfig:
        """Return the config of a run, with one thread unless the user set `threads`."""
        threads = self.config.threads if "threads" in self.config.model_fields_set else 1
        return self.config.model_copy(update={"seed": seed, "threads": threads})

    # -- stopping and progress ---------------------------------------------------------------------
    def _is_stopped(self) -> bool:
        return (self.folder / STOP_NAME).exists()

    @contextlib.contextmanager
    def _stops_on_signals(self) -> Iterator[Callable[[], int]]:
        """Let the first signal end each run after its current update, a second one all at once."""
        stop = self.folder / STOP_NAME

        def noted() -> None:
            with contextlib.suppress(OSError):
                stop.touch()
            if self.is_shown:
                note("stopping all runs after this update, then saving (Ctrl-C again: at once)")

        stop.unlink(missing_ok=True)
        try:
            with noted_interrupt(noted, twice=True) as stopped:
                yield stopped
        finally:
            stop.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _show(self, label: str) -> Iterator[Progress]:
        """Show the progress of an evaluation. Raise Interrupted when the runs must stop."""
        with (progress if self.is_shown else silent)(label) as report:

            def reported(done: float, total: float) -> None:
                if self._is_stopped():
                    raise Interrupted
                report(done, total)

            yield reported

    @contextlib.contextmanager
    def _watched(self, seeds: Sequence[int], *, is_shown: bool) -> Iterator[None]:
        """Show the progress of all runs within this context, from their logs."""
        over = threading.Event()

        def watch() -> None:
            wait = 1.0
            with progress(f"{self.config.name}, {len(seeds)} seeds") as report:
                while not over.wait(wait):
                    begin = clock.now()
                    begun = [seed for seed in seeds if is_begun(self._run_dir(seed))]
                    found = [runs.read_run(self._run_dir(seed)) for seed in begun]
                    texts = [f"{run.config.seed}: {format_status(run)}" for run in found]
                    done = sum(run.share for run in found)
                    report(done, len(seeds), " · ".join(texts))
                    wait = max(1.0, 20 * (clock.now() - begin))  # long logs take time to read

        thread = threading.Thread(target=watch, daemon=True)
        if is_shown:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if is_shown:
                thread.join()


def is_begun(run_dir: Path) -> bool:
    """Return True if a run was started in a folder."""
    return bool(kind_of(run_dir / runs.CONFIG_NAME))
